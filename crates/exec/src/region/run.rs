//! Running a region.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use tautomer_loops::Kernel;
use tautomer_op::OpDef;
use tautomer_tensor::{DType, Dim, Shape};

use super::Region;
use super::find::tensor;
use super::lower;
use super::nest::{Nest, advance, broadcast, nest};
use crate::kernels::{Context, Each, Operand, Part, Rows, Value, worth};
use crate::plan::Plan;

/// A region with the code of earlier runs.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) region: Region,
    /// Compiled for each set of inputs that are the same in all rows; `None` if it cannot be.
    kernels: Mutex<FxHashMap<Vec<bool>, Option<Arc<Kernel>>>>,
}

impl Ready {
    pub(crate) fn new(region: Region) -> Ready {
        Ready {
            region,
            kernels: Mutex::new(FxHashMap::default()),
        }
    }

    /// The values of the region that other steps need, or `None` if its steps have to be computed one by one, because
    /// operands have other types than in the plan, or there are few rows. A value that has a place in memory is
    /// written there.
    pub(crate) fn run<'a>(
        &self,
        plan: &Plan,
        defs: &[&'static OpDef],
        operands: &[Operand<'a>],
        context: Context<'a>,
    ) -> Option<Each<Value>> {
        for (operand, &slot) in operands.iter().zip(&self.region.inputs) {
            if tensor(plan, slot)?.dtype != operand.dtype()? {
                return None;
            }
        }
        let shapes: Each<&[usize]> = operands.iter().map(Operand::shape).collect();
        let shape = broadcast(&shapes)?;
        let mut dtypes: Each<DType> = Each::new();
        for &slot in &self.region.outputs {
            let ty = tensor(plan, slot)?;
            if !fits(ty.shape.as_ref()?, &shape) {
                return None;
            }
            dtypes.push(ty.dtype);
        }
        let nest = nest(&shape, &shapes)?;
        if nest.is_short() {
            return None;
        }
        let uniform: Each<bool> = nest.strides.last()?.iter().map(|&stride| stride == 0).collect();
        let kernel = self.kernel(plan, defs, &uniform)?;
        let total = nest.sizes.iter().product();
        let mut all = Rows::new(operands, &dtypes, total, context)?;
        if total > 0 {
            let run = |part: &mut Part<'_, '_>| run_part(&kernel, &nest, &uniform, part);
            match all.parts(worth(context.threads, total), total).as_mut_slice() {
                [one] => run(one),
                many => many.par_iter_mut().for_each(run),
            }
        }
        all.finish(&shape)
    }

    fn kernel(&self, plan: &Plan, defs: &[&'static OpDef], uniform: &[bool]) -> Option<Arc<Kernel>> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kernels.get(uniform) {
            return known.clone();
        }
        let program = lower::program(plan, defs, &self.region, uniform);
        let kernel = program.map(|program| Arc::new(Kernel::new(program)));
        kernels.insert(uniform.to_vec(), kernel.clone());
        kernel
    }
}

/// Computes a part of the results, one run of elements along the innermost dimension after the other.
fn run_part(kernel: &Kernel, nest: &Nest, uniform: &[bool], part: &mut Part<'_, '_>) {
    let Some((&rows, outer)) = nest.sizes.split_last() else {
        return;
    };
    let Range { start: mut first, end } = part.range;
    let (mut at, mut offsets) = nest.position(first);
    while first < end {
        let count = (rows - first % rows).min(end - first);
        part.run(kernel, first, count, &offsets, uniform);
        if first % rows > 0 {
            // Back to the beginning of the run.
            (at, offsets) = nest.position(first - first % rows);
        }
        advance(&mut at, outer, &nest.strides, &mut offsets);
        first += count;
    }
}

/// True if a value of the plan may have this shape.
fn fits(known: &Shape, shape: &[usize]) -> bool {
    let same = |(dim, &size): (&Dim, &usize)| dim.as_const().is_none_or(|n| usize::try_from(n) == Ok(size));
    known.len() == shape.len() && known.iter().zip(shape).all(same)
}
