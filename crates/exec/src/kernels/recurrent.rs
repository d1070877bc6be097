//! Recurrent layers: the products with the inputs of all steps at once, then one product with the state in each step.
//! If weights are the same in every run, those of all gates of a direction are packed once.

use std::borrow::Cow;

use super::call::{or_decline, value};
use super::gates::{Cells, Linear, Plain, Reset, Update, compute};
use super::gemm::{Dst, Layout, gemm};
use super::micro::Micro;
use super::panels::{Left, Panels};
use super::product::{Finish, Start, product};
use super::{Call, Done, Kernel, Results};
use tautomer_op::AttrValue;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::f32("lstm", lstm),
    Kernel::f32("gru", gru),
    Kernel::f32("rnn", |c| run(c, 1, &["Tanh"])),
];

/// Products larger than this are worth more than one thread in each step.
const LARGE: usize = 1 << 21;

fn lstm(call: &Call<'_>) -> Done {
    if call.has(7) || call.flag("input_forget") {
        return Ok(None);
    }
    run(call, 4, &["Sigmoid", "Tanh", "Tanh"])
}

fn gru(call: &Call<'_>) -> Done {
    run(call, 3, &["Sigmoid", "Tanh"])
}

/// The weights of a direction: a row of `inner` numbers for each column of the product.
struct Weights<'a> {
    rows: &'a [f32],
    inner: usize,
    packed: Option<&'a Panels>,
}

impl Weights<'_> {
    /// `out += x w'`, where the rows of `out` have a number for each row of the weights.
    fn add_product(&self, x: &[f32], out: &mut [f32], threads: usize) {
        let columns = self.rows.len() / self.inner.max(1);
        let rows = out.len() / columns.max(1);
        if let Some(packed) = self.packed {
            if rows == 1 {
                return packed.add_row(x, out, threads);
            }
            let left = Left::of_rows(packed.micro(), x, rows);
            return product(&left, packed, columns, out, Finish::from(Start::Result), threads);
        }
        gemm(
            (rows, columns, self.inner),
            out,
            Layout::rows(0, columns),
            Dst::Scale(1.0),
            x,
            Layout::rows(0, self.inner),
            self.rows,
            Layout::rows(0, self.inner).transposed(),
            1.0,
            threads,
        );
    }
}

/// The packed weights of each direction, of the gates before the last `apart` ones and of those.
type Packed = Vec<[Panels; 2]>;

/// Packs weights with this many inputs, if they are the same in every run.
fn packed(
    call: &Call<'_>,
    operand: usize,
    weights: &[f32],
    directions: usize,
    inner: usize,
    first: usize,
) -> Option<std::sync::Arc<Packed>> {
    (call.is_fixed(operand) && inner > 0).then(|| {
        call.prepared(operand, || {
            let of = |d| {
                let (first, last) = part(weights, d, directions).split_at(first * inner);
                [first, last].map(|rows| Panels::of(Micro::best(), rows, inner, true).kept())
            };
            (0..directions).map(of).collect()
        })
    })
}

/// One direction of a layer.
struct Layer<'a> {
    gates: usize,
    hidden: usize,
    /// What the state is multiplied by: for all gates at once, or for all but the last one and for that.
    state: [Weights<'a>; 2],
    /// Added to the product of the last gate with the state, before the reset; empty if the reset comes first.
    inner: &'a [f32],
    linear: bool,
    threads: usize,
}

impl Layer<'_> {
    /// `out += h r'` for some gates.
    fn add_state(&self, weights: &Weights<'_>, h: &[f32], out: &mut [f32]) {
        let threads = if out.len() * self.hidden > LARGE {
            self.threads
        } else {
            1
        };
        weights.add_product(h, out, threads);
    }

    /// Computes the state after a step into `next`, given the products of the inputs in `gates`, and `h` and `c`.
    fn step(&self, gates: &mut [f32], scratch: &mut [f32], h: &[f32], c: &mut [f32], next: &mut [f32]) {
        let (n, width) = (self.hidden, self.gates * self.hidden);
        if self.gates == 4 {
            self.add_state(&self.state[0], h, gates);
            let cells = gates.chunks(width).zip(c.chunks_mut(n)).zip(next.chunks_mut(n));
            return compute(cells.map(|((gates, c), next)| Cells { gates, c, next }));
        }
        if self.gates == 1 {
            self.add_state(&self.state[0], h, gates);
            return compute([Plain { gates, next }].into_iter());
        }
        let states = h.chunks(n).zip(next.chunks_mut(n));
        if self.linear {
            // One product for all gates; the last one is kept apart until it is reset.
            for row in scratch.chunks_mut(width) {
                row[..2 * n].fill(0.0);
                row[2 * n..].copy_from_slice(self.inner);
            }
            self.add_state(&self.state[0], h, scratch);
            let units = gates.chunks(width).zip(scratch.chunks(width)).zip(states);
            return compute(units.map(|((gates, state), (h, next))| Linear { gates, state, h, next }));
        }
        let (two, last) = scratch.split_at_mut(2 * h.len());
        two.fill(0.0);
        self.add_state(&self.state[0], h, two);
        let units = gates.chunks_mut(width).zip(two.chunks(2 * n)).zip(states);
        compute(units.map(|((gates, state), (h, kept))| Reset { gates, state, h, kept }));
        last.fill(0.0);
        self.add_state(&self.state[1], next, last);
        let states = h.chunks(n).zip(next.chunks_mut(n));
        let units = gates.chunks(width).zip(last.chunks(n)).zip(states);
        compute(units.map(|((gates, state), (h, next))| Update { gates, state, h, next }));
    }
}

/// The sequence length of each element of the batch.
fn lengths(call: &Call<'_>, steps: usize, batch: usize) -> Option<Vec<usize>> {
    if !call.has(4) {
        return Some(vec![steps; batch]);
    }
    let given = call.slice::<i32>(4)?;
    let within = |&n: &i32| usize::try_from(n).ok().filter(|n| *n <= steps);
    given.iter().map(within).collect()
}

/// Part `i` of `n` equal parts.
fn part(all: &[f32], i: usize, n: usize) -> &[f32] {
    let each = all.len() / n.max(1);
    &all[i * each..(i + 1) * each]
}

/// The bias added to the product with the inputs, and the one added to the product with the state where it is separate.
fn biases<'b>(bias: &'b [f32], gates: usize, hidden: usize, linear: bool, zeros: &'b [f32]) -> (Vec<f32>, &'b [f32]) {
    if bias.is_empty() {
        return (vec![0.0; gates * hidden], zeros);
    }
    let (wb, rb) = bias.split_at(gates * hidden);
    let apart = if linear { (gates - 1) * hidden } else { gates * hidden };
    let added = |(i, (w, r)): (usize, (&f32, &f32))| if i < apart { w + r } else { *w };
    (
        wb.iter().zip(rb).enumerate().map(added).collect(),
        &rb[(gates - 1) * hidden..],
    )
}

fn run(call: &Call<'_>, gates: usize, activations: &[&str]) -> Done {
    let shapes = or_decline!(call.out_shapes());
    let (all, last) = (&shapes[0], &shapes[1]);
    let batch_first = call.int("layout") == Some(1);
    let (steps, batch, directions, n) = if batch_first {
        (all[1], all[0], all[2], all[3])
    } else {
        (all[0], all[2], all[1], all[3])
    };
    let usual = match call.attr("activations") {
        AttrValue::Strs(names) => names.iter().map(|name| &**name).eq(activations.repeat(directions)),
        _ => false,
    };
    if !usual || !call.attr("clip").is_none() || n == 0 || batch == 0 {
        return Ok(None);
    }
    let (x, w, r) = (
        or_decline!(call.f32s(0)),
        or_decline!(call.f32s(1)),
        or_decline!(call.f32s(2)),
    );
    let optional = |at: usize| match call.has(at) {
        true => call.f32s(at),
        false => Some(Cow::Borrowed(&[][..])),
    };
    let (bias, h0) = (or_decline!(optional(3)), or_decline!(optional(5)));
    let c0 = match gates {
        4 => or_decline!(optional(6)),
        _ => Cow::Borrowed(&[][..]),
    };
    let lengths = or_decline!(lengths(call, steps, batch));
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let input = call.shape(0)[2];
    let width = gates * n;
    let linear = call.flag("linear_before_reset");
    let zeros = vec![0.0; n];
    let mut y = call.filled(0, all.iter().product(), 0.0f32);
    let mut y_h = call.filled(1, last.iter().product(), 0.0f32);
    let of_cells: usize = if gates == 4 { last.iter().product() } else { 0 };
    let mut y_c = call.filled(2, of_cells, 0.0f32);
    let mut products = call.room::<f32>(steps * batch * width);
    let (mut now, mut scratch) = (call.room::<f32>(batch * width), call.room::<f32>(batch * width));
    // The reset of a gated unit comes between the products of its first two gates and of the last one, if it is of the
    // state itself.
    let together = if gates == 3 && !linear { 2 * n } else { width };
    let packed_w = packed(call, 1, &w, directions, input, width);
    let packed_r = packed(call, 2, &r, directions, n, together);
    for d in 0..directions {
        let (added, inner) = biases(part(&bias, d, directions), gates, n, linear, &zeros);
        products.chunks_mut(width).for_each(|row| row.copy_from_slice(&added));
        let weights = Weights {
            rows: part(&w, d, directions),
            inner: input,
            packed: packed_w.as_ref().map(|all| &all[d][0]),
        };
        weights.add_product(&x, &mut products, call.threads);
        let (first, last) = part(&r, d, directions).split_at(together * n);
        let state = [(first, 0), (last, 1)].map(|(rows, k)| Weights {
            rows,
            inner: n,
            packed: packed_r.as_ref().map(|all| &all[d][k]),
        });
        let layer = Layer {
            gates,
            hidden: n,
            state,
            inner,
            linear,
            threads: call.threads,
        };
        let state_at = |k: usize| n * if batch_first { k * directions + d } else { d * batch + k };
        let start = |initial: &[f32]| -> Vec<f32> {
            match initial.is_empty() {
                true => vec![0.0; batch * n],
                false => (0..batch).flat_map(|k| &initial[state_at(k)..][..n]).copied().collect(),
            }
        };
        let (mut h, mut c) = (start(&h0), start(&c0));
        let mut next = vec![0.0f32; batch * n];
        let mut kept = Vec::new();
        let backward = d == 1 || call.text("direction") == "reverse";
        for step in 0..longest {
            // The position in the sequence, for sequences that have not ended.
            let place = |k: usize| match lengths[k] {
                length if step >= length => None,
                length if backward => Some(length - 1 - step),
                _ => Some(step),
            };
            let row = |k: usize, t: usize| if batch_first { k * steps + t } else { t * batch + k };
            for (k, gates) in now.chunks_mut(width).enumerate() {
                let t = place(k).unwrap_or(0);
                gates.copy_from_slice(&products[row(k, t) * width..][..width]);
            }
            kept.clone_from(&c);
            layer.step(&mut now, &mut scratch, &h, &mut c, &mut next);
            for k in 0..batch {
                let own = k * n..(k + 1) * n;
                match place(k) {
                    Some(t) => {
                        let at = n * if batch_first {
                            (k * steps + t) * directions + d
                        } else {
                            (t * directions + d) * batch + k
                        };
                        y[at..at + n].copy_from_slice(&next[own.clone()]);
                        h[own.clone()].copy_from_slice(&next[own]);
                    }
                    None => c[own.clone()].copy_from_slice(&kept[own]),
                }
            }
        }
        for k in 0..batch {
            let (at, own) = (state_at(k), k * n..(k + 1) * n);
            y_h[at..at + n].copy_from_slice(&h[own.clone()]);
            if gates == 4 {
                y_c[at..at + n].copy_from_slice(&c[own]);
            }
        }
    }
    [products, now, scratch].into_iter().for_each(|room| call.give(room));
    let mut out = Results::from_iter([value(all, y)?, value(last, y_h)?]);
    if gates == 4 {
        out.push(value(last, y_c)?);
    }
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use super::*;
    use tautomer_tensor::Tensor;

    /// Weights so small that rounding errors do not grow from step to step.
    fn weights(shape: &[usize], seed: u64) -> Tensor {
        let numbers = f32s(shape, seed).to_f64s().unwrap();
        Tensor::from_f64s(
            tautomer_tensor::DType::F32,
            shape,
            &numbers.iter().map(|x| x / 8.0).collect::<Vec<_>>(),
        )
        .unwrap()
    }

    fn case(op: &'static str, gates: usize, extents: [usize; 4], directions: usize, layout: i64) -> Case {
        let [steps, batch, input, n] = extents;
        let x = if layout == 1 {
            [batch, steps, input]
        } else {
            [steps, batch, input]
        };
        let direction = if directions == 2 { "bidirectional" } else { "reverse" };
        Case::new(
            op,
            &[
                f32s(&x, 1),
                weights(&[directions, gates * n, input], 2),
                weights(&[directions, gates * n, n], 3),
            ],
        )
        .int("layout", layout)
        .attr("direction", AttrValue::str(direction))
    }

    #[test]
    fn layers_agree_with_the_reference() {
        for extents in [[1, 1, 1, 1], [5, 3, 4, 6], [9, 2, 17, 33], [0, 2, 3, 4], [4, 1, 0, 8]] {
            let [_, batch, _, n] = extents;
            for (directions, layout) in [(1, 0), (2, 0), (1, 1), (2, 1)] {
                let state = |seed| {
                    let shape = if layout == 1 {
                        [batch, directions, n]
                    } else {
                        [directions, batch, n]
                    };
                    Some(f32s(&shape, seed))
                };
                for (op, gates) in [("lstm", 4), ("gru", 3), ("rnn", 1)] {
                    let bias = Some(f32s(&[directions, 2 * gates * n], 4));
                    let plain = || case(op, gates, extents, directions, layout).ulp(1e-5);
                    plain().check();
                    let full = plain().operand(bias).operand(None).operand(state(5));
                    match op {
                        "lstm" => full.operand(state(6)).check(),
                        _ => full.check(),
                    };
                }
                for linear in [false, true] {
                    let bias = Some(f32s(&[directions, 6 * n], 4));
                    case("gru", 3, extents, directions, layout)
                        .ulp(1e-5)
                        .operand(bias)
                        .attr("linear_before_reset", AttrValue::Bool(linear))
                        .check();
                }
            }
        }
    }

    #[test]
    fn sequences_end_where_they_are_said_to() {
        for (op, gates) in [("lstm", 4), ("gru", 3), ("rnn", 1)] {
            for (directions, layout) in [(1, 0), (2, 1)] {
                let lengths = Tensor::vector(vec![5i32, 0, 2]);
                case(op, gates, [5, 3, 4, 6], directions, layout)
                    .ulp(1e-5)
                    .operand(None)
                    .operand(Some(lengths))
                    .check();
            }
        }
    }

    #[test]
    fn other_activations_are_left_to_the_reference() {
        let names = AttrValue::Strs(vec!["Relu".into(), "Tanh".into()]);
        let declined = !case("gru", 3, [2, 1, 2, 2], 1, 0)
            .attr("activations", names)
            .may_decline()
            .check();
        assert!(declined);
    }
}
