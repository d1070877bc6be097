//! Selects which rules are tried at a vertex: by the root of their source, and by earlier applications there.

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::super::matching::Program;
use tautomer_rule::{PatternId, PatternNode};

/// The rules that may match at each kind of vertex, in order.
#[derive(Default)]
pub(super) struct ByRoot {
    pub(super) ops: FxHashMap<&'static str, Vec<usize>>,
    pub(super) tuple: Vec<usize>,
    pub(super) proj: Vec<usize>,
}

/// The rules by the roots of their sources.
pub(super) fn by_root(programs: &[Program]) -> ByRoot {
    let mut out = ByRoot::default();
    for (i, program) in programs.iter().enumerate() {
        let rule = &program.rule;
        let mut stack: Vec<PatternId> = vec![rule.source.outputs[0].vertex()];
        while let Some(id) = stack.pop() {
            let add = |list: &mut Vec<usize>| {
                if list.last() != Some(&i) {
                    list.push(i);
                }
            };
            match rule.source.node(id) {
                PatternNode::Call { def, .. } => add(out.ops.entry(def.name).or_default()),
                PatternNode::CallOf { variable, .. } => {
                    for def in &rule.operators[*variable].choices {
                        add(out.ops.entry(def.name).or_default());
                    }
                }
                PatternNode::Tuple(_) => add(&mut out.tuple),
                PatternNode::Proj(..) => add(&mut out.proj),
                PatternNode::AnyOf(items) => stack.extend(items),
                _ => {}
            }
        }
    }
    out
}

/// Sets of rules, numbered.
#[derive(Debug, Default)]
pub(super) struct Lineages {
    sets: IndexSet<Vec<usize>, FxBuildHasher>,
}

impl Lineages {
    pub(super) fn contains(&self, lineage: u32, rule: usize) -> bool {
        lineage > 0 && self.sets[lineage as usize - 1].binary_search(&rule).is_ok()
    }

    pub(super) fn with(&mut self, lineage: u32, rule: usize) -> u32 {
        let mut set = if lineage > 0 {
            self.sets[lineage as usize - 1].clone()
        } else {
            Vec::new()
        };
        if let Err(place) = set.binary_search(&rule) {
            set.insert(place, rule);
        }
        self.sets.insert_full(set).0 as u32 + 1
    }
}
