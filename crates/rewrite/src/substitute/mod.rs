//! Rewriting by substitution on the graph itself: replaces one match after the other, until none is left.
//!
//! Substitution follows the definition in the literature: a map *f* from the source pattern to a part of the graph such
//! that (f1) the image is a subgraph, (f2) kinds and attributes match, (f3) the order of predecessors is kept, and (f4)
//! no edge leaves the inside of the match; and a map *g* from the target pattern to its replacement, which preserves
//! (g1) kinds and attributes and (g2) the order of predecessors. The points that this definition leaves open are
//! decided as follows:
//!
//! * *f* is injective except on the inputs of the pattern: two variables may match the same vertex, but an inner vertex
//!   and another one may not. Literals and omitted operands count as inputs.
//! * An inner vertex that is a result of the graph counts as used from outside, so there is no match. So does an inner
//!   vertex that an input of the match uses: the input is kept, and the inner vertex would have to be kept with it,
//!   which (f4) is meant to exclude.
//! * Every result of a match is replaced wherever it is used, also where it is a result of the graph.
//! * A match with several outputs may depend on itself through vertices outside of it, so that its replacement would
//!   close a cycle. Then there is no substitution.
//! * Every output must keep its type; otherwise there is no substitution.
//!
//! Vertices are visited in reverse post-order, and at each vertex the rules are tried in their order; the result of a
//! substitution is visited next. The run ends when a whole round finds nothing, or at the limit on substitutions. An
//! equality (`<=>`) is applied only where the result costs less. The same holds for a rule at a vertex where it was
//! applied before or that it created, and for a rule that matches its own result: otherwise rules that undo each other
//! or themselves would never terminate.

mod index;
mod recorder;
mod select;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) use index::Index;
use recorder::Recorder;
use select::{ByRoot, Lineages, by_root};

use super::apply::{build_target, same_type};
use super::cost::CostModel;
use super::explain::Step;
use super::explored::{Explored, Trail};
use super::matching::{Binding, Host, MOST_STEPS, Match, Program, Searcher, Seen, is_input, satisfied};
use super::saturate::{RuleReport, StopReason, Watch};
use super::unknown::{Matched, Tried, same_for_certain};
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::Op;
use tautomer_rule::Rule;
use tautomer_tensor::Type;

/// The results of substitution.
pub struct Substitution {
    /// The rules, in order, with the effects of each.
    pub rules: Vec<(Arc<Rule>, RuleReport)>,
    /// The number of rounds over the whole graph.
    pub rounds: usize,
    /// The reason why it ended.
    pub stop: StopReason,
    /// Every substitution, in order.
    pub steps: Vec<Step>,
    /// The numbers of vertices that each step removed and added.
    pub sizes: Vec<(usize, usize)>,
    /// With [`substitute_explored`]: every vertex that ever existed, and which one replaced which.
    pub explored: Option<Explored>,
}

/// Replaces matches of `rules` in `graph` until none is left, or `limit` substitutions are done.
///
/// The default limit is 1000 plus 20 for every vertex. Operators that `model` forbids are not created.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_graph::*;
/// # use tautomer_lang::*;
/// # use tautomer_rewrite::{CostModel, substitute};
/// # use tautomer_rule::load_rules;
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
    run(graph, rules, limit, model, None, &Watch::default())
}

/// Like [`substitute`], but records every vertex that ever existed, so that the whole run can be checked.
pub fn substitute_explored(
    graph: Graph,
    rules: &[Arc<Rule>],
    limit: Option<usize>,
    model: &CostModel<'_>,
) -> (Graph, Substitution) {
    let trail = Trail::new(&graph);
    run(graph, rules, limit, model, Some(trail), &Watch::default())
}

/// Like [`substitute`] or, if `explored`, [`substitute_explored`], but `watch` follows the number of substitutions and
/// may stop them.
pub fn substitute_watched(
    graph: Graph,
    rules: &[Arc<Rule>],
    limit: Option<usize>,
    model: &CostModel<'_>,
    explored: bool,
    watch: &Watch<'_, usize>,
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
    watch: &Watch<'_, usize>,
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
        tried: Tried::default(),
        watch,
    };
    let mut rounds = 0;
    let stop = loop {
        rounds += 1;
        let before = run.steps.len();
        if !run.round() {
            break match (watch.cancelled)() {
                true => StopReason::Cancelled,
                false => StopReason::Rewrites,
            };
        }
        if run.steps.len() == before {
            break StopReason::FixedPoint;
        }
    };
    // A forbidden operator at a place that another rule has since replaced no longer counts.
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

/// The number of steps that each search may always make.
const LEAST_STEPS: usize = 10_000;

/// Users up to this distance above a change are revisited before the next round.
const NEARBY: usize = 128;

struct Run<'a> {
    programs: &'a [Program],
    model: &'a CostModel<'a>,
    by_root: ByRoot,
    /// The length of the longest path from an output of a source to its inputs.
    depth: usize,
    index: Index,
    lineages: Lineages,
    reports: Vec<RuleReport>,
    seen: Vec<Seen<VertexId>>,
    /// The remaining search steps of each rule, in addition to those that each search may always make.
    steps_left: Vec<usize>,
    steps: Vec<Step>,
    sizes: Vec<(usize, usize)>,
    trail: Option<Trail>,
    limit: usize,
    /// Rules that were not applied because of an operator that the result may not contain, and where.
    kept_from: BTreeSet<(usize, &'static str, VertexId)>,
    tried: Tried,
    watch: &'a Watch<'a, usize>,
}

/// The vertices of a match other than its inputs, each once.
fn inner(rule: &Rule, binding: &Binding<VertexId>) -> Vec<VertexId> {
    let inner = binding.vertices().filter(|(at, _)| !is_input(rule.source.node(*at)));
    let mut inner: Vec<VertexId> = inner.map(|(_, v)| v).collect();
    // An alternative and the pattern it chose match the same vertex.
    inner.sort_unstable();
    inner.dedup();
    inner
}

/// A match to be replaced.
struct Found {
    rule: usize,
    binding: Binding<VertexId>,
    matched: Match,
}

impl Run<'_> {
    /// One round over the graph; `false` at the limit.
    fn round(&mut self) -> bool {
        let mut todo = self.index.ordered();
        // A group that is not a match is not formed again for each of its members; the next round tries it again.
        self.seen.iter_mut().for_each(|seen| *seen = Seen::default());
        // Matches that may not be replaced in the current state of the graph around them.
        let mut refused: FxHashSet<(usize, u64)> = FxHashSet::default();
        while let Some(found) = self.next(&mut todo, &refused) {
            if self.steps.len() >= self.limit || (self.watch.cancelled)() {
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
                    if let Some(matched) = satisfied(index, program, &binding) {
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

    /// True if each target has the type of the output that it replaces.
    fn same_types(&mut self, found: &Found, places: &[(VertexId, VertexId)]) -> bool {
        let graph = &self.index.graph;
        let all = |same: fn(&Type, &Type) -> bool| places.iter().all(|(a, b)| same(graph.ty(*a), graph.ty(*b)));
        if !all(same_type) || all(same_for_certain) {
            return all(same_type);
        }
        let program = &self.programs[found.rule];
        let inner = inner(&program.rule, &found.binding);
        let is_static = |v: VertexId| self.index.is_static(v);
        let matched = Matched::in_graph(graph, &found.matched.outputs, &inner, &is_static);
        self.tried.keeps_types(found.rule, program, &matched)
    }

    /// Performs a substitution; returns the vertices around it, or `None` if it is not allowed.
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
        let same_types = self.same_types(found, &places);
        let graph = &self.index.graph;
        let forbidden = |v: &VertexId| match graph.vertex(*v).op() {
            Some(Op::Known(def)) if self.model.forbids_vertex(graph, *v) => Some(def.name),
            _ => None,
        };
        let report = &mut self.reports[found.rule];
        let fits = if !same_types {
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
        let removed = inner(rule, &found.binding);
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
        (self.watch.progress)(&self.steps.len());
        Some(around)
    }

    /// True if the rule matches at `v`.
    fn matches_at(&self, rule: usize, v: VertexId) -> bool {
        let program = &self.programs[rule];
        let mut matches = false;
        if let Some(mut searcher) = Searcher::new(program, &self.index) {
            searcher.rooted(v, &mut Seen::default(), &mut |binding| {
                matches = satisfied(&self.index, program, &binding).is_some();
                !matches
            });
        }
        matches
    }

    /// True if the created vertices cost less than the removed ones, or as much with fewer vertices; static ones cost
    /// nothing.
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

    /// Adds the vertices at which a change may have enabled a match to the work list.
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

/// The name of a value, or the operator that computes it.
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
