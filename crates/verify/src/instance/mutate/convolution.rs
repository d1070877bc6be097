//! Mutations of convolutions, whose attributes and dimensions fit together in few ways.

use super::{RuleNumbers, mutate_number};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrValue, ShapeRule};

/// Changes groups, channels, kernels, strides, dilations and pads, in the same way for all convolutions.
pub(super) fn mutate_convolutions(recipe: &mut Recipe, numbers: &RuleNumbers, random: &mut Random) {
    let calls: Vec<usize> = recipe
        .calls()
        .into_iter()
        .filter(|&i| is_convolution(&recipe.steps[i]))
        .collect();
    if calls.is_empty() {
        return mutate_number(recipe, numbers, random);
    }
    let small = |random: &mut Random| 1 + random.below(3) as i64;
    let group = random.pick(&[1, 1, 2, 3]).unwrap_or(1);
    // With 1, there are as many channels as groups: a depthwise convolution.
    let inner = if random.chance(1, 3) { 1 } else { small(random) };
    let outer = small(random);
    let kernel = [small(random), small(random), small(random)];
    let [strides, dilations] = [0; 2].map(|_| [small(random), small(random), small(random)]);
    let pads: Vec<i64> = (0..6).map(|_| random.below(3) as i64).collect();
    let auto = random.pick(&["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]);
    let mut set = vec!["group", "strides", "dilations", "pads", "auto_pad"];
    set.retain(|_| random.chance(2, 3));
    let fresh = small(random);
    // Operands that are calls have the shape of what they are made from, or of something that must fit it.
    let through = random.chance(1, 2);
    for call in calls {
        let Step::Call { def, operands, .. } = &recipe.steps[call] else {
            continue;
        };
        let transposed = def.shapes == ShapeRule::Convolution { transposed: true };
        let operands = operands.clone();
        let places: Vec<Option<usize>> = set.iter().map(|name| def.attr_index(name)).collect();
        let axes = operands
            .iter()
            .filter_map(|&u| recipe.shape(u))
            .map(Vec::len)
            .max()
            .unwrap_or(4)
            .saturating_sub(2)
            .min(3);
        if let Step::Call { attrs, .. } = &mut recipe.steps[call] {
            for (name, place) in set.iter().zip(places) {
                let Some(attr) = place.and_then(|k| attrs.get_mut(k)) else {
                    continue;
                };
                *attr = Some(match *name {
                    "group" => AttrValue::int(group),
                    "strides" => AttrValue::ints(&strides[..axes]),
                    "dilations" => AttrValue::ints(&dilations[..axes]),
                    "pads" => AttrValue::ints(&pads[..2 * axes]),
                    _ => AttrValue::str(auto.unwrap_or("NOTSET")),
                });
            }
        }
        let group = if set.contains(&"group") { group } else { 1 };
        let mut shape_of = |at: usize, f: &dyn Fn(&mut Vec<i64>)| {
            let leaf = operands
                .get(at)
                .map(|&u| if through { recipe.first_leaf(u) } else { u });
            if let Some(shape) = leaf.and_then(|u| recipe.shape_mut(u))
                && shape.len() >= 3
            {
                f(shape);
            }
        };
        shape_of(0, &|x| {
            x[1] = group * inner;
            for extent in &mut x[2..] {
                *extent = (*extent).max(fresh + 2);
            }
        });
        shape_of(1, &|w| {
            (w[0], w[1]) = if transposed {
                (group * inner, outer)
            } else {
                (group * outer, inner)
            };
            for (extent, k) in w[2..].iter_mut().zip(kernel) {
                *extent = k;
            }
        });
    }
}

pub(crate) fn is_convolution(step: &Step) -> bool {
    matches!(step, Step::Call { def, .. } if matches!(def.shapes, ShapeRule::Convolution { .. }))
}
