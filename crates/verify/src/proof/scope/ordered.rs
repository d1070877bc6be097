//! Numbers that a rule only compares, in every order.
//!
//! Conditions and attributes may compare such numbers with each other and with literals, and choose between them. So a
//! rule does the same for all numbers in the same order relative to the literals, and a proof for one choice of numbers
//! in each order is a proof for all numbers, if its formulas use no more than that order: in them, a number that is no
//! literal of the rule is a symbol for any number between two literals ([`Between`]).

use std::rc::Rc;

use super::orders::{At, ORDERS, Place, Slot, bounds, orders, values};
use super::{Open, Prepared, Scope, Source, WHOLE};
use crate::instance::recipe::{Recipe, Step};
use crate::proof::order::Between;
use tautomer_graph::composite_function;
use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind, RuleClass, UnaryOp};
use tautomer_op::{AttrKind, AttrValue, Default as Preset, OpDef};
use tautomer_rewrite::Trial;
use tautomer_rule::{Class, PatternNode};
use tautomer_tensor::DType;

/// Numbers that a rule only compares.
#[derive(Debug, Default)]
pub(in crate::proof) struct Ordered {
    /// Attributes.
    pub(in crate::proof) sources: Vec<Source>,
    /// Variables for constants.
    pub(in crate::proof) constants: Vec<usize>,
    /// The literals, ascending.
    literals: Vec<f64>,
}

impl Scope<'_> {
    /// The numbers that the rule only compares; `None` if there are none.
    pub(in crate::proof) fn ordered(&self) -> Option<Ordered> {
        let mut out = Ordered::default();
        let mut names: Vec<String> = Vec::new();
        // A number that the rule passes on is a symbol anyway, but not one between others.
        let is_bounded = |name: &str| {
            let conditions = &self.rule.conditions;
            conditions.iter().any(|&c| self.rule.ast.mentions(c, &|n| n == name))
        };
        for (_, node) in self.rule.source.nodes() {
            let PatternNode::Call { def, .. } = node else { continue };
            for (at, _) in self.rule.source.nodes() {
                for attr in 0..def.attrs.len() {
                    if let PatternNode::Call { def: own, .. } = self.rule.source.node(at)
                        && std::ptr::eq(*own, *def)
                        && matches!(def.attrs[attr].kind, AttrKind::Float)
                        && let Some((source @ Source::Name(_), _)) = self.open(at, def, attr)
                        && !out.sources.contains(&source)
                        && let Source::Name(name) = &source
                        && (!self.hands_on(&source) || is_bounded(name))
                    {
                        names.push(name.to_string());
                        out.sources.push(source);
                    }
                }
            }
        }
        for (i, variable) in self.rule.variables.iter().enumerate() {
            if variable.class == RuleClass::Const
                && self.valued[i]
                && (!self.passes_value(&variable.name) || is_bounded(&variable.name))
            {
                names.push(variable.name.to_string());
                out.constants.push(i);
            }
        }
        if names.is_empty() {
            return None;
        }
        let mentions = |id: ExprId| self.rule.ast.mentions(id, &|n| names.iter().any(|own| own == n));
        if self.has_computed(&mentions) {
            return None;
        }
        for &condition in &self.rule.conditions {
            if mentions(condition) && !self.compares(condition, &mut out.literals) {
                return None;
            }
        }
        for id in self.target() {
            if !self.places(id, &mentions, &mut out.literals) {
                return None;
            }
        }
        out.literals.retain(|v| v.is_finite());
        out.literals.sort_by(f64::total_cmp);
        out.literals.iter_mut().for_each(|v| *v += 0.0);
        out.literals.dedup();
        Some(out)
    }

    /// True if an expression does nothing with numbers but compare them and choose between them; adds its literals.
    fn compares(&self, id: ExprId, literals: &mut Vec<f64>) -> bool {
        let ast = &self.rule.ast;
        match ast.kind(id) {
            ExprKind::Int { value, suffix: None } => {
                // The matcher compares them as they are.
                literals.push(*value as f64);
                value.unsigned_abs() <= 1 << 53
            }
            ExprKind::Float { value, suffix: None } => {
                literals.push(*value);
                true
            }
            ExprKind::Unary {
                op: UnaryOp::Neg,
                operand,
            } => {
                let negated = match ast.kind(*operand) {
                    ExprKind::Int { value, suffix: None } if value.unsigned_abs() <= 1 << 53 => -(*value as f64),
                    ExprKind::Float { value, suffix: None } => -*value,
                    _ => return false,
                };
                literals.push(negated);
                true
            }
            ExprKind::Bool(_) | ExprKind::Name(_) => true,
            ExprKind::Field { base, name } => name.as_str() == "dtype" && matches!(ast.kind(*base), ExprKind::Name(_)),
            ExprKind::Binary { op, .. } => {
                use BinaryOp::{And, Concat, Eq, Ge, Gt, In, Le, Lt, Ne, Or};
                matches!(op, And | Or | Eq | Ne | Lt | Le | Gt | Ge | In | Concat)
                    && self.all_compare(&ast.operands(id), literals)
            }
            ExprKind::Unary { op: UnaryOp::Not, .. } | ExprKind::List(_) | ExprKind::Comprehension { .. } => {
                self.all_compare(&ast.operands(id), literals)
            }
            ExprKind::Index { base, index } => {
                matches!(ast.kind(*index), ExprKind::Int { .. }) && self.compares(*base, literals)
            }
            ExprKind::Call {
                callee, args, attrs, ..
            } => match callee.as_str() {
                "value" => {
                    attrs.is_none() && matches!(args.as_slice(), [arg] if matches!(ast.kind(*arg), ExprKind::Name(_)))
                }
                "all" | "any" => attrs.is_none() && self.all_compare(args, literals),
                _ => false,
            },
            _ => false,
        }
    }

    fn all_compare(&self, ids: &[ExprId], literals: &mut Vec<f64>) -> bool {
        ids.iter().all(|&id| self.compares(id, literals))
    }

    /// True if an expression of the target has such numbers only as attributes of that kind, and as operands beside
    /// tensors.
    fn places(&self, id: ExprId, mentions: &dyn Fn(ExprId) -> bool, literals: &mut Vec<f64>) -> bool {
        if !mentions(id) {
            return true;
        }
        let ast = &self.rule.ast;
        match ast.kind(id) {
            // The constant itself.
            ExprKind::Name(name) => self.rule.variable(name).is_some(),
            ExprKind::Call {
                callee, args, attrs, ..
            } => {
                if let Some(variable) = self.rule.operators.iter().find(|v| *v.name == *callee.as_str()) {
                    let is_plain = |arg: &ExprId| self.places(*arg, mentions, literals);
                    return !variable.choices.iter().any(|def| has_choices(def)) && args.iter().all(is_plain);
                }
                let def = tautomer_op::lookup(callee.as_str());
                let Some(def) = def.filter(|_| self.rule.scope.declared(callee.as_str()).is_none()) else {
                    return false;
                };
                let beside = args.iter().any(|&arg| self.is_tensor(arg));
                let entries = attrs.iter().flat_map(|a| &a.entries);
                if attrs.as_ref().is_some_and(|a| a.rest.is_some()) && has_choices(def) {
                    return false;
                }
                args.iter().all(|&arg| {
                    self.places(arg, mentions, literals) || beside && mentions(arg) && self.compares(arg, literals)
                }) && entries.into_iter().all(|entry| {
                    let declared = def.attrs.iter().find(|d| d.name == entry.name.as_str());
                    !mentions(entry.value)
                        || declared.is_some_and(|d| matches!(d.kind, AttrKind::Float))
                            && !has_choices(def)
                            && self.compares(entry.value, literals)
                })
            }
            ExprKind::Binary {
                op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div,
                lhs,
                rhs,
            } => [(*lhs, *rhs), (*rhs, *lhs)].into_iter().all(|(part, other)| {
                self.places(part, mentions, literals) || self.is_tensor(other) && self.compares(part, literals)
            }),
            ExprKind::Unary { operand, .. } => self.places(*operand, mentions, literals),
            _ => false,
        }
    }

    /// True if the number of that name may be NaN in a match, which the class does not leave out: every condition that
    /// compares it as it is fails.
    fn may_be_nan(&self, name: &str) -> bool {
        let ast = &self.rule.ast;
        let is_own =
            |id: ExprId| matches!(ast.kind(id), ExprKind::Name(own) if **own == *name) || self.is_value_of(id, name);
        let mut waiting = self.rule.conditions.clone();
        while let Some(id) = waiting.pop() {
            if let ExprKind::Binary { op, lhs, rhs } = ast.kind(id) {
                use BinaryOp::{And, Eq, Ge, Gt, Le, Lt};
                match op {
                    And => waiting.extend([*lhs, *rhs]),
                    Eq | Ge | Gt | Le | Lt if is_own(*lhs) || is_own(*rhs) => return false,
                    _ => {}
                }
            }
        }
        self.rule.class == Class::Bitwise
    }

    /// The numbers of an instance.
    fn ordered_places(&self, ordered: &Ordered, prepared: &Prepared) -> Option<Vec<Place>> {
        let (graph, _, made) = prepared.recipe.build_steps().ok()?;
        let operand = |step: usize| {
            let v = *made.get(step)?;
            Some(graph.ty(*graph.pred(v).first()?).as_tensor()?.dtype)
        };
        let mut out = Vec::new();
        for source in &ordered.sources {
            let own: Vec<&Open> = prepared.open.iter().filter(|open| open.source == *source).collect();
            let Some(first) = own.first() else { continue };
            if own.iter().any(|open| {
                self.is_of_each_member(&prepared.bound, open)
                    || has_choices(open.def)
                    || !matches!(open.def.attrs[open.attr].kind, AttrKind::Float)
                    || open.def.attrs[open.attr].default != first.def.attrs[first.attr].default
            }) {
                return None;
            }
            let dtype = operand(first.step)?;
            if own.iter().any(|open| operand(open.step) != Some(dtype)) {
                return None;
            }
            // An omitted attribute with a default has that number.
            let optional = first.def.attrs[first.attr].default == Preset::None;
            let name = match source {
                Source::Name(name) => name,
                Source::Rest(..) | Source::Place(..) => return None,
            };
            out.push(Place {
                at: At::Attributes(own.iter().map(|open| (open.step, open.attr)).collect(), optional),
                dtype,
                may_be_nan: self.may_be_nan(name),
            });
        }
        for &i in &ordered.constants {
            let is_own = |at| matches!(self.rule.source.node(at), PatternNode::Variable(own) if *own == i);
            let mut steps: Vec<usize> = prepared.bound.iter().filter(|b| is_own(b.0)).map(|b| b.1).collect();
            steps.sort_unstable();
            steps.dedup();
            if steps.is_empty() {
                continue;
            }
            // Nothing else in the pattern may look at the same constant.
            if prepared.bound.iter().any(|&(at, s)| steps.contains(&s) && !is_own(at)) {
                return None;
            }
            let types = steps.iter().map(|&step| match &prepared.recipe.steps[step] {
                Step::Fill { dtype, .. } => Some(*dtype),
                _ => None,
            });
            let types: Vec<DType> = types.collect::<Option<_>>()?;
            let first = *types.first()?;
            if types.iter().any(|dtype| *dtype != first) {
                return None;
            }
            out.push(Place {
                at: At::Constants(steps),
                dtype: first,
                may_be_nan: first.is_float() && self.may_be_nan(&self.rule.variables[i].name),
            });
        }
        Some(out)
    }

    /// The instance without the numbers that the rule only compares: instances that differ in them alone are one.
    pub(in crate::proof) fn without_numbers(&self, ordered: &Ordered, prepared: &Prepared) -> Option<Recipe> {
        let mut out = prepared.recipe.clone();
        for place in self.ordered_places(ordered, prepared)? {
            match place.at {
                At::Attributes(all, _) => {
                    for (step, attr) in all {
                        put(&mut out, step, attr, None);
                    }
                }
                At::Constants(steps) => {
                    for step in steps {
                        set(&mut out, step, 0.0);
                    }
                }
            }
        }
        Some(out)
    }

    /// The instance with its numbers in every order; `None` if not all orders can be made.
    pub(in crate::proof) fn in_every_order(
        &self,
        ordered: &Ordered,
        prepared: &Prepared,
        trial: &Trial,
        second: bool,
    ) -> Option<Vec<Prepared>> {
        let places = self.ordered_places(ordered, prepared)?;
        let mut out = Vec::new();
        for slots in orders(&places, &ordered.literals)? {
            let is_token = |v: f64| self.tokens.iter().any(|t| *t == v || t * WHOLE == v);
            let Some(values) = values((&places, &slots), &ordered.literals, second, &is_token)? else {
                continue;
            };
            let mut one = prepared.clone();
            let mut chosen: Vec<(f64, Between)> = Vec::new();
            for ((place, slot), value) in places.iter().zip(&slots).zip(values) {
                if let (Slot::Inside(cell, _), Some(value)) = (slot, value) {
                    let (low, high) = bounds(&ordered.literals, *cell);
                    chosen.push((value, Between::of(low, high, value)));
                }
                match &place.at {
                    At::Attributes(all, _) => {
                        for &(step, attr) in all {
                            put(&mut one.recipe, step, attr, value);
                        }
                    }
                    At::Constants(steps) => {
                        for &step in steps {
                            set(&mut one.recipe, step, value?);
                        }
                    }
                }
            }
            // In another order, the variables may match other operands.
            match self.bound(&one.recipe, trial) {
                Some(bound) => one.bound = bound,
                None => one.unmatched = true,
            }
            one.ordered = Some(Rc::from(chosen));
            out.push(one);
            if out.len() > ORDERS {
                return None;
            }
        }
        Some(out)
    }
}

/// True if the body of an operator, or of one that it calls, chooses by conditions, which may look at numbers.
fn has_choices(def: &'static OpDef) -> bool {
    let mut bodies = vec![def];
    let mut at = 0;
    while at < bodies.len() {
        let def = bodies[at];
        at += 1;
        if def.composite_body().is_none() {
            continue;
        }
        let Ok((program, function)) = composite_function(def) else {
            return true;
        };
        let ast = &program.ast;
        let mut waiting: Vec<ExprId> = function.body.lets.iter().map(|l| l.value).collect();
        waiting.push(function.body.result);
        while let Some(id) = waiting.pop() {
            match ast.kind(id) {
                ExprKind::When { .. } | ExprKind::If { .. } => return true,
                ExprKind::Call { callee, .. } => {
                    if let Some(called) = tautomer_op::lookup(callee.as_str())
                        && !bodies.iter().any(|own| std::ptr::eq(*own, called))
                    {
                        bodies.push(called);
                    }
                }
                _ => {}
            }
            waiting.extend(ast.operands(id));
        }
    }
    false
}

fn put(recipe: &mut Recipe, step: usize, attr: usize, value: Option<f64>) {
    if let Step::Call { attrs, .. } = &mut recipe.steps[step] {
        attrs[attr] = value.map(AttrValue::float);
    }
}

fn set(recipe: &mut Recipe, step: usize, number: f64) {
    if let Step::Fill { value, .. } = &mut recipe.steps[step] {
        *value = number;
    }
}
