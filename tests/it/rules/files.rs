//! The rule files of the repository.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use tautomer::diag::Source;
use tautomer::lang::parse_rules;
use tautomer::rule::{Example, Rule, RuleSet, library_operators, load_rules_in};

/// A rule file.
pub(super) struct RulesFile {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) set: RuleSet,
}

/// The rules and examples of a text.
pub(super) fn parse(name: &str, text: &str) -> RuleSet {
    let declared = library_operators().unwrap_or_else(|e| panic!("{}", e.render(false)));
    parse_rules(Arc::new(Source::new(name, text)))
        .and_then(|file| load_rules_in(file, &declared.operators))
        .unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// All files under the directory, sorted by name.
fn walk(folder: &Path, out: &mut Vec<std::path::PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, out);
        } else if path.extension().is_some_and(|suffix| suffix == "rules") {
            out.push(path);
        }
    }
}

/// Every rule file of the repository, whether built in or not, and the code blocks of the documents beside them.
pub(super) fn files() -> &'static [RulesFile] {
    static FILES: OnceLock<Vec<RulesFile>> = OnceLock::new();
    FILES.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut paths = Vec::new();
        walk(&root.join("rules"), &mut paths);
        let load = |path: &std::path::PathBuf| {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let text = std::fs::read_to_string(path).unwrap();
            let set = parse(&name, &text);
            RulesFile { name, text, set }
        };
        let readme = std::fs::read_to_string(root.join("rules/README.md")).unwrap();
        let blocks = readme.split("```rules\n").skip(1).enumerate().map(|(i, block)| {
            let text = block.split("```").next().unwrap_or_default().to_owned();
            let name = format!("rules/README.md, block {}", i + 1);
            let set = parse(&name, &text);
            RulesFile { name, text, set }
        });
        paths.iter().map(load).chain(blocks).collect()
    })
}

impl RulesFile {
    /// The rules as written: each with its directions, the forward one first.
    pub(super) fn rules(&self) -> Vec<&[Arc<Rule>]> {
        self.set
            .rules
            .chunk_by(|a, b| *b.name == *format!("{}-reversed", a.name))
            .collect()
    }

    /// The rule of an example.
    pub(super) fn of_example(&self, example: &Example) -> &[Arc<Rule>] {
        self.rules().into_iter().find(|r| r[0].name == example.rule).unwrap()
    }

    pub(super) fn examples_of(&self, rule: &Rule) -> impl Iterator<Item = &Example> {
        self.set.examples.iter().filter(|e| e.rule == rule.name)
    }
}
