//! Diagnostics as text and as JSON.

use codespan_reporting::diagnostic as cs;
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term::{self, termcolor};
use serde_json::{Value, json};

use super::{Diagnostic, Diagnostics, Label, Severity, Source};

/// The maximum number of problems rendered.
const CAP: usize = 20;

/// The version of the JSON schema.
const SCHEMA: u32 = 1;

impl Diagnostics {
    /// As text with excerpts of the source, in colour on request; at most 20 problems, of which warnings come last if
    /// there are more.
    pub fn render(&self, colour: bool) -> String {
        let mut shown: Vec<&Diagnostic> = self.iter().collect();
        if shown.len() > CAP {
            shown.sort_by_key(|diagnostic| diagnostic.severity != Severity::Error);
        }
        let shown = shown.iter().take(CAP);
        let mut parts: Vec<String> = shown.map(|diagnostic| diagnostic.render(colour)).collect();
        if let more @ 1.. = self.len().saturating_sub(CAP) {
            parts.push(format!("{more} more\n"));
        }
        parts.join("\n")
    }

    /// As JSON, all problems: `{"schema": 1, "diagnostics": […]}`.
    pub fn to_json(&self) -> Value {
        let diagnostics: Vec<Value> = self.iter().map(Diagnostic::to_json).collect();
        json!({ "schema": SCHEMA, "diagnostics": diagnostics })
    }
}

impl Diagnostic {
    /// As text with an excerpt of the source, in colour on request.
    pub fn render(&self, colour: bool) -> String {
        let (name, text) = self
            .source
            .as_ref()
            .map_or(("", ""), |source| (&source.name, &source.text));
        let file = SimpleFile::new(name, text);
        let config = term::Config {
            chars: term::Chars::ascii(),
            ..term::Config::default()
        };
        let mut out = if colour {
            termcolor::Buffer::ansi()
        } else {
            termcolor::Buffer::no_color()
        };
        match term::emit_to_write_style(&mut out, &config, &file, &self.to_codespan()) {
            Ok(()) => {
                let text = String::from_utf8_lossy(out.as_slice());
                text.lines()
                    .map(|line| line.trim_end().to_owned() + "\n")
                    .collect::<String>()
                    .trim_end()
                    .to_owned()
                    + "\n"
            }
            Err(_) => format!("{}[{}]: {}\n", self.severity.name(), self.code, self.message),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let labels: Vec<Value> = self
            .labels
            .iter()
            .map(|label| label_json(label, self.source.as_deref()))
            .collect();
        json!({
            "code": self.code,
            "severity": self.severity.name(),
            "message": self.message,
            "file": self.source.as_ref().map(|source| source.name.as_str()),
            "labels": labels,
            "notes": self.notes,
            "help": self.help,
        })
    }

    fn to_codespan(&self) -> cs::Diagnostic<()> {
        let severity = match self.severity {
            Severity::Error => cs::Severity::Error,
            Severity::Warning => cs::Severity::Warning,
            Severity::Note => cs::Severity::Note,
        };
        let labels = self.source.iter().flat_map(|source| {
            self.labels.iter().map(|label| {
                let style = if label.primary {
                    cs::LabelStyle::Primary
                } else {
                    cs::LabelStyle::Secondary
                };
                let start = source.text.floor_char_boundary(label.span.start as usize);
                let end = source.text.ceil_char_boundary(label.span.end as usize);
                cs::Label::new(style, (), start..end.max(start)).with_message(&label.text)
            })
        });
        let notes = self.notes.iter().map(|text| format!("note: {text}"));
        let help = self.help.iter().map(|text| format!("help: {text}"));
        cs::Diagnostic::new(severity)
            .with_code(self.code)
            .with_message(&self.message)
            .with_labels_iter(labels)
            .with_notes_iter(notes.chain(help))
    }
}

fn label_json(label: &Label, source: Option<&Source>) -> Value {
    let place = |offset| source.map(|source| source.line_column(offset));
    let (from, to) = (place(label.span.start), place(label.span.end));
    json!({
        "start": label.span.start,
        "end": label.span.end,
        "line": from.map(|at| at.0),
        "column": from.map(|at| at.1),
        "end_line": to.map(|at| at.0),
        "end_column": to.map(|at| at.1),
        "text": label.text,
        "primary": label.primary,
    })
}
