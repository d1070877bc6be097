//! Proof for all sizes: both sides of a rule as formulas over symbolic indices, dimensions and numbers.
//!
//! The form of an instance has symbols for its dimensions and for attributes that count elements. The engines' own
//! matcher and inference run on it. A question that the symbols leave open, such as whether two dimensions are equal,
//! splits the proof into two cases, so the cases together cover all values. In each case, the element of either side at
//! a symbolic index becomes a formula in a normal form, and the formulas are compared. A proof holds over the real
//! numbers, and for all functions that obey the laws.

mod block;
mod case;
pub(crate) mod certificate;
mod choices;
mod conditions;
mod defined;
mod einsum;
mod expr;
mod facts;
mod fold;
mod form;
mod function;
mod graphs;
mod laws;
mod layout;
pub(crate) mod ledger;
mod linear;
mod meaning;
mod models;
mod movement;
mod order;
mod products;
mod ranks;
mod scope;
mod terms;
#[cfg(test)]
mod tests;
mod types;
mod windows;

use std::fmt;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::case::{Case, Res, Stop};
use self::conditions::Named;
use self::expr::Expr;
use self::facts::{Effort, Facts};
use self::form::{Form, has_sized_constants};
pub(super) use self::graphs::prove_graphs;
use self::ledger::Ledger;
use self::meaning::{At, Meaning};
use self::ranks::Ranks;
use self::scope::{Found, Level, Ordered, Prepared, Scope};
use crate::instance::recipe::{Recipe, Step};

use tautomer_graph::{Graph, Node, VertexId, expand_composites};
use tautomer_op::{Formula, Made, OpDef, OpTraits, ShapeRule};
use tautomer_rewrite::Trial;
use tautomer_rule::{Class, Rule};
use tautomer_tensor::{Dim, Shape, TensorType, assume};

/// Limit on the cases of one form.
const CASES: usize = 500;

/// Limit on the forms whose numbers are in different orders.
const ORDERED: usize = 20_000;

/// Limit on the combinations of booleans and words that are proved for one form.
const WORDS: usize = 64;

/// The number of forms whose booleans and words are varied.
const VARIED: usize = 2;

/// Limit on the inequalities that are compared for the proof of a rule at one level. Proofs that succeed take less.
const EFFORT: u64 = 2_000_000;

/// The stack of a proof, which recurses through the operands of a graph.
const STACK: usize = 64 << 20;

/// The coverage of a proof of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The forms of its source: combinations of ranks, axes, permutations and members, with all dimensions symbolic.
    pub forms: usize,
    /// The cases into which these were split.
    pub cases: usize,
    /// True if the rule treats each axis separately, so that it holds for all ranks.
    pub any_rank: bool,
    /// True if the proof assumed that constants that differ by up to one part in a million are equal.
    pub rounded: bool,
    /// The least and the largest rank of an operand.
    pub ranks: (usize, usize),
    /// Everything that may vary in the rule, and how the proof covers it.
    pub ledger: Ledger,
    /// The record for a certificate of the proof.
    pub trail: certificate::Trail,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = self.ranks;
        f.write_str("all sizes")?;
        if self.ledger.is_complete() {
            if self.any_rank {
                f.write_str(", all ranks")?;
            } else if least == most {
                write!(f, ", rank {least}")?;
            } else {
                write!(f, ", ranks {least}-{most}")?;
            }
        } else {
            write!(f, "; {}", self.ledger)?;
        }
        f.write_str(if self.rounded { ", up to rounded constants" } else { "" })
    }
}

/// The task of a proof.
pub(super) struct Task<'a> {
    pub(super) rule: &'a Rule,
    pub(super) trial: &'a Trial,
    /// Instances at which the sides agree.
    pub(super) agreeing: &'a [&'a Recipe],
    /// Instances where no engine applies the rule, because of the type of the target; at other sizes an engine may.
    pub(super) refused: &'a [Recipe],
    /// True if the instances cover all element types that operators and conditions admit.
    pub(super) all_types: bool,
}

/// Runs a proof on a thread with a large stack; `None` if it panics.
pub(super) fn with_stack<T: Send>(f: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, f);
        thread.ok()?.join().ok()
    })
}

/// Proves that both sides are equal for all dimensions, in all forms that the instances have.
///
/// # Errors
/// Why it is not proved.
pub(super) fn prove(task: &Task<'_>) -> Result<Coverage, String> {
    with_stack(|| {
        // Forms with windows take long.
        if ranks::spatial::applies(task.rule)
            && !task.agreeing.is_empty()
            && let Some(proved) = terms::prove(task.rule, task.refused.is_empty())
        {
            return Ok(proved);
        }
        let proved = prove_here(task);
        let is_complete = proved.as_ref().is_ok_and(|coverage| coverage.ledger.is_complete());
        if is_complete || task.agreeing.is_empty() {
            return proved;
        }
        terms::prove(task.rule, task.refused.is_empty()).map_or(proved, Ok)
    })
    .unwrap_or_else(|| Err("internal error: the proof failed".to_owned()))
}

fn prove_here(task: &Task<'_>) -> Result<Coverage, String> {
    let scope = Scope::of(task.rule);
    let relaxed = Trial::new(scope.relaxed.clone());
    let mut last = Err("there are no instances".to_owned());
    let mut tried: Vec<Vec<Recipe>> = Vec::new();
    for level in [Level::All, Level::Sizes, Level::Written] {
        let trial = if level == Level::Written { task.trial } else { &relaxed };
        let proof = AtLevel {
            task,
            scope: &scope,
            trial,
            level,
            ordered: None,
            lenient: false,
        };
        let forms: Vec<Recipe> = proof.forms(false).into_iter().map(|p| p.recipe).collect();
        if tried.contains(&forms) {
            continue;
        }
        tried.push(forms);
        last = proof.prove();
        if last.is_ok() {
            break;
        }
    }
    // Some forms at least.
    for (level, trial) in [(Level::Sizes, &relaxed), (Level::Written, task.trial)] {
        if last.is_err() {
            let proof = AtLevel {
                task,
                scope: &scope,
                trial,
                level,
                ordered: None,
                lenient: true,
            };
            last = proof.prove().or(last);
        }
    }
    if last.as_ref().is_ok_and(|proved| proved.ledger.is_complete()) {
        return last;
    }
    // Numbers that are only compared, in every order: a proof that is not complete says no more than the one above.
    let Some(ordered) = scope.ordered() else { return last };
    let proof = AtLevel {
        task,
        scope: &scope,
        trial: &relaxed,
        level: Level::All,
        ordered: Some(&ordered),
        lenient: false,
    };
    match proof.prove() {
        // A certificate has no way to say in which order numbers are.
        Ok(proved) if proved.ledger.is_complete() => Ok(Coverage {
            trail: certificate::Trail::default(),
            ..proved
        }),
        _ => last,
    }
}

/// A proof attempt that generalizes instances up to a level.
struct AtLevel<'a> {
    task: &'a Task<'a>,
    scope: &'a Scope<'a>,
    trial: &'a Trial,
    level: Level,
    /// Numbers that are to be in every order.
    ordered: Option<&'a Ordered>,
    /// Forms whose proof says nothing about the rule are left out, whichever they are, and no form takes more than half
    /// of the effort that is left.
    lenient: bool,
}

impl AtLevel<'_> {
    fn prepared(&self, recipe: &Recipe, second: bool) -> Option<Prepared> {
        self.scope.prepared(recipe, self.task.trial, self.level, second)
    }

    /// The distinct forms of the instances at which the sides agree. In one form, variables may match one leaf or another.
    fn forms(&self, second: bool) -> Vec<Prepared> {
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
    fn prove_form(&self, named: &Named, form: &Form, given: &Given) -> Result<Proved, Unproved> {
        let mut facts = form.facts(given.effort.clone(), given.tokens.clone());
        facts.rounds = given.rounds;
        facts.only_finite = !given.rounds;
        let waiting = conditions::cases(self.scope.rule(), named, form, facts);
        prove_from(self.trial, form, given, waiting)
    }

    fn given(&self, effort: u64, second: bool) -> Given {
        Given {
            effort: Rc::new(Effort::of(effort)),
            tokens: if self.level == Level::All {
                self.scope.tokens(second).into()
            } else {
                Rc::from([])
            },
            rounds: self.task.rule.class != Class::Real,
            cases: CASES,
        }
    }

    fn prove(&self) -> Result<Coverage, String> {
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
        let refused = self.refused(&given, &covered, &proved)?;
        let limited = left_out.len() + refused;
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
                rounded: coverage.rounded,
                limited,
                tokens: given.tokens.to_vec(),
                ordered: self.ordered,
            },
        );
        Ok(coverage)
    }

    /// Proves the rule at all ranks up to one that is enough, with all lists and orders of axes.
    fn at_all_ranks(&self, forms: &[Prepared], coverage: &mut Coverage) -> Option<Ranks> {
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
    fn required_or_left_out(
        &self,
        prepared: &Prepared,
        given: &Given,
        coverage: &mut Coverage,
        left_out: &mut Vec<Recipe>,
    ) -> Result<bool, String> {
        let part = Given {
            effort: Rc::new(given.effort.half()),
            tokens: given.tokens.clone(),
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
    fn in_every_order(
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
    fn required(&self, prepared: &Prepared, given: &Given, coverage: &mut Coverage) -> Result<bool, Unproved> {
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
    fn holds_for_two_axes(&self, forms: &[Prepared], given: &Given) -> bool {
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

    /// Repeats the proof with other tokens for the numbers of attributes: a proof that depends on their values fails.
    fn again_with_other_numbers(&self, forms: &[Prepared], at_all_ranks: bool, axes_alone: bool) -> Result<(), String> {
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
    fn refused(&self, given: &Given, covered: &FxHashSet<Recipe>, forms: &[Prepared]) -> Result<usize, String> {
        let mut limited = 0;
        let named: FxHashSet<&str> = forms.iter().flat_map(|p| operator_names(&p.recipe)).collect();
        let choices = self.task.rule.operators.iter().flat_map(|variable| &variable.choices);
        let unproved: FxHashSet<&str> = choices
            .map(|def| def.name)
            .filter(|name| !named.contains(name))
            .collect();
        let mut seen: FxHashSet<(Recipe, Named)> = FxHashSet::default();
        for recipe in self.task.refused {
            if operator_names(recipe).any(|name| unproved.contains(name)) {
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
                        limited += usize::from(!covered.contains(&ranks::spatial::structure(&prepared.recipe)));
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
    fn words(&self, forms: &mut Vec<Prepared>) -> bool {
        let given = self.given(EFFORT / 4, false);
        let key = |recipe: &Recipe, named: &Named| (Form::of(recipe).key().clone(), named.clone());
        let known = forms.iter().map(|p| key(&p.recipe, &Named::of(self.scope, p)));
        let mut seen: FxHashSet<(Recipe, Named)> = known.collect();
        let mut all = true;
        for prepared in forms.iter().take(VARIED).cloned().collect::<Vec<_>>() {
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

/// The names of the operators that an instance calls.
fn operator_names(recipe: &Recipe) -> impl Iterator<Item = &'static str> + '_ {
    recipe.steps.iter().filter_map(|step| match step {
        Step::Call { def, .. } => Some(def.name),
        _ => None,
    })
}

/// Why a form is not proved.
struct Unproved {
    why: String,
    /// The proof took too long, or found no sizes at which the rule applies: that says nothing about the rule.
    limit: bool,
    /// It could not tell whether the rule applies, which says nothing about the rule either.
    open: bool,
}

impl Unproved {
    fn says_nothing(&self) -> bool {
        self.limit || self.open
    }
}

impl From<Unproved> for String {
    fn from(unproved: Unproved) -> String {
        unproved.why
    }
}

/// The input of a proof.
struct Given {
    effort: Rc<Effort>,
    /// Numbers that represent symbols.
    tokens: Rc<[f64]>,
    /// Whether conversions round.
    rounds: bool,
    /// Limit on the cases of one form.
    cases: usize,
}

/// The result of proving a form.
struct Proved {
    /// The number of cases; 0 if the rule applies at no sizes.
    cases: usize,
    /// Both sides treat each axis separately.
    axes_alone: bool,
    /// Constants that differ in their last digits were assumed to be equal.
    rounded: bool,
    /// The record of its cases for a certificate.
    trail: certificate::Trail,
    /// Every question about an axis that represents several has one answer in all cases in which something is compared.
    answered: bool,
}

/// Proves a form in all cases that these are divided into.
fn prove_from(trial: &Trial, form: &Form, given: &Given, mut waiting: Vec<Facts>) -> Result<Proved, Unproved> {
    let mut visited = 0;
    let mut answers = block::Answers::default();
    let mut out = Proved {
        cases: 0,
        axes_alone: true,
        rounded: false,
        trail: certificate::Trail::default(),
        answered: true,
    };
    while let Some(facts) = waiting.pop() {
        visited += 1;
        if visited > given.cases || given.effort.is_spent() {
            let limit = if visited > given.cases {
                format!("{} cases", given.cases)
            } else {
                format!("{} comparisons", given.effort.limit())
            };
            let (operators, cases) = (form.operators(), out.cases);
            return Err(Unproved {
                why: format!(
                    "the proof takes more than {limit} for a form of {operators}: {cases} of its cases were proved"
                ),
                limit: true,
                open: false,
            });
        }
        if facts.is_empty() {
            continue;
        }
        let case = Rc::new(Case::new(facts));
        let outcome = prove_case(trial, form, &case);
        waiting.extend(case.take_aside());
        out.rounded |= case.is_rounded();
        match outcome {
            Ok(compared) => {
                out.cases += 1;
                out.axes_alone &= compared.alone;
                out.trail.add(compared.trail);
                out.answered &= compared.vacuous || answers.add(&case.facts().answers_of_block);
            }
            Err(Stop::Divided | Stop::Empty) => {}
            Err(Stop::Open(why)) => {
                return Err(Unproved {
                    why,
                    limit: given.effort.is_spent(),
                    open: case.is_left_open(),
                });
            }
        }
    }
    Ok(out)
}

/// The findings if both sides are equal in one case.
struct Compared {
    /// Both sides treat each axis separately.
    alone: bool,
    /// No output has an element.
    vacuous: bool,
    /// The record for a certificate.
    trail: certificate::Trail,
}

/// Compares both sides in one case.
fn prove_case(trial: &Trial, form: &Form, case: &Rc<Case>) -> Res<Compared> {
    let (mut graph, roots) = form.build(case).ok_or(Stop::Empty)?;
    check_source(graph.clone(), case)?;
    complete_types(&mut graph, case)?;
    let sides = assume::under(case.clone(), || trial.sides(graph, Some(&roots)));
    case.stopped()?;
    let sides = sides.ok_or(Stop::Empty)?;
    // A target that fails to build only because of symbols has left the case open, which `stopped` reports. One that
    // inference rejects is rejected for all values of the symbols: no engine applies the rule.
    let target = sides.target.map_err(|_| Stop::Empty)?;
    let (mut graph, source) = (sides.graph, sides.source);
    if source.len() != target.len() {
        return Err(Stop::Empty);
    }
    graph.clear_outputs();
    for &v in source.iter().chain(&target) {
        graph.output(v, None);
    }
    let graph = expanded(graph, case)?;
    let outputs: Vec<VertexId> = graph.outputs().iter().map(|o| o.vertex).collect();
    let (source, target) = outputs.split_at(source.len());
    let leaves = numbered_leaves(&graph);
    let meaning = Meaning::new(&graph, case, leaves);
    let mut values = Vec::new();
    for (&a, &b) in source.iter().zip(target) {
        values.extend(compare(&meaning, a, b)?);
    }
    if let Some(block) = case.block().filter(|_| !values.is_empty()) {
        block.check(&case.facts(), &meaning, &values)?;
    }
    let alone = |v| meaning.call(v).is_none_or(|call| has_axes_alone(call.def));
    let alone = graph.rpo().into_iter().all(alone);
    let element = match source {
        [a] if alone => certificate::element(&meaning, *a, trial.rule(), &sides.bound),
        _ => None,
    };
    Ok(Compared {
        alone,
        vacuous: values.is_empty(),
        trail: certificate::Trail::of(alone, element),
    })
}

/// True for operators that treat each axis separately: an additional axis changes nothing along the existing ones.
fn has_axes_alone(def: &OpDef) -> bool {
    def.shapes == ShapeRule::Expand
        || matches!(def.law(), Formula::Made(Made::Filled { like: true, .. }))
        || def.traits.contains(OpTraits::ELEMENTWISE)
}

fn expanded(mut graph: Graph, case: &Rc<Case>) -> Res<Graph> {
    let done = assume::under(case.clone(), || expand_composites(&mut graph, &|_| true));
    case.stopped()?;
    done.map_err(|e| Stop::Open(e.message))?;
    Ok(graph)
}

/// Adds the requirements of the source's operators to the facts of the case.
fn check_source(graph: Graph, case: &Rc<Case>) -> Res<()> {
    let graph = expanded(graph, case)?;
    let mut meaning = Meaning::new(&graph, case, numbered_leaves(&graph));
    meaning.given = true;
    for v in graph.rpo() {
        if meaning.is_given(v) {
            meaning.shapes(v)?;
        }
    }
    Ok(())
}

/// Fills in dimensions that inference leaves open and the meaning of the operators determines.
fn complete_types(graph: &mut Graph, case: &Rc<Case>) -> Res<()> {
    let unclear = |d: &Dim| d.as_const().is_none() && d.as_symbol().is_none();
    let mut types = Vec::new();
    {
        let mut meaning = Meaning::new(graph, case, numbered_leaves(graph));
        meaning.given = true;
        for v in graph.rpo() {
            let ty = graph.ty(v).as_tensor();
            let shape = ty.and_then(|t| t.shape.as_ref());
            if let (Some(ty), true) = (ty, shape.is_none_or(|s| s.iter().any(unclear)))
                && let Ok(shape) = meaning.shape(v)
            {
                types.push((v, TensorType::new(ty.dtype, shape.into_iter().collect::<Shape>())));
            }
        }
    }
    for (v, ty) in types {
        graph.vertex_mut(v).ty = ty.into();
    }
    Ok(())
}

fn numbered_leaves(graph: &Graph) -> FxHashMap<VertexId, u32> {
    let leaves = graph
        .ids()
        .filter(|&v| matches!(graph.vertex(v).node, Node::Input | Node::Param));
    leaves.zip(0..).collect()
}

/// Compares types and elements of two values; returns the elements, if there are any.
fn compare(meaning: &Meaning<'_>, a: VertexId, b: VertexId) -> Res<Vec<Expr>> {
    let case = meaning.case;
    let (left, right) = (meaning.shape(a)?, meaning.shape(b)?);
    // An engine never replaces a value by one of another type.
    if meaning.dtype(a) != meaning.dtype(b) || left.len() != right.len() {
        return Err(Stop::Empty);
    }
    for (x, y) in left.iter().zip(&right) {
        if !case.is_zero(&(x.clone() - y.clone()))? {
            return Err(Stop::Empty);
        }
    }
    if left.iter().any(|d| case.known_zero(d) == Some(true)) {
        return Ok(Vec::new());
    }
    let mut place = Vec::with_capacity(left.len());
    for (axis, extent) in left.iter().enumerate() {
        if case.known_zero(&(extent.clone() - Dim::Const(1))) == Some(true) {
            place.push(Dim::Const(0));
            continue;
        }
        // There is an element, so no factor of the dimension is 0.
        if let [(product, c)] = extent.terms().as_slice()
            && *c > 0
        {
            for atom in product.iter() {
                let factor = Dim::atom(atom.clone());
                if case.known_sign(&factor) == Some(true) {
                    case.assume_at_least_zero(&(factor - Dim::Const(1)))?;
                }
            }
        }
        let i = Dim::symbol(&format!("@{axis}"));
        case.assume_at_least_zero(&i)?;
        case.assume_at_least_zero(&(extent.clone() - Dim::Const(1) - i.clone()))?;
        place.push(i);
    }
    let at = At::Index(place);
    // Repeat with the facts learned on the way until there are no new ones.
    let (x, y) = loop {
        let version = case.version();
        let (x, y) = (meaning.element(a, &at)?, meaning.element(b, &at)?);
        let ([(_, x)], [(_, y)]) = (x.as_slice(), y.as_slice()) else {
            return Err(Stop::Open("an element has several cases".to_owned()));
        };
        if case.version() == version {
            break (x.clone(), y.clone());
        }
        meaning.forget();
    };
    if choices::equal(&x, &y) {
        return Ok(vec![x, y]);
    }
    if case.only_finite()
        && meaning.dtype(a).is_float()
        && let Some((x, y)) = defined::where_finite(case, &x, &y)?
        && choices::equal(&x, &y)
    {
        return Ok(vec![x, y]);
    }
    if laws::nearly_equal(&x, &y) {
        case.round();
        return Ok(vec![x, y]);
    }
    if case.contradicts(&[]) {
        return Err(Stop::Empty);
    }
    // Split on a dimension that can only be 0 or 1.
    for d in case.symbols() {
        if case.known_sign(&(Dim::Const(1) - d.clone())) == Some(true) {
            case.is_zero(&d)?;
            return case
                .is_zero(&(d - Dim::Const(1)))
                .and(Err(Stop::Open("a dimension is 0 or 1".to_owned())));
        }
    }
    Err(Stop::Open(format!(
        "the proof ends with different formulas:\n    {x}\n    {y}"
    )))
}
