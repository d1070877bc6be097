//! Queries, keys and values of attention.

/// Queries, keys or values: rows of all heads.
#[derive(Clone, Copy)]
pub(super) struct Heads<'a> {
    pub(super) elements: &'a [f32],
    pub(super) heads: usize,
    pub(super) length: usize,
    pub(super) size: usize,
    /// The rows of one position are contiguous, instead of those of one head.
    pub(super) is_joined: bool,
}

impl<'a> Heads<'a> {
    /// Operand `i` with three or four axes; `heads` are those of one with three.
    pub(super) fn of(elements: &'a [f32], shape: &[usize], heads: Option<usize>) -> Option<Heads<'a>> {
        let (heads, length, size, is_joined) = match *shape {
            [_, heads, length, size] => (heads, length, size, false),
            [_, length, all] => {
                let heads = heads.filter(|&n| n > 0 && all % n == 0)?;
                (heads, length, all / heads, true)
            }
            _ => return None,
        };
        Some(Heads {
            elements,
            heads,
            length,
            size,
            is_joined,
        })
    }

    /// The offset of the row of a position.
    pub(super) fn place(&self, batch: usize, head: usize, at: usize) -> usize {
        let row = match self.is_joined {
            true => (batch * self.length + at) * self.heads + head,
            false => (batch * self.heads + head) * self.length + at,
        };
        row * self.size
    }

    pub(super) fn row(&self, batch: usize, head: usize, at: usize) -> &'a [f32] {
        &self.elements[self.place(batch, head, at)..][..self.size]
    }
}

/// Past keys or values, and those that follow.
#[derive(Clone, Copy)]
pub(super) struct Cached<'a> {
    pub(super) past: Option<Heads<'a>>,
    pub(super) new: Heads<'a>,
}

impl<'a> Cached<'a> {
    pub(super) fn past_length(&self) -> usize {
        self.past.map_or(0, |past| past.length)
    }

    pub(super) fn length(&self) -> usize {
        self.past_length() + self.new.length
    }

    pub(super) fn row(&self, batch: usize, head: usize, at: usize) -> &'a [f32] {
        match self.past {
            Some(past) if at < past.length => past.row(batch, head, at),
            past => self.new.row(batch, head, at - past.map_or(0, |past| past.length)),
        }
    }
}
