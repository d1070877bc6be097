//! Running products.

use super::common::Out;
use super::reduce::{infer_cumsum, scan};
use super::{AttrDef, AttrKind, AxisOf, CostRule, Default, Eval, OpDef, OpError, Operand, System, Value};
use crate::reference;

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[OpDef::new("cumprod", "Running product along an axis.")
    .aliases(&["cum_prod"])
    .operands(&[Operand::one("x"), Operand::attr("axis")])
    .attrs(&[
        AttrDef::new(
            "axis",
            AttrKind::Axis(AxisOf::Input),
            Default::Required,
            "the axis to multiply along",
        ),
        AttrDef::new(
            "exclusive",
            AttrKind::Bool,
            Default::Bool(false),
            "the element itself is left out",
        ),
        AttrDef::new("reverse", AttrKind::Bool, Default::Bool(false), "from the end"),
    ])
    .infer(infer_cumsum)
    .reference(reference!(product))
    .cost(CostRule::PerInput(1.0))
    .onnx("CumProd", 26)];

fn product<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let axis = e.axis("axis", x.shape().len())?;
    let how = (e.flag("exclusive"), e.flag("reverse"));
    let dtype = e.out_dtype();
    Ok(vec![match x {
        Value::Real(a) => Value::Real(scan(a, axis, how, &S::one(), S::mul)?),
        Value::Int(a) => Value::Int(scan(a, axis, how, &1, |a, b| dtype.wrap(a.wrapping_mul(*b)))?),
        _ => return Err(OpError::new("expected numbers")),
    }])
}

#[cfg(test)]
mod tests {
    use super::super::check::{eval, infer, table};

    #[test]
    fn products_run_along_an_axis() {
        let x = "f32[2, 3] 1 2 3 4 5 6";
        table(
            eval,
            &[
                ("cumprod", "axis=-1", &[x], "f32[2, 3] 1 2 6 4 20 120"),
                ("cumprod", "", &[x, "i64 0"], "f32[2, 3] 1 2 3 4 10 18"),
                ("cumprod", "axis=1 exclusive=true", &[x], "f32[2, 3] 1 1 2 1 4 20"),
                ("cumprod", "axis=1 reverse=true", &[x], "f32[2, 3] 6 6 3 120 30 6"),
                (
                    "cumprod",
                    "axis=0 exclusive=true reverse=true",
                    &["i32[2] 3 5"],
                    "i32[2] 5 1",
                ),
                ("cumprod", "axis=0", &["i32[0]"], "i32[0]"),
            ],
        );
        table(
            infer,
            &[
                ("cumprod", "", &["f32[n, 3]", "i64"], "f32[n, 3]"),
                (
                    "cumprod",
                    "axis=2",
                    &["f32[n, 3]"],
                    "axis 2 is out of range for rank 2: allowed are -2 to 1",
                ),
            ],
        );
    }
}
