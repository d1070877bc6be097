//! Are the rules true? Each rule is tried at many small instances, over exact numbers where its operators allow it.
//!
//! An instance is the source of a rule as a concrete graph: types, attributes, constants and numbers of members are
//! chosen, inference accepts it, and the matcher of the engines finds the rule in it, so that the conditions are
//! exactly those under which an engine applies the rule. Both sides are built and compared: their types, then their
//! values, over the number systems that say most first.
//!
//! * Over two prime fields, agreement at random points decides that two polynomials are equal, whatever the functions in
//!   them are, but for an error that is stated.
//! * Over fields in which `exp`, `log`, roots and powers are there, laws of functions decide more. Those that were needed
//!   are named, and may be switched off.
//! * Over rational numbers an order is decided: `max`, `relu`, `clip`, comparisons, roundings. Sides that differ there
//!   refute the rule.
//! * What is left is compared in double precision, with bounds of the rounding that follow the computation. A constant
//!   with many digits may stand for a number close by, and its bound says so.
//! * Bits are compared where the class says `bitwise`, and where it could: on all instances, on every number of `f16`
//!   and `bf16` and on very many of `f32` where there is one operand, and on pairs of numbers at which bits may go wrong.
//!
//! A proof for all sizes keeps a ledger of what may vary about a rule and of how it is covered ([`Ledger`]).
//!
//! Instances begin with the examples of the rule and with what the loader's search for operands finds, and are changed
//! one number, attribute or axis at a time, with what is tied to it. Everything depends on the seed alone.

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
use crate::diag::Span;
use crate::op::Laws;
use crate::rewrite::Trial;
use crate::rule::{Example, PatternNode, Rule};

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

/// Tries a rule; `examples` are those of its file.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, lang::parse_rules, rule::load_rules, verify::{Options, Verdict, verify}};
/// let text = "/// Order does not matter, or does it.\nrule swap(a, b) { matmul(a, b) => matmul(b, a) numerics real }";
/// let set = load_rules(parse_rules(Arc::new(Source::new("swap.rules", text))).unwrap()).unwrap();
/// let report = verify(&set.rules[0], &set.examples, &Options::default());
/// assert!(matches!(report.verdict, Verdict::Refuted(_)));
/// ```
pub fn verify(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> Report {
    // A fault of the tool costs the verdict of one rule and not those of all that are tried with it.
    std::panic::catch_unwind(AssertUnwindSafe(|| verified(rule, examples, options))).unwrap_or_else(|_| {
        let mut report = Report::new(rule);
        report.verdict =
            Verdict::Undecided("the verifier failed on this rule, which is a fault of the tool".to_owned());
        report
    })
}

/// The most vertices of a source, and the most alternatives in it.
const VERTICES: usize = 1000;
const ALTERNATIVES: usize = 300;

/// The most expressions of the text of a rule.
const EXPRESSIONS: usize = 10_000;

/// Why a rule is too large to be tried, if it is.
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
        "the limit of {most} {what} is exceeded, there are {count}; several smaller rules can be verified"
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
            "the proof takes all laws of functions for granted, and some are not assumed".to_owned(),
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
                n => Err(format!("no operands were found for {n} alternatives of its source")),
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
            "at none of the instances that were found has the target the type of the source: {}",
            report.refusal.as_deref().unwrap_or("it differs")
        )),
        (None, _) => Verdict::Undecided(
            "no operands were found that it matches; an `example` of the rule would show where to begin".to_owned(),
        ),
    };
    report
}
