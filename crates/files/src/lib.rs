//! File formats: reading and writing the files of other programs, and drawings.

pub mod atomic;
pub mod bytes;
mod dot;
mod drawing;
pub mod npy;
pub mod readback;
pub mod safetensors;
mod svg;
pub mod whole;
mod xml;

use std::io;
use std::path::Path;

pub use dot::{DOT_LIMIT, to_dot};
pub use drawing::{Drawing, DrawnBox, Edge, Part, Shape};
pub use xml::escaped;

/// The reason why a file was rejected.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The file could not be read or written.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// The file is damaged, truncated, or of another format.
    #[error("{file}: not a valid {format} file: {reason}")]
    Malformed {
        /// The file.
        file: String,
        /// The format it was read as.
        format: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The contents are valid but cannot be represented.
    #[error("{file}: {reason}")]
    Unsupported {
        /// The file.
        file: String,
        /// What cannot be represented.
        reason: String,
    },
}

impl FormatError {
    /// The system refused to read or write the file at `path`.
    pub fn io(path: &Path, source: io::Error) -> FormatError {
        FormatError::Io {
            file: path.display().to_string(),
            source,
        }
    }

    /// A `problem` with the file at `path`, which was read or written as `format`.
    pub fn at(path: &Path, format: &'static str, problem: Problem) -> FormatError {
        let file = path.display().to_string();
        match problem {
            Problem::Malformed(reason) => FormatError::Malformed { file, format, reason },
            Problem::Unsupported(reason) => FormatError::Unsupported { file, reason },
        }
    }
}

/// What is wrong with the bytes of a file, without the file name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Damaged, truncated, or of another format.
    #[error("{0}")]
    Malformed(String),
    /// Valid but impossible to represent.
    #[error("{0}")]
    Unsupported(String),
}

impl Problem {
    /// The bytes are damaged, truncated, or of another format.
    pub fn malformed(reason: impl Into<String>) -> Problem {
        Problem::Malformed(reason.into())
    }

    /// The contents are valid but cannot be represented.
    pub fn unsupported(reason: impl Into<String>) -> Problem {
        Problem::Unsupported(reason.into())
    }
}
