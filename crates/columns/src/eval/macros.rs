//! Division as a macro, so that it is a loop of its own for each type.

/// The quotient or the remainder of integers, and the rows where the divisor is zero.
macro_rules! quotient {
    ($N:ident, $arch:expr, $remainder:expr, $out:expr, $a:expr, $b:expr, $zero:expr) => {{
        let (a, b) = ($a, $b);
        match b {
            crate::eval::loops::Operand::Same(0) => $zero = [!0; _],
            crate::eval::loops::Operand::Same(_) => {}
            crate::eval::loops::Operand::Each(b) => crate::eval::loops::test(
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

pub(super) use quotient;
