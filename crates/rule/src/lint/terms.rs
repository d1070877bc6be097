//! Both sides of rules as comparable terms: each has a number, and equal terms have equal numbers.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// The number of a term in [`Terms`].
pub(super) type TermId = u32;

/// The head of a term.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Head {
    /// A name that is bound by a match of the rule.
    Name(Arc<str>),
    /// A call of an operator of the table; below are its operands and its attributes.
    Op(&'static str),
    /// A call of an operator variable; below are its name, its operands, and its attributes.
    OpOf,
    /// Operands, or attributes in declared order.
    List,
    /// Alternatives.
    AnyOf,
    /// Anything else, by its form.
    Form(Arc<str>),
}

/// A set of distinct terms.
#[derive(Debug, Default)]
pub(super) struct Terms {
    nodes: Vec<(Head, Vec<TermId>)>,
    /// The number of nodes of the term as a tree.
    sizes: Vec<u64>,
    index: FxHashMap<(Head, Vec<TermId>), TermId>,
}

/// The terms that names stand for.
pub(super) type Meaning = FxHashMap<Arc<str>, TermId>;

impl Terms {
    pub(super) fn add(&mut self, head: Head, below: Vec<TermId>) -> TermId {
        let key = (head, below);
        if let Some(&id) = self.index.get(&key) {
            return id;
        }
        let id = self.nodes.len() as TermId;
        let size = key
            .1
            .iter()
            .fold(1u64, |n, t| n.saturating_add(self.sizes[*t as usize]));
        self.sizes.push(size);
        self.nodes.push(key.clone());
        self.index.insert(key, id);
        id
    }

    pub(super) fn form(&mut self, text: impl Into<Arc<str>>, below: Vec<TermId>) -> TermId {
        self.add(Head::Form(text.into()), below)
    }

    pub(super) fn name(&mut self, name: &Arc<str>) -> TermId {
        self.add(Head::Name(name.clone()), Vec::new())
    }

    /// The value of an attribute with the default of its operator.
    pub(super) fn left_out(&mut self) -> TermId {
        self.form("default", Vec::new())
    }

    pub(super) fn head(&self, id: TermId) -> &Head {
        &self.nodes[id as usize].0
    }

    pub(super) fn below(&self, id: TermId) -> &[TermId] {
        &self.nodes[id as usize].1
    }

    pub(super) fn size(&self, id: TermId) -> u64 {
        self.sizes[id as usize]
    }

    /// The term with parts replaced as given by `known`, which also caches the results.
    fn rebuild(&mut self, id: TermId, known: &mut FxHashMap<TermId, TermId>) -> TermId {
        let mut stack = vec![(id, false)];
        while let Some((at, ready)) = stack.pop() {
            if known.contains_key(&at) {
                continue;
            }
            if !ready {
                stack.push((at, true));
                stack.extend(self.below(at).iter().map(|&t| (t, false)));
                continue;
            }
            let below: Vec<TermId> = self.below(at).iter().map(|t| known[t]).collect();
            let head = self.head(at).clone();
            let new = self.call_of_known(head, below);
            known.insert(at, new);
        }
        known[&id]
    }

    /// A call of an operator variable that stands for an operator is a call of that operator.
    fn call_of_known(&mut self, head: Head, below: Vec<TermId>) -> TermId {
        if let (Head::OpOf, [variable, operands, attrs]) = (&head, below.as_slice())
            && let Head::Op(name) = *self.head(*variable)
        {
            let mut attrs = *attrs;
            let default = self.left_out();
            if attrs == default {
                let count = tautomer_op::lookup(name).map_or(0, |def| def.attrs.len());
                attrs = self.add(Head::List, vec![default; count]);
            }
            return self.add(Head::Op(name), vec![*operands, attrs]);
        }
        self.add(head, below)
    }

    /// The term with its names replaced.
    pub(super) fn with_names(&mut self, id: TermId, meaning: &Meaning) -> TermId {
        let mut names: Vec<_> = meaning.iter().collect();
        names.sort();
        let mut known = FxHashMap::default();
        for (name, &term) in names {
            let at = self.name(name);
            known.insert(at, term);
        }
        self.rebuild(id, &mut known)
    }

    /// The term with one part replaced.
    pub(super) fn with_part(&mut self, id: TermId, part: TermId, by: TermId) -> TermId {
        self.rebuild(id, &mut FxHashMap::from_iter([(part, by)]))
    }

    /// All parts of terms, including the terms themselves, each once and the largest first.
    pub(super) fn parts(&self, roots: &[TermId]) -> Vec<TermId> {
        let mut seen: Vec<TermId> = Vec::new();
        let mut stack = roots.to_vec();
        let mut known = rustc_hash::FxHashSet::default();
        while let Some(at) = stack.pop() {
            if known.insert(at) {
                seen.push(at);
                stack.extend(self.below(at));
            }
        }
        seen.sort_by_key(|t| (std::cmp::Reverse(self.size(*t)), *t));
        seen
    }

    /// The names of terms in order of their first occurrence.
    pub(super) fn names(&self, roots: &[TermId]) -> Vec<Arc<str>> {
        let mut out: Vec<Arc<str>> = Vec::new();
        let mut known = rustc_hash::FxHashSet::default();
        let mut stack: Vec<TermId> = roots.iter().rev().copied().collect();
        while let Some(at) = stack.pop() {
            if !known.insert(at) {
                continue;
            }
            if let Head::Name(name) = self.head(at) {
                out.push(name.clone());
            }
            stack.extend(self.below(at).iter().rev());
        }
        out
    }
}
