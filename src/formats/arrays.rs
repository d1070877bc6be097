//! Files of named tensors; the suffix of the file name determines the format.

use std::path::Path;

use indexmap::IndexMap;

use super::{FormatError, Problem, atomic, npy, onnx, safetensors, whole};
use crate::tensor::Tensor;

/// A kind of file that holds tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayFormat {
    /// One NumPy array.
    Npy,
    /// An archive of NumPy arrays.
    Npz,
    /// Safetensors.
    Safetensors,
    /// One tensor in ONNX's format, as in its test cases.
    Onnx,
}

impl ArrayFormat {
    /// The kind that the suffix of a file name indicates.
    pub fn of(path: &Path) -> Option<ArrayFormat> {
        Some(match path.extension()?.to_str()? {
            "npy" => ArrayFormat::Npy,
            "npz" => ArrayFormat::Npz,
            "safetensors" => ArrayFormat::Safetensors,
            "pb" => ArrayFormat::Onnx,
            _ => return None,
        })
    }

    /// The suffix, which is also its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            ArrayFormat::Npy => "npy",
            ArrayFormat::Npz => "npz",
            ArrayFormat::Safetensors => "safetensors",
            ArrayFormat::Onnx => "pb",
        }
    }
}

fn format_of(path: &Path) -> Result<ArrayFormat, FormatError> {
    ArrayFormat::of(path).ok_or_else(|| FormatError::Unsupported {
        file: path.display().to_string(),
        reason: "not a file of tensors: the suffixes are .npy, .npz, .safetensors and .pb".to_string(),
    })
}

/// Reads a file of tensors; if the file has one unnamed tensor, the tensor gets the name of the file.
///
/// # Errors
/// The suffix is unknown, or the file cannot be read or is damaged.
pub fn read(path: &Path) -> Result<IndexMap<String, Tensor>, FormatError> {
    let format = format_of(path)?;
    let bytes = whole::read(path, whole::MAX_DATA).map_err(|e| FormatError::io(path, e))?;
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let tensors = match format {
        ArrayFormat::Npy => npy::read_npy(&bytes).map(|t| IndexMap::from([(stem(), t)])),
        ArrayFormat::Npz => npy::read_npz(&bytes),
        ArrayFormat::Safetensors => safetensors::read(&bytes),
        ArrayFormat::Onnx => onnx::read_tensor_file(&bytes, path.parent()).map(|(name, tensor)| {
            let name = if name.is_empty() { stem() } else { name };
            IndexMap::from([(name, tensor)])
        }),
    };
    tensors.map_err(|problem| FormatError::at(path, format.name(), problem))
}

/// Writes a file of tensors atomically.
///
/// # Errors
/// The suffix is unknown, the format cannot hold the tensors, or the file cannot be written.
pub fn write(path: &Path, tensors: &IndexMap<String, Tensor>) -> Result<(), FormatError> {
    let format = format_of(path)?;
    let only = || match tensors.first() {
        Some(first) if tensors.len() == 1 => Ok(first),
        _ => Err(Problem::unsupported(format!(
            "a .{} file holds one tensor, not {}",
            format.name(),
            tensors.len()
        ))),
    };
    let bytes = match format {
        ArrayFormat::Npy => only().and_then(|(_, tensor)| npy::write_npy(tensor)),
        ArrayFormat::Npz => npy::write_npz(tensors),
        ArrayFormat::Safetensors => safetensors::write(tensors),
        ArrayFormat::Onnx => only().map(|(name, tensor)| onnx::write_tensor_file(name, tensor)),
    };
    let bytes = bytes.map_err(|problem| FormatError::at(path, format.name(), problem))?;
    atomic::write(path, &bytes).map_err(|e| FormatError::io(path, e))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_format_round_trips_through_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let tensor = Tensor::new(&[2, 2], vec![1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let tensors = IndexMap::from([("x".to_string(), tensor)]);
        for format in [
            ArrayFormat::Npy,
            ArrayFormat::Npz,
            ArrayFormat::Safetensors,
            ArrayFormat::Onnx,
        ] {
            let path = folder.path().join("x").with_extension(format.name());
            write(&path, &tensors).unwrap();
            assert_eq!(read(&path).unwrap(), tensors, "{format:?}");
        }
    }

    #[test]
    fn messages_name_file_and_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("broken.npy");
        fs::write(&path, b"\x93NUMPY\x01\x00").unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(
            message.contains("broken.npy") && message.contains("truncated"),
            "{message}"
        );
        assert!(matches!(
            read(&folder.path().join("none.npz")),
            Err(FormatError::Io { .. })
        ));
        assert!(matches!(read(Path::new("x.txt")), Err(FormatError::Unsupported { .. })));
        let none = IndexMap::new();
        assert!(write(&folder.path().join("x.npy"), &none).is_err());
    }
}
