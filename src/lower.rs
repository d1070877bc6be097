//! Lowering: a graph as the kernels of this program compute it.
//!
//! One kernel may compute what several calls say: a convolution, a sum with a residual, an activation. Such kernels are
//! operators with bodies (`ops/kernels.ops`), and the rules of the set `tautomer` (`rules/lower`) make calls of them. The
//! target `tautomer` has these rules among others, and extraction chooses by cost; here they are applied by themselves, to
//! a graph that is about to run, however it came about. Each of them lowers the cost of a graph, since a call that is not
//! started costs nothing, so substitution applies them wherever they match: in time linear in the graph, and without
//! changing anything else in it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics};
use crate::exec::{Options, Plan, Precision, Session};
use crate::graph::{Graph, Node, VertexId, graph_region, region_graph};
use crate::model::Model;
use crate::op::AttrValue;
use crate::rewrite::{CostModel, substitute};
use crate::rule::{Class, Rule, library_set_rules};

/// The set of rules that make calls of kernels.
const RULES: &str = "tautomer";

/// A graph equal to this one in the real numbers in which a call is what one kernel computes, also in functions that it
/// calls.
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
    lower_within(graph, Class::Real)
}

/// Like [`lower`], but equal as `class` says. Products of quantized numbers are computed as they are written if results
/// have to be the same bits.
///
/// # Errors
/// Problems of the rules; the tests of the library check that there are none.
pub fn lower_within(graph: &Graph, class: Class) -> Result<Graph, Diagnostics> {
    let rules = library_set_rules(RULES).unwrap_or_else(|| Ok(Vec::new()))?;
    let rules: Vec<Arc<Rule>> = rules.into_iter().filter(|rule| class.allows(rule.class)).collect();
    // Rules that change rounding are about results of the others.
    let (same_bits, others) = rules.into_iter().partition(|rule| Class::Bitwise.allows(rule.class));
    Ok(lowered(graph.clone(), &[same_bits, others]))
}

fn lowered(mut graph: Graph, passes: &[Vec<Arc<Rule>>; 2]) -> Graph {
    for v in graph.rpo() {
        // A function has the same inputs and results as before.
        if let Node::Call { attrs, .. } = &mut graph.vertex_mut(v).node
            && attrs.iter().any(|attr| attr.region().is_some())
        {
            let inside = |attr: &AttrValue| match attr.region() {
                Some(region) => AttrValue::Region(graph_region(&lowered(region_graph(region), passes)).into()),
                None => attr.clone(),
            };
            *attrs = attrs.iter().map(inside).collect();
        }
    }
    let [same_bits, others] = passes;
    let graph = substitute(graph, same_bits, None, &CostModel::default()).0;
    if others.is_empty() || !graph.ids().any(|v| unpacks(&graph, v)) {
        return graph;
    }
    let graph = substitute(separated(graph), others, None, &CostModel::default()).0;
    joined(graph)
}

/// True for a call that makes numbers of quantized ones.
fn unpacks(graph: &Graph, v: VertexId) -> bool {
    graph
        .vertex(v)
        .op()
        .and_then(|op| op.def())
        .is_some_and(|def| def.unpacks)
}

/// The graph with a call of its own for each use of numbers that were quantized: a match has no inner value that is used
/// elsewhere.
fn separated(mut graph: Graph) -> Graph {
    for v in graph.rpo() {
        if !unpacks(&graph, v) {
            continue;
        }
        let mut users: Vec<VertexId> = graph.users(v).collect();
        users.sort_unstable();
        users.dedup();
        if graph.outputs().iter().any(|output| output.vertex == v) {
            // Only results use this copy.
            let copy = copied(&mut graph, v);
            graph.replace_uses_except(v, copy, &users);
        }
        while let Some(user) = users.pop()
            && !users.is_empty()
        {
            let copy = copied(&mut graph, v);
            graph.replace_uses_except(v, copy, &users);
            debug_assert!(graph.users(copy).all(|u| u == user));
        }
    }
    graph
}

/// Another call with the same operands.
fn copied(graph: &mut Graph, v: VertexId) -> VertexId {
    let mut vertex = graph.vertex(v).clone();
    vertex.name = None;
    let operands = graph.pred(v);
    graph.push(vertex, &operands)
}

/// The graph with one call again for all uses of numbers that were quantized and still are unpacked.
fn joined(mut graph: Graph) -> Graph {
    // By operands.
    let mut first: HashMap<Vec<VertexId>, Vec<VertexId>> = HashMap::new();
    for v in graph.rpo() {
        if !unpacks(&graph, v) {
            continue;
        }
        let same = first.entry(graph.pred(v).to_vec()).or_default();
        match same.iter().find(|u| graph.vertex(**u).node == graph.vertex(v).node) {
            Some(&u) => graph.replace_call(v, u),
            None => same.push(v),
        }
    }
    graph.retain_reachable();
    graph
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
    plan_within(graph, Class::Real)
}

/// The plan by which a graph runs if results may be equal only as `class` says: that of the
/// [lowered](lower_within) graph, in the [precision] of the class.
///
/// # Errors
/// If the graph has no plan.
pub fn plan_within(graph: &Graph, class: Class) -> Result<Plan, Diagnostics> {
    let failed = |why: String| Diagnostics::from(Diagnostic::error("T0406", why));
    let plan = Plan::compile(&lower_within(graph, class)?).map_err(|e| failed(e.to_string()))?;
    Ok(plan.in_precision(precision(class)))
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
