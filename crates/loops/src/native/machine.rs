//! Memory that holds code, and calling it. The only unsafe code of this crate.
#![expect(unsafe_code, reason = "running code that was made at run time")]

use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;

use super::assembler::Set;
use super::generate::{Helper, generate};
use super::narrow;
use crate::data::{Sink, Source};
use crate::program::{Op, Program};
use crate::scalar::Function;

/// Code of a program that is ready to run.
pub(crate) struct Machine {
    memory: Mapping,
    constants: Box<[u64]>,
    /// Whose addresses are in the code.
    _functions: Box<[Function]>,
    uniform: Box<[bool]>,
    /// The code computes a multiple of so many rows, and at least this many.
    unit: usize,
    least: usize,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("bytes", &self.memory.length).finish()
    }
}

/// The most words of arguments that need no memory of their own.
const FEW: usize = 32;
/// Rows of an input or result, as many as the code computes at least.
type Block = [u64; 8];

impl Machine {
    /// The fastest code for this processor; `None` if it lacks the instructions, or the system grants no memory for code.
    pub(crate) fn new(program: &Program) -> Option<Machine> {
        let has = std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("bmi2");
        match has {
            true => Machine::of(program, Set::Avx512),
            false => Machine::avx2(program),
        }
    }

    /// Code of AVX2 instructions; `None` if this processor has none, or they are too few for the program.
    pub(crate) fn avx2(program: &Program) -> Option<Machine> {
        let has = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("fma")
            && std::arch::is_x86_feature_detected!("f16c");
        match has && narrow::can_compute(program) {
            true => Machine::of(program, Set::Avx2),
            false => None,
        }
    }

    fn of(program: &Program, set: Set) -> Option<Machine> {
        let mut functions: Vec<Function> = Vec::new();
        for instruction in program.instructions() {
            if let Op::Patch(_, function, ..) = instruction.op
                && !functions.contains(&function)
            {
                functions.push(function);
            }
        }
        let functions = functions.into_boxed_slice();
        let helper = Helper {
            address: (patch as extern "sysv64" fn(_, _, _, _, _, _)) as usize as u64,
            functions: &functions,
        };
        let generated = generate(program, set, helper);
        Some(Machine {
            memory: Mapping::new(&generated.code)?,
            constants: generated.constants.into_boxed_slice(),
            _functions: functions,
            uniform: program.uniform.as_slice().into(),
            unit: generated.unit,
            least: generated.least,
        })
    }

    /// The bytes of code.
    pub(crate) fn size(&self) -> usize {
        self.memory.length
    }

    /// Computes rows whose inputs and results are checked: each has its type, and as many rows.
    pub(crate) fn run(&self, rows: usize, inputs: &[Source<'_>], outputs: &mut [Sink<'_>]) {
        let count = 2 + inputs.len() + outputs.len();
        let (mut few, mut many) = ([0u64; FEW], Vec::new());
        let words = match count <= FEW {
            true => &mut few[..count],
            false => {
                many.resize(count, 0);
                &mut many[..]
            }
        };
        let whole = if rows < self.least { 0 } else { rows - rows % self.unit };
        words[0] = whole as u64;
        words[1] = self.constants.as_ptr().addr() as u64;
        for ((word, input), &uniform) in words[2..].iter_mut().zip(inputs).zip(&self.uniform) {
            *word = match uniform {
                true => input.first(),
                false => input.address().expose_provenance() as u64,
            };
        }
        for (word, output) in words[2 + inputs.len()..].iter_mut().zip(outputs.iter_mut()) {
            *word = output.address().expose_provenance() as u64;
        }
        if whole > 0 {
            self.call(words);
        }
        if whole < rows {
            words[0] = self.least as u64;
            // Clearing many blocks takes longer than computing a few rows.
            match inputs.len() + outputs.len() {
                0..=4 => self.in_copies(whole..rows, inputs, outputs, words, &mut [Block::default(); 4]),
                5..=FEW => self.in_copies(whole..rows, inputs, outputs, words, &mut [Block::default(); FEW]),
                more => self.in_copies(whole..rows, inputs, outputs, words, &mut vec![Block::default(); more]),
            }
        }
    }

    /// Computes rows that are fewer than the code computes, in blocks for each input and each result.
    fn in_copies(
        &self,
        rows: Range<usize>,
        inputs: &[Source<'_>],
        outputs: &mut [Sink<'_>],
        words: &mut [u64],
        blocks: &mut [Block],
    ) {
        let Range { start, end } = rows;
        let (given, results) = blocks.split_at_mut(inputs.len());
        for (((block, input), word), &uniform) in given.iter_mut().zip(inputs).zip(&mut words[2..]).zip(&self.uniform) {
            if !uniform {
                input.copy_to(start, end, block);
                *word = block.as_ptr().expose_provenance() as u64;
            }
        }
        for (block, word) in results.iter_mut().zip(&mut words[2 + inputs.len()..]) {
            *word = block.as_mut_ptr().expose_provenance() as u64;
        }
        self.call(words);
        for (block, output) in results.iter().zip(outputs) {
            output.copy_from(start, end, block);
        }
    }

    fn call(&self, words: &[u64]) {
        // SAFETY: `memory` holds the code that `generate` made for this program, whole and executable, for the calling
        // convention of this type. It reads the words as `Layout` describes them, the constants, and as many rows of
        // inputs and results as the first word says, which `Kernel::run` has compared with their lengths; truth values
        // in whole words. It writes the results alone, which are borrowed as mutable, and its own stack.
        unsafe {
            let code: extern "sysv64" fn(*const u64) = std::mem::transmute(self.memory.start.as_ptr());
            code(words.as_ptr());
        }
    }
}

/// Computes a function for the rows of a mask. `a`, `b` and `out` are saved registers of eight numbers; those of AVX2
/// have four, and what follows them is not read.
extern "sysv64" fn patch(
    a: *const [f64; 8],
    b: *const [f64; 8],
    out: *mut [f64; 8],
    mask: u64,
    function: *const Function,
    low: u64,
) {
    // SAFETY: generated code calls this with addresses of 64 bytes each in its frame, where it has saved registers, and
    // with the address of a function that the machine owns. `out` is another register than `a` and `b`.
    let (a, b, out, function) = unsafe { (*a, *b, &mut *out, *function) };
    for (row, out) in out.iter_mut().enumerate() {
        if mask & low & 1 << row != 0 {
            *out = function.call(a[row], b[row]);
        }
    }
}

/// Pages of memory with code. They are written before they can be run, and never both.
struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: after it is made, the memory is only read and run.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(code: &[u8]) -> Option<Mapping> {
        let length = code.len();
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: new memory, of no file, at an address that the system chooses.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                writable,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let mapping = Mapping {
            start: NonNull::new(start.cast())?,
            length,
        };
        // SAFETY: the memory was mapped for `length` bytes, can be written, and nothing else knows it.
        unsafe {
            mapping
                .start
                .copy_from_nonoverlapping(NonNull::from(code).cast(), length)
        };
        // SAFETY: whole pages that were mapped above. From here on they are not written.
        let done = unsafe { libc::mprotect(start, length, libc::PROT_READ | libc::PROT_EXEC) };
        (done == 0).then_some(mapping)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped by `new` for `length` bytes, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
