//! Assumptions about symbols while an expression is evaluated.
//!
//! Conditions over symbolic dimensions are undecided where the expressions alone do not decide them; a proof by cases
//! decides them from the assumptions of the current case.

use std::cell::RefCell;
use std::rc::Rc;

use super::Dim;

/// Answers questions about expressions that symbols leave open.
pub trait Assumptions {
    /// True if the value is 0.
    fn is_zero(&self, value: &Dim) -> bool;
    /// True if the value is less than 0.
    fn is_negative(&self, value: &Dim) -> bool;
    /// Reports that something stayed undecided that these assumptions were not asked about.
    fn left_open(&self);
}

thread_local! {
    static IN_FORCE: RefCell<Option<Rc<dyn Assumptions>>> = const { RefCell::new(None) };
}

/// Runs `f` under assumptions in this thread.
pub fn under<R>(assumptions: Rc<dyn Assumptions>, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Rc<dyn Assumptions>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let before = self.0.take();
            IN_FORCE.with(|cell| *cell.borrow_mut() = before);
        }
    }
    let _restore = Restore(IN_FORCE.with(|cell| cell.borrow_mut().replace(assumptions)));
    f()
}

fn in_force() -> Option<Rc<dyn Assumptions>> {
    IN_FORCE.with(|cell| cell.borrow().clone())
}

/// Reports to the assumptions in force that an evaluation ended without an answer.
pub fn left_open() {
    if let Some(assumptions) = in_force() {
        assumptions.left_open();
    }
}

impl Dim {
    /// Whether both are equal for all values of the symbols, as far as the expressions and the assumptions in force
    /// decide it.
    pub fn equals(&self, other: &Dim) -> Option<bool> {
        if self == other {
            return Some(true);
        }
        let difference = self.clone() - other.clone();
        match difference.as_const() {
            Some(value) => Some(value == 0),
            None => Some(in_force()?.is_zero(&difference)),
        }
    }

    /// Whether this is less than `other`, as far as the expressions and the assumptions in force decide it.
    pub fn is_less(&self, other: &Dim) -> Option<bool> {
        let difference = self.clone() - other.clone();
        match difference.as_const() {
            Some(value) => Some(value < 0),
            None => Some(in_force()?.is_negative(&difference)),
        }
    }
}
