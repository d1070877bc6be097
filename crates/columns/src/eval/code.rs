//! What a program is compiled to: steps over tiles, and where their values are.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use tautomer_loops::{Kernel, Program};

use super::lane::{Lane, Scalar, Words};
use super::lower::{Input, Regs};
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

/// A result of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// The numbers, or bits, of a register.
    Values(Reg),
    /// The rows of it that are valid.
    Valid(Reg),
    /// The rows of it that fail.
    Failed(Reg),
}

/// A program of a loop, and its code when it is first needed.
#[derive(Debug)]
pub(super) struct Prepared {
    program: Program,
    kernel: OnceLock<Kernel>,
}

impl Prepared {
    pub(super) fn new(program: Program) -> Self {
        Prepared {
            program,
            kernel: OnceLock::new(),
        }
    }

    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    pub(super) fn kernel(&self) -> &Kernel {
        self.kernel.get_or_init(|| Kernel::new(self.program.clone()))
    }
}

/// A loop, for tiles with nulls or without.
#[derive(Debug, Clone)]
pub(super) struct Variant {
    pub(super) code: Arc<Prepared>,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    /// Registers that are valid where all of others are.
    pub(super) strict: Vec<(Reg, Regs)>,
}

/// The loop of a step.
#[derive(Debug, Clone)]
pub(super) struct LoopCode {
    /// Where no input has nulls or failures.
    pub(super) plain: Variant,
    pub(super) nullable: Variant,
}

/// What a step computes.
#[derive(Debug, Clone)]
pub(super) enum Work {
    /// Nodes whose values stay in registers.
    Loop(Box<LoopCode>),
    /// Integers, and whether the remainder is wanted.
    Quotient(Lane, bool, [Reg; 2]),
    /// A node over arrays.
    Arrays,
}

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) work: Work,
    /// What it computes; several registers if it is a loop.
    pub(super) outs: SmallVec<[Reg; 1]>,
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
    /// Whether whole groups of rows of columns are read, though a tile has fewer.
    pub(super) has_groups: bool,
}

impl Code {
    /// The loop that computes all results, if there is nothing else to do.
    pub(super) fn only_loop(&self) -> Option<&LoopCode> {
        let [
            Step {
                work: Work::Loop(code),
                outs,
                ..
            },
        ] = &self.steps[..]
        else {
            return None;
        };
        let once = |reg: &Reg| self.results.iter().filter(|result| *result == reg).count() == 1;
        let all = outs.len() == self.results.len() && outs.iter().all(once);
        all.then_some(code)
    }
}
