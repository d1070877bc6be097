//! Operand lists, including comprehensions, and the paths to later outputs.

use super::Host;
use super::node::equals_literal;
use super::search::{OUTSIDE, Searcher};
use super::stack::{Alternative, Goal, Undo};
use super::trace::Reason;
use tautomer_rule::{FamilyId, Item, PatternId, PatternNode};

impl<'h, H: Host> Searcher<'h, H> {
    pub(super) fn operands(
        &mut self,
        at: PatternId,
        index: u32,
        value: H::V,
        items: &'h [Item],
        values: &'h [H::V],
    ) -> bool {
        if items.iter().all(|item| matches!(item, Item::One(_))) {
            // Trailing operands that the pattern omits need not exist.
            let pattern = &self.program.rule.source;
            let left_out = |item: &Item| matches!(pattern.node(item.vertex()), PatternNode::Absent);
            let needed = items.len() - items.iter().rev().take_while(|i| left_out(i)).count();
            if values.len() > items.len() || values.len() < needed {
                let (wanted, given) = (items.len(), values.len());
                return self.fail(at, value, || Reason::Operands(wanted, given));
            }
            // Most forms fail at an operand, which is found out here before anything is bound. A trace reports how far
            // a match got, so it does without.
            let pairs = || items.iter().zip(values);
            if self.trace.is_none() && pairs().any(|(item, &value)| !self.may_match(item.vertex(), value)) {
                return false;
            }
            for (item, &value) in pairs().rev() {
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
    pub(super) fn item_list(&self, node: PatternId) -> &'h [Item] {
        match self.program.rule.source.node(node) {
            PatternNode::Call { operands, .. }
            | PatternNode::CallOf { operands, .. }
            | PatternNode::Tuple(operands) => operands,
            _ => &[],
        }
    }

    pub(super) fn items(&mut self, node: PatternId, index: u32, item: usize, values: &'h [H::V]) -> bool {
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

    /// The number of members of a family, if it is known.
    pub(super) fn count_of(&self, family: FamilyId) -> Option<u32> {
        match self.program.count(family) {
            Ok(count) => self.counts[count],
            Err(n) => Some(n),
        }
    }

    /// Fixes the number of members of a family; `false` if it is already fixed to another.
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

    pub(super) fn length(
        &mut self,
        node: PatternId,
        index: u32,
        item: usize,
        values: &'h [H::V],
        mut n: usize,
        most: usize,
    ) -> bool {
        let Item::Each(body, family) = self.item_list(node)[item] else {
            return false;
        };
        // Lengths after which the next pattern cannot match the following value are skipped.
        if let Some(Item::One(next)) = self.item_list(node).get(item + 1) {
            while n < most && values.get(n).is_some_and(|&v| !self.may_be(*next, v)) {
                n += 1;
            }
            self.steps = self.steps.saturating_sub(1);
        }
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

    /// False if the value cannot match, as far as its own forms and the present bindings tell.
    fn may_match(&self, at: PatternId, value: H::V) -> bool {
        let bound = self.one[at.0 as usize];
        if bound.is_some() {
            return bound == Some(value);
        }
        match self.program.rule.source.node(at) {
            PatternNode::Literal(number) => self.host.constant(value).is_some_and(|t| equals_literal(t, *number)),
            PatternNode::AnyOf(items) => items.iter().any(|&item| self.may_match(item, value)),
            _ => self.may_be_one(at, value),
        }
    }

    /// False if the value has no form that the pattern requires.
    fn may_be(&self, at: PatternId, value: H::V) -> bool {
        match self.program.rule.source.node(at) {
            PatternNode::AnyOf(items) => items.iter().any(|&item| self.may_be_one(item, value)),
            _ => self.may_be_one(at, value),
        }
    }

    fn may_be_one(&self, at: PatternId, value: H::V) -> bool {
        let pattern = &self.program.rule.source;
        let has_form = matches!(
            pattern.node(at),
            PatternNode::Call { .. } | PatternNode::CallOf { .. } | PatternNode::Tuple(_) | PatternNode::Proj(..)
        );
        let found = |want| self.host.next_form(value, want, 0).is_some();
        !has_form || self.want(at).is_some_and(found)
    }

    pub(super) fn output(&mut self, k: usize) -> bool {
        let root = self.program.rule.source.outputs[k].vertex();
        let values = self.reachable(k, root);
        self.value(root, OUTSIDE, values.into(), 0)
    }

    /// Values that output `k` may have, given the current bindings.
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

    pub(super) fn value(&mut self, at: PatternId, index: u32, values: std::rc::Rc<[H::V]>, next: usize) -> bool {
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
}
