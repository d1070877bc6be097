//! Terms with a part replaced, in normal form again.

use std::rc::Rc;

use super::numbers;
use super::parts::{function, list};
use super::{Function, Maker, Term};
use tautomer_op::{AttrValue, Formula, Products, ShapeRule};

impl Term {
    /// True if a term is part of another one.
    pub(super) fn mentions(&self, part: &Term) -> bool {
        self == part
            || match self {
                Term::Tuple(parts) | Term::Function(_, parts) => parts.iter().any(|own| own.mentions(part)),
                Term::Call(_, operands, attrs) => operands.iter().chain(attrs).any(|own| own.mentions(part)),
                _ => false,
            }
    }
}

impl Maker {
    /// The term with `wanted` in place of `part`; `None` if it is too large.
    pub(super) fn replaced(&mut self, term: &Rc<Term>, part: &Term, wanted: &Rc<Term>) -> Option<Rc<Term>> {
        if **term == *part {
            return Some(wanted.clone());
        }
        if !term.mentions(part) {
            return Some(term.clone());
        }
        let mut all = |parts: &[Rc<Term>]| -> Option<Vec<Rc<Term>>> {
            parts.iter().map(|own| self.replaced(own, part, wanted)).collect()
        };
        match &**term {
            Term::Tuple(parts) => Some(Rc::new(Term::Tuple(all(parts)?))),
            Term::Function(f, parts) => {
                let parts = all(parts)?;
                self.function(f, parts)
            }
            Term::Call(head, operands, attrs) => {
                let (operands, attrs) = (all(operands)?, all(attrs)?);
                let called = self.called(head)?.clone();
                self.call(called, operands, attrs)
            }
            _ => Some(term.clone()),
        }
    }

    /// A function of its operands in normal form.
    pub(super) fn function(&mut self, f: &Function, parts: Vec<Rc<Term>>) -> Option<Rc<Term>> {
        Some(match (f, parts.as_slice()) {
            (Function::List, _) => list(parts),
            (Function::Field(name), [base]) => self.field(name, base)?,
            (Function::Element, [base, index]) => self.element(base.clone(), index.clone())?,
            (Function::Slice, [base, from, to]) => self.slice(base.clone(), from.clone(), to.clone()),
            (Function::Range, [from, to]) => self.range(from.clone(), to.clone()),
            (Function::Named("len"), [base]) => self.len(base.clone()),
            (Function::Concat, [first, rest @ ..]) => {
                let mut out = first.clone();
                for part in rest {
                    out = self.concat(&out, part);
                }
                out
            }
            (Function::Sum(factors, constant), _) => {
                let mut out = numbers::Sum::constant(*constant);
                for (part, factor) in parts.iter().zip(factors) {
                    let part = self.sum(part).unwrap_or_else(|| numbers::Sum::atom(part.clone()));
                    out = out.plus(&part, *factor)?;
                }
                out.term()
            }
            (Function::IsZero, [sum]) => {
                let zero = super::parts::value(AttrValue::int(0));
                self.comparison(numbers::Compared::Equal, sum, &zero)?
            }
            (Function::IsPositive, [sum]) => {
                let zero = super::parts::value(AttrValue::int(0));
                self.comparison(numbers::Compared::Greater, sum, &zero)?
            }
            (Function::Repeat, [entry, n]) => self.repeat(entry.clone(), n.clone()),
            (Function::When, [cond, then, otherwise]) => self.when(cond.clone(), then.clone(), otherwise.clone()),
            _ => function(f.clone(), parts),
        })
    }

    /// `when cond { then } else { otherwise }`
    pub(super) fn when(&mut self, cond: Rc<Term>, then: Rc<Term>, otherwise: Rc<Term>) -> Rc<Term> {
        match &*cond {
            Term::Value(AttrValue::Bool(true)) => return then,
            Term::Value(AttrValue::Bool(false)) => return otherwise,
            _ => {}
        }
        // One side may be the other where the condition holds.
        if let Some((term, wanted)) = self.equation(&cond)
            && let Some(there) = self.replaced(&then, &term, &wanted)
            && self.replaced(&otherwise, &term, &wanted).as_ref() == Some(&there)
        {
            return otherwise;
        }
        if then == otherwise {
            return then;
        }
        function(Function::When, vec![cond, then, otherwise])
    }

    /// The element type of what an operator makes of its operands, where its row says so.
    fn dtype(&mut self, base: &Rc<Term>) -> Option<Rc<Term>> {
        if let Term::Function(Function::When, parts) = &**base {
            let (then, otherwise) = (self.field("dtype", &parts[1])?, self.field("dtype", &parts[2])?);
            return (then == otherwise).then_some(then);
        }
        let Term::Call(head, operands, attrs) = &**base else {
            return None;
        };
        let def = head.in_table()?;
        if def.law() == Formula::Function(tautomer_op::Function::Conversion) && operands.len() == 1 {
            let to = attrs.get(def.attr_index("to")?)?;
            return matches!(&**to, Term::Value(AttrValue::DType(_)) | Term::Bound(_)).then(|| to.clone());
        }
        // Both matrices have it, and all values that are joined.
        let is_shared = def.law() == Formula::Product(Products::Matrices) || def.shapes == ShapeRule::Concat;
        if let (true, [first, ..]) = (is_shared, operands.as_slice()) {
            return self.field("dtype", first);
        }
        let [one] = operands.as_slice() else { return None };
        let keeps = super::is_movement(def) || super::is_elementwise(def) && super::types::keeps_type(def);
        keeps.then(|| one.clone()).and_then(|one| self.field("dtype", &one))
    }

    /// A field of a value: `x.rank`.
    pub(super) fn field(&mut self, name: &str, base: &Rc<Term>) -> Option<Rc<Term>> {
        use tautomer_op::Function::{Difference, Product, Quotient, Sum};
        if name == "rank" {
            return Some(self.rank(base));
        }
        // Arithmetic has the element type of both operands; that of a written number is what the other one has.
        if let (true, Term::Call(head, operands, _)) = (name == "dtype", &**base)
            && let Some(Formula::Function(Difference | Product | Quotient | Sum)) = head.in_table().map(|def| def.law())
            && let Some(first) = operands.iter().find(|operand| super::laws::is_tensor(operand))
        {
            let first = self.field(name, first)?;
            // The others have it, too.
            for operand in operands.iter().filter(|operand| super::laws::is_tensor(operand)) {
                let own = self.field(name, operand)?;
                if matches!(&*own, Term::Value(_)) {
                    return Some(own);
                }
            }
            return Some(first);
        }
        if name == "dtype"
            && let Some(dtype) = self.dtype(base)
        {
            return Some(dtype);
        }
        let own = function(Function::Field(name.to_owned()), vec![base.clone()]);
        Some(self.known.equal.get(&own).cloned().unwrap_or(own))
    }
}
