//! The spanned syntax tree of programs and rules.
//!
//! Expressions live in one arena and refer to each other by [`ExprId`]; children are pushed before their parents.
//! Nothing here is nested by ownership to a depth the user controls, so dropping a tree never recurses.

use std::sync::Arc;

use crate::diag::{Source, Span};
use crate::tensor::DType;

/// The place of an expression in its [`Ast`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(u32);

impl ExprId {
    /// The position in the arena.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The arena of all expressions of one file.
#[derive(Debug, Clone)]
pub struct Ast {
    /// The text the spans refer to.
    pub source: Arc<Source>,
    exprs: Vec<Expr>,
}

impl Ast {
    /// An arena without expressions.
    pub fn new(source: Arc<Source>) -> Self {
        Ast {
            source,
            exprs: Vec::new(),
        }
    }

    /// An arena for a tree that comes from no text.
    pub fn synthetic() -> Self {
        Ast::new(Arc::new(Source::new("<generated>", "")))
    }

    /// Adds an expression; its children have been added before.
    pub fn push(&mut self, kind: ExprKind, span: Span) -> ExprId {
        // A source has less than 2^32 bytes and every expression of it at least one.
        let id = ExprId(self.exprs.len() as u32);
        self.exprs.push(Expr { kind, span });
        id
    }

    /// Adds an expression that comes from no text.
    pub fn make(&mut self, kind: ExprKind) -> ExprId {
        self.push(kind, Span::default())
    }

    /// The expression at `id`.
    pub fn get(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// What the expression at `id` is.
    pub fn kind(&self, id: ExprId) -> &ExprKind {
        &self.get(id).kind
    }

    /// Where the expression at `id` stands.
    pub fn span(&self, id: ExprId) -> Span {
        self.get(id).span
    }

    /// The number of expressions.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// True without expressions.
    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }

    /// Every expression with its place, children before parents.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ExprId, &Expr)> {
        self.exprs.iter().enumerate().map(|(i, e)| (ExprId(i as u32), e))
    }
}

/// An expression and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// A name and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ident {
    /// The name itself.
    pub name: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

impl Ident {
    /// A name that comes from no text.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Ident {
            name: name.into(),
            span: Span::default(),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

/// What an expression is.
#[derive(Debug, Clone, PartialEq)]
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
    Str(Arc<str>),
    /// A variable.
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
        /// What stands in braces, if anything does.
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
        /// A truth value, possibly a tensor.
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
        /// The running variable.
        var: Ident,
        /// The values it takes.
        iter: ExprId,
        /// Which of them count.
        cond: Option<ExprId>,
    },
}

/// A prefix operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!` or `not`
    Not,
    /// `~`
    BitNot,
}

impl UnaryOp {
    /// The canonical spelling.
    pub const fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
            UnaryOp::BitNot => "~",
        }
    }
}

/// An infix operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "`symbol` is the documentation")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
    /// `++`: one list after the other.
    Concat,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    And,
    Or,
    BitAnd,
    /// `|`: bitwise; in the source of a rule, alternatives.
    BitOr,
    BitXor,
}

impl BinaryOp {
    /// Every infix operator.
    pub const ALL: [BinaryOp; 19] = {
        use BinaryOp::*;
        [
            Add, Sub, Mul, Div, Rem, Pow, Concat, Eq, Ne, Lt, Le, Gt, Ge, In, And, Or, BitAnd, BitOr, BitXor,
        ]
    };

    /// The canonical spelling.
    pub const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Pow => "**",
            BinaryOp::Concat => "++",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::In => "in",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
        }
    }

    /// How tightly it binds; see [`prec`].
    pub const fn prec(self) -> u8 {
        match self {
            BinaryOp::Or => prec::OR,
            BinaryOp::And => prec::AND,
            BinaryOp::BitOr => prec::BIT_OR,
            BinaryOp::BitXor => prec::BIT_XOR,
            BinaryOp::BitAnd => prec::BIT_AND,
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Concat => prec::ADD,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => prec::MUL,
            BinaryOp::Pow => prec::POW,
            _ => prec::COMPARE,
        }
    }

    /// True for `== != < <= > >= in`, which do not chain.
    pub const fn is_comparison(self) -> bool {
        self.prec() == prec::COMPARE
    }
}

/// Binding strength, loosest first; as in Rust, with `**` above the prefix operators.
pub mod prec {
    /// `e for i in r`
    pub const COMPREHENSION: u8 = 0;
    /// `a..b`
    pub const RANGE: u8 = 1;
    /// `||`
    pub const OR: u8 = 2;
    /// `&&`
    pub const AND: u8 = 3;
    /// The word `not`, looser than comparisons.
    pub const WORD_NOT: u8 = 4;
    /// `== != < <= > >= in`
    pub const COMPARE: u8 = 5;
    /// `|`
    pub const BIT_OR: u8 = 6;
    /// `^`
    pub const BIT_XOR: u8 = 7;
    /// `&`
    pub const BIT_AND: u8 = 8;
    /// `+ - ++`
    pub const ADD: u8 = 9;
    /// `* / %`
    pub const MUL: u8 = 10;
    /// `- ! ~` before an operand
    pub const UNARY: u8 = 11;
    /// `**`, to the right
    pub const POW: u8 = 12;
    /// Literals, names, calls, brackets, projections.
    pub const ATOM: u8 = 13;
}

/// The attributes of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attrs {
    /// `axis = 1`, in the order written.
    pub entries: Vec<Attr>,
    /// `..a`: all the others.
    pub rest: Option<Ident>,
    /// Where the braces stand.
    pub span: Span,
}

/// One attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct Attr {
    /// Which attribute.
    pub name: Ident,
    /// Its value.
    pub value: ExprId,
}

/// Definitions and the value they lead to.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The definitions, each in scope of the following ones.
    pub lets: Vec<Let>,
    /// The value.
    pub result: ExprId,
    /// Where it stands.
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
#[derive(Debug, Clone, PartialEq)]
pub struct Let {
    /// What is defined.
    pub names: LetNames,
    /// The declared type.
    pub ty: Option<TypeExpr>,
    /// The value.
    pub value: ExprId,
    /// Where it stands.
    pub span: Span,
}

/// The left side of a `let`.
#[derive(Debug, Clone, PartialEq)]
pub enum LetNames {
    /// `let a`
    One(Ident),
    /// `let (a, b)`
    Tuple(Vec<Ident>),
}

/// A type as written.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
}

/// What a type is.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeKind {
    /// `f32[n, 64]`; rules may leave the element type out.
    Tensor {
        /// The element type.
        dtype: Option<DTypeName>,
        /// The shape.
        dims: Dims,
    },
    /// `(f32[2], i64[])`; not deeper than [`MAX_TYPE_NESTING`](super::MAX_TYPE_NESTING).
    Tuple(Vec<TypeExpr>),
}

/// An element type and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DTypeName {
    /// The element type.
    pub dtype: DType,
    /// Where it stands.
    pub span: Span,
}

/// A shape as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Dims {
    /// `f32`, also written `f32[]`.
    Scalar,
    /// `f32[..]`
    AnyRank,
    /// `f32[n, 2 * h + 1, ?]`
    List(Vec<DimExpr>),
}

/// One dimension as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DimExpr {
    /// `?`
    Unknown(Span),
    /// An integer expression over symbols.
    Expr(ExprId),
}

/// What a parameter of a function stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamClass {
    /// Given at each run.
    Input,
    /// A parameter of the model: `param w: f32[4]`.
    Param,
}

/// A parameter of a function. `x {shape = (n, 64), dtype = "f32"}` is the same as `x: f32[n, 64]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Its name; `@0` if it is positional.
    pub name: Ident,
    /// The number of a positional input.
    pub positional: Option<u32>,
    /// What it stands for.
    pub class: ParamClass,
    /// The declared type.
    pub ty: Option<TypeExpr>,
    /// Where it stands.
    pub span: Span,
}

/// `fn name(x: f32[n]) -> f32[n] { … }`
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The text of the doc comment, lines joined.
    pub doc: Option<String>,
    /// Its name; examples have none.
    pub name: Option<Ident>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The declared result.
    pub result: Option<TypeExpr>,
    /// Its value.
    pub body: Block,
    /// Where it stands.
    pub span: Span,
}

/// `opaque "com.microsoft::Gelu"(x: f32[..]) -> f32[..];`
#[derive(Debug, Clone, PartialEq)]
pub struct OpaqueDecl {
    /// The text of the doc comment, lines joined.
    pub doc: Option<String>,
    /// The operator.
    pub name: Ident,
    /// The name was written as a string.
    pub quoted: bool,
    /// Its operands.
    pub params: Vec<Param>,
    /// The type of its value.
    pub result: TypeExpr,
    /// Where it stands.
    pub span: Span,
}

/// A comment that is not documentation of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Where it stands, from the slashes to the end of the line.
    pub span: Span,
    /// Nothing else stands before it on its line.
    pub own_line: bool,
    /// The line before it is blank.
    pub after_blank: bool,
}

/// A program file.
#[derive(Debug, Clone)]
pub struct Program {
    /// All expressions.
    pub ast: Ast,
    /// Declared unknown operators.
    pub opaques: Vec<OpaqueDecl>,
    /// Functions, in order.
    pub functions: Vec<Function>,
    /// A bare expression, with the definitions before it.
    pub body: Option<Block>,
    /// Comments, in order.
    pub comments: Vec<Comment>,
}

impl Program {
    /// A program without text.
    pub fn synthetic() -> Self {
        Program {
            ast: Ast::synthetic(),
            opaques: Vec::new(),
            functions: Vec::new(),
            body: None,
            comments: Vec::new(),
        }
    }
}

/// A rule file.
#[derive(Debug, Clone)]
pub struct RuleFile {
    /// All expressions.
    pub ast: Ast,
    /// The files it builds on.
    pub uses: Vec<Use>,
    /// Rules, examples and sets, in order.
    pub items: Vec<Item>,
    /// Comments, in order.
    pub comments: Vec<Comment>,
}

/// `use "algebra.rules"`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The path as written.
    pub path: String,
    /// Where it stands.
    pub span: Span,
}

/// One item of a rule file.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// `rule … { … }`
    Rule(Box<Rule>),
    /// `example … { … => … }`
    Example(Box<Example>),
    /// `no-example … { … }`: the rule must not fire.
    NoExample(Box<Example>),
    /// `ruleset … { … }`
    RuleSet(RuleSet),
}

impl Item {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Item::Rule(rule) => rule.span,
            Item::Example(example) | Item::NoExample(example) => example.span,
            Item::RuleSet(set) => set.span,
        }
    }
}

/// A rewrite rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The text of the doc comment, lines joined.
    pub doc: Option<String>,
    /// Its name, in kebab case.
    pub name: Ident,
    /// `for f in unary elementwise:`
    pub ops: Option<OpBinder>,
    /// Its variables.
    pub params: Vec<RuleParam>,
    /// What is looked for.
    pub source: Side,
    /// What takes its place.
    pub target: Side,
    /// Written with `<=>`.
    pub both_ways: bool,
    /// `where …`
    pub conditions: Vec<ExprId>,
    /// `numerics …`
    pub numerics: Option<NumericsClause>,
    /// `assuming …`
    pub assuming: Vec<ExprId>,
    /// Where it stands.
    pub span: Span,
}

/// A variable that stands for an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpBinder {
    /// The variable.
    pub var: Ident,
    /// The traits the operator has, all of them.
    pub bound: Vec<Ident>,
    /// Where it stands.
    pub span: Span,
}

/// What a variable of a rule may match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleClass {
    /// Any value.
    Any,
    /// What depends on model parameters and constants alone.
    Param,
    /// A constant.
    Const,
}

/// A variable of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleParam {
    /// Its name.
    pub name: Ident,
    /// The index of a family: `w[i]`.
    pub index: Option<Ident>,
    /// What it may match.
    pub class: RuleClass,
    /// Its type; names in it are bound by the match.
    pub ty: Option<TypeExpr>,
    /// Where it stands.
    pub span: Span,
}

/// One side of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Shared inner vertices.
    pub lets: Vec<Let>,
    /// The output; a tuple is several, a comprehension one per index.
    pub outputs: ExprId,
    /// Where it stands.
    pub span: Span,
}

/// How equal the two sides of a rule are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Numerics {
    /// The same bits, NaN payloads aside.
    Bitwise,
    /// Equal over the real numbers.
    Real,
    /// Equal up to this relative error.
    Approx(f64),
}

/// `numerics real`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumericsClause {
    /// How equal the sides are.
    pub class: Numerics,
    /// Where it stands.
    pub span: Span,
}

/// An example of a rule at work, or of a program it leaves alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// The text of the doc comment, lines joined.
    pub doc: Option<String>,
    /// The rule.
    pub name: Ident,
    /// The program before.
    pub source: Function,
    /// The program after; absent if the rule must not fire.
    pub target: Option<Function>,
    /// Where it stands.
    pub span: Span,
}

/// `ruleset name { a, b }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSet {
    /// The text of the doc comment, lines joined.
    pub doc: Option<String>,
    /// Its name.
    pub name: Ident,
    /// The rules and sets in it.
    pub members: Vec<Ident>,
    /// Where it stands.
    pub span: Span,
}
