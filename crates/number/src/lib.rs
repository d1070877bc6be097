//! Number systems: the elements of floating-point tensors in reference semantics.
//!
//! Reference semantics are written once over [`Number`]. `f32` and `f64` run programs; the others compare them:
//! [`Field`] decides whether two expressions are the same polynomial, [`Lawful`] also has laws of functions, [`Exact`]
//! has an order, and [`Bounded`] tracks rounding errors. The last three are compiled as one, [`Chosen`].
//!
//! ```
//! use tautomer_number::{Exact, Number};
//! let third = Exact::from_int(1).div(&Exact::from_int(3)).unwrap();
//! assert!(third.mul(&Exact::from_int(3)) == Exact::one());
//! ```

mod bounded;
mod chosen;
mod exact;
mod field;
mod gcd;
mod lawful;
mod laws;
mod number;

pub use bounded::Bounded;
pub use chosen::{Choice, Choosable, Chosen, choosing};
pub use exact::Exact;
pub use field::{Field, Residue};
pub use lawful::Lawful;
pub use laws::{Law, Laws, NoSuchLaw, Trace, under};
pub use number::{Func, Number, Refused};
