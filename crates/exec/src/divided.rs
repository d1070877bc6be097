//! Whether short runs are divided among threads.
//!
//! Handing a run to other threads takes some ten microseconds, which is more than a small model gains. Which of both is
//! faster depends on the machine and on the sizes of the steps, so the first runs are timed.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Runs that take this long are always divided.
const LONG: Duration = Duration::from_millis(1);

/// The number of runs before the first one that is timed: they prepare weights and memory.
const FIRST: usize = 2;

/// How often each of both is timed: first on all threads, which stay awake from one run to the next, then on one.
const TIMES: usize = 4;

/// The times of runs of one plan.
#[derive(Debug)]
pub(super) struct Divided {
    /// The number of runs so far, up to the last one that is timed.
    runs: AtomicUsize,
    /// Nanoseconds of the fastest run on one thread, and on all of them.
    fastest: [AtomicU64; 2],
}

impl Default for Divided {
    fn default() -> Divided {
        Divided {
            runs: AtomicUsize::new(0),
            fastest: [AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)],
        }
    }
}

impl Divided {
    /// Calls `run` with whether to use all threads, which its result must not depend on. A run that an observer follows
    /// takes longer than others, so it is not timed.
    pub(super) fn run<R>(&self, is_timed: bool, run: impl FnOnce(bool) -> R) -> R {
        let known = self.runs.load(Ordering::Relaxed);
        if known >= FIRST + 2 * TIMES || !is_timed {
            return run(self.is_faster());
        }
        let turn = self.runs.fetch_add(1, Ordering::Relaxed);
        let is_divided = turn < FIRST + TIMES;
        let start = Instant::now();
        let result = run(is_divided);
        let time = start.elapsed();
        if turn >= FIRST {
            let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            self.fastest[usize::from(is_divided)].fetch_min(nanoseconds, Ordering::Relaxed);
            if is_divided && time >= LONG {
                self.runs.fetch_max(FIRST + 2 * TIMES, Ordering::Relaxed);
            }
        }
        result
    }

    /// True unless runs on one thread were faster.
    fn is_faster(&self) -> bool {
        let [alone, all] = [0, 1].map(|i| self.fastest[i].load(Ordering::Relaxed));
        all <= alone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each of so many runs was divided, if runs on one thread and on all take that long.
    fn runs(count: usize, [alone, all]: [Duration; 2]) -> Vec<bool> {
        let divided = Divided::default();
        let mut out = Vec::new();
        for _ in 0..count {
            divided.run(true, |is_divided| {
                out.push(is_divided);
                std::thread::sleep(if is_divided { all } else { alone });
            });
        }
        out
    }

    #[test]
    fn short_runs_are_as_fast_as_they_can() {
        let none = Duration::ZERO;
        let slow = Duration::from_micros(500);
        let expected = |last: bool| [vec![true; FIRST + TIMES], vec![false; TIMES], vec![last; 3]].concat();
        assert_eq!(runs(FIRST + 2 * TIMES + 3, [none, slow]), expected(false));
        assert_eq!(runs(FIRST + 2 * TIMES + 3, [slow, none]), expected(true));
    }

    #[test]
    fn long_runs_are_divided() {
        let long = 2 * LONG;
        assert_eq!(runs(FIRST + 3, [long, long]), [true; FIRST + 3]);
    }

    #[test]
    fn runs_that_are_watched_are_not_timed() {
        let divided = Divided::default();
        (0..50).for_each(|_| divided.run(false, |is_divided| assert!(is_divided)));
        assert_eq!(divided.runs.load(Ordering::Relaxed), 0);
    }
}
