//! The width of expressions on one line.

use super::super::ast::*;
use super::layout::{COLUMNS, Printer, WIDE};
use super::{base_prec, callee_text, iter_prec, leaf, operand_precs, prec_of, unary_prec};

impl Printer<'_> {
    /// The width of an expression on one line.
    pub(super) fn width(&self, id: ExprId, min: u8) -> u32 {
        let parens = if prec_of(self.ast.kind(id)) < min { 2 } else { 0 };
        self.widths[id.index()] + parens
    }

    pub(super) fn fits(&self, width: u32) -> bool {
        self.column + width <= COLUMNS
    }

    pub(super) fn measure(&self, kind: &ExprKind) -> u32 {
        let list = |items: &[ExprId]| -> u32 {
            let inner = items.iter().fold(0, |sum: u32, &id| {
                sum.saturating_add(self.width(id, prec::COMPREHENSION) + 2)
            });
            inner.saturating_sub(2)
        };
        let maybe = |id: &Option<ExprId>| id.map_or(0, |id| self.width(id, prec::OR));
        let base = |id: ExprId| self.width(id, base_prec(self.ast.kind(id)));
        let length = |text: &str| text.chars().count() as u32;
        match kind {
            ExprKind::List(items) => list(items) + 2,
            ExprKind::Tuple(items) => list(items) + 2 + u32::from(items.len() == 1),
            ExprKind::Call {
                callee,
                quoted,
                args,
                attrs,
            } => {
                let attrs = attrs.as_ref().map_or(0, |attrs| 1 + self.attrs_width(attrs));
                length(&callee_text(callee, *quoted)) + 2 + list(args).saturating_add(attrs)
            }
            ExprKind::Project { base: id, index } => base(*id) + 1 + length(&index.to_string()),
            ExprKind::Field { base: id, name } => base(*id) + 1 + length(name.as_str()),
            ExprKind::Index { base: id, index } => base(*id) + 2 + self.width(*index, prec::OR),
            ExprKind::Slice { base: id, start, end } => base(*id) + 4 + maybe(start) + maybe(end),
            ExprKind::Range { start, end } => 2 + maybe(start) + maybe(end),
            ExprKind::Unary { op, operand } => 1 + self.width(*operand, unary_prec(*op, self.ast.kind(*operand))),
            ExprKind::Binary { op, lhs, rhs } => {
                let (left, right) = operand_precs(*op);
                self.width(*lhs, left) + self.width(*rhs, right) + 2 + self.ast.symbol(*op).len() as u32
            }
            ExprKind::If { cond, then, otherwise } => {
                // `if (` … `) { ` … ` } else { ` … ` }`; with `else if` slightly less.
                self.width(*cond, prec::COMPREHENSION) + self.block_width(then) + self.block_width(otherwise) + 20
            }
            ExprKind::When { cond, then, otherwise } => {
                self.width(*cond, prec::RANGE) + self.block_width(then) + self.block_width(otherwise) + 20
            }
            ExprKind::Comprehension { body, var, iter, cond } => {
                let cond = cond.map_or(0, |cond| 4 + self.width(cond, prec::RANGE));
                self.width(*body, prec::RANGE)
                    + length(var.as_str())
                    + self.width(*iter, iter_prec(self.ast.kind(*iter)))
                    + cond
                    + 9
            }
            leaf_kind => length(&leaf(leaf_kind)),
        }
    }

    pub(super) fn attrs_width(&self, attrs: &Attrs) -> u32 {
        let rest = attrs.rest.iter().map(|rest| rest.name.chars().count() as u32 + 4);
        let entries = attrs.entries.iter();
        let entries =
            entries.map(|attr| attr.name.name.chars().count() as u32 + 5 + self.width(attr.value, prec::RANGE));
        rest.chain(entries)
            .fold(2, u32::saturating_add)
            .saturating_sub(2)
            .max(2)
    }

    pub(super) fn block_width(&self, block: &Block) -> u32 {
        if block.lets.is_empty() {
            self.width(block.result, prec::OR)
        } else {
            WIDE
        }
    }
}
