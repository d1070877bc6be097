//! The bindings of a search, and the check whether they are valid.

use std::hash::{BuildHasher, Hash, Hasher};

use rustc_hash::FxBuildHasher;

use super::Host;
use super::search::Searcher;
use super::trace::Reason;
use tautomer_rule::{PatternId, PatternNode};

/// The bindings of a match: pattern vertices to values, attribute slots to attributes, operator variables to operators.
#[derive(Debug, Clone)]
pub(crate) struct Binding<V> {
    /// The value of each vertex outside comprehensions.
    pub(super) one: Vec<Option<V>>,
    /// The values of vertices inside comprehensions, by vertex and index; sorted.
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
    pub(crate) outputs: Vec<V>,
    /// The forms that matched: values with the indices of their forms.
    pub(crate) forms: Vec<(V, u32)>,
}

impl<V: Copy + Hash> Binding<V> {
    /// A hash that identifies the binding, with `f` mapping its values to their current ids.
    pub(crate) fn key(&self, f: impl Fn(V) -> V) -> u64 {
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
    pub(crate) fn vertices(&self) -> impl Iterator<Item = (PatternId, V)> + '_ {
        let outer = self.one.iter().enumerate();
        let outer = outer.filter_map(|(i, v)| Some((PatternId(i as u32), (*v)?)));
        outer.chain(self.rows.iter().map(|((at, _), v)| (PatternId(*at), *v)))
    }
}

/// The content of an attribute slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SlotValue {
    /// The attribute of that number.
    Attr(u32),
    /// The index of an element of a tuple.
    Place(u32),
}

impl<H: Host> Searcher<'_, H> {
    /// The current binding, if the outputs are distinct values and, where the host requires it, so are all vertices.
    pub(super) fn binding(&mut self) -> Option<Binding<H::V>> {
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

    /// A copy of all current bindings.
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

    /// Where the host distinguishes vertices: no value is bound to two vertices of the pattern that are not both
    /// inputs, and only the match itself uses inner values (the bijection and condition f4 of `rewrite::substitute`).
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
        // An input of the match stays in the graph, and so would any inner value that it uses.
        if !self.host.closed(&strict, &inner) {
            let open = strict.iter().copied().find(|v| !self.host.closed(&[*v], &inner));
            let open = open.unwrap_or(binding.outputs[0]);
            return self.fail(root, open, || Reason::UsedOutside);
        }
        true
    }
}

/// True for pattern nodes that match values from outside, such as variables, literals and wildcards.
pub(crate) fn is_input(node: &PatternNode) -> bool {
    matches!(
        node,
        PatternNode::Variable(_) | PatternNode::Wildcard | PatternNode::Literal(_) | PatternNode::Absent
    )
}
