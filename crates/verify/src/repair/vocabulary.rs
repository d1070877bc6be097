//! The vocabulary: conditions that a wrong rule may be missing.

use std::sync::Arc;

use tautomer_rule::{AttrPattern, PatternNode, Rule};

/// The value of an attribute in a rest that restricts a rule.
struct Restriction {
    attr: &'static str,
    value: RestrictedValue,
}

enum RestrictedValue {
    /// One value, as a literal.
    Literal(&'static str),
    /// A condition on the name that the attribute is bound to; `_` marks its position.
    Condition(&'static str),
}

const fn is(attr: &'static str, literal: &'static str) -> Restriction {
    let value = RestrictedValue::Literal(literal);
    Restriction { attr, value }
}

const fn all(attr: &'static str, condition: &'static str) -> Restriction {
    let value = RestrictedValue::Condition(condition);
    Restriction { attr, value }
}

const IN_A_REST: [Restriction; 8] = [
    is("group", "1"),
    is("keepdims", "true"),
    is("auto_pad", "\"NOTSET\""),
    all("strides", "all(i == 1 for i in _)"),
    all("dilations", "all(i == 1 for i in _)"),
    all("pads", "all(i == 0 for i in _)"),
    is("ceil_mode", "false"),
    is("axis", "0"),
];

/// A condition that may be added.
#[derive(Debug)]
struct Condition {
    text: String,
    /// The attribute that it is about, if that is in a rest: a condition cannot name it there.
    attribute: Option<RestAttribute>,
}

/// An attribute that is taken out of a rest.
#[derive(Debug)]
struct RestAttribute {
    rest: Arc<str>,
    attr: &'static str,
    /// The name it is bound to.
    name: String,
    /// The one value that it may have, as a literal.
    literal: Option<&'static str>,
}

/// How an attribute with one value is restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// With a literal in the pattern.
    Literals,
    /// With a condition on a bound name.
    Conditions,
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
    conditions: Vec<Condition>,
}

impl Vocabulary {
    /// The number of conditions.
    pub(super) fn len(&self) -> usize {
        self.conditions.len()
    }

    /// The rule with all conditions, which is not meant to match anything.
    pub(super) fn with_all(&self) -> String {
        let all: Vec<usize> = (0..self.conditions.len()).collect();
        self.make(&all, Style::Conditions)
    }

    /// The rule with some conditions.
    pub(super) fn text(&self, chosen: &[usize]) -> String {
        self.make(chosen, Style::Literals)
    }

    /// A description of some conditions.
    pub(super) fn describe(&self, chosen: &[usize]) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut conditions: Vec<String> = Vec::new();
        for &i in chosen {
            let condition = &self.conditions[i];
            if let Some(RestAttribute {
                rest,
                attr,
                name,
                literal,
            }) = &condition.attribute
            {
                let value = literal.unwrap_or(name.as_str());
                parts.push(format!("{{{attr} = {value}}} beside `..{rest}`"));
                if literal.is_some() {
                    continue;
                }
            }
            conditions.push(condition.text.clone());
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

    fn make(&self, chosen: &[usize], style: Style) -> String {
        let mut conditions = Vec::new();
        let mut taken: Vec<(String, String)> = Vec::new();
        for &i in chosen {
            let condition = &self.conditions[i];
            if let Some(RestAttribute {
                rest,
                attr,
                name,
                literal,
            }) = &condition.attribute
            {
                let literal = literal.filter(|_| style == Style::Literals);
                taken.push((
                    format!("..{rest}"),
                    format!("{attr} = {}", literal.unwrap_or(name.as_str())),
                ));
                if literal.is_some() {
                    continue;
                }
            }
            conditions.push(condition.text.clone());
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
        conditions: Vec::new(),
    };
    in_rests(rule, &mut out, loads);
    let mut texts = Vec::new();
    of_ranks(rule, &mut texts);
    of_pairs(rule, &mut texts);
    of_variables(rule, &mut texts);
    of_attributes(rule, &mut texts);
    out.conditions
        .extend(texts.into_iter().map(|text| Condition { text, attribute: None }));
    out
}

/// A condition cannot name an attribute in a rest, so the attribute is taken out of the rest and bound.
fn in_rests(rule: &Rule, out: &mut Vocabulary, loads: &dyn Fn(&str) -> bool) {
    for rest in &rule.rests {
        for Restriction { attr, value } in IN_A_REST {
            let name = format!("{attr}_{rest}");
            let (text, literal) = match value {
                RestrictedValue::Literal(literal) => (format!("{name} == {literal}"), Some(literal)),
                RestrictedValue::Condition(text) => (text.replace('_', &name), None),
            };
            let rest = rest.clone();
            out.conditions.push(Condition {
                text,
                attribute: Some(RestAttribute {
                    rest,
                    attr,
                    name,
                    literal,
                }),
            });
            if !loads(&out.make(&[out.conditions.len() - 1], Style::Conditions)) {
                out.conditions.pop();
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
