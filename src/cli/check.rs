//! `tautomer check`: reports the problems of files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use tautomer::diag::Diagnostics;
use tautomer::{rule_files, target};

use super::input::{self, Kind};
use super::{Done, Failure, Shell, operators};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Programs (.taut), rule files (.rules), targets (.target) and models (.onnx, .pnnx.param); `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The shape of an input: a number, a name, a sum such as `n+1`, or `?` for each axis, as in `x=1,3,h,w`
    #[arg(long = "shape", value_name = "[NAME=]DIMS")]
    shapes: Vec<String>,
    /// The type of the files, regardless of their suffixes
    #[arg(long, value_enum, value_name = "KIND")]
    from: Option<Kind>,
    /// Instead of files, check expressions over columns like these, and print their types: `x: int32, y: float64`
    #[cfg(feature = "eval")]
    #[arg(long, value_name = "TEXT")]
    schema: Option<String>,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    #[cfg(feature = "eval")]
    if let Some(schema) = &args.schema {
        let expressions: Vec<String> = args
            .files
            .iter()
            .map(|text| text.to_string_lossy().into_owned())
            .collect();
        return super::eval::check(schema, &expressions, shell);
    }
    let mut reports: Vec<Value> = Vec::new();
    let (mut refused, mut count) = (0, 0);
    for path in &args.files {
        let (problems, answered) = match check(path, args, shell) {
            Ok(()) => (Diagnostics::new(), true),
            Err(Failure::Problems(problems)) => {
                // An unreadable file can be neither accepted nor rejected.
                let answered = problems.iter().all(|p| !matches!(p.code, "T0401" | "T0402" | "T0606"));
                (problems, answered)
            }
            Err(other) => return Err(other),
        };
        if !answered {
            return Err(problems.into());
        }
        count += problems.len();
        refused += usize::from(problems.has_errors());
        shell.problems(&problems);
        let mut report = problems.to_json();
        if let Value::Object(map) = &mut report {
            map.remove("schema");
            map.insert("file".to_owned(), json!(input::shown(path)));
            map.insert("ok".to_owned(), json!(!problems.has_errors()));
        }
        reports.push(report);
    }
    if shell.json {
        shell.json(json!({ "files": reports }))?;
    }
    let files = |n: usize| {
        if n == 1 {
            "1 file".to_owned()
        } else {
            format!("{n} files")
        }
    };
    if refused == 0 {
        shell.say(&format!("{} without problems", files(args.files.len())));
        return Ok(());
    }
    let problems = if count == 1 {
        "1 problem".to_owned()
    } else {
        format!("{count} problems")
    };
    shell.say(&format!("\n{problems} in {} of {}", refused, files(args.files.len())));
    Err(Failure::No)
}

fn check(path: &Path, args: &Args, shell: &Shell) -> Done {
    if args.from.is_none() && path.extension().is_some_and(|suffix| suffix == "target") {
        target::open_all(path, &operators::scope()?)?;
        return Ok(());
    }
    match Kind::of(path, args.from)? {
        Kind::Rules => {
            // With the files it uses, whose operators it may mention.
            operators::load(rule_files::sources(&[path.to_owned()])?)?;
            Ok(())
        }
        kind => Ok(input::checked(path, Some(kind), shell)?.reshape(&args.shapes)?),
    }
}
