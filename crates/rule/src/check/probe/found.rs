//! A source with types, and the target built for it.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Difference;
use super::forms::Rewritten;
use crate::Rule;
use tautomer_diag::Diagnostic;
use tautomer_graph::build::Builder;
pub(crate) use tautomer_graph::literal::Wanted;
use tautomer_graph::term::{Scope, Term};
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::{AttrValue, OpDef};
use tautomer_tensor::{Tensor, Type};

/// A source with types.
#[derive(Default)]
pub(super) struct Found {
    pub(super) graph: Graph,
    pub(super) outputs: Vec<VertexId>,
    pub(super) names: FxHashMap<Arc<str>, Term>,
    pub(super) rests: FxHashMap<Arc<str>, Vec<(Arc<str>, AttrValue)>>,
    pub(super) ops: FxHashMap<Arc<str>, &'static OpDef>,
    /// Names in the order in which they were bound.
    pub(super) order: Vec<Arc<str>>,
    /// Attributes that calls have in another form than the source.
    pub(super) rewritten: Vec<Rewritten>,
}

/// How the target differs for these operands.
pub(super) fn differs(rule: &Rule, mut found: Found) -> Option<Difference> {
    let operands = found.describe(rule);
    let types = |graph: &Graph, list: &[VertexId]| -> Vec<Type> { list.iter().map(|v| graph.ty(*v).clone()).collect() };
    let source = types(&found.graph, &found.outputs);
    let target = match target(rule, &mut found) {
        Ok(values) => Ok(types(&found.graph, &values)),
        Err(problem) => Err(Box::new(problem?)),
    };
    if let Ok(target) = &target
        && target.len() == source.len()
        && source.iter().zip(target).all(|(a, b)| may_be_same(a, b))
    {
        return None;
    }
    Some(Difference {
        operands,
        source,
        target,
        certain: false,
    })
}

/// The outputs of the target; or the first problem, if it has a location.
fn target(rule: &Rule, found: &mut Found) -> Result<Vec<VertexId>, Option<Diagnostic>> {
    let like = found
        .outputs
        .first()
        .and_then(|v| found.graph.ty(*v).as_tensor())
        .map(|t| t.dtype);
    let mut builder = Builder::new(&rule.ast, &mut found.graph);
    builder.fold_terms = true;
    builder.scope = rule.scope.clone();
    for name in &found.order {
        builder.bind(name, found.names.get(name).cloned());
    }
    for rest in &rule.rests {
        builder.bind_rest(rest, found.rests.get(rest).cloned().unwrap_or_default());
    }
    for variable in &rule.operators {
        if let Some(def) = found.ops.get(&variable.name) {
            builder.bind_operator(&variable.name, def);
        }
    }
    let span = rule.target.span;
    let built = if rule.source.has_several_outputs() {
        builder.block_items(&rule.target).and_then(|items| {
            let values = items.into_iter().map(|t| builder.vertex(t, span));
            values.collect::<Option<Vec<_>>>()
        })
    } else {
        let value = builder.block(&rule.target);
        let wanted = like.map_or(Wanted::Any, Wanted::Like);
        value.and_then(|t| builder.vertex_as(t, wanted, span)).map(|v| vec![v])
    };
    match built {
        Some(values) if !builder.problems.has_errors() => Ok(values),
        _ => Err(builder.problems.into_iter().next()),
    }
}

/// True unless the types are known to differ.
fn may_be_same(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => {
            let shapes = match (&a.shape, &b.shape) {
                (Some(a), Some(b)) => {
                    a.len() == b.len()
                        && a.iter()
                            .zip(b.iter())
                            .all(|(x, y)| x == y || x.as_const().is_none() || y.as_const().is_none())
                }
                _ => true,
            };
            a.dtype == b.dtype && shapes
        }
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| may_be_same(x, y)),
        _ => a == b,
    }
}

impl Found {
    /// The operands and attributes, for messages.
    fn describe(&self, rule: &Rule) -> Vec<String> {
        let mut out = Vec::new();
        let operators = rule.operators.iter().map(|v| &v.name);
        out.extend(operators.filter_map(|name| Some(format!("{name} = {}", self.ops.get(name)?.name))));
        for name in &self.order {
            let Some(term) = self.names.get(name) else { continue };
            if let Term::Value(v) = term {
                if rule.variable(name).is_some() {
                    out.push(format!("{name}: {}", self.graph.ty(*v)));
                }
            } else if let (Term::List(items), Some(_)) = (term, rule.variable(name)) {
                if let Some(Term::Value(v)) = items.first() {
                    out.push(format!("{name}[i]: {}", self.graph.ty(*v)));
                }
            } else if let Some(value) = tautomer_graph::term::to_attr(term) {
                out.push(format!("{name} = {value}"));
            }
        }
        out
    }
}

impl Scope for Found {
    fn name(&self, name: &str) -> Option<Term> {
        self.names.get(name).cloned()
    }

    fn indexed(&self, name: &str, index: i64) -> Option<Term> {
        match self.names.get(name)? {
            Term::List(items) => items.get(usize::try_from(index).ok()?).cloned(),
            _ => None,
        }
    }

    fn ty(&self, v: VertexId) -> Type {
        self.graph.ty(v).clone()
    }

    fn constant(&self, v: VertexId) -> Option<Tensor> {
        self.graph.vertex(v).constant().cloned()
    }

    fn is_static(&self, v: VertexId) -> bool {
        let mut seen = FxHashSet::default();
        let mut stack = vec![v];
        while let Some(v) = stack.pop() {
            if matches!(self.graph.vertex(v).node, Node::Input) {
                return false;
            }
            if seen.insert(v) {
                stack.extend(self.graph.pred(v));
            }
        }
        true
    }
}
