//! Places that hold integers, and which of them change together.

use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::AttrValue;
use tautomer_tensor::Dim;

/// A place that holds an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A step and an axis: a dimension of a leaf, or of a constant with equal elements.
    Extent(usize, usize),
    /// A call, an attribute, and an index in its list of integers (0 for a single integer).
    Attr(usize, usize, usize),
}

impl Recipe {
    /// All integers with their places.
    pub(crate) fn integers(&self) -> Vec<(Place, i64)> {
        let mut out = Vec::new();
        for (i, step) in self.steps.iter().enumerate() {
            match step {
                Step::Leaf { shape, .. } | Step::Fill { shape, .. } => {
                    out.extend(shape.iter().enumerate().map(|(k, d)| (Place::Extent(i, k), *d)));
                }
                Step::Call { attrs, .. } => {
                    for (k, attr) in attrs.iter().enumerate() {
                        let list = match attr {
                            Some(AttrValue::Int(d)) => std::slice::from_ref(d),
                            Some(AttrValue::Ints(list)) => list,
                            _ => continue,
                        };
                        let known = list.iter().enumerate();
                        out.extend(known.filter_map(|(n, d)| Some((Place::Attr(i, k, n), d.as_const()?))));
                    }
                }
                _ => {}
            }
        }
        out
    }

    /// Stores an integer in its place.
    pub(crate) fn set(&mut self, place: Place, value: i64) {
        match place {
            Place::Extent(i, axis) => {
                if let Some(extent) = self.shape_mut(i).and_then(|s| s.get_mut(axis)) {
                    *extent = value;
                }
            }
            Place::Attr(i, k, n) => {
                let Step::Call { attrs, .. } = &mut self.steps[i] else {
                    return;
                };
                match &mut attrs[k] {
                    Some(AttrValue::Int(d)) => *d = Dim::Const(value),
                    Some(AttrValue::Ints(list)) if n < list.len() => list[n] = Dim::Const(value),
                    _ => {}
                }
            }
        }
    }

    /// The leaves, and the constants with equal elements.
    pub(super) fn shaped(&self) -> Vec<usize> {
        (0..self.steps.len()).filter(|&i| self.shape(i).is_some()).collect()
    }

    pub(crate) fn calls(&self) -> Vec<usize> {
        (0..self.steps.len())
            .filter(|&i| matches!(self.steps[i], Step::Call { .. }))
            .collect()
    }
}

/// Which of the places that hold the same number change together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tie {
    /// Only the place itself.
    Alone,
    /// All dimensions, and the same attribute of other calls.
    SameKind,
    /// Dimensions of the same axis, counted from the end, and the same attribute of other calls.
    SameAxis,
    /// All places.
    All,
    /// Each place with probability one half.
    Random,
}

impl Tie {
    /// The ties that do not depend on chance, the smallest first.
    pub(crate) const FIXED: [Tie; 4] = [Tie::Alone, Tie::SameKind, Tie::SameAxis, Tie::All];

    /// A random one.
    pub(super) fn any(random: &mut Random) -> Tie {
        Tie::FIXED.get(random.below(5)).copied().unwrap_or(Tie::Random)
    }
}

/// The places that change together with `place`: a selection of those that hold the same value.
pub(crate) fn tied(recipe: &Recipe, place: Place, tie: Tie, random: &mut Random) -> Vec<Place> {
    let integers = recipe.integers();
    let Some(&(_, value)) = integers.iter().find(|(p, _)| *p == place) else {
        return Vec::new();
    };
    let from_end = |p: Place| match p {
        Place::Extent(i, axis) => recipe.shape(i).map(|s| s.len() - axis),
        Place::Attr(..) => None,
    };
    let same_attr = |p: Place| match (p, place) {
        (Place::Attr(i, k, _), Place::Attr(j, n, _)) => match (&recipe.steps[i], &recipe.steps[j]) {
            (Step::Call { def: a, .. }, Step::Call { def: b, .. }) => a.name == b.name && k == n,
            _ => false,
        },
        _ => false,
    };
    let others = integers.iter().filter(|(_, v)| *v == value).map(|(p, _)| *p);
    others
        .filter(|p| {
            *p == place
                || match tie {
                    Tie::Alone => false,
                    Tie::SameKind => matches!(p, Place::Extent(..)) || same_attr(*p),
                    Tie::SameAxis => from_end(*p).is_some() && from_end(*p) == from_end(place) || same_attr(*p),
                    Tie::All => true,
                    Tie::Random => random.chance(1, 2),
                }
        })
        .collect()
}
