//! The implementation of the fuzz targets.

mod pnnx;
mod text;

pub use pnnx::{changed_words, pnnx};
pub use text::{arrays, text};

use std::sync::Arc;

use prost::Message;
use tautomer::diag::Source;
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::formats::onnx::{decode_model, export, import};
use tautomer::graph::{Graph, Session, Shown, VertexId, Workload};
use tautomer::lang::{Compat, parse_rules, parse_script};
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::Limits;
use tautomer::rule::load_checked_rules;
use tautomer::verify;

/// A target that needs only bytes.
pub struct Target {
    /// Its name, which is that of its file in `fuzz_targets`.
    pub name: &'static str,
    /// Runs the target on bytes; true if they were usable.
    pub run: fn(&[u8]) -> bool,
    /// Changes one of the seeds.
    pub change: fn(&[Vec<u8>], &mut Random) -> Vec<u8>,
}

/// The targets that `mutate` runs.
pub const TARGETS: &[Target] = &[
    Target {
        name: "onnx_reader",
        run: read,
        change: changed,
    },
    Target {
        name: "onnx_round_trip",
        run: round_trip,
        change: changed,
    },
    Target {
        name: "scripts",
        run: scripts,
        change: changed,
    },
    Target {
        name: "rules",
        run: |bytes| rules(&String::from_utf8_lossy(bytes)),
        change: changed,
    },
    Target {
        name: "pnnx",
        run: |bytes| pnnx(bytes).1,
        change: changed_words,
    },
    Target {
        name: "text",
        run: |bytes| text(&String::from_utf8_lossy(bytes)),
        change: changed,
    },
    Target {
        name: "arrays",
        run: arrays,
        change: changed,
    },
];

/// The maximum number of elements of a value of a script.
const MAX_ELEMENTS: usize = 4096;

/// Checks a text as a script in each spelling, statement by statement, and computes what it shows; there must be values
/// of the declared types, or messages. True if something was computed.
pub fn scripts(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let mut computed = false;
    for compat in [Compat::Off, Compat::Spelling, Compat::Full] {
        let source = Arc::new(Source::new("script", text));
        let script = match parse_script(source, compat) {
            Ok(script) => script,
            Err(problems) => {
                assert!(problems.has_errors(), "a script was rejected without a reason");
                let _ = problems.render(false);
                continue;
            }
        };
        let mut session = Session::new(script.compat, 0).with_max_elements(MAX_ELEMENTS);
        for statement in &script.statements {
            let Ok(step) = session.add(statement, &script.source) else {
                continue;
            };
            let shown = step.values.iter().filter_map(|shown| match shown {
                Shown::Value(v) => Some(*v),
                Shown::Text(_) => None,
            });
            let shown: Vec<VertexId> = shown.collect();
            let values: Vec<VertexId> = shown.into_iter().flat_map(|v| session.tensors(v)).take(16).collect();
            let roots: Vec<(VertexId, Option<&str>)> = values.iter().map(|&v| (v, None)).collect();
            let workload = session.program(&roots, true);
            workload.graph.validate().unwrap_or_else(|e| panic!("{e}"));
            if values.is_empty() || !is_small(&workload.graph) {
                continue;
            }
            // An index may be out of range, and an operator without a kernel may have no value.
            let Ok(plan) = Plan::compile(&workload.graph) else {
                continue;
            };
            let Ok(executor) = Executor::new(plan, Mode::Kernels) else {
                continue;
            };
            let Ok(results) = executor.run(&[], &workload.params) else {
                continue;
            };
            for (v, result) in values.into_iter().zip(results) {
                let ty = session.graph().ty(v);
                assert!(
                    ty.admits(&result.ty().into()),
                    "{ty} was declared, but {} computed",
                    result.ty()
                );
                session.remember(v, result);
                computed = true;
            }
        }
    }
    computed
}

/// True if the sizes of all values are known in advance and small.
fn is_small(graph: &Graph) -> bool {
    graph.ids().all(|v| {
        let mut small = true;
        graph
            .ty(v)
            .visit_dims(&mut |dim| small &= dim.as_const().is_some_and(|n| n <= MAX_ELEMENTS as i64));
        small && graph.ty(v).as_tensor().is_none_or(|ty| ty.shape.is_some())
    })
}

/// Reads a model; any bytes must give a model or messages. True for a model.
pub fn read(bytes: &[u8]) -> bool {
    let Ok(model) = decode_model(bytes.to_vec().into()) else {
        return false;
    };
    match import(model, None) {
        Ok(imported) => {
            let Workload { graph, .. } = &imported.workload;
            graph.validate().unwrap_or_else(|e| panic!("{e}"));
            true
        }
        Err(problems) => {
            assert!(problems.has_errors(), "a model was rejected without a reason");
            let _ = problems.render(false);
            false
        }
    }
}

/// Imports, optimizes, writes, and imports again: what was written must be readable, with the same number of results of
/// the same types. True for a model that could be written.
pub fn round_trip(bytes: &[u8]) -> bool {
    let Ok(model) = decode_model(bytes.to_vec().into()) else {
        return false;
    };
    let Ok(imported) = import(model, None) else {
        return false;
    };
    let options = Options {
        limits: Limits {
            iterations: 3,
            nodes: 500,
            ..Limits::default()
        },
        ..Options::default()
    };
    let before = imported.workload.graph.clone();
    // An expression of parameters may have no value, such as an index out of range.
    let Ok(outcome) = optimize(imported.workload, &options) else {
        return false;
    };
    let Workload { graph, params } = &outcome.workload;
    graph.validate().unwrap_or_else(|e| panic!("{e}"));
    let Ok(exported) = export(graph, params, &imported.info) else {
        return false;
    };
    let written = exported.model.encode_to_vec();
    let again = decode_model(written.into()).unwrap_or_else(|e| panic!("what was written is not a model: {e}"));
    let again = import(again, None).unwrap_or_else(|e| panic!("what was written is rejected: {}", e.render(false)));
    assert_eq!(before.outputs().len(), again.workload.graph.outputs().len());
    for (a, b) in before.outputs().iter().zip(again.workload.graph.outputs()) {
        let (a, b) = (before.ty(a.vertex), again.workload.graph.ty(b.vertex));
        assert!(a.admits(b), "a result was {a} but is {b}");
    }
    true
}

/// Loads any text as rules and verifies them with a small budget. True for rules that load.
pub fn rules(text: &str) -> bool {
    let Ok(file) = parse_rules(Arc::new(Source::new("text", text))) else {
        return false;
    };
    match load_checked_rules(file) {
        Ok(set) => {
            let options = verify::Options {
                instances: 3,
                attempts: 4,
                patterns: 256,
                shrinking: 20,
                ..verify::Options::default()
            };
            for rule in &set.rules {
                let report = verify::verify(rule, &set.examples, &options);
                let says = report.verdict.to_string();
                assert!(!says.contains("internal error"), "{}: {says}", rule.name);
                let why = report.not_proved.unwrap_or_default();
                assert!(!why.contains("internal error"), "{}: {why}", rule.name);
            }
            true
        }
        Err(problems) => {
            assert!(problems.has_errors(), "rules were rejected without a reason");
            let _ = problems.render(false);
            false
        }
    }
}

/// Pseudo-random numbers from a seed.
pub struct Random(pub u64);

impl Random {
    /// A number from 0 to `n - 1`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// One of the seeds with a few bytes changed, removed, repeated, or taken from another.
pub fn changed(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(12) {
            0 => bytes.truncate(at),
            1 => {
                let end = (at + random.below(16)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            2 => {
                let end = (at + random.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let end = (from + random.below(64)).min(other.len());
                bytes.splice(at..at, other[from..end].iter().copied());
            }
            // Most lengths in a message stay correct if the number of bytes does not change.
            4..8 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            _ if !bytes.is_empty() => {
                let from = random.below(bytes.len());
                bytes[at] = [bytes[from], 0, 1, 2, 127, 255][random.below(6)];
            }
            _ => {}
        }
    }
    bytes
}
