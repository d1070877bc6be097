//! Optimizing a result again changes nothing.
//!
//! Models too large for the repository are taken from `$TAUTOMER_TEST_DATA`: all of them in a release build, otherwise
//! only the small ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use prost::Message as _;
use tautomer::diag::Source;
use tautomer::formats::onnx::{Imported, OnnxInfo, Target, decode_model, export, import, read_model};
use tautomer::graph::{BuildOptions, Graph, Node, Params, VertexId, Workload, build_program, same_graph, to_program};
use tautomer::lang::{format_program, parse_program};
use tautomer::op::Infer;
use tautomer::pipeline::{Engine, Options, optimize};
use tautomer::rewrite::Limits;
use tautomer::tensor::{Tensor, Type};

/// Larger models are skipped in unoptimized builds.
const SMALL: u64 = 20_000;

fn options() -> Options<'static> {
    Options {
        limits: Limits {
            iterations: 5,
            nodes: 500,
            matches: 200,
            ..Limits::default()
        },
        ..Options::default()
    }
}

fn text(graph: &Graph) -> String {
    format_program(&to_program(graph))
}

/// True if two workloads are the same, including parameter values.
fn same(a: &Workload, b: &Workload) -> Result<(), String> {
    same_graph(&a.graph, &b.graph)?;
    if a.params.len() != b.params.len() {
        return Err(format!("{} and {} parameters", a.params.len(), b.params.len()));
    }
    let differs = |(name, value): (&Arc<str>, &Tensor)| b.params.get(name).is_none_or(|other| !value.same_bits(other));
    match a.params.iter().find(|&p| differs(p)) {
        Some((name, _)) => Err(format!("parameter {name:?} differs")),
        None => Ok(()),
    }
}

/// Optimizes a workload, and checks that optimizing the result again does not change it.
fn settled(workload: Workload, options: &Options<'_>) -> Result<Workload, String> {
    let run = |w: Workload| optimize(w, options).map_err(|e| e.render(false));
    let once = run(workload)?.workload;
    let twice = run(once.clone())?;
    let rules: Vec<&str> = twice.report.rules.iter().map(|r| r.name.as_str()).collect();
    same(&once, &twice.workload).map_err(|why| {
        let (once, twice) = (text(&once.graph), text(&twice.workload.graph));
        format!("{why}\n{once}becomes\n{twice}by {}", rules.join(", "))
    })?;
    Ok(once)
}

/// Values for the parameters, determined by their names.
fn with_values(graph: Graph) -> Workload {
    let value = |name: &str, ty: &Type| -> Option<Tensor> {
        let ty = ty.as_tensor()?;
        let shape = ty.shape.as_ref()?.to_concrete()?;
        let mut state = name
            .bytes()
            .fold(17u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / f64::from(1u32 << 24) + 0.25
        };
        let data: Vec<f64> = (0..shape.iter().product()).map(|_| next()).collect();
        let whole = || data.iter().map(|x| (x * 2.0) as i128).collect::<Vec<_>>();
        Tensor::from_f64s(ty.dtype, &shape, &data).or_else(|| Tensor::from_ints(ty.dtype, &shape, &whole()))
    };
    let params: Params = graph
        .params()
        .iter()
        .filter_map(|&v| {
            let name = graph.vertex(v).name.clone()?;
            let value = value(&name, graph.ty(v))?;
            Some((name, value))
        })
        .collect();
    Workload { graph, params }
}

fn program(path: &Path) -> Graph {
    let text = std::fs::read_to_string(path).unwrap();
    let source = Arc::new(Source::new(path.display().to_string(), text));
    let parsed = parse_program(source).unwrap_or_else(|e| panic!("{}", e.render(false)));
    build_program(&parsed, &BuildOptions::default()).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn files(folder: impl AsRef<Path>, suffix: &str) -> Vec<PathBuf> {
    let folder = folder.as_ref();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut found: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|s| s == suffix));
    found.sort();
    assert!(!found.is_empty(), "{} has no {suffix} files", folder.display());
    found
}

#[test]
fn programs_are_settled_after_one_run() {
    for path in files("examples", "taut")
        .into_iter()
        .chain(files("tests/files/run", "taut"))
    {
        let graph = program(&path);
        let bare = Workload {
            graph: graph.clone(),
            params: Params::default(),
        };
        for workload in [bare, with_values(graph)] {
            for engine in [Engine::Saturate, Engine::Substitute] {
                let options = Options {
                    engine,
                    ..Options::default()
                };
                settled(workload.clone(), &options).unwrap_or_else(|e| panic!("{} {engine:?}: {e}", path.display()));
            }
        }
    }
}

/// Optimizes a model, writes and reads the result, and optimizes it again.
fn model_is_settled(model: Imported) -> Result<(), String> {
    let settled_for = |workload: Workload, info: &OnnxInfo| {
        let target = Target::new(&workload.graph, info);
        let forbidden = |call: &Infer<'_>, result: &Type| !target.allows(call, result);
        let options = Options {
            forbidden: &forbidden,
            ..Options::default()
        };
        settled(workload, &options)
    };
    let read_again = |w: &Workload, info: &OnnxInfo| {
        let written = export(&w.graph, &w.params, info).map_err(|e| e.render(false))?;
        let bytes = written.model.encode_to_vec();
        let decoded = decode_model(bytes.into()).map_err(|e| e.to_string())?;
        import(decoded, None).map_err(|e| e.render(false))
    };
    let once = settled_for(model.workload, &model.info)?;
    let read = read_again(&once, &model.info)?;
    let info = read.info.clone();
    let twice = settled_for(read.workload.clone(), &info)?;
    let calls = |w: &Workload| w.graph.call_count();
    // A file cannot name an input as a result, so the identity between them comes back with every reading.
    let is_given = |v: VertexId| matches!(once.graph.vertex(v).node, Node::Input | Node::Param);
    if once.graph.outputs().iter().any(|output| is_given(output.vertex)) {
        return same(&once, &twice);
    }
    same(&read.workload, &twice).map_err(|why| {
        let (once, twice) = (text(&read.workload.graph), text(&twice.graph));
        format!("read again: {why}\n{once}becomes\n{twice}")
    })?;
    if calls(&once) != calls(&read_again(&twice, &info)?.workload) {
        return Err(format!("{} calls become {}", calls(&once), calls(&twice)));
    }
    Ok(())
}

#[test]
fn models_are_settled_after_one_run() {
    let mut tried = 0;
    for path in files("tests/data/found", "onnx") {
        // Some of them are damaged and are rejected.
        let Ok(model) = read_model(&path) else { continue };
        model_is_settled(model).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        tried += 1;
    }
    assert!(tried > 0);
}

#[test]
fn shared_models_are_settled_after_one_run() {
    let folders = ["onnx", "llm/patterns"].map(tautomer_testing::shared_data);
    let mut failed = Vec::new();
    for path in folders.into_iter().flatten().flat_map(|folder| files(folder, "onnx")) {
        if cfg!(debug_assertions) && std::fs::metadata(&path).unwrap().len() > SMALL {
            continue;
        }
        let model = read_model(&path).unwrap_or_else(|e| panic!("{}", e.render(false)));
        if let Err(why) = model_is_settled(model) {
            failed.push(format!("{}: {why}", path.display()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A graph whose debug output is its program.
struct Shown(Graph);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text(&self.0))
    }
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(120))]

    #[test]
    fn random_networks_are_settled_after_one_run(graph in crate::common::rich::graph(12).prop_map(Shown)) {
        settled(with_values(graph.0), &options()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn any_graph_is_settled_after_one_run(graph in crate::common::graph(20).prop_map(Shown)) {
        settled(with_values(graph.0), &options()).map_err(TestCaseError::fail)?;
    }
}
