//! Atomic file writes: a reader sees either the old contents or the new ones, never a mixture.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// The prefix of temporary file names; the process ID follows.
const PREFIX: &str = ".tautomer-";

/// The maximum length of a chain of symbolic links.
const MAX_LINKS: usize = 40;

/// Writes `bytes` to `path`, replacing the previous contents atomically.
///
/// # Errors
/// What the system reports; the old contents are then still in place.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |out| out.write_all(bytes))
}

/// Writes the output of `contents` to `path`, replacing the previous contents atomically.
///
/// # Errors
/// What the system or `contents` reports; the old contents are then still in place.
pub fn write_with(path: &Path, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    Pending::new(path, contents)?.commit()
}

/// New contents of a file, complete but not yet in place. Files that belong together are all created first and then put
/// in place one after the other.
#[derive(Debug)]
pub struct Pending(Option<(NamedTempFile, PathBuf)>);

impl Pending {
    /// Creates new contents for `path`, as written by `contents`.
    ///
    /// They go to a temporary file in the same directory. Symbolic links are followed; devices and pipes are written
    /// directly. Temporary files left behind there by processes that no longer run are removed.
    ///
    /// # Errors
    /// What the system or `contents` reports.
    pub fn new(path: &Path, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Pending> {
        let path = resolved(path);
        let old = fs::metadata(&path).ok();
        if old.as_ref().is_some_and(|m| !m.is_file() && !m.is_dir()) {
            let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(&path)?);
            contents(&mut out)?;
            out.flush()?;
            return Ok(Pending(None));
        }
        let directory = directory_of(&path);
        remove_leftovers(&directory);
        let mut out = BufWriter::new(temporary_in(&directory)?);
        contents(&mut out)?;
        let temporary = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        if let Some(old) = old {
            temporary.as_file().set_permissions(old.permissions())?;
        }
        Ok(Pending(Some((temporary, path))))
    }

    /// Puts the contents in place atomically.
    ///
    /// # Errors
    /// What the system reports; the old contents are then still in place.
    pub fn commit(self) -> io::Result<()> {
        match self.0 {
            Some((temporary, path)) => temporary.persist(&path).map(drop).map_err(|e| e.error),
            None => Ok(()),
        }
    }
}

/// Checks whether a file can be written, before any work is done for it; changes nothing.
///
/// # Errors
/// The path is a directory, the file is read-only, or its directory does not exist or accepts no new files.
pub fn writable(path: &Path) -> io::Result<()> {
    let path = resolved(path);
    if let Ok(old) = fs::metadata(&path) {
        if old.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        if old.permissions().readonly() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the file is read-only; make it writable, or choose another name",
            ));
        }
        if !old.is_file() {
            return Ok(());
        }
    }
    temporary_in(&directory_of(&path)).map(drop)
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// The file that a path leads to, which need not exist.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(path) = fs::canonicalize(path) {
        return path;
    }
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(to) = fs::read_link(&path) else { break };
        path = directory_of(&path).join(to);
    }
    path
}

/// A temporary file with this process's ID in its name, locked while this process has it open.
fn temporary_in(directory: &Path) -> io::Result<NamedTempFile> {
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let mut builder = Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let temporary = builder.tempfile_in(directory)?;
    // On a file system without locks, only the process ID identifies the owner.
    let _ = temporary.as_file().try_lock();
    Ok(temporary)
}

/// Removes temporary files of processes that no longer run. Those that cannot be removed stay.
fn remove_leftovers(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if name.to_str().and_then(owner).is_some_and(|pid| !may_run(pid)) && is_unlocked(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The ID of the process that a temporary file belongs to, from its name.
fn owner(name: &str) -> Option<u32> {
    let (pid, rest) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let random = rest.len() == 6 && rest.chars().all(|c| c.is_ascii_alphanumeric());
    random.then(|| pid.parse().ok()).flatten()
}

/// False if there is no such process. The process may be in another container that shares the directory, so this alone
/// does not prove that a file was left behind.
fn may_run(pid: u32) -> bool {
    pid == std::process::id() || Path::new("/proc").join(pid.to_string()).exists()
}

/// True if no process holds a lock on the file.
fn is_unlocked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
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

    #[test]
    fn leftovers_of_dead_processes_are_removed() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        // Process IDs are always far below this one.
        let (dead, held, other) = (
            folder.path().join(".tautomer-4294967295-abcdef"),
            folder.path().join(".tautomer-4294967294-abcdef"),
            folder.path().join(".tautomer-notes"),
        );
        let own = folder.path().join(format!(".tautomer-{}-abcdef", std::process::id()));
        for path in [&dead, &held, &other, &own] {
            fs::write(path, b"part")?;
        }
        let lock = File::open(&held)?;
        lock.try_lock()?;
        write(&folder.path().join("a.bin"), b"one")?;
        assert!(!dead.exists());
        assert!(held.exists() && other.exists() && own.exists());
        Ok(())
    }

    #[test]
    fn what_cannot_be_written_is_found_before() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.bin");
        writable(&path)?;
        assert_eq!(fs::read_dir(folder.path())?.count(), 0);
        assert!(writable(folder.path()).is_err());
        assert!(writable(&folder.path().join("none").join("a.bin")).is_err());
        fs::write(&path, b"old")?;
        writable(&path)?;
        let mut permissions = fs::metadata(&path)?.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions)?;
        assert!(writable(&path).unwrap_err().to_string().contains("read-only"));
        Ok(())
    }

    #[test]
    fn files_of_a_pair_are_complete_before_the_first_is_in_place() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        write(&a, b"old")?;
        let first = Pending::new(&a, |out| out.write_all(b"new"))?;
        let second = Pending::new(&b, |_| Err(io::Error::other("no room")));
        assert!(second.is_err());
        drop(first);
        assert_eq!(fs::read(&a)?, b"old");
        assert_eq!(fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_nothing_stays_a_link() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::os::unix::fs::symlink("file", &link)?;
        write(&link, b"new")?;
        assert_eq!(fs::read(&file)?, b"new");
        assert!(fs::symlink_metadata(&link)?.is_symlink());
        Ok(())
    }
}
