//! What is decided before code is generated: rows of a group, groups of a pass, constants, and where arguments are.

use rustc_hash::FxHashMap;

use super::assembler::Length;
use crate::program::{Op, Program, Type};

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
    /// The rows of a group: those of which a vector has as many as fit, of the widest type.
    pub(super) rows: usize,
    /// The groups that a pass computes.
    pub(super) copies: usize,
    /// Constants, each at the offset of its index times eight.
    pub(super) constants: Vec<u64>,
    offsets: FxHashMap<u64, i32>,
    inputs: usize,
    /// How many vector registers the values of one group take at once, and how many masks.
    pub(super) pressure: [usize; 2],
}

impl Layout {
    pub(super) fn new(program: &Program) -> Layout {
        let widest = program
            .instructions
            .iter()
            .map(|instruction| instruction.ty.size())
            .max()
            .unwrap_or(0);
        let mut layout = Layout {
            rows: 64 / widest.max(1),
            copies: 1,
            constants: Vec::new(),
            offsets: FxHashMap::default(),
            inputs: program.inputs.len(),
            pressure: pressure(program),
        };
        for instruction in &program.instructions {
            if let Op::Const(bits) = instruction.op
                && instruction.ty != Type::Bool
            {
                layout.offsets.entry(bits).or_insert_with(|| {
                    layout.constants.push(bits);
                    8 * (layout.constants.len() as i32 - 1)
                });
            }
        }
        let [vectors, masks] = layout.pressure;
        let most = if program.instructions.len() > LONG {
            1
        } else {
            MOST_COPIES
        };
        let fit = (28 / vectors.max(1)).min(6 / masks.max(1));
        // A power of two, so that the groups of a pass fill words of bits.
        layout.copies = 1 << fit.clamp(1, most).ilog2();
        layout
    }

    /// The length of the vectors of a type.
    pub(super) fn length(&self, ty: Type) -> Length {
        Length::of(ty.size() * self.rows)
    }

    pub(super) fn constant(&self, bits: u64) -> i32 {
        self.offsets[&bits]
    }

    pub(super) fn input(&self, at: u32) -> i32 {
        16 + 8 * at as i32
    }

    pub(super) fn output(&self, at: usize) -> i32 {
        16 + 8 * (self.inputs + at) as i32
    }
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
