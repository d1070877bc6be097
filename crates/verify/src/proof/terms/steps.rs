//! Calls of composite operators on both sides, step by step through their bodies.
//!
//! A body computes one value after the other. If both calls make one of them from equal values, it stands for itself in
//! what follows, as a value that nothing else is known about. So terms stay small, and what both calls do alike need not
//! be compared again, whatever the attributes are. The bodies may be of two operators that compute values of the same
//! names.

use std::rc::Rc;

use super::laws::is_tensor;
use super::parts::{function, parameters, part};
use super::read::{Names, Reader};
use super::types::Typed;
use super::{Function, Head, Term, factors, is_elementwise};
use tautomer_graph::composite_function;
use tautomer_lang::ast::{Ast, ExprId, ExprKind, Let, LetNames};
use tautomer_op::{OpDef, lookup};
use tautomer_rule::{Class, PatternNode, Rule};
use tautomer_tensor::DType;

/// Limit on the pairs of terms that are compared.
const PAIRS: usize = 1000;

/// Limit on the size of a value of one body alone, above which nothing is known about it.
const SMALL: usize = 200;

/// True if each output is its replacement, where calls of operators of the rule are compared by their bodies.
pub(super) fn are_alike(rule: &Rule, choice: &[Option<usize>], assumed: &[(Typed, DType)]) -> bool {
    let mut source: Vec<&'static OpDef> = Vec::new();
    for (_, node) in rule.source.nodes() {
        if let PatternNode::Call { def, .. } = node {
            add(&mut source, def);
        }
    }
    let target = of_target(rule);
    source.into_iter().any(|def| {
        let mut held = vec![def];
        let mut holds = is_alike(rule, choice, assumed, &held);
        target.iter().for_each(|other| add(&mut held, other));
        if !holds && held.len() > 1 {
            holds = is_alike(rule, choice, assumed, &held);
        }
        holds
    })
}

fn is_alike(rule: &Rule, choice: &[Option<usize>], assumed: &[(Typed, DType)], held: &[&'static OpDef]) -> bool {
    let Some((source, target, reader)) = Reader::holding(rule, choice, assumed, held.to_vec()) else {
        return false;
    };
    let mut steps = Steps {
        reader,
        stages: 0,
        pairs: 0,
    };
    source.len() == target.len() && source.iter().zip(&target).all(|(a, b)| steps.are_equal(a, b))
}

/// Adds an operator with a body that looks at more than one element.
fn add(all: &mut Vec<&'static OpDef>, def: &'static OpDef) {
    if def.composite_body().is_some() && !is_elementwise(def) && !all.iter().any(|own| std::ptr::eq(*own, def)) {
        all.push(def);
    }
}

/// The operators with a body that the target calls.
fn of_target(rule: &Rule) -> Vec<&'static OpDef> {
    let mut out = Vec::new();
    let mut waiting: Vec<ExprId> = rule.target.lets.iter().map(|l| l.value).collect();
    waiting.push(rule.target.result);
    while let Some(id) = waiting.pop() {
        if let ExprKind::Call { callee, .. } = rule.ast.kind(id)
            && let Some(def) = rule.scope.declared(callee.as_str()).or_else(|| lookup(callee.as_str()))
        {
            add(&mut out, def);
        }
        waiting.extend(rule.ast.operands(id));
    }
    out
}

/// A call that is left as it is, or one of its results.
struct Held {
    def: &'static OpDef,
    part: Option<u32>,
    operands: Vec<Rc<Term>>,
    attrs: Vec<Rc<Term>>,
}

/// Compares terms with such calls.
struct Steps<'a> {
    reader: Reader<'a>,
    /// The number of values that nothing is known about.
    stages: u32,
    /// The number of pairs that were compared.
    pairs: usize,
}

impl Steps<'_> {
    fn are_equal(&mut self, a: &Rc<Term>, b: &Rc<Term>) -> bool {
        self.pairs += 1;
        if self.pairs > PAIRS {
            return false;
        }
        if a == b || self.reader.rule.class == Class::Real && factors::are_alike(&mut self.reader.maker, a, b) {
            return true;
        }
        match (self.held(a), self.held(b)) {
            (Some(x), Some(y)) => match self.results(&x, Some(&y)) {
                Some((one, Some(other))) => self.are_equal(&one, &other),
                _ => false,
            },
            (Some(x), None) => self.results(&x, None).is_some_and(|(one, _)| self.are_equal(&one, b)),
            (None, Some(y)) => self.results(&y, None).is_some_and(|(one, _)| self.are_equal(a, &one)),
            (None, None) => match (&**a, &**b) {
                (Term::Call(head, x, of_x), Term::Call(other, y, of_y)) if head == other => {
                    self.are_all_equal(x, y) && self.are_all_equal(of_x, of_y)
                }
                (Term::Function(f, x), Term::Function(g, y)) if f == g => self.are_all_equal(x, y),
                (Term::Tuple(x), Term::Tuple(y)) => self.are_all_equal(x, y),
                _ => false,
            },
        }
    }

    fn are_all_equal(&mut self, a: &[Rc<Term>], b: &[Rc<Term>]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.are_equal(a, b))
    }

    fn held(&self, term: &Term) -> Option<Held> {
        match term {
            Term::Call(head, operands, attrs) => {
                let def = self.reader.held.iter().find(|def| Head::of(def) == *head)?;
                Some(Held {
                    def,
                    part: None,
                    operands: operands.clone(),
                    attrs: attrs.clone(),
                })
            }
            Term::Function(Function::Part(i), parts) => {
                let whole = self.held(parts.first()?).filter(|own| own.part.is_none())?;
                Some(Held {
                    part: Some(*i),
                    ..whole
                })
            }
            _ => None,
        }
    }

    /// The results of the bodies of one or two calls.
    fn results(&mut self, x: &Held, y: Option<&Held>) -> Option<(Rc<Term>, Option<Rc<Term>>)> {
        // The calls may stand in branches, and then they state nothing.
        self.reader.in_branches += 1;
        let out = match y {
            Some(y) => self.of_both(x, y).map(|(one, other)| (one, Some(other))),
            None => self.of_one(x).map(|one| (one, None)),
        };
        self.reader.in_branches -= 1;
        out
    }

    fn of_one(&mut self, x: &Held) -> Option<Rc<Term>> {
        let (program, body) = composite_function(x.def).ok()?;
        let declared = declared(x.def);
        let mut names = names(x, &program.ast, &declared)?;
        for definition in &body.body.lets {
            self.alone(&definition.names, definition.value, &mut names)?;
        }
        let result = self.reader.expr(body.body.result, &mut names)?;
        x.part.map_or(Some(result.clone()), |i| part(&result, i))
    }

    /// The results of two bodies. What is computed under one name in both is compared.
    fn of_both(&mut self, x: &Held, y: &Held) -> Option<(Rc<Term>, Rc<Term>)> {
        let ((program, body), (other_program, other_body)) =
            (composite_function(x.def).ok()?, composite_function(y.def).ok()?);
        let (of_x, of_y) = (declared(x.def), declared(y.def));
        let mut a = names(x, &program.ast, &of_x)?;
        let mut b = names(y, &other_program.ast, &of_y)?;
        let mut rest: &[Let] = &other_body.body.lets;
        for definition in &body.body.lets {
            let same = |other: &Let| match (&definition.names, &other.names) {
                (LetNames::One(a), LetNames::One(b)) => a.name == b.name,
                (LetNames::Tuple(a), LetNames::Tuple(b)) => a.iter().map(|n| &n.name).eq(b.iter().map(|n| &n.name)),
                _ => false,
            };
            let Some(at) = rest.iter().position(same) else {
                self.alone(&definition.names, definition.value, &mut a)?;
                continue;
            };
            for other in &rest[..at] {
                self.alone(&other.names, other.value, &mut b)?;
            }
            let one = self.reader.expr(definition.value, &mut a)?;
            let other = self.reader.expr(rest[at].value, &mut b)?;
            rest = &rest[at + 1..];
            for (i, name) in named(&definition.names) {
                let of = |whole: &Rc<Term>| i.map_or(Some(whole.clone()), |i| part(whole, i));
                let (mut one, mut other) = (of(&one)?, of(&other)?);
                let are_tensors = is_tensor(&one) && is_tensor(&other) && !matches!(*one, Term::Variable(_));
                if are_tensors && self.are_equal(&one, &other) {
                    one = self.stage();
                    other = one.clone();
                }
                a.values.push((name.to_owned(), one));
                b.values.push((name.to_owned(), other));
            }
        }
        for other in rest {
            self.alone(&other.names, other.value, &mut b)?;
        }
        let one = self.reader.expr(body.body.result, &mut a)?;
        let other = self.reader.expr(other_body.body.result, &mut b)?;
        let of = |whole: Rc<Term>, i: Option<u32>| i.map_or(Some(whole.clone()), |i| part(&whole, i));
        Some((of(one, x.part)?, of(other, y.part)?))
    }

    /// A definition that nothing is compared with. A value that is too large to follow is one that nothing is known of.
    fn alone(&mut self, all: &LetNames, value: ExprId, names: &mut Names<'_>) -> Option<()> {
        let whole = self.reader.expr(value, names)?;
        for (i, name) in named(all) {
            let mut own = i.map_or(Some(whole.clone()), |i| part(&whole, i))?;
            if own.size() > SMALL && is_tensor(&own) {
                own = self.stage();
            }
            names.values.push((name.to_owned(), own));
        }
        Some(())
    }

    fn stage(&mut self) -> Rc<Term> {
        self.stages += 1;
        function(Function::Stage(self.stages), Vec::new())
    }
}

/// The names of a definition, with the parts of the value that they stand for.
fn named(names: &LetNames) -> Vec<(Option<u32>, &str)> {
    match names {
        LetNames::One(name) => vec![(None, name.as_str())],
        LetNames::Tuple(all) => (0..).map(Some).zip(all.iter().map(|name| name.as_str())).collect(),
    }
}

/// The operators that the body of an operator may call, beside those of the table.
fn declared(def: &'static OpDef) -> impl Fn(&str) -> Option<&'static OpDef> {
    let calls = def.declared.map_or(&[][..], |d| d.calls);
    move |name: &str| calls.iter().copied().find(|def| def.name == name)
}

/// The names in the body of a call.
fn names<'a>(of: &Held, ast: &'a Ast, declared: &'a dyn Fn(&str) -> Option<&'static OpDef>) -> Option<Names<'a>> {
    let (_, body) = composite_function(of.def).ok()?;
    Some(Names {
        ast,
        values: parameters(of.def, body, &of.operands, &of.attrs)?,
        declared,
        locals: 0,
    })
}
