//! The options of the one call.

use std::fmt;
use std::sync::Arc;

use crate::compare::ALLOWANCE;
use crate::diag::Diagnostics;
use crate::graph::Allowance;
use crate::model::{Kind, Model};
use crate::op::Priced;
use crate::pipeline::{self, Engine, Event, Format};
use crate::rewrite::{Folding, Limits};
use crate::rule::{Class, RuleSet};
use crate::target::{Target, TargetFormat};
use crate::verify::Level;

use super::Progress;

/// The options for optimizing a model.
///
/// ```
/// use tautomer::{Options, rule::Class};
/// let options = Options::default().class(Class::Bitwise).shape("x=1,3,h,w").check(3);
/// std::thread::spawn(move || assert_eq!(options.check, 3)).join().unwrap();
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// How rules are applied.
    pub engine: Engine,
    /// The rules, and no others; `None` for those that come with the tool.
    pub rules: Option<RuleSet>,
    /// The weakest class of equality allowed.
    pub class: Class,
    /// The weakest verdict allowed; `None` for any verdict, or none.
    pub verdict: Option<Level>,
    /// If true, rules that are known to be wrong are applied, too.
    pub allow_refuted: bool,
    /// Facts that hold, such as `finite(x)`, for rules that assume them.
    pub assume: Vec<String>,
    /// If given, only these rules and sets of rules are used, by name.
    pub only: Option<Vec<String>>,
    /// Rules and sets of rules that are not used, by name.
    pub skip: Vec<String>,
    /// When to stop.
    pub limits: Limits,
    /// If true, computes values that depend only on parameters and constants.
    pub fold: bool,
    /// The limits of folding.
    pub folding: Folding,
    /// Shapes of inputs, each such as `x=1,3,h,w`.
    pub shapes: Vec<String>,
    /// The ONNX operator set to write for; `None` for that of the model.
    pub opset: Option<i64>,
    /// The format that the result is meant for, which limits the operators it may have; `None` for ONNX if the model is
    /// an ONNX model, and no limit otherwise.
    pub result: Option<Kind>,
    /// The target of the result: calls that this target does not have are replaced as far as possible; see
    /// [`Optimized::illegal`](super::Optimized::illegal). Its rules are used unless [`rules`](Options::rules) has
    /// others.
    pub target: Option<Arc<Target>>,
    /// The number of random inputs on which the result is compared with the original; 0 for no comparison.
    pub check: u64,
    /// The limits on one run of the comparison.
    pub allowance: Allowance,
    /// The random seed for the inputs.
    pub seed: u64,
    /// If true, computes everything that the rules made, and names a rule that made two different values equal.
    pub audit: bool,
    /// If true, keeps the rewrites that produced the result.
    pub explain: bool,
    /// If true, determines which operators that the format lacks a better result would have.
    pub missing: bool,
    cost: Option<CostFn>,
    progress: Option<Progress>,
    cancelled: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

/// The time that a call takes, in microseconds.
type CostFn = Arc<dyn Fn(&Priced<'_>) -> f64 + Send + Sync>;

impl Default for Options {
    fn default() -> Self {
        Options {
            engine: Engine::default(),
            rules: None,
            class: Class::Real,
            verdict: None,
            allow_refuted: false,
            assume: Vec::new(),
            only: None,
            skip: Vec::new(),
            limits: Limits::default(),
            fold: true,
            folding: Folding::default(),
            shapes: Vec::new(),
            opset: None,
            result: None,
            target: None,
            check: 1,
            allowance: ALLOWANCE,
            seed: 0,
            audit: false,
            explain: false,
            missing: true,
            cost: None,
            progress: None,
            cancelled: None,
        }
    }
}

impl Options {
    /// Sets the rules: those of [`read_rules`](crate::read_rules) alone, or those of
    /// [`read_rules_with_built_in`](crate::read_rules_with_built_in) to add to the built-in ones.
    pub fn rules(mut self, rules: RuleSet) -> Self {
        self.rules = Some(rules);
        self
    }

    /// Sets the weakest class of equality allowed.
    pub fn class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// Leaves out rules with a weaker verdict, or none.
    pub fn verdict(mut self, least: Level) -> Self {
        self.verdict = Some(least);
        self
    }

    /// States a fact that holds, such as `finite(x)`.
    pub fn assume(mut self, fact: impl Into<String>) -> Self {
        self.assume.push(fact.into());
        self
    }

    /// Uses only these rules and sets of rules, by name.
    pub fn only<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.only = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Leaves out these rules and sets of rules, by name.
    pub fn skip<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.skip.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets when to stop.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the random seed for the inputs of the comparison.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets how rules are applied.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Gives an input a shape, such as `x=1,3,h,w`.
    pub fn shape(mut self, shape: impl Into<String>) -> Self {
        self.shapes.push(shape.into());
        self
    }

    /// Writes for this ONNX operator set.
    pub fn opset(mut self, opset: i64) -> Self {
        self.opset = Some(opset);
        self
    }

    /// Makes the result for a target: its rules, its operators, its costs.
    pub fn target(mut self, target: impl Into<Arc<Target>>) -> Self {
        self.target = Some(target.into());
        self
    }

    /// Compares result and original on this number of random inputs.
    pub fn check(mut self, runs: u64) -> Self {
        self.check = runs;
        self
    }

    /// Keeps the rewrites that produced the result, for [`Optimized::steps`](super::Optimized::steps) and the pictures
    /// of the report.
    pub fn explain(mut self) -> Self {
        self.explain = true;
        self
    }

    /// Computes everything that the rules made, and names a rule that made two different values equal.
    pub fn audit(mut self) -> Self {
        self.audit = true;
        self
    }

    /// Compares graphs by your own cost model: the time that a call takes, in microseconds. The model is asked for
    /// every form of a value, so equal calls must have equal prices; a negative price counts as 0, and NaN as the
    /// longest possible time. The model replaces the costs of a [target](Options::target).
    ///
    /// ```
    /// # use tautomer::{Model, Options, optimize_model, op::Priced};
    /// let square = Model::from_text("square", "fn main(x: f32[64]) { pow(x, 2.0) }")?;
    /// let without_power = |call: &Priced<'_>| match call.op.name().as_str() {
    ///     "pow" => 100.0,
    ///     _ => call.cost.micros(), // the estimate for one core
    /// };
    /// # let rules = tautomer::rules_of_text("r", "rule as-product(x) { pow(x, 2.0) => x * x numerics real }")?.0;
    /// # let options = Options::default().rules(rules);
    /// let optimized = optimize_model(square, &options.cost(without_power))?;
    /// assert!(optimized.model.to_text().contains("x * x"));
    /// # Ok::<(), tautomer::diag::Diagnostics>(())
    /// ```
    pub fn cost(mut self, micros: impl Fn(&Priced<'_>) -> f64 + Send + Sync + 'static) -> Self {
        self.cost = Some(Arc::new(micros));
        self
    }

    /// Calls a function as the work proceeds.
    pub fn progress(mut self, told: impl Fn(Event) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(told));
        self
    }

    /// Calls a function repeatedly to ask whether to stop; if so, the optimization ends with the error T0409.
    ///
    /// ```
    /// # use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    /// # use tautomer::{Model, Options, optimize_model};
    /// let stop = Arc::new(AtomicBool::new(true)); // set by another thread
    /// let options = Options::default().cancel_when(move || stop.load(Ordering::Relaxed));
    /// let model = Model::from_text("example", "fn main(x: f32[8]) { relu(x + 0.0) }")?;
    /// assert_eq!(optimize_model(model, &options).unwrap_err().iter().next().unwrap().code, "T0409");
    /// # Ok::<(), tautomer::diag::Diagnostics>(())
    /// ```
    pub fn cancel_when(mut self, cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.cancelled = Some(Arc::new(cancelled));
        self
    }

    pub(crate) fn tell(&self, event: Event) {
        if let Some(told) = &self.progress {
            told(event);
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.as_ref().is_some_and(|cancelled| cancelled())
    }

    pub(super) fn cost_model(&self) -> Option<CostFn> {
        self.cost.clone()
    }

    /// The same, without the callbacks for progress and cancellation.
    pub(super) fn without_watcher(mut self) -> Self {
        (self.progress, self.cancelled) = (None, None);
        self
    }

    /// The format of the result.
    pub(crate) fn kind(&self, model: &Model) -> Option<Kind> {
        let of_target = self.target.as_ref().map(|target| match target.format {
            TargetFormat::Onnx => Some(Kind::Onnx),
            TargetFormat::Pnnx => Some(Kind::Pnnx),
            TargetFormat::Program => None,
        });
        let of_model = model.info.as_ref().map(|_| Kind::Onnx);
        self.result.or(of_target.unwrap_or(of_model))
    }

    /// The calls that the format of the result can express.
    pub(crate) fn format(&self, model: &Model) -> Format<'_> {
        let target = self.target.as_deref();
        Format::new(self.kind(model), target, &model.workload.graph, model.info.as_ref())
    }

    /// The options of the stages.
    ///
    /// # Errors
    /// The rules of the target cannot be read.
    pub(crate) fn inner<'a>(&self) -> Result<pipeline::Options<'a>, Diagnostics> {
        let rules = match (&self.rules, &self.target) {
            (Some(rules), _) => Some(rules.clone()),
            (None, Some(target)) => target.rules()?,
            (None, None) => None,
        };
        Ok(pipeline::Options {
            engine: self.engine,
            groups: rules.as_ref().map_or_else(Vec::new, |set| set.groups.clone()),
            rules: rules.map(|set| set.rules),
            class: self.class,
            assume: self.assume.clone(),
            only: self.only.clone(),
            skip: self.skip.clone(),
            limits: self.limits,
            missing: self.missing,
            explain: self.explain,
            explore: self.audit,
            fold: self.fold,
            folding: self.folding,
            ..pipeline::Options::default()
        })
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("engine", &self.engine)
            .field("class", &self.class)
            .field("verdict", &self.verdict)
            .field("shapes", &self.shapes)
            .field("opset", &self.opset)
            .field("check", &self.check)
            .finish_non_exhaustive()
    }
}
