//! The rules shipped with the tool.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, OnceLock};

use super::check::{load_checked_rules_in, load_trusted_rules_in};
use super::{Rule, RuleSet};
use tautomer_diag::{Diagnostics, Source};
use tautomer_lang::ast::{RuleFile, TargetFile};
use tautomer_lang::{parse_rules, parse_rules_without_examples, parse_targets};
use tautomer_op::Scope;

/// A name and a text: of a rule file or a lock, say.
pub type NamedText = (&'static str, &'static str);

/// The name of a file that comes with the tool, and its text. Release builds contain the text; debug builds read it
/// when it is first used, so that nothing is recompiled when a rule changes.
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
        shipped!("rules/onnxruntime/quantize.rules"),
    ];
    let lower = vec![shipped!("rules/lower/npu.rules")];
    let tautomer = vec![
        shipped!("rules/lower/tautomer.rules"),
        shipped!("rules/lower/quantize.rules"),
    ];
    let columns = vec![shipped!("rules/columns.rules")];
    vec![
        ("gsl", gsl),
        ("taso", taso),
        ("onnxruntime", onnxruntime),
        ("lower", lower),
        ("tautomer", tautomer),
        ("columns", columns),
    ]
});

/// The operators of other runtimes that are declared in files that come with the tool.
static OPERATORS: LazyLock<Vec<NamedText>> = LazyLock::new(|| vec![shipped!("ops/onnxruntime.ops")]);

/// The operators of the table that have bodies. The build script of `op` turns these files into rows; nothing reads
/// them when a program starts.
static TABLE: LazyLock<Vec<NamedText>> = LazyLock::new(|| {
    vec![
        shipped!("ops/activation.ops"),
        shipped!("ops/along.ops"),
        shipped!("ops/attention.ops"),
        shipped!("ops/elementary.ops"),
        shipped!("ops/integer.ops"),
        shipped!("ops/kernels.ops"),
        shipped!("ops/like.ops"),
        shipped!("ops/loss.ops"),
        shipped!("ops/matmul.ops"),
        shipped!("ops/norm.ops"),
        shipped!("ops/pool.ops"),
        shipped!("ops/quantize.ops"),
        shipped!("ops/random.ops"),
        shipped!("ops/softmax.ops"),
        shipped!("ops/strided.ops"),
    ]
});

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

/// The files that were parsed while the tool was built, without their examples: all of them in release builds, none in
/// others.
static PARSED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/parsed.rs"));

/// The bytes that the build wrote for the file that has the name of the source, if it comes with the tool.
fn parsed(source: &Source) -> Option<&'static [u8]> {
    // Debug builds read texts that may be newer.
    if cfg!(debug_assertions) {
        return None;
    }
    let (_, bytes) = PARSED.iter().find(|(name, _)| *name == source.name)?;
    Some(bytes)
}

/// The syntax tree of a rule file that comes with the tool, without its examples. Release builds do not parse the text.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// let (name, text) = tautomer_rule::library_files()[0];
/// let file = tautomer_rule::shipped_rule_file(Arc::new(Source::new(name, text))).unwrap();
/// assert!(!file.items.is_empty());
/// ```
///
/// # Errors
/// Problems of the file; the tests of the library check that there are none.
pub fn shipped_rule_file(source: Arc<Source>) -> Result<RuleFile, Diagnostics> {
    match parsed(&source).map(|bytes| RuleFile::from_bytes(bytes, source.clone())) {
        Some(Ok(file)) => Ok(file),
        _ => parse_rules_without_examples(source),
    }
}

/// The rules of a file that comes with the tool, without its examples; it may mention the operators of `scope`. Release
/// builds neither parse the text nor look for problems in it.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_op::Scope;
/// let (name, text) = tautomer_rule::library_files()[0];
/// let source = Arc::new(Source::of_program(name, text));
/// let set = tautomer_rule::load_shipped_rules(source, &Scope::default()).unwrap();
/// assert!(!set.rules.is_empty() && set.examples.is_empty());
/// ```
///
/// # Errors
/// Problems of the file; the tests of the library check that there are none.
pub fn load_shipped_rules(source: Arc<Source>, scope: &Scope) -> Result<RuleSet, Diagnostics> {
    let load = match parsed(&source) {
        Some(_) => load_trusted_rules_in,
        None => load_checked_rules_in,
    };
    load(shipped_rule_file(source)?, scope)
}

/// The rules of a file that comes with the tool, and their examples.
fn load_with_examples(source: Arc<Source>, scope: &Scope) -> Result<RuleSet, Diagnostics> {
    load_checked_rules_in(parse_rules(source)?, scope)
}

/// The syntax tree of a target file that comes with the tool. Release builds do not parse the text.
///
/// # Errors
/// Problems of the file; the tests of the library check that there are none.
pub fn shipped_target_file(source: Arc<Source>) -> Result<TargetFile, Diagnostics> {
    match parsed(&source).map(|bytes| TargetFile::from_bytes(bytes, source.clone())) {
        Some(Ok(file)) => Ok(file),
        _ => parse_targets(source),
    }
}

/// Names and texts of the built-in target files.
pub fn target_files() -> &'static [NamedText] {
    &TARGETS
}

/// Names and texts of the built-in files with operators of other runtimes.
pub fn operator_files() -> &'static [NamedText] {
    &OPERATORS
}

/// Names and texts of the files that declare the table's operators with bodies.
pub fn table_files() -> &'static [NamedText] {
    &TABLE
}

/// The operators that come with the tool in addition to the table; any text may mention them by their quoted names.
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
    LOADED
        .get_or_init(|| load_in(&OPERATORS, load_shipped_rules, &Scope::default()))
        .as_ref()
}

/// A scope with the [`library_operators`], which are loaded when a text first mentions one of them.
///
/// ```
/// assert!(tautomer_rule::library_scope().in_models("com.microsoft", "Gelu").is_some());
/// ```
pub fn library_scope() -> Scope {
    fn load() -> &'static Scope {
        static NONE: LazyLock<Scope> = LazyLock::new(Scope::default);
        // The tests of the library check that there are no problems.
        library_operators().map_or(&NONE, |set| &set.operators)
    }
    Scope::of_domain("com.microsoft", load)
}

/// Names and texts of the built-in rule files.
pub fn library_files() -> &'static [NamedText] {
    &FILES
}

/// The built-in rules without their examples. Optimizing needs no more, and they load in a fraction of the time.
///
/// # Errors
/// Problems of the files; the tests of the library check that there are none.
///
/// ```
/// let rules = tautomer_rule::library_rules().unwrap();
/// assert_eq!(rules.len(), tautomer_rule::library().unwrap().rules.len());
/// ```
pub fn library_rules() -> Result<&'static [Arc<Rule>], &'static Diagnostics> {
    static RULES: OnceLock<Result<RuleSet, Diagnostics>> = OnceLock::new();
    RULES
        .get_or_init(|| load_in(&FILES, load_shipped_rules, &Scope::default()))
        .as_ref()
        .map(|set| &*set.rules)
}

/// The built-in rules with their examples. [`library_rules`] returns only the rules.
///
/// # Errors
/// Problems of the files; the tests of the library check that there are none.
///
/// ```
/// let library = tautomer_rule::library().unwrap();
/// assert!(library.examples.len() > library.rules.len());
/// ```
pub fn library() -> Result<&'static RuleSet, &'static Diagnostics> {
    static LIBRARY: OnceLock<Result<RuleSet, Diagnostics>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| load_in(&FILES, load_with_examples, &Scope::default()))
        .as_ref()
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
    load_set(name, load_with_examples)
}

/// The rules of the shipped set of that name, without examples and in a fraction of the time of [`library_set`].
///
/// # Errors
/// Problems of the files; the tests of the sets check that there are none.
///
/// ```
/// let rules = tautomer_rule::library_set_rules("columns").unwrap().unwrap();
/// let set = tautomer_rule::library_set("columns").unwrap().unwrap();
/// assert_eq!(rules.len(), set.rules.len());
/// ```
pub fn library_set_rules(name: &str) -> Option<Result<Vec<Arc<Rule>>, Diagnostics>> {
    let set = load_set(name, load_shipped_rules)?;
    Some(set.map(|set| set.rules))
}

fn load_set(name: &str, load: Load) -> Option<Result<RuleSet, Diagnostics>> {
    let (_, files) = SETS.iter().find(|(set, _)| *set == name)?;
    Some(load_in(files, load, &library_scope()))
}

type Load = fn(Arc<Source>, &Scope) -> Result<RuleSet, Diagnostics>;

/// Loads files that may mention the operators of `scope`, on several threads: programs wait for the rules when they
/// start.
fn load_in(files: &[NamedText], load: Load, scope: &Scope) -> Result<RuleSet, Diagnostics> {
    let threads = std::thread::available_parallelism()
        .map_or(1, |n| n.get())
        .min(files.len());
    let load = |&(name, text): &NamedText| load(Arc::new(Source::of_program(name, text)), scope);
    // Neighbouring files are on different threads, so that each has about as much to do.
    let share = |first: usize| files.iter().skip(first).step_by(threads).map(load).collect();
    let mut shares: Vec<VecDeque<_>> = std::thread::scope(|threads_of| {
        let others: Vec<_> = (1..threads)
            .map(|first| threads_of.spawn(move || share(first)))
            .collect();
        let own = share(0);
        let others = others.into_iter();
        let joined = others.map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(own).chain(joined).collect()
    });
    let mut all = RuleSet::default();
    let mut problems = Diagnostics::new();
    for i in 0..files.len() {
        match shares[i % threads].pop_front() {
            Some(Ok(set)) => all.extend(set),
            Some(Err(found)) => problems.extend(found),
            None => {}
        }
    }
    problems.into_result(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_lang::format_rules;
    use tautomer_op::OpTraits;

    #[test]
    fn declarations_may_call_operators_that_are_loaded_for_them() {
        let text = r#"operator twice(x) { "com.microsoft::Gelu"("com.microsoft::Gelu"(x)) }"#;
        let file = parse_rules(Arc::new(Source::new("own.rules", text))).unwrap();
        let set = load_checked_rules_in(file, &library_scope()).unwrap();
        assert!(set.operators.declared("twice").is_some());
    }

    #[test]
    fn operators_that_are_loaded_later_have_no_properties() {
        let own = library_operators().unwrap().operators.iter();
        let with: Vec<&str> = own
            .filter(|(_, def)| def.traits != OpTraits::NONE)
            .map(|(name, _)| name)
            .collect();
        assert!(with.is_empty(), "operator variables would miss {with:?}");
    }

    #[test]
    fn trees_of_shipped_files_are_the_same_from_bytes() {
        let sets = SETS.iter().flat_map(|(_, files)| files);
        for &(name, text) in FILES.iter().chain(sets).chain(OPERATORS.iter()) {
            let source = Arc::new(Source::new(name, text));
            let file = parse_rules(source.clone()).unwrap();
            let bytes = file.to_bytes().unwrap();
            let read = RuleFile::from_bytes(&bytes, source.clone()).unwrap();
            assert_eq!(format_rules(&read), format_rules(&file), "{name}");
            assert_eq!(read.to_bytes().unwrap(), bytes, "{name}");
            assert!(Arc::ptr_eq(&read.ast.source, &source));
        }
        for &(name, text) in TARGETS.iter() {
            let source = Arc::new(Source::new(name, text));
            let bytes = parse_targets(source.clone()).unwrap().to_bytes().unwrap();
            let read = TargetFile::from_bytes(&bytes, source.clone()).unwrap();
            assert_eq!(read.to_bytes().unwrap(), bytes, "{name}");
            assert!(Arc::ptr_eq(&read.ast.source, &source));
        }
    }
}
