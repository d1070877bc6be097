//! Line layout of expressions.

use std::borrow::Cow;

use super::super::ast::*;
use super::{base_prec, callee_text, iter_prec, leaf, operand_precs, prec_of, unary_prec};

/// The maximum width of a line.
pub(super) const COLUMNS: u32 = 100;

/// The maximum indentation, which keeps the text linear in the size of the tree.
const MAX_INDENT: u32 = 60;

/// A width that fits no line.
pub(super) const WIDE: u32 = 1 << 20;

/// The text being written.
pub(super) struct Printer<'a> {
    pub(super) ast: &'a Ast,
    pub(super) comments: &'a [Comment],
    pub(super) out: String,
    pub(super) column: u32,
    /// The width of each expression on one line, without enclosing parentheses.
    pub(super) widths: Vec<u32>,
    tasks: Vec<Task<'a>>,
}

/// Something left to write.
enum Task<'a> {
    Text(Cow<'static, str>),
    Name(&'a str),
    Line(u32),
    /// A space, or a new line if what follows does not fit.
    Fill(u32, u32),
    /// An expression that must bind as tightly as `min`, with `tail` columns to follow on its line.
    Expr {
        id: ExprId,
        min: u8,
        tail: u32,
        indent: u32,
        flat: bool,
    },
    Let(&'a Let, u32),
}

impl<'a> Printer<'a> {
    pub(super) fn new(ast: &'a Ast, comments: &'a [Comment]) -> Self {
        let mut printer = Printer {
            ast,
            comments,
            out: String::new(),
            column: 0,
            widths: Vec::with_capacity(ast.len()),
            tasks: Vec::new(),
        };
        for (_, expr) in ast.iter() {
            let width = printer.measure(&expr.kind);
            printer.widths.push(width.min(WIDE));
        }
        printer
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn text(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count() as u32;
    }

    pub(super) fn line(&mut self, indent: u32) {
        self.out.push('\n');
        self.column = indent.min(MAX_INDENT);
        self.out.extend(std::iter::repeat_n(' ', self.column as usize));
    }

    /// A type as a separate string.
    pub(super) fn type_text(&mut self, ty: &TypeExpr) -> String {
        let (out, tasks) = (std::mem::take(&mut self.out), std::mem::take(&mut self.tasks));
        let column = self.column;
        self.type_expr(ty);
        self.column = column;
        self.tasks = tasks;
        std::mem::replace(&mut self.out, out)
    }

    /// An expression that may take several lines.
    pub(super) fn expr(&mut self, id: ExprId, min: u8, tail: u32, indent: u32) {
        self.tasks.push(Task::Expr {
            id,
            min,
            tail,
            indent,
            flat: false,
        });
        self.run();
    }

    /// An expression on one line, if it has no definitions inside.
    pub(super) fn flat(&mut self, id: ExprId, min: u8) {
        self.tasks.push(Task::Expr {
            id,
            min,
            tail: 0,
            indent: 0,
            flat: true,
        });
        self.run();
    }

    pub(super) fn let_stmt(&mut self, stmt: &'a Let, indent: u32) {
        self.tasks.push(Task::Let(stmt, indent));
        self.run();
    }

    fn run(&mut self) {
        while let Some(task) = self.tasks.pop() {
            let from = self.tasks.len();
            match task {
                Task::Text(text) => self.text(&text),
                Task::Name(text) => self.text(text),
                Task::Line(indent) => self.line(indent),
                Task::Fill(width, indent) => {
                    if self.fits(width + 2) {
                        self.text(" ");
                    } else {
                        self.line(indent);
                    }
                }
                Task::Let(stmt, indent) => self.open_let(stmt, indent),
                Task::Expr {
                    id,
                    min,
                    tail,
                    indent,
                    flat,
                } => {
                    let parens = prec_of(self.ast.kind(id)) < min;
                    let flat = flat || self.fits(self.width(id, min) + tail);
                    if parens {
                        self.push("(");
                    }
                    let tail = tail + u32::from(parens);
                    self.open(id, tail, indent, flat);
                    if parens {
                        self.push(")");
                    }
                }
            }
            self.tasks[from..].reverse();
        }
    }

    fn push(&mut self, text: impl Into<Cow<'static, str>>) {
        self.tasks.push(Task::Text(text.into()));
    }

    fn push_expr(&mut self, id: ExprId, min: u8, tail: u32, indent: u32, flat: bool) {
        self.tasks.push(Task::Expr {
            id,
            min,
            tail,
            indent,
            flat,
        });
    }

    fn open_let(&mut self, stmt: &'a Let, indent: u32) {
        self.text("let ");
        match &stmt.names {
            LetNames::One(name) => self.text(name.as_str()),
            LetNames::Tuple(names) => {
                let names: Vec<&str> = names.iter().map(Ident::as_str).collect();
                let comma = if names.len() == 1 { "," } else { "" };
                self.text(&format!("({}{comma})", names.join(", ")));
            }
        }
        if let Some(ty) = &stmt.ty {
            self.text(": ");
            let ty = self.type_text(ty);
            self.text(&ty);
        }
        self.text(" = ");
        self.push_expr(stmt.value, prec::RANGE, 1, indent, false);
        self.push(";");
    }

    /// Replaces an expression by its parts, in order.
    fn open(&mut self, id: ExprId, tail: u32, indent: u32, flat: bool) {
        let ast = self.ast;
        match ast.kind(id) {
            ExprKind::List(items) => self.open_list("[", items, "]", indent, flat),
            ExprKind::Tuple(items) if items.len() == 1 => {
                self.push("(");
                self.push_expr(items[0], prec::COMPREHENSION, 2, indent, flat);
                self.push(",)");
            }
            ExprKind::Tuple(items) => self.open_list("(", items, ")", indent, flat),
            ExprKind::Call {
                callee,
                quoted,
                args,
                attrs,
            } => {
                let name = callee_text(callee, *quoted);
                let args_width = args.iter().fold(name.chars().count() as u32 + 5, |sum: u32, &arg| {
                    sum.saturating_add(self.width(arg, prec::COMPREHENSION) + 2)
                });
                // The attributes break first if the operands fit.
                let one_line = flat || (attrs.is_some() && self.fits(args_width));
                self.push(name);
                self.open_list("(", args, ")", indent, one_line);
                if let Some(attrs) = attrs {
                    let flat = flat || (!one_line && indent + 4 + self.attrs_width(attrs) + tail <= COLUMNS);
                    self.push(" ");
                    self.open_attrs(attrs, indent, flat);
                }
            }
            ExprKind::Project { base, index } => {
                let suffix = format!(".{index}");
                self.push_expr(
                    *base,
                    base_prec(ast.kind(*base)),
                    tail + suffix.len() as u32,
                    indent,
                    flat,
                );
                self.push(suffix);
            }
            ExprKind::Field { base, name } => {
                let width = name.name.chars().count() as u32 + 1;
                self.push_expr(*base, base_prec(ast.kind(*base)), tail + width, indent, flat);
                self.push(".");
                self.tasks.push(Task::Name(name.as_str()));
            }
            ExprKind::Index { base, index } => {
                let width = self.width(*index, prec::OR) + 2;
                self.push_expr(*base, base_prec(ast.kind(*base)), tail + width, indent, flat);
                self.push("[");
                self.push_expr(*index, prec::OR, tail + 1, indent, flat);
                self.push("]");
            }
            ExprKind::Slice { base, start, end } => {
                self.push_expr(*base, base_prec(ast.kind(*base)), tail + 4, indent, flat);
                self.push("[");
                self.open_range(*start, *end, tail + 1, indent, flat);
                self.push("]");
            }
            ExprKind::Range { start, end } => self.open_range(*start, *end, tail, indent, flat),
            ExprKind::Unary { op, operand } => {
                self.push(op.symbol());
                self.push_expr(*operand, unary_prec(*op, ast.kind(*operand)), tail, indent, flat);
            }
            ExprKind::Binary { .. } => self.open_binary(id, tail, indent, flat),
            ExprKind::If { .. } | ExprKind::When { .. } => self.open_choice(id, indent, flat),
            ExprKind::Comprehension { body, var, iter, cond } => {
                self.push_expr(*body, prec::RANGE, 0, indent, flat);
                if flat {
                    self.push(" ")
                } else {
                    self.tasks.push(Task::Line(indent + 2))
                }
                self.push("for ");
                self.tasks.push(Task::Name(var.as_str()));
                self.push(" in ");
                self.push_expr(*iter, iter_prec(ast.kind(*iter)), tail, indent + 2, flat);
                if let Some(cond) = cond {
                    self.push(" if ");
                    self.push_expr(*cond, prec::RANGE, tail, indent + 2, flat);
                }
            }
            ExprKind::Name(name) if crate::is_name(name) => self.tasks.push(Task::Name(name)),
            ExprKind::Name(name) => self.tasks.extend([Task::Name("`"), Task::Name(name), Task::Name("`")]),
            kind => self.push(leaf(kind)),
        }
    }

    fn open_range(&mut self, start: Option<ExprId>, end: Option<ExprId>, tail: u32, indent: u32, flat: bool) {
        if let Some(start) = start {
            self.push_expr(start, prec::OR, tail + 2, indent, flat);
        }
        self.push("..");
        if let Some(end) = end {
            self.push_expr(end, prec::OR, tail, indent, flat);
        }
    }

    fn open_list(&mut self, open: &'static str, items: &'a [ExprId], close: &'static str, indent: u32, flat: bool) {
        self.push(open);
        let literal = |id: &ExprId| {
            matches!(
                self.ast.kind(*id),
                ExprKind::Int { .. } | ExprKind::Float { .. } | ExprKind::Bool(_)
            )
        };
        let fill = items.len() > 1 && items.iter().all(literal);
        let broken = !flat && !items.is_empty();
        if broken {
            self.tasks.push(Task::Line(indent + 2));
        }
        for (i, &item) in items.iter().enumerate() {
            if i > 0 {
                match (broken, fill) {
                    (false, _) => self.push(" "),
                    (true, false) => self.tasks.push(Task::Line(indent + 2)),
                    (true, true) => self
                        .tasks
                        .push(Task::Fill(self.width(item, prec::COMPREHENSION), indent + 2)),
                }
            }
            self.push_expr(item, prec::COMPREHENSION, 1, indent + 2, flat);
            if broken || i + 1 < items.len() {
                self.push(",");
            }
        }
        if broken {
            self.tasks.push(Task::Line(indent));
        }
        self.push(close);
    }

    fn open_attrs(&mut self, attrs: &'a Attrs, indent: u32, flat: bool) {
        let broken = !flat && (attrs.rest.is_some() || !attrs.entries.is_empty());
        let count = attrs.entries.len() + usize::from(attrs.rest.is_some());
        self.push("{");
        let mut written = 0;
        let mut next = |printer: &mut Self| {
            if broken {
                printer.tasks.push(Task::Line(indent + 2));
            } else if written > 0 {
                printer.push(" ");
            }
            written += 1;
            if broken || written < count { "," } else { "" }
        };
        if let Some(rest) = &attrs.rest {
            let comma = next(self);
            self.push("..");
            self.tasks.push(Task::Name(rest.as_str()));
            self.push(comma);
        }
        for attr in &attrs.entries {
            let comma = next(self);
            self.tasks.push(Task::Name(attr.name.as_str()));
            self.push(" = ");
            self.push_expr(attr.value, prec::RANGE, 1, indent + 2, flat);
            self.push(comma);
        }
        if broken {
            self.tasks.push(Task::Line(indent));
        }
        self.push("}");
    }

    /// A chain `a + b - c` breaks before each of its operators.
    fn open_binary(&mut self, id: ExprId, tail: u32, indent: u32, flat: bool) {
        let ast = self.ast;
        let mut links = Vec::new();
        let mut first = id;
        while let ExprKind::Binary { op, lhs, rhs } = ast.kind(first) {
            let chained = links.last().is_none_or(|&(before, _): &(BinaryOp, ExprId)| {
                before.prec() == op.prec() && *op != BinaryOp::Pow && !op.is_comparison()
            });
            if !chained {
                break;
            }
            links.push((*op, *rhs));
            first = *lhs;
        }
        let Some(&(op, _)) = links.last() else { return };
        self.push_expr(first, operand_precs(op).0, 0, indent, flat);
        for (i, &(op, rhs)) in links.iter().enumerate().rev() {
            if flat {
                self.push(" ")
            } else {
                self.tasks.push(Task::Line(indent + 2))
            }
            self.push(self.ast.symbol(op));
            self.push(" ");
            self.push_expr(
                rhs,
                operand_precs(op).1,
                if i == 0 { tail } else { 0 },
                indent + 2,
                flat,
            );
        }
    }

    fn open_choice(&mut self, id: ExprId, indent: u32, flat: bool) {
        let ast = self.ast;
        let mut next = Some(id);
        while let Some(id) = next.take() {
            let (then, otherwise) = match ast.kind(id) {
                ExprKind::If { cond, then, otherwise } => {
                    self.push("if (");
                    self.push_expr(*cond, prec::COMPREHENSION, 3, indent, flat);
                    self.push(") ");
                    (then, otherwise)
                }
                ExprKind::When { cond, then, otherwise } => {
                    self.push("when ");
                    self.push_expr(*cond, prec::RANGE, 2, indent, flat);
                    self.push(" ");
                    (then, otherwise)
                }
                _ => return,
            };
            self.open_block(then, indent, flat);
            self.push(" else ");
            let same_kind = std::mem::discriminant(ast.kind(id)) == std::mem::discriminant(ast.kind(otherwise.result));
            if otherwise.lets.is_empty() && same_kind {
                next = Some(otherwise.result);
            } else {
                self.open_block(otherwise, indent, flat);
            }
        }
    }

    fn open_block(&mut self, block: &'a Block, indent: u32, flat: bool) {
        let broken = !flat || !block.lets.is_empty();
        self.push(if broken { "{" } else { "{ " });
        for stmt in &block.lets {
            self.tasks.push(Task::Line(indent + 2));
            self.tasks.push(Task::Let(stmt, indent + 2));
        }
        if broken {
            self.tasks.push(Task::Line(indent + 2));
        }
        self.push_expr(block.result, prec::OR, 0, indent + 2, flat);
        if broken {
            self.tasks.push(Task::Line(indent));
            self.push("}");
        } else {
            self.push(" }");
        }
    }
}
