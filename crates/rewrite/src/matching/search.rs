//! The search: backtracking with an explicit stack, so that neither deep patterns nor long operand lists recurse.

use rustc_hash::FxHashMap;

use super::binding::{Binding, SlotValue};
use super::group::Seen;
use super::program::Program;
use super::stack::{Choice, EMPTY, Goal, Undo};
use super::trace::Trace;
use super::{Host, Want};
use tautomer_op::OpDef;
use tautomer_rule::{PatternId, PatternNode, ProjIndex};

/// The index of vertices outside comprehensions.
pub(super) const OUTSIDE: u32 = u32::MAX;

/// Runs a program on a host.
pub(crate) struct Searcher<'h, H: Host> {
    pub(super) host: &'h H,
    pub(super) program: &'h Program,
    /// The host's numbers for the operators of the pattern; `None` for an operator that does not occur.
    pub(super) ops_of: Vec<Option<u32>>,
    pub(super) one: Vec<Option<H::V>>,
    pub(super) rows: FxHashMap<(u32, u32), H::V>,
    pub(super) attrs: Vec<Option<SlotValue>>,
    pub(super) attr_rows: FxHashMap<(u32, u32), SlotValue>,
    pub(super) ops: Vec<Option<&'static OpDef>>,
    pub(super) counts: Vec<Option<u32>>,
    pub(super) forms: Vec<(H::V, u32)>,
    pub(super) trail: Vec<Undo>,
    pub(super) choices: Vec<Choice<'h, H::V>>,
    /// Goals as linked lists; each number is the index of the next goal.
    pub(super) agenda: Vec<(Goal<'h, H::V>, usize)>,
    pub(super) goals: usize,
    /// If true, a projection by the running index matches any position, which becomes the index.
    pub(super) by_place: bool,
    /// The point that matching got furthest to, if requested.
    pub(crate) trace: Option<Trace<H::V>>,
    /// The remaining steps; a search without any finds nothing more.
    pub(crate) steps: usize,
}

/// The default maximum number of steps of a search.
pub(crate) const MOST_STEPS: usize = 10_000_000;

impl<'h, H: Host> Searcher<'h, H> {
    /// A search of `host`; `None` if an operator of the pattern does not occur there.
    pub(crate) fn new(program: &'h Program, host: &'h H) -> Option<Searcher<'h, H>> {
        let rule = &program.rule;
        if program.operators.iter().any(|def| host.op(def).is_none()) {
            return None;
        }
        let ops_of = rule
            .source
            .nodes()
            .map(|(_, node)| match node {
                PatternNode::Call { def, .. } => host.op(def),
                _ => None,
            })
            .collect();
        Some(Searcher {
            host,
            program,
            ops_of,
            one: vec![None; rule.source.len()],
            rows: FxHashMap::default(),
            attrs: vec![None; program.slots.len()],
            attr_rows: FxHashMap::default(),
            ops: vec![None; rule.operators.len()],
            counts: vec![None; program.counts.len()],
            forms: Vec::new(),
            trail: Vec::new(),
            choices: Vec::new(),
            agenda: Vec::new(),
            goals: EMPTY,
            by_place: false,
            trace: None,
            steps: MOST_STEPS,
        })
    }

    /// All matches, in the order of the first output's value, until `emit` returns false.
    pub(crate) fn all(&mut self, emit: &mut dyn FnMut(Binding<H::V>) -> bool) {
        self.among(&|_| true, emit);
    }

    /// The matches whose first output is a value that `wanted` accepts.
    pub(crate) fn among(&mut self, wanted: &dyn Fn(H::V) -> bool, emit: &mut dyn FnMut(Binding<H::V>) -> bool) {
        let root = self.program.rule.source.outputs[0].vertex();
        let mut seen = Seen::default();
        for value in self.candidates(root) {
            if wanted(value) && !self.at(value, &mut seen, emit) {
                return;
            }
        }
    }

    /// The matches whose first output is `value`, until `emit` returns false.
    ///
    /// Groups of a variable number of outputs that are in `seen` are skipped, and those found are added.
    pub(crate) fn rooted(&mut self, value: H::V, seen: &mut Seen<H::V>, emit: &mut dyn FnMut(Binding<H::V>) -> bool) {
        self.at(value, seen, emit);
    }

    fn at(&mut self, value: H::V, seen: &mut Seen<H::V>, emit: &mut dyn FnMut(Binding<H::V>) -> bool) -> bool {
        self.reset();
        if self.program.rule.source.varying().is_some() {
            return self.groups(value, seen, emit);
        }
        let root = self.program.rule.source.outputs[0].vertex();
        for k in (1..self.program.rule.source.outputs.len()).rev() {
            self.push(Goal::Output(k));
        }
        self.push(Goal::Node {
            at: root,
            index: OUTSIDE,
            value,
        });
        let mut found = self.run(0);
        while found {
            // A match costs as many steps as it has bindings.
            self.steps = self.steps.saturating_sub(self.trail.len());
            if let Some(binding) = self.binding()
                && !emit(binding)
            {
                return false;
            }
            found = self.backtrack(0) && self.run(0);
        }
        !self.is_exhausted()
    }

    /// True if the search ended because no steps were left.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.steps == 0
    }

    /// Values that `at` may match, by its operator.
    pub(super) fn candidates(&self, at: PatternId) -> Vec<H::V> {
        let pattern = &self.program.rule.source;
        match pattern.node(at) {
            PatternNode::AnyOf(items) => {
                let mut all: Vec<H::V> = items.iter().flat_map(|&i| self.candidates(i)).collect();
                all.sort_by_key(|v| (self.host.rank(*v), *v));
                all.dedup();
                all
            }
            _ => self.want(at).map_or_else(Vec::new, |want| self.host.values(want)),
        }
    }

    /// The form required by `at`; `None` if the operator does not occur, or if `at` requires no form.
    pub(super) fn want(&self, at: PatternId) -> Option<Want<'h>> {
        let rule = &self.program.rule;
        match rule.source.node(at) {
            PatternNode::Call { .. } => self.ops_of[at.0 as usize].map(Want::Op),
            PatternNode::CallOf { variable, .. } => Some(Want::OneOf(&rule.operators[*variable].choices)),
            PatternNode::Tuple(_) => Some(Want::Tuple),
            PatternNode::Proj(_, ProjIndex::At(i)) => Some(Want::Proj(Some(*i))),
            PatternNode::Proj(..) => Some(Want::Proj(None)),
            _ => None,
        }
    }
}
