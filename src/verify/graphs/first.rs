//! Where two graphs begin to differ: the first value of the optimized graph that has a counterpart and is another.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::judge::Differing;
use super::super::tolerance::differing;
use super::Tolerance;
use crate::graph::{Graph, Node, VertexId};
use crate::op::Value;
use crate::tensor::{DType, Type};

/// A value of the optimized graph that differs from its counterpart in the original.
#[derive(Debug, Clone)]
pub struct Differs {
    /// The value by name, or by what computes it.
    pub value: String,
    /// Its operator, or what else it is.
    pub operator: String,
    /// Its type.
    pub ty: String,
    /// Its counterpart in the original.
    pub counterpart: String,
    /// The first element that differs, by axes.
    pub element: Option<Vec<usize>>,
    /// What the original has there.
    pub expected: String,
    /// What the optimized graph has there.
    pub found: String,
    /// Its operands, each with a value of the original that is equal to it.
    pub operands: Vec<(String, Option<String>)>,
    /// The first value on the way to it that the original does not have, although it has all its operands.
    pub strange: Option<String>,
}

/// Values of vertices.
pub(super) type Values = FxHashMap<VertexId, Value<f64>>;

/// What is compared.
pub(super) struct Sides<'a> {
    pub(super) original: &'a Graph,
    pub(super) optimized: &'a Graph,
    pub(super) expected: &'a Values,
    pub(super) found: &'a Values,
    pub(super) tolerance: Tolerance,
}

/// The name of a value, or what computes it.
pub(super) fn describe(graph: &Graph, v: VertexId) -> String {
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

    /// Where the values of `u` in the original and of `v` differ; nothing, if they do not or have none.
    fn apart(&self, u: VertexId, v: VertexId) -> Option<Differing> {
        let (a, b) = (self.expected.get(&u)?, self.found.get(&v)?);
        self.tolerance.apart(a, b, self.dtype(v))
    }

    /// A value of the original that is equal to `v`: itself by name, if that is equal, else the first one.
    fn equal(&self, order: &[VertexId], v: VertexId) -> Option<VertexId> {
        let b = self.found.get(&v)?;
        let name = &self.optimized.vertex(v).name;
        let same_name = |u: &&VertexId| name.is_some() && self.original.vertex(**u).name == *name;
        let is_equal = |u: &VertexId| {
            self.expected.get(u).is_some_and(|a| {
                a.shape() == b.shape()
                    && std::mem::discriminant(a) == std::mem::discriminant(b)
                    && differing(self.tolerance.class, a, b, self.dtype(v), 1e-3, self.tolerance.data()).is_none()
            })
        };
        let by_name = order.iter().filter(same_name).find(|u| is_equal(u));
        by_name.or_else(|| order.iter().find(|u| is_equal(u))).copied()
    }

    /// The first difference on the way to `output` of the optimized graph, whose counterpart is `counterpart`.
    pub(super) fn first(&self, counterpart: VertexId, output: VertexId) -> Option<Differs> {
        let theirs = self.original.rpo();
        let mut named: FxHashMap<Arc<str>, Option<VertexId>> = FxHashMap::default();
        for &u in &theirs {
            if let Some(name) = &self.original.vertex(u).name {
                // A name that occurs twice says nothing.
                named.entry(name.clone()).and_modify(|v| *v = None).or_insert(Some(u));
            }
        }
        let order = self.optimized.rpo_from([output]);
        let is_tensor = |v: &&VertexId| matches!(self.optimized.ty(**v), Type::Tensor(_));
        let paired = order.iter().filter(is_tensor).find_map(|&v| {
            let u = named.get(self.optimized.vertex(v).name.as_ref()?).copied().flatten()?;
            let same_shape = self.expected.get(&u)?.shape() == self.found.get(&v)?.shape();
            let difference = if same_shape { self.apart(u, v) } else { None };
            Some((u, v, difference?))
        });
        let (u, v, difference) = match paired {
            Some(found) => found,
            None => (counterpart, output, self.apart(counterpart, output)?),
        };
        Some(self.differs(&theirs, u, v, difference))
    }

    fn differs(&self, theirs: &[VertexId], u: VertexId, v: VertexId, difference: Differing) -> Differs {
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
            Node::Tuple | Node::Absent => "no tensor".to_owned(),
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
            let strange = self.strange(theirs, v).map(|w| describe(self.optimized, w));
            strange.filter(|w| operands.iter().all(|(operand, _)| operand != w))
        };
        let (element, expected, found) = difference;
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

    /// The first value on the way to `v` without an equal one in the original.
    fn strange(&self, theirs: &[VertexId], v: VertexId) -> Option<VertexId> {
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
