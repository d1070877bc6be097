//! Random numbers. The same seed gives the same numbers on every machine; the default seed is 0.

use super::common::{Out, count, map, typed};
use super::value::shaped;
use super::{
    AttrDef, AttrKind, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, OpTraits, Operand, System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Shape, Type};

const X: Operand = Operand::one("x");
const SEED: AttrDef = AttrDef::new("seed", AttrKind::Float, Default::None, "the seed; 0 if left out");
const DTYPE: AttrDef = AttrDef::new("dtype", AttrKind::DType, Default::DType(DType::F32), "element type");
const DTYPE_LIKE: AttrDef = AttrDef::new(
    "dtype",
    AttrKind::DType,
    Default::None,
    "element type; the operand's if left out",
);
const SHAPE: AttrDef = AttrDef::new("shape", AttrKind::Ints, Default::Required, "the shape of the result");
const LOW: AttrDef = AttrDef::new(
    "low",
    AttrKind::Float,
    Default::Float(0.0),
    "the lower bound, inclusive",
);
const HIGH: AttrDef = AttrDef::new(
    "high",
    AttrKind::Float,
    Default::Float(1.0),
    "the upper bound, exclusive",
);
const MEAN: AttrDef = AttrDef::new(
    "mean",
    AttrKind::Float,
    Default::Float(0.0),
    "the mean of the distribution",
);
const SCALE: AttrDef = AttrDef::new(
    "scale",
    AttrKind::Float,
    Default::Float(1.0),
    "the standard deviation of the distribution",
);

const fn random(name: &'static str, doc: &'static str, onnx: &'static str, since: u32) -> OpDef {
    OpDef::new(name, doc)
        .traits(OpTraits::NONDETERMINISTIC)
        .cost(CostRule::Elementwise(8.0))
        .onnx(onnx, since)
}

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    random(
        "random_uniform",
        "Uniformly distributed random numbers.",
        "RandomUniform",
        1,
    )
    .attrs(&[SHAPE, LOW, HIGH, DTYPE, SEED])
    .infer(infer_shaped)
    .reference(reference!(uniform))
    .formula(Formula::Whole),
    random(
        "random_uniform_like",
        "Uniformly distributed random numbers with the shape of the operand.",
        "RandomUniformLike",
        1,
    )
    .operands(&[X])
    .attrs(&[LOW, HIGH, DTYPE_LIKE, SEED])
    .infer(infer_like)
    .reference(reference!(uniform))
    .formula(Formula::Whole),
    random(
        "random_normal",
        "Normally distributed random numbers.",
        "RandomNormal",
        1,
    )
    .attrs(&[SHAPE, MEAN, SCALE, DTYPE, SEED])
    .infer(infer_shaped)
    .reference(reference!(normal))
    .formula(Formula::Whole),
    random(
        "random_normal_like",
        "Normally distributed random numbers with the shape of the operand.",
        "RandomNormalLike",
        1,
    )
    .operands(&[X])
    .attrs(&[MEAN, SCALE, DTYPE_LIKE, SEED])
    .infer(infer_like)
    .reference(reference!(normal))
    .formula(Formula::Whole),
    random(
        "bernoulli",
        "One with the probability given by the operand, else zero.",
        "Bernoulli",
        15,
    )
    .operands(&[X])
    .attrs(&[DTYPE_LIKE, SEED])
    .infer(infer_bernoulli)
    .reference(reference!(bernoulli))
    .formula(Formula::Whole),
    random(
        "multinomial",
        "Classes drawn for each row, given the logarithms of their probabilities.",
        "Multinomial",
        7,
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new(
            "sample_size",
            AttrKind::Int,
            Default::Int(1),
            "the number of classes drawn for each row",
        ),
        AttrDef::new("dtype", AttrKind::DType, Default::DType(DType::I32), "element type"),
        SEED,
    ])
    .infer(infer_multinomial)
    .reference(reference!(multinomial))
    .formula(Formula::Whole),
];

fn float_type(dtype: DType) -> Result<DType, OpError> {
    if dtype.is_float() {
        return Ok(dtype);
    }
    Err(OpError::new(format!("type {dtype} does not support this distribution")).attr("dtype"))
}

fn infer_shaped(call: &Infer<'_>) -> Result<Type, OpError> {
    let dims = call.ints("shape").unwrap_or_default();
    if let Some(d) = dims.iter().find(|d| d.as_const().is_some_and(|n| n < 0)) {
        return Err(OpError::new(format!("dimension {d} in `shape` is not valid")).attr("shape"));
    }
    let dtype = float_type(call.dtype("dtype").unwrap_or(DType::F32))?;
    Ok(typed(dtype, Some(dims.into_iter().collect())))
}

fn infer_like(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    Ok(typed(
        float_type(call.dtype("dtype").unwrap_or(x.dtype))?,
        x.shape.clone(),
    ))
}

fn infer_bernoulli(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    let x = call.tensor(0)?;
    let dtype = call.dtype("dtype").unwrap_or(x.dtype);
    if !dtype.is_number() && dtype != DType::Bool {
        return Err(OpError::new(format!("type {dtype} cannot represent 1")).attr("dtype"));
    }
    Ok(typed(dtype, x.shape.clone()))
}

fn infer_multinomial(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    let dtype = call.dtype("dtype").unwrap_or(DType::I32);
    if !dtype.is_int() {
        return Err(OpError::new(format!("classes must be integers, not {dtype}")).attr("dtype"));
    }
    let rows = match call.shape(0)? {
        Some(shape) if shape.len() != 2 => {
            return Err(OpError::new(format!("`x` must be a matrix, but is {}", call.tensor(0)?)).at(0));
        }
        Some(shape) => shape[0].clone(),
        None => call.unknown(),
    };
    let number = call.int("sample_size").unwrap_or(Dim::Const(1));
    if number.as_const().is_some_and(|n| n < 0) {
        return Err(OpError::new(format!("`sample_size` must not be negative, but is {number}")).attr("sample_size"));
    }
    Ok(typed(dtype, Some([rows, number].into_iter().collect::<Shape>())))
}

/// A random number generator: a counter with well mixed values (SplitMix64).
struct Source(u64);

impl Source {
    fn of<S: System>(e: &Eval<'_, S>) -> Source {
        Source(e.float("seed").unwrap_or(0.0).to_bits())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number from 0 (inclusive) to 1 (exclusive), the same in single and double precision.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 40) as f64 / f64::from(1u32 << 24)
    }
}

/// Random numbers with the shape of the result: that of the operand, or the attribute.
fn drawn<S: System>(e: &Eval<'_, S>, f: &mut dyn FnMut(&mut Source) -> f64) -> Out<S> {
    let out = e.out_shape(0)?;
    let mut source = Source::of(e);
    let values = (0..count(&out)?)
        .map(|_| S::from_f64(f(&mut source)))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(vec![Value::Real(shaped(&out, values)?)])
}

fn uniform<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (low, high) = (e.float("low").unwrap_or(0.0), e.float("high").unwrap_or(1.0));
    drawn(e, &mut |source| low + source.fraction() * (high - low))
}

fn normal<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (mean, scale) = (e.float("mean").unwrap_or(0.0), e.float("scale").unwrap_or(1.0));
    drawn(e, &mut |source| {
        // The Box–Muller transform; the argument of the logarithm is never zero.
        let radius = (-2.0 * (1.0 - source.fraction()).ln()).sqrt();
        mean + scale * radius * (std::f64::consts::TAU * source.fraction()).cos()
    })
}

fn bernoulli<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let mut source = Source::of(e);
    let hits = map(e.operand(0)?.real()?, |p| Ok(source.fraction() < p.to_f64()?))?;
    let dtype = e.out_dtype();
    Ok(vec![if dtype.is_float() {
        Value::Real(map(&hits, |&hit| Ok(if hit { S::one() } else { S::zero() }))?)
    } else if dtype == DType::Bool {
        Value::Bool(hits)
    } else {
        Value::Int(map(&hits, |&hit| Ok(i128::from(hit)))?)
    }])
}

fn multinomial<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?.real()?;
    let out = e.out_shape(0)?;
    let mut source = Source::of(e);
    let mut classes = Vec::with_capacity(count(&out)?);
    for row in x.outer_iter() {
        let logs = row.iter().map(|v| v.to_f64()).collect::<Result<Vec<f64>, _>>()?;
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|v| (v - most).exp()).collect();
        let total: f64 = weights.iter().sum();
        for _ in 0..out[1] {
            let mut rest = source.fraction() * total;
            let class = weights.iter().position(|w| {
                rest -= w;
                rest < 0.0
            });
            let last = weights
                .len()
                .checked_sub(1)
                .ok_or_else(|| OpError::new("there are no classes").at(0))?;
            classes.push(class.unwrap_or(last) as i128);
        }
    }
    Ok(vec![Value::Int(shaped(&out, classes)?)])
}
