//! Memory of values that are no longer needed, for later values.

use std::any::{Any, TypeId};
use std::sync::{Mutex, PoisonError};

use super::pages;
use rustc_hash::FxHashMap;
use tautomer_tensor::{Element, Nd, Tensor, with_array};

/// Smaller values are not worth keeping: the allocator provides them without the operating system.
const SMALLEST: usize = 16 << 10;

/// Memory that has not been used in as many runs is given back.
const RUNS: u64 = 2;

/// The memory of values that earlier steps of any run have freed, and the scratch memory of kernels.
///
/// A new allocation of a large value costs a page fault for each of its pages, which the system fills with zeros.
/// Memory that recent runs have used is kept: each run takes memory from here before it allocates, so it never frees
/// much more than its values take at one time.
#[derive(Debug, Default)]
pub struct Buffers {
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    /// The vectors of each type of elements.
    lists: FxHashMap<TypeId, Box<dyn List>>,
    runs: u64,
}

/// Vectors of one type of elements, each with the run that freed it.
#[derive(Debug)]
struct Vectors<T>(Vec<(Vec<T>, u64)>);

/// Vectors of any type of elements.
trait List: Any + Send + std::fmt::Debug {
    /// Gives back those that were freed before a run.
    fn forget(&mut self, oldest: u64);
}

impl<T: Element> List for Vectors<T> {
    fn forget(&mut self, oldest: u64) {
        self.0.retain(|(_, run)| *run >= oldest);
    }
}

impl Free {
    fn list<T: Element>(&mut self) -> Option<&mut Vectors<T>> {
        let list = self
            .lists
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Box::new(Vectors::<T>(Vec::new())));
        (list.as_mut() as &mut dyn Any).downcast_mut()
    }
}

impl Buffers {
    /// Begins a run.
    pub fn begin(&self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.runs += 1;
        let oldest = free.runs.saturating_sub(RUNS);
        free.lists.values_mut().for_each(|list| list.forget(oldest));
    }

    /// `n` elements with arbitrary values.
    pub(super) fn take<T: Element>(&self, n: usize) -> Vec<T> {
        let mut out = self.empty(n);
        out.resize(n, T::default());
        out
    }

    /// Room for `n` elements; those in it have arbitrary values.
    pub(super) fn empty<T: Element>(&self, n: usize) -> Vec<T> {
        self.smallest(n).unwrap_or_else(|| pages::room(n))
    }

    /// The smallest buffer that has room for `n` elements, unless most of it would be unused.
    fn smallest<T: Element>(&self, n: usize) -> Option<Vec<T>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let vectors = &mut free.list::<T>()?.0;
        // Of equal ones, the last, which is most likely still in a cache.
        let fitting = vectors.iter().map(|(v, _)| v.capacity()).enumerate().rev();
        let fitting = fitting.filter(|(_, capacity)| (n..=n.saturating_mul(2)).contains(capacity));
        let (i, _) = fitting.min_by_key(|(_, capacity)| *capacity)?;
        Some(vectors.swap_remove(i).0)
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
        if vector.capacity() == 0 || std::mem::needs_drop::<T>() {
            return;
        }
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let run = free.runs;
        if let Some(vectors) = free.list() {
            vectors.0.push((vector, run));
        }
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
