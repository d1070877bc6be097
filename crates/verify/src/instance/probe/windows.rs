//! Windows of convolutions and pools.

use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use crate::instance::solve::solved;
use tautomer_op::{AttrValue, ShapeRule};

/// The number of windows tried.
const WINDOWS: usize = 600;

/// Limit on the windows that differ from axis to axis.
const UNEVEN: usize = 60;

/// Random windows, the same along every spatial axis: kernels, strides, dilations, pads on either side, `ceil_mode`.
pub(crate) fn with_windows(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    match has_windows(recipe) {
        true => (0..WINDOWS).map(|_| one(recipe, random)).collect(),
        false => Vec::new(),
    }
}

/// Random windows along two spatial axes or more that differ from axis to axis. `tells` says whether an instance can
/// show a difference.
pub(crate) fn with_uneven_windows(
    recipe: &Recipe,
    tells: &dyn Fn(&Recipe) -> bool,
    random: &mut Random,
) -> Vec<Recipe> {
    if !has_windows(recipe) {
        return Vec::new();
    }
    let longer = (!has_lists(recipe)).then(|| with_another_axis(recipe));
    let recipe = longer.as_ref().unwrap_or(recipe);
    if !has_lists(recipe) {
        return Vec::new();
    }
    let drawn = (0..WINDOWS).map(|_| {
        let mut next = one(recipe, random);
        vary_lists(&mut next, random);
        // Operands such as offsets have a shape that follows from the windows.
        match next.build() {
            Err(step) => solved(&next, step, random),
            Ok(_) => next,
        }
    });
    drawn.filter(|next| tells(next)).take(UNEVEN).collect()
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

/// The recipe with one more spatial axis, like the last, in all operands of three axes.
fn with_another_axis(recipe: &Recipe) -> Recipe {
    let mut out = recipe.clone();
    for i in 0..out.steps.len() {
        if let Some(shape) = out.shape_mut(i)
            && let &mut [_, _, last] = shape.as_mut_slice()
        {
            shape.push(last);
        }
        let Step::Call { def, attrs, .. } = &mut out.steps[i] else {
            continue;
        };
        for (declared, value) in def.attrs.iter().zip(attrs) {
            let ends = match declared.name {
                "kernel_shape" | "strides" | "dilations" => 1,
                "pads" => 2,
                _ => continue,
            };
            if let Some(AttrValue::Ints(list)) = value
                && list.len() == ends
            {
                let twice: Vec<_> = list.iter().flat_map(|n| [n.clone(), n.clone()]).collect();
                *list = twice;
            }
        }
    }
    out
}

/// True if a call has windows along several axes.
fn has_lists(recipe: &Recipe) -> bool {
    let is_long = |attr: &Option<AttrValue>| matches!(attr, Some(AttrValue::Ints(list)) if list.len() > 1);
    let has_long = |step: &Step| match step {
        Step::Call { def, attrs, .. } => def.attr_index("strides").is_some() && attrs.iter().any(is_long),
        _ => false,
    };
    recipe.ranks().into_iter().any(|rank| rank > 3) || recipe.steps.iter().any(has_long)
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
                "kernel_shape" | "block_shape" | "strides" | "dilations" => 1,
                "image_shape" => 3,
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
            let kernel = def.operands.iter().position(|operand| operand.name == "w");
            let kernel = kernel.filter(|_| def.shapes != ShapeRule::Convolution { transposed: true });
            for (declared, value) in def.attrs.iter().zip(attrs.iter_mut()) {
                // Lists keep their length and have one value for every axis; pads have one value for each end.
                let n = match value {
                    Some(AttrValue::Ints(list)) => Some(list.len()),
                    _ => None,
                };
                let spatial = |n: usize, x: i64| Some(AttrValue::ints(&vec![x; n]));
                *value = match (declared.name, n) {
                    ("kernel_shape", Some(n)) if windows && kernel.is_none() => spatial(n, self.kernel),
                    ("strides", _) if windows => spatial(n.unwrap_or(axes), self.stride),
                    ("block_shape", Some(n)) if windows => spatial(n, self.kernel),
                    ("image_shape", Some(n)) if windows => spatial(n, self.extent),
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
            let kernel = kernel.filter(|_| choices.resized).map(|place| (place, self.kernel));
            for (place, size) in std::iter::once((0, self.extent)).chain(kernel) {
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
