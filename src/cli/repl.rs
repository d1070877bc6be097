//! `tautomer repl`: statements at a prompt.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper};

use tautomer::diag::{Diagnostic, Source, did_you_mean};
use tautomer::formats::atomic;
use tautomer::graph::{Session, Shown, VertexId};
use tautomer::lang::{is_name, needs_more, parse_script};
use tautomer::op;
use tautomer::pipeline::{Options, optimize};
use tautomer::rule::library;

use super::script::{self, ScriptArgs};
use super::{Done, Failure, Shell, input, output};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    script: ScriptArgs,
    /// A script to run first
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Keep the lines of former sessions in this file instead of the usual one
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
}

/// Commands, what they take, and what they do.
const COMMANDS: &[(&str, &str, &str)] = &[
    (":type", "EXPR", "the type of an expression, which is not computed"),
    (":graph", "EXPR", "the program that computes it"),
    (
        ":optimize",
        "EXPR",
        "the program after rewriting, and the rules that were applied",
    ),
    (":rules", "[TEXT]", "the rules whose names contain the text"),
    (":names", "", "all names and their types"),
    (":load", "FILE", "run the statements of a script"),
    (":help", "", "this list"),
    (":quit", "", "leave; so does the end of the input"),
];

/// Rules that `:rules` lists.
const LISTED: usize = 40;

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let mut repl = Repl {
        session: args.script.session(),
        lines: 0,
        shell,
    };
    if let Some(path) = &args.file {
        repl.load(path)?;
    }
    let names = Rc::new(RefCell::new(repl.names()));
    let config = Config::builder().auto_add_history(true).build();
    let mut editor: Editor<Prompt, FileHistory> = Editor::with_config(config).map_err(|e| terminal(&e))?;
    editor.set_helper(Some(Prompt { names: names.clone() }));
    let history = args.history.clone().or_else(usual_history);
    if let Some(path) = &history {
        // There is none the first time.
        let _ = editor.load_history(path);
    }
    loop {
        let left = match editor.readline("> ") {
            Ok(line) => match repl.line(&line) {
                Ok(left) => left,
                Err(Failure::Problems(problems)) => {
                    shell.problems(&problems);
                    false
                }
                Err(other) => return Err(other),
            },
            // The line is given up, not the session.
            Err(ReadlineError::Interrupted) => false,
            Err(ReadlineError::Eof) => true,
            Err(e) => return Err(terminal(&e)),
        };
        if left {
            break;
        }
        *names.borrow_mut() = repl.names();
    }
    if let Some(path) = &history
        && let Err(why) = keep(&mut editor, path)
    {
        shell.detail(&format!("{}: {why}", path.display()));
    }
    Ok(())
}

fn terminal(e: &ReadlineError) -> Failure {
    Failure::new("T0401", format!("the terminal: {e}"))
}

/// Where the lines of former sessions are kept: `tautomer/history` in the folder for the state of programs.
fn usual_history() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(state.join("tautomer/history"))
}

fn keep(editor: &mut Editor<Prompt, FileHistory>, path: &std::path::Path) -> Result<(), String> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    folder
        .map_or(Ok(()), std::fs::create_dir_all)
        .map_err(|e| e.to_string())?;
    let lines: String = editor
        .history()
        .iter()
        .map(|line| format!("{}\n", line.replace('\n', " ")))
        .collect();
    atomic::write(path, lines.as_bytes()).map_err(|e| e.to_string())
}

struct Repl<'a> {
    session: Session,
    /// Inputs so far; problems name the one they are in.
    lines: usize,
    shell: &'a Shell,
}

impl Repl<'_> {
    /// Does what a line says; whether it says to leave.
    fn line(&mut self, line: &str) -> Result<bool, Failure> {
        self.lines += 1;
        let line = line.trim();
        if !line.starts_with(':') {
            self.statements(&Arc::new(Source::new(format!("input {}", self.lines), line)))?;
            return Ok(false);
        }
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match command {
            ":quit" | ":q" => return Ok(true),
            ":help" | ":h" => self.help()?,
            ":names" => {
                let names: Vec<String> = self
                    .session
                    .names()
                    .map(|(n, v)| script::typed(&self.session, n, v))
                    .collect();
                self.say(&names.join("\n"))?;
            }
            ":rules" => self.rules(rest)?,
            ":load" => self.load(&PathBuf::from(rest))?,
            ":type" | ":graph" | ":optimize" => {
                if rest.is_empty() {
                    return Err(Failure::new("T0402", format!("`{command}` takes an expression")));
                }
                self.look(command, rest)?;
            }
            _ => {
                let problem = Diagnostic::error("T0402", format!("unknown command `{command}`"));
                return Err(match did_you_mean(command, COMMANDS.iter().map(|c| c.0)) {
                    Some(close) => problem.help(format!("did you mean `{close}`?")),
                    None => problem.help("`:help` lists the commands"),
                }
                .into());
            }
        }
        Ok(false)
    }

    /// Runs statements; those before a wrong one stay.
    fn statements(&mut self, source: &Arc<Source>) -> Done {
        let script = parse_script(source.clone(), self.session.compat())?;
        for statement in &script.statements {
            let before = self.session.clone();
            let step = self.session.add(statement, source)?;
            let shown = script::values(&step);
            let values: Vec<VertexId> = shown.flat_map(|v| self.session.tensors(v)).collect();
            let computed = match script::compute(&self.session, &values, false) {
                Ok(computed) => computed,
                Err(problem) => {
                    self.session = before;
                    return Err(problem);
                }
            };
            for (v, tensor) in values.into_iter().zip(computed) {
                self.session.remember(v, tensor);
            }
            self.shell.result(&script::step_text(&self.session, &step))?;
        }
        Ok(())
    }

    fn load(&mut self, path: &std::path::Path) -> Done {
        self.statements(&input::source(path)?)
    }

    /// `:type`, `:graph`, `:optimize`: the session stays as it is.
    fn look(&self, command: &str, text: &str) -> Done {
        let source = Arc::new(Source::new(format!("input {}", self.lines), text));
        let script = parse_script(source.clone(), self.session.compat())?;
        let mut session = self.session.clone();
        let mut roots = Vec::new();
        for statement in &script.statements {
            for shown in session.add(statement, &source)?.values {
                match shown {
                    Shown::Value(v) => roots.push((v, None)),
                    Shown::Text(text) => self.say(&text)?,
                }
            }
        }
        if command == ":type" {
            let types: Vec<String> = roots.iter().map(|(v, _)| session.graph().ty(*v).to_string()).collect();
            return self.say(&types.join("\n"));
        }
        let workload = session.program(&roots, false);
        if command == ":graph" {
            return self.shell.result(&output::program_text(&workload).0);
        }
        // What does not depend on inputs would be computed ahead of time, and nothing would be left to see.
        let options = Options {
            fold: false,
            ..Options::default()
        };
        let outcome = optimize(workload, &options)?;
        self.shell.result(&output::program_text(&outcome.workload).0)?;
        let (before, after) = outcome.report.vertices;
        let mut said = format!("{before} calls before, {after} after");
        let rules: Vec<&str> = outcome
            .report
            .rules
            .iter()
            .filter(|r| r.in_result > 0)
            .map(|r| &*r.name)
            .collect();
        if !rules.is_empty() {
            said.push_str(&format!("; by {}", rules.join(", ")));
        }
        self.say(&said)
    }

    fn rules(&self, text: &str) -> Done {
        let found: Vec<_> = library()
            .map_err(Clone::clone)?
            .rules
            .iter()
            .filter(|r| r.name.contains(text))
            .cloned()
            .collect();
        let width = found.iter().take(LISTED).map(|r| r.name.len()).max().unwrap_or(0);
        let mut lines: Vec<String> = found
            .iter()
            .take(LISTED)
            .map(|r| format!("{:width$}  {}", r.name, r.doc.lines().next().unwrap_or_default()))
            .collect();
        if found.len() > LISTED {
            lines.push(format!("and {} more", found.len() - LISTED));
        }
        if found.is_empty() {
            lines.push(format!("no rule has `{text}` in its name"));
        }
        self.say(&lines.join("\n"))
    }

    fn help(&self) -> Done {
        let mut text = "NAME = EXPR names a value; EXPR alone shows it.\n".to_owned();
        for (name, takes, what) in COMMANDS {
            text.push_str(&format!("  {:17}  {what}\n", format!("{name} {takes}")));
        }
        self.shell.result(&text)
    }

    fn say(&self, text: &str) -> Done {
        if text.is_empty() {
            return Ok(());
        }
        self.shell.result(&format!("{text}\n"))
    }

    /// What completion knows.
    fn names(&self) -> BTreeSet<String> {
        let own = self.session.names().map(|(name, _)| name.to_owned());
        let functions = Session::functions().iter().copied().chain(["print"]).map(str::to_owned);
        let operators = op::table().map(|def| def.name.to_owned());
        own.chain(functions)
            .chain(operators)
            .filter(|name| is_name(name))
            .collect()
    }
}

/// What the line editor asks: completions, and whether a statement is whole.
struct Prompt {
    names: Rc<RefCell<BTreeSet<String>>>,
}

impl Completer for Prompt {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let before = &line[..at];
        if before.starts_with(':') && !before.contains(char::is_whitespace) {
            let commands = COMMANDS
                .iter()
                .map(|c| c.0.to_owned())
                .filter(|c| c.starts_with(before));
            return Ok((0, commands.collect()));
        }
        let start = before
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
        let word = &before[start..];
        let names = self.names.borrow();
        let fitting = names
            .iter()
            .filter(|n| !word.is_empty() && n.starts_with(word))
            .cloned();
        Ok((start, fitting.collect()))
    }
}

impl Hinter for Prompt {
    type Hint = String;
}

impl Highlighter for Prompt {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Borrowed(prompt)
    }
}

impl Validator for Prompt {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let whole = text.trim_start().starts_with(':') || !needs_more(text);
        Ok(if whole {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

impl Helper for Prompt {}
