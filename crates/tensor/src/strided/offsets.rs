//! Iteration over the offsets of a layout, one by one or run by run.

use smallvec::SmallVec;

use super::Layout;

/// The state of one axis: its size, stride, and current position.
#[derive(Debug, Clone, Copy)]
struct Wheel {
    extent: usize,
    stride: isize,
    at: usize,
}

/// The offsets of a layout in row-major order; a step does not allocate.
#[derive(Debug, Clone)]
pub struct Offsets {
    /// Innermost axis first; contiguous axes are merged.
    wheels: SmallVec<[Wheel; 6]>,
    place: isize,
    left: usize,
}

impl Offsets {
    pub(super) fn new(layout: &Layout) -> Offsets {
        let merged = layout.coalesced();
        Offsets::over(&merged.shape, &merged.strides, layout.start, layout.len)
    }

    fn over(shape: &[usize], strides: &[isize], start: usize, left: usize) -> Offsets {
        let wheel = |(&extent, &stride)| Wheel { extent, stride, at: 0 };
        Offsets {
            wheels: shape.iter().zip(strides).rev().map(wheel).collect(),
            place: start as isize,
            left,
        }
    }
}

impl Iterator for Offsets {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let here = self.place as usize;
        for wheel in &mut self.wheels {
            wheel.at += 1;
            if wheel.at < wheel.extent {
                self.place += wheel.stride;
                break;
            }
            self.place -= wheel.stride * (wheel.extent as isize - 1);
            wheel.at = 0;
        }
        Some(here)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Offsets {}

/// A run of offsets with equal stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The first offset.
    pub start: usize,
    /// The number of offsets.
    pub len: usize,
    /// The distance from one to the next; 1 is contiguous, 0 repeats the same offset.
    pub stride: isize,
}

/// The offsets of a layout as [`Run`]s of equal length: along the innermost axis after contiguous neighbours have been
/// merged.
#[derive(Debug, Clone)]
pub struct Runs {
    outer: Offsets,
    len: usize,
    stride: isize,
}

impl Runs {
    pub(super) fn new(layout: &Layout) -> Runs {
        let merged = layout.coalesced();
        let (len, shape) = merged.shape.split_last().map_or((1, &[][..]), |(n, rest)| (*n, rest));
        let (stride, strides) = merged.strides.split_last().map_or((1, &[][..]), |(s, rest)| (*s, rest));
        let runs = if layout.is_empty() { 0 } else { layout.len / len };
        Runs {
            outer: Offsets::over(shape, strides, layout.start, runs),
            len,
            stride,
        }
    }
}

impl Iterator for Runs {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        self.outer.next().map(|start| Run {
            start,
            len: self.len,
            stride: self.stride,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.outer.size_hint()
    }
}

impl ExactSizeIterator for Runs {}
