//! Declarations of operators.

use super::super::ast::*;
use super::layout::Printer;
use super::{callee_text, float, format_expr, quote};

impl<'a> Printer<'a> {
    pub(super) fn operator(&mut self, operator: &'a OperatorDecl) {
        let head_end = operator.operands.last().map_or(operator.name.span.end, |o| o.span.end);
        self.item(&operator.doc, head_end, true);
        self.text("operator ");
        self.text(&callee_text(&operator.name, operator.quoted));
        self.in_arena(&operator.ast, |printer| {
            let operands: Vec<String> = operator.operands.iter().map(|o| printer.op_operand(o)).collect();
            printer.comma_list(&operands, 0);
            printer.op_attrs(operator);
            printer.op_results(operator);
            if let Some(body) = &operator.body {
                printer.text(" {");
                let width = printer.width(body.result, prec::RANGE) + 5;
                if body.lets.is_empty() && printer.fits(width) && !printer.has_comments(body.span) {
                    printer.text(" ");
                    printer.flat(body.result, prec::RANGE);
                    printer.text(" }");
                } else {
                    printer.line(2);
                    printer.body(&body.lets, body.result, prec::RANGE, 2);
                    printer.comments_inside(body.span.end, 2);
                    printer.start_line(0);
                    printer.text("}");
                }
            }
            printer.op_clauses(operator);
        });
    }

    /// Prints expressions of another arena.
    fn in_arena(&mut self, ast: &'a Ast, print: impl FnOnce(&mut Self)) {
        let widths = Printer::new(ast, &[]).widths;
        let outer = (self.ast, std::mem::replace(&mut self.widths, widths));
        self.ast = ast;
        print(self);
        (self.ast, self.widths) = outer;
    }

    fn op_operand(&mut self, operand: &OperandDecl) -> String {
        let mark = match operand.mark {
            Mark::One => "",
            Mark::Optional => "?",
            Mark::Variadic => "...",
        };
        let ty = operand.ty.as_ref().map(|ty| format!(": {}", self.type_text(ty)));
        format!("{}{mark}{}", operand.name.as_str(), ty.unwrap_or_default())
    }

    fn op_attrs(&mut self, operator: &OperatorDecl) {
        if operator.attrs.is_empty() {
            return;
        }
        let attr = |attr: &AttrDecl| {
            let kind = match &attr.kind {
                AttrKindDecl::One(kind) => kind.as_str().to_owned(),
                AttrKindDecl::List(kind) => format!("[{}]", kind.as_str()),
                AttrKindDecl::OneOf(texts, _) => texts.iter().map(|text| quote(text)).collect::<Vec<_>>().join(" | "),
            };
            let mark = if attr.optional { "?" } else { "" };
            let default = attr.default.map(|id| format!(" = {}", format_expr(self.ast, id)));
            format!("{}: {kind}{mark}{}", attr.name.as_str(), default.unwrap_or_default())
        };
        let attrs: Vec<String> = operator.attrs.iter().map(attr).collect();
        let line = format!(" {{{}}}", attrs.join(", "));
        let documented = operator.attrs.iter().any(|attr| attr.doc.is_some());
        if !documented && self.fits(line.chars().count() as u32 + 2) {
            self.text(&line);
            return;
        }
        self.text(" {");
        for (text, attr) in attrs.iter().zip(&operator.attrs) {
            for line in attr.doc.iter().flat_map(|doc| doc.split('\n')) {
                self.line(2);
                self.text(format!("/// {line}").trim_end());
            }
            self.line(2);
            self.text(&format!("{text},"));
        }
        self.line(0);
        self.text("}");
    }

    fn op_results(&mut self, operator: &OperatorDecl) {
        let Some(results) = &operator.results else { return };
        let texts: Vec<String> = results
            .iter()
            .map(|result| {
                let mark = if result.optional { "?" } else { "" };
                let ty = result.ty.as_ref().map(|ty| self.type_text(ty));
                match (&result.name, ty) {
                    (Some(name), Some(ty)) => format!("{}{mark}: {ty}", name.as_str()),
                    (Some(name), None) => format!("{}{mark}", name.as_str()),
                    (None, ty) => ty.unwrap_or_default(),
                }
            })
            .collect();
        self.text(" -> ");
        match texts.as_slice() {
            [one] => self.text(one),
            _ => self.comma_list(&texts, 0),
        }
    }

    fn op_clauses(&mut self, operator: &OperatorDecl) {
        if !operator.also.is_empty() {
            let names: Vec<&str> = operator.also.iter().map(Ident::as_str).collect();
            self.start_line(2);
            self.text(&format!("also {}", names.join(", ")));
        }
        if let Some(onnx) = &operator.onnx {
            let name = match super::super::is_name(&onnx.name) {
                true => onnx.name.to_string(),
                false => quote(&onnx.name),
            };
            let version = onnx.version.map(|version| format!(" {version}")).unwrap_or_default();
            self.start_line(2);
            self.text(&format!("onnx {} {name}{version}", quote(&onnx.domain)));
        }
        if !operator.conditions.is_empty() {
            self.start_line(2);
            self.clause("where", &operator.conditions);
        }
        if !operator.traits.is_empty() {
            let traits: Vec<&str> = operator.traits.iter().map(Ident::as_str).collect();
            self.start_line(2);
            self.text(&format!("traits {}", traits.join(", ")));
        }
        if let Some(cost) = &operator.cost {
            let operations = cost.operations.map(|n| format!("({})", float(n, None)));
            self.start_line(2);
            self.text(&format!(
                "cost {}{}",
                cost.rule.as_str(),
                operations.unwrap_or_default()
            ));
        }
        if !operator.laws.is_empty() {
            let law = |law: &LawDecl| match &law.value {
                Some(value) => format!("{} = {}", law.name.as_str(), value.as_str()),
                None => law.name.as_str().to_owned(),
            };
            let laws: Vec<String> = operator.laws.iter().map(law).collect();
            self.start_line(2);
            self.text(&format!("laws {}", laws.join(", ")));
        }
        // What follows a condition would otherwise be part of it.
        if operator.body.is_none() || !operator.conditions.is_empty() {
            self.text(";");
        }
    }
}
