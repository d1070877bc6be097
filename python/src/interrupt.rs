//! Work that Ctrl-C interrupts although nothing in it asks for signals.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use pyo3::prelude::*;

use crate::problems::refused;

/// How often Ctrl-C is looked for.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// The stack of a thread: code that walks patterns and programs recurses as deep as they nest.
const STACK: usize = 64 << 20;

/// Does the work on a thread of its own, without the interpreter, and looks for signals meanwhile. If a signal raises an
/// exception, `stop` is called and the exception returned; what is left of the work ends by itself, and its result is
/// dropped.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    stop: impl FnOnce(),
) -> PyResult<T> {
    let (send, receive) = channel();
    // Nobody receives the result of work that was interrupted.
    let begun = Builder::new().stack_size(STACK).spawn(move || drop(send.send(work())));
    begun.map_err(|why| refused(py, "T0406", format!("no thread can be started: {why}")))?;
    // A receiver belongs to one thread, which this one stays while the interpreter is not held.
    let receive = std::sync::Mutex::new(receive);
    loop {
        let waited = py.detach(|| receive.lock().ok().map(|receive| receive.recv_timeout(TICK)));
        match waited {
            Some(Ok(done)) => return Ok(done),
            Some(Err(RecvTimeoutError::Timeout)) => {}
            _ => return Err(refused(py, "T0406", "internal error: the work ended without a result")),
        }
        if let Err(raised) = py.check_signals() {
            stop();
            return Err(raised);
        }
    }
}
