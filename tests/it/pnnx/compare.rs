//! How far results may differ.

use std::fmt;

use tautomer::formats::pnnx::ParamFile;
use tautomer::tensor::Tensor;

/// The allowed difference of elements, relative to the largest number of a result.
const TOLERANCE: f64 = 1e-4;

/// The allowed difference, in units in the last place, of results of expressions alone.
pub(crate) const MOST_ULPS: u64 = 1;

/// The largest differences found.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Difference {
    pub(crate) relative: f64,
    pub(crate) ulps: u64,
}

impl Difference {
    pub(crate) fn larger(self, other: Difference) -> Difference {
        Difference {
            relative: self.relative.max(other.relative),
            ulps: self.ulps.max(other.ulps),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1e} of the scale, {} ulp", self.relative, self.ulps)
    }
}

/// True for models that are expressions and nothing else.
pub(crate) fn is_expressions_only(file: &ParamFile) -> bool {
    let plain = |kind: &str| kind.starts_with("pnnx.") || kind.starts_with("prim::Tuple");
    file.operators.iter().all(|op| plain(&op.kind))
}

/// The differences between two lists of results.
pub(crate) fn compare(results: &[Tensor], expected: &[Tensor]) -> Result<Difference, String> {
    if results.len() != expected.len() {
        return Err(format!("{} results, not {}", results.len(), expected.len()));
    }
    let mut worst = Difference::default();
    for (i, (a, b)) in results.iter().zip(expected).enumerate() {
        if a.ty() != b.ty() {
            return Err(format!("result {i} is {}, not {}", a.ty(), b.ty()));
        }
        let found = one(a, b).map_err(|e| format!("result {i}: {e}"))?;
        worst = worst.larger(found);
    }
    Ok(worst)
}

fn one(a: &Tensor, b: &Tensor) -> Result<Difference, String> {
    let (Tensor::F32(x), Tensor::F32(y)) = (a, b) else {
        return if a.same_bits(b) {
            Ok(Difference::default())
        } else {
            Err("values differ".to_owned())
        };
    };
    let scale = y
        .iter()
        .filter(|v| v.is_finite())
        .fold(0.0f64, |most, v| most.max(f64::from(v.abs())));
    let mut worst = Difference::default();
    for (k, (&p, &q)) in x.iter().zip(y.iter()).enumerate() {
        if p.is_nan() && q.is_nan() || p == q {
            continue;
        }
        let apart = (f64::from(p) - f64::from(q)).abs();
        if !p.is_finite() || !q.is_finite() || apart > TOLERANCE * scale {
            return Err(format!("element {k} is {p}, not {q} (scale {scale})"));
        }
        // If terms cancel, the remaining rounding error is small relative to the terms.
        if apart <= f64::from(f32::EPSILON) / 2.0 * scale {
            worst = worst.larger(Difference {
                relative: apart / scale,
                ulps: 0,
            });
            continue;
        }
        let ordered = |v: f32| {
            if v < 0.0 {
                -i64::from((-v).to_bits())
            } else {
                i64::from(v.to_bits())
            }
        };
        worst = worst.larger(Difference {
            relative: apart / scale,
            ulps: ordered(p).abs_diff(ordered(q)),
        });
    }
    Ok(worst)
}
