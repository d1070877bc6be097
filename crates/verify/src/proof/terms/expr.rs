//! Expressions and blocks of a rule as terms.

use std::rc::Rc;

use super::parts::{boolean, function, has_call, list, part, preset, typed, value, written};
use super::read::{Names, Reader};
use super::{Function, Key, Maker, Term};
use tautomer_graph::term::{Reads, TermFunction, term_function};
use tautomer_lang::ast::{Attrs, BinaryOp, Block, ExprId, ExprKind, LetNames, UnaryOp};
use tautomer_op::{AttrValue, Default as Preset, lookup};

/// Limit on the depth of bodies within bodies and of expressions.
pub(super) const DEPTH: usize = 200;

impl Reader<'_> {
    /// The value of a block.
    pub(super) fn block(&mut self, block: &Block, names: &mut Names<'_>) -> Option<Rc<Term>> {
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

    /// The value of an expression; `None` if it is not read here.
    pub(super) fn expr(&mut self, id: ExprId, names: &mut Names<'_>) -> Option<Rc<Term>> {
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
            ExprKind::List(items) => match items.as_slice() {
                // A comprehension makes the entries of the list around it.
                [one] if matches!(ast.kind(*one), ExprKind::Comprehension { .. }) => self.expr(*one, names)?,
                _ => {
                    self.in_numbers += 1;
                    let items = self.exprs(items, names);
                    self.in_numbers -= 1;
                    list(items?)
                }
            },
            ExprKind::Tuple(items) => Rc::new(Term::Tuple(self.exprs(items, names)?)),
            ExprKind::Project { base, index } => part(&self.expr(*base, names)?, *index)?,
            ExprKind::Field { base, name } => {
                let in_numbers = std::mem::take(&mut self.in_numbers);
                let base = self.expr(*base, names);
                self.in_numbers = in_numbers;
                let base = base?;
                self.maker.field(name.as_str(), &base)?
            }
            ExprKind::Index { base, index } => {
                let base = self.expr(*base, names)?;
                let index = self.number(*index, names)?;
                self.maker.element(base, index)?
            }
            ExprKind::Slice { base, start, end } => {
                let base = self.expr(*base, names)?;
                let start = self.optional(*start, names)?;
                let end = self.optional(*end, names)?;
                self.maker.slice(base, start, end)
            }
            ExprKind::Range { start, end } => {
                let start = self.optional(*start, names)?;
                let end = self.optional(*end, names)?;
                self.maker.range(start, end)
            }
            ExprKind::Unary { op, operand } => {
                let operand = self.expr(*operand, names)?;
                match (op, &*operand) {
                    (UnaryOp::Not, Term::Value(AttrValue::Bool(b))) => boolean(!b),
                    _ => self.apply(lookup(op.operator())?, vec![operand], Vec::new(), None)?,
                }
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let lhs = self.expr(*lhs, names)?;
                let is_skipped = usize::from(matches!(op, BinaryOp::And | BinaryOp::Or));
                self.in_branches += is_skipped;
                let rhs = self.expr(*rhs, names);
                self.in_branches -= is_skipped;
                let rhs = rhs?;
                self.binary(*op, lhs, rhs)?
            }
            ExprKind::When { cond, then, otherwise } => {
                let cond = self.number(*cond, names)?;
                match &*cond {
                    Term::Value(AttrValue::Bool(true)) => self.block(then, names)?,
                    Term::Value(AttrValue::Bool(false)) => self.block(otherwise, names)?,
                    _ => {
                        self.in_branches += 1;
                        let given = match &*cond {
                            Term::Function(Function::Given, parts) => Some(parts[0].clone()),
                            _ => None,
                        };
                        let before = self.given_here.len();
                        self.given_here.extend(given);
                        let then = self.block(then, names);
                        self.given_here.truncate(before);
                        let otherwise = self.block(otherwise, names);
                        self.in_branches -= 1;
                        let (then, otherwise) = (then?, otherwise?);
                        self.maker.when(cond, then, otherwise)
                    }
                }
            }
            ExprKind::Comprehension { body, var, iter, cond } => {
                let iter = self.number(*iter, names)?;
                names.locals += 1;
                let local = names.locals;
                let is_integer = self.maker.has_integers(&iter);
                if is_integer {
                    self.maker.integers_of_loops.push(local);
                }
                names
                    .values
                    .push((var.as_str().to_owned(), Rc::new(Term::Local(local))));
                // The list may be empty.
                self.in_branches += 1;
                let body = self.number(*body, names);
                let cond = self.optional(*cond, names);
                self.in_branches -= 1;
                names.values.pop();
                names.locals -= 1;
                let out = self.maker.comprehension(body?, local, iter, cond?);
                if is_integer {
                    self.maker.integers_of_loops.pop();
                }
                out?
            }
            ExprKind::Call {
                callee,
                quoted,
                args,
                attrs,
            } => {
                let is_operator = self.in_numbers == 0 && lookup(callee.as_str()).is_some();
                let is_number = !is_operator && term_function(callee.as_str()).is_some();
                self.in_numbers += usize::from(is_number);
                let operands = self.exprs(args, names);
                self.in_numbers -= usize::from(is_number);
                let operands = operands?;
                self.call(callee.as_str(), *quoted, operands, attrs.as_deref(), names)?
            }
            ExprKind::Positional(_) | ExprKind::Wildcard | ExprKind::If { .. } => return None,
        })
    }

    fn optional(&mut self, id: Option<ExprId>, names: &mut Names<'_>) -> Option<Rc<Term>> {
        match id {
            Some(id) => self.number(id, names),
            None => Some(Rc::new(Term::Absent)),
        }
    }

    /// The value of an expression that is not a tensor.
    fn number(&mut self, id: ExprId, names: &mut Names<'_>) -> Option<Rc<Term>> {
        self.in_numbers += 1;
        let out = self.expr(id, names);
        self.in_numbers -= 1;
        out
    }

    fn binary(&mut self, op: BinaryOp, lhs: Rc<Term>, rhs: Rc<Term>) -> Option<Rc<Term>> {
        let known = |term: &Rc<Term>| match &**term {
            Term::Value(AttrValue::Bool(b)) => Some(*b),
            _ => None,
        };
        // Words and booleans that are written are equal if they are written alike.
        let word = |term: &Rc<Term>| {
            matches!(
                &**term,
                Term::Value(AttrValue::Bool(_) | AttrValue::Str(_) | AttrValue::DType(_))
            )
        };
        let literal = |term: &Rc<Term>| match &**term {
            Term::Value(AttrValue::Int(d)) => d.as_const().map(|n| n as f64),
            Term::Value(AttrValue::Float(v)) => Some(v.0),
            _ => None,
        };
        match op {
            BinaryOp::And | BinaryOp::Or => match (known(&lhs), known(&rhs)) {
                (Some(a), Some(b)) => return Some(boolean(if op == BinaryOp::And { a && b } else { a || b })),
                // The operand that is not known is not looked at.
                (Some(a), None) if a == (op == BinaryOp::Or) => return Some(boolean(a)),
                _ => {}
            },
            BinaryOp::Eq if literal(&lhs).is_some() && literal(&rhs).is_some() => {
                return Some(boolean(literal(&lhs) == literal(&rhs)));
            }
            BinaryOp::Eq if word(&lhs) && word(&rhs) => return Some(boolean(lhs == rhs)),
            BinaryOp::Ne if word(&lhs) && word(&rhs) => return Some(boolean(lhs != rhs)),
            _ => {}
        }
        // Numbers alone may be those of a tensor, whose element type decides what their sum is.
        let is_sum = self.in_numbers > 0 || literal(&lhs).is_none() || literal(&rhs).is_none();
        if self.maker.is_integer(&lhs) && self.maker.is_integer(&rhs) && is_sum {
            let found = match op {
                BinaryOp::Add => self.maker.plus(&lhs, &rhs, 1),
                BinaryOp::Sub => self.maker.plus(&lhs, &rhs, -1),
                BinaryOp::Mul => self.maker.times(&lhs, &rhs),
                _ => Maker::compared(op).and_then(|op| self.maker.comparison(op, &lhs, &rhs)),
            };
            if found.is_some() {
                return found;
            }
        }
        match op {
            BinaryOp::And if self.in_numbers > 0 => self.maker.both(lhs, rhs),
            BinaryOp::Concat => Some(self.maker.concat(&lhs, &rhs)),
            BinaryOp::In => Some(match &*rhs {
                Term::Function(Function::List, all) if word(&lhs) && all.iter().all(word) => {
                    boolean(all.contains(&lhs))
                }
                _ => function(Function::In, vec![lhs, rhs]),
            }),
            BinaryOp::Ne => Some(function(Function::NotEqual, vec![lhs, rhs])),
            // Which operator these stand for depends on element types.
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => None,
            _ => self.apply(lookup(op.operator()?)?, vec![lhs, rhs], Vec::new(), None),
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
                Term::Function(Function::List, _) => Some(boolean(true)),
                Term::Variable(i) if self.maker.known.is_given(*i) => Some(boolean(true)),
                Term::Bound(key) if self.maker.known.is_written(key) => Some(boolean(true)),
                // A variable may match an operand that is left out.
                _ => Some(function(Function::Given, operands)),
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
                Some(rest) => Key::Rest(rest.as_str().to_owned()),
                None => return self.apply_variable(i, operands, Rc::new(Term::Preset)),
            };
            // The attributes of a variable operator fit no other one.
            self.bound.iter().find(|own| own.key == attrs)?;
            return self.apply_variable(i, operands, Rc::new(Term::Bound(attrs)));
        }
        let def = match (names.declared)(name) {
            // In an attribute, `range` and `max` are functions of numbers.
            None if !quoted && (self.in_numbers == 0 || term_function(name).is_none()) => lookup(name),
            found => found,
        };
        let Some(def) = def else {
            // Whether an operand is known ahead of time depends on how it is computed.
            let looks = |f: &TermFunction| f.reads == Reads::Elements || f.name == "is_static";
            let f = term_function(name).filter(|_| given.is_none())?;
            let hidden = looks(f) && operands.iter().any(|operand| has_call(operand));
            if hidden {
                return None;
            }
            return Some(match (f.name, operands.as_slice()) {
                ("len", [list]) => self.maker.len(list.clone()),
                ("range", [to]) => self.maker.range(Rc::new(Term::Absent), to.clone()),
                ("range", [from, to]) => self.maker.range(from.clone(), to.clone()),
                _ => function(Function::Named(f.name), operands),
            });
        };
        let entries = given.map_or(&[][..], |g| &g.entries);
        if entries
            .iter()
            .any(|e| !def.attrs.iter().any(|d| d.name == e.name.as_str()))
        {
            return None;
        }
        if rest.is_some_and(|rest| {
            self.bound
                .iter()
                .any(|own| own.key == Key::Rest(rest.as_str().to_owned()))
        }) {
            return None;
        }
        let mut attrs = Vec::with_capacity(def.attrs.len());
        for declared in def.attrs {
            let entry = entries.iter().find(|e| e.name.as_str() == declared.name);
            let key = rest.map(|rest| Key::OfRest(rest.as_str().to_owned(), declared.name));
            let inherited = key.filter(|key| self.bound.iter().any(|own| own.key == *key));
            let term = match (entry, inherited) {
                (Some(entry), _) => written(declared, self.number(entry.value, names)?),
                (None, Some(key)) => self.maker.bound(key),
                (None, None) => preset(declared),
            };
            // Where the source leaves it out, this operator would fill in a default.
            if declared.default != Preset::None && self.may_be_absent(&term) {
                return None;
            }
            attrs.push(if *term == Term::Absent { preset(declared) } else { term });
        }
        self.apply(def, operands, attrs, None)
    }
}
