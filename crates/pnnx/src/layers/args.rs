//! Reading lines of layers by the table.

use tautomer_graph::{Given, VertexId};
use tautomer_tensor::Dim;

use super::{Form, Read, Row, call};
use crate::import::{Done, Host, Importer, Typed, Val, unknown, wrong};
use crate::{Category, ElementType, Operator, Value};

/// The arguments of an operator: operands, parameters and tensors of the archive, all by name.
pub(crate) struct Args<'a> {
    pub(crate) op: &'a Operator,
    /// The number of spatial axes in the name of the layer.
    pub(crate) dims: usize,
    row: &'static Row,
    named: Vec<(&'a str, Val)>,
    positional: Vec<Val>,
}

impl Args<'_> {
    /// The operand or parameter with that name; if there is none, the unnamed operand at `place`.
    pub(crate) fn get(&self, name: &str, place: Option<usize>) -> Val {
        let named = self
            .named
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value);
        let value = named.or_else(|| self.positional.get(place?));
        value.cloned().unwrap_or(Val::Host(Host::None))
    }

    pub(crate) fn param(&self, name: &str) -> Val {
        self.get(name, None)
    }

    /// The operands in order, regardless of their names.
    pub(crate) fn operands(&self) -> &[Val] {
        &self.positional
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.param(name), Val::Host(Host::Bool(true)))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        match self.param(name) {
            Val::Host(Host::Text(text)) => text,
            _ => String::new(),
        }
    }

    pub(crate) fn int(&self, name: &str) -> Done<i64> {
        match self.param(name).int().and_then(|d| d.as_const()) {
            Some(value) => Ok(value),
            None => unknown(format!("`{name}` is not an integer")),
        }
    }

    /// The operand or parameter at that place of the names of the layer.
    pub(crate) fn at(&self, place: usize) -> Val {
        let name = self.row.bare_names().nth(place).unwrap_or_default();
        self.get(name, Some(place))
    }

    /// The integers of a parameter; a single one is repeated `count` times.
    pub(crate) fn ints(&self, name: &str, count: usize) -> Done<Vec<i64>> {
        match self.param(name).const_ints().as_deref() {
            Some(&[one]) => Ok(vec![one; count]),
            Some(ints) if ints.len() == count => Ok(ints.to_vec()),
            Some(ints) => unknown(format!(
                "`{name}` has length {}, but length {count} is required",
                ints.len()
            )),
            None => unknown(format!("`{name}` is not a list of {count} integers")),
        }
    }
}

impl Importer<'_> {
    /// The results of a line that is not part of the file format itself.
    pub(crate) fn layer(&mut self, op: &Operator, inputs: &[Val]) -> Done<Vec<Val>> {
        let Some((row, dims)) = super::find(&op.kind) else {
            return unknown("unsupported PNNX operator");
        };
        let args = self.args(op, inputs, row, dims)?;
        match &row.read {
            Read::Call(write) => match write.form {
                Form::Call(form) => self.inlined(&args, &call::program(write.op, form)),
                Form::By(_) => unknown("unsupported PNNX operator"),
            },
            Read::Program(body) => self.inlined(&args, body),
            Read::By(by) => by(self, &args),
        }
    }

    fn args<'o>(&mut self, op: &'o Operator, inputs: &[Val], row: &'static Row, dims: usize) -> Done<Args<'o>> {
        let mut args = Args {
            op,
            row,
            dims,
            named: Vec::new(),
            positional: inputs.to_vec(),
        };
        for (name, value) in op.names_of_inputs().into_iter().zip(inputs) {
            // Some operators have other names for their first operand.
            match name {
                Some("self" | "tensor") => args.named.push(("input", value.clone())),
                Some(name) => args.named.push((name, value.clone())),
                None => {}
            }
        }
        for (key, ty) in &op.attributes {
            let value = self.weight(op, key, ty, &format!("{}.{key}", op.name))?;
            args.named.push((key, value));
        }
        for (key, text) in &op.params {
            // `bias=True` only says that there is a bias; what counts is the tensor.
            if !args.named.iter().any(|(known, _)| known == key) {
                args.named.push((key, Value::read(text).into()));
            }
        }
        Ok(args)
    }

    /// The results of a layer whose names are the arguments of a program with that body.
    pub(super) fn inlined(&mut self, args: &Args<'_>, body: &str) -> Done<Vec<Val>> {
        let names: Vec<(&str, &str)> = args
            .row
            .names
            .split_whitespace()
            .map(|name| name.split_once(':').unwrap_or((name, "")))
            .collect();
        let known = |name: &str| names.iter().any(|(known, _)| *known == name);
        if let Some((other, _)) = args.named.iter().find(|(name, _)| !known(name)) {
            return unknown(format!("unsupported parameter `{other}`"));
        }
        let element_type = match names.iter().find(|(name, _)| *name == "dtype") {
            Some((_, mark)) => self.accumulated(args, *mark == "sum")?,
            None => None,
        };
        let mut given: Vec<(&str, Given)> = Vec::new();
        let mut element = None;
        let mut place = 0;
        let unnamed = args.op.input_names.is_empty();
        for (name, kind) in &names {
            let named = args
                .named
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone());
            let value = match named {
                Some(value) => value,
                None if unnamed => {
                    place += 1;
                    args.positional.get(place - 1).cloned().unwrap_or(Val::Host(Host::None))
                }
                None => continue,
            };
            let value = match (*kind, value) {
                ("tensor", Val::Host(host)) if host != Host::None => {
                    Val::Tensor(self.tensor_of(&Val::Host(host), element.unwrap_or(ElementType::F32))?)
                }
                ("int", Val::Host(Host::Bool(truth))) => Val::Host(Host::Int(Dim::Const(i64::from(truth)))),
                (_, Val::Tensor(t)) if *name == "input" => match element_type {
                    Some(to) if !t.element.is_complex() => Val::Tensor(self.cast(t, to)?),
                    _ => Val::Tensor(t),
                },
                (_, value) => value,
            };
            match &value {
                Val::Tensor(t) if t.element.is_complex() => return unknown("its operand is complex"),
                Val::Tensor(t) => {
                    element.get_or_insert(t.element);
                    given.push((name, Given::Value(t.v)));
                }
                Val::Host(Host::None) => {}
                // Only says whether there is a tensor of that name.
                Val::Host(Host::Bool(_)) if *name == "bias" => {}
                Val::Host(Host::Computed(v, _)) => given.push((name, Given::Value(*v))),
                other => match other.attr() {
                    Some(attr) => given.push((name, Given::Attr(attr))),
                    None => return unknown(format!("unsupported value of `{name}`")),
                },
            }
        }
        if names.first().is_some_and(|(name, _)| *name == "input") && element.is_none() {
            return unknown("its operand is not a tensor");
        }
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let text = || format!("fn body({}) {{ {body} }}", names.join(", "));
        let v = self.program_of(args.row.kinds, text, &given)?;
        self.untyped(v)
    }

    /// The type in which an operator computes, if it is not its operand's: the type that the line requests, either by a
    /// parameter or as the type of its result, which is all that some exporters write; `i64` for sums of integers.
    fn accumulated(&mut self, args: &Args<'_>, sum: bool) -> Done<Option<ElementType>> {
        let asked = ElementType::of_torch(&args.text("dtype"));
        if asked.is_some() {
            return Ok(asked);
        }
        let Val::Tensor(x) = args.get("input", Some(0)) else {
            return Ok(None);
        };
        let declared = args.op.outputs.first().and_then(|name| args.op.type_of(name));
        if let Some(declared) = declared.map(|ty| ty.element).filter(|ty| ty.dtype().is_some()) {
            return Ok((declared != x.element && !declared.is_complex()).then_some(declared));
        }
        Ok((sum && x.element.category() < Category::Float).then_some(ElementType::I64))
    }

    /// Values of vertices whose element types follow from the types in the graph.
    pub(crate) fn untyped(&mut self, v: VertexId) -> Done<Vec<Val>> {
        let mut out = Vec::new();
        for v in self.parts(v)? {
            match ElementType::of_dtype(self.dtype(v)?) {
                Some(element) => out.push(Typed::new(v, element).into()),
                None => return unknown("unsupported element type"),
            }
        }
        Ok(out)
    }

    /// The only result of a line.
    pub(super) fn one(&self, v: VertexId, element: ElementType) -> Done<Vec<Val>> {
        Ok(vec![Typed::new(v, element).into()])
    }

    /// The first operand, which must not be complex, and its shape.
    pub(super) fn real_operand(&mut self, args: &Args<'_>) -> Done<(Typed, Vec<Dim>)> {
        let x = self.operand(args, "input", 0)?;
        if x.element.is_complex() {
            return unknown("its operand is complex");
        }
        let shape = self.shape(x.v)?;
        Ok((x, shape))
    }

    /// The only result of a line, which has the element type of its operand.
    pub(super) fn mapped(
        &mut self,
        args: &Args<'_>,
        by: impl FnOnce(&mut Self, Typed, &[Dim]) -> Done<VertexId>,
    ) -> Done<Vec<Val>> {
        let (x, shape) = self.real_operand(args)?;
        let v = by(self, x, &shape)?;
        self.one(v, x.element)
    }

    /// A tensor operand.
    pub(crate) fn operand(&mut self, args: &Args<'_>, name: &str, place: usize) -> Done<Typed> {
        match args.get(name, Some(place)) {
            Val::Tensor(t) => Ok(t),
            Val::Host(Host::None) => wrong(format!("it has no operand `{name}`")),
            other => self.tensor(&other),
        }
    }

    /// An optional tensor operand.
    pub(crate) fn optional(&mut self, args: &Args<'_>, name: &str) -> Option<VertexId> {
        match args.param(name) {
            Val::Tensor(t) => Some(t.v),
            _ => None,
        }
    }
}
