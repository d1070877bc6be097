//! Values for the graphs of examples, and the allowed difference of results.

use tautomer::graph::{Graph, Node, VertexId, interpret};
use tautomer::rule::Class;
use tautomer::tensor::{DType, Tensor};

/// A value for an input or parameter, determined by its name, so that two graphs get the same one.
fn value(graph: &Graph, v: VertexId, seed: u64, special: bool) -> Option<Tensor> {
    let ty = graph.ty(v).as_tensor()?;
    // Symbolic dimensions are 3; tensors of unknown rank are matrices.
    let shape: Vec<usize> = ty.shape.as_ref().map_or_else(
        || vec![3, 3],
        |shape| shape.iter().map(|d| d.as_const().map_or(3, |n| n as usize)).collect(),
    );
    let name = graph.vertex(v).name.as_deref().unwrap_or("");
    let mut state = name.bytes().fold(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let x = (state >> 33) ^ (state >> 47);
        (x & 0xff_ffff) as f64 / f64::from(1u32 << 23) - 1.0
    };
    let n: usize = shape.iter().product();
    if ty.dtype.is_float() {
        let specials = [
            -0.0,
            0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            1e30,
            -1e30,
            1e-40,
        ];
        let data: Vec<f64> = (0..n)
            .map(|_| {
                let x = next() * 4.0;
                if special {
                    specials[(x.abs() * 1000.0) as usize % specials.len()]
                } else {
                    x
                }
            })
            .collect();
        Tensor::from_f64s(ty.dtype, &shape, &data)
    } else if ty.dtype == DType::Bool {
        let data: Vec<i128> = (0..n).map(|_| i128::from(next() > 0.0)).collect();
        Tensor::from_ints(ty.dtype, &shape, &data)
    } else {
        let signed = Tensor::from_ints(ty.dtype, &[], &[-1]).is_some_and(|t| t.to_ints() == Some(vec![-1]));
        let data: Vec<i128> = (0..n)
            .map(|_| {
                let x = (next() * 9.0) as i128;
                if x == 0 {
                    1
                } else if signed {
                    x
                } else {
                    x.abs()
                }
            })
            .collect();
        Tensor::from_ints(ty.dtype, &shape, &data)
    }
}

/// The results of a graph on values that depend on names and on `seed`.
pub(super) fn run(graph: &Graph, seed: u64, special: bool) -> Result<Vec<Tensor>, String> {
    interpret(graph, &|v| {
        matches!(graph.vertex(v).node, Node::Input | Node::Param)
            .then(|| value(graph, v, seed, special))
            .flatten()
    })
    .map_err(|e| e.to_string())
}

/// The first difference between two lists of results.
pub(super) fn difference(class: Class, a: &Tensor, b: &Tensor) -> Option<String> {
    if a.ty() != b.ty() {
        return Some(format!("{} against {}", a.ty(), b.ty()));
    }
    let (Some(x), Some(y)) = (a.to_f64s(), b.to_f64s()) else {
        return (a != b).then(|| "values differ".to_owned());
    };
    let scale = x
        .iter()
        .filter(|v| v.is_finite())
        .fold(0f64, |m, v| m.max(v.abs()))
        .max(1e-6);
    let unit = match a.dtype() {
        DType::F64 => 1e-12,
        DType::F32 => 2e-5,
        _ => 2e-2,
    };
    let allowed = match class {
        Class::Bitwise => 0.0,
        Class::Real => unit,
        Class::Approx(e) => e.max(unit),
    };
    x.iter()
        .zip(&y)
        .position(|(p, q)| match class {
            Class::Bitwise => !(p.to_bits() == q.to_bits() || p.is_nan() && q.is_nan()),
            _ => !((p - q).abs() <= allowed * scale || p == q || p.is_nan() && q.is_nan()),
        })
        .map(|i| format!("element {i} is {:?} against {:?}", x[i], y[i]))
}
