//! One call from a model to an equal model that costs less, with everything that is known about the result.

mod options;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::compare::{self, Compared, Comparing, blamed, fast, tolerance};
use crate::diag::{Diagnostic, Diagnostics};
use crate::formats::onnx::{raise_opset, set_opset};
use crate::graph::Workload;
use crate::locks::{self, Chosen};
use crate::model::{Kind, Model, shown};
use crate::op;
use crate::page::Page;
use crate::pipeline::{self, Engine, Event, Outcome, Report, WhyNot};
use crate::rewrite::Step;
use crate::target::{Illegal, Target, TargetFormat, illegal, lowered};
use crate::tensor::Type;
use crate::verify::{Audit, AuditOptions, audit};

pub use self::options::Options;

/// An ONNX model in a file or in memory.
#[derive(Debug, Clone)]
pub enum Onnx<'a> {
    /// A file.
    Path(&'a Path),
    /// The contents of a file.
    Bytes(Cow<'a, [u8]>),
}

impl<'a> From<&'a Path> for Onnx<'a> {
    fn from(path: &'a Path) -> Self {
        Onnx::Path(path)
    }
}

impl<'a> From<&'a str> for Onnx<'a> {
    fn from(path: &'a str) -> Self {
        Onnx::Path(Path::new(path))
    }
}

impl<'a> From<&'a [u8]> for Onnx<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Onnx::Bytes(bytes.into())
    }
}

impl From<Vec<u8>> for Onnx<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Onnx::Bytes(bytes.into())
    }
}

/// Rewrites an ONNX model into an equal one that costs less, and compares the two on random inputs. Operators that the
/// rules declare may occur in the model.
///
/// # Errors
/// The model, the rules or the options are invalid, or the result turned out to differ from the original.
///
/// ```
/// use tautomer::{Model, Options, optimize_onnx};
///
/// # let program = "fn main(x: f32[n, 8]) { relu(relu(x) * 1.0) }";
/// # let bytes = Model::from_text("example", program)?.to_onnx()?;
/// let optimized = optimize_onnx(bytes, &Options::default())?; // or a path: optimize_onnx("model.onnx", …)
/// assert_eq!(optimized.report.vertices, (3, 1));
/// let smaller: Vec<u8> = optimized.model.to_onnx()?; // or optimized.model.write("smaller.onnx")?
/// # assert!(!smaller.is_empty());
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
pub fn optimize_onnx<'a>(model: impl Into<Onnx<'a>>, options: &Options) -> Result<Optimized, Diagnostics> {
    let mut operators = options
        .rules
        .as_ref()
        .map(|set| set.operators.clone())
        .unwrap_or_default();
    if let Some(target) = &options.target {
        operators.extend(target.operators());
    }
    let model = match model.into() {
        Onnx::Path(path) => Model::open_in(path, &operators)?,
        Onnx::Bytes(bytes) => Model::from_onnx_in(bytes.into_owned(), &operators)?,
    };
    optimize_model(model, options)
}

/// Rewrites a program or model of any kind: [`optimize_onnx`].
///
/// # Errors
/// The rules or the options are invalid, or the result turned out to differ from the original.
///
/// ```
/// # use tautomer::{Model, Options, optimize_model};
/// let model = Model::from_text("example", "fn main(x: f32[8]) { relu(x + 0.0) }")?;
/// let optimized = optimize_model(model, &Options::default())?;
/// assert_eq!(optimized.model.to_text(), "fn main(x: f32[8]) {\n  relu(x)\n}\n");
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
pub fn optimize_model(model: Model, options: &Options) -> Result<Optimized, Diagnostics> {
    let optimized = optimize_unjudged(model, options)?;
    if optimized.is_right() {
        return Ok(optimized);
    }
    let mut problem = Diagnostic::error("T0410", "the result differs from the original");
    if let Some(check) = &optimized.check {
        problem = problem.note(check.line(true));
        problem = match &check.rule {
            Some(step) => problem.note(format!("`{}` makes it wrong", step.rule)),
            None => problem,
        };
    }
    if let Some(audit) = optimized.audit.as_ref().filter(|audit| !audit.is_right()) {
        problem = problem.note(audit.to_string());
    }
    Err(problem
        .help("`tautomer bisect` looks for the rule at fault; skip it")
        .into())
}

/// Like [`optimize_model`], but also returns a result that differs from the original.
pub(crate) fn optimize_unjudged(model: Model, options: &Options) -> Result<Optimized, Diagnostics> {
    let model = prepared(model, options)?;
    let format = options.format(&model);
    let told = |event: Event| options.tell(event);
    let cancelled = || options.is_cancelled();
    let forbidden = |call: &op::Infer<'_>, result: &Type| format.forbids(call, result);
    let illegal_here = |call: &op::Infer<'_>, result: &Type| format.is_illegal(call, result);
    let micros = micros_of(options);
    let expand = |def: &op::OpDef| format.expands(def);
    let mut inner = pipeline::Options {
        forbidden: &forbidden,
        illegal: options.target.is_some().then_some(&illegal_here),
        micros: &micros,
        expand: &expand,
        watch: &told,
        cancelled: &cancelled,
        ..options.inner()?
    };
    let chosen = locks::choose(&inner, options.verdict, options.allow_refuted)?;
    inner.rules = Some(chosen.rules.clone());
    (inner.only, inner.skip) = (None, Vec::new());
    let outcome = pipeline::optimize(model.workload.clone(), &inner)?;
    let check = match options.check {
        0 => None,
        _ => Some(checked(&model.workload, &outcome.workload, &inner, options)?),
    };
    let audit = match &outcome.explored {
        None => None,
        Some(explored) => {
            options.tell(Event::Stage("audit"));
            let how = AuditOptions {
                seed: options.seed,
                class: options.class,
                assuming: !options.assume.is_empty(),
                machine: Some(&fast),
                ..AuditOptions::default()
            };
            let Workload { graph, params } = &model.workload;
            Some(audit(graph, params, explored, &how))
        }
    };
    let left = match &format.legality {
        Some(legality) => illegal(&outcome.workload.graph, legality, &chosen.rules),
        None => Vec::new(),
    };
    let lowered = match &format.legality {
        Some(legality) => lowered(&model.workload.graph, &left, legality),
        None => BTreeMap::new(),
    };
    let opset = format.opset;
    Ok(Optimized {
        illegal: left,
        lowered,
        model: model.with_workload(outcome.workload.clone()),
        report: outcome.report.clone(),
        check,
        audit,
        warnings: chosen.warnings(),
        chosen,
        opset,
        outcome,
        original: model,
        options: options.clone().without_watcher(),
    })
}

/// The time that calls take: by the cost model of the caller, on the target, or on one core.
fn micros_of(options: &Options) -> impl Fn(&op::Priced<'_>) -> f64 + use<> {
    let (own, target) = (options.cost_model(), options.target.clone());
    move |call| match (&own, &target) {
        (Some(own), _) => own(call),
        (None, Some(target)) => target.micros(call),
        (None, None) => call.cost.micros(),
    }
}

/// Compares the result with the original on random inputs.
fn checked(
    before: &Workload,
    after: &Workload,
    inner: &pipeline::Options<'_>,
    options: &Options,
) -> Result<Check, Diagnostics> {
    options.tell(Event::Stage("compare"));
    let runs = (options.check, options.seed);
    let allowed = tolerance(options.class, before);
    let how = Comparing {
        runs,
        allowed,
        allowance: options.allowance,
        // Substitution does not record what each of its steps depends on.
        blamed: &|| {
            let by_saturation = matches!(options.engine, Engine::Saturate);
            by_saturation.then(|| blamed(before, inner, runs, allowed).is_some())
        },
        cancelled: inner.cancelled,
    };
    let verdict = compare::compare(before, after, &how)?;
    let differs = matches!(verdict, Compared::Apart { wrong: true, .. });
    Ok(Check {
        rule: differs.then(|| blamed(before, inner, runs, allowed)).flatten(),
        verdict,
        allowed,
    })
}

/// The model with the shapes and the operator set that the options ask for.
fn prepared(mut model: Model, options: &Options) -> Result<Model, Diagnostics> {
    if !options.shapes.is_empty() {
        model.reshape(&options.shapes)?;
    }
    let is_onnx = options.kind(&model) == Some(Kind::Onnx);
    let target = options
        .target
        .as_ref()
        .filter(|target| target.format == TargetFormat::Onnx);
    match (options.opset, target) {
        (Some(opset), None) if is_onnx => {
            let info = model.info.get_or_insert_default();
            raise_opset(&model.workload.graph, info, opset)?;
        }
        (opset, Some(target)) => {
            let info = model.info.get_or_insert_default();
            let opset = opset.unwrap_or_else(|| target.opset_of(info));
            set_opset(&model.workload.graph, info, opset)?;
        }
        _ => {}
    }
    Ok(model)
}

/// Explains why a rule does not apply to a model, or what happened to its result if it does.
///
/// # Errors
/// Same as for [`optimize_model`]; also if there is no such rule.
///
/// ```
/// # use tautomer::{Model, Options, why_not};
/// let model = Model::from_text("example", "fn main(x: f32[8]) { relu(x + 1.0) }")?;
/// let why = why_not(&model, &Options::default(), "relu-of-relu")?;
/// assert!(why.answer.contains("where the graph has"), "{}", why.answer);
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
pub fn why_not(model: &Model, options: &Options, rule: &str) -> Result<WhyNot, Diagnostics> {
    let model = prepared(model.clone(), options)?;
    let format = options.format(&model);
    let forbidden = |call: &op::Infer<'_>, result: &Type| format.forbids(call, result);
    let illegal_here = |call: &op::Infer<'_>, result: &Type| format.is_illegal(call, result);
    let micros = micros_of(options);
    let expand = |def: &op::OpDef| format.expands(def);
    let inner = pipeline::Options {
        forbidden: &forbidden,
        illegal: options.target.is_some().then_some(&illegal_here),
        micros: &micros,
        expand: &expand,
        ..options.inner()?
    };
    let mut found = pipeline::why_not(&model.workload.graph, &inner, rule)?;
    if let Some(verdict) = locks::lesser(&inner, rule, options.verdict)? {
        let level = options.verdict.map_or("any", crate::verify::Level::word);
        found.answer = format!("it is left out: its verdict is {verdict}, and `--verdict {level}` requires more");
        found.hints.clear();
    }
    for name in &found.forbidden {
        found
            .hints
            .push(match (op::lookup(name).and_then(|def| def.onnx), format.opset) {
                (Some(onnx), Some(opset)) if i64::from(onnx.since) > opset => format!(
                    "ONNX has `{name}` from operator set {} on, and the model is written for {opset}: `--opset {}`",
                    onnx.since, onnx.since
                ),
                (None, Some(_)) => {
                    format!("`{name}` cannot be expressed in ONNX: write the result as .taut, or leave the format open")
                }
                _ => format!("the format of the result has no `{name}`"),
            });
    }
    Ok(found)
}

/// An optimized model, with everything that is known about it.
#[derive(Debug, Clone)]
pub struct Optimized {
    /// The result.
    pub model: Model,
    /// The original, with the requested shapes.
    pub original: Model,
    /// The report of the stages.
    pub report: Report,
    /// The comparison on random inputs, if there was one.
    pub check: Option<Check>,
    /// The audit, if there was one.
    pub audit: Option<Audit>,
    /// Warnings about the rules that were used.
    pub warnings: Diagnostics,
    /// The calls of the result that its target does not have.
    pub(crate) illegal: Vec<Illegal>,
    /// The calls in the original that the target does not have and that were replaced, by operator.
    pub(crate) lowered: BTreeMap<String, usize>,
    /// The full output of the engine.
    pub(crate) outcome: Outcome,
    pub(crate) chosen: Chosen,
    /// The operator set of the result, for ONNX.
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command says it"))]
    pub(crate) opset: Option<i64>,
    options: Options,
}

impl Optimized {
    /// True unless the comparison or the audit found a difference.
    pub fn is_right(&self) -> bool {
        let differs = self.check.as_ref().is_some_and(Check::is_wrong);
        !differs && self.audit.as_ref().is_none_or(Audit::is_right)
    }

    /// With [`Options::target`]: the calls in the result that the target does not have, with the reason, and what would
    /// be legal. Empty if the result can run there.
    pub fn illegal(&self) -> &[Illegal] {
        &self.illegal
    }

    /// The target that the result was made for.
    pub fn target(&self) -> Option<&Target> {
        self.options.target.as_deref()
    }

    /// With [`Options::target`]: the number of calls in the original that the target does not have and that are no
    /// longer in the result, by operator.
    pub fn lowered(&self) -> &BTreeMap<String, usize> {
        &self.lowered
    }

    /// With [`Options::explain`]: the rewrites that produced the result, in dataflow order.
    pub fn steps(&self) -> &[Step] {
        &self.outcome.steps
    }

    /// Explains why a rule does not apply to the original, or why the result does not show it.
    ///
    /// # Errors
    /// There is no such rule.
    pub fn why_not(&self, rule: &str) -> Result<WhyNot, Diagnostics> {
        why_not(&self.original, &self.options, rule)
    }

    /// The report as one page of HTML, with pictures of the regions that changed if [`Options::explain`] is set.
    pub fn html(&self) -> String {
        let file = shown(&self.original.path);
        // What is in memory has no name but one for messages.
        let file = match file.as_str() {
            "<text>" => "program",
            "<bytes>" => "model",
            other => other,
        };
        self.page(file, self.report.vertices)
    }

    /// The report as one page; `file` names the original, `nodes` are counts before and after.
    pub(crate) fn page(&self, file: &str, nodes: (usize, usize)) -> String {
        let runs = self.options.check;
        let page = Page {
            file,
            original: &self.original.workload,
            outcome: &self.outcome,
            nodes,
            check: self.check.as_ref().map(|check| (runs, &check.verdict)),
            allowed: self.allowed(),
            class: self.options.class,
            rules: &self.chosen.rules,
            verdicts: &self.chosen.entries(),
        };
        page.html()
    }

    /// The largest difference allowed, relative to the scale of the result.
    fn allowed(&self) -> f64 {
        match &self.check {
            Some(check) => check.allowed,
            None => tolerance(self.options.class, &self.original.workload),
        }
    }
}

/// A comparison of result and original on random inputs.
#[derive(Debug, Clone)]
pub struct Check {
    /// The outcome.
    pub verdict: Compared,
    /// The largest difference allowed, relative to the scale of the result.
    pub allowed: f64,
    /// The rewrite at fault, if they differ and it was found.
    pub rule: Option<Step>,
}

impl Check {
    /// True if the results differ by more than is allowed.
    pub fn is_wrong(&self) -> bool {
        matches!(self.verdict, Compared::Apart { wrong: true, .. })
    }

    /// The outcome in one line; `asked` if the comparison was requested.
    pub fn line(&self, asked: bool) -> String {
        compare::line(&self.verdict, self.allowed, asked)
    }
}

/// A progress callback.
pub type Progress = Arc<dyn Fn(Event) + Send + Sync>;
