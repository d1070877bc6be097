//! Many rules on several threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use super::verify;
use crate::verdict::options::Options;
use crate::verdict::report::Report;
use crate::verdict::shipped::Subject;

/// Verifies rules on `threads` threads, and returns the result of `finish` for each rule and its report, in the order
/// of the rules. Reports do not depend on the number of threads.
///
/// `each` is called with every result, in order, as soon as that result and all before it are ready; it runs on the
/// caller's thread. If it returns an error, no further rule is started.
///
/// # Errors
/// The first error of `each`.
///
/// ```
/// use tautomer_verify::{Level, Options, shipped_rules, verify_all};
/// let shipped = shipped_rules().unwrap();
/// let subjects: Vec<_> = shipped.iter().take(4).collect();
/// let options = Options { instances: 3, ..Options::default() };
/// let levels = verify_all(&subjects, &options, 2, |_, report| report.verdict.level(), |_| Ok::<(), ()>(())).unwrap();
/// assert!(levels.len() == 4 && levels.iter().all(|&level| level != Level::Refuted));
/// ```
pub fn verify_all<T: Send, E>(
    subjects: &[&Subject],
    options: &Options,
    threads: usize,
    finish: impl Fn(&Subject, Report) -> T + Sync,
    each: impl FnMut(&T) -> Result<(), E>,
) -> Result<Vec<T>, E> {
    let one = |subject: &&Subject| finish(subject, verify(&subject.rule, &subject.examples, options));
    in_order(subjects, threads, one, each)
}

/// The stack of a thread: code that walks patterns and programs recurses as deep as they nest.
const STACK: usize = 64 << 20;

/// Runs `work` on each item on `threads` threads; `each` is called with the results in the order of the items.
pub(crate) fn in_order<I: Sync, T: Send, E>(
    items: &[I],
    threads: usize,
    work: impl Fn(&I) -> T + Sync,
    mut each: impl FnMut(&T) -> Result<(), E>,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let run = |send: mpsc::Sender<(usize, T)>| {
        while !stop.load(Ordering::Relaxed) {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(i) else { break };
            if send.send((i, work(item))).is_err() {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        let mut begun = 0;
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            let send = send.clone();
            let thread = std::thread::Builder::new().stack_size(STACK);
            begun += usize::from(thread.spawn_scoped(scope, || run(send)).is_ok());
        }
        if begun == 0 {
            let send = send.clone();
            scope.spawn(|| run(send));
        }
        drop(send);
        let mut waiting: Vec<Option<T>> = items.iter().map(|_| None).collect();
        let mut out = Vec::with_capacity(items.len());
        let mut refused = None;
        for (i, done) in receive {
            waiting[i] = Some(done);
            while let Some(done) = waiting.get_mut(out.len()).and_then(Option::take) {
                if refused.is_none()
                    && let Err(e) = each(&done)
                {
                    stop.store(true, Ordering::Relaxed);
                    refused = Some(e);
                }
                out.push(done);
            }
        }
        refused.map_or(Ok(out), Err)
    })
}
