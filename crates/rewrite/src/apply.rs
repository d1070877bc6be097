//! Builds the target of a rule for a match, in a graph or in an e-graph.

use crate::matching::Match;
use tautomer_diag::Diagnostics;
use tautomer_graph::build::Builder;
use tautomer_graph::literal::Wanted;
use tautomer_graph::{Sink, ValueId};
use tautomer_rule::Rule;
use tautomer_tensor::Type;

/// Builds the target of `rule` for a match.
///
/// # Errors
/// The reason why it has no value or type here; empty if the number of outputs differs.
pub(super) fn build_target(rule: &Rule, found: &Match, sink: &mut dyn Sink) -> Result<Vec<ValueId>, Diagnostics> {
    let single = !rule.source.has_several_outputs();
    let wanted = found.outputs.first().map(|output| sink.ty(*output).clone());
    let mut builder = Builder::new(&rule.ast, sink);
    builder.fold_terms = true;
    builder.scope = rule.scope.clone();
    #[expect(clippy::iter_over_hash_type, reason = "names are bound in any order")]
    for (name, value) in &found.names {
        builder.bind(name, Some(value.clone()));
    }
    #[expect(clippy::iter_over_hash_type, reason = "names are bound in any order")]
    for (name, attrs) in &found.rests {
        builder.bind_rest(name, attrs.clone());
    }
    #[expect(clippy::iter_over_hash_type, reason = "names are bound in any order")]
    for (name, def) in &found.ops {
        builder.bind_operator(name, def);
    }
    let span = rule.target.span;
    let built = if single {
        let dtype = wanted.as_ref().and_then(Type::as_tensor).map(|t| t.dtype);
        let value = builder.block(&rule.target);
        value
            .and_then(|t| builder.vertex_as(t, dtype.map_or(Wanted::Any, Wanted::Like), span))
            .map(|v| vec![v])
    } else {
        builder.block_items(&rule.target).and_then(|items| {
            items
                .into_iter()
                .map(|t| builder.vertex(t, span))
                .collect::<Option<Vec<_>>>()
        })
    };
    let failed = builder.problems.has_errors();
    match built {
        Some(targets) if !failed && targets.len() == found.outputs.len() => Ok(targets),
        _ => Err(builder.problems),
    }
}

/// True if the types are the same, with all unknown dimensions considered equal.
pub(super) fn same_type(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => {
            a.dtype == b.dtype
                && match (&a.shape, &b.shape) {
                    (Some(a), Some(b)) => {
                        a.len() == b.len()
                            && a.iter()
                                .zip(b.iter())
                                .all(|(x, y)| x == y || (x.is_unknown() && y.is_unknown()))
                    }
                    (None, None) => true,
                    _ => false,
                }
        }
        (Type::Sequence(a), Type::Sequence(b)) | (Type::Optional(a), Type::Optional(b)) => same_type(a, b),
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same_type(x, y)),
        (Type::Absent, Type::Absent) => true,
        _ => false,
    }
}
