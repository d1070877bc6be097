//! Windows over spatial axes, pooling, and reductions.

use super::case::{Res, Stop};
use super::expr::{Expr, Fun, Kind};
use super::facts::Made;
use super::fold::{Cases, nothing};
use super::laws;
use super::meaning::{At, Call, Meaning, open, place, single};
use tautomer_op::{Each, Fold, Formula, Reduction, Total, known};
use tautomer_tensor::{DType, Dim};

/// The attributes of a window, with one entry for each spatial axis.
pub(super) struct Windows {
    kernel: Vec<Dim>,
    pub(super) strides: Vec<Dim>,
    pub(super) dilations: Vec<Dim>,
    before_and_after: Vec<Dim>,
    /// For `SAME` padding: whether the odd element of padding comes last.
    same: Option<bool>,
    ceil: bool,
}

impl Windows {
    pub(super) fn of(meaning: &Meaning<'_>, call: &Call, kernel: &[Dim]) -> Res<Windows> {
        let n = kernel.len();
        let list = |name: &str, count: usize, default: i64| match call.ints(name) {
            Some(list) if list.len() == count => Ok(list),
            Some(_) => Err(Stop::Empty),
            None => Ok(vec![Dim::Const(default); count]),
        };
        let auto = call.text("auto_pad");
        let explicit = !matches!(auto.as_str(), "SAME_UPPER" | "SAME_LOWER" | "VALID");
        let windows = Windows {
            kernel: kernel.to_vec(),
            strides: list("strides", n, 1)?,
            dilations: list("dilations", n, 1)?,
            before_and_after: if explicit {
                list("pads", 2 * n, 0)?
            } else {
                vec![Dim::Const(0); 2 * n]
            },
            same: match auto.as_str() {
                "SAME_UPPER" => Some(true),
                "SAME_LOWER" => Some(false),
                _ => None,
            },
            ceil: call.flag("ceil_mode") && explicit,
        };
        for d in windows.strides.iter().chain(&windows.dilations).chain(kernel) {
            meaning.require_at_least(d, 1)?;
        }
        for d in &windows.before_and_after {
            meaning.require_at_least(d, 0)?;
        }
        Ok(windows)
    }

    pub(super) fn span(&self, i: usize) -> Dim {
        self.dilations[i].clone() * (self.kernel[i].clone() - Dim::Const(1)) + Dim::Const(1)
    }

    /// Explicit pads of a spatial axis.
    pub(super) fn pads(&self, i: usize) -> (Dim, Dim) {
        (
            self.before_and_after[i].clone(),
            self.before_and_after[self.kernel.len() + i].clone(),
        )
    }

    /// The number of windows along an axis.
    pub(super) fn count(&self, meaning: &Meaning<'_>, i: usize, input: &Dim) -> Res<Dim> {
        let case = meaning.case;
        if self.same.is_some() {
            let count = case.simplified(&input.ceil_div(&self.strides[i]));
            if case.is_of_block(&count) {
                // The same number for the same axis is all that has to be known.
                let count = case.symbol(Made::Whole(count));
                case.assume_at_least_zero(&count)?;
                return Ok(count);
            }
            return Ok(count);
        }
        let (before, after) = self.pads(i);
        let one = Dim::Const(1);
        let room = input.clone() + before.clone() + after - self.span(i);
        if !case.is_at_least_zero(&room)? {
            // No window fits, which is only valid for an empty input.
            meaning.require_zero(input)?;
            return Ok(Dim::Const(0));
        }
        if !self.ceil {
            if meaning.given {
                let count = case.assume_quotient(&(room + self.strides[i].clone()), &self.strides[i])?;
                case.assume_at_least_zero(&(count.clone() - one))?;
                return Ok(count);
            }
            return Ok(case.divide(&room, &self.strides[i]).0 + one);
        }
        let starts = (input.clone() + before).ceil_div(&self.strides[i]);
        case.min(&(room.ceil_div(&self.strides[i]) + one), &starts)
    }

    /// The index in the input of an element of the window.
    pub(super) fn place(&self, meaning: &Meaning<'_>, i: usize, input: &Dim, window: &Dim, tap: &Dim) -> Res<Dim> {
        let before = match self.same {
            None => self.pads(i).0,
            Some(upper) => {
                let case = meaning.case;
                let outputs = input.ceil_div(&self.strides[i]);
                let reach = (outputs - Dim::Const(1)) * self.strides[i].clone() + self.span(i);
                let total = case.max(&(reach - input.clone()), &Dim::Const(0))?;
                let half = case.divide(&total, &Dim::Const(2)).0;
                if upper { half } else { total - half }
            }
        };
        Ok(window.clone() * self.strides[i].clone() + tap.clone() * self.dilations[i].clone() - before)
    }
}

impl Meaning<'_> {
    pub(super) fn window_shape(&self, call: &Call) -> Res<Option<Vec<Dim>>> {
        if !matches!(call.def.law(), Formula::Window(_)) {
            return Ok(None);
        }
        let x = self.shape(*call.operands.first().ok_or(Stop::Empty)?)?;
        let kernel = call.ints("kernel_shape").ok_or_else(|| open("a window is computed"))?;
        if x.len() != kernel.len() + 2 {
            return Err(Stop::Empty);
        }
        let windows = Windows::of(self, call, &kernel)?;
        let mut out = x[..2].to_vec();
        for (i, d) in x[2..].iter().enumerate() {
            out.push(windows.count(self, i, d)?);
        }
        Ok(Some(out))
    }

    pub(super) fn window_element(&self, call: &Call, shape: &[Dim], at: &At) -> Res<Option<Cases>> {
        let Formula::Window(fold) = call.def.law() else {
            return Ok(None);
        };
        let kind = Kind::from(fold);
        let x = call.operands[0];
        let xs = self.shape(x)?;
        let kernel = call.ints("kernel_shape").ok_or_else(|| open("a window is computed"))?;
        let windows = Windows::of(self, call, &kernel)?;
        let index = self.index(at, shape);
        let over = |element: &dyn Fn(&[Dim]) -> Res<Cases>, padded: bool| {
            self.over(kind, &kernel, &|k| {
                let mut place = index[..2].to_vec();
                let mut guards = Vec::new();
                for (i, tap) in k.iter().enumerate() {
                    let at = windows.place(self, i, &xs[2 + i], &index[2 + i], tap)?;
                    let (before, after) = if padded {
                        windows.pads(i)
                    } else {
                        (Dim::Const(0), Dim::Const(0))
                    };
                    guards.push(at.clone() + before);
                    guards.push(xs[2 + i].clone() + after - Dim::Const(1) - at.clone());
                    place.push(at);
                }
                let cases = self.case.within(&guards, || element(&place))?;
                Ok(cases
                    .into_iter()
                    .map(|(more, v)| ([guards.as_slice(), &more].concat(), v))
                    .collect())
            })
        };
        let dtype = self.dtype(x);
        let element = |place: &[Dim]| {
            let cases = self.element(x, &At::Index(place.to_vec()))?;
            let ordered = |e: Expr| {
                if kind == Kind::Max {
                    laws::in_order(&e, dtype)
                } else {
                    e
                }
            };
            Ok(cases.into_iter().map(|(guards, e)| (guards, ordered(e))).collect())
        };
        let value = over(&element, false)?;
        if kind == Kind::Max {
            return Ok(Some(single(bound_of_type(kind, value, dtype))));
        }
        let include = call.flag("count_include_pad");
        if include && windows.same.is_some() {
            return Err(open("counted padding depends on a dimension"));
        }
        let count = over(&|_| Ok(single(Expr::int(1))), include)?;
        Ok(Some(single(laws::multiply(&value, &count.inverse()))))
    }

    /// The axes that a reduction takes away.
    fn reduced(&self, call: &Call, rank: usize) -> Res<Vec<usize>> {
        if call.operands.get(1).is_some_and(|v| self.is_given(*v)) {
            return Err(open("the axes of a reduction are computed"));
        }
        let mut axes = call.axes("axes", rank)?.unwrap_or_default();
        axes.sort_unstable();
        if axes.is_empty() && !call.flag("noop_with_empty_axes") {
            axes = (0..rank).collect();
        }
        Ok(axes)
    }

    pub(super) fn reduced_shape(&self, call: &Call) -> Res<Option<Vec<Dim>>> {
        let Formula::Reduction(_) = call.def.law() else {
            return Ok(None);
        };
        let x = self.shape(*call.operands.first().ok_or(Stop::Empty)?)?;
        let axes = self.reduced(call, x.len())?;
        let keep = call.flag("keepdims");
        let kept = x.iter().enumerate().filter(|(i, _)| keep || !axes.contains(i));
        let out = kept.map(|(i, d)| if axes.contains(&i) { Dim::Const(1) } else { d.clone() });
        Ok(Some(out.collect()))
    }

    pub(super) fn reduced_element(&self, call: &Call, shape: &[Dim], at: &At) -> Res<Option<Cases>> {
        let Formula::Reduction(Reduction { each, fold, total }) = call.def.law() else {
            return Ok(None);
        };
        let x = call.operands[0];
        let xs = self.shape(x)?;
        let axes = self.reduced(call, xs.len())?;
        let index = self.index(at, shape);
        let keep = call.flag("keepdims");
        let mut rest = index.into_iter();
        let mut fixed: Vec<Option<Dim>> = Vec::with_capacity(xs.len());
        for axis in 0..xs.len() {
            let reduced = axes.contains(&axis);
            let given = if keep || !reduced { rest.next() } else { None };
            fixed.push(given.filter(|_| !reduced));
        }
        let extents: Vec<Dim> = axes.iter().map(|&a| xs[a].clone()).collect();
        let whole = !self.dtype(call.vertex).is_float();
        if whole && each == Each::Exponential {
            // Integers are rounded after exponentials: a function of the whole operand.
            return Ok(None);
        }
        let kind = Kind::from(fold);
        let before = |v: &Expr| match each {
            Each::Magnitude if whole => laws::whole(known::ABS, vec![v.clone()], self.dtype(x)),
            Each::Magnitude => laws::apply(known::ABS, vec![v.clone()]),
            Each::Square => laws::multiply(v, v),
            Each::Exponential => laws::apply(known::EXP, vec![v.clone()]),
            Each::Itself if matches!(fold, Fold::Max | Fold::Min) => laws::in_order(v, self.dtype(x)),
            Each::Itself => v.clone(),
        };
        let value = self.over(kind, &extents, &|k| {
            let mut k = k.iter();
            let place = fixed
                .iter()
                .map(|f| f.clone().or_else(|| k.next().cloned()).unwrap_or(Dim::Const(0)));
            let cases = self.element(x, &At::Index(place.collect()))?;
            self.combined(&[cases], &|args| Ok(before(&args[0])))
        })?;
        let value = bound_of_type(kind, value, self.dtype(call.vertex));
        let size: Dim = extents.into_iter().product();
        Ok(Some(single(match total {
            Total::Itself => value,
            Total::Mean if size.as_const() == Some(1) => value,
            // Functions of the sum only, rounded to integers.
            _ if whole => {
                let size = if total == Total::Mean {
                    Expr::of_dim(&size)
                } else {
                    Expr::int(1)
                };
                laws::apply(Fun::In(call.def.name, self.dtype(call.vertex)), vec![value, size])
            }
            Total::Mean => value.mul(&Expr::of_dim(&size).inverse()),
            Total::Root => laws::apply(known::SQRT, vec![value]),
            Total::Logarithm => laws::apply(known::LOG, vec![value]),
        })))
    }

    /// An element of a running sum or product.
    pub(super) fn running_element(&self, call: &Call, shape: &[Dim], at: &At) -> Res<Option<Cases>> {
        let Formula::Running(fold) = call.def.law() else {
            return Ok(None);
        };
        let Some(axis) = call.int("axis").and_then(|axis| axis.as_const()) else {
            return Ok(None);
        };
        let x = call.operands[0];
        let axis = place(axis, shape.len())?;
        let extent = shape.get(axis).ok_or(Stop::Empty)?.clone();
        let index = self.index(at, shape);
        let (reverse, itself) = (call.flag("reverse"), i64::from(call.flag("exclusive")));
        // The sum of equal elements is their number times one of them.
        let any = self.case.fresh();
        let limits = super::fold::limits(&[(any.clone(), extent.clone())]);
        let mut place = index.clone();
        place[axis] = Dim::symbol(&any);
        let one = self.case.within(&limits, || self.element(x, &At::Index(place)))?;
        if let ([(guards, value)], Fold::Sum) = (one.as_slice(), fold)
            && guards.is_empty()
            && !value.mentions(&any)
        {
            let before = if reverse {
                extent - index[axis].clone()
            } else {
                index[axis].clone() + Dim::Const(1)
            };
            let count = Expr::of_dim(&self.case.simplified(&(before - Dim::Const(itself))));
            return Ok(Some(single(value.mul(&count))));
        }
        let value = self.over(Kind::from(fold), &[extent], &|k| {
            let before = index[axis].clone() - k[0].clone();
            let before = if reverse { -before } else { before };
            let guard = before - Dim::Const(itself);
            let mut place = index.clone();
            place[axis] = k[0].clone();
            let cases = self
                .case
                .within(std::slice::from_ref(&guard), || self.element(x, &At::Index(place)))?;
            let guarded = |(more, v): (Vec<Dim>, Expr)| ([std::slice::from_ref(&guard), &more].concat(), v);
            Ok(cases.into_iter().map(guarded).collect())
        })?;
        Ok(Some(single(value)))
    }
}

/// The value of a fold, which of no integers is a number of their type, and no infinity.
fn bound_of_type(kind: Kind, value: Expr, dtype: DType) -> Expr {
    if dtype.is_float() || value != nothing(kind) {
        return value;
    }
    match kind {
        Kind::Max => Expr::apply(Fun::In("least", dtype), Vec::new()),
        Kind::Min => Expr::apply(Fun::In("greatest", dtype), Vec::new()),
        Kind::Sum | Kind::Product => value,
    }
}
