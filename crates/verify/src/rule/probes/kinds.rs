//! The kinds of instances that are enumerated, each with its share of the budget.

use super::{CHOSEN, PLAIN};
use crate::instance::mutate::with_operators;
use crate::instance::random::Random;
use crate::instance::recipe::Recipe;
use crate::instance::{coincide, interleaved, legalized, probe};
use crate::rule::asked::{has_open_type, named_types};
use crate::rule::search::Search;
use tautomer_rule::Class;
use tautomer_tensor::DType;

/// The number of instances with reversed axes for which all orders of axes are tried.
const REVERSED: usize = 4;

/// The number of instances without a type for the target in which dimensions are made equal.
const MERGED: usize = 12;

/// The number of instances with other words and flags that are probed.
const WORDED: usize = 4;

/// Windows that are tried under each of these.
const WINDOWS: usize = 150;

/// Recipes of one kind, with a list for each instance that they come from, and their share of the budget.
pub(super) struct Kind {
    pub(super) lists: Vec<Vec<Recipe>>,
    pub(super) part: usize,
}

impl Search<'_> {
    /// Words, flags and numbers of all calls at once, also beside constants that other kinds have found.
    pub(super) fn all_attributes(&self, bases: &[Recipe]) -> Kind {
        let tells = &|recipe: &Recipe| self.tells(recipe);
        let own = &mut Random::part(0, "all attributes");
        // The last ones have the fewest dimensions of 1, along which nothing can be mistaken.
        let roomy = bases.iter().skip(CHOSEN).rev().take(PLAIN);
        let all = bases
            .iter()
            .take(CHOSEN)
            .chain(roomy)
            .chain(self.with_large_constants());
        Kind {
            lists: all
                .map(|r| probe::with_all_attributes(r, &self.numbers, tells, own))
                .collect(),
            part: 2,
        }
    }

    pub(super) fn kinds(&self, bases: &[Recipe]) -> Vec<Kind> {
        let fits = &|recipe: &Recipe| recipe.sides(self.trial).is_some();
        let agrees = &|recipe: &Recipe| recipe.sides(self.trial).is_some_and(|sides| sides.types_agree());
        let own = &mut Random::part(0, "one by one");
        let all_at_once = &mut Random::part(0, "all at once");
        let close = &mut Random::part(0, "close to each other");
        let moved = &mut Random::part(0, "reshapes");
        let numbers = &self.numbers;
        let kind = |part: usize, lists: Vec<Vec<Recipe>>| Kind { lists, part };
        let each = |make: &mut dyn FnMut(&Recipe) -> Vec<Recipe>| bases.iter().map(make).collect::<Vec<_>>();
        let operators = bases
            .first()
            .map(|r| with_operators(r, numbers, own))
            .unwrap_or_default();
        let single = bases
            .iter()
            .flat_map(|r| probe::with_numbers(r, numbers, own))
            .collect();
        // Without conditions, nothing ties numbers to each other.
        let conditional = bases
            .iter()
            .take(if self.rule.conditions.is_empty() { 0 } else { PLAIN });
        let tied = conditional.map(|r| probe::with_pairs(r, fits)).collect();
        let tells = &|recipe: &Recipe| self.tells(recipe);
        let few = || bases.iter().take(CHOSEN);
        let others = self.of_alternatives();
        let highest = self.of_each_highest_rank().into_iter();
        let highest = highest.take(if self.rule.conditions.is_empty() { 0 } else { CHOSEN });
        let plain: Vec<Recipe> = highest.flat_map(probe::with_more_axes).collect();
        let ranked = bases.iter().take(1).chain(&others).chain(&plain);
        // A window that covers only padding has a value for integers alone: the least one.
        let whole = bases.iter().take(CHOSEN).filter_map(probe::with_integer_types);
        let padding = whole.map(|r| probe::with_windows_of_padding(&r)).collect();
        let named = named_types(self.rule);
        let converted = bases.iter().take(usize::from(has_open_type(self.rule)));
        // Over the real numbers, a detour through another floating-point type changes nothing.
        let counts = |dtype: &DType| self.rule.class == Class::Bitwise || !dtype.is_float();
        let types: Vec<DType> = probe::CONVERTED.into_iter().filter(counts).collect();
        let converted = converted.flat_map(|r| probe::with_types_together(r, &named, &types, fits));
        let axes = |random: &mut Random| few().map(|r| probe::with_axes(r, random)).collect();
        let reshaped = bases.iter().take(PLAIN);
        let reshaped = reshaped.map(|r| probe::with_reshapes(r, agrees, moved)).collect();
        let ranks = self.of_each_rank();
        let split: Vec<Recipe> = ranks.into_iter().flat_map(probe::with_split_extents).collect();
        let merged = self.refused.iter().take(MERGED).chain(&split);
        let merged = merged.map(|r| probe::with_merged_extents(r, agrees)).collect();
        let grouped: Vec<Recipe> = few().flat_map(probe::with_groups).filter(|r| fits(r)).collect();
        let cut = grouped.iter().map(|r| probe::with_integers(r, fits, agrees, own));
        let cut = cut.chain(grouped.iter().map(probe::with_reversals)).collect();
        let small = &mut Random::part(0, "small integers");
        let small = few().map(|r| probe::with_small_integers(r, fits, small)).collect();
        let turned = few().flat_map(probe::with_reversals).take(REVERSED);
        let turned = turned.map(|r| probe::with_orders(&r)).collect();
        let skeletons = &mut Random::part(0, "ranks and axes");
        let skeletons = bases.first().map(|r| probe::with_ranks_and_axes(r, fits, skeletons));
        let skeletons: Vec<Vec<Recipe>> = skeletons.unwrap_or_default();
        let lists = &mut Random::part(0, "lists of axes");
        let lists = few().map(|r| probe::with_axis_lists(r, tells, lists)).collect();
        let uneven = &mut Random::part(0, "uneven windows");
        let uneven = few().map(|r| probe::with_uneven_windows(r, tells, uneven)).collect();
        let layers = &mut Random::part(0, "recurrent layers");
        let sequences = few().map(|r| probe::with_sequences(r, tells, layers)).collect();
        let conditional = bases
            .iter()
            .take(if self.rule.conditions.is_empty() { 0 } else { PLAIN });
        let boundaries = conditional.flat_map(|r| probe::with_boundaries(r, tells)).collect();
        let conditional = if self.rule.conditions.is_empty() { &[] } else { bases };
        let elements = conditional.iter().map(|r| probe::with_elements(r, tells));
        let elements = elements.filter(|all| !all.is_empty()).take(PLAIN).collect();
        let exact = usize::from(self.rule.class == Class::Bitwise);
        let ends = few()
            .take(exact * PLAIN)
            .flat_map(probe::with_extreme_numbers)
            .collect();
        let everything = few().map(|r| probe::with_everything(r, tells, all_at_once)).collect();
        vec![
            kind(1, converted.collect()),
            kind(2, boundaries),
            kind(1, elements),
            kind(4, operators),
            kind(4, self.refused.iter().map(probe::with_equal_extents).collect()),
            kind(1, each(&mut probe::with_orders)),
            kind(1, lists),
            kind(2, each(&mut probe::with_moved_axes)),
            kind(2, axes(all_at_once)),
            kind(2, single),
            kind(1, ends),
            kind(1, each(&mut |r| probe::with_all_numbers(r, numbers, own))),
            kind(4, each(&mut |r| probe::with_close_numbers(r, numbers, close))),
            kind(4, tied),
            kind(
                2,
                bases
                    .iter()
                    .take(PLAIN)
                    .map(|r| probe::with_counts(r, numbers))
                    .collect(),
            ),
            kind(8, bases.iter().take(PLAIN).map(probe::with_ranks).collect()),
            kind(4, ranked.map(probe::with_each_rank).collect()),
            kind(1, skeletons),
            kind(8, each(&mut probe::with_blocks)),
            kind(8, each(&mut probe::with_empty_lists)),
            kind(2, each(&mut |r| probe::with_sizes(r, numbers))),
            kind(2, each(&mut |r| probe::with_windows(r, own))),
            kind(1, uneven),
            kind(1, sequences),
            kind(2, few().map(probe::with_long_axes).collect()),
            kind(4, padding),
            kind(2, each(&mut |r| probe::with_integers(r, fits, agrees, own))),
            kind(3, each(&mut |r| probe::with_small_extents(r, own))),
            kind(4, each(&mut |r| probe::with_all_orders(r, numbers, all_at_once))),
            // Once more, with other random choices.
            kind(2, axes(all_at_once)),
            kind(2, everything),
            kind(4, each(&mut probe::with_lists)),
            kind(1, few().map(probe::with_parts).collect()),
            kind(4, each(&mut probe::with_reversals)),
            kind(4, turned),
            kind(2, cut),
            kind(1, small),
            kind(4, each(&mut probe::with_indices)),
            kind(2, reshaped),
            kind(4, vec![split]),
            kind(4, merged),
        ]
    }

    /// The kinds of recipes that are tried with words and flags other than those of the first instances.
    pub(super) fn kinds_of_words(&self, bases: &[Recipe]) -> Vec<Kind> {
        let fits = &|recipe: &Recipe| recipe.sides(self.trial).is_some();
        let own = &mut Random::part(0, "with other words");
        let each = |make: &mut dyn FnMut(&Recipe) -> Vec<Recipe>| Kind {
            lists: bases.iter().map(make).collect(),
            part: 8,
        };
        vec![
            each(&mut probe::with_blocks),
            each(&mut |r| probe::with_sizes(r, &self.numbers)),
            each(&mut |r| probe::with_integers(r, fits, fits, own)),
            each(&mut |r| probe::with_small_extents(r, own)),
            Kind {
                lists: self.windows_of_words(own),
                part: 1,
            },
        ]
    }

    /// Windows under each other word and flag: where a word such as `auto_pad = "VALID"` makes attributes idle, those
    /// of the first instance may fit no other word, so the words alone are not judged before the windows are chosen.
    pub(super) fn windows_of_words(&self, random: &mut Random) -> Vec<Vec<Recipe>> {
        let Some(base) = self.bases().first().map(|&i| &self.pool[i]) else {
            return Vec::new();
        };
        coincide::worded(base)
            .iter()
            .take(WORDED)
            .map(|next| {
                let tells = &|recipe: &Recipe| self.tells(recipe);
                let windows = probe::with_windows(next, random);
                let mut out = interleaved(vec![windows, probe::with_uneven_windows(next, tells, random)]);
                out.truncate(WINDOWS);
                out
            })
            .collect()
    }

    /// The first instances with each word and flag of each attribute that they do not have.
    pub(super) fn worded(&self, bases: &[Recipe]) -> Vec<Recipe> {
        let own = &mut Random::part(0, "words");
        let mut out = Vec::new();
        for base in bases.iter().take(1) {
            for next in coincide::worded(base) {
                let next = legalized(next, own);
                if out.len() < WORDED && next.sides(self.trial).is_some_and(|sides| sides.types_agree()) {
                    out.push(next);
                }
            }
        }
        out
    }
}
