//! Items from syntax trees, with an explicit stack.

use smallvec::SmallVec;

use tautomer_diag::{Diagnostic, did_you_mean};
use tautomer_lang::ast::{BinaryOp, Block, ExprId, ExprKind, UnaryOp};
use tautomer_tensor::DType;

use super::{Infer, Item, ItemKind};
use crate::function::{function_names, lookup};
use crate::program::Literal;
use crate::refused::refused;
use crate::schema::named_type;
use crate::types::{Type, TypeSet};

/// The longest string literal, which is the same in every row of a tile.
const MAX_TEXT: usize = 1 << 16;

/// What to do with an expression: its parts first.
enum Task {
    Enter(ExprId),
    Leave(ExprId, ItemKind, usize, Option<&'static str>),
}

impl Infer<'_> {
    /// The item of an expression, after those of its parts.
    pub(super) fn lower(&mut self, root: ExprId) -> usize {
        let mut tasks = vec![Task::Enter(root)];
        let mut done: Vec<usize> = Vec::new();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Enter(id) => self.enter(id, &mut tasks, &mut done),
                Task::Leave(id, kind, count, symbol) => {
                    let children: SmallVec<[usize; 3]> = done.drain(done.len() - count..).collect();
                    let at = self.items.len();
                    for &child in &children {
                        self.items[child].parent = Some(at);
                    }
                    let types = match &kind {
                        ItemKind::Cast(ty) => TypeSet::one(*ty),
                        ItemKind::And | ItemKind::Or | ItemKind::In => TypeSet::one(Type::Bool),
                        _ => TypeSet::ALL,
                    };
                    done.push(self.item(id, kind, types));
                    self.items[at].children = children;
                    self.items[at].symbol = symbol;
                }
            }
        }
        done.pop().unwrap_or(0)
    }

    fn item(&mut self, id: ExprId, kind: ItemKind, types: TypeSet) -> usize {
        self.items.push(Item {
            kind,
            children: SmallVec::new(),
            parent: None,
            types,
            span: self.ast.span(id),
            symbol: None,
        });
        self.items.len() - 1
    }

    fn broken(&mut self, id: ExprId, problem: Diagnostic) -> usize {
        self.problems.push(problem);
        self.item(id, ItemKind::Broken, TypeSet::ALL)
    }

    fn enter(&mut self, id: ExprId, tasks: &mut Vec<Task>, done: &mut Vec<usize>) {
        let mut parts = |kind: ItemKind, parts: &[ExprId], symbol: Option<&'static str>| {
            tasks.push(Task::Leave(id, kind, parts.len(), symbol));
            tasks.extend(parts.iter().rev().map(|&part| Task::Enter(part)));
        };
        let ast = self.ast;
        let span = ast.span(id);
        let at = match ast.kind(id) {
            ExprKind::Int { value, suffix } => {
                let types = suffix.map_or(Some(TypeSet::NUMBERS), |dtype| column_type(dtype).map(TypeSet::one));
                match types {
                    Some(types) => self.item(id, ItemKind::Literal(Literal::Int(*value)), types),
                    None => self.broken(id, no_suffix(*suffix).label(span, "")),
                }
            }
            ExprKind::Float { value, suffix } => {
                let types = suffix.map_or(Some(TypeSet::FLOATS), |dtype| column_type(dtype).map(TypeSet::one));
                match types {
                    Some(types) => self.item(id, ItemKind::Literal(Literal::Float(value.to_bits())), types),
                    None => self.broken(id, no_suffix(*suffix).label(span, "")),
                }
            }
            ExprKind::Bool(value) => self.item(id, ItemKind::Literal(Literal::Bool(*value)), TypeSet::one(Type::Bool)),
            ExprKind::Str(text) if text.len() > MAX_TEXT => {
                let problem = Diagnostic::error("T0602", format!("a string of {} bytes", text.len()));
                let problem = problem.label(span, format!("the limit is {MAX_TEXT}"));
                self.broken(id, problem.help("long texts are values of a column"))
            }
            ExprKind::Str(text) => self.item(id, ItemKind::Literal(Literal::Str(text.clone())), TypeSet::TEXTS),
            ExprKind::Name(name) if &**name == "null" && ast.source.slice(span) == "null" => {
                self.item(id, ItemKind::Literal(Literal::Null), TypeSet::ALL)
            }
            ExprKind::Name(name) => self.field(id, name),
            ExprKind::Call {
                callee, args, attrs, ..
            } if callee.as_str().eq_ignore_ascii_case("cast") => {
                let attribute = attrs.as_ref().and_then(|attrs| match attrs.entries.as_slice() {
                    [to] if to.name.as_str() == "to" => Some(to.value),
                    _ => None,
                });
                let to = match (args.as_slice(), attribute) {
                    (&[value, to], None) | (&[value], Some(to)) => self.type_name(to).map(|ty| (value, ty)),
                    _ => Err(Diagnostic::error("T0102", "`cast` takes a value and a type")
                        .label(span, "")
                        .help("`cast(x, f64)`")),
                };
                match to {
                    Ok((value, ty)) => return parts(ItemKind::Cast(ty), &[value], None),
                    Err(problem) => self.broken(id, problem),
                }
            }
            ExprKind::Call {
                callee, args, attrs, ..
            } => {
                if attrs.is_some() {
                    let problem = Diagnostic::error("T0103", format!("`{}` has no attributes", callee.as_str()));
                    self.problems.push(problem.label(span, ""));
                }
                match lookup(callee.as_str()) {
                    Some(function) if function.signatures.iter().any(|form| form.takes(args.len())) => {
                        return parts(ItemKind::Call(function), args, None);
                    }
                    Some(function) => {
                        let count = args.len();
                        let plural = if count == 1 { "" } else { "s" };
                        let name = callee.as_str();
                        let mut problem =
                            Diagnostic::error("T0102", format!("`{name}` does not take {count} argument{plural}"))
                                .label(callee.span, "");
                        for form in super::forms(function).iter().take(8) {
                            problem = problem.note(format!("{}{form}", function.name()));
                        }
                        self.broken(id, problem)
                    }
                    None => {
                        let problem = unknown_function(callee.as_str()).label(callee.span, "");
                        self.broken(id, problem)
                    }
                }
            }
            ExprKind::Unary { op, operand } => {
                let (name, symbol) = match op {
                    UnaryOp::Neg => ("negative", "-"),
                    UnaryOp::Not => ("not", "!"),
                    UnaryOp::BitNot => ("bitwise_not", "~"),
                };
                let function = lookup(name).expect("operators are in the table");
                return parts(ItemKind::Call(function), &[*operand], Some(symbol));
            }
            ExprKind::Binary { op, lhs, rhs } => match op {
                BinaryOp::And => return parts(ItemKind::And, &[*lhs, *rhs], None),
                BinaryOp::Or => return parts(ItemKind::Or, &[*lhs, *rhs], None),
                BinaryOp::In => match self.members(id, *lhs, *rhs) {
                    Ok(all) => return parts(ItemKind::In, &all, None),
                    Err(problem) => self.broken(id, problem),
                },
                _ => match function_of(*op, ast.power_caret) {
                    Some(name) => {
                        let function = lookup(name).expect("operators are in the table");
                        return parts(ItemKind::Call(function), &[*lhs, *rhs], Some(op.symbol()));
                    }
                    None => self.broken(id, foreign(&format!("`{}`", op.symbol())).label(span, "")),
                },
            },
            ExprKind::If { cond, then, otherwise } => match (only(then), only(otherwise)) {
                (Some(then), Some(otherwise)) => return parts(ItemKind::If, &[*cond, then, otherwise], None),
                _ => self.broken(id, foreign("`let`").label(span, "")),
            },
            other => {
                let what = match other {
                    ExprKind::List(_) => "a list in brackets",
                    ExprKind::Tuple(_) => "a list in parentheses, except after `in`,",
                    ExprKind::When { .. } => "`when`",
                    ExprKind::Comprehension { .. } => "`for`",
                    ExprKind::Positional(_) => "a positional input",
                    ExprKind::Wildcard => "`_`",
                    _ => "this",
                };
                self.broken(id, foreign(what).label(span, ""))
            }
        };
        done.push(at);
    }

    fn field(&mut self, id: ExprId, name: &str) -> usize {
        let span = self.ast.span(id);
        let schema = self.schema;
        if let Ok(column) = schema.index_of(name) {
            let data_type = schema.field(column).data_type();
            return match Type::of(data_type) {
                Some(ty) => self.item(id, ItemKind::Field(column), TypeSet::one(ty)),
                None => {
                    let problem = Diagnostic::error("T0705", format!("columns of type {data_type} cannot be used"))
                        .label(span, format!("`{name}` is {data_type}"))
                        .help("convert the column before, to `f64` or `i64`");
                    self.broken(id, problem)
                }
            };
        }
        let names = || schema.fields().iter().map(|field| field.name().as_str());
        let mut problem = Diagnostic::error("T0104", format!("unknown column `{name}`")).label(span, "");
        problem = match did_you_mean(name, names()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help(format!("the columns are {}", listed(names()))),
        };
        self.broken(id, problem)
    }

    fn type_name(&self, id: ExprId) -> Result<Type, Diagnostic> {
        let text = match self.ast.kind(id) {
            ExprKind::Name(name) | ExprKind::Str(name) => Some(name),
            _ => None,
        };
        text.and_then(|text| named_type(text)).ok_or_else(|| {
            Diagnostic::error("T0706", "not the name of a type")
                .label(self.ast.span(id), "")
                .help("`f64`, `int32`, `utf8`, `date32`, `timestamp_ms` and others")
        })
    }

    /// The value and the members of `in`.
    fn members(&self, id: ExprId, value: ExprId, list: ExprId) -> Result<Vec<ExprId>, Diagnostic> {
        let mut all = vec![value];
        match self.ast.kind(list) {
            ExprKind::Tuple(members) if members.is_empty() => {
                return Err(Diagnostic::error("T0015", "membership in an empty list")
                    .label(self.ast.span(list), "no members")
                    .help("nothing is a member of it: write `false`"));
            }
            ExprKind::Tuple(members) => all.extend(members),
            _ => {
                let end = self.ast.span(list).start;
                let between = tautomer_diag::Span::new(self.ast.span(value).end, end);
                if !self.ast.source.slice(between).trim_end().ends_with('(') {
                    return Err(
                        Diagnostic::error("T0001", "the members of `in` are written in parentheses")
                            .label(self.ast.span(id), "")
                            .help("`x in (1, 2, 3)`"),
                    );
                }
                all.push(list);
            }
        }
        Ok(all)
    }
}

/// The function that an infix operator stands for.
fn function_of(op: BinaryOp, power_caret: bool) -> Option<&'static str> {
    Some(match op {
        BinaryOp::Add => "add",
        BinaryOp::Sub => "subtract",
        BinaryOp::Mul => "multiply",
        BinaryOp::Div => "divide",
        BinaryOp::Rem => "mod",
        BinaryOp::Pow => "power",
        BinaryOp::Eq => "equal",
        BinaryOp::Ne => "not_equal",
        BinaryOp::Lt => "less_than",
        BinaryOp::Le => "less_than_or_equal_to",
        BinaryOp::Gt => "greater_than",
        BinaryOp::Ge => "greater_than_or_equal_to",
        BinaryOp::BitAnd => "bitwise_and",
        BinaryOp::BitOr => "bitwise_or",
        BinaryOp::BitXor => "bitwise_xor",
        // `a++b` is `a + (+b)` where `^` is power, as in other calculators.
        BinaryOp::Concat if power_caret => "add",
        BinaryOp::MatMul | BinaryOp::Concat | BinaryOp::And | BinaryOp::Or | BinaryOp::In => return None,
    })
}

fn only(block: &Block) -> Option<ExprId> {
    block.lets.is_empty().then_some(block.result)
}

fn column_type(dtype: DType) -> Option<Type> {
    named_type(dtype.name()).filter(|_| !matches!(dtype, DType::F16 | DType::BF16))
}

fn no_suffix(dtype: Option<DType>) -> Diagnostic {
    let name = dtype.map_or("", DType::name);
    Diagnostic::error(
        "T0005",
        format!("expressions over columns have no literals of type {name}"),
    )
    .help("write the suffix `f32`")
}

fn foreign(what: &str) -> Diagnostic {
    Diagnostic::error("T0701", format!("{what} is not part of expressions over columns"))
}

fn unknown_function(name: &str) -> Diagnostic {
    if let Some(reason) = refused(name) {
        return Diagnostic::error("T0705", format!("the function `{name}` is not supported")).note(reason);
    }
    let problem = Diagnostic::error("T0101", format!("unknown function `{name}`"));
    match did_you_mean(&name.to_ascii_lowercase(), function_names()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help("`tautomer eval --functions` lists them all"),
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len() {
        0 => "none".to_owned(),
        count if count > 12 => format!("`{}` and {} others", names[..10].join("`, `"), count - 10),
        _ => format!("`{}`", names.join("`, `")),
    }
}
