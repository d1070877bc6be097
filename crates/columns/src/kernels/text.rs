//! Functions of strings: lengths, parts, places, joining.

use std::borrow::Cow;

use crate::function::Arg::{Of, T};
use crate::function::{Function, Kernel, Returns, Signature};
use crate::kernels::cell::{Cell, Failure};
use crate::types::{Type, TypeSet};

const STR: TypeSet = TypeSet::one(Type::Utf8);
const INT: TypeSet = TypeSet::one(Type::Int32);
const INTS: TypeSet = TypeSet::of(&[Type::Int32, Type::Int64]);
const TO_STR: Returns = Returns::Is(Type::Utf8);
const TO_INT: Returns = Returns::Is(Type::Int32);
const TO_BOOL: Returns = Returns::Is(Type::Bool);
/// The longest text that a function makes of one row.
const MAX_LENGTH: usize = 1 << 26;

const S_S: &[Signature] = &[Signature::new(STR, &[T], TO_STR)];
const SI_S: &[Signature] = &[Signature::new(STR, &[T, Of(INTS)], TO_STR)];
const SS_B: &[Signature] = &[Signature::new(STR, &[T, T], TO_BOOL)];
const SS_I: &[Signature] = &[Signature::new(STR, &[T, T], TO_INT)];
const SSS_S: &[Signature] = &[Signature::new(STR, &[T, T, T], TO_STR)];
const SSI_S: &[Signature] = &[Signature::new(STR, &[T, T, Of(INT)], TO_STR)];
const TRIM: &[Signature] = &[Signature::new(STR, &[T], TO_STR), Signature::new(STR, &[T, T], TO_STR)];
const PAD: &[Signature] = &[
    Signature::new(STR, &[T, Of(INT)], TO_STR),
    Signature::new(STR, &[T, Of(INT), T], TO_STR),
];
const PLACE: &[Signature] = &[
    Signature::new(STR, &[T, T], TO_INT),
    Signature::new(STR, &[T, T, Of(INT)], TO_INT),
];
const LENGTH: &[Signature] = &[Signature::new(TypeSet::TEXTS, &[T], TO_INT)];
const CHARS: &[Signature] = &[Signature::new(STR, &[T], TO_INT)];

/// A row of the table for a function of strings.
macro_rules! row {
    ($($name:literal)|+, $forms:ident, $f:expr) => {
        Function::strict(&[$($name),+], $forms, Kernel::Rows($f))
    };
}

pub(crate) const FUNCTIONS: &[Function] = &[
    row!("starts_with", SS_B, |_, c| Ok(Cell::Bool(
        c[0].str().starts_with(c[1].str())
    ))),
    row!("ends_with", SS_B, |_, c| Ok(Cell::Bool(
        c[0].str().ends_with(c[1].str())
    ))),
    row!("is_substr", SS_B, |_, c| Ok(Cell::Bool(
        c[0].str().contains(c[1].str())
    ))),
    // Places count from 1; 0 if there is none.
    row!("locate" | "position", PLACE, |_, c| place(
        c[1].str(),
        c[0].str(),
        c.get(2)
    )),
    row!("strpos" | "instr", SS_I, |_, c| place(c[0].str(), c[1].str(), None)),
    row!("octet_length", LENGTH, |_, c| count(c[0].bytes().len())),
    row!("bit_length", LENGTH, |_, c| count(c[0].bytes().len() * 8)),
    row!("char_length" | "character_length" | "length", CHARS, |_, c| count(
        c[0].str().chars().count()
    )),
    row!("lengthUtf8", LENGTH, |_, c| match std::str::from_utf8(c[0].bytes()) {
        Ok(text) => count(text.chars().count()),
        Err(_) => Err(Failure::invalid("the bytes are not UTF-8")),
    }),
    row!("reverse", S_S, |_, c| text(c[0].str().chars().rev().collect())),
    row!("upper" | "ucase", S_S, |_, c| text(c[0].str().to_uppercase())),
    row!("lower" | "lcase", S_S, |_, c| text(c[0].str().to_lowercase())),
    row!("initcap", S_S, |_, c| text(initcap(c[0].str()))),
    row!("ltrim", TRIM, |_, c| text(
        c[0].str().trim_start_matches(cut(c)).to_owned()
    )),
    row!("rtrim", TRIM, |_, c| text(
        c[0].str().trim_end_matches(cut(c)).to_owned()
    )),
    row!("btrim", TRIM, |_, c| text(c[0].str().trim_matches(cut(c)).to_owned())),
    row!("repeat", SI_S, |_, c| {
        let count = usize::try_from(c[1].int()).map_err(|_| Failure::invalid("repeated a negative number of times"))?;
        check_length(c[0].str().len().saturating_mul(count))?;
        text(c[0].str().repeat(count))
    }),
    Function::strict(
        &["space"],
        &[Signature::new(STR, &[Of(INTS)], TO_STR)],
        Kernel::Rows(|_, c| match usize::try_from(c[0].int()) {
            Ok(count) => {
                check_length(count)?;
                text(" ".repeat(count))
            }
            Err(_) => text(String::new()),
        }),
    ),
    // A negative number leaves out so many characters at the other end.
    row!("left", SI_S, |_, c| {
        let all = c[0].str().chars().count() as i64;
        let wanted = if c[1].int() < 0 {
            all.saturating_add(c[1].int())
        } else {
            c[1].int()
        };
        text(c[0].str().chars().take(wanted.max(0) as usize).collect())
    }),
    row!("right", SI_S, |_, c| {
        let all = c[0].str().chars().count() as i64;
        let wanted = if c[1].int() < 0 {
            all.saturating_add(c[1].int())
        } else {
            c[1].int()
        };
        text(c[0].str().chars().skip((all - wanted.max(0)).max(0) as usize).collect())
    }),
    // From a place that counts from 1, or from the end if it is negative.
    Function::strict(
        &["substr", "substring"],
        &[
            Signature::new(STR, &[T, Of(INTS)], TO_STR),
            Signature::new(STR, &[T, Of(INTS), Of(INTS)], TO_STR),
        ],
        Kernel::Rows(|_, c| {
            let all = c[0].str().chars().count();
            let (from, length) = part(all, c[1].int(), c.get(2).map_or(i64::MAX, Cell::int));
            text(c[0].str().chars().skip(from).take(length).collect())
        }),
    ),
    Function::strict(
        &["byte_substr", "bytesubstring"],
        &[Signature::new(
            TypeSet::one(Type::Binary),
            &[T, Of(INT), Of(INT)],
            Returns::T,
        )],
        Kernel::Rows(|_, c| {
            let bytes = c[0].bytes();
            let (from, length) = part(bytes.len(), c[1].int(), c[2].int());
            let end = from.saturating_add(length).min(bytes.len());
            Ok(Cell::Bytes(Cow::Owned(bytes[from.min(end)..end].to_vec())))
        }),
    ),
    row!("lpad", PAD, |_, c| pad(c, true)),
    row!("rpad", PAD, |_, c| pad(c, false)),
    row!("replace", SSS_S, |_, c| match c[1].str() {
        "" => text(c[0].str().to_owned()),
        from => {
            let found = c[0].str().matches(from).count();
            check_length(c[0].str().len().saturating_add(found.saturating_mul(c[2].str().len())))?;
            text(c[0].str().replace(from, c[2].str()))
        }
    }),
    // Each character of the second text becomes the one at its place in the third, or nothing.
    row!("translate", SSS_S, |_, c| {
        let to: Vec<char> = c[2].str().chars().collect();
        let kept = |found: char| match c[1].str().chars().position(|from| from == found) {
            None => Some(found),
            Some(at) => to.get(at).copied(),
        };
        text(c[0].str().chars().filter_map(kept).collect())
    }),
    Function::own(
        &["concat"],
        &[Signature::new(STR, &[T, T], TO_STR).repeated(10)],
        Kernel::Rows(|_, c| text(c.iter().map(Cell::str).collect())),
    ),
    Function::strict(
        &["concatOperator"],
        &[Signature::new(STR, &[T, T], TO_STR).repeated(10)],
        Kernel::Rows(|_, c| text(c.iter().map(Cell::str).collect())),
    ),
    // The first text stands between the others; nulls among them are left out.
    Function::own(
        &["concat_ws"],
        &[Signature::new(STR, &[T, T, T], TO_STR).repeated(6)],
        Kernel::Rows(|_, c| {
            if c[0].is_null() {
                return Ok(Cell::Null);
            }
            let words: Vec<&str> = c[1..].iter().filter(|cell| !cell.is_null()).map(Cell::str).collect();
            text(words.join(c[0].str()))
        }),
    ),
    row!("split_part", SSI_S, |_, c| {
        let at = c[2].int();
        if at < 1 {
            return Err(Failure::invalid("parts count from 1"));
        }
        let found = match c[1].str() {
            "" => (at == 1).then(|| c[0].str()),
            separator => c[0].str().split(separator).nth((at - 1) as usize),
        };
        text(found.unwrap_or("").to_owned())
    }),
    // What is before the n-th separator, or after it, counted from the end, if n is negative.
    row!("substring_index", SSI_S, |_, c| {
        let (whole, separator, count) = (c[0].str(), c[1].str(), c[2].int());
        if separator.is_empty() || count == 0 {
            return text(String::new());
        }
        let found = match count {
            1.. => whole
                .match_indices(separator)
                .nth((count - 1) as usize)
                .map(|(at, _)| &whole[..at]),
            _ => {
                let nth = (count.unsigned_abs() - 1) as usize;
                whole
                    .rmatch_indices(separator)
                    .nth(nth)
                    .map(|(at, _)| &whole[at + separator.len()..])
            }
        };
        text(found.unwrap_or(whole).to_owned())
    }),
];

/// A text as a result, unless it is too long.
pub(crate) fn text<'a>(value: String) -> Result<Cell<'a>, Failure> {
    check_length(value.len())?;
    Ok(Cell::Str(Cow::Owned(value)))
}

/// An error if a text of so many bytes is too long; functions that make long texts of short ones ask on the way.
pub(crate) fn check_length(length: usize) -> Result<(), Failure> {
    match length {
        0..=MAX_LENGTH => Ok(()),
        _ => Err(Failure::invalid(format!(
            "the text would be longer than {MAX_LENGTH} bytes"
        ))),
    }
}

fn count<'a>(value: usize) -> Result<Cell<'a>, Failure> {
    Ok(Cell::Int(value as i64))
}

fn place<'a>(whole: &str, part: &str, from: Option<&Cell<'_>>) -> Result<Cell<'a>, Failure> {
    let from = from.map_or(1, Cell::int);
    if from < 1 {
        return Err(Failure::invalid("places count from 1"));
    }
    let skipped = (from - 1) as usize;
    let all = whole.chars().count();
    if skipped > all {
        return Ok(Cell::Int(0));
    }
    let start = whole.char_indices().nth(skipped).map_or(whole.len(), |(at, _)| at);
    Ok(Cell::Int(match whole[start..].find(part) {
        Some(at) => (skipped + whole[start..start + at].chars().count() + 1) as i64,
        None => 0,
    }))
}

/// How many of `all` characters to skip, and how many to take.
fn part(all: usize, from: i64, length: i64) -> (usize, usize) {
    let skipped = match from {
        0 => 0,
        1.. => usize::try_from(from - 1).unwrap_or(usize::MAX),
        _ => match all.checked_sub(usize::try_from(from.unsigned_abs()).unwrap_or(usize::MAX)) {
            Some(skipped) => skipped,
            None => return (0, 0),
        },
    };
    (skipped, usize::try_from(length).unwrap_or(0))
}

fn initcap(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut inside = false;
    for c in value.chars() {
        match inside {
            true => out.extend(c.to_lowercase()),
            false => out.extend(c.to_uppercase()),
        }
        inside = c.is_alphanumeric();
    }
    out
}

/// The characters that are cut off: blanks, or those of the second argument.
fn cut<'c>(cells: &'c [Cell<'_>]) -> impl Fn(char) -> bool + use<'c> {
    let set = cells.get(1).map_or(" ", Cell::str);
    move |c| set.contains(c)
}

fn pad<'a>(cells: &[Cell<'_>], before: bool) -> Result<Cell<'a>, Failure> {
    let value = cells[0].str();
    let fill = cells.get(2).map_or(" ", Cell::str);
    let length = usize::try_from(cells[1].int()).unwrap_or(0);
    check_length(length)?;
    let have = value.chars().count();
    if have >= length || fill.is_empty() {
        return text(value.chars().take(length).collect());
    }
    let filled: String = fill.chars().cycle().take(length - have).collect();
    text(if before {
        filled + value
    } else {
        value.to_owned() + &filled
    })
}
