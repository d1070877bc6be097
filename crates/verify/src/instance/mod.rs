//! The lowest layer: the small graphs on which a rule is tried, and how they are made and mutated.

pub(crate) mod coincide;
pub(crate) mod combine;
pub(crate) mod ends;
pub(crate) mod extents;
pub(crate) mod grow;
mod legalize;
pub(crate) mod mutate;
pub(crate) mod probe;
pub(crate) mod random;
mod reach;
pub(crate) mod recipe;
pub(crate) mod seeds;
mod sketch;
mod solve;

pub(crate) use self::legalize::legalized;

use self::recipe::Recipe;

/// The first of each list, the second of each, and so on.
pub(crate) fn interleaved(lists: Vec<Vec<Recipe>>) -> Vec<Recipe> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut out = Vec::new();
    loop {
        let before = out.len();
        out.extend(lists.iter_mut().filter_map(Iterator::next));
        if out.len() == before {
            return out;
        }
    }
}
