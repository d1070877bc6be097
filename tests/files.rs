//! Programs in `tests/files/run`, each run in every mode: by the reference semantics, by the kernels, optimized,
//! printed and parsed again, exported to ONNX and imported again. All modes must give the same results; the first line
//! of a file states how many operator calls are left after optimization. Both engines are audited: each class has one
//! value.
//!
//! `UPDATE_FILES=1` rewrites the first lines.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use tautomer::diag::Source;
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::formats::onnx::{OnnxInfo, declared_in, export, import_in};
use tautomer::graph::{BuildOptions, Graph, Params, VertexId, Workload, build_program, interpret, to_program};
use tautomer::lang::{format_program, parse_program};
use tautomer::pipeline::{Engine, Options, optimize};
use tautomer::tensor::{DType, Dim, Tensor};
use tautomer::verify::{AuditOptions, audit};

const MODES: [&str; 5] = ["kernels", "optimised", "optimised kernels", "printed", "onnx"];

fn main() {
    let args = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/run");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut trials = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        for mode in MODES {
            let file = file.clone();
            trials.push(Trial::test(format!("{name}::{}", mode.replace(' ', "_")), move || {
                run(&file, mode).map_err(Failed::from)
            }));
        }
        for engine in [Engine::Saturate, Engine::Substitute] {
            let file = file.clone();
            let name = format!("{name}::audit_{engine:?}").to_lowercase();
            trials.push(Trial::test(name, move || audited(&file, engine).map_err(Failed::from)));
        }
        trials.push(Trial::test(format!("{name}::calls"), move || {
            calls(&file).map_err(Failed::from)
        }));
    }
    libtest_mimic::run(&args, trials).exit();
}

fn graph_of(name: &str, text: &str) -> Result<Graph, String> {
    let program = parse_program(Arc::new(Source::new(name, text))).map_err(|e| e.render(false))?;
    build_program(&program, &BuildOptions::default()).map_err(|e| e.render(false))
}

fn read(file: &Path) -> Result<(String, Graph), String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    let graph = graph_of(&file.display().to_string(), &text)?;
    Ok((text, graph))
}

/// A value for every input and parameter, determined by name and type.
fn value(graph: &Graph, v: VertexId) -> Tensor {
    let ty = graph.ty(v).as_tensor().unwrap();
    let shape: Vec<usize> = ty
        .shape
        .as_ref()
        .unwrap()
        .iter()
        .map(|d| match d {
            Dim::Const(extent) => *extent as usize,
            Dim::Expr(_) => 5,
        })
        .collect();
    let n: usize = shape.iter().product();
    let name = graph.vertex(v).name.as_deref().unwrap_or("");
    let mut state = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    });
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    };
    if ty.dtype.is_float() {
        let values: Vec<f64> = (0..n).map(|_| next()).collect();
        return Tensor::from_f64s(ty.dtype, &shape, &values).unwrap();
    }
    let spread = if ty.dtype == DType::Bool { 1.0 } else { 1e9 };
    let values: Vec<i128> = (0..n).map(|_| (next() * spread).round() as i128).collect();
    Tensor::from_ints(ty.dtype, &shape, &values).unwrap()
}

fn workload(graph: Graph) -> Workload {
    let params: Params = graph
        .params()
        .iter()
        .map(|&v| (graph.vertex(v).name.clone().unwrap(), value(&graph, v)))
        .collect();
    Workload { graph, params }
}

fn reference(w: &Workload) -> Result<Vec<Tensor>, String> {
    let given = |v: VertexId| {
        let vertex = w.graph.vertex(v);
        let stored = vertex
            .name
            .as_ref()
            .and_then(|n| w.params.get(n))
            .filter(|_| w.graph.params().contains(&v));
        Some(stored.cloned().unwrap_or_else(|| value(&w.graph, v)))
    };
    interpret(&w.graph, &given).map_err(|e| e.to_string())
}

fn kernels(w: &Workload) -> Result<Vec<Tensor>, String> {
    let plan = Plan::compile(&w.graph).map_err(|e| e.to_string())?;
    let inputs: Vec<Tensor> = w.graph.inputs().iter().map(|&v| value(&w.graph, v)).collect();
    let executor = Executor::new(plan, Mode::Kernels).map_err(|e| e.to_string())?;
    executor.run(&inputs, &w.params).map_err(|e| e.to_string())
}

fn run(file: &Path, mode: &str) -> Result<(), String> {
    let (_, graph) = read(file)?;
    let original = workload(graph);
    let expected = reference(&original)?;
    let optimised = || {
        optimize(original.clone(), &Options::default())
            .map(|o| o.workload)
            .map_err(|e| e.render(false))
    };
    let actual = match mode {
        "kernels" => kernels(&original)?,
        "optimised" => reference(&optimised()?)?,
        "optimised kernels" => kernels(&optimised()?)?,
        "printed" => {
            let text = format_program(&to_program(&original.graph));
            reference(&workload(graph_of("printed", &text)?))?
        }
        _ => {
            let optimised = optimised()?;
            let exported =
                export(&optimised.graph, &optimised.params, &OnnxInfo::default()).map_err(|e| e.render(false))?;
            let declared = declared_in(&optimised.graph);
            reference(
                &import_in(exported.model, None, &declared)
                    .map_err(|e| e.render(false))?
                    .workload,
            )?
        }
    };
    if expected.len() != actual.len() {
        return Err(format!("{} results, and {} expected", actual.len(), expected.len()));
    }
    for (i, (e, a)) in expected.iter().zip(&actual).enumerate() {
        agree(e, a).map_err(|why| format!("result {i}: {why}"))?;
    }
    Ok(())
}

/// Integers and booleans must agree exactly, floats to 1e-5 of the scale of the result.
fn agree(expected: &Tensor, actual: &Tensor) -> Result<(), String> {
    if expected.ty() != actual.ty() {
        return Err(format!("{} instead of {}", actual.ty(), expected.ty()));
    }
    if !expected.dtype().is_float() {
        return if expected == actual {
            Ok(())
        } else {
            Err(format!("{actual:?} instead of {expected:?}"))
        };
    }
    let (e, a) = (expected.to_f64s().unwrap(), actual.to_f64s().unwrap());
    let scale = e.iter().fold(1e-30f64, |m, x| m.max(x.abs()));
    match e
        .iter()
        .zip(&a)
        .position(|(x, y)| (x - y).abs() > 1e-5 * scale || x.is_nan() != y.is_nan())
    {
        Some(i) => Err(format!("element {i} is {} instead of {}", a[i], e[i])),
        None => Ok(()),
    }
}

/// Every class that an engine makes has one value, and all of them are computed.
fn audited(file: &Path, engine: Engine) -> Result<(), String> {
    let original = workload(read(file)?.1);
    let options = Options {
        engine,
        explore: true,
        ..Options::default()
    };
    let outcome = optimize(original.clone(), &options).map_err(|e| e.render(false))?;
    let explored = outcome.explored.ok_or("nothing is kept")?;
    let audit = audit(&original.graph, &original.params, &explored, &AuditOptions::default());
    match audit.fault {
        Some(fault) => Err(format!("{:?}: {}{}", fault.step, fault.left, fault.right)),
        None if audit.unchecked > 0 => Err(audit.to_string()),
        None => Ok(()),
    }
}

fn calls(file: &Path) -> Result<(), String> {
    let (text, graph) = read(file)?;
    let outcome = optimize(workload(graph), &Options::default()).map_err(|e| e.render(false))?;
    let (before, after) = outcome.report.vertices;
    let line = format!("// calls: {before} -> {after}");
    let first = text.lines().next().unwrap_or_default();
    if first == line {
        return Ok(());
    }
    if std::env::var_os("UPDATE_FILES").is_some() {
        let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
        return std::fs::write(file, format!("{line}\n{rest}")).map_err(|e| e.to_string());
    }
    let result = format_program(&to_program(&outcome.workload.graph));
    Err(format!(
        "`{line}`, and the file says `{first}`; the result is\n{result}"
    ))
}
