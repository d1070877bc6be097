//! Loops over elements: programs of arithmetic on rows, computed in one pass whose values stay in registers.
//!
//! A [`Program`] is plain data: instructions over typed values, each a value of its own. It knows neither graphs nor
//! tables. A [`Kernel`] computes it, by machine code that is made at run time or, where there is none, by an
//! interpreter that takes tiles of rows through one instruction after the other; both give the same bits, except those
//! of NaNs. Functions such as the exponential are instructions too: the modules of [`functions`] write them.

mod builder;
mod data;
pub mod functions;
mod interpret;
mod kernel;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod native;
mod program;
mod scalar;

pub use builder::Builder;
pub use data::{Column, Sink, Source};
pub use kernel::{Kernel, Means};
pub use program::{Binary, Comparison, Instruction, Op, Operands, Program, Shift, Type, Unary, Value};
pub use scalar::{Bits, Function, Number};
