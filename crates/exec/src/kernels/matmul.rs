//! Matrix products: `matmul` with broadcast batches, and `gemm`.

use super::call::{done, or_decline};
use super::few_rows::{FEW, few_rows};
use super::finish::After;
use super::gemm::{Dst, Layout, gemm};
use super::micro::Micro;
use super::panels::{Left, Panels};
use super::product::{Finish, PARALLEL, Right, Start, product as packed_product};
use super::threads::in_parts;
use super::{Call, Done, Extents, Kernel, pairs};
use crate::Precision;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::products("matmul", matmul, product_in_bf16),
    Kernel::products("batch_matmul", batch_matmul, product_in_bf16),
    Kernel::products("dense", dense, product_in_bf16),
    Kernel::products("fused_matmul", fused_matmul, product_in_bf16),
    Kernel::products("gemm", gemm_op, gemm_in_bf16),
];

fn matmul(call: &Call<'_>) -> Done {
    product(call, false, None)
}

/// `x y'`
fn batch_matmul(call: &Call<'_>) -> Done {
    product(call, true, None)
}

/// `x w' + b`
fn dense(call: &Call<'_>) -> Done {
    let bias = call.f32s(2);
    let n = call.shape(1).first().copied();
    if call.has(2) && (call.shape(2).len() != 1 || bias.as_ref().map(|b| b.len()) != n) {
        return Ok(None);
    }
    product(call, true, bias.as_deref())
}

/// `x w + b`, or `x w' + b`, and the steps after it.
fn fused_matmul(call: &Call<'_>) -> Done {
    let transposed = call.flag("transposed");
    let bias = call.f32s(2);
    if call.has(2) {
        let n = match call.shape(1) {
            [.., n, _] if transposed => Some(*n),
            [.., _, n] if !transposed => Some(*n),
            _ => None,
        };
        if call.shape(2).len() != 1 || n.is_none() || bias.as_ref().map(|b| b.len()) != n {
            return Ok(None);
        }
    }
    product(call, transposed, bias.as_deref())
}

/// The sizes of a product of the first two operands.
pub(super) struct Sizes<'a> {
    /// The dimensions of both batches, broadcast.
    pub(super) batch: Extents,
    pub(super) batch_a: &'a [usize],
    pub(super) batch_b: &'a [usize],
    pub(super) m: usize,
    pub(super) k: usize,
    pub(super) n: usize,
}

impl<'a> Sizes<'a> {
    /// The second operand is transposed if `transposed`; `shape` is that of the result.
    pub(super) fn of(call: &Call<'a>, transposed: bool, shape: &[usize]) -> Option<Sizes<'a>> {
        let (sa, sb) = (call.shape(0), call.shape(1));
        // A vector on the left is treated as one row, on the right as one column.
        let (batch_a, m, k) = match sa {
            [] => return None,
            [k] => (&[][..], 1, *k),
            [batch @ .., m, k] => (batch, *m, *k),
        };
        let (batch_b, kb, n) = match sb {
            [] => return None,
            [k] if !transposed => (&[][..], *k, 1),
            [_] => return None,
            [batch @ .., n, k] if transposed => (batch, *k, *n),
            [batch @ .., k, n] => (batch, *k, *n),
        };
        let dropped = usize::from(sa.len() == 1) + usize::from(sb.len() == 1);
        (kb == k).then_some(Sizes {
            batch: Extents::from(&shape[..(shape.len() + dropped).saturating_sub(2)]),
            batch_a,
            batch_b,
            m,
            k,
            n,
        })
    }

    /// The number of products.
    pub(super) fn count(&self) -> usize {
        self.batch.iter().product()
    }

    /// True if there is one right matrix for all, so that the batch is just more rows.
    fn is_one_product(&self) -> bool {
        self.batch_b.iter().all(|&e| e == 1) && *self.batch_a == *self.batch
    }

    /// The kernels for bfloat16, if it pays.
    fn bf16(&self, call: &Call<'_>) -> Option<Micro> {
        let micro = call.bf16(1).filter(|_| self.is_one_product())?;
        pays_in_bf16(self.count() * self.m, self.k, self.n).then_some(micro)
    }

    /// The kernels for products of one left matrix, which is packed once, with right matrices that are rounded while
    /// they are packed.
    fn bf16_by_left(&self, call: &Call<'_>, transposed: bool) -> Option<Micro> {
        let is_one = !transposed && self.batch_a.iter().all(|&e| e == 1);
        let micro = call.bf16(0).filter(|_| is_one)?;
        (self.m >= LEAST_ROWS && self.k >= 8 && self.n >= 16).then_some(micro)
    }
}

/// True if a product with packed pairs of bfloat16 is faster: vectors are filled, and each element of the left matrix
/// is read often enough to round it.
fn pays_in_bf16(m: usize, k: usize, n: usize) -> bool {
    m > 0 && k >= 8 && n >= 16
}

/// Whether `matmul` and its relatives compute a call with bfloat16.
fn product_in_bf16(call: &Call<'_>) -> bool {
    let transposed = match call.def.name {
        "batch_matmul" | "dense" => true,
        _ => call.flag("transposed"),
    };
    let sizes = call.out_shape().and_then(|shape| Sizes::of(call, transposed, &shape));
    sizes.is_some_and(|sizes| sizes.bf16(call).is_some() || sizes.bf16_by_left(call, transposed).is_some())
}

/// For fewer rows it does not pay to round and pack what they are multiplied with.
const LEAST_ROWS: usize = 17;

/// A right matrix of contiguous rows, whose pairs are rounded while they are packed.
struct Rounded<'a> {
    elements: &'a [f32],
    /// Where its rows begin.
    rows: &'a [usize],
}

impl Right for Rounded<'_> {
    fn pack(&self, first: usize, depth: usize, column: usize, count: usize, width: usize, out: &mut [f32]) {
        let rows = &self.rows[2 * first..];
        let rows = &rows[..rows.len().min(2 * depth)];
        pairs::pack(self.elements, rows, &[(0, column, count)], width, out);
    }
}

/// Packs the right operand, a matrix of `k` rows, or of columns if it is `transposed`.
fn right_panels(micro: Micro, b: &[f32], k: usize, transposed: bool) -> Panels {
    if !micro.of_pairs {
        return Panels::of(micro, b, k, transposed);
    }
    let pairs = match transposed {
        true => pairs::of_rows(b, k),
        false => pairs::of_columns(b, b.len() / k.max(1)),
    };
    Panels::of(micro, &pairs, k.div_ceil(2), transposed)
}

/// Packs `m` rows of `k` elements.
fn left_panels(micro: Micro, a: &[f32], m: usize, k: usize) -> Left {
    match micro.of_pairs {
        false => Left::of_rows(micro, a, m),
        true => Left::of_rows(micro, &pairs::of_rows(a, k), m),
    }
}

/// The product of the first two operands, the second transposed if `transposed`, plus a row, and the steps after it if
/// the operator is fused.
fn product(call: &Call<'_>, transposed: bool, bias: Option<&[f32]>) -> Done {
    let (a, b) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let shape = or_decline!(call.out_shape());
    let sizes = or_decline!(Sizes::of(call, transposed, &shape));
    let (m, k, n) = (sizes.m, sizes.k, sizes.n);
    let size = m * n;
    let count = sizes.count();
    let after = or_decline!(After::of(call, &shape));
    let mut out = call.result_room::<f32>(count * size);
    let is_one_product = sizes.is_one_product();
    let bf16 = sizes.bf16(call);
    call.set_precision(bf16.map_or(Precision::F32, |_| Precision::Bf16));
    if bf16.is_some() || (is_one_product && is_worth_packing(call, count * m, n, k)) {
        let micro = bf16.unwrap_or(Micro::best());
        let right = call.prepared(1, || right_panels(micro, &b, k, transposed).kept());
        if count * m == 1 && bf16.is_none() {
            match bias {
                Some(bias) => out.copy_from_slice(bias),
                None => out.fill(0.0),
            }
            right.add_row(&a, &mut out, call.threads);
            after.finished().apply(0, &mut out);
            return done(&shape, out);
        }
        let left = left_panels(right.micro(), &a, count * m, k);
        let start = bias.map_or(Start::Zero, Start::Columns);
        let finish = Finish::from(start).with(after.finished(), 0..out.len());
        packed_product(&left, &*right, n, &mut out, finish, call.threads);
        return done(&shape, out);
    }
    if let Some(micro) = sizes.bf16_by_left(call, transposed) {
        call.set_precision(Precision::Bf16);
        let left = call.prepared(0, || left_panels(micro, &a, m, k).kept());
        let rows: Vec<usize> = (0..k).map(|row| row * n).collect();
        let starts = batch_starts(&sizes.batch, sizes.batch_b, k * n);
        for (i, (start, out)) in starts.into_iter().zip(out.chunks_exact_mut(size)).enumerate() {
            let right = Rounded {
                elements: &b[start..][..k * n],
                rows: &rows,
            };
            let finish = Finish::from(bias.map_or(Start::Zero, Start::Columns));
            let finish = finish.with(after.finished(), i * size..(i + 1) * size);
            packed_product(&left, &right, n, out, finish, call.threads);
        }
        return done(&shape, out);
    }
    if is_one_product && !transposed && bias.is_none() && (1..=FEW).contains(&(count * m)) && k > 0 && n > 0 {
        few_rows(&a, &b, k, &mut out, call.threads);
        after.finished().apply_all(&mut out, call.threads);
        return done(&shape, out);
    }
    let dst = match bias {
        Some(bias) if !out.is_empty() => {
            out.chunks_exact_mut(n).for_each(|row| row.copy_from_slice(bias));
            Dst::Scale(1.0)
        }
        _ => Dst::Overwrite,
    };
    let right = |start: usize| match transposed {
        true => Layout::rows(start, k).transposed(),
        false => Layout::rows(start, n),
    };
    let one = |rows: usize, out: &mut [f32], at_a: usize, at_b: usize, threads: usize| {
        let (cl, al) = (Layout::rows(0, n), Layout::rows(at_a, k));
        gemm((rows, n, k), out, cl, dst, &a, al, &b, right(at_b), 1.0, threads);
    };
    if is_one_product {
        one(count * m, &mut out, 0, 0, call.threads);
    } else if size > 0 {
        let starts_a = batch_starts(&sizes.batch, sizes.batch_a, m * k);
        let starts_b = batch_starts(&sizes.batch, sizes.batch_b, k * n);
        // Several matrices are divided among threads, and otherwise each of them is.
        let worth = call.threads.min(out.len().saturating_mul(k) / PARALLEL).max(1);
        let (across, within) = if count < worth { (1, call.threads) } else { (worth, 1) };
        in_parts(across, &mut out, size, |first, out| {
            let starts = starts_a.iter().zip(&starts_b).skip(first);
            for ((&at_a, &at_b), out) in starts.zip(out.chunks_exact_mut(size)) {
                one(m, out, at_a, at_b, within);
            }
        });
    }
    after.finished().apply_all(&mut out, call.threads);
    done(&shape, out)
}

/// True if the right matrix is the same in every run, so that it is packed once. Even a single row is multiplied faster
/// with a packed matrix, which is read from large pages from its beginning to its end, unless its columns fill little
/// of a panel.
fn is_worth_packing(call: &Call<'_>, m: usize, n: usize, k: usize) -> bool {
    call.is_fixed(1) && k > 0 && if m < 4 { m > 0 && n >= 16 } else { n > 0 }
}

/// The offset of the matrix for each position of `batch` in an operand whose batch dimensions broadcast to it.
pub(super) fn batch_starts(batch: &[usize], own: &[usize], size: usize) -> Vec<usize> {
    let mut starts = vec![0];
    let missing = batch.len() - own.len();
    let mut stride: usize = size * own.iter().product::<usize>();
    for (axis, &extent) in batch.iter().enumerate() {
        let mut step = 0;
        if axis >= missing {
            let mine = own[axis - missing];
            stride = stride.checked_div(mine).unwrap_or(0);
            step = if mine == 1 { 0 } else { stride };
        }
        starts = starts
            .iter()
            .flat_map(|&s| (0..extent).map(move |i| s + i * step))
            .collect();
    }
    starts
}

/// The kernels for bfloat16, if it pays for this `gemm`.
fn gemm_bf16(call: &Call<'_>, [m, n]: [usize; 2]) -> Option<Micro> {
    let [_, k] = *call.shape(0) else { return None };
    let is_plain = !call.flag("transA") && call.float("alpha").is_none_or(|alpha| alpha == 1.0);
    call.bf16(1).filter(|_| is_plain && pays_in_bf16(m, k, n))
}

fn gemm_in_bf16(call: &Call<'_>) -> bool {
    matches!(call.out_shape().as_deref(), Some(&[m, n]) if gemm_bf16(call, [m, n]).is_some())
}

/// `alpha * A' B' + beta * C`
fn gemm_op(call: &Call<'_>) -> Done {
    let (a, b) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let shape = or_decline!(call.out_shape());
    let ([ra, ca], [rb, cb], [m, n]) = (call.shape(0), call.shape(1), &shape[..]) else {
        return Ok(None);
    };
    let (m, n) = (*m, *n);
    let (trans_a, trans_b) = (call.flag("transA"), call.flag("transB"));
    let k = if trans_a { *ra } else { *ca };
    let own = if trans_b { (*cb, *rb) } else { (*rb, *cb) };
    if own != (k, n) || m != if trans_a { *ca } else { *ra } {
        return Ok(None);
    }
    let alpha = call.float("alpha").unwrap_or(1.0) as f32;
    let beta = call.float("beta").unwrap_or(1.0) as f32;
    let mut out = call.result_room::<f32>(m * n);
    let dst = match call.f32s(2) {
        None if call.has(2) => return Ok(None),
        None => Dst::Overwrite,
        Some(c) => {
            let rows = |axis: usize| -> usize { call.shape(2).iter().rev().nth(axis).copied().unwrap_or(1) };
            let (height, width) = (rows(1), rows(0));
            if m * n > 0 {
                for (i, row) in out.chunks_exact_mut(n).enumerate() {
                    let from = &c[if height == 1 { 0 } else { i * width }..][..width];
                    if width == n {
                        row.copy_from_slice(from);
                    } else {
                        row.fill(from[0]);
                    }
                }
            }
            Dst::Scale(beta)
        }
    };
    let bf16 = gemm_bf16(call, [m, n]);
    call.set_precision(bf16.map_or(Precision::F32, |_| Precision::Bf16));
    if bf16.is_some() || (!trans_a && alpha == 1.0 && is_worth_packing(call, m, n, k)) {
        let micro = bf16.unwrap_or(Micro::best());
        let right = call.prepared(1, || right_panels(micro, &b, k, trans_b).kept());
        let is_row = m == 1 && bf16.is_none();
        let start = match dst {
            Dst::Overwrite if is_row => {
                out.fill(0.0);
                Start::Result
            }
            Dst::Overwrite => Start::Zero,
            Dst::Scale(beta) => {
                out.iter_mut().for_each(|x| *x *= beta);
                Start::Result
            }
        };
        if is_row {
            right.add_row(&a, &mut out, call.threads);
            return done(&shape, out);
        }
        let left = left_panels(right.micro(), &a, m, k);
        let finish = Finish::from(start);
        packed_product(&left, &*right, n, &mut out, finish, call.threads);
        return done(&shape, out);
    }
    let al = Layout::rows(0, *ca);
    let bl = Layout::rows(0, *cb);
    let al = if trans_a { al.transposed() } else { al };
    let bl = if trans_b { bl.transposed() } else { bl };
    gemm(
        (m, n, k),
        &mut out,
        Layout::rows(0, n),
        dst,
        &a,
        al,
        &b,
        bl,
        alpha,
        call.threads,
    );
    done(&shape, out)
}

#[cfg(test)]
#[path = "matmul_tests.rs"]
mod tests;
