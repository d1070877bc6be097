//! Large pages: a page of 4 KiB costs a fault when it is first written and an entry of the TLB whenever it is read, so
//! values that do not fit in the caches are read at a fraction of the rate of memory.
#![allow(
    unsafe_code,
    reason = "memory is allocated in large pages, and the system is advised about it"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Less memory is not worth large pages, of which it would fill few.
pub(super) const LARGE: usize = 4 << 20;

/// The alignment of memory that begins with a large page.
pub(super) const LARGE_PAGE: usize = 2 << 20;

/// Asks the system to use large pages for the whole pages of some elements, which need not be initialized.
pub(super) fn advise<T>(elements: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let (first, end) = (elements.as_ptr().addr(), elements.as_ptr_range().end.addr());
        let (first, end) = (first.next_multiple_of(PAGE), end / PAGE * PAGE);
        if first < end {
            // SAFETY: the pages are borrowed exclusively; the advice does not change their contents, and it does not
            // matter whether the system follows it.
            unsafe {
                libc::madvise(
                    std::ptr::without_provenance_mut(first),
                    end - first,
                    libc::MADV_HUGEPAGE,
                );
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = elements;
}

/// Capacity for `n` elements, in large pages from `large` bytes on.
pub(super) fn room_from<T>(n: usize, large: usize) -> Vec<T> {
    let mut out: Vec<T> = Vec::with_capacity(n);
    if n.saturating_mul(size_of::<T>()) >= large {
        advise(out.spare_capacity_mut());
    }
    out
}

/// Capacity for `n` elements, in large pages if that pays.
pub(super) fn room<T>(n: usize) -> Vec<T> {
    room_from(n, LARGE)
}

/// So many zeros, in large pages if that pays.
pub(super) fn zeros(n: usize) -> Vec<f32> {
    if n * size_of::<f32>() < LARGE {
        return vec![0.0; n];
    }
    let mut out = room(n);
    out.resize(n, 0.0);
    out
}

/// Elements that are kept from run to run, such as packed weights. Those of several calls share large pages.
pub(super) struct Lasting {
    block: Arc<Block>,
    first: usize,
    len: usize,
}

impl Deref for Lasting {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: `lasting` has written these elements of the block, and nothing writes them again.
        unsafe { std::slice::from_raw_parts(self.block.start.as_ptr().add(self.first), self.len) }
    }
}

/// Memory in large pages that is handed out from its beginning to its end.
struct Block {
    start: NonNull<f32>,
    layout: Layout,
}

// SAFETY: a block owns its memory; parts that are handed out are disjoint, and only read after that.
unsafe impl Send for Block {}
// SAFETY: likewise.
unsafe impl Sync for Block {}

/// Elements of a block, unless more are kept together.
const BLOCK: usize = 2 << 20;

/// Elements of a cache line.
const LINE: usize = 16;

impl Block {
    /// A block of at least so many elements, which is not zero.
    fn new(elements: usize) -> Block {
        let bytes = elements
            .checked_mul(size_of::<f32>())
            .and_then(|n| n.checked_next_multiple_of(LARGE_PAGE));
        let layout = Layout::from_size_align(bytes.unwrap_or(usize::MAX), LARGE_PAGE);
        let layout = layout.expect("elements that exist once fit in memory again");
        // SAFETY: the size is not zero.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout);
        };
        // SAFETY: the bytes were just allocated, and nothing else refers to them.
        advise(unsafe { std::slice::from_raw_parts_mut(start.as_ptr().cast::<MaybeUninit<u8>>(), layout.size()) });
        Block {
            start: start.cast(),
            layout,
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.start.as_ptr().cast(), self.layout) }
    }
}

/// The block that is being filled, and the number of its elements that have been handed out.
static OPEN: Mutex<(Weak<Block>, usize)> = Mutex::new((Weak::new(), 0));

/// Copies elements to where they are kept.
pub(super) fn lasting(elements: &[f32]) -> Lasting {
    let len = elements.len();
    let needed = len.max(1).next_multiple_of(LINE);
    let (block, first) = if needed > BLOCK / 2 {
        (Arc::new(Block::new(needed)), 0)
    } else {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let (block, used) = match open.0.upgrade() {
            Some(block) if needed <= BLOCK - open.1 => (block, open.1),
            _ => (Arc::new(Block::new(BLOCK)), 0),
        };
        *open = (Arc::downgrade(&block), used + needed);
        (block, used)
    };
    // SAFETY: the block has this many elements from `first` on, which nothing else refers to.
    unsafe {
        block
            .start
            .as_ptr()
            .add(first)
            .copy_from_nonoverlapping(elements.as_ptr(), len)
    };
    Lasting { block, first, len }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_what_was_copied() {
        let all: Vec<Vec<f32>> = [0, 1, 17, 4096, BLOCK / 2 + 1, BLOCK / 2, BLOCK / 2 - 5, 3]
            .iter()
            .map(|&n| (0..n).map(|i| (i % 1021 + n) as f32).collect())
            .collect();
        let kept: Vec<Lasting> = all.iter().map(|elements| lasting(elements)).collect();
        for (kept, elements) in kept.iter().zip(&all) {
            assert!(kept[..] == elements[..], "{} elements", elements.len());
            assert_eq!(kept.as_ptr().addr() % 64, 0);
        }
    }
}
