//! `tautomer explain`: the meaning of a message code.

use serde_json::json;

use tautomer::diag::{Diagnostic, codes, did_you_mean, explain};

use super::{Done, Shell};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The code, such as T0101; without one, all codes are listed
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let Some(code) = &args.code else {
        if shell.json {
            let all: Vec<_> = codes()
                .iter()
                .map(|c| json!({ "code": c.code, "title": c.title }))
                .collect();
            return shell.json(json!({ "codes": all }));
        }
        let lines: String = codes().iter().map(|c| format!("{}  {}\n", c.code, c.title)).collect();
        return shell.result(&lines);
    };
    let Some(info) = explain(code) else {
        let problem = Diagnostic::error("T0405", format!("there is no code `{code}`"));
        return Err(match did_you_mean(code, codes().iter().map(|c| c.code)) {
            Some(close) => problem.help(format!("did you mean `{close}`?")),
            None => problem.help("`tautomer explain` lists all codes"),
        }
        .into());
    };
    if shell.json {
        return shell.json(json!({ "code": info.code, "title": info.title, "text": info.text }));
    }
    shell.result(&format!("{}: {}\n\n{}\n", info.code, info.title, info.text.trim_end()))
}
