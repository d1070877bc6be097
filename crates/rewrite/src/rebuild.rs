//! Restores congruence in an e-graph.

use std::sync::LazyLock;

use quanta::{Clock, with_clock};

use super::EGraph;

/// Merges e-classes of equal e-nodes until congruence holds again, and brings the data of e-classes up to date.
///
/// egg measures how long that takes with `quanta`, for a message that nothing prints. Its clock calibrates itself when
/// it is first read, which takes from half a millisecond to 200 ms; a clock that stands still has nothing to calibrate.
#[expect(clippy::disallowed_methods, reason = "the clock stands still here")]
pub(super) fn rebuild(egraph: &mut EGraph) {
    static STOPPED: LazyLock<Clock> = LazyLock::new(|| Clock::mock().0);
    with_clock(&STOPPED, || egraph.rebuild());
}
