//! The memory of a run: one arena and the elements of outputs. Calls borrow the parts that they read and write.
//!
//! A planned value has a [`Place`]: a range of bytes in one region. A call borrows the places of its operands and
//! results through [`Loans`], which never lend a range for writing that the call has borrowed otherwise. So a call is
//! sound whatever the plan says. [`Plan`](crate::Plan) makes sure that a place still holds the value that a step reads,
//! and `verify` checks it.
#![allow(
    unsafe_code,
    reason = "parts of one allocation are borrowed by offset; loans of a call are checked not to overlap"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use smallvec::SmallVec;

use super::operand::{Operand, Place, is_plain, of_plain};
use super::pages;
use super::room::{Lent, Room};
use super::words::{are_words, start};
use tautomer_tensor::{DType, Element, Nd, Tensor, with_array};

/// Every place starts at a multiple of this many bytes: a cache line, and the widest vector register.
pub const ALIGN: usize = 64;

/// The bytes in which values of a run are placed, all initialized.
#[derive(Debug)]
pub struct Arena {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: an arena owns its bytes, and a shared reference to it gives no access to them.
unsafe impl Send for Arena {}
// SAFETY: likewise.
unsafe impl Sync for Arena {}

impl Arena {
    /// An arena of at least so many bytes, which are zero.
    pub fn new(bytes: usize) -> Arena {
        let Some(layout) = Arena::layout(bytes) else {
            return Arena {
                start: NonNull::dangling(),
                bytes: 0,
            };
        };
        // SAFETY: the size is not zero.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else {
            handle_alloc_error(layout);
        };
        // SAFETY: the bytes were just allocated, and nothing else refers to them.
        let all = unsafe { std::slice::from_raw_parts_mut(start.as_ptr().cast::<MaybeUninit<u8>>(), bytes) };
        if bytes >= pages::LARGE {
            pages::advise(all);
        }
        all.fill(MaybeUninit::new(0));
        Arena { start, bytes }
    }

    /// The layout for allocating that many bytes; `None` for zero bytes, and for more than can be allocated.
    fn layout(bytes: usize) -> Option<Layout> {
        let align = if bytes >= pages::LARGE {
            pages::LARGE_PAGE
        } else {
            ALIGN
        };
        let layout = Layout::from_size_align(bytes, align).ok()?;
        (bytes > 0).then_some(layout)
    }

    /// Its number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its bytes.
    fn region(&mut self) -> Region<'_> {
        Region {
            start: self.start,
            bytes: self.bytes,
            lent: PhantomData,
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if let Some(layout) = Arena::layout(self.bytes) {
            // SAFETY: it was allocated with this layout.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}

/// A part of the memory of a run, borrowed for the run.
#[derive(Debug)]
struct Region<'m> {
    start: NonNull<u8>,
    bytes: usize,
    lent: PhantomData<&'m mut [u8]>,
}

// SAFETY: a region is an exclusive borrow of bytes.
unsafe impl Send for Region<'_> {}

impl<'m> Region<'m> {
    /// The elements of a tensor, if they are in row-major order, and of a plain type; otherwise nothing. Elements that
    /// other tensors share are copied first.
    fn of(tensor: &'m mut Tensor) -> Region<'m> {
        let bytes = tensor.bytes();
        let start = match is_plain(tensor.dtype()) {
            true => with_array!(tensor, array => array.as_slice_mut().map(|s| s.as_mut_ptr().cast::<u8>())),
            false => None,
        };
        let start = start.and_then(NonNull::new);
        Region {
            start: start.unwrap_or(NonNull::dangling()),
            bytes: if start.is_some() { bytes } else { 0 },
            lent: PhantomData,
        }
    }
}

/// All regions of a run.
#[derive(Debug)]
pub struct Regions<'m> {
    regions: SmallVec<[Region<'m>; 8]>,
}

impl<'m> Regions<'m> {
    /// The memory of a run: the arena, and the outputs in order.
    pub fn new(arena: Option<&'m mut Arena>, outputs: &'m mut [Tensor]) -> Regions<'m> {
        let none = Region {
            start: NonNull::dangling(),
            bytes: 0,
            lent: PhantomData,
        };
        let first = arena.map_or(none, Arena::region);
        let outputs = outputs.iter_mut().map(Region::of);
        Regions {
            regions: std::iter::once(first).chain(outputs).collect(),
        }
    }

    /// The memory that calls borrow from.
    pub fn memory(&self) -> Memory<'_> {
        Memory { regions: &self.regions }
    }

    /// Copies the bytes of `from` to `to`; `None`, without copying, if the sizes differ or a place is not in memory.
    pub fn copy(&mut self, from: &Place, to: &Place) -> Option<()> {
        let (source, target) = (self.memory().start(from)?, self.memory().start(to)?);
        // SAFETY: both places are within regions of initialized bytes, and nothing borrows from them, as `self` is
        // borrowed exclusively.
        (from.bytes == to.bytes).then(|| unsafe { source.copy_to(target, from.bytes) })
    }

    /// Copies the elements of a tensor to a place; `None`, without copying, if that is of another type or shape.
    pub fn store(&mut self, value: &Tensor, to: &Place) -> Option<()> {
        fn write<T: Element>(array: &Nd<T>, target: NonNull<T>) {
            for (i, x) in array.iter().enumerate() {
                // SAFETY: the place has room for all elements of the tensor, is aligned, and not borrowed, as in
                // `copy`; elements of plain types are not dropped.
                unsafe { target.add(i).write(x.clone()) };
            }
        }
        let target = self.memory().start(to)?;
        if value.dtype() != to.dtype || value.shape() != &to.shape[..] {
            return None;
        }
        match start(value) {
            // SAFETY: as in `write`; the elements are next to each other, and as many as those of the place.
            Some(from) => unsafe { from.copy_to_nonoverlapping(target, to.bytes) },
            None => with_array!(value, array => write(array, target.cast())),
        }
        Some(())
    }

    /// A copy of the value at a place, as a tensor.
    pub fn load(&self, place: &Place) -> Option<Tensor> {
        self.memory().load(place)
    }

    /// Fills a place in the arena whose value has died with bits that no computation should meet: NaN for floats.
    pub fn poison(&mut self, place: &Place) {
        if let Some(start) = self.memory().start(place).filter(|_| place.region == 0) {
            // SAFETY: the bytes are within a region and not borrowed, as in `copy`.
            unsafe { start.write_bytes(0xff, place.bytes) }
        }
    }
}

/// The memory of a run, from which calls borrow; `Loans` decides what.
#[derive(Debug, Clone, Copy)]
pub struct Memory<'m> {
    regions: &'m [Region<'m>],
}

impl<'m> Memory<'m> {
    /// The address at which the elements of a place begin; `None` if the place is not within its region, not as large
    /// as its shape says, or not aligned for its type.
    fn start(&self, place: &Place) -> Option<NonNull<u8>> {
        let region = self.regions.get(place.region)?;
        let size = place.dtype.size();
        let is_whole = place.shape.iter().try_fold(size, |n, &d| n.checked_mul(d)) == Some(place.bytes);
        let is_inside = place
            .start
            .checked_add(place.bytes)
            .is_some_and(|end| end <= region.bytes);
        if !is_whole || !is_inside || !is_plain(place.dtype) {
            return None;
        }
        // SAFETY: the place is within the region.
        let start = unsafe { region.start.add(place.start) };
        start.addr().get().is_multiple_of(size).then_some(start)
    }

    /// A copy of the value at a place that nothing is writing to, as a tensor.
    fn load(&self, place: &Place) -> Option<Tensor> {
        fn read<T: Element>(memory: &Memory<'_>, place: &Place) -> Option<Tensor> {
            // SAFETY: no call has borrowed the place for writing: a run loads values between calls, and a call those of
            // operands that are not gone. The slice ends with this function.
            Tensor::new(&place.shape, unsafe { memory.elements::<T>(None, place) }?.to_vec())
        }
        of_plain!(place.dtype, T => read::<T>(self, place))
    }

    /// The elements at a place; those of type `words` may be seen as words.
    ///
    /// # Safety
    /// Nothing writes to the place while they are borrowed; if its type is `bool`, it holds valid values.
    unsafe fn elements<T: Element>(&self, words: Option<DType>, place: &Place) -> Option<&'m [T]> {
        let start = self.start(place).filter(|_| holds::<T>(place, words))?;
        // SAFETY: the place is within a region, aligned, of initialized elements or words of their size, which accept
        // all bit patterns; the rest is upheld by the caller.
        Some(unsafe { std::slice::from_raw_parts(start.cast().as_ptr(), place.len()) })
    }
}

/// The loans of one call.
#[derive(Debug, Default)]
pub(super) struct Loans<'a> {
    memory: Option<Memory<'a>>,
    results: &'a [Option<&'a Place>],
    /// Operands that have been read, by index.
    read: Cell<u64>,
    /// Operands whose places are overwritten by results.
    gone: Cell<u64>,
    /// Results whose places are lent.
    taken: Cell<u64>,
}

/// True if the elements at a place are of type `T`, or seen as words of it.
fn holds<T: Element>(place: &Place, words: Option<DType>) -> bool {
    T::DTYPE == place.dtype || words == Some(place.dtype) && are_words::<T>(place.dtype)
}

/// The bit of an index; larger indices have no bit, so their operands and results are never lent.
fn bit(i: usize) -> Option<u64> {
    1u64.checked_shl(u32::try_from(i).ok()?)
}

impl<'a> Loans<'a> {
    /// The loans of a call whose results belong in these places.
    pub(super) fn new(memory: Option<Memory<'a>>, results: &'a [Option<&'a Place>]) -> Loans<'a> {
        Loans {
            memory,
            results,
            ..Loans::default()
        }
    }

    /// Forgets the loans of a kernel that declined, which has returned them.
    pub(super) fn reset(&self) {
        self.read.set(0);
        self.gone.set(0);
        self.taken.set(0);
    }

    /// The elements of operand `i`, which is at `place`; those of type `words` are seen as words.
    pub(super) fn read<T: Element>(&self, i: usize, words: Option<DType>, place: &Place) -> Option<&'a [T]> {
        let mut results = self.results.iter().enumerate();
        if self.is_gone(i) || results.any(|(k, to)| self.clashes(k, *to, place)) {
            return None;
        }
        // Operands without a bit are never replaced.
        self.read.set(self.read.get() | bit(i).unwrap_or(0));
        // SAFETY: no result that is lent overlaps the place, and `lend` lends none that overlaps one that has been
        // read; a verified plan reads what was written as the same type.
        unsafe { self.memory?.elements(words, place) }
    }

    /// True if a result replaces operand `i`.
    fn is_gone(&self, i: usize) -> bool {
        bit(i).is_some_and(|bit| self.gone.get() & bit != 0)
    }

    /// A copy of the value of operand `i`, as a tensor.
    pub(super) fn load(&self, i: usize, place: &Place) -> Option<Tensor> {
        self.memory.filter(|_| !self.is_gone(i))?.load(place)
    }

    /// True if result `k` is lent and shares bytes with `place`.
    fn clashes(&self, k: usize, to: Option<&Place>, place: &Place) -> bool {
        bit(k).is_some_and(|bit| self.taken.get() & bit != 0) && to.is_some_and(|to| to.overlaps(place))
    }

    /// Room for result `k` at its place, unless an operand or another result has bytes there.
    pub(super) fn result<T: Element>(
        &self,
        k: usize,
        words: Option<DType>,
        others: impl Iterator<Item = Operand<'a>>,
    ) -> Option<Room<'a, T>> {
        let place = self.results.get(k).copied().flatten()?;
        let mut others = others.filter_map(|operand| operand.place());
        if others.any(|other| other.overlaps(place)) {
            return None;
        }
        self.lend(k, words, place)
    }

    /// The elements of operand `i`, to be overwritten by result 0, if the plan puts both in the same place and the
    /// operand has not been read.
    pub(super) fn in_place<T: Element>(
        &self,
        i: usize,
        operand: Operand<'a>,
        mut others: impl Iterator<Item = Operand<'a>>,
    ) -> Option<Room<'a, T>> {
        let to = self.results.first().copied().flatten()?;
        let from = operand.place()?;
        let same =
            to.region == from.region && to.start == from.start && to.bytes == from.bytes && to.dtype == from.dtype;
        let is_shared = others.any(|other| other.place().is_some_and(|other| other.overlaps(to)));
        let bit = bit(i)?;
        if !same || is_shared || self.read.get() & bit != 0 {
            return None;
        }
        let room = self.lend(0, None, to)?;
        self.gone.set(self.gone.get() | bit);
        Some(room)
    }

    fn lend<T: Element>(&self, k: usize, words: Option<DType>, place: &'a Place) -> Option<Room<'a, T>> {
        let bit = bit(k)?;
        let clash = |(other, to): (usize, &Option<&Place>)| self.clashes(other, *to, place);
        if self.taken.get() & bit != 0 || self.results.iter().enumerate().any(clash) || !holds::<T>(place, words) {
            return None;
        }
        let start = self.memory?.start(place)?;
        self.taken.set(self.taken.get() | bit);
        if place.dtype == DType::Bool {
            // Bytes of another value need not be truth values.
            // SAFETY: the place is within a region, and nothing borrows from it, as is shown below.
            unsafe { start.write_bytes(0, place.bytes) }
        }
        // SAFETY: the place is within a region of initialized bytes, aligned, and has room for its elements, of which
        // `T` is the type or a word of their size, where all bit patterns are elements. No operand that has been or can
        // be read overlaps it: `result` and `in_place` have checked all others, and what `in_place` replaces is marked
        // as gone. No other result that is lent does, and this one is lent once.
        let lent = unsafe { Lent::new(start.cast(), place.len(), place, k) };
        Some(Room::from(lent))
    }
}
