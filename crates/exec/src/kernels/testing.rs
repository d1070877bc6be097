//! Comparison of kernels with the reference semantics.

use std::cell::Cell;

use super::{Buffers, Context, Kept, Operand, Value, has_bf16, run};
use crate::Precision;
use tautomer_op::{AttrValue, Fact, lookup, normalize};
use tautomer_tensor::{DType, Tensor, Type};

/// A tensor of pseudo-random numbers between -2 and 2.
pub(crate) fn f32s(shape: &[usize], seed: u64) -> Tensor {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678;
    let elements = (0..shape.iter().product())
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32 / (1u64 << 22) as f32) - 2.0
        })
        .collect();
    Tensor::new::<f32>(shape, elements).unwrap()
}

/// Numbers beyond the range of integers, and next to its ends.
pub(crate) const EDGES: [f32; 22] = [
    0.0,
    -0.0,
    0.99,
    -0.99,
    127.5,
    128.0,
    -128.9,
    -129.0,
    255.9,
    256.0,
    300.0,
    -1000.0,
    2_147_483_520.0,
    2_147_483_648.0,
    -2_147_483_648.0,
    -2_147_483_904.0,
    1e15,
    1.8e38,
    -1.8e38,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// A call that a kernel and the reference semantics both compute.
pub(crate) struct Case {
    op: &'static str,
    operands: Vec<Option<Tensor>>,
    attrs: Vec<(&'static str, AttrValue)>,
    tolerance: f32,
    may_decline: bool,
    precision: Precision,
    /// Bfloat16 has to be used if the machine has it.
    rounds: bool,
}

impl Case {
    pub(crate) fn new(op: &'static str, operands: &[Tensor]) -> Case {
        Case {
            op,
            operands: operands.iter().cloned().map(Some).collect(),
            attrs: Vec::new(),
            tolerance: 1e-5,
            may_decline: false,
            precision: Precision::F32,
            rounds: false,
        }
    }

    /// Adds an operand, or `None` for a missing one.
    pub(crate) fn operand(mut self, tensor: Option<Tensor>) -> Case {
        self.operands.push(tensor);
        self
    }

    pub(crate) fn attr(mut self, name: &'static str, value: AttrValue) -> Case {
        self.attrs.push((name, value));
        self
    }

    pub(crate) fn ints(self, name: &'static str, value: &[i64]) -> Case {
        self.attr(name, AttrValue::ints(value))
    }

    pub(crate) fn int(self, name: &'static str, value: i64) -> Case {
        self.attr(name, AttrValue::int(value))
    }

    /// Sets the allowed error, relative to the largest magnitude of the result.
    pub(crate) fn ulp(mut self, tolerance: f32) -> Case {
        self.tolerance = tolerance;
        self
    }

    /// Lets products round their operands to bfloat16, which makes the errors larger.
    pub(crate) fn in_bf16(mut self) -> Case {
        self.precision = Precision::Bf16;
        self.ulp(1e-2)
    }

    /// Requires that they do, on machines that have bfloat16.
    pub(crate) fn surely(mut self) -> Case {
        self.rounds = true;
        self
    }

    /// Lets the kernel decline.
    pub(crate) fn may_decline(mut self) -> Case {
        self.may_decline = true;
        self
    }

    /// Compares all results; returns false if the kernel declined.
    pub(crate) fn check(self) -> bool {
        // Types of composite operators follow from their bodies, once there has been a graph.
        let _ = tautomer_graph::Graph::new();
        let def = lookup(self.op).unwrap();
        let types: Vec<Type> = self
            .operands
            .iter()
            .map(|o| o.as_ref().map_or(Type::Absent, |t| t.ty().into()))
            .collect();
        let facts: Vec<Fact<'_>> = types
            .iter()
            .zip(&self.operands)
            .map(|(ty, t)| Fact::with(ty, t.as_ref()))
            .collect();
        let what = || {
            let types: Vec<_> = types.iter().map(ToString::to_string).collect();
            let attrs: Vec<_> = self.attrs.iter().map(|(n, v)| format!("{n} = {v}")).collect();
            format!("{}({}) {{{}}}", self.op, types.join(", "), attrs.join(", "))
        };
        let normal = match normalize(def, &facts, &self.attrs, &Cell::new(0)) {
            Ok(normal) => normal,
            Err(e) => panic!("{}: {e}", what()),
        };
        let operands: Vec<Option<Tensor>> = normal
            .operands
            .iter()
            .map(|place| place.and_then(|i| self.operands[i].clone()))
            .collect();
        let kept = Kept::new(vec![true; operands.len()]);
        let buffers = Buffers::default();
        // Results do not depend on what is in the memory that they are written to.
        let want = reference(def, &operands, &normal.attrs);
        for result in want.iter().filter(|result| result.dtype() == DType::F32) {
            buffers.recycle(Tensor::vector(vec![f32::NAN; result.len()]));
        }
        let context = Context {
            threads: 1,
            kept: Some(&kept),
            buffers: Some(&buffers),
            precision: self.precision,
            ..Context::default()
        };
        let given: Vec<Operand<'_>> = operands.iter().map(Operand::from).collect();
        let run = |context| tensors(run(def, &given, &normal.attrs, context).unwrap());
        let Some(got) = run(context) else {
            assert!(self.may_decline, "{}: every kernel declined", what());
            return false;
        };
        assert_eq!(got.len(), want.len(), "{}", what());
        if self.rounds && has_bf16() {
            assert_eq!(kept.precision(), Precision::Bf16, "{}", what());
        }
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got.ty(), want.ty(), "{}", what());
            assert_close(got, want, self.tolerance, &what());
        }
        // With what the first run has left, with nothing left, and on several threads.
        let threads = 3;
        for context in [context, Context::default(), Context { threads, ..context }] {
            let again = run(context).unwrap();
            for (again, got) in again.iter().zip(&got) {
                let place = format!("{} on {} threads", what(), context.threads);
                assert_close(again, got, self.tolerance, &place);
            }
        }
        true
    }
}

/// Results that are in no memory of a run.
fn tensors(results: Option<super::Results>) -> Option<Vec<Tensor>> {
    let tensor = |value| match value {
        Value::Tensor(tensor) => tensor,
        Value::Placed(k) => panic!("result {k} has no place"),
    };
    Some(results?.into_iter().map(tensor).collect())
}

fn reference(def: &'static tautomer_op::OpDef, operands: &[Option<Tensor>], attrs: &[AttrValue]) -> Vec<Tensor> {
    tautomer_graph::evaluate_call(&tautomer_op::Op::Known(def), operands, attrs).unwrap()
}

/// Asserts that the tensors agree; floats of any width may differ by `tolerance` times the largest finite magnitude, or times 1 if
/// that is larger.
pub(crate) fn assert_close(got: &Tensor, want: &Tensor, tolerance: f32, what: &str) {
    if !matches!(want.dtype(), DType::F64 | DType::F32 | DType::F16 | DType::BF16) {
        assert!(got.same_bits(want), "{what}: {got:?} instead of {want:?}");
        return;
    }
    let (got, want) = (got.to_f64s().unwrap(), want.to_f64s().unwrap());
    let scale = want
        .iter()
        .filter(|x| x.is_finite())
        .fold(1.0f64, |m, x| m.max(x.abs()));
    for (i, (x, y)) in got.iter().zip(want.iter()).enumerate() {
        let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= f64::from(tolerance) * scale;
        assert!(same, "{what}: element {i} is {x}, not {y}");
    }
}
