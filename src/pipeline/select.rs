//! Selects the rules to use.

use std::sync::Arc;

use super::Options;
use crate::diag::{Diagnostic, Diagnostics};
use crate::rule::{Rule, composite_rules, library_rules};

/// The rules that `options` selects, in order.
///
/// # Errors
/// If the library does not load, or a name is unknown.
pub fn select_rules(options: &Options<'_>) -> Result<Vec<Arc<Rule>>, Diagnostics> {
    let all = every_rule(options)?;
    let mut problems = Diagnostics::new();
    let mut members = |names: &[String]| -> Vec<String> {
        let mut out = Vec::new();
        let mut stack: Vec<&str> = names.iter().rev().map(String::as_str).collect();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(name) = stack.pop() {
            if !seen.insert(name.to_owned()) {
                continue;
            }
            if let Some(group) = options.groups.iter().find(|g| &*g.name == name) {
                stack.extend(group.members.iter().rev().map(|m| &**m));
                continue;
            }
            // The name of an equality stands for both directions.
            let found: Vec<String> = all
                .iter()
                .filter(|r| &*r.name == name || (r.both_ways && r.name.strip_suffix("-reversed") == Some(name)))
                .map(|r| r.name.to_string())
                .collect();
            if found.is_empty() {
                let known = all
                    .iter()
                    .map(|r| &*r.name)
                    .chain(options.groups.iter().map(|g| &*g.name));
                let problem = Diagnostic::error("T0307", format!("there is no rule `{name}`"));
                problems.push(match crate::diag::did_you_mean(name, known) {
                    Some(close) => problem.help(format!("did you mean `{close}`?")),
                    None => problem.help("`tautomer rules list` shows all rules"),
                });
            }
            out.extend(found);
        }
        out
    };
    let only = options.only.as_ref().map(|names| members(names));
    let skip = members(&options.skip);
    let selected = all
        .iter()
        .filter(|r| options.class.allows(r.class))
        .filter(|r| r.assuming.iter().all(|fact| options.assume.contains(fact)))
        .filter(|r| only.as_ref().is_none_or(|only| only.iter().any(|n| **n == *r.name)))
        .filter(|r| !skip.iter().any(|n| **n == *r.name))
        .cloned()
        .collect();
    problems.into_result(selected)
}

/// The rules to select from.
pub(super) fn every_rule(options: &Options<'_>) -> Result<Vec<Arc<Rule>>, Diagnostics> {
    if let Some(rules) = &options.rules {
        return Ok(rules.clone());
    }
    let written = library_rules().map_err(Clone::clone)?;
    let derived = composite_rules().map_err(Clone::clone)?;
    Ok(written.iter().chain(derived).cloned().collect())
}
