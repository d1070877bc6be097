//! The form of an instance: its vertices, ranks and axes, with symbols for dimensions and for attributes that are free.

use std::rc::Rc;

use super::case::Case;
use super::facts::{Effort, Facts};
use super::order::Between;
use super::scope::symbol_name;
use crate::instance::recipe::{Recipe, Step, add, fill};
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::{AttrDef, AttrKind, AttrValue, OpTraits};
use tautomer_tensor::{Dim, Shape, TensorType};

/// Attributes that count elements or are positions, and become symbols; all others are part of the form.
pub(super) const FREE: [&str; 10] = [
    "pads",
    "strides",
    "dilations",
    "kernel_shape",
    "group",
    "starts",
    "ends",
    "sizes",
    "repeats",
    "shape",
];

/// The recipe with omitted axes, and attributes that depend on dimensions, written out.
fn with_axes(recipe: &Recipe) -> Recipe {
    let mut out = recipe.clone();
    let mut graph = Graph::new();
    let mut made: Vec<VertexId> = Vec::with_capacity(out.steps.len());
    for step in &mut out.steps {
        let Some(v) = add(&mut graph, step, &made) else { break };
        made.push(v);
        let (Step::Call { def, attrs, .. }, Node::Call { attrs: filled, .. }) = (step, &graph.vertex(v).node) else {
            continue;
        };
        let automatic = |(d, own): (&AttrDef, &Option<AttrValue>)| {
            d.name == "auto_pad" && matches!(own, Some(AttrValue::Str(s)) if &**s != "NOTSET")
                || d.name == "output_shape" && own.is_some()
        };
        let automatic = def.attrs.iter().zip(attrs.iter()).any(automatic);
        for ((declared, own), filled) in def.attrs.iter().zip(attrs).zip(filled.iter()) {
            let axes = matches!(declared.kind, AttrKind::Axes(_)) || declared.name == "sizes";
            if automatic || !filled.is_none() && (axes && own.is_none() || declared.name == "shape") {
                *own = Some(filled.clone()).filter(|value| !value.is_none());
            }
        }
    }
    out
}

/// A source with symbolic dimensions.
#[derive(Debug, Clone)]
pub(super) struct Form {
    recipe: Recipe,
    /// The dimensions of the leaves, by step.
    extents: Vec<Vec<Dim>>,
    /// Numbers that each represent every number between two others.
    ordered: Rc<[(f64, Between)]>,
    /// Entries of shapes that the matcher sees as they are written, 0 or -1: the step, the attribute, the entry.
    written: Vec<(usize, usize, usize, i64)>,
}

/// For each step, whether it is a constant with equal elements used only by elementwise operators: such a constant may
/// have any dimensions.
fn spread(recipe: &Recipe) -> Vec<bool> {
    let mut out: Vec<bool> = recipe
        .steps
        .iter()
        .map(|step| matches!(step, Step::Fill { shape, .. } if !shape.is_empty()))
        .collect();
    for step in &recipe.steps {
        let alone = matches!(step, Step::Call { def, .. } if def.traits.contains(OpTraits::ELEMENTWISE));
        for u in step.operands() {
            out[u] &= alone;
        }
    }
    for &root in &recipe.roots {
        out[root] = false;
    }
    out
}

/// True if a constant has dimensions that the proof does not vary.
pub(super) fn has_sized_constants(recipe: &Recipe) -> bool {
    let spread = spread(recipe);
    recipe.steps.iter().zip(spread).any(|(step, spread)| match step {
        Step::Fill { shape, .. } => !shape.is_empty() && !spread,
        Step::Const(tensor) => !tensor.shape().is_empty(),
        _ => false,
    })
}

impl Form {
    /// The form of an instance.
    pub(super) fn of(recipe: &Recipe) -> Form {
        let mut recipe = with_axes(recipe);
        let mut extents = Vec::with_capacity(recipe.steps.len());
        let spread = spread(&recipe);
        for (i, step) in recipe.steps.iter_mut().enumerate() {
            let mut own = Vec::new();
            match step {
                Step::Fill { .. } if !spread[i] => {}
                Step::Leaf { shape, .. } | Step::Fill { shape, .. } => {
                    own = (0..shape.len())
                        .map(|axis| Dim::symbol(&format!("d{i}.{axis}")))
                        .collect();
                    shape.fill(0);
                }
                Step::Call { def, attrs, .. } => {
                    for (declared, value) in def.attrs.iter().zip(attrs) {
                        if !FREE.contains(&declared.name) {
                            continue;
                        }
                        let symbol = |k: usize| Dim::symbol(&symbol_name(declared.name, i, k));
                        match value {
                            // An attribute that has the value of another one has its symbols already.
                            Some(AttrValue::Int(d)) if d.as_const().is_some() => *d = symbol(0),
                            Some(AttrValue::Ints(list)) => {
                                // In `shape`, 0 and -1 are not dimensions, and stay as they are.
                                let written = |d: &Dim| declared.name == "shape" && d.as_const().is_none_or(|n| n <= 0);
                                for (k, d) in list.iter_mut().enumerate().filter(|(_, d)| !written(d)) {
                                    if d.as_const().is_some() {
                                        *d = symbol(k);
                                    }
                                }
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
            extents.push(own);
        }
        Form {
            recipe,
            extents,
            ordered: Rc::from([]),
            written: Vec::new(),
        }
    }

    /// The form with entries of shapes as they are written where inference does not know the dimension: 0 for that of
    /// the operand, and -1 for the one that is left.
    pub(super) fn with_written(&self, entries: &[(usize, usize, usize, i64)]) -> Form {
        let mut out = self.clone();
        for &(step, attr, entry, number) in entries {
            if let Step::Call { attrs, .. } = &mut out.recipe.steps[step]
                && let Some(AttrValue::Ints(list)) = &mut attrs[attr]
            {
                list[entry] = Dim::Const(number);
            }
        }
        out.written = entries.to_vec();
        out
    }

    /// The form with numbers that represent every number between two others.
    pub(super) fn with_ordered(mut self, numbers: Rc<[(f64, Between)]>) -> Form {
        self.ordered = numbers;
        self
    }

    /// True if entries of a shape are as they are written.
    pub(super) fn is_written(&self, step: usize, attr: usize) -> bool {
        self.written.iter().any(|&(own, at, ..)| (own, at) == (step, attr))
    }

    /// The key that identifies the form.
    pub(super) fn key(&self) -> &Recipe {
        &self.recipe
    }

    /// The dimensions of a step.
    pub(super) fn dimensions(&self, step: usize) -> &[Dim] {
        &self.extents[step]
    }

    /// The form with another value of an attribute wherever an operator has it, and another attribute left out there.
    pub(super) fn with_attribute(&self, name: &str, value: &AttrValue, without: &str) -> Form {
        let mut out = self.clone();
        for step in &mut out.recipe.steps {
            if let Step::Call { def, attrs, .. } = step
                && let Some(i) = def.attr_index(name)
            {
                attrs[i] = Some(value.clone());
                if let Some(left_out) = def.attr_index(without) {
                    attrs[left_out] = None;
                }
            }
        }
        out
    }

    /// The names of the operators, for messages.
    pub(super) fn operators(&self) -> String {
        let names = self.recipe.steps.iter().filter_map(|step| match step {
            Step::Call { def, .. } => Some(format!("`{}`", def.name)),
            _ => None,
        });
        names.collect::<Vec<_>>().join(", ")
    }

    /// The ranks of the leaves.
    pub(super) fn ranks(&self) -> impl Iterator<Item = usize> + '_ {
        let leaves = self.recipe.steps.iter().zip(&self.extents);
        leaves
            .filter(|(s, _)| matches!(s, Step::Leaf { .. }))
            .map(|(_, e)| e.len())
    }

    /// True if all calls treat each axis separately.
    pub(super) fn axes_alone(&self) -> bool {
        self.recipe.steps.iter().all(|step| match step {
            Step::Call { def, .. } => super::cases::has_axes_alone(def),
            _ => true,
        })
    }

    /// The initial facts: every dimension is at least 0.
    pub(super) fn facts(&self, effort: Rc<Effort>, tokens: Rc<[f64]>) -> Facts {
        let mut facts = Facts::default();
        facts.effort = effort;
        facts.tokens = tokens;
        facts.ordered = self.ordered.clone();
        for d in self.extents.iter().flatten() {
            facts.add(d.clone());
        }
        facts
    }

    /// The instance of the form where its dimensions and attributes have these values; `None` if one has none.
    pub(super) fn at(&self, value: &dyn Fn(&Dim) -> Option<i64>) -> Option<Recipe> {
        let mut out = self.recipe.clone();
        for (step, extents) in out.steps.iter_mut().zip(&self.extents) {
            match step {
                Step::Leaf { shape, .. } | Step::Fill { shape, .. } if !extents.is_empty() => {
                    *shape = extents.iter().map(value).collect::<Option<_>>()?;
                }
                Step::Call { attrs, .. } => {
                    for attr in attrs.iter_mut().flatten() {
                        match attr {
                            AttrValue::Int(d) => *d = Dim::Const(value(d)?),
                            AttrValue::Ints(list) => {
                                for d in list {
                                    *d = Dim::Const(value(d)?);
                                }
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Some(out)
    }

    /// The graph in a case, and its outputs; `None` if inference rejects it.
    pub(super) fn build(&self, case: &Case) -> Option<(Graph, Vec<VertexId>)> {
        let mut graph = Graph::new();
        let mut made: Vec<VertexId> = Vec::with_capacity(self.recipe.steps.len());
        for (step, extents) in self.recipe.steps.iter().zip(&self.extents) {
            let v = match step {
                Step::Leaf { name, param, dtype, .. } => {
                    let shape: Shape = extents.iter().map(|d| case.resolve(d)).collect();
                    let ty = TensorType::new(*dtype, shape);
                    if *param {
                        graph.param(name, ty)
                    } else {
                        graph.input(name, ty)
                    }
                }
                Step::Call { def, operands, attrs } => {
                    let resolved = |value: &AttrValue| match value {
                        AttrValue::Int(d) => AttrValue::Int(case.resolve(d)),
                        AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(|d| case.resolve(d)).collect()),
                        other => other.clone(),
                    };
                    let step = Step::Call {
                        def,
                        operands: operands.clone(),
                        attrs: attrs.iter().map(|a| a.as_ref().map(resolved)).collect(),
                    };
                    add(&mut graph, &step, &made)?
                }
                Step::Fill { dtype, shape, value } if !extents.is_empty() => {
                    // A tensor with one element represents the constant.
                    let v = graph.constant(fill(*dtype, &vec![1; shape.len()], *value)?);
                    let shape: Shape = extents.iter().map(|d| case.resolve(d)).collect();
                    graph.vertex_mut(v).ty = TensorType::new(*dtype, shape).into();
                    v
                }
                other => add(&mut graph, other, &made)?,
            };
            for (_, attr, entry, number) in self.written.iter().filter(|(step, ..)| *step == made.len()) {
                if let Node::Call { attrs, .. } = &mut graph.vertex_mut(v).node {
                    let mut own = attrs.to_vec();
                    if let Some(AttrValue::Ints(list)) = own.get_mut(*attr) {
                        list[*entry] = Dim::Const(*number);
                    }
                    *attrs = own.into();
                }
            }
            made.push(v);
        }
        let roots: Vec<VertexId> = self.recipe.roots.iter().map(|&i| made[i]).collect();
        for &root in &roots {
            graph.output(root, None::<&str>);
        }
        Some((graph, roots))
    }
}
