//! `tautomer rules import`: imports rule files of other programs.

use std::path::PathBuf;

use serde_json::json;

use tautomer::formats::taso::{ImportedRules, import_rules};
use tautomer::formats::whole;
use tautomer::lang::is_name;

use super::{Done, Failure, Shell, input, output};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Rules of TASO, such as `graph_subst.pb`, or of TENSAT, such as `converted.txt`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write the rules; by default, to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The prefix of the rule names
    #[arg(long, value_name = "NAME", default_value = "taso")]
    prefix: String,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    args.output.as_deref().map_or(Ok(()), output::has_folder)?;
    if !args.prefix.split('-').all(is_name) {
        return Err(Failure::new(
            "T0402",
            format!("`{}` is not a valid beginning of a name", args.prefix),
        ));
    }
    let bytes = input::bytes(&args.file, whole::MAX_TEXT)?;
    let rules = import_rules(&input::shown(&args.file), &bytes, &args.prefix)?;
    match &args.output {
        Some(path) => output::write_text(path, &rules.text)?,
        None if shell.json => {}
        None => shell.result(&rules.text)?,
    }
    if shell.json {
        return shell.json(report(&rules, args.output.is_none()));
    }
    for (name, reason) in &rules.refused {
        shell.detail(&format!("{name}: {reason}"));
    }
    shell.say(&summary(&rules));
    Ok(())
}

fn summary(rules: &ImportedRules) -> String {
    let (silent, repeated, refused) = (rules.saying_nothing.len(), rules.repeated.len(), rules.refused.len());
    format!(
        "{} rules: {} written, {silent} trivial, {repeated} duplicates, {refused} not expressible",
        rules.written + silent + repeated + refused,
        rules.written,
    )
}

fn report(rules: &ImportedRules, with_text: bool) -> serde_json::Value {
    let refused: Vec<_> = rules
        .refused
        .iter()
        .map(|(rule, reason)| json!({ "rule": rule, "reason": reason }))
        .collect();
    json!({
        "written": rules.written,
        "saying_nothing": rules.saying_nothing,
        "repeated": rules.repeated,
        "refused": refused,
        "text": with_text.then_some(&rules.text),
    })
}
