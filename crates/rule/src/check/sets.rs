//! Rule sets: their members exist, and no set is part of itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use tautomer_diag::{Diagnostic, Span, did_you_mean};
use tautomer_lang::ast::Item;

use super::Checker;
use crate::Group;

impl Checker<'_> {
    /// The sets of the file. Their members are rules and sets of the file and of the files it uses.
    pub(super) fn groups(&mut self, items: &[Item], rules: &BTreeMap<Arc<str>, Span>, uses: bool) -> Vec<Group> {
        let mut known: BTreeMap<Arc<str>, Span> = rules.clone();
        let mut out = Vec::new();
        for item in items {
            let Item::RuleSet(set) = item else { continue };
            if let Some(before) = known.insert(set.name.name.clone(), set.name.span) {
                self.problems.push(
                    Diagnostic::error("T0306", format!("`{}` is defined twice", set.name.name))
                        .label(set.name.span, "again here")
                        .secondary(before, "first here")
                        .help("rules and sets are selected by name; rename one"),
                );
            }
        }
        for item in items {
            let Item::RuleSet(set) = item else { continue };
            for member in &set.members {
                if known.contains_key(&member.name) || uses {
                    continue;
                }
                let problem = Diagnostic::error("T0307", format!("there is no rule or set `{}`", member.name))
                    .label(member.span, "");
                let close = did_you_mean(member.as_str(), known.keys().map(|n| &**n));
                self.problems.push(match close {
                    Some(close) => problem.help(format!("did you mean `{close}`?")),
                    None => problem.help("members are rules and sets of this file, or of the files it uses"),
                });
            }
            out.push(Group {
                name: set.name.name.clone(),
                doc: set.doc.clone().unwrap_or_default(),
                members: set.members.iter().map(|m| m.name.clone()).collect(),
            });
        }
        self.circles(items, &out);
        out
    }

    /// Reports sets that are part of themselves, each cycle once.
    fn circles(&mut self, items: &[Item], groups: &[Group]) {
        let place = |name: &Arc<str>| groups.iter().position(|g| g.name == *name);
        let mut told = vec![false; groups.len()];
        for start in 0..groups.len() {
            let mut seen = vec![false; groups.len()];
            let mut stack: Vec<usize> = groups[start].members.iter().filter_map(place).collect();
            while let Some(at) = stack.pop() {
                if !std::mem::replace(&mut seen[at], true) {
                    stack.extend(groups[at].members.iter().filter_map(place));
                }
            }
            if seen[start] && !told[start] {
                // Sets reachable from here are not reported again, since those on the same cycles are among them.
                told.iter_mut().zip(&seen).for_each(|(told, seen)| *told |= *seen);
                let name = &groups[start].name;
                let spans = items.iter().filter_map(|item| match item {
                    Item::RuleSet(set) if set.name.name == *name => Some(set.name.span),
                    _ => None,
                });
                let problem = Diagnostic::error("T0317", format!("the set `{name}` is part of itself"));
                self.problems.push(
                    spans
                        .fold(problem, |p, span| p.label(span, ""))
                        .help("remove one of its members, or list the rules themselves"),
                );
            }
        }
    }
}
