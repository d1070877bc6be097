//! The description that all operators that move elements share: where each element of a result comes from.
//!
//! A row of the table gives a function that makes a [`Map`] for each result of a call, from the shapes of the operands
//! and the attributes. Sizes in it are [`Dim`]s, so that the same map serves tensors of known sizes and proofs for all
//! sizes. Everything that needs to know how elements move reads the map: the reference semantics, the integers that
//! follow from dimensions ([`known_ints`](crate::known_ints)), the kernels, and the prover.

mod apply;
mod decide;
mod index;
mod plan;
mod reads;

pub use apply::maps;
pub(crate) use apply::{evaluate, known};
pub use decide::{Decide, Halt, Known, Places};
pub use index::Index;
pub(crate) use index::counted;
use plan::Spot;
pub use plan::{Part, Plan};
pub use reads::{Group, ReadPlaces, Reads};

use tautomer_tensor::Dim;

/// Makes the map of each result of a call.
pub type Movement = fn(&Places<'_>) -> Result<Vec<Map>, Halt>;

/// Says where the elements of a result come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// The shape of the result.
    pub shape: Vec<Dim>,
    /// The first piece whose guards hold at a position has its element; the guards of the last piece hold everywhere
    /// else.
    pub pieces: Vec<Piece>,
}

/// A part of a result whose elements have one source.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// The conditions on a position; all must hold.
    pub guards: Vec<Guard>,
    /// Where the elements come from.
    pub source: Source,
}

/// A condition on a position in the result.
#[derive(Debug, Clone, PartialEq)]
pub enum Guard {
    /// The value is at least 0.
    Natural(Index),
    /// The value is less than the bound.
    Below(Index, Dim),
}

/// Where an element comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// An element of an operand.
    Element(usize, Place),
    /// A constant: the only element of an operand if one is given, else a number.
    Fill(Fill),
}

/// The position of an element in an operand.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// An index for each axis.
    At(Vec<Index>),
    /// A position in row-major order.
    Flat(Index),
    /// The same position in row-major order, which has these indices.
    Kept(Vec<Index>),
}

/// A constant element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill {
    /// The operand whose only element it is, if that is given.
    pub operand: Option<usize>,
    /// The number, if not.
    pub number: f64,
}

/// Positions in an operand that are sums of multiples of indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linear {
    /// The operand.
    pub operand: usize,
    /// For each axis of the operand: the first index, and how much each index of the result adds, by axis.
    pub axes: Vec<(i64, Vec<(usize, i64)>)>,
}

impl Map {
    /// A result whose elements all have one source.
    pub(crate) fn of(shape: Vec<Dim>, source: Source) -> Map {
        let piece = Piece {
            guards: Vec::new(),
            source,
        };
        Map {
            shape,
            pieces: vec![piece],
        }
    }

    /// A result whose elements are elements of the first operand.
    pub(crate) fn at(shape: Vec<Dim>, at: Vec<Index>) -> Map {
        Map::of(shape, Source::Element(0, Place::At(at)))
    }

    /// The constant element, if a piece has one.
    pub fn fill(&self) -> Option<Fill> {
        self.pieces.iter().find_map(|piece| match piece.source {
            Source::Fill(fill) => Some(fill),
            Source::Element(..) => None,
        })
    }

    /// True if positions depend on elements of operands.
    pub fn reads_data(&self) -> bool {
        self.pieces.iter().any(|piece| match &piece.source {
            Source::Element(_, Place::At(at)) => at.iter().any(Index::reads_data),
            Source::Element(_, Place::Flat(index)) => index.reads_data(),
            _ => false,
        })
    }

    /// The positions in an operand of `rank` axes as sums of multiples of indices, if they are that everywhere.
    pub fn linear(&self, rank: usize) -> Option<Linear> {
        match self.pieces.as_slice() {
            [piece] if piece.guards.is_empty() => match &piece.source {
                Source::Element(operand, Place::At(at) | Place::Kept(at)) => Some(Linear {
                    operand: *operand,
                    axes: at.iter().map(Index::linear).collect::<Option<_>>()?,
                }),
                Source::Element(operand, Place::Flat(Index::Const(Dim::Const(0)))) => Some(Linear {
                    operand: *operand,
                    axes: vec![(0, Vec::new()); rank],
                }),
                _ => None,
            },
            _ => None,
        }
    }

    /// The operand whose elements in row-major order are those of the result, if there is one.
    pub fn view(&self) -> Option<usize> {
        match self.pieces.as_slice() {
            [piece] if piece.guards.is_empty() => match piece.source {
                Source::Element(operand, Place::Flat(Index::Row) | Place::Kept(_)) => Some(operand),
                _ => None,
            },
            _ => None,
        }
    }
}
