//! Limits on a computation: bytes held at one time, and operations. They are counted, not timed, so that a computation
//! is rejected on every machine or on none. Each call is estimated before it runs.

use std::cell::Cell;
use std::fmt;

use super::Datum;
use tautomer_op::{AttrValue, Fact, Flow, Infer, OpDef, OpError, Semantics, Work, held_bytes, work};
use tautomer_tensor::{Tensor, Type};

/// The resources that a computation may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Bytes of all values held at one time, excluding the given ones.
    pub bytes: u64,
    /// Operations, weighted by how they are computed.
    pub operations: u64,
}

/// The limit that a computation would exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Excess {
    /// The bytes needed at one time, and the limit.
    Bytes(f64, u64),
    /// The operations needed, and the limit.
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

/// The weights of operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// The weight of an arithmetic operation.
    pub operation: f64,
    /// The weight of reading or writing an element.
    pub element: f64,
    /// The weight of a call.
    pub call: f64,
    /// Bytes that each element read or written occupies during the call.
    pub scratch: f64,
}

impl Weights {
    /// The weights of the reference semantics, which represents integers in 16 bytes.
    pub const REFERENCE: Weights = Weights {
        operation: 1.0,
        element: 1.0,
        call: 100.0,
        scratch: 16.0,
    };
    /// The weights of kernels: starting a kernel takes as long as 100 000 operations, and loading an element from
    /// memory as long as 20.
    pub const KERNELS: Weights = Weights {
        operation: 1.0,
        element: 20.0,
        call: 1e5,
        scratch: 0.0,
    };
    /// The weights of the reference semantics relative to kernels, which compute hundreds of operations in the time of
    /// one.
    pub const SLOW: Weights = Weights {
        operation: 300.0,
        element: 300.0,
        call: 1e5,
        scratch: 16.0,
    };
}

/// Counts the resources that a computation uses.
#[derive(Debug)]
pub struct Meter {
    allowance: Allowance,
    live: Cell<u64>,
    operations: Cell<f64>,
    excess: Cell<Option<Excess>>,
}

impl Meter {
    /// A meter without any use so far.
    pub fn new(allowance: Allowance) -> Meter {
        Meter {
            allowance,
            live: Cell::new(0),
            operations: Cell::new(0.0),
            excess: Cell::new(None),
        }
    }

    /// The limit that was exceeded, if any; the computation has then ended with an error.
    pub fn excess(&self) -> Option<Excess> {
        self.excess.get()
    }

    /// The number of operations so far.
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
    /// If there are too many.
    pub fn spend(&self, operations: f64) -> Result<(), OpError> {
        let all = self.operations.get() + operations;
        self.operations.set(all);
        if all > self.allowance.operations as f64 {
            return Err(self.refuse(Excess::Operations(all, self.allowance.operations)));
        }
        Ok(())
    }

    /// Checks that there is room for this many bytes.
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

    /// Counts bytes as released.
    pub fn release(&self, bytes: u64) {
        self.live.set(self.live.get().saturating_sub(bytes));
    }

    /// Counts a call that is about to be made.
    ///
    /// # Errors
    /// If it exceeds the allowance. Other problems of the call are reported by the call itself.
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

/// The weighted operations of a call.
pub fn weighted(work: &Work, weights: Weights) -> f64 {
    weights.call + weights.operation * work.operations + weights.element * work.elements
}

/// The bytes of a value, or of its elements if it is a list.
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

/// The index of the first result of a function that its caller collects call by call; the number of results if there is
/// none.
pub fn first_collected(def: &OpDef, attrs: &[AttrValue], results: usize) -> usize {
    let count = |name: &str| def.attr_in(attrs, name).as_count().unwrap_or(0);
    match def.semantics {
        Semantics::Flow(Flow::Loop) => count("carried") + 1,
        Semantics::Flow(Flow::Scan) => count("carried"),
        Semantics::Flow(Flow::Map) => 0,
        _ => results,
    }
}
