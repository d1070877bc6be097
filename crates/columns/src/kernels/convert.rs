//! Bytes as text and text as bytes: hexadecimal, base 64, binary numbers, UTF-8.

use std::borrow::Cow;
use std::fmt::Write;

use crate::function::Arg::{Of, T};
use crate::function::{Function, Kernel, Returns, Signature};
use crate::kernels::cell::{Cell, Failure};
use crate::kernels::column::Context;
use crate::kernels::text::{check_length, text};
use crate::types::{Type, TypeSet};

const STR: TypeSet = TypeSet::one(Type::Utf8);
const BYTES: TypeSet = TypeSet::one(Type::Binary);
const INTS: TypeSet = TypeSet::of(&[Type::Int32, Type::Int64]);
const TO_STR: Returns = Returns::Is(Type::Utf8);
const TO_BYTES: Returns = Returns::Is(Type::Binary);

/// Rows of the table for the bytes of a number, the lowest first, and the highest first.
macro_rules! to_bytes {
    ($name:literal, $from:ident, $kernel:ident) => {
        Function::strict(
            &[$name],
            &[Signature::new(TypeSet::one(Type::$from), &[T], TO_BYTES)],
            Kernel::Rows($kernel),
        )
    };
}

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::strict(
        &["bin"],
        &[Signature::new(INTS, &[T], TO_STR)],
        Kernel::Rows(|_, c| text(format!("{:b}", c[0].int()))),
    ),
    Function::strict(
        &["hex", "to_hex"],
        &[Signature::new(INTS.or(TypeSet::TEXTS), &[T], TO_STR)],
        Kernel::Rows(|c, cells| match c.args[0] {
            Type::Int32 => text(format!("{:X}", cells[0].int() as i32)),
            Type::Int64 => text(format!("{:X}", cells[0].int())),
            _ => text(hexadecimal(cells[0].bytes(), true)),
        }),
    ),
    // Null where the text is not hexadecimal.
    Function::strict(
        &["unhex", "from_hex"],
        &[Signature::new(STR, &[T], TO_BYTES)],
        Kernel::Rows(|_, c| Ok(unhex(c[0].bytes()).map_or(Cell::Null, |bytes| Cell::Bytes(Cow::Owned(bytes))))),
    ),
    Function::strict(
        &["base64"],
        &[Signature::new(BYTES, &[T], TO_STR)],
        Kernel::Rows(|_, c| text(base64(c[0].bytes()))),
    ),
    Function::strict(
        &["unbase64"],
        &[Signature::new(STR, &[T], TO_BYTES)],
        Kernel::Rows(|_, c| match unbase64(c[0].str()) {
            Some(bytes) => Ok(Cell::Bytes(Cow::Owned(bytes))),
            None => Err(Failure::invalid("the text is not in base 64")),
        }),
    ),
    Function::strict(
        &["binary_string"],
        &[Signature::new(STR, &[T], TO_BYTES)],
        Kernel::Rows(|_, c| Ok(Cell::Bytes(Cow::Owned(unescaped(c[0].bytes()))))),
    ),
    Function::strict(
        &["binary"],
        &[Signature::new(TypeSet::TEXTS, &[T], TO_BYTES)],
        Kernel::Rows(|_, c| raw(&c[0])),
    ),
    Function::strict(
        &["convert_toUTF8"],
        &[Signature::new(STR, &[T], TO_BYTES)],
        Kernel::Rows(|_, c| raw(&c[0])),
    ),
    Function::strict(
        &["convert_fromUTF8"],
        &[Signature::new(BYTES, &[T], TO_STR)],
        Kernel::Rows(|_, c| match std::str::from_utf8(c[0].bytes()) {
            Ok(value) => text(value.to_owned()),
            Err(_) => Err(Failure::invalid("the bytes are not UTF-8")),
        }),
    ),
    // Bytes that are not UTF-8 become the character.
    Function::strict(
        &["convert_replaceUTF8"],
        &[Signature::new(BYTES, &[T, Of(STR)], TO_STR)],
        Kernel::Rows(|_, c| {
            let mut out = String::new();
            for chunk in c[0].bytes().utf8_chunks() {
                out.push_str(chunk.valid());
                for _ in chunk.invalid() {
                    out.push_str(c[1].str());
                    check_length(out.len())?;
                }
            }
            text(out)
        }),
    ),
    to_bytes!("convert_toINT", Int32, lowest_first),
    to_bytes!("convert_toINT_be", Int32, highest_first),
    to_bytes!("convert_toBIGINT", Int64, lowest_first),
    to_bytes!("convert_toBIGINT_be", Int64, highest_first),
    to_bytes!("convert_toFLOAT", Float32, lowest_first),
    to_bytes!("convert_toFLOAT_be", Float32, highest_first),
    to_bytes!("convert_toDOUBLE", Float64, lowest_first),
    to_bytes!("convert_toDOUBLE_be", Float64, highest_first),
    to_bytes!("convert_toTIME_EPOCH", TimeMillisecond, lowest_first),
    to_bytes!("convert_toTIME_EPOCH_be", TimeMillisecond, highest_first),
    to_bytes!("convert_toTIMESTAMP_EPOCH", TimestampMillisecond, lowest_first),
    to_bytes!("convert_toTIMESTAMP_EPOCH_be", TimestampMillisecond, highest_first),
    to_bytes!("convert_toDATE_EPOCH", Date64, lowest_first),
    to_bytes!("convert_toDATE_EPOCH_be", Date64, highest_first),
    to_bytes!("convert_toBOOLEAN_BYTE", Bool, lowest_first),
];

fn raw<'a>(cell: &Cell<'_>) -> Result<Cell<'a>, Failure> {
    Ok(Cell::Bytes(Cow::Owned(cell.bytes().to_vec())))
}

/// The bytes of a number in memory, the lowest first.
pub(crate) fn number_bytes(ty: Type, cell: &Cell<'_>) -> Vec<u8> {
    let width = match ty {
        Type::Bool | Type::Int8 | Type::UInt8 => 1,
        Type::Int16 | Type::UInt16 => 2,
        Type::Int32 | Type::UInt32 | Type::Float32 | Type::Date32 | Type::TimeSecond | Type::TimeMillisecond => 4,
        _ => 8,
    };
    let bits = match cell {
        Cell::Single(value) => value.to_bits().into(),
        Cell::Double(value) => value.to_bits(),
        Cell::UInt(value) => *value,
        other => other.int() as u64,
    };
    bits.to_le_bytes()[..width].to_vec()
}

fn lowest_first<'a>(context: &Context<'_>, cells: &[Cell<'a>]) -> Result<Cell<'a>, Failure> {
    Ok(Cell::Bytes(Cow::Owned(number_bytes(context.args[0], &cells[0]))))
}

fn highest_first<'a>(context: &Context<'_>, cells: &[Cell<'a>]) -> Result<Cell<'a>, Failure> {
    let mut bytes = number_bytes(context.args[0], &cells[0]);
    bytes.reverse();
    Ok(Cell::Bytes(Cow::Owned(bytes)))
}

/// Two digits for each byte.
pub(crate) fn hexadecimal(bytes: &[u8], capitals: bool) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = match capitals {
            true => write!(out, "{byte:02X}"),
            false => write!(out, "{byte:02x}"),
        };
    }
    out
}

fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    if digits.len() % 2 == 1 {
        return None;
    }
    let value = |digit: u8| char::from(digit).to_digit(16);
    digits
        .chunks(2)
        .map(|pair| Some((value(pair[0])? * 16 + value(pair[1])?) as u8))
        .collect()
}

/// Bytes written as `\x41` become that byte.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let escaped = bytes[i..].strip_prefix(b"\\x").and_then(|rest| unhex(rest.get(..2)?));
        match escaped {
            Some(byte) => {
                out.extend(byte);
                i += 4;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    out
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut bits = 0u32;
        for i in 0..3 {
            bits = bits << 8 | u32::from(chunk.get(i).copied().unwrap_or(0));
        }
        for i in 0..4 {
            match i <= chunk.len() {
                true => out.push(DIGITS[(bits >> (18 - 6 * i) & 63) as usize] as char),
                false => out.push('='),
            }
        }
    }
    out
}

fn unbase64(text: &str) -> Option<Vec<u8>> {
    let body = text.trim_end_matches('=');
    let padded = text.len() - body.len();
    if padded > 2 || padded > 0 && !text.len().is_multiple_of(4) || body.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in body.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for i in 0..4 {
            let digit = match chunk.get(i) {
                Some(&c) => DIGITS.iter().position(|&digit| digit == c)? as u32,
                None => 0,
            };
            bits = bits << 6 | digit;
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..chunk.len()]);
    }
    Some(out)
}
