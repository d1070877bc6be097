//! Computing the steps of a tile.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::NullBuffer;
use pulp::Arch;
use smallvec::SmallVec;
use tautomer_loops as loops;

use super::TILE;
use super::code::{Code, LoopCode, Output, Place, Reg, Work};
use super::lane::{Lane, Number, Tile, Values, Words, array_of, bits, both, either, values_of, with_lane, words};
use super::loops::Operand;
use super::lower::Input;
use super::macros::quotient;
use super::nodes::State;
use super::target::{Sink, To};
use crate::options::{OnFailure, Options};
use crate::types::Type;

/// The values of a tile, used again for the next.
pub(super) struct Memory {
    slots: Vec<Tile>,
    /// The last rows of columns, and those of results, as whole tiles.
    tails: Vec<Option<Tile>>,
    ends: Vec<Option<Tile>>,
    pub(super) bits: Vec<Words>,
    pub(super) valid: Vec<Option<Words>>,
    pub(super) failed: Vec<Option<Words>>,
    /// The arrays of nodes, where steps work on arrays.
    pub(super) states: Vec<Option<State>>,
}

impl Memory {
    pub(super) fn new(code: &Code, nodes: usize) -> Self {
        let count = code.registers.len();
        let mut memory = Memory {
            slots: code.slots.iter().map(|&lane| Tile::new(lane)).collect(),
            tails: vec![None; code.columns.len()],
            ends: vec![None; code.results.len()],
            bits: vec![[0; TILE / 64]; count],
            valid: vec![None; count],
            failed: vec![None; count],
            states: Vec::new(),
        };
        for constant in &code.same {
            memory.bits[constant.reg.index()] = constant.bits;
            memory.valid[constant.reg.index()] = constant.valid;
        }
        if code.has_arrays {
            memory.states.resize_with(nodes, || None);
        }
        memory
    }
}

/// The columns of a batch, as they are read.
pub(super) struct Columns {
    /// Numbers of the columns of the code; `None` for bits.
    pub(super) values: Vec<Option<Values>>,
    /// Arrays, for bits and validity.
    pub(super) arrays: Vec<arrow_array::ArrayRef>,
}

/// A tile: its first row and how many it has.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) start: usize,
    pub(super) count: usize,
}

impl Rows {
    /// The rows that loops compute: whole vectors of every width.
    fn padded(self) -> usize {
        self.count.next_multiple_of(128)
    }

    fn is_whole(self) -> bool {
        self.count == TILE
    }
}

/// What steps read besides the memory.
pub(super) struct Runner<'a> {
    pub(super) code: &'a Code,
    pub(super) options: &'a Options,
    pub(super) columns: &'a Columns,
    pub(super) arch: Arch,
    pub(super) rows: Rows,
}

impl Runner<'_> {
    /// Reads the validity and the bits of columns, and the rows of a tile that is not whole.
    pub(super) fn begin(&self, memory: &mut Memory) {
        let Rows { start, count } = self.rows;
        for (at, column) in self.code.columns.iter().enumerate() {
            let array = &self.columns.arrays[at];
            let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
            memory.valid[column.reg.index()] = nulls.map(|nulls| words(nulls.inner(), start, count));
            match (&self.columns.values[at], column.lane) {
                (Some(values), Some(lane)) => {
                    if !self.rows.is_whole() && self.code.has_groups {
                        values.copy_tail(start, memory.tails[at].get_or_insert_with(|| Tile::new(lane)));
                    }
                }
                _ => memory.bits[column.reg.index()] = words(array.as_boolean().values(), start, count),
            }
        }
    }

    /// The numbers of a register.
    fn read<'m, N: Number>(&'m self, memory: &'m Memory, reg: Reg) -> Operand<'m, N> {
        let rows = self.rows.padded();
        match self.code.registers[reg.index()].place {
            Place::Column(at) => match (&self.columns.values[at as usize], &memory.tails[at as usize]) {
                (Some(values), _) if self.rows.is_whole() => {
                    Operand::Each(&N::column(values)[self.rows.start..self.rows.start + TILE])
                }
                (_, Some(tail)) => Operand::Each(&N::tile(tail)[..rows]),
                _ => unreachable!("the rows of every column are read first"),
            },
            Place::Slot(at) => Operand::Each(&N::tile(&memory.slots[at as usize])[..rows]),
            Place::Same(at) => Operand::Same(N::scalar(self.code.constants[at as usize])),
            Place::Result(_) | Place::None => unreachable!("only numbers that are kept are read"),
        }
    }

    /// Writes the numbers of a register with `f`.
    fn write<N: Number>(
        &self,
        memory: &mut Memory,
        sinks: &mut [Sink<'_>],
        reg: Reg,
        f: impl FnOnce(&mut [N], &Memory),
    ) {
        let rows = self.rows.padded();
        match self.code.registers[reg.index()].place {
            Place::Slot(at) => {
                let at = at as usize;
                let mut tile = std::mem::replace(&mut memory.slots[at], Tile::I32(Vec::new()));
                f(&mut N::tile_mut(&mut tile)[..rows], memory);
                memory.slots[at] = tile;
            }
            Place::Result(at) => {
                let at = at as usize;
                let To::Values(values) = &mut sinks[at].to else {
                    unreachable!("numbers are written to buffers of numbers")
                };
                let Rows { start, count } = self.rows;
                let out = &mut N::target(values)[start..start + count];
                if self.rows.is_whole() {
                    f(out, memory);
                } else {
                    let mut tile = memory.ends[at].take().unwrap_or_else(|| Tile::new(N::LANE));
                    f(&mut N::tile_mut(&mut tile)[..rows], memory);
                    out.copy_from_slice(&N::tile(&tile)[..count]);
                    memory.ends[at] = Some(tile);
                }
            }
            _ => unreachable!("results of steps have a place"),
        }
    }

    /// Computes a step that does not work on arrays.
    pub(super) fn step(&self, at: usize, memory: &mut Memory, sinks: &mut [Sink<'_>]) {
        let step = &self.code.steps[at];
        match &step.work {
            Work::Loop(code) => self.looped(code, &step.outs, &step.inputs, memory, sinks),
            Work::Quotient(lane, remainder, args) => {
                self.quotient(*lane, *remainder, *args, step.outs[0], memory, sinks)
            }
            Work::Arrays => unreachable!("arrays are computed by their node"),
        }
    }

    /// Computes the nodes of a loop.
    fn looped(&self, code: &LoopCode, outs: &[Reg], inputs: &[Reg], memory: &mut Memory, sinks: &mut [Sink<'_>]) {
        let Rows { start, count } = self.rows;
        let clear = |reg: &Reg| memory.valid[reg.index()].is_none() && memory.failed[reg.index()].is_none();
        let variant = if inputs.iter().all(clear) {
            &code.plain
        } else {
            &code.nullable
        };
        // Taken from the memory, which the inputs are read from.
        let mut tiles: SmallVec<[(u32, Tile); 4]> = SmallVec::new();
        for out in outs {
            if let Place::Slot(slot) = self.code.registers[out.index()].place {
                let tile = std::mem::replace(&mut memory.slots[slot as usize], Tile::I32(Vec::new()));
                tiles.push((slot, tile));
            }
        }
        let mut truths: SmallVec<[Words; 4]> = variant.outputs.iter().map(|_| [0; TILE / 64]).collect();
        {
            let words = self.words_of(&variant.inputs, memory);
            let sources = variant.inputs.iter().zip(&words);
            let sources: SmallVec<[loops::Source<'_>; 8]> = sources
                .map(|(input, words)| self.source(input, words, memory))
                .collect();
            let mut buffers: SmallVec<[Option<loops::Sink<'_>>; 4]> =
                sinks.iter_mut().map(|sink| sink.numbers(start, count)).collect();
            let mut slots: SmallVec<[(u32, Option<&mut Tile>); 4]> =
                tiles.iter_mut().map(|(slot, tile)| (*slot, Some(tile))).collect();
            let mut to: SmallVec<[loops::Sink<'_>; 4]> = SmallVec::new();
            for (output, truths) in variant.outputs.iter().zip(&mut truths) {
                let place = match output {
                    Output::Values(reg) => self.code.registers[reg.index()].place,
                    Output::Valid(_) | Output::Failed(_) => Place::None,
                };
                let sink = match place {
                    Place::Slot(slot) => {
                        let tile = slots.iter_mut().find(|(known, _)| *known == slot);
                        tile.and_then(|(_, tile)| tile.take()).map(|tile| tile.sink(count))
                    }
                    Place::Result(at) => buffers[at as usize].take(),
                    _ => Some(loops::Sink::Bool(truths)),
                };
                to.push(sink.unwrap_or_else(|| unreachable!("each result has a place of its own")));
            }
            variant.code.kernel().run(count, &sources, &mut to);
        }
        for (slot, tile) in tiles {
            memory.slots[slot as usize] = tile;
        }
        for out in outs {
            (memory.valid[out.index()], memory.failed[out.index()]) = (None, None);
        }
        for (reg, regs) in &variant.strict {
            memory.valid[reg.index()] = regs
                .iter()
                .fold(None, |valid, of| both(valid, &memory.valid[of.index()]));
        }
        for (output, truths) in variant.outputs.iter().zip(truths) {
            match output {
                Output::Values(reg) => memory.bits[reg.index()] = truths,
                Output::Valid(reg) => memory.valid[reg.index()] = Some(truths),
                Output::Failed(reg) => memory.failed[reg.index()] = Some(truths),
            }
        }
    }

    /// The words of the inputs of a loop that are bits.
    fn words_of(&self, inputs: &[Input], memory: &Memory) -> SmallVec<[Words; 4]> {
        let words = inputs.iter().map(|input| match input {
            Input::Values(reg) => memory.bits[reg.index()],
            Input::Valid(regs) => {
                let valid = regs
                    .iter()
                    .fold(None, |valid, of| both(valid, &memory.valid[of.index()]));
                valid.unwrap_or([!0; _])
            }
            Input::Failed(reg) => memory.failed[reg.index()].unwrap_or([0; _]),
        });
        words.collect()
    }

    fn source<'m>(&'m self, input: &Input, words: &'m Words, memory: &'m Memory) -> loops::Source<'m> {
        let Rows { start, count } = self.rows;
        let place = match input {
            Input::Values(reg) => self.code.registers[reg.index()].place,
            _ => Place::None,
        };
        match place {
            Place::Column(at) => match &self.columns.values[at as usize] {
                Some(values) => values.source(start, count),
                None => unreachable!("a column of numbers has values"),
            },
            Place::Slot(at) => memory.slots[at as usize].source(count),
            Place::None => loops::Source::Bool(words),
            Place::Same(_) | Place::Result(_) => unreachable!("constants are part of the loop"),
        }
    }

    /// The quotient or the remainder of integers, which fails where the divisor is zero.
    fn quotient(
        &self,
        lane: Lane,
        remainder: bool,
        args: [Reg; 2],
        out: Reg,
        memory: &mut Memory,
        sinks: &mut [Sink<'_>],
    ) {
        let (mut valid, mut failed) = (None, None);
        for arg in args {
            valid = both(valid, &memory.valid[arg.index()]);
            failed = either(failed, &memory.failed[arg.index()]);
        }
        let arch = self.arch;
        let mut zero: Words = [0; TILE / 64];
        match lane {
            Lane::I32 => self.write::<i32>(memory, sinks, out, |out, memory| {
                let (a, b) = (self.read(memory, args[0]), self.read(memory, args[1]));
                quotient!(i32, arch, remainder, out, a, b, zero)
            }),
            _ => self.write::<i64>(memory, sinks, out, |out, memory| {
                let (a, b) = (self.read(memory, args[0]), self.read(memory, args[1]));
                quotient!(i64, arch, remainder, out, a, b, zero)
            }),
        }
        if zero.iter().any(|&word| word != 0) {
            match self.options.division_by_zero {
                OnFailure::Error => {
                    let here = both(Some(zero), &valid);
                    failed = either(here, &failed);
                }
                OnFailure::Null => valid = both(Some(zero.map(|word| !word)), &valid),
            }
        }
        memory.valid[out.index()] = valid;
        memory.failed[out.index()] = failed;
    }

    /// The numbers of a register, each of them.
    fn each<'m, N: Number>(&'m self, memory: &'m Memory, reg: Reg) -> std::borrow::Cow<'m, [N]> {
        match self.read(memory, reg) {
            Operand::Each(values) => values.into(),
            Operand::Same(value) => vec![value; self.rows.padded()].into(),
        }
    }

    /// The array of a register that was not computed as one.
    pub(super) fn state(&self, memory: &Memory, reg: Reg) -> State {
        let register = self.code.registers[reg.index()];
        let rows = self.rows.count;
        let at = reg.index();
        let nulls = memory.valid[at]
            .as_ref()
            .map(|valid| NullBuffer::new(bits(valid, rows)));
        let array: arrow_array::ArrayRef = match Lane::of(register.ty) {
            Some(lane) => with_lane!(lane, N => {
                let mut tile = Tile::new(lane);
                let values = self.each::<N>(memory, reg);
                N::tile_mut(&mut tile)[..rows].copy_from_slice(&values[..rows]);
                array_of(register.ty, &tile, rows, nulls)
            }),
            None => Arc::new(arrow_array::BooleanArray::new(bits(&memory.bits[at], rows), nulls)),
        };
        State {
            failed: memory.failed[at].as_ref().map(|failed| bits(failed, rows)),
            ..array.into()
        }
    }

    /// Reads a register from the array that its node was computed as.
    pub(super) fn keep(&self, memory: &mut Memory, sinks: &mut [Sink<'_>], reg: Reg, state: &State) {
        let register = self.code.registers[reg.index()];
        let (at, rows) = (reg.index(), self.rows.count);
        memory.valid[at] = state.array.nulls().map(|nulls| words(nulls.inner(), 0, rows));
        memory.failed[at] = state.failed.as_ref().map(|failed| words(failed, 0, rows));
        if register.ty == Type::Bool {
            memory.bits[at] = words(state.array.as_boolean().values(), 0, rows);
        }
        if let Some(values) = values_of(register.ty, &state.array) {
            with_lane!(Lane::of(register.ty).unwrap_or(Lane::I32), N => {
                self.write::<N>(memory, sinks, reg, |out, _| out[..rows].copy_from_slice(&N::column(&values)[..rows]));
            });
        }
    }

    /// Copies a result that other steps read too, or that none computes.
    pub(super) fn copy_out(&self, memory: &Memory, reg: Reg, sink: &mut Sink<'_>) {
        let Rows { start, count } = self.rows;
        let register = self.code.registers[reg.index()];
        let To::Values(values) = &mut sink.to else { return };
        match Lane::of(register.ty) {
            Some(lane) => with_lane!(lane, N => {
                let out = &mut N::target(values)[start..start + count];
                match self.read::<N>(memory, reg) {
                    Operand::Each(values) => out.copy_from_slice(&values[..count]),
                    Operand::Same(value) => out.fill(value),
                }
            }),
            None => {
                if let super::TargetValues::Bits(bytes) = values {
                    super::target::write_bits(bytes, start, count, &memory.bits[reg.index()]);
                }
            }
        }
    }
}
