//! Elements of outputs, whatever is broadcast on the way.
//!
//! Take an output that is made of functions of elements and of `expand` alone. Counted from the last axis, its element
//! at an index is that function of one element of each operand below: the one at the same index, with 0 along axes of
//! dimension 1. A value between has dimension 1 along an axis only if all operands below it have, so broadcasting in
//! several steps reads the same element as broadcasting in one. So two outputs of the same type are equal if they are
//! one term after every `expand` is taken away, and a value all of whose elements are equal stays itself when its
//! elements are moved.
//!
//! All of this is about outputs: an engine compares their types. Inside other operators, shapes count.

use std::rc::Rc;

use super::super::scope::{Scope, is_field};
use super::{Called, Function, Head, Maker, Term};
use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind};
use tautomer_op::{AttrValue, Formula, Made, OpDef, known, lookup, table};
use tautomer_rule::{Class, Rule};
use tautomer_tensor::DType;

/// What the conditions of a rule say about the shapes and the elements of its variables.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Variables with at least one element, all of which are equal.
    uniform: Vec<usize>,
    /// Variables with one element.
    single: Vec<usize>,
    /// Conversions between floating-point types are no functions: the rule is about real numbers.
    real: bool,
    /// Pairs of variables of one shape.
    same: Vec<(usize, usize)>,
    /// Variables with one element, and variables with at least as many axes.
    below: Vec<(usize, usize)>,
}

impl Facts {
    pub(super) fn of(rule: &Rule) -> Facts {
        let ast = &rule.ast;
        let scope = Scope::of(rule);
        let variable = |id: ExprId, field: &str| {
            let is_own = |i: &usize| is_field(ast, id, &rule.variables[*i].name, field);
            (0..rule.variables.len()).find(is_own)
        };
        let mut out = Facts::default();
        let mut single: Vec<usize> = (0..rule.variables.len())
            .filter(|&i| scope.pinned(i) == Some(0))
            .collect();
        let mut at_most: Vec<(usize, usize)> = Vec::new();
        for &condition in &rule.conditions {
            match ast.kind(condition) {
                ExprKind::Binary { op, lhs, rhs } => {
                    let one = matches!(ast.kind(*rhs), ExprKind::Int { value: 1, .. });
                    match op {
                        BinaryOp::Eq if one => single.extend(variable(*lhs, "size")),
                        BinaryOp::Eq => {
                            let shapes = (variable(*lhs, "shape"), variable(*rhs, "shape"));
                            if let (Some(a), Some(b)) = shapes {
                                out.same.extend([(a, b), (b, a)]);
                            }
                        }
                        BinaryOp::Le => {
                            let ranks = (variable(*lhs, "rank"), variable(*rhs, "rank"));
                            if let (Some(a), Some(b)) = ranks {
                                at_most.push((a, b));
                            }
                        }
                        _ => {}
                    }
                }
                // A constant without elements has no element to be equal to.
                ExprKind::Call { callee, args, .. } if callee.as_str() == "is_uniform" => {
                    if let [arg] = args.as_slice()
                        && let ExprKind::Name(name) = ast.kind(*arg)
                    {
                        out.uniform.extend(rule.variable(name));
                    }
                }
                _ => {}
            }
        }
        out.below = at_most.into_iter().filter(|(a, _)| single.contains(a)).collect();
        out.single.clone_from(&single);
        out.uniform.extend(single);
        out.real = rule.class == Class::Real;
        out
    }
}

/// The operator that makes a tensor of one number, with its shape and without operands.
fn is_filled(def: &OpDef) -> bool {
    matches!(def.law(), Formula::Made(Made::Filled { like: false, .. }))
}

/// A literal of the source: a constant of any shape and element type.
fn is_literal(term: &Term) -> bool {
    matches!(term, Term::Function(Function::Literal(_), _))
}

/// The number that a literal or a written operand stands for.
fn number(term: &Term) -> Option<f64> {
    match term {
        Term::Function(Function::Literal(_), parts) => number(parts.first()?),
        Term::Value(AttrValue::Float(v)) => Some(v.0),
        Term::Value(AttrValue::Int(d)) => d.as_const().map(|n| n as f64),
        Term::Value(AttrValue::Bool(b)) => Some(f64::from(u8::from(*b))),
        // A full tensor, as it is written here.
        Term::Call(head, operands, attrs) if operands.is_empty() => {
            let def = head.in_table().filter(|def| is_filled(def))?;
            number(attrs.get(def.attr_index("value")?)?)
        }
        _ => None,
    }
}

/// The operator that multiplies two values.
fn product() -> Option<&'static OpDef> {
    let is_product = |def: &&OpDef| def.law() == Formula::Function(tautomer_op::Function::Product);
    table().find(|def| is_product(def) && def.operands.len() == 2)
}

/// True for a floating-point type that is a type of numbers to compute with.
fn is_wide_float(term: &Term) -> bool {
    matches!(
        term,
        Term::Value(AttrValue::DType(DType::F16 | DType::BF16 | DType::F32 | DType::F64))
    )
}

/// True for numbers that every element type with enough digits represents, so that one of them is the same in all.
fn is_exact(v: f64) -> bool {
    (v * 8.0).fract() == 0.0 && v.abs() <= 256.0
}

/// Terms of outputs without broadcasting.
pub(super) struct Spread<'a> {
    pub(super) maker: &'a mut Maker,
    pub(super) facts: &'a Facts,
}

impl Spread<'_> {
    /// True if two outputs of one type have equal elements.
    pub(super) fn are_alike(&mut self, a: &Rc<Term>, b: &Rc<Term>) -> bool {
        let (Some(a), Some(b)) = (self.in_reals(a), self.in_reals(b)) else {
            return false;
        };
        match (self.without(&a), self.without(&b)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        }
    }

    /// A value as a tensor of real numbers: a conversion of one floating-point type to another changes none of them.
    ///
    /// Only what is computed from numbers is looked at, since the element type of a value may decide about attributes.
    fn in_reals(&mut self, term: &Rc<Term>) -> Option<Rc<Term>> {
        if !self.facts.real {
            return Some(term.clone());
        }
        match &**term {
            Term::Function(Function::When, parts) => {
                let [condition, then, otherwise] = parts.as_slice() else {
                    return Some(term.clone());
                };
                let (then, otherwise) = (self.in_reals(then)?, self.in_reals(otherwise)?);
                Some(self.maker.when(condition.clone(), then, otherwise))
            }
            Term::Call(head, operands, attrs) => {
                let called = self.maker.called(head).cloned()?;
                let Some(def) = head.in_table() else {
                    return Some(term.clone());
                };
                let law = def.law();
                if let (Formula::Function(tautomer_op::Function::Conversion), [one]) = (law, operands.as_slice()) {
                    let to = def.attr_index("to").and_then(|i| attrs.get(i));
                    let from = self.maker.field("dtype", one)?;
                    // A written number is the same in each of these types, whatever its own.
                    let is_written = matches!(&**one, Term::Call(head, inside, _)
                        if inside.is_empty() && head.in_table().is_some_and(is_filled))
                        && number(one).is_some_and(is_exact);
                    if to.is_some_and(|to| is_wide_float(to)) && (is_wide_float(&from) || is_written) {
                        return self.in_reals(one);
                    }
                }
                if !(called.elementwise || called.moves || matches!(law, Formula::Reduction(_))) {
                    return Some(term.clone());
                }
                let all: Option<Vec<Rc<Term>>> = operands.iter().map(|operand| self.in_reals(operand)).collect();
                let all = all?;
                if all == *operands {
                    return Some(term.clone());
                }
                self.maker.call(called, all, attrs.clone())
            }
            _ => Some(term.clone()),
        }
    }

    /// An element of an output; `None` if the term is too large.
    fn without(&mut self, term: &Rc<Term>) -> Option<Rc<Term>> {
        match &**term {
            Term::Call(head, operands, attrs) => self.call(term, head, operands, attrs),
            Term::Function(Function::When, parts) => {
                let [condition, then, otherwise] = parts.as_slice() else {
                    return Some(term.clone());
                };
                let (then, otherwise) = (self.without(then)?, self.without(otherwise)?);
                Some(match then == otherwise {
                    true => then,
                    false => Rc::new(Term::Function(Function::When, vec![condition.clone(), then, otherwise])),
                })
            }
            // Over the real numbers, it has no element type.
            Term::Function(Function::Named("value"), parts) if self.facts.real => match parts.as_slice() {
                [one] if matches!(**one, Term::Variable(i) if self.facts.single.contains(&i)) => Some(one.clone()),
                _ => Some(term.clone()),
            },
            _ => Some(term.clone()),
        }
    }

    fn call(&mut self, term: &Rc<Term>, head: &Head, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        let Some(called) = self.maker.called(head).cloned() else {
            return Some(term.clone());
        };
        if called.spreads {
            return self.without(operands.first()?);
        }
        if called.elementwise {
            let all: Option<Vec<Rc<Term>>> = operands.iter().map(|operand| self.without(operand)).collect();
            return self.function(called, all?, operands, attrs);
        }
        if let Some(without) = self.without_summand(&called, operands, attrs) {
            return without;
        }
        if called.takes
            && let Some(first) = operands.first()
        {
            let inner = self.without(first)?;
            if self.is_uniform(&inner) {
                return Some(inner);
            }
        }
        if called.joins && !operands.is_empty() {
            let all: Option<Vec<Rc<Term>>> = operands.iter().map(|operand| self.without(operand)).collect();
            let all = all?;
            if all.iter().all(|one| *one == all[0]) && self.is_uniform(&all[0]) {
                return Some(all[0].clone());
            }
        }
        match head.in_table().filter(|def| operands.is_empty() && is_filled(def)) {
            Some(def) => self.filled(def, attrs),
            None => Some(term.clone()),
        }
    }

    /// A product whose summand is zero, over the real numbers: it may be left out, and so may its factor.
    fn without_summand(
        &mut self,
        called: &Called,
        operands: &[Rc<Term>],
        attrs: &[Rc<Term>],
    ) -> Option<Option<Rc<Term>>> {
        use tautomer_op::Products::{Convolution, Gemm, TransposedConvolution};
        let def = called.head.in_table().filter(|_| self.maker.real)?;
        let Formula::Product(products @ (Gemm | Convolution | TransposedConvolution)) = def.law() else {
            return None;
        };
        let mut left = operands.to_vec();
        if let [_, _, summand] = operands {
            let summand = self.without(summand)?;
            if number(&summand) != Some(0.0) {
                return None;
            }
            left.pop();
        }
        let mut attrs = attrs.to_vec();
        let factor = def.attr_index("beta").filter(|_| products == Gemm && left.len() == 2);
        if let Some(i) = factor {
            attrs[i] = super::parts::preset(&def.attrs[i]);
        }
        Some(self.maker.call(called.clone(), left, attrs))
    }

    /// A tensor of equal numbers without its shape.
    fn filled(&mut self, def: &'static OpDef, attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        let Formula::Made(Made::Filled { number, .. }) = def.law() else {
            return None;
        };
        let own = |name: &str| def.attr_index(name).and_then(|i| attrs.get(i)).cloned();
        // Numbers that are the operator's own are those of `full`.
        let (def, value) = match number {
            Some(number) => (
                lookup(known::FULL)?,
                Some(Rc::new(Term::Value(AttrValue::float(number as f64)))),
            ),
            None => (def, own("value")),
        };
        let attrs: Option<Vec<Rc<Term>>> = def
            .attrs
            .iter()
            .map(|attr| match attr.name {
                "shape" => Some(Rc::new(Term::Value(AttrValue::Ints(Vec::new())))),
                "value" => value.clone(),
                name => own(name),
            })
            .collect();
        self.maker.call(Called::operator(def), Vec::new(), attrs?)
    }

    /// A function of elements; `before` are its operands with what is broadcast in them.
    fn function(
        &mut self,
        called: Called,
        mut all: Vec<Rc<Term>>,
        before: &[Rc<Term>],
        attrs: &[Rc<Term>],
    ) -> Option<Rc<Term>> {
        if let Some(moved) = self.moved(&called, before, attrs) {
            return moved;
        }
        let law = called.head.in_table().map_or(Formula::Unstated, |def| def.law());
        let is_choice = law == Formula::Function(tautomer_op::Function::Choice);
        if let (true, [c, then, otherwise]) = (is_choice, all.as_slice())
            && let Some(truth) = number(c)
        {
            return Some(if truth == 0.0 { otherwise } else { then }.clone());
        }
        if self.maker.real
            && let [a, b] = all.as_slice()
            && !(number(a).is_some() && number(b).is_some())
        {
            use tautomer_op::Function::{Difference, Product, Quotient, Sum};
            let (neutral, either) = match law {
                Formula::Function(Sum) => (0.0, true),
                Formula::Function(Product) => (1.0, true),
                Formula::Function(Difference) => (0.0, false),
                Formula::Function(Quotient) => (1.0, false),
                _ => (f64::NAN, false),
            };
            if number(b) == Some(neutral) {
                return Some(a.clone());
            }
            if either && number(a) == Some(neutral) {
                return Some(b.clone());
            }
        }
        // A quotient of real numbers is a product with the inverse.
        if let (true, Formula::Function(tautomer_op::Function::Quotient), [a, b]) =
            (self.facts.real, law, all.as_slice())
            && number(a) != Some(1.0)
            && is_wide_float(&*self.maker.field("dtype", b)?)
        {
            let one = Rc::new(Term::Value(AttrValue::float(1.0)));
            let inverse = self.maker.call(called, vec![one, b.clone()], attrs.to_vec())?;
            let product = Called::operator(product()?);
            return self.maker.call(product, vec![a.clone(), inverse], Vec::new());
        }
        // Beside another operand, a literal has its element type; the condition of a choice has another one.
        let typed = if is_choice { all.get(1..)? } else { &all };
        if typed.iter().any(|one| !is_literal(one)) {
            for one in &mut all {
                if is_literal(one)
                    && let Some(v) = number(one).filter(|v| is_exact(*v))
                {
                    *one = Rc::new(Term::Value(AttrValue::float(v)));
                } else if let Term::Value(AttrValue::Int(_)) = &**one
                    && let Some(v) = number(one).filter(|v| is_exact(*v))
                {
                    *one = Rc::new(Term::Value(AttrValue::float(v)));
                }
            }
        }
        self.maker.call(called, all, attrs.to_vec())
    }

    /// A function of values of one shape that are moved in the same way, and of variables with one element, is moved in
    /// that way. The function has that shape too if none of those variables has more axes.
    fn moved(&mut self, called: &Called, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Option<Rc<Term>>> {
        let moving = operands.iter().find_map(|operand| match &**operand {
            Term::Call(head, inside, places) if inside.len() == 1 => {
                let moving = self.maker.called(head).filter(|c| c.moves && !c.spreads)?;
                Some((moving.clone(), inside[0].clone(), places.clone()))
            }
            _ => None,
        });
        let (moving, first, places) = moving?;
        let Term::Variable(first) = &*first else { return None };
        if operands.len() < 2 {
            return None;
        }
        let mut inside = Vec::with_capacity(operands.len());
        for operand in operands {
            inside.push(match &**operand {
                Term::Call(head, inside, own) if *head == moving.head && *own == places => match inside.as_slice() {
                    [one] => match &**one {
                        Term::Variable(i) if i == first || self.facts.same.contains(&(*first, *i)) => one.clone(),
                        _ => return None,
                    },
                    _ => return None,
                },
                Term::Variable(i) if self.facts.below.contains(&(*i, *first)) => operand.clone(),
                _ => return None,
            });
        }
        let function = self.maker.call(called.clone(), inside, attrs.to_vec());
        Some(function.and_then(|function| self.maker.call(moving, vec![function], places)))
    }

    /// True if all elements of a value without broadcasting are equal.
    fn is_uniform(&self, term: &Term) -> bool {
        match term {
            Term::Variable(i) => self.facts.uniform.contains(i),
            Term::Value(_) => true,
            Term::Function(Function::Typed | Function::Literal(_), _) => true,
            Term::Call(head, operands, _) => {
                operands.is_empty() && head.in_table().is_some_and(is_filled)
                    || !operands.is_empty()
                        && self.maker.called(head).is_some_and(|called| called.elementwise)
                        && operands.iter().all(|operand| self.is_uniform(operand))
            }
            _ => false,
        }
    }
}
