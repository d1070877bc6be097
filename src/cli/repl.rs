//! `tautomer repl`: statements at a prompt.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper, Highlighter, Hinter};

use tautomer::diag::{Diagnostics, Source};
use tautomer::graph::{Graph, Params, Workload, to_program};
use tautomer::lang::format_program;
use tautomer::op::table;
use tautomer::pipeline::{Options, optimize};
use tautomer::rule::library;
use tautomer::script::{Dialect, Script, Session, is_complete, parse_script};

use super::{Done, Failure, Shell, script};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The plain dialect: `.` is the product of elements, `*` and `dot` contract, values are shown as lists
    #[arg(long)]
    compat: bool,
    /// What `rand` begins with
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Keep what was typed in this file
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
}

const HELP: &str = "\
name = expression    gives a name to a value, and shows its type
expression           shows a value; so does print(expression)
:type expression     the type, without running anything
:graph expression    the graph, names as inputs
:optimize expression the graph after rewriting, and what it costs
:rules [text]        the built-in rules whose name has that text
:names               all names and their types
:help                this text
:quit                ends the session; so does the end of the input
A line with an open bracket goes on in the next one. Tab completes names and operators.
";

const COMMANDS: [&str; 7] = [":type", ":graph", ":optimize", ":rules", ":names", ":help", ":quit"];

/// What the editor of lines knows: names for completion, brackets for where a statement ends.
#[derive(Helper, Hinter, Highlighter)]
struct Lines {
    names: Rc<RefCell<Vec<String>>>,
}

impl Completer for Lines {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let before = &line[..at];
        let mut start = before.rfind(|c| !part(c)).map_or(0, |i| {
            i + before[i..].chars().next().map_or(1, char::len_utf8)
        });
        if before.starts_with(':') && !before.contains(' ') {
            start = 0;
        }
        let word = &before[start..];
        let pair = |name: &str| Pair {
            display: name.to_owned(),
            replacement: name.to_owned(),
        };
        let names = self.names.borrow();
        let operators = table().map(|op| op.name);
        let all = names.iter().map(String::as_str).chain(operators).chain(COMMANDS);
        let found = all.filter(|name| !word.is_empty() && name.starts_with(word)).map(pair);
        Ok((start, found.collect()))
    }
}

impl Validator for Lines {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if is_complete(context.input()) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

/// A session at a prompt.
struct Prompt<'a> {
    session: Session,
    dialect: Dialect,
    line: usize,
    shell: &'a Shell,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let broken = |e: ReadlineError| Failure::new("T0401", format!("the terminal: {e}"));
    let config = Config::builder().auto_add_history(true).build();
    let mut editor: Editor<Lines, FileHistory> = Editor::with_config(config).map_err(broken)?;
    let names = Rc::new(RefCell::new(Vec::new()));
    editor.set_helper(Some(Lines { names: names.clone() }));
    if let Some(path) = &args.history {
        // The first session has no history yet.
        let _ = editor.load_history(path);
    }
    let mut prompt = Prompt {
        session: Session::new(args.seed),
        dialect: if args.compat { Dialect::Plain } else { Dialect::Main },
        line: 0,
        shell,
    };
    loop {
        match editor.readline("> ") {
            Ok(line) => {
                if !prompt.enter(&line)? {
                    break;
                }
                *names.borrow_mut() = prompt.session.names().map(|(name, _)| name.to_string()).collect();
            }
            // A line that is given up.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(e) => return Err(broken(e)),
        }
    }
    match &args.history {
        Some(path) => editor.save_history(path).map_err(broken),
        None => Ok(()),
    }
}

impl Prompt<'_> {
    /// Does what a line says; false if it ends the session. Problems are shown, and the session goes on.
    fn enter(&mut self, line: &str) -> Result<bool, Failure> {
        self.line += 1;
        let line = line.trim();
        let Some(command) = line.strip_prefix(':') else {
            return self.statements(line).map(|()| true);
        };
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        match word {
            "quit" | "q" => return Ok(false),
            "help" | "h" => self.shell.result(HELP)?,
            "names" => {
                let lines = self.session.names().map(|(name, b)| format!("{name}: {}\n", b.ty));
                self.shell.result(&lines.collect::<String>())?;
            }
            "rules" => self.rules(rest.trim())?,
            "type" => {
                let found = self.parse(rest).and_then(|script| self.session.check(&script));
                self.answer(found, |types| types.iter().map(|ty| format!("{ty}\n")).collect())?;
            }
            "graph" => {
                let found = self.graphs(rest);
                self.answer(found, |graphs| graphs.iter().map(text).collect())?;
            }
            "optimize" => {
                let found = self.graphs(rest).and_then(|graphs| {
                    let best = |graph| {
                        let params = Params::new();
                        optimize(Workload { graph, params }, &Options::default())
                    };
                    graphs.into_iter().map(best).collect::<Result<Vec<_>, _>>()
                });
                self.answer(found, |outcomes| {
                    let shown = outcomes.iter().map(|o| {
                        let (before, after) = o.report.cost;
                        format!("{}cost: {before:.2} µs -> {after:.2} µs\n", text(&o.workload.graph))
                    });
                    shown.collect()
                })?;
            }
            _ => self.shell.result(&format!("there is no command `:{word}`; `:help` lists them\n"))?,
        }
        Ok(true)
    }

    fn parse(&self, text: &str) -> Result<Script, Diagnostics> {
        parse_script(Arc::new(Source::new(format!("<line {}>", self.line), text)), self.dialect)
    }

    fn statements(&mut self, line: &str) -> Done {
        let found = self.parse(line).and_then(|script| self.session.run(&script));
        let compat = self.dialect == Dialect::Plain;
        self.answer(found, |outcomes| outcomes.iter().map(|o| script::shown(o, compat)).collect())
    }

    fn graphs(&self, text: &str) -> Result<Vec<Graph>, Diagnostics> {
        let script = self.parse(text)?;
        let named = |problems: Diagnostics| problems.in_source(&script.source);
        let graph = |statement| self.session.graph(statement).map_err(named);
        script.statements.iter().map(graph).collect()
    }

    fn rules(&self, part: &str) -> Done {
        let rules = &library().map_err(|e| Failure::from(e.clone()))?.rules;
        let lines = rules
            .iter()
            .filter(|rule| rule.name.contains(part))
            .map(|rule| format!("{}: {}\n", rule.name, rule.doc));
        self.shell.result(&lines.collect::<String>())
    }

    /// Shows what was found, or why nothing was.
    fn answer<T>(&self, found: Result<T, Diagnostics>, show: impl FnOnce(T) -> String) -> Done {
        match found {
            Ok(found) => self.shell.result(&show(found)),
            Err(problems) => {
                self.shell.problems(&problems);
                Ok(())
            }
        }
    }
}

/// The program text of a graph.
fn text(graph: &Graph) -> String {
    format_program(&to_program(graph))
}
