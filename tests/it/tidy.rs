//! Project rules that no compiler checks. ARCHITECTURE.md explains them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tautomer::rule::{library_files, library_set_files};

/// The crates of the workspace that each crate under `crates/` may use, in order: a crate uses only those above it.
///
/// `op` uses `diag` to suggest names, and its build script uses `lang` to make rows of declarations; `graph` builds from syntax trees, so it comes after `lang`; a rule has examples,
/// which are graphs; `rewrite` reads the expressions of rules. `exec` and the formats of models know graphs but not
/// rules. `src/` combines the stages.
const CRATES: &[(&str, &[&str])] = &[
    ("tensor", &[]),
    ("diag", &[]),
    ("lang", &["tensor", "diag"]),
    ("number", &["tensor"]),
    ("op", &["tensor", "diag", "lang", "number"]),
    ("graph", &["tensor", "diag", "lang", "op"]),
    ("rule", &["tensor", "diag", "lang", "op", "graph"]),
    ("rewrite", &["tensor", "diag", "lang", "op", "graph", "rule"]),
    ("verify", &["tensor", "diag", "lang", "op", "graph", "rule", "rewrite"]),
    ("loops", &[]),
    ("exec", &["tensor", "diag", "op", "graph", "loops"]),
    ("files", &["tensor", "diag", "op", "graph"]),
    ("onnx", &["tensor", "diag", "lang", "op", "graph", "files"]),
    ("pnnx", &["tensor", "diag", "lang", "op", "graph", "files"]),
    ("taso", &["diag", "lang", "rule"]),
    (
        "columns",
        &["tensor", "diag", "lang", "op", "graph", "rule", "rewrite", "loops"],
    ),
    ("datafusion", &["diag", "columns"]),
    ("testing", &[]),
    ("check", &[]),
];

/// The layers of `crates/verify/src`, in order, and the layers that each may use: only those above it in this list.
const LAYERS: &[(&str, &[&str])] = &[
    ("instance", &[]),
    ("compare", &["instance"]),
    ("proof", &["instance"]),
    ("verdict", &["instance", "compare", "proof"]),
    ("rule", &["instance", "compare", "proof", "verdict"]),
    ("repair", &["instance", "verdict", "rule"]),
    ("graphs", &["instance", "compare", "proof"]),
    (
        "suggest",
        &["instance", "compare", "verdict", "rule", "repair", "graphs"],
    ),
    ("audit", &["instance", "compare"]),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The files under `folder` with their texts, by path from the root.
fn files(folder: &str, suffix: &str) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let hidden = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if path.is_dir() && !hidden {
                folders.push(path);
            } else if let (Ok(text), Ok(name)) = (std::fs::read_to_string(&path), path.strip_prefix(root())) {
                let name = name.to_string_lossy().replace('\\', "/");
                if name.ends_with(suffix) {
                    out.insert(name, text);
                }
            }
        }
    }
    out
}

/// The code of the library and the program, without comments and tests.
fn sources() -> BTreeMap<String, String> {
    let mut out = files("src", ".rs");
    out.append(&mut files("crates", ".rs"));
    let test = |name: &str| {
        name.ends_with("tests.rs")
            || name.ends_with("/testing.rs")
            || name.starts_with("crates/testing/")
            || name.contains("/tests/")
            || name.contains("/benches/")
            || name.starts_with("crates/datafusion/ballista/") // an example, with a workspace of its own
    };
    out.retain(|name, _| !test(name));
    for text in out.values_mut() {
        let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
        let code = text[..end].lines().filter(|line| !line.trim_start().starts_with("//"));
        *text = code.collect::<Vec<_>>().join("\n");
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The positions where `word` occurs as a separate word.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(|c| is_word(c) && !word.ends_with('!'))
    })
}

fn word_at(text: &str) -> &str {
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

/// Panics with all problems at once, if there are any.
fn none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// Cargo keeps imports free of cycles; this keeps the dependencies in the manifests those of the table.
#[test]
fn imports_run_one_way() {
    let order: Vec<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    let mut problems = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(i) = order.iter().position(|known| *known == name) else {
            problems.push(format!("the crate `{name}` is not in the table"));
            continue;
        };
        let manifest = read(format!("crates/{name}/Cargo.toml"));
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        let used: BTreeSet<&str> = dependencies
            .lines()
            .filter_map(|line| line.strip_prefix("tautomer-")?.split(['.', ' ']).next())
            .collect();
        let allowed: BTreeSet<&str> = CRATES[i].1.iter().copied().collect();
        for used in used.difference(&allowed) {
            problems.push(format!("`{name}` may not use `{used}`"));
        }
        for unused in allowed.difference(&used) {
            problems.push(format!("`{name}` does not use `{unused}`"));
        }
        for used in &allowed {
            if !order[..i].contains(used) {
                problems.push(format!("`{name}` may use `{used}`, which is listed below it"));
            }
        }
    }
    none(&problems);
}

/// A layer of the verifier imports layers below it alone, by their names: `crate::compare::data`.
#[test]
fn layers_of_the_verifier_are_in_order() {
    let order: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    let mut problems = Vec::new();
    let mut used: BTreeSet<(String, String)> = BTreeSet::new();
    let mut layers = BTreeSet::new();
    for (file, text) in sources() {
        let Some(path) = file.strip_prefix("crates/verify/src/") else {
            continue;
        };
        let Some((layer, inner)) = path.split_once('/') else {
            if path != "lib.rs" {
                problems.push(format!("{file} is in no layer"));
            }
            continue;
        };
        layers.insert(layer.to_owned());
        if !order.contains(&layer) {
            problems.push(format!("{file}: the layer `{layer}` is not in the table"));
            continue;
        }
        for (at, _) in text.match_indices("crate::") {
            let name = word_at(&text[at + "crate::".len()..]);
            if !order.contains(&name) {
                problems.push(format!("{file} imports `crate::{name}`, which names no layer"));
            } else if name != layer {
                used.insert((layer.to_owned(), name.to_owned()));
            }
        }
        // In `layer/mod.rs` and `layer/a/mod.rs`, `super` is one module higher than in the files beside them.
        let depth = inner.matches('/').count() + usize::from(!inner.ends_with("mod.rs"));
        if text.contains(&"super::".repeat(depth + 1)) {
            problems.push(format!("{file} leaves its layer by `super`"));
        }
    }
    for (i, (layer, allowed)) in LAYERS.iter().enumerate() {
        if !layers.contains(*layer) {
            problems.push(format!("there is no layer `{layer}`"));
        }
        for below in *allowed {
            if !order[..i].contains(below) {
                problems.push(format!("`{layer}` may use `{below}`, which is listed below it"));
            }
            if !used.remove(&((*layer).to_owned(), (*below).to_owned())) {
                problems.push(format!("`{layer}` does not use `{below}`"));
            }
        }
    }
    problems.extend(
        used.iter()
            .map(|(layer, other)| format!("`{layer}` may not use `{other}`")),
    );
    none(&problems);
}

#[test]
fn unsafe_code_is_in_kernels_alone() {
    let mut problems = Vec::new();
    let mut all = sources();
    all.append(&mut files("python/src", ".rs"));
    for (file, text) in all {
        let unsafe_code = words(&text, "unsafe")
            .chain(words(&text, "unsafe_code"))
            .next()
            .is_some();
        // Arrays of Python become tensors without a copy.
        let kernels = file.starts_with("crates/exec/src/kernels/") || file == "crates/loops/src/native/machine.rs";
        let allowed = kernels || file == "python/src/lent.rs";
        if unsafe_code && !allowed {
            problems.push(format!("{file} has unsafe code"));
        }
    }
    none(&problems);
}

#[test]
fn the_library_never_prints() {
    let mut problems = Vec::new();
    for (file, text) in sources() {
        // Build scripts print what Cargo has to know.
        if file.ends_with("/build.rs") && !file.contains("/src/") {
            continue;
        }
        let prints = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];
        let cli = file.starts_with("src/cli/") || matches!(file.as_str(), "src/main.rs" | "crates/check/src/main.rs");
        if !cli && prints.iter().any(|name| words(&text, name).next().is_some()) {
            // A build script tells Cargo what it read.
            if !file.ends_with("/build.rs") || file.contains("/src/") {
                problems.push(format!("{file} prints"));
            }
        }
        if !cli && (text.contains("stdout()") || text.contains("stderr()")) {
            problems.push(format!("{file} writes to a standard stream"));
        }
    }
    none(&problems);
}

#[test]
fn clocks_decide_no_result() {
    let mut problems = Vec::new();
    for (file, text) in sources() {
        let reads = ["Instant", "SystemTime"]
            .iter()
            .any(|name| words(&text, name).next().is_some());
        // The pipeline reports times; runs give the same results on any number of threads.
        let allowed = ["src/pipeline.rs", "src/pipeline/round.rs", "crates/exec/src/divided.rs"];
        if reads && !file.starts_with("src/cli/") && !allowed.contains(&file.as_str()) {
            problems.push(format!("{file} reads a clock"));
        }
    }
    none(&problems);
}

/// A test that draws different cases in each run fails by chance, for somebody else.
#[test]
fn every_random_test_has_a_fixed_seed() {
    let fresh = [
        "TestRunner::default",
        "TestRunner::new",
        "thread_rng",
        "from_entropy",
        "RandomState",
    ];
    let mut blocks = 0;
    let mut problems = Vec::new();
    let folders = ["src", "crates", "tests"];
    for (file, text) in folders.into_iter().flat_map(|folder| files(folder, ".rs")) {
        if file.ends_with("tidy.rs") {
            continue;
        }
        for (at, block) in text.match_indices("proptest! {") {
            blocks += 1;
            let first = text[at + block.len()..].trim_start();
            if !first.starts_with("#![proptest_config(tautomer_testing::random_cases(") {
                let line = text[..at].lines().count() + 1;
                problems.push(format!(
                    "{file}:{line}: start the block with `tautomer_testing::random_cases`"
                ));
            }
        }
        for name in fresh.iter().filter(|name| text.contains(**name)) {
            problems.push(format!("{file}: `{name}` gives other cases in each run"));
        }
    }
    assert!(blocks > 15, "{blocks} blocks of random tests");
    none(&problems);
}

#[test]
fn every_code_of_the_table_is_used() {
    let sources = sources();
    let mut problems = Vec::new();
    for info in tautomer::diag::codes() {
        let quoted = format!("\"{}\"", info.code);
        if !sources
            .iter()
            .any(|(file, text)| file != "crates/diag/src/code.rs" && text.contains(&quoted))
        {
            problems.push(format!("{} is never reported", info.code));
        }
    }
    none(&problems);
}

#[test]
fn every_code_in_use_is_explained() {
    let is_code =
        |part: &&str| part.len() == 5 && part.starts_with("T0") && part[1..].bytes().all(|b| b.is_ascii_digit());
    let sources = sources();
    let used: BTreeSet<&str> = sources
        .values()
        .flat_map(|text| text.split('"').filter(is_code))
        .collect();
    let unknown: Vec<_> = used
        .iter()
        .filter(|code| tautomer::diag::explain(code).is_none())
        .collect();
    assert!(used.len() > 30 && unknown.is_empty(), "no text for {unknown:?}");
}

#[test]
fn every_rule_file_is_built_in() {
    let sets = library_set_files().iter().flat_map(|(_, files)| files.iter());
    let built_in: BTreeMap<&str, &str> = library_files().iter().chain(sets).copied().collect();
    let files = files("rules", ".rules");
    for (name, text) in &files {
        assert_eq!(
            built_in.get(name.as_str()),
            Some(&text.as_str()),
            "{name} is not in the library as it is"
        );
    }
    assert_eq!(built_in.len(), files.len());
}

#[test]
fn operators_are_defined_once_and_in_one_place() {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut problems = Vec::new();
    for (file, text) in sources() {
        if !file.starts_with("crates/op/src/") {
            continue;
        }
        for (at, _) in text.match_indices("OpDef::new(") {
            let rest = text[at + "OpDef::new(".len()..].trim_start();
            let Some(name) = rest.strip_prefix('"').map(word_at) else {
                continue;
            };
            if let Some(before) = seen.insert(name.to_owned(), file.clone()) {
                problems.push(format!("`{name}` is defined in {before} and in {file}"));
            }
            if tautomer::op::lookup(name).is_none_or(|def| def.name != name) {
                problems.push(format!("`{name}` of {file} is not in the table"));
            }
        }
    }
    assert!(seen.len() > 50);
    none(&problems);
}

/// No text reveals where it was written.
#[test]
fn no_absolute_paths() {
    let homes = ["home", "root", "Users", "work", "tmp"].map(|folder| format!("/{folder}/"));
    let mut texts = BTreeMap::new();
    for folder in [
        "src", "crates", "tests", "benches", "grammar", "rules", "examples", "docs",
    ] {
        texts.extend(files(folder, ""));
    }
    for name in DOCUMENTS.iter().chain(&["Cargo.toml", ".ci/run", ".ci/times"]) {
        texts.insert((*name).to_owned(), read(name));
    }
    let mut problems = Vec::new();
    for (file, text) in &texts {
        for home in &homes {
            // `a/home/b` is part of a longer path.
            let absolute = text.match_indices(home.as_str()).any(|(at, _)| {
                !text[..at]
                    .chars()
                    .next_back()
                    .is_some_and(|c| is_word(c) || ".})\"/".contains(c))
            });
            if absolute {
                problems.push(format!("{file} names a folder in {home}"));
            }
        }
    }
    none(&problems);
}

const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// The first shell block of the README holds the two commands that a newcomer runs, and every change runs them.
#[test]
fn commands_of_the_readme_are_checked() {
    let readme = read("README.md");
    let first = readme
        .split("```sh\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap_or_default();
    let commands: Vec<&str> = first.lines().collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    let ci = read(".ci/run");
    for command in commands {
        assert!(ci.lines().any(|line| line == command), "`{command}` is not in .ci/run");
    }
}

/// The table of times in CONTRIBUTING.md has a row for each command that `.ci/times` measures, and the files that it
/// edits exist.
#[test]
fn every_measured_time_has_a_row() {
    let script = read(".ci/times");
    let contributing = read("CONTRIBUTING.md");
    let mut count = 0;
    let mut problems = Vec::new();
    for line in script.lines().map(str::trim_start) {
        if !["cold '", "edit crates/", "edit src/", "edit rules/"]
            .iter()
            .any(|call| line.starts_with(call))
        {
            continue;
        }
        let quoted: Vec<&str> = line.split('\'').skip(1).step_by(2).collect();
        let [what, command] = quoted[..] else {
            panic!("`{line}` has other arguments");
        };
        count += 1;
        let edited = line.strip_prefix("edit ").and_then(|rest| rest.split(' ').next());
        if let Some(file) = edited.filter(|file| !root().join(file).is_file()) {
            problems.push(format!(".ci/times edits {file}, which does not exist"));
        }
        let row = format!("| {what} | `{command}` | ");
        if !contributing.lines().any(|line| line.starts_with(&row)) {
            problems.push(format!("CONTRIBUTING.md lacks `{row}`"));
        }
    }
    assert!(count > 5, "{count} commands are measured");
    none(&problems);
}

/// Every file and directory that a document names or links to exists.
#[test]
fn named_paths_exist() {
    let parts = [
        "benches",
        "crates/verify/src",
        "fuzz",
        "grammar",
        "rules",
        "rules/gsl",
        "rules/taso",
    ];
    let pages = parts.map(|folder| format!("{folder}/README.md"));
    let pages = pages.into_iter().chain(DOCUMENTS.iter().map(|&name| name.to_owned()));
    let tops = [
        "src", "crates", "tests", "rules", "grammar", "examples", "benches", "fuzz", "docs", "ops", "python",
        "targets", ".ci",
    ];
    let is_path = |text: &str| {
        let known = text.split_once('/').is_some_and(|(top, _)| tops.contains(&top));
        let plain = text.chars().all(|c| is_word(c) || "./-".contains(c));
        // `crates/NAME` stands for any of them.
        known && plain && !text.ends_with("/NAME")
    };
    let mut count = 0;
    let mut problems = Vec::new();
    for page in pages {
        let text = read(&page);
        let outside_blocks = text.split("```").step_by(2);
        for part in outside_blocks {
            let paths = part.split('`').skip(1).step_by(2).filter(|code| is_path(code));
            let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
            let links = part
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split([')', '#']).next());
            let links = links.filter(|link| !link.is_empty() && !link.contains(':'));
            let links = links.map(|link| root().join(folder).join(link));
            for path in paths.map(|path| root().join(path)).chain(links) {
                count += 1;
                if !path.exists() {
                    problems.push(format!("{page}: there is no {}", path.display()));
                }
            }
        }
    }
    assert!(count > 100, "{count} paths are named");
    none(&problems);
}

/// Every test that ARCHITECTURE.md names exists.
#[test]
fn named_tests_exist() {
    let text = read("ARCHITECTURE.md");
    let folders = ["src", "crates", "tests"];
    let code: Vec<String> = folders
        .into_iter()
        .flat_map(|folder| files(folder, ".rs").into_values())
        .collect();
    let mut count = 0;
    let mut problems = Vec::new();
    for part in text.split("Kept by").skip(1) {
        let end = part
            .find("\n\n")
            .into_iter()
            .chain(part.find("\n1. "))
            .min()
            .unwrap_or(part.len());
        for name in part[..end]
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| name.chars().all(is_word))
        {
            count += 1;
            let definition = format!("fn {name}(");
            if !code.iter().any(|text| text.contains(&definition)) {
                problems.push(format!("there is no test `{name}`"));
            }
        }
    }
    assert!(count > 20, "{count} tests are named");
    none(&problems);
}

/// The code map of ARCHITECTURE.md has every crate and the modules of `src/`, and its table every dependency.
#[test]
fn the_map_is_complete() {
    let text = read("ARCHITECTURE.md");
    let mut problems = Vec::new();
    let crates = CRATES.iter().map(|(name, _)| *name);
    for name in crates.chain(["pipeline", "formats", "kuiper", "cli"]) {
        if !text.contains(&format!("**`{name}")) {
            problems.push(format!("the map lacks `{name}`"));
        }
    }
    let manifest = read("Cargo.toml");
    let mut dependencies = BTreeSet::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim_end_matches(']').ends_with("dependencies");
        } else if let (true, false, Some((name, _))) = (inside, line.starts_with('#'), line.split_once(['=', '.'])) {
            dependencies.insert(name.trim());
        }
    }
    dependencies.retain(|name| !name.starts_with("tautomer-"));
    let listed: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(name, _)| name)
        .collect();
    for name in dependencies.difference(&listed) {
        problems.push(format!("the table of dependencies lacks `{name}`"));
    }
    for name in listed.difference(&dependencies) {
        problems.push(format!("`{name}` of the table is no dependency"));
    }
    none(&problems);
}

/// Two things are the same if their values are, not if they print alike: printed text leaves parts out. So text made by
/// `Debug` may be shown by an `impl` of `Display` or `Debug`, and used for nothing else.
#[test]
fn the_verifier_compares_values_and_not_their_text() {
    let mut found = Vec::new();
    for (name, text) in files("crates/verify/src", ".rs") {
        let is_test = name.ends_with("tests.rs");
        // The fingerprint covers rows of operators, which are constants of the program.
        if is_test || name.ends_with("fingerprint.rs") {
            continue;
        }
        let mut shown = false;
        for (i, line) in text.lines().enumerate() {
            if line == "#[cfg(test)]" && text.lines().nth(i + 1).is_some_and(|next| next.ends_with('{')) {
                break;
            }
            if line.starts_with("impl") {
                shown = ["Display for", "Debug for"].iter().any(|part| line.contains(part));
            } else if line == "}" {
                shown = false;
            }
            if !shown && line.contains(":?}") {
                found.push(format!("{name}:{}: {}", i + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "text made by `Debug`:\n{}", found.join("\n"));
}
