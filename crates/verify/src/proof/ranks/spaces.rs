//! The axes of all values of both sides, and which of them are the same axis.
//!
//! An axis that no operator looks at can be removed from all values at once: the rest is an instance of the rule, and
//! each of its elements is an element of the larger one.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::text::{Looked, Text};
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::{AttrValue, AxesRule, Formula, Made, Op, OpDef, ShapeRule};
use tautomer_tensor::Type;

/// An axis, as an index into the table of axes.
type Axis = usize;

/// The axes of the values of a graph with both sides.
#[derive(Default)]
struct Spaces {
    /// For each axis, another one that is the same, or itself.
    same: Vec<Axis>,
    /// Axes that an operator or a condition looks at, which stay.
    kept: Vec<Axis>,
    /// Axes in lists of axes.
    listed: Vec<Axis>,
    /// The axes of each value, from the first to the last.
    of: FxHashMap<VertexId, Vec<Axis>>,
    /// The values whose axes the attributes of operators number.
    numbered: Vec<Vec<Axis>>,
    /// The numbers of axes that are counted from the ranks of variables.
    from_ranks: Vec<usize>,
    /// Values with axes that may have these numbers.
    counted: Vec<Vec<Axis>>,
}

/// The largest rank of a value after removing all axes that can be removed; `None` if that is not known.
///
/// `leaves` has the leaves of the source, with the variables that match them.
pub(super) fn least_ranks(
    graph: &Graph,
    (source, target): (&[VertexId], &[VertexId]),
    leaves: &[(VertexId, Vec<Arc<str>>)],
    text: &Text,
) -> Option<usize> {
    let mut spaces = Spaces::default();
    for (name, less) in &text.counted {
        let own = leaves.iter().filter(|(_, names)| names.contains(name));
        let rank = |v: &VertexId| Some(graph.ty(*v).as_tensor()?.shape.as_ref()?.len());
        for (v, _) in own {
            // A negative number is counted from the other end.
            spaces.from_ranks.push(rank(v)?.checked_sub(*less)?);
        }
    }
    for v in graph.rpo_from(source.iter().chain(target).copied()) {
        spaces.enter(graph, v, leaves, text)?;
    }
    for (a, b) in source.iter().zip(target) {
        let (a, b) = (spaces.of.get(a)?.clone(), spaces.of.get(b)?.clone());
        if a.len() != b.len() {
            return None;
        }
        spaces.join_at_end(&a, &b);
    }
    spaces.read(leaves, text)?;
    spaces.bound(leaves, text)
}

impl Spaces {
    fn fresh(&mut self, n: usize) -> Vec<Axis> {
        let first = self.same.len();
        self.same.extend(first..first + n);
        (first..first + n).collect()
    }

    fn find(&self, mut axis: Axis) -> Axis {
        while self.same[axis] != axis {
            axis = self.same[axis];
        }
        axis
    }

    fn join(&mut self, a: Axis, b: Axis) {
        let (a, b) = (self.find(a), self.find(b));
        self.same[a.max(b)] = a.min(b);
    }

    /// The axes of two values that are broadcast to each other are the same, counted from the last one.
    fn join_at_end(&mut self, a: &[Axis], b: &[Axis]) {
        for (x, y) in a.iter().rev().zip(b.iter().rev()) {
            self.join(*x, *y);
        }
    }

    fn resolved(&self, space: &[Axis]) -> Vec<Axis> {
        space.iter().map(|&axis| self.find(axis)).collect()
    }

    /// Adds the axes of a value.
    fn enter(&mut self, graph: &Graph, v: VertexId, leaves: &[(VertexId, Vec<Arc<str>>)], text: &Text) -> Option<()> {
        let rank = || graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref()).map(|s| s.len());
        let operands: Vec<VertexId> = graph.pred(v).into_iter().collect();
        let space = match &graph.vertex(v).node {
            Node::Input | Node::Param => self.fresh(rank()?),
            Node::Const(_) => {
                let own = self.fresh(rank()?);
                if !leaves.iter().any(|(leaf, _)| *leaf == v) {
                    self.kept.extend(&own);
                }
                own
            }
            Node::Absent | Node::Tuple => return Some(()),
            // The axes of the results of an operator with several: those of its operand if it cuts that into pieces.
            Node::Proj(_) => {
                let whole = operands.first()?;
                match self.of.get(whole) {
                    Some(space) if space.len() == rank()? => space.clone(),
                    _ => {
                        let own = self.fresh(rank()?);
                        self.kept.extend(&own);
                        own
                    }
                }
            }
            Node::Call { op, attrs } => {
                let Op::Known(def) = op else { return None };
                let operands: Vec<Vec<Axis>> = operands
                    .iter()
                    .filter(|u| !matches!(graph.vertex(**u).node, Node::Absent))
                    .map(|u| self.of.get(u).cloned())
                    .collect::<Option<_>>()?;
                match rank() {
                    Some(rank) => self.call(def, attrs, &operands, rank, text)?,
                    None if def.axes_rule() == AxesRule::Along && matches!(graph.ty(v), Type::Tuple(_)) => {
                        let [x, ..] = operands.as_slice() else { return None };
                        self.along(def, attrs, x, text)?;
                        x.clone()
                    }
                    None => {
                        operands.iter().for_each(|space| self.kept.extend(space));
                        return Some(());
                    }
                }
            }
        };
        self.of.insert(v, space);
        Some(())
    }

    /// The axes of the result of a call.
    fn call(
        &mut self,
        def: &'static OpDef,
        attrs: &[AttrValue],
        operands: &[Vec<Axis>],
        rank: usize,
        text: &Text,
    ) -> Option<Vec<Axis>> {
        let rule = def.axes_rule();
        if rule == AxesRule::Broadcast || matches!(def.law(), Formula::Made(Made::Filled { like: true, .. })) {
            let out = self.fresh(rank);
            operands.iter().for_each(|space| self.join_at_end(space, &out));
            return Some(out);
        }
        let list = |name: &str| -> Option<Vec<usize>> {
            match attrs.get(def.attr_index(name)?)? {
                AttrValue::Ints(list) => list.iter().map(|d| usize::try_from(d.as_const()?).ok()).collect(),
                _ => None,
            }
        };
        match (rule, operands) {
            (AxesRule::Matrices, [a, b]) => return Some(self.product(a, b, rank)),
            // The first two axes are those of samples and channels; along the others, elements are alone.
            (AxesRule::Channels, [x, channels @ ..]) if rank >= 2 && x.len() == rank => {
                self.kept.extend(&x[..2]);
                for space in channels {
                    let [channel] = space.as_slice() else { return None };
                    self.join(*channel, x[1]);
                }
                return Some(x.clone());
            }
            (AxesRule::Rows, [x, w, rest @ ..]) if x.len() == rank && w.len() == 2 => {
                self.kept.push(*x.last()?);
                self.kept.extend(w);
                self.join(*x.last()?, w[1]);
                rest.iter().for_each(|space| self.kept.extend(space));
                if rest.iter().any(|space| space.len() > 1) {
                    return None;
                }
                let mut out = x.clone();
                *out.last_mut()? = w[0];
                return Some(out);
            }
            (AxesRule::Along, all) => {
                let first = all.first()?.clone();
                for space in all {
                    if space.len() != rank {
                        return None;
                    }
                    self.join_at_end(&first, space);
                }
                self.along(def, attrs, &first, text)?;
                return Some(first);
            }
            (AxesRule::ReducedAlong, [x]) => {
                let axis = self.along(def, attrs, x, text)?;
                if rank == x.len() {
                    return Some(x.clone());
                }
                return Some((0..x.len()).filter(|i| *i != axis).map(|i| x[i]).collect());
            }
            (AxesRule::Reduced, [x]) => {
                let axes = match list("axes") {
                    Some(list) => list,
                    None => (0..x.len()).collect(),
                };
                self.listed(x, &axes, text)?;
                if rank == x.len() {
                    return Some(x.clone());
                }
                let left = (0..x.len()).filter(|i| !axes.contains(i)).map(|i| x[i]).collect();
                return Some(left);
            }
            (AxesRule::Removed, [x]) => {
                if let Some(axes) = list("axes") {
                    self.listed(x, &axes, text)?;
                    return Some((0..x.len()).filter(|i| !axes.contains(i)).map(|i| x[i]).collect());
                }
            }
            (AxesRule::Inserted, [x]) => {
                let axes = list("axes")?;
                // Axes that come back at the places where they were.
                let known = self.numbered.iter().find(|space| {
                    let left = (0..space.len())
                        .filter(|i| !axes.contains(i))
                        .map(|i| self.find(space[i]));
                    space.len() == rank && left.eq(x.iter().map(|&axis| self.find(axis)))
                });
                let out = match known {
                    Some(space) => space.clone(),
                    None => {
                        let mut left = x.iter();
                        let mut out = self.fresh(rank);
                        for (i, axis) in out.iter_mut().enumerate() {
                            if !axes.contains(&i) {
                                *axis = *left.next()?;
                            }
                        }
                        out
                    }
                };
                self.listed(&out, &axes, text)?;
                return Some(out);
            }
            (AxesRule::Permuted, [x]) if !text.orders.is_empty() && !text.has_numbers() => {
                let perm = list("perm").unwrap_or_else(|| (0..x.len()).rev().collect());
                self.numbered.push(x.clone());
                return perm.into_iter().map(|i| x.get(i).copied()).collect();
            }
            // One element, whatever axes of dimension 1 it has.
            (_, [_]) if rank == 0 && def.shapes == ShapeRule::Reshape => return Some(Vec::new()),
            _ => {}
        }
        // Nothing is known about the operator: all of its axes stay.
        operands.iter().for_each(|space| self.kept.extend(space));
        let out = self.fresh(rank);
        self.kept.extend(&out);
        if def.has_axes() {
            self.numbered.extend(operands.first().cloned());
            self.numbered.push(out.clone());
        }
        self.counted.extend(operands.iter().cloned());
        self.counted.push(out.clone());
        Some(out)
    }

    /// A product of matrices: leading axes are broadcast, the last two stay.
    fn product(&mut self, a: &[Axis], b: &[Axis], rank: usize) -> Vec<Axis> {
        for space in [a, b] {
            self.kept.extend(&space[space.len().saturating_sub(2)..]);
        }
        let lead = |space: &[Axis]| space[..space.len().saturating_sub(2)].to_vec();
        let own = usize::from(a.len() > 1) + usize::from(b.len() > 1);
        let mut out = self.fresh(rank.saturating_sub(own));
        self.join_at_end(&lead(a), &out);
        self.join_at_end(&lead(b), &out);
        if let [.., row, _] = a {
            out.push(*row);
        }
        if let [.., _, column] = b {
            out.push(*column);
        }
        out
    }

    /// An operator along one axis: the axis stays, and so do those between it and the end from which it is counted.
    /// Returns its number.
    fn along(&mut self, def: &OpDef, attrs: &[AttrValue], space: &[Axis], text: &Text) -> Option<usize> {
        let axis = match attrs.get(def.attr_index("axis")?)? {
            AttrValue::Int(d) => usize::try_from(d.as_const()?).ok()?,
            _ => return None,
        };
        self.kept.push(*space.get(axis)?);
        self.written(space, &[axis], text);
        if !text.single.is_empty() || !text.lists.is_empty() {
            self.numbered.push(space.to_vec());
        }
        Some(axis)
    }

    /// An operator with a list of axes.
    fn listed(&mut self, space: &[Axis], axes: &[usize], text: &Text) -> Option<()> {
        for &axis in axes {
            self.listed.push(*space.get(axis)?);
        }
        self.written(space, axes, text);
        self.numbered.push(space.to_vec());
        Some(())
    }

    /// Axes that the rule may write as numbers, counted from the first or from the last one.
    fn written(&mut self, space: &[Axis], axes: &[usize], text: &Text) {
        let from_ranks = self.from_ranks.clone();
        if axes.iter().any(|axis| from_ranks.contains(axis)) {
            self.counted.push(space.to_vec());
        }
        let (front, end) = (&text.from_front, &text.from_end);
        if let Some(last) = axes.iter().filter(|axis| front.may_be(**axis)).max() {
            self.kept.extend(&space[..=*last]);
        }
        let is_at_end = |axis: &&usize| end.may_be(space.len() - **axis) || from_ranks.contains(*axis);
        if let Some(first) = axes.iter().filter(is_at_end).min() {
            self.kept.extend(&space[*first..]);
        }
    }

    /// Adds the facts that conditions and attributes of the rule state about the axes of its variables.
    fn read(&mut self, leaves: &[(VertexId, Vec<Arc<str>>)], text: &Text) -> Option<()> {
        let of = |name: &Arc<str>| -> Vec<VertexId> {
            let own = leaves.iter().filter(|(_, names)| names.contains(name));
            own.map(|(v, _)| *v).collect()
        };
        let names = text.looked.iter().map(|(name, _)| name);
        let names = names.chain(text.tied.iter().flat_map(|(a, b)| [a, b]));
        if names.into_iter().any(|name| of(name).is_empty()) {
            return None;
        }
        for (name, looked) in &text.looked {
            for v in of(name) {
                let space = self.of.get(&v)?.clone();
                let n = space.len();
                match *looked {
                    Looked::First(k) => self.kept.extend(&space[..k.min(n)]),
                    Looked::Last(k) => self.kept.extend(&space[n.saturating_sub(k)..]),
                    Looked::All => self.kept.extend(&space),
                    // The operator with the attribute keeps the axis; both have to number the same axes.
                    Looked::Numbered => self.numbered.push(space),
                }
            }
        }
        for (a, b) in &text.tied {
            for (v, u) in of(a).into_iter().flat_map(|v| of(b).into_iter().map(move |u| (v, u))) {
                let (a, b) = (self.of.get(&v)?.clone(), self.of.get(&u)?.clone());
                self.join_at_end(&a, &b);
            }
        }
        Some(())
    }

    fn bound(&self, leaves: &[(VertexId, Vec<Arc<str>>)], text: &Text) -> Option<usize> {
        let mut kept: BTreeSet<Axis> = self.kept.iter().map(|&axis| self.find(axis)).collect();
        // An axis that a value has twice is not one that can be taken away.
        let mut spaces: Vec<Vec<Axis>> = self.of.values().map(|space| self.resolved(space)).collect();
        spaces.sort();
        for space in &spaces {
            for (i, axis) in space.iter().enumerate() {
                if space[..i].contains(axis) {
                    kept.insert(*axis);
                }
            }
        }
        let names = text.lists.len() + text.single.len() + text.orders.len();
        let mut numbered: Vec<Vec<Axis>> = self.numbered.iter().map(|space| self.resolved(space)).collect();
        numbered.sort();
        numbered.dedup();
        // A name of axes has to mean the same axes wherever it stands, so that all renumber them alike.
        let everything = text.everything || names > 0 && numbered.len() > 1 && !text.is_natural();
        // An axis that is counted from a rank stays the same if that variable and the value lose the same axes.
        let lost = |space: &[Axis]| -> BTreeSet<Axis> {
            let all = self.resolved(space).into_iter();
            all.filter(|axis| !kept.contains(axis)).collect()
        };
        let of_variable = |name: &Arc<str>| {
            let own: Vec<_> = leaves.iter().filter(|(_, names)| names.contains(name)).collect();
            match own.as_slice() {
                [(v, _)] => self.of.get(v).map(|space| lost(space)),
                _ => None,
            }
        };
        let is_steady =
            |name: &Arc<str>| of_variable(name).is_some_and(|own| self.counted.iter().all(|space| lost(space) == own));
        let everything = everything || !text.counted.iter().all(|(name, _)| is_steady(name));
        // Two axes in the same lists become one, which takes values that have either both or none of them.
        let wide = leaves
            .iter()
            .filter(|(v, _)| self.of.get(v).is_some_and(|space| !space.is_empty()));
        if wide.count() > 1 && !text.lists.is_empty() {
            return None;
        }
        let kinds = text.kinds().unwrap_or(usize::MAX);
        let listed: BTreeSet<Axis> = self.listed.iter().map(|&axis| self.find(axis)).collect();
        let mut most = 0;
        for space in &spaces {
            let stay = space.iter().filter(|axis| kept.contains(axis)).count();
            let in_lists = space
                .iter()
                .filter(|axis| !kept.contains(axis) && listed.contains(axis))
                .count();
            most = most.max(if everything {
                space.len()
            } else {
                stay + in_lists.min(kinds)
            });
        }
        Some(most)
    }
}
