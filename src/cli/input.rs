//! Reading: programs, models, arrays.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::ValueEnum;
use indexmap::IndexMap;

use tautomer::diag::{Diagnostic, Diagnostics, Severity, Source, did_you_mean};
use tautomer::formats::onnx::{OnnxInfo, decode_model, import, read_model};
use tautomer::formats::pnnx::{self, ParamFile};
use tautomer::formats::{FormatError, arrays};
use tautomer::graph::{BuildOptions, Graph, Params, Workload, build_program};
use tautomer::lang::ast::Program;
use tautomer::lang::{is_script, parse_program};
use tautomer::tensor::{Tensor, Type};

use super::{Done, Failure, Shell, script};

/// What a file holds.
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

impl Kind {
    const SUFFIXES: [(&'static str, Kind); 4] = [
        ("taut", Kind::Taut),
        ("rules", Kind::Rules),
        ("onnx", Kind::Onnx),
        ("param", Kind::Pnnx),
    ];

    /// The kind that `--from` names, or that the suffix of the file shows.
    pub(super) fn of(path: &Path, from: Option<Kind>) -> Result<Kind, Failure> {
        if let Some(kind) = from {
            return Ok(kind);
        }
        if is_standard(path) {
            return Err(Diagnostic::error("T0402", "the kind of standard input is not known")
                .help("say it: `--from taut`, `--from rules`, `--from onnx` or `--from pnnx`")
                .into());
        }
        let suffix = path.extension().unwrap_or_default().to_string_lossy();
        if let Some((_, kind)) = Kind::SUFFIXES.iter().find(|(known, _)| *known == suffix) {
            return Ok(*kind);
        }
        let shown = path.display();
        let problem = if suffix.is_empty() {
            Diagnostic::error("T0402", format!("{shown}: a file without a suffix may be anything"))
        } else {
            Diagnostic::error("T0402", format!("{shown}: unknown suffix `.{suffix}`"))
        };
        let close = did_you_mean(&suffix, Kind::SUFFIXES.iter().map(|(known, _)| *known));
        let problem = match close {
            Some(close) if !suffix.is_empty() => problem.help(format!("did you mean `.{close}`?")),
            _ => problem.note("known are `.taut`, `.rules`, `.onnx` and `.param`"),
        };
        Err(problem.help("or say what it is: `--from taut`").into())
    }
}

/// True for `-`: standard input or output.
pub(super) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// A file as messages show it.
pub(super) fn shown(path: &Path) -> String {
    if is_standard(path) {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    }
}

pub(super) fn unreadable(path: &Path, e: &std::io::Error) -> Failure {
    let problem = Diagnostic::error("T0401", format!("{}: {}", shown(path), plain(e)));
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

/// What the system says, without the number of the error.
fn plain(e: &std::io::Error) -> String {
    let text = e.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}

/// The bytes of a file, or of standard input.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    if !is_standard(path) {
        return std::fs::read(path).map_err(|e| unreadable(path, &e));
    }
    let mut bytes = Vec::new();
    match std::io::stdin().lock().read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(e) => Err(unreadable(path, &e)),
    }
}

/// The text of a file, or of standard input, which gives it to all who ask.
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
    match String::from_utf8(bytes(path)?) {
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

/// The text of a file, if it is a script.
pub(super) fn script_source(path: &Path, from: Option<Kind>) -> Result<Option<Arc<Source>>, Failure> {
    if Kind::of(path, from)? != Kind::Taut {
        return Ok(None);
    }
    let source = source(path)?;
    Ok(is_script(&source.text).then_some(source))
}

/// The value, or nothing and its problems set aside.
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

/// A file of arrays.
pub(super) fn read_arrays(path: &Path) -> Result<IndexMap<String, Tensor>, Failure> {
    arrays::read(path).map_err(|e| match &e {
        FormatError::Io { source, .. } => unreadable(path, source),
        _ => Failure::new("T0501", e.to_string()),
    })
}

/// A program or a model, ready to work with.
pub(super) struct Loaded {
    /// The computation and the values of its parameters, as far as they are given.
    pub(super) workload: Workload,
    /// What else a model says.
    pub(super) info: Option<OnnxInfo>,
    /// The syntax tree of a program.
    pub(super) program: Option<Program>,
    kind: Kind,
    path: PathBuf,
}

impl Loaded {
    /// Reads a program or a model. Values of the parameters of a program come from `params`, or from a file of the
    /// same stem beside it.
    pub(super) fn read(
        path: &Path,
        from: Option<Kind>,
        params: Option<&Path>,
        shell: &Shell,
    ) -> Result<Loaded, Failure> {
        let kind = Kind::of(path, from)?;
        let mut loaded = match kind {
            Kind::Rules => {
                return Err(
                    Diagnostic::error("T0402", format!("{}: a rule file is no program", shown(path)))
                        .help("rule files are read by `check`, `fmt` and `rules`")
                        .into(),
                );
            }
            Kind::Onnx => {
                let imported = if is_standard(path) {
                    let model = decode_model(bytes(path)?.into())
                        .map_err(|e| Failure::new("T0501", format!("{}: {e}", shown(path))))?;
                    import(model, None)?
                } else {
                    // A missing file is told apart before the reader sees it.
                    std::fs::metadata(path).map_err(|e| unreadable(path, &e))?;
                    read_model(path)?
                };
                if !shell.quiet {
                    let told = |d: &&Diagnostic| shell.verbose || d.severity == Severity::Warning;
                    shell.problems(&imported.notes.iter().filter(told).cloned().collect());
                }
                Loaded {
                    workload: imported.workload,
                    info: Some(imported.info),
                    program: None,
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
                shell.notes(&imported.notes);
                Loaded {
                    workload: imported.workload,
                    info: None,
                    program: None,
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
                        kind,
                        path: path.to_owned(),
                    });
                }
                let program = parse_program(source)?;
                let graph = build_program(&program, &BuildOptions::default())?;
                Loaded {
                    workload: Workload {
                        graph,
                        params: Params::default(),
                    },
                    info: None,
                    program: Some(program),
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
                shell.detail(&format!("{}: `{name}` is no parameter and not used", file.display()));
                continue;
            };
            let actual = Type::from(value.ty());
            if !graph.ty(v).admits(&actual) {
                let problem = Diagnostic::error(
                    "T0404",
                    format!(
                        "{}: parameter `{name}` is {}, and the file holds {actual}",
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

    /// Gives inputs the shapes that `--shape` says.
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

    /// Builds a program anew, now that the types of its untyped inputs are known.
    pub(super) fn retype(&mut self, types: &[(String, Type)]) -> Result<(), Failure> {
        let Some(program) = &self.program else { return Ok(()) };
        let options = BuildOptions {
            inputs: types.iter().cloned().collect(),
            ..BuildOptions::default()
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
