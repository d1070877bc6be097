//! Values of two graphs that agree: by the calls that compute them, else by the numbers they have.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::compare::data::{self, Data};
use crate::compare::tolerance::mismatch_beyond_tolerance;
use crate::graphs::{Options, Pair, bound_places, reference};
use crate::instance::extents::Extents;
use crate::instance::random::Random;
use tautomer_graph::{Graph, Node, Operands, VertexId};
use tautomer_op::{Attrs, Op, OpTraits, Value};
use tautomer_rule::Class;
use tautomer_tensor::{DType, Tensor, Type};

/// The kinds of data on which values are compared.
const KINDS: [Data; 3] = [Data::Balanced, Data::Positive, Data::Balanced];

/// The number of choices of the symbolic dimensions.
const SHAPES: usize = 2;

/// How many choices are tried after one has succeeded.
const CHOICES: usize = 4;

/// The relative difference of equal values if they are computed in single precision.
const SINGLE: f64 = 1e-4;

/// The values of two graphs that agree.
pub(super) struct Matched {
    /// For values of the optimized graph, the value of the original that they equal.
    partner: FxHashMap<VertexId, VertexId>,
    /// Values of the original, each with the value of the optimized graph that computes it in another way.
    pub(super) different: Vec<(VertexId, VertexId)>,
    /// The values of the original that are equal.
    classes: Classes,
}

impl Matched {
    /// The value of the original that `v` of the optimized graph equals, among those for which `is_wanted` holds.
    pub(super) fn partner(&self, v: VertexId, is_wanted: &dyn Fn(VertexId) -> bool) -> Option<VertexId> {
        let partner = *self.partner.get(&v)?;
        if is_wanted(partner) {
            return Some(partner);
        }
        self.classes.members(partner).iter().copied().find(|u| is_wanted(*u))
    }

    /// `old`, and then the other computed values of the original that equal it, the last one first.
    pub(super) fn alternatives(&self, old: VertexId) -> impl Iterator<Item = VertexId> {
        let members = self.classes.members(old).iter().copied();
        let others = members
            .rev()
            .filter(move |u| *u != old && self.classes.computed.contains(u));
        std::iter::once(old).chain(others)
    }
}

/// The values of the vertices of a graph, one for each run.
type Runs = FxHashMap<VertexId, Vec<Value<f64>>>;

/// A key for the computation of a value: equal calls of equal operands have equal keys.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Call(Op, Attrs, Operands),
    Tuple(Operands),
    Proj(u32, VertexId),
    Absent,
}

/// Pairs the values of both graphs.
///
/// # Errors
/// If they cannot be computed.
pub(super) fn matched(pair: &Pair, options: &Options<'_>) -> Result<Matched, String> {
    let (old, new) = runs(pair, options)?;
    let mut finder = Finder {
        pair,
        old: &old,
        new: &new,
        exact: FxHashMap::default(),
        loose: FxHashMap::default(),
        out: Matched {
            partner: FxHashMap::default(),
            different: Vec::new(),
            classes: Classes::of(&pair.original, &old),
        },
    };
    for v in pair.original.rpo() {
        let own = |u: VertexId| Some(u);
        if let Some(key) = key(&pair.original, v, &own) {
            finder.exact.entry(key).or_insert(v);
        }
        let class = |u: VertexId| Some(finder.out.classes.first(u));
        if let Some(key) = key(&pair.original, v, &class) {
            finder.loose.entry(key).or_insert(v);
        }
    }
    for v in pair.optimized.rpo() {
        finder.find(v);
    }
    let outputs = pair.original.outputs().iter().zip(pair.optimized.outputs());
    for (a, b) in outputs {
        let is_other = finder.out.partner.get(&b.vertex).is_none_or(|u| *u != a.vertex);
        let is_listed = finder.out.different.iter().any(|(_, new)| *new == b.vertex);
        if is_other && !is_listed {
            finder.out.different.push((a.vertex, b.vertex));
        }
    }
    Ok(finder.out)
}

/// The key of a vertex whose operands are replaced by `name`; `None` for leaves, and if an operand has no name.
fn key(graph: &Graph, v: VertexId, name: &dyn Fn(VertexId) -> Option<VertexId>) -> Option<Key> {
    let operands = graph.pred(v);
    let named = |u: &VertexId| match graph.vertex(*u).node {
        // There is one kind of absent operand.
        Node::Absent => Some(VertexId::end()),
        _ => name(*u),
    };
    match &graph.vertex(v).node {
        Node::Call { op, attrs } => {
            let mut operands: Operands = operands.iter().map(named).collect::<Option<_>>()?;
            if op.has(OpTraits::COMMUTATIVE) {
                operands.sort();
            }
            Some(Key::Call(op.clone(), attrs.clone(), operands))
        }
        Node::Tuple => Some(Key::Tuple(operands.iter().map(named).collect::<Option<_>>()?)),
        Node::Proj(i) => Some(Key::Proj(*i, named(operands.first()?)?)),
        Node::Absent => Some(Key::Absent),
        Node::Input | Node::Param | Node::Const(_) => None,
    }
}

/// The graph with equal calls and equal constants merged.
pub(super) fn merged(graph: &Graph) -> Graph {
    let mut out = Graph::new();
    out.reserve_unknown(graph.next_unknown());
    let mut places: FxHashMap<VertexId, VertexId> = FxHashMap::default();
    let mut made: FxHashMap<Key, VertexId> = FxHashMap::default();
    let mut constants: Vec<VertexId> = Vec::new();
    for v in graph.inputs().iter().copied().chain(graph.rpo()) {
        if places.contains_key(&v) {
            continue;
        }
        let vertex = graph.vertex(v).clone();
        let operands: Operands = graph.pred(v).iter().map(|u| places[u]).collect();
        let new = match &vertex.node {
            Node::Input => out.input(vertex.name.as_deref().unwrap_or_default(), vertex.ty),
            Node::Const(value) => {
                let is_same = |u: &VertexId| out.vertex(*u).constant().is_some_and(|c| c.same_bits(value));
                let known = constants.iter().copied().find(is_same);
                known.unwrap_or_else(|| {
                    let new = out.push(vertex, &operands);
                    constants.push(new);
                    new
                })
            }
            _ => match key(graph, v, &|u| places.get(&u).copied()) {
                Some(key) => *made.entry(key).or_insert_with(|| out.push(vertex, &operands)),
                None => out.push(vertex, &operands),
            },
        };
        places.insert(v, new);
    }
    for output in graph.outputs() {
        out.output(places[&output.vertex], output.name.as_deref());
    }
    out
}

struct Finder<'a> {
    pair: &'a Pair,
    old: &'a Runs,
    new: &'a Runs,
    /// The vertices of the original by the keys of their computations.
    exact: FxHashMap<Key, VertexId>,
    /// The same, with operands of equal value identified.
    loose: FxHashMap<Key, VertexId>,
    out: Matched,
}

impl Finder<'_> {
    /// Finds the partner of `v`, whose operands have been visited.
    fn find(&mut self, v: VertexId) {
        let graph = &self.pair.optimized;
        let partner = match &graph.vertex(v).node {
            Node::Input | Node::Param => self.leaf(v),
            Node::Const(value) => self.constant(value),
            _ => {
                let own = |u: VertexId| self.out.partner.get(&u).copied();
                let exact = key(graph, v, &own).and_then(|key| self.exact.get(&key).copied());
                exact.or_else(|| self.through_equals(v)).or_else(|| self.by_value(v))
            }
        };
        if let Some(partner) = partner {
            self.out.partner.insert(v, partner);
        }
    }

    fn leaf(&self, v: VertexId) -> Option<VertexId> {
        let name = &self.pair.optimized.vertex(v).name;
        let inputs = self.pair.original.inputs();
        inputs
            .iter()
            .copied()
            .find(|&u| self.pair.original.vertex(u).name == *name)
    }

    fn constant(&self, value: &Tensor) -> Option<VertexId> {
        let original = &self.pair.original;
        let is_same = |u: &VertexId| original.vertex(*u).constant().is_some_and(|c| c.same_bits(value));
        original.ids().find(is_same)
    }

    /// The vertex of the original that is the same call, except that its operands may be different vertices of equal
    /// value; these are recorded as differences.
    fn through_equals(&mut self, v: VertexId) -> Option<VertexId> {
        let graph = &self.pair.optimized;
        let class = |u: VertexId| Some(self.out.classes.first(*self.out.partner.get(&u)?));
        let found = *self.loose.get(&key(graph, v, &class)?)?;
        let (ours, theirs) = (self.pair.original.pred(found), graph.pred(v));
        for (&a, &b) in ours.iter().zip(&theirs) {
            if self.out.partner.get(&b).is_some_and(|u| *u != a) {
                self.differ(a, b);
            }
        }
        Some(found)
    }

    /// A call of the original with the same value, if it depends on an input: preferably one with the same name, else the
    /// last one.
    fn by_value(&mut self, v: VertexId) -> Option<VertexId> {
        let value = self.new.get(&v)?;
        let dtype = self.pair.optimized.ty(v).as_tensor()?.dtype;
        let computed = |u: &&VertexId| self.out.classes.computed.contains(*u);
        let mut equal = self.out.classes.equal(self.old, dtype, value).iter().filter(computed);
        let original = &self.pair.original;
        let name: &Option<Arc<str>> = &self.pair.optimized.vertex(v).name;
        let named = equal
            .clone()
            .find(|u| name.is_some() && original.vertex(**u).name == *name);
        // The last one has everything before it that does not change the value.
        let found = *named.or_else(|| equal.next_back())?;
        self.differ(found, v);
        Some(found)
    }

    fn differ(&mut self, old: VertexId, new: VertexId) {
        if !self.out.different.contains(&(old, new)) {
            self.out.different.push((old, new));
        }
    }
}

/// The values of the original, by equality.
struct Classes {
    /// The first vertex of the same value.
    first: FxHashMap<VertexId, VertexId>,
    /// For each element type and shape, the first vertex of each class.
    by_type: FxHashMap<(DType, Vec<usize>), Vec<VertexId>>,
    /// All vertices of a class, in order, by the first of them.
    members: FxHashMap<VertexId, Vec<VertexId>>,
    /// Calls and their results that depend on inputs.
    computed: FxHashSet<VertexId>,
}

impl Classes {
    fn of(graph: &Graph, runs: &Runs) -> Classes {
        let mut out = Classes {
            first: FxHashMap::default(),
            by_type: FxHashMap::default(),
            members: FxHashMap::default(),
            computed: FxHashSet::default(),
        };
        let mut varies: FxHashSet<VertexId> = FxHashSet::default();
        for v in graph.rpo() {
            let is_leaf = matches!(graph.vertex(v).node, Node::Input);
            if is_leaf || graph.pred(v).iter().any(|u| varies.contains(u)) {
                varies.insert(v);
                if matches!(graph.vertex(v).node, Node::Call { .. } | Node::Proj(_)) {
                    out.computed.insert(v);
                }
            }
            let (Some(value), Some(ty)) = (runs.get(&v), graph.ty(v).as_tensor()) else {
                continue;
            };
            let Some(run) = value.first() else { continue };
            let firsts = out.by_type.entry((ty.dtype, run.shape().to_vec())).or_default();
            let same = |u: &&VertexId| runs.get(u).is_some_and(|other| agree(ty.dtype, other, value));
            let first = match firsts.iter().find(same) {
                Some(first) => *first,
                None => {
                    firsts.push(v);
                    v
                }
            };
            out.first.insert(v, first);
            out.members.entry(first).or_default().push(v);
        }
        out
    }

    /// The values that equal `v`, in order.
    fn members(&self, v: VertexId) -> &[VertexId] {
        self.members.get(&self.first(v)).map_or(&[], Vec::as_slice)
    }

    fn first(&self, v: VertexId) -> VertexId {
        self.first.get(&v).copied().unwrap_or(v)
    }

    /// The values that have these numbers.
    fn equal(&self, runs: &Runs, dtype: DType, value: &[Value<f64>]) -> &[VertexId] {
        let Some(run) = value.first() else { return &[] };
        let firsts = self.by_type.get(&(dtype, run.shape().to_vec()));
        let same = |u: &&VertexId| runs.get(u).is_some_and(|other| agree(dtype, other, value));
        let found = firsts.and_then(|firsts| firsts.iter().find(same));
        found.map_or(&[], |first| self.members(*first))
    }
}

/// Whether two values agree in all runs.
fn agree(dtype: DType, a: &[Value<f64>], b: &[Value<f64>]) -> bool {
    let agree = |(a, b): (&Value<f64>, &Value<f64>)| {
        std::mem::discriminant(a) == std::mem::discriminant(b)
            && mismatch_beyond_tolerance(Class::Approx(SINGLE), a, b, dtype, 0.0, Data::Balanced).is_none()
    };
    a.len() == b.len() && a.iter().zip(b).all(agree)
}

/// The values of all tensors of both graphs, for some dimensions and data.
fn runs(pair: &Pair, options: &Options<'_>) -> Result<(Runs, Runs), String> {
    let (mut old, mut new) = (Runs::default(), Runs::default());
    let mut why = "no dimensions were found at which they run".to_owned();
    let mut done = 0;
    for (tried, extents) in Extents::choices(&pair.original).into_iter().enumerate() {
        // Later choices are large; they are for models that nothing small fits.
        if done >= SHAPES || done > 0 && tried >= CHOICES {
            break;
        }
        match shape_runs(pair, options, &extents) {
            Ok(all) => {
                done += 1;
                for (a, b) in all {
                    a.into_iter()
                        .for_each(|(v, value)| old.entry(v).or_default().push(value));
                    b.into_iter()
                        .for_each(|(v, value)| new.entry(v).or_default().push(value));
                }
            }
            Err(reason) => why = reason,
        }
    }
    if done == 0 { Err(why) } else { Ok((old, new)) }
}

type OneRun = (Vec<(VertexId, Value<f64>)>, Vec<(VertexId, Value<f64>)>);

fn shape_runs(pair: &Pair, options: &Options<'_>, extents: &Extents) -> Result<Vec<OneRun>, String> {
    let fits = |graph: &Graph| graph.ids().all(|v| extents.fits(graph.ty(v)));
    if !fits(&pair.original) || !fits(&pair.optimized) {
        return Err(format!("the models are not valid with {extents}"));
    }
    let mut out = Vec::new();
    for (number, kind) in KINDS.into_iter().enumerate() {
        let mut random = Random::part(options.seed, &format!("suggest {number} {extents}"));
        let draw = |v: &VertexId| -> Option<Tensor> {
            let name = pair.original.vertex(*v).name.as_ref()?;
            if let Some(value) = pair.given.get(name) {
                return Some(value.clone());
            }
            let ty = pair.original.ty(*v);
            data::tensor(ty.as_tensor()?.dtype, &extents.shape(ty)?, kind, &mut random)
        };
        let leaves: Option<Vec<Tensor>> = pair.original.inputs().iter().map(draw).collect();
        let leaves = leaves.ok_or("no values could be made for the inputs")?;
        out.push((
            values(&pair.original, extents, &leaves, options)?,
            values(&pair.optimized, extents, &leaves, options)?,
        ));
    }
    Ok(out)
}

fn values(
    graph: &Graph,
    extents: &Extents,
    leaves: &[Tensor],
    options: &Options<'_>,
) -> Result<Vec<(VertexId, Value<f64>)>, String> {
    let (bound, places) = bound_places(graph, extents);
    let tensors = graph
        .rpo()
        .into_iter()
        .filter(|v| matches!(graph.ty(*v), Type::Tensor(_)));
    let tensors: Vec<VertexId> = tensors.collect();
    let roots: Vec<VertexId> = tensors.iter().map(|v| places[v]).collect();
    let work: u64 = bound.ids().map(|v| crate::graphs::work(&bound, v)).sum();
    let values = match options.machine {
        Some(machine) if work > options.limits.operations => {
            let mut graph = bound;
            graph.clear_outputs();
            roots.iter().for_each(|&v| graph.output(v, None));
            let made = machine(&graph, leaves)?;
            let real = |t: &Tensor| Value::from_tensor(t).map_err(|e| e.to_string());
            made.iter().map(real).collect::<Result<_, _>>()?
        }
        _ => reference(&bound, &roots, leaves)?,
    };
    Ok(tensors.into_iter().zip(values).collect())
}
