//! Certificates of shipped rules, changes of them, and texts that are none.

mod calls;
mod numbers;
mod page;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner as Runner};
use tautomer_check::{Verdict, check, hash};

/// Made by `tautomer verify --built-in --certificate`.
const SHIPPED: &str = include_str!("../data/shipped.cert");

/// A number from a fixed sequence.
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n.max(1)
    }
}

/// The certificates in a file, each with its lines.
fn parts(text: &str) -> Vec<Vec<String>> {
    let mut out: Vec<Vec<String>> = Vec::new();
    for line in text.lines().skip(1) {
        if line.starts_with("rule ") {
            out.push(Vec::new());
        }
        out.last_mut().unwrap().push(line.to_owned());
    }
    out
}

fn joined(lines: &[String]) -> String {
    format!("tautomer-certificate 1\n{}\n", lines.join("\n"))
}

/// The hash line as it must be for the text lines, so that changes of the text reach the proof.
fn rehashed(lines: &mut [String]) {
    let text: Vec<&str> = lines.iter().filter_map(|l| l.strip_prefix("text ")).collect();
    let own = hash(&text.join("\n"));
    if let Some(line) = lines.iter_mut().find(|l| l.starts_with("hash ")) {
        *line = format!("hash {own}");
    }
}

#[test]
fn shipped_certificates_are_accepted() {
    let checked = check(SHIPPED);
    for one in &checked {
        assert!(matches!(one.verdict, Verdict::Accepted(_)), "{one}");
    }
    assert!(checked.len() >= 228, "{} certificates", checked.len());
}

/// Puts another word in place of one, or takes a line away, or puts it elsewhere.
fn changed(lines: &[String], random: &mut Sequence) -> Vec<String> {
    const WORDS: [&[&str]; 9] = [
        &["+", "-", "*", "/"],
        &["x", "y", "a", "b", "c"],
        &["exp", "log", "sqrt", "abs", "sigmoid", "tanh", "relu", "reciprocal"],
        &["max", "min", "add", "where"],
        &["0", "1", "2", "0.5", "3"],
        &[">=", "<=", "<", ">", "=="],
        &["conv", "matmul", "gemm", "reduce_sum", "reduce_max", "squeeze", "unsqueeze", "expand"],
        &["true", "false", "none"],
        &["axes", "axis", "keepdims", "alpha", "group", "activation"],
    ];
    let mut out = lines.to_vec();
    let at = random.below(out.len());
    match random.below(8) {
        0 => _ = out.remove(at),
        1 => {
            let to = random.below(out.len());
            out.swap(at, to);
        }
        _ => {
            let places: Vec<(usize, usize, &str, &[&str])> = out
                .iter()
                .enumerate()
                .filter(|(_, l)| l.starts_with("text ") || l.starts_with("element "))
                .flat_map(|(i, l)| {
                    let start = l.find(['{', ' ']).unwrap_or(0);
                    let words = WORDS.iter().flat_map(|group| group.iter().map(move |w| (*w, *group)));
                    words
                        .flat_map(move |(w, group)| l.match_indices(w).map(move |(at, _)| (i, at, w, group)))
                        // Other words in quotes are no values of any attribute, and no tool reads the rule.
                        .filter(move |(_, at, ..)| *at > start && l[..*at].matches('"').count() % 2 == 0)
                        .collect::<Vec<_>>()
                })
                .collect();
            let (line, place, word, group) = places[random.below(places.len())];
            let new = group[random.below(group.len())];
            out[line].replace_range(place..place + word.len(), new);
        }
    }
    out
}

/// True if nothing but the hash differs.
fn is_same_text(a: &[String], b: &[String]) -> bool {
    let words = |lines: &[String]| lines.iter().filter(|l| !l.starts_with("hash ")).cloned().collect::<Vec<_>>();
    words(a) == words(b)
}

#[test]
#[expect(clippy::print_stdout, reason = "the numbers are what the test is for")]
fn changes_are_rejected_or_right() {
    let parts = parts(SHIPPED);
    let mut random = Sequence(11);
    let (mut made, mut rejected, mut right) = (0, 0, Vec::new());
    while made < 1000 {
        let own = &parts[random.below(parts.len())];
        let mut new = changed(own, &mut random);
        if made % 4 > 0 {
            rehashed(&mut new);
        }
        if is_same_text(own, &new) {
            continue;
        }
        made += 1;
        let verdicts = check(&joined(&new));
        if verdicts.iter().all(|one| matches!(one.verdict, Verdict::Accepted(_))) {
            right.push((own.clone(), new));
        } else {
            rejected += 1;
        }
    }
    let mut wrong = Vec::new();
    for (own, new) in &right {
        if let Err(why) = harmless(own, new) {
            wrong.push(format!("{why}:\n{}", new.join("\n")));
        }
    }
    println!("{rejected} of {made} changes are rejected, {} are harmless", right.len() - wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(rejected > 700, "{rejected}");
}

/// A change that is accepted only leaves out or moves a claim, or states another rule that is true at numbers.
fn harmless(own: &[String], new: &[String]) -> Result<(), String> {
    let text = |lines: &[String]| lines.iter().filter_map(|l| l.strip_prefix("text ")).collect::<Vec<_>>().join("\n");
    // Conditions and the class may be anything: what is proved then holds without those that are not understood.
    let sides = |lines: &[String]| {
        let text = text(lines);
        let end = text.find("where ").unwrap_or(text.len()).min(text.find("numerics").unwrap_or(text.len()));
        text[..end]
            .split_once('{')
            .unwrap_or_default()
            .1
            .trim_end_matches(|c: char| c == '}' || c.is_whitespace())
            .to_owned()
    };
    if sides(own) == sides(new) && new.iter().any(|l| l == "lift calls") {
        return Ok(());
    }
    numbers::holds(&text(new))
}

#[test]
fn wrong_rules_are_rejected() {
    for rule in [
        "rule wrong(x) { x + x => x * x numerics real }",
        "rule wrong(x) { relu(x) => x numerics real }",
        "rule wrong(x, y) { x - y => y - x numerics real }",
        "rule wrong(x, y) { max(x, y) => min(x, y) numerics real }",
        "rule wrong(x) { abs(x) => x numerics real }",
        "rule wrong(x) { (x + 0) | (x + 1) => x numerics real }",
        "rule wrong(x, c: const) { x * c => x where value(c) == 2 numerics real }",
        "rule wrong(x, c: const) { max(x, c) => x where value(c) >= 0 numerics real }",
        "rule wrong(x) { abs(-x) => abs(x) numerics real }",
        "rule wrong(x, y) { x / y * y => x numerics real }",
        "rule wrong(x) { sqrt(x * x) => x numerics real }",
        "rule wrong(x, y) { max(x + 1, y + 1) => max(x, y) + 1 numerics real }",
    ] {
        let own = hash(rule);
        let text = format!("tautomer-certificate 1\nrule wrong\ntext {rule}\nhash {own}\nlift elementwise\nend\n");
        assert!(!matches!(check(&text)[0].verdict, Verdict::Accepted(_)), "{rule}");
    }
}

#[test]
fn what_is_unknown_is_not_checked() {
    let rule = "rule turned(x) { sort(sort(x)) => sort(x) numerics bitwise }";
    let own = hash(rule);
    let text = format!("tautomer-certificate 1\nrule turned\ntext {rule}\nhash {own}\nlift elementwise\nend\n");
    assert!(matches!(check(&text)[0].verdict, Verdict::NotChecked(_)));
}

fn runner() -> Runner {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    Runner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

#[test]
fn no_text_panics() {
    runner()
        .run(&any::<Vec<u8>>(), |bytes| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            check(&text);
            let own = hash(text.lines().next().unwrap_or_default());
            check(&format!("tautomer-certificate 1\nrule a\ntext {text}\nhash {own}\nlift elementwise\nend\n"));
            Ok(())
        })
        .unwrap();
    let words = proptest::collection::vec(
        proptest::sample::select(vec![
            "x", "y", "max", "(", ")", "+", "-", "*", "/", "|", ",", "1", "0.5", "1e9", "{", "}", "alpha", "=", "clip",
            "where", "value", "\"", "é", ".", "[", "]", "pow", "exp", "neg", "!", "<=", "=>",
        ]),
        0..40,
    );
    runner()
        .run(&words, |words| {
            let rule = format!("rule a(x, y) {{ {} }}", words.join(" "));
            let own = hash(&rule);
            check(&format!("tautomer-certificate 1\nrule a\ntext {rule}\nhash {own}\nlift elementwise\nend\n"));
            Ok(())
        })
        .unwrap();
    let deep = format!("rule a(x) {{ {}x{} => x }}", "(".repeat(5000), ")".repeat(5000));
    check(&format!("tautomer-certificate 1\nrule a\ntext {deep}\nhash {}\nlift elementwise\nend\n", hash(&deep)));
}
