//! Scripts: sequences of statements, each checked before anything runs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::build::budget::Budget;
use super::build::script::{FUNCTIONS, MAX_ELEMENTS, Names, ScriptState, too_many_elements};
use super::build::{Builder, Items};
use super::term::Term;
use super::{Graph, Node, VertexId, Workload};
use tautomer_diag::{Diagnostic, Diagnostics, Source, Span};
use tautomer_lang::ast::ExprKind;
use tautomer_lang::{Compat, Script, Statement};
use tautomer_tensor::{Tensor, Type};

/// Constants with more elements than this become parameters in the programs made by a session.
const INLINE: usize = 64;

/// The names of a script, and the graph of their values.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_graph::Session;
/// use tautomer_lang::{Compat, parse_script};
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
    names: Names,
    /// The remaining budget for later statements.
    budget: Budget,
    /// The maximum number of elements of a value.
    max_elements: usize,
    known: FxHashMap<VertexId, Tensor>,
    compat: Compat,
    power_caret: bool,
    random: u64,
    made: Vec<VertexId>,
    /// The next unknown dimension of a declaration; `None` before the first.
    unknown: Option<u32>,
    /// The value of `_`: the one shown last.
    last: Option<VertexId>,
}

/// The effect of a statement.
#[derive(Debug, Clone)]
pub struct Step {
    /// The name given to its value.
    pub name: Option<Arc<str>>,
    /// Its values; a call of `print` may have several.
    pub values: Vec<Shown>,
    /// Its span.
    pub span: Span,
}

/// The displayed form of a value.
#[derive(Debug, Clone)]
pub enum Shown {
    /// A tensor.
    Value(VertexId),
    /// A string: an element type, or text as written.
    Text(String),
}

impl Session {
    /// A session without names. `seed` initializes the random numbers.
    pub fn new(compat: Compat, seed: u64) -> Session {
        Session {
            graph: Graph::new(),
            names: Names::default(),
            budget: Budget::default(),
            max_elements: MAX_ELEMENTS,
            known: FxHashMap::default(),
            compat,
            power_caret: false,
            random: seed,
            made: Vec::new(),
            unknown: None,
            last: None,
        }
    }

    /// The same session, with values of at most this many elements.
    #[must_use]
    pub fn with_max_elements(self, max_elements: usize) -> Session {
        Session { max_elements, ..self }
    }

    /// The functions that scripts have in addition to operators.
    pub fn functions() -> &'static [&'static str] {
        FUNCTIONS
    }

    /// The graph of all values.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The spelling of statements.
    pub fn compat(&self) -> Compat {
        self.compat
    }

    /// Whether `^` is the power operator in statements.
    pub fn power_caret(&self) -> bool {
        self.power_caret
    }

    /// Uses the spelling of a script for all following statements.
    pub fn spell(&mut self, script: &Script) {
        (self.compat, self.power_caret) = (script.compat, script.power_caret);
    }

    /// The value that a name stands for.
    pub fn get(&self, name: &str) -> Option<VertexId> {
        self.names.get(name).cloned().flatten()
    }

    /// The names, oldest first.
    pub fn names(&self) -> impl Iterator<Item = (&str, VertexId)> {
        self.names
            .oldest_first()
            .into_iter()
            .filter_map(|(name, v)| Some((name, (*v)?)))
    }

    /// Checks and adds all statements of a script.
    ///
    /// # Errors
    /// All problems of all statements; uses of a name whose value has a problem cause no further ones.
    pub fn add_all(&mut self, script: &Script) -> Result<Vec<Step>, Diagnostics> {
        self.spell(script);
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
    /// All its problems; the session is left unchanged.
    pub fn add(&mut self, statement: &Statement, source: &Arc<Source>) -> Result<Step, Diagnostics> {
        let ast = &statement.ast;
        let Some(value) = statement.value else {
            return self.input(statement, source);
        };
        let (ids, prints) = match ast.kind(value) {
            ExprKind::Call {
                callee,
                args,
                attrs: None,
                quoted: false,
            } if callee.as_str() == "print" => (args.clone(), true),
            _ => (vec![value], false),
        };
        if let (true, Some(name)) = (prints, &statement.name) {
            let problem = Diagnostic::error("T0204", "`print` has no value").label(name.span, "nothing to name");
            return Err(problem.in_source(source).into());
        }
        let before = self.graph.len();
        let mut builder = Builder::new(ast, &mut self.graph);
        builder.budget = self.budget.for_more(ast);
        // The state of the session is moved to the builder, so that the cost of a statement does not depend on earlier
        // ones.
        builder.script = Some(ScriptState {
            compat: self.compat,
            random: self.random,
            made: std::mem::take(&mut self.made),
            names: std::mem::take(&mut self.names),
            max_elements: self.max_elements,
        });
        let (items, doubled) = Items::new(&statement.functions, &[]);
        builder.declare(&Arc::new(items));
        builder.problems.extend(doubled);
        builder.unknown = self.unknown.unwrap_or(builder.unknown);
        if let Some(last) = self.last {
            builder.bind(&"_".into(), Some(Term::Value(last)));
        }
        let declared = statement
            .ty
            .as_ref()
            .and_then(|ty| Some((builder.declared_type(ty)?, ty.span)));
        let mut values = Vec::new();
        let mut failed = false;
        for &id in &ids {
            let span = ast.span(id);
            let value = match (builder.value(id), &declared) {
                (Some(term), Some((ty, place))) => builder.ascribed(term, ty, span, *place).map(Term::Value),
                (value, _) => value,
            };
            match value {
                Some(Term::DType(dtype)) => values.push(Shown::Text(dtype.to_string())),
                Some(Term::Str(text)) => values.push(Shown::Text(text.to_string())),
                Some(term) if is_symbolic(&term) => values.push(Shown::Text(symbolic_text(&term))),
                Some(term) => values.extend(builder.vertex(term, span).map(Shown::Value)),
                None => failed = true,
            }
        }
        let problems = std::mem::take(&mut builder.problems);
        self.budget = builder.budget.clone();
        self.unknown = Some(builder.unknown);
        if let Some(script) = builder.script.take() {
            (self.random, self.made, self.names) = (script.random, script.made, script.names);
        }
        problems.in_source(source).into_result(())?;
        if failed {
            return Err(Diagnostics::new());
        }
        self.check_sizes(before)
            .map_err(|problem| problem.label(statement.span, "").in_source(source))?;
        let name = statement.name.as_ref().map(|n| n.name.clone());
        if let (None, [Shown::Value(v)]) = (&name, values.as_slice()) {
            self.last = Some(*v);
        }
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
                    self.names.insert(name.clone(), Some(*v));
                }
                // It uses a name with a problem that has already been reported.
                None => return Err(Diagnostics::new()),
                _ => {
                    let problem = Diagnostic::error("T0204", format!("`{name}` would not be a tensor"));
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

    /// Rejects values with too many elements among those made since the graph had `before` vertices.
    fn check_sizes(&self, before: usize) -> Result<(), Diagnostic> {
        let most = self.max_elements;
        for v in (before..self.graph.len()).map(VertexId::new) {
            let large = |ty: &Type| {
                let shape = ty.as_tensor()?.shape.as_ref()?.to_concrete()?;
                let elements = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
                elements.is_none_or(|n| n > most).then_some(())
            };
            let ty = self.graph.ty(v);
            let items = match ty {
                Type::Tuple(items) => items.as_slice(),
                one => std::slice::from_ref(one),
            };
            if let Some(ty) = items.iter().find(|ty| large(ty).is_some()) {
                return Err(too_many_elements(most).note(format!("a value here is {ty}")));
            }
        }
        Ok(())
    }

    /// Adds an input.
    fn input(&mut self, statement: &Statement, source: &Arc<Source>) -> Result<Step, Diagnostics> {
        let (Some(name), Some(ty)) = (&statement.name, &statement.ty) else {
            return Err(Diagnostics::new());
        };
        let mut builder = Builder::new(&statement.ast, &mut self.graph);
        builder.unknown = self.unknown.unwrap_or(builder.unknown);
        let declared = builder.declared_type(ty);
        self.unknown = Some(builder.unknown);
        let problems = std::mem::take(&mut builder.problems);
        problems.in_source(source).into_result(())?;
        let v = self.graph.input(&name.name, declared.ok_or_else(Diagnostics::new)?);
        self.names.insert(name.name.clone(), Some(v));
        Ok(Step {
            name: Some(name.name.clone()),
            values: vec![Shown::Value(v)],
            span: statement.span,
        })
    }

    /// The inputs that a value is computed from, in the order in which they were declared.
    pub fn inputs_of(&self, v: VertexId) -> Vec<VertexId> {
        let mut stack = vec![v];
        let mut seen = rustc_hash::FxHashSet::default();
        let mut inputs = Vec::new();
        while let Some(v) = stack.pop() {
            if seen.insert(v) && !self.known.contains_key(&v) {
                if matches!(self.graph.vertex(v).node, Node::Input) {
                    inputs.push(v);
                }
                stack.extend(self.graph.pred(v));
            }
        }
        inputs.sort_unstable();
        inputs
    }

    /// The elements of a tuple in order, including those of nested tuples; for any other value, the value itself.
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

    /// Records the computed value, so that it is not computed again.
    pub fn remember(&mut self, v: VertexId, value: Tensor) {
        self.known.insert(v, value);
    }

    /// The recorded value, if it was computed.
    pub fn value(&self, v: VertexId) -> Option<&Tensor> {
        self.known.get(&v).or_else(|| self.graph.vertex(v).constant())
    }

    /// A program that computes these values from scratch, or with `cut`, from previously computed values.
    pub fn program(&self, roots: &[(VertexId, Option<&str>)], cut: bool) -> Workload {
        self.program_of(roots, cut, &|_| false)
    }

    /// A program that computes these values from the named values: constants with a name become its inputs.
    pub fn open_program(&self, roots: &[(VertexId, Option<&str>)]) -> Workload {
        let named: rustc_hash::FxHashSet<VertexId> = self.names().map(|(_, v)| v).collect();
        self.program_of(roots, false, &|v| named.contains(&v))
    }

    fn program_of(
        &self,
        roots: &[(VertexId, Option<&str>)],
        cut: bool,
        is_input: &dyn Fn(VertexId) -> bool,
    ) -> Workload {
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
        // Vertices are numbered in order of creation, operands first.
        reached.sort_unstable();
        let mut named: FxHashMap<VertexId, &str> = FxHashMap::default();
        for (name, v) in self.names() {
            named.entry(v).or_insert(name);
        }
        for v in reached {
            let vertex = self.graph.vertex(v);
            let large = vertex.constant().filter(|t| t.len() > INLINE);
            let place = match known(v).or(large) {
                _ if matches!(vertex.node, Node::Input) || vertex.constant().is_some() && is_input(v) => {
                    let mut name = vertex
                        .name
                        .as_deref()
                        .or(named.get(&v).copied())
                        .unwrap_or_default()
                        .to_owned();
                    // A name that was declared twice stands for two inputs.
                    let taken = |name: &str| {
                        let inputs = out.graph.inputs().iter();
                        inputs
                            .into_iter()
                            .any(|&u| out.graph.vertex(u).name.as_deref() == Some(name))
                    };
                    while taken(&name) {
                        name.push('_');
                    }
                    out.graph.input(&name, self.graph.ty(v).clone())
                }
                Some(tensor) => {
                    let name: Arc<str> = match named.get(&v) {
                        Some(name) => (*name).into(),
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

/// Whether a term contains dimensions that are not numbers.
fn is_symbolic(term: &Term) -> bool {
    match term {
        Term::Int(dim) => dim.as_const().is_none(),
        Term::List(items) => items.iter().any(is_symbolic),
        _ => false,
    }
}

/// Such a term as a string.
fn symbolic_text(term: &Term) -> String {
    match term {
        Term::Int(dim) => dim.to_string(),
        Term::Float(v) => v.to_string(),
        Term::List(items) => {
            let texts: Vec<String> = items.iter().map(symbolic_text).collect();
            format!("[{}]", texts.join(", "))
        }
        other => super::term::kind(other).to_owned(),
    }
}
