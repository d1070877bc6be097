//! The calls that the format of a result can express.

use crate::formats::onnx::{OnnxInfo, Target};
use crate::formats::pnnx;
use crate::graph::{Graph, body_operators};
use crate::model::Kind;
use crate::op::{self, Infer, OpDef};
use crate::target::{self, Legality};
use crate::tensor::Type;

/// The format of a result, and the calls it can express: rewrites may not introduce any others, but calls that are
/// already in the graph may stay. Calls that are not legal on a target may not stay either.
pub(crate) struct Format<'a> {
    /// The target that was asked for.
    pub(crate) legality: Option<Legality<'a>>,
    onnx: Option<Target>,
    /// The operator set, for ONNX.
    pub(crate) opset: Option<i64>,
    pnnx: bool,
}

impl<'a> Format<'a> {
    /// A result derived from `graph`; `None` for a program, which can express everything.
    pub(crate) fn new(
        kind: Option<Kind>,
        target: Option<&'a target::Target>,
        graph: &Graph,
        info: Option<&OnnxInfo>,
    ) -> Format<'a> {
        let own = OnnxInfo::default();
        let info = info.unwrap_or(&own);
        let is_onnx = kind == Some(Kind::Onnx);
        Format {
            legality: target.map(|target| Legality::new(target, graph, info)),
            onnx: is_onnx.then(|| Target::new(graph, info)),
            opset: is_onnx.then(|| info.opset()),
            pnnx: kind == Some(Kind::Pnnx),
        }
    }

    /// True if the call cannot be expressed.
    pub(crate) fn forbids(&self, call: &Infer<'_>, result: &Type) -> bool {
        self.onnx.as_ref().is_some_and(|target| !target.allows(call, result))
            || self.pnnx && !pnnx::has_form(call.def)
            || self.is_illegal(call, result)
    }

    /// True if the call should not stay where the graph has it.
    pub(crate) fn is_illegal(&self, call: &Infer<'_>, result: &Type) -> bool {
        self.legality
            .as_ref()
            .is_some_and(|legality| !legality.allows(call, result))
    }

    /// True if substitution may pass through the operator, which no ONNX operator set has, because its body can be
    /// written.
    pub(crate) fn expands(&self, def: &OpDef) -> bool {
        let Some(opset) = self.opset else { return false };
        let known = |def: &OpDef| def.onnx.is_some_and(|onnx| i64::from(onnx.since) <= opset);
        def.onnx.is_none() && op::lookup(def.name).is_some_and(|def| has_body(def, &known))
    }
}

/// True if `def` is a composite operator whose body uses only operators for which `known` holds, or other such
/// composites.
fn has_body(def: &'static OpDef, known: &dyn Fn(&OpDef) -> bool) -> bool {
    let mut seen: Vec<&str> = vec![def.name];
    let mut stack = vec![def];
    while let Some(def) = stack.pop() {
        let Ok(parts) = body_operators(def) else { return false };
        for part in parts.into_iter().filter(|part| !known(part)) {
            if !seen.contains(&part.name) {
                seen.push(part.name);
                stack.push(part);
            }
        }
    }
    true
}
