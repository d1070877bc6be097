//! What has changed in an e-graph since all rules were last searched for, and which matches that makes new.

use egg::Id;
use rustc_hash::FxHashSet;

use crate::enode::{ENode, News};
use crate::matching::{Binding, Classes, Program, Snapshot};

/// What has changed since the previous search.
///
/// A match is new if one of its e-nodes was added, if one of its classes was several classes before, or if more is
/// known of one: otherwise its classes, and what conditions read of them, were the same in the previous search, which
/// found it.
pub(super) struct Changes {
    /// For each class by number, its distance from a changed class along users; more than `depth` if it is farther.
    distances: Vec<u8>,
    /// The largest distance that is computed.
    depth: u8,
    /// By number, the classes all of whose matches are new.
    merged: Vec<bool>,
    /// The new e-nodes of other classes: their classes and their places there.
    added: FxHashSet<(Id, u32)>,
}

impl Changes {
    /// What `news` tells of a rebuilt e-graph, if `before` are all classes of the previous search; for patterns of at
    /// most this depth.
    pub(super) fn new(snapshot: &Snapshot<'_>, news: &News, before: &[Id], depth: usize) -> Changes {
        // Patterns deeper than 254 are searched for everywhere.
        let depth = depth.min(254) as u8;
        let distances = distances(snapshot, &news.changed, depth);
        let find = |id: Id| snapshot.egraph().find(id);
        let mut merged = vec![false; snapshot.end()];
        let mut known = vec![false; snapshot.end()];
        for &id in before {
            let now = usize::from(find(id));
            merged[now] |= std::mem::replace(&mut known[now], true);
        }
        for &id in &news.refined {
            merged[usize::from(find(id))] = true;
        }
        let nodes: FxHashSet<ENode> = news.added.iter().cloned().map(|node| canonical(node, find)).collect();
        let mut added = FxHashSet::default();
        for id in snapshot.ids() {
            if distances[usize::from(id)] > 0 || merged[usize::from(id)] {
                continue;
            }
            for (place, node) in snapshot.class(id).nodes.iter().enumerate() {
                if nodes.contains(node) {
                    added.insert((id, place as u32));
                }
            }
        }
        Changes {
            distances,
            depth,
            merged,
            added,
        }
    }

    /// True if a new match of a pattern of this depth may have its first output there.
    pub(super) fn reach(&self, id: Id, depth: usize) -> bool {
        depth > usize::from(self.depth) || usize::from(self.distances[usize::from(id)]) <= depth
    }

    /// True if the match may not have been there in the previous search.
    pub(super) fn make_new(&self, binding: &Binding<Id>, program: &Program) -> bool {
        let mut classes = binding.vertices().map(|(_, id)| usize::from(id));
        // Which values form a group depends on values that are not in it.
        if program.rule.source.varying().is_some() {
            return classes.any(|class| self.distances[class] == 0);
        }
        binding.forms.iter().any(|form| self.added.contains(form)) || classes.any(|class| self.merged[class])
    }
}

fn canonical(mut node: ENode, find: impl Fn(Id) -> Id) -> ENode {
    node.children.iter_mut().for_each(|child| *child = find(*child));
    node
}

/// For each class by number, its distance from `changed` along users; more than `most` if it is farther than that.
fn distances(snapshot: &Snapshot<'_>, changed: &[Id], most: u8) -> Vec<u8> {
    let mut out = vec![u8::MAX; snapshot.end()];
    let mut level: Vec<Id> = Vec::new();
    for &id in changed {
        let id = snapshot.egraph().find(id);
        if std::mem::replace(&mut out[usize::from(id)], 0) > 0 {
            level.push(id);
        }
    }
    for distance in 1..=most {
        let mut above = Vec::new();
        for id in level {
            for user in snapshot.class(id).parents() {
                let user = snapshot.egraph().find(user);
                if out[usize::from(user)] == u8::MAX {
                    out[usize::from(user)] = distance;
                    above.push(user);
                }
            }
        }
        level = above;
    }
    out
}
