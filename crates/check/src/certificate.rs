//! The format of certificates: one statement on each line.

use std::fmt;

use crate::{operators::Stop, rule, text};

/// What the checker says about one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The certificate proves the rule, and what for.
    Accepted(String),
    /// It does not, and why.
    Rejected(String),
    /// It uses something that the checker does not know.
    NotChecked(String),
}

/// The result for one rule, with its line in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The name of the rule.
    pub rule: String,
    /// The line where its certificate begins.
    pub line: usize,
    /// The result.
    pub verdict: Verdict,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Checked { rule, line, verdict } = self;
        match verdict {
            Verdict::Accepted(scope) => write!(f, "accepted  {rule}: {scope}"),
            Verdict::Rejected(why) => write!(f, "rejected  {rule} (line {line}): {why}"),
            Verdict::NotChecked(why) => write!(f, "rejected  {rule} (line {line}): not checked: {why}"),
        }
    }
}

/// The hash of a rule's text: FNV-1a of 128 bits, in hexadecimal digits.
pub fn hash(text: &str) -> String {
    let mut state: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in text.bytes() {
        state = (state ^ u128::from(byte)).wrapping_mul((1 << 88) + 0x13b);
    }
    format!("{state:032x}")
}

/// Checks all certificates in a file. A file without any is one rejection.
pub fn check(text: &str) -> Vec<Checked> {
    let rejected = |line: usize, why: &str| Checked {
        rule: "(file)".to_owned(),
        line,
        verdict: Verdict::Rejected(why.to_owned()),
    };
    let mut lines = text.lines().enumerate().map(|(i, l)| (i + 1, l.trim_end()));
    if lines.next().is_none_or(|(_, head)| head != "tautomer-certificate 1") {
        return vec![rejected(1, "the first line is not `tautomer-certificate 1`")];
    }
    let (mut out, mut own): (Vec<Checked>, Vec<(usize, &str)>) = (Vec::new(), Vec::new());
    for (at, line) in lines.filter(|(_, l)| !l.is_empty() && !l.starts_with('#')) {
        if line == "end" {
            out.push(one(&own, at));
            own.clear();
        } else {
            own.push((at, line));
        }
    }
    if !own.is_empty() || out.is_empty() {
        let line = own.first().map_or(1, |(at, _)| *at);
        out.push(rejected(line, "a rule has no `end`, or there is none"));
    }
    out
}

fn one(lines: &[(usize, &str)], end: usize) -> Checked {
    let (line, first) = lines.first().copied().unwrap_or((end, ""));
    let rule = first.strip_prefix("rule ").unwrap_or_default().to_owned();
    let verdict = proved(&rule, lines).unwrap_or_else(|(at, why)| match why.strip_prefix("not checked: ") {
        Some(what) => Verdict::NotChecked(what.to_owned()),
        None => Verdict::Rejected(format!("line {at}: {why}")),
    });
    Checked { rule, line, verdict }
}

fn proved(name: &str, lines: &[(usize, &str)]) -> Result<Verdict, (usize, String)> {
    let start = lines.first().map_or(1, |(at, _)| *at);
    let of = |key: &'static str| lines.iter().filter(move |(_, l)| l.split(' ').next() == Some(key));
    let rest = |l: &str| l.split_once(' ').map_or("", |(_, r)| r).to_owned();
    let text = of("text").map(|(_, l)| rest(l)).collect::<Vec<String>>().join("\n");
    let (Some((at, given)), 1) = (of("hash").next(), of("hash").count()) else {
        return Err((start, "there is no `hash`, or several".to_owned()));
    };
    if rest(given) != hash(&text) {
        return Err((*at, "the hash is not that of the text".to_owned()));
    }
    let rule = text::rule(&text).map_err(|why| (start, format!("not checked: the text cannot be read: {why}")))?;
    // The backward rule of `<=>` is the same equation.
    if name != rule.name && !(rule.both && name == format!("{}-reversed", rule.name)) {
        return Err((start, format!("the text is of another rule, `{}`", rule.name)));
    }
    let mut compared = 0;
    for (at, line) in lines.iter().skip(1) {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        let here = |stop: Stop| match stop {
            Stop::Invalid(why) | Stop::Wrong(why) => (*at, why),
            Stop::Unknown(what) => (*at, format!("not checked: {what}")),
        };
        match key {
            "text" | "hash" => {}
            "lift" if value == "elementwise" => compared += rule::check(&rule, None).map_err(here)?,
            "element" => {
                let term = text::expression(value).map_err(|why| (*at, why))?;
                rule::check(&rule, Some(&term)).map_err(here)?;
            }
            _ => return Err((*at, format!("not checked: the statement `{key}`"))),
        }
    }
    if compared == 0 {
        return Err((start, "it proves nothing: there is no `lift`".to_owned()));
    }
    Ok(Verdict::Accepted(format!(
        "all sizes and ranks, {compared} comparisons"
    )))
}
