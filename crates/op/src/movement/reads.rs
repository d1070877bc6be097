//! Maps as tables of indices, one for each group of axes that belong together, as a gather needs them.

use super::index::{Spotted, outside, size};
use super::{Index, Map, Place, Source};
use crate::OpError;
use crate::common::{advance, count};
use tautomer_tensor::Dim;

/// How the elements of a result are read from one operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reads {
    /// The operand.
    pub operand: usize,
    /// The positions in it.
    pub places: ReadPlaces,
}

/// The positions of a result's elements in an operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadPlaces {
    /// For each element of the result, its position in row-major order.
    Flat(Vec<i64>),
    /// By groups of axes; every axis of the operand and of the result is in one group.
    Groups(Vec<Group>),
}

/// Axes of an operand whose indices depend only on some axes of the result, on which no other axis of the operand
/// depends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The axes of the operand, ascending.
    pub from: Vec<usize>,
    /// The axes of the result, ascending.
    pub to: Vec<usize>,
    /// For each position along the axes of the result, in row-major order, the index along each axis of the operand.
    /// `None` if one axis of the operand is one axis of the result; its size may be unknown then.
    pub indices: Option<Vec<i64>>,
}

impl Map {
    /// The map as tables of indices, for operands of these shapes.
    ///
    /// # Errors
    /// If elements come from several operands or are constants, positions depend on elements, or the size of an axis
    /// that needs a table is unknown.
    pub fn reads(&self, operands: &[Option<Vec<Dim>>]) -> Result<Reads, OpError> {
        let several = || OpError::new("its elements come from several places");
        let (operand, place) = match self.pieces.as_slice() {
            [piece] if piece.guards.is_empty() && !self.reads_data() => match &piece.source {
                Source::Element(operand, place) => (*operand, place),
                Source::Fill(_) => return Err(several()),
            },
            _ => return Err(several()),
        };
        let own = operands.get(operand).and_then(Option::as_ref).ok_or_else(several)?;
        let places = match place {
            Place::At(at) | Place::Kept(at) => ReadPlaces::Groups(self.groups(at, own)?),
            Place::Flat(index) => {
                let elements = own.iter().cloned().product();
                let all: Vec<usize> = (0..self.shape.len()).collect();
                ReadPlaces::Flat(self.table(&all, &[(index, &elements)])?)
            }
        };
        Ok(Reads { operand, places })
    }

    fn groups(&self, at: &[Index], own: &[Dim]) -> Result<Vec<Group>, OpError> {
        if at.len() != own.len() {
            return Err(outside());
        }
        let mut groups: Vec<Group> = Vec::with_capacity(at.len());
        for (axis, index) in at.iter().enumerate() {
            let to = index.over_axes().unwrap_or_else(|| (0..self.shape.len()).collect());
            let mut group = Group {
                from: vec![axis],
                to,
                indices: None,
            };
            let (joined, apart) = std::mem::take(&mut groups)
                .into_iter()
                .partition(|other: &Group| other.to.iter().any(|axis| group.to.contains(axis)));
            groups = apart;
            for other in joined {
                group.from.extend(other.from);
                group.to.extend(other.to);
            }
            group.from.sort_unstable();
            group.to.sort_unstable();
            group.to.dedup();
            groups.push(group);
        }
        if let Some(axis) = (0..self.shape.len()).find(|axis| !groups.iter().any(|group| group.to.contains(axis))) {
            return Err(OpError::new(format!("its elements repeat along axis {axis}")));
        }
        for group in &mut groups {
            let kept = match (group.from.as_slice(), group.to.as_slice()) {
                (&[from], &[to]) => at[from] == Index::Axis(to) && own[from] == self.shape[to],
                _ => false,
            };
            if !kept {
                let indices: Vec<(&Index, &Dim)> = group.from.iter().map(|&axis| (&at[axis], &own[axis])).collect();
                group.indices = Some(self.table(&group.to, &indices)?);
            }
        }
        groups.sort_by(|a, b| a.from.cmp(&b.from));
        Ok(groups)
    }

    /// The values of indices, each below its bound, at all positions along the axes of the result on which they depend.
    fn table(&self, axes: &[usize], indices: &[(&Index, &Dim)]) -> Result<Vec<i64>, OpError> {
        let natural = |d: &Dim| usize::try_from(size(d)?).map_err(|_| OpError::new("a dimension is negative"));
        let sizes: Vec<usize> = axes
            .iter()
            .map(|&axis| natural(&self.shape[axis]))
            .collect::<Result<_, _>>()?;
        // The position in row-major order alone depends on the sizes of other axes; it depends on all axes.
        let shape: Vec<usize> = self.shape.iter().map(|d| natural(d).unwrap_or(0)).collect();
        let bounds: Vec<i64> = indices.iter().map(|(_, bound)| size(bound)).collect::<Result<_, _>>()?;
        let positions = count(&sizes)?;
        let mut out = Vec::with_capacity(count(&[positions, indices.len()])?);
        let mut at = vec![0; sizes.len()];
        let mut position = vec![0; shape.len()];
        for _ in 0..positions {
            for (&axis, &i) in axes.iter().zip(&at) {
                position[axis] = i;
            }
            let spot = Spotted {
                position: &position,
                shape: &shape,
                datum: &|_, _| Err(outside()),
            };
            for ((index, _), &bound) in indices.iter().zip(&bounds) {
                let value = spot.value(index)?;
                if !(0..bound).contains(&value) {
                    return Err(outside());
                }
                out.push(value);
            }
            advance(&mut at, &sizes);
        }
        Ok(out)
    }
}
