//! Elements of outputs as polynomials: over the real numbers, products are distributed over sums.
//!
//! As in [`spread`](super::spread), an output that is made of functions of elements and of `expand` has, at an index,
//! that function of one element of each operand. A vector to which axes of dimension 1 are added behind its own is
//! broadcast along one axis, so a function of vectors with as many axes added is that function of the vectors, with as
//! many added. So two outputs of one type are equal if they are one polynomial of the elements of their operands.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::laws::is_tensor;
use super::numbers::Sum;
use super::parts::{boolean, function, list, value};
use super::rows::{Equation, are_equal};
use super::types::takes_floats_alone;
use super::variables::extent;
use super::{Function, Head, Maker, Term, lists};
use tautomer_op::{AttrValue, Formula, Function as Law, ShapeRule};

/// Limit on the terms of a polynomial.
const SIZE: usize = 200;

/// Limit on the conditions of branches.
const CONDITIONS: usize = 4;

/// Products of elements, with their factors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Polynomial(BTreeMap<Vec<Rc<Term>>, i64>);

impl Polynomial {
    fn number(n: i64) -> Polynomial {
        let mut out = Polynomial::default();
        out.0.insert(Vec::new(), n);
        out.0.retain(|_, n| *n != 0);
        out
    }

    fn atom(term: Rc<Term>) -> Polynomial {
        Polynomial(BTreeMap::from([(vec![term], 1)]))
    }

    /// `self + factor * other`; `None` if it is too large.
    fn plus(mut self, other: &Polynomial, factor: i64) -> Option<Polynomial> {
        for (product, n) in &other.0 {
            let own = self.0.entry(product.clone()).or_default();
            *own = own.checked_add(n.checked_mul(factor)?)?;
        }
        self.0.retain(|_, n| *n != 0);
        (self.0.len() <= SIZE).then_some(self)
    }

    fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut out = Polynomial::default();
        for (a, n) in &self.0 {
            for (b, m) in &other.0 {
                let mut product = [a.as_slice(), b].concat();
                product.sort();
                let one = Polynomial(BTreeMap::from([(product, n.checked_mul(*m)?)]));
                out = out.plus(&one, 1)?;
            }
        }
        Some(out)
    }

    /// The polynomial as a term, equal for equal ones.
    fn term(&self) -> Rc<Term> {
        let product = |(product, n): (&Vec<Rc<Term>>, &i64)| {
            let number = value(AttrValue::int(*n));
            Rc::new(Term::Tuple(
                std::iter::once(number).chain(product.iter().cloned()).collect(),
            ))
        };
        match self.0.iter().next() {
            Some((product, 1)) if self.0.len() == 1 && product.len() == 1 => product[0].clone(),
            _ => Rc::new(Term::Tuple(self.0.iter().map(product).collect())),
        }
    }
}

/// True if two outputs of one type are one polynomial, whatever the conditions of branches in them are.
pub(super) fn are_alike(maker: &mut Maker, a: &Rc<Term>, b: &Rc<Term>) -> bool {
    let mut waiting = vec![(a.clone(), b.clone(), 0)];
    while let Some((a, b, depth)) = waiting.pop() {
        if let Some(condition) = condition(&a).or_else(|| condition(&b)) {
            let known = |maker: &mut Maker, truth: bool| {
                let truth = boolean(truth);
                Some((
                    maker.replaced(&a, &condition, &truth)?,
                    maker.replaced(&b, &condition, &truth)?,
                    depth + 1,
                ))
            };
            let (Some(one), Some(other)) = (known(maker, true), known(maker, false)) else {
                return false;
            };
            if depth >= CONDITIONS {
                return false;
            }
            waiting.extend([one, other]);
            continue;
        }
        match (maker.polynomial(&a, None), maker.polynomial(&b, None)) {
            (Some(a), Some(b)) if a == b => {}
            _ => return false,
        }
    }
    true
}

/// A condition of a branch that is true or false, and nothing else is known about it.
fn condition(term: &Term) -> Option<Rc<Term>> {
    match term {
        Term::Function(Function::When, parts) => match &*parts[0] {
            Term::Bound(_) => Some(parts[0].clone()),
            _ => parts[1..].iter().find_map(|part| condition(part)),
        },
        Term::Call(_, operands, _) => operands.iter().find_map(|operand| condition(operand)),
        _ => None,
    }
}

impl Maker {
    /// The elements of a value, with these axes behind that of a vector, if any.
    fn polynomial(&mut self, term: &Rc<Term>, behind: Option<&Rc<Term>>) -> Option<Polynomial> {
        match &**term {
            Term::Value(AttrValue::Int(d)) => d.as_const().map(Polynomial::number),
            Term::Value(AttrValue::Float(v)) if v.0.fract() == 0.0 && v.0.abs() < 1e9 => {
                Some(Polynomial::number(v.0 as i64))
            }
            Term::Call(head, operands, attrs) => self.polynomial_of_call(term, (head, operands, attrs), behind),
            _ => self.element_of(term.clone(), term, behind),
        }
    }

    /// An element that is not looked into; `of` is the value.
    fn element_of(&self, element: Rc<Term>, of: &Rc<Term>, behind: Option<&Rc<Term>>) -> Option<Polynomial> {
        let Some(behind) = behind else {
            return Some(Polynomial::atom(element));
        };
        match &*self.rank(of) {
            Term::Value(AttrValue::Int(d)) if d.as_const() == Some(0) => Some(Polynomial::atom(element)),
            Term::Value(AttrValue::Int(d)) if d.as_const() == Some(1) => {
                Some(Polynomial::atom(Rc::new(Term::Tuple(vec![element, behind.clone()]))))
            }
            _ => None,
        }
    }

    fn polynomial_of_call(
        &mut self,
        term: &Rc<Term>,
        (head, operands, attrs): (&Head, &[Rc<Term>], &[Rc<Term>]),
        behind: Option<&Rc<Term>>,
    ) -> Option<Polynomial> {
        let called = self.called(head).cloned()?;
        if let (true, None, [one]) = (called.spreads, behind, operands) {
            return self.polynomial(one, None);
        }
        if let (None, [vector], Some(n)) = (behind, operands, self.axes_behind(head, operands, attrs)) {
            return self.polynomial(vector, Some(&n));
        }
        if let (Some(axes), [whole]) = (behind, operands)
            && self.is_vector_of(head, attrs)
            && self.has_one_axis(whole, axes)
        {
            return Some(Polynomial::atom(whole.clone()));
        }
        if !called.elementwise || !called.broadcasts {
            return self.element_of(term.clone(), term, behind);
        }
        let law = head.in_table().map_or(Formula::Unstated, |def| def.law());
        let is_float = operands.iter().any(|operand| self.is_float(operand));
        let all: Option<Vec<Polynomial>> = operands
            .iter()
            .map(|operand| self.polynomial(operand, behind))
            .collect();
        let all = all?;
        match (law, all.as_slice()) {
            (Formula::Function(Law::Sum), _) => all.iter().try_fold(Polynomial::default(), |sum, one| sum.plus(one, 1)),
            (Formula::Function(Law::Product), _) => all
                .iter()
                .try_fold(Polynomial::number(1), |product, one| product.times(one)),
            (Formula::Function(Law::Difference), [a, b]) => a.clone().plus(b, -1),
            (Formula::Function(Law::Negation), [a]) => Polynomial::default().plus(a, -1),
            // Quotients of integers are rounded.
            (Formula::Function(Law::Quotient), [a, b]) if is_float => {
                let inverse = Term::Call(head.clone(), vec![value(AttrValue::int(1)), b.term()], attrs.to_vec());
                a.times(&Polynomial::atom(Rc::new(inverse)))
            }
            _ => {
                let operands = all.iter().map(Polynomial::term).collect();
                Some(Polynomial::atom(Rc::new(Term::Call(
                    head.clone(),
                    operands,
                    attrs.to_vec(),
                ))))
            }
        }
    }

    /// The axes of dimension 1 that a change of shape adds behind the axis of a vector, as a list of ones.
    fn axes_behind(&self, head: &Head, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        let def = head.in_table().filter(|def| def.shapes == ShapeRule::Reshape)?;
        let one = value(AttrValue::int(1));
        if *self.rank(operands.first()?) != *one {
            return None;
        }
        let shape = attrs.get(def.attr_index("shape")?)?;
        let parts = lists::segments(shape);
        let first = lists::entries(parts.first()?)?;
        let (_, written) = first.split_first()?;
        let is_one = |part: &Rc<Term>| match &**part {
            Term::Function(Function::Repeat, parts) => parts[0] == one,
            _ => lists::entries(part).is_some_and(|all| all.iter().all(|entry| *entry == one)),
        };
        let ones = written.iter().all(|entry| *entry == one) && parts[1..].iter().all(is_one);
        let written = list(written.to_vec());
        ones.then(|| parts[1..].iter().fold(written, |all, part| self.concat(&all, part)))
    }

    /// True for a change of shape to a vector.
    fn is_vector_of(&self, head: &Head, attrs: &[Rc<Term>]) -> bool {
        let shape = head.in_table().filter(|def| def.shapes == ShapeRule::Reshape);
        let shape = shape.and_then(|def| attrs.get(def.attr_index("shape")?));
        let length = shape.and_then(|shape| self.length(shape));
        length.is_some_and(|length| *length == Term::Value(AttrValue::int(1)))
    }

    /// True if a variable has all of its elements along one axis, with as many behind it: the dimension along that axis
    /// is the number of elements. (If that is 0, nothing that it is broadcast to has an element.)
    fn has_one_axis(&self, x: &Rc<Term>, behind: &Rc<Term>) -> bool {
        if !matches!(**x, Term::Variable(_)) {
            return false;
        }
        let field = |name: &str, of: &Rc<Term>| function(Function::Field(name.to_owned()), vec![of.clone()]);
        let mut equations: Vec<Equation> = self
            .known
            .equations
            .iter()
            .filter(|all| all.len() == 1)
            .flatten()
            .cloned()
            .collect();
        let sizes: Vec<Equation> = equations
            .iter()
            .flat_map(|(a, b)| [a, b])
            .filter_map(|side| match &**side {
                Term::Function(Function::Field(name), of) if name == "size" => Some(of[0].clone()),
                _ => None,
            })
            .filter(|of| *self.rank(of) == Term::Value(AttrValue::int(1)))
            .map(|of| (field("size", &of), extent(&of, 0)))
            .collect();
        let shape = field("shape", x);
        let has_place = |side: &&Rc<Term>| match &***side {
            Term::Function(Function::Element, parts) if parts[0] == shape => {
                let place = self.sum(&parts[1]);
                let is_inside = |place: &Sum| self.is_at_least(place, 0) || self.known.not_negative.contains(place);
                let rest = || {
                    let place = place.filter(is_inside)?.plus(&Sum::constant(1), 1)?;
                    let rest = self.sum(&self.rank(x))?.plus(&place, -1)?;
                    Some(rest == self.sum(&self.length(behind)?)?)
                };
                rest() == Some(true)
            }
            _ => false,
        };
        let places: Vec<Rc<Term>> = equations
            .iter()
            .flat_map(|(a, b)| [a, b])
            .filter(has_place)
            .cloned()
            .collect();
        equations.extend(sizes);
        let size = field("size", x);
        places.iter().any(|place| are_equal(&equations, &size, place))
    }

    /// True for a value that can only be of a floating-point type: what is made by a function of such numbers, and what
    /// has the type of one.
    fn is_float(&self, term: &Rc<Term>) -> bool {
        let Term::Call(head, operands, _) = &**term else {
            return false;
        };
        let Some(def) = head.in_table() else { return false };
        match (def.law(), operands.as_slice()) {
            (Formula::Function(Law::Sum | Law::Product | Law::Difference | Law::Quotient), all) => {
                all.iter().filter(|one| is_tensor(one)).any(|one| self.is_float(one))
            }
            (_, [one]) if super::is_movement(def) => self.is_float(one),
            (_, [_]) => takes_floats_alone(def),
            _ => false,
        }
    }
}
