//! Membership in a list of literals.

#![expect(clippy::unnecessary_cast, reason = "one body for every type of number")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use rustc_hash::FxHashSet;

use crate::kernels::column::{values, with_primitive};
use crate::program::Literal;
use crate::types::Type;

/// The members, as sets of what they are compared by.
#[derive(Debug)]
pub(super) struct Lookup {
    /// Integers, booleans, moments.
    integers: FxHashSet<i128>,
    /// The bits of floats; no NaN, which is equal to nothing, and one zero.
    floats: FxHashSet<u64>,
    texts: FxHashSet<Arc<str>>,
    has_null: bool,
}

impl Lookup {
    pub(super) fn new(members: &[Literal]) -> Self {
        let mut out = Lookup {
            integers: FxHashSet::default(),
            floats: FxHashSet::default(),
            texts: FxHashSet::default(),
            has_null: false,
        };
        for member in members {
            match member {
                Literal::Null => out.has_null = true,
                Literal::Bool(value) => {
                    out.integers.insert((*value).into());
                }
                Literal::Int(value) => {
                    out.integers.insert(*value);
                }
                Literal::Float(bits) => {
                    let value = f64::from_bits(*bits);
                    if !value.is_nan() {
                        out.floats.insert(key(value));
                    }
                }
                Literal::Str(text) => {
                    out.texts.insert(Arc::clone(text));
                }
            }
        }
        out
    }

    /// True where the value is a member; null where it is null, or where a member is null and no other is equal.
    pub(super) fn run(&self, ty: Type, array: &ArrayRef) -> ArrayRef {
        let rows = array.len();
        let found = match ty {
            Type::Bool => {
                let array = array.as_boolean();
                BooleanBuffer::collect_bool(rows, |row| self.integers.contains(&array.value(row).into()))
            }
            Type::Utf8 => {
                let array = array.as_string::<i32>();
                BooleanBuffer::collect_bool(rows, |row| self.texts.contains(array.value(row)))
            }
            Type::Binary => {
                let array = array.as_binary::<i32>();
                let has = |bytes| std::str::from_utf8(bytes).is_ok_and(|text| self.texts.contains(text));
                BooleanBuffer::collect_bool(rows, |row| has(array.value(row)))
            }
            Type::Float32 | Type::Float64 => with_primitive!(ty, P => {
                let values = values::<P>(array);
                match self.floats.len() {
                    0..=8 => self.any_of(rows, self.floats.iter().map(|&bits| f64::from_bits(bits)), |row, member| {
                        values[row] as f64 == member
                    }),
                    _ => BooleanBuffer::collect_bool(rows, |row| self.floats.contains(&key(values[row] as f64))),
                }
            })
            .unwrap_or_else(|| unreachable!("{ty} is a primitive type")),
            _ => with_primitive!(ty, P => {
                let values = values::<P>(array);
                match self.integers.len() {
                    0..=8 => {
                        type Native = <P as arrow_array::ArrowPrimitiveType>::Native;
                        let members = self.integers.iter().map(|&member| member as Native);
                        self.any_of(rows, members, |row, member| values[row] == member)
                    }
                    _ => BooleanBuffer::collect_bool(rows, |row| self.integers.contains(&(values[row] as i128))),
                }
            })
            .unwrap_or_else(|| unreachable!("{ty} is a primitive type")),
        };
        let mut nulls = array.nulls().cloned();
        if self.has_null {
            nulls = NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(found.clone())));
        }
        Arc::new(BooleanArray::new(found, nulls))
    }

    /// The rows equal to one of few members: a comparison of all rows for each.
    fn any_of<M: Copy>(
        &self,
        rows: usize,
        members: impl Iterator<Item = M>,
        equal: impl Fn(usize, M) -> bool,
    ) -> BooleanBuffer {
        let each = members.map(|member| BooleanBuffer::collect_bool(rows, |row| equal(row, member)));
        each.reduce(|a, b| &a | &b)
            .unwrap_or_else(|| BooleanBuffer::new_unset(rows))
    }
}

fn key(value: f64) -> u64 {
    // Both zeros are one number.
    if value == 0.0 { 0 } else { value.to_bits() }
}
