//! Sums of products by an equation: two operands at a time, as matrix products or as products of elements. Operands are
//! copied only if their axes are not those of a matrix.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::call::{Call, done, or_decline};
use super::copy::{gather, gather_in};
use super::gemm::{Dst, Layout, gemm};
use super::reduce::row_sum;
use super::{Done, Kernel};
use pulp::{Arch, NullaryFnOnce};
use tautomer_op::einsum_axes;
use tautomer_tensor::strided::{Layout as Strided, View};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("einsum", einsum)];

/// A label of axes, as a number.
type Label = usize;

/// Positions along axes: for each axis its size, and its stride in each of some arrays.
type Axes<const N: usize> = SmallVec<[(usize, [usize; N]); 6]>;

/// Products with fewer multiplications are left to one thread.
const LARGE: usize = 1 << 20;

/// Elements with a labelled axis for each stride.
struct Term<'a> {
    elements: Cow<'a, [f32]>,
    axes: SmallVec<[(Label, usize); 6]>,
}

impl Term<'_> {
    fn has(&self, label: Label) -> bool {
        self.axes.iter().any(|axis| axis.0 == label)
    }

    /// The stride of an axis; zero if the elements are the same all along it.
    fn stride(&self, label: Label) -> usize {
        self.axes.iter().find(|axis| axis.0 == label).map_or(0, |axis| axis.1)
    }

    /// The stride of axes that are one axis together.
    fn joint(&self, labels: &[Label], sizes: &[usize]) -> Option<usize> {
        let Some((last, outer)) = labels.split_last() else {
            return Some(0);
        };
        let (first, mut stride) = (self.stride(*last), self.stride(*last) * sizes[*last]);
        for label in outer.iter().rev() {
            if self.stride(*label) != stride {
                return None;
            }
            stride *= sizes[*label];
        }
        Some(first)
    }

    /// The elements in row-major order of these axes.
    fn arranged(&self, labels: &[Label], sizes: &[usize]) -> Option<Term<'static>> {
        let shape: Vec<usize> = labels.iter().map(|&label| sizes[label]).collect();
        let strides: Vec<isize> = labels.iter().map(|&label| self.stride(label) as isize).collect();
        let layout = Strided::new(&shape, &strides, 0, self.elements.len()).ok()?;
        let view = View::new(&self.elements, layout).ok()?;
        Some(Term {
            elements: Cow::Owned(gather(&view)),
            axes: row_major(labels, sizes),
        })
    }

    /// Sums along the axes that are not kept.
    fn summed(self, keeps: impl Fn(Label) -> bool, sizes: &[usize]) -> Self {
        if self.axes.iter().all(|axis| keeps(axis.0)) {
            return self;
        }
        // In the order of the elements, so that they are read in order.
        let mut labels: SmallVec<[(Label, usize); 6]> = self.axes.clone();
        labels.sort_by_key(|axis| std::cmp::Reverse(axis.1));
        let kept: Vec<Label> = labels.iter().map(|axis| axis.0).filter(|&label| keeps(label)).collect();
        let axes = row_major(&kept, sizes);
        let mut out = Term {
            elements: Cow::Owned(vec![0.0; kept.iter().map(|&label| sizes[label]).product()]),
            axes,
        };
        let places = labels
            .iter()
            .map(|&(label, stride)| (sizes[label], [stride, out.stride(label)]));
        let mut places: Axes<2> = merged(places.collect());
        let (n, [from, to]) = places.pop().unwrap_or((1, [0, 0]));
        let (x, sums) = (&self.elements[..], out.elements.to_mut());
        each(&places, |[at, total]| match (from, to) {
            (1, 0) => sums[total] += Arch::new().dispatch(row_sum(&x[at..][..n])),
            (1, 1) => {
                let pairs = sums[total..][..n].iter_mut().zip(&x[at..][..n]);
                pairs.for_each(|(sum, x)| *sum += x);
            }
            _ => (0..n).for_each(|i| sums[total + i * to] += x[at + i * from]),
        });
        out
    }
}

/// The axes of elements in row-major order.
fn row_major(labels: &[Label], sizes: &[usize]) -> SmallVec<[(Label, usize); 6]> {
    let mut stride = 1;
    let mut axes: SmallVec<[(Label, usize); 6]> = SmallVec::new();
    for &label in labels.iter().rev() {
        axes.push((label, stride));
        stride *= sizes[label];
    }
    axes.reverse();
    axes
}

/// The same positions along fewer axes: those that all arrays traverse as one become one.
fn merged<const N: usize>(axes: Axes<N>) -> Axes<N> {
    let mut out: Axes<N> = SmallVec::new();
    for (n, strides) in axes {
        match out.last_mut() {
            Some((outer, before)) if (0..N).all(|i| before[i] == strides[i] * n) => {
                *outer *= n;
                *before = strides;
            }
            _ => out.push((n, strides)),
        }
    }
    out
}

/// Calls `f` with the place of each position in each of the arrays.
fn each<const N: usize>(axes: &[(usize, [usize; N])], mut f: impl FnMut([usize; N])) {
    let (mut index, mut at): (SmallVec<[usize; 6]>, [usize; N]) = (SmallVec::from_elem(0, axes.len()), [0; N]);
    loop {
        f(at);
        let mut axis = axes.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            let (n, strides) = axes[next];
            index[next] += 1;
            if index[next] < n {
                (0..N).for_each(|i| at[i] += strides[i]);
                break;
            }
            (0..N).for_each(|i| at[i] -= strides[i] * (n - 1));
            index[next] = 0;
            axis = next;
        }
    }
}

/// One row of products of elements.
struct Products<'a> {
    out: &'a mut [f32],
    a: &'a [f32],
    b: &'a [f32],
    strides: [usize; 2],
}

impl NullaryFnOnce for Products<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Products { out, a, b, strides } = self;
        match strides {
            [1, 1] => out
                .iter_mut()
                .zip(a.iter().zip(b))
                .for_each(|(out, (a, b))| *out = a * b),
            [1, 0] => out.iter_mut().zip(a).for_each(|(out, a)| *out = a * b[0]),
            [0, 1] => out.iter_mut().zip(b).for_each(|(out, b)| *out = a[0] * b),
            [sa, sb] => out
                .iter_mut()
                .enumerate()
                .for_each(|(i, out)| *out = a[i * sa] * b[i * sb]),
        }
    }
}

/// The products of the elements of two terms, in row-major order of axes that are those of both.
fn products(a: &Term<'_>, b: &Term<'_>, labels: &[Label], sizes: &[usize], out: &mut [f32]) {
    let places = labels
        .iter()
        .map(|&label| (sizes[label], [a.stride(label), b.stride(label)]));
    let mut places: Axes<2> = merged(places.collect());
    let (n, strides) = places.pop().unwrap_or((1, [0, 0]));
    let mut rows = out.chunks_exact_mut(n);
    each(&places, |[at_a, at_b]| {
        if let Some(out) = rows.next() {
            let (a, b) = (&a.elements[at_a..], &b.elements[at_b..]);
            Arch::new().dispatch(Products { out, a, b, strides });
        }
    });
}

/// The sum of the products of elements of two rows.
struct Dot<'a>(&'a [f32], &'a [f32]);

impl NullaryFnOnce for Dot<'_> {
    type Output = f32;
    #[inline(always)]
    fn call(self) -> f32 {
        const LANES: usize = 32;
        let mut lanes = [0.0f32; LANES];
        for (a, b) in self.0.chunks(LANES).zip(self.1.chunks(LANES)) {
            for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
                *lane += a * b;
            }
        }
        row_sum(&lanes).call()
    }
}

/// The labels of a product of two terms.
struct Split {
    /// Those in both terms that are kept.
    batch: Vec<Label>,
    left: Vec<Label>,
    right: Vec<Label>,
    /// Those in both terms that are summed along.
    inner: Vec<Label>,
}

impl Split {
    /// The labels in `order` that are kept, and others that both terms have.
    fn of(a: &Term<'_>, b: &Term<'_>, order: &[Label]) -> Split {
        let of = |in_a: bool, in_b: bool| {
            let labels = order.iter().copied();
            labels
                .filter(|&label| (a.has(label), b.has(label)) == (in_a, in_b))
                .collect()
        };
        let inner = a.axes.iter().map(|axis| axis.0);
        Split {
            batch: of(true, true),
            left: of(true, false),
            right: of(false, true),
            inner: inner.filter(|label| b.has(*label) && !order.contains(label)).collect(),
        }
    }

    /// A term as matrices, with the strides of their rows and columns.
    fn matrices<'t>(
        &self,
        term: Term<'t>,
        [rows, columns]: [&[Label]; 2],
        sizes: &[usize],
    ) -> Option<(Term<'t>, [usize; 2])> {
        let strides = |term: &Term<'_>| Some([term.joint(rows, sizes)?, term.joint(columns, sizes)?]);
        if let Some(strides) = strides(&term) {
            return Some((term, strides));
        }
        let term = term.arranged(&[&self.batch, rows, columns].concat(), sizes)?;
        let strides = strides(&term)?;
        Some((term, strides))
    }

    /// The sums of products, in `out`, which has these axes; `None` if a term cannot be arranged.
    fn sums(
        &self,
        [a, b]: [Term<'_>; 2],
        order: &[Label],
        sizes: &[usize],
        out: &mut [f32],
        threads: usize,
    ) -> Option<()> {
        let Split {
            batch,
            left,
            right,
            inner,
        } = self;
        let count = |labels: &[Label]| labels.iter().map(|&label| sizes[label]).product::<usize>();
        let (m, n, k) = (count(left), count(right), count(inner));
        let (a, [a_row, a_col]) = self.matrices(a, [left, inner], sizes)?;
        let (b, [b_row, b_col]) = self.matrices(b, [inner, right], sizes)?;
        let empty = |labels: &[Label]| Term {
            elements: Cow::Borrowed(&[][..]),
            axes: row_major(labels, sizes),
        };
        let whole = empty(order);
        let Some((row, col)) = whole.joint(left, sizes).zip(whole.joint(right, sizes)) else {
            // The matrices of the result are not in one piece.
            let order_of_sums = [&batch[..], left, right].concat();
            let mut sums = vec![0.0; out.len()];
            self.sums([a, b], &order_of_sums, sizes, &mut sums, threads)?;
            let sums = Term {
                elements: Cow::Owned(sums),
                axes: row_major(&order_of_sums, sizes),
            };
            out.copy_from_slice(&sums.arranged(order, sizes)?.elements);
            return Some(());
        };
        let place = |&label: &Label| (sizes[label], [a.stride(label), b.stride(label), whole.stride(label)]);
        let threads = if m * n * k < LARGE { 1 } else { threads };
        each(&merged(batch.iter().map(place).collect()), |[at_a, at_b, at]| {
            if (m, n, a_col, b_row) == (1, 1, 1, 1) {
                let (a, b) = (&a.elements[at_a..][..k], &b.elements[at_b..][..k]);
                out[at] = Arch::new().dispatch(Dot(a, b));
                return;
            }
            let layout = |start, row, col| Layout { start, row, col };
            let (al, bl) = (layout(at_a, a_row, a_col), layout(at_b, b_row, b_col));
            let cl = layout(at, row, col);
            let (a, b) = (&a.elements, &b.elements);
            gemm((m, n, k), out, cl, Dst::Overwrite, a, al, b, bl, 1.0, threads);
        });
        Some(())
    }
}

/// The terms of a call and the labels of its result, without axes of one element.
fn terms<'a>(call: &Call<'a>) -> Option<(Vec<Term<'a>>, Vec<Label>, Vec<usize>)> {
    let ranks: Vec<usize> = (0..call.operands.len()).map(|i| call.shape(i).len()).collect();
    let (labels, mut result) = einsum_axes(call.text("equation"), &ranks)?;
    let labelled = |i: usize| labels[i].iter().copied().zip(call.shape(i).iter().copied());
    let last = labels.iter().flatten().chain(&result).max();
    let mut sizes = vec![1; last.map_or(0, |last| last + 1)];
    (0..labels.len())
        .flat_map(labelled)
        .filter(|&(_, n)| n != 1)
        .for_each(|(label, n)| sizes[label] = n);
    let term = |i: usize| {
        let (mut axes, mut stride): (SmallVec<[(Label, usize); 6]>, usize) = (SmallVec::new(), 1);
        for (label, n) in labelled(i).collect::<Vec<_>>().into_iter().rev() {
            match axes.iter_mut().find(|axis| axis.0 == label) {
                _ if n == 1 => {}
                // A label that occurs twice walks along a diagonal.
                Some(axis) => axis.1 += stride,
                None => axes.insert(0, (label, stride)),
            }
            stride *= n;
        }
        let elements = call.f32s(i)?;
        Some(Term { elements, axes })
    };
    result.retain(|&label| sizes[label] != 1);
    Some(((0..labels.len()).map(term).collect::<Option<_>>()?, result, sizes))
}

fn einsum(call: &Call<'_>) -> Done {
    let shape = or_decline!(call.out_shape());
    let (terms, result, sizes) = or_decline!(terms(call));
    let mut out = call.result_room::<f32>(shape.iter().product());
    if sizes.contains(&0) {
        out.fill(0.0);
        return done(&shape, out);
    }
    let left: Vec<Vec<Label>> = terms
        .iter()
        .map(|term| term.axes.iter().map(|axis| axis.0).collect())
        .collect();
    let mut terms = terms.into_iter().enumerate();
    let (_, mut all) = or_decline!(terms.next());
    for (i, next) in terms {
        let later =
            |label: Label| result.contains(&label) || left[i + 1..].iter().any(|labels| labels.contains(&label));
        let all_summed = all.summed(|label| later(label) || next.has(label), &sizes);
        let next = next.summed(|label| later(label) || all_summed.has(label), &sizes);
        let terms = [all_summed, next];
        let is_last = i + 1 == left.len();
        let order = match is_last {
            true => result.clone(),
            false => {
                let mut labels: Vec<Label> = terms
                    .iter()
                    .flat_map(|term| term.axes.iter().map(|axis| axis.0))
                    .collect();
                labels.retain(|&label| later(label));
                (0..labels.len())
                    .filter(|&i| !labels[..i].contains(&labels[i]))
                    .map(|i| labels[i])
                    .collect()
            }
        };
        let mut sums = match is_last {
            true => Vec::new(),
            false => vec![0.0; order.iter().map(|&label| sizes[label]).product()],
        };
        let to = if is_last { &mut out[..] } else { &mut sums[..] };
        let split = Split::of(&terms[0], &terms[1], &order);
        if split.inner.is_empty() {
            products(&terms[0], &terms[1], &order, &sizes, to);
        } else {
            or_decline!(split.sums(terms, &order, &sizes, to, call.threads));
        }
        if is_last {
            return done(&shape, out);
        }
        all = Term {
            elements: Cow::Owned(sums),
            axes: row_major(&order, &sizes),
        };
    }
    let all = all.summed(|label| result.contains(&label), &sizes);
    let strides: Vec<isize> = result.iter().map(|&label| all.stride(label) as isize).collect();
    let extents: Vec<usize> = result.iter().map(|&label| sizes[label]).collect();
    let layout = or_decline!(Strided::new(&extents, &strides, 0, all.elements.len()).ok());
    let view = or_decline!(View::new(&all.elements, layout).ok());
    done(&shape, gather_in(call.threads, &view, out))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::AttrValue;
    use tautomer_tensor::Tensor;

    fn check(equation: &str, shapes: &[&[usize]]) {
        let operands: Vec<Tensor> = shapes.iter().enumerate().map(|(i, s)| f32s(s, i as u64 + 1)).collect();
        let case = Case::new("einsum", &operands).attr("equation", AttrValue::str(equation));
        assert!(case.check(), "{equation}");
    }

    #[test]
    fn one_operand() {
        for (equation, shape) in [
            ("ij->ji", &[3usize, 5][..]),
            ("bij->jbi", &[2, 3, 4]),
            ("bii->bi", &[2, 3, 3]),
            ("ii->", &[4, 4]),
            ("ii", &[4, 4]),
            ("bij->j", &[2, 3, 70]),
            ("bij->bi", &[2, 3, 70]),
            ("bij->b", &[2, 3, 7]),
            ("bij->", &[2, 3, 7]),
            ("bij->i", &[2, 3, 7]),
            ("b...->...b", &[2, 3, 7]),
            ("ij->j", &[0, 3]),
            ("ij->ij", &[0, 3]),
            ("ij->ij", &[1, 1]),
            ("->", &[]),
        ] {
            check(equation, &[shape]);
        }
    }

    #[test]
    fn two_operands() {
        for (equation, a, b) in [
            ("i,j->ij", &[5usize][..], &[7usize][..]),
            ("i,j->ji", &[5], &[7]),
            ("ij,ij->ij", &[5, 6], &[5, 6]),
            ("ij,ji->ij", &[5, 6], &[6, 5]),
            ("bij,ij->bij", &[3, 5, 6], &[5, 6]),
            ("ij,j->ij", &[5, 6], &[6]),
            ("ij,->ij", &[5, 6], &[]),
            ("i,i", &[65], &[65]),
            ("ij,ij->i", &[5, 66], &[5, 66]),
            ("ji,ji->i", &[66, 5], &[66, 5]),
            ("ij,ij->", &[5, 6], &[5, 6]),
            ("ij,jk->ik", &[5, 6], &[6, 7]),
            ("ij,jk->ki", &[5, 6], &[6, 7]),
            ("ij,kj->i", &[5, 6], &[7, 6]),
            ("ij,k->i", &[5, 6], &[7]),
            ("bshd,hde->bse", &[2, 3, 4, 5], &[4, 5, 6]),
            ("hid,ijd->hij", &[4, 3, 5], &[3, 7, 5]),
            ("bhid,bhjd->bhij", &[2, 3, 4, 5], &[2, 3, 6, 5]),
            ("bihd,bjhd->bhij", &[2, 4, 3, 5], &[2, 6, 3, 5]),
            ("abc,dbe->aedc", &[2, 3, 4], &[5, 3, 6]),
            ("abcd,cbe->adeb", &[2, 3, 4, 5], &[4, 3, 6]),
            ("acbd,be->adec", &[2, 3, 4, 5], &[4, 6]),
            ("iij,jk->ik", &[3, 3, 4], &[4, 5]),
            ("...ij,...jk->...ik", &[2, 1, 3, 4], &[5, 4, 6]),
            ("...ij,jk", &[2, 3, 4], &[4, 6]),
            ("ij,jk->ik", &[5, 1], &[6, 7]),
            ("ij,jk->ik", &[1, 6], &[6, 1]),
            ("ij,jk->ik", &[5, 0], &[0, 7]),
            ("ij,jk->ik", &[0, 3], &[3, 7]),
            ("ij,jk->ijk", &[1, 1], &[1, 1]),
        ] {
            check(equation, &[a, b]);
        }
    }

    #[test]
    fn more_operands() {
        check("ij,jk,kl->il", &[&[3, 4], &[4, 5], &[5, 6]]);
        check("ij,jk,kl->li", &[&[3, 4], &[4, 5], &[5, 6]]);
        check("i,j,k->kji", &[&[3], &[4], &[5]]);
        check("bi,bj,b->ij", &[&[3, 4], &[3, 5], &[3]]);
        check("bi,bj,bk,ijk->b", &[&[3, 4], &[3, 5], &[3, 2], &[4, 5, 2]]);
    }
}
