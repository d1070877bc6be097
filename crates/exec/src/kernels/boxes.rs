//! Selection among boxes that detectors found.

use std::cmp::Reverse;

use super::call::{Call, done, or_decline};
use super::sort::key;
use super::{Done, Kernel};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("non_max_suppression", non_max_suppression)];

/// A box: its smallest and largest coordinates along both axes.
#[derive(Clone, Copy)]
struct Corners {
    from: [f64; 2],
    to: [f64; 2],
    area: f64,
}

impl Corners {
    fn of(numbers: &[f32; 4], is_centre: bool) -> Corners {
        let [a, b, c, d] = numbers.map(f64::from);
        let (from, to) = match is_centre {
            true => ([a - c / 2.0, b - d / 2.0], [a + c / 2.0, b + d / 2.0]),
            false => ([a.min(c), b.min(d)], [a.max(c), b.max(d)]),
        };
        let area = (to[0] - from[0]) * (to[1] - from[1]);
        Corners { from, to, area }
    }

    /// The area of the intersection over that of the union; 0 for boxes without an area.
    fn overlap(&self, other: &Corners) -> f64 {
        let side = |i: usize| self.to[i].min(other.to[i]) - self.from[i].max(other.from[i]);
        if side(0) <= 0.0 || side(1) <= 0.0 || self.area <= 0.0 || other.area <= 0.0 {
            return 0.0;
        }
        let both = side(0) * side(1);
        both / (self.area + other.area - both)
    }
}

fn non_max_suppression(call: &Call<'_>) -> Done {
    let (boxes, scores) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let &[_, classes, number] = call.shape(1) else {
        return Ok(None);
    };
    let most = call.int("max_output_boxes_per_class").unwrap_or(0);
    let most = usize::try_from(most).unwrap_or(0).min(number);
    // Thresholds are numbers of the type of the boxes.
    let limit = f64::from(call.float("iou_threshold").unwrap_or(0.0) as f32);
    let least = call.float("score_threshold").map(|least| least as f32);
    let is_centre = call.flag("center_point_box");
    let (mut candidates, mut chosen) = (Vec::with_capacity(number), Vec::with_capacity(most));
    let mut found: Vec<i64> = Vec::new();
    let images = boxes.chunks_exact((number * 4).max(1));
    for (image, (boxes, scores)) in images.zip(scores.chunks_exact((classes * number).max(1))).enumerate() {
        for (class, scores) in scores.chunks_exact(number.max(1)).enumerate() {
            candidates.clear();
            chosen.clear();
            let enough = |score: f32| least.is_none_or(|least| score > least);
            let scores = scores.iter().enumerate().filter(|(_, score)| enough(**score));
            candidates.extend(scores.map(|(i, score)| (Reverse(key(*score)), i)));
            if most > 0 {
                candidates.sort_unstable();
            }
            for &(_, i) in &candidates {
                if chosen.len() == most {
                    break;
                }
                let corners = Corners::of(&boxes.as_chunks::<4>().0[i], is_centre);
                let free = |other: &Corners| {
                    let shared = corners.overlap(other);
                    shared == 0.0 || shared <= limit
                };
                if chosen.iter().all(free) {
                    chosen.push(corners);
                    found.extend([image as i64, class as i64, i as i64]);
                }
            }
        }
    }
    done(&[found.len() / 3, 3], found)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::AttrValue;
    use tautomer_tensor::Tensor;

    #[test]
    fn boxes_are_selected() {
        for (images, classes, number) in [(1, 1, 1), (2, 3, 40), (1, 1, 0), (0, 2, 3), (1, 0, 3)] {
            let boxes = f32s(&[images, number, 4], 1);
            // Some scores are equal.
            let scores = f32s(&[images, classes, number], 2).to_f64s().unwrap();
            let mut scores: Vec<f32> = scores.iter().map(|x| (x * 4.0).round() as f32 / 4.0).collect();
            scores.iter_mut().step_by(17).for_each(|score| *score = f32::NAN);
            let scores = Tensor::new(&[images, classes, number], scores).unwrap();
            for most in [0, 1, 5, 1000] {
                for (limit, least) in [(0.0, None), (0.25, Some(0.5)), (1.0, Some(-9.0))] {
                    for is_centre in [false, true] {
                        let case = Case::new("non_max_suppression", &[boxes.clone(), scores.clone()])
                            .int("max_output_boxes_per_class", most)
                            .attr("iou_threshold", AttrValue::float(limit))
                            .attr("center_point_box", AttrValue::Bool(is_centre));
                        assert!(match least {
                            Some(least) => case.attr("score_threshold", AttrValue::float(least)).check(),
                            None => case.check(),
                        });
                    }
                }
            }
        }
    }
}
