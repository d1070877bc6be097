//! The language of the e-graph, and the facts known about each class.
//!
//! Attributes are leaves that follow the operands, in declared order, so that patterns match and bind them like
//! operands; constants, attributes and operators are numbered by an [`Interner`].

use std::cell::Cell;

use egg::{Analysis, DidMerge, Id, Language};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::EGraph;
use super::fold::{CONSTANT_LIMIT, enlarges};
use tautomer_graph::evaluate_call;
use tautomer_op::{AttrValue, Fact, Flow, Infer, Op, Semantics, is_pure, work};
use tautomer_tensor::{Dim, Tensor, Type};

/// The computation of an e-node from its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Head {
    /// The input of that number.
    Input(u32),
    /// The parameter of that number.
    Param(u32),
    /// An interned constant.
    Const(u32),
    /// An interned attribute value.
    Attr(u32),
    /// An omitted operand.
    Absent,
    /// A call of an interned operator: operands, then attributes.
    Op(u32),
    /// A tuple of values.
    Tuple,
    /// An element of a tuple.
    Proj(u32),
}

/// An e-node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ENode {
    /// Its computation.
    pub head: Head,
    /// Its operands, followed by its attributes.
    pub children: SmallVec<[Id; 6]>,
}

impl ENode {
    /// An e-node without children.
    pub fn leaf(head: Head) -> ENode {
        ENode {
            head,
            children: SmallVec::new(),
        }
    }
}

impl Language for ENode {
    type Discriminant = Head;

    fn discriminant(&self) -> Head {
        self.head
    }

    fn matches(&self, other: &Self) -> bool {
        self.head == other.head && self.children.len() == other.children.len()
    }

    fn children(&self) -> &[Id] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }
}

/// The numbering of constants, attribute values and operators.
#[derive(Debug, Clone, Default)]
pub struct Interner {
    constants: IndexMap<AttrValue, (), FxBuildHasher>,
    attrs: IndexSet<AttrValue, FxBuildHasher>,
    ops: Vec<Op>,
    known: IndexMap<&'static str, u32, FxBuildHasher>,
}

impl Interner {
    /// The number of a constant.
    pub fn constant(&mut self, value: &Tensor) -> u32 {
        // Constants are compared by bits, like attribute values.
        let entry = self.constants.insert_full(AttrValue::Tensor(value.clone()), ());
        entry.0 as u32
    }

    /// The constant of that number.
    pub fn constant_at(&self, i: u32) -> Option<&Tensor> {
        match self.constants.get_index(i as usize)?.0 {
            AttrValue::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// The number of an attribute value.
    pub fn attr(&mut self, value: &AttrValue) -> u32 {
        if let Some(i) = self.attrs.get_index_of(value) {
            return i as u32;
        }
        self.attrs.insert_full(value.clone()).0 as u32
    }

    /// The attribute value of that number.
    pub fn attr_at(&self, i: u32) -> &AttrValue {
        &self.attrs[i as usize]
    }

    /// The number of an operator of the table.
    pub fn known(&mut self, op: &'static tautomer_op::OpDef) -> u32 {
        if let Some(&i) = self.known.get(op.name) {
            return i;
        }
        self.ops.push(Op::Known(op));
        let i = self.ops.len() as u32 - 1;
        self.known.insert(op.name, i);
        i
    }

    /// The number of an operator of the table, if it occurs.
    pub fn number_of(&self, op: &tautomer_op::OpDef) -> Option<u32> {
        self.known.get(op.name).copied()
    }

    /// A new number for a call that may not be merged with an equal one.
    pub fn unique(&mut self, op: Op) -> u32 {
        self.ops.push(op);
        self.ops.len() as u32 - 1
    }

    /// The operator of that number.
    pub fn op_at(&self, i: u32) -> &Op {
        &self.ops[i as usize]
    }
}

/// The facts known about a class.
#[derive(Debug, Clone)]
pub struct ClassData {
    /// The type of its value; [`Type::Absent`] for attributes.
    pub ty: Type,
    /// Its value, if it is constant.
    pub value: Option<Tensor>,
    /// The attribute value, if it is one.
    pub attr: Option<u32>,
    /// True if it depends only on parameters and constants.
    pub is_static: bool,
}

impl ClassData {
    /// What inference may know about its value.
    pub(super) fn fact(&self) -> Fact<'_> {
        Fact::with(&self.ty, self.value.as_ref())
    }
}

/// Constants up to this many elements are computed while rewriting.
const FOLD_LIMIT: usize = 4096;

/// The e-graph analysis: types, constant values, and which classes are static.
#[derive(Debug, Default)]
pub struct Facts {
    /// Constants, attributes and operators.
    pub interner: Interner,
    /// Types of the inputs.
    pub inputs: Vec<Type>,
    /// Types of the parameters.
    pub params: Vec<Type>,
    /// The number of the next unknown dimension.
    pub fresh: u32,
    /// The type of the e-node about to be added, if it is already known.
    pub pending: Option<Type>,
    /// What has changed since it was last taken.
    pub news: News,
    /// If true, everything that can be computed ahead of time is, regardless of its size.
    pub fold_all: bool,
}

/// What has changed in an e-graph.
#[derive(Debug, Default)]
pub struct News {
    /// Classes added or merged, and those of which more is known.
    pub changed: Vec<Id>,
    /// Those of `changed` of which more is known than before, as far as one of the merged classes goes.
    pub refined: Vec<Id>,
    /// The e-nodes that were added, and some others whose facts were computed again; with the children of that time.
    pub added: Vec<ENode>,
    /// True if the latest merge of facts changed any.
    merge_refined: bool,
}

impl Facts {
    fn leaf(ty: Type, is_static: bool) -> ClassData {
        ClassData {
            ty,
            value: None,
            attr: None,
            is_static,
        }
    }
}

impl Analysis<ENode> for Facts {
    type Data = ClassData;

    fn make(egraph: &mut EGraph, enode: &ENode, _: Id) -> ClassData {
        let pending = egraph.analysis.pending.take();
        egraph.analysis.news.added.push(enode.clone());
        egraph.analysis.news.merge_refined = false;
        match enode.head {
            Head::Input(i) => Facts::leaf(egraph.analysis.inputs[i as usize].clone(), false),
            Head::Param(i) => Facts::leaf(egraph.analysis.params[i as usize].clone(), true),
            Head::Absent => Facts::leaf(Type::Absent, true),
            Head::Attr(i) => ClassData {
                ty: Type::Absent,
                value: None,
                attr: Some(i),
                is_static: true,
            },
            Head::Const(i) => {
                let value = egraph.analysis.interner.constant_at(i).cloned();
                let ty = value.as_ref().map_or(Type::Absent, |v| v.ty().into());
                ClassData {
                    ty,
                    value,
                    attr: None,
                    is_static: true,
                }
            }
            Head::Tuple => {
                let items = enode.children.iter().map(|&c| egraph[c].data.ty.clone()).collect();
                let is_static = enode.children.iter().all(|&c| egraph[c].data.is_static);
                Facts::leaf(Type::Tuple(items), is_static)
            }
            Head::Proj(i) => {
                let tuple = &egraph[enode.children[0]].data;
                let ty = match &tuple.ty {
                    Type::Tuple(items) => items.get(i as usize).cloned().unwrap_or(Type::Absent),
                    _ => Type::Absent,
                };
                Facts::leaf(ty, tuple.is_static)
            }
            Head::Op(i) => make_call(egraph, enode, i, pending),
        }
    }

    fn merge(&mut self, a: &mut ClassData, b: ClassData) -> DidMerge {
        let mut changed = DidMerge(false, false);
        if a.value.is_none() && b.value.is_some() {
            a.value = b.value;
            changed.0 = true;
        } else if a.value.is_some() && b.value.is_none() {
            changed.1 = true;
        }
        if b.is_static != a.is_static {
            changed.0 |= b.is_static;
            changed.1 |= a.is_static;
            a.is_static = true;
        }
        let joined = a.ty.joined(&b.ty);
        // Unknown dimensions with other numbers add no information.
        changed.0 |= unknowns(&joined) < unknowns(&a.ty);
        changed.1 |= unknowns(&joined) < unknowns(&b.ty);
        if changed.0 {
            a.ty = joined;
        }
        self.news.merge_refined = changed.0 || changed.1;
        changed
    }

    fn modify(egraph: &mut EGraph, id: Id) {
        let news = &mut egraph.analysis.news;
        news.changed.push(id);
        if news.merge_refined {
            news.refined.push(id);
        }
        let Some(value) = egraph[id].data.value.clone() else {
            return;
        };
        if egraph[id].nodes.iter().any(|n| matches!(n.head, Head::Const(_))) {
            return;
        }
        // Many equal elements take bytes as a constant, but none as a fill.
        if !egraph.analysis.fold_all && value.len() > CONSTANT_LIMIT && value.is_uniform() {
            return;
        }
        let constant = egraph.analysis.interner.constant(&value);
        let added = egraph.add(ENode::leaf(Head::Const(constant)));
        egraph.union(id, added);
    }
}

fn make_call(egraph: &mut EGraph, enode: &ENode, op: u32, pending: Option<Type>) -> ClassData {
    let op = egraph.analysis.interner.op_at(op).clone();
    let attr_count = op.attr_names().len().min(enode.children.len());
    let (operands, attrs) = enode.children.split_at(enode.children.len() - attr_count);
    let fresh = Cell::new(egraph.analysis.fresh);
    let is_static;
    let mut value = None;
    let ty;
    {
        let facts: SmallVec<[Fact<'_>; 6]> = operands.iter().map(|&c| egraph[c].data.fact()).collect();
        let values: Vec<AttrValue> = attrs.iter().map(|&c| attr_value(egraph, c)).collect();
        ty = match (&op, pending) {
            (_, Some(ty)) => ty,
            (Op::Opaque(op), None) => op.result.clone(),
            (Op::Known(def), None) => {
                let call = Infer {
                    def,
                    operands: &facts,
                    attrs: &values,
                    fresh: &fresh,
                };
                // An e-node is added only after its call was typed; a failure here means the types of its operands
                // were refined into a contradiction, which leaves the class without a usable type.
                (def.infer)(&call).unwrap_or(Type::Absent)
            }
        };
        let types: SmallVec<[&Type; 6]> = facts.iter().map(|f| f.ty).collect();
        is_static = may_be_folded(&op, &values)
            && operands.iter().all(|&c| egraph[c].data.is_static)
            && (egraph.analysis.fold_all || !enlarges(&op, &types, &ty));
        let all_known = facts
            .iter()
            .all(|f| f.value.is_some_and(|v| v.len() <= FOLD_LIMIT) || *f.ty == Type::Absent);
        let cheap = || op.def().is_some_and(|def| is_cheap(def, &facts, &values, &ty));
        if is_static && all_known && small(&ty) && cheap() {
            let given: Vec<Option<Tensor>> = facts.iter().map(|f| f.value.cloned()).collect();
            value = evaluate_call(&op, &given, &values)
                .ok()
                .and_then(|mut out| if out.len() == 1 { out.pop() } else { None });
        }
    }
    egraph.analysis.fresh = fresh.get();
    ClassData {
        ty,
        value,
        attr: None,
        is_static,
    }
}

/// True if a call may be computed ahead of time: it is pure, it terminates, and no attribute depends on an unknown
/// dimension.
pub(super) fn may_be_folded(op: &Op, attrs: &[AttrValue]) -> bool {
    let may_run_forever = |def: &tautomer_op::OpDef| matches!(def.semantics, Semantics::Flow(Flow::Loop));
    let inside = |attr: &AttrValue| {
        attr.region().is_none_or(|region| {
            region.items.iter().all(|item| match &item.step {
                tautomer_op::RegionStep::Call { op, .. } => !op.def().is_some_and(may_run_forever),
                _ => true,
            })
        })
    };
    let known = !attrs.iter().any(AttrValue::has_symbols);
    known && is_pure(op, attrs) && !op.def().is_some_and(may_run_forever) && attrs.iter().all(inside)
}

/// The maximum number of operations and bytes for computing a constant while rewriting.
const CHEAP: f64 = 1e6;
const SMALL: f64 = 65_536.0;

/// True if a call of small constants is cheap.
fn is_cheap(def: &'static tautomer_op::OpDef, operands: &[Fact<'_>], attrs: &[AttrValue], result: &Type) -> bool {
    let call = Infer {
        def,
        operands,
        attrs,
        fresh: &Cell::new(u32::MAX / 2),
    };
    let taken = work(&call, result);
    taken.operations <= CHEAP && taken.bytes <= SMALL
}

fn small(ty: &Type) -> bool {
    let concrete = ty.as_tensor().and_then(|t| t.shape.as_ref()?.to_concrete());
    concrete.is_some_and(|shape| {
        shape
            .iter()
            .try_fold(1usize, |n, &d| n.checked_mul(d))
            .is_some_and(|n| n <= FOLD_LIMIT)
    })
}

/// The attribute value of class `id`.
pub(super) fn attr_value(egraph: &EGraph, id: Id) -> AttrValue {
    egraph[id]
        .data
        .attr
        .map_or(AttrValue::None, |i| egraph.analysis.interner.attr_at(i).clone())
}

/// The number of unknown parts of a type.
fn unknowns(ty: &Type) -> usize {
    let unknown = |d: &Dim| match d.as_const() {
        Some(_) => 0,
        None => 1 + usize::from(d.has_unknown()),
    };
    match ty {
        Type::Absent => 100_000,
        Type::Tensor(t) => t.shape.as_ref().map_or(10_000, |s| s.iter().map(unknown).sum()),
        Type::Tuple(items) => items.iter().map(unknowns).sum(),
        Type::Sequence(item) | Type::Optional(item) => unknowns(item),
    }
}
