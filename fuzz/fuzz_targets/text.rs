//! Parses any text as a program, a rule file, a script and an expression, for messages or for something that can be
//! printed and parsed again.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tautomer::diag::Source;
use tautomer::graph::{BuildOptions, Session, build_program};
use tautomer::kuiper::Expression;
use tautomer::lang::{Compat, format_program, format_rules, parse_program, parse_rules, parse_script};
use tautomer::rule::load_rules;

fuzz_target!(|text: &str| {
    let source = |text: &str| Arc::new(Source::new("text", text));
    if let Ok(program) = parse_program(source(text)) {
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
        let printed = format_rules(&rules);
        let again = parse_rules(source(&printed)).expect("what is printed can be parsed");
        assert_eq!(format_rules(&again), printed);
        let _ = load_rules(rules);
    }
    for compat in [Compat::Off, Compat::Full] {
        // Constructors allocate what they are asked for, so large numbers are left out.
        let digits = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
        if let (Ok(script), true) = (parse_script(source(text), compat), digits < 4) {
            let _ = Session::new(compat, 0).add_all(&script);
        }
    }
    if let Ok(expression) = Expression::parse(text) {
        assert!(!expression.rpn().is_empty());
    }
});
