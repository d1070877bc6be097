//! Rules that hold by the definitions of their operators: both sides are one term.
//!
//! Here a rule is read as text. Its variables stand for any tensors, and the attributes that its source binds stand for
//! any values, so nothing is known or assumed about ranks, sizes, element types or numbers. Calls of composite
//! operators are replaced by their bodies ([`read`]). If both sides become the same term, they are equal wherever both
//! have a type: equal functions of equal values have equal values.
//!
//! A few laws that hold at all ranks bring terms to a normal form: an elementwise function of one operand is applied
//! before elements are moved, and over the real numbers sums and products have no order. Outputs may differ by views,
//! which keep the order of elements.

mod expr;
mod factors;
mod laws;
mod lists;
mod numbers;
mod parts;
mod polynomials;
mod ranks;
mod read;
mod rebuild;
mod rows;
mod spread;
mod steps;
#[cfg(test)]
mod tests;
mod types;
mod variables;

use std::rc::Rc;

use self::read::Reader;
use self::spread::{Facts, Spread};
use self::types::Typed;
use self::variables::Known;
use super::certificate::Trail;
use super::ledger::{Covers, Ledger};
use super::{Coverage, SameTypes};
use crate::instance::combine::combinations;
use tautomer_op::{
    AttrDef, AttrKind, AttrValue, CostRule, Formula, Made, OpDef, OpTraits, OperandKind, ShapeRule, known, lookup,
    table,
};
use tautomer_rule::{Class, Rule};
use tautomer_tensor::DType;

/// Limit on the vertices of a term, each counted as often as it is used.
const SIZE: usize = 20_000;

/// A value, or the value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Term {
    /// A variable of the rule.
    Variable(usize),
    /// Whatever the source binds to this name, or to this attribute of a rest.
    Bound(Key),
    /// A variable of a comprehension, by the number of those around it.
    Local(usize),
    /// A written value.
    Value(AttrValue),
    /// An operand or attribute that is left out.
    Absent,
    /// The default that an operator fills in for an omitted attribute, which may depend on its operands.
    Preset,
    /// Several values.
    Tuple(Vec<Rc<Term>>),
    /// A call of an operator.
    Call(Head, Vec<Rc<Term>>, Vec<Rc<Term>>),
    /// Any other function of its operands.
    Function(Function, Vec<Rc<Term>>),
}

/// A name or attribute that the source binds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// A name.
    Name(String),
    /// An attribute of a rest with this name.
    OfRest(String, &'static str),
    /// All attributes of an operator that a variable stands for, under the name of the rest.
    Rest(String),
    /// An attribute that the vertex with this number may have with any value.
    Any(u32, &'static str),
}

/// A function that is no operator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Function {
    /// A list of its operands.
    List,
    /// A number of an element type.
    Typed,
    /// A literal of the source, which matches constants of any shape, or a value that it leaves open: the vertex with
    /// this number, which is equal only to itself.
    Literal(u32),
    /// A tensor with this number that both sides compute, in the body of an operator that both call.
    Stage(u32),
    /// A sum of its operands, each with a factor, and a constant.
    Sum(Vec<i64>, i64),
    /// True if an integer is 0.
    IsZero,
    /// True if an integer is above 0.
    IsPositive,
    /// A list of the first operand, as often as the second says.
    Repeat,
    /// A part of several values.
    Part(u32),
    /// A field: `x.rank`.
    Field(String),
    /// `s[i]`
    Element,
    /// `s[i..j]`
    Slice,
    /// `i..j`
    Range,
    /// The second operand where the first holds, else the third.
    When,
    /// A comprehension: the body, the range, and the condition.
    For,
    /// `a ++ b`
    Concat,
    /// `a in b`
    In,
    /// `a != b`
    NotEqual,
    /// True if an operand is given.
    Given,
    /// A function of conditions, by its name in their table.
    Named(&'static str),
    /// The normal form of one of an operator's attributes, given all its operands and attributes.
    Attribute(Head, &'static str),
}

/// The callee of a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Head {
    /// An operator, by its name and the address of its definition: two declarations may have one name.
    Operator(&'static str, usize),
    /// The operator that a variable stands for.
    Variable(usize),
}

impl Head {
    fn of(def: &'static OpDef) -> Head {
        Head::Operator(def.name, std::ptr::from_ref(def) as usize)
    }

    /// The operator, if it is one of the table.
    fn in_table(&self) -> Option<&'static OpDef> {
        match self {
            Head::Operator(name, address) => {
                lookup(name).filter(|def| std::ptr::from_ref::<OpDef>(def) as usize == *address)
            }
            Head::Variable(_) => None,
        }
    }
}

/// The facts about an operator that the normal form needs.
#[derive(Debug, Clone)]
struct Called {
    head: Head,
    /// It computes each element of its result from the elements at the same position, and has no axes.
    elementwise: bool,
    /// It moves elements of its operands, or joins operands, and makes none.
    moves: bool,
    /// It broadcasts its operand.
    spreads: bool,
    /// It joins operands.
    joins: bool,
    /// All elements of its result are elements of its first operand.
    takes: bool,
    /// Two operands in any order, and any number of them in any grouping, over the real numbers.
    unordered: bool,
    /// Its result has the shape to which its operands are broadcast, if it is elementwise.
    broadcasts: bool,
    /// It looks at the shape of its operand alone.
    extents: bool,
}

impl Called {
    fn operator(def: &'static OpDef) -> Called {
        Called {
            head: Head::of(def),
            elementwise: is_elementwise(def),
            moves: is_movement(def),
            spreads: def.shapes == ShapeRule::Expand,
            joins: def.shapes == ShapeRule::Concat,
            takes: takes_first(def),
            unordered: matches!(
                def.law(),
                Formula::Function(tautomer_op::Function::Sum | tautomer_op::Function::Product)
            ) && def.traits.contains(OpTraits::COMMUTATIVE),
            broadcasts: does_broadcast(def),
            extents: looks_at_shape(def),
        }
    }

    fn variable(i: usize, choices: &[&'static OpDef]) -> Called {
        Called {
            head: Head::Variable(i),
            elementwise: choices.iter().all(|def| is_elementwise(def)),
            moves: choices.iter().all(|def| is_movement(def)),
            spreads: choices.iter().all(|def| def.shapes == ShapeRule::Expand),
            joins: choices.iter().all(|def| def.shapes == ShapeRule::Concat),
            takes: choices.iter().all(|def| takes_first(def)),
            unordered: false,
            broadcasts: choices.iter().all(|def| does_broadcast(def)),
            extents: choices.iter().all(|def| looks_at_shape(def)),
        }
    }
}

/// True for elementwise operators, but not for one that looks at the element type of an operand alone.
fn does_broadcast(def: &OpDef) -> bool {
    let converts = def.law() == Formula::Function(tautomer_op::Function::Conversion);
    is_elementwise(def) && !(converts && def.operands.len() > 1)
}

fn looks_at_shape(def: &OpDef) -> bool {
    matches!(def.law(), Formula::Made(Made::Extents | Made::Count))
}

fn is_elementwise(def: &OpDef) -> bool {
    def.traits.contains(OpTraits::ELEMENTWISE)
        && !def.traits.contains(OpTraits::NONDETERMINISTIC)
        && !def
            .attrs
            .iter()
            .any(|attr| matches!(attr.kind, AttrKind::Axis(_) | AttrKind::Axes(_)))
}

/// Operators whose result consists of elements of their operands, each at a position that does not depend on elements.
fn is_movement(def: &OpDef) -> bool {
    use ShapeRule::{Concat, Expand, Permute, Slice};
    is_view(def) || matches!(def.shapes, Permute | Slice | Expand | Concat)
}

/// Operators whose result consists of elements of their first operand.
fn takes_first(def: &OpDef) -> bool {
    is_movement(def) && def.shapes != ShapeRule::Concat
        || def.moves().is_some()
            && matches!(
                def.name,
                known::GATHER | known::GATHER_ELEMENTS | known::GATHER_ND | known::TILE
            )
}

/// True for operators that change the shape and keep the order of elements.
fn is_view(def: &OpDef) -> bool {
    def.moves().is_some() && matches!(def.cost, CostRule::View)
}

/// True for the operator whose result is its operand.
fn is_identity(def: &OpDef) -> bool {
    def.law() == Formula::Function(tautomer_op::Function::Same)
}

/// For an operator whose result has the shape and the element type of its operand and one number everywhere: the
/// operator that makes that number with a shape and an element type.
fn filled_like(def: &'static OpDef) -> Option<&'static OpDef> {
    let Formula::Made(Made::Filled {
        number: Some(number),
        like: true,
    }) = def.law()
    else {
        return None;
    };
    let written = Formula::Made(Made::Filled {
        number: Some(number),
        like: false,
    });
    let has_both = |other: &OpDef| {
        let names: Vec<&str> = other.attrs.iter().map(|attr| attr.name).collect();
        names == ["shape", "dtype"] && other.operands.is_empty()
    };
    table().find(|other| other.law() == written && has_both(other))
}

/// The attributes of a call as they were before another operator with the same normal form passed them on: a normal
/// form stays as it is when it is made again, for the same operands.
fn before_normal_form(def: &OpDef, operands: &[Rc<Term>], attrs: &[Rc<Term>]) -> Option<Vec<Rc<Term>>> {
    let (head, parts) = attrs.iter().find_map(|attr| match &**attr {
        Term::Function(Function::Attribute(head, _), parts) => Some((head, parts)),
        _ => None,
    })?;
    let other = head.in_table().filter(|other| other.has_normal_form_of(def))?;
    let (inside, given) = parts.split_at(parts.len().checked_sub(other.attrs.len())?);
    if operands.is_empty() || inside.get(..operands.len()) != Some(operands) {
        return None;
    }
    let of = |declared: &AttrDef, attr: &Rc<Term>| {
        let own = other.attr_index(declared.name).map(|i| given[i].clone());
        match &**attr {
            Term::Function(Function::Attribute(own_head, name), own_parts)
                if own_head == head && *name == declared.name && own_parts == parts =>
            {
                own
            }
            _ => own.or_else(|| Some(parts::preset(declared))).filter(|own| own == attr),
        }
    };
    def.attrs
        .iter()
        .zip(attrs)
        .map(|(declared, attr)| of(declared, attr))
        .collect()
}

/// For an operator that adds or multiplies any number of values from left to right: the one for two.
fn of_two(def: &'static OpDef) -> Option<&'static OpDef> {
    use tautomer_op::Function::{Product, Sum};
    let is_any_number = matches!(def.operands, [all] if all.kind == OperandKind::Variadic) && def.attrs.is_empty();
    if !is_any_number || !matches!(def.law(), Formula::Function(Sum | Product)) {
        return None;
    }
    table().find(|other| {
        other.law() == def.law() && other.operands.len() == 2 && other.traits.contains(OpTraits::COMMUTATIVE)
    })
}

impl Term {
    /// The number of vertices; at most a little more than [`SIZE`].
    fn size(&self) -> usize {
        let mut out = 0;
        let mut waiting = vec![self];
        while let Some(term) = waiting.pop() {
            out += 1;
            if out > SIZE {
                break;
            }
            match term {
                Term::Tuple(parts) | Term::Function(_, parts) => waiting.extend(parts.iter().map(|p| &**p)),
                Term::Call(_, operands, attrs) => waiting.extend(operands.iter().chain(attrs).map(|p| &**p)),
                _ => {}
            }
        }
        out
    }
}

/// Makes terms in normal form.
struct Maker {
    /// The sides may differ by rounding.
    real: bool,
    /// The operators that terms call.
    called: Vec<Called>,
    /// What the rule says about its variables.
    known: Known,
    /// The variables of the comprehensions around the expression that are integers.
    integers_of_loops: Vec<usize>,
}

impl Maker {
    fn called(&self, head: &Head) -> Option<&Called> {
        self.called.iter().find(|called| called.head == *head)
    }

    fn add(&mut self, called: Called) {
        if self.called(&called.head).is_none() {
            self.called.push(called);
        }
    }

    /// What the source binds to a name or an attribute.
    fn bound(&self, key: Key) -> Rc<Term> {
        let own = Term::Bound(key);
        self.known.equal.get(&own).cloned().unwrap_or_else(|| Rc::new(own))
    }

    /// The normal form of a call; `None` if it is too large.
    fn call(&mut self, called: Called, operands: Vec<Rc<Term>>, attrs: Vec<Rc<Term>>) -> Option<Rc<Term>> {
        self.add(called.clone());
        let mut operands = operands;
        while operands.last().is_some_and(|last| **last == Term::Absent) {
            operands.pop();
        }
        let mut attrs = attrs;
        if let Some(def) = called.head.in_table()
            && let Some(given) = before_normal_form(def, &operands, &attrs)
        {
            attrs = given;
        }
        if let (true, [one]) = (called.head.in_table().is_some_and(is_identity), operands.as_slice()) {
            return Some(one.clone());
        }
        // Equal numbers like a value are these numbers with its shape and its element type.
        if let ([one], Some(made)) = (operands.as_slice(), called.head.in_table().and_then(filled_like)) {
            let field = |attr: &AttrDef| self.field(attr.name, one);
            let attrs: Option<Vec<Rc<Term>>> = made.attrs.iter().map(field).collect();
            return self.call(Called::operator(made), Vec::new(), attrs?);
        }
        if let Some(def) = called.head.in_table() {
            attrs = self.with_axes_at_front(def, &operands, attrs);
        }
        if called.elementwise {
            operands = laws::with_reals(&called, operands);
        }
        if let Some(done) = self.by_law(&called, &operands, &attrs) {
            return Some(done);
        }
        // The sum of two values in the operator for any number of them.
        if let (Some(def), 2) = (called.head.in_table().filter(|_| !called.unordered), operands.len())
            && let Some(two) = of_two(def)
        {
            return self.call(Called::operator(two), operands, Vec::new());
        }
        if !self.real && called.unordered && operands.len() == 2 {
            operands.sort();
        }
        if self.real && called.unordered && operands.len() == 2 {
            let mut all: Vec<Rc<Term>> = Vec::new();
            for operand in &operands {
                match &**operand {
                    Term::Call(head, inside, _) if *head == called.head => all.extend(inside.iter().cloned()),
                    _ => all.push(operand.clone()),
                }
            }
            all.sort();
            operands = all;
        }
        let out = Rc::new(Term::Call(called.head, operands, attrs));
        (out.size() <= SIZE).then_some(out)
    }
}

/// True if two outputs have the same elements in row-major order. An engine replaces one by the other only if they have
/// the same type, so then they are equal. Inside a term that would not be enough, since no engine compares types there.
fn has_same_elements(a: &Term, b: &Term) -> bool {
    let (inner_a, inner_b) = (without_views(a), without_views(b));
    let is_view = !std::ptr::eq(inner_a, a) || !std::ptr::eq(inner_b, b);
    is_view && without_kept_axes(inner_a) == without_kept_axes(inner_b)
}

/// The operand of views: of operators that change the shape and keep the order of elements.
fn without_views(term: &Term) -> &Term {
    let mut inner = term;
    while let Term::Call(head, all, _) = inner
        && head.in_table().is_some_and(is_view)
        && let [one] = all.as_slice()
    {
        inner = one;
    }
    inner
}

/// A reduction without its attribute for keeping axes: an axis of dimension 1 adds no elements.
fn without_kept_axes(term: &Term) -> Term {
    let mut out = term.clone();
    if let Term::Call(head, _, attrs) = &mut out
        && let Some(def) = head.in_table()
        && def.name.starts_with("reduce_")
        && let Some(attr) = def.attr_index("keepdims").and_then(|i| attrs.get_mut(i))
    {
        *attr = Rc::new(Term::Preset);
    }
    out
}

/// The coverage for a rule whose sides are one term; `None` if they are not, or if that is not known.
///
/// A rule with alternatives has a pair of terms for each combination of them.
///
/// Outputs may differ by views and by what is broadcast only if the sides have one type at all instances that were
/// tried. Otherwise an engine that does not know the dimensions might replace one by the other where their types
/// differ.
pub(super) fn prove(rule: &Rule, types: SameTypes) -> Option<Coverage> {
    let facts = Facts::of(rule);
    // All alternatives of the source have to be the target.
    let choices = combinations(&rule.source)?;
    let holds = |choice: &[Option<usize>], assumed: &[(Typed, DType)]| {
        let (source, target, mut maker) = Reader::sides(rule, choice, assumed)?;
        if source.len() != target.len() {
            return None;
        }
        let outputs = [source.as_slice(), target.as_slice()].concat();
        for (a, b) in source.iter().zip(&target) {
            if a == b || types >= SameTypes::OfElements && rows::are_alike(&mut maker, (a, b), &outputs) {
                continue;
            }
            if rule.class == Class::Real && factors::are_alike(&mut maker, a, b) {
                continue;
            }
            let mut spread = Spread {
                maker: &mut maker,
                facts: &facts,
            };
            let is_right = types == SameTypes::Always && (has_same_elements(a, b) || spread.are_alike(a, b))
                || types >= SameTypes::OfElements
                    && rule.class == Class::Real
                    && polynomials::are_alike(&mut maker, a, b);
            if !is_right {
                return None;
            }
        }
        Some(())
    };
    for choice in &choices {
        if holds(choice, &[]).is_none() && !steps::are_alike(rule, choice, &[]) {
            types::listed(rule)?.iter().try_for_each(|assumed| {
                let by_steps = || steps::are_alike(rule, choice, assumed).then_some(());
                holds(choice, assumed).or_else(by_steps)
            })?;
        }
    }
    let mut ledger = Ledger::default();
    for what in ["sizes", "ranks", "element types", "attributes"] {
        ledger.add(what, Covers::Symbolic);
    }
    Some(Coverage {
        forms: choices.len(),
        few: false,
        cases: choices.len(),
        any_rank: true,
        rounded: false,
        ranks: (0, 0),
        ledger,
        trail: Trail::default(),
    })
}
