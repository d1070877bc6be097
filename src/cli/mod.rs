//! The command line: arguments, output, exit codes.
//!
//! Results go to standard output, everything else to standard error. The exit code is 0 on success, 1 if the answer is
//! negative (findings, outputs that differ), and 2 if the tool could not do its work.

mod audit;
mod bench;
mod bisect;
mod calibrate;
mod check;
mod convert;
#[cfg(feature = "eval")]
mod eval;
mod explain;
mod findings;
mod fmt;
mod import;
mod input;
mod limits;
mod operators;
mod ops;
mod optimize;
mod output;
mod print;
mod progress;
mod repl;
mod rules;
mod run;
mod script;
mod suggest;
mod targets;
mod understood;
mod validate;
mod verdicts;
mod verify;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};

use clap::{Parser, Subcommand};
use serde_json::{Value, json};

use tautomer::diag::{Diagnostic, Diagnostics};
use tautomer::graph::BuildOptions;

/// The schema version of the JSON that commands print.
const SCHEMA: u32 = 1;

/// Rewrites tensor computation graphs with rules from files.
#[derive(Parser)]
#[command(name = "tautomer", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Print JSON on standard output
    #[arg(long, global = true)]
    json: bool,
    /// Print nothing but results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more details
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Let the inlined functions and comprehensions of a program expand to at most N expressions
    #[arg(long, global = true, value_name = "N", default_value_t = BuildOptions::default().max_inlined, hide_short_help = true)]
    max_inlined: usize,
    /// A file with declarations of operators (.ops), which all files may mention; may be repeated
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    ops: Vec<std::path::PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Report problems in programs, rule files and models
    Check(check::Args),
    /// Format programs and rule files canonically
    Fmt(fmt::Args),
    /// Show a program or model at some stage of processing
    Print(print::Args),
    /// Run a program or model on arrays, or a script
    Run(run::Args),
    /// Write a program or model in another format
    Convert(convert::Args),
    /// Run statements at a prompt
    Repl(repl::Args),
    /// Rewrite a program or model into an equivalent one that costs less
    Optimize(Box<optimize::Args>),
    /// Find the first rule application that changes a result
    Bisect(bisect::Args),
    /// Inspect rules and run their examples
    Rules(rules::Args),
    /// List, show and check operators
    Ops(ops::Args),
    /// List, show and check targets
    Targets(targets::Args),
    /// Measure what operators cost on this machine, for `--target here`
    Calibrate(calibrate::Args),
    /// Check whether rules are correct
    Verify(verify::Args),
    /// Suggest rules that turn one program or model into another that computes the same
    Suggest(suggest::Args),
    /// Compute expressions over the columns of a table
    #[cfg(feature = "eval")]
    Eval(Box<eval::Args>),
    /// Explain a message code
    Explain(explain::Args),
}

/// Why a command did not succeed.
enum Failure {
    /// The answer is negative; it has been printed.
    No,
    /// Problems with the input, still to be printed.
    Problems(Diagnostics),
    /// The reader of standard output closed it.
    Closed,
}

impl Failure {
    /// A problem without a source location.
    fn new(code: &'static str, message: impl Into<String>) -> Failure {
        Failure::Problems(Diagnostic::error(code, message).into())
    }
}

impl From<Diagnostics> for Failure {
    fn from(problems: Diagnostics) -> Failure {
        Failure::Problems(problems)
    }
}

impl From<Diagnostic> for Failure {
    fn from(problem: Diagnostic) -> Failure {
        Failure::Problems(problem.into())
    }
}

type Done = Result<(), Failure>;

/// The streams that commands print to.
struct Shell {
    json: bool,
    quiet: bool,
    verbose: bool,
    colour: bool,
    max_inlined: usize,
}

impl Shell {
    /// Prints a result.
    fn result(&self, text: &str) -> Done {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(Failure::Closed),
            Err(e) => Err(Failure::new("T0401", format!("standard output: {e}"))),
        }
    }

    /// Prints a result as JSON; `value` is an object, to which the schema version is added.
    fn json(&self, mut value: Value) -> Done {
        if let Value::Object(map) = &mut value {
            map.insert("schema".to_owned(), json!(SCHEMA));
        }
        self.result(&format!("{value:#}\n"))
    }

    /// Options for building graphs from programs.
    fn build_options(&self) -> BuildOptions {
        BuildOptions {
            max_inlined: self.max_inlined,
            // A test loads them all, so nothing is missing.
            scope: operators::scope().unwrap_or_default(),
            ..BuildOptions::default()
        }
    }

    /// Prints a line about what was done, unless `--quiet`.
    fn say(&self, text: &str) {
        if !self.quiet {
            self.error_text(&format!("{text}\n"));
        }
    }

    /// Prints a line of detail if `--verbose`.
    fn detail(&self, text: &str) {
        if self.verbose {
            self.error_text(&format!("{text}\n"));
        }
    }

    /// Prints problems.
    fn problems(&self, problems: &Diagnostics) {
        if !problems.is_empty() {
            self.error_text(&problems.render(self.colour));
        }
    }

    /// Prints notes about a file; notes about nodes that are carried along unread only if `--verbose`.
    fn notes(&self, notes: &Diagnostics) {
        for note in notes
            .iter()
            .filter(|note| self.verbose || !self.quiet && note.code != "T0505")
        {
            self.error_text(&Diagnostics::from(note.clone()).render(self.colour));
        }
    }

    fn error_text(&self, text: &str) {
        // Nothing can be done if standard error cannot be written.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// `1 rule`, `3 rules`
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Runs the command named by `args`, the first of which is the name of the program; returns the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            let code = if e.use_stderr() { 2 } else { 0 };
            let _ = e.print();
            return code;
        }
    };
    let colourless = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let shell = Shell {
        json: cli.global.json,
        quiet: cli.global.quiet,
        verbose: cli.global.verbose,
        colour: !colourless && io::stderr().is_terminal(),
        max_inlined: cli.global.max_inlined,
    };
    let done = operators::read(&cli.global.ops).and_then(|()| match cli.command {
        Command::Check(args) => check::run(&args, &shell),
        Command::Fmt(args) => fmt::run(&args, &shell),
        Command::Print(args) => print::run(&args, &shell),
        Command::Run(args) => run::run(&args, &shell),
        Command::Convert(args) => convert::run(&args, &shell),
        Command::Repl(args) => repl::run(&args, &shell),
        Command::Optimize(args) => optimize::run(&args, &shell),
        Command::Bisect(args) => bisect::run(&args, &shell),
        Command::Rules(args) => rules::run(&args, &shell),
        Command::Ops(args) => ops::run(&args, &shell),
        Command::Targets(args) => targets::run(&args, &shell),
        Command::Calibrate(args) => calibrate::run(&args, &shell),
        Command::Verify(args) => verify::run(&args, &shell),
        Command::Suggest(args) => suggest::run(&args, &shell),
        #[cfg(feature = "eval")]
        Command::Eval(args) => eval::run(&args, &shell),
        Command::Explain(args) => explain::run(&args, &shell),
    });
    match done {
        Ok(()) | Err(Failure::Closed) => 0,
        Err(Failure::No) => 1,
        Err(Failure::Problems(problems)) => {
            shell.problems(&problems);
            if shell.json {
                let _ = shell.json(problems.to_json());
            }
            2
        }
    }
}
