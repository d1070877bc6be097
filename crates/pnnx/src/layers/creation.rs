//! Layers that make tensors of given values.

use super::{Args, both, read_by};
use crate::import::{Done, Host, Importer, Val};
use crate::{Category, ElementType};
use tautomer_op::AttrValue;
use tautomer_tensor::Dim;

rows! {
    read_by("torch.zeros", "size", |i, a| i.filled(a, Val::Host(Host::Float(0.0)))),
    read_by("torch.ones", "size", |i, a| i.filled(a, Val::Host(Host::Float(1.0)))),
    read_by("torch.full", "size", |i, a| i.filled(a, a.param("fill_value"))),
    read_by("Tensor.new_zeros", "input size", |i, a| i.filled_as(a, Val::Host(Host::Float(0.0)))),
    read_by("Tensor.new_ones", "input size", |i, a| i.filled_as(a, Val::Host(Host::Float(1.0)))),
    read_by("Tensor.new_full", "input size", |i, a| i.filled_as(a, a.param("fill_value"))),
    both("torch.zeros_like", "input dtype", "zeros_like", "input"),
    both("torch.ones_like", "input dtype", "ones_like", "input"),
    read_by("torch.full_like", "input fill_value dtype layout device pin_memory memory_format",
        |i, a| i.like(a, a.at(1))).positional("aten::full_like"),
    // The contents are uninitialized, so zeros are as good as anything.
    read_by("torch.empty_like", "input dtype layout device pin_memory memory_format",
        |i, a| i.like(a, Val::Host(Host::Int(Dim::Const(0))))).positional("aten::empty_like"),
    read_by("Tensor.fill", "input value", |i, a| i.overwritten(a)),
    read_by("torch.arange", "end", |i, a| i.arange(a)),
}

impl Importer<'_> {
    fn filled(&mut self, args: &Args<'_>, value: Val) -> Done<Vec<Val>> {
        self.filled_at(args, value, None, 0)
    }

    /// As `filled`, with the element type of the operand unless the line says otherwise.
    fn filled_as(&mut self, args: &Args<'_>, value: Val) -> Done<Vec<Val>> {
        let (x, _) = self.real_operand(args)?;
        self.filled_at(args, value, Some(x.element), 1)
    }

    /// A tensor with all elements equal, in a given shape.
    fn filled_at(&mut self, args: &Args<'_>, value: Val, like: Option<ElementType>, place: usize) -> Done<Vec<Val>> {
        let element = ElementType::of_torch(&args.text("dtype")).or(like);
        let element = element.unwrap_or(match &value {
            Val::Host(Host::Int(_)) => ElementType::I64,
            Val::Host(Host::Bool(_)) => ElementType::Bool,
            _ => ElementType::F32,
        });
        let value = self.tensor_of(&value, element)?;
        let v = match self.sizes(&args.get("size", Some(place)))? {
            Ok(sizes) => self.call("expand", &[value.v], &[("shape", AttrValue::Ints(sizes))])?,
            Err(computed) => self.call("expand", &[value.v, computed], &[])?,
        };
        self.one(v, element)
    }

    /// A tensor with all elements equal, in the shape of an operand.
    fn like(&mut self, args: &Args<'_>, value: Val) -> Done<Vec<Val>> {
        let (x, shape) = self.real_operand(args)?;
        let element = ElementType::of_torch(&args.text("dtype")).unwrap_or(x.element);
        let value = self.tensor_of(&value, element)?;
        let v = if shape.iter().any(Dim::has_unknown) {
            let shape = self.call("shape", &[x.v], &[])?;
            self.call("expand", &[value.v, shape], &[])?
        } else {
            self.call("expand", &[value.v], &[("shape", AttrValue::Ints(shape))])?
        };
        self.one(v, element)
    }

    fn overwritten(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let (x, shape) = self.real_operand(args)?;
        let value = self.tensor_of(&args.at(1), x.element)?;
        let v = self.call("expand", &[value.v], &[("shape", AttrValue::Ints(shape))])?;
        self.one(v, x.element)
    }

    fn arange(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let or = |value: Val, missing: i64| {
            if value.is_none() {
                Val::Host(Host::Int(Dim::Const(missing)))
            } else {
                value
            }
        };
        let ends = [
            or(args.param("start"), 0),
            args.get("end", Some(0)),
            or(args.param("step"), 1),
        ];
        let mut element = ElementType::of_torch(&args.text("dtype"));
        for value in &ends {
            let own = self.kind(value)?.0;
            if element.is_none() && own.category() > Category::Int {
                element = Some(ElementType::F32);
            }
        }
        let element = element.unwrap_or(ElementType::I64);
        let mut operands = Vec::new();
        for value in &ends {
            operands.push(self.tensor_of(value, element)?.v);
        }
        let v = self.call("range", &operands, &[])?;
        self.one(v, element)
    }
}
