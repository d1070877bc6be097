//! `tautomer run`: a program or model on arrays.

use std::path::{Path, PathBuf};

use serde_json::json;

use tautomer::diag::{Diagnostic, did_you_mean};
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::graph::{Graph, Params, VertexId, Workload, interpret};
use tautomer::tensor::{Tensor, Type};

use super::extents::decided;
use super::input::{self, Kind, Loaded};
use super::script::{self, ScriptArgs};
use super::{Done, Failure, Shell, output};

#[derive(clap::Args)]
pub(super) struct Args {
    /// A program (.taut) or model (.onnx, .pnnx.param); `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// An array for an input (.npy, .npz, .safetensors, .pb); without a name, inputs are taken in order
    #[arg(long = "input", short, value_name = "[NAME=]FILE")]
    inputs: Vec<String>,
    /// Values of the parameters (.safetensors or .npz); without it, a .safetensors file beside the program
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// Write the results as out0.npy, out1.npy, … into this folder
    #[arg(long, value_name = "FOLDER")]
    output_dir: Option<PathBuf>,
    /// Compute by the reference definitions of the operators, not by fast kernels
    #[arg(long)]
    reference: bool,
    /// The shape of an input: a number, a name or `?` for each axis, as in `x=1,3,h,w`
    #[arg(long = "shape", value_name = "[NAME=]EXTENTS")]
    shapes: Vec<String>,
    /// What the file is, whatever its suffix
    #[arg(long, value_enum, value_name = "KIND")]
    from: Option<Kind>,
    #[command(flatten)]
    script: ScriptArgs,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    if let Some(source) = input::script_source(&args.file, args.from)? {
        return script::run(source, args.script, args.reference, shell);
    }
    let mut loaded = Loaded::read(&args.file, args.from, args.params.as_deref(), shell)?;
    loaded.reshape(&args.shapes)?;
    let inputs = bind_inputs(&mut loaded, &args.inputs)?;
    let missing = loaded.missing_params();
    if let Some(first) = missing.first() {
        let more = match missing.len() - 1 {
            0 => String::new(),
            n => format!(", and {n} more"),
        };
        let problem = Diagnostic::error("T0404", format!("parameter `{first}` has no value{more}"));
        let beside = args.file.with_extension("safetensors");
        return Err(problem
            .help(format!(
                "give a file with `--params`, or put the values into {}",
                beside.display()
            ))
            .into());
    }
    let outputs = evaluate(&loaded.workload, &inputs, args.reference)?;
    if let Some(folder) = &args.output_dir {
        output::write_outputs(folder, &outputs)?;
        shell.detail(&format!("{} files in {}", outputs.len(), folder.display()));
    }
    let graph = &loaded.workload.graph;
    if shell.json {
        let all: Vec<_> = outputs
            .iter()
            .enumerate()
            .map(|(i, t)| output::tensor_json(&output::output_name(graph, i), t))
            .collect();
        return shell.json(json!({ "outputs": all }));
    }
    let mut text = String::new();
    for (i, tensor) in outputs.iter().enumerate() {
        let name = output::output_name(graph, i);
        text.push_str(&format!("{name}: {}\n{}\n", tensor.ty(), output::tensor_text(tensor)));
    }
    shell.result(&text)
}

/// The results of a workload for inputs in order.
pub(super) fn evaluate(workload: &Workload, inputs: &[Tensor], reference: bool) -> Result<Vec<Tensor>, Failure> {
    let graph = &workload.graph;
    if reference {
        return by_reference(workload, inputs);
    }
    let failed = |message: String| Failure::new("T0406", message);
    let plan = Plan::compile(graph).map_err(|e| failed(e.to_string()))?;
    let executor = Executor::new(plan, Mode::Kernels).map_err(|e| failed(e.to_string()))?;
    executor
        .run(inputs, &workload.params)
        .map_err(|e| failed(e.to_string()))
}

/// The results by the reference semantics, at the extents that the values have.
fn by_reference(workload: &Workload, inputs: &[Tensor]) -> Result<Vec<Tensor>, Failure> {
    let value = |graph: &Graph, v: VertexId| match graph.inputs().iter().position(|&u| u == v) {
        Some(i) => inputs.get(i),
        None => workload.params.get(graph.vertex(v).name.as_deref()?),
    };
    let extents = decided(&workload.graph, &|v| value(&workload.graph, v));
    // Values that do not fit are for the interpreter to refuse.
    let bound = workload.graph.with_symbols(&|name| extents.get(name).copied());
    let graph = bound.as_ref().unwrap_or(&workload.graph);
    interpret(graph, &|v| value(graph, v).cloned()).map_err(|e| Failure::new("T0406", e.to_string()))
}

/// A value for every input, in order.
fn bind_inputs(loaded: &mut Loaded, given: &[String]) -> Result<Vec<Tensor>, Failure> {
    let graph = &loaded.workload.graph;
    let names: Vec<String> = (0..graph.inputs().len()).map(|i| input::input_name(graph, i)).collect();
    let mut values = Params::default();
    let mut unnamed = Vec::new();
    for text in given {
        // A name may not contain `=`, a path may: `a=b.npy` is the file b.npy for `a` unless there is a file of that name.
        match text.split_once('=').filter(|_| !Path::new(text).exists()) {
            Some((name, path)) => {
                known_input(name, &names)?;
                let (_, value) = one(Path::new(path))?;
                if values.insert(name.into(), value).is_some() {
                    return Err(Failure::new("T0407", format!("input `{name}` is given twice")));
                }
            }
            None => {
                let path = Path::new(text);
                let mut arrays = input::read_arrays(path)?;
                // A file of several arrays names them; the name of a .npy file says nothing.
                let named = path.extension().is_none_or(|e| e != "npy")
                    && (arrays.len() != 1 || arrays.keys().any(|name| names.contains(name)));
                if !named {
                    unnamed.extend(arrays.pop().map(|(_, value)| (text, value)));
                    continue;
                }
                for (name, value) in arrays {
                    known_input(&name, &names)?;
                    if values.insert(name.as_str().into(), value).is_some() {
                        return Err(Failure::new("T0407", format!("input `{name}` is given twice")));
                    }
                }
            }
        }
    }
    let mut free: std::collections::VecDeque<&String> = names
        .iter()
        .filter(|name| !values.contains_key(name.as_str()))
        .collect();
    for (text, value) in unnamed {
        let Some(name) = free.pop_front() else {
            let n = names.len();
            let inputs = if n == 1 {
                "1 input".to_owned()
            } else {
                format!("{n} inputs")
            };
            return Err(Failure::new(
                "T0407",
                format!("{text}: there is no input left, the program has {inputs}"),
            ));
        };
        values.insert(name.as_str().into(), value);
    }
    // An input that has a value of its own need not be given one.
    free.retain(|name| match loaded.workload.params.get(name.as_str()) {
        Some(value) => values.insert(name.as_str().into(), value.clone()).is_some(),
        None => true,
    });
    if let Some(name) = free.front() {
        let ty = graph
            .inputs()
            .get(names.iter().position(|n| n == *name).unwrap_or(0))
            .map(|&v| graph.ty(v).to_string());
        let problem = Diagnostic::error(
            "T0407",
            format!("input `{name}` of type {} has no value", ty.unwrap_or_default()),
        );
        return Err(problem.help(format!("give a file: `--input {name}=file.npy`")).into());
    }
    let ordered: Vec<Tensor> = names
        .iter()
        .filter_map(|name| values.get(name.as_str()).cloned())
        .collect();
    let untyped = graph
        .inputs()
        .iter()
        .any(|&v| graph.ty(v).as_tensor().is_some_and(|t| t.shape.is_none()));
    if untyped && loaded.program.is_some() {
        let types: Vec<(String, Type)> = names
            .iter()
            .cloned()
            .zip(ordered.iter().map(|t| t.ty().into()))
            .collect();
        loaded.retype(&types)?;
    }
    check_types(loaded, &names, &ordered)?;
    Ok(ordered)
}

fn check_types(loaded: &Loaded, names: &[String], values: &[Tensor]) -> Done {
    let graph = &loaded.workload.graph;
    for ((&v, name), value) in graph.inputs().iter().zip(names).zip(values) {
        let actual = Type::from(value.ty());
        if !graph.ty(v).admits(&actual) {
            let problem = Diagnostic::error(
                "T0407",
                format!("input `{name}` is {}, and {actual} is given", graph.ty(v)),
            );
            return Err(match (graph.vertex(v).span, &loaded.program) {
                (Some(span), Some(program)) => problem
                    .label(span, "declared here")
                    .in_source(&program.ast.source)
                    .into(),
                _ => problem.into(),
            });
        }
    }
    Ok(())
}

fn known_input(name: &str, names: &[String]) -> Done {
    if names.iter().any(|n| n == name) {
        return Ok(());
    }
    let problem = Diagnostic::error("T0407", format!("there is no input `{name}`"));
    let problem = match did_you_mean(name, names.iter().map(String::as_str)) {
        Some(close) => problem.help(format!("did you mean `{close}`?")),
        None => problem,
    };
    Err(problem.note(format!("the inputs are {}", names.join(", "))).into())
}

/// The only array of a file.
fn one(path: &Path) -> Result<(String, Tensor), Failure> {
    let mut arrays = input::read_arrays(path)?;
    match (arrays.pop(), arrays.len()) {
        (Some(only), 0) => Ok(only),
        (_, n) => {
            let problem = Diagnostic::error("T0407", format!("{} holds {} arrays", path.display(), n + 1));
            Err(problem
                .help("give the file without a name; its arrays have names")
                .into())
        }
    }
}
