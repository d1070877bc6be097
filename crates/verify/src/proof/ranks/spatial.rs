//! Rules over windows: a proof with one spatial axis is a proof with any number of them.
//!
//! The axes after the first two of an image or of a kernel are spatial. An operator along windows treats them alike and
//! separately: what it reads along one of them depends only on dimensions, attributes and positions of that axis. So a
//! formula for one spatial axis is a formula for several, if each of its symbols for that axis is read as a tuple with
//! a number for each axis: equal terms stay equal, facts hold for each number, a range is a box, and a condition on an
//! index is one for each axis.
//!
//! Two things are shown here. The text of the rule says the same for any number of spatial axes ([`text`], [`axes`]):
//! they are together as the last axes of each value, no list and no condition tells them apart, and lists with an entry
//! for each are passed on as they are. And the proof for one axis holds for tuples, which
//! [`Block`](crate::proof::block::Block) checks.
//!
//! A variable of any rank may have only some of the spatial axes. It is broadcast, so it may as well have dimension 1
//! along the others, and the text sees no difference. A variable with more axes than an image is tried, and must not
//! match.

mod axes;
mod places;
#[cfg(test)]
mod tests;
mod text;

use std::rc::Rc;
use std::sync::Arc;

use self::axes::{Axes, slides};
use self::places::places;
use self::text::{Names, No, Said, Text};
use super::{Ranks, kind};
use crate::instance::recipe::{Recipe, Step};
use crate::proof::Coverage;
use crate::proof::block::Block;
use crate::proof::case::is_position;
use crate::proof::cases::{Given, prove_from};
use crate::proof::facts::Facts;
use crate::proof::form::{FREE, Form, has_sized_constants};
use crate::proof::level::AtLevel;
use crate::proof::scope::{Prepared, Scope, calls};
use tautomer_op::{AttrKind, AttrValue, AxisOf};
use tautomer_rule::{AttrPattern, PatternId, PatternNode, Rule};
use tautomer_tensor::{DType, Dim};

/// Limit on the forms with one spatial axis, and on the ranks of variables in each.
const FORMS: usize = 200;

/// The rank of an image with one spatial axis.
const IMAGE: usize = 3;

/// Limit on the combinations of booleans and words of one form.
const WORDS: usize = 16;

/// True if the source has an operator along windows.
pub(in crate::proof) fn applies(rule: &Rule) -> bool {
    rule.source.operators().into_iter().any(slides)
}

/// The statements of a rule if its variables have certain axes.
struct Reading {
    /// The axes of the variables.
    variables: Vec<Axes>,
    /// The axes of the outputs of both sides, and the facts that the conditions state; `None` if no match has such
    /// variables.
    sides: Option<(Vec<Axes>, Vec<Axes>, Said)>,
    /// A variable has more axes than an image.
    beyond: bool,
}

/// A form with one spatial axis, before the ranks of variables are chosen.
struct Base {
    recipe: Recipe,
    /// The steps that variables match, with the numbers of the variables.
    bound: Vec<(usize, usize)>,
}

/// Proves a rule for all numbers of spatial axes; `None` if it is not known to treat them alike, or a proof fails.
pub(super) fn prove(at: &AtLevel<'_>, forms: &[Prepared], given: &Given, coverage: &mut Coverage) -> Option<Ranks> {
    let rule = at.scope.rule();
    if !rule.source.families.is_empty() || rule.source.operators().iter().any(|def| def.declared.is_some()) {
        return None;
    }
    let readings = readings(at.scope)?;
    let bases = bases(at.scope, forms)?;
    if bases.len() * readings.len() > FORMS {
        return None;
    }
    let mut any = false;
    for base in &bases {
        if has_no_axes(&base.recipe) {
            return None;
        }
        for reading in &readings {
            let Some(recipe) = base.at(reading) else { continue };
            if has_sized_constants(&recipe) {
                return None;
            }
            for form in by_padding(rule, &Form::of(&recipe)) {
                any |= prove_one(at, (base, reading), &form, given, coverage)?;
            }
        }
    }
    any.then_some(Ranks::All)
}

/// Proves one form; `Some(false)` if the rule applies at no sizes of it.
fn prove_one(
    at: &AtLevel<'_>,
    (base, reading): (&Base, &Reading),
    form: &Form,
    given: &Given,
    coverage: &mut Coverage,
) -> Option<bool> {
    let block = Rc::new(base.block(reading, form));
    let mut facts = form.facts(given.effort.clone(), given.tokens.clone());
    facts.rounds = given.rounds;
    facts.only_finite = !given.rounds;
    facts.block = Some(block.clone());
    let waiting = match &reading.sides {
        Some((.., said)) => base.said(at.scope.rule(), reading, form, &block, said, facts),
        None => vec![facts],
    };
    let proved = prove_from(at.trial, form, given, waiting).ok()?;
    if proved.cases == 0 {
        return Some(false);
    }
    let (source, target, _) = reading.sides.as_ref()?;
    if reading.beyond || source != target || !proved.answered {
        return None;
    }
    coverage.forms += 1;
    coverage.cases += proved.cases;
    coverage.rounded |= proved.rounded;
    coverage.trail.add(proved.trail);
    for rank in form.ranks() {
        coverage.ranks = (coverage.ranks.0.min(rank), coverage.ranks.1.max(rank));
    }
    Some(true)
}

/// The statements of the rule for all ranks that its variables may have with one spatial axis; `None` if they may be
/// different with more.
fn readings(scope: &Scope<'_>) -> Option<Vec<Reading>> {
    let rule = scope.rule();
    let (images, vectors) = places(rule);
    let fixed = |i: usize| match scope.pinned(i) {
        _ if images.contains(&i) => Some(Axes::IMAGE),
        _ if vectors.contains(&i) => Some(Axes::plain(1)),
        pinned => pinned.map(Axes::plain),
    };
    if images
        .iter()
        .any(|&i| vectors.contains(&i) || scope.pinned(i).is_some())
    {
        return None;
    }
    let loose = (0..rule.variables.len()).filter(|&i| fixed(i).is_none());
    let text = Text::of(rule, loose.map(|i| rule.variables[i].name.clone()).collect())?;
    let mut all: Vec<Vec<Axes>> = vec![Vec::new()];
    for i in 0..rule.variables.len() {
        let choices: Vec<Axes> = match fixed(i) {
            Some(axes) => vec![axes],
            None => (0..=IMAGE + 1).map(of_rank).collect(),
        };
        let longer = |own: &Vec<Axes>| {
            let own = own.clone();
            choices
                .iter()
                .map(move |axes| [own.as_slice(), &[*axes]].concat())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
        if all.len() > FORMS {
            return None;
        }
    }
    let reading = |variables: Vec<Axes>| {
        let sides = match read(&text, &variables) {
            Ok(sides) => Some(sides),
            Err(No::Never) => None,
            Err(No::Unknown) => return None,
        };
        let beyond = variables.iter().any(|axes| axes.rank() > IMAGE);
        Some(Reading {
            variables,
            sides,
            beyond,
        })
    };
    all.into_iter().map(reading).collect()
}

/// The axes of a variable that is broadcast, at a rank.
fn of_rank(rank: usize) -> Axes {
    Axes {
        first: rank.saturating_sub(1),
        spatial: rank > 0,
    }
}

fn read(text: &Text<'_>, variables: &[Axes]) -> Result<(Vec<Axes>, Vec<Axes>, Said), No> {
    let (names, source): (Names, _) = text.source(variables)?;
    let said = text.conditions(&names)?;
    Ok((source, text.target(names)?, said))
}

/// The things that the vertices of the pattern match, apart from ranks and lists.
type Signature = Vec<(PatternId, Step)>;

/// True if the rule tells apart which values are known ahead of time, other than by the classes of its variables.
fn asks_for_params(rule: &Rule) -> bool {
    let computed = rule.source.nodes().filter_map(|(_, node)| match node {
        PatternNode::Call { attrs, .. } => Some(attrs),
        _ => None,
    });
    let computed = computed.flatten().filter_map(|attr| match attr {
        AttrPattern::Computed(id) => Some(*id),
        _ => None,
    });
    let target = rule.target.lets.iter().map(|l| l.value).chain([rule.target.result]);
    let mut all = rule.conditions.iter().copied().chain(target).chain(computed);
    all.any(|id| calls(&rule.ast, id, &|f| f.name == "is_static"))
}

/// The signature of an instance. Where variables match one value, it is that of instances where they do not, which have
/// that one as a special case.
fn signature(scope: &Scope<'_>, bound: &[(PatternId, usize)], recipe: &Recipe) -> Signature {
    let plain = structure(recipe);
    let (floats_alike, params_alike) = (scope.ignores_float_types(), !asks_for_params(scope.rule()));
    let own = |&(at, step): &(PatternId, usize)| {
        let mut own = plain.steps[step].clone();
        if let Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } = &mut own
            && floats_alike
            && dtype.is_float()
        {
            *dtype = DType::F32;
        }
        match &mut own {
            Step::Leaf { name, param, .. } => {
                *name = Arc::from("");
                *param &= !params_alike;
            }
            Step::Call { operands, .. } => operands.clear(),
            _ => {}
        }
        (at, own)
    };
    let mut out: Signature = bound.iter().map(own).collect();
    out.sort_by_key(|(at, _)| *at);
    out
}

/// The forms with one spatial axis, which have all operators and words that the others have.
fn bases(scope: &Scope<'_>, forms: &[Prepared]) -> Option<Vec<Base>> {
    let mut out: Vec<(Signature, Base)> = Vec::new();
    let mut others: Vec<Signature> = Vec::new();
    for prepared in forms {
        let variable = |&(at, step): &(_, usize)| match scope.rule().source.node(at) {
            PatternNode::Variable(i) => Some((step, *i)),
            _ => None,
        };
        let bound: Vec<(usize, usize)> = prepared.bound.iter().filter_map(variable).collect();
        let mut plain = prepared.clone();
        plain.open.retain(|open| open.def.attrs[open.attr].name != "auto_pad");
        for recipe in scope.finite(&plain, WORDS)? {
            let key = signature(scope, &prepared.bound, &recipe);
            if axes_of(prepared) != Some(1) {
                others.push(key);
                continue;
            }
            let base = Base {
                recipe,
                bound: bound.clone(),
            };
            match out.iter_mut().find(|(own, _)| *own == key) {
                // With fewer steps, variables match one value.
                Some((_, known)) if known.recipe.steps.len() < base.recipe.steps.len() => *known = base,
                Some(_) => {}
                None => out.push((key, base)),
            }
        }
    }
    let is_known = |key: &Signature| out.iter().any(|(own, _)| own == key);
    let complete = others.iter().all(is_known);
    complete.then(|| out.into_iter().map(|(_, base)| base).collect())
}

/// The number of spatial axes of an instance.
fn axes_of(prepared: &Prepared) -> Option<usize> {
    prepared
        .recipe
        .steps
        .iter()
        .zip(&prepared.filled)
        .find_map(|(step, filled)| match step {
            Step::Call { def, .. } if slides(def) => match filled.get(def.attr_index("strides")?)? {
                AttrValue::Ints(list) => Some(list.len()),
                _ => None,
            },
            _ => None,
        })
}

/// A recipe without ranks, lists, and the differences between floating-point types.
pub(in crate::proof) fn structure(recipe: &Recipe) -> Recipe {
    let mut out = recipe.clone();
    count_from_front(&mut out);
    for step in &mut out.steps {
        match step {
            Step::Leaf { shape, dtype, .. } | Step::Fill { shape, dtype, .. } => {
                shape.clear();
                *dtype = kind(*dtype);
            }
            Step::Call { def, attrs, .. } => {
                for (declared, attr) in def.attrs.iter().zip(attrs) {
                    let is_list = matches!(attr, Some(AttrValue::Ints(_)));
                    if is_list || FREE.contains(&declared.name) || declared.name == "auto_pad" {
                        *attr = None;
                    }
                }
            }
            _ => {}
        }
    }
    out
}

/// Counts axes of batches and channels from the front: with more spatial axes, the same axis has another number from the
/// end.
fn count_from_front(recipe: &mut Recipe) {
    let Ok((graph, _, made)) = recipe.build_steps() else {
        return;
    };
    for step in &mut recipe.steps {
        let Step::Call { def, operands, attrs } = step else {
            continue;
        };
        let shape = operands
            .first()
            .and_then(|&u| graph.ty(made[u]).as_tensor()?.shape.as_ref());
        let Some(rank) = shape.and_then(|shape| i64::try_from(shape.len()).ok()) else {
            continue;
        };
        for (declared, attr) in def.attrs.iter().zip(attrs) {
            if let (AttrKind::Axis(AxisOf::Input), Some(AttrValue::Int(axis))) = (declared.kind, attr)
                && let Some(from_end) = axis.as_const().filter(|axis| *axis < 0)
                && from_end + rank < (IMAGE - 1) as i64
            {
                *axis = Dim::Const(from_end + rank);
            }
        }
    }
}

/// True if inference accepts images without a spatial axis.
fn has_no_axes(recipe: &Recipe) -> bool {
    let mut out = recipe.clone();
    for step in &mut out.steps {
        match step {
            Step::Leaf { shape, .. } if shape.len() == IMAGE => shape.truncate(2),
            Step::Leaf { shape, .. } if shape.len() != 1 => shape.clear(),
            Step::Call { def, attrs, .. } if slides(def) => {
                for attr in attrs {
                    if matches!(attr, Some(AttrValue::Ints(_))) {
                        *attr = Some(AttrValue::Ints(Vec::new()));
                    }
                }
            }
            _ => {}
        }
    }
    out.build().is_ok()
}

/// The form with each word for automatic padding that the pattern leaves open: if dimensions are unknown, the word
/// stays in the graph.
fn by_padding(rule: &Rule, form: &Form) -> Vec<Form> {
    let written = |node: &PatternNode| match node {
        PatternNode::Call { def, attrs, .. } if slides(def) => {
            let word = def.attr_index("auto_pad").and_then(|i| attrs.get(i));
            word.is_none_or(|word| matches!(word, AttrPattern::Value(_)))
        }
        _ => true,
    };
    let mut out = vec![form.clone()];
    if !rule.source.nodes().all(|(_, node)| written(node)) {
        for word in ["SAME_UPPER", "SAME_LOWER", "VALID"] {
            out.push(form.with_attribute("auto_pad", &AttrValue::str(word), "pads"));
        }
    }
    out
}

impl Base {
    /// The recipe where the variables have these axes; `None` if one value is matched by variables of different ranks.
    fn at(&self, reading: &Reading) -> Option<Recipe> {
        let mut out = self.recipe.clone();
        let mut ranks: Vec<Option<usize>> = vec![None; out.steps.len()];
        for &(step, i) in &self.bound {
            let rank = reading.variables[i].rank();
            if ranks[step].replace(rank).is_some_and(|other| other != rank) {
                return None;
            }
            if let Step::Leaf { shape, .. } | Step::Fill { shape, .. } = &mut out.steps[step] {
                *shape = vec![1; rank];
            }
        }
        Some(out)
    }

    /// The dimension of a variable along the spatial axis.
    fn dimension(&self, reading: &Reading, form: &Form, variable: usize) -> Option<Dim> {
        let (step, _) = self.bound.iter().find(|(_, i)| *i == variable)?;
        reading.variables[variable]
            .spatial
            .then(|| form.dimensions(*step).last().cloned())?
    }

    /// The symbols of the spatial axis.
    fn block(&self, reading: &Reading, form: &Form) -> Block {
        let own = (0..reading.variables.len()).filter_map(|i| self.dimension(reading, form, i));
        let mut symbols: Vec<Dim> = own.collect();
        for step in &form.key().steps {
            if let Step::Call { def, attrs, .. } = step
                && slides(def)
            {
                for attr in attrs.iter().flatten() {
                    if let AttrValue::Ints(list) = attr {
                        symbols.extend(list.iter().cloned());
                    }
                }
            }
        }
        let outputs = reading.sides.iter().flat_map(|(source, ..)| source);
        symbols.extend(
            outputs
                .filter(|axes| axes.spatial)
                .map(|axes| Dim::symbol(&format!("@{}", axes.first))),
        );
        Block::of(&symbols)
    }

    /// The cases of the conditions' facts about the spatial dimensions.
    fn said(
        &self,
        rule: &Rule,
        reading: &Reading,
        form: &Form,
        block: &Block,
        said: &Said,
        mut facts: Facts,
    ) -> Vec<Facts> {
        let of = |name: &Arc<str>| rule.variable(name).and_then(|i| self.dimension(reading, form, i));
        for (a, b) in &said.equal {
            if let (Some(a), Some(b)) = (of(a), of(b)) {
                facts.equate(&(a - b), &is_position);
            }
        }
        let mut out = vec![facts];
        for dimension in said.single.iter().filter_map(of) {
            let question = block.ask();
            let above = dimension - Dim::Const(1);
            let halves = |facts: Facts| {
                let (mut one, mut other) = (facts.clone(), facts);
                one.answers_of_block.push((question, true));
                one.equate(&above, &is_position);
                other.answers_of_block.push((question, false));
                other.add_not_zero(above.clone());
                [one, other]
            };
            out = out.into_iter().flat_map(halves).collect();
        }
        out
    }
}
