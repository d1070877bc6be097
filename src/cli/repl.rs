//! `tautomer repl`: statements at a prompt.

mod help;
mod prompt;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use tautomer::diag::{Diagnostic, Source, did_you_mean};
use tautomer::formats::atomic;
use tautomer::graph::{Session, Shown, VertexId, Workload};
use tautomer::lang::{Script, is_name, parse_program, parse_rules, parse_script_as};
use tautomer::op;
use tautomer::pipeline::{Options, optimize};
use tautomer::rule::{Rule, RuleSet, composite_rules, library_rules, load_rules_in};

use self::help::COMMANDS;
use self::prompt::Prompt;
use super::input::{self, Kind, Model};
use super::script::{self, ScriptArgs};
use super::{Done, Failure, Shell, counted, operators, output};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    script: ScriptArgs,
    /// A script to run first
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Keep the history of previous sessions in this file instead of the usual one
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let mut repl = Repl {
        session: args.script.session(),
        functions: IndexMap::new(),
        rules: RuleSet::default(),
        loaded: None,
        lines: 0,
        shell,
    };
    if std::io::stdin().is_terminal() && !shell.quiet {
        repl.say(concat!(
            "tautomer ",
            env!("CARGO_PKG_VERSION"),
            ": expressions and statements; `:help` lists the commands, `:quit` leaves"
        ))?;
    }
    if let Some(path) = &args.file {
        repl.load(path)?;
    }
    let names = Rc::new(RefCell::new(repl.names()));
    let compat = Rc::new(Cell::new(repl.session.compat()));
    let config = Config::builder().auto_add_history(true).build();
    let mut editor: Editor<Prompt, FileHistory> = Editor::with_config(config).map_err(|e| terminal(&e))?;
    editor.set_helper(Some(Prompt {
        names: names.clone(),
        compat: compat.clone(),
    }));
    let history = args.history.clone().or_else(usual_history);
    if let Some(path) = &history {
        // There is no history the first time.
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
            // This discards the line but keeps the session.
            Err(ReadlineError::Interrupted) => false,
            Err(ReadlineError::Eof) => true,
            Err(e) => return Err(terminal(&e)),
        };
        if left {
            break;
        }
        *names.borrow_mut() = repl.names();
        compat.set(repl.session.compat());
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

/// Where the history is kept: `tautomer/history` in the directory for program state.
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
    /// The texts of functions, by name.
    functions: IndexMap<String, String>,
    /// Rules in addition to the built-in ones.
    rules: RuleSet,
    /// The program or model that was loaded last.
    loaded: Option<Workload>,
    /// The number of inputs so far; problems name the input they are in.
    lines: usize,
    shell: &'a Shell,
}

impl Repl<'_> {
    /// Executes a line; returns whether to leave.
    fn line(&mut self, line: &str) -> Result<bool, Failure> {
        self.lines += 1;
        let line = line.trim();
        if ["quit", "exit", "quit()", "exit()"].contains(&line) && self.session.get(line).is_none() {
            return Ok(true);
        }
        let word = line
            .split(|c: char| !c.is_alphanumeric() && c != '-')
            .next()
            .unwrap_or_default();
        let rest = line[word.len()..].trim_start();
        if ["rule", "ruleset", "example", "no-example"].contains(&word)
            && rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        {
            self.add_rules(line)?;
            return Ok(false);
        }
        if !line.starts_with(':') {
            self.statements(format!("input {}", self.lines), line)?;
            return Ok(false);
        }
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match command {
            ":quit" | ":q" => return Ok(true),
            ":help" | ":h" => self.help(rest)?,
            ":names" => {
                let mut names: Vec<String> = self
                    .session
                    .names()
                    .map(|(n, v)| script::typed(&self.session, n, v))
                    .collect();
                names.extend(self.functions.values().map(|text| head(text).to_owned()));
                self.say(&names.join("\n"))?;
            }
            ":rules" => self.list_rules(rest)?,
            ":load" if rest.is_empty() => return Err(Failure::new("T0402", "`:load` takes a file")),
            ":load" => self.load(&PathBuf::from(rest))?,
            ":graph" | ":optimize" if rest.is_empty() && self.loaded.is_some() => {
                let workload = self.loaded.clone().unwrap_or_default();
                self.look_at(command, workload)?;
            }
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

    /// Parses statements, followed by the functions that were defined before.
    fn parse(&self, name: String, text: &str) -> Result<Script, Failure> {
        let defined = |name: &str| text.contains(&format!("fn {name}"));
        let mut whole = text.to_owned();
        for (name, function) in &self.functions {
            if !defined(name) {
                whole.push('\n');
                whole.push_str(function);
            }
        }
        let source = Arc::new(Source::new(name, whole));
        Ok(parse_script_as(
            source,
            self.session.compat(),
            self.session.power_caret(),
        )?)
    }

    /// Runs statements; those before a wrong one remain in effect.
    fn statements(&mut self, name: String, text: &str) -> Done {
        let script = self.parse(name, text)?;
        self.session.spell(&script);
        for function in script.functions.iter() {
            let written = script.source.slice(function.span).trim().to_owned();
            let name = function.name.as_ref().map(|n| n.name.to_string()).unwrap_or_default();
            if self.functions.get(&name) != Some(&written) {
                self.say(head(&written))?;
                self.functions.insert(name, written);
            }
        }
        for statement in &script.statements {
            let before = self.session.clone();
            let step = self.session.add(statement, &script.source)?;
            let shown = tautomer::model::shown_values(&step);
            let values: Vec<VertexId> = shown.flat_map(|v| self.session.tensors(v)).collect();
            let known: Vec<VertexId> = values
                .iter()
                .copied()
                .filter(|v| self.session.inputs_of(*v).is_empty())
                .collect();
            let computed = match script::compute(&self.session, &known, false) {
                Ok(computed) => computed,
                Err(problem) => {
                    self.session = before;
                    return Err(problem);
                }
            };
            for (v, tensor) in known.into_iter().zip(computed) {
                self.session.remember(v, tensor);
            }
            self.shell.result(&script::step_text(&self.session, &step))?;
        }
        Ok(())
    }

    /// Adds rules given at the prompt.
    fn add_rules(&mut self, text: &str) -> Done {
        let source = Arc::new(Source::new(format!("input {}", self.lines), text));
        let set = load_rules_in(parse_rules(source)?, &operators::scope()?)?;
        self.take_rules(set)
    }

    /// Adds rules to the existing ones; a rule replaces an earlier one of the same name.
    fn take_rules(&mut self, set: RuleSet) -> Done {
        let names: BTreeSet<String> = set.rules.iter().map(|r| r.name.to_string()).collect();
        self.rules.rules.retain(|r| !names.contains(&*r.name));
        let count = set.rules.len();
        self.rules.extend(set);
        let shown: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
        let more = if names.len() > shown.len() { ", …" } else { "" };
        self.say(&format!("{}: {}{more}", counted(count, "rule"), shown.join(", ")))
    }

    /// The built-in rules and those of the session.
    fn all_rules(&self) -> Result<Vec<Arc<Rule>>, Failure> {
        let built_in = library_rules().map_err(Clone::clone)?;
        let composite = composite_rules().map_err(Clone::clone)?;
        let own = |rule: &&Arc<Rule>| self.rules.rules.iter().any(|r| r.name == rule.name);
        let others = built_in.iter().chain(composite).filter(|rule| !own(rule));
        Ok(self.rules.rules.iter().chain(others).cloned().collect())
    }

    fn load(&mut self, path: &std::path::Path) -> Done {
        match Kind::of(path, None)? {
            Kind::Rules => {
                let set = operators::load(tautomer::rule_files::sources(&[path.to_owned()])?)?;
                self.take_rules(set)
            }
            Kind::Taut => {
                let source = input::source(path)?;
                if tautomer::lang::is_script(&source.text) {
                    return self.statements(source.name.clone(), &source.text);
                }
                let loaded = input::read(path, None, None, self.shell)?;
                for function in parse_program(source.clone())?.functions {
                    let name = function.name.as_ref().map(|n| n.name.to_string()).unwrap_or_default();
                    self.functions
                        .insert(name, source.slice(function.span).trim().to_owned());
                }
                self.take(loaded)
            }
            Kind::Onnx | Kind::Pnnx => {
                let loaded = input::read(path, None, None, self.shell)?;
                self.take(loaded)
            }
        }
    }

    /// Keeps a program or model for `:graph` and `:optimize`.
    fn take(&mut self, loaded: Model) -> Done {
        let graph = &loaded.workload.graph;
        let inputs = (0..graph.inputs().len())
            .map(|i| format!("{}: {}", input::input_name(graph, i), graph.ty(graph.inputs()[i])));
        let inputs: Vec<String> = inputs.collect();
        let said = format!(
            "{} calls of {}; `:graph` shows it, `:optimize` rewrites it",
            graph.call_count(),
            if inputs.is_empty() {
                "no inputs".to_owned()
            } else {
                inputs.join(", ")
            }
        );
        self.loaded = Some(loaded.workload);
        self.say(&said)
    }

    /// `:type`, `:graph`, `:optimize`: the session does not change.
    fn look(&self, command: &str, text: &str) -> Done {
        let script = self.parse(format!("input {}", self.lines), text)?;
        let mut session = self.session.clone();
        let mut roots = Vec::new();
        for statement in &script.statements {
            for shown in session.add(statement, &script.source)?.values {
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
        self.look_at(command, session.open_program(&roots))
    }

    fn look_at(&self, command: &str, workload: Workload) -> Done {
        if command == ":graph" {
            return self.shell.result(&output::program_text(&workload).0);
        }
        let options = Options {
            // Values that do not depend on inputs would be precomputed, leaving nothing to show.
            fold: !workload.graph.inputs().is_empty(),
            rules: Some(self.all_rules()?),
            ..Options::default()
        };
        let outcome = optimize(workload, &options)?;
        self.shell.result(&output::program_text(&outcome.workload).0)?;
        let (before, after) = outcome.report.vertices;
        let mut said = format!("{before} calls before, {after} after");
        let fired: Vec<_> = outcome.report.rules.iter().filter(|r| r.applied > 0).collect();
        let width = fired.iter().map(|r| r.name.len()).max().unwrap_or(0);
        if fired.is_empty() {
            said.push_str("; no rule fired");
        }
        for rule in fired {
            let used = match rule.in_result {
                0 => String::new(),
                n => format!("   in the result: {n}"),
            };
            said.push_str(&format!("\n  {:width$}  {:>3} x{used}", rule.name, rule.applied));
        }
        self.say(&said)
    }

    fn list_rules(&self, text: &str) -> Done {
        let all = self.all_rules()?;
        let found: Vec<_> = all.iter().filter(|r| r.name.contains(text)).collect();
        let width = found.iter().map(|r| r.name.len()).max().unwrap_or(0);
        let mut lines: Vec<String> = found
            .iter()
            .map(|r| format!("{:width$}  {}", r.name, r.doc.lines().next().unwrap_or_default()))
            .collect();
        if found.is_empty() {
            lines.push(format!("no rule has `{text}` in its name"));
        }
        self.say(&lines.join("\n"))
    }

    fn say(&self, text: &str) -> Done {
        if text.is_empty() {
            return Ok(());
        }
        self.shell.result(&format!("{text}\n"))
    }

    /// Names for completion.
    fn names(&self) -> BTreeSet<String> {
        let own = self.session.names().map(|(name, _)| name.to_owned());
        let own = own.chain(self.functions.keys().cloned());
        let functions = Session::functions().iter().copied().chain(["print"]).map(str::to_owned);
        let operators = op::table().map(|def| def.name.to_owned());
        own.chain(functions)
            .chain(operators)
            .filter(|name| is_name(name))
            .collect()
    }
}

/// The first line of a function.
fn head(function: &str) -> &str {
    function.split('{').next().unwrap_or_default().trim()
}
