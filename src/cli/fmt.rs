//! `tautomer fmt`: canonical form.

use std::path::PathBuf;

use serde_json::json;

use tautomer::diag::Diagnostic;
use tautomer::lang::{format_program, format_rules, parse_program, parse_rules};

use super::input::{self, Kind};
use super::{Done, Failure, Shell, output};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Programs and rule files, rewritten in place; `-` reads standard input and writes standard output
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write nothing; name the files that are not in canonical form
    #[arg(long)]
    check: bool,
    /// What the files are, whatever their suffix
    #[arg(long, value_enum, value_name = "KIND")]
    from: Option<Kind>,
}

/// Brings rule files into canonical form, whatever their suffix.
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
    for path in &args.files {
        let kind = Kind::of(path, args.from)?;
        let source = match kind {
            Kind::Onnx | Kind::Pnnx => {
                let problem = Diagnostic::error("T0402", format!("{}: a model has no form", input::shown(path)));
                return Err(problem.help("`print` shows it as a program").into());
            }
            _ => input::source(path)?,
        };
        let old = source.clone();
        let text = match kind {
            Kind::Rules => format_rules(&parse_rules(source)?),
            _ => format_program(&parse_program(source)?),
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
    if args.check && !changed.is_empty() {
        return Err(Failure::No);
    }
    Ok(())
}
