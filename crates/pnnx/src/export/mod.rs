//! Exports graphs as models.
//!
//! Elementwise functions become expressions, merged where a value is used once; other calls become the torch operator
//! that [`import`](super::import) reads as exactly this call. A call that torch has no operator for is written as
//! `tautomer.name`, with its name in the operator table, which no other program reads.

mod carried;
mod expression;
mod extents;

use std::collections::{BTreeSet, HashMap, HashSet};

use indexmap::IndexMap;

use super::{ElementType, Extent, Operator, ParamFile, ValueType, layers};
use tautomer_diag::{Diagnostic, Diagnostics, Severity};
use tautomer_files::bytes::encode;
use tautomer_graph::{Graph, Node, Params, VertexId};
use tautomer_op::{AttrValue, Op, OpDef};
use tautomer_tensor::{DType, Dim, Tensor, TensorType, Type};

pub(crate) use carried::attr_text;
use expression::Draft;

/// The prefix of operators that torch does not have.
pub(super) const OWN: &str = "tautomer.";
/// The parameter that says which operands of such an operator are given, if some are missing.
pub(super) const GIVEN: &str = "given";
/// The parameter that distinguishes constants from parameters.
pub(super) const CONSTANT: &str = "constant";

/// A model made from a graph.
#[derive(Debug, Clone)]
pub struct Exported {
    /// The operators.
    pub file: ParamFile,
    /// The tensors, named by operator and attribute.
    pub weights: IndexMap<String, Vec<u8>>,
    /// Notes and warnings, but no errors.
    pub notes: Diagnostics,
}

/// `Err` holds the reason why a call cannot be expressed.
type Done<T> = Result<T, String>;

/// Exports a graph. Parameters without a value are written without one.
///
/// # Errors
/// An element type that PNNX does not have, an operator of another format, or an attribute that cannot be expressed.
pub fn export(graph: &Graph, params: &Params) -> Result<Exported, Diagnostics> {
    let mut exporter = Exporter {
        graph,
        params,
        file: ParamFile::default(),
        weights: IndexMap::new(),
        names: HashMap::new(),
        drafts: HashMap::new(),
        uses: HashMap::new(),
        sizes: HashMap::new(),
        taken: HashSet::new(),
        next: 0,
        own: BTreeSet::new(),
    };
    let refused = |message: String| Diagnostics::from(Diagnostic::error("T0511", message));
    exporter.run().map_err(refused)?;
    let mut notes = Diagnostics::new();
    if !exporter.own.is_empty() {
        let names: Vec<&str> = exporter.own.into_iter().collect();
        let message = format!(
            "torch has no operator like {}: no other program reads these lines",
            names.join(", ")
        );
        notes.push(Diagnostic::new(Severity::Note, "T0511", message));
    }
    Ok(Exported {
        file: exporter.file,
        weights: exporter.weights,
        notes,
    })
}

/// True if torch has one or several operators for most calls of this operator.
pub fn has_form(def: &OpDef) -> bool {
    expression::function_of(def.name, DType::F32).is_some() || layers::is_written(def.name)
}

pub(crate) struct Exporter<'a> {
    graph: &'a Graph,
    params: &'a Params,
    file: ParamFile,
    weights: IndexMap<String, Vec<u8>>,
    /// Names of values already written.
    names: HashMap<VertexId, Vec<String>>,
    /// Expressions not yet written.
    drafts: HashMap<VertexId, Draft>,
    /// How often a value is used, by calls and as a result.
    uses: HashMap<VertexId, usize>,
    /// Symbolic dimensions, with an input and the axis that has it.
    sizes: HashMap<String, (VertexId, usize)>,
    /// Names of operators in use.
    taken: HashSet<String>,
    next: usize,
    own: BTreeSet<&'static str>,
}

/// A line without its name.
#[derive(Default)]
pub(crate) struct Line {
    kind: String,
    pub(crate) inputs: Vec<VertexId>,
    /// Names of the inputs; inputs beyond these have none.
    input_names: Vec<&'static str>,
    /// Inputs after these that are lists of integers, by name.
    lists: Vec<(&'static str, String)>,
    pub(crate) params: Vec<(String, String)>,
}

impl Line {
    pub(crate) fn new(kind: impl Into<String>, inputs: &[VertexId]) -> Line {
        Line {
            kind: kind.into(),
            inputs: inputs.to_vec(),
            ..Line::default()
        }
    }

    pub(crate) fn named(mut self, names: &[&'static str]) -> Line {
        self.input_names = names.to_vec();
        self
    }

    pub(crate) fn param(mut self, key: &str, value: impl Into<String>) -> Line {
        self.params.push((key.to_owned(), value.into()));
        self
    }
}

/// `(1,2)`
pub(crate) fn tuple<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    format!("({})", items.join(","))
}

/// True for tensors that are read as constants unless the line says otherwise.
pub(super) fn reads_as_constant(value: &Tensor) -> bool {
    !value.dtype().is_float() || value.len() == 1 || value.is_empty()
}

fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

impl<'a> Exporter<'a> {
    fn run(&mut self) -> Done<()> {
        let graph = self.graph;
        let order = graph.rpo();
        for &v in &order {
            for u in graph.pred(v) {
                *self.uses.entry(u).or_insert(0) += 1;
            }
        }
        for output in graph.outputs() {
            // A result is always written, so it counts as used more than once.
            *self.uses.entry(output.vertex).or_insert(0) += 2;
        }
        for (i, &v) in graph.inputs().iter().enumerate() {
            self.input(i, v)?;
        }
        let reached: HashSet<VertexId> = order.iter().copied().collect();
        for &v in graph.params().iter().filter(|v| reached.contains(v)) {
            let name = graph.vertex(v).name.as_deref().unwrap_or("parameter").to_owned();
            let value = self.params.get(name.as_str());
            let told = value.filter(|value| reads_as_constant(value)).map(|_| false);
            self.tensor_line(v, &name, value, told)?;
        }
        for v in order {
            self.vertex(v)?;
        }
        let mut results = Vec::new();
        for output in graph.outputs() {
            results.push(self.value(output.vertex)?);
        }
        if let [_, _, ..] = results.as_slice() {
            let name = self.fresh();
            self.push("prim::TupleConstruct", "pnnx_results", results, vec![name.clone()]);
            results = vec![name];
        }
        self.push("pnnx.Output", "pnnx_output_0", results, Vec::new());
        Ok(())
    }

    /// The type of a value, if it is a tensor.
    pub(crate) fn tensor_type(&self, v: VertexId) -> Option<&'a TensorType> {
        self.graph.ty(v).as_tensor()
    }

    pub(crate) fn rank(&self, v: VertexId) -> Option<usize> {
        self.tensor_type(v)?.rank()
    }

    pub(crate) fn is_absent(&self, v: VertexId) -> bool {
        matches!(self.graph.vertex(v).node, Node::Absent)
    }

    fn input(&mut self, i: usize, v: VertexId) -> Done<()> {
        let name = self.fresh();
        let ty = self.value_type(v)?;
        if let Some(shape) = self.graph.ty(v).as_tensor().and_then(|t| t.shape.clone()) {
            for (axis, dim) in shape.iter().enumerate() {
                if let Some(symbol) = dim.as_symbol() {
                    self.sizes.entry(symbol.to_owned()).or_insert((v, axis));
                }
            }
        }
        let own = self.graph.vertex(v).name.as_deref().unwrap_or_default();
        let label = match own {
            _ if own.is_empty() || own == format!("in{i}") => format!("pnnx_input_{i}"),
            _ => own.to_owned(),
        };
        let op = self.push("pnnx.Input", &label, Vec::new(), vec![name.clone()]);
        if let Some(ty) = ty {
            op.types.push((name.clone(), ty));
        }
        self.names.insert(v, vec![name]);
        Ok(())
    }

    /// The type of a value as written in a line, if its rank is known.
    fn value_type(&self, v: VertexId) -> Done<Option<ValueType>> {
        let Type::Tensor(tensor) = self.graph.ty(v) else {
            return Ok(None);
        };
        let Some(element) = ElementType::of_dtype(tensor.dtype) else {
            return Err(format!("PNNX has no element type {}", tensor.dtype));
        };
        let Some(shape) = &tensor.shape else { return Ok(None) };
        let extent = |d: &Dim| match (d.as_const(), d.as_symbol()) {
            (Some(n), _) => usize::try_from(n).map_or(Extent::Any, Extent::Known),
            (None, Some(symbol)) if symbol.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                Extent::Named(symbol.to_owned())
            }
            _ => Extent::Any,
        };
        Ok(Some(ValueType {
            shape: shape.iter().map(extent).collect(),
            element,
        }))
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        (self.next - 1).to_string()
    }

    /// Adds a line; its name is made unique.
    #[expect(clippy::indexing_slicing, reason = "the line at that place has just been added")]
    fn push(&mut self, kind: &str, name: &str, inputs: Vec<String>, outputs: Vec<String>) -> &mut Operator {
        let name: String = name
            .chars()
            .map(|c| if c.is_whitespace() || c == '=' { '_' } else { c })
            .collect();
        let mut unique = if name.is_empty() { "op".to_owned() } else { name.clone() };
        let mut i = 0;
        while !self.taken.insert(unique.clone()) {
            i += 1;
            unique = format!("{name}_{i}");
        }
        let place = self.file.operators.len();
        self.file.operators.push(Operator {
            kind: kind.to_owned(),
            name: unique,
            inputs,
            outputs,
            ..Operator::default()
        });
        &mut self.file.operators[place]
    }

    /// Writes a tensor with its value, if it has one; `told` says whether it is a constant, where a reader would not
    /// guess that.
    fn tensor_line(&mut self, v: VertexId, name: &str, value: Option<&Tensor>, told: Option<bool>) -> Done<()> {
        let Some(ty) = self.value_type(v)? else {
            return Err(format!("the shape of `{name}` is unknown"));
        };
        let value_name = self.fresh();
        let op = self.push("pnnx.Attribute", name, Vec::new(), vec![value_name.clone()]);
        if let Some(constant) = told {
            op.params.push((CONSTANT.to_owned(), truth(constant).to_owned()));
        }
        op.attributes.push(("data".to_owned(), ty.clone()));
        op.types.push((value_name.clone(), ty));
        let member = format!("{}.data", op.name);
        if let Some(bytes) = value.and_then(encode) {
            self.weights.insert(member, bytes);
        }
        self.names.insert(v, vec![value_name]);
        Ok(())
    }

    fn vertex(&mut self, v: VertexId) -> Done<()> {
        let graph = self.graph;
        let vertex = graph.vertex(v);
        match &vertex.node {
            Node::Input | Node::Param | Node::Const(_) | Node::Absent | Node::Tuple => Ok(()),
            Node::Proj(i) => {
                let tuple = graph.pred(v).first().copied();
                let Some(name) = tuple
                    .and_then(|tuple| self.names.get(&tuple))
                    .and_then(|names| names.get(*i as usize))
                    .cloned()
                else {
                    return Err("an element of a tuple that no operator returns".to_owned());
                };
                self.names.insert(v, vec![name]);
                Ok(())
            }
            Node::Call {
                op: Op::Opaque(opaque),
                attrs,
            } => self.opaque(v, opaque, attrs),
            Node::Call {
                op: Op::Known(def),
                attrs,
            } => {
                let operands = graph.pred(v);
                if let Some(draft) = self.draft(v, def, &operands)? {
                    self.drafts.insert(v, draft);
                    return Ok(());
                }
                let call = Call {
                    def,
                    attrs,
                    operands: &operands,
                };
                let line = match layers::line(self, &call) {
                    Some(line) => line,
                    None => self.own_line(&call)?,
                };
                self.write(v, line)
            }
        }
    }

    /// Writes a line for the results of a call.
    fn write(&mut self, v: VertexId, line: Line) -> Done<()> {
        let mut inputs = Vec::with_capacity(line.inputs.len());
        for &u in &line.inputs {
            inputs.push(self.value(u)?);
        }
        let names = line
            .input_names
            .iter()
            .zip(&inputs)
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        let mut names: Vec<(String, String)> = names.collect();
        let mut types = Vec::new();
        for (value, &u) in inputs.iter().zip(&line.inputs) {
            types.extend(
                self.value_type(u)?
                    .filter(|ty| !ty.shape.is_empty())
                    .map(|ty| (value.clone(), ty)),
            );
        }
        for (name, list) in line.lists {
            names.push((name.to_owned(), list.clone()));
            inputs.push(list);
        }
        let count = match self.graph.ty(v) {
            Type::Tuple(items) => items.len(),
            _ => 1,
        };
        let outputs: Vec<String> = (0..count).map(|_| self.fresh()).collect();
        if let (Some(ty), [only]) = (
            self.value_type(v)?.filter(|ty| !ty.shape.is_empty()),
            outputs.as_slice(),
        ) {
            types.push((only.clone(), ty));
        }
        let name = format!("{}_{}", line.kind, self.file.operators.len());
        let op = self.push(&line.kind, &name, inputs, outputs.clone());
        op.params = line.params;
        op.params.sort();
        op.input_names = names;
        types.dedup();
        op.types = types;
        self.names.insert(v, outputs);
        Ok(())
    }

    /// The name of a value; pending constants and expressions are written first.
    fn value(&mut self, v: VertexId) -> Done<String> {
        if !self.names.contains_key(&v) {
            if let Some(draft) = self.drafts.remove(&v) {
                self.write_draft(v, draft)?;
            } else if let Node::Const(value) = &self.graph.vertex(v).node {
                let name = self.graph.vertex(v).name.clone();
                let name = name.map_or_else(|| format!("constant_{}", self.file.operators.len()), |n| n.to_string());
                let told = (!reads_as_constant(value)).then_some(true);
                self.tensor_line(v, &name, Some(value), told)?;
            }
        }
        match self.names.get(&v).map(Vec::as_slice) {
            Some([name]) => Ok(name.clone()),
            _ => Err("a tuple or a missing value where a tensor is expected".to_owned()),
        }
    }
}

/// A call with everything its line needs.
pub(crate) struct Call<'a> {
    pub(crate) def: &'static OpDef,
    attrs: &'a [AttrValue],
    pub(crate) operands: &'a [VertexId],
}

impl Call<'_> {
    pub(crate) fn attr(&self, name: &str) -> &AttrValue {
        self.def.attr_in(self.attrs, name)
    }

    /// True if every attribute except these has its default.
    pub(crate) fn plain_but(&self, names: &[&str]) -> bool {
        let usual = |attr: &tautomer_op::AttrDef, value: &AttrValue| {
            value.is_none() || attr.default_value().is_some_and(|usual| usual == *value)
        };
        let others = self
            .def
            .attrs
            .iter()
            .zip(self.attrs)
            .filter(|(attr, _)| !names.contains(&attr.name));
        others.into_iter().all(|(attr, value)| usual(attr, value))
    }

    pub(crate) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attr(name).as_ints()
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.attr(name).as_int()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.attr(name).is_true()
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.attr(name).as_str().unwrap_or_default()
    }

    pub(crate) fn float(&self, name: &str) -> Option<f64> {
        self.attr(name).as_float()
    }
}
