//! Elementwise functions, comparisons, conversions, and parts of complex numbers.

use super::{Args, Row, both, read, read_by, write, write_by};
use crate::export::{Call, Exporter, Line};
use crate::import::{Done, Importer, Typed, Val, unknown, wrong};
use crate::{ElementType, Function};
use tautomer_op::AttrValue;
use tautomer_tensor::Dim;

rows! {
    both("torch.logical_not", "input", "not", "input"),
    both("torch.isnan", "input", "is_nan", "input").positional("aten::isnan"),
    read("torch.isinf", "input", "is_inf(input)").positional("aten::isinf"),
    both("torch.where", "condition input other", "where", "condition input other"),
    read("Tensor.masked_fill", "input mask value", "where(mask, value, input)").positional("aten::masked_fill"),
    read("torch.addcmul", "input tensor1 tensor2 value",
        "let p = tensor1 * tensor2; input + (when not given(value) or value == 1 { p } else { p * value })")
        .positional("aten::addcmul"),
    read("torch.addcdiv", "input tensor1 tensor2 value",
        "let t = when not given(value) or value == 1 { tensor1 } else { tensor1 * value }; input + t / tensor2")
        .positional("aten::addcdiv"),
    read("torch.lerp", "input end weight", "input + (end - input) * weight").positional("aten::lerp"),
    read_by("torch.eq", "input other", |i, a| i.comparison(a, "equal", Compared::Equality))
        .writes(&[write_by("equal", compared)]),
    read_by("torch.ne", "input other", |i, a| {
        let equal = i.compare("equal", Compared::Equality, &a.at(0), &a.at(1))?;
        let v = i.call("not", &[equal.v], &[])?;
        i.one(v, equal.element)
    }),
    read_by("torch.lt", "input other", |i, a| i.comparison(a, "less", Compared::Order))
        .writes(&[write_by("less", compared)]),
    read_by("torch.le", "input other", |i, a| i.comparison(a, "less_or_equal", Compared::Order))
        .writes(&[write_by("less_or_equal", compared)]),
    read_by("torch.gt", "input other", |i, a| i.comparison(a, "greater", Compared::Order))
        .writes(&[write_by("greater", compared)]),
    read_by("torch.ge", "input other", |i, a| i.comparison(a, "greater_or_equal", Compared::Order))
        .writes(&[write_by("greater_or_equal", compared)]),
    read_by("torch.logical_and", "input other", |i, a| i.comparison(a, "and", Compared::Truth)),
    read_by("torch.logical_or", "input other", |i, a| i.comparison(a, "or", Compared::Truth)),
    read_by("torch.logical_xor", "input other", |i, a| i.comparison(a, "xor", Compared::Truth)),
    read_by("torch.add", "input other", |i, a| i.arithmetic(a, Function::Add)),
    read_by("torch.sub", "input other", |i, a| i.arithmetic(a, Function::Sub)),
    read_by("torch.mul", "input other", |i, a| i.arithmetic(a, Function::Mul)),
    read_by("torch.div", "input other", |i, a| i.arithmetic(a, Function::Div)),
    read_by("torch.floor_divide", "input other", |i, a| i.arithmetic(a, Function::FloorDivide)),
    read_by("torch.remainder", "input other", |i, a| i.arithmetic(a, Function::Remainder)),
    read_by("torch.fmod", "input other", |i, a| i.arithmetic(a, Function::Fmod)),
    read_by("torch.pow", "input exponent", |i, a| i.arithmetic(a, Function::Pow)),
    read_by("torch.maximum", "input other", |i, a| i.arithmetic(a, Function::Maximum)),
    read_by("torch.minimum", "input other", |i, a| i.arithmetic(a, Function::Minimum)),
    read_by("torch.atan2", "input other", |i, a| i.arithmetic(a, Function::Atan2)),
    read_by("torch.logaddexp", "input other", |i, a| i.arithmetic(a, Function::Logaddexp)),
    read_by("torch.bitwise_and", "input other", |i, a| i.arithmetic(a, Function::And)),
    read_by("torch.bitwise_or", "input other", |i, a| i.arithmetic(a, Function::Or)),
    read_by("torch.bitwise_xor", "input other", |i, a| i.arithmetic(a, Function::Xor)),
    read_by("torch.bitwise_left_shift", "input other", |i, a| i.arithmetic(a, Function::Lshift)),
    read_by("torch.bitwise_right_shift", "input other", |i, a| i.arithmetic(a, Function::Rshift)),
    read_by("torch.bitwise_not", "input", |i, a| i.inverted(a)).writes(&[write("bitwise_not", "input")]),
    read_by("Tensor.to Tensor.type_as", "input other", |i, a| i.converted(a)).writes(&[write_by("cast", conversion)]),
    read_by("torch.complex", "real imag", |i, a| {
        let (re, im) = (i.operand(a, "real", 0)?, i.operand(a, "imag", 1)?);
        let element = match re.element {
            ElementType::F64 => ElementType::C128,
            ElementType::F16 => ElementType::C32,
            _ => ElementType::C64,
        };
        Ok(vec![i.join(re.v, im.v, element)?.into()])
    }),
    read_by("torch.real", "input", |i, a| i.part_of(a, 0)),
    read_by("torch.imag", "input", |i, a| i.part_of(a, 1)),
    read_by("torch.view_as_complex", "input", |i, a| {
        use ElementType as E;
        i.view_as(a, &[(E::F16, E::C32), (E::F32, E::C64), (E::F64, E::C128)])
    }),
    read_by("torch.view_as_real", "input", |i, a| {
        use ElementType as E;
        i.view_as(a, &[(E::C64, E::F32), (E::C128, E::F64)])
    }),
    read_by("torch.conj aten::_conj", "input", |i, a| {
        let x = i.operand(a, "input", 0)?;
        let v = match x.element.is_complex() {
            true => i.conjugate(x.v, x.element)?,
            false => x.v,
        };
        i.one(v, x.element)
    }),
    read_by("aten::resolve_conj aten::resolve_neg", "input", |i, a| Ok(vec![i.operand(a, "input", 0)?.into()])),
}

/// The row of a function of one operand under its name in `torch`.
pub(super) fn unary(kind: &str) -> Option<&'static Row> {
    static UNARY: Row = read_by("torch.abs", "input", |i, a| match unary_function(&a.op.kind) {
        Some(function) => i.arithmetic(a, function),
        None => unknown("unsupported PNNX operator"),
    });
    unary_function(kind).map(|_| &UNARY)
}

fn unary_function(kind: &str) -> Option<Function> {
    Function::by_name(kind.strip_prefix("torch.")?).filter(|function| function.arity().0 == 1)
}

/// How operands are compared: booleans are ordered as numbers, and numbers are booleans to `and`.
#[derive(Clone, Copy, PartialEq)]
enum Compared {
    Equality,
    Order,
    Truth,
}

impl Importer<'_> {
    /// A function of the operands that the row names.
    fn arithmetic(&mut self, args: &Args<'_>, function: Function) -> Done<Vec<Val>> {
        let operands: Vec<Val> = (0..function.arity().0).map(|place| args.at(place)).collect();
        Ok(vec![self.function(function, &operands)?])
    }

    fn comparison(&mut self, args: &Args<'_>, op: &str, compared: Compared) -> Done<Vec<Val>> {
        Ok(vec![self.compare(op, compared, &args.at(0), &args.at(1))?.into()])
    }

    fn compare(&mut self, op: &str, compared: Compared, a: &Val, b: &Val) -> Done<Typed> {
        let kinds = [self.kind(a)?, self.kind(b)?];
        let Some(mut common) = crate::common_type(&kinds) else {
            return wrong("the operands have no common type");
        };
        if common.is_complex() {
            return unknown("comparison of complex numbers");
        }
        if compared == Compared::Truth {
            common = ElementType::Bool;
        } else if common == ElementType::Bool && compared == Compared::Order {
            common = ElementType::U8;
        }
        let operands = [self.tensor_of(a, common)?.v, self.tensor_of(b, common)?.v];
        let v = self.call(op, &operands, &[])?;
        Ok(Typed::new(v, ElementType::Bool))
    }

    fn inverted(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        let name = match x.element {
            ElementType::Bool => "not",
            _ => "bitwise_not",
        };
        let v = self.call(name, &[x.v], &[])?;
        self.one(v, x.element)
    }

    fn converted(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        let to = match args.get("other", Some(1)) {
            Val::Tensor(other) => Some(other.element),
            _ => ElementType::of_torch(&args.text("dtype")),
        };
        match to {
            Some(to) => Ok(vec![self.cast(x, to)?.into()]),
            None => unknown("unsupported target element type"),
        }
    }

    /// The real part, or the imaginary part if `which` is 1.
    fn part_of(&mut self, args: &Args<'_>, which: i64) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        Ok(vec![self.part(x, which)?.into()])
    }

    /// A tensor whose last axis holds pairs as one of complex numbers, or the reverse.
    fn view_as(&mut self, args: &Args<'_>, types: &[(ElementType, ElementType)]) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        let Some((_, element)) = types.iter().find(|(from, _)| *from == x.element) else {
            return wrong("no complex type has such parts");
        };
        if self.shape(x.v)?.last() != Some(&Dim::Const(2)) {
            return wrong("the last axis does not hold real and imaginary part");
        }
        self.one(x.v, *element)
    }
}

/// A comparison, whose second operand may be a number in the line.
fn compared(exporter: &mut Exporter<'_>, call: &Call<'_>, mut line: Line) -> Option<Line> {
    let [a, b] = call.operands else { return None };
    match exporter.literal(*b) {
        Some(text) if exporter.literal(*a).is_none() => {
            line.inputs.truncate(1);
            Some(line.named(&["input"]).param("other", text))
        }
        _ => Some(line.named(&["input", "other"])),
    }
}

fn conversion(exporter: &mut Exporter<'_>, call: &Call<'_>, line: Line) -> Option<Line> {
    let to = match call.attr("to") {
        AttrValue::DType(dtype) => ElementType::of_dtype(*dtype)?,
        _ => return None,
    };
    let from = exporter.tensor_type(*call.operands.first()?)?;
    // A cast to the type that the operand already has would not be read as a cast.
    (call.plain_but(&["to"]) && ElementType::of_dtype(from.dtype)? != to).then(|| {
        line.named(&["input"])
            .param("dtype", format!("torch.{}", to.torch_name()))
            .param("copy", "False")
    })
}
