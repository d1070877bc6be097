//! Copies that read with strides and write in order: transposition, slicing, repetition.

/// Axes walked with a stride, outermost first.
pub(super) type Walk = Vec<(usize, isize)>;

/// Strides of a row-major array.
pub(super) fn strides(shape: &[usize]) -> Vec<isize> {
    let mut out = vec![1isize; shape.len()];
    for i in (1..shape.len()).rev() {
        out[i - 1] = out[i].saturating_mul(shape[i] as isize);
    }
    out
}

/// The elements of `source` that a walk from `start` visits, in order.
pub(super) fn gather<T: Clone + Default>(source: &[T], start: usize, walk: &[(usize, isize)]) -> Vec<T> {
    let size = walk.iter().map(|(n, _)| n).product();
    if size == 0 {
        return Vec::new();
    }
    // Axes of extent 1 say nothing, and neighbours that continue each other are one.
    let mut merged: Walk = Vec::with_capacity(walk.len());
    for &(extent, stride) in walk.iter().filter(|(n, _)| *n != 1) {
        match merged.last_mut() {
            Some((n, s)) if *s == stride * extent as isize => (*n, *s) = (*n * extent, stride),
            _ => merged.push((extent, stride)),
        }
    }
    if let [outer @ .., (rows, 1), (columns, step)] = &merged[..]
        && *step > 1
    {
        let mut out = vec![T::default(); size];
        let mut places = positions(start, outer);
        for block in out.chunks_exact_mut(rows * columns) {
            transpose(
                &source[places.next().unwrap_or(0)..],
                *rows,
                *columns,
                *step as usize,
                block,
            );
        }
        return out;
    }
    let mut out = Vec::with_capacity(size);
    let (inner, outer) = match merged.split_last() {
        Some((last, rest)) => (*last, rest),
        None => ((1, 1), &[][..]),
    };
    for at in positions(start, outer) {
        match inner {
            (n, 1) => out.extend_from_slice(&source[at..][..n]),
            (n, 0) => out.extend(std::iter::repeat_n(&source[at], n).cloned()),
            (n, step) if step > 0 => out.extend(source[at..].iter().step_by(step as usize).take(n).cloned()),
            (n, step) => out.extend(source[..=at].iter().rev().step_by(step.unsigned_abs()).take(n).cloned()),
        }
    }
    out
}

/// `out[i, j] = source[i + j * step]`, in blocks that both sides find in the cache.
fn transpose<T: Clone>(source: &[T], rows: usize, columns: usize, step: usize, out: &mut [T]) {
    const BLOCK: usize = 16;
    for i0 in (0..rows).step_by(BLOCK) {
        let height = BLOCK.min(rows - i0);
        for j0 in (0..columns).step_by(BLOCK) {
            let width = BLOCK.min(columns - j0);
            for i in i0..i0 + height {
                let row = &mut out[i * columns + j0..][..width];
                let from = source[i + j0 * step..].iter().step_by(step);
                row.iter_mut().zip(from).for_each(|(o, v)| o.clone_from(v));
            }
        }
    }
}

/// The places that a walk visits, in order; none if an extent is zero.
pub(super) fn positions(start: usize, walk: &[(usize, isize)]) -> impl Iterator<Item = usize> + '_ {
    let count: usize = walk.iter().map(|(n, _)| n).product();
    let mut index = vec![0usize; walk.len()];
    let mut at = start as isize;
    (0..count).map(move |_| {
        let here = at as usize;
        for (i, &(extent, stride)) in index.iter_mut().zip(walk).rev() {
            *i += 1;
            at += stride;
            if *i < extent {
                break;
            }
            at -= stride * extent as isize;
            *i = 0;
        }
        here
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_visit_in_order() {
        let source: Vec<i32> = (0..24).collect();
        assert_eq!(gather(&source, 0, &[(24, 1)]), source);
        assert_eq!(gather(&source, 5, &[]), [5]);
        assert_eq!(gather(&source, 23, &[(4, -6)]), [23, 17, 11, 5]);
        assert_eq!(gather(&source, 2, &[(2, 0), (2, 1), (2, 0)]), [2, 2, 3, 3, 2, 2, 3, 3]);
        assert_eq!(gather(&source, 0, &[(3, 1), (2, 12)]), [0, 12, 1, 13, 2, 14]);
        assert!(gather(&source, 0, &[(0, 1), (2, 12)]).is_empty());
    }

    #[test]
    fn blocks_cover_everything() {
        for (rows, columns) in [(1, 1), (16, 16), (17, 15), (3, 65), (63, 2)] {
            let source: Vec<usize> = (0..rows * columns).collect();
            let want: Vec<usize> = (0..rows)
                .flat_map(|i| (0..columns).map(move |j| i + j * rows))
                .collect();
            assert_eq!(gather(&source, 0, &[(rows, 1), (columns, rows as isize)]), want);
        }
    }
}
