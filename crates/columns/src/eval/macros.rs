//! Choices of loops by operation, as macros so that every choice is a loop of its own.

/// An operation on integers.
macro_rules! integers {
    ($N:ident, $arch:expr, $op:expr, $out:expr, $a:expr, $b:expr) => {{
        use crate::eval::code::Binary;
        macro_rules! run {
            (|$x:ident, $y:ident| $value:expr) => {
                crate::eval::loops::zip(
                    $arch,
                    $out,
                    $a,
                    $b,
                    #[inline(always)]
                    |$x: $N, $y: $N| $value,
                )
            };
        }
        match $op {
            Binary::Add => run!(|x, y| x.wrapping_add(y)),
            Binary::Subtract => run!(|x, y| x.wrapping_sub(y)),
            Binary::Multiply => run!(|x, y| x.wrapping_mul(y)),
            Binary::And => run!(|x, y| x & y),
            Binary::Or => run!(|x, y| x | y),
            Binary::Xor => run!(|x, y| x ^ y),
            Binary::Greatest => run!(|x, y| x.max(y)),
            Binary::Least => run!(|x, y| x.min(y)),
            Binary::Other(_) => unreachable!("functions of doubles have doubles"),
        }
    }};
}

/// The quotient or the remainder of integers, and the rows where the divisor is zero.
macro_rules! quotient {
    ($N:ident, $arch:expr, $remainder:expr, $out:expr, $a:expr, $b:expr, $zero:expr) => {{
        let (a, b) = ($a, $b);
        match b {
            crate::eval::chain::Operand::Same(0) => $zero = [!0; _],
            crate::eval::chain::Operand::Same(_) => {}
            crate::eval::chain::Operand::Each(b) => crate::eval::loops::test(
                $arch,
                &mut $zero,
                b,
                #[inline(always)]
                |b| b == 0,
            ),
        }
        match $remainder {
            true => crate::eval::loops::zip($arch, $out, a, b, |a: $N, b: $N| match b {
                0 => 0,
                _ => a.wrapping_rem(b),
            }),
            false => crate::eval::loops::zip($arch, $out, a, b, |a: $N, b: $N| match b {
                0 => 0,
                _ => a.wrapping_div(b),
            }),
        }
    }};
}

/// A function of one float.
macro_rules! apply {
    ($arch:expr, $function:expr, $out:expr, $a:expr, $N:ident, $near:expr) => {{
        use crate::eval::code::Function;
        use crate::kernels::real;
        let (out, a): (&mut [$N], &[$N]) = ($out, $a);
        macro_rules! run {
            ($f:expr) => {
                crate::eval::loops::map(
                    $arch,
                    out,
                    a,
                    #[inline(always)]
                    |a| $f(a),
                )
            };
        }
        macro_rules! wide {
            ($f:expr) => {
                crate::eval::loops::map(
                    $arch,
                    out,
                    a,
                    #[inline(always)]
                    |a| $f(f64::from(a)) as $N,
                )
            };
        }
        match $function {
            Function::Exp => wide!(real::exp),
            Function::Ln => wide!(real::ln),
            Function::Sin => wide!(real::sin_near),
            Function::Cos => wide!(real::cos_near),
            Function::Tanh => wide!(real::tanh),
            Function::Floor => run!($N::floor),
            Function::Ceil => run!($N::ceil),
            Function::Trunc => run!($N::trunc),
            Function::Even => run!($N::round_ties_even),
            Function::Other(f) => crate::eval::loops::map($arch, out, a, |a| f(f64::from(a)) as $N),
        }
        if let Function::Sin | Function::Cos = $function {
            // Large angles are rare: the groups that have one are computed again.
            for (out, a) in out.chunks_mut(64).zip(a.chunks(64)) {
                if !a.iter().fold(true, |all, a| all & $near(a)) {
                    let f = if let Function::Sin = $function {
                        real::sin
                    } else {
                        real::cos
                    };
                    out.iter_mut().zip(a).for_each(|(out, &a)| *out = f(f64::from(a)) as $N);
                }
            }
        }
    }};
}

pub(super) use {apply, integers, quotient};
