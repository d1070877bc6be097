//! Kernels through the executor, one call at a time: `cargo bench --bench exec`.
//!
//! Items are floating-point operations, so that the throughput divan shows is FLOP/s.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::graph::{Graph, Params};
use tautomer::op::{AttrValue, Op, lookup};
use tautomer::tensor::{DType, Shape, Tensor, Type};

fn main() {
    divan::main();
}

/// Runs one call of `op` on operands of these shapes; it counts as `flops` operations.
fn call(bencher: Bencher<'_, '_>, op: &str, shapes: &[&[usize]], attrs: &[(&str, AttrValue)], flops: usize) {
    let mut graph = Graph::new();
    let operands: Vec<_> = shapes
        .iter()
        .enumerate()
        .map(|(i, &shape)| graph.input(&format!("x{i}"), Type::tensor(DType::F32, Shape::from(shape))))
        .collect();
    let op = Op::Known(lookup(op).expect("an operator of the table"));
    let y = graph.call(op, &operands, attrs).expect("a well-typed call");
    graph.output(y, None);
    let plan = Plan::compile(&graph).expect("a plan");
    let executor = Executor::new(plan, Mode::Kernels).expect("an executor");
    let inputs: Vec<Tensor> = shapes
        .iter()
        .map(|shape| {
            let size = shape.iter().product();
            let elements = (0..size).map(|i| (i % 97) as f32 / 97.0).collect::<Vec<f32>>();
            Tensor::new(shape, elements).expect("elements that fill the shape")
        })
        .collect();
    let params = Params::new();
    bencher
        .counter(ItemsCount::new(flops))
        .bench_local(|| executor.run(black_box(&inputs), &params).expect("a run"));
}

fn conv(bencher: Bencher<'_, '_>, x: &[usize], w: &[usize], group: i64, pad: i64) {
    let positions = x[0] * x[2] * x[3];
    let flops = 2 * w.iter().product::<usize>() * positions;
    let attrs = [("group", AttrValue::int(group)), ("pads", AttrValue::ints(&[pad; 4]))];
    call(bencher, "conv", &[x, w], &attrs, flops);
}

#[divan::bench(args = [256, 1024])]
fn matmul(bencher: Bencher<'_, '_>, n: usize) {
    call(bencher, "matmul", &[&[n, n], &[n, n]], &[], 2 * n * n * n);
}

#[divan::bench]
fn matmul_batched(bencher: Bencher<'_, '_>) {
    let shapes: [&[usize]; 2] = [&[12, 128, 64], &[12, 64, 128]];
    call(bencher, "matmul", &shapes, &[], 2 * 12 * 128 * 64 * 128);
}

#[divan::bench]
fn conv_3x3(bencher: Bencher<'_, '_>) {
    conv(bencher, &[1, 64, 56, 56], &[64, 64, 3, 3], 1, 1);
}

#[divan::bench]
fn conv_3x3_deep(bencher: Bencher<'_, '_>) {
    conv(bencher, &[1, 512, 7, 7], &[512, 512, 3, 3], 1, 1);
}

#[divan::bench]
fn conv_1x1(bencher: Bencher<'_, '_>) {
    conv(bencher, &[1, 256, 56, 56], &[64, 256, 1, 1], 1, 0);
}

#[divan::bench]
fn conv_depthwise(bencher: Bencher<'_, '_>) {
    conv(bencher, &[1, 128, 56, 56], &[128, 1, 3, 3], 128, 1);
}

#[divan::bench]
fn add_4m(bencher: Bencher<'_, '_>) {
    call(bencher, "add", &[&[1 << 22], &[1 << 22]], &[], 1 << 22);
}

#[divan::bench]
fn add_channels(bencher: Bencher<'_, '_>) {
    call(bencher, "add", &[&[1, 64, 256, 256], &[64, 1, 1]], &[], 1 << 22);
}

#[divan::bench]
fn exp_4m(bencher: Bencher<'_, '_>) {
    call(bencher, "exp", &[&[1 << 22]], &[], 1 << 22);
}

#[divan::bench]
fn softmax(bencher: Bencher<'_, '_>) {
    call(
        bencher,
        "softmax",
        &[&[1024, 1024]],
        &[("axis", AttrValue::int(-1))],
        1 << 20,
    );
}

#[divan::bench]
fn transpose(bencher: Bencher<'_, '_>) {
    call(
        bencher,
        "transpose",
        &[&[2048, 2048]],
        &[("perm", AttrValue::ints(&[1, 0]))],
        1 << 22,
    );
}
