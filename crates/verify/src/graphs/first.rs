//! Finds where two graphs begin to differ: the first value of the optimized graph that differs from its counterpart.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Tolerance;
use crate::compare::element::ElementMismatch;
use crate::compare::tolerance::mismatch_beyond_tolerance;
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::Value;
use tautomer_tensor::{DType, Type};

/// A value of the optimized graph that differs from its counterpart in the original.
#[derive(Debug, Clone)]
pub struct Differs {
    /// The name of the value, or of the call that computes it.
    pub value: String,
    /// Its operator, or its kind if it is not a call.
    pub operator: String,
    /// Its type.
    pub ty: String,
    /// Its counterpart in the original.
    pub counterpart: String,
    /// The multi-index of the first element that differs.
    pub element: Option<Vec<usize>>,
    /// The value of the original there.
    pub expected: String,
    /// The value of the optimized graph there.
    pub found: String,
    /// Its operands, each with an equal value of the original, if there is one.
    pub operands: Vec<(String, Option<String>)>,
    /// The first value it depends on that has no equal value in the original, although all its operands do.
    pub strange: Option<String>,
}

/// Values of vertices.
pub(super) type Values = FxHashMap<VertexId, Value<f64>>;

/// The graphs and values to compare.
pub(super) struct Sides<'a> {
    pub(super) original: &'a Graph,
    pub(super) optimized: &'a Graph,
    pub(super) expected: &'a Values,
    pub(super) found: &'a Values,
    pub(super) tolerance: Tolerance,
}

/// The name of a value, or of the call that computes it.
pub(crate) fn describe(graph: &Graph, v: VertexId) -> String {
    let vertex = graph.vertex(v);
    match (&vertex.name, vertex.op()) {
        (Some(name), _) => format!("`{name}`"),
        (None, Some(op)) => format!("{} #{}", op.name(), v.index()),
        (None, None) if vertex.constant().is_some() => format!("constant #{}", v.index()),
        (None, None) => format!("#{}", v.index()),
    }
}

impl Sides<'_> {
    fn dtype(&self, v: VertexId) -> DType {
        self.optimized.ty(v).as_tensor().map_or(DType::F32, |t| t.dtype)
    }

    /// The difference between `u` of the original and `v` of the optimized graph; `None` if they are equal or have no
    /// values.
    fn mismatch(&self, u: VertexId, v: VertexId) -> Option<ElementMismatch> {
        let (a, b) = (self.expected.get(&u)?, self.found.get(&v)?);
        self.tolerance.mismatch(a, b, self.dtype(v))
    }

    /// A value of the original that is equal to `v`: preferably the one with the same name, else the first one.
    fn equal(&self, order: &[VertexId], v: VertexId) -> Option<VertexId> {
        let b = self.found.get(&v)?;
        let name = &self.optimized.vertex(v).name;
        let same_name = |u: &&VertexId| name.is_some() && self.original.vertex(**u).name == *name;
        let is_equal = |u: &VertexId| {
            self.expected.get(u).is_some_and(|a| {
                a.shape() == b.shape()
                    && std::mem::discriminant(a) == std::mem::discriminant(b)
                    && mismatch_beyond_tolerance(self.tolerance.class, a, b, self.dtype(v), 1e-3, self.tolerance.data())
                        .is_none()
            })
        };
        let by_name = order.iter().filter(same_name).find(|u| is_equal(u));
        by_name.or_else(|| order.iter().find(|u| is_equal(u))).copied()
    }

    /// The first difference among the values that `output` of the optimized graph depends on; its counterpart is
    /// `counterpart`.
    pub(super) fn first(&self, counterpart: VertexId, output: VertexId) -> Option<Differs> {
        let theirs = self.original.rpo();
        let mut named: FxHashMap<Arc<str>, Option<VertexId>> = FxHashMap::default();
        for &u in &theirs {
            if let Some(name) = &self.original.vertex(u).name {
                // A name that occurs twice is ambiguous.
                named.entry(name.clone()).and_modify(|v| *v = None).or_insert(Some(u));
            }
        }
        let order = self.optimized.rpo_from([output]);
        let is_tensor = |v: &&VertexId| matches!(self.optimized.ty(**v), Type::Tensor(_));
        let paired = order.iter().filter(is_tensor).find_map(|&v| {
            let u = named.get(self.optimized.vertex(v).name.as_ref()?).copied().flatten()?;
            let same_shape = self.expected.get(&u)?.shape() == self.found.get(&v)?.shape();
            let difference = if same_shape { self.mismatch(u, v) } else { None };
            Some((u, v, difference?))
        });
        let (u, v, difference) = match paired {
            Some(found) => found,
            None => (counterpart, output, self.mismatch(counterpart, output)?),
        };
        Some(self.differs(&theirs, u, v, difference))
    }

    fn differs(&self, theirs: &[VertexId], u: VertexId, v: VertexId, difference: ElementMismatch) -> Differs {
        let vertex = self.optimized.vertex(v);
        let operator = match &vertex.node {
            Node::Call { op, .. } => op.name(),
            Node::Input | Node::Param => "an input".to_owned(),
            Node::Const(_) => "a constant".to_owned(),
            Node::Proj(_) => match self
                .optimized
                .pred(v)
                .first()
                .and_then(|&t| self.optimized.vertex(t).op())
            {
                Some(op) => op.name(),
                None => "an element".to_owned(),
            },
            Node::Tuple | Node::Absent => "not a tensor".to_owned(),
        };
        let found = |w: VertexId| self.equal(theirs, w).map(|u| describe(self.original, u));
        let operands = self
            .optimized
            .pred(v)
            .into_iter()
            .filter(|w| self.found.contains_key(w));
        let operands: Vec<(String, Option<String>)> =
            operands.map(|w| (describe(self.optimized, w), found(w))).collect();
        let strange = if operands.iter().all(|(_, equal)| equal.is_some()) {
            None
        } else {
            let strange = self.first_unmatched(theirs, v).map(|w| describe(self.optimized, w));
            strange.filter(|w| operands.iter().all(|(operand, _)| operand != w))
        };
        let ElementMismatch {
            element,
            expected,
            found,
        } = difference;
        Differs {
            value: describe(self.optimized, v),
            operator,
            ty: vertex.ty.to_string(),
            counterpart: describe(self.original, u),
            element,
            expected,
            found,
            operands,
            strange,
        }
    }

    /// The first value that `v` depends on without an equal one in the original.
    fn first_unmatched(&self, theirs: &[VertexId], v: VertexId) -> Option<VertexId> {
        let mut known: FxHashSet<VertexId> = FxHashSet::default();
        for w in self.optimized.rpo_from([v]) {
            let is_leaf = !matches!(self.optimized.vertex(w).node, Node::Call { .. } | Node::Proj(_));
            if is_leaf || !self.found.contains_key(&w) || self.equal(theirs, w).is_some() {
                known.insert(w);
            } else if self.optimized.pred(w).iter().all(|o| known.contains(o)) {
                return (w != v).then_some(w);
            }
        }
        None
    }
}
