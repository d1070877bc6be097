//! A program that is one loop: it runs over long blocks of the columns, from their buffers into those of the results.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::BooleanBuffer;
use smallvec::SmallVec;
use tautomer_loops::{Sink, Source};

use super::code::{Code, LoopCode, Output, Reg};
use super::lane::Lane;
use super::lower::Input;
use super::run::Columns;
use super::target::{self, Sink as Out, TargetValues, To};

/// Rows of a block, whole words. Their bits, of which there are a few copies, stay in the nearest cache.
const BLOCK: usize = 1 << 15;

/// Bits of the rows of a block.
type Bits = Vec<u64>;

/// A program of one loop over a batch.
pub(super) struct Direct<'a> {
    pub(super) code: &'a Code,
    pub(super) loop_code: &'a LoopCode,
    pub(super) columns: &'a Columns,
}

impl Direct<'_> {
    /// Computes all rows. The number of a result and the first row of a block with a null for which there is no place
    /// are an error.
    pub(super) fn run(&self, rows: usize, sinks: &mut [Out<'_>]) -> Result<(), (usize, usize, usize)> {
        let arrays = &self.columns.arrays;
        let has_nulls = arrays.iter().any(|array| array.null_count() > 0);
        let variant = if has_nulls {
            &self.loop_code.nullable
        } else {
            &self.loop_code.plain
        };
        let kernel = variant.code.kernel();
        let words = BLOCK.min(rows).div_ceil(64);
        let is_given = |input: &&Input| !matches!(input, Input::Values(reg) if self.lane(*reg).is_some());
        let mut given: Vec<Bits> = variant.inputs.iter().filter(is_given).map(|_| vec![0; words]).collect();
        let is_made = |output: &&Output| !matches!(output, Output::Values(reg) if self.lane(*reg).is_some());
        let mut made: Vec<Bits> = variant.outputs.iter().filter(is_made).map(|_| vec![0; words]).collect();
        let mut strict: Bits = vec![0; if has_nulls { words } else { 0 }];
        for start in (0..rows).step_by(BLOCK) {
            let count = BLOCK.min(rows - start);
            let mut next = given.iter_mut();
            for input in variant.inputs.iter().filter(is_given) {
                let Some(to) = next.next() else {
                    unreachable!("each has its bits")
                };
                self.read(input, start, count, to);
            }
            let mut next = given.iter();
            let sources: SmallVec<[Source<'_>; 8]> = variant
                .inputs
                .iter()
                .map(|input| {
                    let numbers = match input {
                        Input::Values(reg) => self.columns.values[self.column(*reg)].as_ref(),
                        _ => None,
                    };
                    match (numbers, &mut next) {
                        (Some(values), _) => values.source(start, count),
                        (None, bits) => Source::Bool(bits.next().map_or(&[], |bits| bits)),
                    }
                })
                .collect();
            {
                let mut buffers: SmallVec<[Option<Sink<'_>>; 4]> =
                    sinks.iter_mut().map(|sink| sink.numbers(start, count)).collect();
                let mut next = made.iter_mut();
                let mut to: SmallVec<[Sink<'_>; 4]> = SmallVec::new();
                for output in &variant.outputs {
                    to.push(match output {
                        Output::Values(reg) if self.lane(*reg).is_some() => {
                            let buffer = buffers[self.result(*reg)].take();
                            buffer.unwrap_or_else(|| unreachable!("numbers have a buffer of numbers"))
                        }
                        _ => Sink::Bool(next.next().map_or(&mut [], |bits| bits)),
                    });
                }
                kernel.run(count, &sources, &mut to);
            }
            self.write(variant, start, count, &made, &mut strict, sinks)?;
        }
        Ok(())
    }

    fn lane(&self, reg: Reg) -> Option<Lane> {
        Lane::of(self.code.registers[reg.index()].ty)
    }

    /// The column that is read as a register.
    fn column(&self, reg: Reg) -> usize {
        let at = self.code.columns.iter().position(|column| column.reg == reg);
        at.unwrap_or_else(|| unreachable!("a single loop reads columns alone"))
    }

    fn result(&self, reg: Reg) -> usize {
        let at = self.code.results.iter().position(|result| *result == reg);
        at.unwrap_or_else(|| unreachable!("a single loop computes results alone"))
    }

    /// The bits that the loop reads.
    fn read(&self, input: &Input, start: usize, rows: usize, to: &mut Bits) {
        match input {
            Input::Values(reg) => {
                let array = self.columns.arrays[self.column(*reg)].as_boolean();
                each_word(array.values(), start, rows, to, |to, word| *to = word);
            }
            Input::Valid(regs) => self.valid(regs, start, rows, to),
            // Only steps between loops fail.
            Input::Failed(_) => to.fill(0),
        }
    }

    /// The rows that are valid in all of the columns.
    fn valid(&self, regs: &[Reg], start: usize, rows: usize, to: &mut Bits) {
        let mut first = true;
        for reg in regs {
            let array = &self.columns.arrays[self.column(*reg)];
            let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) else {
                continue;
            };
            match std::mem::take(&mut first) {
                true => each_word(nulls.inner(), start, rows, to, |to, word| *to = word),
                false => each_word(nulls.inner(), start, rows, to, |to, word| *to &= word),
            }
        }
        if first {
            to.fill(!0);
        }
    }

    /// Writes what is bits.
    fn write(
        &self,
        variant: &super::code::Variant,
        start: usize,
        rows: usize,
        made: &[Bits],
        strict: &mut Bits,
        sinks: &mut [Out<'_>],
    ) -> Result<(), (usize, usize, usize)> {
        let mut next = made.iter();
        let mut written: SmallVec<[usize; 4]> = SmallVec::new();
        for output in &variant.outputs {
            match output {
                Output::Values(reg) if self.lane(*reg).is_some() => {}
                Output::Values(reg) => {
                    let (Some(bits), To::Values(TargetValues::Bits(bytes))) =
                        (next.next(), &mut sinks[self.result(*reg)].to)
                    else {
                        unreachable!("booleans have a buffer of bits")
                    };
                    target::write_bits(bytes, start, rows, bits);
                }
                Output::Valid(reg) => {
                    let (at, bits) = (self.result(*reg), next.next().map(|bits| &bits[..]));
                    written.push(at);
                    if !sinks[at].validity.write(start, rows, bits) {
                        return Err((at, start, rows));
                    }
                }
                Output::Failed(_) => drop(next.next()),
            }
        }
        for (reg, regs) in &variant.strict {
            let at = self.result(*reg);
            written.push(at);
            let nulls = |reg: &Reg| self.columns.arrays[self.column(*reg)].null_count() > 0;
            let bits = regs.iter().any(nulls).then(|| {
                self.valid(regs, start, rows, strict);
                &strict[..]
            });
            if !sinks[at].validity.write(start, rows, bits) {
                return Err((at, start, rows));
            }
        }
        for (at, sink) in sinks.iter_mut().enumerate().filter(|(at, _)| !written.contains(at)) {
            if !sink.validity.write(start, rows, None) {
                return Err((at, start, rows));
            }
        }
        Ok(())
    }
}

/// Puts the bits of rows into words. Those after the last one are arbitrary.
fn each_word(bits: &BooleanBuffer, start: usize, rows: usize, to: &mut [u64], put: impl Fn(&mut u64, u64)) {
    let offset = bits.offset() + start;
    if offset.is_multiple_of(8) {
        let bytes = &bits.values()[offset / 8..(offset + rows).div_ceil(8)];
        let (whole, rest) = bytes.as_chunks::<8>();
        for (to, bytes) in to.iter_mut().zip(whole) {
            put(to, u64::from_le_bytes(*bytes));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            put(&mut to[whole.len()], u64::from_le_bytes(last));
        }
        return;
    }
    let part = bits.slice(start, rows);
    for (to, word) in to.iter_mut().zip(part.bit_chunks().iter_padded()) {
        put(to, word);
    }
}
