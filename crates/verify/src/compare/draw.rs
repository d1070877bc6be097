//! Random elements for each kind of data.

use super::data::Data;
use super::texts::texts;
use crate::instance::ends::range;
use crate::instance::random::Random;
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Tensor};

/// Random elements.
pub(crate) fn tensor(dtype: DType, shape: &[usize], data: Data, random: &mut Random) -> Option<Tensor> {
    tensor_with(dtype, shape, data, &[], random)
}

/// Random elements; the given numbers are special too.
pub(super) fn tensor_with(
    dtype: DType,
    shape: &[usize],
    data: Data,
    special: &[f64],
    random: &mut Random,
) -> Option<Tensor> {
    let n = shape.iter().product();
    if dtype.is_float() {
        let mut draw = Draw::of(dtype, data, random);
        if data == Data::Special {
            draw.corners.extend_from_slice(special);
        }
        let numbers: Vec<f64> = match data {
            Data::Uniform => vec![draw.number(random); n],
            _ => (0..n).map(|_| draw.number(random)).collect(),
        };
        return Tensor::from_f64s(dtype, shape, &numbers);
    }
    if dtype == DType::Utf8 {
        return texts(&[], shape, data, random);
    }
    let numbers: Vec<i128> = (0..n).map(|_| whole(dtype, data, random)).collect();
    Tensor::from_ints(dtype, shape, &numbers)
}

/// The largest exponent of extreme data, so that products of several numbers stay within double precision.
const EXTREME: i32 = 100;

/// How the real elements of one tensor are drawn.
struct Draw {
    data: Data,
    corners: Vec<f64>,
    /// The exponent about which extreme numbers lie.
    exponent: i32,
    /// How many of 12 numbers are zeros, among zeros, and the sign of the others: an extreme of numbers on one side of
    /// zero is a zero, whose sign may depend on the order.
    zeros: usize,
    side: f64,
    /// All large numbers are on that side of zero, beyond the numbers of most rules.
    is_far: bool,
}

impl Draw {
    fn of(dtype: DType, data: Data, random: &mut Random) -> Draw {
        let is_extreme = data == Data::Extreme;
        // What is drawn ahead changes nothing that is drawn after it.
        let ahead = &mut random.clone();
        let (least, most, digits) = range(dtype);
        // Subnormal numbers are included, and a few digits are left to the largest.
        let (least, most) = ((least - digits / 2).max(-EXTREME), (most - 2).min(EXTREME));
        Draw {
            data,
            corners: if data == Data::Special {
                corners(dtype)
            } else {
                Vec::new()
            },
            exponent: if is_extreme {
                least + random.below((most - least) as usize) as i32
            } else {
                0
            },
            zeros: if data == Data::Zeros {
                random.pick(&[10, 4, 7]).unwrap_or(10)
            } else {
                0
            },
            side: match data {
                Data::Zeros if random.chance(1, 2) => -1.0,
                Data::Large if ahead.chance(1, 2) => -1.0,
                _ => 1.0,
            },
            is_far: data == Data::Large && ahead.chance(1, 3),
        }
    }

    fn number(&mut self, random: &mut Random) -> f64 {
        // Multiples of a power of two are exact in all but the narrowest element types.
        let eighths = |random: &mut Random, n: usize| (random.below(n) as f64 + 1.0) / 8.0;
        let sign = if random.chance(1, 2) { 1.0 } else { -1.0 };
        let digits = |random: &mut Random| 1.0 + random.below(1 << 20) as f64 / f64::from(1 << 20);
        match self.data {
            Data::Balanced | Data::Near => sign * eighths(random, 24),
            Data::Positive => eighths(random, 24),
            Data::Ties => random.below(5) as f64 - 2.0,
            Data::Large if self.is_far => self.side * (8.0 + 32.0 * eighths(random, 24)),
            Data::Large => sign * eighths(random, 96),
            Data::Small => eighths(random, 8) / 1024.0,
            Data::Powers => sign * (1.0 + random.below(7) as f64) * 2f64.powi(random.below(23) as i32 - 11),
            Data::Wide => {
                let exponent = random.below(41) as i32 - 20;
                sign * digits(random) * 2f64.powi(exponent)
            }
            Data::Uniform => sign * digits(random) * 2f64.powi(random.below(9) as i32 - 2),
            Data::Extreme => sign * digits(random) * 2f64.powi(self.exponent + random.below(3) as i32 - 1),
            Data::Zeros if random.chance(self.zeros, 12) => sign * 0.0,
            Data::Zeros => self.side,
            Data::Special if random.chance(2, 3) => random.pick(&self.corners).unwrap_or(0.0),
            Data::Special => sign * eighths(random, 24) / 3.0,
        }
    }
}

/// An element that is not real.
fn whole(dtype: DType, data: Data, random: &mut Random) -> i128 {
    if dtype == DType::Bool {
        // Of many operands, all are seldom the same unless most are.
        let share = match data {
            Data::Positive => 15,
            Data::Zeros => 1,
            _ => 8,
        };
        return i128::from(random.chance(share, 16));
    }
    let (least, most) = dtype.int_range().unwrap_or((-8, 8));
    match data {
        Data::Positive => 1 + random.below(3) as i128,
        Data::Balanced => random.below(2) as i128,
        Data::Large | Data::Special => match random.below(4) {
            0 => least,
            1 => most,
            _ => (random.below(200) as i128 - 100).clamp(least, most),
        },
        // The least and the greatest beside nothing else but small ones.
        Data::Zeros => random.pick(&[0, least, 1, most, 0, -1]).unwrap_or(0).clamp(least, most),
        Data::Extreme => {
            let beside = random.below(3) as i128 - 1;
            let digits = 128 - most.leading_zeros() as usize;
            let ahead = &mut random.clone();
            let size = match random.below(4) {
                // Just above the middle of two floating-point numbers, where rounding twice differs from rounding once.
                0 | 3 if digits > 24 && ahead.chance(2, 3) => {
                    let half = ahead.pick(&[24, 8, 11, 24, 53]).unwrap_or(24).min(digits - 2);
                    let power = (digits - 1 - ahead.below(8)).max(half);
                    (1i128 << power) + (1i128 << (power - half)) + ahead.pick(&[1, 1, 0, -1]).unwrap_or(1)
                }
                0 => most.isqrt(),
                1 => most / random.pick(&[2, 3, 5, 7, 10]).unwrap_or(2),
                2 => 1i128 << random.below(digits),
                _ => most,
            };
            let number = size.saturating_add(beside);
            (if random.chance(1, 3) { -number } else { number }).clamp(least, most)
        }
        Data::Wide | Data::Powers => {
            // With any number of binary digits.
            let digits = random.below(1 + (128 - most.leading_zeros()) as usize) as u32;
            let size = i128::from(random.next()) & ((1i128 << digits) - 1);
            let size = if random.chance(1, 2) { size } else { -size };
            size.clamp(least, most)
        }
        _ if dtype.is_signed() => random.below(7) as i128 - 3,
        _ => random.below(4) as i128,
    }
}

/// Indices into an axis of one of these dimensions, which may be counted from the end.
pub(super) fn indices(extents: &[usize], dtype: DType, shape: &[usize], random: &mut Random) -> Option<Tensor> {
    let extent = random.pick(extents).unwrap_or(1);
    let (least, most) = dtype.int_range()?;
    let mut one = || {
        let index = random.below(extent) as i128;
        let from_end = dtype.is_signed() && random.chance(1, 8);
        (if from_end { index - extent as i128 } else { index }).clamp(least, most)
    };
    let n: usize = shape.iter().product();
    let all: Vec<i128> = (0..n).map(|_| one()).collect();
    Tensor::from_ints(dtype, shape, &all)
}

/// Where the integers lie that may set the size of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// Near zero.
    Zero,
    /// Near the least or the greatest of their type, so that a range between two of them is small too.
    Least,
    Most,
    /// Near either end.
    Ends,
}

/// Elements that may set the size of a result: small real numbers, and integers that lie there.
pub(super) fn sized(dtype: DType, shape: &[usize], around: Around, random: &mut Random) -> Option<Tensor> {
    let n: usize = shape.iter().product();
    if dtype == DType::Bool || dtype == DType::Utf8 {
        return tensor(dtype, shape, Data::Balanced, random);
    }
    if dtype.is_float() {
        // Factors of sizes are positive, and bounds may be negative.
        let one = |random: &mut Random| match n {
            1 => (random.below(100) as f64 - 40.0) / 10.0,
            _ => (random.below(30) as f64 + 1.0) / 10.0,
        };
        let numbers: Vec<f64> = (0..n).map(|_| one(random)).collect();
        return Tensor::from_f64s(dtype, shape, &numbers);
    }
    let (least, most) = dtype.int_range()?;
    let mut one = || {
        let beside = random.below(4) as i128;
        match around {
            Around::Zero => (random.below(10) as i128 - 3).clamp(least, most),
            Around::Least => least + beside,
            Around::Ends if random.chance(1, 2) => least + beside,
            Around::Ends | Around::Most => most - beside,
        }
    };
    let numbers: Vec<i128> = (0..n).map(|_| one()).collect();
    Tensor::from_ints(dtype, shape, &numbers)
}

/// Limit on the numbers of a graph that data is drawn close to.
const ANCHORS: usize = 24;

/// The infinite constants of a graph, so often that they are drawn as often as all corner cases together: what equals
/// one of them may be treated apart.
pub(super) fn infinite(graph: &Graph) -> Vec<f64> {
    const OFTEN: usize = 30;
    let first = |v: VertexId| match &graph.vertex(v).node {
        Node::Const(tensor) => tensor.first()?.to_f64s()?.first().copied(),
        _ => None,
    };
    let own = graph.ids().filter_map(first).filter(|x| x.is_infinite());
    own.flat_map(|x| vec![x; OFTEN]).collect()
}

/// The numbers in a graph, from constants and attributes, in order.
pub(super) fn anchors(graph: &Graph) -> Vec<f64> {
    let mut out: Vec<f64> = Vec::new();
    for v in graph.ids() {
        match &graph.vertex(v).node {
            Node::Const(tensor) => out.extend(tensor.first().and_then(|t| match t.to_f64s() {
                Some(list) => list.first().copied(),
                None => t.to_ints()?.first().map(|&n| n as f64),
            })),
            Node::Call { attrs, .. } => {
                out.extend(attrs.iter().filter_map(AttrValue::as_float));
                out.extend(limits_of_conversion(graph, v).into_iter().flatten());
            }
            _ => {}
        }
    }
    out.retain(|x| x.is_finite() && *x != 0.0);
    out.sort_by(f64::total_cmp);
    out.dedup();
    out.truncate(ANCHORS);
    out
}

/// The ends of an integer type that a call computes from real numbers.
fn limits_of_conversion(graph: &Graph, v: VertexId) -> Option<[f64; 2]> {
    let is_real = |u: &VertexId| graph.ty(*u).as_tensor().is_some_and(|ty| ty.dtype.is_float());
    let dtype = graph.ty(v).as_tensor()?.dtype;
    let (least, most) = dtype.int_range().filter(|_| dtype != DType::Bool)?;
    let from_real = graph.pred(v).iter().any(is_real);
    from_real.then_some([least as f64, most as f64])
}

/// True if the number does not become infinite in that type.
pub(super) fn is_finite_in(dtype: DType, number: f64) -> bool {
    let rounded = Tensor::from_f64s(dtype, &[], &[number]).and_then(|t| t.to_f64s());
    rounded.is_none_or(|list| list.iter().all(|x| x.is_finite()))
}

/// Elements on either side of the given numbers, between two of them, at a fraction or a multiple of one, and at the
/// sum, the difference, the product or the quotient of two.
pub(super) fn close_to(near: &[f64], dtype: DType, shape: &[usize], random: &mut Random) -> Option<Tensor> {
    let n: usize = shape.iter().product();
    let near: Vec<f64> = near.iter().copied().filter(|x| is_finite_in(dtype, *x)).collect();
    let mut one = || {
        let at = random.below(near.len());
        let anchor = near.get(at).copied().unwrap_or(1.0);
        let number = match random.below(8) {
            0 => {
                let next = near.get(at + 1).copied().unwrap_or(0.0);
                let between = anchor + (next - anchor) * (random.below(7) as f64 + 1.0) / 8.0;
                // An absolute value, or a square, has the same threshold on both sides of zero.
                between * random.clone().pick(&[1.0, -1.0]).unwrap_or(1.0)
            }
            1 => {
                let other = random.pick(&near).unwrap_or(1.0);
                let all = [anchor + other, anchor - other, anchor * other, anchor / other];
                random.pick(&all).unwrap_or(anchor)
            }
            2 => {
                let aside = random.pick(&[-10, -20, -30, -50]).map_or(0.0, |e| 2f64.powi(e));
                anchor * if random.chance(1, 2) { 1.0 + aside } else { 1.0 - aside }
            }
            _ => {
                let times = random.pick(&[1.0, -1.0, 1.0, 2.0, -2.0, 0.5]).unwrap_or(1.0);
                let aside = random.pick(&[0.0, 1.0, -1.0, 0.125, -0.125]).unwrap_or(0.0);
                anchor * times + aside
            }
        };
        // Twice the largest number of a type overflows; infinities belong to `Special`.
        if number.is_finite() && is_finite_in(dtype, number) {
            number
        } else {
            anchor
        }
    };
    let numbers: Vec<f64> = (0..n).map(|_| one()).collect();
    if dtype.is_float() {
        return Tensor::from_f64s(dtype, shape, &numbers);
    }
    let (least, most) = dtype.int_range()?;
    let whole: Vec<i128> = numbers.iter().map(|x| (x.round() as i128).clamp(least, most)).collect();
    Tensor::from_ints(dtype, shape, &whole)
}

/// The numbers of an element type that lie between two neighbours of another type of the graph with fewer digits, or
/// just next to the middle: rounding them twice may give another result than rounding them once.
pub(super) fn ties(graph: &Graph, dtype: DType) -> Vec<f64> {
    let (_, _, own) = range(dtype);
    let mut narrower: Vec<DType> = Vec::new();
    for v in graph.ids() {
        let Some(ty) = graph.ty(v).as_tensor() else { continue };
        let is_narrow = matches!(ty.dtype, DType::F16 | DType::BF16 | DType::F32) && range(ty.dtype).2 < own;
        if is_narrow && !narrower.contains(&ty.dtype) {
            narrower.push(ty.dtype);
        }
    }
    let power = |e: i32| 2f64.powi(e);
    let mut out = Vec::new();
    for dtype in narrower {
        let (_, most, digits) = range(dtype);
        let half = power(-digits - 1);
        for middle in [1.0 + half, 1.0 + 3.0 * half, power(most) * (2.0 - half)] {
            for beside in [0.0, power(-own), -power(-own)] {
                let number = middle * (1.0 + beside);
                out.extend([number, -number]);
            }
        }
    }
    out
}

/// The corner cases of an element type, at which bits are likely to differ: zeros, the smallest and the largest
/// numbers, infinities, NaN, the neighbours of 1, and rounding ties.
pub(crate) fn corners(dtype: DType) -> Vec<f64> {
    let (least, most, digits) = range(dtype);
    let power = |e: i32| 2f64.powi(e);
    let unit = power(-digits);
    let positive = [
        0.0,
        power(least) * unit,
        power(least) * (1.0 - unit),
        power(least),
        power(least) * (1.0 + unit),
        power(least / 2),
        0.5,
        1.0 - unit / 2.0,
        1.0,
        1.0 + unit,
        1.5,
        2.0,
        2.5,
        3.0,
        power(digits) + 1.0,
        power(most / 2),
        power(most) * (2.0 - unit),
        f64::INFINITY,
    ];
    let mut out: Vec<f64> = positive.into_iter().flat_map(|x| [x, -x]).collect();
    out.push(f64::NAN);
    out
}
