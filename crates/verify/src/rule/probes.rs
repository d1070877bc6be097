//! The enumerated part of a search: instances that mutation rarely finds, made from the first ones that agree.
//!
//! None of it depends on the seed of the options, except through instances that mutation has found.

use rustc_hash::FxHashSet;

use super::search::Search;
use crate::compare::finding::WrongInstance;
use crate::instance::mutate::{Place, with_each_operator, with_operators, with_optional_numbers, with_other_types};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use crate::instance::{coincide, interleaved, legalized, probe};
use crate::verdict::options::Options;
use tautomer_diag::Span;
use tautomer_graph::VertexId;
use tautomer_lang::ast::ExprKind;
use tautomer_op::{AttrKind, AttrValue, OpDef};
use tautomer_rewrite::Sides;
use tautomer_rule::{AttrPattern, Class, PatternId, PatternNode, Rule};
use tautomer_tensor::DType;

/// The least number of instances tried of each kind, however few are asked for.
const LEAST: usize = 2;

/// Instances whose integer and boolean versions are tried.
const RETYPED: usize = 10;

/// The number of probed instances that are tried with integers or booleans as well.
const AGAIN: usize = 60;

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

/// The number of instances, of different ranks, of which reshapes are split.
const RANKED: usize = 6;

/// The number of instances with reversed axes for which all orders of axes are tried.
const REVERSED: usize = 4;

/// The number of instances without a type for the target in which dimensions are made equal.
const MERGED: usize = 12;

/// The number of instances with other words and flags that are probed.
const WORDED: usize = 4;

/// Forms of a failed proof that are tried.
const FORMS: usize = 40;

/// Small worlds that are drawn, the instances among them that are tried, and the instances that they are like.
const WORLDS: usize = 5000;
const TRIED_WORLDS: usize = 500;
const LIKE: usize = 6;

/// Windows that are tried under each of these.
const WINDOWS: usize = 150;

/// Recipes of one kind, with a list for each instance that they come from, and their share of the budget.
struct Kind {
    lists: Vec<Vec<Recipe>>,
    part: usize,
}

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

    /// Words, flags and numbers of all calls at once, also beside constants that other kinds have found.
    fn all_attributes(&self, bases: &[Recipe]) -> Kind {
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

    /// True for an instance that can show a difference: both sides have one type, and elements.
    fn tells(&self, recipe: &Recipe) -> bool {
        let sides = recipe.sides(self.trial).filter(Sides::types_agree);
        sides.is_some_and(|sides| sides.source.iter().all(|v| has_elements(&sides, *v)))
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

    /// Tries these instances.
    pub(super) fn try_all(&mut self, waiting: Vec<Recipe>, random: &mut Random) -> Option<WrongInstance> {
        waiting.into_iter().find_map(|next| self.attempt(next, random))
    }

    /// If the source has alternatives: the first instance with each list of operators, but not too many.
    fn of_alternatives(&self) -> Vec<Recipe> {
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
    fn with_large_constants(&self) -> Option<&Recipe> {
        let is_large = |step: &&Step| matches!(step, Step::Fill { value, .. } if (2.0..1e3).contains(&value.abs()));
        let count = |recipe: &&Recipe| recipe.steps.iter().filter(is_large).count();
        self.agreeing().max_by_key(count).filter(|recipe| count(recipe) > 0)
    }

    /// For each list of ranks, but not too many, the instance with the fewest dimensions below 2, of which no two can be
    /// told apart.
    fn of_each_rank(&self) -> Vec<&Recipe> {
        let small = |recipe: &Recipe| recipe.integers().iter().filter(|(_, n)| *n < 2).count();
        self.least_of_each(&|recipe| recipe.ranks(), &small)
    }

    /// For each highest rank of an operand, the instance with the fewest attributes above 1, such as strides: most
    /// shapes fit its calls.
    fn of_each_highest_rank(&self) -> Vec<&Recipe> {
        let is_large = |(place, n): &(Place, i64)| *n > 1 && !matches!(place, Place::Extent(..));
        let large = |recipe: &Recipe| recipe.integers().iter().filter(|at| is_large(at)).count();
        self.least_of_each(&|recipe| recipe.ranks().into_iter().max().into_iter().collect(), &large)
    }

    /// For each list of ranks that `ranks` gives, but not too many, the first instance with the least weight.
    fn least_of_each(&self, ranks: &dyn Fn(&Recipe) -> Vec<usize>, weight: &dyn Fn(&Recipe) -> usize) -> Vec<&Recipe> {
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
    fn roomiest(&self, bases: &[usize]) -> Vec<usize> {
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

    fn kinds(&self, bases: &[Recipe]) -> Vec<Kind> {
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
        let agree = &|recipe: &Recipe| recipe.sides(self.trial).is_some_and(|sides| sides.types_agree());
        let reshaped = bases.iter().take(PLAIN);
        let reshaped = reshaped.map(|r| probe::with_reshapes(r, agree, moved)).collect();
        let ranks = self.of_each_rank();
        let split: Vec<Recipe> = ranks.into_iter().flat_map(probe::with_split_extents).collect();
        let merged = self.refused.iter().take(MERGED).chain(&split);
        let merged = merged.map(|r| probe::with_merged_extents(r, agree)).collect();
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
        let conditional = bases
            .iter()
            .take(if self.rule.conditions.is_empty() { 0 } else { PLAIN });
        let boundaries = conditional
            .clone()
            .flat_map(|r| probe::with_boundaries(r, tells))
            .collect();
        let elements = conditional.map(|r| probe::with_elements(r, tells)).collect();
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
            kind(2, lists),
            kind(2, each(&mut probe::with_moved_axes)),
            kind(2, axes(all_at_once)),
            kind(2, single),
            kind(1, ends),
            kind(1, each(&mut |r| probe::with_all_numbers(r, numbers, own))),
            kind(4, each(&mut |r| probe::with_close_numbers(r, numbers, close))),
            kind(4, tied),
            kind(
                4,
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
            kind(2, each(&mut |r| probe::with_windows(r, tells, own))),
            kind(4, padding),
            kind(2, each(&mut |r| probe::with_integers(r, fits, agrees, own))),
            kind(3, each(&mut |r| probe::with_small_extents(r, own))),
            kind(4, each(&mut |r| probe::with_all_orders(r, numbers, all_at_once))),
            // Once more, with other random choices.
            kind(2, axes(all_at_once)),
            kind(2, everything),
            kind(4, each(&mut probe::with_lists)),
            kind(4, each(&mut probe::with_parts)),
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
    fn kinds_of_words(&self, bases: &[Recipe]) -> Vec<Kind> {
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
    fn windows_of_words(&self, random: &mut Random) -> Vec<Vec<Recipe>> {
        let Some(base) = self.bases().first().map(|&i| &self.pool[i]) else {
            return Vec::new();
        };
        coincide::worded(base)
            .iter()
            .take(WORDED)
            .map(|next| {
                probe::with_windows(next, &|recipe| self.tells(recipe), random)
                    .into_iter()
                    .take(WINDOWS)
                    .collect()
            })
            .collect()
    }

    /// The first instances with each word and flag of each attribute that they do not have.
    fn worded(&self, bases: &[Recipe]) -> Vec<Recipe> {
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

/// The element types that the text of a rule names.
pub(super) fn named_types(rule: &Rule) -> Vec<DType> {
    let mut out: Vec<DType> = Vec::new();
    let mut add = |dtype: DType| {
        if !out.contains(&dtype) {
            out.push(dtype);
        }
    };
    for (_, node) in rule.source.nodes() {
        if let PatternNode::Call { attrs, .. } = node {
            for attr in attrs {
                if let AttrPattern::Value(AttrValue::DType(dtype)) = attr {
                    add(*dtype);
                }
            }
        }
    }
    let inside = |span: Span| span.start >= rule.span.start && span.end <= rule.span.end;
    for (_, expr) in rule.ast.iter().filter(|(_, expr)| inside(expr.span)) {
        if let ExprKind::Name(name) = &expr.kind
            && let Ok(dtype) = name.parse()
        {
            add(dtype);
        }
    }
    out
}

/// True if conditions or attributes of the source ask for element types.
fn asks_for_types(rule: &Rule) -> bool {
    let computed = rule.source.nodes().flat_map(|(_, node)| match node {
        PatternNode::Call { attrs, .. } => attrs.as_slice(),
        _ => &[],
    });
    let computed = computed.filter_map(|attr| match attr {
        AttrPattern::Computed(id) => Some(*id),
        _ => None,
    });
    rule.conditions
        .iter()
        .copied()
        .chain(computed)
        .any(|id| rule.ast.mentions(id, &|name| name == "dtype"))
}

/// True if the source computes that attribute of such an operator.
fn computes(rule: &Rule, def: &OpDef, attr: usize) -> bool {
    rule.source.nodes().any(|(_, node)| match node {
        PatternNode::Call { def: own, attrs, .. } => {
            std::ptr::eq(*own, def) && matches!(attrs.get(attr), Some(AttrPattern::Computed(_)))
        }
        _ => false,
    })
}

/// True if the source leaves an attribute open that is an element type.
fn has_open_type(rule: &Rule) -> bool {
    rule.source.nodes().any(|(_, node)| match node {
        PatternNode::Call { def, attrs, .. } => def.attrs.iter().zip(attrs).any(|(declared, attr)| {
            let is_open = matches!(attr, AttrPattern::Bind(_) | AttrPattern::Rest(_) | AttrPattern::Any);
            matches!(declared.kind, AttrKind::DType) && is_open
        }),
        _ => false,
    })
}

/// False for a tensor that is known to be empty.
pub(super) fn has_elements(sides: &Sides, v: VertexId) -> bool {
    let shape = sides.graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref());
    shape.is_none_or(|dims| dims.iter().all(|d| d.as_const() != Some(0)))
}
