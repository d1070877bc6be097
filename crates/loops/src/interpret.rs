//! The interpreter: each instruction for a tile of rows, in loops that the compiler vectorizes.
//!
//! It defines what programs compute; machine code computes the same bits, except those of NaNs.

use half::f16;
use pulp::{Arch, Simd, WithSimd};

use crate::data::{Sink, Source};
use crate::functions::{scaled_f32, scaled_f64};
use crate::program::{Binary, Comparison, Op, Program, Shift, Type, Unary, Value};
use crate::scalar::Number;

/// The rows that an instruction computes at once.
const TILE: usize = 256;

macro_rules! tiles {
    ($($variant:ident $native:ident $int:ident,)*) => {
        /// The values of an instruction for the rows of a tile.
        #[derive(Debug, Clone)]
        enum Tile {
            $($variant(Box<[$native; TILE]>),)*
            Bool(Box<[bool; TILE]>),
            /// In the place of one that is being computed.
            Taken,
        }

        impl Tile {
            fn new(ty: Type) -> Tile {
                match ty {
                    $(Type::$variant => Tile::$variant(Box::new([<$native>::default(); TILE])),)*
                    Type::Bool => Tile::Bool(Box::new([false; TILE])),
                }
            }

            fn fill(&mut self, bits: u64) {
                match self {
                    $(Tile::$variant(values) => values.fill(<$native as Number>::from_bits(bits)),)*
                    Tile::Bool(values) => values.fill(bits != 0),
                    Tile::Taken => unreachable!("a constant is not computed"),
                }
            }

            /// Rows of an input from `start`; the rest of the tile keeps what it has.
            fn read(&mut self, source: &Source<'_>, start: usize, rows: usize) {
                match (self, source) {
                    $((Tile::$variant(tile), Source::$variant(values)) => {
                        tile[..rows].copy_from_slice(&values[start..start + rows]);
                    })*
                    (Tile::Bool(tile), Source::Bool(words)) => {
                        for row in 0..rows {
                            let at = start + row;
                            tile[row] = words[at / 64] >> (at % 64) & 1 == 1;
                        }
                    }
                    _ => unreachable!("the types of inputs are checked"),
                }
            }

            /// The first row of an input in all rows.
            fn read_uniform(&mut self, source: &Source<'_>) {
                match (self, source) {
                    $((Tile::$variant(tile), Source::$variant(values)) => tile.fill(values[0]),)*
                    _ => unreachable!("uniform inputs are numbers"),
                }
            }

            fn write(&self, sink: &mut Sink<'_>, start: usize, rows: usize) {
                match (self, sink) {
                    $((Tile::$variant(tile), Sink::$variant(values)) => {
                        values[start..start + rows].copy_from_slice(&tile[..rows]);
                    })*
                    (Tile::Bool(tile), Sink::Bool(words)) => {
                        // Tiles begin with a word.
                        for (word, bits) in words[start / 64..].iter_mut().zip(tile[..rows].chunks(64)) {
                            *word = bits.iter().enumerate().fold(0, |word, (at, &bit)| word | u64::from(bit) << at);
                        }
                    }
                    _ => unreachable!("the types of results are checked"),
                }
            }
        }

        $(impl Lane for $native {
            type Int = $int;

            #[inline(always)]
            fn of(tile: &Tile) -> &[Self; TILE] {
                match tile {
                    Tile::$variant(values) => values,
                    _ => unreachable!("the types of values are checked"),
                }
            }

            #[inline(always)]
            fn of_mut(tile: &mut Tile) -> &mut [Self; TILE] {
                match tile {
                    Tile::$variant(values) => values,
                    _ => unreachable!("the types of values are checked"),
                }
            }

            #[inline(always)]
            fn to_int(self) -> $int {
                $int::from_ne_bytes(self.to_ne_bytes())
            }

            #[inline(always)]
            fn from_int(int: $int) -> Self {
                Self::from_ne_bytes(int.to_ne_bytes())
            }
        })*

        /// Runs a body for the numbers of a type.
        macro_rules! with_type {
            ($value:expr, $N:ident => $body:expr) => {
                match $value {
                    $(Type::$variant => {
                        type $N = $native;
                        $body
                    })*
                    Type::Bool => unreachable!("the types of values are checked"),
                }
            };
        }
    };
}
tiles!(F32 f32 u32, F64 f64 u64, I8 i8 u8, I16 i16 u16, I32 i32 u32, I64 i64 u64, U8 u8 u8, U16 u16 u16,
    U32 u32 u32, U64 u64 u64,);

/// Numbers of tiles.
trait Lane: Number + PartialOrd {
    /// The integer with their bits.
    type Int: std::ops::BitAnd<Output = Self::Int>
        + std::ops::BitOr<Output = Self::Int>
        + std::ops::BitXor<Output = Self::Int>;
    fn of(tile: &Tile) -> &[Self; TILE];
    fn of_mut(tile: &mut Tile) -> &mut [Self; TILE];
    fn to_int(self) -> Self::Int;
    fn from_int(int: Self::Int) -> Self;
}

fn truths(tile: &Tile) -> &[bool; TILE] {
    match tile {
        Tile::Bool(values) => values,
        _ => unreachable!("the types of values are checked"),
    }
}

/// What a run needs besides inputs and results; it may be used for one run after the other.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// The tile of each instruction.
    places: Vec<usize>,
    tiles: Vec<Tile>,
}

/// Computes a program for rows whose inputs and results are checked.
pub(crate) fn run(
    program: &Program,
    scratch: &mut Scratch,
    rows: usize,
    inputs: &[Source<'_>],
    outputs: &mut [Sink<'_>],
) {
    let Scratch { places, tiles } = scratch;
    let arch = Arch::new();
    for (instruction, &place) in program.instructions.iter().zip(&*places) {
        match instruction.op {
            Op::Const(bits) => tiles[place].fill(bits),
            Op::Uniform(input) => tiles[place].read_uniform(&inputs[input as usize]),
            _ => {}
        }
    }
    for start in (0..rows).step_by(TILE) {
        let count = TILE.min(rows - start);
        for (at, &place) in places.iter().enumerate() {
            match program.instructions[at].op {
                Op::Const(_) | Op::Uniform(_) => {}
                Op::Input(input) => tiles[place].read(&inputs[input as usize], start, count),
                _ => {
                    let mut out = std::mem::replace(&mut tiles[place], Tile::Taken);
                    arch.dispatch(Step {
                        program,
                        at,
                        rows: count,
                        out: &mut out,
                        tiles,
                        places,
                    });
                    tiles[place] = out;
                }
            }
        }
        for (output, sink) in program.outputs.iter().zip(outputs.iter_mut()) {
            tiles[places[output.index()]].write(sink, start, count);
        }
    }
}

/// A tile for each instruction; those of values that are not needed any more are used again.
pub(crate) fn scratch(program: &Program) -> Scratch {
    let last = program.last_uses();
    let mut free: Vec<(Type, usize)> = Vec::new();
    let mut tiles: Vec<Tile> = Vec::new();
    let mut places: Vec<usize> = Vec::new();
    for (at, instruction) in program.instructions.iter().enumerate() {
        let lasts = matches!(instruction.op, Op::Const(_) | Op::Uniform(_));
        let old = free.iter().position(|&(ty, _)| ty == instruction.ty && !lasts);
        places.push(match old {
            Some(old) => free.swap_remove(old).1,
            None => {
                tiles.push(Tile::new(instruction.ty));
                tiles.len() - 1
            }
        });
        let mut operands: Vec<Value> = instruction.op.operands().to_vec();
        operands.sort_unstable();
        operands.dedup();
        for of in operands {
            let source = program.instructions[of.index()];
            if last[of.index()] == at && !matches!(source.op, Op::Const(_) | Op::Uniform(_)) {
                free.push((source.ty, places[of.index()]));
            }
        }
    }
    Scratch { places, tiles }
}

/// One instruction for a tile.
struct Step<'a> {
    program: &'a Program,
    at: usize,
    rows: usize,
    out: &'a mut Tile,
    tiles: &'a [Tile],
    places: &'a [usize],
}

#[inline(always)]
fn map<A: Copy, B>(out: &mut [B; TILE], a: &[A; TILE], f: impl Fn(A) -> B) {
    for (out, &a) in out.iter_mut().zip(a) {
        *out = f(a);
    }
}

#[inline(always)]
fn zip<A: Copy, B>(out: &mut [B; TILE], a: &[A; TILE], b: &[A; TILE], f: impl Fn(A, A) -> B) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = f(a, b);
    }
}

impl WithSimd for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let tile = |value: Value| &self.tiles[self.places[value.index()]];
        let instruction = self.program.instructions[self.at];
        let (ty, out) = (instruction.ty, self.out);
        match instruction.op {
            Op::Input(_) | Op::Uniform(_) | Op::Const(_) => unreachable!("read before"),
            Op::Unary(op, a) => unary(op, ty, out, tile(a)),
            Op::Binary(op, a, b) => binary(op, ty, out, tile(a), tile(b)),
            Op::Fma(a, b, c) => fma(ty, out, [a, b, c].map(tile)),
            Op::Compare(how, a, b) => compare(how, self.program.ty(a), out, tile(a), tile(b)),
            Op::Not(a) => map(truths_mut(out), truths(tile(a)), |a| !a),
            Op::Select(condition, a, b) => with_type!(ty, N => {
                let (out, condition) = (N::of_mut(out), truths(tile(condition)));
                let (a, b) = (N::of(tile(a)), N::of(tile(b)));
                for row in 0..TILE {
                    out[row] = if condition[row] { a[row] } else { b[row] };
                }
            }),
            Op::Shift(how, a, by) => shift(how, by, ty, out, tile(a)),
            Op::Convert(a) => convert(out, tile(a)),
            Op::Cast(a) => cast(out, tile(a)),
            Op::FromHalf(a) => map(f32::of_mut(out), u16::of(tile(a)), |a| f16::from_bits(a).to_f32()),
            Op::ToHalf(a) => map(u16::of_mut(out), f32::of(tile(a)), |a| f16::from_f32(a).to_bits()),
            Op::Patch(mask, function, [a, b], or) => {
                let (out, mask) = (f64::of_mut(out), truths(tile(mask)));
                *out = *f64::of(tile(or));
                let (a, b) = (f64::of(tile(a)), f64::of(tile(b)));
                for row in (0..self.rows).filter(|&row| mask[row]) {
                    out[row] = function.call(a[row], b[row]);
                }
            }
        }
    }
}

fn truths_mut(tile: &mut Tile) -> &mut [bool; TILE] {
    match tile {
        Tile::Bool(values) => values,
        _ => unreachable!("the types of values are checked"),
    }
}

#[inline(always)]
fn unary(op: Unary, ty: Type, out: &mut Tile, a: &Tile) {
    macro_rules! float {
        ($N:ident) => {{
            let (out, a) = ($N::of_mut(out), $N::of(a));
            match op {
                Unary::Sqrt => map(out, a, $N::sqrt),
                Unary::Round => map(out, a, $N::round_ties_even),
                Unary::Floor => map(out, a, $N::floor),
                Unary::Ceil => map(out, a, $N::ceil),
                Unary::Trunc => map(out, a, $N::trunc),
                Unary::Abs => unreachable!("floats lose their sign by `and`"),
            }
        }};
    }
    macro_rules! integer {
        ($N:ident) => {
            map($N::of_mut(out), $N::of(a), $N::wrapping_abs)
        };
    }
    match ty {
        Type::F32 => float!(f32),
        Type::F64 => float!(f64),
        Type::I8 => integer!(i8),
        Type::I16 => integer!(i16),
        Type::I32 => integer!(i32),
        Type::I64 => integer!(i64),
        _ => unreachable!("functions of {ty:?} are the value itself"),
    }
}

#[inline(always)]
fn binary(op: Binary, ty: Type, out: &mut Tile, a: &Tile, b: &Tile) {
    match op {
        Binary::And | Binary::Or | Binary::Xor => return bitwise(op, ty, out, a, b),
        Binary::Min => {
            return with_type!(ty, N => zip(N::of_mut(out), N::of(a), N::of(b), |a, b| if a < b { a } else { b }));
        }
        Binary::Max => {
            return with_type!(ty, N => zip(N::of_mut(out), N::of(a), N::of(b), |a, b| if a > b { a } else { b }));
        }
        _ => {}
    }
    macro_rules! float {
        ($N:ident, $scale:expr) => {{
            let (out, a, b) = ($N::of_mut(out), $N::of(a), $N::of(b));
            match op {
                Binary::Add => zip(out, a, b, |a, b| a + b),
                Binary::Sub => zip(out, a, b, |a, b| a - b),
                Binary::Mul => zip(out, a, b, |a, b| a * b),
                Binary::Div => zip(out, a, b, |a, b| a / b),
                _ => zip(out, a, b, $scale),
            }
        }};
    }
    macro_rules! integer {
        ($N:ident) => {{
            let (out, a, b) = ($N::of_mut(out), $N::of(a), $N::of(b));
            match op {
                Binary::Add => zip(out, a, b, $N::wrapping_add),
                Binary::Sub => zip(out, a, b, $N::wrapping_sub),
                _ => zip(out, a, b, $N::wrapping_mul),
            }
        }};
    }
    match ty {
        Type::F32 => float!(f32, scaled_f32),
        Type::F64 => float!(f64, scaled_f64),
        Type::I8 => integer!(i8),
        Type::I16 => integer!(i16),
        Type::I32 => integer!(i32),
        Type::I64 => integer!(i64),
        Type::U8 => integer!(u8),
        Type::U16 => integer!(u16),
        Type::U32 => integer!(u32),
        Type::U64 => integer!(u64),
        Type::Bool => unreachable!("truth values have no arithmetic"),
    }
}

#[inline(always)]
fn bitwise(op: Binary, ty: Type, out: &mut Tile, a: &Tile, b: &Tile) {
    if ty == Type::Bool {
        let (out, a, b) = (truths_mut(out), truths(a), truths(b));
        return match op {
            Binary::And => zip(out, a, b, |a, b| a & b),
            Binary::Or => zip(out, a, b, |a, b| a | b),
            _ => zip(out, a, b, |a, b| a ^ b),
        };
    }
    with_type!(ty, N => {
        let (out, a, b) = (N::of_mut(out), N::of(a), N::of(b));
        match op {
            Binary::And => zip(out, a, b, |a, b| N::from_int(a.to_int() & b.to_int())),
            Binary::Or => zip(out, a, b, |a, b| N::from_int(a.to_int() | b.to_int())),
            _ => zip(out, a, b, |a, b| N::from_int(a.to_int() ^ b.to_int())),
        }
    });
}

#[inline(always)]
fn fma(ty: Type, out: &mut Tile, operands: [&Tile; 3]) {
    macro_rules! float {
        ($N:ident) => {{
            let (out, [a, b, c]) = ($N::of_mut(out), operands.map($N::of));
            for row in 0..TILE {
                out[row] = a[row].mul_add(b[row], c[row]);
            }
        }};
    }
    match ty {
        Type::F32 => float!(f32),
        _ => float!(f64),
    }
}

#[inline(always)]
fn compare(how: Comparison, ty: Type, out: &mut Tile, a: &Tile, b: &Tile) {
    let out = truths_mut(out);
    with_type!(ty, N => {
        let (a, b) = (N::of(a), N::of(b));
        match how {
            Comparison::Equal => zip(out, a, b, |a, b| a == b),
            Comparison::NotEqual => zip(out, a, b, |a, b| a != b),
            Comparison::Less => zip(out, a, b, |a, b| a < b),
            Comparison::LessOrEqual => zip(out, a, b, |a, b| a <= b),
        }
    });
}

#[inline(always)]
fn shift(how: Shift, by: u8, ty: Type, out: &mut Tile, a: &Tile) {
    macro_rules! integer {
        ($N:ident $S:ident $U:ident) => {{
            let (out, a) = ($N::of_mut(out), $N::of(a));
            match how {
                Shift::Left => map(out, a, |a| a << by),
                Shift::Right => map(out, a, |a| (a as $U >> by) as $N),
                Shift::Arithmetic => map(out, a, |a| (a as $S >> by) as $N),
            }
        }};
    }
    match ty {
        Type::I16 => integer!(i16 i16 u16),
        Type::I32 => integer!(i32 i32 u32),
        Type::I64 => integer!(i64 i64 u64),
        Type::U16 => integer!(u16 i16 u16),
        Type::U32 => integer!(u32 i32 u32),
        Type::U64 => integer!(u64 i64 u64),
        _ => unreachable!("the types of values are checked"),
    }
}

#[inline(always)]
fn cast(out: &mut Tile, a: &Tile) {
    macro_rules! pairs {
        ($(($from:ident $a:ident $to:ident $b:ident))*) => {
            match (a, out) {
                $((Tile::$from(a), Tile::$to(out)) => map(out, a, |a: $a| $b::from_int(a.to_int())),)*
                _ => unreachable!("the types of values are checked"),
            }
        };
    }
    pairs!((I8 i8 U8 u8) (U8 u8 I8 i8) (I16 i16 U16 u16) (U16 u16 I16 i16) (I32 i32 U32 u32) (U32 u32 I32 i32)
        (I64 i64 U64 u64) (U64 u64 I64 i64) (F32 f32 I32 i32) (F32 f32 U32 u32) (I32 i32 F32 f32) (U32 u32 F32 f32)
        (F64 f64 I64 i64) (F64 f64 U64 u64) (I64 i64 F64 f64) (U64 u64 F64 f64));
}

#[inline(always)]
fn convert(out: &mut Tile, a: &Tile) {
    macro_rules! from_integers {
        ($($from:ident $a:ident)*) => {
            match a {
                $(Tile::$from(a) => match out {
                    Tile::I8(out) => map(out, a, |a: $a| a as i8),
                    Tile::I16(out) => map(out, a, |a: $a| a as i16),
                    Tile::I32(out) => map(out, a, |a: $a| a as i32),
                    Tile::I64(out) => map(out, a, |a: $a| a as i64),
                    Tile::U8(out) => map(out, a, |a: $a| a as u8),
                    Tile::U16(out) => map(out, a, |a: $a| a as u16),
                    Tile::U32(out) => map(out, a, |a: $a| a as u32),
                    Tile::U64(out) => map(out, a, |a: $a| a as u64),
                    Tile::F32(out) => map(out, a, |a: $a| a as f32),
                    Tile::F64(out) => map(out, a, |a: $a| a as f64),
                    Tile::Bool(_) | Tile::Taken => unreachable!("the types of values are checked"),
                },)*
                Tile::F32(a) => match out {
                    Tile::F64(out) => map(out, a, f64::from),
                    Tile::I32(out) => map(out, a, |a: f32| integer(a.into(), i32::MIN.into(), 2f64.powi(31), a as i32, i32::MIN)),
                    Tile::I64(out) => map(out, a, |a: f32| integer(a.into(), -2f64.powi(63), 2f64.powi(63), a as i64, i64::MIN)),
                    Tile::U32(out) => map(out, a, |a: f32| integer(a.into(), 0.0, 2f64.powi(32), a as u32, u32::MAX)),
                    Tile::U64(out) => map(out, a, |a: f32| integer(a.into(), 0.0, 2f64.powi(64), a as u64, u64::MAX)),
                    _ => unreachable!("the types of values are checked"),
                },
                Tile::F64(a) => match out {
                    Tile::F32(out) => map(out, a, |a: f64| a as f32),
                    Tile::I32(out) => map(out, a, |a: f64| integer(a, i32::MIN.into(), 2f64.powi(31), a as i32, i32::MIN)),
                    Tile::I64(out) => map(out, a, |a: f64| integer(a, -2f64.powi(63), 2f64.powi(63), a as i64, i64::MIN)),
                    Tile::U32(out) => map(out, a, |a: f64| integer(a, 0.0, 2f64.powi(32), a as u32, u32::MAX)),
                    Tile::U64(out) => map(out, a, |a: f64| integer(a, 0.0, 2f64.powi(64), a as u64, u64::MAX)),
                    _ => unreachable!("the types of values are checked"),
                },
                Tile::Bool(_) | Tile::Taken => unreachable!("the types of values are checked"),
            }
        };
    }
    from_integers!(I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64);
}

/// `number` if what is left of `a` without its fraction is at least `low` and less than `high`.
#[inline(always)]
fn integer<N>(a: f64, low: f64, high: f64, number: N, otherwise: N) -> N {
    let whole = a.trunc();
    if whole >= low && whole < high {
        number
    } else {
        otherwise
    }
}
