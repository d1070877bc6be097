//! Instances that are enumerated, because random search rarely finds them: each element type, each order of axes where
//! all dimensions are equal, each number near one in the rule, and so on.

mod attributes;
mod axes;
mod axis_lists;
mod boundaries;
mod counts;
mod elements;
mod groups;
mod integers;
mod lists;
mod long;
mod masks;
mod merged;
mod nearby;
mod numbers;
mod pairs;
mod parts;
mod reshapes;
mod reversals;
mod sequences;
mod sizes;
mod skeletons;
mod types;
mod windows;
mod worlds;

use super::recipe::Recipe;

pub(crate) use self::attributes::with_all_attributes;
pub(crate) use self::axes::{with_all_orders, with_axes, with_everything, with_moved_axes, with_orders};
pub(crate) use self::axis_lists::with_axis_lists;
pub(crate) use self::boundaries::with_boundaries;
pub(crate) use self::counts::{with_counts, with_each_rank, with_empty_lists, with_more_axes, with_ranks};
pub(crate) use self::elements::{with_elements, with_uneven_constants};
pub(crate) use self::groups::with_groups;
pub(crate) use self::integers::{with_integers, with_small_integers};
pub(crate) use self::lists::with_lists;
pub(crate) use self::long::with_long_axes;
pub(crate) use self::masks::with_masks;
pub(crate) use self::merged::{with_merged_extents, with_split_extents};
pub(crate) use self::nearby::nearby;
pub(crate) use self::numbers::{
    with_all_numbers, with_close_numbers, with_extreme_numbers, with_indices, with_numbers,
};
pub(crate) use self::pairs::with_pairs;
pub(crate) use self::parts::with_parts;
pub(crate) use self::reshapes::with_reshapes;
pub(crate) use self::reversals::with_reversals;
pub(crate) use self::sequences::with_sequences;
pub(crate) use self::sizes::{with_blocks, with_sizes, with_small_extents};
pub(crate) use self::skeletons::with_ranks_and_axes;
pub(crate) use self::types::{
    CONVERTED, Types, with_discrete_types, with_integer_types, with_types, with_types_together,
};
pub(crate) use self::windows::{with_uneven_windows, with_windows, with_windows_of_padding};
pub(crate) use self::worlds::small_world;

/// The dimensions of all axes where they are made equal.
const EQUAL: [i64; 2] = [2, 3];

/// The recipe with all dimensions of operands equal, for a few values.
pub(crate) fn with_equal_extents(recipe: &Recipe) -> Vec<Recipe> {
    EQUAL.iter().map(|&n| squared(recipe, n)).collect()
}

fn squared(recipe: &Recipe, n: i64) -> Recipe {
    let mut out = recipe.clone();
    for i in 0..out.steps.len() {
        if let Some(shape) = out.shape_mut(i) {
            shape.fill(n);
        }
    }
    out
}
