//! Nodes that behave differently in training, and nodes that draw random numbers, built from plain operators.

use super::Importer;
use super::call::{Draft, Lowered};
use crate::proto::NodeProto;
use tautomer_graph::VertexId;
use tautomer_op::{AttrValue, Op, OpError, known, lookup};
use tautomer_tensor::{DType, Dim, Tensor};

/// Builds one node after the other; stops at the first that the table lacks.
struct Maker<'m, 'a> {
    importer: &'m mut Importer<'a>,
    complete: bool,
}

impl Maker<'_, '_> {
    fn node(&mut self, op: &str, inputs: &[VertexId], attrs: &[(&str, AttrValue)]) -> Result<VertexId, OpError> {
        let made = self.importer.simple(op, inputs, attrs)?;
        self.complete &= made.is_some();
        Ok(made.unwrap_or(inputs[0]))
    }

    fn number(&mut self, dtype: DType, value: f64) -> VertexId {
        let scalar = Tensor::from_f64s(dtype, &[], &[value]).unwrap_or_else(|| Tensor::scalar(value as f32));
        self.importer.graph.constant(scalar)
    }

    fn dtype(&self, v: VertexId) -> Option<DType> {
        Some(self.importer.graph.ty(v).as_tensor()?.dtype)
    }

    fn values(&self, values: Vec<VertexId>) -> Lowered {
        match self.complete {
            true => Lowered::Values(values.into_iter().map(Some).collect()),
            false => Lowered::Unread,
        }
    }
}

fn maker<'m, 'a>(importer: &'m mut Importer<'a>) -> Maker<'m, 'a> {
    Maker {
        importer,
        complete: true,
    }
}

fn cast(dtype: DType) -> [(&'static str, AttrValue); 1] {
    [("to", AttrValue::DType(dtype))]
}

/// For inference: the operand itself, and a mask that drops nothing.
pub(super) fn dropout(importer: &mut Importer<'_>, draft: &Draft, mask: bool) -> Result<Lowered, OpError> {
    let operand = |i: usize| draft.inputs.get(i).copied().flatten();
    let Some(x) = operand(0) else {
        return Ok(Lowered::Unread);
    };
    let training = operand(2);
    let constant = |v: VertexId| importer.graph.vertex(v).constant().and_then(Tensor::to_ints);
    let off = training.is_none_or(|v| constant(v) == Some(vec![0]));
    let mut make = maker(importer);
    if off && !mask {
        return Ok(make.values(vec![x]));
    }
    let Some(dtype) = make.dtype(x) else {
        return Ok(Lowered::Unread);
    };
    let Some(training) = training.filter(|_| !off) else {
        let shape = make.node("Shape", &[x], &[])?;
        let value = AttrValue::Tensor(Tensor::vector(vec![true]));
        let mask = make.node("ConstantOfShape", &[shape], &[("value", value)])?;
        return Ok(make.values(vec![x, mask]));
    };
    let ratio = match operand(1) {
        Some(ratio) => ratio,
        None => make.number(dtype, 0.5),
    };
    let seed: Vec<(&str, AttrValue)> = draft
        .int("seed")
        .map(|seed| ("seed", AttrValue::float(seed as f64)))
        .into_iter()
        .collect();
    let Some(def) = lookup(known::DROPOUT_IN_TRAINING) else {
        return Ok(Lowered::Unread);
    };
    let graph = &mut importer.graph;
    let both = graph.call(Op::Known(def), &[x, ratio, training], &seed)?;
    let (y, mask) = (graph.project(both, 0)?, graph.project(both, 1)?);
    Ok(Lowered::Values(vec![Some(y), Some(mask)]))
}

/// One with the probability that the operand gives, otherwise zero.
pub(super) fn bernoulli(importer: &mut Importer<'_>, draft: &Draft) -> Result<Lowered, OpError> {
    let mut make = maker(importer);
    let Some((x, dtype)) = draft.inputs[0].and_then(|x| Some((x, make.dtype(x)?))) else {
        return Ok(Lowered::Unread);
    };
    let to = match draft.int("dtype").map(|code| i32::try_from(code).unwrap_or(0)) {
        None => dtype,
        Some(code) => match crate::dtype_of(code) {
            Ok(dtype) => dtype,
            Err(_) => return Ok(Lowered::Unread),
        },
    };
    let seed: Vec<(&str, AttrValue)> = draft
        .attrs
        .get("seed")
        .map(|seed| ("seed", seed.clone()))
        .into_iter()
        .collect();
    let drawn = make.node("RandomUniformLike", &[x], &seed)?;
    let hit = make.node("Less", &[drawn, x], &[])?;
    let y = make.node("Cast", &[hit], &cast(to))?;
    Ok(make.values(vec![y]))
}

/// Normalizes each channel by its mean and variance, and updates the running ones.
pub(super) fn batch_normalization(
    importer: &mut Importer<'_>,
    draft: Draft,
    node: &NodeProto,
) -> Result<Lowered, OpError> {
    let given: Option<Vec<VertexId>> = draft.inputs.iter().copied().collect();
    let Some([x, scale, bias, running_mean, running_var]) =
        given.as_deref().and_then(|v| <[VertexId; 5]>::try_from(v).ok())
    else {
        return Ok(Lowered::Unread);
    };
    let shape = importer.graph.ty(x).as_tensor().and_then(|t| t.shape.clone());
    let (Some(shape), true) = (shape, node.output.len() <= 3) else {
        return Ok(Lowered::Unread);
    };
    let number = |name: &str, default: f64| match draft.attrs.get(name) {
        Some(AttrValue::Float(value)) => value.0,
        _ => default,
    };
    let (epsilon, momentum) = (number("epsilon", 1e-5), number("momentum", 0.9));
    let axes: Vec<Dim> = (0..shape.len()).filter(|&i| i != 1).map(Dim::from).collect();
    let mut make = maker(importer);
    let mean_of = |make: &mut Maker<'_, '_>, v: VertexId, keep: bool| {
        let attrs = [
            ("axes", AttrValue::Ints(axes.clone())),
            ("keepdims", AttrValue::Bool(keep)),
        ];
        make.node("ReduceMean", &[v], &attrs)
    };
    let middle = mean_of(&mut make, x, true)?;
    let apart = make.node("Sub", &[x, middle], &[])?;
    let squares = make.node("Mul", &[apart, apart], &[])?;
    let (mean, var) = (mean_of(&mut make, x, false)?, mean_of(&mut make, squares, false)?);
    let dtype = make.dtype(running_mean).unwrap_or(DType::F32);
    let attrs = [("epsilon", AttrValue::float(epsilon))];
    let y = make.node("BatchNormalization", &[x, scale, bias, mean, var], &attrs)?;
    let mut results = vec![y];
    for (old, new) in [(running_mean, mean), (running_var, var)] {
        let (keep, take) = (make.number(dtype, momentum), make.number(dtype, 1.0 - momentum));
        let new = make.node("Cast", &[new], &cast(dtype))?;
        let (old, new) = (
            make.node("Mul", &[old, keep], &[])?,
            make.node("Mul", &[new, take], &[])?,
        );
        results.push(make.node("Add", &[old, new], &[])?);
    }
    Ok(make.values(results))
}
