//! One node over arrays: what the loops over tiles leave out, and what they are compared with.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, UInt32Array, new_empty_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_select::take::take;
use smallvec::SmallVec;

use super::lookup::Lookup;
use super::{TILE, input};
use crate::function::{Kernel, Nulls};
use crate::kernels::cast::cast;
use crate::kernels::cell::{self, Cell};
use crate::kernels::choice::select;
use crate::kernels::column::{Column, Context, with_primitive};
use crate::kernels::compare::validity;
use crate::options::Options;
use crate::program::{Kind, Literal, NodeId, Program};
use crate::types::Type;

/// The longest value that is kept for all rows of a tile.
const MAX_CONSTANT: usize = 1 << 16;

/// The values of a node in a tile.
pub(super) struct State {
    pub(super) array: ArrayRef,
    /// Rows without a value, which stop evaluation if they reach a result.
    pub(super) failed: Option<BooleanBuffer>,
    pub(super) reason: Option<Cow<'static, str>>,
}

impl From<ArrayRef> for State {
    fn from(array: ArrayRef) -> Self {
        State {
            array,
            failed: None,
            reason: None,
        }
    }
}

/// A program whose nodes are computed over arrays.
pub(super) struct Nodes {
    pub(super) program: Program,
    pub(super) options: Options,
    /// The types of the arguments of each node.
    arguments: Vec<SmallVec<[Type; 3]>>,
    /// A tile of the value of nodes that are the same in every row.
    pub(super) constants: Vec<Option<ArrayRef>>,
    lookups: Vec<Option<Lookup>>,
}

impl Nodes {
    pub(super) fn new(program: Program, options: Options) -> Self {
        let count = program.nodes().len();
        let arguments = (0..count as u32).map(|at| {
            let uses = program.uses(NodeId(at));
            uses.into_iter().map(|of| program.get(of).ty).collect()
        });
        let lookups = program.nodes().iter().map(|node| match &node.kind {
            Kind::In(_, members) => Some(Lookup::new(members)),
            _ => None,
        });
        let mut nodes = Nodes {
            arguments: arguments.collect(),
            lookups: lookups.collect(),
            constants: vec![None; count],
            program,
            options,
        };
        nodes.fold();
        nodes
    }

    /// Computes what is the same in every row.
    fn fold(&mut self) {
        let count = self.program.nodes().len();
        let mut states: Vec<Option<State>> = Vec::with_capacity(count);
        for at in 0..count {
            let id = NodeId(at as u32);
            let node = self.program.get(id);
            let known = match &node.kind {
                Kind::Field(_) => false,
                Kind::Call(function, _) if !function.pure_function => false,
                _ => self
                    .program
                    .uses(id)
                    .iter()
                    .all(|of| self.constants[of.index()].is_some()),
            };
            let state = known.then(|| match &node.kind {
                Kind::Literal(value) => cell::build(node.ty, &[literal(value)]).into(),
                _ => self.compute(id, &states, None, 1, 0),
            });
            let state = state.filter(|state| state.failed.is_none());
            if let Some(state) = state.as_ref().filter(|state| text_length(&state.array) <= MAX_CONSTANT) {
                self.constants[at] = Some(repeated(&state.array));
            }
            states.push(state);
        }
    }

    /// The values of all nodes in a tile.
    pub(super) fn all(&self, tile: &RecordBatch, first_row: u64) -> Vec<Option<State>> {
        let rows = tile.num_rows();
        let count = self.program.nodes().len();
        let mut states: Vec<Option<State>> = Vec::with_capacity(count);
        for at in 0..count {
            let state = match &self.constants[at] {
                Some(constant) => constant.slice(0, rows).into(),
                None => self.compute(NodeId(at as u32), &states, Some(tile), rows, first_row),
            };
            states.push(Some(state));
        }
        states
    }

    /// The values of a node whose arguments have values. Only columns need the tile.
    pub(super) fn compute(
        &self,
        id: NodeId,
        states: &[Option<State>],
        tile: Option<&RecordBatch>,
        rows: usize,
        first_row: u64,
    ) -> State {
        let node = self.program.get(id);
        let of = |id: NodeId| {
            states[id.index()]
                .as_ref()
                .unwrap_or_else(|| unreachable!("nodes are in order"))
        };
        let context = Context {
            args: &self.arguments[id.index()],
            result: node.ty,
            rows,
            first_row,
            options: &self.options,
        };
        match &node.kind {
            Kind::Field(column) => match tile {
                Some(tile) => input::read(tile.column(*column)).into(),
                None => new_empty_array(&node.ty.arrow()).into(),
            },
            Kind::Literal(value) => cell::build(node.ty, &vec![literal(value); rows]).into(),
            Kind::Call(function, args) => {
                let args: SmallVec<[&State; 4]> = args.iter().map(|&id| of(id)).collect();
                let arrays: SmallVec<[ArrayRef; 4]> = args.iter().map(|state| Arc::clone(&state.array)).collect();
                let strict = function.nulls == Nulls::Strict;
                let column = match function.kernel {
                    Kernel::Arrays(f) => f(&context, &arrays),
                    Kernel::Rows(f) => cell::run(&context, &arrays, strict, f),
                };
                finish(&context, column, &args, strict)
            }
            Kind::Cast(value) => {
                let value = of(*value);
                finish(&context, cast(&context, &value.array), &[value], true)
            }
            Kind::If([condition, then, otherwise]) => {
                let (condition, then, otherwise) = (of(*condition), of(*then), of(*otherwise));
                // A null condition takes the second branch.
                let bits = condition.array.as_boolean();
                let mask = match bits.nulls() {
                    None => bits.values().clone(),
                    Some(nulls) => bits.values() & nulls.inner(),
                };
                let taken = masked(&then.failed, &mask);
                let left = otherwise.failed.as_ref().map(|failed| failed & &!&mask);
                State {
                    failed: joined(joined(condition.failed.clone(), taken), left),
                    ..select(node.ty, &mask, &then.array, &otherwise.array).into()
                }
            }
            Kind::And([a, b]) => connective(of(*a), of(*b), true),
            Kind::Or([a, b]) => connective(of(*a), of(*b), false),
            Kind::In(value, _) => {
                let value = of(*value);
                let ty = context.args[0];
                let array = match &self.lookups[id.index()] {
                    Some(lookup) => lookup.run(ty, &value.array),
                    None => unreachable!("every list of members has its sets"),
                };
                State {
                    failed: value.failed.clone(),
                    ..array.into()
                }
            }
        }
    }
}

fn literal(value: &Literal) -> Cell<'_> {
    match value {
        Literal::Null => Cell::Null,
        Literal::Bool(value) => Cell::Bool(*value),
        Literal::Int(value) => match i64::try_from(*value) {
            Ok(value) => Cell::Int(value),
            Err(_) => Cell::UInt(*value as u64),
        },
        Literal::Float(bits) => Cell::Double(f64::from_bits(*bits)),
        Literal::Str(text) => Cell::Str((&**text).into()),
    }
}

/// The number of bytes of the only value, if it is text.
fn text_length(array: &ArrayRef) -> usize {
    let text = array.as_string_opt::<i32>().map(|array| array.value_data().len());
    let bytes = array.as_binary_opt::<i32>().map(|array| array.value_data().len());
    text.or(bytes).unwrap_or(0)
}

/// A tile of one value.
fn repeated(one: &ArrayRef) -> ArrayRef {
    let rows = UInt32Array::from(vec![0u32; TILE]);
    take(one, &rows, None).unwrap_or_else(|error| unreachable!("there is a first row: {error}"))
}

fn joined(a: Option<BooleanBuffer>, b: Option<BooleanBuffer>) -> Option<BooleanBuffer> {
    match (a, b) {
        (Some(a), Some(b)) => Some(&a | &b),
        (a, b) => a.or(b),
    }
}

fn masked(rows: &Option<BooleanBuffer>, mask: &BooleanBuffer) -> Option<BooleanBuffer> {
    rows.as_ref().map(|rows| rows & mask)
}

/// The result of a function, with the nulls and the failures of its arguments.
fn finish(context: &Context<'_>, column: Column, args: &[&State], strict: bool) -> State {
    let mut array = column.array;
    let mut failed = column.failed;
    if strict {
        let mut nulls: Option<NullBuffer> = None;
        for state in args {
            nulls = NullBuffer::union(nulls.as_ref(), state.array.nulls());
        }
        if let Some(nulls) = &nulls {
            failed = masked(&failed, nulls.inner());
        }
        if let Some(rows) = column.nulled {
            nulls = NullBuffer::union(nulls.as_ref(), Some(&NullBuffer::new(!&rows)));
        }
        if nulls.is_some() {
            array = with_nulls(context.result, array, nulls);
        }
    }
    failed = failed.filter(|failed| failed.count_set_bits() > 0);
    for state in args {
        failed = joined(failed, state.failed.clone());
    }
    State {
        array,
        failed,
        reason: column.reason,
    }
}

/// The array with more nulls.
fn with_nulls(ty: Type, array: ArrayRef, nulls: Option<NullBuffer>) -> ArrayRef {
    let nulls = NullBuffer::union(array.nulls(), nulls.as_ref());
    match ty {
        Type::Bool => Arc::new(BooleanArray::new(array.as_boolean().values().clone(), nulls)),
        // Functions that return text leave out the rows of nulls themselves.
        Type::Utf8 | Type::Binary => array,
        _ => with_primitive!(ty, P => {
            let values = array.as_primitive::<P>().values().clone();
            Arc::new(PrimitiveArray::<P>::new(values, nulls)) as ArrayRef
        })
        .unwrap_or(array),
    }
}

/// Kleene's `and`, or `or`. Failures of the right side count where the left side does not decide.
fn connective(a: &State, b: &State, is_and: bool) -> State {
    let known = |state: &State, wanted: bool| {
        let bits = state.array.as_boolean();
        let bits = if wanted { bits.values().clone() } else { !bits.values() };
        match state.array.nulls() {
            None => bits,
            Some(nulls) => &bits & nulls.inner(),
        }
    };
    // `false` decides `and`, `true` decides `or`.
    let (decided_a, decided_b) = (known(a, !is_and), known(b, !is_and));
    let decided = &decided_a | &decided_b;
    let late = b.failed.as_ref().map(|failed| failed & &!&decided_a);
    let values = if is_and { !&decided } else { decided.clone() };
    let nulls = match (a.array.nulls(), b.array.nulls()) {
        (None, None) => None,
        _ => Some(NullBuffer::new(&(&validity(&a.array) & &validity(&b.array)) | &decided)),
    };
    let array: ArrayRef = Arc::new(BooleanArray::new(values, nulls));
    State {
        failed: joined(a.failed.clone(), late),
        ..array.into()
    }
}
