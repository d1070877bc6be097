//! Recipes: how to build the source of a rule for one choice of types, attributes and constants.
//!
//! The search for instances and the shrinking of counterexamples mutate recipes. A recipe is plain data; building it
//! runs inference on every call.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::{AttrValue, Op, OpDef, OpTraits};
use tautomer_rewrite::{Sides, Trial};
use tautomer_tensor::{Atom, DType, Dim, Shape, Tensor, Type};

/// How to build one vertex.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// An input, or a parameter.
    Leaf {
        name: Arc<str>,
        param: bool,
        dtype: DType,
        shape: Vec<i64>,
    },
    /// A constant with equal elements.
    Fill {
        dtype: DType,
        shape: Vec<i64>,
        value: f64,
    },
    /// Any other constant.
    Const(Tensor),
    /// An omitted operand.
    Absent,
    /// A call; attributes in declared order, `None` for omitted ones.
    Call {
        def: &'static OpDef,
        operands: Vec<usize>,
        attrs: Vec<Option<AttrValue>>,
    },
    Tuple(Vec<usize>),
    Proj(usize, usize),
}

/// The steps, operands before users, and which of them are the outputs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Recipe {
    pub(crate) steps: Vec<Step>,
    pub(crate) roots: Vec<usize>,
}

impl Step {
    /// The key for equality and hashing: numbers by their bits, operators by their names, all else as it is. The tensor
    /// of a `Const` is missing: `eq` and `hash` add it.
    #[expect(clippy::type_complexity, reason = "it is taken apart at once, and has no other use")]
    fn parts(
        &self,
    ) -> (
        u8,
        &str,
        bool,
        Option<DType>,
        &[i64],
        u64,
        &[usize],
        usize,
        &[Option<AttrValue>],
    ) {
        match self {
            Step::Leaf {
                name,
                param,
                dtype,
                shape,
            } => (0, name, *param, Some(*dtype), shape, 0, &[], 0, &[]),
            Step::Fill { dtype, shape, value } => (1, "", false, Some(*dtype), shape, value.to_bits(), &[], 0, &[]),
            Step::Const(_) => (2, "", false, None, &[], 0, &[], 0, &[]),
            Step::Absent => (3, "", false, None, &[], 0, &[], 0, &[]),
            Step::Call { def, operands, attrs } => (4, def.name, false, None, &[], 0, operands, 0, attrs),
            Step::Tuple(items) => (5, "", false, None, &[], 0, items, 0, &[]),
            Step::Proj(tuple, i) => (6, "", false, None, &[], 0, std::slice::from_ref(tuple), *i, &[]),
        }
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Step) -> bool {
        match (self, other) {
            (Step::Const(a), Step::Const(b)) => a.same_bits(b),
            _ => self.parts() == other.parts(),
        }
    }
}

impl Eq for Step {}

impl Hash for Step {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Step::Const(tensor) = self {
            tensor.hash_start(state);
        }
        self.parts().hash(state);
    }
}

/// The maximum number of elements of a value.
const MOST_ELEMENTS: i64 = 4096;

/// Dimensions assigned to the symbols in examples, in order of appearance.
const SYMBOLS: [i64; 4] = [3, 2, 4, 5];

impl Recipe {
    /// The recipe of everything that `roots` depend on down to `inputs`, which become leaves; `None` if that has opaque
    /// or nondeterministic operators or unknown dimensions.
    pub(crate) fn of(graph: &Graph, roots: &[VertexId], inputs: &[VertexId]) -> Option<Recipe> {
        let cut: FxHashSet<VertexId> = inputs.iter().copied().collect();
        let mut recipe = Recipe::default();
        let mut places: FxHashMap<VertexId, usize> = FxHashMap::default();
        let mut symbols: Vec<Arc<str>> = Vec::new();
        let is_static = statics(graph, roots);
        for v in graph.rpo_from(roots.iter().copied()) {
            let pred: Vec<VertexId> = graph.pred(v).into_iter().collect();
            let vertex = graph.vertex(v);
            let is_leaf = cut.contains(&v) && matches!(vertex.node, Node::Call { .. } | Node::Proj(_));
            let step = match &vertex.node {
                Node::Input | Node::Param => leaf(graph, v, !matches!(vertex.node, Node::Input), &mut symbols)?,
                _ if is_leaf && vertex.ty.as_tensor().is_some() => {
                    leaf(graph, v, is_static.contains(&v), &mut symbols)?
                }
                Node::Const(tensor) => constant(tensor),
                Node::Absent => Step::Absent,
                Node::Call { op, attrs } => {
                    let Op::Known(def) = op else { return None };
                    if def.traits.contains(OpTraits::NONDETERMINISTIC) {
                        return None;
                    }
                    let attrs = attrs.iter().map(|a| Some(concrete(a, &mut symbols)));
                    Step::Call {
                        def,
                        operands: pred.iter().map(|u| places.get(u).copied()).collect::<Option<_>>()?,
                        attrs: attrs.map(|a| a.filter(|a| !a.is_none())).collect(),
                    }
                }
                Node::Tuple => Step::Tuple(pred.iter().map(|u| places.get(u).copied()).collect::<Option<_>>()?),
                Node::Proj(i) => Step::Proj(*places.get(pred.first()?)?, *i as usize),
            };
            places.insert(v, recipe.steps.len());
            recipe.steps.push(step);
        }
        recipe.roots = roots.iter().map(|v| places.get(v).copied()).collect::<Option<_>>()?;
        recipe.prune();
        recipe.leave_out_defaults();
        Some(recipe)
    }

    /// Builds the graph and its outputs; `Err` with the step that inference rejects.
    pub(crate) fn build(&self) -> Result<(Graph, Vec<VertexId>), usize> {
        self.build_steps().map(|(graph, roots, _)| (graph, roots))
    }

    /// Builds the graph, its outputs, and the vertex of each step; `Err` with the step that inference rejects.
    pub(crate) fn build_steps(&self) -> Result<(Graph, Vec<VertexId>, Vec<VertexId>), usize> {
        let mut graph = Graph::new();
        let mut made: Vec<VertexId> = Vec::with_capacity(self.steps.len());
        for (i, step) in self.steps.iter().enumerate() {
            made.push(add(&mut graph, step, &made).ok_or(i)?);
        }
        let roots: Vec<VertexId> = self.roots.iter().map(|&i| made[i]).collect();
        for &root in &roots {
            graph.output(root, None);
        }
        Ok((graph, roots, made))
    }

    /// Both sides of the rule under trial at this instance; `None` if inference rejects the recipe or the rule does not
    /// match it.
    pub(crate) fn sides(&self, trial: &Trial) -> Option<Sides> {
        let (graph, roots) = self.build().ok()?;
        trial.sides(graph, Some(&roots))
    }

    /// The same for all matches of the rule at this instance, at most so many.
    pub(crate) fn all_sides(&self, trial: &Trial, most: usize) -> Vec<Sides> {
        let built = self.build().ok();
        built.map_or_else(Vec::new, |(graph, roots)| trial.all_sides(&graph, &roots, most))
    }

    /// A hash that identifies the recipe.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Removes steps that no output needs.
    pub(crate) fn prune(&mut self) {
        let mut used = vec![false; self.steps.len()];
        for &root in &self.roots {
            used[root] = true;
        }
        for i in (0..self.steps.len()).rev() {
            if used[i] {
                for u in self.steps[i].operands() {
                    used[u] = true;
                }
            }
        }
        let mut places = Vec::with_capacity(used.len());
        let mut next = 0;
        for used in &used {
            places.push(next);
            next += usize::from(*used);
        }
        let mut kept = used.iter();
        self.steps.retain(|_| *kept.next().unwrap_or(&false));
        for step in &mut self.steps {
            step.renumber(&|i| places[i]);
        }
        for root in &mut self.roots {
            *root = places[*root];
        }
    }

    /// Drops attributes that inference fills in with the same value, so that they adapt when types change.
    fn leave_out_defaults(&mut self) {
        let mut graph = Graph::new();
        let mut made: Vec<VertexId> = Vec::with_capacity(self.steps.len());
        for i in 0..self.steps.len() {
            let Some(v) = add(&mut graph, &self.steps[i], &made) else {
                return;
            };
            made.push(v);
            let Step::Call { attrs, .. } = &self.steps[i] else {
                continue;
            };
            for place in 0..attrs.len() {
                let mut step = self.steps[i].clone();
                if let Step::Call { def, attrs, .. } = &mut step {
                    if attrs[place].is_none() || def.attrs[place].default_value().is_none() {
                        continue;
                    }
                    attrs[place] = None;
                }
                let same = add(&mut graph, &step, &made)
                    .is_some_and(|other| attributes(&graph, other) == attributes(&graph, v));
                if same {
                    self.steps[i] = step;
                }
            }
        }
    }

    /// The names of the operators that it calls.
    pub(crate) fn operators(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.steps.iter().filter_map(|step| match step {
            Step::Call { def, .. } => Some(def.name),
            _ => None,
        })
    }

    /// The rank of each leaf and of each constant with equal elements.
    pub(crate) fn ranks(&self) -> Vec<usize> {
        (0..self.steps.len())
            .filter_map(|i| self.shape(i))
            .map(Vec::len)
            .collect()
    }

    /// True if no leaf is empty and every constant with equal elements is a scalar, so that none broadcasts a leaf.
    pub(crate) fn is_plain(&self) -> bool {
        self.steps.iter().all(|step| match step {
            Step::Leaf { shape, .. } => !shape.contains(&0),
            Step::Fill { shape, .. } => shape.is_empty(),
            _ => true,
        })
    }

    /// True if a leaf or a constant has no elements.
    pub(crate) fn has_empty_leaf(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Leaf { shape, .. } | Step::Fill { shape, .. } => shape.contains(&0),
            Step::Const(tensor) => tensor.shape().contains(&0),
            _ => false,
        })
    }

    /// The shape of a leaf, or of a constant with equal elements.
    pub(crate) fn shape(&self, step: usize) -> Option<&Vec<i64>> {
        match &self.steps[step] {
            Step::Leaf { shape, .. } | Step::Fill { shape, .. } => Some(shape),
            _ => None,
        }
    }

    /// The same, mutably.
    pub(crate) fn shape_mut(&mut self, step: usize) -> Option<&mut Vec<i64>> {
        match &mut self.steps[step] {
            Step::Leaf { shape, .. } | Step::Fill { shape, .. } => Some(shape),
            _ => None,
        }
    }

    /// The step that a step gets its first operand from, through all steps between; itself if it has no operands.
    pub(crate) fn first_leaf(&self, step: usize) -> usize {
        let mut at = step;
        while let Some(&first) = self.steps[at].operands().first() {
            at = first;
        }
        at
    }
}

impl Step {
    /// The steps it uses.
    pub(crate) fn operands(&self) -> Vec<usize> {
        match self {
            Step::Call { operands, .. } | Step::Tuple(operands) => operands.clone(),
            Step::Proj(tuple, _) => vec![*tuple],
            _ => Vec::new(),
        }
    }

    /// Renumbers the steps it uses.
    pub(crate) fn renumber(&mut self, f: &dyn Fn(usize) -> usize) {
        match self {
            Step::Call { operands, .. } | Step::Tuple(operands) => operands.iter_mut().for_each(|u| *u = f(*u)),
            Step::Proj(tuple, _) => *tuple = f(*tuple),
            _ => {}
        }
    }
}

fn attributes(graph: &Graph, v: VertexId) -> Option<&[AttrValue]> {
    match &graph.vertex(v).node {
        Node::Call { attrs, .. } => Some(attrs),
        _ => None,
    }
}

/// Vertices that depend only on parameters and constants.
fn statics(graph: &Graph, roots: &[VertexId]) -> FxHashSet<VertexId> {
    let mut out = FxHashSet::default();
    for v in graph.rpo_from(roots.iter().copied()) {
        let fixed = !matches!(graph.vertex(v).node, Node::Input);
        if fixed && graph.pred(v).iter().all(|u| out.contains(u)) {
            out.insert(v);
        }
    }
    out
}

fn leaf(graph: &Graph, v: VertexId, param: bool, symbols: &mut Vec<Arc<str>>) -> Option<Step> {
    let vertex = graph.vertex(v);
    let ty = vertex.ty.as_tensor()?;
    let shape = ty.shape.as_ref()?.iter().map(|d| extent(d, symbols).as_const());
    Some(Step::Leaf {
        name: vertex.name.clone().unwrap_or_else(|| "x".into()),
        param,
        dtype: ty.dtype,
        shape: shape.collect::<Option<_>>()?,
    })
}

fn constant(tensor: &Tensor) -> Step {
    let uniform = tensor.is_uniform() && !tensor.is_empty() && tensor.dtype() != DType::Utf8;
    let value = tensor.first().and_then(|t| match t.to_f64s() {
        Some(values) => values.first().copied(),
        None => t.to_ints()?.first().map(|&v| v as f64),
    });
    match value.filter(|v| uniform && fill(tensor.dtype(), tensor.shape(), *v).is_some_and(|t| t.same_bits(tensor))) {
        Some(value) => Step::Fill {
            dtype: tensor.dtype(),
            shape: tensor.shape().iter().map(|&n| n as i64).collect(),
            value,
        },
        None => Step::Const(tensor.clone()),
    }
}

/// A tensor of numbers, rounded in an integer type.
pub(crate) fn numbers(dtype: DType, shape: &[usize], numbers: &[f64]) -> Option<Tensor> {
    if dtype.is_float() {
        return Tensor::from_f64s(dtype, shape, numbers);
    }
    let whole: Vec<i128> = numbers.iter().map(|v| v.round() as i128).collect();
    Tensor::from_ints(dtype, shape, &whole)
}

/// A tensor with equal elements.
pub(crate) fn fill(dtype: DType, shape: &[usize], value: f64) -> Option<Tensor> {
    let n = shape.iter().product();
    if dtype.is_float() {
        Tensor::from_f64s(dtype, shape, &vec![value; n])
    } else if value.fract() == 0.0 {
        Tensor::from_ints(dtype, shape, &vec![value as i128; n])
    } else {
        None
    }
}

/// The dimension with its symbols replaced by numbers.
fn extent(dim: &Dim, symbols: &mut Vec<Arc<str>>) -> Dim {
    dim.visit_atoms(&mut |atom| {
        if let Atom::Symbol(name) = atom
            && !symbols.contains(name)
        {
            symbols.push(name.clone());
        }
    });
    dim.bind(&|name| {
        let place = symbols.iter().position(|s| **s == *name)?;
        Some(SYMBOLS[place % SYMBOLS.len()])
    })
}

fn concrete(attr: &AttrValue, symbols: &mut Vec<Arc<str>>) -> AttrValue {
    match attr {
        AttrValue::Int(d) => AttrValue::Int(extent(d, symbols)),
        AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(|d| extent(d, symbols)).collect()),
        other => other.clone(),
    }
}

fn sizes(shape: &[i64]) -> Option<Vec<usize>> {
    let mut n = 1;
    for &extent in shape {
        if !(0..=MOST_ELEMENTS).contains(&extent) {
            return None;
        }
        n *= extent.max(1);
        if n > MOST_ELEMENTS {
            return None;
        }
    }
    shape.iter().map(|&d| usize::try_from(d).ok()).collect()
}

/// Adds a step to the graph.
pub(crate) fn add(graph: &mut Graph, step: &Step, made: &[VertexId]) -> Option<VertexId> {
    let v = match step {
        Step::Leaf {
            name,
            param,
            dtype,
            shape,
        } => {
            sizes(shape)?;
            let ty = Type::tensor(*dtype, shape.iter().map(|&d| Dim::from(d)).collect::<Shape>());
            if *param {
                graph.param(name, ty)
            } else {
                graph.input(name, ty)
            }
        }
        Step::Fill { dtype, shape, value } => graph.constant(fill(*dtype, &sizes(shape)?, *value)?),
        Step::Const(tensor) => graph.constant(tensor.clone()),
        Step::Absent => graph.absent(),
        Step::Call { def, operands, attrs } => {
            let operands: Vec<VertexId> = operands.iter().map(|&u| made[u]).collect();
            let named: Vec<(&str, AttrValue)> = def
                .attrs
                .iter()
                .zip(attrs)
                .filter_map(|(d, a)| Some((d.name, a.clone()?)))
                .collect();
            graph.call(Op::Known(def), &operands, &named).ok()?
        }
        Step::Tuple(items) => graph.tuple(&items.iter().map(|&u| made[u]).collect::<Vec<_>>()),
        Step::Proj(tuple, i) => graph.project(made[*tuple], *i).ok()?,
    };
    is_small(graph.ty(v)).then_some(v)
}

/// True if the value is not too large, as far as its dimensions are known.
fn is_small(ty: &Type) -> bool {
    match ty {
        Type::Tensor(t) => t.shape.as_ref().is_none_or(|shape| {
            let known = shape.iter().filter_map(Dim::as_const);
            known.fold(1, |n: i64, d| n.saturating_mul(d)) <= MOST_ELEMENTS
        }),
        Type::Tuple(items) => items.iter().all(is_small),
        Type::Sequence(item) | Type::Optional(item) => is_small(item),
        Type::Absent => true,
    }
}
