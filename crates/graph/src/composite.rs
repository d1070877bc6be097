//! Composite operators: replaces calls by the bodies that define them.

use std::sync::Arc;

use super::build::Builder;
use super::declare::{bind_operands, code_of};
use super::sink::{Sink, ValueId};
use super::term::{self, Term};
use super::{Graph, Node, VertexId};
use tautomer_lang::ast::{Block, ExprId, ExprKind, Function, Program};
use tautomer_op::{AttrValue, Op, OpDef, OpError, known};

/// The function that defines a composite operator, with its syntax tree.
///
/// # Errors
/// If the operator is primitive.
pub fn composite_function(def: &'static OpDef) -> Result<(&'static Program, &'static Function), OpError> {
    let found = code_of(def).and_then(|code| Some((&code.program, code.function()?)));
    found.ok_or_else(|| OpError::new(format!("`{}` has no body", def.name)))
}

/// The operators used in the body of a composite operator, each once, sorted by name. They include those of branches
/// that a call may not take.
///
/// # Errors
/// If the operator is primitive.
///
/// ```
/// # use tautomer_graph::body_operators;
/// # use tautomer_op::lookup;
/// let found = body_operators(lookup("silu").unwrap()).unwrap();
/// assert_eq!(found.iter().map(|def| def.name).collect::<Vec<_>>(), ["mul", "sigmoid"]);
/// ```
pub fn body_operators(def: &'static OpDef) -> Result<Vec<&'static OpDef>, OpError> {
    let (program, function) = composite_function(def)?;
    let ast = &program.ast;
    let scope = code_of(def).map(|code| code.scope.clone()).unwrap_or_default();
    let mut found: Vec<&'static OpDef> = Vec::new();
    // Attributes and conditions are computed while the graph is built, so their calls are not operators.
    let block = |block: &Block| {
        block
            .lets
            .iter()
            .map(|l| l.value)
            .chain([block.result])
            .collect::<Vec<_>>()
    };
    let mut stack = block(&function.body);
    while let Some(id) = stack.pop() {
        let (name, below): (Option<&str>, Vec<ExprId>) = match ast.kind(id) {
            ExprKind::Call { callee, args, .. } => (Some(callee.as_str()), args.clone()),
            ExprKind::Binary { op, lhs, rhs } => (op.operator(), vec![*lhs, *rhs]),
            ExprKind::Unary { op, operand } => (Some(op.operator()), vec![*operand]),
            ExprKind::If { cond, then, otherwise } => {
                let below = [vec![*cond], block(then), block(otherwise)].concat();
                (Some(known::WHERE), below)
            }
            ExprKind::When { then, otherwise, .. } => (None, [block(then), block(otherwise)].concat()),
            ExprKind::Project { base, .. } => (None, vec![*base]),
            ExprKind::Tuple(items) => (None, items.clone()),
            ExprKind::Comprehension { body, .. } => (None, vec![*body]),
            _ => (None, Vec::new()),
        };
        found.extend(name.and_then(|name| scope.find(name, false)));
        stack.extend(below);
    }
    found.sort_by_key(|def| def.name);
    found.dedup_by_key(|def| def.name);
    Ok(found)
}

/// Builds the body of a composite call into `sink`.
///
/// # Errors
/// If the operator is primitive, or if its body does not type for these operands.
pub fn inline(
    sink: &mut dyn Sink,
    def: &'static OpDef,
    operands: &[ValueId],
    attrs: &[AttrValue],
) -> Result<ValueId, OpError> {
    let (program, function) = composite_function(def)?;
    let mut builder = Builder::new(&program.ast, sink);
    builder.fold_terms = true;
    if let Some(code) = code_of(def) {
        builder.scope = code.scope.clone();
    }
    let names: Vec<Arc<str>> = function.params.iter().map(|p| p.name.name.clone()).collect();
    bind_operands(&mut builder, (def.operands, def.attrs), &names, operands, attrs);
    let value = builder.block(&function.body);
    let vertex = value.and_then(|t| builder.vertex(t, function.span));
    let problems = std::mem::take(&mut builder.problems).in_source(&program.ast.source);
    match vertex {
        Some(v) if !problems.has_errors() => Ok(v),
        _ => Err(OpError::new(format!(
            "the body of `{}` does not apply here:\n{}",
            def.name,
            problems.render(false)
        ))),
    }
}

/// The meaning of a name in a program passed to [`inline_program`].
#[derive(Debug, Clone)]
pub enum Given {
    /// A value.
    Value(ValueId),
    /// An attribute.
    Attr(AttrValue),
}

/// Builds the first function of a program into `sink`; parameters without a value are omitted.
///
/// # Errors
/// If there is no function, or its body does not type for the given values.
pub fn inline_program(sink: &mut dyn Sink, program: &Program, given: &[(&str, Given)]) -> Result<ValueId, OpError> {
    let Some(function) = program.functions.first() else {
        return Err(OpError::new("the program has no function"));
    };
    let mut builder = Builder::new(&program.ast, sink);
    builder.fold_terms = true;
    for param in &function.params {
        let name = &param.name.name;
        let value = given
            .iter()
            .find(|(known, _)| *known == &**name)
            .map(|(_, value)| value);
        let term = match value {
            Some(Given::Value(v)) => Term::Value(*v),
            Some(Given::Attr(attr)) => term::from_attr(attr),
            None => Term::None,
        };
        builder.bind(name, Some(term));
    }
    let value = builder.block(&function.body);
    let vertex = value.and_then(|t| builder.vertex(t, function.span));
    let problems = std::mem::take(&mut builder.problems).in_source(&program.ast.source);
    match vertex {
        Some(v) if !problems.has_errors() => Ok(v),
        _ => Err(OpError::new(problems.render(false))),
    }
}

/// Replaces calls of composite operators for which `expand` holds by their bodies, until none is left; returns how
/// many were replaced.
///
/// # Errors
/// If a body does not type for its operands.
pub fn expand_composites(graph: &mut Graph, expand: &dyn Fn(&OpDef) -> bool) -> Result<usize, OpError> {
    expand_calls(graph, &|_, _, def| expand(def))
}

/// Like [`expand_composites`], but decides for each call: `expand` is called for each vertex that calls a composite
/// operator.
///
/// # Errors
/// If a body does not type for its operands.
pub fn expand_calls(graph: &mut Graph, expand: &dyn Fn(&Graph, VertexId, &OpDef) -> bool) -> Result<usize, OpError> {
    let mut count = 0;
    loop {
        let found: Vec<(VertexId, &'static OpDef, tautomer_op::Attrs)> = graph
            .rpo()
            .into_iter()
            .filter_map(|v| match &graph.vertex(v).node {
                Node::Call {
                    op: Op::Known(def),
                    attrs,
                } if def.composite_body().is_some() && expand(graph, v, def) => Some((v, *def, attrs.clone())),
                _ => None,
            })
            .collect();
        if found.is_empty() {
            return Ok(count);
        }
        for (v, def, attrs) in found {
            let operands = graph.pred(v);
            let new = inline(graph, def, &operands, &attrs)?;
            graph.replace_call(v, new);
            count += 1;
        }
        graph.retain_reachable();
    }
}
