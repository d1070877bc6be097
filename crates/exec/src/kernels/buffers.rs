//! Memory of values that are not needed any more, for values to come.

use std::any::{Any, TypeId};
use std::sync::{Mutex, PoisonError};

use tautomer_tensor::{Element, Nd, Tensor, with_array};

/// Smaller values are not worth keeping: the allocator hands them out without the help of the operating system.
const SMALLEST: usize = 16 << 10;

/// Memory that has not been used in as many runs is given back.
const RUNS: u64 = 2;

/// The memory of values that earlier steps of any run have freed.
///
/// A new allocation of a large value costs a page fault for each of its pages, and being filled with zeros. What is kept
/// is what recent runs have used: each run takes memory from here before it allocates, so it never frees much more than
/// its values take at one time.
#[derive(Debug, Default)]
pub struct Buffers {
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    buffers: Vec<Buffer>,
    runs: u64,
}

/// A vector.
#[derive(Debug)]
struct Buffer {
    /// The type of its elements.
    ty: TypeId,
    /// How many it has room for.
    capacity: usize,
    /// The run that freed it.
    run: u64,
    vector: Box<dyn Any + Send>,
}

impl Buffers {
    /// Begins a run.
    pub fn begin(&self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.runs += 1;
        let oldest = free.runs.saturating_sub(RUNS);
        free.buffers.retain(|buffer| buffer.run >= oldest);
    }

    /// `n` elements with arbitrary values.
    pub(crate) fn take<T: Element>(&self, n: usize) -> Vec<T> {
        let mut out = self.empty(n);
        out.resize(n, T::default());
        out
    }

    /// Room for `n` elements; those in it have arbitrary values.
    pub(super) fn empty<T: Element>(&self, n: usize) -> Vec<T> {
        self.smallest(n).unwrap_or_else(|| Vec::with_capacity(n))
    }

    /// The smallest buffer that has room for `n` elements, unless most of it would be unused.
    fn smallest<T: Element>(&self, n: usize) -> Option<Vec<T>> {
        if n.saturating_mul(size_of::<T>()) < SMALLEST {
            return None;
        }
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |b: &Buffer| b.ty == TypeId::of::<T>() && b.capacity >= n && b.capacity / 2 <= n;
        // Of equal ones, the last, which is most likely still in a cache.
        let fitting = free.buffers.iter().enumerate().rev().filter(|(_, b)| fits(b));
        let (i, _) = fitting.min_by_key(|(_, b)| b.capacity)?;
        let buffer = free.buffers.remove(i);
        buffer.vector.downcast().ok().map(|vector| *vector)
    }

    /// Keeps the memory of a value if nothing else refers to it.
    pub fn recycle(&self, value: Tensor) {
        fn array<T: Element>(buffers: &Buffers, array: Nd<T>) {
            if array.len().saturating_mul(size_of::<T>()) >= SMALLEST
                && let Ok(array) = array.try_into_owned_nocopy()
            {
                buffers.give(array.into_raw_vec_and_offset().0);
            }
        }
        with_array!(value, owned => array(self, owned));
    }

    /// Keeps memory.
    pub(super) fn give<T: Element>(&self, vector: Vec<T>) {
        let capacity = vector.capacity();
        if capacity.saturating_mul(size_of::<T>()) < SMALLEST || std::mem::needs_drop::<T>() {
            return;
        }
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let run = free.runs;
        free.buffers.push(Buffer {
            ty: TypeId::of::<T>(),
            capacity,
            run,
            vector: Box::new(vector),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(buffers: &Buffers, n: usize) -> bool {
        buffers.smallest::<f32>(n).is_some()
    }

    #[test]
    fn memory_is_used_again() {
        let buffers = Buffers::default();
        let value = Tensor::vector(vec![1.0f32; 5000]);
        let shared = value.clone();
        buffers.recycle(value);
        assert!(!has(&buffers, 5000), "another tensor has the elements");
        buffers.recycle(shared);
        assert!(!has(&buffers, 2400), "less than half would be used");
        assert!(!has(&buffers, 5001), "it is too small");
        assert!(
            buffers.smallest::<i32>(5000).is_none(),
            "its elements are of another type"
        );
        let again: Vec<f32> = buffers.take(4096);
        assert_eq!(again, vec![1.0f32; 4096], "memory is not cleared");
        assert_eq!(buffers.take::<f32>(4096), vec![0.0f32; 4096], "the buffer is taken");
        buffers.give(again);
        assert!(has(&buffers, 5000), "all of the buffer is kept");
        assert_eq!(buffers.take::<i64>(3), [0, 0, 0]);
        buffers.recycle(Tensor::vector(vec![true; 20_000]));
        assert_eq!(buffers.take::<bool>(20_000), vec![true; 20_000]);
    }

    #[test]
    fn what_is_not_used_is_given_back() {
        let buffers = Buffers::default();
        buffers.begin();
        buffers.recycle(Tensor::vector(vec![0.0f32; 5000]));
        buffers.begin();
        buffers.recycle(Tensor::vector(vec![0.0f32; 50_000]));
        buffers.begin();
        assert!(has(&buffers, 5000));
        buffers.recycle(Tensor::vector(vec![0.0f32; 5000]));
        (0..3).for_each(|_| buffers.begin());
        assert!(!has(&buffers, 5000) && !has(&buffers, 50_000));
    }
}
