//! Element types: every combination that a rule admits.

use crate::instance::recipe::{Recipe, Step, numbers};
use tautomer_op::{AttrValue, OpDef};
use tautomer_tensor::DType;

/// Element types used to find out which operands share a type.
const TELLING: [DType; 5] = [DType::F64, DType::F16, DType::I32, DType::U8, DType::Bool];

/// Element types that are not real, for instances beyond one of each type.
const DISCRETE: [DType; 3] = [DType::I32, DType::U8, DType::Bool];

/// Limit on the combinations of element types.
const COMBINATIONS: usize = 150;

/// Something that has an element type: an operand, or an attribute of a call.
#[derive(Clone, Copy, PartialEq)]
enum Typed {
    Operand(usize),
    Attribute(usize, usize),
}

/// The operands, and the attributes that are element types and of which `counts` is true.
fn typed(recipe: &Recipe, counts: &dyn Fn(&OpDef, usize) -> bool) -> Vec<Typed> {
    let mut out = Vec::new();
    for (i, step) in recipe.steps.iter().enumerate() {
        match step {
            Step::Call { def, attrs, .. } => {
                let is_type = |k: &usize| matches!(attrs[*k], Some(AttrValue::DType(_)));
                let own = (0..attrs.len()).filter(is_type).filter(|&k| counts(def, k));
                out.extend(own.map(|k| Typed::Attribute(i, k)));
            }
            _ => out.extend(operand_type(recipe, i).map(|_| Typed::Operand(i))),
        }
    }
    out
}

fn dtype(recipe: &Recipe, one: Typed) -> Option<DType> {
    match one {
        Typed::Operand(i) => operand_type(recipe, i),
        Typed::Attribute(i, k) => match &recipe.steps[i] {
            Step::Call { attrs, .. } => match attrs[k] {
                Some(AttrValue::DType(dtype)) => Some(dtype),
                _ => None,
            },
            _ => None,
        },
    }
}

fn operand_type(recipe: &Recipe, step: usize) -> Option<DType> {
    match &recipe.steps[step] {
        Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } => Some(*dtype),
        Step::Const(tensor) => Some(tensor.dtype()),
        _ => None,
    }
}

/// The recipe with another element type at some places; `None` if a constant cannot have it.
fn retyped(recipe: &Recipe, places: &[Typed], to: DType) -> Option<Recipe> {
    let mut out = recipe.clone();
    for &place in places {
        let step = match place {
            Typed::Operand(step) | Typed::Attribute(step, _) => step,
        };
        match (place, &mut out.steps[step]) {
            (Typed::Attribute(_, k), Step::Call { attrs, .. }) => attrs[k] = Some(AttrValue::DType(to)),
            (_, Step::Leaf { dtype, .. }) => *dtype = to,
            (_, Step::Fill { dtype, value, .. }) => {
                if !to.is_float() {
                    *value = value.round();
                }
                *dtype = to;
            }
            (_, Step::Const(tensor)) => {
                *tensor = numbers(to, tensor.shape(), &tensor.to_f64s()?)?;
            }
            _ => return None,
        }
    }
    Some(out)
}

fn real_operands(recipe: &Recipe) -> Vec<Typed> {
    let mut out = typed(recipe, &|_, _| false);
    out.retain(|one| dtype(recipe, *one).is_some_and(DType::is_float));
    out
}

/// The recipe with all real operands of a type that is not real, as far as it fits: those that the rule names, or a few.
pub(crate) fn with_discrete_types(recipe: &Recipe, named: &[DType], fits: &dyn Fn(&Recipe) -> bool) -> Vec<Recipe> {
    let real = real_operands(recipe);
    if real.is_empty() {
        return Vec::new();
    }
    let named = named
        .iter()
        .filter(|dtype| !dtype.is_float() && !DISCRETE.contains(dtype));
    let all = DISCRETE.iter().chain(named.take(DISCRETE.len()));
    let all = all.filter_map(|&to| retyped(recipe, &real, to));
    all.filter(|next| fits(next)).collect()
}

/// The recipe with all real operands as integers; `None` if a constant has no integer value.
pub(crate) fn with_integer_types(recipe: &Recipe) -> Option<Recipe> {
    let real = real_operands(recipe);
    if real.is_empty() {
        return None;
    }
    retyped(recipe, &real, DType::I64)
}

/// The element types of a search for all that a rule admits.
pub(crate) struct Types<'a> {
    /// A condition may be about element types, so that those that tell most rules apart do not tell this one.
    pub(crate) asked: bool,
    /// The element types that the text of the rule names.
    pub(crate) named: &'a [DType],
    /// Whether the source computes an attribute of an operator, which then changes with an operand.
    pub(crate) computes: &'a dyn Fn(&OpDef, usize) -> bool,
}

/// The recipe with every element type that it admits, and whether the list is complete; `fits` tells whether the rule
/// matches and the types agree.
pub(crate) fn with_types(recipe: &Recipe, types: &Types<'_>, fits: &dyn Fn(&Recipe) -> bool) -> (Vec<Recipe>, bool) {
    let typed = typed(recipe, types.computes);
    let others = DType::ALL.into_iter().filter(|to| types.asked && !TELLING.contains(to));
    let telling: Vec<DType> = TELLING.into_iter().chain(others).collect();
    let may_change = |steps: &[Typed]| {
        telling.iter().any(|&to| {
            steps.iter().any(|&i| dtype(recipe, i) != Some(to)) && retyped(recipe, steps, to).is_some_and(|r| fits(&r))
        })
    };
    let groups = groups(recipe, &typed, &may_change);
    let admitted = |group: &Vec<Typed>| -> Vec<DType> {
        let own = dtype(recipe, group[0]);
        let fit = |to: &DType| own == Some(*to) || retyped(recipe, group, *to).is_some_and(|r| fits(&r));
        DType::ALL.into_iter().filter(fit).collect()
    };
    let domains: Vec<Vec<DType>> = groups.iter().map(admitted).collect();
    let count = domains.iter().try_fold(1usize, |n, d| n.checked_mul(d.len()));
    let complete = count.is_some_and(|n| n <= COMBINATIONS);
    let mut out = Vec::new();
    if complete {
        out.push(recipe.clone());
        for (group, domain) in groups.iter().zip(&domains) {
            let next = out
                .iter()
                .flat_map(|r: &Recipe| domain.iter().filter_map(|&to| retyped(r, group, to)));
            out = next.collect();
        }
    } else {
        for (group, domain) in groups.iter().zip(&domains) {
            out.extend(domain.iter().filter_map(|&to| retyped(recipe, group, to)));
        }
        // The types that the rule names may matter together.
        let mut together = vec![recipe.clone()];
        for (group, domain) in groups.iter().zip(&domains) {
            let named = || types.named.iter().filter(|to| domain.contains(to));
            let next = together
                .iter()
                .flat_map(|r| named().filter_map(|&to| retyped(r, group, to)));
            let next: Vec<Recipe> = next.collect();
            if !next.is_empty() && next.len() <= COMBINATIONS {
                together = next;
            }
        }
        out.extend(together);
    }
    out.retain(|r| fits(r));
    (out, complete)
}

/// Element types between which conversions differ: wide and narrow integers with and without sign, and floats that are
/// exact up to different integers.
pub(crate) const CONVERTED: [DType; 9] = [
    DType::I64,
    DType::F32,
    DType::U8,
    DType::F64,
    DType::U64,
    DType::I32,
    DType::F16,
    DType::I8,
    DType::Bool,
];

/// The recipe with other element types of operands and attributes, where those that have to be the same change together:
/// all combinations of the types that the rule names, and of all these types for each two of which at least one is an
/// attribute. One list for each.
pub(crate) fn with_types_together(
    recipe: &Recipe,
    named: &[DType],
    more: &[DType],
    fits: &dyn Fn(&Recipe) -> bool,
) -> Vec<Vec<Recipe>> {
    let typed = typed(recipe, &|_, _| true);
    let mut all = named.to_vec();
    all.extend(more.iter().filter(|to| !named.contains(to)));
    let may_change = |places: &[Typed]| {
        let other = |to: &DType| places.iter().any(|one| dtype(recipe, *one) != Some(*to));
        all.iter()
            .filter(|to| other(to))
            .any(|&to| retyped(recipe, places, to).is_some_and(|r| fits(&r)))
    };
    let groups = groups(recipe, &typed, &may_change);
    let each = |bases: &[Recipe], group: &[Typed], types: &[DType]| -> Vec<Recipe> {
        let next = bases
            .iter()
            .flat_map(|r| types.iter().filter_map(|&to| retyped(r, group, to)));
        next.collect()
    };
    let mut out = Vec::new();
    for (n, a) in groups.iter().enumerate() {
        for b in &groups[n + 1..] {
            if a.iter().chain(b).any(|one| matches!(one, Typed::Attribute(..))) {
                out.push(each(&each(std::slice::from_ref(recipe), a, &all), b, &all));
            }
        }
    }
    let count = groups.iter().try_fold(1usize, |n, _| n.checked_mul(named.len()));
    if count.is_some_and(|n| n <= COMBINATIONS) {
        let together = |bases: Vec<Recipe>, group: &Vec<Typed>| each(&bases, group, named);
        out.insert(0, groups.iter().fold(vec![recipe.clone()], together));
    }
    out.iter_mut().for_each(|list| list.retain(|next| fits(next)));
    out
}

/// Limit on the operands of one type of which all sets are tried.
const SETS: usize = 6;

/// Operands whose type can change alone, or together with the fewest others of their type.
fn groups(recipe: &Recipe, typed: &[Typed], may_change: &dyn Fn(&[Typed]) -> bool) -> Vec<Vec<Typed>> {
    let (mut groups, left): (Vec<Vec<Typed>>, Vec<Vec<Typed>>) =
        typed.iter().map(|&i| vec![i]).partition(|alone| may_change(alone));
    let mut left: Vec<Typed> = left.concat();
    while let Some(&first) = left.first() {
        let alike = left
            .iter()
            .copied()
            .filter(|&i| dtype(recipe, i) == dtype(recipe, first));
        let alike: Vec<Typed> = alike.collect();
        let group = smallest(&alike, may_change).unwrap_or_else(|| vec![first]);
        left.retain(|i| !group.contains(i));
        groups.push(group);
    }
    groups
}

/// The smallest set of several, with the first of them, that may change.
fn smallest(all: &[Typed], may_change: &dyn Fn(&[Typed]) -> bool) -> Option<Vec<Typed>> {
    let (&first, others) = all.split_first()?;
    if let Some(pair) = others.iter().map(|&j| vec![first, j]).find(|pair| may_change(pair)) {
        return Some(pair);
    }
    if all.len() > 2 && may_change(all) {
        // Without any that need not change.
        let mut out = all.to_vec();
        for other in others {
            let fewer: Vec<Typed> = out.iter().copied().filter(|i| i != other).collect();
            if may_change(&fewer) {
                out = fewer;
            }
        }
        return Some(out);
    }
    if others.len() >= SETS {
        return None;
    }
    let mut sets: Vec<Vec<Typed>> = (1usize..1 << others.len())
        .filter(|bits| bits.count_ones() >= 2 && (bits.count_ones() as usize) < others.len())
        .map(|bits| {
            let own = others.iter().enumerate().filter(|(k, _)| bits >> k & 1 == 1);
            [first].into_iter().chain(own.map(|(_, i)| *i)).collect()
        })
        .collect();
    sets.sort_by_key(Vec::len);
    sets.into_iter().find(|set| may_change(set))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::rule::verify;
    use crate::verdict::options::Options;
    use crate::verdict::report::Verdict;
    use tautomer_diag::Source;
    use tautomer_lang::parse_rules;
    use tautomer_rule::load_rules;

    fn verdict(text: &str) -> Verdict {
        let text = format!("/// A rule.\nrule r{text}");
        let set = load_rules(parse_rules(Arc::new(Source::new("test.rules", text.as_str()))).unwrap()).unwrap();
        verify(&set.rules[0], &set.examples, &Options::default()).verdict
    }

    #[test]
    fn types_that_conditions_admit_and_operands_share_are_tried() {
        for wrong in [
            // Differences of these are not negative.
            "(x, y) { abs(x - y) => abs(y - x) where x.dtype in [u16, f32] numerics real }",
            "(x, y) { abs(x - y) => abs(y - x) where not (x.dtype in [u8, f16, f64, i32, bool]) numerics real }",
            "(x, y, z) { where(z, abs(x - y), x) => where(z, abs(y - x), x) where x.dtype in [u16, bf16] numerics real }",
            // Three operands of one type, beside one that has another in every match.
            "(x, y, z, u: f32[..]) { max(max(x, y), z) + abs(x - z) + cast_like(u, x) => max(max(x, y), z) + abs(z - x) + cast_like(u, x) numerics real }",
            // Types that the rule names, of two operands or of an attribute.
            "(x, y) { cast(x) {to = i64} + cast(y) {to = i64} => when x.dtype == u16 and y.dtype == i8 { cast(x) {to = i64} } else { cast(x) {to = i64} + cast(y) {to = i64} } numerics bitwise }",
            "(x) { cast(relu(x)) {to = d} => when d == u16 { cast(x) {to = d} } else { cast(relu(x)) {to = d} } numerics real }",
            // Large integers on the way.
            "(x) { cast(cast(x) {to = f64}) {to = d} => cast(x) {to = d} numerics bitwise }",
            "(x) { cast(cast(x) {to = f16}) {to = d} => cast(x) {to = d} where x.dtype in [i8, u8, i16] numerics bitwise }",
        ] {
            let verdict = verdict(wrong);
            assert!(matches!(verdict, Verdict::Refuted(_)), "{wrong}: {verdict}");
        }
        for right in [
            "(x, y) { abs(x - y) => abs(y - x) where x.dtype in [i64, f32] numerics real }",
            "(x, y, z) { where(z, abs(x - y), x) => where(z, abs(y - x), x) where x.dtype in [f16, bf16] numerics real }",
            "(x) { cast(cast(x) {to = f64}) {to = d} => cast(x) {to = d} where x.dtype in [i32, u8] numerics bitwise }",
        ] {
            let verdict = verdict(right);
            assert!(!matches!(verdict, Verdict::Refuted(_)), "{right}: {verdict}");
        }
    }
}
