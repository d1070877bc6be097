//! Room for the elements of a result: a vector, or the place that the plan of a run gives it.
#![allow(unsafe_code, reason = "elements at a place are accessed through pointers")]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::operand::Place;
use tautomer_tensor::Element;

/// Elements of a result.
///
/// It is used like a vector. Room that is lent from the memory of a run is used as long as the elements fit; if there
/// are more, they move to a vector.
#[derive(Debug)]
pub struct Room<'a, T> {
    kind: Kind<'a, T>,
}

#[derive(Debug)]
enum Kind<'a, T> {
    Own(Vec<T>),
    Lent(Lent<'a, T>),
}

/// Elements at a place in the memory of a run.
#[derive(Debug)]
pub(super) struct Lent<'a, T> {
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    place: &'a Place,
    /// The index of this result of the call.
    index: usize,
}

// SAFETY: it is an exclusive borrow of elements.
unsafe impl<T: Send> Send for Lent<'_, T> {}
// SAFETY: likewise.
unsafe impl<T: Sync> Sync for Lent<'_, T> {}

impl<'a, T> Lent<'a, T> {
    /// Result `index` of a call, with all its elements.
    ///
    /// # Safety
    /// `start` points at `len` initialized elements of a type without a destructor, which nothing else accesses for `'a`.
    pub(super) unsafe fn new(start: NonNull<T>, len: usize, place: &'a Place, index: usize) -> Lent<'a, T> {
        Lent {
            start,
            len,
            capacity: len,
            place,
            index,
        }
    }

    /// Its place, and the index of the result.
    pub(super) fn place(&self) -> (&'a Place, usize) {
        (self.place, self.index)
    }
}

impl<T> Deref for Lent<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `new` was given as many initialized elements as the capacity, which the length never exceeds.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; nothing else accesses them.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<'a, T> From<Lent<'a, T>> for Room<'a, T> {
    fn from(lent: Lent<'a, T>) -> Room<'a, T> {
        Room { kind: Kind::Lent(lent) }
    }
}

impl<T> From<Vec<T>> for Room<'_, T> {
    fn from(vector: Vec<T>) -> Self {
        Room {
            kind: Kind::Own(vector),
        }
    }
}

impl<T> Deref for Room<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match &self.kind {
            Kind::Own(vector) => vector,
            Kind::Lent(lent) => lent,
        }
    }
}

impl<T> DerefMut for Room<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.kind {
            Kind::Own(vector) => vector,
            Kind::Lent(lent) => lent,
        }
    }
}

impl<'a, T: Element> Room<'a, T> {
    /// The elements that were lent, or those of a vector.
    pub(super) fn into_parts(self) -> Result<Lent<'a, T>, Vec<T>> {
        match self.kind {
            Kind::Own(vector) => Err(vector),
            Kind::Lent(lent) => Ok(lent),
        }
    }

    /// Removes all elements.
    pub(super) fn clear(&mut self) {
        match &mut self.kind {
            Kind::Own(vector) => vector.clear(),
            Kind::Lent(lent) => lent.len = 0,
        }
    }

    /// Makes room for `more` elements in a vector, if there is less.
    fn reserve(&mut self, more: usize) {
        match &mut self.kind {
            Kind::Own(vector) => vector.reserve(more),
            Kind::Lent(lent) if lent.capacity - lent.len < more => {
                let mut vector = Vec::with_capacity(lent.len + more);
                vector.extend_from_slice(lent);
                self.kind = Kind::Own(vector);
            }
            Kind::Lent(_) => {}
        }
    }

    /// Appends elements.
    pub(super) fn extend_from_slice(&mut self, elements: &[T]) {
        self.reserve(elements.len());
        match &mut self.kind {
            Kind::Own(vector) => vector.extend_from_slice(elements),
            Kind::Lent(lent) => {
                let first = lent.len;
                lent.len += elements.len();
                lent[first..].clone_from_slice(elements);
            }
        }
    }

    /// Makes it `n` elements long; new ones are `value`.
    pub(super) fn resize(&mut self, n: usize, value: T) {
        self.reserve(n.saturating_sub(self.len()));
        match &mut self.kind {
            Kind::Own(vector) => vector.resize(n, value),
            Kind::Lent(lent) => {
                let first = lent.len.min(n);
                lent.len = n;
                lent[first..].fill(value);
            }
        }
    }

    /// The pointer to the first element and the number of elements there is room for, for code that writes all of them
    /// and then calls `set_len`.
    pub(super) fn spare(&mut self, n: usize) -> *mut T {
        self.clear();
        self.reserve(n);
        match &mut self.kind {
            Kind::Own(vector) => vector.as_mut_ptr(),
            Kind::Lent(lent) => lent.start.as_ptr(),
        }
    }

    /// Says how many elements there are.
    ///
    /// # Safety
    /// There is room for `n` elements, and all of them are initialized.
    pub(super) unsafe fn set_len(&mut self, n: usize) {
        match &mut self.kind {
            // SAFETY: upheld by the caller.
            Kind::Own(vector) => unsafe { vector.set_len(n) },
            Kind::Lent(lent) => {
                assert!(n <= lent.capacity, "there is no room for {n} elements");
                lent.len = n;
            }
        }
    }
}

impl<T: Element> Extend<T> for Room<'_, T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        let mut items = items.into_iter();
        if let Kind::Lent(lent) = &mut self.kind {
            let mut n = lent.len;
            lent.len = lent.capacity;
            for (place, item) in lent[n..].iter_mut().zip(&mut items) {
                *place = item;
                n += 1;
            }
            lent.len = n;
            if n < lent.capacity {
                return;
            }
        }
        let mut items = items.peekable();
        if items.peek().is_none() {
            return;
        }
        self.reserve(items.size_hint().0.max(1));
        if let Kind::Own(vector) = &mut self.kind {
            vector.extend(items);
        }
    }
}
