//! Searching an e-graph on several threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::EGraph;
use crate::matching::Snapshot;

/// The least number of e-nodes for which more than one thread is used.
const LARGE: usize = 256;

/// How many threads search an e-graph: as many as there are processors if it is large.
pub(super) fn threads_for(egraph: &EGraph) -> usize {
    match egraph.total_size() < LARGE {
        true => 1,
        false => std::thread::available_parallelism().map_or(1, |n| n.get()),
    }
}

/// What `search` finds for each item in the e-graph, in the order of the items, on so many threads; `None` if the
/// caller ended the run.
pub(super) fn in_parallel<T: Copy + Sync, R: Send>(
    egraph: &EGraph,
    threads: usize,
    items: &[T],
    search: &(dyn Fn(&Snapshot<'_>, T) -> R + Sync),
    cancelled: &dyn Fn() -> bool,
) -> Option<Vec<R>> {
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    // Each thread takes the next item that no other has taken.
    let work = |cancelled: &dyn Fn() -> bool| {
        // One for each thread: it remembers what searches find out, without locks.
        let snapshot = Snapshot::new(egraph);
        let mut found = Vec::new();
        while let place = next.fetch_add(1, Ordering::Relaxed)
            && let Some(item) = items.get(place)
            && !ended.load(Ordering::Relaxed)
        {
            if cancelled() {
                ended.store(true, Ordering::Relaxed);
                break;
            }
            found.push((place, search(&snapshot, *item)));
        }
        found
    };
    let mut found = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(items.len()))
            .map(|_| scope.spawn(|| work(&|| false)))
            .collect();
        let mut found = work(cancelled);
        for other in others {
            found.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        found
    });
    found.sort_unstable_by_key(|(place, _)| *place);
    (!ended.into_inner()).then(|| found.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        let egraph = EGraph::default();
        let items: Vec<usize> = (0..100).collect();
        let twice = |_: &Snapshot<'_>, n: usize| 2 * n;
        for threads in 1..4 {
            let found = in_parallel(&egraph, threads, &items, &twice, &|| false);
            assert_eq!(found, Some(items.iter().map(|n| 2 * n).collect()));
            assert_eq!(in_parallel(&egraph, threads, &items, &twice, &|| true), None);
        }
    }
}
