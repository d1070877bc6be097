//! Comparison of two workloads on random inputs.
//!
//! Both run on the same inputs, and results may lie as far apart as their class allows. Where they lie further apart, the
//! question is whose fault that is. The original is run again on inputs that differ by one part in a million: if its own
//! results change by as much, the model is unstable there, and nothing can be said at these inputs. Then others are
//! tried, and the rules that were applied are tried one by one.

use indexmap::IndexMap;
use tautomer::exec::Estimate;
use tautomer::graph::{Allowance, Excess, Graph, Meter, Workload, bytes_text};
use tautomer::op::{Op, held_bytes};
use tautomer::rewrite::graph_cost;
use tautomer::rule::Class;
use tautomer::tensor::{DType, Tensor};

use super::Failure;
use super::extents::{Extents, likely};
use super::random::{NUDGE, Random, difference, input_bytes, nudged, spread, tell, values};
use super::run::{evaluate, evaluate_within, in_double};

/// What a comparison on random inputs found.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The runs show a difference, or none.
    Apart {
        /// The largest difference, relative to the scale of the result, at inputs where that says something.
        most: f64,
        /// Some results were one number throughout, or no number, whatever inputs were tried: they say little.
        blind: bool,
        /// How many inputs were compared.
        runs: u64,
        /// At how many others the model is unstable, and how far its results lie apart there at most.
        unstable: Option<(u64, f64)>,
        /// The results are not those of the original.
        wrong: bool,
        /// The first value that differs, if both have a value of its name.
        first: Option<String>,
    },
    /// Nothing was compared, and why.
    Unchecked(String),
}

/// How many inputs are tried besides, if the first ones say nothing.
const MORE: u64 = 8;

/// A difference is that of the model itself up to this many times the change of its own results.
const UNSTABLE: f64 = 8.0;

/// Operations of the reference semantics up to which results are computed in double precision.
const IN_DOUBLE: f64 = 3e8;

/// Bytes of the values that are kept to find the first that differs.
const KEPT: u64 = 256 << 20;

/// One comparison at one choice of inputs.
enum Once {
    /// The results lie so far apart, and that is allowed, or is the fault of the result.
    Apart {
        most: f64,
        blind: bool,
        first: Option<String>,
    },
    /// So far apart, which a small change of the inputs does as well.
    Unstable { most: f64, agree: bool },
}

/// How comparisons are made.
pub(super) struct Comparing<'a> {
    /// How many inputs, and where the random numbers begin.
    pub(super) runs: (u64, u64),
    /// How far results may lie apart.
    pub(super) allowed: f64,
    /// What one run may take.
    pub(super) allowance: Allowance,
    /// Whether a rule is found wrong by itself, where inputs say nothing; nothing, if rules cannot be tried by themselves.
    pub(super) blamed: &'a dyn Fn() -> Option<bool>,
}

/// Compares the results of two workloads on random inputs.
pub(super) fn compare(before: &Workload, after: &Workload, how: &Comparing<'_>) -> Result<Verdict, Failure> {
    let opaque = before
        .graph
        .rpo()
        .into_iter()
        .find_map(|v| match before.graph.vertex(v).op() {
            Some(op @ Op::Opaque(_)) => Some(op.name()),
            _ => None,
        });
    if let Some(name) = opaque {
        return Ok(Verdict::Unchecked(format!("`{name}` has no definition")));
    }
    let (n, seed) = how.runs;
    let (mut most, mut blind, mut first, mut runs) = (0.0f64, false, None, 0u64);
    let (mut unstable, mut apart_there, mut agree_there) = (0u64, 0.0f64, false);
    let mut run = 0;
    while run < n || (unstable > 0 && runs < n && run < n + MORE) {
        let random = Random::new(seed.wrapping_add(run).wrapping_mul(0x2545_f491_4f6c_dd1d));
        run += 1;
        match once(before, after, random, how)? {
            Ok(Once::Apart {
                most: apart,
                blind: says_little,
                first: place,
            }) => {
                runs += 1;
                most = most.max(apart);
                blind |= says_little;
                first = first.or(place);
            }
            Ok(Once::Unstable { most: apart, agree }) => {
                unstable += 1;
                apart_there = apart_there.max(apart);
                agree_there |= agree;
            }
            Err(why) => return Ok(Verdict::Unchecked(why)),
        }
        if most > how.allowed {
            break;
        }
    }
    // Inputs at which nothing can be said may be those at which the result is wrong: then double precision says it is not, or
    // the rules are tried by themselves.
    let doubtful = || unstable > 0 && !agree_there && (how.blamed)().unwrap_or(runs == 0);
    let wrong = most > how.allowed || doubtful();
    Ok(Verdict::Apart {
        most: if wrong { most.max(apart_there) } else { most },
        blind,
        runs,
        unstable: (unstable > 0).then_some((unstable, apart_there)),
        wrong,
        first,
    })
}

/// The words for a limit that a comparison would exceed.
fn beyond(excess: Excess) -> String {
    match excess {
        Excess::Bytes(needed, limit) => {
            let raised = format!("{:.0}M", (needed / 1e6).ceil());
            format!(
                "one run would need {} (limit {}; raise it with `--check-memory {raised}`)",
                bytes_text(needed),
                bytes_text(limit as f64)
            )
        }
        Excess::Operations(needed, limit) => format!(
            "one run would take {needed:.0e} operations (limit {:.0e}; raise it with `--check-operations {:.0e}`)",
            limit as f64,
            2.0 * needed
        ),
    }
}

/// What a run of both would take beyond what it may, as far as that is known before.
fn too_much(before: &Graph, after: &Graph, extents: &Extents, allowance: Allowance) -> Option<Excess> {
    let bound = |graph: &Graph| graph.with_symbols(&|name| extents.get(name).copied()).ok();
    let old = Estimate::of(&bound(before)?);
    let mut new = bound(after).map_or(Estimate::default(), |graph| Estimate::of(&graph));
    // The results of the original are still there when the other one runs.
    new.bytes += old.results;
    old.excess(allowance).or_else(|| new.excess(allowance))
}

/// Compares at one choice of inputs; or says why that cannot be done.
fn once(
    before: &Workload,
    after: &Workload,
    mut random: Random,
    how: &Comparing<'_>,
) -> Result<Result<Once, String>, Failure> {
    let mut last = "no extents of its symbolic dimensions suit it".to_owned();
    let mut beyond_limits = None;
    for extents in likely(&before.graph, &before.params, &mut random) {
        let drawn = input_bytes(&before.graph, &before.params, &extents);
        let inputs = (drawn > how.allowance.bytes as f64).then_some(Excess::Bytes(drawn, how.allowance.bytes));
        let excess = inputs.or_else(|| too_much(&before.graph, &after.graph, &extents, how.allowance));
        if let Some(excess) = excess {
            beyond_limits.get_or_insert(excess);
            continue;
        }
        let Some((mut inputs, params)) = values(&before.graph, &before.params, &mut random, &extents) else {
            last = "the original does not run here: there are no random values for its inputs".to_owned();
            continue;
        };
        let first = Workload {
            graph: before.graph.clone(),
            params: params.clone(),
        };
        let meter = Meter::new(how.allowance);
        let mut old = match evaluate_within(&first, &inputs, &meter, &mut |_, _, _| {}) {
            Ok(old) => old,
            Err(why) => {
                match meter.excess() {
                    Some(excess) => {
                        beyond_limits.get_or_insert(excess);
                    }
                    None => last = format!("the original does not run here: {why}"),
                }
                continue;
            }
        };
        let mut blind = false;
        if !tell(&old) {
            let other = telling(&first, &inputs, &extents, &mut random);
            blind = other.is_none();
            (inputs, old) = other.unwrap_or((inputs, old));
        }
        let mut second = after.clone();
        for (name, value) in params {
            second.params.entry(name).or_insert(value);
        }
        let meter = Meter::new(how.allowance);
        let new = match evaluate_within(&second, &inputs, &meter, &mut |_, _, _| {}) {
            Ok(new) => new,
            Err(why) => match meter.excess() {
                Some(excess) => return Ok(Err(beyond(excess))),
                None => return Err(Failure::new("T0406", why)),
            },
        };
        let mut apart = furthest(&old, &new);
        if apart > 0.0 && is_decided_by_reference(how.allowed, &before.graph, &extents) {
            apart = furthest(&evaluate(&first, &inputs, true)?, &evaluate(&second, &inputs, true)?);
        }
        let pair = Pair {
            first: &first,
            second: &second,
            inputs: &inputs,
            old: &old,
            how,
        };
        if apart > how.allowed
            && how.allowed > 0.0
            && apart.is_finite()
            && let Some(found) = pair.judged(apart, &extents, &mut random)
        {
            return Ok(Ok(found));
        }
        let place = (apart > how.allowed).then(|| pair.first_difference()).flatten();
        return Ok(Ok(Once::Apart {
            most: apart,
            blind,
            first: place,
        }));
    }
    Ok(Err(beyond_limits.map_or(last, beyond)))
}

/// Two workloads at inputs.
struct Pair<'a> {
    first: &'a Workload,
    second: &'a Workload,
    inputs: &'a [Tensor],
    old: &'a [Tensor],
    how: &'a Comparing<'a>,
}

impl Pair<'_> {
    /// Whether a difference is that of the model itself; nothing, if it is not.
    fn judged(&self, apart: f64, extents: &Extents, random: &mut Random) -> Option<Once> {
        let cheap = |workload: &Workload| {
            let bound = workload.graph.with_symbols(&|name| extents.get(name).copied());
            bound.is_ok_and(|graph| Estimate::of(&graph).reference <= IN_DOUBLE)
        };
        let double = |workload: &Workload| cheap(workload).then(|| in_double(workload, self.inputs)).flatten();
        let exact = double(self.first);
        // Without rounding both say the same: what is left was rounding.
        let agree = match (&exact, double(self.second)) {
            (Some(old), Some(new)) => furthest(old, &new) <= self.how.allowed,
            _ => false,
        };
        // How far results of the original lie from what they should be, and how far a small change takes them.
        let mut own = exact.as_ref().map_or(0.0, |exact| {
            let rounded = |(x, y): (&Tensor, &Tensor)| {
                let as_given = x.to_f64s().and_then(|v| Tensor::from_f64s(y.dtype(), y.shape(), &v));
                as_given.map_or(0.0, |x| difference(&x, y))
            };
            exact.iter().zip(self.old).map(rounded).fold(0.0, f64::max)
        });
        for _ in 0..TRIES {
            let (inputs, params) = nudged(self.inputs, &self.first.params, random);
            let workload = Workload {
                graph: self.first.graph.clone(),
                params,
            };
            let meter = Meter::new(self.how.allowance);
            if let Ok(other) = evaluate_within(&workload, &inputs, &meter, &mut |_, _, _| {}) {
                own = own.max(furthest(self.old, &other));
            }
            if own.is_finite() && apart <= UNSTABLE * own {
                return Some(Once::Unstable { most: apart, agree });
            }
        }
        (agree && apart <= ROUNDING * self.how.allowed).then_some(Once::Unstable { most: apart, agree })
    }

    /// The first named value of the original that is another one in the result.
    fn first_difference(&self) -> Option<String> {
        let mut kept: IndexMap<String, Tensor> = IndexMap::new();
        let mut left = KEPT;
        let meter = Meter::new(self.how.allowance);
        let keep = &mut |name: &str, _: &str, value: &Tensor| {
            if let Some(rest) = left.checked_sub(held_bytes(value)) {
                left = rest;
                kept.insert(name.to_owned(), value.clone());
            }
        };
        evaluate_within(self.second, self.inputs, &meter, keep).ok()?;
        let mut first = None;
        let meter = Meter::new(self.how.allowance);
        let compare = &mut |name: &str, op: &str, value: &Tensor| {
            let Some(new) = kept.get(name).filter(|_| first.is_none()) else {
                return;
            };
            let apart = difference(value, new);
            if apart > self.how.allowed {
                first = Some(format!("`{name}` ({op}, {}), by {apart:.1e}", value.ty()));
            }
        };
        evaluate_within(self.first, self.inputs, &meter, compare).ok()?;
        first
    }
}

/// Small changes that are tried.
const TRIES: usize = 3;

/// Rounding alone takes results no further than this many times what is allowed.
const ROUNDING: f64 = 100.0;

/// Inputs of other magnitudes on which the results tell inputs apart, and those results.
fn telling(
    workload: &Workload,
    inputs: &[Tensor],
    extents: &Extents,
    random: &mut Random,
) -> Option<(Vec<Tensor>, Vec<Tensor>)> {
    let bound = workload.graph.with_symbols(&|name| extents.get(name).copied()).ok()?;
    let tries = (SOUGHT / graph_cost(&bound).max(1.0)).clamp(1.0, MOST_TRIES) as u32;
    (0..tries).find_map(|_| {
        let inputs = spread(inputs, random);
        let results = evaluate(workload, &inputs, false).ok()?;
        tell(&results).then_some((inputs, results))
    })
}

/// What was compared, in one line; `asked` if the comparison was asked for.
pub(super) fn line(verdict: &Verdict, allowed: f64, asked: bool) -> String {
    let limit = if allowed == 0.0 {
        "limit 0".to_owned()
    } else {
        format!("limit {}", short(allowed))
    };
    let count = |n: u64| format!("{n} random input{}", if n == 1 { "" } else { "s" });
    match verdict {
        Verdict::Unchecked(why) => {
            let asked = if asked { ", although `--check` asks for it" } else { "" };
            format!("not checked{asked}: {why}; `tautomer verify` can still compare the result with its original")
        }
        Verdict::Apart {
            most,
            blind,
            runs,
            unstable,
            wrong,
            ..
        } => {
            let compared = match runs {
                0 => String::new(),
                n => format!("checked on {}: max relative error {most:.1e} ({limit})", count(*n)),
            };
            let says_little = if *blind {
                ", which says little: on random inputs the results are one number, or none"
            } else {
                ""
            };
            match (unstable, runs) {
                (None, _) if *wrong => format!("{compared}: WRONG"),
                (None, _) => format!("{compared}: OK{says_little}"),
                (Some((n, apart)), 0) => format!(
                    "checked on {}: results differ by {apart:.1e}, but a change of the inputs by {NUDGE:.0e} changes those of \
                     the original as much: the model is unstable; {}",
                    count(*n),
                    if *wrong {
                        "looked at one by one, a rule that was applied is wrong, or none could be tried: WRONG"
                    } else {
                        "in double precision, or rule by rule, both agree: OK"
                    }
                ),
                (Some((n, apart)), _) => format!(
                    "{compared}: {}; not counted: {} at which the model is unstable and results differ by {apart:.1e}",
                    if *wrong { "WRONG" } else { "OK" },
                    count(*n)
                ),
            }
        }
    }
}

/// `1e-4`, `0.05`.
fn short(number: f64) -> String {
    if number < 1e-3 {
        format!("{number:.0e}")
    } else {
        format!("{number}")
    }
}

/// How far results may lie apart: what the class allows, and rounding in the narrowest type that occurs.
pub(super) fn tolerance(class: Class, workload: &Workload) -> f64 {
    let graph = &workload.graph;
    let narrow = |dtype: DType| {
        graph
            .ids()
            .any(|v| graph.ty(v).as_tensor().is_some_and(|t| t.dtype == dtype))
    };
    let rounding = if narrow(DType::BF16) {
        5e-2
    } else if narrow(DType::F16) {
        1e-2
    } else {
        1e-4
    };
    match class {
        Class::Bitwise => 0.0,
        Class::Real => rounding,
        Class::Approx(e) => e + rounding,
    }
}

/// Estimated microseconds up to which the reference semantics decides; it takes a thousand times as long.
const DECIDED: f64 = 2e4;

/// Whether results that differ are computed again by the reference semantics: kernels round in ways of their own, and where
/// no difference is allowed, bits are those of the reference.
pub(super) fn is_decided_by_reference(allowed: f64, graph: &Graph, extents: &Extents) -> bool {
    let bound = || graph.with_symbols(&|name| extents.get(name).copied());
    allowed == 0.0 && bound().is_ok_and(|graph| graph_cost(&graph) <= DECIDED)
}

/// Estimated microseconds of runs in search of inputs that tell something, and how many there are at most.
const SOUGHT: f64 = 1e6;
const MOST_TRIES: f64 = 30.0;

/// How far two lists of results lie apart.
pub(super) fn furthest(old: &[Tensor], new: &[Tensor]) -> f64 {
    let apart = old.iter().zip(new).map(|(a, b)| difference(a, b)).fold(0.0, f64::max);
    if old.len() == new.len() { apart } else { f64::INFINITY }
}
