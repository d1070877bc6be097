//! Orders of numbers among themselves and relative to literals, and numbers in each of them.

use crate::instance::recipe::fill;
use tautomer_tensor::DType;

/// Limit on the instances with numbers in different orders that one form becomes.
pub(super) const ORDERS: usize = 2000;

/// A number in one instance.
pub(super) enum Place {
    /// Attributes that have it, and whether it may be left out.
    Attributes(Vec<(usize, usize)>, bool),
    /// Constants all of whose elements are it.
    Constants(Vec<usize>, DType),
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

/// All orders of the numbers relative to each other and to the literals, and with infinities; `None` if they are too
/// many.
pub(super) fn orders(places: &[Place], literals: &[f64]) -> Option<Vec<Vec<Slot>>> {
    let mut out: Vec<Vec<Slot>> = vec![Vec::new()];
    for place in places {
        let mut next = Vec::new();
        for slots in &out {
            if matches!(place, Place::Attributes(_, true)) {
                next.push([slots.as_slice(), &[Slot::LeftOut]].concat());
            }
            let is_real = match place {
                Place::Attributes(..) => true,
                Place::Constants(_, dtype) => dtype.is_float(),
            };
            let infinite = [f64::NEG_INFINITY, f64::INFINITY].into_iter().filter(|_| is_real);
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

/// Numbers in an order; `Some(None)` if there are no such integers, `None` if the element type cannot hold them.
#[expect(clippy::option_option, reason = "no such numbers, or none that can be used here")]
pub(super) fn values(
    slots: &[Slot],
    literals: &[f64],
    (real, narrow, second): (bool, Option<DType>, bool),
    is_token: &dyn Fn(f64) -> bool,
) -> Option<Option<Vec<Option<f64>>>> {
    let fits = |v: f64| match narrow {
        None => Some(true),
        Some(dtype) => Some(fill(dtype, &[], v)?.to_f64s().is_none_or(|all| all == [v])),
    };
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
        let numbers = if real && narrow.is_none_or(DType::is_float) {
            reals(low, high, count, second, &|v| !is_token(v) && fits(v) == Some(true))?
        } else {
            let (least, most) = narrow.and_then(int_range).unwrap_or((-128.0, 127.0));
            match integers(low, high, (least, most), count, second) {
                Some(numbers) => numbers,
                // There are not so many integers.
                None => return Some(None),
            }
        };
        for &v in &numbers {
            if !(v > low && v < high) || is_token(v) || !fits(v)? {
                return None;
            }
        }
        inside.push(numbers);
    }
    let mut out = Vec::with_capacity(slots.len());
    for slot in slots {
        out.push(match slot {
            Slot::LeftOut => None,
            Slot::Exactly(v) => {
                if !fits(*v)? {
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

/// The least and the largest integer of an element type that has few.
fn int_range(dtype: DType) -> Option<(f64, f64)> {
    Some(match dtype {
        DType::Bool => (0.0, 1.0),
        DType::I2 => (-2.0, 1.0),
        DType::U2 => (0.0, 3.0),
        DType::I4 => (-8.0, 7.0),
        DType::U4 => (0.0, 15.0),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => (0.0, 127.0),
        _ => return None,
    })
}

/// So many ascending integers between two numbers; `None` if there are fewer. Where there are many integers, these are
/// ones that rules are not likely to contain, and few of a narrow type are all that there are.
fn integers(low: f64, high: f64, (least, most): (f64, f64), count: usize, second: bool) -> Option<Vec<f64>> {
    let first = (low.floor() + 1.0).max(least);
    let last = (high.ceil() - 1.0).min(most);
    let room = last - first + 1.0;
    if room < count as f64 {
        return (count == 0).then(Vec::new);
    }
    let skipped = if second { 41.0 } else { 37.0 };
    let begin = if room > skipped + 2.0 * count as f64 {
        first + skipped
    } else if second {
        last + 1.0 - count as f64
    } else {
        first
    };
    Some((0..count).map(|i| begin + i as f64).collect())
}
