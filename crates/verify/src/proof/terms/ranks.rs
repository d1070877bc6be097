//! The ranks of values, as far as the text of a rule says them.

use std::rc::Rc;

use super::parts::{function, value};
use super::{Function, Head, Maker, Term};
use tautomer_op::{AttrValue, Formula, Products, ShapeRule};
use tautomer_tensor::Dim;

impl Maker {
    /// The number of axes of a value.
    pub(super) fn rank(&self, term: &Rc<Term>) -> Rc<Term> {
        let int = |n: i64| value(AttrValue::int(n));
        let unknown = || function(Function::Field("rank".to_owned()), vec![term.clone()]);
        match &**term {
            Term::Variable(i) => self.known.rank(*i).map_or_else(unknown, int),
            Term::Value(AttrValue::Int(Dim::Const(_)) | AttrValue::Float(_) | AttrValue::Bool(_)) => int(0),
            Term::Function(Function::Typed | Function::Named("value"), _) => int(0),
            Term::Bound(key) if self.known.floats.contains(key) || self.known.integers.contains(key) => int(0),
            Term::Function(Function::When, parts) => {
                let (a, b) = (self.rank(&parts[1]), self.rank(&parts[2]));
                if a == b { a } else { unknown() }
            }
            Term::Call(head, operands, attrs) => self.rank_of_call(head, operands, attrs).unwrap_or_else(unknown),
            _ => unknown(),
        }
    }

    fn rank_of_call(&self, head: &Head, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        let called = self.called(head)?;
        if called.broadcasts {
            // Values without axes add none.
            let mut ranks: Vec<Rc<Term>> = operands.iter().map(|operand| self.rank(operand)).collect();
            let zero = value(AttrValue::int(0));
            ranks.sort();
            ranks.dedup();
            if ranks.len() > 1 {
                ranks.retain(|rank| *rank != zero);
            }
            // The largest, if it is known which one that is.
            let is_largest = |rank: &Rc<Term>| {
                ranks.iter().all(|other| {
                    let more = self.sum(rank).zip(self.sum(other));
                    rank == other
                        || more
                            .and_then(|(rank, other)| rank.plus(&other, -1))
                            .is_some_and(|more| self.is_at_least(&more, 0))
                })
            };
            return ranks.iter().find(|rank| is_largest(rank)).cloned();
        }
        let def = head.in_table()?;
        let attr = |name: &str| def.attr_index(name).and_then(|i| attrs.get(i));
        let first = operands.first();
        match def.law() {
            Formula::Reduction(_)
                if matches!(attr("keepdims").map(|a| &**a), Some(Term::Value(AttrValue::Bool(true)))) =>
            {
                Some(self.rank(first?))
            }
            Formula::Product(Products::Convolution | Products::TransposedConvolution) => Some(self.rank(first?)),
            _ if def.shapes == ShapeRule::Permute => Some(self.rank(first?)),
            // All have one rank.
            _ if def.shapes == ShapeRule::Concat => {
                let known = |rank: &Rc<Term>| matches!(**rank, Term::Value(_));
                operands.iter().map(|operand| self.rank(operand)).find(known)
            }
            _ if def.shapes == ShapeRule::Reshape => {
                let shape = attr("shape").filter(|shape| self.has_integers(shape))?;
                Some(self.len(shape.clone()))
            }
            _ => None,
        }
    }
}
