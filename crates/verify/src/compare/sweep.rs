//! Sweeps that decide the class of a rule: bits compared on every number, or on corner cases.
//!
//! If a rule is elementwise and has one real operand, a single number is the whole input. A sweep tries all of `f16`
//! and `bf16`; of `f32`, patterns of every sign and exponent with the least, middle and largest mantissas and with
//! random ones, or all. With two operands it tries all pairs of corner cases.

use std::fmt;

use super::bits::compare_bits_at;
use super::data::{self, Values, corners};
use super::finding::{Fault, Finding, Mismatch, WrongInstance};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::OpTraits;
use tautomer_rewrite::{Sides, Trial};
use tautomer_rule::{Class, Rule};
use tautomer_tensor::{DType, Tensor};

/// How many numbers are tried at once.
const AT_ONCE: usize = 4096;

/// The number of 16-bit patterns.
const NARROW: u64 = 1 << 16;

/// Numbers of an element type on which the bits of both sides were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweep {
    /// The element type.
    pub dtype: DType,
    /// The number of values, or of pairs of them.
    pub values: u64,
    /// The number of real operands: one or two.
    pub operands: u32,
    /// True if these are all numbers of the element type.
    pub exhaustive: bool,
}

impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sweep { dtype, values, .. } = self;
        match (self.exhaustive, self.operands) {
            (true, _) => write!(f, "all {values} of {dtype}"),
            (_, 1) => write!(f, "{values} of {dtype}"),
            _ => write!(f, "{values} pairs of {dtype}"),
        }
    }
}

/// The strongest class consistent with everything compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The class.
    pub class: Class,
    /// The sweeps; without any, the class rests only on the bits at the instances.
    pub sweeps: Vec<Sweep>,
}

impl Decided {
    /// Whether the class rests on all numbers of an element type.
    pub fn is_exhaustive(&self) -> bool {
        self.sweeps.iter().any(|s| s.exhaustive)
    }
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.class)?;
        if self.class == Class::Bitwise && !self.sweeps.is_empty() {
            let sweeps: Vec<String> = self.sweeps.iter().map(Sweep::to_string).collect();
            write!(f, " (bits of {})", sweeps.join(", "))?;
        }
        Ok(())
    }
}

/// On how many numbers of an element type bits are compared, for a rule with one real operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SweepSize {
    /// So many.
    Patterns(u64),
    /// All of them.
    Exhaustive,
}

impl SweepSize {
    /// How many numbers of an element type are compared, and whether these are all.
    fn count(self, dtype: DType) -> (u64, bool) {
        let all = if dtype == DType::F32 { 1 << 32 } else { NARROW };
        let count = match self {
            SweepSize::Exhaustive => all,
            SweepSize::Patterns(n) if dtype == DType::F32 => n,
            SweepSize::Patterns(n) => n.min(NARROW),
        };
        (count, count == all)
    }
}

/// Compares bits on many numbers of each element type.
///
/// # Errors
/// The first numbers at which they differ.
pub(crate) fn sweep(
    rule: &Rule,
    trial: &Trial,
    recipes: &[&Recipe],
    size: SweepSize,
    random: &mut Random,
) -> Result<Vec<Sweep>, Box<WrongInstance>> {
    let mut out = Vec::new();
    // Some of these numbers may violate what the rule assumes about its values.
    if !rule.assuming.is_empty() {
        return Ok(out);
    }
    for dtype in [DType::F16, DType::BF16, DType::F32] {
        for operands in [1, 2] {
            let place = |r: &&&Recipe| operand_count(r) == Some(operands);
            let corners = corners(dtype);
            let n = if operands == 1 {
                AT_ONCE
            } else {
                corners.len() * corners.len()
            };
            let made = recipes
                .iter()
                .filter(place)
                .take(4)
                .find_map(|r| instance(trial, r, dtype, n));
            let Some((recipe, sides)) = made else { continue };
            let found = if operands == 1 {
                let (count, all) = size.count(dtype);
                let chunks = count.div_ceil(AT_ONCE as u64);
                let numbers = |chunk: u64| -> Vec<Vec<f64>> {
                    let first = chunk * AT_ONCE as u64;
                    vec![
                        (0..AT_ONCE as u64)
                            .map(|i| number(dtype, first + i, all, &mut *random))
                            .collect(),
                    ]
                };
                let sweep = Sweep {
                    dtype,
                    values: chunks * AT_ONCE as u64,
                    operands: 1,
                    exhaustive: all,
                };
                compare(&sides, dtype, chunks, numbers).map(|()| sweep)
            } else {
                let pairs = |_| {
                    let first = corners.iter().flat_map(|x| corners.iter().map(|_| *x)).collect();
                    let second = corners.iter().flat_map(|_| corners.iter().copied()).collect();
                    vec![first, second]
                };
                let sweep = Sweep {
                    dtype,
                    values: n as u64,
                    operands: 2,
                    exhaustive: false,
                };
                compare(&sides, dtype, 1, pairs).map(|()| sweep)
            };
            match found {
                Ok(sweep) => out.push(sweep),
                Err(mismatch) => {
                    let reduced = reduced_to_element(trial, &recipe, dtype, &mismatch);
                    return Err(Box::new(reduced.unwrap_or(WrongInstance {
                        recipe,
                        sides,
                        mismatch,
                    })));
                }
            }
        }
    }
    Ok(out)
}

/// The number of operands of the source, if all are real and the source is elementwise.
fn operand_count(recipe: &Recipe) -> Option<usize> {
    let mut leaves = 0;
    for step in &recipe.steps {
        match step {
            Step::Leaf { dtype, .. } if dtype.is_float() => leaves += 1,
            Step::Call { def, .. } if def.traits.contains(OpTraits::ELEMENTWISE) => {}
            Step::Fill { dtype, shape, .. } if dtype.is_float() && shape.iter().all(|n| *n == 1) => {}
            Step::Absent => {}
            _ => return None,
        }
    }
    Some(leaves)
}

/// The instance with operands that are vectors of `n` numbers of an element type, if the rule applies there.
fn instance(trial: &Trial, recipe: &Recipe, dtype: DType, n: usize) -> Option<(Recipe, Sides)> {
    let mut recipe = recipe.clone();
    for step in &mut recipe.steps {
        match step {
            Step::Leaf { dtype: d, shape, .. } => (*d, *shape) = (dtype, vec![n as i64]),
            Step::Fill { dtype: d, shape, .. } => {
                *d = dtype;
                shape.truncate(1);
            }
            _ => {}
        }
    }
    let (graph, roots) = recipe.build().ok()?;
    let sides = trial.sides(graph, Some(&roots))?;
    sides.types_agree().then_some((recipe, sides))
}

/// The instance reduced to the one position at which the sides differ.
fn reduced_to_element(trial: &Trial, recipe: &Recipe, dtype: DType, mismatch: &Mismatch) -> Option<WrongInstance> {
    let place = *mismatch.at.element.as_ref()?.first()?;
    let (recipe, sides) = instance(trial, recipe, dtype, 1)?;
    let before = |v| mismatch.values.get(&v)?.to_f64s()?.get(place).copied();
    let values: Option<Values> = data::leaves(&sides.graph)
        .map(|v| Some((v, Tensor::from_f64s(dtype, &[1], &[before(v)?])?)))
        .collect();
    let mismatch = compare_bits_at(&sides, sides.target.as_ref().ok()?, values?, mismatch.fault).mismatch()?;
    Some(WrongInstance {
        recipe,
        sides,
        mismatch,
    })
}

/// Number `i` of a sweep: the number with those bits; for `f32`, unless all are tried, a [`pattern`].
fn number(dtype: DType, i: u64, all: bool, random: &mut Random) -> f64 {
    // In a partial sweep, every sign and exponent should come early: the odd factor permutes the patterns.
    let narrow = i.wrapping_mul(40_503) as u16;
    match dtype {
        DType::F16 => half::f16::from_bits(narrow).to_f64(),
        DType::BF16 => half::bf16::from_bits(narrow).to_f64(),
        _ if all => f64::from(f32::from_bits(i as u32)),
        _ => f64::from(f32::from_bits(pattern(i, random))),
    }
}

/// The bits of an `f32`: every sign and exponent in turn, first with extreme and middle mantissas, then random ones.
fn pattern(i: u64, random: &mut Random) -> u32 {
    const DIGITS: u32 = (1 << 23) - 1;
    const MIDDLE: u32 = 1 << 22;
    let head = (i % 512) as u32;
    let digits = match i / 512 {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => MIDDLE - 1,
        4 => MIDDLE,
        5 => MIDDLE + 1,
        6 => DIGITS - 1,
        7 => DIGITS,
        _ => random.next() as u32 & DIGITS,
    };
    head << 23 | digits
}

fn compare(
    sides: &Sides,
    dtype: DType,
    chunks: u64,
    mut numbers: impl FnMut(u64) -> Vec<Vec<f64>>,
) -> Result<(), Box<Mismatch>> {
    let Ok(target) = &sides.target else { return Ok(()) };
    for chunk in 0..chunks {
        let leaves = data::leaves(&sides.graph);
        let values = leaves.zip(numbers(chunk)).filter_map(|(v, numbers)| {
            let (_, shape) = data::shape_of(&sides.graph, v)?;
            Some((v, Tensor::from_f64s(dtype, &shape, &numbers)?))
        });
        let values: Values = values.collect();
        if let Finding::Mismatch(mismatch) = compare_bits_at(sides, target, values, Fault::Bits) {
            return Err(mismatch);
        }
    }
    Ok(())
}
