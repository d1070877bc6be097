//! `tautomer run`: a program or model on arrays, or a script.

use std::path::{Path, PathBuf};

use serde_json::json;

use tautomer::compare::evaluate;
use tautomer::diag::{Diagnostic, did_you_mean};
use tautomer::graph::Params;
use tautomer::tensor::{Dim, Tensor, Type};

use super::bench::{self, BenchArgs};
use super::input::{self, Kind, Model};
use super::script::{self, ScriptArgs};
use super::{Done, Failure, Shell, output};

#[derive(clap::Args)]
pub(super) struct Args {
    /// A program (.taut), a script (statements, regardless of the suffix) or a model (.onnx, .pnnx.param); `-` is
    /// standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// An array for an input (.npy, .npz, .safetensors, .pb); without a name, inputs are taken in order
    #[arg(long = "input", short, value_name = "[NAME=]FILE")]
    inputs: Vec<String>,
    /// Values for the parameters (.safetensors or .npz) [default: the .safetensors file beside the program]
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// Write the results as out0.npy, out1.npy, … to this directory
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Compute by the reference definitions of the operators instead of fast kernels
    #[arg(long)]
    reference: bool,
    /// The shape of an input: a number, a name, a sum such as `n+1`, or `?` for each axis, as in `x=1,3,h,w`
    #[arg(long = "shape", value_name = "[NAME=]DIMS")]
    shapes: Vec<String>,
    /// The file type, regardless of its suffix
    #[arg(long, value_enum, value_name = "KIND")]
    from: Option<Kind>,
    #[command(flatten)]
    bench: BenchArgs,
    #[command(flatten)]
    script: ScriptArgs,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    if let Some(source) = input::script_source(&args.file, args.from, args.script.is_compat())? {
        if args.bench.is_given() {
            let problem =
                "`--threads`, `--class`, `--bench` and `--profile` are for a program or model, and this is a script";
            return Err(Failure::new("T0407", problem.to_owned()));
        }
        return script::run(source, args.script, args.reference, shell);
    }
    args.output_dir.as_deref().map_or(Ok(()), output::is_directory)?;
    let mut loaded = input::read(&args.file, args.from, args.params.as_deref(), shell)?;
    loaded.reshape(&args.shapes)?;
    let inputs = bind_inputs(&mut loaded, &args.inputs, shell)?;
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
    if args.bench.is_timed() {
        return bench::measure(&args.bench, &loaded.workload, &inputs, shell);
    }
    let outputs = if args.reference {
        evaluate(&loaded.workload, &inputs, true)?
    } else {
        bench::run(&args.bench.executor(&loaded.workload)?, &loaded.workload, &inputs)?
    };
    if let Some(folder) = &args.output_dir {
        output::write_outputs(folder, &outputs)?;
        shell.detail(&format!("{} files in {}", outputs.len(), folder.display()));
    }
    let names = output::output_names(&loaded.workload.graph);
    if shell.json {
        let all: Vec<_> = names
            .iter()
            .zip(&outputs)
            .map(|(name, t)| output::tensor_json(name, t))
            .collect();
        return shell.json(json!({ "outputs": all }));
    }
    let mut text = String::new();
    for (name, tensor) in names.iter().zip(&outputs) {
        text.push_str(&format!("{name}: {}\n{}\n", tensor.ty(), output::tensor_text(tensor)));
    }
    shell.result(&text)
}

/// A value for every input, in order.
fn bind_inputs(loaded: &mut Model, given: &[String], shell: &Shell) -> Result<Vec<Tensor>, Failure> {
    let graph = &loaded.workload.graph;
    let names: Vec<String> = (0..graph.inputs().len()).map(|i| input::input_name(graph, i)).collect();
    let mut values = Params::default();
    let mut unnamed = Vec::new();
    for text in given {
        // A name may not contain `=`, but a path may: `a=b.npy` is the file b.npy for `a` unless there is a file of
        // that name.
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
                // A file of several arrays names them; the name inside a .npy file means nothing.
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
                format!("{text}: too many inputs, the program has {inputs}"),
            ));
        };
        values.insert(name.as_str().into(), value);
    }
    // An input with a default value need not be given.
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
        loaded.retype(&types, shell.build_options())?;
    }
    check_types(loaded, &names, &ordered)?;
    Ok(ordered)
}

fn check_types(loaded: &Model, names: &[String], values: &[Tensor]) -> Done {
    let graph = &loaded.workload.graph;
    for ((&v, name), value) in graph.inputs().iter().zip(names).zip(values) {
        let actual = Type::from(value.ty());
        if !graph.ty(v).admits(&actual) {
            let problem = Diagnostic::error(
                "T0407",
                format!("input `{name}` is {}, but {actual} is given", graph.ty(v)),
            );
            let problem = match conversion(graph.ty(v), value) {
                Some(help) => problem.help(help),
                None => problem,
            };
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

/// Suggests how to make a value fit: another element type, or another order of axes.
fn conversion(wanted: &Type, value: &Tensor) -> Option<String> {
    let wanted = wanted.as_tensor()?;
    if wanted.dtype != value.dtype() {
        let name = wanted.dtype.name();
        let name = match name.split_at(1) {
            ("f", bits) if bits.parse::<u32>().is_ok() => format!("float{bits}"),
            ("i", bits) if bits.parse::<u32>().is_ok() => format!("int{bits}"),
            ("u", bits) if bits.parse::<u32>().is_ok() => format!("uint{bits}"),
            _ => name.to_owned(),
        };
        return Some(format!("convert it with NumPy: `x.astype(\"{name}\")`"));
    }
    let shape = wanted.shape.as_ref()?;
    let rank = value.shape().len();
    // Only the common orders of images, sequences and matrices are suggested.
    let orders: [&[usize]; 4] = [&[0, 3, 1, 2], &[0, 2, 3, 1], &[0, 2, 1], &[1, 0]];
    let fits = |order: &&&[usize]| {
        let same = |(&i, d): (&usize, &Dim)| d.as_const().is_none_or(|n| usize::try_from(n) == Ok(value.shape()[i]));
        order.len() == rank && shape.len() == rank && order.iter().zip(shape.iter()).all(same)
    };
    if let Some(order) = orders.iter().find(fits) {
        let order: Vec<String> = order.iter().map(ToString::to_string).collect();
        return Some(format!(
            "are its axes in a different order? try `x.transpose({})`",
            order.join(", ")
        ));
    }
    (rank + 1 == shape.len()).then(|| "is the batch axis missing? `x[None]` adds it".to_owned())
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
                .help("give the file without a name; its arrays are named")
                .into())
        }
    }
}
