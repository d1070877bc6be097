//! The values of symbolic dimensions in one run, found from the shapes of inputs and parameters.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::RunError;
use super::plan::Port;
use super::run::Executor;
use tautomer_op::AttrValue;
use tautomer_tensor::{Dim, Tensor, Type};

/// Values of the symbolic dimensions, each with the name of the input that gave it.
pub(super) type Symbols = BTreeMap<Arc<str>, (i64, Arc<str>)>;

/// A value that is given to a run: its name in messages, its position, and the value.
pub(super) type Given<'a> = (&'static str, &'a Port, &'a Tensor);

impl Executor {
    /// Checks the types of inputs and parameters, and finds the value of every symbolic dimension.
    pub(super) fn bind<'v>(
        &self,
        given: impl Iterator<Item = Given<'v>> + Clone,
        outer: &Symbols,
    ) -> Result<Symbols, RunError> {
        let mut symbols = Symbols::new();
        let mismatch = |what, port: &Port, value: &Tensor| RunError::Type {
            what,
            name: port.name.clone().unwrap_or_default(),
            expected: self.plan().slots[port.slot].ty.clone().into(),
            given: Box::new(value.ty().into()),
        };
        let name = |port: &Port| port.name.clone().unwrap_or_default();
        for (what, port, value) in given.clone() {
            let Type::Tensor(expected) = &self.plan().slots[port.slot].ty else {
                continue;
            };
            let shape = expected.shape.as_ref();
            if expected.dtype != value.dtype() || shape.is_some_and(|s| s.len() != value.shape().len()) {
                return Err(mismatch(what, port, value));
            }
            for (dim, &extent) in shape.into_iter().flat_map(|s| s.iter()).zip(value.shape()) {
                let Some(symbol) = dim.as_symbol() else { continue };
                let extent = i64::try_from(extent).unwrap_or(i64::MAX);
                match symbols.get(symbol) {
                    None => {
                        symbols.insert(symbol.into(), (extent, name(port)));
                    }
                    Some((first, _)) if *first == extent => {}
                    Some((first, place)) => {
                        return Err(RunError::Symbol {
                            symbol: symbol.into(),
                            first: *first,
                            first_place: place.clone(),
                            second: extent,
                            second_place: name(port),
                        });
                    }
                }
            }
        }
        // A function has its own symbols; the others are those of the caller.
        for (symbol, value) in outer {
            symbols.entry(symbol.clone()).or_insert_with(|| value.clone());
        }
        // Now that every symbol is known, dimensions that are expressions can be checked.
        for (what, port, value) in given.clone() {
            let ty = self.plan().slots[port.slot].ty.as_tensor();
            let shape = ty.and_then(|t| t.shape.as_ref()).into_iter().flat_map(|s| s.iter());
            for (dim, &extent) in shape.zip(value.shape()) {
                if bind_dim(dim, &symbols)
                    .as_const()
                    .is_some_and(|d| usize::try_from(d) != Ok(extent))
                {
                    return Err(mismatch(what, port, value));
                }
            }
        }
        Ok(symbols)
    }
}

pub(super) fn bind_dim(dim: &Dim, symbols: &Symbols) -> Dim {
    match dim {
        Dim::Const(_) => dim.clone(),
        _ => dim.bind(&|s| symbols.get(s).map(|(value, _)| *value)),
    }
}

/// An attribute with the values of the dimensions that it mentions.
pub(super) fn bind_attr(value: &AttrValue, symbols: &Symbols) -> AttrValue {
    match value {
        AttrValue::Int(d) => AttrValue::Int(bind_dim(d, symbols)),
        AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(|d| bind_dim(d, symbols)).collect()),
        other => other.clone(),
    }
}
