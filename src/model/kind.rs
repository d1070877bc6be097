//! What kind of file a path names.

use std::path::Path;

use crate::diag::{Diagnostic, Diagnostics, did_you_mean};
use crate::lang::is_script;

use super::read::{is_standard, source};

/// The contents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Kind {
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
    const SUFFIXES: [(&'static str, Kind); 5] = [
        ("taut", Kind::Taut),
        ("rules", Kind::Rules),
        ("ops", Kind::Rules),
        ("onnx", Kind::Onnx),
        ("param", Kind::Pnnx),
    ];

    /// The kind that the suffix of the file indicates.
    pub(crate) fn of_suffix(path: &Path) -> Option<Kind> {
        let suffix = path.extension()?;
        let known = Kind::SUFFIXES.iter().find(|(known, _)| *known == suffix);
        known.map(|(_, kind)| *kind)
    }

    /// The kind of file to write a result to.
    pub(crate) fn of_result(path: &Path) -> Result<Kind, Diagnostics> {
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
    pub(crate) fn of(path: &Path, from: Option<Kind>) -> Result<Kind, Diagnostics> {
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

/// Files that people have next to their models: a description, and what to do with them.
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
