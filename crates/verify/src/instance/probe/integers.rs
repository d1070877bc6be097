//! Integer attributes at random values, all at once.

use super::squared;
use crate::instance::interleaved;
use crate::instance::mutate::Place;
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::AttrKind;

/// The number of choices of integers tried.
const CHOICES: usize = 500;

/// From so many free integers on, four times as many choices are drawn, and those that do not fit again, at most so often.
const MANY: usize = 4;
const AGAIN: usize = 6;

/// Integers for attributes.
const INTEGERS: [i64; 8] = [2, -1, 0, 3, 1, 4, -2, 6];

/// Dimensions that leave room for them.
const ROOM: [i64; 5] = [4, 8, 3, 5, 6];

/// Random values for all integer attributes that are not axes at once, with dimensions that leave room for them; `fits`
/// tells whether the rule matches, and `agrees` whether its sides have the same types as well.
pub(crate) fn with_integers(
    recipe: &Recipe,
    fits: &dyn Fn(&Recipe) -> bool,
    agrees: &dyn Fn(&Recipe) -> bool,
    random: &mut Random,
) -> Vec<Recipe> {
    let integers = Integers::of(recipe, fits);
    if integers.all.is_empty() {
        return Vec::new();
    }
    let free = integers.free();
    let (choices, again) = if free.len() < MANY {
        (CHOICES, 0)
    } else {
        (4 * CHOICES, AGAIN)
    };
    let mut out: Vec<Recipe> = Vec::with_capacity(choices);
    for _ in 0..choices {
        let mut next = integers.drawn(random);
        // Of many integers, few choices satisfy all conditions and have the same types: one at a time is
        // drawn again until they do.
        for _ in 0..again {
            if agrees(&next) {
                break;
            }
            if let (Some(place), Some(n)) = (random.pick(&free), random.pick(&INTEGERS)) {
                next.set(place, n);
            }
        }
        out.push(next);
    }
    // Positions below 0 count from the end, and few choices with several of them satisfy conditions: every second
    // one has several, as long as there are any.
    let has_several = |recipe: &Recipe| {
        let all = recipe.integers().into_iter();
        all.filter(|(place, n)| free.contains(place) && *n < 0).count() > 1
    };
    let (several, others): (Vec<Recipe>, Vec<Recipe>) = out.into_iter().partition(has_several);
    interleaved(vec![several, others])
}

/// The integer attributes of a recipe that are not axes.
struct Integers<'a> {
    recipe: &'a Recipe,
    all: Vec<Integer>,
}

struct Integer {
    place: Place,
    now: i64,
    /// False if the pattern or a type fixes it.
    is_free: bool,
}

impl<'a> Integers<'a> {
    fn of(recipe: &'a Recipe, fits: &dyn Fn(&Recipe) -> bool) -> Integers<'a> {
        let is_axis = |i: usize, k: usize| match &recipe.steps[i] {
            Step::Call { def, .. } => !matches!(def.attrs[k].kind, AttrKind::Int | AttrKind::Ints),
            _ => true,
        };
        let roomy = squared(recipe, ROOM[0]);
        let fits_with = |base: &Recipe, values: &[(Place, i64)]| {
            let mut next = base.clone();
            values.iter().for_each(|&(place, n)| next.set(place, n));
            fits(&next)
        };
        let moves = |place: Place, now: i64| {
            let mut others = INTEGERS.into_iter().filter(|n| *n != now);
            others.any(|n| [recipe, &roomy].into_iter().any(|base| fits_with(base, &[(place, n)])))
        };
        let places = recipe.integers().into_iter();
        let places = places.filter(|(place, _)| matches!(place, Place::Attr(i, k, _) if !is_axis(*i, *k)));
        let all = places.map(|(place, now)| Integer {
            place,
            now,
            is_free: moves(place, now),
        });
        let mut out = Integers {
            recipe,
            all: all.collect(),
        };
        // Others change only together with one of these, such as an end that may not be below its start.
        let alone = out.free();
        if alone.len() <= MANY {
            let together = |place: Place, now: i64, other: Place| {
                let pairs = INTEGERS.iter().flat_map(|n| INTEGERS.iter().map(move |m| (*n, *m)));
                let mut pairs = pairs.filter(|(_, m)| *m != now);
                pairs.any(|(n, m)| fits_with(&roomy, &[(other, n), (place, m)]))
            };
            for one in out.all.iter_mut().filter(|one| !one.is_free) {
                one.is_free = alone.iter().any(|&other| together(one.place, one.now, other));
            }
        }
        out
    }

    /// The places of those that are free.
    fn free(&self) -> Vec<Place> {
        let free = self.all.iter().filter(|one| one.is_free);
        free.map(|one| one.place).collect()
    }

    /// The recipe with random values of those that are free, or with one value of all.
    fn drawn(&self, random: &mut Random) -> Recipe {
        let mut next = squared(self.recipe, random.pick(&ROOM).unwrap_or(4));
        let shared = random.pick(&[2, 1, 3]).unwrap_or(2);
        let (alike, ascending) = (random.chance(1, 3), random.chance(1, 2));
        if alike {
            self.all.iter().for_each(|one| next.set(one.place, shared));
            return next;
        }
        let mut before: Option<(Place, i64)> = None;
        for place in self.free() {
            let mut own = random.pick(&INTEGERS).unwrap_or(1);
            // Pairs such as a start and an end, which mean something in one order alone.
            if let (Some((first @ Place::Attr(i, ..), n)), Place::Attr(j, ..)) = (before, place)
                && ascending
                && i == j
                && own < n
            {
                next.set(first, own);
                own = n;
            }
            next.set(place, own);
            before = Some((place, own));
        }
        next
    }
}
