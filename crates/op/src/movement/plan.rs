//! Maps for known sizes: which element of which operand each element of a result is.
//!
//! Most maps are sums of one term for each axis of the result. These terms are computed once for each index along the
//! axis, and only added up for each element.

use super::index::{Datum, Spotted, outside, size};
use super::{Guard, Index, Map, Place, Source};
use crate::OpError;
use crate::common::{advance, count, strides};

/// The parts of a result; where parts overlap, the first one counts.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The shape of the result.
    pub shape: Vec<usize>,
    /// The parts, in order.
    pub parts: Vec<Part<'a>>,
}

/// A part of a result: all combinations of some indices along each axis.
#[derive(Debug)]
pub struct Part<'a> {
    /// The operand with its elements; `None` for the constant.
    pub operand: Option<usize>,
    /// The indices along each axis of the result, ascending.
    pub indices: Vec<Vec<usize>>,
    /// The number that each of these indices adds to the row-major position in the operand.
    pub offsets: Vec<Vec<isize>>,
    /// The position in the operand before these are added.
    pub start: isize,
    /// The rest, which does not depend on one axis alone.
    rest: Rest<'a>,
}

/// The rest of a part, which has to be evaluated for each element.
#[derive(Debug, Default)]
struct Rest<'a> {
    guards: Vec<&'a Guard>,
    /// An index, the size of its axis in the operand, and the stride.
    indices: Vec<(&'a Index, usize, usize)>,
}

/// The element of an operand that an element of a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    operand: u32,
    offset: u32,
}

impl Spot {
    const FILL: Spot = Spot {
        operand: u32::MAX,
        offset: 0,
    };
    const NONE: Spot = Spot {
        operand: u32::MAX,
        offset: 1,
    };

    /// The operand and the row-major position in it; `None` for the constant.
    pub(super) fn element(self) -> Option<(usize, usize)> {
        (self.operand != u32::MAX).then_some((self.operand as usize, self.offset as usize))
    }
}

/// The guards of a piece: the indices that each axis keeps, and the guards that are about several axes.
fn covered<'a>(
    guards: &'a [Guard],
    left: &[Vec<usize>],
    shape: &[usize],
    datum: Datum<'_>,
) -> Result<(Vec<Vec<usize>>, Vec<&'a Guard>), OpError> {
    let (mut kept, mut rest) = (left.to_vec(), Vec::new());
    for guard in guards {
        let (Guard::Natural(index) | Guard::Below(index, _)) = guard;
        match index.over_axes().as_deref() {
            Some(&[axis]) => {
                let mut position = vec![0; shape.len()];
                let mut holds = Vec::with_capacity(kept[axis].len());
                for &i in &kept[axis] {
                    position[axis] = i;
                    if holds_at(guard, &position, shape, datum)? {
                        holds.push(i);
                    }
                }
                kept[axis] = holds;
            }
            _ => rest.push(guard),
        }
    }
    Ok((kept, rest))
}

fn holds_at(guard: &Guard, position: &[usize], shape: &[usize], datum: Datum<'_>) -> Result<bool, OpError> {
    let at = Spotted { position, shape, datum };
    Ok(match guard {
        Guard::Natural(index) => at.value(index)? >= 0,
        Guard::Below(index, bound) => at.value(index)? < size(bound)?,
    })
}

impl<'a> Plan<'a> {
    /// The plan of a map, whose sizes must be known, for operands of these shapes.
    ///
    /// # Errors
    /// If a size is unknown, or an index is outside the operand.
    pub fn new(map: &'a Map, operands: &[Option<Vec<usize>>], datum: Datum<'_>) -> Result<Plan<'a>, OpError> {
        let natural = |d| usize::try_from(size(d)?).map_err(|_| OpError::new("a dimension is negative"));
        let shape: Vec<usize> = map.shape.iter().map(natural).collect::<Result<_, _>>()?;
        count(&shape)?;
        let mut left: Vec<Vec<usize>> = shape.iter().map(|&n| (0..n).collect()).collect();
        let mut parts = Vec::with_capacity(map.pieces.len());
        for piece in &map.pieces {
            let (indices, guards) = covered(&piece.guards, &left, &shape, datum)?;
            // What this part leaves is nothing, or a box again if only one axis is cut.
            let cut: Vec<usize> = (0..shape.len())
                .filter(|&axis| indices[axis].len() < left[axis].len())
                .collect();
            match cut.as_slice() {
                _ if !guards.is_empty() => {}
                [] => left.iter_mut().for_each(Vec::clear),
                &[axis] => {
                    let mut taken = indices[axis].iter().copied().peekable();
                    left[axis].retain(|i| taken.next_if_eq(i).is_none());
                }
                _ => {}
            }
            parts.push(part(&piece.source, indices, guards, &shape, operands, datum)?);
        }
        Ok(Plan { shape, parts })
    }

    /// Where each element of the result comes from.
    pub(super) fn spots(&self, datum: Datum<'_>) -> Result<Vec<Spot>, OpError> {
        let mut out = vec![Spot::NONE; count(&self.shape)?];
        for part in self.parts.iter().rev() {
            part.write(&self.shape, datum, &mut out)?;
        }
        if out.contains(&Spot::NONE) {
            return Err(outside());
        }
        Ok(out)
    }
}

fn part<'a>(
    source: &'a Source,
    indices: Vec<Vec<usize>>,
    guards: Vec<&'a Guard>,
    shape: &[usize],
    operands: &[Option<Vec<usize>>],
    datum: Datum<'_>,
) -> Result<Part<'a>, OpError> {
    let offsets = indices.iter().map(|list| vec![0; list.len()]).collect();
    let mut out = Part {
        operand: None,
        indices,
        offsets,
        start: 0,
        rest: Rest {
            guards,
            indices: Vec::new(),
        },
    };
    let Source::Element(operand, place) = source else {
        return Ok(out);
    };
    let own = operands
        .get(*operand)
        .and_then(Option::as_ref)
        .ok_or_else(|| OpError::new("an operand is missing"))?;
    out.operand = Some(*operand);
    // Offsets of elements that exist are small numbers.
    let elements = count(own)?;
    match place {
        Place::At(at) => {
            if at.len() != own.len() {
                return Err(outside());
            }
            for ((index, &extent), stride) in at.iter().zip(own).zip(strides(own)) {
                out.add(index, extent, stride, shape, datum)?;
            }
        }
        Place::Flat(Index::Row) | Place::Kept(_) => {
            for (offsets, (list, stride)) in out.offsets.iter_mut().zip(out.indices.iter().zip(strides(shape))) {
                *offsets = list.iter().map(|&i| (i * stride) as isize).collect();
            }
            if count(shape)? > elements {
                return Err(outside());
            }
        }
        Place::Flat(index) => out.add(index, elements, 1, shape, datum)?,
    }
    Ok(out)
}

impl<'a> Part<'a> {
    /// True if the offsets of the indices add up to the position in the operand, so that nothing else is needed.
    pub fn is_plain(&self) -> bool {
        self.rest.guards.is_empty() && self.rest.indices.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.indices.iter().any(Vec::is_empty)
    }

    /// Adds an index along an axis of the operand.
    fn add(
        &mut self,
        index: &'a Index,
        extent: usize,
        stride: usize,
        shape: &[usize],
        datum: Datum<'_>,
    ) -> Result<(), OpError> {
        let terms: &'a [Index] = match index {
            Index::Sum(terms) => terms,
            one => std::slice::from_ref(one),
        };
        let axes = |term: &Index| term.over_axes().filter(|axes| axes.len() <= 1);
        // A guard about several axes may be what keeps the index inside.
        let split: Option<Vec<Vec<usize>>> = terms.iter().map(axes).collect();
        let (Some(split), true) = (split, self.rest.guards.is_empty()) else {
            self.rest.indices.push((index, extent, stride));
            return Ok(());
        };
        // Indices that are data are read even if no element is, since they may be out of range.
        if self.is_empty() && !index.reads_data() {
            return Ok(());
        }
        let mut position = vec![0; shape.len()];
        let (mut least, mut most) = (0i64, 0i64);
        let mut sums: Vec<Option<Vec<i64>>> = vec![None; shape.len()];
        for (term, axes) in terms.iter().zip(&split) {
            let Some(&axis) = axes.first() else {
                let value = Spotted {
                    position: &position,
                    shape,
                    datum,
                }
                .value(term)?;
                (least, most) = (least.saturating_add(value), most.saturating_add(value));
                continue;
            };
            let sums = sums[axis].get_or_insert_with(|| vec![0; self.indices[axis].len()]);
            for (sum, &i) in sums.iter_mut().zip(&self.indices[axis]) {
                position[axis] = i;
                let value = Spotted {
                    position: &position,
                    shape,
                    datum,
                }
                .value(term)?;
                *sum = sum.saturating_add(value);
            }
            position[axis] = 0;
        }
        let constant = least;
        for sums in sums.iter().flatten() {
            let (low, high) = (sums.iter().min().copied(), sums.iter().max().copied());
            least = least.saturating_add(low.unwrap_or(0));
            most = most.saturating_add(high.unwrap_or(0));
        }
        if self.is_empty() {
            return Ok(());
        }
        if least < 0 || usize::try_from(most).map_or(true, |most| most >= extent) {
            return Err(outside());
        }
        let scaled = |n: i64| n as isize * stride as isize;
        for (offsets, sums) in self.offsets.iter_mut().zip(&sums) {
            for (offset, sum) in offsets.iter_mut().zip(sums.iter().flatten()) {
                *offset += scaled(*sum);
            }
        }
        self.start += scaled(constant);
        Ok(())
    }

    /// Writes where the elements come from.
    fn write(&self, shape: &[usize], datum: Datum<'_>, out: &mut [Spot]) -> Result<(), OpError> {
        if self.is_empty() {
            return Ok(());
        }
        let spot = |offset: isize| -> Result<Spot, OpError> {
            let Some(operand) = self.operand else {
                return Ok(Spot::FILL);
            };
            Ok(Spot {
                operand: operand as u32,
                offset: u32::try_from(offset).map_err(|_| outside())?,
            })
        };
        let steps = strides(shape);
        let Some(last) = shape.len().checked_sub(1) else {
            if let Some(beside) = self.beside(&[], shape, datum)? {
                out[0] = spot(self.start + beside)?;
            }
            return Ok(());
        };
        let sizes: Vec<usize> = self.indices[..last].iter().map(Vec::len).collect();
        let mut at = vec![0; last];
        let mut position = vec![0; shape.len()];
        for _ in 0..sizes.iter().product() {
            let (mut row, mut from) = (0, self.start);
            for (axis, &i) in at.iter().enumerate() {
                position[axis] = self.indices[axis][i];
                row += position[axis] * steps[axis];
                from += self.offsets[axis][i];
            }
            for (&i, offset) in self.indices[last].iter().zip(&self.offsets[last]) {
                position[last] = i;
                let beside = if self.is_plain() {
                    Some(0)
                } else {
                    self.beside(&position, shape, datum)?
                };
                if let Some(beside) = beside {
                    out[row + i] = spot(from + offset + beside)?;
                }
            }
            advance(&mut at, &sizes);
        }
        Ok(())
    }

    /// The number to add to the offset at a position; `None` if a guard does not hold there.
    fn beside(&self, position: &[usize], shape: &[usize], datum: Datum<'_>) -> Result<Option<isize>, OpError> {
        for guard in &self.rest.guards {
            if !holds_at(guard, position, shape, datum)? {
                return Ok(None);
            }
        }
        let at = Spotted { position, shape, datum };
        let mut sum = 0;
        for &(index, extent, stride) in &self.rest.indices {
            let i = usize::try_from(at.value(index)?).ok().filter(|&i| i < extent);
            sum += (i.ok_or_else(outside)? * stride) as isize;
        }
        Ok(Some(sum))
    }
}
