//! Computing the steps of a tile.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::NullBuffer;
use pulp::Arch;
use smallvec::SmallVec;

use super::TILE;
use super::chain::{self, Float, Link, Operand};
use super::code::{Binary, Bitwise, ChainCode, Code, LinkCode, Place, Reg, With, Work};
use super::convert::convert;
use super::lane::{
    Lane, Number, Tile, Values, Words, array_of, bits, both, combined, either, values_of, with_lane, words,
};
use super::loops;
use super::macros::{apply, integers, quotient};
use super::nodes::State;
use super::target::{Sink, To};
use crate::kernels::real;
use crate::options::{FloatOrder, OnFailure, Options};
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
                    if !self.rows.is_whole() {
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
        let out = step.out;
        let arch = self.arch;
        // Most functions are null, or fail, where an operand is or does.
        let (mut valid, mut failed) = (None, None);
        for input in &step.inputs {
            valid = both(valid, &memory.valid[input.index()]);
            failed = either(failed, &memory.failed[input.index()]);
        }
        let mut set: Words = [0; TILE / 64];
        match &step.work {
            Work::Chain32(code) => self.chain(memory, sinks, out, code),
            Work::Chain64(code) => self.chain(memory, sinks, out, code),
            Work::Binary(lane, op, args) => match lane {
                Lane::F64 => self.write(memory, sinks, out, |out, memory| {
                    let (a, b) = (self.read(memory, args[0]), self.read(memory, args[1]));
                    floats(arch, *op, out, a, b, |a: f64| a.is_nan(), |f, a, b| f(a, b));
                }),
                Lane::F32 => self.write(memory, sinks, out, |out, memory| {
                    let (a, b) = (self.read(memory, args[0]), self.read(memory, args[1]));
                    let wide = |f: fn(f64, f64) -> f64, a: f32, b: f32| f(a.into(), b.into()) as f32;
                    floats(arch, *op, out, a, b, |a: f32| a.is_nan(), wide);
                }),
                Lane::I32 => self.write::<i32>(memory, sinks, out, |out, memory| {
                    integers!(
                        i32,
                        arch,
                        *op,
                        out,
                        self.read(memory, args[0]),
                        self.read(memory, args[1])
                    );
                }),
                Lane::I64 => self.write::<i64>(memory, sinks, out, |out, memory| {
                    integers!(
                        i64,
                        arch,
                        *op,
                        out,
                        self.read(memory, args[0]),
                        self.read(memory, args[1])
                    );
                }),
            },
            Work::Function(lane, function, a) => match lane {
                Lane::F32 => self.write(memory, sinks, out, |out, memory| {
                    let near = |a: &f32| f64::from(a.abs()) <= real::LARGEST_ANGLE || a.is_nan();
                    let a = self.each::<f32>(memory, *a);
                    apply!(arch, *function, out, &a, f32, near);
                }),
                _ => self.write(memory, sinks, out, |out, memory| {
                    let near = |a: &f64| a.abs() <= real::LARGEST_ANGLE || a.is_nan();
                    let a = self.each::<f64>(memory, *a);
                    apply!(arch, *function, out, &a, f64, near);
                }),
            },
            Work::Convert(from, to, a) => with_lane!(*from, A => with_lane!(*to, B => {
                self.write::<B>(memory, sinks, out, |out, memory| {
                    let a = self.each::<A>(memory, *a);
                    convert(arch, out, &a);
                });
            })),
            Work::Quotient(lane, remainder, args) => match lane {
                Lane::I32 => self.write::<i32>(memory, sinks, out, |out, memory| {
                    let (a, b) = (self.read(memory, args[0]), self.read(memory, args[1]));
                    quotient!(i32, arch, *remainder, out, a, b, set)
                }),
                _ => self.write::<i64>(memory, sinks, out, |out, memory| {
                    let (a, b) = (self.read(memory, args[0]), self.read(memory, args[1]));
                    quotient!(i64, arch, *remainder, out, a, b, set)
                }),
            },
            Work::Compare(lane, how, opposite, args) => {
                with_lane!(*lane, N => {
                    let (a, b) = (self.read::<N>(memory, args[0]), self.read::<N>(memory, args[1]));
                    match self.options.float_order {
                        FloatOrder::Partial => loops::compare(arch, &mut set, *how, a, b),
                        FloatOrder::Total => loops::compare_sorted(arch, &mut set, *how, a, b),
                    }
                });
                if *opposite {
                    set = set.map(|word| !word);
                }
            }
            Work::Member(lane, a, members, has_null) => {
                with_lane!(*lane, N => {
                    let a = self.each::<N>(memory, *a);
                    let members: SmallVec<[N; 8]> = members.iter().map(|&member| N::scalar(member)).collect();
                    loops::member(arch, &mut set, &a, &members);
                });
                if *has_null {
                    valid = both(valid, &Some(set));
                }
            }
            Work::Bits(op, args) => {
                let (a, b) = (&memory.bits[args[0].index()], &memory.bits[args[1].index()]);
                set = match op {
                    Bitwise::And => combined(a, b, |a, b| a & b),
                    Bitwise::Or => combined(a, b, |a, b| a | b),
                    Bitwise::Xor => combined(a, b, |a, b| a ^ b),
                    Bitwise::Same => combined(a, b, |a, b| !(a ^ b)),
                };
            }
            Work::Not(a) => set = memory.bits[a.index()].map(|word| !word),
            Work::Connective(is_and, args) => {
                (set, valid, failed) = connective(memory, *is_and, *args);
            }
            Work::Select(lane, parts) => {
                let [condition, then, otherwise] = parts.map(Reg::index);
                // A null condition takes the second branch.
                let mask = match &memory.valid[condition] {
                    None => memory.bits[condition],
                    Some(valid) => combined(&memory.bits[condition], valid, |bit, valid| bit & valid),
                };
                valid = match (&memory.valid[then], &memory.valid[otherwise]) {
                    (None, None) => None,
                    (a, b) => Some(chosen(&mask, a.as_ref().unwrap_or(&ALL), b.as_ref().unwrap_or(&ALL))),
                };
                failed = match (&memory.failed[then], &memory.failed[otherwise]) {
                    (None, None) => None,
                    (a, b) => Some(chosen(&mask, a.as_ref().unwrap_or(&NO), b.as_ref().unwrap_or(&NO))),
                };
                failed = either(failed, &memory.failed[condition]);
                match lane {
                    None => set = chosen(&mask, &memory.bits[then], &memory.bits[otherwise]),
                    Some(lane) => with_lane!(*lane, N => self.write::<N>(memory, sinks, out, |out, memory| {
                        let (a, b) = (self.read(memory, parts[1]), self.read(memory, parts[2]));
                        loops::select(arch, out, &mask, a, b);
                    })),
                }
            }
            Work::Arrays => unreachable!("arrays are computed by their node"),
        }
        if let Work::Quotient(..) = step.work
            && set.iter().any(|&word| word != 0)
        {
            match self.options.division_by_zero {
                OnFailure::Error => {
                    let here = both(Some(set), &valid);
                    failed = either(here, &failed);
                }
                OnFailure::Null => valid = both(Some(set.map(|word| !word)), &valid),
            }
        } else {
            memory.bits[out.index()] = set;
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

    fn chain<N: Number + Float>(&self, memory: &mut Memory, sinks: &mut [Sink<'_>], out: Reg, code: &ChainCode<N>) {
        self.write(memory, sinks, out, |out, memory| {
            let each = |reg: Reg| match self.read::<N>(memory, reg) {
                Operand::Each(values) => values,
                Operand::Same(_) => unreachable!("constants are part of the chain"),
            };
            let links: SmallVec<[Link<'_, N>; 8]> = code
                .links
                .iter()
                .map(|link| match link {
                    LinkCode::Two(op, With::Each(reg)) => Link::Two(*op, Operand::Each(each(*reg))),
                    LinkCode::Two(op, With::Same(value)) => Link::Two(*op, Operand::Same(*value)),
                    LinkCode::One(op) => Link::One(*op),
                    LinkCode::Affine(pairs) => Link::Affine(pairs),
                    LinkCode::Horner(by, terms) => Link::Horner(each(*by), terms),
                })
                .collect();
            chain::run(self.arch, out, self.read(memory, code.start), &links);
        });
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

const ALL: Words = [!0; TILE / 64];
const NO: Words = [0; TILE / 64];

fn chosen(mask: &Words, a: &Words, b: &Words) -> Words {
    std::array::from_fn(|at| (mask[at] & a[at]) | (!mask[at] & b[at]))
}

/// Kleene's `and`, or `or`: values, validity, failures. Failures of the right side count where the left side does not
/// decide.
fn connective(memory: &Memory, is_and: bool, [a, b]: [Reg; 2]) -> (Words, Option<Words>, Option<Words>) {
    let flip = if is_and { !0 } else { 0 };
    // `false` decides `and`, `true` decides `or`.
    let known = |reg: Reg| {
        let bits = memory.bits[reg.index()].map(|word| word ^ flip);
        match &memory.valid[reg.index()] {
            None => bits,
            Some(valid) => combined(&bits, valid, |bit, valid| bit & valid),
        }
    };
    let (decided_a, decided_b) = (known(a), known(b));
    let decided = combined(&decided_a, &decided_b, |a, b| a | b);
    let late =
        memory.failed[b.index()].map(|failed| combined(&failed, &decided_a, |failed, decided| failed & !decided));
    let valid = match (&memory.valid[a.index()], &memory.valid[b.index()]) {
        (None, None) => None,
        (a, b) => {
            let both = combined(a.as_ref().unwrap_or(&ALL), b.as_ref().unwrap_or(&ALL), |a, b| a & b);
            Some(combined(&both, &decided, |both, decided| both | decided))
        }
    };
    let failed = either(memory.failed[a.index()], &late);
    (decided.map(|word| word ^ flip), valid, failed)
}

/// An operation on floats.
fn floats<N: Copy + PartialOrd + Default>(
    arch: Arch,
    op: Binary,
    out: &mut [N],
    a: Operand<'_, N>,
    b: Operand<'_, N>,
    is_nan: impl Fn(N) -> bool,
    other: impl Fn(fn(f64, f64) -> f64, N, N) -> N,
) {
    match op {
        Binary::Greatest => loops::zip(
            arch,
            out,
            a,
            b,
            #[inline(always)]
            |a, b| if b > a || is_nan(a) { b } else { a },
        ),
        Binary::Least => loops::zip(
            arch,
            out,
            a,
            b,
            #[inline(always)]
            |a, b| if b < a || is_nan(a) { b } else { a },
        ),
        Binary::Other(f) => loops::zip(arch, out, a, b, |a, b| other(f, a, b)),
        _ => unreachable!("arithmetic on floats is a chain"),
    }
}
