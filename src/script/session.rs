//! What names stand for, and statements run one after the other.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::{Script, Statement};
use crate::diag::{Diagnostic, Diagnostics, did_you_mean};
use crate::exec::{Executor, Mode, Plan};
use crate::graph::{BuildOptions, Graph, Params, build_program};
use crate::lang::ast::{ExprId, ExprKind, LetNames, Program};
use crate::op::table;
use crate::tensor::{DType, Shape, Tensor, Type};

/// What a name stands for.
#[derive(Debug, Clone)]
pub struct Binding {
    /// Its type.
    pub ty: Type,
    /// Its values: one, or those of a tuple.
    pub values: Vec<Tensor>,
}

/// What a statement gave.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What was named; a statement without a name shows its value.
    pub name: Option<Arc<str>>,
    /// The type.
    pub ty: Type,
    /// The values: one, or those of a tuple.
    pub values: Vec<Tensor>,
}

/// Names with values, in the order they were first given.
///
/// ```
/// use std::sync::Arc;
/// use tautomer::{diag::Source, script::{Dialect, Session, parse_script}};
///
/// let text = "x = [[1, 2], [3, 4]]\ny = [5, 6]\nx . y\nx * y";
/// let script = parse_script(Arc::new(Source::new("example", text)), Dialect::Plain)?;
/// let outcomes = Session::new(0).run(&script)?;
/// assert_eq!(outcomes[2].values[0].to_ints().unwrap(), [5, 12, 15, 24]);
/// assert_eq!(outcomes[3].values[0].to_ints().unwrap(), [17, 39]);
/// assert_eq!(outcomes[0].ty.to_string(), "i32[2, 2]");
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Session {
    names: IndexMap<Arc<str>, Binding>,
    random: u64,
}

/// Types by name.
type Types = FxHashMap<Arc<str>, Type>;

impl Session {
    /// A session without names; `seed` decides what `rand` gives.
    pub fn new(seed: u64) -> Session {
        Session {
            names: IndexMap::new(),
            random: seed,
        }
    }

    /// The names and what they stand for.
    pub fn names(&self) -> impl Iterator<Item = (&Arc<str>, &Binding)> {
        self.names.iter()
    }

    /// The types of the statements of a script, found without running any.
    ///
    /// # Errors
    /// Every problem of every statement; what follows a wrong one is looked at as far as it does not need it.
    pub fn check(&self, script: &Script) -> Result<Vec<Type>, Diagnostics> {
        let mut types: Types = self.names.iter().map(|(n, b)| (n.clone(), b.ty.clone())).collect();
        let mut problems = Diagnostics::new();
        let mut out = Vec::with_capacity(script.statements.len());
        // Names whose statement is wrong; what uses them is not looked at.
        let mut wrong: Vec<Arc<str>> = Vec::new();
        for statement in &script.statements {
            let body = statement.program.body.as_ref().map(|b| b.result);
            let uses_wrong =
                body.is_some_and(|b| statement.program.ast.mentions(b, &|n| wrong.iter().any(|w| **w == *n)));
            let ty = match uses_wrong {
                true => None,
                false => match build(statement, &types) {
                    Ok(graph) => Some(result_type(&graph)),
                    Err(found) => {
                        problems.extend(found);
                        None
                    }
                },
            };
            if let Some(name) = &statement.name {
                wrong.retain(|w| w != name);
                match &ty {
                    Some(ty) => drop(types.insert(name.clone(), ty.clone())),
                    None => wrong.push(name.clone()),
                }
            }
            out.extend(ty);
        }
        let mut problems = problems.in_source(&script.source);
        problems.sort();
        problems.into_result(out)
    }

    /// Runs the statements of a script in order, after all of them have been checked.
    ///
    /// # Errors
    /// The problems of [`check`](Session::check), of which none lets anything run, or why a statement could not be
    /// run; those before it have been.
    pub fn run(&mut self, script: &Script) -> Result<Vec<Outcome>, Diagnostics> {
        self.check(script)?;
        let mut out = Vec::with_capacity(script.statements.len());
        for statement in &script.statements {
            let outcome = self
                .step(statement)
                .map_err(|problems| problems.in_source(&script.source))?;
            if let Some(name) = &statement.name {
                let binding = Binding {
                    ty: outcome.ty.clone(),
                    values: outcome.values.clone(),
                };
                self.names.insert(name.clone(), binding);
            }
            out.push(outcome);
        }
        Ok(out)
    }

    /// The graph of a statement; the names it uses are its inputs.
    ///
    /// # Errors
    /// The problems of the statement.
    pub fn graph(&self, statement: &Statement) -> Result<Graph, Diagnostics> {
        let types: Types = self.names.iter().map(|(n, b)| (n.clone(), b.ty.clone())).collect();
        build(statement, &types)
    }

    fn step(&mut self, statement: &Statement) -> Result<Outcome, Diagnostics> {
        let graph = self.graph(statement)?;
        let refused = |message: String| Diagnostic::error("T0406", message).label(statement.span, "");
        let mut inputs = Vec::with_capacity(graph.inputs().len());
        for &v in graph.inputs() {
            let name = graph.vertex(v).name.clone().unwrap_or_default();
            let value = match statement.random.iter().find(|(n, _)| *n == name) {
                Some((_, shape)) => self.rand(shape),
                None => self.value(&name),
            };
            inputs.push(value.ok_or_else(|| refused(format!("`{name}` has no value")))?);
        }
        let plan = Plan::compile(&graph).map_err(|e| refused(e.to_string()))?;
        let executor = Executor::new(plan, Mode::Kernels).map_err(|e| refused(e.to_string()))?;
        let values = executor
            .run(&inputs, &Params::new())
            .map_err(|e| refused(e.to_string()))?;
        let mut types: Vec<Type> = values.iter().map(|t| t.ty().into()).collect();
        let ty = match result_type(&graph) {
            Type::Tuple(_) => Type::Tuple(types),
            _ if types.len() == 1 => types.remove(0),
            other => other,
        };
        Ok(Outcome {
            name: statement.name.clone(),
            ty,
            values,
        })
    }

    /// The value of a name, or of a part of it: `p 1` is the second part of the tuple `p`.
    fn value(&self, name: &str) -> Option<Tensor> {
        let (name, part) = name.split_once(' ').unwrap_or((name, "0"));
        self.names.get(name)?.values.get(part.parse::<usize>().ok()?).cloned()
    }

    /// Integers from 0 to 9, each as likely as the others.
    fn rand(&mut self, shape: &[usize]) -> Option<Tensor> {
        let size = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        let mut digit = || {
            self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.random;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((u128::from(z ^ (z >> 31)) * 10) >> 64) as i32
        };
        Tensor::new(shape, (0..size).map(|_| digit()).collect())
    }
}

/// The type of what a graph gives.
fn result_type(graph: &Graph) -> Type {
    let types: Vec<Type> = graph.outputs().iter().map(|o| graph.ty(o.vertex).clone()).collect();
    match &types[..] {
        [only] => only.clone(),
        _ => Type::Tuple(types),
    }
}

/// Most elements that `rand` makes.
const MAX_RANDOM: usize = 1 << 28;

fn build(statement: &Statement, types: &Types) -> Result<Graph, Diagnostics> {
    let mut program = statement.program.clone();
    let mut inputs: FxHashMap<String, Type> = FxHashMap::default();
    for (name, shape) in &statement.random {
        let size = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        if size.is_none_or(|n| n > MAX_RANDOM) {
            return Err(
                Diagnostic::error("T0103", format!("{shape:?} are too many random numbers"))
                    .label(statement.span, "")
                    .into(),
            );
        }
        inputs.insert(name.to_string(), Type::tensor(DType::I32, Shape::from(&shape[..])));
    }
    for (name, ty) in types {
        match ty {
            // A tuple is the tuple of its parts.
            Type::Tuple(parts) => {
                split(&mut program, name, parts.len());
                let part = |(i, ty): (usize, &Type)| (format!("{name} {i}"), ty.clone());
                inputs.extend(parts.iter().enumerate().map(part));
            }
            ty => drop(inputs.insert(name.to_string(), ty.clone())),
        }
    }
    let unknown = unknown_names(&program, &inputs);
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let options = BuildOptions {
        inputs,
        ..BuildOptions::default()
    };
    build_program(&program, &options)
}

/// Replaces a name by the tuple of its parts.
fn split(program: &mut Program, name: &str, parts: usize) {
    let uses: Vec<ExprId> = program
        .ast
        .iter()
        .filter(|(_, e)| matches!(&e.kind, ExprKind::Name(n) if **n == *name))
        .map(|(id, _)| id)
        .collect();
    for id in uses {
        let span = program.ast.span(id);
        let part = |i| ExprKind::Name(format!("{name} {i}").into());
        let items = (0..parts).map(|i| program.ast.push(part(i), span)).collect();
        program.ast.replace(id, ExprKind::Tuple(items));
    }
}

/// Names that stand for nothing.
fn unknown_names(program: &Program, inputs: &FxHashMap<String, Type>) -> Diagnostics {
    let mut bound: Vec<&str> = Vec::new();
    let blocks = program.ast.iter().flat_map(|(_, e)| match &e.kind {
        ExprKind::If { then, otherwise, .. } | ExprKind::When { then, otherwise, .. } => vec![&**then, &**otherwise],
        ExprKind::Comprehension { var, .. } => {
            bound.push(var.as_str());
            Vec::new()
        }
        _ => Vec::new(),
    });
    let blocks: Vec<_> = blocks.chain(&program.body).collect();
    for one in blocks.iter().flat_map(|b| &b.lets) {
        match &one.names {
            LetNames::One(name) => bound.push(name.as_str()),
            LetNames::Tuple(names) => bound.extend(names.iter().map(|n| n.as_str())),
        }
    }
    // Values of attributes may be element types, and refer to other attributes.
    let mut skipped: Vec<ExprId> = Vec::new();
    for (_, e) in program.ast.iter() {
        if let ExprKind::Call { attrs: Some(attrs), .. } = &e.kind {
            skipped.extend(attrs.entries.iter().map(|entry| entry.value));
        }
    }
    let mut problems = Diagnostics::new();
    for (id, e) in program.ast.iter() {
        let ExprKind::Name(name) = &e.kind else { continue };
        let is_type = skipped.contains(&id) && name.parse::<DType>().is_ok();
        if is_type || inputs.contains_key(&**name) || bound.contains(&&**name) || *name.as_ref() == *"none" {
            continue;
        }
        let problem = Diagnostic::error("T0104", format!("`{name}` stands for nothing")).label(e.span, "");
        let known = inputs.keys().map(String::as_str).filter(|n| !n.contains(' '));
        problems.push(match did_you_mean(name, known) {
            Some(close) => problem.help(format!("did you mean `{close}`?")),
            None if table().any(|op| op.names().any(|n| n == &**name)) => {
                problem.help(format!("`{name}` is an operator: `{name}(…)`"))
            }
            None => problem.help(format!("give it a value first: `{name} = …`")),
        });
    }
    problems
}
