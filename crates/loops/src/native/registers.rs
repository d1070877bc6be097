//! Which values are in which registers while code is generated in order.
//!
//! Code has no branches between a loop's first instruction and its last, so when registers run out, the value that is
//! read latest leaves its register (Belady's rule); inputs and constants are read again, others go to the stack.

use super::assembler::{Mask, Vector};

/// One of the values of a pass of the loop: an instruction for one group of rows.
pub(super) type Id = usize;

/// Registers of one kind.
#[derive(Debug)]
pub(super) struct Bank {
    /// The value in each register.
    owner: Vec<Option<Id>>,
    /// Registers that may not be taken now, as bits.
    pinned: u64,
    /// Registers that are never taken.
    reserved: u64,
    /// The register of each value.
    home: Vec<Option<u8>>,
}

impl Bank {
    pub(super) fn new(registers: usize, reserved: u64, values: usize) -> Bank {
        Bank {
            owner: vec![None; registers],
            pinned: 0,
            reserved,
            home: vec![None; values],
        }
    }

    pub(super) fn home(&self, id: Id) -> Option<u8> {
        self.home[id]
    }

    /// A register that holds nothing.
    pub(super) fn free(&self) -> Option<u8> {
        let taken = self.reserved | self.pinned;
        let free = |register: &usize| self.owner[*register].is_none() && taken >> register & 1 == 0;
        (0..self.owner.len()).find(free).map(|register| register as u8)
    }

    /// The register whose value is read latest.
    pub(super) fn latest(&self, next_use: impl Fn(Id) -> usize) -> u8 {
        let taken = self.reserved | self.pinned;
        let held = self
            .owner
            .iter()
            .enumerate()
            .filter(|(register, _)| taken >> register & 1 == 0);
        let held = held.filter_map(|(register, owner)| owner.map(|id| (register, next_use(id))));
        let latest = held.max_by_key(|&(_, next)| next);
        latest
            .unwrap_or_else(|| unreachable!("an instruction reads fewer values than there are registers"))
            .0 as u8
    }

    /// Takes a register, which holds nothing.
    pub(super) fn take(&mut self, register: u8, id: Id) {
        self.owner[usize::from(register)] = Some(id);
        self.home[id] = Some(register);
    }

    /// Forgets where a value is.
    pub(super) fn release(&mut self, id: Id) {
        if let Some(register) = self.home[id].take() {
            self.owner[usize::from(register)] = None;
        }
    }

    pub(super) fn owner(&self, register: u8) -> Option<Id> {
        self.owner[usize::from(register)]
    }

    pub(super) fn pin(&mut self, register: u8) {
        self.pinned |= 1 << register;
    }

    pub(super) fn unpin_all(&mut self) {
        self.pinned = 0;
    }

    /// Keeps a register for what it holds, for good.
    pub(super) fn reserve(&mut self, register: u8) {
        self.reserved |= 1 << register;
    }

    /// The registers that hold something or are kept.
    pub(super) fn used(&self) -> impl Iterator<Item = u8> {
        let owners = self.owner.iter().enumerate();
        owners
            .filter(|(register, owner)| owner.is_some() || self.reserved >> register & 1 == 1)
            .map(|(register, _)| register as u8)
    }
}

/// The register of a number.
pub(super) fn vector(register: u8) -> Vector {
    Vector(register)
}

/// The register of truth values.
pub(super) fn mask(register: u8) -> Mask {
    Mask(register)
}
