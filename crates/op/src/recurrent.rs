//! Recurrent layers: a cell that runs over a sequence forward, backward, or both ways.

use super::common::{set, typed, unify};
use super::{AttrDef, AttrKind, AttrValue, CostRule, Default, Formula, Infer, OpDef, OpError, Operand, cost::extent};
use crate::reference;
use tautomer_tensor::{DType, Dim, Shape, Type};

mod activation;
mod cell;

use activation::Function;
use cell::Kind;

const DIRECTIONS: &[&str] = &["forward", "reverse", "bidirectional"];
const ALPHA: AttrDef = AttrDef::new(
    "activation_alpha",
    AttrKind::Floats,
    Default::None,
    "first parameters of the activations that have one",
);
const BETA: AttrDef = AttrDef::new(
    "activation_beta",
    AttrKind::Floats,
    Default::None,
    "second parameters of the activations that have one",
);
const ACTIVATIONS: AttrDef = AttrDef::new(
    "activations",
    AttrKind::Strs,
    Default::None,
    "names of the activations, one direction after the other",
);
const CLIP: AttrDef = AttrDef::new(
    "clip",
    AttrKind::Float,
    Default::None,
    "the largest magnitude of the input to a gate's activation",
);
const DIRECTION: AttrDef = AttrDef::new(
    "direction",
    AttrKind::OneOf(DIRECTIONS),
    Default::Str("forward"),
    "forward, reverse or bidirectional",
);
const HIDDEN: AttrDef = AttrDef::new(
    "hidden_size",
    AttrKind::Int,
    Default::None,
    "the size of the hidden state; inferred from `r`",
);
const LAYOUT: AttrDef = AttrDef::new(
    "layout",
    AttrKind::Int,
    Default::Int(0),
    "0: the first axis is the steps; 1: the first axis is the batch",
);
const XWR: [Operand; 6] = [
    Operand::one("x"),
    Operand::one("w"),
    Operand::one("r"),
    Operand::or_zeros("b"),
    Operand::optional("sequence_lens"),
    Operand::or_zeros("initial_h"),
];

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "rnn",
        "A layer `h' = f(x w^T + h r^T + b)` over the steps of a sequence; returns all states, and the last.",
    )
    .operands(&XWR)
    .attrs(&[ALPHA, BETA, ACTIVATIONS, CLIP, DIRECTION, HIDDEN, LAYOUT])
    .infer(infer)
    .canonical(canonical)
    .reference(reference!(|e| cell::run(e, Kind::Rnn)))
    .formula(Formula::Whole)
    .shapes(Kind::Rnn.shapes())
    .cost(CostRule::Flops(flops))
    .onnx("RNN", 7),
    OpDef::new(
        "gru",
        "A layer of gated recurrent units over the steps of a sequence; returns all states, and the last.",
    )
    .operands(&XWR)
    .attrs(&[
        ALPHA,
        BETA,
        ACTIVATIONS,
        CLIP,
        DIRECTION,
        HIDDEN,
        LAYOUT,
        AttrDef::new(
            "linear_before_reset",
            AttrKind::Bool,
            Default::Bool(false),
            "whether the reset gate scales the product with the state instead of the state",
        ),
    ])
    .infer(infer)
    .canonical(canonical)
    .reference(reference!(|e| cell::run(e, Kind::Gru)))
    .formula(Formula::Whole)
    .shapes(Kind::Gru.shapes())
    .cost(CostRule::Flops(flops))
    .onnx("GRU", 7),
    OpDef::new(
        "lstm",
        "A layer of long short-term memory over the steps of a sequence; returns all states, the last, and the last cell.",
    )
    .operands(&[
        XWR[0],
        XWR[1],
        XWR[2],
        XWR[3],
        XWR[4],
        XWR[5],
        Operand::or_zeros("initial_c"),
        Operand::or_zeros("p"),
    ])
    .attrs(&[
        ALPHA,
        BETA,
        ACTIVATIONS,
        CLIP,
        DIRECTION,
        HIDDEN,
        LAYOUT,
        AttrDef::new(
            "input_forget",
            AttrKind::Bool,
            Default::Bool(false),
            "whether the forget gate is one minus the input gate",
        ),
    ])
    .infer(infer)
    .canonical(canonical)
    .reference(reference!(|e| cell::run(e, Kind::Lstm)))
    .formula(Formula::Whole)
    .shapes(Kind::Lstm.shapes())
    .cost(CostRule::Flops(flops))
    .onnx("LSTM", 7),
];

fn kind(call: &Infer<'_>) -> Kind {
    match call.def.name {
        "lstm" => Kind::Lstm,
        "gru" => Kind::Gru,
        _ => Kind::Rnn,
    }
}

/// Fills in the activations and the size of the state.
fn canonical(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let kind = kind(call);
    let directions = if call.text("direction") == "bidirectional" {
        2
    } else {
        1
    };
    let count = kind.activations().len() * directions;
    let names: Vec<&'static str> = match call.attr("activations") {
        AttrValue::Strs(list) if list.len() >= count => list[..count]
            .iter()
            .map(|name| Function::spelling(name))
            .collect::<Result<_, _>>()?,
        AttrValue::Strs(list) => {
            return Err(OpError::new(format!(
                "`activations` has {} names, but {count} are needed",
                list.len()
            ))
            .attr("activations"));
        }
        _ => kind.activations().repeat(directions),
    };
    let names = names.into_iter().map(Into::into).collect();
    set(call, attrs, "activations", AttrValue::Strs(names));
    if call.int("hidden_size").is_none()
        && let Some(hidden) = call.shape(2)?.and_then(|s| s.get(2)).and_then(Dim::as_const)
    {
        set(call, attrs, "hidden_size", AttrValue::int(hidden));
    }
    Ok(())
}

/// The dimensions shared by the operands of a call.
struct Extents {
    steps: Dim,
    batch: Dim,
    input: Dim,
    hidden: Dim,
}

/// Unifies `known` with the dimension found; fails if operand `at` does not fit.
fn agree(call: &Infer<'_>, at: usize, axis: usize, known: &mut Dim, found: &Dim) -> Result<(), OpError> {
    let name = call.def.operands[at].name;
    *known = unify(known, found)
        .ok_or_else(|| OpError::new(format!("axis {axis} of `{name}` is {found}, but must be {known}")).at(at))?;
    Ok(())
}

/// The shape of operand `at`, if it is given and known.
fn shape_of<'a>(call: &Infer<'a>, at: usize, rank: usize) -> Result<Option<&'a Shape>, OpError> {
    let Some(ty) = call.optional(at)? else { return Ok(None) };
    match &ty.shape {
        Some(shape) if shape.len() != rank => {
            let name = call.def.operands[at].name;
            Err(OpError::new(format!("`{name}` must have {rank} axes, but is {ty}")).at(at))
        }
        shape => Ok(shape.as_ref()),
    }
}

fn extents(call: &Infer<'_>, gates: i64, directions: i64, layout: i64) -> Result<Extents, OpError> {
    let mut e = Extents {
        steps: call.unknown(),
        batch: call.unknown(),
        input: call.unknown(),
        hidden: call.int("hidden_size").unwrap_or_else(|| call.unknown()),
    };
    let (first, second) = if layout == 1 { (1, 0) } else { (0, 1) };
    if let Some(x) = shape_of(call, 0, 3)? {
        (e.steps, e.batch, e.input) = (x[first].clone(), x[second].clone(), x[2].clone());
    }
    let mut count = Dim::Const(directions);
    if let Some(r) = shape_of(call, 2, 3)? {
        agree(call, 2, 0, &mut count, &r[0])?;
        agree(call, 2, 2, &mut e.hidden, &r[2])?;
        agree(call, 2, 1, &mut (Dim::Const(gates) * e.hidden.clone()), &r[1])?;
    }
    if let Some(w) = shape_of(call, 1, 3)? {
        agree(call, 1, 0, &mut count, &w[0])?;
        agree(call, 1, 1, &mut (Dim::Const(gates) * e.hidden.clone()), &w[1])?;
        agree(call, 1, 2, &mut e.input, &w[2])?;
    }
    if let Some(b) = shape_of(call, 3, 2)? {
        agree(call, 3, 0, &mut count, &b[0])?;
        agree(call, 3, 1, &mut (Dim::Const(2 * gates) * e.hidden.clone()), &b[1])?;
    }
    if let Some(lens) = shape_of(call, 4, 1)? {
        agree(call, 4, 0, &mut e.batch, &lens[0])?;
    }
    for at in 5..call.def.operands.len().min(7) {
        if let Some(h) = shape_of(call, at, 3)? {
            agree(call, at, first, &mut count, &h[first])?;
            agree(call, at, second, &mut e.batch, &h[second])?;
            agree(call, at, 2, &mut e.hidden, &h[2])?;
        }
    }
    if let Some(p) = shape_of(call, 7, 2)? {
        agree(call, 7, 0, &mut count, &p[0])?;
        agree(call, 7, 1, &mut (Dim::Const(3) * e.hidden.clone()), &p[1])?;
    }
    Ok(e)
}

fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    for at in (1..call.def.operands.len()).filter(|&at| at != 4) {
        if call.optional(at)?.is_some() {
            call.same_dtype(0, at)?;
        }
    }
    if call.optional(4)?.is_some() {
        call.expect_dtype(4, |d| d == DType::I32, "a list of i32")?;
    }
    let layout = call.const_int("layout").unwrap_or(0);
    if !(0..=1).contains(&layout) {
        return Err(OpError::new(format!("`layout` must be 0 or 1, but is {layout}")).attr("layout"));
    }
    if let Some(clip) = call.float("clip")
        && clip.is_nan()
    {
        return Err(OpError::new("`clip` must not be NaN").attr("clip"));
    }
    let directions = if call.text("direction") == "bidirectional" {
        2
    } else {
        1
    };
    let kind = kind(call);
    let e = extents(call, kind.gates() as i64, directions, layout)?;
    let count = Dim::Const(directions);
    let (all, last) = if layout == 1 {
        (
            [e.batch.clone(), e.steps, count.clone(), e.hidden.clone()],
            [e.batch, count, e.hidden],
        )
    } else {
        (
            [e.steps, count.clone(), e.batch.clone(), e.hidden.clone()],
            [count, e.batch, e.hidden],
        )
    };
    let state = || typed(dtype, Some(last.iter().cloned().collect()));
    let mut items = vec![typed(dtype, Some(all.into_iter().collect())), state()];
    if kind == Kind::Lstm {
        items.push(state());
    }
    Ok(Type::Tuple(items))
}

/// Two products for each step, and several operations for each gate.
fn flops(call: &Infer<'_>, _: &Type) -> f64 {
    let axis = |at: usize, axis: usize| match call.shape(at) {
        Ok(Some(shape)) => shape.get(axis).map_or(32.0, extent),
        _ => 32.0,
    };
    let rows = axis(0, 0) * axis(0, 1);
    rows * axis(2, 0) * axis(2, 1) * (2.0 * (axis(0, 2) + axis(2, 2)) + 10.0)
}
