//! From the spelling of numbers and strings to their values.

use tautomer_diag::{Diagnostic, Span, did_you_mean};
use tautomer_tensor::DType;

use super::ast::ExprKind;

/// The value of a number as written.
pub(super) fn number(text: &str, span: Span) -> Result<ExprKind, Diagnostic> {
    if let Some((radix, digits)) = radix(text) {
        return whole(text, radix, digits, span);
    }
    let (body, suffix) = split_suffix(text);
    let dtype = match suffix.trim_start_matches('_') {
        "" => None,
        name => Some(suffix_type(name, text, span)?),
    };
    let special = match body {
        "inf" => Some(f64::INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    };
    let fraction = special.is_some() || body.contains(['.', 'e', 'E']);
    if fraction && dtype.is_some_and(|dtype| !dtype.is_float()) {
        let whole = body.split(['.', 'e', 'E']).next().unwrap_or(body);
        return Err(
            Diagnostic::error("T0006", format!("`{text}` is a fraction with an integer suffix"))
                .label(span, "")
                .help(format!(
                    "write `{whole}{suffix}`, or a floating-point suffix such as `{body}f32`"
                )),
        );
    }
    let digits: std::borrow::Cow<'_, str> = if body.contains('_') {
        body.replace('_', "").into()
    } else {
        body.into()
    };
    if fraction || dtype.is_some_and(DType::is_float) {
        let value = special.unwrap_or_else(|| rounded(&digits, dtype));
        if special.is_none() && !value.is_finite() {
            return Err(Diagnostic::error("T0004", "number out of range")
                .label(span, format!("larger than any {}", dtype.unwrap_or(DType::F64)))
                .help("infinity is written `inf`"));
        }
        return Ok(ExprKind::Float { value, suffix: dtype });
    }
    match digits.parse() {
        Ok(value) => Ok(ExprKind::Int { value, suffix: dtype }),
        Err(_) => Err(Diagnostic::error("T0004", "number out of range")
            .label(span, "does not fit 128 bits")
            .help("write it as a floating-point number, with `.0` or an exponent")),
    }
}

/// The base of `0xFF`, `0o17` and `0b1010`, and the digits after the prefix.
fn radix(text: &str) -> Option<(u32, &str)> {
    let radix = match text.get(..2)? {
        "0x" | "0X" => 16,
        "0o" | "0O" => 8,
        "0b" | "0B" => 2,
        _ => return None,
    };
    Some((radix, &text[2..]))
}

/// The value of an integer in a base other than ten; letters that are digits of the base count as digits.
fn whole(text: &str, radix: u32, rest: &str, span: Span) -> Result<ExprKind, Diagnostic> {
    let end = rest
        .find(|c: char| c != '_' && !c.is_digit(radix))
        .unwrap_or(rest.len());
    let (digits, suffix) = rest.split_at(end);
    let digits = digits.replace('_', "");
    let suffix = match suffix {
        "" => None,
        name => Some(suffix_type(name, text, span)?),
    };
    if let Some(dtype) = suffix.filter(|dtype| dtype.is_float()) {
        let problem = Diagnostic::error("T0005", format!("`{text}` is an integer with a floating-point suffix"));
        return Err(problem.label(span, format!("{dtype} is written in decimal digits")));
    }
    if digits.is_empty() {
        return Err(Diagnostic::error("T0001", format!("`{text}` has no digits")).label(span, ""));
    }
    match i128::from_str_radix(&digits, radix) {
        Ok(value) => Ok(ExprKind::Int { value, suffix }),
        Err(_) => Err(Diagnostic::error("T0004", "number out of range").label(span, "does not fit 128 bits")),
    }
}

/// The nearest value of an element type; infinite if it is out of range.
fn rounded(digits: &str, dtype: Option<DType>) -> f64 {
    match dtype {
        Some(DType::F32) => digits.parse::<f32>().map_or(f64::INFINITY, f64::from),
        _ => {
            let value = digits.parse().unwrap_or(f64::INFINITY);
            match dtype {
                Some(DType::F16) => half::f16::from_f64(value).to_f64(),
                Some(DType::BF16) => half::bf16::from_f64(value).to_f64(),
                _ => value,
            }
        }
    }
}

/// Cuts the suffix off: `1_000i64` is `1_000` and `i64`, `1e5f32` is `1e5` and `f32`.
fn split_suffix(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    if !bytes
        .first()
        .is_some_and(|first| first.is_ascii_digit() || *first == b'.')
    {
        return text.split_at(3.min(text.len()));
    }
    let mut end = digits(bytes, 0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(bytes, end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = end + 1 + sign;
        if bytes.get(exponent).is_some_and(u8::is_ascii_digit) {
            end = exponent
                + bytes[exponent..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit())
                    .count();
        }
    }
    text.split_at(end)
}

fn digits(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b'_')
        .count()
}

fn suffix_type(name: &str, text: &str, span: Span) -> Result<DType, Diagnostic> {
    let numbers = || DType::ALL.into_iter().filter(|dtype| dtype.is_number());
    if let Some(dtype) = numbers().find(|dtype| dtype.name() == name) {
        return Ok(dtype);
    }
    let start = span.end - name.len() as u32;
    let mut diagnostic = Diagnostic::error("T0005", format!("unknown suffix `{name}` of the number `{text}`"))
        .label(Span::new(start, span.end), "not an element type");
    diagnostic = match did_you_mean(name, numbers().map(DType::name)) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic.help("a suffix is an element type: `1i64`, `2.5f32`"),
    };
    Err(diagnostic)
}

/// The value of a string literal as written, including its quotes.
pub(super) fn text(written: &str, span: Span) -> Result<String, Diagnostic> {
    let body = &written[1..written.len() - 1];
    if !body.contains('\\') {
        return Ok(body.to_owned());
    }
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let from = written.len() - 1 - (rest.len() - at);
        let Some((value, length)) = escape(&rest[at + 1..]) else {
            let start = span.start + from as u32;
            let shown = rest[at + 1..].chars().next().unwrap_or(' ');
            let end = start + 1 + shown.len_utf8() as u32;
            return Err(
                Diagnostic::error("T0008", format!("unknown escape `\\{shown}` in a string"))
                    .label(Span::new(start, end), "")
                    .help("a backslash itself is written `\\\\`"),
            );
        };
        out.push(value);
        rest = &rest[at + 1 + length..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The character that the text after a backslash stands for, and how long that text is.
fn escape(rest: &str) -> Option<(char, usize)> {
    Some(match rest.as_bytes().first()? {
        b'n' => ('\n', 1),
        b't' => ('\t', 1),
        b'r' => ('\r', 1),
        b'0' => ('\0', 1),
        b'\\' => ('\\', 1),
        b'"' => ('"', 1),
        b'\'' => ('\'', 1),
        b'u' => {
            let digits = rest.strip_prefix("u{")?.split_once('}')?.0;
            let valid = (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let value = u32::from_str_radix(digits, 16).ok().filter(|_| valid)?;
            (char::from_u32(value)?, digits.len() + 3)
        }
        _ => return None,
    })
}
