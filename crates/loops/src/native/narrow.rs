//! What AVX2 has no instruction for: truth values in vectors, integers of 64 bits, and some conversions, written out.
//!
//! A truth value is all ones or all zeros in each row of a vector, whose rows are as wide as the numbers that were
//! compared; where other numbers are chosen by it, its rows are made as wide as those.

use super::assembler::*;
use super::generate::{BITS, CONSTANTS, Generator, SCRATCH, TEMPORARY};
use super::registers::{Id, vector};
use super::table;
use crate::program::{Binary, Comparison, Instruction, Op, Program, Shift, Type, Unary, Value};

const SIGN: u64 = 1 << 63;
const T: Vector = TEMPORARY[0];
const U: Vector = TEMPORARY[1];

/// Whether AVX2 can compute a program. It has no instructions for some conversions between floats and unsigned integers.
pub(super) fn can_compute(program: &Program) -> bool {
    use Type::{F32, F64, U32, U64};
    program.instructions().iter().all(|instruction| match instruction.op {
        Op::Convert(a) => !matches!(
            (program.ty(a), instruction.ty),
            (F32 | F64, U32 | U64) | (U32 | U64, F32)
        ),
        _ => true,
    })
}

impl Generator<'_> {
    /// Code of an instruction that AVX2 computes otherwise than AVX-512; false if it is the same.
    pub(super) fn written_out(&mut self, id: Id, instruction: Instruction, copy: usize) -> bool {
        let Instruction { op, ty } = instruction;
        let wide = ty.is_integer() && ty.size() == 8;
        match op {
            Op::Unary(Unary::Abs, a) if wide => self.one(id, a, copy, Self::absolute),
            Op::Binary(op, a, b) if ty == Type::Bool => {
                let size = self.truth_sizes[id / self.copies];
                let first = self.truths_of_size(a, copy, size, T);
                let last = self.truths_of_size(b, copy, size, U);
                self.finish(&[a, b], copy);
                let to = self.vector_for(id);
                self.vectors_of(table::binary(op, Type::U32), to, first, Last::Vector(last));
            }
            Op::Binary(op @ (Binary::Min | Binary::Max), a, b) if wide => {
                let is_min = op == Binary::Min;
                self.two(id, [a, b], copy, |this, to, a, b| {
                    let (low, high) = if is_min { (a, b) } else { (b, a) };
                    this.greater(T, high, low, ty);
                    this.blend(ty, to, b, a, T);
                });
            }
            Op::Binary(Binary::Mul, a, b) if wide => self.two(id, [a, b], copy, Self::product),
            Op::Binary(Binary::Scale, a, b) => {
                let scaled = if ty == Type::F32 {
                    Self::scaled_single
                } else {
                    Self::scaled_double
                };
                self.two(id, [a, b], copy, scaled);
            }
            Op::Compare(how, a, b) => {
                let of = self.program.ty(a);
                self.two(id, [a, b], copy, |this, to, a, b| this.compared(how, of, to, a, b));
            }
            Op::Not(a) => {
                let truths = self.truths(a, copy);
                self.finish(&[a], copy);
                let to = self.vector_for(id);
                self.inverted(to, truths);
            }
            Op::Select(condition, a, b) => {
                let (chosen, other) = (self.number(a, copy), self.number(b, copy));
                let rows = self.truths_of_size(condition, copy, ty.size(), T);
                self.finish(&[condition, a, b], copy);
                let to = self.vector_for(id);
                self.blend(ty, to, other, chosen, rows);
            }
            Op::Shift(Shift::Arithmetic, a, by) if wide => self.one(id, a, copy, |this, to, a| {
                // The sign, where it went, says what the bits above it are.
                this.shifted(Shift::Right, ty, T, a, by);
                let sign = this.repeated(SIGN >> by, 8);
                this.vectors_of(table::binary(Binary::Xor, Type::U64), T, T, sign);
                this.vectors_of(table::binary(Binary::Sub, ty), to, T, sign);
            }),
            Op::Convert(a) => return self.converted(id, instruction, a, copy),
            Op::Patch(rows, function, [a, b], otherwise) => {
                let rows = self.truths_of_size(rows, copy, 8, T);
                let (first, last) = (self.number(a, copy), self.number(b, copy));
                let or = self.number(otherwise, copy);
                let out = self.vector_for(id);
                self.copy_vector(out, or);
                self.bits(SCRATCH, rows, 8);
                self.asm.test(SCRATCH);
                self.call_for(None, function, [first, last], out);
                self.finish(&op.operands(), copy);
            }
            _ => return false,
        }
        true
    }

    fn one(&mut self, id: Id, a: Value, copy: usize, write: impl FnOnce(&mut Self, Vector, Vector)) {
        let from = self.number(a, copy);
        self.finish(&[a], copy);
        let to = self.vector_for(id);
        write(self, to, from);
    }

    /// The result may be in the register of an operand: it is written by the last instruction.
    fn two(&mut self, id: Id, [a, b]: [Value; 2], copy: usize, write: impl FnOnce(&mut Self, Vector, Vector, Vector)) {
        let (first, last) = (self.number(a, copy), self.number(b, copy));
        self.finish(&[a, b], copy);
        let to = self.vector_for(id);
        write(self, to, first, last);
    }

    /// An instruction on whole vectors.
    fn vectors_of(&mut self, code: Code, to: Vector, other: Vector, last: Last) {
        self.asm.vector(code, Length::Y, to.0, other.0, last, Under::Every);
    }

    fn shifted(&mut self, how: Shift, ty: Type, to: Vector, a: Vector, by: u8) {
        let (code, field) = table::shift(how, ty);
        self.asm
            .vector(code, Length::Y, field, to.0, Last::Vector(a), Under::Every);
        self.asm.immediate(by);
    }

    /// A number of so many bytes in each row, in memory.
    fn repeated(&mut self, bits: u64, size: usize) -> Last {
        Last::Memory(Memory::at(CONSTANTS, self.constants.number(bits, size)))
    }

    /// `chosen` where the rows are true, else `other`.
    fn blend(&mut self, ty: Type, to: Vector, other: Vector, chosen: Vector, rows: Vector) {
        self.vectors_of(table::blend_by_vector(ty), to, other, Last::Vector(chosen));
        self.asm.immediate(rows.0 << 4);
    }

    fn inverted(&mut self, to: Vector, truths: Vector) {
        let ones = self.repeated(u64::MAX, 8);
        self.vectors_of(table::binary(Binary::Xor, Type::U32), to, truths, ones);
    }

    /// Rows where integers of 64 bits are greater. Both temporary registers are used.
    fn greater(&mut self, to: Vector, a: Vector, b: Vector, ty: Type) {
        let (mut a, mut b) = (a, b);
        if !ty.is_signed() {
            let sign = self.repeated(SIGN, 8);
            let xor = table::binary(Binary::Xor, Type::U64);
            self.vectors_of(xor, T, a, sign);
            self.vectors_of(xor, U, b, sign);
            (a, b) = (T, U);
        }
        self.vectors_of(table::greater(ty), to, a, Last::Vector(b));
    }

    fn absolute(&mut self, to: Vector, a: Vector) {
        let xor = table::binary(Binary::Xor, Type::U64);
        self.vectors_of(xor, T, T, Last::Vector(T));
        self.vectors_of(table::greater(Type::I64), T, T, Last::Vector(a));
        self.vectors_of(xor, U, a, Last::Vector(T));
        self.vectors_of(table::binary(Binary::Sub, Type::I64), to, U, Last::Vector(T));
    }

    /// Of 64 bits: the product of the low halves, and the sum of the other two, whose high halves are lost.
    fn product(&mut self, to: Vector, a: Vector, b: Vector) {
        self.vectors_of(table::SHUFFLE, T, Vector(0), Last::Vector(b));
        self.asm.immediate(0b10_11_00_01);
        self.vectors_of(table::binary(Binary::Mul, Type::U32), T, a, Last::Vector(T));
        self.shifted(Shift::Right, Type::U64, U, T, 32);
        self.vectors_of(table::binary(Binary::Add, Type::U32), T, T, Last::Vector(U));
        self.shifted(Shift::Left, Type::U64, T, T, 32);
        self.vectors_of(table::LOW_PRODUCT, U, a, Last::Vector(b));
        self.vectors_of(table::binary(Binary::Add, Type::U64), to, T, Last::Vector(U));
    }

    /// Two factors, each about half of the power. The first product is exact unless the second one is zero or infinite.
    fn scaled_single(&mut self, to: Vector, a: Vector, n: Vector) {
        let ty = Type::F32;
        let length = self.layout.length(ty);
        let [least, most] = [-252.0f32, 254.0].map(|bound| self.repeated(bound.to_bits().into(), 4));
        self.vectors_of(table::binary(Binary::Max, ty), T, n, least);
        self.vectors_of(table::binary(Binary::Min, ty), T, T, most);
        self.asm
            .vector(table::TO_INTEGER, length, T.0, 0, Last::Vector(T), Under::Every);
        let bias = self.repeated(2 * 127, 4);
        self.vectors_of(table::binary(Binary::Add, Type::I32), T, T, bias);
        self.shifted(Shift::Right, Type::U32, U, T, 1);
        self.vectors_of(table::binary(Binary::Sub, Type::I32), T, T, Last::Vector(U));
        self.shifted(Shift::Left, Type::U32, T, T, 23);
        self.shifted(Shift::Left, Type::U32, U, U, 23);
        let mul = table::binary(Binary::Mul, ty);
        self.vectors_of(mul, U, a, Last::Vector(U));
        self.vectors_of(mul, to, U, Last::Vector(T));
    }

    fn scaled_double(&mut self, to: Vector, a: Vector, n: Vector) {
        let ty = Type::F64;
        let [least, most] = [-2044.0f64, 2046.0].map(|bound| self.repeated(bound.to_bits(), 8));
        self.vectors_of(table::binary(Binary::Max, ty), T, n, least);
        self.vectors_of(table::binary(Binary::Min, ty), T, T, most);
        // The integer is in the low bits of the sum.
        let shift = self.repeated((1.5 * 2f64.powi(52)).to_bits(), 8);
        self.vectors_of(table::binary(Binary::Add, ty), T, T, shift);
        let [bias, low] = [2 * 1023, u64::from(u32::MAX)].map(|bits| self.repeated(bits, 8));
        self.vectors_of(table::binary(Binary::Add, Type::U64), T, T, bias);
        self.vectors_of(table::binary(Binary::And, Type::U64), T, T, low);
        self.shifted(Shift::Right, Type::U64, U, T, 1);
        self.vectors_of(table::binary(Binary::Sub, Type::U64), T, T, Last::Vector(U));
        self.shifted(Shift::Left, Type::U64, T, T, 52);
        self.shifted(Shift::Left, Type::U64, U, U, 52);
        let mul = table::binary(Binary::Mul, ty);
        self.vectors_of(mul, U, a, Last::Vector(U));
        self.vectors_of(mul, to, U, Last::Vector(T));
    }

    fn compared(&mut self, how: Comparison, of: Type, to: Vector, a: Vector, b: Vector) {
        if of.is_float() {
            self.vectors_of(table::compare(of), to, a, Last::Vector(b));
            self.asm.immediate(match how {
                Comparison::Equal => 0,
                Comparison::NotEqual => 4,
                Comparison::Less => 0x11,
                Comparison::LessOrEqual => 0x12,
            });
            return;
        }
        match how {
            Comparison::Equal => self.vectors_of(table::equal(of), to, a, Last::Vector(b)),
            Comparison::NotEqual => {
                self.vectors_of(table::equal(of), T, a, Last::Vector(b));
                self.inverted(to, T);
            }
            Comparison::Less if of.is_signed() || of.size() == 8 => self.greater(to, b, a, of),
            Comparison::LessOrEqual if of.is_signed() || of.size() == 8 => {
                self.greater(T, a, b, of);
                self.inverted(to, T);
            }
            // Whichever is not greater is the least.
            Comparison::Less => {
                self.vectors_of(table::binary(Binary::Min, of), T, a, Last::Vector(b));
                self.vectors_of(table::equal(of), T, T, Last::Vector(b));
                self.inverted(to, T);
            }
            Comparison::LessOrEqual => {
                self.vectors_of(table::binary(Binary::Min, of), T, a, Last::Vector(b));
                self.vectors_of(table::equal(of), to, T, Last::Vector(a));
            }
        }
    }

    fn converted(&mut self, id: Id, Instruction { op, ty }: Instruction, a: Value, copy: usize) -> bool {
        use Type::{F32, F64, I64, U32, U64};
        debug_assert!(matches!(op, Op::Convert(_)));
        let from = self.program.ty(a);
        match (from, ty) {
            (F32 | F64, I64) | (I64, F32) => self.one(id, a, copy, |this, to, a| this.row_by_row(from, ty, to, a)),
            (I64 | U64 | U32, F64) => self.one(id, a, copy, |this, to, a| this.as_double(from, to, a)),
            _ if from.is_integer() && ty.is_integer() && from.size() > ty.size() => {
                self.one(id, a, copy, |this, to, a| {
                    let narrow = this.narrowed(a, from.size(), ty.size());
                    this.copy_vector(to, narrow);
                });
            }
            _ => return false,
        }
        true
    }

    /// Integers of 32 or 64 bits as doubles: as the low bits of large ones, whose difference is rounded once.
    fn as_double(&mut self, from: Type, to: Vector, a: Vector) {
        let (add, sub) = (
            table::binary(Binary::Add, Type::F64),
            table::binary(Binary::Sub, Type::F64),
        );
        let two = |power: i32| 2f64.powi(power).to_bits();
        let low_base = self.repeated(two(52), 8);
        if from == Type::U32 {
            self.asm
                .vector(table::WIDEN_32, Length::Y, T.0, 0, Last::Vector(a), Under::Every);
            self.vectors_of(table::binary(Binary::Or, Type::U64), T, T, low_base);
            self.vectors_of(sub, to, T, low_base);
            return;
        }
        // The high half, with its sign as an offset.
        let offset = if from.is_signed() { 1u64 << 31 } else { 0 };
        let high_base = self.repeated(two(84) ^ offset, 8);
        self.shifted(Shift::Right, Type::U64, T, a, 32);
        self.vectors_of(table::binary(Binary::Xor, Type::U64), T, T, high_base);
        let sign = if from.is_signed() { 2f64.powi(63) } else { 0.0 };
        let both = self.repeated((2f64.powi(84) + sign + 2f64.powi(52)).to_bits(), 8);
        self.vectors_of(sub, T, T, both);
        self.vectors_of(table::BLEND_32, U, a, low_base);
        self.asm.immediate(0b1010_1010);
        self.vectors_of(add, to, T, Last::Vector(U));
    }

    /// A conversion by the instructions for one number, by way of the stack.
    fn row_by_row(&mut self, from: Type, ty: Type, to: Vector, a: Vector) {
        let place = |offset: usize| Memory::at(RSP, offset as i32);
        self.save(a.0, 0);
        for row in 0..self.layout.rows {
            let given = place(from.size() * row);
            match ty {
                Type::I64 => {
                    self.asm.one_number(table::one_to_integer(from), SCRATCH.0, 0, given);
                    // Above the operands that are still to be read.
                    self.asm.store(place(32 + 8 * row), SCRATCH);
                }
                _ => {
                    self.asm.one_number(table::ONE_TO_SINGLE, T.0, T.0, given);
                    let result = Last::Memory(place(32 + 4 * row));
                    self.asm.vector(table::STORE_4, Length::X, T.0, 0, result, Under::Every);
                }
            }
        }
        self.restore(to.0, 32);
    }

    /// Integers of fewer bytes, which lose their high bits, in the first temporary register.
    fn narrowed(&mut self, a: Vector, from: usize, size: usize) -> Vector {
        let (mut at, mut bytes) = (a, from);
        while bytes > size {
            let mut low = at;
            if bytes < 8 {
                // Packing saturates what does not fit.
                let kept = self.repeated((1 << (4 * bytes)) - 1, bytes);
                self.vectors_of(table::binary(Binary::And, Type::U32), U, at, kept);
                low = U;
            }
            let mut high = low;
            if bytes * self.layout.rows == 32 {
                self.vectors_of(table::HIGH_HALF, low, Vector(0), Last::Vector(T));
                self.asm.immediate(1);
                high = T;
            }
            let code = table::pack(bytes);
            self.asm
                .vector(code, Length::X, T.0, low.0, Last::Vector(high), Under::Every);
            if bytes == 8 {
                // The first and third word of both.
                self.asm.immediate(0b10_00_10_00);
            }
            at = T;
            bytes /= 2;
        }
        at
    }

    /// The register of truth values, each as wide as the layout says.
    pub(super) fn truths(&mut self, value: Value, copy: usize) -> Vector {
        let id = self.id(value, copy);
        if let Some(register) = self.vectors.home(id) {
            self.vectors.pin(register);
            return vector(register);
        }
        let to = self.vector_for(id);
        match (self.program.instructions[value.index()].op, self.spilled[id]) {
            (Op::Input(input), _) => self.truths_of_bits(input, to, copy),
            (_, Some(slot)) => self.restore(to.0, 64 * slot),
            (Op::Const(bits), _) => {
                let code = match bits {
                    0 => table::binary(Binary::Xor, Type::U32),
                    _ => table::equal(Type::U32),
                };
                self.vectors_of(code, to, to, Last::Vector(to));
            }
            _ => unreachable!("values are computed before they are read"),
        }
        to
    }

    /// Truth values of a size; wider ones are put into the temporary register given, narrower ones into the first.
    fn truths_of_size(&mut self, value: Value, copy: usize, size: usize, temporary: Vector) -> Vector {
        let truths = self.truths(value, copy);
        let from = self.truth_sizes[value.index()];
        if from > size {
            return self.narrowed(truths, from, size);
        }
        if from == size {
            return truths;
        }
        self.vectors_of(table::widen(from, size), temporary, Vector(0), Last::Vector(truths));
        temporary
    }

    /// The bits of truth values that take one, four or eight bytes each.
    fn bits(&mut self, to: General, truths: Vector, size: usize) {
        let length = Length::of(size * self.layout.rows);
        self.asm
            .vector(table::signs(size), length, to.0, 0, Last::Vector(truths), Under::Every);
    }

    pub(super) fn store_truths(&mut self, value: Value, stream: usize, copy: usize) {
        let mut truths = self.truths(value, copy);
        let mut size = self.truth_sizes[value.index()];
        if size == 2 {
            size = 1;
            truths = self.narrowed(truths, 2, size);
        }
        self.bits(BITS, truths, size);
        let to = self.rows_at(stream, Type::Bool, copy);
        let rows = self.layout.rows;
        if rows >= 8 {
            return self.asm.store_low(to, BITS, rows / 8);
        }
        // Two groups share a byte, and the first one is written first.
        self.asm.and(BITS, 15);
        match copy % 2 {
            0 => self.asm.store_low(to, BITS, 1),
            _ => {
                self.asm.shift_left(BITS, 4);
                self.asm.or_low(to, BITS);
            }
        }
    }

    fn truths_of_bits(&mut self, input: u32, to: Vector, copy: usize) {
        let from = Last::Memory(self.rows_at(input as usize, Type::Bool, copy));
        let rows = self.layout.rows;
        let (size, first) = (32 / rows, if rows < 8 { copy * rows % 8 } else { 0 });
        self.vectors_of(table::broadcast((rows / 8).max(1)), to, Vector(0), from);
        if rows == 32 {
            // Byte by byte, to the eight rows that it is for.
            let bytes = [0, 1, 2, 3].map(|byte| 0x0101_0101_0101_0101 * byte);
            let bytes = Last::Memory(Memory::at(CONSTANTS, self.constants.vector(bytes)));
            self.vectors_of(table::SHUFFLE_BYTES, to, to, bytes);
        }
        let mut own = [0u64; 4];
        for row in 0..rows {
            let bit = 1u64 << ((first + row) % if size == 2 { 16 } else { 8 });
            own[row * size / 8] |= bit << (8 * (row * size % 8));
        }
        let own = Last::Memory(Memory::at(CONSTANTS, self.constants.vector(own)));
        self.vectors_of(table::binary(Binary::And, Type::U32), to, to, own);
        self.vectors_of(table::equal_of_size(size), to, to, own);
    }
}
