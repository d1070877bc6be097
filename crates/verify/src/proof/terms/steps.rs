//! Calls of one composite operator on both sides, step by step through its body.
//!
//! A body computes one value after the other. If both calls make one of them from equal values, it stands for itself in
//! what follows, as a value that nothing else is known about. So terms stay small, and what both calls do alike need not
//! be compared again, whatever the attributes are.

use std::rc::Rc;

use super::laws::is_tensor;
use super::parts::{function, part};
use super::read::{Names, Reader, parameters};
use super::types::Typed;
use super::{Function, Head, Term, factors, is_elementwise};
use tautomer_graph::composite_function;
use tautomer_lang::ast::LetNames;
use tautomer_op::OpDef;
use tautomer_rule::{Class, PatternNode, Rule};
use tautomer_tensor::DType;

/// Limit on the pairs of terms that are compared.
const PAIRS: usize = 1000;

/// True if each output is its replacement, where equal calls of one operator of the source are found through its body.
pub(super) fn are_alike(rule: &Rule, choice: &[Option<usize>], assumed: &[(Typed, DType)]) -> bool {
    let mut called: Vec<&'static OpDef> = Vec::new();
    for (_, node) in rule.source.nodes() {
        if let PatternNode::Call { def, .. } = node
            && def.composite_body().is_some()
            && !is_elementwise(def)
            && !called.iter().any(|own| std::ptr::eq(*own, *def))
        {
            called.push(def);
        }
    }
    called.into_iter().any(|held| {
        let Some((source, target, reader)) = Reader::holding(rule, choice, assumed, held) else {
            return false;
        };
        let mut steps = Steps {
            reader,
            held,
            stages: 0,
            pairs: 0,
        };
        source.len() == target.len() && source.iter().zip(&target).all(|(a, b)| steps.are_equal(a, b))
    })
}

/// Compares terms with calls of an operator.
struct Steps<'a> {
    reader: Reader<'a>,
    held: &'static OpDef,
    /// The number of values that both sides compute.
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
        match (&**a, &**b) {
            (Term::Call(head, x, of_x), Term::Call(other, y, of_y)) if head == other => {
                if *head == Head::of(self.held) {
                    return self.bodies((x, of_x), (y, of_y)).is_some();
                }
                self.are_all_equal(x, y) && self.are_all_equal(of_x, of_y)
            }
            (Term::Function(f, x), Term::Function(g, y)) if f == g => self.are_all_equal(x, y),
            (Term::Tuple(x), Term::Tuple(y)) => self.are_all_equal(x, y),
            _ => false,
        }
    }

    fn are_all_equal(&mut self, a: &[Rc<Term>], b: &[Rc<Term>]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.are_equal(a, b))
    }

    /// The bodies of two calls make the same result.
    fn bodies(&mut self, (x, of_x): (&[Rc<Term>], &[Rc<Term>]), (y, of_y): (&[Rc<Term>], &[Rc<Term>])) -> Option<()> {
        let def = self.held;
        let (program, body) = composite_function(def).ok()?;
        let calls = def.declared.map_or(&[][..], |d| d.calls);
        let declared = |name: &str| calls.iter().copied().find(|def| def.name == name);
        let names = |values| Names {
            ast: &program.ast,
            values,
            declared: &declared,
            locals: 0,
        };
        let mut a = names(parameters(def, body, x, of_x)?);
        let mut b = names(parameters(def, body, y, of_y)?);
        // The calls may stand in branches, and then they state nothing.
        self.reader.in_branches += 1;
        for definition in &body.body.lets {
            let one = self.reader.expr(definition.value, &mut a)?;
            let other = self.reader.expr(definition.value, &mut b)?;
            match &definition.names {
                LetNames::One(name) => self.bind(name.as_str(), (one, other), (&mut a, &mut b)),
                LetNames::Tuple(all) => {
                    for (i, name) in (0..).zip(all) {
                        let parts = (part(&one, i)?, part(&other, i)?);
                        self.bind(name.as_str(), parts, (&mut a, &mut b));
                    }
                }
            }
        }
        let one = self.reader.expr(body.body.result, &mut a)?;
        let other = self.reader.expr(body.body.result, &mut b)?;
        self.reader.in_branches -= 1;
        self.are_equal(&one, &other).then_some(())
    }

    /// Names a value of both bodies: one that both compute, if they are equal.
    fn bind(&mut self, name: &str, (one, other): (Rc<Term>, Rc<Term>), (a, b): (&mut Names<'_>, &mut Names<'_>)) {
        let are_tensors = is_tensor(&one) && is_tensor(&other) && !matches!(*one, Term::Variable(_));
        let (one, other) = if are_tensors && self.are_equal(&one, &other) {
            let stage = function(Function::Stage(self.stages), Vec::new());
            self.stages += 1;
            (stage.clone(), stage)
        } else {
            (one, other)
        };
        a.values.push((name.to_owned(), one));
        b.values.push((name.to_owned(), other));
    }
}
