//! From syntax tree to values: resolves names, inlines functions, types literals and checks every call.

mod attributes;
pub(crate) mod budget;
mod calls;
mod functions;
mod lets;
mod names;
mod opaque;
mod open;
pub(crate) mod script;
mod types;
mod work;

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use self::budget::{Budget, tuple_size};
use self::work::Task;
use crate::sink::{Sink, ValueId};
use crate::term::{self, Term, TermError};
use tautomer_diag::{Diagnostic, Diagnostics, Span};
use tautomer_lang::MAX_TYPE_NESTING;
use tautomer_lang::ast::{Ast, Block, ExprId, ExprKind, Function, OpaqueDecl};
use tautomer_op::{AttrValue, OpDef, Scope as Operators};
use tautomer_tensor::Type;

/// The value of an expression; `None` if a problem has been reported.
pub(crate) type Val = Option<Term>;

/// Evaluates expressions of one syntax tree into a [`Sink`].
pub struct Builder<'a> {
    pub(crate) ast: &'a Ast,
    pub(crate) sink: &'a mut dyn Sink,
    /// The problems reported so far.
    pub problems: Diagnostics,
    /// If true, arithmetic of literals and attributes is evaluated immediately instead of becoming calls.
    pub fold_terms: bool,
    /// The remaining budget.
    pub(crate) budget: Budget,
    /// The definitions of the file.
    items: Option<Arc<Items<'a>>>,
    /// Functions that are being built for the operators that call them, outermost first.
    pub(crate) path: Vec<Arc<str>>,
    symbols: BTreeSet<Arc<str>>,
    frames: Vec<Frame>,
    ascribed: FxHashMap<ExprId, Type>,
    /// The declared operators that the text may mention.
    pub scope: Operators,
    /// Names that stand for operators.
    operators: FxHashMap<Arc<str>, &'static OpDef>,
    /// Values that do not depend on the loop variable of the current comprehension.
    hoisted: FxHashMap<ExprId, Val>,
    /// Values that have no element type yet.
    opens: Vec<open::Open>,
    /// The number of the next unknown dimension of a declaration.
    pub(crate) unknown: u32,
    /// Additional state of scripts.
    pub(crate) script: Option<script::ScriptState>,
}

/// The functions and declarations of a file by name. All functions of a program share it, since there may be thousands.
#[derive(Debug, Default)]
pub(crate) struct Items<'a> {
    functions: IndexMap<Arc<str>, &'a Function>,
    opaques: FxHashMap<Arc<str>, &'a OpaqueDecl>,
}

impl<'a> Items<'a> {
    /// The definitions of a file, and problems for functions that are defined twice.
    pub(crate) fn new(functions: &'a [Function], opaques: &'a [OpaqueDecl]) -> (Items<'a>, Diagnostics) {
        let mut problems = Diagnostics::new();
        let mut items = Items::default();
        for function in functions {
            let Some(name) = &function.name else { continue };
            let Some(first) = items.functions.get(&name.name) else {
                items.functions.insert(name.name.clone(), function);
                continue;
            };
            let before = first.name.as_ref().map_or(first.span, |n| n.span);
            problems.push(
                Diagnostic::error("T0105", format!("the function `{}` is defined twice", name.name))
                    .label(name.span, "defined again here")
                    .secondary(before, "first defined here")
                    .help("rename one of the two"),
            );
        }
        items.opaques.extend(opaques.iter().map(|o| (o.name.name.clone(), o)));
        (items, problems)
    }
}

/// Names in scope of one function body.
struct Frame {
    names: FxHashMap<Arc<str>, Vec<Val>>,
    undo: Vec<Arc<str>>,
    rests: FxHashMap<Arc<str>, Vec<(Arc<str>, AttrValue)>>,
    function: Option<Arc<str>>,
}

impl Frame {
    fn of(function: Option<Arc<str>>) -> Frame {
        Frame {
            names: FxHashMap::default(),
            undo: Vec::new(),
            rests: FxHashMap::default(),
            function,
        }
    }
}

impl<'a> Builder<'a> {
    /// A builder that evaluates expressions of `ast` into `sink`.
    pub fn new(ast: &'a Ast, sink: &'a mut dyn Sink) -> Self {
        Builder {
            ast,
            sink,
            problems: Diagnostics::new(),
            fold_terms: false,
            budget: Budget::default(),
            items: None,
            path: Vec::new(),
            symbols: BTreeSet::new(),
            frames: vec![Frame::of(None)],
            ascribed: FxHashMap::default(),
            scope: Operators::default(),
            operators: FxHashMap::default(),
            hoisted: FxHashMap::default(),
            opens: Vec::new(),
            unknown: 1 << 30,
            script: None,
        }
    }

    /// Sets the functions and declarations of the file.
    pub(crate) fn declare(&mut self, items: &Arc<Items<'a>>) {
        self.items = Some(items.clone());
    }

    /// The function of that name.
    fn function(&self, name: &str) -> Option<&'a Function> {
        self.items.as_ref()?.functions.get(name).copied()
    }

    /// The declaration of the operator of that name.
    fn declared(&self, name: &str) -> Option<&'a OpaqueDecl> {
        self.items.as_ref()?.opaques.get(name).copied()
    }

    /// Binds `name` to `term` from here on.
    pub fn bind(&mut self, name: &Arc<str>, term: Val) {
        let frame = self.frame();
        frame.names.entry(name.clone()).or_default().push(term);
        frame.undo.push(name.clone());
    }

    /// Binds `name` to an operator from here on.
    pub fn bind_operator(&mut self, name: &Arc<str>, def: &'static OpDef) {
        self.operators.insert(name.clone(), def);
    }

    /// Binds `..name` to these attributes.
    pub fn bind_rest(&mut self, name: &Arc<str>, attrs: Vec<(Arc<str>, AttrValue)>) {
        self.frame().rests.insert(name.clone(), attrs);
    }

    /// Makes `name` a symbolic dimension.
    pub(crate) fn symbol(&mut self, name: &str) {
        self.symbols.insert(name.into());
    }

    fn frame(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    pub(crate) fn report(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    fn report_term(&mut self, e: TermError) {
        if e.follows {
            return;
        }
        let problem = Diagnostic::error("T0106", e.message).label(e.span, "");
        self.report(e.help.into_iter().fold(problem, Diagnostic::help));
    }

    /// The value of an attribute expression.
    fn term(&mut self, id: ExprId) -> Val {
        let mut steps = self.budget.steps;
        let value = term::eval_within(self.ast, id, &*self, &mut steps);
        self.budget.leave_steps(steps);
        match value {
            Ok(term) => Some(term),
            Err(e) => {
                self.report_term(e);
                None
            }
        }
    }

    /// Whether a condition on attribute values holds.
    pub(crate) fn condition(&mut self, id: ExprId) -> Result<bool, TermError> {
        let mut steps = self.budget.steps;
        let holds = term::condition_within(self.ast, id, &*self, &mut steps);
        self.budget.leave_steps(steps);
        holds
    }

    /// The value of a call, unless it is a tuple with more elements than the budget has left.
    fn counted(&mut self, value: ValueId, span: Span) -> Option<ValueId> {
        let (parts, depth) = tuple_size(self.sink.ty(value));
        self.has_room(parts, depth, span).then_some(value)
    }

    /// Whether the budget has room for element `index` of a tuple, checked before it is taken.
    fn has_room_for_element(&mut self, tuple: ValueId, index: usize, span: Span) -> bool {
        let (parts, depth) = match self.sink.ty(tuple) {
            Type::Tuple(items) => items.get(index).map_or((0, 0), tuple_size),
            _ => (0, 0),
        };
        self.has_room(parts, depth, span)
    }

    /// Whether the budget has room for a tuple; reports a problem if not.
    fn has_room(&mut self, parts: usize, depth: usize, span: Span) -> bool {
        let problem = self.tuple_problem(parts, depth);
        let fits = problem.is_none();
        if let Some(problem) = problem {
            self.report(problem.label(span, ""));
        }
        fits
    }

    /// Counts the elements of a new tuple; returns a problem if there are too many or they are nested too deep.
    fn tuple_problem(&mut self, parts: usize, depth: usize) -> Option<Diagnostic> {
        match self.budget.tuple(parts) {
            None if depth > MAX_TYPE_NESTING => {
                let problem = format!("tuples are nested more than {MAX_TYPE_NESTING} deep, the limit");
                Some(Diagnostic::error("T0605", problem).help(budget::TUPLE_HELP))
            }
            problem => problem,
        }
    }

    /// The value of a block.
    pub fn block(&mut self, block: &'a Block) -> Val {
        self.run(Task::Block(block))
    }

    /// The values of a block that ends in a tuple or a comprehension, one by one: the tuple itself is not built.
    pub fn block_items(&mut self, block: &'a Block) -> Option<Vec<Term>> {
        let items: &[ExprId] = match self.ast.kind(block.result) {
            ExprKind::Tuple(items) => items,
            ExprKind::Comprehension { .. } => std::slice::from_ref(&block.result),
            _ => return self.block(block).map(|value| vec![value]),
        };
        let depth = self.frame().undo.len();
        for item in &block.lets {
            let value = self.run(Task::Eval(item.value));
            self.bind_let(item, value);
        }
        let values = self.run_all(items);
        self.run(Task::PopScope(depth));
        values
    }

    /// The values of operands, with comprehensions expanded.
    fn run_all(&mut self, items: &'a [ExprId]) -> Option<Vec<Term>> {
        let mut tasks = Vec::new();
        self.push_args(items, &mut tasks);
        self.work(tasks).into_iter().collect()
    }

    fn run(&mut self, first: Task<'a>) -> Val {
        self.work(vec![first]).pop().flatten()
    }

    fn project(&mut self, args: Vec<Term>, index: usize, span: Span) -> Val {
        match args.into_iter().next()? {
            Term::Value(v) if !self.has_room_for_element(v, index, span) => None,
            Term::Value(v) => match self.sink.project(v, index) {
                Ok(part) => {
                    self.sink.place(part, span);
                    Some(Term::Value(part))
                }
                Err(e) => {
                    self.report(Diagnostic::error("T0204", e.message).label(span, ""));
                    None
                }
            },
            Term::List(items) if index < items.len() => items.into_iter().nth(index),
            Term::Open(id) if self.members_of_open(id).is_some_and(|items| index < items.len()) => {
                self.members_of_open(id)?.get(index).cloned()
            }
            other => {
                self.report(
                    Diagnostic::error("T0204", format!("{} has no element {index}", term::kind(&other)))
                        .label(span, ""),
                );
                None
            }
        }
    }
}
