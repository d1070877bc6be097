//! Conditions under which a wrong rule is right: the weakest one of a vocabulary that no counterexample fulfils.

use std::sync::Arc;

use super::{Options, Run, Verdict, random::Random, recipe::Recipe, seeds, verify};
use crate::diag::Source;
use crate::lang::parse_rules;
use crate::rewrite::Trial;
use crate::rule::{AttrPattern, Example, PatternNode, Rule, load_rules};

/// Candidates that are verified, from the weakest on.
const VERIFIED: usize = 4;

/// A condition that makes a rule right, as far as it is tried.
#[derive(Debug, Clone)]
pub struct Repair {
    /// What is added: a condition, or an attribute of the source.
    pub change: String,
    /// The rule with it.
    pub text: String,
    /// Right instances that it keeps, of all that were found.
    pub kept: usize,
    /// Right instances that were found.
    pub of: usize,
}

/// The weakest extra condition of a vocabulary under which nothing refutes the rule; nothing, if there is none.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, lang::parse_rules, rule::load_rules, verify::{Options, repair}};
/// let text = "/// Right for one group.\n\
///     rule r(x, w: param, v: param) {\n\
///       conv(x, concat(w, v) {axis = 0}) {..a} => concat(conv(x, w) {..a}, conv(x, v) {..a}) {axis = 1}\n\
///     }";
/// let set = load_rules(parse_rules(Arc::new(Source::new("r.rules", text))).unwrap()).unwrap();
/// let found = repair(&set.rules[0], &set.examples, &Options::default()).unwrap();
/// assert!(found.change.contains("group = 1"), "{}", found.change);
/// ```
pub fn repair(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> Option<Repair> {
    let (right, wrong) = instances(rule, examples, options);
    if right.is_empty() || wrong.is_empty() {
        return None;
    }
    let mut candidates: Vec<(usize, usize, Repair, Arc<Rule>)> = Vec::new();
    for (order, (change, text)) in vocabulary(rule).into_iter().enumerate() {
        let Some(changed) = load(rule, &text) else { continue };
        let trial = Trial::new(changed.clone());
        let matches = |recipe: &&Recipe| {
            let built = recipe.build().ok();
            built.is_some_and(|(graph, roots)| trial.sides(graph, Some(&roots)).is_some())
        };
        if wrong.iter().any(|r| matches(&r)) {
            continue;
        }
        let kept = right.iter().filter(matches).count();
        if kept > 0 {
            let of = right.len();
            let repair = Repair { change, text, kept, of };
            candidates.push((kept, order, repair, changed));
        }
    }
    // Among those that keep nearly as much, the simplest.
    let most = candidates.iter().map(|c| c.0).max().unwrap_or(0);
    candidates.sort_by_key(|(kept, order, ..)| {
        (
            10 * kept < 9 * most,
            if 10 * kept < 9 * most { most - kept } else { 0 },
            *order,
        )
    });
    candidates
        .into_iter()
        .take(VERIFIED)
        .find_map(|(_, _, repair, changed)| {
            let report = verify(&changed, examples, options);
            matches!(report.verdict, Verdict::Proved { .. } | Verdict::Tested { .. }).then_some(repair)
        })
}

/// Instances at which the rule is right, and at which it is wrong.
fn instances(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> (Vec<Recipe>, Vec<Recipe>) {
    let mut random = Random::part(options.seed, &rule.name);
    let trial = Trial::new(rule.clone());
    let mut run = Run::new(rule, &trial, options.strict);
    let mut wrong = Vec::new();
    let most = options.instances.saturating_mul(options.attempts);
    let mut todo = seeds(rule, &trial, examples, &mut random);
    todo.reverse();
    while run.report.attempts < most && run.report.instances + wrong.len() < 2 * options.instances {
        let next = match todo.pop() {
            Some(next) => next,
            None => match run.next(&wrong, &mut random) {
                Some(next) => next,
                None => break,
            },
        };
        if let Some((recipe, ..)) = run.attempt(next, &mut random) {
            wrong.push(recipe);
        }
    }
    let Run { pool, right, .. } = run;
    (right.iter().map(|&i| pool[i].clone()).collect(), wrong)
}

/// The rule of that text which takes the place of `rule`.
fn load(rule: &Rule, text: &str) -> Option<Arc<Rule>> {
    let file = parse_rules(Arc::new(Source::new("repair", text))).ok()?;
    let set = load_rules(file).ok()?;
    set.rules.iter().find(|r| r.name == rule.name).cloned()
}

/// Changes with the texts of the changed rule, simple ones first.
fn vocabulary(rule: &Rule) -> Vec<(String, String)> {
    let Some(text) = rule
        .ast
        .source
        .text
        .get(rule.span.start as usize..rule.span.end as usize)
    else {
        return Vec::new();
    };
    let Some(end) = text.rfind('}') else { return Vec::new() };
    let mut out = Vec::new();
    // Attributes in a rest cannot be named by a condition: they are taken out of it.
    for rest in &rule.rests {
        for attr in ["group = 1", "keepdims = true", "auto_pad = \"NOTSET\""] {
            let pattern = format!("..{rest}");
            let changed = text.replace(&pattern, &format!("{attr}, {pattern}"));
            if changed != text {
                out.push((format!("{{{attr}}} beside `..{rest}`"), changed));
            }
        }
    }
    let last = rule
        .conditions
        .last()
        .map(|c| (rule.ast.span(*c).end - rule.span.start) as usize);
    let mut condition = |condition: String| {
        let changed = match last.filter(|&at| at <= end && text.is_char_boundary(at)) {
            Some(at) => format!("{}, {condition}{}", &text[..at], &text[at..]),
            None => format!("{} where {condition} {}", text[..end].trim_end(), &text[end..]),
        };
        out.push((format!("where {condition}"), changed));
    };
    let names: Vec<&str> = rule.variables.iter().filter(|v| !v.indexed).map(|v| &*v.name).collect();
    for (i, a) in names.iter().enumerate() {
        for b in &names[i + 1..] {
            for what in ["shape", "rank"] {
                condition(format!("{a}.{what} == {b}.{what}"));
            }
            condition(format!("broadcasts({a}, {b})"));
            condition(format!("broadcasts({b}, {a})"));
            for axis in ["[0]", "[1]", "[-1]", "[1..]"] {
                condition(format!("{a}.shape{axis} == {b}.shape{axis}"));
            }
        }
    }
    for a in &names {
        for what in [
            "size == 1",
            "rank == 0",
            "rank == 1",
            "rank == 2",
            "rank <= 2",
            "rank >= 2",
            "shape[0] == 1",
        ] {
            condition(format!("{a}.{what}"));
        }
    }
    let mut bound: Vec<Arc<str>> = Vec::new();
    for (_, node) in rule.source.nodes() {
        if let PatternNode::Call { attrs, .. } = node {
            for attr in attrs {
                if let AttrPattern::Bind(name) = attr
                    && !bound.contains(name)
                {
                    bound.push(name.clone());
                }
            }
        }
    }
    for name in &bound {
        for what in ["== 0", "== 1", "== -1", "> 0"] {
            condition(format!("{name} {what}"));
        }
        condition(format!("all(i == 0 for i in {name})"));
        condition(format!("all(i == 1 for i in {name})"));
    }
    out
}
