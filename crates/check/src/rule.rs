//! A rule, compared at one element: its sides are read as formulas over the elements of its variables.
//!
//! An element of the result of an elementwise operator is a function of the elements of its operands at one place,
//! whatever the ranks and dimensions, and along a dimension of 1 that place is 0 on either side. So if the functions
//! of both sides are equal, both sides are equal wherever their shapes are; elsewhere no engine applies the rule.

use std::collections::BTreeMap;

use crate::functions::equal;
use crate::operators::{Element, KINDS, Kind, Res, Stop, call, unknown};
use crate::order::Fact;
use crate::poly::{Atom, Poly};
use crate::text::{Ex, Rule};

/// Limits on the expressions that are evaluated for a rule, and on its variables.
const STEPS: usize = 200_000;
const VARIABLES: usize = 5;

/// The names and facts of one comparison.
struct Scope<'a> {
    names: BTreeMap<String, Element>,
    facts: Vec<Fact>,
    /// The alternatives that are chosen, in the order of evaluation, each with their number.
    choices: &'a mut Vec<(usize, usize)>,
    met: usize,
    in_source: bool,
    steps: &'a mut usize,
}

/// Checks a rule for all alternatives and kinds of element types; with a term, this one in place of the target, for
/// floating-point numbers. Returns how many comparisons that took.
pub(crate) fn check(rule: &Rule, term: Option<&Ex>) -> Res<usize> {
    if rule.variables.len() > VARIABLES {
        return unknown(format!("more than {VARIABLES} variables"));
    }
    let mut kinds: Vec<Vec<Kind>> = vec![Vec::new()];
    for (_, ty) in &rule.variables {
        let own: Vec<Kind> = match ty.as_deref().map(Kind::of) {
            _ if term.is_some() => vec![Kind::Float],
            None => KINDS.to_vec(),
            Some(Some(kind)) => vec![kind],
            Some(None) => return unknown("a variable of an unknown type"),
        };
        let longer = |k: Vec<Kind>| own.clone().into_iter().map(move |o| [k.as_slice(), &[o]].concat());
        kinds = kinds.into_iter().flat_map(longer).collect();
    }
    let (mut proved, mut steps, mut choices) = (0, STEPS, Vec::new());
    loop {
        let before = proved;
        for kinds in &kinds {
            let mut scope = Scope {
                names: BTreeMap::new(),
                facts: Vec::new(),
                choices: &mut choices,
                met: 0,
                in_source: false,
                steps: &mut steps,
            };
            proved += usize::from(scope.compare(rule, kinds, term)?);
        }
        if proved == before {
            return Err(Stop::Wrong("an alternative fits no element types".to_owned()));
        }
        // The next choice of alternatives, as the digits of a number count up.
        while choices.last().is_some_and(|(at, count)| at + 1 == *count) {
            choices.pop();
        }
        match choices.last_mut() {
            Some((at, _)) => *at += 1,
            None => return Ok(proved),
        }
    }
}

/// The number that a condition says all elements of a constant have.
fn fixed(condition: &Ex, variable: &str) -> Option<Poly> {
    let Ex::Call(name, args, _) = condition else {
        return None;
    };
    let own = Ex::Name(variable.to_owned());
    match (name.as_str(), args.as_slice()) {
        ("equal", [Ex::Call(value, of, _), number]) if value == "value" && *of == [own] => match number {
            Ex::Number(n) => Some(Poly::number(n.clone())),
            Ex::Call(neg, of, _) if neg == "neg" && of.len() == 1 => match &of[0] {
                Ex::Number(n) => Some(Poly::number(-n)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

impl Scope<'_> {
    /// Compares both sides; false if the source has no value, or a condition is not met.
    fn compare(&mut self, rule: &Rule, kinds: &[Kind], term: Option<&Ex>) -> Res<bool> {
        for ((name, _), kind) in rule.variables.iter().zip(kinds) {
            let own = Poly::atom(Atom::Var(name.clone()));
            // A boolean is 0 or 1.
            let own = if *kind == Kind::Bool { own.positive() } else { own };
            let value = rule.conditions.iter().find_map(|c| fixed(c, name)).unwrap_or(own);
            self.names.insert(name.clone(), Element::new(*kind, value, true, false));
        }
        let unmet = |own: &mut Self, must| rule.conditions.iter().any(|c| own.condition(c, must) == Some(false));
        if unmet(self, false) {
            return Ok(false);
        }
        self.in_source = true;
        let source = match self.side(&rule.source) {
            Err(Stop::Invalid(_)) => return Ok(false),
            other => other?,
        };
        self.in_source = false;
        if unmet(self, true) {
            return Ok(false);
        }
        let target = if let Some(term) = term {
            self.value(term)?
        } else {
            self.side(&rule.target)?
        };
        if source.kind != target.kind && !target.literal {
            return Err(Stop::Wrong("the sides have different element types".to_owned()));
        }
        equal(&source.value, &target.value, &self.facts).map_err(Stop::Wrong)?;
        Ok(true)
    }

    fn side(&mut self, (lets, result): &(Vec<(String, Ex)>, Ex)) -> Res<Element> {
        for (name, e) in lets {
            let value = self.value(e)?;
            self.names.insert(name.clone(), value);
        }
        self.value(result)
    }

    fn value(&mut self, e: &Ex) -> Res<Element> {
        *self.steps = self.steps.saturating_sub(1);
        if *self.steps == 0 {
            return unknown("too many steps");
        }
        let literal = |value: Poly, kind: Kind| Ok(Element::new(kind, value, true, true));
        match e {
            Ex::Number(n) => literal(Poly::number(n.clone()), Kind::Float),
            Ex::Name(name) => match (self.names.get(name), name.as_str()) {
                (Some(value), _) => Ok(value.clone()),
                (None, "true" | "false") => literal(Poly::int(i64::from(name == "true")), Kind::Bool),
                (None, _) => unknown(format!("the name `{name}`")),
            },
            Ex::AnyOf(all) if self.in_source => {
                let at = self.met;
                self.met += 1;
                if self.choices.len() == at {
                    self.choices.push((0, all.len()));
                }
                match all.get(self.choices[at].0) {
                    Some(chosen) => self.value(chosen),
                    None => unknown("alternatives of another number"),
                }
            }
            Ex::List(_) | Ex::AnyOf(_) => unknown("a list, or alternatives outside of the source"),
            // The number that all elements of a constant are.
            Ex::Call(name, operands, _) if name == "value" && operands.len() == 1 => {
                literal(self.value(&operands[0])?.value, Kind::Float)
            }
            Ex::Call(name, operands, attributes) => {
                let all = operands.iter().map(|e| self.value(e)).collect::<Res<Vec<_>>>()?;
                let mut given: BTreeMap<String, Poly> = BTreeMap::new();
                for (attr, e) in attributes {
                    // A name that the source binds to a number is any number; a bound of `clip` may be missing.
                    if let (Ex::Name(own), true) = (e, self.in_source && name != "clip")
                        && !self.names.contains_key(own)
                    {
                        let value = Poly::atom(Atom::Var(own.clone()));
                        self.names.insert(own.clone(), literal(value, Kind::Float)?);
                    }
                    if given.insert(attr.clone(), self.value(e)?.value).is_some() {
                        return unknown(format!("`{attr}` twice"));
                    }
                }
                call(name, &all, &given)
            }
        }
    }

    /// Whether a condition holds, if that is known. Inequalities of numbers that must hold become facts.
    fn condition(&mut self, e: &Ex, must: bool) -> Option<bool> {
        let Ex::Call(name, args, _) = e else { return None };
        match (name.as_str(), args.as_slice()) {
            ("in" | "equal", [Ex::Call(field, of, _), types]) if field == ".dtype" => {
                let kind = self.value(of.first()?).ok()?.kind;
                let one = [types.clone()];
                let all = if let Ex::List(all) = types {
                    all.as_slice()
                } else {
                    one.as_slice()
                };
                let kinds = all.iter().map(|e| if let Ex::Name(d) = e { Kind::of(d) } else { None });
                let kinds: Vec<Kind> = kinds.collect::<Option<_>>()?;
                Some(kinds.contains(&kind))
            }
            ("less" | "less_or_equal" | "greater" | "greater_or_equal", [a, b]) if must => {
                let (a, b) = (self.value(a).ok()?.value, self.value(b).ok()?.value);
                let value = if name.starts_with("less") { b.sub(&a) } else { a.sub(&b) };
                self.facts.push(Fact {
                    value,
                    strict: !name.ends_with("equal"),
                });
                None
            }
            _ => None,
        }
    }
}
