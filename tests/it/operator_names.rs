//! Operators are known by their rows: no other crate asks for one by a name in a string.
//!
//! A name in a string literal is a match that a new operator silently misses. What code needs to know about an operator
//! is a facet of its row (`Formula`, `AxesRule`, `ShapeRule`, `OpTraits`, …); to make a call of a certain operator there
//! are names that the compiler checks (`tautomer_op::known`). The literals that are left are listed here, with a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Crates that are not looked at; nor are the kernels of `exec`, nor [`LOOPS`].
const CRATES: [(&str, &str); 8] = [
    ("op", "the table itself"),
    ("number", "functions of number systems, which the table is made of"),
    ("testing", "configures tests"),
    (
        "check",
        "checks proofs without the code of any other crate, so it defines operators by itself",
    ),
    ("columns", "has a table of functions of its own, with a row for each"),
    (
        "datafusion",
        "translates the functions of another engine, with a row for each",
    ),
    (
        "pnnx",
        "translates the operators of another format, with a row for each",
    ),
    (
        "taso",
        "translates the operators of another format, with a row for each",
    ),
];

/// How elementwise operators are computed in loops: a row for each, as kernels have.
const LOOPS: &str = "crates/exec/src/region/lower.rs";

const FIELD: &str = "an attribute of calls, or a field of values in expressions";
const FUNCTION: &str = "functions of expressions, such as `max(x.rank, 2)`, not operators";
const WORD: &str = "words of the grammar";
const FOREIGN: &str = "a table with a row for each operator of the format";

/// The names that are left: the file, the names, and why.
const LEFT: &[(&str, &[&str], &str)] = &[
    (
        "crates/exec/src/place.rs",
        &["concat"],
        "the one kernel whose operands may be parts of its result",
    ),
    ("crates/files/src/npy.rs", &["shape"], "a key in the header of a file"),
    (
        "crates/graph/src/build/script.rs",
        &["ones", "reshape", "shape", "size", "slice", "zeros"],
        "words of scripts, which are functions of their own",
    ),
    ("crates/graph/src/declare/infer.rs", &["shape"], FIELD),
    ("crates/graph/src/term/eval.rs", &["shape", "size"], FIELD),
    (
        "crates/graph/src/term/functions.rs",
        &["abs", "ceil", "floor", "max", "min", "range", "sqrt", "sum"],
        FUNCTION,
    ),
    (
        "crates/lang/src/slips.rs",
        &["and", "or"],
        "words that are operators between their operands",
    ),
    ("crates/graph/src/text/types.rs", &["max", "min", "shape"], FUNCTION),
    (
        "crates/lang/src/ast/ops.rs",
        &[
            "add",
            "and",
            "bitwise_and",
            "bitwise_not",
            "bitwise_or",
            "bitwise_xor",
            "div",
            "equal",
            "greater",
            "greater_or_equal",
            "less",
            "less_or_equal",
            "matmul",
            "mod",
            "mul",
            "neg",
            "not",
            "or",
            "pow",
            "sub",
            "xor",
        ],
        "the table of operator signs, a row for each; syntax does not know the table of operators",
    ),
    ("crates/lang/src/build/blocks.rs", &["optional"], WORD),
    ("crates/lang/src/build/columns.rs", &["not"], WORD),
    ("crates/lang/src/build/expr.rs", &["and", "or"], WORD),
    ("crates/lang/src/build/items.rs", &["shape"], FIELD),
    ("crates/lang/src/print/items.rs", &["where"], WORD),
    ("crates/lang/src/print/operators.rs", &["where"], WORD),
    ("crates/lang/src/print/targets.rs", &["where"], WORD),
    ("crates/lang/src/lib.rs", &["and", "not", "or"], WORD),
    ("crates/lang/src/script.rs", &["and", "not", "or"], WORD),
    (
        "crates/onnx/src/export/call.rs",
        &["floor", "max", "min"],
        "attributes and their values",
    ),
    (
        "crates/onnx/src/export/extents.rs",
        &["shape"],
        "the name of a constant in a model",
    ),
    ("crates/onnx/src/export/gathers.rs", &["shape"], FIELD),
    (
        "crates/onnx/src/export/mod.rs",
        &["mod"],
        "ONNX has the remainder of floating-point numbers in one of its two forms alone",
    ),
    (
        "crates/onnx/src/import/call.rs",
        &[
            "attention_with_cache",
            "dropout_in_training",
            "layer_normalization_with_statistics",
            "max_pool_with_indices",
            "softmax_cross_entropy_loss_with_log_prob",
            "split",
        ],
        FOREIGN,
    ),
    (
        "crates/onnx/src/import/legacy.rs",
        &[
            "clip",
            "dequantize_linear",
            "floor",
            "max",
            "min",
            "quantize_linear",
            "shape",
            "split",
        ],
        "operators whose ONNX schema writes an absent bound or type as a number, and attributes",
    ),
    (
        "crates/rewrite/src/fold/fill.rs",
        &["constant_of_shape", "shape"],
        "recognizes the call that folding itself makes, and its attribute",
    ),
    ("crates/rule/src/check/kinds.rs", &["shape", "size"], FIELD),
    ("crates/rule/src/check/names.rs", &["shape", "size"], FIELD),
    ("crates/rule/src/check/nodes.rs", &["shape", "size"], FIELD),
    (
        "crates/rule/src/lint/sides.rs",
        &["range", "shape", "size", "slice"],
        FIELD,
    ),
    (
        "crates/verify/src/compare/data.rs",
        &["compress", "non_zero", "unique"],
        "they select elements, so that no number makes their results large: nothing else asks for that",
    ),
    ("crates/verify/src/compare/data.rs", &["zeros"], "a kind of test data"),
    ("crates/verify/src/instance/probe/worlds.rs", &["shape"], FIELD),
    ("crates/verify/src/instance/solve.rs", &["shape"], FIELD),
    ("crates/verify/src/proof/conditions.rs", &["shape", "size"], FIELD),
    (
        "crates/verify/src/proof/expr.rs",
        &["max", "min", "sum"],
        "how formulas are printed",
    ),
    ("crates/verify/src/proof/form.rs", &["shape"], FIELD),
    ("crates/verify/src/proof/function.rs", &["max", "min"], FIELD),
    ("crates/verify/src/proof/layout.rs", &["shape"], FIELD),
    ("crates/verify/src/proof/ranks/bounded.rs", &["shape", "size"], FIELD),
    ("crates/verify/src/proof/ranks/matches.rs", &["max", "min"], FUNCTION),
    ("crates/verify/src/proof/ranks/numbering.rs", &["range"], FUNCTION),
    ("crates/verify/src/proof/ranks/spatial/axes.rs", &["shape"], FIELD),
    (
        "crates/verify/src/proof/ranks/spatial/text.rs",
        &["range", "shape", "size"],
        "a function of expressions, and fields of values",
    ),
    (
        "crates/verify/src/proof/ranks/text/conditions.rs",
        &["max", "min", "range", "shape", "size"],
        FUNCTION,
    ),
    ("crates/verify/src/proof/scope.rs", &["shape", "size"], FIELD),
    ("crates/verify/src/proof/scope/ledger.rs", &["shape", "size"], FIELD),
    ("crates/verify/src/proof/scope/numbers.rs", &["abs"], FUNCTION),
    ("crates/verify/src/proof/scope/shared.rs", &["shape"], FIELD),
    ("crates/verify/src/proof/terms.rs", &["shape"], FIELD),
    ("crates/verify/src/proof/terms/expr.rs", &["range"], FUNCTION),
    ("crates/verify/src/proof/terms/laws.rs", &["shape"], FIELD),
    ("crates/verify/src/proof/terms/lists.rs", &["shape"], FIELD),
    ("crates/verify/src/proof/terms/numbers.rs", &["size"], FIELD),
    (
        "crates/verify/src/proof/terms/polynomials.rs",
        &["shape", "size"],
        FIELD,
    ),
    ("crates/verify/src/proof/terms/ranks.rs", &["shape"], FIELD),
    ("crates/verify/src/proof/terms/read.rs", &["shape"], FIELD),
    ("crates/verify/src/proof/terms/rows.rs", &["shape", "size"], FIELD),
    ("crates/verify/src/proof/terms/spread.rs", &["shape", "size"], FIELD),
    ("crates/verify/src/proof/terms/variables.rs", &["shape", "size"], FIELD),
    ("crates/verify/src/proof/types.rs", &["shape", "size"], FIELD),
    ("crates/verify/src/proof/written.rs", &["shape"], FIELD),
    ("crates/verify/src/rule/members.rs", &["shape"], FIELD),
    ("src/cli/check.rs", &["shape"], "an option of the command line"),
    ("src/cli/ops.rs", &["optional"], "how an operand is printed"),
    ("src/cli/optimize.rs", &["shape"], "an option of the command line"),
    ("src/cli/output.rs", &["shape"], "a key of JSON"),
    ("src/cli/repl/prompt.rs", &["shape", "size"], FIELD),
    ("src/cli/rules/draw.rs", &["shape", "size", "where"], FIELD),
    ("src/cli/run.rs", &["shape"], "an option of the command line"),
    (
        "src/testing.rs",
        &[
            "abs",
            "add",
            "concat",
            "matmul",
            "max",
            "min",
            "mul",
            "neg",
            "pad",
            "reduce_max",
            "reduce_sum",
            "relu",
            "reshape",
            "sigmoid",
            "slice",
            "softmax",
            "split",
            "sub",
            "tanh",
            "transpose",
            "where",
        ],
        "the operators that random graphs of users are made of",
    ),
];

/// Where a function of the prover is compared with a name: laws are about single functions.
const LAWS: [&str; 11] = [
    "crates/verify/src/proof/bits.rs",
    "crates/verify/src/proof/choices.rs",
    "crates/verify/src/proof/defined.rs",
    "crates/verify/src/proof/integers.rs",
    "crates/verify/src/proof/whole.rs",
    "crates/verify/src/proof/lattices.rs",
    "crates/verify/src/proof/laws.rs",
    "crates/verify/src/proof/fold.rs",
    "crates/verify/src/proof/function.rs",
    "crates/verify/src/proof/certificate.rs",
    "crates/verify/src/proof/signs.rs",
];

/// The files of all crates that are looked at, without their tests, by path from the root.
fn sources() -> BTreeMap<String, String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut out = BTreeMap::new();
    let mut folders = vec![root.join("src"), root.join("crates")];
    let mut of_tests: BTreeSet<PathBuf> = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            let skipped = CRATES.iter().any(|(c, _)| name == format!("crates/{c}"));
            let tests = ["tests", "benches", "examples", "target", "kernels"];
            if path.is_dir() && !skipped && !tests.iter().any(|t| name.ends_with(&format!("/{t}"))) {
                folders.push(path);
                continue;
            }
            if !name.ends_with(".rs") || name == LOOPS {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            let own = path.with_extension("");
            let folder = match own.file_name().and_then(|n| n.to_str()) {
                Some("mod" | "lib" | "main") => folder.clone(),
                _ => own,
            };
            for pair in lines.windows(2).filter(|pair| pair[0].trim() == "#[cfg(test)]") {
                if let Some(module) = pair[1].trim().strip_prefix("mod ").and_then(|m| m.strip_suffix(';')) {
                    of_tests.insert(folder.join(module).with_extension("rs"));
                }
            }
            // A module of tests stands at the end of its file.
            let end = lines
                .windows(2)
                .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].ends_with('{'));
            out.insert(path, (name, lines[..end.unwrap_or(lines.len())].join("\n")));
        }
    }
    out.retain(|path, _| !of_tests.contains(path));
    out.into_values().collect()
}

/// The string literals of a text that are single words.
fn words(text: &str) -> BTreeSet<&str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    // Every second part is between quotes, and a word is in one line.
    code.flat_map(|line| line.split('"'))
        .filter(|part| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
        })
        .collect()
}

#[test]
fn operators_are_known_by_their_rows() {
    let operators: BTreeSet<&str> = tautomer::op::table().map(|def| def.name).collect();
    let mut problems = Vec::new();
    let sources = sources();
    assert!(sources.len() > 200, "only {} files were found", sources.len());
    for (file, text) in &sources {
        let left: BTreeSet<&str> = LEFT
            .iter()
            .filter(|(own, ..)| own == file)
            .flat_map(|(_, names, _)| names.iter().copied())
            .collect();
        let found: BTreeSet<&str> = words(text)
            .into_iter()
            .filter(|word| operators.contains(word) && text.contains(&format!("\"{word}\"")))
            .collect();
        for name in found.difference(&left) {
            problems.push(format!(
                "{file} has the operator `{name}` in a string: give its row in crates/op a facet that says what is asked \
                 for here and read that, use `tautomer_op::known` to make a call of it, or list it with a reason in \
                 tests/it/operator_names.rs"
            ));
        }
        for name in left.difference(&found) {
            problems.push(format!(
                "{file} no longer has `{name}`: remove it from tests/it/operator_names.rs"
            ));
        }
        // A name that the compiler checks is for making calls; to ask what an operator means there are facets.
        let asks = ["== known::", "!= known::", ".is(known::"];
        let asked = asks.into_iter().find(|how| text.contains(how));
        if let Some(how) = asked.filter(|_| !LAWS.contains(&file.as_str())) {
            problems.push(format!(
                "{file} asks for an operator by name (`{how}…`): read a facet of its row"
            ));
        }
    }
    for (file, _, why) in LEFT {
        assert!(!why.is_empty());
        if !sources.contains_key(*file) {
            problems.push(format!("there is no {file}: remove it from tests/it/operator_names.rs"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
