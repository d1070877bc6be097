//! Convolution of each channel of quantized numbers separately: four products at once would be of four channels, of which
//! only one counts, so numbers are widened to 16 bits and multiplied by one weight after the other.
#![allow(unsafe_code, reason = "threads write the channels of a result")]

use pulp::{Arch, NullaryFnOnce};

use super::bytes::{Bytes, Shared};
use super::call::done;
use super::dot::{MOST_COLUMNS, QUAD};
use super::integer_conv::Plan;
use super::{Call, Done};
use tautomer_tensor::Element;

/// Fewer multiplications than this are not worth a second thread.
const PARALLEL: usize = 1 << 20;

/// Sums that are computed at once.
const BLOCK: usize = 2 * MOST_COLUMNS;

/// A convolution whose groups have one channel each.
pub(super) struct Depthwise<'a> {
    pub(super) plan: &'a Plan,
    pub(super) x: &'a Bytes<'a>,
    /// The zero point of bytes that are made unsigned.
    pub(super) zero: u8,
    /// The weights of each filter, less its zero point.
    pub(super) weights: Vec<i32>,
    pub(super) filters: usize,
    /// Filters of a channel.
    pub(super) multiplier: usize,
    pub(super) images: usize,
}

impl Depthwise<'_> {
    /// Computes the convolution; `finish` makes neighbouring sums of a filter results.
    pub(super) fn run<T, F>(&self, call: &Call<'_>, shape: &[usize], finish: F) -> Done
    where
        T: Element + Copy + Default + Send,
        F: Fn(usize, &[i32; MOST_COLUMNS], &mut [T; MOST_COLUMNS]) + Sync,
    {
        let mut out = call.result_room::<T>(shape.iter().product());
        let shared = Shared::new(&mut out);
        let channels = self.images * self.filters / self.multiplier;
        let work = shape.iter().product::<usize>() * self.plan.window.kernel_size();
        let threads = call.threads.min(channels).min(work / PARALLEL).max(1);
        // What is read after the last position is there.
        let size = self.plan.group_size() / QUAD + BLOCK;
        let run = |channels: std::ops::Range<usize>, image: &mut [i16]| {
            for channel in channels {
                // SAFETY: each channel is computed once, by one thread.
                unsafe { self.channel(channel, image, &shared, &finish) };
            }
        };
        if threads == 1 {
            let mut image: Vec<i16> = call.room(size);
            run(0..channels, &mut image);
            call.give(image);
        } else {
            let share = channels.div_ceil(threads);
            rayon::scope(|scope| {
                for first in (0..channels).step_by(share) {
                    let run = &run;
                    scope.spawn(move |_| run(first..channels.min(first + share), &mut vec![0; size]));
                }
            });
        }
        done(shape, out)
    }

    /// Computes the results of one channel of one image.
    ///
    /// # Safety
    /// No other thread has them.
    unsafe fn channel<T, F>(&self, channel: usize, image: &mut [i16], out: &Shared<'_, T>, finish: &F)
    where
        T: Element + Copy + Default,
        F: Fn(usize, &[i32; MOST_COLUMNS], &mut [T; MOST_COLUMNS]),
    {
        let plan = self.plan;
        let size_in = plan.window.input_size();
        let (bytes, flip) = self.x.to_unsigned(channel * size_in..(channel + 1) * size_in);
        plan.fill_plane(bytes, flip, self.zero, image);
        let (columns, kernel, size_out) = (plan.columns(), plan.window.kernel_size(), plan.window.output_size());
        for m in 0..self.multiplier {
            let row = channel * self.multiplier + m;
            let filter = row % self.filters;
            let weights = &self.weights[filter * kernel..(filter + 1) * kernel];
            for first in (0..columns).step_by(BLOCK) {
                let mut sums = [0; BLOCK];
                Arch::new().dispatch(Add {
                    image: &image[first..],
                    places: &plan.places,
                    weights,
                    sums: &mut sums,
                });
                let (parts, _) = sums.as_chunks::<MOST_COLUMNS>();
                for (i, part) in parts.iter().enumerate() {
                    let first = first + i * MOST_COLUMNS;
                    if first >= columns {
                        break;
                    }
                    let mut finished = [T::default(); MOST_COLUMNS];
                    finish(filter, part, &mut finished);
                    plan.runs(first, MOST_COLUMNS.min(columns - first), |at, place, count| {
                        // SAFETY: by the caller.
                        let out = unsafe { out.part(row * size_out + place, count) };
                        out.copy_from_slice(&finished[at..at + count]);
                    });
                }
            }
        }
    }
}

/// Adds the products of a block of positions with each weight.
struct Add<'a> {
    image: &'a [i16],
    /// The places of the elements of a window, in quads of bytes.
    places: &'a [usize],
    weights: &'a [i32],
    sums: &'a mut [i32; BLOCK],
}

impl NullaryFnOnce for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut sums = [0i32; BLOCK];
        for (place, weight) in self.places.iter().zip(self.weights) {
            let elements = &self.image[place / QUAD..][..BLOCK];
            for (sum, x) in sums.iter_mut().zip(elements) {
                *sum = sum.wrapping_add(i32::from(*x) * weight);
            }
        }
        *self.sums = sums;
    }
}
