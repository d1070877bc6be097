//! Machine code of a program, for AVX-512.
//!
//! A loop computes a few groups of rows in each pass, instruction by instruction, so that the processor has independent
//! work; what is left is computed group by group with a mask for the rows that exist.

use super::assembler::*;
use super::layout::{ARGUMENT_CONSTANTS, ARGUMENT_ROWS, Layout};
use super::registers::{Bank, Id, mask, vector};
use super::table;
use crate::program::{Binary, Comparison, Instruction, Op, Program, Type, Unary, Value};
use crate::scalar::Function;

const ARGUMENTS: General = RDI;
const ROWS: General = RSI;
const INDEX: General = RCX;
const CONSTANTS: General = RDX;
const SCRATCH: General = RAX;
/// The index of the byte with the bits of the rows at the index.
const BIT_INDEX: General = General(15);
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
const LOST: [General; 8] = [RDI, RSI, RCX, RDX, General(8), General(9), General(10), General(11)];
/// The rows that exist, in the pass for what is left.
const TAIL: Mask = Mask(7);

/// Code, and the constants that it reads.
pub(super) struct Generated {
    pub(super) code: Vec<u8>,
    pub(super) constants: Vec<u64>,
}

/// The function that code calls for rows: its address, and those of the functions of patches, in order.
#[derive(Clone, Copy)]
pub(super) struct Helper<'a> {
    pub(super) address: u64,
    pub(super) functions: &'a [Function],
}

/// Generates code.
pub(super) fn generate(program: &Program, helper: Helper<'_>) -> Generated {
    let layout = Layout::new(program);
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
    // What is left.
    generator.asm.compare(INDEX, ROWS);
    let done = generator.asm.jump(When::AboveOrEqual);
    let start = generator.asm.here();
    generator.asm.copy(SCRATCH, ROWS);
    generator.asm.subtract(SCRATCH, INDEX);
    generator.asm.copy(General(11), SCRATCH);
    generator.asm.low_ones(SCRATCH, General(11));
    generator
        .asm
        .mask(table::MASK_FROM_GENERAL, false, TAIL.0, 0, SCRATCH.0);
    generator.reload_eleven();
    generator.restart(1, true);
    generator.body();
    generator.asm.add(INDEX, rows);
    generator.asm.compare(INDEX, ROWS);
    generator.asm.jump_to(When::Below, start);
    let end = generator.asm.here();
    generator.asm.land(done, end);
    generator.end();
    Generated {
        code: generator.asm.bytes,
        constants: layout.constants,
    }
}

/// A call of a function for rows, which is placed after the loop.
struct Stub {
    jump: Jump,
    back: usize,
    vectors: Vec<u8>,
    masks: Vec<u8>,
    rows: Mask,
    operands: [Vector; 2],
    out: Vector,
    function: u64,
}

struct Generator<'a> {
    program: &'a Program,
    layout: &'a Layout,
    helper: Helper<'a>,
    asm: Assembler,
    copies: usize,
    tail: bool,
    vectors: Bank,
    masks: Bank,
    /// The place on the stack of each value, if it has one now.
    spilled: Vec<Option<i32>>,
    /// The places on the stack of the code.
    slots: i32,
    /// The instructions that read each value, in order.
    uses: Vec<Vec<usize>>,
    /// The results that each value is.
    results: Vec<Vec<usize>>,
    /// The register of the address of each input, then of each result.
    addresses: Vec<Option<General>>,
    /// Constants and uniform inputs that stay in registers.
    hoisted: Vec<Option<Vector>>,
    /// The instruction whose code is generated.
    at: usize,
    stubs: Vec<Stub>,
    /// Where the size of the frame is.
    frame: Vec<usize>,
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
        Generator {
            program,
            layout,
            helper,
            asm: Assembler::default(),
            copies,
            tail: false,
            vectors: Bank::new(32, 0, count * copies),
            masks: Bank::new(8, 1 | 1 << TAIL.0, count * copies),
            spilled: vec![None; count * copies],
            slots: 0,
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
        let mut vectors = Bank::new(32, 0, count * copies);
        for hoisted in self.hoisted.iter().flatten() {
            vectors.reserve(hoisted.0);
        }
        self.vectors = vectors;
        self.masks = Bank::new(8, 1 | 1 << TAIL.0, count * copies);
        self.spilled = vec![None; count * copies];
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
        let mut free = ADDRESSES.into_iter();
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
        let room = 30usize.saturating_sub(self.layout.pressure[0] * self.copies);
        let mut wanted: Vec<(bool, usize, usize)> = Vec::new();
        for (at, instruction) in self.program.instructions.iter().enumerate() {
            let same = matches!(instruction.op, Op::Const(_) | Op::Uniform(_)) && instruction.ty != Type::Bool;
            if same && !self.uses[at].is_empty() {
                wanted.push((instruction.ty.size() < 4, self.uses[at].len(), at));
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

    /// Where a constant or uniform input is in memory.
    fn same(&self, at: usize) -> Option<Memory> {
        match self.program.instructions[at].op {
            Op::Const(bits) => Some(Memory::at(CONSTANTS, self.layout.constant(bits))),
            Op::Uniform(input) => Some(Memory::at(ARGUMENTS, self.layout.input(input))),
            _ => None,
        }
    }

    fn load_same(&mut self, at: usize, to: Vector) {
        let ty = self.program.instructions[at].ty;
        let Some(place) = self.same(at) else {
            unreachable!("a constant or uniform input")
        };
        let code = table::broadcast(ty.size());
        self.asm
            .evex(code, self.layout.length(ty), to.0, 0, Last::Memory(place), Under::Every);
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

    fn saved(&self, register: u8) -> i32 {
        64 * (self.slots + i32::from(register))
    }

    /// Calls the function for the rows of a mask. Everything in registers is saved.
    fn call(&mut self, stub: &Stub) {
        let start = self.asm.here();
        self.asm.land(stub.jump, start);
        let stack = |offset| Last::Memory(Memory::at(RSP, offset));
        for &register in &stub.vectors {
            let to = stack(self.saved(register));
            self.asm.evex(table::store(8), Length::Z, register, 0, to, Under::Every);
        }
        let masks = self.saved(32);
        for &register in &stub.masks {
            let to = Memory::at(RSP, masks + 8 * i32::from(register));
            self.asm.mask_memory(table::mask_store(64), mask(register), to);
        }
        let general = masks + 64;
        for (at, register) in LOST.into_iter().enumerate() {
            self.asm.store(Memory::at(RSP, general + 8 * at as i32), register);
        }
        self.asm.mask(table::GENERAL_FROM_MASK, false, RCX.0, 0, stub.rows.0);
        self.asm.address(RDI, Memory::at(RSP, self.saved(stub.operands[0].0)));
        self.asm.address(RSI, Memory::at(RSP, self.saved(stub.operands[1].0)));
        self.asm.address(RDX, Memory::at(RSP, self.saved(stub.out.0)));
        self.asm.constant(General(8), stub.function);
        self.asm.constant(General(9), u64::MAX >> (64 - self.layout.rows));
        self.asm.constant(RAX, self.helper.address);
        self.asm.zero_upper();
        self.asm.call(RAX);
        for (at, register) in LOST.into_iter().enumerate() {
            self.asm.load(register, Memory::at(RSP, general + 8 * at as i32));
        }
        for &register in &stub.vectors {
            let from = stack(self.saved(register));
            self.asm
                .evex(table::load(8), Length::Z, register, 0, from, Under::Every);
        }
        for &register in &stub.masks {
            let from = Memory::at(RSP, masks + 8 * i32::from(register));
            self.asm.mask_memory(table::mask_load(64), mask(register), from);
        }
        self.asm.jump_to(When::Always, stub.back);
    }

    fn id(&self, value: Value, copy: usize) -> Id {
        value.index() * self.copies + copy
    }

    /// The next instruction that reads a value, from the one after the current.
    fn next_use(&self, id: Id) -> usize {
        let uses = &self.uses[id / self.copies];
        uses[uses.partition_point(|&at| at <= self.at)..]
            .first()
            .copied()
            .unwrap_or(usize::MAX)
    }

    /// Code of the whole program for the groups of a pass.
    fn body(&mut self) {
        let outputs = self.program.outputs.iter().map(|&value| self.program.ty(value));
        if self
            .program
            .inputs
            .iter()
            .copied()
            .chain(outputs)
            .any(|ty| ty == Type::Bool)
        {
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
                    match self.program.instructions[at].ty {
                        Type::Bool => drop(self.truth(Value(at as u32), copy)),
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

    /// A register for a number; what it holds leaves.
    fn vector_for(&mut self, id: Id) -> Vector {
        let register = self.vectors.free().unwrap_or_else(|| {
            let register = self.vectors.latest(|id| self.next_use(id));
            let Some(old) = self.vectors.owner(register) else {
                unreachable!("it holds a value")
            };
            if !self.given(old) && self.spilled[old].is_none() {
                let slot = self.slots;
                self.slots += 1;
                self.spilled[old] = Some(slot);
                let to = Last::Memory(Memory::at(RSP, 64 * slot));
                self.asm.evex(table::store(8), Length::Z, register, 0, to, Under::Every);
            }
            self.vectors.release(old);
            register
        });
        self.vectors.take(register, id);
        self.vectors.pin(register);
        vector(register)
    }

    /// True for values that are read from memory again.
    fn given(&self, id: Id) -> bool {
        matches!(
            self.program.instructions[id / self.copies].op,
            Op::Input(_) | Op::Uniform(_) | Op::Const(_)
        )
    }

    fn mask_for(&mut self, id: Id) -> Mask {
        let register = self.masks.free().unwrap_or_else(|| {
            let register = self.masks.latest(|id| self.next_use(id));
            let Some(old) = self.masks.owner(register) else {
                unreachable!("it holds a value")
            };
            if !self.given(old) && self.spilled[old].is_none() {
                let slot = self.slots;
                self.slots += 1;
                self.spilled[old] = Some(slot);
                self.asm
                    .mask_memory(table::mask_store(64), mask(register), Memory::at(RSP, 64 * slot));
            }
            self.masks.release(old);
            register
        });
        self.masks.take(register, id);
        self.masks.pin(register);
        mask(register)
    }

    /// The address of rows of an input or result; `stream` counts the inputs first.
    fn rows_at(&mut self, stream: usize, ty: Type, copy: usize) -> Memory {
        let base = self.addresses[stream].unwrap_or_else(|| {
            self.asm.load(SCRATCH, Memory::at(ARGUMENTS, 16 + 8 * stream as i32));
            SCRATCH
        });
        let rows = copy * self.layout.rows;
        let (index, displacement) = match ty {
            Type::Bool => ((BIT_INDEX, 0), rows / 8),
            _ => ((INDEX, ty.size().trailing_zeros() as u8), rows * ty.size()),
        };
        Memory {
            base,
            index: Some(index),
            displacement: displacement as i32,
        }
    }

    /// The register of a number, which is read now if it is not in one.
    fn number(&mut self, value: Value, copy: usize) -> Vector {
        if let Some(register) = self.hoisted[value.index()] {
            return register;
        }
        let id = self.id(value, copy);
        if let Some(register) = self.vectors.home(id) {
            self.vectors.pin(register);
            return vector(register);
        }
        let to = self.vector_for(id);
        let Instruction { op, ty } = self.program.instructions[value.index()];
        match (op, self.spilled[id]) {
            (Op::Input(input), _) => {
                let from = Last::Memory(self.rows_at(input as usize, ty, copy));
                let (code, length, under) = self.access(ty, true);
                self.asm.evex(code, length, to.0, 0, from, under);
            }
            (_, Some(slot)) => {
                let from = Last::Memory(Memory::at(RSP, 64 * slot));
                self.asm.evex(table::load(8), Length::Z, to.0, 0, from, Under::Every);
            }
            _ => self.load_same(value.index(), to),
        }
        to
    }

    /// How rows of a type are read or written.
    fn access(&self, ty: Type, read: bool) -> (Code, Length, Under) {
        let size = ty.size();
        match (self.tail, read, size * self.layout.rows) {
            (false, true, 8) => (table::LOAD_8, Length::X, Under::Every),
            (false, false, 8) => (table::STORE_8, Length::X, Under::Every),
            (false, true, _) => (table::load(size), self.layout.length(ty), Under::Every),
            (false, false, _) => (table::store(size), self.layout.length(ty), Under::Every),
            (true, true, _) => (table::load(size), self.layout.length(ty), Under::Zero(TAIL)),
            (true, false, _) => (table::store(size), self.layout.length(ty), Under::Merge(TAIL)),
        }
    }

    /// A number as the last operand: from memory if it is the same in all rows, and not in a register.
    fn last(&mut self, value: Value, copy: usize) -> Last {
        let at = value.index();
        let (ty, id) = (self.program.instructions[at].ty, self.id(value, copy));
        match self.same(at) {
            Some(place) if ty.size() >= 4 && self.hoisted[at].is_none() && self.vectors.home(id).is_none() => {
                Last::Broadcast(place)
            }
            _ => Last::Vector(self.number(value, copy)),
        }
    }

    /// The mask register of truth values.
    fn truth(&mut self, value: Value, copy: usize) -> Mask {
        let id = self.id(value, copy);
        if let Some(register) = self.masks.home(id) {
            self.masks.pin(register);
            return mask(register);
        }
        let to = self.mask_for(id);
        match (self.program.instructions[value.index()].op, self.spilled[id]) {
            (Op::Input(input), _) => {
                let from = self.rows_at(input as usize, Type::Bool, copy);
                self.asm.mask_memory(table::mask_load(self.layout.rows), to, from);
            }
            (_, Some(slot)) => self
                .asm
                .mask_memory(table::mask_load(64), to, Memory::at(RSP, 64 * slot)),
            (Op::Const(bits), _) => {
                let code = if bits == 0 { table::MASK_XOR } else { table::MASK_EQUAL };
                self.asm.mask(code, true, to.0, to.0, to.0);
            }
            _ => unreachable!("values are computed before they are read"),
        }
        to
    }

    /// Frees the registers of operands that nothing reads any more.
    fn finish(&mut self, operands: &[Value], copy: usize) {
        for &of in operands {
            let id = self.id(of, copy);
            if self.next_use(id) == usize::MAX {
                self.vectors.release(id);
                self.masks.release(id);
            }
        }
        self.vectors.unpin_all();
        self.masks.unpin_all();
    }

    /// Whether nothing reads a value after the current instruction, and its register may be changed.
    fn ends(&self, value: Value, copy: usize) -> bool {
        let id = self.id(value, copy);
        self.hoisted[value.index()].is_none() && self.next_use(id) == usize::MAX
    }

    fn store_results(&mut self, at: usize, copy: usize) {
        let value = Value(at as u32);
        let ty = self.program.instructions[at].ty;
        for result in 0..self.results[at].len() {
            let result = self.results[at][result];
            let stream = self.program.inputs.len() + result;
            if ty == Type::Bool {
                let from = self.truth(value, copy);
                let to = self.rows_at(stream, ty, copy);
                self.asm.mask_memory(table::mask_store(self.layout.rows), from, to);
            } else {
                let from = self.number(value, copy);
                let to = Last::Memory(self.rows_at(stream, ty, copy));
                let (code, length, under) = self.access(ty, false);
                self.asm.evex(code, length, from.0, 0, to, under);
            }
        }
        if self.uses[at].is_empty() {
            let id = self.id(value, copy);
            self.vectors.release(id);
            self.masks.release(id);
        }
    }

    /// An instruction for one group of rows.
    fn instruction(&mut self, at: usize, instruction: Instruction, copy: usize) {
        let Instruction { op, ty } = instruction;
        let id = at * self.copies + copy;
        let operands = op.operands();
        let length = self.layout.length(ty);
        match op {
            Op::Input(_) | Op::Uniform(_) | Op::Const(_) => unreachable!("read where they are used"),
            Op::Unary(op, a) => {
                let a = Last::Vector(self.number(a, copy));
                self.finish(&operands, copy);
                let to = self.vector_for(id);
                self.unary(op, ty, to, a);
            }
            Op::Binary(op, a, b) if ty == Type::Bool => {
                let (a, b) = (self.truth(a, copy), self.truth(b, copy));
                self.finish(&operands, copy);
                let to = self.mask_for(id);
                let code = match op {
                    Binary::And => table::MASK_AND,
                    Binary::Or => table::MASK_OR,
                    _ => table::MASK_XOR,
                };
                self.asm.mask(code, true, to.0, a.0, b.0);
            }
            Op::Binary(op, a, b) => {
                let commutes = !matches!(
                    op,
                    Binary::Sub | Binary::Div | Binary::Scale | Binary::Min | Binary::Max
                );
                let (a, b) = if commutes && self.same(a.index()).is_some() {
                    (b, a)
                } else {
                    (a, b)
                };
                let first = self.number(a, copy);
                let last = match ty.size() < 4 {
                    true => Last::Vector(self.number(b, copy)),
                    false => self.last(b, copy),
                };
                self.finish(&operands, copy);
                let to = self.vector_for(id);
                self.asm
                    .evex(table::binary(op, ty), length, to.0, first.0, last, Under::Every);
            }
            Op::Fma(a, b, c) => self.fma(id, ty, [a, b, c], copy),
            Op::Compare(how, a, b) => {
                let of = self.program.ty(a);
                let first = self.number(a, copy);
                let last = self.last(b, copy);
                self.finish(&operands, copy);
                let to = self.mask_for(id);
                self.asm.evex(
                    table::compare(of),
                    self.layout.length(of),
                    to.0,
                    first.0,
                    last,
                    Under::Every,
                );
                self.asm.immediate(match (how, of.is_float()) {
                    (Comparison::Equal, _) => 0,
                    (Comparison::NotEqual, _) => 4,
                    (Comparison::Less, true) => 0x11,
                    (Comparison::LessOrEqual, true) => 0x12,
                    (Comparison::Less, false) => 1,
                    (Comparison::LessOrEqual, false) => 2,
                });
            }
            Op::Not(a) => {
                let a = self.truth(a, copy);
                self.finish(&operands, copy);
                let to = self.mask_for(id);
                self.asm.mask(table::MASK_NOT, false, to.0, 0, a.0);
            }
            Op::Select(condition, a, b) => {
                let condition = self.truth(condition, copy);
                let other = self.number(b, copy);
                let last = self.last(a, copy);
                self.finish(&operands, copy);
                let to = self.vector_for(id);
                self.asm
                    .evex(table::blend(ty), length, to.0, other.0, last, Under::Merge(condition));
            }
            Op::Shift(how, a, by) => {
                let a = self.number(a, copy);
                self.finish(&operands, copy);
                let to = self.vector_for(id);
                let (code, field) = table::shift(how, ty);
                self.asm.evex(code, length, field, to.0, Last::Vector(a), Under::Every);
                self.asm.immediate(by);
            }
            Op::Convert(a) | Op::FromHalf(a) | Op::ToHalf(a) => {
                let from = self.program.ty(a);
                let a = self.number(a, copy);
                self.finish(&operands, copy);
                let to = self.vector_for(id);
                let (code, reverse) = match op {
                    Op::FromHalf(_) => (table::FROM_HALF, false),
                    Op::ToHalf(_) => (table::TO_HALF, true),
                    _ => table::convert(from, ty).unwrap_or_else(|| unreachable!("programs convert in steps")),
                };
                let (reg, last) = if reverse { (a, to) } else { (to, a) };
                let length = length.max(self.layout.length(from));
                self.asm.evex(code, length, reg.0, 0, Last::Vector(last), Under::Every);
                if matches!(op, Op::ToHalf(_)) {
                    // To the nearest, whatever the processor is set to.
                    self.asm.immediate(0);
                }
            }
            Op::Cast(a) => {
                let a = self.number(a, copy);
                self.finish(&operands, copy);
                let to = self.vector_for(id);
                self.copy_vector(to, a);
            }
            Op::Patch(rows, function, [a, b], otherwise) => self.patch(id, [rows, a, b, otherwise], function, copy),
        }
    }

    fn copy_vector(&mut self, to: Vector, from: Vector) {
        if to != from {
            self.asm
                .evex(table::MOVE, Length::Z, to.0, 0, Last::Vector(from), Under::Every);
        }
    }

    fn unary(&mut self, op: Unary, ty: Type, to: Vector, a: Last) {
        let length = self.layout.length(ty);
        let code = match op {
            Unary::Sqrt => table::sqrt(ty),
            Unary::Abs => table::abs(ty),
            _ => table::round(ty),
        };
        self.asm.evex(code, length, to.0, 0, a, Under::Every);
        // No exception for an inexact result.
        match op {
            Unary::Round => self.asm.immediate(8),
            Unary::Floor => self.asm.immediate(9),
            Unary::Ceil => self.asm.immediate(10),
            Unary::Trunc => self.asm.immediate(11),
            Unary::Sqrt | Unary::Abs => {}
        }
    }

    /// One of the operands is in the register of the result.
    fn fma(&mut self, id: Id, ty: Type, operands: [Value; 3], copy: usize) {
        let length = self.layout.length(ty);
        let [a, b, c] = operands;
        let (a, b) = if self.same(a.index()).is_some() || !self.ends(a, copy) {
            (b, a)
        } else {
            (a, b)
        };
        let added = self.ends(c, copy) && self.same(c.index()).is_none();
        if added && (self.same(b.index()).is_some() || !self.ends(a, copy)) {
            let (first, sum) = (self.number(a, copy), self.number(c, copy));
            let last = self.last(b, copy);
            self.finish(&operands, copy);
            let to = self.vector_at(id, sum);
            self.asm
                .evex(table::fma_reg_added(ty), length, to.0, first.0, last, Under::Every);
            return;
        }
        let (first, second) = (self.number(a, copy), self.number(b, copy));
        let last = self.last(c, copy);
        let ends = self.ends(a, copy);
        if ends {
            self.finish(&operands, copy);
            let to = self.vector_at(id, first);
            self.asm
                .evex(table::fma_last_added(ty), length, to.0, second.0, last, Under::Every);
        } else {
            // Another register, whatever ends.
            let to = self.vector_for(id);
            self.copy_vector(to, first);
            self.finish(&operands, copy);
            self.asm
                .evex(table::fma_last_added(ty), length, to.0, second.0, last, Under::Every);
        }
    }

    /// The value takes a register that was just released.
    fn vector_at(&mut self, id: Id, register: Vector) -> Vector {
        self.vectors.take(register.0, id);
        self.vectors.pin(register.0);
        register
    }

    fn patch(&mut self, id: Id, operands: [Value; 4], function: Function, copy: usize) {
        let [rows, a, b, otherwise] = operands;
        let rows = self.truth(rows, copy);
        let (a, b) = (self.number(a, copy), self.number(b, copy));
        let or = self.number(otherwise, copy);
        let out = self.vector_for(id);
        self.copy_vector(out, or);
        let rows = match self.tail {
            true => {
                // In the register that nothing else may use.
                self.asm.mask(table::MASK_AND, true, 0, rows.0, TAIL.0);
                Mask(0)
            }
            false => rows,
        };
        self.asm
            .mask(table::mask_test(self.layout.rows), false, rows.0, 0, rows.0);
        let jump = self.asm.jump(When::NotZero);
        let functions = self.helper.functions;
        let at = functions.iter().position(|&known| known == function);
        let Some(at) = at else {
            unreachable!("the functions of the program are listed")
        };
        self.stubs.push(Stub {
            jump,
            back: self.asm.here(),
            vectors: self.vectors.used().collect(),
            masks: self.masks.used().collect(),
            rows,
            operands: [a, b],
            out,
            function: std::ptr::from_ref(&functions[at]).addr() as u64,
        });
        self.finish(&operands, copy);
    }
}
