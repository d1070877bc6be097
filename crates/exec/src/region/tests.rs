//! Random elementwise graphs, computed by loops and by the reference semantics.

use std::sync::Arc;

use half::{bf16, f16};
use proptest::prelude::*;
use tautomer_diag::Source;
use tautomer_graph::{BuildOptions, Graph, Params, VertexId, build_program};
use tautomer_lang::parse_program;
use tautomer_op::{AttrValue, Op, lookup};
use tautomer_tensor::{DType, Shape, Tensor, Type};

use crate::kernels::testing::assert_close;
use crate::{Executor, Mode, Plan};

/// Choices from random bytes; zeros follow.
struct Tape<'a>(&'a [u8]);

impl Tape<'_> {
    fn next(&mut self) -> usize {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first.into()
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.next() % all.len()]
    }
}

fn known(name: &str) -> Op {
    Op::Known(lookup(name).unwrap())
}

/// Small numbers, and special ones of floats.
fn tensor(dtype: DType, shape: &[usize], seed: usize) -> Tensor {
    let n: usize = shape.iter().product();
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e-30];
    let numbers: Vec<f64> = (0..n)
        .map(|i| {
            let at = (i + 1).wrapping_mul(2_654_435_761).wrapping_add(seed * 97) >> 3;
            match at % 11 {
                0 => special[at / 11 % special.len()],
                _ => (at % 401) as f64 / 16.0 - 12.0,
            }
        })
        .collect();
    macro_rules! make {
        ($ty:ty, |$x:ident| $value:expr) => {
            Tensor::new::<$ty>(shape, numbers.iter().map(|&$x| $value).collect()).unwrap()
        };
    }
    match dtype {
        DType::Bool => make!(bool, |x| x > 0.0),
        DType::I8 => make!(i8, |x| x as i8),
        DType::I16 => make!(i16, |x| x as i16),
        DType::I32 => make!(i32, |x| x as i32),
        DType::I64 => make!(i64, |x| x as i64),
        DType::U8 => make!(u8, |x| x.abs() as u8),
        DType::U16 => make!(u16, |x| x.abs() as u16),
        DType::U32 => make!(u32, |x| x.abs() as u32),
        DType::U64 => make!(u64, |x| x.abs() as u64),
        DType::F16 => make!(f16, |x| f16::from_f64(x)),
        DType::BF16 => make!(bf16, |x| bf16::from_f64(x)),
        DType::F32 => make!(f32, |x| x as f32),
        _ => make!(f64, |x| x),
    }
}

const TYPES: [DType; 12] = [
    DType::F32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
];

/// A graph whose operators round as the reference does, and the tensors of its inputs.
fn graph(tape: &mut Tape<'_>, steps: usize) -> (Graph, Vec<Tensor>) {
    let dtype = tape.of(&TYPES);
    let is_float = matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64);
    let full: &[usize] = tape.of(&[&[33][..], &[2, 3, 20], &[4, 65], &[1, 5, 7, 16], &[1]]);
    let mut g = Graph::new();
    let mut inputs = Vec::new();
    let mut numbers: Vec<VertexId> = Vec::new();
    let mut truths: Vec<VertexId> = Vec::new();
    for at in 0..4 {
        // All of the shape, or with ones: a scalar, the last dimension, the channels.
        let shape: Vec<usize> = match if at == 0 { 0 } else { tape.next() % 5 } {
            0 | 1 => full.to_vec(),
            2 => Vec::new(),
            3 => full[full.len() - 1..].to_vec(),
            _ => full
                .iter()
                .enumerate()
                .map(|(dim, &n)| if dim == 1 { n } else { 1 })
                .collect(),
        };
        let dtype = if at == 3 { DType::Bool } else { dtype };
        let v = g.input(&format!("x{at}"), Type::tensor(dtype, Shape::from(&shape[..])));
        inputs.push(tensor(dtype, &shape, at + tape.next()));
        if at == 3 { truths.push(v) } else { numbers.push(v) }
    }
    for _ in 0..steps {
        let pick = |tape: &mut Tape<'_>, all: &[VertexId]| all[all.len() - 1 - tape.next() % all.len()];
        let (x, y) = (pick(tape, &numbers), pick(tape, &numbers));
        let (p, q) = (pick(tape, &truths), pick(tape, &truths));
        let names: &[&str] = if is_float {
            &[
                "add",
                "sub",
                "mul",
                "div",
                "max",
                "min",
                "neg",
                "abs",
                "relu",
                "sqrt",
                "floor",
                "ceil",
                "round",
                "less",
                "equal",
                "greater_or_equal",
                "where",
                "and",
                "or",
                "not",
            ]
        } else {
            &[
                "add", "sub", "mul", "max", "min", "less", "equal", "greater", "where", "and", "xor", "not",
            ]
        };
        let name = tape.of(names);
        let operands: &[VertexId] = match name {
            "not" => &[p],
            "and" | "or" | "xor" => &[p, q],
            "where" => &[p, x, y],
            "neg" | "abs" | "relu" | "sqrt" | "floor" | "ceil" | "round" => &[x],
            _ => &[x, y],
        };
        // Some operators lack some types.
        let Ok(v) = g.call(known(name), operands, &[]) else {
            continue;
        };
        match name {
            "less" | "equal" | "greater" | "greater_or_equal" | "and" | "or" | "xor" | "not" => truths.push(v),
            _ => numbers.push(v),
        }
        if tape.next().is_multiple_of(4) {
            g.output(v, None);
        }
    }
    g.output(numbers[numbers.len() - 1], None);
    g.output(truths[truths.len() - 1], None);
    (g, inputs)
}

/// The number of regions. Results differ by the tolerance times their size, or `least` if they are smaller.
fn compare(g: &Graph, inputs: &[Tensor], tolerance: f64, least: f64) -> Result<usize, TestCaseError> {
    let plan = Plan::compile(g).unwrap();
    let regions = plan.regions.len();
    let params = Params::new();
    let executor = |mode: Mode| Executor::new(plan.clone(), mode).unwrap();
    let fast = executor(Mode::Kernels);
    let (by_loops, by_reference) = (
        fast.run(inputs, &params),
        executor(Mode::Reference).run(inputs, &params),
    );
    let again = fast.run(inputs, &params);
    let (Ok(by_loops), Ok(by_reference)) = (by_loops, by_reference) else {
        return Err(TestCaseError::fail("a run fails"));
    };
    let same = again.is_ok_and(|again| again.iter().zip(&by_loops).all(|(a, b)| a.same_bits(b)));
    prop_assert!(same, "a second run gives other results\n{}", plan);
    for (got, want) in by_loops.iter().zip(&by_reference) {
        prop_assert_eq!(got.ty(), want.ty());
        let (got, want) = (got.to_f64s().unwrap(), want.to_f64s().unwrap());
        for (at, (x, y)) in got.iter().zip(&want).enumerate() {
            let near = (x - y).abs() <= tolerance * y.abs().max(least);
            let same = x == y || (x.is_nan() && y.is_nan()) || near;
            prop_assert!(same, "{} instead of {} at {}\n{}", x, y, at, plan);
        }
    }
    Ok(regions)
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(300))]

    #[test]
    fn loops_compute_what_the_reference_computes(
        tape in prop::collection::vec(any::<u8>(), 20..200),
        steps in 1usize..24,
    ) {
        let (g, inputs) = graph(&mut Tape(&tape), steps);
        compare(&g, &inputs, 0.0, 0.0)?;
    }
}

#[test]
fn functions_are_near_the_reference() {
    let names = [
        "exp",
        "log",
        "tanh",
        "sigmoid",
        "erf",
        "sin",
        "cos",
        "sqrt",
        "reciprocal",
        "softsign",
        "silu",
        "hard_swish",
        "hard_sigmoid",
        "leaky_relu",
        "elu",
        "gelu",
        "clip",
    ];
    for name in names {
        for (dtype, tolerance) in [
            (DType::F32, 1e-5),
            (DType::F64, 1e-13),
            (DType::F16, 4e-3),
            (DType::BF16, 3e-2),
        ] {
            // The reference rounds 16-bit floats within a function too, and one plus the error function loses digits.
            let least = if dtype.size() == 2 { 1.0 } else { 0.1 };
            for shape in [&[][..], &[0], &[5], &[3, 65]] {
                let mut g = Graph::new();
                let x = g.input("x", Type::tensor(dtype, Shape::from(shape)));
                let Ok(y) = g.call(known(name), &[x], &[]) else {
                    continue;
                };
                // A step alone may be left to its kernel.
                let y = g.call(known("neg"), &[y], &[]).unwrap();
                g.output(y, None);
                let regions = compare(&g, &[tensor(dtype, shape, 3)], tolerance, least);
                assert_eq!(
                    regions.unwrap_or_else(|problem| panic!("{name} of {dtype:?}: {problem}")),
                    1,
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn powers_are_those_of_the_reference() {
    for exponent in [0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 2.5, -2.0, f64::INFINITY, f64::NAN] {
        for (dtype, tolerance) in [(DType::F32, 1e-6), (DType::F64, 1e-14)] {
            let mut g = Graph::new();
            let x = g.input("x", Type::tensor(dtype, Shape::from(&[40][..])));
            let value = match dtype {
                DType::F32 => Tensor::scalar(exponent as f32),
                _ => Tensor::scalar(exponent),
            };
            let constant = g.constant(value.clone());
            let given = g.input("y", Type::tensor(dtype, Shape::from(&[][..])));
            for y in [constant, given] {
                let z = g.call(known("pow"), &[x, y], &[]).unwrap();
                g.output(z, None);
            }
            compare(&g, &[tensor(dtype, &[40], 1), value], tolerance, f64::MIN_POSITIVE)
                .unwrap_or_else(|e| panic!("{exponent}: {e}"));
        }
    }
}

/// A loop with an attribute of `clip`, and one that takes several passes over an inner dimension.
#[test]
fn a_chain_is_one_region() {
    let mut g = Graph::new();
    let x = g.input("x", Type::tensor(DType::F32, Shape::from(&[2, 3, 50][..])));
    let scale = g.input("s", Type::tensor(DType::F32, Shape::from(&[3, 1][..])));
    let scaled = g.call(known("mul"), &[x, scale], &[]).unwrap();
    let attrs = [("min", AttrValue::float(-1.0)), ("max", AttrValue::float(2.0))];
    let clipped = g.call(known("clip"), &[scaled], &attrs).unwrap();
    let sum = g.call(known("add"), &[clipped, x], &[]).unwrap();
    g.output(sum, None);
    let plan = Plan::compile(&g).unwrap();
    assert!(
        plan.to_string().contains("one loop for steps 0 to 2: mul, clip, add"),
        "{plan}"
    );
    let inputs = [tensor(DType::F32, &[2, 3, 50], 1), tensor(DType::F32, &[3, 1], 2)];
    assert_eq!(compare(&g, &inputs, 0.0, 0.0).unwrap(), 1);
}

#[test]
fn conversions_to_bytes_are_those_of_the_reference() {
    for small in [DType::U8, DType::I8] {
        let mut g = Graph::new();
        let n = crate::kernels::testing::EDGES.len();
        let x = g.input("x", Type::tensor(DType::F32, Shape::from(&[n][..])));
        let y = g.call(known("neg"), &[x], &[]).unwrap();
        let to = |dtype| [("to", AttrValue::DType(dtype))];
        let bytes = g.call(known("cast"), &[y], &to(small)).unwrap();
        let wide = g.call(known("cast"), &[bytes], &to(DType::I32)).unwrap();
        let back = g.call(known("cast"), &[wide], &to(DType::F32)).unwrap();
        let direct = g.call(known("cast"), &[bytes], &to(DType::F32)).unwrap();
        let sum = g.call(known("add"), &[back, direct], &[]).unwrap();
        g.output(bytes, None);
        g.output(sum, None);
        let plan = Plan::compile(&g).unwrap();
        assert_eq!(plan.regions.len(), 1, "{plan}");
        let x = Tensor::vector(crate::kernels::testing::EDGES.to_vec());
        compare(&g, &[x], 0.0, 0.0).unwrap_or_else(|e| panic!("{small:?}: {e}"));
    }
}

/// Values in the memory of a run are read and written there, and those of symbolic shapes too.
#[test]
fn loops_are_between_kernels() {
    let text = |n: &str| {
        format!(
            "fn main(x: f32[{n}, 40]) {{
                let y = softmax(x);
                let z = exp(y) * y - x;
                let positive = z > 0.5;
                (reduce_sum(z + y) {{axes = [1]}}, where(positive, softmax(z), y) / 2, positive)
            }}"
        )
    };
    for (n, sizes) in [("6", &[6][..]), ("n", &[3, 6, 1, 3])] {
        let program = parse_program(Arc::new(Source::new("test", text(n)))).unwrap();
        let g = build_program(&program, &BuildOptions::default()).unwrap();
        let plan = Plan::compile(&g).unwrap();
        assert!(
            plan.regions
                .iter()
                .any(|region| region.count > 1 && region.outputs.len() > 1),
            "{plan}"
        );
        let executor = Executor::new(plan.clone(), Mode::Kernels).unwrap();
        let reference = Executor::new(plan, Mode::Reference).unwrap();
        for &n in sizes {
            let x = Tensor::new(&[n, 40], (0..n * 40).map(|i| (i * 37 % 101) as f32 / 50.0).collect()).unwrap();
            let want = reference.run(std::slice::from_ref(&x), &Params::new()).unwrap();
            let got = executor.run(&[x], &Params::new()).unwrap();
            for (got, want) in got.iter().zip(&want) {
                assert_close(got, want, 1e-5, "loops between kernels");
            }
        }
    }
}
