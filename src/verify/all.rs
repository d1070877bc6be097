//! Many rules at once, on several threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use super::{Options, Report, Subject, verify};

/// Tries rules on so many threads, and gives what `finish` makes of each with its report, in the order of the rules.
/// Reports do not depend on the number of threads.
///
/// `each` sees every result, in order, as soon as it and all before it are there; it runs on the thread of the caller.
/// If it refuses one, no further rule is begun.
///
/// # Errors
/// What `each` refuses with.
///
/// ```
/// use tautomer::verify::{Level, Options, shipped_rules, verify_all};
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
    mut each: impl FnMut(&T) -> Result<(), E>,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let work = |send: mpsc::Sender<(usize, T)>| {
        while !stop.load(Ordering::Relaxed) {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(subject) = subjects.get(i) else { break };
            let done = finish(subject, verify(&subject.rule, &subject.examples, options));
            if send.send((i, done)).is_err() {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        for _ in 0..threads.clamp(1, subjects.len().max(1)) {
            let send = send.clone();
            scope.spawn(|| work(send));
        }
        drop(send);
        let mut waiting: Vec<Option<T>> = subjects.iter().map(|_| None).collect();
        let mut out = Vec::with_capacity(subjects.len());
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
