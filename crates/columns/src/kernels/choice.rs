//! Functions that return one of their arguments.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_select::zip::zip as arrow_zip;

use crate::function::Arg::{Of, T};
use crate::function::{Function, Kernel, Returns, Signature};
use crate::kernels::cell::Cell;
use crate::kernels::column::{Column, Context, no_case, values, with_number, with_primitive, zip};
use crate::kernels::compare::validity;
use crate::types::{Type, TypeSet};

const MANY: &[Signature] = &[Signature::new(TypeSet::NUMBERS, &[T, T], Returns::T).repeated(6)];
const SOME_INT: TypeSet = TypeSet::of(&[Type::Int32]);
const STR: TypeSet = TypeSet::one(Type::Utf8);

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::strict(&["greatest"], MANY, Kernel::Arrays(greatest)),
    Function::strict(&["least"], MANY, Kernel::Arrays(least)),
    Function::own(
        &["nvl"],
        &[Signature::new(TypeSet::ALL, &[T, T], Returns::T)],
        Kernel::Arrays(|c, args| Column::from(select(c.result, &validity(&args[0]), &args[0], &args[1]))),
    ),
    Function::own(
        &["elt"],
        &[Signature::new(STR, &[Of(SOME_INT), T, T], Returns::T).repeated(6)],
        Kernel::Rows(|_, cells| {
            let chosen = match &cells[0] {
                Cell::Int(at) => usize::try_from(*at).ok().filter(|&at| at > 0),
                _ => None,
            };
            Ok(chosen.and_then(|at| cells.get(at)).cloned().unwrap_or(Cell::Null))
        }),
    ),
    Function {
        pure_function: false,
        ..Function::own(
            &["random", "rand"],
            &[
                Signature::new(TypeSet::ALL, &[], Returns::Is(Type::Float64)),
                Signature::new(TypeSet::ALL, &[Of(SOME_INT)], Returns::Is(Type::Float64)),
            ],
            Kernel::Rows(|c, cells| {
                let bits = draw(c, cells.first());
                Ok(Cell::Double((bits >> 11) as f64 / (1u64 << 53) as f64))
            }),
        )
    },
    Function {
        pure_function: false,
        ..Function::own(
            &["rand_integer"],
            &[
                Signature::new(TypeSet::ALL, &[], Returns::Is(Type::Int32)),
                Signature::new(TypeSet::ALL, &[Of(SOME_INT)], Returns::Is(Type::Int32)),
                Signature::new(TypeSet::ALL, &[Of(SOME_INT), Of(SOME_INT)], Returns::Is(Type::Int32)),
            ],
            Kernel::Rows(|c, cells| {
                let bits = draw(c, None);
                let (low, high) = match cells {
                    [] => (i64::from(i32::MIN), i64::from(i32::MAX)),
                    [high] => (0, high.int() - 1),
                    [low, high, ..] => (low.int(), high.int()),
                };
                let count = high.saturating_sub(low).saturating_add(1).max(1) as u64;
                Ok(Cell::Int(low + (bits % count) as i64))
            }),
        )
    },
];

/// Random bits for a row: a function of the seed and the number of the row (`splitmix64`).
fn draw(context: &Context<'_>, seed: Option<&Cell<'_>>) -> u64 {
    let seed = seed.map_or(context.options.seed, |seed| seed.int() as u64);
    let mut bits = seed
        .wrapping_mul(0xd134_2543_de82_ef95)
        .wrapping_add(context.first_row.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn greatest(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    fold(context, args, |a, b| b > a)
}

fn least(context: &Context<'_>, args: &[ArrayRef]) -> Column {
    fold(context, args, |a, b| b < a)
}

/// The argument that `better` prefers; NaN is returned only where every argument is.
fn fold(context: &Context<'_>, args: &[ArrayRef], better: impl Fn(Ordered, Ordered) -> bool) -> Column {
    with_number!(context.result, N => {
        let mut out: ArrayRef = Arc::clone(&args[0]);
        for other in &args[1..] {
            out = Arc::new(zip::<N, N, N>(&out, other, |a, b| {
                let (x, y) = (a.into_ordered(), b.into_ordered());
                if better(x, y) || x.is_nan() { b } else { a }
            }));
        }
        Column::from(out)
    })
    .unwrap_or_else(|| no_case(context))
}

/// A number of any type, for comparison.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Ordered {
    Int(i128),
    Float(f64),
}

impl Ordered {
    fn is_nan(self) -> bool {
        matches!(self, Ordered::Float(value) if value.is_nan())
    }
}

trait IntoOrdered {
    fn into_ordered(self) -> Ordered;
}

macro_rules! into_ordered {
    ($($ty:ty => $variant:ident),*) => {$(
        impl IntoOrdered for $ty {
            fn into_ordered(self) -> Ordered {
                Ordered::$variant(self.into())
            }
        }
    )*};
}
into_ordered!(i8 => Int, i16 => Int, i32 => Int, i64 => Int, u8 => Int, u16 => Int, u32 => Int, u64 => Int, f32 => Float, f64 => Float);

/// `a` in the rows of the mask, `b` in the others, with their nulls.
pub(crate) fn select(ty: Type, mask: &BooleanBuffer, a: &ArrayRef, b: &ArrayRef) -> ArrayRef {
    let nulls = match (a.nulls(), b.nulls()) {
        (None, None) => None,
        _ => Some(NullBuffer::new(&(mask & &validity(a)) | &(&!mask & &validity(b)))),
    };
    if ty == Type::Bool {
        let values = &(mask & a.as_boolean().values()) | &(&!mask & b.as_boolean().values());
        return Arc::new(BooleanArray::new(values, nulls));
    }
    let numbers = with_primitive!(ty, P => chosen::<P>(mask, a, b, nulls));
    numbers.unwrap_or_else(|| {
        let mask = BooleanArray::new(mask.clone(), None);
        // Arrays of one type and one length.
        arrow_zip(&mask, a, b).unwrap_or_else(|error| unreachable!("{error}"))
    })
}

fn chosen<P: ArrowPrimitiveType>(
    mask: &BooleanBuffer,
    a: &ArrayRef,
    b: &ArrayRef,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let (a, b) = (values::<P>(a), values::<P>(b));
    let mut out: Vec<P::Native> = Vec::with_capacity(a.len());
    // A word of the mask at a time: 64 rows.
    for (word, start) in mask.bit_chunks().iter_padded().zip((0..a.len()).step_by(64)) {
        let end = (start + 64).min(a.len());
        let pairs = a[start..end].iter().zip(&b[start..end]);
        out.extend(
            pairs
                .enumerate()
                .map(|(i, (&a, &b))| if word >> i & 1 == 1 { a } else { b }),
        );
    }
    Arc::new(PrimitiveArray::<P>::new(out.into(), nulls))
}
