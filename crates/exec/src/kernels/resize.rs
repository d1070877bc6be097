//! Resizing one axis at a time, to the nearest element or by linear interpolation.

use std::borrow::Cow;

use super::call::{done, or_decline};
use super::threads::{in_parts, worth};
use super::{Call, Done, Kernel};
use tautomer_op::AttrValue;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("resize", resize)];

/// An element of the result along one axis: the indices of two elements of the operand, and the weight of the second.
type Tap = (usize, usize, f32);

fn resize(call: &Call<'_>) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = or_decline!(call.out_shape());
    let mut now = call.shape(0).to_vec();
    let nearest = match call.text("mode") {
        "nearest" => true,
        "linear" if !call.flag("antialias") => false,
        _ => return Ok(None),
    };
    if call.text("keep_aspect_ratio_policy") != "stretch" || now.contains(&0) || shape.contains(&0) {
        return Ok(None);
    }
    let axes = or_decline!(call.axes("axes", now.len()));
    let scales = match call.attr("scales") {
        AttrValue::Floats(list) => Some(list.iter().map(|s| s.0).collect::<Vec<f64>>()),
        _ => None,
    };
    if scales.as_ref().is_some_and(|s| s.len() != axes.len()) {
        return Ok(None);
    }
    let mut values = x;
    // Picking elements is exact, so the axes can be in any order: from the last on, outer axes copy whole rows.
    let mut order: Vec<usize> = (0..axes.len()).collect();
    if nearest {
        order.sort_by_key(|&i| std::cmp::Reverse(axes[i]));
    }
    let scale_of = |i: usize| {
        let (from, to) = (call.shape(0)[axes[i]], shape[axes[i]]);
        scales.as_ref().map_or(to as f64 / from as f64, |s| s[i])
    };
    order.retain(|&i| call.shape(0)[axes[i]] != shape[axes[i]] || (scale_of(i) - 1.0).abs() > 1e-9);
    let last = order.last().copied();
    for i in order {
        let axis = axes[i];
        let (from, to, scale) = (now[axis], shape[axis], scale_of(i));
        let taps: Option<Vec<Tap>> = (0..to)
            .map(|at| {
                let place = position(call.text("coordinate_transformation_mode"), at as f64, from, to, scale)?;
                tap(place, from, nearest.then(|| call.text("nearest_mode")))
            })
            .collect();
        let taps = or_decline!(taps);
        let n = values.len() / from * to;
        let threads = worth(call.threads, n);
        if last == Some(i) {
            let mut resized = call.result_room(n);
            along(&values, &now, axis, &taps, &mut resized, threads);
            if let Cow::Owned(values) = values {
                call.give(values);
            }
            return done(&shape, resized);
        }
        let mut resized = call.room(n);
        along(&values, &now, axis, &taps, &mut resized, threads);
        if let Cow::Owned(values) = std::mem::replace(&mut values, Cow::Owned(resized)) {
            call.give(values);
        }
        now[axis] = to;
    }
    done(&shape, values.into_owned())
}

/// The position among `from` elements that corresponds to `at` in the result.
fn position(mode: &str, at: f64, from: usize, to: usize, scale: f64) -> Option<f64> {
    let extent = scale * from as f64;
    Some(match mode {
        "align_corners" if extent == 1.0 => 0.0,
        "align_corners" => at * (from as f64 - 1.0) / (extent - 1.0),
        "asymmetric" => at / scale,
        "pytorch_half_pixel" if to <= 1 => 0.0,
        "half_pixel" | "pytorch_half_pixel" => (at + 0.5) / scale - 0.5,
        _ => return None,
    })
}

/// The elements at a position, with the edge repeated; a single one if a rounding mode is given.
fn tap(place: f64, from: usize, rounding: Option<&str>) -> Option<Tap> {
    let clamp = |x: f64| x.clamp(0.0, from as f64 - 1.0) as usize;
    let (low, part) = (place.floor(), place - place.floor());
    let rounded = match rounding {
        None => return Some((clamp(low), clamp(low + 1.0), part as f32)),
        Some("floor") => low,
        Some("ceil") => place.ceil(),
        Some("round_prefer_floor") if part > 0.5 => place.ceil(),
        Some("round_prefer_ceil") if part >= 0.5 => place.ceil(),
        Some("round_prefer_floor" | "round_prefer_ceil") => low,
        Some(_) => return None,
    };
    Some((clamp(rounded), clamp(rounded), 0.0))
}

/// Resizes one axis of an array of that shape.
fn along(x: &[f32], shape: &[usize], axis: usize, taps: &[Tap], out: &mut [f32], threads: usize) {
    let inner: usize = shape[axis + 1..].iter().product();
    let block = shape[axis] * inner;
    if inner == 1 {
        let is_doubled = taps.len() == 2 * block && taps.iter().enumerate().all(|(i, t)| t.0 == i / 2 && t.2 == 0.0);
        let is_picked = taps.iter().all(|t| t.2 == 0.0);
        return in_parts(threads, out, taps.len(), |first, out| {
            let rows = x[first * block..].chunks_exact(block);
            for (x, out) in rows.zip(out.chunks_exact_mut(taps.len())) {
                if is_doubled {
                    out.as_chunks_mut()
                        .0
                        .iter_mut()
                        .zip(x)
                        .for_each(|(two, &x)| *two = [x, x]);
                } else if is_picked {
                    out.iter_mut().zip(taps).for_each(|(out, t)| *out = x[t.0]);
                } else {
                    let mixed = |(out, &(a, b, w)): (&mut f32, &Tap)| *out = mixed(x[a], x[b], w);
                    out.iter_mut().zip(taps).for_each(mixed);
                }
            }
        });
    }
    in_parts(threads, out, inner, |first, out| {
        for (i, out) in out.chunks_exact_mut(inner).enumerate() {
            let (x, &(a, b, w)) = (
                &x[(first + i) / taps.len() * block..][..block],
                &taps[(first + i) % taps.len()],
            );
            let (left, right) = (&x[a * inner..][..inner], &x[b * inner..][..inner]);
            if w == 0.0 {
                out.copy_from_slice(left);
            } else {
                let both = left.iter().zip(right);
                out.iter_mut()
                    .zip(both)
                    .for_each(|(out, (&l, &r))| *out = mixed(l, r, w));
            }
        }
    });
}

/// The number between two; exactly the first if the weight of the second is zero, even if that is not finite.
#[inline(always)]
fn mixed(left: f32, right: f32, weight: f32) -> f32 {
    let sum = left * (1.0 - weight) + right * weight;
    if weight == 0.0 { left } else { sum }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::{AttrValue, Real};

    #[test]
    fn resizes() {
        let scales = |list: &[f64]| AttrValue::Floats(list.iter().map(|&s| Real(s)).collect());
        for mode in ["nearest", "linear"] {
            for transformation in ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"] {
                for rounding in ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] {
                    let case = || {
                        Case::new("resize", &[f32s(&[1, 2, 4, 5], 1)])
                            .attr("mode", AttrValue::str(mode))
                            .attr("coordinate_transformation_mode", AttrValue::str(transformation))
                            .attr("nearest_mode", AttrValue::str(rounding))
                    };
                    for to in [[2.0, 2.0], [0.5, 1.0], [1.3, 0.7], [1.0, 3.0]] {
                        case().attr("scales", scales(&[1.0, 1.0, to[0], to[1]])).check();
                        case().attr("scales", scales(&to)).ints("axes", &[2, -1]).check();
                    }
                    case().ints("sizes", &[1, 2, 8, 3]).check();
                    case().ints("sizes", &[1, 2, 1, 1]).check();
                }
            }
        }
    }
}
