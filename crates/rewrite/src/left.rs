//! Extraction that knows which calls folding leaves to run time.
//!
//! Static classes cost almost nothing, since they are computed ahead of time; but folding leaves some to run time,
//! because they would make the parameters larger, such as two multiples of one matrix. A graph with such calls is
//! extracted again, with their classes at full price.

use egg::Id;
use rustc_hash::{FxHashMap, FxHashSet};

use super::decode::decode_with_classes;
use super::extract::{Extraction, How, extract_with};
use super::fold::{Folding, left_to_run_time};
use super::prices::Prices;
use super::saturate::Saturation;
use tautomer_graph::{Graph, Params, VertexId};

/// The maximum number of extractions: each price that is raised may make another such call the cheapest.
const MOST_ROUNDS: usize = 16;

/// Picks the cheapest graph from a saturated e-graph of `original` with these prices, given which values folding
/// computes within these limits; also returns that graph. Without limits, all static classes are assumed to be computed
/// ahead of time.
pub fn extract_folded(
    original: &Graph,
    prices: &Prices<'_>,
    saturation: &Saturation,
    params: &Params,
    folding: Option<Folding>,
) -> (Extraction, Graph) {
    let encoded = prices.encoded;
    let egraph = &encoded.egraph;
    let mut how = How {
        folds: folding.is_some(),
        ..How::default()
    };
    if let Some(limits) = folding {
        let stays: FxHashSet<VertexId> = left_to_run_time(original, params, limits).into_iter().collect();
        let own = encoded.origins.iter().filter(|(v, ..)| stays.contains(v));
        how.left.extend(own.map(|(_, class, _)| egraph.find(*class)));
    }
    let mut round = 0;
    loop {
        round += 1;
        let extraction = extract_with(prices, &how);
        let (graph, vertices) = decode_with_classes(original, encoded, &extraction, saturation);
        let Some(limits) = folding.filter(|_| extraction.improves && round < MOST_ROUNDS) else {
            return (extraction, graph);
        };
        let classes: FxHashMap<VertexId, Id> = vertices.iter().map(|(&class, &v)| (v, class)).collect();
        let stays = left_to_run_time(&graph, params, limits);
        let found = stays.iter().filter_map(|v| classes.get(v)).copied();
        let new: Vec<Id> = found
            .filter(|&c| egraph[c].data.is_static && !how.left.contains(&c))
            .collect();
        if new.is_empty() {
            return (extraction, graph);
        }
        how.left.extend(new);
    }
}
