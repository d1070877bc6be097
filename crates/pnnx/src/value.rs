//! Values of parameters, whose types the files do not state.

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `None`, and the empty list.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A complex number: its real and its imaginary part.
    Complex(f64, f64),
    /// Any other string.
    Text(String),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A list of real numbers.
    Floats(Vec<f64>),
    /// A list of anything else.
    Texts(Vec<String>),
}

/// Stands for "to the end" and for "omitted" in slices.
pub const NO_END: i64 = i32::MAX as i64;

impl Value {
    /// Parses a value by the rules of PNNX's reader, extended by complex numbers.
    ///
    /// ```
    /// use tautomer_pnnx::Value;
    /// assert_eq!(Value::read("(1,-2)"), Value::Ints(vec![1, -2]));
    /// assert_eq!(Value::read("1.000000e-05"), Value::Float(1e-5));
    /// assert_eq!(Value::read("(True,False)"), Value::Texts(vec!["True".into(), "False".into()]));
    /// assert_eq!(Value::read("1.0e+00-2.0e+00j"), Value::Complex(1.0, -2.0));
    /// ```
    pub fn read(text: &str) -> Value {
        let other = || Value::Text(text.to_owned());
        match text {
            _ if text.contains('%') => return other(),
            "None" | "()" | "[]" => return Value::None,
            "True" => return Value::Bool(true),
            "False" => return Value::Bool(false),
            _ => {}
        }
        if let Some(inner) = text.strip_prefix(['(', '[']) {
            let inner = inner.strip_suffix([')', ']']).unwrap_or(inner);
            return list(inner.split(',').map(str::trim).filter(|item| !item.is_empty()));
        }
        if let Some((re, im)) = complex(text) {
            return Value::Complex(re, im);
        }
        if !is_numeric(text) {
            return other();
        }
        match number(text) {
            Some(Number::Int(v)) => Value::Int(v),
            Some(Number::Float(v)) => Value::Float(v),
            None => other(),
        }
    }
}

/// A number with or without a fractional part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

fn is_numeric(text: &str) -> bool {
    text.strip_prefix('-')
        .unwrap_or(text)
        .starts_with(|c: char| c.is_ascii_digit())
        || special(text).is_some()
}

/// An infinity or NaN. C's `printf` writes `-inf`, and exporters that give every number a fraction write `nan.0`.
fn special(text: &str) -> Option<f64> {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    let value = match body.strip_suffix(".0").unwrap_or(body) {
        "inf" | "Inf" | "infinity" | "Infinity" => f64::INFINITY,
        "nan" | "NaN" => f64::NAN,
        _ => return None,
    };
    Some(if text.starts_with('-') { -value } else { value })
}

/// A part of a complex number.
fn part(text: &str) -> Option<f64> {
    special(text).or_else(|| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let plain = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        plain.then(|| text.parse().ok()).flatten()
    })
}

/// A decimal number, an infinity or NaN; a number with a point or an exponent is not an integer.
pub(super) fn number(text: &str) -> Option<Number> {
    if let Some(value) = special(text) {
        return Some(Number::Float(value));
    }
    if text.contains(['.', 'e', 'E']) {
        return text.parse().ok().map(Number::Float);
    }
    match text.parse::<i64>() {
        Ok(v) => Some(Number::Int(v)),
        // An integer that overflows, as some exporters write infinities.
        Err(_) if text.trim_start_matches('-').chars().all(|c| c.is_ascii_digit()) && !text.is_empty() => {
            Some(Number::Int(if text.starts_with('-') { i64::MIN } else { i64::MAX }))
        }
        Err(_) => None,
    }
}

/// `1.0e+00-2.0e+00j`
pub(super) fn complex(text: &str) -> Option<(f64, f64)> {
    let body = text.strip_suffix('j')?;
    // The sign between the parts is the last one that does not belong to an exponent.
    let signs = body.char_indices().skip(1).filter(|(_, c)| matches!(c, '+' | '-'));
    let at = signs
        .map(|(at, _)| at)
        .filter(|&at| body.get(..at).is_some_and(|before| !before.ends_with(['e', 'E'])))
        .last()?;
    let (real, imaginary) = body.split_at_checked(at)?;
    Some((part(real)?, part(imaginary)?))
}

fn list<'a>(items: impl Iterator<Item = &'a str> + Clone) -> Value {
    let numbers: Option<Vec<Number>> = items
        .clone()
        .map(|item| is_numeric(item).then(|| number(item)).flatten())
        .collect();
    let Some(numbers) = numbers else {
        return Value::Texts(items.map(str::to_owned).collect());
    };
    let ints: Option<Vec<i64>> = numbers
        .iter()
        .map(|n| match n {
            Number::Int(v) => Some(*v),
            Number::Float(_) => None,
        })
        .collect();
    match ints {
        Some(ints) if ints.is_empty() => Value::None,
        Some(ints) => Value::Ints(ints),
        None => Value::Floats(
            numbers
                .iter()
                .map(|n| match n {
                    Number::Int(v) => *v as f64,
                    Number::Float(v) => *v,
                })
                .collect(),
        ),
    }
}

/// A number as PNNX writes it: always with a point, with an exponent from 1e6 on and below 1e-4, and with as many
/// digits as are needed to read the same number back.
///
/// ```
/// use tautomer_pnnx::float_text;
/// assert_eq!(float_text(8.0), "8.0");
/// assert_eq!(float_text(1e-5), "1.000000e-5");
/// assert_eq!(float_text(0.1), "0.1");
/// ```
pub fn float_text(value: f64) -> String {
    let short = single_text(value as f32);
    if short.parse::<f64>() == Ok(value) || !value.is_finite() {
        return short;
    }
    if has_exponent(value.abs()) {
        return format!("{value:e}");
    }
    let text = value.to_string();
    if text.contains('.') { text } else { format!("{text}.0") }
}

/// A single-precision number as PNNX writes it: as short as that precision allows.
///
/// ```
/// use tautomer_pnnx::single_text;
/// assert_eq!(single_text(8.0f32.sqrt()), "2.828427");
/// assert_eq!(single_text(1e-8), "1.000000e-8");
/// ```
pub fn single_text(value: f32) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return value.to_string();
    }
    if has_exponent(f64::from(value.abs())) {
        // Uses six digits if they are enough.
        let short = format!("{value:.6e}");
        return if short.parse() == Ok(value) {
            short
        } else {
            format!("{value:e}")
        };
    }
    let text = value.to_string();
    if text.contains('.') { text } else { format!("{text}.0") }
}

fn has_exponent(magnitude: f64) -> bool {
    magnitude != 0.0 && !(1e-4..1e6).contains(&magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_told_by_its_text() {
        let text = |s: &str| Value::Text(s.to_owned());
        for (written, read) in [
            ("None", Value::None),
            ("()", Value::None),
            ("True", Value::Bool(true)),
            ("7", Value::Int(7)),
            ("-2147483648", Value::Int(i64::from(i32::MIN))),
            ("1.0", Value::Float(1.0)),
            ("1.000000e10", Value::Float(1e10)),
            ("-0.25", Value::Float(-0.25)),
            ("same", text("same")),
            ("-inf", Value::Float(f64::NEG_INFINITY)),
            ("inf", Value::Float(f64::INFINITY)),
            ("inf.0", Value::Float(f64::INFINITY)),
            ("(-inf,2)", Value::Floats(vec![f64::NEG_INFINITY, 2.0])),
            ("inf+1.0e+00j", Value::Complex(f64::INFINITY, 1.0)),
            ("info", text("info")),
            ("-", text("-")),
            ("nj", text("nj")),
            ("%batch", text("%batch")),
            ("torch.int", text("torch.int")),
            ("(1)", Value::Ints(vec![1])),
            ("(2.0,3)", Value::Floats(vec![2.0, 3.0])),
            ("(0,@0)", Value::Texts(vec!["0".into(), "@0".into()])),
            ("0.000000e+00+4.000000e+00j", Value::Complex(0.0, 4.0)),
            ("99999999999999999999", Value::Int(i64::MAX)),
        ] {
            assert_eq!(Value::read(written), read, "{written}");
        }
    }

    #[test]
    fn what_is_no_number_is_read_in_every_spelling() {
        for text in ["nan", "-nan", "NaN", "nan.0", "-nan.0"] {
            let Value::Float(value) = Value::read(text) else {
                panic!("{text} is not a number")
            };
            assert!(value.is_nan(), "{text}");
        }
        assert_eq!(float_text(f64::NAN), "nan");
        assert_eq!(float_text(f64::NEG_INFINITY), "-inf");
    }

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for value in [
            0.0f64,
            -0.5,
            1e-8,
            1e10,
            0.458,
            123_456.0,
            f64::from(0.1f32),
            f64::from(f32::MIN_POSITIVE),
            f64::INFINITY,
            f64::NEG_INFINITY,
        ] {
            assert_eq!(Value::read(&float_text(value)), Value::Float(value), "{value}");
        }
    }
}
