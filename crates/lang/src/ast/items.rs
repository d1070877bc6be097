//! Functions, rules and files.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tautomer_diag::Span;

use super::{Ast, Block, ExprId, Ident, Let, TypeExpr};

/// The kind of a function parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParamClass {
    /// Given at each run.
    Input,
    /// A parameter of the model: `param w: f32[4]`.
    Param,
}

/// A parameter of a function. `x {shape = (n, 64), dtype = "f32"}` is the same as `x: f32[n, 64]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// Its name; `@0` if it is positional.
    pub name: Ident,
    /// The number of a positional input.
    pub positional: Option<u32>,
    /// Its kind.
    pub class: ParamClass,
    /// The declared type.
    pub ty: Option<TypeExpr>,
    /// Its span.
    pub span: Span,
}

/// `fn name(x: f32[n]) -> f32[n] { … }`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// The doc comment, its lines joined.
    pub doc: Option<String>,
    /// Its name; examples have none.
    pub name: Option<Ident>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The declared result type.
    pub result: Option<TypeExpr>,
    /// Its value.
    pub body: Block,
    /// Its span.
    pub span: Span,
}

/// `opaque "com.microsoft::Gelu"(x: f32[..]) -> f32[..];`
#[derive(Debug, Clone, PartialEq)]
pub struct OpaqueDecl {
    /// The doc comment, its lines joined.
    pub doc: Option<String>,
    /// The operator.
    pub name: Ident,
    /// The name was written as a string.
    pub quoted: bool,
    /// Its operands.
    pub params: Vec<Param>,
    /// The type of its value.
    pub result: TypeExpr,
    /// Its span.
    pub span: Span,
}

/// An operator declared in a file: `operator double(x) { x + x }`.
///
/// Its expressions are in a separate arena, so that a declaration can be kept without the file that it is in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperatorDecl {
    /// The expressions of its body, defaults and conditions.
    pub ast: Arc<Ast>,
    /// The doc comment, its lines joined.
    pub doc: Option<String>,
    /// Its name.
    pub name: Ident,
    /// The name was written as a string, with a domain: `"com.microsoft::Gelu"`.
    pub quoted: bool,
    /// Its operands.
    pub operands: Vec<OperandDecl>,
    /// Its attributes.
    pub attrs: Vec<AttrDecl>,
    /// Its results, if the declaration lists them.
    pub results: Option<Vec<ResultDecl>>,
    /// The body; without one, the operator is a function about which nothing else is known.
    pub body: Option<Block>,
    /// `onnx "com.microsoft" Gelu 1`
    pub onnx: Option<OnnxClause>,
    /// `where …`: conditions that hold for every call.
    pub conditions: Vec<ExprId>,
    /// `traits elementwise, unary`
    pub traits: Vec<Ident>,
    /// `cost elementwise(10)`
    pub cost: Option<CostClause>,
    /// `also batch_norm`: other names.
    pub also: Vec<Ident>,
    /// `laws types = like_first`: what is known about it besides its body.
    pub laws: Vec<LawDecl>,
    /// Its span.
    pub span: Span,
}

impl PartialEq for OperatorDecl {
    /// True if both are copies of one declaration.
    fn eq(&self, other: &OperatorDecl) -> bool {
        Arc::ptr_eq(&self.ast, &other.ast)
    }
}

/// How many values an operand of a declared operator takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// Exactly one: `x`.
    One,
    /// One or none: `bias?`.
    Optional,
    /// One or more: `parts...`.
    Variadic,
}

/// An operand of a declared operator: `bias?: f32[n]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperandDecl {
    /// Its name.
    pub name: Ident,
    /// How many values it takes.
    pub mark: Mark,
    /// The declared type.
    pub ty: Option<TypeExpr>,
    /// Its span.
    pub span: Span,
}

/// A law of an operator that comes with the tool: `types = like_first`, `unpacks`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LawDecl {
    /// The property that it describes.
    pub name: Ident,
    /// Its value, unless the name says it all.
    pub value: Option<Ident>,
}

/// An attribute of a declared operator: `epsilon: float = 1e-5`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttrDecl {
    /// The doc comment, its lines joined.
    pub doc: Option<String>,
    /// Its name.
    pub name: Ident,
    /// The values it accepts.
    pub kind: AttrKindDecl,
    /// It may be left out, and then has no value: `k: int?`.
    pub optional: bool,
    /// Its value when left out.
    pub default: Option<ExprId>,
    /// Its span.
    pub span: Span,
}

/// The values that an attribute of a declared operator accepts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AttrKindDecl {
    /// `int`, `float`, `bool`, `string`, `type`, `tensor`, `axis`
    One(Ident),
    /// `[int]`
    List(Ident),
    /// `"linear" | "nearest"`
    OneOf(Vec<Arc<str>>, Span),
}

/// A result of a declared operator: `mean?: f32[n]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultDecl {
    /// Its name.
    pub name: Option<Ident>,
    /// Nodes of models may leave it out.
    pub optional: bool,
    /// The declared type.
    pub ty: Option<TypeExpr>,
    /// Its span.
    pub span: Span,
}

/// `onnx "com.microsoft" Gelu 1`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnnxClause {
    /// The domain of the operator.
    pub domain: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
    /// The version of the domain.
    pub version: Option<u32>,
    /// Its span.
    pub span: Span,
}

/// `cost elementwise(10)`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostClause {
    /// How the cost is computed.
    pub rule: Ident,
    /// Operations per element.
    pub operations: Option<f64>,
    /// Its span.
    pub span: Span,
}

/// A comment that is not documentation of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Its span, from the slashes to the end of the line.
    pub span: Span,
    /// True if nothing precedes it on its line.
    pub own_line: bool,
    /// True if the line before it is blank.
    pub after_blank: bool,
}

/// A program file.
#[derive(Debug, Clone)]
pub struct Program {
    /// All expressions.
    pub ast: Ast,
    /// The span of `pragma power_caret`.
    pub pragma: Option<Span>,
    /// Declarations of opaque operators.
    pub opaques: Vec<OpaqueDecl>,
    /// Declarations of operators.
    pub operators: Vec<OperatorDecl>,
    /// Functions, in order.
    pub functions: Vec<Function>,
    /// A bare expression, with the definitions before it.
    pub body: Option<Block>,
    /// Comments, in order.
    pub comments: Vec<Comment>,
}

impl Program {
    /// A program that was not parsed from text.
    pub fn synthetic() -> Self {
        Program {
            ast: Ast::synthetic(),
            pragma: None,
            opaques: Vec::new(),
            operators: Vec::new(),
            functions: Vec::new(),
            body: None,
            comments: Vec::new(),
        }
    }
}

/// A rule file.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The path as written.
    pub path: String,
    /// Its span.
    pub span: Span,
}

/// One item of a rule file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Item {
    /// `operator … { … }`
    Operator(Box<OperatorDecl>),
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
    /// Its span.
    pub fn span(&self) -> Span {
        match self {
            Item::Operator(operator) => operator.span,
            Item::Rule(rule) => rule.span,
            Item::Example(example) | Item::NoExample(example) => example.span,
            Item::RuleSet(set) => set.span,
        }
    }
}

/// A rewrite rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The doc comment, its lines joined.
    pub doc: Option<String>,
    /// Its name, in kebab case.
    pub name: Ident,
    /// `for f in unary elementwise, g in binary:`
    pub ops: Vec<OpBinder>,
    /// Its variables.
    pub params: Vec<RuleParam>,
    /// The pattern to find.
    pub source: Side,
    /// The replacement.
    pub target: Side,
    /// Written with `<=>`.
    pub both_ways: bool,
    /// `where …`
    pub conditions: Vec<ExprId>,
    /// `numerics …`
    pub numerics: Option<NumericsClause>,
    /// `assuming …`
    pub assuming: Vec<ExprId>,
    /// Its span.
    pub span: Span,
}

/// A variable that stands for an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpBinder {
    /// The variable.
    pub var: Ident,
    /// The traits that the operator must all have, or the operators it may be.
    pub bound: Vec<Ident>,
    /// Its span.
    pub span: Span,
}

/// The class of values that a rule's variable may match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuleClass {
    /// Any value.
    Any,
    /// A value that depends only on model parameters and constants.
    Param,
    /// A constant.
    Const,
}

/// A variable of a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleParam {
    /// Its name.
    pub name: Ident,
    /// The index of a family: `w[i]`.
    pub index: Option<Ident>,
    /// The class of values that it may match.
    pub class: RuleClass,
    /// Its type; names in it are bound by the match.
    pub ty: Option<TypeExpr>,
    /// Its span.
    pub span: Span,
}

/// One side of a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Shared inner nodes.
    pub lets: Vec<Let>,
    /// The output; a tuple stands for several outputs, a comprehension for one per index.
    pub outputs: ExprId,
    /// Its span.
    pub span: Span,
}

/// How closely the two sides of a rule agree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Numerics {
    /// The same bits, NaN payloads aside.
    Bitwise,
    /// Equal over the real numbers.
    Real,
    /// Equal up to this relative error.
    Approx(f64),
}

/// `numerics real`
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NumericsClause {
    /// How closely the sides agree.
    pub class: Numerics,
    /// Its span.
    pub span: Span,
}

/// An example of applying a rule, or of a program that the rule leaves unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// The doc comment, its lines joined.
    pub doc: Option<String>,
    /// The rule.
    pub name: Ident,
    /// The program before.
    pub source: Function,
    /// The program after; absent if the rule must not fire.
    pub target: Option<Function>,
    /// Its span.
    pub span: Span,
}

/// `ruleset name { a, b }`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSet {
    /// The doc comment, its lines joined.
    pub doc: Option<String>,
    /// Its name.
    pub name: Ident,
    /// The rules and sets in it.
    pub members: Vec<Ident>,
    /// Its span.
    pub span: Span,
}
