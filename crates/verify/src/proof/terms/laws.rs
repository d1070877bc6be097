//! Laws that hold at all ranks and sizes, wherever both sides have a type.

use std::rc::Rc;

use super::numbers::Sum;
use super::parts::{function, list, value};
use super::{Called, Function, Maker, Term, is_view};
use tautomer_op::{AttrKind, AttrValue, AxesRule, AxisOf, Formula, Made, OpDef, Products, ShapeRule, known, lookup};
use tautomer_tensor::Dim;

/// True for a variable, and for what is computed from one: no number of an attribute.
pub(super) fn is_tensor(term: &Term) -> bool {
    match term {
        Term::Variable(_) | Term::Function(Function::Stage(_), _) => true,
        Term::Function(Function::When, parts) => parts.iter().skip(1).all(|part| is_tensor(part)),
        Term::Call(_, operands, _) => operands.iter().any(|operand| is_tensor(operand)),
        _ => false,
    }
}

impl Maker {
    /// A call by a law that applies to it, if there is one.
    pub(super) fn by_law(&mut self, called: &Called, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        if called.elementwise {
            return self
                .without_expansion(called, operands, attrs)
                .or_else(|| self.before_movement(called, operands, attrs));
        }
        if called.extents {
            return self.extents(called, operands, attrs);
        }
        let def = called.head.in_table()?;
        match def.shapes {
            ShapeRule::Expand => self.expansion(def, operands, attrs),
            ShapeRule::Permute => self.order(called, operands, attrs),
            ShapeRule::Reshape | ShapeRule::InsertAxes if is_view(def) => self.vector(def, operands, attrs),
            _ if def.law() == Formula::Product(Products::Convolution) => self.biased(called, operands, attrs),
            _ if def.law() == Formula::Product(Products::Gemm) => self.product_and_sum(def, operands, attrs),
            _ => None,
        }
    }

    /// Attributes with axes counted from the front: a written axis -1 is the last one.
    pub(super) fn with_axes_at_front(&self, def: &OpDef, operands: &[Rc<Term>], attrs: Vec<Rc<Term>>) -> Vec<Rc<Term>> {
        let Some(x) = operands.first() else { return attrs };
        let counted = |n: &Dim| -> Option<Rc<Term>> {
            let n = n.as_const().filter(|n| *n < 0)?;
            Some(self.sum(&self.rank(x))?.plus(&Sum::constant(n), 1)?.term())
        };
        let one = |(declared, attr): (&tautomer_op::AttrDef, Rc<Term>)| match (declared.kind, &*attr) {
            (AttrKind::Axis(AxisOf::Input), Term::Value(AttrValue::Int(n))) => counted(n).unwrap_or(attr),
            // A list of several axes may be sorted.
            (AttrKind::Axes(AxisOf::Input), Term::Value(AttrValue::Ints(axes))) if axes.len() == 1 => {
                counted(&axes[0]).map_or(attr.clone(), |axis| list(vec![axis]))
            }
            _ => attr,
        };
        def.attrs.iter().zip(attrs).map(one).collect()
    }

    /// The values whose shapes the shape of an elementwise function is broadcast from.
    fn parts_of_shape(&self, term: &Rc<Term>, out: &mut Vec<Rc<Term>>) {
        out.push(term.clone());
        if let Term::Call(head, operands, _) = &**term
            && self.called(head).is_some_and(|called| called.broadcasts)
        {
            operands.iter().for_each(|operand| self.parts_of_shape(operand, out));
        }
    }

    /// True if a shape changes nothing when it is broadcast with the others.
    fn is_absorbed(&self, shape: &Rc<Term>, others: &[Rc<Term>]) -> bool {
        let mut parts = Vec::new();
        others.iter().for_each(|other| self.parts_of_shape(other, &mut parts));
        let shapes: Vec<Rc<Term>> = parts
            .into_iter()
            .map(|part| function(Function::Field("shape".to_owned()), vec![part]))
            .collect();
        let is_part = |whole: &Rc<Term>| shapes.contains(whole);
        is_part(shape) || self.known.wholes(shape).any(|wholes| wholes.iter().all(is_part))
    }

    /// An operand that is only expanded to a shape that the result has anyway, as it was before.
    fn without_expansion(&mut self, called: &Called, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        // A conversion has the shape of its first operand.
        let kept = usize::from(!called.broadcasts);
        for (i, operand) in operands.iter().enumerate().skip(kept) {
            let Term::Call(head, inside, places) = &**operand else {
                continue;
            };
            let Some(def) = head.in_table() else { continue };
            let Some(at) = def.attr_index("shape") else { continue };
            let mut others = operands.to_vec();
            others.remove(i);
            let is_filled = matches!(def.law(), Formula::Made(Made::Filled { like: false, .. }));
            if !(def.shapes == ShapeRule::Expand || is_filled) || !self.is_absorbed(&places[at], &others) {
                continue;
            }
            let inner = match inside.as_slice() {
                [one] if def.shapes == ShapeRule::Expand => one.clone(),
                [] if is_filled => {
                    let mut places = places.clone();
                    places[at] = list(Vec::new());
                    if places == inside_places(operand) {
                        continue;
                    }
                    self.call(Called::operator(def), Vec::new(), places)?
                }
                _ => continue,
            };
            let mut operands = operands.to_vec();
            operands[i] = inner;
            return self.call(called.clone(), operands, attrs.to_vec());
        }
        None
    }

    /// A function of each element and of numbers may be applied before the elements are moved.
    fn before_movement(&mut self, called: &Called, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        if !called.broadcasts && operands.len() > 1 {
            return None;
        }
        let zero = value(AttrValue::int(0));
        let wide: Vec<usize> = (0..operands.len())
            .filter(|&i| self.rank(&operands[i]) != zero)
            .collect();
        let [at] = wide.as_slice() else { return None };
        let Term::Call(head, inside, places) = &*operands[*at] else {
            return None;
        };
        let moving = self.called(head).filter(|c| c.moves).cloned()?;
        // Only `concat` has several operands whose elements it moves.
        let joins = moving
            .head
            .in_table()
            .is_some_and(|def| def.shapes == ShapeRule::Concat);
        if !joins && inside.len() != 1 {
            return None;
        }
        let applied: Option<Vec<Rc<Term>>> = inside
            .iter()
            .map(|one| {
                let mut operands = operands.to_vec();
                operands[*at] = one.clone();
                self.call(called.clone(), operands, attrs.to_vec())
            })
            .collect();
        self.call(moving, applied?, places.clone())
    }

    /// The shape of a function of each element is that of the operand that all others broadcast to.
    fn extents(&mut self, called: &Called, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        let [of] = operands else { return None };
        let Term::Call(head, inside, _) = &**of else {
            return None;
        };
        if !self.called(head).is_some_and(|c| c.broadcasts) {
            return None;
        }
        let shape = |part: &Rc<Term>| function(Function::Field("shape".to_owned()), vec![part.clone()]);
        let zero = value(AttrValue::int(0));
        let is_whole = |i: &usize| {
            let own = [inside[*i].clone()];
            (0..inside.len())
                .all(|j| j == *i || self.rank(&inside[j]) == zero || self.is_absorbed(&shape(&inside[j]), &own))
        };
        let i = (0..inside.len()).find(is_whole)?;
        self.call(called.clone(), vec![inside[i].clone()], attrs.to_vec())
    }

    /// A value expanded to its own shape, and an elementwise function that is expanded after its operands were.
    fn expansion(&mut self, def: &'static OpDef, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        let [x] = operands else { return None };
        let shape = attrs.get(def.attr_index("shape")?)?;
        let Term::Function(Function::Field(name), of) = &**shape else {
            return None;
        };
        if name != "shape" {
            return None;
        }
        let whole = &of[0];
        let stripped = self.stripped(whole)?;
        (whole == x || stripped == *x).then(|| whole.clone())
    }

    /// The term without expansions of the operands of elementwise functions.
    fn stripped(&mut self, term: &Rc<Term>) -> Option<Rc<Term>> {
        let Term::Call(head, operands, attrs) = &**term else {
            return Some(term.clone());
        };
        if head.in_table().is_some_and(|def| def.shapes == ShapeRule::Expand) {
            return self.stripped(operands.first()?);
        }
        let Some(called) = self.called(head).filter(|c| c.broadcasts).cloned() else {
            return Some(term.clone());
        };
        let operands: Option<Vec<Rc<Term>>> = operands.iter().map(|operand| self.stripped(operand)).collect();
        self.call(called, operands?, attrs.clone())
    }

    /// Two orders of axes, one after the other.
    fn order(&mut self, called: &Called, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        let written = |attrs: &[Rc<Term>]| -> Option<Vec<usize>> {
            match &**attrs.first()? {
                Term::Value(AttrValue::Ints(list)) => {
                    list.iter().map(|d| usize::try_from(d.as_const()?).ok()).collect()
                }
                _ => None,
            }
        };
        let [x] = operands else { return None };
        let outer = written(attrs)?;
        if outer.iter().copied().eq(0..outer.len()) {
            return Some(x.clone());
        }
        let Term::Call(head, inside, places) = &**x else {
            return None;
        };
        let ([inside], true) = (inside.as_slice(), *head == called.head) else {
            return None;
        };
        let inner = written(places)?;
        let both: Option<Vec<i64>> = outer.iter().map(|&i| i64::try_from(*inner.get(i)?).ok()).collect();
        self.call(
            called.clone(),
            vec![inside.clone()],
            vec![value(AttrValue::ints(&both?))],
        )
    }

    /// A vector to which axes are added behind its own: the dimension, then ones.
    fn vector(&mut self, def: &'static OpDef, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        let [x] = operands else { return None };
        if self.rank(x) != value(AttrValue::int(1)) {
            return None;
        }
        let one = value(AttrValue::int(1));
        let shape = self.field("shape", x)?;
        let extent = self.element(shape, value(AttrValue::int(0)))?;
        let ones = |term: &Rc<Term>| match &**term {
            Term::Function(Function::Repeat, parts) => parts[0] == one,
            _ => super::lists::entries(term).is_some_and(|all| all.iter().all(|entry| *entry == one)),
        };
        let rest = if def.axes_rule() == AxesRule::Inserted {
            let axes = attrs.get(def.attr_index("axes")?)?;
            match (&**axes, super::lists::entries(axes)) {
                (Term::Function(Function::Range, ends), _) if ends[0] == one => {
                    let n = self.plus(&ends[1], &one, -1)?;
                    self.repeat(one.clone(), n)
                }
                (_, Some(axes)) => {
                    let in_order = axes
                        .iter()
                        .zip(1..)
                        .all(|(axis, i)| **axis == Term::Value(AttrValue::int(i)));
                    let n = value(AttrValue::int(i64::try_from(axes.len()).ok().filter(|_| in_order)?));
                    self.repeat(one.clone(), n)
                }
                _ => return None,
            }
        } else {
            // As many elements as before, so the first entry is the dimension, whatever it is written as.
            let parts = super::lists::segments(attrs.get(def.attr_index("shape")?)?);
            let first = super::lists::entries(parts.first()?)?;
            let (_, written) = first.split_first()?;
            let written = list(written.to_vec());
            if !ones(&written) || !parts[1..].iter().all(ones) {
                return None;
            }
            parts[1..].iter().fold(written, |all, part| self.concat(&all, part))
        };
        if super::lists::entries(&rest).is_some_and(|rest| rest.is_empty()) {
            return Some(x.clone());
        }
        let shape = self.concat(&list(vec![extent]), &rest);
        let reshape = lookup(known::RESHAPE)?;
        let attrs = with_shape(reshape, &shape);
        let out = Rc::new(Term::Call(Called::operator(reshape).head, vec![x.clone()], attrs));
        self.add(Called::operator(reshape));
        Some(out)
    }

    /// A convolution with a bias: the convolution, then the bias along channels.
    fn biased(&mut self, called: &Called, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        let ([x, w, b], true) = (operands, self.real) else {
            return None;
        };
        // A variable may match an operand that is left out.
        if matches!(&**b, Term::Variable(i) if !self.known.is_given(*i)) || self.rank(b) != value(AttrValue::int(1)) {
            return None;
        }
        let n = self.plus(&self.rank(x), &value(AttrValue::int(2)), -1)?;
        let shape = self.field("shape", b)?;
        let extent = self.element(shape, value(AttrValue::int(0)))?;
        let ones = self.repeat(value(AttrValue::int(1)), n);
        let shape = self.concat(&list(vec![extent]), &ones);
        let (reshape, add) = (lookup(known::RESHAPE)?, lookup(known::ADD)?);
        let bias = self.call(Called::operator(reshape), vec![b.clone()], with_shape(reshape, &shape))?;
        let y = self.call(called.clone(), vec![x.clone(), w.clone()], attrs.to_vec())?;
        self.call(Called::operator(add), vec![y, bias], Vec::new())
    }
}

impl Maker {
    /// A `gemm` without factors: a product of matrices, and a sum.
    fn product_and_sum(&mut self, def: &OpDef, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Rc<Term>> {
        let attr = |name: &str| def.attr_index(name).and_then(|i| attrs.get(i)).map(|attr| &**attr);
        let is_one = |name: &str| attr(name) == Some(&Term::Value(AttrValue::float(1.0)));
        let truth = |name: &str| match attr(name) {
            Some(Term::Value(AttrValue::Bool(b))) => Some(*b),
            _ => None,
        };
        if !self.real || !is_one("alpha") || !is_one("beta") || truth("transA")? {
            return None;
        }
        let (a, b, c) = match operands {
            [a, b] => (a, b, None),
            [a, b, c] => (a, b, Some(c)),
            _ => return None,
        };
        // A variable may match an operand that is left out.
        if c.is_some_and(|c| !self.known.is_given_operand(c)) {
            return None;
        }
        let b = match truth("transB")? {
            true => self.call(
                Called::operator(lookup(known::TRANSPOSE)?),
                vec![b.clone()],
                vec![value(AttrValue::ints(&[1, 0]))],
            )?,
            false => b.clone(),
        };
        let product = self.call(Called::operator(lookup(known::MATMUL)?), vec![a.clone(), b], Vec::new())?;
        match c {
            Some(c) => self.call(
                Called::operator(lookup(known::ADD)?),
                vec![product, c.clone()],
                Vec::new(),
            ),
            None => Some(product),
        }
    }
}

/// The attributes of an operator with this shape, and the others as they are by default.
fn with_shape(def: &OpDef, shape: &Rc<Term>) -> Vec<Rc<Term>> {
    let attr = |declared: &tautomer_op::AttrDef| match declared.name {
        "shape" => shape.clone(),
        _ => super::parts::preset(declared),
    };
    def.attrs.iter().map(attr).collect()
}

/// The attributes of a call.
fn inside_places(term: &Term) -> Vec<Rc<Term>> {
    match term {
        Term::Call(_, _, attrs) => attrs.clone(),
        _ => Vec::new(),
    }
}

/// Operands of arithmetic, with written integers as real numbers: the other operand decides the element type of both.
pub(super) fn with_reals(called: &Called, operands: Vec<Rc<Term>>) -> Vec<Rc<Term>> {
    use tautomer_op::Function::{Difference, Product, Quotient, Sum};
    let law = called.head.in_table().map(|def| def.law());
    let is_arithmetic = matches!(law, Some(Formula::Function(Difference | Product | Quotient | Sum)));
    if !is_arithmetic || operands.len() != 2 || !operands.iter().any(|operand| is_tensor(operand)) {
        return operands;
    }
    let real = |operand: Rc<Term>| match &*operand {
        Term::Value(AttrValue::Int(Dim::Const(n))) if n.unsigned_abs() < 1 << 50 => value(AttrValue::float(*n as f64)),
        _ => operand,
    };
    operands.into_iter().map(real).collect()
}
