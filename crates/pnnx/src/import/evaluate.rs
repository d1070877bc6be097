//! Evaluates expressions: their functions are applied to tensors and host numbers.

use super::val::{Host, Typed, Val};
use super::{Done, Importer, Refused, axis_of, element, unknown, wrong};
use crate::expression::ExprNode;
use crate::{Category, ElementType, Expression, Function, LiteralValue, NO_END, Operator, Reading};
use tautomer_diag::{Diagnostic, Severity, Span};
use tautomer_op::AttrValue;
use tautomer_tensor::Dim;

impl Importer<'_> {
    /// The value of a `pnnx.Expression`.
    pub(crate) fn expression(&mut self, op: &Operator, inputs: &[Val]) -> Done<Vec<Val>> {
        let Some((_, text)) = op.params.iter().find(|(key, _)| key == "expr") else {
            return wrong("it has no `expr`");
        };
        let expression = self.read_expression(op, text)?;
        self.evaluate(&expression, inputs).map(|value| vec![value])
    }

    /// Parses an expression; adds a note if the text does not match the grammar.
    pub(crate) fn read_expression(&mut self, op: &Operator, text: &str) -> Done<Expression> {
        match Expression::read(text) {
            Ok((expression, Reading::Strict)) => Ok(expression),
            Ok((expression, Reading::Prefix(problem))) => {
                let message = format!(
                    "`{}`: the brackets of `{text}` do not match; it is read as `{expression}`",
                    op.name
                );
                let note = Diagnostic::new(Severity::Note, "T0509", message).label(op.span, "");
                self.problems.push(note.note(located(&problem)));
                Ok(expression)
            }
            Err(problem) => Err(Refused::Wrong(format!("`{text}`: {}", located(&problem)))),
        }
    }

    fn evaluate(&mut self, expression: &Expression, inputs: &[Val]) -> Done<Val> {
        let mut values: Vec<Val> = Vec::with_capacity(expression.nodes().len());
        for node in expression.nodes() {
            let value = match node {
                ExprNode::Operand(i) => match inputs.get(*i) {
                    Some(value) => value.clone(),
                    None => return wrong(format!("there is no operand @{i}, only {}", inputs.len())),
                },
                ExprNode::Literal(literal) => Val::Host(match &literal.value {
                    LiteralValue::Int(v) => Host::Int(Dim::Const(*v)),
                    LiteralValue::Float(v) => Host::Float(*v),
                    LiteralValue::Complex(re, im) => Host::Complex(*re, *im),
                    LiteralValue::Bool(v) => Host::Bool(*v),
                    LiteralValue::None => Host::None,
                    LiteralValue::Word => Host::Text(literal.text.clone()),
                }),
                ExprNode::List(items) => Val::List(picked(&values, items)?),
                ExprNode::Call(function, operands) => {
                    let operands = picked(&values, operands)?;
                    self.function(*function, &operands)?
                }
            };
            values.push(value);
        }
        match expression.roots() {
            [root] => element(&values, *root, "the expression").cloned(),
            roots => picked(&values, roots).map(Val::List),
        }
    }

    pub(crate) fn function(&mut self, function: Function, operands: &[Val]) -> Done<Val> {
        if function == Function::Size {
            return self.size(operands);
        }
        let hosts: Option<Vec<&Host>> = operands
            .iter()
            .map(|value| match value {
                Val::Host(host) => Some(host),
                _ => None,
            })
            .collect();
        let Some(hosts) = hosts else {
            return self.apply(function, operands).map(Val::Tensor);
        };
        if let Some(host) = fold(function, &hosts) {
            return Ok(Val::Host(host));
        }
        if hosts
            .iter()
            .any(|host| matches!(host, Host::None | Host::Text(_) | Host::Complex(..)))
        {
            return unknown(format!("`{function}` of words or complex host numbers"));
        }
        // Values unknown before run time are computed as integers, or in double precision.
        let mut wide = Vec::with_capacity(operands.len());
        let whole = matches!(
            function,
            Function::Add
                | Function::Sub
                | Function::Mul
                | Function::FloorDivide
                | Function::Remainder
                | Function::Neg
                | Function::Abs
                | Function::Max
                | Function::Maximum
                | Function::Min
                | Function::Minimum
                | Function::Int
                | Function::Square
                | Function::Sign
        );
        for value in operands {
            let category = self.kind(value)?.0.category();
            let element = if whole && category < Category::Float {
                ElementType::I64
            } else {
                ElementType::F64
            };
            wide.push(Val::Tensor(self.tensor_of(value, element)?));
        }
        let result = self.apply(function, &wide)?;
        let category = if result.element == ElementType::I64 {
            Category::Int
        } else {
            Category::Float
        };
        Ok(Val::Host(Host::Computed(result.v, category)))
    }

    /// The shape of a tensor, or one of its dimensions.
    fn size(&mut self, operands: &[Val]) -> Done<Val> {
        let Some(Val::Tensor(t)) = operands.first() else {
            return wrong("`size` takes a tensor");
        };
        let mut shape = self.shape(t.v)?;
        if t.element.is_complex() {
            shape.pop();
        }
        let Some(axis) = operands.get(1) else {
            let all: Done<Vec<Val>> = (0..shape.len()).map(|axis| self.extent_of(*t, &shape, axis)).collect();
            return all.map(Val::List);
        };
        let Some(axis) = axis.int().and_then(|d| d.as_const()) else {
            return unknown("the axis of `size` is unknown");
        };
        let axis = axis_of(axis, shape.len())?;
        self.extent_of(*t, &shape, axis)
    }

    fn extent_of(&mut self, t: Typed, shape: &[Dim], axis: usize) -> Done<Val> {
        let extent = element(shape, axis, "the shape")?;
        if !extent.has_unknown() {
            return Ok(Val::Host(Host::Int(extent.clone())));
        }
        let (start, end) = (AttrValue::int(axis as i64), AttrValue::int(axis as i64 + 1));
        let v = self.call("shape", &[t.v], &[("start", start), ("end", end)])?;
        let v = self.call("squeeze", &[v], &[("axes", AttrValue::ints(&[0]))])?;
        Ok(Val::Host(Host::Computed(v, Category::Int)))
    }

    /// A `pnnx.SliceIndexes`: a list in which `@i` stands for an operand.
    pub(crate) fn slice_indexes(&mut self, op: &Operator, inputs: &[Val]) -> Done<Vec<Val>> {
        let Some((_, text)) = op.params.iter().find(|(key, _)| key == "indexes") else {
            return wrong("it has no `indexes`");
        };
        let inner = text.trim_start_matches(['(', '[']).trim_end_matches([')', ']']);
        let mut items = Vec::new();
        for word in inner.split(',').filter(|word| !word.is_empty()) {
            items.push(match (word.strip_prefix('@'), word.parse::<i64>()) {
                (Some(number), _) => match number.parse::<usize>().ok().and_then(|i| inputs.get(i)) {
                    Some(value) => value.clone(),
                    None => return wrong(format!("there is no operand {word}")),
                },
                (None, Ok(number)) => Val::Host(Host::Int(Dim::Const(number))),
                (None, Err(_)) => Val::Host(Host::Int(Dim::Const(NO_END))),
            });
        }
        Ok(vec![Val::List(items)])
    }
}

/// The values at some indices.
fn picked(values: &[Val], places: &[usize]) -> Done<Vec<Val>> {
    let pick = |&place: &usize| element(values, place, "the expression").cloned();
    places.iter().map(pick).collect()
}

/// A message with its position in the expression.
fn located(problem: &Diagnostic) -> String {
    let span = problem.span().unwrap_or(Span::new(0, 0));
    format!("{} at {}..{}", problem.message, span.start, span.end)
}

/// Computes a function of known numbers as Python does; integers may be symbolic.
fn fold(function: Function, hosts: &[&Host]) -> Option<Host> {
    use Function as F;
    let dims: Option<Vec<Dim>> = hosts
        .iter()
        .map(|host| match host {
            Host::Int(d) => Some(d.clone()),
            Host::Bool(b) => Some(Dim::Const(i64::from(*b))),
            _ => None,
        })
        .collect();
    if let Some(dims) = &dims
        && let Some(result) = fold_ints(function, dims)
    {
        return Some(Host::Int(result));
    }
    let numbers: Option<Vec<f64>> = hosts
        .iter()
        .map(|host| match host {
            Host::Float(v) => Some(*v),
            Host::Int(d) => Some(d.as_const()? as f64),
            Host::Bool(b) => Some(f64::from(u8::from(*b))),
            _ => None,
        })
        .collect();
    let numbers = numbers?;
    let x = *numbers.first()?;
    let y = numbers.get(1).copied().unwrap_or(0.0);
    let floor_mod = |x: f64, y: f64| {
        let r = x % y;
        if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
    };
    let whole = |v: f64| v.is_finite().then_some(Host::Int(Dim::Const(v as i64)));
    Some(Host::Float(match function {
        F::Int => return whole(x.trunc()),
        F::Cast(to) => match to.category() {
            Category::Bool => return Some(Host::Bool(x != 0.0)),
            Category::Int => return whole(x.trunc()),
            Category::Float => x,
            Category::Complex => return None,
        },
        F::Abs => x.abs(),
        F::Acos => x.acos(),
        F::Acosh => x.acosh(),
        F::Asin => x.asin(),
        F::Asinh => x.asinh(),
        F::Atan => x.atan(),
        F::Atanh => x.atanh(),
        F::Ceil => x.ceil(),
        F::Cos => x.cos(),
        F::Cosh => x.cosh(),
        F::Erf => libm::erf(x),
        F::Exp => x.exp(),
        F::Expm1 => x.exp_m1(),
        F::Floor => x.floor(),
        F::Log => x.ln(),
        F::Log10 => x.log10(),
        F::Log1p => x.ln_1p(),
        F::Neg => -x,
        F::Reciprocal => 1.0 / x,
        F::Round => x.round_ties_even(),
        F::Rsqrt => 1.0 / x.sqrt(),
        F::Sign => {
            if x == 0.0 || x.is_nan() {
                0.0
            } else {
                x.signum()
            }
        }
        F::Sin => x.sin(),
        F::Sinh => x.sinh(),
        F::Sqrt => x.sqrt(),
        F::Square => x * x,
        F::Tan => x.tan(),
        F::Tanh => x.tanh(),
        F::Trunc => x.trunc(),
        F::Add => x + y,
        F::Sub => x - y,
        F::Mul => x * y,
        F::Div => x / y,
        F::FloorDivide => ((x - floor_mod(x, y)) / y).round(),
        F::Remainder => floor_mod(x, y),
        F::Fmod => x % y,
        F::Pow => x.powf(y),
        F::Atan2 => x.atan2(y),
        F::Logaddexp => {
            let m = x.max(y);
            if x == y {
                m + std::f64::consts::LN_2
            } else {
                m + (-(x - y).abs()).exp().ln_1p()
            }
        }
        F::Max | F::Maximum => {
            if x.is_nan() || x > y {
                x
            } else {
                y
            }
        }
        F::Min | F::Minimum => {
            if x.is_nan() || x < y {
                x
            } else {
                y
            }
        }
        F::And | F::Or | F::Xor | F::Lshift | F::Rshift | F::Size => return None,
    }))
}

fn fold_ints(function: Function, dims: &[Dim]) -> Option<Dim> {
    use Function as F;
    let a = dims.first()?;
    let known = |i: usize| dims.get(i).and_then(Dim::as_const);
    Some(match (function, dims.get(1)) {
        (F::Int | F::Ceil | F::Floor | F::Round | F::Trunc, None) => a.clone(),
        (F::Cast(to), None) if to.category() == Category::Int => a.clone(),
        (F::Neg, None) => Dim::Const(0) - a.clone(),
        (F::Square, None) => a.clone() * a.clone(),
        (F::Abs, None) => Dim::Const(known(0)?.checked_abs()?),
        (F::Sign, None) => Dim::Const(known(0)?.signum()),
        (F::Add, Some(b)) => a.clone() + b.clone(),
        (F::Sub, Some(b)) => a.clone() - b.clone(),
        (F::Mul, Some(b)) => a.clone() * b.clone(),
        (F::FloorDivide, Some(b)) if b.as_const() != Some(0) => a.floor_div(b),
        (F::Remainder, Some(b)) if b.as_const() != Some(0) => a.modulo(b),
        (F::Max | F::Maximum, Some(b)) => a.maximum(b),
        (F::Min | F::Minimum, Some(b)) => a.minimum(b),
        (F::And, Some(_)) => Dim::Const(known(0)? & known(1)?),
        (F::Or, Some(_)) => Dim::Const(known(0)? | known(1)?),
        (F::Xor, Some(_)) => Dim::Const(known(0)? ^ known(1)?),
        (F::Lshift, Some(_)) => Dim::Const(known(0)?.checked_shl(u32::try_from(known(1)?).ok()?)?),
        (F::Rshift, Some(_)) => Dim::Const(known(0)?.checked_shr(u32::try_from(known(1)?).ok()?)?),
        (F::Pow, Some(_)) => Dim::Const(known(0)?.checked_pow(u32::try_from(known(1)?).ok()?)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_folded_as_python_does() {
        let int = |v| Host::Int(Dim::Const(v));
        let f = |name: &str| Function::by_name(name).unwrap();
        for (name, operands, result) in [
            ("floor_divide", vec![int(-7), int(2)], int(-4)),
            ("remainder", vec![int(-7), int(2)], int(1)),
            (
                "floor_divide",
                vec![Host::Float(10.0), Host::Float(0.1)],
                Host::Float(99.0),
            ),
            ("div", vec![int(1), int(2)], Host::Float(0.5)),
            ("pow", vec![int(2), int(3)], int(8)),
            ("pow", vec![int(4), Host::Float(-0.5)], Host::Float(0.5)),
            ("round", vec![Host::Float(2.5)], Host::Float(2.0)),
            ("int", vec![Host::Float(-2.5)], int(-2)),
            (
                "logaddexp",
                vec![Host::Float(1000.0), int(1000)],
                Host::Float(1000.0 + std::f64::consts::LN_2),
            ),
            ("torch.bool", vec![int(3)], Host::Bool(true)),
        ] {
            let operands: Vec<&Host> = operands.iter().collect();
            assert_eq!(fold(f(name), &operands), Some(result), "{name}");
        }
        let symbol = Host::Int(Dim::symbol("n"));
        assert_eq!(
            fold(f("mul"), &[&symbol, &int(2)]),
            Some(Host::Int(Dim::symbol("n") * Dim::Const(2)))
        );
        assert_eq!(fold(f("sqrt"), &[&symbol]), None);
    }
}
