//! A script taken apart into statements, and each statement parsed.

use std::sync::Arc;

use super::{Dialect, PLAIN_PRAGMA, plain};
use crate::diag::{Diagnostic, Diagnostics, Source, Span};
use crate::lang::ast::{ExprId, ExprKind, Program};
use crate::lang::{is_name, parse_program};

/// A script as statements.
#[derive(Debug, Clone)]
pub struct Script {
    /// The whole text.
    pub source: Arc<Source>,
    /// In order.
    pub statements: Vec<Statement>,
}

/// `name = expression`, or an expression that is shown.
#[derive(Debug, Clone)]
pub struct Statement {
    /// What is named, if anything is.
    pub name: Option<Arc<str>>,
    /// Where the statement stands.
    pub span: Span,
    /// A program whose body is the expression; its spans are those of the script.
    pub program: Program,
    /// Where `rand` stands: the name that has taken its place, and its extents.
    pub random: Vec<(Arc<str>, Vec<usize>)>,
}

/// What a position of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// A statement ends here: a line break or `;` outside of brackets.
    End,
    /// `=` outside of brackets that is no part of another sign.
    Equals,
}

/// Calls `f` with what ends statements and names values; texts in quotes and comments are passed over. Returns how many
/// brackets are left open.
fn marks(text: &str, mut f: impl FnMut(usize, Mark)) -> isize {
    let bytes = text.as_bytes();
    let (mut depth, mut i) = (0isize, 0);
    while i < bytes.len() {
        let next = bytes.get(i + 1).copied();
        match bytes[i] {
            b'/' if next == Some(b'/') => {
                while i + 1 < bytes.len() && bytes[i + 1] != b'\n' {
                    i += 1;
                }
            }
            quote @ (b'"' | b'\'') => {
                i += 1;
                while i < bytes.len() && bytes[i] != quote && bytes[i] != b'\n' {
                    i += 1 + usize::from(bytes[i] == b'\\');
                }
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'\n' | b';' if depth <= 0 => f(i, Mark::End),
            b'=' if depth == 0 => {
                let before = i.checked_sub(1).map(|j| bytes[j]);
                let part = matches!(before, Some(b'=' | b'!' | b'<' | b'>')) || matches!(next, Some(b'=' | b'>'));
                if !part {
                    f(i, Mark::Equals);
                }
            }
            _ => {}
        }
        i += 1;
    }
    depth
}

/// True for a text that is a script and no program: something is named or printed outside of brackets, or it says that
/// it is in the plain dialect.
///
/// ```
/// use tautomer::script::is_script;
/// assert!(is_script("x = [1, 2]\nx + x"));
/// assert!(!is_script("fn main(x: f32[2]) { let y = x; y + y }"));
/// assert!(!is_script("x + 1 == y"));
/// ```
pub fn is_script(text: &str) -> bool {
    let mut named = false;
    marks(text, |_, mark| named |= mark == Mark::Equals);
    let prints = |line: &str| {
        line.trim_start()
            .strip_prefix("print")
            .is_some_and(|rest| rest.trim_start().starts_with('('))
    };
    named || is_plain(text) || text.lines().any(prints)
}

fn is_plain(text: &str) -> bool {
    text.lines().any(|line| line.trim() == PLAIN_PRAGMA)
}

/// True if no bracket is left open, so that a line of input ends its statement.
pub fn is_complete(text: &str) -> bool {
    marks(text, |_, _| {}) <= 0
}

/// Parses a script; the pragma in it makes it one of the plain dialect.
///
/// # Errors
/// The problems of every statement.
///
/// ```
/// use std::sync::Arc;
/// use tautomer::{diag::Source, script::{Dialect, parse_script}};
/// let source = Arc::new(Source::new("example", "x = [1, 2]\nx + x; print(x)"));
/// assert_eq!(parse_script(source, Dialect::Main).unwrap().statements.len(), 3);
/// ```
pub fn parse_script(source: Arc<Source>, dialect: Dialect) -> Result<Script, Diagnostics> {
    let text = source.text.clone();
    let dialect = if is_plain(&text) { Dialect::Plain } else { dialect };
    let (mut ends, mut equals) = (Vec::new(), Vec::new());
    marks(&text, |at, mark| match mark {
        Mark::End => ends.push(at),
        Mark::Equals => equals.push(at),
    });
    ends.push(text.len());
    let mut problems = Diagnostics::new();
    let (mut statements, mut begin) = (Vec::new(), 0);
    for end in ends {
        let range = (begin, end);
        begin = end + 1;
        let own: Vec<usize> = equals
            .iter()
            .copied()
            .filter(|e| (range.0..range.1).contains(e))
            .collect();
        match statement(&source, range, &own, dialect) {
            Ok(statement) => statements.extend(statement),
            Err(found) => problems.extend(found),
        }
    }
    let mut problems = problems.in_source(&source);
    problems.sort();
    problems.into_result(Script { source, statements })
}

/// The text of a part without comments in front and blanks around.
fn trimmed(text: &str, (mut begin, mut end): (usize, usize)) -> (usize, usize) {
    loop {
        let part = &text[begin..end];
        let rest = part.trim_start();
        begin = end - rest.len();
        if !rest.starts_with("//") {
            break;
        }
        begin += rest.find('\n').map_or(rest.len(), |n| n + 1);
    }
    end = begin + text[begin..end].trim_end().len();
    (begin, end)
}

fn span((begin, end): (usize, usize)) -> Span {
    Span::new(begin as u32, end as u32)
}

/// The statement of a part of the text, unless there is none.
fn statement(
    source: &Arc<Source>,
    range: (usize, usize),
    equals: &[usize],
    dialect: Dialect,
) -> Result<Option<Statement>, Diagnostics> {
    let text = &source.text;
    let whole = trimmed(text, range);
    if whole.0 == whole.1 {
        return Ok(None);
    }
    let mut value = whole;
    let mut name = None;
    if let Some(&at) = equals.first() {
        let left = trimmed(text, (whole.0, at));
        let word = &text[left.0..left.1];
        if !is_name(word) {
            return Err(Diagnostic::error("T0001", "expected a name before `=`")
                .label(span(left), "this is no name")
                .into());
        }
        if let Some(&second) = equals.get(1) {
            return Err(Diagnostic::error("T0001", "a statement has one `=`")
                .label(span((second, second + 1)), "the second one")
                .help("equality is `==`")
                .into());
        }
        name = Some(word.into());
        value = trimmed(text, (at + 1, whole.1));
        if value.0 == value.1 {
            return Err(Diagnostic::error("T0001", "expected an expression after `=`")
                .label(span((at, at + 1)), "nothing follows")
                .into());
        }
    }
    let mut program = match dialect {
        Dialect::Plain => plain::parse(source, value)?,
        Dialect::Main => {
            // Blanks stand for the rest, so that places are those of the whole text.
            let blank = |part: &str| -> String { part.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect() };
            let alone = [&blank(&text[..value.0]), &text[value.0..value.1]].concat();
            parse_program(Arc::new(Source::new(&*source.name, alone)))?
        }
    };
    program.ast.source = source.clone();
    if program.body.is_none() {
        return Err(Diagnostic::error("T0001", "a statement is an expression")
            .label(span(value), "this is no expression")
            .help("functions stand in programs, not in scripts")
            .into());
    }
    unwrap_print(&mut program);
    let random = constructors(&mut program)?;
    Ok(Some(Statement {
        name,
        span: span(whole),
        program,
        random,
    }))
}

/// `print(e)` is `e`, which is shown.
fn unwrap_print(program: &mut Program) {
    let Some(body) = &mut program.body else { return };
    if let ExprKind::Call {
        callee,
        args,
        attrs: None,
        quoted: false,
    } = program.ast.kind(body.result)
        && callee.as_str() == "print"
        && let [value] = args[..]
    {
        body.result = value;
    }
}

/// Replaces `rand(…)` by names, and brings `one(…)`, `zero(…)` and their like into the form of programs.
fn constructors(program: &mut Program) -> Result<Vec<(Arc<str>, Vec<usize>)>, Diagnostics> {
    let mut random = Vec::new();
    let mut problems = Diagnostics::new();
    let calls: Vec<ExprId> = program
        .ast
        .iter()
        .filter(|(_, e)| matches!(e.kind, ExprKind::Call { .. }))
        .map(|(id, _)| id)
        .collect();
    for id in calls {
        let ExprKind::Call { callee, args, .. } = program.ast.kind(id).clone() else {
            continue;
        };
        let made = match callee.as_str() {
            "one" | "ones" => "ones",
            "zero" | "zeros" => "zeros",
            "rand" => "rand",
            _ => continue,
        };
        let [shape] = args[..] else { continue };
        let Some(extents) = extents(program, shape) else {
            if made == "rand" {
                problems.push(
                    Diagnostic::error("T0103", "the shape of `rand` is not written out")
                        .label(program.ast.span(shape), "this is no list of extents")
                        .help("write `rand((2, 3))`"),
                );
            }
            continue;
        };
        let span = program.ast.span(id);
        if made == "rand" {
            // No name that can be written has a blank in it.
            let name: Arc<str> = format!("rand {}", random.len()).into();
            program.ast.replace(id, ExprKind::Name(name.clone()));
            random.push((name, extents));
            continue;
        }
        let items = extents.iter().map(|&n| ExprKind::Int {
            value: n as i128,
            suffix: None,
        });
        let items: Vec<ExprKind> = items.collect();
        plain::call_with_list(program, id, made, items, span);
    }
    problems.into_result(random)
}

/// Extents written as `(2, 3)`, `[2, 3]` or `2`.
fn extents(program: &Program, id: ExprId) -> Option<Vec<usize>> {
    let extent = |id: &ExprId| match program.ast.kind(*id) {
        ExprKind::Int { value, suffix: None } => usize::try_from(*value).ok(),
        _ => None,
    };
    match program.ast.kind(id) {
        ExprKind::List(items) | ExprKind::Tuple(items) => items.iter().map(extent).collect(),
        _ => Some(vec![extent(&id)?]),
    }
}
