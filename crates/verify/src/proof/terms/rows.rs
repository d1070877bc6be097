//! Outputs that treat the rows of a value alike, whatever axes the rows are joined along.
//!
//! A row is a vector along the last axis. Functions of elements, reductions along the last axis that keep it, and
//! products with a matrix make each row of their result from one row of their operand, and all in the same way. A view
//! that keeps the last axis has the same rows in the same order. So such a function of the view has the same elements,
//! in row-major order, as that function of what is viewed.

use std::rc::Rc;

use super::numbers::Sum;
use super::parts::{function, list, value};
use super::{Function, Head, Maker, Term, is_view, lists, without_views};
use tautomer_op::{AttrValue, AxesRule, Formula, Products, ShapeRule};

/// Limit on the combinations of alternatives in conditions.
const CASES: usize = 8;

/// Two integers that are equal.
pub(super) type Equation = (Rc<Term>, Rc<Term>);

/// A view of a value.
struct View {
    whole: Rc<Term>,
    head: Head,
    attrs: Vec<Rc<Term>>,
    base: Rc<Term>,
    /// Its rows are those of what is viewed.
    keeps_rows: bool,
}

/// Compares outputs by rows.
pub(super) struct Rows<'a> {
    maker: &'a mut Maker,
    /// Facts about dimensions: those that conditions state, and those that products ask for.
    equations: Vec<Equation>,
}

/// True if two outputs of one type have equal elements because both do the same to the rows of one value. `outputs` are
/// all outputs of both sides.
pub(super) fn are_alike(maker: &mut Maker, (a, b): (&Rc<Term>, &Rc<Term>), outputs: &[Rc<Term>]) -> bool {
    let mut cases: Vec<Vec<Equation>> = vec![Vec::new()];
    for alternatives in maker.known.equations.clone() {
        let longer = |case: &Vec<Equation>| {
            let case = case.clone();
            alternatives
                .iter()
                .map(move |one| [case.as_slice(), std::slice::from_ref(one)].concat())
                .collect::<Vec<_>>()
        };
        cases = cases.iter().flat_map(longer).collect();
        if cases.len() > CASES {
            return false;
        }
    }
    cases.into_iter().all(|equations| {
        let mut rows = Rows { maker, equations };
        rows.resolve();
        outputs.iter().for_each(|output| rows.learn(output));
        let (a, b) = (rows.forms(a), rows.forms(b));
        // The first ones are the outputs themselves.
        b[1..].contains(&a[0]) || a[1..].iter().any(|own| b.contains(own))
    })
}

impl Rows<'_> {
    /// Puts what names are known to be into the equations.
    fn resolve(&mut self) {
        let names: Vec<(Rc<Term>, Rc<Term>)> = self.maker.known.equal.clone().into_iter().collect();
        for (a, b) in std::mem::take(&mut self.equations) {
            let mut put = |term: &Rc<Term>| {
                let term = names.iter().try_fold(term.clone(), |term, (name, value)| {
                    self.maker.replaced(&term, name, value)
                })?;
                Some(self.dimension(&term))
            };
            if let (Some(a), Some(b)) = (put(&a), put(&b)) {
                self.equations.push((a, b));
            }
        }
    }

    /// Adds the dimensions that are equal because the products in a term have a type. What is in branches may have
    /// none.
    fn learn(&mut self, term: &Rc<Term>) {
        match &**term {
            Term::Tuple(parts) => parts.iter().for_each(|part| self.learn(part)),
            Term::Call(head, operands, _) => {
                operands.iter().for_each(|operand| self.learn(operand));
                if let (Some(true), [x, w]) = (self.is_product(head), operands.as_slice())
                    && let Some(rows) = self.rows_of_matrix(w)
                {
                    let last = self.last(x);
                    self.equations.push((last, rows));
                }
            }
            _ => {}
        }
    }

    fn is_product(&self, head: &Head) -> Option<bool> {
        Some(head.in_table()?.law() == Formula::Product(Products::Matrices))
    }

    /// The number of rows of a matrix that is a variable or the transpose of one.
    fn rows_of_matrix(&self, w: &Rc<Term>) -> Option<Rc<Term>> {
        let is_matrix = |w: &Rc<Term>| *self.maker.rank(w) == Term::Value(AttrValue::int(2));
        let entry = |w: &Rc<Term>, i: i64| self.dimension(&element(function_of_shape(w), i));
        match &**w {
            Term::Variable(_) if is_matrix(w) => Some(entry(w, 0)),
            Term::Call(head, inside, attrs) if head.in_table().is_some_and(|def| def.shapes == ShapeRule::Permute) => {
                let [inner] = inside.as_slice() else { return None };
                let swaps = **attrs.first()? == Term::Value(AttrValue::ints(&[1, 0]));
                (swaps && is_matrix(inner) && matches!(**inner, Term::Variable(_))).then(|| entry(inner, 1))
            }
            _ => None,
        }
    }

    /// The last dimension of a value.
    fn last(&self, x: &Rc<Term>) -> Rc<Term> {
        element(function_of_shape(x), -1)
    }

    /// An entry of a list, the last one as `list[-1]`.
    fn dimension(&self, term: &Rc<Term>) -> Rc<Term> {
        let Term::Function(Function::Element, parts) = &**term else {
            return term.clone();
        };
        let [list, place] = parts.as_slice() else {
            return term.clone();
        };
        let is_last = || {
            let after = self.maker.sum(place)?.plus(&Sum::constant(1), 1)?;
            let n = self.maker.sum(&self.maker.len(list.clone()))?;
            Some(after.as_constant() == Some(0) || n == after)
        };
        if is_last() == Some(true) {
            return element(list.clone(), -1);
        }
        term.clone()
    }

    /// Terms with the elements of an output in row-major order: itself, and with what is viewed in place of views.
    fn forms(&mut self, output: &Rc<Term>) -> Vec<Rc<Term>> {
        let inner = Rc::new(without_views(output).clone());
        let mut out = vec![inner.clone()];
        let mut views = Vec::new();
        self.views(&inner, &mut views);
        for mut view in views {
            view.keeps_rows = self.keeps_rows(&view);
            out.extend(self.row(&inner, &view));
        }
        out
    }

    /// The views in a term.
    fn views(&self, term: &Rc<Term>, out: &mut Vec<View>) {
        match &**term {
            Term::Call(head, operands, attrs) => {
                if let ([base], Some(def)) = (operands.as_slice(), head.in_table())
                    && is_view(def)
                    && def.shapes == ShapeRule::Reshape
                    && !out.iter().any(|view| view.whole == *term)
                {
                    // Functions of elements may have been applied before.
                    let base = self.viewed(base);
                    let whole = Rc::new(Term::Call(head.clone(), vec![base.clone()], attrs.clone()));
                    out.push(View {
                        whole,
                        head: head.clone(),
                        attrs: attrs.clone(),
                        base,
                        keeps_rows: false,
                    });
                }
                operands.iter().for_each(|operand| self.views(operand, out));
            }
            Term::Function(Function::When, parts) => parts[1..].iter().for_each(|part| self.views(part, out)),
            _ => {}
        }
    }

    /// The operand of a function of elements with one operand.
    fn viewed(&self, term: &Rc<Term>) -> Rc<Term> {
        match &**term {
            Term::Call(head, operands, _) if self.maker.called(head).is_some_and(|called| called.elementwise) => {
                match operands.as_slice() {
                    [one] => self.viewed(one),
                    _ => term.clone(),
                }
            }
            _ => term.clone(),
        }
    }

    /// True if the rows of a view are those of its operand.
    ///
    /// An entry 0 of the shape may be another dimension, but then the last dimension of the operand is 0 too, and
    /// neither has an element.
    fn keeps_rows(&self, view: &View) -> bool {
        let Some(def) = view.head.in_table() else { return false };
        let Some(shape) = def.attr_index("shape").and_then(|i| view.attrs.get(i)) else {
            return false;
        };
        let parts = lists::segments(shape);
        let written = parts
            .last()
            .and_then(|part| lists::entries(part))
            .and_then(|all| all.last().cloned());
        let entry = match written {
            Some(entry) => self.dimension(&entry),
            None => element(shape.clone(), -1),
        };
        let wanted = self.last(&view.base);
        // A written -1 is no dimension, and the equations lead to none from it.
        are_equal(&self.equations, &entry, &wanted) || are_equal(&self.equations, &self.last(&view.whole), &wanted)
    }

    /// A term whose rows are made from those of a view, made from the rows of what is viewed.
    fn row(&mut self, term: &Rc<Term>, view: &View) -> Option<Rc<Term>> {
        if *term == view.whole {
            return Some(view.base.clone());
        }
        match &**term {
            Term::Call(head, operands, attrs) => {
                if *head == view.head && *attrs == view.attrs && operands.len() == 1 {
                    return (self.viewed(&operands[0]) == view.base).then(|| operands[0].clone());
                }
                self.call(head, operands, attrs, view)
            }
            Term::Function(Function::When, parts) => {
                let [condition, then, otherwise] = parts.as_slice() else {
                    return None;
                };
                let condition = self.condition(condition, view)?;
                let (then, otherwise) = (self.row(then, view)?, self.row(otherwise, view)?);
                Some(self.maker.when(condition, then, otherwise))
            }
            _ => None,
        }
    }

    fn call(&mut self, head: &Head, operands: &[Rc<Term>], attrs: &[Rc<Term>], view: &View) -> Option<Rc<Term>> {
        let called = self.maker.called(head).cloned()?;
        if called.elementwise {
            let mut any = false;
            let mut all = Vec::with_capacity(operands.len());
            for (i, operand) in operands.iter().enumerate() {
                if self.is_alike_for_rows(operand, view, true) {
                    // The result has the shape of the first operand.
                    if i == 0 && !called.broadcasts {
                        return None;
                    }
                    all.push(operand.clone());
                } else {
                    any = true;
                    all.push(self.row(operand, view)?);
                }
            }
            return any.then(|| self.maker.call(called, all, attrs.to_vec()))?;
        }
        let def = head.in_table().filter(|_| view.keeps_rows)?;
        match (def.law(), def.axes_rule(), operands) {
            (Formula::Reduction(_), AxesRule::Reduced, [x]) => {
                let keeps = attrs.get(def.attr_index("keepdims")?)?;
                let at = def.attr_index("axes")?;
                let axes = lists::entries(attrs.get(at)?)?;
                let ([axis], Term::Value(AttrValue::Bool(true))) = (axes.as_slice(), &**keeps) else {
                    return None;
                };
                let one = value(AttrValue::int(1));
                let last = self.maker.plus(&self.maker.rank(&view.whole), &one, -1)?;
                if self.maker.sum(axis)? != self.maker.sum(&last)? {
                    return None;
                }
                let x = self.row(x, view)?;
                let mut attrs = attrs.to_vec();
                attrs[at] = list(vec![self.maker.plus(&self.maker.rank(&view.base), &one, -1)?]);
                self.maker.call(called, vec![x], attrs)
            }
            (Formula::Product(Products::Matrices), _, [x, w]) => {
                let is_matrix = *self.maker.rank(w) == Term::Value(AttrValue::int(2));
                if !is_matrix || !self.is_alike_for_rows(w, view, false) {
                    return None;
                }
                let x = self.row(x, view)?;
                self.maker.call(called, vec![x, w.clone()], attrs.to_vec())
            }
            _ => None,
        }
    }

    /// True for a value that has nothing to do with the rows; with at most one axis if `thin`, so that it is broadcast
    /// to each row alike.
    fn is_alike_for_rows(&self, term: &Rc<Term>, view: &View, thin: bool) -> bool {
        if term.mentions(&view.base) {
            return false;
        }
        if !thin {
            return true;
        }
        let most = |n: i64| {
            let rank = self.maker.sum(&self.maker.rank(term));
            rank.and_then(|rank| Sum::constant(n).plus(&rank, -1))
                .is_some_and(|above| self.maker.is_at_least(&above, 0))
        };
        if most(0) {
            return true;
        }
        if view.keeps_rows {
            return most(1) || self.is_one_row(term, view);
        }
        // One element for all elements.
        let size = function(Function::Field("size".to_owned()), vec![term.clone()]);
        are_equal(&self.equations, &size, &value(AttrValue::int(1)))
    }

    /// True for a value that broadcasts to a matrix of one row, if neither the view nor what is viewed is a vector.
    fn is_one_row(&self, term: &Rc<Term>, view: &View) -> bool {
        let one = value(AttrValue::int(1));
        let is_row = |whole: &Rc<Term>| {
            lists::entries(whole).is_some_and(|all| all.len() == 1 || all.len() == 2 && all[0] == one)
        };
        let is_broad = |x: &Rc<Term>| {
            let rank = self.maker.sum(&self.maker.rank(x));
            rank.is_some_and(|rank| self.maker.is_at_least(&rank, 2))
        };
        let shape = function_of_shape(term);
        let mut wholes = self.maker.known.wholes(&shape);
        wholes.any(|wholes| wholes.iter().all(is_row)) && is_broad(&view.whole) && is_broad(&view.base)
    }

    /// A condition that asks for nothing but element types of what is viewed.
    fn condition(&mut self, term: &Rc<Term>, view: &View) -> Option<Rc<Term>> {
        if !term.mentions(&view.base) {
            return Some(term.clone());
        }
        match &**term {
            Term::Function(Function::Field(name), of) if name == "dtype" => {
                let of = self.without_views(&of[0])?;
                self.maker.field("dtype", &of)
            }
            Term::Function(f, parts) => {
                let parts: Option<Vec<Rc<Term>>> = parts.iter().map(|part| self.condition(part, view)).collect();
                self.maker.function(f, parts?)
            }
            Term::Call(head, operands, attrs) => {
                let called = self.maker.called(head).cloned().filter(|called| called.elementwise)?;
                let all: Option<Vec<Rc<Term>>> = operands.iter().map(|part| self.condition(part, view)).collect();
                self.maker.call(called, all?, attrs.clone())
            }
            _ => None,
        }
    }

    /// A value with the same element type and without views.
    fn without_views(&mut self, term: &Rc<Term>) -> Option<Rc<Term>> {
        let mut all = |parts: &[Rc<Term>]| -> Option<Vec<Rc<Term>>> {
            parts.iter().map(|part| self.without_views(part)).collect()
        };
        match &**term {
            Term::Call(head, operands, _) if operands.len() == 1 && head.in_table().is_some_and(is_view) => {
                self.without_views(&operands[0])
            }
            Term::Call(head, operands, attrs) => {
                let operands = all(operands)?;
                let called = self.maker.called(head).cloned()?;
                self.maker.call(called, operands, attrs.clone())
            }
            Term::Function(Function::When, parts) => {
                let parts = all(parts)?;
                let [condition, then, otherwise] = parts.as_slice() else {
                    return None;
                };
                Some(self.maker.when(condition.clone(), then.clone(), otherwise.clone()))
            }
            _ => Some(term.clone()),
        }
    }
}

/// True if two integers are equal, according to equations.
pub(super) fn are_equal(equations: &[Equation], a: &Rc<Term>, b: &Rc<Term>) -> bool {
    let mut reached = vec![a.clone()];
    let mut next = 0;
    while let Some(term) = reached.get(next).cloned() {
        if term == *b {
            return true;
        }
        for (x, y) in equations {
            for (x, y) in [(x, y), (y, x)] {
                if *x == term && !reached.contains(y) {
                    reached.push(y.clone());
                }
            }
        }
        next += 1;
    }
    false
}

fn function_of_shape(x: &Rc<Term>) -> Rc<Term> {
    function(Function::Field("shape".to_owned()), vec![x.clone()])
}

fn element(list: Rc<Term>, place: i64) -> Rc<Term> {
    function(Function::Element, vec![list, value(AttrValue::int(place))])
}
