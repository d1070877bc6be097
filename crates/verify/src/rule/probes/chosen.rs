//! Which of the instances that agree others are made from.

use rustc_hash::FxHashSet;

use super::CHOSEN;
use crate::instance::mutate::Place;
use crate::instance::recipe::{Recipe, Step};
use crate::rule::search::Search;
use tautomer_rule::PatternNode;

/// The number of instances, of different ranks, of which reshapes are split.
const RANKED: usize = 6;

impl Search<'_> {
    /// If the source has alternatives: the first instance with each list of operators, but not too many.
    pub(super) fn of_alternatives(&self) -> Vec<Recipe> {
        let mut nodes = self.rule.source.nodes();
        if !nodes.any(|(_, node)| matches!(node, PatternNode::AnyOf(_))) {
            return Vec::new();
        }
        let mut seen: FxHashSet<Vec<&str>> = FxHashSet::default();
        let all = self.agreeing().chain(&self.refused);
        let new = all.filter(|recipe| seen.insert(recipe.operators().collect()));
        new.take(CHOSEN).cloned().collect()
    }

    /// The instance with the most constants of ordinary size: little shows beside 0 and 1, or beside huge ones.
    pub(super) fn with_large_constants(&self) -> Option<&Recipe> {
        let is_large = |step: &&Step| matches!(step, Step::Fill { value, .. } if (2.0..1e3).contains(&value.abs()));
        let count = |recipe: &&Recipe| recipe.steps.iter().filter(is_large).count();
        self.agreeing().max_by_key(count).filter(|recipe| count(recipe) > 0)
    }

    /// For each list of ranks, but not too many, the instance with the fewest dimensions below 2, of which no two can be
    /// told apart.
    pub(super) fn of_each_rank(&self) -> Vec<&Recipe> {
        let small = |recipe: &Recipe| recipe.integers().iter().filter(|(_, n)| *n < 2).count();
        self.least_of_each(&|recipe| recipe.ranks(), &small)
    }

    /// For each highest rank of an operand, the instance with the fewest attributes above 1, such as strides: most
    /// shapes fit its calls.
    pub(super) fn of_each_highest_rank(&self) -> Vec<&Recipe> {
        let is_large = |(place, n): &(Place, i64)| *n > 1 && !matches!(place, Place::Extent(..));
        let large = |recipe: &Recipe| recipe.integers().iter().filter(|at| is_large(at)).count();
        self.least_of_each(&|recipe| recipe.ranks().into_iter().max().into_iter().collect(), &large)
    }

    /// For each list of ranks that `ranks` gives, but not too many, the first instance with the least weight.
    pub(super) fn least_of_each(
        &self,
        ranks: &dyn Fn(&Recipe) -> Vec<usize>,
        weight: &dyn Fn(&Recipe) -> usize,
    ) -> Vec<&Recipe> {
        let mut out: Vec<(&Recipe, Vec<usize>, usize)> = Vec::new();
        for recipe in self.agreeing() {
            let (own, weight) = (ranks(recipe), weight(recipe));
            match out.iter().position(|(_, other, _)| *other == own) {
                Some(k) if weight < out[k].2 => out[k] = (recipe, own, weight),
                None if out.len() < RANKED => out.push((recipe, own, weight)),
                _ => {}
            }
        }
        out.into_iter().map(|(recipe, ..)| recipe).collect()
    }

    /// For each of these instances, two of the same ranks: one with the fewest dimensions of 1, along which nothing can
    /// be mistaken, and one with the fewest attributes that are 0, which have no effect.
    pub(super) fn roomiest(&self, bases: &[usize]) -> Vec<usize> {
        let count = |i: usize, has: &dyn Fn(Place, i64) -> bool| {
            let all = self.pool[i].integers().into_iter();
            all.filter(|&(place, n)| has(place, n)).count()
        };
        let is_extent = |place: Place| matches!(place, Place::Extent(..));
        let small = |i: usize| count(i, &|place, n| is_extent(place) && n < 2);
        let zeros = |i: usize| count(i, &|place, n| !is_extent(place) && n == 0);
        let others = |i: usize| count(i, &|place, n| !is_extent(place) && n != 0);
        let mut out = Vec::new();
        for base in bases {
            let ranks = self.pool[*base].ranks();
            let alike = self.agreeing.iter().copied().filter(|&i| self.pool[i].ranks() == ranks);
            let alike: Vec<usize> = alike.collect();
            out.extend(alike.iter().copied().min_by_key(|&i| (small(i), i)));
            let idle = |i: usize| (zeros(i), std::cmp::Reverse(others(i)), small(i), i);
            out.extend(alike.iter().copied().min_by_key(|&i| idle(i)));
        }
        out
    }
}
