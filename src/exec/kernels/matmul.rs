//! Matrix products: `matmul` with broadcast batches, and `gemm`.

use super::call::{done, or_decline};
use super::gemm::{Dst, Layout, gemm};
use super::{Call, Kernel};
use crate::op::OpError;
use crate::tensor::Tensor;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("matmul", matmul), Kernel::f32("gemm", gemm_op)];

type Done = Result<Option<Vec<Tensor>>, OpError>;

fn matmul(call: &Call<'_>) -> Done {
    let (a, b) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let shape = or_decline!(call.out_shape());
    let (sa, sb) = (call.shape(0), call.shape(1));
    // A vector on the left is one row, on the right one column.
    let (batch_a, m, k) = match sa {
        [] => return Ok(None),
        [k] => (&[][..], 1, *k),
        [batch @ .., m, k] => (batch, *m, *k),
    };
    let (batch_b, kb, n) = match sb {
        [] => return Ok(None),
        [k] => (&[][..], *k, 1),
        [batch @ .., k, n] => (batch, *k, *n),
    };
    if kb != k {
        return Ok(None);
    }
    let dropped = usize::from(sa.len() == 1) + usize::from(sb.len() == 1);
    let matrix_axes = 2 - dropped;
    let batch = &shape[..shape.len().saturating_sub(matrix_axes)];
    let size = m * n;
    let count: usize = batch.iter().product();
    let mut out = vec![0.0f32; count * size];
    if batch_b.iter().all(|&e| e == 1) && batch_a == batch {
        // One right matrix for all: the batch is more rows.
        gemm(
            (count * m, n, k),
            &mut out,
            Layout::rows(0, n),
            Dst::Overwrite,
            &a,
            Layout::rows(0, k),
            &b,
            Layout::rows(0, n),
            1.0,
            call.threads,
        );
        return done(&shape, out);
    }
    let starts_a = batch_starts(batch, batch_a, m * k);
    let starts_b = batch_starts(batch, batch_b, k * n);
    for (i, (&at_a, &at_b)) in starts_a.iter().zip(&starts_b).enumerate() {
        gemm(
            (m, n, k),
            &mut out,
            Layout::rows(i * size, n),
            Dst::Overwrite,
            &a,
            Layout::rows(at_a, k),
            &b,
            Layout::rows(at_b, n),
            1.0,
            call.threads,
        );
    }
    done(&shape, out)
}

/// Where the matrix of each position of `batch` begins in an operand whose own batch extents broadcast to it.
fn batch_starts(batch: &[usize], own: &[usize], size: usize) -> Vec<usize> {
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
    let mut out = vec![0.0f32; m * n];
    let dst = match call.f32s(2) {
        None if call.optional(2).is_some() => return Ok(None),
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
