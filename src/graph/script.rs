//! Scripts: one statement after the other, each checked before anything runs.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::build::Builder;
use super::build::script::{FUNCTIONS, ScriptState};
use super::term::Term;
use super::{Graph, Node, VertexId, Workload};
use crate::diag::{Diagnostic, Diagnostics, Source, Span};
use crate::lang::ast::ExprKind;
use crate::lang::{Compat, Script, Statement};
use crate::tensor::{Tensor, Type};

/// Constants of more elements than this are parameters of the programs that a session hands out.
const INLINE: usize = 64;

/// The names of a script, and the graph of what they stand for.
///
/// ```
/// use std::sync::Arc;
/// use tautomer::{diag::Source, graph::Session, lang::{Compat, parse_script}};
///
/// let source = Arc::new(Source::new("s.taut", "x = [[1, 2], [3, 4]]\ny = dot(x, [5, 6])"));
/// let script = parse_script(source, Compat::Off).unwrap();
/// let mut session = Session::new(Compat::Off, 0);
/// session.add_all(&script).unwrap();
/// assert_eq!(session.graph().ty(session.get("y").unwrap()).to_string(), "i32[2]");
/// ```
#[derive(Debug, Clone)]
pub struct Session {
    graph: Graph,
    /// Nothing for a name whose value had a problem.
    names: IndexMap<Arc<str>, Option<VertexId>>,
    known: FxHashMap<VertexId, Tensor>,
    compat: Compat,
    random: u64,
    made: Vec<VertexId>,
}

/// What a statement does.
#[derive(Debug, Clone)]
pub struct Step {
    /// The name that it gives its value.
    pub name: Option<Arc<str>>,
    /// Its values; several of a call of `print`.
    pub values: Vec<Shown>,
    /// Where it stands.
    pub span: Span,
}

/// What is shown of a value.
#[derive(Debug, Clone)]
pub enum Shown {
    /// A tensor.
    Value(VertexId),
    /// A text: an element type, or a text as it is written.
    Text(String),
}

impl Session {
    /// A session without names. `seed` is where random numbers begin.
    pub fn new(compat: Compat, seed: u64) -> Session {
        Session {
            graph: Graph::new(),
            names: IndexMap::new(),
            known: FxHashMap::default(),
            compat,
            random: seed,
            made: Vec::new(),
        }
    }

    /// The functions that scripts have besides the operators.
    pub fn functions() -> &'static [&'static str] {
        FUNCTIONS
    }

    /// The graph of all values.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// How statements are spelled.
    pub fn compat(&self) -> Compat {
        self.compat
    }

    /// The value that a name stands for.
    pub fn get(&self, name: &str) -> Option<VertexId> {
        self.names.get(name).copied().flatten()
    }

    /// The names, oldest first.
    pub fn names(&self) -> impl Iterator<Item = (&str, VertexId)> {
        self.names.iter().filter_map(|(name, v)| Some((&**name, (*v)?)))
    }

    /// Checks and adds all statements of a script.
    ///
    /// # Errors
    /// All problems of all statements; a name whose value has one causes no more of them.
    pub fn add_all(&mut self, script: &Script) -> Result<Vec<Step>, Diagnostics> {
        self.compat = script.compat;
        let (mut steps, mut problems) = (Vec::new(), Diagnostics::new());
        for statement in &script.statements {
            match self.add(statement, &script.source) {
                Ok(step) => steps.push(step),
                Err(found) => {
                    if let Some(name) = &statement.name {
                        self.names.insert(name.name.clone(), None);
                    }
                    problems.extend(found);
                }
            }
        }
        problems.into_result(steps)
    }

    /// Checks and adds one statement.
    ///
    /// # Errors
    /// All its problems; the session is as before.
    pub fn add(&mut self, statement: &Statement, source: &Arc<Source>) -> Result<Step, Diagnostics> {
        let ast = &statement.ast;
        let (ids, prints) = match ast.kind(statement.value) {
            ExprKind::Call {
                callee,
                args,
                attrs: None,
                quoted: false,
            } if callee.as_str() == "print" => (args.clone(), true),
            _ => (vec![statement.value], false),
        };
        if let (true, Some(name)) = (prints, &statement.name) {
            let problem = Diagnostic::error("T0204", "`print` has no value").label(name.span, "nothing to name");
            return Err(problem.in_source(source).into());
        }
        let mut builder = Builder::new(ast, &mut self.graph);
        builder.script = Some(ScriptState {
            compat: self.compat,
            random: self.random,
            made: self.made.clone(),
        });
        for (name, v) in &self.names {
            builder.bind(name, v.map(Term::Value));
        }
        let mut values = Vec::new();
        for &id in &ids {
            let span = ast.span(id);
            match builder.value(id) {
                Some(Term::DType(dtype)) => values.push(Shown::Text(dtype.to_string())),
                Some(Term::Str(text)) => values.push(Shown::Text(text.to_string())),
                Some(term) => values.extend(builder.vertex(term, span).map(Shown::Value)),
                None if builder.problems.is_empty() => return Err(Diagnostics::new()),
                None => {}
            }
        }
        let problems = std::mem::take(&mut builder.problems);
        if let Some(script) = builder.script.take() {
            (self.random, self.made) = (script.random, script.made);
        }
        problems.in_source(source).into_result(())?;
        let name = statement.name.as_ref().map(|n| n.name.clone());
        if name.is_none() {
            let shown = std::mem::take(&mut values);
            for one in shown {
                match one {
                    Shown::Value(v) => values.extend(self.tensors(v).into_iter().map(Shown::Value)),
                    text @ Shown::Text(_) => values.push(text),
                }
            }
        }
        if let Some(name) = &name {
            match values.first() {
                Some(Shown::Value(v)) => {
                    self.names.shift_remove(name);
                    self.names.insert(name.clone(), Some(*v));
                }
                // A problem of a name that it is made of, which has been reported.
                None => return Err(Diagnostics::new()),
                _ => {
                    let problem = Diagnostic::error("T0204", format!("`{name}` would stand for no tensor"));
                    return Err(problem.label(statement.span, "").in_source(source).into());
                }
            }
        }
        Ok(Step {
            name,
            values,
            span: statement.span,
        })
    }

    /// The values that a tuple consists of, in order, and those of tuples in it; of another value itself.
    pub fn tensors(&mut self, v: VertexId) -> Vec<VertexId> {
        let Type::Tuple(items) = self.graph.ty(v) else {
            return vec![v];
        };
        let parts: Vec<VertexId> = match self.graph.vertex(v).node {
            Node::Tuple => self.graph.pred(v).to_vec(),
            _ => (0..items.len()).filter_map(|i| self.graph.project(v, i).ok()).collect(),
        };
        parts.into_iter().flat_map(|part| self.tensors(part)).collect()
    }

    /// Notes what a value has been found to be; it is not computed again.
    pub fn remember(&mut self, v: VertexId, value: Tensor) {
        self.known.insert(v, value);
    }

    /// What a value has been found to be.
    pub fn value(&self, v: VertexId) -> Option<&Tensor> {
        self.known.get(&v).or_else(|| self.graph.vertex(v).constant())
    }

    /// A program that computes these values: of nothing, or, with `cut`, of those that have been computed before.
    pub fn program(&self, roots: &[(VertexId, Option<&str>)], cut: bool) -> Workload {
        let mut out = Workload::default();
        let mut places: FxHashMap<VertexId, VertexId> = FxHashMap::default();
        let known = |v: VertexId| self.known.get(&v).filter(|_| cut);
        let mut reached = Vec::new();
        let mut stack: Vec<VertexId> = roots.iter().map(|(v, _)| *v).collect();
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(v) = stack.pop() {
            if seen.insert(v) {
                reached.push(v);
                if known(v).is_none() {
                    stack.extend(self.graph.pred(v));
                }
            }
        }
        // Vertices are numbered in the order in which they were made, operands first.
        reached.sort_unstable();
        for v in reached {
            let vertex = self.graph.vertex(v);
            let large = vertex.constant().filter(|t| t.len() > INLINE);
            let place = match known(v).or(large) {
                Some(tensor) => {
                    let name: Arc<str> = match self.names().find(|(_, u)| *u == v) {
                        Some((name, _)) => name.into(),
                        None => format!("value{}", v.index()).into(),
                    };
                    out.params.insert(name.clone(), tensor.clone());
                    out.graph.param(&name, Type::from(tensor.ty()))
                }
                None => {
                    let operands: Vec<VertexId> = self.graph.pred(v).iter().map(|u| places[u]).collect();
                    let mut vertex = vertex.clone();
                    if !matches!(vertex.node, Node::Input | Node::Param) {
                        vertex.name = None;
                    }
                    out.graph.push(vertex, &operands)
                }
            };
            places.insert(v, place);
        }
        for (v, name) in roots {
            out.graph.output(places[v], *name);
        }
        out
    }
}
