//! Functions called by operators: attributes of `branch`, `loop`, `scan` and `sequence_map`.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AttrValue, Fact, Infer, Op, is_pure};
use tautomer_tensor::Type;

/// A function in order of computation, as plain data: each item refers to earlier ones by number. It depends only on
/// its inputs; values that a nested graph captures from outside are operands of the call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Region {
    /// Its name; empty if it has none.
    pub name: String,
    /// The values it computes, inputs first.
    pub items: Vec<Item>,
    /// The number of inputs.
    pub inputs: usize,
    /// The numbers of the items that are results, with their names.
    pub outputs: Vec<(usize, Option<Arc<str>>)>,
}

/// One value of a [`Region`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Item {
    /// How it is computed.
    pub step: Step,
    /// Its type.
    pub ty: Type,
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// The rules that created it.
    pub rules: Vec<Arc<str>>,
}

/// How a value of a [`Region`] is computed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Step {
    /// An operand of the call.
    Input,
    /// A value; always [`AttrValue::Tensor`].
    Const(AttrValue),
    /// An operand that is left out.
    Absent,
    /// An operator call.
    Call {
        /// The operator.
        op: Op,
        /// Its attribute values, in declared order.
        attrs: Vec<AttrValue>,
        /// The numbers of its operands.
        operands: Vec<usize>,
    },
    /// A tuple of several values.
    Tuple(Vec<usize>),
    /// One element of a tuple.
    Proj(usize, u32),
}

impl Step {
    /// The numbers of the values that it uses.
    pub fn uses(&self) -> &[usize] {
        match self {
            Step::Call { operands, .. } | Step::Tuple(operands) => operands,
            Step::Proj(tuple, _) => std::slice::from_ref(tuple),
            Step::Input | Step::Const(_) | Step::Absent => &[],
        }
    }

    fn uses_mut(&mut self) -> &mut [usize] {
        match self {
            Step::Call { operands, .. } | Step::Tuple(operands) => operands,
            Step::Proj(tuple, _) => std::slice::from_mut(tuple),
            Step::Input | Step::Const(_) | Step::Absent => &mut [],
        }
    }
}

impl Region {
    /// The types of the inputs.
    pub fn input_types(&self) -> impl ExactSizeIterator<Item = &Type> {
        self.items[..self.inputs].iter().map(|item| &item.ty)
    }

    /// The types of the results.
    pub fn output_types(&self) -> impl ExactSizeIterator<Item = &Type> {
        self.outputs.iter().map(|(i, _)| &self.items[*i].ty)
    }

    /// The number of operator calls, including those in nested functions.
    pub fn call_count(&self) -> usize {
        let inside = |attrs: &[AttrValue]| -> usize { attrs.iter().map(AttrValue::call_count).sum() };
        let calls = self.items.iter().map(|item| match &item.step {
            Step::Call { attrs, .. } => 1 + inside(attrs),
            _ => 0,
        });
        calls.sum()
    }

    /// True if all its calls are pure.
    pub fn is_pure(&self) -> bool {
        self.items.iter().all(|item| match &item.step {
            Step::Call { op, attrs, .. } => is_pure(op, attrs),
            _ => true,
        })
    }

    /// Estimated time of one call in microseconds.
    pub fn micros(&self) -> f64 {
        let fresh = std::cell::Cell::new(u32::MAX / 2);
        let call = |item: &Item| {
            let Step::Call {
                op: Op::Known(def),
                attrs,
                operands,
            } = &item.step
            else {
                return 0.0;
            };
            let facts: Vec<Fact<'_>> = operands
                .iter()
                .map(|&i| {
                    let value = match &self.items[i].step {
                        Step::Const(AttrValue::Tensor(value)) => Some(value),
                        _ => None,
                    };
                    Fact::with(&self.items[i].ty, value)
                })
                .collect();
            let call = Infer {
                def,
                operands: &facts,
                attrs,
                fresh: &fresh,
            };
            def.cost.apply(&call, &item.ty).micros()
        };
        self.items.iter().map(call).sum()
    }

    /// Replaces the number of each value that is used as an operand or as a result by applying `to`.
    fn renumber(&mut self, to: impl Fn(usize) -> usize) {
        let uses = self.items.iter_mut().flat_map(|item| item.step.uses_mut());
        let results = self.outputs.iter_mut().map(|(i, _)| i);
        uses.chain(results).for_each(|i| *i = to(*i));
    }

    /// Adds unused inputs, the first of them at position `at`.
    pub fn insert_inputs(&mut self, at: usize, types: &[Type]) {
        let (at, n) = (at.min(self.inputs), types.len());
        self.renumber(|i| if i >= at { i + n } else { i });
        let new = types.iter().map(|ty| Item {
            step: Step::Input,
            ty: ty.clone(),
            name: None,
            rules: Vec::new(),
        });
        self.items.splice(at..at, new);
        self.inputs += n;
    }

    /// True if both compute the same, whatever their names are.
    pub fn is_same(&self, other: &Region) -> bool {
        let same = |(a, b): (&Item, &Item)| a.step == b.step && a.ty == b.ty;
        let outputs = self
            .outputs
            .iter()
            .map(|(i, _)| i)
            .eq(other.outputs.iter().map(|(i, _)| i));
        self.inputs == other.inputs
            && outputs
            && self.items.len() == other.items.len()
            && self.items.iter().zip(&other.items).all(same)
    }

    /// Redirects all uses of the input `from` to the input `to`.
    pub fn redirect(&mut self, from: usize, to: usize) {
        self.renumber(|i| if i == from { to } else { i });
    }

    /// True if the input `i` is used, including as a result.
    pub fn uses_input(&self, i: usize) -> bool {
        self.outputs.iter().any(|(o, _)| *o == i) || self.items.iter().any(|item| item.step.uses().contains(&i))
    }

    /// Removes an unused input.
    pub fn remove_input(&mut self, i: usize) {
        if i >= self.inputs || self.uses_input(i) {
            return;
        }
        self.renumber(|at| at - usize::from(at > i));
        self.items.remove(i);
        self.inputs -= 1;
    }

    /// Checks that items refer only to earlier items, and that inputs and results exist.
    ///
    /// # Errors
    /// If a reference is invalid; names the first one.
    pub fn check(&self) -> Result<(), String> {
        for (i, item) in self.items.iter().enumerate() {
            if matches!(&item.step, Step::Const(value) if !matches!(value, AttrValue::Tensor(_))) {
                return Err(format!("value {i} is not a tensor"));
            }
            if let Some(wrong) = item.step.uses().iter().find(|&&u| u >= i) {
                return Err(format!("value {i} uses value {wrong}"));
            }
            if (i < self.inputs) != matches!(item.step, Step::Input) {
                return Err(format!("value {i} is an input in the wrong place"));
            }
        }
        match self.outputs.iter().find(|(i, _)| *i >= self.items.len()) {
            Some((i, _)) => Err(format!("value {i} is a result")),
            None if self.inputs > self.items.len() => Err("inputs are missing".to_owned()),
            None => Ok(()),
        }
    }
}

impl AttrValue {
    /// The function, if the value is one.
    pub fn region(&self) -> Option<&Arc<Region>> {
        match self {
            AttrValue::Region(region) => Some(region),
            _ => None,
        }
    }

    /// The number of operator calls in it, if it is a function.
    pub fn call_count(&self) -> usize {
        self.region().map_or(0, |region| region.call_count())
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fn (")?;
        for (i, ty) in self.input_types().enumerate() {
            write!(f, "{}{ty}", if i > 0 { ", " } else { "" })?;
        }
        let calls = self.call_count();
        write!(f, ") of {calls} call{}", if calls == 1 { "" } else { "s" })
    }
}
