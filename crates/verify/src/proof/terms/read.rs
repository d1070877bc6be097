//! The text of a rule as terms: its source, its target, and the bodies of composite operators.

use std::rc::Rc;

use super::parts::{boolean, function, has_call, is_axes, is_function, list, part, preset, typed, value, written};
use super::{Called, Maker, Term};
use tautomer_graph::composite_function;
use tautomer_graph::term::{Reads, TermFunction, term_function};
use tautomer_lang::ast::{Ast, Attrs, BinaryOp, Block, ExprId, ExprKind, LetNames, UnaryOp};
use tautomer_op::{AttrDef, AttrKind, AttrValue, Default as Preset, OpDef, OperandKind, lookup};
use tautomer_rule::{AttrPattern, Item, ListItem, PatternId, PatternNode, ProjIndex, Rule};
use tautomer_tensor::Dim;

/// Limit on the depth of bodies within bodies and of expressions.
const DEPTH: usize = 200;

/// Attributes of the source that one name is bound to, or one attribute of a rest.
struct Bound {
    name: String,
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
    rule: &'a Rule,
    maker: Maker,
    /// The attributes that the source binds, by name, or by rest and attribute.
    bound: Vec<Bound>,
    depth: usize,
}

/// The names in an expression.
struct Names<'a> {
    ast: &'a Ast,
    values: Vec<(String, Rc<Term>)>,
    /// The declared operators that may be called.
    declared: &'a dyn Fn(&str) -> Option<&'static OpDef>,
    /// The number of comprehensions around the expression.
    locals: usize,
}

impl Names<'_> {
    fn get(&self, name: &str) -> Option<Rc<Term>> {
        let found = self.values.iter().rev().find(|(own, _)| own == name);
        found.map(|(_, value)| value.clone())
    }
}

impl<'a> Reader<'a> {
    /// Both sides; `None` if something about them is not read here.
    pub(super) fn sides(rule: &'a Rule, maker: Maker) -> Option<(Outputs, Outputs)> {
        if !rule.source.families.is_empty() || rule.variables.iter().any(|v| v.indexed) {
            return None;
        }
        let mut reader = Reader {
            rule,
            maker,
            bound: Vec::new(),
            depth: 0,
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
                Item::One(id) => vertices.get(id.0 as usize).cloned(),
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
        Some((source, target))
    }

    /// Reads the source, and binds its names; returns its vertices.
    fn source(&mut self, names: &mut Names<'_>) -> Option<Vec<Rc<Term>>> {
        let rule = self.rule;
        for (i, variable) in rule.variables.iter().enumerate() {
            names
                .values
                .push((variable.name.to_string(), Rc::new(Term::Variable(i))));
        }
        // Attributes first: an expression may use a name that stands elsewhere.
        for (at, node) in rule.source.nodes() {
            match node {
                PatternNode::Call { def, attrs, .. } => {
                    for (declared, pattern) in def.attrs.iter().zip(attrs) {
                        self.bind((at, def), declared, pattern, names);
                    }
                }
                PatternNode::CallOf { rest: Some(rest), .. } => self.bound.push(Bound {
                    name: format!("..{rest}"),
                    optional: false,
                    axis: false,
                    places: Vec::new(),
                }),
                _ => {}
            }
        }
        let mut out: Vec<Rc<Term>> = Vec::new();
        for (at, node) in rule.source.nodes() {
            let one = |item: &Item| match item {
                Item::One(id) => out.get(id.0 as usize).cloned(),
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
                        Some(rest) => Rc::new(Term::Bound(format!("..{rest}"))),
                        None => Rc::new(Term::Preset),
                    };
                    self.apply_variable(*variable, operands, attrs)?
                }
                PatternNode::Tuple(items) => Rc::new(Term::Tuple(items.iter().map(one).collect::<Option<_>>()?)),
                PatternNode::Proj(base, ProjIndex::At(i)) => part(out.get(base.0 as usize)?, *i)?,
                PatternNode::Wildcard | PatternNode::Literal(_) | PatternNode::Proj(..) | PatternNode::AnyOf(_) => {
                    return None;
                }
            };
            out.push(term);
        }
        for (name, id) in &rule.source.named {
            let value = out.get(id.0 as usize)?.clone();
            names.values.push((name.to_string(), value));
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
        let mut add = |key: String| match self.bound.iter_mut().find(|own| own.name == key) {
            Some(own) => {
                own.optional |= optional;
                own.axis &= axis;
                own.places.push(place);
            }
            None => self.bound.push(Bound {
                name: key,
                optional,
                axis,
                places: vec![place],
            }),
        };
        match pattern {
            AttrPattern::Bind(name) => {
                add(name.to_string());
                let term = Rc::new(Term::Bound(name.to_string()));
                names.values.push((name.to_string(), term));
            }
            AttrPattern::Rest(rest) => add(format!("{rest}.{}", declared.name)),
            AttrPattern::Any => add(format!("#{}.{}", at.0, declared.name)),
            AttrPattern::List(items) => {
                for item in items {
                    if let ListItem::Bind(name) = item {
                        add(name.to_string());
                        let term = Rc::new(Term::Bound(name.to_string()));
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
        let bound = |key: String| Rc::new(Term::Bound(key));
        Some(match pattern {
            AttrPattern::Value(v) => written(declared, value(v.clone())),
            AttrPattern::Default => preset(declared),
            AttrPattern::Any => bound(format!("#{}.{}", at.0, declared.name)),
            AttrPattern::Bind(name) => bound(name.to_string()),
            AttrPattern::Rest(rest) => bound(format!("{rest}.{}", declared.name)),
            AttrPattern::List(items) => {
                let items: Option<Vec<Rc<Term>>> = items
                    .iter()
                    .map(|item| match item {
                        ListItem::Int(n) => Some(value(AttrValue::int(*n))),
                        ListItem::Bind(name) => Some(bound(name.to_string())),
                        ListItem::Any => None,
                    })
                    .collect();
                list(items?)
            }
            AttrPattern::Computed(id) => written(declared, self.expr(*id, names)?),
            AttrPattern::BindEach(_) => return None,
        })
    }

    fn apply_variable(&mut self, i: usize, operands: Vec<Rc<Term>>, attrs: Rc<Term>) -> Option<Rc<Term>> {
        let choices = &self.rule.operators.get(i)?.choices;
        if choices.iter().any(|def| !is_function(def)) {
            return None;
        }
        self.maker.call(Called::variable(i, choices), operands, vec![attrs])
    }

    /// A call, or the body of the operator; a match has the attributes of a call of the source as inference leaves them.
    fn apply(
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
                function(format!("{} in {}", declared.name, def.name), all)
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

    fn block(&mut self, block: &Block, names: &mut Names<'_>) -> Option<Rc<Term>> {
        let before = names.values.len();
        for definition in &block.lets {
            let term = self.expr(definition.value, names)?;
            match &definition.names {
                LetNames::One(name) => names.values.push((name.name.to_string(), term)),
                LetNames::Tuple(all) => {
                    for (i, name) in all.iter().enumerate() {
                        let part = part(&term, u32::try_from(i).ok()?)?;
                        names.values.push((name.name.to_string(), part));
                    }
                }
            }
        }
        let out = self.expr(block.result, names);
        names.values.truncate(before);
        out
    }

    fn exprs(&mut self, ids: &[ExprId], names: &mut Names<'_>) -> Option<Vec<Rc<Term>>> {
        ids.iter().map(|&id| self.expr(id, names)).collect()
    }

    fn expr(&mut self, id: ExprId, names: &mut Names<'_>) -> Option<Rc<Term>> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let out = self.expr_here(id, names);
        self.depth -= 1;
        // What an operator fills in is known to that operator alone.
        out.filter(|term| **term != Term::Preset)
    }

    fn expr_here(&mut self, id: ExprId, names: &mut Names<'_>) -> Option<Rc<Term>> {
        let ast = names.ast;
        Some(match ast.kind(id) {
            ExprKind::Int { value: n, suffix } => {
                let n = value(AttrValue::int(i64::try_from(*n).ok()?));
                typed(n, *suffix)
            }
            ExprKind::Float { value: v, suffix } => typed(value(AttrValue::float(*v)), *suffix),
            ExprKind::Bool(b) => boolean(*b),
            ExprKind::Str(text) => value(AttrValue::str(text)),
            ExprKind::Name(name) => match names.get(name) {
                Some(term) => term,
                None if &**name == "none" => Rc::new(Term::Absent),
                None => value(AttrValue::DType(name.parse().ok()?)),
            },
            ExprKind::List(items) => list(self.exprs(items, names)?),
            ExprKind::Tuple(items) => Rc::new(Term::Tuple(self.exprs(items, names)?)),
            ExprKind::Project { base, index } => part(&self.expr(*base, names)?, *index)?,
            ExprKind::Field { base, name } => {
                let base = self.expr(*base, names)?;
                function(format!("field {}", name.as_str()), vec![base])
            }
            ExprKind::Index { base, index } => {
                let (base, index) = (self.expr(*base, names)?, self.expr(*index, names)?);
                match (&*base, &*index) {
                    (Term::Function(name, items), Term::Value(AttrValue::Int(Dim::Const(i)))) if name == "list" => {
                        items.get(usize::try_from(*i).ok()?)?.clone()
                    }
                    // No function has these names: `index(s, c)` is another one.
                    _ => function("element of", vec![base, index]),
                }
            }
            ExprKind::Slice { base, start, end } => {
                let base = self.expr(*base, names)?;
                let start = self.optional(*start, names)?;
                let end = self.optional(*end, names)?;
                function("part from to", vec![base, start, end])
            }
            ExprKind::Range { start, end } => {
                let start = self.optional(*start, names)?;
                let end = self.optional(*end, names)?;
                function("from to", vec![start, end])
            }
            ExprKind::Unary { op, operand } => {
                let operand = self.expr(*operand, names)?;
                match (op, &*operand) {
                    (UnaryOp::Not, Term::Value(AttrValue::Bool(b))) => boolean(!b),
                    _ => self.apply(lookup(op.operator())?, vec![operand], Vec::new(), false)?,
                }
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (self.expr(*lhs, names)?, self.expr(*rhs, names)?);
                self.binary(*op, lhs, rhs)?
            }
            ExprKind::When { cond, then, otherwise } => {
                let cond = self.expr(*cond, names)?;
                match &*cond {
                    Term::Value(AttrValue::Bool(true)) => self.block(then, names)?,
                    Term::Value(AttrValue::Bool(false)) => self.block(otherwise, names)?,
                    _ => {
                        let (then, otherwise) = (self.block(then, names)?, self.block(otherwise, names)?);
                        if then == otherwise {
                            then
                        } else {
                            function("when", vec![cond, then, otherwise])
                        }
                    }
                }
            }
            ExprKind::Comprehension { body, var, iter, cond } => {
                let iter = self.expr(*iter, names)?;
                names.locals += 1;
                let local = Rc::new(Term::Local(names.locals));
                names.values.push((var.as_str().to_owned(), local));
                let body = self.expr(*body, names);
                let cond = self.optional(*cond, names);
                names.values.pop();
                names.locals -= 1;
                function("for", vec![body?, iter, cond?])
            }
            ExprKind::Call {
                callee,
                quoted,
                args,
                attrs,
            } => {
                let operands = self.exprs(args, names)?;
                self.call(callee.as_str(), *quoted, operands, attrs.as_deref(), names)?
            }
            ExprKind::Positional(_) | ExprKind::Wildcard | ExprKind::If { .. } => return None,
        })
    }

    fn optional(&mut self, id: Option<ExprId>, names: &mut Names<'_>) -> Option<Rc<Term>> {
        match id {
            Some(id) => self.expr(id, names),
            None => Some(Rc::new(Term::Absent)),
        }
    }

    fn binary(&mut self, op: BinaryOp, lhs: Rc<Term>, rhs: Rc<Term>) -> Option<Rc<Term>> {
        let known = |term: &Rc<Term>| match &**term {
            Term::Value(AttrValue::Bool(b)) => Some(*b),
            _ => None,
        };
        // Words and booleans that are written are equal if they are written alike.
        let word = |term: &Rc<Term>| matches!(&**term, Term::Value(AttrValue::Bool(_) | AttrValue::Str(_)));
        match op {
            BinaryOp::And | BinaryOp::Or => match (known(&lhs), known(&rhs)) {
                (Some(a), Some(b)) => return Some(boolean(if op == BinaryOp::And { a && b } else { a || b })),
                // The operand that is not known is not looked at.
                (Some(a), None) if a == (op == BinaryOp::Or) => return Some(boolean(a)),
                _ => {}
            },
            BinaryOp::Eq if word(&lhs) && word(&rhs) => return Some(boolean(lhs == rhs)),
            BinaryOp::Ne if word(&lhs) && word(&rhs) => return Some(boolean(lhs != rhs)),
            _ => {}
        }
        match op {
            BinaryOp::Concat => Some(function("++", vec![lhs, rhs])),
            BinaryOp::In => Some(function("in", vec![lhs, rhs])),
            BinaryOp::Ne => Some(function("!=", vec![lhs, rhs])),
            // Which operator these stand for depends on element types.
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => None,
            _ => self.apply(lookup(op.operator()?)?, vec![lhs, rhs], Vec::new(), false),
        }
    }

    /// A call in an expression.
    fn call(
        &mut self,
        name: &str,
        quoted: bool,
        operands: Vec<Rc<Term>>,
        given: Option<&Attrs>,
        names: &mut Names<'_>,
    ) -> Option<Rc<Term>> {
        if let ("given", [operand]) = (name, operands.as_slice()) {
            return match &**operand {
                Term::Absent => Some(boolean(false)),
                Term::Value(_) | Term::Call(..) => Some(boolean(true)),
                Term::Function(name, _) if name == "list" => Some(boolean(true)),
                // A variable matches an operand that is left out as well.
                _ => Some(function("given", operands)),
            };
        }
        let rest = given.and_then(|g| g.rest.as_ref());
        if let Some(i) = self.rule.operators.iter().position(|v| *v.name == *name)
            && std::ptr::eq(names.ast, &*self.rule.ast)
        {
            if given.is_some_and(|g| !g.entries.is_empty()) {
                return None;
            }
            let attrs = match rest {
                Some(rest) => format!("..{}", rest.as_str()),
                None => return self.apply_variable(i, operands, Rc::new(Term::Preset)),
            };
            // The attributes of a variable operator fit no other one.
            self.bound.iter().find(|own| own.name == attrs)?;
            return self.apply_variable(i, operands, Rc::new(Term::Bound(attrs)));
        }
        let def = match (names.declared)(name) {
            None if !quoted => lookup(name),
            found => found,
        };
        let Some(def) = def else {
            // Whether an operand is known ahead of time depends on how it is computed.
            let looks = |f: &TermFunction| f.reads == Reads::Elements || f.name == "is_static";
            let f = term_function(name).filter(|_| given.is_none())?;
            let hidden = looks(f) && operands.iter().any(|operand| has_call(operand));
            return (!hidden).then(|| function(name, operands));
        };
        let entries = given.map_or(&[][..], |g| &g.entries);
        if entries
            .iter()
            .any(|e| !def.attrs.iter().any(|d| d.name == e.name.as_str()))
        {
            return None;
        }
        if rest.is_some_and(|rest| self.bound.iter().any(|own| own.name == format!("..{}", rest.as_str()))) {
            return None;
        }
        let mut attrs = Vec::with_capacity(def.attrs.len());
        for declared in def.attrs {
            let entry = entries.iter().find(|e| e.name.as_str() == declared.name);
            let key = rest.map(|rest| format!("{}.{}", rest.as_str(), declared.name));
            let inherited = key.filter(|key| self.bound.iter().any(|own| own.name == **key));
            let term = match (entry, inherited) {
                (Some(entry), _) => written(declared, self.expr(entry.value, names)?),
                (None, Some(key)) => Rc::new(Term::Bound(key)),
                (None, None) => preset(declared),
            };
            // Where the source leaves it out, this operator would fill in a default.
            if declared.default != Preset::None && self.may_be_absent(&term) {
                return None;
            }
            attrs.push(if *term == Term::Absent { preset(declared) } else { term });
        }
        self.apply(def, operands, attrs, false)
    }

    /// True for axes that stay as they are: those of a match, and written numbers that are not negative.
    fn is_counted_from_front(&self, def: &OpDef, declared: &AttrDef, axes: &Term) -> bool {
        let at_front = |d: &Dim| d.as_const().is_some_and(|n| n >= 0);
        match axes {
            Term::Bound(key) => self.bound.iter().any(|own| {
                let is_same = own.places.contains(&(def.name, declared.name));
                own.name == *key && (is_same || own.axis && matches!(declared.kind, AttrKind::Axis(_)))
            }),
            Term::Value(AttrValue::Int(d)) => at_front(d),
            Term::Value(AttrValue::Ints(list)) => list.iter().all(at_front) && list.is_sorted(),
            _ => false,
        }
    }

    fn may_be_absent(&self, term: &Term) -> bool {
        match term {
            Term::Bound(key) => self.bound.iter().any(|own| own.name == *key && own.optional),
            Term::Function(name, _) => matches!(name.as_str(), "when" | "element of"),
            _ => false,
        }
    }
}
