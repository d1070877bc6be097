//! What is decided before code is generated: rows of a group, groups of a pass, constants, and where arguments are.

use rustc_hash::FxHashMap;

use super::assembler::{Length, Set};
use crate::program::{Op, Program, Type, Value};

/// The most groups of rows that a pass of the loop computes.
const MOST_COPIES: usize = 4;
/// Programs of more instructions are long enough for a processor to be busy with one group.
const LONG: usize = 96;

/// The block of words that code is called with: the number of rows, the address of the constants, then one word for
/// each input and each result. It is the address of its elements, or the bits of a uniform input.
pub(super) const ARGUMENT_ROWS: i32 = 0;
pub(super) const ARGUMENT_CONSTANTS: i32 = 8;

#[derive(Debug)]
pub(super) struct Layout {
    pub(super) set: Set,
    /// The rows of a group: those of which a vector has as many as fit, of the widest type.
    pub(super) rows: usize,
    /// The groups that a pass computes.
    pub(super) copies: usize,
    /// Code computes multiples of so many rows, and at least this many.
    pub(super) unit: usize,
    pub(super) least: usize,
    inputs: usize,
    /// How many vector registers the values of one group take at once, and how many masks.
    pub(super) pressure: [usize; 2],
}

impl Layout {
    pub(super) fn new(program: &Program, set: Set) -> Layout {
        let widest = program
            .instructions
            .iter()
            .map(|instruction| instruction.ty.size())
            .max()
            .unwrap_or(0);
        let pressure = pressure(program);
        let most = if program.instructions.len() > LONG {
            1
        } else {
            MOST_COPIES
        };
        let [vectors, masks] = pressure;
        let (size, fit) = match set {
            Set::Avx512 => (64, (28 / vectors.max(1)).min(6 / masks.max(1))),
            Set::Avx2 => (32, 12 / (vectors + masks).max(1)),
        };
        let rows = size / widest.max(1);
        // A power of two, so that the groups of a pass fill words of bits.
        let copies = 1 << fit.clamp(1, most).ilog2();
        let (copies, unit, least) = match set {
            // Masks end at any row.
            Set::Avx512 => (copies, 1, 0),
            // Four truth values do not fill a byte.
            Set::Avx2 if rows < 8 && has_truths(program) => (2, 2 * rows, 2 * rows),
            Set::Avx2 if has_truths(program) => (copies, rows, rows),
            // The last rows are computed together with those before them.
            Set::Avx2 => (copies, 1, rows),
        };
        let inputs = program.inputs.len();
        Layout {
            set,
            rows,
            copies,
            unit,
            least,
            inputs,
            pressure,
        }
    }

    /// The length of the vectors of a type.
    pub(super) fn length(&self, ty: Type) -> Length {
        Length::of(ty.size() * self.rows)
    }

    pub(super) fn input(&self, at: u32) -> i32 {
        16 + 8 * at as i32
    }

    pub(super) fn output(&self, at: usize) -> i32 {
        16 + 8 * (self.inputs + at) as i32
    }
}

/// Whether truth values are read or written as bits.
pub(super) fn has_truths(program: &Program) -> bool {
    let outputs = program.outputs.iter().map(|&value| program.ty(value));
    program.inputs.iter().copied().chain(outputs).any(|ty| ty == Type::Bool)
}

/// Constants in memory, each once: a word for AVX-512, which repeats it, or a whole vector.
#[derive(Debug)]
pub(super) struct Constants {
    set: Set,
    pub(super) words: Vec<u64>,
    offsets: FxHashMap<[u64; 4], i32>,
}

impl Constants {
    pub(super) fn new(set: Set) -> Constants {
        Constants {
            set,
            words: Vec::new(),
            offsets: FxHashMap::default(),
        }
    }

    /// The offset of a number of so many bytes, as each number of a vector.
    pub(super) fn number(&mut self, bits: u64, size: usize) -> i32 {
        match self.set {
            Set::Avx512 => self.vector([bits; 4]),
            Set::Avx2 => {
                let numbers = (0..8 / size).fold(0, |word, at| word | bits << (8 * size * at));
                self.vector([numbers; 4])
            }
        }
    }

    /// The offset of a vector of 256 bits.
    pub(super) fn vector(&mut self, vector: [u64; 4]) -> i32 {
        let Constants { set, words, offsets } = self;
        *offsets.entry(vector).or_insert_with(|| {
            let offset = 8 * words.len() as i32;
            match set {
                Set::Avx512 => words.push(vector[0]),
                Set::Avx2 => words.extend(vector),
            }
            offset
        })
    }
}

/// For each truth value, the bytes that it takes in a vector of AVX2: as many as the numbers that it comes from.
pub(super) fn truth_sizes(program: &Program, layout: &Layout) -> Vec<usize> {
    let mut sizes: Vec<usize> = Vec::with_capacity(program.instructions.len());
    for instruction in &program.instructions {
        let of = |value: Value| sizes[value.index()];
        let size = match instruction.op {
            Op::Compare(_, a, _) => program.ty(a).size(),
            Op::Not(a) => of(a),
            Op::Binary(_, a, b) => of(a).max(of(b)),
            _ => 32 / layout.rows,
        };
        sizes.push(size);
    }
    sizes
}

/// The most numbers, and truth values, that are needed at once, without constants.
fn pressure(program: &Program) -> [usize; 2] {
    let last = program.last_uses();
    let kind = |ty: Type| usize::from(ty == Type::Bool);
    let lives = |op: Op| !matches!(op, Op::Const(_) | Op::Uniform(_));
    let (mut now, mut most) = ([0usize; 2], [0usize; 2]);
    let mut begun = vec![false; program.instructions.len()];
    for (at, instruction) in program.instructions.iter().enumerate() {
        if matches!(instruction.op, Op::Input(_) | Op::Const(_) | Op::Uniform(_)) {
            continue;
        }
        let operands = instruction.op.operands();
        for of in operands.iter().map(|of| of.index()) {
            let source = program.instructions[of];
            if matches!(source.op, Op::Input(_)) && !std::mem::replace(&mut begun[of], true) {
                now[kind(source.ty)] += 1;
            }
        }
        begun[at] = true;
        now[kind(instruction.ty)] += 1;
        most = [most[0].max(now[0]), most[1].max(now[1])];
        for of in operands.iter().map(|of| of.index()) {
            let source = program.instructions[of];
            if lives(source.op) && last[of] == at && std::mem::replace(&mut begun[of], false) {
                now[kind(source.ty)] -= 1;
            }
        }
        if last[at] == program.instructions.len() || last[at] == at {
            // Results are stored at once.
            let read_later = program.instructions[at + 1..]
                .iter()
                .any(|later| later.op.operands().iter().any(|of| of.index() == at));
            if !read_later {
                now[kind(instruction.ty)] -= 1;
            }
        }
    }
    most
}
