//! Functions of tensors, with torch's type promotion.

use super::val::{Typed, Val};
use super::{Done, Importer, element, few, unknown, wrong};
use crate::{Category, ElementType, Function, Weight, common_type, result_type};
use tautomer_graph::{Given, VertexId};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Tensor};

/// Left shift; bits beyond the width are lost.
const LEFT_SHIFT: &str = "fn shift(a, b, bits) { where(b < 0 or b >= bits, 0, a * pow(2, b)) }";

/// Right shift; the sign is shifted in.
const RIGHT_SHIFT: &str = "fn shift(a, b, bits, last) {
    let far = b < 0 or b >= bits;
    let p = pow(2, where(far, 0, b));
    where(far, when last { where(a < 0, a * 0 - 1, a * 0) } else { a * 0 }, (a - a % p) / p)
}";

impl Importer<'_> {
    /// Applies a function to tensors and numbers, at least one of which is a tensor.
    pub(crate) fn apply(&mut self, function: Function, operands: &[Val]) -> Done<Typed> {
        let kinds: Vec<(ElementType, Weight)> = operands.iter().map(|v| self.kind(v)).collect::<Done<_>>()?;
        let Some(result) = result_type(function, &kinds) else {
            let types: Vec<String> = kinds.iter().map(|(ty, _)| ty.to_string()).collect();
            return wrong(format!("torch has no `{function}` of {}", types.join(" and ")));
        };
        let common = common_type(&kinds).unwrap_or(result);
        if common.is_complex() {
            return self.complex_function(function, operands, common);
        }
        // Half precision is computed in single precision if a number would not be representable.
        let halves = matches!(common, ElementType::F16 | ElementType::Bf16);
        let lossy = |v: &Val| {
            v.float()
                .is_some_and(|x| matches!(v, Val::Host(_)) && !fits_half(x, common))
        };
        if halves && operands.iter().any(lossy) {
            let mut wide = Vec::with_capacity(operands.len());
            for value in operands {
                wide.push(Val::Tensor(self.tensor_of(value, ElementType::F32)?));
            }
            let value = self.apply(function, &wide)?;
            return self.cast(value, result);
        }
        match function {
            Function::Int | Function::Cast(_) => {
                let t = self.tensor(element(operands, 0, "the list of its operands")?)?;
                self.cast(t, result)
            }
            _ if function.is_binary() => self.binary(function, operands, common, result),
            _ => self.unary(
                function,
                element(operands, 0, "the list of its operands")?,
                common,
                result,
            ),
        }
    }

    fn unary(&mut self, function: Function, x: &Val, common: ElementType, result: ElementType) -> Done<Typed> {
        use Function as F;
        let whole = common.category() < Category::Float;
        let own = self.tensor(x)?;
        let same = matches!(function, F::Ceil | F::Floor | F::Round | F::Trunc)
            || function == F::Sign && common == ElementType::Bool;
        if whole && same {
            return Ok(own);
        }
        let t = self.cast(own, result)?;
        let x = t.v;
        match function {
            F::Square => return self.typed("mul", &[x, x], result),
            F::Rsqrt => {
                let root = self.call("sqrt", &[x], &[])?;
                return self.typed("reciprocal", &[root], result);
            }
            F::Sign if !whole => {
                // The sign of NaN is 0.
                let v = self.program(
                    "fn sign(x) { where(is_nan(x), 0.0, sign(x)) }",
                    &[("x", Given::Value(x))],
                )?;
                return Ok(Typed::new(v, result));
            }
            _ => {}
        }
        self.computed(function, &[x], common, result)
    }

    /// A function that one call computes.
    fn computed(
        &mut self,
        function: Function,
        operands: &[VertexId],
        common: ElementType,
        result: ElementType,
    ) -> Done<Typed> {
        match function.operator(common == ElementType::Bool) {
            Some(name) => self.typed(name, operands, result),
            None => unknown(format!("there is no operator `{function}`")),
        }
    }

    fn typed(&mut self, name: &str, operands: &[VertexId], element: ElementType) -> Done<Typed> {
        Ok(Typed::new(self.call(name, operands, &[])?, element))
    }

    fn binary(
        &mut self,
        function: Function,
        operands: &[Val],
        common: ElementType,
        result: ElementType,
    ) -> Done<Typed> {
        use Function as F;
        let [a, b] = operands else {
            return wrong(format!("`{function}` takes two operands"));
        };
        if function == F::Pow
            && result.category() == Category::Float
            && let Some(power) = b.float()
            && matches!(b, Val::Host(_))
            && let Some(special) = self.power(a, power, result)?
        {
            return Ok(special);
        }
        if function == F::Pow
            && result.category() == Category::Int
            && matches!(b, Val::Host(_))
            && b.float() < Some(0.0)
        {
            return wrong("an integer to the power of a negative number");
        }
        // `div` and `atan2` of integers compute in floating point.
        let element = if result.category() > common.category() {
            result
        } else {
            common
        };
        let (a, b) = (self.tensor_of(a, element)?.v, self.tensor_of(b, element)?.v);
        let truth = element == ElementType::Bool;
        if truth && function == F::Pow {
            // 0 to the power of 0 is 1.
            let power = self.call("not", &[b], &[])?;
            return self.typed("or", &[a, power], result);
        }
        match function {
            F::Add | F::Max | F::Maximum if truth => self.typed("or", &[a, b], result),
            F::Mul | F::Min | F::Minimum if truth => self.typed("and", &[a, b], result),
            F::Fmod => {
                let v = self.call("mod", &[a, b], &[("fmod", AttrValue::Bool(true))])?;
                Ok(Typed::new(v, result))
            }
            F::Lshift | F::Rshift => self.shift(function, a, b, result),
            _ => self.computed(function, &[a, b], element, result),
        }
    }

    /// Powers that torch computes in other ways.
    fn power(&mut self, base: &Val, power: f64, result: ElementType) -> Done<Option<Typed>> {
        let x = self.tensor_of(base, result)?.v;
        let v = if power == 1.0 {
            x
        } else if power == 2.0 || power == -2.0 {
            self.call("mul", &[x, x], &[])?
        } else if power == 3.0 {
            let square = self.call("mul", &[x, x], &[])?;
            self.call("mul", &[square, x], &[])?
        } else if power == 0.5 || power == -0.5 {
            self.call("sqrt", &[x], &[])?
        } else if power == -1.0 {
            x
        } else {
            return Ok(None);
        };
        let v = if power < 0.0 {
            self.call("reciprocal", &[v], &[])?
        } else {
            v
        };
        Ok(Some(Typed::new(v, result)))
    }

    fn shift(&mut self, function: Function, a: VertexId, b: VertexId, element: ElementType) -> Done<Typed> {
        let signed = element != ElementType::U8;
        let width = 8 * element.size() as i64;
        let left = function == Function::Lshift;
        let bits = if !left && signed { width - 1 } else { width };
        let given = [
            ("a", Given::Value(a)),
            ("b", Given::Value(b)),
            ("bits", Given::Attr(AttrValue::int(bits))),
            ("last", Given::Attr(AttrValue::Bool(signed))),
        ];
        let v = self.program(if left { LEFT_SHIFT } else { RIGHT_SHIFT }, &given)?;
        Ok(Typed::new(v, element))
    }

    /// A constant with all elements equal.
    pub(crate) fn fill(&mut self, dtype: DType, shape: &[usize], value: f64) -> Done<VertexId> {
        let count = shape
            .iter()
            .try_fold(1i64, |n, &d| n.checked_mul(i64::try_from(d).ok()?));
        let count = few(count.unwrap_or(i64::MAX))?;
        let tensor = match dtype {
            _ if dtype.is_float() => Tensor::from_f64s(dtype, shape, &vec![value; count]),
            _ => Tensor::from_ints(dtype, shape, &vec![value as i128; count]),
        };
        match tensor {
            Some(tensor) => Ok(self.graph.constant(tensor)),
            None => wrong("unsupported element type"),
        }
    }
}

/// True if half precision can represent the number.
fn fits_half(x: f64, element: ElementType) -> bool {
    let held = match element {
        ElementType::F16 => half::f16::from_f64(x).to_f64(),
        _ => half::bf16::from_f64(x).to_f64(),
    };
    held == x || x.is_nan()
}
