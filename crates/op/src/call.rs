//! Normalizes calls: fills in defaults, turns constant operands into attributes, and counts axes from the front.

use std::cell::Cell;

use super::infer::{check_rank, resolve_axis};
use super::{AttrDef, AttrKind, AttrValue, AxisOf, Default, Fact, Infer, OpDef, OpError, OperandKind, Real};
use tautomer_tensor::{Dim, Tensor, Type};

/// A call in normal form.
#[derive(Debug, Clone)]
pub struct Normalized {
    /// For each operand of the result, its position among those given, or `None` if it was left out.
    pub operands: Vec<Option<usize>>,
    /// Attributes in declared order.
    pub attrs: Vec<AttrValue>,
    /// The type of the value.
    pub ty: Type,
}

/// Normal form and type of a call.
///
/// Constant operands that stand for an attribute become the attribute; absent trailing operands are dropped; defaults
/// are filled in; axes are counted from the front where the rank is known. `given` holds attribute values by name.
///
/// # Errors
/// If the number or the types of operands or attributes do not fit the operator.
pub fn normalize(
    def: &'static OpDef,
    operands: &[Fact<'_>],
    given: &[(&str, AttrValue)],
    fresh: &Cell<u32>,
) -> Result<Normalized, OpError> {
    check_arity(def, operands)?;
    let mut attrs = Vec::with_capacity(def.attrs.len());
    for (name, _) in given {
        if def.attr_index(name).is_none() {
            return Err(unknown_attr(def, name));
        }
    }
    let mut places: Vec<Option<usize>> = operands
        .iter()
        .enumerate()
        .map(|(i, o)| (!matches!(o.ty, Type::Absent)).then_some(i))
        .collect();
    for attr in def.attrs {
        let mut value = AttrValue::None;
        if let Some((_, v)) = given.iter().find(|(n, _)| *n == attr.name) {
            value = attr.coerce(v.clone()).ok_or_else(|| wrong_value(attr, v))?;
            if has_unknown(&value) {
                return Err(
                    OpError::new(format!("attribute `{}` contains an unknown dimension", attr.name)).attr(attr.name),
                );
            }
        }
        let place = def.operands.iter().position(|o| o.attr == Some(attr.name));
        let operand = place.filter(|&p| places.get(p).copied().flatten().is_some());
        if let Some(p) = operand {
            if !value.is_none() {
                return Err(OpError::new(format!(
                    "`{}` is given both as an operand and as an attribute",
                    attr.name
                ))
                .attr(attr.name)
                .at(p));
            }
            if let Some(constant) = operands[p].value.and_then(|t| attr_from_tensor(attr, t)) {
                value = constant;
                places[p] = None;
            }
        } else if value.is_none() {
            value = attr.default_value().ok_or_else(|| {
                OpError::new(format!("attribute `{}` is missing", attr.name))
                    .attr(attr.name)
                    .help(format!(
                        "give it after the operands: `{{{} = …}}`, {}",
                        attr.name,
                        attr.expects()
                    ))
            })?;
        }
        attrs.push(value);
    }
    while places.last() == Some(&None) && places.len() > def.arity().0 {
        places.pop();
    }
    static ABSENT: Type = Type::Absent;
    let absent = Fact::of(&ABSENT);
    let facts: Vec<Fact<'_>> = places.iter().map(|p| p.map_or(absent, |i| operands[i])).collect();
    resolve_axes(def, &facts, &mut attrs)?;
    if let Some(canonical) = def.canonical {
        let before = attrs.clone();
        canonical(
            &Infer {
                def,
                operands: &facts,
                attrs: &before,
                fresh,
            },
            &mut attrs,
        )?;
    }
    let ty = (def.infer)(&Infer {
        def,
        operands: &facts,
        attrs: &attrs,
        fresh,
    })?;
    check_rank(&ty)?;
    Ok(Normalized {
        operands: places,
        attrs,
        ty,
    })
}

/// True for integers with unknown dimensions, which no program can express and nothing could compute.
fn has_unknown(value: &AttrValue) -> bool {
    match value {
        AttrValue::Int(d) => d.has_unknown(),
        AttrValue::Ints(list) => list.iter().any(Dim::has_unknown),
        _ => false,
    }
}

fn check_arity(def: &'static OpDef, operands: &[Fact<'_>]) -> Result<(), OpError> {
    let (least, most) = def.arity();
    let n = operands.len();
    if n < least || most.is_some_and(|most| n > most) {
        let takes = match most {
            Some(most) if most == least => format!("{least}"),
            Some(most) => format!("{least} to {most}"),
            None => format!("at least {least}"),
        };
        let names: Vec<_> = def.operands.iter().map(ToString::to_string).collect();
        let plural = if takes == "1" { "" } else { "s" };
        return Err(OpError::arity(format!(
            "takes {takes} operand{plural} ({}), but {n} {} given",
            names.join(", "),
            if n == 1 { "is" } else { "are" }
        )));
    }
    for (i, operand) in operands.iter().enumerate() {
        let declared = def.operand(i);
        if matches!(operand.ty, Type::Absent) && declared.is_some_and(|o| o.kind != OperandKind::Optional) {
            return Err(OpError::new(format!(
                "operand `{}` may not be left out",
                declared.map_or("", |o| o.name)
            ))
            .at(i));
        }
    }
    Ok(())
}

fn wrong_value(attr: &AttrDef, value: &AttrValue) -> OpError {
    let (name, expects) = (attr.name, attr.expects());
    if let (AttrKind::OneOf(allowed), AttrValue::Str(text)) = (attr.kind, value) {
        let error = OpError::new(format!("attribute `{name}` takes {expects}, not {value}")).attr(name);
        return match tautomer_diag::did_you_mean(text, allowed.iter().copied()) {
            Some(close) => error.help(format!("did you mean {close:?}?")),
            None => error,
        };
    }
    let kind = value.kind_name();
    OpError::new(format!("attribute `{name}` takes {expects}, not {kind} ({value})")).attr(name)
}

fn unknown_attr(def: &OpDef, name: &str) -> OpError {
    let error = OpError::new(format!("there is no attribute `{name}`")).attr(name);
    let names: Vec<_> = def.attrs.iter().map(|a| a.name).collect();
    match tautomer_diag::did_you_mean(name, names.iter().copied()) {
        Some(close) => error.help(format!("did you mean `{close}`?")),
        None if names.is_empty() => error.help("it takes no attributes"),
        None => error.help(format!("its attributes are {}", names.join(", "))),
    }
}

/// The attribute value that a constant operand stands for, if it has the right kind.
pub(crate) fn attr_from_tensor(attr: &AttrDef, value: &Tensor) -> Option<AttrValue> {
    let ints = || {
        value.to_ints().and_then(|v| {
            v.into_iter()
                .map(|x| i64::try_from(x).ok().map(Dim::Const))
                .collect::<Option<Vec<_>>>()
        })
    };
    Some(match attr.kind {
        AttrKind::Int if value.len() == 1 && value.dtype().is_float() => {
            let number = value.to_f64s()?[0];
            let whole = number as i64;
            AttrValue::Int(Dim::Const((whole as f64 == number).then_some(whole)?))
        }
        AttrKind::Int | AttrKind::Axis(_) if value.len() == 1 => AttrValue::Int(ints()?.remove(0)),
        AttrKind::Ints | AttrKind::Axes(_) if value.shape().len() <= 1 => AttrValue::Ints(ints()?),
        AttrKind::Float if value.len() == 1 => AttrValue::Float(Real(value.to_f64s()?[0])),
        AttrKind::Floats if value.shape().len() <= 1 => {
            AttrValue::Floats(value.to_f64s()?.into_iter().map(Real).collect())
        }
        AttrKind::Bool if value.len() == 1 => AttrValue::Bool(value.to_ints()?[0] != 0),
        AttrKind::Tensor => AttrValue::Tensor(value.clone()),
        _ => return None,
    })
}

fn resolve_axes(def: &OpDef, operands: &[Fact<'_>], attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let rank = operands.first().and_then(|o| o.ty.as_tensor()).and_then(|t| t.rank());
    let Some(rank) = rank else { return Ok(()) };
    for (attr, value) in def.attrs.iter().zip(attrs) {
        let (AttrKind::Axis(of) | AttrKind::Axes(of)) = attr.kind else {
            continue;
        };
        let listed = match value {
            AttrValue::Ints(list) => list.len(),
            _ => 1,
        };
        let rank = match of {
            AxisOf::Input => rank,
            AxisOf::InputEnd => rank + 1,
            AxisOf::Output => rank + listed,
        };
        let resolve = |d: &mut Dim| -> Result<(), OpError> {
            if let Some(axis) = d.as_const() {
                let axis = if of == AxisOf::InputEnd && axis < 0 {
                    axis + rank as i64 - 1
                } else {
                    axis
                };
                // A default that is out of range for a scalar is left to the operator's own inference.
                if rank > 0 || attr.default == Default::Required {
                    *d = Dim::from(resolve_axis(axis, rank).map_err(|e| e.attr(attr.name))?);
                }
            }
            Ok(())
        };
        match value {
            AttrValue::Int(d) => [d].into_iter().try_for_each(resolve)?,
            AttrValue::Ints(list) => list.iter_mut().try_for_each(resolve)?,
            _ => {}
        }
    }
    Ok(())
}
