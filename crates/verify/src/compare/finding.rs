//! The result of comparing both sides: agreement and the evidence for it, or a mismatch.

use std::fmt;

use super::data::Values;
use super::element::ElementMismatch;
use crate::instance::recipe::Recipe;
use tautomer_op::Laws;
use tautomer_rewrite::Sides;
use tautomer_rule::{AttrPattern, Class, PatternNode, Rule};

/// The kind of error at an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An output of the target has a different type.
    Types,
    /// The values differ by more than the class allows.
    Values,
    /// The values are equal over the reals, but their bits differ.
    Bits,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Types => "the sides differ in type",
            Fault::Values => "the sides differ in value",
            Fault::Bits => "the sides are equal over the reals, but their bits differ",
        })
    }
}

/// What a rule promises about values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Promise {
    pub(crate) class: Class,
    /// Its source has an infinite number. Infinity is then a value like others; elsewhere, nothing is promised where the
    /// source is infinite.
    pub(crate) infinity: bool,
}

impl Promise {
    /// What that rule promises.
    pub(crate) fn of(rule: &Rule) -> Promise {
        let is_infinite = |pattern: &AttrPattern| match pattern {
            AttrPattern::Value(value) => value.as_float().is_some_and(f64::is_infinite),
            _ => false,
        };
        let infinity = rule.source.nodes().any(|(_, node)| match node {
            PatternNode::Literal(value) => value.is_infinite(),
            PatternNode::Call { attrs, .. } => attrs.iter().any(is_infinite),
            _ => false,
        });
        Promise {
            class: rule.class,
            infinity,
        }
    }
}

/// Where and how the sides differ.
#[derive(Debug, Clone)]
pub(crate) struct Mismatch {
    pub(crate) fault: Fault,
    /// The index of the output.
    pub(crate) output: usize,
    /// The element that differs; for [`Fault::Types`], the two types.
    pub(crate) at: ElementMismatch,
    pub(crate) values: Values,
}

impl Mismatch {
    /// The finding for a target that has no value where the source has one.
    pub(crate) fn missing_value(values: Values) -> Finding {
        Finding::Mismatch(Box::new(Mismatch {
            fault: Fault::Values,
            output: 0,
            at: ElementMismatch::of_wholes("a value", "nothing: it cannot be computed"),
            values,
        }))
    }
}

/// An instance at which a rule is wrong: its two sides, and where they differ.
pub(crate) struct WrongInstance {
    pub(crate) recipe: Recipe,
    pub(crate) sides: Sides,
    pub(crate) mismatch: Box<Mismatch>,
}

/// The evidence for an agreement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Both sides are the same polynomials over real numbers and functions that obey the laws; `error` is `n` if the
    /// probability that they are not is below `2^-n`, where that is known.
    Field { error: Option<u32>, laws: Laws },
    /// They are equal at exact numbers, assuming the laws.
    Exact(Laws),
    /// No input has real elements, and the results are equal on all data.
    Discrete,
    /// They are equal up to rounding on all data.
    Rounded,
}

impl Evidence {
    /// The number system that decided, in one word.
    pub(crate) const fn system(self) -> &'static str {
        match self {
            Evidence::Field { .. } => "field",
            Evidence::Exact(_) => "exact",
            Evidence::Discrete => "bits",
            Evidence::Rounded => "f64",
        }
    }
}

/// The result of comparing the sides at an instance.
pub(crate) enum Finding {
    /// The sides agree.
    Agree(Evidence),
    /// The target has no type here or a different one, so no engine applies the rule; and why.
    Refused(String),
    /// Nothing could be computed.
    Unknown,
    /// The sides differ.
    Mismatch(Box<Mismatch>),
}

impl Finding {
    /// The combined finding for several kinds of data; the first mismatch ends the comparison.
    pub(crate) fn of_kinds(kinds: impl Iterator<Item = Finding>) -> Finding {
        let mut computed = false;
        for finding in kinds {
            match finding {
                Finding::Mismatch(_) => return finding,
                Finding::Agree(_) => computed = true,
                Finding::Refused(_) | Finding::Unknown => {}
            }
        }
        match computed {
            true => Finding::Agree(Evidence::Rounded),
            false => Finding::Unknown,
        }
    }

    /// The mismatch, if there is one.
    pub(crate) fn mismatch(self) -> Option<Box<Mismatch>> {
        match self {
            Finding::Mismatch(mismatch) => Some(mismatch),
            _ => None,
        }
    }
}
