//! Graphs of any size in one shape, for scaling curves.

use std::fmt::Write as _;

/// The shapes that [`text`] supports.
pub(crate) const SHAPES: [&str; 4] = ["chain", "residual", "wide", "denses"];

/// A program of about `vertices` calls.
///
/// `chain`: unary operators in a row, with an `abs` of a `neg` every five; `residual`: each step is used by the next
/// two; `wide`: parallel steps, with a sum with a negation in each; `denses`: layers of two products of one input.
pub(crate) fn text(shape: &str, vertices: usize) -> String {
    let mut params = String::new();
    let mut body = String::new();
    let mut last = "x".to_owned();
    let mut results = Vec::new();
    match shape {
        "chain" => {
            for i in 0..vertices {
                let op = ["relu", "tanh", "neg", "abs", "sigmoid"][i % 5];
                let _ = writeln!(body, "  let v{i} = {op}({last});");
                last = format!("v{i}");
            }
        }
        "residual" => {
            for i in 0..vertices / 4 {
                let _ = writeln!(
                    body,
                    "  let a{i} = tanh(relu({last})) * {i}.25;\n  let v{i} = a{i} + {last};"
                );
                last = format!("v{i}");
            }
        }
        "wide" => {
            for i in 0..vertices / 4 {
                let _ = writeln!(body, "  let v{i} = x + neg(relu(x * {i}.5));");
                results.push(format!("v{i}"));
            }
        }
        _ => {
            for i in 0..vertices / 4 {
                let _ = write!(params, ", param w{i}: f32[8, 8], param u{i}: f32[8, 8]");
                let _ = writeln!(body, "  let v{i} = relu(matmul({last}, w{i}) + matmul({last}, u{i}));");
                last = format!("v{i}");
            }
        }
    }
    let result = match results.as_slice() {
        [] => last,
        several => format!("({})", several.join(", ")),
    };
    format!("fn main(x: f32[8, 8]{params}) {{\n{body}  {result}\n}}\n")
}
