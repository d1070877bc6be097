//! Local search: exchanges the e-nodes of one class, or of the elements of one tuple, while that lowers the total cost.
//!
//! Uses of classes are counted, so that an exchange touches only classes that become needed or unneeded. Ranks with
//! gaps between them show for nearly all exchanges that no cycle arises.

use std::collections::BTreeMap;

use super::choice::Problem;
use super::cost::Price;
use super::enode::Head;

/// The maximum number of passes over all classes.
const PASSES: usize = 12;

/// The maximum number of uses that one exchange may change for each class that is moved, in addition to those of its
/// operands.
const EXCHANGE_LIMIT: usize = 4_096;

/// The distance between newly assigned ranks.
const GAP: u64 = 1 << 20;

/// The rank of a class that has just become needed, until its rank is determined.
const UNRANKED: u64 = u64::MAX;

/// A class and its new e-node.
type Move = (u32, u32);

/// A selection that is being improved.
pub(super) struct Solution<'a> {
    problem: &'a Problem,
    choice: Vec<Option<u32>>,
    /// The e-node by which a class is computed when it becomes needed; without cycles.
    fallback: &'a [Option<u32>],
    /// For each class, the number of uses as an operand of needed classes, plus one for each root.
    uses: Vec<u32>,
    /// For needed classes, a number greater than the rank of each operand.
    rank: Vec<u64>,
    /// The changes of uses made by the current exchange, with their direction.
    journal: Vec<(u32, bool)>,
    /// For each class, the number of the last search that visited it.
    seen: Vec<u32>,
    searches: u32,
}

impl<'a> Solution<'a> {
    /// A solution from an initial choice, and a fallback without cycles for every class.
    pub(super) fn new(problem: &'a Problem, choice: Vec<Option<u32>>, fallback: &'a [Option<u32>]) -> Solution<'a> {
        let classes = problem.classes.len();
        let mut out = Solution {
            problem,
            choice,
            fallback,
            uses: vec![0; classes],
            rank: vec![0; classes],
            journal: Vec::new(),
            seen: vec![0; classes],
            searches: 0,
        };
        for &root in &problem.roots {
            out.uses[root as usize] += 1;
        }
        for c in problem.order(&out.choice).unwrap_or_default() {
            for &child in out.chosen_children(c) {
                out.uses[child as usize] += 1;
            }
        }
        out.forget_unused();
        out
    }

    /// The choice after repeated exchanges, until none lowers the cost.
    pub(super) fn improved(mut self) -> Vec<Option<u32>> {
        for _ in 0..PASSES {
            let Some(order) = self.problem.order(&self.choice) else {
                break;
            };
            self.rank_anew(&order);
            let mut improved = false;
            for &c in &order {
                for n in 0..self.problem.classes[c as usize].nodes.len() as u32 {
                    improved |= self.may_move((c, n)) && self.exchange(&[(c, n)]);
                }
            }
            // The elements of one tuple are cheaper only together.
            for mut group in self.projections(&order) {
                group.retain(|&m| self.may_move(m));
                improved |= self.exchange(&group);
            }
            self.forget_unused();
            if !improved {
                break;
            }
        }
        self.choice
    }

    fn rank_anew(&mut self, order: &[u32]) {
        for &c in order {
            let highest = self.highest(self.chosen_children(c));
            self.rank[c as usize] = highest + GAP;
        }
    }

    fn highest(&self, classes: &[u32]) -> u64 {
        classes.iter().map(|&k| self.rank[k as usize]).max().unwrap_or(0)
    }

    /// Resets unneeded classes to their cheapest tree.
    fn forget_unused(&mut self) {
        for (c, &cheapest) in self.fallback.iter().enumerate() {
            if self.uses[c] == 0 {
                self.choice[c] = cheapest;
            }
        }
    }

    fn children(&self, (class, node): Move) -> &'a [u32] {
        &self.problem.node(class, node).children
    }

    fn chosen_children(&self, class: u32) -> &'a [u32] {
        self.choice[class as usize].map_or(&[], |n| self.children((class, n)))
    }

    fn node_cost(&self, (class, node): Move) -> Price {
        self.problem.node_cost(class, node)
    }

    /// True if the class is needed and computed by another e-node.
    fn may_move(&self, (class, node): Move) -> bool {
        self.uses[class as usize] > 0 && self.choice[class as usize].is_some_and(|n| n != node)
    }

    /// Chooses other e-nodes for several classes at once, all of which may move, if that lowers the total cost.
    fn exchange(&mut self, moves: &[Move]) -> bool {
        let old: Vec<Move> = moves
            .iter()
            .filter_map(|&(c, _)| Some((c, self.choice[c as usize]?)))
            .collect();
        let own = moves.iter().chain(&old).map(|&m| self.children(m).len());
        let limit = EXCHANGE_LIMIT * moves.len() + own.sum::<usize>();
        self.journal.clear();
        // New uses are added before old ones are dropped, so that classes needed by both are not touched.
        let taken = self.take(moves, limit);
        let woken = self.journal.len();
        let cheaper = taken.is_some_and(|taken| {
            for &(c, n) in moves {
                self.choice[c as usize] = Some(n);
            }
            self.release(&old, limit).is_some_and(|released| taken < released)
        });
        if cheaper && self.keep_ranks(moves, woken) {
            return true;
        }
        for &(c, up) in self.journal.iter().rev() {
            let uses = &mut self.uses[c as usize];
            *uses = if up { *uses - 1 } else { *uses + 1 };
        }
        for &(c, n) in &old {
            self.choice[c as usize] = Some(n);
        }
        false
    }

    /// Adds the uses of operands by the new e-nodes; returns the cost of these e-nodes and of classes that become
    /// needed. `None` if that is too much work, or if an operand has no e-node.
    fn take(&mut self, moves: &[Move], limit: usize) -> Option<Price> {
        let mut cost = Price::ZERO;
        let mut stack: Vec<u32> = Vec::new();
        for &m in moves {
            cost = cost.saturating_add(self.node_cost(m));
            stack.extend(self.children(m));
            while let Some(c) = stack.pop() {
                self.uses[c as usize] += 1;
                self.journal.push((c, true));
                if self.journal.len() > limit {
                    return None;
                }
                if self.uses[c as usize] == 1 {
                    let n = self.choice[c as usize]?;
                    self.rank[c as usize] = UNRANKED;
                    cost = cost.saturating_add(self.node_cost((c, n)));
                    stack.extend(self.children((c, n)));
                }
            }
        }
        Some(cost)
    }

    /// Drops the uses of operands by the old e-nodes; returns the cost of these e-nodes and of classes that are no
    /// longer needed. `None` if that is too much work.
    fn release(&mut self, moves: &[Move], limit: usize) -> Option<Price> {
        let mut cost = Price::ZERO;
        let mut stack: Vec<u32> = Vec::new();
        for &m in moves {
            cost = cost.saturating_add(self.node_cost(m));
            stack.extend(self.children(m));
            while let Some(c) = stack.pop() {
                self.uses[c as usize] -= 1;
                self.journal.push((c, false));
                if self.journal.len() > limit {
                    return None;
                }
                if self.uses[c as usize] == 0
                    && let Some(n) = self.choice[c as usize]
                {
                    cost = cost.saturating_add(self.node_cost((c, n)));
                    stack.extend(self.children((c, n)));
                }
            }
        }
        Some(cost)
    }

    /// Assigns ranks to the classes that become needed, which are among the first `woken` changes, and moves other
    /// ranks where necessary; false if there is a cycle.
    fn keep_ranks(&mut self, moves: &[Move], woken: usize) -> bool {
        for i in 0..woken {
            if !self.rank_woken(self.journal[i].0) {
                return false;
            }
        }
        let late = |s: &Self, m: &Move| s.uses[m.0 as usize] > 0 && s.highest(s.children(*m)) >= s.rank[m.0 as usize];
        if !moves.iter().any(|m| late(self, m)) {
            return true;
        }
        if self.reach_each_other(moves) {
            return false;
        }
        for m in moves {
            if late(self, m) {
                self.rank[m.0 as usize] = self.highest(self.children(*m)) + 1;
                self.raise_users(m.0);
            }
        }
        true
    }

    /// Ranks a class that becomes needed after everything it needs; false if it needs itself.
    fn rank_woken(&mut self, class: u32) -> bool {
        if self.rank[class as usize] != UNRANKED {
            return true;
        }
        self.searches += 1;
        let mut stack: Vec<(u32, usize)> = vec![(class, 0)];
        self.seen[class as usize] = self.searches;
        while let Some((c, next)) = stack.last_mut() {
            let children = self.chosen_children(*c);
            match children.get(*next) {
                Some(&child) => {
                    *next += 1;
                    if self.rank[child as usize] == UNRANKED {
                        if self.seen[child as usize] == self.searches {
                            return false;
                        }
                        self.seen[child as usize] = self.searches;
                        stack.push((child, 0));
                    }
                }
                None => {
                    self.rank[*c as usize] = self.highest(children) + 1;
                    stack.pop();
                }
            }
        }
        true
    }

    /// True if one of the moved classes needs another or itself, through their new e-nodes.
    fn reach_each_other(&mut self, moves: &[Move]) -> bool {
        self.searches += 1;
        let mut targets: Vec<u32> = moves.iter().map(|m| m.0).collect();
        targets.sort_unstable();
        // No class ranked below all of them needs one of them.
        let lowest = targets.iter().map(|&c| self.rank[c as usize]).min().unwrap_or(0);
        let mut stack: Vec<u32> = moves.iter().flat_map(|&m| self.children(m)).copied().collect();
        while let Some(c) = stack.pop() {
            if targets.binary_search(&c).is_ok() {
                return true;
            }
            if self.rank[c as usize] <= lowest || self.seen[c as usize] == self.searches {
                continue;
            }
            self.seen[c as usize] = self.searches;
            stack.extend(self.chosen_children(c));
        }
        false
    }

    /// Raises the ranks of classes that need `class` above its rank.
    fn raise_users(&mut self, class: u32) {
        let mut stack = vec![class];
        while let Some(c) = stack.pop() {
            for &(user, n) in self.problem.users(c) {
                let needs = self.uses[user as usize] > 0 && self.choice[user as usize] == Some(n);
                if needs && self.rank[user as usize] <= self.rank[c as usize] {
                    self.rank[user as usize] = self.rank[c as usize] + 1;
                    stack.push(user);
                }
            }
        }
    }

    /// For every tuple, the classes that could be one of its elements, with the e-node for that.
    fn projections(&self, order: &[u32]) -> Vec<Vec<Move>> {
        let mut groups: BTreeMap<u32, Vec<Move>> = BTreeMap::new();
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

#[cfg(test)]
mod tests;
