//! Is a rule true: a search for an instance at which it is wrong, then a proof for all sizes.

mod all;
mod arms;
mod asked;
#[cfg(test)]
mod evidence_tests;
mod failures;
mod matched;
mod matches;
mod members;
mod probes;
mod reached;
pub(crate) mod search;
pub(crate) mod shrink;
#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use self::reached::Parts;
use self::search::Search;
use self::shrink::{Shrinking, shrink};
use crate::compare::finding::Fault;
use crate::instance::random::Random;
use crate::instance::recipe::Recipe;
use crate::instance::seeds::{Seeds, unmatched_alternatives};
use crate::proof::ledger::Covers;
use crate::proof::{self, Coverage};
use crate::verdict::options::Options;
use crate::verdict::report::{Report, Verdict, counterexample};
use tautomer_diag::Span;
use tautomer_op::Laws;
use tautomer_rewrite::Trial;
use tautomer_rule::{Example, PatternNode, Rule};

pub(crate) use self::all::in_order;
pub use self::all::verify_all;
pub use self::matched::instances;

/// Verifies a rule; `examples` are those of its file.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_lang::parse_rules;
/// # use tautomer_rule::load_rules;
/// # use tautomer_verify::{Options, Verdict, verify};
/// let text = "/// Order does not matter, or does it.\nrule swap(a, b) { matmul(a, b) => matmul(b, a) numerics real }";
/// let set = load_rules(parse_rules(Arc::new(Source::new("swap.rules", text))).unwrap()).unwrap();
/// let report = verify(&set.rules[0], &set.examples, &Options::default());
/// assert!(matches!(report.verdict, Verdict::Refuted(_)));
/// ```
pub fn verify(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> Report {
    // A panic costs the verdict of one rule, not of all rules verified in the same run.
    std::panic::catch_unwind(AssertUnwindSafe(|| verified(rule, examples, options))).unwrap_or_else(|_| {
        let mut report = Report::new(rule);
        report.verdict = Verdict::Undecided("internal error: the verifier panicked on this rule".to_owned());
        report
    })
}

/// The proof for any number of members, where those for two and for three are one.
fn of_any_members(rule: &Rule, examples: &[Example], options: &Options) -> Option<Coverage> {
    let mut out = Coverage {
        any_rank: true,
        ranks: (usize::MAX, 0),
        ..Coverage::default()
    };
    for few in members::with_few(rule)? {
        let Verdict::ProvedForAll(own) = verify(&few, examples, options).verdict else {
            return None;
        };
        out.forms += own.forms;
        out.cases += own.cases;
        out.any_rank &= own.any_rank;
        out.rounded |= own.rounded;
        out.ranks = (out.ranks.0.min(own.ranks.0), out.ranks.1.max(own.ranks.1));
        for line in own.ledger.lines() {
            out.ledger.add(line.what.clone(), line.covers.clone());
        }
    }
    out.ledger.add("the number of members", Covers::Symbolic);
    Some(out)
}

/// Limits on the vertices and on the alternatives of a source.
const VERTICES: usize = 1000;
const ALTERNATIVES: usize = 300;

/// Limit on the expressions in the text of a rule.
const EXPRESSIONS: usize = 10_000;

/// Why a rule is too large to verify, if it is.
fn too_large(rule: &Rule) -> Option<String> {
    let vertices = rule.source.len();
    let alternatives = rule.source.nodes().map(|(_, node)| match node {
        PatternNode::AnyOf(items) => items.len(),
        _ => 0,
    });
    let alternatives: usize = alternatives.sum();
    let inside = |span: Span| span.start >= rule.span.start && span.end <= rule.span.end;
    let expressions = rule.ast.iter().filter(|(_, expr)| inside(expr.span)).count();
    let counts = [
        (vertices, VERTICES, "vertices of the source"),
        (alternatives, ALTERNATIVES, "alternatives of the source"),
        (expressions, EXPRESSIONS, "expressions of the rule"),
    ];
    let (count, most, what) = counts.into_iter().find(|(count, most, _)| count > most)?;
    Some(format!(
        "there are {count} {what}, more than the limit of {most}; split it into smaller rules"
    ))
}

fn verified(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> Report {
    if let Some(why) = too_large(rule) {
        let mut report = Report::new(rule);
        report.verdict = Verdict::Undecided(why);
        return report;
    }
    let mut random = Random::part(options.seed, &rule.name);
    let parts = Parts::of(rule);
    let trial = Trial::new(rule.clone()).watching(parts.watched());
    let mut search = Search::new(rule, &trial, options);
    search.parts = Some(parts);
    let seeds = Seeds::of(rule, &trial, examples);
    let wrong = search.search(seeds, options, &mut random);
    let strict = options.strict || wrong.as_ref().is_some_and(|found| found.mismatch.fault == Fault::Types);
    let suspects = proof::Suspects::default();
    let proof = match wrong {
        None if options.prove && options.laws != Laws::ALL => Some(Err(
            "the proof relies on all laws of functions, and some are disabled".to_owned(),
        )),
        None if options.prove => {
            let forms = search.forms(true);
            let prove = |forms: &[&Recipe]| {
                proof::prove(&proof::Task {
                    rule,
                    trial: &trial,
                    agreeing: forms,
                    refused: search.refused(),
                    refuses_elements: search.refuses_elements,
                    all_types: search.all_types,
                    suspects: suspects.clone(),
                })
            };
            Some(match unmatched_alternatives(rule, &forms) {
                // Of some operators, proofs may know no formula.
                0 => prove(&forms).or_else(|why| match search.operated.is_empty() {
                    true => Err(why),
                    false => prove(&search.forms(false)),
                }),
                n => Err(format!(
                    "no instance was found for {n} of the alternatives in its source"
                )),
            })
        }
        _ => None,
    };
    let random_forms = &mut Random::part(options.seed, "forms");
    let worlds = &mut Random::part(0, "small worlds");
    let wrong = match &proof {
        Some(Ok(coverage)) if coverage.ledger.is_complete() => None,
        Some(Ok(_)) => search
            .try_all(suspects.take(), random_forms)
            .or_else(|| search.try_masks(worlds))
            .or_else(|| search.try_small_worlds(worlds)),
        Some(Err(_)) => search
            .try_all(suspects.take(), random_forms)
            .or_else(|| search.try_forms(random_forms))
            .or_else(|| search.try_masks(worlds))
            .or_else(|| search.try_small_worlds(worlds)),
        None => wrong,
    };
    // A proof for everything covers all arms.
    let is_complete = |coverage: &Coverage| coverage.ledger.is_complete();
    let mut arms = arms::Arms::default();
    if wrong.is_none()
        && !proof
            .as_ref()
            .is_some_and(|proof| proof.as_ref().is_ok_and(is_complete))
    {
        let known: Vec<Recipe> = search.agreeing().cloned().collect();
        arms = arms::search(rule, examples, &known, options);
    }
    let wrong = wrong.or(arms.wrong);
    let never_built = search.target_is_never_built();
    let is_empty = search.is_empty;
    let Search {
        mut report,
        evidence,
        parts,
        ..
    } = search;
    report.reached = parts.as_ref().map(Parts::reached).unwrap_or_default();
    let missed = parts.as_ref().and_then(Parts::missed).or(arms.missed.clone());
    report.instances += arms.instances;
    for (system, count) in arms.systems {
        *report.systems.entry(system).or_default() += count;
    }
    if let Some(Err(why)) = &proof {
        report.not_proved = Some(why.clone());
    }
    // A proof of a few forms says less than one at the shapes of all instances.
    let says_less =
        |coverage: &Coverage| coverage.few && missed.is_none() && matches!(evidence.verdict(), Verdict::Proved { .. });
    let proof = proof.filter(|proof| !proof.as_ref().is_ok_and(says_less));
    report.verdict = match (wrong, proof) {
        (Some(found), _) => {
            let shrinking = Shrinking {
                strict,
                attempts: options.shrinking,
            };
            let smallest = shrink(rule, &trial, found, shrinking, &mut random);
            Verdict::Refuted(Box::new(counterexample(smallest)))
        }
        (None, Some(Ok(coverage))) if coverage.ledger.is_complete() => Verdict::ProvedForAll(coverage),
        (None, Some(Ok(coverage))) if arms.missed.is_none() => match of_any_members(rule, examples, options) {
            Some(complete) => Verdict::ProvedForAll(complete),
            None => Verdict::ProvedFor(coverage),
        },
        (None, _) if report.instances > 0 => match missed {
            None if is_empty => Verdict::Undecided(format!(
                "the results are empty at all {} instances found, so that nothing was compared; an `example` of the rule \
                 would give the search a start",
                report.instances
            )),
            None => evidence.verdict(),
            Some(what) => Verdict::Undecided(format!(
                "no instance was found where {what}, and this part of the rule is not proved either; add an `example` \
                 there, or narrow the conditions"
            )),
        },
        (None, _) if never_built => Verdict::Undecided(format!(
            "the target cannot be built at any of the {} instances found: {}",
            report.refused,
            report.refusal.as_deref().unwrap_or("it has no type")
        )),
        (None, _) if report.refused > 0 => Verdict::Undecided(format!(
            "the target has the type of the source at none of the instances found: {}",
            report.refusal.as_deref().unwrap_or("it differs")
        )),
        (None, _) => Verdict::Undecided(
            match rule.source.operators().into_iter().find(|def| def.is_uninterpreted()) {
                Some(def) => format!(
                    "`{}` is declared without a body, so that nothing can be computed",
                    def.name
                ),
                None => {
                    "no operands were found that it matches; an `example` of the rule would give the search a start"
                        .to_owned()
                }
            },
        ),
    };
    report
}
