//! Scripts: the output of their statements.

use std::fmt::Write as _;
use std::sync::Arc;

use clap::ValueEnum;
use serde_json::{Value, json};

use tautomer::diag::{Diagnostic, Source};
use tautomer::graph::{Session, Shown, Step, VertexId};
use tautomer::lang::{Compat, Script, parse_script};
use tautomer::tensor::{Tensor, Type};

use tautomer::compare::evaluate;
use tautomer::model::shown_values as values;

use super::{Done, Failure, Shell, output};

/// How a script is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Spelling {
    /// `.` is the elementwise product, `*` is `dot`
    Spelling,
    /// The same, and types are shown as `x:tensor[3]`, values as nested lists
    Full,
}

/// Options for scripts.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(super) struct ScriptArgs {
    /// Read the file as a script in which `.` is the elementwise product and `*` is `dot`, as `pragma compat` does
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "spelling", require_equals = true, value_name = "LEVEL")]
    compat: Option<Spelling>,
    /// Random seed of the script
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Allow values of a script to have up to N elements
    #[arg(long, value_name = "N", default_value_t = 1 << 24)]
    max_elements: usize,
}

impl ScriptArgs {
    pub(super) fn compat(self) -> Compat {
        match self.compat {
            None => Compat::Off,
            Some(Spelling::Spelling) => Compat::Spelling,
            Some(Spelling::Full) => Compat::Full,
        }
    }

    /// Whether the other spelling was requested.
    pub(super) fn is_compat(self) -> bool {
        self.compat.is_some()
    }

    pub(super) fn session(self) -> Session {
        Session::new(self.compat(), self.seed).with_max_elements(self.max_elements)
    }
}

/// Checks and computes a script, and shows what its statements show.
pub(super) fn run(source: Arc<Source>, args: ScriptArgs, reference: bool, shell: &Shell) -> Done {
    let script = parse_script(source, args.compat())?;
    let mut session = args.session();
    let steps = session.add_all(&script)?;
    no_inputs(&session, &script, &steps)?;
    let shown: Vec<VertexId> = steps
        .iter()
        .filter(|step| step.name.is_none())
        .flat_map(values)
        .collect();
    let computed = compute(&session, &shown, reference)?;
    for (v, tensor) in shown.into_iter().zip(computed) {
        session.remember(v, tensor);
    }
    if shell.json {
        return shell.json(json!({ "statements": steps.iter().map(|s| step_json(&session, s)).collect::<Vec<_>>() }));
    }
    let text: String = steps.iter().map(|step| step_text(&session, step)).collect();
    shell.result(&text)
}

/// Rejects statements that depend on inputs, as a script has no values for them.
fn no_inputs(session: &Session, script: &Script, steps: &[Step]) -> Done {
    for step in steps.iter().filter(|step| step.name.is_none()) {
        let Some(&input) = values(step)
            .flat_map(|v| session.inputs_of(v))
            .collect::<Vec<_>>()
            .first()
        else {
            continue;
        };
        let name = session.graph().vertex(input).name.clone().unwrap_or_default();
        let problem = Diagnostic::error("T0407", format!("the input `{name}` has no value"))
            .label(step.span, "computed from it")
            .help(format!(
                "give it a value in the script, `{name} = …`, or write a program: `fn main({name}: …) {{ … }}`"
            ));
        return Err(problem.in_source(&script.source).into());
    }
    Ok(())
}

/// Computes the values of some vertices from known ones.
pub(super) fn compute(session: &Session, roots: &[VertexId], reference: bool) -> Result<Vec<Tensor>, Failure> {
    if roots.is_empty() {
        return Ok(Vec::new());
    }
    let roots: Vec<(VertexId, Option<&str>)> = roots.iter().map(|&v| (v, None)).collect();
    Ok(evaluate(&session.program(&roots, true), &[], reference)?)
}

/// The text a statement shows: the type of what it names, or values.
pub(super) fn step_text(session: &Session, step: &Step) -> String {
    let mut out = String::new();
    if let Some(name) = &step.name {
        for v in values(step) {
            out.push_str(&format!("{}\n", typed(session, name, v)));
        }
        return out;
    }
    let shown = step.values.iter().map(|shown| match shown {
        Shown::Text(text) => text.clone(),
        Shown::Value(v) => session.value(*v).map_or_else(
            || session.graph().ty(*v).to_string(),
            |t| value_text(t, session.compat()),
        ),
    });
    let texts: Vec<String> = shown.collect();
    let between = if texts.iter().any(|t| t.contains('\n')) {
        "\n"
    } else {
        " "
    };
    out.push_str(&texts.join(between));
    out.push('\n');
    out
}

/// A name and its type.
pub(super) fn typed(session: &Session, name: &str, v: VertexId) -> String {
    let ty = session.graph().ty(v);
    match (session.compat(), concrete(ty)) {
        (Compat::Full, Some(shape)) => format!("{name}:tensor{shape:?}"),
        _ => format!("{name}: {ty}"),
    }
}

fn concrete(ty: &Type) -> Option<Vec<usize>> {
    ty.as_tensor()?.shape.as_ref()?.to_concrete()
}

/// Larger tensors are not shown as nested lists, which cannot be abbreviated.
const MAX_NESTED: usize = 1 << 16;

fn value_text(tensor: &Tensor, compat: Compat) -> String {
    if compat == Compat::Full && tensor.len() <= MAX_NESTED {
        nested(tensor)
    } else {
        output::tensor_text(tensor)
    }
}

/// A tensor as nested lists on one line.
fn nested(tensor: &Tensor) -> String {
    let texts = output::element_texts(tensor, false);
    let shape = tensor.shape();
    let mut out = "[".repeat(if tensor.is_empty() { 0 } else { shape.len() });
    if tensor.is_empty() {
        return "[]".to_owned();
    }
    for (i, text) in texts.iter().enumerate() {
        // As many brackets close as axes end here.
        let mut inner = 1;
        let ends = shape.iter().rev().take_while(|&&extent| {
            inner *= extent;
            i % inner == 0
        });
        let closed = if i == 0 { 0 } else { ends.count() };
        let _ = write!(out, "{}", "]".repeat(closed));
        if i > 0 {
            out.push_str(", ");
        }
        let _ = write!(out, "{}{text}", "[".repeat(closed));
    }
    out + &"]".repeat(shape.len())
}

fn step_json(session: &Session, step: &Step) -> Value {
    let shown = |shown: &Shown| match shown {
        Shown::Text(text) => json!(text),
        Shown::Value(v) => match session.value(*v).filter(|_| step.name.is_none()) {
            Some(tensor) => output::tensor_json("", tensor),
            None => json!({ "type": session.graph().ty(*v).to_string() }),
        },
    };
    json!({ "name": step.name, "values": step.values.iter().map(shown).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_lists_close_where_axes_end() {
        let ints = |shape: &[usize]| {
            let n = shape.iter().product::<usize>() as i32;
            Tensor::new(shape, (0..n).collect::<Vec<i32>>()).unwrap()
        };
        assert_eq!(nested(&ints(&[2, 2, 2])), "[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]");
        assert_eq!(nested(&ints(&[3])), "[0, 1, 2]");
        assert_eq!(nested(&ints(&[])), "0");
        assert_eq!(nested(&ints(&[2, 0])), "[]");
    }
}
