//! A progress line on the terminal: the current work, how far it is and how fast.

use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tautomer::pipeline::Event;

use super::Shell;

/// Work shorter than this is not shown.
const SILENT: Duration = Duration::from_secs(1);

/// How often the line is redrawn.
const TICK: Duration = Duration::from_millis(200);

/// The contents of the line.
#[derive(Debug, Clone)]
struct State {
    stage: String,
    /// How many items of the stage are done, of how many if known, and what they are called.
    count: Option<(usize, Option<usize>, &'static str)>,
    begin: Instant,
}

/// Shows progress until dropped. Nothing is shown if standard error is not a terminal, or with `--quiet`.
pub(super) struct Progress {
    state: Arc<Mutex<State>>,
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    pub(super) fn new(shell: &Shell, stage: &str) -> Progress {
        let begin = Instant::now();
        let state = Arc::new(Mutex::new(State {
            stage: stage.to_owned(),
            count: None,
            begin,
        }));
        let shown = !shell.quiet && std::io::stderr().is_terminal();
        let ticker = shown.then(|| {
            let (stop, stopped) = mpsc::channel();
            let state = state.clone();
            let thread = std::thread::spawn(move || {
                let mut wait = SILENT;
                while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    let state = state.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    write(&line(&state, state.begin.elapsed()));
                    wait = TICK;
                }
                write("");
            });
            (stop, thread)
        });
        Progress { state, ticker }
    }

    /// Starts another stage.
    pub(super) fn stage(&self, stage: &str) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State {
            stage: stage.to_owned(),
            count: None,
            begin: Instant::now(),
        };
    }

    /// Sets how many items of the stage are done.
    pub(super) fn count(&self, done: usize, all: Option<usize>, what: &'static str) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).count = Some((done, all, what));
    }

    /// Shows an event of the library.
    pub(super) fn event(&self, event: Event) {
        match event {
            Event::Stage(stage) => self.stage(match stage {
                "saturate" => "applying rules",
                "substitute" => "replacing matches",
                "extract" => "choosing the cheapest graph",
                "fold" => "computing what is constant",
                "compare" => "comparing with the original",
                "audit" => "auditing",
                other => other,
            }),
            Event::Round { nodes, .. } => self.count(nodes, None, "e-nodes"),
            Event::Substitutions(done) => self.count(done, None, "rewrites"),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.ticker.take() {
            // The thread ends and clears its line whether or not this succeeds.
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

/// Replaces the line.
fn write(text: &str) {
    // Nothing can be done if standard error cannot be written.
    let _ = write!(std::io::stderr().lock(), "\r\x1b[K{text}");
}

fn line(state: &State, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let mut out = format!("{} ... {seconds:.0} s", state.stage);
    if let Some((done, all, what)) = state.count {
        let of = all.map_or_else(String::new, |all| format!(" of {all}"));
        let rate = done as f64 / seconds.max(0.001);
        out.push_str(&format!(", {done}{of} {what}, {rate:.0} a second"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_stage_count_and_rate() {
        let mut state = State {
            stage: "applying rules".to_owned(),
            count: None,
            begin: Instant::now(),
        };
        let time = Duration::from_secs(4);
        assert_eq!(line(&state, time), "applying rules ... 4 s");
        state.count = Some((2000, None, "e-nodes"));
        assert_eq!(line(&state, time), "applying rules ... 4 s, 2000 e-nodes, 500 a second");
        state.count = Some((2, Some(10), "runs"));
        assert_eq!(line(&state, time), "applying rules ... 4 s, 2 of 10 runs, 0 a second");
    }
}
