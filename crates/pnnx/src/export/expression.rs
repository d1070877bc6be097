//! Elementwise functions as expressions.

use super::{Done, Exporter};
use crate::Function as F;
use crate::{Function, float_text, single_text};
use tautomer_graph::{Node, VertexId};
use tautomer_op::OpDef;
use tautomer_tensor::{DType, Tensor};

/// Expressions with more words than this are not merged.
const LONGEST: usize = 400;

/// An expression whose operands are values.
#[derive(Debug, Clone)]
pub(super) struct Draft(Vec<Word>);

#[derive(Debug, Clone)]
enum Word {
    Text(String),
    Value(VertexId),
}

/// The function that computes an operator for elements of that type.
pub(super) fn function_of(name: &str, dtype: DType) -> Option<Function> {
    let function = Function::of_operator(name)?;
    let computes = match function {
        Function::Div => !dtype.is_int(),
        // The sign of NaN is 0 in torch.
        Function::Sign => dtype.is_int(),
        _ => true,
    };
    computes.then_some(function)
}

impl Exporter<'_> {
    /// The expression of a call, if it is an elementwise function that torch computes with the same types.
    pub(super) fn draft(&mut self, v: VertexId, def: &'static OpDef, operands: &[VertexId]) -> Done<Option<Draft>> {
        let dtype = |v: VertexId| self.graph.ty(v).as_tensor().map(|t| t.dtype);
        let Some(first) = operands.first().and_then(|&v| dtype(v)) else {
            return Ok(None);
        };
        let Some(function) = function_of(def.name, first) else {
            return Ok(None);
        };
        let rounding = matches!(function, F::Floor | F::Ceil | F::Round | F::Trunc);
        let joins = matches!(function, F::Max | F::Min);
        let count = operands.len();
        if operands.iter().any(|&u| dtype(u) != Some(first))
            || rounding && first.is_int()
            || count > 2 && !joins
            || count == 0
        {
            return Ok(None);
        }
        let function = match function {
            F::Remainder if self.flag(v, def, "fmod") => F::Fmod,
            _ => function,
        };
        if count == 1 && joins {
            return Ok(None);
        }
        let mut parts: Vec<Vec<Word>> = Vec::with_capacity(count);
        let mut tensors = 0;
        for (i, &u) in operands.iter().enumerate() {
            let literal = self.literal(u).filter(|_| self.literal_fits(function, i, u));
            parts.push(match literal {
                Some(text) => vec![Word::Text(text)],
                None => {
                    tensors += 1;
                    self.words(u)
                }
            });
        }
        if tensors == 0 {
            // One operand stays a value; otherwise the expression would be a host number.
            for (part, &operand) in parts.iter_mut().zip(operands).take(1) {
                *part = vec![Word::Value(operand)];
            }
        }
        // `max(a, b, c)` is `max(max(a, b), c)`.
        let mut parts = parts.into_iter();
        let mut words = parts.next().unwrap_or_default();
        if count == 1 {
            words.insert(0, Word::Text(format!("{function}(")));
            words.push(Word::Text(")".to_owned()));
        }
        for next in parts {
            words.insert(0, Word::Text(format!("{function}(")));
            words.push(Word::Text(",".to_owned()));
            words.extend(next);
            words.push(Word::Text(")".to_owned()));
        }
        // A call with more than two operands is read back as another call with the same value, so it becomes a line of
        // its own.
        Ok((count <= 2).then_some(Draft(words)))
    }

    fn flag(&self, v: VertexId, def: &OpDef, name: &str) -> bool {
        match &self.graph.vertex(v).node {
            Node::Call { attrs, .. } => def.attr_in(attrs, name).is_true(),
            _ => false,
        }
    }

    /// The words of an operand: those of its expression if it has no other use.
    fn words(&mut self, v: VertexId) -> Vec<Word> {
        let alone = self.uses.get(&v) == Some(&1);
        if alone
            && self.drafts.get(&v).is_some_and(|draft| draft.0.len() < LONGEST)
            && let Some(draft) = self.drafts.remove(&v)
        {
            return draft.0;
        }
        vec![Word::Value(v)]
    }

    /// A single-number constant as a literal.
    pub(crate) fn literal(&self, v: VertexId) -> Option<String> {
        let Node::Const(value) = &self.graph.vertex(v).node else {
            return None;
        };
        if !value.shape().is_empty() {
            return None;
        }
        Some(match value {
            Tensor::Bool(a) => super::truth(*a.first()?).to_owned(),
            Tensor::I8(a) => a.first()?.to_string(),
            Tensor::I16(a) => a.first()?.to_string(),
            Tensor::I32(a) => a.first()?.to_string(),
            Tensor::I64(a) => a.first()?.to_string(),
            Tensor::U8(a) => a.first()?.to_string(),
            Tensor::F16(a) => single(a.first()?.to_f32())?,
            Tensor::BF16(a) => single(a.first()?.to_f32())?,
            Tensor::F32(a) => single(*a.first()?)?,
            Tensor::F64(a) => Some(*a.first()?).filter(|x| x.is_finite()).map(float_text)?,
            _ => return None,
        })
    }

    /// False if a literal would be read as a different call than a tensor of one number.
    fn literal_fits(&self, function: Function, place: usize, v: VertexId) -> bool {
        let Node::Const(value) = &self.graph.vertex(v).node else {
            return false;
        };
        let special = |x: f64| [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0].contains(&x);
        match (function, place, value) {
            (F::Pow, 1, Tensor::F32(a)) => a.first().is_some_and(|x| !special(f64::from(*x))),
            (F::Pow, 1, Tensor::F64(a)) => a.first().is_some_and(|x| !special(*x)),
            (F::Pow, _, _) => place == 0 && value.dtype().is_float(),
            _ => true,
        }
    }

    /// Writes an expression as a line.
    pub(super) fn write_draft(&mut self, v: VertexId, draft: Draft) -> Done<()> {
        let mut operands: Vec<VertexId> = Vec::new();
        let mut text = String::new();
        for word in &draft.0 {
            match word {
                Word::Text(word) => text.push_str(word),
                Word::Value(u) => {
                    let place = operands.iter().position(|w| w == u).unwrap_or_else(|| {
                        operands.push(*u);
                        operands.len() - 1
                    });
                    text.push_str(&format!("@{place}"));
                }
            }
        }
        self.write(v, super::Line::new("pnnx.Expression", &operands).param("expr", text))
    }
}

fn single(value: f32) -> Option<String> {
    value.is_finite().then(|| single_text(value))
}
