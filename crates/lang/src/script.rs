//! Scripts: sequences of statements, each a name with its value, or only a value.

use std::ops::Range;
use std::sync::Arc;

use super::ast::{Ast, ExprId, Function, Ident, TypeExpr};
use super::parse::parse_text;
use super::syntax::Rule;
use tautomer_diag::{Diagnostic, Diagnostics, Source, Span};

/// The syntax of scripts and the form of their output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Compat {
    /// The expression language: `*` is the elementwise product, `@` and `dot` are matrix products.
    #[default]
    Off,
    /// `.` is the elementwise product, `*` is `dot`.
    Spelling,
    /// Like `Spelling`; in addition, types are written `x:tensor[3]`, values as nested lists, and a vector on the left
    /// of `*` is treated as a row, also in the result.
    Full,
}

/// The pragma that makes `^` the power operator.
pub(super) const POWER_CARET: &str = "power_caret";

/// A script.
#[derive(Debug, Clone)]
pub struct Script {
    /// Its text.
    pub source: Arc<Source>,
    /// The spelling that its pragmas select, or else the one it was read with.
    pub compat: Compat,
    /// True if `^` is the power operator.
    pub power_caret: bool,
    /// Its functions.
    pub functions: Arc<[Function]>,
    /// Its statements.
    pub statements: Vec<Statement>,
}

/// A statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Its expressions, and those of the functions; they refer to the text of the script.
    pub ast: Ast,
    /// The functions of the script.
    pub functions: Arc<[Function]>,
    /// The name given to the value, if any.
    pub name: Option<Ident>,
    /// The declared type.
    pub ty: Option<TypeExpr>,
    /// The value; `None` for an input, which has only a name and a type.
    pub value: Option<ExprId>,
    /// Its span.
    pub span: Span,
}

/// Parses a script. Statements end with the line, unless a bracket is open or the line ends with an operator; `;`
/// separates statements on one line. It may begin with pragmas: `pragma compat`, `pragma compat full`, and
/// `pragma power_caret`, which makes `^` the power operator.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_lang::{Compat, parse_script};
///
/// let text = "x = [1, 2]\ny = x +\n  [3, 4]; print(y)";
/// let script = parse_script(Arc::new(Source::new("sum.taut", text)), Compat::Off).unwrap();
/// assert_eq!(script.statements.len(), 3);
/// ```
///
/// # Errors
/// The first problem of each statement.
pub fn parse_script(source: Arc<Source>, compat: Compat) -> Result<Script, Diagnostics> {
    parse_script_as(source, compat, false)
}

/// Parses a script as [`parse_script`] does; `power_caret` makes `^` the power operator even without the pragma.
///
/// # Errors
/// The first problem of each statement.
pub fn parse_script_as(source: Arc<Source>, compat: Compat, power_caret: bool) -> Result<Script, Diagnostics> {
    if u32::try_from(source.text.len()).is_err() {
        let problem = Diagnostic::error("T0602", format!("{} is longer than 4 GiB", source.name));
        return Err(problem.in_source(&source).into());
    }
    // The pragmas determine how the rest is split into statements.
    let pragmas: Vec<Range<usize>> = split(&source.text, Compat::Off)
        .into_iter()
        .take_while(|part| pragma(&source.text[part.clone()]).is_some())
        .collect();
    let (mut compat, mut power_caret) = (compat, power_caret);
    let mut problems = Diagnostics::new();
    for part in &pragmas {
        match pragma(&source.text[part.clone()]).unwrap_or_default() {
            "compat" => compat = Compat::Spelling,
            "compat full" => compat = Compat::Full,
            POWER_CARET => power_caret = true,
            other => problems.push(
                Diagnostic::error("T0001", format!("unknown pragma `{other}`"))
                    .label(span_of(part), "")
                    .help("known pragmas are `pragma compat`, `pragma compat full` and `pragma power_caret`"),
            ),
        }
    }
    // Functions are visible everywhere in the script and always use the syntax of programs.
    let (functions, parts): (Vec<_>, Vec<_>) = split(&source.text, compat)
        .split_off(pragmas.len())
        .into_iter()
        .partition(|part| begins_function(&source.text[part.clone()]));
    let mut ast = Ast::new(source.clone());
    ast.power_caret = power_caret;
    let mut known = Vec::new();
    for part in functions {
        let before = ast.clone();
        let text = &source.text[part.clone()];
        match parse_text(&source, span_of(&part), text, Rule::script_function, |b, pair| {
            b.script_function(pair, before)
        }) {
            Ok((grown, function)) => {
                ast = grown;
                known.push(function);
            }
            Err(found) => problems.extend(found),
        }
    }
    let functions: Arc<[Function]> = known.into();
    let mut statements = Vec::new();
    for part in parts {
        let span = span_of(&part);
        let text = &source.text[part];
        let translated = (compat != Compat::Off).then(|| translate(text));
        let before = ast.clone();
        match parse_text(
            &source,
            span,
            translated.as_deref().unwrap_or(text),
            Rule::statement,
            |b, pair| b.statement(pair, before),
        ) {
            Ok(statement) => statements.push(Statement {
                functions: functions.clone(),
                ..statement
            }),
            Err(found) => problems.extend(found),
        }
    }
    problems.sort();
    let script = Script {
        source: source.clone(),
        compat,
        power_caret,
        functions,
        statements,
    };
    problems.in_source(&source).into_result(script)
}

/// Whether a part of a script is a function.
fn begins_function(part: &str) -> bool {
    let rest = part.trim_start().strip_prefix("fn");
    rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

/// The argument of a statement that is a pragma.
fn pragma(statement: &str) -> Option<&str> {
    let rest = statement.trim().strip_prefix("pragma")?;
    rest.starts_with(char::is_whitespace).then(|| rest.trim())
}

/// Whether a text is a script and not a program: it has a pragma that only scripts have, an assignment or a `print`
/// statement, or consists of several expressions.
///
/// ```
/// use tautomer_lang::is_script;
/// assert!(is_script("x = [1, 2]\nx + x") && is_script("1 + 2\nsqrt(2)"));
/// assert!(!is_script("fn main(x: f32[2]) { let y = x; y }") && !is_script("let y = 1; y + a"));
/// assert!(!is_script("a *\n  b") && !is_script("pragma power_caret\na ^ b"));
/// ```
pub fn is_script(text: &str) -> bool {
    let parts = split(text, Compat::Off);
    let (mut expressions, mut items) = (0, false);
    for part in &parts {
        let text = text[part.clone()].trim_start();
        let end = text
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let rest = rest.trim_start();
        let assigns = rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>");
        if !word.is_empty() && (assigns || word == "print" && rest.starts_with('(')) {
            return true;
        }
        match pragma(text) {
            Some(POWER_CARET) => {}
            Some(_) => return true,
            None => {
                items |= [
                    "fn", "opaque", "operator", "let", "use", "rule", "example", "ruleset", "no",
                ]
                .contains(&word);
                expressions += 1;
            }
        }
    }
    // One expression may continue over lines that would be valid on their own: `a` and then `- b`.
    let source = || Arc::new(Source::new("", text));
    expressions > 1 && !items && super::parse_program(source()).is_err() && parse_script(source(), Compat::Off).is_ok()
}

/// Whether the text is an incomplete statement: a bracket is open, or it ends with an operator.
///
/// ```
/// use tautomer_lang::{Compat, needs_more};
/// let more = |text| needs_more(text, Compat::Off);
/// assert!(more("x = [1,") && more("x = y +") && !more("x = y"));
/// ```
pub fn needs_more(text: &str, compat: Compat) -> bool {
    let mut scan = Tokens::new(text, compat);
    while scan.next().is_some() {}
    scan.depth > 0 || scan.open_ended
}

fn span_of(part: &Range<usize>) -> Span {
    Span::new(part.start as u32, part.end as u32)
}

/// The byte ranges of statements.
fn split(text: &str, compat: Compat) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut tokens = Tokens::new(text, compat);
    let mut begin: Option<usize> = None;
    let mut end = 0;
    while let Some((token, range)) = tokens.next() {
        match token {
            Token::End => out.extend(begin.take().map(|begin| begin..end)),
            Token::Dot | Token::Star | Token::Other => {
                begin.get_or_insert(range.start);
                end = range.end;
            }
        }
    }
    out.extend(begin.map(|begin| begin..end));
    out
}

/// Rewrites `.` between values as `*`, and `*` as `@`, without moving any byte.
fn translate(text: &str) -> String {
    let mut out = text.to_owned();
    let mut tokens = Tokens::new(text, Compat::Spelling);
    while let Some((token, range)) = tokens.next() {
        match token {
            Token::Dot => out.replace_range(range, "*"),
            Token::Star => out.replace_range(range, "@"),
            Token::End | Token::Other => {}
        }
    }
    out
}

/// The tokens of a script, as far as splitting and respelling statements requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// A statement ends here.
    End,
    /// A single `.` that is not part of a number.
    Dot,
    /// A single `*`.
    Star,
    /// Anything else except blanks and comments.
    Other,
}

struct Tokens<'a> {
    text: &'a str,
    compat: Compat,
    at: usize,
    depth: usize,
    /// True if the last token was an operator, which needs an operand.
    open_ended: bool,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str, compat: Compat) -> Tokens<'a> {
        Tokens {
            text,
            compat,
            at: 0,
            depth: 0,
            open_ended: false,
        }
    }

    fn next(&mut self) -> Option<(Token, Range<usize>)> {
        loop {
            let rest = &self.text[self.at..];
            let first = rest.chars().next()?;
            let start = self.at;
            let (token, length) = match first {
                '\n' if self.depth == 0 && !self.open_ended => (Token::End, 1),
                ';' if self.depth == 0 => (Token::End, 1),
                c if c.is_whitespace() => {
                    self.at += c.len_utf8();
                    continue;
                }
                '/' if rest.starts_with("//") => {
                    self.at += rest.find('\n').unwrap_or(rest.len());
                    continue;
                }
                c => self.token(c, rest),
            };
            self.at += length;
            if token == Token::End {
                self.open_ended = false;
            }
            return Some((token, start..self.at));
        }
    }

    /// A token other than `End`, with its length.
    fn token(&mut self, first: char, rest: &str) -> (Token, usize) {
        self.open_ended = false;
        let run = |wanted: &dyn Fn(char) -> bool| rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        match first {
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            quote @ ('"' | '\'') => {
                let mut escaped = false;
                let close = rest[1..].find(|c| {
                    let ends = !escaped && (c == quote || c == '\n');
                    escaped = c == '\\' && !escaped;
                    ends
                });
                return (Token::Other, close.map_or(rest.len(), |n| n + 2));
            }
            c if c.is_ascii_digit() => {
                let digits = run(&|c| c.is_ascii_digit() || c == '_');
                let fraction = rest[digits..].strip_prefix('.').map_or(0, |after| {
                    let n = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
                    // `1.` is a number, but `.` is a product in the compat spellings, and `1..3` a range.
                    let ends = !after.starts_with(|c: char| c == '.' || c == '_' || c.is_alphanumeric());
                    match n {
                        0 if self.compat != Compat::Off || !ends => 0,
                        n => n + 1,
                    }
                });
                return (Token::Other, digits + fraction);
            }
            c if c.is_alphanumeric() || c == '_' => {
                let word = run(&|c| c.is_alphanumeric() || c == '_');
                self.open_ended = ["and", "or", "in", "not"].contains(&&rest[..word]);
                return (Token::Other, word);
            }
            '.' => {
                let n = run(&|c| c == '.');
                self.open_ended = n == 1;
                return (if n == 1 { Token::Dot } else { Token::Other }, n);
            }
            '*' => {
                let n = run(&|c| c == '*');
                self.open_ended = true;
                return (if n == 1 { Token::Star } else { Token::Other }, n);
            }
            '+' | '-' | '/' | '%' | '=' | '<' | '>' | '!' | '~' | '&' | '|' | '^' | ',' | '@' => {
                self.open_ended = true;
            }
            _ => {}
        }
        (Token::Other, first.len_utf8())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        split(text, Compat::Off).into_iter().map(|part| &text[part]).collect()
    }

    #[test]
    fn statements_end_with_lines_and_semicolons() {
        assert_eq!(parts("x = 1\ny = 2; z = 3\n\n// end\n"), ["x = 1", "y = 2", "z = 3"]);
        assert_eq!(parts("x = [1,\n 2]\ny = x +\n 1"), ["x = [1,\n 2]", "y = x +\n 1"]);
        assert_eq!(parts("x = 1.\ny = .5 + 2.\nz"), ["x = 1.", "y = .5 + 2.", "z"]);
        assert_eq!(parts("s = \"a;\\\"b\"; t"), ["s = \"a;\\\"b\"", "t"]);
    }

    #[test]
    fn the_seeds_spelling_keeps_numbers_and_places() {
        assert_eq!(translate("x . y * z + 1.5.w"), "x * y @ z + 1.5*w");
        assert_eq!(translate("x ** 2 // a . b"), "x ** 2 // a . b");
    }

    #[test]
    fn problems_stand_where_the_text_has_them() {
        let source = Arc::new(Source::new("s.taut", "x = [1, 2]\ny = x * )\nz = *"));
        let problems = parse_script(source, Compat::Spelling).unwrap_err();
        let places: Vec<u32> = problems.iter().filter_map(|p| Some(p.span()?.start)).collect();
        assert_eq!(places, [19, 25]);
    }
}
