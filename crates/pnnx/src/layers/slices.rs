//! Layers that select and split parts of axes.

use super::{Args, read, read_by, write, write_by};
use crate::export::{Call, Exporter, Line, tuple};
use crate::import::{Done, Host, Importer, Val, axis_of, element, unknown};
use crate::{ElementType, NO_END};
use tautomer_graph::VertexId;
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Dim, Tensor};

rows! {
    read("torch.flip", "input dims",
        "slice(input) {
           starts = [-1 for d in dims], ends = [-9223372036854775807 for d in dims], axes = dims,
           steps = [-1 for d in dims]
         }")
    .writes(&[write_by("slice", flipped)]),
    read_by("Tensor.slice", "input", |i, a| i.slices(a)).writes(&[write_by("slice", range)]),
    read_by("Tensor.select", "input dim index", |i, a| {
        i.mapped(a, |i, x, shape| i.select(x.v, axis_of(a.int("dim")?, shape.len())?, &a.param("index")))
    })
    .writes(&[write_by("gather", selected)]),
    read_by("torch.narrow", "input dim start length", |i, a| i.narrow(a)),
    read("torch.roll aten::roll", "input shifts dims",
        "when given(dims) && len(dims) > 0 { roll(input) {shifts = shifts, axes = dims} }
         else { roll(input) {shifts = shifts} }")
        .writes(&[write("roll", "input shifts=shifts axes=dims")]),
    read_by("torch.diff", "input n dim prepend append", |i, a| i.differences(a)).positional("aten::diff"),
}

/// One axis of a slice.
struct Cut {
    axis: usize,
    start: Dim,
    end: Dim,
    step: i64,
}

impl Importer<'_> {
    /// Differences of adjacent elements along an axis, taken the requested number of times.
    fn differences(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        if x.element.is_complex() {
            return unknown("its operand is complex");
        }
        let int = |name: &str, missing: i64| match args.param(name) {
            Val::Host(Host::None) => Ok(missing),
            _ => args.int(name),
        };
        let rank = self.shape(x.v)?.len();
        let axis = axis_of(int("dim", -1)?, rank)?;
        let mut parts = Vec::new();
        for value in [args.param("prepend"), Val::Tensor(x), args.param("append")] {
            if !value.is_none() {
                parts.push(self.tensor_of(&value, x.element)?.v);
            }
        }
        let mut v = match parts.as_slice() {
            [one] => *one,
            many => self.call("concat", many, &[("axis", AttrValue::int(axis as i64))])?,
        };
        let times = int("n", 1)?;
        if times > 64 {
            return unknown(format!("differences taken {times} times"));
        }
        for _ in 0..times {
            let cut = |start: i64, end: i64| Cut {
                axis,
                start: Dim::Const(start),
                end: Dim::Const(end),
                step: 1,
            };
            let (later, earlier) = (self.cut(v, &[cut(1, NO_END)])?, self.cut(v, &[cut(0, -1)])?);
            let name = if x.element == ElementType::Bool { "xor" } else { "sub" };
            v = self.call(name, &[later, earlier], &[])?;
        }
        self.one(v, x.element)
    }

    fn select(&mut self, x: VertexId, axis: usize, index: &Val) -> Done<VertexId> {
        let index = match index.int().and_then(|d| d.as_const()) {
            Some(index) => self.graph.constant(Tensor::scalar(index)),
            None => self.tensor_of(index, ElementType::I64)?.v,
        };
        self.call("gather", &[x, index], &[("axis", AttrValue::int(axis as i64))])
    }

    fn cut(&mut self, x: VertexId, cuts: &[Cut]) -> Done<VertexId> {
        let whole = |cut: &Cut| cut.start == Dim::Const(0) && cut.end == Dim::Const(NO_END) && cut.step == 1;
        let cuts: Vec<&Cut> = cuts.iter().filter(|cut| !whole(cut)).collect();
        if cuts.is_empty() {
            return Ok(x);
        }
        let list = |f: fn(&Cut) -> Dim| AttrValue::Ints(cuts.iter().map(|cut| f(cut)).collect());
        let attrs = [
            ("starts", list(|cut| cut.start.clone())),
            ("ends", list(|cut| cut.end.clone())),
            ("axes", list(|cut| Dim::from(cut.axis))),
            ("steps", list(|cut| Dim::Const(cut.step))),
        ];
        self.call("slice", &[x], &attrs)
    }

    /// A slice along one or several axes, some of which may select one element and be dropped.
    fn slices(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let (x, shape) = self.real_operand(args)?;
        let many = !args.param("dims").is_none();
        let list = |many_name: &str, one: &str, missing: i64, count: usize| -> Done<Vec<Dim>> {
            let value = args.param(if many { many_name } else { one });
            match value.ints() {
                Some(ints) if ints.is_empty() => Ok(vec![Dim::Const(missing); count]),
                Some(ints) if ints.len() == count => Ok(ints),
                _ => unknown(format!("`{many_name}` is unknown")),
            }
        };
        let dims = match args.param(if many { "dims" } else { "dim" }).const_ints() {
            Some(dims) => dims,
            None => return unknown("the axes are unknown"),
        };
        let count = dims.len();
        let (starts, ends) = (list("starts", "start", 0, count)?, list("ends", "end", NO_END, count)?);
        let (steps, selects) = (
            list("steps", "step", 1, count)?,
            list("selects", "select", NO_END, count)?,
        );
        let (mut cuts, mut gone) = (Vec::new(), Vec::new());
        for (i, &dim) in dims.iter().enumerate() {
            let axis = axis_of(dim, shape.len())?;
            let item = |list: &[Dim], what: &str| element(list, i, what).cloned();
            let (start, end) = (item(&starts, "`starts`")?, item(&ends, "`ends`")?);
            let (step, select) = (item(&steps, "`steps`")?, item(&selects, "`selects`")?);
            let selected = select != Dim::Const(NO_END);
            let Some(step) = step.as_const() else {
                return unknown("`steps` is unknown");
            };
            cuts.push(match select.as_const() {
                Some(_) if !selected => Cut { axis, start, end, step },
                Some(-1) => Cut {
                    axis,
                    start: Dim::Const(-1),
                    end: Dim::Const(NO_END),
                    step: 1,
                },
                _ => Cut {
                    axis,
                    end: select.clone() + Dim::Const(1),
                    start: select,
                    step: 1,
                },
            });
            if selected {
                gone.push(axis as i64);
            }
        }
        let mut v = self.cut(x.v, &cuts)?;
        if !gone.is_empty() {
            v = self.call("squeeze", &[v], &[("axes", AttrValue::ints(&gone))])?;
        }
        self.one(v, x.element)
    }

    fn narrow(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let (x, shape) = self.real_operand(args)?;
        let (Some(start), Some(length)) = (args.param("start").int(), args.param("length").int()) else {
            return unknown("`start` or `length` is unknown");
        };
        let cut = Cut {
            axis: axis_of(args.int("dim")?, shape.len())?,
            end: start.clone() + length,
            start,
            step: 1,
        };
        let v = self.cut(x.v, &[cut])?;
        self.one(v, x.element)
    }
}

/// A slice that reverses whole axes.
fn flipped(_: &mut Exporter<'_>, call: &Call<'_>, line: Line) -> Option<Line> {
    let (starts, ends) = (call.ints("starts")?, call.ints("ends")?);
    let (axes, steps) = (call.ints("axes")?, call.ints("steps")?);
    let flips = call.operands.len() == 1
        && !steps.is_empty()
        && steps.iter().chain(&starts).all(|&n| n == -1)
        && ends.iter().all(|&end| end <= i64::from(i32::MIN));
    flips.then(|| line.named(&["input"]).param("dims", tuple(&axes)))
}

/// A slice with ascending indices; those that are only known at run time are operands.
fn range(exporter: &mut Exporter<'_>, call: &Call<'_>, line: Line) -> Option<Line> {
    let (AttrValue::Ints(starts), AttrValue::Ints(ends), [_]) = (call.attr("starts"), call.attr("ends"), call.operands)
    else {
        return None;
    };
    let (axes, steps) = (call.ints("axes")?, call.ints("steps")?);
    if steps.iter().any(|&step| step < 1) {
        return None;
    }
    let line = line
        .named(&["input"])
        .param("dims", tuple(&axes))
        .param("steps", tuple(&steps))
        .param("selects", tuple(&vec![NO_END; axes.len()]));
    let line = exporter.with_integers(line, "starts", starts)?;
    exporter.with_integers(line, "ends", ends)
}

/// The element of an axis at a known index.
fn selected(exporter: &mut Exporter<'_>, call: &Call<'_>, mut line: Line) -> Option<Line> {
    let [_, index] = call.operands else { return None };
    let text = exporter.literal(*index)?;
    line.inputs.truncate(1);
    (exporter.tensor_type(*index)?.dtype == DType::I64).then_some(())?;
    Some(
        line.named(&["input"])
            .param("dim", call.int("axis")?.to_string())
            .param("index", text),
    )
}
