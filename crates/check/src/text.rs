//! The text of rules and of declarations of operators: its words, and the expressions they make.

use std::{collections::BTreeMap, sync::OnceLock};

use num_rational::BigRational;

use crate::operators::Kind;
use crate::poly::decimal;

/// Limits on nested expressions, each of which takes some stack, and on the words of a rule.
const DEPTH: usize = 60;
const WORDS: usize = 3000;

/// An expression. All but numbers and names are calls: `x + y` is `add(x, y)`, `x.rank` is `.rank(x)`, `[x]` is `[](x)`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ex {
    Number(BigRational),
    Name(String),
    /// An operator with its operands and attributes, of which `..a` has the name `..`.
    Call(String, Vec<Ex>, Vec<(String, Ex)>),
}

pub(crate) type Side = (Vec<(String, Ex)>, Ex);

#[derive(Debug, Clone, Default)]
pub(crate) struct Rule {
    pub(crate) name: String,
    /// The variables, each with its element type, if that is written.
    pub(crate) variables: Vec<(String, Option<String>)>,
    /// Names that stand for each operator of a list.
    pub(crate) families: Vec<(String, Vec<String>)>,
    pub(crate) sides: Vec<Side>,
    pub(crate) conditions: Vec<Ex>,
    pub(crate) both: bool,
}

/// An operator as it is declared, with the defaults of attributes, and perhaps with a body.
#[derive(Debug, Clone)]
pub(crate) struct Declaration {
    pub(crate) operands: Vec<String>,
    pub(crate) attributes: Vec<(String, Option<Ex>)>,
    pub(crate) body: Option<Side>,
}

const SIGNS: [&str; 11] = ["<=>", "=>", "==", "!=", "<=", ">=", "&&", "||", "++", "..", "//"];

/// Operators between operands, each with the name of its call, from those that bind least.
const BETWEEN: [&str; 6] = [
    "|| or or or",
    "&& and and and",
    "== equal != differ <= less_or_equal >= greater_or_equal < less > greater in in",
    "| |",
    "+ add - sub ++ ++",
    "* mul / div",
];

fn words(text: &str) -> Res<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let run = |from: usize, test: fn(char) -> bool| {
            let tail = rest.get(from..).unwrap_or_default();
            from + tail.find(|c| !test(c)).unwrap_or(tail.len())
        };
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        let end = match first {
            '/' if sign == Some(&"//") => run(0, |c| c != '\n'),
            'a'..='z' | 'A'..='Z' | '_' => run(0, |c| c.is_ascii_alphanumeric() || c == '_'),
            '0'..='9' => {
                let number = &rest[..rest.find("..").unwrap_or(rest.len())];
                let goes_on = |i: &usize| match (&number[i - 1..*i], &number[*i..]) {
                    (_, next) if next.starts_with(|c: char| c.is_ascii_digit() || ".eE".contains(c)) => true,
                    (last, next) => "eE".contains(last) && next.starts_with(['-', '+']),
                };
                (1..number.len()).take_while(goes_on).last().unwrap_or(0) + 1
            }
            '"' => run(1, |c| c != '"') + 1,
            _ => sign.map_or(first.len_utf8(), |sign| sign.len()),
        };
        let word = rest.get(..end).ok_or("a quotation mark is not closed")?;
        out.extend((!word.starts_with("//")).then(|| word.to_owned()));
        rest = rest[end..].trim_start();
    }
    Ok(out)
}

/// The definitions of composite operators, which are the tool's, and the checker's own declarations of others.
const TEXTS: [&str; 11] = [
    include_str!("../operators.ops"),
    include_str!("../../../ops/activation.ops"),
    include_str!("../../../ops/along.ops"),
    include_str!("../../../ops/elementary.ops"),
    include_str!("../../../ops/kernels.ops"),
    include_str!("../../../ops/like.ops"),
    include_str!("../../../ops/matmul.ops"),
    include_str!("../../../ops/norm.ops"),
    include_str!("../../../ops/onnxruntime.ops"),
    include_str!("../../../ops/pool.ops"),
    include_str!("../../../ops/softmax.ops"),
];

pub(crate) fn table() -> &'static BTreeMap<String, Declaration> {
    static TABLE: OnceLock<BTreeMap<String, Declaration>> = OnceLock::new();
    TABLE.get_or_init(|| TEXTS.iter().rev().flat_map(|text| declarations(text)).collect())
}

struct Reader {
    words: Vec<String>,
    at: usize,
    depth: usize,
    /// Before the braces of a choice, operators have no attributes.
    bare: bool,
}

type Res<T> = Result<T, String>;

pub(crate) fn rule(text: &str) -> Res<Rule> {
    let mut reader = Reader { words: words(text)?, at: 0, depth: 0, bare: false };
    if reader.words.len() > WORDS {
        return Err("the text is too long".to_owned());
    }
    match (reader.rule()?, reader.peek()) {
        (rule, "") => Ok(rule),
        (_, more) => Err(format!("the text goes on at `{more}`")),
    }
}

/// Reads the declarations in a text, with their names; those with anything unknown are left out.
fn declarations(text: &str) -> Vec<(String, Declaration)> {
    let mut reader = Reader { words: words(text).unwrap_or_default(), at: 0, depth: 0, bare: false };
    let starts = (1..reader.words.len()).filter(|at| reader.words[at - 1] == "operator").collect::<Vec<_>>();
    let mut read = |at| {
        (reader.at, reader.depth, reader.bare) = (at, 0, false);
        reader.declaration().ok()
    };
    starts.into_iter().filter_map(&mut read).collect()
}

fn call(name: &str, operands: Vec<Ex>) -> Ex {
    Ex::Call(name.to_owned(), operands, Vec::new())
}

fn name(word: &str) -> Ex {
    Ex::Name(word.to_owned())
}

impl Reader {
    fn peek(&self) -> &str {
        self.words.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        self.at += 1;
        self.words.get(self.at - 1).cloned().unwrap_or_default()
    }

    fn skip(&mut self, word: &str) -> bool {
        let found = self.peek() == word;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, word: &str) -> Res<()> {
        let found = self.skip(word).then_some(());
        found.ok_or_else(|| format!("`{word}` is missing at `{}`", self.peek()))
    }

    fn name(&mut self) -> Res<String> {
        let name = self.next();
        let found = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '"');
        found.then(|| name.trim_matches('"').to_owned()).ok_or_else(|| format!("a name is missing at `{name}`"))
    }

    /// Passes over words up to one of these outside of brackets, and returns them.
    fn pass(&mut self, ends: &[&str]) -> Vec<String> {
        let (from, mut inside) = (self.at, 0);
        while !(self.peek().is_empty() || inside == 0 && ends.contains(&self.peek())) {
            inside += match self.next().as_str() {
                "[" | "(" | "{" => 1,
                "]" | ")" | "}" => -1,
                _ => 0,
            };
        }
        self.words.get(from..self.at).unwrap_or_default().to_vec()
    }

    /// What `read` reads again and again up to a closing bracket.
    fn all<T>(&mut self, close: &str, read: impl Fn(&mut Self) -> Res<T>) -> Res<Vec<T>> {
        let mut out = Vec::new();
        while !self.skip(close) {
            out.push(read(self)?);
            self.skip(",");
        }
        Ok(out)
    }

    fn rule(&mut self) -> Res<Rule> {
        self.expect("rule")?;
        let mut rule = Rule { name: self.name()?, ..Rule::default() };
        while self.skip("-") {
            rule.name = format!("{}-{}", rule.name, self.next());
        }
        if self.skip("(") {
            rule.variables = self.all(")", |own| {
                let (variable, words) = (own.name()?, own.pass(&[",", ")"]));
                let marks = |word: &&String| ![":", "param", "const"].contains(&word.as_str());
                Ok((variable, words.iter().take_while(|word| *word != "[").find(marks).cloned()))
            })?;
        }
        self.expect("{")?;
        if self.skip("for") {
            rule.families = self.all(":", |own| {
                let family = own.name()?;
                own.expect("in").map(|()| (family, own.pass(&[",", ":"])))
            })?;
        }
        rule.sides.push(self.side()?);
        rule.both = self.skip("<=>");
        if !rule.both {
            self.expect("=>")?;
        }
        rule.sides.push(self.side()?);
        if self.skip("where") {
            rule.conditions.push(self.level(0)?);
            while self.skip(",") {
                rule.conditions.push(self.level(0)?);
            }
        }
        // The class; and what is assumed of values, such as that they are finite, which holds for all real numbers.
        if ["numerics", "assuming"].contains(&self.peek()) {
            self.pass(&["}"]);
        }
        self.expect("}")?;
        Ok(rule)
    }

    fn declaration(&mut self) -> Res<(String, Declaration)> {
        let operator = self.name()?;
        let (mut attributes, mut body) = (Vec::new(), None);
        self.expect("(")?;
        let operands = self.all(")", |own| {
            let operand = own.name()?;
            own.pass(&[",", ")"]);
            Ok(operand)
        })?;
        if self.words.get(self.at + 2).is_some_and(|word| word == ":") && self.skip("{") {
            attributes = self.all("}", |own| {
                let (attribute, words) = (own.name()?, own.pass(&["=", ",", "}"]));
                let missing = words.last().filter(|last| *last == "?").map(|_| name("none"));
                Ok((attribute, if own.skip("=") { Some(own.level(0)?) } else { missing }))
            })?;
        }
        self.pass(&["{", "operator", ";"]);
        if self.skip("{") {
            body = Some(self.side()?);
            self.expect("}")?;
        }
        Ok((operator, Declaration { operands, attributes, body }))
    }

    fn side(&mut self) -> Res<Side> {
        let mut lets = Vec::new();
        while self.skip("let") {
            let name = self.name()?;
            self.expect("=")?;
            lets.push((name, self.level(0)?));
            self.expect(";")?;
        }
        Ok((lets, self.level(0)?))
    }

    fn list(&mut self, close: &str) -> Res<Vec<Ex>> {
        self.all(close, |reader| {
            let own = reader.level(0)?;
            if !reader.skip("for") {
                return Ok(own);
            }
            let each = name(&reader.name()?);
            reader.expect("in")?;
            let all = reader.level(4)?;
            let kept = if reader.skip("if") { reader.level(0)? } else { name("true") };
            Ok(call("for", vec![each, all, own, kept]))
        })
    }

    fn level(&mut self, level: usize) -> Res<Ex> {
        let Some(signs) = BETWEEN.get(level) else { return self.unary() };
        let signs: Vec<&str> = signs.split(' ').collect();
        let mut left = self.level(level + 1)?;
        while let Some(&[sign, name]) = signs.as_chunks::<2>().0.iter().find(|[sign, _]| *sign == self.peek()) {
            self.at += 1;
            let right = self.level(level + 1)?;
            left = match (&left, &right, sign) {
                (Ex::Name(a), Ex::Name(_), "|") => return Err(format!("the operator `|` after `{a}`")),
                (_, _, "!=") => call("not", vec![call("equal", vec![left, right])]),
                _ => call(name, vec![left, right]),
            };
            if level == 2 {
                break;
            }
        }
        Ok(left)
    }

    fn unary(&mut self) -> Res<Ex> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("the expression is nested too deeply".to_owned());
        }
        let out = if self.skip("-") {
            call("neg", vec![self.unary()?])
        } else if self.skip("!") || self.skip("not") {
            // The word binds less than comparisons.
            call("not", vec![if self.words[self.at - 1] == "!" { self.unary()? } else { self.level(2)? }])
        } else if self.skip("when") {
            self.bare = true;
            let condition = self.level(0)?;
            self.bare = false;
            let mut parts = vec![condition, self.block()?];
            self.expect("else")?;
            parts.push(if self.peek() == "when" { self.unary()? } else { self.block()? });
            call("when", parts)
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(out)
    }

    fn block(&mut self) -> Res<Ex> {
        self.expect("{")?;
        let out = self.level(0)?;
        self.expect("}").map(|()| out)
    }

    fn primary(&mut self) -> Res<Ex> {
        let word = self.next();
        let mut out = match word.as_bytes().first() {
            Some(b'(') => match self.list(")")? {
                mut all if all.len() == 1 => all.remove(0),
                all => call("()", all),
            },
            Some(b'[') => call("[]", self.list("]")?),
            Some(b'0'..=b'9') => {
                self.at += usize::from(Kind::of(self.peek()).is_some());
                Ex::Number(decimal(&word).ok_or_else(|| format!("`{word}` is too long a number"))?)
            }
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'"') if self.skip("(") => {
                Ex::Call(word.trim_matches('"').to_owned(), self.list(")")?, self.attributes()?)
            }
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'"') => Ex::Name(word),
            _ => return Err(format!("an expression is missing at `{word}`")),
        };
        loop {
            if self.skip(".") {
                out = call(&format!(".{}", self.next()), vec![out]);
            } else if self.skip("[") {
                let first = if self.peek() == ".." { name("none") } else { self.level(0)? };
                let mut parts = vec![out, first];
                if self.skip("..") {
                    parts.push(if self.peek() == "]" { name("none") } else { self.level(0)? });
                }
                self.expect("]")?;
                out = call("[..]", parts);
            } else {
                return Ok(out);
            }
        }
    }

    fn attributes(&mut self) -> Res<Vec<(String, Ex)>> {
        if self.bare || !self.skip("{") {
            return Ok(Vec::new());
        }
        self.all("}", |own| {
            let (rest, name) = (own.skip(".."), own.name()?);
            if rest {
                return Ok(("..".to_owned(), Ex::Name(name)));
            }
            own.expect("=")?;
            Ok((name, own.level(0)?))
        })
    }
}
