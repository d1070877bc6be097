//! Hashes. Numbers are hashed as the bytes of their value as an `f64`, as Gandiva does.

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::function::Arg::{Of, T};
use crate::function::{Function, Kernel, Returns, Signature};
use crate::kernels::cell::{Cell, Failure};
use crate::kernels::convert::hexadecimal;
use crate::kernels::text::text;
use crate::types::{Type, TypeSet};

const ONE: &[Signature] = &[Signature::new(TypeSet::ALL, &[T], Returns::Is(Type::Int32))];
const SEED_32: &[Signature] = &[
    Signature::new(TypeSet::ALL, &[T], Returns::Is(Type::Int32)),
    Signature::new(
        TypeSet::ALL,
        &[T, Of(TypeSet::one(Type::Int32))],
        Returns::Is(Type::Int32),
    ),
];
const SEED_64: &[Signature] = &[
    Signature::new(TypeSet::ALL, &[T], Returns::Is(Type::Int64)),
    Signature::new(
        TypeSet::ALL,
        &[T, Of(TypeSet::one(Type::Int64))],
        Returns::Is(Type::Int64),
    ),
];
const DIGEST: &[Signature] = &[Signature::new(TypeSet::ALL, &[T], Returns::Is(Type::Utf8))];

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::own(
        &["hash"],
        ONE,
        Kernel::Rows(|_, c| seeded(c, |bytes, seed| murmur_32(bytes, seed as u32).into())),
    ),
    Function::own(
        &["hash32", "hash32AsDouble"],
        SEED_32,
        Kernel::Rows(|_, c| seeded(c, |bytes, seed| murmur_32(bytes, seed as u32).into())),
    ),
    Function::own(
        &["hash64", "hash64AsDouble"],
        SEED_64,
        Kernel::Rows(|_, c| seeded(c, |bytes, seed| murmur_64(bytes, seed as u32 as u64) as i64)),
    ),
    Function::own(&["hashMD5", "md5"], DIGEST, Kernel::Rows(|_, c| digest::<Md5>(c))),
    Function::own(
        &["hashSHA1", "sha", "sha1"],
        DIGEST,
        Kernel::Rows(|_, c| digest::<Sha1>(c)),
    ),
    Function::own(
        &["hashSHA256", "sha256"],
        DIGEST,
        Kernel::Rows(|_, c| digest::<Sha256>(c)),
    ),
    Function::own(
        &["hashSHA512", "sha512"],
        DIGEST,
        Kernel::Rows(|_, c| digest::<Sha512>(c)),
    ),
    Function::strict(
        &["crc32"],
        &[Signature::new(TypeSet::TEXTS, &[T], Returns::Is(Type::Int64))],
        Kernel::Rows(|_, c| Ok(Cell::Int(crc32(c[0].bytes()).into()))),
    ),
];

/// What is hashed of a value; nothing of a null.
fn hashed<'c>(cell: &'c Cell<'_>, number: &'c mut [u8; 8]) -> &'c [u8] {
    match cell {
        Cell::Null => &[],
        Cell::Str(_) | Cell::Bytes(_) => cell.bytes(),
        _ => {
            *number = cell.double().to_bits().to_le_bytes();
            number
        }
    }
}

/// The hash with the seed of the second argument. That of a null is the seed; a null seed gives 0.
fn seeded<'a>(cells: &[Cell<'_>], hash: fn(&[u8], i64) -> i64) -> Result<Cell<'a>, Failure> {
    let seed = match cells.get(1) {
        None => 0,
        Some(Cell::Null) => return Ok(Cell::Int(0)),
        Some(seed) => seed.int(),
    };
    Ok(Cell::Int(match &cells[0] {
        Cell::Null => seed,
        cell => hash(hashed(cell, &mut [0; 8]), seed),
    }))
}

fn digest<'a, D: Digest>(cells: &[Cell<'_>]) -> Result<Cell<'a>, Failure> {
    text(hexadecimal(&D::digest(hashed(&cells[0], &mut [0; 8])), false))
}

/// MurmurHash3, 32 bits.
fn murmur_32(bytes: &[u8], seed: u32) -> i32 {
    let scramble = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut hash = seed;
    let mut chunks = bytes.chunks_exact(4);
    for chunk in &mut chunks {
        hash ^= scramble(u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0u32, |tail, &byte| tail << 8 | u32::from(byte));
        hash ^= scramble(tail);
    }
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    (hash ^ hash >> 16) as i32
}

/// MurmurHash3, the first half of 128 bits.
fn murmur_64(bytes: &[u8], seed: u64) -> u64 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let first = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let second = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let finish = |mut k: u64| {
        k = (k ^ k >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        k = (k ^ k >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        k ^ k >> 33
    };
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    let (mut h1, mut h2) = (seed, seed);
    let mut chunks = bytes.chunks_exact(16);
    for chunk in &mut chunks {
        h1 ^= first(word(&chunk[..8]));
        h1 = h1
            .rotate_left(27)
            .wrapping_add(h2)
            .wrapping_mul(5)
            .wrapping_add(0x52dc_e729);
        h2 ^= second(word(&chunk[8..]));
        h2 = h2
            .rotate_left(31)
            .wrapping_add(h1)
            .wrapping_mul(5)
            .wrapping_add(0x3849_5ab5);
    }
    let rest = chunks.remainder();
    if rest.len() > 8 {
        h2 ^= second(word(&rest[8..]));
    }
    if !rest.is_empty() {
        h1 ^= first(word(&rest[..rest.len().min(8)]));
    }
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1.wrapping_add(h2)
}

/// The cyclic redundancy check of ISO 3309, as in gzip.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        assert_eq!(murmur_32(b"hello, world", 0) as u32, 0x149b_bb7f);
        assert_eq!(murmur_32(b"", 1) as u32, 0x514e_28b7);
        assert_eq!(murmur_64(b"hello, world", 0), 0x342f_ac62_3a5e_bc8e);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
