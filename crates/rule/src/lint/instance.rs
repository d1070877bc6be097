//! Decides whether one term is a special case of another.

use super::sides::type_term;
use super::terms::{Head, Meaning, TermId, Terms};
use crate::Rule;
use tautomer_lang::ast::RuleClass;

/// The maximum number of steps of a comparison; terms that take longer count as different.
const MAX_STEPS: usize = 2000;

/// The maximum number of alternatives that may be tried in sequence.
const MAX_ALTERNATIVES: usize = 50;

/// Compares terms of `general`, whose names may represent anything they match, with terms of `special`.
pub(super) struct Instance<'a> {
    pub(super) terms: &'a mut Terms,
    pub(super) general: &'a Rule,
    pub(super) special: &'a Rule,
}

impl Instance<'_> {
    /// The meaning of the names in the general terms, if `special` is a case of them.
    pub(super) fn of(&mut self, general: &[TermId], special: &[TermId]) -> Option<Meaning> {
        if general.len() != special.len() {
            return None;
        }
        let mut goals: Vec<(TermId, TermId)> = general.iter().copied().zip(special.iter().copied()).collect();
        goals.reverse();
        self.solve(goals, Meaning::default(), &mut 0, 0)
    }

    fn solve(
        &mut self,
        mut goals: Vec<(TermId, TermId)>,
        mut found: Meaning,
        steps: &mut usize,
        depth: usize,
    ) -> Option<Meaning> {
        while let Some((a, b)) = goals.pop() {
            *steps += 1;
            if *steps > MAX_STEPS {
                return None;
            }
            match (self.terms.head(a).clone(), self.terms.head(b).clone()) {
                (Head::Name(name), head) => {
                    if !self.operators_allow(&name, &head) {
                        return None;
                    }
                    if let Some(&before) = found.get(&name) {
                        if before != b {
                            return None;
                        }
                        continue;
                    }
                    found.insert(name.clone(), b);
                    if let Some(i) = self.general.variable(&name) {
                        if !self.class_allows(i, b) {
                            return None;
                        }
                        if let Some(ty) = self.type_of(i, b)? {
                            goals.push(ty);
                        }
                    }
                }
                (Head::AnyOf, head) if head != Head::AnyOf => {
                    if depth > MAX_ALTERNATIVES {
                        return None;
                    }
                    let items = self.terms.below(a).to_vec();
                    return items.into_iter().find_map(|item| {
                        let mut goals = goals.clone();
                        goals.push((item, b));
                        self.solve(goals, found.clone(), steps, depth + 1)
                    });
                }
                (Head::OpOf, Head::Op(op)) => {
                    let (below, other) = (self.terms.below(a).to_vec(), self.terms.below(b).to_vec());
                    let [variable, operands, attrs] = below[..] else {
                        return None;
                    };
                    if !self.may_be(variable, op) {
                        return None;
                    }
                    let op = self.terms.add(Head::Op(op), Vec::new());
                    goals.push((operands, other[0]));
                    if attrs == self.terms.left_out() {
                        let all_default = self.terms.below(other[1]).iter().all(|v| *v == attrs);
                        if !all_default {
                            return None;
                        }
                    } else {
                        goals.push((attrs, other[1]));
                    }
                    goals.push((variable, op));
                }
                (x, y) => {
                    let (below, other) = (self.terms.below(a), self.terms.below(b));
                    if x != y || below.len() != other.len() {
                        return None;
                    }
                    goals.extend(below.iter().copied().zip(other.iter().copied()).rev());
                }
            }
        }
        Some(found)
    }

    /// True if the operator variable may stand for the operator.
    fn may_be(&self, variable: TermId, op: &str) -> bool {
        let Head::Name(name) = self.terms.head(variable) else {
            return false;
        };
        let variable = self.general.operators.iter().find(|v| v.name == *name);
        variable.is_some_and(|v| v.choices.iter().any(|def| def.name == op))
    }

    /// True if the name is not an operator variable, or may stand for each operator that the other one may stand for.
    fn operators_allow(&self, name: &str, head: &Head) -> bool {
        let Some(variable) = self.general.operators.iter().find(|v| *v.name == *name) else {
            return true;
        };
        let may_be = |op: &str| variable.choices.iter().any(|def| def.name == op);
        match head {
            Head::Op(op) => may_be(op),
            Head::Name(other) => match self.special.operators.iter().find(|v| v.name == *other) {
                Some(other) => other.choices.iter().all(|def| may_be(def.name)),
                None => false,
            },
            _ => false,
        }
    }

    /// True if everything that `term` matches belongs to the class of the variable.
    fn class_allows(&self, variable: usize, term: TermId) -> bool {
        let class = match self.terms.head(term) {
            Head::Name(name) => match self.special.variable(name) {
                Some(i) => self.special.variables[i].class,
                None => RuleClass::Any,
            },
            Head::Form(text) if text.parse::<f64>().is_ok() => RuleClass::Const,
            _ => RuleClass::Any,
        };
        match self.general.variables[variable].class {
            RuleClass::Any => true,
            RuleClass::Param => class != RuleClass::Any,
            RuleClass::Const => class == RuleClass::Const,
        }
    }

    /// The parts of the types that are left to compare; `None` if the type of `term` is not known to fit.
    #[expect(clippy::option_option, reason = "fits or not, with or without types to compare")]
    fn type_of(&mut self, variable: usize, term: TermId) -> Option<Option<(TermId, TermId)>> {
        let general = &self.general.variables[variable];
        let Some(wanted) = type_term(self.terms, &self.general.ast, general) else {
            return general.ty.is_none().then_some(None);
        };
        let Head::Name(name) = self.terms.head(term).clone() else {
            return None;
        };
        let given = &self.special.variables[self.special.variable(&name)?];
        let given = type_term(self.terms, &self.special.ast, given)?;
        // The element types first: a general type without one admits any.
        let any = self.terms.form("any", Vec::new());
        let (a, b) = (self.terms.below(wanted).to_vec(), self.terms.below(given).to_vec());
        let fits = a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| *x == any || *y != any);
        if !fits {
            return None;
        }
        let pairs: Vec<(TermId, TermId)> = a.into_iter().zip(b).filter(|(x, _)| *x != any).collect();
        let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        Some(Some((self.terms.add(Head::List, a), self.terms.add(Head::List, b))))
    }
}
