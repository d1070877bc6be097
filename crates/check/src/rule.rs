//! A rule, compared at one element: its sides are read as formulas over the elements of its variables.
//!
//! An element of the result of an elementwise operator is a function of the elements of its operands at one place,
//! whatever the ranks and dimensions, and along a dimension of 1 that place is 0 on either side. So if the functions
//! of both sides are equal, both sides are equal wherever their shapes are; elsewhere no engine applies the rule.

use std::collections::{BTreeMap, BTreeSet};

use num_rational::BigRational;
use num_traits::Zero;

use crate::functions::{Fact, apply, equal};
use crate::operators::{ELEMENTWISE, Element, KINDS, Kind, Res, Stop, call, opaque, unknown};
use crate::poly::{Atom, Attributes, Poly, Shape};
use crate::text::{Declaration, Ex, Rule, Side, table};

/// Limits on the expressions that are evaluated for a rule, on its variables, and on bodies within bodies.
const STEPS: usize = 200_000;
const VARIABLES: usize = 7;
const BODIES: usize = 12;

#[derive(Default)]
pub(crate) struct Proof {
    pub(crate) comparisons: usize,
    /// The operators whose bodies were used, and those that do not treat each place alone.
    pub(crate) bodies: BTreeSet<String>,
    pub(crate) calls: BTreeSet<String>,
    steps: usize,
    /// The alternatives that are chosen, in the order of evaluation, and of how many.
    choices: Vec<(usize, usize)>,
}

#[derive(Default)]
struct Scope {
    proof: Proof,
    names: BTreeMap<String, Element>,
    /// The attributes that the source binds with `..`, and the operators of families.
    rests: BTreeMap<String, BTreeSet<String>>,
    operators: BTreeMap<String, String>,
    facts: Vec<Fact>,
    /// Attributes that a condition says are others.
    same: Vec<(Poly, Poly)>,
    met: usize,
    in_source: bool,
    in_attribute: bool,
    depth: usize,
}

/// Checks a rule for all alternatives and kinds of types; with a term in place of the target, for floating-point numbers.
pub(crate) fn check(rule: &Rule, term: Option<&Side>) -> Res<Proof> {
    if rule.variables.len() > VARIABLES {
        return unknown(format!("more than {VARIABLES} variables"));
    }
    let mut proof = Proof::default();
    loop {
        let before = proof.comparisons;
        for kinds in 0..rule.variables.iter().fold(1, |n, _| n * KINDS.len()) {
            let mut scope = Scope { proof, ..Scope::default() };
            let compared = scope.compare(rule, kinds, term)?;
            proof = scope.proof;
            proof.comparisons += usize::from(compared);
        }
        if proof.comparisons == before {
            return Err(Stop::Wrong("an alternative fits no element types".to_owned()));
        }
        // The next choice of alternatives, as the digits of a number count up.
        while proof.choices.last().is_some_and(|(at, count)| at + 1 >= *count) {
            proof.choices.pop();
        }
        let Some((at, _)) = proof.choices.last_mut() else { return Ok(proof) };
        *at += 1;
    }
}

/// A word that stands for itself: a string, an element type, `none`.
fn word(name: &str) -> Poly {
    Poly::atom(Atom::Fun(name.to_owned(), Vec::new()))
}

fn is_fixed(value: &Poly) -> bool {
    let is = |name: &str, args: &[Poly]| name == "[]" || args.is_empty() && !name.starts_with("term ");
    let fixed = |args: &[Poly]| args.iter().all(is_fixed);
    value.as_number().is_some() || matches!(value.as_atom(), Some(Atom::Fun(f, args)) if is(f, args) && fixed(args))
}

/// An attribute of which only the name is known.
fn is_symbol(value: &Poly) -> bool {
    matches!(value.as_atom(), Some(Atom::Var(name)) if name.starts_with('$'))
}

/// The value of an operator within an attribute.
fn term(name: &str, args: Vec<Poly>) -> Poly {
    match (name, args.as_slice()) {
        ("neg", [a]) => a.neg(),
        ("add", [a, b]) => a.add(b),
        ("sub", [a, b]) => a.sub(b),
        ("mul", [a, b]) => a.mul(b),
        ("not", [a]) => Poly::int(1).sub(a),
        ("and", [a, b]) if a.as_number().or(b.as_number()).is_some() => a.mul(b),
        ("equal", [a, b]) if a == b || is_fixed(a) && is_fixed(b) => Poly::int(i64::from(a == b)),
        ("given", [a]) if is_fixed(a) || is_given(a) => Poly::int(i64::from(*a != word("none"))),
        ("[]", _) => apply("[]", args),
        ("[..]", [all, at]) => match (all.as_atom(), at.as_number().map(|n| usize::try_from(n.to_integer()))) {
            (Some(Atom::Fun(list, items)), Some(Ok(at))) if list == "[]" && at < items.len() => items[at].clone(),
            _ => apply("[..]", args),
        },
        _ => apply(&format!("term {name}"), args),
    }
}

/// Whether an attribute is a list, or the number that all elements of a constant are.
fn is_given(value: &Poly) -> bool {
    let number = |atom: &Atom| matches!(atom, Atom::Var(name) if !name.starts_with(['$', '%']));
    value.as_atom().is_some_and(|atom| number(atom) || matches!(atom, Atom::Fun(list, _) if list == "[]"))
}

fn rank_is_zero(variable: &str) -> Ex {
    let call = |name: &str, operands| Ex::Call(name.to_owned(), operands, Vec::new());
    call("equal", vec![call(".rank", vec![Ex::Name(variable.to_owned())]), Ex::Number(BigRational::zero())])
}

/// Whether all elements of a variable are equal: it has no axes, or a condition compares its value with a number. Where
/// elements differ, the value is a list, of which single elements may be compared.
fn is_uniform(rule: &Rule, variable: &str) -> bool {
    let value = Ex::Call("value".to_owned(), vec![Ex::Name(variable.to_owned())], Vec::new());
    let compares = |own: &Ex| {
        let number = |sides: &[Ex]| sides.iter().any(|e| matches!(e, Ex::Number(_))) && sides.contains(&value);
        matches!(own, Ex::Call(_, sides, _) if number(sides))
    };
    rule.conditions.iter().any(|own| compares(own) || *own == rank_is_zero(variable))
}

fn literal(value: Poly) -> Element {
    Element::literal(value, Kind::Float)
}

impl Scope {
    /// Compares both sides; false if the source has no value, or a condition is not met.
    fn compare(&mut self, rule: &Rule, mut kinds: usize, term: Option<&Side>) -> Res<bool> {
        for (name, all) in &rule.families {
            let traits = all.iter().all(|word| ["elementwise", "unary", "binary"].contains(&word.as_str()));
            let own = if traits { format!("any {name}") } else { all[self.choose(all.len())].clone() };
            self.operators.insert(name.clone(), own);
        }
        for (name, ty) in &rule.variables {
            let digit = kinds % KINDS.len();
            kinds /= KINDS.len();
            let kind = match ty.first().map(|ty| Kind::of(ty)) {
                Some(None) => return unknown("a variable of an unknown type"),
                Some(Some(kind)) if digit == 0 && (term.is_none() || kind == Kind::Float) => kind,
                None if digit == 0 || term.is_none() => KINDS[digit],
                _ => return Ok(false),
            };
            let own = Atom::Var(if is_uniform(rule, name) { format!("#{name}") } else { name.clone() });
            // A boolean is 0 or 1.
            let any = Poly::atom(own.clone());
            let any = if kind == Kind::Bool { any.positive() } else { any };
            let mut shape = Shape::from([own.clone()]);
            shape.retain(|_| !rule.conditions.contains(&rank_is_zero(name)));
            let element = |value| Element::new(kind, value, true, shape.clone());
            self.names.insert(name.clone(), element(any.clone()));
            // A constant, all elements of which are a number that a condition says.
            let mut equations = rule.conditions.iter().filter_map(|condition| self.equation(condition));
            let number = equations.find(|(a, b)| *a == any && b.as_number().is_some());
            self.names.extend(number.map(|(_, number)| (name.clone(), element(number))));
        }
        rule.conditions.iter().for_each(|condition| self.join_shapes(condition));
        let unmet = |own: &mut Self, must| rule.conditions.iter().any(|c| own.condition(c, must) == Some(false));
        if unmet(self, false) {
            return Ok(false);
        }
        self.in_source = true;
        let source = match self.side(&rule.sides[0]) {
            Err(Stop::Invalid(_)) => return Ok(false),
            other => other?,
        };
        self.in_source = false;
        unmet(self, true);
        let target = self.side(term.unwrap_or(&rule.sides[1]))?;
        let alike = |(a, b): (&Element, &Element)| a.kind == b.kind || b.literal;
        if source.len() != target.len() || !source.iter().zip(&target).all(alike) {
            return Err(Stop::Wrong("the sides have different element types, or numbers of results".to_owned()));
        }
        let mut pairs = source.iter().zip(&target);
        // Results have the same shapes, or no engine applies the rule.
        pairs
            .try_for_each(|(a, b)| equal(&a.value, &b.value.reshaped(&b.shape, &a.shape), &self.facts))
            .map_err(Stop::Wrong)
            .map(|()| true)
    }

    /// Notes that two variables have one shape, if the condition says so.
    fn join_shapes(&mut self, condition: &Ex) {
        if let Some((a, b)) = self.equation(condition)
            && let (Some(Atom::Call(f, _, a)), Some(Atom::Call(g, _, b))) = (a.as_atom(), b.as_atom())
            && [f.as_str(), g] == [".shape"; 2]
        {
            self.names.values_mut().filter(|e| e.shape == b[0].1).for_each(|e| e.shape = a[0].1.clone());
        }
    }

    fn choose(&mut self, count: usize) -> usize {
        if self.proof.choices.len() == self.met {
            self.proof.choices.push((0, count));
        }
        self.met += 1;
        self.proof.choices[self.met - 1].0
    }

    fn equation(&mut self, condition: &Ex) -> Option<(Poly, Poly)> {
        let Ex::Call(equal, sides, _) = condition else { return None };
        let sides = (equal == "equal").then_some(sides)?;
        Some((self.attribute(&sides[0]).ok()?, self.attribute(&sides[1]).ok()?))
    }

    fn side(&mut self, (lets, result): &Side) -> Res<Vec<Element>> {
        for (name, e) in lets {
            let value = self.value(e)?;
            self.names.insert(name.clone(), value);
        }
        match result {
            Ex::Call(tuple, all, _) if tuple == "()" => all.iter().map(|e| self.value(e)).collect(),
            one => Ok(vec![self.value(one)?]),
        }
    }

    /// The value of an attribute, which is a literal among elements.
    fn attribute(&mut self, e: &Ex) -> Res<Poly> {
        let before = std::mem::replace(&mut self.in_attribute, true);
        let value = self.value(e);
        self.in_attribute = before;
        let Element { value, literal: true, .. } = value? else { return unknown("a tensor as an attribute") };
        if value.unknown {
            return unknown("an attribute that is too long");
        }
        Ok(self.same.iter().find(|(term, _)| *term == value).map_or(value, |(_, name)| name.clone()))
    }

    fn value(&mut self, e: &Ex) -> Res<Element> {
        self.proof.steps += 1;
        match e {
            _ if self.proof.steps > STEPS => unknown("too many steps"),
            Ex::Number(n) => Ok(literal(Poly::number(n.clone()))),
            Ex::Name(name) => match self.names.get(name) {
                Some(element) => Ok(element.clone()),
                None if name == "true" => Ok(Element::literal(Poly::int(1), Kind::Bool)),
                None if name == "false" => Ok(Element::literal(Poly::zero(), Kind::Bool)),
                None if self.in_attribute => Ok(literal(self.named(name))),
                _ => unknown(format!("the name `{name}`")),
            },
            Ex::Call(name, operands, given) => match (name.as_str(), operands.as_slice()) {
                ("|", [a, b]) if self.in_source && self.depth == 0 && !self.in_attribute => {
                    let first = self.choose(2) == 0;
                    self.value(if first { a } else { b })
                }
                ("|", _) => unknown("alternatives outside of the source"),
                ("value", [of]) => Ok(literal(self.value(of)?.value)),
                ("given", [Ex::Name(name)]) if self.names.get(name).is_none_or(|e| !e.literal) => {
                    Ok(literal(Poly::int(i64::from(self.names.contains_key(name)))))
                }
                ("when", [condition, a, b]) => match (self.attribute(condition)?, self.in_attribute) {
                    (known, _) if known.as_number().is_some() => self.value(if known.is_zero() { b } else { a }),
                    // In a list, it may depend on the element.
                    (_, true) => unknown("a choice that is not known"),
                    // It is taken to hold, and then not to hold, wherever it is asked.
                    (open, false) => {
                        let holds = self.choose(2) == 0;
                        self.same.push((open, Poly::int(holds.into())));
                        self.value(if holds { a } else { b })
                    }
                },
                ("for", [Ex::Name(name), all, body, kept]) => {
                    let (all, own) = (self.attribute(all)?, Poly::atom(Atom::Var(format!("%{name}"))));
                    let before = self.names.insert(name.clone(), literal(own.clone()));
                    let (body, kept) = (self.attribute(body), self.attribute(kept));
                    self.names.remove(name);
                    self.names.extend(before.map(|before| (name.clone(), before)));
                    Ok(literal(term("for", vec![own, all, body?, kept?])))
                }
                (".shape" | ".rank" | ".size" | ".dtype", [of]) => {
                    let Element { value, shape, .. } = self.value(of)?;
                    let value = if name == ".dtype" { value } else { Poly::zero() };
                    Ok(literal(Poly::atom(Atom::Call(name.to_owned(), Vec::new(), vec![(value, shape)]))))
                }
                (_, all) if self.in_attribute && given.is_empty() => {
                    Ok(literal(term(name, all.iter().map(|e| self.attribute(e)).collect::<Res<_>>()?)))
                }
                _ => self.call(name, operands, given),
            },
        }
    }

    /// What a name that is not bound stands for in an attribute: in the source, anything.
    fn named(&mut self, name: &str) -> Poly {
        let any = |name: String| Poly::atom(Atom::Var(name));
        if name.starts_with('"') || ["none", "inf"].contains(&name) || Kind::of(name).is_some() {
            word(name)
        } else if !self.in_source || self.depth > 0 {
            any(format!("%{name}"))
        } else if name == "_" {
            any(format!("$_{}", self.proof.steps))
        } else {
            self.names.entry(name.to_owned()).insert_entry(literal(any(format!("${name}")))).get().value.clone()
        }
    }

    fn call(&mut self, name: &str, operands: &[Ex], given: &[(String, Ex)]) -> Res<Element> {
        let name = self.operators.get(name).map_or(name, String::as_str).to_owned();
        let mut all: Vec<Option<Element>> = Vec::new();
        for e in operands {
            let absent = matches!(e, Ex::Name(n) if n == "none" || self.depth > 0 && !self.names.contains_key(n));
            all.push(if absent { None } else { Some(self.value(e)?) });
        }
        while all.last().is_some_and(Option::is_none) {
            all.pop();
        }
        let (declared, elementwise) = (table().get(&name), ELEMENTWISE.contains(&format!(" {name} ")));
        let attributes = self.attributes(&name, declared, given)?;
        let any = name.starts_with("any ") || name == "clip" && attributes.iter().any(|(_, value)| is_symbol(value));
        if let Some(Declaration { operands, body: Some(body), .. }) = declared.filter(|_| !any) {
            if all.len() > operands.len() || self.depth > BODIES {
                return unknown(format!("these operands of `{name}`"));
            }
            let integer = all.iter().flatten().any(|e| !matches!(e.kind, Kind::Float | Kind::Bool));
            let named = operands.iter().zip(&all).filter_map(|(o, e)| Some((o.clone(), e.clone()?)));
            let values = attributes.iter().map(|(name, value)| (name.clone(), literal(value.clone())));
            let bound = named.chain(values).collect();
            let outside = (std::mem::replace(&mut self.names, bound), std::mem::take(&mut self.in_attribute));
            self.depth += 1;
            let out = self.side(body);
            (self.names, self.in_attribute) = outside;
            self.depth -= 1;
            // Reductions and limits of integers may have other definitions.
            if !(matches!(out, Err(Stop::Invalid(_))) && integer && (name == "clip" || name.starts_with("reduce_"))) {
                self.proof.bodies.insert(name);
                let mut out = out?;
                return if out.len() == 1 { Ok(out.remove(0)) } else { unknown("several results in place of one") };
            }
        }
        let present: Vec<Element> = all.iter().flatten().cloned().collect();
        let mut shape: Shape = present.iter().flat_map(|e| e.shape.iter().cloned()).collect();
        Ok(match present.as_slice() {
            [first, ..] if any => {
                let own = attributes.iter().fold(name.clone(), |own, (attr, _)| own + " " + attr);
                let args = present.iter().map(|e| &e.value).chain(attributes.iter().map(|(_, value)| value));
                let value = apply(&own, args.cloned().collect());
                // Some operators have the shape of their first operand.
                let operands = present.iter().map(|e| (e.value.clone(), e.shape.clone())).collect();
                if present.iter().any(|e| e.shape != first.shape) {
                    shape = Shape::from([Atom::Call(name, attributes, operands)]);
                }
                Element::new(first.kind, value, true, shape)
            }
            all if elementwise => call(&name, all)?,
            [x] if name == "expand" || name == "broadcast_to" => {
                shape.insert(Atom::Call("expand".to_owned(), attributes, Vec::new()));
                Element { shape, literal: false, ..x.clone() }
            }
            _ if declared.is_none() => return unknown(format!("the operator `{name}`")),
            _ => {
                // What is left out is an operand as well.
                let none = || Element::literal(word("none"), Kind::Float);
                self.proof.calls.insert(name.clone());
                opaque(&name, attributes, all.into_iter().map(|e| e.unwrap_or_else(none)).collect())?
            }
        })
    }

    /// All attributes of a call: those that are given, those that `..` stands for, and defaults.
    fn attributes(&mut self, name: &str, declared: Option<&Declaration>, given: &[(String, Ex)]) -> Res<Attributes> {
        let (mut explicit, mut rests) = (BTreeMap::new(), Vec::new());
        for (attr, e) in given {
            if let (Ex::Name(rest), "..") = (e, attr.as_str()) {
                rests.push(rest);
            } else if explicit.insert(attr.clone(), self.attribute(e)?).is_some() {
                return unknown(format!("`{attr}` twice"));
            }
        }
        let of_rest = |rest: &str, attr: &str| Poly::atom(Atom::Var(format!("${rest}.{attr}")));
        let Some(Declaration { attributes, .. }) = declared else {
            let others = rests.iter().map(|rest| ("..".to_owned(), of_rest(rest, "")));
            let all = Attributes::from_iter(explicit.into_iter().chain(others));
            let none = ELEMENTWISE.contains(&format!(" {name} ")) && all.iter().all(|(attr, _)| attr == "..");
            let known = none || all.is_empty() || name.starts_with("any ");
            return if known { Ok(all) } else { unknown(format!("the attributes of `{name}`")) };
        };
        let outer = self.in_source && self.depth == 0;
        let free = rests.iter().find(|rest| outer && !self.rests.contains_key(**rest)).copied();
        let (mut out, mut bound) = (Attributes::new(), BTreeSet::new());
        for (attr, default) in attributes {
            let has = |rest: &&&String| self.rests.get(**rest).is_some_and(|own| own.contains(attr));
            let value = match (explicit.remove(attr), rests.iter().find(has).copied().or(free), default) {
                (Some(value), ..) => value,
                (None, Some(rest), _) => {
                    bound.insert(attr.clone());
                    of_rest(rest, attr)
                }
                (None, None, Some(default)) => self.attribute(default)?,
                (None, None, None) if outer => self.named("_"),
                _ => return unknown(format!("the attribute `{attr}` of `{name}`")),
            };
            out.push((attr.clone(), value));
        }
        let known = |attr: &String| attributes.iter().any(|(own, _)| own == attr);
        let fits = |rest: &&String| match self.rests.get(*rest) {
            Some(own) => own.iter().all(known),
            None => Some(*rest) == free,
        };
        if !explicit.is_empty() || !rests.iter().all(fits) {
            return unknown(format!("other attributes of `{name}`"));
        }
        self.rests.extend(free.map(|rest| (rest.clone(), bound)));
        Ok(out)
    }

    /// Whether a condition holds, if that is known. Inequalities and equations of attributes that must hold are noted.
    fn condition(&mut self, e: &Ex, must: bool) -> Option<bool> {
        let Ex::Call(name, args, _) = e else { return None };
        match (name.as_str(), args.as_slice()) {
            ("in" | "equal", [Ex::Call(field, of, _), types]) if field == ".dtype" => {
                let kind = self.value(of.first()?).ok()?.kind;
                let all = if let Ex::Call(_, all, _) = types { all } else { std::slice::from_ref(types) };
                let kinds = all.iter().map(|e| if let Ex::Name(d) = e { Kind::of(d) } else { None });
                return Some(kinds.collect::<Option<Vec<Kind>>>()?.contains(&kind));
            }
            ("equal", _) if must => match self.equation(e)? {
                (a, b) if is_symbol(&a) || is_symbol(&b) => self.same.push(if is_symbol(&a) { (b, a) } else { (a, b) }),
                _ => {}
            },
            ("less" | "less_or_equal" | "greater" | "greater_or_equal", [a, b]) if must => {
                let (a, b) = (self.attribute(a).ok()?, self.attribute(b).ok()?);
                let value = if name.starts_with("less") { b.sub(&a) } else { a.sub(&b) };
                self.facts.push(Fact { value, strict: !name.ends_with("equal") });
            }
            _ => {}
        }
        None
    }
}
