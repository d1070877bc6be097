//! Rewriting by substitution on the graph itself: one match after the other is replaced, until none is left.
//!
//! A substitution is the definition of the literature: a map *f* from the source pattern to a part of the graph such
//! that (f1) the image is a subgraph, (f2) kinds and attributes match, (f3) the order of predecessors is kept, and
//! (f4) no edge leaves the inside of the match; and a map *g* from the target pattern to what takes its place, with
//! (g1) kinds and attributes and (g2) the order of predecessors. What that definition leaves open is decided so:
//!
//! * *f* is injective but for the inputs of the pattern: two variables may stand for one vertex, an inner vertex and
//!   another one may not. Literals and operands left out count as inputs.
//! * An inner vertex that is a result of the graph counts as used from outside: no match. So does one that an input of
//!   the match uses: the input stays, and the inner vertex would have to stay with it, while (f4) is there so that none
//!   does.
//! * Every result of a match, wherever it is used, is replaced, also where it is a result of the graph.
//! * A match with several outputs may depend on itself through vertices outside of it, so that its replacement closes
//!   a cycle: no substitution.
//! * An output keeps its type, or there is no substitution.
//!
//! Order: vertices in reverse post-order, at each the rules in their order; what a substitution makes is looked at
//! next. The run ends when a whole round finds nothing, or at the limit of substitutions. An equality (`<=>`) is
//! applied only where the result costs less; so is a rule at a place that it has been applied at before or that it has
//! made, and one that matches its own result: otherwise rules that undo each other or themselves would never end.

mod index;
mod recorder;
mod select;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

pub(in crate::rewrite) use index::Index;
use recorder::Recorder;
use select::{ByRoot, Lineages, by_root};

use super::apply::{build_target, same_type};
use super::cost::CostModel;
use super::explain::Step;
use super::explored::{Explored, Trail};
use super::matching::{Binding, Host, MOST_STEPS, Match, Program, Searcher, Seen, is_input, resolve};
use super::saturate::{RuleReport, StopReason};
use crate::graph::{Graph, Node, VertexId};
use crate::op::Op;
use crate::rule::Rule;

/// What substitution did.
pub struct Substitution {
    /// The rules, in order, with what each did.
    pub rules: Vec<(Arc<Rule>, RuleReport)>,
    /// Rounds over the whole graph.
    pub rounds: usize,
    /// Why it ended.
    pub stop: StopReason,
    /// Every substitution, in order.
    pub steps: Vec<Step>,
    /// Vertices that each removed and added.
    pub sizes: Vec<(usize, usize)>,
    /// With [`substitute_explored`]: every vertex that there ever was, and what took whose place.
    pub explored: Option<Explored>,
}

/// Replaces matches of `rules` in `graph` until none is left, or `limit` substitutions are done.
///
/// The limit without one given is 1000, and 20 for every vertex. What `model` forbids is not made.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, graph::*, lang::*, rewrite::{CostModel, substitute}, rule::load_rules};
/// # let source = |text: &str| Arc::new(Source::new("example", text));
/// let rules = "/// Twice negated.\nrule neg-of-neg(x) { -(-x) => x numerics bitwise }";
/// let rules = load_rules(parse_rules(source(rules)).unwrap()).unwrap().rules;
/// let program = parse_program(source("fn main(x: f32[8]) { relu(-(-(-(-x)))) }")).unwrap();
/// let graph = build_program(&program, &BuildOptions::default()).unwrap();
/// let (graph, done) = substitute(graph, &rules, None, &CostModel::default());
/// assert_eq!((graph.call_count(), done.steps.len()), (1, 2));
/// ```
pub fn substitute(
    graph: Graph,
    rules: &[Arc<Rule>],
    limit: Option<usize>,
    model: &CostModel<'_>,
) -> (Graph, Substitution) {
    run(graph, rules, limit, model, None, &|_| {})
}

/// As [`substitute`], with every vertex that there ever was kept, so that the whole run can be checked.
pub fn substitute_explored(
    graph: Graph,
    rules: &[Arc<Rule>],
    limit: Option<usize>,
    model: &CostModel<'_>,
) -> (Graph, Substitution) {
    let trail = Trail::new(&graph);
    run(graph, rules, limit, model, Some(trail), &|_| {})
}

/// As [`substitute`] or, if `explored`, [`substitute_explored`]; `watch` is told the number of substitutions after each.
pub fn substitute_watched(
    graph: Graph,
    rules: &[Arc<Rule>],
    limit: Option<usize>,
    model: &CostModel<'_>,
    explored: bool,
    watch: &dyn Fn(usize),
) -> (Graph, Substitution) {
    let trail = explored.then(|| Trail::new(&graph));
    run(graph, rules, limit, model, trail, watch)
}

fn run(
    graph: Graph,
    rules: &[Arc<Rule>],
    limit: Option<usize>,
    model: &CostModel<'_>,
    trail: Option<Trail>,
    watch: &dyn Fn(usize),
) -> (Graph, Substitution) {
    let limit = limit.unwrap_or(1000 + 20 * graph.len());
    let programs: Vec<Program> = rules.iter().map(|r| Program::new(r.clone())).collect();
    let mut run = Run {
        by_root: by_root(&programs),
        depth: programs.iter().map(|p| p.depth).max().unwrap_or(0),
        lineages: Lineages::default(),
        reports: vec![RuleReport::default(); rules.len()],
        seen: rules.iter().map(|_| Seen::default()).collect(),
        steps_left: vec![MOST_STEPS; rules.len()],
        index: Index::folding(graph, model.fold_all),
        programs: &programs,
        model,
        steps: Vec::new(),
        sizes: Vec::new(),
        trail,
        limit,
        kept_from: BTreeSet::new(),
        watch,
    };
    let mut rounds = 0;
    let stop = loop {
        rounds += 1;
        let before = run.steps.len();
        if !run.round() {
            break StopReason::Rewrites;
        }
        if run.steps.len() == before {
            break StopReason::FixedPoint;
        }
    };
    // What stood in the way of a rule at a place that another rule has replaced since counts no more.
    for &(rule, op, root) in &run.kept_from {
        if run.index.contains(root) {
            *run.reports[rule].forbidden.entry(op).or_default() += 1;
        }
    }
    let (graph, reports, steps, sizes) = (run.index.into_graph(), run.reports, run.steps, run.sizes);
    let explored = run.trail.map(Trail::finish);
    let rules = programs.iter().map(|p| p.rule.clone()).zip(reports).collect();
    (
        graph,
        Substitution {
            rules,
            rounds,
            stop,
            steps,
            sizes,
            explored,
        },
    )
}

/// Steps that each search may make, however many were made before.
const LEAST_STEPS: usize = 10_000;

/// Users this far above a change are looked at again before the next round.
const NEARBY: usize = 128;

struct Run<'a> {
    programs: &'a [Program],
    model: &'a CostModel<'a>,
    by_root: ByRoot,
    /// The longest way from an output of a source to its inputs.
    depth: usize,
    index: Index,
    lineages: Lineages,
    reports: Vec<RuleReport>,
    seen: Vec<Seen<VertexId>>,
    /// Steps of searches that are left to each rule, besides those that each search may make.
    steps_left: Vec<usize>,
    steps: Vec<Step>,
    sizes: Vec<(usize, usize)>,
    trail: Option<Trail>,
    limit: usize,
    /// Rules that were not applied for an operator that the result may not contain, and where.
    kept_from: BTreeSet<(usize, &'static str, VertexId)>,
    watch: &'a dyn Fn(usize),
}

/// What is to be replaced.
struct Found {
    rule: usize,
    binding: Binding<VertexId>,
    matched: Match<VertexId>,
}

impl Run<'_> {
    /// One round over the graph; `false` at the limit.
    fn round(&mut self) -> bool {
        let mut todo = self.index.ordered();
        // A group that is no match is not made again for each of its members; the next round looks at it afresh.
        self.seen.iter_mut().for_each(|seen| *seen = Seen::default());
        // Matches that may not be replaced at the present state of the graph around them.
        let mut refused: FxHashSet<(usize, u64)> = FxHashSet::default();
        while let Some(found) = self.next(&mut todo, &refused) {
            if self.steps.len() >= self.limit {
                return false;
            }
            let root = found.matched.outputs[0];
            match self.replace(&found) {
                Some(changed) => {
                    refused.clear();
                    self.revisit(&changed, &mut todo);
                }
                None => {
                    refused.insert(key(found.rule, &found.binding));
                    todo.insert((self.index.rank(root), root));
                }
            }
        }
        true
    }

    /// The next match.
    fn next(&mut self, todo: &mut BTreeSet<(u64, VertexId)>, refused: &FxHashSet<(usize, u64)>) -> Option<Found> {
        let index = &self.index;
        let mut searchers: FxHashMap<usize, Option<Searcher<'_, Index>>> = FxHashMap::default();
        while let Some((_, v)) = todo.pop_first() {
            if !index.contains(v) {
                continue;
            }
            let rules: &[usize] = match &index.graph.vertex(v).node {
                Node::Call { .. } => index
                    .def(v)
                    .and_then(|def| self.by_root.ops.get(def.name))
                    .map_or(&[], Vec::as_slice),
                Node::Tuple => &self.by_root.tuple,
                Node::Proj(_) => &self.by_root.proj,
                _ => &[],
            };
            for &rule in rules {
                let program = &self.programs[rule];
                let searcher = searchers.entry(rule).or_insert_with(|| Searcher::new(program, index));
                let Some(searcher) = searcher else { continue };
                let mut found = None;
                let report = &mut self.reports[rule];
                if report.stopped {
                    continue;
                }
                searcher.steps = self.steps_left[rule].saturating_add(LEAST_STEPS);
                searcher.rooted(v, &mut self.seen[rule], &mut |binding| {
                    if !refused.is_empty() && refused.contains(&key(rule, &binding)) {
                        return true;
                    }
                    if let Ok(matched) = resolve(index, program, &binding)
                        && matched.failing(index, program).is_none()
                    {
                        report.matches += 1;
                        found = Some(Found { rule, binding, matched });
                    }
                    found.is_none()
                });
                self.steps_left[rule] = self.steps_left[rule].min(searcher.steps);
                report.stopped = searcher.is_exhausted();
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// Carries out a substitution; gives the vertices around it, or nothing where it is not allowed.
    fn replace(&mut self, found: &Found) -> Option<Vec<VertexId>> {
        let program = &self.programs[found.rule];
        let rule = &program.rule;
        let outputs = &found.matched.outputs;
        let mut sink = Recorder {
            graph: &mut self.index.graph,
            made: Vec::new(),
        };
        let built = build_target(rule, &found.matched, &mut sink);
        let made = sink.made;
        let created = self.index.new_below(&made);
        let Ok(targets) = built else {
            self.index.discard(&created);
            self.reports[found.rule].refused += 1;
            return None;
        };
        let places: Vec<(VertexId, VertexId)> = outputs.iter().copied().zip(targets).collect();
        let graph = &self.index.graph;
        let forbidden = |v: &VertexId| match graph.vertex(*v).op() {
            Some(Op::Known(def)) if self.model.forbids_vertex(graph, *v) => Some(def.name),
            _ => None,
        };
        let report = &mut self.reports[found.rule];
        let fits = if !places.iter().all(|(a, b)| same_type(graph.ty(*a), graph.ty(*b))) {
            report.refused += 1;
            false
        } else if places.iter().all(|(a, b)| a == b) {
            report.idle += 1;
            false
        } else if let Some(op) = created.iter().find_map(forbidden) {
            self.kept_from.insert((found.rule, op, outputs[0]));
            false
        } else if self.index.closes_cycle(&places) {
            report.circular += 1;
            false
        } else {
            true
        };
        if !fits {
            self.index.discard(&created);
            return None;
        }
        self.index.adopt(&created);
        let mut removed: Vec<VertexId> = found
            .binding
            .vertices()
            .filter(|(at, _)| !is_input(rule.source.node(*at)))
            .map(|(_, v)| v)
            .collect();
        // An alternative and what it chose stand for one vertex.
        removed.sort_unstable();
        removed.dedup();
        let lineage = self.index.lineage(outputs[0]);
        let again =
            rule.both_ways || self.lineages.contains(lineage, found.rule) || self.matches_at(found.rule, places[0].1);
        if again && !self.is_cheaper(&removed, &created) {
            self.index.discard(&created);
            self.reports[found.rule].dearer += 1;
            return None;
        }
        let lineage = self.lineages.with(lineage, found.rule);
        let step = Step {
            rule: rule.name.clone(),
            place: outputs.iter().map(|&v| describe(&self.index.graph, v)).collect(),
        };
        if let Some(trail) = &mut self.trail {
            trail.push(&self.index.graph, &created, &places, &step);
        }
        let mut around: Vec<VertexId> = found
            .binding
            .vertices()
            .filter(|(at, _)| is_input(rule.source.node(*at)))
            .map(|(_, v)| v)
            .collect();
        around.extend(&created);
        for &v in &created {
            self.index.set_lineage(v, lineage);
            self.index.graph.vertex_mut(v).rules.push(rule.name.clone());
        }
        for &(old, new) in &places {
            if old == new {
                continue;
            }
            let vertex = self.index.graph.vertex(old);
            let (name, span) = (vertex.name.clone(), vertex.span);
            if created.contains(&new) {
                let vertex = self.index.graph.vertex_mut(new);
                vertex.name = vertex.name.take().or(name);
                vertex.span = vertex.span.or(span);
            }
            self.index.replace(old, new, &created);
            around.push(new);
        }
        let gone = self.index.remove_dead(&removed);
        self.reports[found.rule].applied += 1;
        self.steps.push(step);
        self.sizes.push((gone, created.len()));
        (self.watch)(self.steps.len());
        Some(around)
    }

    /// True if the rule matches at `v`.
    fn matches_at(&self, rule: usize, v: VertexId) -> bool {
        let program = &self.programs[rule];
        let mut matches = false;
        if let Some(mut searcher) = Searcher::new(program, &self.index) {
            searcher.rooted(v, &mut Seen::default(), &mut |binding| {
                matches = resolve(&self.index, program, &binding)
                    .is_ok_and(|matched| matched.failing(&self.index, program).is_none());
                !matches
            });
        }
        matches
    }

    /// True if what is made costs less than what goes, or as much with fewer vertices; static ones cost nothing.
    fn is_cheaper(&self, removed: &[VertexId], created: &[VertexId]) -> bool {
        let cost = |vertices: &[VertexId]| -> (u64, usize) {
            let running = vertices.iter().filter(|v| !self.index.is_static(**v));
            let calls = running.filter(|v| matches!(self.index.graph.vertex(**v).node, Node::Call { .. }));
            calls.fold((0, 0), |(sum, n), v| {
                (sum + self.model.vertex(&self.index.graph, *v), n + 1)
            })
        };
        cost(created) < cost(removed)
    }

    /// Puts the vertices at which a change may have made a match possible back on the list.
    fn revisit(&self, changed: &[VertexId], todo: &mut BTreeSet<(u64, VertexId)>) {
        let mut level: Vec<VertexId> = changed.to_vec();
        let mut left = NEARBY;
        for _ in 0..=self.depth {
            let mut above = Vec::new();
            for v in level {
                if left == 0 || !self.index.contains(v) {
                    continue;
                }
                left -= 1;
                todo.insert((self.index.rank(v), v));
                above.extend(self.index.graph.users(v).take(left));
            }
            level = above;
        }
    }
}

fn key(rule: usize, binding: &Binding<VertexId>) -> (usize, u64) {
    (rule, binding.key(|v| v))
}

/// The name of a value, or what computes it.
pub(super) fn describe(graph: &Graph, v: VertexId) -> String {
    let vertex = graph.vertex(v);
    match (&vertex.name, vertex.op()) {
        (Some(name), _) => name.to_string(),
        (None, Some(op)) => format!("{} #{}", op.name(), v.index()),
        (None, None) => format!("#{}", v.index()),
    }
}

#[cfg(test)]
mod tests;
