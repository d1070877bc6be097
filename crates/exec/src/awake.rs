//! Threads that wait for work without sleeping.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::Yield;

/// How often a thread looks for work before it sleeps after all: about a millisecond.
const PATIENCE: usize = 2000;

/// Runs `run` on a thread of a pool while the others wait for parts of it. Waking a thread takes longer than many steps
/// do, so they only give way to other programs until there has been no work for some time.
pub(super) fn while_awake<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    let (is_done, own) = (AtomicBool::new(false), rayon::current_thread_index());
    let is_done = &is_done;
    rayon::scope(|scope| {
        let _done = Done(is_done);
        for _ in 1..threads {
            scope.spawn(move |_| {
                // It may be taken by the thread that the others wait for.
                if rayon::current_thread_index() != own {
                    wait(is_done);
                }
            });
        }
        run()
    })
}

fn wait(is_done: &AtomicBool) {
    let mut idle = 0;
    while idle < PATIENCE && !is_done.load(Ordering::Acquire) {
        match rayon::yield_now() {
            Some(Yield::Executed) => idle = 0,
            _ => {
                idle += 1;
                std::thread::yield_now();
            }
        }
    }
}

/// Ends the waiting, however the run ends.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn runs_end_and_share_their_threads() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let sum = |n: u64| pool.install(|| while_awake(3, || (0..n).into_par_iter().sum::<u64>()));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..200).for_each(|n| assert_eq!(sum(n), n * n.saturating_sub(1) / 2)));
            }
        });
        let nested = pool.install(|| while_awake(3, || while_awake(3, || rayon::join(|| 1, || 2))));
        assert_eq!(nested, (1, 2));
    }

    #[test]
    fn a_panic_ends_the_waiting() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let run = || pool.install(|| while_awake(2, || panic!("stop")));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    }
}
