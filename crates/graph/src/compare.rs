//! Structural equality of graphs.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Graph, Node, VertexId, region_graph};
use tautomer_lang::is_name;
use tautomer_op::{AttrValue, Op};
use tautomer_tensor::{Atom, Dim, Tensor, TensorType, Type};

/// Checks that two graphs are equal up to the order of creation: results, predecessors and sharing correspond, and
/// corresponding vertices have equal nodes, attributes and types; inputs and the parameters that results depend on have
/// equal names, in order. Unknown dimensions correspond one to one, and so do symbols whose names are not valid in
/// programs.
///
/// # Errors
/// The first difference, in words.
pub fn same_graph(a: &Graph, b: &Graph) -> Result<(), String> {
    let mut pairing = Pairing {
        a,
        b,
        forth: FxHashMap::default(),
        back: FxHashMap::default(),
        dims: FxHashMap::default(),
        dims_back: FxHashMap::default(),
        order: Vec::new(),
    };
    if a.outputs().len() != b.outputs().len() {
        return Err(format!("{} and {} results", a.outputs().len(), b.outputs().len()));
    }
    pairing.leaves("input", a.inputs(), b.inputs())?;
    pairing.leaves("parameter", &reached(a), &reached(b))?;
    for (i, (x, y)) in a.outputs().iter().zip(b.outputs()).enumerate() {
        pairing
            .expression(x.vertex, y.vertex)
            .map_err(|e| format!("result {i}: {e}"))?;
    }
    pairing.types()
}

fn reached(graph: &Graph) -> Vec<VertexId> {
    let order: FxHashSet<VertexId> = graph.rpo().into_iter().collect();
    graph.params().iter().copied().filter(|v| order.contains(v)).collect()
}

struct Pairing<'g> {
    a: &'g Graph,
    b: &'g Graph,
    forth: FxHashMap<VertexId, VertexId>,
    back: FxHashMap<VertexId, VertexId>,
    dims: FxHashMap<Atom, Dim>,
    dims_back: FxHashMap<Dim, Atom>,
    order: Vec<(VertexId, VertexId)>,
}

impl Pairing<'_> {
    fn leaves(&mut self, what: &str, a: &[VertexId], b: &[VertexId]) -> Result<(), String> {
        if a.len() != b.len() {
            return Err(format!("{} and {} {what}s", a.len(), b.len()));
        }
        for (i, (&x, &y)) in a.iter().zip(b).enumerate() {
            let (left, right) = (&self.a.vertex(x).name, &self.b.vertex(y).name);
            if left != right {
                return Err(format!("{what} {i} is named {left:?} and {right:?}"));
            }
            self.pair(x, y).map_err(|e| format!("{what} {i}: {e}"))?;
        }
        Ok(())
    }

    /// Walks both expressions at once.
    fn expression(&mut self, x: VertexId, y: VertexId) -> Result<(), String> {
        let mut stack = vec![(x, y)];
        while let Some((x, y)) = stack.pop() {
            if self.pair(x, y)? {
                let (left, right) = (self.a.pred(x), self.b.pred(y));
                if left.len() != right.len() {
                    return Err(format!(
                        "{} has {} predecessors, and {} has {}",
                        describe(self.a, x),
                        left.len(),
                        describe(self.b, y),
                        right.len()
                    ));
                }
                stack.extend(left.into_iter().zip(right).rev());
            }
        }
        Ok(())
    }

    /// True if the two were not paired before.
    fn pair(&mut self, x: VertexId, y: VertexId) -> Result<bool, String> {
        let (left, right) = (&self.a.vertex(x).node, &self.b.vertex(y).node);
        if matches!((left, right), (Node::Absent, Node::Absent)) {
            return Ok(false);
        }
        match (self.forth.get(&x), self.back.get(&y)) {
            (Some(p), Some(q)) if *p == y && *q == x => return Ok(false),
            (None, None) => {}
            _ => {
                return Err(format!(
                    "{} and {} are shared in different places",
                    describe(self.a, x),
                    describe(self.b, y)
                ));
            }
        }
        self.forth.insert(x, y);
        self.back.insert(y, x);
        self.order.push((x, y));
        let differ = || Err(format!("{} and {}", describe(self.a, x), describe(self.b, y)));
        match (left, right) {
            (Node::Input, Node::Input) | (Node::Param, Node::Param) | (Node::Tuple, Node::Tuple) => {}
            (Node::Const(p), Node::Const(q)) if same_value(p, q) => {}
            (Node::Proj(p), Node::Proj(q)) if p == q => {}
            (Node::Call { op: p, .. }, Node::Call { op: q, .. }) => {
                let same = match (p, q) {
                    (Op::Opaque(p), Op::Opaque(q)) => {
                        p.domain == q.domain && p.name == q.name && p.attr_names == q.attr_names
                    }
                    _ => p == q,
                };
                if !same {
                    return differ();
                }
            }
            _ => return differ(),
        }
        Ok(true)
    }

    /// Compares the types and attributes of all pairs.
    fn types(&mut self) -> Result<(), String> {
        let order = std::mem::take(&mut self.order);
        for &(x, y) in &order {
            self.learn(self.a.ty(x), self.b.ty(y));
        }
        for (x, y) in order {
            if !self.same_type(self.a.ty(x), self.b.ty(y)) {
                let (x, y) = (describe(self.a, x), describe(self.b, y));
                return Err(format!("types differ: {x} and {y}"));
            }
            if let (Node::Call { attrs: p, .. }, Node::Call { attrs: q, .. }) =
                (&self.a.vertex(x).node, &self.b.vertex(y).node)
                && (p.len() != q.len() || p.iter().zip(q.iter()).any(|(p, q)| !self.same_attr(p, q)))
            {
                let (x, y) = (describe(self.a, x), describe(self.b, y));
                return Err(format!("attributes differ: {x} {p:?} and {y} {q:?}"));
            }
        }
        Ok(())
    }

    /// Records which dimensions correspond.
    fn learn(&mut self, a: &Type, b: &Type) {
        let mut left = Vec::new();
        a.visit_dims(&mut |d| left.push(d.clone()));
        let mut right = Vec::new();
        b.visit_dims(&mut |d| right.push(d.clone()));
        for (p, q) in left.into_iter().zip(right) {
            let Some(atom) = p.as_atom() else { continue };
            let free = match atom {
                Atom::Unknown(_) => true,
                Atom::Symbol(name) => !is_name(name) || p != q,
                _ => false,
            };
            let leaf = matches!(q.as_atom(), Some(Atom::Unknown(_) | Atom::Symbol(_)));
            if free && leaf && !self.dims.contains_key(atom) && !self.dims_back.contains_key(&q) {
                self.dims_back.insert(q.clone(), atom.clone());
                self.dims.insert(atom.clone(), q);
            }
        }
    }

    fn same_dim(&self, a: &Dim, b: &Dim) -> bool {
        let mapped = a.substitute(&|atom| self.dims.get(atom).cloned());
        mapped == *b || (mapped.has_unknown() && b.has_unknown() && !mapped.is_unknown())
    }

    fn same_type(&self, a: &Type, b: &Type) -> bool {
        match (a, b) {
            (Type::Absent, Type::Absent) => true,
            (Type::Sequence(a), Type::Sequence(b)) | (Type::Optional(a), Type::Optional(b)) => self.same_type(a, b),
            (Type::Tuple(a), Type::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same_type(a, b))
            }
            (Type::Tensor(a), Type::Tensor(b)) => self.same_tensor_type(a, b),
            _ => false,
        }
    }

    fn same_tensor_type(&self, a: &TensorType, b: &TensorType) -> bool {
        let dims = match (&a.shape, &b.shape) {
            (None, None) => true,
            (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| self.same_dim(a, b)),
            _ => false,
        };
        a.dtype == b.dtype && dims
    }

    fn same_attr(&self, a: &AttrValue, b: &AttrValue) -> bool {
        match (a, b) {
            (AttrValue::Int(a), AttrValue::Int(b)) => self.same_dim(a, b),
            (AttrValue::Ints(a), AttrValue::Ints(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same_dim(a, b))
            }
            (AttrValue::Tensor(a), AttrValue::Tensor(b)) => same_value(a, b),
            (AttrValue::Region(a), AttrValue::Region(b)) => {
                a == b || same_graph(&region_graph(a), &region_graph(b)).is_ok()
            }
            _ => a == b,
        }
    }
}

/// True if both have the same bits, with all NaNs considered equal.
fn same_value(a: &Tensor, b: &Tensor) -> bool {
    a.same_bits(b)
        || (a.dtype() == b.dtype()
            && a.shape() == b.shape()
            && a.dtype().is_float()
            && match (a.to_f64s(), b.to_f64s()) {
                (Some(a), Some(b)) => a
                    .iter()
                    .zip(&b)
                    .all(|(x, y)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())),
                _ => false,
            })
}

fn describe(graph: &Graph, v: VertexId) -> String {
    let vertex = graph.vertex(v);
    let what = match &vertex.node {
        Node::Input => "an input".to_owned(),
        Node::Param => "a parameter".to_owned(),
        Node::Const(value) => format!("the constant {value:?}"),
        Node::Absent => "nothing".to_owned(),
        Node::Call { op, .. } => format!("`{}`", op.name()),
        Node::Tuple => "a tuple".to_owned(),
        Node::Proj(i) => format!("element {i}"),
    };
    format!("{what} of type {}", vertex.ty)
}
