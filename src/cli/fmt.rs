//! `tautomer fmt`: canonical formatting.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;

use tautomer::diag::{Diagnostic, Diagnostics, Source};
use tautomer::lang::{
    format_program, format_rules, format_targets, is_script, parse_program, parse_rules, parse_targets,
};

use super::input::{self, Kind};
use super::{Done, Failure, Shell, output};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Programs, rule files and targets, rewritten in place; `-` reads standard input and writes standard output
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write nothing; name the files that are not in canonical form
    #[arg(long)]
    check: bool,
    /// The type of the files, regardless of their suffixes
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    from: Option<Kind>,
}

/// The types of files that have a canonical form.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(["taut", "rules"]).map(|name| match &*name {
        "rules" => Kind::Rules,
        _ => Kind::Taut,
    })
}

/// Formats rule files canonically, regardless of their suffixes.
pub(super) fn rules(files: &[PathBuf], check: bool, shell: &Shell) -> Done {
    let args = Args {
        files: files.to_vec(),
        check,
        from: Some(Kind::Rules),
    };
    run(&args, shell)
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let mut changed = Vec::new();
    let mut problems = Diagnostics::new();
    for path in &args.files {
        let Some((old, text)) = input::kept(formatted(path, args.from), &mut problems)? else {
            continue;
        };
        let differs = text != old.text;
        if differs {
            changed.push(input::shown(path));
        }
        if input::is_standard(path) && !args.check {
            shell.result(&text)?;
        } else if differs && !args.check {
            output::write_text(path, &text)?;
            shell.detail(&format!("formatted {}", path.display()));
        }
    }
    if shell.json && !args.files.iter().any(|f| input::is_standard(f) && !args.check) {
        shell.json(json!({ "changed": changed }))?;
    } else if args.check {
        for file in &changed {
            shell.result(&format!("{file}\n"))?;
        }
    }
    if problems.has_errors() {
        return Err(problems.into());
    }
    if args.check && !changed.is_empty() {
        return Err(Failure::No);
    }
    Ok(())
}

/// A text and its canonical form.
fn formatted(path: &Path, from: Option<Kind>) -> Result<(Arc<Source>, String), Failure> {
    let no_form = |what: &str, help: &str| {
        let problem = Diagnostic::error("T0402", format!("{}: {what} has no canonical form", input::shown(path)));
        Err(problem.help(help).into())
    };
    if from.is_none() && path.extension().is_some_and(|suffix| suffix == "target") {
        let source = input::source(path)?;
        let text = format_targets(&parse_targets(source.clone())?);
        return Ok((source, text));
    }
    let kind = Kind::of(path, from)?;
    if matches!(kind, Kind::Onnx | Kind::Pnnx) {
        return no_form("a model", "`print` shows it as a program");
    }
    let source = input::source(path)?;
    if kind == Kind::Taut && is_script(&source.text) {
        return no_form("a script", "`check` finds its problems");
    }
    let text = match kind {
        Kind::Rules => format_rules(&parse_rules(source.clone())?),
        _ => format_program(&parse_program(source.clone())?),
    };
    Ok((source, text))
}
