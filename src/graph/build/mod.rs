//! From syntax tree to values: names resolved, functions inlined, literals typed, every call checked.

mod attributes;
mod calls;
mod functions;
mod lets;
mod names;
mod opaque;
pub(crate) mod script;
mod types;
mod work;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use self::work::Task;
use crate::diag::{Diagnostic, Diagnostics, Span};
use crate::graph::sink::Sink;
use crate::graph::term::{self, Term, TermError};
use crate::lang::ast::{Ast, Block, ExprId, ExprKind, Function, OpaqueDecl};
use crate::op::{AttrValue, OpDef};
use crate::tensor::Type;

/// What an expression evaluates to; `None` where a problem has been reported.
pub(crate) type Val<V> = Option<Term<V>>;

/// Evaluates expressions of one syntax tree into a [`Sink`].
pub(crate) struct Builder<'a, K: Sink> {
    pub(crate) ast: &'a Ast,
    pub(crate) sink: &'a mut K,
    pub(crate) problems: Diagnostics,
    /// Arithmetic of literals and attributes is done at once instead of becoming calls.
    pub(crate) fold_terms: bool,
    /// Refuses to build more values than this.
    pub(crate) max_size: usize,
    functions: FxHashMap<Arc<str>, &'a Function>,
    /// The same, as they stand in the file, and declarations.
    items: (&'a [Function], &'a [OpaqueDecl]),
    /// Functions that are being built for the operators that call them, outermost first.
    pub(crate) path: Vec<Arc<str>>,
    opaques: FxHashMap<Arc<str>, &'a OpaqueDecl>,
    symbols: BTreeSet<Arc<str>>,
    frames: Vec<Frame<K::V>>,
    ascribed: FxHashMap<ExprId, Type>,
    /// Operators that names stand for.
    operators: FxHashMap<Arc<str>, &'static OpDef>,
    /// Values of what does not depend on the running variable of the comprehension at hand.
    hoisted: FxHashMap<ExprId, Val<K::V>>,
    /// The next unknown extent of a declaration.
    unknown: u32,
    /// What scripts have besides.
    pub(crate) script: Option<script::ScriptState<K::V>>,
}

/// Names in scope of one function body.
struct Frame<V> {
    names: FxHashMap<Arc<str>, Vec<Val<V>>>,
    undo: Vec<Arc<str>>,
    rests: FxHashMap<Arc<str>, Vec<(Arc<str>, AttrValue)>>,
    function: Option<Arc<str>>,
}

impl<V> Frame<V> {
    fn of(function: Option<Arc<str>>) -> Frame<V> {
        Frame {
            names: FxHashMap::default(),
            undo: Vec::new(),
            rests: FxHashMap::default(),
            function,
        }
    }
}

impl<'a, K: Sink> Builder<'a, K> {
    pub(crate) fn new(ast: &'a Ast, sink: &'a mut K) -> Self {
        Builder {
            ast,
            sink,
            problems: Diagnostics::new(),
            fold_terms: false,
            max_size: usize::MAX,
            functions: FxHashMap::default(),
            items: (&[], &[]),
            path: Vec::new(),
            opaques: FxHashMap::default(),
            symbols: BTreeSet::new(),
            frames: vec![Frame::of(None)],
            ascribed: FxHashMap::default(),
            operators: FxHashMap::default(),
            hoisted: FxHashMap::default(),
            unknown: 1 << 30,
            script: None,
        }
    }

    /// Makes functions and declarations of the file known.
    pub(crate) fn declare(&mut self, functions: &'a [Function], opaques: &'a [OpaqueDecl]) {
        self.items = (functions, opaques);
        for function in functions {
            let Some(name) = &function.name else { continue };
            if let Some(first) = self.functions.get(&name.name) {
                let before = first.name.as_ref().map_or(first.span, |n| n.span);
                self.problems.push(
                    Diagnostic::error("T0105", format!("the function `{}` is defined twice", name.name))
                        .label(name.span, "defined again here")
                        .secondary(before, "first defined here")
                        .help("rename one of the two"),
                );
            } else {
                self.functions.insert(name.name.clone(), function);
            }
        }
        self.opaques.extend(opaques.iter().map(|o| (o.name.name.clone(), o)));
    }

    /// Makes `name` stand for `term` from here on.
    pub(crate) fn bind(&mut self, name: &Arc<str>, term: Val<K::V>) {
        let frame = self.frame();
        frame.names.entry(name.clone()).or_default().push(term);
        frame.undo.push(name.clone());
    }

    /// Makes `name` stand for an operator from here on.
    pub(crate) fn bind_operator(&mut self, name: &Arc<str>, def: &'static OpDef) {
        self.operators.insert(name.clone(), def);
    }

    /// Makes `..name` stand for these attributes.
    pub(crate) fn bind_rest(&mut self, name: &Arc<str>, attrs: Vec<(Arc<str>, AttrValue)>) {
        self.frame().rests.insert(name.clone(), attrs);
    }

    /// Makes `name` a symbolic dimension.
    pub(crate) fn symbol(&mut self, name: &str) {
        self.symbols.insert(name.into());
    }

    fn frame(&mut self) -> &mut Frame<K::V> {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    pub(crate) fn report(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    fn report_term(&mut self, e: TermError) {
        let problem = Diagnostic::error("T0106", e.message).label(e.span, "");
        self.report(e.help.into_iter().fold(problem, Diagnostic::help));
    }

    /// The value of an attribute expression.
    fn term(&mut self, id: ExprId) -> Val<K::V> {
        match term::eval(self.ast, id, &*self) {
            Ok(term) => Some(term),
            Err(e) => {
                self.report_term(e);
                None
            }
        }
    }

    /// The value of a block.
    pub(crate) fn block(&mut self, block: &'a Block) -> Val<K::V> {
        self.run(Task::Block(block))
    }

    /// The values of a block that ends in a tuple or a comprehension, one by one: the tuple itself is not built.
    pub(crate) fn block_items(&mut self, block: &'a Block) -> Option<Vec<Term<K::V>>> {
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

    /// The values of operands, comprehensions spread out.
    fn run_all(&mut self, items: &'a [ExprId]) -> Option<Vec<Term<K::V>>> {
        let mut tasks = Vec::new();
        self.push_args(items, &mut tasks);
        self.work(tasks).into_iter().collect()
    }

    fn run(&mut self, first: Task<'a, K::V>) -> Val<K::V> {
        self.work(vec![first]).pop().flatten()
    }

    fn project(&mut self, args: Vec<Term<K::V>>, index: usize, span: Span) -> Val<K::V> {
        match args.into_iter().next()? {
            Term::Value(v) => match self.sink.project(&v, index) {
                Ok(part) => {
                    self.sink.place(&part, span);
                    Some(Term::Value(part))
                }
                Err(e) => {
                    self.report(Diagnostic::error("T0204", e.message).label(span, ""));
                    None
                }
            },
            Term::List(items) if index < items.len() => items.into_iter().nth(index),
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
