//! A plan as text.

use std::fmt;

use super::plan::{Plan, Port, SlotId};
use tautomer_op::lookup;

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
    fn write_place(&self, f: &mut fmt::Formatter<'_>, slot: SlotId) -> fmt::Result {
        let Some(data) = self.slots.get(slot) else {
            return write!(f, "%{slot}");
        };
        write!(f, "%{slot}: {}", data.ty)?;
        match (data.offset, data.view_of, data.bytes) {
            (Some(offset), _, Some(bytes)) => write!(f, " @{offset}+{bytes}"),
            (_, Some(of), _) => write!(f, " view of %{of}"),
            _ => Ok(()),
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

/// One line for each input, parameter, constant, step and output: types, arena ranges (`@first+bytes`), and the slots
/// freed after a step.
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
            if let Some(region) = self.regions.iter().find(|region| region.first == i && region.count > 1) {
                let steps = i..i + region.count;
                let ops: Vec<&str> = self.steps[steps].iter().map(|step| step.op.as_str()).collect();
                writeln!(
                    f,
                    "  one loop for steps {i} to {}: {}",
                    i + region.count - 1,
                    ops.join(", ")
                )?;
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
            if !step.frees.is_empty() {
                f.write_str("  frees")?;
                step.frees.iter().try_for_each(|slot| write!(f, " %{slot}"))?;
            }
            writeln!(f)?;
        }
        self.write_ports(f, "output", &self.outputs)
    }
}
