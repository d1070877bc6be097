//! Mutations of attributes.

use super::{DTYPES, RuleNumbers};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrDef, AttrKind, AttrValue, Real};

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
        AttrKind::Floats => match before {
            Some(AttrValue::Floats(list)) if !list.is_empty() => {
                let mut list = list.clone();
                let at = random.below(list.len());
                list[at] = Real(numbers.number(&[1.0, 2.0, 3.0, 0.5, 1.5, 0.7, 4.0], random));
                AttrValue::Floats(list)
            }
            _ => return before.cloned(),
        },
        AttrKind::Str => match before {
            Some(AttrValue::Str(text)) => AttrValue::str(&other_letters(text, random)),
            _ => return before.cloned(),
        },
        AttrKind::Strs | AttrKind::Tensor | AttrKind::Region => return before.cloned(),
    })
}

/// The operands and the result of an equation such as `ab,bc->ac` with other letters, or the letters of another text in
/// another order.
fn other_letters(text: &str, random: &mut Random) -> String {
    let Some((operands, result)) = text.split_once("->") else {
        let mut letters: Vec<char> = text.chars().collect();
        random.shuffle(&mut letters);
        return letters.into_iter().collect();
    };
    if random.chance(1, 3) {
        // Another order of the result, or one letter less.
        let mut letters: Vec<char> = result.chars().collect();
        random.shuffle(&mut letters);
        letters.truncate(letters.len().saturating_sub(random.below(2)));
        return format!("{operands}->{}", letters.into_iter().collect::<String>());
    }
    let count = operands.chars().filter(char::is_ascii_alphabetic).count().clamp(1, 6);
    let mut used: Vec<char> = Vec::new();
    let mut operand = |c: char| {
        if !c.is_ascii_alphabetic() {
            return c;
        }
        let letter = char::from(b'a' + random.below(count) as u8);
        if !used.contains(&letter) {
            used.push(letter);
        }
        letter
    };
    let operands: String = operands.chars().map(&mut operand).collect();
    random.shuffle(&mut used);
    // The rank of the result seldom changes.
    let rank = result.chars().count();
    let rank = if random.chance(1, 3) {
        random.below(used.len() + 1)
    } else {
        rank
    };
    used.truncate(rank);
    format!("{operands}->{}", used.into_iter().collect::<String>())
}
