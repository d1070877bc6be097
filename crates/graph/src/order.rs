//! Orders and relations: reverse post-order, successor sequence, reachability, sub-expressions.

use petgraph::Direction;
use rustc_hash::FxHashSet;

use super::{Graph, Operands, VertexId};

impl Graph {
    /// The vertices that results depend on, each after its predecessors: depth-first from the results in order,
    /// predecessors in order. It is unique for a graph, independent of the order of creation.
    ///
    /// ```
    /// # use tautomer_graph::Graph;
    /// # use tautomer_op::{Op, lookup};
    /// # use tautomer_tensor::{DType, Type};
    /// let mut g = Graph::new();
    /// let b = g.input("b", Type::tensor(DType::F32, [2]));
    /// let a = g.input("a", Type::tensor(DType::F32, [2]));
    /// let sum = g.call(Op::Known(lookup("add").unwrap()), &[a, b], &[]).unwrap();
    /// g.output(sum, None);
    /// assert_eq!(g.rpo(), vec![a, b, sum]);
    /// ```
    pub fn rpo(&self) -> Vec<VertexId> {
        self.rpo_from(self.outputs().iter().map(|o| o.vertex))
    }

    /// The same order, starting from the given vertices.
    pub fn rpo_from(&self, roots: impl IntoIterator<Item = VertexId>) -> Vec<VertexId> {
        let mut seen = FxHashSet::default();
        let mut order = Vec::with_capacity(self.len());
        let mut stack: Vec<(VertexId, Operands, usize)> = Vec::new();
        for root in roots {
            if seen.insert(root) {
                stack.push((root, self.pred(root), 0));
            }
            while let Some((v, operands, next)) = stack.last_mut() {
                match operands.get(*next).copied() {
                    Some(u) => {
                        *next += 1;
                        if seen.insert(u) {
                            stack.push((u, self.pred(u), 0));
                        }
                    }
                    None => {
                        order.push(*v);
                        stack.pop();
                    }
                }
            }
        }
        order
    }

    /// The users of every vertex, as subsequences of [`rpo`](Graph::rpo), without repetition; vertices that no result
    /// depends on have no entry and do not count as users.
    pub fn succ_all(&self) -> rustc_hash::FxHashMap<VertexId, Vec<VertexId>> {
        let order = self.rpo();
        let mut succ: rustc_hash::FxHashMap<VertexId, Vec<VertexId>> = order.iter().map(|&v| (v, Vec::new())).collect();
        for &v in &order {
            for u in self.pred(v) {
                if let Some(users) = succ.get_mut(&u)
                    && users.last() != Some(&v)
                {
                    users.push(v);
                }
            }
        }
        succ
    }

    /// The users of `v`, in reverse post-order, without repetition.
    pub fn succ(&self, v: VertexId) -> Vec<VertexId> {
        self.succ_all().remove(&v).unwrap_or_default()
    }

    /// All vertices with a path to `v`, including `v` itself.
    pub fn reach(&self, v: VertexId) -> FxHashSet<VertexId> {
        self.rpo_from([v]).into_iter().collect()
    }

    /// True if the expression at `u` is a sub-expression of the one at `v`; every expression is a sub-expression of
    /// itself.
    pub fn is_subexpression(&self, u: VertexId, v: VertexId) -> bool {
        let mut seen = FxHashSet::default();
        let mut stack = vec![v];
        while let Some(w) = stack.pop() {
            if w == u {
                return true;
            }
            if seen.insert(w) {
                stack.extend(self.vertices.neighbors_directed(w, Direction::Incoming));
            }
        }
        false
    }
}
