//! Numbers drawn at random.

use super::common::{Out, build, count, typed};
use super::{AttrDef, AttrKind, CostRule, Default, Eval, Infer, OpDef, OpError, OpTraits, Operand, System, Value};
use crate::reference;
use crate::tensor::Type;

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[OpDef::new(
    "random_uniform_like",
    "Numbers between `low` and `high`, equally likely, of the shape of the operand; the same for the same seed.",
)
.operands(&[Operand::one("x")])
.attrs(&[
    AttrDef::new(
        "dtype",
        AttrKind::DType,
        Default::None,
        "element type; the operand's if left out",
    ),
    AttrDef::new("high", AttrKind::Float, Default::Float(1.0), "the upper end"),
    AttrDef::new("low", AttrKind::Float, Default::Float(0.0), "the lower end"),
    AttrDef::new(
        "seed",
        AttrKind::Float,
        Default::None,
        "what the numbers start from; 0 if left out",
    ),
])
.infer(infer)
.reference(reference!(uniform))
.traits(OpTraits::NONDETERMINISTIC)
.cost(CostRule::Elementwise(8.0))
.onnx("RandomUniformLike", 1)];

fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let dtype = call.dtype("dtype").unwrap_or(x.dtype);
    if !dtype.is_float() {
        return Err(
            OpError::new(format!("numbers between two ends are floating-point, and not {dtype}")).attr("dtype"),
        );
    }
    Ok(typed(dtype, x.shape.clone()))
}

/// A stream of numbers in [0, 1): SplitMix64.
struct Stream(u64);

impl Stream {
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // As many bits as single precision keeps, so that rounding never reaches 1.
        ((z ^ (z >> 31)) >> 40) as f64 / f64::from(1u32 << 24)
    }
}

fn uniform<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let shape = e.out_shape(0)?;
    count(&shape)?;
    let (low, high) = (e.float("low").unwrap_or(0.0), e.float("high").unwrap_or(1.0));
    let mut stream = Stream(e.float("seed").unwrap_or(0.0).to_bits());
    let out = build(&shape, |_| Ok(S::from_f64(low + (high - low) * stream.draw())?))?;
    Ok(vec![Value::Real(out)])
}

#[cfg(test)]
mod tests {
    use super::super::check::{eval, infer, table};
    use super::Stream;

    #[test]
    fn types_are_those_of_the_operand() {
        table(
            infer,
            &[
                ("random_uniform_like", "", &["f32[n, 2]"], "f32[n, 2]"),
                ("random_uniform_like", "dtype=f64", &["i32[n]"], "f64[n]"),
                (
                    "random_uniform_like",
                    "",
                    &["i32[n]"],
                    "numbers between two ends are floating-point, and not i32",
                ),
            ],
        );
    }

    #[test]
    fn numbers_spread_between_the_ends() {
        let mut stream = Stream(0);
        let drawn: Vec<f64> = (0..10_000).map(|_| stream.draw()).collect();
        assert!(drawn.iter().all(|x| (0.0..1.0).contains(x)));
        for tenth in 0..10 {
            let inside = drawn.iter().filter(|&&x| (x * 10.0) as i32 == tenth).count();
            assert!((850..1150).contains(&inside), "{tenth}: {inside}");
        }
        let (a, b) = ("random_uniform_like", &["f32[3] 0 0 0"]);
        assert_eq!(eval(a, "seed=1.5", b), eval(a, "seed=1.5", b));
        assert_ne!(eval(a, "seed=1.5", b), eval(a, "seed=2.5", b));
        assert_eq!(eval(a, "low=3 high=3", &["f32[2] 0 0"]), "f32[2] 3 3");
    }
}
