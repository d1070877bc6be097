//! Model files.

use std::collections::HashMap;
use std::path::Path;

use prost::Message;
use prost::bytes::Bytes;

use super::export::declared_in;
use super::import::{Imported, import_in, import_sharing};
use super::proto::{DataLocation, ModelProto, StringStringEntryProto, TensorProto};
use super::tensor::Shared;
use super::{OnnxInfo, decode, export};
use tautomer_diag::{Diagnostic, Diagnostics};
use tautomer_files::{FormatError, Problem, atomic, readback, whole};
use tautomer_graph::{Graph, Params};
use tautomer_op::Scope;

/// The maximum size of a Protocol Buffers message.
const MAX_MODEL: usize = i32::MAX as usize;

/// Smaller tensors stay in the model when the others are moved to a separate file.
const MIN_EXTERNAL: usize = 1024;

fn refused(error: FormatError) -> Diagnostics {
    Diagnostic::error("T0501", error.to_string()).into()
}

/// Reads a model file, including its external data.
///
/// # Errors
/// The file cannot be read, is not a model, or the model is invalid.
pub fn read_model(path: &Path) -> Result<Imported, Diagnostics> {
    read_model_in(path, &Scope::default())
}

/// Like [`read_model`], but nodes of other domains whose operators `scope` declares become calls of these operators.
///
/// # Errors
/// Same as for [`read_model`].
pub fn read_model_in(path: &Path, scope: &Scope) -> Result<Imported, Diagnostics> {
    let bytes = whole::read(path, MAX_MODEL as u64).map_err(|e| refused(FormatError::io(path, e)))?;
    let model = decode_model(bytes.into()).map_err(|e| refused(FormatError::at(path, "onnx", e)))?;
    import_in(model, path.parent(), scope)
}

/// Decodes a model.
///
/// # Errors
/// The bytes are not a model.
pub fn decode_model(bytes: Bytes) -> Result<ModelProto, Problem> {
    let model: ModelProto = decode(bytes)?;
    if model.graph.is_none() && model.opset_import.is_empty() {
        return Err(Problem::malformed("there is neither a graph nor an operator set"));
    }
    Ok(model)
}

/// Gives initializers of the main graph, by name, elements that are kept apart from the model.
pub fn join_elements(model: &mut ModelProto, mut elements: HashMap<String, Bytes>) {
    for tensor in model.graph.iter_mut().flat_map(|graph| &mut graph.initializer) {
        let found = tensor.name.as_ref().and_then(|name| elements.remove(name));
        tensor.raw_data = found.or_else(|| tensor.raw_data.take());
    }
}

/// Writes a graph as a model file, which is read back before it replaces the old one; beyond 2 GB, the weights go to a
/// file next to it. Returns notes.
///
/// # Errors
/// The graph cannot be expressed in ONNX, differs when read back, or a file cannot be written.
pub fn write_model(path: &Path, graph: &Graph, params: &Params, info: &OnnxInfo) -> Result<Diagnostics, Diagnostics> {
    let mut exported = export(graph, params, info)?;
    check_back(&path.display().to_string(), graph, params, &exported.model)?;
    write_limited(path, &mut exported.model, MAX_MODEL).map_err(refused)?;
    Ok(exported.notes)
}

/// Encodes a graph as a model in memory, which is read back first; messages call it `name`.
///
/// # Errors
/// The graph cannot be expressed in ONNX, differs when read back, or takes more than 2 GB.
pub fn encode_model(name: &str, graph: &Graph, params: &Params, info: &OnnxInfo) -> Result<Vec<u8>, Diagnostics> {
    Ok(encodable(name, graph, params, info)?.model.encode_to_vec())
}

/// A model that can be encoded, which shares the elements of its parameters until then.
#[derive(Debug)]
pub struct Encodable {
    model: ModelProto,
    length: usize,
}

impl Encodable {
    /// The number of bytes that it takes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The model without the elements of initializers that take at least `least` bytes, and these by name, which share
    /// memory with the parameters. [`join_elements`] is the inverse.
    pub fn parts(&self, least: usize) -> (Vec<u8>, Vec<(String, Bytes)>) {
        let mut model = self.model.clone();
        let mut elements = Vec::new();
        for tensor in model.graph.iter_mut().flat_map(|graph| &mut graph.initializer) {
            if let Some(name) = &tensor.name
                && let Some(raw) = tensor.raw_data.take_if(|raw| raw.len() >= least)
            {
                elements.push((name.clone(), raw));
            }
        }
        (model.encode_to_vec(), elements)
    }

    /// Writes it; false if there is not exactly as much room as it takes.
    pub fn write(&self, mut room: &mut [u8]) -> bool {
        room.len() == self.length && self.model.encode(&mut room).is_ok()
    }
}

/// Like [`encode_model`], but writes to the caller's memory.
///
/// # Errors
/// Same as for [`encode_model`].
pub fn encodable(name: &str, graph: &Graph, params: &Params, info: &OnnxInfo) -> Result<Encodable, Diagnostics> {
    let exported = export(graph, params, info)?;
    check_back(name, graph, params, &exported.model)?;
    let length = exported.model.encoded_len();
    if length > MAX_MODEL {
        let problem = Diagnostic::error("T0606", format!("{name}: the model takes more than 2 GB"));
        return Err(problem
            .help("write it to a file; its weights are then put into a second file")
            .into());
    }
    Ok(Encodable {
        model: exported.model,
        length,
    })
}

/// Reads back a model before it is written.
fn check_back(name: &str, graph: &Graph, params: &Params, model: &ModelProto) -> Result<(), Diagnostics> {
    let shared = Shared::of(params.values());
    let again = import_sharing(model.clone(), None, &declared_in(graph), shared).and_then(|imported| {
        let broken = imported.notes.iter().find(|note| note.code == "T0512");
        match broken {
            Some(problem) => Err(problem.clone().into()),
            None => Ok(imported.workload.graph),
        }
    });
    readback::check(name, graph, again)
}

fn write_limited(path: &Path, model: &mut ModelProto, limit: usize) -> Result<(), FormatError> {
    if model.encoded_len() > limit {
        externalize(path, model)?;
    }
    let bytes = model.encode_to_vec();
    atomic::write(path, &bytes).map_err(|e| FormatError::io(path, e))
}

/// Moves the elements of initializers to the file `path` with `.data` appended.
fn externalize(path: &Path, model: &mut ModelProto) -> Result<(), FormatError> {
    let Some(name) = path.file_name() else {
        return Err(FormatError::Unsupported {
            file: path.display().to_string(),
            reason: "a model of more than 2 GB needs a file name".to_string(),
        });
    };
    let location = format!("{}.data", name.to_string_lossy());
    let data = path.with_file_name(&location);
    let initializers = model.graph.iter_mut().flat_map(|g| &mut g.initializer);
    atomic::write_with(&data, |out| {
        let mut offset = 0usize;
        for tensor in initializers {
            let Some(raw) = tensor.raw_data.take_if(|raw| raw.len() >= MIN_EXTERNAL) else {
                continue;
            };
            // Readers map the file into memory, so tensors start at page boundaries.
            let start = offset.next_multiple_of(4096);
            out.write_all(&vec![0; start - offset])?;
            out.write_all(&raw)?;
            offset = start + raw.len();
            refer(tensor, &location, start, raw.len());
        }
        Ok(())
    })
    .map_err(|e| FormatError::io(&data, e))
}

fn refer(tensor: &mut TensorProto, location: &str, offset: usize, length: usize) {
    let entry = |key: &str, value: String| StringStringEntryProto {
        key: Some(key.to_string()),
        value: Some(value),
    };
    tensor.data_location = Some(DataLocation::External as i32);
    tensor.external_data = vec![
        entry("location", location.to_string()),
        entry("offset", offset.to_string()),
        entry("length", length.to_string()),
    ];
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use tautomer_op::{Op, lookup};
    use tautomer_tensor::{DType, Tensor, Type};

    /// A graph that adds a parameter of that many elements.
    fn sum_of(size: u16) -> (Graph, Params) {
        let mut graph = Graph::new();
        let x = graph.input("x", Type::tensor(DType::F32, [i64::from(size)]));
        let w = graph.param("w", Type::tensor(DType::F32, [i64::from(size)]));
        let y = lookup("add").map(|add| graph.call(Op::Known(add), &[x, w], &[]));
        graph.output(y.unwrap().unwrap(), Some("y"));
        let w = Tensor::vector((0..size).map(f32::from).collect());
        (graph, Params::from([("w".into(), w)]))
    }

    fn example() -> (Graph, Params) {
        sum_of(600)
    }

    #[test]
    fn large_weights_go_to_a_file_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        let (graph, params) = example();
        let mut model = export(&graph, &params, &OnnxInfo::default()).unwrap().model;
        write_limited(&path, &mut model, 100).unwrap();
        assert!(fs::metadata(folder.path().join("m.onnx.data")).unwrap().len() >= 2400);
        assert!(fs::metadata(&path).unwrap().len() < 1000);
        assert_eq!(read_model(&path).unwrap().workload.params, params);
        write_model(&path, &graph, &params, &OnnxInfo::default()).unwrap();
        assert_eq!(read_model(&path).unwrap().workload.params, params);
    }

    #[test]
    fn parts_share_memory_with_parameters_and_join() {
        // Smaller elements are copied, which takes less time than sharing them.
        let (graph, params) = sum_of(30_000);
        let info = OnnxInfo::default();
        let (bytes, elements) = encodable("m", &graph, &params, &info).unwrap().parts(120_000);
        assert!(bytes.len() < 1000);
        let [(name, raw)] = &elements[..] else {
            panic!("{elements:?}")
        };
        assert_eq!(name, "w");
        let stored = tautomer_files::bytes::elements(&params["w"]).unwrap();
        assert_eq!(raw.as_ptr(), stored.as_ptr());
        let mut model = decode_model(bytes.into()).unwrap();
        join_elements(&mut model, elements.into_iter().collect());
        assert_eq!(model, export(&graph, &params, &info).unwrap().model);
        let (_, none) = encodable("m", &graph, &params, &info).unwrap().parts(120_001);
        assert!(none.is_empty());
    }

    #[test]
    fn other_files_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        for contents in [&b""[..], b"\x93NUMPY", b"{}", &[0xff; 40]] {
            fs::write(&path, contents).unwrap();
            let problems = read_model(&path).unwrap_err();
            assert!(problems.render(false).contains("m.onnx"), "{contents:?}");
        }
    }
}
