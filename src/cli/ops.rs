//! `tautomer ops`: the operators of the table, and those declared in files.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use tautomer::diag::{Diagnostic, did_you_mean};
use tautomer::graph::declaration;
use tautomer::lang::format_operator;
use tautomer::op::{self, Default as Usual, OpDef, OperandKind, Semantics};
use tautomer::rule_files;

use super::{Done, Failure, Shell, counted, operators};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the operators, with what they compute
    List,
    /// Show one operator: its operands, its attributes, its body, its form in models
    Show {
        /// Its name, such as `conv`, `Conv` or `com.microsoft::Gelu`
        name: String,
    },
    /// Report problems in files that declare operators
    Check {
        /// Files (.ops, .rules)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    match &args.command {
        Command::List => list(shell),
        Command::Show { name } => show(name, shell),
        Command::Check { files } => check(files, shell),
    }
}

/// Every operator, each once: those of the table, then the declared ones by name.
fn all() -> Result<Vec<&'static OpDef>, Failure> {
    let mut out: Vec<&'static OpDef> = op::table().collect();
    for (_, def) in operators::scope()?.iter() {
        if !out.iter().any(|known| std::ptr::eq(*known, def)) {
            out.push(def);
        }
    }
    Ok(out)
}

fn list(shell: &Shell) -> Done {
    let all = all()?;
    if shell.json {
        return shell.json(json!({ "operators": all.iter().map(|def| as_json(def)).collect::<Vec<_>>() }));
    }
    let width = all.iter().map(|def| def.name.chars().count()).max().unwrap_or(0);
    let lines: String = all
        .iter()
        .map(|def| {
            format!("{:width$}  {}", def.name, first_line(def))
                .trim_end()
                .to_owned()
                + "\n"
        })
        .collect();
    shell.result(&lines)
}

fn show(name: &str, shell: &Shell) -> Done {
    let scope = operators::scope()?;
    let found = scope.find(name, false).or_else(|| op::lookup_onnx(name));
    let Some(def) = found else {
        let all = all()?;
        let names = all.iter().flat_map(|def| def.names());
        let problem = Diagnostic::error("T0402", format!("there is no operator `{name}`"));
        return Err(match did_you_mean(name, names) {
            Some(close) => problem.help(format!("did you mean `{close}`?")),
            None => problem.help("`tautomer ops list` shows all operators; `--ops FILE` adds those of a file"),
        }
        .into());
    };
    if shell.json {
        return shell.json(as_json(def));
    }
    shell.result(&(text(def) + "\n"))
}

fn check(files: &[PathBuf], shell: &Shell) -> Done {
    let set = operators::load(rule_files::sources(files)?)?;
    shell.problems(&set.warnings);
    let mut found: Vec<&'static OpDef> = Vec::new();
    for (_, def) in set.operators.iter() {
        if !found.iter().any(|known| std::ptr::eq(*known, def)) {
            found.push(def);
        }
    }
    if shell.json {
        return shell.json(json!({ "operators": found.iter().map(|def| as_json(def)).collect::<Vec<_>>() }));
    }
    shell.say(&format!("{} without problems", counted(found.len(), "operator")));
    Ok(())
}

fn first_line(def: &OpDef) -> &'static str {
    def.doc.lines().next().unwrap_or_default()
}

/// What the operator is called in models: `Conv since operator set 1`.
fn in_models(def: &OpDef) -> Option<String> {
    match (def.foreign(), def.onnx) {
        (Some(foreign), _) => Some(format!(
            "{}::{} version {}",
            foreign.domain, foreign.name, foreign.version
        )),
        (None, Some(onnx)) => Some(format!("{} since operator set {}", onnx.name, onnx.since)),
        (None, None) => None,
    }
}

fn kind(def: &OpDef) -> &'static str {
    match def.semantics {
        Semantics::Composite(_) => "body",
        Semantics::Movement(_) => "movement",
        Semantics::Flow(_) => "control flow",
        Semantics::Uninterpreted => "nothing known",
        Semantics::Primitive(_) | Semantics::Missing => "primitive",
    }
}

fn as_json(def: &OpDef) -> serde_json::Value {
    let operands: Vec<_> = def
        .operands
        .iter()
        .map(|o| json!({ "name": o.name, "count": marked(o.kind) }))
        .collect();
    let attrs: Vec<_> = def
        .attrs
        .iter()
        .map(|a| json!({ "name": a.name, "takes": a.expects(), "otherwise": usual(a.default), "doc": a.doc }))
        .collect();
    json!({
        "name": def.name, "doc": def.doc, "operands": operands, "attributes": attrs, "computes": kind(def),
        "body": def.composite_body(), "models": in_models(def), "declared": def.declared.is_some(),
    })
}

fn marked(kind: OperandKind) -> &'static str {
    match kind {
        OperandKind::One => "one",
        OperandKind::Optional => "optional",
        OperandKind::Variadic => "one or more",
    }
}

fn usual(default: Usual) -> String {
    match default {
        Usual::Required => "must be given".to_owned(),
        Usual::None => "may be left out".to_owned(),
        Usual::Bool(v) => format!("{v} if left out"),
        Usual::Int(v) => format!("{v} if left out"),
        Usual::Ints(v) => format!("{v:?} if left out"),
        Usual::Float(v) => format!("{v} if left out"),
        Usual::Str(v) => format!("{v:?} if left out"),
        Usual::DType(v) => format!("{v} if left out"),
    }
}

/// Describes an operator.
pub(super) fn text(def: &'static OpDef) -> String {
    if let Some(decl) = declaration(def) {
        let doc: String = def.doc.lines().map(|line| format!("/// {line}\n")).collect();
        return format!("{doc}{}", format_operator(decl));
    }
    let operands: Vec<String> = def.operands.iter().map(ToString::to_string).collect();
    let mut text = format!("{}({})", def.name, operands.join(", "));
    if !def.attrs.is_empty() {
        let names: Vec<&str> = def.attrs.iter().map(|a| a.name).collect();
        text.push_str(&format!(" {{{}}}", names.join(", ")));
    }
    text.push_str(&format!("\n{}", def.doc));
    let width = def.attrs.iter().map(|a| a.name.len()).max().unwrap_or(0);
    for attr in def.attrs {
        let (expects, usual) = (attr.expects(), usual(attr.default));
        text.push_str(&format!("\n  {:width$}  {expects}: {}; {usual}", attr.name, attr.doc));
    }
    if !def.aliases.is_empty() {
        text.push_str(&format!("\nalso called {}", def.aliases.join(", ")));
    }
    if let Some(body) = def.composite_body() {
        text.push_str(&format!("\n{}", unindented(body)));
    }
    if let Some(models) = in_models(def) {
        text.push_str(&format!("\nONNX: {models}"));
    }
    text
}

/// A text whose lines after the first are indented by what the last one is.
fn unindented(text: &str) -> String {
    let last = text.lines().last().unwrap_or_default();
    let margin = last.len() - last.trim_start().len();
    let lines = text.lines().enumerate().map(|(i, line)| match i {
        0 => line,
        _ => line
            .get(margin.min(line.len() - line.trim_start().len())..)
            .unwrap_or(line),
    });
    lines.collect::<Vec<_>>().join("\n")
}
