//! Imports models as graphs.
//!
//! Operators become calls of the operator table with torch's meaning: element types are promoted as torch does, and
//! operators that ONNX lacks are spelled out. Inputs have the types given in the file; all other types are inferred.

mod arith;
mod complex;
mod evaluate;
mod opaque;
mod val;

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

pub(super) use opaque::{COMPLEX, DOMAIN, INPUTS, LISTS, NAME, TENSORS};

use super::export::{CONSTANT, GIVEN, OWN, reads_as_constant};
use super::{Archive, ElementType, Extent, Operator, ParamFile, Value, ValueType};
use tautomer_diag::{Diagnostic, Diagnostics, Severity, Source};
use tautomer_files::bytes::{Endian, decode};
use tautomer_graph::{Given, Graph, Node, Params, VertexId, Workload, inline_program};
use tautomer_lang::ast::Program;
use tautomer_lang::parse_program;
use tautomer_op::{AttrValue, Op, Real, lookup};
use tautomer_tensor::{DType, Dim, Shape, TensorType, Type};

pub(crate) use val::{Host, Typed, Val};

/// An imported model.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The computation, and the values of its parameters as far as they are known.
    pub workload: Workload,
    /// Notes and warnings, but no errors.
    pub notes: Diagnostics,
}

/// The reason why an operator could not be imported.
pub(crate) enum Refused {
    /// It is invalid.
    Wrong(String),
    /// It is valid but unsupported.
    Unknown(String),
}

impl From<tautomer_op::OpError> for Refused {
    fn from(error: tautomer_op::OpError) -> Refused {
        Refused::Wrong(error.to_string())
    }
}

pub(crate) fn wrong<T>(message: impl Into<String>) -> Done<T> {
    Err(Refused::Wrong(message.into()))
}

pub(crate) fn unknown<T>(message: impl Into<String>) -> Done<T> {
    Err(Refused::Unknown(message.into()))
}

pub(crate) type Done<T> = Result<T, Refused>;

/// Imports a model; `name` and `text` appear in messages, `archive` has the weights.
///
/// # Errors
/// Operators with invalid operands, and weights that do not match their types.
pub fn import(
    name: &str,
    text: &str,
    file: &ParamFile,
    archive: Option<&Archive<'_>>,
) -> Result<Imported, Diagnostics> {
    let mut importer = Importer {
        archive,
        graph: Graph::new(),
        params: Params::new(),
        values: HashMap::new(),
        sources: HashMap::new(),
        programs: HashMap::new(),
        problems: Diagnostics::new(),
        carried: IndexMap::new(),
    };
    for op in &file.operators {
        importer.line(op);
    }
    for (kind, (count, reason)) in &importer.carried {
        let times = if *count == 1 {
            "once".to_owned()
        } else {
            format!("{count} times")
        };
        let message = format!("operator `{kind}` is carried along unread ({times}): {reason}");
        importer
            .problems
            .push(Diagnostic::new(Severity::Note, "T0505", message));
    }
    let source = Arc::new(Source::new(name, text));
    let problems = importer.problems.in_source(&source);
    if problems.has_errors() {
        return Err(problems);
    }
    let mut graph = importer.graph;
    join_projections(&mut graph);
    graph.retain_reachable();
    let kept: Vec<Arc<str>> = graph
        .params()
        .iter()
        .filter_map(|&v| graph.vertex(v).name.clone())
        .collect();
    let mut params = importer.params;
    params.retain(|name, _| kept.contains(name));
    Ok(Imported {
        workload: Workload { graph, params },
        notes: problems,
    })
}

/// Shares one projection among repeated uses of the same tuple element.
fn join_projections(graph: &mut Graph) {
    let mut first: HashMap<(VertexId, u32), VertexId> = HashMap::new();
    let ids: Vec<VertexId> = graph.ids().collect();
    for v in ids {
        let Node::Proj(i) = graph.vertex(v).node else { continue };
        let Some(&tuple) = graph.pred(v).first() else { continue };
        let kept = *first.entry((tuple, i)).or_insert(v);
        if kept != v {
            graph.replace_uses(v, kept);
        }
    }
}

pub(crate) struct Importer<'a> {
    archive: Option<&'a Archive<'a>>,
    pub(crate) graph: Graph,
    params: Params,
    values: HashMap<&'a str, Val>,
    /// Where symbolic dimensions come from: an input and its axis.
    sources: HashMap<Arc<str>, (VertexId, usize)>,
    programs: HashMap<&'static str, Program>,
    problems: Diagnostics,
    /// Operators carried along unread: how often, and why.
    carried: IndexMap<String, (usize, String)>,
}

impl<'a> Importer<'a> {
    fn line(&mut self, op: &'a Operator) {
        let mut inputs = Vec::with_capacity(op.inputs.len());
        for name in &op.inputs {
            // Operators that depend on a rejected one are skipped without a message.
            let Some(value) = self.values.get(name.as_str()) else {
                return;
            };
            inputs.push(value.clone());
        }
        let named = crate::layers::named(op);
        let results = match self.operator(named.as_ref().unwrap_or(op), &inputs) {
            Err(Refused::Unknown(reason)) => {
                let entry = self.carried.entry(op.kind.clone()).or_insert((0, reason));
                entry.0 += 1;
                self.opaque(op, &inputs)
            }
            other => other,
        };
        let results = match results {
            Ok(results) if results.len() >= op.outputs.len() => results,
            Ok(results) => {
                self.refuse(
                    op,
                    &format!("it has {} results, not {}", results.len(), op.outputs.len()),
                );
                return;
            }
            Err(Refused::Wrong(reason) | Refused::Unknown(reason)) => {
                self.refuse(op, &reason);
                return;
            }
        };
        for (name, value) in op.outputs.iter().zip(results) {
            if let Val::Tensor(t) = &value
                && matches!(self.graph.vertex(t.v).node, Node::Call { .. } | Node::Proj(_))
            {
                self.graph
                    .vertex_mut(t.v)
                    .name
                    .get_or_insert_with(|| format!("v{name}").into());
            }
            self.values.insert(name, value);
        }
    }

    fn refuse(&mut self, op: &Operator, reason: &str) {
        let problem = Diagnostic::error("T0503", format!("operator `{}` ({}): {reason}", op.name, op.kind));
        self.problems.push(problem.label(op.span, ""));
    }

    fn operator(&mut self, op: &Operator, inputs: &[Val]) -> Done<Vec<Val>> {
        match op.kind.as_str() {
            "pnnx.Input" => self.input(op).map(|v| vec![v]),
            "pnnx.Output" => {
                let mut results = Vec::new();
                inputs.iter().for_each(|value| value.flatten(&mut results));
                for value in results {
                    let v = self.tensor(&value)?.v;
                    let name = format!("out{}", self.graph.outputs().len());
                    self.graph.output(v, Some(&name));
                }
                Ok(Vec::new())
            }
            "pnnx.Attribute" => {
                let Some((key, ty)) = op.attributes.first() else {
                    return wrong("it has no tensor");
                };
                let name = if key == "data" {
                    op.name.clone()
                } else {
                    format!("{}.{key}", op.name)
                };
                let told = match op.param(CONSTANT) {
                    Some(Value::Bool(told)) => Some(told),
                    _ => None,
                };
                self.tensor_beside(op, key, ty, &name, told).map(|v| vec![v])
            }
            "pnnx.Expression" => self.expression(op, inputs),
            "pnnx.SliceIndexes" => self.slice_indexes(op, inputs),
            kind if kind.starts_with(OWN) => self.own(op, inputs),
            "prim::TupleConstruct" | "prim::ListConstruct" => Ok(vec![Val::List(inputs.to_vec())]),
            "prim::TupleUnpack" | "prim::ListUnpack" => match inputs {
                [Val::List(items)] => Ok(items.clone()),
                _ => wrong("its operand is not a tuple"),
            },
            _ => self.layer(op, inputs),
        }
    }

    fn input(&mut self, op: &Operator) -> Done<Val> {
        let number = self.graph.inputs().len();
        // Exporters number inputs; other names are kept.
        let name = match op.name.starts_with("pnnx_input_") {
            true => format!("in{number}"),
            false => op.name.clone(),
        };
        let ty = op.outputs.first().and_then(|value| op.type_of(value));
        let Some(ty) = ty else {
            let message = format!("input `{}` has no type: f32 of any rank is assumed", op.name);
            self.problems.push(Diagnostic::new(Severity::Note, "T0510", message));
            let v = self.graph.input(&name, Type::from(TensorType::any_rank(DType::F32)));
            return Ok(Typed::new(v, ElementType::F32).into());
        };
        let Some(dtype) = ty.element.dtype() else {
            return wrong("an input must have an element type");
        };
        let mut named = Vec::new();
        let mut shape: Shape = ty
            .shape
            .iter()
            .enumerate()
            .map(|(axis, extent)| match extent {
                Extent::Known(n) => Dim::from(*n),
                Extent::Any => {
                    named.push((format!("d{number}_{axis}"), axis));
                    Dim::symbol(&format!("d{number}_{axis}"))
                }
                Extent::Named(text) => {
                    let symbol = symbol_name(text);
                    named.push((symbol.clone(), axis));
                    Dim::symbol(&symbol)
                }
            })
            .collect();
        if ty.element.is_complex() {
            shape.push(Dim::Const(2));
        }
        let v = self.graph.input(
            &name,
            TensorType {
                dtype,
                shape: Some(shape),
            },
        );
        for (symbol, axis) in named {
            self.sources.entry(symbol.into()).or_insert((v, axis));
        }
        Ok(Typed::new(v, ty.element).into())
    }

    /// A tensor of the archive: a parameter, or a constant if shapes or indices are made from such tensors.
    pub(crate) fn weight(&mut self, op: &Operator, key: &str, ty: &ValueType, name: &str) -> Done<Val> {
        self.tensor_beside(op, key, ty, name, None)
    }

    pub(crate) fn tensor_beside(
        &mut self,
        op: &Operator,
        key: &str,
        ty: &ValueType,
        name: &str,
        told: Option<bool>,
    ) -> Done<Val> {
        let Some(dtype) = ty.element.dtype() else {
            return wrong(format!("`@{key}` has no element type"));
        };
        let extents: Option<Vec<usize>> = ty
            .shape
            .iter()
            .map(|extent| match extent {
                Extent::Known(n) => Some(*n),
                _ => None,
            })
            .collect();
        let Some(mut extents) = extents else {
            return wrong(format!("the shape of `@{key}` is unknown"));
        };
        if ty.element.is_complex() {
            extents.push(2);
        }
        let member = format!("{}.{key}", op.name);
        let bytes = self.archive.and_then(|archive| archive.get(&member));
        let value = match bytes {
            Some(bytes) => match decode(dtype, &extents, bytes, Endian::Little) {
                Some(value) => Some(value),
                None => return wrong(format!("{} bytes do not fill `@{key}` of type {ty}", bytes.len())),
            },
            None => {
                if self.archive.is_some() {
                    let message = format!("the archive has no member {member:?}: the parameter has no value");
                    self.problems.push(Diagnostic::new(Severity::Note, "T0510", message));
                }
                None
            }
        };
        let v = match value {
            Some(value) if told.unwrap_or_else(|| reads_as_constant(&value)) => self.graph.constant(value),
            value => {
                let v = self.graph.param(name, Type::tensor(dtype, Shape::from(&extents[..])));
                if let Some(value) = value {
                    self.params.insert(name.into(), value);
                }
                v
            }
        };
        Ok(Typed::new(v, ty.element).into())
    }

    /// A call with one result.
    pub(crate) fn call(&mut self, name: &str, operands: &[VertexId], attrs: &[(&str, AttrValue)]) -> Done<VertexId> {
        let Some(def) = lookup(name) else {
            return unknown(format!("there is no operator `{name}`"));
        };
        let attrs: Vec<(&str, AttrValue)> = attrs.iter().filter(|(_, v)| !v.is_none()).cloned().collect();
        Ok(self.graph.call(Op::Known(def), operands, &attrs)?)
    }

    /// The results of a call with several results.
    pub(crate) fn calls(
        &mut self,
        name: &str,
        operands: &[VertexId],
        attrs: &[(&str, AttrValue)],
    ) -> Done<Vec<VertexId>> {
        let v = self.call(name, operands, attrs)?;
        self.parts(v)
    }

    /// A call written under its name in the operator table.
    fn own(&mut self, op: &Operator, inputs: &[Val]) -> Done<Vec<Val>> {
        let Some(def) = lookup(op.kind.trim_start_matches(OWN)) else {
            return unknown("there is no operator of that name");
        };
        let mut given = Vec::with_capacity(inputs.len());
        for value in inputs {
            given.push(self.tensor(value)?.v);
        }
        let mut operands = given.clone();
        if let Some(Value::Ints(places)) = op.param(GIVEN) {
            if places.len() != given.len() {
                return wrong(format!("`{GIVEN}` does not give the positions of its operands"));
            }
            operands.clear();
            for (&place, &v) in places.iter().zip(&given) {
                let place = usize::try_from(place)
                    .ok()
                    .filter(|&p| p >= operands.len() && p < def.operands.len());
                let Some(place) = place else {
                    return wrong(format!("`{GIVEN}` is not in ascending order"));
                };
                while operands.len() < place {
                    operands.push(self.graph.absent());
                }
                operands.push(v);
            }
        }
        let mut attrs: Vec<(&str, AttrValue)> = Vec::new();
        for (key, text) in op.params.iter().filter(|(key, _)| key != GIVEN) {
            attrs.push((key, attr_of(Value::read(text))));
        }
        let v = self.graph.call(Op::Known(def), &operands, &attrs)?;
        self.untyped(v)
    }

    /// The elements of a tuple, or the value itself.
    pub(crate) fn parts(&mut self, v: VertexId) -> Done<Vec<VertexId>> {
        if matches!(self.graph.vertex(v).node, Node::Tuple) {
            return Ok(self.graph.pred(v).to_vec());
        }
        let count = match self.graph.ty(v) {
            Type::Tuple(items) => items.len(),
            _ => return Ok(vec![v]),
        };
        (0..count).map(|i| Ok(self.graph.project(v, i)?)).collect()
    }

    /// The result of inlining a program of one function.
    pub(crate) fn program(&mut self, text: &'static str, given: &[(&str, Given)]) -> Done<VertexId> {
        self.program_of(text, || text.to_owned(), given)
    }

    /// The result of inlining the program with that key, which is parsed once.
    pub(crate) fn program_of(
        &mut self,
        key: &'static str,
        text: impl FnOnce() -> String,
        given: &[(&str, Given)],
    ) -> Done<VertexId> {
        if !self.programs.contains_key(key) {
            let source = Arc::new(Source::new("<pnnx>", text()));
            let program = parse_program(source).map_err(|e| Refused::Wrong(e.render(false)))?;
            self.programs.insert(key, program);
        }
        match self.programs.get(key) {
            Some(program) => Ok(inline_program(&mut self.graph, program, given)?),
            None => unknown("its program is missing"),
        }
    }

    /// The shape of a value of known rank.
    pub(crate) fn shape(&self, v: VertexId) -> Done<Vec<Dim>> {
        match self.graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref()) {
            Some(shape) => Ok(shape.to_vec()),
            None => unknown("the rank of its operand is unknown"),
        }
    }

    /// The dimensions of a value, all of which must be known.
    pub(crate) fn extents(&self, v: VertexId) -> Done<Vec<i64>> {
        let shape = self.shape(v)?;
        match shape.iter().map(Dim::as_const).collect() {
            Some(extents) => Ok(extents),
            None => unknown("a dimension of its operand is unknown"),
        }
    }

    pub(crate) fn dtype(&self, v: VertexId) -> Done<DType> {
        match self.graph.ty(v).as_tensor() {
            Some(t) => Ok(t.dtype),
            None => wrong("its operand is not a tensor"),
        }
    }
}

/// A dimension name in the form that types allow.
fn symbol_name(text: &str) -> String {
    let mut out: String = text
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect();
    if !out.starts_with(|c: char| c.is_alphabetic()) {
        out.insert(0, 'd');
    }
    out
}

/// More parts or indices than this are rejected, as a few words of a file could otherwise use up all memory.
pub(crate) const MOST: i64 = 1 << 20;

/// The number, if it is small enough to create that many items individually.
pub(crate) fn few(count: i64) -> Done<usize> {
    match usize::try_from(count) {
        Ok(n) if count <= MOST => Ok(n),
        _ => unknown(format!("{count} parts or indices")),
    }
}

/// An axis counted from the front.
pub(crate) fn axis_of(axis: i64, rank: usize) -> Done<usize> {
    let from_front = if axis < 0 {
        axis.saturating_add_unsigned(rank as u64)
    } else {
        axis
    };
    match usize::try_from(from_front) {
        Ok(at) if at < rank => Ok(at),
        _ => wrong(format!("there is no axis {axis}: its operand has rank {rank}")),
    }
}

/// An element of a list; messages call the list `what`.
pub(crate) fn element<'l, T>(list: &'l [T], place: usize, what: &str) -> Done<&'l T> {
    match list.get(place) {
        Some(item) => Ok(item),
        None => wrong(format!(
            "{what} has length {}, but at least {} is required",
            list.len(),
            place.saturating_add(1)
        )),
    }
}

/// The last `dims` dimensions of a shape whose rank must be `dims + 2`: batch and channels come first.
pub(crate) fn spatial<'s, T>(shape: &'s [T], dims: usize, what: &str) -> Done<&'s [T]> {
    match shape.split_at_checked(2) {
        Some((_, last)) if last.len() == dims => Ok(last),
        _ => wrong(format!(
            "{what} has rank {}, but rank {} is required",
            shape.len(),
            dims + 2
        )),
    }
}

/// The value of a parameter as an attribute.
fn attr_of(value: Value) -> AttrValue {
    match value {
        Value::None => AttrValue::Ints(Vec::new()),
        Value::Bool(v) => AttrValue::Bool(v),
        Value::Int(v) => AttrValue::int(v),
        Value::Float(v) => AttrValue::float(v),
        Value::Complex(..) => AttrValue::None,
        Value::Text(v) => AttrValue::str(&v),
        Value::Ints(v) => AttrValue::ints(&v),
        Value::Floats(v) => AttrValue::Floats(v.into_iter().map(Real).collect()),
        Value::Texts(v) => AttrValue::Strs(v.iter().map(|text| text.as_str().into()).collect()),
    }
}
