//! A second run of a plan in which every dimension is known allocates nothing.
#![allow(
    unsafe_code,
    reason = "an allocator that counts passes everything on to that of the system"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use tautomer_diag::Source;
use tautomer_exec::{Executor, Mode, Plan};
use tautomer_graph::{BuildOptions, Params, build_program};
use tautomer_lang::parse_program;
use tautomer_tensor::Tensor;

thread_local! {
    /// How often this thread has asked for memory, and how often for a page or more.
    static COUNT: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Bytes of a page.
const PAGE: usize = 4096;

struct Counting;

// SAFETY: everything is done by the allocator of the system; a counter of the thread allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout);
        // SAFETY: upheld by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout);
        // SAFETY: upheld by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout);
        // SAFETY: upheld by the caller.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: upheld by the caller.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(layout: Layout) {
    let large = usize::from(layout.size() >= PAGE);
    let _ = COUNT.try_with(|count| count.set((count.get().0 + 1, count.get().1 + large)));
}

fn numbers(shape: &[usize], seed: usize) -> Tensor {
    let of = |i: usize| ((i * 37 + seed) % 101) as f32 / 50.0 - 1.0;
    Tensor::new(shape, (0..shape.iter().product()).map(of).collect::<Vec<f32>>()).unwrap()
}

/// How often a run asks for memory after the first two, and how often for a page or more.
fn allocations(text: &str) -> (usize, usize) {
    let program = parse_program(Arc::new(Source::new("test", text))).unwrap();
    let graph = build_program(&program, &BuildOptions::default()).unwrap();
    let executor = Executor::new(Plan::compile(&graph).unwrap(), Mode::Kernels).unwrap();
    let value = |seed: usize, slot: usize| {
        let ty = executor.plan().slots[slot].ty.as_tensor().unwrap().clone();
        numbers(&ty.shape.unwrap().to_concrete().unwrap(), seed)
    };
    let plan = executor.plan();
    let inputs: Vec<Tensor> = plan
        .inputs
        .iter()
        .enumerate()
        .map(|(i, port)| value(i, port.slot))
        .collect();
    let params = plan.params.iter().enumerate();
    let params: Params = params
        .map(|(i, port)| (port.name.clone().unwrap(), value(i + 7, port.slot)))
        .collect();
    let mut outputs = executor.run(&inputs, &params).unwrap();
    executor.run_into(&inputs, &params, &mut outputs).unwrap();
    let want: Vec<Tensor> = executor.run(&inputs, &params).unwrap();
    let before = COUNT.get();
    executor.run_into(&inputs, &params, &mut outputs).unwrap();
    let after = COUNT.get();
    for i in 0..plan.steps.len() {
        assert!(!executor.is_by_reference(i), "step {i} of\n{plan}");
    }
    assert!(outputs.iter().zip(&want).all(|(a, b)| a.same_bits(b)), "{text}");
    (after.0 - before.0, after.1 - before.1)
}

/// Programs with a step of each kind.
const PROGRAMS: [(&str, &str); 9] = [
    (
        "loops",
        "fn main(x: f32[8, 33], param w: f32[33]) {
            let y = softmax(x);
            let z = exp(y) * w - x;
            (softmax(z) + tanh(z) * y, where(z > y, z, y), reduce_sum(z) {axes = [1]})
        }",
    ),
    (
        "elementwise",
        "fn main(x: f32[8, 33], param w: f32[33]) { let y = exp(x) * w; max(relu(y) - x, tanh(y), w) / 2 }",
    ),
    (
        "views",
        "fn main(x: f32[1, 6, 8]) {
            let y = relu(x);
            let (a, b) = split(y) {axis = 1, sizes = [2, 4]};
            concat(reshape(b, [1, 2, 16]), exp(reshape(a, [1, 1, 16])), transpose(reshape(y, [3, 1, 16])) {perm = [1, 0, 2]}) {axis = 1}
        }",
    ),
    (
        "moves",
        "fn main(x: f32[4, 6, 8]) { let y = exp(x); (transpose(y) {perm = [2, 0, 1]}, concat(y, x) {axis = 2}, slice(y) {starts = [1], ends = [3], axes = [1]}) }",
    ),
    (
        "norms",
        "fn main(x: f32[4, 16], param s: f32[16], param b: f32[16]) { let y = layer_normalization(x, s, b); softmax(y) + log_softmax(y) }",
    ),
    (
        "types",
        "fn main(x: f32[40]) { let y = x > 0; where(y, cast(cast(x, f64) * 2.0, f32), x) }",
    ),
    (
        "pools",
        "fn main(x: f32[1, 8, 20, 20]) {
            (max_pool(x) {kernel_shape = [3, 3], strides = [2, 2]}, average_pool(x) {kernel_shape = [2, 2]}, global_average_pool(x))
        }",
    ),
    (
        "padding",
        "fn main(x: f32[1, 4, 6, 8]) { pad(exp(x)) {pads = [0, 0, 1, 1, 0, 0, 1, 1]} * 2 }",
    ),
    (
        "sums",
        "fn main(x: f32[4, 6, 8]) { reduce_sum(x) {axes = [1]} + reduce_max(exp(x)) {axes = [1]} }",
    ),
];

/// Programs whose kernels make small tables. Windows of 3 by 3 are left out: their tiles are allocated in each run.
const WITH_TABLES: [(&str, &str); 3] = [
    (
        "products",
        "fn main(x: f32[2, 16, 24], y: f32[2, 24, 16], param w: f32[24, 40], param b: f32[40]) { (relu(x @ w + b), x @ y) }",
    ),
    (
        "convolutions",
        "fn main(x: f32[1, 8, 20, 20], param w: f32[16, 8, 5, 5], param v: f32[16, 16, 1, 1], param d: f32[16, 1, 3, 3]) {
            let y = relu(conv(x, w) {pads = [2, 2, 2, 2]});
            relu(conv(y, v) + y) + conv(y, d) {group = 16, pads = [1, 1, 1, 1]}
        }",
    ),
    (
        "transposed convolutions",
        "fn main(x: f32[1, 8, 20, 20], param w: f32[8, 16, 3, 3], param v: f32[8, 4, 2, 2]) {
            (conv_transpose(exp(x), w), conv_transpose(x, v) {strides = [2, 2]})
        }",
    ),
];

#[test]
fn a_second_run_allocates_nothing() {
    let count = |(name, text): &(&'static str, &str)| (*name, allocations(text).0);
    let counts: Vec<(&str, usize)> = PROGRAMS.iter().map(count).collect();
    let none: Vec<(&str, usize)> = PROGRAMS.iter().map(|(name, _)| (*name, 0)).collect();
    assert_eq!(counts, none);
}

#[test]
fn a_second_run_asks_for_no_pages() {
    let count = |(name, text): &(&'static str, &str)| (*name, allocations(text).1);
    let counts: Vec<(&str, usize)> = WITH_TABLES.iter().map(count).collect();
    let none: Vec<(&str, usize)> = WITH_TABLES.iter().map(|(name, _)| (*name, 0)).collect();
    assert_eq!(counts, none);
}
