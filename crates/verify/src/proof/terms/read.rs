//! The sides of a rule as terms, and the bodies of composite operators.

use std::rc::Rc;

use super::expr::DEPTH;
use super::parts::{function, is_axes, is_exact, is_function, list, parameters, part, preset, value, written};
use super::types::Typed;
use super::variables::Known;
use super::{Called, Function, Key, Maker, Term};
use crate::instance::combine::reached;
use tautomer_graph::composite_function;
use tautomer_lang::ast::{Ast, DimExpr, Dims, ExprKind, TypeKind};
use tautomer_op::{AttrDef, AttrKind, AttrValue, Default as Preset, OpDef};
use tautomer_rule::{AttrPattern, Class, Item, ListItem, PatternId, PatternNode, ProjIndex, Rule};
use tautomer_tensor::{DType, Dim};

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

/// A call of the pattern: the operator, its operands and its attributes.
type Matched = (&'static OpDef, Vec<Rc<Term>>, Vec<Rc<Term>>);

/// Reads both sides of a rule.
pub(super) struct Reader<'a> {
    pub(super) rule: &'a Rule,
    /// The alternative at each vertex that has some, if the vertex is part of the match.
    choice: &'a [Option<usize>],
    pub(super) maker: Maker,
    /// Attributes that are not left out, in the branch of this expression.
    pub(super) given_here: Vec<Rc<Term>>,
    /// The calls of composite operators in the pattern, with their operands and attributes.
    matched: Vec<Matched>,
    /// The attributes that the source binds, by name, or by rest and attribute.
    pub(super) bound: Vec<Bound>,
    pub(super) depth: usize,
    /// The number of expressions around this one that are numbers and lists, not tensors.
    pub(super) in_numbers: usize,
    /// The number of branches around this expression that may not be taken.
    pub(super) in_branches: usize,
    /// The composite operators whose calls are left as they are, with the attributes that their bodies see.
    pub(super) held: Vec<&'static OpDef>,
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

impl<'a> Names<'a> {
    fn of(rule: &'a Rule, declared: &'a dyn Fn(&str) -> Option<&'static OpDef>) -> Names<'a> {
        Names {
            ast: &rule.ast,
            values: Vec::new(),
            declared,
            locals: 0,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Rc<Term>> {
        let found = self.values.iter().rev().find(|(own, _)| own == name);
        found.map(|(_, value)| value.clone())
    }
}

impl<'a> Reader<'a> {
    /// Both sides; `None` if something about them is not read here.
    pub(super) fn sides(
        rule: &'a Rule,
        choice: &'a [Option<usize>],
        assumed: &[(Typed, DType)],
    ) -> Option<(Outputs, Outputs, Maker)> {
        let (source, target, reader) = Reader::holding(rule, choice, assumed, Vec::new())?;
        Some((source, target, reader.maker))
    }

    /// Both sides with the calls of some operators as they are, and their reader.
    pub(super) fn holding(
        rule: &'a Rule,
        choice: &'a [Option<usize>],
        assumed: &[(Typed, DType)],
        held: Vec<&'static OpDef>,
    ) -> Option<(Outputs, Outputs, Reader<'a>)> {
        if !rule.source.families.is_empty() || rule.variables.iter().any(|v| v.indexed) {
            return None;
        }
        // Terms are simplified by the conditions, which are terms themselves.
        let known = Reader::new(rule, choice, Known::default(), held.clone()).known(assumed)?;
        let mut reader = Reader::new(rule, choice, known, held);
        let (source, target) = reader.both()?;
        Some((source, target, reader))
    }

    fn new(rule: &'a Rule, choice: &'a [Option<usize>], known: Known, held: Vec<&'static OpDef>) -> Reader<'a> {
        Reader {
            rule,
            choice,
            maker: Maker {
                real: matches!(rule.class, Class::Real | Class::Approx(_)),
                called: Vec::new(),
                known,
                integers_of_loops: Vec::new(),
            },
            given_here: Vec::new(),
            matched: Vec::new(),
            bound: Vec::new(),
            depth: 0,
            in_numbers: 0,
            in_branches: 0,
            held,
        }
    }

    /// The facts that the source and the conditions state.
    fn known(mut self, assumed: &[(Typed, DType)]) -> Option<Known> {
        let rule = self.rule;
        let declared = |name: &str| rule.scope.declared(name);
        let mut names = Names::of(rule, &declared);
        self.assume(assumed);
        self.source(&mut names)?;
        self.learn(&mut names);
        self.block(&rule.target, &mut names)?;
        Some(self.maker.known)
    }

    fn both(&mut self) -> Option<(Outputs, Outputs)> {
        let rule = self.rule;
        let declared = |name: &str| rule.scope.declared(name);
        let mut names = Names::of(rule, &declared);
        let vertices = self.source(&mut names)?;
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
        let target = self.block(&rule.target, &mut names)?;
        let target = match (&*target, source.len()) {
            (_, 1) => vec![target],
            (Term::Tuple(parts), n) if parts.len() == n => parts.clone(),
            _ => return None,
        };
        Some((source, target))
    }

    /// Reads the source, and binds its names; returns its vertices.
    fn source(&mut self, names: &mut Names<'_>) -> Option<Vec<Option<Rc<Term>>>> {
        let rule = self.rule;
        for (i, variable) in rule.variables.iter().enumerate() {
            names
                .values
                .push((variable.name.to_string(), Rc::new(Term::Variable(i))));
        }
        let reached = reached(&rule.source, self.choice);
        let is_reached = |at: PatternId| reached.get(at.0 as usize).copied().unwrap_or(false);
        // Dimensions that types name.
        for (i, variable) in rule.variables.iter().enumerate() {
            let Some(TypeKind::Tensor {
                dims: Dims::List(list), ..
            }) = variable.ty.as_ref().map(|ty| &ty.kind)
            else {
                continue;
            };
            for (axis, dim) in list.iter().enumerate() {
                if let DimExpr::Expr(dim) = dim
                    && let ExprKind::Name(name) = rule.ast.kind(*dim)
                    && names.get(name).is_none()
                {
                    let shape = function(Function::Field("shape".to_owned()), vec![Rc::new(Term::Variable(i))]);
                    let axis = value(AttrValue::int(i64::try_from(axis).ok()?));
                    names
                        .values
                        .push((name.to_string(), function(Function::Element, vec![shape, axis])));
                }
            }
        }
        // Attributes first: an expression may use a name that stands elsewhere.
        for (at, node) in rule.source.nodes().filter(|(at, _)| is_reached(*at)) {
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
            if !is_reached(at) {
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
                    let exact: Vec<bool> = def.attrs.iter().zip(attrs).map(|(d, p)| is_exact(def, d, p)).collect();
                    let attrs: Option<Vec<Rc<Term>>> = def
                        .attrs
                        .iter()
                        .zip(attrs)
                        .map(|(declared, pattern)| self.pattern(at, declared, pattern, names))
                        .collect();
                    let attrs = attrs?;
                    let mut known = std::mem::take(&mut self.maker.known);
                    known.call(&self.maker, def, (&operands, &attrs), true);
                    self.maker.known = known;
                    self.apply(def, operands, attrs, Some(&exact))?
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
                    let chosen = self.choice.get(at.0 as usize).copied().flatten()?;
                    out.get(items.get(chosen)?.0 as usize)?.clone()?
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
        let is_list = matches!(pattern, AttrPattern::List(_));
        // An entry of a list is there if the list is.
        let optional = !is_list && declared.default == Preset::None && !def.fills_attribute(declared.name);
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
        let known = &mut self.maker.known;
        let mut add = |key: Key, in_list: bool| {
            known.bind(&key, declared.kind, in_list);
            add(key);
        };
        match pattern {
            AttrPattern::Bind(name) => add(Key::Name(name.to_string()), false),
            AttrPattern::Rest(rest) => add(Key::OfRest(rest.to_string(), declared.name), false),
            AttrPattern::Any => add(Key::Any(at.0, declared.name), false),
            AttrPattern::List(items) => items.iter().for_each(|item| {
                if let ListItem::Bind(name) = item {
                    add(Key::Name(name.to_string()), true);
                }
            }),
            _ => {}
        }
        let bound: Vec<String> = match pattern {
            AttrPattern::Bind(name) => vec![name.to_string()],
            AttrPattern::List(items) => items
                .iter()
                .filter_map(|item| match item {
                    ListItem::Bind(name) => Some(name.to_string()),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        for name in bound {
            let term = self.maker.bound(Key::Name(name.clone()));
            names.values.push((name, term));
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
        let bound = |key: Key| self.maker.bound(key);
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

    /// A call, or the body of the operator. For a call of the source, `exact` says which attributes are as inference
    /// leaves them.
    pub(super) fn apply(
        &mut self,
        def: &'static OpDef,
        operands: Vec<Rc<Term>>,
        attrs: Vec<Rc<Term>>,
        exact: Option<&[bool]>,
    ) -> Option<Rc<Term>> {
        if !is_function(def) {
            return None;
        }
        // Both sides have a type, or nothing is claimed.
        if self.in_branches == 0 {
            let mut known = std::mem::take(&mut self.maker.known);
            known.call(&self.maker, def, (&operands, &attrs), false);
            self.maker.known = known;
        }
        if def.composite_body().is_none() {
            return self.maker.call(Called::operator(def), operands, attrs);
        }
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let (program, body) = composite_function(def).ok()?;
        if exact.is_some_and(|exact| exact.iter().all(|exact| *exact)) {
            self.matched.push((def, operands.clone(), attrs.clone()));
        }
        let is_normal = exact.is_none() && self.is_normal(def, &operands, &attrs);
        let written = attrs.clone();
        let attrs = self.maker.with_axes_at_front(def, &operands, attrs);
        let mut seen: Vec<Rc<Term>> = Vec::with_capacity(attrs.len());
        for (i, (declared, attr)) in def.attrs.iter().enumerate().map(|(i, d)| (i, (d, &attrs[i]))) {
            // The operator may fill in or change an attribute before its body sees it: negative axes are counted from
            // the front. What it makes of it depends on all operands and attributes.
            let is_counted = *attr != written[i];
            let attr = if is_normal || exact.is_some_and(|exact| exact[i]) {
                attr.clone()
            } else if let Some(filled) = self.filled(def, declared.name, attr, &operands) {
                filled
            } else if !def.keeps_attribute(declared.name, !self.may_be_absent(attr))
                || is_axes(declared) && !is_counted && !self.is_counted_from_front(def, declared, attr)
            {
                let all = operands.iter().chain(&attrs).cloned().collect();
                function(Function::Attribute(Called::operator(def).head, declared.name), all)
            } else {
                attr.clone()
            };
            seen.push(attr);
        }
        if self.held.iter().any(|held| std::ptr::eq(*held, def)) {
            let called = Called::operator(def);
            let out = Rc::new(Term::Call(called.head.clone(), operands, seen));
            self.maker.add(called);
            self.depth -= 1;
            return Some(out);
        }
        let calls = def.declared.map_or(&[][..], |d| d.calls);
        let declared = |name: &str| calls.iter().copied().find(|def| def.name == name);
        let mut names = Names {
            ast: &program.ast,
            values: parameters(def, body, &operands, &seen)?,
            declared: &declared,
            locals: 0,
        };
        let in_numbers = std::mem::take(&mut self.in_numbers);
        let out = self.block(&body.body, &mut names);
        self.in_numbers = in_numbers;
        self.depth -= 1;
        out
    }

    /// True if the pattern has a call of the operator with the same attributes, and the same operands as far as the
    /// normal form of the attributes depends on them: that is what a match has, and a normal form stays as it is.
    fn is_normal(&self, def: &OpDef, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> bool {
        let Some(places) = def.normal_form_depends_on() else {
            return false;
        };
        self.matched.iter().any(|(own, given, of)| {
            let same = |i: &usize| given.get(*i).is_some_and(|one| operands.get(*i) == Some(one));
            std::ptr::eq(*own, def) && of == attrs && places.iter().all(same)
        })
    }

    /// What an operator fills in for an element type that is left out, if that does not depend on what is not known.
    fn filled(&mut self, def: &OpDef, name: &str, attr: &Term, operands: &[Rc<Term>]) -> Option<Rc<Term>> {
        let from = def.type_filled_from(name).filter(|_| *attr == Term::Absent)?;
        let is_given = |operand: &&Rc<Term>| self.maker.known.is_given_operand(operand);
        let operand = operands.get(from).filter(is_given)?.clone();
        self.maker.field("dtype", &operand)
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
            // Where it is below 0, it is counted from the end.
            Term::Function(Function::Sum(..), _) if matches!(declared.kind, AttrKind::Axis(_)) => {
                let sum = self.maker.sum(&Rc::new(axes.clone()));
                sum.is_some_and(|sum| self.maker.is_at_least(&sum, 0))
            }
            Term::Value(AttrValue::Ints(list)) => list.iter().all(at_front) && list.is_sorted(),
            _ => false,
        }
    }

    pub(super) fn may_be_absent(&self, term: &Term) -> bool {
        match term {
            _ if self.given_here.iter().any(|given| **given == *term) => false,
            Term::Absent => true,
            Term::Bound(key) if self.maker.known.is_written(key) => false,
            Term::Bound(key) => self.bound.iter().any(|own| own.key == *key && own.optional),
            Term::Function(Function::When, parts) => parts[1..].iter().any(|part| self.may_be_absent(part)),
            // Lists of integers have no entries that are left out.
            Term::Function(Function::Element, parts) => !self.maker.has_integers(&parts[0]),
            _ => false,
        }
    }
}
