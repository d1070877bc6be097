//! Comparisons, and questions about nulls and truth.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray};
use arrow_buffer::BooleanBuffer;

use crate::eval::Sortable;
use crate::function::Arg::{Of, T};
use crate::function::{Function, Kernel, Real, Returns, Signature};
use crate::kernels::column::{Column, Context, no_case, rows_where, values, with_number, with_primitive};
use crate::options::FloatOrder;
use crate::types::{Type, TypeSet};

const BOOL: Returns = Returns::Is(Type::Bool);
const PAIR: &[Signature] = &[Signature::new(TypeSet::ALL, &[T, T], BOOL)];
const ANY: &[Signature] = &[Signature::new(TypeSet::ALL, &[Of(TypeSet::ALL)], BOOL)];
const NUMBER: &[Signature] = &[Signature::new(TypeSet::ALL, &[Of(TypeSet::NUMBERS)], BOOL)];
const TRUTH: &[Signature] = &[Signature::new(
    TypeSet::ALL,
    &[Of(TypeSet::NUMBERS.or(TypeSet::one(Type::Bool)))],
    BOOL,
)];

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::strict(&["equal", "eq", "same"], PAIR, Kernel::Arrays(equal)).with_real(Real::Test(|a, b| a == b)),
    Function::strict(&["not_equal"], PAIR, Kernel::Arrays(not_equal)).with_real(Real::Test(|a, b| a != b)),
    Function::strict(&["less_than"], PAIR, Kernel::Arrays(less)).with_real(Real::Test(|a, b| a < b)),
    Function::strict(&["less_than_or_equal_to"], PAIR, Kernel::Arrays(less_or_equal))
        .with_real(Real::Test(|a, b| a <= b)),
    Function::strict(&["greater_than"], PAIR, Kernel::Arrays(greater)).with_real(Real::Test(|a, b| a > b)),
    Function::strict(&["greater_than_or_equal_to"], PAIR, Kernel::Arrays(greater_or_equal))
        .with_real(Real::Test(|a, b| a >= b)),
    Function::strict(
        &["not"],
        &[Signature::new(TypeSet::one(Type::Bool), &[T], Returns::T)],
        Kernel::Arrays(|_, args| column(!args[0].as_boolean().values())),
    )
    // Of single values, truth is one.
    .with_real(Real::One(|a| 1.0 - a)),
    Function::own(
        &["is_distinct_from"],
        PAIR,
        Kernel::Arrays(|c, args| column(!&same_or_both_null(c, args))),
    ),
    Function::own(
        &["is_not_distinct_from"],
        PAIR,
        Kernel::Arrays(|c, args| column(same_or_both_null(c, args))),
    ),
    Function::own(&["isnull"], ANY, Kernel::Arrays(|_, args| column(!&validity(&args[0])))),
    Function::own(
        &["isnotnull"],
        ANY,
        Kernel::Arrays(|_, args| column(validity(&args[0]))),
    ),
    Function::own(
        &["isnumeric"],
        NUMBER,
        Kernel::Arrays(|_, args| column(validity(&args[0]))),
    ),
    Function::own(
        &["istrue"],
        TRUTH,
        Kernel::Arrays(|c, args| column(truth(c, args, true))),
    ),
    Function::own(
        &["isfalse"],
        TRUTH,
        Kernel::Arrays(|c, args| column(truth(c, args, false))),
    ),
    Function::own(
        &["isnottrue"],
        TRUTH,
        Kernel::Arrays(|c, args| column(!&truth(c, args, true))),
    ),
    Function::own(
        &["isnotfalse"],
        TRUTH,
        Kernel::Arrays(|c, args| column(!&truth(c, args, false))),
    ),
];

fn column(values: BooleanBuffer) -> Column {
    let array: ArrayRef = Arc::new(BooleanArray::new(values, None));
    array.into()
}

/// A bit for each row: whether it is not null.
pub(crate) fn validity(array: &ArrayRef) -> BooleanBuffer {
    match array.nulls() {
        Some(nulls) => nulls.inner().clone(),
        None => BooleanBuffer::new_set(array.len()),
    }
}

/// The rows where two values of one type are equal; `NaN` is not equal to itself.
pub(crate) fn equal_rows(ty: Type, a: &ArrayRef, b: &ArrayRef) -> BooleanBuffer {
    match ty {
        Type::Bool => !&(a.as_boolean().values() ^ b.as_boolean().values()),
        Type::Utf8 => {
            let (a, b) = (a.as_string::<i32>(), b.as_string::<i32>());
            BooleanBuffer::collect_bool(a.len(), |row| a.value(row) == b.value(row))
        }
        Type::Binary => {
            let (a, b) = (a.as_binary::<i32>(), b.as_binary::<i32>());
            BooleanBuffer::collect_bool(a.len(), |row| a.value(row) == b.value(row))
        }
        _ => with_primitive!(ty, P => rows_where::<P, P>(a, b, |a, b| a == b))
            .unwrap_or_else(|| unreachable!("{ty} is a primitive type")),
    }
}

/// The arguments of a comparison: floats as integers in the same order, if NaN shall have a place in it.
fn compared(context: &Context<'_>, args: &[ArrayRef]) -> (Type, ArrayRef, ArrayRef) {
    fn keys<N: ArrowPrimitiveType, K: ArrowPrimitiveType>(array: &ArrayRef) -> ArrayRef
    where
        N::Native: Sortable<Key = K::Native>,
    {
        Arc::new(array.as_primitive::<N>().unary::<_, K>(Sortable::key))
    }
    match (context.options.float_order, context.args[0]) {
        (FloatOrder::Total, Type::Float32) => {
            let keys = keys::<Float32Type, Int32Type>;
            (Type::Int32, keys(&args[0]), keys(&args[1]))
        }
        (FloatOrder::Total, Type::Float64) => {
            let keys = keys::<Float64Type, Int64Type>;
            (Type::Int64, keys(&args[0]), keys(&args[1]))
        }
        (_, ty) => (ty, Arc::clone(&args[0]), Arc::clone(&args[1])),
    }
}

fn equal(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    let (ty, a, b) = compared(context, args);
    column(equal_rows(ty, &a, &b))
}

fn not_equal(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    let (ty, a, b) = compared(context, args);
    column(!&equal_rows(ty, &a, &b))
}

/// A comparison of values of one type.
macro_rules! ordered {
    ($name:ident, $op:tt) => {
        fn $name(context: &Context<'_>, args: &[ArrayRef]) -> Column {
            let (ty, a, b) = compared(context, args);
            let (a, b) = (&a, &b);
            column(match ty {
                Type::Bool => {
                    let (a, b) = (a.as_boolean(), b.as_boolean());
                    BooleanBuffer::collect_bool(a.len(), |row| a.value(row) $op b.value(row))
                }
                Type::Utf8 => {
                    let (a, b) = (a.as_string::<i32>(), b.as_string::<i32>());
                    BooleanBuffer::collect_bool(a.len(), |row| a.value(row) $op b.value(row))
                }
                Type::Binary => {
                    let (a, b) = (a.as_binary::<i32>(), b.as_binary::<i32>());
                    BooleanBuffer::collect_bool(a.len(), |row| a.value(row) $op b.value(row))
                }
                ty => with_primitive!(ty, P => rows_where::<P, P>(a, b, |a, b| a $op b))
                    .unwrap_or_else(|| no_case(context)),
            })
        }
    };
}
ordered!(less, <);
ordered!(less_or_equal, <=);
ordered!(greater, >);
ordered!(greater_or_equal, >=);

fn same_or_both_null(context: &Context<'_>, args: &[ArrayRef]) -> BooleanBuffer {
    let (a, b) = (validity(&args[0]), validity(&args[1]));
    let both = &a & &b;
    let neither = !&(&a | &b);
    let (ty, a, b) = compared(context, args);
    &(&both & &equal_rows(ty, &a, &b)) | &neither
}

/// The rows that are not null and are, or are not, different from zero.
fn truth(context: &Context<'_>, args: &[ArrayRef], wanted: bool) -> BooleanBuffer {
    let values = match context.args[0] {
        Type::Bool => args[0].as_boolean().values().clone(),
        ty => with_number!(ty, N => {
            let values = values::<N>(&args[0]);
            let zero = <N as arrow_array::ArrowPrimitiveType>::Native::default();
            BooleanBuffer::collect_bool(values.len(), |row| values[row] != zero)
        })
        .unwrap_or_else(|| no_case(context)),
    };
    let values = if wanted { values } else { !&values };
    &values & &validity(&args[0])
}
