//! The enumerated part of a search: instances that mutation rarely finds, made from the first ones that agree.
//!
//! None of it depends on the seed of the options, except through instances that mutation has found.

mod chosen;
mod kinds;

use rustc_hash::FxHashSet;

use self::kinds::Kind;
use super::asked::{asks_for_types, computes, named_types};
use super::search::Search;
use crate::compare::finding::WrongInstance;
use crate::instance::mutate::{with_each_operator, with_optional_numbers, with_other_types};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use crate::instance::{interleaved, probe};
use crate::verdict::options::Options;
use tautomer_graph::VertexId;
use tautomer_rewrite::Sides;
use tautomer_rule::{PatternId, PatternNode};

/// The least number of instances tried of each kind, however few are asked for.
const LEAST: usize = 2;

/// Instances whose integer and boolean versions are tried.
const RETYPED: usize = 10;

/// The number of probed instances that are tried with integers or booleans as well.
const AGAIN: usize = 60;

/// The number of probed instances that are tried with constants whose elements differ.
const UNEVEN: usize = 200;

/// The number of instances whose operators are replaced.
const OPERATED: usize = 6;

/// The number of lists of operators for which numbers that may be left out are tried.
const OPTIONAL: usize = 24;

/// Limit on the instances of each kind, for each one that is asked for, if few can show a difference.
const BESIDE: usize = 3;

/// The number of instances for which counts and ranks are tried.
const PLAIN: usize = 2;

/// The number of instances for which all choices of axes are tried.
const CHOSEN: usize = 3;

/// Forms of a failed proof that are tried.
const FORMS: usize = 40;

/// Small worlds that are drawn, the instances among them that are tried, and the instances that they are like.
const WORLDS: usize = 5000;
const TRIED_WORLDS: usize = 500;
const LIKE: usize = 6;

/// Instances whose operands are broadcast along other axes, the changes of all of them, and limit on those that are
/// tried.
const MASKED: usize = 500;
const MASKS: usize = 6000;
const TRIED_MASKS: usize = 700;

impl Search<'_> {
    /// Tries one instance with each operator that variables of the rule may stand for, so that all of them are forms of
    /// the proof.
    pub(super) fn try_operators(&mut self, random: &mut Random) -> Option<WrongInstance> {
        if self.rule.operators.is_empty() {
            return None;
        }
        let bases = self.bases().into_iter().chain(self.agreeing.iter().rev().copied());
        let bases: Vec<Recipe> = bases.take(OPERATED).map(|i| self.pool[i].clone()).collect();
        let fits = |recipe: &Recipe| recipe.sides(self.trial).is_some_and(|sides| sides.types_agree());
        let mut waiting: Vec<(&str, Recipe)> = Vec::new();
        let named = named_types(self.rule);
        for base in &bases {
            for (name, next) in with_each_operator(base, self.rule) {
                let retyped = probe::with_discrete_types(&next, &named, &fits);
                waiting.extend([next].into_iter().chain(retyped).map(|next| (name, next)));
            }
        }
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        for i in &self.agreeing {
            seen.extend(self.pool[*i].operators());
        }
        let first = self.agreeing.len();
        for (name, next) in waiting {
            if seen.contains(name) {
                continue;
            }
            let before = self.agreeing.len();
            if let Some(found) = self.attempt(next, random) {
                return Some(found);
            }
            if self.agreeing.len() > before {
                seen.insert(name);
            }
        }
        self.operated = first..self.agreeing.len();
        None
    }

    /// Tries instances with each operator that variables of the rule may stand for again, with other element types in
    /// their attributes: what holds for one operator with all element types, and for all operators with one, need not
    /// hold for all of both.
    pub(super) fn try_operators_again(&mut self, random: &mut Random) -> Option<WrongInstance> {
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        let mut bases: Vec<Recipe> = Vec::new();
        for variable in &self.rule.operators {
            for choice in &variable.choices {
                let is_call = |step: &Step| matches!(step, Step::Call { def, .. } if std::ptr::eq(*def, *choice));
                let calls = |recipe: &&Recipe| recipe.steps.iter().any(is_call);
                let own = self.agreeing.iter().map(|&i| &self.pool[i]).find(calls);
                bases.extend(own.filter(|_| seen.insert(choice.name)).cloned());
            }
        }
        let lists = bases.iter().map(with_other_types).collect();
        interleaved(lists)
            .into_iter()
            .find_map(|next| self.attempt(next, random))
    }

    /// Tries instances of each operator once more, with numbers that may be left out, and are, given, and with those
    /// that are given left out.
    pub(super) fn try_optional_numbers(&mut self, random: &mut Random) -> Option<WrongInstance> {
        let mut seen: FxHashSet<Vec<&str>> = FxHashSet::default();
        let bases = self
            .agreeing()
            .filter(|recipe| seen.insert(recipe.operators().collect()));
        let waiting: Vec<Recipe> = bases.take(OPTIONAL).flat_map(with_optional_numbers).collect();
        let found = self.try_all(waiting, random);
        if !self.operated.is_empty() {
            self.operated.end = self.agreeing.len();
        }
        found
    }

    /// Tries one instance with each element type that it admits, and others with elements that are not real.
    pub(super) fn try_element_types(&mut self, options: &Options, random: &mut Random) -> Option<WrongInstance> {
        // The smallest instance is as good as any: the element types that operators admit do not depend on dimensions,
        // and forms with one spatial axis stand for those with more. But where every dimension is 1, elements seldom
        // show a difference.
        let weight = |i: &&usize| {
            let recipe = &self.pool[**i];
            let extents = (0..recipe.steps.len()).filter_map(|i| recipe.shape(i)).flatten();
            let (all, small) = extents.fold((0, 0), |(all, small), n| (all + 1, small + usize::from(*n < 2)));
            (all == small, recipe.ranks().iter().sum::<usize>(), small)
        };
        let has_axes = |i: &&usize| self.pool[**i].ranks().iter().any(|&rank| rank > 0);
        self.forms = self.agreeing.len();
        let base = self
            .agreeing
            .iter()
            .filter(has_axes)
            .filter(|i| self.is_apart(&self.pool[**i]))
            .min_by_key(weight)
            .or_else(|| self.agreeing.iter().filter(has_axes).min_by_key(weight))
            .or_else(|| self.agreeing.first());
        let base = self.pool[*base?].clone();
        let fits = |recipe: &Recipe| recipe.sides(self.trial).is_some_and(|sides| sides.types_agree());
        let named = named_types(self.rule);
        let types = probe::Types {
            asked: asks_for_types(self.rule),
            named: &named,
            computes: &|def, attr| computes(self.rule, def, attr),
        };
        let (all, complete) = probe::with_types(&base, &types, &fits);
        let first = self.bases();
        let roomy = self.roomiest(&first);
        let bases = first.into_iter().chain(roomy);
        let bases = bases.chain(self.agreeing.iter().rev().copied()).take(RETYPED);
        let discrete: Vec<Vec<Recipe>> = bases
            .map(|i| probe::with_discrete_types(&self.pool[i], &named, &fits))
            .collect();
        let enough = self.report.instances + options.instances.max(LEAST);
        self.all_types = complete;
        for next in all {
            if self.seen.contains(&next.fingerprint()) {
                continue;
            }
            if self.report.instances >= enough {
                // The others still become forms of the proof.
                self.uncompared.push(self.pool.len());
                self.pool.push(next);
                continue;
            }
            let before = self.agreeing.len();
            if let Some(found) = self.attempt(next, random) {
                return Some(found);
            }
            if self.agreeing.len() == before {
                // There is no data of that type, or no operator computes in it; it still becomes a form of the proof.
                self.uncompared.extend(self.pool.len().checked_sub(1));
            }
        }
        self.forms = self.agreeing.len();
        interleaved(discrete)
            .into_iter()
            .find_map(|next| self.attempt(next, random))
    }

    /// True if no two variables match one value: two that do have one element type, and much is equal there that is not
    /// elsewhere.
    fn is_apart(&self, recipe: &Recipe) -> bool {
        let Some(sides) = recipe.sides(self.trial) else {
            return false;
        };
        let is_variable = |at: PatternId| matches!(self.rule.source.node(at), PatternNode::Variable(_));
        let mut own: Vec<(VertexId, PatternId)> = Vec::new();
        for &(at, v) in sides.bound.iter().filter(|(at, _)| is_variable(*at)) {
            if own.iter().any(|&(u, other)| u == v && other != at) {
                return false;
            }
            own.push((v, at));
        }
        true
    }

    /// Tries instances that random search rarely finds: equal dimensions where types differed, every order of axes,
    /// numbers near those in the rule, sizes beyond them.
    pub(super) fn try_probes(&mut self, options: &Options, random: &mut Random) -> Option<WrongInstance> {
        // The first instances are plain; later ones are more varied.
        let mut bases = self.bases();
        bases.extend(self.roomiest(&bases));
        bases.extend(self.agreeing.get(self.agreeing.len() / 2));
        let mut seen: Vec<usize> = Vec::new();
        bases.retain(|i| {
            let is_new = !seen.contains(i);
            seen.push(*i);
            is_new
        });
        let mut bases: Vec<Recipe> = bases.into_iter().map(|i| self.pool[i].clone()).collect();
        bases.extend(self.of_alternatives());
        let first = self.agreeing.len();
        let worded = self.worded(&bases);
        let kinds = self.kinds(&bases);
        let more = self.kinds_of_words(&worded);
        kinds
            .into_iter()
            .chain(more)
            .find_map(|kind| self.try_kind(kind, options, random))
            .or_else(|| {
                // Most words fit no more than the shapes of one instance, so that what a proof could say about one that
                // the types refuse is little.
                let refused = self.refused.len();
                let attributes = self.all_attributes(&bases);
                let found = self.try_kind(attributes, options, random);
                self.refused.truncate(refused);
                found
            })
            .or_else(|| self.try_uneven_constants(first, random))
            .or_else(|| self.try_discrete_types(first, random))
    }

    /// Tries the recipes of one kind in turn, until enough of them can show a difference.
    fn try_kind(&mut self, kind: Kind, options: &Options, random: &mut Random) -> Option<WrongInstance> {
        let wanted = (options.instances / kind.part).max(LEAST);
        let (enough, most) = (self.telling + wanted, self.report.instances + BESIDE * wanted);
        for next in interleaved(kind.lists) {
            if self.telling >= enough || self.report.instances >= most {
                break;
            }
            if let Some(found) = self.attempt(next, random) {
                return Some(found);
            }
        }
        None
    }

    /// True for an instance that can show a difference: both sides have one type, and elements.
    fn tells(&self, recipe: &Recipe) -> bool {
        let sides = recipe.sides(self.trial).filter(Sides::types_agree);
        sides.is_some_and(|sides| sides.source.iter().all(|v| has_elements(&sides, *v)))
    }

    /// Tries some of the instances that agree, from the `first` on, with constants whose elements differ.
    fn try_uneven_constants(&mut self, first: usize, random: &mut Random) -> Option<WrongInstance> {
        let probed = self.agreeing[first..].iter().map(|&i| &self.pool[i]);
        let uneven: Vec<Recipe> = probed.filter_map(probe::with_uneven_constants).collect();
        let apart = uneven.len().div_ceil(UNEVEN).max(1);
        self.try_all(uneven.into_iter().step_by(apart).collect(), random)
    }

    /// Tries some of the instances that agree, from the `first` on, with integers and booleans: numbers that are rounded,
    /// and axes or sizes that are rare, may show a difference together alone.
    fn try_discrete_types(&mut self, first: usize, random: &mut Random) -> Option<WrongInstance> {
        let fits = |recipe: &Recipe| recipe.sides(self.trial).is_some_and(|sides| sides.types_agree());
        let named = named_types(self.rule);
        let probed = &self.agreeing[first..];
        let apart = probed.len().div_ceil(AGAIN).max(1);
        let waiting: Vec<Recipe> = probed
            .iter()
            .step_by(apart)
            .enumerate()
            .filter_map(|(n, &i)| {
                let mut all = probe::with_discrete_types(&self.pool[i], &named, &fits);
                (!all.is_empty()).then(|| all.swap_remove(n % all.len()))
            })
            .collect();
        self.try_all(waiting, random)
    }

    /// Tries the instances of a failed proof once more, with all dimensions equal: the formulas differ in one of their
    /// forms, and where dimensions are equal, the types hide it least.
    pub(super) fn try_forms(&mut self, random: &mut Random) -> Option<WrongInstance> {
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        let mut waiting: Vec<Recipe> = Vec::new();
        for i in &self.agreeing {
            let mut equal = probe::with_equal_extents(&self.pool[*i]).into_iter();
            waiting.extend(equal.next().filter(|next| seen.insert(next.fingerprint())));
        }
        waiting.truncate(FORMS);
        self.try_all(waiting, random)
    }

    /// Tries small worlds: what no proof covers may show where several things come together.
    pub(super) fn try_small_worlds(&mut self, random: &mut Random) -> Option<WrongInstance> {
        let mut bases: Vec<Recipe> = self.bases().into_iter().map(|i| self.pool[i].clone()).collect();
        bases.extend(self.of_each_rank().into_iter().cloned());
        bases.extend(self.of_alternatives());
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        bases.retain(|base| seen.insert(base.fingerprint()));
        bases.truncate(LIKE);
        let enough = self.telling + TRIED_WORLDS;
        for base in bases.iter().cycle().take(WORLDS) {
            if self.telling >= enough {
                break;
            }
            let next = probe::small_world(base, &self.numbers, random);
            if let Some(found) = self.attempt(next, random) {
                return Some(found);
            }
        }
        None
    }

    /// Tries the instances that agree with other operands broadcast, and along other axes.
    pub(super) fn try_masks(&mut self, random: &mut Random) -> Option<WrongInstance> {
        let bases: Vec<Recipe> = self.agreeing().cloned().collect();
        let apart = bases.len().div_ceil(MASKED).max(1);
        let mut left = TRIED_MASKS;
        for base in bases.iter().step_by(apart).cycle().take(MASKS) {
            let next = probe::with_masks(base, random);
            if left == 0 || self.seen.contains(&next.fingerprint()) || !self.tells(&next) {
                continue;
            }
            left -= 1;
            if let Some(found) = self.attempt(next, random) {
                return Some(found);
            }
        }
        None
    }

    /// Tries these instances.
    pub(super) fn try_all(&mut self, waiting: Vec<Recipe>, random: &mut Random) -> Option<WrongInstance> {
        waiting.into_iter().find_map(|next| self.attempt(next, random))
    }
}

/// False for a tensor that is known to be empty.
pub(super) fn has_elements(sides: &Sides, v: VertexId) -> bool {
    let shape = sides.graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref());
    shape.is_none_or(|dims| dims.iter().all(|d| d.as_const() != Some(0)))
}
