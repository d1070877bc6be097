//! A plan as text.

use std::cell::Cell;
use std::fmt;

use super::kernels;
use super::plan::{Plan, Port, SlotId};
use super::precision::Precision;
use tautomer_op::{Fact, Infer, lookup};
use tautomer_tensor::Type;

/// A byte count, for people: `1.5 MiB`.
pub(super) struct Bytes(pub(super) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if value < 1024.0 {
                let digits = if unit == "B" || value.fract() == 0.0 { 0 } else { 1 };
                return write!(f, "{value:.digits$} {unit}");
            }
            value /= 1024.0;
        }
        write!(f, "{value:.1} TiB")
    }
}

impl Plan {
    /// The number of arithmetic operations of step `i`, if the dimensions of its operands are known.
    pub fn flops(&self, i: usize) -> Option<f64> {
        let step = self.steps.get(i)?;
        let def = lookup(&step.op)?;
        let is_known = |slot: &Option<SlotId>| {
            slot.is_none_or(|slot| self.slots.get(slot).is_some_and(|data| data.bytes.is_some()))
        };
        if !step.operands.iter().all(is_known) || step.results.iter().any(|&slot| slot >= self.slots.len()) {
            return None;
        }
        let ty = |slot: SlotId| self.slots[slot].ty.clone();
        let types: Vec<Type> = step.operands.iter().map(|slot| slot.map_or(Type::Absent, ty)).collect();
        let value = |slot: &Option<SlotId>| {
            let constant = self.constants.iter().find(|constant| Some(constant.slot) == *slot)?;
            Some(&constant.value)
        };
        let operands = types.iter().zip(&step.operands);
        let operands: Vec<Fact<'_>> = operands.map(|(ty, slot)| Fact::with(ty, value(slot))).collect();
        let call = Infer {
            def,
            operands: &operands,
            attrs: &step.attrs,
            fresh: &Cell::new(u32::MAX / 2),
        };
        let result = match step.results[..] {
            [slot] => ty(slot),
            _ => Type::Tuple(step.results.iter().map(|&slot| ty(slot)).collect()),
        };
        Some(def.cost.apply(&call, &result).flops)
    }

    fn write_place(&self, f: &mut fmt::Formatter<'_>, slot: SlotId) -> fmt::Result {
        let Some(data) = self.slots.get(slot) else {
            return write!(f, "%{slot}");
        };
        write!(f, "%{slot}: {}", data.ty)?;
        if let (Some(offset), Some(bytes)) = (data.offset, data.bytes) {
            write!(f, " @{offset}+{bytes}")?;
        }
        if let Some(output) = data.output {
            write!(f, " of output {output}")?;
        }
        match data.view_of {
            Some(of) => write!(f, " view of %{of}"),
            None => Ok(()),
        }
    }

    fn write_ports(&self, f: &mut fmt::Formatter<'_>, what: &str, ports: &[Port]) -> fmt::Result {
        for port in ports {
            write!(f, "  {what} ")?;
            if let Some(name) = &port.name {
                write!(f, "{name} = ")?;
            }
            match what {
                "output" => write!(f, "%{}", port.slot)?,
                _ => self.write_place(f, port.slot)?,
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// One line for each input, parameter, constant, step and output: types, ranges (`@first+bytes`) of the arena or of the
/// memory of an output, operations on numbers, whether the reference semantics compute it because there is no kernel, whether
/// its products are of bfloat16, and the slots freed after a step. A line before steps says that one loop computes them.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "main" } else { &self.name };
        writeln!(
            f,
            "plan {name}: {} steps, {} slots, arena {}, peak {}, all values {}",
            self.steps.len(),
            self.slots.len(),
            Bytes(self.memory.arena),
            Bytes(self.memory.peak),
            Bytes(self.memory.total)
        )?;
        self.write_ports(f, "input", &self.inputs)?;
        self.write_ports(f, "param", &self.params)?;
        for constant in &self.constants {
            f.write_str("  const ")?;
            self.write_place(f, constant.slot)?;
            writeln!(f)?;
        }
        for (i, step) in self.steps.iter().enumerate() {
            let region = self
                .regions
                .get(self.regions.partition_point(|region| region.first < i));
            if let Some(region) = region.filter(|region| region.first == i && region.count > 1) {
                let end = region.steps().end.min(self.steps.len());
                let ops: Vec<&str> = self.steps[i..end].iter().map(|step| step.op.as_str()).collect();
                writeln!(f, "  one loop for steps {i} to {}: {}", end - 1, ops.join(", "))?;
            }
            write!(f, "  {i}: ")?;
            for (k, &slot) in step.results.iter().enumerate() {
                f.write_str(if k > 0 { ", " } else { "" })?;
                self.write_place(f, slot)?;
            }
            write!(f, " = {}(", step.op)?;
            for (k, operand) in step.operands.iter().enumerate() {
                f.write_str(if k > 0 { ", " } else { "" })?;
                match operand {
                    Some(slot) => write!(f, "%{slot}")?,
                    None => f.write_str("_")?,
                }
            }
            f.write_str(")")?;
            let names = lookup(&step.op).map_or(&[][..], |def| def.attrs);
            let given = step.attrs.iter().zip(names).filter(|(value, _)| !value.is_none());
            for (k, (value, attr)) in given.enumerate() {
                write!(f, "{}{} = {value}", if k > 0 { ", " } else { " {" }, attr.name)?;
            }
            if step.attrs.iter().zip(names).any(|(value, _)| !value.is_none()) {
                f.write_str("}")?;
            }
            let begun = self.regions.partition_point(|region| region.first <= i);
            let is_in_loop = self.regions[..begun]
                .last()
                .is_some_and(|region| region.steps().contains(&i));
            if kernels::of(&step.op).is_empty() && !is_in_loop {
                f.write_str("  by reference")?;
            }
            if step.precision == Precision::Bf16 {
                f.write_str("  in bf16")?;
                let is_known = |slot: &Option<SlotId>| slot.is_none_or(|slot| self.slots[slot].bytes.is_some());
                if !step.operands.iter().all(is_known) {
                    f.write_str(" where it is faster")?;
                }
            }
            if let Some(flops) = self.flops(i).filter(|flops| *flops > 0.0) {
                write!(f, "  {flops} FLOP")?;
            }
            if !step.frees.is_empty() {
                f.write_str("  frees")?;
                step.frees.iter().try_for_each(|slot| write!(f, " %{slot}"))?;
            }
            writeln!(f)?;
        }
        self.write_ports(f, "output", &self.outputs)
    }
}
