//! Lists of extents that are known only when the model runs, computed by nodes.

use super::emit::Emitter;
use crate::graph::Node;
use crate::tensor::{Atom, Dim, Tensor};

impl Emitter<'_> {
    /// The name of a vector of these extents.
    pub(super) fn extents(&mut self, dims: &[Dim]) -> Result<String, String> {
        let mut parts = Vec::new();
        let mut known: Vec<i64> = Vec::new();
        for dim in dims {
            if let Some(value) = dim.as_const() {
                known.push(value);
                continue;
            }
            if !known.is_empty() {
                parts.push(self.constant(Tensor::vector(std::mem::take(&mut known)), "shape"));
            }
            parts.push(self.extent(dim)?);
        }
        if !known.is_empty() {
            parts.push(self.constant(Tensor::vector(known), "shape"));
        }
        match parts.as_slice() {
            [one] => Ok(one.clone()),
            _ => Ok(self.helper("Concat", parts, &[("axis", 0)])),
        }
    }

    /// The name of a vector of one element, the extent.
    fn extent(&mut self, dim: &Dim) -> Result<String, String> {
        if let Some(value) = dim.as_const() {
            return Ok(self.constant(Tensor::vector(vec![value]), "shape"));
        }
        if let Some(name) = self.computed.get(dim) {
            return Ok(name.clone());
        }
        let name = match self.input_axis(dim) {
            Some((input, axis)) => {
                let shape = self.helper("Shape", vec![input], &[]);
                let index = self.constant(Tensor::vector(vec![axis]), "axis");
                self.helper("Gather", vec![shape, index], &[("axis", 0)])
            }
            None => self.polynomial(dim)?,
        };
        self.computed.insert(dim.clone(), name.clone());
        Ok(name)
    }

    /// An input with that extent at some axis.
    fn input_axis(&self, dim: &Dim) -> Option<(String, i64)> {
        let outer = dim.as_symbol().and_then(|symbol| self.outer.get(symbol).cloned());
        let own = self.graph.inputs().iter().find_map(|&v| {
            let shape = self.graph.ty(v).as_tensor()?.shape.as_ref()?;
            let axis = shape.iter().position(|d| d == dim)?;
            matches!(self.graph.vertex(v).node, Node::Input).then_some(())?;
            Some((self.names.get((v, 0))?.to_string(), axis as i64))
        });
        own.or(outer)
    }

    fn polynomial(&mut self, dim: &Dim) -> Result<String, String> {
        let mut sum: Option<String> = None;
        for (atoms, coefficient) in dim.terms() {
            let mut product: Option<String> = None;
            if coefficient != 1 || atoms.is_empty() {
                product = Some(self.constant(Tensor::vector(vec![coefficient]), "factor"));
            }
            for atom in atoms.iter() {
                let factor = self.atom(atom, dim)?;
                product = Some(match product {
                    None => factor,
                    Some(so_far) => self.helper("Mul", vec![so_far, factor], &[]),
                });
            }
            let Some(product) = product else { continue };
            sum = Some(match sum {
                None => product,
                Some(so_far) => self.helper("Add", vec![so_far, product], &[]),
            });
        }
        sum.ok_or_else(|| format!("the extent {dim} is empty"))
    }

    fn atom(&mut self, atom: &Atom, whole: &Dim) -> Result<String, String> {
        let (op, a, b) = match atom {
            Atom::Symbol(name) if Dim::symbol(name) != *whole => return self.extent(&Dim::symbol(name)),
            Atom::Symbol(name) => return Err(format!("no input has an axis of extent {name}")),
            Atom::Unknown(_) => return Err("an extent is not known".to_string()),
            // Extents are not negative, so that truncating and rounding down agree.
            Atom::FloorDiv(a, b) => ("Div", a, b),
            Atom::Mod(a, b) => ("Mod", a, b),
            Atom::Min(a, b) => ("Min", a, b),
            Atom::Max(a, b) => ("Max", a, b),
        };
        if matches!(op, "Min" | "Max") && self.opset < 12 || op == "Mod" && self.opset < 10 {
            return Err(format!("operator set {} cannot compute the extent {whole}", self.opset));
        }
        let operands = vec![self.extent(a)?, self.extent(b)?];
        Ok(self.helper(op, operands, &[]))
    }
}
