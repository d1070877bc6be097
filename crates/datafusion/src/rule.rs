//! The optimizer rule that fuses expressions.

use std::any::Any;
use std::sync::Arc;

use arrow_schema::Schema;
use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::Operator;
use datafusion_physical_expr::aggregate::AggregateFunctionExpr;
use datafusion_physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, NegativeExpr, NotExpr, TryCastExpr,
};
use datafusion_physical_expr::projection::ProjectionExpr;
use datafusion_physical_expr::{Partitioning, PhysicalExpr, ScalarFunctionExpr, conjunction, split_conjunction};
use datafusion_physical_optimizer::PhysicalOptimizerRule;
use datafusion_physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion_physical_plan::aggregates::AggregateExec;
use datafusion_physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion_physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use crate::translate::{Limits, fused, is_total};

/// Replaces runs of scalar expressions in filters, projections and arguments of aggregates with fused ones, where these
/// compute the same: values, nulls, wrapping of integers, order of NaN.
///
/// Expressions that may fail, and types without loops, remain DataFusion's; the plan keeps its schema, its order and
/// its partitions. `EXPLAIN` shows what is fused as `tautomer(…)`.
///
/// ```
/// use std::sync::Arc;
/// use datafusion::execution::SessionStateBuilder;
/// use datafusion::prelude::SessionContext;
/// use tautomer_datafusion::FuseExpressions;
///
/// # let runtime = tokio::runtime::Builder::new_multi_thread().thread_stack_size(8 << 20).build().unwrap();
/// # runtime.block_on(async {
/// let state = SessionStateBuilder::new_with_default_features()
///     .with_physical_optimizer_rule(Arc::new(FuseExpressions::default()))
///     .build();
/// let context = SessionContext::new_with_state(state);
/// let query = "SELECT price * (1 - discount) AS paid FROM (VALUES (2.5e0, 0.5e0), (4e0, 0e0)) AS t(price, discount)";
/// let plan = context.sql(query).await.unwrap().create_physical_plan().await.unwrap();
/// let shown = datafusion::physical_plan::displayable(plan.as_ref()).indent(true).to_string();
/// assert!(shown.contains("tautomer("), "{shown}");
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct FuseExpressions {
    limits: Limits,
    /// Whether filters and aggregates take part, which other rules have to know before.
    everywhere: bool,
}

impl Default for FuseExpressions {
    fn default() -> Self {
        FuseExpressions {
            limits: Limits { least: 2, close: false },
            everywhere: true,
        }
    }
}

impl FuseExpressions {
    /// Fuses expressions with at least so many operators; by default, two.
    #[must_use]
    pub fn with_least_operators(mut self, least: usize) -> Self {
        self.limits.least = least;
        self
    }

    /// Also fuses `exp`, `ln`, `sin`, `cos` and `tanh`, whose vectorized forms are within two units in the last place
    /// (`tanh`: four), and so may differ from DataFusion's in the last bits.
    #[must_use]
    pub fn with_close_functions(mut self) -> Self {
        self.limits.close = true;
        self
    }

    /// The same rule for projections alone.
    fn for_projections(mut self) -> Self {
        self.everywhere = false;
        self
    }

    fn plan(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
        let mut changed = Vec::with_capacity(children.len());
        for child in &children {
            changed.push(self.plan(child)?);
        }
        let same = children.iter().zip(&changed).all(|(a, b)| Arc::ptr_eq(a, b));
        let plan = match same {
            true => Arc::clone(plan),
            // The children have the properties that they had, and what filters of other nodes point to is kept.
            false => {
                let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
                Arc::clone(plan).replace_children(changed, options)?
            }
        };
        // Not what a node stands for: that would lose the node.
        let node: &dyn Any = plan.as_ref();
        let replaced = match node.downcast_ref::<ProjectionExec>() {
            Some(projection) => self.projection(projection)?,
            None if !self.everywhere => None,
            None => match (node.downcast_ref::<FilterExec>(), node.downcast_ref::<AggregateExec>()) {
                (Some(filter), _) => self.filter(&plan, filter)?,
                (_, Some(aggregate)) => self.aggregate(aggregate),
                _ => None,
            },
        };
        Ok(replaced.filter(|new| has_properties_of(new, &plan)).unwrap_or(plan))
    }

    fn projection(&self, projection: &ProjectionExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let schema = projection.input().schema();
        let Some(exprs) = each(projection.expr(), |one| {
            fuse(&one.expr, &schema, self.limits).map(|expr| ProjectionExpr {
                expr,
                alias: one.alias.clone(),
            })
        }) else {
            return Ok(None);
        };
        let new = ProjectionExec::try_new(exprs, Arc::clone(projection.input()))?;
        Ok(Some(Arc::new(new)))
    }

    /// A filter with conjuncts that are fused: all of them, or those that say nothing about the order of the result.
    fn filter(&self, plan: &Arc<dyn ExecutionPlan>, filter: &FilterExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let schema = filter.input().schema();
        for keep_equalities in [false, true] {
            let predicate = fuse_conjunction(filter.predicate(), &schema, self.limits, keep_equalities);
            let Some(predicate) = predicate else { continue };
            let new = FilterExecBuilder::from(filter).with_predicate(predicate).build()?;
            let new: Arc<dyn ExecutionPlan> = Arc::new(new);
            if has_properties_of(&new, plan) {
                return Ok(Some(new));
            }
        }
        Ok(None)
    }

    /// Arguments of aggregates that read rows, not the results of other aggregates.
    fn aggregate(&self, aggregate: &AggregateExec) -> Option<Arc<dyn ExecutionPlan>> {
        use datafusion_physical_plan::aggregates::AggregateInputMode;
        if aggregate.mode().input_mode() != AggregateInputMode::Raw {
            return None;
        }
        let schema = aggregate.input().schema();
        let functions = each(aggregate.aggr_expr(), |function: &Arc<AggregateFunctionExpr>| {
            if !function.order_bys().is_empty() || function.is_reversed() {
                return None;
            }
            let args = each(&function.expressions(), |arg| fuse(arg, &schema, self.limits))?;
            function.with_new_expressions(args, Vec::new()).map(Arc::new)
        })?;
        Some(Arc::new(aggregate.with_new_aggr_exprs(functions)))
    }
}

/// The list with what `change` changes; `None` if it changes nothing.
fn each<T: Clone>(list: &[T], change: impl Fn(&T) -> Option<T>) -> Option<Vec<T>> {
    let changed: Vec<Option<T>> = list.iter().map(change).collect();
    if changed.iter().all(Option::is_none) {
        return None;
    }
    Some(
        list.iter()
            .zip(changed)
            .map(|(old, new)| new.unwrap_or_else(|| old.clone()))
            .collect(),
    )
}

/// Whether parents can rely on the new node for what they knew about the old one.
fn has_properties_of(new: &Arc<dyn ExecutionPlan>, old: &Arc<dyn ExecutionPlan>) -> bool {
    let (a, b) = (new.equivalence_properties(), old.equivalence_properties());
    new.schema() == old.schema()
        && a.oeq_class() == b.oeq_class()
        && a.eq_group().iter().eq(b.eq_group().iter())
        && a.constants() == b.constants()
        && same_partitions(new.output_partitioning(), old.output_partitioning())
}

/// Whether partitions are the same; those of an unknown kind are never equal by `==`.
fn same_partitions(a: &Partitioning, b: &Partitioning) -> bool {
    match (a, b) {
        (Partitioning::UnknownPartitioning(a), Partitioning::UnknownPartitioning(b)) => a == b,
        (a, b) => a == b,
    }
}

/// The expression with its runs fused; `None` if there are none.
fn fuse(expr: &Arc<dyn PhysicalExpr>, schema: &Schema, limits: Limits) -> Option<Arc<dyn PhysicalExpr>> {
    if expr
        .downcast_ref::<BinaryExpr>()
        .is_some_and(|binary| *binary.op() == Operator::And)
    {
        return fuse_conjunction(expr, schema, limits, false);
    }
    fused(expr, schema, limits).or_else(|| fuse_children(expr, schema, limits))
}

/// A conjunction with runs of its conjuncts fused, in their order; what DataFusion computes for some rows alone stays
/// after what is before it.
fn fuse_conjunction(
    expr: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
    limits: Limits,
    keep_equalities: bool,
) -> Option<Arc<dyn PhysicalExpr>> {
    let mut out: Vec<Arc<dyn PhysicalExpr>> = Vec::new();
    let mut run: Vec<Arc<dyn PhysicalExpr>> = Vec::new();
    let mut changed = false;
    let mut end = |run: &mut Vec<Arc<dyn PhysicalExpr>>, out: &mut Vec<Arc<dyn PhysicalExpr>>| {
        if run.is_empty() {
            return;
        }
        match fused(&conjunction(run.clone()), schema, limits) {
            Some(one) => {
                changed = true;
                out.push(one);
            }
            None => out.append(run),
        }
        run.clear();
    };
    for conjunct in split_conjunction(expr) {
        let equality = conjunct
            .downcast_ref::<BinaryExpr>()
            .is_some_and(|binary| *binary.op() == Operator::Eq);
        if is_total(conjunct, schema, limits) && !(keep_equalities && equality) {
            run.push(Arc::clone(conjunct));
        } else {
            end(&mut run, &mut out);
            out.push(Arc::clone(conjunct));
        }
    }
    end(&mut run, &mut out);
    for conjunct in &mut out {
        if let Some(inner) = fuse_children(conjunct, schema, limits) {
            *conjunct = inner;
            changed = true;
        }
    }
    changed.then(|| conjunction(out))
}

/// The expression with runs fused in its operands; `None` if there are none.
pub(crate) fn fuse_children(
    expr: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
    limits: Limits,
) -> Option<Arc<dyn PhysicalExpr>> {
    let known = expr.is::<BinaryExpr>()
        || expr.is::<CaseExpr>()
        || expr.is::<CastExpr>()
        || expr.is::<InListExpr>()
        || expr.is::<IsNotNullExpr>()
        || expr.is::<IsNullExpr>()
        || expr.is::<LikeExpr>()
        || expr.is::<NegativeExpr>()
        || expr.is::<NotExpr>()
        || expr.is::<ScalarFunctionExpr>()
        || expr.is::<TryCastExpr>();
    if !known {
        return None;
    }
    let children: Vec<Arc<dyn PhysicalExpr>> = expr.children().into_iter().cloned().collect();
    let children = each(&children, |child| fuse(child, schema, limits))?;
    Arc::clone(expr).with_new_children(children).ok()
}

impl PhysicalOptimizerRule for FuseExpressions {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        self.plan(&plan)
    }

    fn name(&self) -> &str {
        "tautomer_fuse_expressions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// DataFusion's optimizer rules with this one among them: at the end, and before projections move into scans of files,
/// where only this order fuses them.
///
/// ```
/// use datafusion::execution::SessionStateBuilder;
/// use tautomer_datafusion::{FuseExpressions, optimizer_rules};
///
/// let rules = optimizer_rules(FuseExpressions::default());
/// let state = SessionStateBuilder::new_with_default_features().with_physical_optimizer_rules(rules).build();
/// assert_eq!(state.physical_optimizers().last().unwrap().name(), "tautomer_fuse_expressions");
/// ```
pub fn optimizer_rules(rule: FuseExpressions) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    if let Some(at) = rules.iter().position(|rule| rule.name() == "ProjectionPushdown") {
        rules.insert(at, Arc::new(rule.clone().for_projections()));
    }
    rules.push(Arc::new(rule));
    rules
}
