//! Operators that move elements: views, concatenations, slices, padding; and those that create tensors.

use super::case::{Res, Stop, has_bound};
use super::expr::Expr;
use super::facts::Made;
use super::fold::Cases;
use super::meaning::{At, Call, Meaning, open, single};
use tautomer_graph::VertexId;
use tautomer_tensor::Dim;

/// Positions of a slice along an axis.
struct Range {
    axis: usize,
    start: Dim,
    step: i64,
    count: Dim,
}

impl Meaning<'_> {
    pub(super) fn layout_shapes(&self, call: &Call) -> Res<Option<Vec<Vec<Dim>>>> {
        let x = call.operands.first().copied();
        let shape = |v: Option<VertexId>| v.map_or_else(|| Err(open("an operand is missing")), |v| self.shape(v));
        let out = match call.def.name {
            "reshape" => {
                let x = shape(x)?;
                let wanted = call.ints("shape").ok_or_else(|| open("a shape is computed"))?;
                self.reshaped(&x, &wanted, call.flag("allowzero"))?
            }
            "flatten" => {
                let x = shape(x)?;
                let (before, after) = x.split_at(call.axis("axis", x.len())?);
                [before, after]
                    .iter()
                    .map(|part| part.iter().cloned().product())
                    .collect()
            }
            "transpose" => {
                let x = shape(x)?;
                let perm = permutation(call, x.len())?;
                perm.into_iter().map(|i| x[i].clone()).collect()
            }
            "squeeze" => {
                let x = shape(x)?;
                let axes = self.squeezed(call, &x)?;
                x.iter()
                    .enumerate()
                    .filter(|(i, _)| !axes.contains(i))
                    .map(|(_, d)| d.clone())
                    .collect()
            }
            "unsqueeze" => {
                let mut out = shape(x)?;
                for axis in inserted(call, out.len())? {
                    out.insert(axis, Dim::Const(1));
                }
                out
            }
            "expand" => {
                let wanted = call.ints("shape").ok_or_else(|| open("a shape is computed"))?;
                for d in &wanted {
                    self.require_at_least(d, 0)?;
                }
                self.broadcast_shapes(&[shape(x)?, wanted])?
            }
            "tile" => {
                let x = shape(x)?;
                let repeats = call.ints("repeats").ok_or_else(|| open("repeats are computed"))?;
                for d in &repeats {
                    self.require_at_least(d, 0)?;
                }
                x.into_iter().zip(repeats).map(|(d, n)| d * n).collect()
            }
            "concat" => {
                let mut out = shape(x)?;
                let axis = call.axis("axis", out.len())?;
                for &v in &call.operands[1..] {
                    let other = self.shape(v)?;
                    if other.len() != out.len() {
                        return Err(Stop::Empty);
                    }
                    for (i, d) in other.into_iter().enumerate() {
                        if i == axis {
                            out[i] = out[i].clone() + d;
                        } else {
                            self.require_zero(&(out[i].clone() - d))?;
                        }
                    }
                }
                out
            }
            "split" => {
                let x = shape(x)?;
                let axis = call.axis("axis", x.len())?;
                let sizes = call
                    .ints("sizes")
                    .ok_or_else(|| open("the sizes of the parts are unknown"))?;
                for d in &sizes {
                    self.require_at_least(d, 0)?;
                }
                self.require_zero(&(x[axis].clone() - sizes.iter().cloned().sum()))?;
                let part = |n: Dim| {
                    let mut out = x.clone();
                    out[axis] = n;
                    out
                };
                return Ok(Some(sizes.into_iter().map(part).collect()));
            }
            "slice" => {
                let mut out = shape(x)?;
                for range in self.ranges(call, &out)? {
                    out[range.axis] = range.count;
                }
                out
            }
            "pad" => {
                let x = shape(x)?;
                let mut out = Vec::with_capacity(x.len());
                for (d, (before, after)) in x.iter().zip(paddings(call, x.len())?) {
                    let padded = d.clone() + before + after;
                    self.require_at_least(&padded, 0)?;
                    out.push(padded);
                }
                out
            }
            "gather" => {
                let x = shape(x)?;
                let axis = call.axis("axis", x.len())?;
                let indices = self.shape(call.operands[1])?;
                [&x[..axis], indices.as_slice(), x.get(axis + 1..).unwrap_or(&[])].concat()
            }
            "shape" => {
                shape(x)?;
                return Ok(None);
            }
            "size" => {
                shape(x)?;
                Vec::new()
            }
            "zeros" | "ones" | "full" => call.ints("shape").ok_or_else(|| open("a shape is computed"))?,
            "zeros_like" | "ones_like" => shape(x)?,
            "eye_like" | "trilu" => shape(x)?,
            _ => return Ok(None),
        };
        Ok(Some(vec![out]))
    }

    pub(super) fn layout_element(&self, call: &Call, output: usize, shape: &[Dim], at: &At) -> Res<Option<Cases>> {
        let x = || {
            call.operands
                .first()
                .copied()
                .ok_or_else(|| open("an operand is missing"))
        };
        let index = || self.index(at, shape);
        Ok(Some(match call.def.name {
            "reshape" | "flatten" => self.element(x()?, &At::Flat(self.flat(at, shape)))?,
            "squeeze" | "unsqueeze" => {
                let at = match at {
                    At::Flat(_) => at.clone(),
                    At::Index(index) if call.def.name == "unsqueeze" => {
                        let axes = inserted(
                            call,
                            index.len().saturating_sub(call.ints("axes").map_or(0, |a| a.len())),
                        )?;
                        let kept = index.iter().enumerate().filter(|(i, _)| !axes.contains(i));
                        At::Index(kept.map(|(_, d)| d.clone()).collect())
                    }
                    At::Index(index) => {
                        let mut out = index.clone();
                        for axis in self.squeezed(call, &self.shape(x()?)?)? {
                            out.insert(axis, Dim::Const(0));
                        }
                        At::Index(out)
                    }
                };
                self.element(x()?, &at)?
            }
            "transpose" => {
                let perm = permutation(call, shape.len())?;
                let mut out = vec![Dim::Const(0); perm.len()];
                for (i, axis) in index().into_iter().zip(perm) {
                    out[axis] = i;
                }
                self.element(x()?, &At::Index(out))?
            }
            "expand" => self.element(x()?, &self.broadcast_at(x()?, shape, at)?)?,
            "tile" => {
                let own = self.shape(x()?)?;
                let place = index()
                    .iter()
                    .zip(&own)
                    .map(|(i, d)| self.case.divide(i, d).1)
                    .collect();
                self.element(x()?, &At::Index(place))?
            }
            "concat" => self.joined(&call.operands, call.axis("axis", shape.len())?, &index())?,
            "split" => {
                let axis = call.axis("axis", shape.len())?;
                let sizes = call
                    .ints("sizes")
                    .ok_or_else(|| open("the sizes of the parts are unknown"))?;
                let mut place = index();
                place[axis] = place[axis].clone() + sizes[..output].iter().cloned().sum();
                self.element(x()?, &At::Index(place))?
            }
            "slice" => {
                let mut place = index();
                for range in self.ranges(call, &self.shape(x()?)?)? {
                    place[range.axis] = range.start + place[range.axis].clone() * Dim::Const(range.step);
                }
                self.element(x()?, &At::Index(place))?
            }
            "pad" => {
                let own = self.shape(x()?)?;
                let pads = paddings(call, own.len())?;
                let nothing = |d: &Dim| self.case.known_zero(d) == Some(true);
                if pads.iter().all(|(before, after)| nothing(before) && nothing(after)) {
                    return self.element(x()?, at).map(Some);
                }
                if call.text("mode") != "constant" {
                    return Ok(None);
                }
                let place: Vec<Dim> = index()
                    .into_iter()
                    .zip(pads)
                    .map(|(i, (before, _))| i - before)
                    .collect();
                let fill = single(self.case.number(call.float("value").unwrap_or(0.0)));
                if call.operands.get(2).is_some_and(|v| self.is_given(*v)) {
                    return Err(open("the padding is computed"));
                }
                self.inside(
                    &place,
                    &own,
                    0,
                    &|| self.element(x()?, &At::Index(place.clone())),
                    &fill,
                )?
            }
            "gather" => return self.gathered(call, &index()).map(Some),
            "shape" => {
                let own = self.shape(x()?)?;
                let start = call.int("start").and_then(|d| d.as_const()).unwrap_or(0);
                let start = if start < 0 { start + own.len() as i64 } else { start }.clamp(0, own.len() as i64);
                let i = self.case.simplified(&self.flat(at, shape));
                for (axis, d) in own.iter().enumerate().skip(start as usize) {
                    if self.case.is_zero(&(i.clone() - Dim::Const(axis as i64 - start)))? {
                        return Ok(Some(single(Expr::of_dim(d))));
                    }
                }
                return Err(Stop::Empty);
            }
            "size" => single(Expr::of_dim(&self.shape(x()?)?.into_iter().product())),
            "zeros" | "zeros_like" => single(Expr::zero()),
            "ones" | "ones_like" => single(Expr::int(1)),
            "full" => single(self.case.number(call.float("value").unwrap_or(0.0))),
            _ => return Ok(None),
        }))
    }

    /// The shape that `reshape` produces: it has to have as many elements as the operand.
    fn reshaped(&self, x: &[Dim], wanted: &[Dim], allow_zero: bool) -> Res<Vec<Dim>> {
        let mut out = Vec::with_capacity(wanted.len());
        for (i, d) in wanted.iter().enumerate() {
            match d.as_const() {
                Some(-1) => return Err(open("a dimension of -1 is not inferred")),
                Some(0) if !allow_zero => out.push(x.get(i).cloned().ok_or(Stop::Empty)?),
                Some(_) => out.push(d.clone()),
                None => {
                    self.require_at_least(d, i64::from(!allow_zero))?;
                    out.push(d.clone());
                }
            }
        }
        let (total, asked): (Dim, Dim) = (x.iter().cloned().product(), out.iter().cloned().product());
        if !allow_zero
            && out
                .iter()
                .all(|d| self.case.known_sign(&(d.clone() - Dim::Const(1))) == Some(true))
        {
            for d in x {
                self.require_at_least(d, 1)?;
            }
        }
        // Cancel common factors that are not 0.
        let (mut left, mut right) = (total, asked);
        for d in x {
            if let (Some(a), Some(b)) = (left.exact_div(d), right.exact_div(d))
                && self.case.known_zero(d) == Some(false)
            {
                (left, right) = (a, b);
            }
        }
        self.require_zero(&(left - right))?;
        Ok(out)
    }

    fn squeezed(&self, call: &Call, x: &[Dim]) -> Res<Vec<usize>> {
        let mut axes = match call.axes("axes", x.len())? {
            Some(axes) => axes,
            None => return Err(open("the squeezed axes are unknown")),
        };
        axes.sort_unstable();
        for &axis in &axes {
            self.require_zero(&(x[axis].clone() - Dim::Const(1)))?;
        }
        Ok(axes)
    }

    fn ranges(&self, call: &Call, x: &[Dim]) -> Res<Vec<Range>> {
        let missing = || open("the bounds of a slice are computed");
        let (starts, ends) = (
            call.ints("starts").ok_or_else(missing)?,
            call.ints("ends").ok_or_else(missing)?,
        );
        let axes = call
            .axes("axes", x.len())?
            .unwrap_or_else(|| (0..starts.len()).collect());
        let steps = call.ints("steps").unwrap_or_else(|| vec![Dim::Const(1); starts.len()]);
        let mut out = Vec::new();
        for (((axis, start), end), step) in axes.into_iter().zip(starts).zip(ends).zip(steps) {
            let step = step.as_const().ok_or_else(missing)?;
            if step == 0 || axis >= x.len() {
                return Err(Stop::Empty);
            }
            let (zero, one) = (Dim::Const(0), Dim::Const(1));
            let (low, high) = if step > 0 {
                (zero.clone(), x[axis].clone())
            } else {
                (-one.clone(), x[axis].clone() - one.clone())
            };
            let place = |p: Dim| {
                let p = if self.case.is_at_least_zero(&p)? {
                    p
                } else {
                    p + x[axis].clone()
                };
                self.case.max(&self.case.min(&p, &self.case.max(&high, &low)?)?, &low)
            };
            let (start, end) = (place(start)?, place(end)?);
            let span = if step > 0 {
                end - start.clone()
            } else {
                start.clone() - end
            };
            let stride = Dim::Const(step.abs());
            let count = self
                .case
                .simplified(&self.case.simplified(&span.maximum(&zero)).ceil_div(&stride));
            out.push(Range {
                axis,
                start,
                step,
                count,
            });
        }
        Ok(out)
    }

    /// The element of the concatenation: that of the operand which covers the index along the axis.
    fn joined(&self, operands: &[VertexId], axis: usize, index: &[Dim]) -> Res<Cases> {
        let Some((first, rest)) = operands.split_first() else {
            return Err(Stop::Empty);
        };
        if rest.is_empty() {
            return self.element(*first, &At::Index(index.to_vec()));
        }
        let extent = self.shape(*first)?[axis].clone();
        let beyond = index[axis].clone() - extent.clone();
        let mut next = index.to_vec();
        next[axis] = beyond.clone();
        self.choose(&beyond, &|| self.joined(rest, axis, &next), &|| {
            self.element(*first, &At::Index(index.to_vec()))
        })
    }

    /// `value` if the index is within the shape, else `outside`.
    pub(super) fn inside(
        &self,
        place: &[Dim],
        extents: &[Dim],
        axis: usize,
        value: &dyn Fn() -> Res<Cases>,
        outside: &Cases,
    ) -> Res<Cases> {
        if axis == place.len() {
            return value();
        }
        let last = extents[axis].clone() - Dim::Const(1) - place[axis].clone();
        let other = || Ok(outside.clone());
        self.choose(
            &place[axis],
            &|| self.choose(&last, &|| self.inside(place, extents, axis + 1, value, outside), &other),
            &other,
        )
    }

    fn gathered(&self, call: &Call, index: &[Dim]) -> Res<Cases> {
        let (x, indices) = (call.operands[0], call.operands[1]);
        let shape = self.shape(x)?;
        let axis = call.axis("axis", shape.len())?;
        let rank = self.shape(indices)?.len();
        let chosen = self.element(indices, &At::Index(index[axis..axis + rank].to_vec()))?;
        let [(guards, number)] = chosen.as_slice() else {
            return Err(open("an index depends on a bound index"));
        };
        let extent = &shape[axis];
        let at = match number.as_dim() {
            Some(i) => {
                if self.case.is_at_least_zero(&i)? {
                    i
                } else {
                    i + extent.clone()
                }
            }
            None if number_is_bound(number) => return Err(open("an index depends on a bound index")),
            // An index that is data gets a symbol.
            None => self.case.symbol(Made::Datum(number.clone(), extent.clone())),
        };
        if self.given && number.as_dim().is_some() {
            self.require_at_least(&at, 0)?;
            self.require_at_least(&(extent.clone() - at.clone()), 1)?;
        }
        let mut place = index[..axis].to_vec();
        place.push(at);
        place.extend_from_slice(&index[axis + rank..]);
        let value = self.element(x, &At::Index(place))?;
        Ok(value
            .into_iter()
            .map(|(more, v)| ([guards.as_slice(), &more].concat(), v))
            .collect())
    }
}

fn number_is_bound(number: &Expr) -> bool {
    let mut found = false;
    number.visit(&mut |dim| found |= has_bound(dim));
    found
}

fn permutation(call: &Call, rank: usize) -> Res<Vec<usize>> {
    Ok(call.axes("perm", rank)?.unwrap_or_else(|| (0..rank).rev().collect()))
}

/// The inserted axes, ascending.
fn inserted(call: &Call, rank: usize) -> Res<Vec<usize>> {
    let n = call
        .ints("axes")
        .ok_or_else(|| open("the inserted axes are computed"))?
        .len();
    let mut axes = call.axes("axes", rank + n)?.unwrap_or_default();
    axes.sort_unstable();
    Ok(axes)
}

/// How much is added before and after each axis.
fn paddings(call: &Call, rank: usize) -> Res<Vec<(Dim, Dim)>> {
    let pads = call.ints("pads").ok_or_else(|| open("the pads are computed"))?;
    let axes = call.axes("axes", rank)?.unwrap_or_else(|| (0..rank).collect());
    let mut out = vec![(Dim::Const(0), Dim::Const(0)); rank];
    if pads.len() != 2 * axes.len() {
        return Err(Stop::Empty);
    }
    for (i, axis) in axes.iter().enumerate() {
        out[*axis] = (pads[i].clone(), pads[axes.len() + i].clone());
    }
    Ok(out)
}
