//! Operands that give dimensions: those that follow from the types of the inputs become attributes.

use std::cell::Cell;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Graph, Node, VertexId};
use tautomer_op::{AttrKind, AttrValue, Fact, Infer, OpDef, ShapeRule, known_ints};
use tautomer_tensor::{Atom, Dim, Shape, Type};

/// Operands and attributes of a call to be built.
type Arguments = (SmallVec<[Option<VertexId>; 4]>, Vec<(&'static str, AttrValue)>);

impl Graph {
    /// Turns operands that stand for integer attributes into attributes, where the inputs determine them: returns the
    /// remaining operands and the attributes to add, or `None` if there are none to add.
    pub(super) fn said_by_extents(&self, def: &'static OpDef, operands: &[VertexId]) -> Option<Arguments> {
        let mut left: SmallVec<[Option<VertexId>; 4]> = operands.iter().copied().map(Some).collect();
        let mut attrs = Vec::new();
        for (i, operand) in def.operands.iter().enumerate() {
            let (Some(name), Some(&v)) = (operand.attr, operands.get(i)) else {
                continue;
            };
            let Some(ints) = &self.vertices[v].ints else { continue };
            // Inference rejects lists with more than one axis.
            let rank = self.vertices[v]
                .ty
                .as_tensor()
                .and_then(|t| t.shape.as_ref())
                .map(|s| s.len());
            if rank.is_none_or(|rank| rank > 1) {
                continue;
            }
            let kind = def.attr_index(name).map(|at| def.attrs[at].kind);
            let value = match (kind, &**ints) {
                (Some(AttrKind::Int | AttrKind::Axis(_)), [one]) if self.is_bound(one) => AttrValue::Int(one.clone()),
                (Some(AttrKind::Ints | AttrKind::Axes(_)), list) => {
                    let shape = self.vertices[operands[0]].ty.as_tensor().and_then(|t| t.shape.as_ref());
                    match shape.filter(|_| def.shapes == ShapeRule::Reshape) {
                        Some(shape) => AttrValue::Ints(self.with_placeholders(list, shape)?),
                        None if list.iter().all(|d| self.is_bound(d)) => AttrValue::Ints(list.to_vec()),
                        None => continue,
                    }
                }
                _ => continue,
            };
            attrs.push((name, value));
            left[i] = None;
        }
        (!attrs.is_empty()).then_some((left, attrs))
    }

    /// Lets all users of integers that follow from the same dimensions use one vertex, the one that takes the fewest
    /// calls to compute. True if any use changed.
    ///
    /// ```
    /// # use tautomer_graph::Graph;
    /// # use tautomer_op::{Op, lookup};
    /// # use tautomer_tensor::{DType, Dim, Shape, Type};
    /// let op = |name| Op::Known(lookup(name).unwrap());
    /// let mut graph = Graph::new();
    /// let shape: Shape = [Dim::symbol("n")].into_iter().collect();
    /// let x = graph.input("x", Type::tensor(DType::F32, shape));
    /// let y = graph.call(op("relu"), &[x], &[]).unwrap();
    /// for v in [y, x] {
    ///     let n = graph.call(op("shape"), &[v], &[]).unwrap();
    ///     graph.output(n, None);
    /// }
    /// assert!(graph.merge_dimensions() && !graph.merge_dimensions());
    /// assert_eq!(graph.outputs()[0].vertex, graph.outputs()[1].vertex);
    /// ```
    pub fn merge_dimensions(&mut self) -> bool {
        let mut calls: FxHashMap<VertexId, u64> = FxHashMap::default();
        let mut groups: IndexMap<(Type, Arc<[Dim]>), Vec<VertexId>> = IndexMap::new();
        for v in self.rpo() {
            let vertex = self.vertex(v);
            let own = u64::from(matches!(vertex.node, Node::Call { .. }));
            let sum = self.pred(v).iter().fold(own, |n, u| n.saturating_add(calls[u]));
            calls.insert(v, sum);
            let Some(ints) = vertex.ints.clone().filter(|_| own == 1) else {
                continue;
            };
            if ints.iter().any(|d| d.as_const().is_none()) && ints.iter().all(|d| self.is_bound(d)) {
                groups.entry((vertex.ty.clone(), ints)).or_default().push(v);
            }
        }
        let mut changed = false;
        // What takes the fewest calls does not depend on the others, so the graph stays acyclic.
        for group in groups.into_values() {
            let Some(&best) = group.iter().min_by_key(|v| calls[v]) else {
                continue;
            };
            for v in group.into_iter().filter(|v| *v != best) {
                self.replace_uses(v, best);
                changed = true;
            }
        }
        changed
    }

    /// The shape argument of a `reshape` from the shape `from`, in which dimensions that the inputs do not determine
    /// are copied (0), or one of them is computed (-1).
    fn with_placeholders(&self, list: &[Dim], from: &Shape) -> Option<Vec<Dim>> {
        let mut out = list.to_vec();
        let mut unsaid = out.iter().filter(|d| !self.is_bound(d)).count();
        let zero = out.contains(&Dim::Const(0));
        let mut inferred = out.contains(&Dim::Const(-1));
        for (i, d) in out.iter_mut().enumerate().filter(|(_, d)| !self.is_bound(d)) {
            if from.get(i) == Some(d) && !zero && (unsaid > 1 || inferred) {
                *d = Dim::Const(0);
                unsaid -= 1;
            }
        }
        for d in &mut out {
            if !self.is_bound(d) && !std::mem::replace(&mut inferred, true) {
                *d = Dim::Const(-1);
                unsaid -= 1;
            }
        }
        (unsaid == 0).then_some(out)
    }

    /// True if every symbol is a dimension of an input, and the expression has no unknown.
    fn is_bound(&self, dim: &Dim) -> bool {
        let axis = |name: &str| {
            self.inputs.iter().any(|&v| {
                let shape = self.vertices[v].ty.as_tensor().and_then(|t| t.shape.as_ref());
                shape.is_some_and(|s| s.iter().any(|d| d.as_symbol() == Some(name)))
            })
        };
        let mut bound = true;
        dim.visit_atoms(&mut |atom| match atom {
            Atom::Unknown(_) => bound = false,
            Atom::Symbol(name) => bound &= axis(name),
            _ => {}
        });
        bound
    }

    /// The known elements of a call's result.
    pub(super) fn ints_of_call(
        &self,
        def: &'static OpDef,
        operands: &[VertexId],
        attrs: &[AttrValue],
        ty: &Type,
    ) -> Option<Vec<Dim>> {
        let facts: SmallVec<[Fact<'_>; 4]> = operands.iter().map(|&v| self.fact(v)).collect();
        let fresh = Cell::new(self.fresh);
        let call = Infer {
            def,
            operands: &facts,
            attrs,
            fresh: &fresh,
        };
        known_ints(&call, ty)
    }
}
