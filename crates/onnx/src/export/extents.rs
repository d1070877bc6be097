//! Lists of dimensions that are only known at run time, computed by nodes.

use super::call::Arg;
use super::emit::Emitter;
use crate::data_type;
use tautomer_graph::VertexId;
use tautomer_tensor::{Atom, DType, Dim, Tensor};

/// The first operator set in which `Shape` can return only some of the dimensions.
const SHAPE_OF_AXES: i64 = 15;

/// The first operator set that has the node for an atom in 64-bit integers.
fn first_opset(atom: &Atom) -> i64 {
    match atom {
        Atom::Symbol(_) | Atom::Unknown(_) | Atom::FloorDiv(..) => 1,
        Atom::Mod(..) => 10,
        Atom::Min(..) | Atom::Max(..) => 12,
    }
}

/// Checks whether an operator set has the nodes that compute the dimensions among these operands.
///
/// # Errors
/// A dimension that it cannot compute.
pub(super) fn computable(args: &[Arg], opset: i64) -> Result<(), String> {
    let dims = args.iter().flat_map(|arg| match arg {
        Arg::Extents(dims) => dims.as_slice(),
        Arg::Extent(dim, _) => std::slice::from_ref(dim),
        _ => &[],
    });
    for dim in dims {
        let mut first = 1;
        dim.visit_atoms(&mut |atom| first = first.max(first_opset(atom)));
        if opset < first {
            return Err(cannot_compute(opset, dim));
        }
    }
    Ok(())
}

fn cannot_compute(opset: i64, dim: &Dim) -> String {
    format!("operator set {opset} has no operator that computes the dimension {dim}")
}

impl Emitter<'_> {
    /// The name of a vector of these dimensions.
    pub(super) fn extents(&mut self, dims: &[Dim]) -> Result<String, String> {
        if let Some(name) = self.lists.get(dims) {
            return Ok(name.clone());
        }
        if let Some(name) = self.whole(dims) {
            return Ok(name);
        }
        let mut parts = Vec::new();
        let mut known: Vec<i64> = Vec::new();
        let mut at = 0;
        while let Some(dim) = dims.get(at) {
            if let Some(value) = dim.as_const() {
                known.push(value);
                at += 1;
                continue;
            }
            if !known.is_empty() {
                parts.push(self.constant(Tensor::vector(std::mem::take(&mut known)), "shape"));
            }
            match self.consecutive(&dims[at..]) {
                Some((name, length)) => {
                    parts.push(name);
                    at += length;
                }
                None => {
                    parts.push(self.extent(dim)?);
                    at += 1;
                }
            }
        }
        if !known.is_empty() {
            parts.push(self.constant(Tensor::vector(known), "shape"));
        }
        let name = match parts.as_slice() {
            [one] => one.clone(),
            _ => self.helper("Concat", parts, &[("axis", 0)]),
        };
        self.lists.insert(dims.to_vec(), name.clone());
        Ok(name)
    }

    /// One node for the first of these dimensions, if they are consecutive axes of a value: its name, and the number
    /// of dimensions. `None` unless there are at least two symbolic ones, or if they have been computed one by one.
    fn consecutive(&mut self, dims: &[Dim]) -> Option<(String, usize)> {
        if self.opset < SHAPE_OF_AXES {
            return None;
        }
        let (value, start) = self.axes.get(dims.first()?)?.clone();
        let shape = self.ranks.get(&value)?;
        let same = dims.iter().zip(shape.iter().skip(usize::try_from(start).ok()?));
        let equal = same.take_while(|(a, b)| a == b).count();
        let length = 1 + dims[..equal].iter().rposition(|d| d.as_const().is_none())?;
        let dims = &dims[..length];
        let mut symbolic = dims.iter().filter(|d| d.as_const().is_none());
        if symbolic.clone().count() < 2 || symbolic.all(|d| self.computed.contains_key(d)) {
            return None;
        }
        if let Some(name) = self.lists.get(dims) {
            return Some((name.clone(), length));
        }
        let name = match self.whole(dims) {
            Some(name) => name,
            None => self.helper(
                "Shape",
                vec![value],
                &[("start", start), ("end", start + length as i64)],
            ),
        };
        self.lists.insert(dims.to_vec(), name.clone());
        Some((name, length))
    }

    /// The name of a scalar of that type with the dimension as its value.
    pub(super) fn scalar_extent(&mut self, dim: Dim, dtype: DType) -> Result<String, String> {
        let vector = self.extents(&[dim])?;
        let none = self.constant(Tensor::vector(Vec::<i64>::new()), "shape");
        let scalar = self.helper("Reshape", vec![vector, none], &[]);
        if dtype == DType::I64 {
            return Ok(scalar);
        }
        let to = data_type(dtype).ok_or_else(|| format!("ONNX has no element type {dtype}"))?;
        Ok(self.helper("Cast", vec![scalar], &[("to", i64::from(to as i32))]))
    }

    /// The name of a one-element vector with the dimension as its value.
    fn extent(&mut self, dim: &Dim) -> Result<String, String> {
        if let Some(value) = dim.as_const() {
            return Ok(self.constant(Tensor::vector(vec![value]), "shape"));
        }
        if let Some(name) = self.computed.get(dim) {
            return Ok(name.clone());
        }
        let outer = || self.outer.get(dim.as_symbol()?).cloned();
        let name = match self.axes.get(dim).cloned().or_else(outer) {
            Some((value, axis)) if self.opset >= SHAPE_OF_AXES => {
                self.helper("Shape", vec![value], &[("start", axis), ("end", axis + 1)])
            }
            Some((value, axis)) => {
                let shape = self.shape(value);
                let index = self.constant(Tensor::vector(vec![axis]), "axis");
                self.helper("Gather", vec![shape, index], &[("axis", 0)])
            }
            None => self.polynomial(dim)?,
        };
        self.computed.insert(dim.clone(), name.clone());
        Ok(name)
    }

    /// The name of a value's shape.
    fn shape(&mut self, value: String) -> String {
        if let Some(name) = self.shapes.get(&value) {
            return name.clone();
        }
        let name = self.helper("Shape", vec![value.clone()], &[]);
        self.shapes.insert(value, name.clone());
        name
    }

    /// The name of the shape of a value with exactly these dimensions.
    fn whole(&mut self, dims: &[Dim]) -> Option<String> {
        let value = self.wholes.get(dims)?.clone();
        Some(self.shape(value))
    }

    /// Remembers the dimensions of a computed value for later use.
    pub(super) fn remember(&mut self, v: VertexId) {
        let Some(shape) = self.graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref()) else {
            return;
        };
        let Some(name) = self.names.get((v, 0)).map(str::to_owned) else {
            return;
        };
        let symbolic = shape.iter().any(|d| d.as_const().is_none());
        if symbolic && shape.len() > 1 && !self.wholes.contains_key(&shape[..]) {
            self.wholes.insert(shape.to_vec(), name.clone());
        }
        let mut new = false;
        for (axis, dim) in shape.iter().enumerate().filter(|(_, d)| d.as_const().is_none()) {
            if !self.axes.contains_key(dim) {
                self.axes.insert(dim.clone(), (name.clone(), axis as i64));
                new = true;
            }
        }
        if new {
            self.ranks.insert(name, shape.clone());
        }
    }

    fn polynomial(&mut self, dim: &Dim) -> Result<String, String> {
        let (less, more): (Vec<_>, Vec<_>) = dim.terms().into_iter().partition(|(_, c)| *c < 0);
        let mut sum: Option<String> = None;
        for (atoms, coefficient) in more {
            let product = self.product(&atoms, coefficient, dim)?;
            sum = Some(match sum {
                None => product,
                Some(so_far) => self.helper("Add", vec![so_far, product], &[]),
            });
        }
        for (atoms, coefficient) in less {
            sum = Some(match sum {
                None => self.product(&atoms, coefficient, dim)?,
                Some(so_far) => {
                    let product = self.product(&atoms, coefficient.saturating_neg(), dim)?;
                    self.helper("Sub", vec![so_far, product], &[])
                }
            });
        }
        sum.ok_or_else(|| format!("the dimension {dim} is empty"))
    }

    fn product(&mut self, atoms: &[Atom], coefficient: i64, whole: &Dim) -> Result<String, String> {
        let mut product: Option<String> = None;
        if coefficient != 1 || atoms.is_empty() {
            product = Some(self.constant(Tensor::vector(vec![coefficient]), "factor"));
        }
        for atom in atoms {
            let factor = self.atom(atom, whole)?;
            product = Some(match product {
                None => factor,
                Some(so_far) => self.helper("Mul", vec![so_far, factor], &[]),
            });
        }
        product.ok_or_else(|| format!("the dimension {whole} is empty"))
    }

    fn atom(&mut self, atom: &Atom, whole: &Dim) -> Result<String, String> {
        let alone = Dim::atom(atom.clone());
        if alone != *whole {
            return self.extent(&alone);
        }
        let (op, a, b) = match atom {
            Atom::Symbol(name) => return Err(format!("no input has the dimension {name}")),
            Atom::Unknown(_) => return Err("a dimension is unknown".to_string()),
            // Dimensions are nonnegative, so truncating and flooring division agree.
            Atom::FloorDiv(a, b) => ("Div", a, b),
            Atom::Mod(a, b) => ("Mod", a, b),
            Atom::Min(a, b) => ("Min", a, b),
            Atom::Max(a, b) => ("Max", a, b),
        };
        if self.opset < first_opset(atom) {
            return Err(cannot_compute(self.opset, whole));
        }
        let operands = vec![self.extent(a)?, self.extent(b)?];
        Ok(self.helper(op, operands, &[]))
    }
}
