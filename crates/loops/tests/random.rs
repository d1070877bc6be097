//! Machine code gives what the interpreter gives, on random programs.

use proptest::prelude::*;
use tautomer_loops::{
    Binary, Builder, Column, Comparison, Function, Kernel, Means, Program, Shift, Sink, Source, Type, Unary, Value,
    functions,
};

/// Choices from random bytes; zeros follow.
struct Tape<'a>(&'a [u8]);

impl Tape<'_> {
    fn next(&mut self) -> usize {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first.into()
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.next() % all.len()]
    }
}

/// Numbers without NaN, whose bits are free.
fn number(b: &mut Builder, x: Value) -> Value {
    let ty = b.ty(x);
    if !ty.is_float() {
        return x;
    }
    let (is_nan, one) = (b.is_nan(x), b.float(ty, 1.0));
    b.select(is_nan, one, x)
}

/// A value of a type that exists, or a constant.
fn value(b: &mut Builder, tape: &mut Tape<'_>, values: &[Value], ty: Type) -> Value {
    let of_type: Vec<Value> = values.iter().copied().filter(|&value| b.ty(value) == ty).collect();
    let pick = tape.next();
    if !of_type.is_empty() && !pick.is_multiple_of(5) {
        // Mostly late ones.
        return of_type[of_type.len() - 1 - (pick / 5) % of_type.len().min(6)];
    }
    match ty {
        Type::Bool => b.truth(pick.is_multiple_of(2)),
        Type::F32 => b.constant(tape.of(&[0.0f32, -0.0, 1.0, -2.5, 1e30, 0.1, f32::INFINITY])),
        Type::F64 => b.constant(tape.of(&[0.0f64, -0.0, 1.0, -2.5, 1e300, 0.1, f64::NEG_INFINITY])),
        _ => b.bits(
            ty,
            (tape.next() as u64).wrapping_mul(0x0123_4567_89ab_cdef) >> (64 - 8 * ty.size()),
        ),
    }
}

type Write = fn(&mut Builder, Value) -> Value;

fn step(b: &mut Builder, tape: &mut Tape<'_>, values: &[Value]) -> Value {
    let ty = b.ty(values[values.len() - 1 - tape.next() % values.len()]);
    let ty = if ty == Type::Bool { Type::F64 } else { ty };
    let of = |b: &mut Builder, tape: &mut Tape<'_>| value(b, tape, values, ty);
    let (x, y, z) = (of(b, tape), of(b, tape), of(b, tape));
    match tape.next() % 16 {
        0 | 1 => {
            let op = tape.of(&[Binary::Add, Binary::Sub, Binary::Min, Binary::Max]);
            b.binary(op, x, y)
        }
        2 => b.mul(x, y),
        3 if ty.is_float() => b.div(x, y),
        3 => {
            let op = tape.of(&[Binary::And, Binary::Or, Binary::Xor]);
            b.binary(op, x, y)
        }
        4 | 5 if ty.is_float() => b.fma(x, y, z),
        4 if ty.size() > 1 => {
            let how = tape.of(&[Shift::Left, Shift::Right, Shift::Arithmetic]);
            let by = tape.next() % (8 * ty.size());
            b.shift(how, x, by as u8)
        }
        6 if ty.is_float() => {
            let all = [
                Unary::Sqrt,
                Unary::Round,
                Unary::Floor,
                Unary::Ceil,
                Unary::Trunc,
                Unary::Abs,
            ];
            b.unary(tape.of(&all), x)
        }
        6 => b.unary(Unary::Abs, x),
        7 => b.neg(x),
        8 | 9 => {
            let how = [
                Comparison::Equal,
                Comparison::NotEqual,
                Comparison::Less,
                Comparison::LessOrEqual,
            ];
            b.compare(tape.of(&how), x, y)
        }
        10 => {
            let (p, q) = (value(b, tape, values, Type::Bool), value(b, tape, values, Type::Bool));
            let op = tape.of(&[Binary::And, Binary::Or, Binary::Xor]);
            let both = b.binary(op, p, q);
            b.not(both)
        }
        11 => {
            let p = value(b, tape, values, Type::Bool);
            b.select(p, x, y)
        }
        12 | 13 => changed(b, tape, x),
        14 if ty == Type::F64 => {
            let far = b.less(x, y);
            b.patch(far, Function::Two(|a, b| a * 0.5 + b.min(1.0)), [y, z], x)
        }
        14 | 15 if ty.is_float() => {
            let all: [Write; 6] = [
                functions::exp,
                functions::ln,
                functions::tanh,
                functions::sigmoid,
                functions::sin,
                functions::cos,
            ];
            tape.of(&all)(b, x)
        }
        _ => b.sub(y, x),
    }
}

/// A value of another type.
fn changed(b: &mut Builder, tape: &mut Tape<'_>, x: Value) -> Value {
    let (from, to) = (b.ty(x), tape.of(Type::NUMBERS));
    match from {
        _ if !tape.next().is_multiple_of(3) => b.convert(to, x),
        _ if from.is_float() && to.is_integer() => functions::saturating(b, to, x),
        Type::U16 => b.from_half(x),
        Type::F32 => {
            let x = number(b, x);
            b.to_half(x)
        }
        Type::F64 => {
            let x = number(b, x);
            b.cast(Type::I64, x)
        }
        _ => b.convert(to, x),
    }
}

/// A program over one input of each type, a truth value, and a uniform input.
fn program(tape: &mut Tape<'_>, steps: usize) -> Program {
    let mut b = Builder::new();
    let mut values: Vec<Value> = Vec::new();
    // Some programs have narrow types alone, so that groups of rows have different sizes.
    let widest = tape.of(&[1, 2, 4, 4, 8, 8, 8]);
    for &ty in Type::NUMBERS.iter().filter(|ty| ty.size() <= widest) {
        if !tape.next().is_multiple_of(3) {
            values.push(b.input(ty));
        }
    }
    values.push(b.input(Type::Bool));
    values.push(b.uniform(tape.of(Type::NUMBERS)));
    for _ in 0..steps {
        let next = step(&mut b, tape, &values);
        values.push(next);
    }
    for at in 0..1 + tape.next() % 4 {
        b.output(values[values.len() - 1 - at.min(values.len() - 1)]);
    }
    b.finish()
}

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

macro_rules! columns {
    ($($variant:ident $native:ident $field:ident,)*) => {
        /// Rows of every type.
        struct Rows {
            $($field: Vec<$native>,)*
            truths: Vec<u64>,
        }

        impl Rows {
            fn new(rng: &mut Rng, rows: usize) -> Rows {
                Rows {
                    $($field: (0..rows).map(|_| random(rng)).collect(),)*
                    truths: (0..rows.div_ceil(64)).map(|_| rng.next()).collect(),
                }
            }

            fn source(&self, ty: Type) -> Source<'_> {
                match ty {
                    $(Type::$variant => $native::source(&self.$field),)*
                    Type::Bool => Source::Bool(&self.truths),
                }
            }

            fn sink(&mut self, ty: Type) -> Sink<'_> {
                match ty {
                    $(Type::$variant => $native::sink(&mut self.$field),)*
                    Type::Bool => Sink::Bool(&mut self.truths),
                }
            }

            /// The results as texts; those of NaNs are equal.
            fn texts(&self, ty: Type, rows: usize) -> Vec<String> {
                match ty {
                    $(Type::$variant => self.$field[..rows].iter().map(|x| format!("{x:?}")).collect(),)*
                    Type::Bool => (0..rows).map(|at| (self.truths[at / 64] >> (at % 64) & 1).to_string()).collect(),
                }
            }
        }
    };
}
columns!(F32 f32 a, F64 f64 b, I8 i8 c, I16 i16 d, I32 i32 e, I64 i64 f, U8 u8 g, U16 u16 h, U32 u32 i, U64 u64 j,);

/// Plain numbers, and sometimes any bits at all.
fn random<N: Column>(rng: &mut Rng) -> N {
    let bits = rng.next();
    let small = (bits >> 8) as f64 / (1u64 << 56) as f64 * 20.0 - 10.0;
    match (N::TYPE, bits % 4) {
        (Type::F32, 1..) => N::from_bits((small as f32).to_bits().into()),
        (Type::F64, 1..) => N::from_bits(small.to_bits()),
        (_, 1) => N::from_bits(bits % 100),
        _ => N::from_bits(bits >> 8 ^ bits << 8),
    }
}

fn results(kernel: &Kernel, rows: usize, given: &Rows) -> Vec<Vec<String>> {
    let program = kernel.program();
    let inputs: Vec<Source<'_>> = program.inputs().iter().map(|&ty| given.source(ty)).collect();
    let types: Vec<Type> = program.outputs().iter().map(|&value| program.ty(value)).collect();
    let mut filled = Rng(99);
    let mut out: Vec<Rows> = types.iter().map(|_| Rows::new(&mut filled, rows + 9)).collect();
    let mut sinks: Vec<Sink<'_>> = out.iter_mut().zip(&types).map(|(rows, &ty)| rows.sink(ty)).collect();
    kernel.run(rows, &inputs, &mut sinks);
    drop(sinks);
    // Numbers after the last row are not touched.
    let mut filled = Rng(99);
    let untouched: Vec<Rows> = types.iter().map(|_| Rows::new(&mut filled, rows + 9)).collect();
    for ((out, before), &ty) in out
        .iter()
        .zip(&untouched)
        .zip(&types)
        .filter(|(_, ty)| **ty != Type::Bool)
    {
        assert_eq!(
            out.texts(ty, rows + 9)[rows..],
            before.texts(ty, rows + 9)[rows..],
            "beyond the last row"
        );
    }
    out.iter().zip(&types).map(|(out, &ty)| out.texts(ty, rows)).collect()
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(400))]

    #[test]
    fn machine_code_is_what_the_interpreter_computes(
        tape in prop::collection::vec(any::<u8>(), 20..900),
        steps in 1usize..90,
        seed in 1u64..,
    ) {
        let program = program(&mut Tape(&tape), steps);
        let fast = [Means::Fastest, Means::Avx2].map(|means| Kernel::by(program.clone(), means));
        let plain = Kernel::by(program, Means::Interpreter);
        let mut rng = Rng(seed);
        for rows in [0, 1, 7, 8, 9, 63, 64, 65, 255, 300] {
            let given = Rows::new(&mut rng, rows.max(1));
            let expected = results(&plain, rows, &given);
            for fast in &fast {
                prop_assert_eq!(results(fast, rows, &given), expected.clone(), "{} rows, {:?}", rows, fast.program());
            }
        }
    }
}
