//! Finds the application of a rule that gave a class two values, and prints it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::pass::{Budget, LeafOf, NoValue, Point, arbitrary, compute, has_no_definition};
use super::value::{ComparedSystem, Comparison, Computed, allowed_difference};
use crate::compare::element::ElementMismatch;
use tautomer_graph::{Graph, VertexId, to_program};
use tautomer_lang::format_program;
use tautomer_op::Field;
use tautomer_rewrite::{Explored, Formula};

/// The values of terms computed separately, regardless of unions.
struct TermValues<'a, S> {
    point: &'a Point<'a>,
    leaf: LeafOf<'a, S>,
    values: FxHashMap<u32, Result<Computed<S>, NoValue>>,
    budget: Budget,
}

impl<'a, S: ComparedSystem> TermValues<'a, S> {
    fn new(point: &'a Point<'a>, leaf: LeafOf<'a, S>) -> TermValues<'a, S> {
        TermValues {
            point,
            leaf,
            values: FxHashMap::default(),
            budget: Budget::new(point.limits),
        }
    }

    fn of(&mut self, term: u32) -> Result<&Computed<S>, NoValue> {
        let mut stack = vec![term];
        while let Some(&t) = stack.last() {
            if self.values.contains_key(&t) {
                stack.pop();
                continue;
            }
            let it = &self.point.space.terms[t as usize];
            let before = stack.len();
            stack.extend(it.operands.iter().filter(|o| !self.values.contains_key(o)));
            if stack.len() > before {
                continue;
            }
            stack.pop();
            let operands: Result<Vec<&Computed<S>>, NoValue> = it
                .operands
                .iter()
                .map(|o| self.values[o].as_ref().map_err(|l| *l))
                .collect();
            let room = self.point.limits.elements;
            let value = operands.and_then(|operands| {
                compute(self.point, it, &operands, self.leaf, &mut self.budget, room).or_else(|reason| {
                    let is_arbitrary = reason == NoValue::Undefined && has_no_definition(&it.formula);
                    if is_arbitrary {
                        arbitrary(self.point, it)
                    } else {
                        Err(reason)
                    }
                })
            });
            self.values.insert(t, value);
        }
        self.values[&term].as_ref().map_err(|reason| *reason)
    }

    /// Compares the values of two terms.
    fn compare(&mut self, a: u32, b: u32) -> Comparison {
        if self.of(a).is_err() || self.of(b).is_err() {
            return Comparison::Unknown;
        }
        let space = self.point.space;
        let (Ok(x), Ok(y)) = (&self.values[&a], &self.values[&b]) else {
            return Comparison::Unknown;
        };
        let ty = &space.types[space.terms[a as usize].class as usize];
        let rounded = [a, b]
            .iter()
            .any(|t| matches!(space.terms[*t as usize].formula, Formula::Const(_)));
        S::compare(
            x,
            y,
            ty,
            allowed_difference(self.point.class, ty, rounded || x.single || y.single),
        )
    }
}

/// Two terms of one class that differ.
pub(super) struct WrongPair {
    pub(super) terms: (u32, u32),
    pub(super) mismatch: ElementMismatch,
}

/// The number of the first union in `classes` that joins two terms of different value, and these terms.
pub(super) fn first_wrong_union(
    point: &Point<'_>,
    classes: &FxHashSet<u32>,
    real: LeafOf<'_, f64>,
    field: LeafOf<'_, Field>,
) -> Option<(usize, WrongPair)> {
    let space = point.space;
    let mut reals = TermValues::<f64>::new(point, real);
    let mut fields = TermValues::<Field>::new(point, field);
    for (i, union) in space.unions.iter().enumerate() {
        for &(a, b) in &union.pairs {
            if classes.contains(&space.terms[a as usize].class)
                && let Comparison::Mismatch(mismatch) = reals.compare(a, b)
                && fields.compare(a, b) != Comparison::Equal
            {
                let terms = (a, b);
                return Some((i, WrongPair { terms, mismatch }));
            }
        }
    }
    None
}

/// The terms that `term` depends on, including itself.
fn below(space: &Explored, term: u32) -> FxHashSet<u32> {
    let mut seen: FxHashSet<u32> = FxHashSet::default();
    let mut stack = vec![term];
    while let Some(t) = stack.pop() {
        if seen.insert(t) {
            stack.extend(&space.terms[t as usize].operands);
        }
    }
    seen
}

/// Two terms as programs; shared parts, and parts far below the root, become inputs.
pub(super) fn programs(graph: &Graph, space: &Explored, pair: (u32, u32)) -> [String; 2] {
    let (left, right) = (below(space, pair.0), below(space, pair.1));
    let common: FxHashSet<u32> = left.intersection(&right).copied().collect();
    let mut names: FxHashMap<u32, String> = FxHashMap::default();
    [pair.0, pair.1].map(|term| program(graph, space, term, &common, &mut names))
}

/// The number of levels of a term that are shown.
const LEVELS: usize = 6;

fn program(
    graph: &Graph,
    space: &Explored,
    root: u32,
    common: &FxHashSet<u32>,
    names: &mut FxHashMap<u32, String>,
) -> String {
    let mut depths: FxHashMap<u32, usize> = FxHashMap::default();
    depths.insert(root, 0);
    // Users have greater numbers, so the depth of a term is known before its operands are visited.
    let mut order: Vec<u32> = below(space, root).into_iter().collect();
    order.sort_unstable();
    let is_cut = |t: u32, depth: usize| {
        let formula = &space.terms[t as usize].formula;
        let shown_whole = matches!(formula, Formula::Const(_) | Formula::Absent);
        !shown_whole && (matches!(formula, Formula::Leaf(_)) || common.contains(&t) || depth >= LEVELS)
    };
    for &t in order.iter().rev() {
        let Some(&depth) = depths.get(&t) else { continue };
        if !is_cut(t, depth) {
            for &o in &space.terms[t as usize].operands {
                let least = depths.entry(o).or_insert(depth + 1);
                *least = (*least).min(depth + 1);
            }
        }
    }
    let mut out = Graph::new();
    let mut made: FxHashMap<u32, VertexId> = FxHashMap::default();
    for &t in &order {
        let Some(&depth) = depths.get(&t) else { continue };
        let term = &space.terms[t as usize];
        let ty = &space.types[term.class as usize];
        let operands: Option<Vec<VertexId>> = term.operands.iter().map(|o| made.get(o).copied()).collect();
        let v = match (&term.formula, operands) {
            _ if is_cut(t, depth) => {
                let next = names.len() + 1;
                let name = names.entry(t).or_insert_with(|| match space.name(graph, t) {
                    Some(name) => name.to_string(),
                    None => format!("v{next}"),
                });
                out.input(name, ty.clone())
            }
            (Formula::Const(value), _) => out.constant(value.clone()),
            (Formula::Tuple, Some(operands)) => out.tuple(&operands),
            (Formula::Proj(i), Some(operands)) => match out.project(operands[0], *i as usize) {
                Ok(v) => v,
                Err(_) => out.absent(),
            },
            (Formula::Call { op, attrs }, Some(operands)) => {
                out.call_typed(op.clone(), &operands, attrs.clone(), ty.clone())
            }
            _ => out.absent(),
        };
        made.insert(t, v);
    }
    if let Some(&v) = made.get(&root) {
        out.output(v, None);
    }
    // Drop leaves that became unnecessary because a shorter path was found.
    format_program(&to_program(&out.compacted()))
}
