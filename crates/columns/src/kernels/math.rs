//! Mathematical functions. Those of `f32` return `f32`, all others `f64`.

use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::BooleanBuffer;
use pulp::Arch;
use std::sync::Arc;
use tautomer_loops::functions;

use crate::function::Arg::T;
use crate::function::{Function, Kernel, Real, Returns, Signature};
use crate::kernels::cell::{Cell, Failure};
use crate::kernels::column::{Column, Context, map, no_case, rows_where, values, with_integer, with_number, zip};
use crate::kernels::real;
use crate::types::{Type, TypeSet};

const ONE: &[Signature] = &[Signature::new(TypeSet::NUMBERS, &[T], Returns::Float)];
const TWO: &[Signature] = &[Signature::new(TypeSet::NUMBERS, &[T, T], Returns::Float)];

/// A row of the table for a function of one float: those of `f32` and of `f64`.
macro_rules! float {
    ($($name:literal)|+, $single:expr, $double:expr) => {
        Function::strict(&[$($name),+], ONE, Kernel::Arrays(|c, args| one(c, args, $single, $double)))
            .with_real(Real::One($double))
    };
}

/// A function that is computed here, of all values, with the instructions of this machine.
macro_rules! computed {
    ($context:expr, $args:expr, $function:path) => {
        match $context.args[0] {
            Type::Float32 => {
                let input = values::<Float32Type>(&$args[0]);
                let mut out = vec![0.0f32; input.len()];
                real::run(
                    Arch::new(),
                    #[inline(always)]
                    || {
                        for (out, &a) in out.iter_mut().zip(input) {
                            *out = $function(&mut functions::Double, f64::from(a)) as f32;
                        }
                    },
                );
                PrimitiveArray::<Float32Type>::new(out.into(), None).into()
            }
            ty => {
                let wide = widened(ty, &$args[0]);
                let input = values::<Float64Type>(&wide);
                let mut out = vec![0.0f64; input.len()];
                real::run(
                    Arch::new(),
                    #[inline(always)]
                    || {
                        for (out, &a) in out.iter_mut().zip(input) {
                            *out = $function(&mut functions::Double, a);
                        }
                    },
                );
                PrimitiveArray::<Float64Type>::new(out.into(), None).into()
            }
        }
    };
}

/// The same for a function that is computed here; single values are computed by the standard library.
macro_rules! vector {
    ($name:literal, $function:path, $double:expr) => {
        Function::strict(&[$name], ONE, Kernel::Arrays(|c, args| computed!(c, args, $function)))
            .with_real(Real::One($double))
    };
}

pub(crate) const FUNCTIONS: &[Function] = &[
    float!("sqrt", f32::sqrt, f64::sqrt),
    float!("cbrt", f32::cbrt, f64::cbrt),
    vector!("exp", functions::exp_f64, f64::exp),
    vector!("ln", functions::ln_f64, f64::ln),
    float!("log10", f32::log10, f64::log10),
    vector!("sin", functions::sin_f64, f64::sin),
    vector!("cos", functions::cos_f64, f64::cos),
    float!("tan", f32::tan, f64::tan),
    float!("asin", f32::asin, f64::asin),
    float!("acos", f32::acos, f64::acos),
    float!("atan", f32::atan, f64::atan),
    float!("sinh", f32::sinh, f64::sinh),
    float!("cosh", f32::cosh, f64::cosh),
    vector!("tanh", functions::tanh_f64, f64::tanh),
    float!("cot", |a| a.tan().recip(), |a| a.tan().recip()),
    float!("radians", f32::to_radians, f64::to_radians),
    float!("degrees" | "udfdegrees", f32::to_degrees, f64::to_degrees),
    Function::strict(
        &["atan2"],
        TWO,
        Kernel::Arrays(|c, args| two(c, args, f32::atan2, f64::atan2)),
    )
    .with_real(Real::Two(f64::atan2)),
    // `log(x)` is the natural logarithm, `log(base, x)` that of a base.
    Function::strict(
        &["log"],
        &[
            Signature::new(TypeSet::NUMBERS, &[T], Returns::Float),
            Signature::new(TypeSet::NUMBERS, &[T, T], Returns::Float),
        ],
        Kernel::Arrays(log),
    )
    .with_real(Real::One(f64::ln)),
    Function::strict(
        &["power", "pow"],
        &[Signature::new(TypeSet::NUMBERS, &[T, T], Returns::T)],
        Kernel::Arrays(power),
    )
    .with_real(Real::Two(f64::powf)),
    Function::strict(
        &["abs"],
        &[Signature::new(TypeSet::NUMBERS, &[T], Returns::T)],
        Kernel::Arrays(super::arithmetic::abs),
    )
    .with_real(Real::One(f64::abs)),
    Function::strict(
        &["sign"],
        &[Signature::new(TypeSet::NUMBERS, &[T], Returns::T)],
        Kernel::Arrays(sign),
    )
    .with_real(Real::One(|a| if a == 0.0 { a } else { a.signum() })),
    Function::strict(
        &["factorial"],
        &[Signature::new(
            TypeSet::of(&[Type::Int32, Type::Int64]),
            &[T],
            Returns::Is(Type::Int64),
        )],
        Kernel::Rows(|_, cells| match cells[0].int() {
            ..0 => Err(Failure::invalid("the factorial of a negative number")),
            n @ 0..=20 => Ok(Cell::Int((1..=n).product())),
            _ => Err(Failure::invalid("the factorial of more than 20 does not fit i64")),
        }),
    ),
];

/// An argument as `f64`.
fn widened(ty: Type, array: &ArrayRef) -> ArrayRef {
    if ty == Type::Float64 {
        return Arc::clone(array);
    }
    let wide = with_number!(ty, N => {
        Arc::new(map::<N, Float64Type>(array, |a| a.to_double())) as ArrayRef
    });
    wide.unwrap_or_else(|| unreachable!("{ty} is a number"))
}

/// Conversion to `f64`, rounded to the nearest.
pub(crate) trait ToDouble {
    fn to_double(self) -> f64;
}

macro_rules! to_double {
    ($($ty:ty),*) => {$(
        impl ToDouble for $ty {
            fn to_double(self) -> f64 {
                self as f64
            }
        }
    )*};
}
to_double!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

fn one(context: &Context<'_>, args: &[ArrayRef], single: impl Fn(f32) -> f32, double: impl Fn(f64) -> f64) -> Column {
    match context.args[0] {
        Type::Float32 => map::<Float32Type, Float32Type>(&args[0], single).into(),
        ty => map::<Float64Type, Float64Type>(&widened(ty, &args[0]), double).into(),
    }
}

fn two(
    context: &Context<'_>,
    args: &[ArrayRef],
    single: impl Fn(f32, f32) -> f32,
    double: impl Fn(f64, f64) -> f64,
) -> Column {
    match context.args[0] {
        Type::Float32 => zip::<Float32Type, Float32Type, Float32Type>(&args[0], &args[1], single).into(),
        ty => {
            let (a, b) = (widened(ty, &args[0]), widened(ty, &args[1]));
            zip::<Float64Type, Float64Type, Float64Type>(&a, &b, double).into()
        }
    }
}

fn log(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    match args.len() {
        1 => computed!(context, args, functions::ln_f64),
        _ => {
            let out = two(
                context,
                args,
                |base, x| x.ln() / base.ln(),
                |base, x| x.ln() / base.ln(),
            );
            let base = widened(context.args[0], &args[0]);
            let base = values::<Float64Type>(&base);
            // The logarithm of one is zero.
            let zero = BooleanBuffer::collect_bool(base.len(), |row| base[row] == 1.0);
            out.failing(context, zero, Failure::DIVISION)
        }
    }
}

fn power(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    match context.result {
        Type::Float32 | Type::Float64 => two(context, args, f32::powf, f64::powf),
        _ => with_integer!(context.result, N => integer_power::<N>(context, args)).unwrap_or_else(|| no_case(context)),
    }
}

fn integer_power<N: ArrowPrimitiveType>(context: &Context<'_>, args: &[ArrayRef]) -> Column
where
    N::Native: TryInto<u32>,
{
    let exponent = |b: N::Native| -> Option<u32> { b.try_into().ok() };
    let out: Column = zip::<N, N, N>(&args[0], &args[1], |a, b| match exponent(b) {
        Some(b) => a.pow_wrapping(b),
        None => N::Native::default(),
    })
    .into();
    let zero = N::Native::default();
    let negative = rows_where::<N, N>(&args[0], &args[1], |_, b| b.is_lt(zero));
    let out = out.failing(context, negative, Failure::invalid("an integer to a negative power"));
    let large = rows_where::<N, N>(&args[0], &args[1], |a, b| {
        !b.is_lt(zero) && exponent(b).is_none_or(|b| a.pow_checked(b).is_err())
    });
    out.failing(context, large, Failure::OVERFLOW)
}

/// -1, 0 or 1; of floats, NaN stays NaN and zeros keep their sign.
fn sign(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    match context.result {
        Type::Float32 => map::<Float32Type, Float32Type>(&args[0], |a| if a == 0.0 { a } else { a.signum() }).into(),
        Type::Float64 => map::<Float64Type, Float64Type>(&args[0], |a| if a == 0.0 { a } else { a.signum() }).into(),
        _ => with_integer!(context.result, N => {
            let zero = <N as ArrowPrimitiveType>::Native::default();
            let unit = <N as ArrowPrimitiveType>::Native::ONE;
            map::<N, N>(&args[0], |a| {
                if a == zero { zero } else if a > zero { unit } else { unit.neg_wrapping() }
            })
            .into()
        })
        .unwrap_or_else(|| no_case(context)),
    }
}
