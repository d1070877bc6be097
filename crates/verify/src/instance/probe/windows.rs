//! Windows of convolutions and pools.

use crate::instance::interleaved;
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrValue, ShapeRule};

/// The number of windows tried.
const WINDOWS: usize = 600;

/// Windows that differ from axis to axis, of which that many that can show a difference are kept.
const VARIED: usize = 40;

/// Random windows: kernels, strides, dilations, pads on either side, `ceil_mode`. They are the same along every spatial
/// axis, or differ where the calls have lists; of the latter, `tells` says whether an instance can show a difference.
pub(crate) fn with_windows(recipe: &Recipe, tells: &dyn Fn(&Recipe) -> bool, random: &mut Random) -> Vec<Recipe> {
    if !has_windows(recipe) {
        return Vec::new();
    }
    let same: Vec<Recipe> = (0..WINDOWS).map(|_| one(recipe, random)).collect();
    let mut varied: Vec<Recipe> = Vec::new();
    if has_lists(recipe) {
        for _ in 0..WINDOWS {
            let mut next = one(recipe, random);
            vary_lists(&mut next, random);
            if tells(&next) {
                varied.push(next);
            }
            if varied.len() >= VARIED {
                break;
            }
        }
    }
    interleaved(vec![same, varied])
}

/// One random window along every spatial axis.
fn one(recipe: &Recipe, random: &mut Random) -> Recipe {
    let small = |random: &mut Random| 1 + random.below(3) as i64;
    let (kernel, stride, dilation) = (small(random), small(random), small(random));
    let pads = [0; 2].map(|_| random.pick(&[0, 0, 1, 2, -1]).unwrap_or(0));
    let window = Window {
        kernel,
        stride,
        dilation,
        pads,
        ceil: random.chance(1, 2),
        extent: 1 + random.below(7) as i64,
    };
    let choices = Choices {
        counted: random.chance(1, 2).then(|| random.chance(1, 2)),
        padded: random.chance(2, 3),
        resized: random.chance(2, 3),
    };
    window.of_recipe(recipe, choices)
}

/// True if a call has windows along several axes.
fn has_lists(recipe: &Recipe) -> bool {
    recipe.ranks().into_iter().any(|rank| rank > 3)
}

/// Gives the strides, dilations and pads of windows other values, for each axis its own.
fn vary_lists(recipe: &mut Recipe, random: &mut Random) {
    for step in &mut recipe.steps {
        let Step::Call { def, attrs, .. } = step else { continue };
        if def.attr_index("strides").is_none() {
            continue;
        }
        for (declared, value) in def.attrs.iter().zip(attrs) {
            let least = match declared.name {
                "kernel_shape" | "strides" | "dilations" => 1,
                "pads" => 0,
                _ => continue,
            };
            if let Some(AttrValue::Ints(list)) = value
                && list.len() > 1
                && random.chance(1, 2)
            {
                let own: Vec<i64> = list.iter().map(|_| least + random.below(3) as i64).collect();
                *value = Some(AttrValue::ints(&own));
            }
        }
    }
}

/// Small windows of which one covers only padding, the same along every spatial axis.
pub(crate) fn with_windows_of_padding(recipe: &Recipe) -> Vec<Recipe> {
    if !has_windows(recipe) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for extent in 0..3 {
        for (before, after) in [(1, 1), (0, 1), (1, 0), (2, 1), (1, 2), (2, 2), (0, 2), (2, 0)] {
            for (kernel, dilation) in [(2, 1), (1, 1), (3, 1), (2, 2)] {
                for (stride, ceil) in [(1, false), (2, true), (2, false), (3, true)] {
                    let window = Window {
                        kernel,
                        stride,
                        dilation,
                        pads: [before, after],
                        ceil,
                        extent,
                    };
                    if window.covers_padding_alone() {
                        let choices = Choices {
                            counted: None,
                            padded: true,
                            resized: true,
                        };
                        out.push(window.of_recipe(recipe, choices));
                    }
                }
            }
        }
    }
    out
}

fn has_windows(recipe: &Recipe) -> bool {
    let mut steps = recipe.steps.iter();
    steps.any(|step| matches!(step, Step::Call { def, .. } if def.attr_index("strides").is_some()))
}

/// A window along every spatial axis of a size.
#[derive(Debug, Clone, Copy)]
struct Window {
    kernel: i64,
    stride: i64,
    dilation: i64,
    pads: [i64; 2],
    ceil: bool,
    /// The size of the spatial axes.
    extent: i64,
}

/// Which parts of a recipe a window changes.
#[derive(Debug, Clone, Copy)]
struct Choices {
    /// The flag that tells whether padding counts, if it is set.
    counted: Option<bool>,
    /// Whether the pads of windows are set.
    padded: bool,
    /// Whether the kernels of convolutions are: the pattern may fix them.
    resized: bool,
}

impl Window {
    /// True if a window at one of the first positions has no element in it.
    fn covers_padding_alone(&self) -> bool {
        let [before, after] = self.pads;
        let room = self.extent + before + after - self.dilation * (self.kernel - 1) - 1;
        let last = if self.ceil { room + self.stride - 1 } else { room };
        room >= 0
            && (0..=last / self.stride).any(|at| {
                let mut taps = (0..self.kernel).map(|k| at * self.stride + k * self.dilation - before);
                taps.all(|at| !(0..self.extent).contains(&at))
            })
    }

    fn of_recipe(&self, recipe: &Recipe, choices: Choices) -> Recipe {
        let axes = recipe.ranks().into_iter().max().unwrap_or(3).saturating_sub(2).max(1);
        let mut next = recipe.clone();
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
                    ("kernel_shape", Some(n)) if windows && !has_kernel => spatial(n, self.kernel),
                    ("strides", _) if windows => spatial(n.unwrap_or(axes), self.stride),
                    ("dilations", _) if windows => spatial(n.unwrap_or(axes), self.dilation),
                    ("ceil_mode", _) => Some(AttrValue::Bool(self.ceil)),
                    ("count_include_pad", _) if choices.counted.is_some() => choices.counted.map(AttrValue::Bool),
                    ("pads", _) if windows && choices.padded => {
                        let half = n.unwrap_or(2 * axes) / 2;
                        let pads = self.pads.map(|p| p.max(0));
                        Some(AttrValue::ints(&[vec![pads[0]; half], vec![pads[1]; half]].concat()))
                    }
                    ("pads", Some(n)) if padding && n >= 6 => {
                        let half = n / 2;
                        let side = |p: i64| (0..half).map(|k| if k < 2 { 0 } else { p }).collect::<Vec<_>>();
                        Some(AttrValue::ints(&[side(self.pads[0]), side(self.pads[1])].concat()))
                    }
                    _ => continue,
                };
            }
            if !windows {
                continue;
            }
            for (place, size) in [(0, self.extent), (1, self.kernel)] {
                if place == 1 && !(has_kernel && choices.resized) {
                    continue;
                }
                let leaf = operands.get(place).map(|&u| next.first_leaf(u));
                if let Some(shape) = leaf.and_then(|u| next.shape_mut(u))
                    && shape.len() >= 3
                {
                    shape[2..].fill(size);
                }
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_padding_have_no_element() {
        let window = |extent, kernel, stride, pads, ceil| Window {
            kernel,
            stride,
            dilation: 1,
            pads,
            ceil,
            extent,
        };
        assert!(window(0, 2, 1, [1, 1], false).covers_padding_alone());
        assert!(window(2, 1, 1, [1, 0], false).covers_padding_alone());
        assert!(window(1, 2, 2, [0, 2], true).covers_padding_alone());
        assert!(!window(2, 2, 1, [1, 1], false).covers_padding_alone());
        assert!(!window(0, 2, 1, [1, 0], false).covers_padding_alone());
    }
}
