use proptest::prelude::*;

use super::*;
use crate::Nd;

/// A reference array: its element at each position, in row-major order.
#[derive(Debug, Clone, PartialEq)]
struct Array {
    shape: Vec<usize>,
    elements: Vec<usize>,
}

/// All positions of a shape, computed by division.
fn positions(shape: &[usize]) -> Vec<Vec<usize>> {
    let size = shape.iter().product();
    let digits = |mut i: usize| {
        let mut out = vec![0; shape.len()];
        for (digit, &n) in out.iter_mut().zip(shape).rev() {
            *digit = i % n;
            i /= n;
        }
        out
    };
    (0..size).map(digits).collect()
}

impl Array {
    fn get(&self, position: &[usize]) -> usize {
        self.elements[position.iter().zip(&self.shape).fold(0, |sum, (i, n)| sum * n + i)]
    }

    /// The array of that shape whose element at each position `p` is the element of this array at `f(p)`.
    fn map(&self, shape: Vec<usize>, f: impl Fn(&[usize]) -> Vec<usize>) -> Array {
        let elements = positions(&shape).iter().map(|p| self.get(&f(p))).collect();
        Array { shape, elements }
    }
}

/// A view operation; its numbers are brought into range when it is applied.
#[derive(Debug, Clone)]
enum Step {
    Slice(usize, Option<i64>, Option<i64>, i64),
    Dice(Vec<(usize, usize)>),
    Permute(Vec<usize>),
    Diagonal(i64, usize, usize),
    Broadcast(Vec<usize>, usize),
    Windows(usize, usize, usize),
    Reshape(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let bound = || proptest::option::of(-6i64..7);
    prop_oneof![
        (0usize..8, bound(), bound(), prop_oneof![-3i64..0, 1i64..4]).prop_map(|(a, b, c, d)| Step::Slice(a, b, c, d)),
        proptest::collection::vec((0usize..5, 0usize..5), 8).prop_map(Step::Dice),
        proptest::collection::vec(0usize..100, 8).prop_map(Step::Permute),
        (-4i64..5, 0usize..8, 0usize..8).prop_map(|(o, a, b)| Step::Diagonal(o, a, b)),
        (proptest::collection::vec(1usize..4, 0..3), 0usize..4).prop_map(|(new, n)| Step::Broadcast(new, n)),
        (0usize..8, 0usize..4, 1usize..3).prop_map(|(a, n, s)| Step::Windows(a, n, s)),
        (0usize..8).prop_map(Step::Reshape),
    ]
}

/// Python's positions of a slice, one by one.
fn python(n: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<usize> {
    let n = n as i64;
    let bound = |b: Option<i64>| b.map(|b| if b < 0 { b + n } else { b });
    let mut at = match bound(start) {
        None if step > 0 => 0,
        None => n - 1,
        Some(b) if step > 0 => b.max(0),
        Some(b) => b.min(n - 1),
    };
    let stop = bound(stop);
    let mut out = Vec::new();
    while (0..n).contains(&at) && stop.is_none_or(|s| if step > 0 { at < s } else { at > s }) {
        out.push(at as usize);
        at += step;
    }
    out
}

/// Applies a step to both; `None` if it is not valid for that shape.
fn apply(layout: &Layout, array: &Array, step: &Step) -> Option<(Layout, Array)> {
    let shape = &array.shape;
    let rank = shape.len();
    let axis = |a: usize| a.checked_rem(rank);
    // Half of the axes are counted from the end.
    let name = |a: usize, from_end: bool| if from_end { a as i64 - rank as i64 } else { a as i64 };
    Some(match step {
        Step::Slice(a, start, stop, by) => {
            let a = axis(*a)?;
            let chosen = python(shape[a], *start, *stop, *by);
            let mut out = shape.clone();
            out[a] = chosen.len();
            let place = |p: &[usize]| {
                let mut p = p.to_vec();
                p[a] = chosen[p[a]];
                p
            };
            (
                layout.slice(name(a, *by > 1), *start, *stop, *by).unwrap(),
                array.map(out, place),
            )
        }
        Step::Dice(ranges) => {
            let begin: Vec<usize> = shape
                .iter()
                .zip(ranges.iter().cycle())
                .map(|(n, r)| r.0.min(*n))
                .collect();
            let size: Vec<usize> = (0..rank).map(|i| ranges[i % 8].1.min(shape[i] - begin[i])).collect();
            let signed = |list: &[usize]| -> Vec<i64> { list.iter().map(|&n| n as i64).collect() };
            (
                layout.dice(&signed(&begin), &signed(&size)).unwrap(),
                array.map(size.clone(), |p| p.iter().zip(&begin).map(|(i, b)| i + b).collect()),
            )
        }
        Step::Permute(keys) => {
            let mut order: Vec<usize> = (0..rank).collect();
            order.sort_by_key(|&a| keys[a % 8]);
            let names: Vec<i64> = order.iter().map(|&a| name(a, keys[a % 8] % 2 == 0)).collect();
            let out = order.iter().map(|&a| shape[a]).collect();
            let place = |p: &[usize]| {
                let mut out = vec![0; rank];
                p.iter().zip(&order).for_each(|(&i, &a)| out[a] = i);
                out
            };
            (layout.permute(&names).unwrap(), array.map(out, place))
        }
        Step::Diagonal(offset, a, b) => {
            let (a, b) = (axis(*a)?, axis(*b)?);
            if a == b {
                assert_eq!(
                    layout.diagonal(*offset, a as i64, b as i64),
                    Err(LayoutError::Repeated(a))
                );
                return None;
            }
            // All pairs of positions whose difference is the offset, by exhaustive search.
            let pairs: Vec<(usize, usize)> = (0..shape[a])
                .flat_map(|i| (0..shape[b]).map(move |j| (i, j)))
                .filter(|&(i, j)| j as i64 - i as i64 == *offset)
                .collect();
            let rest: Vec<usize> = (0..rank).filter(|&i| i != a && i != b).collect();
            let out = rest.iter().map(|&i| shape[i]).chain([pairs.len()]).collect();
            let place = |p: &[usize]| {
                let mut out = vec![0; rank];
                rest.iter().zip(p).for_each(|(&i, &at)| out[i] = at);
                (out[a], out[b]) = pairs[p[p.len() - 1]];
                out
            };
            (
                layout.diagonal(*offset, name(a, *offset > 0), name(b, true)).unwrap(),
                array.map(out, place),
            )
        }
        Step::Broadcast(new, n) => {
            let own = shape.iter().map(|&d| if d == 1 { *n } else { d });
            let out: Vec<usize> = new.iter().copied().chain(own).collect();
            let place = |p: &[usize]| {
                let own = p[new.len()..].iter().zip(shape);
                own.map(|(&i, &d)| if d == 1 { 0 } else { i }).collect()
            };
            (layout.broadcast(&out).unwrap(), array.map(out.clone(), place))
        }
        Step::Windows(a, size, by) => {
            let a = axis(*a)?;
            let starts: Vec<usize> = (0..=shape[a])
                .step_by(*by)
                .filter(|start| start + size <= shape[a])
                .collect();
            if starts.is_empty() {
                assert!(layout.windows(a as i64, *size, *by).is_err());
                return None;
            }
            let mut out = shape.clone();
            out[a] = starts.len();
            out.push(*size);
            let place = |p: &[usize]| {
                let mut at = p[..rank].to_vec();
                at[a] = starts[at[a]] + p[rank];
                at
            };
            (layout.windows(a as i64, *size, *by).unwrap(), array.map(out, place))
        }
        Step::Reshape(a) => {
            // Splits an axis in two, or merges it with the next one.
            let a = axis(*a)?;
            let mut out = shape.clone();
            match (2..shape[a]).find(|d| shape[a].is_multiple_of(*d)) {
                Some(d) => drop(out.splice(a..=a, [d, shape[a] / d])),
                None if a + 1 < rank => drop(out.splice(a..a + 2, [shape[a] * shape[a + 1]])),
                None => return None,
            }
            let made = layout.reshape(&out).unwrap();
            let elements = array.elements.clone();
            let Some(made) = made else {
                // There is no layout: no stride can express the merged axis.
                assert!(!layout.is_contiguous());
                return None;
            };
            (made, Array { shape: out, elements })
        }
    })
}

/// Checks that everything a view reports agrees with the array.
fn compare(view: &View<'_, usize>, array: &Array) {
    let layout = view.layout();
    assert_eq!(layout.shape(), array.shape);
    assert_eq!(layout.len(), array.elements.len());
    let all = positions(&array.shape);
    for position in &all {
        assert_eq!(view.get(position), Some(&array.get(position)), "{position:?}");
    }
    assert_eq!(view.iter().copied().collect::<Vec<_>>(), array.elements);
    assert_eq!(view.to_vec(), array.elements);
    assert_eq!(layout.offsets().len(), array.elements.len());
    let merged = layout.coalesced();
    assert!(merged.rank() <= layout.rank().max(1));
    assert_eq!(
        merged.offsets().collect::<Vec<_>>(),
        layout.offsets().collect::<Vec<_>>()
    );
    let in_runs: Vec<usize> = layout
        .runs()
        .flat_map(|run| (0..run.len as isize).map(move |i| (run.start as isize + i * run.stride) as usize))
        .collect();
    assert_eq!(in_runs, layout.offsets().collect::<Vec<_>>());
    // Positions, from the first one and from one in the middle.
    for start in [0, all.len() / 2] {
        let first = all.get(start).cloned().unwrap_or(vec![0; array.shape.len()]);
        let mut counter = Positions::from(&first, &array.shape).unwrap();
        assert_eq!(counter.left(), all.len().saturating_sub(start));
        for expected in &all[start.min(all.len())..] {
            assert_eq!(counter.advance(), Some(expected.as_slice()));
        }
        assert_eq!(counter.advance(), None);
    }
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(400))]

    #[test]
    fn views_of_views_are_what_they_say(
        shape in proptest::collection::vec(0usize..6, 0..5),
        steps in proptest::collection::vec(step(), 0..6),
    ) {
        let size = shape.iter().product();
        let elements: Vec<usize> = (0..size).collect();
        let mut layout = Layout::row_major(&shape).unwrap();
        let mut array = Array { shape, elements: elements.clone() };
        compare(&View::new(&elements, layout.clone()).unwrap(), &array);
        for step in &steps {
            if let Some(next) = apply(&layout, &array, step) && next.1.elements.len() < 5000 {
                (layout, array) = next;
                compare(&View::new(&elements, layout.clone()).unwrap(), &array);
            }
        }
    }
}

#[test]
fn shapes_without_axes_or_elements() {
    let mut one = Positions::new(&[]).unwrap();
    assert_eq!((one.advance().map(<[usize]>::len), one.advance()), (Some(0), None));
    for shape in [&[0][..], &[2, 0], &[0, 3], &[2, 0, 3]] {
        assert_eq!(Positions::new(shape).unwrap().advance(), None);
        let layout = Layout::row_major(shape).unwrap();
        assert_eq!((layout.offsets().count(), layout.runs().count()), (0, 0));
    }
    assert_eq!(Layout::row_major(&[]).unwrap().offsets().collect::<Vec<_>>(), [0]);
}

#[test]
fn what_is_wrong_is_refused() {
    assert_eq!(Positions::from(&[2], &[2]).err(), Some(LayoutError::Position(vec![2])));
    assert_eq!(
        Positions::from(&[0, 0], &[2]).err(),
        Some(LayoutError::Rank { given: 2, rank: 1 })
    );
    let huge = usize::MAX / 2;
    assert_eq!(Positions::new(&[huge, 3]).err(), Some(LayoutError::TooLarge));
    assert_eq!(Layout::row_major(&[huge, huge, 0]).unwrap().len(), 0);
    assert!(Layout::new(&[2, 2], &[2, 1], 0, 4).is_ok());
    for (strides, start) in [([3, 1], 0), ([2, 1], 1), ([-2, 1], 1), ([isize::MAX, isize::MAX], 3)] {
        let outside = Layout::new(&[2, 2], &strides, start, 4);
        assert_eq!(outside, Err(LayoutError::Outside(4)), "{strides:?} from {start}");
    }
    let x = Layout::row_major(&[2, 3]).unwrap();
    assert_eq!(x.permute(&[0, -2]), Err(LayoutError::Repeated(0)));
    assert_eq!(x.permute(&[0]), Err(LayoutError::Rank { given: 1, rank: 2 }));
    assert_eq!(x.slice(0, None, None, 0), Err(LayoutError::Step(0)));
    assert_eq!(x.slice(2, None, None, 1), Err(LayoutError::Axis { axis: 2, rank: 2 }));
    assert!(x.dice(&[0, 2], &[2, 2]).is_err());
    assert!(x.broadcast(&[2, 2]).is_err());
    assert!(x.reshape(&[7]).is_err());
    assert!(View::new(&[1, 2, 3], x).is_err());
}

#[test]
fn numbers_far_outside_are_met() {
    let x = Layout::row_major(&[3, 4]).unwrap();
    for offset in [i64::MIN, i64::MAX, 1 << 62, -(1 << 62)] {
        assert_eq!(x.diagonal(offset, 0, 1).unwrap().shape(), [0]);
    }
    let back = x.slice(1, Some(i64::MAX), Some(i64::MIN), i64::MIN).unwrap();
    assert_eq!(back.offsets().collect::<Vec<_>>(), [3, 7, 11]);
    assert!(x.windows(0, usize::MAX, 1).is_err());
    let ten = Layout::row_major(&[2; 10]).unwrap();
    assert_eq!(ten.diagonal(0, -2, -1).unwrap().rank(), 9);
}

#[test]
fn arrays_are_seen_where_they_lie() {
    let array: Nd<i32> = ndarray::ArcArray::from_shape_vec(ndarray::IxDyn(&[2, 3]), (0..6).collect()).unwrap();
    let turned = array.clone().permuted_axes(vec![1, 0]);
    assert_eq!(View::of(&turned).unwrap().to_vec(), [0, 3, 1, 4, 2, 5]);
    let mut flipped = array.clone();
    flipped.invert_axis(ndarray::Axis(1));
    let view = View::of(&flipped).unwrap();
    assert_eq!(view.to_vec(), [2, 1, 0, 5, 4, 3]);
    assert_eq!(view.get(&[1, 0]), Some(&5));
}
