//! Facts about a call that follow from its operands' types and its attributes.

use std::any::Any;
use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use super::operand::Operand;
use tautomer_op::{AttrValue, Fact, Infer, OpDef, OpError};
use tautomer_tensor::Type;

/// The result of inference for a call.
#[derive(Debug)]
pub(super) struct Inferred {
    /// The attributes in declared order; those given as operands are filled in.
    pub(super) attrs: Vec<AttrValue>,
    /// The type of the result.
    pub(super) result: Type,
    /// Data that a kernel has computed from types and attributes.
    pub(super) made: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Inferred {
    /// Fills in attributes and infers the type of the result.
    ///
    /// # Errors
    /// If operands or attributes are invalid for the operator.
    pub(super) fn new(def: &'static OpDef, operands: &[Operand<'_>], attrs: &[AttrValue]) -> Result<Inferred, OpError> {
        let ty = |operand: &Operand<'_>| operand.ty().map_or(Type::Absent, Type::from);
        let types: Vec<Type> = operands.iter().map(ty).collect();
        let facts: Vec<Fact<'_>> = types
            .iter()
            .zip(operands)
            .enumerate()
            .map(|(i, (ty, value))| Fact::with(ty, value.tensor().filter(|_| is_attribute(def, i))))
            .collect();
        let fresh = Cell::new(0);
        let given = Infer {
            def,
            operands: &facts,
            attrs,
            fresh: &fresh,
        };
        let mut attrs: Vec<AttrValue> = def
            .attrs
            .iter()
            .map(|attr| match given.attr(attr.name) {
                AttrValue::None => attr.default_value().unwrap_or(AttrValue::None),
                value => value,
            })
            .collect();
        // Dimensions are now known, so attributes that depended on them can be resolved, such as pads that preserve the
        // dimension.
        if let Some(canonical) = def.canonical {
            let before = attrs.clone();
            canonical(
                &Infer {
                    def,
                    operands: &facts,
                    attrs: &before,
                    fresh: &fresh,
                },
                &mut attrs,
            )?;
        }
        let result = (def.infer)(&Infer {
            def,
            operands: &facts,
            attrs: &attrs,
            fresh: &fresh,
        })?;
        Ok(Inferred {
            attrs,
            result,
            made: OnceLock::new(),
        })
    }
}

/// True if the value of operand `i` is an attribute, so that types depend on it.
pub(super) fn is_attribute(def: &OpDef, i: usize) -> bool {
    def.operand(i).is_some_and(|o| o.attr.is_some())
}
