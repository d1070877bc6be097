//! Evaluates expressions by tasks on a stack, so that deep nesting needs no recursion.

use std::sync::Arc;

use super::budget::tuple_size;
use super::{Builder, Val};
use crate::sink::ValueId;
use crate::term::{self, Term};
use tautomer_diag::Span;
use tautomer_lang::ast::{Ast, BinaryOp, Block, ExprId, ExprKind, Let, TypeExpr, TypeKind};
use tautomer_op::known;
use tautomer_tensor::{Dim, TensorType, Type};

/// A pending task; results of expressions are kept on a stack of values.
pub(super) enum Task<'a> {
    Eval(ExprId),
    /// Makes the value of an expression from the values above this height.
    Finish(ExprId, usize),
    Block(&'a Block),
    Let(&'a Let),
    Bind(Arc<str>, Val),
    PopScope(usize),
    PopFrame,
    /// Literals take the element types that the function declares for its result.
    Result(&'a TypeExpr),
}

impl<'a> Builder<'a> {
    /// Runs all tasks, the last one first, and returns the values they leave.
    pub(super) fn work(&mut self, mut tasks: Vec<Task<'a>>) -> Vec<Val> {
        let mut values: Vec<Val> = Vec::new();
        while let Some(task) = tasks.pop() {
            if self.budget.spent {
                return vec![None];
            }
            match task {
                Task::Eval(id) => {
                    if let Some(problem) = self.budget.evaluate(1, self.sink.size() + self.opens.len()) {
                        self.report(problem.label(self.ast.span(id), ""));
                        return vec![None];
                    }
                    self.start(id, &mut tasks, &mut values);
                }
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
                Task::Result(ty) => {
                    let value = match (values.pop().flatten(), element_types(ty)) {
                        (Some(term), Some(declared)) => self.coerced(term, &declared, ty.span),
                        (value, _) => value,
                    };
                    values.push(value);
                }
            }
        }
        values
    }

    fn start(&mut self, id: ExprId, tasks: &mut Vec<Task<'a>>, values: &mut Vec<Val>) {
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
            // A tensor of a script has its elements as a field.
            ExprKind::Field { base, name } if self.script.is_some() && name.as_str() == "data" => {
                tasks.push(Task::Eval(*base));
            }
            // The base is evaluated once its kind is known, because in rules it may be a family.
            ExprKind::Index { base: of, .. } | ExprKind::Slice { base: of, .. } if !self.fold_terms => {
                tasks.extend([Task::Finish(id, base), Task::Eval(*of)]);
            }
            ExprKind::Wildcard if self.lookup("_").is_some() => {
                let value = self.lookup("_").flatten();
                values.push(value);
            }
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
            ExprKind::When { cond, then, otherwise } => match self.condition(*cond) {
                Ok(holds) => tasks.push(Task::Block(if holds { then } else { otherwise })),
                Err(e) => {
                    self.report_term(e);
                    values.push(None);
                }
            },
            _ => {
                let value = self.term(id);
                values.push(value);
            }
        }
    }

    fn finish(&mut self, id: ExprId, args: Vec<Val>, tasks: &mut Vec<Task<'a>>, values: &mut Vec<Val>) {
        let Some(args) = args.into_iter().collect::<Option<Vec<_>>>() else {
            values.push(None);
            return;
        };
        let span = self.ast.span(id);
        let ast = self.ast;
        let typed = |t: &Term| matches!(t, Term::Value(_) | Term::Open(_));
        let literal = self.fold_terms && !args.iter().any(typed);
        let value = match ast.kind(id) {
            ExprKind::Unary { .. } | ExprKind::Binary { .. } if literal => self.term(id),
            ExprKind::Tuple(_) if literal => Some(Term::List(args)),
            // Scripts have no tuples; `(3, 3)` is a shape.
            ExprKind::Tuple(_) if self.script.is_some() && !args.iter().any(typed) => Some(Term::List(args)),
            ExprKind::Tuple(_) => self.tuple_of(args, span),
            ExprKind::Project { index, .. } => self.project(args, *index as usize, span),
            ExprKind::Index { .. } | ExprKind::Slice { .. } => match args.into_iter().next() {
                Some(Term::Value(v)) => self.tensor_index(id, v),
                Some(Term::Open(open)) => match self.vertex(Term::Open(open), span) {
                    Some(v) => self.tensor_index(id, v),
                    None => None,
                },
                _ => self.term(id),
            },
            ExprKind::Field { name, .. } => match self.lookup(&name.name) {
                Some(Some(Term::Int(Dim::Const(i)))) if i >= 0 => self.project(args, i as usize, span),
                _ => None,
            },
            ExprKind::Unary { op, operand } => self.known_call(op.operator(), args, &[*operand], span),
            ExprKind::Binary {
                op: BinaryOp::In,
                lhs,
                rhs,
            } => self.membership(args, *lhs, *rhs, span),
            ExprKind::Binary { op, lhs, rhs } => self.infix(*op, args, *lhs, *rhs, span),
            ExprKind::If { cond, then, otherwise } => {
                self.known_call(known::WHERE, args, &[*cond, then.result, otherwise.result], span)
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
                    && term::term_function(callee.as_str()).is_some()
                    && let Ok(term) = term::eval_within(ast, id, &*self, &mut self.budget.steps.clone())
                {
                    values.push(Some(term));
                    return;
                }
                if !*quoted && let Some(function) = self.function(&callee.name) {
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

    /// A tuple, if the budget has room for its type, which is checked before the tuple is made.
    pub(super) fn tuple_of_values(&mut self, items: &[ValueId], span: Span) -> Option<ValueId> {
        let sizes = items.iter().map(|item| tuple_size(self.sink.ty(*item)));
        let (parts, depth) = sizes.fold((0, 1), |(size, depth), (inner, nested)| {
            (size + 1 + inner, depth.max(nested + 1))
        });
        self.has_room(parts, depth, span).then(|| self.sink.tuple(items))
    }

    /// Schedules operands; a comprehension becomes one operand for each value of its variable.
    pub(super) fn push_args(&mut self, args: &'a [ExprId], tasks: &mut Vec<Task<'a>>) {
        for &arg in args.iter().rev() {
            let ExprKind::Comprehension { body, var, iter, cond } = self.ast.kind(arg) else {
                tasks.push(Task::Eval(arg));
                continue;
            };
            let items = match self.term(*iter) {
                Some(Term::List(items)) => items,
                _ => Vec::new(),
            };
            if let Some(problem) = self.budget.evaluate(items.len(), self.sink.size() + self.opens.len()) {
                self.report(problem.label(self.ast.span(arg), ""));
                return;
            }
            if self.fold_terms && items.len() > 1 {
                for id in invariant_calls(self.ast, *body, &var.name) {
                    let value = self.run(Task::Eval(id));
                    self.hoisted.insert(id, value);
                }
            }
            let depth = self.frame().undo.len();
            for item in items.into_iter().rev() {
                self.bind(&var.name, Some(item.clone()));
                let keep = cond.is_none_or(|c| self.condition(c).unwrap_or(true));
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
}

/// The largest calls inside `body` that do not mention `name`: in a comprehension they are written once and denote one
/// value. Calls under other binders are not moved.
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
            // Attributes are not values of the graph.
            ExprKind::Call { args, .. } | ExprKind::Tuple(args) => stack.extend(args),
            ExprKind::Unary { .. } | ExprKind::Binary { .. } | ExprKind::Project { .. } | ExprKind::Field { .. } => {
                stack.extend(ast.operands(id));
            }
            _ => {}
        }
    }
    out
}

/// A declared type as far as literals need it: its element types.
fn element_types(ty: &TypeExpr) -> Option<Type> {
    match &ty.kind {
        TypeKind::Tensor { dtype, .. } => Some(TensorType::any_rank((*dtype)?.dtype).into()),
        TypeKind::Tuple(items) => items.iter().map(element_types).collect::<Option<_>>().map(Type::Tuple),
        TypeKind::Sequence(_) | TypeKind::Optional(_) => None,
    }
}
