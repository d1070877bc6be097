//! The declared operators that files may mention.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tautomer::built_in_operators;
use tautomer::diag::Source;
use tautomer::op::Scope;
use tautomer::rule::RuleSet;
use tautomer::rule_files;

use super::Failure;

static GIVEN: RwLock<Option<Scope>> = RwLock::new(None);

/// Reads the files of `--ops`, for all of the program.
pub(super) fn read(files: &[PathBuf]) -> Result<(), Failure> {
    // A program that has the command line as a module may run it more than once.
    *GIVEN.write().unwrap_or_else(PoisonError::into_inner) = None;
    if files.is_empty() {
        return Ok(());
    }
    add(&load(rule_files::sources(files)?)?.operators)
}

/// Adds operators that all files read from here on may mention.
pub(super) fn add(declared: &Scope) -> Result<(), Failure> {
    let mut all = scope()?;
    all.extend(declared);
    *GIVEN.write().unwrap_or_else(PoisonError::into_inner) = Some(all);
    Ok(())
}

/// The operators of `--ops`, and those that come with the tool.
pub(super) fn scope() -> Result<Scope, Failure> {
    match &*GIVEN.read().unwrap_or_else(PoisonError::into_inner) {
        Some(scope) => Ok(scope.clone()),
        None => Ok(built_in_operators()),
    }
}

/// The rules of the sources as one set, which may mention all these operators.
pub(super) fn load(sources: Vec<Arc<Source>>) -> Result<RuleSet, Failure> {
    Ok(rule_files::load(sources, &scope()?)?)
}

/// The rules of each source.
pub(super) fn load_each(sources: Vec<Arc<Source>>) -> Result<Vec<RuleSet>, Failure> {
    Ok(rule_files::load_each(sources, rule_files::Examples::Loaded, &scope()?)?)
}
