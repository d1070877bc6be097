//! Arithmetic and bitwise functions.

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_buffer::BooleanBuffer;
use std::sync::Arc;

use crate::function::Arg::{Of, T};
use crate::function::{Function, Kernel, Real, Returns, Signature};
use crate::kernels::cell::Failure;
use crate::kernels::column::{Column, Context, map, no_case, rows_where, values, with_integer, with_number, zip};
use crate::kernels::dates;
use crate::options::Overflow;
use crate::types::{Type, TypeSet};

const NUMBERS: TypeSet = TypeSet::NUMBERS;
const INTS: TypeSet = TypeSet::of(&[Type::Int32, Type::Int64]);
const TWO: Signature = Signature::new(NUMBERS, &[T, T], Returns::T);
/// An instant and a number of days.
const LATER: Signature = Signature::new(TypeSet::INSTANTS, &[T, Of(INTS)], Returns::T);
const BITS: TypeSet = TypeSet::INTEGERS.or(TypeSet::one(Type::Bool));

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::strict(
        &["add"],
        &[
            TWO,
            LATER,
            Signature::new(TypeSet::INSTANTS, &[Of(INTS), T], Returns::T),
        ],
        Kernel::Arrays(add),
    )
    .with_real(Real::Two(|a, b| a + b)),
    Function::strict(&["subtract"], &[TWO, LATER], Kernel::Arrays(subtract)).with_real(Real::Two(|a, b| a - b)),
    Function::strict(&["multiply"], &[TWO], Kernel::Arrays(multiply)).with_real(Real::Two(|a, b| a * b)),
    Function::strict(&["divide"], &[TWO], Kernel::Arrays(divide)).with_real(Real::Two(|a, b| a / b)),
    Function::strict(&["div"], &[TWO], Kernel::Arrays(div)).with_real(Real::Two(|a, b| (a / b).trunc())),
    Function::strict(
        &["mod", "modulo"],
        &[
            TWO,
            Signature::new(
                TypeSet::one(Type::Int64),
                &[T, Of(TypeSet::one(Type::Int32))],
                Returns::Is(Type::Int32),
            ),
        ],
        Kernel::Arrays(modulo),
    )
    .with_real(Real::Two(|a, b| a % b)),
    Function::strict(&["pmod"], &[TWO], Kernel::Arrays(pmod)).with_real(Real::Two(|a, b| (a % b + b) % b)),
    Function::strict(
        &["negative"],
        &[Signature::new(TypeSet::SIGNED.or(TypeSet::FLOATS), &[T], Returns::T)],
        Kernel::Arrays(negative),
    )
    .with_real(Real::One(|a| -a)),
    Function::strict(
        &["positive"],
        &[Signature::new(NUMBERS, &[T], Returns::T)],
        Kernel::Arrays(|_, args| Column::from(Arc::clone(&args[0]))),
    )
    .with_real(Real::One(|a| a)),
    Function::strict(
        &["bitwise_and"],
        &[Signature::new(BITS, &[T, T], Returns::T)],
        Kernel::Arrays(bitwise_and),
    ),
    Function::strict(
        &["bitwise_or"],
        &[Signature::new(BITS, &[T, T], Returns::T)],
        Kernel::Arrays(bitwise_or),
    ),
    Function::strict(
        &["bitwise_xor", "xor"],
        &[Signature::new(BITS, &[T, T], Returns::T)],
        Kernel::Arrays(bitwise_xor),
    ),
    Function::strict(
        &["bitwise_not"],
        &[Signature::new(TypeSet::INTEGERS, &[T], Returns::T)],
        Kernel::Arrays(|c, args| {
            with_integer!(c.result, N => map::<N, N>(&args[0], |a| !a).into()).unwrap_or_else(|| no_case(c))
        }),
    ),
];

/// `a op b`; where the checked operation has no result, the wrapping one is kept and the row is marked.
fn checked<N: ArrowPrimitiveType>(
    context: &Context<'_>,
    args: &[ArrayRef],
    wrapping: impl Fn(N::Native, N::Native) -> N::Native,
    fits: impl Fn(N::Native, N::Native) -> bool,
) -> Column {
    let out: Column = zip::<N, N, N>(&args[0], &args[1], wrapping).into();
    if context.options.overflow == Overflow::Wrap || context.result.is_float() {
        return out;
    }
    let rows = rows_where::<N, N>(&args[0], &args[1], |a, b| !fits(a, b));
    out.failing(context, rows, Failure::OVERFLOW)
}

fn add(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    match context.args {
        [Type::Int32 | Type::Int64, day] if context.result == *day && TypeSet::INSTANTS.has(*day) => {
            dates::shift_days(context, &args[1], &args[0], context.args[0], 1)
        }
        [day, other] if day != other => dates::shift_days(context, &args[0], &args[1], *other, 1),
        _ => with_number!(context.result, N => checked::<N>(
            context,
            args,
            |a, b| a.add_wrapping(b),
            |a, b| a.add_checked(b).is_ok(),
        ))
        .unwrap_or_else(|| no_case(context)),
    }
}

fn subtract(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    match context.args {
        [day, other] if day != other => dates::shift_days(context, &args[0], &args[1], *other, -1),
        _ => with_number!(context.result, N => checked::<N>(
            context,
            args,
            |a, b| a.sub_wrapping(b),
            |a, b| a.sub_checked(b).is_ok(),
        ))
        .unwrap_or_else(|| no_case(context)),
    }
}

fn multiply(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    with_number!(context.result, N => checked::<N>(
        context,
        args,
        |a, b| a.mul_wrapping(b),
        |a, b| a.mul_checked(b).is_ok(),
    ))
    .unwrap_or_else(|| no_case(context))
}

/// The quotient; of integers, rounded towards zero.
fn divide(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    match context.result {
        Type::Float32 => {
            use arrow_array::types::Float32Type as F;
            zip::<F, F, F>(&args[0], &args[1], |a, b| a / b).into()
        }
        Type::Float64 => {
            use arrow_array::types::Float64Type as F;
            zip::<F, F, F>(&args[0], &args[1], |a, b| a / b).into()
        }
        _ => with_integer!(context.result, N => quotient::<N>(context, args, |a, b| a.div_wrapping(b)))
            .unwrap_or_else(|| no_case(context)),
    }
}

/// An integer operation that has no result where the second operand is zero.
fn quotient<N: ArrowPrimitiveType>(
    context: &Context<'_>,
    args: &[ArrayRef],
    f: impl Fn(N::Native, N::Native) -> N::Native,
) -> Column {
    let zero = |b: N::Native| b.is_zero();
    let safe = |a: N::Native, b: N::Native| if zero(b) { b } else { f(a, b) };
    let out: Column = zip::<N, N, N>(&args[0], &args[1], safe).into();
    let out = out.failing(
        context,
        rows_where::<N, N>(&args[0], &args[1], |_, b| zero(b)),
        Failure::DIVISION,
    );
    if context.options.overflow == Overflow::Wrap {
        return out;
    }
    let overflows = |a: N::Native, b: N::Native| !zero(b) && a.div_checked(b).is_err();
    out.failing(
        context,
        rows_where::<N, N>(&args[0], &args[1], overflows),
        Failure::OVERFLOW,
    )
}

/// The whole part of the quotient, also of floats.
fn div(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    match context.result {
        Type::Float32 => {
            use arrow_array::types::Float32Type as F;
            zip::<F, F, F>(&args[0], &args[1], |a, b| (a / b).trunc()).into()
        }
        Type::Float64 => {
            use arrow_array::types::Float64Type as F;
            zip::<F, F, F>(&args[0], &args[1], |a, b| (a / b).trunc()).into()
        }
        _ => divide(context, args),
    }
}

/// The remainder, with the sign of the dividend.
fn modulo(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
    match (context.args, context.result) {
        ([Type::Int64, Type::Int32], _) => {
            let rest = |a: i64, b: i32| if b == 0 { 0 } else { a.wrapping_rem(i64::from(b)) as i32 };
            let out: Column = zip::<Int64Type, Int32Type, Int32Type>(&args[0], &args[1], rest).into();
            let zero = rows_where::<Int64Type, Int32Type>(&args[0], &args[1], |_, b| b == 0);
            out.failing(context, zero, Failure::DIVISION)
        }
        (_, Type::Float32) => zip::<Float32Type, Float32Type, Float32Type>(&args[0], &args[1], |a, b| a % b).into(),
        (_, Type::Float64) => zip::<Float64Type, Float64Type, Float64Type>(&args[0], &args[1], |a, b| a % b).into(),
        _ => with_integer!(context.result, N => remainder::<N>(context, args, |a, b| a.mod_wrapping(b)))
            .unwrap_or_else(|| no_case(context)),
    }
}

/// The remainder with the sign of the divisor.
fn pmod(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    use arrow_array::types::{Float32Type, Float64Type};
    match context.result {
        Type::Float32 => {
            zip::<Float32Type, Float32Type, Float32Type>(&args[0], &args[1], |a, b| (a % b + b) % b).into()
        }
        Type::Float64 => {
            zip::<Float64Type, Float64Type, Float64Type>(&args[0], &args[1], |a, b| (a % b + b) % b).into()
        }
        _ => with_integer!(context.result, N => remainder::<N>(context, args, |a, b| {
            a.mod_wrapping(b).add_wrapping(b).mod_wrapping(b)
        }))
        .unwrap_or_else(|| no_case(context)),
    }
}

fn remainder<N: ArrowPrimitiveType>(
    context: &Context<'_>,
    args: &[ArrayRef],
    f: impl Fn(N::Native, N::Native) -> N::Native,
) -> Column {
    let safe = |a: N::Native, b: N::Native| if b.is_zero() { b } else { f(a, b) };
    let out: Column = zip::<N, N, N>(&args[0], &args[1], safe).into();
    let zero = rows_where::<N, N>(&args[0], &args[1], |_, b| b.is_zero());
    out.failing(context, zero, Failure::DIVISION)
}

fn negative(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    with_number!(context.result, N => {
        let out: Column = map::<N, N>(&args[0], |a| a.neg_wrapping()).into();
        let input = values::<N>(&args[0]);
        match context.options.overflow == Overflow::Wrap || context.result.is_float() {
            true => out,
            false => {
                let rows = BooleanBuffer::collect_bool(input.len(), |row| input[row].neg_checked().is_err());
                out.failing(context, rows, Failure::OVERFLOW)
            }
        }
    })
    .unwrap_or_else(|| no_case(context))
}

/// A bitwise operation on integers or booleans.
macro_rules! bitwise {
    ($name:ident, $op:tt) => {
        fn $name(context: &Context<'_>, args: &[ArrayRef]) -> Column {
            if context.result == Type::Bool {
                let (a, b) = (args[0].as_boolean().values(), args[1].as_boolean().values());
                let array: ArrayRef = Arc::new(BooleanArray::new(a $op b, None));
                return array.into();
            }
            with_integer!(context.result, N => zip::<N, N, N>(&args[0], &args[1], |a, b| a $op b).into())
                .unwrap_or_else(|| no_case(context))
        }
    };
}
bitwise!(bitwise_and, &);
bitwise!(bitwise_or, |);
bitwise!(bitwise_xor, ^);

/// The absolute value.
pub(crate) fn abs(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    let flipped = with_number!(context.result, N => {
        let input = values::<N>(&args[0]);
        let zero = <N as ArrowPrimitiveType>::Native::default();
        let out: Vec<_> = input.iter().map(|&a| if a.is_lt(zero) { a.neg_wrapping() } else { a }).collect();
        let out: Column = PrimitiveArray::<N>::new(out.into(), None).into();
        let fails = |row: usize| input[row].is_lt(zero) && input[row].neg_checked().is_err();
        match context.result.is_float() {
            true => out,
            false => out.failing(context, BooleanBuffer::collect_bool(input.len(), fails), Failure::OVERFLOW),
        }
    });
    flipped.unwrap_or_else(|| no_case(context))
}
