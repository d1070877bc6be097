//! The text of a target: all its clauses, including those of the targets that it extends.

use std::collections::BTreeSet;
use std::fmt;

use super::{Kernels, Opset, Target};
use crate::lang::format_expr;

/// The longest line of a list.
const WIDTH: usize = 100;

impl fmt::Display for Target {
    /// Writes it as a file would have it, without `extends`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.doc.lines() {
            writeln!(f, "{}", format!("/// {line}").trim_end())?;
        }
        writeln!(f, "target {} {{", self.name)?;
        writeln!(f, "  format {}", self.format.name())?;
        match self.opset {
            Opset::Model => writeln!(f, "  opset model")?,
            Opset::At(opset) => writeln!(f, "  opset {opset}")?,
        }
        if let Some((name, _)) = Kernels::ALL.iter().find(|(_, kernels)| *kernels == self.kernels) {
            writeln!(f, "  kernels {name}")?;
        }
        let operators = |names: &BTreeSet<&'static str>| names.iter().map(|name| quoted(name)).collect::<Vec<_>>();
        match &self.only {
            Some(only) => list(f, "only", &operators(only))?,
            None if !self.declared.is_empty() => list(f, "allow", &operators(&self.declared))?,
            None => {}
        }
        if !self.denied.is_empty() {
            list(f, "deny", &operators(&self.denied))?;
        }
        if let Some(types) = &self.types {
            list(f, "types", &types.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        }
        for (name, types) in &self.types_of {
            let names: Vec<String> = types.iter().map(ToString::to_string).collect();
            writeln!(f, "  types {} for {}", names.join(", "), quoted(name))?;
        }
        for limit in &self.limits {
            let operators = match &limit.operators {
                Some(names) => format!(" for {}", operators(names).join(", ")),
                None => String::new(),
            };
            writeln!(f, "  where {}{operators}", format_expr(&limit.ast, limit.condition))?;
        }
        if self.fixed_shapes {
            writeln!(f, "  static")?;
        }
        let rules: Vec<String> = self
            .rule_paths()
            .iter()
            .map(|path| format!("{:?}", path.display().to_string()))
            .collect();
        list(f, "rules", &rules)?;
        let machine = self.machine;
        writeln!(
            f,
            "  machine launch = {}, gflops = {}, bandwidth = {}",
            machine.launch, machine.gflops, machine.bandwidth
        )?;
        for (name, factor) in &self.factors {
            writeln!(f, "  cost {} * {factor}", quoted(name))?;
        }
        write!(f, "}}")
    }
}

fn quoted(name: &str) -> String {
    match name.contains("::") {
        true => format!("{name:?}"),
        false => name.to_owned(),
    }
}

/// Writes a clause, in lines that are not too long.
fn list(f: &mut fmt::Formatter<'_>, word: &str, items: &[String]) -> fmt::Result {
    let mut line = format!("  {word}");
    for (i, item) in items.iter().enumerate() {
        if line.len() + item.len() > WIDTH {
            writeln!(f, "{line}")?;
            line = "   ".to_owned();
        }
        line.push(' ');
        line.push_str(item);
        if i + 1 < items.len() {
            line.push(',');
        }
    }
    writeln!(f, "{line}")
}
