//! Schemas of tables, and expressions over their columns.

use std::sync::Arc;

use tautomer_diag::{Source, Span};

use super::{Ast, ExprId, Ident};

/// The text of a schema.
#[derive(Debug, Clone)]
pub struct SchemaText {
    /// The text the spans refer to.
    pub source: Arc<Source>,
    /// The columns, in the order written.
    pub columns: Vec<ColumnDecl>,
}

/// `price: float64 not null`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDecl {
    /// The name, without backquotes.
    pub name: Ident,
    /// True if the name was written in backquotes.
    pub quoted: bool,
    /// The type.
    pub ty: ColumnType,
    /// Whether the column may have nulls, if the text says so.
    pub nullable: Option<bool>,
}

/// The type of a column as written: `float64`, `timestamp[ms]`, `dictionary(int32, utf8)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// The word before the brackets.
    pub name: Ident,
    /// The contents of the brackets; strings without their quotes.
    pub args: Vec<Ident>,
    /// The span of the whole type.
    pub span: Span,
}

/// Expressions with their names.
#[derive(Debug, Clone)]
pub struct Outputs {
    /// The arena of the expressions.
    pub ast: Ast,
    /// The outputs, in the order written.
    pub outputs: Vec<OutputDecl>,
}

/// `sum: f64 = a + b`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputDecl {
    /// The name, if written.
    pub name: Option<Ident>,
    /// The type, if written.
    pub ty: Option<ColumnType>,
    /// The value.
    pub value: ExprId,
}
