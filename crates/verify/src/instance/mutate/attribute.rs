//! Mutations of attributes.

use super::{DTYPES, RuleNumbers};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrDef, AttrKind, AttrValue};

/// Gives an attribute another value, in one call or in all calls that share it.
pub(super) fn mutate_attribute(recipe: &mut Recipe, numbers: &RuleNumbers, random: &mut Random) {
    let Some(call) = random.pick(&recipe.calls()) else {
        return;
    };
    let Step::Call { def, attrs, operands } = &recipe.steps[call] else {
        return;
    };
    if attrs.is_empty() {
        return;
    }
    let (def, k) = (*def, random.below(attrs.len()));
    let rank = operands
        .iter()
        .filter_map(|&u| recipe.shape(u))
        .map(Vec::len)
        .max()
        .unwrap_or(4);
    let before = attrs[k].clone();
    let next = other_value(&def.attrs[k], before.as_ref(), rank, numbers, random);
    let everywhere = random.chance(3, 4);
    for (i, step) in recipe.steps.iter_mut().enumerate() {
        if let Step::Call { def: other, attrs, .. } = step
            && (i == call || everywhere && other.name == def.name && attrs[k] == before)
        {
            attrs[k].clone_from(&next);
        }
    }
}

/// Another value of an attribute.
pub(super) fn other_value(
    attr: &AttrDef,
    before: Option<&AttrValue>,
    rank: usize,
    numbers: &RuleNumbers,
    random: &mut Random,
) -> Option<AttrValue> {
    if attr.default_value().is_some() && random.chance(1, 6) {
        return None;
    }
    let axis = |random: &mut Random| random.below(2 * rank.max(1)) as i64 - rank.max(1) as i64;
    let small = [0, 1, 2, 3, 1, -1];
    Some(match attr.kind {
        AttrKind::Bool => AttrValue::Bool(random.chance(1, 2)),
        AttrKind::Int => AttrValue::int(numbers.integer(&[1, 2, 3, 0, 4, -1], random)),
        AttrKind::Axis(_) => AttrValue::int(axis(random)),
        AttrKind::Axes(_) => {
            let n = match before {
                Some(AttrValue::Ints(list)) if random.chance(2, 3) => list.len(),
                _ => 1 + random.below(rank.max(1)),
            };
            let mut all: Vec<i64> = (0..rank.max(n) as i64).collect();
            random.shuffle(&mut all);
            all.truncate(n);
            AttrValue::ints(&all)
        }
        AttrKind::Ints => match before {
            Some(AttrValue::Ints(list)) if !list.is_empty() => {
                let mut list: Vec<i64> = list.iter().map(|d| d.as_const().unwrap_or(1)).collect();
                let at = random.below(list.len());
                let other = random.below(list.len());
                match random.below(6) {
                    0 => list.swap(at, other),
                    1 => list[at] = random.pick(&small).unwrap_or(1),
                    2 => list.fill(random.pick(&small).unwrap_or(1)),
                    3 => list.insert(at, random.pick(&small).unwrap_or(1)),
                    4 => {
                        list.remove(at);
                    }
                    _ => {
                        // Keep the sum, as the sizes of a split require.
                        list[at] = list[at].saturating_add(1);
                        list[other] = list[other].saturating_sub(1);
                    }
                }
                AttrValue::ints(&list)
            }
            _ => {
                // One for each spatial axis, axis, or padded end.
                let n = match random.below(4) {
                    0 => rank.saturating_sub(2),
                    1 => 2 * rank.saturating_sub(2),
                    2 => 2 * rank,
                    _ => rank,
                };
                let one = random.pick(&small).unwrap_or(1);
                let list: Vec<i64> = (0..n)
                    .map(|_| {
                        if random.chance(1, 3) {
                            random.pick(&small).unwrap_or(1)
                        } else {
                            one
                        }
                    })
                    .collect();
                AttrValue::ints(&list)
            }
        },
        AttrKind::Float => AttrValue::float(numbers.number(&[1.0, 0.5, 0.0, 2.0, -1.0, 0.1, 6.0], random)),
        AttrKind::OneOf(all) => AttrValue::str(random.pick(all)?),
        AttrKind::DType => AttrValue::DType(random.pick(&DTYPES)?),
        AttrKind::Floats | AttrKind::Str | AttrKind::Strs | AttrKind::Tensor | AttrKind::Region => {
            return before.cloned();
        }
    })
}
