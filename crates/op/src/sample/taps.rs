//! The elements along one axis that samples take, for the reference semantics and for kernels.

/// How positions outside an axis are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// How a value between elements is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Linear,
    Nearest,
    Cubic,
}

/// An axis of an operand of `grid_sample`.
#[derive(Debug, Clone, Copy)]
pub struct GridAxis {
    extent: usize,
    /// The positions of the edges.
    low: f64,
    high: f64,
    padding: Padding,
    mode: Mode,
}

impl GridAxis {
    /// An axis with `extent` elements, for the attributes `align_corners`, `padding_mode` and `mode`.
    ///
    /// ```
    /// let axis = tautomer_op::GridAxis::new(3, true, "zeros", "linear");
    /// assert_eq!(axis.taps(1.25).collect::<Vec<_>>(), [(1, 0.75), (2, 0.25)]);
    /// assert_eq!(axis.taps(7.0).count(), 0);
    /// ```
    pub fn new(extent: usize, corners: bool, padding: &str, mode: &str) -> GridAxis {
        GridAxis {
            extent,
            low: if corners { 0.0 } else { -0.5 },
            high: extent as f64 - if corners { 1.0 } else { 0.5 },
            padding: match padding {
                "border" => Padding::Border,
                "reflection" => Padding::Reflection,
                _ => Padding::Zeros,
            },
            mode: match mode {
                "nearest" => Mode::Nearest,
                "cubic" => Mode::Cubic,
                _ => Mode::Linear,
            },
        }
    }

    /// The elements whose weighted sum is the value at a position, with their weights; those that stand for zero are
    /// left out.
    pub fn taps(&self, place: f64) -> impl Iterator<Item = (usize, f64)> + use<> {
        let axis = *self;
        let mut place = match axis.mode {
            Mode::Nearest => place.round_ties_even(),
            _ => place,
        };
        if place < axis.low || place > axis.high {
            match axis.padding {
                Padding::Border => place = place.clamp(0.0, (axis.extent as f64 - 1.0).max(0.0)),
                Padding::Reflection => place = axis.reflected(place),
                Padding::Zeros => {}
            }
        }
        let (low, r) = (place.floor(), place - place.floor());
        let (first, weights) = match axis.mode {
            Mode::Nearest => (place.trunc(), [1.0, 0.0, 0.0, 0.0]),
            Mode::Linear => (low, [1.0 - r, r, 0.0, 0.0]),
            Mode::Cubic => {
                let a = -0.75;
                let near = |d: f64| ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
                let far = |d: f64| ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
                (low - 1.0, [far(1.0 + r), near(r), near(1.0 - r), far(2.0 - r)])
            }
        };
        let taps = weights.into_iter().zip(0..).filter(|(weight, _)| *weight != 0.0);
        taps.filter_map(move |(weight, i)| Some((axis.element(first + f64::from(i))?, weight)))
    }

    /// `place`, mirrored at the edges until it is inside.
    fn reflected(&self, place: f64) -> f64 {
        let range = self.high - self.low;
        let fold = |beyond: f64, near: f64, far: f64| {
            if range == 0.0 {
                return near;
            }
            let turns = (beyond / range).trunc();
            let rest = (beyond - turns * range) * (far - near).signum();
            if turns % 2.0 == 0.0 { near + rest } else { far - rest }
        };
        match place {
            _ if place < self.low => fold(self.low - place, self.low, self.high),
            _ if place > self.high => fold(place - self.high, self.high, self.low),
            _ => place,
        }
    }

    /// The element at an integral position; `None` stands for zero.
    fn element(&self, place: f64) -> Option<usize> {
        let last = self.extent as f64 - 1.0;
        let inside = |p: f64| (p >= 0.0 && p <= last).then_some(p as usize);
        match self.padding {
            Padding::Border if self.extent > 0 => Some(place.clamp(0.0, last) as usize),
            Padding::Reflection => inside(self.reflected(place).trunc()),
            _ => inside(place),
        }
    }
}

/// The samples along an axis with `extent` elements of a bin of `roi_align` that begins at `start` and is `bin` long:
/// neighbours with weights, or `None` for a sample outside.
///
/// ```
/// let samples: Vec<_> = tautomer_op::bin_samples(0.0, 1.0, 2, 4).collect();
/// assert_eq!(samples, [Some([(0, 0.75), (1, 0.25)]), Some([(0, 0.25), (1, 0.75)])]);
/// ```
pub fn bin_samples(
    start: f64,
    bin: f64,
    number: usize,
    extent: usize,
) -> impl Iterator<Item = Option<[(usize, f64); 2]>> + Clone {
    (0..number).map(move |i| {
        let place = start + (i as f64 + 0.5) * bin / number as f64;
        if extent == 0 || !(-1.0..=extent as f64).contains(&place) {
            return None;
        }
        let place = place.max(0.0);
        let low = place as usize;
        if low + 1 >= extent {
            return Some([(extent - 1, 1.0), (extent - 1, 0.0)]);
        }
        let part = place - low as f64;
        Some([(low, 1.0 - part), (low + 1, part)])
    })
}
