//! Any text in any of the languages, and any bytes as arrays.

use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::formats::{npy, onnx, safetensors};
use tautomer::graph::{BuildOptions, Session, build_program};
use tautomer::kuiper::Expression;
use tautomer::lang::{Compat, format_program, format_rules, parse_program, parse_rules, parse_script};
use tautomer::rule::load_rules;

/// Parses a text as a program, a rule file, a script and an expression, for messages or for something that can be
/// printed and parsed again. True if it was any of these.
pub fn text(text: &str) -> bool {
    let source = |text: &str| Arc::new(Source::new("text", text));
    let mut parsed = false;
    if let Ok(program) = parse_program(source(text)) {
        parsed = true;
        let printed = format_program(&program);
        let again = parse_program(source(&printed)).expect("what is printed can be parsed");
        assert_eq!(format_program(&again), printed);
        let options = BuildOptions {
            max_vertices: 10_000,
            ..BuildOptions::default()
        };
        if let Ok(graph) = build_program(&program, &options) {
            graph.validate().expect("what is built is valid");
        }
    }
    if let Ok(rules) = parse_rules(source(text)) {
        parsed = true;
        let printed = format_rules(&rules);
        let again = parse_rules(source(&printed)).expect("what is printed can be parsed");
        assert_eq!(format_rules(&again), printed);
        let _ = load_rules(rules);
    }
    for compat in [Compat::Off, Compat::Full] {
        // Constructors allocate what they are asked for, so large numbers are left out.
        let digits = text
            .split(|c: char| !c.is_ascii_digit())
            .map(str::len)
            .max()
            .unwrap_or(0);
        if let (Ok(script), true) = (parse_script(source(text), compat), digits < 4) {
            parsed = true;
            let _ = Session::new(compat, 0).add_all(&script);
        }
    }
    if let Ok(expression) = Expression::parse(text) {
        parsed = true;
        assert!(!expression.rpn().is_empty());
    }
    parsed
}

/// Reads bytes as each kind of file of arrays. True if they are one.
pub fn arrays(bytes: &[u8]) -> bool {
    let read = [
        npy::read_npy(bytes).is_ok(),
        npy::read_npz(bytes).is_ok(),
        safetensors::read(bytes).is_ok(),
        onnx::read_tensor_file(bytes, None).is_ok(),
    ];
    read.contains(&true)
}
