//! Combinations of the alternatives of a source.

use tautomer_rule::{Pattern, PatternId, PatternNode};

/// Limit on the combinations of alternatives that are counted.
const COMBINATIONS: usize = 256;

/// All combinations of alternatives, with a choice for each `AnyOf` vertex that is part of the match; `None` if there
/// are too many.
pub(crate) fn combinations(pattern: &Pattern) -> Option<Vec<Vec<Option<usize>>>> {
    let mut out = vec![vec![None; pattern.len()]];
    // Users come after operands, so going backwards the choices of all users are known.
    for at in (0..pattern.len()).rev() {
        let id = PatternId(at as u32);
        let PatternNode::AnyOf(items) = pattern.node(id) else {
            continue;
        };
        let mut next = Vec::new();
        for choice in &out {
            if !is_reached(pattern, choice, id) {
                next.push(choice.clone());
                continue;
            }
            for i in 0..items.len() {
                let mut choice: Vec<Option<usize>> = choice.clone();
                choice[at] = Some(i);
                next.push(choice);
            }
        }
        if next.len() > COMBINATIONS {
            return None;
        }
        out = next;
    }
    Some(out)
}

/// The vertices that are part of a match with that choice of alternatives.
pub(crate) fn reached(pattern: &Pattern, choice: &[Option<usize>]) -> Vec<bool> {
    let all = (0..pattern.len()).map(|i| is_reached(pattern, choice, PatternId(i as u32)));
    all.collect()
}

/// True if a vertex is part of matches with that choice; alternatives without a choice are not followed.
pub(crate) fn is_reached(pattern: &Pattern, choice: &[Option<usize>], wanted: PatternId) -> bool {
    let mut seen = vec![false; pattern.len()];
    let mut waiting: Vec<PatternId> = pattern.outputs.iter().map(|o| o.vertex()).collect();
    while let Some(id) = waiting.pop() {
        if id == wanted {
            return true;
        }
        if std::mem::replace(&mut seen[id.0 as usize], true) {
            continue;
        }
        match (pattern.node(id), choice[id.0 as usize]) {
            (PatternNode::AnyOf(items), Some(i)) => waiting.push(items[i]),
            (PatternNode::AnyOf(_), None) => {}
            _ => waiting.extend(pattern.operands(id)),
        }
    }
    false
}
