//! Attention in tiles, without the matrix of scores.
//!
//! For as many queries as a micro-kernel has columns and a block of keys, the scores are a product whose rows are keys,
//! so that the exponentials and sums of all queries are computed next to each other, and the weights, without further
//! packing, are the right panel of the product with the values. The largest score so far, and the sum relative to it,
//! are kept from block to block (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao and
//! others, "FlashAttention", 2022). Few queries, as in the generation of text, are computed one by one, reading keys
//! and values where they are.
#![allow(unsafe_code, reason = "threads write the results of disjoint queries")]

use pulp::{Arch, NullaryFnOnce};

use super::attention_heads::{Cached, Heads};
use super::attention_mask::{Mask, Turned};
use super::attention_softmax::{Block, One};
use super::bytes::Shared;
use super::call::{done, or_decline};
use super::micro::Micro;
use super::panels::{Left, Panels};
use super::product::{Finish, Right, Start, product};
use super::tile::transpose;
use super::{Call, Done, Kernel};
use tautomer_op::AttrValue;
use tautomer_tensor::DType;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("attention", attention)];

/// Keys of a block.
const KEYS: usize = 128;

/// Fewer rows of queries for one head of keys are computed one by one.
const FEW: usize = 4;

/// A call of the operator.
struct Attention<'a> {
    q: Heads<'a>,
    k: Cached<'a>,
    v: Cached<'a>,
    mask: Option<Mask<'a>>,
    is_causal: bool,
    /// For each batch, the keys that are seen.
    seen: Option<Vec<usize>>,
    factor: Factor,
    softcap: f32,
    /// Queries that see no key have the result zero.
    is_masked: bool,
    out: Shared<'a, f32>,
}

/// The factor or divisor of queries.
#[derive(Clone, Copy)]
enum Factor {
    Times(f32),
    Over(f32),
}

impl Factor {
    fn of(self, x: f32) -> f32 {
        match self {
            Factor::Times(factor) => x * factor,
            Factor::Over(divisor) => x / divisor,
        }
    }
}

fn attention(call: &Call<'_>) -> Done {
    let shape = or_decline!(call.out_shape());
    let elements = [0, 1, 2, 4, 5].map(|i| call.f32s(i));
    let [Some(q), Some(k), Some(v), past_k, past_v] = &elements else {
        return Ok(None);
    };
    let heads = |name: &str| call.int(name).and_then(|n| usize::try_from(n).ok());
    let (q_heads, kv_heads) = (heads("q_num_heads"), heads("kv_num_heads"));
    let q = or_decline!(Heads::of(q, call.shape(0), q_heads));
    let new = [(k, 1), (v, 2)].map(|(new, i)| Heads::of(new, call.shape(i), kv_heads));
    let past = [(past_k, 4), (past_v, 5)].map(|(past, i)| {
        let past = past.as_ref().filter(|_| call.shape(i).len() == 4)?;
        Heads::of(past, call.shape(i), None)
    });
    if past[0].is_some() != call.has(4) || past[1].is_some() != call.has(5) {
        return Ok(None);
    }
    let of = |i: usize| new[i].map(|new| Cached { past: past[i], new });
    let (k, v) = (or_decline!(of(0)), or_decline!(of(1)));
    let is_precise = match call.attr("softmax_precision") {
        AttrValue::None => true,
        AttrValue::DType(dtype) => *dtype == DType::F32,
        _ => false,
    };
    let batch = shape[0];
    let fits = k.new.size == q.size
        && k.new.heads == v.new.heads
        && k.new.heads > 0
        && q.heads % k.new.heads == 0
        && k.length() == v.length()
        && k.length() > 0
        && q.size > 0
        && call.shape(1)[0] == batch
        && call.shape(2)[0] == batch;
    let past_fits = |cached: &Cached<'_>, i: usize| {
        let shape = call.shape(i);
        cached.past.is_none() || shape == [batch, cached.new.heads, shape[2], cached.new.size]
    };
    if !is_precise || !fits || !past_fits(&k, 4) || !past_fits(&v, 5) {
        return Ok(None);
    }
    let mask = match call.has(3) {
        true => Some(or_decline!(Mask::of(call, 3, [batch, q.heads, q.length]))),
        false => None,
    };
    let seen = match call.has(6) {
        true => {
            let counts = or_decline!(call.slice::<i64>(6));
            if counts.len() != batch && counts.len() != 1 {
                return Ok(None);
            }
            let count = |i: usize| usize::try_from(counts[i % counts.len()].max(0)).unwrap_or(usize::MAX);
            Some((0..batch).map(count).collect())
        }
        false => None,
    };
    let mut out = call.result_room::<f32>(shape.iter().product());
    let attention = Attention {
        q,
        k,
        v,
        is_masked: mask.is_some() || call.flag("is_causal") || seen.is_some(),
        mask,
        is_causal: call.flag("is_causal"),
        seen,
        factor: match call.float("scale") {
            Some(scale) => Factor::Times(scale as f32),
            None => Factor::Over((q.size as f32).sqrt()),
        },
        softcap: call.float("softcap").unwrap_or(0.0) as f32,
        out: Shared::new(&mut out),
    };
    if attention.out.len() > 0 {
        for b in 0..batch {
            attention.run(b, call.threads);
        }
    }
    drop(attention);
    done(&shape, out)
}

impl Attention<'_> {
    /// Queries of heads that share one of keys.
    fn shared(&self) -> usize {
        self.q.heads / self.k.new.heads
    }

    /// The number of keys that a query may see.
    fn limit(&self, batch: usize, query: usize) -> usize {
        let all = self.k.length();
        let own = match self.is_causal {
            true => (query + 1).saturating_add(self.k.past_length()).min(all),
            false => all,
        };
        self.seen.as_ref().map_or(own, |seen| own.min(seen[batch]))
    }

    fn run(&self, batch: usize, threads: usize) {
        let queries = self.q.length;
        if queries * self.shared() < FEW {
            let parallel = threads > 1 && self.k.length() * self.q.size > 1 << 14;
            return each(self.q.heads, if parallel { threads } else { 1 }, |head| {
                for query in 0..queries {
                    self.one(batch, head, query);
                }
            });
        }
        let micro = Micro::best();
        let heads: Vec<Vec<Blocks>> = {
            let all = 0..self.k.new.heads;
            all.map(|head| self.blocks(micro, batch, head)).collect()
        };
        let width = micro.columns;
        let count = queries.div_ceil(width);
        // The last queries see most keys, so they come first.
        each(count, threads, |i| {
            let first = (count - 1 - i) * width;
            let some = width.min(queries - first);
            let turned = |head: usize| {
                let mask = self.mask.as_ref()?;
                Some(mask.turned([batch, head, first], some, self.k.length(), width, KEYS))
            };
            let is_common = self.mask.as_ref().is_none_or(Mask::is_common);
            let mut mask = turned(0);
            for head in 0..self.q.heads {
                if !is_common && head > 0 {
                    mask = turned(head);
                }
                self.tile(micro, [batch, head, first], &heads[head / self.shared()], mask.as_ref());
            }
        });
    }

    /// The keys and values of a head in blocks.
    fn blocks(&self, micro: Micro, batch: usize, head: usize) -> Vec<Blocks> {
        let all = self.k.length();
        let rows = |cached: &Cached<'_>, first: usize, count: usize| {
            let mut rows = Vec::with_capacity(count * cached.new.size);
            (first..first + count).for_each(|at| rows.extend_from_slice(cached.row(batch, head, at)));
            rows
        };
        let block = |first: usize| {
            let count = KEYS.min(all - first);
            let (keys, values) = (rows(&self.k, first, count), rows(&self.v, first, count));
            Blocks {
                first,
                count,
                is_moderate: is_moderate(&keys),
                keys: Left::of_rows(micro, &keys, count),
                is_finite: values.iter().all(|x| x.is_finite()),
                values: Left::of_columns(micro, &values, self.v.new.size),
            }
        };
        (0..all).step_by(KEYS).map(block).collect()
    }

    /// The result of one query.
    fn one(&self, batch: usize, head: usize, query: usize) {
        let (shared, all) = (head / self.shared(), self.k.length());
        let q: Vec<f32> = self
            .q
            .row(batch, head, query)
            .iter()
            .map(|x| self.factor.of(*x))
            .collect();
        let mut scores = vec![0.0; all];
        for (at, score) in scores.iter_mut().enumerate() {
            *score = Arch::new().dispatch(Dot(&q, self.k.row(batch, shared, at)));
        }
        self.cap(&mut scores);
        if let Some(mask) = &self.mask {
            mask.apply([batch, head, query], 0, &mut scores, 1);
        }
        scores[self.limit(batch, query)..].fill(f32::NEG_INFINITY);
        let is_whole = Arch::new().dispatch(One(&mut scores));
        if !is_whole {
            scores.fill(if self.is_masked { 0.0 } else { f32::NAN });
        }
        // SAFETY: no other thread has this query of this head.
        let out = unsafe { self.result(batch, head, query) };
        out.fill(0.0);
        for (at, &weight) in scores.iter().enumerate() {
            let values = self.v.row(batch, shared, at);
            Arch::new().dispatch(AddTimes { out, weight, values });
        }
    }

    /// The place for the result of a query.
    ///
    /// # Safety
    /// No other thread has it.
    #[expect(clippy::mut_from_ref, reason = "the caller has these elements alone")]
    unsafe fn result(&self, batch: usize, head: usize, query: usize) -> &mut [f32] {
        let size = self.v.new.size;
        let shape = Heads { size, ..self.q };
        // SAFETY: by the caller; a place within the result, by its size.
        unsafe { self.out.part(shape.place(batch, head, query), size) }
    }

    /// The results of a head for the queries of a tile.
    fn tile(&self, micro: Micro, [batch, head, first]: [usize; 3], blocks: &[Blocks], mask: Option<&Turned>) {
        let (width, size) = (micro.columns, self.v.new.size);
        let count = width.min(self.q.length - first);
        let mut queries = vec![0.0; width * self.q.size];
        for (i, row) in queries.chunks_exact_mut(self.q.size).take(count).enumerate() {
            let from = self.q.row(batch, head, first + i);
            row.iter_mut().zip(from).for_each(|(o, x)| *o = self.factor.of(*x));
        }
        let is_finite = blocks.iter().all(|block| block.is_finite);
        // Keys that the mask hides from all queries come last: they have no weight if each query has seen another key.
        let may_skip = is_finite && is_moderate(&queries) && blocks.iter().all(|block| block.is_moderate);
        let is_hidden = |block: &usize| may_skip && mask.is_some_and(|mask| mask.hides(*block));
        let (hidden, seen): (Vec<usize>, Vec<usize>) = (0..blocks.len()).partition(is_hidden);
        let queries = Panels::of(micro, &queries, self.q.size, true);
        let mut scores = vec![0.0; KEYS * width];
        let mut out = vec![0.0; size * width];
        let (mut most, mut total) = (vec![f32::NEG_INFINITY; width], vec![0.0; width]);
        let zeros = vec![0.0; KEYS.max(size)];
        let last = self.limit(batch, first + count - 1);
        for (n, &i) in seen.iter().chain(&hidden).enumerate() {
            let block = &blocks[i];
            // Later keys have no weight, but what is not a number stays such, times zero.
            if block.first >= last && i > 0 && is_finite {
                continue;
            }
            if n >= seen.len() && most[..count].iter().all(|&most| most > SEEN) {
                break;
            }
            let scores = &mut scores[..block.count * width];
            let start = Finish::from(Start::Rows(&zeros[..block.count]));
            product(&block.keys, &queries, width, scores, start, 1);
            self.cap(scores);
            if let Some(mask) = mask {
                mask.apply(block.first, scores, width);
            }
            for i in 0..count {
                let limit = self.limit(batch, first + i).saturating_sub(block.first);
                if limit < block.count {
                    let hidden = scores[limit * width + i..].iter_mut().step_by(width);
                    hidden.for_each(|score| *score = f32::NEG_INFINITY);
                }
            }
            Arch::new().dispatch(Block {
                scores,
                most: &mut most,
                total: &mut total,
                out: &mut out,
            });
            product(
                &block.values,
                &Weights(scores),
                width,
                &mut out,
                Finish::from(Start::Result),
                1,
            );
        }
        let mut rows = vec![0.0; width * size];
        transpose(&out, [size, width], width, &mut rows, size);
        for i in 0..count {
            let is_whole = total[i] > 0.0;
            if self.is_masked && !is_whole && !is_finite {
                self.one(batch, head, first + i);
                continue;
            }
            // SAFETY: no other thread has these queries.
            let result = unsafe { self.result(batch, head, first + i) };
            if self.is_masked && !is_whole {
                result.fill(0.0);
                continue;
            }
            let row = &rows[i * size..][..size];
            result.iter_mut().zip(row).for_each(|(y, x)| *y = x / total[i]);
        }
    }

    /// Bounds scores, if that is asked for.
    fn cap(&self, scores: &mut [f32]) {
        if self.softcap > 0.0 {
            let cap = self.softcap;
            scores.iter_mut().for_each(|x| *x = super::math::tanh(*x / cap) * cap);
        }
    }
}

/// True if no element is so large that it makes scores large or not finite, with which a mask would hide less.
fn is_moderate(elements: &[f32]) -> bool {
    elements.iter().fold(true, |all, x| all & (x.abs() <= 1e12))
}

/// A key with at least this score has been seen: what a mask hides is smaller by so much that its weight is zero.
const SEEN: f32 = -1e35;

/// Some keys and values of a head.
struct Blocks {
    first: usize,
    count: usize,
    keys: Left,
    values: Left,
    /// All keys are moderate.
    is_moderate: bool,
    /// No value is infinite or NaN.
    is_finite: bool,
}

/// The weights of a block of keys, in rows of as many queries as a micro-kernel has columns: they are a panel.
struct Weights<'a>(&'a [f32]);

impl Right for Weights<'_> {
    fn panel(&self, _: usize, _: usize, _: usize) -> Option<&[f32]> {
        Some(self.0)
    }

    fn pack(&self, _: usize, _: usize, _: usize, _: usize, _: usize, _: &mut [f32]) {}
}

/// Calls `run` for each number below `n`, on several threads.
fn each(n: usize, threads: usize, run: impl Fn(usize) + Sync) {
    if threads < 2 || n < 2 {
        return (0..n).for_each(run);
    }
    rayon::scope(|scope| {
        let run = &run;
        for i in 0..n {
            scope.spawn(move |_| run(i));
        }
    });
}

/// The product of two rows.
pub(super) struct Dot<'a>(pub(super) &'a [f32], pub(super) &'a [f32]);

impl NullaryFnOnce for Dot<'_> {
    type Output = f32;
    #[inline(always)]
    fn call(self) -> f32 {
        let mut sums = [0.0f32; 32];
        let (a, rest_a) = self.0.as_chunks::<32>();
        let (b, rest_b) = self.1.as_chunks::<32>();
        for (a, b) in a.iter().zip(b) {
            for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                *sum += a * b;
            }
        }
        for width in [16, 8, 4, 2, 1] {
            for i in 0..width {
                sums[i] += sums[i + width];
            }
        }
        rest_a.iter().zip(rest_b).fold(sums[0], |sum, (a, b)| sum + a * b)
    }
}

/// Adds a multiple of a row.
struct AddTimes<'a> {
    out: &'a mut [f32],
    weight: f32,
    values: &'a [f32],
}

impl NullaryFnOnce for AddTimes<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let pairs = self.out.iter_mut().zip(self.values);
        pairs.for_each(|(o, x)| *o += self.weight * x);
    }
}

#[cfg(test)]
#[path = "attention_tests.rs"]
mod tests;
