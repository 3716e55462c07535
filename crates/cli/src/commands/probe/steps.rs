//! Says which step of a probe is on, where no progress line shows it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::output::complain;

/// Longest time without a word about a step.
const SILENT_MAX: Duration = Duration::from_secs(3);

/// Writes the name of a step to standard error if the probe is silent for long, also if this
/// step does not end.
pub(super) struct StepLines {
    steps: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl StepLines {
    pub(super) fn begin() -> Self {
        let (steps, from) = channel();
        Self {
            steps: Some(steps),
            thread: Some(thread::spawn(move || watch(&from))),
        }
    }

    /// Notes that a step begins.
    pub(super) fn step(&self, step: &str) {
        if let Some(steps) = &self.steps {
            // Without the thread, nothing can be said.
            let _ = steps.send(step.to_owned());
        }
    }
}

impl Drop for StepLines {
    fn drop(&mut self) {
        // Without a sender, the thread ends.
        drop(self.steps.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(steps: &Receiver<String>) {
    let (mut said, mut unsaid) = (Instant::now(), None);
    loop {
        match steps.recv_timeout(SILENT_MAX.saturating_sub(said.elapsed())) {
            Ok(step) => unsaid = Some(step),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(step) = unsaid.take() {
                    complain(format_args!("trying {step}"));
                }
                said = Instant::now();
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
