//! Rules of the optimizers TASO and TENSAT, converted to the rule language.
//!
//! TASO stores rules in Protocol Buffers (`graph_subst.pb`), TENSAT as expressions, one rule per line. Both are read
//! into `terms`, and each rule is written *as published*: neither format has conditions beyond the number of axes.
//!
//! | there | here |
//! | --- | --- |
//! | `ewadd`, `ewmul`, `matmul`, `relu`, … | `+`, `*`, `matmul`, `relu`, …; equal ranks of variables that a target joins or convolves |
//! | an activation of an operator | a call around it |
//! | `conv2d`, padding VALID | `conv` without pads |
//! | `conv2d`, padding SAME | `conv` with the pads that preserve each dimension, divided by the stride |
//! | groups of `conv2d`, which follow from the shapes | any `group` in a source, channels of the input over those of the kernel in a target |
//! | `concat` with its number of axes | `concat`, and a condition on the rank |
//! | `split` at the positions where a `concat` joined | `split` whose `sizes` are the dimensions of the operands of that `concat` |
//! | `enlarge` | `pad` of a kernel with zeros around it |
//! | `poolmax`, `poolavg` | `max_pool`, `average_pool` that counts its padding |
//! | a kernel of averages | `full` in a target |
//! | a tensor of ones, as a factor | `1` |

mod proto;
mod sexp;
mod terms;
#[cfg(test)]
mod tests;
mod write;

use std::fmt::Write as _;
use std::sync::Arc;

use tautomer_diag::{Diagnostic, Diagnostics, Source};
use tautomer_lang::{format_rules, parse_rules};
use write::{Why, write_rule};

/// The result of importing a file of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedRules {
    /// The rules, formatted; a rule that is left out appears as a comment with the reason.
    pub text: String,
    /// The number of rules in the text.
    pub written: usize,
    /// Names of rules whose sides are the same once activations are written as calls.
    pub saying_nothing: Vec<String>,
    /// Names of rules that duplicate an earlier one.
    pub repeated: Vec<String>,
    /// Names of rules that cannot be expressed, with the reason.
    pub refused: Vec<(String, String)>,
}

/// Converts a file of rules; `name` is its path, used for messages and for telling the formats apart, and `prefix`
/// starts the names of the rules.
///
/// A file whose name ends in `.pb` is TASO's, one that ends in `.txt` is TENSAT's; any other is TENSAT's if it is text.
/// If any target in a TENSAT file has a variable that its source lacks, every two lines form a rule with two outputs.
///
/// # Errors
/// The file is damaged; the message gives the byte of a binary file, or the line and column of a text.
///
/// ```
/// use tautomer_taso::import_rules;
/// let text = b"(ewadd ?a (ewadd ?b ?c))=>(ewadd (ewadd ?a ?b) ?c)\n";
/// let rules = import_rules("rules.txt", text, "taso").unwrap();
/// assert!(rules.text.contains("rule taso-0-add-of-add(x1, x2, x3) { x1 + (x2 + x3) => x1 + x2 + x3"));
/// ```
pub fn import_rules(name: &str, bytes: &[u8], prefix: &str) -> Result<ImportedRules, Diagnostics> {
    let text = std::str::from_utf8(bytes)
        .ok()
        .filter(|t| !t.contains('\0') && t.contains("=>"));
    let rules = match text {
        _ if name.ends_with(".pb") => proto::read(name, bytes)?,
        Some(text) => sexp::read(&Arc::new(Source::new(name, text)))?,
        None if name.ends_with(".txt") => {
            let at = std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
            let what = if at == bytes.len() {
                "there is no rule `left=>right`"
            } else {
                "this is not UTF-8 text"
            };
            return Err(Diagnostic::error("T0501", format!("{name}: byte {at}: {what}")).into());
        }
        None => proto::read(name, bytes)?,
    };
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let mut out = ImportedRules {
        text: format!(
            "// Rules of {}, as published: what they need beyond the number of axes is not in that file.\n",
            file.escape_debug()
        ),
        written: 0,
        saying_nothing: Vec::new(),
        repeated: Vec::new(),
        refused: Vec::new(),
    };
    let mut bodies: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    for (number, rule) in rules.iter().enumerate() {
        let name = format!("{prefix}-{number}{}", write::name_of(rule));
        let comment = match write_rule(rule) {
            Ok(body) => match bodies.get(&body) {
                None => {
                    let _ = write!(out.text, "\n/// Rule {number}, as published.\nrule {name}{body}\n");
                    bodies.insert(body, name);
                    out.written += 1;
                    continue;
                }
                Some(first) => {
                    let comment = format!("the same as `{first}`");
                    out.repeated.push(name.clone());
                    comment
                }
            },
            Err(Why::SaysNothing) => {
                out.saying_nothing.push(name.clone());
                "trivial: both sides are the same".to_owned()
            }
            Err(Why::NoForm(reason)) => {
                out.refused.push((name.clone(), reason.clone()));
                reason
            }
        };
        let _ = write!(out.text, "\n// `{name}`: {comment}.\n");
    }
    // The generated text always parses unless the prefix is not a valid name.
    let parsed = parse_rules(Arc::new(Source::new(format!("rules of {name}"), out.text.as_str())))?;
    out.text = format_rules(&parsed);
    Ok(out)
}
