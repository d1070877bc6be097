//! Windows sliding over the spatial axes of a tensor: strides, dilations, pads, and the resulting sizes.
//!
//! Shared by convolutions and pools.

use super::common::{advance, count, set, strides};
use super::{AttrDef, AttrKind, AttrValue, Default, Infer, OpError};
use tautomer_tensor::{Dim, Shape};

/// `auto_pad`
pub(super) const AUTO_PAD: AttrDef = AttrDef::new(
    "auto_pad",
    AttrKind::OneOf(&["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]),
    Default::Str("NOTSET"),
    "how pads are determined; unless NOTSET, `pads` is ignored",
);

/// `strides`
pub(super) const STRIDES: AttrDef = AttrDef::new(
    "strides",
    AttrKind::Ints,
    Default::None,
    "step along each spatial axis; 1 if left out",
);

/// `pads`
pub(super) const PADS: AttrDef = AttrDef::new(
    "pads",
    AttrKind::Ints,
    Default::None,
    "elements added before each spatial axis, then after each; 0 if left out",
);

/// `dilations`
pub(super) const DILATIONS: AttrDef = AttrDef::new(
    "dilations",
    AttrKind::Ints,
    Default::None,
    "distance between neighbouring elements of the window; 1 if left out",
);

/// All positions of a shape; the last axis varies fastest.
pub(super) struct Positions {
    shape: Vec<usize>,
    left: usize,
    next: Vec<usize>,
}

impl Positions {
    /// The positions of `shape`.
    pub(super) fn of(shape: &[usize]) -> Result<Positions, OpError> {
        Ok(Positions {
            shape: shape.to_vec(),
            left: count(shape)?,
            next: vec![0; shape.len()],
        })
    }
}

impl Iterator for Positions {
    type Item = Vec<usize>;

    fn next(&mut self) -> Option<Vec<usize>> {
        self.left = self.left.checked_sub(1)?;
        let at = self.next.clone();
        advance(&mut self.next, &self.shape);
        Some(at)
    }
}

/// How pads are determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AutoPad {
    /// By the attribute `pads`.
    Explicit,
    /// So that there is one output per stride of the input; an odd element goes after.
    SameUpper,
    /// The same, but an odd element goes before.
    SameLower,
}

/// Windows given by attributes, with one entry for each spatial axis.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    /// Size of the window.
    pub(super) kernel: Vec<Dim>,
    /// Step between windows.
    pub(super) strides: Vec<Dim>,
    /// Distance between neighbouring elements in the window.
    pub(super) dilations: Vec<Dim>,
    /// Explicit pads: before each axis, then after each.
    pub(super) pads: Vec<Dim>,
    /// How pads are determined.
    pub(super) auto_pad: AutoPad,
    /// Whether the last window may extend beyond the end.
    pub(super) ceil: bool,
}

/// The list `name` with `n` entries, each at least `least`; all entries are `default` if it was left out.
pub(super) fn list(
    attr: &dyn Fn(&str) -> AttrValue,
    name: &str,
    n: usize,
    default: i64,
    least: i64,
) -> Result<Vec<Dim>, OpError> {
    let values = match attr(name) {
        AttrValue::Ints(values) => values,
        _ => return Ok(vec![Dim::Const(default); n]),
    };
    if values.len() != n {
        return Err(OpError::new(format!("`{name}` has {} entries, but {n} are needed", values.len())).attr(name));
    }
    if let Some(bad) = values.iter().filter_map(Dim::as_const).find(|&v| v < least) {
        return Err(OpError::new(format!(
            "`{name}` has an entry {bad}, but each must be at least {least}"
        ))
        .attr(name));
    }
    Ok(values)
}

impl Windows {
    /// The windows that the attributes of a call describe.
    pub(super) fn read(attr: &dyn Fn(&str) -> AttrValue, kernel: Vec<Dim>) -> Result<Windows, OpError> {
        let n = kernel.len();
        let mut pads = vec![Dim::Const(0); 2 * n];
        let mut auto_pad = AutoPad::Explicit;
        let given = attr("auto_pad");
        let text = given.as_str().unwrap_or_default();
        match text {
            "SAME_UPPER" => auto_pad = AutoPad::SameUpper,
            "SAME_LOWER" => auto_pad = AutoPad::SameLower,
            "VALID" => {}
            _ => pads = list(attr, "pads", 2 * n, 0, 0)?,
        }
        if let Some(axis) = kernel.iter().position(|k| k.as_const().is_some_and(|k| k < 1)) {
            return Err(OpError::new(format!(
                "the window has size {} along spatial axis {axis}, but must have at least 1",
                kernel[axis]
            )));
        }
        Ok(Windows {
            strides: list(attr, "strides", n, 1, 1)?,
            dilations: list(attr, "dilations", n, 1, 1)?,
            pads,
            auto_pad,
            // VALID and SAME windows never extend beyond the end.
            ceil: attr("ceil_mode").is_true() && matches!(text, "" | "NOTSET"),
            kernel,
        })
    }

    /// The distance from the first to the last element of the window along spatial axis `i`, inclusive.
    pub(super) fn span(&self, i: usize) -> Dim {
        self.dilations[i].clone() * (self.kernel[i].clone() - Dim::Const(1)) + Dim::Const(1)
    }

    /// Pads before and after spatial axis `i` of size `input`; `None` if they depend on an unknown dimension.
    pub(super) fn pads_of(&self, i: usize, input: &Dim) -> Option<(Dim, Dim)> {
        let upper = match self.auto_pad {
            AutoPad::Explicit => return Some((self.pads[i].clone(), self.pads[self.kernel.len() + i].clone())),
            AutoPad::SameUpper => true,
            AutoPad::SameLower => false,
        };
        let outputs = input.ceil_div(&self.strides[i]);
        let reach = (outputs - Dim::Const(1)) * self.strides[i].clone() + self.span(i);
        let total = (reach - input.clone()).as_const()?.max(0);
        let (small, large) = (Dim::Const(total / 2), Dim::Const(total - total / 2));
        Some(if upper { (small, large) } else { (large, small) })
    }

    /// The number of windows along spatial axis `i` of size `input`.
    pub(super) fn count(&self, i: usize, input: &Dim) -> Result<Dim, OpError> {
        if self.auto_pad != AutoPad::Explicit {
            return Ok(input.ceil_div(&self.strides[i]));
        }
        let (before, after) = (&self.pads[i], &self.pads[self.kernel.len() + i]);
        let room = input.clone() + before.clone() + after.clone() - self.span(i);
        if room.as_const().is_some_and(|r| r < 0) {
            if input == &Dim::Const(0) {
                return Ok(Dim::Const(0));
            }
            return Err(OpError::new(format!(
                "a window that spans {} does not fit spatial axis {i} of size {input}, padded {}",
                self.span(i),
                input.clone() + before.clone() + after.clone()
            ))
            .at(0)
            .help("use a smaller kernel or dilation, or more pads"));
        }
        let one = Dim::Const(1);
        if !self.ceil {
            return Ok(room.floor_div(&self.strides[i]) + one);
        }
        // The last window must start inside the input or the padding before it.
        let starts = (input.clone() + before.clone()).ceil_div(&self.strides[i]);
        Ok((room.ceil_div(&self.strides[i]) + one).minimum(&starts))
    }

    /// The number of windows along each spatial axis.
    pub(super) fn counts(&self, input: &[Dim]) -> Result<Vec<Dim>, OpError> {
        input.iter().enumerate().map(|(i, d)| self.count(i, d)).collect()
    }

    /// Writes the attributes back with all defaults filled in, and explicit pads wherever they are known.
    pub(super) fn fill(&self, call: &Infer<'_>, attrs: &mut [AttrValue], input: Option<&[Dim]>) {
        set(call, attrs, "strides", AttrValue::Ints(self.strides.clone()));
        set(call, attrs, "dilations", AttrValue::Ints(self.dilations.clone()));
        let pads = match (self.auto_pad, input) {
            (AutoPad::Explicit, _) => Some(self.pads.clone()),
            (_, None) => None,
            (_, Some(input)) => input
                .iter()
                .enumerate()
                .map(|(i, d)| self.pads_of(i, d))
                .collect::<Option<Vec<_>>>()
                .map(|both| {
                    let (before, after): (Vec<_>, Vec<_>) = both.into_iter().unzip();
                    [before, after].concat()
                }),
        };
        set(call, attrs, "ceil_mode", AttrValue::Bool(self.ceil));
        match pads {
            Some(pads) => {
                set(call, attrs, "pads", AttrValue::Ints(pads));
                set(call, attrs, "auto_pad", AttrValue::str("NOTSET"));
            }
            None => set(call, attrs, "pads", AttrValue::None),
        }
    }
}

/// The spatial dimensions: all but the first two.
pub(super) fn spatial(shape: &Shape) -> &[Dim] {
    shape.get(2..).unwrap_or(&[])
}

/// Windows with all dimensions known, over a target whose elements they cover.
pub(super) struct Grid {
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    before: Vec<usize>,
    after: Vec<usize>,
    target: Vec<usize>,
    target_steps: Vec<usize>,
    kernel_steps: Vec<usize>,
}

/// An element of a window: its offset in the target and in the window.
pub(super) type Tap = (usize, usize);

impl Grid {
    /// The windows over a target with these spatial dimensions and pads.
    pub(super) fn new(windows: &Windows, pads: &[(Dim, Dim)], target: &[usize]) -> Result<Grid, OpError> {
        let known = |d: &Dim| {
            d.as_const()
                .and_then(|v| usize::try_from(v).ok())
                .ok_or_else(|| OpError::new(format!("a dimension of the window is unknown: {d}")))
        };
        let all = |list: &[Dim]| list.iter().map(known).collect::<Result<Vec<_>, _>>();
        let kernel = all(&windows.kernel)?;
        Ok(Grid {
            strides: all(&windows.strides)?,
            dilations: all(&windows.dilations)?,
            before: pads.iter().map(|(b, _)| known(b)).collect::<Result<_, _>>()?,
            after: pads.iter().map(|(_, a)| known(a)).collect::<Result<_, _>>()?,
            target: target.to_vec(),
            target_steps: strides(target),
            kernel_steps: strides(&kernel),
            kernel,
        })
    }

    /// The windows over an input with these spatial dimensions.
    pub(super) fn over(windows: &Windows, input: &[usize]) -> Result<Grid, OpError> {
        let pads = input
            .iter()
            .enumerate()
            .map(|(i, &d)| {
                windows
                    .pads_of(i, &Dim::from(d))
                    .ok_or_else(|| OpError::new("the pads are unknown"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        Grid::new(windows, &pads, input)
    }

    /// The elements, in order, of the window at `at` that lie inside the target.
    pub(super) fn taps(&self, at: &[usize]) -> Vec<Tap> {
        let mut taps = vec![(0, 0)];
        for (axis, &position) in at.iter().enumerate() {
            let start = self.start(axis, position);
            let dilation = self.dilations[axis] as i128;
            let end = (self.target[axis] as i128 - start + dilation - 1).div_euclid(dilation);
            let first = (-start + dilation - 1).div_euclid(dilation).max(0);
            let last = end.min(self.kernel[axis] as i128);
            let mut next = Vec::new();
            for (target, kernel) in taps {
                for k in first..last {
                    let x = (start + k * dilation) as usize;
                    next.push((
                        target + x * self.target_steps[axis],
                        kernel + k as usize * self.kernel_steps[axis],
                    ));
                }
            }
            taps = next;
        }
        taps
    }

    /// The number of elements of the window at `at` that lie inside the target or its padding.
    pub(super) fn padded_count(&self, at: &[usize]) -> i128 {
        let mut count = 1i128;
        for (axis, &position) in at.iter().enumerate() {
            let start = self.start(axis, position);
            let dilation = self.dilations[axis] as i128;
            let end = self.target[axis] as i128 + self.after[axis] as i128;
            let inside = (end - start + dilation - 1).div_euclid(dilation);
            count = count.saturating_mul(inside.clamp(0, self.kernel[axis] as i128));
        }
        count
    }

    fn start(&self, axis: usize, position: usize) -> i128 {
        position as i128 * self.strides[axis] as i128 - self.before[axis] as i128
    }
}
