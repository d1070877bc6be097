//! The text of a rule: its words, and the expressions they make.

use num_rational::BigRational;

use crate::poly::decimal;

/// Limits on nested expressions, each of which takes some stack, and on the words of a rule.
const DEPTH: usize = 60;
const WORDS: usize = 3000;

/// An expression of a rule. Operators between or before operands are calls by their names: `x + y` is `add(x, y)`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ex {
    Number(BigRational),
    Name(String),
    /// An operator with its operands and attributes. A field is an operator whose name begins with a point.
    Call(String, Vec<Ex>, Vec<(String, Ex)>),
    List(Vec<Ex>),
    AnyOf(Vec<Ex>),
}

/// A rule as it is written.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) name: String,
    /// The variables, each with its element type, if that is written.
    pub(crate) variables: Vec<(String, Option<String>)>,
    pub(crate) source: (Vec<(String, Ex)>, Ex),
    pub(crate) target: (Vec<(String, Ex)>, Ex),
    pub(crate) conditions: Vec<Ex>,
    /// Written with `<=>`: the backward rule is the same equation.
    pub(crate) both: bool,
}

/// Signs of two characters.
const PAIRS: [&str; 9] = ["=>", "==", "<=", ">=", "&&", "||", "++", "**", ".."];

/// Operators between operands, from those that bind least, with the name of the call.
const BETWEEN: [(&str, usize, &str); 15] = [
    ("||", 0, "or"),
    ("or", 0, "or"),
    ("&&", 1, "and"),
    ("and", 1, "and"),
    ("==", 2, "equal"),
    ("<=", 2, "less_or_equal"),
    (">=", 2, "greater_or_equal"),
    ("<", 2, "less"),
    (">", 2, "greater"),
    ("in", 2, "in"),
    ("|", 3, "|"),
    ("+", 4, "add"),
    ("-", 4, "sub"),
    ("*", 5, "mul"),
    ("/", 5, "div"),
];

/// Splits a text into words; comments are left out.
fn words(text: &str) -> Res<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let run = |from: usize, test: fn(char) -> bool| {
            let tail = rest.get(from..).unwrap_or_default();
            from + tail.find(|c| !test(c)).unwrap_or(tail.len())
        };
        let mut end = first.len_utf8();
        if rest.starts_with("//") {
            end = run(0, |c| c != '\n');
        } else if first.is_ascii_alphabetic() || first == '_' {
            end = run(0, |c| c.is_ascii_alphanumeric() || c == '_');
        } else if first.is_ascii_digit() {
            end = run(0, |c| c.is_ascii_digit() || c == '.');
            if rest[end..].starts_with(['e', 'E']) {
                let sign = usize::from(rest[end + 1..].starts_with(['-', '+']));
                end = run(end + 1 + sign, |c| c.is_ascii_digit());
            }
        } else if first == '"' {
            end = run(1, |c| c != '"') + 1;
        } else if rest.starts_with("<=>") {
            end = 3;
        } else if PAIRS.iter().any(|p| rest.starts_with(p)) {
            end = 2;
        }
        let word = rest.get(..end).ok_or("a quotation mark is not closed")?;
        if !word.starts_with("//") {
            out.push(word.to_owned());
        }
        rest = rest[end..].trim_start();
    }
    if out.len() > WORDS {
        Err("the rule is too long".to_owned())
    } else {
        Ok(out)
    }
}

/// Reads words in order.
struct Reader {
    words: Vec<String>,
    at: usize,
    depth: usize,
}

type Res<T> = Result<T, String>;

/// Reads a rule.
pub(crate) fn rule(text: &str) -> Res<Rule> {
    let mut reader = Reader::new(text)?;
    let rule = reader.rule()?;
    reader.done().map(|()| rule)
}

/// Reads an expression.
pub(crate) fn expression(text: &str) -> Res<Ex> {
    let mut reader = Reader::new(text)?;
    let e = reader.level(0)?;
    reader.done().map(|()| e)
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

impl Reader {
    fn new(text: &str) -> Res<Reader> {
        let words = words(text)?;
        Ok(Reader { words, at: 0, depth: 0 })
    }

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
        self.skip(word)
            .then_some(())
            .ok_or_else(|| format!("`{word}` is missing at `{}`", self.peek()))
    }

    fn name(&mut self) -> Res<String> {
        let name = self.next();
        if is_name(&name) {
            Ok(name)
        } else {
            Err(format!("a name is missing at `{name}`"))
        }
    }

    fn done(&self) -> Res<()> {
        let more = self.peek();
        if more.is_empty() {
            Ok(())
        } else {
            Err(format!("the text goes on at `{more}`"))
        }
    }

    fn rule(&mut self) -> Res<Rule> {
        self.expect("rule")?;
        let mut name = self.name()?;
        while self.skip("-") {
            name = format!("{name}-{}", self.next());
        }
        self.expect("(")?;
        let mut variables = Vec::new();
        while !self.skip(")") {
            let variable = self.name()?;
            let mut ty = None;
            while !matches!(self.peek(), "," | ")" | "") {
                match self.next().as_str() {
                    "[" => while !matches!(self.next().as_str(), "]" | "") {},
                    ":" | "param" | "const" => {}
                    word => ty = Some(word.to_owned()),
                }
            }
            variables.push((variable, ty));
            self.skip(",");
        }
        self.expect("{")?;
        let source = self.side()?;
        let both = self.skip("<=>");
        if !both {
            self.expect("=>")?;
        }
        let target = self.side()?;
        let mut conditions = Vec::new();
        if self.skip("where") {
            conditions = self.list()?;
        }
        if self.skip("numerics") {
            self.level(0)?;
        }
        // What is assumed of values, such as that they are finite, holds for all real numbers.
        if self.skip("assuming") {
            self.list()?;
        }
        self.expect("}")?;
        Ok(Rule {
            name,
            variables,
            source,
            target,
            conditions,
            both,
        })
    }

    /// Named parts, and a result.
    fn side(&mut self) -> Res<(Vec<(String, Ex)>, Ex)> {
        let mut lets = Vec::new();
        while self.skip("let") {
            let name = self.name()?;
            self.expect("=")?;
            lets.push((name, self.level(0)?));
            self.expect(";")?;
        }
        Ok((lets, self.level(0)?))
    }

    fn list(&mut self) -> Res<Vec<Ex>> {
        let mut out = Vec::new();
        while !matches!(self.peek(), ")" | "]") {
            out.push(self.level(0)?);
            if !self.skip(",") {
                break;
            }
        }
        Ok(out)
    }

    fn level(&mut self, level: usize) -> Res<Ex> {
        if level > 5 {
            return self.unary();
        }
        let mut left = self.level(level + 1)?;
        while let Some((op, _, name)) = BETWEEN.iter().find(|(op, own, _)| *own == level && *op == self.peek()) {
            self.at += 1;
            let right = self.level(level + 1)?;
            left = match (left, *op) {
                (Ex::AnyOf(mut all), "|") => {
                    all.push(right);
                    Ex::AnyOf(all)
                }
                (Ex::Name(a), "|") if matches!(right, Ex::Name(_)) => {
                    return Err(format!("the operator `|` after `{a}`"));
                }
                (left, "|") => Ex::AnyOf(vec![left, right]),
                (left, _) => Ex::Call((*name).to_owned(), vec![left, right], Vec::new()),
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
        let out = match self.peek() {
            "-" | "!" => {
                let name = if self.next() == "-" { "neg" } else { "not" };
                Ex::Call(name.to_owned(), vec![self.unary()?], Vec::new())
            }
            _ => self.primary()?,
        };
        self.depth -= 1;
        Ok(out)
    }

    fn primary(&mut self) -> Res<Ex> {
        let word = self.next();
        let mut out = match word.as_str() {
            "(" => {
                let e = self.level(0)?;
                self.expect(")")?;
                e
            }
            "[" => {
                let all = self.list()?;
                self.expect("]")?;
                Ex::List(all)
            }
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => {
                Ex::Number(decimal(&word).ok_or_else(|| format!("`{word}` is too long a number"))?)
            }
            _ if !is_name(&word) && !word.starts_with('"') => {
                return Err(format!("an expression is missing at `{word}`"));
            }
            _ if self.skip("(") => {
                let operands = self.list()?;
                self.expect(")")?;
                Ex::Call(word.trim_matches('"').to_owned(), operands, self.attributes()?)
            }
            _ => Ex::Name(word),
        };
        if self.skip(".") {
            out = Ex::Call(format!(".{}", self.next()), vec![out], Vec::new());
        }
        Ok(out)
    }

    fn attributes(&mut self) -> Res<Vec<(String, Ex)>> {
        let mut out = Vec::new();
        if !self.skip("{") {
            return Ok(out);
        }
        while !self.skip("}") {
            let name = self.name()?;
            self.expect("=")?;
            out.push((name, self.level(0)?));
            self.skip(",");
        }
        Ok(out)
    }
}
