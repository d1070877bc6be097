//! The rounds of saturation: search, then apply, then rebuild.

use std::sync::Arc;

use egg::Id;
use rustc_hash::{FxHashMap, FxHashSet};

use super::changes::Changes;
use super::threads::{in_parallel, threads_for};
use super::{Guard, IterationReport, Limits, RuleReport, Saturation, StopReason, Watch};
use crate::EGraph;
use crate::apply::{build_target, same_type};
use crate::encode::{EGraphSink, Encoded, class_id};
use crate::enode::ENode;
use crate::explain::History;
use crate::matching::{Binding, Classes, Host, Match, Program, Searcher, Snapshot, satisfied};
use crate::rebuild::rebuild;
use crate::unknown::{Matched, Tried, is_open, same_for_certain};
use tautomer_op::OpDef;
use tautomer_rule::Rule;

/// Runs rounds until nothing changes or a limit is reached; records applications in `history`, if there is one.
pub(super) fn run(
    encoded: &mut Encoded,
    rules: &[Arc<Rule>],
    limits: Limits,
    history: Option<History>,
    watch: &Watch<'_, IterationReport>,
    guard: &mut dyn Guard,
) -> Saturation {
    let mut rounds = Rounds::new(&encoded.egraph, rules, limits, history);
    let stop = rounds.run(&mut encoded.egraph, watch, guard);
    let created_by = created_by(encoded, rounds.created_by);
    let reports = rounds.searches.into_iter().map(|search| (search.rule, search.report));
    Saturation {
        rules: reports.collect(),
        iterations: rounds.iterations,
        stop,
        created_by,
        history: rounds.history,
    }
}

/// A match that a search found, whose conditions hold.
struct Candidate {
    binding: Binding<Id>,
    /// Its meaning.
    matched: Match,
    /// The applications that made the matched nodes, if they are recorded.
    needs: Vec<u32>,
    /// The matched values, if their types are not fully known.
    open: Option<Box<Matched>>,
}

/// The state of one rule, and when it is searched next.
struct Search {
    rule: Arc<Rule>,
    /// The rule prepared for matching, once all operators of its source have occurred: most rules of the library
    /// mention operators that a given model does not have.
    program: Option<Program>,
    /// The operators of its source that have not occurred yet, except those of some of its alternatives.
    missing: Vec<&'static OpDef>,
    report: RuleReport,
    /// The first round in which it is searched again.
    rests_until: usize,
    times_rested: u32,
    /// True if all matches of the previous round were processed, so that only changes since then can give new ones.
    up_to_date: bool,
    /// The matches that were processed, by their classes at the time.
    seen: FxHashSet<u64>,
    /// The remaining steps.
    steps: usize,
}

impl Search {
    /// Leaves the rule out for some rounds; it may then find more matches than before.
    fn rest(&mut self, round: usize) {
        self.up_to_date = false;
        self.times_rested += 1;
        self.rests_until = round + (2 << self.times_rested.min(10));
        self.report.rested += 1;
    }
}

/// The state of a run between its rounds.
struct Rounds {
    limits: Limits,
    node_limit: usize,
    match_limit: usize,
    searches: Vec<Search>,
    created_by: FxHashMap<ENode, u32>,
    /// The classes at the time of the previous search.
    classes: Vec<Id>,
    tried: Tried,
    history: Option<History>,
    iterations: Vec<IterationReport>,
    rewrites: usize,
}

/// The matches that a search for all rules found.
#[derive(Default)]
struct Found {
    /// The rules that have candidates, as indices, in order.
    candidates: Vec<(usize, Vec<Candidate>)>,
    /// True if a rule was suspended, so that having nothing to apply does not mean that the e-graph is saturated.
    rested: bool,
}

/// The matches of one rule.
#[derive(Default)]
struct Matches {
    /// Those whose conditions hold, and that were not processed before.
    candidates: Vec<Candidate>,
    /// The number of all of them.
    count: usize,
    /// True if there are more than are allowed.
    too_many: bool,
    /// The remaining steps of the search.
    steps: usize,
    /// True if it ended because there were none left.
    exhausted: bool,
}

impl Rounds {
    fn new(egraph: &EGraph, rules: &[Arc<Rule>], limits: Limits, history: Option<History>) -> Rounds {
        let search = |rule: &Arc<Rule>| Search {
            rule: rule.clone(),
            program: None,
            missing: rule.source.operators(),
            report: RuleReport::default(),
            rests_until: 0,
            times_rested: 0,
            up_to_date: false,
            seen: FxHashSet::default(),
            steps: limits.steps,
        };
        Rounds {
            limits,
            node_limit: limits.nodes.max(4 * egraph.total_size()),
            match_limit: limits.matches.max(egraph.total_size()),
            searches: rules.iter().map(search).collect(),
            created_by: FxHashMap::default(),
            classes: Vec::new(),
            tried: Tried::default(),
            history,
            iterations: Vec::new(),
            rewrites: 0,
        }
    }

    /// Runs all rounds, and returns why they ended.
    fn run(&mut self, egraph: &mut EGraph, watch: &Watch<'_, IterationReport>, guard: &mut dyn Guard) -> StopReason {
        for round in 0..self.limits.iterations {
            let Some(found) = self.search(egraph, round, watch) else {
                return StopReason::Cancelled;
            };
            let before = self.rewrites;
            let over = self.apply_all(egraph, found.candidates, watch, guard);
            rebuild(egraph);
            if let Some(history) = &mut self.history {
                history.rebuild(egraph);
            }
            let report = IterationReport {
                nodes: egraph.total_size(),
                classes: egraph.number_of_classes(),
                applied: self.rewrites - before,
            };
            let idle = report.applied == 0;
            (watch.progress)(&report);
            self.iterations.push(report);
            if let Some(reason) = over {
                return reason;
            }
            if idle && !found.rested {
                return StopReason::Saturated;
            }
            if idle {
                // Only resting rules could still change something, so they are woken.
                self.searches.iter_mut().for_each(|search| search.rests_until = 0);
            }
        }
        StopReason::Iterations
    }

    /// Searches all rules that do not rest; `None` if the caller ended the run.
    fn search(&mut self, egraph: &mut EGraph, round: usize, watch: &Watch<'_, IterationReport>) -> Option<Found> {
        let mut found = Found::default();
        let news = std::mem::take(&mut egraph.analysis.news);
        let snapshot = Snapshot::new(egraph);
        self.prepare(egraph);
        let depth = self
            .searches
            .iter()
            .filter_map(|s| Some(s.program.as_ref()?.depth))
            .max();
        let changes = Changes::new(&snapshot, &news, &self.classes, depth.unwrap_or(0));
        self.classes = snapshot.ids().collect();
        let mut due: Vec<(usize, bool)> = Vec::new();
        for (i, search) in self.searches.iter_mut().enumerate() {
            let only_changed = search.up_to_date;
            let Some(program) = &search.program else {
                // It has no match before all its operators occur, which changes the classes that it then matches.
                search.up_to_date = true;
                continue;
            };
            let late = round >= self.limits.multi_output_rounds && program.climbs();
            if late || search.report.stopped {
                continue;
            }
            if round < search.rests_until {
                search.up_to_date = false;
                search.report.rested += 1;
                found.rested = true;
                continue;
            }
            search.up_to_date = true;
            due.push((i, only_changed));
        }
        let of_rule = |snapshot: &Snapshot<'_>, (i, only_changed): (usize, bool)| {
            self.matches(&self.searches[i], snapshot, only_changed.then_some(&changes))
        };
        let threads = threads_for(egraph);
        let all = in_parallel(egraph, threads, &due, &of_rule, watch.cancelled)?;
        for ((i, _), matches) in due.into_iter().zip(all) {
            let search = &mut self.searches[i];
            search.steps = search.steps.min(matches.steps);
            search.report.stopped = matches.exhausted;
            search.report.matches += matches.count;
            if matches.too_many {
                search.rest(round);
                found.rested = true;
            } else if !matches.candidates.is_empty() {
                found.candidates.push((i, matches.candidates));
            }
        }
        Some(found)
    }

    /// The matches of one rule; only those that the changes make new, if these are given.
    fn matches(&self, search: &Search, snapshot: &Snapshot<'_>, changes: Option<&Changes>) -> Matches {
        let egraph = snapshot.egraph();
        let mut out = Matches {
            steps: search.steps,
            ..Matches::default()
        };
        let searcher = search
            .program
            .as_ref()
            .map(|program| (program, Searcher::new(program, snapshot)));
        let Some((program, Some(mut searcher))) = searcher else {
            return out;
        };
        let wanted = |id: Id| changes.is_none_or(|changes| changes.reach(id, program.depth));
        let allowed = self.match_limit << search.times_rested.min(20);
        searcher.steps = search.steps.saturating_add(egraph.total_size().saturating_mul(100));
        searcher.among(&wanted, &mut |binding| {
            if changes.is_some_and(|changes| !changes.make_new(&binding, program)) {
                return true;
            }
            out.count += 1;
            if !search.seen.contains(&binding.key(|id| egraph.find(id)))
                && let Some(matched) = satisfied(egraph, program, &binding)
            {
                let needs = self.history.as_ref().map_or_else(Vec::new, |history| {
                    let form = |&(id, place): &(Id, u32)| &egraph[id].nodes[place as usize];
                    history.makers(binding.forms.iter().map(form))
                });
                let open = binding.outputs.iter().any(|&id| is_open(&egraph[id].data.ty));
                let open = open.then(|| Box::new(Matched::in_egraph(egraph, &binding)));
                out.candidates.push(Candidate {
                    binding,
                    matched,
                    needs,
                    open,
                });
            }
            out.count <= allowed
        });
        out.steps = searcher.steps;
        out.exhausted = searcher.is_exhausted();
        out.too_many = out.count > allowed;
        out
    }

    /// Prepares the rules all of whose operators occur.
    fn prepare(&mut self, egraph: &EGraph) {
        for search in self.searches.iter_mut().filter(|search| search.program.is_none()) {
            search.missing.retain(|def| egraph.op(def).is_none());
            if search.missing.is_empty() {
                search.program = Some(Program::new(search.rule.clone()));
            }
        }
    }

    /// Applies the candidates that are matches; returns why the run ends, if a limit is reached.
    fn apply_all(
        &mut self,
        egraph: &mut EGraph,
        candidates: Vec<(usize, Vec<Candidate>)>,
        watch: &Watch<'_, IterationReport>,
        guard: &mut dyn Guard,
    ) -> Option<StopReason> {
        let mut created = Vec::new();
        for (i, candidates) in candidates {
            if (watch.cancelled)() {
                return Some(StopReason::Cancelled);
            }
            for candidate in candidates {
                let Candidate {
                    binding,
                    matched,
                    needs,
                    open,
                } = candidate;
                let search = &mut self.searches[i];
                let Some(program) = &search.program else {
                    continue;
                };
                let key = |egraph: &EGraph| binding.key(|id| egraph.find(id));
                let before = key(egraph);
                if search.seen.contains(&before) {
                    continue;
                }
                if self.limits.rewrites.is_some_and(|most| self.rewrites >= most) {
                    return Some(StopReason::Rewrites);
                }
                let keeps = &mut || {
                    open.as_ref()
                        .is_some_and(|open| self.tried.keeps_types(i, program, open))
                };
                let (outcome, targets) = apply(&program.rule, egraph, &matched, keeps, &mut created, guard);
                let (count, seen) = match outcome {
                    Outcome::Applied => {
                        if let Some(history) = &mut self.history {
                            history.push(i, &binding.outputs, &targets, needs, &created);
                        }
                        self.rewrites += 1;
                        (&mut search.report.applied, key(egraph))
                    }
                    Outcome::NoEffect => (&mut search.report.idle, before),
                    Outcome::Refused => (&mut search.report.refused, before),
                };
                *count += 1;
                search.seen.insert(seen);
                for (enode, _) in created.drain(..) {
                    self.created_by.entry(enode).or_insert(i as u32);
                }
                if egraph.total_size() > self.node_limit {
                    return Some(StopReason::Nodes);
                }
            }
        }
        None
    }
}

/// The rule that created each e-node, with the classes of the saturated e-graph as operands; the e-nodes of the
/// original graph were created by none.
fn created_by(encoded: &Encoded, created_by: FxHashMap<ENode, u32>) -> FxHashMap<ENode, u32> {
    let canonical = |mut enode: ENode| {
        enode
            .children
            .iter_mut()
            .for_each(|child| *child = encoded.egraph.find(*child));
        enode
    };
    let mut out: FxHashMap<ENode, u32> = FxHashMap::default();
    let mut created: Vec<(ENode, u32)> = created_by.into_iter().collect();
    created.sort();
    for (enode, rule) in created {
        out.entry(canonical(enode))
            .and_modify(|r| *r = rule.min(*r))
            .or_insert(rule);
    }
    for (_, _, enode) in &encoded.origins {
        out.remove(&canonical(enode.clone()));
    }
    out
}

/// The outcome of a match.
enum Outcome {
    /// The classes were merged.
    Applied,
    /// They were already equal.
    NoEffect,
    /// The target could not be built, has a different type, or is not allowed.
    Refused,
}

/// Builds the target of a match and merges it with the source; new e-nodes are pushed to `created`. Where types agree
/// only as far as they are known, `keeps_types` decides.
fn apply(
    rule: &Rule,
    egraph: &mut EGraph,
    found: &Match,
    keeps_types: &mut dyn FnMut() -> bool,
    created: &mut Vec<(ENode, Id)>,
    guard: &mut dyn Guard,
) -> (Outcome, Vec<Id>) {
    let mut sink = EGraphSink {
        egraph,
        created: Vec::new(),
    };
    let built = build_target(rule, found, &mut sink);
    let mut new = sink.created;
    guard.created(egraph, &new);
    created.append(&mut new);
    let Ok(targets) = built else {
        return (Outcome::Refused, Vec::new());
    };
    let targets: Vec<Id> = targets.into_iter().map(class_id).collect();
    let outputs = found.outputs.iter().map(|output| class_id(*output));
    let pairs = || outputs.clone().zip(targets.iter().copied());
    let ty = |id: Id| &egraph[id].data.ty;
    let same = pairs().all(|(a, b)| same_type(ty(a), ty(b)) && guard.allows(egraph, a, b))
        && (pairs().all(|(a, b)| same_for_certain(ty(a), ty(b))) || keeps_types());
    if !same {
        return (Outcome::Refused, Vec::new());
    }
    let mut changed = false;
    for (a, b) in pairs() {
        changed |= egraph.union(a, b);
    }
    let outcome = if changed { Outcome::Applied } else { Outcome::NoEffect };
    (outcome, targets)
}
