//! From syntax tree to values: names resolved, functions inlined, literals typed, every call checked.

mod calls;
pub(crate) mod script;
mod types;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::{Diagnostic, Diagnostics, Span, did_you_mean};
use crate::graph::literal::{self, Wanted};
use crate::graph::sink::Sink;
use crate::graph::term::{self, Scope, Term, TermError};
use crate::lang::ast::{
    Ast, Attrs, BinaryOp, Block, DimExpr, Dims, ExprId, ExprKind, Function, Let, LetNames, OpaqueDecl, TypeExpr,
    TypeKind, UnaryOp,
};
use crate::op::{self, AttrKind, AttrValue, Op, OpDef, OpError, OpTraits, OpaqueOp};
use crate::tensor::{Dim, Shape, Tensor, TensorType, Type};

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

enum Task<'a, V> {
    Eval(ExprId),
    Finish(ExprId, usize),
    Block(&'a Block),
    Let(&'a Let),
    Bind(Arc<str>, Val<V>),
    PopScope(usize),
    PopFrame,
}

impl<'a, K: Sink> Builder<'a, K> {
    pub(crate) fn new(ast: &'a Ast, sink: &'a mut K) -> Self {
        let frame = Frame {
            names: FxHashMap::default(),
            undo: Vec::new(),
            rests: FxHashMap::default(),
            function: None,
        };
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
            frames: vec![frame],
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

    fn work(&mut self, mut tasks: Vec<Task<'a, K::V>>) -> Vec<Val<K::V>> {
        let mut values: Vec<Val<K::V>> = Vec::new();
        while let Some(task) = tasks.pop() {
            if self.sink.size() > self.max_size {
                self.report(Diagnostic::error(
                    "T0603",
                    format!(
                        "the program has more than {} vertices after inlining its functions",
                        self.max_size
                    ),
                ));
                return vec![None];
            }
            match task {
                Task::Eval(id) => self.start(id, &mut tasks, &mut values),
                Task::Finish(id, base) => {
                    let args = values.split_off(base);
                    self.finish(id, args, &mut tasks, &mut values);
                }
                Task::Block(block) => {
                    tasks.push(Task::PopScope(self.frame().undo.len()));
                    tasks.push(Task::Eval(block.result));
                    for item in block.lets.iter().rev() {
                        tasks.push(Task::Let(item));
                        if let Some(ty) = &item.ty {
                            let ty = self.declared_type(ty);
                            self.ascribed.extend(ty.map(|ty| (item.value, ty)));
                        }
                        tasks.push(Task::Eval(item.value));
                    }
                }
                Task::Let(item) => {
                    let value = values.pop().flatten();
                    self.bind_let(item, value);
                }
                Task::Bind(name, term) => self.bind(&name, term),
                Task::PopScope(depth) => {
                    let frame = self.frame();
                    while frame.undo.len() > depth {
                        let Some(name) = frame.undo.pop() else { break };
                        frame.names.get_mut(&name).map(Vec::pop);
                    }
                }
                Task::PopFrame => {
                    self.frames.pop();
                }
            }
        }
        values
    }

    fn bind_let(&mut self, item: &'a Let, value: Val<K::V>) {
        let value = match (value, self.ascribed.remove(&item.value)) {
            (Some(term), Some(declared)) => self.ascribe(term, &declared, item),
            // A literal that was given a type is one vertex, however often it is used.
            (Some(Term::Tensor(t)), None) => Some(Term::Value(self.sink.constant(t))),
            (value, _) => value,
        };
        match &item.names {
            LetNames::One(name) => {
                self.name_value(&value, &name.name);
                self.bind(&name.name, value);
            }
            LetNames::Tuple(names) => {
                for (i, name) in names.iter().enumerate() {
                    let part = match &value {
                        None => None,
                        Some(Term::Value(v)) => {
                            let count = match self.sink.ty(v) {
                                Type::Tuple(items) => Some(items.len()),
                                _ => None,
                            };
                            match self.sink.project(&v.clone(), i) {
                                Ok(part) if count == Some(names.len()) => Some(Term::Value(part)),
                                _ if i > 0 => None,
                                _ => {
                                    let ty = self.sink.ty(v);
                                    self.report(
                                        Diagnostic::error(
                                            "T0204",
                                            format!("{} names for a value of type {ty}", names.len()),
                                        )
                                        .label(item.span, "")
                                        .help("the names on the left must be as many as the elements of the tuple"),
                                    );
                                    None
                                }
                            }
                        }
                        Some(Term::List(items)) if items.len() == names.len() => items.get(i).cloned(),
                        Some(other) => {
                            if i == 0 {
                                let what = term::kind(other);
                                self.report(
                                    Diagnostic::error("T0204", format!("{} names for {what}", names.len()))
                                        .label(item.span, ""),
                                );
                            }
                            None
                        }
                    };
                    self.name_value(&part, &name.name);
                    self.bind(&name.name, part);
                }
            }
        }
    }

    /// Values keep the names that the outermost function gives them.
    fn name_value(&mut self, value: &Val<K::V>, name: &Arc<str>) {
        if let Some(Term::Value(v)) = value
            && self.frames.len() == 1
            && !self.fold_terms
        {
            self.sink.name(v, name);
        }
    }

    fn ascribe(&mut self, term: Term<K::V>, declared: &Type, item: &Let) -> Val<K::V> {
        let span = item.ty.as_ref().map_or(item.span, |t| t.span);
        let v = match &term {
            Term::Value(v) => v.clone(),
            literal => {
                let wanted = declared.as_tensor().map_or(Wanted::Any, |t| Wanted::Exactly(t.dtype));
                let built = literal::tensor(literal, wanted).and_then(|t| {
                    match declared.as_tensor().and_then(|d| d.shape.as_ref()?.to_concrete()) {
                        // `[]` says nothing of the inner extents; the declaration does.
                        Some(shape) if t.is_empty() => {
                            t.reshaped(&shape).ok_or_else(|| format!("no elements for {declared}"))
                        }
                        _ => Ok(t),
                    }
                });
                match built {
                    Ok(t) => self.sink.constant(t),
                    Err(message) => {
                        self.report(Diagnostic::error("T0203", message).label(self.ast.span(item.value), ""));
                        return None;
                    }
                }
            }
        };
        let actual = self.sink.ty(&v);
        if !declared.admits(&actual) {
            self.report(
                Diagnostic::error("T0204", format!("declared as {declared}, and the value is {actual}"))
                    .label(self.ast.span(item.value), format!("this is {actual}"))
                    .secondary(span, "declared here"),
            );
            return None;
        }
        Some(Term::Value(v))
    }

    fn start(&mut self, id: ExprId, tasks: &mut Vec<Task<'a, K::V>>, values: &mut Vec<Val<K::V>>) {
        let base = values.len();
        let ast = self.ast;
        if let Some(value) = self.hoisted.get(&id) {
            values.push(value.clone());
            return;
        }
        match ast.kind(id) {
            ExprKind::Name(name) => {
                let value = self.resolve(name, ast.span(id));
                values.push(value);
            }
            ExprKind::Positional(i) => {
                let value = self.resolve(&format!("@{i}").into(), ast.span(id));
                values.push(value);
            }
            ExprKind::Tuple(items) => {
                tasks.push(Task::Finish(id, base));
                self.push_args(items, tasks);
            }
            ExprKind::Call { args, .. } => {
                tasks.push(Task::Finish(id, base));
                self.push_args(args, tasks);
            }
            ExprKind::Project { base: tuple, .. } => tasks.extend([Task::Finish(id, base), Task::Eval(*tuple)]),
            ExprKind::Field { base: tuple, name } if matches!(self.lookup(&name.name), Some(Some(Term::Int(_)))) => {
                tasks.extend([Task::Finish(id, base), Task::Eval(*tuple)]);
            }
            ExprKind::Unary { operand, .. } => tasks.extend([Task::Finish(id, base), Task::Eval(*operand)]),
            ExprKind::Binary {
                op: BinaryOp::In,
                lhs,
                rhs,
            } => {
                tasks.push(Task::Finish(id, base));
                match ast.kind(*rhs) {
                    ExprKind::Tuple(items) | ExprKind::List(items) => {
                        tasks.extend(items.iter().rev().map(|i| Task::Eval(*i)))
                    }
                    _ => tasks.push(Task::Eval(*rhs)),
                }
                tasks.push(Task::Eval(*lhs));
            }
            ExprKind::Binary { lhs, rhs, .. } => {
                tasks.extend([Task::Finish(id, base), Task::Eval(*rhs), Task::Eval(*lhs)])
            }
            ExprKind::If { cond, then, otherwise } => {
                tasks.extend([
                    Task::Finish(id, base),
                    Task::Block(otherwise),
                    Task::Block(then),
                    Task::Eval(*cond),
                ]);
            }
            ExprKind::When { cond, then, otherwise } => match term::condition(ast, *cond, &*self) {
                Ok(holds) => tasks.push(Task::Block(if holds { then } else { otherwise })),
                Err(e) => {
                    self.report_term(e);
                    values.push(None);
                }
            },
            _ => {
                let value = match term::eval(ast, id, &*self) {
                    Ok(term) => Some(term),
                    Err(e) => {
                        self.report_term(e);
                        None
                    }
                };
                values.push(value);
            }
        }
    }

    /// Schedules operands; a comprehension becomes one operand for each value of its variable.
    fn push_args(&mut self, args: &'a [ExprId], tasks: &mut Vec<Task<'a, K::V>>) {
        for &arg in args.iter().rev() {
            let ExprKind::Comprehension { body, var, iter, cond } = self.ast.kind(arg) else {
                tasks.push(Task::Eval(arg));
                continue;
            };
            let items = match term::eval(self.ast, *iter, &*self) {
                Ok(Term::List(items)) => items,
                Ok(_) => Vec::new(),
                Err(e) => {
                    self.report_term(e);
                    Vec::new()
                }
            };
            if self.fold_terms && items.len() > 1 {
                for id in invariant_calls(self.ast, *body, &var.name) {
                    let value = self.run(Task::Eval(id));
                    self.hoisted.insert(id, value);
                }
            }
            let depth = self.frame().undo.len();
            for item in items.into_iter().rev() {
                self.bind(&var.name, Some(item.clone()));
                let keep = cond.is_none_or(|c| term::condition(self.ast, c, &*self).unwrap_or(true));
                self.frame().undo.pop();
                self.frame().names.get_mut(&var.name).map(Vec::pop);
                if keep {
                    tasks.extend([
                        Task::PopScope(depth),
                        Task::Eval(*body),
                        Task::Bind(var.name.clone(), Some(item)),
                    ]);
                }
            }
        }
    }

    fn lookup(&self, name: &str) -> Option<Val<K::V>> {
        self.frames.last()?.names.get(name)?.last().cloned()
    }

    fn resolve(&mut self, name: &Arc<str>, span: Span) -> Val<K::V> {
        if let Some(value) = self.lookup(name) {
            return value;
        }
        match Scope::name(self, name) {
            Some(term) => Some(term),
            None if &**name == "none" => Some(Term::None),
            None => match name.parse() {
                Ok(dtype) => Some(Term::DType(dtype)),
                Err(()) => {
                    let names = self.names();
                    let close = did_you_mean(name, names.iter().map(String::as_str)).map(str::to_owned);
                    let problem =
                        Diagnostic::error("T0104", format!("unknown name `{name}`")).label(span, "not defined here");
                    self.report(match close {
                        Some(close) => problem.help(format!("did you mean `{close}`?")),
                        None => problem.help("define it above with `let`, or make it an input of the function"),
                    });
                    None
                }
            },
        }
    }

    fn finish(
        &mut self,
        id: ExprId,
        args: Vec<Val<K::V>>,
        tasks: &mut Vec<Task<'a, K::V>>,
        values: &mut Vec<Val<K::V>>,
    ) {
        let Some(args) = args.into_iter().collect::<Option<Vec<_>>>() else {
            values.push(None);
            return;
        };
        let span = self.ast.span(id);
        let ast = self.ast;
        let literal = self.fold_terms && args.iter().all(|t| !matches!(t, Term::Value(_)));
        let value = match ast.kind(id) {
            ExprKind::Unary { .. } | ExprKind::Binary { .. } if literal => match term::eval(ast, id, &*self) {
                Ok(term) => Some(term),
                Err(e) => {
                    self.report_term(e);
                    None
                }
            },
            ExprKind::Tuple(_) if literal => Some(Term::List(args)),
            // Scripts have no tuples: `(3, 3)` is a shape.
            ExprKind::Tuple(_) if self.script.is_some() && args.iter().all(|t| !matches!(t, Term::Value(_))) => {
                Some(Term::List(args))
            }
            ExprKind::Tuple(_) => {
                let items: Option<Vec<_>> = args.into_iter().map(|t| self.vertex(t, span)).collect();
                items.map(|items| Term::Value(self.sink.tuple(&items)))
            }
            ExprKind::Project { index, .. } => self.project(args, *index as usize, span),
            ExprKind::Field { name, .. } => match self.lookup(&name.name) {
                Some(Some(Term::Int(Dim::Const(i)))) if i >= 0 => self.project(args, i as usize, span),
                _ => None,
            },
            ExprKind::Unary { op, operand } => {
                let name = match op {
                    UnaryOp::Neg => "neg",
                    UnaryOp::Not => "not",
                    UnaryOp::BitNot => "bitwise_not",
                };
                self.known_call(name, args, &[*operand], span)
            }
            ExprKind::Binary {
                op: BinaryOp::In,
                lhs,
                rhs,
            } => self.membership(args, *lhs, *rhs, span),
            ExprKind::Binary { op, lhs, rhs } => self.infix(*op, args, *lhs, *rhs, span),
            ExprKind::If { cond, then, otherwise } => {
                self.known_call("where", args, &[*cond, then.result, otherwise.result], span)
            }
            ExprKind::Call {
                callee,
                quoted,
                args: ids,
                attrs,
            } => {
                // `range(n)` of attribute values is a list of them, not a call of the operator of that name.
                if literal
                    && attrs.is_none()
                    && term::TERM_FUNCTIONS.contains(&callee.as_str())
                    && let Ok(term) = term::eval(ast, id, &*self)
                {
                    values.push(Some(term));
                    return;
                }
                if !*quoted && let Some(&function) = self.functions.get(&callee.name) {
                    self.enter(function, args, ids, span, tasks, values);
                    return;
                }
                if !*quoted && self.is_script_call(&callee.name, &args, attrs.as_deref()) {
                    values.push(self.script_call(&callee.name, args, ids, span));
                    return;
                }
                self.call(id, &callee.name, callee.span, *quoted, args, ids, attrs.as_deref())
            }
            _ => None,
        };
        values.push(value);
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

    fn enter(
        &mut self,
        function: &'a Function,
        args: Vec<Term<K::V>>,
        ids: &[ExprId],
        span: Span,
        tasks: &mut Vec<Task<'a, K::V>>,
        values: &mut Vec<Val<K::V>>,
    ) {
        let name = function.name.as_ref().map(|n| n.name.clone()).unwrap_or_default();
        if args.len() != function.params.len() {
            let problem = Diagnostic::error(
                "T0102",
                format!(
                    "`{name}` takes {}, and {} given",
                    operands_text(function.params.len()),
                    count_text(args.len())
                ),
            );
            self.report(
                problem
                    .label(span, "")
                    .secondary(function.name.as_ref().map_or(function.span, |n| n.span), "defined here"),
            );
            values.push(None);
            return;
        }
        if self.frames.iter().any(|f| f.function.as_ref() == Some(&name)) {
            let begin = self.frames.iter().position(|f| f.function.as_ref() == Some(&name));
            let between = self.frames.iter().skip(begin.map_or(0, |i| i + 1));
            let through: Vec<String> = between
                .filter_map(|f| Some(format!("`{}`", f.function.as_ref()?)))
                .collect();
            let through = match through.is_empty() {
                true => String::new(),
                false => format!(" through {}", through.join(", ")),
            };
            let problem = Diagnostic::error("T0107", format!("`{name}` calls itself{through}"));
            self.report(
                problem
                    .label(span, "")
                    .help("functions are inlined, so a call may not lead back to its own function"),
            );
            values.push(None);
            return;
        }
        let mut frame = Frame {
            names: FxHashMap::default(),
            undo: Vec::new(),
            rests: FxHashMap::default(),
            function: Some(name.clone()),
        };
        for ((param, arg), &id) in function.params.iter().zip(args).zip(ids) {
            let declared = param.ty.as_ref().and_then(|t| self.declared_type(t));
            let wanted = declared
                .as_ref()
                .and_then(Type::as_tensor)
                .map_or(Wanted::Any, |t| Wanted::Exactly(t.dtype));
            let value = self.vertex_as(arg, wanted, self.ast.span(id)).map(Term::Value);
            if let (Some(Term::Value(v)), Some(declared)) = (&value, &declared) {
                let actual = self.sink.ty(v);
                if !declared.admits(&actual) {
                    self.report(
                        Diagnostic::error(
                            "T0204",
                            format!("`{}` of `{name}` is {declared}, and {actual} is given", param.name.name),
                        )
                        .label(self.ast.span(id), format!("this is {actual}"))
                        .secondary(param.span, "declared here"),
                    );
                }
            }
            frame.names.entry(param.name.name.clone()).or_default().push(value);
        }
        self.frames.push(frame);
        tasks.extend([Task::PopFrame, Task::Block(&function.body)]);
    }
}

impl<K: Sink> Scope for Builder<'_, K> {
    type V = K::V;

    fn name(&self, name: &str) -> Option<Term<K::V>> {
        match self.lookup(name) {
            Some(value) => value,
            None => self.symbols.contains(name).then(|| Term::Int(Dim::symbol(name))),
        }
    }

    fn indexed(&self, name: &str, index: i64) -> Option<Term<K::V>> {
        // Borrowed: a family may have any number of members, and each is asked for.
        match self.frames.last()?.names.get(name)?.last()?.as_ref()? {
            Term::List(items) => items.get(usize::try_from(index).ok()?).cloned(),
            _ => None,
        }
    }

    fn ty(&self, v: &K::V) -> Type {
        self.sink.ty(v)
    }

    fn constant(&self, v: &K::V) -> Option<Tensor> {
        self.sink.value(v)
    }

    fn is_static(&self, v: &K::V) -> bool {
        self.sink.is_static(v)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .frames
            .last()
            .map(|f| f.names.keys().map(|k| k.to_string()).collect())
            .unwrap_or_default();
        names.extend(self.symbols.iter().map(|s| s.to_string()));
        names.sort();
        names
    }
}

/// The largest calls inside of `body` that do not mention `name`: in a comprehension they are written once and mean
/// one value. What stands under other binders is left where it is.
fn invariant_calls(ast: &Ast, body: ExprId, name: &str) -> Vec<ExprId> {
    let mut out = Vec::new();
    let mut stack = vec![body];
    while let Some(id) = stack.pop() {
        match ast.kind(id) {
            ExprKind::Call { .. } | ExprKind::Binary { .. } | ExprKind::Unary { .. }
                if !ast.mentions(id, &|n| n == name) =>
            {
                out.push(id);
            }
            // Attributes are no values of the graph.
            ExprKind::Call { args, .. } | ExprKind::Tuple(args) => stack.extend(args),
            ExprKind::Unary { .. } | ExprKind::Binary { .. } | ExprKind::Project { .. } | ExprKind::Field { .. } => {
                stack.extend(ast.operands(id));
            }
            _ => {}
        }
    }
    out
}

fn operands_text(n: usize) -> String {
    if n == 1 {
        "1 operand".into()
    } else {
        format!("{n} operands")
    }
}

fn count_text(n: usize) -> String {
    if n == 1 { "1 is".into() } else { format!("{n} are") }
}
