//! The branches of a target as separate rules.
//!
//! `s => when c { a } else { b }` follows from `s => a where c` and `s => b`. The second is stronger than needed, but
//! its condition stays true when axes are removed, and `not c` may not.

use tautomer_lang::ast::{Block, ExprId, ExprKind, LetNames};
use tautomer_rule::Rule;

/// Limit on the branches of a rule.
const BRANCHES: usize = 8;

/// Rules from which a rule follows, without branches at the top of the target or of a definition in it; the rule itself
/// if it has none there. `None` if there are too many, or a condition uses a definition of the target.
pub(super) fn of(rule: &Rule) -> Option<Vec<Rule>> {
    let mut done = Vec::new();
    let mut waiting = vec![rule.clone()];
    while let Some(rule) = waiting.pop() {
        if done.len() + waiting.len() >= BRANCHES {
            return None;
        }
        let Some((place, cond, then, otherwise)) = first(&rule) else {
            done.push(rule);
            continue;
        };
        let defined = rule.target.lets.iter().flat_map(|l| match &l.names {
            LetNames::One(name) => vec![name.as_str()],
            LetNames::Tuple(all) => all.iter().map(|name| name.as_str()).collect(),
        });
        let defined: Vec<&str> = defined.collect();
        if rule.ast.mentions(cond, &|n| defined.contains(&n)) {
            return None;
        }
        let mut with = replaced(&rule, place, then)?;
        with.conditions.push(cond);
        let without = replaced(&rule, place, otherwise)?;
        waiting.extend([with, without]);
    }
    Some(done)
}

/// Where the first branch is: at the end, or in a definition.
#[derive(Debug, Clone, Copy)]
enum Place {
    Result,
    Definition(usize),
}

fn first(rule: &Rule) -> Option<(Place, ExprId, Block, Block)> {
    let lets = rule.target.lets.iter().enumerate();
    let places = lets.map(|(i, l)| (Place::Definition(i), l.value));
    places
        .chain([(Place::Result, rule.target.result)])
        .find_map(|(place, id)| match rule.ast.kind(id) {
            ExprKind::When { cond, then, otherwise } => Some((place, *cond, (**then).clone(), (**otherwise).clone())),
            _ => None,
        })
}

/// The rule with a branch replaced by a block.
fn replaced(rule: &Rule, place: Place, block: Block) -> Option<Rule> {
    let mut out = rule.clone();
    match place {
        Place::Result => {
            out.target.lets.extend(block.lets);
            out.target.result = block.result;
        }
        // Definitions inside would be seen by what follows.
        Place::Definition(i) if block.lets.is_empty() => out.target.lets[i].value = block.result,
        Place::Definition(_) => return None,
    }
    Some(out)
}
