//! Everything that may vary in a rule, according to its pattern, and how far an instance is generalized.
//!
//! A form comes from an instance, which is first generalized as far as the rule allows: constants whose value does not
//! matter become operands, omitted attributes are written out so that they get symbols, and numbers that the rule only
//! passes through become tokens, which represent any number. Anything that is still a value in all forms was only
//! sampled, and the [ledger] says so.

mod ledger;
mod numbers;
mod ordered;
mod orders;
mod shared;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashSet;

pub(super) use self::ledger::Found;
pub(super) use self::ordered::Ordered;
pub(super) use self::shared::symbol_name;
use super::form::{FREE, Form};
use super::order::Between;
use crate::instance::recipe::{Recipe, Step};
use tautomer_graph::term::{Reads, TermFunction, term_function};
use tautomer_graph::{Node, VertexId};
use tautomer_lang::ast::{Ast, BinaryOp, Dims, ExprId, ExprKind, RuleClass, TypeKind};
use tautomer_op::{AttrKind, AttrValue, AxesRule, Default as Preset, OpDef, ShapeRule};
use tautomer_rewrite::Trial;
use tautomer_rule::{AttrPattern, ListItem, PatternId, PatternNode, Rule};
use tautomer_tensor::DType;

/// The factor between tokens for reals and tokens for integers.
const WHOLE: f64 = 128.0;

/// How far an instance is generalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// As far as the rule allows.
    All,
    /// Everything but the numbers of attributes.
    Sizes,
    /// Only the sizes that are written in the instance.
    Written,
}

/// An attribute that may vary, by its name in the rule or by its position.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// Bound to a name.
    Name(Arc<str>),
    /// Part of a rest of attributes (`..rest`).
    Rest(Arc<str>, &'static str),
    /// At a position in the pattern.
    Place(u32, &'static str),
}

/// An attribute that the pattern leaves open, in one instance.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) source: Source,
    pub(super) step: usize,
    pub(super) attr: usize,
    pub(super) def: &'static OpDef,
    /// True if the pattern fixes the number of elements.
    pub(super) fixed_length: bool,
}

/// A generalized instance.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) recipe: Recipe,
    pub(super) open: Vec<Open>,
    /// The steps that the vertices of the pattern match.
    pub(super) bound: Vec<(PatternId, usize)>,
    /// Attributes with defaults filled in, by step.
    pub(super) filled: Vec<Vec<AttrValue>>,
    /// If its numbers are in one order of several: those that represent all numbers between two literals.
    pub(super) ordered: Option<Rc<[(f64, Between)]>>,
    /// The rule does not match it with these numbers at the sizes of the instance; `bound` is what it would match.
    pub(super) unmatched: bool,
    /// Numbers that the rule only passes through are tokens.
    pub(super) has_tokens: bool,
}

impl Prepared {
    /// The form of the instance.
    pub(super) fn form(&self) -> Form {
        let form = Form::of(&self.recipe);
        match &self.ordered {
            Some(numbers) => form.with_ordered(numbers.clone()),
            None => form,
        }
    }
}

/// The facts that the text of a rule states about its variables.
pub(super) struct Scope<'a> {
    rule: &'a Rule,
    /// The rule with `param` instead of `const` where the value does not matter.
    pub(super) relaxed: Arc<Rule>,
    /// For each variable, whether it is a constant whose value matters.
    valued: Vec<bool>,
    /// Tokens for the numbers of attributes; none of them occurs in the rule.
    tokens: Vec<f64>,
}

impl<'a> Scope<'a> {
    pub(super) fn of(rule: &'a Rule) -> Scope<'a> {
        let valued: Vec<bool> = rule
            .variables
            .iter()
            .map(|v| v.class == RuleClass::Const && counts_by_value(rule, &v.name))
            .collect();
        let mut relaxed = rule.clone();
        for (variable, valued) in relaxed.variables.iter_mut().zip(&valued) {
            if variable.class == RuleClass::Const && !valued {
                variable.class = RuleClass::Param;
            }
        }
        let mut own: FxHashSet<u64> = FxHashSet::default();
        for (_, expr) in rule.ast.iter() {
            match expr.kind {
                ExprKind::Float { value, .. } => own.insert(value.abs().to_bits()),
                ExprKind::Int { value, .. } => own.insert((value.unsigned_abs() as f64).to_bits()),
                _ => continue,
            };
        }
        // Few digits, so that every element type represents them, and values that no rule is likely to contain.
        let tokens = (0..63).map(|i| f64::from(65 + i) / 128.0);
        let tokens = tokens.filter(|t| {
            let whole = t * WHOLE;
            !own.contains(&t.to_bits()) && !own.contains(&whole.to_bits()) && whole as i64 % 2 == 1
        });
        Scope {
            rule,
            relaxed: Arc::new(relaxed),
            valued,
            tokens: tokens.collect(),
        }
    }

    pub(super) fn rule(&self) -> &'a Rule {
        self.rule
    }

    fn numbers(&self, second: bool) -> &[f64] {
        let (a, b) = self.tokens.split_at(self.tokens.len() / 2);
        if second { b } else { a }
    }

    /// One of the two sets of tokens: those for reals, then those for integers.
    pub(super) fn tokens(&self, second: bool) -> Vec<f64> {
        let numbers = self.numbers(second);
        numbers
            .iter()
            .copied()
            .chain(numbers.iter().map(|t| t * WHOLE))
            .collect()
    }

    /// The generalized instance; `None` if the rule does not match it.
    pub(super) fn prepared(&self, recipe: &Recipe, trial: &Trial, level: Level, second: bool) -> Option<Prepared> {
        let (graph, roots, made) = recipe.build_steps().ok()?;
        let step_of = |v: VertexId| made.iter().position(|u| *u == v);
        let filled = made
            .iter()
            .map(|&v| match &graph.vertex(v).node {
                Node::Call { attrs, .. } => attrs.to_vec(),
                _ => Vec::new(),
            })
            .collect();
        let sides = trial.sides(graph, Some(&roots))?;
        let bound: Vec<(PatternId, usize)> = sides
            .bound
            .iter()
            .filter_map(|&(at, v)| Some((at, step_of(v)?)))
            .collect();
        let mut out = Prepared {
            recipe: recipe.clone(),
            open: Vec::new(),
            filled,
            bound,
            ordered: None,
            unmatched: false,
            has_tokens: level == Level::All,
        };
        for &(at, step) in &out.bound {
            let Step::Call { def, .. } = &recipe.steps[step] else {
                continue;
            };
            for attr in 0..def.attrs.len() {
                if let Some((source, fixed_length)) = self.open(at, def, attr) {
                    out.open.push(Open {
                        source,
                        step,
                        attr,
                        def,
                        fixed_length,
                    });
                }
            }
        }
        if level == Level::Written {
            return Some(out);
        }
        self.make_operands(&mut out);
        for open in &out.open {
            let filled = &out.filled[open.step];
            let declared = &open.def.attrs[open.attr];
            let Step::Call { attrs, .. } = &mut out.recipe.steps[open.step] else {
                continue;
            };
            let automatic = open.def.attr_index("auto_pad").is_some_and(|k| {
                filled
                    .get(k)
                    .and_then(AttrValue::as_str)
                    .is_some_and(|word| word != "NOTSET")
            });
            if attrs[open.attr].is_none() && FREE.contains(&declared.name) && !automatic {
                attrs[open.attr] = filled.get(open.attr).filter(|value| !value.is_none()).cloned();
            }
        }
        if level == Level::All {
            self.make_tokens(&mut out, second);
        }
        self.share_symbols(&mut out);
        Some(out)
    }

    /// The steps that the vertices of the pattern match; `None` if the rule does not match.
    pub(super) fn bound(&self, recipe: &Recipe, trial: &Trial) -> Option<Vec<(PatternId, usize)>> {
        let (graph, roots, made) = recipe.build_steps().ok()?;
        let sides = trial.sides(graph, Some(&roots))?;
        let steps = sides.bound.iter().filter_map(|&(at, v)| {
            let step = made.iter().position(|u| *u == v)?;
            Some((at, step))
        });
        Some(steps.collect())
    }

    /// Turns constants that are bound to variables whose value does not matter into operands.
    fn make_operands(&self, out: &mut Prepared) {
        let pattern = &self.rule.source;
        let keeps = |step: usize| {
            out.bound.iter().any(|&(at, s)| {
                s == step
                    && match pattern.node(at) {
                        PatternNode::Variable(i) => self.valued[*i],
                        _ => true,
                    }
            })
        };
        let mut changed = Vec::new();
        for &(at, step) in &out.bound {
            let PatternNode::Variable(i) = pattern.node(at) else {
                continue;
            };
            let variable = &self.relaxed.variables[*i];
            if keeps(step) {
                continue;
            }
            let (dtype, shape) = match &out.recipe.steps[step] {
                Step::Fill { dtype, shape, .. } => (*dtype, shape.clone()),
                Step::Const(tensor) => (tensor.dtype(), tensor.shape().iter().map(|&n| n as i64).collect()),
                _ => continue,
            };
            changed.push((
                step,
                Step::Leaf {
                    name: variable.name.clone(),
                    param: variable.class != RuleClass::Any,
                    dtype,
                    shape,
                },
            ));
        }
        for (step, leaf) in changed {
            out.recipe.steps[step] = leaf;
        }
    }

    /// The source of an attribute that the pattern leaves open, if it does, and whether it fixes the number of
    /// elements.
    fn open(&self, at: PatternId, def: &'static OpDef, attr: usize) -> Option<(Source, bool)> {
        let name = def.attrs[attr].name;
        let place = || Source::Place(at.0, name);
        match self.rule.source.node(at) {
            PatternNode::Call { attrs, .. } => match attrs.get(attr)? {
                AttrPattern::Any => Some((place(), false)),
                AttrPattern::Bind(own) | AttrPattern::BindEach(own) => Some((Source::Name(own.clone()), false)),
                AttrPattern::Rest(own) => Some((Source::Rest(own.clone(), name), false)),
                AttrPattern::List(items) if items.iter().any(|i| !matches!(i, ListItem::Int(_))) => {
                    Some((place(), true))
                }
                AttrPattern::List(_) | AttrPattern::Value(_) | AttrPattern::Default | AttrPattern::Computed(_) => None,
            },
            PatternNode::CallOf { rest: Some(own), .. } => Some((Source::Rest(own.clone(), name), false)),
            _ => None,
        }
    }

    /// True if an attribute of the source is an expression that satisfies `test`.
    fn has_computed(&self, test: &dyn Fn(ExprId) -> bool) -> bool {
        self.rule.source.nodes().any(|(_, node)| match node {
            PatternNode::Call { attrs, .. } => attrs
                .iter()
                .any(|a| matches!(a, AttrPattern::Computed(id) if test(*id))),
            _ => false,
        })
    }

    /// True for the sizes of the parts of a `split` if the pattern or a condition says how many there are.
    pub(super) fn has_fixed_parts(&self, open: &Open) -> bool {
        fixes_parts(self.rule, (open.def, open.def.attrs[open.attr].name), &open.source)
    }

    /// True for the number of parts of a `split` beside sizes of which there is a fixed number: it is that number.
    fn counts_fixed_parts(&self, open: &Open, all: &[Open]) -> bool {
        let is_own = |other: &&Open| other.step == open.step && other.def.attrs[other.attr].name == "sizes";
        open.def.shapes == ShapeRule::Split
            && open.def.attrs[open.attr].name == "num_outputs"
            && !matches!(open.source, Source::Name(_))
            && all.iter().find(is_own).is_some_and(|sizes| self.has_fixed_parts(sizes))
    }

    fn target(&self) -> Vec<ExprId> {
        let target = &self.rule.target;
        target.lets.iter().map(|l| l.value).chain([target.result]).collect()
    }

    /// True if a condition equates an expression that `is_it` accepts with a literal.
    fn is_fixed(&self, is_it: &dyn Fn(ExprId) -> bool) -> bool {
        let ast = &self.rule.ast;
        let literal = |id: ExprId| match ast.kind(id) {
            ExprKind::Int { .. } | ExprKind::Float { .. } | ExprKind::Bool(_) | ExprKind::Str(_) => true,
            ExprKind::Unary { operand, .. } => {
                matches!(ast.kind(*operand), ExprKind::Int { .. } | ExprKind::Float { .. })
            }
            ExprKind::List(items) => items.iter().all(|&item| matches!(ast.kind(item), ExprKind::Int { .. })),
            _ => false,
        };
        self.rule.conditions.iter().any(|&condition| match ast.kind(condition) {
            ExprKind::Binary {
                op: BinaryOp::Eq,
                lhs,
                rhs,
            } => is_it(*lhs) && literal(*rhs) || is_it(*rhs) && literal(*lhs),
            _ => false,
        })
    }

    /// True if conditions leave minus infinity alone for a constant.
    pub(super) fn has_minus_infinity(&self) -> bool {
        let mut variables = self.rule.variables.iter();
        variables.any(|variable| self.is_minus_infinity(&variable.name))
    }

    /// True if conditions say that a constant is negative and half of itself.
    fn is_minus_infinity(&self, name: &str) -> bool {
        let ast = &self.rule.ast;
        let own = |id: ExprId| self.is_value_of(id, name);
        let half = |id: ExprId| {
            matches!(ast.kind(id), ExprKind::Binary { op: BinaryOp::Mul, lhs, rhs }
                if own(*lhs) && matches!(ast.kind(*rhs), ExprKind::Float { value, .. } if *value == 0.5))
        };
        let is = |test: &dyn Fn(BinaryOp, ExprId, ExprId) -> bool| {
            let mut conditions = self.rule.conditions.iter();
            conditions.any(|&id| matches!(ast.kind(id), ExprKind::Binary { op, lhs, rhs } if test(*op, *lhs, *rhs)))
        };
        let zero = |id: ExprId| matches!(ast.kind(id), ExprKind::Int { value: 0, .. });
        is(&|op, lhs, rhs| op == BinaryOp::Lt && own(lhs) && zero(rhs))
            && is(&|op, lhs, rhs| op == BinaryOp::Eq && half(lhs) && own(rhs))
    }

    /// True for `value(name)`.
    fn is_value_of(&self, id: ExprId, name: &str) -> bool {
        let ast = &self.rule.ast;
        matches!(ast.kind(id), ExprKind::Call { callee, args, .. }
            if callee.as_str() == "value"
                && matches!(args.as_slice(), [arg] if matches!(ast.kind(*arg), ExprKind::Name(own) if &**own == name)))
    }

    /// The rank that the rule fixes for a variable.
    pub(super) fn pinned(&self, i: usize) -> Option<usize> {
        let variable = &self.rule.variables[i];
        if let Some(TypeKind::Tensor { dims, .. }) = variable.ty.as_ref().map(|ty| &ty.kind) {
            match dims {
                Dims::Scalar => return Some(0),
                Dims::List(list) => return Some(list.len()),
                Dims::AnyRank => {}
            }
        }
        let ast = &self.rule.ast;
        let own = |id: ExprId| is_field(ast, id, &variable.name, "rank");
        for &condition in &self.rule.conditions {
            if let ExprKind::Binary {
                op: BinaryOp::Eq,
                lhs,
                rhs,
            } = ast.kind(condition)
                && own(*lhs)
                && let ExprKind::Int { value, .. } = ast.kind(*rhs)
            {
                return usize::try_from(*value).ok();
            }
        }
        // Operands whose rank an operator fixes that is part of every match.
        let pattern = &self.rule.source;
        pattern.required().into_iter().find_map(|at| match pattern.node(at) {
            PatternNode::Call {
                def, operands, attrs, ..
            } => {
                let places = operands.iter().enumerate();
                let mut own = places
                    .filter(|(_, item)| matches!(pattern.node(item.vertex()), PatternNode::Variable(own) if *own == i));
                own.find_map(|(place, _)| operand_rank(def, attrs, place))
            }
            _ => None,
        })
    }

    /// True if a condition says that a variable has one element, whatever its rank.
    fn is_single(&self, i: usize) -> bool {
        let ast = &self.rule.ast;
        let name = &self.rule.variables[i].name;
        self.rule.conditions.iter().any(|&condition| {
            matches!(ast.kind(condition), ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs }
                if is_field(ast, *lhs, name, "size") && matches!(ast.kind(*rhs), ExprKind::Int { value: 1, .. }))
        })
    }

    /// True if nothing in the rule distinguishes ranks above two.
    pub(super) fn ignores_ranks(&self) -> bool {
        let ast = &self.rule.ast;
        let sizes = |id: ExprId| {
            ast.mentions(id, &|n| matches!(n, "rank" | "shape" | "size"))
                || calls(ast, id, &|f| f.reads == Reads::Ranks)
        };
        if self.target().into_iter().any(sizes) || self.has_computed(&sizes) {
            return false;
        }
        let typed = |ty: &TypeKind| {
            matches!(
                ty,
                TypeKind::Tensor {
                    dims: Dims::List(_),
                    ..
                }
            )
        };
        self.rule
            .conditions
            .iter()
            .all(|&c| !sizes(c) || self.is_for_each_axis(c))
            && !self
                .rule
                .variables
                .iter()
                .any(|v| v.ty.as_ref().is_some_and(|ty| typed(&ty.kind)))
    }

    /// True if a condition is about each axis alone, or about ranks up to two.
    fn is_for_each_axis(&self, id: ExprId) -> bool {
        let ast = &self.rule.ast;
        let is_name = |id: &ExprId| matches!(ast.kind(*id), ExprKind::Name(_));
        let (op, lhs, rhs) = match ast.kind(id) {
            // Each side of an `or` is a condition of its own.
            ExprKind::Binary {
                op: BinaryOp::And | BinaryOp::Or,
                lhs,
                rhs,
            } => return self.is_for_each_axis(*lhs) && self.is_for_each_axis(*rhs),
            ExprKind::Binary { op, lhs, rhs } => (op, lhs, rhs),
            // Whether operands broadcast is decided for each axis alone.
            ExprKind::Call { callee, args, .. } => {
                return callee.as_str() == "broadcasts" && args.iter().all(is_name);
            }
            _ => return false,
        };
        let field = |id: ExprId, name: &str| {
            matches!(ast.kind(id), ExprKind::Field { base, name: own }
                if &*own.name == name && matches!(ast.kind(*base), ExprKind::Name(_)))
        };
        let small = |id: ExprId| matches!(ast.kind(id), ExprKind::Int { value: 0..=2, .. });
        let order = matches!(
            op,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
        );
        field(*lhs, "shape") && field(*rhs, "shape") && *op == BinaryOp::Eq
            || field(*lhs, "rank") && small(*rhs) && order
            || field(*lhs, "size") && *op == BinaryOp::Eq && matches!(ast.kind(*rhs), ExprKind::Int { value: 1, .. })
    }

    /// The form with two axes for every operand whose rank is open: a proof of it holds for more axes.
    pub(super) fn with_two_axes(&self, prepared: &Prepared) -> Recipe {
        let mut out = prepared.recipe.clone();
        for &(at, step) in &prepared.bound {
            if let PatternNode::Variable(i) = self.rule.source.node(at)
                && self.pinned(*i).is_none()
                && !self.is_single(*i)
                && let Step::Leaf { shape, .. } = &mut out.steps[step]
            {
                *shape = vec![2, 2];
            }
        }
        // A shape to broadcast with has an entry for each axis as well.
        for open in &prepared.open {
            if is_broadcast_shape(open)
                && let Step::Call { attrs, .. } = &mut out.steps[open.step]
            {
                attrs[open.attr] = Some(AttrValue::ints(&[2, 2]));
            }
        }
        out
    }

    /// The same form with all combinations of booleans and words, and of numbers that are left out or symbols; `None`
    /// if there are too many.
    pub(super) fn finite(&self, prepared: &Prepared, most: usize) -> Option<Vec<Recipe>> {
        let mut sources: BTreeMap<&Source, Vec<AttrValue>> = BTreeMap::new();
        let mut tokens = self.tokens_of(prepared, false);
        tokens.retain(|_| prepared.has_tokens);
        for (at, open) in prepared.open.iter().enumerate() {
            let token = tokens
                .iter()
                .find(|(own, _)| *own == at)
                .filter(|_| is_optional_number(open));
            let values = match token {
                Some((_, token)) => Some(vec![AttrValue::None, AttrValue::float(*token)]),
                None => domain(open.def.attrs[open.attr].kind).or_else(|| accepted_types(&prepared.recipe, open)),
            };
            let Some(values) = values else {
                continue;
            };
            sources.insert(&open.source, values);
        }
        let count = sources
            .values()
            .try_fold(1usize, |n, values| n.checked_mul(values.len()))?;
        if count > most {
            return None;
        }
        let mut out = vec![prepared.recipe.clone()];
        for (source, values) in sources {
            let mut next = Vec::with_capacity(out.len() * values.len());
            for recipe in &out {
                for value in &values {
                    let mut recipe = recipe.clone();
                    for open in prepared.open.iter().filter(|o| o.source == *source) {
                        if let Step::Call { attrs, .. } = &mut recipe.steps[open.step] {
                            attrs[open.attr] = Some(value.clone()).filter(|value| !value.is_none());
                        }
                    }
                    next.push(recipe);
                }
            }
            out = next;
        }
        Some(out)
    }
}

/// True for the sizes of the parts of a `split` if a condition says how many sizes there are, or if the source writes
/// the number of parts beside them. Then they may be left out, so they must not be passed on.
pub(super) fn fixes_parts(rule: &Rule, (def, attr): (&OpDef, &str), source: &Source) -> bool {
    if def.shapes != ShapeRule::Split || attr != "sizes" {
        return false;
    }
    let ast = &rule.ast;
    let is_length = |id: ExprId, name: &str| {
        matches!(ast.kind(id), ExprKind::Call { callee, args, .. } if callee.as_str() == "len"
            && matches!(args.as_slice(), [arg] if matches!(ast.kind(*arg), ExprKind::Name(own) if **own == *name)))
    };
    let counted = |name: &str| {
        rule.conditions.iter().any(|&condition| {
            matches!(ast.kind(condition), ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs }
                if is_length(*lhs, name) && matches!(ast.kind(*rhs), ExprKind::Int { .. }))
        })
    };
    if let Source::Name(name) = source
        && counted(name)
    {
        return true;
    }
    let is_passed_on = |rest: &str| {
        let target = rule.target.lets.iter().map(|l| l.value).chain([rule.target.result]);
        let mut waiting: Vec<ExprId> = target.collect();
        while let Some(id) = waiting.pop() {
            if let ExprKind::Call { attrs: Some(attrs), .. } = ast.kind(id)
                && attrs.rest.as_ref().is_some_and(|own| own.as_str() == rest)
            {
                return true;
            }
            waiting.extend(ast.operands(id));
        }
        false
    };
    let is_left_alone = match source {
        Source::Name(_) => false,
        Source::Rest(name, _) => !is_passed_on(name),
        Source::Place(..) => true,
    };
    if !is_left_alone {
        return false;
    }
    let calls = rule.source.nodes().filter_map(|(at, node)| match node {
        PatternNode::Call { def, attrs, .. } if def.shapes == ShapeRule::Split => Some((at, def, attrs)),
        _ => None,
    });
    let mut own = calls.filter(|(at, def, attrs)| {
        let sizes = def.attr_index("sizes").and_then(|i| attrs.get(i));
        match (sizes, source) {
            (Some(AttrPattern::Rest(own)), Source::Rest(name, attr)) => own == name && *attr == "sizes",
            (Some(AttrPattern::Any), Source::Place(place, attr)) => *place == at.0 && *attr == "sizes",
            _ => false,
        }
    });
    own.any(|(_, def, attrs)| {
        let number = def.attr_index("num_outputs").and_then(|i| attrs.get(i));
        matches!(number, Some(AttrPattern::Value(AttrValue::Int(_))))
    })
}

/// The rank that an operator requires of an operand in all calls that a pattern matches.
fn operand_rank(def: &OpDef, attrs: &[AttrPattern], place: usize) -> Option<usize> {
    // An order of all axes has one entry for each.
    if def.axes_rule() == AxesRule::Permuted && place == 0 {
        return match &attrs[def.attr_index("perm")?] {
            AttrPattern::Value(AttrValue::Ints(list)) => Some(list.len()),
            AttrPattern::List(items) => Some(items.len()),
            _ => None,
        };
    }
    def.operand(place)?.rank
}

/// True for a function that depends on the operand itself, not on numbers computed from it.
fn looks_at_operands(function: &TermFunction) -> bool {
    matches!(function.reads, Reads::Elements | Reads::Presence)
}

/// True if the rule depends on the elements of a constant.
fn counts_by_value(rule: &Rule, name: &str) -> bool {
    let is_name = |id: ExprId| matches!(rule.ast.kind(id), ExprKind::Name(own) if &**own == name);
    rule.ast.iter().any(|(_, expr)| {
        expr.span.start >= rule.span.start
            && expr.span.end <= rule.span.end
            && match &expr.kind {
                ExprKind::Call { callee, args, .. } => {
                    term_function(callee.as_str()).is_some_and(looks_at_operands)
                        && args.iter().any(|&a| rule.ast.mentions(a, &|n| n == name))
                }
                // An element of a constant list.
                ExprKind::Index { base, .. } | ExprKind::Slice { base, .. } => is_name(*base),
                ExprKind::Comprehension { iter, .. } => is_name(*iter),
                _ => false,
            }
    })
}

/// True for `name.field`.
pub(super) fn is_field(ast: &Ast, id: ExprId, name: &str, field: &str) -> bool {
    matches!(ast.kind(id), ExprKind::Field { base, name: own }
        if &*own.name == field && matches!(ast.kind(*base), ExprKind::Name(n) if &**n == name))
}

/// True if a function of this kind is called below `id`.
pub(super) fn calls(ast: &Ast, id: ExprId, is_of_kind: &dyn Fn(&TermFunction) -> bool) -> bool {
    let mut waiting = vec![id];
    while let Some(id) = waiting.pop() {
        if let ExprKind::Call { callee, .. } = ast.kind(id)
            && term_function(callee.as_str()).is_some_and(is_of_kind)
        {
            return true;
        }
        waiting.extend(ast.operands(id));
    }
    false
}

/// True for a list that is open in length, and is the shape that an operand is broadcast with.
///
/// Each entry is the dimension of an axis, counted from the last one. That 0 and -1 mean something else in a list for
/// `reshape` does not concern it: its symbols stand for all dimensions, and -1 is none.
fn is_broadcast_shape(open: &Open) -> bool {
    open.def.shapes == ShapeRule::Expand && open.def.attrs[open.attr].name == "shape" && !open.fixed_length
}

/// Limit on the element types of an attribute that are tried one by one.
const TYPES: usize = 4;

/// The element types that inference accepts as the value of an attribute, if they are few: of an operator that computes
/// in one of the floating-point types. What it accepts does not depend on dimensions and ranks.
///
/// Where it accepts one alone, that is the element type of an operand, and the attribute may have others beside other
/// operands.
fn accepted_types(recipe: &Recipe, open: &Open) -> Option<Vec<AttrValue>> {
    if !matches!(open.def.attrs[open.attr].kind, AttrKind::DType) || recipe.build().is_err() {
        return None;
    }
    let mut out = Vec::new();
    if open.def.attrs[open.attr].default == Preset::None {
        out.push(AttrValue::None);
    }
    for dtype in DType::ALL {
        let mut other = recipe.clone();
        if let Step::Call { attrs, .. } = &mut other.steps[open.step] {
            attrs[open.attr] = Some(AttrValue::DType(dtype));
        }
        if other.build().is_ok() {
            out.push(AttrValue::DType(dtype));
        }
        if out.len() > TYPES {
            return None;
        }
    }
    let types = out.iter().filter(|value| !value.is_none()).count();
    (types > 1).then_some(out)
}

/// All values of an attribute, if its kind has a fixed and finite set of them.
fn domain(kind: AttrKind) -> Option<Vec<AttrValue>> {
    match kind {
        AttrKind::Bool => Some([false, true].map(AttrValue::Bool).to_vec()),
        AttrKind::OneOf(all) => Some(all.iter().map(|s| AttrValue::str(s)).collect()),
        _ => None,
    }
}

/// True for a number that may be left out, with no number in its place.
fn is_optional_number(open: &Open) -> bool {
    open.def.attrs[open.attr].is_optional_number()
}

/// The element types of leaves and constants.
fn dtypes(recipe: &Recipe) -> Vec<DType> {
    let of = |step: &Step| match step {
        Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } => Some(*dtype),
        _ => None,
    };
    recipe.steps.iter().filter_map(of).collect()
}
