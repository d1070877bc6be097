//! Extraction over the DAG: one e-node for each class needed, a shared class paid once, no cycles.
//!
//! The search starts from the graph that was given and from the cheapest trees, takes the better, and improves it by
//! local exchanges; so the result never costs more than the input.

use egg::Id;
use rustc_hash::FxHashMap;

use super::cost::{CostModel, FORBIDDEN};
use super::encode::{Encoded, operands_of};
use super::enode::{ENode, Head};

/// The chosen e-nodes.
#[derive(Debug, Clone)]
pub struct Extraction {
    /// For each class needed, its e-node; classes are canonical.
    pub choice: FxHashMap<Id, ENode>,
    /// The cost in microseconds.
    pub cost: f64,
    /// The cost of the graph that was given, by the same count.
    pub original: f64,
    /// No choice costs less than this.
    pub bound: f64,
}

/// Passes of local exchanges.
const PASSES: usize = 12;

/// Work allowed for one exchange, in classes visited.
const EXCHANGE_LIMIT: usize = 20_000;

struct Class {
    nodes: Vec<Candidate>,
    is_static: bool,
}

struct Candidate {
    enode: ENode,
    children: Vec<u32>,
    cost: u64,
}

struct Problem {
    classes: Vec<Class>,
    roots: Vec<u32>,
}

/// Picks the cheapest graph from a saturated e-graph.
pub fn extract(encoded: &Encoded, model: &CostModel<'_>) -> Extraction {
    let egraph = &encoded.egraph;
    let mut ids: Vec<Id> = egraph.classes().map(|c| c.id).collect();
    ids.sort_unstable();
    let index: FxHashMap<Id, u32> = ids.iter().enumerate().map(|(i, &id)| (id, i as u32)).collect();
    // E-nodes of the input, earliest first: they are allowed whatever the model forbids.
    let mut original: FxHashMap<u32, ENode> = FxHashMap::default();
    let mut own: rustc_hash::FxHashSet<ENode> = rustc_hash::FxHashSet::default();
    for (_, id, enode) in &encoded.origins {
        let mut enode = enode.clone();
        enode.children.iter_mut().for_each(|c| *c = egraph.find(*c));
        own.insert(enode.clone());
        original.entry(index[&egraph.find(*id)]).or_insert(enode);
    }
    let allowed = CostModel { forbidden: &|_| false };
    let classes: Vec<Class> = ids
        .iter()
        .map(|&id| {
            let class = &egraph[id];
            let mut nodes: Vec<Candidate> = class
                .nodes
                .iter()
                .map(|enode| {
                    let children = operands_of(egraph, enode)
                        .iter()
                        .map(|&c| index[&egraph.find(c)])
                        .collect();
                    let cost = if own.contains(enode) {
                        allowed.enode(egraph, enode, id)
                    } else {
                        model.enode(egraph, enode, id)
                    };
                    Candidate {
                        enode: enode.clone(),
                        children,
                        cost,
                    }
                })
                .filter(|c| c.cost < FORBIDDEN)
                .collect();
            nodes.sort_by(|a, b| a.cost.cmp(&b.cost).then_with(|| a.enode.cmp(&b.enode)));
            Class {
                nodes,
                is_static: class.data.is_static,
            }
        })
        .collect();
    let roots: Vec<u32> = encoded.roots.iter().map(|&r| index[&egraph.find(r)]).collect();
    let problem = Problem { classes, roots };
    let given: Vec<Option<u32>> = problem
        .classes
        .iter()
        .enumerate()
        .map(|(c, class)| {
            let enode = original.get(&(c as u32))?;
            class.nodes.iter().position(|n| n.enode == *enode).map(|n| n as u32)
        })
        .collect();
    let (trees, bound) = problem.trees();
    let start_given: Vec<Option<u32>> = given.iter().zip(&trees).map(|(g, t)| g.or(*t)).collect();
    let original_cost = problem.cost_of(&start_given);
    let mut best: Option<(u64, Vec<Option<u32>>)> = None;
    for start in [start_given, trees.clone()] {
        let mut solution = Solution::new(&problem, start, &trees);
        solution.improve();
        let cost = problem.cost_of(&solution.choice);
        if let Some(cost) = cost
            && best.as_ref().is_none_or(|(b, _)| cost < *b)
        {
            best = Some((cost, solution.choice));
        }
    }
    let (cost, choice) = best.unwrap_or((0, trees));
    let mut chosen = FxHashMap::default();
    for c in problem.reachable(&choice) {
        if let Some(n) = choice[c as usize] {
            chosen.insert(
                ids[c as usize],
                problem.classes[c as usize].nodes[n as usize].enode.clone(),
            );
        }
    }
    Extraction {
        choice: chosen,
        cost: micros(cost),
        original: micros(original_cost.unwrap_or(cost)),
        bound: micros(bound),
    }
}

fn micros(picos: u64) -> f64 {
    picos as f64 / 1e6
}

/// A static class costs its work once, ahead of time; this much of it is counted, to prefer less of it.
const STATIC_SHARE: u64 = 1 << 20;

impl Problem {
    fn node_cost(&self, class: u32, node: u32) -> u64 {
        let c = &self.classes[class as usize];
        let cost = c.nodes[node as usize].cost;
        if c.is_static {
            (cost / STATIC_SHARE).max(u64::from(cost > 0))
        } else {
            cost
        }
    }

    /// For every class the e-node with the cheapest tree, and a lower bound of the cost of the roots: the longest
    /// path that no choice can avoid.
    fn trees(&self) -> (Vec<Option<u32>>, u64) {
        let n = self.classes.len();
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); n];
        for (c, class) in self.classes.iter().enumerate() {
            for node in &class.nodes {
                for &child in &node.children {
                    users[child as usize].push(c as u32);
                }
            }
        }
        let mut cost: Vec<u64> = vec![u64::MAX; n];
        let mut path: Vec<u64> = vec![u64::MAX; n];
        let mut choice: Vec<Option<u32>> = vec![None; n];
        let mut queue: std::collections::VecDeque<u32> = (0..n as u32).collect();
        let mut queued = vec![true; n];
        while let Some(c) = queue.pop_front() {
            queued[c as usize] = false;
            let mut improved = false;
            for (i, node) in self.classes[c as usize].nodes.iter().enumerate() {
                let own = self.node_cost(c, i as u32).max(1);
                let tree = node
                    .children
                    .iter()
                    .try_fold(own, |sum, &child| match cost[child as usize] {
                        u64::MAX => None,
                        known => Some(sum.saturating_add(known).min(u64::MAX - 1)),
                    });
                if let Some(tree) = tree
                    && tree < cost[c as usize]
                {
                    cost[c as usize] = tree;
                    choice[c as usize] = Some(i as u32);
                    improved = true;
                }
                let longest = node
                    .children
                    .iter()
                    .try_fold(0u64, |most, &child| match path[child as usize] {
                        u64::MAX => None,
                        known => Some(most.max(known)),
                    });
                if let Some(longest) = longest {
                    let through = longest.saturating_add(self.node_cost(c, i as u32)).min(u64::MAX - 1);
                    if through < path[c as usize] {
                        path[c as usize] = through;
                        improved = true;
                    }
                }
            }
            if improved {
                for &u in &users[c as usize] {
                    if !std::mem::replace(&mut queued[u as usize], true) {
                        queue.push_back(u);
                    }
                }
            }
        }
        let bound = self
            .roots
            .iter()
            .map(|&r| path[r as usize])
            .filter(|&p| p != u64::MAX)
            .max()
            .unwrap_or(0);
        (choice, bound)
    }

    /// The classes a choice needs, operands before users; cut at cycles.
    fn reachable(&self, choice: &[Option<u32>]) -> Vec<u32> {
        self.order(choice).unwrap_or_default()
    }

    /// The classes a choice needs, operands before users; `None` if the choice has a cycle or a hole.
    fn order(&self, choice: &[Option<u32>]) -> Option<Vec<u32>> {
        let mut state = vec![0u8; self.classes.len()];
        let mut order = Vec::new();
        let mut stack: Vec<(u32, usize)> = Vec::new();
        for &root in &self.roots {
            if state[root as usize] == 0 {
                state[root as usize] = 1;
                stack.push((root, 0));
            }
            while let Some((c, next)) = stack.last_mut() {
                let node = &self.classes[*c as usize].nodes[choice[*c as usize]? as usize];
                match node.children.get(*next).copied() {
                    Some(child) => {
                        *next += 1;
                        match state[child as usize] {
                            0 => {
                                state[child as usize] = 1;
                                stack.push((child, 0));
                            }
                            1 => return None,
                            _ => {}
                        }
                    }
                    None => {
                        state[*c as usize] = 2;
                        order.push(*c);
                        stack.pop();
                    }
                }
            }
        }
        Some(order)
    }

    fn cost_of(&self, choice: &[Option<u32>]) -> Option<u64> {
        let order = self.order(choice)?;
        order
            .iter()
            .map(|&c| Some(self.node_cost(c, choice[c as usize]?)))
            .try_fold(0u64, |sum, c| Some(sum.saturating_add(c?)))
    }
}

/// A choice with the number of uses of every class, for exchanges.
struct Solution<'a> {
    problem: &'a Problem,
    choice: Vec<Option<u32>>,
    fallback: &'a [Option<u32>],
    uses: Vec<u32>,
}

impl<'a> Solution<'a> {
    fn new(problem: &'a Problem, choice: Vec<Option<u32>>, fallback: &'a [Option<u32>]) -> Solution<'a> {
        let mut uses = vec![0; problem.classes.len()];
        for &root in &problem.roots {
            uses[root as usize] += 1;
        }
        for c in problem.reachable(&choice) {
            let Some(n) = choice[c as usize] else { continue };
            for &child in &problem.classes[c as usize].nodes[n as usize].children {
                uses[child as usize] += 1;
            }
        }
        let mut out = Solution {
            problem,
            choice,
            fallback,
            uses,
        };
        // Classes nobody uses fall back to their cheapest tree.
        for (c, cheapest) in fallback.iter().enumerate() {
            if out.uses[c] == 0 {
                out.choice[c] = *cheapest;
            }
        }
        out
    }

    fn children(&self, class: u32, node: u32) -> &'a [u32] {
        &self.problem.classes[class as usize].nodes[node as usize].children
    }

    /// Drops one use of each child; returns the cost of what nobody uses any more.
    fn release(&mut self, class: u32, node: u32) -> u64 {
        let mut freed = 0;
        let mut stack: Vec<u32> = self.children(class, node).to_vec();
        while let Some(c) = stack.pop() {
            self.uses[c as usize] -= 1;
            if self.uses[c as usize] == 0
                && let Some(n) = self.choice[c as usize]
            {
                freed += self.problem.node_cost(c, n);
                stack.extend(self.children(c, n));
            }
        }
        freed
    }

    /// Adds one use of each child; returns the cost of what was not used before.
    fn acquire(&mut self, class: u32, node: u32) -> u64 {
        let mut added = 0u64;
        let mut stack: Vec<u32> = self.children(class, node).to_vec();
        while let Some(c) = stack.pop() {
            self.uses[c as usize] += 1;
            if self.uses[c as usize] == 1
                && let Some(n) = self.choice[c as usize]
            {
                added = added.saturating_add(self.problem.node_cost(c, n));
                stack.extend(self.children(c, n));
            }
        }
        added
    }

    /// True if `target` can be reached from the children of the e-node; also true if the search gets too long.
    fn reaches(&self, class: u32, node: u32, targets: &[u32]) -> bool {
        let mut seen: rustc_hash::FxHashSet<u32> = rustc_hash::FxHashSet::default();
        let mut stack: Vec<u32> = self.children(class, node).to_vec();
        while let Some(c) = stack.pop() {
            if targets.contains(&c) {
                return true;
            }
            if !seen.insert(c) {
                continue;
            }
            if seen.len() > EXCHANGE_LIMIT {
                return true;
            }
            match self.choice[c as usize] {
                Some(n) => stack.extend(self.children(c, n)),
                None => return true,
            }
        }
        false
    }

    /// Tries other e-nodes for some classes at once; keeps them if the whole gets cheaper.
    fn exchange(&mut self, moves: &[(u32, u32)]) -> bool {
        let targets: Vec<u32> = moves.iter().map(|m| m.0).collect();
        if moves
            .iter()
            .any(|&(c, n)| self.children(c, n).iter().any(|&k| self.choice[k as usize].is_none()))
        {
            return false;
        }
        let old: Vec<u32> = moves
            .iter()
            .map(|&(c, _)| self.choice[c as usize].unwrap_or(0))
            .collect();
        let (mut before, mut after) = (0u64, 0u64);
        for (&(c, _), &n) in moves.iter().zip(&old) {
            before = before
                .saturating_add(self.problem.node_cost(c, n))
                .saturating_add(self.release(c, n));
        }
        // A class that fell out of use while releasing is no target any more.
        let alive = targets.iter().all(|&c| self.uses[c as usize] > 0);
        if alive {
            for &(c, n) in moves {
                self.choice[c as usize] = Some(n);
            }
            for &(c, n) in moves {
                after = after
                    .saturating_add(self.problem.node_cost(c, n))
                    .saturating_add(self.acquire(c, n));
            }
            if after < before && !moves.iter().any(|&(c, n)| self.reaches(c, n, &targets)) {
                return true;
            }
            for &(c, n) in moves.iter().rev() {
                self.release(c, n);
            }
            for (&(c, _), &n) in moves.iter().zip(&old) {
                self.choice[c as usize] = Some(n);
            }
        }
        for (&(c, _), &n) in moves.iter().zip(&old) {
            self.acquire(c, n);
        }
        false
    }

    /// Local exchanges until none helps.
    fn improve(&mut self) {
        for _ in 0..PASSES {
            let Some(order) = self.problem.order(&self.choice) else {
                return;
            };
            let mut improved = false;
            for &c in &order {
                if self.uses[c as usize] == 0 {
                    continue;
                }
                for n in 0..self.problem.classes[c as usize].nodes.len() as u32 {
                    if self.uses[c as usize] > 0 && self.choice[c as usize] != Some(n) {
                        improved |= self.exchange(&[(c, n)]);
                    }
                }
            }
            // Elements of one tuple pay off only together.
            for group in self.projections(&order) {
                let alive = group
                    .iter()
                    .all(|&(c, n)| self.uses[c as usize] > 0 && self.choice[c as usize] != Some(n));
                improved |= alive && self.exchange(&group);
            }
            for c in 0..self.choice.len() {
                if self.uses[c] == 0 {
                    self.choice[c] = self.fallback[c];
                }
            }
            if !improved {
                return;
            }
        }
    }

    /// For every tuple the classes in use that could be one of its elements, with the e-node for it.
    fn projections(&self, order: &[u32]) -> Vec<Vec<(u32, u32)>> {
        let mut groups: std::collections::BTreeMap<u32, Vec<(u32, u32)>> = std::collections::BTreeMap::new();
        for &c in order {
            for (n, node) in self.problem.classes[c as usize].nodes.iter().enumerate() {
                if let (Head::Proj(_), [tuple]) = (node.enode.head, node.children.as_slice()) {
                    let group = groups.entry(*tuple).or_default();
                    if group.last().is_none_or(|(last, _)| *last != c) {
                        group.push((c, n as u32));
                    }
                }
            }
        }
        groups.into_values().filter(|g| g.len() > 1).collect()
    }
}
