//! PNNX models compared with torch's results, and their files written and read back.
//!
//! The models are not part of this repository; without `TAUTOMER_TEST_DATA` these tests print a message and do nothing.

#![expect(clippy::print_stdout, reason = "tests say what they found")]

pub(crate) mod compare;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::compare::{Difference, compare, is_expressions_only};
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::formats::arrays;
use tautomer::formats::pnnx::{Expression, ParamFile, read_model, weights_beside};
use tautomer::graph::Workload;
use tautomer::pipeline::{Options, optimize};
use tautomer::tensor::Tensor;

/// The directory with the data, if there is one.
fn data() -> Option<PathBuf> {
    tautomer_testing::shared_data("pnnx")
}

/// A model of the data.
struct Export {
    name: String,
    param: PathBuf,
    inputs: Vec<PathBuf>,
    outputs: Vec<PathBuf>,
}

impl Export {
    fn is_complete(&self) -> bool {
        weights_beside(&self.param).is_file() && !self.outputs.is_empty()
    }
}

fn numbered(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    (0..)
        .map(|i| folder.join(format!("{prefix}{i}.npy")))
        .take_while(|path| path.is_file())
        .collect()
}

fn exports(data: &Path) -> Vec<Export> {
    let mut out = Vec::new();
    for group in ["models", "suite"] {
        let mut folders: Vec<PathBuf> = std::fs::read_dir(data.join(group))
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        folders.sort();
        for folder in folders {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            let param = folder.join(format!("{name}.pnnx.param"));
            if !param.is_file() {
                continue;
            }
            out.push(Export {
                param,
                inputs: numbered(&folder, "in"),
                outputs: numbered(&folder, "out"),
                name,
            });
        }
    }
    out
}

fn tensor(path: &Path) -> Tensor {
    let mut arrays = arrays::read(path).unwrap_or_else(|e| panic!("{e}"));
    arrays.pop().unwrap().1
}

fn run(workload: &Workload, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let plan = Plan::compile(&workload.graph).map_err(|e| e.to_string())?;
    let executor = Executor::new(plan, Mode::Kernels).map_err(|e| e.to_string())?;
    executor.run(inputs, &workload.params).map_err(|e| e.to_string())
}

/// The differences between the results of a model and torch's, before and after optimization.
fn check(export: &Export, inputs: &[PathBuf], outputs: &[PathBuf]) -> Result<Difference, String> {
    let imported = read_model(&export.param).map_err(|e| e.render(false))?;
    if let Some(carried) = imported.notes.iter().find(|note| note.code == "T0505") {
        return Err(carried.message.clone());
    }
    let inputs: Vec<Tensor> = inputs.iter().map(|path| tensor(path)).collect();
    let expected: Vec<Tensor> = outputs.iter().map(|path| tensor(path)).collect();
    let mut worst = Difference::default();
    let optimized = optimize(imported.workload.clone(), &Options::default()).map_err(|e| e.render(false))?;
    for (stage, workload) in [("", &imported.workload), ("optimized: ", &optimized.workload)] {
        let results = run(workload, &inputs).map_err(|e| format!("{stage}{e}"))?;
        let mut found = compare(&results, &expected).map_err(|e| format!("{stage}{e}"))?;
        // An optimized model only has to be as accurate as the scale of its results allows.
        if !stage.is_empty() {
            found.ulps = 0;
        }
        worst = worst.larger(found);
    }
    Ok(worst)
}

fn file_of(export: &Export) -> ParamFile {
    let text = std::fs::read_to_string(&export.param).unwrap();
    ParamFile::read(&export.name, &text).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// Models that differ from torch, with the reason.
fn expected_failures() -> BTreeMap<String, String> {
    let lines = include_str!("../pnnx/expected_failures.txt").lines();
    lines
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (name, reason) = line.split_once('\t').expect("a name, a tab, a reason");
            (name.to_owned(), reason.to_owned())
        })
        .collect()
}

#[test]
fn exports_compute_what_torch_did() {
    let Some(data) = data() else { return };
    let only = std::env::var("PNNX_ONLY").ok();
    let expected = expected_failures();
    let (mut agree, mut problems) = (0, Vec::new());
    for export in exports(&data).iter().filter(|e| e.is_complete()) {
        if only.as_ref().is_some_and(|only| !export.name.contains(only.as_str())) {
            continue;
        }
        let mut result = check(export, &export.inputs, &export.outputs);
        if let Ok(worst) = &result
            && is_expressions_only(&file_of(export))
            && worst.ulps > compare::MOST_ULPS
        {
            result = Err(format!("an element is {} units in the last place off", worst.ulps));
        }
        match (result, expected.get(&export.name)) {
            (Ok(worst), None) => {
                agree += 1;
                println!("{}: {worst}", export.name);
            }
            (Err(_), Some(_)) => {}
            (Ok(_), Some(reason)) => problems.push(format!("{}: agrees, and should not: {reason}", export.name)),
            (Err(problem), None) => problems.push(format!("{}: {problem}", export.name)),
        }
    }
    println!("{agree} agree, {} differ as expected", expected.len());
    assert!(problems.is_empty(), "{} agree\n{}", agree, problems.join("\n"));
    assert!(agree >= 132 || only.is_some(), "{agree} agree");
}

#[test]
fn other_shapes_of_inputs_work() {
    let Some(data) = data() else { return };
    let expected = expected_failures();
    let (mut count, mut problems) = (0, Vec::new());
    for export in exports(&data).iter().filter(|e| e.is_complete()) {
        let folder = export.param.parent().unwrap();
        let (inputs, outputs) = (numbered(folder, "shape2_in"), numbered(folder, "shape2_out"));
        if outputs.is_empty() || expected.contains_key(&export.name) {
            continue;
        }
        count += 1;
        if let Err(problem) = check(export, &inputs, &outputs) {
            problems.push(format!("{}: {problem}", export.name));
        }
    }
    println!("{count} models");
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn models_without_weights_load_and_optimize() {
    let Some(data) = data() else { return };
    let mut problems = Vec::new();
    for export in exports(&data).iter().filter(|e| !e.is_complete()) {
        let loaded = read_model(&export.param).and_then(|imported| {
            let carried = imported.notes.iter().filter(|note| note.code == "T0505").count();
            optimize(imported.workload, &Options::default()).map(|outcome| (carried, outcome.report))
        });
        match loaded {
            Ok((0, report)) => println!("{}: {:?}", export.name, report.cost),
            Ok((carried, _)) => problems.push(format!("{}: {carried} operators are carried along", export.name)),
            Err(e) => problems.push(format!("{}: {}", export.name, e.render(false))),
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn every_file_is_written_as_it_was_read() {
    let Some(data) = data() else { return };
    for export in exports(&data) {
        let text = std::fs::read_to_string(&export.param).unwrap();
        let file = file_of(&export);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&file.text()), words(&text), "{}", export.name);
    }
}

#[test]
fn every_archive_is_written_as_it_was_read() {
    use tautomer::formats::pnnx::{Archive, write_archive};
    let Some(data) = data() else { return };
    for export in exports(&data).iter().filter(|e| e.is_complete()) {
        let bytes = std::fs::read(weights_beside(&export.param)).unwrap();
        let archive = Archive::read(&bytes).unwrap_or_else(|e| panic!("{}: {e}", export.name));
        let members = archive
            .members()
            .map(|(name, data)| (name.to_owned(), data.to_vec()))
            .collect();
        assert_eq!(write_archive(&members).unwrap(), bytes, "{}", export.name);
    }
}

#[test]
fn every_expression_is_read_and_printed() {
    let Some(data) = data() else { return };
    let text = std::fs::read_to_string(data.join("expressions.txt")).unwrap();
    let mut count = 0;
    for line in text.lines().skip(1) {
        let mut words = line.split_whitespace();
        let (Some(_), Some(kind), Some(written)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if !matches!(kind, "pnnx.Expression" | "Tensor.index") {
            continue;
        }
        count += 1;
        let (expression, reading) = Expression::read(written).unwrap_or_else(|e| panic!("{written}: {}", e.message));
        let printed = expression.to_string();
        let strict = !line.contains("STRICT-FAIL");
        assert_eq!(
            matches!(reading, tautomer::formats::pnnx::Reading::Strict),
            strict,
            "{written}"
        );
        assert!(!strict || printed == written, "{written} is printed as {printed}");
        let (again, _) = Expression::read(&printed).unwrap();
        assert_eq!(again, Expression::read_strictly(&printed).unwrap(), "{printed}");
    }
    assert_eq!(count, 191);
}

/// A model written and read back, with the notes from writing it.
fn written(workload: &Workload) -> Result<(Workload, String), String> {
    use tautomer::formats::pnnx::{Archive, export, import, write_archive};
    let exported = export(&workload.graph, &workload.params).map_err(|e| e.render(false))?;
    let text = exported.file.text();
    let file = ParamFile::read("written", &text).map_err(|e| format!("{}\n{text}", e.render(false)))?;
    let bytes = write_archive(&exported.weights).map_err(|e| e.to_string())?;
    let archive = Archive::read(&bytes).map_err(|e| e.to_string())?;
    let imported =
        import("written", &text, &file, Some(&archive)).map_err(|e| format!("{}\n{text}", e.render(false)))?;
    Ok((imported.workload, text))
}

#[test]
fn graphs_survive_their_files() {
    use tautomer::graph::same_graph;
    let Some(data) = data() else { return };
    let (mut problems, mut own) = (Vec::new(), 0);
    for export in &exports(&data) {
        let workload = read_model(&export.param)
            .unwrap_or_else(|e| panic!("{}", e.render(false)))
            .workload;
        match written(&workload) {
            Err(problem) => problems.push(format!("{}: {problem}", export.name)),
            Ok((again, text)) => {
                own += usize::from(text.contains("tautomer."));
                if let Err(difference) = same_graph(&workload.graph, &again.graph) {
                    problems.push(format!("{}: {difference}\n{text}", export.name));
                } else if workload.params != again.params {
                    problems.push(format!("{}: parameters differ", export.name));
                }
            }
        }
    }
    println!("{own} models have lines that torch has no operator for");
    assert!(
        problems.is_empty(),
        "\n{} differ\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn models_survive_onnx() {
    use tautomer::formats::onnx::{self, OnnxInfo};
    use tautomer::graph::same_graph;
    let Some(data) = data() else { return };
    let expected = expected_failures();
    let (mut problems, mut silent, mut count) = (Vec::new(), Vec::new(), 0);
    for export in exports(&data)
        .iter()
        .filter(|e| e.is_complete() && !expected.contains_key(&e.name))
    {
        let workload = read_model(&export.param)
            .unwrap_or_else(|e| panic!("{}", e.render(false)))
            .workload;
        let model = match onnx::export(&workload.graph, &workload.params, &OnnxInfo::default()) {
            Ok(exported) => exported.model,
            Err(e) => {
                silent.push(format!("{}: {}", export.name, e.render(false)));
                continue;
            }
        };
        count += 1;
        let inputs: Vec<Tensor> = export.inputs.iter().map(|path| tensor(path)).collect();
        let outputs: Vec<Tensor> = export.outputs.iter().map(|path| tensor(path)).collect();
        let back = onnx::import(model, None)
            .map_err(|e| e.render(false))
            .and_then(|imported| {
                let results = run(&imported.workload, &inputs)?;
                compare(&results, &outputs)?;
                // And back to PNNX.
                let (again, text) = written(&imported.workload)?;
                same_graph(&imported.workload.graph, &again.graph).map_err(|e| format!("{e}\n{text}"))
            });
        if let Err(problem) = back {
            problems.push(format!("{}: {problem}", export.name));
        }
    }
    println!(
        "{count} models, {} have no form in ONNX:\n{}",
        silent.len(),
        silent.join("\n")
    );
    assert!(
        problems.is_empty(),
        "\n{} differ\n{}",
        problems.len(),
        problems.join("\n")
    );
    assert!(count >= 120, "{count} models have a form in ONNX");
}
