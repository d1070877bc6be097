//! Benchmarks of copied views, sorted rows and runs through the executor: `cargo bench --bench strided`.
//!
//! `tests/peers/strided.py` runs the same cases with torch and NumPy.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::graph::{Graph, Params};
use tautomer::op::{AttrValue, Op, lookup};
use tautomer::tensor::{DType, Shape, Tensor, Type};

fn main() {
    divan::main();
}

/// `distinct` different numbers in no particular order.
fn numbers(shape: &[usize], distinct: u64) -> Tensor {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let elements = (0..shape.iter().product()).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % distinct) as f32
    });
    Tensor::new(shape, elements.collect()).expect("elements that fill the shape")
}

/// The tensor as the result of an operator, in the executor's memory.
fn made(x: Tensor) -> Tensor {
    let mut graph = Graph::new();
    let rank = x.shape().len();
    let input = graph.input("x", Type::tensor(DType::F32, Shape::from(x.shape())));
    let op = Op::Known(lookup("transpose").expect("an operator of the table"));
    let order: Vec<i64> = (0..rank as i64).collect();
    let y = graph
        .call(op, &[input], &[("perm", AttrValue::ints(&order))])
        .expect("a well-typed call");
    graph.output(y, None);
    let executor = Executor::new(Plan::compile(&graph).expect("a plan"), Mode::Kernels).expect("an executor");
    executor.run(&[x], &Params::new()).expect("a run").remove(0)
}

/// Runs one call of `op`; counts the bytes of operand and results.
fn call(bencher: Bencher<'_, '_>, op: &str, x: Tensor, attrs: &[(&str, AttrValue)]) {
    let mut graph = Graph::new();
    let input = graph.input("x", Type::tensor(DType::F32, Shape::from(x.shape())));
    let op = Op::Known(lookup(op).expect("an operator of the table"));
    let y = graph.call(op, &[input], attrs).expect("a well-typed call");
    match graph.ty(y).clone() {
        Type::Tuple(items) => (0..items.len()).for_each(|i| {
            let part = graph.project(y, i).expect("an element");
            graph.output(part, None);
        }),
        _ => graph.output(y, None),
    }
    let executor = Executor::new(Plan::compile(&graph).expect("a plan"), Mode::Kernels).expect("an executor");
    let (inputs, params) = ([made(x)], Params::new());
    let written: usize = executor
        .run(&inputs, &params)
        .expect("a run")
        .iter()
        .map(Tensor::bytes)
        .sum();
    let read = written.min(inputs[0].bytes());
    bencher
        .counter(BytesCount::new(read + written))
        .bench_local(|| executor.run(black_box(&inputs), &params).expect("a run"));
}

fn perm(order: &[i64]) -> [(&'static str, AttrValue); 1] {
    [("perm", AttrValue::ints(order))]
}

fn dims(first: i64, second: i64) -> [(&'static str, AttrValue); 2] {
    [("dim1", AttrValue::int(first)), ("dim2", AttrValue::int(second))]
}

const IMAGES: [usize; 4] = [8, 64, 112, 112];

/// A plain copy of 26 MB, for comparison.
#[divan::bench]
fn copy(bencher: Bencher<'_, '_>) {
    let x = numbers(&IMAGES, 97);
    let elements = x
        .to_f64s()
        .expect("numbers")
        .into_iter()
        .map(|x| x as f32)
        .collect::<Vec<f32>>();
    bencher
        .counter(BytesCount::new(8 * elements.len()))
        .bench_local(|| black_box(&elements).clone());
}

#[divan::bench]
fn nchw_to_nhwc(bencher: Bencher<'_, '_>) {
    call(bencher, "transpose", numbers(&IMAGES, 97), &perm(&[0, 2, 3, 1]));
}

#[divan::bench]
fn nhwc_to_nchw(bencher: Bencher<'_, '_>) {
    call(
        bencher,
        "transpose",
        numbers(&[8, 112, 112, 64], 97),
        &perm(&[0, 3, 1, 2]),
    );
}

#[divan::bench]
fn transpose_2048(bencher: Bencher<'_, '_>) {
    call(bencher, "transpose", numbers(&[2048, 2048], 97), &perm(&[1, 0]));
}

#[divan::bench]
fn reverse_11_axes(bencher: Bencher<'_, '_>) {
    let shape = [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1024];
    let order: Vec<i64> = (0..11).rev().collect();
    call(bencher, "transpose", numbers(&shape, 97), &perm(&order));
}

#[divan::bench]
fn diagonal_last(bencher: Bencher<'_, '_>) {
    call(bencher, "diagonal", numbers(&[64, 512, 512], 97), &dims(1, 2));
}

#[divan::bench]
fn diagonal_first(bencher: Bencher<'_, '_>) {
    call(bencher, "diagonal", numbers(&[64, 512, 512], 97), &dims(0, 1));
}

#[divan::bench]
fn diagonal_small(bencher: Bencher<'_, '_>) {
    call(bencher, "diagonal", numbers(&[256, 256, 8, 8], 97), &dims(2, 3));
}

/// The previous benchmark with a counter that creates a list for each position, as often written.
#[divan::bench]
fn diagonal_small_by_positions(bencher: Bencher<'_, '_>) {
    struct Counter {
        at: Vec<i64>,
        shape: Vec<i64>,
    }
    impl Counter {
        fn step(&mut self) -> Counter {
            let last = self.shape.len() - 1;
            self.at[last] += 1;
            for i in (1..=last).rev() {
                if self.at[i] / self.shape[i] != 0 {
                    self.at[i - 1] += self.at[i] / self.shape[i];
                    self.at[i] %= self.shape[i];
                }
            }
            Counter {
                at: self.at.clone(),
                shape: self.shape.clone(),
            }
        }
    }
    let sum = |at: Vec<i64>, strides: Vec<i64>| -> i64 { at.iter().zip(&strides).map(|(i, s)| i * s).sum() };
    let Tensor::F32(x) = numbers(&[256, 256, 8, 8], 97) else {
        unreachable!("numbers are f32")
    };
    let x = x.as_slice().expect("elements in order").to_vec();
    let (strides, out_strides) = (vec![256 * 64, 64], vec![256 * 8, 8]);
    bencher.bench_local(|| {
        let mut out = vec![0f32; 256 * 256 * 8];
        let mut counter = Counter {
            at: vec![0, 0],
            shape: vec![256, 256],
        };
        while counter.at[0] != counter.shape[0] {
            let at = counter.at.clone();
            let from = sum(at.clone(), strides.clone());
            let to = sum(at.clone(), out_strides.clone());
            for i in 0..8 {
                out[(to + i) as usize] = black_box(&x)[(from + i * 9) as usize];
            }
            black_box(counter.step());
        }
        out
    });
}

#[divan::bench]
fn slice_rows(bencher: Bencher<'_, '_>) {
    let range = [
        ("starts", AttrValue::ints(&[1, 1])),
        ("ends", AttrValue::ints(&[-1, -1])),
        ("axes", AttrValue::ints(&[2, 3])),
    ];
    call(bencher, "slice", numbers(&IMAGES, 97), &range);
}

#[divan::bench]
fn slice_every_second(bencher: Bencher<'_, '_>) {
    let range = [
        ("starts", AttrValue::ints(&[0, 0])),
        ("ends", AttrValue::ints(&[i64::MAX, i64::MAX])),
        ("axes", AttrValue::ints(&[2, 3])),
        ("steps", AttrValue::ints(&[2, 2])),
    ];
    call(bencher, "slice", numbers(&IMAGES, 97), &range);
}

#[divan::bench]
fn flip_last(bencher: Bencher<'_, '_>) {
    let range = [
        ("starts", AttrValue::ints(&[-1])),
        ("ends", AttrValue::ints(&[i64::MIN])),
        ("axes", AttrValue::ints(&[3])),
        ("steps", AttrValue::ints(&[-1])),
    ];
    call(bencher, "slice", numbers(&IMAGES, 97), &range);
}

#[divan::bench]
fn channel_shuffle_8(bencher: Bencher<'_, '_>) {
    call(
        bencher,
        "channel_shuffle",
        numbers(&IMAGES, 97),
        &[("groups", AttrValue::int(8))],
    );
}

#[divan::bench]
fn sort_last(bencher: Bencher<'_, '_>) {
    call(
        bencher,
        "sort",
        numbers(&[1000, 1000], 1 << 24),
        &[("axis", AttrValue::int(1))],
    );
}

#[divan::bench]
fn sort_first(bencher: Bencher<'_, '_>) {
    call(
        bencher,
        "sort",
        numbers(&[1000, 1000], 1 << 24),
        &[("axis", AttrValue::int(0))],
    );
}

fn with_both() -> Vec<(&'static str, AttrValue)> {
    vec![
        ("return_inverse", AttrValue::Bool(true)),
        ("return_counts", AttrValue::Bool(true)),
    ]
}

/// Rows of 64 numbers; every second row repeats the one before.
#[divan::bench]
fn unique_rows(bencher: Bencher<'_, '_>) {
    let rows = numbers(&[10_000, 1, 64], 3).to_f64s().expect("numbers");
    let twice = rows.chunks(64).flat_map(|row| [row, row]).flatten();
    let x = Tensor::new(&[20_000, 64], twice.map(|&x| x as f32).collect()).expect("elements that fill the shape");
    let attrs = [with_both(), vec![("axis", AttrValue::int(0))]].concat();
    call(bencher, "unique_consecutive", x, &attrs);
}

#[divan::bench]
fn unique_flat(bencher: Bencher<'_, '_>) {
    call(bencher, "unique_consecutive", numbers(&[1_000_000], 3), &with_both());
}
