//! The search for the most general rule of a region that nothing refutes.

use std::sync::Arc;

use super::draft::{Draft, Typing, has_types};
use super::region::Region;
use crate::repair::repair;
use crate::rule::verify;
use crate::verdict::options::Options;
use crate::verdict::report::{Report, Verdict};
use tautomer_diag::Source;
use tautomer_graph::same_graph;
use tautomer_lang::{format_rules, parse_rules};
use tautomer_op::Scope;
use tautomer_rewrite::Trial;
use tautomer_rule::{Class, Example, Rule, load_checked_rules_in, load_rules_in};

/// How many instances each generalization is tried on; the final rule is verified as any other.
const QUICK: usize = 40;

/// The settings for trying rules.
pub(super) struct Searched<'a> {
    /// The declared operators that they may mention.
    pub(super) scope: &'a Scope,
    pub(super) options: &'a Options,
    /// The weakest class that they may have.
    pub(super) class: Class,
}

impl Searched<'_> {
    fn load(&self, text: &str) -> Option<(Arc<Rule>, Vec<Example>)> {
        let file = parse_rules(Arc::new(Source::new("suggestion", text))).ok()?;
        let set = load_checked_rules_in(file, self.scope).ok()?;
        Some((set.rules.first()?.clone(), set.examples))
    }

    /// Looks for a counterexample in a short search.
    ///
    /// # Errors
    /// Why the rule does not hold.
    fn holds(&self, text: &str) -> Result<(), String> {
        let quick = Options {
            instances: QUICK.min(self.options.instances),
            prove: false,
            ..self.options.clone()
        };
        let (rule, examples) = self.load(text).ok_or_else(|| unloadable(text, self))?;
        let report = verify(&rule, &examples, &quick);
        if is_right(&report) {
            Ok(())
        } else {
            Err(report.verdict.to_string())
        }
    }

    /// Whether the rule turns the source of the region into its target.
    pub(super) fn does(&self, text: &str, region: &Region) -> bool {
        let sides = || {
            let (rule, _) = self.load(text)?;
            let root = Region::root(&region.source)?;
            let sides = Trial::new(rule).sides(region.source.clone(), Some(&[root]))?;
            let target = *sides.target.ok()?.first()?;
            let mut graph = sides.graph;
            graph.clear_outputs();
            graph.output(target, None);
            Some(graph)
        };
        sides().is_some_and(|graph| same_graph(&graph, &region.target).is_ok())
    }
}

fn is_right(report: &Report) -> bool {
    !matches!(report.verdict, Verdict::Refuted(_) | Verdict::Undecided(_))
}

/// The text of the most general rule found for a region, with its example, and the result of its verification. `taken`
/// are names of other rules.
///
/// # Errors
/// Why there is no rule.
pub(super) fn generalized(
    region: &Region,
    search: &Searched<'_>,
    taken: &[String],
) -> Result<(String, Report), String> {
    let mut draft = Draft::new(region, search.class, taken);
    let example = if has_types(region) {
        draft.example()
    } else {
        String::new()
    };
    let text = |draft: &Draft<'_>| Some(format!("{}{example}", draft.rule()?));
    let holds = |draft: &Draft<'_>| match text(draft) {
        Some(text) => search.holds(&text),
        None => Err("it has values or attributes that rules cannot mention".to_owned()),
    };
    let mut outcome = Ok(());
    for typing in [Typing::Open, Typing::Ranks, Typing::Exact] {
        draft.typing = typing;
        outcome = holds(&draft);
        if outcome.is_ok() {
            break;
        }
    }
    outcome.map_err(|why| {
        let rule = draft.rule().unwrap_or_default();
        format!("the values agree on the data tried, but as a rule: {why}\n{rule}")
    })?;
    for i in 0..draft.groups.len() {
        draft.groups[i].is_open = true;
        draft.groups[i].is_open = holds(&draft).is_ok();
    }
    let mut found = text(&draft).ok_or("it cannot be written")?;
    if let Some(better) = repaired(&draft, &example, search) {
        found = better;
    }
    let (rule, examples) = search.load(&found).ok_or("it cannot be written")?;
    let mut report = verify(&rule, &examples, search.options);
    if !is_right(&report) {
        return Err(format!("the most general form found is {}", report.verdict));
    }
    if let Some(class) = report.stronger_class() {
        let stronger = found.replacen(&format!("numerics {}", rule.class), &format!("numerics {class}"), 1);
        if let Some((rule, examples)) = search.load(&stronger) {
            let again = verify(&rule, &examples, search.options);
            if is_right(&again) {
                (found, report) = (stronger, again);
            }
        }
    }
    match parse_rules(Arc::new(Source::new("suggestion", found.as_str()))) {
        Ok(file) => Ok((format_rules(&file), report)),
        Err(_) => Ok((found, report)),
    }
}

/// A more general form with conditions: where the types of the operands could not be left open, and where some
/// attributes or numbers could not.
fn repaired(draft: &Draft<'_>, example: &str, search: &Searched<'_>) -> Option<String> {
    let is_closed = draft.groups.iter().any(|group| !group.is_open);
    if draft.typing == Typing::Open && !is_closed {
        return None;
    }
    let mut open = Draft {
        typing: Typing::Open,
        ..draft.clone()
    };
    let mut tries = vec![open.clone()];
    open.groups.iter_mut().for_each(|group| group.is_open = true);
    tries.insert(0, open);
    let mut options = search.options.clone();
    options.instances = QUICK.min(options.instances);
    options.prove = false;
    tries.into_iter().find_map(|draft| {
        let (rule, examples) = search.load(&format!("{}{example}", draft.rule()?))?;
        // What holds without a condition needs no repair.
        if is_right(&verify(&rule, &examples, &options)) {
            return None;
        }
        let found = repair(&rule, &examples, &options)?;
        let text = format!("/// {}\n{}\n{example}", rule.doc, found.text.trim_start());
        search.holds(&text).is_ok().then_some(text)
    })
}

/// Why the text of a rule is not accepted.
fn unloadable(text: &str, search: &Searched<'_>) -> String {
    let file = parse_rules(Arc::new(Source::new("suggestion", text)));
    let loaded = file.and_then(|file| load_rules_in(file, search.scope));
    let problems = loaded.err();
    let first = problems.as_ref().and_then(|problems| problems.iter().next());
    first.map_or_else(
        || "the rule language cannot say it".to_owned(),
        |problem| problem.message.clone(),
    )
}
