//! Benchmarks of kernels through the executor, one call at a time: `cargo bench --bench exec`.
//!
//! Items are floating-point operations, so the throughput that divan shows is FLOP/s.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::graph::{Graph, Params, VertexId};
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

/// Products with weights, which are packed once: rows, inner dimension, columns.
#[divan::bench(args = [[1024, 1024, 1024], [256, 768, 2048], [256, 2048, 768], [1, 768, 2048], [1, 2048, 768]])]
fn matmul_weights(bencher: Bencher<'_, '_>, [rows, inner, columns]: [usize; 3]) {
    let (mut net, x) = Net::new(&[rows, inner]);
    let w = net.param(&[inner, columns]);
    net.flops = 2 * rows * inner * columns;
    let y = net.call("matmul", &[x, w], &[]);
    net.run(bencher, x, y);
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

/// A copy to memory that exists, with which what memory limits is compared.
#[divan::bench]
fn copy_4m(bencher: Bencher<'_, '_>) {
    let from = vec![1.0f32; 1 << 22];
    let mut to = vec![0.0f32; 1 << 22];
    bencher
        .counter(ItemsCount::new(1usize << 22))
        .bench_local(|| black_box(&mut to).copy_from_slice(black_box(&from)));
}

#[divan::bench]
fn relu_4m(bencher: Bencher<'_, '_>) {
    call(bencher, "relu", &[&[1 << 22]], &[], 1 << 22);
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

/// A network of convolutions under construction, with constant weights.
struct Net {
    graph: Graph,
    params: Params,
    flops: usize,
}

impl Net {
    fn new(x: &[usize]) -> (Net, VertexId) {
        let mut graph = Graph::new();
        let x = graph.input("x", Type::tensor(DType::F32, Shape::from(x)));
        let (params, flops) = (Params::new(), 0);
        (Net { graph, params, flops }, x)
    }

    fn shape(&self, v: VertexId) -> Vec<usize> {
        let ty = self.graph.ty(v).as_tensor().expect("a tensor");
        ty.shape.as_ref().and_then(|s| s.to_concrete()).expect("a known shape")
    }

    fn param(&mut self, shape: &[usize]) -> VertexId {
        let name = format!("w{}", self.params.len());
        let scale = (2.0 / shape.iter().skip(1).product::<usize>() as f32).sqrt();
        let elements = (0..shape.iter().product()).map(|i: usize| ((i * 37 % 101) as f32 / 50.0 - 1.0) * scale);
        let value = Tensor::new::<f32>(shape, elements.collect()).expect("elements that fill the shape");
        self.params.insert(name.as_str().into(), value);
        self.graph.param(&name, Type::tensor(DType::F32, Shape::from(shape)))
    }

    fn call(&mut self, op: &str, operands: &[VertexId], attrs: &[(&str, AttrValue)]) -> VertexId {
        let op = Op::Known(lookup(op).expect("an operator of the table"));
        self.graph.call(op, operands, attrs).expect("a well-typed call")
    }

    fn conv(&mut self, x: VertexId, filters: usize, kernel: usize, stride: i64) -> VertexId {
        let channels = self.shape(x)[1];
        let w = self.param(&[filters, channels, kernel, kernel]);
        let b = self.param(&[filters]);
        let pad = (kernel / 2) as i64;
        let attrs = [
            ("strides", AttrValue::ints(&[stride; 2])),
            ("pads", AttrValue::ints(&[pad; 4])),
        ];
        let y = self.call("conv", &[x, w, b], &attrs);
        self.flops += 2 * channels * kernel * kernel * self.shape(y).iter().product::<usize>();
        y
    }

    fn pool(&mut self, x: VertexId, kernel: i64, stride: i64, pad: i64) -> VertexId {
        let attrs = [
            ("kernel_shape", AttrValue::ints(&[kernel; 2])),
            ("strides", AttrValue::ints(&[stride; 2])),
            ("pads", AttrValue::ints(&[pad; 4])),
        ];
        self.call("max_pool", &[x], &attrs)
    }

    fn dense(&mut self, x: VertexId, outputs: usize) -> VertexId {
        let inputs = self.shape(x)[1];
        let (w, b) = (self.param(&[outputs, inputs]), self.param(&[outputs]));
        self.flops += 2 * inputs * outputs;
        self.call("dense", &[x, w, b], &[])
    }

    fn run(mut self, bencher: Bencher<'_, '_>, x: VertexId, y: VertexId) {
        self.graph.output(y, None);
        let shape = self.shape(x);
        let plan = tautomer::plan(&self.graph).expect("a plan");
        let executor = Executor::new(plan, Mode::Kernels).expect("an executor");
        let x = Tensor::new(&shape, vec![0.5f32; shape.iter().product()]).expect("an image");
        bencher
            .counter(ItemsCount::new(self.flops))
            .bench_local(|| executor.run(std::slice::from_ref(&x), &self.params).expect("a run"));
    }
}

/// Convolutions with constant weights, counted as direct ones: channels, size of the image, filters, size of the window,
/// stride.
#[divan::bench(args = [
    [3, 224, 64, 7, 2], [64, 56, 64, 1, 1], [256, 56, 64, 1, 1], [64, 56, 64, 3, 1], [128, 28, 128, 3, 1],
    [256, 14, 256, 3, 1], [512, 7, 512, 3, 1], [128, 28, 512, 1, 1], [2048, 7, 512, 1, 1], [256, 56, 256, 3, 1],
    [16, 96, 24, 3, 1], [128, 56, 128, 3, 2], [256, 28, 256, 3, 2],
])]
fn conv_layer(bencher: Bencher<'_, '_>, [channels, size, filters, kernel, stride]: [usize; 5]) {
    let (mut net, x) = Net::new(&[1, channels, size, size]);
    let y = net.conv(x, filters, kernel, stride as i64);
    net.run(bencher, x, y);
}

#[divan::bench(args = [[64, 111, 3, 2], [192, 28, 3, 1], [32, 500, 4, 4]])]
fn max_pool(bencher: Bencher<'_, '_>, [channels, size, kernel, stride]: [usize; 4]) {
    let attrs = [
        ("kernel_shape", AttrValue::ints(&[kernel as i64; 2])),
        ("strides", AttrValue::ints(&[stride as i64; 2])),
    ];
    let shape = [1, channels, size, size];
    call(bencher, "max_pool", &[&shape], &attrs, shape.iter().product());
}

/// ResNet-50, with batch normalization folded into the convolutions.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn resnet50(bencher: Bencher<'_, '_>) {
    let (mut net, image) = Net::new(&[1, 3, 224, 224]);
    let mut x = net.conv(image, 64, 7, 2);
    x = net.call("relu", &[x], &[]);
    x = net.pool(x, 3, 2, 1);
    for (stage, blocks) in [3, 4, 6, 3].into_iter().enumerate() {
        let width = 64 << stage;
        for block in 0..blocks {
            let stride = if stage > 0 && block == 0 { 2 } else { 1 };
            let mut y = net.conv(x, width, 1, 1);
            y = net.call("relu", &[y], &[]);
            y = net.conv(y, width, 3, stride);
            y = net.call("relu", &[y], &[]);
            y = net.conv(y, 4 * width, 1, 1);
            if block == 0 {
                x = net.conv(x, 4 * width, 1, stride);
            }
            x = net.call("add", &[x, y], &[]);
            x = net.call("relu", &[x], &[]);
        }
    }
    x = net.call("global_average_pool", &[x], &[]);
    x = net.call("flatten", &[x], &[]);
    x = net.dense(x, 1000);
    net.run(bencher, image, x);
}

/// VGG-19.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn vgg19(bencher: Bencher<'_, '_>) {
    let (mut net, image) = Net::new(&[1, 3, 224, 224]);
    let mut x = image;
    for (width, count) in [(64, 2), (128, 2), (256, 4), (512, 4), (512, 4)] {
        for _ in 0..count {
            x = net.conv(x, width, 3, 1);
            x = net.call("relu", &[x], &[]);
        }
        x = net.pool(x, 2, 2, 0);
    }
    x = net.call("flatten", &[x], &[]);
    for outputs in [4096, 4096, 1000] {
        x = net.dense(x, outputs);
        if outputs > 1000 {
            x = net.call("relu", &[x], &[]);
        }
    }
    net.run(bencher, image, x);
}

/// Eight additions one after the other, of four million elements each; bytes are those of operands and result.
fn chain<T: tautomer::tensor::Element>(bencher: Bencher<'_, '_>, one: T) {
    const N: usize = 1 << 22;
    let mut graph = Graph::new();
    let ty = Type::tensor(T::DTYPE, Shape::from(&[N][..]));
    let x = graph.input("x", ty.clone());
    let y = graph.input("y", ty);
    let add = Op::Known(lookup("add").expect("an operator of the table"));
    let mut sum = x;
    for _ in 0..8 {
        sum = graph.call(add.clone(), &[sum, y], &[]).expect("a well-typed call");
    }
    graph.output(sum, None);
    let executor = Executor::new(Plan::compile(&graph).expect("a plan"), Mode::Kernels).expect("an executor");
    let value = Tensor::new(&[N], vec![one; N]).expect("elements that fill the shape");
    let (inputs, params) = ([value.clone(), value], Params::new());
    bencher
        .counter(divan::counter::BytesCount::new(3 * N * size_of::<T>()))
        .bench_local(|| executor.run(black_box(&inputs), &params).expect("a run"));
}

#[divan::bench]
fn chain_f32(bencher: Bencher<'_, '_>) {
    chain(bencher, 1f32);
}

#[divan::bench]
fn chain_f64(bencher: Bencher<'_, '_>) {
    chain(bencher, 1f64);
}

#[divan::bench]
fn chain_i32(bencher: Bencher<'_, '_>) {
    chain(bencher, 1i32);
}

#[divan::bench]
fn chain_i64(bencher: Bencher<'_, '_>) {
    chain(bencher, 1i64);
}

#[divan::bench(args = ["exp", "log", "tanh", "erf", "sin", "sigmoid", "gelu", "silu"])]
fn function(bencher: Bencher<'_, '_>, op: &str) {
    call(bencher, op, &[&[1 << 16]], &[], 1 << 16);
}
