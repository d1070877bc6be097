//! The steps of recurrent layers.

use super::activation::{self, Activation, activations};
use crate::common::{Out, count, flat};
use crate::value::shaped;
use crate::{AttrValue, Cell, Eval, Number, OpError, ShapeRule, System, Value};

/// The kind of cell in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rnn,
    Gru,
    Lstm,
}

impl Kind {
    /// The number of blocks of rows in the weights.
    pub(super) const fn gates(self) -> usize {
        match self {
            Kind::Rnn => 1,
            Kind::Gru => 3,
            Kind::Lstm => 4,
        }
    }

    /// The default activations of one direction.
    pub(super) const fn activations(self) -> &'static [&'static str] {
        match self {
            Kind::Rnn => &["Tanh"],
            Kind::Gru => &["Sigmoid", "Tanh"],
            Kind::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }

    /// How the operands and attributes of a layer fit together.
    pub(super) const fn shapes(self) -> ShapeRule {
        ShapeRule::Recurrent(Cell {
            gates: self.gates(),
            activations: self.activations().len(),
            names: activation::NAMES,
        })
    }
}

/// One direction of a layer.
struct Layer<'a, S> {
    kind: Kind,
    hidden: usize,
    input: usize,
    w: &'a [S],
    r: &'a [S],
    /// The biases of the products with the input and with the state; empty if there are none.
    wb: &'a [S],
    rb: &'a [S],
    peepholes: &'a [S],
    acts: &'a [Activation<S>],
    /// `linear_before_reset` or `input_forget`.
    flag: bool,
}

/// Row `row` of a matrix times `x`, plus the bias of that row.
fn product<S: Number>(matrix: &[S], bias: &[S], row: usize, x: &[S]) -> S {
    let start = row * x.len();
    let sum = matrix[start..start + x.len()]
        .iter()
        .zip(x)
        .fold(S::zero(), |sum, (a, b)| sum.add(&a.mul(b)));
    match bias.get(row) {
        Some(b) => sum.add(b),
        None => sum,
    }
}

impl<S: Number> Layer<'_, S> {
    /// The state after the input `x`; `c` is the cell of an LSTM, which is updated.
    fn step(&self, x: &[S], h: &[S], c: &mut [S]) -> Result<Vec<S>, OpError> {
        let n = self.hidden;
        let from_x = |row: usize| product(self.w, self.wb, row, x);
        let from_h = |row: usize| product(self.r, self.rb, row, h);
        let gate = |act: usize, row: usize| self.acts[act].of(from_x(row).add(&from_h(row)));
        let one = S::one();
        match self.kind {
            Kind::Rnn => (0..n).map(|i| Ok(gate(0, i)?)).collect(),
            Kind::Gru => {
                let reset = (n..2 * n).map(|i| gate(0, i)).collect::<Result<Vec<S>, _>>()?;
                let scaled: Vec<S> = reset.iter().zip(h).map(|(r, h)| r.mul(h)).collect();
                (0..n)
                    .map(|i| {
                        let z = gate(0, i)?;
                        let row = 2 * n + i;
                        let state = match self.flag {
                            true => reset[i].mul(&from_h(row)),
                            false => product(self.r, self.rb, row, &scaled),
                        };
                        let new = self.acts[1].of(from_x(row).add(&state))?;
                        Ok(one.sub(&z).mul(&new).add(&z.mul(&h[i])))
                    })
                    .collect()
            }
            Kind::Lstm => (0..n)
                .map(|i| {
                    let peep = |gate: usize, sum: S, cell: &S| match self.peepholes.get(gate * n + i) {
                        Some(p) => sum.add(&p.mul(cell)),
                        None => sum,
                    };
                    let sum = |gate: usize| from_x(gate * n + i).add(&from_h(gate * n + i));
                    let enter = self.acts[0].of(peep(0, sum(0), &c[i]))?;
                    let forget = match self.flag {
                        true => one.sub(&enter),
                        false => self.acts[0].of(peep(2, sum(2), &c[i]))?,
                    };
                    let new = self.acts[1].of(sum(3))?;
                    let cell = forget.mul(&c[i]).add(&enter.mul(&new));
                    let out = self.acts[0].of(peep(1, sum(1), &cell))?;
                    // The clip bounds the sums of gates, not the cell, as in ONNX Runtime.
                    let h = out.mul(&self.acts[2].at(cell.clone())?);
                    c[i] = cell;
                    Ok(h)
                })
                .collect(),
        }
    }
}

/// Part `i` of `n` equal ones; empty if the list is empty.
fn part<S>(all: &[S], i: usize, n: usize) -> &[S] {
    let each = all.len() / n.max(1);
    all.get(i * each..(i + 1) * each).unwrap_or_default()
}

fn operand<S: System>(e: &Eval<'_, S>, i: usize) -> Result<Vec<S>, OpError> {
    match e.optional(i) {
        Some(value) => Ok(flat(value.real()?)),
        None => Ok(Vec::new()),
    }
}

/// The number of steps of each batch element.
fn lengths<S: System>(e: &Eval<'_, S>, steps: usize, batch: usize) -> Result<Vec<usize>, OpError> {
    let Some(value) = e.optional(4) else {
        return Ok(vec![steps; batch]);
    };
    value
        .int()?
        .iter()
        .map(|&n| {
            usize::try_from(n)
                .ok()
                .filter(|n| *n <= steps)
                .ok_or_else(|| OpError::new(format!("a sequence of length {n} does not fit {steps} steps")).at(4))
        })
        .collect()
}

/// All states, the last state, and the last cell of an LSTM.
pub(super) fn run<S: System>(e: &Eval<'_, S>, kind: Kind) -> Out<S> {
    let (x, w, r) = (operand(e, 0)?, operand(e, 1)?, operand(e, 2)?);
    let (b, initial_h) = (operand(e, 3)?, operand(e, 5)?);
    let (initial_c, peepholes) = match kind {
        Kind::Lstm => (operand(e, 6)?, operand(e, 7)?),
        _ => (Vec::new(), Vec::new()),
    };
    let batch_first = e.int("layout") == Some(1);
    let (all, last) = (e.out_shape(0)?, e.out_shape(1)?);
    let (steps, batch, directions) = if batch_first {
        (all[1], all[0], all[2])
    } else {
        (all[0], all[2], all[1])
    };
    let hidden = all[3];
    let input = e.operand(0)?.shape()[2];
    let lengths = lengths(e, steps, batch)?;
    let names: Vec<&str> = match e.attr("activations") {
        AttrValue::Strs(list) => list.iter().map(|name| &**name).collect(),
        _ => kind.activations().repeat(directions),
    };
    let (alphas, betas) = (e.floats("activation_alpha"), e.floats("activation_beta"));
    let acts = activations::<S>(
        &names,
        &alphas.unwrap_or_default(),
        &betas.unwrap_or_default(),
        e.float("clip"),
    )?;
    let each = kind.activations().len();
    if acts.len() < each * directions {
        return Err(OpError::new("an activation is missing").attr("activations"));
    }
    let mut y = vec![S::zero(); count(&all)?];
    let mut y_h = vec![S::zero(); count(&last)?];
    let mut y_c = y_h.clone();
    for d in 0..directions {
        let bias = part(&b, d, directions);
        let layer = Layer {
            kind,
            hidden,
            input,
            w: part(&w, d, directions),
            r: part(&r, d, directions),
            wb: part(bias, 0, 2),
            rb: part(bias, 1, 2),
            peepholes: part(&peepholes, d, directions),
            acts: &acts[d * each..(d + 1) * each],
            flag: e.flag("linear_before_reset") || e.flag("input_forget"),
        };
        let backward = d == 1 || e.text("direction") == "reverse";
        for (k, &length) in lengths.iter().enumerate() {
            let at = hidden * if batch_first { k * directions + d } else { d * batch + k };
            let start = |initial: &[S]| {
                initial
                    .get(at..at + hidden)
                    .map_or_else(|| vec![S::zero(); hidden], <[S]>::to_vec)
            };
            let (mut h, mut c) = (start(&initial_h), start(&initial_c));
            for step in 0..length {
                let t = if backward { length - 1 - step } else { step };
                let row = layer.input * if batch_first { k * steps + t } else { t * batch + k };
                h = layer.step(&x[row..row + layer.input], &h, &mut c)?;
                let place = if batch_first {
                    (k * steps + t) * directions + d
                } else {
                    (t * directions + d) * batch + k
                };
                y[place * hidden..(place + 1) * hidden].clone_from_slice(&h);
            }
            y_h[at..at + hidden].clone_from_slice(&h);
            y_c[at..at + hidden].clone_from_slice(&c);
        }
    }
    let mut out = vec![Value::Real(shaped(&all, y)?), Value::Real(shaped(&last, y_h)?)];
    if kind == Kind::Lstm {
        out.push(Value::Real(shaped(&last, y_c)?));
    }
    Ok(out)
}
