//! Diagonals and windows: strided views of the same elements.

use super::case::{Res, Stop};
use super::fold::Cases;
use super::meaning::{At, Call, Meaning, open};
use tautomer_tensor::Dim;

/// The axes of a diagonal, and where it starts along each.
struct Line {
    axes: [usize; 2],
    starts: [Dim; 2],
}

impl Meaning<'_> {
    /// The shape of a diagonal or of windows.
    pub(super) fn strided_shape(&self, call: &Call) -> Res<Option<Vec<Dim>>> {
        if !matches!(call.def.name, "diagonal" | "unfold") {
            return Ok(None);
        }
        let mut out = self.shape(*call.operands.first().ok_or(Stop::Empty)?)?;
        if call.def.name == "diagonal" {
            let Line { axes, starts } = self.line(call, out.len())?;
            let left = |k: usize| out[axes[k]].clone() - starts[k].clone();
            let length = self.case.max(&self.case.min(&left(0), &left(1))?, &Dim::Const(0))?;
            out.remove(axes[0].max(axes[1]));
            out.remove(axes[0].min(axes[1]));
            out.push(length);
        } else {
            let axis = call.axis("axis", out.len())?;
            let (size, step) = window(call)?;
            let rest = out[axis].clone() - size.clone();
            self.require_at_least(&size, 0)?;
            self.require_at_least(&step, 1)?;
            self.require_at_least(&rest, 0)?;
            out[axis] = self.case.divide(&rest, &step).0 + Dim::Const(1);
            out.push(size);
        }
        Ok(Some(out))
    }

    /// The element of the operand that a diagonal or a window shows.
    pub(super) fn strided_element(&self, call: &Call, shape: &[Dim], at: &At) -> Res<Option<Cases>> {
        if !matches!(call.def.name, "diagonal" | "unfold") {
            return Ok(None);
        }
        let x = *call.operands.first().ok_or(Stop::Empty)?;
        let mut place = self.index(at, shape);
        let within = place.pop().ok_or(Stop::Empty)?;
        if call.def.name == "diagonal" {
            let Line { axes, starts } = self.line(call, shape.len() + 1)?;
            let mut inserted: Vec<(usize, Dim)> = axes
                .into_iter()
                .zip(starts)
                .map(|(axis, start)| (axis, within.clone() + start))
                .collect();
            inserted.sort_by_key(|(axis, _)| *axis);
            for (axis, i) in inserted {
                place.insert(axis, i);
            }
        } else {
            let axis = call.axis("axis", place.len())?;
            place[axis] = place[axis].clone() * window(call)?.1 + within;
        }
        self.element(x, &At::Index(place)).map(Some)
    }

    fn line(&self, call: &Call, rank: usize) -> Res<Line> {
        let axes = [call.axis("dim1", rank)?, call.axis("dim2", rank)?];
        if axes[0] == axes[1] || axes.iter().any(|&axis| axis >= rank) {
            return Err(Stop::Empty);
        }
        let offset = call.int("offset").ok_or_else(|| open("an offset is unknown"))?;
        let zero = Dim::Const(0);
        let starts = if self.case.is_at_least_zero(&offset)? {
            [zero, offset]
        } else {
            [-offset, zero]
        };
        Ok(Line { axes, starts })
    }
}

/// Size and step of the windows.
fn window(call: &Call) -> Res<(Dim, Dim)> {
    let int = |name: &str| call.int(name).ok_or_else(|| open("a window is unknown"));
    Ok((int("size")?, int("step")?))
}
