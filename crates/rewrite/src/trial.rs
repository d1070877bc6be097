//! Trials of a rule: both sides of a match, next to each other in one graph.

use std::sync::Arc;

use super::apply::{build_target, same_type};
use super::matching::{Program, Searcher, is_input, resolve, satisfied};
use super::substitute::Index;
use tautomer_diag::Diagnostics;
use tautomer_graph::{Graph, VertexId};
use tautomer_lang::ast::ExprId;
use tautomer_rule::{PatternId, Rule};

/// A rule prepared for matching.
pub struct Trial {
    program: Program,
    watched: Vec<ExprId>,
}

/// A match and its target, in a graph with all vertices of both.
pub struct Sides {
    /// The graph.
    pub graph: Graph,
    /// The outputs of the match.
    pub source: Vec<VertexId>,
    /// The values matched by variables, literals and wildcards of the source.
    pub inputs: Vec<VertexId>,
    /// The values matched by vertices of the pattern.
    pub bound: Vec<(PatternId, VertexId)>,
    /// The outputs of the target, or why it cannot be built.
    pub target: Result<Vec<VertexId>, Diagnostics>,
    /// The values of the watched expressions: numbers, 1 for true, 0 for false; `None` for those that are not numbers
    /// or depend on more than the match.
    pub watched: Vec<Option<f64>>,
}

impl Sides {
    /// True if each output of the target has the type of the output that it replaces.
    pub fn types_agree(&self) -> bool {
        self.target.as_ref().is_ok_and(|target| {
            let pairs = self.source.iter().zip(target);
            pairs
                .into_iter()
                .all(|(a, b)| same_type(self.graph.ty(*a), self.graph.ty(*b)))
        })
    }
}

impl Trial {
    /// A trial of `rule`.
    pub fn new(rule: Arc<Rule>) -> Trial {
        Trial {
            program: Program::new(rule),
            watched: Vec::new(),
        }
    }

    /// The rule that is tried.
    pub fn rule(&self) -> &Rule {
        &self.program.rule
    }

    /// The same trial, but it also evaluates these expressions of the rule at each match.
    pub fn watching(self, watched: Vec<ExprId>) -> Trial {
        Trial { watched, ..self }
    }

    /// Which conditions hold at the first match at `at` for which the first `taken` conditions hold.
    pub fn conditions(&self, graph: Graph, at: &[VertexId], taken: usize) -> Option<Vec<bool>> {
        let index = Index::new(graph);
        let program = &self.program;
        let mut found = None;
        Searcher::new(program, &index)?.all(&mut |binding| {
            if binding.outputs == at
                && let Ok(matched) = resolve(&index, program, &binding)
            {
                let all = matched.holding(&index, program);
                found = all.iter().take(taken).all(|holds| *holds).then_some(all);
            }
            found.is_none()
        });
        found
    }

    /// The first match in `graph`, at the outputs `at` if given; conditions are checked as in the engines.
    pub fn sides(&self, graph: Graph, at: Option<&[VertexId]>) -> Option<Sides> {
        sides(&self.program, graph, at, &self.watched, 0)
    }

    /// The first `most` matches in `graph` at the outputs `at`. One place may match in several ways, by alternatives or
    /// by the numbers of members, and engines apply all of them.
    pub fn all_sides(&self, graph: &Graph, at: &[VertexId], most: usize) -> Vec<Sides> {
        let nth = |n| sides(&self.program, graph.clone(), Some(at), &self.watched, n);
        (0..most).map_while(nth).collect()
    }
}

/// Same as [`Trial::sides`], for the match after so many others.
pub(super) fn sides(
    program: &Program,
    graph: Graph,
    at: Option<&[VertexId]>,
    watched: &[ExprId],
    mut skipped: usize,
) -> Option<Sides> {
    let index = Index::new(graph);
    let mut found = None;
    Searcher::new(program, &index)?.all(&mut |binding| {
        if at.is_none_or(|at| binding.outputs == at)
            && let Some(matched) = satisfied(&index, program, &binding)
        {
            match skipped {
                0 => found = Some((binding, matched)),
                _ => skipped -= 1,
            }
        }
        found.is_none()
    });
    let (binding, matched) = found?;
    let watched = watched.iter().map(|&e| matched.number(&index, program, e)).collect();
    let source = &program.rule.source;
    let bound: Vec<(PatternId, VertexId)> = binding.vertices().collect();
    let inputs = bound.iter().filter(|(at, _)| is_input(source.node(*at)));
    let inputs = inputs.map(|(_, v)| *v).collect();
    let mut graph = index.into_whole();
    let target = build_target(&program.rule, &matched, &mut graph);
    Some(Sides {
        graph,
        source: matched.outputs,
        inputs,
        bound,
        target,
        watched,
    })
}
