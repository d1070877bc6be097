//! Concrete values for symbolic dimensions.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use tautomer_graph::{Graph, VertexId};
use tautomer_op::AttrValue;
use tautomer_tensor::{Atom, Dim, Type};

/// Values for the symbols and unknown dimensions of a graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Extents {
    /// The symbols and unknown dimensions of inputs and parameters, in order of appearance.
    symbols: Vec<(Atom, i64)>,
    /// Other unknown dimensions, as learned from computed values.
    learned: FxHashMap<Atom, i64>,
    /// The rank of leaves with unknown rank.
    rank: usize,
}

/// Values tried for all dimensions at once. Some are large, since strides and pools need room.
const EQUAL: [i64; 9] = [4, 1, 8, 16, 32, 64, 224, 640, 16_000];

/// Ranks tried for inputs of unknown rank.
const RANKS: [usize; 4] = [2, 3, 4, 1];

impl Extents {
    /// Choices in the order to try: distinct small numbers, then equal ones. There is one choice if nothing is open.
    pub(crate) fn choices(graph: &Graph) -> Vec<Extents> {
        let of_any_rank = |v: &VertexId| graph.ty(*v).as_tensor().is_some_and(|t| t.shape.is_none());
        let mut out = Extents::numbers(graph);
        if graph.inputs().iter().chain(graph.params()).any(of_any_rank) {
            let of_rank = |rank: usize| out.iter().take(3).map(move |e| Extents { rank, ..e.clone() });
            out = RANKS.into_iter().flat_map(of_rank).collect();
        }
        out
    }

    fn numbers(graph: &Graph) -> Vec<Extents> {
        let atoms = atoms(graph);
        let with = |number: &dyn Fn(usize) -> i64| Extents {
            symbols: atoms
                .iter()
                .enumerate()
                .map(|(i, atom)| (atom.clone(), number(i)))
                .collect(),
            learned: FxHashMap::default(),
            rank: RANKS[0],
        };
        if atoms.is_empty() {
            return vec![with(&|_| 0)];
        }
        let mut out = vec![with(&|i| 2 + i as i64)];
        for extent in EQUAL {
            out.push(with(&|_| extent));
            // The first symbol is usually the batch size.
            if extent > 1 && atoms.len() > 1 {
                out.push(with(&|i| if i == 0 { 2 } else { extent }));
            }
            if extent == 4 {
                out.push(with(&|i| 3 + 2 * (atoms.len() - i) as i64));
            }
        }
        out
    }

    pub(crate) fn dim(&self, dim: &Dim) -> Dim {
        if dim.as_const().is_some() {
            return dim.clone();
        }
        dim.substitute(&|atom| {
            let chosen = self.symbols.iter().find(|(a, _)| a == atom).map(|(_, n)| *n);
            chosen.or_else(|| self.learned.get(atom).copied()).map(Dim::Const)
        })
    }

    pub(crate) fn ty(&self, ty: &Type) -> Type {
        ty.map_dims(&|d| self.dim(d))
    }

    pub(crate) fn attr(&self, attr: &AttrValue) -> AttrValue {
        match attr {
            AttrValue::Int(d) => AttrValue::Int(self.dim(d)),
            AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(|d| self.dim(d)).collect()),
            other => other.clone(),
        }
    }

    /// The shape of a leaf.
    pub(crate) fn shape(&self, ty: &Type) -> Option<Vec<usize>> {
        match &ty.as_tensor()?.shape {
            None => Some((2..2 + self.rank).collect()),
            Some(shape) => shape
                .iter()
                .map(|d| usize::try_from(self.dim(d).as_const()?).ok())
                .collect(),
        }
    }

    /// Learns the unknown dimensions of `ty` from the shape of a computed value of that type.
    pub(crate) fn learn(&mut self, ty: &Type, shape: &[usize]) {
        let Some(dims) = ty.as_tensor().and_then(|t| t.shape.as_ref()) else {
            return;
        };
        for (dim, extent) in dims.iter().zip(shape) {
            if let Some(atom @ Atom::Unknown(_)) = dim.as_atom()
                && self.symbols.iter().all(|(a, _)| a != atom)
            {
                self.learned.entry(atom.clone()).or_insert(*extent as i64);
            }
        }
    }

    /// True if no dimension of `ty` that is known by now is negative.
    pub(crate) fn fits(&self, ty: &Type) -> bool {
        let mut fits = true;
        ty.visit_dims(&mut |d| fits &= self.dim(d).as_const().is_none_or(|n| n >= 0));
        fits
    }

    /// The named symbols with their values.
    pub(crate) fn named(&self) -> Vec<(Arc<str>, i64)> {
        let named = self.symbols.iter().filter_map(|(atom, n)| match atom {
            Atom::Symbol(name) => Some((name.clone(), *n)),
            _ => None,
        });
        named.collect()
    }
}

impl fmt::Display for Extents {
    /// `n = 2, m = 3`; unknown dimensions of inputs are not listed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, n)) in self.named().iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{name} = {n}")?;
        }
        Ok(())
    }
}

/// The symbols and unknown dimensions that occur in the types of inputs and parameters, in order of appearance.
fn atoms(graph: &Graph) -> Vec<Atom> {
    let mut out: Vec<Atom> = Vec::new();
    for &v in graph.inputs().iter().chain(graph.params()) {
        graph.ty(v).visit_dims(&mut |d| {
            d.visit_atoms(&mut |atom| {
                if matches!(atom, Atom::Symbol(_) | Atom::Unknown(_)) && !out.contains(atom) {
                    out.push(atom.clone());
                }
            });
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_tensor::DType;

    #[test]
    fn symbols_have_values_and_unknown_dimensions_are_learned() {
        let mut graph = Graph::new();
        let (n, m) = (Dim::symbol("n"), Dim::symbol("m"));
        graph.input(
            "x",
            Type::Tensor(tautomer_tensor::TensorType {
                dtype: DType::F32,
                shape: Some([n.clone(), m.clone() + n.clone()].into_iter().collect()),
            }),
        );
        let choices = Extents::choices(&graph);
        assert_eq!(choices[0].to_string(), "n = 2, m = 3");
        assert!(choices.iter().any(|c| c.dim(&n) == c.dim(&m)));
        assert_eq!(choices[0].shape(graph.ty(graph.inputs()[0])), Some(vec![2, 5]));
        let mut extents = choices[0].clone();
        let ty = Type::tensor(
            DType::F32,
            [Dim::unknown(7)].into_iter().collect::<tautomer_tensor::Shape>(),
        );
        extents.learn(&ty, &[9]);
        assert_eq!(extents.dim(&(Dim::unknown(7) + n)), Dim::Const(11));
        assert!(!extents.fits(&Type::tensor(
            DType::F32,
            [m - Dim::Const(4)].into_iter().collect::<tautomer_tensor::Shape>()
        )));
        assert_eq!(Extents::choices(&Graph::new()).len(), 1);
        let mut graph = Graph::new();
        graph.input("x", tautomer_tensor::TensorType::any_rank(DType::F32));
        let shapes = Extents::choices(&graph)
            .into_iter()
            .map(|e| e.shape(graph.ty(graph.inputs()[0])));
        assert_eq!(
            shapes.collect::<Vec<_>>(),
            [
                Some(vec![2, 3]),
                Some(vec![2, 3, 4]),
                Some(vec![2, 3, 4, 5]),
                Some(vec![2])
            ]
        );
    }
}
