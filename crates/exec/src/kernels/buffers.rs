//! Memory of values that are no longer needed, for later values.
#![allow(
    unsafe_code,
    reason = "the memory of vectors is kept by the size of their elements, whatever their type"
)]

use std::alloc::{Layout, dealloc};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::pages;
use tautomer_tensor::{DType, Element, Nd, Tensor, with_array};

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
    /// Vectors of elements of each size, each with the run that freed it.
    lists: [Vec<(Freed, u64)>; SIZES.len()],
    runs: u64,
}

/// The sizes of elements whose memory is kept.
const SIZES: [usize; 4] = [1, 2, 4, 8];

/// The list for elements of that size.
fn list_of(size: usize) -> Option<usize> {
    SIZES.iter().position(|&own| own == size)
}

/// The memory of a vector that was freed, for elements of any type that have their size.
#[derive(Debug)]
struct Freed {
    start: NonNull<u8>,
    /// The elements that are initialized.
    len: usize,
    capacity: usize,
    size: usize,
}

// SAFETY: it owns its bytes.
unsafe impl Send for Freed {}

impl Freed {
    /// The list for elements of type `T`: those of a plain type, aligned to their size.
    fn list<T: Element>() -> Option<usize> {
        let is_plain = !std::mem::needs_drop::<T>() && align_of::<T>() == size_of::<T>();
        is_plain.then(|| list_of(size_of::<T>()))?
    }

    fn of<T: Element>(vector: Vec<T>) -> Freed {
        let mut vector = ManuallyDrop::new(vector);
        Freed {
            start: NonNull::from(vector.as_mut_slice()).cast(),
            len: vector.len(),
            capacity: vector.capacity(),
            size: size_of::<T>(),
        }
    }

    /// A vector of elements that have arbitrary values.
    ///
    /// # Safety
    /// `T` has a list, the one that the memory is from.
    unsafe fn vector<T: Element>(self) -> Vec<T> {
        let memory = ManuallyDrop::new(self);
        // Bytes of other elements need not be truth values.
        let len = if T::DTYPE == DType::Bool { 0 } else { memory.len };
        // SAFETY: a vector of elements of this size, which are aligned to it, has allocated the memory; those up to its
        // length are initialized, and all their bit patterns are elements of `T`.
        unsafe { Vec::from_raw_parts(memory.start.cast().as_ptr(), len, memory.capacity) }
    }
}

impl Drop for Freed {
    fn drop(&mut self) {
        if let Ok(layout) = Layout::from_size_align(self.capacity * self.size, self.size) {
            // SAFETY: a vector has allocated it with this layout, and `give` keeps none without capacity.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}

impl Free {
    /// The smallest memory in a list that has room for `n` elements, unless most of it would be unused.
    fn smallest(&mut self, list: usize, n: usize) -> Option<Freed> {
        let memories = &mut self.lists[list];
        // Of equal ones, the last, which is most likely still in a cache.
        let fitting = memories.iter().map(|(memory, _)| memory.capacity).enumerate().rev();
        let fitting = fitting.filter(|(_, capacity)| (n..=n.saturating_mul(2)).contains(capacity));
        let (i, _) = fitting.min_by_key(|(_, capacity)| *capacity)?;
        Some(memories.swap_remove(i).0)
    }
}

impl Buffers {
    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run.
    pub fn begin(&self) {
        let mut free = self.free();
        free.runs += 1;
        let oldest = free.runs.saturating_sub(RUNS);
        let lists = free.lists.iter_mut();
        lists.for_each(|list| list.retain(|(_, run)| *run >= oldest));
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
        let list = Freed::list::<T>()?;
        let memory = self.free().smallest(list, n)?;
        // SAFETY: it is from the list for elements of type `T`.
        Some(unsafe { memory.vector() })
    }

    /// Keeps the memory of a value if nothing else refers to it.
    pub fn recycle(&self, value: Tensor) {
        fn array<T: Element>(buffers: &Buffers, array: Nd<T>) {
            if let Ok(array) = array.try_into_owned_nocopy() {
                buffers.give(array.into_raw_vec_and_offset().0);
            }
        }
        if value.bytes() >= SMALLEST {
            with_array!(value, owned => array(self, owned));
        }
    }

    /// Keeps memory.
    pub(super) fn give<T: Element>(&self, vector: Vec<T>) {
        if let Some(list) = Freed::list::<T>().filter(|_| vector.capacity() > 0) {
            self.keep(list, Freed::of(vector));
        }
    }

    fn keep(&self, list: usize, memory: Freed) {
        let mut free = self.free();
        let run = free.runs;
        free.lists[list].push((memory, run));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(buffers: &Buffers, n: usize) -> bool {
        buffers.smallest::<f32>(n).is_some()
    }

    fn has_bytes(buffers: &Buffers, n: usize) -> bool {
        buffers.smallest::<i8>(n).is_some()
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
            buffers.smallest::<i64>(5000).is_none(),
            "its elements are of another size"
        );
        let again: Vec<f32> = buffers.take(4096);
        assert_eq!(again, vec![1.0f32; 4096], "memory is not cleared");
        assert_eq!(buffers.take::<f32>(4096), vec![0.0f32; 4096], "the buffer is taken");
        buffers.give(again);
        assert!(has(&buffers, 5000), "all of the buffer is kept");
        assert_eq!(buffers.take::<i64>(3), [0, 0, 0]);
        buffers.recycle(Tensor::vector(vec![true; 20_000]));
        assert!(has_bytes(&buffers, 20_000), "elements of any type of that size");
        buffers.recycle(Tensor::vector(vec![7u8; 20_000]));
        assert_eq!(buffers.take::<bool>(20_000), vec![false; 20_000], "7 is no truth value");
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
