//! Parses the files that come with the tool, so that programs do not parse them each time they start.
//!
//! Only in release builds: debug builds read the files when they run, so that changing a rule recompiles nothing.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use tautomer_diag::Source;
use tautomer_lang::{parse_rules, parse_rules_without_examples, parse_targets};

#[path = "src/composite/text.rs"]
mod composite;

/// The directories with files of the tool.
const DIRECTORIES: [&str; 3] = ["rules", "ops", "targets"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    if env::var("PROFILE")? == "release" {
        for directory in DIRECTORIES {
            println!("cargo::rerun-if-changed={}", root.join(directory).display());
            find(&root, directory, &mut files)?;
        }
    }
    files.sort();
    let mut table = String::from("&[\n");
    let mut add = |name: &str, text: String| -> Result<(), Box<dyn Error>> {
        let compact = out.join(format!("{}.tree", table.lines().count()));
        fs::write(&compact, parsed(name, text)?)?;
        Ok(writeln!(table, "    ({name:?}, include_bytes!({compact:?})),")?)
    };
    let mut composite = String::new();
    for path in &files {
        let text = fs::read_to_string(root.join(path))?;
        // Its operators are those of another runtime.
        if suffix(path) == Some("ops") && !path.ends_with("onnxruntime.ops") {
            let file = parse_rules(Arc::new(Source::new(path.as_str(), &*text))).map_err(|e| e.to_string())?;
            composite.push_str(&composite::rule_texts(&file.items));
        }
        add(path, text)?;
    }
    if !files.is_empty() {
        add(composite::NAME, composite.clone())?;
    }
    table.push_str("]\n");
    fs::write(out.join("parsed.rs"), table)?;
    fs::write(out.join("composite.rules"), composite)?;
    Ok(())
}

/// Paths from `root` of the files in a directory and those in it, with `/` between directories as in the sources.
fn find(root: &Path, directory: &str, files: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(root.join(directory))? {
        let entry = entry?;
        let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => find(root, &path, files)?,
            false if suffix(&path).is_some() => files.push(path),
            false => {}
        }
    }
    Ok(())
}

/// The suffix of a file that has a grammar.
fn suffix(path: &str) -> Option<&str> {
    let (_, suffix) = path.rsplit_once('.')?;
    ["rules", "ops", "target"].contains(&suffix).then_some(suffix)
}

/// The compact form of a file.
fn parsed(path: &str, text: String) -> Result<Vec<u8>, Box<dyn Error>> {
    let source = Arc::new(Source::new(path, text));
    let bytes = match suffix(path) {
        Some("target") => parse_targets(source).map(|file| file.to_bytes()),
        _ => parse_rules_without_examples(source).map(|file| file.to_bytes()),
    };
    Ok(bytes.map_err(|problems| problems.to_string())??)
}
