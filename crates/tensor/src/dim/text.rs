//! Dimensions as strings.

use std::fmt;

use super::{Atom, Dim};

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let poly = match self {
            Dim::Const(value) => return write!(f, "{value}"),
            Dim::Expr(poly) => poly,
        };
        // The constant sorts first, but reads best last.
        let constant = poly.terms.iter().filter(|(product, _)| product.is_empty());
        let rest = poly.terms.iter().filter(|(product, _)| !product.is_empty());
        for (at, (product, coefficient)) in rest.chain(constant).enumerate() {
            let magnitude = coefficient.unsigned_abs();
            match (at, *coefficient < 0) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            if product.is_empty() || magnitude != 1 {
                write!(f, "{magnitude}")?;
                if !product.is_empty() {
                    f.write_str("*")?;
                }
            }
            for (i, atom) in product.iter().enumerate() {
                if i > 0 {
                    f.write_str("*")?;
                }
                let alone = product.len() == 1 && magnitude == 1;
                match atom {
                    Atom::FloorDiv(..) if !alone => write!(f, "({atom})")?,
                    Atom::Mod(..) if !alone => write!(f, "({atom})")?,
                    _ => write!(f, "{atom}")?,
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operand = |d: &Dim| match d {
            Dim::Const(value) if *value >= 0 => value.to_string(),
            _ if matches!(d.as_atom(), Some(Atom::Symbol(_) | Atom::Unknown(_))) => d.to_string(),
            _ => format!("({d})"),
        };
        match self {
            Atom::Symbol(name) => f.write_str(name),
            Atom::Unknown(_) => f.write_str("?"),
            Atom::FloorDiv(a, b) => write!(f, "{} / {}", operand(a), operand(b)),
            Atom::Mod(a, b) => write!(f, "{} % {}", operand(a), operand(b)),
            Atom::Min(a, b) => write!(f, "min({a}, {b})"),
            Atom::Max(a, b) => write!(f, "max({a}, {b})"),
        }
    }
}
