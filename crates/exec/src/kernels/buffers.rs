//! Memory of values that are not needed any more, for values to come.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

use tautomer_tensor::{Element, Tensor};

/// Smaller values are not worth keeping: the allocator hands them out without the help of the operating system.
const SMALLEST: usize = 4096;

/// The memory of `f32` values that earlier steps of any run have freed.
///
/// A new allocation of a large value costs a page fault for each of its pages, and being filled with zeros.
#[derive(Debug, Default)]
pub struct Buffers {
    free: Mutex<Free>,
    /// Limit on the elements that are kept.
    limit: usize,
}

#[derive(Debug, Default)]
struct Free {
    buffers: Vec<Vec<f32>>,
    elements: usize,
}

impl Buffers {
    /// Keeps `bytes` at most.
    pub fn of(bytes: u64) -> Buffers {
        Buffers {
            limit: usize::try_from(bytes).unwrap_or(usize::MAX) / size_of::<f32>(),
            free: Mutex::default(),
        }
    }

    /// `n` elements with arbitrary values.
    pub(super) fn take<T: Element>(&self, n: usize) -> Vec<T> {
        let mut out: Vec<T> = Vec::new();
        if n >= SMALLEST
            && let Some(out) = (&mut out as &mut dyn Any).downcast_mut::<Vec<f32>>()
        {
            *out = self.smallest(n).unwrap_or_default();
        }
        out.resize(n, T::default());
        out
    }

    /// The smallest buffer that has room for `n` elements, unless most of it would be unused.
    fn smallest(&self, n: usize) -> Option<Vec<f32>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = free
            .buffers
            .iter()
            .enumerate()
            .filter(|(_, b)| b.len() >= n && b.len() / 2 <= n);
        let (i, _) = fitting.min_by_key(|(_, b)| b.len())?;
        let buffer = free.buffers.swap_remove(i);
        free.elements -= buffer.len();
        Some(buffer)
    }

    /// Keeps the memory of a value if nothing else refers to it.
    pub fn recycle(&self, value: Tensor) {
        if let Tensor::F32(array) = value
            && array.len() >= SMALLEST
            && let Ok(array) = array.try_into_owned_nocopy()
        {
            self.give(array.into_raw_vec_and_offset().0);
        }
    }

    /// Keeps memory.
    pub(super) fn give(&self, buffer: Vec<f32>) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.len() >= SMALLEST && free.elements + buffer.len() <= self.limit {
            free.elements += buffer.len();
            free.buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again() {
        let buffers = Buffers::of(1 << 20);
        let value = Tensor::vector(vec![1.0f32; 5000]);
        let shared = value.clone();
        buffers.recycle(value);
        assert!(buffers.smallest(5000).is_none(), "another tensor has the elements");
        buffers.recycle(shared);
        assert!(buffers.smallest(2000).is_none(), "less than half would be used");
        assert!(buffers.smallest(5001).is_none(), "it is too small");
        let again: Vec<f32> = buffers.take(4096);
        assert_eq!(again, vec![1.0f32; 4096], "memory is not cleared");
        assert_eq!(buffers.take::<f32>(4096), vec![0.0f32; 4096], "the buffer is taken");
        assert_eq!(buffers.take::<i64>(3), [0, 0, 0]);
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let buffers = Buffers::of(4 * 10_000);
        (0..3).for_each(|_| buffers.recycle(Tensor::vector(vec![0.0f32; 5000])));
        assert!(buffers.smallest(5000).is_some() && buffers.smallest(5000).is_some());
        assert!(buffers.smallest(5000).is_none());
    }
}
