//! Random inputs from a seed, and the difference between two results.

use crate::graph::{Graph, Params};
use crate::tensor::{DType, Dim, Tensor, Type};

use super::extents::Extents;

/// The maximum number of elements of a random tensor.
const LARGEST_INPUT: usize = 1 << 26;

/// A pseudo-random number generator; the same seed gives the same numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number between -1 and 1.
    fn number(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A number from 0 to `n - 1`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// A tensor of that type: floats balanced around zero, small nonnegative integers.
    fn tensor(&mut self, dtype: DType, shape: &[usize]) -> Option<Tensor> {
        let n: usize = shape.iter().try_fold(1usize, |n, extent| n.checked_mul(*extent))?;
        if n > LARGEST_INPUT {
            return None;
        }
        if dtype.is_float() {
            let values: Vec<f64> = (0..n).map(|_| self.number() * 2.0).collect();
            return Tensor::from_f64s(dtype, shape, &values);
        }
        if dtype == DType::Utf8 {
            let texts = (0..n).map(|_| format!("text {}", self.below(4))).collect();
            return Tensor::new::<String>(shape, texts);
        }
        let most = if dtype == DType::Bool { 2 } else { 4 };
        let values: Vec<i128> = (0..n).map(|_| i128::from(self.below(most))).collect();
        Tensor::from_ints(dtype, shape, &values)
    }
}

/// The inputs with other floats: each input is scaled by up to a thousand, and every other one is made nonnegative.
pub(crate) fn spread(inputs: &[Tensor], random: &mut Random) -> Vec<Tensor> {
    let mut one = |x: &Tensor| {
        let (scale, signed) = (10f64.powi(random.below(4) as i32), random.below(2) == 0);
        let fresh = random.tensor(x.dtype(), x.shape())?.to_f64s()?;
        let one = |v: f64| if signed { v * scale } else { v.abs() * scale };
        let values: Vec<f64> = fresh.into_iter().map(one).collect();
        Tensor::from_f64s(x.dtype(), x.shape(), &values).filter(|_| x.dtype().is_float())
    };
    inputs.iter().map(|x| one(x).unwrap_or_else(|| x.clone())).collect()
}

/// The same inputs and parameters, each float other than zero changed by one part in a million, up or down.
pub(crate) fn nudged(inputs: &[Tensor], params: &Params, random: &mut Random) -> (Vec<Tensor>, Params) {
    let mut one = |x: &Tensor| {
        let values = x.to_f64s().filter(|_| x.dtype().is_float())?;
        let up = |v: f64, random: &mut Random| {
            if random.below(2) == 0 {
                v * (1.0 + NUDGE)
            } else {
                v * (1.0 - NUDGE)
            }
        };
        let values: Vec<f64> = values.into_iter().map(|v| up(v, random)).collect();
        Tensor::from_f64s(x.dtype(), x.shape(), &values)
    };
    let inputs = inputs.iter().map(|x| one(x).unwrap_or_else(|| x.clone())).collect();
    let params = params
        .iter()
        .map(|(name, x)| (name.clone(), one(x).unwrap_or_else(|| x.clone())))
        .collect();
    (inputs, params)
}

/// The relative change of inputs that tests how stable a result is.
pub(crate) const NUDGE: f64 = 1e-6;

/// Whether results appear to depend on the inputs: one has different elements, or is a single number other than zero.
pub(crate) fn tell(results: &[Tensor]) -> bool {
    let varies = |values: &mut dyn Iterator<Item = f64>, len: usize| {
        let mut finite = values.filter(|v| v.is_finite());
        match finite.next() {
            Some(first) => finite.any(|v| v != first) || len == 1 && first != 0.0,
            None => false,
        }
    };
    results.iter().any(|result| match result {
        Tensor::F32(values) => varies(&mut values.iter().map(|v| f64::from(*v)), values.len()),
        other => match other.to_f64s() {
            Some(values) => varies(&mut values.iter().copied(), values.len()),
            None => true,
        },
    })
}

/// The bytes needed to draw values for all inputs, and for parameters without values, with these values for symbols.
pub(crate) fn input_bytes(graph: &Graph, params: &Params, extents: &Extents) -> f64 {
    let given = |v| {
        graph
            .vertex(v)
            .name
            .as_ref()
            .is_some_and(|name| params.contains_key(name))
    };
    let drawn = graph.inputs().iter().chain(graph.params()).filter(|&&v| !given(v));
    let bytes = |ty: &Type| {
        let ty = ty.as_tensor()?;
        let shape = ty.shape.as_ref()?;
        let extent = |d: &Dim| d.bind(&|name| extents.get(name).copied()).as_const().unwrap_or(2);
        let elements: f64 = shape.iter().map(|d| extent(d).max(0) as f64).product();
        // Numbers are drawn in double precision, integers as 16 bytes.
        Some(elements * (ty.dtype.size() as f64 + if ty.dtype.is_float() { 8.0 } else { 16.0 }))
    };
    drawn.filter_map(|&v| bytes(graph.ty(v))).sum()
}

/// Values for all inputs in order, and for parameters without values, with these values for symbols.
pub(crate) fn values(
    graph: &Graph,
    params: &Params,
    random: &mut Random,
    extents: &Extents,
) -> Option<(Vec<Tensor>, Params)> {
    let mut one = |ty: &Type| -> Option<Tensor> {
        let ty = ty.as_tensor()?;
        let shape: Vec<usize> = match &ty.shape {
            None => vec![2, 3],
            Some(shape) => shape
                .iter()
                .map(|d| match d.bind(&|name| extents.get(name).copied()) {
                    Dim::Const(extent) => usize::try_from(extent).ok(),
                    _ => Some(2),
                })
                .collect::<Option<_>>()?,
        };
        random.tensor(ty.dtype, &shape)
    };
    let inputs = graph
        .inputs()
        .iter()
        .map(|&v| {
            let given = graph.vertex(v).name.as_ref().and_then(|name| params.get(name));
            given.cloned().or_else(|| one(graph.ty(v)))
        })
        .collect::<Option<_>>()?;
    let mut all = params.clone();
    for &v in graph.params() {
        let name = graph.vertex(v).name.clone()?;
        if !all.contains_key(&name) {
            all.insert(name, one(graph.ty(v))?);
        }
    }
    Some((inputs, all))
}

/// Random values for all inputs in order, and for all parameters, with the seed; `None` if a type has none.
pub fn random_values(graph: &Graph, seed: u64) -> Option<(Vec<Tensor>, Params)> {
    values(graph, &Params::default(), &mut Random::new(seed), &Extents::default())
}

/// The largest difference between two results, relative to the largest magnitude in the first; infinite if types differ
/// or only one of the two is NaN.
pub(crate) fn difference(a: &Tensor, b: &Tensor) -> f64 {
    if a.dtype() != b.dtype() || a.shape() != b.shape() {
        return f64::INFINITY;
    }
    // Large results are compared without copying them.
    if let (Tensor::F32(x), Tensor::F32(y)) = (a, b) {
        let x = || x.iter().map(|v| f64::from(*v));
        return apart(x, || y.iter().map(|v| f64::from(*v)));
    }
    match (a.to_f64s(), b.to_f64s()) {
        (Some(x), Some(y)) if a.dtype().is_float() => apart(|| x.iter().copied(), || y.iter().copied()),
        _ if a == b => 0.0,
        _ => f64::INFINITY,
    }
}

fn apart<A, B>(x: impl Fn() -> A, y: impl Fn() -> B) -> f64
where
    A: Iterator<Item = f64>,
    B: Iterator<Item = f64>,
{
    let scale = x().filter(|v| v.is_finite()).fold(0.0f64, |m, v| m.max(v.abs()));
    let scale = if scale == 0.0 { 1.0 } else { scale };
    x().zip(y()).fold(0.0, |most: f64, (p, q)| {
        let apart = match (p.is_finite(), q.is_finite()) {
            (true, true) => (p - q).abs() / scale,
            _ if p == q || (p.is_nan() && q.is_nan()) => 0.0,
            _ => f64::INFINITY,
        };
        most.max(apart)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_relative_to_the_scale() {
        let a = Tensor::vector(vec![100.0f32, 1.0, f32::NAN]);
        let b = Tensor::vector(vec![100.0f32, 2.0, f32::NAN]);
        assert!((difference(&a, &b) - 0.01).abs() < 1e-9);
        assert_eq!(difference(&a, &Tensor::vector(vec![1.0f32])), f64::INFINITY);
        assert_eq!(difference(&Tensor::scalar(1i64), &Tensor::scalar(2i64)), f64::INFINITY);
    }

    #[test]
    fn floats_are_balanced() {
        let t = Random::new(1).tensor(DType::F32, &[1000]).unwrap();
        let mean = t.to_f64s().unwrap().iter().sum::<f64>() / 1000.0;
        assert!(mean.abs() < 0.2);
    }
}
