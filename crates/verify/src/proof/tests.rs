//! Meanings at concrete dimensions agree with the reference semantics, and only correct rules are proved.

mod bounded;
mod defined;
mod functions;
mod lattices;
mod lengths;
mod ordered;
mod ranks;
mod reshapes;
mod types;

use std::rc::Rc;
use std::sync::Arc;

use num_traits::ToPrimitive;
use rustc_hash::FxHashMap;

use super::case::{Case, Stop};
use super::cases::{expanded, numbered_leaves};
use super::expr::{Expr, Factor, Kind};
use super::facts::Facts;
use super::meaning::{At, Meaning};
use super::{Suspects, Task, laws, prove};
use crate::compare::data;
use crate::instance::random::Random;
use crate::instance::seeds::seeds;
use crate::{Covers, Options, Verdict, verify};
use tautomer_diag::Source;
use tautomer_graph::{Graph, interpret_over};
use tautomer_lang::parse_rules;
use tautomer_op::Value;
use tautomer_rewrite::Trial;
use tautomer_rule::{RuleSet, library, library_set, load_rules};
use tautomer_tensor::Dim;

/// Limit on the elements compared for each result.
const PLACES: usize = 12;

/// The value of a formula for given elements of leaves; `None` if it has a function that is not supported here.
fn number(expr: &Expr, leaves: &[Vec<f64>], symbols: &FxHashMap<Arc<str>, i64>) -> Option<f64> {
    let of = |d: &Dim| d.evaluate(&|s| symbols.get(s).copied());
    expr.terms().iter().try_fold(0.0, |sum, (product, c)| {
        let term = product.iter().try_fold(c.to_f64()?, |out, (factor, e)| {
            let value = match factor {
                Factor::Size(atom) => of(&Dim::atom(atom.clone()))? as f64,
                Factor::Element(leaf, at) => {
                    // Small dimensions are written row-major.
                    let [at] = at.as_slice() else { return None };
                    *leaves.get(*leaf as usize)?.get(usize::try_from(of(at)?).ok()?)?
                }
                Factor::Inverse(sum) => number(sum, leaves, symbols)?.recip(),
                Factor::Apply(fun, args) => {
                    let args: Option<Vec<f64>> = args.iter().map(|a| number(a, leaves, symbols)).collect();
                    function(fun.name(), &args?)?
                }
                Factor::Fold(fold) => folded(fold, leaves, &mut symbols.clone(), 0)?,
                Factor::Whole(_) => return None,
            };
            Some(out * value.powi(*e))
        })?;
        Some(sum + term)
    })
}

fn folded(
    fold: &super::expr::Fold,
    leaves: &[Vec<f64>],
    symbols: &mut FxHashMap<Arc<str>, i64>,
    at: usize,
) -> Option<f64> {
    let empty = match fold.kind {
        Kind::Sum => 0.0,
        Kind::Product => 1.0,
        Kind::Max => f64::NEG_INFINITY,
        Kind::Min => f64::INFINITY,
    };
    let Some((name, extent)) = fold.ranges.get(at) else {
        let inside = fold
            .guards
            .iter()
            .all(|g| g.evaluate(&|s| symbols.get(s).copied()).is_some_and(|v| v >= 0));
        return if inside {
            number(&fold.body, leaves, symbols)
        } else {
            Some(empty)
        };
    };
    let count = extent.evaluate(&|s| symbols.get(s).copied())?;
    let mut out = empty;
    for i in 0..count {
        symbols.insert(name.clone(), i);
        let value = folded(fold, leaves, symbols, at + 1)?;
        out = match fold.kind {
            Kind::Sum => out + value,
            Kind::Product => out * value,
            Kind::Max => out.max(value),
            Kind::Min => out.min(value),
        };
    }
    Some(out)
}

fn function(name: &str, args: &[f64]) -> Option<f64> {
    Some(match (name, args) {
        ("max", [first, rest @ ..]) => rest.iter().fold(*first, |a, b| a.max(*b)),
        ("min", [first, rest @ ..]) => rest.iter().fold(*first, |a, b| a.min(*b)),
        ("exp", [x]) => x.exp(),
        ("log", [x]) => x.ln(),
        ("sqrt", [x]) => x.sqrt(),
        ("tanh", [x]) => x.tanh(),
        ("abs", [x]) => x.abs(),
        ("floor", [x]) => x.floor(),
        ("ceil", [x]) => x.ceil(),
        ("pow", [x, y]) => x.powf(*y),
        ("less", [a, b]) => f64::from(u8::from(a < b)),
        ("less_or_equal", [a, b]) => f64::from(u8::from(a <= b)),
        ("equal", [a, b]) => f64::from(u8::from(a == b)),
        ("not", [a]) => f64::from(u8::from(*a == 0.0)),
        ("where", [c, a, b]) => {
            if *c == 0.0 {
                *b
            } else {
                *a
            }
        }
        _ => return None,
    })
}

/// Compares elements of the outputs with the reference; returns how many were compared.
fn compare_with_reference(graph: &Graph, random: &mut Random) -> usize {
    let Ok(graph) = expanded(graph.clone(), &Rc::new(Case::new(Facts::default()))) else {
        return 0;
    };
    let Some(values) = data::values(&graph, data::Data::Balanced, random) else {
        return 0;
    };
    let numbered = numbered_leaves(&graph);
    let mut leaves: Vec<Vec<f64>> = vec![Vec::new(); numbered.len()];
    for v in graph.ids().filter(|v| numbered.contains_key(v)) {
        let Some(tensor) = values.get(&v) else { return 0 };
        let numbers = tensor.to_f64s().filter(|_| tensor.dtype().is_float());
        let Some(numbers) = numbers else { return 0 };
        leaves[numbered[&v] as usize] = numbers;
    }
    let value = |v| Value::<f64>::from_tensor(values.get(&v)?).ok();
    let Ok(expected) = interpret_over::<f64>(&graph, &value) else {
        return 0;
    };
    let case = Case::new(Facts::default());
    let mut compared = 0;
    for (output, expected) in graph.outputs().iter().zip(expected) {
        let Value::Real(expected) = expected else { continue };
        let meaning = Meaning::new(&graph, &case, numbered.clone());
        let step = expected.len() / PLACES + 1;
        for (index, expected) in expected.indexed_iter().step_by(step) {
            let place = ndarray::Dimension::slice(&index)
                .iter()
                .map(|&i| Dim::from(i))
                .collect();
            let cases = match meaning.element(output.vertex, &At::Index(place)) {
                Ok(cases) => cases,
                Err(Stop::Open(_)) => break,
                Err(stop) => panic!(
                    "{stop:?} for {}",
                    tautomer_lang::format_program(&tautomer_graph::to_program(&graph))
                ),
            };
            let [(guards, formula)] = cases.as_slice() else {
                panic!("several cases at a place")
            };
            assert!(guards.is_empty());
            let Some(found) = number(formula, &leaves, &FxHashMap::default()) else {
                break;
            };
            if !expected.is_finite() {
                continue;
            }
            let scale = expected.abs().max(1.0);
            assert!(
                (found - expected).abs() <= 1e-6 * scale,
                "{formula} is {found}, not {expected}, at {index:?} of\n{}",
                tautomer_lang::format_program(&tautomer_graph::to_program(&graph))
            );
            compared += 1;
        }
    }
    compared
}

#[test]
fn meanings_are_what_the_reference_computes() {
    let mut random = Random::part(7, "meanings");
    let mut compared = 0;
    let mut sets: Vec<RuleSet> = vec![library().unwrap().clone()];
    sets.extend(["gsl", "taso"].iter().filter_map(|name| library_set(name)?.ok()));
    for set in &sets {
        for rule in &set.rules {
            let trial = Trial::new(rule.clone());
            for recipe in seeds(rule, &trial, &set.examples).iter().take(2) {
                let Ok((graph, roots)) = recipe.build() else { continue };
                let Some(sides) = trial.sides(graph, Some(&roots)) else {
                    continue;
                };
                let mut graph = sides.graph;
                graph.clear_outputs();
                for &v in sides.source.iter().chain(sides.target.iter().flatten()) {
                    graph.output(v, None);
                }
                compared += compare_with_reference(&graph, &mut random);
            }
        }
    }
    assert!(compared > 2000, "only {compared} elements were compared");
}

/// Asserts that rules are proved for all they admit.
fn are_proved(rules: &[&str]) {
    for text in rules {
        let (verdict, why) = verdict_of(&format!("/// Right.\nrule {text}"));
        let proved = matches!(verdict, Verdict::ProvedForAll(_));
        assert!(proved, "{text}: {verdict}, {}", why.unwrap_or_default());
    }
}

/// Asserts that rules, which are wrong or not known to be right, are not proved for all they admit.
fn are_not_proved(rules: &[&str]) {
    for text in rules {
        let (verdict, _) = verdict_of(&format!("/// Wrong, or not known to be right.\nrule {text}"));
        assert!(!matches!(verdict, Verdict::ProvedForAll(_)), "{text}: {verdict}");
    }
}

fn verdict_of(text: &str) -> (Verdict, Option<String>) {
    let set = load_rules(parse_rules(Arc::new(Source::new("test.rules", text))).unwrap()).unwrap();
    let report = verify(&set.rules[0], &set.examples, &Options::default());
    (report.verdict, report.not_proved)
}

#[test]
fn families_of_rules_are_proved() {
    for text in [
        "rule r(x, y, z) { matmul(matmul(x, y), z) => matmul(x, matmul(y, z)) where x.rank >= 2, y.rank == 2, z.rank == 2 numerics real }",
        "rule r(x) { transpose(transpose(x) {perm = p}) {perm = q} => transpose(x) {perm = [p[i] for i in q]} numerics bitwise }",
        "rule r(x) { reduce_sum(reduce_sum(x) {axes = [0], keepdims = false}) {axes = [0], keepdims = false} => reduce_sum(x) {axes = [0, 1], keepdims = false} numerics real }",
        "rule r(a, b, c) { matmul(concat(a, b) {axis = 1}, c) => matmul(a, slice(c) {starts = [0], ends = [a.shape[1]], axes = [0]}) + matmul(b, slice(c) {starts = [a.shape[1]], ends = [a.shape[1] + b.shape[1]], axes = [0]}) where a.rank == 2, b.rank == 2, c.rank == 2, a.shape[1] > 0 numerics real }",
    ] {
        let (verdict, why) = verdict_of(&format!("/// Right.\n{text}"));
        assert!(
            matches!(verdict, Verdict::ProvedForAll(_) | Verdict::ProvedFor(_)),
            "{text}: {verdict}, {why:?}"
        );
    }
}

#[test]
fn movements_of_elements_are_proved() {
    for text in [
        "rule r(x) { roll(roll(x) {shifts = [k], axes = [0]}) {shifts = [j], axes = [0]} => roll(x) {shifts = [k + j], axes = [0]} numerics bitwise }",
        "rule r(x) { roll(x) {shifts = [k], axes = [0]} => concat(slice(x) {starts = [x.shape[0] - k], ends = [x.shape[0]], axes = [0]}, slice(x) {starts = [0], ends = [x.shape[0] - k], axes = [0]}) {axis = 0} where 0 < k, k < x.shape[0] numerics bitwise }",
        "rule r(x) { space_to_depth(depth_to_space(x) {blocksize = 2, mode = \"DCR\"}) {blocksize = 2} => x numerics bitwise }",
    ] {
        let (verdict, why) = verdict_of(&format!("/// Right.\n{text}"));
        assert!(
            matches!(verdict, Verdict::ProvedForAll(_) | Verdict::ProvedFor(_)),
            "{text}: {verdict}, {why:?}"
        );
    }
}

#[test]
fn what_holds_at_some_sizes_alone_is_not_proved() {
    for text in [
        "rule r(x) { roll(x) {shifts = [2], axes = [0]} => roll(x) {shifts = [-2], axes = [0]} numerics bitwise }",
        // The target needs square operands, or gives other numbers.
        "rule r(a, b) { matmul(a, b) => matmul(b, a) where a.shape == b.shape numerics real }",
        "rule r(x) { reduce_mean(x) {axes = [0]} => reduce_sum(x) {axes = [0]} numerics real }",
        "rule r(x) { slice(x) {starts = [1], ends = [3], axes = [0]} => slice(x) {starts = [0], ends = [2], axes = [0]} numerics real }",
        "rule r(x) { transpose(x) {perm = p} => x numerics real }",
    ] {
        let text = format!("/// Wrong.\n{text}");
        let source = Arc::new(Source::new("test.rules", text.as_str()));
        let set = tautomer_rule::load_checked_rules(parse_rules(source).unwrap()).unwrap();
        let trial = Trial::new(set.rules[0].clone());
        let instances = seeds(&set.rules[0], &trial, &[]);
        assert!(!instances.is_empty(), "{text}");
        let task = Task {
            rule: &set.rules[0],
            trial: &trial,
            agreeing: &instances.iter().collect::<Vec<_>>(),
            refused: &[],
            refuses_elements: false,
            all_types: true,
            suspects: Suspects::default(),
        };
        let proof = prove(&task);
        assert!(proof.is_err(), "{text}: {proof:?}");
    }
}

#[test]
fn numbers_beside_their_negations_have_a_proof() {
    for text in [
        "max(x, -x) => abs(x)",
        "abs(x) => max(x, -x)",
        "max(x, -x) => max(-x, x)",
        "min(x, -x) => -abs(x)",
        "max(x * 2, x * -2) => abs(x) * 2",
        "where(x < 0, -x, x) => abs(x)",
        "relu(max(x, -x)) => abs(x)",
        "max(x, x * -0.5) => max(x * -0.5, x)",
        "min(x, max(x, -x)) => x",
        "reduce_max(max(x, -x)) {axes = [0], keepdims = false} => reduce_max(abs(x)) {axes = [0], keepdims = false}",
    ] {
        let (verdict, why) = verdict_of(&format!("/// Right.\nrule r(x: f32[..]) {{ {text} numerics real }}"));
        assert!(
            matches!(verdict, Verdict::ProvedForAll(_) | Verdict::ProvedFor(_)),
            "{text}: {verdict}, {why:?}"
        );
    }
}

#[test]
fn a_lattice_has_one_form() {
    let element = |leaf: u32| Expr::factor(Factor::Element(leaf, vec![Dim::Const(0)]));
    let (x, y) = (element(0), element(1));
    let number = |n: i64| Expr::int(n);
    let max = |args: &[&Expr]| laws::apply("max", args.iter().map(|e| (*e).clone()).collect());
    let min = |args: &[&Expr]| laws::apply("min", args.iter().map(|e| (*e).clone()).collect());
    let abs = laws::apply("abs", vec![x.clone()]);
    assert_eq!(max(&[&x, &x.neg()]), abs);
    assert_eq!(min(&[&x, &x.neg()]), abs.neg());
    assert_eq!(max(&[&x, &x.neg(), &number(-3)]), abs);
    assert_eq!(max(&[&x.neg(), &y.neg()]), min(&[&x, &y]).neg());
    let double = |e: &Expr| e.mul(&number(2));
    assert_eq!(max(&[&double(&x), &double(&y)]), double(&max(&[&x, &y])));
    assert_eq!(max(&[&x.sub(&y), &y.sub(&x)]), laws::apply("abs", vec![y.sub(&x)]));
    // With any coefficients, in any order.
    let all: Vec<Expr> = (-3..=3).filter(|n| *n != 0).map(|n| x.mul(&number(n))).collect();
    for a in &all {
        for b in &all {
            for c in &all {
                let bounded = max(&[a, b, &y, &number(1)]);
                assert_eq!(bounded, max(&[&y, &number(1), b, a]));
                assert_eq!(max(&[a, b, c]), min(&[&c.neg(), &b.neg(), &a.neg()]).neg());
            }
        }
    }
}

#[test]
fn integers_wrap_around_in_proofs() {
    for text in [
        "relu(x * 2) => relu(x) * 2",
        "max(x * 3, y * 3) => max(x, y) * 3",
        "max(x + 100, y + 100) => max(x, y) + 100",
        "reduce_max(x * 2) {axes = [0], keepdims = false} => reduce_max(x) {axes = [0], keepdims = false} * 2",
    ] {
        let (verdict, _) = verdict_of(
            &format!(
                "/// Wrong where integers wrap around.\nrule r(x: i32[..], y: i32[..]) {{ {text} numerics real }}"
            )
            .replace(if text.contains('y') { "" } else { ", y: i32[..]" }, ""),
        );
        assert!(
            !matches!(verdict, Verdict::ProvedForAll(_) | Verdict::ProvedFor(_)),
            "{text}: {verdict}"
        );
    }
}

/// A verdict names what it covers, and `proved-all` leaves nothing out.
#[test]
fn operators_that_have_no_proof_are_not_in_the_verdict() {
    // With operands as its bounds, `clip` is no formula, and was in no proved form.
    let text = "/// A number before what is moved.\nrule r(x, c: param) { for f in elementwise, g in transpose reshape: let v = g(x) {..b}; f(c, v) {..a} => g(f(c, x) {..a}) {..b} where c.size == 1, c.rank <= x.rank, c.rank <= v.rank numerics bitwise }";
    let (verdict, why) = verdict_of(text);
    let Verdict::ProvedFor(coverage) = &verdict else {
        panic!("{verdict}: {why:?}");
    };
    let operators = coverage
        .ledger
        .lines()
        .iter()
        .find(|line| line.what == "the operator `f`");
    let Some(Covers::Sampled(named)) = operators.map(|line| &line.covers) else {
        panic!("{verdict}");
    };
    assert!(!named.contains("`clip`"), "{named}");
    // Wrong for most operators, right for some that are proved.
    let (wrong, _) = verdict_of(&text.replace("g(f(c, x) {..a})", "g(f(x, c) {..a})"));
    assert!(matches!(wrong, Verdict::Refuted(_)), "{wrong}");
}

#[test]
fn what_was_only_tried_is_not_proved_for_all() {
    for (text, part) in [
        (
            "r(x) { transpose(transpose(x) {perm = p}) {perm = q} => when len(p) > 3 { transpose(x) {perm = [p[i] for i in q]} } else { transpose(transpose(x) {perm = p}) {perm = q} } numerics bitwise }",
            "`perm` of `transpose`",
        ),
        // Literals, tokens and conditions: the value decides about more than whether the rule applies.
        (
            "r(x, c: const) { x * c => when value(c) > 2 { c * x } else { -(-x * c) } where c.rank == 0, x.dtype == f32 numerics real }",
            "the value of `c`",
        ),
        (
            "r(x[i]) { concat(relu(x[i]) for i in 0..n) {axis = k} => relu(concat(x[i] for i in 0..n) {axis = k}) numerics bitwise }",
            "the number of members `n`",
        ),
        (
            "r(x) { flatten(global_average_pool(-x)) {axis = 1} => -reduce_mean(x) {axes = range(2, x.rank), keepdims = false} where x.dtype == f32 numerics real }",
            "ranks",
        ),
        (
            "r(x, c: const) { max(x, x * c) => leaky_relu(x) {alpha = value(c)} where c.rank == 0, value(c) > 0, value(c) < 1, x.dtype == f32 numerics real }",
            "the value of `c`",
        ),
    ] {
        let (verdict, why) = verdict_of(&format!("/// Right.\nrule {text}"));
        let Verdict::ProvedFor(coverage) = verdict else {
            panic!("{text}: {verdict}, {why:?}")
        };
        let open = coverage
            .ledger
            .lines()
            .iter()
            .any(|line| line.what == part && matches!(line.covers, Covers::Sampled(_)));
        assert!(open && coverage.to_string().contains(part), "{text}: {coverage}");
    }
    for text in [
        "r(x, y) { x + y => y + x numerics bitwise }",
        "r(x, c: const, d: const) { (x * c) * d => x * (c * d) where x.dtype in [f32, f64] numerics real }",
        "r(a, b) { gemm(a, b) {..r} => gemm(identity(a), b) {..r} numerics real }",
        "r(x) { relu(elu(elu(x) {alpha = a}) {alpha = b}) => relu(elu(elu(x) {alpha = a}) {alpha = b}) + 0 where x.dtype == f32 numerics real }",
        // Conditions on a number that is passed on decide only whether the rule applies.
        "r(x, c: const) { min(relu(x), c) => clip(x) {min = 0.0, max = value(c)} where x.dtype in [f16, f32], value(c) >= 0 numerics real }",
        "r(x, s: param, b: param, m: param, v: param) { batch_normalization(x, s, b, m, v) {epsilon = e, ..r} => batch_normalization(x, s, b, m, v + e) {epsilon = 0.0, ..r} where x.dtype == f32 numerics real }",
        // Numbers that a condition keeps within the rounding of constants.
        "r(x) { x * hard_sigmoid(x) {alpha = a, beta = 0.5} => hard_swish(x) where abs(a - 0.16666666666666666) < 5e-8 numerics real }",
    ] {
        let (verdict, why) = verdict_of(&format!("/// Right.\nrule {text}"));
        assert!(
            matches!(verdict, Verdict::ProvedForAll(_)),
            "{text}: {verdict}, {why:?}"
        );
    }
}

/// At all ranks up to the bound, with all axes, and from there on by taking axes away.
#[test]
fn all_ranks_and_axes_are_proved() {
    for text in [
        "r(x) { squeeze(reduce_max(x) {axes = k, keepdims = true, ..r}) {axes = k} => reduce_max(x) {axes = k, keepdims = false, ..r} where len(k) > 0 numerics bitwise }",
        "r(x) { x - reduce_log_sum_exp(x) {axes = [k], keepdims = true} => log_softmax(x) {axis = k} numerics real }",
        "r(x, y) { concat(relu(x), relu(y)) {axis = k} => relu(concat(x, y) {axis = k}) numerics bitwise }",
        "r(x, c: const) { transpose(x * c) {perm = p} => transpose(x) {perm = p} * c where c.rank == 0 numerics real }",
        "r(x: f32[..], y, z) { matmul(matmul(x, y), z) => matmul(x, matmul(y, z)) where x.rank >= 2, y.rank >= 2, z.rank >= 2 numerics real }",
        "r(a, b) { gemm(transpose(a) {perm = [1, 0]}, b) {transA = false, ..r} => gemm(a, b) {transA = true, ..r} numerics real }",
        "r(x) { transpose(transpose(x) {perm = p}) {perm = q} => transpose(x) {perm = [p[i] for i in q]} numerics bitwise }",
        "r(x) { transpose(x) {perm = p} => x where p == range(x.rank) numerics bitwise }",
        "r(x) { squeeze(squeeze(x) {axes = j}) {axes = k} => squeeze(x) {axes = sorted(j ++ [[i for i in range(x.rank) if (i in j) == false][a] for a in k])} numerics bitwise }",
        "r(x) { reduce_max(reduce_max(x) {axes = j, keepdims = false}) {axes = k, keepdims = false} => reduce_max(x) {axes = sorted(j ++ [[i for i in range(x.rank) if (i in j) == false][a] for a in k]), keepdims = false} numerics real }",
        "r(x) { softmax(x) {axis = k} => ones_like(x) where x.shape[k] == 1 numerics real }",
        "r(x) { x - x => zeros_like(x) where x.dtype == f32 numerics real assuming finite(x) }",
        "r(x, w: param, b: param, c: param) { gemm(x, w, b) {transB = false, ..r} * c => gemm(x, w * c, b * c) {transB = false, ..r} where c.rank <= 1 numerics real }",
        "r(x, y, z, w) { concat(x + y, z + w) {axis = 0} => concat(y, w) {axis = 0} + concat(x, z) {axis = 0} where x.rank == y.rank, x.shape[0] == y.shape[0], z.shape[0] == w.shape[0], x.shape[1..] == z.shape[1..], y.shape[1..] == w.shape[1..] numerics bitwise }",
        "r(x, y, z, w) { concat(x, y) {axis = 0} + concat(z, w) {axis = 0} => concat(x, w) {axis = 0} + concat(z, y) {axis = 0} where x.shape == z.shape, y.shape[0] == w.shape[0] numerics bitwise }",
        // Axes that keep their order do so when some are taken away.
        "r(x) { reduce_max(transpose(x) {perm = p}) {axes = k, keepdims = false, ..r} => reduce_max(x) {axes = sorted([p[i] for i in k]), keepdims = false, ..r} where [p[i] for i in range(x.rank) if (i in k) == false] == sorted([p[i] for i in range(x.rank) if (i in k) == false]) numerics real }",
        // Each branch by itself.
        "r(x) { transpose(transpose(x) {perm = p}) {perm = q} => when [p[i] for i in q] == range(x.rank) { x } else { transpose(x) {perm = [p[i] for i in q]} } numerics bitwise }",
    ] {
        let (verdict, why) = verdict_of(&format!("/// Right.\nrule {text}"));
        assert!(
            matches!(verdict, Verdict::ProvedForAll(_)),
            "{text}: {verdict}, {why:?}"
        );
    }
    for text in [
        "r(x: f32[..], y, z) { matmul(matmul(x, y), z) => matmul(x, matmul(y, z)) numerics real }",
        "r(x) { transpose(transpose(x) {perm = p}) {perm = p} => x numerics bitwise }",
        "r(x) { transpose(transpose(x) {perm = p}) {perm = q} => when [q[i] for i in p] == range(x.rank) { x } else { transpose(x) {perm = [q[i] for i in p]} } numerics bitwise }",
        "r(x) { transpose(transpose(x) {perm = p}) {perm = q} => when p == range(x.rank) { x } else { transpose(x) {perm = [p[i] for i in q]} } numerics bitwise }",
        "r(x) { transpose(transpose(x) {perm = p}) {perm = q} => when len(p) > 5 { x } else { transpose(x) {perm = [p[i] for i in q]} } numerics bitwise }",
        "r(x) { transpose(transpose(x) {perm = p}) {perm = q} => when p == q { x } else { transpose(x) {perm = [p[i] for i in q]} } numerics bitwise }",
        "r(x: f32[..]) { reduce_max(transpose(x) {perm = p}) {axes = k, keepdims = false, ..r} => reduce_max(x) {axes = sorted([p[i] for i in k]), keepdims = false, ..r} numerics real }",
        "r(x: f32[..]) { reduce_max(transpose(x) {perm = p}) {axes = k, keepdims = false, ..r} => reduce_max(x) {axes = k, keepdims = false, ..r} where [p[i] for i in range(x.rank) if (i in k) == false] == sorted([p[i] for i in range(x.rank) if (i in k) == false]) numerics real }",
        "r(x: f32[..]) { reduce_max(transpose(x) {perm = p}) {axes = k, keepdims = true, ..r} => reduce_max(x) {axes = sorted([p[i] for i in k]), keepdims = true, ..r} where [p[i] for i in range(x.rank) if (i in k) == false] == sorted([p[i] for i in range(x.rank) if (i in k) == false]) numerics real }",
        "r(x: f32[..]) { reduce_max(transpose(x) {perm = p}) {axes = k, keepdims = false, ..r} => reduce_max(x) {axes = sorted([p[i] for i in k]), keepdims = false, ..r} where [p[i] for i in k] == sorted([p[i] for i in k]) numerics real }",
        "r(x: f32[..], y, z, w) { concat(x, y) {axis = 0} + concat(z, w) {axis = 0} => concat(x, w) {axis = 0} + concat(y, z) {axis = 0} where x.shape == z.shape, y.shape == w.shape numerics real }",
        "r(x: f32[..], y, z, w) { concat(x, y) {axis = -1} + concat(z, w) {axis = -1} => concat(x, w) {axis = -1} + concat(z, y) {axis = -1} where x.shape[0] == z.shape[0], y.shape[0] == w.shape[0] numerics real }",
        "r(x) { transpose(transpose(x) {perm = p}) {perm = q} => transpose(x) {perm = [q[i] for i in p]} numerics bitwise }",
        "r(x) { transpose(transpose(x) {perm = p}) {perm = q} => transpose(x) {perm = q} where p == range(x.rank - 1) ++ [x.rank - 1] or x.rank > 6 numerics bitwise }",
        "r(x: f32[..], y: f32[..]) { transpose(x * y) {perm = p} => x * y where p == range(y.rank) numerics bitwise }",
        "r(x) { squeeze(squeeze(x) {axes = j}) {axes = k} => squeeze(x) {axes = sorted(j ++ [a for a in k])} numerics bitwise }",
        "r(x: f32[..]) { reduce_sum(reduce_sum(x) {axes = j, keepdims = false}) {axes = k, keepdims = false} => reduce_sum(x) {axes = sorted(j ++ [[i for i in range(x.rank) if (i in k) == false][a] for a in k]), keepdims = false} numerics real }",
        "r(x: f32[..]) { reduce_sum(reduce_sum(x) {axes = j, keepdims = true}) {axes = k, keepdims = false} => reduce_sum(x) {axes = sorted(j ++ [[i for i in range(x.rank) if (i in j) == false][a] for a in k]), keepdims = false} numerics real }",
        "r(x: f32[..]) { softmax(relu(x)) {axis = k} => ones_like(x) where x.shape[0] == 1 numerics real }",
        "r(x: f32[..], y, z, w) { concat(x + y, z + w) {axis = 0} => concat(y, w) {axis = 0} + concat(x, z) {axis = 0} where x.shape[1..] == z.shape[1..], y.shape[1..] == w.shape[1..] numerics bitwise }",
        "r(x: f32[..], c: const) { x * c => x where c.rank == 0, value(c) > 0.5, value(c) < 1.5 numerics real }",
        "r(x: f32[..], c: const) { x / c => x * 0.5 where c.rank == 0, value(c) >= 2, value(c) < 3 numerics real }",
        "r(x: f32[..], c: const, d: const) { pow(pow(x, c), d) => pow(x, c * d) where c.rank == 0, d.rank == 0, value(c) > 0, value(d) > 0 numerics real }",
        "r(x: f32[..], c: const) { gelu(x * c) => gelu(x) where c.rank == 0, abs(value(c) - 1) < 1e-3 numerics real }",
        "r(x: f32[..]) { leaky_relu(x) {alpha = a} => relu(x) where a > 0.5 numerics real }",
        "r(x) { relu(x) => when x.dtype == f64 { neg(x) } else { relu(x) } where x.dtype in [f16, bf16, f32, f64] numerics real }",
        "r(x, w, v) { conv(x, w) {..a} + conv(x, v) {..b} => conv(x, w + v) {..a} where w.shape == v.shape numerics real }",
        "r(x: f32[..], s, b, m, v) { batch_normalization(x, s, b, m, v) {..r} => when x.rank > 6 { x } else { batch_normalization(x, s, b, m, v) {..r} } numerics real }",
        "r(x) { transpose(transpose(transpose(transpose(transpose(transpose(x) {perm = p}) {perm = p}) {perm = p}) {perm = p}) {perm = p}) {perm = p} => x numerics bitwise }",
        "r(x: f32[..], y) { concat(relu(x), relu(y)) {axis = k} => relu(concat(y, x) {axis = k}) where x.shape == y.shape numerics bitwise }",
        "r(x: f32[..]) { softmax(relu(x)) {axis = k} => when k > 5 { softmax(x) {axis = k} } else { softmax(relu(x)) {axis = k} } numerics real }",
        "r(x: f32[..]) { relu(neg(x)) => when x.rank > 6 { neg(x) } else { relu(neg(x)) } numerics real }",
        "r(x: f32[..]) { reduce_max(relu(x)) {axes = k, keepdims = true} => when len(k) > 4 { reduce_max(x) {axes = k, keepdims = true} } else { reduce_max(relu(x)) {axes = k, keepdims = true} } numerics real }",
        "r(x: f32[..]) { reduce_sum(x) {axes = k, keepdims = true} => reduce_sum(x) {axes = [i for i in k if i < 5], keepdims = true} where len(k) > 0, all(i < x.rank for i in k) numerics real }",
    ] {
        let (verdict, _) = verdict_of(&format!("/// Wrong.\nrule {text}"));
        assert!(!matches!(verdict, Verdict::ProvedForAll(_)), "{text}: {verdict}");
    }
}
