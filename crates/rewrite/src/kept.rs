//! Better results that are ruled out by forbidden operators.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use egg::Id;
use rustc_hash::FxHashSet;

use super::cost::CostModel;
use super::encode::Encoded;
use super::enode::{ENode, Head};
use super::extract::extract;
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
pub fn kept_from(encoded: &Encoded, saturation: &Saturation, model: &CostModel<'_>) -> BTreeMap<&'static str, Kept> {
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
    let forbidden = |enode: &ENode, class: Id| -> Option<&'static OpDef> {
        let Head::Op(i) = enode.head else { return None };
        match egraph.analysis.interner.op_at(i) {
            Op::Known(def) if !own.contains(enode) && model.forbids_enode(egraph, enode, class) => Some(*def),
            _ => None,
        }
    };
    let mut kept: BTreeMap<&'static str, Kept> = BTreeMap::new();
    // A second extraction is needed only if the e-graph has forbidden e-nodes that the first one could not choose.
    if !egraph
        .classes()
        .any(|class| class.nodes.iter().any(|n| forbidden(n, class.id).is_some()))
    {
        return kept;
    }
    let free = CostModel {
        forbidden: &|_, _| false,
        illegal: &|_, _| false,
        ..*model
    };
    #[expect(clippy::iter_over_hash_type, reason = "counted into ordered sets")]
    for (class, enode) in &extract(encoded, &free).choice {
        if let Some(def) = forbidden(enode, *class) {
            let entry = kept.entry(def.name).or_default();
            entry.times += 1;
            entry
                .rules
                .extend(saturation.creator(enode).map(|rule| rule.name.clone()));
        }
    }
    kept
}
