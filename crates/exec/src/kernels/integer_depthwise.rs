//! Convolution of each channel of quantized numbers separately. Four products that are added at once are of up to four
//! neighbouring elements of a window: bytes of a line as they are, multiplied by the weights of those elements.
#![allow(unsafe_code, reason = "threads write the channels of a result")]

use std::sync::Arc;

use super::bytes::{Bytes, Shared};
use super::call::done;
use super::dot::{Dot, QUAD, STRIP, Strip, Term};
use super::geometry::copy_short;
use super::integer_image::{Plan, SLACK};
use super::{Call, Done};
use tautomer_tensor::Element;

/// Fewer multiplications than this are not worth a second thread.
const PARALLEL: usize = 1 << 20;

/// Strips that are summed before they are finished: few enough that their sums stay in the nearest cache.
const STRIPS: usize = 16;

/// The weights of filters of one channel each.
pub(super) struct Filters {
    /// The zero points that were subtracted: one, or one for each filter.
    pub(super) zeros: Vec<i32>,
    /// What the products of each filter are, one after the other.
    terms: Vec<Term>,
    filters: Vec<Filter>,
}

struct Filter {
    /// Where its terms end; they begin where those of the filter before end.
    end: usize,
    /// The sum of its weights.
    sum: i32,
}

impl Filters {
    /// The filters with these weights, for each of which the plan has the place in an image.
    pub(super) fn of(weights: &[i32], zeros: Vec<i32>, plan: &Plan) -> Filters {
        let mut order: Vec<(usize, usize)> = plan.places.iter().map(|place| place / QUAD).zip(0..).collect();
        order.sort_unstable();
        let (mut terms, mut filters) = (Vec::new(), Vec::new());
        for (i, weights) in weights.chunks_exact(order.len()).enumerate() {
            let zero = zeros[if zeros.len() == 1 { 0 } else { i }];
            let mut rest: Vec<(usize, i32)> = order.iter().map(|&(at, k)| (at, weights[k] - zero)).collect();
            let sum = rest.iter().fold(0i32, |sum, (_, weight)| sum.wrapping_add(*weight));
            // Without its zero point, a weight may be no byte, but it is a sum of bytes.
            loop {
                rest.retain(|(_, weight)| *weight != 0);
                let Some(&(mut place, _)) = rest.first() else { break };
                let mut term = [0; QUAD];
                for (at, weight) in &mut rest {
                    if *at - place >= QUAD {
                        terms.push(Term { place, weights: term });
                        (place, term) = (*at, [0; QUAD]);
                    }
                    let part = (*weight).clamp(i32::from(i8::MIN), i32::from(i8::MAX));
                    term[*at - place] = part as i8;
                    *weight -= part;
                }
                terms.push(Term { place, weights: term });
            }
            filters.push(Filter { end: terms.len(), sum });
        }
        Filters { zeros, terms, filters }
    }

    fn terms(&self, filter: usize) -> &[Term] {
        let start = filter.checked_sub(1).map_or(0, |before| self.filters[before].end);
        &self.terms[start..self.filters[filter].end]
    }
}

/// A convolution whose groups have one channel each.
pub(super) struct Depthwise<'a> {
    pub(super) plan: &'a Plan,
    pub(super) x: &'a Bytes<'a>,
    /// The zero point of bytes that are made unsigned.
    pub(super) zero: u8,
    pub(super) filters: Arc<Filters>,
    /// Filters of a channel.
    pub(super) multiplier: usize,
    pub(super) images: usize,
}

/// Memory that is used for one channel after the other.
struct Buffers<T> {
    /// A channel, laid out; the zero point is around it.
    image: Vec<u8>,
    /// Results at all positions, those between the rows of the result included.
    line: Vec<T>,
    sums: [Strip; STRIPS],
}

/// Strips of sums before there are any.
const NO_SUMS: [Strip; STRIPS] = [[[0; STRIP / QUAD]; QUAD]; STRIPS];

impl Depthwise<'_> {
    /// Computes the convolution; `finish` makes strips of sums of a filter results, after adding a number to each sum.
    pub(super) fn run<T, F>(&self, call: &Call<'_>, shape: &[usize], finish: F) -> Done
    where
        T: Element + Copy + Default + Send,
        F: Fn(usize, i32, &[Strip], &mut [[T; STRIP]]) + Sync,
    {
        let mut out = call.result_room::<T>(shape.iter().product());
        let shared = Shared::new(&mut out);
        let channels = self.images * self.filters.filters.len() / self.multiplier;
        let work = shape.iter().product::<usize>() * self.plan.window.kernel_size();
        let threads = call.threads.min(channels).min(work / PARALLEL).max(1);
        // What is read after the last position is there.
        let size = self.plan.channel_size() + SLACK.max(STRIP + QUAD);
        let line = self.plan.columns().next_multiple_of(STRIP);
        let run = |channels: std::ops::Range<usize>, buffers: &mut Buffers<T>| {
            buffers.image.fill(self.zero);
            for channel in channels {
                // SAFETY: each channel is computed once, by one thread.
                unsafe { self.channel(channel, buffers, &shared, &finish) };
            }
        };
        if threads == 1 {
            let mut buffers = Buffers {
                image: call.room(size),
                line: call.room(line),
                sums: NO_SUMS,
            };
            run(0..channels, &mut buffers);
            call.give(buffers.image);
            call.give(buffers.line);
        } else {
            let share = channels.div_ceil(threads);
            rayon::scope(|scope| {
                for first in (0..channels).step_by(share) {
                    let run = &run;
                    scope.spawn(move |_| {
                        let mut buffers = Buffers {
                            image: vec![0; size],
                            line: vec![T::default(); line],
                            sums: NO_SUMS,
                        };
                        run(first..channels.min(first + share), &mut buffers);
                    });
                }
            });
        }
        done(shape, out)
    }

    /// Computes the results of one channel of one image.
    ///
    /// # Safety
    /// No other thread has them.
    unsafe fn channel<T, F>(&self, channel: usize, buffers: &mut Buffers<T>, out: &Shared<'_, T>, finish: &F)
    where
        T: Element + Copy + Default,
        F: Fn(usize, i32, &[Strip], &mut [[T; STRIP]]),
    {
        let (plan, dot) = (self.plan, Dot::best());
        let size_in = plan.window.input_size();
        let (bytes, flip) = self.x.to_unsigned(channel * size_in..self.x.len());
        plan.fill_plane(bytes, flip, self.zero, &mut buffers.image);
        let ([_, _, width], size_out) = (plan.window.output, plan.window.output_size());
        for m in 0..self.multiplier {
            let row = channel * self.multiplier + m;
            let filter = row % self.filters.filters.len();
            let terms = self.filters.terms(filter);
            // The zero point of the image is subtracted from none of its bytes.
            let more = i32::from(self.zero)
                .wrapping_mul(self.filters.filters[filter].sum)
                .wrapping_neg();
            let (strips, _) = buffers.line.as_chunks_mut::<STRIP>();
            for (i, strips) in strips.chunks_mut(STRIPS).enumerate() {
                let sums = &mut buffers.sums[..strips.len()];
                dot.strips(&buffers.image[i * STRIPS * STRIP..], terms, sums);
                finish(filter, more, sums, strips);
            }
            // SAFETY: by the caller.
            let out = unsafe { out.part(row * size_out, size_out) };
            match width {
                0..=8 => copy_rows::<T, 8>(&buffers.line, plan, out),
                9..=16 => copy_rows::<T, 16>(&buffers.line, plan, out),
                17..=32 => copy_rows::<T, 32>(&buffers.line, plan, out),
                _ => {
                    for (out, at) in out.chunks_exact_mut(width).zip(plan.rows()) {
                        copy_short(&buffers.line[at..][..width], out);
                    }
                }
            }
        }
    }
}

/// Copies the rows of results from a line of all positions. Rows of at most `N` elements are copied as blocks where
/// these fit; what a block has too much is where later rows are written.
fn copy_rows<T: Copy, const N: usize>(line: &[T], plan: &Plan, out: &mut [T]) {
    let width = plan.window.output[2];
    for (row, at) in plan.rows().enumerate() {
        let (from, to) = (&line[at..], &mut out[row * width..]);
        match (from.first_chunk::<N>(), to.first_chunk_mut::<N>()) {
            (Some(from), Some(to)) => *to = *from,
            _ => copy_short(&from[..width], &mut to[..width]),
        }
    }
}
