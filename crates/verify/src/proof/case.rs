//! One case of a proof: its facts answer questions, and a question they leave open splits the case in two.

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::block::Block;
use super::expr::{Expr, Fun};
use super::facts::{Facts, Made, common_factors};
use tautomer_tensor::assume::Assumptions;
use tautomer_tensor::{Atom, Dim};

/// Why a case ends before both sides are compared.
#[derive(Debug)]
pub(super) enum Stop {
    /// Other cases replace it.
    Divided,
    /// The rule does not apply in it.
    Empty,
    /// It is undecided, and why.
    Open(String),
}

pub(super) type Res<T> = Result<T, Stop>;

/// The facts of a case, and the cases split off from it.
#[derive(Debug)]
pub(super) struct Case {
    facts: RefCell<Facts>,
    /// Cases to examine after this one.
    aside: RefCell<Vec<Facts>>,
    divided: Cell<bool>,
    open: Cell<bool>,
    rounded: Cell<bool>,
    version: Cell<usize>,
    fresh: Cell<u32>,
}

/// True for bound symbols, which run over a range inside an expression.
pub(super) fn is_bound(name: &str) -> bool {
    name.starts_with(['%', '#'])
}

/// True for symbols that are indices of the result.
pub(super) fn is_position(name: &str) -> bool {
    name.starts_with('@')
}

fn any_symbol(dim: &Dim, test: &dyn Fn(&str) -> bool) -> bool {
    let mut found = false;
    dim.visit_atoms(&mut |atom| found |= matches!(atom, Atom::Symbol(name) if test(name)));
    found
}

/// The quotient of the terms that `b` divides, and the sum of the other terms.
fn multiples(a: &Dim, b: &Dim) -> (Dim, Dim) {
    let (mut whole, mut rest) = (Dim::Const(0), Dim::Const(0));
    for (product, c) in a.terms() {
        let atoms: Dim = product.iter().cloned().map(Dim::atom).product();
        let term = atoms * Dim::Const(c);
        match term.exact_div(b) {
            Some(part) => whole = whole + part,
            None => rest = rest + term,
        }
    }
    (whole, rest)
}

/// The dividend and the divisor, if the expression is the remainder of a division: it is 0 if that leaves none.
fn whole_quotient(dim: &Dim) -> Option<(Dim, Dim)> {
    let mut found = None;
    dim.each_term(&mut |product, _| {
        for atom in product {
            if let Atom::FloorDiv(a, b) = atom
                && found.is_none()
            {
                let rest = a.clone() - b.clone() * Dim::atom(atom.clone());
                if *dim == rest || *dim == -rest {
                    found = Some((a.clone(), b.clone()));
                }
            }
        }
    });
    found
}

/// True if the value depends on a bound symbol.
pub(super) fn has_bound(dim: &Dim) -> bool {
    any_symbol(dim, &is_bound)
}

/// True if the value depends only on dimensions and attributes.
pub(super) fn is_size(dim: &Dim) -> bool {
    !any_symbol(dim, &|name| is_bound(name) || is_position(name))
}

impl Case {
    pub(super) fn new(facts: Facts) -> Case {
        Case {
            facts: RefCell::new(facts),
            aside: RefCell::default(),
            divided: Cell::new(false),
            open: Cell::new(false),
            rounded: Cell::new(false),
            version: Cell::new(0),
            fresh: Cell::new(0),
        }
    }

    /// The cases that were split off.
    pub(super) fn take_aside(&self) -> Vec<Facts> {
        self.aside.take()
    }

    /// Records that constants that differ in their last digits were assumed to be equal.
    pub(super) fn round(&self) {
        self.rounded.set(true);
    }

    pub(super) fn is_rounded(&self) -> bool {
        self.rounded.get()
    }

    /// True if a question of the matcher or of a type was left open.
    pub(super) fn is_left_open(&self) -> bool {
        self.open.get()
    }

    /// True if conversions to an element type with fewer digits round.
    pub(super) fn rounds(&self) -> bool {
        self.facts.borrow().rounds
    }

    /// True if nothing is promised where the source is infinite or NaN.
    pub(super) fn only_finite(&self) -> bool {
        self.facts.borrow().only_finite
    }

    /// A bound symbol that occurs nowhere else.
    pub(super) fn fresh(&self) -> Arc<str> {
        let n = self.fresh.get();
        self.fresh.set(n + 1);
        format!("%{n}").into()
    }

    /// A number of the graph: a symbol if it is a token.
    pub(super) fn number(&self, value: f64) -> Expr {
        let facts = self.facts.borrow();
        if let Some((_, between)) = facts.ordered.iter().find(|(own, _)| *own == value) {
            return Expr::apply(Fun::Between(*between), Vec::new());
        }
        let place = facts.tokens.iter().position(|t| *t == value);
        place.map_or_else(|| Expr::float(value), |i| Expr::apply(Fun::Number(i), Vec::new()))
    }

    /// The symbol for `made`.
    pub(super) fn symbol(&self, made: Made) -> Dim {
        let of_block = self.block().filter(|block| match &made {
            Made::Quotient(a, b) | Made::Remainder(a, b) => block.has(a) || block.has(b),
            Made::Whole(a) => block.has(a),
            Made::Datum(_, extent) => block.has(extent),
        });
        let names = self.facts.borrow().names.clone();
        let symbol = names.borrow_mut().symbol(made);
        if let Some(block) = of_block {
            block.add(&symbol);
        }
        symbol
    }

    /// The axis that represents several.
    pub(super) fn block(&self) -> Option<Rc<Block>> {
        self.facts.borrow().block.clone()
    }

    /// True if a value depends on an axis that represents several.
    pub(super) fn is_of_block(&self, dim: &Dim) -> bool {
        self.facts.borrow().block.as_ref().is_some_and(|block| block.has(dim))
    }

    /// True if a dimension may belong to an axis that represents several: its symbol, or a number in place of it.
    /// Products of zeros and ones stay 0 or 1, so those numbers do not count.
    pub(super) fn may_be_of_block(&self, dim: &Dim) -> bool {
        let is_number = dim.as_const().is_some_and(|n| n > 1);
        self.block().is_some_and(|block| is_number || block.has(dim))
    }

    /// The number of a question, if it is about an axis that represents several.
    fn question(&self, dim: &Dim) -> Option<u32> {
        self.block().filter(|block| block.has(dim)).map(|block| block.ask())
    }

    /// The facts of the case, which has ended.
    pub(super) fn facts(&self) -> Ref<'_, Facts> {
        self.facts.borrow()
    }

    /// Reports a stop during an evaluation that could not return it.
    pub(super) fn stopped(&self) -> Res<()> {
        if self.divided.get() {
            return Err(Stop::Divided);
        }
        if self.open.get() {
            return Err(Stop::Open("a condition or type depends on an unknown dimension".into()));
        }
        Ok(())
    }

    pub(super) fn resolve(&self, dim: &Dim) -> Dim {
        self.facts.borrow().resolve(dim)
    }

    pub(super) fn known_zero(&self, dim: &Dim) -> Option<bool> {
        let dim = self.simplified(dim);
        self.facts.borrow().zero(&dim)
    }

    pub(super) fn known_sign(&self, dim: &Dim) -> Option<bool> {
        let dim = self.simplified(dim);
        self.facts.borrow().sign(&dim)
    }

    pub(super) fn follows(&self, dim: &Dim) -> bool {
        self.facts.borrow().follows(&self.resolve(dim))
    }

    /// The symbols for sizes.
    pub(super) fn symbols(&self) -> Vec<Dim> {
        let mut out: Vec<Dim> = Vec::new();
        for fact in &self.facts.borrow().at_least_zero {
            fact.visit_atoms(&mut |atom| {
                if let Atom::Symbol(name) = atom
                    && !is_bound(name)
                    && !is_position(name)
                {
                    out.push(Dim::atom(atom.clone()));
                }
            });
        }
        out.sort();
        out.dedup();
        out
    }

    /// The number of facts this case has learned.
    pub(super) fn version(&self) -> usize {
        self.version.get()
    }

    fn learn(&self, add: impl FnOnce(&mut Facts)) {
        self.version.set(self.version.get() + 1);
        add(&mut self.facts.borrow_mut());
    }

    /// Continues in another case, in which the value is 0.
    fn go_where_zero(&self, dim: &Dim) -> Res<bool> {
        let mut next = self.facts.borrow().unscoped();
        if next.equate(dim, &is_position) {
            self.aside.borrow_mut().push(next);
            self.divided.set(true);
            return Err(Stop::Divided);
        }
        Ok(true)
    }

    /// Whether the value is 0. If the facts leave that open, the case is split, and this one continues with the value
    /// not 0.
    pub(super) fn is_zero(&self, dim: &Dim) -> Res<bool> {
        self.in_bounds()?;
        let dim = self.simplified(dim);
        if dim.as_const().is_none() && !has_bound(&dim) {
            for atom in common_factors(&dim) {
                let factor = Dim::atom(atom);
                if factor != dim && self.is_zero(&factor)? {
                    return Ok(true);
                }
            }
        }
        let dim = self.facts.borrow().cancelled(&dim);
        match self.known_zero(&dim) {
            // Continue in a case that defines a symbol by the equation.
            Some(true) if dim.as_const().is_none() && !has_bound(&dim) => return self.go_where_zero(&dim),
            Some(known) => return Ok(known),
            None => {}
        }
        if has_bound(&dim) {
            return Err(Stop::Open(format!("whether {dim} is 0 depends on a bound index")));
        }
        let mut zero = self.facts.borrow().unscoped();
        if let Some(question) = self.question(&dim) {
            zero.answers_of_block.push((question, true));
            self.facts.borrow_mut().answers_of_block.push((question, false));
        }
        // Which of two values is the larger may turn the equation into one that defines a symbol.
        if !zero.equate(&dim, &is_position)
            && let Some(difference) = self.open_order(&dim)
        {
            self.is_at_least_zero(&difference)?;
            return self.is_zero(&dim);
        }
        self.aside.borrow_mut().push(zero);
        self.learn(|facts| facts.add_not_zero(dim));
        Ok(false)
    }

    /// The difference of two values of which `dim` contains the larger or the smaller, if its sign is not known.
    fn open_order(&self, dim: &Dim) -> Option<Dim> {
        let mut found = None;
        dim.visit_atoms(&mut |atom| {
            if let Atom::Min(a, b) | Atom::Max(a, b) = atom {
                found = Some(a.clone() - b.clone());
            }
        });
        found.filter(|d| !has_bound(d) && !self.is_of_block(d) && self.known_sign(d).is_none())
    }

    /// Whether the value is at least 0. If the facts leave that open, the case is split, and this one continues with
    /// the value at least 0.
    pub(super) fn is_at_least_zero(&self, dim: &Dim) -> Res<bool> {
        self.in_bounds()?;
        if let Some(known) = self.known_sign(dim) {
            return Ok(known);
        }
        let dim = self.simplified(dim);
        if has_bound(&dim) {
            return Err(Stop::Open(format!("the sign of {dim} depends on a bound index")));
        }
        // Either case may turn out to be an equation.
        let below = -dim.clone() - Dim::Const(1);
        let mut other = self.facts.borrow().unscoped();
        if let Some(question) = self.question(&dim) {
            other.answers_of_block.push((question, false));
            self.facts.borrow_mut().answers_of_block.push((question, true));
        }
        if other.follows(&-below.clone()) {
            other.equate(&below, &is_position);
        } else {
            other.add(below);
        }
        self.aside.borrow_mut().push(other);
        if self.follows(&-dim.clone()) {
            let mut this = self.facts.borrow().unscoped();
            if this.equate(&dim, &is_position) {
                self.aside.borrow_mut().push(this);
                self.divided.set(true);
                return Err(Stop::Divided);
            }
        }
        self.learn(|facts| facts.add(dim));
        Ok(true)
    }

    /// Assumes that the value is 0; if it cannot be, the case is empty.
    pub(super) fn assume_zero(&self, dim: &Dim) -> Res<()> {
        let dim = self.facts.borrow().cancelled(&self.simplified(dim));
        if let Some((a, b)) = whole_quotient(&dim)
            && self.known_zero(&dim).is_none()
        {
            return self.assume_multiple(&a, &b).map(|_| ());
        }
        match self.known_zero(&dim) {
            Some(true) if dim.as_const().is_some() => Ok(()),
            Some(false) => Err(Stop::Empty),
            known => {
                self.go_where_zero(&dim)?;
                if known.is_none() {
                    self.learn(|facts| _ = facts.equate(&dim, &|_| true));
                }
                Ok(())
            }
        }
    }

    /// Assumes that the value is at least 0; if it cannot be, the case is empty.
    pub(super) fn assume_at_least_zero(&self, dim: &Dim) -> Res<()> {
        match self.known_sign(dim) {
            Some(true) => Ok(()),
            Some(false) => Err(Stop::Empty),
            None => {
                let dim = self.simplified(dim);
                self.learn(|facts| facts.add(dim));
                Ok(())
            }
        }
    }

    /// Assumes that `divisor` divides `dim`, and returns the quotient, as a new symbol if necessary.
    pub(super) fn assume_multiple(&self, dim: &Dim, divisor: &Dim) -> Res<Dim> {
        let (dim, divisor) = (self.simplified(dim), self.simplified(divisor));
        if let Some(quotient) = dim.exact_div(&divisor) {
            return Ok(quotient);
        }
        let quotient = self.symbol(Made::Quotient(dim.clone(), divisor.clone()));
        let equation = dim - divisor * quotient.clone();
        // An equation that defines no symbol is kept as two inequalities.
        if self.known_zero(&equation) == Some(true) {
            return Ok(quotient);
        }
        let mut next = self.facts.borrow().unscoped();
        next.add(quotient);
        next.equate(&equation, &is_position);
        self.aside.borrow_mut().push(next);
        Err(Stop::Divided)
    }

    /// Introduces symbols for quotient and remainder of a nonnegative value, and expresses the dividend by them.
    pub(super) fn assume_quotient(&self, dim: &Dim, divisor: &Dim) -> Res<Dim> {
        let (dim, divisor) = (self.simplified(dim), self.simplified(divisor));
        if let Some(quotient) = self.quotient(&dim, &divisor) {
            return Ok(quotient);
        }
        let quotient = self.symbol(Made::Quotient(dim.clone(), divisor.clone()));
        let rest = self.symbol(Made::Remainder(dim.clone(), divisor.clone()));
        let mut next = self.facts.borrow().unscoped();
        next.add(quotient.clone());
        next.add(rest.clone());
        next.add(divisor.clone() - Dim::Const(1) - rest.clone());
        if !next.equate(&(dim.clone() - divisor.clone() * quotient - rest), &is_position) {
            return Ok(dim.floor_div(&divisor));
        }
        self.aside.borrow_mut().push(next);
        Err(Stop::Divided)
    }

    /// A symbol for a nonnegative value.
    pub(super) fn assume_named(&self, dim: &Dim) -> Res<Dim> {
        let dim = self.simplified(dim);
        if dim.as_const().is_some() || dim.as_symbol().is_some() {
            return Ok(dim);
        }
        let name = self.symbol(Made::Whole(dim.clone()));
        let mut next = self.facts.borrow().unscoped();
        next.add(name.clone());
        if !next.equate(&(dim.clone() - name), &is_position) {
            return Ok(dim);
        }
        self.aside.borrow_mut().push(next);
        Err(Stop::Divided)
    }

    /// Runs `f` while `facts` hold.
    pub(super) fn within<T>(&self, facts: &[Dim], f: impl FnOnce() -> Res<T>) -> Res<T> {
        self.in_bounds()?;
        for fact in facts {
            self.facts.borrow_mut().enter(fact.clone());
        }
        let out = f();
        self.facts.borrow_mut().leave(facts.len());
        out
    }

    /// An error if the proof has spent its effort.
    pub(super) fn in_bounds(&self) -> Res<()> {
        if self.facts.borrow().effort.is_spent() {
            return Err(Stop::Open("the proof exceeds its effort limit".to_owned()));
        }
        Ok(())
    }

    /// The facts about bound symbols.
    pub(super) fn scope(&self) -> Vec<Dim> {
        self.facts.borrow().in_scope().to_vec()
    }

    /// True if `facts` contradict this case.
    pub(super) fn contradicts(&self, facts: &[Dim]) -> bool {
        self.within(facts, || Ok(self.facts.borrow().is_empty()))
            .unwrap_or(false)
    }

    /// The larger value.
    pub(super) fn max(&self, a: &Dim, b: &Dim) -> Res<Dim> {
        let difference = a.clone() - b.clone();
        // Of several axes, each may have another answer.
        if self.is_of_block(&difference) && self.known_sign(&difference).is_none() {
            return Ok(a.maximum(b));
        }
        let larger = self.is_at_least_zero(&difference)?;
        Ok(if larger { a.clone() } else { b.clone() })
    }

    /// The smaller value.
    pub(super) fn min(&self, a: &Dim, b: &Dim) -> Res<Dim> {
        let difference = a.clone() - b.clone();
        if self.is_of_block(&difference) && self.known_sign(&difference).is_none() {
            return Ok(a.minimum(b));
        }
        let larger = self.is_at_least_zero(&difference)?;
        Ok(if larger { b.clone() } else { a.clone() })
    }

    /// The quotient, rounded down, and the remainder.
    pub(super) fn divide(&self, a: &Dim, b: &Dim) -> (Dim, Dim) {
        let (a, b) = (self.simplified(a), self.simplified(b));
        let quotient = self.quotient(&a, &b).unwrap_or_else(|| {
            let (whole, rest) = multiples(&a, &b);
            whole + self.floor_of(&rest, &b)
        });
        let rest = a - b * quotient.clone();
        (quotient, rest)
    }

    /// The quotient as a division; that of a quotient is the one by both divisors, if these are positive.
    fn floor_of(&self, a: &Dim, b: &Dim) -> Dim {
        match a.as_atom() {
            Some(Atom::FloorDiv(inner, divisor))
                if divisor.as_const().is_none() && self.is_positive(divisor) && self.is_positive(b) =>
            {
                self.floor_of(inner, &(divisor.clone() * b.clone()))
            }
            _ => a.floor_div(b),
        }
    }

    fn is_positive(&self, dim: &Dim) -> bool {
        self.follows(&(dim.clone() - Dim::Const(1)))
    }

    /// The quotient without a division atom, if the facts determine it.
    fn quotient(&self, a: &Dim, b: &Dim) -> Option<Dim> {
        if let Some(whole) = a.exact_div(b) {
            return Some(whole);
        }
        if self.follows(a) && self.follows(&(b.clone() - Dim::Const(1) - a.clone())) {
            return Some(Dim::Const(0));
        }
        let (whole, rest) = multiples(a, b);
        let below = rest.clone() + Dim::Const(1);
        if self.follows(&rest) {
            if self.follows(&(b.clone() - below)) {
                return Some(whole);
            }
        } else if self.follows(&-below) && self.follows(&(rest.clone() + b.clone())) {
            return Some(whole - Dim::Const(1));
        }
        // A quotient that cancels.
        let part = rest.floor_div(b);
        if let Some(atom) = part.as_atom() {
            let out = whole + part.clone();
            let mut left = false;
            out.visit_atoms(&mut |a| left |= a == atom);
            if !left {
                return Some(out);
            }
        }
        // Divide by the factors of the divisor one after the other.
        let terms = b.terms();
        let [(product, c)] = terms.as_slice() else { return None };
        let mut factors: Vec<Dim> = product.iter().cloned().map(Dim::atom).collect();
        if *c > 1 {
            factors.push(Dim::Const(*c));
        }
        if factors.len() < 2 {
            return None;
        }
        factors.into_iter().find_map(|factor| {
            let others = b.exact_div(&factor)?;
            let first = self.quotient(a, &factor)?;
            self.quotient(&first, &others)
        })
    }

    /// The value simplified by the facts.
    pub(super) fn simplified(&self, dim: &Dim) -> Dim {
        let dim = self.resolve(dim);
        let mut composite = false;
        dim.visit_atoms(&mut |atom| composite |= !matches!(atom, Atom::Symbol(_) | Atom::Unknown(_)));
        if !composite {
            return dim;
        }
        dim.substitute(&|atom| match atom {
            Atom::FloorDiv(a, b) => {
                let (a, b) = (self.simplified(a), self.simplified(b));
                Some(self.quotient(&a, &b).unwrap_or_else(|| self.floor_of(&a, &b)))
            }
            Atom::Mod(a, b) => Some(self.divide(a, b).1),
            Atom::Min(a, b) | Atom::Max(a, b) => {
                let (a, b) = (self.simplified(a), self.simplified(b));
                let largest = matches!(atom, Atom::Max(..));
                Some(match self.facts.borrow().sign(&(a.clone() - b.clone())) {
                    Some(not_less) => {
                        if not_less == largest {
                            a
                        } else {
                            b
                        }
                    }
                    None if self.follows(&(b.clone() - a.clone())) => {
                        if largest {
                            b
                        } else {
                            a
                        }
                    }
                    None if largest => a.maximum(&b),
                    None => a.minimum(&b),
                })
            }
            Atom::Symbol(_) | Atom::Unknown(_) => None,
        })
    }
}

impl Case {
    /// The answer, or a placeholder until the case is abandoned.
    fn answer(&self, value: &Dim, answer: Res<bool>) -> bool {
        match answer {
            Ok(answer) if !value.has_unknown() => answer,
            Err(Stop::Divided) => {
                self.divided.set(true);
                true
            }
            _ => {
                self.open.set(true);
                false
            }
        }
    }
}

impl Assumptions for Case {
    fn is_zero(&self, value: &Dim) -> bool {
        self.answer(value, self.is_zero(value))
    }

    fn is_negative(&self, value: &Dim) -> bool {
        self.answer(value, self.is_at_least_zero(value).map(|not| !not))
    }

    fn left_open(&self) {
        self.open.set(true);
    }
}
