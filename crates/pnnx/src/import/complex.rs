//! Complex numbers: a last axis of size two holds real and imaginary part.

use super::val::{Typed, Val};
use super::{Done, Importer, unknown};
use crate::{ElementType, Function};
use tautomer_graph::{Given, VertexId};
use tautomer_op::AttrValue;
use tautomer_tensor::Tensor;

const DIV: &str = "fn div(a, b, c, d) {
    let n = c * c + d * d;
    ((a * c + b * d) / n, (b * c - a * d) / n)
}";

impl Importer<'_> {
    /// Real numbers as complex ones with imaginary part 0.
    pub(crate) fn complex_of(&mut self, t: Typed, to: ElementType) -> Done<Typed> {
        let real = self.cast(t, to.real())?;
        let imaginary = self.call("zeros_like", &[real.v], &[])?;
        self.join(real.v, imaginary, to)
    }

    /// Complex numbers from two tensors of the same shape.
    pub(crate) fn join(&mut self, re: VertexId, im: VertexId, element: ElementType) -> Done<Typed> {
        let rank = self.shape(re)?.len() as i64;
        let axes = [("axes", AttrValue::ints(&[rank]))];
        let (re, im) = (
            self.call("unsqueeze", &[re], &axes)?,
            self.call("unsqueeze", &[im], &axes)?,
        );
        let v = self.call("concat", &[re, im], &[("axis", AttrValue::int(rank))])?;
        Ok(Typed::new(v, element))
    }

    /// The real (0) or the imaginary (1) part.
    pub(crate) fn part(&mut self, t: Typed, which: i64) -> Done<Typed> {
        if !t.element.is_complex() {
            return unknown("real or imaginary part of real numbers");
        }
        let axis = self.shape(t.v)?.len() as i64 - 1;
        let index = self.graph.constant(Tensor::scalar(which));
        let v = self.call("gather", &[t.v, index], &[("axis", AttrValue::int(axis))])?;
        Ok(Typed::new(v, t.element.real()))
    }

    /// A function of complex numbers.
    pub(crate) fn complex_function(
        &mut self,
        function: Function,
        operands: &[Val],
        common: ElementType,
    ) -> Done<Typed> {
        use Function as F;
        let mut parts = Vec::new();
        for value in operands {
            let t = self.tensor_of(value, common)?;
            parts.push((self.part(t, 0)?.v, self.part(t, 1)?.v));
        }
        let mut call = |name: &str, a: VertexId, b: VertexId| self.call(name, &[a, b], &[]);
        let (re, im) = match (function, parts.as_slice()) {
            (F::Add | F::Sub, &[(a, b), (c, d)]) => {
                let name = function.to_string();
                (call(&name, a, c)?, call(&name, b, d)?)
            }
            (F::Mul, &[(a, b), (c, d)]) => {
                let (ac, bd, ad, bc) = (
                    call("mul", a, c)?,
                    call("mul", b, d)?,
                    call("mul", a, d)?,
                    call("mul", b, c)?,
                );
                (call("sub", ac, bd)?, call("add", ad, bc)?)
            }
            (F::Square, &[(a, b)]) => {
                let (aa, bb, ab) = (call("mul", a, a)?, call("mul", b, b)?, call("mul", a, b)?);
                (call("sub", aa, bb)?, call("add", ab, ab)?)
            }
            (F::Neg, &[(a, b)]) => (self.call("neg", &[a], &[])?, self.call("neg", &[b], &[])?),
            (F::Abs, &[(a, b)]) => {
                let (aa, bb) = (call("mul", a, a)?, call("mul", b, b)?);
                let sum = call("add", aa, bb)?;
                return Ok(Typed::new(self.call("sqrt", &[sum], &[])?, common.real()));
            }
            (F::Exp, &[(a, b)]) => {
                let (size, c, s) = (
                    self.call("exp", &[a], &[])?,
                    self.call("cos", &[b], &[])?,
                    self.call("sin", &[b], &[])?,
                );
                (self.call("mul", &[size, c], &[])?, self.call("mul", &[size, s], &[])?)
            }
            (F::Div, &[(a, b), (c, d)]) => {
                let given = [("a", a), ("b", b), ("c", c), ("d", d)].map(|(name, v)| (name, Given::Value(v)));
                let pair = self.program(DIV, &given)?;
                match self.parts(pair)?.as_slice() {
                    &[re, im] => (re, im),
                    _ => return unknown("a quotient of complex numbers"),
                }
            }
            _ => return unknown(format!("`{function}` of complex numbers")),
        };
        self.join(re, im, common)
    }
}
