//! Checks certificates of proofs that rewrite rules are right, without code of the prover, the matcher or the parser of
//! rules: it computes one element of either side from the text. `docs/certificates.md` has the format and the laws.
//!
//! ```
//! let rule = "rule twice(x) { x + x => x * 2 numerics real }";
//! let head = format!("tautomer-certificate 1\nrule twice\ntext {rule}\nhash {}", tautomer_check::hash(rule));
//! assert!(matches!(tautomer_check::check(&(head + "\nlift elementwise\nend"))[0].verdict, tautomer_check::Verdict::Accepted(_)));
//! ```

extern crate alloc;

mod certificate;
mod functions;
mod operators;
mod poly;
mod rule;
mod text;

pub use certificate::{Checked, Verdict, check, hash};
