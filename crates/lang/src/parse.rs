//! From text to syntax trees.

use std::sync::Arc;

use tautomer_diag::{Diagnostic, Diagnostics, Source, Span};

use super::ast::{Outputs, Program, RuleFile, SchemaText, TargetFile};
use super::build::Builder;
use super::scan::{MAX_NESTING, Scan, scan};
use super::syntax::{self, Rule};

/// Brackets nested deeper than this are parsed on a separate thread.
const SHALLOW: usize = 100;

/// Stack per level of brackets, generous for builds without optimisation.
const STACK_PER_LEVEL: usize = 64 << 10;

/// Words that begin an item of a program at the beginning of a line.
const PROGRAM_ITEMS: &[&str] = &["fn", "opaque", "operator"];

/// Words that begin an item of a rule file at the beginning of a line.
const RULE_ITEMS: &[&str] = &["use", "operator", "rule", "example", "no-example", "ruleset"];

/// Parses a program: functions, declarations of unknown operators, or a bare expression.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_lang::parse_program;
///
/// let source = Arc::new(Source::new("scale.taut", "fn main(x: f32[n]) { x * 2 }"));
/// assert_eq!(parse_program(source).unwrap().functions.len(), 1);
///
/// let source = Arc::new(Source::new("scale.taut", "fn main(x: f32[n]) { x * }"));
/// let problems = parse_program(source).unwrap_err();
/// assert_eq!(problems.iter().next().unwrap().message, "expected an expression, found `}`");
/// ```
///
/// # Errors
///
/// All syntax problems: the first one of each item.
pub fn parse_program(source: Arc<Source>) -> Result<Program, Diagnostics> {
    parse(&source, Rule::program, PROGRAM_ITEMS, Builder::program)
}

/// Parses a rule file.
///
/// # Errors
///
/// All syntax problems: the first one of each item.
pub fn parse_rules(source: Arc<Source>) -> Result<RuleFile, Diagnostics> {
    parse(&source, Rule::rule_file, RULE_ITEMS, Builder::rule_file)
}

/// Parses a rule file without its examples, in about a third of the time, since examples are most of a file's text.
/// Items have to begin at the start of a line, as in all files that come with the tool.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_lang::parse_rules_without_examples;
///
/// let text = "rule a(x) { -(-x) => x }\nexample a { fn (x: i32) { -(-(-x)) } }\nrule b(x) { x + 0 => x }\n";
/// let file = parse_rules_without_examples(Arc::new(Source::new("a.rules", text))).unwrap();
/// assert_eq!(file.items.len(), 2);
/// ```
///
/// # Errors
///
/// The first syntax problem outside of examples.
pub fn parse_rules_without_examples(source: Arc<Source>) -> Result<RuleFile, Diagnostics> {
    let whole = Span::new(0, source.text.len() as u32);
    let text = without_examples(&source.text);
    parse_text(&source, whole, &text, Rule::rule_file, |builder, pair| {
        builder.rule_file(pair)
    })
    .map_err(|found| found.in_source(&source))
}

/// The text in which a comment of the same length replaces each example and everything after it up to the next item.
fn without_examples(text: &str) -> String {
    let scanned = scan(text, 0);
    let first_of_line = |at: u32| at == 0 || text.as_bytes()[at as usize - 1] == b'\n';
    let comments = scanned.comments.iter().map(|comment| comment.span.start);
    let mut cuts: Vec<u32> = comments.filter(|&at| first_of_line(at)).collect();
    cuts.extend(scanned.starts.iter().filter(|&&at| begins_item(text, at, RULE_ITEMS)));
    cuts.push(text.len() as u32);
    cuts.sort_unstable();
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..cuts[0] as usize]);
    for part in cuts.windows(2) {
        let length = (part[1] - part[0]) as usize;
        if begins_item(text, part[0], &["example", "no-example"]) {
            // One line, which the parser skips at once.
            out.push_str("//");
            out.extend(std::iter::repeat_n(' ', length - 3));
            out.push('\n');
        } else {
            out.push_str(&text[part[0] as usize..part[1] as usize]);
        }
    }
    out
}

/// True if one of the words is at byte `at` of the text.
fn begins_item(text: &str, at: u32, words: &[&str]) -> bool {
    let mut parts = text[at as usize..].split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
    parts.next().is_some_and(|word| words.contains(&word))
}

/// Parses a file of targets.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_lang::parse_targets;
///
/// let source = Arc::new(Source::new("a.target", "target small { extends onnx where x.rank <= 4 }"));
/// assert_eq!(parse_targets(source).unwrap().targets[0].clauses.len(), 2);
/// ```
///
/// # Errors
///
/// All syntax problems: the first one of each item.
pub fn parse_targets(source: Arc<Source>) -> Result<TargetFile, Diagnostics> {
    parse(&source, Rule::target_file, &["target"], Builder::target_file)
}

/// Parses the text of a schema: names with types, separated by commas or line ends.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_lang::parse_schema;
///
/// let source = Arc::new(Source::new("schema", "x: int32, y: float64 not null\n`unit price`: timestamp[ms]"));
/// let schema = parse_schema(source).unwrap();
/// assert_eq!(schema.columns[2].name.as_str(), "unit price");
/// ```
///
/// # Errors
///
/// The first syntax problem.
pub fn parse_schema(source: Arc<Source>) -> Result<SchemaText, Diagnostics> {
    parse(&source, Rule::schema, &[], Builder::schema)
}

/// Parses expressions over columns, separated by `;`, each with an optional name and type: `sum: f64 = a + b`.
/// `power_caret` makes `^` the power operator.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_lang::parse_outputs;
///
/// let source = Arc::new(Source::new("expressions", "if(z, cast(x, f64), y * 1000.0)"));
/// assert_eq!(parse_outputs(source, false).unwrap().outputs.len(), 1);
/// ```
///
/// # Errors
///
/// The first syntax problem.
pub fn parse_outputs(source: Arc<Source>, power_caret: bool) -> Result<Outputs, Diagnostics> {
    match power_caret {
        false => parse(&source, Rule::outputs, &[], Builder::outputs),
        true => parse(&source, Rule::outputs, &[], Builder::outputs_with_power_caret),
    }
}

type Build<'s, T> = fn(Builder<'s>, syntax::Pair<'s>) -> Result<T, Diagnostics>;

fn parse<'s, T: Send>(
    source: &'s Arc<Source>,
    rule: Rule,
    items: &[&str],
    build: Build<'s, T>,
) -> Result<T, Diagnostics> {
    if u32::try_from(source.text.len()).is_err() {
        let problem = Diagnostic::error("T0602", format!("{} is longer than 4 GiB", source.name));
        return Err(problem.in_source(source).into());
    }
    let mut whole = scan(&source.text, 0);
    if whole.depth > MAX_NESTING {
        let problem = Diagnostic::error("T0601", format!("brackets are nested {} deep", whole.depth))
            .note(format!("the limit is {MAX_NESTING}"))
            .help("name inner values with `let`");
        return Err(problem.in_source(source).into());
    }
    let starts = std::mem::take(&mut whole.starts);
    let first = match whole.problem.take() {
        Some(problem) => Diagnostics::from(problem),
        None => match parse_part(source, Span::new(0, source.text.len() as u32), whole, rule, build) {
            Ok(value) => return Ok(value),
            Err(problems) => problems,
        },
    };
    let mut problems = recover(source, &starts, rule, items, build);
    if problems.is_empty() {
        problems = first;
    }
    problems.sort();
    Err(problems.in_source(source))
}

/// The problems of each item, parsed separately.
fn recover<'s, T: Send>(
    source: &'s Arc<Source>,
    starts: &[u32],
    rule: Rule,
    items: &[&str],
    build: Build<'s, T>,
) -> Diagnostics {
    let mut cuts: Vec<u32> = starts
        .iter()
        .copied()
        .filter(|&start| start > 0 && begins_item(&source.text, start, items))
        .collect();
    cuts.insert(0, 0);
    cuts.push(source.text.len() as u32);
    let mut problems = Diagnostics::new();
    for part in cuts.windows(2) {
        let span = Span::new(part[0], part[1]);
        let mut part = scan(source.slice(span), span.start);
        match part.problem.take() {
            Some(problem) => problems.push(problem),
            None => {
                if let Err(found) = parse_part(source, span, part, rule, build) {
                    problems.extend(found);
                }
            }
        }
    }
    problems
}

fn parse_part<'s, T: Send>(
    source: &'s Arc<Source>,
    span: Span,
    scanned: Scan,
    rule: Rule,
    build: Build<'s, T>,
) -> Result<T, Diagnostics> {
    built(source, source.slice(span), span.start, scanned, rule, build)
}

/// Parses a text that replaces the bytes of `source` at `span` and has the same length.
pub(super) fn parse_text<T: Send>(
    source: &Arc<Source>,
    span: Span,
    text: &str,
    rule: Rule,
    build: impl for<'s> FnOnce(Builder<'s>, syntax::Pair<'s>) -> Result<T, Diagnostics> + Send,
) -> Result<T, Diagnostics> {
    let mut scanned = scan(text, span.start);
    if let Some(problem) = scanned.problem.take() {
        return Err(problem.into());
    }
    if scanned.depth > MAX_NESTING {
        return Err(
            Diagnostic::error("T0601", format!("brackets are nested {} deep", scanned.depth))
                .note(format!("the limit is {MAX_NESTING}"))
                .label(span, "")
                .into(),
        );
    }
    built(source, text, span.start, scanned, rule, build)
}

/// The result of `build` for a text that begins at byte `base` of its source; deep brackets get a separate stack.
fn built<'s, T: Send>(
    source: &'s Arc<Source>,
    text: &'s str,
    base: u32,
    scanned: Scan,
    rule: Rule,
    build: impl FnOnce(Builder<'s>, syntax::Pair<'s>) -> Result<T, Diagnostics> + Send,
) -> Result<T, Diagnostics> {
    let depth = scanned.depth;
    let work = move || {
        let mut pairs = syntax::parse(rule, text, base)?;
        let builder = Builder::new(source, base, scanned.comments);
        match pairs.next() {
            Some(pair) => build(builder, pair),
            None => Err(Diagnostic::error("T0001", "empty text").into()),
        }
    };
    if depth <= SHALLOW {
        return work();
    }
    on_stack(depth, work)
}

/// Runs `work` with a stack for brackets `depth` levels deep.
pub(super) fn on_stack<T: Send>(
    depth: usize,
    work: impl FnOnce() -> Result<T, Diagnostics> + Send,
) -> Result<T, Diagnostics> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size((8 << 20) + depth * STACK_PER_LEVEL);
        match builder.spawn_scoped(scope, work) {
            Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(error) => {
                let problem = Diagnostic::error("T0601", format!("brackets are nested {depth} deep"))
                    .note(format!("cannot start a thread with a large enough stack: {error}"));
                Err(problem.into())
            }
        }
    })
}
