//! Verification of rules, results and runs. Each rule is compared at many small instances, over exact numbers where its
//! operators allow it. `README.md` in this directory maps the files and defines the terms.
//!
//! An instance is the source of a rule as a concrete graph: types, attributes, constants and member counts are chosen,
//! inference accepts it, and the engines' own matcher finds the rule in it. So the rule's conditions hold exactly as
//! they do when an engine applies it. Both sides are built and compared: first their types, then their values, starting
//! with the number systems that prove most.
//!
//! * Over two prime fields, agreement at random points shows that two polynomials are equal, whatever the functions in
//!   them are, up to a stated probability of error.
//! * Over fields that have `exp`, `log`, roots and powers, laws of functions prove more. The verdict names the laws it
//!   needed; laws can be disabled.
//! * Rational numbers are ordered, so they decide `max`, `relu`, `clip`, comparisons and rounding. Sides that differ
//!   there refute the rule.
//! * Everything else is compared in double precision, with error bounds propagated through the computation. A constant
//!   with many digits may be a rounded number, and its bound accounts for that.
//! * Bits are compared where the class is `bitwise`, and where it could be: on all instances, on every `f16` and `bf16`
//!   number and very many `f32` numbers if there is one operand, and on pairs of corner cases if there are two.
//!
//! A proof for all sizes keeps a ledger of everything that may vary about a rule, and of how each item is covered
//! ([`Ledger`]).
//!
//! The search starts from the rule's examples and from the operands that the loader's search finds, and mutates one
//! number, attribute or axis at a time, together with whatever is tied to it. Everything depends on the seed alone.

mod all;
mod audit;
mod bounds;
mod change;
mod class;
mod coincide;
mod data;
#[cfg(test)]
mod evidence;
mod extents;
mod fingerprint;
mod graphs;
mod grounds;
mod judge;
mod ledger;
mod level;
mod lock;
mod numbers;
mod options;
mod probe;
mod proof;
mod random;
mod reach;
mod recipe;
mod repair;
mod report;
mod search;
mod seeds;
mod shipped;
mod shrink;
mod sketch;
mod solve;
mod table;
#[cfg(test)]
mod tests;
mod tolerance;
mod unknown;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use self::random::Random;
use self::report::counterexample;
use self::search::Run;
use self::seeds::{seeds, unreached};
use tautomer_diag::Span;
use tautomer_op::Laws;
use tautomer_rewrite::Trial;
use tautomer_rule::{Example, PatternNode, Rule};

pub use self::all::{repair_all, verify_all};
pub use self::audit::{Audit, Fault as AuditFault, Limits as AuditLimits, Options as AuditOptions, audit};
pub use self::class::{Decided, Sweep};
pub use self::fingerprint::{examples_fingerprint, fingerprint};
pub use self::graphs::{
    Difference, Differs, Machine, Options as GraphOptions, Proof, Report as GraphReport, Verdict as GraphVerdict,
    verify_graphs,
};
pub use self::judge::Fault;
pub use self::ledger::{Covers, Ledger, Line};
pub use self::level::Level;
pub use self::lock::{Entry, Forms, LOCK_NAME, Lock, VERIFIER};
pub use self::options::Options;
pub use self::proof::Coverage;
pub use self::repair::{Repair, repair};
pub use self::report::{Counterexample, Report, Verdict};
pub use self::shipped::{Subject, is_shipped, place_of, shipped_locks, shipped_rules, shipped_verdict};
pub use self::table::verdict_table;

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
    let trial = Trial::new(rule.clone());
    let mut run = Run::new(rule, &trial, options);
    let seeds = seeds(rule, &trial, examples);
    let apart = run.search(seeds, options, &mut random);
    let strict = options.strict || apart.as_ref().is_some_and(|(_, _, apart)| apart.fault == Fault::Types);
    let proof = match apart {
        None if options.prove && options.laws != Laws::ALL => Some(Err(
            "the proof relies on all laws of functions, and some are disabled".to_owned(),
        )),
        None if options.prove => {
            let forms = run.forms();
            Some(match unreached(rule, &forms) {
                0 => proof::prove(&proof::Task {
                    rule,
                    trial: &trial,
                    agreeing: &forms,
                    refused: run.refused(),
                    all_types: run.all_types,
                }),
                n => Err(format!(
                    "no instance was found for {n} of the alternatives in its source"
                )),
            })
        }
        _ => None,
    };
    let Run {
        mut report, grounds, ..
    } = run;
    if let Some(Err(why)) = &proof {
        report.not_proved = Some(why.clone());
    }
    report.verdict = match (apart, proof) {
        (Some(found), _) => {
            let (sides, apart) = shrink::shrink(rule, &trial, found, (strict, options.shrinking), &mut random);
            Verdict::Refuted(Box::new(counterexample(&sides, *apart)))
        }
        (None, Some(Ok(coverage))) if coverage.ledger.is_complete() => Verdict::ProvedForAll(coverage),
        (None, Some(Ok(coverage))) => Verdict::ProvedFor(coverage),
        (None, _) if report.instances > 0 => grounds.verdict(),
        (None, _) if report.refused > 0 => Verdict::Undecided(format!(
            "the target has the type of the source at none of the instances found: {}",
            report.refusal.as_deref().unwrap_or("it differs")
        )),
        (None, _) => Verdict::Undecided(
            "no operands were found that it matches; an `example` of the rule would give the search a start".to_owned(),
        ),
    };
    report
}
