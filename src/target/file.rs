//! Reading targets: those that come with the tool, and files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use super::Target;
use super::check::Checker;
use crate::diag::{Diagnostic, Diagnostics, Source, did_you_mean};
use crate::lang::ast::TargetFile;
use crate::lang::parse_targets;
use crate::model::source;
use crate::op::Scope;
use crate::rule::{shipped_target_file, target_files};

/// The names of the targets that come with the tool.
pub static TARGETS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let stem = |path: &'static str| path.rsplit('/').next().and_then(|file| file.strip_suffix(".target"));
    target_files().iter().filter_map(|(path, _)| stem(path)).collect()
});

/// The targets that come with the tool.
///
/// # Errors
/// Problems of the files; the tests of the library check that there are none.
pub fn shipped() -> Result<Vec<Target>, Diagnostics> {
    TARGETS.iter().map(|name| Target::named(name)).collect()
}

/// A parsed file.
#[derive(Clone)]
pub(super) struct File {
    pub(super) source: Arc<Source>,
    /// The directory that paths in it are relative to.
    pub(super) folder: PathBuf,
    pub(super) parsed: Arc<TargetFile>,
}

impl File {
    fn new(source: Arc<Source>, parsed: TargetFile, path: &Path) -> File {
        File {
            parsed: Arc::new(parsed),
            source,
            folder: path.parent().unwrap_or(Path::new("")).to_owned(),
        }
    }

    fn parse(source: Arc<Source>, path: &Path) -> Result<File, Diagnostics> {
        let parsed = parse_targets(source.clone())?;
        Ok(File::new(source, parsed, path))
    }

    /// The file of a target that comes with the tool.
    pub(super) fn shipped(name: &str) -> Option<Result<File, Diagnostics>> {
        let at = TARGETS.iter().position(|known| *known == name)?;
        let (path, text) = target_files()[at];
        let source = Arc::new(Source::new(path, text));
        let parsed = shipped_target_file(source.clone());
        Some(parsed.map(|parsed| File::new(source, parsed, Path::new(""))))
    }

    pub(super) fn read(path: &Path) -> Result<File, Diagnostics> {
        File::parse(source(path)?, path)
    }

    /// The index of the target that the file as a whole represents: the only one, or the one with the name of the file.
    pub(super) fn main(&self) -> Result<usize, Diagnostics> {
        let names: Vec<&str> = self.parsed.targets.iter().map(|target| target.name.as_str()).collect();
        let stem = Path::new(&self.source.name)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        let own = names.iter().position(|name| **name == *stem);
        match (names.len(), own) {
            (1, _) => Ok(0),
            (_, Some(own)) => Ok(own),
            (0, None) => {
                let problem = Diagnostic::error(
                    "T0402",
                    format!("{}: there is no target in this file", self.source.name),
                );
                Err(problem.help("a target begins with `target NAME {`").into())
            }
            (_, None) => {
                let what = format!(
                    "{}: it is not clear which of the targets {} is meant",
                    self.source.name,
                    names.join(", ")
                );
                let problem = Diagnostic::error("T0402", what);
                Err(problem.help(format!("call one of them `{stem}`, like the file")).into())
            }
        }
    }
}

pub(super) fn named(name: &str, scope: &Scope) -> Result<Target, Diagnostics> {
    match File::shipped(name) {
        Some(file) => checked(file?, scope),
        None => Err(unknown(name).into()),
    }
}

/// There is no target of that name.
pub(super) fn unknown(name: &str) -> Diagnostic {
    let problem = Diagnostic::error("T0331", format!("there is no target `{name}`"));
    match did_you_mean(name, TARGETS.iter().copied()) {
        Some(close) => problem.help(format!("did you mean `{close}`?")),
        None if Path::new(name).exists() => problem.help(format!("the file is `./{name}`")),
        None => problem.help(format!(
            "those that come with the tool are {}; a file has the suffix `.target`",
            TARGETS
                .iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        )),
    }
}

pub(super) fn open(path: &Path, scope: &Scope) -> Result<Target, Diagnostics> {
    checked(File::read(path)?, scope)
}

pub(super) fn of_source(source: Arc<Source>, path: &Path, scope: &Scope) -> Result<Target, Diagnostics> {
    checked(File::parse(source, path)?, scope)
}

fn checked(file: File, scope: &Scope) -> Result<Target, Diagnostics> {
    let main = file.main();
    // What is wrong in the file comes before the question which target is meant.
    let mut all = every(file, scope)?;
    Ok(all.swap_remove(main?))
}

/// All targets of a file, in order.
///
/// # Errors
/// The problems of all of them.
pub(crate) fn open_all(path: &Path, scope: &Scope) -> Result<Vec<Target>, Diagnostics> {
    every(File::read(path)?, scope)
}

fn every(file: File, scope: &Scope) -> Result<Vec<Target>, Diagnostics> {
    let mut checker = Checker::new(scope);
    let found: Vec<Option<Target>> = (0..file.parsed.targets.len())
        .map(|i| checker.target(&file, i))
        .collect();
    checker.named_twice(&file);
    let mut problems = checker.problems;
    problems.sort();
    if problems.has_errors() {
        return Err(problems);
    }
    Ok(found.into_iter().flatten().collect())
}
