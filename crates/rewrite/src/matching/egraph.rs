//! Matching in an e-graph: a class is a value, and its e-nodes are its forms.
//!
//! A [`Snapshot`] of an unchanging e-graph finds a class with one load; an e-graph that is being changed looks it up.

use std::cell::RefCell;
use std::rc::Rc;

use egg::{EClass, Id};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::EGraph;
use super::super::encode::{class_id, value_id};
use super::super::enode::{ClassData, ENode, Head};
use super::attributes::attr_ref;
use super::{AttrRefs, Form, FormHead, Host, Want};
use tautomer_graph::ValueId;
use tautomer_op::{AttrValue, Op, OpDef};
use tautomer_tensor::{Tensor, Type};

/// An e-graph, or a view of one.
pub(crate) trait Classes {
    /// The e-graph.
    fn egraph(&self) -> &EGraph;
    /// The class that `id` is in.
    fn class(&self, id: Id) -> &EClass<ENode, ClassData>;
    /// What is remembered of a view that does not change.
    fn memory(&self) -> Option<&Memory> {
        None
    }
}

/// What searches for different rules in one e-graph find out again and again.
#[derive(Default)]
pub(crate) struct Memory {
    /// Whether an attribute has its default, by class, e-node and attribute.
    defaults: RefCell<FxHashMap<(Id, u32, u32), bool>>,
    /// The classes that have an e-node with this head, sorted.
    classes: RefCell<FxHashMap<Head, Rc<[Id]>>>,
}

impl Classes for EGraph {
    fn egraph(&self) -> &EGraph {
        self
    }

    fn class(&self, id: Id) -> &EClass<ENode, ClassData> {
        &self[id]
    }
}

/// A rebuilt e-graph, with its classes by number.
pub(crate) struct Snapshot<'a> {
    egraph: &'a EGraph,
    classes: Vec<Option<&'a EClass<ENode, ClassData>>>,
    memory: Memory,
}

impl<'a> Snapshot<'a> {
    /// A view of an e-graph that has been rebuilt.
    pub(crate) fn new(egraph: &'a EGraph) -> Snapshot<'a> {
        let size = egraph.classes().map(|c| usize::from(c.id) + 1).max().unwrap_or(0);
        let mut classes = vec![None; size];
        for class in egraph.classes() {
            classes[usize::from(class.id)] = Some(class);
        }
        Snapshot {
            egraph,
            classes,
            memory: Memory::default(),
        }
    }

    /// The numbers of all classes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        self.classes.iter().flatten().map(|class| class.id)
    }

    /// A number larger than those of all classes.
    pub(crate) fn end(&self) -> usize {
        self.classes.len()
    }
}

impl Classes for Snapshot<'_> {
    fn egraph(&self) -> &EGraph {
        self.egraph
    }

    fn class(&self, id: Id) -> &EClass<ENode, ClassData> {
        match self.classes.get(usize::from(id)) {
            Some(Some(class)) => class,
            _ => &self.egraph[id],
        }
    }

    fn memory(&self) -> Option<&Memory> {
        Some(&self.memory)
    }
}

/// The classes that have an e-node with this head, sorted.
fn classes_with<C: Classes>(host: &C, head: Head) -> Rc<[Id]> {
    let find = || {
        let mut ids: Vec<Id> = host.egraph().classes_for_op(&head).into_iter().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        Rc::from(ids)
    };
    match host.memory() {
        Some(memory) => memory.classes.borrow_mut().entry(head).or_insert_with(find).clone(),
        None => find(),
    }
}

impl<C: Classes> Host for C {
    type V = Id;

    fn id_of(v: Id) -> ValueId {
        value_id(v)
    }

    fn of_id(id: ValueId) -> Id {
        class_id(id)
    }

    fn op(&self, def: &'static OpDef) -> Option<u32> {
        self.egraph().analysis.interner.number_of(def)
    }

    fn next_form(&self, v: Id, want: Want<'_>, from: usize) -> Option<(usize, Form<'_, Id>)> {
        let nodes = &self.class(v).nodes;
        let wanted = |node: &ENode| match (want, node.head) {
            (Want::Op(op), Head::Op(i)) => op == i,
            (Want::OneOf(defs), Head::Op(i)) => {
                matches!(self.egraph().analysis.interner.op_at(i), Op::Known(def) if is_one_of(defs, def))
            }
            (Want::Tuple, Head::Tuple) => true,
            (Want::Proj(place), Head::Proj(i)) => place.is_none_or(|p| p == i),
            _ => false,
        };
        // E-nodes are sorted by head, so those of one operator are adjacent.
        let first = match want {
            Want::Op(op) if from == 0 && nodes.len() > 16 => nodes.partition_point(|n| n.head < Head::Op(op)),
            _ => from,
        };
        let at = first + nodes.get(first..)?.iter().position(wanted)?;
        let node = &nodes[at];
        let (head, attrs) = match node.head {
            Head::Op(i) => {
                let op = self.egraph().analysis.interner.op_at(i);
                let Op::Known(def) = op else { return None };
                (FormHead::Call(def), def.attrs.len())
            }
            Head::Proj(i) => (FormHead::Proj(i), 0),
            _ => (FormHead::Tuple, 0),
        };
        let (operands, attrs) = node
            .children
            .split_at(node.children.len() - attrs.min(node.children.len()));
        let form = Form {
            head,
            place: at as u32,
            operands,
            attrs: AttrRefs::Values(attrs),
        };
        Some((at + 1, form))
    }

    fn values(&self, want: Want<'_>) -> Vec<Id> {
        let of = |head: Head| classes_with(self, head);
        let mut out: Vec<Id> = match want {
            Want::Op(op) => return of(Head::Op(op)).to_vec(),
            Want::OneOf(defs) => defs
                .iter()
                .filter_map(|def| self.op(def))
                .flat_map(|op| of(Head::Op(op)).to_vec())
                .collect(),
            Want::Tuple => return of(Head::Tuple).to_vec(),
            Want::Proj(Some(i)) => return of(Head::Proj(i)).to_vec(),
            Want::Proj(None) => self
                .egraph()
                .classes()
                .filter(|class| class.nodes.iter().any(|n| matches!(n.head, Head::Proj(_))))
                .map(|class| class.id)
                .collect(),
        };
        out.sort_unstable();
        out.dedup();
        out
    }

    fn users(&self, v: Id) -> Vec<Id> {
        let mut seen = FxHashSet::default();
        let mut out: Vec<Id> = self
            .class(v)
            .parents()
            .map(|user| self.egraph().find(user))
            .filter(|user| seen.insert(*user))
            .collect();
        out.sort_unstable();
        out
    }

    fn rank(&self, v: Id) -> u64 {
        usize::from(v) as u64
    }

    fn attr(&self, form: &Form<'_, Id>, i: usize) -> u32 {
        attr_ref(&form.attrs, i, |id| self.class(id).data.attr.unwrap_or(0))
    }

    fn attr_value(&self, attr: u32) -> &AttrValue {
        self.egraph().analysis.interner.attr_at(attr)
    }

    fn has_default(&self, at: (Id, u32, u32), find: &dyn Fn() -> bool) -> bool {
        match self.memory() {
            Some(memory) => *memory.defaults.borrow_mut().entry(at).or_insert_with(find),
            None => find(),
        }
    }

    fn ty(&self, v: Id) -> &Type {
        &self.class(v).data.ty
    }

    fn constant(&self, v: Id) -> Option<&Tensor> {
        self.class(v).data.value.as_ref()
    }

    fn is_static(&self, v: Id) -> bool {
        self.class(v).data.is_static
    }
}

fn is_one_of(defs: &[&'static OpDef], def: &'static OpDef) -> bool {
    defs.iter().any(|d| std::ptr::eq(*d, def))
}
