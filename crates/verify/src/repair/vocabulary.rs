//! The vocabulary: conditions that a wrong rule may be missing.

use std::sync::Arc;

use tautomer_rule::{AttrPattern, PatternNode, Rule};

/// Attributes in a rest, with the value that restricts a rule: as a condition on a bound name, and as a literal.
const IN_A_REST: [(&str, &str, &str); 8] = [
    ("group", "== 1", "1"),
    ("keepdims", "== true", "true"),
    ("auto_pad", "== \"NOTSET\"", "\"NOTSET\""),
    ("strides", "all(i == 1 for i in _)", ""),
    ("dilations", "all(i == 1 for i in _)", ""),
    ("pads", "all(i == 0 for i in _)", ""),
    ("ceil_mode", "== false", "false"),
    ("axis", "== 0", "0"),
];

/// A condition that may be added.
#[derive(Debug)]
struct Word {
    /// The condition.
    condition: String,
    /// For an attribute in a rest: the rest, the attribute, the name it is bound to, and the value as a literal, if
    /// there is one.
    rest: Option<(Arc<str>, &'static str, String, &'static str)>,
}

/// All conditions that may be added to a rule.
#[derive(Debug)]
pub(super) struct Vocabulary {
    /// The text of the rule.
    text: String,
    /// The position at which conditions are inserted.
    end: usize,
    /// True if the rule has conditions already.
    has_conditions: bool,
    words: Vec<Word>,
}

impl Vocabulary {
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The rule with all conditions, which is not meant to match anything.
    pub(super) fn with_all(&self) -> String {
        let all: Vec<usize> = (0..self.words.len()).collect();
        self.make(&all, false)
    }

    /// The rule with some conditions.
    pub(super) fn text(&self, chosen: &[usize]) -> String {
        self.make(chosen, true)
    }

    /// A description of some conditions.
    pub(super) fn says(&self, chosen: &[usize]) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut conditions: Vec<String> = Vec::new();
        for &i in chosen {
            match &self.words[i].rest {
                Some((rest, attr, _, value)) if !value.is_empty() => {
                    parts.push(format!("{{{attr} = {value}}} beside `..{rest}`"));
                }
                Some((rest, attr, name, _)) => {
                    parts.push(format!("{{{attr} = {name}}} beside `..{rest}`"));
                    conditions.push(self.words[i].condition.clone());
                }
                None => conditions.push(self.words[i].condition.clone()),
            }
        }
        if !conditions.is_empty() {
            parts.push(format!("where {}", conditions.join(", ")));
        }
        parts.join(", ")
    }

    /// The rule with two of its rests united: descriptions and texts.
    pub(super) fn one_rest(&self, rule: &Rule) -> Vec<(String, String)> {
        let mut out = Vec::new();
        for (i, a) in rule.rests.iter().enumerate() {
            for b in &rule.rests[i + 1..] {
                let text = self.text.replace(&format!("..{b}"), &format!("..{a}"));
                out.push((format!("`..{a}` in place of `..{b}`"), text));
            }
        }
        out
    }

    fn make(&self, chosen: &[usize], literals: bool) -> String {
        let mut conditions = Vec::new();
        let mut taken: Vec<(String, String)> = Vec::new();
        for &i in chosen {
            let word = &self.words[i];
            let Some((rest, attr, name, value)) = &word.rest else {
                conditions.push(word.condition.clone());
                continue;
            };
            let rest = format!("..{rest}");
            if literals && !value.is_empty() {
                taken.push((rest, format!("{attr} = {value}")));
            } else {
                taken.push((rest, format!("{attr} = {name}")));
                conditions.push(word.condition.clone());
            }
        }
        let (mut head, mut tail) = (self.text[..self.end].to_owned(), self.text[self.end..].to_owned());
        if !conditions.is_empty() {
            let sign = if self.has_conditions { ", " } else { " where " };
            head = format!("{}{sign}{} ", head.trim_end(), conditions.join(", "));
        }
        for (rest, entry) in taken {
            let entry = format!("{entry}, {rest}");
            (head, tail) = (head.replace(&rest, &entry), tail.replace(&rest, &entry));
        }
        head + &tail
    }
}

/// The vocabulary for a rule; `loads` tells whether a text is a valid rule.
pub(super) fn vocabulary(rule: &Rule, loads: &dyn Fn(&str) -> bool) -> Vocabulary {
    let range = rule.span.start as usize..rule.span.end as usize;
    let text = rule.ast.source.text.get(range).unwrap_or_default().to_owned();
    // Conditions come before the class and the assumptions.
    let last = rule
        .conditions
        .last()
        .map(|c| (rule.ast.span(*c).end - rule.span.start) as usize);
    let clauses = ["numerics", "assuming"].iter().filter_map(|word| text.rfind(word));
    let close = text.rfind('}').unwrap_or(text.len());
    let end = clauses.chain([close]).min().filter(|&at| last.is_none_or(|l| l <= at));
    let mut out = Vocabulary {
        end: end.unwrap_or(close),
        has_conditions: last.is_some(),
        text,
        words: Vec::new(),
    };
    in_rests(rule, &mut out, loads);
    let mut words = Vec::new();
    of_ranks(rule, &mut words);
    of_pairs(rule, &mut words);
    of_variables(rule, &mut words);
    of_attributes(rule, &mut words);
    for condition in words {
        out.words.push(Word { condition, rest: None });
    }
    out
}

/// A condition cannot name an attribute in a rest, so the attribute is taken out of the rest and bound.
fn in_rests(rule: &Rule, out: &mut Vocabulary, loads: &dyn Fn(&str) -> bool) {
    for rest in &rule.rests {
        for (attr, condition, value) in IN_A_REST {
            let name = format!("{attr}_{rest}");
            let condition = if condition.contains('_') {
                condition.replace('_', &name)
            } else {
                format!("{name} {condition}")
            };
            out.words.push(Word {
                condition,
                rest: Some((rest.clone(), attr, name, value)),
            });
            if !loads(&out.make(&[out.words.len() - 1], false)) {
                out.words.pop();
            }
        }
    }
}

/// The names of variables that are not indexed.
fn names(rule: &Rule) -> Vec<&str> {
    rule.variables.iter().filter(|v| !v.indexed).map(|v| &*v.name).collect()
}

fn of_pairs(rule: &Rule, out: &mut Vec<String>) {
    let names = names(rule);
    for (i, a) in names.iter().enumerate() {
        for b in &names[i + 1..] {
            out.push(format!("{a}.rank == {b}.rank"));
            for part in ["", "[1..]", "[2..]", "[0]", "[1]", "[-1]", "[..-1]", "[1..-1]"] {
                out.push(format!("{a}.shape{part} == {b}.shape{part}"));
            }
            out.push(format!("{a}.rank >= {b}.rank"));
            out.push(format!("{b}.rank >= {a}.rank"));
            out.push(format!("({a}.rank == 1) == ({b}.rank == 1)"));
            out.push(format!("min({a}.rank, {b}.rank) >= 2"));
            out.push(format!("max({a}.rank, {b}.rank) <= 2"));
            for (a, b) in [(a, b), (b, a)] {
                out.push(format!("{a}.rank == 2 or {b}.rank >= 2"));
                out.push(format!("broadcasts({a}, {b})"));
                out.push(format!("{a}.shape[-1] == {b}.shape[0]"));
                out.push(format!("{a}.shape[1] == {b}.shape[0]"));
            }
            out.push(format!("{a}.dtype == {b}.dtype"));
        }
    }
}

fn of_ranks(rule: &Rule, out: &mut Vec<String>) {
    for a in names(rule) {
        for what in [">= 2", "<= 2", ">= 1", "<= 1", "== 2", "== 1", "== 0", ">= 3"] {
            out.push(format!("{a}.rank {what}"));
        }
    }
}

fn of_variables(rule: &Rule, out: &mut Vec<String>) {
    for a in names(rule) {
        for what in [
            "size == 1",
            "size > 0",
            "shape[0] == 1",
            "shape[1] == 1",
            "shape[-1] == 1",
            "shape[0] % 2 == 0",
            "dtype in [f16, bf16, f32, f64]",
        ] {
            out.push(format!("{a}.{what}"));
        }
        out.push(format!("all(d == 1 for d in {a}.shape[2..])"));
        out.push(format!("is_static({a})"));
        for what in ["> 0", ">= 0", "!= 0", "< 0", "== 1"] {
            out.push(format!("value({a}) {what}"));
        }
    }
}

fn of_attributes(rule: &Rule, out: &mut Vec<String>) {
    let mut bound: Vec<Arc<str>> = Vec::new();
    for (_, node) in rule.source.nodes() {
        if let PatternNode::Call { attrs, .. } = node {
            for attr in attrs {
                if let AttrPattern::Bind(name) = attr
                    && !bound.contains(name)
                {
                    bound.push(name.clone());
                }
            }
        }
    }
    for (i, name) in bound.iter().enumerate() {
        for what in [
            "== 0", "== 1", "== -1", "> 0", ">= 0", "!= 0", "== true", "== false", "== none",
        ] {
            out.push(format!("{name} {what}"));
        }
        for what in ["== 0", "== 1", ">= 0", "> 0"] {
            out.push(format!("all(i {what} for i in {name})"));
        }
        out.push(format!("len({name}) == 1"));
        out.push(format!("{name} == sorted({name})"));
        out.push(format!("{name} == inverse({name})"));
        for other in &bound[i + 1..] {
            out.push(format!("{name} == {other}"));
            out.push(format!("{name} >= {other}"));
            out.push(format!("{other} >= {name}"));
        }
        for a in names(rule) {
            out.push(format!("{name} == {a}.rank - 1"));
            out.push(format!("{name} < {a}.rank"));
        }
    }
}
