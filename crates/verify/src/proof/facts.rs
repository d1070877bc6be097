//! The facts about the symbols in one case of a proof, and their consequences.

mod derive;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::block::{Answer, Block};
use super::expr::{Expr, replaced};
use super::linear;
use super::models::Models;
use super::order::Between;
use tautomer_tensor::{Atom, Dim};

/// Limit on the inequalities that are compared for a proof of two graphs.
pub(super) const EFFORT: u64 = 5_000_000;

/// The meaning of a symbol introduced by the proof.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Made {
    /// A quotient, rounded down.
    Quotient(Dim, Dim),
    /// A remainder.
    Remainder(Dim, Dim),
    /// An expression.
    Whole(Dim),
    /// An index that is data, along an axis of that dimension.
    Datum(Expr, Dim),
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Made::Quotient(a, b) => write!(f, "({a})/({b})"),
            Made::Remainder(a, b) => write!(f, "({a})%({b})"),
            Made::Whole(a) => write!(f, "({a})"),
            Made::Datum(number, extent) => write!(f, "@{number} in {extent}"),
        }
    }
}

/// The symbols introduced by the proof. Each has one meaning, even if two print alike.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: FxHashMap<Made, Dim>,
    taken: FxHashSet<String>,
}

impl Names {
    /// The symbol for `made`.
    pub(super) fn symbol(&mut self, made: Made) -> Dim {
        if let Some(known) = self.known.get(&made) {
            return known.clone();
        }
        let mut name = made.to_string();
        while !self.taken.insert(name.clone()) {
            name.push('\'');
        }
        let symbol = Dim::symbol(&name);
        self.known.insert(made, symbol.clone());
        symbol
    }
}

/// How many inequalities may still be compared for a rule; once this is 0, nothing more can be derived.
#[derive(Debug)]
pub(super) struct Effort {
    left: Cell<u64>,
    limit: u64,
    /// The budget that this one is a part of.
    whole: Option<Rc<Effort>>,
}

impl Effort {
    /// A budget of that many comparisons.
    pub(super) fn of(limit: u64) -> Effort {
        Effort {
            left: Cell::new(limit),
            limit,
            whole: None,
        }
    }

    /// Half of what is left of a budget.
    pub(super) fn half(self: &Rc<Effort>) -> Effort {
        Effort {
            whole: Some(self.clone()),
            ..Effort::of(self.left.get() / 2)
        }
    }

    /// The whole budget.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    pub(super) fn spend(&self, inequalities: usize) {
        self.left.set(self.left.get().saturating_sub(inequalities as u64));
        if let Some(whole) = &self.whole {
            whole.spend(inequalities);
        }
    }
}

impl Default for Effort {
    fn default() -> Effort {
        Effort::of(EFFORT)
    }
}

/// Known answers to a question: each is the answer as long as the facts are the same, or, if it follows, at least these.
#[derive(Debug, Clone, Copy, Default)]
struct Answered {
    /// It follows in that scope, and in those within.
    follows: Option<u32>,
    /// It does not follow in that scope, after so many facts were learned.
    open: Option<(u32, u32)>,
}

/// The scope of the facts that always hold.
const ALWAYS: u32 = 0;

/// The facts of a case: symbols defined by expressions, and expressions that are nonnegative or nonzero.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Symbols defined by an equation, with their values.
    pub(super) defined: Vec<(Arc<str>, Dim)>,
    /// Each is at least 0.
    pub(super) at_least_zero: Vec<Dim>,
    /// Each is different from 0.
    pub(super) not_zero: Vec<Dim>,
    /// The last inequalities hold only while bound symbols are in scope: a number for each of them, which none had before.
    scopes: Vec<u32>,
    /// How many inequalities have been in scope.
    entered: u32,
    /// How many inequalities were learned that hold in all scopes.
    learned: u32,
    /// Known answers to [`follows`](Facts::follows).
    answers: RefCell<FxHashMap<Dim, Answered>>,
    models: RefCell<Models>,
    /// Shared with the cases it was split from and those split from it.
    pub(super) effort: Rc<Effort>,
    /// Shared likewise.
    pub(super) names: Rc<RefCell<Names>>,
    /// Tokens: numbers that each represent one arbitrary number.
    pub(super) tokens: Rc<[f64]>,
    /// Numbers that each represent every number between two others.
    pub(super) ordered: Rc<[(f64, Between)]>,
    /// True if a conversion to an element type with fewer digits is a separate function; over the reals it is the
    /// identity.
    pub(super) rounds: bool,
    /// True if nothing is promised where the source is infinite or NaN.
    pub(super) only_finite: bool,
    /// The axis that represents several, if there is one.
    pub(super) block: Option<Rc<Block>>,
    /// Answers to the questions about that axis.
    pub(super) answers_of_block: Vec<Answer>,
    /// Cached least values of atoms.
    lower: RefCell<FxHashMap<Atom, Option<i64>>>,
}

impl Facts {
    /// The expression with defined symbols replaced.
    pub(super) fn resolve(&self, dim: &Dim) -> Dim {
        if self.defined.is_empty() || dim.as_const().is_some() {
            return dim.clone();
        }
        dim.substitute(&|atom| match atom {
            Atom::Symbol(name) => self.defined.iter().find(|(n, _)| n == name).map(|(_, d)| d.clone()),
            _ => None,
        })
    }

    /// Adds that `dim` is at least 0.
    pub(super) fn add(&mut self, dim: Dim) {
        let dim = self.resolve(&dim);
        // A negative constant is kept: it makes the case empty.
        if dim.as_const().map_or(!self.at_least_zero.contains(&dim), |v| v < 0) {
            let at = self.at_least_zero.len() - self.scopes.len();
            self.models.borrow_mut().keep(&dim);
            self.lower.borrow_mut().clear();
            let larger = larger_value(&dim);
            self.at_least_zero.insert(at, dim);
            self.learned += 1;
            if let Some(larger) = larger {
                self.add(larger);
            }
        }
    }

    /// Adds that `dim` is not 0.
    pub(super) fn add_not_zero(&mut self, dim: Dim) {
        let minus = -dim.clone();
        if self.follows(&dim) {
            self.add(dim.clone() - Dim::Const(1));
        } else if self.follows(&minus) {
            self.add(minus - Dim::Const(1));
        }
        self.not_zero.push(dim);
    }

    /// Adds that `dim` is at least 0 until [`leave`](Facts::leave).
    pub(super) fn enter(&mut self, dim: Dim) {
        let dim = self.resolve(&dim);
        self.models.borrow_mut().keep(&dim);
        self.lower.borrow_mut().clear();
        self.at_least_zero.push(dim);
        self.entered += 1;
        self.scopes.push(self.entered);
    }

    /// Removes the last `n` facts that were entered.
    pub(super) fn leave(&mut self, n: usize) {
        self.scopes.truncate(self.scopes.len() - n);
        self.lower.borrow_mut().clear();
        self.at_least_zero.truncate(self.at_least_zero.len() - n);
    }

    /// The facts that are entered and not yet left.
    pub(super) fn in_scope(&self) -> &[Dim] {
        &self.at_least_zero[self.at_least_zero.len() - self.scopes.len()..]
    }

    /// The case without the facts in scope.
    pub(super) fn unscoped(&self) -> Facts {
        let mut out = self.clone();
        out.leave(self.scopes.len());
        let open = Some((ALWAYS, self.learned));
        let still = |answered: &Answered| answered.follows == Some(ALWAYS) || answered.open == open;
        out.answers.borrow_mut().retain(|_, answered| still(answered));
        out
    }

    /// Adds that `dim` is 0. Returns true if that defines a symbol.
    pub(super) fn equate(&mut self, dim: &Dim, fixed: &dyn Fn(&str) -> bool) -> bool {
        let dim = self.cancelled(&self.resolve(dim));
        if let Some(parts) = self.at_least_values(&dim) {
            let mut any = false;
            for part in parts {
                any |= self.equate(&part, fixed);
            }
            return any;
        }
        let Some((symbol, value)) = solved(&dim, fixed) else {
            self.add(dim.clone());
            self.add(-dim);
            return false;
        };
        for (_, d) in &mut self.defined {
            *d = replaced(d, &symbol, &value);
        }
        for d in self.at_least_zero.iter_mut().chain(&mut self.not_zero) {
            *d = replaced(d, &symbol, &value);
        }
        self.models.borrow_mut().define(&symbol, &value, &self.at_least_zero);
        self.defined.push((symbol, value));
        self.lower.borrow_mut().clear();
        self.answers.borrow_mut().clear();
        true
    }

    /// The expression divided by common factors that are not 0: it is 0 exactly where `dim` is.
    pub(super) fn cancelled(&self, dim: &Dim) -> Dim {
        let mut out = dim.clone();
        let mut common = 0;
        dim.each_term(&mut |_, c| common = linear::gcd(common, i128::from(c).abs()));
        if let Ok(common) = i64::try_from(common)
            && common > 1
            && let Some(rest) = out.exact_div(&Dim::Const(common))
        {
            out = rest;
        }
        for atom in common_factors(dim) {
            let factor = Dim::atom(atom);
            if self.zero(&factor) == Some(false)
                && let Some(rest) = out.exact_div(&factor)
            {
                out = rest;
            }
        }
        out
    }

    /// Equations that follow if `dim` is 0 and a sum of products is as small as the least values of its atoms allow.
    fn at_least_values(&self, dim: &Dim) -> Option<Vec<Dim>> {
        let mut terms = dim.terms();
        if terms.len() < 2 || terms.iter().all(|(p, _)| p.len() < 2) {
            return None;
        }
        if terms.last().is_some_and(|(_, c)| *c < 0) {
            terms.iter_mut().for_each(|(_, c)| *c = -*c);
        }
        // A product of nonnegative integers is 1 only if each is 1.
        if let [(one, -1), (product, 1)] = terms.as_slice()
            && one.is_empty()
        {
            self.least_product(product)?;
            return Some(product.iter().map(|a| Dim::atom(a.clone()) - Dim::Const(1)).collect());
        }
        if let Some(factors) = self.factors_of_one(dim) {
            return Some(factors);
        }
        let mut sum = 0i64;
        for (product, c) in &terms {
            if product.is_empty() {
                sum = sum.checked_add(*c)?;
            } else if *c < 0 {
                return None;
            } else {
                sum = sum.checked_add(c.checked_mul(self.least_product(product)?)?)?;
            }
        }
        if sum != 0 {
            return None;
        }
        let mut out = Vec::new();
        for (product, _) in terms.iter().filter(|(p, _)| !p.is_empty()) {
            let atoms = product
                .iter()
                .map(|a| (Dim::atom(a.clone()), self.least(a).unwrap_or(0)));
            let above: Vec<(Dim, i64)> = atoms.collect();
            if above.iter().all(|(_, least)| *least > 0) {
                out.extend(above.into_iter().map(|(a, least)| a - Dim::Const(least)));
            } else {
                let mut zero = above.into_iter().filter(|(_, least)| *least == 0);
                if let (Some((a, _)), None) = (zero.next(), zero.next()) {
                    out.push(a);
                }
            }
        }
        Some(out)
    }

    /// Equations that follow if `dim` is 0 and says that a product is 1, of which only some factors are atoms, as in
    /// `a * (b - c) = 1`. Two integers whose product is 1 are both 1 or both -1, and both are 1 if one of them is not
    /// negative, whatever is known about the other.
    fn factors_of_one(&self, dim: &Dim) -> Option<Vec<Dim>> {
        let one = Dim::Const(1);
        for product in [dim.clone() + one.clone(), one.clone() - dim.clone()] {
            let mut rest = product.clone();
            let mut out = Vec::new();
            for atom in common_factors(&product) {
                let factor = Dim::atom(atom.clone());
                if self.least(&atom).is_some_and(|least| least >= 0)
                    && let Some(other) = rest.exact_div(&factor)
                {
                    rest = other;
                    out.push(factor - one.clone());
                }
            }
            if !out.is_empty() {
                out.push(rest - one);
                return Some(out);
            }
        }
        None
    }

    /// True if the facts contradict one another.
    pub(super) fn is_empty(&self) -> bool {
        self.not_zero.iter().any(|d| *d == Dim::Const(0) || self.is_zero(d)) || self.follows(&Dim::Const(-1))
    }

    fn is_zero(&self, dim: &Dim) -> bool {
        self.follows(dim) && self.follows(&-dim.clone())
    }

    /// Whether `dim` is 0, if the facts decide it.
    pub(super) fn zero(&self, dim: &Dim) -> Option<bool> {
        let dim = self.resolve(dim);
        if let Some(v) = dim.as_const() {
            return Some(v == 0);
        }
        let minus = -dim.clone();
        if self.not_zero.iter().any(|d| *d == dim || *d == minus) {
            return Some(false);
        }
        let one = Dim::Const(1);
        if self.follows(&(dim.clone() - one.clone())) || self.follows(&(minus.clone() - one)) {
            return Some(false);
        }
        if self.follows(&dim) && self.follows(&minus) {
            return Some(true);
        }
        // A product of nonzero factors is not 0.
        if let [(product, _)] = dim.terms().as_slice()
            && product.len() > 1
            && product.iter().all(|a| self.zero(&Dim::atom(a.clone())) == Some(false))
        {
            return Some(false);
        }
        None
    }

    /// Whether `dim` is at least 0, if the facts decide it.
    pub(super) fn sign(&self, dim: &Dim) -> Option<bool> {
        let dim = self.resolve(dim);
        if let Some(v) = dim.as_const() {
            return Some(v >= 0);
        }
        if self.follows(&dim) {
            return Some(true);
        }
        self.follows(&(-dim - Dim::Const(1))).then_some(false)
    }

    /// True if it follows that `dim` is at least 0.
    pub(super) fn follows(&self, dim: &Dim) -> bool {
        match dim.as_const() {
            Some(v) if v >= 0 => return true,
            Some(_) if self.at_least_zero.is_empty() => return false,
            _ => {}
        }
        let scope = self.scopes.last().copied().unwrap_or(ALWAYS);
        let known = self.answers.borrow().get(dim).copied().unwrap_or_default();
        if known
            .follows
            .is_some_and(|at| at == ALWAYS || self.scopes.contains(&at))
        {
            return true;
        }
        if known.open == Some((scope, self.learned)) {
            return false;
        }
        self.effort.spend(self.at_least_zero.len());
        let refuted = self.models.borrow_mut().refute(dim, &self.at_least_zero, &self.effort);
        let answer = !refuted && !self.effort.is_spent() && self.derive(dim);
        let answered = match answer {
            true => Answered {
                follows: Some(scope),
                ..known
            },
            false => Answered {
                open: Some((scope, self.learned)),
                ..known
            },
        };
        self.answers.borrow_mut().insert(dim.clone(), answered);
        answer
    }
}

/// Atoms that are factors of every term.
pub(super) fn common_factors(dim: &Dim) -> Vec<Atom> {
    let terms = dim.terms();
    let Some(((first, _), rest)) = terms.split_first() else {
        return Vec::new();
    };
    let mut common = first.to_vec();
    common.retain(|atom| rest.iter().all(|(product, _)| product.contains(atom)));
    common.dedup();
    common
}

/// What is at least 0 in place of a maximum, if that is at least 0 only where it is not its constant: `x - 1` for
/// `max(0, x) - 1`.
fn larger_value(dim: &Dim) -> Option<Dim> {
    let (atom, number) = dim.as_atom_and_number()?;
    let Atom::Max(a, b) = atom else { return None };
    let is_below = |d: &Dim| {
        d.as_const()
            .is_some_and(|v| v.checked_add(number).is_some_and(|v| v < 0))
    };
    match (is_below(a), is_below(b)) {
        (true, false) => Some(b.clone() + Dim::Const(number)),
        (false, true) => Some(a.clone() + Dim::Const(number)),
        _ => None,
    }
}

/// Solves an expression that is 0 for a symbol: the symbol and its value; `fixed` symbols are not solved for.
fn solved(dim: &Dim, fixed: &dyn Fn(&str) -> bool) -> Option<(Arc<str>, Dim)> {
    let mut terms = dim.terms();
    // Prefer to eliminate dimensions, before attributes and quotients.
    terms.sort_by_key(|(product, _)| !matches!(&product[..], [Atom::Symbol(name)] if name.starts_with('d')));
    for (product, c) in &terms {
        let [Atom::Symbol(name)] = &product[..] else {
            continue;
        };
        if c.abs() != 1 || fixed(name) {
            continue;
        }
        let rest = dim.clone() - Dim::atom(Atom::Symbol(name.clone())) * Dim::Const(*c);
        if !super::expr::mentions(&rest, name) {
            return Some((name.clone(), rest * Dim::Const(-c)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols() -> (Dim, Dim, Dim, Dim) {
        (Dim::symbol("a"), Dim::symbol("b"), Dim::symbol("i"), Dim::symbol("j"))
    }

    #[test]
    fn sums_and_products_follow() {
        let (a, b, i, j) = symbols();
        let one = Dim::Const(1);
        let mut facts = Facts::default();
        for d in [&a, &b, &i, &j] {
            facts.add(d.clone());
        }
        facts.add(a.clone() - one.clone() - i.clone());
        facts.add(b.clone() - one.clone() - j.clone());
        assert!(facts.follows(&(a.clone() - i.clone())));
        assert!(!facts.follows(&(i.clone() - a.clone())));
        // i < a and j < b imply i * b + j < a * b.
        let place = i.clone() * b.clone() + j.clone();
        assert!(facts.follows(&(a.clone() * b.clone() - one - place.clone())));
        assert!(!facts.follows(&(a.clone() * b.clone() - Dim::Const(2) - place)));
        assert_eq!(facts.zero(&(a.clone() - i.clone())), Some(false));
        assert_eq!(facts.zero(&(i.clone() - j.clone())), None);
        // A quotient of what is not negative, and its products, are not negative.
        facts.add(a.clone() - Dim::Const(1));
        let whole = a.clone() * i.floor_div(&a);
        assert!(facts.follows(&(j.clone() + whole.clone())));
        assert!(!facts.follows(&(j + b.floor_div(&i))));
        assert!(!facts.follows(&(whole - a)));
    }

    #[test]
    fn answers_last_as_long_as_their_facts() {
        let (a, b, i, _) = symbols();
        let mut facts = Facts::default();
        facts.add(a.clone());
        facts.add(i.clone());
        let goal = a.clone() - i.clone();
        assert!(!facts.follows(&goal));
        facts.enter(goal.clone() - Dim::Const(1));
        assert!(facts.follows(&goal));
        facts.enter(b.clone());
        assert!(facts.follows(&goal));
        facts.leave(2);
        // The same facts hold as when it was asked first.
        let left = facts.effort.left.get();
        assert!(!facts.follows(&goal));
        assert_eq!(facts.effort.left.get(), left);
        // In another scope, what was derived in one that was left does not count.
        facts.enter(b.clone());
        assert!(!facts.follows(&goal));
        let outside = facts.unscoped();
        assert!(!outside.follows(&goal));
        // What is learned within a scope holds beyond it.
        facts.add(goal.clone());
        assert!(facts.follows(&goal));
        facts.leave(1);
        assert!(facts.follows(&goal) && !outside.follows(&goal));
    }

    #[test]
    fn a_maximum_above_its_constant_is_the_other_value() {
        let (a, b, ..) = symbols();
        let size = Dim::Const(0).maximum(&(a.clone() - b.clone()));
        let mut facts = Facts::default();
        facts.add(size.clone());
        assert!(!facts.follows(&(a.clone() - b.clone())));
        facts.add(size - Dim::Const(1));
        assert!(facts.follows(&(a.clone() - b.clone() - Dim::Const(1))));
        assert!(!facts.follows(&(a - b - Dim::Const(2))));
    }

    #[test]
    fn factors_of_one_are_one() {
        let (a, b, i, j) = symbols();
        let one = Dim::Const(1);
        let facts = || {
            let mut facts = Facts::default();
            facts.add(a.clone());
            facts
        };
        // a * (b - i + j) = 1, where nothing is known of the sum.
        let rest = b.clone() - i.clone() + j.clone();
        for equation in [
            a.clone() * rest.clone() - one.clone(),
            one.clone() - a.clone() * rest.clone(),
        ] {
            let mut facts = facts();
            facts.equate(&equation, &|_| false);
            assert_eq!(facts.resolve(&a), one);
            assert_eq!(facts.zero(&(rest.clone() - one.clone())), Some(true));
        }
        // The factor may be -1 if it is not known to be at least 0; and of 2, the factors are not known.
        let mut unknown = Facts::default();
        unknown.equate(&(a.clone() * rest.clone() - one.clone()), &|_| false);
        assert_eq!(unknown.zero(&(a.clone() - one.clone())), None);
        let mut two = facts();
        two.equate(&(a.clone() * rest.clone() - Dim::Const(2)), &|_| false);
        assert_eq!(two.zero(&(a.clone() - one.clone())), None);
        // Of -1, the other factor is -1.
        let mut minus = facts();
        minus.equate(&(a.clone() * rest.clone() + one.clone()), &|_| false);
        assert_eq!(minus.resolve(&a), one);
        assert_eq!(minus.zero(&(rest.clone() + one.clone())), Some(true));
        assert_eq!(minus.zero(&(rest - one)), Some(false));
    }

    #[test]
    fn equations_define_symbols() {
        let (a, b, ..) = symbols();
        let mut facts = Facts::default();
        facts.add(a.clone() - Dim::Const(3));
        assert!(facts.equate(&(a.clone() - b.clone() - Dim::Const(1)), &|_| false));
        assert_eq!(facts.zero(&(a - b.clone() - Dim::Const(1))), Some(true));
        assert!(facts.follows(&(facts.resolve(&b) - Dim::Const(2))));
        // Twice the one is twice the other.
        let (c, d) = (Dim::symbol("c"), Dim::symbol("d"));
        let two = Dim::Const(2);
        assert!(facts.equate(&(c.clone() * two.clone() - d.clone() * two), &|_| false));
        assert_eq!(facts.resolve(&c), facts.resolve(&d));
    }
}
