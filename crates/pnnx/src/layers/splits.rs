//! Layers that split an axis into parts.

use super::{Args, read_by, write_by};
use crate::export::{Call, Exporter, Line, tuple};
use crate::import::{Done, Host, Importer, Typed, Val, axis_of, element, few, unknown, wrong};
use tautomer_op::AttrValue;

rows! {
    read_by("torch.split", "input split_size_or_sections dim", |i, a| i.split(a, sections, false))
        .positional("aten::unsafe_split aten::unsafe_split_with_sizes")
        .writes(&[write_by("split", parts)]),
    read_by("torch.chunk", "input chunks dim", |i, a| {
        let sizes: SizesOf = |args, length| {
            let chunks = args.int("chunks")?.max(1);
            pieces(length, length.saturating_add(chunks - 1) / chunks)
        };
        i.split(a, sizes, false)
    }).positional("aten::chunk aten::unsafe_chunk"),
    read_by("torch.tensor_split", "input", |i, a| i.split(a, sections_or_indices, false)),
    read_by("torch.unbind", "input dim", |i, a| i.split(a, |_, length| Ok(vec![1; few(length)?]), true)),
}

impl Importer<'_> {
    /// The parts of an axis, without the axis if that is dropped.
    fn split(&mut self, args: &Args<'_>, sizes_of: SizesOf, dropped: bool) -> Done<Vec<Val>> {
        let (x, shape) = self.real_operand(args)?;
        let axis = axis_of(args.int("dim")?, shape.len())?;
        let Some(length) = element(&shape, axis, "the shape")?.as_const() else {
            return unknown("the size of the axis that is split is unknown");
        };
        let count = args.op.outputs.len() as i64;
        let sizes = sizes_of(args, length)?;
        if count != sizes.len() as i64 && count != 1 {
            return wrong(format!("it has {} parts, not {count}", sizes.len()));
        }
        let attrs = [
            ("axis", AttrValue::int(axis as i64)),
            ("sizes", AttrValue::ints(&sizes)),
        ];
        let mut parts = match sizes.as_slice() {
            [_] => vec![x.v],
            _ => self.calls("split", &[x.v], &attrs)?,
        };
        if dropped {
            for v in &mut parts {
                *v = self.call("squeeze", &[*v], &[("axes", AttrValue::ints(&[axis as i64]))])?;
            }
        }
        let parts: Vec<Val> = parts.into_iter().map(|v| Typed::new(v, x.element).into()).collect();
        Ok(if count == 1 && parts.len() > 1 {
            vec![Val::List(parts)]
        } else {
            parts
        })
    }
}

/// The sizes of the parts of an axis of that length.
type SizesOf = fn(&Args<'_>, i64) -> Done<Vec<i64>>;

fn sections(args: &Args<'_>, length: i64) -> Done<Vec<i64>> {
    match args.param("split_size_or_sections") {
        Val::Host(Host::Int(each)) => pieces(length, each.as_const().unwrap_or(length)),
        list => match list.const_ints() {
            Some(sizes) => Ok(sizes),
            None => unknown("the sizes of the parts are unknown"),
        },
    }
}

fn sections_or_indices(args: &Args<'_>, length: i64) -> Done<Vec<i64>> {
    let sections = args.param("sections").int().and_then(|d| d.as_const());
    match (sections, args.param("indices").const_ints()) {
        (Some(sections), _) if sections > 0 => {
            let parts = 0..few(sections)? as i64;
            Ok(parts
                .map(|i| length / sections + i64::from(i < length % sections))
                .collect())
        }
        (None, Some(indices)) => {
            let place = |i: i64| {
                if i < 0 {
                    i.saturating_add(length).max(0)
                } else {
                    i.min(length)
                }
            };
            let ends: Vec<i64> = indices.iter().map(|&i| place(i)).chain([length]).collect();
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let sizes = ends.iter().zip(starts);
            Ok(sizes.map(|(end, start)| end.saturating_sub(start).max(0)).collect())
        }
        _ => unknown("the split positions are unknown"),
    }
}

/// The sizes of the parts when an axis is split into equal parts and a remainder.
fn pieces(length: i64, each: i64) -> Done<Vec<i64>> {
    let each = each.max(1);
    let mut out = vec![each; few(length / each)?];
    if length % each != 0 || out.is_empty() {
        out.push(length % each);
    }
    Ok(out)
}

fn parts(_: &mut Exporter<'_>, call: &Call<'_>, line: Line) -> Option<Line> {
    let (axis, sizes) = (call.int("axis")?, call.ints("sizes")?);
    (call.operands.len() == 1 && sizes.len() > 1).then(|| {
        line.named(&["tensor"])
            .param("dim", axis.to_string())
            .param("split_size_or_sections", tuple(&sizes))
    })
}
