//! Programs and models: a computation and everything else in its file; reading and writing.

mod equal;
mod kind;
mod read;
mod shape;
mod write;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics, Source};
use crate::formats::onnx::{
    Bytes, Encodable, OnnxInfo, decode_model, encodable, encode_model, import_in, join_elements, read_model_in,
};
use crate::formats::pnnx::{self, ParamFile};
use crate::formats::whole;
use crate::graph::{BuildOptions, Graph, Params, Session, Shown, Step, VertexId, Workload, build_program};
use crate::lang::ast::Program;
use crate::lang::{Compat, is_script, parse_program, parse_script};
use crate::op::Scope;
use crate::rule_files::built_in_operators;
use crate::tensor::Type;

pub use self::equal::EqualDims;
pub use self::kind::Kind;
pub(crate) use self::read::{bytes, failed, is_standard, kept, plain, read_arrays, shown, source, unreadable};
pub(crate) use self::write::{program_text, write_text, write_workload};

/// A program or a model.
///
/// ```
/// use tautomer::Model;
/// let model = Model::from_text("example", "fn main(x: f32[n, 8]) { let y = relu(x); y }")?;
/// let again = Model::from_onnx(&model.to_onnx()?)?; // where every result has a name
/// assert_eq!(again.to_text(), "fn main(x: f32[n, 8]) {\n  let y = relu(x);\n  y\n}\n");
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
#[derive(Debug, Clone)]
pub struct Model {
    /// The computation, and the values of its parameters as far as they are known.
    pub workload: Workload,
    /// The other parts of an ONNX model.
    pub info: Option<OnnxInfo>,
    /// The syntax tree of a program.
    pub program: Option<Program>,
    /// Notes and warnings about the file.
    pub notes: Diagnostics,
    /// Details of how it was read.
    pub(crate) details: Vec<String>,
    /// The kind of file it was read as.
    pub kind: Kind,
    /// The path it was read from, or its name in messages.
    pub path: PathBuf,
}

/// How a file is read.
#[derive(Debug, Clone)]
pub(crate) struct Reading<'a> {
    /// The kind of the file, regardless of its suffix.
    pub(crate) from: Option<Kind>,
    /// A file with values for parameters.
    pub(crate) params: Option<&'a Path>,
    /// How graphs are built from programs, and which declared operators programs and models may mention.
    pub(crate) build: BuildOptions,
}

impl Model {
    /// Reads a program (`.taut`) or a model (`.onnx`, `.pnnx.param`); the suffix of the file says which. The parameter
    /// values of a program are read from the `.safetensors` file of the same name next to it. `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or its contents are invalid.
    pub fn open(path: impl AsRef<Path>) -> Result<Model, Diagnostics> {
        Model::open_in(path, &Scope::default())
    }

    /// Like [`Model::open`], but the file may mention declared operators besides those that come with the tool, such as
    /// the [`RuleSet::operators`](crate::rule::RuleSet::operators) of rules that declare some.
    ///
    /// # Errors
    /// Same as for [`Model::open`].
    pub fn open_in(path: impl AsRef<Path>, operators: &Scope) -> Result<Model, Diagnostics> {
        let reading = Reading {
            from: None,
            params: None,
            build: build_options(operators)?,
        };
        Model::open_as(path.as_ref(), &reading)
    }

    pub(crate) fn open_as(path: &Path, reading: &Reading<'_>) -> Result<Model, Diagnostics> {
        let kind = Kind::of(path, reading.from)?;
        let operators = &reading.build.scope;
        let mut model = match kind {
            Kind::Rules => {
                return Err(
                    Diagnostic::error("T0402", format!("{}: a rule file is not a program", shown(path)))
                        .help("rule files are read by `check`, `fmt` and `rules`")
                        .into(),
                );
            }
            Kind::Onnx if is_standard(path) => Model::decoded(bytes(path, whole::MAX_DATA)?.into(), path, operators)?,
            Kind::Onnx => {
                // Reports a missing file here, with suggestions.
                std::fs::metadata(path).map_err(|e| unreadable(path, &e))?;
                let imported = read_model_in(path, operators).map_err(|problems| read::explained(path, problems))?;
                let mut notes = read::newer_format(path, &imported.info);
                notes.extend(imported.notes);
                Model::new(imported.workload, Some(imported.info), notes, kind, path)
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
                Model::new(imported.workload, None, imported.notes, kind, path)
            }
            Kind::Taut => {
                let source = source(path)?;
                // Scripts name no parameters.
                if is_script(&source.text) {
                    return Model::of_source(source, path, &reading.build);
                }
                Model::of_source(source, path, &reading.build)?
            }
        };
        model.read_params(reading.params)?;
        Ok(model)
    }

    /// Reads an ONNX model from memory.
    ///
    /// # Errors
    /// The bytes are not a model, or the model is invalid.
    pub fn from_onnx(bytes: &[u8]) -> Result<Model, Diagnostics> {
        Model::from_onnx_in(bytes.to_vec(), &Scope::default())
    }

    /// Like [`Model::from_onnx`], but does not copy all the bytes.
    ///
    /// # Errors
    /// Same as for [`Model::from_onnx`].
    pub fn from_onnx_vec(bytes: Vec<u8>) -> Result<Model, Diagnostics> {
        Model::from_onnx_in(bytes, &Scope::default())
    }

    /// Like [`Model::from_onnx_vec`], but the model may have declared operators besides those that come with the tool.
    ///
    /// # Errors
    /// Same as for [`Model::from_onnx`].
    pub fn from_onnx_in(bytes: impl AsRef<[u8]> + Send + 'static, operators: &Scope) -> Result<Model, Diagnostics> {
        Model::decoded(
            Bytes::from_owner(bytes),
            Path::new("<bytes>"),
            &build_options(operators)?.scope,
        )
    }

    /// As [`Model::from_onnx_in`], where `elements` are those of initializers that have none in `bytes`: memory of the
    /// caller, which is copied once.
    ///
    /// # Errors
    /// As for [`Model::from_onnx`].
    pub fn from_onnx_parts(
        bytes: impl AsRef<[u8]> + Send + 'static,
        elements: HashMap<String, Bytes>,
        operators: &Scope,
    ) -> Result<Model, Diagnostics> {
        let operators = build_options(operators)?.scope;
        Model::joined(Bytes::from_owner(bytes), elements, Path::new("<bytes>"), &operators)
    }

    fn decoded(bytes: Bytes, path: &Path, operators: &Scope) -> Result<Model, Diagnostics> {
        Model::joined(bytes, HashMap::new(), path, operators)
    }

    fn joined(
        bytes: Bytes,
        elements: HashMap<String, Bytes>,
        path: &Path,
        operators: &Scope,
    ) -> Result<Model, Diagnostics> {
        let mut model = decode_model(bytes).map_err(|e| failed("T0501", format!("{}: {e}", shown(path))))?;
        join_elements(&mut model, elements);
        let imported = import_in(model, None, operators)?;
        let mut notes = read::newer_format(path, &imported.info);
        notes.extend(imported.notes);
        Ok(Model::new(
            imported.workload,
            Some(imported.info),
            notes,
            Kind::Onnx,
            path,
        ))
    }

    /// Reads the text of a program or script; messages call it `name`.
    ///
    /// # Errors
    /// The text is not a program, or the program is invalid.
    pub fn from_text(name: &str, text: &str) -> Result<Model, Diagnostics> {
        Model::from_text_in(name, text, &Scope::default())
    }

    /// Like [`Model::from_text`], but the program may call declared operators besides its own and those that come with
    /// the tool.
    ///
    /// # Errors
    /// Same as for [`Model::from_text`].
    ///
    /// ```
    /// # use tautomer::{Model, rules_of_text};
    /// let (set, _) = rules_of_text("my.ops", "operator \"my::Twice\"(x) { x + x }")?;
    /// let model = Model::from_text_in("example", "fn main(x: f32[8]) { \"my::Twice\"(x) }", &set.operators)?;
    /// let again = Model::from_onnx_in(model.to_onnx()?, &set.operators)?;
    /// assert!(again.to_text().contains("\"my::Twice\"(x)"));
    /// # Ok::<(), tautomer::diag::Diagnostics>(())
    /// ```
    pub fn from_text_in(name: &str, text: &str, operators: &Scope) -> Result<Model, Diagnostics> {
        let source = Arc::new(Source::new(name, text));
        Model::of_source(source, Path::new(name), &build_options(operators)?)
    }

    /// The model of a graph and the values of its parameters.
    pub fn of_workload(workload: Workload) -> Model {
        Model::new(workload, None, Diagnostics::new(), Kind::Taut, Path::new("<graph>"))
    }

    fn of_source(source: Arc<Source>, path: &Path, build: &BuildOptions) -> Result<Model, Diagnostics> {
        if is_script(&source.text) {
            let workload = script_workload(source)?;
            return Ok(Model::new(workload, None, Diagnostics::new(), Kind::Taut, path));
        }
        let program = parse_program(source)?;
        let graph = build_program(&program, build)?;
        let params = Params::default();
        let mut model = Model::new(Workload { graph, params }, None, Diagnostics::new(), Kind::Taut, path);
        model.program = Some(program);
        Ok(model)
    }

    fn new(workload: Workload, info: Option<OnnxInfo>, notes: Diagnostics, kind: Kind, path: &Path) -> Model {
        Model {
            workload,
            info,
            program: None,
            notes,
            details: Vec::new(),
            kind,
            path: path.to_owned(),
        }
    }

    /// The same file with another computation, such as the result of an optimization.
    pub(crate) fn with_workload(&self, workload: Workload) -> Model {
        Model {
            workload,
            program: None,
            notes: Diagnostics::new(),
            details: Vec::new(),
            info: self.info.clone(),
            kind: self.kind,
            path: self.path.clone(),
        }
    }

    /// The model as an ONNX file in memory; it is read back and compared before it is returned.
    ///
    /// # Errors
    /// The graph cannot be expressed in ONNX, a parameter has no value, or the model takes more than 2 GB.
    pub fn to_onnx(&self) -> Result<Vec<u8>, Diagnostics> {
        let own = OnnxInfo::default();
        let Workload { graph, params } = &self.workload;
        encode_model(&shown(&self.path), graph, params, self.info.as_ref().unwrap_or(&own))
    }

    /// Like [`Model::to_onnx`], but writes to the caller's memory: first comes the length, then the bytes.
    ///
    /// # Errors
    /// Same as for [`Model::to_onnx`].
    pub fn encodable(&self) -> Result<Encodable, Diagnostics> {
        let own = OnnxInfo::default();
        let Workload { graph, params } = &self.workload;
        encodable(&shown(&self.path), graph, params, self.info.as_ref().unwrap_or(&own))
    }

    /// The text of the program, without the values of its parameters.
    pub fn to_text(&self) -> String {
        program_text(&self.workload).0
    }

    /// Writes the model as `.onnx`, as `.pnnx.param`, or as `.taut` with its parameter values in a file next to it. The
    /// file is read back before it replaces the old one. Returns notes.
    ///
    /// # Errors
    /// The format cannot express the model, or a file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<Diagnostics, Diagnostics> {
        write_workload(path.as_ref(), &self.workload, self.info.as_ref())
    }

    /// Gives inputs the shapes in `shapes`, each such as `x=1,3,h,w`; the name may be omitted if there is one input.
    ///
    /// # Errors
    /// A shape is invalid, or does not fit.
    pub fn reshape(&mut self, shapes: &[String]) -> Result<(), Diagnostics> {
        self.workload.graph = shape::with_shapes(&self.workload.graph, shapes)?;
        Ok(())
    }

    /// Named dimensions of inputs that may always be equal to others, though the model does not say so: it broadcasts
    /// them against each other, or indexes one by all positions of the other. If they are equal, more rules apply to the
    /// model with these shapes.
    ///
    /// ```
    /// # use tautomer::Model;
    /// let mut model = Model::from_text("example", "fn main(x: f32[a, 8], mask: f32[b, 8]) { x + mask }")?;
    /// let found = model.equal_dims();
    /// assert_eq!(found.shapes, ["mask=a,8"]);
    /// model.reshape(&found.shapes)?;
    /// assert!(model.equal_dims().pairs.is_empty());
    /// # Ok::<(), tautomer::diag::Diagnostics>(())
    /// ```
    pub fn equal_dims(&self) -> EqualDims {
        equal::equal_dims(&self.workload.graph)
    }

    /// The names and types of the inputs, in order.
    ///
    /// ```
    /// # use tautomer::Model;
    /// let model = Model::from_text("example", "fn main(x: f32[n, 8]) { relu(x) }")?;
    /// let inputs: Vec<String> = model.inputs().map(|(name, ty)| format!("{name}: {ty}")).collect();
    /// assert_eq!(inputs, ["x: f32[n, 8]"]);
    /// # Ok::<(), tautomer::diag::Diagnostics>(())
    /// ```
    pub fn inputs(&self) -> impl Iterator<Item = (String, &Type)> {
        let graph = &self.workload.graph;
        let named = graph.inputs().iter().enumerate();
        named.map(|(i, &v)| (input_name(graph, i), graph.ty(v)))
    }

    /// The names and types of the results, in order. The names are distinct, even if one value is two results.
    ///
    /// ```
    /// # use tautomer::Model;
    /// let model = Model::from_text("example", "fn main(x: f32[8]) { (x, relu(x), x) }")?;
    /// let names: Vec<String> = model.outputs().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["x", "out1", "x.2"]);
    /// # Ok::<(), tautomer::diag::Diagnostics>(())
    /// ```
    pub fn outputs(&self) -> impl Iterator<Item = (String, &Type)> {
        let graph = &self.workload.graph;
        let types = graph.outputs().iter().map(|output| graph.ty(output.vertex));
        output_names(graph).into_iter().zip(types)
    }

    /// Parameters without a value.
    pub fn missing_params(&self) -> Vec<String> {
        let graph = &self.workload.graph;
        let names = graph.params().iter().filter_map(|&v| graph.vertex(v).name.as_deref());
        names
            .filter(|name| !self.workload.params.contains_key(*name))
            .map(str::to_owned)
            .collect()
    }

    /// Rebuilds a program once the types of its untyped inputs are known.
    pub(crate) fn retype(&mut self, types: &[(String, Type)], build: BuildOptions) -> Result<(), Diagnostics> {
        let Some(program) = &self.program else { return Ok(()) };
        let options = BuildOptions {
            inputs: types.iter().cloned().collect(),
            ..build
        };
        self.workload.graph = build_program(program, &options)?;
        Ok(())
    }

    fn read_params(&mut self, given: Option<&Path>) -> Result<(), Diagnostics> {
        let beside = self.path.with_extension("safetensors");
        let file = match given {
            Some(path) => path,
            None if self.kind == Kind::Taut && !is_standard(&self.path) && beside.is_file() => {
                self.details.push(format!("parameters from {}", beside.display()));
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
                let what = "is not a parameter and is ignored";
                self.details.push(format!("{}: `{name}` {what}", file.display()));
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
}

/// How graphs are built from programs that may mention `operators` and those that come with the tool.
fn build_options(operators: &Scope) -> Result<BuildOptions, Diagnostics> {
    let mut scope = built_in_operators();
    scope.extend(operators);
    Ok(BuildOptions {
        scope,
        ..BuildOptions::default()
    })
}

/// The name of an input.
pub(crate) fn input_name(graph: &Graph, i: usize) -> String {
    let name = graph.inputs().get(i).and_then(|&v| graph.vertex(v).name.as_deref());
    name.map_or_else(|| format!("input {i}"), str::to_owned)
}

/// The names of the results, each another.
pub(crate) fn output_names(graph: &Graph) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (i, output) in graph.outputs().iter().enumerate() {
        let own = output.name.as_ref().or(graph.vertex(output.vertex).name.as_ref());
        let mut name = own.map_or_else(|| format!("out{i}"), ToString::to_string);
        while names.contains(&name) {
            name = format!("{name}.{i}");
        }
        names.push(name);
    }
    names
}

/// The graph of everything a script shows, or of its last name if it shows nothing.
fn script_workload(source: Arc<Source>) -> Result<Workload, Diagnostics> {
    let script = parse_script(source, Compat::Off)?;
    let mut session = Session::new(script.compat, 0);
    let steps = session.add_all(&script)?;
    let shown = steps.iter().filter(|step| step.name.is_none()).flat_map(shown_values);
    let mut roots: Vec<(VertexId, Option<&str>)> = shown.map(|v| (v, None)).collect();
    if roots.is_empty() {
        roots.extend(session.names().last().map(|(name, v)| (v, Some(name))));
    }
    Ok(session.program(&roots, false))
}

/// The tensors among the values that a statement shows.
pub(crate) fn shown_values(step: &Step) -> impl Iterator<Item = VertexId> {
    step.values.iter().filter_map(|shown| match shown {
        Shown::Value(v) => Some(*v),
        Shown::Text(_) => None,
    })
}
