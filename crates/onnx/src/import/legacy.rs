//! Nodes whose form or meaning differs from the table's: old versions, shorthand, inference mode.

use super::call::{Draft, Lowered};
use super::{Importer, oldest, training};
use crate::proto::NodeProto;
use crate::schema::Schema;
use tautomer_graph::VertexId;
use tautomer_op::{AttrValue, OpError, lookup_onnx};
use tautomer_tensor::{Dim, Tensor};

/// Operators for which the schema's default means that there is no such bound or type; other defaults match the
/// table's.
pub(super) const DEFAULT_IS_ABSENCE: &[&str] = &["clip", "quantize_linear", "dequantize_linear"];

/// Converts a node to the form of the newest version, or imports it directly.
pub(super) fn adapt(
    importer: &mut Importer<'_>,
    mut draft: Draft,
    schema: &'static Schema,
    node: &NodeProto,
) -> Result<Lowered, OpError> {
    let used = |i: usize| node.output.get(i).is_some_and(|name| importer.used.contains(name));
    let extra = (1..node.output.len()).any(used);
    match draft.op_type.as_str() {
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "And" | "Or" | "Xor" | "Equal" | "Less" | "Greater" | "PRelu"
        | "Gemm"
            if schema.since < 7 =>
        {
            return oldest::broadcast(importer, draft);
        }
        "Dropout" => return training::dropout(importer, &draft, extra),
        "Bernoulli" => return training::bernoulli(importer, &draft),
        "Softmax" | "LogSoftmax" | "Hardmax" if schema.since < 13 => return softmax(importer, draft),
        "BatchNormalization" => {
            if draft.int("training_mode") == Some(1) {
                return training::batch_normalization(importer, draft, node);
            }
            let each = draft.int("spatial") == Some(0);
            if each || extra || (schema.since < 7 && draft.int("is_test").unwrap_or(0) == 0) {
                return Ok(Lowered::Unread);
            }
            for name in ["training_mode", "spatial", "is_test"] {
                draft.attrs.shift_remove(name);
            }
        }
        "MaxPool" if !extra => {
            draft.attrs.shift_remove("storage_order");
        }
        "Upsample" => {
            draft.op_type = "Resize".to_string();
            // The newest version has `roi` between the operand and the scales.
            if let Some(scales) = draft.inputs.get(1).copied() {
                draft.inputs = vec![draft.inputs[0], None, scales];
            }
            interpolation(&mut draft);
        }
        "Resize" if schema.since < 11 => interpolation(&mut draft),
        "Resize" if !regions(importer, &draft) => return Ok(Lowered::Unread),
        "GridSample" if schema.since < 20 => {
            let mode = match draft.attrs.get("mode") {
                Some(AttrValue::Str(mode)) if &**mode == "bicubic" => "cubic",
                Some(AttrValue::Str(mode)) if &**mode == "nearest" => "nearest",
                _ => "linear",
            };
            draft.set("mode", AttrValue::str(mode));
        }
        // Before there was a choice, coordinates were counted from the edge of the first element.
        "RoiAlign" if schema.since < 16 => {
            draft.set("coordinate_transformation_mode", AttrValue::str("output_half_pixel"));
        }
        // The window size follows from the weights.
        "DeformConv" => kernel_shape(importer, &mut draft, 1)?,
        "GroupNormalization" if schema.since < 21 => {
            let is_known = group_parameters(importer, &mut draft)?;
            if !is_known {
                return Ok(Lowered::Unread);
            }
        }
        "Scatter" => draft.op_type = "ScatterElements".to_string(),
        "Split" => split(&mut draft, node),
        "Conv" | "ConvTranspose" | "ConvInteger" => kernel_shape(importer, &mut draft, 1)?,
        "QLinearConv" => kernel_shape(importer, &mut draft, 3)?,
        // A mode that only affects unused results.
        "Attention" if !extra => {
            draft.attrs.shift_remove("qk_matmul_output_mode");
        }
        "QuantizeLinear" | "DequantizeLinear" => {
            // 0 stands for no type.
            for name in ["output_dtype", "precision"] {
                if draft.int(name) == Some(0) {
                    draft.attrs.shift_remove(name);
                }
            }
        }
        "Pad" if schema.since < 11 => {
            draft.attrs.entry("value".to_string()).or_insert(AttrValue::float(0.0));
        }
        _ => {}
    }
    if let Some(mode) = draft.attrs.get("auto_pad").cloned()
        && lookup_onnx(&draft.op_type).is_some_and(|def| def.attr_index("auto_pad").is_none())
    {
        match mode {
            AttrValue::Str(mode) if auto_pad(importer, &mut draft, &mode) => {}
            _ => return Ok(Lowered::Unread),
        }
    }
    let elements = draft
        .inputs
        .first()
        .copied()
        .flatten()
        .and_then(|v| importer.graph.ty(v).as_tensor());
    if let Some(dtype) = elements.map(|t| t.dtype) {
        // `Pad` and `Clip` took numbers before they took tensors of the element type.
        for name in ["value", "min", "max"] {
            let takes_tensor = lookup_onnx(&draft.op_type).is_some_and(|def| {
                let name = super::call::table_name(&draft.op_type, name, def);
                def.attrs
                    .iter()
                    .any(|a| a.name == name && a.kind == tautomer_op::AttrKind::Tensor)
            });
            if let (true, Some(AttrValue::Float(v))) = (takes_tensor, draft.attrs.get(name).cloned())
                && matches!(draft.op_type.as_str(), "Pad" | "Clip")
                && let Some(tensor) = Tensor::from_f64s(dtype, &[], &[v.0])
            {
                draft.set(name, AttrValue::Tensor(tensor));
            }
        }
    }
    Ok(Lowered::Call(draft))
}

/// Before version 13, all axes from `axis` on were normalized together.
fn softmax(importer: &mut Importer<'_>, mut draft: Draft) -> Result<Lowered, OpError> {
    let Some(x) = draft.inputs[0] else {
        return Ok(Lowered::Unread);
    };
    let Some(shape) = importer.graph.ty(x).as_tensor().and_then(|t| t.shape.clone()) else {
        return Ok(Lowered::Unread);
    };
    let rank = shape.len() as i64;
    let axis = draft.int("axis").unwrap_or(1);
    let axis = if axis < 0 { axis + rank } else { axis };
    if !(0..=rank).contains(&axis) {
        return Err(OpError::new(format!("axis {axis} is out of range for rank {rank}")));
    }
    let wide: Vec<usize> = (axis as usize..shape.len())
        .filter(|&i| shape[i] != Dim::Const(1))
        .collect();
    match wide.as_slice() {
        [] if axis < rank => draft.set("axis", AttrValue::int(axis)),
        [one] => draft.set("axis", AttrValue::int(*one as i64)),
        _ => {
            let Some(flat) = importer.simple("Flatten", &[x], &[("axis", AttrValue::int(axis))])? else {
                return Ok(Lowered::Unread);
            };
            let Some(y) = importer.simple(&draft.op_type, &[flat], &[("axis", AttrValue::int(1))])? else {
                return Ok(Lowered::Unread);
            };
            let back = if shape.iter().any(Dim::has_unknown) {
                let Some(shape) = importer.simple("Shape", &[x], &[])? else {
                    return Ok(Lowered::Unread);
                };
                importer.simple("Reshape", &[y, shape], &[])?
            } else {
                importer.simple("Reshape", &[y], &[("shape", AttrValue::Ints(shape.to_vec()))])?
            };
            return Ok(back.map_or(Lowered::Unread, |v| Lowered::Values(vec![Some(v)])));
        }
    }
    Ok(Lowered::Call(draft))
}

/// Before version 11, corners were not aligned, and the nearest element was the one below.
fn interpolation(draft: &mut Draft) {
    draft.set("coordinate_transformation_mode", AttrValue::str("asymmetric"));
    draft.set("nearest_mode", AttrValue::str("floor"));
    // The old name of linear interpolation.
    if draft.attrs.get("mode") == Some(&AttrValue::str("bilinear")) {
        draft.set("mode", AttrValue::str("linear"));
    }
}

/// False if there are regions of interest whose size depends on their values.
fn regions(importer: &Importer<'_>, draft: &Draft) -> bool {
    let mode = draft.attrs.get("coordinate_transformation_mode");
    let cropped = mode == Some(&AttrValue::str("tf_crop_and_resize"));
    let scales = draft.inputs.get(2).copied().flatten();
    let empty = |v: VertexId| importer.graph.vertex(v).constant().is_some_and(|t| t.is_empty());
    !cropped || scales.is_none_or(empty)
}

/// Before version 21, scale and bias had one number for each group instead of each channel; false if the number of
/// channels in a group is unknown.
fn group_parameters(importer: &mut Importer<'_>, draft: &mut Draft) -> Result<bool, OpError> {
    let channels = draft.inputs.first().copied().flatten().and_then(|x| {
        let shape = importer.graph.ty(x).as_tensor()?.shape.clone()?;
        shape.get(1)?.as_const()
    });
    let groups = draft.int("num_groups").filter(|groups| *groups > 0);
    let (Some(channels), Some(groups)) = (channels, groups) else {
        return Ok(false);
    };
    for at in 1..3 {
        let Some(mut v) = draft.inputs.get(at).copied().flatten() else {
            return Ok(false);
        };
        for (op, shape) in [
            ("Reshape", vec![groups, 1]),
            ("Expand", vec![groups, channels / groups]),
            ("Reshape", vec![channels]),
        ] {
            match importer.simple(op, &[v], &[("shape", AttrValue::ints(&shape))])? {
                Some(next) => v = next,
                None => return Ok(false),
            }
        }
        draft.inputs[at] = Some(v);
    }
    Ok(true)
}

/// The kernel size follows from the weights; if it is also given, it must match.
fn kernel_shape(importer: &Importer<'_>, draft: &mut Draft, weights: usize) -> Result<(), OpError> {
    let Some(said) = draft.ints("kernel_shape") else {
        return Ok(());
    };
    let weights = draft.inputs.get(weights).copied().flatten();
    let shape = weights.and_then(|v| importer.graph.ty(v).as_tensor()?.shape.clone());
    if let Some(shape) = shape {
        let differ = |(d, k): (&Dim, &i64)| d.as_const().is_some_and(|d| d != *k);
        if shape.len() != said.len() + 2 || shape.iter().skip(2).zip(&said).any(differ) {
            return Err(OpError::new(format!(
                "`kernel_shape` is {said:?}, but the weights are {shape}"
            )));
        }
    }
    draft.attrs.shift_remove("kernel_shape");
    Ok(())
}

/// Without sizes, the number of parts is the number of results.
fn split(draft: &mut Draft, node: &NodeProto) {
    let sizes = draft.ints("split").is_some() || draft.inputs.get(1).copied().flatten().is_some();
    if !sizes && !draft.attrs.contains_key("num_outputs") {
        draft.set("num_outputs", AttrValue::int(node.output.len() as i64));
    }
}

/// Replaces `auto_pad` by the pads that it stands for; false if they depend on unknown dimensions.
fn auto_pad(importer: &Importer<'_>, draft: &mut Draft, mode: &str) -> bool {
    draft.attrs.shift_remove("auto_pad");
    let upper = match mode {
        "NOTSET" => return true,
        "VALID" => {
            draft.attrs.shift_remove("pads");
            return true;
        }
        "SAME_UPPER" => true,
        "SAME_LOWER" => false,
        _ => return false,
    };
    if !matches!(draft.op_type.as_str(), "Conv" | "MaxPool" | "AveragePool" | "LpPool") {
        return false;
    }
    let shape = |i: usize| {
        let v = draft.inputs.get(i).copied().flatten()?;
        importer.graph.ty(v).as_tensor()?.shape.clone()
    };
    let Some(x) = shape(0) else { return false };
    let kernel = draft
        .ints("kernel_shape")
        .or_else(|| shape(1)?.iter().skip(2).map(Dim::as_const).collect());
    let Some(kernel) = kernel.filter(|k| k.len() + 2 == x.len()) else {
        return false;
    };
    let n = kernel.len();
    let strides = draft.ints("strides").unwrap_or_else(|| vec![1; n]);
    let dilations = draft.ints("dilations").unwrap_or_else(|| vec![1; n]);
    let mut pads = vec![0i64; 2 * n];
    for i in 0..n {
        let (Some(&stride), Some(&dilation)) = (strides.get(i), dilations.get(i)) else {
            return false;
        };
        let reach = (kernel[i].saturating_sub(1)).saturating_mul(dilation).saturating_add(1);
        let total = match x[i + 2].as_const() {
            _ if stride == 1 => reach - 1,
            Some(extent) if stride > 1 && extent > 0 => {
                let steps = (extent - 1) / stride;
                (steps * stride).saturating_add(reach).saturating_sub(extent)
            }
            _ => return false,
        };
        let (small, total) = (total.max(0) / 2, total.max(0));
        pads[i] = if upper { small } else { total - small };
        pads[i + n] = total - pads[i];
    }
    draft.set("pads", AttrValue::ints(&pads));
    true
}
