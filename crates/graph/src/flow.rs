//! The semantics of control flow, sequences and optional values, in terms of other operators and the functions called.

use super::interpret::Domain;
use tautomer_op::{AttrValue, Flow, OpDef, OpError, known, lookup};
use tautomer_tensor::{DType, Shape, Tensor, TensorType, Type};

/// A value of any type during the evaluation of a graph.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum<T> {
    /// An omitted operand.
    Absent,
    /// A tensor.
    One(T),
    /// The elements of a tuple or a sequence, or the content of an optional value, if any.
    List(Vec<Datum<T>>),
}

impl<T> Datum<T> {
    /// The tensor, if it is one.
    pub fn one(&self) -> Option<&T> {
        match self {
            Datum::One(value) => Some(value),
            _ => None,
        }
    }

    /// The elements, if there are any.
    pub fn list(&self) -> Option<&[Datum<T>]> {
        match self {
            Datum::List(items) => Some(items),
            _ => None,
        }
    }
}

/// A call of control flow: its operands with their types, and its attributes.
pub(crate) struct FlowCall<'a, D: Domain> {
    pub(crate) def: &'static OpDef,
    pub(crate) operands: &'a [Datum<D::T>],
    pub(crate) types: &'a [Type],
    pub(crate) attrs: &'a [AttrValue],
}

/// Calls the function given by an attribute.
pub(crate) type Caller<'a, T> = &'a mut dyn FnMut(usize, Vec<Datum<T>>) -> Result<Vec<Datum<T>>, OpError>;

fn missing(what: &str) -> OpError {
    OpError::new(format!("{what} has no value"))
}

/// A call of an operator of the table with some attributes.
fn apply<D: Domain>(name: &str, operands: &[(D::T, Type)], given: &[(&str, AttrValue)]) -> Result<Vec<D::T>, OpError> {
    let def = lookup(name).ok_or_else(|| OpError::new(format!("there is no operator `{name}`")))?;
    let attrs: Vec<AttrValue> = def
        .attrs
        .iter()
        .map(|attr| {
            let value = given.iter().find(|(n, _)| *n == attr.name).map(|(_, v)| v.clone());
            value.or_else(|| attr.default_value()).unwrap_or(AttrValue::None)
        })
        .collect();
    let values: Vec<Option<D::T>> = operands.iter().map(|(v, _)| Some(v.clone())).collect();
    let types: Vec<Type> = operands.iter().map(|(_, ty)| ty.clone()).collect();
    D::call(def, values, &types, &attrs)
}

fn first<T>(mut values: Vec<T>) -> Result<T, OpError> {
    match values.is_empty() {
        true => Err(OpError::new("a call has no result")),
        false => Ok(values.swap_remove(0)),
    }
}

impl<D: Domain> FlowCall<'_, D> {
    fn attr(&self, name: &str) -> &AttrValue {
        self.def.attr_in(self.attrs, name)
    }

    fn attr_place(&self, name: &str) -> Result<usize, OpError> {
        self.def.attr_index(name).ok_or_else(|| missing(name))
    }

    fn count(&self, name: &str) -> Result<usize, OpError> {
        self.attr(name).as_count().ok_or_else(|| missing(name))
    }

    fn numbers(&self, name: &str) -> Vec<i64> {
        self.attr(name).as_ints().unwrap_or_default()
    }

    fn flag(&self, name: &str) -> bool {
        self.attr(name).is_true()
    }

    fn tensor(&self, i: usize) -> Result<(D::T, Type), OpError> {
        let value = self.operands.get(i).and_then(Datum::one);
        let value = value.ok_or_else(|| missing(&format!("operand {i}")))?;
        Ok((value.clone(), D::ty(value, &self.types[i])))
    }

    fn list(&self, i: usize) -> Result<&[Datum<D::T>], OpError> {
        self.operands
            .get(i)
            .and_then(Datum::list)
            .ok_or_else(|| missing(&format!("operand {i}")))
    }

    /// The single integer or boolean at operand `i`; `None` if it is omitted.
    fn single(&self, i: usize) -> Result<Option<i64>, OpError> {
        match self.operands.get(i) {
            Some(Datum::One(value)) => Ok(Some(one_of::<D>(value)?)),
            _ => Ok(None),
        }
    }

    /// The types of the results of a function.
    fn result_types(&self, name: &str) -> Vec<Type> {
        let region = self.attr(name).region();
        region.map_or_else(Vec::new, |r| r.output_types().cloned().collect())
    }

    /// A scalar, or a vector of one element if the function takes that.
    fn scalar(&self, input: usize, value: Tensor) -> Result<Datum<D::T>, OpError> {
        let region = self.attr("body").region();
        let ty = region
            .and_then(|r| r.items.get(input))
            .and_then(|item| item.ty.as_tensor());
        let value = match ty.and_then(TensorType::rank) {
            Some(1) => value.reshaped(&[1]).unwrap_or(value),
            _ => value,
        };
        Ok(Datum::One(D::constant(&value)?))
    }
}

fn one_of<D: Domain>(value: &D::T) -> Result<i64, OpError> {
    match D::ints(value)?.as_slice() {
        [one] => Ok(*one),
        several => Err(OpError::new(format!(
            "one value is needed, and {} are given",
            several.len()
        ))),
    }
}

/// The results of a call.
pub(crate) fn evaluate<D: Domain>(
    flow: Flow,
    call: &FlowCall<'_, D>,
    body: Caller<'_, D::T>,
) -> Result<Vec<Datum<D::T>>, OpError> {
    let single = |value: Datum<D::T>| Ok(vec![value]);
    match flow {
        Flow::Branch => {
            let holds = call.single(0)?.ok_or_else(|| missing("the condition"))? != 0;
            let branch = if holds { "then_branch" } else { "else_branch" };
            body(call.attr_place(branch)?, call.operands[1..].to_vec())
        }
        Flow::Loop => repeat(call, body),
        Flow::Scan => scan(call, body),
        Flow::Map => map(call, body),
        Flow::Sequence => single(Datum::List(call.operands.to_vec())),
        Flow::Empty | Flow::Missing => single(Datum::List(Vec::new())),
        Flow::At => {
            let items = call.list(0)?;
            let at = place(call.single(1)?, items.len(), false)?;
            single(items[at].clone())
        }
        Flow::Insert => {
            let mut items = call.list(0)?.to_vec();
            let at = place(call.single(2)?, items.len(), true)?;
            items.insert(at, Datum::One(call.tensor(1)?.0));
            single(Datum::List(items))
        }
        Flow::Erase => {
            let mut items = call.list(0)?.to_vec();
            let at = place(Some(call.single(1)?.unwrap_or(-1)), items.len(), false)?;
            items.remove(at);
            single(Datum::List(items))
        }
        Flow::Length => {
            let n = i64::try_from(call.list(0)?.len()).unwrap_or(i64::MAX);
            single(Datum::One(D::constant(&Tensor::scalar(n))?))
        }
        Flow::Split => split(call),
        Flow::Concat => {
            let mut items = tensors::<D>(call.list(0)?, &call.types[0])?;
            let AttrValue::Int(axis) = call.attr("axis") else {
                return Err(missing("the axis"));
            };
            if call.flag("new_axis") {
                let axis = axis.as_const().ok_or_else(|| missing("the axis"))?;
                return single(Datum::One(side_by_side::<D>(items, axis)?));
            }
            let rank = items.first().map_or(0, |(v, _)| D::shape(v).len());
            let axis = from_front(axis.as_const().ok_or_else(|| missing("the axis"))?, rank)?;
            if items.len() == 1 {
                return single(Datum::One(items.remove(0).0));
            }
            let joined = apply::<D>(known::CONCAT, &items, &[("axis", AttrValue::int(axis))])?;
            single(Datum::One(first(joined)?))
        }
        Flow::Optional => single(Datum::List(call.operands.to_vec())),
        Flow::Inside => match (call.operands.first(), call.types.first()) {
            (Some(Datum::List(items)), Some(Type::Optional(_))) => match items.first() {
                Some(item) => single(item.clone()),
                None => Err(OpError::new("the optional value is missing")),
            },
            (Some(value), _) => single(value.clone()),
            _ => Err(missing("operand 0")),
        },
        Flow::IsThere => {
            let there = match (call.operands.first(), call.types.first()) {
                (Some(Datum::List(items)), Some(Type::Optional(_))) => !items.is_empty(),
                (None | Some(Datum::Absent), _) => false,
                _ => true,
            };
            single(Datum::One(D::constant(&Tensor::scalar(there))?))
        }
    }
}

/// A position counted from the front; the end if it is omitted.
fn place(position: Option<i64>, len: usize, at_end: bool) -> Result<usize, OpError> {
    let n = len as i64;
    let position = position.unwrap_or(n);
    let resolved = if position < 0 {
        position.saturating_add(n)
    } else {
        position
    };
    let last = if at_end { n } else { n - 1 };
    if (0..=last).contains(&resolved) {
        return Ok(resolved as usize);
    }
    Err(OpError::new(format!(
        "position {position} is out of range for a sequence of length {len}"
    )))
}

fn from_front(axis: i64, rank: usize) -> Result<i64, OpError> {
    let resolved = if axis < 0 { axis + rank as i64 } else { axis };
    if (0..rank as i64).contains(&resolved) {
        return Ok(resolved);
    }
    Err(OpError::new(format!("axis {axis} is out of range for rank {rank}")))
}

/// The tensors of a sequence, with their types.
fn tensors<D: Domain>(items: &[Datum<D::T>], ty: &Type) -> Result<Vec<(D::T, Type)>, OpError> {
    let declared = match ty {
        Type::Sequence(item) => item,
        other => other,
    };
    let one = |item: &Datum<D::T>| match item {
        Datum::One(value) => Ok((value.clone(), D::ty(value, declared))),
        _ => Err(OpError::new("an element is not a tensor")),
    };
    let found: Vec<(D::T, Type)> = items.iter().map(one).collect::<Result<_, _>>()?;
    match found.is_empty() {
        true => Err(OpError::new("the sequence has no elements")),
        false => Ok(found),
    }
}

/// Stacks values along a new axis.
fn side_by_side<D: Domain>(values: Vec<(D::T, Type)>, axis: i64) -> Result<D::T, OpError> {
    let rank = values.first().map_or(0, |(v, _)| D::shape(v).len()) + 1;
    let axis = from_front(axis, rank)?;
    let mut parts = Vec::with_capacity(values.len());
    for (value, ty) in values {
        let mut dims = D::shape(&value);
        dims.insert(axis as usize, 1);
        let wide = first(apply::<D>(
            known::UNSQUEEZE,
            &[(value, ty.clone())],
            &[("axes", AttrValue::ints(&[axis]))],
        )?)?;
        let dtype = ty.as_tensor().map_or(DType::F32, |t| t.dtype);
        parts.push((wide, Type::tensor(dtype, Shape::from(dims.as_slice()))));
    }
    if parts.len() == 1 {
        return Ok(parts.remove(0).0);
    }
    first(apply::<D>(known::CONCAT, &parts, &[("axis", AttrValue::int(axis))])?)
}

/// The collected results of several calls; an empty tensor if there were no calls.
fn collect<D: Domain>(values: Vec<Datum<D::T>>, ty: &Type, axis: i64, backwards: bool) -> Result<Datum<D::T>, OpError> {
    let Type::Tensor(declared) = ty else {
        return Err(OpError::new(format!("{ty} cannot be collected")));
    };
    if values.is_empty() {
        let mut dims: Vec<usize> = match &declared.shape {
            Some(shape) => shape
                .iter()
                .map(|d| d.as_const().and_then(|n| n.try_into().ok()).unwrap_or(0))
                .collect(),
            None => Vec::new(),
        };
        dims.insert(from_front(axis, dims.len() + 1)? as usize, 0);
        let empty = Tensor::from_ints(declared.dtype, &dims, &[])
            .or_else(|| Tensor::from_f64s(declared.dtype, &dims, &[]))
            .or_else(|| Tensor::new(&dims, Vec::<String>::new()));
        let empty = empty.ok_or_else(|| OpError::new(format!("cannot make an empty tensor of {}", declared.dtype)))?;
        return Ok(Datum::One(D::constant(&empty)?));
    }
    let mut parts = tensors::<D>(&values, ty)?;
    if backwards {
        parts.reverse();
    }
    Ok(Datum::One(side_by_side::<D>(parts, axis)?))
}

fn repeat<D: Domain>(call: &FlowCall<'_, D>, body: Caller<'_, D::T>) -> Result<Vec<Datum<D::T>>, OpError> {
    let trips = call.single(0)?;
    let mut holds = call.single(1)?.is_none_or(|c| c != 0);
    let carried = call.count("carried")?;
    let values = call.operands.get(2..).unwrap_or_default();
    let mut state: Vec<Datum<D::T>> = values
        .get(..carried)
        .ok_or_else(|| missing("a carried value"))?
        .to_vec();
    let captured = &values[carried..];
    let types = call.result_types("body");
    let collects = types.len().saturating_sub(carried + 1);
    let mut collected: Vec<Vec<Datum<D::T>>> = vec![Vec::new(); collects];
    let place = call.attr_place("body")?;
    let mut i = 0i64;
    while holds && trips.is_none_or(|n| i < n) {
        let mut given = vec![
            call.scalar(0, Tensor::scalar(i))?,
            call.scalar(1, Tensor::scalar(true))?,
        ];
        given.append(&mut state);
        given.extend_from_slice(captured);
        let mut results = body(place, given)?.into_iter();
        let next = results.next();
        holds = one_of::<D>(
            next.as_ref()
                .and_then(Datum::one)
                .ok_or_else(|| missing("the next condition"))?,
        )? != 0;
        state = results.by_ref().take(carried).collect();
        for (list, value) in collected.iter_mut().zip(results) {
            list.push(value);
        }
        i += 1;
    }
    for (values, ty) in collected.into_iter().zip(&types[(carried + 1).min(types.len())..]) {
        state.push(collect::<D>(values, ty, 0, false)?);
    }
    Ok(state)
}

fn scan<D: Domain>(call: &FlowCall<'_, D>, body: Caller<'_, D::T>) -> Result<Vec<Datum<D::T>>, OpError> {
    let (carried, scanned) = (call.count("carried")?, call.count("scanned")?);
    if carried + scanned > call.operands.len() {
        return Err(missing("a scanned value"));
    }
    let mut state = call.operands[..carried].to_vec();
    let captured = &call.operands[carried + scanned..];
    let types = call.result_types("body");
    let (axes, backwards) = (call.numbers("input_axes"), call.numbers("input_directions"));
    let mut sources = Vec::new();
    let mut slices: Option<usize> = None;
    for k in 0..scanned {
        let (value, ty) = call.tensor(carried + k)?;
        let shape = D::shape(&value);
        let axis = from_front(axes.get(k).copied().unwrap_or(0), shape.len())?;
        let extent = shape[axis as usize];
        if slices.is_some_and(|n| n != extent) {
            return Err(OpError::new("scanned values have different numbers of slices"));
        }
        slices = Some(extent);
        sources.push((value, ty, axis, backwards.get(k) == Some(&1)));
    }
    let slices = slices.unwrap_or(0);
    let mut collected: Vec<Vec<Datum<D::T>>> = vec![Vec::new(); types.len().saturating_sub(carried)];
    let place = call.attr_place("body")?;
    let index_type = Type::tensor(DType::I64, Shape::scalar());
    for i in 0..slices {
        let mut given = std::mem::take(&mut state);
        for (value, ty, axis, backwards) in &sources {
            let at = if *backwards { slices - 1 - i } else { i };
            let index = D::constant(&Tensor::scalar(at as i64))?;
            let operands = [(value.clone(), ty.clone()), (index, index_type.clone())];
            let slice = apply::<D>(known::GATHER, &operands, &[("axis", AttrValue::int(*axis))])?;
            given.push(Datum::One(first(slice)?));
        }
        given.extend_from_slice(captured);
        let mut results = body(place, given)?.into_iter();
        state = results.by_ref().take(carried).collect();
        for (list, value) in collected.iter_mut().zip(results) {
            list.push(value);
        }
    }
    let (axes, backwards) = (call.numbers("output_axes"), call.numbers("output_directions"));
    for (k, (values, ty)) in collected
        .into_iter()
        .zip(&types[carried.min(types.len())..])
        .enumerate()
    {
        let axis = axes.get(k).copied().unwrap_or(0);
        state.push(collect::<D>(values, ty, axis, backwards.get(k) == Some(&1))?);
    }
    Ok(state)
}

fn map<D: Domain>(call: &FlowCall<'_, D>, body: Caller<'_, D::T>) -> Result<Vec<Datum<D::T>>, OpError> {
    let mapped = call.count("mapped")?.min(call.operands.len());
    let is_sequence = |i: usize| i < mapped && matches!(call.types[i], Type::Sequence(_));
    let mut n: Option<usize> = None;
    for i in (0..mapped).filter(|&i| is_sequence(i)) {
        let len = call.list(i)?.len();
        if n.is_some_and(|n| n != len) {
            return Err(OpError::new("the sequences have different lengths"));
        }
        n = Some(len);
    }
    let place = call.attr_place("body")?;
    let mut results: Vec<Vec<Datum<D::T>>> = vec![Vec::new(); call.result_types("body").len()];
    for k in 0..n.unwrap_or(0) {
        let given = call.operands.iter().enumerate().map(|(i, operand)| match operand {
            Datum::List(items) if is_sequence(i) => items[k].clone(),
            other => other.clone(),
        });
        for (list, value) in results.iter_mut().zip(body(place, given.collect())?) {
            list.push(value);
        }
    }
    Ok(results.into_iter().map(Datum::List).collect())
}

fn split<D: Domain>(call: &FlowCall<'_, D>) -> Result<Vec<Datum<D::T>>, OpError> {
    let (value, ty) = call.tensor(0)?;
    let shape = D::shape(&value);
    let AttrValue::Int(axis) = call.attr("axis") else {
        return Err(missing("the axis"));
    };
    let axis = from_front(axis.as_const().ok_or_else(|| missing("the axis"))?, shape.len())?;
    let extent = shape[axis as usize] as i64;
    let given = match call.operands.get(1) {
        Some(Datum::One(parts)) => Some((D::ints(parts)?, D::shape(parts).is_empty())),
        _ => None,
    };
    let sizes: Vec<i64> = match &given {
        None => vec![1; extent as usize],
        Some((parts, true)) => match parts.first() {
            Some(&n) if n > 0 => (0..extent).step_by(n as usize).map(|i| n.min(extent - i)).collect(),
            _ => return Err(OpError::new("the size of the parts must be positive")),
        },
        Some((parts, false)) => parts.clone(),
    };
    let parts = match sizes.len() {
        0 => Vec::new(),
        _ => apply::<D>(
            known::SPLIT,
            &[(value, ty.clone())],
            &[("axis", AttrValue::int(axis)), ("sizes", AttrValue::ints(&sizes))],
        )?,
    };
    let mut items = Vec::with_capacity(parts.len());
    for part in parts {
        items.push(Datum::One(match given.is_none() && !call.flag("keepdims") {
            true => {
                let ty = D::ty(&part, &ty);
                first(apply::<D>(
                    known::SQUEEZE,
                    &[(part, ty)],
                    &[("axes", AttrValue::ints(&[axis]))],
                )?)?
            }
            false => part,
        }));
    }
    Ok(vec![Datum::List(items)])
}
