//! One pass over all terms, for one number system and one point: each term is computed once, from the values of its
//! operands' classes, and compared with the value that its class already has.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::Limits;
use super::value::{Concrete, Judged, Known, Slot, allowed, items};
use crate::data::{self, Data};
use crate::extents::Extents;
use crate::graphs::Machine;
use crate::judge::Differing;
use crate::random::Random;
use tautomer_graph::{VertexId, evaluate_call_over};
use tautomer_op::{AttrValue, Fact, Infer, Op, OpTraits, Value};
use tautomer_rewrite::{Explored, Formula, Term};
use tautomer_rule::Class;
use tautomer_tensor::{Shape, Type};

/// Why a term has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
    /// An operand has no value.
    Operands,
    /// The number system does not define it, or it has no definition at all.
    Meaning,
    /// Its value may be anything, but its dimensions are unknown.
    Extents,
    /// It exceeds the rest of the budget.
    Budget,
    /// There is nothing to compare.
    Numbers,
}

/// The result for a term.
#[derive(Debug, Clone)]
pub(super) enum Finding {
    /// Its value becomes the value of its class; true if single precision was involved.
    Gave(bool),
    /// Its class already has the same value; true if single precision was involved.
    Agrees(bool),
    /// Its operator has no definition, so its value may be anything.
    Free,
    /// Its class has another value: the term that gave that value, and where they differ.
    Apart(u32, Differing),
    Lacks(Lack),
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

/// Computes all terms; returns the finding for each.
pub(super) fn pass<S: Judged>(point: &mut Point<'_>, leaf: LeafOf<'_, S>) -> Vec<Finding> {
    let space = point.space;
    let classes = space.types.len();
    let mut members = vec![0usize; classes];
    let mut users: Vec<Vec<u32>> = vec![Vec::new(); classes];
    // How many terms, of the class itself and of its users, still need the value of a class.
    let mut left = vec![0usize; classes];
    let mut waits = vec![0usize; space.terms.len()];
    let mut ready: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
    for (t, term) in space.terms.iter().enumerate().filter(|(_, t)| !t.is_copy) {
        let operands = operand_classes(space, term);
        for &c in &operands {
            users[c as usize].push(t as u32);
            left[c as usize] += 1;
        }
        left[term.class as usize] += 1;
        members[term.class as usize] += 1;
        waits[t] = operands.len();
        if operands.is_empty() {
            ready.push(Reverse(t as u32));
        }
    }
    let mut findings: Vec<Finding> = vec![Finding::Lacks(Lack::Operands); space.terms.len()];
    let mut values: Vec<Option<Rc<Known<S>>>> = vec![None; classes];
    let mut givers: Vec<Option<u32>> = vec![None; classes];
    let (mut budget, mut held) = (Budget::new(point.limits), 0usize);
    while let Some(Reverse(t)) = ready.pop() {
        let term = &space.terms[t as usize];
        let class = term.class as usize;
        let operands: Option<Vec<&Known<S>>> = term
            .operands
            .iter()
            .map(|&o| values[space.terms[o as usize].class as usize].as_deref())
            .collect();
        let computed = operands.ok_or(Lack::Operands).and_then(|operands| {
            let room = point.limits.elements.saturating_sub(held);
            compute(point, term, &operands, leaf, &mut budget, room)
        });
        let alone = members[class] == 1 && is_free(&term.formula);
        let (computed, free) = match computed {
            Err(Lack::Meaning) if alone => (any::<S>(point, term).map_err(|_| Lack::Extents), true),
            other => (other, false),
        };
        if point.stops && matches!(computed, Err(Lack::Meaning)) {
            findings[t as usize] = Finding::Lacks(Lack::Meaning);
            break;
        }
        findings[t as usize] = match (computed, givers[class]) {
            (Err(lack), _) => Finding::Lacks(lack),
            (Ok(known), None) => {
                for (value, ty) in known.slot.values().iter().zip(items(&space.types[class])) {
                    point.extents.learn(ty, value.shape());
                }
                let single = known.single;
                held += known.slot.elements();
                values[class] = Some(Rc::new(known));
                givers[class] = Some(t);
                for &user in &users[class] {
                    waits[user as usize] -= 1;
                    if waits[user as usize] == 0 {
                        ready.push(Reverse(user));
                    }
                }
                if free { Finding::Free } else { Finding::Gave(single) }
            }
            (Ok(known), Some(giver)) => {
                let is_constant = |t: u32| matches!(space.terms[t as usize].formula, Formula::Const(_));
                let single = known.single || values[class].as_deref().is_some_and(|first| first.single);
                let rounded = single || is_constant(t) || is_constant(giver);
                let allowed = allowed(point.class, &space.types[class], rounded);
                match values[class]
                    .as_deref()
                    .map(|first| S::compare(first, &known, &space.types[class], allowed))
                {
                    Some(Ok(None)) => Finding::Agrees(single),
                    Some(Ok(Some(difference))) => Finding::Apart(giver, difference),
                    Some(Err(())) | None => Finding::Lacks(Lack::Numbers),
                }
            }
        };
        let mut done = operand_classes(space, term);
        done.push(term.class);
        for c in done {
            left[c as usize] -= 1;
            if left[c as usize] == 0
                && let Some(known) = values[c as usize].take()
            {
                held -= known.slot.elements();
            }
        }
    }
    findings
}

/// The classes of the operands, each once.
fn operand_classes(space: &Explored, term: &Term) -> Vec<u32> {
    let mut out: Vec<u32> = term.operands.iter().map(|&o| space.terms[o as usize].class).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// True for terms that may have no definition.
pub(super) fn is_free(formula: &Formula) -> bool {
    match formula {
        Formula::Call { op: Op::Opaque(_), .. } => true,
        Formula::Call { op: Op::Known(def), .. } => def.traits.contains(OpTraits::NONDETERMINISTIC),
        _ => false,
    }
}

/// The value of a term from those of its operands.
pub(super) fn compute<S: Judged>(
    point: &Point<'_>,
    term: &Term,
    operands: &[&Known<S>],
    leaf: LeafOf<'_, S>,
    budget: &mut Budget,
    room: usize,
) -> Result<Known<S>, Lack> {
    let mut single = operands.iter().any(|known| known.single);
    let slot = match &term.formula {
        Formula::Leaf(v) => Slot::One(leaf(*v).ok_or(Lack::Meaning)?),
        Formula::Const(value) if value.len() > room => return Err(Lack::Budget),
        Formula::Const(value) => Slot::One(Value::from_tensor(value).map_err(|_| Lack::Meaning)?),
        Formula::Absent => Slot::Absent,
        Formula::Tuple => {
            let items = operands.iter().map(|known| match &known.slot {
                Slot::One(value) => Some(value.clone()),
                _ => None,
            });
            Slot::Many(items.collect::<Option<_>>().ok_or(Lack::Meaning)?)
        }
        Formula::Proj(i) => match operands.first().map(|known| &known.slot) {
            Some(Slot::Many(items)) => Slot::One(items.get(*i as usize).ok_or(Lack::Meaning)?.clone()),
            _ => return Err(Lack::Meaning),
        },
        Formula::Call { op, attrs } => {
            let (slot, is_single) = call(point, term, op, attrs, operands, budget, room)?;
            single |= is_single;
            slot
        }
    };
    let own = slot.values().iter().map(S::most).fold(0.0, f64::max);
    let below = operands.iter().flat_map(|known| known.slot.values()).map(S::most);
    Ok(Known {
        magnitude: below.fold(own, f64::max),
        defined: slot.values().iter().all(S::is_defined) && operands.iter().all(|known| known.defined),
        single,
        slot,
    })
}

fn call<S: Judged>(
    point: &Point<'_>,
    term: &Term,
    op: &Op,
    attrs: &[AttrValue],
    operands: &[&Known<S>],
    budget: &mut Budget,
    room: usize,
) -> Result<(Slot<S>, bool), Lack> {
    let space = point.space;
    let Op::Known(def) = op else { return Err(Lack::Meaning) };
    let mut values = Vec::with_capacity(operands.len());
    let mut types = Vec::with_capacity(operands.len());
    for (known, &o) in operands.iter().zip(&term.operands) {
        match (
            &known.slot,
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
            _ => return Err(Lack::Meaning),
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
    let concrete = Concrete {
        op,
        attrs: &attrs,
        operands: &values,
        types: &types,
        result: &result,
    };
    let is_single = work > budget.reference;
    let mut results = if elements > room || is_single && work > budget.machine {
        return Err(Lack::Budget);
    } else if is_single {
        budget.machine -= work;
        let machine = point.machine.ok_or(Lack::Budget)?;
        S::fast(machine, &concrete).ok_or(Lack::Budget)?
    } else {
        budget.reference -= work;
        match evaluate_call_over::<S>(op, &values, &types, &attrs) {
            Ok(results) if results.iter().all(S::has_meaning) => results,
            other => S::made_up(def, &concrete).ok_or_else(|| {
                let why = other.map_or_else(|e| e.to_string(), |_| "a number is undefined".to_owned());
                let mut reason = point.reason.borrow_mut();
                reason.get_or_insert_with(|| format!("`{}`: {why}", def.name));
                Lack::Meaning
            })?,
        }
    };
    match &space.types[term.class as usize] {
        Type::Tuple(_) => Ok((Slot::Many(results), is_single)),
        _ => Ok((Slot::One(results.pop().ok_or(Lack::Meaning)?), is_single)),
    }
}

/// An arbitrary value for a term that has no definition.
pub(super) fn any<S: Judged>(point: &Point<'_>, term: &Term) -> Result<Known<S>, Lack> {
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
    Ok(Known {
        slot: slot.ok_or(Lack::Meaning)?,
        magnitude: 1.0,
        defined: true,
        single: false,
    })
}
