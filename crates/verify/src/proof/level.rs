//! A proof attempt at one level of generality: its forms, one after the other, and what they cover.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::cases::{CASES, Given, Proved, Unproved, prove_from};
use super::certificate::Trail;
use super::conditions::{self, Named};
use super::facts::Effort;
use super::form::{Form, has_sized_constants};
use super::ranks::{self, Ranks};
use super::scope::{Found, Level, Ordered, Prepared, Scope};
use super::{Coverage, EFFORT, Task};
use crate::instance::mutate::Place;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::AttrValue;
use tautomer_rewrite::Trial;
use tautomer_rule::Class;

/// Limit on the forms whose numbers are in different orders.
const ORDERED: usize = 20_000;

/// Limit on the combinations of booleans and words that are proved for one form.
const WORDS: usize = 64;

/// Limit on the cases of a form with few axes that stands for one with more.
const FEWER: usize = 4000;

/// A proof attempt that generalizes instances up to a level.
pub(super) struct AtLevel<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) scope: &'a Scope<'a>,
    pub(super) trial: &'a Trial,
    pub(super) level: Level,
    /// Numbers that are to be in every order.
    pub(super) ordered: Option<&'a Ordered>,
    /// Forms whose proof says nothing about the rule are left out, whichever they are, and no form takes more than half
    /// of the effort that is left.
    pub(super) lenient: bool,
}

impl AtLevel<'_> {
    pub(super) fn prepared(&self, recipe: &Recipe, second: bool) -> Option<Prepared> {
        self.scope.prepared(recipe, self.task.trial, self.level, second)
    }

    /// The distinct forms of the instances at which the sides agree. In one form, variables may match one leaf or
    /// another.
    pub(super) fn forms(&self, second: bool) -> Vec<Prepared> {
        let mut seen: FxHashSet<(Recipe, Named)> = FxHashSet::default();
        let floats_alike = self.scope.ignores_float_types();
        let key = |recipe: &Recipe| {
            let form = Form::of(recipe);
            if floats_alike {
                Scope::with_one_float_type(form.key())
            } else {
                form.key().clone()
            }
        };
        let forms = self.task.agreeing.iter().filter_map(|r| self.prepared(r, second));
        let forms: Vec<Prepared> = match self.ordered {
            Some(ordered) => match self.in_every_order(ordered, forms, second) {
                Some(forms) => forms,
                None => return Vec::new(),
            },
            None => forms.collect(),
        };
        let mut forms: Vec<Prepared> = forms
            .into_iter()
            .filter(|p| seen.insert((key(&p.recipe), Named::of(self.scope, p))))
            .collect();
        forms.sort_by_key(|p| Form::of(&p.recipe).ranks().sum::<usize>());
        forms
    }

    /// Proves a form in all cases in which the conditions of the rule may hold.
    pub(super) fn prove_form(&self, named: &Named, form: &Form, given: &Given) -> Result<Proved, Unproved> {
        let mut facts = form.facts(given.effort.clone(), given.tokens.clone());
        facts.rounds = given.rounds;
        facts.only_finite = !given.rounds;
        let waiting = conditions::cases(self.scope.rule(), named, form, facts);
        prove_from(self.trial, form, given, waiting)
    }

    pub(super) fn given(&self, effort: u64, second: bool) -> Given {
        Given {
            effort: Rc::new(Effort::of(effort)),
            tokens: if self.level == Level::All {
                self.scope.tokens(second).into()
            } else {
                Rc::from([])
            },
            rounds: self.task.rule.class != Class::Real,
            cases: CASES,
            suspects: self.task.suspects.clone(),
        }
    }

    pub(super) fn prove(&self) -> Result<Coverage, String> {
        let mut coverage = Coverage {
            ranks: (usize::MAX, 0),
            ..Coverage::default()
        };
        // Where open numbers are not enough for a proof, ranks and sizes alone seldom are.
        let effort = match (self.level, self.ordered) {
            (Level::Sizes, _) => EFFORT / 3,
            (_, Some(_)) => 4 * EFFORT,
            _ => EFFORT,
        };
        let given = self.given(effort, false);
        let forms = self.forms(false);
        // If both sides treat each axis alone, a proof for two axes holds for more.
        let is_small = |form: &Form| !form.axes_alone() || form.ranks().all(|rank| rank <= 2);
        let mut axes_alone = self.scope.ignores_ranks();
        let elementwise = axes_alone && forms.iter().all(|p| Form::of(&p.recipe).axes_alone());
        let mut ranks = if elementwise || self.ordered.is_some() {
            None
        } else {
            self.at_all_ranks(&forms, &mut coverage)
        };
        let (mut large, mut left_out) = (Vec::new(), Vec::new());
        for prepared in &forms {
            let form = prepared.form();
            if ranks.is_some() {
                // The proved forms stand for those at larger ranks.
                axes_alone = false;
            } else if is_small(&form) {
                let alone = self.required_or_left_out(prepared, &given, &mut coverage, &mut left_out)?;
                axes_alone &= alone && form.axes_alone();
            } else {
                large.push(prepared);
            }
        }
        axes_alone = axes_alone && self.holds_for_two_axes(&forms, &given);
        if elementwise && !axes_alone && left_out.is_empty() && self.ordered.is_none() {
            ranks = self.at_all_ranks(&forms, &mut coverage);
        }
        if axes_alone || ranks == Some(Ranks::All) {
            coverage.any_rank = true;
        } else if ranks.is_none() {
            for prepared in &large {
                self.required_or_left_out(prepared, &given, &mut coverage, &mut left_out)?;
            }
        }
        if coverage.forms == 0 {
            let why = if left_out.is_empty() {
                "there are no instances"
            } else {
                "no form of it is proved"
            };
            return Err(why.to_owned());
        }
        coverage.ranks.0 = coverage.ranks.0.min(coverage.ranks.1);
        // Where smaller forms stand for larger ones, those do not have to be proved by themselves.
        self.again_with_other_numbers(&forms, ranks.is_some(), coverage.any_rank)?;
        let covered: FxHashSet<Recipe> = match ranks {
            Some(_) => forms.iter().map(|p| ranks::spatial::structure(&p.recipe)).collect(),
            None => FxHashSet::default(),
        };
        let mut proved = forms.clone();
        proved.retain(|p| !left_out.contains(&p.recipe));
        let refused = self.refused(&given, &covered, &proved, axes_alone)?;
        let limited = left_out.len() + refused;
        coverage.few = self.lenient && limited > coverage.forms;
        let mut forms = proved;
        // In each order of numbers, that would take too long.
        let all_words = self.ordered.is_none() && self.words(&mut forms);
        let types = coverage.any_rank && self.ordered.is_none() && self.exhausts_types(&forms);
        // Numbers that a condition keeps near a literal are taken for that literal.
        coverage.rounded |= self.scope.is_near_one_number(&|_| true);
        coverage.ledger = self.scope.ledger(
            &forms,
            &Found {
                any_rank: coverage.any_rank,
                ranks,
                all_types: self.task.all_types || types,
                all_type_attributes: types,
                all_words,
                all_shapes: self.ordered.is_none() && self.exhausts_written_shapes(&forms),
                rounded: coverage.rounded,
                limited,
                tokens: given.tokens.to_vec(),
                ordered: self.ordered,
            },
        );
        // A certificate has no way to say that a constant is minus infinity.
        if self.scope.has_minus_infinity() {
            coverage.trail = Trail::default();
        }
        Ok(coverage)
    }

    /// Proves the rule at all ranks up to one that is enough, with all lists and orders of axes.
    pub(super) fn at_all_ranks(&self, forms: &[Prepared], coverage: &mut Coverage) -> Option<Ranks> {
        if self.level == Level::Written {
            return None;
        }
        let before = coverage.clone();
        let given = self.given(EFFORT / 2, false);
        let ranks = ranks::prove(self, forms, &given, coverage);
        if ranks.is_none() {
            *coverage = before;
        }
        ranks
    }

    /// Like [`required`](AtLevel::required), but leaves out a form whose proof says nothing about the rule, if another
    /// form was proved before. The ledger says so.
    pub(super) fn required_or_left_out(
        &self,
        prepared: &Prepared,
        given: &Given,
        coverage: &mut Coverage,
        left_out: &mut Vec<Recipe>,
    ) -> Result<bool, String> {
        let part = Given {
            effort: Rc::new(given.effort.half()),
            tokens: given.tokens.clone(),
            suspects: given.suspects.clone(),
            ..*given
        };
        let given = if self.lenient { &part } else { given };
        match self.required(prepared, given, coverage) {
            Err(unproved) if unproved.limit && coverage.forms > 0 || self.lenient && unproved.says_nothing() => {
                left_out.push(prepared.recipe.clone());
                Ok(false)
            }
            done => Ok(done?),
        }
    }

    /// The instances with their numbers in every order; `None` if that is not possible for all.
    pub(super) fn in_every_order(
        &self,
        ordered: &Ordered,
        forms: impl Iterator<Item = Prepared>,
        second: bool,
    ) -> Option<Vec<Prepared>> {
        let mut seen: FxHashSet<(Recipe, Named)> = FxHashSet::default();
        let mut out = Vec::new();
        for prepared in forms {
            let recipe = self.scope.without_numbers(ordered, &prepared)?;
            let key = Form::of(&recipe).key().clone();
            if seen.insert((key, Named::of(self.scope, &prepared))) {
                out.extend(self.scope.in_every_order(ordered, &prepared, self.trial, second)?);
            }
            if out.len() > ORDERED {
                return None;
            }
        }
        Some(out)
    }

    /// Proves a form of an instance; returns true if both sides treat each axis separately.
    pub(super) fn required(
        &self,
        prepared: &Prepared,
        given: &Given,
        coverage: &mut Coverage,
    ) -> Result<bool, Unproved> {
        let form = prepared.form();
        let proved = self.prove_form(&Named::of(self.scope, prepared), &form, given)?;
        // In some orders of its numbers the rule does not apply.
        if proved.cases == 0 && prepared.ordered.is_some() {
            return Ok(true);
        }
        if proved.cases == 0 {
            let why = format!("the rule applies at no sizes of a form of {}", form.operators());
            return Err(Unproved {
                why,
                limit: true,
                open: false,
            });
        }
        coverage.forms += 1;
        coverage.cases += proved.cases;
        coverage.rounded |= proved.rounded;
        coverage.trail.add(proved.trail);
        for rank in form.ranks() {
            coverage.ranks = (coverage.ranks.0.min(rank), coverage.ranks.1.max(rank));
        }
        Ok(proved.axes_alone)
    }

    /// True if the rule is proved with two axes for every operand whose rank is open.
    pub(super) fn holds_for_two_axes(&self, forms: &[Prepared], given: &Given) -> bool {
        let is_proved = |prepared: &Prepared, empty: bool| {
            let form = Form::of(&self.scope.with_two_axes(prepared));
            let form = match &prepared.ordered {
                Some(numbers) => form.with_ordered(numbers.clone()),
                None => form,
            };
            !has_sized_constants(form.key())
                && form.axes_alone()
                && form.ranks().any(|rank| rank == 2)
                && self
                    .prove_form(&Named::of(self.scope, prepared), &form, given)
                    .is_ok_and(|p| (empty || p.cases > 0) && p.axes_alone)
        };
        forms.iter().any(|prepared| is_proved(prepared, false))
            && (self.ordered.is_none() || forms.iter().all(|prepared| is_proved(prepared, true)))
    }

    /// True if a form that treats each axis alone is proved with at most two axes for each operand: a proof for two
    /// axes holds for more.
    fn holds_with_fewer_axes(&self, prepared: &Prepared) -> bool {
        let mut recipe = prepared.recipe.clone();
        for step in &mut recipe.steps {
            match step {
                Step::Leaf { shape, .. } | Step::Fill { shape, .. } => _ = shape.drain(..shape.len().saturating_sub(2)),
                Step::Call { attrs, .. } if attrs.iter().flatten().any(|attr| matches!(attr, AttrValue::Ints(_))) => {
                    return false;
                }
                _ => {}
            }
        }
        let form = Prepared {
            recipe,
            ..prepared.clone()
        }
        .form();
        let given = Given {
            cases: FEWER,
            ..self.given(EFFORT, false)
        };
        !has_sized_constants(form.key())
            && form.axes_alone()
            && self
                .prove_form(&Named::of(self.scope, prepared), &form, &given)
                .is_ok_and(|proved| proved.cases > 0 && proved.axes_alone)
    }

    /// Repeats the proof with other tokens for the numbers of attributes: a proof that depends on their values fails.
    pub(super) fn again_with_other_numbers(
        &self,
        forms: &[Prepared],
        at_all_ranks: bool,
        axes_alone: bool,
    ) -> Result<(), String> {
        if self.level != Level::All {
            return Ok(());
        }
        let given = self.given(if self.ordered.is_some() { 4 * EFFORT } else { EFFORT }, true);
        let known: FxHashSet<(&Recipe, Named)> = forms.iter().map(|p| (&p.recipe, Named::of(self.scope, p))).collect();
        for other in self.forms(true) {
            let named = Named::of(self.scope, &other);
            if known.contains(&(&other.recipe, named.clone())) {
                continue;
            }
            let form = other.form();
            // In many orders, only those that stand for all ranks.
            if self.ordered.is_some() && axes_alone && form.ranks().any(|rank| rank > 2) {
                continue;
            }
            match self.prove_form(&named, &form, &given) {
                Err(unproved) if unproved.limit && at_all_ranks => {}
                proved => _ = proved?,
            }
        }
        Ok(())
    }

    /// Proves the forms of refused instances: at other sizes, an engine may apply the rule. Returns the number of forms
    /// whose proof takes too long, without those whose structure is among the `covered` ones.
    ///
    /// A form with an operator that a variable may stand for, and that none of the proved `forms` has, is left out: the
    /// ledger names the operators of the proved forms, so that the verdict says nothing about it, and is not
    /// `proved-all`.
    pub(super) fn refused(
        &self,
        given: &Given,
        covered: &FxHashSet<Recipe>,
        forms: &[Prepared],
        axes_alone: bool,
    ) -> Result<usize, String> {
        let mut limited = 0;
        let named: FxHashSet<&str> = forms.iter().flat_map(|p| p.recipe.operators()).collect();
        let choices = self.task.rule.operators.iter().flat_map(|variable| &variable.choices);
        let unproved: FxHashSet<&str> = choices
            .map(|def| def.name)
            .filter(|name| !named.contains(name))
            .collect();
        let mut seen: FxHashSet<(Recipe, Named)> = FxHashSet::default();
        for recipe in self.task.refused {
            if recipe.operators().any(|name| unproved.contains(name)) {
                continue;
            }
            let Some(prepared) = self.prepared(recipe, false) else {
                continue;
            };
            if let Some(ordered) = self.ordered {
                // What cannot be in every order, or is not proved in one, is left out.
                let Some(all) = self.scope.in_every_order(ordered, &prepared, self.trial, false) else {
                    limited += 1;
                    continue;
                };
                let key = self.scope.without_numbers(ordered, &prepared);
                let key = key.map(|recipe| Form::of(&recipe).key().clone());
                if key.is_some_and(|key| seen.insert((key, Named::of(self.scope, &prepared)))) {
                    let proves = |one: &Prepared| self.prove_form(&Named::of(self.scope, one), &one.form(), given);
                    limited += all.iter().filter(|one| proves(one).is_err()).count();
                }
                continue;
            }
            let form = prepared.form();
            let named = Named::of(self.scope, &prepared);
            if seen.insert((form.key().clone(), named.clone())) {
                match self.prove_form(&named, &form, given) {
                    Ok(_) => {}
                    Err(unproved) if unproved.limit || self.lenient && unproved.open => {
                        // With fewer axes, which stand for these, there are fewer cases.
                        let stands = || axes_alone && self.holds_with_fewer_axes(&prepared);
                        let is_covered = covered.contains(&ranks::spatial::structure(&prepared.recipe));
                        limited += usize::from(!is_covered && !stands());
                    }
                    Err(Unproved { why, .. }) => {
                        return Err(format!(
                            "for a refused instance, at other sizes where the types agree: {why}"
                        ));
                    }
                }
            }
        }
        Ok(limited)
    }

    /// Proves forms for all combinations of booleans and words, and adds them; true if all are proved.
    pub(super) fn words(&self, forms: &mut Vec<Prepared>) -> bool {
        let given = self.given(EFFORT / 4, false);
        let key = |recipe: &Recipe, named: &Named| (Form::of(recipe).key().clone(), named.clone());
        let known = forms.iter().map(|p| key(&p.recipe, &Named::of(self.scope, p)));
        let mut seen: FxHashSet<(Recipe, Named)> = known.collect();
        let mut all = true;
        for prepared in varied(forms) {
            let Some(recipes) = self.scope.finite(&prepared, WORDS) else {
                all = false;
                continue;
            };
            let named = Named::of(self.scope, &prepared);
            for recipe in recipes {
                if !seen.insert(key(&recipe, &named)) {
                    continue;
                }
                match self.prove_form(&named, &Form::of(&recipe), &given) {
                    Ok(proved) if proved.cases > 0 => forms.push(Prepared {
                        recipe,
                        ..prepared.clone()
                    }),
                    Ok(_) => {}
                    Err(_) => all = false,
                }
            }
        }
        all
    }
}

/// The forms whose booleans and words are varied: of those with the same operators the first one, and one in which the
/// most integers of attributes differ, since calls on one axis may be the same in any order.
fn varied(forms: &[Prepared]) -> Vec<Prepared> {
    let different = |prepared: &Prepared| {
        let all = prepared.recipe.integers().into_iter();
        let attrs = all.filter(|(place, _)| matches!(place, Place::Attr(..)));
        attrs.map(|(_, n)| n).collect::<FxHashSet<i64>>().len()
    };
    let mut chosen: FxHashMap<Vec<&str>, (usize, usize)> = FxHashMap::default();
    for (i, prepared) in forms.iter().enumerate() {
        let (_, most) = chosen.entry(prepared.recipe.operators().collect()).or_insert((i, i));
        if different(prepared) > different(&forms[*most]) {
            *most = i;
        }
    }
    let mut places: Vec<usize> = chosen.into_values().flat_map(|(first, most)| [first, most]).collect();
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|i| forms[i].clone()).collect()
}
