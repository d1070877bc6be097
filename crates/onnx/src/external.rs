//! Tensor elements stored in files next to the model.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

use super::proto::TensorProto;
use super::tensor::TensorError;

/// Reads the bytes of a tensor, `needed` of them, from the file that the message names.
pub(super) fn read(proto: &TensorProto, folder: Option<&Path>, needed: usize) -> Result<Vec<u8>, TensorError> {
    let refused = |reason: String| TensorError::External(reason);
    let value = |key: &str| {
        let entry = proto.external_data.iter().find(|e| e.key.as_deref() == Some(key))?;
        entry.value.as_deref()
    };
    let number = |key: &str| match value(key) {
        None => Ok(None),
        Some(text) => match text.parse::<u64>() {
            Ok(n) => Ok(Some(n)),
            Err(_) => Err(refused(format!("{key} is {text:?}"))),
        },
    };
    let location = value("location").ok_or_else(|| refused("no location".to_string()))?;
    let folder = folder.ok_or_else(|| refused("the model has no directory to look in".to_string()))?;
    // An empty parent is the current directory.
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let inside = |c: Component| matches!(c, Component::Normal(_) | Component::CurDir);
    if location.is_empty() || !Path::new(location).components().all(inside) {
        return Err(refused(format!("{location:?} is outside the directory of the model")));
    }
    let failed = |e: std::io::Error| refused(format!("{location}: {e}"));
    let path = folder.join(location).canonicalize().map_err(failed)?;
    if !path.starts_with(folder.canonicalize().map_err(failed)?) {
        return Err(refused(format!(
            "{location:?} leads outside the directory of the model"
        )));
    }
    // Opening a pipe would block until there is a writer.
    let meta = path.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err(refused(format!("{location} is not a file")));
    }
    let size = meta.len();
    let offset = number("offset")?.unwrap_or(0);
    let length = number("length")?.unwrap_or(needed as u64);
    if length != needed as u64 {
        return Err(refused(format!("length is {length}, but the shape needs {needed}")));
    }
    if offset.checked_add(length).is_none_or(|end| end > size) {
        let reason = format!("{location} has {size} bytes, but the tensor needs {length} from {offset}");
        return Err(refused(reason));
    }
    let mut file = File::open(&path).map_err(failed)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let mut bytes = vec![0; needed];
    file.read_exact(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{DataLocation, DataType, StringStringEntryProto};
    use crate::to_tensor;
    use tautomer_tensor::Tensor;

    fn proto(entries: &[(&str, &str)]) -> TensorProto {
        let entry = |&(k, v): &(&str, &str)| StringStringEntryProto {
            key: Some(k.to_string()),
            value: Some(v.to_string()),
        };
        TensorProto {
            dims: vec![2],
            data_type: Some(DataType::Uint8 as i32),
            data_location: Some(DataLocation::External as i32),
            external_data: entries.iter().map(entry).collect(),
            ..TensorProto::default()
        }
    }

    #[test]
    fn reads_inside_the_folder_alone() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("model");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("w.bin"), [1u8, 2, 3, 4]).unwrap();
        std::fs::write(outer.path().join("secret"), [9u8, 9]).unwrap();
        let read = |entries: &[(&str, &str)]| to_tensor(&proto(entries), Some(&folder));
        let found = read(&[("location", "w.bin"), ("offset", "1"), ("length", "2")]);
        assert_eq!(found, Ok(Tensor::vector(vec![2u8, 3])));
        assert_eq!(read(&[("location", "./w.bin")]), Ok(Tensor::vector(vec![1u8, 2])));
        for location in ["../secret", "/etc/passwd", "", ".", "none.bin", "a/../../secret"] {
            assert!(read(&[("location", location)]).is_err(), "{location:?}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outer.path().join("secret"), folder.join("link")).unwrap();
            assert!(read(&[("location", "link")]).is_err());
        }
        for (key, value) in [
            ("offset", "3"),
            ("offset", "18446744073709551615"),
            ("offset", "-1"),
            ("length", "9"),
        ] {
            assert!(read(&[("location", "w.bin"), (key, value)]).is_err(), "{key} {value}");
        }
        assert!(to_tensor(&proto(&[("location", "w.bin")]), None).is_err());
    }
}
