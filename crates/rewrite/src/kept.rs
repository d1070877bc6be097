//! Better results that are ruled out by forbidden operators.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use egg::EClass;
use rustc_hash::FxHashSet;

use super::enode::{ClassData, ENode, Head};
use super::extract::{How, extract_with};
use super::prices::{At, Prices};
use super::saturate::Saturation;
use tautomer_op::{Op, OpDef};

/// An operator that the cheapest graph would have if the model forbade nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The number of occurrences the graph would have.
    pub times: usize,
    /// The rules that created it.
    pub rules: BTreeSet<Arc<str>>,
}

/// The forbidden operators that the cheapest graph would have if nothing were forbidden, by name.
pub fn kept_from(prices: &Prices<'_>, saturation: &Saturation) -> BTreeMap<&'static str, Kept> {
    let encoded = prices.encoded;
    let egraph = &encoded.egraph;
    let own: FxHashSet<ENode> = encoded
        .origins
        .iter()
        .map(|(_, _, enode)| {
            let mut enode = enode.clone();
            enode.children.iter_mut().for_each(|c| *c = egraph.find(*c));
            enode
        })
        .collect();
    let forbidden = |at: At<'_>| -> Option<&'static OpDef> {
        let Head::Op(i) = at.enode.head else { return None };
        match egraph.analysis.interner.op_at(i) {
            Op::Known(def) if !own.contains(at.enode) && prices.is_forbidden(at) => Some(*def),
            _ => None,
        }
    };
    let mut kept: BTreeMap<&'static str, Kept> = BTreeMap::new();
    // A second extraction is needed only if the e-graph has forbidden e-nodes that the first one could not choose.
    let has_forbidden = |class: &EClass<ENode, ClassData>| all(class).any(|at| forbidden(at).is_some());
    if !egraph.classes().any(has_forbidden) {
        return kept;
    }
    let free = How {
        free: true,
        ..How::default()
    };
    #[expect(clippy::iter_over_hash_type, reason = "counted into ordered sets")]
    for (class, enode) in &extract_with(prices, &free).choice {
        let at = all(&egraph[*class]).find(|at| at.enode == enode);
        if let Some(def) = at.and_then(forbidden) {
            let entry = kept.entry(def.name).or_default();
            entry.times += 1;
            entry
                .rules
                .extend(saturation.creator(enode).map(|rule| rule.name.clone()));
        }
    }
    kept
}

/// The e-nodes of a class.
fn all(class: &EClass<ENode, ClassData>) -> impl Iterator<Item = At<'_>> {
    let class_id = class.id;
    class.nodes.iter().enumerate().map(move |(place, enode)| At {
        class: class_id,
        place,
        enode,
    })
}
