//! From a program to steps over tiles.
//!
//! Arithmetic on floats whose result is used once joins the chain of its user, so that it never leaves the registers of
//! the processor. What no loop over tiles exists for is computed over arrays.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Schema};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::chain::{One, Two};
use super::code::{
    Binary, Bitwise, ChainCode, Code, ColumnCode, Constant, Function, LinkCode, Place, Reg, Register, Step, With, Work,
};
use super::lane::{Lane, Scalar, scalar_of};
use super::links::{ChainNumber, join};
use super::loops::Comparison;
use crate::function::{Nulls, Real};
use crate::options::{Options, Overflow};
use crate::program::{Kind, Literal, NodeId, Program};
use crate::types::{Type, TypeSet};

/// The most members that each row is compared with in turn.
const MAX_MEMBERS: usize = 8;

/// The steps for the results of a program; `constants` has the values of nodes that are the same in every row.
pub(super) fn compile(
    program: &Program,
    roots: &[NodeId],
    constants: &[Option<ArrayRef>],
    schema: &Schema,
    options: &Options,
) -> Code {
    let count = program.nodes().len();
    let mut needed = vec![false; count];
    let mut users = vec![0u32; count];
    let mut user: Vec<Option<NodeId>> = vec![None; count];
    for root in roots {
        needed[root.index()] = true;
        // A result is never part of another chain.
        users[root.index()] += 2;
    }
    for at in (0..count).rev().filter(|&at| constants[at].is_none()) {
        if needed[at] {
            for of in program.uses(NodeId(at as u32)) {
                needed[of.index()] = true;
                users[of.index()] += 1;
                user[of.index()] = Some(NodeId(at as u32));
            }
        }
    }
    let mut compiler = Compiler {
        program,
        constants,
        schema,
        options,
        code: Code::default(),
        registers: vec![None; count],
        open: FxHashMap::default(),
    };
    for at in (0..count).filter(|&at| needed[at]) {
        let id = NodeId(at as u32);
        let next = user[at].filter(|_| users[at] == 1);
        compiler.node(id, next);
    }
    compiler.code.results = roots.iter().map(|&root| compiler.reg(root)).collect();
    compiler.places();
    compiler.code
}

/// A chain that may still grow.
struct Chain {
    start: NodeId,
    links: Vec<Draft>,
}

#[derive(Clone, Copy)]
enum Draft {
    Two(Two, NodeId),
    One(One),
}

struct Compiler<'a> {
    program: &'a Program,
    constants: &'a [Option<ArrayRef>],
    schema: &'a Schema,
    options: &'a Options,
    code: Code,
    registers: Vec<Option<Reg>>,
    /// Chains whose only user is arithmetic that comes later.
    open: FxHashMap<NodeId, Chain>,
}

impl Compiler<'_> {
    fn ty(&self, id: NodeId) -> Type {
        self.program.get(id).ty
    }

    fn lane(&self, id: NodeId) -> Option<Lane> {
        Lane::of(self.ty(id))
    }

    fn register(&mut self, node: NodeId, place: Place) -> Reg {
        let reg = Reg(self.code.registers.len() as u32);
        let ty = self.ty(node);
        self.code.registers.push(Register { node, ty, place });
        self.registers[node.index()] = Some(reg);
        reg
    }

    /// The register of a node, which is made now if the node is a constant.
    fn reg(&mut self, id: NodeId) -> Reg {
        if let Some(reg) = self.registers[id.index()] {
            return reg;
        }
        let Some(array) = &self.constants[id.index()] else {
            unreachable!("nodes are compiled in order");
        };
        let (ty, valid) = (self.ty(id), array.is_valid(0));
        let place = match scalar_of(ty, array) {
            Some((value, _)) => {
                self.code.constants.push(value);
                Place::Same(self.code.constants.len() as u32 - 1)
            }
            None => Place::None,
        };
        let set = ty == Type::Bool && valid && array.as_boolean().value(0);
        let reg = self.register(id, place);
        self.code.same.push(Constant {
            reg,
            bits: [if set { !0 } else { 0 }; _],
            valid: (!valid).then_some([0; _]),
        });
        reg
    }

    /// The value of a node that is one number in every row, and not null.
    fn scalar(&self, id: NodeId) -> Option<Scalar> {
        let (value, valid) = scalar_of(self.ty(id), self.constants[id.index()].as_ref()?)?;
        valid.then_some(value)
    }

    fn node(&mut self, id: NodeId, user: Option<NodeId>) {
        if self.constants[id.index()].is_some() {
            return;
        }
        if let Kind::Field(column) = self.program.get(id).kind
            && self.field(id, column)
        {
            return;
        }
        if let Some(chain) = self.chain(id) {
            let joins = user.is_some_and(|user| self.arithmetic(user).is_some() && self.ty(user) == self.ty(id));
            match joins {
                true => drop(self.open.insert(id, chain)),
                false => self.close(id, chain),
            }
            return;
        }
        match self.work(id) {
            Some((work, inputs)) => self.step(id, work, &inputs),
            None => {
                let inputs: SmallVec<[Reg; 4]> = self.program.uses(id).into_iter().map(|of| self.reg(of)).collect();
                self.code.has_arrays = true;
                self.step(id, Work::Arrays, &inputs);
            }
        }
    }

    fn step(&mut self, id: NodeId, work: Work, inputs: &[Reg]) {
        let mut each: SmallVec<[Reg; 4]> = SmallVec::new();
        for input in inputs {
            if each.len() > 16 || !each.contains(input) {
                each.push(*input);
            }
        }
        let out = self.register(id, Place::None);
        let inputs = each;
        self.code.steps.push(Step { work, out, inputs });
    }

    /// A column that is read where it is; false if it is converted first.
    fn field(&mut self, id: NodeId, column: usize) -> bool {
        let data_type = self.schema.field(column).data_type();
        let converted = matches!(data_type, DataType::Dictionary(..) | DataType::Float16);
        let lane = self.lane(id);
        if converted || (lane.is_none() && self.ty(id) != Type::Bool) {
            return false;
        }
        let place = match lane {
            Some(_) => Place::Column(self.code.columns.len() as u32),
            None => Place::None,
        };
        let reg = self.register(id, place);
        self.code.columns.push(ColumnCode { column, reg, lane });
        true
    }

    /// A node as a link: the operation and its operands. Only of floats of one type.
    fn arithmetic(&self, id: NodeId) -> Option<(Result<Two, One>, &[NodeId])> {
        let node = self.program.get(id);
        let Kind::Call(function, args) = &node.kind else {
            return None;
        };
        if !node.ty.is_float() || args.iter().any(|&arg| self.ty(arg) != node.ty) {
            return None;
        }
        let op = match function.name() {
            "add" => Ok(Two::Add),
            "subtract" => Ok(Two::Subtract),
            "multiply" => Ok(Two::Multiply),
            "divide" => Ok(Two::Divide),
            "negative" => Err(One::Negative),
            "abs" => Err(One::Abs),
            "sqrt" => Err(One::Sqrt),
            _ => return None,
        };
        Some((op, args))
    }

    /// The chain that ends with a node.
    fn chain(&mut self, id: NodeId) -> Option<Chain> {
        let (op, args) = self.arithmetic(id)?;
        let args: SmallVec<[NodeId; 2]> = args.iter().copied().collect();
        Some(match (op, args.as_slice()) {
            (Err(op), &[a]) => {
                let mut chain = self.opened(a);
                chain.links.push(Draft::One(op));
                chain
            }
            (Ok(op), &[a, b]) => {
                let length = |id: NodeId| self.open.get(&id).map_or(0, |chain| chain.links.len());
                // The longer chain goes on; a constant never begins one.
                let swap = length(b) > length(a) || (length(a) == 0 && self.constants[a.index()].is_some());
                let (first, other) = if swap { (b, a) } else { (a, b) };
                if let Some(chain) = self.open.remove(&other) {
                    self.close(other, chain);
                }
                let op = match (op, swap) {
                    (Two::Subtract, true) => Two::SubtractFrom,
                    (Two::Divide, true) => Two::DivideInto,
                    (op, _) => op,
                };
                let mut chain = self.opened(first);
                chain.links.push(Draft::Two(op, other));
                chain
            }
            _ => unreachable!("arithmetic has one operand or two"),
        })
    }

    fn opened(&mut self, id: NodeId) -> Chain {
        self.open.remove(&id).unwrap_or(Chain {
            start: id,
            links: Vec::new(),
        })
    }

    /// A step for a chain.
    fn close(&mut self, id: NodeId, chain: Chain) {
        let start = self.reg(chain.start);
        let mut inputs = vec![start];
        let work = match self.lane(id) {
            Some(Lane::F32) => {
                let links = self.links::<f32>(&chain.links, &mut inputs);
                Work::Chain32(ChainCode { start, links })
            }
            _ => {
                let links = self.links::<f64>(&chain.links, &mut inputs);
                Work::Chain64(ChainCode { start, links })
            }
        };
        self.step(id, work, &inputs);
    }

    fn links<N: ChainNumber>(&mut self, drafts: &[Draft], inputs: &mut Vec<Reg>) -> Vec<LinkCode<N>> {
        let mut out: Vec<LinkCode<N>> = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let link = match *draft {
                Draft::One(op) => LinkCode::One(op),
                Draft::Two(op, other) => match (op, self.scalar(other).map(N::scalar)) {
                    // The same numbers, in forms that are faster and that runs are found in.
                    (Two::Subtract, Some(value)) => LinkCode::Two(Two::Add, With::Same(value.negated())),
                    (Two::Divide, Some(value)) => match value.exact_reciprocal() {
                        Some(reciprocal) => LinkCode::Two(Two::Multiply, With::Same(reciprocal)),
                        None => LinkCode::Two(op, With::Same(value)),
                    },
                    (op, Some(value)) => LinkCode::Two(op, With::Same(value)),
                    (op, None) => {
                        let reg = self.reg(other);
                        inputs.push(reg);
                        match self.code.registers[reg.index()].place {
                            // A null constant.
                            Place::Same(_) => LinkCode::Two(op, With::Same(N::default())),
                            _ => LinkCode::Two(op, With::Each(reg)),
                        }
                    }
                },
            };
            join(&mut out, link);
        }
        out
    }

    /// Gives every register of numbers a place.
    fn places(&mut self) {
        let code = &mut self.code;
        let mut last = vec![0usize; code.registers.len()];
        for (at, step) in code.steps.iter().enumerate() {
            for input in &step.inputs {
                last[input.index()] = at + 1;
            }
        }
        let mut results: FxHashMap<Reg, SmallVec<[usize; 1]>> = FxHashMap::default();
        for (at, result) in code.results.iter().enumerate() {
            results.entry(*result).or_default().push(at);
        }
        let mut free: FxHashMap<Lane, Vec<u32>> = FxHashMap::default();
        for (at, step) in code.steps.iter().enumerate() {
            let out = step.out.index();
            if let Some(lane) = Lane::of(code.registers[out].ty) {
                let used = results.get(&step.out).map_or(&[][..], |used| used.as_slice());
                code.registers[out].place = match used {
                    &[result] if last[out] == 0 => Place::Result(result as u32),
                    _ => {
                        let slot = free.entry(lane).or_default().pop().unwrap_or_else(|| {
                            code.slots.push(lane);
                            code.slots.len() as u32 - 1
                        });
                        Place::Slot(slot)
                    }
                };
            }
            for input in &step.inputs {
                let register = code.registers[input.index()];
                if let (Place::Slot(slot), Some(lane)) = (register.place, Lane::of(register.ty))
                    && last[input.index()] == at + 1
                    && !results.contains_key(input)
                {
                    // Each input is listed once, except in very long lists.
                    let free = free.entry(lane).or_default();
                    if !free.contains(&slot) {
                        free.push(slot);
                    }
                }
            }
        }
    }

    /// The step of a node over tiles and the registers that it reads; `None` if it is computed over arrays.
    fn work(&mut self, id: NodeId) -> Option<(Work, SmallVec<[Reg; 4]>)> {
        let program = self.program;
        let node = program.get(id);
        let wraps = self.options.overflow == Overflow::Wrap;
        let number = |ty: Type| matches!(ty, Type::Int32 | Type::Int64 | Type::Float32 | Type::Float64);
        let work = match &node.kind {
            Kind::Call(function, args) => match *args.as_slice() {
                [a] => {
                    let ty = self.ty(a);
                    match function.name() {
                        "not" => Work::Not(self.reg(a)),
                        "castINT" | "castBIGINT" | "castFLOAT4" | "castFLOAT8"
                            if number(ty) && ty != node.ty && (wraps || node.ty.is_float()) =>
                        {
                            Work::Convert(Lane::of(ty)?, Lane::of(node.ty)?, self.reg(a))
                        }
                        _ if !ty.is_float() || ty != node.ty || function.nulls != Nulls::Strict => return None,
                        name => {
                            let form = match (name, function.real) {
                                ("exp", _) => Function::Exp,
                                ("ln" | "log", _) => Function::Ln,
                                ("sin", _) => Function::Sin,
                                ("cos", _) => Function::Cos,
                                ("tanh", _) => Function::Tanh,
                                ("floor", _) => Function::Floor,
                                ("ceil", _) => Function::Ceil,
                                ("truncate", _) => Function::Trunc,
                                ("bround", _) => Function::Even,
                                (_, Some(Real::One(f))) if ty == Type::Float64 => Function::Other(f),
                                _ => return None,
                            };
                            Work::Function(Lane::of(ty)?, form, self.reg(a))
                        }
                    }
                }
                [a, b] if self.ty(a) == self.ty(b) => self.pair(node.ty, function, [a, b])?,
                _ => return None,
            },
            Kind::Cast(of) => {
                let ty = self.ty(*of);
                if ty == node.ty || !number(ty) || !number(node.ty) || !(wraps || node.ty.is_float()) {
                    return None;
                }
                Work::Convert(Lane::of(ty)?, Lane::of(node.ty)?, self.reg(*of))
            }
            Kind::If(parts) => {
                let lane = Lane::of(node.ty);
                if lane.is_none() && node.ty != Type::Bool {
                    return None;
                }
                Work::Select(lane, parts.map(|part| self.reg(part)))
            }
            Kind::And(parts) => Work::Connective(true, parts.map(|part| self.reg(part))),
            Kind::Or(parts) => Work::Connective(false, parts.map(|part| self.reg(part))),
            Kind::In(of, members) => {
                let lane = self.lane(*of)?;
                let members = few(lane, members)?;
                let has_null = matches!(&node.kind, Kind::In(_, all) if all.contains(&Literal::Null));
                Work::Member(lane, self.reg(*of), members, has_null)
            }
            Kind::Field(_) | Kind::Literal(_) => return None,
        };
        let inputs = self.program.uses(id).into_iter().map(|of| self.reg(of)).collect();
        Some((work, inputs))
    }

    /// A function of two values of one type.
    fn pair(&mut self, result: Type, function: &crate::function::Function, [a, b]: [NodeId; 2]) -> Option<Work> {
        let ty = self.ty(a);
        let (forward, swapped) = ([self.reg(a), self.reg(b)], [self.reg(b), self.reg(a)]);
        if ty == Type::Bool {
            let op = match function.name() {
                "equal" => Bitwise::Same,
                "not_equal" | "bitwise_xor" => Bitwise::Xor,
                "bitwise_and" => Bitwise::And,
                "bitwise_or" => Bitwise::Or,
                _ => return None,
            };
            return Some(Work::Bits(op, forward));
        }
        let lane = Lane::of(ty)?;
        let integer = matches!(ty, Type::Int32 | Type::Int64);
        let wraps = integer && self.options.overflow == Overflow::Wrap;
        let binary = |op| Some(Work::Binary(lane, op, forward));
        let compare = |how, opposite, args| Some(Work::Compare(lane, how, opposite, args));
        match function.name() {
            "equal" => compare(Comparison::Equal, false, forward),
            "not_equal" => compare(Comparison::Equal, true, forward),
            "less_than" => compare(Comparison::Less, false, forward),
            "less_than_or_equal_to" => compare(Comparison::LessOrEqual, false, forward),
            "greater_than" => compare(Comparison::Less, false, swapped),
            "greater_than_or_equal_to" => compare(Comparison::LessOrEqual, false, swapped),
            _ if !TypeSet::NUMBERS.has(ty) || result != ty => None,
            "greatest" => binary(Binary::Greatest),
            "least" => binary(Binary::Least),
            "add" if wraps => binary(Binary::Add),
            "subtract" if wraps => binary(Binary::Subtract),
            "multiply" if wraps => binary(Binary::Multiply),
            "divide" | "div" if wraps => Some(Work::Quotient(lane, false, forward)),
            "mod" if wraps => Some(Work::Quotient(lane, true, forward)),
            "bitwise_and" if integer => binary(Binary::And),
            "bitwise_or" if integer => binary(Binary::Or),
            "bitwise_xor" if integer => binary(Binary::Xor),
            _ => match function.real {
                Some(Real::Two(f)) if ty == Type::Float64 => binary(Binary::Other(f)),
                _ => None,
            },
        }
    }
}

/// The members of a short list that values of a lane can be equal to.
fn few(lane: Lane, members: &[Literal]) -> Option<Arc<[Scalar]>> {
    if members.len() > MAX_MEMBERS {
        return None;
    }
    let each = members.iter().filter_map(|member| match (lane, member) {
        (_, Literal::Null) => None,
        (Lane::F64, Literal::Float(bits)) => Some(Some(Scalar::F64(f64::from_bits(*bits)))),
        (Lane::F32, Literal::Float(bits)) => {
            let wide = f64::from_bits(*bits);
            // A number that no `f32` has is equal to none of them.
            (f64::from(wide as f32) == wide).then_some(Some(Scalar::F32(wide as f32)))
        }
        (Lane::I32, Literal::Int(value)) => Some(i32::try_from(*value).ok().map(Scalar::I32)),
        (Lane::I64, Literal::Int(value)) => Some(i64::try_from(*value).ok().map(Scalar::I64)),
        _ => Some(None),
    });
    each.collect()
}
