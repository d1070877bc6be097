//! Small PNNX models of one or a few operators compared with torch's results: `tests/it/pnnx/vectors.txt`, which
//! `tests/peers/pnnx_vectors.py` writes. Each is read, run, written, read back and run again, and optimized and run.

use super::pnnx::compare::compare;
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::formats::pnnx::{Archive, Imported, ParamFile, export, import, write_archive};
use tautomer::graph::Workload;
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::Limits;
use tautomer::tensor::{DType, Tensor};

/// A model with its weights, inputs and results.
#[derive(Default)]
struct Case {
    name: String,
    lines: Vec<String>,
    members: Vec<(String, Vec<u8>)>,
    inputs: Vec<Tensor>,
    results: Vec<Tensor>,
}

/// `f32[2,3] 1 2 …`
fn tensor(text: &str) -> Tensor {
    let mut words = text.split_whitespace();
    let (kind, extents) = words
        .next()
        .and_then(|ty| ty.trim_end_matches(']').split_once('['))
        .unwrap();
    let shape: Vec<usize> = extents
        .split(',')
        .filter(|n| !n.is_empty())
        .map(|n| n.parse().unwrap())
        .collect();
    let numbers: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
    let ints: Vec<i128> = numbers.iter().map(|&v| v as i128).collect();
    match kind {
        "f32" | "c64" => Tensor::from_f64s(DType::F32, &shape, &numbers),
        "f64" => Tensor::from_f64s(DType::F64, &shape, &numbers),
        "i64" => Tensor::from_ints(DType::I64, &shape, &ints),
        "i32" => Tensor::from_ints(DType::I32, &shape, &ints),
        "bool" => Tensor::new(&shape, numbers.iter().map(|&v| v != 0.0).collect::<Vec<bool>>()),
        other => panic!("no element type {other}"),
    }
    .unwrap_or_else(|| panic!("{text}"))
}

fn bytes(value: &Tensor) -> Vec<u8> {
    match value {
        Tensor::F32(a) => a.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Tensor::F64(a) => a.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Tensor::I64(a) => a.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Tensor::I32(a) => a.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Tensor::Bool(a) => a.iter().map(|&v| u8::from(v)).collect(),
        other => panic!("no weights of type {}", other.dtype()),
    }
}

/// The numbers in single precision, the only precision that the comparison supports.
fn single(values: &[Tensor]) -> Vec<Tensor> {
    let narrow = |value: &Tensor| match value {
        Tensor::F64(a) => {
            let numbers: Vec<f64> = a.iter().copied().collect();
            Tensor::from_f64s(DType::F32, value.shape(), &numbers).unwrap()
        }
        other => other.clone(),
    };
    values.iter().map(narrow).collect()
}

fn cases() -> Vec<Case> {
    let mut out: Vec<Case> = Vec::new();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/pnnx/vectors.txt");
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let (word, rest) = line.split_once(' ').unwrap();
        if word == "case" {
            out.push(Case {
                name: rest.to_owned(),
                ..Case::default()
            });
            continue;
        }
        let case = out.last_mut().unwrap();
        match word {
            "line" => case.lines.push(rest.to_owned()),
            "member" => {
                let (name, value) = rest.split_once(' ').unwrap();
                case.members.push((name.to_owned(), bytes(&tensor(value))));
            }
            "in" => case.inputs.push(tensor(rest)),
            "out" => case.results.push(tensor(rest)),
            other => panic!("no line begins with {other}"),
        }
    }
    out
}

fn read(name: &str, text: &str, archive: &[u8]) -> Result<Imported, String> {
    let file = ParamFile::read(name, text).map_err(|e| e.render(false))?;
    let archive = Archive::read(archive).map_err(|e| e.to_string())?;
    let imported = import(name, text, &file, Some(&archive)).map_err(|e| e.render(false))?;
    match imported.notes.iter().find(|note| note.code == "T0505") {
        Some(carried) => Err(carried.message.clone()),
        None => Ok(imported),
    }
}

fn run(workload: &Workload, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let plan = Plan::compile(&workload.graph).map_err(|e| e.to_string())?;
    let executor = Executor::new(plan, Mode::Kernels).map_err(|e| e.to_string())?;
    executor.run(inputs, &workload.params).map_err(|e| e.to_string())
}

fn check(case: &Case) -> Result<(), String> {
    let text = format!("7767517\n{} 0\n{}\n", case.lines.len(), case.lines.join("\n"));
    let archive = write_archive(&case.members.iter().cloned().collect()).map_err(|e| e.to_string())?;
    let Imported { workload, .. } = read(&case.name, &text, &archive)?;
    let agrees = |workload: &Workload| {
        let results = run(workload, &case.inputs)?;
        let types = |list: &[Tensor]| list.iter().map(Tensor::ty).collect::<Vec<_>>();
        if types(&results) != types(&case.results) {
            return Err(format!("{:?}, not {:?}", types(&results), types(&case.results)));
        }
        compare(&single(&results), &single(&case.results))
    };
    agrees(&workload)?;

    let exported = export(&workload.graph, &workload.params).map_err(|e| format!("written: {}", e.render(false)))?;
    let archive = write_archive(&exported.weights).map_err(|e| e.to_string())?;
    let text = exported.file.text();
    let again = read("written", &text, &archive).map_err(|e| format!("written: {e}\n{text}"))?;
    agrees(&again.workload).map_err(|e| format!("written: {e}\n{text}"))?;

    let options = Options {
        limits: Limits {
            iterations: 3,
            nodes: 300,
            ..Limits::default()
        },
        ..Options::default()
    };
    let optimized = optimize(workload, &options).map_err(|e| format!("optimized: {}", e.render(false)))?;
    agrees(&optimized.workload).map_err(|e| format!("optimized: {e}"))?;
    Ok(())
}

#[test]
fn operators_compute_what_torch_does() {
    let only = std::env::var("PNNX_ONLY").ok();
    let (mut count, mut problems) = (0, Vec::new());
    for case in cases() {
        if only.as_ref().is_some_and(|only| !case.name.contains(only.as_str())) {
            continue;
        }
        count += 1;
        if let Err(problem) = check(&case) {
            problems.push(format!("{}: {problem}", case.name));
        }
    }
    assert!(
        problems.is_empty(),
        "{} of {count}\n{}",
        problems.len(),
        problems.join("\n")
    );
    assert!(count > 200 || only.is_some(), "{count} cases");
}
