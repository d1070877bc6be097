//! Checks certificates of proofs that rewrite rules are right.
//!
//! The checker shares no code with the prover, the matcher or the parser of rules: it reads the rule's text, computes
//! what one element of either side is, by a table of operators of its own, and decides whether the two are equal by a
//! few laws. `docs/certificates.md` has the format, the laws, and what must be trusted.
//!
//! ```
//! let rule = "rule twice(x) { x + x => x * 2 numerics real }";
//! let hash = tautomer_check::hash(rule);
//! let text = format!("tautomer-certificate 1\nrule twice\ntext {rule}\nhash {hash}\nlift elementwise\nend\n");
//! assert!(tautomer_check::check(&text)[0].verdict.is_accepted());
//! ```

mod certificate;
mod functions;
mod operators;
mod order;
mod poly;
mod rule;
mod text;

pub use certificate::{Checked, Verdict, check, hash};
