//! A rule as a drawing, with source and target side by side.

use std::collections::BTreeMap;

use tautomer::formats::{Drawing, Part, Shape};
use tautomer::lang::ast::{Ast, Attrs, Block, ExprId, ExprKind, LetNames, RuleClass};
use tautomer::lang::{format_expr, format_type};
use tautomer::rule::{AttrPattern, Count, Item, ListItem, Pattern, PatternId, PatternNode, ProjIndex, Rule};

/// Texts longer than this are cut.
const MAX_TEXT: usize = 36;

pub(super) fn drawing(rule: &Rule) -> Drawing {
    Drawing {
        title: format!("{} ({})", rule.name, rule.class),
        parts: vec![source(rule), target(rule)],
    }
}

fn cut(text: &str) -> String {
    let mut out: String = text.chars().take(MAX_TEXT).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

fn source(rule: &Rule) -> Part {
    let pattern = &rule.source;
    let mut part = Part::new("source");
    let mut boxes: BTreeMap<PatternId, usize> = BTreeMap::new();
    let mut reached: BTreeMap<PatternId, ()> = BTreeMap::new();
    let mut stack: Vec<PatternId> = pattern.outputs.iter().map(|o| o.vertex()).collect();
    while let Some(id) = stack.pop() {
        if reached.insert(id, ()).is_none() {
            stack.extend(pattern.operands(id));
        }
    }
    for (id, node) in pattern.nodes().filter(|(id, _)| reached.contains_key(id)) {
        let (mut lines, shape) = lines(rule, node);
        if let Some((name, _)) = pattern.named.iter().find(|(_, named)| *named == id) {
            lines[0] = format!("{name}: {}", lines[0]);
        }
        let at = part.add(lines, shape);
        let edges = match node {
            PatternNode::Call { operands, .. }
            | PatternNode::CallOf { operands, .. }
            | PatternNode::Tuple(operands) => operands.clone(),
            _ => pattern.operands(id).into_iter().map(Item::One).collect(),
        };
        for (place, item) in edges.iter().enumerate() {
            let place = if edges.len() > 1 {
                place.to_string()
            } else {
                String::new()
            };
            part.connect(boxes[&item.vertex()], at, edge_text(pattern, *item, &place));
        }
        boxes.insert(id, at);
    }
    for (k, output) in pattern.outputs.iter().enumerate() {
        let at = part.add(vec![format!("result {k}")], Shape::Plain);
        part.connect(boxes[&output.vertex()], at, edge_text(pattern, *output, ""));
    }
    part
}

fn edge_text(pattern: &Pattern, item: Item, place: &str) -> String {
    let Item::Each(_, family) = item else {
        return place.to_owned();
    };
    let family = pattern.family(family);
    let count = match &family.count {
        Count::Exactly(n) => n.to_string(),
        Count::Bind(name) => name.to_string(),
    };
    format!("{place} for {} in 0..{count}", family.index).trim().to_owned()
}

fn lines(rule: &Rule, node: &PatternNode) -> (Vec<String>, Shape) {
    match node {
        PatternNode::Variable(i) => {
            let variable = &rule.variables[*i];
            let index = if variable.indexed { "[i]" } else { "" };
            let class = match variable.class {
                RuleClass::Any => "",
                RuleClass::Param => ": param",
                RuleClass::Const => ": const",
            };
            let mut lines = vec![format!("{}{index}{class}", variable.name)];
            lines.extend(variable.ty.as_ref().map(|ty| format_type(&rule.ast, ty)));
            (lines, Shape::Value)
        }
        PatternNode::Wildcard => (vec!["_".to_owned()], Shape::Value),
        PatternNode::Literal(v) => (vec![v.to_string()], Shape::Constant),
        PatternNode::Absent => (vec!["none".to_owned()], Shape::Constant),
        PatternNode::Call { def, attrs, .. } => {
            let mut lines = vec![def.name.to_owned()];
            let mut rest = None;
            for (attr, pattern) in def.attrs.iter().zip(attrs) {
                let text = match pattern {
                    AttrPattern::Value(v) => v.to_string(),
                    AttrPattern::Default => continue,
                    AttrPattern::Any => "_".to_owned(),
                    AttrPattern::Bind(name) => name.to_string(),
                    AttrPattern::BindEach(name) => format!("{name}[i]"),
                    AttrPattern::Rest(name) => {
                        rest = Some(name);
                        continue;
                    }
                    AttrPattern::List(items) => {
                        let items: Vec<String> = items.iter().map(list_item).collect();
                        format!("[{}]", items.join(", "))
                    }
                    AttrPattern::Computed(id) => format_expr(&rule.ast, *id),
                };
                lines.push(cut(&format!("{} = {text}", attr.name)));
            }
            lines.extend(rest.map(|name| format!("..{name}")));
            (lines, Shape::Call)
        }
        PatternNode::CallOf { variable, rest, .. } => {
            let variable = &rule.operators[*variable];
            let mut lines = vec![variable.name.to_string()];
            let names: Vec<&str> = variable.choices.iter().map(|d| d.name).collect();
            lines.push(cut(&names.join(" ")));
            lines.extend(rest.as_ref().map(|name| format!("..{name}")));
            (lines, Shape::Call)
        }
        PatternNode::Tuple(_) => (vec!["tuple".to_owned()], Shape::Plain),
        PatternNode::Proj(_, ProjIndex::At(i)) => (vec![format!(".{i}")], Shape::Plain),
        PatternNode::Proj(_, ProjIndex::Running) => (vec![".i".to_owned()], Shape::Plain),
        PatternNode::Proj(_, ProjIndex::Bind(name)) => (vec![format!(".{name}")], Shape::Plain),
        PatternNode::AnyOf(_) => (vec!["one of".to_owned()], Shape::Plain),
    }
}

fn list_item(item: &ListItem) -> String {
    match item {
        ListItem::Int(v) => v.to_string(),
        ListItem::Bind(name) => name.to_string(),
        ListItem::Any => "_".to_owned(),
    }
}

fn target(rule: &Rule) -> Part {
    let mut drawer = Target {
        ast: &rule.ast,
        part: Part::new("target"),
        names: BTreeMap::new(),
    };
    drawer.lets(&rule.target);
    let outputs = match rule.ast.kind(rule.target.result) {
        ExprKind::Tuple(items) => items.clone(),
        _ => vec![rule.target.result],
    };
    for (k, output) in outputs.into_iter().enumerate() {
        let (from, text) = drawer.operand(output);
        let at = drawer.part.add(vec![format!("result {k}")], Shape::Plain);
        drawer.part.connect(from, at, text);
    }
    drawer.part
}

struct Target<'a> {
    ast: &'a Ast,
    part: Part,
    names: BTreeMap<String, usize>,
}

impl Target<'_> {
    fn lets(&mut self, block: &Block) {
        for item in &block.lets {
            let value = self.expr(item.value);
            match &item.names {
                LetNames::One(name) => {
                    self.names.insert(name.as_str().to_owned(), value);
                }
                LetNames::Tuple(names) => {
                    for (i, name) in names.iter().enumerate() {
                        let part = self.part.add(vec![format!(".{i}")], Shape::Plain);
                        self.part.connect(value, part, "");
                        self.names.insert(name.as_str().to_owned(), part);
                    }
                }
            }
        }
    }

    fn block(&mut self, block: &Block) -> usize {
        let before = self.names.clone();
        self.lets(block);
        let result = self.expr(block.result);
        self.names = before;
        result
    }

    /// A box, with a note if it stands for more than one operand.
    fn operand(&mut self, id: ExprId) -> (usize, String) {
        match self.ast.kind(id) {
            ExprKind::Comprehension { body, var, iter, .. } => {
                let text = format!("for {} in {}", var.as_str(), cut(&format_expr(self.ast, *iter)));
                (self.expr(*body), text)
            }
            _ => (self.expr(id), String::new()),
        }
    }

    fn call(&mut self, lines: Vec<String>, args: &[ExprId], shape: Shape) -> usize {
        let from: Vec<(usize, String)> = args.iter().map(|a| self.operand(*a)).collect();
        let at = self.part.add(lines, shape);
        let many = from.len() > 1;
        for (place, (from, text)) in from.into_iter().enumerate() {
            let place = if many { place.to_string() } else { String::new() };
            self.part.connect(from, at, format!("{place} {text}").trim());
        }
        at
    }

    fn leaf(&mut self, text: String, shape: Shape) -> usize {
        match self.names.get(&text) {
            Some(&known) => known,
            None => {
                let at = self.part.add(vec![cut(&text)], shape);
                self.names.insert(text, at);
                at
            }
        }
    }

    fn attrs(&self, attrs: Option<&Attrs>) -> Vec<String> {
        let Some(attrs) = attrs else { return Vec::new() };
        let entries = attrs.entries.iter();
        let given = entries.map(|e| cut(&format!("{} = {}", e.name.as_str(), format_expr(self.ast, e.value))));
        given
            .chain(attrs.rest.as_ref().map(|r| format!("..{}", r.as_str())))
            .collect()
    }

    fn expr(&mut self, id: ExprId) -> usize {
        let ast = self.ast;
        match ast.kind(id) {
            ExprKind::Name(name) => self.leaf(name.to_string(), Shape::Value),
            ExprKind::Index { .. } => self.leaf(format_expr(ast, id), Shape::Value),
            ExprKind::Call {
                callee, args, attrs, ..
            } => {
                let mut lines = vec![callee.as_str().to_owned()];
                lines.extend(self.attrs(attrs.as_deref()));
                self.call(lines, args, Shape::Call)
            }
            ExprKind::Unary { op, operand } => self.call(vec![op.symbol().to_owned()], &[*operand], Shape::Call),
            ExprKind::Binary { op, lhs, rhs } => self.call(vec![op.symbol().to_owned()], &[*lhs, *rhs], Shape::Call),
            ExprKind::Tuple(items) => self.call(vec!["tuple".to_owned()], items, Shape::Plain),
            ExprKind::Project { base, index } => self.call(vec![format!(".{index}")], &[*base], Shape::Plain),
            ExprKind::Field { base, name } if !matches!(name.as_str(), "shape" | "rank" | "size" | "dtype") => {
                self.call(vec![format!(".{}", name.as_str())], &[*base], Shape::Plain)
            }
            ExprKind::If { cond, then, otherwise } => {
                let from = [self.expr(*cond), self.block(then), self.block(otherwise)];
                let at = self.part.add(vec!["where".to_owned()], Shape::Call);
                for (place, from) in from.into_iter().enumerate() {
                    self.part.connect(from, at, place.to_string());
                }
                at
            }
            ExprKind::When { cond, then, otherwise } => {
                let from = [self.block(then), self.block(otherwise)];
                let condition = cut(&format!("when {}", format_expr(ast, *cond)));
                let at = self.part.add(vec![condition], Shape::Plain);
                self.part.connect(from[0], at, "then");
                self.part.connect(from[1], at, "else");
                at
            }
            _ => self.part.add(vec![cut(&format_expr(ast, id))], Shape::Constant),
        }
    }
}
