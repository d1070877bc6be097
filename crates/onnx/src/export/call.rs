//! Calls of the table's operators in the form of a particular operator set.

use crate::attr::from_value;
use crate::import::{onnx_attr, onnx_name, table_position};
use crate::kernels::has_kernel;
use crate::proto::AttributeProto;
use crate::schema::{Formal, Schema, newest, newest_position, schema};
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::{AttrValue, OpDef, OperandKind};
use tautomer_tensor::{DType, Dim, Shape, Tensor, Type};

/// An operand of a node to be written.
#[derive(Debug, Clone)]
pub(super) enum Arg {
    /// The value of a vertex.
    Value(VertexId),
    /// A constant that is an attribute in the graph.
    Constant(Tensor),
    /// A list of dimensions, some of them symbolic, that is an attribute in the graph.
    Extents(Vec<Dim>),
    /// A symbolic dimension that is an attribute in the graph, as a scalar of that type.
    Extent(Dim, DType),
    /// A missing operand.
    Absent,
}

/// A node to be written.
#[derive(Debug, Clone)]
pub(super) struct Rendered {
    pub(super) op_type: &'static str,
    pub(super) args: Vec<Arg>,
    pub(super) attrs: Vec<AttributeProto>,
    /// True if ONNX Runtime has a kernel for it.
    pub(super) has_kernel: bool,
}

/// The name of an operator in an operator set.
fn name_in(name: &'static str, opset: i64) -> &'static str {
    match name {
        "Resize" if opset < 10 => "Upsample",
        "ScatterElements" if opset < 11 => "Scatter",
        other => other,
    }
}

struct Call<'g> {
    graph: &'g Graph,
    def: &'static OpDef,
    operands: &'g [VertexId],
    attrs: &'g [AttrValue],
}

impl Call<'_> {
    fn operand(&self, at: usize) -> Option<VertexId> {
        let v = *self.operands.get(at)?;
        (!matches!(self.graph.vertex(v).node, Node::Absent)).then_some(v)
    }

    fn attr(&self, name: &str) -> Option<&AttrValue> {
        self.attrs
            .get(self.def.attr_index(name)?)
            .filter(|value| !value.is_none())
    }

    fn text(&self, name: &str) -> &str {
        match self.attr(name) {
            Some(AttrValue::Str(text)) => text,
            _ => "",
        }
    }

    fn shape(&self, at: usize) -> Option<&Shape> {
        self.graph.ty(self.operand(at)?).as_tensor()?.shape.as_ref()
    }

    fn dtype(&self, at: usize) -> Option<DType> {
        Some(self.graph.ty(self.operand(at)?).as_tensor()?.dtype)
    }

    /// True if the call has the same meaning in versions before the operator got its present meaning.
    fn means_the_same(&self, name: &str, opset: i64) -> bool {
        match name {
            "Softmax" | "LogSoftmax" | "Hardmax" => {
                let Some(AttrValue::Int(axis)) = self.attr("axis") else {
                    return false;
                };
                let (Some(axis), Some(shape)) = (axis.as_const(), self.shape(0)) else {
                    return false;
                };
                let after = usize::try_from(axis).unwrap_or(usize::MAX).saturating_add(1);
                shape.iter().skip(after).all(|d| *d == Dim::Const(1))
            }
            "Sum" | "Max" | "Min" | "Mean" => {
                (1..self.operands.len()).all(|i| self.shape(i).is_some() && self.shape(i) == self.shape(0))
            }
            "Resize" | "Upsample" => {
                let old = self.text("coordinate_transformation_mode") == "asymmetric";
                let nearest = self.text("mode") == "nearest";
                let floor = !nearest || matches!(self.text("nearest_mode"), "floor" | "");
                let scaled = self.attr("sizes").is_none();
                old && floor && scaled && (nearest || self.text("mode") == "linear")
            }
            "ScatterElements" => matches!(self.text("reduction"), "none" | ""),
            "PRelu" => opset >= 7,
            "RoiAlign" => opset >= 10 && self.text("coordinate_transformation_mode") == "output_half_pixel",
            _ => false,
        }
    }
}

impl Call<'_> {
    /// True for attribute values that older versions imply and cannot express.
    fn implied(&self, op_type: &str, attr: &str, value: &AttrValue, opset: i64) -> bool {
        match (op_type, attr, value) {
            ("Resize" | "Upsample", "coordinate_transformation_mode" | "nearest_mode" | "cubic_coeff_a", _) => {
                opset < 11
            }
            ("RoiAlign", "coordinate_transformation_mode", _) => opset < 16,
            ("Split", "num_outputs", _) => true,
            ("QuantizeLinear", "output_dtype", AttrValue::DType(dtype)) => self.dtype(2).unwrap_or(DType::U8) == *dtype,
            ("DequantizeLinear", "output_dtype", AttrValue::DType(dtype)) => self.dtype(1) == Some(*dtype),
            ("Shape", "end", AttrValue::Int(end)) => self.shape(0).is_some_and(|s| *end == Dim::from(s.len())),
            ("Pad", "axes", AttrValue::Ints(v)) => {
                let all = |rank: usize| v.len() == rank && v.iter().enumerate().all(|(i, d)| *d == Dim::from(i));
                self.shape(0).is_some_and(|s| all(s.len()))
            }
            (_, "dilations", AttrValue::Ints(v)) => v.iter().all(|d| *d == Dim::Const(1)),
            _ => false,
        }
    }

    /// The kernel size, which ONNX stores in addition to the weights.
    fn kernel_shape(&self, weights: usize) -> Option<AttrValue> {
        let extents: Option<Vec<i64>> = self.shape(weights)?.iter().skip(2).map(Dim::as_const).collect();
        Some(AttrValue::ints(&extents?))
    }
}

/// The node for a call in operator set `opset`. If constants may have several types, a type for which there is a kernel
/// is chosen, if possible.
///
/// # Errors
/// The part that the operator set lacks.
pub(super) fn render(
    graph: &Graph,
    def: &'static OpDef,
    operands: &[VertexId],
    attrs: &[AttrValue],
    result: &Type,
    opset: i64,
) -> Result<Rendered, String> {
    let mut rendered = plain(graph, def, operands, attrs, opset)?;
    rendered.has_kernel = choose_types(graph, &mut rendered, result, opset);
    Ok(rendered)
}

/// Gives constants made from attributes types for which there is a kernel; false if there is no kernel.
fn choose_types(graph: &Graph, rendered: &mut Rendered, result: &Type, opset: i64) -> bool {
    let op_type = rendered.op_type;
    let Some(schema) = schema(op_type, opset) else {
        return false;
    };
    let results: Vec<Option<DType>> = match result {
        Type::Tuple(items) => items.iter().map(|ty| Some(ty.as_tensor()?.dtype)).collect(),
        ty => vec![ty.as_tensor().map(|t| t.dtype)],
    };
    let fits = |args: &[Arg]| {
        let types: Vec<Option<DType>> = args.iter().map(|arg| arg_type(graph, arg)).collect();
        has_kernel(op_type, schema, opset, &types, &results)
    };
    if fits(&rendered.args) {
        return true;
    }
    for i in 0..rendered.args.len() {
        let Some(formal) = schema.input(i) else { continue };
        for &dtype in CONSTANT_TYPES.iter().filter(|dtype| formal.allows(**dtype)) {
            let other = match &rendered.args[i] {
                Arg::Constant(tensor) => exactly(tensor, dtype).map(Arg::Constant),
                Arg::Extent(dim, _) if dtype.is_int() => Some(Arg::Extent(dim.clone(), dtype)),
                _ => None,
            };
            let Some(other) = other else { continue };
            let old = std::mem::replace(&mut rendered.args[i], other);
            if fits(&rendered.args) && check_types(graph, &rendered.args, schema).is_ok() {
                return true;
            }
            rendered.args[i] = old;
        }
    }
    false
}

/// The types that a constant may be given; the first one with a kernel is used.
const CONSTANT_TYPES: &[DType] = &[DType::I64, DType::I32, DType::F32, DType::F64];

/// The same elements in another type, if it can represent them exactly.
fn exactly(tensor: &Tensor, dtype: DType) -> Option<Tensor> {
    let found = match tensor.to_ints() {
        Some(ints) if dtype.is_float() => {
            let floats: Vec<f64> = ints.iter().map(|&i| i as f64).collect();
            Tensor::from_f64s(dtype, tensor.shape(), &floats)
        }
        Some(ints) => Tensor::from_ints(dtype, tensor.shape(), &ints),
        None => Tensor::from_f64s(dtype, tensor.shape(), &tensor.to_f64s()?),
    }?;
    let same = match (tensor.to_ints(), found.to_ints()) {
        (Some(a), Some(b)) => a == b,
        (Some(a), None) => found
            .to_f64s()
            .is_some_and(|b| a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| *b as i128 == *a)),
        _ => tensor.to_f64s() == found.to_f64s(),
    };
    same.then_some(found)
}

/// The element type of an operand; `None` if it is missing or not a tensor.
fn arg_type(graph: &Graph, arg: &Arg) -> Option<DType> {
    match arg {
        Arg::Value(v) => graph.ty(*v).as_tensor().map(|t| t.dtype),
        Arg::Constant(tensor) => Some(tensor.dtype()),
        Arg::Extents(_) => Some(DType::I64),
        Arg::Extent(_, dtype) => Some(*dtype),
        Arg::Absent => None,
    }
}

fn plain(
    graph: &Graph,
    def: &'static OpDef,
    operands: &[VertexId],
    attrs: &[AttrValue],
    opset: i64,
) -> Result<Rendered, String> {
    let call = Call {
        graph,
        def,
        operands,
        attrs,
    };
    let (name, since) = onnx_name(def).ok_or_else(|| format!("operator `{}` has no counterpart in ONNX", def.name))?;
    let op_type = name_in(name, opset);
    let lacks = || format!("operator set {opset} has no {op_type}");
    let schema = schema(op_type, opset).ok_or_else(lacks)?;
    if opset < since && !call.means_the_same(name, opset) {
        return Err(format!("{op_type} means something else before operator set {since}"));
    }
    let variadic = def.operands.last().is_some_and(|o| o.kind == OperandKind::Variadic);
    let mut done = vec![false; operands.len()];
    let mut consumed: Vec<&str> = Vec::new();
    let mut args = Vec::new();
    if variadic {
        args.extend((0..operands.len()).map(|i| call.operand(i).map_or(Arg::Absent, Arg::Value)));
        done.fill(true);
    } else {
        for (i, formal) in schema.inputs.iter().enumerate() {
            let p = newest_position(op_type, schema, i);
            let (p, name) = match op_type {
                // In the newest version, the region of interest is at this position.
                "Upsample" if i == 1 => (2, "scales"),
                _ => (
                    p,
                    newest(op_type)
                        .and_then(|s| s.inputs.get(p))
                        .map_or(formal.name, |f| f.name),
                ),
            };
            let at = table_position(def, name, p);
            if let Some((at, v)) = at.and_then(|at| Some((at, call.operand(at)?))) {
                done[at] = true;
                args.push(Arg::Value(v));
                continue;
            }
            let attr = at
                .and_then(|at| def.operands.get(at)?.attr)
                .or_else(|| def.attrs.iter().map(|a| a.name).find(|a| a.eq_ignore_ascii_case(name)));
            match attr.and_then(|attr| Some((attr, call.attr(attr)?))) {
                Some((attr, value)) => {
                    consumed.push(attr);
                    args.push(constant(&call, op_type, formal, schema, value)?);
                }
                None if formal.optional => args.push(Arg::Absent),
                // A missing operand is written as an empty tensor if the schema requires it.
                None if op_type == "Resize" && matches!(formal.name, "roi" | "scales") => {
                    args.push(Arg::Constant(Tensor::vector(Vec::<f32>::new())));
                }
                None => {
                    return Err(format!(
                        "{op_type} needs operand `{}` in operator set {opset}",
                        formal.name
                    ));
                }
            }
        }
    }
    while matches!(args.last(), Some(Arg::Absent)) {
        args.pop();
    }
    let mut written = Vec::new();
    for (at, _) in done
        .iter()
        .enumerate()
        .filter(|(at, done)| !**done && call.operand(*at).is_some())
    {
        // An operand that is an attribute in this version.
        let place = format!(
            "{op_type} takes operand {at} from operator set {} on",
            newest(op_type).map_or(0, |s| s.since)
        );
        let attr = def.operands.get(at).and_then(|o| o.attr).ok_or_else(|| place.clone())?;
        let name = onnx_attr(op_type, attr, schema).ok_or_else(|| place.clone())?;
        let value = call.operand(at).and_then(|v| graph.vertex(v).constant()).ok_or(place)?;
        written.push(from_value(name, &tensor_as_attr(value)?)?);
    }
    for (attr, value) in def.attrs.iter().zip(attrs) {
        if value.is_none() || consumed.contains(&attr.name) {
            continue;
        }
        // The sizes determine the number of parts.
        if op_type == "Split" && attr.name == "num_outputs" && args.len() > 1 {
            continue;
        }
        let Some(name) = onnx_attr(op_type, attr.name, schema) else {
            if attr.default_value().as_ref() == Some(value) || call.implied(op_type, attr.name, value, opset) {
                continue;
            }
            return Err(format!(
                "{op_type} has no attribute `{}` in operator set {opset}",
                attr.name
            ));
        };
        let plain = match op_type {
            "GridSample" if schema.since < 20 && name == "mode" => old_mode(value),
            _ => as_onnx(op_type, name, value),
        };
        if schema.attr(name).and_then(|a| a.default()) != Some(plain.clone()) {
            written.push(from_value(name, &plain)?);
        }
    }
    let weights = match op_type {
        "Conv" | "ConvTranspose" | "ConvInteger" => Some(1),
        "QLinearConv" => Some(3),
        _ => None,
    };
    if let Some(extents) = weights.and_then(|at| call.kernel_shape(at)) {
        written.push(from_value("kernel_shape", &extents)?);
    }
    for attr in schema.attrs.iter().filter(|a| a.required) {
        if !written.iter().any(|w| w.name.as_deref() == Some(attr.name)) {
            return Err(format!(
                "{op_type} needs attribute `{}` in operator set {opset}",
                attr.name
            ));
        }
    }
    check_types(graph, &args, schema).map_err(|problem| format!("{op_type} {problem} in operator set {opset}"))?;
    Ok(Rendered {
        op_type,
        args,
        attrs: written,
        has_kernel: true,
    })
}

/// Checks element types against the schema: the allowed set of each operand, and equality of operands that share a
/// variable.
fn check_types(graph: &Graph, args: &[Arg], schema: &Schema) -> Result<(), String> {
    let mut bound: Vec<(&str, DType)> = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        let (Some(formal), Some(dtype)) = (schema.input(i), arg_type(graph, arg)) else {
            continue;
        };
        if !formal.allows(dtype) {
            return Err(format!("does not take {dtype} elements"));
        }
        match bound.iter().find(|(var, _)| *var == formal.types) {
            Some((_, other)) if *other != dtype => return Err(format!("does not take {dtype} together with {other}")),
            Some(_) => {}
            None if formal.types.starts_with('#') => {}
            None => bound.push((formal.types, dtype)),
        }
    }
    Ok(())
}

/// The names of two-axis interpolation modes in old versions of `GridSample`.
fn old_mode(value: &AttrValue) -> AttrValue {
    match value {
        AttrValue::Str(mode) if &**mode == "linear" => AttrValue::str("bilinear"),
        AttrValue::Str(mode) if &**mode == "cubic" => AttrValue::str("bicubic"),
        other => other.clone(),
    }
}

/// Converts values to the kinds that ONNX has.
fn as_onnx(op_type: &str, name: &str, value: &AttrValue) -> AttrValue {
    match value {
        AttrValue::Bool(v) => AttrValue::int(i64::from(*v)),
        AttrValue::Float(seed) if (op_type, name) == ("Dropout", "seed") => AttrValue::int(seed.0 as i64),
        AttrValue::Tensor(t) if op_type == "ConstantOfShape" && t.shape().is_empty() => {
            AttrValue::Tensor(t.reshaped(&[1]).unwrap_or_else(|| t.clone()))
        }
        AttrValue::Tensor(t) if matches!((op_type, name), ("Pad", "value") | ("Clip", "min" | "max")) => t
            .to_f64s()
            .and_then(|v| v.first().copied())
            .map_or_else(|| value.clone(), AttrValue::float),
        other => other.clone(),
    }
}

fn tensor_as_attr(tensor: &Tensor) -> Result<AttrValue, String> {
    let list = tensor.shape().len() == 1;
    if let Some(ints) = tensor.to_ints() {
        let ints: Option<Vec<i64>> = ints.into_iter().map(|x| i64::try_from(x).ok()).collect();
        let ints = ints.ok_or("an integer is too large for an attribute")?;
        return Ok(match ints.as_slice() {
            [one] if !list => AttrValue::int(*one),
            all => AttrValue::ints(all),
        });
    }
    let floats = tensor.to_f64s().ok_or("strings cannot become an attribute")?;
    Ok(match floats.as_slice() {
        [one] if !list => AttrValue::float(*one),
        all => AttrValue::Floats(all.iter().copied().map(tautomer_op::Real).collect()),
    })
}

/// The operand that represents an attribute value.
fn constant(
    call: &Call<'_>,
    op_type: &str,
    formal: &Formal,
    schema: &Schema,
    value: &AttrValue,
) -> Result<Arg, String> {
    let like_first = schema.inputs.first().is_some_and(|f| f.types == formal.types);
    let float = match call.dtype(0) {
        Some(dtype) if like_first => dtype,
        _ if formal.allows(DType::F32) => DType::F32,
        _ => DType::F64,
    };
    let number = |shape: &[usize], values: &[f64]| {
        let (low, high) = float.int_range().unwrap_or((0, 1));
        let exact: Vec<i128> = values.iter().map(|&x| (x as i128).clamp(low, high)).collect();
        Tensor::from_f64s(float, shape, values).or_else(|| Tensor::from_ints(float, shape, &exact))
    };
    let tensor = match value {
        AttrValue::Ints(dims) => match dims.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>() {
            Some(ints) => Some(Tensor::vector(ints)),
            None => return extents(call, op_type, dims),
        },
        AttrValue::Int(dim) => match dim.as_const() {
            Some(int) if op_type == "TopK" => Some(Tensor::vector(vec![int])),
            Some(int) => Some(Tensor::scalar(int)),
            None if op_type == "TopK" => return Ok(Arg::Extents(vec![dim.clone()])),
            None => return Ok(Arg::Extent(dim.clone(), DType::I64)),
        },
        AttrValue::Bool(v) => Some(Tensor::scalar(*v)),
        AttrValue::Float(v) => number(&[], &[v.0]),
        AttrValue::Floats(v) => number(&[v.len()], &v.iter().map(|x| x.0).collect::<Vec<_>>()),
        AttrValue::Tensor(t) => Some(t.clone()),
        AttrValue::Str(v) => Some(Tensor::scalar(v.to_string())),
        _ => None,
    };
    let tensor = tensor.ok_or_else(|| format!("`{}` cannot be {}", formal.name, value.kind_name()))?;
    Ok(Arg::Constant(tensor))
}

/// A list of dimensions with as few symbols as the operator allows.
fn extents(call: &Call<'_>, op_type: &str, dims: &[Dim]) -> Result<Arg, String> {
    let input = call.shape(0);
    let mut out = dims.to_vec();
    match (op_type, input) {
        ("Reshape", Some(input)) if !dims.contains(&Dim::Const(0)) => {
            let symbolic = |d: &Dim| d.as_const().is_none();
            let mut free = !dims.contains(&Dim::Const(-1));
            if !free || out.iter().filter(|d| symbolic(d)).count() > 1 {
                for (i, d) in out.iter_mut().enumerate() {
                    if symbolic(d) && input.get(i) == Some(d) {
                        *d = Dim::Const(0);
                    }
                }
            }
            if out.iter().filter(|d| symbolic(d)).count() == 1 {
                for d in out.iter_mut().filter(|d| symbolic(d)) {
                    if std::mem::take(&mut free) {
                        *d = Dim::Const(-1);
                    }
                }
            }
        }
        ("Expand", Some(input)) => {
            let shift = dims.len().checked_sub(input.len());
            for (i, d) in out.iter_mut().enumerate() {
                let same = shift.and_then(|s| input.get(i.checked_sub(s)?)) == Some(d);
                if d.as_const().is_none() && same {
                    *d = Dim::Const(1);
                }
            }
            // The operand and the list are broadcast together, so ones in front of a list of the same rank say nothing.
            if shift == Some(0) {
                let ones = out.iter().take_while(|d| **d == Dim::Const(1)).count();
                out.drain(..ones.min(out.len().saturating_sub(1)));
            }
        }
        _ => {}
    }
    Ok(match out.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>() {
        Some(ints) => Arg::Constant(Tensor::vector(ints)),
        None => Arg::Extents(out),
    })
}
