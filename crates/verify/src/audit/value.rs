//! Values of terms over a number system, and when two of them count as equal.

use crate::data::Data;
use crate::graphs::Machine;
use crate::judge::Differing;
use crate::tolerance::differing;
use crate::unknown::{has_meaning, unknown};
use tautomer_graph::Graph;
use tautomer_op::{AttrValue, Field, Op, OpDef, System, Value};
use tautomer_rule::Class;
use tautomer_tensor::{DType, Type};

/// Where two values differ, if they do; an error if they cannot be compared.
pub(super) type Said = Result<Option<Differing>, ()>;

/// A number system over which the values of a class are compared.
pub(super) trait Judged: System {
    /// Where two values differ; an error if they cannot be compared.
    fn compare(a: &Known<Self>, b: &Known<Self>, ty: &Type, class: Class) -> Said;
    /// The largest magnitude in the value.
    fn most(value: &Value<Self>) -> f64;
    /// True if the value has no infinity and no NaN.
    fn is_defined(value: &Value<Self>) -> bool;
    /// True if every number in the value is defined.
    fn has_meaning(_: &Value<Self>) -> bool {
        true
    }
    /// The results of a call by a machine in single precision, if the system accepts such values.
    fn fast(machine: Machine<'_>, call: &Concrete<'_, Self>) -> Option<Vec<Value<Self>>>;
    /// The results of a call that the system does not define, as an uninterpreted function, if the system has those.
    fn made_up(def: &'static OpDef, call: &Concrete<'_, Self>) -> Option<Vec<Value<Self>>>;
}

/// A call with all dimensions known.
pub(super) struct Concrete<'a, S> {
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
pub(super) struct Known<S> {
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
pub(super) fn allowed(class: Class, ty: &Type, is_rounded: bool) -> Class {
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
type One<'a, S> = dyn Fn(&Value<S>, &Value<S>, DType) -> Said + 'a;

/// Where the first of several values differs.
fn each<S: System>(a: &Slot<S>, b: &Slot<S>, ty: &Type, one: &One<'_, S>) -> Said {
    let (a, b) = (a.values(), b.values());
    if a.len() != b.len() {
        return Ok(Some((
            None,
            format!("{} values", a.len()),
            format!("{} values", b.len()),
        )));
    }
    let mut said = a.is_empty();
    for ((a, b), ty) in a.iter().zip(b).zip(items(ty)) {
        match one(a, b, ty.as_tensor().map_or(DType::F32, |t| t.dtype)) {
            Ok(Some(difference)) => return Ok(Some(difference)),
            Ok(None) => said = true,
            Err(()) => {}
        }
    }
    if said { Ok(None) } else { Err(()) }
}

impl Judged for Field {
    fn compare(a: &Known<Field>, b: &Known<Field>, ty: &Type, _: Class) -> Said {
        // Values that differ here may still be equal, by rounded constants or by laws of functions, so the difference
        // is never reported.
        each(&a.slot, &b.slot, ty, &|a, b, _| {
            Ok((a != b).then(|| (None, String::new(), String::new())))
        })
    }

    fn most(_: &Value<Field>) -> f64 {
        0.0
    }

    fn is_defined(_: &Value<Field>) -> bool {
        true
    }

    fn has_meaning(value: &Value<Field>) -> bool {
        has_meaning(value)
    }

    fn fast(_: Machine<'_>, _: &Concrete<'_, Field>) -> Option<Vec<Value<Field>>> {
        None
    }

    fn made_up(def: &'static OpDef, call: &Concrete<'_, Field>) -> Option<Vec<Value<Field>>> {
        unknown(def, call.attrs, call.operands, call.result)
    }
}

impl Judged for f64 {
    fn compare(a: &Known<f64>, b: &Known<f64>, ty: &Type, class: Class) -> Said {
        let coarser = if a.single || b.single { SINGLE } else { 1.0 };
        let magnitude = a.magnitude.max(b.magnitude).max(1e-3) * coarser;
        let defined = a.defined && b.defined;
        each(&a.slot, &b.slot, ty, &|a, b, dtype| {
            // Integer and boolean values can hide that they came from NaN or infinity.
            if !defined && a.real().is_err() {
                return Err(());
            }
            if a.shape() == b.shape()
                && let (Ok(x), Ok(y)) = (a.real(), b.real())
                && !x.is_empty()
                && !x.iter().zip(y).any(|(p, q)| p.is_finite() && q.is_finite())
            {
                return Err(());
            }
            // Either of the two may overflow.
            Ok(differing(class, a, b, dtype, magnitude, Data::Large))
        })
    }

    fn most(value: &Value<f64>) -> f64 {
        let Ok(numbers) = value.real() else { return 0.0 };
        numbers
            .iter()
            .filter(|x| x.is_finite())
            .fold(0.0, |most, x| most.max(x.abs()))
    }

    fn is_defined(value: &Value<f64>) -> bool {
        value
            .real()
            .map_or(true, |numbers| numbers.iter().all(|x| x.is_finite()))
    }

    fn fast(machine: Machine<'_>, call: &Concrete<'_, f64>) -> Option<Vec<Value<f64>>> {
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

    fn made_up(_: &'static OpDef, _: &Concrete<'_, f64>) -> Option<Vec<Value<f64>>> {
        None
    }
}
