//! Free ranges of memory.

use std::collections::{BTreeMap, BTreeSet};

/// Free ranges of an arena that grows at its end.
#[derive(Default)]
pub(super) struct Ranges {
    /// Lengths by offset.
    by_offset: BTreeMap<usize, usize>,
    /// (length, offset) of the same ranges.
    by_size: BTreeSet<(usize, usize)>,
    /// The bytes of the arena.
    pub(super) end: usize,
}

impl Ranges {
    /// The smallest free range that is large enough, the first of those; otherwise the end of the arena, together with
    /// a free range directly before it.
    pub(super) fn take(&mut self, bytes: usize) -> usize {
        if bytes == 0 {
            return 0;
        }
        if let Some(&(size, offset)) = self.by_size.range((bytes, 0)..).next() {
            self.remove(offset, size);
            if size > bytes {
                self.insert(offset + bytes, size - bytes);
            }
            return offset;
        }
        let tail = self.by_offset.last_key_value().map(|(&o, &s)| (o, s));
        let start = match tail {
            Some((offset, size)) if offset.saturating_add(size) == self.end => {
                self.remove(offset, size);
                offset
            }
            _ => self.end,
        };
        self.end = start.saturating_add(bytes);
        start
    }

    /// Frees a range.
    pub(super) fn give(&mut self, mut offset: usize, mut bytes: usize) {
        if bytes == 0 {
            return;
        }
        if let Some((&before, &size)) = self.by_offset.range(..offset).next_back()
            && before.saturating_add(size) == offset
        {
            self.remove(before, size);
            offset = before;
            bytes = bytes.saturating_add(size);
        }
        let end = offset.saturating_add(bytes);
        if let Some(&size) = self.by_offset.get(&end) {
            self.remove(end, size);
            bytes = bytes.saturating_add(size);
        }
        self.insert(offset, bytes);
    }

    fn insert(&mut self, offset: usize, bytes: usize) {
        self.by_offset.insert(offset, bytes);
        self.by_size.insert((bytes, offset));
    }

    fn remove(&mut self, offset: usize, bytes: usize) {
        self.by_offset.remove(&offset);
        self.by_size.remove(&(bytes, offset));
    }
}
