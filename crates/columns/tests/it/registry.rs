//! Gandiva's registry: every signature is done or refused with a code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use tautomer_columns::{Type, functions, refused, return_type};

const REGISTRY: &str = include_str!("../data/gandiva_registry.txt");

/// What became of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Done,
    /// A mathematical function of `f32` returns `f32`, not `f64`.
    Single,
    /// Decimals and intervals are not types here.
    RefusedType,
    /// The name is refused, with a reason.
    RefusedName,
    /// Another signature has the same arguments.
    RefusedResult,
}

struct Signature {
    name: String,
    args: Vec<Option<Type>>,
    result: Option<Type>,
}

/// The types of the registry; `None` for decimals and intervals.
fn ty(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "int8" => Type::Int8,
        "int16" => Type::Int16,
        "int32" => Type::Int32,
        "int64" => Type::Int64,
        "uint8" => Type::UInt8,
        "uint16" => Type::UInt16,
        "uint32" => Type::UInt32,
        "uint64" => Type::UInt64,
        "float" => Type::Float32,
        "double" => Type::Float64,
        "string" => Type::Utf8,
        "binary" => Type::Binary,
        "date32[day]" => Type::Date32,
        "date64[ms]" => Type::Date64,
        "time32[ms]" => Type::TimeMillisecond,
        "timestamp[ms]" => Type::TimestampMillisecond,
        "decimal128(38, 0)" | "day_time_interval" | "month_interval" => return None,
        other => panic!("unknown type {other}"),
    })
}

fn signatures() -> Vec<Signature> {
    let lines = REGISTRY.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let line = line.replace("decimal128(38, 0)", "decimal128(38; 0)");
            let ty = |text: &str| ty(&text.trim().replace("; ", ", "));
            let (result, rest) = match line.strip_prefix("decimal128(38; 0) ") {
                Some(rest) => (None, rest),
                None => line.split_once(' ').map(|(result, rest)| (ty(result), rest)).unwrap(),
            };
            let (name, args) = rest.split_once('(').unwrap();
            let args = args.strip_suffix(')').unwrap();
            let args = args.split(',').filter(|arg| !arg.trim().is_empty()).map(ty).collect();
            Signature {
                name: name.to_owned(),
                args,
                result,
            }
        })
        .collect()
}

fn state(signature: &Signature, all: &[Signature]) -> Option<State> {
    if refused(&signature.name).is_some() {
        return Some(State::RefusedName);
    }
    let args: Option<Vec<Type>> = signature.args.iter().copied().collect();
    let (Some(args), Some(result)) = (args, signature.result) else {
        return Some(State::RefusedType);
    };
    let found = return_type(&signature.name, &args)?;
    if found == result {
        return Some(State::Done);
    }
    if found == Type::Float32 && result == Type::Float64 && args.iter().all(|&ty| ty == Type::Float32) {
        return Some(State::Single);
    }
    let twin = all
        .iter()
        .any(|other| other.name == signature.name && other.args == signature.args && other.result == Some(found));
    twin.then_some(State::RefusedResult)
}

#[test]
fn every_signature_is_done_or_refused() {
    let all = signatures();
    assert_eq!(all.len(), 1409);
    let missing: Vec<String> = all
        .iter()
        .filter(|signature| state(signature, &all).is_none())
        .map(|signature| format!("{:?} {}({:?})", signature.result, signature.name, signature.args))
        .collect();
    assert!(
        missing.is_empty(),
        "{} are missing:\n{}",
        missing.len(),
        missing.join("\n")
    );
    let (done, names) = names_done(&all);
    assert!(done * 10 >= names * 9, "{done} of {names} names");
}

/// The number of names with a signature that is done, and of all names.
fn names_done(all: &[Signature]) -> (usize, usize) {
    let names: BTreeSet<&str> = all.iter().map(|signature| signature.name.as_str()).collect();
    let done: BTreeSet<&str> = all
        .iter()
        .filter(|signature| matches!(state(signature, all), Some(State::Done | State::Single)))
        .map(|signature| signature.name.as_str())
        .collect();
    (done.len(), names.len())
}

/// The page of all functions: `UPDATE_COLUMNS=1 cargo test -p tautomer-columns` writes it.
#[test]
fn the_page_of_functions_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("FUNCTIONS.md");
    let page = page();
    if std::env::var_os("UPDATE_COLUMNS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "run UPDATE_COLUMNS=1 cargo test -p tautomer-columns");
}

fn page() -> String {
    let all = signatures();
    let mut counts: BTreeMap<State, usize> = BTreeMap::new();
    for signature in &all {
        if let Some(state) = state(signature, &all) {
            *counts.entry(state).or_default() += 1;
        }
    }
    let count = |state| counts.get(&state).copied().unwrap_or(0);
    let (done, names) = names_done(&all);
    let mut out = String::from("# Functions of expressions over columns\n\n");
    out +=
        "A test writes and compares this page. Names are compared without case. `strict` functions are null where an\n";
    out += "argument is null. Results differ in `f32` alone: mathematical functions of `f32` return `f32`.\n\n";
    out += "## Gandiva's registry\n\n| state | signatures |\n| --- | ---: |\n";
    for (text, state) in [
        ("done", State::Done),
        ("done, with `f32` instead of `f64` as the result", State::Single),
        ("refused: decimals and intervals (T0705)", State::RefusedType),
        ("refused by name, with a reason (T0705)", State::RefusedName),
        (
            "refused: differs from another form in its result alone (T0702)",
            State::RefusedResult,
        ),
    ] {
        let _ = writeln!(out, "| {text} | {} |", count(state));
    }
    let _ = writeln!(
        out,
        "\n{done} of {names} names have a form here. The others:\n\n| name | reason |\n| --- | --- |"
    );
    let reasons: BTreeMap<&str, &str> = all
        .iter()
        .filter_map(|signature| Some((signature.name.as_str(), refused(&signature.name)?)))
        .collect();
    for (name, reason) in reasons {
        let _ = writeln!(out, "| `{name}` | {reason} |");
    }
    out += "\n## All functions\n\n| names | nulls | forms |\n| --- | --- | --- |\n";
    for function in functions() {
        let names: Vec<String> = function.names.iter().map(|name| format!("`{name}`")).collect();
        let forms: Vec<String> = function
            .forms
            .iter()
            .map(|form| format!("`{}`", form.replace('|', "\\|")))
            .collect();
        let nulls = if function.strict { "strict" } else { "own" };
        let _ = writeln!(out, "| {} | {nulls} | {} |", names.join(" "), forms.join("<br>"));
    }
    out
}

/// Every test that the page of coverage names exists.
#[test]
fn tests_of_the_coverage_page_exist() {
    let page = include_str!("../../COVERAGE.md");
    let sources = [
        include_str!("corpus.rs"),
        include_str!("evaluation.rs"),
        include_str!("fused.rs"),
        include_str!("integers.rs"),
        include_str!("language.rs"),
        include_str!("registry.rs"),
        include_str!("rewrite.rs"),
        include_str!("types.rs"),
        include_str!("../../src/function.rs"),
        include_str!("../../src/simplify.rs"),
        include_str!("../../../../tests/eval.rs"),
        include_str!("../../../loops/src/functions/tests.rs"),
        include_str!("../../../loops/tests/random.rs"),
        include_str!("../../../datafusion/tests/it/codec.rs"),
        include_str!("../../../datafusion/tests/it/differential.rs"),
        include_str!("../../../datafusion/tests/it/function.rs"),
        include_str!("../../../datafusion/tests/it/sql.rs"),
    ];
    let mut count = 0;
    for row in page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| row"))
    {
        let tests = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        for name in tests.split('`').skip(1).step_by(2) {
            count += 1;
            let definition = format!("fn {name}(");
            assert!(
                sources.iter().any(|text| text.contains(&definition)),
                "there is no test `{name}`"
            );
        }
    }
    assert!(count > 40, "{count} tests are named");
}
