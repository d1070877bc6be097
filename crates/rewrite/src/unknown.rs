//! Matches of values whose types are not fully known.
//!
//! An engine replaces a value by another of the same type. With unknown ranks or dimensions, two types that look the
//! same need not be the same: `x` and `concat(x, y)` may both be `f32[..]`. The types of a match count as the same only
//! if they agree for all ranks and sizes that are tried in place of the unknown ones, as far as the match has types
//! there and its conditions hold.

use std::hash::{Hash, Hasher};

use egg::Id;
use rustc_hash::{FxHashMap, FxHasher};

use super::EGraph;
use super::encode::{attrs_of, operands_of};
use super::enode::Head;
use super::matching::{Binding, Program};
use super::trial::sides;
use tautomer_graph::{Graph, Node, Operands, VertexId};
use tautomer_op::{AttrValue, Op, OpDef};
use tautomer_tensor::{Atom, Dim, Shape, TensorType, Type};

/// How often ranks and sizes are chosen.
const TRIES: u64 = 64;

/// The number of choices at which both sides have the same type after which no more are tried.
const ENOUGH: usize = 12;

/// The largest rank that is tried; patterns rarely depend on more axes.
const MOST_AXES: u64 = 4;

/// True if the rank or a dimension is unknown.
pub(super) fn is_open(ty: &Type) -> bool {
    match ty {
        Type::Tensor(tensor) => {
            let shape = tensor.shape.as_ref();
            shape.is_none_or(|shape| shape.iter().any(Dim::has_unknown))
        }
        Type::Tuple(items) => items.iter().any(is_open),
        Type::Sequence(item) | Type::Optional(item) => is_open(item),
        Type::Absent => false,
    }
}

/// True if two types are the same whatever their unknown parts are. An unknown dimension is one number wherever it
/// occurs; a rank that is unknown in two types need not be the same.
pub(super) fn same_for_certain(a: &Type, b: &Type) -> bool {
    fn has_ranks(ty: &Type) -> bool {
        match ty {
            Type::Tensor(tensor) => tensor.shape.is_some(),
            Type::Tuple(items) => items.iter().all(has_ranks),
            Type::Sequence(item) | Type::Optional(item) => has_ranks(item),
            Type::Absent => true,
        }
    }
    a == b && has_ranks(a)
}

/// The calls of a match, with the types and constants of its inputs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Matched {
    /// Each after its operands.
    parts: Vec<Part>,
    /// The outputs, as indices.
    outputs: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    Leaf {
        ty: Type,
        /// The value as an attribute, which is compared bit by bit.
        constant: Option<AttrValue>,
        is_static: bool,
    },
    Call {
        operator: Operator,
        attrs: Vec<AttrValue>,
        operands: Vec<usize>,
    },
    Tuple(Vec<usize>),
    Proj(usize, usize),
}

/// An operator, by its definition.
#[derive(Debug, Clone, Copy)]
struct Operator(&'static OpDef);

impl PartialEq for Operator {
    fn eq(&self, other: &Operator) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Operator {}

impl Hash for Operator {
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.0.name.hash(state);
    }
}

/// A value of a match: how it was matched, and its operands.
struct Expanded<V> {
    part: Part,
    operands: Vec<V>,
}

impl Matched {
    /// The match of a binding that was found in an e-graph that has not changed since.
    pub(super) fn in_egraph(egraph: &EGraph, binding: &Binding<Id>) -> Matched {
        let forms: FxHashMap<Id, u32> = binding
            .forms
            .iter()
            .rev()
            .map(|&(id, place)| (egraph.find(id), place))
            .collect();
        let expand = |id: Id| {
            let node = &egraph[id].nodes[*forms.get(&id)? as usize];
            let operands: Vec<Id> = operands_of(egraph, node).iter().map(|&u| egraph.find(u)).collect();
            let part = match node.head {
                Head::Op(op) => match egraph.analysis.interner.op_at(op) {
                    Op::Known(def) => Part::call(def, attrs_of(egraph, node)),
                    Op::Opaque(_) => return None,
                },
                Head::Tuple => Part::Tuple(Vec::new()),
                Head::Proj(i) => Part::Proj(0, i as usize),
                _ => return None,
            };
            Some(Expanded { part, operands })
        };
        let leaf = |id: Id| {
            let data = &egraph[id].data;
            Part::Leaf {
                ty: data.ty.clone(),
                constant: data.value.clone().map(AttrValue::Tensor),
                is_static: data.is_static,
            }
        };
        let outputs: Vec<Id> = binding.outputs.iter().map(|&id| egraph.find(id)).collect();
        Matched::new(&outputs, &expand, &leaf)
    }

    /// The match of these inner vertices of a graph.
    pub(super) fn in_graph(
        graph: &Graph,
        outputs: &[VertexId],
        inner: &[VertexId],
        is_static: &dyn Fn(VertexId) -> bool,
    ) -> Matched {
        let expand = |v: VertexId| {
            let part = match &graph.vertex(v).node {
                _ if !inner.contains(&v) => return None,
                Node::Call {
                    op: Op::Known(def),
                    attrs,
                } => Part::call(def, attrs.to_vec()),
                Node::Tuple => Part::Tuple(Vec::new()),
                Node::Proj(i) => Part::Proj(0, *i as usize),
                _ => return None,
            };
            let operands = graph.pred(v).to_vec();
            Some(Expanded { part, operands })
        };
        let leaf = |v: VertexId| Part::Leaf {
            ty: graph.ty(v).clone(),
            constant: graph.vertex(v).constant().cloned().map(AttrValue::Tensor),
            is_static: is_static(v),
        };
        Matched::new(outputs, &expand, &leaf)
    }

    fn new<V: Copy + Eq + Hash>(
        outputs: &[V],
        expand: &dyn Fn(V) -> Option<Expanded<V>>,
        leaf: &dyn Fn(V) -> Part,
    ) -> Matched {
        let mut parts: Vec<Part> = Vec::new();
        let mut places: FxHashMap<V, usize> = FxHashMap::default();
        let mut open: Vec<V> = Vec::new();
        let mut stack: Vec<V> = outputs.to_vec();
        while let Some(&v) = stack.last() {
            if places.contains_key(&v) {
                stack.pop();
                continue;
            }
            let expanded = expand(v);
            let operands = expanded.as_ref().map_or(&[][..], |e| &e.operands);
            let missing: Vec<V> = operands.iter().copied().filter(|u| !places.contains_key(u)).collect();
            // A class whose form has the class itself below it is an input at the second place.
            let cyclic = missing.iter().find(|u| open.contains(u));
            if let Some(&u) = cyclic {
                places.insert(u, parts.len());
                parts.push(leaf(u));
                continue;
            }
            if !missing.is_empty() {
                open.push(v);
                stack.extend(missing);
                continue;
            }
            stack.pop();
            open.retain(|u| *u != v);
            let at: Vec<usize> = operands.iter().map(|u| places[u]).collect();
            let part = match expanded.map(|e| e.part) {
                Some(part) => part.with(at),
                None => leaf(v),
            };
            places.insert(v, parts.len());
            parts.push(part);
        }
        let outputs = outputs.iter().map(|v| places[v]).collect();
        Matched { parts, outputs }
    }

    /// True if the target of the rule has the types of the outputs at all ranks and sizes that are tried, and is known to
    /// have them at some.
    pub(super) fn keeps_types(&self, program: &Program) -> bool {
        let sizes = self.sizes();
        let mut agreeing = 0;
        for attempt in 0..TRIES {
            let Some((graph, outputs)) = self.at(&Choice { attempt, sizes: &sizes }) else {
                continue;
            };
            match sides(program, graph, Some(&outputs), &[], 0) {
                Some(sides) if !sides.types_agree() => return false,
                Some(_) => agreeing += 1,
                // The conditions do not hold there.
                None => {}
            }
            if agreeing == ENOUGH {
                break;
            }
        }
        agreeing > 0
    }

    /// The sizes to try: small ones, those that occur, and those next to the integers of attributes.
    fn sizes(&self) -> Vec<i64> {
        let mut sizes = vec![2, 3, 1];
        let mut add = |size: i64| {
            if (1..=1 << 20).contains(&size) && !sizes.contains(&size) {
                sizes.push(size);
            }
        };
        for part in &self.parts {
            match part {
                Part::Leaf { ty, .. } => ty.visit_dims(&mut |dim| dim.as_const().into_iter().for_each(&mut add)),
                Part::Call { attrs, .. } => {
                    let dims = attrs.iter().flat_map(|attr| match attr {
                        AttrValue::Int(dim) => std::slice::from_ref(dim),
                        AttrValue::Ints(dims) => dims,
                        _ => &[],
                    });
                    for n in dims.filter_map(Dim::as_const) {
                        add(n);
                        add(n.saturating_add(1));
                    }
                }
                Part::Tuple(_) | Part::Proj(..) => {}
            }
        }
        sizes
    }

    /// The match in a separate graph, with the unknown ranks and sizes of its inputs chosen; `None` if it has no type
    /// there.
    fn at(&self, choice: &Choice<'_>) -> Option<(Graph, Vec<VertexId>)> {
        let mut graph = Graph::new();
        let mut made: Vec<VertexId> = Vec::with_capacity(self.parts.len());
        for (i, part) in self.parts.iter().enumerate() {
            let at = |places: &[usize]| -> Operands { places.iter().map(|&p| made[p]).collect() };
            let v = match part {
                Part::Leaf {
                    constant: Some(AttrValue::Tensor(value)),
                    ..
                } => graph.constant(value.clone()),
                Part::Leaf { ty: Type::Absent, .. } => graph.absent(),
                Part::Leaf { ty, is_static, .. } => {
                    let ty = choice.closed(ty, i as u64);
                    match is_static {
                        true => graph.param(&format!("v{i}"), ty),
                        false => graph.input(&format!("v{i}"), ty),
                    }
                }
                Part::Call {
                    operator,
                    attrs,
                    operands,
                } => {
                    let named = operator.0.attrs.iter().map(|attr| attr.name);
                    let attrs: Vec<(&str, AttrValue)> = named.zip(attrs.iter().cloned()).collect();
                    graph.call(Op::Known(operator.0), &at(operands), &attrs).ok()?
                }
                Part::Tuple(items) => graph.tuple(&at(items)),
                Part::Proj(tuple, i) => graph.project(made[*tuple], *i).ok()?,
            };
            made.push(v);
        }
        let outputs: Vec<VertexId> = self.outputs.iter().map(|&i| made[i]).collect();
        outputs.iter().for_each(|&v| graph.output(v, None));
        Some((graph, outputs))
    }
}

impl Part {
    fn call(def: &'static OpDef, attrs: Vec<AttrValue>) -> Part {
        Part::Call {
            operator: Operator(def),
            attrs,
            operands: Vec::new(),
        }
    }

    /// The part with these operands.
    fn with(self, at: Vec<usize>) -> Part {
        match self {
            Part::Call { operator, attrs, .. } => Part::Call {
                operator,
                attrs,
                operands: at,
            },
            Part::Tuple(_) => Part::Tuple(at),
            Part::Proj(_, i) => Part::Proj(at[0], i),
            leaf => leaf,
        }
    }
}

/// A choice of ranks and sizes, which depends only on the number of the attempt.
struct Choice<'a> {
    attempt: u64,
    sizes: &'a [i64],
}

impl Choice<'_> {
    /// A number that differs from one use to the next.
    fn draw(&self, place: (u64, u64)) -> u64 {
        let mut hasher = FxHasher::default();
        (self.attempt, place).hash(&mut hasher);
        hasher.finish() >> 24
    }

    /// In every three attempts: the same size everywhere in one, one of two sizes in another, and any sizes in the
    /// third.
    fn size(&self, place: (u64, u64)) -> i64 {
        let n = self.sizes.len() as u64;
        let index = match self.attempt % 3 {
            0 => self.attempt / 3,
            1 => self.draw((u64::MAX, self.draw(place) % 2)),
            _ => self.draw(place),
        };
        self.sizes[(index % n) as usize]
    }

    /// The type with a rank and sizes in place of unknown ones; an unknown dimension has one size wherever it occurs.
    fn closed(&self, ty: &Type, leaf: u64) -> Type {
        if let Type::Tensor(TensorType { dtype, shape: None }) = ty {
            // Operands often have the same rank.
            let place = if self.attempt.is_multiple_of(2) { u64::MAX } else { leaf };
            let rank = self.draw((place, u64::MAX)) % (MOST_AXES + 1);
            let shape: Shape = (0..rank).map(|axis| Dim::Const(self.size((leaf, axis)))).collect();
            return Type::tensor(*dtype, shape);
        }
        ty.map_dims(&|dim| {
            dim.substitute(&|atom| match atom {
                Atom::Unknown(id) => Some(Dim::Const(self.size((u64::MAX - 1, u64::from(*id))))),
                _ => None,
            })
        })
    }
}

/// The matches of a run that have been tried, with the outcomes.
#[derive(Default)]
pub(super) struct Tried(FxHashMap<(usize, Matched), bool>);

impl Tried {
    /// As [`Matched::keeps_types`] for the rule of that number, without trying a match again.
    pub(super) fn keeps_types(&mut self, rule: usize, program: &Program, matched: &Matched) -> bool {
        let key = (rule, matched.numbered());
        if let Some(known) = self.0.get(&key) {
            return *known;
        }
        let keeps = key.1.keeps_types(program);
        self.0.insert(key, keeps);
        keeps
    }
}

impl Matched {
    /// The match with its unknown dimensions numbered in order of appearance, so that equal matches elsewhere are equal.
    fn numbered(&self) -> Matched {
        let numbers = std::cell::RefCell::new(FxHashMap::<u32, u32>::default());
        let number = |id: u32| {
            let mut numbers = numbers.borrow_mut();
            let next = numbers.len() as u32;
            *numbers.entry(id).or_insert(next)
        };
        let renamed = |ty: &Type| {
            ty.map_dims(&|dim| {
                dim.substitute(&|atom| match atom {
                    Atom::Unknown(id) => Some(Dim::unknown(number(*id))),
                    _ => None,
                })
            })
        };
        let mut out = self.clone();
        for part in &mut out.parts {
            if let Part::Leaf { ty, .. } = part {
                *ty = renamed(ty);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests;
