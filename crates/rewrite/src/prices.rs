//! The prices of the e-nodes of a saturated e-graph, each computed once: an e-graph is extracted several times, with
//! other classes at full price or without forbidden calls.

use std::cell::RefCell;

use egg::Id;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::EGraph;
use super::cost::{CostModel, Price, picos};
use super::encode::{Encoded, attrs_of, operands_of};
use super::enode::{ENode, Head};
use tautomer_op::{AttrValue, Fact, Op};
use tautomer_tensor::Type;

/// The e-nodes of an e-graph with their prices by a cost model.
pub struct Prices<'a> {
    pub(super) encoded: &'a Encoded,
    model: &'a CostModel<'a>,
    /// What is known about each e-node that is a call, by its class and its place there.
    calls: RefCell<FxHashMap<(Id, usize), Known>>,
    /// The types of classes whose dimensions depend on the size of a batch, for batches of one item; `None` for other
    /// classes.
    single: RefCell<FxHashMap<Id, Option<Type>>>,
}

/// What is known about a call.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    forbidden: Option<bool>,
    illegal: Option<bool>,
    picos: Option<u64>,
}

/// An e-node by its place among those of its class.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) class: Id,
    pub(super) place: usize,
    pub(super) enode: &'a ENode,
}

impl<'a> Prices<'a> {
    /// Nothing is computed yet; the e-graph has to be rebuilt.
    pub fn new(encoded: &'a Encoded, model: &'a CostModel<'a>) -> Prices<'a> {
        Prices {
            encoded,
            model,
            calls: RefCell::default(),
            single: RefCell::default(),
        }
    }

    fn egraph(&self) -> &'a EGraph {
        &self.encoded.egraph
    }

    /// The price of one e-node, excluding its children; `None` if the result may not contain it. `own` says that the
    /// graph has it, and `free` that nothing is forbidden.
    pub(super) fn enode(&self, at: At<'_>, own: bool, free: bool) -> Option<Price> {
        match at.enode.head {
            Head::Input(_) | Head::Param(_) | Head::Const(_) | Head::Attr(_) | Head::Absent => Some(Price::ZERO),
            // A tuple costs nothing, but a cost of one keeps cycles of projections and tuples from looking free.
            Head::Tuple | Head::Proj(_) => Some(Price::legal(1)),
            Head::Op(_) if !own && !free && self.is_forbidden(at) => None,
            Head::Op(_) => Some(Price {
                illegal: u64::from(own && !free && self.is_illegal(at)),
                picos: self.picos(at),
            }),
        }
    }

    /// True for a call that rules may not create.
    pub(super) fn is_forbidden(&self, at: At<'_>) -> bool {
        self.known(
            at,
            |known| &mut known.forbidden,
            || self.model.forbids_enode(self.egraph(), at.enode, at.class),
        )
    }

    fn is_illegal(&self, at: At<'_>) -> bool {
        self.known(
            at,
            |known| &mut known.illegal,
            || self.model.is_illegal_enode(self.egraph(), at.enode, at.class),
        )
    }

    fn picos(&self, at: At<'_>) -> u64 {
        self.known(at, |known| &mut known.picos, || self.computed(at).max(1))
    }

    /// What is known about a call, or is computed now.
    fn known<T: Copy>(&self, at: At<'_>, part: fn(&mut Known) -> &mut Option<T>, compute: impl FnOnce() -> T) -> T {
        let key = (at.class, at.place);
        if let Some(known) = *part(self.calls.borrow_mut().entry(key).or_default()) {
            return known;
        }
        let new = compute();
        *part(self.calls.borrow_mut().entry(key).or_default()) = Some(new);
        new
    }

    /// The time that a call takes, in picoseconds.
    fn computed(&self, at: At<'_>) -> u64 {
        let egraph = self.egraph();
        let Head::Op(i) = at.enode.head else { return 0 };
        let op: &Op = egraph.analysis.interner.op_at(i);
        let attrs: Vec<AttrValue> = attrs_of(egraph, at.enode);
        let operands = operands_of(egraph, at.enode);
        self.single(at.class);
        operands.iter().for_each(|&class| self.single(class));
        let single = self.single.borrow();
        let of_one = |class: Id| single.get(&egraph.find(class)).and_then(Option::as_ref);
        let facts: SmallVec<[Fact<'_>; 6]> = operands
            .iter()
            .map(|&class| {
                let fact = egraph[class].data.fact();
                Fact {
                    ty: of_one(class).unwrap_or(fact.ty),
                    ..fact
                }
            })
            .collect();
        let result = of_one(at.class).unwrap_or(&egraph[at.class].data.ty);
        picos(self.model.price(op, &facts, &attrs, result))
    }

    /// Computes the type of a class for batches of one item, unless it is known.
    fn single(&self, class: Id) {
        let class = self.egraph().find(class);
        let ty = &self.egraph()[class].data.ty;
        self.single
            .borrow_mut()
            .entry(class)
            .or_insert_with(|| self.model.of_one_item(ty));
    }
}
