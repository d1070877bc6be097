//! Symbols that stand for any number of axes, in a proof with one axis in place of a block of axes.
//!
//! A proof in which one axis stands for a block holds for each axis of the block, as long as it is about single axes.
//! This module checks that: if a question about the axis splits the proof, only one of the answers may lead to cases in
//! which something is compared, since two axes may have different answers; dimensions of the axis may not be mixed with
//! other numbers, nor counted, since for several axes they are a product; and no value that has the axis may be read in
//! row-major order.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::case::{Res, is_bound};
use super::expr::{Expr, Factor};
use super::facts::Facts;
use super::meaning::{Meaning, open};
use tautomer_graph::VertexId;
use tautomer_op::CostRule;
use tautomer_tensor::{Atom, Dim};

/// The answer that a case has to a question about the block.
pub(super) type Answer = (u32, bool);

/// The symbols of a block of axes, and the questions about them.
#[derive(Debug, Default)]
pub(super) struct Block {
    symbols: RefCell<FxHashSet<Arc<str>>>,
    questions: Cell<u32>,
}

impl Block {
    /// A block with these dimensions, attributes and positions.
    pub(super) fn of<'a>(symbols: impl IntoIterator<Item = &'a Dim>) -> Block {
        let out = Block::default();
        symbols.into_iter().for_each(|d| out.add(d));
        out
    }

    /// Adds a symbol.
    pub(super) fn add(&self, symbol: &Dim) {
        symbol.visit_atoms(&mut |atom| {
            if let Atom::Symbol(name) = atom {
                self.symbols.borrow_mut().insert(name.clone());
            }
        });
    }

    /// True if a value depends on the block.
    pub(super) fn has(&self, dim: &Dim) -> bool {
        self.parts(dim).0
    }

    /// Whether a value depends on the block, and whether on another symbol that is not bound.
    fn parts(&self, dim: &Dim) -> (bool, bool) {
        let symbols = self.symbols.borrow();
        let (mut own, mut other) = (false, false);
        dim.visit_atoms(&mut |atom| {
            if let Atom::Symbol(name) = atom {
                let is_own = symbols.contains(name);
                own |= is_own;
                other |= !is_own && !is_bound(name);
            }
        });
        (own, other)
    }

    /// The number of a new question.
    pub(super) fn ask(&self) -> u32 {
        let n = self.questions.get();
        self.questions.set(n + 1);
        n
    }

    /// True if the block's dimensions are separate from all other numbers in a fact.
    fn is_apart(&self, dim: &Dim) -> bool {
        self.parts(dim) != (true, true)
    }

    fn is_counted(&self, value: &Expr) -> bool {
        value
            .terms()
            .iter()
            .flat_map(|(product, _)| product)
            .any(|(factor, _)| match factor {
                Factor::Size(atom) => self.has(&Dim::atom(atom.clone())),
                Factor::Element(..) => false,
                Factor::Apply(_, args) => args.iter().any(|a| self.is_counted(a)),
                Factor::Inverse(sum) => self.is_counted(sum),
                Factor::Fold(fold) => self.is_counted(&fold.body),
                // It may look at its operands in any way.
                Factor::Whole(_) => true,
            })
    }

    /// An error if the sides were compared in a way that does not hold for several axes.
    pub(super) fn check(&self, facts: &Facts, meaning: &Meaning<'_>, values: &[Expr]) -> Res<()> {
        let defined = facts
            .defined
            .iter()
            .map(|(name, value)| Dim::symbol(name) - value.clone());
        let all = facts
            .at_least_zero
            .iter()
            .chain(&facts.not_zero)
            .cloned()
            .chain(defined);
        if let Some(mixed) = all.into_iter().find(|fact| !self.is_apart(fact)) {
            return Err(open(format!(
                "{mixed} has dimensions of single axes beside other numbers"
            )));
        }
        if values.iter().any(|value| self.is_counted(value)) {
            return Err(open("the elements along several axes are counted"));
        }
        let flat = |v: &VertexId| meaning.call(*v).is_some_and(|c| matches!(c.def.cost, CostRule::View));
        for v in meaning.graph.rpo().into_iter().filter(flat) {
            if meaning.shape(v)?.iter().any(|d| meaning.case.may_be_of_block(d)) {
                return Err(open("several axes are in row-major order"));
            }
        }
        Ok(())
    }
}

/// The answers to questions about a block with which something was compared.
#[derive(Debug, Default)]
pub(super) struct Answers(FxHashMap<u32, bool>);

impl Answers {
    /// Adds those of one case; false if another case has another answer.
    pub(super) fn add(&mut self, case: &[Answer]) -> bool {
        case.iter()
            .all(|&(question, answer)| *self.0.entry(question).or_insert(answer) == answer)
    }
}
