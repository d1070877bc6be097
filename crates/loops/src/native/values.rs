//! Values in registers: where they are, and how they get there.

use super::assembler::*;
use super::generate::{ARGUMENTS, BIT_INDEX, CONSTANTS, Generator, INDEX, SCRATCH, TAIL};
use super::registers::{Id, mask, vector};
use super::table;
use crate::program::{Instruction, Op, Type, Value};

impl Generator<'_> {
    /// Whether a value is a constant or a uniform input.
    pub(super) fn is_same(&self, at: usize) -> bool {
        matches!(self.program.instructions[at].op, Op::Const(_) | Op::Uniform(_))
    }

    /// Where a constant or uniform input is in memory.
    fn same(&mut self, at: usize) -> Option<Memory> {
        let Instruction { op, ty } = self.program.instructions[at];
        match op {
            Op::Const(bits) => Some(Memory::at(CONSTANTS, self.constants.number(bits, ty.size()))),
            Op::Uniform(input) => Some(Memory::at(ARGUMENTS, self.layout.input(input))),
            _ => None,
        }
    }

    pub(super) fn load_same(&mut self, at: usize, to: Vector) {
        let ty = self.program.instructions[at].ty;
        let Some(place) = self.same(at) else {
            unreachable!("a constant or uniform input")
        };
        let code = table::broadcast(ty.size());
        self.asm
            .vector(code, self.layout.length(ty), to.0, 0, Last::Memory(place), Under::Every);
    }

    pub(super) fn id(&self, value: Value, copy: usize) -> Id {
        value.index() * self.copies + copy
    }

    /// The next instruction that reads a value, from the one after the current.
    pub(super) fn next_use(&self, id: Id) -> usize {
        let uses = &self.uses[id / self.copies];
        uses[uses.partition_point(|&at| at <= self.at)..]
            .first()
            .copied()
            .unwrap_or(usize::MAX)
    }

    /// A register for a number; what it holds leaves.
    pub(super) fn vector_for(&mut self, id: Id) -> Vector {
        let register = self.vectors.free().unwrap_or_else(|| {
            let register = self.vectors.latest(|id| self.next_use(id));
            let Some(old) = self.vectors.owner(register) else {
                unreachable!("it holds a value")
            };
            if !self.given(old) && self.spilled[old].is_none() {
                let slot = self.slots;
                self.slots += 1;
                self.spilled[old] = Some(slot);
                self.save(register, 64 * slot);
            }
            self.vectors.release(old);
            register
        });
        self.vectors.take(register, id);
        self.vectors.pin(register);
        vector(register)
    }

    /// Writes a register to the stack.
    pub(super) fn save(&mut self, register: u8, offset: i32) {
        let to = Last::Memory(Memory::at(RSP, offset));
        let (size, length) = self.whole();
        self.asm
            .vector(table::store(size), length, register, 0, to, Under::Every);
    }

    /// Reads a register from the stack.
    pub(super) fn restore(&mut self, register: u8, offset: i32) {
        let from = Last::Memory(Memory::at(RSP, offset));
        let (size, length) = self.whole();
        self.asm
            .vector(table::load(size), length, register, 0, from, Under::Every);
    }

    /// The size of elements that are moved as whole registers, and the length of these.
    fn whole(&self) -> (usize, Length) {
        match self.layout.set {
            Set::Avx512 => (8, Length::Z),
            Set::Avx2 => (4, Length::Y),
        }
    }

    /// True for values that are read from memory again.
    pub(super) fn given(&self, id: Id) -> bool {
        matches!(
            self.program.instructions[id / self.copies].op,
            Op::Input(_) | Op::Uniform(_) | Op::Const(_)
        )
    }

    pub(super) fn mask_for(&mut self, id: Id) -> Mask {
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
    pub(super) fn rows_at(&mut self, stream: usize, ty: Type, copy: usize) -> Memory {
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
    pub(super) fn number(&mut self, value: Value, copy: usize) -> Vector {
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
                self.asm.vector(code, length, to.0, 0, from, under);
            }
            (_, Some(slot)) => self.restore(to.0, 64 * slot),
            _ => self.load_same(value.index(), to),
        }
        to
    }

    /// How rows of a type are read or written.
    pub(super) fn access(&self, ty: Type, read: bool) -> (Code, Length, Under) {
        // The elements matter for masks alone.
        let size = match self.layout.set {
            Set::Avx512 => ty.size(),
            Set::Avx2 => 4,
        };
        match (self.tail, read, ty.size() * self.layout.rows) {
            (false, true, 4) => (table::LOAD_4, Length::X, Under::Every),
            (false, false, 4) => (table::STORE_4, Length::X, Under::Every),
            (false, true, 8) => (table::LOAD_8, Length::X, Under::Every),
            (false, false, 8) => (table::STORE_8, Length::X, Under::Every),
            (false, true, _) => (table::load(size), self.layout.length(ty), Under::Every),
            (false, false, _) => (table::store(size), self.layout.length(ty), Under::Every),
            (true, true, _) => (table::load(size), self.layout.length(ty), Under::Zero(TAIL)),
            (true, false, _) => (table::store(size), self.layout.length(ty), Under::Merge(TAIL)),
        }
    }

    /// A number as the last operand: from memory if it is the same in all rows, and not in a register.
    pub(super) fn last(&mut self, value: Value, copy: usize) -> Last {
        let at = value.index();
        let (ty, id) = (self.program.instructions[at].ty, self.id(value, copy));
        if self.hoisted[at].is_some() || self.vectors.home(id).is_some() {
            return Last::Vector(self.number(value, copy));
        }
        let is_constant = matches!(self.program.instructions[at].op, Op::Const(_));
        match (self.same(at), self.layout.set) {
            (Some(place), Set::Avx512) if ty.size() >= 4 => Last::Broadcast(place),
            (Some(place), Set::Avx2) if is_constant => Last::Memory(place),
            _ => Last::Vector(self.number(value, copy)),
        }
    }

    /// The mask register of truth values.
    pub(super) fn truth(&mut self, value: Value, copy: usize) -> Mask {
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
    pub(super) fn finish(&mut self, operands: &[Value], copy: usize) {
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
    pub(super) fn ends(&self, value: Value, copy: usize) -> bool {
        let id = self.id(value, copy);
        self.hoisted[value.index()].is_none() && self.next_use(id) == usize::MAX
    }

    pub(super) fn store_results(&mut self, at: usize, copy: usize) {
        let value = Value(at as u32);
        let ty = self.program.instructions[at].ty;
        for result in 0..self.results[at].len() {
            let result = self.results[at][result];
            let stream = self.program.inputs.len() + result;
            if ty == Type::Bool && self.layout.set == Set::Avx2 {
                self.store_truths(value, stream, copy);
            } else if ty == Type::Bool {
                let from = self.truth(value, copy);
                let to = self.rows_at(stream, ty, copy);
                self.asm.mask_memory(table::mask_store(self.layout.rows), from, to);
            } else {
                let from = self.number(value, copy);
                let to = Last::Memory(self.rows_at(stream, ty, copy));
                let (code, length, under) = self.access(ty, false);
                self.asm.vector(code, length, from.0, 0, to, under);
            }
        }
        if self.uses[at].is_empty() {
            let id = self.id(value, copy);
            self.vectors.release(id);
            self.masks.release(id);
        }
    }

    pub(super) fn copy_vector(&mut self, to: Vector, from: Vector) {
        if to != from {
            let (_, length) = self.whole();
            self.asm
                .vector(table::MOVE, length, to.0, 0, Last::Vector(from), Under::Every);
        }
    }

    /// The value takes a register that was just released.
    pub(super) fn vector_at(&mut self, id: Id, register: Vector) -> Vector {
        self.vectors.take(register.0, id);
        self.vectors.pin(register.0);
        register
    }
}
