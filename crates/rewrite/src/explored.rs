//! Everything that an engine explored: each term it created, the class of each term, and the unions.
//!
//! A term is a call of earlier terms, as it was when it was created, so that its value does not depend on later unions.
//! All terms of a class should have the same value.

use std::sync::Arc;

use egg::Id;
use rustc_hash::{FxHashMap, FxHashSet};

use super::encode::{Encoded, attrs_of, operands_of};
use super::enode::{ENode, Head};
use super::explain::Step;
use tautomer_graph::{Graph, Node, Vertex, VertexId};
use tautomer_op::{Attrs, Op};
use tautomer_tensor::{Tensor, Type};

/// The computation of a term from its operands.
#[derive(Debug, Clone)]
pub enum Formula {
    /// An input or parameter of the graph.
    Leaf(VertexId),
    /// A constant.
    Const(Tensor),
    /// An omitted operand.
    Absent,
    /// An operator call.
    Call {
        /// The operator.
        op: Op,
        /// Its attributes in declared order.
        attrs: Attrs,
    },
    /// A tuple of values.
    Tuple,
    /// One element of a tuple.
    Proj(u32),
}

/// A term.
#[derive(Debug, Clone)]
pub struct Term {
    /// Its computation.
    pub formula: Formula,
    /// Its operands, which have smaller numbers.
    pub operands: Vec<u32>,
    /// Its class.
    pub class: u32,
    /// The vertex of the original graph that it represents, if any.
    pub vertex: Option<VertexId>,
    /// True if it is the same call of the same classes as an earlier term.
    pub is_copy: bool,
}

/// Terms that an application of a rule made equal.
#[derive(Debug, Clone)]
pub struct Union {
    /// The rule, and where it was applied.
    pub step: Step,
    /// For each output, the matched and the created term.
    pub pairs: Vec<(u32, u32)>,
}

/// All terms of a run.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_graph::{BuildOptions, build_program};
/// # use tautomer_lang::parse_program;
/// use tautomer_rewrite::{Limits, encode, saturate_explained};
///
/// let source = Arc::new(Source::new("example", "fn main(x: f32[8]) { relu(x + 0.0) }"));
/// let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
/// let mut encoded = encode(&graph);
/// let rules = &tautomer_rule::library().unwrap().rules;
/// let saturation = saturate_explained(&mut encoded, rules, Limits::default());
/// let explored = saturation.explored(&graph, &encoded).unwrap();
/// assert!(explored.unions.iter().any(|union| &*union.step.rule == "add-of-zero"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Explored {
    /// The terms; those of the graph come first.
    pub terms: Vec<Term>,
    /// The type of each class.
    pub types: Vec<Type>,
    /// The unions made by rules, in order.
    pub unions: Vec<Union>,
}

impl Explored {
    /// The terms of an e-graph; `unions` are given as identifiers.
    pub(super) fn of_egraph(graph: &Graph, encoded: &Encoded, unions: Vec<(Step, Vec<(Id, Id)>)>) -> Explored {
        let egraph = &encoded.egraph;
        let vertices: FxHashMap<Id, VertexId> = encoded.origins.iter().rev().map(|(v, id, _)| (*id, *v)).collect();
        let mut out = Explored::default();
        let mut numbers: FxHashMap<Id, u32> = FxHashMap::default();
        let mut classes: FxHashMap<Id, u32> = FxHashMap::default();
        let mut seen: FxHashSet<ENode> = FxHashSet::default();
        for (i, enode) in egraph.nodes().iter().enumerate() {
            let id = Id::from(i);
            let formula = match enode.head {
                Head::Attr(_) => continue,
                Head::Input(i) => Formula::Leaf(graph.inputs()[i as usize]),
                Head::Param(i) => Formula::Leaf(graph.params()[i as usize]),
                Head::Const(i) => match egraph.analysis.interner.constant_at(i) {
                    Some(value) => Formula::Const(value.clone()),
                    None => Formula::Absent,
                },
                Head::Absent => Formula::Absent,
                Head::Tuple => Formula::Tuple,
                Head::Proj(i) => Formula::Proj(i),
                Head::Op(i) => Formula::Call {
                    op: egraph.analysis.interner.op_at(i).clone(),
                    attrs: attrs_of(egraph, enode).into(),
                },
            };
            let class = egraph.find(id);
            let class = *classes.entry(class).or_insert_with(|| {
                out.types.push(egraph[class].data.ty.clone());
                out.types.len() as u32 - 1
            });
            let mut now = enode.clone();
            now.children.iter_mut().for_each(|c| *c = egraph.find(*c));
            numbers.insert(id, out.terms.len() as u32);
            out.terms.push(Term {
                formula,
                operands: operands_of(egraph, enode).iter().map(|c| numbers[c]).collect(),
                class,
                vertex: vertices.get(&id).copied(),
                is_copy: !seen.insert(now),
            });
        }
        for (step, pairs) in unions {
            let pairs = pairs.iter().map(|(a, b)| (numbers[a], numbers[b])).collect();
            out.unions.push(Union { step, pairs });
        }
        out
    }
}

/// The terms of a graph rewritten in place.
#[derive(Debug, Default)]
pub(super) struct Trail {
    explored: Explored,
    /// The type of each term.
    types: Vec<Type>,
    /// The term of each current vertex of the graph.
    terms: FxHashMap<VertexId, u32>,
}

impl Trail {
    pub(super) fn new(graph: &Graph) -> Trail {
        let mut trail = Trail::default();
        for v in graph.rpo() {
            trail.add(graph, v);
            trail.explored.terms[trail.terms[&v] as usize].vertex = Some(v);
        }
        trail
    }

    fn add(&mut self, graph: &Graph, v: VertexId) {
        let Vertex { node, ty, .. } = graph.vertex(v);
        let formula = match node {
            Node::Input | Node::Param => Formula::Leaf(v),
            Node::Const(value) => Formula::Const(value.clone()),
            Node::Absent => Formula::Absent,
            Node::Tuple => Formula::Tuple,
            Node::Proj(i) => Formula::Proj(*i),
            Node::Call { op, attrs } => Formula::Call {
                op: op.clone(),
                attrs: attrs.clone(),
            },
        };
        let number = self.explored.terms.len() as u32;
        self.explored.terms.push(Term {
            formula,
            operands: graph.pred(v).iter().map(|u| self.terms[u]).collect(),
            class: number,
            vertex: None,
            is_copy: false,
        });
        self.types.push(ty.clone());
        self.terms.insert(v, number);
    }

    /// Adds the vertices created by a substitution, operands before users, and which vertex replaced which.
    pub(super) fn push(&mut self, graph: &Graph, created: &[VertexId], places: &[(VertexId, VertexId)], step: &Step) {
        for &v in created {
            self.add(graph, v);
        }
        let pairs = places.iter().map(|(a, b)| (self.terms[a], self.terms[b])).collect();
        self.explored.unions.push(Union {
            step: step.clone(),
            pairs,
        });
    }

    /// All terms, with classes.
    pub(super) fn finish(self) -> Explored {
        let mut out = self.explored;
        let mut parents: Vec<u32> = (0..out.terms.len() as u32).collect();
        fn find(parents: &mut [u32], mut i: u32) -> u32 {
            while parents[i as usize] != i {
                parents[i as usize] = parents[parents[i as usize] as usize];
                i = parents[i as usize];
            }
            i
        }
        for (a, b) in out.unions.iter().flat_map(|union| &union.pairs) {
            let (a, b) = (find(&mut parents, *a), find(&mut parents, *b));
            parents[a.max(b) as usize] = a.min(b);
        }
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        for i in 0..out.terms.len() {
            let root = find(&mut parents, i as u32);
            out.terms[i].class = *numbers.entry(root).or_insert_with(|| {
                out.types.push(self.types[i].clone());
                out.types.len() as u32 - 1
            });
        }
        out
    }
}

impl Explored {
    /// A name for a term of the graph.
    pub fn name(&self, graph: &Graph, term: u32) -> Option<Arc<str>> {
        let v = self.terms[term as usize].vertex?;
        graph.vertex(v).name.clone()
    }
}
