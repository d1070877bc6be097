//! Schemas, and expressions over columns.

use tautomer_diag::Diagnostics;

use super::super::ast::*;
use super::super::syntax::{Pair, Rule};
use super::Builder;

impl<'s> Builder<'s> {
    /// The columns of a schema.
    pub(in super::super) fn schema(mut self, pair: Pair<'s>) -> Result<SchemaText, Diagnostics> {
        let columns = pair
            .into_inner()
            .filter(|part| part.as_rule() == Rule::column)
            .filter_map(|part| self.column(part))
            .collect();
        let source = self.ast.source.clone();
        self.problems.into_result(SchemaText { source, columns })
    }

    fn column(&mut self, pair: Pair<'s>) -> Option<ColumnDecl> {
        let (mut name, mut ty, mut nullable) = (None, None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::column_type => ty = Some(self.column_type(part)),
                Rule::nullability => nullable = Some(!part.as_str().starts_with("not")),
                rule => name = Some((self.column_name(&part), rule == Rule::quoted_name)),
            }
        }
        let (name, quoted) = name?;
        Some(ColumnDecl {
            name,
            quoted,
            ty: ty?,
            nullable,
        })
    }

    fn column_name(&mut self, pair: &Pair<'s>) -> Ident {
        Ident {
            name: self.intern(pair.as_str().trim_matches('`')),
            span: self.span(pair),
        }
    }

    fn column_type(&mut self, pair: Pair<'s>) -> ColumnType {
        let span = self.span(&pair);
        let mut words = pair.into_inner().map(|part| {
            let text = part.as_str().trim_matches(['"', '\'']);
            Ident {
                name: self.intern(text),
                span: self.span(&part),
            }
        });
        let name = words.next().unwrap_or_else(|| Ident::new(""));
        let args = words.collect();
        ColumnType { name, args, span }
    }

    /// Expressions, where `^` is exclusive or.
    pub(in super::super) fn outputs(mut self, pair: Pair<'s>) -> Result<Outputs, Diagnostics> {
        self.quoted_names = true;
        let mut outputs = Vec::new();
        for part in pair.into_inner().filter(|part| part.as_rule() == Rule::output) {
            let (mut name, mut ty, mut value) = (None, None, None);
            for part in part.into_inner() {
                match part.as_rule() {
                    Rule::output_name => {
                        for part in part.into_inner() {
                            match part.as_rule() {
                                Rule::name | Rule::quoted_name => name = Some(self.column_name(&part)),
                                Rule::column_type => ty = Some(self.column_type(part)),
                                _ => {}
                            }
                        }
                    }
                    _ => value = Some(self.expr(part)),
                }
            }
            if let Some(value) = value {
                outputs.push(OutputDecl { name, ty, value });
            }
        }
        let ast = self.ast;
        self.problems.into_result(Outputs { ast, outputs })
    }

    /// Expressions, where `^` is power.
    pub(in super::super) fn outputs_with_power_caret(mut self, pair: Pair<'s>) -> Result<Outputs, Diagnostics> {
        self.ast.power_caret = true;
        self.outputs(pair)
    }
}
