//! From a program to steps over tiles.
//!
//! What loops compute is divided into as few of them as possible: one for each stage, where a node is one stage later
//! than the nodes it needs that are computed in other ways. Those are steps of their own between the loops.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Schema};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::code::{Code, ColumnCode, Constant, LoopCode, Output, Place, Prepared, Reg, Register, Step, Variant, Work};
use super::form::{Form, form, quotient};
use super::lane::{Lane, scalar_of};
use super::lower::{Input, Lowered, Lowering, Regs, Valid};
use crate::options::Options;
use crate::program::{Kind, NodeId, Program};
use crate::types::Type;

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
    for root in roots {
        needed[root.index()] = true;
    }
    for at in (0..count).rev().filter(|&at| constants[at].is_none()) {
        if needed[at] {
            program
                .uses(NodeId(at as u32))
                .iter()
                .for_each(|of| needed[of.index()] = true);
        }
    }
    let mut compiler = Compiler {
        program,
        constants,
        schema,
        options,
        code: Code::default(),
        registers: vec![None; count],
        forms: vec![None; count],
        stages: vec![0; count],
    };
    let nodes: Vec<NodeId> = (0..count)
        .filter(|&at| needed[at])
        .map(|at| NodeId(at as u32))
        .collect();
    compiler.classify(&nodes);
    compiler.steps(&nodes, roots);
    compiler.code.results = roots.iter().map(|&root| compiler.reg(root)).collect();
    let copied = |result: &Reg| matches!(compiler.code.registers[result.index()].place, Place::Column(_));
    compiler.code.has_groups |= compiler.code.results.iter().any(copied);
    compiler.places();
    compiler.code
}

struct Compiler<'a> {
    program: &'a Program,
    constants: &'a [Option<ArrayRef>],
    schema: &'a Schema,
    options: &'a Options,
    code: Code,
    registers: Vec<Option<Reg>>,
    /// What loops compute.
    forms: Vec<Option<Form>>,
    /// The stage of each node: the loop that computes it, or after which it is computed.
    stages: Vec<usize>,
}

impl Compiler<'_> {
    fn ty(&self, id: NodeId) -> Type {
        self.program.get(id).ty
    }

    fn lane(&self, id: NodeId) -> Option<Lane> {
        Lane::of(self.ty(id))
    }

    fn is_constant(&self, id: NodeId) -> bool {
        self.constants[id.index()].is_some()
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

    /// Finds what loops compute, and in which stage.
    fn classify(&mut self, nodes: &[NodeId]) {
        for &id in nodes.iter().filter(|&&id| self.constants[id.index()].is_none()) {
            let found = form(self.program, id, self.options);
            let uses = self.program.uses(id);
            let looped = found.is_some();
            let stage = uses.iter().map(|of| {
                let later = looped && self.forms[of.index()].is_none() && !self.is_read(*of);
                self.stages[of.index()] + usize::from(later)
            });
            self.stages[id.index()] = stage.max().unwrap_or(0);
            self.forms[id.index()] = found;
        }
    }

    /// True for what exists before any step: constants, and columns that are read where they are.
    fn is_read(&self, id: NodeId) -> bool {
        match self.program.get(id).kind {
            _ if self.is_constant(id) => true,
            Kind::Field(column) => self.reads(id, column),
            _ => false,
        }
    }

    /// Whether a column is read where it is; else it is converted first.
    fn reads(&self, id: NodeId, column: usize) -> bool {
        let data_type = self.schema.field(column).data_type();
        let converted = matches!(data_type, DataType::Dictionary(..) | DataType::Float16);
        !converted && (self.lane(id).is_some() || self.ty(id) == Type::Bool)
    }

    fn steps(&mut self, nodes: &[NodeId], roots: &[NodeId]) {
        for &id in nodes.iter().filter(|&&id| self.constants[id.index()].is_none()) {
            if let Kind::Field(column) = self.program.get(id).kind
                && self.reads(id, column)
            {
                self.column(id, column);
            }
        }
        let last = nodes.iter().map(|id| self.stages[id.index()]).max().unwrap_or(0);
        for stage in 0..=last {
            let here = nodes.iter().copied().filter(|&id| self.stages[id.index()] == stage);
            let here: Vec<NodeId> = here.filter(|&id| !self.is_read(id)).collect();
            let (looped, apart): (Vec<NodeId>, Vec<NodeId>) =
                here.into_iter().partition(|id| self.forms[id.index()].is_some());
            if !looped.is_empty() {
                self.looped(&looped, nodes, roots);
            }
            for id in apart {
                self.apart(id);
            }
        }
    }

    fn column(&mut self, id: NodeId, column: usize) {
        let lane = self.lane(id);
        let place = match lane {
            Some(_) => Place::Column(self.code.columns.len() as u32),
            None => Place::None,
        };
        let reg = self.register(id, place);
        self.code.columns.push(ColumnCode { column, reg, lane });
    }

    /// A step for a node that no loop computes.
    fn apart(&mut self, id: NodeId) {
        let uses = self.program.uses(id);
        let mut inputs: SmallVec<[Reg; 4]> = SmallVec::new();
        for of in &uses {
            let reg = self.reg(*of);
            if inputs.len() > 16 || !inputs.contains(&reg) {
                inputs.push(reg);
            }
        }
        let work = match quotient(self.program, id, self.options) {
            Some((lane, remainder)) => {
                self.code.has_groups = true;
                Work::Quotient(lane, remainder, [self.reg(uses[0]), self.reg(uses[1])])
            }
            None => {
                self.code.has_arrays = true;
                Work::Arrays
            }
        };
        let out = self.register(id, Place::None);
        self.code.steps.push(Step {
            work,
            outs: [out].into_iter().collect(),
            inputs,
        });
    }

    /// A step for nodes of one loop.
    fn looped(&mut self, looped: &[NodeId], nodes: &[NodeId], roots: &[NodeId]) {
        // The values that others read.
        let mut kept = vec![false; self.program.nodes().len()];
        roots.iter().for_each(|root| kept[root.index()] = true);
        let stage = self.stages[looped[0].index()];
        for &id in nodes.iter().filter(|&&id| !self.is_constant(id)) {
            if self.forms[id.index()].is_none() || self.stages[id.index()] != stage {
                self.program.uses(id).iter().for_each(|of| kept[of.index()] = true);
            }
        }
        let kept: Vec<NodeId> = looped.iter().copied().filter(|id| kept[id.index()]).collect();
        let mut inputs: SmallVec<[Reg; 4]> = SmallVec::new();
        for of in looped.iter().flat_map(|&id| self.program.uses(id)) {
            let inside = self.forms[of.index()].is_some() && self.stages[of.index()] == stage;
            if !inside && !self.is_constant(of) {
                let reg = self.reg(of);
                if !inputs.contains(&reg) {
                    inputs.push(reg);
                }
            }
        }
        let outs: SmallVec<[Reg; 1]> = kept.iter().map(|&id| self.register(id, Place::None)).collect();
        let plain = self.variant(looped, &kept, stage, None, false);
        let nullable = self.variant(looped, &kept, stage, Some(&plain), true);
        // Most batches have no nulls.
        plain.code.kernel();
        self.code.steps.push(Step {
            work: Work::Loop(Box::new(LoopCode { plain, nullable })),
            outs,
            inputs,
        });
    }

    /// The loop for nodes, with nulls and failures of its inputs or without.
    fn variant(
        &self,
        looped: &[NodeId],
        kept: &[NodeId],
        stage: usize,
        other: Option<&Variant>,
        nulls: bool,
    ) -> Variant {
        let mut to = Lowering::default();
        let mut known: FxHashMap<NodeId, Lowered> = FxHashMap::default();
        for &id in looped {
            let uses = self.program.uses(id);
            for &of in &uses {
                known.entry(of).or_insert_with(|| self.input(&mut to, of, nulls));
            }
            let args: SmallVec<[Lowered; 3]> = uses.iter().map(|of| known[of].clone()).collect();
            let Some(form) = &self.forms[id.index()] else {
                unreachable!("what loops compute has a form")
            };
            debug_assert_eq!(self.stages[id.index()], stage);
            let lowered = to.node(form, self.lane(id), &args);
            known.insert(id, lowered);
        }
        let (mut outputs, mut strict) = (Vec::new(), Vec::new());
        for &id in kept {
            let Some(reg) = self.registers[id.index()] else {
                unreachable!("registers are made first")
            };
            let Lowered { value, valid, failed } = known[&id].clone();
            to.builder.output(value);
            outputs.push(Output::Values(reg));
            match valid {
                Valid::In(regs) if regs.is_empty() => {}
                Valid::In(regs) => strict.push((reg, regs)),
                Valid::Bits(bits) => {
                    to.builder.output(bits);
                    outputs.push(Output::Valid(reg));
                }
            }
            if let Some(failed) = failed {
                to.builder.output(failed);
                outputs.push(Output::Failed(reg));
            }
        }
        let program = to.builder.finish();
        let code = match other {
            Some(other) if *other.code.program() == program => Arc::clone(&other.code),
            _ => Arc::new(Prepared::new(program)),
        };
        let inputs = to.inputs.into_iter().map(|(input, _)| input).collect();
        Variant {
            code,
            inputs,
            outputs,
            strict,
        }
    }

    /// A value that the loop does not compute.
    fn input(&self, to: &mut Lowering, id: NodeId, nulls: bool) -> Lowered {
        let lane = self.lane(id);
        if let Some(array) = &self.constants[id.index()] {
            let value = match scalar_of(self.ty(id), array) {
                Some((value, _)) => to.constant(value),
                None => to.builder.truth(array.is_valid(0) && array.as_boolean().value(0)),
            };
            let valid = match array.is_valid(0) {
                true => Valid::In(Regs::new()),
                false => Valid::Bits(to.builder.truth(false)),
            };
            return Lowered {
                value,
                valid,
                failed: None,
            };
        }
        let Some(reg) = self.registers[id.index()] else {
            unreachable!("what a loop reads is computed before")
        };
        let ty = lane.map_or(tautomer_loops::Type::Bool, Lane::in_loops);
        let value = to.input(Input::Values(reg), ty);
        let fails = nulls && !self.is_read(id);
        Lowered {
            value,
            valid: Valid::In(if nulls {
                [reg].into_iter().collect()
            } else {
                Regs::new()
            }),
            failed: fails.then(|| to.input(Input::Failed(reg), tautomer_loops::Type::Bool)),
        }
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
            for out in &step.outs {
                let Some(lane) = Lane::of(code.registers[out.index()].ty) else {
                    continue;
                };
                let used = results.get(out).map_or(&[][..], |used| used.as_slice());
                code.registers[out.index()].place = match used {
                    &[result] if last[out.index()] == 0 => Place::Result(result as u32),
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
}
