//! The instructions for each operation and type.

use super::assembler::Code;
use crate::program::{Binary, Shift, Type};

const fn code(map: u8, prefix: u8, wide: bool, opcode: u8) -> Code {
    Code {
        map,
        prefix,
        wide,
        opcode,
    }
}

/// Prefixes.
const NONE: u8 = 0;
const P66: u8 = 1;
const F3: u8 = 2;
const F2: u8 = 3;

/// Of a float type: `W` for doubles; `prefix` 66 for doubles where instructions differ by it.
fn float(map: u8, ty: Type, opcode: u8) -> Code {
    let double = ty == Type::F64;
    code(map, if double { P66 } else { NONE }, double, opcode)
}

/// The maps 2 and 3 have 66 for both.
fn float_66(map: u8, ty: Type, opcode: u8) -> Code {
    code(map, P66, ty == Type::F64, opcode)
}

/// Of integers, by size: the opcodes for 1, 2, 4 and 8 bytes, with their maps.
fn sized(ty: Type, maps: [u8; 4], opcodes: [u8; 4]) -> Code {
    let at = ty.size().trailing_zeros() as usize;
    code(maps[at], P66, at == 3, opcodes[at])
}

/// `reg = other op last`.
pub(super) fn binary(op: Binary, ty: Type) -> Code {
    let signed = ty.is_signed();
    match op {
        Binary::And => logic(ty, 0xdb),
        Binary::Or => logic(ty, 0xeb),
        Binary::Xor => logic(ty, 0xef),
        _ if ty.is_float() => match op {
            Binary::Add => float(1, ty, 0x58),
            Binary::Sub => float(1, ty, 0x5c),
            Binary::Mul => float(1, ty, 0x59),
            Binary::Div => float(1, ty, 0x5e),
            Binary::Min => float(1, ty, 0x5d),
            Binary::Max => float(1, ty, 0x5f),
            _ => float_66(2, ty, 0x2c),
        },
        Binary::Add => sized(ty, [1; 4], [0xfc, 0xfd, 0xfe, 0xd4]),
        Binary::Sub => sized(ty, [1; 4], [0xf8, 0xf9, 0xfa, 0xfb]),
        Binary::Min if signed => sized(ty, [2, 1, 2, 2], [0x38, 0xea, 0x39, 0x39]),
        Binary::Min => sized(ty, [1, 2, 2, 2], [0xda, 0x3a, 0x3b, 0x3b]),
        Binary::Max if signed => sized(ty, [2, 1, 2, 2], [0x3c, 0xee, 0x3d, 0x3d]),
        Binary::Max => sized(ty, [1, 2, 2, 2], [0xde, 0x3e, 0x3f, 0x3f]),
        // There is no product of bytes; programs have none.
        _ => sized(ty, [1, 1, 2, 2], [0xd5, 0xd5, 0x40, 0x40]),
    }
}

/// Bits of vectors, where the width of elements matters for broadcasting alone.
pub(super) fn logic(ty: Type, opcode: u8) -> Code {
    code(1, P66, ty.size() == 8, opcode)
}

pub(super) fn sqrt(ty: Type) -> Code {
    float(1, ty, 0x51)
}

/// Rounding to integral floats, with a constant that says how.
pub(super) fn round(ty: Type) -> Code {
    float_66(3, ty, if ty == Type::F64 { 0x09 } else { 0x08 })
}

pub(super) fn abs(ty: Type) -> Code {
    sized(ty, [2; 4], [0x1c, 0x1d, 0x1e, 0x1f])
}

/// `reg = reg * other + last`.
pub(super) fn fma_last_added(ty: Type) -> Code {
    float_66(2, ty, 0xa8)
}

/// `reg = other * last + reg`.
pub(super) fn fma_reg_added(ty: Type) -> Code {
    float_66(2, ty, 0xb8)
}

/// A mask from a comparison of `other` with `last`, with a constant that says which.
pub(super) fn compare(ty: Type) -> Code {
    if ty.is_float() {
        return float(1, ty, 0xc2);
    }
    let opcode = match (ty.size() <= 2, ty.is_signed()) {
        (true, true) => 0x3f,
        (true, false) => 0x3e,
        (false, true) => 0x1f,
        (false, false) => 0x1e,
    };
    code(3, P66, matches!(ty.size(), 2 | 8), opcode)
}

/// `last` where the mask is set, else `other`.
pub(super) fn blend(ty: Type) -> Code {
    let opcode = match ty {
        Type::F32 | Type::F64 => 0x65,
        _ if ty.size() <= 2 => 0x66,
        _ => 0x64,
    };
    code(2, P66, matches!(ty.size(), 2 | 8), opcode)
}

/// A shift by a constant: the code, and the field that goes into `reg`. The result is `other`.
pub(super) fn shift(how: Shift, ty: Type) -> (Code, u8) {
    let field = match how {
        Shift::Left => 6,
        Shift::Right => 2,
        Shift::Arithmetic => 4,
    };
    let code = match (ty.size(), how) {
        (2, _) => code(1, P66, false, 0x71),
        (4, _) => code(1, P66, false, 0x72),
        (_, Shift::Arithmetic) => code(1, P66, true, 0x72),
        _ => code(1, P66, true, 0x73),
    };
    (code, field)
}

/// A conversion, and whether it is one of those that narrow integers or write half precision, whose result is `last`.
pub(super) fn convert(from: Type, to: Type) -> Option<(Code, bool)> {
    use Type::{F32, F64, I32, I64, U32, U64};
    Some(match (from, to) {
        (F32, F64) => (code(1, NONE, false, 0x5a), false),
        (F64, F32) => (code(1, P66, true, 0x5a), false),
        (I32, F32) => (code(1, NONE, false, 0x5b), false),
        (I32, F64) => (code(1, F3, false, 0xe6), false),
        (U32, F32) => (code(1, F2, false, 0x7a), false),
        (U32, F64) => (code(1, F3, false, 0x7a), false),
        (I64, F32) => (code(1, NONE, true, 0x5b), false),
        (I64, F64) => (code(1, F3, true, 0xe6), false),
        (U64, F32) => (code(1, F2, true, 0x7a), false),
        (U64, F64) => (code(1, F3, true, 0x7a), false),
        (F32, I32) => (code(1, F3, false, 0x5b), false),
        (F32, U32) => (code(1, NONE, false, 0x78), false),
        (F32, I64) => (code(1, P66, false, 0x7a), false),
        (F32, U64) => (code(1, P66, false, 0x78), false),
        (F64, I32) => (code(1, P66, true, 0xe6), false),
        (F64, U32) => (code(1, NONE, true, 0x78), false),
        (F64, I64) => (code(1, P66, true, 0x7a), false),
        (F64, U64) => (code(1, P66, true, 0x78), false),
        _ if from.is_float() || to.is_float() => return None,
        _ => {
            // The opcodes of integers that widen without a sign, and narrow, are those that widen with one, plus 16.
            let narrow = from.size() > to.size();
            let (small, large) = if narrow {
                (to.size(), from.size())
            } else {
                (from.size(), to.size())
            };
            let signed = widen(small, large);
            let at = 0x10 + signed.opcode;
            match (narrow, from.is_signed()) {
                (true, _) => (code(2, F3, false, at), true),
                (false, true) => (signed, false),
                (false, false) => (code(2, P66, false, at), false),
            }
        }
    })
}

pub(super) const FROM_HALF: Code = code(2, P66, false, 0x13);
/// Its result is `last`; the constant says how it rounds.
pub(super) const TO_HALF: Code = code(3, P66, false, 0x1d);

/// Vectors from memory and to it; the reverse of `load` is `store`. Elements matter for masks.
pub(super) fn load(size: usize) -> Code {
    match size {
        1 => code(1, F2, false, 0x6f),
        2 => code(1, F2, true, 0x6f),
        4 => code(1, F3, false, 0x6f),
        _ => code(1, F3, true, 0x6f),
    }
}

pub(super) fn store(size: usize) -> Code {
    Code {
        opcode: 0x7f,
        ..load(size)
    }
}

/// Eight bytes from memory and to it.
pub(super) const LOAD_8: Code = code(1, F3, true, 0x7e);
pub(super) const STORE_8: Code = code(1, P66, true, 0xd6);

/// Four bytes from memory and to it.
pub(super) const LOAD_4: Code = code(1, P66, false, 0x6e);
pub(super) const STORE_4: Code = code(1, P66, false, 0x7e);

/// Between vector registers.
pub(super) const MOVE: Code = code(1, P66, true, 0x6f);

/// One element from memory, for each.
pub(super) fn broadcast(size: usize) -> Code {
    match size {
        1 => code(2, P66, false, 0x78),
        2 => code(2, P66, false, 0x79),
        4 => code(2, P66, false, 0x58),
        _ => code(2, P66, true, 0x59),
    }
}

/// Of AVX2: all ones where integers of `other` and `last` are equal.
pub(super) fn equal(ty: Type) -> Code {
    equal_of_size(ty.size())
}

pub(super) fn equal_of_size(size: usize) -> Code {
    match size {
        1 => code(1, P66, false, 0x74),
        2 => code(1, P66, false, 0x75),
        4 => code(1, P66, false, 0x76),
        _ => code(2, P66, false, 0x29),
    }
}

/// Of AVX2: all ones where signed integers of `other` are greater than those of `last`.
pub(super) fn greater(ty: Type) -> Code {
    sized(ty, [1, 1, 1, 2], [0x64, 0x65, 0x66, 0x37])
}

/// Of AVX2: `last` where the register in the constant is all ones, else `other`.
pub(super) fn blend_by_vector(ty: Type) -> Code {
    match ty {
        Type::F32 => code(3, P66, false, 0x4a),
        Type::F64 => code(3, P66, false, 0x4b),
        _ => code(3, P66, false, 0x4c),
    }
}

/// Of AVX2: the signs of elements of one, four or eight bytes in a general register.
pub(super) fn signs(size: usize) -> Code {
    match size {
        1 => code(1, P66, false, 0xd7),
        4 => code(1, NONE, false, 0x50),
        _ => code(1, P66, false, 0x50),
    }
}

/// Of AVX2: unsigned integers of both operands in half of their bytes; of 64 bits, those that a constant says.
pub(super) fn pack(size: usize) -> Code {
    match size {
        2 => code(1, P66, false, 0x67),
        4 => code(2, P66, false, 0x2b),
        _ => code(1, NONE, false, 0xc6),
    }
}

/// Signed integers in more bytes: 1 in 2, 4 or 8; 2 in 4 or 8; 4 in 8.
pub(super) fn widen(from: usize, to: usize) -> Code {
    let at = match (from, to) {
        (1, 2) => 0,
        (1, 4) => 1,
        (1, 8) => 2,
        (2, 4) => 3,
        (2, 8) => 4,
        _ => 5,
    };
    code(2, P66, false, 0x20 + at)
}

/// Unsigned integers of 32 bits in 64.
pub(super) const WIDEN_32: Code = code(2, P66, false, 0x35);
/// The upper 128 bits of `reg` in `last`, if the constant is one.
pub(super) const HIGH_HALF: Code = code(3, P66, false, 0x39);
/// Words of `last` in an order that a constant says.
pub(super) const SHUFFLE: Code = code(1, P66, false, 0x70);
/// Bytes of `other` in each half by the numbers of `last`.
pub(super) const SHUFFLE_BYTES: Code = code(2, P66, false, 0x00);
/// Words of 32 bits of `last` where a constant has a bit, else of `other`.
pub(super) const BLEND_32: Code = code(3, P66, false, 0x02);
/// Products of the low halves of 64 bits.
pub(super) const LOW_PRODUCT: Code = code(1, P66, false, 0xf4);
/// `f32` as the nearest `i32`.
pub(super) const TO_INTEGER: Code = code(1, P66, false, 0x5b);

/// One float in memory as an integer of 64 bits in a general register.
pub(super) fn one_to_integer(from: Type) -> Code {
    code(1, if from == Type::F64 { F2 } else { F3 }, true, 0x2c)
}

/// One integer of 64 bits in memory as an `f32`.
pub(super) const ONE_TO_SINGLE: Code = code(1, F3, true, 0x2a);

/// Masks of 64 bits in registers: `reg = other op last`.
pub(super) const MASK_AND: Code = code(1, NONE, true, 0x41);
pub(super) const MASK_OR: Code = code(1, NONE, true, 0x45);
pub(super) const MASK_EQUAL: Code = code(1, NONE, true, 0x46);
pub(super) const MASK_XOR: Code = code(1, NONE, true, 0x47);
/// `reg = !last`.
pub(super) const MASK_NOT: Code = code(1, NONE, true, 0x44);
/// `reg = last`, masks or a general register.
pub(super) const MASK_FROM_GENERAL: Code = code(1, F2, true, 0x92);
pub(super) const GENERAL_FROM_MASK: Code = code(1, F2, true, 0x93);

/// From memory, for so many rows: 8, 16, 32 or 64.
pub(super) fn mask_load(rows: usize) -> Code {
    mask_sized(rows, 0x90)
}

/// To memory.
pub(super) fn mask_store(rows: usize) -> Code {
    mask_sized(rows, 0x91)
}

/// Whether any of the bits of so many rows is set.
pub(super) fn mask_test(rows: usize) -> Code {
    mask_sized(rows, 0x98)
}

fn mask_sized(rows: usize, opcode: u8) -> Code {
    match rows {
        8 => code(1, P66, false, opcode),
        16 => code(1, NONE, false, opcode),
        32 => code(1, P66, true, opcode),
        _ => code(1, NONE, true, opcode),
    }
}
