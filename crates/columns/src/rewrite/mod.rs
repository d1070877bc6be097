//! Rewriting by rule files: the same rules, graphs and engine as for models.
//!
//! A program becomes a graph (`encode`), saturation applies the rules to all of its forms at once, the cheapest form is
//! extracted and becomes a program again (`decode`). Nulls and failures of rows stay as they are (`needs`), constant
//! parts are computed by the functions of columns (`fold`), and `table` says which functions are operators.

mod decode;
mod encode;
mod fold;
mod needs;
mod table;

use std::sync::Arc;

use tautomer_diag::Diagnostics;
use tautomer_graph::Graph;
use tautomer_op::Priced;
use tautomer_rewrite::{CostModel, Limits, encode as as_egraph, extract, saturate_guarded};
use tautomer_rule::{Class, Rule, library_rules, library_set_rules};

use self::encode::{Graphed, graphed};
use self::needs::Missing;
use crate::expression::{Expressions, Output};
use crate::program::{Kind, Node, NodeId, Program};
use crate::simplify::simplify;
use crate::text::text;

/// The files of the library whose rules are about numbers and truth values.
const FILES: [&str; 2] = ["rules/identity.rules", "rules/algebra.rules"];

/// When to stop: expressions are small, and so are all of their forms.
const LIMITS: Limits = Limits {
    iterations: 12,
    nodes: 2_000,
    matches: 500,
    multi_output_rounds: 1,
    rewrites: None,
    steps: 1_000_000,
};

/// The maximum number of times that an expression is rewritten; each time but the last makes it cheaper.
const MOST_ROUNDS: usize = 4;

/// Rules that expressions are rewritten by.
///
/// Values, nulls and failures of every row stay as they are: to the last bit with rules of the class `bitwise`, which is
/// the default, but for rounding with `real`.
///
/// ```
/// use tautomer_columns::{Expressions, Rewriter, schema};
/// use tautomer_rule::Class;
///
/// let schema = schema("x: f64 not null, y: f64").unwrap();
/// let rewriter = Rewriter::built_in(Class::Bitwise).unwrap();
/// let text = |text| rewriter.rewrite(&Expressions::parse(&schema, text).unwrap()).expressions.texts();
/// assert_eq!(text("x / 8 > 1 and x / 8 > 2"), ["x * 0.125 > 2"]);
/// assert_eq!(text("if(x > 1, sqrt(x), sqrt(y))"), ["sqrt(if(x > 1, x, y))"]);
/// ```
#[derive(Debug, Clone)]
pub struct Rewriter {
    rules: Vec<Arc<Rule>>,
    class: Class,
}

/// Expressions after they were rewritten.
#[derive(Debug, Clone)]
pub struct Rewritten {
    /// The expressions, with the same names and types.
    pub expressions: Expressions,
    /// The rules that the result depends on, in the order of the first application of each.
    pub rules: Vec<Arc<str>>,
    /// The number of calls, choices and conversions before and after, equal ones counted once, both after what every
    /// projector makes simpler.
    pub calls: (usize, usize),
}

impl Rewriter {
    /// These rules, as far as the class allows them and they assume nothing about values.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tautomer_columns::{Expressions, Rewriter, schema};
    /// use tautomer_diag::Source;
    /// use tautomer_lang::parse_rules;
    /// use tautomer_rule::{Class, load_rules};
    ///
    /// let file = "
    ///   /// The product of square roots.
    ///   rule roots(x, y) { sqrt(x) * sqrt(y) => sqrt(x * y) numerics real }
    /// ";
    /// let rules = load_rules(parse_rules(Arc::new(Source::new("my.rules", file))).unwrap()).unwrap().rules;
    /// let rewriter = Rewriter::new(rules, Class::Real);
    /// let schema = schema("x: f64, y: f64").unwrap();
    /// let rewritten = rewriter.rewrite(&Expressions::parse(&schema, "1 + sqrt(x) * sqrt(y)").unwrap());
    /// assert_eq!(rewritten.expressions.texts(), ["1 + sqrt(x * y)"]);
    /// assert_eq!(*rewritten.rules[0], *"roots");
    /// ```
    pub fn new(rules: impl IntoIterator<Item = Arc<Rule>>, class: Class) -> Self {
        let mut rewriter = Rewriter {
            rules: Vec::new(),
            class,
        };
        rewriter.add(rules);
        rewriter
    }

    /// The rules that come with the tool: about numbers and truth values, and the set `columns`.
    ///
    /// # Errors
    ///
    /// Problems of the files; the tests of the library check that there are none.
    pub fn built_in(class: Class) -> Result<Self, Diagnostics> {
        let library = library_rules().map_err(Clone::clone)?;
        let about_numbers = library
            .iter()
            .filter(|rule| FILES.contains(&rule.ast.source.name.as_ref()));
        let mut rewriter = Rewriter::new(about_numbers.cloned(), class);
        if let Some(rules) = library_set_rules("columns") {
            rewriter.add(rules?);
        }
        Ok(rewriter)
    }

    /// Adds rules, as [`Rewriter::new`] selects them.
    pub fn add(&mut self, rules: impl IntoIterator<Item = Arc<Rule>>) {
        let allowed = |rule: &Arc<Rule>| self.class.allows(rule.class) && rule.assuming.is_empty();
        let mut rules: Vec<Arc<Rule>> = rules.into_iter().filter(allowed).collect();
        self.rules.append(&mut rules);
    }

    /// The rules.
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// The cheapest form of expressions that the rules find within their limits.
    pub fn rewrite(&self, expressions: &Expressions) -> Rewritten {
        let roots: Vec<NodeId> = expressions.outputs.iter().map(|output| output.node).collect();
        let given = fold::fold(&expressions.program, &roots, &expressions.options);
        // A graph has one form of what programs write in several ways: lists of one member, conversions to the same type.
        let given = written(&given, expressions).unwrap_or(given);
        let (mut best, mut rules) = (given, Vec::new());
        for _ in 0..MOST_ROUNDS {
            let Some(cheaper) = self.once(&best, expressions, &mut rules) else {
                break;
            };
            best = fold::fold(&cheaper.0, &cheaper.1, &expressions.options);
        }
        let (program, roots) = best;
        let outputs = expressions.outputs.iter().zip(roots).map(|(output, node)| Output {
            name: output.name.clone(),
            column: output.column,
            node,
        });
        let after = Expressions {
            schema: Arc::clone(&expressions.schema),
            options: expressions.options.clone(),
            outputs: outputs.collect(),
            program,
        };
        Rewritten {
            calls: (call_count(expressions), call_count(&after)),
            expressions: after,
            rules,
        }
    }

    /// A cheaper form, if the rules find one.
    fn once(
        &self,
        (program, roots): &(Program, Vec<NodeId>),
        expressions: &Expressions,
        fired: &mut Vec<Arc<str>>,
    ) -> Option<(Program, Vec<NodeId>)> {
        let options = &expressions.options;
        let from: Graphed = graphed(program, roots, &expressions.schema, options);
        let mut encoded = as_egraph(&from.graph);
        let mut guard = Missing::new(&encoded, &from.input_treatments, &from.call_treatments);
        let saturation = saturate_guarded(&mut encoded, &self.rules, LIMITS, true, &mut guard);
        let model = CostModel {
            forbidden: &|call, result| !decode::is_written(call, result, options),
            micros: &micros,
            ..CostModel::default()
        };
        let extraction = extract(&encoded, &model);
        if !extraction.improves {
            return None;
        }
        let graph = tautomer_rewrite::decode(&from.graph, &encoded, &extraction, &saturation);
        let rewritten = accepted((program, roots), &graph, &from, expressions)?;
        for (_, step) in saturation.steps(&from.graph, &encoded, &extraction) {
            if !fired.contains(&step.rule) {
                fired.push(step.rule);
            }
        }
        Some(rewritten)
    }
}

/// The program that its own graph is written as.
fn written((program, roots): &(Program, Vec<NodeId>), expressions: &Expressions) -> Option<(Program, Vec<NodeId>)> {
    let from = graphed(program, roots, &expressions.schema, &expressions.options);
    accepted((program, roots), &from.graph, &from, expressions)
}

/// The program that a graph is written as, if its results are of the same types, and arrays as before.
fn accepted(
    (program, roots): (&Program, &[NodeId]),
    graph: &Graph,
    from: &Graphed,
    expressions: &Expressions,
) -> Option<(Program, Vec<NodeId>)> {
    let first = program.get(*roots.first()?);
    let (rewritten, results) = decode::program(graph, from, &expressions.options, (first.span, &first.source))?;
    let kept = |(old, new): (&NodeId, &NodeId)| {
        let same = program.get(*old).ty == rewritten.get(*new).ty;
        same && (matches!(program.get(*old).kind, Kind::Field(_)) || is_result(&rewritten, *new, expressions))
    };
    let all = results.len() == roots.len() && roots.iter().zip(&results).all(kept);
    all.then_some((rewritten, results))
}

/// False for a column whose array has another type than the node.
fn is_result(program: &Program, id: NodeId, expressions: &Expressions) -> bool {
    let node = program.get(id);
    match node.kind {
        Kind::Field(column) => *expressions.schema.field(column).data_type() == node.ty.arrow(),
        _ => true,
    }
}

/// The number of nodes that are computed.
fn call_count(expressions: &Expressions) -> usize {
    let roots: Vec<NodeId> = expressions.outputs.iter().map(|output| output.node).collect();
    let (program, _) = simplify(&expressions.program, &roots, &expressions.schema, &expressions.options);
    let nodes = program.nodes().iter();
    let computed = |node: &&Node| !matches!(node.kind, Kind::Field(_) | Kind::Literal(_));
    nodes.filter(computed).count()
}

/// What a call takes, in steps of one addition; calls of numbers alone are computed once.
fn micros(call: &Priced<'_>) -> f64 {
    let rank = call.result.as_tensor().and_then(|tensor| tensor.rank());
    let steps = match &*call.op.name() {
        "add" | "sub" | "mul" | "neg" | "abs" | "cast" | "floor" | "ceil" | "round" => 1.0,
        "bitwise_and" | "bitwise_or" | "bitwise_xor" | "bitwise_not" => 1.0,
        "equal" | "less" | "less_or_equal" | "greater" | "greater_or_equal" => 1.0,
        "and" | "or" | "xor" | "not" => 0.5,
        "where" => 2.0,
        "div" | "reciprocal" | "sqrt" => 4.0,
        "exp" | "log" | "sin" | "cos" => 10.0,
        "tanh" | "tan" | "asin" | "acos" | "atan" | "sinh" | "cosh" => 15.0,
        "pow" => 40.0,
        "expand" | "zeros_like" => 0.0,
        _ => 20.0,
    };
    if rank == Some(0) { steps * 1e-3 } else { steps }
}

impl Expressions {
    /// The expressions as texts of the language, after rewriting for example.
    ///
    /// ```
    /// use tautomer_columns::{Expressions, schema};
    ///
    /// let expressions = Expressions::parse(&schema("x: f64").unwrap(), "a = (x+1)*2; b = sin(x)").unwrap();
    /// assert_eq!(expressions.texts(), ["(x + 1) * 2", "sin(x)"]);
    /// ```
    pub fn texts(&self) -> Vec<String> {
        let texts = self
            .outputs
            .iter()
            .map(|output| text(&self.program, &self.schema, output.node));
        texts.collect()
    }
}
