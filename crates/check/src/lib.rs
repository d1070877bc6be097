//! Checks certificates of proofs that rewrite rules are right.
//!
//! The checker shares no code with the prover, the matcher or the parser of rules: it reads the rule's text, computes
//! what one element of either side is, by a table of operators of its own, and decides whether the two are equal by a
//! few laws. `docs/certificates.md` has the format, the laws, and what must be trusted.
//!
//! ```
//! let rule = "rule twice(x) { x + x => x * 2 numerics real }";
//! let head = format!("tautomer-certificate 1\nrule twice\ntext {rule}\nhash {}", tautomer_check::hash(rule));
//! assert!(matches!(tautomer_check::check(&(head + "\nlift elementwise\nend"))[0].verdict, tautomer_check::Verdict::Accepted(_)));
//! ```

mod certificate;
mod functions;
mod operators;
mod order;
mod poly;
mod rule;
mod text;

pub use certificate::{Checked, Verdict, check, hash};
