//! Reading: programs, models, arrays.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::ValueEnum;
use indexmap::IndexMap;

use tautomer::diag::{Diagnostic, Diagnostics, Severity, Source, did_you_mean};
use tautomer::formats::onnx::{OnnxInfo, decode_model, import, read_model};
use tautomer::formats::pnnx::{self, ParamFile};
use tautomer::formats::{FormatError, arrays, whole};
use tautomer::graph::{BuildOptions, Graph, Params, Workload, build_program};
use tautomer::lang::ast::Program;
use tautomer::lang::{is_script, parse_program};
use tautomer::tensor::{Tensor, Type};

use super::{Done, Failure, Shell, script};

/// The contents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// A program.
    Taut,
    /// A rule file.
    Rules,
    /// An ONNX model.
    Onnx,
    /// A PNNX model.
    Pnnx,
}

/// A file without a known suffix is not read to find out its kind if it is larger than this.
const LONGEST_SCRIPT: u64 = 16 << 20;

impl Kind {
    const SUFFIXES: [(&'static str, Kind); 4] = [
        ("taut", Kind::Taut),
        ("rules", Kind::Rules),
        ("onnx", Kind::Onnx),
        ("param", Kind::Pnnx),
    ];

    /// The kind that the suffix of the file indicates.
    pub(super) fn of_suffix(path: &Path) -> Option<Kind> {
        let suffix = path.extension()?;
        let known = Kind::SUFFIXES.iter().find(|(known, _)| *known == suffix);
        known.map(|(_, kind)| *kind)
    }

    /// The kind of file to write a result to.
    pub(super) fn of_result(path: &Path) -> Result<Kind, Failure> {
        let suffix = path.extension().unwrap_or_default().to_string_lossy();
        let known = Kind::of_suffix(path);
        let problem = match (known, &*suffix) {
            (Some(Kind::Rules), _) => format!("{}: a result is not a rule file", path.display()),
            (Some(kind), _) => return Ok(kind),
            (None, "") => format!("{}: a result needs a suffix", path.display()),
            (None, suffix) => format!("{}: results cannot be written as `.{suffix}`", path.display()),
        };
        let problem = Diagnostic::error("T0402", problem);
        let written = Kind::SUFFIXES.iter().filter(|(_, kind)| *kind != Kind::Rules);
        let close = did_you_mean(&suffix, written.map(|(written, _)| *written));
        Err(match close.filter(|_| known.is_none() && !suffix.is_empty()) {
            Some(close) => problem.help(format!("did you mean `.{close}`?")),
            None => problem.help("the suffix determines the format: `.taut`, `.onnx` or `.pnnx.param`"),
        }
        .into())
    }

    /// The kind that `--from` names, or that the suffix of the file indicates.
    pub(super) fn of(path: &Path, from: Option<Kind>) -> Result<Kind, Failure> {
        if let Some(kind) = from {
            return Ok(kind);
        }
        if is_standard(path) {
            if let Ok(source) = source(path)
                && is_script(&source.text)
            {
                return Ok(Kind::Taut);
            }
            return Err(Diagnostic::error("T0402", "the kind of standard input is unknown")
                .help("specify it: `--from taut`, `--from rules`, `--from onnx` or `--from pnnx`")
                .into());
        }
        let suffix = path.extension().unwrap_or_default().to_string_lossy();
        if let Some(kind) = Kind::of_suffix(path) {
            return Ok(kind);
        }
        // Scripts have no suffix of their own and are recognized by their contents.
        let short = std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= LONGEST_SCRIPT);
        if short
            && let Ok(source) = source(path)
            && is_script(&source.text)
        {
            return Ok(Kind::Taut);
        }
        let shown = path.display();
        if let Some((what, help)) = foreign(&suffix) {
            return Err(
                Diagnostic::error("T0402", format!("{shown}: {what} cannot be read here"))
                    .help(help)
                    .into(),
            );
        }
        let problem = if suffix.is_empty() {
            Diagnostic::error("T0402", format!("{shown}: a file without a suffix may be of any kind"))
        } else {
            Diagnostic::error("T0402", format!("{shown}: unknown suffix `.{suffix}`"))
        };
        let close = did_you_mean(&suffix, Kind::SUFFIXES.iter().map(|(known, _)| *known));
        let problem = match close {
            Some(close) if !suffix.is_empty() => problem.help(format!("did you mean `.{close}`?")),
            _ => problem.note("known suffixes are `.taut`, `.rules`, `.onnx` and `.param`"),
        };
        Err(problem.help("or specify the kind: `--from taut`").into())
    }
}

/// Files that people have beside their models: a description, and what to do with them.
fn foreign(suffix: &str) -> Option<(&'static str, &'static str)> {
    Some(match suffix {
        "pt" | "pth" | "ckpt" | "pt2" | "mar" => (
            "a PyTorch file",
            "export the model first: `torch.onnx.export(model, args, \"model.onnx\")`",
        ),
        "bin" => (
            "a weights file",
            "give the `.pnnx.param` file beside it, or export the model to ONNX",
        ),
        "safetensors" | "npz" | "npy" => (
            "a file of arrays",
            "give a program or model; `--params` takes values of parameters, and `run --input` those of inputs",
        ),
        "tflite" => (
            "a TensorFlow Lite file",
            "convert it first: `python -m tf2onnx.convert --tflite FILE --output model.onnx`",
        ),
        "pb" | "h5" | "keras" => (
            "a TensorFlow file",
            "convert it first: `python -m tf2onnx.convert --output model.onnx`",
        ),
        "mlir" | "gguf" | "json" | "xml" | "ort" => (
            "a file of this kind",
            "models are read as `.onnx` or `.pnnx.param`, programs as `.taut`",
        ),
        "py" => (
            "a Python program",
            "let it export the model: `torch.onnx.export(model, args, \"model.onnx\")`",
        ),
        _ => return None,
    })
}

/// True for `-`: standard input or output.
pub(super) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of a file in messages.
pub(super) fn shown(path: &Path) -> String {
    if is_standard(path) {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    }
}

pub(super) fn unreadable(path: &Path, e: &std::io::Error) -> Failure {
    let code = if e.kind() == std::io::ErrorKind::FileTooLarge {
        "T0606"
    } else {
        "T0401"
    };
    let problem = Diagnostic::error(code, format!("{}: {}", shown(path), plain(e)));
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut names: Vec<String> = match std::fs::read_dir(folder) {
        Ok(entries) if e.kind() == std::io::ErrorKind::NotFound => entries
            .filter_map(|e| Some(e.ok()?.file_name().to_string_lossy().into_owned()))
            .collect(),
        _ => Vec::new(),
    };
    names.sort();
    match did_you_mean(&name, names.iter().map(String::as_str)) {
        Some(close) => problem.help(format!("did you mean `{}`?", path.with_file_name(close).display())),
        None => problem,
    }
    .into()
}

/// The system's message without the error number.
pub(super) fn plain(e: &std::io::Error) -> String {
    let text = e.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}

/// The bytes of a file, or of standard input.
pub(super) fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    if !is_standard(path) {
        return whole::read(path, most).map_err(|e| unreadable(path, &e));
    }
    whole::read_within(std::io::stdin().lock(), most).map_err(|e| unreadable(path, &e))
}

/// The text of a file, or of standard input, which is read once for all callers.
pub(super) fn source(path: &Path) -> Result<Arc<Source>, Failure> {
    static STANDARD: OnceLock<Arc<Source>> = OnceLock::new();
    if !is_standard(path) {
        return decoded(path);
    }
    if let Some(source) = STANDARD.get() {
        return Ok(source.clone());
    }
    let source = decoded(path)?;
    Ok(STANDARD.get_or_init(|| source).clone())
}

fn decoded(path: &Path) -> Result<Arc<Source>, Failure> {
    match String::from_utf8(bytes(path, whole::MAX_TEXT)?) {
        Ok(text) => Ok(Arc::new(Source::new(shown(path), text))),
        Err(e) => {
            let at = e.utf8_error().valid_up_to();
            let line = e.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1;
            Err(Failure::new(
                "T0401",
                format!("{}: line {line} is not UTF-8 text", shown(path)),
            ))
        }
    }
}

/// The text of a file if it is a script; if `compat` is set, a script in the other spelling.
pub(super) fn script_source(path: &Path, from: Option<Kind>, compat: bool) -> Result<Option<Arc<Source>>, Failure> {
    let kind = match Kind::of(path, from) {
        Err(_) if compat => Kind::Taut,
        kind => kind?,
    };
    if kind != Kind::Taut {
        return Ok(None);
    }
    let source = source(path)?;
    Ok((compat || is_script(&source.text)).then_some(source))
}

/// Explains what is likely wrong with a model that cannot be read, and reports missing external data once.
fn explained(path: &Path, problems: Diagnostics) -> Diagnostics {
    let all: Vec<Diagnostic> = problems.iter().cloned().collect();
    let mut missing = all
        .iter()
        .filter(|p| p.code == "T0504" && p.message.contains("external data"));
    if let Some(first) = missing.next() {
        // Other problems follow from the missing initializer.
        let problem = match missing.count() {
            0 => first.clone(),
            1 => first.clone().note("1 other initializer is missing as well"),
            n => first
                .clone()
                .note(format!("{n} other initializers are missing as well")),
        };
        return problem
            .help("the weights of this model are in separate files in the directory of the model")
            .into();
    }
    // Reading a pipe again would block.
    let is_file = std::fs::metadata(path).is_ok_and(|m| m.is_file());
    if !is_file || all.len() != 1 || all.iter().any(|p| p.code != "T0501") {
        return problems;
    }
    let mut start = [0u8; 4];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read(&mut file, &mut start));
    let help = match (read, &start) {
        (Err(_), _) => return problems,
        (Ok(0), _) => "the file is empty",
        (_, b"PK\x03\x04") => "this is an archive, as PyTorch writes it: export the model with `torch.onnx.export`",
        (_, [0x80, ..]) => "this is a Python pickle: export the model with `torch.onnx.export`",
        (_, b"vers") => "this is a Git LFS pointer: `git lfs pull` fetches the model itself",
        (_, b"\x89HDF") => "this is an HDF5 file, as Keras writes it: convert it to ONNX",
        (_, [b'<' | b'{', ..]) => "this is text, perhaps a web page",
        _ => "the file is truncated, or is not an ONNX model",
    };
    all.into_iter().map(|p| p.help(help)).collect()
}

/// The newest known version of the file format.
const NEWEST_IR: i64 = 13;

/// Warns about a model in a newer file format.
fn newer_format(path: &Path, info: &OnnxInfo) -> Diagnostics {
    if info.ir_version <= NEWEST_IR {
        return Diagnostics::new();
    }
    let text = format!(
        "{}: the IR version of the model is {}, but the newest known is {NEWEST_IR}",
        shown(path),
        info.ir_version
    );
    Diagnostic::warning("T0502", text)
        .help("it is read as if of a known version; features of the newer version are ignored")
        .into()
}

/// The value, or `None` after moving its problems to `problems`.
pub(super) fn kept<T>(result: Result<T, Failure>, problems: &mut Diagnostics) -> Result<Option<T>, Failure> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Failure::Problems(found)) => {
            problems.extend(found);
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

/// Reads a file of arrays.
pub(super) fn read_arrays(path: &Path) -> Result<IndexMap<String, Tensor>, Failure> {
    arrays::read(path).map_err(|e| match &e {
        FormatError::Io { source, .. } => unreadable(path, source),
        _ => Failure::new("T0501", e.to_string()),
    })
}

/// A program or a model, ready to work with.
pub(super) struct Loaded {
    /// The computation, and the values of its parameters as far as they are known.
    pub(super) workload: Workload,
    /// What else an ONNX model contains.
    pub(super) info: Option<OnnxInfo>,
    /// The syntax tree of a program.
    pub(super) program: Option<Program>,
    /// Notes about the file.
    notes: Diagnostics,
    kind: Kind,
    path: PathBuf,
}

impl Loaded {
    /// Reads a program or a model. The parameter values of a program come from `params`, or from a file of the same
    /// stem beside it.
    pub(super) fn read(
        path: &Path,
        from: Option<Kind>,
        params: Option<&Path>,
        shell: &Shell,
    ) -> Result<Loaded, Failure> {
        let loaded = Loaded::quietly(path, from, params, shell)?;
        loaded.tell(shell);
        Ok(loaded)
    }

    /// Prints the notes about the file.
    fn tell(&self, shell: &Shell) {
        if self.kind != Kind::Onnx {
            shell.notes(&self.notes);
        } else if !shell.quiet {
            let told = |d: &&Diagnostic| shell.verbose || d.severity == Severity::Warning;
            shell.problems(&self.notes.iter().filter(told).cloned().collect());
        }
    }

    /// Reads a file to report its problems: what other programs reject is an error here.
    pub(super) fn checked(path: &Path, from: Option<Kind>, shell: &Shell) -> Result<Loaded, Failure> {
        let mut loaded = Loaded::quietly(path, from, None, shell)?;
        let (wrong, odd): (Vec<Diagnostic>, Vec<Diagnostic>) =
            loaded.notes.iter().cloned().partition(|note| note.code == "T0512");
        loaded.notes = odd.into_iter().collect();
        loaded.tell(shell);
        if wrong.is_empty() {
            return Ok(loaded);
        }
        let as_error = |mut problem: Diagnostic| {
            problem.severity = Severity::Error;
            problem
        };
        Err(wrong.into_iter().map(as_error).collect::<Diagnostics>().into())
    }

    fn quietly(path: &Path, from: Option<Kind>, params: Option<&Path>, shell: &Shell) -> Result<Loaded, Failure> {
        let kind = Kind::of(path, from)?;
        let mut loaded = match kind {
            Kind::Rules => {
                return Err(
                    Diagnostic::error("T0402", format!("{}: a rule file is not a program", shown(path)))
                        .help("rule files are read by `check`, `fmt` and `rules`")
                        .into(),
                );
            }
            Kind::Onnx => {
                let imported = if is_standard(path) {
                    let model = decode_model(bytes(path, whole::MAX_DATA)?.into())
                        .map_err(|e| Failure::new("T0501", format!("{}: {e}", shown(path))))?;
                    import(model, None)?
                } else {
                    // Reports a missing file here, with suggestions.
                    std::fs::metadata(path).map_err(|e| unreadable(path, &e))?;
                    read_model(path).map_err(|problems| explained(path, problems))?
                };
                let mut notes = newer_format(path, &imported.info);
                notes.extend(imported.notes);
                Loaded {
                    workload: imported.workload,
                    info: Some(imported.info),
                    program: None,
                    notes,
                    kind,
                    path: path.to_owned(),
                }
            }
            Kind::Pnnx => {
                let imported = if is_standard(path) {
                    let text = source(path)?;
                    let file = ParamFile::read(&text.name, &text.text)?;
                    pnnx::import(&text.name, &text.text, &file, None)?
                } else {
                    std::fs::metadata(path).map_err(|e| unreadable(path, &e))?;
                    pnnx::read_model(path)?
                };
                Loaded {
                    workload: imported.workload,
                    info: None,
                    program: None,
                    notes: imported.notes,
                    kind,
                    path: path.to_owned(),
                }
            }
            Kind::Taut => {
                let source = source(path)?;
                if is_script(&source.text) {
                    return Ok(Loaded {
                        workload: script::workload(source)?,
                        info: None,
                        program: None,
                        notes: Diagnostics::new(),
                        kind,
                        path: path.to_owned(),
                    });
                }
                let program = parse_program(source)?;
                let graph = build_program(&program, &shell.build_options())?;
                Loaded {
                    workload: Workload {
                        graph,
                        params: Params::default(),
                    },
                    info: None,
                    program: Some(program),
                    notes: Diagnostics::new(),
                    kind,
                    path: path.to_owned(),
                }
            }
        };
        loaded.read_params(params, shell)?;
        Ok(loaded)
    }

    fn read_params(&mut self, given: Option<&Path>, shell: &Shell) -> Result<(), Failure> {
        let beside = self.path.with_extension("safetensors");
        let file = match given {
            Some(path) => path,
            None if self.kind == Kind::Taut && !is_standard(&self.path) && beside.is_file() => {
                shell.detail(&format!("parameters from {}", beside.display()));
                &beside
            }
            None => return Ok(()),
        };
        let graph = &self.workload.graph;
        for (name, value) in read_arrays(file)? {
            let Some(&v) = graph
                .params()
                .iter()
                .find(|&&v| graph.vertex(v).name.as_deref() == Some(&*name))
            else {
                shell.detail(&format!(
                    "{}: `{name}` is not a parameter and is ignored",
                    file.display()
                ));
                continue;
            };
            let actual = Type::from(value.ty());
            if !graph.ty(v).admits(&actual) {
                let problem = Diagnostic::error(
                    "T0404",
                    format!(
                        "{}: parameter `{name}` is {}, but the file holds {actual}",
                        file.display(),
                        graph.ty(v)
                    ),
                );
                return Err(match (graph.vertex(v).span, &self.program) {
                    (Some(span), Some(program)) => problem
                        .label(span, "declared here")
                        .in_source(&program.ast.source)
                        .into(),
                    _ => problem.into(),
                });
            }
            self.workload.params.insert(name.into(), value);
        }
        Ok(())
    }

    /// Gives inputs the shapes from `--shape`.
    pub(super) fn reshape(&mut self, shapes: &[String]) -> Done {
        let graph = std::mem::take(&mut self.workload.graph);
        self.workload.graph = super::shape::with_shapes(graph, shapes)?;
        Ok(())
    }

    /// Parameters without a value.
    pub(super) fn missing_params(&self) -> Vec<String> {
        let graph = &self.workload.graph;
        let names = graph.params().iter().filter_map(|&v| graph.vertex(v).name.as_deref());
        names
            .filter(|name| !self.workload.params.contains_key(*name))
            .map(str::to_owned)
            .collect()
    }

    /// Rebuilds a program once the types of its untyped inputs are known.
    pub(super) fn retype(&mut self, types: &[(String, Type)], shell: &Shell) -> Result<(), Failure> {
        let Some(program) = &self.program else { return Ok(()) };
        let options = BuildOptions {
            inputs: types.iter().cloned().collect(),
            ..shell.build_options()
        };
        self.workload.graph = build_program(program, &options)?;
        Ok(())
    }
}

/// The name of an input.
pub(super) fn input_name(graph: &Graph, i: usize) -> String {
    let name = graph.inputs().get(i).and_then(|&v| graph.vertex(v).name.as_deref());
    name.map_or_else(|| format!("input {i}"), str::to_owned)
}
