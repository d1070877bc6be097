//! Types that follow from bodies. Building a body needs graphs, which come after this crate, so the crate of graphs
//! provides the function.

use std::sync::OnceLock;

use super::{Infer, OpError};
use tautomer_tensor::Type;

type TypeOf = fn(&Infer<'_>) -> Result<Type, OpError>;

static TYPE_OF: OnceLock<TypeOf> = OnceLock::new();

/// Sets the function that finds the type of a call from its body; only the first call counts. Code that makes graphs
/// calls this before it makes the first one.
pub fn types_of_bodies(type_of: TypeOf) {
    TYPE_OF.get_or_init(|| type_of);
}

/// The type of a call whose operator has no law for types.
pub(crate) fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    match TYPE_OF.get() {
        Some(type_of) => type_of(call),
        None => Err(OpError::new("its body cannot be built before there is a graph")),
    }
}
