//! A graph with an index for matching: operands, attribute numbers, ranks, and which vertices are static.

use std::collections::BTreeSet;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::super::fold::enlarges;
use super::super::matching::{AttrRefs, Form, FormHead, Host, Want};
use tautomer_graph::{Graph, Node, Operands, ValueId, VertexId};
use tautomer_op::{AttrValue, Op, OpDef, OpTraits};
use tautomer_tensor::{Tensor, Type};

/// The initial distance between ranks, which leaves room for new vertices.
const SPACING: u64 = 1 << 20;

/// The index entry of a vertex.
#[derive(Debug, Clone, Default)]
struct Entry {
    operands: Operands,
    attrs: SmallVec<[u32; 4]>,
    /// The number of its operator.
    op: Option<u32>,
    /// A topological number: greater than those of the operands.
    rank: u64,
    is_static: bool,
    /// True if it is a result of the graph.
    is_output: bool,
    /// True if it is computed at run time even if its operands are static.
    stays: bool,
    /// The rules that made it or the vertex it replaced, as a number of `Lineages`.
    lineage: u32,
}

/// A graph rewritten in place.
#[derive(Debug)]
pub(crate) struct Index {
    pub(super) graph: Graph,
    entries: FxHashMap<VertexId, Entry>,
    attrs: IndexSet<AttrValue, FxBuildHasher>,
    ops: Vec<&'static OpDef>,
    numbers: FxHashMap<&'static str, u32>,
    fold_all: bool,
}

impl Index {
    /// Indexes a graph.
    pub(crate) fn new(graph: Graph) -> Index {
        Index::folding(graph, false)
    }

    /// Indexes a graph; with `fold_all`, everything that can be computed ahead of time is.
    pub(crate) fn folding(graph: Graph, fold_all: bool) -> Index {
        let order = graph.rpo();
        let mut index = Index {
            graph,
            entries: FxHashMap::default(),
            attrs: IndexSet::default(),
            ops: Vec::new(),
            numbers: FxHashMap::default(),
            fold_all,
        };
        for (place, &v) in order.iter().enumerate() {
            index.insert(v, (place as u64 + 1) * SPACING);
        }
        for output in index.graph.outputs() {
            if let Some(entry) = index.entries.get_mut(&output.vertex) {
                entry.is_output = true;
            }
        }
        index
    }

    /// The graph, without vertices that no result needs.
    pub(super) fn into_graph(self) -> Graph {
        self.graph.compacted()
    }

    /// The graph with all its vertices.
    pub(crate) fn into_whole(self) -> Graph {
        self.graph
    }

    pub(super) fn contains(&self, v: VertexId) -> bool {
        self.entries.contains_key(&v)
    }

    fn entry(&self, v: VertexId) -> &Entry {
        &self.entries[&v]
    }

    pub(super) fn lineage(&self, v: VertexId) -> u32 {
        self.entries.get(&v).map_or(0, |e| e.lineage)
    }

    pub(super) fn set_lineage(&mut self, v: VertexId, lineage: u32) {
        if let Some(entry) = self.entries.get_mut(&v) {
            entry.lineage = lineage;
        }
    }

    /// The operator of a call that rules may match.
    pub(super) fn def(&self, v: VertexId) -> Option<&'static OpDef> {
        self.entry(v).op.map(|i| self.ops[i as usize])
    }

    fn insert(&mut self, v: VertexId, rank: u64) {
        let operands = self.graph.pred(v);
        let mut entry = Entry {
            rank,
            is_static: operands.iter().all(|u| self.entries[u].is_static),
            ..Entry::default()
        };
        if let (Some(op), false) = (self.graph.vertex(v).op(), self.fold_all) {
            let types: SmallVec<[&Type; 6]> = operands.iter().map(|&u| self.graph.ty(u)).collect();
            entry.stays = enlarges(op, &types, self.graph.ty(v));
            entry.is_static &= !entry.stays;
        }
        match &self.graph.vertex(v).node {
            Node::Input => entry.is_static = false,
            Node::Call {
                op: Op::Known(def),
                attrs,
            } if !def.traits.contains(OpTraits::NONDETERMINISTIC) => {
                let next = self.ops.len() as u32;
                let number = *self.numbers.entry(def.name).or_insert(next);
                if number == next {
                    self.ops.push(def);
                }
                entry.op = Some(number);
                entry.attrs = attrs.iter().map(|a| number_of(&mut self.attrs, a)).collect();
            }
            Node::Call { .. } => entry.is_static = false,
            _ => {}
        }
        entry.operands = operands;
        self.entries.insert(v, entry);
    }

    /// Vertices below `roots` that are not yet indexed, operands before users.
    pub(super) fn new_below(&self, roots: &[VertexId]) -> Vec<VertexId> {
        let mut out = Vec::new();
        let mut seen: FxHashSet<VertexId> = FxHashSet::default();
        let mut stack: Vec<(VertexId, bool)> = roots.iter().rev().map(|&v| (v, false)).collect();
        while let Some((v, done)) = stack.pop() {
            if done {
                out.push(v);
            } else if !self.contains(v) && seen.insert(v) {
                stack.push((v, true));
                stack.extend(self.graph.pred(v).into_iter().rev().map(|u| (u, false)));
            }
        }
        out
    }

    /// Adds new vertices to the index; operands come before users.
    pub(super) fn adopt(&mut self, created: &[VertexId]) {
        for &v in created {
            let below = self.graph.pred(v).iter().map(|u| self.entries[u].rank).max();
            self.insert(v, below.unwrap_or(0) + 1);
        }
    }

    /// Removes unused vertices from the index.
    pub(super) fn discard(&mut self, vertices: &[VertexId]) {
        for &v in vertices.iter().rev() {
            self.entries.remove(&v);
            self.graph.remove(v);
        }
    }

    /// True if replacing each old vertex by its new one closes a cycle.
    pub(super) fn closes_cycle(&self, places: &[(VertexId, VertexId)]) -> bool {
        if places.len() < 2 {
            return false;
        }
        let redirect = |v: VertexId| places.iter().find(|(old, _)| *old == v).map_or(v, |(_, new)| *new);
        let lowest = places
            .iter()
            .filter_map(|(old, _)| self.entries.get(old))
            .map(|e| e.rank)
            .min();
        let lowest = lowest.unwrap_or(0);
        // 1: in progress, 2: done.
        let mut state: FxHashMap<VertexId, u8> = FxHashMap::default();
        for &(_, root) in places {
            let mut stack = vec![(root, false)];
            while let Some((v, leaving)) = stack.pop() {
                if leaving {
                    state.insert(v, 2);
                    continue;
                }
                match state.get(&v) {
                    Some(1) => return true,
                    Some(_) => continue,
                    None => {}
                }
                state.insert(v, 1);
                stack.push((v, true));
                for u in self.graph.pred(v) {
                    let u = redirect(u);
                    // Vertices ranked below all replaced ones depend on none of them.
                    if self.entries.get(&u).is_some_and(|e| e.rank < lowest) {
                        continue;
                    }
                    match state.get(&u) {
                        Some(1) => return true,
                        Some(_) => {}
                        None => stack.push((u, false)),
                    }
                }
            }
        }
        false
    }

    /// Makes the users of `old`, including results but not `created`, use `new` instead.
    pub(super) fn replace(&mut self, old: VertexId, new: VertexId, created: &[VertexId]) {
        let users: Vec<VertexId> = self.graph.replace_uses_except(old, new, created);
        if self.entry(old).is_output {
            if let Some(entry) = self.entries.get_mut(&old) {
                entry.is_output = false;
            }
            if let Some(entry) = self.entries.get_mut(&new) {
                entry.is_output = true;
            }
        }
        for &user in &users {
            if !self.contains(user) {
                continue;
            }
            let operands = self.graph.pred(user);
            if let Some(entry) = self.entries.get_mut(&user) {
                entry.operands = operands;
            }
        }
        self.settle(users);
    }

    /// Updates ranks and static flags above changed vertices.
    fn settle(&mut self, changed: Vec<VertexId>) {
        let mut todo: BTreeSet<(u64, VertexId)> = BTreeSet::new();
        todo.extend(
            changed
                .into_iter()
                .filter_map(|v| Some((self.entries.get(&v)?.rank, v))),
        );
        while let Some((_, v)) = todo.pop_first() {
            let entry = self.entry(v);
            let below = entry.operands.iter().map(|u| self.entries[u].rank).max().unwrap_or(0);
            let pure = entry.op.is_some() || !matches!(self.graph.vertex(v).node, Node::Call { .. } | Node::Input);
            let is_static = pure && !entry.stays && entry.operands.iter().all(|u| self.entries[u].is_static);
            let rank = entry.rank.max(below + 1);
            if rank == entry.rank && is_static == entry.is_static {
                continue;
            }
            if let Some(entry) = self.entries.get_mut(&v) {
                entry.rank = rank;
                entry.is_static = is_static;
            }
            for user in self.graph.users(v) {
                if let Some(entry) = self.entries.get(&user) {
                    todo.insert((entry.rank, user));
                }
            }
        }
    }

    /// Removes the unused vertices among `vertices`, and those that only they used, from the index; returns how many.
    ///
    /// They stay in the graph until the end, because removing one of many users of a value takes time proportional to
    /// their number.
    pub(super) fn remove_dead(&mut self, vertices: &[VertexId]) -> usize {
        let mut gone = 0;
        let mut stack: Vec<VertexId> = vertices.to_vec();
        while let Some(v) = stack.pop() {
            let Some(entry) = self.entries.get(&v) else { continue };
            let removable = !matches!(self.graph.vertex(v).node, Node::Input | Node::Param);
            if !removable || entry.is_output || self.graph.users(v).any(|user| self.contains(user)) {
                continue;
            }
            stack.extend(entry.operands.iter().copied());
            self.entries.remove(&v);
            gone += 1;
        }
        gone
    }

    /// The vertices in order.
    pub(super) fn ordered(&self) -> BTreeSet<(u64, VertexId)> {
        self.entries.iter().map(|(&v, entry)| (entry.rank, v)).collect()
    }
}

fn number_of(attrs: &mut IndexSet<AttrValue, FxBuildHasher>, value: &AttrValue) -> u32 {
    match attrs.get_index_of(value) {
        Some(i) => i as u32,
        None => attrs.insert_full(value.clone()).0 as u32,
    }
}

impl Host for Index {
    type V = VertexId;

    fn id_of(v: VertexId) -> ValueId {
        v
    }

    fn of_id(id: ValueId) -> VertexId {
        id
    }

    fn op(&self, def: &'static OpDef) -> Option<u32> {
        self.numbers.get(def.name).copied()
    }

    fn next_form(&self, v: VertexId, want: Want<'_>, from: usize) -> Option<(usize, Form<'_, VertexId>)> {
        if from > 0 {
            return None;
        }
        let entry = self.entries.get(&v)?;
        let head = match (&self.graph.vertex(v).node, want) {
            (Node::Call { .. }, Want::Op(op)) if entry.op == Some(op) => FormHead::Call(self.ops[op as usize]),
            (Node::Call { .. }, Want::OneOf(defs)) => {
                let def = self.ops[entry.op? as usize];
                defs.iter().find(|d| std::ptr::eq(**d, def))?;
                FormHead::Call(def)
            }
            (Node::Tuple, Want::Tuple) => FormHead::Tuple,
            (Node::Proj(i), Want::Proj(wanted)) if wanted.is_none_or(|w| w == *i) => FormHead::Proj(*i),
            _ => return None,
        };
        let form = Form {
            head,
            place: 0,
            operands: &entry.operands,
            attrs: AttrRefs::Numbers(&entry.attrs),
        };
        Some((1, form))
    }

    fn values(&self, want: Want<'_>) -> Vec<VertexId> {
        let mut out: Vec<VertexId> = self
            .entries
            .keys()
            .copied()
            .filter(|&v| self.next_form(v, want, 0).is_some())
            .collect();
        out.sort_by_key(|v| (self.rank(*v), *v));
        out
    }

    fn users(&self, v: VertexId) -> Vec<VertexId> {
        let mut out: Vec<VertexId> = self.graph.users(v).filter(|u| self.contains(*u)).collect();
        out.sort_by_key(|u| (self.rank(*u), *u));
        out.dedup();
        out
    }

    fn rank(&self, v: VertexId) -> u64 {
        self.entries.get(&v).map_or(0, |e| e.rank)
    }

    fn attr(&self, form: &Form<'_, VertexId>, i: usize) -> u32 {
        match form.attrs {
            AttrRefs::Numbers(all) => all[i],
            AttrRefs::Values(_) => 0,
        }
    }

    fn attr_value(&self, attr: u32) -> &AttrValue {
        &self.attrs[attr as usize]
    }

    fn ty(&self, v: VertexId) -> &Type {
        self.graph.ty(v)
    }

    fn constant(&self, v: VertexId) -> Option<&Tensor> {
        self.graph.vertex(v).constant()
    }

    fn is_static(&self, v: VertexId) -> bool {
        self.entry(v).is_static
    }

    fn merges(&self) -> bool {
        false
    }

    fn closed(&self, inner: &[VertexId], matched: &[VertexId]) -> bool {
        let many: Option<FxHashSet<VertexId>> = (matched.len() > 16).then(|| matched.iter().copied().collect());
        let is_matched = |v: &VertexId| many.as_ref().map_or_else(|| matched.contains(v), |set| set.contains(v));
        inner.iter().all(|&v| {
            let mut users = self.graph.users(v).filter(|u| self.contains(*u));
            !self.entry(v).is_output && users.all(|u| is_matched(&u))
        })
    }
}
