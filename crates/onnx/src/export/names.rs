//! Names of values: those of the original model where possible, new ones elsewhere.

use std::collections::{HashMap, HashSet};

use tautomer_graph::{Graph, Node, VertexId};
use tautomer_tensor::Type;

/// A value: a result of a call, or a leaf.
pub(super) type Value = (VertexId, u32);

/// Names in use.
#[derive(Debug, Default)]
pub(super) struct Names {
    used: HashSet<String>,
    /// Names inside nested graphs, which other nested graphs may also use.
    nested: HashSet<String>,
    of: HashMap<Value, String>,
}

impl Names {
    /// Names for a nested graph, which may not reuse outer names; [`Self::leave`] returns from it.
    pub(super) fn within(outer: &Names) -> Names {
        Names {
            used: outer.used.clone(),
            ..Names::default()
        }
    }

    /// Takes back the names from [`Self::within`], and keeps those used inside.
    pub(super) fn leave(&mut self, inner: Names) {
        let new = inner.used.into_iter().chain(inner.nested);
        let Names { used, nested, .. } = self;
        nested.extend(new.filter(|name| !used.contains(name)));
    }

    /// Prevents `name` from being given to any value.
    pub(super) fn reserve(&mut self, name: &str) {
        self.used.insert(name.to_string());
    }

    /// True if the name is in use.
    pub(super) fn is_used(&self, name: &str) -> bool {
        self.used.contains(name) || self.nested.contains(name)
    }

    /// An unused name similar to `base`.
    pub(super) fn fresh(&mut self, base: &str) -> String {
        let base = if base.is_empty() { "value" } else { base };
        let mut name = base.to_string();
        let mut i = 1;
        while self.nested.contains(&name) || !self.used.insert(name.clone()) {
            name = format!("{base}_{i}");
            i += 1;
        }
        name
    }

    /// Names a value.
    pub(super) fn set(&mut self, value: Value, name: String) {
        self.used.insert(name.clone());
        self.of.insert(value, name);
    }

    /// The name of a value, if it has one.
    pub(super) fn get(&self, value: Value) -> Option<&str> {
        self.of.get(&value).map(String::as_str)
    }

    /// The name of a value; it gets a new one if it has none.
    pub(super) fn of(&mut self, value: Value, base: &str) -> String {
        if let Some(name) = self.of.get(&value) {
            return name.clone();
        }
        let name = self.fresh(base);
        self.of.insert(value, name.clone());
        name
    }
}

/// The value of a vertex, following projections.
pub(super) fn value_of(graph: &Graph, v: VertexId) -> Value {
    let mut at = v;
    while let Node::Proj(i) = graph.vertex(at).node {
        let Some(&tuple) = graph.pred(at).first() else { break };
        match graph.vertex(tuple).node {
            Node::Tuple => match graph.pred(tuple).get(i as usize) {
                Some(&item) => at = item,
                None => break,
            },
            _ => return (tuple, i),
        }
    }
    (at, 0)
}

/// The number of results of a call as a node.
pub(super) fn result_count(ty: &Type) -> usize {
    match ty {
        Type::Tuple(items) if !items.is_empty() => items.len(),
        _ => 1,
    }
}
