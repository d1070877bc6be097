//! Model files: `name.pnnx.param` with `name.pnnx.bin` beside it.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Archive, Imported, ParamFile, export, import, write_archive};
use crate::diag::{Diagnostic, Diagnostics};
use crate::formats::{FormatError, atomic};
use crate::graph::{Graph, Params};

fn refused(error: &FormatError) -> Diagnostics {
    Diagnostic::error("T0501", error.to_string()).into()
}

/// Where the weights of a `.param` file are: the file of the same name that ends in `.bin`.
///
/// ```
/// use std::path::Path;
/// use tautomer::formats::pnnx::weights_beside;
/// assert_eq!(weights_beside(Path::new("a/m.pnnx.param")), Path::new("a/m.pnnx.bin"));
/// ```
pub fn weights_beside(path: &Path) -> PathBuf {
    path.with_extension("bin")
}

/// Reads a model; without a file of weights its parameters have no values.
///
/// # Errors
/// A file cannot be read, or the model is broken.
pub fn read_model(path: &Path) -> Result<Imported, Diagnostics> {
    let text = fs::read(path).map_err(|e| refused(&FormatError::io(path, e)))?;
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
    let bytes = fs::read(&beside).map_err(|e| refused(&FormatError::io(&beside, e)))?;
    let archive = Archive::read(&bytes).map_err(|e| refused(&FormatError::at(&beside, "pnnx.bin", e)))?;
    import(&name, &text, &file, Some(&archive))
}

/// Writes a graph as a model: two files, the weights first. Returns notes.
///
/// # Errors
/// The graph has no form in PNNX, or a file cannot be written.
pub fn write_model(path: &Path, graph: &Graph, params: &Params) -> Result<Diagnostics, Diagnostics> {
    let exported = export(graph, params)?;
    let beside = weights_beside(path);
    let bytes = write_archive(&exported.weights).map_err(|e| refused(&FormatError::at(&beside, "pnnx.bin", e)))?;
    atomic::write(&beside, &bytes).map_err(|e| refused(&FormatError::io(&beside, e)))?;
    atomic::write(path, exported.file.text().as_bytes()).map_err(|e| refused(&FormatError::io(path, e)))?;
    Ok(exported.notes)
}
