//! A compiled program: batches tile by tile, results, messages.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::Schema;
use pulp::Arch;

use tautomer_diag::{Diagnostic, Diagnostics};

use super::code::{Code, Place, Work};
use super::compile::compile;
use super::direct::Direct;
use super::lane::{Lane, array_from, first_set, values_of};
use super::message::{failure, joined};
use super::nodes::Nodes;
use super::run::{Columns, Memory, Rows, Runner};
use super::target::{Sink, Target, TargetValues, To, Validity};
use super::{TILE, input, lane};
use crate::options::Options;
use crate::program::{Kind, NodeId, Program};
use crate::types::Type;

/// A program that is ready to run.
pub(crate) struct Machine {
    nodes: Nodes,
    roots: Vec<NodeId>,
    code: Code,
    /// The last node that reads the array of each node.
    last_use: Vec<usize>,
    arch: Arch,
    /// Memory of earlier runs.
    pool: Mutex<Vec<Memory>>,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("steps", &self.code.steps.len())
            .finish()
    }
}

/// Makes the program whose nodes say where they are written, for messages.
pub(super) type Places<'a> = &'a dyn Fn() -> Program;

/// The rows of a batch as they are numbered: the number of the first one, and what messages call a row.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    pub(super) first: u64,
    pub(super) shown: &'a dyn Fn(usize) -> u64,
}

/// A buffer for the values of a result.
enum Owned {
    Bits(Vec<u8>),
    Lane(Type, lane::Tile),
    Other,
}

impl Machine {
    pub(super) fn new(program: Program, roots: Vec<NodeId>, schema: &Schema, options: Options) -> Self {
        let nodes = Nodes::new(program, options);
        let code = compile(&nodes.program, &roots, &nodes.constants, schema, &nodes.options);
        let mut last_use: Vec<usize> = (0..nodes.program.nodes().len()).collect();
        for step in code.steps.iter().filter(|step| matches!(step.work, Work::Arrays)) {
            let node = code.registers[step.outs[0].index()].node;
            for of in nodes.program.uses(node) {
                last_use[of.index()] = node.index();
            }
        }
        for root in &roots {
            last_use[root.index()] = usize::MAX;
        }
        Machine {
            nodes,
            roots,
            code,
            last_use,
            arch: Arch::new(),
            pool: Mutex::new(Vec::new()),
        }
    }

    /// The results for a batch, as arrays.
    pub(super) fn run(
        &self,
        places: Places<'_>,
        batch: &RecordBatch,
        numbers: Numbers<'_>,
    ) -> Result<Vec<ArrayRef>, Diagnostics> {
        let rows = batch.num_rows();
        let types = self.roots.iter().map(|root| self.nodes.program.get(*root));
        let mut owned: Vec<Owned> = types
            .map(|node| match (&node.kind, Lane::of(node.ty), node.ty) {
                (Kind::Field(_), _, _) => Owned::Other,
                (_, Some(lane), ty) => Owned::Lane(ty, lane::Tile::with_rows(lane, rows)),
                (_, None, Type::Bool) => Owned::Bits(vec![0; rows.div_ceil(8)]),
                _ => Owned::Other,
            })
            .collect();
        let mut sinks: Vec<Sink<'_>> = owned
            .iter_mut()
            .zip(&self.roots)
            .map(|(owned, root)| Sink {
                to: match owned {
                    Owned::Bits(bytes) => To::Values(TargetValues::Bits(bytes)),
                    Owned::Lane(_, values) => To::Values(values.target()),
                    Owned::Other => match self.nodes.program.get(*root).kind {
                        Kind::Field(_) => To::Nothing,
                        _ => To::Arrays(Vec::new()),
                    },
                },
                validity: Validity::Own(None, rows),
            })
            .collect();
        self.fill(places, batch, numbers, &mut sinks)?;
        let parts: Vec<(Vec<ArrayRef>, Option<NullBuffer>)> = sinks
            .into_iter()
            .map(|sink| {
                let nulls = match sink.validity {
                    Validity::Own(Some(bytes), _) => {
                        Some(NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bytes), 0, rows)))
                    }
                    _ => None,
                };
                match sink.to {
                    To::Arrays(parts) => (parts, nulls),
                    _ => (Vec::new(), nulls),
                }
            })
            .collect();
        let roots = self.roots.iter().zip(owned).zip(parts);
        roots
            .map(|((root, owned), (parts, nulls))| match owned {
                Owned::Lane(ty, values) => Ok(array_from(ty, values.into_buffer(), nulls)),
                Owned::Bits(bytes) => {
                    let bits = BooleanBuffer::new(Buffer::from_vec(bytes), 0, rows);
                    Ok(Arc::new(BooleanArray::new(bits, nulls)) as ArrayRef)
                }
                Owned::Other => joined(&self.nodes, places, *root, batch, parts).map_err(Diagnostics::from),
            })
            .collect()
    }

    /// The results for a batch, in the caller's buffers.
    pub(super) fn run_into(
        &self,
        places: Places<'_>,
        batch: &RecordBatch,
        numbers: Numbers<'_>,
        targets: &mut [Target<'_>],
    ) -> Result<(), Diagnostics> {
        if targets.len() != self.roots.len() {
            let text = format!("{} buffers for {} results", targets.len(), self.roots.len());
            return Err(Diagnostic::error("T0708", text).into());
        }
        let mut problems = Diagnostics::new();
        for (at, (target, root)) in targets.iter().zip(&self.roots).enumerate() {
            if let Err(problem) = target.check(at, self.nodes.program.get(*root).ty, batch.num_rows()) {
                problems.push(problem);
            }
        }
        problems.into_result(())?;
        let mut sinks: Vec<Sink<'_>> = targets
            .iter_mut()
            .map(|target| Sink {
                to: To::Values(target.values.reborrow()),
                validity: match &mut target.validity {
                    Some(bytes) => Validity::Given(bytes),
                    None => Validity::Missing,
                },
            })
            .collect();
        self.fill(places, batch, numbers, &mut sinks)
    }

    /// Computes all tiles.
    fn fill(
        &self,
        places: Places<'_>,
        batch: &RecordBatch,
        numbers: Numbers<'_>,
        sinks: &mut [Sink<'_>],
    ) -> Result<(), Diagnostics> {
        let columns = self.columns(batch);
        if let Some(loop_code) = self.code.only_loop() {
            let direct = Direct {
                code: &self.code,
                loop_code,
                columns: &columns,
            };
            return direct
                .run(batch.num_rows(), sinks)
                .map_err(|(at, start, rows)| no_validity(at, start, rows));
        }
        let pooled = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut memory = pooled.unwrap_or_else(|| Memory::new(&self.code, self.nodes.program.nodes().len()));
        let rows = batch.num_rows();
        let mut result = Ok(());
        for start in (0..rows).step_by(TILE) {
            let runner = Runner {
                code: &self.code,
                options: &self.nodes.options,
                columns: &columns,
                arch: self.arch,
                rows: Rows {
                    start,
                    count: TILE.min(rows - start),
                },
            };
            result = self.tile(places, &runner, &mut memory, batch, numbers, sinks);
            memory.states.iter_mut().for_each(|state| *state = None);
            if result.is_err() {
                break;
            }
        }
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
        result
    }

    fn columns(&self, batch: &RecordBatch) -> Columns {
        let arrays = self
            .code
            .columns
            .iter()
            .map(|column| Arc::clone(batch.column(column.column)));
        let arrays: Vec<ArrayRef> = arrays.collect();
        let columns = self.code.columns.iter().zip(&arrays);
        let values = columns.map(|(column, array)| values_of(self.code.registers[column.reg.index()].ty, array));
        Columns {
            values: values.collect(),
            arrays,
        }
    }

    fn tile(
        &self,
        places: Places<'_>,
        runner: &Runner<'_>,
        memory: &mut Memory,
        batch: &RecordBatch,
        numbers: Numbers<'_>,
        sinks: &mut [Sink<'_>],
    ) -> Result<(), Diagnostics> {
        let Rows { start, count } = runner.rows;
        runner.begin(memory);
        let tile = self.code.has_arrays.then(|| batch.slice(start, count));
        for (at, step) in self.code.steps.iter().enumerate() {
            match (&step.work, &tile) {
                (Work::Arrays, Some(tile)) => {
                    let node = self.code.registers[step.outs[0].index()].node;
                    self.arrays(runner, memory, tile, at, numbers.first + start as u64);
                    if let Some(state) = memory.states[node.index()].take() {
                        runner.keep(memory, sinks, step.outs[0], &state);
                        memory.states[node.index()] = Some(state);
                    }
                }
                _ => runner.step(at, memory, sinks),
            }
        }
        for (at, reg) in self.code.results.iter().enumerate() {
            let failed = memory.failed[reg.index()].as_ref();
            if let Some(row) = failed.and_then(|failed| first_set(failed, count)) {
                let row = start + row;
                return Err(failure(
                    &self.nodes,
                    places,
                    self.roots[at],
                    batch,
                    (row, numbers.first),
                    (numbers.shown)(row),
                ));
            }
            let register = self.code.registers[reg.index()];
            let sink = &mut sinks[at];
            match &mut sink.to {
                To::Nothing => continue,
                To::Arrays(parts) => {
                    parts.push(self.array(memory, batch, register.node, runner.rows));
                    continue;
                }
                To::Values(values) if Lane::of(register.ty).is_none() && register.ty != Type::Bool => {
                    let array = self.array(memory, batch, register.node, runner.rows);
                    let nulls = array.nulls().map(|nulls| lane::words(nulls.inner(), 0, count));
                    memory.valid[reg.index()] = nulls;
                    values.copy(start, &array);
                }
                To::Values(_) if matches!(register.place, Place::Result(_)) => {}
                To::Values(_) => runner.copy_out(memory, *reg, sink),
            }
            if !sink
                .validity
                .write(start, count, memory.valid[reg.index()].as_ref().map(|words| &words[..]))
            {
                return Err(no_validity(at, start, count));
            }
        }
        Ok(())
    }

    /// Computes a node over arrays.
    fn arrays(&self, runner: &Runner<'_>, memory: &mut Memory, tile: &RecordBatch, at: usize, first_row: u64) {
        let step = &self.code.steps[at];
        let id = self.code.registers[step.outs[0].index()].node;
        for input in &step.inputs {
            let of = self.code.registers[input.index()].node;
            if memory.states[of.index()].is_none() {
                let state = match (&self.nodes.constants[of.index()], &self.nodes.program.get(of).kind) {
                    (Some(constant), _) => constant.slice(0, runner.rows.count).into(),
                    (None, Kind::Field(column)) => input::read(tile.column(*column)).into(),
                    _ => runner.state(memory, *input),
                };
                memory.states[of.index()] = Some(state);
            }
        }
        let rows = runner.rows.count;
        let state = self.nodes.compute(id, &memory.states, Some(tile), rows, first_row);
        memory.states[id.index()] = Some(state);
        for input in &step.inputs {
            let of = self.code.registers[input.index()].node;
            if self.last_use[of.index()] == id.index() {
                memory.states[of.index()] = None;
            }
        }
    }

    /// The rows of a result that is an array.
    fn array(&self, memory: &Memory, batch: &RecordBatch, id: NodeId, rows: Rows) -> ArrayRef {
        let state = memory.states.get(id.index()).and_then(Option::as_ref);
        match (
            state,
            &self.nodes.constants[id.index()],
            &self.nodes.program.get(id).kind,
        ) {
            (Some(state), _, _) => Arc::clone(&state.array),
            (_, Some(constant), _) => constant.slice(0, rows.count),
            (_, _, Kind::Field(column)) => input::read(&batch.column(*column).slice(rows.start, rows.count)),
            _ => unreachable!("results are computed"),
        }
    }
}

/// A result has nulls, and no buffer for its validity.
fn no_validity(at: usize, start: usize, rows: usize) -> Diagnostics {
    let text = format!("result {at} has nulls in rows {start} to {}", start + rows - 1);
    Diagnostic::error("T0708", text)
        .help("give a buffer for the validity of the result")
        .into()
}

/// The results for a batch, where every node is computed over whole arrays as it is written.
pub(super) fn run_nodes(
    program: &Program,
    roots: &[NodeId],
    options: &Options,
    batch: &RecordBatch,
) -> Result<Vec<ArrayRef>, Diagnostics> {
    let nodes = Nodes::new(program.clone(), options.clone());
    let places = || program.clone();
    let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); roots.len()];
    for start in (0..batch.num_rows()).step_by(TILE) {
        let tile = batch.slice(start, TILE.min(batch.num_rows() - start));
        let states = nodes.all(&tile, start as u64);
        for (root, parts) in roots.iter().zip(&mut parts) {
            let Some(state) = &states[root.index()] else { continue };
            if let Some(row) = state.failed.as_ref().and_then(|failed| failed.set_indices().next()) {
                let row = start + row;
                return Err(failure(&nodes, &places, *root, batch, (row, 0), row as u64));
            }
            parts.push(Arc::clone(&state.array));
        }
    }
    let roots = roots.iter().zip(parts);
    roots
        .map(|(root, parts)| joined(&nodes, &places, *root, batch, parts).map_err(Diagnostics::from))
        .collect()
}
