//! Large pages: a page of 4 KiB costs a fault when it is first written and an entry of the TLB whenever it is read, so
//! values that do not fit in the caches are read at a fraction of the rate of memory.
#![allow(unsafe_code, reason = "the system is advised about memory that is owned here")]

/// Less memory is not worth large pages, of which it would fill few.
pub(super) const LARGE: usize = 4 << 20;

/// The alignment of memory that begins with a large page.
pub(super) const LARGE_PAGE: usize = 2 << 20;

/// Asks the system to use large pages for the whole pages of some elements, which need not be initialized.
pub(super) fn advise<T>(elements: &mut [std::mem::MaybeUninit<T>]) {
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
