//! Data that a call keeps from one run to the next, such as packed weights.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::inferred::{Inferred, is_attribute};
use super::operand::{Extents, Operand};
use super::{Results, Value};
use crate::Precision;
use tautomer_op::{AttrValue, OpDef, OpError};
use tautomer_tensor::{DType, Tensor};

/// The data that one call has kept from earlier runs.
#[derive(Debug, Default)]
pub struct Kept {
    /// For each operand, whether it is the same in every run.
    fixed: Vec<bool>,
    /// The last data computed from each operand.
    made: Mutex<Vec<Made>>,
    /// The last result of inference.
    inferred: Mutex<Option<(Given, Arc<Inferred>)>>,
    /// The operands and results of a call whose results are the same in every run.
    results: Mutex<Option<Run>>,
    /// No kernel accepted the last call.
    declined: AtomicBool,
    /// The last call computed its products with bfloat16.
    in_bf16: AtomicBool,
}

/// The operands and results of a run.
type Run = (Vec<Option<Tensor>>, Results);

/// Data computed from an operand.
#[derive(Debug)]
struct Made {
    operand: usize,
    value: Tensor,
    result: Arc<dyn Any + Send + Sync>,
}

/// Everything that the type of a result depends on.
#[derive(Debug)]
struct Given {
    operands: Vec<Option<Shown>>,
    attrs: Vec<AttrValue>,
}

#[derive(Debug)]
struct Shown {
    dtype: DType,
    shape: Extents,
    /// Its value, if that is an attribute.
    value: Option<Tensor>,
}

impl Kept {
    /// For a call whose operands are the same in every run where `fixed` is true.
    pub fn new(fixed: Vec<bool>) -> Kept {
        Kept {
            fixed,
            ..Kept::default()
        }
    }

    /// True if no kernel accepted the last call.
    pub fn is_declined(&self) -> bool {
        self.declined.load(Ordering::Relaxed)
    }

    /// Says whether a kernel accepted the call.
    pub fn set_declined(&self, declined: bool) {
        self.declined.store(declined, Ordering::Relaxed);
    }

    /// The numbers that the last call computed its products with.
    pub fn precision(&self) -> Precision {
        match self.in_bf16.load(Ordering::Relaxed) {
            true => Precision::Bf16,
            false => Precision::F32,
        }
    }

    /// Says which they are.
    pub(super) fn set_precision(&self, precision: Precision) {
        self.in_bf16.store(precision == Precision::Bf16, Ordering::Relaxed);
    }

    /// True if operand `i` is the same in every run.
    pub(super) fn is_fixed(&self, i: usize) -> bool {
        self.fixed.get(i).copied().unwrap_or(false)
    }

    /// The results of the call if they depend on nothing but these operands: those of an earlier run with the same
    /// operands, or those that `compute` returns.
    pub fn results<E>(
        &self,
        operands: &[Operand<'_>],
        compute: impl FnOnce() -> Result<Results, E>,
    ) -> Result<Results, E> {
        let same = |(a, b): (&Option<Tensor>, &Operand<'_>)| match (a, b) {
            (Some(a), Operand::Tensor(b)) => a.shares_elements(b),
            (a, b) => a.is_none() && !b.is_given(),
        };
        let mut last = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((given, results)) = &*last
            && given.len() == operands.len()
            && given.iter().zip(operands).all(same)
        {
            return Ok(results.clone());
        }
        let results = compute()?;
        // What is in the memory of a run is overwritten.
        let lasting = |result: &Value| matches!(result, Value::Tensor(_));
        if operands.iter().all(|o| o.place().is_none()) && results.iter().all(lasting) {
            let given = operands.iter().map(|o| o.tensor().cloned());
            *last = Some((given.collect(), results.clone()));
        }
        Ok(results)
    }

    /// The result of `make` for `value`, operand `i` of the call.
    pub(super) fn prepared<T>(&self, i: usize, value: &Tensor, make: impl FnOnce() -> T) -> Arc<T>
    where
        T: Send + Sync + 'static,
    {
        if !self.is_fixed(i) {
            return Arc::new(make());
        }
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let last = all.iter().position(|made| made.operand == i);
        if let Some(made) = last.map(|at| &all[at])
            && made.value.shares_elements(value)
            && let Ok(result) = made.result.clone().downcast::<T>()
        {
            return result;
        }
        let result = Arc::new(make());
        let made = Made {
            operand: i,
            value: value.clone(),
            result: result.clone(),
        };
        match last {
            Some(at) => all[at] = made,
            None => all.push(made),
        }
        result
    }

    /// The result of inference for the call.
    pub(super) fn inferred(
        &self,
        def: &'static OpDef,
        operands: &[Operand<'_>],
        attrs: &[AttrValue],
    ) -> Result<Arc<Inferred>, OpError> {
        let mut last = self.inferred.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((given, inferred)) = &*last
            && given.is(operands, attrs)
        {
            return Ok(inferred.clone());
        }
        let inferred = Arc::new(Inferred::new(def, operands, attrs)?);
        *last = Some((Given::new(def, operands, attrs), inferred.clone()));
        Ok(inferred)
    }
}

impl Given {
    fn new(def: &OpDef, operands: &[Operand<'_>], attrs: &[AttrValue]) -> Given {
        let operand = |(i, operand): (usize, &Operand<'_>)| {
            operand.dtype().map(|dtype| Shown {
                dtype,
                shape: Extents::from(operand.shape()),
                value: operand.tensor().filter(|_| is_attribute(def, i)).cloned(),
            })
        };
        Given {
            operands: operands.iter().enumerate().map(operand).collect(),
            attrs: attrs.to_vec(),
        }
    }

    fn is(&self, operands: &[Operand<'_>], attrs: &[AttrValue]) -> bool {
        let same = |(given, operand): (&Option<Shown>, &Operand<'_>)| match given {
            Some(given) => {
                let same = |value: &Tensor| {
                    let is = |tensor: &Tensor| value.shares_elements(tensor) || value.same_bits(tensor);
                    operand.tensor().is_some_and(is)
                };
                Some(given.dtype) == operand.dtype()
                    && given.shape[..] == *operand.shape()
                    && given.value.as_ref().is_none_or(same)
            }
            None => !operand.is_given(),
        };
        self.operands.len() == operands.len() && self.operands.iter().zip(operands).all(same) && self.attrs == attrs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_operand_is_prepared_once() {
        let kept = Kept::new(vec![false, true]);
        let first = Tensor::vector(vec![1.0f32, 2.0]);
        let sum = |t: &Tensor| t.to_f64s().unwrap().iter().sum::<f64>();
        assert_eq!(*kept.prepared(1, &first, || sum(&first)), 3.0);
        assert_eq!(
            *kept.prepared(1, &first.clone(), || -> f64 { panic!("made again") }),
            3.0
        );
        // Another value with the same elements is another operand: its elements are not compared.
        let second = Tensor::vector(vec![1.0f32, 2.0]);
        assert_eq!(*kept.prepared(1, &second, || 5.0), 5.0);
        // What is made of another operand does not replace it.
        let kept_both = Kept::new(vec![true, true]);
        assert_eq!(*kept_both.prepared(0, &first, || 1.0), 1.0);
        assert_eq!(*kept_both.prepared(1, &second, || 2.0), 2.0);
        assert_eq!(*kept_both.prepared(0, &first, || 3.0), 1.0);
        assert_eq!(*kept_both.prepared(1, &second, || 4.0), 2.0);
        // An operand that may change is prepared each time.
        assert_eq!(*kept.prepared(0, &first, || 1.0), 1.0);
        assert_eq!(*kept.prepared(0, &first, || 2.0), 2.0);
    }

    #[test]
    fn results_are_computed_again_for_other_operands() {
        let kept = Kept::default();
        let x = Tensor::vector(vec![1.0f32, 2.0]);
        let of = |x: &Tensor, result: f32| -> Vec<Tensor> {
            let compute = || Ok::<_, ()>(Results::from_iter([Value::Tensor(Tensor::scalar(result))]));
            let results = kept.results(&[Operand::Tensor(x), Operand::Absent], compute).unwrap();
            let tensor = |value| match value {
                Value::Tensor(tensor) => tensor,
                Value::Placed(_) => panic!("there is no memory"),
            };
            results.into_iter().map(tensor).collect()
        };
        assert_eq!(of(&x, 3.0), [Tensor::scalar(3.0f32)]);
        assert_eq!(of(&x.clone(), 4.0), [Tensor::scalar(3.0f32)]);
        assert_eq!(of(&Tensor::vector(vec![1.0f32, 2.0]), 5.0), [Tensor::scalar(5.0f32)]);
    }

    #[test]
    fn types_are_inferred_again_when_they_may_change() {
        let (kept, add) = (Kept::default(), tautomer_op::lookup("add").unwrap());
        let vector = |n: usize| Some(Tensor::vector(vec![1.0f32; n]));
        let of = |given: &[Option<Tensor>]| {
            let operands: Vec<Operand<'_>> = given.iter().map(Operand::from).collect();
            kept.inferred(add, &operands, &[])
        };
        let first = of(&[vector(2), vector(1)]).unwrap();
        assert!(Arc::ptr_eq(&first, &of(&[vector(2), vector(1)]).unwrap()));
        assert!(!Arc::ptr_eq(&first, &of(&[vector(2), vector(2)]).unwrap()));
        assert!(of(&[vector(2), vector(3)]).is_err());
        // The shape of a reshaped tensor is the value of an operand.
        let (kept, reshape) = (Kept::default(), tautomer_op::lookup("reshape").unwrap());
        let to = |shape: Vec<i64>| {
            let given = [vector(6), Some(Tensor::vector(shape))];
            let operands: Vec<Operand<'_>> = given.iter().map(Operand::from).collect();
            kept.inferred(reshape, &operands, &[]).unwrap()
        };
        let first = to(vec![2, 3]);
        assert!(Arc::ptr_eq(&first, &to(vec![2, 3])));
        assert!(!Arc::ptr_eq(&first, &to(vec![3, 2])));
    }
}
