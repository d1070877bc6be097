//! A cost model of the caller decides which of two equal graphs is the result.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tautomer::op::Priced;
use tautomer::pipeline::Engine;
use tautomer::{Model, Optimized, Options, optimize_model, rules_of_text};

const POWER: &str = "/// As a power.\nrule as-power(x) { x * x => pow(x, 2.0) numerics real }";

fn optimized(program: &str, options: &Options) -> Optimized {
    let model = Model::from_text("example", program).unwrap_or_else(|e| panic!("{}", e.render(false)));
    optimize_model(model, options).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn options() -> Options {
    Options::default().rules(rules_of_text("power", POWER).unwrap().0)
}

#[test]
fn the_choice_follows_the_costs_of_the_caller() {
    let square = "fn main(x: f32[n, 8]) { relu(x * x) }";
    let text = |options: &Options| optimized(square, options).model.to_text();
    let cheap_power = |call: &Priced<'_>| match call.op.name().as_str() {
        "pow" => 0.5,
        _ => 3.0 * call.cost.micros(),
    };
    assert!(text(&options().cost(cheap_power)).contains("x ** 2"));
    let dear_power = |call: &Priced<'_>| match call.op.name().as_str() {
        "pow" => f64::NAN,
        _ => call.cost.micros(),
    };
    assert!(text(&options().cost(dear_power)).contains("x * x"));
}

#[test]
fn the_report_has_the_costs_of_the_caller() {
    let found = optimized("fn main(x: f32[n, 8]) { relu(x * x) }", &options().cost(|_| 7.0));
    assert_eq!(found.report.cost, (14.0, 14.0));
    // Substitution applies rules wherever they match; costs are reported alone.
    let options = options().cost(|_| 7.0).engine(Engine::Substitute);
    assert_eq!(
        optimized("fn main(x: f32[n, 8]) { x * x }", &options).report.cost.0,
        7.0
    );
}

#[test]
fn costs_may_depend_on_types_and_attributes() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let options = options().cost(move |call| {
        counted.fetch_add(1, Ordering::Relaxed);
        let of_wide = call
            .operands
            .iter()
            .any(|operand| operand.ty.to_string().contains("1024"));
        match (call.op.name().as_str(), of_wide) {
            ("pow", true) => 1.0,
            ("pow", false) => 50.0,
            _ => 10.0,
        }
    });
    let both = "fn main(x: f32[2], y: f32[1024]) { (x * x, y * y) }";
    let text = optimized(both, &options).model.to_text();
    assert!(text.contains("x * x") && text.contains("y ** 2"), "{text}");
    assert!(asked.load(Ordering::Relaxed) > 0);
}

#[test]
fn explanations_know_the_costs_of_the_caller() {
    let options = options().cost(|call| if call.op.name() == "pow" { 100.0 } else { 1.0 });
    let found = optimized("fn main(x: f32[8]) { x * x }", &options);
    let why = found.why_not("as-power").unwrap();
    assert!(why.answer.contains("cost"), "{}", why.answer);
}
