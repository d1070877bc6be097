//! Types and costs of calls of declared operators: from the declared types, the conditions and the body.

use std::collections::BTreeMap;
use std::sync::Arc;

use tautomer_diag::Diagnostics;
use tautomer_lang::ast::{Ast, Dims, ExprId, ExprKind, Mark, TypeExpr, TypeKind};
use tautomer_lang::{format_expr, format_type};
use tautomer_op::{Fact, Infer, OpError};
use tautomer_tensor::{DType, Dim, TensorType, Type};

use super::{Code, bind_operands, code_of};
use crate::build::Builder;
use crate::{Graph, Node, VertexId};

/// The type of a call.
pub(crate) fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    let Some(code) = code_of(call.def) else {
        return Err(OpError::new("this operator has no declaration"));
    };
    let symbols = operands_fit(call, code)?;
    conditions_hold(call, code)?;
    match code.function() {
        Some(_) => {
            let (graph, v) = built(call, code).map_err(|problems| {
                let first = problems.iter().next();
                let what = first.map_or_else(String::new, |p| format!(": {}", p.message));
                let error = OpError::new(format!("its body does not apply here{what}"));
                match first.and_then(|p| p.help.first()) {
                    Some(help) => error.help(help.clone()),
                    None => error,
                }
            })?;
            call.fresh.set(graph.next_unknown().max(call.fresh.get()));
            Ok(graph.ty(v).clone())
        }
        None => declared_result(call, code, &symbols),
    }
}

/// The operations of a call: those of its body, or one for each element of the result if it has none.
pub(super) fn operations(call: &Infer<'_>, result: &Type) -> f64 {
    let Some(code) = code_of(call.def).filter(|code| code.function().is_some()) else {
        return tautomer_op::CostRule::Elementwise(1.0).apply(call, result).flops;
    };
    let Ok((graph, _)) = built(call, code) else { return 0.0 };
    let mut sum = 0.0;
    for v in graph.ids() {
        if let Node::Call { op, attrs } = &graph.vertex(v).node
            && let Some(def) = op.def()
        {
            let operands = graph.pred(v);
            let facts: Vec<Fact<'_>> = operands.iter().map(|&u| graph.fact(u)).collect();
            let fresh = std::cell::Cell::new(graph.next_unknown());
            let inner = Infer {
                def,
                operands: &facts,
                attrs,
                fresh: &fresh,
            };
            sum += def.cost.apply(&inner, graph.ty(v)).flops;
        }
    }
    sum
}

/// The body for operands of these types, and its value.
fn built(call: &Infer<'_>, code: &Code) -> Result<(Graph, VertexId), Diagnostics> {
    let mut graph = Graph::new();
    graph.reserve_unknown(call.fresh.get());
    let operands = operands_in(&mut graph, call.operands);
    let function = code.function().ok_or_else(Diagnostics::new)?;
    let names: Vec<Arc<str>> = function.params.iter().map(|p| p.name.name.clone()).collect();
    let mut builder = Builder::new(&code.program.ast, &mut graph);
    builder.scope = code.scope.clone();
    builder.fold_terms = true;
    bind_operands(
        &mut builder,
        (call.def.operands, call.def.attrs),
        &names,
        &operands,
        call.attrs,
    );
    let value = builder.block(&function.body);
    let vertex = value.and_then(|t| builder.vertex(t, function.span));
    let problems = std::mem::take(&mut builder.problems).in_source(&code.program.ast.source);
    match vertex {
        Some(v) if !problems.has_errors() => Ok((graph, v)),
        _ => Err(problems),
    }
}

pub(super) fn operands_in(graph: &mut Graph, facts: &[Fact<'_>]) -> Vec<VertexId> {
    facts
        .iter()
        .map(|fact| match (fact.ty, fact.value) {
            (Type::Absent, _) => graph.absent(),
            (_, Some(value)) => graph.constant(value.clone()),
            (ty, None) => {
                let v = graph.input("", ty.clone());
                if let Some(ints) = fact.ints {
                    graph.vertex_mut(v).ints = Some(ints.into());
                }
                v
            }
        })
        .collect()
}

/// The dimensions that the symbols of the declared types stand for in this call.
type Symbols = BTreeMap<String, Dim>;

/// Checks the operands against the declared types.
fn operands_fit(call: &Infer<'_>, code: &Code) -> Result<Symbols, OpError> {
    let mut symbols = Symbols::new();
    for (i, fact) in call.operands.iter().enumerate() {
        let last = code.decl.operands.len().saturating_sub(1);
        let Some(declared) = code.decl.operands.get(i).or(code.decl.operands.get(last)) else {
            continue;
        };
        if i > last && declared.mark != Mark::Variadic || matches!(fact.ty, Type::Absent) {
            continue;
        }
        let Some(wanted) = &declared.ty else { continue };
        let ast = &*code.decl.ast;
        if !fits(ast, wanted, fact.ty, &mut symbols) {
            let known: Vec<String> = symbols
                .iter()
                .filter(|(name, _)| format_type(ast, wanted).contains(&***name))
                .map(|(name, dim)| format!("{name} = {dim}"))
                .collect();
            let given = match known.is_empty() {
                true => String::new(),
                false => format!(" with {}", known.join(", ")),
            };
            let name = declared.name.as_str();
            return Err(OpError::new(format!(
                "operand `{name}` is declared as {}{given}, but is {}",
                format_type(ast, wanted),
                fact.ty
            ))
            .at(i));
        }
    }
    Ok(symbols)
}

/// True unless the type is known to differ from the declared one; symbols that have no value yet get one.
fn fits(ast: &Ast, declared: &TypeExpr, actual: &Type, symbols: &mut Symbols) -> bool {
    match (&declared.kind, actual) {
        (TypeKind::Tuple(items), Type::Tuple(types)) => {
            items.len() == types.len() && items.iter().zip(types).all(|(a, b)| fits(ast, a, b, symbols))
        }
        (TypeKind::Sequence(item), Type::Sequence(ty)) | (TypeKind::Optional(item), Type::Optional(ty)) => {
            fits(ast, item, ty, symbols)
        }
        (TypeKind::Tensor { dtype, dims }, Type::Tensor(tensor)) => {
            if dtype.as_ref().is_some_and(|d| d.dtype != tensor.dtype) {
                return false;
            }
            let Some(shape) = &tensor.shape else { return true };
            match dims {
                Dims::AnyRank => true,
                Dims::Scalar => dtype.is_none() || shape.is_empty(),
                Dims::List(list) => {
                    list.len() == shape.len()
                        && list.iter().zip(shape.iter()).all(|(wanted, dim)| match wanted {
                            tautomer_lang::ast::DimExpr::Unknown(_) => true,
                            tautomer_lang::ast::DimExpr::Expr(id) => dim_fits(ast, *id, dim, symbols),
                        })
                }
            }
        }
        _ => false,
    }
}

fn dim_fits(ast: &Ast, wanted: ExprId, dim: &Dim, symbols: &mut Symbols) -> bool {
    if let ExprKind::Name(name) = ast.kind(wanted)
        && !symbols.contains_key(&**name)
    {
        symbols.insert(name.to_string(), dim.clone());
        return true;
    }
    match dim_of(ast, wanted, symbols) {
        Some(wanted) => wanted.equals(dim) != Some(false) || wanted.as_const().is_none() || dim.as_const().is_none(),
        None => true,
    }
}

/// A declared dimension in terms of those of the call; `None` if a symbol in it has no value.
fn dim_of(ast: &Ast, id: ExprId, symbols: &Symbols) -> Option<Dim> {
    struct Values<'a>(&'a Symbols);
    impl crate::term::Scope for Values<'_> {
        fn name(&self, name: &str) -> Option<crate::term::Term> {
            self.0.get(name).cloned().map(crate::term::Term::Int)
        }
        fn ty(&self, _: crate::ValueId) -> Type {
            Type::Absent
        }
        fn constant(&self, _: crate::ValueId) -> Option<tautomer_tensor::Tensor> {
            None
        }
    }
    match crate::term::eval(ast, id, &Values(symbols)) {
        Ok(crate::term::Term::Int(dim)) => Some(dim),
        _ => None,
    }
}

/// The type that the declaration gives the result.
fn declared_result(call: &Infer<'_>, code: &Code, symbols: &Symbols) -> Result<Type, OpError> {
    let first = call
        .operands
        .iter()
        .find_map(|fact| fact.ty.as_tensor())
        .map(|t| t.dtype);
    let results = code.decl.results.as_deref().unwrap_or_default();
    let mut types = results.iter().map(|result| {
        let ty = result
            .ty
            .as_ref()
            .ok_or_else(|| OpError::new("the type of its result is unknown"))?;
        Ok(instance(call, &code.decl.ast, ty, first.unwrap_or(DType::F32), symbols))
    });
    if results.len() == 1
        && let Some(only) = types.next()
    {
        return only;
    }
    Ok(Type::Tuple(types.collect::<Result<_, OpError>>()?))
}

fn instance(call: &Infer<'_>, ast: &Ast, ty: &TypeExpr, like: DType, symbols: &Symbols) -> Type {
    match &ty.kind {
        TypeKind::Tuple(items) => Type::Tuple(
            items
                .iter()
                .map(|item| instance(call, ast, item, like, symbols))
                .collect(),
        ),
        TypeKind::Sequence(item) => Type::Sequence(Box::new(instance(call, ast, item, like, symbols))),
        TypeKind::Optional(item) => Type::Optional(Box::new(instance(call, ast, item, like, symbols))),
        TypeKind::Tensor { dtype, dims } => {
            let dtype = dtype.as_ref().map_or(like, |d| d.dtype);
            let shape = match dims {
                Dims::AnyRank => None,
                Dims::Scalar => Some(tautomer_tensor::Shape::scalar()),
                Dims::List(list) => Some(
                    list.iter()
                        .map(|dim| match dim {
                            tautomer_lang::ast::DimExpr::Unknown(_) => call.unknown(),
                            tautomer_lang::ast::DimExpr::Expr(id) => {
                                dim_of(ast, *id, symbols).unwrap_or_else(|| call.unknown())
                            }
                        })
                        .collect(),
                ),
            };
            TensorType { dtype, shape }.into()
        }
    }
}

/// Checks the conditions that every call must satisfy; what the types leave open is not checked.
fn conditions_hold(call: &Infer<'_>, code: &Code) -> Result<(), OpError> {
    if code.decl.conditions.is_empty() {
        return Ok(());
    }
    let mut graph = Graph::new();
    let operands = operands_in(&mut graph, call.operands);
    let names: Vec<Arc<str>> = code.decl.operands.iter().map(|o| o.name.name.clone()).collect();
    let ast = &*code.decl.ast;
    let mut builder = Builder::new(ast, &mut graph);
    builder.fold_terms = true;
    bind_operands(
        &mut builder,
        (call.def.operands, call.def.attrs),
        &names,
        &operands,
        call.attrs,
    );
    let mut open = false;
    for fact in call.operands {
        fact.ty.visit_dims(&mut |dim| open |= dim.as_const().is_none());
    }
    for &condition in &code.decl.conditions {
        // The dimensions of a shape may turn out to be equal; ranks and element types are what they are.
        let settled = !open || !mentions_shape(ast, condition);
        if settled && matches!(builder.condition(condition), Ok(false)) {
            let types: Vec<String> = code
                .decl
                .operands
                .iter()
                .zip(call.operands)
                .map(|(operand, fact)| format!("`{}` is {}", operand.name.as_str(), fact.ty))
                .collect();
            return Err(
                OpError::new(format!("its condition does not hold: {}", format_expr(ast, condition)))
                    .help(types.join(", ")),
            );
        }
    }
    Ok(())
}

fn mentions_shape(ast: &Ast, id: ExprId) -> bool {
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        if let ExprKind::Field { name, .. } = ast.kind(id)
            && name.as_str() == "shape"
        {
            return true;
        }
        stack.extend(ast.operands(id));
    }
    false
}
