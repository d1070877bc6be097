//! Nodes as instructions of a loop: their values, their validity, and the rows that fail.
//!
//! Where functions are null if an operand is, validity is not computed in the loop: it is a list of registers whose
//! bitmaps are combined apart, 64 rows at a time. A loop reads or writes bits of validity only for `if`, `and` and `or`.

use smallvec::SmallVec;
use tautomer_loops::{Binary, Builder, Comparison, Function, Shift, Unary, Value, functions};

use super::code::Reg;
use super::form::{Bitwise, Form, One, Two};
use super::lane::{Lane, Scalar};

/// Registers, each once, in order.
pub(super) type Regs = SmallVec<[Reg; 4]>;

/// Which rows are not null.
#[derive(Debug, Clone)]
pub(super) enum Valid {
    /// Those valid in all of these registers.
    In(Regs),
    /// A truth value of the loop.
    Bits(Value),
}

/// A node in a loop.
#[derive(Debug, Clone)]
pub(super) struct Lowered {
    pub(super) value: Value,
    pub(super) valid: Valid,
    /// A truth value of the loop: the rows that fail.
    pub(super) failed: Option<Value>,
}

/// An input of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Input {
    /// The numbers, or bits, of a register.
    Values(Reg),
    /// The rows that are valid in all of these registers.
    Valid(Regs),
    /// The rows that failed.
    Failed(Reg),
}

/// Instructions of a loop, and where its inputs come from.
#[derive(Debug, Default)]
pub(super) struct Lowering {
    pub(super) builder: Builder,
    /// In order of the program's inputs.
    pub(super) inputs: Vec<(Input, Value)>,
}

impl Lowering {
    /// An input of the loop, which is read once.
    pub(super) fn input(&mut self, input: Input, ty: tautomer_loops::Type) -> Value {
        if let Some((_, value)) = self.inputs.iter().find(|(known, _)| *known == input) {
            return *value;
        }
        let value = self.builder.input(ty);
        self.inputs.push((input, value));
        value
    }

    /// A constant.
    pub(super) fn constant(&mut self, value: Scalar) -> Value {
        value.constant(&mut self.builder)
    }

    /// Validity as a truth value of the loop; `None` if all rows are valid.
    pub(super) fn bits(&mut self, valid: &Valid) -> Option<Value> {
        match valid {
            Valid::Bits(value) => Some(*value),
            Valid::In(regs) if regs.is_empty() => None,
            Valid::In(regs) => Some(self.input(Input::Valid(regs.clone()), tautomer_loops::Type::Bool)),
        }
    }

    fn both_valid(&mut self, a: &Valid, b: &Valid) -> Valid {
        match (a, b) {
            (Valid::In(a), Valid::In(b)) => {
                let mut all = a.clone();
                all.extend(b.iter().copied().filter(|reg| !a.contains(reg)));
                all.sort_unstable();
                Valid::In(all)
            }
            (a, b) => match (self.bits(a), self.bits(b)) {
                (Some(a), Some(b)) => Valid::Bits(self.builder.binary(Binary::And, a, b)),
                (Some(one), None) | (None, Some(one)) => Valid::Bits(one),
                (None, None) => Valid::In(Regs::new()),
            },
        }
    }

    fn or(&mut self, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.builder.binary(Binary::Or, a, b)),
            (a, b) => a.or(b),
        }
    }

    /// The instructions of a node; `ty` is that of its result, `None` for truth values.
    pub(super) fn node(&mut self, form: &Form, lane: Option<Lane>, args: &[Lowered]) -> Lowered {
        match (form, args) {
            (Form::Select, [condition, then, otherwise]) => self.select([condition, then, otherwise]),
            (Form::Connective(is_and), [a, b]) => self.connective(*is_and, a, b),
            _ => {
                let mut valid = Valid::In(Regs::new());
                let mut failed = None;
                for arg in args {
                    valid = self.both_valid(&valid, &arg.valid);
                    failed = self.or(failed, arg.failed);
                }
                let values: SmallVec<[Value; 2]> = args.iter().map(|arg| arg.value).collect();
                let value = self.strict(form, lane, &values);
                if let Form::Member(_, true) = form {
                    // What is not found may be the null.
                    valid = self.both_valid(&valid, &Valid::Bits(value));
                }
                Lowered { value, valid, failed }
            }
        }
    }

    /// A choice; a null condition takes the second branch.
    fn select(&mut self, [condition, then, otherwise]: [&Lowered; 3]) -> Lowered {
        let known = self.bits(&condition.valid);
        let mask = match known {
            None => condition.value,
            Some(valid) => self.builder.binary(Binary::And, condition.value, valid),
        };
        let valid = match (&then.valid, &otherwise.valid) {
            (Valid::In(a), Valid::In(b)) if a == b => Valid::In(a.clone()),
            (a, b) => Valid::Bits(self.choice(mask, [a, b].map(|valid| valid.clone()))),
        };
        let failed = match (then.failed, otherwise.failed) {
            (None, None) => None,
            (a, b) => {
                let none = self.builder.truth(false);
                Some(self.builder.select(mask, a.unwrap_or(none), b.unwrap_or(none)))
            }
        };
        Lowered {
            value: self.builder.select(mask, then.value, otherwise.value),
            valid,
            failed: self.or(failed, condition.failed),
        }
    }

    fn choice(&mut self, mask: Value, valid: [Valid; 2]) -> Value {
        let every = self.builder.truth(true);
        let [a, b] = valid.map(|valid| self.bits(&valid).unwrap_or(every));
        self.builder.select(mask, a, b)
    }

    /// Kleene's `and`, or `or`. Failures of the right side count where the left side does not decide.
    fn connective(&mut self, is_and: bool, a: &Lowered, b: &Lowered) -> Lowered {
        // `false` decides `and`, `true` decides `or`.
        let mut decides = |side: &Lowered| {
            let valid = self.bits(&side.valid);
            let bits = if is_and {
                self.builder.not(side.value)
            } else {
                side.value
            };
            match valid {
                None => bits,
                Some(valid) => self.builder.binary(Binary::And, bits, valid),
            }
        };
        let (by_a, by_b) = (decides(a), decides(b));
        let decided = self.builder.binary(Binary::Or, by_a, by_b);
        let late = b.failed.map(|failed| {
            let open = self.builder.not(by_a);
            self.builder.binary(Binary::And, failed, open)
        });
        let both = self.both_valid(&a.valid, &b.valid);
        let valid = match self.bits(&both) {
            None => Valid::In(Regs::new()),
            Some(both) => Valid::Bits(self.builder.binary(Binary::Or, both, decided)),
        };
        Lowered {
            value: if is_and { self.builder.not(decided) } else { decided },
            valid,
            failed: self.or(a.failed, late),
        }
    }

    /// A value that does not depend on validity.
    fn strict(&mut self, form: &Form, lane: Option<Lane>, args: &[Value]) -> Value {
        let b = &mut self.builder;
        match (form, args) {
            (Form::One(op), &[a]) => one(b, *op, a),
            (Form::Two(op), &[x, y]) => two(b, *op, x, y),
            (Form::Convert, &[a]) => match lane {
                Some(lane) => convert(b, lane.in_loops(), a),
                None => unreachable!("conversions are of numbers"),
            },
            (
                Form::Compare {
                    how,
                    opposite,
                    swapped,
                    total,
                },
                &[x, y],
            ) => {
                let (x, y) = if *swapped { (y, x) } else { (x, y) };
                let (x, y) = if *total { (key(b, x), key(b, y)) } else { (x, y) };
                let holds = b.compare(*how, x, y);
                if *opposite { b.not(holds) } else { holds }
            }
            (Form::Member(members, _), &[a]) => {
                let members: SmallVec<[Value; 8]> = members.iter().map(|&member| self.constant(member)).collect();
                let b = &mut self.builder;
                let mut found = None;
                for member in members {
                    let one = b.compare(Comparison::Equal, a, member);
                    found = Some(found.map_or(one, |found| b.binary(Binary::Or, found, one)));
                }
                found.unwrap_or_else(|| b.truth(false))
            }
            (Form::Bits(op), &[x, y]) => match op {
                Bitwise::And => b.binary(Binary::And, x, y),
                Bitwise::Or => b.binary(Binary::Or, x, y),
                Bitwise::Xor => b.binary(Binary::Xor, x, y),
                Bitwise::Same => {
                    let differ = b.binary(Binary::Xor, x, y);
                    b.not(differ)
                }
            },
            (Form::Not, &[a]) => b.not(a),
            _ => unreachable!("forms have the operands of their node"),
        }
    }
}

fn one(b: &mut Builder, op: One, a: Value) -> Value {
    use tautomer_loops::Type::F64;
    let ty = b.ty(a);
    let mut wide = |f: fn(&mut Builder, Value) -> Value| {
        let doubles = b.convert(F64, a);
        let value = f(b, doubles);
        b.convert(ty, value)
    };
    match op {
        One::Exp => wide(functions::exp),
        One::Ln => wide(functions::ln),
        One::Sin => wide(functions::sin),
        One::Cos => wide(functions::cos),
        One::Tanh => wide(functions::tanh),
        One::Negative => b.neg(a),
        One::Abs => b.unary(Unary::Abs, a),
        One::Sqrt => b.unary(Unary::Sqrt, a),
        One::Floor => b.unary(Unary::Floor, a),
        One::Ceil => b.unary(Unary::Ceil, a),
        One::Trunc => b.unary(Unary::Trunc, a),
        One::Even => b.unary(Unary::Round, a),
        One::Other(f) => each(b, f, [a, a]),
    }
}

/// A function of every row.
fn each(b: &mut Builder, f: Function, operands: [Value; 2]) -> Value {
    let every = b.truth(true);
    b.patch(every, f, operands, operands[0])
}

fn two(b: &mut Builder, op: Two, x: Value, y: Value) -> Value {
    let ty = b.ty(x);
    let extreme = |b: &mut Builder, op: Binary| {
        let value = b.binary(op, y, x);
        if !ty.is_float() {
            return value;
        }
        let is_nan = b.is_nan(x);
        b.select(is_nan, y, value)
    };
    match op {
        Two::Add => b.add(x, y),
        Two::Subtract => b.sub(x, y),
        // Loops have no product of eight bits.
        Two::Multiply if ty.size() == 1 => {
            let [x, y] = [x, y].map(|value| b.convert(tautomer_loops::Type::I16, value));
            let product = b.mul(x, y);
            b.convert(ty, product)
        }
        Two::Multiply => b.mul(x, y),
        Two::Divide => match exact_reciprocal(b, y) {
            // The same numbers, faster.
            Some(reciprocal) => b.mul(x, reciprocal),
            None => b.div(x, y),
        },
        Two::And => b.binary(Binary::And, x, y),
        Two::Or => b.binary(Binary::Or, x, y),
        Two::Xor => b.binary(Binary::Xor, x, y),
        Two::Greatest => extreme(b, Binary::Max),
        Two::Least => extreme(b, Binary::Min),
        Two::Other(f) => each(b, f, [x, y]),
    }
}

/// The reciprocal of a constant that is a power of two, which has one that is a normal number.
fn exact_reciprocal(b: &mut Builder, y: Value) -> Option<Value> {
    use tautomer_loops::{Number, Type};
    let bits = b.constant_bits(y)?;
    match b.ty(y) {
        Type::F32 => {
            let value = <f32 as Number>::from_bits(bits);
            let reciprocal = value.recip();
            let exact = value.is_normal() && reciprocal.is_normal() && value.to_bits() << 9 == 0;
            exact.then(|| b.constant(reciprocal))
        }
        Type::F64 => {
            let value = <f64 as Number>::from_bits(bits);
            let reciprocal = value.recip();
            let exact = value.is_normal() && reciprocal.is_normal() && value.to_bits() << 12 == 0;
            exact.then(|| b.constant(reciprocal))
        }
        _ => None,
    }
}

/// Conversion of numbers: floats to integers by rounding, halves away from zero.
fn convert(b: &mut Builder, to: tautomer_loops::Type, a: Value) -> Value {
    use tautomer_loops::Type::F64;
    if !b.ty(a).is_float() || to.is_float() {
        return b.convert(to, a);
    }
    let a = b.convert(F64, a);
    // The greatest number below a half: a half would carry what is just below one.
    let almost = b.constant(0.5f64.next_down());
    let almost = functions::copysign(b, almost, a);
    let sum = b.add(a, almost);
    let rounded = b.unary(Unary::Trunc, sum);
    functions::saturating(b, to, rounded)
}

/// An integer in the same order, in which NaN has a place too, and the zeros are one.
fn key(b: &mut Builder, a: Value) -> Value {
    use tautomer_loops::Type;
    let ty = b.ty(a);
    let (int, top) = if ty == Type::F32 {
        (Type::I32, 31)
    } else {
        (Type::I64, 63)
    };
    let (zero, none) = (b.float(ty, 0.0), b.bits(int, 0));
    let is_zero = b.compare(Comparison::Equal, a, zero);
    let bits = b.cast(int, a);
    let bits = b.select(is_zero, none, bits);
    let sign = b.shift(Shift::Arithmetic, bits, top);
    let most = b.bits(int, u64::MAX >> (64 - top));
    let flip = b.binary(Binary::And, sign, most);
    b.binary(Binary::Xor, bits, flip)
}
