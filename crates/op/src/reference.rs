//! Reference semantics: plain evaluation of one call, generic over the number system.

use std::cell::Cell;
use std::ops::Deref;

use super::infer::resolve_axis;
use super::{AttrKind, AttrValue, Chosen, Fact, Field, Infer, Number, OpDef, OpError, Semantics, Value};
use tautomer_tensor::{DType, Tensor, Type};

/// Evaluates a call over the number system `S`.
pub type RefFn<S> = fn(&Eval<'_, S>) -> Result<Vec<Value<S>>, OpError>;

/// The reference semantics of a primitive operator in every number system; made by the `reference!` macro from one
/// generic function.
#[derive(Clone, Copy)]
pub struct Reference {
    /// In single precision.
    pub f32: RefFn<f32>,
    /// In double precision.
    pub f64: RefFn<f64>,
    /// Over prime fields.
    pub field: RefFn<Field>,
    /// Over the system that is chosen while it runs: prime fields in which functions have laws, rational numbers, or
    /// double precision with error bounds.
    pub chosen: RefFn<Chosen>,
}

/// The [`Reference`] made from a function generic over the number system.
#[macro_export]
macro_rules! reference {
    ($f:expr) => {{
        const fn all() -> $crate::Reference {
            $crate::Reference {
                f32: |e| $f(e),
                f64: |e| $f(e),
                field: |e| $f(e),
                chosen: |e| $f(e),
            }
        }
        all()
    }};
}

/// A number system that primitive operators are instantiated for.
pub trait System: Number {
    /// The instance of `reference` over this system.
    fn of(reference: &Reference) -> RefFn<Self>;

    /// See [`evaluate`], which is compiled here rather than in each crate that calls it.
    #[doc(hidden)]
    fn evaluate(def: &'static OpDef, operands: &[Value<Self>], types: &[Type], attrs: &[AttrValue]) -> Evaluated<Self>;
}

/// The results of a call, and their type.
type Evaluated<S> = Result<(Vec<Value<S>>, Type), OpError>;

macro_rules! systems {
    ($($system:ty => $field:ident),*) => {
        $(impl System for $system {
            fn of(reference: &Reference) -> RefFn<$system> {
                reference.$field
            }

            fn evaluate(
                def: &'static OpDef,
                operands: &[Value<$system>],
                types: &[Type],
                attrs: &[AttrValue],
            ) -> Evaluated<$system> {
                evaluate_over(def, operands, types, attrs)
            }
        })*
    };
}

systems!(f32 => f32, f64 => f64, Field => field, Chosen => chosen);

/// A call to evaluate: operands with values, attributes, and the type of the result.
pub struct Eval<'a, S: Number> {
    /// The operands.
    pub operands: &'a [Value<S>],
    /// The parts that do not depend on the number system; `Eval` dereferences to them.
    call: Given<'a>,
}

impl<'a, S: Number> Deref for Eval<'a, S> {
    type Target = Given<'a>;

    fn deref(&self) -> &Given<'a> {
        &self.call
    }
}

/// A call without the values of its operands.
pub struct Given<'a> {
    /// The operator.
    pub def: &'static OpDef,
    /// Types of the operands.
    pub types: &'a [Type],
    /// The attributes, in declared order; those given as operands are filled in.
    pub attrs: Vec<AttrValue>,
    /// The type of the result, with all dimensions known.
    pub result: Type,
}

impl<S: System> Eval<'_, S> {
    /// Operand `i`.
    pub fn operand(&self, i: usize) -> Result<&Value<S>, OpError> {
        match self.operands.get(i) {
            None | Some(Value::Absent) => Err(OpError::new(format!("operand {i} is missing"))),
            Some(value) => Ok(value),
        }
    }

    /// Operand `i`, or `None` if it was left out.
    pub fn optional(&self, i: usize) -> Option<&Value<S>> {
        self.operands.get(i).filter(|v| !matches!(v, Value::Absent))
    }
}

impl<'a> Given<'a> {
    /// The call with the attributes that its operands stand for, their defaults, and the type of its result. `tensors`
    /// are the operands that stand for attributes.
    fn new(
        def: &'static OpDef,
        types: &'a [Type],
        tensors: &[Option<Tensor>],
        attrs: &[AttrValue],
    ) -> Result<Given<'a>, OpError> {
        let facts: Vec<Fact<'_>> = types
            .iter()
            .zip(tensors)
            .map(|(ty, t)| Fact::with(ty, t.as_ref()))
            .collect();
        let fresh = Cell::new(0);
        let call = Infer {
            def,
            operands: &facts,
            attrs,
            fresh: &fresh,
        };
        let mut filled: Vec<AttrValue> = def.attrs.iter().map(|a| call.attr(a.name)).collect();
        for (attr, value) in def.attrs.iter().zip(&mut filled) {
            if value.is_none()
                && matches!(
                    attr.kind,
                    AttrKind::Axis(_) | AttrKind::Axes(_) | AttrKind::Int | AttrKind::Ints
                )
                && call.is_dynamic(attr.name)
            {
                return Err(OpError::new(format!("the value of `{}` is unknown", attr.name)));
            }
            if value.is_none()
                && let Some(default) = attr.default_value()
            {
                *value = default;
            }
        }
        let result = (def.infer)(&Infer {
            def,
            operands: &facts,
            attrs: &filled,
            fresh: &fresh,
        })?;
        Ok(Given {
            def,
            types,
            attrs: filled,
            result,
        })
    }

    /// Element type of operand `i`.
    pub fn dtype(&self, i: usize) -> Option<DType> {
        self.types.get(i)?.as_tensor().map(|t| t.dtype)
    }

    /// Element type of the result, or of its first element if it is a tuple.
    pub fn out_dtype(&self) -> DType {
        match &self.result {
            Type::Tensor(t) => t.dtype,
            Type::Tuple(items) => items.first().and_then(Type::as_tensor).map_or(DType::F32, |t| t.dtype),
            Type::Sequence(_) | Type::Optional(_) | Type::Absent => DType::F32,
        }
    }

    /// The shape of result `i`.
    pub fn out_shape(&self, i: usize) -> Result<Vec<usize>, OpError> {
        let ty = match &self.result {
            Type::Tuple(items) => items.get(i),
            single => Some(single).filter(|_| i == 0),
        };
        ty.and_then(Type::as_tensor)
            .and_then(|t| t.shape.as_ref())
            .and_then(|s| s.to_concrete())
            .ok_or_else(|| OpError::new(format!("the shape of the result is unknown: {}", self.result)))
    }

    /// The attribute `name`.
    pub fn attr(&self, name: &str) -> &AttrValue {
        self.def.attr_in(&self.attrs, name)
    }

    /// The integer attribute `name`.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.attr(name).as_int()
    }

    /// The list attribute `name`.
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attr(name).as_ints()
    }

    /// The boolean `name`; false if left out.
    pub fn flag(&self, name: &str) -> bool {
        self.attr(name).is_true()
    }

    /// The number `name`.
    pub fn float(&self, name: &str) -> Option<f64> {
        self.attr(name).as_float()
    }

    /// The list of numbers `name`.
    pub fn floats(&self, name: &str) -> Option<Vec<f64>> {
        self.attr(name).as_floats()
    }

    /// The string `name`; empty if left out.
    pub fn text(&self, name: &str) -> &str {
        self.attr(name).as_str().unwrap_or_default()
    }

    /// The axis attribute `name`, counted from the front of an operand of `rank`.
    pub fn axis(&self, name: &str, rank: usize) -> Result<usize, OpError> {
        let axis = self
            .int(name)
            .ok_or_else(|| OpError::new(format!("attribute `{name}` is missing")))?;
        resolve_axis(axis, rank)
    }

    /// The axes attribute `name`, counted from the front; `None` if it was left out.
    pub fn axes(&self, name: &str, rank: usize) -> Result<Option<Vec<usize>>, OpError> {
        let Some(axes) = self.ints(name) else { return Ok(None) };
        axes.into_iter()
            .map(|a| resolve_axis(a, rank))
            .collect::<Result<Vec<_>, _>>()
            .map(Some)
    }
}

/// Evaluates a call of a primitive operator over `S`. Operands that stand for attributes are also passed as typed
/// tensors where those are known.
///
/// # Errors
/// If the call is ill-typed, if the operator is a composite, or if `S` does not define one of its functions.
pub fn evaluate<S: System>(
    def: &'static OpDef,
    operands: &[Value<S>],
    types: &[Type],
    attrs: &[AttrValue],
) -> Result<(Vec<Value<S>>, Type), OpError> {
    S::evaluate(def, operands, types, attrs)
}

fn evaluate_over<S: System>(
    def: &'static OpDef,
    operands: &[Value<S>],
    types: &[Type],
    attrs: &[AttrValue],
) -> Evaluated<S> {
    if def.is_uninterpreted() {
        return Err(OpError::new(format!(
            "`{}` is declared without a body: what it computes is not known",
            def.name
        )));
    }
    if !def.is_primitive() {
        return Err(OpError::new(format!(
            "`{}` is a composite: it is evaluated through its body",
            def.name
        )));
    }
    // Inference needs shape-like operands as tensors; these are integers or machine numbers.
    let tensors: Vec<Option<Tensor>> = operands
        .iter()
        .enumerate()
        .map(|(i, value)| {
            let for_attr = def.operand(i).is_some_and(|o| o.attr.is_some());
            let dtype = types[i].as_tensor()?.dtype;
            if for_attr {
                value.clone().into_tensor(dtype).ok()
            } else {
                None
            }
        })
        .collect();
    let eval = Eval {
        operands,
        call: Given::new(def, types, &tensors, attrs)?,
    };
    let out = match &def.semantics {
        Semantics::Primitive(reference) => S::of(reference)(&eval)?,
        Semantics::Movement(movement) => super::movement::evaluate(*movement, &eval)?,
        _ => Vec::new(),
    };
    Ok((out, eval.call.result))
}

/// Evaluates a call of a primitive operator on typed tensors: in double precision if a type involved is `f64`,
/// otherwise in single precision; results are rounded to the element type of the result.
///
/// # Errors
/// Same as for [`evaluate`].
pub fn evaluate_tensors(
    def: &'static OpDef,
    operands: &[Option<Tensor>],
    attrs: &[AttrValue],
) -> Result<Vec<Tensor>, OpError> {
    let types: Vec<Type> = operands
        .iter()
        .map(|o| o.as_ref().map_or(Type::Absent, |t| t.ty().into()))
        .collect();
    let double = |ty: &Type| ty.as_tensor().is_some_and(|t| t.dtype == DType::F64);
    let wide_attr = |attr: &AttrValue| match attr {
        AttrValue::DType(dtype) => *dtype == DType::F64,
        AttrValue::Tensor(t) => t.dtype() == DType::F64,
        _ => false,
    };
    let wide = types.iter().any(double) || attrs.iter().any(wide_attr);
    if wide {
        run::<f64>(def, operands, &types, attrs)
    } else {
        run::<f32>(def, operands, &types, attrs)
    }
}

fn run<S: System>(
    def: &'static OpDef,
    operands: &[Option<Tensor>],
    types: &[Type],
    attrs: &[AttrValue],
) -> Result<Vec<Tensor>, OpError> {
    let values = operands
        .iter()
        .map(|o| o.as_ref().map_or(Ok(Value::Absent), Value::<S>::from_tensor))
        .collect::<Result<Vec<_>, _>>()?;
    let (results, ty) = evaluate::<S>(def, &values, types, attrs)?;
    let types = match &ty {
        Type::Tuple(items) => items.as_slice(),
        single => std::slice::from_ref(single),
    };
    results
        .into_iter()
        .zip(types)
        .map(|(value, ty)| {
            let ty = ty.as_tensor().ok_or_else(|| OpError::new("a result is not a tensor"))?;
            value.into_tensor(ty.dtype)
        })
        .collect()
}
