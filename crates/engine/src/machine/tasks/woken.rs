//! Tasks that were woken other than by an event of their poller: by others, by tokio, or from
//! another thread.

use std::collections::VecDeque;
use std::hint;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::thread::{self, ThreadId};

/// The woken tasks.
pub(super) struct Woken {
    is_any: AtomicBool,
    list: Mutex<WokenList>,
    /// The thread that polls the tasks.
    thread: ThreadId,
    /// Ends its wait.
    bell: Arc<OwnedFd>,
}

#[derive(Default)]
struct WokenList {
    numbers: Vec<u32>,
    /// Whether a task is in the list, by number. A task that wakes itself twice per poll would
    /// fill the list otherwise.
    is_listed: Vec<bool>,
    /// Wakes the task of tokio while tokio waits.
    tokio: Option<Waker>,
}

/// The waker of one task.
struct TaskWaker {
    number: u32,
    woken: Arc<Woken>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let woken = &*self.woken;
        let mut list = woken.lock();
        if !std::mem::replace(&mut list.is_listed[self.number as usize], true) {
            list.numbers.push(self.number);
        }
        woken.is_any.store(true, Ordering::Release);
        let tokio = list.tokio.take();
        drop(list);
        match tokio {
            Some(tokio) => tokio.wake(),
            None if woken.thread == thread::current().id() => {}
            // Fails only if the bell has rung 2^64 times.
            None => drop(rustix::io::write(&woken.bell, &1_u64.to_ne_bytes())),
        }
    }
}

impl Woken {
    /// Makes a list for the tasks of this thread. Other threads end its wait with `bell`.
    pub(super) fn new(bell: &Arc<OwnedFd>) -> Self {
        Self {
            is_any: AtomicBool::new(false),
            list: Mutex::default(),
            thread: thread::current().id(),
            bell: Arc::clone(bell),
        }
    }

    fn lock(&self) -> MutexGuard<'_, WokenList> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the waker of the task with the next number.
    pub(super) fn next_waker(self: &Arc<Self>) -> Waker {
        let mut list = self.lock();
        let number = list.is_listed.len() as u32;
        list.is_listed.push(false);
        let woken = Arc::clone(self);
        Waker::from(Arc::new(TaskWaker { number, woken }))
    }

    /// Has wakes reported to a task of tokio, or to none. Returns whether tasks were woken
    /// before; then they are not reported.
    pub(super) fn report_to(&self, tokio: Option<&Waker>) -> bool {
        let mut list = self.lock();
        list.tokio = tokio.filter(|_| list.numbers.is_empty()).cloned();
        !list.numbers.is_empty()
    }

    /// Moves the woken tasks to `due`. Returns whether there are any.
    pub(super) fn take(&self, due: &mut VecDeque<u32>) -> bool {
        let is_any = self.is_any.load(Ordering::Acquire);
        if is_any {
            hint::cold_path();
            let list = &mut *self.lock();
            self.is_any.store(false, Ordering::Relaxed);
            for number in list.numbers.drain(..) {
                list.is_listed[number as usize] = false;
                due.push_back(number);
            }
        }
        is_any
    }
}
