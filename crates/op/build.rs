//! Turns the declarations in `ops/` into rows of the operator table: constants, so that nothing is read when a program
//! starts.
//!
//! A file whose operators have plain names belongs to the table. Operators with quoted names belong to other runtimes,
//! and are declared when a text mentions them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tautomer_diag::{Diagnostic, Diagnostics, Source};
use tautomer_lang::ast::{Ast, AttrDecl, AttrKindDecl, Dims, ExprId, ExprKind, Item, Mark, OperatorDecl, TypeKind};
use tautomer_lang::{format_operator, parse_rules_without_examples};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ops");
    println!("cargo:rerun-if-changed={}", folder.display());
    match rows(&folder) {
        Ok(text) => {
            let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("declarations.rs");
            std::fs::write(&out, text).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
        }
        Err(problem) => panic!("{problem}"),
    }
}

/// The rows of all files, as Rust.
fn rows(folder: &Path) -> Result<String, String> {
    let listed = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|suffix| suffix == "ops"));
    paths.sort();
    let mut out = String::from(
        "use crate::laws::{axes, normal, shapes, types, work};\nuse crate::*;\n\n\
         /// The operators that files declare.\npub(crate) const ROWS: &[OpDef] = &[\n",
    );
    for path in paths {
        println!("cargo:rerun-if-changed={}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let source = Arc::new(Source::new(path.display().to_string(), text));
        let rendered = |problems: Diagnostics| problems.in_source(&source).render(false);
        let file = parse_rules_without_examples(Arc::clone(&source)).map_err(rendered)?;
        let decls = file.items.iter().filter_map(|item| match item {
            Item::Operator(decl) => Some(&**decl),
            _ => None,
        });
        let (quoted, plain): (Vec<&OperatorDecl>, Vec<&OperatorDecl>) = decls.partition(|decl| decl.quoted);
        if let (Some(other), false) = (quoted.first(), plain.is_empty()) {
            let problem = invalid(other, "a quoted name among plain ones");
            return Err(rendered(Diagnostics::from(
                problem.help("move operators of other runtimes to a file of their own"),
            )));
        }
        for decl in plain {
            out.push_str(&row(decl).map_err(|problem| rendered(Diagnostics::from(problem)))?);
        }
    }
    out.push_str("];\n");
    Ok(out)
}

fn invalid(decl: &OperatorDecl, what: &str) -> Diagnostic {
    Diagnostic::error("T0109", what.to_owned()).label(decl.name.span, "")
}

/// One row.
fn row(decl: &OperatorDecl) -> Result<String, Diagnostic> {
    let law = |name: &str| decl.laws.iter().find(|law| law.name.as_str() == name);
    let stated = |name: &str| law(name).and_then(|law| law.value.as_ref()).map(|value| value.as_str());
    if decl.body.is_none() || decl.results.is_some() {
        return Err(
            invalid(decl, "an operator of the table has a body, and no list of results")
                .help("its results are those of the body; an operator that no body defines is a row in Rust"),
        );
    }
    if stated("types").is_some() && !decl.conditions.is_empty() {
        return Err(invalid(decl, "conditions beside a law for types")
            .help("the law decides which operands are accepted: leave out one of the two"));
    }
    let mut out = String::new();
    let doc = decl.doc.as_deref().unwrap_or_default().replace('\n', " ");
    let _ = writeln!(out, "    OpDef::new({:?}, {doc:?})", decl.name.as_str());
    if !decl.also.is_empty() {
        let names: Vec<&str> = decl.also.iter().map(|name| name.as_str()).collect();
        let _ = writeln!(out, "        .aliases(&{names:?})");
    }
    out.push_str("        .operands(&[");
    for operand in &decl.operands {
        let kind = match operand.mark {
            Mark::One => "one",
            Mark::Optional => "optional",
            Mark::Variadic => "variadic",
        };
        let _ = write!(out, "Operand::{kind}({:?})", operand.name.as_str());
        if let Some(TypeKind::Tensor {
            dims: Dims::List(dims), ..
        }) = operand.ty.as_ref().map(|ty| &ty.kind)
        {
            let _ = write!(out, ".ranked({})", dims.len());
        }
        out.push_str(", ");
    }
    out.push_str("])\n        .attrs(&[\n");
    for attr in &decl.attrs {
        out.push_str(&attribute(decl, attr)?);
    }
    out.push_str("        ])\n");
    let _ = writeln!(
        out,
        "        .infer({})",
        stated("types").map_or_else(|| "bodies::infer".to_owned(), |name| format!("types::{name}"))
    );
    for law in &decl.laws {
        let name = law.value.as_ref().map_or("", |value| value.as_str());
        let line = match (law.name.as_str(), name) {
            ("types", _) => continue,
            ("normal", name) => format!(".canonical(normal::{name})"),
            ("work", name) => format!(".cost(CostRule::Flops(work::{name}))"),
            ("shapes", name) => format!(".shapes(shapes::{})", name.to_uppercase()),
            ("axes", name) => format!(".axes(axes::{})", name.to_uppercase()),
            ("unpacks", "") => ".unpacks()".to_owned(),
            (other, _) => {
                return Err(Diagnostic::error("T0109", format!("`{other}` is no law"))
                    .label(law.name.span, "")
                    .help("the laws are types, normal, work, shapes, axes and unpacks"));
            }
        };
        let _ = writeln!(out, "        {line}");
    }
    match &decl.cost {
        Some(clause) => {
            let rule = match (clause.rule.as_str(), clause.operations) {
                ("elementwise", Some(n)) => format!("Elementwise({n:?})"),
                ("per_operand", Some(n)) => format!("PerInput({n:?})"),
                ("view", None) => "View".to_owned(),
                _ => return Err(Diagnostic::error("T0109", "no known cost").label(clause.span, "")),
            };
            let _ = writeln!(out, "        .cost(CostRule::{rule})");
        }
        None if law("work").is_none() => {
            return Err(invalid(decl, "an operator of the table states what it costs")
                .help("such as `cost elementwise(10)`, or `laws work = …`"));
        }
        None => {}
    }
    if let Some((first, rest)) = decl.traits.split_first() {
        let mut traits = format!("OpTraits::{}", first.as_str().to_uppercase());
        for word in rest {
            let _ = write!(traits, ".and(OpTraits::{})", word.as_str().to_uppercase());
        }
        let _ = writeln!(out, "        .traits({traits})");
    }
    if let Some(onnx) = &decl.onnx {
        if &*onnx.domain != "ai.onnx" {
            let problem = Diagnostic::error("T0109", "an operator of the table in another domain");
            return Err(problem
                .label(onnx.span, "")
                .help("operators of the table are of the domain `ai.onnx`; others have quoted names"));
        }
        let since = onnx.version.unwrap_or(1);
        let _ = writeln!(out, "        .onnx({:?}, {since})", &*onnx.name);
    }
    let mut plain = decl.clone();
    plain.doc = None;
    let text = format_operator(&plain);
    let tree = parsed(&text).map_err(|error| invalid(decl, &error))?;
    let _ = writeln!(out, "        .body({text:?}, &{tree:?}),");
    Ok(out)
}

/// The compact form of a declaration.
fn parsed(text: &str) -> Result<Vec<u8>, String> {
    let file =
        parse_rules_without_examples(Arc::new(Source::new("", text))).map_err(|problems| problems.to_string())?;
    file.to_bytes().map_err(|error| error.to_string())
}

fn attribute(decl: &OperatorDecl, attr: &AttrDecl) -> Result<String, Diagnostic> {
    let unknown = |what: &str| {
        Diagnostic::error("T0109", format!("{what} of `{}` is not understood", attr.name.as_str())).label(attr.span, "")
    };
    let kind = match &attr.kind {
        AttrKindDecl::One(kind) => match kind.as_str() {
            "int" => "Int",
            "float" => "Float",
            "bool" => "Bool",
            "string" => "Str",
            "type" => "DType",
            "axis" => "Axis(AxisOf::Input)",
            _ => return Err(unknown("the kind")),
        }
        .to_owned(),
        AttrKindDecl::List(kind) => match kind.as_str() {
            "int" => "Ints",
            "float" => "Floats",
            "string" => "Strs",
            "axis" => "Axes(AxisOf::Input)",
            _ => return Err(unknown("the kind")),
        }
        .to_owned(),
        AttrKindDecl::OneOf(texts, _) => format!("OneOf(&{texts:?})"),
    };
    let default = match attr.default {
        None if attr.optional => "None".to_owned(),
        None => "Required".to_owned(),
        Some(id) => default(&decl.ast, id, &kind).ok_or_else(|| unknown("the default"))?,
    };
    let doc = attr.doc.as_deref().unwrap_or_default().replace('\n', " ");
    let name = attr.name.as_str();
    Ok(format!(
        "            AttrDef::new({name:?}, AttrKind::{kind}, Default::{default}, {doc:?}),\n"
    ))
}

/// The default of an attribute of that kind.
fn default(ast: &Ast, id: ExprId, kind: &str) -> Option<String> {
    let integer = |id: &ExprId| match ast.kind(*id) {
        ExprKind::Int { value, suffix: None } => i64::try_from(*value).ok(),
        _ => None,
    };
    Some(match (ast.kind(id), kind) {
        (ExprKind::Bool(value), "Bool") => format!("Bool({value})"),
        (ExprKind::Int { .. }, "Int" | "Axis(AxisOf::Input)") => format!("Int({})", integer(&id)?),
        (ExprKind::Int { .. }, "Float") => format!("Float({:?})", integer(&id)? as f64),
        (ExprKind::Float { value, suffix: None }, "Float") if value.is_finite() => format!("Float({value:?})"),
        (ExprKind::List(items), "Ints" | "Axes(AxisOf::Input)") => {
            format!("Ints(&{:?})", items.iter().map(integer).collect::<Option<Vec<i64>>>()?)
        }
        (ExprKind::Str(text), _) => format!("Str({:?})", &**text),
        // Variants of `DType` are named like element types, in capitals.
        (ExprKind::Name(name), "DType") => format!("DType(tautomer_tensor::DType::{})", name.to_uppercase()),
        _ => return None,
    })
}
