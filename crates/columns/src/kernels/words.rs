//! Functions of characters: codes, sounds, distances, masks.

use crate::function::Arg::{Of, T};
use crate::function::{Function, Kernel, Returns, Signature};
use crate::kernels::cell::{Cell, Failure};
use crate::kernels::text::{check_length, text};
use crate::types::{Type, TypeSet};

const STR: TypeSet = TypeSet::one(Type::Utf8);
const INT: TypeSet = TypeSet::one(Type::Int32);
const INTS: TypeSet = TypeSet::of(&[Type::Int32, Type::Int64]);
const TO_STR: Returns = Returns::Is(Type::Utf8);
const S_S: &[Signature] = &[Signature::new(STR, &[T], TO_STR)];
const SI_S: &[Signature] = &[Signature::new(STR, &[T, Of(INT)], TO_STR)];

/// The longest texts, together, that distances are computed of.
const MAX_CELLS: usize = 1 << 24;

pub(crate) const FUNCTIONS: &[Function] = &[
    // The code of the first byte.
    Function::strict(
        &["ascii"],
        &[Signature::new(STR, &[T], Returns::Is(Type::Int32))],
        Kernel::Rows(|_, c| Ok(Cell::Int(c[0].bytes().first().map_or(0, |&byte| byte.into())))),
    ),
    Function::strict(
        &["chr"],
        &[Signature::new(STR, &[Of(INTS)], TO_STR)],
        Kernel::Rows(|_, c| {
            let found = u32::try_from(c[0].int()).ok().and_then(char::from_u32);
            found
                .map(|c| Cell::text(c.to_string()))
                .ok_or_else(|| Failure::invalid("not the code of a character"))
        }),
    ),
    Function::strict(&["soundex"], S_S, Kernel::Rows(|_, c| text(soundex(c[0].str())))),
    Function::strict(
        &["levenshtein"],
        &[Signature::new(STR, &[T, T], Returns::Is(Type::Int32))],
        Kernel::Rows(|_, c| distance(c[0].str(), c[1].str())),
    ),
    // In single quotes, with a backslash before quotes and backslashes.
    Function::strict(
        &["quote"],
        S_S,
        Kernel::Rows(|_, c| {
            let mut out = String::from("'");
            for c in c[0].str().chars() {
                if matches!(c, '\'' | '\\') {
                    out.push('\\');
                }
                out.push(c);
            }
            out.push('\'');
            text(out)
        }),
    ),
    // Capital letters become `X`, small ones `x`, digits `n`; or the given texts.
    Function::strict(
        &["mask"],
        &[
            Signature::new(STR, &[T], TO_STR),
            Signature::new(STR, &[T, T], TO_STR),
            Signature::new(STR, &[T, T, T], TO_STR),
            Signature::new(STR, &[T, T, T, T], TO_STR),
        ],
        Kernel::Rows(|_, c| {
            let given = |at: usize, default: &'static str| c.get(at).map_or(default, |cell| cell.str()).to_owned();
            let (upper, lower, digit) = (given(1, "X"), given(2, "x"), given(3, "n"));
            let mut out = String::new();
            for c in c[0].str().chars() {
                match c {
                    _ if c.is_uppercase() => out.push_str(&upper),
                    _ if c.is_lowercase() => out.push_str(&lower),
                    _ if c.is_numeric() => out.push_str(&digit),
                    _ => out.push(c),
                }
                check_length(out.len())?;
            }
            text(out)
        }),
    ),
    Function::strict(
        &["mask_first_n"],
        SI_S,
        Kernel::Rows(|_, c| masked(c, |at, count, _| at < count)),
    ),
    Function::strict(
        &["mask_last_n"],
        SI_S,
        Kernel::Rows(|_, c| masked(c, |at, count, all| at + count >= all)),
    ),
    Function::strict(
        &["mask_show_first_n"],
        SI_S,
        Kernel::Rows(|_, c| masked(c, |at, count, _| at >= count)),
    ),
    Function::strict(
        &["mask_show_last_n"],
        SI_S,
        Kernel::Rows(|_, c| masked(c, |at, count, all| at + count < all)),
    ),
];

/// The text with those characters masked whose place, of all places, `hidden` selects.
fn masked<'a>(cells: &[Cell<'_>], hidden: fn(usize, usize, usize) -> bool) -> Result<Cell<'a>, Failure> {
    let value = cells[0].str();
    let (count, all) = (cells[1].int().max(0) as usize, value.chars().count());
    let mask = |(at, c): (usize, char)| match c {
        _ if !hidden(at, count, all) => c,
        _ if c.is_uppercase() => 'X',
        _ if c.is_lowercase() => 'x',
        _ if c.is_numeric() => 'n',
        _ => c,
    };
    text(value.chars().enumerate().map(mask).collect())
}

/// A letter and three digits for the sound of a word; empty if it has no letters.
fn soundex(word: &str) -> String {
    let code = |c: char| match c {
        'B' | 'F' | 'P' | 'V' => '1',
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => '2',
        'D' | 'T' => '3',
        'L' => '4',
        'M' | 'N' => '5',
        'R' => '6',
        // Between equal codes, `H` and `W` do not separate.
        'H' | 'W' => '-',
        _ => '0',
    };
    let mut letters = word
        .chars()
        .filter(char::is_ascii_alphabetic)
        .map(|c| c.to_ascii_uppercase());
    let Some(first) = letters.next() else {
        return String::new();
    };
    let mut out = String::from(first);
    let mut before = code(first);
    for c in letters {
        let now = code(c);
        if now == '-' {
            continue;
        }
        if now != '0' && now != before {
            out.push(now);
        }
        before = now;
        if out.len() == 4 {
            break;
        }
    }
    format!("{out:0<4}")
}

/// The number of characters to insert, remove or replace.
fn distance<'a>(a: &str, b: &str) -> Result<Cell<'a>, Failure> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().saturating_mul(b.len()) > MAX_CELLS {
        return Err(Failure::invalid("the texts are too long to compare"));
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    Ok(Cell::Int(row[b.len()] as i64))
}
