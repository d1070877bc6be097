//! Converts a graph to an e-graph, and builds expressions in an e-graph.

use std::cell::Cell;

use egg::Id;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::EGraph;
use super::enode::{ENode, Facts, Head, attr_value};
use super::rebuild::rebuild;
use tautomer_graph::{Graph, Node, Sink, ValueId, VertexId};
use tautomer_op::{AttrValue, Fact, Op, OpError, OpaqueOp, is_pure, normalize};
use tautomer_tensor::{Tensor, Type};

/// A graph as an e-graph.
pub struct Encoded {
    /// The e-graph.
    pub egraph: EGraph,
    /// The classes of the results.
    pub roots: Vec<Id>,
    /// The class and the e-node of every vertex, in reverse post-order.
    pub origins: Vec<(VertexId, Id, ENode)>,
}

/// The e-graph of a graph, in which equal calls of equal operands become one e-node.
///
/// Calls that may differ although they look equal (opaque or nondeterministic ones) are kept distinct.
pub fn encode(graph: &Graph) -> Encoded {
    encode_folding(graph, false)
}

/// Like [`encode`]; with `fold_all`, everything that can be computed ahead of time is, even where that takes more
/// bytes.
pub fn encode_folding(graph: &Graph, fold_all: bool) -> Encoded {
    let types = |ids: &[VertexId]| ids.iter().map(|&v| graph.ty(v).clone()).collect();
    let facts = Facts {
        inputs: types(graph.inputs()),
        params: types(graph.params()),
        fresh: graph.next_unknown(),
        fold_all,
        ..Facts::default()
    };
    let mut encoded = Encoded {
        egraph: EGraph::new(facts),
        roots: Vec::new(),
        origins: Vec::new(),
    };
    let place = |ids: &[VertexId]| -> FxHashMap<VertexId, u32> {
        ids.iter().enumerate().map(|(i, &v)| (v, i as u32)).collect()
    };
    let (inputs, params) = (place(graph.inputs()), place(graph.params()));
    encoded.roots = add(&mut encoded, graph, &inputs, &params);
    encoded
}

/// Adds a second graph to an e-graph, identifying its inputs and parameters with those of the first by name; returns
/// the classes of its results.
pub fn encode_into(encoded: &mut Encoded, first: &Graph, graph: &Graph) -> Vec<Id> {
    let place = |old: &[VertexId], new: &[VertexId]| -> FxHashMap<VertexId, u32> {
        let named = |v: VertexId| old.iter().position(|&u| first.vertex(u).name == graph.vertex(v).name);
        new.iter().filter_map(|&v| Some((v, named(v)? as u32))).collect()
    };
    let inputs = place(first.inputs(), graph.inputs());
    let params = place(first.params(), graph.params());
    add(encoded, graph, &inputs, &params)
}

fn add(
    encoded: &mut Encoded,
    graph: &Graph,
    inputs: &FxHashMap<VertexId, u32>,
    params: &FxHashMap<VertexId, u32>,
) -> Vec<Id> {
    let Encoded { egraph, origins, .. } = encoded;
    let mut classes: FxHashMap<VertexId, Id> = FxHashMap::default();
    for v in graph.rpo() {
        let vertex = graph.vertex(v);
        let mut children: SmallVec<[Id; 6]> = graph.pred(v).iter().map(|u| classes[u]).collect();
        let head = match &vertex.node {
            Node::Input => Head::Input(inputs.get(&v).copied().unwrap_or(0)),
            Node::Param => Head::Param(params.get(&v).copied().unwrap_or(0)),
            Node::Const(value) => Head::Const(egraph.analysis.interner.constant(value)),
            Node::Absent => Head::Absent,
            Node::Tuple => Head::Tuple,
            Node::Proj(i) => Head::Proj(*i),
            Node::Call { op, attrs } => {
                children.extend(attrs.iter().map(|a| {
                    let i = egraph.analysis.interner.attr(a);
                    egraph.add(ENode::leaf(Head::Attr(i)))
                }));
                Head::Op(match op {
                    Op::Known(def) if is_pure(op, attrs) => egraph.analysis.interner.known(def),
                    other => egraph.analysis.interner.unique(other.clone()),
                })
            }
        };
        let enode = ENode { head, children };
        egraph.analysis.pending = matches!(head, Head::Op(_)).then(|| vertex.ty.clone());
        let id = egraph.add(enode.clone());
        egraph.analysis.pending = None;
        classes.insert(v, id);
        origins.push((v, id, enode));
    }
    rebuild(egraph);
    graph.outputs().iter().map(|o| classes[&o.vertex]).collect()
}

/// Builds expressions inside an e-graph.
pub(super) struct EGraphSink<'a> {
    pub(super) egraph: &'a mut EGraph,
    /// The new e-nodes.
    pub(super) created: Vec<(ENode, Id)>,
}

impl EGraphSink<'_> {
    fn add(&mut self, enode: ENode, ty: Option<Type>) -> Id {
        if let Some(id) = self.egraph.lookup(enode.clone()) {
            return id;
        }
        self.egraph.analysis.pending = ty;
        let id = self.egraph.add(enode.clone());
        self.egraph.analysis.pending = None;
        self.created.push((enode, id));
        id
    }
}

impl Sink for EGraphSink<'_> {
    fn call(&mut self, op: Op, operands: &[ValueId], attrs: &[(&str, AttrValue)]) -> Result<ValueId, OpError> {
        let Op::Known(def) = op else {
            return Err(OpError::new("a rule cannot build an opaque operator"));
        };
        let fresh = Cell::new(self.egraph.analysis.fresh);
        let normal = {
            let facts: SmallVec<[Fact<'_>; 6]> = operands
                .iter()
                .map(|&id| self.egraph[class_id(id)].data.fact())
                .collect();
            normalize(def, &facts, attrs, &fresh)?
        };
        self.egraph.analysis.fresh = fresh.get();
        let mut children: SmallVec<[Id; 6]> = SmallVec::new();
        for place in normal.operands {
            let id = match place {
                Some(i) => operands[i],
                None => self.absent(),
            };
            children.push(self.egraph.find(class_id(id)));
        }
        for attr in &normal.attrs {
            let i = self.egraph.analysis.interner.attr(attr);
            children.push(self.egraph.add(ENode::leaf(Head::Attr(i))));
        }
        let op = self.egraph.analysis.interner.known(def);
        Ok(value_id(self.add(
            ENode {
                head: Head::Op(op),
                children,
            },
            Some(normal.ty),
        )))
    }

    fn opaque(&mut self, op: OpaqueOp, _: &[ValueId], _: Vec<AttrValue>) -> Result<ValueId, OpError> {
        Err(OpError::new(format!(
            "`{}` is opaque and cannot be built by a rule",
            op.name
        )))
    }

    fn constant(&mut self, value: Tensor) -> ValueId {
        let i = self.egraph.analysis.interner.constant(&value);
        value_id(self.add(ENode::leaf(Head::Const(i)), None))
    }

    fn absent(&mut self) -> ValueId {
        value_id(self.add(ENode::leaf(Head::Absent), None))
    }

    fn tuple(&mut self, items: &[ValueId]) -> ValueId {
        value_id(self.add(
            ENode {
                head: Head::Tuple,
                children: items.iter().copied().map(class_id).collect(),
            },
            None,
        ))
    }

    fn project(&mut self, tuple: ValueId, index: usize) -> Result<ValueId, OpError> {
        let tuple = class_id(tuple);
        match &self.egraph[tuple].data.ty {
            Type::Tuple(items) if index < items.len() => {}
            other => return Err(OpError::new(format!("`.{index}` does not apply to {other}"))),
        }
        Ok(value_id(self.add(
            ENode {
                head: Head::Proj(index as u32),
                children: [tuple].into_iter().collect(),
            },
            None,
        )))
    }

    fn ty(&self, v: ValueId) -> &Type {
        &self.egraph[class_id(v)].data.ty
    }

    fn value(&self, v: ValueId) -> Option<Tensor> {
        self.egraph[class_id(v)].data.value.clone()
    }

    fn is_static(&self, v: ValueId) -> bool {
        self.egraph[class_id(v)].data.is_static
    }

    fn size(&self) -> usize {
        self.egraph.total_size()
    }
}

/// The identity of an e-class as a value of an [`EGraphSink`].
pub(super) fn value_id(class: Id) -> ValueId {
    ValueId::new(usize::from(class))
}

/// The e-class of that identity.
pub(super) fn class_id(value: ValueId) -> Id {
    Id::from(value.index())
}

/// The attribute values of an e-node that is a call.
pub(super) fn attrs_of(egraph: &EGraph, enode: &ENode) -> Vec<AttrValue> {
    parts(egraph, enode).1.iter().map(|&c| attr_value(egraph, c)).collect()
}

/// The operands of an e-node, without its attributes.
pub(super) fn operands_of<'a>(egraph: &EGraph, enode: &'a ENode) -> &'a [Id] {
    parts(egraph, enode).0
}

/// The children of an e-node: its operands, and the attributes after them.
fn parts<'a>(egraph: &EGraph, enode: &'a ENode) -> (&'a [Id], &'a [Id]) {
    let attrs = match enode.head {
        Head::Op(op) => egraph.analysis.interner.op_at(op).attr_names().len(),
        _ => 0,
    };
    enode.children.split_at(enode.children.len().saturating_sub(attrs))
}
