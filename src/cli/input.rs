//! Reading: programs, models, scripts.

use std::path::Path;
use std::sync::Arc;

use tautomer::diag::{Diagnostic, Diagnostics, Severity, Source};
use tautomer::lang::is_script;
use tautomer::model::Reading;

use super::{Failure, Shell};

pub(super) use tautomer::model::{Kind, Model, bytes, input_name, is_standard, plain, read_arrays, shown, source};

/// The text of a file if it is a script; if `compat` is set, a script in the other spelling.
pub(super) fn script_source(path: &Path, from: Option<Kind>, compat: bool) -> Result<Option<Arc<Source>>, Failure> {
    let kind = match Kind::of(path, from) {
        Err(_) if compat => Kind::Taut,
        kind => kind?,
    };
    if kind != Kind::Taut {
        return Ok(None);
    }
    let source = source(path)?;
    Ok((compat || is_script(&source.text)).then_some(source))
}

/// Reads a program or a model, and prints the notes about the file. The parameter values of a program come from
/// `params`, or from a file of the same stem beside it.
pub(super) fn read(path: &Path, from: Option<Kind>, params: Option<&Path>, shell: &Shell) -> Result<Model, Failure> {
    let model = quietly(path, from, params, shell)?;
    tell(&model, shell);
    Ok(model)
}

/// Reads a file to report its problems: what other programs reject is an error here.
pub(super) fn checked(path: &Path, from: Option<Kind>, shell: &Shell) -> Result<Model, Failure> {
    let mut model = quietly(path, from, None, shell)?;
    let (wrong, odd): (Vec<Diagnostic>, Vec<Diagnostic>) =
        model.notes.iter().cloned().partition(|note| note.code == "T0512");
    model.notes = odd.into_iter().collect();
    tell(&model, shell);
    if wrong.is_empty() {
        return Ok(model);
    }
    let as_error = |mut problem: Diagnostic| {
        problem.severity = Severity::Error;
        problem
    };
    Err(wrong.into_iter().map(as_error).collect::<Diagnostics>().into())
}

fn quietly(path: &Path, from: Option<Kind>, params: Option<&Path>, shell: &Shell) -> Result<Model, Failure> {
    let build = shell.build_options();
    let model = Model::open_as(path, &Reading { from, params, build })?;
    model.details.iter().for_each(|line| shell.detail(line));
    Ok(model)
}

/// Prints the notes about the file.
fn tell(model: &Model, shell: &Shell) {
    if model.kind != Kind::Onnx {
        shell.notes(&model.notes);
    } else if !shell.quiet {
        let told = |d: &&Diagnostic| shell.verbose || d.severity == Severity::Warning;
        shell.problems(&model.notes.iter().filter(told).cloned().collect());
    }
}

/// The value, or `None` after moving its problems to `problems`.
pub(super) fn kept<T>(result: Result<T, Failure>, problems: &mut Diagnostics) -> Result<Option<T>, Failure> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Failure::Problems(found)) => {
            problems.extend(found);
            Ok(None)
        }
        Err(other) => Err(other),
    }
}
