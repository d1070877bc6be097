//! Random typed graphs.

#![allow(dead_code, reason = "every test program uses a part of this")]

pub(crate) mod rich;

use proptest::prelude::*;
use tautomer::graph::{Graph, VertexId};
use tautomer::op::{AttrValue, Op, OpaqueOp, lookup};
use tautomer::tensor::{DType, Dim, Shape, Tensor, Type};

/// The decisions from which a graph is grown.
pub(crate) type Seeds = Vec<(u16, u16, u16)>;

/// Decisions for up to `most` vertices.
pub(crate) fn seeds(most: usize) -> impl Strategy<Value = Seeds> {
    prop::collection::vec((any::<u16>(), any::<u16>(), any::<u16>()), 0..most)
}

/// A random graph with up to `most` calls.
pub(crate) fn graph(most: usize) -> impl Strategy<Value = Graph> {
    seeds(most).prop_map(|seeds| grow(&seeds))
}

/// The graph for these decisions; inapplicable decisions are skipped.
pub(crate) fn grow(seeds: &Seeds) -> Graph {
    let mut graph = Graph::new();
    let symbolic = seeds.first().is_some_and(|s| s.0 % 3 == 0);
    let first = |n: i64| if symbolic { Dim::symbol("n") } else { Dim::from(n) };
    let mut pool = vec![
        graph.input("x", matrix(first(2))),
        graph.param("w", Type::tensor(DType::F32, [4, 4])),
        graph.input("y", matrix(first(2))),
        graph.input("i", Type::tensor(DType::I64, [2, 4])),
        graph.param("b", Type::tensor(DType::Bool, [4])),
        graph.input("u", matrix(Dim::unknown(1 << 20))),
    ];
    for &seed in seeds {
        step(&mut graph, &mut pool, seed);
    }
    let outputs = seeds.last().map_or(1, |s| s.2 as usize % 3 + 1);
    let last = pool.len() - 1;
    for k in 0..outputs {
        let v = pool[last - (k * 3) % (last + 1)];
        if matches!(graph.ty(v), Type::Tensor(_)) {
            graph.output(v, None);
        }
    }
    graph.retain_reachable();
    graph
}

fn matrix(rows: Dim) -> Type {
    Type::tensor(DType::F32, [rows, Dim::from(4)].into_iter().collect::<Shape>())
}

fn step(graph: &mut Graph, pool: &mut Vec<VertexId>, (kind, a, b): (u16, u16, u16)) {
    // Recent values are more likely to be chosen.
    let pick = |k: u16| {
        let n = pool.len();
        let back = (k as usize % n).min(k as usize / 7 % n);
        pool[n - 1 - back]
    };
    let (p, q) = (pick(a), pick(b));
    let call = |graph: &mut Graph, name: &str, operands: &[VertexId], attrs: &[(&str, AttrValue)]| {
        graph.call(Op::Known(lookup(name)?), operands, attrs).ok()
    };
    const BINARY: [&str; 20] = [
        "add",
        "sub",
        "mul",
        "div",
        "pow",
        "mod",
        "max",
        "min",
        "equal",
        "less",
        "less_or_equal",
        "greater",
        "greater_or_equal",
        "and",
        "or",
        "xor",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "matmul",
    ];
    const UNARY: [&str; 10] = [
        "relu",
        "sigmoid",
        "tanh",
        "exp",
        "neg",
        "abs",
        "not",
        "bitwise_not",
        "softmax",
        "gelu",
    ];
    let axis = i64::from(b % 2);
    let new = match kind % 16 {
        0..=4 => call(graph, BINARY[(kind / 16) as usize % BINARY.len()], &[p, q], &[]),
        5 | 6 => call(graph, UNARY[(kind / 16) as usize % UNARY.len()], &[p], &[]),
        7 => call(graph, "mod", &[p, q], &[("fmod", AttrValue::Bool(b % 2 == 0))]),
        8 => {
            let value = match (a % 6, b) {
                (0, b) => Tensor::scalar(f32::from(b) / 7.0 - 100.0),
                (1, b) => Tensor::scalar(i64::from(b) - 1000),
                (2, b) => Tensor::scalar(b % 2 == 0),
                (3, b) => Tensor::vector((0..4).map(|i| f32::from(b) * 0.1 - i as f32).collect()),
                (4, b) => {
                    Tensor::new::<f32>(&[2, 4], (0..8).map(|i| (i as f32 - 4.0) * f32::from(b)).collect()).unwrap()
                }
                (_, 0) => Tensor::new::<f32>(&[0, 4], Vec::new()).unwrap(),
                (_, b) => Tensor::scalar([f32::NAN, f32::INFINITY, -0.0, f32::MIN_POSITIVE, -1.5e-7][b as usize % 5]),
            };
            let constant = graph.constant(value);
            if b % 3 == 0 {
                Some(constant)
            } else {
                pool.push(constant);
                call(graph, "mul", &[p, constant], &[])
            }
        }
        9 => call(graph, "concat", &[p, q], &[("axis", AttrValue::int(axis))]),
        10 => {
            let split = call(
                graph,
                "split",
                &[p],
                &[("axis", AttrValue::int(1)), ("sizes", AttrValue::ints(&[1, 3]))],
            )
            .or_else(|| {
                call(
                    graph,
                    "split",
                    &[p],
                    &[("axis", AttrValue::int(1)), ("split", AttrValue::ints(&[1, 3]))],
                )
            });
            if let Some(split) = split {
                for i in 0..2 {
                    if b & (1 << i) != 0 {
                        pool.extend(graph.project(split, i).ok());
                    }
                }
            }
            None
        }
        11 => call(graph, "transpose", &[p], &[("perm", AttrValue::ints(&[1, 0]))]),
        12 => {
            let shape = if a % 2 == 0 { vec![8] } else { vec![1, -1] };
            call(graph, "reshape", &[p], &[("shape", AttrValue::ints(&shape))])
        }
        13 => {
            let name = ["reduce_sum", "reduce_mean", "reduce_max"][a as usize % 3];
            let keep = AttrValue::Bool(b % 4 < 2);
            call(
                graph,
                name,
                &[p],
                &[("axes", AttrValue::ints(&[axis])), ("keepdims", keep)],
            )
        }
        14 => {
            let tuple = graph.tuple(&[p, q]);
            graph.project(tuple, (b % 2) as usize).ok()
        }
        _ => {
            let absent = graph.absent();
            let op = OpaqueOp {
                domain: if a % 2 == 0 {
                    "com.example".into()
                } else {
                    String::new()
                },
                name: "Mystery".into(),
                attr_names: vec!["alpha".into(), "raw".into(), "t".into()],
                // An unknown declared dimension is replaced by a new one.
                result: graph
                    .ty(p)
                    .map_dims(&|d| if d.has_unknown() { Dim::from(5) } else { d.clone() }),
            };
            let attrs = vec![
                AttrValue::float(f64::from(b) / 3.0),
                AttrValue::Foreign {
                    kind: "test.Bytes".into(),
                    bytes: b.to_le_bytes().to_vec().into(),
                },
                AttrValue::Tensor(Tensor::vector(vec![1.5f32, f32::from(b)])),
            ];
            Some(graph.opaque(op, &[p, absent, q], attrs))
        }
    };
    if let Some(v) = new {
        if kind % 11 == 0 {
            let name = ["total", "f32", "let", "x", "n", "a.b/c:0", "7", "größe", "v0", "none"][(a % 10) as usize];
            graph.vertex_mut(v).name = Some(name.into());
        }
        pool.push(v);
    }
}
