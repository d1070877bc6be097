//! The typed computation graph: vertices on a petgraph DAG, ordered predecessors, explicit outputs.
//!
//! This module owns the structure and its orders; the typing and semantics of calls are in [`op`](tautomer_op).

mod body;
#[doc(hidden)] // for the other crates of this workspace
pub mod build;
mod compare;
mod composite;
mod declare;
mod extents;
mod flow;
mod interpret;
mod known;
#[doc(hidden)] // for the other crates of this workspace
pub mod literal;
mod meter;
mod order;
mod program;
mod rebind;
mod region;
mod script;
mod sink;
#[doc(hidden)] // for the other crates of this workspace
pub mod term;
mod text;
mod validate;
mod vertex;

use std::cell::Cell;
use std::sync::Arc;

use indexmap::IndexMap;
use petgraph::Direction;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use petgraph::visit::EdgeRef;
use smallvec::SmallVec;

pub use compare::same_graph;
pub use composite::{expand_calls, expand_composites};
pub use flow::Datum;
pub use interpret::{InterpretError, evaluate_data, interpret, interpret_data};
pub use meter::Allowance;
pub use program::{BuildOptions, build_function, build_program};
pub use script::{Session, Shown, Step};
pub use text::to_program;
pub use validate::GraphError;
pub use vertex::{Node, Vertex};

// For the other crates of this workspace: no part of the interface, so it may change in any version.
#[doc(hidden)]
pub use composite::{Given, body_operators, composite_function, inline, inline_program};
#[doc(hidden)]
pub use declare::{declaration, declare, declare_checked};
#[doc(hidden)]
pub use interpret::evaluate_flow;
#[doc(hidden)]
pub use interpret::{
    evaluate_call, evaluate_call_over, evaluate_within, interpret_over, interpret_vertices, interpret_vertices_over,
};
#[doc(hidden)]
pub use known::known_value;
#[doc(hidden)]
pub use meter::{Excess, Meter, Weights, bytes_text, datum_bytes, first_collected, weighted};
#[doc(hidden)]
pub use program::composites;
#[doc(hidden)]
pub use region::{graph_region, inline_region, region_graph};
#[doc(hidden)]
pub use sink::{Sink, ValueId};
#[doc(hidden)]
pub use text::written_attributes;

use tautomer_diag::Span;
use tautomer_op::{AttrValue, Attrs, Fact, Normalized, Op, OpDef, OpError, OpaqueOp, normalize};
use tautomer_tensor::{Dim, Tensor, Type};

/// Identifies a vertex of one graph; stays valid while other vertices are removed.
pub type VertexId = NodeIndex;

/// Predecessors of a vertex, in order.
pub type Operands = SmallVec<[VertexId; 4]>;

/// A result of the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Its external name, if it has one.
    pub name: Option<Arc<str>>,
    /// Its value.
    pub vertex: VertexId,
}

/// Values of the parameters of a graph, by name.
pub type Params = IndexMap<Arc<str>, Tensor>;

/// A network together with the values of its parameters (a *workload*).
#[derive(Debug, Clone, Default)]
pub struct Workload {
    /// The network.
    pub graph: Graph,
    /// A value for each of its parameters.
    pub params: Params,
}

/// A directed acyclic graph of typed operator calls.
///
/// ```
/// use tautomer_graph::Graph;
/// use tautomer_op::{Op, lookup};
/// use tautomer_tensor::{DType, Type};
///
/// let mut g = Graph::new();
/// let x = g.input("x", Type::tensor(DType::F32, [2, 3]));
/// let y = g.call(Op::Known(lookup("mul").unwrap()), &[x, x], &[]).unwrap();
/// g.output(y, None);
/// assert_eq!(g.pred(y).as_slice(), [x, x]);
/// assert_eq!(g.rpo(), vec![x, y]);
/// ```
#[derive(Debug, Clone)]
pub struct Graph {
    /// Its name; `main` if empty.
    pub name: String,
    /// Documentation.
    pub doc: Option<String>,
    vertices: StableDiGraph<Vertex, u32>,
    inputs: Vec<VertexId>,
    params: Vec<VertexId>,
    outputs: Vec<Output>,
    fresh: u32,
}

impl Default for Graph {
    fn default() -> Graph {
        tautomer_op::types_of_bodies(declare::type_of_body);
        Graph {
            name: String::new(),
            doc: None,
            vertices: StableDiGraph::default(),
            inputs: Vec::new(),
            params: Vec::new(),
            outputs: Vec::new(),
            fresh: 0,
        }
    }
}

impl Graph {
    /// A graph without vertices.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        self.vertices.node_count()
    }

    /// True if there are no vertices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of operator calls, including those in functions that operators call.
    pub fn call_count(&self) -> usize {
        let calls = self.vertices.node_weights().map(|v| match &v.node {
            Node::Call { attrs, .. } => 1 + attrs.iter().map(AttrValue::call_count).sum::<usize>(),
            _ => 0,
        });
        calls.sum()
    }

    /// The vertices in order of creation.
    pub fn ids(&self) -> impl Iterator<Item = VertexId> + '_ {
        self.vertices.node_indices()
    }

    /// The vertex `v`.
    ///
    /// # Panics
    /// If `v` was removed or belongs to another graph.
    pub fn vertex(&self, v: VertexId) -> &Vertex {
        &self.vertices[v]
    }

    /// The vertex `v`, for changing its name or span; its type and node must not change.
    pub fn vertex_mut(&mut self, v: VertexId) -> &mut Vertex {
        &mut self.vertices[v]
    }

    /// The type of the value of `v`.
    pub fn ty(&self, v: VertexId) -> &Type {
        &self.vertices[v].ty
    }

    /// The input vertices, in order.
    pub fn inputs(&self) -> &[VertexId] {
        &self.inputs
    }

    /// The parameter vertices, in order.
    pub fn params(&self) -> &[VertexId] {
        &self.params
    }

    /// The results, in order.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// A new unknown dimension.
    pub fn unknown_dim(&mut self) -> Dim {
        self.fresh += 1;
        Dim::unknown(self.fresh - 1)
    }

    /// The number of the next unknown dimension.
    pub fn next_unknown(&self) -> u32 {
        self.fresh
    }

    /// Reserves unknown dimensions below `next`, so that new ones are distinct from them.
    pub fn reserve_unknown(&mut self, next: u32) {
        self.fresh = self.fresh.max(next);
    }

    /// Adds a vertex without checks; the caller is responsible for its type.
    pub fn push(&mut self, vertex: Vertex, operands: &[VertexId]) -> VertexId {
        let v = self.vertices.add_node(vertex);
        for (place, &u) in operands.iter().enumerate() {
            self.vertices.add_edge(u, v, place as u32);
        }
        v
    }

    /// Adds an input.
    pub fn input(&mut self, name: &str, ty: impl Into<Type>) -> VertexId {
        let v = self.push(Vertex::named(Node::Input, ty.into(), name), &[]);
        self.inputs.push(v);
        v
    }

    /// Adds a parameter.
    pub fn param(&mut self, name: &str, ty: impl Into<Type>) -> VertexId {
        let v = self.push(Vertex::named(Node::Param, ty.into(), name), &[]);
        self.params.push(v);
        v
    }

    /// Adds a constant.
    pub fn constant(&mut self, value: Tensor) -> VertexId {
        let ty = value.ty().into();
        self.push(Vertex::new(Node::Const(value), ty), &[])
    }

    /// Adds the marker of an omitted operand.
    pub fn absent(&mut self) -> VertexId {
        self.push(Vertex::new(Node::Absent, Type::Absent), &[])
    }

    /// Adds a call of an operator, in normal form (see [`normalize`]); attributes are given by name.
    ///
    /// # Errors
    /// If operands or attributes do not fit the operator.
    pub fn call(&mut self, op: Op, operands: &[VertexId], attrs: &[(&str, AttrValue)]) -> Result<VertexId, OpError> {
        let Op::Known(def) = op else {
            return Err(OpError::new(format!(
                "`{}` has no definition; its type must be declared",
                op.name()
            )));
        };
        let fresh = Cell::new(self.fresh);
        let normal = self.normalized(def, operands, attrs, &fresh)?;
        self.fresh = fresh.get();
        let operands: Operands = normal
            .operands
            .iter()
            .map(|place| place.map_or_else(|| self.absent(), |i| operands[i]))
            .collect();
        let ints = self.ints_of_call(def, &operands, &normal.attrs, &normal.ty);
        let node = Node::Call {
            op: Op::Known(def),
            attrs: normal.attrs.into(),
        };
        let mut vertex = Vertex::new(node, normal.ty);
        vertex.ints = ints.map(Into::into);
        Ok(self.push(vertex, &operands))
    }

    /// A call in normal form; operands that follow from dimensions become attributes where inference accepts them.
    fn normalized(
        &self,
        def: &'static OpDef,
        operands: &[VertexId],
        attrs: &[(&str, AttrValue)],
        fresh: &Cell<u32>,
    ) -> Result<Normalized, OpError> {
        let facts: SmallVec<[Fact<'_>; 4]> = operands.iter().map(|&v| self.fact(v)).collect();
        if let Some((left, more)) = self.said_by_extents(def, operands) {
            let absent = Fact::of(&Type::Absent);
            let facts: SmallVec<[Fact<'_>; 4]> = left.iter().map(|v| v.map_or(absent, |v| self.fact(v))).collect();
            let all: Vec<(&str, AttrValue)> = attrs.iter().cloned().chain(more).collect();
            if let Ok(normal) = normalize(def, &facts, &all, fresh) {
                return Ok(normal);
            }
        }
        normalize(def, &facts, attrs, fresh)
    }

    /// Adds a call with its type, whose attributes are already in declared order and normal form.
    pub fn call_typed(&mut self, op: Op, operands: &[VertexId], attrs: Attrs, ty: Type) -> VertexId {
        let ints = match &op {
            Op::Known(def) => self.ints_of_call(def, operands, &attrs, &ty),
            Op::Opaque(_) => None,
        };
        let mut vertex = Vertex::new(Node::Call { op, attrs }, ty);
        vertex.ints = ints.map(Into::into);
        self.push(vertex, operands)
    }

    /// Adds a call of an operator that the table does not define.
    pub fn opaque(&mut self, op: OpaqueOp, operands: &[VertexId], attrs: Vec<AttrValue>) -> VertexId {
        let ty = op.result.clone();
        self.call_typed(Op::Opaque(Arc::new(op)), operands, attrs.into(), ty)
    }

    /// Adds a tuple.
    pub fn tuple(&mut self, items: &[VertexId]) -> VertexId {
        let ty = Type::Tuple(items.iter().map(|&v| self.ty(v).clone()).collect());
        self.push(Vertex::new(Node::Tuple, ty), items)
    }

    /// Adds the projection of a tuple.
    ///
    /// # Errors
    /// If `tuple` is not a tuple or has no such element.
    pub fn project(&mut self, tuple: VertexId, index: usize) -> Result<VertexId, OpError> {
        let ty = match self.ty(tuple) {
            Type::Tuple(items) => items.get(index).cloned().ok_or_else(|| {
                OpError::new(format!(
                    "a tuple of {} has no element {index}; the first is `.0`",
                    items.len()
                ))
                .at(0)
            })?,
            other => return Err(OpError::new(format!("`.{index}` needs a tuple, and this is {other}")).at(0)),
        };
        Ok(self.push(Vertex::new(Node::Proj(index as u32), ty), &[tuple]))
    }

    /// Makes the value of `v` a result.
    pub fn output(&mut self, v: VertexId, name: Option<&str>) {
        self.outputs.push(Output {
            name: name.map(Into::into),
            vertex: v,
        });
    }

    /// Makes `v` the value of result `i`.
    pub fn set_output(&mut self, i: usize, v: VertexId) {
        self.outputs[i].vertex = v;
    }

    /// Removes all results.
    pub fn clear_outputs(&mut self) {
        self.outputs.clear();
    }

    /// Sets the span of the vertex in the text.
    pub fn set_span(&mut self, v: VertexId, span: Span) {
        self.vertices[v].span.get_or_insert(span);
    }

    /// What inference may know about `v`: its type, its value if it is a constant, and integers determined by
    /// dimensions.
    pub fn fact(&self, v: VertexId) -> Fact<'_> {
        let vertex = &self.vertices[v];
        Fact {
            ty: &vertex.ty,
            value: vertex.constant(),
            ints: vertex.ints.as_deref(),
        }
    }

    /// The predecessors of `v`, in order; a value used twice occurs twice.
    pub fn pred(&self, v: VertexId) -> Operands {
        let mut edges: SmallVec<[(u32, VertexId); 4]> = self
            .vertices
            .edges_directed(v, Direction::Incoming)
            .map(|e| (*e.weight(), e.source()))
            .collect();
        edges.sort_unstable();
        edges.into_iter().map(|(_, u)| u).collect()
    }

    /// The number of predecessors of `v`.
    pub fn arity(&self, v: VertexId) -> usize {
        self.vertices.edges_directed(v, Direction::Incoming).count()
    }

    /// Makes every user of `old`, including results, use `new` instead.
    pub fn replace_uses(&mut self, old: VertexId, new: VertexId) {
        self.replace_uses_except(old, new, &[]);
    }

    /// Makes every user of `old`, including results but not the vertices in `except`, use `new` instead; returns the
    /// users.
    pub fn replace_uses_except(&mut self, old: VertexId, new: VertexId, except: &[VertexId]) -> Vec<VertexId> {
        let uses: Vec<_> = self
            .vertices
            .edges_directed(old, Direction::Outgoing)
            .map(|e| (e.id(), e.target(), *e.weight()))
            .filter(|(_, user, _)| !except.contains(user))
            .collect();
        for &(edge, user, place) in &uses {
            self.vertices.remove_edge(edge);
            self.vertices.add_edge(new, user, place);
        }
        for output in &mut self.outputs {
            if output.vertex == old {
                output.vertex = new;
            }
        }
        uses.into_iter().map(|(_, user, _)| user).collect()
    }

    /// Makes every user of the call `old` use `new` instead. If `new` is a call without a name, it gets the name of
    /// `old`, its span in the source text and the rules that made it.
    pub fn replace_call(&mut self, old: VertexId, new: VertexId) {
        let call = &self.vertices[old];
        let (name, span, rules) = (call.name.clone(), call.span, call.rules.clone());
        self.replace_uses(old, new);
        let vertex = &mut self.vertices[new];
        if vertex.name.is_none() && matches!(vertex.node, Node::Call { .. }) {
            vertex.name = name;
            vertex.span = span;
            vertex.rules = rules;
        }
    }

    /// The vertices that use `v`, most recently added first; one that uses it twice occurs twice.
    pub fn users(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.vertices.neighbors_directed(v, Direction::Outgoing)
    }

    /// True if some vertex uses `v`.
    pub fn is_used(&self, v: VertexId) -> bool {
        self.vertices
            .neighbors_directed(v, Direction::Outgoing)
            .next()
            .is_some()
    }

    /// Removes a vertex that is not an input, parameter or result, and has no users.
    pub fn remove(&mut self, v: VertexId) {
        let node = self.vertices.node_weight(v).map(|vertex| &vertex.node);
        if matches!(node, None | Some(Node::Input | Node::Param)) || self.is_used(v) {
            return;
        }
        self.vertices.remove_node(v);
    }

    /// Turns a parameter or a call into a vertex without predecessors: a constant, or a parameter with that name.
    pub fn become_leaf(&mut self, v: VertexId, node: Node, name: Option<Arc<str>>) {
        let edges: Vec<_> = self
            .vertices
            .edges_directed(v, Direction::Incoming)
            .map(|e| e.id())
            .collect();
        for edge in edges {
            self.vertices.remove_edge(edge);
        }
        let (was_param, is_param) = (
            matches!(self.vertices[v].node, Node::Param),
            matches!(node, Node::Param),
        );
        if was_param && !is_param {
            self.params.retain(|&p| p != v);
        } else if is_param && !was_param {
            self.params.push(v);
        }
        let vertex = &mut self.vertices[v];
        vertex.node = node;
        vertex.name = name;
    }

    /// A copy without the vertices that no result depends on; inputs are kept. It takes linear time, unlike removing
    /// the users of one value one by one.
    pub fn compacted(&self) -> Graph {
        let mut out = Graph {
            name: self.name.clone(),
            doc: self.doc.clone(),
            fresh: self.fresh,
            ..Graph::default()
        };
        let order = self.rpo();
        let mut places: rustc_hash::FxHashMap<VertexId, VertexId> = rustc_hash::FxHashMap::default();
        let reached: rustc_hash::FxHashSet<VertexId> = order.iter().copied().collect();
        let leaves = self
            .inputs
            .iter()
            .chain(self.params.iter().filter(|p| reached.contains(p)));
        for v in leaves.copied().chain(order) {
            if !places.contains_key(&v) {
                let operands: Operands = self.pred(v).iter().map(|u| places[u]).collect();
                places.insert(v, out.push(self.vertices[v].clone(), &operands));
            }
        }
        out.inputs = self.inputs.iter().map(|v| places[v]).collect();
        out.params = self.params.iter().filter_map(|v| places.get(v).copied()).collect();
        out.outputs = self.outputs.clone();
        out.outputs.iter_mut().for_each(|o| o.vertex = places[&o.vertex]);
        out
    }

    /// The graph with its parameters in the order in which the results depend on them, so that nothing later depends on
    /// their order in the file.
    pub fn with_params_in_order(&self) -> Graph {
        let mut out = self.clone();
        let order = self.rpo();
        let place: rustc_hash::FxHashMap<VertexId, usize> = order.into_iter().zip(0..).collect();
        out.params.sort_by_key(|v| place.get(v).copied().unwrap_or(usize::MAX));
        out
    }

    /// Removes every vertex that no result depends on, except inputs. Returns how many were removed.
    pub fn retain_reachable(&mut self) -> usize {
        let keep: rustc_hash::FxHashSet<VertexId> = self.rpo().into_iter().chain(self.inputs.iter().copied()).collect();
        let before = self.len();
        self.vertices.retain_nodes(|_, v| keep.contains(&v));
        self.params.retain(|v| keep.contains(v));
        before - self.len()
    }
}
