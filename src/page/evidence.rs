//! The evidence for each applied rule: its text, its verdict, and what the verdict rests on.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::formats::escaped;
use crate::rule::Rule;
use crate::verify::Entry;

/// The anchor of a rule's verdict on the page.
pub(crate) fn anchor(rule: &str) -> String {
    format!("verdict-{}", escaped(rule))
}

/// The section of one rule.
pub(crate) fn section(out: &mut String, rule: &Arc<Rule>, verdict: Option<&Entry>) {
    let source = &rule.ast.source;
    let _ = writeln!(
        out,
        "<h3 id=\"{}\">{}</h3>\n<p>{}</p>\n<pre>{}</pre>",
        anchor(&rule.name),
        escaped(&rule.name),
        escaped(&rule.doc),
        escaped(source.slice(rule.span).trim_end())
    );
    let (line, _) = source.line_column(rule.span.start);
    let mut facts = vec![
        ("defined in", format!("{}:{line}", source.name)),
        ("class", rule.class.to_string()),
    ];
    match verdict {
        None => facts.push(("verdict", "none".to_owned())),
        Some(entry) => {
            facts.push(("verdict", entry.says.clone()));
            let systems: Vec<String> = entry.systems.iter().map(|(name, n)| format!("{name} {n}")).collect();
            facts.push(("instances", format!("{} ({})", entry.instances, systems.join(", "))));
            if let Some(proof) = &entry.proof {
                facts.push(("proof", format!("{} forms in {} cases", proof.forms, proof.cases)));
            }
            facts.push((
                "reproduce with",
                format!("--seed {} --budget {}", entry.seed, entry.budget),
            ));
        }
    }
    out.push_str("<dl>\n");
    for (name, value) in facts {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escaped(&value));
    }
    out.push_str("</dl>\n");
}
