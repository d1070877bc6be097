//! Comparison of two workloads on random inputs.
//!
//! Both run on the same inputs, and results may differ by as much as their class allows. If they differ by more, the
//! cause has to be found. The original is run again on inputs changed by one part in a million: if its own results
//! change by as much, the model is unstable there, and these inputs are inconclusive. Then other inputs are tried, and
//! the applied rules are tested one by one.

mod blame;
mod extents;
mod fast;
mod random;
mod run;

use crate::exec::Estimate;
use crate::graph::{Allowance, Excess, Graph, Meter, Workload, bytes_text};
use crate::op::{Op, held_bytes};
use crate::rewrite::graph_cost;
use crate::rule::Class;
use crate::tensor::{DType, Tensor};
use indexmap::IndexMap;

use self::random::{NUDGE, input_bytes, nudged, spread, tell};
use self::run::in_double;
use crate::diag::Diagnostics;
use crate::model::failed;

pub(crate) use self::blame::{Trial, blamed, first_of_chain};
pub(crate) use self::extents::{Extents, likely, symbols};
pub(crate) use self::fast::{ALLOWANCE, fast};
pub use self::fast::{suggest_rules, verify_models};
pub use self::random::random_values;
pub(crate) use self::random::{Random, difference, values};
pub(crate) use self::run::{evaluate, evaluate_within};

/// The outcome of a comparison on random inputs.
#[derive(Debug, Clone)]
pub enum Compared {
    /// Both were run; they may or may not differ.
    Apart {
        /// The largest difference, relative to the scale of the result, at inputs where the model is stable.
        most: f64,
        /// Some results were constant or NaN on all inputs that were tried, so they are inconclusive.
        blind: bool,
        /// How many inputs were compared.
        runs: u64,
        /// The number of other inputs at which the model is unstable, and the largest difference of the results there.
        unstable: Option<(u64, f64)>,
        /// The results differ from those of the original.
        wrong: bool,
        /// The first named value that differs, if both graphs have a value of its name.
        first: Option<String>,
    },
    /// Nothing was compared, for this reason.
    Unchecked(String),
}

/// How many more inputs are tried if the first ones are inconclusive.
const MORE: u64 = 8;

/// A difference of up to this many times the change of the model's own results is attributed to the model.
const UNSTABLE: f64 = 8.0;

/// Results are computed in double precision up to this many operations of the reference semantics.
const IN_DOUBLE: f64 = 3e8;

/// Bytes of values kept to find the first one that differs.
const KEPT: u64 = 256 << 20;

/// One comparison at one choice of inputs.
enum Once {
    /// The results differ by this much, which is either allowed or a fault of the result.
    Apart {
        most: f64,
        blind: bool,
        first: Option<String>,
    },
    /// The results differ by this much, but a small change of the inputs has the same effect.
    Unstable { most: f64, agree: bool },
}

/// How comparisons are made.
pub(crate) struct Comparing<'a> {
    /// The number of inputs, and the random seed.
    pub(crate) runs: (u64, u64),
    /// The amount by which results may differ.
    pub(crate) allowed: f64,
    /// Limits on one run.
    pub(crate) allowance: Allowance,
    /// Whether a rule turns out to be wrong by itself, if the inputs are inconclusive; `None` if rules cannot be tested
    /// one by one.
    pub(crate) blamed: &'a dyn Fn() -> Option<bool>,
    /// If true, the comparison ends with an error.
    pub(crate) cancelled: &'a dyn Fn() -> bool,
}

/// Compares the results of two workloads on random inputs.
pub(crate) fn compare(before: &Workload, after: &Workload, how: &Comparing<'_>) -> Result<Compared, Diagnostics> {
    let opaque = before
        .graph
        .rpo()
        .into_iter()
        .find_map(|v| match before.graph.vertex(v).op() {
            Some(op @ Op::Opaque(_)) => Some(op.name()),
            Some(Op::Known(def)) if def.is_uninterpreted() => Some(def.name.to_owned()),
            _ => None,
        });
    if let Some(name) = opaque {
        return Ok(Compared::Unchecked(format!("`{name}` has no definition")));
    }
    let (n, seed) = how.runs;
    let (mut most, mut blind, mut first, mut runs) = (0.0f64, false, None, 0u64);
    let (mut unstable, mut apart_there, mut agree_there) = (0u64, 0.0f64, false);
    let mut run = 0;
    while run < n || (unstable > 0 && runs < n && run < n + MORE) {
        if (how.cancelled)() {
            return Err(failed("T0409", "the comparison was cancelled"));
        }
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
            Err(why) => return Ok(Compared::Unchecked(why)),
        }
        if most > how.allowed {
            break;
        }
    }
    // Inconclusive inputs may be those at which the result is wrong: double precision can rule that out, or the rules
    // are tested one by one.
    let doubtful = || unstable > 0 && !agree_there && (how.blamed)().unwrap_or(runs == 0);
    let wrong = most > how.allowed || doubtful();
    Ok(Compared::Apart {
        most: if wrong { most.max(apart_there) } else { most },
        blind,
        runs,
        unstable: (unstable > 0).then_some((unstable, apart_there)),
        wrong,
        first,
    })
}

/// Names the limit that a comparison would exceed.
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

/// The limit that running both would exceed, as far as that is known in advance.
fn too_much(before: &Graph, after: &Graph, extents: &Extents, allowance: Allowance) -> Option<Excess> {
    let bound = |graph: &Graph| graph.with_symbols(&|name| extents.get(name).copied()).ok();
    let old = Estimate::of(&bound(before)?);
    let mut new = bound(after).map_or(Estimate::default(), |graph| Estimate::of(&graph));
    // The results of the original are still in memory while the other graph runs.
    new.bytes += old.results;
    old.excess(allowance).or_else(|| new.excess(allowance))
}

/// Compares at one choice of inputs, or returns the reason why that is impossible.
fn once(
    before: &Workload,
    after: &Workload,
    mut random: Random,
    how: &Comparing<'_>,
) -> Result<Result<Once, String>, Diagnostics> {
    let mut last = "no values of its symbolic dimensions fit".to_owned();
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
            last = "the original cannot be run here: no random values can be drawn for its inputs".to_owned();
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
                    None => last = format!("the original cannot be run here: {why}"),
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
                None => return Err(failed("T0406", why)),
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

/// Two workloads and their inputs.
struct Pair<'a> {
    first: &'a Workload,
    second: &'a Workload,
    inputs: &'a [Tensor],
    old: &'a [Tensor],
    how: &'a Comparing<'a>,
}

impl Pair<'_> {
    /// Attributes a difference to the model itself; `None` if the model does not explain it.
    fn judged(&self, apart: f64, extents: &Extents, random: &mut Random) -> Option<Once> {
        let cheap = |workload: &Workload| {
            let bound = workload.graph.with_symbols(&|name| extents.get(name).copied());
            bound.is_ok_and(|graph| Estimate::of(&graph).reference <= IN_DOUBLE)
        };
        let double = |workload: &Workload| cheap(workload).then(|| in_double(workload, self.inputs)).flatten();
        let exact = double(self.first);
        // If both agree without rounding, the difference is due to rounding.
        let agree = match (&exact, double(self.second)) {
            (Some(old), Some(new)) => furthest(old, &new) <= self.how.allowed,
            _ => false,
        };
        // How far the original's results are from the exact ones, and how much a small change of the inputs changes
        // them.
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

    /// The first named value of the original that differs in the result.
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
        let allowed = self.how.allowed;
        let compare = &mut |name: &str, op: &str, value: &Tensor| {
            let Some(new) = kept.get(name).filter(|_| first.is_none()) else {
                return;
            };
            let apart = difference(value, new);
            if apart > allowed {
                first = Some(format!("`{name}` ({op}, {}), by {apart:.1e}", value.ty()));
            }
        };
        evaluate_within(self.first, self.inputs, &meter, compare).ok()?;
        first
    }
}

/// How many small changes are tried.
const TRIES: usize = 3;

/// Rounding alone changes results by at most this many times the allowed difference.
const ROUNDING: f64 = 100.0;

/// Inputs of other magnitudes on which the results are conclusive, and those results.
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

/// The comparison in one line; `asked` if it was requested.
pub(crate) fn line(verdict: &Compared, allowed: f64, asked: bool) -> String {
    let limit = if allowed == 0.0 {
        "limit 0".to_owned()
    } else {
        format!("limit {}", short(allowed))
    };
    let count = |n: u64| format!("{n} random input{}", if n == 1 { "" } else { "s" });
    match verdict {
        Compared::Unchecked(why) => {
            let asked = if asked { ", although `--check` asks for it" } else { "" };
            format!("not checked{asked}: {why}; `tautomer verify` can still compare the result with its original")
        }
        Compared::Apart {
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
                ", inconclusive: outputs are constant or NaN on random inputs"
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
                        "tested one by one, an applied rule is wrong, or none could be tested: WRONG"
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

/// The allowed difference: the bound of the class, plus rounding in the narrowest type that occurs.
pub(crate) fn tolerance(class: Class, workload: &Workload) -> f64 {
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

/// Graphs of up to this many estimated microseconds are decided by the reference semantics, which takes a thousand
/// times as long.
const DECIDED: f64 = 2e4;

/// Whether results that differ are computed again by the reference semantics: kernels round in their own ways, and
/// where no difference is allowed, the bits must be those of the reference.
pub(crate) fn is_decided_by_reference(allowed: f64, graph: &Graph, extents: &Extents) -> bool {
    let bound = || graph.with_symbols(&|name| extents.get(name).copied());
    allowed == 0.0 && bound().is_ok_and(|graph| graph_cost(&graph) <= DECIDED)
}

/// Estimated microseconds spent searching for conclusive inputs, and the maximum number of runs.
const SOUGHT: f64 = 1e6;
const MOST_TRIES: f64 = 30.0;

/// The largest difference between two lists of results.
pub(crate) fn furthest(old: &[Tensor], new: &[Tensor]) -> f64 {
    let apart = old.iter().zip(new).map(|(a, b)| difference(a, b)).fold(0.0, f64::max);
    if old.len() == new.len() { apart } else { f64::INFINITY }
}
