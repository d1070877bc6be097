//! Orders of numbers among themselves and relative to literals, and numbers in each of them.

use crate::instance::recipe::fill;
use tautomer_tensor::DType;

/// Limit on the instances with numbers in different orders that one form becomes.
pub(super) const ORDERS: usize = 2000;

/// A number in one instance.
pub(super) struct Place {
    pub(super) at: At,
    /// The element type of the constants, or of the values that the attributes are for.
    pub(super) dtype: DType,
    /// The conditions may hold where it is NaN, and that matters.
    pub(super) may_be_nan: bool,
}

/// Where a number stands.
pub(super) enum At {
    /// Attributes that have it, and whether it may be left out.
    Attributes(Vec<(usize, usize)>, bool),
    /// Constants all of whose elements are it.
    Constants(Vec<usize>),
}

/// Where a number is in an order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Slot {
    LeftOut,
    /// It is this number.
    Exactly(f64),
    /// It is between two literals, and has a position among the numbers there.
    Inside(usize, usize),
}

/// The literals around a cell: the numbers below all of them, between two, or above all.
pub(super) fn bounds(literals: &[f64], cell: usize) -> (f64, f64) {
    let low = cell.checked_sub(1).map_or(f64::NEG_INFINITY, |i| literals[i]);
    (low, literals.get(cell).copied().unwrap_or(f64::INFINITY))
}

/// All orders of the numbers relative to each other and to the literals, and with numbers that are not finite; `None` if
/// they are too many.
pub(super) fn orders(places: &[Place], literals: &[f64]) -> Option<Vec<Vec<Slot>>> {
    let mut out: Vec<Vec<Slot>> = vec![Vec::new()];
    for place in places {
        let mut next = Vec::new();
        for slots in &out {
            if matches!(place.at, At::Attributes(_, true)) {
                next.push([slots.as_slice(), &[Slot::LeftOut]].concat());
            }
            let is_real = place.dtype.is_float() || matches!(place.at, At::Attributes(..));
            let infinite = [f64::NEG_INFINITY, f64::INFINITY].into_iter().filter(|_| is_real);
            let infinite = infinite.chain(place.may_be_nan.then_some(f64::NAN));
            for v in literals.iter().copied().chain(infinite) {
                next.push([slots.as_slice(), &[Slot::Exactly(v)]].concat());
            }
            for cell in 0..=literals.len() {
                let taken = slots.iter().filter_map(|slot| match slot {
                    Slot::Inside(own, at) if *own == cell => Some(at + 1),
                    _ => None,
                });
                let taken = taken.max().unwrap_or(0);
                // Equal to one of the numbers there.
                for at in 0..taken {
                    next.push([slots.as_slice(), &[Slot::Inside(cell, at)]].concat());
                }
                // Between two of them, or outside.
                for at in 0..=taken {
                    let moved = slots.iter().map(|slot| match slot {
                        Slot::Inside(own, other) if *own == cell && *other >= at => Slot::Inside(cell, other + 1),
                        other => *other,
                    });
                    let mut moved: Vec<Slot> = moved.collect();
                    moved.push(Slot::Inside(cell, at));
                    next.push(moved);
                }
            }
        }
        if next.len() > ORDERS {
            return None;
        }
        out = next;
    }
    Some(out)
}

/// Numbers in an order; `Some(None)` if there are none, `None` if they are not found.
#[expect(clippy::option_option, reason = "no such numbers, or none that can be used here")]
pub(super) fn values(
    (places, slots): (&[Place], &[Slot]),
    literals: &[f64],
    second: bool,
    is_token: &dyn Fn(f64) -> bool,
) -> Option<Option<Vec<Option<f64>>>> {
    let first = places.first()?.dtype;
    let real = first.is_float();
    // Between the same two literals, there may be numbers of one type and none of the other.
    if places.iter().any(|place| {
        if real {
            !place.dtype.is_float()
        } else {
            place.dtype != first
        }
    }) {
        return None;
    }
    let holds = |dtype: DType, v: f64| Some(fill(dtype, &[], v)?.to_f64s().is_none_or(|all| all == [v]));
    let constants = || places.iter().filter(|place| matches!(place.at, At::Constants(_)));
    let fits = |v: f64| constants().all(|place| holds(place.dtype, v) == Some(true));
    let mut inside: Vec<Vec<f64>> = Vec::new();
    for cell in 0..=literals.len() {
        let count = slots.iter().filter_map(|slot| match slot {
            Slot::Inside(own, at) if *own == cell => Some(at + 1),
            _ => None,
        });
        let count = count.max().unwrap_or(0);
        let (low, high) = bounds(literals, cell);
        // No number lies between two adjacent ones.
        if count > 0 && low.is_finite() && low.next_up() >= high {
            return Some(None);
        }
        let range = if first == DType::Bool {
            Some((0, 1))
        } else {
            first.int_range()
        };
        let numbers = match range.filter(|_| !real) {
            None if !real => return None,
            None => reals(low, high, count, second, &|v| !is_token(v) && fits(v))?,
            Some(range) => match integers(low, high, range, count, second) {
                Some(numbers) => numbers?,
                // There are not so many integers.
                None => return Some(None),
            },
        };
        for &v in &numbers {
            if !(v > low && v < high) || is_token(v) || !fits(v) {
                return None;
            }
        }
        inside.push(numbers);
    }
    let mut out = Vec::with_capacity(slots.len());
    for (place, slot) in places.iter().zip(slots) {
        out.push(match slot {
            Slot::LeftOut => None,
            Slot::Exactly(v) => {
                let is_constant = matches!(place.at, At::Constants(_));
                if is_constant && !v.is_nan() && !holds(place.dtype, *v)? {
                    // No constant of that element type is this number.
                    return Some(None);
                }
                Some(*v)
            }
            Slot::Inside(cell, at) => Some(*inside.get(*cell)?.get(*at)?),
        });
    }
    Some(Some(out))
}

/// So many ascending numbers between two others that fit, which rules and bodies of operators are not likely to
/// contain; `None` if there are fewer.
fn reals(low: f64, high: f64, count: usize, second: bool, fits: &dyn Fn(f64) -> bool) -> Option<Vec<f64>> {
    if count == 0 {
        return Some(Vec::new());
    }
    let steps = (1..64).map(|i| f64::from(i) / 64.0);
    let all = steps.map(|part| match (low.is_finite(), high.is_finite()) {
        (true, true) => low + (high - low) * part,
        (true, false) => low + 4.0 * part * low.abs().clamp(1.0, 1e300),
        (false, true) => high - 4.0 * (1.0 - part) * high.abs().clamp(1.0, 1e300),
        (false, false) => 4.0 * part,
    });
    let all = all.filter(|v| *v > low && *v < high && v.is_finite() && fits(*v));
    // Numbers with few digits only where there are no others.
    let (plain, rare): (Vec<f64>, Vec<f64>) = all.partition(|v| (v * 8.0).fract() == 0.0);
    let all = if rare.len() >= 2 * count { rare } else { plain };
    let first = (0..all.len()).filter(|i| i % 2 == usize::from(second)).map(|i| all[i]);
    let own: Vec<f64> = if all.len() >= 2 * count {
        first.take(count).collect()
    } else {
        all.into_iter().take(count).collect()
    };
    (own.len() == count).then_some(own)
}

/// So many ascending integers between two numbers; `None` if there are fewer, `Some(None)` if they are too large to be
/// exact. Where there are many integers, these are ones that rules are not likely to contain.
#[expect(clippy::option_option, reason = "no such numbers, or none that can be used here")]
fn integers(low: f64, high: f64, (least, most): (i128, i128), count: usize, second: bool) -> Option<Option<Vec<f64>>> {
    if count == 0 {
        return Some(Some(Vec::new()));
    }
    let first = if low.is_finite() {
        (low.floor() as i128).saturating_add(1)
    } else {
        least
    }
    .max(least);
    let last = if high.is_finite() {
        (high.ceil() as i128).saturating_sub(1)
    } else {
        most
    }
    .min(most);
    let n = i128::try_from(count).ok()?;
    if last.saturating_sub(first).saturating_add(1) < n {
        return None;
    }
    let skipped = if second { 41 } else { 37 };
    let fits = |begin: &i128| (first..=last - n + 1).contains(begin);
    let begin = if first + skipped + 2 * n <= last {
        // The nearest to zero.
        let all = [first + skipped, last - skipped - n, skipped - 64];
        all.into_iter().filter(fits).min_by_key(|begin| begin.unsigned_abs())?
    } else if second {
        last + 1 - n
    } else {
        first
    };
    let is_exact = begin.unsigned_abs().max((begin + n).unsigned_abs()) <= 1 << 53;
    Some(is_exact.then(|| (0..n).map(|i| (begin + i) as f64).collect()))
}
