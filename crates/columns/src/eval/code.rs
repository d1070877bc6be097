//! What a program is compiled to: steps over tiles, and where their values are.

use std::sync::Arc;

use smallvec::SmallVec;

use super::chain::{One, Two};
use super::lane::{Lane, Scalar, Words};
use super::loops::Comparison;
use crate::program::NodeId;
use crate::types::Type;

/// The number of a value in a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Reg(pub(super) u32);

impl Reg {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where the numbers of a register are. Its validity, its failures, and the bits of booleans are kept by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A column that is read where it is: an index into [`Code::columns`].
    Column(u32),
    /// A tile that is used again after the last step that reads it.
    Slot(u32),
    /// A result, whose buffer is written directly: its number.
    Result(u32),
    /// One value for all rows: an index into [`Code::constants`].
    Same(u32),
    /// Bits, or an array of another type.
    None,
}

/// A register as it was compiled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Register {
    pub(super) node: NodeId,
    pub(super) ty: Type,
    pub(super) place: Place,
}

/// Another value in a chain.
#[derive(Debug, Clone)]
pub(super) enum With<N> {
    Each(Reg),
    Same(N),
}

/// One link of a chain over numbers of a type.
#[derive(Debug, Clone)]
pub(super) enum LinkCode<N> {
    Two(Two, With<N>),
    One(One),
    Affine(Vec<(N, N)>),
    Horner(Reg, Vec<N>),
}

/// A chain of arithmetic: the first value, and what is done with it.
#[derive(Debug, Clone)]
pub(super) struct ChainCode<N> {
    pub(super) start: Reg,
    pub(super) links: Vec<LinkCode<N>>,
}

/// A function of one float.
#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
    Exp,
    Ln,
    Sin,
    Cos,
    Tanh,
    Floor,
    Ceil,
    Trunc,
    Even,
    /// Any other, of doubles.
    Other(fn(f64) -> f64),
}

/// An operation on two numbers of one type that has a result for all of them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Binary {
    /// Integers wrap.
    Add,
    Subtract,
    Multiply,
    And,
    Or,
    Xor,
    /// `a` unless `b` is greater, or `a` is NaN.
    Greatest,
    Least,
    /// Any other, of doubles.
    Other(fn(f64, f64) -> f64),
}

/// An operation on bits whose result is null where an operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bitwise {
    And,
    Or,
    Xor,
    Same,
}

/// What a step computes.
#[derive(Debug, Clone)]
pub(super) enum Work {
    Chain32(ChainCode<f32>),
    Chain64(ChainCode<f64>),
    Binary(Lane, Binary, [Reg; 2]),
    Function(Lane, Function, Reg),
    Convert(Lane, Lane, Reg),
    /// Integers, and whether the remainder is wanted.
    Quotient(Lane, bool, [Reg; 2]),
    /// Also whether the opposite is wanted.
    Compare(Lane, Comparison, bool, [Reg; 2]),
    Member(Lane, Reg, Arc<[Scalar]>, bool),
    Bits(Bitwise, [Reg; 2]),
    Not(Reg),
    /// Kleene's `and`, or `or`.
    Connective(bool, [Reg; 2]),
    /// A choice of numbers, or of bits.
    Select(Option<Lane>, [Reg; 3]),
    /// A node over arrays.
    Arrays,
}

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) work: Work,
    pub(super) out: Reg,
    /// The registers that the step reads, each once.
    pub(super) inputs: SmallVec<[Reg; 4]>,
}

/// A value that is the same in every row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Constant {
    pub(super) reg: Reg,
    pub(super) bits: Words,
    pub(super) valid: Option<Words>,
}

/// A column of the batch that is read without conversion.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnCode {
    pub(super) column: usize,
    pub(super) reg: Reg,
    /// `None` for bits.
    pub(super) lane: Option<Lane>,
}

/// Steps, and where their values are.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) registers: Vec<Register>,
    pub(super) columns: Vec<ColumnCode>,
    pub(super) constants: Vec<Scalar>,
    pub(super) same: Vec<Constant>,
    pub(super) steps: Vec<Step>,
    /// The lanes of the slots.
    pub(super) slots: Vec<Lane>,
    /// The register of each result.
    pub(super) results: Vec<Reg>,
    /// Whether any step works on arrays.
    pub(super) has_arrays: bool,
}
