//! `tautomer targets`: lists, shows and checks targets.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use tautomer::diag::Diagnostics;
use tautomer::{Opset, Target, target};

use super::{Done, Failure, Shell, calibrate, counted, input, operators};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the targets that come with the tool
    List,
    /// Show a target, including what it inherits by `extends`
    Show {
        /// Its name, or a file (.target)
        #[arg(value_name = "NAME|FILE")]
        target: String,
    },
    /// Report problems in files of targets
    Check {
        /// Files (.target)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    match &args.command {
        Command::List => list(shell),
        Command::Show { target } => {
            let target = calibrate::find(target)?;
            match shell.json {
                true => shell.json(as_json(&target)),
                false => shell.result(&format!("{target}\n")),
            }
        }
        Command::Check { files } => check(files, shell),
    }
}

fn list(shell: &Shell) -> Done {
    let all = tautomer::shipped_targets()?;
    if shell.json {
        return shell.json(json!({ "targets": all.iter().map(as_json).collect::<Vec<_>>() }));
    }
    let width = all.iter().map(|target| target.name.len()).max().unwrap_or(0);
    let lines: String = (all.iter())
        .map(|target| {
            let doc = target.doc.split("\n\n").next().unwrap_or_default().replace('\n', " ");
            format!("{:width$}  {doc}\n", target.name)
        })
        .collect();
    shell.result(&lines)
}

fn check(files: &[PathBuf], shell: &Shell) -> Done {
    let scope = operators::scope()?;
    let mut problems = Diagnostics::new();
    let mut found: Vec<Value> = Vec::new();
    for path in files {
        match target::open_all(path, &scope) {
            Ok(targets) => found.extend(targets.iter().map(|target| {
                let mut data = as_json(target);
                data["file"] = json!(input::shown(path));
                data
            })),
            Err(more) => problems.extend(more),
        }
    }
    if problems.has_errors() {
        return Err(Failure::Problems(problems));
    }
    if shell.json {
        return shell.json(json!({ "targets": found }));
    }
    shell.say(&format!("{} without problems", counted(found.len(), "target")));
    Ok(())
}

fn as_json(target: &Target) -> Value {
    let opset = match target.opset {
        Opset::Model => None,
        Opset::At(opset) => Some(opset),
    };
    json!({
        "name": *target.name, "doc": target.doc, "format": target.format.name(), "opset": opset,
        "operators": target.only.as_ref().map(|only| only.iter().copied().collect::<Vec<_>>()),
        "declared": target.declared.iter().copied().collect::<Vec<_>>(),
        "denied": target.denied.iter().copied().collect::<Vec<_>>(),
        "rules": target.rule_paths().iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "text": target.to_string(),
    })
}
