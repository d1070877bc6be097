//! Targets: descriptions of what a runtime can run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tautomer_diag::Span;

use super::{Ast, Comment, ExprId, Ident};

/// A target file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TargetFile {
    /// The expressions of all of them.
    pub ast: Arc<Ast>,
    /// The targets, in order.
    pub targets: Vec<TargetDecl>,
    /// Comments that are not documentation.
    pub comments: Vec<Comment>,
}

/// `target npu { only conv, relu }`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TargetDecl {
    /// The doc comment, its lines joined.
    pub doc: Option<String>,
    /// Its name.
    pub name: Ident,
    /// Its clauses, in order.
    pub clauses: Vec<TargetClause>,
    /// Its span.
    pub span: Span,
}

/// One clause of a target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TargetClause {
    /// Its kind.
    pub kind: TargetClauseKind,
    /// Its span.
    pub span: Span,
}

/// The name of an operator, in quotes if the operator is a declared one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpRef {
    /// The name.
    pub name: Ident,
    /// True if it is in quotes.
    pub quoted: bool,
}

/// The kinds of clauses.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum TargetClauseKind {
    /// `extends onnx` or `extends "mine.target"`: everything that another target says.
    Extends {
        /// The name or the path.
        name: Ident,
        /// True for a path.
        is_path: bool,
    },
    /// `format onnx`
    Format(Ident),
    /// `opset 24` or `opset model`
    Opset(Ident),
    /// `operators "mine.ops"`: declarations of operators that it has.
    Operators(Vec<Ident>),
    /// `only conv, relu`
    Only(Vec<OpRef>),
    /// `allow gelu`
    Allow(Vec<OpRef>),
    /// `deny einsum`
    Deny(Vec<OpRef>),
    /// `types f32, f16 for conv`: element types of all operands and results.
    Types {
        /// The element types.
        names: Vec<Ident>,
        /// The operators it applies to; empty for all.
        operators: Vec<OpRef>,
    },
    /// `kernels onnxruntime`: a table of element types.
    Kernels(Ident),
    /// `static`: every dimension is a number.
    Static,
    /// `where x.rank <= 4`
    Where {
        /// A condition on every operand and result `x`, or on the operands and attributes of the given operators.
        conditions: Vec<ExprId>,
        /// The operators it applies to; empty for all.
        operators: Vec<OpRef>,
    },
    /// `rules "built-in", "mine.rules"`
    Rules(Vec<Ident>),
    /// `machine launch = 2, gflops = 50`
    Machine(Vec<(Ident, f64)>),
    /// `cost conv, gemm * 0.5`: relative to their usual cost.
    Cost {
        /// The operators.
        operators: Vec<OpRef>,
        /// The factor.
        factor: f64,
        /// Its span.
        factor_span: Span,
    },
}
