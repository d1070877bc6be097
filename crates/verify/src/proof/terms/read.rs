//! The sides of a rule as terms, and the bodies of composite operators.

use std::rc::Rc;

use super::expr::DEPTH;
use super::parts::{function, is_axes, is_function, list, part, preset, value, written};
use super::{Called, Function, Key, Maker, Term};
use crate::instance::combine::is_reached;
use tautomer_graph::composite_function;
use tautomer_lang::ast::Ast;
use tautomer_op::{AttrDef, AttrKind, AttrValue, Default as Preset, OpDef, OperandKind};
use tautomer_rule::{AttrPattern, Item, ListItem, PatternId, PatternNode, ProjIndex, Rule};
use tautomer_tensor::Dim;

/// Attributes of the source that one name is bound to, or one attribute of a rest.
pub(super) struct Bound {
    pub(super) key: Key,
    /// Some of them may be left out.
    optional: bool,
    /// All of them are single axes, which a match counts from the front.
    axis: bool,
    /// Operators and attributes.
    places: Vec<(&'static str, &'static str)>,
}

/// The outputs of a side.
type Outputs = Vec<Rc<Term>>;

/// Reads both sides of a rule.
pub(super) struct Reader<'a> {
    pub(super) rule: &'a Rule,
    pub(super) maker: Maker,
    /// The attributes that the source binds, by name, or by rest and attribute.
    pub(super) bound: Vec<Bound>,
    pub(super) depth: usize,
    /// The alternative at each vertex that has some.
    chosen: Vec<Option<usize>>,
}

/// The names in an expression.
pub(super) struct Names<'a> {
    pub(super) ast: &'a Ast,
    pub(super) values: Vec<(String, Rc<Term>)>,
    /// The declared operators that may be called.
    pub(super) declared: &'a dyn Fn(&str) -> Option<&'static OpDef>,
    /// The number of comprehensions around the expression.
    pub(super) locals: usize,
}

impl Names<'_> {
    pub(super) fn get(&self, name: &str) -> Option<Rc<Term>> {
        let found = self.values.iter().rev().find(|(own, _)| own == name);
        found.map(|(_, value)| value.clone())
    }
}

impl<'a> Reader<'a> {
    /// Both sides; `None` if something about them is not read here.
    pub(super) fn sides(rule: &'a Rule, maker: Maker, chosen: Vec<Option<usize>>) -> Option<(Outputs, Outputs, Maker)> {
        if !rule.source.families.is_empty() || rule.variables.iter().any(|v| v.indexed) {
            return None;
        }
        let mut reader = Reader {
            rule,
            maker,
            bound: Vec::new(),
            depth: 0,
            chosen,
        };
        let declared = |name: &str| rule.scope.declared(name);
        let mut names = Names {
            ast: &rule.ast,
            values: Vec::new(),
            declared: &declared,
            locals: 0,
        };
        let vertices = reader.source(&mut names)?;
        let outputs: Option<Vec<Rc<Term>>> = rule
            .source
            .outputs
            .iter()
            .map(|item| match item {
                Item::One(id) => vertices.get(id.0 as usize).cloned().flatten(),
                Item::Each(..) => None,
            })
            .collect();
        let source = outputs?;
        let target = reader.block(&rule.target, &mut names)?;
        let target = match (&*target, source.len()) {
            (_, 1) => vec![target],
            (Term::Tuple(parts), n) if parts.len() == n => parts.clone(),
            _ => return None,
        };
        Some((source, target, reader.maker))
    }

    /// Reads the source, and binds its names; returns its vertices.
    fn source(&mut self, names: &mut Names<'_>) -> Option<Vec<Option<Rc<Term>>>> {
        let rule = self.rule;
        let chosen = self.chosen.clone();
        let is_part = |at: PatternId| is_reached(&rule.source, &chosen, at);
        for (i, variable) in rule.variables.iter().enumerate() {
            names
                .values
                .push((variable.name.to_string(), Rc::new(Term::Variable(i))));
        }
        // Attributes first: an expression may use a name that stands elsewhere.
        for (at, node) in rule.source.nodes().filter(|(at, _)| is_part(*at)) {
            match node {
                PatternNode::Call { def, attrs, .. } => {
                    for (declared, pattern) in def.attrs.iter().zip(attrs) {
                        self.bind((at, def), declared, pattern, names);
                    }
                }
                PatternNode::CallOf { rest: Some(rest), .. } => self.bound.push(Bound {
                    key: Key::Rest(rest.to_string()),
                    optional: false,
                    axis: false,
                    places: Vec::new(),
                }),
                _ => {}
            }
        }
        let mut out: Vec<Option<Rc<Term>>> = Vec::new();
        for (at, node) in rule.source.nodes() {
            if !is_part(at) {
                out.push(None);
                continue;
            }
            let one = |item: &Item| match item {
                Item::One(id) => out.get(id.0 as usize).cloned().flatten(),
                Item::Each(..) => None,
            };
            let term = match node {
                PatternNode::Variable(i) => Rc::new(Term::Variable(*i)),
                PatternNode::Absent => Rc::new(Term::Absent),
                PatternNode::Call { def, operands, attrs } => {
                    let operands: Vec<Rc<Term>> = operands.iter().map(one).collect::<Option<_>>()?;
                    let attrs: Option<Vec<Rc<Term>>> = def
                        .attrs
                        .iter()
                        .zip(attrs)
                        .map(|(declared, pattern)| self.pattern(at, declared, pattern, names))
                        .collect();
                    self.apply(def, operands, attrs?, true)?
                }
                PatternNode::CallOf {
                    variable,
                    operands,
                    rest,
                } => {
                    let operands: Vec<Rc<Term>> = operands.iter().map(one).collect::<Option<_>>()?;
                    let attrs = match rest {
                        Some(rest) => Rc::new(Term::Bound(Key::Rest(rest.to_string()))),
                        None => Rc::new(Term::Preset),
                    };
                    self.apply_variable(*variable, operands, attrs)?
                }
                PatternNode::Tuple(items) => Rc::new(Term::Tuple(items.iter().map(one).collect::<Option<_>>()?)),
                PatternNode::Proj(base, ProjIndex::At(i)) => part(out.get(base.0 as usize)?.as_ref()?, *i)?,
                PatternNode::Wildcard => function(Function::Literal(at.0), Vec::new()),
                PatternNode::Literal(v) => function(Function::Literal(at.0), vec![value(AttrValue::float(*v))]),
                PatternNode::AnyOf(items) => {
                    let item = items.get((*chosen.get(at.0 as usize)?)?)?;
                    out.get(item.0 as usize)?.clone()?
                }
                PatternNode::Proj(..) => return None,
            };
            out.push(Some(term));
        }
        for (name, id) in &rule.source.named {
            // A name in an alternative that is not chosen stands for nothing.
            if let Some(value) = out.get(id.0 as usize)?.clone() {
                names.values.push((name.to_string(), value));
            }
        }
        Some(out)
    }

    fn bind(
        &mut self,
        (at, def): (PatternId, &'static OpDef),
        declared: &'static AttrDef,
        pattern: &AttrPattern,
        names: &mut Names<'_>,
    ) {
        let optional = declared.default == Preset::None;
        let is_list = matches!(pattern, AttrPattern::List(_));
        let axis = matches!(declared.kind, AttrKind::Axis(_)) || is_list && is_axes(declared);
        let place = (def.name, declared.name);
        let mut add = |key: Key| match self.bound.iter_mut().find(|own| own.key == key) {
            Some(own) => {
                own.optional |= optional;
                own.axis &= axis;
                own.places.push(place);
            }
            None => self.bound.push(Bound {
                key,
                optional,
                axis,
                places: vec![place],
            }),
        };
        match pattern {
            AttrPattern::Bind(name) => {
                add(Key::Name(name.to_string()));
                let term = Rc::new(Term::Bound(Key::Name(name.to_string())));
                names.values.push((name.to_string(), term));
            }
            AttrPattern::Rest(rest) => add(Key::OfRest(rest.to_string(), declared.name)),
            AttrPattern::Any => add(Key::Any(at.0, declared.name)),
            AttrPattern::List(items) => {
                for item in items {
                    if let ListItem::Bind(name) = item {
                        add(Key::Name(name.to_string()));
                        let term = Rc::new(Term::Bound(Key::Name(name.to_string())));
                        names.values.push((name.to_string(), term));
                    }
                }
            }
            _ => {}
        }
    }

    /// The attribute that a pattern matches.
    fn pattern(
        &mut self,
        at: PatternId,
        declared: &AttrDef,
        pattern: &AttrPattern,
        names: &mut Names<'_>,
    ) -> Option<Rc<Term>> {
        let bound = |key: Key| Rc::new(Term::Bound(key));
        Some(match pattern {
            AttrPattern::Value(v) => written(declared, value(v.clone())),
            AttrPattern::Default => preset(declared),
            AttrPattern::Any => bound(Key::Any(at.0, declared.name)),
            AttrPattern::Bind(name) => bound(Key::Name(name.to_string())),
            AttrPattern::Rest(rest) => bound(Key::OfRest(rest.to_string(), declared.name)),
            AttrPattern::List(items) => {
                let items: Option<Vec<Rc<Term>>> = items
                    .iter()
                    .map(|item| match item {
                        ListItem::Int(n) => Some(value(AttrValue::int(*n))),
                        ListItem::Bind(name) => Some(bound(Key::Name(name.to_string()))),
                        ListItem::Any => None,
                    })
                    .collect();
                list(items?)
            }
            AttrPattern::Computed(id) => written(declared, self.expr(*id, names)?),
            AttrPattern::BindEach(_) => return None,
        })
    }

    pub(super) fn apply_variable(&mut self, i: usize, operands: Vec<Rc<Term>>, attrs: Rc<Term>) -> Option<Rc<Term>> {
        let choices = &self.rule.operators.get(i)?.choices;
        if choices.iter().any(|def| !is_function(def)) {
            return None;
        }
        self.maker.call(Called::variable(i, choices), operands, vec![attrs])
    }

    /// A call, or the body of the operator; a match has the attributes of a call of the source as inference leaves them.
    pub(super) fn apply(
        &mut self,
        def: &'static OpDef,
        operands: Vec<Rc<Term>>,
        attrs: Vec<Rc<Term>>,
        matched: bool,
    ) -> Option<Rc<Term>> {
        if !is_function(def) {
            return None;
        }
        if def.composite_body().is_none() {
            return self.maker.call(Called::operator(def), operands, attrs);
        }
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let (program, body) = composite_function(def).ok()?;
        let calls = def.declared.map_or(&[][..], |d| d.calls);
        let declared = |name: &str| calls.iter().copied().find(|def| def.name == name);
        let mut names = Names {
            ast: &program.ast,
            values: Vec::new(),
            declared: &declared,
            locals: 0,
        };
        for (declared, attr) in def.attrs.iter().zip(&attrs) {
            // The operator may fill in or change an attribute before its body sees it: negative axes are counted from
            // the front. What it makes of it depends on all operands and attributes.
            let attr = if matched && matches!(**attr, Term::Bound(_)) {
                attr.clone()
            } else if def.canonical.is_some() || is_axes(declared) && !self.is_counted_from_front(def, declared, attr) {
                let all = operands.iter().chain(&attrs).cloned().collect();
                function(Function::Attribute(Called::operator(def).head, declared.name), all)
            } else {
                attr.clone()
            };
            names.values.push((declared.name.to_owned(), attr));
        }
        for (i, param) in body.params.iter().enumerate() {
            if def.operands.get(i).is_none_or(|o| o.kind == OperandKind::Variadic) {
                return None;
            }
            let operand = operands.get(i).cloned().unwrap_or_else(|| Rc::new(Term::Absent));
            names.values.push((param.name.name.to_string(), operand));
        }
        let out = self.block(&body.body, &mut names);
        self.depth -= 1;
        out
    }

    /// True for axes that stay as they are: those of a match, and written numbers that are not negative.
    fn is_counted_from_front(&self, def: &OpDef, declared: &AttrDef, axes: &Term) -> bool {
        let at_front = |d: &Dim| d.as_const().is_some_and(|n| n >= 0);
        match axes {
            Term::Bound(key) => self.bound.iter().any(|own| {
                let is_same = own.places.contains(&(def.name, declared.name));
                own.key == *key && (is_same || own.axis && matches!(declared.kind, AttrKind::Axis(_)))
            }),
            Term::Value(AttrValue::Int(d)) => at_front(d),
            Term::Value(AttrValue::Ints(list)) => list.iter().all(at_front) && list.is_sorted(),
            _ => false,
        }
    }

    pub(super) fn may_be_absent(&self, term: &Term) -> bool {
        match term {
            Term::Bound(key) => self.bound.iter().any(|own| own.key == *key && own.optional),
            Term::Function(Function::When | Function::Element, _) => true,
            _ => false,
        }
    }
}
