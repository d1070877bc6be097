//! The spanned syntax tree of programs and rules.
//!
//! Expressions live in one arena and refer to each other by [`ExprId`]; children are pushed before their parents.
//! Nothing here is nested by ownership to a depth the user controls, so dropping a tree never recurses.

mod columns;
mod compact;
mod items;
mod ops;
mod targets;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tautomer_diag::{Source, Span};
use tautomer_tensor::DType;

pub use columns::*;
pub use items::*;
pub use ops::{BinaryOp, UnaryOp, prec};
pub use targets::*;

/// The index of an expression in its [`Ast`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExprId(u32);

impl ExprId {
    /// The position in the arena.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The arena of all expressions of one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ast {
    /// The text the spans refer to.
    #[serde(skip, default = "no_source")]
    pub source: Arc<Source>,
    /// `^` means power in the text, by `pragma power_caret`.
    pub power_caret: bool,
    exprs: Vec<Expr>,
}

/// A comprehension without a condition: `body for var in iter`.
#[derive(Debug, Clone, Copy)]
pub struct Each<'a> {
    /// The expression that is evaluated for each value.
    pub body: ExprId,
    /// The name of the value.
    pub var: &'a str,
    /// The values.
    pub iter: ExprId,
}

impl Ast {
    /// An arena without expressions.
    pub fn new(source: Arc<Source>) -> Self {
        Ast {
            source,
            power_caret: false,
            exprs: Vec::new(),
        }
    }

    /// An arena for a tree that was not parsed from text.
    pub fn synthetic() -> Self {
        Ast::new(no_source())
    }

    /// How an infix operator is spelled in this text.
    pub fn symbol(&self, op: BinaryOp) -> &'static str {
        match op {
            BinaryOp::Pow if self.power_caret => "^",
            _ => op.symbol(),
        }
    }

    /// Adds an expression whose children have been added before.
    pub fn push(&mut self, kind: ExprKind, span: Span) -> ExprId {
        // A source has less than 2^32 bytes and every expression of it at least one.
        let id = ExprId(self.exprs.len() as u32);
        self.exprs.push(Expr { kind, span });
        id
    }

    /// Adds an expression that was not parsed from text.
    pub fn make(&mut self, kind: ExprKind) -> ExprId {
        self.push(kind, Span::default())
    }

    /// The expression at `id`.
    pub fn get(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// The kind of the expression at `id`.
    pub fn kind(&self, id: ExprId) -> &ExprKind {
        &self.get(id).kind
    }

    /// The span of the expression at `id`.
    pub fn span(&self, id: ExprId) -> Span {
        self.get(id).span
    }

    /// The number of expressions.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// True if there are no expressions.
    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }

    /// The parts of `body for var in iter`, a comprehension without a condition.
    pub fn each(&self, id: ExprId) -> Option<Each<'_>> {
        match self.kind(id) {
            ExprKind::Comprehension {
                body,
                var,
                iter,
                cond: None,
            } => Some(Each {
                body: *body,
                var: var.as_str(),
                iter: *iter,
            }),
            _ => None,
        }
    }

    /// The expressions directly below `id` in text order, including those of attributes and blocks.
    pub fn operands(&self, id: ExprId) -> Vec<ExprId> {
        let block = |b: &Block| -> Vec<ExprId> { b.lets.iter().map(|l| l.value).chain([b.result]).collect() };
        match self.kind(id) {
            ExprKind::List(items) | ExprKind::Tuple(items) => items.clone(),
            ExprKind::Call { args, attrs, .. } => {
                let entries = attrs.iter().flat_map(|a| a.entries.iter().map(|e| e.value));
                args.iter().copied().chain(entries).collect()
            }
            ExprKind::Project { base, .. } | ExprKind::Field { base, .. } => vec![*base],
            ExprKind::Index { base, index } => vec![*base, *index],
            ExprKind::Slice { base, start, end } => [Some(*base), *start, *end].into_iter().flatten().collect(),
            ExprKind::Range { start, end } => [*start, *end].into_iter().flatten().collect(),
            ExprKind::Unary { operand, .. } => vec![*operand],
            ExprKind::Binary { lhs, rhs, .. } => vec![*lhs, *rhs],
            ExprKind::If { cond, then, otherwise } | ExprKind::When { cond, then, otherwise } => {
                let mut out = vec![*cond];
                out.extend(block(then));
                out.extend(block(otherwise));
                out
            }
            ExprKind::Comprehension { body, iter, cond, .. } => {
                [Some(*iter), *cond, Some(*body)].into_iter().flatten().collect()
            }
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Name(_)
            | ExprKind::Positional(_)
            | ExprKind::Wildcard => Vec::new(),
        }
    }

    /// True if the expression at `id` or one below it is a name, or a field of a name, that `wanted` accepts; names
    /// bound by a comprehension inside it do not count.
    pub fn mentions(&self, id: ExprId, wanted: &dyn Fn(&str) -> bool) -> bool {
        let mut stack: Vec<(ExprId, Vec<&str>)> = vec![(id, Vec::new())];
        while let Some((id, bound)) = stack.pop() {
            let is_wanted = |name: &str| wanted(name) && !bound.contains(&name);
            match self.kind(id) {
                ExprKind::Name(name) if is_wanted(name) => return true,
                ExprKind::Field { name, .. } if is_wanted(&name.name) => return true,
                ExprKind::Comprehension { body, var, iter, cond } => {
                    stack.push((*iter, bound.clone()));
                    let mut inner = bound;
                    inner.push(&var.name);
                    stack.extend([Some(*body), *cond].into_iter().flatten().map(|id| (id, inner.clone())));
                }
                _ => stack.extend(self.operands(id).into_iter().map(|id| (id, bound.clone()))),
            }
        }
        false
    }

    /// Every expression with its index, children before parents.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ExprId, &Expr)> {
        self.exprs.iter().enumerate().map(|(i, e)| (ExprId(i as u32), e))
    }
}

/// The source of trees that were not parsed from text.
fn no_source() -> Arc<Source> {
    Arc::new(Source::new("<generated>", ""))
}

/// An expression with its span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expr {
    /// Its kind.
    pub kind: ExprKind,
    /// Its span.
    pub span: Span,
}

/// A name with its span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ident {
    /// The name itself.
    #[serde(deserialize_with = "compact::shared")]
    pub name: Arc<str>,
    /// Its span.
    pub span: Span,
}

impl Ident {
    /// A name that was not parsed from text.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Ident {
            name: name.into(),
            span: Span::default(),
        }
    }

    /// The name as a string.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ExprKind {
    /// `1`, `-1`, `1i64`. A minus sign directly before a number belongs to it.
    Int {
        /// The value.
        value: i128,
        /// The element type, if written.
        suffix: Option<DType>,
    },
    /// `2.5`, `1e-5f32`, `inf`, `nan_f16`.
    Float {
        /// The value.
        value: f64,
        /// The element type, if written.
        suffix: Option<DType>,
    },
    /// `true`, `false`.
    Bool(bool),
    /// `"text"`, `'text'`.
    #[serde(deserialize_with = "compact::shared")]
    Str(Arc<str>),
    /// A variable.
    #[serde(deserialize_with = "compact::shared")]
    Name(Arc<str>),
    /// `@0`: a positional input.
    Positional(u32),
    /// `_`: anything, unnamed.
    Wildcard,
    /// `[a, b]`: a tensor literal or a list.
    List(Vec<ExprId>),
    /// `(a, b)`, `(a,)`, `()`.
    Tuple(Vec<ExprId>),
    /// `f(x, y) {axis = 1}`.
    Call {
        /// The operator or function.
        callee: Ident,
        /// The name was written as a string: `"com.microsoft::Gelu"(x)`.
        quoted: bool,
        /// The operands.
        args: Vec<ExprId>,
        /// The attributes in braces, if any.
        attrs: Option<Box<Attrs>>,
    },
    /// `e.0`.
    Project {
        /// A tuple.
        base: ExprId,
        /// Which element.
        index: u32,
    },
    /// `x.shape`, and `s.i` inside comprehensions.
    Field {
        /// What the field belongs to.
        base: ExprId,
        /// Which field.
        name: Ident,
    },
    /// `w[i]`.
    Index {
        /// A list or an indexed variable.
        base: ExprId,
        /// Which element.
        index: ExprId,
    },
    /// `shape[2..]`.
    Slice {
        /// A list.
        base: ExprId,
        /// The first element; the beginning if absent.
        start: Option<ExprId>,
        /// One past the last element; the end if absent.
        end: Option<ExprId>,
    },
    /// `0..n`.
    Range {
        /// The first value.
        start: Option<ExprId>,
        /// One past the last value.
        end: Option<ExprId>,
    },
    /// `-x`, `!x`, `~x`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// The operand.
        operand: ExprId,
    },
    /// `a + b`.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// The left operand.
        lhs: ExprId,
        /// The right operand.
        rhs: ExprId,
    },
    /// `if (c) { a } else { b }`, also written `if(c, a, b)`.
    If {
        /// A boolean, possibly a tensor.
        cond: ExprId,
        /// The value where `cond` holds.
        then: Box<Block>,
        /// The value where it does not.
        otherwise: Box<Block>,
    },
    /// `when c { a } else { b }`: a choice made while rewriting.
    When {
        /// A condition on attributes and shapes.
        cond: ExprId,
        /// The result if `cond` holds.
        then: Box<Block>,
        /// The result if it does not.
        otherwise: Box<Block>,
    },
    /// `e for i in 0..n if c`.
    Comprehension {
        /// One element.
        body: ExprId,
        /// The loop variable.
        var: Ident,
        /// The values it takes.
        iter: ExprId,
        /// The condition that filters them.
        cond: Option<ExprId>,
    },
}

/// The attributes of a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Attrs {
    /// `axis = 1`, in the order written.
    pub entries: Vec<Attr>,
    /// `..a`: all the others.
    pub rest: Option<Ident>,
    /// The span of the braces.
    pub span: Span,
}

/// One attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attr {
    /// Which attribute.
    pub name: Ident,
    /// Its value.
    pub value: ExprId,
}

/// Definitions followed by a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The definitions, each visible to the ones after it.
    pub lets: Vec<Let>,
    /// The value.
    pub result: ExprId,
    /// Its span.
    pub span: Span,
}

impl Block {
    /// A block that is one expression.
    pub fn of(result: ExprId) -> Self {
        Block {
            lets: Vec::new(),
            result,
            span: Span::default(),
        }
    }
}

/// `let (a, b): type = value;`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Let {
    /// The names it defines.
    pub names: LetNames,
    /// The declared type.
    pub ty: Option<TypeExpr>,
    /// The value.
    pub value: ExprId,
    /// Its span.
    pub span: Span,
}

/// The left side of a `let`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LetNames {
    /// `let a`
    One(Ident),
    /// `let (a, b)`
    Tuple(Vec<Ident>),
}

/// A type as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TypeExpr {
    /// Its kind.
    pub kind: TypeKind,
    /// Its span.
    pub span: Span,
}

/// The kinds of types.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TypeKind {
    /// `sequence(f32[n])`
    Sequence(Box<TypeExpr>),
    /// `optional(f32[n])`
    Optional(Box<TypeExpr>),
    /// `f32[n, 64]`; rules may omit the element type.
    Tensor {
        /// The element type.
        dtype: Option<DTypeName>,
        /// The shape.
        dims: Dims,
    },
    /// `(f32[2], i64[])`; nested at most [`MAX_TYPE_NESTING`](super::MAX_TYPE_NESTING) deep.
    Tuple(Vec<TypeExpr>),
}

/// An element type with its span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DTypeName {
    /// The element type.
    pub dtype: DType,
    /// Its span.
    pub span: Span,
}

/// A shape as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Dims {
    /// `f32`, also written `f32[]`.
    Scalar,
    /// `f32[..]`
    AnyRank,
    /// `f32[n, 2 * h + 1, ?]`
    List(Vec<DimExpr>),
}

/// One dimension as written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum DimExpr {
    /// `?`
    Unknown(Span),
    /// An integer expression over symbols.
    Expr(ExprId),
}
