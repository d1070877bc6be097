//! Verification of rules, results and runs. Both sides of a rule are compared on many small instances, over exact
//! numbers where its operators allow it. `README.md` in this directory maps the files and defines the terms.
//!
//! An instance is the source of a rule as a concrete graph: types, attributes, constants and member counts are chosen,
//! inference accepts it, and the engines' own matcher finds the rule in it. So the rule's conditions hold exactly as
//! they do when an engine applies it. Both sides are built and compared: first their types, then their values, starting
//! with the number systems that prove the most.
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
//! A proof for all sizes keeps a ledger of everything that may vary in a rule, and of how each item is covered
//! ([`Ledger`]).
//!
//! The search starts from the rule's examples and from the operands that the loader's search finds, and mutates one
//! number, attribute or axis at a time, together with whatever is tied to it. Everything depends only on the seed.

// The floors: a module uses only those above it here, as `tests/it/tidy.rs` checks.
mod instance;

mod compare;

mod proof;

mod verdict;

mod rule;

mod repair;

mod graphs;

mod suggest;

mod audit;

pub use self::audit::{Audit, Fault as AuditFault, Options as AuditOptions, audit};
pub use self::graphs::{
    Difference, Differs, Options as GraphOptions, Proof, Report as GraphReport, Verdict as GraphVerdict, verify_graphs,
};
pub use self::rule::{instances, verify, verify_all};
pub use self::suggest::{Left, Sought, Suggestion, Suggestions, Unsuggested, suggest};
pub use self::verdict::certificate::{CERTIFICATE_HEAD, certificate};
pub use self::verdict::level::Level;
pub use self::verdict::lock::{Entry, Lock};
pub use self::verdict::options::Options;
pub use self::verdict::report::{Counterexample, Reached, Report, Verdict};
pub use self::verdict::shipped::Subject;

// For the other crates of this workspace: no part of the interface, so it may change in any version.
#[doc(hidden)]
pub use self::compare::finding::Fault;
#[doc(hidden)]
pub use self::compare::machine::{Limits as AuditLimits, Machine};
#[doc(hidden)]
pub use self::compare::sweep::{Decided, Sweep};
#[doc(hidden)]
pub use self::instance::grow::{Decision, Growth};
#[doc(hidden)]
pub use self::proof::Coverage;
#[doc(hidden)]
pub use self::proof::ledger::{Covers, Ledger, Line};
#[doc(hidden)]
pub use self::repair::{Repair, repair, repair_all};
#[doc(hidden)]
pub use self::verdict::fingerprint::{examples_fingerprint, fingerprint};
#[doc(hidden)]
pub use self::verdict::lock::{Forms, LOCK_NAME, VERIFIER};
#[doc(hidden)]
pub use self::verdict::shipped::{is_shipped, place_of, shipped_level, shipped_locks, shipped_rules, shipped_verdict};
#[doc(hidden)]
pub use self::verdict::table::verdict_table;
