//! Integer attributes at random values, all at once.

use super::axes::draw_flags;
use super::squared;
use crate::instance::interleaved;
use crate::instance::mutate::{Place, is_convolution};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_graph::Node;
use tautomer_op::AttrKind;

/// The number of choices of integers tried.
const CHOICES: usize = 500;

/// From so many free integers on, four times as many choices are drawn, and those that do not fit again, at most so often.
const MANY: usize = 4;
const AGAIN: usize = 6;

/// Integers for attributes.
const INTEGERS: [i64; 9] = [2, -1, 0, 3, 1, 4, -2, 6, -7];

/// Dimensions that leave room for them.
const ROOM: [i64; 6] = [4, 8, 3, 5, 6, 9];

/// Integers of which every choice is tried.
const SMALL: [i64; 4] = [2, 3, 1, -2];

/// Dimensions of kernels.
const KERNEL: i64 = 2;

/// Random values for all integer attributes that are not axes at once, with dimensions that leave room for them; `fits`
/// tells whether the rule matches, and `agrees` whether its sides have the same types as well.
pub(crate) fn with_integers(
    recipe: &Recipe,
    fits: &dyn Fn(&Recipe) -> bool,
    agrees: &dyn Fn(&Recipe) -> bool,
    random: &mut Random,
) -> Vec<Recipe> {
    let recipe = &filled_in(recipe);
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
            if agrees(&next) || free.is_empty() {
                break;
            }
            let chosen = &free[random.below(free.len())];
            let n = random.pick(&INTEGERS).unwrap_or(1);
            chosen.iter().for_each(|&place| next.set(place, n));
        }
        out.push(next);
    }
    // Positions below 0 count from the end, and few choices with several of them satisfy conditions: every second
    // one has several, as long as there are any.
    let has_several = |recipe: &Recipe| {
        let all = recipe.integers().into_iter();
        all.filter(|(place, n)| *n < 0 && free.iter().any(|places| places.first() == Some(place)))
            .count()
            > 1
    };
    let (several, others): (Vec<Recipe>, Vec<Recipe>) = out.into_iter().partition(has_several);
    interleaved(vec![several, others])
}

/// Every choice of small integers for a few attributes, with dimensions that leave room for them, each with the flags of
/// the recipe and with others; those with the fewest ones first, which have the least effect.
pub(crate) fn with_small_integers(recipe: &Recipe, fits: &dyn Fn(&Recipe) -> bool, random: &mut Random) -> Vec<Recipe> {
    let recipe = &filled_in(recipe);
    let integers = Integers::of(recipe, fits);
    let free = integers.free();
    if free.is_empty() || free.len() >= MANY {
        return Vec::new();
    }
    let mut out: Vec<(usize, Recipe)> = Vec::new();
    for n in ROOM {
        let mut choices = vec![(0, integers.room(n))];
        for places in &free {
            let each = choices.iter().flat_map(|(ones, base)| {
                SMALL.map(|value| {
                    let mut next = base.clone();
                    places.iter().for_each(|&place| next.set(place, value));
                    (ones + usize::from(value == 1), next)
                })
            });
            choices = each.collect();
        }
        for (ones, choice) in choices {
            let mut other = choice.clone();
            draw_flags(&mut other, random);
            out.extend([(ones, choice), (ones, other)]);
        }
    }
    random.shuffle(&mut out);
    out.sort_by_key(|(ones, _)| *ones);
    out.into_iter()
        .map(|(_, next)| next)
        .filter(|next| fits(next))
        .collect()
}

/// The recipe with the integers that calls leave out, such as strides of 1.
fn filled_in(recipe: &Recipe) -> Recipe {
    let mut out = recipe.clone();
    let Ok((graph, _, made)) = recipe.build_steps() else {
        return out;
    };
    for (step, v) in out.steps.iter_mut().zip(made) {
        let (Step::Call { def, attrs, .. }, Node::Call { attrs: own, .. }) = (step, &graph.vertex(v).node) else {
            continue;
        };
        for ((attr, own), declared) in attrs.iter_mut().zip(own.iter()).zip(def.attrs) {
            if attr.is_none() && matches!(declared.kind, AttrKind::Int | AttrKind::Ints) && !own.is_none() {
                *attr = Some(own.clone());
            }
        }
    }
    out
}

/// The integer attributes of a recipe that are not axes.
struct Integers<'a> {
    recipe: &'a Recipe,
    all: Vec<Integer>,
    /// Those that are the dimensions of operands.
    extents: Vec<Place>,
}

/// An integer attribute, or several that have one value since a variable of the pattern stands for it.
struct Integer {
    places: Vec<Place>,
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
        let (attrs, extents): (Vec<_>, Vec<_>) =
            (recipe.integers().into_iter()).partition(|(place, _)| matches!(place, Place::Attr(..)));
        let places = attrs.into_iter();
        let places = places.filter(|(place, _)| matches!(place, Place::Attr(i, k, _) if !is_axis(*i, *k)));
        let places: Vec<(Place, i64)> = places.collect();
        let mut out = Integers {
            recipe,
            all: Vec::new(),
            extents: Vec::new(),
        };
        // Where other dimensions do not fit, they may if attributes of the value of one change with them.
        let all_fit = |out: &Integers<'_>| ROOM[..2].iter().all(|&n| fits(&out.room(n)));
        if !all_fit(&out) {
            let mut values: Vec<i64> = extents.iter().map(|(_, n)| *n).collect();
            values.sort_unstable();
            values.dedup();
            let alike = |n: i64| places.iter().filter(move |(_, now)| *now == n).map(|(place, _)| *place);
            let all = values.iter().map(|&n| alike(n).collect::<Vec<Place>>());
            let alone = values.iter().flat_map(|&n| alike(n).map(|place| vec![place]));
            let mut sets = all.chain(alone).filter(|set| !set.is_empty());
            let fitting = sets.find(|set| {
                out.extents.clone_from(set);
                all_fit(&out)
            });
            out.extents = fitting.unwrap_or_default();
        }
        let roomy = out.room(ROOM[0]);
        let fits_with = |base: &Recipe, values: &[(&[Place], i64)]| {
            let mut next = base.clone();
            for (places, n) in values {
                places.iter().for_each(|&place| next.set(place, *n));
            }
            fits(&next)
        };
        let moves = |places: &[Place], now: i64| {
            let mut others = INTEGERS.into_iter().filter(|n| *n != now);
            others.any(|n| [recipe, &roomy].into_iter().any(|base| fits_with(base, &[(places, n)])))
        };
        let others = places.iter().filter(|(place, _)| !out.extents.contains(place));
        let (mut all, mut fixed) = (Vec::new(), Vec::new());
        for &(place, now) in others {
            let is_free = moves(&[place], now);
            let list = if is_free { &mut all } else { &mut fixed };
            list.push(Integer {
                places: vec![place],
                now,
                is_free,
            });
        }
        // Those that one variable stands for change together alone: two that have one value, or all of them.
        while let Some(mut first) = fixed.pop() {
            let alike: Vec<usize> = (0..fixed.len()).filter(|&i| fixed[i].now == first.now).collect();
            let pairs = alike.iter().map(|i| vec![*i]);
            let mut sets = pairs.chain([alike.clone()]).filter(|set| !set.is_empty());
            let found = sets.find(|set| {
                let mut places = first.places.clone();
                places.extend(set.iter().flat_map(|&i| fixed[i].places.iter().copied()));
                moves(&places, first.now)
            });
            for i in found.into_iter().flatten().rev() {
                first.places.extend(fixed.remove(i).places);
                first.is_free = true;
            }
            all.push(first);
        }
        out.all = all;
        // Others change only together with one of these, such as an end that may not be below its start.
        let alone = out.free();
        if alone.len() <= MANY {
            let together = |one: &Integer, other: &[Place]| {
                let pairs = INTEGERS.iter().flat_map(|n| INTEGERS.iter().map(move |m| (*n, *m)));
                let mut pairs = pairs.filter(|(_, m)| *m != one.now);
                pairs.any(|(n, m)| fits_with(&roomy, &[(other, n), (&one.places, m)]))
            };
            let (free, mut fixed): (Vec<Integer>, Vec<Integer>) = out.all.into_iter().partition(|one| one.is_free);
            out.all = free;
            while let Some(mut first) = fixed.pop() {
                let moves = |one: &Integer| alone.iter().any(|other| together(one, other));
                first.is_free = moves(&first);
                let mut alike = (0..fixed.len()).filter(|&i| !first.is_free && fixed[i].now == first.now);
                let pair = alike.find_map(|i| {
                    let places = [first.places.as_slice(), &fixed[i].places].concat();
                    let both = Integer {
                        places,
                        now: first.now,
                        is_free: true,
                    };
                    moves(&both).then_some((i, both))
                });
                if let Some((i, both)) = pair {
                    fixed.remove(i);
                    first = both;
                }
                out.all.push(first);
            }
        }
        out
    }

    /// The recipe with all dimensions equal, also where they are attributes. Convolutions keep their channels, with small
    /// kernels, which leave room for strides and dilations.
    fn room(&self, n: i64) -> Recipe {
        let convolutions = self.recipe.calls().into_iter();
        let mut convolutions = convolutions
            .filter(|&i| is_convolution(&self.recipe.steps[i]))
            .peekable();
        let mut next = match convolutions.peek() {
            Some(_) => self.recipe.clone(),
            None => squared(self.recipe, n),
        };
        for i in convolutions {
            for (&operand, extent) in self.recipe.steps[i].operands().iter().zip([n, KERNEL]) {
                let leaf = next.first_leaf(operand);
                let shape = next.shape_mut(leaf).into_iter();
                shape
                    .flat_map(|shape| shape.iter_mut().skip(2))
                    .for_each(|d| *d = extent);
            }
        }
        self.extents.iter().for_each(|&place| next.set(place, n));
        next
    }

    /// The places of those that are free.
    fn free(&self) -> Vec<Vec<Place>> {
        let free = self.all.iter().filter(|one| one.is_free);
        free.map(|one| one.places.clone()).collect()
    }

    /// The recipe with random values of those that are free, or with one value of all.
    fn drawn(&self, random: &mut Random) -> Recipe {
        let mut next = self.room(random.pick(&ROOM).unwrap_or(4));
        if random.chance(1, 4) {
            draw_flags(&mut next, random);
        }
        let mut set = |places: &[Place], n: i64| places.iter().for_each(|&place| next.set(place, n));
        let shared = random.pick(&[2, 1, 3]).unwrap_or(2);
        let (alike, ascending) = (random.chance(1, 3), random.chance(1, 2));
        if alike {
            self.all.iter().for_each(|one| set(&one.places, shared));
            return next;
        }
        let mut before: Option<(&[Place], i64)> = None;
        for one in self.all.iter().filter(|one| one.is_free) {
            let mut own = random.pick(&INTEGERS).unwrap_or(1);
            // Pairs such as a start and an end, which mean something in one order alone.
            if let Some((first, n)) = before
                && ascending
                && step_of(first) == step_of(&one.places)
                && own < n
            {
                set(first, own);
                own = n;
            }
            set(&one.places, own);
            before = Some((&one.places, own));
        }
        next
    }
}

/// The call that an attribute is of.
fn step_of(places: &[Place]) -> Option<usize> {
    match places.first() {
        Some(Place::Attr(i, ..)) => Some(*i),
        _ => None,
    }
}
