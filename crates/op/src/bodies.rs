//! Types that follow from bodies. Building a body needs graphs, which come after this crate, so they say how.

use std::sync::OnceLock;

use super::{Infer, OpError};
use tautomer_tensor::Type;

type TypeOf = fn(&Infer<'_>) -> Result<Type, OpError>;

static TYPE_OF: OnceLock<TypeOf> = OnceLock::new();

/// States how the type of a call follows from its body; the first statement counts. Whoever makes graphs does it before
/// the first one.
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
