//! Linear attention: each head has a matrix that keys and values are written to and queries read from.

use super::common::{Out, count, flat, typed};
use super::value::shaped;
use super::{AttrDef, AttrKind, CostRule, Default, Eval, Formula, Func, Infer, OpDef, OpError, Operand, System, Value};
use crate::reference;
use tautomer_tensor::{DType, Dim, Type};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[OpDef::new(
    "linear_attention",
    "Queries a decaying state to which each step adds a product of key and value; also returns the state.",
)
.operands(&[
    Operand::one("query"),
    Operand::one("key"),
    Operand::one("value"),
    Operand::optional("past_state"),
    Operand::optional("decay"),
    Operand::optional("beta"),
])
.attrs(&[
    AttrDef::new(
        "chunk_size",
        AttrKind::Int,
        Default::Int(64),
        "how many steps a kernel may process together; no effect here",
    ),
    AttrDef::new(
        "kv_num_heads",
        AttrKind::Int,
        Default::Required,
        "the number of heads of `key` and `value`",
    ),
    AttrDef::new(
        "q_num_heads",
        AttrKind::Int,
        Default::Required,
        "the number of heads of `query`",
    ),
    AttrDef::new(
        "scale",
        AttrKind::Float,
        Default::Float(0.0),
        "factor of the result; 0 for one over the square root of the size of a key",
    ),
    AttrDef::new(
        "update_rule",
        AttrKind::OneOf(&["linear", "gated", "delta", "gated_delta"]),
        Default::Str("gated_delta"),
        "whether the state decays (gated), and whether stored values are subtracted from new ones (delta)",
    ),
])
.infer(infer)
.reference(reference!(linear_attention))
.formula(Formula::Whole)
.cost(CostRule::Elementwise(64.0))
.onnx("LinearAttention", 27)];

/// The size of a head in operand `at`, if it is known.
fn head_size(call: &Infer<'_>, at: usize, heads: i64) -> Result<Option<i64>, OpError> {
    let ty = call.tensor(at)?;
    let name = call.def.operands[at].name;
    let Some(shape) = &ty.shape else { return Ok(None) };
    if shape.len() != 3 {
        return Err(OpError::new(format!("`{name}` must have three axes, but is {ty}")).at(at));
    }
    match shape[2].as_const() {
        Some(all) if all % heads != 0 => Err(OpError::new(format!(
            "axis 2 of `{name}` has size {all}, which is not a multiple of {heads} heads"
        ))
        .at(at)),
        all => Ok(all.map(|all| all / heads)),
    }
}

fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    for at in [1, 2, 4, 5] {
        if call.optional(at)?.is_some() {
            call.same_dtype(0, at)?;
        }
    }
    let heads = |name: &str| call.const_int(name).unwrap_or(1);
    let (q_heads, kv_heads) = (heads("q_num_heads"), heads("kv_num_heads"));
    if kv_heads < 1 || q_heads < 1 || q_heads % kv_heads != 0 {
        let error = OpError::new(format!(
            "{q_heads} heads of `query` cannot share {kv_heads} heads of `key`"
        ));
        return Err(error.attr("q_num_heads"));
    }
    let rule = call.text("update_rule");
    for (at, needed) in [(4, rule.starts_with("gated")), (5, rule.ends_with("delta"))] {
        let name = call.def.operands[at].name;
        if call.optional(at)?.is_some() != needed {
            let verb = if needed { "needs" } else { "has no" };
            return Err(OpError::new(format!("update rule {rule:?} {verb} `{name}`")).attr("update_rule"));
        }
    }
    let query = head_size(call, 0, q_heads)?;
    let key = head_size(call, 1, kv_heads)?;
    let value = head_size(call, 2, kv_heads)?;
    if let (Some(q), Some(k)) = (query, key)
        && q != k
    {
        return Err(
            OpError::new(format!("a head of `query` has {q} elements, but one of `key` has {k}"))
                .at(0)
                .and(1),
        );
    }
    let state_dtype = call.optional(3)?.map_or(dtype, |t| t.dtype);
    let extent = |known: Option<i64>| known.map_or_else(|| call.unknown(), Dim::Const);
    let Some(shape) = call.shape(0)? else {
        return Ok(Type::Tuple(vec![typed(dtype, None), typed(state_dtype, None)]));
    };
    let width = extent(value) * Dim::Const(q_heads);
    let out = [shape[0].clone(), shape[1].clone(), width].into_iter().collect();
    let state = [
        shape[0].clone(),
        Dim::Const(kv_heads),
        extent(query.or(key)),
        extent(value),
    ]
    .into_iter()
    .collect();
    Ok(Type::Tuple(vec![
        typed(dtype, Some(out)),
        typed(state_dtype, Some(state)),
    ]))
}

fn linear_attention<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (out_shape, state_shape) = (e.out_shape(0)?, e.out_shape(1)?);
    let (batch, steps, width) = (out_shape[0], out_shape[1], out_shape[2]);
    let (heads, n, m) = (state_shape[1], state_shape[2], state_shape[3]);
    let readers = usize::try_from(e.int("q_num_heads").unwrap_or(1)).unwrap_or(1);
    let group = readers / heads.max(1);
    let real = |at: usize| -> Result<Vec<S>, OpError> {
        match e.optional(at) {
            Some(value) => Ok(flat(value.real()?)),
            None => Ok(Vec::new()),
        }
    };
    let (query, key, value) = (real(0)?, real(1)?, real(2)?);
    let (decay, beta) = (real(4)?, real(5)?);
    let wrong = || OpError::new("the dimensions of the operands do not match the number of heads");
    let rows = batch * steps;
    // The number of elements of decay and beta for each step.
    let per_step = |list: &[S], allowed: &[usize], at: usize| -> Result<usize, OpError> {
        let each = list.len() / rows.max(1);
        match list.is_empty() || allowed.contains(&each) {
            true => Ok(each),
            false => Err(OpError::new(format!("{each} numbers for each step do not fit {heads} heads")).at(at)),
        }
    };
    let decays = per_step(&decay, &[heads, heads * n], 4)?;
    let betas = per_step(&beta, &[heads, 1], 5)?;
    if query.len() != rows * readers * n || key.len() != rows * heads * n || value.len() != rows * heads * m {
        return Err(wrong());
    }
    let scale = match e.float("scale") {
        Some(scale) if scale != 0.0 => S::from_f64(scale)?,
        _ => S::one().div(&S::func(Func::Sqrt, &S::from_int(n as i128), None)?)?,
    };
    let mut state = real(3)?;
    if state.is_empty() {
        state = vec![S::zero(); count(&state_shape)?];
    }
    let mut out = vec![S::zero(); count(&out_shape)?];
    if state.len() != count(&state_shape)? {
        return Err(wrong());
    }
    for b in 0..batch {
        for h in 0..heads {
            let start = (b * heads + h) * n * m;
            let cells = &mut state[start..start + n * m];
            for t in 0..steps {
                let row = b * steps + t;
                let k = &key[(row * heads + h) * n..][..n];
                let v = &value[(row * heads + h) * m..][..m];
                if decays > 0 {
                    for i in 0..n {
                        let at = if decays == heads { h } else { h * n + i };
                        let factor = S::func(Func::Exp, &decay[row * decays + at], None)?;
                        for cell in &mut cells[i * m..(i + 1) * m] {
                            *cell = cell.mul(&factor);
                        }
                    }
                }
                let read = |cells: &[S], by: &[S], j: usize| {
                    (0..n).fold(S::zero(), |sum, i| sum.add(&by[i].mul(&cells[i * m + j])))
                };
                for j in 0..m {
                    let new = match betas {
                        0 => v[j].clone(),
                        _ => {
                            let rate = &beta[row * betas + if betas == 1 { 0 } else { h }];
                            rate.mul(&v[j].sub(&read(cells, k, j)))
                        }
                    };
                    for i in 0..n {
                        cells[i * m + j] = cells[i * m + j].add(&k[i].mul(&new));
                    }
                    for g in h * group..(h + 1) * group {
                        let q = &query[(row * readers + g) * n..][..n];
                        out[row * width + g * m + j] = scale.mul(&read(cells, q, j));
                    }
                }
            }
        }
    }
    Ok(vec![
        Value::Real(shaped(&out_shape, out)?),
        Value::Real(shaped(&state_shape, state)?),
    ])
}
