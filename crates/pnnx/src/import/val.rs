//! The values of names in a model: tensors, host numbers, and lists of both.

use super::{Done, Importer, unknown, wrong};
use crate::{Category, ElementType, Value, Weight};
use tautomer_graph::VertexId;
use tautomer_op::AttrValue;
use tautomer_tensor::{Atom, DType, Dim, Tensor};

/// A tensor with its element type; if that is complex, the last axis holds real and imaginary part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Typed {
    pub(crate) v: VertexId,
    pub(crate) element: ElementType,
}

impl Typed {
    pub(crate) fn new(v: VertexId, element: ElementType) -> Typed {
        Typed { v, element }
    }
}

/// A number or word that is not a tensor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Host {
    None,
    Bool(bool),
    Int(Dim),
    Float(f64),
    Complex(f64, f64),
    Text(String),
    /// A host number computed by the graph: an `i64` or `f64` without axes.
    Computed(VertexId, Category),
}

/// The value of a name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Val {
    Tensor(Typed),
    Host(Host),
    List(Vec<Val>),
}

impl From<Typed> for Val {
    fn from(tensor: Typed) -> Val {
        Val::Tensor(tensor)
    }
}

impl From<Value> for Val {
    fn from(value: Value) -> Val {
        let ints = |list: Vec<i64>| list.into_iter().map(|v| Val::Host(Host::Int(Dim::Const(v)))).collect();
        Val::Host(match value {
            Value::None => Host::None,
            Value::Bool(v) => Host::Bool(v),
            Value::Int(v) => Host::Int(Dim::Const(v)),
            Value::Float(v) => Host::Float(v),
            Value::Complex(re, im) => Host::Complex(re, im),
            Value::Text(v) => Host::Text(v),
            Value::Ints(v) => return Val::List(ints(v)),
            Value::Floats(v) => return Val::List(v.into_iter().map(|v| Val::Host(Host::Float(v))).collect()),
            Value::Texts(v) => {
                let read = |text: String| match Value::read(&text) {
                    Value::Text(_) => Val::Host(Host::Text(text)),
                    other => other.into(),
                };
                return Val::List(v.into_iter().map(read).collect());
            }
        })
    }
}

impl Val {
    /// The values inside nested lists.
    pub(crate) fn flatten(&self, out: &mut Vec<Val>) {
        let mut stack = vec![self];
        while let Some(value) = stack.pop() {
            match value {
                Val::List(items) => stack.extend(items.iter().rev()),
                other => out.push(other.clone()),
            }
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Val::Host(Host::None))
    }

    /// The integer, possibly symbolic.
    pub(crate) fn int(&self) -> Option<Dim> {
        match self {
            Val::Host(Host::Int(d)) => Some(d.clone()),
            Val::Host(Host::Bool(b)) => Some(Dim::Const(i64::from(*b))),
            _ => None,
        }
    }

    /// The integers of a list, or a list of a single integer.
    pub(crate) fn ints(&self) -> Option<Vec<Dim>> {
        match self {
            Val::List(items) => items.iter().map(Val::int).collect(),
            Val::Host(Host::None) => Some(Vec::new()),
            other => Some(vec![other.int()?]),
        }
    }

    pub(crate) fn const_ints(&self) -> Option<Vec<i64>> {
        self.ints()?.iter().map(Dim::as_const).collect()
    }

    pub(crate) fn float(&self) -> Option<f64> {
        match self {
            Val::Host(Host::Float(v)) => Some(*v),
            other => Some(other.int()?.as_const()? as f64),
        }
    }

    /// The value as an attribute; `None` for tensors.
    pub(crate) fn attr(&self) -> Option<AttrValue> {
        Some(match self {
            Val::Host(Host::None) => AttrValue::None,
            Val::Host(Host::Bool(v)) => AttrValue::Bool(*v),
            Val::Host(Host::Int(v)) => AttrValue::Int(v.clone()),
            Val::Host(Host::Float(v)) => AttrValue::float(*v),
            Val::Host(Host::Text(v)) => AttrValue::str(v),
            Val::List(items) => match self.ints() {
                Some(ints) => AttrValue::Ints(ints),
                None => {
                    let floats: Option<Vec<f64>> = items.iter().map(Val::float).collect();
                    AttrValue::Floats(floats?.into_iter().map(tautomer_op::Real).collect())
                }
            },
            _ => return None,
        })
    }
}

impl Importer<'_> {
    /// How the value affects type promotion.
    pub(crate) fn kind(&self, value: &Val) -> Done<(ElementType, Weight)> {
        Ok(match value {
            Val::Tensor(t) => {
                let axes = if t.element.is_complex() { 1 } else { 0 };
                let scalar = self.shape(t.v).is_ok_and(|shape| shape.len() == axes);
                (t.element, if scalar { Weight::Scalar } else { Weight::Tensor })
            }
            Val::Host(host) => {
                let element = match host {
                    Host::Bool(_) => ElementType::Bool,
                    Host::Int(_) | Host::Computed(_, Category::Int) => ElementType::I64,
                    Host::Float(_) | Host::Computed(..) => ElementType::F32,
                    Host::Complex(..) => ElementType::C64,
                    Host::None | Host::Text(_) => return wrong("expected a number or a tensor"),
                };
                (element, Weight::Host)
            }
            Val::List(_) => return wrong("expected a number or a tensor, not a list"),
        })
    }

    /// The value as a tensor of its own type.
    pub(crate) fn tensor(&mut self, value: &Val) -> Done<Typed> {
        if let Val::Tensor(t) = value {
            return Ok(*t);
        }
        let (element, _) = self.kind(value)?;
        self.tensor_of(value, element)
    }

    /// The value as a tensor with that element type; a host number becomes a constant.
    pub(crate) fn tensor_of(&mut self, value: &Val, element: ElementType) -> Done<Typed> {
        let Some(dtype) = element.dtype() else {
            return wrong("unsupported element type");
        };
        let v = match value {
            Val::Tensor(t) => return self.cast(*t, element),
            Val::Host(Host::Computed(v, category)) => {
                let own = if *category == Category::Int {
                    ElementType::I64
                } else {
                    ElementType::F64
                };
                return self.cast(Typed::new(*v, own), element);
            }
            Val::Host(Host::Int(d)) if d.as_const().is_none() => {
                let v = self.extent(d)?;
                return self.cast(Typed::new(v, ElementType::I64), element);
            }
            Val::Host(host) => {
                let (re, im) = match host {
                    Host::Bool(b) => (f64::from(u8::from(*b)), 0.0),
                    Host::Int(d) if !dtype.is_float() && dtype != DType::Bool => {
                        let value = i128::from(d.as_const().unwrap_or(0));
                        match Tensor::from_ints(dtype, &[], &[value]) {
                            Some(value) => return Ok(Typed::new(self.graph.constant(value), element)),
                            None => return wrong("no integers have that type"),
                        }
                    }
                    Host::Int(d) => (d.as_const().unwrap_or(0) as f64, 0.0),
                    Host::Float(v) => (*v, 0.0),
                    Host::Complex(re, im) => (*re, *im),
                    _ => return wrong("expected a number or a tensor"),
                };
                let value = match dtype {
                    DType::Bool => Some(Tensor::scalar(re != 0.0)),
                    _ if element.is_complex() => Tensor::from_f64s(dtype, &[2], &[re, im]),
                    _ if dtype.is_float() => Tensor::from_f64s(dtype, &[], &[re]),
                    _ => Tensor::from_ints(dtype, &[], &[re as i128]),
                };
                match value {
                    Some(value) => self.graph.constant(value),
                    None => return wrong("no numbers have that type"),
                }
            }
            Val::List(_) => return wrong("expected a number or a tensor, not a list"),
        };
        Ok(Typed::new(v, element))
    }

    /// Converts the elements of a tensor.
    pub(crate) fn cast(&mut self, t: Typed, to: ElementType) -> Done<Typed> {
        if t.element == to {
            return Ok(t);
        }
        let Some(dtype) = to.dtype() else {
            return wrong("unsupported element type");
        };
        let v = match (t.element.is_complex(), to.is_complex()) {
            (true, false) => return unknown("conversion of complex numbers to real ones"),
            (false, true) => return self.complex_of(t, to),
            _ if self.dtype(t.v)? == dtype => t.v,
            _ => self.call("cast", &[t.v], &[("to", AttrValue::DType(dtype))])?,
        };
        Ok(Typed::new(v, to))
    }

    /// A dimension that is only known at run time, as an `i64` without axes.
    pub(crate) fn extent(&mut self, dim: &Dim) -> Done<VertexId> {
        if let Some(value) = dim.as_const() {
            return Ok(self.graph.constant(Tensor::scalar(value)));
        }
        let mut sum: Option<VertexId> = None;
        for (atoms, factor) in dim.terms() {
            let mut term: Option<VertexId> = None;
            if factor != 1 || atoms.is_empty() {
                term = Some(self.graph.constant(Tensor::scalar(factor)));
            }
            for atom in atoms.iter() {
                let v = self.atom(atom)?;
                term = Some(match term {
                    None => v,
                    Some(so_far) => self.call("mul", &[so_far, v], &[])?,
                });
            }
            let Some(term) = term else { continue };
            sum = Some(match sum {
                None => term,
                Some(so_far) => self.call("add", &[so_far, term], &[])?,
            });
        }
        match sum {
            Some(v) => Ok(v),
            None => Ok(self.graph.constant(Tensor::scalar(0i64))),
        }
    }

    fn atom(&mut self, atom: &Atom) -> Done<VertexId> {
        let (name, a, b) = match atom {
            Atom::Symbol(name) => {
                let Some(&(input, axis)) = self.sources.get(name) else {
                    return unknown("a dimension does not come from an input");
                };
                let (start, end) = (AttrValue::int(axis as i64), AttrValue::int(axis as i64 + 1));
                let v = self.call("shape", &[input], &[("start", start), ("end", end)])?;
                return self.call("squeeze", &[v], &[("axes", AttrValue::ints(&[0]))]);
            }
            Atom::Unknown(_) => return unknown("a dimension is unknown"),
            Atom::FloorDiv(a, b) => ("floor_divide", a, b),
            Atom::Mod(a, b) => ("mod", a, b),
            Atom::Min(a, b) => ("min", a, b),
            Atom::Max(a, b) => ("max", a, b),
        };
        let (a, b) = (self.extent(a)?, self.extent(b)?);
        self.call(name, &[a, b], &[])
    }
}
