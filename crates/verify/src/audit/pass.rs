//! One pass over all terms, for one number system and one point: each term is computed once, from the values of its
//! operands' classes, and compared with the value that its class already has.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::value::{ComparedSystem, Comparison, Computed, ConcreteCall, Slot, allowed_difference, items};
use crate::compare::data::{self, Data};
use crate::compare::element::ElementMismatch;
use crate::compare::machine::{Limits, Machine};
use crate::instance::extents::Extents;
use crate::instance::random::Random;
use tautomer_graph::{VertexId, evaluate_call_over};
use tautomer_op::{AttrValue, Fact, Infer, Op, OpTraits, Value};
use tautomer_rewrite::{Explored, Formula, Term};
use tautomer_rule::Class;
use tautomer_tensor::{Shape, Type};

/// Why a term has no value that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoValue {
    /// An operand has no value.
    Operands,
    /// The number system does not define it, or it has no definition at all.
    Undefined,
    /// Its value may be anything, but its dimensions are unknown.
    UnknownShape,
    /// It exceeds the rest of the budget.
    OverBudget,
    /// There is nothing to compare.
    NotComparable,
}

/// The result for a term.
#[derive(Debug, Clone)]
pub(super) enum Finding {
    /// Its value is the first of its class; true if single precision was involved.
    First(bool),
    /// Its class already has the same value; true if single precision was involved.
    Agrees(bool),
    /// Its operator has no definition, so its value may be anything.
    Arbitrary,
    /// Its class has another value: the term that gave that value, and where they differ.
    Differs(u32, ElementMismatch),
    NoValue(NoValue),
}

/// One point: the choices that determine the values of the leaves, and the limits.
pub(super) struct Point<'a> {
    pub(super) space: &'a Explored,
    pub(super) extents: Extents,
    pub(super) data: Data,
    pub(super) seed: u64,
    pub(super) class: Class,
    pub(super) limits: Limits,
    pub(super) machine: Option<Machine<'a>>,
    /// Why the first term that could not be computed failed.
    pub(super) reason: RefCell<Option<String>>,
    /// True if the pass stops at the first term that cannot be computed.
    pub(super) stops: bool,
}

/// The remaining operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    reference: u64,
    machine: u64,
}

impl Budget {
    pub(super) fn new(limits: Limits) -> Budget {
        Budget {
            reference: limits.operations,
            machine: limits.machine,
        }
    }
}

/// The value of a leaf over `S`.
pub(super) type LeafOf<'a, S> = &'a dyn Fn(VertexId) -> Option<Value<S>>;

/// The order in which terms are computed: a term is ready when the classes of all its operands have values.
struct Schedule<'a> {
    space: &'a Explored,
    /// The terms with an operand in a class.
    users: Vec<Vec<u32>>,
    /// How many classes of operands of a term have no value yet.
    waits: Vec<usize>,
    ready: BinaryHeap<Reverse<u32>>,
    /// The number of terms of a class.
    members: Vec<usize>,
    /// How many terms, of the class itself and of its users, still need its value.
    needed: Vec<usize>,
}

impl<'a> Schedule<'a> {
    fn new(space: &'a Explored) -> Schedule<'a> {
        let classes = space.types.len();
        let mut out = Schedule {
            space,
            users: vec![Vec::new(); classes],
            waits: vec![0; space.terms.len()],
            ready: BinaryHeap::new(),
            members: vec![0; classes],
            needed: vec![0; classes],
        };
        for (t, term) in space.terms.iter().enumerate().filter(|(_, t)| !t.is_copy) {
            let operands = operand_classes(space, term);
            for &c in &operands {
                out.users[c as usize].push(t as u32);
                out.needed[c as usize] += 1;
            }
            out.needed[term.class as usize] += 1;
            out.members[term.class as usize] += 1;
            out.waits[t] = operands.len();
            if operands.is_empty() {
                out.ready.push(Reverse(t as u32));
            }
        }
        out
    }

    /// The next term that is ready.
    fn next(&mut self) -> Option<u32> {
        self.ready.pop().map(|Reverse(t)| t)
    }

    /// Called when a class gets its value.
    fn give_value(&mut self, class: usize) {
        for &user in &self.users[class] {
            self.waits[user as usize] -= 1;
            if self.waits[user as usize] == 0 {
                self.ready.push(Reverse(user));
            }
        }
    }

    /// Called when a term is done: the classes whose values are needed no more.
    fn finish(&mut self, term: &Term) -> Vec<usize> {
        let mut classes = operand_classes(self.space, term);
        classes.push(term.class);
        let mut out = Vec::new();
        for class in classes {
            let class = class as usize;
            self.needed[class] -= 1;
            if self.needed[class] == 0 {
                out.push(class);
            }
        }
        out
    }
}

/// Computes all terms; returns the finding for each.
pub(super) fn pass<S: ComparedSystem>(point: &mut Point<'_>, leaf: LeafOf<'_, S>) -> Vec<Finding> {
    let space = point.space;
    let mut schedule = Schedule::new(space);
    let mut findings: Vec<Finding> = vec![Finding::NoValue(NoValue::Operands); space.terms.len()];
    // The value of each class that is still needed, and the term that gave the class its value.
    let mut values: Vec<Option<Rc<Computed<S>>>> = vec![None; space.types.len()];
    let mut givers: Vec<Option<u32>> = vec![None; space.types.len()];
    let (mut budget, mut held) = (Budget::new(point.limits), 0usize);
    while let Some(t) = schedule.next() {
        let term = &space.terms[t as usize];
        let class = term.class as usize;
        let operands: Option<Vec<&Computed<S>>> = term
            .operands
            .iter()
            .map(|&o| values[space.terms[o as usize].class as usize].as_deref())
            .collect();
        let computed = operands.ok_or(NoValue::Operands).and_then(|operands| {
            let room = point.limits.elements.saturating_sub(held);
            compute(point, term, &operands, leaf, &mut budget, room)
        });
        let alone = schedule.members[class] == 1 && has_no_definition(&term.formula);
        let (computed, is_arbitrary) = match computed {
            Err(NoValue::Undefined) if alone => (arbitrary::<S>(point, term).map_err(|_| NoValue::UnknownShape), true),
            other => (other, false),
        };
        if point.stops && matches!(computed, Err(NoValue::Undefined)) {
            findings[t as usize] = Finding::NoValue(NoValue::Undefined);
            break;
        }
        findings[t as usize] = match (computed, givers[class]) {
            (Err(reason), _) => Finding::NoValue(reason),
            (Ok(computed), None) => {
                for (value, ty) in computed.slot.values().iter().zip(items(&space.types[class])) {
                    point.extents.learn(ty, value.shape());
                }
                let single = computed.single;
                held += computed.slot.elements();
                values[class] = Some(Rc::new(computed));
                givers[class] = Some(t);
                schedule.give_value(class);
                if is_arbitrary {
                    Finding::Arbitrary
                } else {
                    Finding::First(single)
                }
            }
            (Ok(computed), Some(giver)) => compare(point, values[class].as_deref(), giver, &computed, t),
        };
        for class in schedule.finish(term) {
            if let Some(computed) = values[class].take() {
                held -= computed.slot.elements();
            }
        }
    }
    findings
}

/// Compares the value of term `t` with the first value of its class, which `giver` has.
fn compare<S: ComparedSystem>(
    point: &Point<'_>,
    first: Option<&Computed<S>>,
    giver: u32,
    computed: &Computed<S>,
    t: u32,
) -> Finding {
    let space = point.space;
    let Some(first) = first else {
        return Finding::NoValue(NoValue::NotComparable);
    };
    let ty = &space.types[space.terms[t as usize].class as usize];
    let is_constant = |t: u32| matches!(space.terms[t as usize].formula, Formula::Const(_));
    let single = computed.single || first.single;
    let rounded = single || is_constant(t) || is_constant(giver);
    match S::compare(first, computed, ty, allowed_difference(point.class, ty, rounded)) {
        Comparison::Equal => Finding::Agrees(single),
        Comparison::Mismatch(mismatch) => Finding::Differs(giver, mismatch),
        Comparison::Unknown => Finding::NoValue(NoValue::NotComparable),
    }
}

/// The classes of the operands, each once.
fn operand_classes(space: &Explored, term: &Term) -> Vec<u32> {
    let mut out: Vec<u32> = term.operands.iter().map(|&o| space.terms[o as usize].class).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// True for terms that may have no definition.
pub(super) fn has_no_definition(formula: &Formula) -> bool {
    match formula {
        Formula::Call { op: Op::Opaque(_), .. } => true,
        Formula::Call { op: Op::Known(def), .. } => def.traits.contains(OpTraits::NONDETERMINISTIC),
        _ => false,
    }
}

/// The value of a term from those of its operands.
pub(super) fn compute<S: ComparedSystem>(
    point: &Point<'_>,
    term: &Term,
    operands: &[&Computed<S>],
    leaf: LeafOf<'_, S>,
    budget: &mut Budget,
    room: usize,
) -> Result<Computed<S>, NoValue> {
    let mut single = operands.iter().any(|computed| computed.single);
    let slot = match &term.formula {
        Formula::Leaf(v) => Slot::One(leaf(*v).ok_or(NoValue::Undefined)?),
        Formula::Const(value) if value.len() > room => return Err(NoValue::OverBudget),
        Formula::Const(value) => Slot::One(Value::from_tensor(value).map_err(|_| NoValue::Undefined)?),
        Formula::Absent => Slot::Absent,
        Formula::Tuple => {
            let items = operands.iter().map(|computed| match &computed.slot {
                Slot::One(value) => Some(value.clone()),
                _ => None,
            });
            Slot::Many(items.collect::<Option<_>>().ok_or(NoValue::Undefined)?)
        }
        Formula::Proj(i) => match operands.first().map(|computed| &computed.slot) {
            Some(Slot::Many(items)) => Slot::One(items.get(*i as usize).ok_or(NoValue::Undefined)?.clone()),
            _ => return Err(NoValue::Undefined),
        },
        Formula::Call { op, attrs } => {
            let (slot, is_single) = call(point, term, op, attrs, operands, budget, room)?;
            single |= is_single;
            slot
        }
    };
    let own = slot.values().iter().map(S::magnitude).fold(0.0, f64::max);
    let below = operands
        .iter()
        .flat_map(|computed| computed.slot.values())
        .map(S::magnitude);
    Ok(Computed {
        magnitude: below.fold(own, f64::max),
        defined: slot.values().iter().all(S::is_finite) && operands.iter().all(|computed| computed.defined),
        single,
        slot,
    })
}

fn call<S: ComparedSystem>(
    point: &Point<'_>,
    term: &Term,
    op: &Op,
    attrs: &[AttrValue],
    operands: &[&Computed<S>],
    budget: &mut Budget,
    room: usize,
) -> Result<(Slot<S>, bool), NoValue> {
    let space = point.space;
    let Op::Known(def) = op else {
        return Err(NoValue::Undefined);
    };
    let mut values = Vec::with_capacity(operands.len());
    let mut types = Vec::with_capacity(operands.len());
    for (computed, &o) in operands.iter().zip(&term.operands) {
        match (
            &computed.slot,
            space.types[space.terms[o as usize].class as usize].as_tensor(),
        ) {
            (Slot::One(value), Some(ty)) => {
                types.push(Type::tensor(ty.dtype, Shape::from(value.shape())));
                values.push(Some(value.clone()));
            }
            (Slot::Absent, _) => {
                types.push(Type::Absent);
                values.push(None);
            }
            _ => return Err(NoValue::Undefined),
        }
    }
    let attrs: Vec<AttrValue> = attrs.iter().map(|a| point.extents.attr(a)).collect();
    let result = point.extents.ty(&space.types[term.class as usize]);
    let facts: Vec<Fact<'_>> = types.iter().map(Fact::of).collect();
    let fresh = Cell::new(u32::MAX / 2);
    let call = Infer {
        def,
        operands: &facts,
        attrs: &attrs,
        fresh: &fresh,
    };
    let cost = def.cost.apply(&call, &result);
    let work = (cost.flops + cost.bytes / 4.0).clamp(0.0, 1e18) as u64;
    let elements: usize = items(&result)
        .iter()
        .filter_map(|t| t.as_tensor()?.shape.as_ref()?.to_concrete())
        .map(|shape| shape.iter().fold(1usize, |n, d| n.saturating_mul(*d)))
        .fold(0, usize::saturating_add);
    let concrete = ConcreteCall {
        op,
        attrs: &attrs,
        operands: &values,
        types: &types,
        result: &result,
    };
    let is_single = work > budget.reference;
    let mut results = if elements > room || is_single && work > budget.machine {
        return Err(NoValue::OverBudget);
    } else if is_single {
        budget.machine -= work;
        let machine = point.machine.ok_or(NoValue::OverBudget)?;
        S::fast(machine, &concrete).ok_or(NoValue::OverBudget)?
    } else {
        budget.reference -= work;
        match evaluate_call_over::<S>(op, &values, &types, &attrs) {
            Ok(results) if results.iter().all(S::is_defined) => results,
            other => S::uninterpreted(def, &concrete).ok_or_else(|| {
                let why = other.map_or_else(|e| e.to_string(), |_| "a number is undefined".to_owned());
                let mut reason = point.reason.borrow_mut();
                reason.get_or_insert_with(|| format!("`{}`: {why}", def.name));
                NoValue::Undefined
            })?,
        }
    };
    match &space.types[term.class as usize] {
        Type::Tuple(_) => Ok((Slot::Many(results), is_single)),
        _ => Ok((Slot::One(results.pop().ok_or(NoValue::Undefined)?), is_single)),
    }
}

/// An arbitrary value for a term that has no definition.
pub(super) fn arbitrary<S: ComparedSystem>(point: &Point<'_>, term: &Term) -> Result<Computed<S>, NoValue> {
    let mut random = Random::part(point.seed, &format!("class {}", term.class));
    let mut one = |ty: &Type| -> Option<Value<S>> {
        let tensor = ty.as_tensor()?;
        let shape = point.extents.ty(ty).as_tensor()?.shape.as_ref()?.to_concrete()?;
        Value::from_tensor(&data::tensor(tensor.dtype, &shape, point.data, &mut random)?).ok()
    };
    let ty = &point.space.types[term.class as usize];
    let slot = match ty {
        Type::Tuple(list) => list.iter().map(one).collect::<Option<_>>().map(Slot::Many),
        single => one(single).map(Slot::One),
    };
    Ok(Computed {
        slot: slot.ok_or(NoValue::Undefined)?,
        magnitude: 1.0,
        defined: true,
        single: false,
    })
}
