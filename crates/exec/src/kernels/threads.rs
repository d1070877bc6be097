//! Work that is divided among threads.

use rayon::prelude::*;

/// Fewer elements than this are not worth another thread; tests divide small cases too.
const SHARE: usize = if cfg!(test) { 4 } else { 1 << 16 };

/// How many of so many threads it is worth to use for this many elements.
pub(crate) fn worth(threads: usize, elements: usize) -> usize {
    threads.min(elements / SHARE).max(1)
}

/// Calls `f` with one part of `out` for each thread, which consists of whole units of so many elements, and the number of
/// its first unit.
pub(super) fn in_parts<T: Send>(threads: usize, out: &mut [T], unit: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    let units = out.len() / unit.max(1);
    let share = units.div_ceil(threads.max(1));
    match share < units {
        true => on_threads(share, unit, out, &f),
        false => f(0, out),
    }
}

/// The code of threads is compiled once for each type of elements, not for each function.
fn on_threads<T: Send>(share: usize, unit: usize, out: &mut [T], f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let parts = out.par_chunks_mut(share * unit).enumerate();
    parts.for_each(|(i, part)| f(i * share, part));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_elements_are_left_to_one_thread() {
        assert_eq!([0, SHARE, 2 * SHARE, 9 * SHARE].map(|n| worth(4, n)), [1, 1, 2, 4]);
    }

    #[test]
    fn parts_are_all_of_it() {
        for (len, unit) in [(0, 0), (0, 4), (7, 7), (100, 1), (99, 3), (80, 16)] {
            for threads in 1..5 {
                let mut out = vec![usize::MAX; len];
                in_parts(threads, &mut out, unit, |first, part| {
                    let elements = part.iter_mut().enumerate();
                    elements.for_each(|(i, element)| *element = first * unit + i);
                });
                assert!(out.iter().enumerate().all(|(i, &element)| element == i));
            }
        }
    }
}
