//! The search for instances of a rule: it starts from the seeds and mutates instances that inference accepts.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::probes::has_elements;
use super::reached::Parts;
use crate::compare::bits::same_bits;
use crate::compare::comparer::Comparer;
use crate::compare::finding::{Finding, WrongInstance};
use crate::compare::sides::type_mismatch;
use crate::compare::sweep::{Decided, SweepSize, sweep};
use crate::instance::mutate::{RuleNumbers, mutated, variants};
use crate::instance::random::Random;
use crate::instance::recipe::Recipe;
use crate::instance::{coincide, interleaved, legalized};
use crate::verdict::evidence::EvidenceCounts;
use crate::verdict::options::Options;
use crate::verdict::report::Report;
use tautomer_rewrite::{Sides, Trial};
use tautomer_rule::{Class, Rule};

/// Instances, of different ranks, that are varied one value at a time.
const BASES: usize = 3;

/// For each group of this many requested instances, one more with coinciding dimensions is tried.
const COINCIDENCES: usize = 2;

/// A rule is wrong if its target has no type or a type other than the source's at `NEVER` plain instances or more, and
/// over `OFTEN` times as often as the same type: engines would hardly ever apply it.
const NEVER: usize = 8;
const OFTEN: usize = 4;

/// How many of the instances where no engine applies the rule are kept.
const REFUSED: usize = 30;

/// A search for an instance at which a rule is wrong.
pub(crate) struct Search<'a> {
    pub(super) rule: &'a Arc<Rule>,
    pub(super) numbers: RuleNumbers,
    pub(super) trial: &'a Trial,
    pub(super) seen: FxHashSet<u64>,
    /// Instances so far, as bases for mutations; wrong ones are left out.
    pub(super) pool: Vec<Recipe>,
    /// Indices of the instances at which the sides agree.
    pub(super) agreeing: Vec<usize>,
    /// How many of these the proof takes its forms from: an instance with coinciding dimensions gives no new form.
    pub(super) forms: usize,
    /// The range of those that have an operator that no other instance has.
    pub(super) operated: std::ops::Range<usize>,
    pub(super) comparer: Comparer,
    pub(crate) evidence: EvidenceCounts,
    /// Whether the bits are equal at all instances so far, if bits were compared at any.
    same_bits: Option<bool>,
    /// Instances where no engine applies the rule, because of the type of the target.
    pub(super) refused: Vec<Recipe>,
    /// True if no operand is empty at one of them.
    pub(crate) refuses_elements: bool,
    /// True if no result has elements at the instances at which the sides agree.
    pub(crate) is_empty: bool,
    /// Indices into `pool` of instances with element types for which nothing was compared.
    pub(super) uncompared: Vec<usize>,
    /// True if the instances cover all element types that operators and conditions admit.
    pub(crate) all_types: bool,
    plain: PlainCounts,
    /// Instances so far at which the results have elements and the target is more than the source once more.
    pub(super) telling: usize,
    /// Whether the target has a type at some instance.
    is_built: bool,
    /// The parts of the rule and how often each is reached, if that is to be counted.
    pub(super) parts: Option<Parts>,
    /// The first plain instance where no engine applies the rule.
    first_refused: Option<(Recipe, Sides)>,
    pub(crate) report: Report,
}

/// How often engines apply the rule to plain instances.
#[derive(Debug, Clone, Copy, Default)]
struct PlainCounts {
    /// Instances at which the sides agree.
    applied: usize,
    /// Instances where no engine applies the rule.
    refused: usize,
}

impl<'a> Search<'a> {
    pub(crate) fn new(rule: &'a Arc<Rule>, trial: &'a Trial, options: &Options) -> Search<'a> {
        Search {
            rule,
            numbers: RuleNumbers::of(rule),
            trial,
            seen: FxHashSet::default(),
            pool: Vec::new(),
            agreeing: Vec::new(),
            forms: 0,
            operated: 0..0,
            comparer: Comparer::new(options.strict, options.laws),
            evidence: EvidenceCounts::default(),
            same_bits: None,
            refused: Vec::new(),
            refuses_elements: false,
            uncompared: Vec::new(),
            all_types: false,
            plain: PlainCounts::default(),
            telling: 0,
            is_empty: true,
            is_built: false,
            parts: None,
            first_refused: None,
            report: Report::new(rule),
        }
    }

    /// Returns an instance at which the rule is wrong, if the search finds one; otherwise decides the class.
    pub(crate) fn search(
        &mut self,
        seeds: impl Iterator<Item = Recipe>,
        options: &Options,
        random: &mut Random,
    ) -> Option<WrongInstance> {
        let found = self.try_mutations(seeds, options, random);
        // Probes are made to break a rule: how often it applies to them says nothing.
        let plain = self.plain;
        found
            .or_else(|| self.try_operators(random))
            .or_else(|| self.try_optional_numbers(random))
            .or_else(|| self.try_element_types(options, random))
            .or_else(|| self.try_operators_again(random))
            .or_else(|| self.try_failures(random))
            .or_else(|| self.try_probes(options, random))
            .or_else(|| self.try_coincidences(options, random))
            .or_else(|| self.try_matches(options))
            .or_else(|| self.rarely_applied(plain))
            .or_else(|| self.decide_class(options, random))
    }

    /// Instances where no engine applies the rule, because of the type of the target.
    pub(crate) fn refused(&self) -> &[Recipe] {
        &self.refused
    }

    /// The instances at which the sides agree.
    pub(crate) fn agreeing(&self) -> impl Iterator<Item = &Recipe> {
        self.agreeing.iter().map(|&i| &self.pool[i])
    }

    /// The instances that the proof takes its forms from, with all operators or with those that were found first.
    pub(crate) fn forms(&self, all_operators: bool) -> Vec<&Recipe> {
        let uncompared = self.uncompared.iter().map(|&i| &self.pool[i]);
        let compared = self.agreeing().enumerate().take(self.forms);
        let compared = compared.filter(|(i, _)| all_operators || !self.operated.contains(i));
        compared.map(|(_, recipe)| recipe).chain(uncompared).collect()
    }

    /// Tries the seeds, then mutations of them.
    fn try_mutations(
        &mut self,
        seeds: impl Iterator<Item = Recipe>,
        options: &Options,
        random: &mut Random,
    ) -> Option<WrongInstance> {
        for recipe in seeds {
            if let Some(found) = self.attempt(recipe, random) {
                return Some(found);
            }
        }
        let most = options.instances.saturating_mul(options.attempts);
        // Every relevant value of each attribute first, with at most half of the budget.
        let begin = self.bases().into_iter();
        let begin = begin.map(|i| variants(&self.pool[i], &self.numbers, random)).collect();
        for next in interleaved(begin) {
            if 2 * self.report.instances >= options.instances || 2 * self.report.attempts >= most {
                break;
            }
            if let Some(found) = self.attempt(legalized(next, random), random) {
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

    /// Tries known instances again with coinciding dimensions.
    fn try_coincidences(&mut self, options: &Options, random: &mut Random) -> Option<WrongInstance> {
        // A generator of its own, so that the number of draws here does not change the rest of the search.
        let mut own = Random::part(options.seed, "coincidences");
        let lists = self.bases().into_iter();
        let lists = lists
            .flat_map(|i| coincide::coincidences(&self.pool[i], &mut own))
            .collect();
        let enough = self.report.instances + options.instances / COINCIDENCES;
        for next in interleaved(lists) {
            if self.report.instances >= enough {
                break;
            }
            if let Some(found) = self.attempt(legalized(next, random), random) {
                return Some(found);
            }
        }
        None
    }

    /// The first instances with different ranks.
    pub(super) fn bases(&self) -> Vec<usize> {
        let (mut ranks, mut out) = (Vec::new(), Vec::new());
        for &i in &self.agreeing {
            let own = self.pool[i].ranks();
            if out.len() < BASES && !ranks.contains(&own) {
                ranks.push(own);
                out.push(i);
            }
        }
        out
    }

    /// A mutation of a recipe in the pool, or of one of `more`.
    pub(crate) fn next(&self, more: &[Recipe], random: &mut Random) -> Option<Recipe> {
        let all = self.pool.len() + more.len();
        if all == 0 {
            return None;
        }
        // Mutating the newest recipes leads away from the seeds; mutating the others leads back.
        let from = if random.chance(1, 3) {
            all - 1 - random.below(all.min(4))
        } else if random.chance(1, 4)
            && let Some(agreeing) = random.pick(&self.agreeing)
        {
            agreeing
        } else {
            random.below(all)
        };
        let from = self.pool.get(from).unwrap_or_else(|| &more[from - self.pool.len()]);
        let mut next = mutated(from, &self.numbers, random);
        if random.chance(1, 3) {
            next = mutated(&next, &self.numbers, random);
        }
        Some(legalized(next, random))
    }

    /// Compares the sides at a new instance; returns it if they differ.
    pub(crate) fn attempt(&mut self, recipe: Recipe, random: &mut Random) -> Option<WrongInstance> {
        self.report.attempts += 1;
        if !self.seen.insert(recipe.fingerprint()) {
            return None;
        }
        let Some(sides) = recipe.sides(self.trial) else {
            self.parts.iter_mut().for_each(|parts| parts.rejected(&recipe));
            return None;
        };
        self.is_built |= sides.target.is_ok();
        match self.comparer.compare(self.rule, &sides, random) {
            Finding::Mismatch(mismatch) => {
                self.report.instances += 1;
                return Some(WrongInstance {
                    recipe,
                    sides,
                    mismatch,
                });
            }
            Finding::Agree(evidence) => {
                self.report.instances += 1;
                // At other instances nothing could differ.
                let is_same = sides.target.as_ref().is_ok_and(|target| *target == sides.source);
                let is_empty = !sides.source.iter().any(|v| has_elements(&sides, *v));
                self.telling += usize::from(!is_same && !is_empty);
                self.is_empty &= is_empty;
                self.plain.applied += usize::from(recipe.is_plain());
                *self.report.systems.entry(evidence.system()).or_default() += 1;
                self.evidence.add(evidence);
                self.agreeing.push(self.pool.len());
                self.parts.iter_mut().for_each(|parts| parts.compared(&sides.watched));
                if self.rule.class == Class::Bitwise {
                    self.same_bits = Some(true);
                } else if self.same_bits != Some(false) {
                    self.same_bits = same_bits(self.rule, &sides, self.comparer.turn(), random).or(self.same_bits);
                }
            }
            Finding::Refused(reason) => {
                self.report.refused += 1;
                self.refuses_elements |= !recipe.has_empty_leaf();
                self.report.refusal.get_or_insert(reason);
                if self.refused.len() < REFUSED {
                    self.refused.push(recipe.clone());
                }
                self.plain.refused += usize::from(recipe.is_plain());
                if recipe.is_plain() && self.first_refused.is_none() {
                    self.first_refused = Some((recipe.clone(), sides));
                }
            }
            Finding::Unknown => {}
        }
        self.pool.push(recipe);
        None
    }

    /// True if the rule matches instances, and its target has no type at any.
    pub(super) fn target_is_never_built(&self) -> bool {
        self.report.refused > 0 && !self.is_built
    }

    /// An instance where no engine applies the rule, if engines rarely do.
    fn rarely_applied(&mut self, plain: PlainCounts) -> Option<WrongInstance> {
        if plain.refused < NEVER || plain.refused <= OFTEN * plain.applied {
            return None;
        }
        if self.target_is_never_built() {
            return None;
        }
        let (recipe, sides) = self.first_refused.take()?;
        let mismatch = Box::new(type_mismatch(&sides));
        Some(WrongInstance {
            recipe,
            sides,
            mismatch,
        })
    }

    /// Decides the class, by sweeps over many numbers where possible; returns numbers at which bits differ if the rule
    /// declares `bitwise`.
    fn decide_class(&mut self, options: &Options, random: &mut Random) -> Option<WrongInstance> {
        let measured = self.comparer.measured();
        (self.report.loose, self.report.error) = (measured.loose, measured.error);
        let mut sweeps = Vec::new();
        if self.same_bits == Some(true) {
            let recipes: Vec<&Recipe> = self.agreeing().collect();
            let size = if options.exhaustive {
                SweepSize::Exhaustive
            } else {
                SweepSize::Patterns(options.patterns)
            };
            match sweep(self.rule, self.trial, &recipes, size, random) {
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
