//! Converts a checked rule to terms.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::terms::{Head, Meaning, TermId, Terms};
use crate::{AttrPattern, Count, Item, ListItem, PatternId, PatternNode, ProjIndex, Rule, Variable};
use tautomer_lang::ast::{Ast, Attrs, Block, DimExpr, Dims, ExprId, ExprKind, LetNames, TypeKind};
use tautomer_op::OpDef;

/// A rule as terms.
#[derive(Debug)]
pub(super) struct Sides {
    /// The outputs of the source.
    pub(super) source: Vec<TermId>,
    /// The outputs of the target.
    pub(super) target: Vec<TermId>,
    /// The conditions, in ascending order.
    pub(super) conditions: Vec<TermId>,
}

impl Sides {
    pub(super) fn new(terms: &mut Terms, rule: &Rule) -> Sides {
        let mut side = Reader {
            terms,
            rule,
            ast: &rule.ast,
            vertices: FxHashMap::default(),
            names: Meaning::default(),
            depth: 0,
        };
        for (id, _) in rule.source.nodes() {
            let term = side.vertex(id);
            side.vertices.insert(id, term);
        }
        let source = rule.source.outputs.iter().map(|o| side.item(*o)).collect();
        for (name, id) in &rule.source.named {
            let term = side.vertices[id];
            side.names.insert(name.clone(), term);
        }
        let mut conditions: Vec<TermId> = rule.conditions.iter().map(|c| side.expr(*c)).collect();
        conditions.sort_unstable();
        conditions.dedup();
        let target = side.target(&rule.target);
        Sides {
            source,
            target,
            conditions,
        }
    }
}

struct Reader<'a> {
    terms: &'a mut Terms,
    rule: &'a Rule,
    ast: &'a Ast,
    vertices: FxHashMap<PatternId, TermId>,
    names: Meaning,
    /// The nesting depth of comprehensions.
    depth: usize,
}

/// The name of an attribute that belongs to a rest.
fn of_rest(rest: &str, attr: &str) -> Arc<str> {
    format!("..{rest}.{attr}").into()
}

impl Reader<'_> {
    fn item(&mut self, item: Item) -> TermId {
        let body = self.vertices[&item.vertex()];
        let Item::Each(_, family) = item else { return body };
        let count = match &self.rule.source.family(family).count {
            Count::Exactly(n) => self.terms.form(n.to_string(), Vec::new()),
            Count::Bind(name) => self.terms.name(name),
        };
        self.terms.form("each", vec![count, body])
    }

    fn list(&mut self, items: Vec<TermId>) -> TermId {
        self.terms.add(Head::List, items)
    }

    /// A fresh name, which cannot be written in a rule.
    fn anything(&mut self, at: PatternId, place: usize) -> TermId {
        self.terms.name(&format!("_{}.{place}", at.0).into())
    }

    fn vertex(&mut self, at: PatternId) -> TermId {
        let rule = self.rule;
        match rule.source.node(at) {
            PatternNode::Variable(i) => self.terms.name(&rule.variables[*i].name),
            PatternNode::Wildcard => self.anything(at, 0),
            PatternNode::Literal(value) => self.terms.form(value.to_string(), Vec::new()),
            PatternNode::Absent => self.terms.form("none", Vec::new()),
            PatternNode::Call { def, operands, attrs } => {
                let operands = operands.iter().map(|o| self.item(*o)).collect();
                let operands = self.list(operands);
                let all = attrs.iter().enumerate();
                let attrs = all.map(|(i, a)| self.attribute(at, i, def, a)).collect();
                let attrs = self.list(attrs);
                self.terms.add(Head::Op(def.name), vec![operands, attrs])
            }
            PatternNode::CallOf {
                variable,
                operands,
                rest,
            } => {
                let operands: Vec<TermId> = operands.iter().map(|o| self.item(*o)).collect();
                let name = rule.operators[*variable].name.clone();
                self.call_of(&name, operands, rest.as_ref())
            }
            PatternNode::Tuple(items) => {
                let items = items.iter().map(|i| self.item(*i)).collect();
                self.terms.form("tuple", items)
            }
            PatternNode::Proj(tuple, index) => {
                let index = match index {
                    ProjIndex::At(i) => self.terms.form(i.to_string(), Vec::new()),
                    ProjIndex::Running => self.terms.form("running", Vec::new()),
                    ProjIndex::Bind(name) => self.terms.name(name),
                };
                let tuple = self.vertices[tuple];
                self.terms.form("element", vec![tuple, index])
            }
            PatternNode::AnyOf(items) => {
                let items = items.iter().map(|i| self.vertices[i]).collect();
                self.terms.add(Head::AnyOf, items)
            }
        }
    }

    fn call_of(&mut self, name: &Arc<str>, operands: Vec<TermId>, rest: Option<&Arc<str>>) -> TermId {
        let variable = self.terms.name(name);
        let operands = self.list(operands);
        let attrs = match rest {
            Some(rest) => self.terms.name(&of_rest(rest, "")),
            None => self.terms.left_out(),
        };
        self.terms.add(Head::OpOf, vec![variable, operands, attrs])
    }

    fn attribute(&mut self, at: PatternId, place: usize, def: &'static OpDef, attr: &AttrPattern) -> TermId {
        match attr {
            AttrPattern::Value(v) if def.attrs[place].default_value().as_ref() == Some(v) => self.terms.left_out(),
            AttrPattern::Value(v) => self.terms.form(v.to_string(), Vec::new()),
            AttrPattern::Default => self.terms.left_out(),
            AttrPattern::Any => self.anything(at, place + 1),
            AttrPattern::Bind(name) => self.terms.name(name),
            AttrPattern::BindEach(name) => {
                let name = self.terms.name(name);
                self.terms.form("member", vec![name])
            }
            AttrPattern::Rest(rest) => self.terms.name(&of_rest(rest, def.attrs[place].name)),
            AttrPattern::List(items) => {
                let each = items.iter().enumerate();
                let items = each.map(|(i, item)| match item {
                    ListItem::Int(v) => self.terms.form(v.to_string(), Vec::new()),
                    ListItem::Bind(name) => self.terms.name(name),
                    ListItem::Any => self.terms.name(&format!("_{}.{place}.{i}", at.0).into()),
                });
                let items = items.collect();
                self.terms.form("list", items)
            }
            AttrPattern::Computed(id) => self.expr(*id),
        }
    }

    fn target(&mut self, block: &Block) -> Vec<TermId> {
        self.lets(block);
        match self.ast.kind(block.result) {
            ExprKind::Tuple(items) => items.iter().map(|i| self.expr(*i)).collect(),
            _ => vec![self.expr(block.result)],
        }
    }

    /// Binds the names of a block.
    fn lets(&mut self, block: &Block) {
        for item in &block.lets {
            let value = self.expr(item.value);
            match &item.names {
                LetNames::One(name) => {
                    self.names.insert(name.name.clone(), value);
                }
                LetNames::Tuple(names) => {
                    for (i, name) in names.iter().enumerate() {
                        let place = self.terms.form(i.to_string(), Vec::new());
                        let part = self.terms.form("element", vec![value, place]);
                        self.names.insert(name.name.clone(), part);
                    }
                }
            }
        }
    }

    fn block(&mut self, block: &Block) -> TermId {
        let before = self.names.clone();
        self.lets(block);
        let result = self.expr(block.result);
        self.names = before;
        result
    }

    fn expr(&mut self, id: ExprId) -> TermId {
        let ast = self.ast;
        match ast.kind(id) {
            ExprKind::Name(name) => match self.names.get(name) {
                Some(&term) => term,
                None if &**name == "none" || name.parse::<tautomer_tensor::DType>().is_ok() => {
                    self.terms.form(name.clone(), Vec::new())
                }
                None => self.terms.name(name),
            },
            ExprKind::Int { value, suffix } => self.terms.form(
                format!("{value}{}", suffix.map(|s| s.to_string()).unwrap_or_default()),
                Vec::new(),
            ),
            ExprKind::Float { value, suffix } => self.terms.form(
                format!("{value}{}", suffix.map(|s| s.to_string()).unwrap_or_default()),
                Vec::new(),
            ),
            ExprKind::Bool(value) => self.terms.form(value.to_string(), Vec::new()),
            ExprKind::Str(text) => self.terms.form(format!("{text:?}"), Vec::new()),
            ExprKind::Unary { op, operand } => self.call(op.operator(), &[*operand], None),
            ExprKind::Binary { op, lhs, rhs } => {
                self.call(op.operator().unwrap_or_else(|| op.symbol()), &[*lhs, *rhs], None)
            }
            ExprKind::Call {
                callee, args, attrs, ..
            } => self.call(callee.as_str(), args, attrs.as_deref()),
            ExprKind::Project { base, index } => {
                let base = self.expr(*base);
                let index = self.terms.form(index.to_string(), Vec::new());
                self.terms.form("element", vec![base, index])
            }
            ExprKind::Field { base, name } if self.names.contains_key(&name.name) => {
                let base = self.expr(*base);
                let index = self.names[&name.name];
                self.terms.form("element", vec![base, index])
            }
            ExprKind::Field { base, name } => {
                let base = self.expr(*base);
                let fact = matches!(name.as_str(), "shape" | "rank" | "size" | "dtype");
                let index = if fact {
                    self.terms.form(format!(".{}", name.name), Vec::new())
                } else {
                    self.terms.name(&name.name)
                };
                self.terms
                    .form(if fact { "fact" } else { "element" }, vec![base, index])
            }
            ExprKind::Comprehension { body, var, iter, cond } => {
                let iter = self.expr(*iter);
                let index = self.terms.form(format!("#{}", self.depth), Vec::new());
                let hidden = self.names.insert(var.name.clone(), index);
                self.depth += 1;
                let mut below = vec![iter, self.expr(*body)];
                below.extend(cond.map(|c| self.expr(c)));
                self.depth -= 1;
                match hidden {
                    Some(term) => self.names.insert(var.name.clone(), term),
                    None => self.names.remove(&var.name),
                };
                self.terms.form("for", below)
            }
            ExprKind::If { cond, then, otherwise } | ExprKind::When { cond, then, otherwise } => {
                let below = vec![self.expr(*cond), self.block(then), self.block(otherwise)];
                let value = matches!(ast.kind(id), ExprKind::If { .. });
                self.terms.form(if value { "if" } else { "when" }, below)
            }
            other => {
                let what = match other {
                    ExprKind::List(_) => "list",
                    ExprKind::Tuple(_) => "tuple",
                    ExprKind::Index { .. } => "index",
                    ExprKind::Slice { start: None, .. } => "slice-to",
                    ExprKind::Slice { end: None, .. } => "slice-from",
                    ExprKind::Slice { .. } => "slice",
                    ExprKind::Range { start: None, .. } => "range-to",
                    ExprKind::Range { .. } => "range",
                    _ => "other",
                };
                let text = if what == "other" {
                    tautomer_lang::format_expr(ast, id)
                } else {
                    what.to_owned()
                };
                let below = ast.operands(id).into_iter().map(|e| self.expr(e)).collect();
                self.terms.form(text, below)
            }
        }
    }

    fn call(&mut self, name: &str, args: &[ExprId], attrs: Option<&Attrs>) -> TermId {
        let operands: Vec<TermId> = args.iter().map(|a| self.expr(*a)).collect();
        let rest = attrs.and_then(|a| a.rest.as_ref()).map(|r| &r.name);
        if let Some(variable) = self.rule.operators.iter().find(|v| &*v.name == name) {
            let name = variable.name.clone();
            return self.call_of(&name, operands, rest);
        }
        let Some(def) = self.rule.scope.find(name, false) else {
            return self.terms.form(name, operands);
        };
        let mut values = Vec::with_capacity(def.attrs.len());
        for attr in def.attrs {
            let entry = attrs.and_then(|a| a.entries.iter().find(|e| e.name.as_str() == attr.name));
            values.push(match (entry, rest) {
                (Some(entry), _) => {
                    let value = self.expr(entry.value);
                    let default = attr.default_value().map(|v| self.terms.form(v.to_string(), Vec::new()));
                    if default == Some(value) {
                        self.terms.left_out()
                    } else {
                        value
                    }
                }
                (None, Some(rest)) if self.takes_over(rest, attr.name) => self.terms.name(&of_rest(rest, attr.name)),
                (None, _) => self.terms.left_out(),
            });
        }
        let operands = self.list(operands);
        let values = self.list(values);
        self.terms.add(Head::Op(def.name), vec![operands, values])
    }

    /// True if the source binds the attribute of that name to the rest.
    fn takes_over(&self, rest: &str, attr: &str) -> bool {
        self.rule.source.nodes().any(|(_, node)| match node {
            PatternNode::Call { def, attrs, .. } => def
                .attrs
                .iter()
                .zip(attrs)
                .any(|(a, p)| a.name == attr && matches!(p, AttrPattern::Rest(name) if &**name == rest)),
            _ => false,
        })
    }
}

/// The type that a variable requires, its names as names of terms.
pub(super) fn type_term(terms: &mut Terms, ast: &Ast, variable: &Variable) -> Option<TermId> {
    let TypeKind::Tensor { dtype, dims } = &variable.ty.as_ref()?.kind else {
        return None;
    };
    let any = terms.form("any", Vec::new());
    let mut below = vec![dtype.map_or(any, |d| terms.form(d.dtype.to_string(), Vec::new()))];
    match dims {
        Dims::AnyRank => below.push(any),
        Dims::Scalar => {}
        Dims::List(list) => below.extend(list.iter().map(|dim| match dim {
            DimExpr::Unknown(_) => any,
            DimExpr::Expr(id) => match ast.kind(*id) {
                ExprKind::Name(name) => terms.name(name),
                _ => terms.form(tautomer_lang::format_expr(ast, *id), Vec::new()),
            },
        })),
    }
    Some(terms.form("type", below))
}
