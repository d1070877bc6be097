//! Model files: `name.pnnx.param` with `name.pnnx.bin` beside it.

use std::path::{Path, PathBuf};

use super::{Archive, Imported, ParamFile, export, import, write_archive_for};
use tautomer_diag::{Diagnostic, Diagnostics, Severity};
use tautomer_files::atomic::Pending;
use tautomer_files::{FormatError, readback, whole};
use tautomer_graph::{Graph, Params};

fn refused(error: &FormatError) -> Diagnostics {
    Diagnostic::error("T0501", error.to_string()).into()
}

/// The file with the weights of a `.param` file: the same name, ending in `.bin`.
///
/// ```
/// use std::path::Path;
/// use tautomer_pnnx::weights_beside;
/// assert_eq!(weights_beside(Path::new("a/m.pnnx.param")), Path::new("a/m.pnnx.bin"));
/// ```
pub fn weights_beside(path: &Path) -> PathBuf {
    path.with_extension("bin")
}

/// Reads a model; without a file of weights, its parameters have no values.
///
/// # Errors
/// A file cannot be read, or the model is invalid.
pub fn read_model(path: &Path) -> Result<Imported, Diagnostics> {
    let text = whole::read(path, whole::MAX_TEXT).map_err(|e| refused(&FormatError::io(path, e)))?;
    let name = path.display().to_string();
    let text = String::from_utf8(text).map_err(|_| {
        Diagnostics::from(Diagnostic::error(
            "T0501",
            format!("{name}: the file is not UTF-8 text"),
        ))
    })?;
    let file = ParamFile::read(&name, &text)?;
    let beside = weights_beside(path);
    if !beside.is_file() {
        return import(&name, &text, &file, None);
    }
    let bytes = whole::read(&beside, whole::MAX_DATA).map_err(|e| refused(&FormatError::io(&beside, e)))?;
    let archive = Archive::read(&bytes).map_err(|e| refused(&FormatError::at(&beside, "pnnx.bin", e)))?;
    let mut imported = import(&name, &text, &file, Some(&archive))?;
    if archive.belongs_elsewhere(text.as_bytes()) {
        let message = format!(
            "{}: these weights were written for a different text than {name}",
            beside.display()
        );
        let problem = Diagnostic::new(Severity::Warning, "T0514", message);
        let help = "unless the text was edited since, write the model again";
        imported.notes.push(problem.help(help));
    }
    Ok(imported)
}

/// Writes a graph as a model of two files, which are read back before either is put in place. Returns notes.
///
/// # Errors
/// The graph cannot be expressed in PNNX, differs when read back, or a file cannot be written.
pub fn write_model(path: &Path, graph: &Graph, params: &Params) -> Result<Diagnostics, Diagnostics> {
    let exported = export(graph, params)?;
    let beside = weights_beside(path);
    let text = exported.file.text();
    let bytes = write_archive_for(text.as_bytes(), &exported.weights);
    let bytes = bytes.map_err(|e| refused(&FormatError::at(&beside, "pnnx.bin", e)))?;
    let name = path.display().to_string();
    let again = ParamFile::read(&name, &text).and_then(|file| {
        let archive = Archive::read(&bytes).map_err(|e| refused(&FormatError::at(&beside, "pnnx.bin", e)))?;
        import(&name, &text, &file, Some(&archive))
    });
    readback::check(&name, graph, again.map(|imported| imported.workload.graph))?;
    let pending = |path: &Path, bytes: &[u8]| Pending::new(path, |out| out.write_all(bytes));
    let io = |path: &Path, e| refused(&FormatError::io(path, e));
    let weights = pending(&beside, &bytes).map_err(|e| io(&beside, e))?;
    let lines = pending(path, text.as_bytes()).map_err(|e| io(path, e))?;
    weights.commit().map_err(|e| io(&beside, e))?;
    lines.commit().map_err(|e| io(path, e))?;
    Ok(exported.notes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use tautomer_op::{Op, lookup};
    use tautomer_tensor::{DType, Tensor, TensorType, Type};

    fn example(factor: f32) -> (Graph, Params) {
        let mut graph = Graph::new();
        let x = graph.input("x", Type::tensor(DType::F32, [4]));
        let w = graph.param(
            if factor > 1.0 { "w" } else { "weights" },
            Type::tensor(DType::F32, [4]),
        );
        let y = graph.call(Op::Known(lookup("add").unwrap()), &[x, w], &[]).unwrap();
        graph.output(y, None);
        let name = graph.vertex(w).name.clone().unwrap();
        (graph, Params::from([(name, Tensor::vector(vec![factor; 4]))]))
    }

    #[test]
    fn files_of_two_models_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a.pnnx.param"), folder.path().join("b.pnnx.param"));
        for (path, factor) in [(&a, 1.0), (&b, 2.0)] {
            let (graph, params) = example(factor);
            write_model(path, &graph, &params).unwrap();
            let read = read_model(path).unwrap();
            assert!(read.notes.iter().all(|note| note.code != "T0514"));
            assert_eq!(read.workload.params.len(), 1);
        }
        // Simulates writing `a` over `b` and stopping once the weights are in place.
        fs::copy(weights_beside(&a), weights_beside(&b)).unwrap();
        let read = read_model(&b).unwrap();
        assert!(read.notes.iter().any(|note| note.code == "T0514"));
    }

    #[test]
    fn what_would_be_read_as_another_model_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.pnnx.param");
        let mut graph = Graph::new();
        // A line gives an element type only together with a shape, and this input has no shape.
        let x = graph.input("x", TensorType::any_rank(DType::Bool));
        let y = graph.call(Op::Known(lookup("not").unwrap()), &[x], &[]).unwrap();
        graph.output(y, None);
        let problems = write_model(&path, &graph, &Params::new()).unwrap_err();
        assert!(problems.iter().any(|p| p.code == "T0513"), "{problems:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
