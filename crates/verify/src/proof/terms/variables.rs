//! What the source and the conditions of a rule say about its variables: ranks, element types, and names that stand for
//! a known value.
//!
//! All of it holds wherever the rule applies, so a term may be simplified by it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::numbers::{Compared, Sum};
use super::read::{Names, Reader};
use super::rows::Equation;
use super::types::Typed;
use super::{Function, Key, Maker, Term};
use tautomer_lang::ast::{BinaryOp, Dims, ExprId, ExprKind, TypeKind};
use tautomer_op::{AttrKind, AttrValue, AxesRule, AxisOf, Channel, Default as Preset, OpDef, OperandKind, ShapeRule};
use tautomer_rule::Rule;
use tautomer_tensor::{DType, Dim};

/// The facts about a rule.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Names of floating-point numbers.
    pub(super) floats: BTreeSet<Key>,
    /// Names of integers, and of lists of integers.
    pub(super) integers: BTreeSet<Key>,
    pub(super) lists: BTreeSet<Key>,
    /// Names of axes, with the rank of the value whose axes they are.
    axes: BTreeMap<Key, Rc<Term>>,
    /// Names of lists of axes that are reduced, with the rank of the value whose axes they are.
    reduced: BTreeMap<Key, Rc<Term>>,
    /// Names of lists without repeated entries, with a number that their length does not exceed.
    lengths: BTreeMap<Rc<Term>, Rc<Term>>,
    /// Attributes that are the element type of a value.
    types: Vec<(Rc<Term>, Rc<Term>)>,
    /// The least and the largest rank of variables.
    ranks: BTreeMap<usize, (i64, Option<i64>)>,
    /// Variables that match no operand that is left out.
    given: BTreeSet<usize>,
    /// Shapes that broadcast to one of several others.
    broadcasts: Vec<(Vec<Rc<Term>>, Rc<Term>)>,
    /// Equal integers, according to conditions: one of the equations in each list holds.
    pub(super) equations: Vec<Vec<Equation>>,
    /// Sums that are not negative, according to conditions.
    pub(super) not_negative: Vec<Sum>,
    /// Operators that take a variable, or what arithmetic makes of it, as the operand with this number.
    takers: Vec<(usize, &'static OpDef, usize)>,
    /// Names of attributes that conditions say are not left out.
    written: BTreeSet<Key>,
    /// What names and the element types of variables are.
    pub(super) equal: BTreeMap<Rc<Term>, Rc<Term>>,
}

impl Known {
    /// The bounds of an integer.
    pub(super) fn bounds(&self, term: &Term) -> (Option<i64>, Option<i64>) {
        match term {
            Term::Function(Function::Field(name), parts) if name == "rank" => match &*parts[0] {
                Term::Variable(i) => {
                    let (low, high) = self.ranks.get(i).copied().unwrap_or((0, None));
                    (Some(low), high)
                }
                _ => (Some(0), None),
            },
            Term::Function(Function::Field(name), _) if name == "size" => (Some(0), None),
            Term::Function(Function::Named("len"), _) => (Some(0), None),
            Term::Function(Function::Element, parts) if matches!(&*parts[0], Term::Function(Function::Field(name), _) if name == "shape") => {
                (Some(0), None)
            }
            Term::Bound(key) if self.axes.contains_key(key) => (Some(0), None),
            _ => (None, None),
        }
    }

    /// The rank of the value of which a name is an axis.
    pub(super) fn axis(&self, term: &Term) -> Option<&Rc<Term>> {
        match term {
            Term::Bound(key) => self.axes.get(key),
            _ => None,
        }
    }

    /// A number that a length does not exceed.
    pub(super) fn longest(&self, term: &Term) -> Option<&Rc<Term>> {
        self.lengths.get(term)
    }

    pub(super) fn is_given(&self, variable: usize) -> bool {
        self.given.contains(&variable)
    }

    /// True for a variable that can only be of a floating-point type.
    pub(super) fn is_float(&self, variable: usize) -> bool {
        let is_written =
            |dtype: &Rc<Term>| matches!(&**dtype, Term::Value(AttrValue::DType(dtype)) if dtype.is_float());
        let of_variable = |i: usize| self.equal.get(&dtype_of(i)).is_some_and(is_written);
        let is_taken = |(own, def, at): &(usize, &'static OpDef, usize)| {
            *own == variable && super::types::takes_floats_at(def, *at)
        };
        of_variable(variable) || self.takers.iter().any(is_taken)
    }

    /// True if a condition says that an attribute is not left out.
    pub(super) fn is_written(&self, key: &Key) -> bool {
        self.written.contains(key)
    }

    /// The rank of a variable, if it is known.
    pub(super) fn rank(&self, variable: usize) -> Option<i64> {
        let (low, high) = self.ranks.get(&variable)?;
        high.filter(|high| high == low)
    }

    /// True for an operand that is not left out.
    pub(super) fn is_given_operand(&self, operand: &Term) -> bool {
        match operand {
            Term::Variable(i) => self.is_given(*i),
            Term::Call(..) => true,
            _ => false,
        }
    }

    /// The shapes to one of which a shape broadcasts, for each condition about it.
    pub(super) fn wholes(&self, part: &Rc<Term>) -> impl Iterator<Item = &[Rc<Term>]> {
        let own = self.broadcasts.iter().filter(move |(_, own)| own == part);
        own.map(|(wholes, _)| wholes.as_slice())
    }

    fn at_least(&mut self, variable: usize, n: i64) {
        let own = self.ranks.entry(variable).or_insert((0, None));
        own.0 = own.0.max(n);
    }

    fn at_most(&mut self, variable: usize, n: i64) {
        let own = self.ranks.entry(variable).or_insert((0, None));
        own.1 = Some(own.1.map_or(n, |own| own.min(n)));
    }

    /// Adds that a shape has the entry that a condition looks at; otherwise the condition would not hold.
    fn has_entry(&mut self, term: &Term) {
        let Term::Function(Function::Element, parts) = term else {
            return;
        };
        if let Term::Function(Function::Field(name), of) = &*parts[0]
            && let (true, Term::Variable(i)) = (name == "shape", &*of[0])
        {
            // Where an index is less than 0, it is counted from the end.
            let least = match &*parts[1] {
                Term::Value(AttrValue::Int(Dim::Const(n))) if *n >= 0 => n.saturating_add(1),
                Term::Value(AttrValue::Int(Dim::Const(n))) => n.saturating_neg(),
                _ => 1,
            };
            self.at_least(*i, least);
        }
    }

    fn has_rank(&mut self, term: &Term, n: usize) {
        if let (Term::Variable(i), Ok(n)) = (term, i64::try_from(n)) {
            self.at_least(*i, n);
            self.at_most(*i, n);
        }
    }

    /// Adds the kind of an attribute that the source binds.
    pub(super) fn bind(&mut self, key: &Key, kind: AttrKind, in_list: bool) {
        match kind {
            AttrKind::Ints | AttrKind::Axes(_) if in_list => _ = self.integers.insert(key.clone()),
            AttrKind::Int | AttrKind::Axis(_) => _ = self.integers.insert(key.clone()),
            AttrKind::Float => _ = self.floats.insert(key.clone()),
            AttrKind::Ints | AttrKind::Axes(_) => _ = self.lists.insert(key.clone()),
            _ => {}
        }
    }

    /// Adds what a call asks of its operands; if it is one of the pattern, `matched`, its axes are counted from the
    /// front.
    pub(super) fn call(
        &mut self,
        maker: &Maker,
        def: &'static OpDef,
        (operands, attrs): (&[Rc<Term>], &[Rc<Term>]),
        matched: bool,
    ) {
        for (i, operand) in operands.iter().enumerate().filter(|_| matched) {
            let mut waiting = vec![operand];
            while let Some(term) = waiting.pop() {
                match &**term {
                    Term::Variable(v) => self.takers.push((*v, def, i)),
                    Term::Call(head, inside, _) if head.in_table().is_some_and(is_arithmetic) => waiting.extend(inside),
                    _ => {}
                }
            }
        }
        for (i, operand) in operands.iter().enumerate() {
            let Some(declared) = def.operands.get(i).or(def.operands.last()) else {
                continue;
            };
            if let (Term::Variable(v), OperandKind::One | OperandKind::Variadic) = (&**operand, declared.kind) {
                self.given.insert(*v);
            }
            if let Some(rank) = def.operands.get(i).and_then(|o| o.rank) {
                self.has_rank(operand, rank);
            }
        }
        let named = match def.shapes {
            ShapeRule::PerChannel(Channel::Second | Channel::Named) => {
                for vector in operands.iter().skip(1) {
                    self.has_rank(vector, 1);
                    if let (Term::Variable(_), ShapeRule::PerChannel(Channel::Second)) = (&**vector, def.shapes) {
                        let channels = (extent(vector, 0), extent(&operands[0], 1));
                        self.equations.push(vec![channels]);
                    }
                }
                def.shapes == ShapeRule::PerChannel(Channel::Named)
            }
            ShapeRule::Permute => {
                if let (Some(x), Some(Term::Value(AttrValue::Ints(list)))) =
                    (operands.first(), attrs.first().map(|a| &**a))
                {
                    self.has_rank(x, list.len());
                }
                false
            }
            _ => false,
        };
        // Both operands of arithmetic have one element type, and so have values that are joined.
        let are_alike = is_arithmetic(def) || def.shapes == ShapeRule::Concat;
        if let (true, [a, b]) = (matched && are_alike, operands)
            && [a, b].into_iter().all(|operand| self.is_given_operand(operand))
        {
            for (a, b) in [(a, b), (b, a)] {
                if let Term::Variable(i) = &**a {
                    self.types.push((dtype_of(*i), b.clone()));
                }
            }
        }
        let Some(x) = operands.first() else { return };
        let rank = maker.rank(x);
        let has_axes = maker.sum(&rank).is_some_and(|rank| maker.is_at_least(&rank, 1));
        for (declared, attr) in def.attrs.iter().zip(attrs) {
            // For a value without axes, an operator may leave a default as it is.
            if let (AttrKind::Axis(AxisOf::Input), Term::Bound(key), true) = (declared.kind, &**attr, matched)
                && (has_axes || named || declared.default == Preset::Required)
            {
                self.axes.insert(key.clone(), rank.clone());
            }
            if let (AttrKind::Axes(AxisOf::Input), Term::Bound(key), true) = (declared.kind, &**attr, matched)
                && def.axes_rule() == AxesRule::Reduced
            {
                self.reduced.entry(key.clone()).or_insert_with(|| rank.clone());
            }
            // The normal form of the attribute is the element type of that operand.
            if matched
                && let Some(operand) = def.type_equal_to(declared.name).and_then(|i| operands.get(i))
                && self.is_given_operand(operand)
            {
                self.types.push((attr.clone(), operand.clone()));
            }
            if let (true, Term::Variable(i)) = (named, &**x) {
                self.at_least(*i, 1);
            }
        }
    }
}

impl Reader<'_> {
    /// Adds the types of the variables, the element types that are assumed, and the names that conditions say are left
    /// out, or are not: an operator that is given such an attribute has to know that it is not there.
    pub(super) fn assume(&mut self, assumed: &[(Typed, DType)]) {
        for (i, variable) in self.rule.variables.iter().enumerate() {
            let Some(ty) = &variable.ty else { continue };
            self.maker.known.given.insert(i);
            if let TypeKind::Tensor { dtype, dims } = &ty.kind {
                match dims {
                    Dims::Scalar => self.maker.known.has_rank(&Term::Variable(i), 0),
                    Dims::List(list) => self.maker.known.has_rank(&Term::Variable(i), list.len()),
                    Dims::AnyRank => {}
                }
                if let Some(dtype) = dtype {
                    let dtype = super::parts::value(AttrValue::DType(dtype.dtype));
                    self.maker.known.equal.insert(dtype_of(i), dtype);
                }
            }
        }
        let Known { equal, written, .. } = &mut self.maker.known;
        for (typed, dtype) in assumed {
            let typed = match typed {
                Typed::Variable(i) => dtype_of(*i),
                Typed::Name(name) => Rc::new(Term::Bound(Key::Name(name.clone()))),
            };
            equal.insert(typed, super::parts::value(AttrValue::DType(*dtype)));
        }
        let ast = &self.rule.ast;
        let mut waiting = self.rule.conditions.clone();
        while let Some(id) = waiting.pop() {
            let ExprKind::Binary { op, lhs, rhs } = ast.kind(id) else {
                continue;
            };
            match (op, ast.kind(*lhs), ast.kind(*rhs)) {
                (BinaryOp::And, ..) => waiting.extend([*lhs, *rhs]),
                (BinaryOp::Eq, ExprKind::Name(name), ExprKind::Name(none)) if &**none == "none" => {
                    equal.insert(Rc::new(Term::Bound(Key::Name(name.to_string()))), Rc::new(Term::Absent));
                }
                (BinaryOp::Ne, ExprKind::Name(name), ExprKind::Name(none)) if &**none == "none" => {
                    written.insert(Key::Name(name.to_string()));
                }
                _ => {}
            }
        }
    }

    /// Adds what the conditions and the operators of the source say.
    pub(super) fn learn(&mut self, names: &mut Names<'_>) {
        let rule = self.rule;
        for &condition in &rule.conditions {
            self.condition(rule, condition, names);
        }
        for (attr, operand) in std::mem::take(&mut self.maker.known.types) {
            let attr = self.maker.known.equal.get(&attr).cloned().unwrap_or(attr);
            if let Some(dtype) = self.maker.field("dtype", &operand)
                && attr != dtype
            {
                self.equal(&attr, &dtype);
            }
        }
    }

    fn condition(&mut self, rule: &Rule, id: ExprId, names: &mut Names<'_>) {
        use BinaryOp::{And, Eq, Ge, Gt, Le, Lt};
        self.broadcast(rule, id, names);
        if let Some(alternatives) = self.equations(rule, id, names) {
            if let [(a, b)] = alternatives.as_slice() {
                [a, b].into_iter().for_each(|side| self.maker.known.has_entry(side));
            }
            self.maker.known.equations.push(alternatives);
        }
        let ExprKind::Binary { op, lhs, rhs } = *rule.ast.kind(id) else {
            return;
        };
        if op == And {
            self.condition(rule, lhs, names);
            self.condition(rule, rhs, names);
            return;
        }
        if !matches!(op, Eq | Ge | Gt | Le | Lt) {
            return;
        }
        let sides = (self.side(lhs, names), self.side(rhs, names));
        let (Some(a), Some(b)) = sides else { return };
        let (Some(x), Some(y)) = (self.maker.sum(&a), self.maker.sum(&b)) else {
            if op == Eq {
                self.equal(&a, &b);
            }
            return;
        };
        let Some(difference) = x.plus(&y, -1) else { return };
        let less = if matches!(op, Gt | Lt) { -1 } else { 0 };
        for factor in [1, -1] {
            let is_said = op == Eq || (factor > 0) == matches!(op, Ge | Gt);
            if let (true, Some(sum)) = (is_said, Sum::constant(less).plus(&difference, factor)) {
                self.maker.known.not_negative.push(sum);
            }
        }
        // Bounds of the rank of one variable.
        if let Some((variable, factor, constant)) = difference.of_one_rank() {
            // `factor * rank + constant` is compared with 0.
            let low = matches!(op, Eq) || (factor > 0) == matches!(op, Ge | Gt);
            let high = matches!(op, Eq) || !low;
            let strict = i64::from(matches!(op, Gt | Lt));
            let bound = -constant * factor;
            if low {
                self.maker.known.at_least(variable, bound + strict);
            }
            if high {
                self.maker.known.at_most(variable, bound - strict);
            }
        } else if op == Eq {
            self.equal(&a, &b);
        }
    }

    /// The equations between integers in `a == b or c == d`.
    fn equations(&mut self, rule: &Rule, id: ExprId, names: &mut Names<'_>) -> Option<Vec<Equation>> {
        match *rule.ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::Or,
                lhs,
                rhs,
            } => {
                let mut out = self.equations(rule, lhs, names)?;
                out.extend(self.equations(rule, rhs, names)?);
                Some(out)
            }
            ExprKind::Binary {
                op: BinaryOp::Eq,
                lhs,
                rhs,
            } => {
                let (a, b) = (self.side(lhs, names)?, self.side(rhs, names)?);
                (self.maker.is_integer(&a) && self.maker.is_integer(&b)).then(|| vec![(a, b)])
            }
            _ => None,
        }
    }

    /// A side of a condition; what is not read says nothing.
    fn side(&mut self, id: ExprId, names: &mut Names<'_>) -> Option<Rc<Term>> {
        let (depth, in_numbers, bound, locals) = (self.depth, self.in_numbers, names.values.len(), names.locals);
        let (loops, branches) = (self.maker.integers_of_loops.len(), self.in_branches);
        self.in_numbers += 1;
        // It may be no part of either side.
        self.in_branches += 1;
        let out = self.expr(id, names);
        (self.depth, self.in_numbers, self.in_branches, names.locals) = (depth, in_numbers, branches, locals);
        names.values.truncate(bound);
        self.maker.integers_of_loops.truncate(loops);
        out
    }

    /// Adds `broadcasts(x, y) or broadcasts(z, y) or y.rank == 0`.
    fn broadcast(&mut self, rule: &Rule, id: ExprId, names: &mut Names<'_>) {
        let mut waiting = vec![id];
        let mut wholes = Vec::new();
        let mut parts: Vec<Rc<Term>> = Vec::new();
        let shape = |reader: &mut Self, id: ExprId, names: &mut Names<'_>| {
            let term = reader.side(id, names)?;
            let is_list = reader.maker.has_integers(&term);
            Some(if is_list {
                term
            } else {
                super::parts::function(Function::Field("shape".to_owned()), vec![term])
            })
        };
        while let Some(id) = waiting.pop() {
            match rule.ast.kind(id) {
                ExprKind::Binary {
                    op: BinaryOp::Or,
                    lhs,
                    rhs,
                } => waiting.extend([*lhs, *rhs]),
                ExprKind::Call { callee, args, .. } if callee.as_str() == "broadcasts" => {
                    let [whole, part] = args.as_slice() else { return };
                    let (Some(whole), Some(part)) = (shape(self, *whole, names), shape(self, *part, names)) else {
                        return;
                    };
                    wholes.push(whole);
                    parts.push(part);
                }
                // A value without axes broadcasts to all others.
                ExprKind::Binary {
                    op: BinaryOp::Eq,
                    lhs,
                    rhs,
                } if matches!(rule.ast.kind(*rhs), ExprKind::Int { value: 0, .. }) => match rule.ast.kind(*lhs) {
                    ExprKind::Field { base, name } if name.as_str() == "rank" => match shape(self, *base, names) {
                        Some(part) => parts.push(part),
                        None => return,
                    },
                    _ => return,
                },
                _ => return,
            }
        }
        parts.dedup();
        if let ([part], false) = (parts.as_slice(), wholes.is_empty()) {
            self.maker.known.broadcasts.push((wholes, part.clone()));
        }
    }

    /// For a list of axes that are the last ones, as many as it has entries: its length, and the number of axes. The
    /// list is the range from the axis that many before the end, so its own length stands in what it is equal to.
    fn ending(&self, name: &Rc<Term>, value: &Rc<Term>) -> Option<(Rc<Term>, Rc<Term>)> {
        let (Term::Bound(key), Term::Function(Function::Range, ends)) = (&**name, &**value) else {
            return None;
        };
        let rank = self.maker.known.reduced.get(key)?;
        let length = super::parts::function(Function::Named("len"), vec![name.clone()]);
        let start = self.maker.plus(rank, &length, -1)?;
        (ends[0] == start && ends[1] == *rank).then(|| (length, rank.clone()))
    }

    /// Adds an equation, if one side is a name or the element type of a variable.
    fn equal(&mut self, a: &Rc<Term>, b: &Rc<Term>) {
        let is_name = |term: &Term| match term {
            Term::Bound(Key::Name(_) | Key::OfRest(..) | Key::Any(..)) => true,
            Term::Function(Function::Field(name), parts) => name == "dtype" && matches!(&*parts[0], Term::Variable(_)),
            _ => false,
        };
        for (name, value) in [(a, b), (b, a)] {
            // A value in which other names stand could come back to the first.
            let names = |term: &Term| value.mentions(term);
            let ending = self.ending(name, value);
            let is_free = ending.is_some() || !value.mentions(name);
            if is_name(name) && !self.maker.known.equal.keys().any(|own| names(own)) && is_free {
                let all = &mut self.maker.known.equal;
                if !all.values().any(|own| own.mentions(name)) && !all.contains_key(name) {
                    all.insert(name.clone(), value.clone());
                    self.maker.known.lengths.extend(ending);
                    return;
                }
            }
        }
    }
}

/// A dimension of a value.
pub(super) fn extent(x: &Rc<Term>, axis: i64) -> Rc<Term> {
    let shape = super::parts::function(Function::Field("shape".to_owned()), vec![x.clone()]);
    super::parts::function(
        Function::Element,
        vec![shape, super::parts::value(AttrValue::int(axis))],
    )
}

/// The element type of a variable.
fn dtype_of(variable: usize) -> Rc<Term> {
    let variable = Rc::new(Term::Variable(variable));
    super::parts::function(Function::Field("dtype".to_owned()), vec![variable])
}

fn is_arithmetic(def: &OpDef) -> bool {
    use tautomer_op::{Formula, Function};
    let law = def.law();
    [
        Function::Difference,
        Function::Product,
        Function::Quotient,
        Function::Sum,
    ]
    .into_iter()
    .any(|function| law == Formula::Function(function))
}

impl Sum {
    /// For `factor * x.rank + constant` with a variable `x` and a factor 1 or -1: these three.
    fn of_one_rank(&self) -> Option<(usize, i64, i64)> {
        let (term, factor, constant) = self.of_one()?;
        match &*term {
            Term::Function(Function::Field(name), parts) if name == "rank" => match &*parts[0] {
                Term::Variable(i) if factor.abs() == 1 => Some((*i, factor, constant)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Maker {
    /// A condition that compares two integers.
    pub(super) fn compared(op: BinaryOp) -> Option<Compared> {
        Some(match op {
            BinaryOp::Eq => Compared::Equal,
            BinaryOp::Ne => Compared::Different,
            BinaryOp::Lt => Compared::Less,
            BinaryOp::Le => Compared::LessOrEqual,
            BinaryOp::Gt => Compared::Greater,
            BinaryOp::Ge => Compared::GreaterOrEqual,
            _ => return None,
        })
    }
}
