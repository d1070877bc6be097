//! Graphs with new input shapes; all types are inferred again.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Graph, Node, Operands, Vertex, VertexId};
use tautomer_diag::{Diagnostic, Diagnostics, did_you_mean};
use tautomer_op::{AttrValue, Op, Region, RegionStep};
use tautomer_tensor::{Atom, Dim, Shape, Tensor, TensorType, Type};

/// The symbols and unknown dimensions that receive a value.
type Values = IndexMap<Atom, Dim>;

impl Graph {
    /// The graph with inputs of these shapes, by name. A symbol that receives a value has it everywhere; where `shapes`
    /// has an unknown dimension, the dimension stays unchanged.
    ///
    /// # Errors
    /// If no input has that name, the rank or a dimension differs, a symbol would have two values, or an operator
    /// rejects the resulting types.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use indexmap::IndexMap;
    /// # use tautomer_diag::Source;
    /// # use tautomer_graph::{BuildOptions, build_program};
    /// # use tautomer_lang::parse_program;
    /// # use tautomer_tensor::Shape;
    /// let source = Arc::new(Source::new("example", "fn main(x: f32[n, 3], y: f32[n, 1]) { x * y }"));
    /// let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
    /// let graph = graph.with_shapes(&IndexMap::from([("x".into(), Shape::from([2, 3]))])).unwrap();
    /// assert_eq!(graph.ty(graph.inputs()[1]).to_string(), "f32[2, 1]");
    /// assert_eq!(graph.ty(graph.outputs()[0].vertex).to_string(), "f32[2, 3]");
    /// ```
    pub fn with_shapes(&self, shapes: &IndexMap<Arc<str>, Shape>) -> Result<Graph, Diagnostics> {
        let mut values = Values::new();
        for (name, shape) in shapes {
            self.collect(name, shape, &mut values)?;
        }
        let value = |atom: &Atom| values.get(atom).cloned();
        let input = |vertex: &Vertex| {
            let name = vertex.name.clone().unwrap_or_default();
            let mut ty = bound_type(&vertex.ty, &value);
            if let (Type::Tensor(TensorType { shape, .. }), Some(given)) = (&mut ty, shapes.get(&name)) {
                *shape = Some(match shape.take() {
                    None => given.clone(),
                    Some(old) => old
                        .iter()
                        .zip(given.iter())
                        .map(|(a, b)| if b.has_unknown() { a.clone() } else { b.clone() })
                        .collect(),
                });
            }
            ty
        };
        self.rebound(&input, &value).map_err(|(_, problems)| problems)
    }

    /// The graph with every symbol that `value` knows replaced by its value.
    ///
    /// # Errors
    /// If an operator rejects the resulting types: the number of vertices accepted before it, and the reason.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tautomer_diag::Source;
    /// # use tautomer_graph::{BuildOptions, build_program};
    /// # use tautomer_lang::parse_program;
    /// let source = Arc::new(Source::new("example", "fn main(x: f32[n, m], w: f32[5, 2]) { relu(x) @ w }"));
    /// let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
    /// assert_eq!(graph.with_symbols(&|_| Some(5)).unwrap().call_count(), 2);
    /// assert_eq!(graph.with_symbols(&|_| Some(4)).unwrap_err().0, 3);
    /// ```
    pub fn with_symbols(&self, value: &dyn Fn(&str) -> Option<i64>) -> Result<Graph, (usize, Diagnostics)> {
        let value = |atom: &Atom| match atom {
            Atom::Symbol(name) => value(name).map(Dim::Const),
            _ => None,
        };
        self.rebound(&|vertex| bound_type(&vertex.ty, &value), &value)
    }

    /// The graph with all calls inferred again from the current knowledge about their operands and brought into normal
    /// form: operands that have become constants turn into the attributes they stand for, and integers that follow from
    /// dimensions into constants. No type becomes less precise. `None` if nothing changes.
    ///
    /// ```
    /// # use tautomer_graph::Graph;
    /// # use tautomer_op::{Op, lookup};
    /// # use tautomer_tensor::{DType, Dim, Shape, Type};
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", Type::tensor(DType::F32, [2, 3]));
    /// let unknown = [Dim::unknown(7), Dim::from(3)].into_iter().collect::<Shape>();
    /// let relu = Op::Known(lookup("relu").unwrap());
    /// let y = graph.call_typed(relu, &[x], [].into(), Type::tensor(DType::F32, unknown));
    /// graph.output(y, None);
    /// let refined = graph.refined().unwrap();
    /// assert_eq!(refined.ty(refined.outputs()[0].vertex).to_string(), "f32[2, 3]");
    /// assert!(refined.refined().is_none());
    /// ```
    pub fn refined(&self) -> Option<Graph> {
        let mut out = Graph::new();
        out.name = self.name.clone();
        out.doc = self.doc.clone();
        out.reserve_unknown(self.next_unknown());
        let mut places: FxHashMap<VertexId, VertexId> = FxHashMap::default();
        let mut changed = false;
        let order = self.rpo();
        let reached: FxHashSet<VertexId> = order.iter().copied().collect();
        let leaves = self
            .inputs
            .iter()
            .chain(self.params.iter().filter(|v| reached.contains(v)));
        for &v in leaves {
            let vertex = self.vertex(v);
            let name = vertex.name.as_deref().unwrap_or("");
            let new = match vertex.node {
                Node::Input => out.input(name, vertex.ty.clone()),
                _ => out.param(name, vertex.ty.clone()),
            };
            places.insert(v, out.like(vertex, new));
        }
        for v in order {
            if places.contains_key(&v) {
                continue;
            }
            let vertex = self.vertex(v);
            let operands: Operands = self.pred(v).iter().map(|u| places[u]).collect();
            let inferred = match &vertex.node {
                Node::Call { op: Op::Known(_), .. } => out.again(vertex, &operands, &|_| None).ok(),
                Node::Call { .. } => None,
                _ => out.again(vertex, &operands, &|_| None).ok(),
            };
            let new = match (inferred, &vertex.node) {
                (Some(new), _) if vertex.ty.admits(out.ty(new)) => {
                    out.know(new, &vertex.ty);
                    new
                }
                (_, Node::Call { op, attrs }) => {
                    out.call_typed(op.clone(), &operands, attrs.clone(), vertex.ty.clone())
                }
                _ => return None,
            };
            let absent = |v: VertexId| matches!(out.vertex(v).node, Node::Absent);
            let now = out.pred(new);
            let same_operands = now.len() == operands.len()
                && now
                    .iter()
                    .zip(&operands)
                    .all(|(&a, &b)| a == b || (absent(a) && absent(b)));
            changed |= *out.ty(new) != vertex.ty || !same_operands || !same_node(out.vertex(new), vertex);
            places.insert(v, out.like(vertex, new));
        }
        if !changed {
            return None;
        }
        for output in &self.outputs {
            out.output(places[&output.vertex], output.name.as_deref());
        }
        out.retain_reachable();
        Some(out)
    }

    /// Adds the information of another type of the value of `v`.
    fn know(&mut self, v: VertexId, ty: &Type) {
        let joined = ty.joined(self.ty(v));
        if joined == *self.ty(v) {
            return;
        }
        if let Node::Call {
            op: Op::Known(def),
            attrs,
        } = self.vertex(v).node.clone()
        {
            let ints = self.ints_of_call(def, &self.pred(v), &attrs, &joined);
            self.vertex_mut(v).ints = ints.map(Into::into);
        }
        self.vertex_mut(v).ty = joined;
    }

    /// The graph with inputs of the types given by `input`, and atoms replaced.
    fn rebound(
        &self,
        input: &dyn Fn(&Vertex) -> Type,
        value: &dyn Fn(&Atom) -> Option<Dim>,
    ) -> Result<Graph, (usize, Diagnostics)> {
        let mut out = Graph::new();
        out.name = self.name.clone();
        out.doc = self.doc.clone();
        out.reserve_unknown(self.next_unknown());
        let mut places: FxHashMap<VertexId, VertexId> = FxHashMap::default();
        for &v in &self.inputs {
            let vertex = self.vertex(v);
            let new = out.input(vertex.name.as_deref().unwrap_or(""), input(vertex));
            places.insert(v, out.like(vertex, new));
        }
        for v in self.rpo() {
            if places.contains_key(&v) {
                continue;
            }
            let vertex = self.vertex(v);
            let operands: Operands = self.pred(v).iter().map(|u| places[u]).collect();
            let new = out.again(vertex, &operands, value).map_err(|e| (places.len(), e))?;
            places.insert(v, out.like(vertex, new));
        }
        for output in &self.outputs {
            out.output(places[&output.vertex], output.name.as_deref());
        }
        out.retain_reachable();
        Ok(out)
    }

    /// Collects the values that the shape given for an input implies for the symbols in its type.
    fn collect(&self, name: &str, given: &Shape, values: &mut Values) -> Result<(), Diagnostics> {
        let refused = |message: String| Diagnostics::from(Diagnostic::error("T0408", message));
        let named = |v: &&VertexId| self.vertex(**v).name.as_deref() == Some(name);
        let Some(&v) = self.inputs.iter().find(named) else {
            let names: Vec<&str> = self
                .inputs
                .iter()
                .filter_map(|&v| self.vertex(v).name.as_deref())
                .collect();
            let problem = Diagnostic::error("T0408", format!("there is no input `{name}`"));
            return Err(match did_you_mean(name, names.iter().copied()) {
                Some(close) => problem.help(format!("did you mean `{close}`?")),
                None => problem.note(format!("the inputs are {}", names.join(", "))),
            }
            .into());
        };
        let ty = self.ty(v);
        let Some(tensor) = ty.as_tensor() else {
            return Err(refused(format!("input `{name}` is {ty} and has no shape")));
        };
        let Some(shape) = &tensor.shape else { return Ok(()) };
        if shape.len() != given.len() {
            let message = format!("input `{name}` is {ty}, but the shape {given} has a different rank");
            return Err(refused(message));
        }
        for (axis, (old, new)) in shape.iter().zip(given.iter()).enumerate() {
            if new.has_unknown() || old == new {
                continue;
            }
            match (old, new, old.as_atom()) {
                (Dim::Const(a), _, _) => {
                    return Err(refused(format!(
                        "axis {axis} of input `{name}` has size {a}, not {new}"
                    )));
                }
                (_, _, Some(atom @ (Atom::Symbol(_) | Atom::Unknown(_)))) => {
                    let before = values.insert(atom.clone(), new.clone());
                    if let Some(before) = before.filter(|before| before != new) {
                        let message = format!("{old} is {before}, but axis {axis} of input `{name}` makes it {new}");
                        return Err(refused(message));
                    }
                }
                // A compound dimension is not solved for its symbols.
                _ => {}
            }
        }
        Ok(())
    }

    /// A vertex rebuilt on other operands.
    fn again(
        &mut self,
        vertex: &Vertex,
        operands: &[VertexId],
        value: &dyn Fn(&Atom) -> Option<Dim>,
    ) -> Result<VertexId, Diagnostics> {
        let ty = || bound_type(&vertex.ty, value);
        Ok(match &vertex.node {
            Node::Param => self.param(vertex.name.as_deref().unwrap_or(""), ty()),
            Node::Const(tensor) => self.constant(tensor.clone()),
            Node::Input | Node::Absent => self.absent(),
            Node::Tuple => self.tuple(operands),
            Node::Proj(i) => self
                .project(operands[0], *i as usize)
                .map_err(|e| unfit(vertex, &e.to_string()))?,
            Node::Call {
                op: op @ Op::Opaque(_),
                attrs,
            } => self.call_typed(op.clone(), operands, attrs.clone(), ty()),
            Node::Call {
                op: Op::Known(def),
                attrs,
            } => {
                let attrs: Vec<(&str, AttrValue)> = def
                    .attrs
                    .iter()
                    .zip(attrs.iter())
                    .filter(|(_, v)| !v.is_none())
                    .map(|(a, v)| (a.name, bound_attr(v, value)))
                    .collect();
                let call = self.call(Op::Known(def), operands, &attrs);
                let v = call.map_err(|e| unfit(vertex, &e.to_string()))?;
                self.settled(v)
            }
        })
    }

    /// The constant equal to a call, if dimensions alone determine its elements and all of them are known; otherwise
    /// the call.
    pub fn settled(&mut self, v: VertexId) -> VertexId {
        let constant = || {
            let vertex = self.vertex(v);
            let ty = vertex.ty.as_tensor()?;
            let shape = ty.shape.as_ref()?.to_concrete()?;
            let elements = vertex.ints.as_ref()?.iter();
            let elements: Option<Vec<i128>> = elements.map(|d| d.as_const().map(i128::from)).collect();
            Tensor::from_ints(ty.dtype, &shape, &elements?)
        };
        constant().map_or(v, |value| self.constant(value))
    }

    /// Copies the name and span of another vertex.
    fn like(&mut self, old: &Vertex, new: VertexId) -> VertexId {
        let vertex = self.vertex_mut(new);
        vertex.name = vertex.name.take().or_else(|| old.name.clone());
        vertex.span = vertex.span.or(old.span);
        vertex.rules.clone_from(&old.rules);
        new
    }
}

/// True if both are the same call; vertices that are not calls do not change when inferred again.
fn same_node(a: &Vertex, b: &Vertex) -> bool {
    match (&a.node, &b.node) {
        (Node::Call { op: p, attrs: x }, Node::Call { op: q, attrs: y }) => p.name() == q.name() && x == y,
        (Node::Call { .. }, _) | (_, Node::Call { .. }) => false,
        _ => true,
    }
}

fn unfit(vertex: &Vertex, why: &str) -> Diagnostics {
    let op = vertex.op().map_or_else(|| "value".to_owned(), Op::name);
    let place = vertex
        .name
        .as_deref()
        .map_or(op.clone(), |name| format!("{op}` {name:?}"));
    let place = if place == op {
        format!("`{op}`")
    } else {
        format!("`{place}")
    };
    Diagnostic::error("T0408", format!("with these shapes {place} is invalid: {why}")).into()
}

fn bound_type(ty: &Type, value: &dyn Fn(&Atom) -> Option<Dim>) -> Type {
    match ty {
        Type::Tensor(t) => Type::Tensor(TensorType {
            dtype: t.dtype,
            shape: t
                .shape
                .as_ref()
                .map(|s| s.iter().map(|d| d.substitute(value)).collect()),
        }),
        Type::Tuple(items) => Type::Tuple(items.iter().map(|item| bound_type(item, value)).collect()),
        Type::Sequence(item) => Type::Sequence(Box::new(bound_type(item, value))),
        Type::Optional(item) => Type::Optional(Box::new(bound_type(item, value))),
        Type::Absent => Type::Absent,
    }
}

fn bound_attr(attr: &AttrValue, value: &dyn Fn(&Atom) -> Option<Dim>) -> AttrValue {
    match attr {
        AttrValue::Int(d) => AttrValue::Int(d.substitute(value)),
        AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(|d| d.substitute(value)).collect()),
        AttrValue::Region(region) => {
            let mut region = Region::clone(region);
            for item in &mut region.items {
                item.ty = bound_type(&item.ty, value);
                if let RegionStep::Call { attrs, .. } = &mut item.step {
                    attrs.iter_mut().for_each(|attr| *attr = bound_attr(attr, value));
                }
            }
            AttrValue::Region(Arc::new(region))
        }
        other => other.clone(),
    }
}
