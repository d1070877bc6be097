//! What the fuzz targets do with bytes.

use prost::Message;
use tautomer::formats::onnx::{decode_model, export, import};
use tautomer::graph::Workload;
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::Limits;

/// Reads a model; whatever the bytes, there is a model or there are messages. True for a model.
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
            assert!(problems.has_errors(), "a model was refused without a reason");
            let _ = problems.render(false);
            false
        }
    }
}

/// Imports, optimizes, writes, and imports again: what was written is read, with as many results of the same types.
/// True for a model that could be written.
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
    // An expression of parameters may have no value: a position outside of its tensor.
    let Ok(outcome) = optimize(imported.workload, &options) else {
        return false;
    };
    let Workload { graph, params } = &outcome.workload;
    graph.validate().unwrap_or_else(|e| panic!("{e}"));
    let Ok(exported) = export(graph, params, &imported.info) else {
        return false;
    };
    let written = exported.model.encode_to_vec();
    let again = decode_model(written.into()).unwrap_or_else(|e| panic!("what was written is no model: {e}"));
    let again = import(again, None).unwrap_or_else(|e| panic!("what was written is refused: {}", e.render(false)));
    assert_eq!(before.outputs().len(), again.workload.graph.outputs().len());
    for (a, b) in before.outputs().iter().zip(again.workload.graph.outputs()) {
        let (a, b) = (before.ty(a.vertex), again.workload.graph.ty(b.vertex));
        assert!(a.admits(b), "a result was {a} and is {b}");
    }
    true
}

/// Numbers that follow from a seed.
pub struct Random(pub u64);

impl Random {
    /// One of 0 to `n - 1`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// One of the seeds with a few bytes changed, left out, repeated, or taken from another.
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
            // Most lengths in a message stay right if the number of bytes does.
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
