//! The resources of a run, estimated from types in advance.

use std::cell::Cell;

use super::kernels;
use super::plan::Plan;
use tautomer_graph::{Allowance, Excess, Graph, Node, VertexId, Weights, weighted};
use tautomer_op::{Fact, Infer, Op, OpDef, Semantics, work};
use tautomer_tensor::{DType, Type};

/// The resources of a run. Costs that depend on values are not included, unless stated; a run counts them as it goes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Bytes of all computed values that are held at one time.
    pub bytes: f64,
    /// Bytes of the results.
    pub results: f64,
    /// Operations by kernels, weighted.
    pub operations: f64,
    /// An upper bound on the operations by the reference semantics, weighted, including calls that depend on values.
    pub reference: f64,
}

impl Estimate {
    /// The estimate of a graph whose dimensions are known.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tautomer_diag::Source;
    /// # use tautomer_exec::Estimate;
    /// # use tautomer_graph::*;
    /// # use tautomer_lang::parse_program;
    /// let source = Arc::new(Source::new("example", "fn main(x: f32[30000, 1], y: f32[1, 30000]) { x + y }"));
    /// let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
    /// assert!(Estimate::of(&graph).bytes >= 3.6e9);
    /// ```
    pub fn of(graph: &Graph) -> Estimate {
        let mut out = Estimate::default();
        for v in graph.rpo() {
            out.add(graph, v);
        }
        let bytes = |ty: &Type| ty.as_tensor().map_or(0.0, bytes_of);
        out.results = graph.outputs().iter().map(|o| bytes(graph.ty(o.vertex))).sum();
        out.bytes = match Plan::compile(graph) {
            Ok(plan) => plan.memory.peak as f64,
            Err(_) => out.results,
        };
        out
    }

    fn add(&mut self, graph: &Graph, v: VertexId) {
        let Node::Call {
            op: Op::Known(def),
            attrs,
        } = &graph.vertex(v).node
        else {
            return;
        };
        let operands = graph.pred(v);
        let facts: Vec<Fact<'_>> = operands.iter().map(|&u| graph.fact(u)).collect();
        let call = Infer {
            def,
            operands: &facts,
            attrs,
            fresh: &Cell::new(u32::MAX / 2),
        };
        let mut taken = work(&call, graph.ty(v));
        if matches!(def.semantics, Semantics::Flow(_)) {
            // The work of its functions, multiplied by the number of calls as far as that is known.
            taken.operations += def.cost.apply(&call, graph.ty(v)).flops;
        }
        let first = facts.first().and_then(|f| f.ty.as_tensor()).map(|t| t.dtype);
        // What depends on values has an upper bound alone, which several such dimensions together make enormous.
        let is_known = |ty: &Type| match ty {
            Type::Tensor(t) => t.shape.as_ref().is_some_and(|s| s.to_concrete().is_some()),
            _ => true,
        };
        if facts.iter().all(|f| is_known(f.ty)) && is_known(graph.ty(v)) {
            self.operations += weighted(&taken, weights(def, first));
        }
        self.reference += weighted(&taken, Weights::REFERENCE);
    }

    /// The limit of `allowance` that the estimate exceeds, if any.
    pub fn excess(&self, allowance: Allowance) -> Option<Excess> {
        if self.bytes > allowance.bytes as f64 {
            return Some(Excess::Bytes(self.bytes, allowance.bytes));
        }
        let beyond = self.operations > allowance.operations as f64;
        beyond.then_some(Excess::Operations(self.operations, allowance.operations))
    }
}

fn bytes_of(ty: &tautomer_tensor::TensorType) -> f64 {
    let shape = ty.shape.as_ref().and_then(|s| s.to_concrete());
    shape.map_or(0.0, |s| s.iter().fold(ty.dtype.size() as f64, |n, &d| n * d as f64))
}

/// The weight of a call's operations, which depends on whether there is a kernel for its first operand.
pub(super) fn weights(def: &OpDef, first: Option<DType>) -> Weights {
    let has_kernel = kernels::may_run(def.name, first);
    // Bodies are run by the kernels of the operators they call.
    if has_kernel || def.composite_body().is_some() || matches!(def.semantics, Semantics::Flow(_)) {
        Weights::KERNELS
    } else {
        Weights::SLOW
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use tautomer_diag::Source;
    use tautomer_graph::{BuildOptions, build_program};
    use tautomer_lang::parse_program;

    const LIMITS: Allowance = Allowance {
        bytes: 1_000_000_000,
        operations: 1_000_000_000_000,
    };

    fn estimate(program: &str) -> Estimate {
        let source = Arc::new(Source::new("test", program));
        Estimate::of(&build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap())
    }

    #[test]
    fn dimensions_that_depend_on_values_exceed_no_limit_in_advance() {
        let program = "fn main(x: f32[1, 3, ?, ?], param w: f32[1000, 3, 3, 3]) { conv(x, w) }";
        let found = estimate(program);
        assert_eq!(found.excess(LIMITS), None);
        assert!(found.reference > 1e11, "{found:?}");
    }

    #[test]
    fn known_dimensions_exceed_limits_in_advance() {
        let product = "fn main(x: f32[20000, 20000], y: f32[20000, 10]) { matmul(x, matmul(x, y)) }";
        assert_eq!(estimate(product).excess(LIMITS), None);
        let product = "fn main(x: f32[20000, 20000]) { reduce_sum(matmul(x, x)) }";
        assert!(estimate(product).excess(LIMITS).is_some());
    }
}
