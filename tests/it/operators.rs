//! Operators declared in files: in programs, rules and models, with every command.

use std::fs;
use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::formats::onnx::{decode_model, import_in};
use tautomer::graph::{BuildOptions, Graph, build_program, declare, same_graph, to_program};
use tautomer::lang::ast::Item;
use tautomer::lang::{format_program, format_rules, parse_program, parse_rules};
use tautomer::op::{Scope, lookup, table};
use tautomer::rule::{library_operators, load_rules, operator_files, table_files};
use tautomer::verify::fingerprint;

use super::command::{folder, run};

fn graph_of(text: &str) -> Graph {
    let program =
        parse_program(Arc::new(Source::new("a.taut", text))).unwrap_or_else(|e| panic!("{}", e.render(false)));
    build_program(&program, &BuildOptions::default()).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

const SKIP: &str = "\
/// Adds a residual, then normalizes.
operator skip_norm(x, skip, gamma, beta?) {epsilon: float = 1e-12, mode: \"a\" | \"b\" = \"a\", k: [int]?} -> (y, sum?) {
  let s = x + skip;
  let n = s / sqrt(reduce_mean(s * s) {axes = [-1], keepdims = true} + epsilon) * gamma;
  (when given(beta) { n + beta } else { n }, s)
}
  onnx \"com.example\" SkipNorm 1
  where gamma.rank == 1
  cost elementwise(10.0);

operator \"com.example::Warp\"(x: [n, m], parts...: f32[n]) -> (y: [m, n], z: i64[2]);

fn main(x: f32[2, 3], g: f32[3], t: f32[2]) {
  let (y, s) = skip_norm(x, x, g) {epsilon = 0.1};
  (y, \"com.example::Warp\"(s, t, t).0)
}
";

#[test]
fn declarations_are_printed_as_they_are_read() {
    let parsed = parse_program(Arc::new(Source::new("a.taut", SKIP))).unwrap();
    let text = format_program(&parsed);
    let again = parse_program(Arc::new(Source::new("b.taut", text.clone())))
        .unwrap_or_else(|e| panic!("{text}\n{}", e.render(false)));
    assert_eq!(format_program(&again), text);
    // Equal declarations are one operator, whatever file they are in, and however they are laid out.
    let scopes: Vec<Scope> = [&parsed, &again]
        .iter()
        .map(|program| declare(&program.operators, &Scope::default()).0)
        .collect();
    for name in ["skip_norm", "com.example::Warp"] {
        let [a, b] = [0, 1].map(|i| scopes[i].declared(name).unwrap());
        assert!(std::ptr::eq(a, b), "{text}");
    }
    let rules = format!(
        "{}\n/// R.\nrule r(x) {{ x => x }}\n",
        SKIP.split("fn main").next().unwrap()
    );
    let file = parse_rules(Arc::new(Source::new("a.rules", rules))).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let once = format_rules(&file);
    let twice = format_rules(&parse_rules(Arc::new(Source::new("b.rules", once.clone()))).unwrap());
    assert_eq!(once, twice);
}

#[test]
fn printed_programs_declare_what_they_call() {
    let graph = graph_of(SKIP);
    assert_eq!(graph.outputs().len(), 2);
    let types: Vec<String> = graph.outputs().iter().map(|o| graph.ty(o.vertex).to_string()).collect();
    assert_eq!(types, ["f32[2, 3]", "f32[3, 2]"]);
    let text = format_program(&to_program(&graph));
    let again = graph_of(&text);
    assert!(same_graph(&graph, &again).is_ok(), "{text}");
    assert_eq!(format_program(&to_program(&again)), text);
}

#[test]
fn operators_that_come_with_the_tool_load_and_are_distinct() {
    let set = library_operators().unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert!(!set.operators.is_empty());
    for (name, text) in operator_files() {
        // Checked as files of a user are.
        let source = Arc::new(Source::new(*name, *text));
        let found = parse_rules(source).and_then(load_rules);
        let found = found.unwrap_or_else(|e| panic!("{}", e.render(false)));
        for (name, def) in found.operators.iter() {
            assert!(std::ptr::eq(set.operators.declared(name).unwrap(), def), "{name}");
            assert!(!def.doc.is_empty(), "{name}");
        }
    }
}

/// Each operator of the table that has a body is declared in one file, is the row of the table, and has an example, which
/// is computed when the file is loaded.
#[test]
fn operators_of_the_table_are_declared_with_examples() {
    let mut declared = Vec::new();
    for (name, text) in table_files() {
        let file = parse_rules(Arc::new(Source::new(*name, *text))).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let examples: Vec<String> = file
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Example(example) => Some(example.name.as_str().to_owned()),
                _ => None,
            })
            .collect();
        let set = load_rules(file).unwrap_or_else(|e| panic!("{}", e.render(false)));
        for (name, def) in set.operators.iter() {
            assert!(std::ptr::eq(lookup(name).unwrap(), def), "{name}");
            assert!(examples.iter().any(|example| example == name), "{name} has no example");
            declared.push(name.to_owned());
        }
    }
    declared.sort();
    let mut composite: Vec<&str> = table()
        .filter(|op| op.composite_body().is_some())
        .map(|op| op.name)
        .collect();
    composite.sort_unstable();
    assert_eq!(
        declared, composite,
        "a file of ops/ is missing in `TABLE` of crates/rule/src/library.rs"
    );
}

#[test]
fn clauses_of_the_table_are_refused_elsewhere() {
    for (text, message) in [
        (
            "operator f(x) { x + x } laws types = float",
            "a clause for operators of the table alone",
        ),
        (
            "operator f(x) { x + x } also g",
            "a clause for operators of the table alone",
        ),
        (
            "operator silu(x) { x * sigmoid(x) }",
            "`silu` is an operator that comes with the tool",
        ),
    ] {
        let problems = declared(text).unwrap_err();
        assert!(problems[0].contains(message), "{problems:?}");
    }
}

#[test]
fn verdicts_depend_on_declarations() {
    let of = |body: &str, call: &str| {
        let text = format!("operator f(x) {{ {body} }}\n/// R.\nrule r(x) {{ {call} => x numerics bitwise }}");
        let set = parse_rules(Arc::new(Source::new("a.rules", text))).and_then(tautomer::rule::load_checked_rules);
        fingerprint(&set.unwrap_or_else(|e| panic!("{}", e.render(false))).rules[0])
    };
    assert_eq!(of("x * 1", "f(x)"), of("(x) * 1", "f(x)"));
    assert_ne!(of("x * 1", "f(x)"), of("x / 1", "f(x)"));
    assert_eq!(of("x * 1", "x + 0"), of("x / 1", "x + 0"));
}

/// Whether declarations are accepted, or else the codes and messages of the problems.
fn declared(text: &str) -> Result<Scope, Vec<String>> {
    let program =
        parse_program(Arc::new(Source::new("a.taut", text))).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let (scope, problems) = declare(&program.operators, &Scope::default());
    match problems.has_errors() {
        true => Err(problems.iter().map(|p| format!("{} {}", p.code, p.message)).collect()),
        false => Ok(scope),
    }
}

#[test]
fn bodies_are_tried_on_operands_that_the_conditions_admit() {
    let sum = |conditions: &str| {
        format!(
            "operator again(a, zero?, b?, scale?) {{ quantize_linear(dequantize_linear(a, b, zero), scale) }} {conditions};"
        )
    };
    // `b` and `scale` are required and follow an operand that may be left out; `a` and `zero` share an element type.
    let all = sum(
        "where given(b) and given(scale), a.dtype in [u8, i8], zero.dtype == a.dtype, zero.rank == 0, \
                   b.rank == 0, scale.rank == 0",
    );
    assert!(declared(&all).is_ok(), "{:?}", declared(&all).err());
    // A call has to satisfy them too.
    let call = |operands: &str| {
        let text = format!("{all}\nfn main(a: i8[3], z: i8, u: u8, s: f32) {{ again({operands}) }}");
        let program = parse_program(Arc::new(Source::new("a.taut", text))).unwrap();
        build_program(&program, &BuildOptions::default()).map_err(|e| e.render(false))
    };
    assert!(call("a, none, s, s").is_ok() && call("a, z, s, s").is_ok());
    for (operands, condition) in [
        ("a, z, s", "does not hold: given(b) && given(scale)"),
        ("a, u, s, s", "does not hold: zero.dtype == a.dtype"),
    ] {
        let problem = call(operands).unwrap_err();
        assert!(problem.contains(condition), "{problem}");
    }
    // Without the conditions, and with conditions that admit what the body cannot do, the body is refused.
    for conditions in [
        "",
        "where given(b), a.dtype in [u8, i8], zero.dtype == a.dtype, zero.rank == 0, b.rank == 0",
        "where given(b) and given(scale), a.dtype == bool",
    ] {
        assert!(declared(&sum(conditions)).is_err(), "{conditions}");
    }
    // A rank that is left open is guessed, also where the element type is given.
    assert!(declared("operator f(x, k: i64[..]) { when k.rank == 1 { x + k.shape[0] } else { x } }").is_ok());
    assert!(declared("operator f(x, k: i64[..]) { transpose(k) {perm = [1, 0, 2, 3, 4]} } where k.rank == 5;").is_ok());
}

const FUSION: &str = "\
/// Of another runtime.
operator quick(x) {alpha: float = 1.5} { x * sigmoid(alpha * x) }
  onnx \"com.example\" Quick 1
  cost elementwise(4)

/// Into the operator.
rule fuse(x) { x * sigmoid(x * 1.5) => quick(x) numerics real }
example fuse {
  fn (x: f32[3]) { x * sigmoid(x * 1.5) }
  => fn (x: f32[3]) { \"com.example::Quick\"(x) }
}
";

const MODEL: &str = "fn main(x: f32[2, 8], w: f32[8, 8]) {
  let y = matmul(x, w);
  y * sigmoid(y * 1.5)
}
";

#[test]
fn a_rule_fuses_a_model_into_a_declared_operator() {
    let dir = folder(&[("my.rules", FUSION), ("m.taut", MODEL)]);
    let dir = dir.path();
    let verified = run(dir, "verify my.rules --json").json();
    assert_eq!(verified["rules"][0]["verdict"], "proved-all", "{verified}");
    let convert = run(dir, "convert m.taut m.onnx");
    assert_eq!(convert.code, 0, "{}", convert.err);
    for engine in ["saturate", "substitute"] {
        let done = run(
            dir,
            &format!("optimize m.onnx --rules my.rules --engine {engine} -o out.onnx --explain"),
        );
        assert_eq!(done.code, 0, "{}", done.err);
        let model = decode_model(fs::read(dir.join("out.onnx")).unwrap().into()).unwrap();
        let nodes = &model.graph.as_ref().unwrap().node;
        let fused = nodes.iter().find(|node| node.op_type() == "Quick").unwrap();
        assert_eq!((nodes.len(), fused.domain()), (2, "com.example"));
        assert!(
            model
                .opset_import
                .iter()
                .any(|set| set.domain() == "com.example" && set.version() == 1)
        );
        // Without the declaration the node is carried along; with it, it is typed and run by its body.
        let set = parse_rules(Arc::new(Source::new("my.rules", FUSION)))
            .and_then(load_rules)
            .unwrap();
        let imported = import_in(model, None, &set.operators).unwrap();
        assert!(imported.notes.is_empty(), "{}", imported.notes);
        let same = run(dir, "verify m.onnx out.onnx --ops my.rules");
        assert_eq!(same.code, 0, "{}{}", same.out, same.err);
        let again = run(
            dir,
            &format!("optimize out.onnx --rules my.rules --engine {engine} -o again.onnx --json"),
        );
        assert_eq!(again.code, 0, "{}", again.err);
    }
    // A body written out is the other direction.
    let expand = FUSION.replace(
        "rule fuse(x) { x * sigmoid(x * 1.5) => quick(x) numerics real }",
        "rule fuse(x) { quick(x) => x * sigmoid(x * 1.5) numerics real }",
    );
    let expand = expand.split("\nexample").next().unwrap();
    fs::write(dir.join("expand.rules"), expand).unwrap();
    let done = run(
        dir,
        "optimize out.onnx --rules expand.rules --no-built-in --engine substitute -o plain.taut",
    );
    assert_eq!(done.code, 0, "{}", done.err);
    let text = fs::read_to_string(dir.join("plain.taut")).unwrap();
    assert!(text.contains("sigmoid(") && !text.contains("quick("), "{text}");
}

#[test]
fn rules_find_declared_operators_in_every_spelling() {
    let body = "x * sigmoid(1.5 * x)";
    let pattern = "sigmoid(x * 1.5) * x";
    let spellings = [
        // Declared under its name in models, or under a short name, and called by either.
        (
            format!("operator \"com.microsoft::QuickGelu\"(x) {{ {body} }}"),
            "\"com.microsoft::QuickGelu\"(x)",
        ),
        (
            format!("operator ms(x) {{ {body} }} onnx \"com.microsoft\" QuickGelu 1"),
            "ms(x)",
        ),
        (
            format!("operator ms(x) {{ {body} }} onnx \"com.microsoft\" QuickGelu"),
            "\"com.microsoft::QuickGelu\"(x)",
        ),
        (
            format!("operator ms(x) {{ {body} }} onnx 'com.microsoft' 'QuickGelu' 1;"),
            "ms(x)",
        ),
        // That comes with the tool.
        (String::new(), "\"com.microsoft::QuickGelu\"(x) {alpha = 1.5}"),
        (String::new(), "'com.microsoft::QuickGelu'(x) {alpha = 1.5}"),
        (
            "use \"built-in/onnxruntime\"".to_owned(),
            "\"com.microsoft::QuickGelu\"(x) {alpha = 1.5}",
        ),
        // Through another operator, with types, and without a body.
        (
            format!("operator inner(x) {{ {body} }}\noperator \"com.microsoft::QuickGelu\"(x) {{ inner(x) }}"),
            "\"com.microsoft::QuickGelu\"(x)",
        ),
        (
            format!("operator \"com.microsoft::QuickGelu\"(x: [n, m]) -> y: [n, m] {{ {body} }}"),
            "\"com.microsoft::QuickGelu\"(x)",
        ),
        (
            "operator \"com.microsoft::QuickGelu\"(x: [n, m]) -> y: [n, m];".to_owned(),
            "\"com.microsoft::QuickGelu\"(x)",
        ),
    ];
    for (declaration, call) in spellings {
        let rules = format!("{declaration}\n/// R.\nrule r(x) {{ {pattern} => {call} numerics real }}\n");
        let dir = folder(&[("my.rules", &rules), ("m.taut", MODEL)]);
        let done = run(
            dir.path(),
            "optimize m.taut --rules my.rules --allow-refuted --no-check -o out.onnx",
        );
        assert_eq!(done.code, 0, "{rules}\n{}", done.err);
        let model = decode_model(fs::read(dir.path().join("out.onnx")).unwrap().into()).unwrap();
        let names: Vec<String> = model
            .graph
            .unwrap()
            .node
            .iter()
            .map(|n| format!("{}::{}", n.domain(), n.op_type()))
            .collect();
        assert_eq!(names, ["::MatMul", "com.microsoft::QuickGelu"], "{rules}");
    }
}

#[test]
fn an_operator_without_a_body_is_carried_merged_and_not_run() {
    let text = "operator \"com.example::Warp\"(x: [n, m]) {steps: int = 1} -> y: [n, m];\n\
                fn main(x: f32[2, 3]) { \"com.example::Warp\"(x) + \"com.example::Warp\"(x) {steps = 1} + relu(relu(x)) }\n";
    let constant =
        text.split("fn main").next().unwrap().to_owned() + "fn main() { \"com.example::Warp\"([[1.0, 2.0]]) }\n";
    let dir = folder(&[("m.taut", text), ("c.taut", &constant)]);
    let done = run(dir.path(), "optimize m.taut -o out.taut");
    assert_eq!(done.code, 0, "{}", done.err);
    let out = fs::read_to_string(dir.path().join("out.taut")).unwrap();
    // Equal calls are one.
    assert_eq!(out.matches("\"com.example::Warp\"(x)").count(), 1, "{out}");
    assert!(!out.contains("relu(relu"), "{out}");
    let ran = run(dir.path(), "run c.taut");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("com.example::Warp"), "{}", ran.err);
}

/// The page of all operators, written by `UPDATE_OPERATORS=1 cargo test --test it operators::`.
#[test]
fn the_reference_page_is_current() {
    let dir = folder(&[]);
    let list = run(dir.path(), "ops list --json").json();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut page = String::from(
        "# Operators\n\nWritten by `UPDATE_OPERATORS=1 cargo test --test it operators::`. `x?` may be left out, `x...` \
         stands for one\nor more values. `tautomer ops show NAME` shows one operator; how operators are declared is in \
         the\n[language reference](../grammar/README.md#operators-of-your-own).\n",
    );
    for op in list["operators"].as_array().unwrap() {
        let operands = op["operands"].as_array().unwrap().iter().map(|o| {
            let mark = match o["count"].as_str() {
                Some("optional") => "?",
                Some("one or more") => "...",
                _ => "",
            };
            format!("{}{mark}", text(&o["name"]))
        });
        let operands = operands.collect::<Vec<_>>().join(", ");
        page.push_str(&format!(
            "\n## {0}\n\n`{0}({operands})`: {1}",
            text(&op["name"]),
            text(&op["doc"])
        ));
        if let Some(models) = op["models"].as_str() {
            page.push_str(&format!(" ONNX: {models}."));
        }
        page.push('\n');
        for (i, attr) in op["attributes"].as_array().unwrap().iter().enumerate() {
            let start = if i == 0 { "\n" } else { "" };
            let doc = match text(&attr["doc"]) {
                doc if doc.is_empty() => doc,
                doc => format!("; {doc}"),
            };
            let (name, takes, usual) = (text(&attr["name"]), text(&attr["takes"]), text(&attr["otherwise"]));
            page.push_str(&format!("{start}* `{name}`: {takes}, {usual}{doc}\n"));
        }
        if let Some(body) = op["body"].as_str() {
            page.push_str(&format!("\n```text\n{body}\n```\n"));
        }
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operators.md");
    if std::env::var_os("UPDATE_OPERATORS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/operators.md is stale: UPDATE_OPERATORS=1 cargo test --test it operators::"
    );
}

#[test]
fn operators_are_listed_shown_and_checked() {
    let dir = folder(&[
        ("my.ops", "/// Twice.\noperator twice(x) { x + x }\n"),
        ("bad.ops", "operator twice(x: f32[n]) -> i64[n] { x + x }\n"),
    ]);
    let dir = dir.path();
    assert!(run(dir, "ops list --ops my.ops").out.contains("\ntwice "));
    let own = run(dir, "ops show twice --ops my.ops");
    assert_eq!(own.out, "/// Twice.\noperator twice(x) { x + x }\n");
    let conv = run(dir, "ops show Conv").out;
    assert!(
        conv.starts_with("conv(") && conv.contains("ONNX: Conv since operator set 1"),
        "{conv}"
    );
    assert!(run(dir, "ops show com.microsoft::Gelu").out.contains("erf"));
    assert!(run(dir, "ops show rellu").err.contains("did you mean `relu`?"));
    let checked = run(dir, "ops check my.ops");
    assert_eq!(
        (checked.code, checked.err.as_str()),
        (0, "1 operator without problems\n")
    );
    let bad = run(dir, "ops check bad.ops");
    assert_eq!(bad.code, 2);
    assert!(
        bad.err.contains("T0110") && bad.err.contains("bad.ops:1:"),
        "{}",
        bad.err
    );
}

#[test]
fn a_file_of_operators_is_known_to_every_command() {
    let dir = folder(&[
        (
            "my.ops",
            "/// Twice.\noperator twice(x) { x + x } onnx \"com.example\" Twice 1\n",
        ),
        ("m.taut", "fn main(x: f32[2]) { twice(x) }\n"),
    ]);
    let dir = dir.path();
    assert!(run(dir, "check m.taut").err.contains("unknown operator `twice`"));
    for command in [
        "check m.taut",
        "convert m.taut m.onnx",
        "check m.onnx",
        "optimize m.onnx -o o.onnx",
    ] {
        let done = run(dir, &format!("{command} --ops my.ops"));
        assert_eq!(done.code, 0, "{command}: {}", done.err);
    }
    let printed = run(dir, "print m.onnx --ops my.ops").out;
    assert!(
        printed.contains("operator twice(x) { x + x }") && printed.contains("twice(x)"),
        "{printed}"
    );
    // Without the declaration, the node is carried along.
    assert!(run(dir, "print m.onnx").out.contains("\"com.example::Twice\"(x)"));
}
