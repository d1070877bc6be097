//! Random rules that are true by construction, and the same with one change that makes them wrong.
//!
//! A rule is a random term and what identities make of it, so it holds. A change of its target, or of a condition,
//! becomes a wrong rule if both sides, run on small shapes and integers, differ somewhere. The verifier must not refute
//! the former, and must not prove the latter.
//!
//! `TAUTOMER_CASES=10000 cargo test --release --test it random_rules:: -- --nocapture` tries that many of each and
//! prints the rates.

mod bounds;
mod families;
mod laws;
mod term;

use std::collections::BTreeMap;
use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::graph::{BuildOptions, Graph, Node, build_program, interpret};
use tautomer::lang::{parse_program, parse_rules};
use tautomer::rule::load_rules;
use tautomer::tensor::{DType, Tensor};
use tautomer::verify::{Level, Options, Verdict, verify};

use self::laws::{Holds, changed};
use self::term::{Attr, BINARY, Dim, ONE, REDUCTIONS, Term, UNARY, Variables};

/// The number of rules of each kind in every run.
const RULES: usize = 100;

/// Wrong rules that the verifier says are proved at the shapes that it tried, because no shape that it tries shows the
/// difference; by a part of their texts.
const OPEN: &[&str] = &[
    // A slice of padding with a negative edge: only a start below zero, which then counts from the end, shows it.
    "where b >= 0, c >= a, d >= c, d <= a + x.shape[0]",
];

/// Every how many rules a proof is attempted where nothing is optimized.
const PROOFS: usize = if cfg!(debug_assertions) { 16 } else { 1 };

/// A source of random numbers.
pub(crate) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut out: Vec<usize> = (0..n).collect();
        (1..n).rev().for_each(|i| out.swap(i, self.below(i + 1)));
        out
    }
}

/// Programs of both sides at sizes that are drawn; `None` if those do not fit.
type Sides = Box<dyn Fn(&mut Random) -> Option<[String; 2]>>;

/// A rule as text, and programs of both sides at chosen sizes.
pub(crate) struct Case {
    text: String,
    /// Programs of both sides and a value of each constant, at which the conditions hold.
    sides: Sides,
    /// What was changed; empty for a true rule.
    change: &'static str,
}

struct Drawn {
    variables: Variables,
    source: Term,
    target: Term,
    holds: Holds,
    dtype: &'static str,
    /// The constant is at least this.
    least: i64,
}

/// A true rule of random terms.
fn drawn(random: &mut Random) -> Option<Drawn> {
    let mut variables = Variables::default();
    let rank = 1 + random.below(3);
    let dim = |random: &mut Random| -> Dim {
        match random.below(10) {
            0..=1 => vec![ONE],
            2 => vec![b'm', b'n'],
            _ => vec![random.of(b"nmk")],
        }
    };
    let shape: Vec<Dim> = (0..rank).map(|_| dim(random)).collect();
    let source = variables.term(&shape, 2 + random.below(3), random);
    let mut target = source.clone();
    let mut holds = Holds::Bits;
    for _ in 0..1 + random.below(4) {
        let (new, needs) = changed(&target, &variables, random)?;
        (target, holds) = (new, holds.max(needs));
    }
    // A zero in a pattern matches zeros of both signs.
    if source.mentions(&Term::Number(0)) {
        holds = holds.max(Holds::Ring);
    }
    let size = source.places().len();
    if source.sums_a_number() {
        return None;
    }
    let loads = matches!(source, Term::Call(..)) && size <= 16 && target.places().len() <= 24;
    let known = (0..variables.0.len()).all(|i| source.mentions(&Term::Variable(i)));
    let factor = source.mentions(&Term::Factor) || !target.mentions(&Term::Factor);
    let dtype = match holds {
        Holds::Real => random.of(&["f32", "f32", "f64"]),
        _ => random.of(&["f32", "f64", "i32", "i64"]),
    };
    (source != target && loads && known && factor).then_some(Drawn {
        variables,
        source,
        target,
        holds,
        dtype,
        least: 0,
    })
}

impl Drawn {
    fn text(&self) -> String {
        let dims = |shape: &[Dim]| -> String {
            let all: Vec<String> = shape.iter().map(|d| char::from(d[0]).to_string()).collect();
            all.join(", ")
        };
        let mut variables: Vec<String> = Vec::new();
        for (i, shape) in self.variables.0.iter().enumerate() {
            variables.push(format!("x{i}: {}[{}]", self.dtype, dims(shape)));
        }
        let mut condition = String::new();
        if self.source.mentions(&Term::Factor) {
            variables.push(format!("c: const {}", self.dtype));
            condition = format!("where value(c) >= {}", self.least);
        }
        let class = if self.holds == Holds::Bits { "bitwise" } else { "real" };
        format!(
            "/// Random.\nrule random({}) {{\n  {}\n  => {}\n  {condition} numerics {class}\n}}\n",
            variables.join(", "),
            self.source.text(),
            self.target.text()
        )
    }

    /// Both sides at random small sizes.
    fn case(self, change: &'static str) -> Case {
        let text = self.text();
        let sides = move |random: &mut Random| {
            let sizes: BTreeMap<u8, usize> = b"nmkl".iter().map(|d| (*d, random.of(&[1, 2, 3, 0]))).collect();
            let size = |d: &Dim| if d == &[ONE] { 1 } else { sizes[&d[0]] };
            let inputs: Vec<String> = (self.variables.0.iter().enumerate())
                .map(|(i, shape)| {
                    let dims: Vec<String> = shape.iter().map(|d| size(d).to_string()).collect();
                    format!("x{i}: {}[{}]", self.dtype, dims.join(", "))
                })
                .collect();
            // Between integers that wrap, sizes do not matter; the conditions bound the constant.
            let factor = self.least + random.below(4) as i64;
            let program = |side: &Term| {
                let one = format!(
                    "{factor}{}{}",
                    if self.dtype.starts_with('f') { ".0" } else { "" },
                    self.dtype
                );
                format!("fn main({}) {{ let c = {one}; {} }}", inputs.join(", "), side.text())
            };
            Some([program(&self.source), program(&self.target)])
        };
        Case {
            text,
            sides: Box::new(sides),
            change,
        }
    }

    /// The rule with one change, if the sides keep one type.
    fn mutated(&self, random: &mut Random) -> Option<(Drawn, &'static str)> {
        let new = |target: Term, least: i64| Drawn {
            variables: self.variables.clone(),
            source: self.source.clone(),
            target,
            holds: self.holds,
            dtype: self.dtype,
            least,
        };
        if self.source.mentions(&Term::Factor) && random.chance(25) {
            return Some((new(self.target.clone(), -1), "a condition"));
        }
        let places = self.target.places();
        let way = &places[random.below(places.len())];
        let (changed, what) = mutation(self.target.at(way), &self.variables, random)?;
        let target = self.target.with(way, changed);
        let same = self.variables.shape(&target) == self.variables.shape(&self.source);
        (same && target != self.target && target != self.source).then(|| (new(target, self.least), what))
    }
}

/// A term with one change.
fn mutation(t: &Term, variables: &Variables, random: &mut Random) -> Option<(Term, &'static str)> {
    let (op, attr, xs) = match t {
        Term::Variable(i) => {
            let other = random.below(variables.0.len());
            return (variables.0[other] == variables.0[*i]).then_some((Term::Variable(other), "a variable"));
        }
        Term::Number(n) => return Some((Term::Number(n + 1), "a number")),
        Term::Factor => return Some((Term::Number(1), "the constant")),
        Term::Call(op, attr, xs) => (*op, attr, xs),
    };
    let call = |op: &'static str, attr: Attr| Term::Call(op, attr, xs.clone());
    let operand = random.below(xs.len());
    let kept = variables.shape(&xs[operand]) == variables.shape(t);
    if kept && random.chance(30) {
        return Some((xs[operand].clone(), "a call left out"));
    }
    match attr {
        Attr::None if UNARY.contains(&op) => Some((call(random.of(UNARY), Attr::None), "an operator")),
        Attr::None if op == "sub" && random.chance(50) => Some((
            Term::Call(op, Attr::None, vec![xs[1].clone(), xs[0].clone()]),
            "the order of operands",
        )),
        Attr::None => Some((call(random.of(BINARY), Attr::None), "an operator")),
        Attr::Perm(perm) => Some((call(op, Attr::Perm(random.permutation(perm.len()))), "a permutation")),
        Attr::Axis(_) if op == "concat" => Some((
            Term::Call(op, attr.clone(), vec![xs[1].clone(), xs[0].clone()]),
            "the order of operands",
        )),
        Attr::Axis(_) if REDUCTIONS.contains(&op) && random.chance(60) => {
            Some((call(random.of(REDUCTIONS), attr.clone()), "a reduction"))
        }
        Attr::Axis(_) => {
            let rank = variables.shape(t)?.len();
            Some((call(op, Attr::Axis(random.below(rank))), "an axis"))
        }
    }
}

/// A program; `None` if it has no type.
fn graph(text: &str) -> Option<Graph> {
    let parsed = parse_program(Arc::new(Source::new("side.taut", text)));
    let parsed = parsed.unwrap_or_else(|e| panic!("{text}\n{}", e.render(false)));
    build_program(&parsed, &BuildOptions::default()).ok()
}

/// The first output on small integers that depend on the seed and on names.
fn values(graph: &Graph, seed: u64) -> Option<(String, Vec<f64>)> {
    let value = |v| {
        if !matches!(graph.vertex(v).node, Node::Input) {
            return None;
        }
        let ty = graph.ty(v).as_tensor()?;
        let shape = ty.shape.as_ref()?.to_concrete()?;
        let name = graph.vertex(v).name.as_deref().unwrap_or("");
        let mut random = Random(
            name.bytes()
                .fold(seed, |h, b| h.wrapping_mul(131).wrapping_add(u64::from(b))),
        );
        let is_index = name.starts_with('i');
        let data: Vec<i128> = (0..shape.iter().product())
            .map(|_| match ty.dtype {
                DType::Bool => random.below(2) as i128,
                _ if is_index => random.below(4) as i128 - 2,
                _ => random.below(9) as i128 - 4,
            })
            .collect();
        let floats: Vec<f64> = data.iter().map(|x| *x as f64).collect();
        if ty.dtype.is_float() {
            Tensor::from_f64s(ty.dtype, &shape, &floats)
        } else {
            Tensor::from_ints(ty.dtype, &shape, &data)
        }
    };
    let outputs = interpret(graph, &value).ok()?;
    let first = outputs.first()?;
    Some((first.ty().to_string(), first.to_f64s()?))
}

/// Whether the sides differ at some small sizes and integers; `None` if they were never compared.
fn differ(case: &Case, random: &mut Random) -> Option<bool> {
    let mut compared = false;
    for _ in 0..12 {
        let Some([source, target]) = (case.sides)(random) else {
            continue;
        };
        let (Some(source), Some(target)) = (graph(&source), graph(&target)) else {
            continue;
        };
        for _ in 0..3 {
            let seed = random.next();
            let (Some(a), Some(b)) = (values(&source, seed), values(&target, seed)) else {
                break;
            };
            // No engine applies a rule where the types differ.
            if a.0 != b.0 {
                break;
            }
            compared |= !a.1.is_empty();
            if a.1
                .iter()
                .zip(&b.1)
                .any(|(x, y)| x != y && x.is_finite() && !(x.is_nan() && y.is_nan()))
            {
                return Some(true);
            }
        }
    }
    compared.then_some(false)
}

/// The verdict; `None` if the loader refuses the rule.
fn verdict(case: &Case, seed: u64, prove: bool) -> Option<Verdict> {
    let file = parse_rules(Arc::new(Source::new("random.rules", &*case.text)));
    let file = file.unwrap_or_else(|e| panic!("{}\n{}", case.text, e.render(false)));
    let set = load_rules(file).ok()?;
    let options = Options {
        seed,
        instances: if cfg!(debug_assertions) { 14 } else { 100 },
        patterns: 1 << 8,
        shrinking: 0,
        prove,
        ..Options::default()
    };
    let report = verify(set.rules.first()?, &set.examples, &options);
    Some(report.verdict)
}

/// The levels that rules got, and those that must not be.
#[derive(Default)]
struct Count {
    levels: BTreeMap<Level, usize>,
    missed: BTreeMap<&'static str, [usize; 2]>,
    unloadable: usize,
    wrong: Vec<String>,
}

impl Count {
    fn add(&mut self, case: &Case, at: usize, is_true: bool) -> bool {
        let Some(verdict) = verdict(case, at as u64, at.is_multiple_of(PROOFS)) else {
            self.unloadable += 1;
            return false;
        };
        let (level, text) = (verdict.level(), verdict.to_string());
        // A few instances are too few to judge what was proved at their shapes.
        let proved = match verdict {
            Verdict::Proved { .. } => !cfg!(debug_assertions),
            _ => level >= Level::Proved,
        };
        *self.levels.entry(level).or_default() += 1;
        let own = self.missed.entry(case.change).or_default();
        own[0] += 1;
        own[1] += usize::from(level != Level::Refuted);
        if is_true && level == Level::Refuted {
            self.wrong
                .push(format!("a true rule is refuted: {text}\n{}", case.text));
        }
        if !is_true && proved {
            let what = case.change;
            self.wrong.push(format!(
                "a wrong rule (changed {what}) is proved: {text}\n{}",
                case.text
            ));
        }
        true
    }

    fn line(&self) -> String {
        let total: usize = self.levels.values().sum();
        let of = |level: &Level| self.levels.get(level).copied().unwrap_or(0);
        let part = |level: &Level| {
            let n = of(level);
            format!("{} {n} ({:.1} %)", level.word(), 100.0 * n as f64 / total.max(1) as f64)
        };
        let parts: Vec<String> = Level::ALL.iter().map(part).collect();
        format!(
            "{total}: {}; {} refused by the loader",
            parts.join(", "),
            self.unloadable
        )
    }
}

#[test]
fn random_true_rules_hold_and_wrong_ones_are_not_proved() {
    let wanted = std::env::var("TAUTOMER_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(RULES);
    let mut random = Random(11);
    let (mut right, mut wrong) = (Count::default(), Count::default());
    let (mut rights, mut wrongs) = (0, 0);
    while rights < wanted || wrongs < wanted {
        let kind = random.below(100);
        let (truth, mutants): (Case, Vec<Case>) = if kind < 25 {
            bounds::drawn(&mut random)
        } else if kind < 60 {
            families::drawn(&mut random)
        } else {
            let Some(rule) = drawn(&mut random) else { continue };
            let mutants = (0..6).filter_map(|_| rule.mutated(&mut random));
            let mutants = mutants.map(|(rule, what)| rule.case(what)).collect();
            (rule.case(""), mutants)
        };
        match differ(&truth, &mut random) {
            Some(true) => panic!("an identity is wrong: {}", truth.text),
            Some(false) => {}
            None => continue,
        }
        if rights < wanted {
            rights += usize::from(right.add(&truth, rights, true));
        }
        let mutant = mutants.iter().find(|case| differ(case, &mut random) == Some(true));
        if let Some(mutant) = mutant.filter(|_| wrongs < wanted) {
            wrongs += usize::from(wrong.add(mutant, wrongs, false));
        }
    }
    println!("true rules {}", right.line());
    println!("wrong rules {}", wrong.line());
    for (change, [tried, missed]) in &wrong.missed {
        println!("  changed {change}: {tried}, not refuted {missed}");
    }
    let is_open = |text: &String| OPEN.iter().any(|part| text.contains(part));
    let (open, faults): (Vec<String>, Vec<String>) = right.wrong.into_iter().chain(wrong.wrong).partition(is_open);
    for fault in &open {
        println!("known: {fault}");
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    let refuted = wrong.levels.get(&Level::Refuted).copied().unwrap_or(0);
    assert!(
        100 * refuted >= 90 * wrongs,
        "{refuted} of {wrongs} wrong rules are refuted"
    );
}
