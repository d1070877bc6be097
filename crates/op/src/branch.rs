//! Control flow: operators that call functions. `graph::flow` defines what they compute.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{
    AttrDef, AttrKind, AttrValue, CostRule, Default, Flow, Infer, OpDef, OpError, Operand, OperandKind, Region,
};
use tautomer_tensor::{Atom, DType, Dim, Shape, TensorType, Type};

const fn function(name: &'static str, doc: &'static str) -> AttrDef {
    AttrDef::new(name, AttrKind::Region, Default::Required, doc)
}

const VALUES: Operand = Operand {
    name: "values",
    kind: OperandKind::Variadic,
    attr: None,
    rank: None,
    zeros: false,
};

const CARRIED: AttrDef = AttrDef::new(
    "carried",
    AttrKind::Int,
    Default::Required,
    "the number of values carried from one call to the next",
);

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "branch",
        "The results of `then_branch` if the condition is true, else of `else_branch`; both are called with `values`.",
    )
    .operands(&[Operand::optional("condition"), VALUES])
    .attrs(&[
        function("then_branch", "called if the condition is true"),
        function("else_branch", "called if the condition is false"),
    ])
    .infer(infer_branch)
    .flow(Flow::Branch)
    .cost(CostRule::Flops(work))
    .onnx("If", 1),
    OpDef::new(
        "loop",
        "Calls `body` up to `trip_count` times while the condition is true; returns carried and stacked values.",
    )
    .operands(&[Operand::optional("trip_count"), Operand::optional("condition"), VALUES])
    .attrs(&[
        function(
            "body",
            "takes a number, a condition and `values`; returns a condition, carried values, and values to stack",
        ),
        CARRIED,
    ])
    .infer(infer_loop)
    .flow(Flow::Loop)
    .cost(CostRule::Flops(work))
    .onnx("Loop", 1),
    OpDef::new(
        "scan",
        "Calls `body` for each slice of the last `scanned` values; returns carried and stacked values.",
    )
    .operands(&[VALUES])
    .attrs(&[
        function(
            "body",
            "takes carried values and a slice of each scanned value; returns carried values, and values to stack",
        ),
        CARRIED,
        AttrDef::new(
            "scanned",
            AttrKind::Int,
            Default::Required,
            "the number of values passed slice by slice",
        ),
        AttrDef::new(
            "input_axes",
            AttrKind::Ints,
            Default::Ints(&[]),
            "the axis of each scanned value; 0 if left out",
        ),
        AttrDef::new(
            "input_directions",
            AttrKind::Ints,
            Default::Ints(&[]),
            "1 to start with the last slice",
        ),
        AttrDef::new(
            "output_axes",
            AttrKind::Ints,
            Default::Ints(&[]),
            "the axis of each stacked value; 0 if left out",
        ),
        AttrDef::new(
            "output_directions",
            AttrKind::Ints,
            Default::Ints(&[]),
            "1 to put the first result last",
        ),
    ])
    .infer(infer_scan)
    .flow(Flow::Scan)
    .cost(CostRule::Flops(work))
    .onnx("Scan", 9),
    OpDef::new(
        "sequence_map",
        "Calls `body` for each element of the sequences among the first `mapped` values; returns sequences of results.",
    )
    .operands(&[VALUES])
    .attrs(&[
        function(
            "body",
            "takes an element of each sequence and the other values; returns one element of each result",
        ),
        AttrDef::new(
            "mapped",
            AttrKind::Int,
            Default::Required,
            "the number of values that may be sequences to map over",
        ),
    ])
    .infer(infer_map)
    .flow(Flow::Map)
    .cost(CostRule::Flops(work))
    .onnx("SequenceMap", 17),
];

/// Access to the functions and integer attributes of a call.
impl Infer<'_> {
    fn function(&self, name: &str) -> Result<Arc<Region>, OpError> {
        match self.attr(name) {
            AttrValue::Region(region) if region.outputs.is_empty() => {
                Err(OpError::new(format!("`{name}` has no result")).attr(name))
            }
            AttrValue::Region(region) => Ok(region),
            _ => Err(OpError::new(format!("attribute `{name}` is not a function")).attr(name)),
        }
    }

    fn count(&self, name: &str) -> Result<usize, OpError> {
        let count = self.attr(name).as_count();
        count.ok_or_else(|| OpError::new(format!("attribute `{name}` is not a number of values")).attr(name))
    }

    fn numbers(&self, name: &str) -> Result<Vec<i64>, OpError> {
        let list = match self.attr(name) {
            AttrValue::Ints(list) => list.iter().map(Dim::as_const).collect(),
            _ => Some(Vec::new()),
        };
        list.ok_or_else(|| OpError::new(format!("attribute `{name}` is not known")).attr(name))
    }

    /// Checks that operand `i`, if given, is a single value of an element type.
    fn single(&self, i: usize, wanted: DType) -> Result<(), OpError> {
        let Some(ty) = self.optional(i)? else { return Ok(()) };
        let one = |s: &Shape| s.iter().all(|d| !matches!(d, Dim::Const(n) if *n != 1));
        if ty.dtype != wanted || !ty.shape.as_ref().is_none_or(one) {
            let name = self.def.operand(i).map_or("", |o| o.name);
            return Err(OpError::new(format!("`{name}` must be one value of {wanted}, but is {ty}")).at(i));
        }
        Ok(())
    }
}

/// Checks the arguments a function is called with.
fn check_arguments(call: &Infer<'_>, name: &str, region: &Region, given: &[(usize, Type)]) -> Result<(), OpError> {
    if region.inputs != given.len() {
        let message = format!(
            "`{name}` takes {} values, but is called with {}",
            region.inputs,
            given.len()
        );
        return Err(OpError::new(message).attr(name));
    }
    for (wanted, (place, ty)) in region.input_types().zip(given) {
        if !wanted.admits(ty) {
            let message = format!("`{name}` takes {wanted}, but is called with {ty}");
            return Err(match call.operands.get(*place) {
                Some(_) => OpError::new(message).at(*place),
                None => OpError::new(message).attr(name),
            });
        }
    }
    Ok(())
}

/// The values that unknown dimensions and symbols of a function have outside of it.
#[derive(std::default::Default)]
struct Outside {
    known: HashMap<Dim, Dim>,
    /// Symbols that nothing is known about outside.
    own: HashSet<Dim>,
}

impl Outside {
    /// Records that `inner` dimensions of the function are `outer` ones outside; unless `constant`, that holds only in
    /// the first call.
    fn learn(&mut self, inner: &Type, outer: &Type, constant: bool) {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        inner.visit_dims(&mut |d| names.push(d.clone()));
        outer.visit_dims(&mut |d| values.push(d.clone()));
        let same = names.len() == values.len();
        for (i, name) in names.into_iter().enumerate() {
            let value = values.get(i).filter(|_| same);
            if !(name.is_unknown() || name.as_symbol().is_some()) || value == Some(&name) {
                continue;
            }
            match value {
                Some(value) if constant => {
                    self.known.entry(name).or_insert_with(|| value.clone());
                }
                _ => {
                    self.own.insert(name);
                }
            }
        }
    }

    /// The type that a result of the function has outside of it.
    fn ty(&mut self, call: &Infer<'_>, inner: &Type) -> Type {
        inner.visit_dims(&mut |d| {
            d.visit_atoms(&mut |atom| {
                let name = Dim::atom(atom.clone());
                if matches!(atom, Atom::Unknown(_)) || self.own.contains(&name) {
                    self.known.entry(name).or_insert_with(|| call.unknown());
                }
            });
        });
        inner.map_dims(&|d| {
            d.substitute(&|atom| match atom {
                Atom::Unknown(_) | Atom::Symbol(_) => self.known.get(&Dim::atom(atom.clone())).cloned(),
                _ => None,
            })
        })
    }
}

/// A type that admits both; `None` if their kinds or element types differ.
pub fn join(a: &Type, b: &Type, unknown: &mut dyn FnMut() -> Dim) -> Option<Type> {
    Some(match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) if a.dtype == b.dtype => {
            let shape = match (&a.shape, &b.shape) {
                (Some(a), Some(b)) if a.len() == b.len() => Some(
                    a.iter()
                        .zip(b.iter())
                        .map(|(x, y)| if x == y { x.clone() } else { unknown() })
                        .collect(),
                ),
                _ => None,
            };
            TensorType { dtype: a.dtype, shape }.into()
        }
        (Type::Sequence(a), Type::Sequence(b)) => Type::Sequence(Box::new(join(a, b, unknown)?)),
        (Type::Optional(a), Type::Optional(b)) => Type::Optional(Box::new(join(a, b, unknown)?)),
        (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
            let items = a.iter().zip(b).map(|(a, b)| join(a, b, unknown));
            Type::Tuple(items.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn joined(call: &Infer<'_>, a: &Type, b: &Type) -> Result<Type, OpError> {
    join(a, b, &mut || call.unknown()).ok_or_else(|| OpError::new(format!("a result cannot be both {a} and {b}")))
}

/// The type of a single result, or a tuple of several.
fn results(mut types: Vec<Type>) -> Type {
    match types.len() {
        1 => types.remove(0),
        _ => Type::Tuple(types),
    }
}

/// Operands from `first` on, with their positions.
fn operands(call: &Infer<'_>, first: usize) -> Vec<(usize, Type)> {
    let all = call.operands.iter().enumerate().skip(first);
    all.map(|(i, fact)| (i, fact.ty.clone())).collect()
}

fn infer_branch(call: &Infer<'_>) -> Result<Type, OpError> {
    call.tensor(0)?;
    call.single(0, DType::Bool)?;
    let given = operands(call, 1);
    let mut types: Vec<Vec<Type>> = Vec::new();
    for name in ["then_branch", "else_branch"] {
        let region = call.function(name)?;
        check_arguments(call, name, &region, &given)?;
        let mut outside = Outside::default();
        for (inner, (_, outer)) in region.input_types().zip(&given) {
            outside.learn(inner, outer, true);
        }
        types.push(region.output_types().map(|ty| outside.ty(call, ty)).collect());
    }
    if types[0].len() != types[1].len() {
        let message = format!(
            "the branches have different numbers of results: {} and {}",
            types[0].len(),
            types[1].len()
        );
        return Err(OpError::new(message).attr("else_branch"));
    }
    let pairs = types[0].iter().zip(&types[1]);
    Ok(results(
        pairs.map(|(a, b)| joined(call, a, b)).collect::<Result<_, _>>()?,
    ))
}

/// The types of results outside the body: first the carried ones, which may be the operands themselves if the body is
/// never called, then those that collected results have in one call.
fn called_again(
    call: &Infer<'_>,
    region: &Region,
    given: &[(usize, Type)],
    carried: std::ops::Range<usize>,
    skip: usize,
) -> Result<(Vec<Type>, Vec<Type>), OpError> {
    let outs: Vec<&Type> = region.output_types().skip(skip).collect();
    if carried.end > given.len() || carried.len() > outs.len() {
        let message = format!("`body` cannot carry {} values", carried.len());
        return Err(OpError::new(message).attr("carried"));
    }
    let mut outside = Outside::default();
    let ins: Vec<&Type> = region.input_types().collect();
    for (i, (_, outer)) in given.iter().enumerate() {
        let varies = carried.contains(&i) && ins[i] != outs[i - carried.start];
        outside.learn(ins[i], outer, !varies);
    }
    let mut kept = Vec::new();
    for (i, out) in carried.clone().zip(&outs) {
        if !ins[i].admits(out) {
            let message = format!("`body` takes {}, but returns {out} for the next call", ins[i]);
            return Err(OpError::new(message).attr("body"));
        }
        let next = outside.ty(call, out);
        kept.push(joined(call, &given[i].1, &next)?);
    }
    let collected = outs[carried.len()..].iter().map(|ty| outside.ty(call, ty)).collect();
    Ok((kept, collected))
}

/// The type of `count` values stacked along an axis.
fn stacked(ty: &Type, axis: i64, count: Dim) -> Result<Type, OpError> {
    let Type::Tensor(t) = ty else {
        return Err(OpError::new(format!("{ty} cannot be collected; only tensors can")).attr("body"));
    };
    let Some(shape) = &t.shape else {
        return Ok(TensorType::any_rank(t.dtype).into());
    };
    let axis = super::infer::resolve_axis(axis, shape.len() + 1)?;
    let mut dims: Vec<Dim> = shape.iter().cloned().collect();
    dims.insert(axis, count);
    Ok(Type::tensor(t.dtype, dims.into_iter().collect::<Shape>()))
}

fn infer_loop(call: &Infer<'_>) -> Result<Type, OpError> {
    call.single(0, DType::I64)?;
    call.single(1, DType::Bool)?;
    let region = call.function("body")?;
    let carried = call.count("carried")?;
    let mut inner = region.input_types();
    // The number and the condition have the rank that the function declares for them.
    let mut given: Vec<(usize, Type)> = Vec::new();
    for dtype in [DType::I64, DType::Bool] {
        let rank = inner.next().and_then(Type::as_tensor).and_then(TensorType::rank);
        let shape: Shape = (0..rank.unwrap_or(0).min(1)).map(|_| Dim::Const(1)).collect();
        given.push((usize::MAX, Type::tensor(dtype, shape)));
    }
    given.extend(operands(call, 2));
    check_arguments(call, "body", &region, &given)?;
    let condition = region.output_types().next();
    if condition
        .and_then(Type::as_tensor)
        .is_none_or(|t| t.dtype != DType::Bool)
    {
        return Err(OpError::new("the first result of `body` must be a condition").attr("body"));
    }
    let (mut types, collected) = called_again(call, &region, &given, 2..2usize.saturating_add(carried), 1)?;
    let condition_may_end = !always_true(&region);
    let trips = call
        .operands
        .first()
        .and_then(|o| o.value)
        .and_then(|t| t.to_ints()?.first().copied());
    let given_condition = call.operands.get(1).is_some_and(|o| !matches!(o.ty, Type::Absent));
    let holds = call
        .operands
        .get(1)
        .and_then(|o| o.value)
        .and_then(|t| t.to_ints()?.first().copied())
        == Some(1);
    for ty in collected {
        let count = match trips.and_then(|n| i64::try_from(n).ok()) {
            Some(n) if !condition_may_end && (!given_condition || holds) => Dim::Const(n.max(0)),
            _ => call.unknown(),
        };
        types.push(stacked(&ty, 0, count)?);
    }
    Ok(results(types))
}

/// True if the condition returned by the body of a loop is always true, or the one it was passed.
pub fn always_true(region: &Region) -> bool {
    let Some((mut i, _)) = region.outputs.first().cloned() else {
        return false;
    };
    loop {
        match &region.items[i].step {
            super::RegionStep::Const(AttrValue::Tensor(t)) => return t.to_ints().as_deref() == Some(&[1]),
            super::RegionStep::Input => return i == 1,
            super::RegionStep::Call { op, operands, .. } if op.is("identity") && operands.len() == 1 => i = operands[0],
            _ => return false,
        }
    }
}

fn infer_scan(call: &Infer<'_>) -> Result<Type, OpError> {
    let region = call.function("body")?;
    let (carried, scanned) = (call.count("carried")?, call.count("scanned")?);
    if carried.saturating_add(scanned) > call.operands.len() || scanned == 0 {
        let message = format!(
            "{carried} carried and {scanned} scanned values among {}",
            call.operands.len()
        );
        return Err(OpError::new(message).attr("scanned"));
    }
    let axes = call.numbers("input_axes")?;
    let mut given = operands(call, 0);
    let mut count: Option<Dim> = None;
    for (i, (place, ty)) in given[carried..carried + scanned].iter_mut().enumerate() {
        let Type::Tensor(t) = &ty else {
            return Err(OpError::new(format!("{ty} cannot be sliced")).at(*place));
        };
        let Some(shape) = &t.shape else {
            *ty = TensorType::any_rank(t.dtype).into();
            continue;
        };
        let axis =
            super::infer::resolve_axis(axes.get(i).copied().unwrap_or(0), shape.len()).map_err(|e| e.at(*place))?;
        let mut dims: Vec<Dim> = shape.iter().cloned().collect();
        let extent = dims.remove(axis);
        count = Some(match count {
            Some(Dim::Const(n)) => Dim::Const(n),
            _ => extent,
        });
        *ty = Type::tensor(t.dtype, dims.into_iter().collect::<Shape>());
    }
    check_arguments(call, "body", &region, &given)?;
    let (mut types, collected) = called_again(call, &region, &given, 0..carried, 0)?;
    let axes = call.numbers("output_axes")?;
    for (i, ty) in collected.iter().enumerate() {
        let count = count.clone().unwrap_or_else(|| call.unknown());
        types.push(stacked(ty, axes.get(i).copied().unwrap_or(0), count)?);
    }
    Ok(results(types))
}

fn infer_map(call: &Infer<'_>) -> Result<Type, OpError> {
    let region = call.function("body")?;
    let mapped = call.count("mapped")?;
    let mut given = operands(call, 0);
    for (_, ty) in given.iter_mut().take(mapped) {
        if let Type::Sequence(item) = ty {
            *ty = (**item).clone();
        }
    }
    check_arguments(call, "body", &region, &given)?;
    let mut outside = Outside::default();
    for (i, (inner, (_, outer))) in region.input_types().zip(&given).enumerate() {
        outside.learn(inner, outer, i >= mapped);
    }
    let items = region
        .output_types()
        .map(|ty| Type::Sequence(Box::new(outside.ty(call, ty))));
    Ok(results(items.collect()))
}

/// The work of the functions: of the longer branch, or of the number of calls if known, else of a guess.
fn work(call: &Infer<'_>, _: &Type) -> f64 {
    const GUESS: f64 = 16.0;
    let micros = call.attrs.iter().filter_map(AttrValue::region).map(|r| r.micros());
    let once = micros.fold(0.0, f64::max);
    let times = match call.def.semantics {
        super::Semantics::Flow(Flow::Branch) => 1.0,
        super::Semantics::Flow(Flow::Loop) => {
            let trips = call
                .operands
                .first()
                .and_then(|o| o.value)
                .and_then(|t| t.to_ints()?.first().copied());
            let may_end = call.attrs.iter().filter_map(AttrValue::region).any(|r| !always_true(r));
            // Exporters write the largest integer for a loop that a condition ends.
            match trips {
                Some(n) if may_end => (n as f64).clamp(0.0, GUESS),
                Some(n) => (n as f64).max(0.0),
                None => GUESS,
            }
        }
        _ => GUESS,
    };
    // `Cost::micros` takes 50 000 operations per microsecond; each call of a function has to be launched.
    (once + 2.0) * times * 50e3
}
