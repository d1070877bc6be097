//! Certificates: the information that an independent checker needs to prove a rule again.

use std::fmt::Write as _;

use super::report::Verdict;
use tautomer_rule::Rule;

/// The first line of a file of certificates.
pub const CERTIFICATE_HEAD: &str = "tautomer-certificate 1\n";

/// The certificate of a rule that is proved for all sizes and for everything that it admits: its text, and whether both
/// sides treat each position separately. Whether that is enough for a proof, the checker decides.
///
/// # Errors
/// Why there is none.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_lang::parse_rules;
/// # use tautomer_rule::load_rules;
/// # use tautomer_verify::{Options, certificate, verify};
/// let text = "/// Twice.\nrule twice(x) { x + x => x * 2 where x.dtype == f32 numerics real }";
/// let set = load_rules(parse_rules(Arc::new(Source::new("twice.rules", text))).unwrap()).unwrap();
/// let report = verify(&set.rules[0], &set.examples, &Options::default());
/// let certificate = certificate(&set.rules[0], &report.verdict).unwrap();
/// assert!(certificate.contains("lift elementwise\n"));
/// ```
pub fn certificate(rule: &Rule, verdict: &Verdict) -> Result<String, String> {
    let Verdict::ProvedForAll(coverage) = verdict else {
        return Err(format!("the verdict is `{}`", verdict.level().word()));
    };
    if coverage.rounded {
        return Err("the sides are equal up to rounded constants".to_owned());
    }
    let text = rule.ast.source.slice(rule.span);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
    let mut out = format!("rule {}\n", rule.name);
    for line in &lines {
        _ = writeln!(out, "text {line}");
    }
    _ = writeln!(
        out,
        "hash {:032x}",
        super::fingerprint::fnv1a(lines.join("\n").as_bytes())
    );
    let trail = &coverage.trail;
    if trail.alone && coverage.any_rank {
        out.push_str("lift elementwise\n");
        if let Some(element) = &trail.element {
            _ = writeln!(out, "element {element}");
        }
    } else {
        out.push_str("lift calls\n");
    }
    out.push_str("end\n");
    Ok(out)
}
