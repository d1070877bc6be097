//! Reading rule files: directories, sets that come with the tool, files that use other files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics, Source};
use crate::lang::parse_rules;
use crate::op::Scope;
use crate::rule::{
    NamedText, RuleSet, composite_rules, library_files, library_scope, library_set_files, load_checked_rules_in,
    load_rules_in, load_shipped_rules, operator_files, recognition_rules,
};
use crate::verify::is_shipped;

use crate::model::{Kind, kept, source, unreadable};

/// The sources of rule files and of the files they use, each once, a used file before its user; for a directory, all
/// rule files in it. The name of a set that comes with the tool always means that set: a directory of that name has to
/// be written as `./gsl`. All unreadable files and all syntax errors are reported together.
pub(crate) fn sources(files: &[PathBuf]) -> Result<Vec<Arc<Source>>, Diagnostics> {
    enum Visit {
        Enter(PathBuf),
        Leave(Arc<Source>),
    }
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    let mut unreadable = Diagnostics::new();
    let mut malformed = Diagnostics::new();
    let mut stack: Vec<Visit> = files.iter().rev().cloned().map(Visit::Enter).collect();
    while let Some(visit) = stack.pop() {
        let path = match visit {
            Visit::Enter(path) => path,
            Visit::Leave(source) => {
                out.push(source);
                continue;
            }
        };
        if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            continue;
        }
        if let Some(set) = named_set(&path) {
            for (name, text) in set {
                // A set and one of its files may both be named.
                if !out.iter().any(|known: &Arc<Source>| known.is(name, text)) {
                    out.push(Arc::new(Source::of_program(name, text)));
                }
            }
            continue;
        }
        if path.is_dir() {
            if let Some(files) = kept(files_in(&path), &mut unreadable) {
                if files.is_empty() {
                    unreadable.push(
                        Diagnostic::error(
                            "T0402",
                            format!("{}: there are no rule files in this directory", path.display()),
                        )
                        .help(format!("rule files end in `.rules`; {}", known_sets())),
                    );
                }
                stack.extend(files.into_iter().rev().map(Visit::Enter));
            }
            continue;
        }
        if let Some(kind) = Kind::of_suffix(&path).filter(|kind| *kind != Kind::Rules) {
            let what = match kind {
                Kind::Taut => "a program",
                _ => "a model",
            };
            unreadable.push(
                Diagnostic::error("T0402", format!("{}: {what} is not a rule file", path.display())).help(format!(
                    "give rule files (`.rules`) or directories of them; {}",
                    known_sets()
                )),
            );
            continue;
        }
        let Some(text) = kept(source(&path), &mut unreadable) else {
            continue;
        };
        stack.push(Visit::Leave(text.clone()));
        match parse_rules(text) {
            Ok(file) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                let used = file
                    .uses
                    .iter()
                    .rev()
                    .map(|used| match named_set(Path::new(&used.path)) {
                        // The name of a set means the same in every directory.
                        Some(_) => PathBuf::from(&used.path),
                        None => folder.join(&*used.path),
                    });
                stack.extend(used.map(Visit::Enter));
            }
            // If loading happens, it reports this file.
            Err(found) => malformed.extend(found),
        }
    }
    if unreadable.is_empty() {
        return Ok(out);
    }
    unreadable.extend(malformed);
    Err(unreadable)
}

/// The name of the built-in rules among the sets.
const BUILT_IN: &str = "built-in";

/// The files of the set with that name.
fn named_set(path: &Path) -> Option<Vec<NamedText>> {
    if path == Path::new(BUILT_IN) {
        return Some(library_files().to_vec());
    }
    let mut sets = library_set_files().iter();
    if let Some((_, files)) = sets.find(|(name, _)| Path::new(name) == path) {
        return Some(files.clone());
    }
    // `built-in/algebra` is one of the files, `gsl/conv` one of a set.
    let written = path.to_str()?;
    let built_in = written.strip_prefix(BUILT_IN).and_then(|rest| rest.strip_prefix('/'));
    let name = built_in.unwrap_or(written);
    let sets = library_set_files().iter().flat_map(|(_, files)| files.iter());
    let mut files: Vec<NamedText> = match built_in {
        Some(_) => library_files().iter().chain(operator_files()).copied().collect(),
        None if name.contains('/') => sets.copied().collect(),
        None => return None,
    };
    let stem = |file: &str| {
        let file = file.split_once('/').map_or(file, |(_, rest)| rest);
        file.strip_suffix(".rules")
            .or(file.strip_suffix(".ops"))
            .map(str::to_owned)
    };
    files.retain(|(file, _)| stem(file).as_deref() == Some(name));
    (!files.is_empty()).then_some(files)
}

/// True for the name of a set, or of one of its files, that comes with the tool.
pub(crate) fn is_named_set(path: &Path) -> bool {
    named_set(path).is_some()
}

/// The names of the sets that come with the tool, and those of their files.
pub(crate) fn set_names() -> Vec<String> {
    let sets = library_set_files().iter();
    let stem = |file: &str| {
        file.rsplit('/')
            .next()
            .and_then(|name| Some(name.split_once('.')?.0.to_owned()))
    };
    let built_in = library_files().iter().chain(operator_files());
    let mut out = vec![BUILT_IN.to_owned()];
    out.extend(built_in.filter_map(|(file, _)| Some(format!("{BUILT_IN}/{}", stem(file)?))));
    for (set, files) in sets {
        out.push((*set).to_owned());
        out.extend(
            files
                .iter()
                .filter_map(|(file, _)| Some(format!("{set}/{}", stem(file)?))),
        );
    }
    out
}

/// The names of the sets, for messages.
fn known_sets() -> String {
    let names = library_set_files().iter().map(|(name, _)| *name).chain([BUILT_IN]);
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    format!("the sets that come with the tool are {}", names.join(", "))
}

/// The operators whose declarations come with the tool, such as `com.microsoft::Gelu`. They are loaded when one of them
/// is first mentioned.
///
/// ```
/// let scope = tautomer::built_in_operators();
/// assert!(scope.in_models("com.microsoft", "Gelu").is_some());
/// ```
pub fn built_in_operators() -> Scope {
    library_scope()
}

/// The rules of files, directories and sets that come with the tool (`built-in`, `gsl`, `taso`, and single files of
/// these: `built-in/algebra`), to be used together, with warnings. The built-in rules are among them if `built-in` is
/// named: [`read_rules_with_built_in`] adds them, as `--rules` of the command line does.
///
/// # Errors
/// A file cannot be read, or a rule is invalid; all problems together.
///
/// ```
/// let (rules, warnings) = tautomer::read_rules(&["gsl".into()])?;
/// assert!(rules.rules.len() > 10 && warnings.is_empty());
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
pub fn read_rules(files: &[PathBuf]) -> Result<(RuleSet, Diagnostics), Diagnostics> {
    read(files, true, Examples::Loaded, &built_in_operators())
}

/// Like [`read_rules`], but adds the built-in rules.
///
/// # Errors
/// Same as for [`read_rules`].
///
/// ```
/// let (both, _) = tautomer::read_rules_with_built_in(&["gsl".into()])?;
/// let (alone, _) = tautomer::read_rules(&["gsl".into()])?;
/// let has = |set: &tautomer::rule::RuleSet, name| set.rules.iter().any(|rule| &*rule.name == name);
/// assert!(has(&both, "mul-by-one") && !has(&alone, "mul-by-one"));
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
pub fn read_rules_with_built_in(files: &[PathBuf]) -> Result<(RuleSet, Diagnostics), Diagnostics> {
    read(files, false, Examples::Loaded, &built_in_operators())
}

/// The rules in the text of a rule file, with warnings; messages call the text `name`. It may mention the operators
/// that come with the tool; files that it uses are not read.
///
/// # Errors
/// The text is not a rule file, or a rule is invalid; all problems together.
///
/// ```
/// let text = "rule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }";
/// let (set, _) = tautomer::rules_of_text("<text>", text)?;
/// assert_eq!(set.rules.len(), 1);
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
pub fn rules_of_text(name: &str, text: &str) -> Result<(RuleSet, Diagnostics), Diagnostics> {
    let file = parse_rules(Arc::new(Source::new(name, text)))?;
    let mut set = load_rules_in(file, &built_in_operators())?;
    set.rules.extend(recognition_rules(&set.operators));
    let warnings = std::mem::take(&mut set.warnings);
    Ok((set, warnings))
}

/// What to do with the examples of rules that come with the tool, which are most of their text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Examples {
    Loaded,
    Skipped,
}

/// The rules of files, directories and named sets, to be used together, and with the built-in rules unless `alone`. They
/// may mention the operators of `scope`.
pub(crate) fn read(
    files: &[PathBuf],
    alone: bool,
    examples: Examples,
    scope: &Scope,
) -> Result<(RuleSet, Diagnostics), Diagnostics> {
    let mut all = RuleSet::default();
    let mut places: BTreeMap<Arc<str>, Arc<Source>> = BTreeMap::new();
    let mut twice: Vec<String> = Vec::new();
    let mut own_rules = files.iter().any(|path| named_set(path).is_some());
    let whole = PathBuf::from(BUILT_IN);
    let mut named = files.to_vec();
    if !alone && !named.contains(&whole) {
        named.insert(0, whole.clone());
    }
    for set in load_each(sources(&named)?, examples, scope)? {
        let shipped = set.rules.first().is_some_and(|rule| is_shipped(&rule.ast.source));
        own_rules |= !set.rules.is_empty() && !shipped;
        for rule in &set.rules {
            let own = &rule.ast.source;
            match places.get(&rule.name) {
                // Sets that come with the tool share rules on purpose.
                Some(first) if shipped && is_shipped(first) => {}
                Some(first) => twice.push(format!("`{}` in {} and {}", rule.name, first.name, own.name)),
                None => {
                    places.insert(rule.name.clone(), own.clone());
                }
            }
        }
        // What a body computes becomes a call of the operator, without a rule that says so.
        let recognized = match set.operators.is_empty() {
            true => Vec::new(),
            false => recognition_rules(&set.operators),
        };
        own_rules |= !set.operators.is_empty();
        all.extend(set);
        all.rules.extend(recognized);
    }
    if named.contains(&whole) {
        all.rules
            .extend(composite_rules().map_err(Clone::clone)?.iter().cloned());
    }
    if !own_rules {
        let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        return Err(
            Diagnostic::error("T0402", format!("there are no rules in {}", names.join(", ")))
                .help(known_sets())
                .into(),
        );
    }
    let mut warnings = Diagnostics::new();
    if !twice.is_empty() {
        let warning = Diagnostic::warning("T0306", "two files have rules of the same name");
        let warning = twice.into_iter().fold(warning, Diagnostic::note);
        warnings.push(
            warning.help("all of them are used; rules are reported, selected and skipped by name, so rename one"),
        );
    }
    Ok((all, warnings))
}

/// The rules of the sources as one set, or the problems of all of them; they may mention the operators of `scope`.
pub(crate) fn load(sources: Vec<Arc<Source>>, scope: &Scope) -> Result<RuleSet, Diagnostics> {
    let mut all = RuleSet::default();
    load_each(sources, Examples::Loaded, scope)?
        .into_iter()
        .for_each(|set| all.extend(set));
    Ok(all)
}

/// The rules of each source, or the problems of all of them. A source may mention the operators of `scope` and those of
/// the sources before it.
pub(crate) fn load_each(
    sources: Vec<Arc<Source>>,
    examples: Examples,
    scope: &Scope,
) -> Result<Vec<RuleSet>, Diagnostics> {
    let mut scope = scope.clone();
    let mut sets = Vec::new();
    let mut problems = Diagnostics::new();
    for source in sources {
        // Sets that come with the tool have already been checked.
        let shipped = is_shipped(&source);
        let load = if shipped { load_checked_rules_in } else { load_rules_in };
        let loaded = match examples {
            Examples::Skipped if shipped => load_shipped_rules(source, &scope),
            _ => parse_rules(source).and_then(|file| load(file, &scope)),
        };
        match loaded {
            Ok(set) => {
                scope.extend(&set.operators);
                sets.push(set);
            }
            Err(found) => problems.extend(found),
        }
    }
    if problems.has_errors() { Err(problems) } else { Ok(sets) }
}

/// The rule files of a directory and its subdirectories, by name.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Diagnostics> {
    let mut out = Vec::new();
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| unreadable(folder, &e))? {
        entries.push(entry.map_err(|e| unreadable(folder, &e))?.path());
    }
    // Files of a directory come before those of its subdirectories.
    entries.sort_by_key(|path| (path.is_dir(), path.clone()));
    for path in entries {
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let is_link = path.symlink_metadata().is_ok_and(|m| m.is_symlink());
        if path.is_dir() && !hidden && !is_link
            || path
                .extension()
                .is_some_and(|suffix| suffix == "rules" || suffix == "ops")
        {
            out.push(path);
        }
    }
    Ok(out)
}
