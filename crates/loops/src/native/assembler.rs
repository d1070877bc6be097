//! Encoding of the instructions of x86-64 that generated code is made of.
//!
//! Instructions on vectors share one form, so that a row of a table is enough for each: EVEX for AVX-512 (Intel's manual,
//! volume 2, 2.7), or VEX for AVX2 (2.3). The tests decode everything by another program.

/// The instructions that code may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    /// AVX2, with the fused products of FMA and the conversions of F16C: vectors of 256 bits in 16 registers; truth values
    /// are vectors too.
    Avx2,
    /// AVX-512 (F, BW, DQ, VL): vectors of 512 bits in 32 registers; truth values are bits of mask registers.
    Avx512,
}

/// A general register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct General(pub(super) u8);

pub(super) const RAX: General = General(0);
pub(super) const RCX: General = General(1);
pub(super) const RDX: General = General(2);
pub(super) const RBX: General = General(3);
pub(super) const RSP: General = General(4);
pub(super) const RBP: General = General(5);
pub(super) const RSI: General = General(6);
pub(super) const RDI: General = General(7);

/// A vector register, from 0 to 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Vector(pub(super) u8);

/// A mask register, from 0 to 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Mask(pub(super) u8);

/// A place in memory: `base + index * scale + displacement`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) base: General,
    /// The index and the logarithm of its scale.
    pub(super) index: Option<(General, u8)>,
    pub(super) displacement: i32,
}

impl Memory {
    pub(super) fn at(base: General, displacement: i32) -> Memory {
        Memory {
            base,
            index: None,
            displacement,
        }
    }
}

/// The last operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Vector(Vector),
    /// A whole vector in memory.
    Memory(Memory),
    /// One number in memory, for each.
    Broadcast(Memory),
}

/// The rows that an instruction writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Under {
    /// All.
    Every,
    /// Those of a mask; the others stay, or are the second operand's.
    Merge(Mask),
    /// Those of a mask; the others become zero.
    Zero(Mask),
}

/// The part of an instruction that does not depend on operands: a map of opcodes from 1 to 3, a prefix (0, or 1 to 3
/// for 66, F3 and F2), a bit that often chooses 64-bit elements, and the opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) map: u8,
    pub(super) prefix: u8,
    pub(super) wide: bool,
    pub(super) opcode: u8,
}

/// The length of vectors: 128, 256 or 512 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Length {
    X,
    Y,
    Z,
}

impl Length {
    /// The length for so many bytes.
    pub(super) fn of(bytes: usize) -> Length {
        match bytes {
            0..=16 => Length::X,
            17..=32 => Length::Y,
            _ => Length::Z,
        }
    }
}

/// Conditions of jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// Unsigned `<`.
    Below,
    /// Unsigned `<=`.
    BelowOrEqual,
    /// Unsigned `>=`.
    AboveOrEqual,
    /// Unsigned `>`.
    Above,
    NotZero,
}

/// A place that a jump goes to, once it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Jump(usize);

/// The bytes of instructions.
#[derive(Debug)]
pub(super) struct Assembler {
    pub(super) bytes: Vec<u8>,
    set: Set,
}

impl Assembler {
    pub(super) fn new(set: Set) -> Assembler {
        Assembler { bytes: Vec::new(), set }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// ModRM, SIB and displacement of a place in memory.
    fn memory(&mut self, reg: u8, place: Memory) {
        let Memory {
            base,
            index,
            displacement,
        } = place;
        // Displacements are never of eight bits, which vector instructions scale.
        let short = displacement == 0 && base.0 & 7 != 5;
        let mode = if short { 0x00 } else { 0x80 };
        match index {
            None if base.0 & 7 != 4 => self.push(&[mode | (reg & 7) << 3 | (base.0 & 7)]),
            None => self.push(&[mode | (reg & 7) << 3 | 4, 4 << 3 | (base.0 & 7)]),
            Some((index, scale)) => {
                self.push(&[
                    mode | (reg & 7) << 3 | 4,
                    scale << 6 | (index.0 & 7) << 3 | (base.0 & 7),
                ]);
            }
        }
        if !short {
            self.push(&displacement.to_le_bytes());
        }
    }

    /// An instruction on vectors. `reg` and `other` are numbers of registers.
    pub(super) fn vector(&mut self, code: Code, length: Length, reg: u8, other: u8, last: Last, under: Under) {
        match self.set {
            Set::Avx512 => self.evex(code, length, reg, other, last, under),
            Set::Avx2 => {
                let (b, x) = match last {
                    Last::Vector(Vector(last)) => (last >> 3, 0),
                    Last::Memory(place) => (place.base.0 >> 3, place.index.map_or(0, |(index, _)| index.0 >> 3)),
                    Last::Broadcast(_) => unreachable!("AVX2 repeats no number in memory"),
                };
                // The bit tells doubles from singles in fused products alone. The other instructions in use ignore it or
                // need it to be 0.
                let wide = code.wide && code.map == 2 && matches!(code.opcode, 0x96..=0xbf);
                self.vex(Code { wide, ..code }, length == Length::Y, reg, other, (b, x));
                match last {
                    Last::Vector(Vector(last)) => self.push(&[0xc0 | (reg & 7) << 3 | (last & 7)]),
                    Last::Memory(place) | Last::Broadcast(place) => self.memory(reg, place),
                }
            }
        }
    }

    fn evex(&mut self, code: Code, length: Length, reg: u8, other: u8, last: Last, under: Under) {
        let (mask, zero) = match under {
            Under::Every => (Mask(0), false),
            Under::Merge(mask) => (mask, false),
            Under::Zero(mask) => (mask, true),
        };
        let bit = |value: u8, at: u8| value >> at & 1;
        let (b, x, broadcast) = match last {
            Last::Vector(Vector(last)) => (bit(last, 3), bit(last, 4), 0),
            Last::Memory(place) => (
                bit(place.base.0, 3),
                place.index.map_or(0, |(index, _)| bit(index.0, 3)),
                0,
            ),
            Last::Broadcast(place) => (
                bit(place.base.0, 3),
                place.index.map_or(0, |(index, _)| bit(index.0, 3)),
                1,
            ),
        };
        let first = (bit(reg, 3) ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | (bit(reg, 4) ^ 1) << 4 | code.map;
        let second = u8::from(code.wide) << 7 | (!other & 15) << 3 | 1 << 2 | code.prefix;
        let third = u8::from(zero) << 7 | (length as u8) << 5 | broadcast << 4 | (bit(other, 4) ^ 1) << 3 | mask.0;
        self.push(&[0x62, first, second, third, code.opcode]);
        match last {
            Last::Vector(Vector(last)) => self.push(&[0xc0 | (reg & 7) << 3 | (last & 7)]),
            Last::Memory(place) | Last::Broadcast(place) => self.memory(reg, place),
        }
    }

    /// The constant operand of the instruction before.
    pub(super) fn immediate(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// An instruction on one number in memory and a register; `wide` in the code chooses 64 bits.
    pub(super) fn one_number(&mut self, code: Code, reg: u8, other: u8, place: Memory) {
        self.vex(code, false, reg, other, (place.base.0 >> 3, 0));
        self.memory(reg, place);
    }

    /// An instruction on mask registers, or between them and a general register (VEX, with two bytes or three).
    pub(super) fn mask(&mut self, code: Code, long: bool, reg: u8, other: u8, last: u8) {
        self.vex(code, long, reg, other, (last >> 3 & 1, 0));
        self.push(&[0xc0 | (reg & 7) << 3 | (last & 7)]);
    }

    /// A move between a mask register and memory.
    pub(super) fn mask_memory(&mut self, code: Code, reg: Mask, place: Memory) {
        let index = place.index.map_or(0, |(index, _)| index.0 >> 3 & 1);
        self.vex(code, false, reg.0, 0, (place.base.0 >> 3 & 1, index));
        self.memory(reg.0, place);
    }

    fn vex(&mut self, code: Code, long: bool, reg: u8, other: u8, (b, x): (u8, u8)) {
        let first = (reg >> 3 & 1 ^ 1) << 7 | (x & 1 ^ 1) << 6 | (b & 1 ^ 1) << 5 | code.map;
        let second = u8::from(code.wide) << 7 | (!other & 15) << 3 | u8::from(long) << 2 | code.prefix;
        self.push(&[0xc4, first, second, code.opcode]);
    }

    fn rex(&mut self, reg: u8, index: u8, base: u8) {
        self.bytes
            .push(0x48 | (reg >> 3 & 1) << 2 | (index >> 3 & 1) << 1 | (base >> 3 & 1));
    }

    /// `to = [place]`, 64 bits.
    pub(super) fn load(&mut self, to: General, place: Memory) {
        self.rex(to.0, place.index.map_or(0, |(index, _)| index.0), place.base.0);
        self.bytes.push(0x8b);
        self.memory(to.0, place);
    }

    /// `[place] = from`, 64 bits.
    pub(super) fn store(&mut self, place: Memory, from: General) {
        self.rex(from.0, 0, place.base.0);
        self.bytes.push(0x89);
        self.memory(from.0, place);
    }

    /// `[place] = from`, its lowest one, two or four bytes.
    pub(super) fn store_low(&mut self, place: Memory, from: General, bytes: usize) {
        if bytes == 2 {
            self.bytes.push(0x66);
        }
        self.rex_32(from.0, place);
        self.bytes.push(if bytes == 1 { 0x88 } else { 0x89 });
        self.memory(from.0, place);
    }

    /// `[place] |= from`, its lowest byte.
    pub(super) fn or_low(&mut self, place: Memory, from: General) {
        self.rex_32(from.0, place);
        self.bytes.push(0x08);
        self.memory(from.0, place);
    }

    fn rex_32(&mut self, reg: u8, place: Memory) {
        let index = place.index.map_or(0, |(index, _)| index.0);
        self.bytes
            .push(0x40 | (reg >> 3 & 1) << 2 | (index >> 3 & 1) << 1 | (place.base.0 >> 3 & 1));
    }

    /// `to &= value`.
    pub(super) fn and(&mut self, to: General, value: i32) {
        self.rex(0, 0, to.0);
        self.push(&[0x81, 0xe0 | (to.0 & 7)]);
        self.push(&value.to_le_bytes());
    }

    /// `to <<= by`.
    pub(super) fn shift_left(&mut self, to: General, by: u8) {
        self.rex(0, 0, to.0);
        self.push(&[0xc1, 0xe0 | (to.0 & 7), by]);
    }

    /// Compares with zero, for a jump.
    pub(super) fn test(&mut self, a: General) {
        self.rex(a.0, 0, a.0);
        self.push(&[0x85, 0xc0 | (a.0 & 7) << 3 | (a.0 & 7)]);
    }

    /// Lets the stack begin at a multiple of 64.
    pub(super) fn align_stack(&mut self) {
        self.push(&[0x48, 0x83, 0xe4, 0xc0]);
    }

    /// `to = address of place`.
    pub(super) fn address(&mut self, to: General, place: Memory) {
        self.rex(to.0, place.index.map_or(0, |(index, _)| index.0), place.base.0);
        self.bytes.push(0x8d);
        self.memory(to.0, place);
    }

    /// `to = from`.
    pub(super) fn copy(&mut self, to: General, from: General) {
        self.rex(to.0, 0, from.0);
        self.push(&[0x8b, 0xc0 | (to.0 & 7) << 3 | (from.0 & 7)]);
    }

    /// `to = value`, 64 bits.
    pub(super) fn constant(&mut self, to: General, value: u64) {
        self.push(&[0x48 | to.0 >> 3, 0xb8 | (to.0 & 7)]);
        self.push(&value.to_le_bytes());
    }

    /// `to += value`.
    pub(super) fn add(&mut self, to: General, value: i32) {
        self.rex(0, 0, to.0);
        self.push(&[0x81, 0xc0 | (to.0 & 7)]);
        self.push(&value.to_le_bytes());
    }

    /// `to -= from`.
    pub(super) fn subtract(&mut self, to: General, from: General) {
        self.rex(to.0, 0, from.0);
        self.push(&[0x2b, 0xc0 | (to.0 & 7) << 3 | (from.0 & 7)]);
    }

    /// `to >>= by`.
    pub(super) fn shift_right(&mut self, to: General, by: u8) {
        self.rex(0, 0, to.0);
        self.push(&[0xc1, 0xe8 | (to.0 & 7), by]);
    }

    /// Compares, for a jump.
    pub(super) fn compare(&mut self, a: General, b: General) {
        self.rex(a.0, 0, b.0);
        self.push(&[0x3b, 0xc0 | (a.0 & 7) << 3 | (b.0 & 7)]);
    }

    /// The low bits of all ones: as many as `count` says, all if it says more than 63.
    pub(super) fn low_ones(&mut self, to: General, count: General) {
        self.constant(to, u64::MAX);
        // bzhi to, to, count
        let code = Code {
            map: 2,
            prefix: 0,
            wide: true,
            opcode: 0xf5,
        };
        self.mask(code, false, to.0, count.0, to.0);
    }

    pub(super) fn push_register(&mut self, register: General) {
        if register.0 >= 8 {
            self.bytes.push(0x41);
        }
        self.bytes.push(0x50 | (register.0 & 7));
    }

    pub(super) fn pop_register(&mut self, register: General) {
        if register.0 >= 8 {
            self.bytes.push(0x41);
        }
        self.bytes.push(0x58 | (register.0 & 7));
    }

    /// Calls the function whose address is in a register.
    pub(super) fn call(&mut self, to: General) {
        if to.0 >= 8 {
            self.bytes.push(0x41);
        }
        self.push(&[0xff, 0xd0 | (to.0 & 7)]);
    }

    pub(super) fn ret(&mut self) {
        self.bytes.push(0xc3);
    }

    /// Forgets the upper halves of vectors, so that other code does not slow down.
    pub(super) fn zero_upper(&mut self) {
        self.push(&[0xc5, 0xf8, 0x77]);
    }

    /// The place of the next instruction.
    pub(super) fn here(&self) -> usize {
        self.bytes.len()
    }

    /// A jump to a place that is not known yet.
    pub(super) fn jump(&mut self, when: When) -> Jump {
        match when {
            When::Always => self.bytes.push(0xe9),
            When::Below => self.push(&[0x0f, 0x82]),
            When::BelowOrEqual => self.push(&[0x0f, 0x86]),
            When::AboveOrEqual => self.push(&[0x0f, 0x83]),
            When::Above => self.push(&[0x0f, 0x87]),
            When::NotZero => self.push(&[0x0f, 0x85]),
        }
        self.push(&[0; 4]);
        Jump(self.bytes.len())
    }

    /// Lets a jump go to a place.
    pub(super) fn land(&mut self, jump: Jump, place: usize) {
        let distance = place as i64 - jump.0 as i64;
        self.bytes[jump.0 - 4..jump.0].copy_from_slice(&(distance as i32).to_le_bytes());
    }

    /// A jump to a place before.
    pub(super) fn jump_to(&mut self, when: When, place: usize) {
        let jump = self.jump(when);
        self.land(jump, place);
    }
}
