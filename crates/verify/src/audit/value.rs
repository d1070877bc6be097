//! Values of terms over a number system, and when two of them count as equal.

use crate::compare::data::Data;
use crate::compare::element::ElementMismatch;
use crate::compare::machine::Machine;
use crate::compare::tolerance::mismatch_beyond_tolerance;
use crate::compare::uninterpreted::{is_defined, uninterpreted};
use tautomer_graph::Graph;
use tautomer_op::{AttrValue, Field, Op, OpDef, System, Value};
use tautomer_rule::Class;
use tautomer_tensor::{DType, Type};

/// The result of comparing two values of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    /// They differ, there.
    Mismatch(ElementMismatch),
    /// They cannot be compared.
    Unknown,
}

impl Comparison {
    fn of(mismatch: Option<ElementMismatch>) -> Comparison {
        mismatch.map_or(Comparison::Equal, Comparison::Mismatch)
    }
}

/// A number system over which the values of a class are compared.
pub(super) trait ComparedSystem: System {
    /// Compares two values of that type.
    fn compare(a: &Computed<Self>, b: &Computed<Self>, ty: &Type, class: Class) -> Comparison;
    /// The largest magnitude in the value.
    fn magnitude(value: &Value<Self>) -> f64;
    /// True if the value has no infinity and no NaN.
    fn is_finite(value: &Value<Self>) -> bool;
    /// True if every number in the value is defined.
    fn is_defined(_: &Value<Self>) -> bool {
        true
    }
    /// The results of a call by a machine in single precision, if the system accepts such values.
    fn fast(machine: Machine<'_>, call: &ConcreteCall<'_, Self>) -> Option<Vec<Value<Self>>>;
    /// The results of a call that the system does not define, as an uninterpreted function, if the system has those.
    fn uninterpreted(def: &'static OpDef, call: &ConcreteCall<'_, Self>) -> Option<Vec<Value<Self>>>;
}

/// A call with all dimensions known.
pub(super) struct ConcreteCall<'a, S> {
    pub(super) op: &'a Op,
    pub(super) attrs: &'a [AttrValue],
    pub(super) operands: &'a [Option<Value<S>>],
    pub(super) types: &'a [Type],
    pub(super) result: &'a Type,
}

/// The value of a term.
#[derive(Debug, Clone)]
pub(super) enum Slot<S> {
    One(Value<S>),
    Many(Vec<Value<S>>),
    Absent,
}

impl<S: System> Slot<S> {
    pub(super) fn values(&self) -> &[Value<S>] {
        match self {
            Slot::One(value) => std::slice::from_ref(value),
            Slot::Many(values) => values,
            Slot::Absent => &[],
        }
    }

    pub(super) fn elements(&self) -> usize {
        self.values().iter().map(|v| v.shape().iter().product::<usize>()).sum()
    }
}

/// A value and how it was computed.
#[derive(Debug)]
pub(super) struct Computed<S> {
    pub(super) slot: Slot<S>,
    /// The largest magnitude in it and in the values it was computed from.
    pub(super) magnitude: f64,
    /// No intermediate value is infinite or NaN.
    pub(super) defined: bool,
    /// It, or a value it was computed from, was computed in single precision.
    pub(super) single: bool,
}

/// The elements of a tuple type, or the type itself.
pub(super) fn items(ty: &Type) -> &[Type] {
    match ty {
        Type::Tuple(items) => items,
        single => std::slice::from_ref(single),
    }
}

/// How much larger the rounding of single-precision sums with cancellation may be than that of constants.
const SINGLE: f64 = 30.0;

/// The allowed difference of values in one class: folded constants are rounded to their element type.
pub(super) fn allowed_difference(class: Class, ty: &Type, is_rounded: bool) -> Class {
    let dtype = items(ty).iter().find_map(|t| t.as_tensor()).map(|t| t.dtype);
    let rounding = match dtype {
        Some(DType::F16) => 1e-2,
        Some(DType::BF16) => 5e-2,
        _ if is_rounded => 1e-4,
        _ => return class,
    };
    match class {
        Class::Approx(e) => Class::Approx(e + rounding),
        _ => Class::Approx(rounding),
    }
}

/// How two tensors are compared.
type One<'a, S> = dyn Fn(&Value<S>, &Value<S>, DType) -> Comparison + 'a;

/// Compares several values, up to the first that differs.
fn each<S: System>(a: &Slot<S>, b: &Slot<S>, ty: &Type, one: &One<'_, S>) -> Comparison {
    let (a, b) = (a.values(), b.values());
    if a.len() != b.len() {
        let [expected, found] = [a, b].map(|values| format!("{} values", values.len()));
        return Comparison::Mismatch(ElementMismatch::of_wholes(expected, found));
    }
    let mut compared = a.is_empty();
    for ((a, b), ty) in a.iter().zip(b).zip(items(ty)) {
        match one(a, b, ty.as_tensor().map_or(DType::F32, |t| t.dtype)) {
            Comparison::Equal => compared = true,
            Comparison::Unknown => {}
            mismatch => return mismatch,
        }
    }
    if compared {
        Comparison::Equal
    } else {
        Comparison::Unknown
    }
}

impl ComparedSystem for Field {
    fn compare(a: &Computed<Field>, b: &Computed<Field>, ty: &Type, _: Class) -> Comparison {
        // Values that differ here may still be equal, by rounded constants or by laws of functions, so the difference
        // is never reported.
        each(&a.slot, &b.slot, ty, &|a, b, _| {
            Comparison::of((a != b).then(|| ElementMismatch::of_wholes("", "")))
        })
    }

    fn magnitude(_: &Value<Field>) -> f64 {
        0.0
    }

    fn is_finite(_: &Value<Field>) -> bool {
        true
    }

    fn is_defined(value: &Value<Field>) -> bool {
        is_defined(value)
    }

    fn fast(_: Machine<'_>, _: &ConcreteCall<'_, Field>) -> Option<Vec<Value<Field>>> {
        None
    }

    fn uninterpreted(def: &'static OpDef, call: &ConcreteCall<'_, Field>) -> Option<Vec<Value<Field>>> {
        uninterpreted(def, call.attrs, call.operands, call.result, 0)
    }
}

impl ComparedSystem for f64 {
    fn compare(a: &Computed<f64>, b: &Computed<f64>, ty: &Type, class: Class) -> Comparison {
        let coarser = if a.single || b.single { SINGLE } else { 1.0 };
        let magnitude = a.magnitude.max(b.magnitude).max(1e-3) * coarser;
        let defined = a.defined && b.defined;
        each(&a.slot, &b.slot, ty, &|a, b, dtype| {
            // Integer and boolean values can hide that they came from NaN or infinity.
            if !defined && a.real().is_err() {
                return Comparison::Unknown;
            }
            if a.shape() == b.shape()
                && let (Ok(x), Ok(y)) = (a.real(), b.real())
                && !x.is_empty()
                && !x.iter().zip(y).any(|(p, q)| p.is_finite() && q.is_finite())
            {
                return Comparison::Unknown;
            }
            // Either of the two may overflow.
            Comparison::of(mismatch_beyond_tolerance(class, a, b, dtype, magnitude, Data::Large))
        })
    }

    fn magnitude(value: &Value<f64>) -> f64 {
        let Ok(numbers) = value.real() else { return 0.0 };
        numbers
            .iter()
            .filter(|x| x.is_finite())
            .fold(0.0, |most, x| most.max(x.abs()))
    }

    fn is_finite(value: &Value<f64>) -> bool {
        value
            .real()
            .map_or(true, |numbers| numbers.iter().all(|x| x.is_finite()))
    }

    fn fast(machine: Machine<'_>, call: &ConcreteCall<'_, f64>) -> Option<Vec<Value<f64>>> {
        let mut graph = Graph::new();
        let mut tensors = Vec::new();
        let mut operands = Vec::new();
        for (value, ty) in call.operands.iter().zip(call.types) {
            operands.push(match value {
                Some(value) => {
                    tensors.push(value.clone().into_tensor(ty.as_tensor()?.dtype).ok()?);
                    graph.input(&format!("x{}", tensors.len()), ty.clone())
                }
                None => graph.absent(),
            });
        }
        let v = graph.call_typed(call.op.clone(), &operands, call.attrs.into(), call.result.clone());
        match call.result {
            Type::Tuple(items) => {
                for i in 0..items.len() {
                    let part = graph.project(v, i).ok()?;
                    graph.output(part, None);
                }
            }
            _ => graph.output(v, None),
        }
        let results = machine(&graph, &tensors).ok()?;
        results.iter().map(|t| Value::from_tensor(t).ok()).collect()
    }

    fn uninterpreted(_: &'static OpDef, _: &ConcreteCall<'_, f64>) -> Option<Vec<Value<f64>>> {
        None
    }
}
