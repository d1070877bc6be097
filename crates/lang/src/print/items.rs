//! Functions, rules, comments.

use super::super::ast::*;
use super::layout::Printer;
use super::{float, quote};

impl<'a> Printer<'a> {
    pub(super) fn program(&mut self, program: &'a Program) {
        enum Part<'a> {
            Opaque(&'a OpaqueDecl),
            Operator(&'a OperatorDecl),
            Function(&'a Function),
        }
        if let Some(span) = program.pragma {
            self.item(&None, span.start, true);
            self.text("pragma ");
            self.text(super::super::script::POWER_CARET);
            self.end_item(span.end);
        }
        let opaques = program.opaques.iter().map(|opaque| (opaque.span, Part::Opaque(opaque)));
        let operators = program
            .operators
            .iter()
            .map(|operator| (operator.span, Part::Operator(operator)));
        let functions = program
            .functions
            .iter()
            .map(|function| (function.span, Part::Function(function)));
        let mut parts: Vec<_> = opaques.chain(operators).chain(functions).collect();
        parts.sort_by_key(|(span, _)| span.start);
        for (span, part) in parts {
            match part {
                Part::Opaque(opaque) => {
                    self.item(&opaque.doc, span.end, true);
                    self.text("opaque ");
                    let name = super::callee_text(&opaque.name, opaque.quoted);
                    self.text(&name);
                    self.params(&opaque.params, 0);
                    self.text(" -> ");
                    self.type_expr(&opaque.result);
                    self.text(";");
                }
                Part::Operator(operator) => self.operator(operator),
                Part::Function(function) => {
                    self.item(&function.doc, function.body.span.start, true);
                    self.function(function, 0, false);
                }
            }
            self.end_item(span.end);
        }
        if let Some(body) = &program.body {
            if !self.out.is_empty() {
                self.text("\n");
            }
            self.body(&body.lets, body.result, prec::RANGE, 0);
        }
        self.rest(0);
    }

    pub(super) fn rule_file(&mut self, file: &'a RuleFile) {
        for used in &file.uses {
            self.comments_before(used.span.end, 0);
            let path = quote(&used.path);
            self.text(&format!("use {path}"));
            self.end_item(used.span.end);
        }
        for item in &file.items {
            match item {
                Item::Operator(operator) => self.operator(operator),
                Item::Rule(rule) => self.rule(rule),
                Item::Example(example) => self.example(example, "example"),
                Item::NoExample(example) => self.example(example, "no-example"),
                Item::RuleSet(set) => {
                    self.item(&set.doc, set.span.end, true);
                    let members: Vec<&str> = set.members.iter().map(Ident::as_str).collect();
                    let line = format!("ruleset {} {{ {} }}", set.name.as_str(), members.join(", "));
                    if members.is_empty() {
                        self.text(&format!("ruleset {} {{}}", set.name.as_str()));
                    } else if self.fits(line.len() as u32) {
                        self.text(&line);
                    } else {
                        self.text(&format!("ruleset {} {{", set.name.as_str()));
                        for member in members {
                            self.line(2);
                            self.text(&format!("{member},"));
                        }
                        self.line(0);
                        self.text("}");
                    }
                }
            }
            self.end_item(item.span().end);
        }
        self.rest(0);
    }

    fn rule(&mut self, rule: &'a Rule) {
        // Comments after the head stay inside, where formatting again finds them.
        let head_end = rule.params.last().map_or(rule.name.span.end, |param| param.span.end);
        self.item(&rule.doc, head_end, true);
        self.text(&format!("rule {}", rule.name.as_str()));
        let params: Vec<String> = rule.params.iter().map(|param| self.rule_param(param)).collect();
        if !params.is_empty() {
            self.comma_list(&params, 0);
        }
        self.text(" {");
        if self.short_rule(rule) {
            self.text(" ");
            self.flat(rule.source.outputs, prec::COMPREHENSION);
            self.text(arrow(rule));
            self.flat(rule.target.outputs, prec::COMPREHENSION);
            self.text(&format!("{} }}", class_words(rule)));
            return;
        }
        self.line(2);
        if let Some(last) = rule.ops.last() {
            self.comments_before(last.span.end, 2);
            let binder = |ops: &OpBinder| {
                let bound: Vec<&str> = ops.bound.iter().map(Ident::as_str).collect();
                format!("{} in {}", ops.var.as_str(), bound.join(" "))
            };
            let binders: Vec<String> = rule.ops.iter().map(binder).collect();
            self.text(&format!("for {}:", binders.join(", ")));
            let width = self.width(rule.source.outputs, prec::COMPREHENSION) + 1;
            if rule.source.lets.is_empty() && self.fits(width) && !self.has_comments(rule.span) {
                self.text(" ");
            } else {
                self.line(2);
            }
        }
        if rule.ops.is_empty() {
            self.start_line(2);
        }
        self.body(&rule.source.lets, rule.source.outputs, prec::COMPREHENSION, 2);
        self.start_line(2);
        if rule.target.lets.is_empty() {
            self.comments_before(self.ast.span(rule.target.outputs).end, 2);
            self.text(arrow(rule).trim_start());
        } else {
            self.text(arrow(rule).trim());
            self.line(2);
            self.start_line(2);
        }
        if self.ends_with_class(rule) {
            self.flat(rule.target.outputs, prec::COMPREHENSION);
            self.text(&class_words(rule));
            self.start_line(0);
            self.text("}");
            return;
        }
        self.body(&rule.target.lets, rule.target.outputs, prec::COMPREHENSION, 2);
        self.clause("where", &rule.conditions);
        if let Some(clause) = &rule.numerics {
            self.start_line(2);
            self.comments_before(clause.span.end, 2);
            self.text(class_words(rule).trim_start());
            self.end_line(clause.span.end);
        }
        self.clause("assuming", &rule.assuming);
        self.comments_inside(rule.span.end, 2);
        self.start_line(0);
        self.text("}");
    }

    fn short_rule(&self, rule: &Rule) -> bool {
        let bare = rule.ops.is_empty()
            && rule.source.lets.is_empty()
            && rule.target.lets.is_empty()
            && rule.conditions.is_empty()
            && rule.assuming.is_empty();
        let sides = self.width(rule.source.outputs, 0) + self.width(rule.target.outputs, 0);
        let width = sides + class_words(rule).len() as u32 + 8;
        bare && self.fits(width) && !self.has_comments(rule.span)
    }

    /// True if the class is on the line of the target and nothing follows it.
    fn ends_with_class(&self, rule: &Rule) -> bool {
        let bare = rule.target.lets.is_empty() && rule.conditions.is_empty() && rule.assuming.is_empty();
        let width = self.width(rule.target.outputs, prec::COMPREHENSION) + class_words(rule).len() as u32;
        bare && self.fits(width) && !self.has_comments(rule.span)
    }

    pub(super) fn clause(&mut self, word: &str, exprs: &[ExprId]) {
        let Some(&last) = exprs.last() else { return };
        let end = self.ast.span(last).end;
        self.start_line(2);
        self.comments_before(end, 2);
        self.text(&format!("{word} "));
        let width = exprs
            .iter()
            .fold(0, |sum: u32, &id| sum.saturating_add(self.width(id, prec::RANGE) + 2));
        let broken = !self.fits(width) && exprs.len() > 1;
        for (i, &id) in exprs.iter().enumerate() {
            if i > 0 {
                self.text(",");
                if broken { self.line(4) } else { self.text(" ") }
            }
            self.expr(id, prec::RANGE, 1, 2);
        }
        self.end_line(end);
    }

    fn example(&mut self, example: &'a Example, word: &str) {
        self.item(&example.doc, example.name.span.end, false);
        self.text(&format!("{word} {} {{", example.name.as_str()));
        self.line(2);
        for (arrow, function) in [("", Some(&example.source)), ("=> ", example.target.as_ref())] {
            let Some(function) = function else { continue };
            self.start_line(2);
            self.comments_before(function.body.span.start, 2);
            self.text(arrow);
            self.function(function, 2, true);
            self.end_line(function.span.end);
        }
        self.comments_inside(example.span.end, 2);
        self.start_line(0);
        self.text("}");
    }

    fn function(&mut self, function: &'a Function, indent: u32, short: bool) {
        self.text("fn ");
        if let Some(name) = &function.name {
            self.text(name.as_str());
        }
        self.params(&function.params, indent);
        if let Some(result) = &function.result {
            self.text(" -> ");
            self.type_expr(result);
        }
        let body = &function.body;
        let width = self.width(body.result, prec::RANGE) + 5;
        if short && body.lets.is_empty() && self.fits(width) && !self.has_comments(function.span) {
            self.text(" { ");
            self.flat(body.result, prec::RANGE);
            self.text(" }");
            return;
        }
        self.text(" {");
        self.line(indent + 2);
        self.body(&body.lets, body.result, prec::RANGE, indent + 2);
        self.comments_inside(body.span.end, indent + 2);
        self.start_line(indent);
        self.text("}");
    }

    /// Definitions and the value, each on its own line; the last line is left open.
    pub(super) fn body(&mut self, lets: &'a [Let], result: ExprId, min: u8, indent: u32) {
        for (i, stmt) in lets.iter().enumerate() {
            if i > 0 {
                self.start_statement(stmt.span.start, indent);
            }
            self.comments_before(stmt.span.end, indent);
            self.let_stmt(stmt, indent);
            self.end_line(stmt.span.end);
        }
        let span = self.ast.span(result);
        if !lets.is_empty() {
            self.start_statement(span.start, indent);
        }
        self.comments_before(span.end, indent);
        self.expr(result, min, 0, indent);
        self.end_line(span.end);
    }

    fn params(&mut self, params: &'a [Param], indent: u32) {
        let params: Vec<String> = params.iter().map(|param| self.param(param)).collect();
        self.comma_list(&params, indent);
    }

    fn param(&mut self, param: &Param) -> String {
        let class = if param.class == ParamClass::Param { "param " } else { "" };
        let name = match param.positional {
            Some(index) => format!("@{index}"),
            None => param.name.as_str().to_owned(),
        };
        match &param.ty {
            Some(ty) => format!("{class}{name}: {}", self.type_text(ty)),
            None => format!("{class}{name}"),
        }
    }

    fn rule_param(&mut self, param: &RuleParam) -> String {
        let index = param
            .index
            .as_ref()
            .map_or(String::new(), |index| format!("[{}]", index.as_str()));
        let class = match param.class {
            RuleClass::Any => "",
            RuleClass::Param => "param",
            RuleClass::Const => "const",
        };
        let ty = param.ty.as_ref().map_or(String::new(), |ty| self.type_text(ty));
        let words: Vec<&str> = [class, &ty].into_iter().filter(|word| !word.is_empty()).collect();
        let colon = if words.is_empty() { "" } else { ": " };
        format!("{}{index}{colon}{}", param.name.as_str(), words.join(" "))
    }

    pub(super) fn comma_list(&mut self, items: &[String], indent: u32) {
        let line = format!("({})", items.join(", "));
        if items.is_empty() || self.fits(line.chars().count() as u32 + 2) {
            self.text(&line);
            return;
        }
        self.text("(");
        for item in items {
            self.line(indent + 2);
            self.text(&format!("{item},"));
        }
        self.line(indent);
        self.text(")");
    }

    /// A type on one line; tuple types are never deep.
    pub(super) fn type_expr(&mut self, ty: &TypeExpr) {
        match &ty.kind {
            TypeKind::Tuple(parts) => {
                self.text("(");
                for (i, part) in parts.iter().enumerate() {
                    self.text(if i > 0 { ", " } else { "" });
                    self.type_expr(part);
                }
                self.text(if parts.len() == 1 { ",)" } else { ")" });
            }
            TypeKind::Sequence(item) | TypeKind::Optional(item) => {
                self.text(match ty.kind {
                    TypeKind::Optional(_) => "optional(",
                    _ => "sequence(",
                });
                self.type_expr(item);
                self.text(")");
            }
            TypeKind::Tensor { dtype, dims } => {
                if let Some(dtype) = dtype {
                    self.text(dtype.dtype.name());
                }
                match dims {
                    Dims::Scalar => self.text(if dtype.is_some() { "" } else { "[]" }),
                    Dims::AnyRank => self.text("[..]"),
                    Dims::List(list) => {
                        for (i, dim) in list.iter().enumerate() {
                            self.text(if i > 0 { ", " } else { "[" });
                            match dim {
                                DimExpr::Unknown(_) => self.text("?"),
                                DimExpr::Expr(id) => self.flat(*id, prec::OR),
                            }
                        }
                        self.text(if list.is_empty() { "[]" } else { "]" });
                    }
                }
            }
        }
    }
}

/// ` numerics real`, or an empty string if the class is omitted.
fn class_words(rule: &Rule) -> String {
    match rule.numerics.as_ref().map(|clause| clause.class) {
        None => String::new(),
        Some(Numerics::Bitwise) => " numerics bitwise".to_owned(),
        Some(Numerics::Real) => " numerics real".to_owned(),
        Some(Numerics::Approx(bound)) => format!(" numerics approx({})", float(bound, None)),
    }
}

fn arrow(rule: &Rule) -> &'static str {
    if rule.both_ways { " <=> " } else { " => " }
}
