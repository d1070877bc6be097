//! The search: backtracking over an explicit stack, so that neither deep patterns nor long operand lists recurse.

use std::cell::Cell;
use std::hash::{BuildHasher, Hash, Hasher};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::program::{AttrCheck, Program};
use super::trace::{Reason, Trace};
use super::{AttrRefs, Form, FormHead, Host, Want};
use crate::op::{AttrDef, AttrKind, AttrValue, AxisOf, Fact, OpDef, normalize};
use crate::rule::{FamilyId, Item, ListItem, PatternId, PatternNode, ProjIndex};
use crate::tensor::{Dim, Tensor};

/// The index of what stands in no comprehension.
pub(super) const OUTSIDE: u32 = u32::MAX;

/// What a match binds: pattern vertices to values, attribute slots to attributes, operator variables to operators.
#[derive(Debug, Clone)]
pub(in crate::rewrite) struct Binding<V> {
    /// The value of each vertex outside of comprehensions.
    pub(super) one: Vec<Option<V>>,
    /// The values of vertices inside, by vertex and index; sorted.
    pub(super) rows: Vec<((u32, u32), V)>,
    /// Attribute slots.
    pub(super) attrs: Vec<Option<SlotValue>>,
    /// Attribute slots with one value for each index; sorted.
    pub(super) attr_rows: Vec<((u32, u32), SlotValue)>,
    /// Operator variables.
    pub(super) ops: Vec<Option<&'static str>>,
    /// Counts.
    pub(super) counts: Vec<Option<u32>>,
    /// The values of the outputs.
    pub(in crate::rewrite) outputs: Vec<V>,
    /// The forms that matched, as values with the places of their forms.
    pub(in crate::rewrite) forms: Vec<(V, u32)>,
}

impl<V: Copy + Hash> Binding<V> {
    /// A number for recognising the binding again, `f` giving the present names of its values.
    pub(in crate::rewrite) fn key(&self, f: impl Fn(V) -> V) -> u64 {
        let mut hasher = FxBuildHasher.build_hasher();
        for v in self.one.iter().flatten() {
            f(*v).hash(&mut hasher);
        }
        for (k, v) in &self.rows {
            (k, f(*v)).hash(&mut hasher);
        }
        (&self.attrs, &self.attr_rows, &self.ops, &self.counts).hash(&mut hasher);
        hasher.finish()
    }

    /// The values of pattern vertices, each with its index.
    pub(in crate::rewrite) fn vertices(&self) -> impl Iterator<Item = (PatternId, V)> + '_ {
        let outer = self.one.iter().enumerate();
        let outer = outer.filter_map(|(i, v)| Some((PatternId(i as u32), (*v)?)));
        outer.chain(self.rows.iter().map(|((at, _), v)| (PatternId(*at), *v)))
    }
}

/// What an attribute slot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::rewrite) enum SlotValue {
    /// The attribute of that number.
    Attr(u32),
    /// The place of an element of a tuple.
    Place(u32),
}

enum Goal<'h, V> {
    /// The vertex stands for the value.
    Node { at: PatternId, index: u32, value: V },
    /// The operands from one place on stand for the values from another place on.
    Items {
        node: PatternId,
        index: u32,
        item: usize,
        values: &'h [V],
    },
    /// The output of that number is found.
    Output(usize),
}

impl<V: Copy> Clone for Goal<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<V: Copy> Copy for Goal<'_, V> {}

enum Alternative<'h, V> {
    /// Other forms of the value.
    Form {
        at: PatternId,
        index: u32,
        value: V,
        next: usize,
    },
    /// Other alternatives of the pattern.
    Pattern {
        at: PatternId,
        index: u32,
        value: V,
        next: usize,
    },
    /// Other lengths of a comprehension among several.
    Length {
        node: PatternId,
        index: u32,
        item: usize,
        values: &'h [V],
        next: usize,
        most: usize,
    },
    /// Other values for a vertex.
    Value {
        at: PatternId,
        index: u32,
        values: std::rc::Rc<[V]>,
        next: usize,
    },
}

struct Choice<'h, V> {
    alternative: Alternative<'h, V>,
    /// The goals to go on with, as a place in `agenda`.
    goals: usize,
    agenda: usize,
    trail: usize,
}

#[derive(Debug, Clone, Copy)]
enum Undo {
    One(u32),
    Row(u32, u32),
    Attr(u32),
    AttrRow(u32, u32),
    Op(u32),
    Count(u32),
    Form,
}

const EMPTY: usize = usize::MAX;

/// The slot that keeps the place in a tuple of a member of a group.
const PLACE: usize = u32::MAX as usize;

/// Walks a program over a host.
pub(in crate::rewrite) struct Searcher<'h, H: Host> {
    pub(super) host: &'h H,
    pub(super) program: &'h Program,
    /// The host's numbers of the operators of the pattern; `None` where one does not occur.
    ops_of: Vec<Option<u32>>,
    one: Vec<Option<H::V>>,
    rows: FxHashMap<(u32, u32), H::V>,
    attrs: Vec<Option<SlotValue>>,
    attr_rows: FxHashMap<(u32, u32), SlotValue>,
    ops: Vec<Option<&'static OpDef>>,
    counts: Vec<Option<u32>>,
    forms: Vec<(H::V, u32)>,
    trail: Vec<Undo>,
    choices: Vec<Choice<'h, H::V>>,
    /// Goals as linked lists; the number is the place of the next one.
    agenda: Vec<(Goal<'h, H::V>, usize)>,
    goals: usize,
    /// A projection by the running index matches any place, and the place becomes the index.
    pub(super) by_place: bool,
    /// Where matching came furthest, if that is asked for.
    pub(in crate::rewrite) trace: Option<Trace<H::V>>,
}

impl<'h, H: Host> Searcher<'h, H> {
    /// A search of `host`; `None` if an operator of the pattern does not occur there.
    pub(in crate::rewrite) fn new(program: &'h Program, host: &'h H) -> Option<Searcher<'h, H>> {
        let rule = &program.rule;
        if rule.source.operators().any(|def| host.op(def).is_none()) {
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
        })
    }

    /// All matches, in the order of the first output's value, until `emit` says no.
    pub(in crate::rewrite) fn all(&mut self, emit: &mut dyn FnMut(Binding<H::V>) -> bool) {
        self.among(&|_| true, emit);
    }

    /// The matches whose first output is a value that `wanted` accepts.
    pub(in crate::rewrite) fn among(
        &mut self,
        wanted: &dyn Fn(H::V) -> bool,
        emit: &mut dyn FnMut(Binding<H::V>) -> bool,
    ) {
        let root = self.program.rule.source.outputs[0].vertex();
        let mut seen = super::group::Seen::default();
        for value in self.candidates(root) {
            if wanted(value) && !self.at(value, &mut seen, emit) {
                return;
            }
        }
    }

    /// The matches whose first output is `value`, until `emit` says no.
    pub(in crate::rewrite) fn rooted(&mut self, value: H::V, emit: &mut dyn FnMut(Binding<H::V>) -> bool) {
        self.at(value, &mut super::group::Seen::default(), emit);
    }

    fn at(
        &mut self,
        value: H::V,
        seen: &mut super::group::Seen<H::V>,
        emit: &mut dyn FnMut(Binding<H::V>) -> bool,
    ) -> bool {
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
            if let Some(binding) = self.binding()
                && !emit(binding)
            {
                return false;
            }
            found = self.backtrack(0) && self.run(0);
        }
        true
    }

    /// Values that `at` may stand for, by its operator.
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

    /// What form a value of `at` has; `None` if the operator does not occur, or for what has no form of its own.
    fn want(&self, at: PatternId) -> Option<Want<'h>> {
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

    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        self.undo(0);
        self.choices.clear();
        self.agenda.clear();
        self.goals = EMPTY;
    }

    fn push(&mut self, goal: Goal<'h, H::V>) {
        self.agenda.push((goal, self.goals));
        self.goals = self.agenda.len() - 1;
    }

    /// Makes `at` stand for `value` and everything that follows from it; `false` if it cannot.
    pub(super) fn solve(&mut self, at: PatternId, index: u32, value: H::V) -> bool {
        let base = self.choices.len();
        self.goals = EMPTY;
        self.push(Goal::Node { at, index, value });
        self.run(base)
    }

    /// Another way to do what [`solve`](Self::solve) did.
    pub(super) fn again(&mut self, base: usize) -> bool {
        self.backtrack(base) && self.run(base)
    }

    /// Keeps the present way: alternatives made since `base` are forgotten.
    pub(super) fn commit(&mut self, base: usize) {
        self.choices.truncate(base);
    }

    /// The place in a tuple that the member of that index projects.
    pub(super) fn place(&self, index: u32) -> Option<u32> {
        match self.attr_rows.get(&(PLACE as u32, index)) {
            Some(SlotValue::Place(i)) => Some(*i),
            _ => None,
        }
    }

    /// Where the trail is, to come back to by [`undo`](Self::undo).
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    pub(super) fn choice_points(&self) -> usize {
        self.choices.len()
    }

    /// Takes back what was bound since `mark`.
    pub(super) fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Undo::One(at)) => self.one[at as usize] = None,
                Some(Undo::Row(at, index)) => {
                    self.rows.remove(&(at, index));
                }
                Some(Undo::Attr(slot)) => self.attrs[slot as usize] = None,
                Some(Undo::AttrRow(slot, index)) => {
                    self.attr_rows.remove(&(slot, index));
                }
                Some(Undo::Op(variable)) => self.ops[variable as usize] = None,
                Some(Undo::Count(count)) => self.counts[count as usize] = None,
                Some(Undo::Form) => {
                    self.forms.pop();
                }
                None => {}
            }
        }
    }

    /// Works off the goals; `false` once no alternative made since `base` is left.
    fn run(&mut self, base: usize) -> bool {
        loop {
            if self.goals == EMPTY {
                return true;
            }
            let (goal, next) = self.agenda[self.goals];
            self.goals = next;
            let going = match goal {
                Goal::Node { at, index, value } => self.node(at, index, value),
                Goal::Items {
                    node,
                    index,
                    item,
                    values,
                } => self.items(node, index, item, values),
                Goal::Output(k) => self.output(k),
            };
            if !going && !self.backtrack(base) {
                return false;
            }
        }
    }

    fn choose(&mut self, alternative: Alternative<'h, H::V>) {
        self.choices.push(Choice {
            alternative,
            goals: self.goals,
            agenda: self.agenda.len(),
            trail: self.trail.len(),
        });
    }

    /// Goes on with the latest alternative.
    fn backtrack(&mut self, base: usize) -> bool {
        while self.choices.len() > base {
            let Some(choice) = self.choices.pop() else { break };
            self.undo(choice.trail);
            self.agenda.truncate(choice.agenda);
            self.goals = choice.goals;
            let going = match choice.alternative {
                Alternative::Form { at, index, value, next } => self.forms(at, index, value, next),
                Alternative::Pattern { at, index, value, next } => self.any_of(at, index, value, next),
                Alternative::Length {
                    node,
                    index,
                    item,
                    values,
                    next,
                    most,
                } => self.length(node, index, item, values, next, most),
                Alternative::Value {
                    at,
                    index,
                    values,
                    next,
                } => self.value(at, index, values, next),
            };
            if going {
                return true;
            }
        }
        false
    }

    fn fail(&mut self, at: PatternId, value: H::V, reason: impl FnOnce() -> Reason<H::V>) -> bool {
        let progress = self.trail.len();
        if let Some(trace) = &mut self.trace {
            trace.note(progress, at, value, reason);
        }
        false
    }

    /// Binds a vertex; `None` if it stands for something else.
    fn bind(&mut self, at: PatternId, index: u32, value: H::V) -> Option<bool> {
        if self.program.rule.source.within(at).is_some() {
            return match self.rows.get(&(at.0, index)) {
                Some(old) => (*old == value).then_some(false),
                None => {
                    self.rows.insert((at.0, index), value);
                    self.trail.push(Undo::Row(at.0, index));
                    Some(true)
                }
            };
        }
        match self.one[at.0 as usize] {
            Some(old) => (old == value).then_some(false),
            None => {
                self.one[at.0 as usize] = Some(value);
                self.trail.push(Undo::One(at.0));
                Some(true)
            }
        }
    }

    fn node(&mut self, at: PatternId, index: u32, value: H::V) -> bool {
        match self.bind(at, index, value) {
            None => return self.fail(at, value, || Reason::OtherValue),
            Some(false) => return true,
            Some(true) => {}
        }
        let rule = &self.program.rule;
        match rule.source.node(at) {
            PatternNode::Wildcard => true,
            PatternNode::Variable(i) => {
                self.host.admits(&rule.variables[*i], value) || self.fail(at, value, || Reason::Class)
            }
            PatternNode::Literal(number) => {
                self.host.constant(value).is_some_and(|t| equals_literal(t, *number))
                    || self.fail(at, value, || Reason::Literal)
            }
            PatternNode::Absent => {
                matches!(self.host.ty(value), crate::tensor::Type::Absent) || self.fail(at, value, || Reason::Given)
            }
            PatternNode::AnyOf(_) => self.any_of(at, index, value, 0),
            _ => self.forms(at, index, value, 0),
        }
    }

    fn any_of(&mut self, at: PatternId, index: u32, value: H::V, next: usize) -> bool {
        let PatternNode::AnyOf(items) = self.program.rule.source.node(at) else {
            return false;
        };
        let Some(&item) = items.get(next) else { return false };
        if next + 1 < items.len() {
            self.choose(Alternative::Pattern {
                at,
                index,
                value,
                next: next + 1,
            });
        }
        self.push(Goal::Node { at: item, index, value });
        true
    }

    fn forms(&mut self, at: PatternId, index: u32, value: H::V, mut from: usize) -> bool {
        let Some(want) = self.want(at) else { return false };
        let mut some = from > 0;
        while let Some((next, form)) = self.host.next_form(value, want, from) {
            some = true;
            from = next;
            // An operator occurs once in most classes: only look for more where there may be more.
            let more = self.host.next_form(value, want, next).is_some();
            if more {
                self.choose(Alternative::Form { at, index, value, next });
            }
            if self.form(at, index, value, form) {
                return true;
            }
            if !more {
                return false;
            }
            let Some(choice) = self.choices.pop() else { return false };
            self.undo(choice.trail);
            self.agenda.truncate(choice.agenda);
            self.goals = choice.goals;
        }
        if !some {
            return self.fail(at, value, || Reason::Operator);
        }
        false
    }

    fn form(&mut self, at: PatternId, index: u32, value: H::V, form: Form<'h, H::V>) -> bool {
        let program = self.program;
        let rule = &program.rule;
        self.forms.push((value, form.place));
        self.trail.push(Undo::Form);
        match (rule.source.node(at), form.head) {
            (PatternNode::Call { operands, .. }, FormHead::Call(def)) => {
                for (place, check) in program.checks[at.0 as usize].iter().enumerate() {
                    if !self.attribute(def, place, check, &form, index) {
                        let attr = self.host.attr(&form, place);
                        return self.fail(at, value, || Reason::Attribute(def.attrs[place].name, attr));
                    }
                }
                self.operands(at, index, value, operands, form.operands)
            }
            (
                PatternNode::CallOf {
                    variable,
                    operands,
                    rest,
                },
                FormHead::Call(def),
            ) => {
                match self.ops[*variable] {
                    Some(bound) if !std::ptr::eq(bound, def) => {
                        return self.fail(at, value, || Reason::Operator);
                    }
                    Some(_) => {}
                    None => {
                        self.ops[*variable] = Some(def);
                        self.trail.push(Undo::Op(*variable as u32));
                    }
                }
                for place in 0..def.attrs.len() {
                    let fits = match (rest, program.rest_slot[at.0 as usize]) {
                        (Some(_), Some(first)) => {
                            self.attribute(def, place, &AttrCheck::Slot(first + place), &form, index)
                        }
                        _ => self.attribute(def, place, &AttrCheck::Default, &form, index),
                    };
                    if !fits {
                        let attr = self.host.attr(&form, place);
                        return self.fail(at, value, || Reason::Attribute(def.attrs[place].name, attr));
                    }
                }
                self.operands(at, index, value, operands, form.operands)
            }
            (PatternNode::Tuple(items), FormHead::Tuple) => self.operands(at, index, value, items, form.operands),
            (PatternNode::Proj(tuple, wanted), FormHead::Proj(place)) => {
                let fits = match wanted {
                    ProjIndex::At(i) => *i == place,
                    ProjIndex::Running if self.by_place => self.bind_slot(PLACE, Some(index), SlotValue::Place(place)),
                    ProjIndex::Running => index == place,
                    ProjIndex::Bind(_) => match &program.checks[at.0 as usize][0] {
                        AttrCheck::SlotEach(slot) => self.bind_slot(*slot, Some(index), SlotValue::Place(place)),
                        AttrCheck::Slot(slot) => self.bind_slot(*slot, None, SlotValue::Place(place)),
                        _ => false,
                    },
                };
                if !fits {
                    return self.fail(at, value, || Reason::Element(place));
                }
                self.push(Goal::Node {
                    at: *tuple,
                    index,
                    value: form.operands[0],
                });
                true
            }
            _ => self.fail(at, value, || Reason::Operator),
        }
    }

    fn operands(&mut self, at: PatternId, index: u32, value: H::V, items: &'h [Item], values: &'h [H::V]) -> bool {
        if items.iter().all(|item| matches!(item, Item::One(_))) {
            // What is written as left out at the end need not be there.
            let pattern = &self.program.rule.source;
            let left_out = |item: &Item| matches!(pattern.node(item.vertex()), PatternNode::Absent);
            let needed = items.len() - items.iter().rev().take_while(|i| left_out(i)).count();
            if values.len() > items.len() || values.len() < needed {
                let (wanted, given) = (items.len(), values.len());
                return self.fail(at, value, || Reason::Operands(wanted, given));
            }
            for (item, &value) in items.iter().zip(values).rev() {
                self.push(Goal::Node {
                    at: item.vertex(),
                    index,
                    value,
                });
            }
            return true;
        }
        self.push(Goal::Items {
            node: at,
            index,
            item: 0,
            values,
        });
        true
    }

    /// The operand patterns of a call or tuple.
    fn item_list(&self, node: PatternId) -> &'h [Item] {
        match self.program.rule.source.node(node) {
            PatternNode::Call { operands, .. }
            | PatternNode::CallOf { operands, .. }
            | PatternNode::Tuple(operands) => operands,
            _ => &[],
        }
    }

    fn items(&mut self, node: PatternId, index: u32, item: usize, values: &'h [H::V]) -> bool {
        let items = self.item_list(node);
        let Some(first) = items.get(item) else {
            return values.is_empty();
        };
        match first {
            Item::One(at) => {
                let Some((&value, rest)) = values.split_first() else {
                    return false;
                };
                self.push(Goal::Items {
                    node,
                    index,
                    item: item + 1,
                    values: rest,
                });
                self.push(Goal::Node { at: *at, index, value });
                true
            }
            Item::Each(_, family) => {
                let ones = items[item + 1..].iter().filter(|i| matches!(i, Item::One(_))).count();
                let others = items.len() - item - 1 - ones;
                let Some(most) = values.len().checked_sub(ones) else {
                    return false;
                };
                match self.count_of(*family) {
                    Some(n) if n as usize > most => false,
                    Some(n) => self.length(node, index, item, values, n as usize, n as usize),
                    None if others == 0 => self.length(node, index, item, values, most, most),
                    None => self.length(node, index, item, values, 0, most),
                }
            }
        }
    }

    /// How many members a family has, if that is known.
    pub(super) fn count_of(&self, family: FamilyId) -> Option<u32> {
        match self.program.count(family) {
            Ok(count) => self.counts[count],
            Err(n) => Some(n),
        }
    }

    /// Fixes the number of members of a family; `false` if it is another.
    pub(super) fn set_count(&mut self, family: FamilyId, n: u32) -> bool {
        match self.program.count(family) {
            Err(fixed) => fixed == n,
            Ok(count) => match self.counts[count] {
                Some(before) => before == n,
                None => {
                    self.counts[count] = Some(n);
                    self.trail.push(Undo::Count(count as u32));
                    true
                }
            },
        }
    }

    fn length(&mut self, node: PatternId, index: u32, item: usize, values: &'h [H::V], n: usize, most: usize) -> bool {
        let Item::Each(body, family) = self.item_list(node)[item] else {
            return false;
        };
        if n < most {
            self.choose(Alternative::Length {
                node,
                index,
                item,
                values,
                next: n + 1,
                most,
            });
        }
        if !self.set_count(family, n as u32) {
            return false;
        }
        let (own, rest) = values.split_at(n);
        self.push(Goal::Items {
            node,
            index,
            item: item + 1,
            values: rest,
        });
        for (i, &value) in own.iter().enumerate().rev() {
            self.push(Goal::Node {
                at: body,
                index: i as u32,
                value,
            });
        }
        true
    }

    fn output(&mut self, k: usize) -> bool {
        let root = self.program.rule.source.outputs[k].vertex();
        let values = self.reachable(k, root);
        self.value(root, OUTSIDE, values.into(), 0)
    }

    /// Values that output `k` may have, given what is bound.
    pub(super) fn reachable(&self, k: usize, root: PatternId) -> Vec<H::V> {
        let start = self.program.reach[k].as_ref().and_then(|reach| {
            let from = self.one[reach.from.0 as usize]?;
            Some((from, &reach.path))
        });
        let Some((from, path)) = start else {
            return self.candidates(root);
        };
        let mut level = vec![from];
        for &step in path {
            let want = self.want(step);
            let mut above: Vec<H::V> = Vec::new();
            for &v in &level {
                above.extend(
                    self.host
                        .users(v)
                        .into_iter()
                        .filter(|&u| want.is_none_or(|want| self.host.next_form(u, want, 0).is_some())),
                );
            }
            if level.len() > 1 {
                above.sort_by_key(|v| (self.host.rank(*v), *v));
                above.dedup();
            }
            level = above;
        }
        level
    }

    fn value(&mut self, at: PatternId, index: u32, values: std::rc::Rc<[H::V]>, next: usize) -> bool {
        let Some(&value) = values.get(next) else { return false };
        if next + 1 < values.len() {
            self.choose(Alternative::Value {
                at,
                index,
                values,
                next: next + 1,
            });
        }
        self.push(Goal::Node { at, index, value });
        true
    }

    fn bind_slot(&mut self, slot: usize, index: Option<u32>, value: SlotValue) -> bool {
        let old = match index {
            None => self.attrs[slot],
            Some(i) => self.attr_rows.get(&(slot as u32, i)).copied(),
        };
        match (old, index) {
            (Some(old), _) => {
                let number = |v: SlotValue| match v {
                    SlotValue::Place(i) => Some(i64::from(i)),
                    SlotValue::Attr(a) => match self.host.attr_value(a) {
                        AttrValue::Int(d) => d.as_const(),
                        _ => None,
                    },
                };
                old == value || number(old).is_some_and(|n| number(value) == Some(n))
            }
            (None, None) => {
                self.attrs[slot] = Some(value);
                self.trail.push(Undo::Attr(slot as u32));
                true
            }
            (None, Some(i)) => {
                self.attr_rows.insert((slot as u32, i), value);
                self.trail.push(Undo::AttrRow(slot as u32, i));
                true
            }
        }
    }

    fn attribute(
        &mut self,
        def: &'static OpDef,
        place: usize,
        check: &AttrCheck,
        form: &Form<'h, H::V>,
        index: u32,
    ) -> bool {
        let number = self.host.attr(form, place);
        match check {
            AttrCheck::Free => true,
            AttrCheck::Slot(slot) => self.bind_slot(*slot, None, SlotValue::Attr(number)),
            AttrCheck::SlotEach(slot) => self.bind_slot(*slot, Some(index), SlotValue::Attr(number)),
            AttrCheck::Fixed(value) => self.host.attr_value(number) == value,
            AttrCheck::Axis(value) => self.is_axis(&def.attrs[place], value, number, form),
            AttrCheck::Default => self.is_default(def, place, number, form),
            AttrCheck::List(slot, items) => {
                let AttrValue::Ints(list) = self.host.attr_value(number) else {
                    return false;
                };
                let fits = list.len() == items.len()
                    && items.iter().zip(list).all(|(item, d)| match item {
                        ListItem::Int(value) => d.as_const() == Some(*value),
                        ListItem::Bind(_) | ListItem::Any => true,
                    });
                fits && self.bind_slot(*slot, None, SlotValue::Attr(number))
            }
        }
    }

    /// True if the attribute is these axes, those below zero counted from the end.
    fn is_axis(&self, attr: &AttrDef, value: &AttrValue, number: u32, form: &Form<'h, H::V>) -> bool {
        let rank = form.operands.first().and_then(|&v| self.host.ty(v).as_tensor()?.rank());
        let Some(rank) = rank else { return false };
        let rank = match (attr.kind, value) {
            (AttrKind::Axes(AxisOf::Output), AttrValue::Ints(list)) => rank + list.len(),
            (AttrKind::Axis(AxisOf::Output), _) => rank + 1,
            _ => rank,
        } as i64;
        let resolve = |d: &Dim| {
            let front = |v: i64| Dim::Const(if v < 0 { v + rank } else { v });
            d.as_const().map_or_else(|| d.clone(), front)
        };
        let resolved = match value {
            AttrValue::Int(d) => AttrValue::Int(resolve(d)),
            AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(resolve).collect()),
            other => other.clone(),
        };
        resolved == *self.host.attr_value(number)
    }

    /// True if the attribute is what the operator takes when it is left out of this call.
    fn is_default(&self, def: &'static OpDef, place: usize, number: u32, form: &Form<'h, H::V>) -> bool {
        let values: Vec<&AttrValue> = (0..def.attrs.len())
            .map(|i| self.host.attr_value(self.host.attr(form, i)))
            .collect();
        let given: Vec<(&str, AttrValue)> = def
            .attrs
            .iter()
            .zip(&values)
            .enumerate()
            .filter(|(i, (_, v))| *i != place && !v.is_none())
            .map(|(_, (a, v))| (a.name, (*v).clone()))
            .collect();
        let facts: Vec<Fact<'_>> = form
            .operands
            .iter()
            .map(|&v| Fact {
                ty: self.host.ty(v),
                value: self.host.constant(v),
            })
            .collect();
        let fresh = Cell::new(u32::MAX / 2);
        normalize(def, &facts, &given, &fresh).is_ok_and(|n| n.attrs[place] == *self.host.attr_value(number))
    }

    /// What is bound, if outputs are different values and, where the host asks for it, all vertices are.
    fn binding(&mut self) -> Option<Binding<H::V>> {
        let pattern = &self.program.rule.source;
        let outputs: Vec<H::V> = pattern
            .outputs
            .iter()
            .map(|o| self.one[o.vertex().0 as usize])
            .collect::<Option<_>>()?;
        if (1..outputs.len()).any(|k| outputs[..k].contains(&outputs[k])) {
            return None;
        }
        let binding = self.snapshot(outputs);
        self.is_exact(&binding).then_some(binding)
    }

    /// A copy of all that is bound.
    pub(super) fn snapshot(&self, outputs: Vec<H::V>) -> Binding<H::V> {
        let mut rows: Vec<_> = self.rows.iter().map(|(k, v)| (*k, *v)).collect();
        rows.sort_unstable_by_key(|(k, _)| *k);
        let mut attr_rows: Vec<_> = self.attr_rows.iter().map(|(k, v)| (*k, *v)).collect();
        attr_rows.sort_unstable_by_key(|(k, _)| *k);
        Binding {
            one: self.one.clone(),
            rows,
            attrs: self.attrs.clone(),
            attr_rows,
            ops: self.ops.iter().map(|o| o.map(|def| def.name)).collect(),
            counts: self.counts.clone(),
            outputs,
            forms: self.forms.clone(),
        }
    }

    /// Where the host keeps vertices apart: no value stands for two vertices of the pattern that are not both inputs,
    /// and no one outside uses an inner value (the seed's bijection and condition f4).
    pub(super) fn is_exact(&mut self, binding: &Binding<H::V>) -> bool {
        if self.host.merges() {
            return true;
        }
        let pattern = &self.program.rule.source;
        let mut inner: Vec<H::V> = Vec::new();
        let mut inputs: Vec<H::V> = Vec::new();
        for (at, v) in binding.vertices() {
            match pattern.node(at) {
                PatternNode::AnyOf(_) => {}
                node if is_input(node) => inputs.push(v),
                _ => inner.push(v),
            }
        }
        inner.sort_unstable();
        let root = pattern.outputs[0].vertex();
        let twice = inner.windows(2).find(|w| w[0] == w[1]).map(|w| w[0]);
        let both = inputs.iter().copied().find(|v| inner.binary_search(v).is_ok());
        if let Some(v) = twice.or(both) {
            return self.fail(root, v, || Reason::Twice);
        }
        let strict: Vec<H::V> = inner.iter().copied().filter(|v| !binding.outputs.contains(v)).collect();
        // An input that uses an inner value is part of the match as well: the definition lets it.
        let mut matched = inner.clone();
        matched.extend(inputs);
        if !self.host.closed(&strict, &matched) {
            let open = strict.iter().copied().find(|v| !self.host.closed(&[*v], &matched));
            let open = open.unwrap_or(binding.outputs[0]);
            return self.fail(root, open, || Reason::UsedOutside);
        }
        true
    }
}

/// True for what a pattern takes from outside: variables, literals, anything.
pub(in crate::rewrite) fn is_input(node: &PatternNode) -> bool {
    matches!(
        node,
        PatternNode::Variable(_) | PatternNode::Wildcard | PatternNode::Literal(_) | PatternNode::Absent
    )
}

/// The attribute number of a form that keeps its attributes in either way.
pub(in crate::rewrite) fn attr_ref<V: Copy>(attrs: &AttrRefs<'_, V>, i: usize, number: impl Fn(V) -> u32) -> u32 {
    match attrs {
        AttrRefs::Numbers(all) => all[i],
        AttrRefs::Values(all) => number(all[i]),
    }
}

/// True if a constant holds this number everywhere, rounded to its element type.
fn equals_literal(value: &Tensor, number: f64) -> bool {
    if value.is_empty() || !value.is_uniform() {
        return false;
    }
    let rounded = if value.dtype().is_float() {
        Tensor::from_f64s(value.dtype(), &[], &[number]).and_then(|t| t.to_f64s())
    } else {
        Some(vec![number])
    };
    let first = value.first().and_then(|t| t.to_f64s());
    matches!((rounded.as_deref(), first.as_deref()), (Some([a]), Some([b])) if a == b)
}
