//! Reading whole files within limits: anything that is not a regular file or is implausibly large is not read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The maximum size in bytes of a text: a program, rules, a script, the text of a PNNX model.
pub const MAX_TEXT: u64 = 256 << 20;

/// The maximum size in bytes of a file of weights or arrays.
pub const MAX_DATA: u64 = 1 << 38;

/// A compressed archive may always unpack to this many bytes, however small it is.
const MIN_UNPACKED: u64 = 256 << 20;

/// A compressed archive may unpack to this many times its own size.
const MAX_RATIO: u64 = 100;

/// The bytes of a file.
///
/// # Errors
/// The file cannot be read, is a directory, a device or a pipe, or has more than `most` bytes
/// ([`io::ErrorKind::FileTooLarge`]).
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let meta = fs::metadata(path)?;
    if meta.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "this is a directory, not a file",
        ));
    }
    // A device may be endless, and opening a pipe blocks until there is a writer. Files that are already open, such as
    // standard input, may be either.
    if !meta.is_file() && !is_open_already(path) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is a device or a pipe, but only regular files are read",
        ));
    }
    if meta.is_file() && meta.len() > most {
        return Err(too_large(most));
    }
    read_within(File::open(path)?, most)
}

/// Everything that a reader returns.
///
/// # Errors
/// It fails, or returns more than `most` bytes ([`io::ErrorKind::FileTooLarge`]).
pub fn read_within(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

/// The maximum total size of the members of a compressed archive of this size.
pub(super) fn unpacked_limit(packed: usize) -> u64 {
    MIN_UNPACKED.max((packed as u64).saturating_mul(MAX_RATIO))
}

fn too_large(most: u64) -> io::Error {
    let size = match most >> 20 {
        0 => format!("{most} bytes"),
        mebibytes => format!("{mebibytes} MiB"),
    };
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("the file is larger than {size}, the limit for files of this kind"),
    )
}

/// True for standard input and for files that the parent process opened for this one.
fn is_open_already(path: &Path) -> bool {
    path == Path::new("/dev/stdin") || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_within_the_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"four").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"four");
        let kind = |path: &Path, most| read(path, most).unwrap_err().kind();
        assert_eq!(kind(&path, 3), io::ErrorKind::FileTooLarge);
        assert_eq!(kind(folder.path(), 9), io::ErrorKind::IsADirectory);
        assert_eq!(kind(&folder.path().join("none"), 9), io::ErrorKind::NotFound);
        assert_eq!(
            read_within(io::repeat(0), 9).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_not_read_even_behind_links() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("x.taut");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [link.as_path(), Path::new("/dev/zero")] {
            assert_eq!(read(path, 9).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
