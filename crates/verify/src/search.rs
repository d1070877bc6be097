//! The search for instances of a rule: it starts from the seeds and mutates instances that inference accepts.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::grounds::Grounds;
use super::judge::{self, Apart, Finding, Terms, examine, same_bits};
use super::random::Random;
use super::recipe::Recipe;
use super::{Decided, Options, Report, change, class, coincide, probe, solve};
use tautomer_rewrite::{Sides, Trial};
use tautomer_rule::{Class, Rule};

/// Mutations tried to repair a recipe that inference rejects.
const MENDINGS: usize = 8;

/// Instances, of different ranks, that are varied one value at a time.
const BEGINNINGS: usize = 3;

/// For every so many instances asked for, one more with coinciding dimensions is tried.
const COINCIDENCES: usize = 2;

/// A rule is wrong if its target has no type or a type other than the source's at `NEVER` plain instances or more, and
/// over `OFTEN` times as often as the same type: engines would hardly ever apply it.
const NEVER: usize = 8;
const OFTEN: usize = 4;

/// How many of the instances where no engine applies the rule are kept.
const REFUSED: usize = 30;

/// The least number of instances tried of each kind, however few are asked for.
const LEAST: usize = 2;

/// A search for instances.
pub(super) struct Run<'a> {
    rule: &'a Arc<Rule>,
    words: change::Words,
    trial: &'a Trial,
    seen: FxHashSet<u64>,
    /// Instances so far, as bases for mutations; wrong ones are left out.
    pool: Vec<Recipe>,
    /// Those among them at which the sides agree.
    right: Vec<usize>,
    /// How many of those the proof takes its forms from: an instance with coinciding dimensions gives no new form.
    forms: usize,
    terms: Terms,
    pub(super) grounds: Grounds,
    /// Whether the bits are equal at all instances so far, if bits were compared at any.
    same_bits: Option<bool>,
    /// Instances where no engine applies the rule, because of the type of the target.
    refused: Vec<Recipe>,
    /// Indices into `pool` of instances with element types for which nothing was compared.
    typed: Vec<usize>,
    /// True if the instances cover all element types that operators and conditions admit.
    pub(super) all_types: bool,
    /// Plain instances at which the sides agree.
    applied: usize,
    /// Plain instances where no engine applies the rule.
    unapplied: usize,
    /// The first of these.
    never: Option<(Recipe, Sides)>,
    pub(super) report: Report,
}

/// An instance at which a rule is wrong: its two sides, and where they differ.
pub(super) type Found = (Recipe, Sides, Box<Apart>);

impl<'a> Run<'a> {
    pub(super) fn new(rule: &'a Arc<Rule>, trial: &'a Trial, options: &Options) -> Run<'a> {
        Run {
            rule,
            words: change::Words::of(rule),
            trial,
            seen: FxHashSet::default(),
            pool: Vec::new(),
            right: Vec::new(),
            forms: 0,
            terms: Terms::new(options.strict, options.laws),
            grounds: Grounds::default(),
            same_bits: None,
            refused: Vec::new(),
            typed: Vec::new(),
            all_types: false,
            applied: 0,
            unapplied: 0,
            never: None,
            report: Report::new(rule),
        }
    }

    /// Returns an instance at which the rule is wrong, if the search finds one; otherwise decides the class.
    pub(super) fn search(&mut self, seeds: Vec<Recipe>, options: &Options, random: &mut Random) -> Option<Found> {
        let found = self.wander(seeds, options, random);
        // Probes are made to break a rule: how often it applies to them says nothing.
        let plain = (self.applied, self.unapplied);
        let found = found.or_else(|| self.types(options, random));
        self.forms = self.right.len();
        found
            .or_else(|| self.one_by_one(options, random))
            .or_else(|| self.coincide(options, random))
            .or_else(|| self.seldom(plain))
            .or_else(|| self.decide_class(options, random))
    }

    /// Instances where no engine applies the rule, because of the type of the target.
    pub(super) fn refused(&self) -> &[Recipe] {
        &self.refused
    }

    /// The instances at which the sides agree.
    pub(super) fn right(&self) -> impl Iterator<Item = &Recipe> {
        self.right.iter().map(|&i| &self.pool[i])
    }

    /// The instances that the proof takes its forms from.
    pub(super) fn forms(&self) -> Vec<&Recipe> {
        let typed = self.typed.iter().map(|&i| &self.pool[i]);
        self.right().take(self.forms).chain(typed).collect()
    }

    /// Tries the seeds, then mutations of them.
    fn wander(&mut self, seeds: Vec<Recipe>, options: &Options, random: &mut Random) -> Option<Found> {
        for recipe in seeds {
            if let Some(found) = self.attempt(recipe, random) {
                return Some(found);
            }
        }
        let most = options.instances.saturating_mul(options.attempts);
        // Every relevant value of each attribute first, with at most half of the budget.
        let begin = self.beginnings().into_iter();
        let begin = begin
            .map(|i| change::variants(&self.pool[i], &self.words, random))
            .collect();
        for next in in_turn(begin) {
            if 2 * self.report.instances >= options.instances || 2 * self.report.attempts >= most {
                break;
            }
            if let Some(found) = self.attempt(mend(next, random), random) {
                return Some(found);
            }
        }
        while self.report.instances < options.instances && self.report.attempts < most {
            let next = self.next(&[], random)?;
            if let Some(found) = self.attempt(next, random) {
                return Some(found);
            }
        }
        None
    }

    /// Tries one instance with each element type that it admits.
    fn types(&mut self, options: &Options, random: &mut Random) -> Option<Found> {
        // The smallest instance is as good as any: the element types that operators admit do not depend on dimensions.
        let size = |i: &&usize| self.pool[**i].ranks().iter().sum::<usize>();
        let has_axes = |i: &&usize| self.pool[**i].ranks().iter().any(|&rank| rank > 0);
        let base = self
            .right
            .iter()
            .filter(has_axes)
            .min_by_key(size)
            .or_else(|| self.right.first());
        let base = self.pool[*base?].clone();
        let fits = |recipe: &Recipe| {
            let built = recipe.build().ok();
            let sides = built.and_then(|(graph, roots)| self.trial.sides(graph, Some(&roots)));
            sides.is_some_and(|sides| sides.types_agree())
        };
        let (all, complete) = probe::with_types(&base, &fits);
        let enough = self.report.instances + options.instances.max(LEAST);
        self.all_types = complete;
        for next in all {
            if self.seen.contains(&next.fingerprint()) {
                continue;
            }
            if self.report.instances >= enough {
                // The others still become forms of the proof.
                self.typed.push(self.pool.len());
                self.pool.push(next);
                continue;
            }
            let right = self.right.len();
            if let Some(found) = self.attempt(next, random) {
                return Some(found);
            }
            if self.right.len() == right {
                // There is no data of that type, or no operator computes in it; it still becomes a form of the proof.
                self.typed.extend(self.pool.len().checked_sub(1));
            }
        }
        None
    }

    /// Tries instances that random search rarely finds: equal dimensions where types differed, every order of axes,
    /// numbers near those in the rule, sizes beyond them.
    fn one_by_one(&mut self, options: &Options, random: &mut Random) -> Option<Found> {
        // A generator of its own, so that the number of draws here does not change the rest of the search.
        let mut own = Random::part(options.seed, "one by one");
        // The first instances are plain; later ones are more varied.
        let mut beginnings = self.beginnings();
        let some = [1, 2, 3].map(|part| self.right.get(part * self.right.len() / 4).copied());
        beginnings.extend(some.into_iter().flatten());
        beginnings.dedup();
        let bases: Vec<Recipe> = beginnings.into_iter().map(|i| self.pool[i].clone()).collect();
        let numbers = bases
            .iter()
            .flat_map(|r| probe::with_numbers(r, &self.words, &mut own))
            .collect();
        let operators = bases.first().map(|r| change::with_operators(r, &self.words, &mut own));
        let kinds: [Vec<Vec<Recipe>>; 9] = [
            operators.unwrap_or_default(),
            self.refused.iter().map(probe::with_equal_extents).collect(),
            bases.iter().map(probe::with_orders).collect(),
            bases.iter().map(probe::with_moved_axes).collect(),
            numbers,
            bases.iter().map(|r| probe::with_sizes(r, &self.words)).collect(),
            bases.iter().map(|r| probe::with_windows(r, &mut own)).collect(),
            bases.iter().map(|r| probe::with_integers(r, &mut own)).collect(),
            bases.iter().map(|r| probe::with_small_extents(r, &mut own)).collect(),
        ];
        for lists in kinds {
            let enough = self.report.instances + (options.instances / 4).max(LEAST);
            for next in in_turn(lists) {
                if self.report.instances >= enough {
                    break;
                }
                if let Some(found) = self.attempt(next, random) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// Tries known instances again with coinciding dimensions.
    fn coincide(&mut self, options: &Options, random: &mut Random) -> Option<Found> {
        // A generator of its own, so that the number of draws here does not change the rest of the search.
        let mut apart = Random::part(options.seed, "coincidences");
        let lists = self.beginnings().into_iter();
        let lists = lists
            .flat_map(|i| coincide::coincidences(&self.pool[i], &mut apart))
            .collect();
        let enough = self.report.instances + options.instances / COINCIDENCES;
        for next in in_turn(lists) {
            if self.report.instances >= enough {
                break;
            }
            if let Some(found) = self.attempt(mend(next, random), random) {
                return Some(found);
            }
        }
        None
    }

    /// The first instances with different ranks.
    fn beginnings(&self) -> Vec<usize> {
        let (mut ranks, mut out) = (Vec::new(), Vec::new());
        for &i in &self.right {
            let own = self.pool[i].ranks();
            if out.len() < BEGINNINGS && !ranks.contains(&own) {
                ranks.push(own);
                out.push(i);
            }
        }
        out
    }

    /// A mutation of a recipe in the pool, or of one of `more`.
    pub(super) fn next(&self, more: &[Recipe], random: &mut Random) -> Option<Recipe> {
        let all = self.pool.len() + more.len();
        if all == 0 {
            return None;
        }
        // Mutating the newest recipes leads away from the seeds; mutating the others leads back.
        let from = if random.chance(1, 3) {
            all - 1 - random.below(all.min(4))
        } else if random.chance(1, 4)
            && let Some(right) = random.pick(&self.right)
        {
            right
        } else {
            random.below(all)
        };
        let from = self.pool.get(from).unwrap_or_else(|| &more[from - self.pool.len()]);
        let mut next = change::changed(from, &self.words, random);
        if random.chance(1, 3) {
            next = change::changed(&next, &self.words, random);
        }
        Some(mend(next, random))
    }

    /// Compares the sides at a new instance; returns it if they differ.
    pub(super) fn attempt(&mut self, recipe: Recipe, random: &mut Random) -> Option<Found> {
        self.report.attempts += 1;
        if !self.seen.insert(recipe.fingerprint()) {
            return None;
        }
        let (graph, roots) = recipe.build().ok()?;
        let sides = self.trial.sides(graph, Some(&roots))?;
        match examine(self.rule, &sides, &mut self.terms, random) {
            Finding::Apart(apart) => {
                self.report.instances += 1;
                return Some((recipe, sides, apart));
            }
            Finding::Agree(ground) => {
                self.report.instances += 1;
                self.applied += usize::from(recipe.is_plain());
                *self.report.systems.entry(ground.system()).or_default() += 1;
                self.grounds.add(ground);
                self.right.push(self.pool.len());
                if self.rule.class == Class::Bitwise {
                    self.same_bits = Some(true);
                } else if self.same_bits != Some(false) {
                    self.same_bits = same_bits(self.rule, &sides, self.terms.turn, random).or(self.same_bits);
                }
            }
            Finding::Refused(reason) => {
                self.report.refused += 1;
                self.report.refusal.get_or_insert(reason);
                if self.refused.len() < REFUSED {
                    self.refused.push(recipe.clone());
                }
                self.unapplied += usize::from(recipe.is_plain());
                if recipe.is_plain() && self.never.is_none() {
                    self.never = Some((recipe.clone(), sides));
                }
            }
            Finding::Unknown => {}
        }
        self.pool.push(recipe);
        None
    }

    /// An instance where no engine applies the rule, if engines rarely do.
    fn seldom(&mut self, (applied, unapplied): (usize, usize)) -> Option<Found> {
        if unapplied < NEVER || unapplied <= OFTEN * applied {
            return None;
        }
        let (recipe, sides) = self.never.take()?;
        let apart = Box::new(judge::untyped(&sides));
        Some((recipe, sides, apart))
    }

    /// Decides the class, by sweeps over many numbers where possible; returns numbers at which bits differ if the rule
    /// declares `bitwise`.
    fn decide_class(&mut self, options: &Options, random: &mut Random) -> Option<Found> {
        let measured = self.terms.measured;
        (self.report.loose, self.report.error) = (measured.loose, measured.error);
        let mut sweeps = Vec::new();
        if self.same_bits == Some(true) {
            let recipes: Vec<&Recipe> = self.right().collect();
            let extent = (options.patterns, options.exhaustive);
            match class::sweep(self.rule, self.trial, &recipes, extent, random) {
                Ok(found) => sweeps = found,
                Err(found) if self.rule.class == Class::Bitwise => return Some(*found),
                Err(_) => self.same_bits = Some(false),
            }
        }
        let class = match (self.same_bits, self.rule.class) {
            (Some(true), _) => Class::Bitwise,
            (_, Class::Approx(_)) if measured.error > 0.0 => Class::Approx(measured.error),
            _ => Class::Real,
        };
        self.report.class = (self.report.instances > 0).then_some(Decided { class, sweeps });
        None
    }
}

/// The first of each list, the second of each, and so on.
fn in_turn(lists: Vec<Vec<Recipe>>) -> Vec<Recipe> {
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

/// Mutates the recipe until inference accepts it, in a few attempts: a mutation is kept if inference gets at least as
/// far as before.
pub(super) fn mend(mut recipe: Recipe, random: &mut Random) -> Recipe {
    let mut failing = recipe.build().err();
    for _ in 0..MENDINGS {
        let Some(step) = failing else { break };
        let next = if random.chance(1, 2) {
            solve::solved(&recipe, step, random)
        } else {
            change::mended(&recipe, step, random)
        };
        let after = next.build().err();
        if after.is_none_or(|after| after >= step) {
            (recipe, failing) = (next, after);
        }
    }
    recipe
}
