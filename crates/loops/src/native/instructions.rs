//! The code of each instruction.

use super::assembler::*;
use super::generate::{Generator, LOST, SCRATCH, Stub, TAIL};
use super::registers::{Id, mask};
use super::table;
use crate::program::{Binary, Comparison, Instruction, Op, Type, Unary, Value};
use crate::scalar::Function;

impl Generator<'_> {
    pub(super) fn saved(&self, register: u8) -> i32 {
        64 * (self.slots + i32::from(register))
    }

    /// Calls the function for the rows of a mask. Everything in registers is saved.
    pub(super) fn call(&mut self, stub: &Stub) {
        let start = self.asm.here();
        self.asm.land(stub.jump, start);
        for &register in &stub.vectors {
            self.save(register, self.saved(register));
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
        match stub.rows {
            Some(rows) => self.asm.mask(table::GENERAL_FROM_MASK, false, RCX.0, 0, rows.0),
            None => self.asm.copy(RCX, SCRATCH),
        }
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
            self.restore(register, self.saved(register));
        }
        for &register in &stub.masks {
            let from = Memory::at(RSP, masks + 8 * i32::from(register));
            self.asm.mask_memory(table::mask_load(64), mask(register), from);
        }
        self.asm.jump_to(When::Always, stub.back);
    }

    /// An instruction for one group of rows.
    pub(super) fn instruction(&mut self, at: usize, instruction: Instruction, copy: usize) {
        let Instruction { op, ty } = instruction;
        let id = at * self.copies + copy;
        let operands = op.operands();
        let length = self.layout.length(ty);
        if self.layout.set == Set::Avx2 && self.written_out(id, instruction, copy) {
            return;
        }
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
                let (a, b) = if commutes && self.is_same(a.index()) {
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
                    .vector(table::binary(op, ty), length, to.0, first.0, last, Under::Every);
            }
            Op::Fma(a, b, c) => self.fma(id, ty, [a, b, c], copy),
            Op::Compare(how, a, b) => self.compare(id, how, [a, b], copy),
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
                    .vector(table::blend(ty), length, to.0, other.0, last, Under::Merge(condition));
            }
            Op::Shift(how, a, by) => {
                let a = self.number(a, copy);
                self.finish(&operands, copy);
                let to = self.vector_for(id);
                let (code, field) = table::shift(how, ty);
                self.asm
                    .vector(code, length, field, to.0, Last::Vector(a), Under::Every);
                self.asm.immediate(by);
            }
            Op::Convert(a) | Op::FromHalf(a) | Op::ToHalf(a) => self.convert(id, instruction, a, copy),
            Op::Cast(a) => {
                let a = self.number(a, copy);
                self.finish(&operands, copy);
                let to = self.vector_for(id);
                self.copy_vector(to, a);
            }
            Op::Patch(rows, function, [a, b], otherwise) => self.patch(id, [rows, a, b, otherwise], function, copy),
        }
    }

    pub(super) fn unary(&mut self, op: Unary, ty: Type, to: Vector, a: Last) {
        let length = self.layout.length(ty);
        let code = match op {
            Unary::Sqrt => table::sqrt(ty),
            Unary::Abs => table::abs(ty),
            _ => table::round(ty),
        };
        self.asm.vector(code, length, to.0, 0, a, Under::Every);
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
    pub(super) fn fma(&mut self, id: Id, ty: Type, operands: [Value; 3], copy: usize) {
        let length = self.layout.length(ty);
        let [a, b, c] = operands;
        let (a, b) = if self.is_same(a.index()) || !self.ends(a, copy) {
            (b, a)
        } else {
            (a, b)
        };
        let added = self.ends(c, copy) && !self.is_same(c.index());
        if added && (self.is_same(b.index()) || !self.ends(a, copy)) {
            let (first, sum) = (self.number(a, copy), self.number(c, copy));
            let last = self.last(b, copy);
            self.finish(&operands, copy);
            let to = self.vector_at(id, sum);
            self.asm
                .vector(table::fma_reg_added(ty), length, to.0, first.0, last, Under::Every);
            return;
        }
        let (first, second) = (self.number(a, copy), self.number(b, copy));
        let last = self.last(c, copy);
        let ends = self.ends(a, copy);
        if ends {
            self.finish(&operands, copy);
            let to = self.vector_at(id, first);
            self.asm
                .vector(table::fma_last_added(ty), length, to.0, second.0, last, Under::Every);
        } else {
            // Another register, whatever ends.
            let to = self.vector_for(id);
            self.copy_vector(to, first);
            self.finish(&operands, copy);
            self.asm
                .vector(table::fma_last_added(ty), length, to.0, second.0, last, Under::Every);
        }
    }

    pub(super) fn patch(&mut self, id: Id, operands: [Value; 4], function: Function, copy: usize) {
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
        self.call_for(Some(rows), function, [a, b], out);
        self.finish(&operands, copy);
    }

    /// Calls a function for some rows if the instruction before has found any.
    pub(super) fn call_for(&mut self, rows: Option<Mask>, function: Function, operands: [Vector; 2], out: Vector) {
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
            operands,
            out,
            function: std::ptr::from_ref(&functions[at]).addr() as u64,
        });
    }

    /// A mask from a comparison.
    fn compare(&mut self, id: Id, how: Comparison, operands: [Value; 2], copy: usize) {
        let [a, b] = operands;
        let of = self.program.ty(a);
        let first = self.number(a, copy);
        let last = self.last(b, copy);
        self.finish(&operands, copy);
        let to = self.mask_for(id);
        self.asm.vector(
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

    /// A number of another type.
    fn convert(&mut self, id: Id, Instruction { op, ty }: Instruction, a: Value, copy: usize) {
        let (operands, length) = ([a], self.layout.length(ty));
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
        self.asm
            .vector(code, length, reg.0, 0, Last::Vector(last), Under::Every);
        if matches!(op, Op::ToHalf(_)) {
            // To the nearest, whatever the processor is set to.
            self.asm.immediate(0);
        }
    }
}
