//! Targets: the calls that a result may have, and what they cost.

mod check;
mod file;
mod legal;
mod report;
mod show;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::diag::{Diagnostics, Source};
use crate::formats::onnx::OnnxInfo;
use crate::lang::ast::{Ast, ExprId};
use crate::op::{Op, OpDef, Priced, Scope};
use crate::rule::RuleSet;
use crate::rule_files::{self, Examples};
use crate::tensor::DType;

#[cfg(feature = "cli")]
pub(crate) use self::file::open_all;
pub use self::file::{TARGETS, shipped};
pub(crate) use self::legal::Legality;
pub use self::report::Illegal;
pub(crate) use self::report::{illegal, lowered};

/// A runtime or a format: the operators, element types, ranks and shapes that a result may have, the rules that make
/// sense for it, and what calls cost.
///
/// ```
/// use tautomer::{Model, Options, Target, optimize_model};
///
/// let model = Model::from_text("example", "fn main(x: f32[2, 8]) { hard_swish(x) }")?;
/// let target = Target::named("npu")?; // or Target::open("mine.target")
/// let optimized = optimize_model(model, &Options::default().target(target))?;
/// assert!(optimized.illegal().is_empty() && !optimized.model.to_text().contains("hard_swish"));
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name.
    pub name: Arc<str>,
    /// Its documentation.
    pub doc: String,
    /// The format, which decides which calls can be written.
    pub format: TargetFormat,
    /// The operator set, for ONNX.
    pub opset: Opset,
    /// The element types for which operators have kernels.
    pub(crate) kernels: Kernels,
    /// The operators that it has; `None` for all that the format can express.
    pub(crate) only: Option<BTreeSet<&'static str>>,
    pub(crate) denied: BTreeSet<&'static str>,
    /// The declared operators that it has.
    pub(crate) declared: BTreeSet<&'static str>,
    /// The declarations that it mentions.
    pub(crate) scope: Scope,
    pub(crate) types: Option<BTreeSet<DType>>,
    pub(crate) types_of: BTreeMap<&'static str, BTreeSet<DType>>,
    pub(crate) limits: Vec<Limit>,
    /// True if every dimension has to be a number.
    pub(crate) fixed_shapes: bool,
    pub(crate) rules: Vec<PathBuf>,
    pub(crate) machine: Machine,
    pub(crate) factors: BTreeMap<&'static str, f64>,
}

/// The format that a target's results are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetFormat {
    /// ONNX.
    Onnx,
    /// PNNX.
    Pnnx,
    /// A program: everything that this library computes.
    Program,
}

impl TargetFormat {
    pub(crate) const ALL: [(&'static str, TargetFormat); 3] = [
        ("onnx", TargetFormat::Onnx),
        ("pnnx", TargetFormat::Pnnx),
        ("program", TargetFormat::Program),
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, format)| *format == self)
            .map_or("program", |(name, _)| name)
    }
}

/// The ONNX operator set that a target takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opset {
    /// The operator set of the model.
    Model,
    /// This one.
    At(i64),
}

/// The element types for which operators have kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernels {
    /// It is not known.
    Any,
    /// Those of ONNX Runtime, unless it lacks kernels for the original.
    Kept,
    /// Those of ONNX Runtime.
    Onnxruntime,
}

impl Kernels {
    pub(crate) const ALL: [(&'static str, Kernels); 3] = [
        ("any", Kernels::Any),
        ("kept", Kernels::Kept),
        ("onnxruntime", Kernels::Onnxruntime),
    ];
}

/// A condition on calls.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub(crate) ast: Arc<Ast>,
    pub(crate) condition: ExprId,
    /// The operators whose operands and attributes the condition names; `None` for every operand and result `x` of
    /// every call.
    pub(crate) operators: Option<BTreeSet<&'static str>>,
}

/// How long calls take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Machine {
    /// Microseconds to start a call.
    pub(crate) launch: f64,
    /// Billions of operations in a second.
    pub(crate) gflops: f64,
    /// Billions of bytes in a second.
    pub(crate) bandwidth: f64,
}

impl Default for Machine {
    /// One core of a processor: [`Cost::micros`](crate::op::Cost::micros).
    fn default() -> Self {
        Machine {
            launch: 2.0,
            gflops: 50.0,
            bandwidth: 10.0,
        }
    }
}

impl Target {
    /// The target of that name that comes with the tool.
    ///
    /// # Errors
    /// There is no such target; the message has the nearest name.
    ///
    /// ```
    /// use tautomer::Target;
    /// assert_eq!(&*Target::named("onnxruntime")?.name, "onnxruntime");
    /// assert!(Target::named("onnxruntim").unwrap_err().to_string().contains("did you mean `onnxruntime`?"));
    /// # Ok::<(), tautomer::diag::Diagnostics>(())
    /// ```
    pub fn named(name: &str) -> Result<Target, Diagnostics> {
        file::named(name, &rule_files::built_in_operators())
    }

    /// The target of a file, which may have others that it extends.
    ///
    /// # Errors
    /// The file cannot be read, or a target in it is wrong; all problems together.
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Target, Diagnostics> {
        file::open(path.as_ref(), &rule_files::built_in_operators())
    }

    /// The target in a text; messages call the text `name`.
    ///
    /// # Errors
    /// Same as for [`open`](Target::open).
    ///
    /// ```
    /// use tautomer::Target;
    /// let target = Target::from_text("a.target", "target small { extends onnx only conv, relu where x.rank <= 4 }")?;
    /// assert_eq!(&*target.name, "small");
    /// # Ok::<(), tautomer::diag::Diagnostics>(())
    /// ```
    pub fn from_text(name: &str, text: &str) -> Result<Target, Diagnostics> {
        let source = Arc::new(Source::new(name, text));
        file::of_source(source, std::path::Path::new(name), &rule_files::built_in_operators())
    }

    /// The target with a name or at a path, as on the command line: a path ends in `.target` or has a directory. The
    /// target may name the operators in `scope`, such as those of [`built_in_operators`](crate::built_in_operators).
    ///
    /// # Errors
    /// As [`named`](Target::named) and [`open`](Target::open).
    pub fn find(written: &str, scope: &Scope) -> Result<Target, Diagnostics> {
        let path = std::path::Path::new(written);
        let is_path = path.extension().is_some_and(|suffix| suffix == "target") || written.contains(['/', '\\']);
        match is_path {
            true => file::open(path, scope),
            false => file::named(written, scope),
        }
    }

    /// True if some calls of the operator may be legal: it is not excluded, and among those that the target lists.
    pub fn has(&self, def: &OpDef) -> bool {
        self.operator(def).is_none()
    }

    /// The operators that it declares, which models for it may contain.
    pub fn operators(&self) -> &Scope {
        &self.scope
    }

    /// The rules that make sense for it; `None` for the built-in ones alone.
    ///
    /// # Errors
    /// A rule file cannot be read, or is wrong.
    pub fn rules(&self) -> Result<Option<RuleSet>, Diagnostics> {
        if self.rules.is_empty() || self.rules == [PathBuf::from("built-in")] {
            return Ok(None);
        }
        let (set, _) = rule_files::read(&self.rules, true, Examples::Skipped, &self.scope)?;
        Ok(Some(set))
    }

    /// The rule files and sets that it names, as `--rules` takes them.
    pub(crate) fn rule_paths(&self) -> Vec<PathBuf> {
        match self.rules.is_empty() {
            true => vec![PathBuf::from("built-in")],
            false => self.rules.clone(),
        }
    }

    /// The time that a call takes on it, in microseconds.
    pub fn micros(&self, call: &Priced<'_>) -> f64 {
        let Machine {
            launch,
            gflops,
            bandwidth,
        } = self.machine;
        let cost = call.cost;
        let own = launch * cost.launches + (cost.flops / (gflops * 1e3)).max(cost.bytes / (bandwidth * 1e3));
        let factor = match call.op {
            Op::Known(def) => self.factors.get(def.name).copied(),
            Op::Opaque(_) => None,
        };
        own * factor.unwrap_or(1.0)
    }

    /// The operator set that a model with this information is written for.
    pub(crate) fn opset_of(&self, info: &OnnxInfo) -> i64 {
        match self.opset {
            Opset::Model => info.opset(),
            Opset::At(opset) => opset,
        }
    }
}
