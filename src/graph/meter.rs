//! Limits of a computation: bytes that it holds at one time, and operations. They are counted, not timed, so that a
//! computation is refused on every machine or on none; each call is estimated before it is made.

use std::cell::Cell;
use std::fmt;

use super::Datum;
use crate::op::{AttrValue, Fact, Flow, Infer, OpDef, OpError, Semantics, Work, held_bytes, work};
use crate::tensor::{Tensor, Type};

/// What a computation may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Bytes of all values that are held at one time, what is given aside.
    pub bytes: u64,
    /// Operations, weighted by what computes them.
    pub operations: u64,
}

/// What a computation would take beyond what it may.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Excess {
    /// So many bytes at one time, and how many are allowed.
    Bytes(f64, u64),
    /// So many operations, and how many are allowed.
    Operations(f64, u64),
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Excess::Bytes(needed, limit) => {
                write!(f, "{} (limit {})", bytes_text(needed), bytes_text(limit as f64))
            }
            Excess::Operations(needed, limit) => write!(f, "{needed:.0e} operations (limit {:.0e})", limit as f64),
        }
    }
}

/// `48 GB`, `1.5 MB`.
pub fn bytes_text(bytes: f64) -> String {
    let units = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes:.0} bytes");
    };
    match bytes / unit {
        many if many >= 1e4 => format!("{many:.0e} {name}"),
        some if some >= 9.95 => format!("{some:.0} {name}"),
        few => format!("{few:.1} {name}"),
    }
}

/// How operations are weighted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Of an arithmetic operation.
    pub operation: f64,
    /// Of an element that is read or written.
    pub element: f64,
    /// Of a call.
    pub call: f64,
    /// Bytes that each element read or written takes for the time of the call.
    pub scratch: f64,
}

impl Weights {
    /// Of calls by the reference semantics, which has numbers of 16 bytes for integers.
    pub const REFERENCE: Weights = Weights {
        operation: 1.0,
        element: 1.0,
        call: 100.0,
        scratch: 16.0,
    };
    /// Of calls by kernels: the time of 100 000 operations passes before one has begun, and that of 20 until an element
    /// has come from memory.
    pub const KERNELS: Weights = Weights {
        operation: 1.0,
        element: 20.0,
        call: 1e5,
        scratch: 0.0,
    };
    /// Of calls by the reference semantics among kernels, which compute hundreds of operations in the time of one.
    pub const SLOW: Weights = Weights {
        operation: 300.0,
        element: 300.0,
        call: 1e5,
        scratch: 16.0,
    };
}

/// Keeps count of what a computation takes.
#[derive(Debug)]
pub struct Meter {
    allowance: Allowance,
    live: Cell<u64>,
    operations: Cell<f64>,
    excess: Cell<Option<Excess>>,
}

impl Meter {
    /// With nothing taken yet.
    pub fn new(allowance: Allowance) -> Meter {
        Meter {
            allowance,
            live: Cell::new(0),
            operations: Cell::new(0.0),
            excess: Cell::new(None),
        }
    }

    /// What went beyond the allowance, if anything did: then the computation has ended with an error.
    pub fn excess(&self) -> Option<Excess> {
        self.excess.get()
    }

    /// Operations up to now.
    pub fn operations(&self) -> f64 {
        self.operations.get()
    }

    fn refuse(&self, excess: Excess) -> OpError {
        self.excess.set(self.excess.get().or(Some(excess)));
        OpError::new(format!("it takes {excess}"))
    }

    /// Counts operations.
    ///
    /// # Errors
    /// If they are too many.
    pub fn spend(&self, operations: f64) -> Result<(), OpError> {
        let all = self.operations.get() + operations;
        self.operations.set(all);
        if all > self.allowance.operations as f64 {
            return Err(self.refuse(Excess::Operations(all, self.allowance.operations)));
        }
        Ok(())
    }

    /// Checks that there is room for so many bytes.
    ///
    /// # Errors
    /// If there is not.
    pub fn room(&self, bytes: f64) -> Result<(), OpError> {
        let all = self.live.get() as f64 + bytes;
        if all > self.allowance.bytes as f64 {
            return Err(self.refuse(Excess::Bytes(all, self.allowance.bytes)));
        }
        Ok(())
    }

    /// Counts bytes as held.
    pub fn hold(&self, bytes: u64) {
        self.live.set(self.live.get().saturating_add(bytes));
    }

    /// Counts bytes as held no longer.
    pub fn release(&self, bytes: u64) {
        self.live.set(self.live.get().saturating_sub(bytes));
    }

    /// Counts a call that is about to be made.
    ///
    /// # Errors
    /// If it exceeds the allowance. What is wrong with the call otherwise, the call says itself.
    pub fn call(
        &self,
        def: &'static OpDef,
        operands: &[Option<&Tensor>],
        types: &[Type],
        attrs: &[AttrValue],
        weights: Weights,
    ) -> Result<(), OpError> {
        let facts: Vec<Fact<'_>> = types
            .iter()
            .zip(operands)
            .map(|(ty, value)| Fact::with(ty, *value))
            .collect();
        let call = Infer {
            def,
            operands: &facts,
            attrs,
            fresh: &Cell::new(u32::MAX / 2),
        };
        let Ok(result) = (def.infer)(&call) else {
            return self.spend(weights.call);
        };
        let taken = work(&call, &result);
        self.spend(weighted(&taken, weights))?;
        self.room(taken.bytes + weights.scratch * taken.elements)
    }
}

/// Operations of a call, weighted.
pub fn weighted(work: &Work, weights: Weights) -> f64 {
    weights.call + weights.operation * work.operations + weights.element * work.elements
}

/// Bytes of a value, those of its elements if it is a list.
pub fn datum_bytes(value: &Datum<Tensor>) -> u64 {
    let mut bytes = 0u64;
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        match value {
            Datum::One(tensor) => bytes = bytes.saturating_add(held_bytes(tensor)),
            Datum::List(items) => stack.extend(items),
            Datum::Absent => {}
        }
    }
    bytes
}

/// The place of the first result of a function that its caller collects, call by call; the number of results if none is.
pub fn first_collected(def: &OpDef, attrs: &[AttrValue], results: usize) -> usize {
    let count = |name: &str| def.attr_in(attrs, name).as_count().unwrap_or(0);
    match def.semantics {
        Semantics::Flow(Flow::Loop) => count("carried") + 1,
        Semantics::Flow(Flow::Scan) => count("carried"),
        Semantics::Flow(Flow::Map) => 0,
        _ => results,
    }
}
