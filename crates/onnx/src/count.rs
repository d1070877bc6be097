//! Counts the nodes of a model file without reading its weights.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

/// Field numbers: the graph in a model, and a node in a graph.
const GRAPH: u64 = 7;
const NODE: u64 = 1;

/// The number of nodes in the main graph of a model file, as viewers show it, without those of functions and nested
/// graphs. `None` if the file is not a model.
///
/// ```
/// assert_eq!(tautomer_onnx::count_nodes("missing.onnx".as_ref()), None);
/// ```
pub fn count_nodes(path: &Path) -> Option<usize> {
    let length = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.len();
    let mut fields = Fields {
        file: BufReader::new(File::open(path).ok()?),
        left: length,
    };
    let mut nodes = None;
    while fields.left > 0 {
        let (number, size) = fields.next()?;
        if number != GRAPH {
            fields.skip(size)?;
            continue;
        }
        let behind = fields.left.checked_sub(size)?;
        let mut count = nodes.unwrap_or(0);
        while fields.left > behind {
            let (number, size) = fields.next()?;
            count += usize::from(number == NODE);
            fields.skip(size)?;
        }
        nodes = Some(count);
    }
    nodes
}

/// Iterates over the fields of a message.
struct Fields {
    file: BufReader<File>,
    /// The number of unread bytes.
    left: u64,
}

impl Fields {
    /// The number of the next field, and the number of its bytes still to be skipped.
    fn next(&mut self) -> Option<(u64, u64)> {
        let key = self.varint()?;
        let size = match key & 7 {
            0 => {
                self.varint()?;
                0
            }
            1 => 8,
            2 => self.varint()?,
            5 => 4,
            _ => return None,
        };
        Some((key >> 3, size))
    }

    fn skip(&mut self, size: u64) -> Option<()> {
        self.left = self.left.checked_sub(size)?;
        self.file.seek_relative(i64::try_from(size).ok()?).ok()
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let mut byte = [0u8];
            self.left = self.left.checked_sub(1)?;
            self.file.read_exact(&mut byte).ok()?;
            value |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::count_nodes;
    use crate::{OnnxInfo, write_model};
    use tautomer_graph::{BuildOptions, Params, build_program};
    use tautomer_lang::parse_program;

    #[test]
    fn nodes_are_counted_and_other_files_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.onnx");
        let text = "fn main(x: f32[300]) { relu(exp(x) + x) }";
        let source = std::sync::Arc::new(tautomer_diag::Source::new("a", text));
        let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
        write_model(&path, &graph, &Params::default(), &OnnxInfo::default()).unwrap();
        assert_eq!(count_nodes(&path), Some(3));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert_eq!(count_nodes(&path), None);
        std::fs::write(&path, "fn main(x: f32) { x }").unwrap();
        assert_eq!(count_nodes(&path), None);
    }
}
