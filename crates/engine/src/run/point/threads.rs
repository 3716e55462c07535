//! Which workers each thread of a load point runs.

use smbench_model::workload::Workload;

use crate::worker::work::AssignedWorker;

/// The workers of each thread.
///
/// Log-ons wait in tokio, which has little time on a thread with sockets under load. So workers of
/// log-ons have threads of their own.
pub(super) struct AssignedThreads {
    with_sockets: ThreadPool,
    for_log_ons: ThreadPool,
}

/// Threads that take workers in turn.
struct ThreadPool {
    most: usize,
    threads: Vec<Vec<AssignedWorker>>,
    /// Number of workers so far.
    workers: usize,
}

impl AssignedThreads {
    /// Makes threads without workers, of each kind at most this many.
    pub(super) fn new(most: usize) -> Self {
        let pool = || ThreadPool {
            most,
            threads: Vec::new(),
            workers: 0,
        };
        Self {
            with_sockets: pool(),
            for_log_ons: pool(),
        }
    }

    /// Gives a worker to a thread.
    pub(super) fn add(&mut self, worker: AssignedWorker, workload: &Workload) {
        let pool = if workload.is_of_log_ons() {
            &mut self.for_log_ons
        } else {
            &mut self.with_sockets
        };
        let thread = pool.workers % pool.most.max(1);
        match pool.threads.get_mut(thread) {
            Some(thread) => thread.push(worker),
            None => pool.threads.push(vec![worker]),
        }
        pool.workers += 1;
    }

    /// Returns the workers of each thread, pinned to these CPUs in turn, if there are any.
    pub(super) fn pinned_to(self, cpus: &[usize]) -> Vec<Vec<AssignedWorker>> {
        let mut threads = self.with_sockets.threads;
        threads.extend(self.for_log_ons.threads);
        // As their records are, which come with the first worker of each thread.
        threads.sort_by_key(|workers| workers.first().map(|first| first.assignment.number));
        for (thread, workers) in threads.iter_mut().enumerate() {
            for worker in workers {
                worker.assignment.cpu = cpus.get(thread % cpus.len().max(1)).copied();
            }
        }
        threads
    }
}
