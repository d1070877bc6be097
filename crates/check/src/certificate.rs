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
        match (&self.rule, self.line, &self.verdict) {
            (rule, _, Verdict::Accepted(scope)) => write!(f, "accepted  {rule}: {scope}"),
            (rule, line, Verdict::Rejected(why)) => write!(f, "rejected  {rule} (line {line}): {why}"),
            (rule, line, Verdict::NotChecked(why)) => write!(f, "rejected  {rule} (line {line}): not checked: {why}"),
        }
    }
}

/// The hash of a rule's text: FNV-1a of 128 bits, in hexadecimal digits.
pub fn hash(text: &str) -> String {
    let start: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let next = |state: u128, byte| (state ^ u128::from(byte)).wrapping_mul((1 << 88) + 0x13b);
    format!("{:032x}", text.bytes().fold(start, next))
}

/// Checks all certificates in a file. A file without any is one rejection.
pub fn check(text: &str) -> Vec<Checked> {
    let lines = text.lines().enumerate().map(|(i, l)| (i + 1, l.trim_end()));
    let lines: Vec<_> = lines.filter(|(at, l)| *at == 1 || !l.is_empty() && !l.starts_with('#')).collect();
    let whole =
        |line, why: &str| Checked { rule: "(file)".to_owned(), line, verdict: Verdict::Rejected(why.to_owned()) };
    let Some((_, rules)) = lines.split_first().filter(|((_, head), _)| *head == "tautomer-certificate 1") else {
        return vec![whole(1, "the first line is not `tautomer-certificate 1`")];
    };
    let mut parts: Vec<_> = rules.split_inclusive(|(_, line)| *line == "end").collect();
    let open = parts.pop_if(|part| part.last().is_none_or(|(_, line)| *line != "end"));
    let open = open.map(|part| part[0].0).or(parts.is_empty().then_some(1));
    let open = open.map(|line| whole(line, "a rule has no `end`, or there is none"));
    parts.into_iter().map(one).chain(open).collect()
}

fn one(lines: &[(usize, &str)]) -> Checked {
    let (line, first) = lines[0];
    let rule = first.strip_prefix("rule ").unwrap_or_default().to_owned();
    let verdict = match proved(&rule, &lines[..lines.len() - 1]) {
        Ok(scope) => Verdict::Accepted(scope),
        Err((_, Stop::Unknown(what))) => Verdict::NotChecked(what),
        Err((at, Stop::Invalid(why) | Stop::Wrong(why))) => Verdict::Rejected(format!("line {at}: {why}")),
    };
    Checked { rule, line, verdict }
}

fn proved(name: &str, lines: &[(usize, &str)]) -> Result<String, (usize, Stop)> {
    let start = lines.first().map_or(1, |(at, _)| *at);
    let split = lines.iter().map(|(at, l)| (*at, l.split_once(' ').unwrap_or((l, ""))));
    let of = |key: &str| Vec::from_iter(split.clone().filter(|(_, (own, _))| *own == key).map(|(_, (_, value))| value));
    let wrong = |why: &str| Err((start, Stop::Wrong(why.to_owned())));
    let text = of("text").join("\n");
    if of("hash") != [hash(&text)] {
        return wrong("the hash is not that of the text");
    }
    let unread = |why| (start, Stop::Unknown(format!("the text cannot be read: {why}")));
    let rule = text::rule(&text).map_err(unread)?;
    // The backward rule of `<=>` is the same equation.
    if name != rule.name && !(rule.both && name == format!("{}-reversed", rule.name)) {
        return wrong(&format!("the text is of another rule, `{}`", rule.name));
    }
    let mut proof = None;
    for (at, (key, value)) in split.skip(1) {
        match (key, value) {
            ("text" | "hash", _) => {}
            ("lift", "elementwise" | "calls") => {
                let own = rule::check(&rule, None).map_err(|stop| (at, stop))?;
                if value == "elementwise" && !own.calls.is_empty() {
                    return Err((at, Stop::Wrong("not all operators treat each place alone".to_owned())));
                }
                proof = Some(own);
            }
            ("element", _) => {
                let term = text::rule(&format!("rule term {{ {value} => {value} }}"));
                let term = term.map_err(|why| (at, Stop::Wrong(why)))?;
                rule::check(&rule, Some(&term.sides[0])).map_err(|stop| (at, stop))?;
            }
            _ => return Err((at, Stop::Unknown(format!("the statement `{key}`")))),
        }
    }
    let Some(proof) = proof else { return wrong("it proves nothing: there is no `lift`") };
    let list = |what: &str, names: std::collections::BTreeSet<String>| {
        names.iter().map(|name| format!("{what} {name}")).collect::<String>()
    };
    let (calls, bodies) = (list(", any", proof.calls), list(", the body of", proof.bodies));
    Ok(format!("all sizes and ranks, {} comparisons{calls}{bodies}", proof.comparisons))
}
