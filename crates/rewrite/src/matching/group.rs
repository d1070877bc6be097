//! Outputs given by a comprehension: the maximal groups of values that match one body and share everything else.
//!
//! A group is formed from the values in order: the first one begins it, and each later one joins if all conditions
//! `all(c for i in 0..n)` hold with it and it neither computes nor uses a value that another member computes. The first
//! value that did not join begins the next group. So every value is in exactly one group, and no value outside the
//! earlier groups can be added to a group.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::binding::{Binding, is_input};
use super::found::{Match, MatchScope, outer};
use super::search::Searcher;
use super::{Host, Program};
use tautomer_graph::ValueId;
use tautomer_graph::term::{self, Scope, Term};
use tautomer_rule::{Count, FamilyId, PatternId, PatternNode, ProjIndex};
use tautomer_tensor::{Tensor, Type};

/// Values that are already in a group, with a hash of the values that the group shares.
pub(crate) struct Seen<V>(FxHashSet<(u64, V)>);

impl<V> Default for Seen<V> {
    fn default() -> Self {
        Seen(FxHashSet::default())
    }
}

impl<H: Host> Searcher<'_, H> {
    /// The groups that `value` is a member of.
    pub(super) fn groups(
        &mut self,
        value: H::V,
        seen: &mut Seen<H::V>,
        emit: &mut dyn FnMut(Binding<H::V>) -> bool,
    ) -> bool {
        let Some((body, family)) = self.program.rule.source.varying() else {
            return true;
        };
        self.by_place = self.runs_over_tuple(body);
        let mut found = self.solve(body, 0, value);
        while found {
            let shared = self.snapshot(Vec::new());
            let key = FxBuildHasher.hash_one((&shared.one, &shared.attrs, &shared.ops, &shared.counts));
            // A value that cannot be a member for other reasons does not form a group.
            if !seen.0.contains(&(key, value)) && self.is_member(body, 0, value, &shared.one) {
                let members = self.members(body, value);
                for group in self.partition(family, &members) {
                    seen.0.extend(group.iter().map(|&m| (key, members[m].1)));
                    let binding = self.grouped(family, &members, &group);
                    if let Some(binding) = binding
                        && self.is_exact(&binding)
                        && !emit(binding)
                    {
                        return false;
                    }
                }
            }
            found = self.again(0);
        }
        !self.is_exhausted()
    }

    /// True if the body projects a tuple by the running index; a member's index is then its position in the tuple.
    fn runs_over_tuple(&self, body: PatternId) -> bool {
        let pattern = &self.program.rule.source;
        let mut stack = vec![body];
        while let Some(id) = stack.pop() {
            if let PatternNode::Proj(_, ProjIndex::Running) = pattern.node(id) {
                return true;
            }
            stack.extend(
                pattern
                    .operands(id)
                    .into_iter()
                    .filter(|o| pattern.within(*o).is_some()),
            );
        }
        false
    }

    /// All values that match the body with the bindings outside it, in order, each with its preliminary index.
    fn members(&mut self, body: PatternId, value: H::V) -> Vec<(u32, H::V)> {
        let mut members = vec![(0, value)];
        let outer: Vec<Option<H::V>> = self.snapshot(Vec::new()).one;
        for other in self.reachable(0, body) {
            if other == value {
                continue;
            }
            let index = members.len() as u32;
            let (mark, base) = (self.mark(), self.choice_points());
            let mut fits = self.solve(body, index, other);
            while fits && !self.is_member(body, index, other, &outer) {
                fits = self.again(base);
            }
            self.commit(base);
            if fits {
                members.push((index, other));
            } else {
                self.undo(mark);
            }
        }
        members.sort_by_key(|(i, v)| (self.place(*i), self.host.rank(*v), *v));
        members
    }

    /// True if the values found for one index add no bindings outside, and only the match uses the inner ones.
    fn is_member(&self, body: PatternId, index: u32, value: H::V, outer: &[Option<H::V>]) -> bool {
        let now = self.snapshot(Vec::new());
        if now.one != outer {
            return false;
        }
        if self.host.merges() {
            return true;
        }
        let pattern = &self.program.rule.source;
        let inner = |at: PatternId| !is_input(pattern.node(at)) && !matches!(pattern.node(at), PatternNode::AnyOf(_));
        let own = || now.rows.iter().filter(|((_, i), _)| *i == index);
        let strict: Vec<H::V> = own()
            .filter(|((at, _), v)| inner(PatternId(*at)) && PatternId(*at) != body && *v != value)
            .map(|(_, v)| *v)
            .collect();
        let outer = now
            .one
            .iter()
            .enumerate()
            .filter(|(at, _)| inner(PatternId(*at as u32)));
        let matched: Vec<H::V> = own()
            .filter(|((at, _), _)| inner(PatternId(*at)))
            .map(|(_, v)| *v)
            .chain(outer.filter_map(|(_, v)| *v))
            .collect();
        self.host.closed(&strict, &matched)
    }

    /// Splits the members into groups by the conditions on each member.
    fn partition(&mut self, family: FamilyId, members: &[(u32, H::V)]) -> Vec<Vec<usize>> {
        let most = match self.program.rule.source.family(family).count {
            Count::Exactly(n) => n as usize,
            Count::Bind(_) => usize::MAX,
        };
        if self.by_place {
            // Consecutive positions from the first on, with the first value at each.
            let mut run: Vec<usize> = Vec::new();
            for (m, (index, _)) in members.iter().enumerate() {
                if run.len() < most && self.place(*index) == Some(run.len() as u32) {
                    run.push(m);
                }
            }
            return vec![run];
        }
        let binding = self.snapshot(Vec::new());
        let Ok(mut found) = outer(self.host, self.program, &binding) else {
            return Vec::new();
        };
        let parts = self.parts(&binding);
        let mut rest: Vec<usize> = (0..members.len()).collect();
        let mut groups = Vec::new();
        while !rest.is_empty() {
            let mut group: Vec<usize> = Vec::new();
            let mut left = Vec::new();
            let mut taken = Taken::default();
            found.cut(self.program, 0);
            for &m in &rest {
                let own = parts.get(&members[m].0);
                let joins = group.len() < most
                    && own.is_none_or(|own| taken.is_apart(own))
                    && found
                        .push_member(self.host, self.program, &binding, members[m].0)
                        .is_ok()
                    && joins(self.host, self.program, &found, group.len());
                if joins {
                    group.push(m);
                    taken.extend(own);
                } else {
                    found.cut(self.program, group.len());
                    left.push(m);
                }
            }
            if group.is_empty() {
                break;
            }
            groups.push(group);
            rest = left;
        }
        groups
    }

    /// The values of each member, for hosts where a value may not be both an inner value and an input of a match.
    fn parts(&self, binding: &Binding<H::V>) -> FxHashMap<u32, Parts<H::V>> {
        let mut parts: FxHashMap<u32, Parts<H::V>> = FxHashMap::default();
        if self.host.merges() {
            return parts;
        }
        for ((at, index), v) in &binding.rows {
            let own = parts.entry(*index).or_default();
            match self.program.rule.source.node(PatternId(*at)) {
                PatternNode::AnyOf(_) => {}
                node if is_input(node) => own.inputs.push(*v),
                _ => own.inner.push(*v),
            }
        }
        parts
    }

    /// The binding of one group, with its members numbered from 0.
    fn grouped(&mut self, family: FamilyId, members: &[(u32, H::V)], group: &[usize]) -> Option<Binding<H::V>> {
        let count = match self.program.count(family) {
            Ok(count) => Some(count),
            Err(n) if n as usize == group.len() => None,
            Err(_) => return None,
        };
        let all = self.snapshot(group.iter().map(|&m| members[m].1).collect());
        let mut places: FxHashMap<u32, u32> = FxHashMap::default();
        for (k, &m) in group.iter().enumerate() {
            places.insert(members[m].0, k as u32);
        }
        let mut binding = all.clone();
        binding.rows = all
            .rows
            .iter()
            .filter_map(|((at, i), v)| {
                if self.program.rule.source.within(PatternId(*at)) != Some(family) {
                    return Some(((*at, *i), *v));
                }
                Some(((*at, *places.get(i)?), *v))
            })
            .collect();
        binding.rows.sort_unstable_by_key(|(k, _)| *k);
        binding.attr_rows = all
            .attr_rows
            .iter()
            .filter_map(|((slot, i), v)| Some(((*slot, *places.get(i)?), *v)))
            .collect();
        binding.attr_rows.sort_unstable_by_key(|(k, _)| *k);
        if let Some(count) = count {
            match binding.counts[count] {
                Some(n) if n as usize != group.len() => return None,
                _ => binding.counts[count] = Some(group.len() as u32),
            }
        }
        Some(binding)
    }
}

/// The values of one member of a group.
struct Parts<V> {
    /// Values its body computes, including the member itself.
    inner: Vec<V>,
    /// Values its body uses from outside.
    inputs: Vec<V>,
}

impl<V> Default for Parts<V> {
    fn default() -> Self {
        Parts {
            inner: Vec::new(),
            inputs: Vec::new(),
        }
    }
}

/// The values of all members of a group together.
struct Taken<V> {
    inner: FxHashSet<V>,
    inputs: FxHashSet<V>,
}

impl<V> Default for Taken<V> {
    fn default() -> Self {
        Taken {
            inner: FxHashSet::default(),
            inputs: FxHashSet::default(),
        }
    }
}

impl<V: Copy + Eq + Hash> Taken<V> {
    /// True if no value is computed twice, and none is computed by one member and used by another.
    fn is_apart(&self, member: &Parts<V>) -> bool {
        member
            .inner
            .iter()
            .all(|v| !self.inner.contains(v) && !self.inputs.contains(v))
            && member.inputs.iter().all(|v| !self.inner.contains(v))
    }

    fn extend(&mut self, member: Option<&Parts<V>>) {
        if let Some(parts) = member {
            self.inner.extend(&parts.inner);
            self.inputs.extend(&parts.inputs);
        }
    }
}

/// True if every condition on each member holds for the last one.
fn joins<H: Host>(host: &H, program: &Program, found: &Match, index: usize) -> bool {
    program.each_conditions.iter().all(|(body, var)| {
        let scope = MemberScope {
            inner: MatchScope {
                host,
                names: &found.names,
            },
            var,
            index,
        };
        term::condition(&program.rule.ast, *body, &scope).unwrap_or(false)
    })
}

/// The names of a group under construction, and the index of its last member.
struct MemberScope<'a, H: Host> {
    inner: MatchScope<'a, H>,
    var: &'a Arc<str>,
    index: usize,
}

impl<H: Host> Scope for MemberScope<'_, H> {
    fn name(&self, name: &str) -> Option<Term> {
        if name == &**self.var {
            return Some(Term::Int(self.index.into()));
        }
        self.inner.name(name)
    }

    fn indexed(&self, name: &str, index: i64) -> Option<Term> {
        self.inner.indexed(name, index)
    }

    fn ty(&self, v: ValueId) -> Type {
        self.inner.ty(v)
    }

    fn constant(&self, v: ValueId) -> Option<Tensor> {
        self.inner.constant(v)
    }

    fn is_static(&self, v: ValueId) -> bool {
        self.inner.is_static(v)
    }
}
