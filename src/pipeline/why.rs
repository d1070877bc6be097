//! Why a rule does not apply.

use std::sync::Arc;

use serde::Serialize;

use super::select::every_rule;
use super::{Engine, Options, select_rules};
use crate::diag::Diagnostics;
use crate::graph::Graph;
use crate::lang::format_expr;
use crate::op::{Infer, Op};
use crate::rewrite::{
    CostModel, Nearest, RuleReport, StopReason, Trial, add_bodies, batch_symbols, encode, extract, nearest_in_egraph,
    nearest_in_graph, saturate_explained, substitute,
};
use crate::rule::{Class, Item, PatternNode, Rule, library_rules};
use crate::tensor::Type;

/// Why a rule does not apply, or what happened to its result if it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WhyNot {
    /// The rule.
    pub rule: String,
    /// The answer in one sentence.
    pub answer: String,
    /// The value at which its source begins, where it came nearest.
    pub place: Option<String>,
    /// Parts of the condition that does not hold, as written and as they are.
    pub values: Vec<(String, String)>,
    /// Operators that the result may not contain, if they are the reason.
    pub forbidden: Vec<String>,
    /// Further facts, one sentence each.
    pub hints: Vec<String>,
}

/// Explains why a rule is not applied to a graph, or why the result does not show it.
///
/// # Errors
/// Same as for [`optimize`](super::optimize); also if there is no such rule.
pub fn why_not(graph: &Graph, options: &Options<'_>, name: &str) -> Result<WhyNot, Diagnostics> {
    let everything = Options {
        class: Class::Approx(f64::INFINITY),
        only: Some(vec![name.to_owned()]),
        skip: Vec::new(),
        rules: options.rules.clone(),
        assume: Vec::new(),
        ..Options::default()
    };
    let all = every_rule(&everything)?;
    select_rules(&Options {
        assume: all.iter().flat_map(|r| r.assuming.clone()).collect(),
        ..everything
    })?;
    let selected = select_rules(options)?;
    let mut out = WhyNot {
        rule: name.to_owned(),
        answer: String::new(),
        place: None,
        values: Vec::new(),
        forbidden: Vec::new(),
        hints: Vec::new(),
    };
    let Some(rule) = selected.iter().find(|r| &*r.name == name) else {
        let left_out = all.iter().find(|r| &*r.name == name);
        out.answer = match left_out {
            Some(rule) if !options.class.allows(rule.class) => {
                format!(
                    "it is left out: its sides are equal as `{}`, and only `{}` is allowed",
                    rule.class, options.class
                )
            }
            Some(rule) if !rule.assuming.iter().all(|fact| options.assume.contains(fact)) => {
                let missing = rule.assuming.iter().filter(|fact| !options.assume.contains(fact));
                let flags: Vec<String> = missing.map(|fact| format!("--assume '{fact}'")).collect();
                format!(
                    "it is left out: it holds only under assumptions; to allow them, pass `{}`",
                    flags.join(" ")
                )
            }
            _ if options.skip.iter().any(|n| n == name) => "it is left out by name: `--skip-rules` has it".to_owned(),
            _ if options.only.is_some() => "it is left out by name: `--only-rules` does not have it".to_owned(),
            _ => "it is left out by name".to_owned(),
        };
        return Ok(out);
    };
    let batch = batch_symbols(graph);
    let run = Run {
        graph,
        options,
        rule,
        selected: &selected,
        batch: &batch,
    };
    match options.engine {
        Engine::Substitute => run.by_substitution(&mut out),
        Engine::Saturate => run.by_saturation(&mut out),
    }
    Ok(out)
}

/// A run of an engine that is to explain itself.
struct Run<'a> {
    graph: &'a Graph,
    options: &'a Options<'a>,
    rule: &'a Arc<Rule>,
    selected: &'a [Arc<Rule>],
    batch: &'a [Arc<str>],
}

impl Run<'_> {
    fn by_substitution(&self, out: &mut WhyNot) {
        let options = self.options;
        let forbidden =
            |call: &Infer<'_>, result: &Type| (options.forbidden)(call, result) && !(options.expand)(call.def);
        let model = CostModel {
            forbidden: &forbidden,
            ..options.cost_model(self.batch)
        };
        let limit = self.options.limits.rewrites;
        let (after, done) = substitute(self.graph.clone(), self.selected, limit, &model);
        let report = self.report(&done.rules);
        let before = nearest_in_graph(self.graph, self.rule);
        let nearest = match before.matches {
            0 => nearest_in_graph(&after, self.rule),
            _ => before,
        };
        if report.applied > 0 {
            out.place.clone_from(&nearest.place);
            out.answer = format!("it is applied {}", times(report.applied));
            return;
        }
        self.not_applied(&report, done.stop, nearest, out);
    }

    fn by_saturation(&self, out: &mut WhyNot) {
        let model = self.options.cost_model(self.batch);
        let mut encoded = encode(self.graph);
        add_bodies(&mut encoded, &|call, ty| self.options.sees_through(call, ty));
        let saturation = saturate_explained(&mut encoded, self.selected, self.options.limits);
        let report = self.report(&saturation.rules);
        let nearest = nearest_in_egraph(self.graph, &encoded, self.rule);
        if report.applied == 0 {
            return self.not_applied(&report, saturation.stop, nearest, out);
        }
        out.place = nearest.place;
        let used = |model: &CostModel<'_>| {
            let steps = saturation.steps(self.graph, &encoded, &extract(&encoded, model));
            steps.iter().filter(|(_, s)| s.rule == self.rule.name).count()
        };
        let applied = times(report.applied);
        let used_now = used(&model);
        if used_now > 0 {
            out.answer = format!("it is applied {applied}, and the result rests on {used_now} of them");
            return;
        }
        let free = CostModel {
            forbidden: &|_, _| false,
            ..model
        };
        let forbidden = self.forbidden(&encoded, &model, &free);
        if !forbidden.is_empty() && used(&free) > 0 {
            let names: Vec<String> = forbidden.iter().map(|name| format!("`{name}`")).collect();
            out.answer = format!(
                "it is applied {applied} and the result rests on none: it leads to {}, which the result may not contain",
                names.join(" and ")
            );
            out.forbidden = forbidden;
            return;
        }
        out.answer = format!("it is applied {applied} and the result rests on none: what it makes does not cost less");
    }

    /// The forbidden operators that the cheapest graph would have if nothing were forbidden.
    fn forbidden(&self, encoded: &crate::rewrite::Encoded, model: &CostModel<'_>, free: &CostModel<'_>) -> Vec<String> {
        let interner = &encoded.egraph.analysis.interner;
        let extraction = extract(encoded, free);
        let mut names: Vec<String> = extraction
            .choice
            .iter()
            .filter_map(|(class, enode)| match enode.head {
                crate::rewrite::Head::Op(i) => match interner.op_at(i) {
                    Op::Known(def) if model.forbids_enode(&encoded.egraph, enode, *class) => Some(def.name.to_owned()),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        names.sort();
        names.dedup();
        // What the graph has already is not in the way of anything.
        names.retain(|name| {
            let has = |v| self.graph.vertex(v).op().is_some_and(|op| *op.name() == **name);
            !self.graph.ids().any(has)
        });
        names
    }

    fn report(&self, rules: &[(Arc<Rule>, RuleReport)]) -> RuleReport {
        let own = rules.iter().find(|(r, _)| Arc::ptr_eq(r, self.rule));
        own.map(|(_, report)| report.clone()).unwrap_or_default()
    }

    /// Why the rule is applied nowhere.
    fn not_applied(&self, report: &RuleReport, stop: StopReason, nearest: Nearest, out: &mut WhyNot) {
        out.place = nearest.place;
        if nearest.matches == 0 {
            out.answer = nearest.why;
            out.values = nearest.values;
            if let Some((found, all)) = nearest.found {
                out.hints
                    .push(format!("{found} of the {all} operators of its source are there"));
            }
            if !nearest.swapped.is_empty() {
                out.hints.push(self.exchange(&nearest.swapped));
            }
            return;
        }
        let places = match nearest.matches {
            1 => "in 1 place".to_owned(),
            n => format!("in {n} places"),
        };
        let forbidden: usize = report.forbidden.values().sum();
        let reasons = [
            (forbidden, Refusal::Forbidden),
            (report.refused, Refusal::Type),
            (report.idle, Refusal::Same),
            (report.circular, Refusal::Circle),
            (report.dearer, Refusal::Dearer),
        ];
        let main = reasons.iter().rev().max_by_key(|(n, _)| *n).filter(|(n, _)| *n > 0);
        let why = match main.map(|(_, refusal)| refusal) {
            Some(Refusal::Forbidden) => {
                out.forbidden = report.forbidden.keys().map(|name| (*name).to_owned()).collect();
                let names: Vec<String> = out.forbidden.iter().map(|name| format!("`{name}`")).collect();
                format!(
                    "its target has {}, which the result may not contain",
                    names.join(" and ")
                )
            }
            Some(Refusal::Type) => self.type_text(),
            Some(Refusal::Same) => "both sides are the same value there already".to_owned(),
            Some(Refusal::Circle) => "the result would depend on itself there".to_owned(),
            Some(Refusal::Dearer) => {
                "it can be undone, so it is applied only where the result costs less, and there it does not".to_owned()
            }
            None => match stop {
                StopReason::Nodes => "the run ended at its limit of e-nodes first: `--node-limit` raises it".to_owned(),
                StopReason::Iterations => {
                    "the run ended at its limit of rounds first: `--iter-limit` raises it".to_owned()
                }
                StopReason::Rewrites => {
                    "the run ended at its limit of applications first: `--max-rewrites` raises it".to_owned()
                }
                _ if self.rule.source.has_several_outputs() => {
                    "what it matches was made by other rules, and rules with several outputs are searched in the first \
                     round alone; `--engine substitute` applies them at any time"
                        .to_owned()
                }
                _ => "other rules made what it matches in the last round".to_owned(),
            },
        };
        out.answer = format!("it matches {places} and is not applied: {why}");
    }

    /// How the types of both sides differ at the first match in the graph.
    fn type_text(&self) -> String {
        let sides = Trial::new(self.rule.clone()).sides(self.graph.clone(), None);
        let text = sides.and_then(|sides| match &sides.target {
            Err(problems) => {
                let first = problems.iter().next()?;
                Some(format!("its target has no type there: {}", first.message))
            }
            Ok(targets) => {
                let mut pairs = sides.source.iter().zip(targets);
                let differs = |(a, b): &(&_, &_)| sides.graph.ty(**a) != sides.graph.ty(**b);
                let (a, b) = pairs.find(differs)?;
                Some(format!(
                    "its target is {} there, and the source {}",
                    sides.graph.ty(*b),
                    sides.graph.ty(*a)
                ))
            }
        });
        text.unwrap_or_else(|| "its target does not have the type of the source there".to_owned())
    }

    /// Operands that are in the other order, and which rules exchange them.
    fn exchange(&self, operators: &[&'static str]) -> String {
        let names: Vec<String> = operators.iter().map(|name| format!("`{name}`")).collect();
        let text = format!("it would match with the operands of {} exchanged", names.join(" and "));
        let built_in = library_rules().unwrap_or_default();
        let known = || self.selected.iter().chain(built_in);
        let rules: Option<Vec<String>> = operators
            .iter()
            .map(|name| {
                known()
                    .find(|rule| exchanges(rule, name))
                    .map(|rule| format!("`{}`", rule.name))
            })
            .collect();
        match rules {
            Some(rules) if rules.len() == 1 => format!("{text}: the rule {} does that", rules[0]),
            Some(rules) => format!("{text}: the rules {} do that", rules.join(" and ")),
            None => text,
        }
    }
}

/// What prevented a match.
enum Refusal {
    Forbidden,
    Type,
    Same,
    Circle,
    Dearer,
}

/// True for `f(x, y) => f(y, x)`.
fn exchanges(rule: &Rule, operator: &str) -> bool {
    let [Item::One(root)] = rule.source.outputs[..] else {
        return false;
    };
    let PatternNode::Call { def: own, operands, .. } = rule.source.node(root) else {
        return false;
    };
    let [Item::One(a), Item::One(b)] = operands[..] else {
        return false;
    };
    let (PatternNode::Variable(a), PatternNode::Variable(b)) = (rule.source.node(a), rule.source.node(b)) else {
        return false;
    };
    let (a, b) = (&rule.variables[*a].name, &rule.variables[*b].name);
    let operands: Vec<String> = rule
        .ast
        .operands(rule.target.result)
        .into_iter()
        .map(|id| format_expr(&rule.ast, id))
        .collect();
    own.name == operator && rule.target.lets.is_empty() && operands == [b.to_string(), a.to_string()]
}

fn times(n: usize) -> String {
    if n == 1 {
        "once".to_owned()
    } else {
        format!("{n} times")
    }
}
