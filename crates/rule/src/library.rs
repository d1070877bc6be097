//! The rules shipped with the tool.

use std::sync::{Arc, LazyLock, OnceLock};

use super::RuleSet;
use super::check::load_checked_rules_in;
use tautomer_diag::{Diagnostics, Source};
use tautomer_lang::parse_rules;
use tautomer_op::Scope;

/// A name and a text: of a rule file or a lock, say.
pub type NamedText = (&'static str, &'static str);

/// The name of a file that comes with the tool, and its text. Release builds contain the text; debug builds read it when
/// it is first used, so that nothing is compiled when a rule changes.
#[macro_export]
macro_rules! shipped {
    ($path:literal) => {{
        #[cfg(not(debug_assertions))]
        let text: &'static str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $path));
        #[cfg(debug_assertions)]
        let text: &'static str = {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $path);
            let text = std::fs::read_to_string(path);
            // A debug build is run where it was made.
            text.unwrap_or_else(|error| panic!("{path}: {error}")).leak()
        };
        ($path, text)
    }};
}

/// The rule files of the library.
static FILES: LazyLock<Vec<NamedText>> = LazyLock::new(|| {
    vec![
        shipped!("rules/identity.rules"),
        shipped!("rules/algebra.rules"),
        shipped!("rules/layout.rules"),
        shipped!("rules/reduce.rules"),
        shipped!("rules/matmul.rules"),
        shipped!("rules/conv.rules"),
        shipped!("rules/activation.rules"),
        shipped!("rules/norm.rules"),
        shipped!("rules/strided.rules"),
        shipped!("rules/einsum.rules"),
        shipped!("rules/attention.rules"),
        shipped!("rules/transformer.rules"),
        shipped!("rules/quantize.rules"),
    ]
});

/// Optional sets of rules shipped with the tool, used only on request: their names and files.
static SETS: LazyLock<Vec<(&str, Vec<NamedText>)>> = LazyLock::new(|| {
    let gsl = vec![
        shipped!("rules/gsl/onnx.rules"),
        shipped!("rules/gsl/transpose.rules"),
        shipped!("rules/gsl/concat.rules"),
        shipped!("rules/gsl/conv.rules"),
        shipped!("rules/gsl/parallel.rules"),
        shipped!("rules/gsl/elementwise.rules"),
        shipped!("rules/gsl/like.rules"),
        shipped!("rules/gsl/lower.rules"),
        shipped!("rules/gsl/gsl.rules"),
    ];
    let taso = vec![
        shipped!("rules/taso/matmul.rules"),
        shipped!("rules/taso/elementwise.rules"),
        shipped!("rules/taso/concat.rules"),
        shipped!("rules/taso/conv.rules"),
    ];
    let onnxruntime = vec![
        shipped!("rules/onnxruntime/norm.rules"),
        shipped!("rules/onnxruntime/activation.rules"),
        shipped!("rules/onnxruntime/attention.rules"),
        shipped!("rules/onnxruntime/conv.rules"),
        shipped!("rules/onnxruntime/matmul.rules"),
    ];
    vec![("gsl", gsl), ("taso", taso), ("onnxruntime", onnxruntime)]
});

/// The operators that are declared in files that come with the tool.
static OPERATORS: LazyLock<Vec<NamedText>> = LazyLock::new(|| vec![shipped!("ops/onnxruntime.ops")]);

/// The targets that come with the tool, one in each file, each after those that it extends.
static TARGETS: LazyLock<Vec<NamedText>> = LazyLock::new(|| {
    vec![
        shipped!("targets/onnx.target"),
        shipped!("targets/onnx-24.target"),
        shipped!("targets/onnxruntime.target"),
        shipped!("targets/tautomer.target"),
        shipped!("targets/npu.target"),
    ]
});

/// Names and texts of the files of targets that are built in.
pub fn target_files() -> &'static [NamedText] {
    &TARGETS
}

/// Names and texts of the files with operators that are built in.
pub fn operator_files() -> &'static [NamedText] {
    &OPERATORS
}

/// The operators that come with the tool besides those of the table: any text may mention them by their quoted names.
///
/// # Errors
/// Problems of the files; the tests of the library check that there are none.
///
/// ```
/// let set = tautomer_rule::library_operators().unwrap();
/// assert!(set.operators.declared("com.microsoft::Gelu").is_some());
/// ```
pub fn library_operators() -> Result<&'static RuleSet, &'static Diagnostics> {
    static LOADED: OnceLock<Result<RuleSet, Diagnostics>> = OnceLock::new();
    LOADED.get_or_init(|| load(&OPERATORS)).as_ref()
}

/// Names and texts of the rule files that are built in.
pub fn library_files() -> &'static [NamedText] {
    &FILES
}

/// The built-in rules.
///
/// # Errors
/// Problems of the files; the tests of the library check that there are none.
///
/// ```
/// assert!(!tautomer_rule::library().unwrap().rules.is_empty());
/// ```
pub fn library() -> Result<&'static RuleSet, &'static Diagnostics> {
    static LIBRARY: OnceLock<Result<RuleSet, Diagnostics>> = OnceLock::new();
    LIBRARY.get_or_init(|| load(&FILES)).as_ref()
}

/// Names of the sets that [`library_set`] knows, with the names and texts of their files.
pub fn library_set_files() -> &'static [(&'static str, Vec<NamedText>)] {
    &SETS
}

/// The shipped set of that name, which is not part of the [`library`].
///
/// # Errors
/// Problems of the files; the tests of the sets check that there are none.
///
/// ```
/// let set = tautomer_rule::library_set("gsl").unwrap().unwrap();
/// assert!(set.groups.iter().any(|group| &*group.name == "gsl"));
/// ```
pub fn library_set(name: &str) -> Option<Result<RuleSet, Diagnostics>> {
    let (_, files) = SETS.iter().find(|(set, _)| *set == name)?;
    let operators = library_operators().map_err(Clone::clone);
    Some(operators.and_then(|declared| load_in(files, &declared.operators)))
}

fn load(files: &[NamedText]) -> Result<RuleSet, Diagnostics> {
    load_in(files, &Scope::default())
}

/// Loads files that may mention the operators of `scope`.
fn load_in(files: &[NamedText], scope: &Scope) -> Result<RuleSet, Diagnostics> {
    let mut all = RuleSet::default();
    let mut problems = Diagnostics::new();
    for (name, text) in files {
        match parse_rules(Arc::new(Source::new(*name, *text))).and_then(|file| load_checked_rules_in(file, scope)) {
            Ok(set) => all.extend(set),
            Err(found) => problems.extend(found),
        }
    }
    problems.into_result(all)
}
