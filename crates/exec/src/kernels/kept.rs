//! What a call keeps from one run to the next, such as packed weights.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use tautomer_tensor::Tensor;

/// What a call has made of operands that are the same in every run.
#[derive(Debug, Default)]
pub struct Kept {
    /// For each operand, whether it is the same in every run.
    fixed: Vec<bool>,
    /// What was made last, of which operand, and the operand's value.
    made: Mutex<Option<Made>>,
}

#[derive(Debug)]
struct Made {
    operand: usize,
    value: Tensor,
    result: Arc<dyn Any + Send + Sync>,
}

impl Kept {
    /// For a call whose operands are the same in every run where `fixed` is true.
    pub fn new(fixed: Vec<bool>) -> Kept {
        Kept {
            fixed,
            made: Mutex::default(),
        }
    }

    /// What `make` makes of `value`, operand `i` of the call.
    pub(super) fn get<T: Send + Sync + 'static>(&self, i: usize, value: &Tensor, make: impl FnOnce() -> T) -> Arc<T> {
        if !self.fixed.get(i).copied().unwrap_or(false) {
            return Arc::new(make());
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*made
            && made.operand == i
            && made.value.shares_elements(value)
            && let Ok(result) = made.result.clone().downcast::<T>()
        {
            return result;
        }
        let result = Arc::new(make());
        *made = Some(Made {
            operand: i,
            value: value.clone(),
            result: result.clone(),
        });
        result
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
        assert_eq!(*kept.get(1, &first, || sum(&first)), 3.0);
        assert_eq!(*kept.get(1, &first.clone(), || -> f64 { panic!("made again") }), 3.0);
        // Another value with the same elements is another operand: its elements are not compared.
        let second = Tensor::vector(vec![1.0f32, 2.0]);
        assert_eq!(*kept.get(1, &second, || 5.0), 5.0);
        // An operand that may change is prepared each time.
        assert_eq!(*kept.get(0, &first, || 1.0), 1.0);
        assert_eq!(*kept.get(0, &first, || 2.0), 2.0);
    }
}
