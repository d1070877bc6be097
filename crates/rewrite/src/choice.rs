//! Extraction from an e-graph as a selection problem: one e-node for each needed class, without cycles.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use smallvec::SmallVec;

use super::cost::Price;
use super::enode::ENode;

/// A class with its candidate e-nodes, cheapest first.
pub(super) struct Class {
    pub(super) nodes: Vec<Candidate>,
    /// True if it is computed ahead of time.
    pub(super) is_static: bool,
}

/// A candidate e-node.
pub(super) struct Candidate {
    pub(super) enode: ENode,
    /// The indices of the classes of its operands.
    pub(super) children: SmallVec<[u32; 4]>,
    /// Its price, excluding its operands.
    pub(super) cost: Price,
}

/// All classes, the roots that are always needed, and the uses between them.
pub(super) struct Problem {
    pub(super) classes: Vec<Class>,
    pub(super) roots: Vec<u32>,
    /// For each class, the e-nodes that have it as an operand, once for each occurrence.
    users: Vec<Vec<(u32, u32)>>,
}

/// The work of a static class is done once, ahead of time; it is divided by this factor, so that less of it is
/// preferred.
const STATIC_SHARE: u64 = 1 << 20;

impl Problem {
    pub(super) fn new(classes: Vec<Class>, roots: Vec<u32>) -> Problem {
        let mut users: Vec<Vec<(u32, u32)>> = vec![Vec::new(); classes.len()];
        for (c, class) in classes.iter().enumerate() {
            for (n, node) in class.nodes.iter().enumerate() {
                for &child in &node.children {
                    users[child as usize].push((c as u32, n as u32));
                }
            }
        }
        Problem { classes, roots, users }
    }

    pub(super) fn node(&self, class: u32, node: u32) -> &Candidate {
        &self.classes[class as usize].nodes[node as usize]
    }

    /// The e-nodes that have `class` as an operand.
    pub(super) fn users(&self, class: u32) -> &[(u32, u32)] {
        &self.users[class as usize]
    }

    pub(super) fn node_cost(&self, class: u32, node: u32) -> Price {
        let cost = self.node(class, node).cost;
        if self.classes[class as usize].is_static {
            // What is computed ahead of time need not be a call that may stay.
            Price::legal((cost.picos / STATIC_SHARE).max(u64::from(cost.picos > 0)))
        } else {
            cost
        }
    }

    /// For every class, the e-node with the cheapest tree; and a lower bound on the cost of the roots, the longest path
    /// that no choice can avoid.
    pub(super) fn trees(&self) -> (Vec<Option<u32>>, Price) {
        let tree = self.least(|c, n, costs| {
            let own = self.node_cost(c, n).max(Price::legal(1));
            let children = &self.node(c, n).children;
            children
                .iter()
                .fold(own, |sum, &k| sum.saturating_add(costs[k as usize]))
        });
        let path = self.least(|c, n, costs| {
            let children = &self.node(c, n).children;
            let longest = children.iter().map(|&k| costs[k as usize]).max().unwrap_or_default();
            longest.saturating_add(self.node_cost(c, n))
        });
        let bound = self
            .roots
            .iter()
            .filter_map(|&r| path[r as usize].map(|(_, cost)| cost))
            .max();
        let choice = tree.into_iter().map(|best| best.map(|(n, _)| n)).collect();
        (choice, bound.unwrap_or_default())
    }

    /// For every class, the e-node with the least cost by `whole`, and that cost. `whole` receives the costs of the
    /// operands and is never less than any of them.
    ///
    /// Classes are settled in order of cost, so each e-node is visited once (Knuth's generalization of Dijkstra's
    /// algorithm), and the choice has no cycle.
    fn least(&self, whole: impl Fn(u32, u32, &[Price]) -> Price) -> Vec<Option<(u32, Price)>> {
        let mut best: Vec<Option<(u32, Price)>> = vec![None; self.classes.len()];
        let mut costs: Vec<Price> = vec![Price::MAX; self.classes.len()];
        let mut open: Vec<Vec<u32>> = Vec::with_capacity(self.classes.len());
        let mut ready = BinaryHeap::new();
        for (c, class) in self.classes.iter().enumerate() {
            let c = c as u32;
            open.push(class.nodes.iter().map(|n| n.children.len() as u32).collect());
            for (n, _) in class.nodes.iter().enumerate().filter(|(_, n)| n.children.is_empty()) {
                ready.push(Reverse((whole(c, n as u32, &costs), c, n as u32)));
            }
        }
        // Ties are won by the earliest e-node of a class, which is the cheapest by itself.
        while let Some(Reverse((cost, c, n))) = ready.pop() {
            if best[c as usize].is_some() {
                continue;
            }
            best[c as usize] = Some((n, cost));
            costs[c as usize] = cost;
            for &(user, node) in self.users(c) {
                let open = &mut open[user as usize][node as usize];
                *open -= 1;
                if *open == 0 && best[user as usize].is_none() {
                    ready.push(Reverse((whole(user, node, &costs), user, node)));
                }
            }
        }
        best
    }

    /// The classes that a choice needs, operands before users; `None` if the choice has a cycle or lacks a class.
    pub(super) fn order(&self, choice: &[Option<u32>]) -> Option<Vec<u32>> {
        let mut state = vec![0u8; self.classes.len()];
        let mut order = Vec::new();
        let mut stack: Vec<(u32, usize)> = Vec::new();
        for &root in &self.roots {
            if state[root as usize] == 0 {
                state[root as usize] = 1;
                stack.push((root, 0));
            }
            while let Some((c, next)) = stack.last_mut() {
                let node = self.node(*c, choice[*c as usize]?);
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

    /// The cost of all classes that a choice needs, each counted once; `None` if the choice has a cycle or lacks a
    /// class.
    pub(super) fn cost_of(&self, choice: &[Option<u32>]) -> Option<Price> {
        self.order(choice)?.iter().try_fold(Price::ZERO, |sum, &c| {
            Some(sum.saturating_add(self.node_cost(c, choice[c as usize]?)))
        })
    }
}
