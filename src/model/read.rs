//! Reading files, with messages that say what is likely wrong.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use crate::diag::{Diagnostic, Diagnostics, Source, did_you_mean};
use crate::formats::onnx::OnnxInfo;
use crate::formats::{FormatError, arrays, whole};
use crate::tensor::Tensor;

/// An error without a source location.
pub(crate) fn failed(code: &'static str, message: impl Into<String>) -> Diagnostics {
    Diagnostic::error(code, message).into()
}

/// True for `-`: standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of a file in messages.
pub(crate) fn shown(path: &Path) -> String {
    if is_standard(path) {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    }
}

pub(crate) fn unreadable(path: &Path, e: &std::io::Error) -> Diagnostics {
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
pub(crate) fn plain(e: &std::io::Error) -> String {
    let text = e.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}

/// The bytes of a file, or of standard input.
pub(crate) fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, Diagnostics> {
    if !is_standard(path) {
        return whole::read(path, most).map_err(|e| unreadable(path, &e));
    }
    whole::read_within(std::io::stdin().lock(), most).map_err(|e| unreadable(path, &e))
}

/// The text of a file, or of standard input, which is read once for all callers.
pub(crate) fn source(path: &Path) -> Result<Arc<Source>, Diagnostics> {
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

fn decoded(path: &Path) -> Result<Arc<Source>, Diagnostics> {
    match String::from_utf8(bytes(path, whole::MAX_TEXT)?) {
        Ok(text) => Ok(Arc::new(Source::new(shown(path), text))),
        Err(e) => {
            let at = e.utf8_error().valid_up_to();
            let line = e.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1;
            Err(failed(
                "T0401",
                format!("{}: line {line} is not UTF-8 text", shown(path)),
            ))
        }
    }
}

/// Explains what is likely wrong with a model that cannot be read, and reports missing external data once.
pub(super) fn explained(path: &Path, problems: Diagnostics) -> Diagnostics {
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
pub(super) fn newer_format(path: &Path, info: &OnnxInfo) -> Diagnostics {
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
pub(crate) fn kept<T>(result: Result<T, Diagnostics>, problems: &mut Diagnostics) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(found) => {
            problems.extend(found);
            None
        }
    }
}

/// Reads a file of arrays.
pub(crate) fn read_arrays(path: &Path) -> Result<IndexMap<String, Tensor>, Diagnostics> {
    arrays::read(path).map_err(|e| match &e {
        FormatError::Io { source, .. } => unreadable(path, source),
        _ => failed("T0501", e.to_string()),
    })
}
