//! Machine code of a program.
//!
//! A loop computes a few groups of rows in each pass, instruction by instruction, so that the processor has independent
//! work; what is left is computed group by group. AVX-512 has a mask for the rows of the last group. The last group of
//! AVX2 begins earlier, and some rows are computed again; where their truth values share a word with others, the caller
//! gives whole groups.

use super::assembler::*;
use super::layout::{ARGUMENT_CONSTANTS, ARGUMENT_ROWS, Constants, Layout, has_truths, truth_sizes};
use super::registers::{Bank, vector};
use super::table;
use crate::program::{Instruction, Op, Program, Type, Value};
use crate::scalar::Function;

pub(super) const ARGUMENTS: General = RDI;
pub(super) const ROWS: General = RSI;
pub(super) const INDEX: General = RCX;
pub(super) const CONSTANTS: General = RDX;
pub(super) const SCRATCH: General = RAX;
/// The index of the byte with the bits of the rows at the index.
pub(super) const BIT_INDEX: General = General(15);
/// A register for bits of truth values of AVX2, where it holds no address.
pub(super) const BITS: General = General(14);
/// Registers for the addresses of inputs and results; those that do not fit are read when they are needed.
const ADDRESSES: [General; 8] = [
    General(8),
    General(9),
    General(10),
    General(11),
    RBX,
    General(12),
    General(13),
    General(14),
];
/// Registers that a caller expects unchanged, beside the frame's.
const KEPT: [General; 5] = [RBX, General(12), General(13), General(14), General(15)];
/// Those that calls may change, of those in use.
pub(super) const LOST: [General; 8] = [RDI, RSI, RCX, RDX, General(8), General(9), General(10), General(11)];
/// The rows that exist, in the pass for what is left.
pub(super) const TAIL: Mask = Mask(7);

/// Registers of AVX2 for values within one instruction of a program.
pub(super) const TEMPORARY: [Vector; 2] = [Vector(14), Vector(15)];

/// Code, and the constants that it reads.
pub(super) struct Generated {
    pub(super) code: Vec<u8>,
    pub(super) constants: Vec<u64>,
    /// The number of rows must be a multiple of the first, and at least the second.
    pub(super) unit: usize,
    pub(super) least: usize,
}

/// The function that code calls for rows: its address, and those of the functions of patches, in order.
#[derive(Clone, Copy)]
pub(super) struct Helper<'a> {
    pub(super) address: u64,
    pub(super) functions: &'a [Function],
}

/// Generates code.
pub(super) fn generate(program: &Program, set: Set, helper: Helper<'_>) -> Generated {
    let layout = Layout::new(program, set);
    let copies = layout.copies;
    let mut generator = Generator::new(program, &layout, helper, copies);
    generator.begin();
    let rows = layout.rows as i32;
    // Whole passes.
    let step = rows * copies as i32;
    generator.asm.address(SCRATCH, Memory::at(INDEX, step));
    generator.asm.compare(SCRATCH, ROWS);
    let skip = generator.asm.jump(When::Above);
    let start = generator.asm.here();
    generator.body();
    generator.asm.add(INDEX, step);
    generator.asm.address(SCRATCH, Memory::at(INDEX, step));
    generator.asm.compare(SCRATCH, ROWS);
    generator.asm.jump_to(When::BelowOrEqual, start);
    let rest = generator.asm.here();
    generator.asm.land(skip, rest);
    if layout.unit < copies * layout.rows {
        generator.rest();
    }
    generator.end();
    Generated {
        code: generator.asm.bytes,
        constants: generator.constants.words,
        unit: layout.unit,
        least: layout.least,
    }
}

/// A call of a function for rows, which is placed after the loop.
pub(super) struct Stub {
    pub(super) jump: Jump,
    pub(super) back: usize,
    pub(super) vectors: Vec<u8>,
    pub(super) masks: Vec<u8>,
    /// The rows to compute; for AVX2, their bits are in the scratch register.
    pub(super) rows: Option<Mask>,
    pub(super) operands: [Vector; 2],
    pub(super) out: Vector,
    pub(super) function: u64,
}

pub(super) struct Generator<'a> {
    pub(super) program: &'a Program,
    pub(super) layout: &'a Layout,
    pub(super) constants: Constants,
    /// For AVX2, the bytes that each truth value takes in a vector.
    pub(super) truth_sizes: Vec<usize>,
    pub(super) helper: Helper<'a>,
    pub(super) asm: Assembler,
    pub(super) copies: usize,
    pub(super) tail: bool,
    pub(super) vectors: Bank,
    pub(super) masks: Bank,
    /// The place on the stack of each value, if it has one now.
    pub(super) spilled: Vec<Option<i32>>,
    /// The places on the stack of the code.
    pub(super) slots: i32,
    /// The instructions that read each value, in order.
    pub(super) uses: Vec<Vec<usize>>,
    /// The results that each value is.
    pub(super) results: Vec<Vec<usize>>,
    /// The register of the address of each input, then of each result.
    pub(super) addresses: Vec<Option<General>>,
    /// Constants and uniform inputs that stay in registers.
    pub(super) hoisted: Vec<Option<Vector>>,
    /// The instruction whose code is generated.
    pub(super) at: usize,
    pub(super) stubs: Vec<Stub>,
    /// Where the size of the frame is.
    pub(super) frame: Vec<usize>,
}

impl<'a> Generator<'a> {
    fn new(program: &'a Program, layout: &'a Layout, helper: Helper<'a>, copies: usize) -> Self {
        let count = program.instructions.len();
        let mut uses = vec![Vec::new(); count];
        for (at, instruction) in program.instructions.iter().enumerate() {
            for of in instruction.op.operands().iter() {
                uses[of.index()].push(at);
            }
        }
        let mut results = vec![Vec::new(); count];
        for (at, output) in program.outputs.iter().enumerate() {
            results[output.index()].push(at);
        }
        let [vectors, masks] = banks(layout.set, count * copies);
        Generator {
            program,
            layout,
            constants: Constants::new(layout.set),
            truth_sizes: truth_sizes(program, layout),
            helper,
            asm: Assembler::new(layout.set),
            copies,
            tail: false,
            vectors,
            masks,
            spilled: vec![None; count * copies],
            // AVX2 takes numbers apart in the first one.
            slots: i32::from(layout.set == Set::Avx2),
            uses,
            results,
            addresses: Vec::new(),
            hoisted: vec![None; count],
            at: 0,
            stubs: Vec::new(),
            frame: Vec::new(),
        }
    }

    /// Registers as at the beginning of a loop, for another number of groups.
    fn restart(&mut self, copies: usize, tail: bool) {
        let count = self.program.instructions.len();
        self.copies = copies;
        self.tail = tail;
        [self.vectors, self.masks] = banks(self.layout.set, count * copies);
        for hoisted in self.hoisted.iter().flatten() {
            self.vectors.reserve(hoisted.0);
        }
        self.spilled = vec![None; count * copies];
    }

    /// Computes what is left group by group.
    fn rest(&mut self) {
        self.asm.compare(INDEX, ROWS);
        let done = self.asm.jump(When::AboveOrEqual);
        let start = self.asm.here();
        let masked = self.layout.set == Set::Avx512;
        if masked {
            self.asm.copy(SCRATCH, ROWS);
            self.asm.subtract(SCRATCH, INDEX);
            self.asm.copy(General(11), SCRATCH);
            self.asm.low_ones(SCRATCH, General(11));
            self.asm.mask(table::MASK_FROM_GENERAL, false, TAIL.0, 0, SCRATCH.0);
            self.reload_eleven();
        }
        let rows = self.layout.rows as i32;
        if !masked && self.layout.unit == 1 {
            self.asm.address(SCRATCH, Memory::at(INDEX, rows));
            self.asm.compare(SCRATCH, ROWS);
            let fits = self.asm.jump(When::BelowOrEqual);
            self.asm.address(INDEX, Memory::at(ROWS, -rows));
            let here = self.asm.here();
            self.asm.land(fits, here);
        }
        self.restart(1, masked);
        self.body();
        self.asm.add(INDEX, rows);
        self.asm.compare(INDEX, ROWS);
        self.asm.jump_to(When::Below, start);
        let end = self.asm.here();
        self.asm.land(done, end);
    }

    /// The frame, addresses, and constants that stay in registers.
    fn begin(&mut self) {
        self.asm.push_register(RBP);
        self.asm.copy(RBP, RSP);
        for register in KEPT {
            self.asm.push_register(register);
        }
        self.asm.add(RSP, 0);
        self.frame.push(self.asm.here() - 4);
        self.asm.align_stack();
        self.asm.load(ROWS, Memory::at(ARGUMENTS, ARGUMENT_ROWS));
        self.asm.load(CONSTANTS, Memory::at(ARGUMENTS, ARGUMENT_CONSTANTS));
        self.asm.constant(INDEX, 0);
        let kept = |register: &General| self.layout.set == Set::Avx512 || *register != BITS;
        let mut free = ADDRESSES.into_iter().filter(kept);
        let is_read = |at: usize| {
            let is_input = |instruction: &Instruction| instruction.op == Op::Input(at as u32);
            self.program.instructions.iter().any(is_input)
        };
        let inputs = (0..self.program.inputs.len()).map(|at| (self.layout.input(at as u32), is_read(at)));
        let outputs = (0..self.program.outputs.len()).map(|at| (self.layout.output(at), true));
        for (offset, wanted) in inputs.chain(outputs).collect::<Vec<_>>() {
            let register = if wanted { free.next() } else { None };
            if let Some(register) = register {
                self.asm.load(register, Memory::at(ARGUMENTS, offset));
            }
            self.addresses.push(register);
        }
        self.hoist();
    }

    /// The fourth address register serves as a second scratch register for a moment.
    fn reload_eleven(&mut self) {
        if let Some(at) = self
            .addresses
            .iter()
            .position(|&register| register == Some(General(11)))
        {
            self.asm.load(General(11), Memory::at(ARGUMENTS, 16 + 8 * at as i32));
        }
    }

    /// Puts constants into the registers that the values of the loop leave, those first that no instruction reads from
    /// memory.
    fn hoist(&mut self) {
        let [vectors, masks] = self.layout.pressure;
        let room = match self.layout.set {
            Set::Avx512 => 30usize.saturating_sub(vectors * self.copies),
            Set::Avx2 => 13usize.saturating_sub((vectors + masks) * self.copies),
        };
        let mut wanted: Vec<(bool, usize, usize)> = Vec::new();
        for (at, instruction) in self.program.instructions.iter().enumerate() {
            let same = matches!(instruction.op, Op::Const(_) | Op::Uniform(_)) && instruction.ty != Type::Bool;
            if same && !self.uses[at].is_empty() {
                let apart = match self.layout.set {
                    Set::Avx512 => instruction.ty.size() < 4,
                    Set::Avx2 => matches!(instruction.op, Op::Uniform(_)),
                };
                wanted.push((apart, self.uses[at].len(), at));
            }
        }
        wanted.sort_by(|a, b| b.cmp(a));
        for &(_, _, at) in wanted.iter().take(room) {
            let Some(register) = self.vectors.free() else { break };
            self.vectors.reserve(register);
            self.load_same(at, vector(register));
            self.hoisted[at] = Some(vector(register));
        }
    }

    /// The last instruction's code, the frame's end, and the calls of functions.
    fn end(&mut self) {
        self.asm.zero_upper();
        self.asm.address(RSP, Memory::at(RBP, -8 * KEPT.len() as i32));
        for register in KEPT.into_iter().rev() {
            self.asm.pop_register(register);
        }
        self.asm.pop_register(RBP);
        self.asm.ret();
        for stub in std::mem::take(&mut self.stubs) {
            self.call(&stub);
        }
        // Spilled values, then what calls save, and room for alignment.
        let size = self.saved(0) + 32 * 64 + 8 * 8 + 8 * LOST.len() as i32 + 64;
        for at in std::mem::take(&mut self.frame) {
            self.asm.bytes[at..at + 4].copy_from_slice(&(-size).to_le_bytes());
        }
    }

    /// Code of the whole program for the groups of a pass.
    fn body(&mut self) {
        if has_truths(self.program) {
            self.asm.copy(BIT_INDEX, INDEX);
            self.asm.shift_right(BIT_INDEX, 3);
        }
        for at in 0..self.program.instructions.len() {
            self.at = at;
            let instruction = self.program.instructions[at];
            if matches!(instruction.op, Op::Input(_) | Op::Uniform(_) | Op::Const(_)) {
                continue;
            }
            for copy in 0..self.copies {
                self.instruction(at, instruction, copy);
                self.store_results(at, copy);
                self.vectors.unpin_all();
                self.masks.unpin_all();
            }
        }
        // Results that nothing computes.
        self.at = self.program.instructions.len();
        for at in 0..self.program.instructions.len() {
            let given = matches!(
                self.program.instructions[at].op,
                Op::Input(_) | Op::Uniform(_) | Op::Const(_)
            );
            for copy in 0..self.copies {
                if given && !self.results[at].is_empty() {
                    match (self.program.instructions[at].ty, self.layout.set) {
                        (Type::Bool, Set::Avx512) => drop(self.truth(Value(at as u32), copy)),
                        (Type::Bool, Set::Avx2) => drop(self.truths(Value(at as u32), copy)),
                        _ => drop(self.number(Value(at as u32), copy)),
                    }
                    self.store_results(at, copy);
                }
                let id = self.id(Value(at as u32), copy);
                self.vectors.release(id);
                self.masks.release(id);
            }
            self.vectors.unpin_all();
            self.masks.unpin_all();
        }
    }
}

/// Registers of numbers, and of masks, that hold nothing.
fn banks(set: Set, values: usize) -> [Bank; 2] {
    match set {
        Set::Avx512 => [Bank::new(32, 0, values), Bank::new(8, 1 | 1 << TAIL.0, values)],
        Set::Avx2 => {
            let [a, b] = TEMPORARY;
            [Bank::new(16, 1 << a.0 | 1 << b.0, values), Bank::new(0, 0, values)]
        }
    }
}
