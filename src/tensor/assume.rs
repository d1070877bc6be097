//! What may be assumed of symbols while an expression is evaluated.
//!
//! Conditions over symbolic extents are undecided where the expressions alone do not say; a proof that goes through the
//! cases answers them from the assumptions of the case it is in.

use std::cell::RefCell;
use std::rc::Rc;

use super::Dim;

/// Answers questions that expressions over symbols leave open.
pub(crate) trait Assumptions {
    /// True if the value is 0.
    fn is_zero(&self, value: &Dim) -> bool;
    /// True if the value is less than 0.
    fn is_negative(&self, value: &Dim) -> bool;
    /// Something stayed open that these assumptions were not asked for.
    fn left_open(&self);
}

thread_local! {
    static IN_FORCE: RefCell<Option<Rc<dyn Assumptions>>> = const { RefCell::new(None) };
}

/// Runs `f` under assumptions, on this thread.
pub(crate) fn under<R>(assumptions: Rc<dyn Assumptions>, f: impl FnOnce() -> R) -> R {
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

/// Tells the assumptions in force that an evaluation ended without an answer.
pub(crate) fn left_open() {
    if let Some(assumptions) = in_force() {
        assumptions.left_open();
    }
}

impl Dim {
    /// Whether both are one value for all values of the symbols, as far as the expressions and the assumptions in force
    /// say.
    pub(crate) fn equals(&self, other: &Dim) -> Option<bool> {
        if self == other {
            return Some(true);
        }
        let difference = self.clone() - other.clone();
        match difference.as_const() {
            Some(value) => Some(value == 0),
            None => Some(in_force()?.is_zero(&difference)),
        }
    }

    /// Whether this is less, as far as the expressions and the assumptions in force say.
    pub(crate) fn is_less(&self, other: &Dim) -> Option<bool> {
        let difference = self.clone() - other.clone();
        match difference.as_const() {
            Some(value) => Some(value < 0),
            None => Some(in_force()?.is_negative(&difference)),
        }
    }
}
