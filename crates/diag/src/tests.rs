//! What users see.

use std::sync::Arc;

use super::{Diagnostic, Diagnostics, Source, Span};

fn example() -> Diagnostic {
    let source = Arc::new(Source::new(
        "mlp.taut",
        "param w: f32[128, 64]\nlet y = matmul(é, w);\n",
    ));
    Diagnostic::error("T0201", "inner dimensions of matmul differ: 96 and 128")
        .label(Span::new(30, 43), "`é` is f32[32, 96], `w` is f32[128, 64]")
        .secondary(Span::new(9, 21), "`w` declared here")
        .note("the last axis of the first operand meets the last but one of the second")
        .help("did you mean `matmul(x, transpose(w))`?")
        .in_source(&source)
}

#[test]
fn text_shows_place_labels_and_help() {
    insta::assert_snapshot!(example().render(false));
    assert!(example().render(true).contains("\u{1b}["));
}

#[test]
fn json_has_lines_and_columns() {
    let json = Diagnostics::from(example()).to_json();
    assert_eq!(json["schema"], 1);
    let label = &json["diagnostics"][0]["labels"][0];
    assert_eq!(
        (&label["line"], &label["column"], &label["end_column"]),
        (&2.into(), &9.into(), &21.into())
    );
}

#[test]
fn long_lists_are_cut() {
    let problems: Diagnostics = (0..25).map(|_| Diagnostic::error("T0001", "x")).collect();
    let text = problems.render(false);
    assert_eq!(text.matches("error[T0001]").count(), 20);
    assert!(text.ends_with("5 more\n"));
    // Whatever is left out, errors are not hidden by warnings.
    let mut problems: Diagnostics = (0..25).map(|_| Diagnostic::warning("T0310", "x")).collect();
    problems.push(Diagnostic::error("T0001", "x"));
    assert!(problems.render(false).starts_with("error[T0001]"));
}

#[test]
fn spans_outside_the_text_do_no_harm() {
    let source = Arc::new(Source::new("a", "é"));
    for span in [Span::new(1, 1), Span::new(5, 9), Span::new(2, 0)] {
        let text = Diagnostic::error("T0001", "x")
            .label(span, "here")
            .in_source(&source)
            .render(false);
        assert!(text.starts_with("error[T0001]: x"));
    }
}

#[test]
fn very_long_parts_of_messages_lose_their_middle() {
    let long = Diagnostic::error("T0001", "é".repeat(1 << 20)).label(Span::new(0, 1), "x".repeat(5000));
    assert!(long.message.starts_with("éé") && long.message.ends_with("éé"));
    assert!(
        long.message.contains(" [... 1046576 characters ...] "),
        "{}",
        long.message.len()
    );
    assert!(long.labels[0].text.len() < 4100);
    assert_eq!(Diagnostic::error("T0001", "x".repeat(4000)).message.len(), 4000);
}
