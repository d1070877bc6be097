//! Windows of convolutions and pools.

use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrValue, ShapeRule};

/// The number of windows tried.
const WINDOWS: usize = 600;

/// Random windows, the same along every spatial axis: kernels, strides, dilations, pads on either side, `ceil_mode`.
pub(crate) fn with_windows(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let has_windows = |step: &Step| matches!(step, Step::Call { def, .. } if def.attr_index("strides").is_some());
    if !recipe.steps.iter().any(has_windows) {
        return Vec::new();
    }
    let small = |random: &mut Random| 1 + random.below(3) as i64;
    let axes = recipe.ranks().into_iter().max().unwrap_or(3).saturating_sub(2).max(1);
    let one = |random: &mut Random| {
        let mut next = recipe.clone();
        let (kernel, stride, dilation) = (small(random), small(random), small(random));
        let pads = [0; 2].map(|_| random.pick(&[0, 0, 1, 2, -1]).unwrap_or(0));
        let (ceil, counted, extent) = (random.chance(1, 2), random.chance(1, 2), 1 + random.below(7) as i64);
        // The pattern may fix the kernel of a convolution.
        let resized = random.chance(2, 3);
        for i in 0..next.steps.len() {
            let Step::Call { def, attrs, operands } = &mut next.steps[i] else {
                continue;
            };
            let operands = operands.clone();
            let windows = def.attr_index("strides").is_some();
            let padding = matches!(def.shapes, ShapeRule::Lists(_));
            // The kernel of a convolution is an operand.
            let has_kernel = def.shapes == ShapeRule::Convolution { transposed: false };
            for (declared, value) in def.attrs.iter().zip(attrs.iter_mut()) {
                // Lists keep their length and have one value for every axis; pads have one value for each end.
                let n = match value {
                    Some(AttrValue::Ints(list)) => Some(list.len()),
                    _ => None,
                };
                let spatial = |n: usize, x: i64| Some(AttrValue::ints(&vec![x; n]));
                *value = match (declared.name, n) {
                    ("kernel_shape", Some(n)) if windows && !has_kernel => spatial(n, kernel),
                    ("strides", _) if windows => spatial(n.unwrap_or(axes), stride),
                    ("dilations", _) if windows => spatial(n.unwrap_or(axes), dilation),
                    ("ceil_mode", _) => Some(AttrValue::Bool(ceil)),
                    ("count_include_pad", _) if random.chance(1, 2) => Some(AttrValue::Bool(counted)),
                    ("pads", _) if windows && random.chance(2, 3) => {
                        let half = n.unwrap_or(2 * axes) / 2;
                        let pads = pads.map(|p| p.max(0));
                        Some(AttrValue::ints(&[vec![pads[0]; half], vec![pads[1]; half]].concat()))
                    }
                    ("pads", Some(n)) if padding && n >= 6 => {
                        let half = n / 2;
                        let side = |p: i64| (0..half).map(|k| if k < 2 { 0 } else { p }).collect::<Vec<_>>();
                        Some(AttrValue::ints(&[side(pads[0]), side(pads[1])].concat()))
                    }
                    _ => continue,
                };
            }
            if !windows {
                continue;
            }
            for (place, size) in [(0, extent), (1, kernel)] {
                if place == 1 && !(has_kernel && resized) {
                    continue;
                }
                if let Some(shape) = operands.get(place).and_then(|&u| next.shape_mut(u))
                    && shape.len() >= 3
                {
                    shape[2..].fill(size);
                }
            }
        }
        next
    };
    (0..WINDOWS).map(|_| one(random)).collect()
}
