//! Scripts: statements of a file, run one after the other.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use tautomer::diag::Source;
use tautomer::script::{Dialect, Outcome, Session, is_script, parse_script};
use tautomer::tensor::{Tensor, Type};

use super::input::{self, Kind};
use super::{Done, Failure, Shell, output};

/// The text of a file that is a script.
pub(super) fn text_of(path: &Path, from: Option<Kind>, compat: bool) -> Result<Option<String>, Failure> {
    if Kind::of(path, from)? != Kind::Taut || input::is_standard(path) {
        return Ok(None);
    }
    // What cannot be read is told where programs are.
    let Ok(text) = std::fs::read_to_string(path) else {
        return Ok(None);
    };
    Ok((compat || is_script(&text)).then_some(text))
}

/// Runs a script and prints what its statements give.
pub(super) fn run(path: &Path, text: String, compat: bool, seed: u64, shell: &Shell) -> Done {
    let dialect = if compat { Dialect::Plain } else { Dialect::Main };
    let script = parse_script(Arc::new(Source::new(input::shown(path), text)), dialect)?;
    let outcomes = Session::new(seed).run(&script)?;
    if shell.json {
        let all: Vec<_> = outcomes
            .iter()
            .flat_map(|o| {
                let name = o.name.as_deref().unwrap_or("");
                o.values.iter().map(|t| output::tensor_json(name, t)).collect::<Vec<_>>()
            })
            .collect();
        return shell.json(json!({ "statements": all }));
    }
    let mut out = String::new();
    for outcome in &outcomes {
        out.push_str(&shown(outcome, compat));
    }
    shell.result(&out)
}

/// What a statement shows: the type of a name, or the value of an expression.
pub(super) fn shown(outcome: &Outcome, compat: bool) -> String {
    match &outcome.name {
        Some(name) if compat => format!("{name}:tensor{}\n", extents(&outcome.ty)),
        Some(name) => format!("{name}: {}\n", outcome.ty),
        None => {
            let text = |t: &Tensor| if compat { listed(t) } else { output::tensor_text(t) };
            let lines = outcome.values.iter().map(|t| text(t) + "\n");
            if compat {
                lines.collect()
            } else {
                format!("{}\n{}", outcome.ty, lines.collect::<String>())
            }
        }
    }
}

/// `[2, 3]`
fn extents(ty: &Type) -> String {
    ty.as_tensor()
        .and_then(|t| t.shape.as_ref())
        .map_or_else(|| ty.to_string(), ToString::to_string)
}

/// More elements than this are abbreviated.
const MAX_LISTED: usize = 1000;

/// A tensor as lists of lists: `[[1, 2], [3, 4]]`; large ones as in other output.
fn listed(tensor: &Tensor) -> String {
    if tensor.len() > MAX_LISTED {
        return output::tensor_text(tensor);
    }
    let mut texts = output::all_texts(tensor).into_iter();
    list(tensor.shape(), &mut texts)
}

fn list(shape: &[usize], texts: &mut impl Iterator<Item = String>) -> String {
    match shape {
        [] => texts.next().unwrap_or_default(),
        [n, rest @ ..] => {
            let items: Vec<String> = (0..*n).map(|_| list(rest, texts)).collect();
            format!("[{}]", items.join(", "))
        }
    }
}
