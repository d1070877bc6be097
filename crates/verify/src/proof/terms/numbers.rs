//! Integers in the attributes of a rule: sums of ranks, axes and dimensions in a normal form, and their bounds.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::parts::{boolean, function, value};
use super::{Function, Maker, Term};
use tautomer_op::{AttrValue, Formula, known, lookup};
use tautomer_tensor::Dim;

/// A sum of terms with factors, and a constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sum {
    parts: BTreeMap<Rc<Term>, i64>,
    constant: i64,
}

impl Sum {
    pub(super) fn constant(constant: i64) -> Sum {
        Sum {
            parts: BTreeMap::new(),
            constant,
        }
    }

    pub(super) fn atom(term: Rc<Term>) -> Sum {
        Sum {
            parts: BTreeMap::from([(term, 1)]),
            constant: 0,
        }
    }

    /// `self + factor * other`; `None` if a number is too large.
    pub(super) fn plus(&self, other: &Sum, factor: i64) -> Option<Sum> {
        let mut out = self.clone();
        out.constant = out.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (term, n) in &other.parts {
            let own = out.parts.entry(term.clone()).or_default();
            *own = own.checked_add(n.checked_mul(factor)?)?;
        }
        out.parts.retain(|_, n| *n != 0);
        Some(out)
    }

    /// For a sum with one term: the term, its factor and the constant.
    pub(super) fn of_one(&self) -> Option<(Rc<Term>, i64, i64)> {
        let (term, factor) = self.parts.first_key_value()?;
        (self.parts.len() == 1).then(|| (term.clone(), *factor, self.constant))
    }

    pub(super) fn as_constant(&self) -> Option<i64> {
        self.parts.is_empty().then_some(self.constant)
    }

    pub(super) fn term(self) -> Rc<Term> {
        if self.parts.is_empty() {
            return value(AttrValue::int(self.constant));
        }
        if self.constant == 0
            && self.parts.len() == 1
            && let Some((term, 1)) = self.parts.first_key_value()
        {
            return term.clone();
        }
        let (terms, factors) = self.parts.into_iter().unzip();
        function(Function::Sum(factors, self.constant), terms)
    }

    /// The sum or its negation, whichever has a first factor above 0: both are 0 at the same values.
    fn up_to_sign(self) -> Option<Sum> {
        match self.parts.values().next() {
            Some(n) if *n < 0 => Sum::constant(0).plus(&self, -1),
            _ => Some(self),
        }
    }

    /// A term and what it is where the sum is 0.
    fn solved(&self) -> Option<(Rc<Term>, Rc<Term>)> {
        let (term, n) = self.parts.iter().rev().find(|(_, n)| n.abs() == 1)?;
        let rest = self.plus(&Sum::atom(term.clone()), -n)?;
        Some((term.clone(), Sum::constant(0).plus(&rest, -n)?.term()))
    }
}

/// A comparison of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compared {
    Equal,
    Different,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Maker {
    /// True for terms that are integers: what is computed from ranks, dimensions and the names of integers.
    pub(super) fn is_integer(&self, term: &Term) -> bool {
        match term {
            Term::Value(AttrValue::Int(_)) | Term::Function(Function::Sum(..), _) => true,
            Term::Local(i) => self.integers_of_loops.contains(i),
            Term::Bound(key) => self.known.integers.contains(key),
            Term::Function(Function::Field(name), _) => name == "rank" || name == "size",
            Term::Function(Function::Named("len"), _) => true,
            Term::Function(Function::Element, parts) => self.has_integers(&parts[0]),
            Term::Call(head, operands, _) => {
                use tautomer_op::Function::{Difference, Product, Quotient, Sum};
                head.in_table()
                    .is_some_and(|def| matches!(def.law(), Formula::Function(Difference | Product | Quotient | Sum)))
                    && operands.iter().all(|operand| self.is_integer(operand))
            }
            _ => false,
        }
    }

    /// An integer as a sum.
    pub(super) fn sum(&self, term: &Rc<Term>) -> Option<Sum> {
        match &**term {
            Term::Value(AttrValue::Int(Dim::Const(n))) => Some(Sum::constant(*n)),
            Term::Function(Function::Sum(factors, constant), parts) => Some(Sum {
                parts: parts.iter().cloned().zip(factors.iter().copied()).collect(),
                constant: *constant,
            }),
            _ => self.is_integer(term).then(|| Sum::atom(term.clone())),
        }
    }

    /// `a + factor * b`
    pub(super) fn plus(&self, a: &Rc<Term>, b: &Rc<Term>, factor: i64) -> Option<Rc<Term>> {
        Some(self.sum(a)?.plus(&self.sum(b)?, factor)?.term())
    }

    /// `a * b`, if one of them is a number.
    pub(super) fn times(&self, a: &Rc<Term>, b: &Rc<Term>) -> Option<Rc<Term>> {
        let (a, b) = (self.sum(a)?, self.sum(b)?);
        let (sum, factor) = match (a.as_constant(), b.as_constant()) {
            (Some(n), _) => (b, n),
            (_, Some(n)) => (a, n),
            _ => return None,
        };
        Some(Sum::constant(0).plus(&sum, factor)?.term())
    }

    /// The largest number that a sum is known to reach or exceed.
    pub(super) fn least(&self, sum: &Sum) -> Option<i64> {
        let mut sum = sum.clone();
        // An axis lies below the rank of the value whose axis it is.
        while let Some((axis, factor)) = sum
            .parts
            .iter()
            .find(|(term, n)| **n < 0 && self.known.axis(term).is_some())
            .map(|(term, n)| (term.clone(), *n))
        {
            let rank = self.sum(self.known.axis(&axis)?)?;
            let most = rank.plus(&Sum::constant(1), -1)?;
            sum = sum.plus(&Sum::atom(axis), -factor)?.plus(&most, factor)?;
        }
        // No list of axes without repeated ones is longer than there are axes.
        while let Some((length, factor)) = sum
            .parts
            .iter()
            .find(|(term, n)| **n < 0 && self.known.longest(term).is_some())
            .map(|(term, n)| (term.clone(), *n))
        {
            let most = self.sum(self.known.longest(&length)?)?;
            sum = sum.plus(&Sum::atom(length), -factor)?.plus(&most, factor)?;
        }
        let mut least = sum.constant;
        for (term, n) in &sum.parts {
            let (low, high) = self.known.bounds(term);
            let bound = if *n > 0 { low? } else { high? };
            least = least.checked_add(n.checked_mul(bound)?)?;
        }
        Some(least)
    }

    pub(super) fn is_at_least(&self, sum: &Sum, n: i64) -> bool {
        self.least(sum).is_some_and(|least| least >= n)
    }

    /// A comparison of two integers, decided if the facts decide it.
    pub(super) fn comparison(&self, op: Compared, a: &Rc<Term>, b: &Rc<Term>) -> Option<Rc<Term>> {
        use Compared::{Different, Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
        let (a, b) = (self.sum(a)?, self.sum(b)?);
        let difference = a.plus(&b, -1)?;
        let opposite = b.plus(&a, -1)?;
        let one = Sum::constant(1);
        match op {
            Equal => self.is_zero(difference),
            Different => match &*self.is_zero(difference)? {
                Term::Value(AttrValue::Bool(b)) => Some(boolean(!b)),
                _ => None,
            },
            Greater => Some(self.is_positive(difference)),
            Less => Some(self.is_positive(opposite)),
            GreaterOrEqual => Some(self.is_positive(difference.plus(&one, 1)?)),
            LessOrEqual => Some(self.is_positive(opposite.plus(&one, 1)?)),
        }
    }

    fn is_zero(&self, sum: Sum) -> Option<Rc<Term>> {
        let opposite = Sum::constant(0).plus(&sum, -1)?;
        if self.is_at_least(&sum, 1) || self.is_at_least(&opposite, 1) {
            return Some(boolean(false));
        }
        if self.is_at_least(&sum, 0) && self.is_at_least(&opposite, 0) {
            return Some(boolean(true));
        }
        Some(function(Function::IsZero, vec![sum.up_to_sign()?.term()]))
    }

    fn is_positive(&self, sum: Sum) -> Rc<Term> {
        if self.is_at_least(&sum, 1) {
            return boolean(true);
        }
        let opposite = Sum::constant(0).plus(&sum, -1);
        if opposite.is_some_and(|opposite| self.is_at_least(&opposite, 0)) {
            return boolean(false);
        }
        function(Function::IsPositive, vec![sum.term()])
    }

    /// A term, and what it is where a condition holds.
    pub(super) fn equation(&self, cond: &Term) -> Option<(Rc<Term>, Rc<Term>)> {
        match cond {
            Term::Function(Function::IsZero, parts) => self.sum(&parts[0])?.solved(),
            _ => None,
        }
    }

    /// `a && b`
    pub(super) fn both(&mut self, a: Rc<Term>, b: Rc<Term>) -> Option<Rc<Term>> {
        let both = super::Called::operator(lookup(known::AND)?);
        let known = |term: &Term| match term {
            Term::Value(AttrValue::Bool(b)) => Some(*b),
            _ => None,
        };
        match (known(&a), known(&b)) {
            (Some(false), _) | (_, Some(false)) => return Some(boolean(false)),
            (Some(true), _) => return Some(b),
            (_, Some(true)) => return Some(a),
            _ => {}
        }
        // The second may be false wherever the first holds.
        let mut waiting = vec![a.clone()];
        while let Some(part) = waiting.pop() {
            if let Some((term, wanted)) = self.equation(&part)
                && let Some(there) = self.replaced(&b, &term, &wanted)
                && known(&there) == Some(false)
            {
                return Some(boolean(false));
            }
            if let Term::Call(head, operands, _) = &*part
                && *head == both.head
            {
                waiting.extend(operands.iter().cloned());
            }
        }
        self.call(both, vec![a, b], Vec::new())
    }
}
