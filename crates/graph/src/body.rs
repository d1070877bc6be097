//! The bodies of composite calls as graphs of their own, which the interpreter computes.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::composite::inline;
use super::{Graph, VertexId};
use tautomer_op::{AttrValue, OpDef, OpError};
use tautomer_tensor::Type;

/// The body of a composite call.
pub(crate) struct Body {
    pub(crate) graph: Graph,
    /// The operands.
    pub(crate) inputs: Vec<VertexId>,
    /// The results.
    pub(crate) roots: Vec<VertexId>,
}

/// A call of a composite operator.
struct Call {
    def: &'static OpDef,
    types: Vec<Type>,
    attrs: Vec<AttrValue>,
}

/// How many bodies are kept.
const KEPT: usize = 32;

thread_local! {
    /// The bodies of the latest calls. Comparisons compute the same few calls over several kinds of numbers, and for
    /// small operands, building a body takes longer than computing it.
    static LATEST: RefCell<VecDeque<(Call, Rc<Body>)>> = const { RefCell::new(VecDeque::new()) };
}

impl Body {
    /// The body of a call with operands of these types.
    ///
    /// # Errors
    /// If the operator is primitive, or if its body does not type for these operands.
    pub(crate) fn of(def: &'static OpDef, types: &[Type], attrs: &[AttrValue]) -> Result<Rc<Body>, OpError> {
        // What is true of symbols depends on assumptions.
        if attrs.iter().any(AttrValue::has_symbols) || !types.iter().all(is_concrete) {
            return Ok(Rc::new(Body::build(def, types, attrs)?));
        }
        let same = |call: &Call| std::ptr::eq(call.def, def) && call.types == types && call.attrs == attrs;
        let found = |(call, body): &(Call, Rc<Body>)| same(call).then(|| body.clone());
        if let Some(body) = LATEST.with_borrow(|latest| latest.iter().find_map(found)) {
            return Ok(body);
        }
        let body = Rc::new(Body::build(def, types, attrs)?);
        let call = Call {
            def,
            types: types.to_vec(),
            attrs: attrs.to_vec(),
        };
        LATEST.with_borrow_mut(|latest| {
            latest.truncate(KEPT - 1);
            latest.push_front((call, body.clone()));
        });
        Ok(body)
    }

    fn build(def: &'static OpDef, types: &[Type], attrs: &[AttrValue]) -> Result<Body, OpError> {
        let mut graph = Graph::new();
        let inputs: Vec<VertexId> = types
            .iter()
            .map(|ty| match ty {
                Type::Absent => graph.absent(),
                _ => graph.input("", ty.clone()),
            })
            .collect();
        let root = inline(&mut graph, def, &inputs, attrs)?;
        let roots = match graph.ty(root) {
            Type::Tuple(items) => (0..items.len())
                .map(|i| graph.project(root, i))
                .collect::<Result<Vec<_>, _>>()?,
            _ => vec![root],
        };
        Ok(Body { graph, inputs, roots })
    }
}

fn is_concrete(ty: &Type) -> bool {
    match ty {
        Type::Absent => true,
        Type::Tensor(ty) => ty.shape.as_ref().is_some_and(|shape| shape.to_concrete().is_some()),
        Type::Tuple(items) => items.iter().all(is_concrete),
        Type::Sequence(item) | Type::Optional(item) => is_concrete(item),
    }
}
