//! Lowering: a graph as the kernels of this program compute it.
//!
//! One kernel may compute what several calls say: a convolution, a sum with a residual, an activation. Such kernels are
//! operators with bodies (`ops/kernels.ops`), and the rules of the set `tautomer` (`rules/lower/tautomer.rules`) make
//! calls of them. The target `tautomer` has these rules among others, and extraction chooses by cost; here they are
//! applied by themselves, to a graph that is about to run, however it came about. Each of them lowers the cost of a
//! graph, since a call that is not started costs nothing, so substitution applies them wherever they match: in time
//! linear in the graph, and without changing anything else in it.

use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics};
use crate::exec::{Options, Plan, Precision, Session};
use crate::graph::{Graph, Node, graph_region, region_graph};
use crate::model::Model;
use crate::op::AttrValue;
use crate::rewrite::{CostModel, substitute};
use crate::rule::{Class, Rule, library_set_rules};

/// The set of rules that make calls of kernels.
const RULES: &str = "tautomer";

/// A graph equal to this one in which a call is what one kernel computes, also in functions that it calls.
///
/// ```
/// use tautomer::{Model, lower};
///
/// let model = Model::from_text("example", "fn main(x: f32[4, 8], w: f32[8, 3], b: f32[3]) { relu(x @ w + b) }")?;
/// let lowered = lower(&model.workload.graph)?;
/// assert_eq!((model.workload.graph.call_count(), lowered.call_count()), (3, 1));
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
///
/// # Errors
/// Problems of the rules; the tests of the library check that there are none.
pub fn lower(graph: &Graph) -> Result<Graph, Diagnostics> {
    let rules = library_set_rules(RULES).unwrap_or_else(|| Ok(Vec::new()))?;
    Ok(lowered(graph.clone(), &rules))
}

fn lowered(mut graph: Graph, rules: &[Arc<Rule>]) -> Graph {
    for v in graph.rpo() {
        // A function has the same inputs and results as before.
        if let Node::Call { attrs, .. } = &mut graph.vertex_mut(v).node
            && attrs.iter().any(|attr| attr.region().is_some())
        {
            let inside = |attr: &AttrValue| match attr.region() {
                Some(region) => AttrValue::Region(graph_region(&lowered(region_graph(region), rules)).into()),
                None => attr.clone(),
            };
            *attrs = attrs.iter().map(inside).collect();
        }
    }
    substitute(graph, rules, None, &CostModel::default()).0
}

/// The numbers in which products may be computed if results may be equal only as `class` says: an `approx(e)` of at
/// least [`Precision::BF16_ERROR`] admits bfloat16.
///
/// ```
/// use tautomer::exec::Precision;
/// use tautomer::rule::Class;
///
/// assert_eq!(tautomer::precision(Class::Approx(1e-2)), Precision::Bf16);
/// assert_eq!(tautomer::precision(Class::Approx(1e-3)), Precision::F32);
/// assert_eq!(tautomer::precision(Class::Real), Precision::F32);
/// ```
pub fn precision(class: Class) -> Precision {
    match class {
        Class::Approx(error) => Precision::within(error),
        Class::Bitwise | Class::Real => Precision::F32,
    }
}

/// The plan by which a graph runs: that of the [lowered](lower) graph.
///
/// # Errors
/// If the graph has no plan.
pub fn plan(graph: &Graph) -> Result<Plan, Diagnostics> {
    let failed = |why: String| Diagnostics::from(Diagnostic::error("T0406", why));
    Plan::compile(&lower(graph)?).map_err(|e| failed(e.to_string()))
}

impl Model {
    /// The model ready to run: its graph is [lowered](lower), whatever it was optimized for, since it runs here.
    ///
    /// ```
    /// use tautomer::{Model, exec, graph::Params, tensor::Tensor};
    ///
    /// let model = Model::from_text("example", "fn main(x: f32[2]) { relu(x + 1) }")?;
    /// let session = model.session(exec::Options::default())?;
    /// let inputs = Params::from_iter([("x".into(), Tensor::vector(vec![1.0f32, -2.0]))]);
    /// let results = session.run(&inputs).unwrap();
    /// assert_eq!(results["0"], Tensor::vector(vec![2.0f32, 0.0]));
    /// # Ok::<(), tautomer::diag::Diagnostics>(())
    /// ```
    ///
    /// # Errors
    /// If the graph has no plan, or calls an operator that the table does not define.
    pub fn session(&self, options: Options) -> Result<Session, Diagnostics> {
        let failed = |why: String| Diagnostics::from(Diagnostic::error("T0406", why));
        let graph = lower(&self.workload.graph)?;
        Session::new(&graph, self.workload.params.clone(), options).map_err(|e| failed(e.to_string()))
    }
}
