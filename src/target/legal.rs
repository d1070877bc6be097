//! Decides which calls a target has.

use super::{Kernels, Target, TargetFormat};
use crate::formats::onnx::{self, OnnxInfo};
use crate::formats::pnnx;
use crate::graph::term::{self, Term, TermError};
use crate::graph::{Graph, ValueId};
use crate::lang::format_expr;
use crate::op::{Fact, Infer, OpDef};
use crate::tensor::{DType, Dim, Tensor, Type};

/// A target for one model.
pub(crate) struct Legality<'a> {
    pub(crate) target: &'a Target,
    pub(crate) onnx: Option<onnx::Target>,
}

/// The reason why a call is not legal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Obstacle {
    /// The operator is none of those listed.
    Unlisted,
    /// The operator is excluded.
    Denied,
    /// The operator is declared, and the target does not have it.
    Undeclared,
    /// Nothing is known about the operator's meaning.
    Uninterpreted,
    /// An element type; `of_operator` if other operators have it.
    ElementType {
        what: String,
        dtype: DType,
        of_operator: bool,
    },
    /// A dimension that is not known.
    Dynamic { what: String, ty: String },
    /// A condition that does not hold, or has no value.
    Condition { text: String, about: String },
    /// The format cannot express it.
    NoForm(String),
    /// The runtime has no kernel for these element types.
    NoKernel,
}

impl<'a> Legality<'a> {
    /// The target for results derived from `graph`, written together with `info`.
    pub(crate) fn new(target: &'a Target, graph: &Graph, info: &OnnxInfo) -> Legality<'a> {
        let onnx = (target.format == TargetFormat::Onnx).then(|| match target.kernels {
            Kernels::Kept => onnx::Target::new(graph, info),
            Kernels::Any => onnx::Target::at(info.opset(), false),
            Kernels::Onnxruntime => onnx::Target::at(info.opset(), true),
        });
        Legality { target, onnx }
    }

    /// True if the target has the call.
    pub(crate) fn allows(&self, call: &Infer<'_>, result: &Type) -> bool {
        self.obstacle(call, result).is_none()
    }

    /// Why the target does not have the call; `None` if it does.
    pub(crate) fn obstacle(&self, call: &Infer<'_>, result: &Type) -> Option<Obstacle> {
        let target = self.target;
        if let Some(obstacle) = target.operator(call.def) {
            return Some(obstacle);
        }
        for (what, ty) in values(call, result) {
            if let Some(obstacle) = target.value(call.def, &what, &ty) {
                return Some(obstacle);
            }
        }
        if let Some(obstacle) = target.condition(call, result) {
            return Some(obstacle);
        }
        match (&self.onnx, target.format) {
            (Some(onnx), _) => onnx.refusal(call, result).map(|refusal| match refusal {
                onnx::Refusal::NoForm(why) => Obstacle::NoForm(why),
                onnx::Refusal::NoKernel => Obstacle::NoKernel,
            }),
            (None, TargetFormat::Pnnx) if !pnnx::has_form(call.def) => {
                Some(Obstacle::NoForm(format!("PNNX has no form of `{}`", call.def.name)))
            }
            _ => None,
        }
    }
}

impl Target {
    /// Why the target does not have an operator, whatever its operands are.
    pub(crate) fn operator(&self, def: &OpDef) -> Option<Obstacle> {
        if self.denied.contains(def.name) {
            return Some(Obstacle::Denied);
        }
        if self.only.as_ref().is_some_and(|only| !only.contains(def.name)) {
            return Some(Obstacle::Unlisted);
        }
        match self.format {
            TargetFormat::Onnx if def.foreign().is_some() && !self.declared.contains(def.name) => {
                Some(Obstacle::Undeclared)
            }
            TargetFormat::Program if def.is_uninterpreted() => Some(Obstacle::Uninterpreted),
            _ => None,
        }
    }

    fn value(&self, def: &OpDef, what: &str, ty: &Type) -> Option<Obstacle> {
        let tensor = ty.as_tensor()?;
        let listed = self.types_of.get(def.name).or(self.types.as_ref());
        if listed.is_some_and(|types| !types.contains(&tensor.dtype)) {
            return Some(Obstacle::ElementType {
                what: what.to_owned(),
                dtype: tensor.dtype,
                of_operator: self.types_of.contains_key(def.name),
            });
        }
        let fixed = |dims: &[Dim]| dims.iter().all(|dim| dim.as_const().is_some());
        if self.fixed_shapes && !tensor.shape.as_ref().is_some_and(|shape| fixed(shape)) {
            return Some(Obstacle::Dynamic {
                what: what.to_owned(),
                ty: ty.to_string(),
            });
        }
        None
    }

    /// The first condition that does not hold.
    fn condition(&self, call: &Infer<'_>, result: &Type) -> Option<Obstacle> {
        for limit in &self.limits {
            let test = |scope: &Names<'_>| term::condition(&limit.ast, limit.condition, scope);
            let text = || format_expr(&limit.ast, limit.condition);
            match &limit.operators {
                Some(operators) if !operators.contains(call.def.name) => {}
                Some(_) => {
                    let scope = Names::of_call(call);
                    if let Some(about) = failed(test(&scope)) {
                        let about = about.unwrap_or_else(|| scope.described());
                        return Some(Obstacle::Condition { text: text(), about });
                    }
                }
                None => {
                    for (what, ty) in values(call, result) {
                        let scope = Names::of_value(&ty);
                        if let Some(about) = failed(test(&scope)) {
                            let about = about.unwrap_or_else(|| format!("{what} is {ty}"));
                            return Some(Obstacle::Condition { text: text(), about });
                        }
                    }
                }
            }
        }
        None
    }
}

/// `None` if the condition holds; otherwise the reason why it has no value, if it has none.
fn failed(outcome: Result<bool, TermError>) -> Option<Option<String>> {
    match outcome {
        Ok(true) => None,
        Ok(false) => Some(None),
        Err(problem) => Some(Some(problem.message)),
    }
}

/// The operands and results of a call that are tensors, with their names in messages.
fn values(call: &Infer<'_>, result: &Type) -> Vec<(String, Type)> {
    let operands = call.operands.iter().enumerate().flat_map(|(i, fact)| {
        let name = call.def.operand(i).map_or("", |operand| operand.name);
        let mut out = Vec::new();
        tensors(fact.ty, &format!("operand `{name}`"), &mut out);
        out
    });
    let mut out: Vec<(String, Type)> = operands.collect();
    tensors(result, "the result", &mut out);
    out
}

fn tensors(ty: &Type, what: &str, out: &mut Vec<(String, Type)>) {
    match ty {
        Type::Tensor(_) => out.push((what.to_owned(), ty.clone())),
        Type::Tuple(items) => items.iter().for_each(|item| tensors(item, what, out)),
        Type::Sequence(item) | Type::Optional(item) => tensors(item, what, out),
        Type::Absent => {}
    }
}

/// The values that a condition may name.
pub(super) struct Names<'a> {
    terms: Vec<(&'static str, Term)>,
    facts: Vec<Fact<'a>>,
}

impl<'a> Names<'a> {
    /// The operands and attributes of a call.
    fn of_call(call: &Infer<'a>) -> Names<'a> {
        let mut terms = Vec::new();
        for (i, fact) in call.operands.iter().enumerate() {
            let Some(operand) = call.def.operand(i) else { continue };
            let term = match fact.ty {
                Type::Absent => Term::None,
                _ => Term::Value(ValueId::new(i)),
            };
            // A condition on a variadic operand is about the first.
            if !terms.iter().any(|(name, _)| *name == operand.name) {
                terms.push((operand.name, term));
            }
        }
        for operand in call.def.operands.iter().skip(call.operands.len()) {
            terms.push((operand.name, Term::None));
        }
        for (attr, value) in call.def.attrs.iter().zip(call.attrs) {
            terms.push((attr.name, term::from_attr(value)));
        }
        Names {
            terms,
            facts: call.operands.to_vec(),
        }
    }

    pub(super) fn of_value(ty: &'a Type) -> Names<'a> {
        Names {
            terms: vec![("x", Term::Value(ValueId::new(0)))],
            facts: vec![Fact::with(ty, None)],
        }
    }

    /// `x` is f32[2, 3], `w` is f32[4]
    fn described(&self) -> String {
        let values = self.terms.iter().filter_map(|(name, term)| match term {
            Term::Value(i) => Some(format!("`{name}` is {}", self.facts.get(i.index())?.ty)),
            _ => None,
        });
        values.collect::<Vec<_>>().join(", ")
    }
}

impl term::Scope for Names<'_> {
    fn name(&self, name: &str) -> Option<Term> {
        self.terms
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, term)| term.clone())
    }

    fn ty(&self, v: ValueId) -> Type {
        self.facts.get(v.index()).map_or(Type::Absent, |fact| fact.ty.clone())
    }

    fn constant(&self, v: ValueId) -> Option<Tensor> {
        self.facts.get(v.index())?.value.cloned()
    }
}
