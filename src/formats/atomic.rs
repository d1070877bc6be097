//! Writing files so that a reader sees the old contents or the new ones, never a part.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::Builder;

/// Writes `bytes` to `path`, replacing what was there in one step.
///
/// # Errors
/// What the system reports; the old contents are then still in place.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |out| out.write_all(bytes))
}

/// Writes to `path` what `contents` writes, replacing what was there in one step.
///
/// The new contents go to a temporary file in the same folder first. A symbolic link is followed; devices and pipes
/// are written to directly.
///
/// # Errors
/// What the system or `contents` reports; the old contents are then still in place.
pub fn write_with(path: &Path, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let old = fs::metadata(&path).ok();
    if old.as_ref().is_some_and(|m| !m.is_file() && !m.is_dir()) {
        let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(&path)?);
        contents(&mut out)?;
        return out.flush();
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let mut builder = Builder::new();
    builder.prefix(".tautomer-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let temporary = builder.tempfile_in(folder)?;
    let mut out = BufWriter::new(temporary);
    contents(&mut out)?;
    let temporary = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    if let Some(old) = old {
        temporary.as_file().set_permissions(old.permissions())?;
    }
    temporary.persist(&path).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_keeps_the_old_on_failure() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.bin");
        write(&path, b"one")?;
        write(&path, b"two")?;
        assert_eq!(fs::read(&path)?, b"two");
        let failed = write_with(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("stopped"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path)?, b"two");
        assert_eq!(fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn follows_symbolic_links() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&file, b"old")?;
        std::os::unix::fs::symlink(&file, &link)?;
        write(&link, b"new")?;
        assert_eq!(fs::read(&file)?, b"new");
        assert!(fs::symlink_metadata(&link)?.is_symlink());
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn writes_to_devices() -> io::Result<()> {
        write(Path::new("/dev/null"), b"gone")
    }
}
