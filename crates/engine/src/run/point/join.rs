//! The end of the workers of a load point.

use std::any::Any;

use super::workers::Workers;
use crate::drivers::untrusted::ForeignPanic;
use crate::run::error::RunError;
use crate::worker::assignment::{NumberedResult, WorkerResult};
use crate::worker::fault::LoadFault;
use crate::worker::figures::PopulationEnd;

/// The results of workers that have ended.
pub(super) struct EndedWorkers {
    pub(super) all: WorkerResult,
    /// The result of the workers of this host alone, if there are other hosts.
    pub(super) own: WorkerResult,
    /// The end of each population, if there are several.
    pub(super) populations: Vec<PopulationEnd>,
}

/// The ends of the populations so far.
struct PopulationEnds {
    /// The number of the first worker after those of each population on this host, and its end.
    populations: Vec<(usize, PopulationEnd)>,
}

impl PopulationEnds {
    /// Begins for populations with these numbers of workers.
    fn of(workers: &[usize]) -> Self {
        let mut end = 0;
        let populations = workers.iter().map(|workers| {
            end += workers;
            (end, PopulationEnd::default())
        });
        Self {
            populations: match workers {
                // One population has the end of the load point.
                [_] => Vec::new(),
                _ => populations.collect(),
            },
        }
    }

    fn add(&mut self, worker: usize, outcome: &WorkerResult) {
        let mut populations = self.populations.iter_mut();
        if let Some((_, of)) = populations.find(|(end, _)| worker < *end) {
            return of.merge(&PopulationEnd {
                dropouts: outcome.dropouts.clone(),
                served: outcome.figures.served,
                punctuality: outcome.figures.punctuality,
                stages: outcome.figures.stages.clone(),
            });
        }
        let of_host = self.populations.iter_mut().zip(&outcome.populations);
        of_host.for_each(|((_, of), part)| of.merge(part));
    }

    fn finish(self) -> Vec<PopulationEnd> {
        let populations = self.populations.into_iter();
        populations
            .map(|(_, mut end)| {
                end.dropouts.sort_by_key(|dropout| dropout.client);
                end
            })
            .collect()
    }
}

impl Workers {
    /// Joins all workers without blocking the coordinator's own connections. Workers
    /// without a schedule end now; with one, they have ended. If some failed, the error
    /// is that of the first.
    pub(super) async fn join(self) -> Result<EndedWorkers, RunError> {
        drop(self.start);
        let (mut merged, mut own) = (WorkerResult::default(), WorkerResult::default());
        let own_workers: usize = self.own.iter().sum();
        let has_others = self.count > own_workers;
        let mut populations = PopulationEnds::of(&self.own);
        let mut failed = None;
        let mut ended = Vec::with_capacity(self.count);
        for thread in self.threads {
            let joined = tokio::task::spawn_blocking(move || thread.join()).await;
            match joined {
                Ok(Ok(Ok(results))) => ended.extend(results),
                Ok(Ok(Err(error))) => failed = failed.or(Some(RunError::System(error))),
                Ok(Err(panic)) => failed = failed.or(Some(panicked(panic))),
                Err(_) => failed = failed.or(Some(RunError::Panicked)),
            }
        }
        ended.sort_by_key(|worker| worker.number);
        for NumberedResult { number, result } in ended {
            if number < own_workers && has_others {
                own.merge(result.clone());
            }
            populations.add(number, &result);
            merged.merge(result);
        }
        if self.is_late {
            let why = "it learned of the end of the window too late";
            merged.faults.push(LoadFault::whole(why));
        }
        for result in [&mut merged, &mut own] {
            result.dropouts.sort_by_key(|dropout| dropout.client);
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(EndedWorkers {
                all: merged,
                own,
                populations: populations.finish(),
            }),
        }
    }
}

/// Returns the error for a worker's panic: a bug of smbench, or of an embedding
/// program.
fn panicked(panic: Box<dyn Any + Send>) -> RunError {
    match panic.downcast::<ForeignPanic>() {
        Ok(panic) => RunError::EmbeddingPanicked {
            part: panic.part.name(),
            said: panic.said,
        },
        Err(_) => RunError::Panicked,
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::record::Dropout;

    use super::*;

    #[test]
    fn dropouts_belong_to_the_population_of_their_worker() {
        let lost = |clients: &[u32]| {
            let dropouts = clients.iter().map(|&client| Dropout {
                client,
                reason: "its connection was cut".to_owned(),
                after_s: None,
            });
            WorkerResult {
                dropouts: dropouts.collect(),
                ..WorkerResult::default()
            }
        };
        let mut populations = PopulationEnds::of(&[2, 1]);
        for (worker, clients) in [(0, &[4, 2][..]), (1, &[3]), (2, &[0])] {
            populations.add(worker, &lost(clients));
        }
        let ends = populations.finish().into_iter();
        let numbers = ends.map(|of_one| {
            let numbers = of_one.dropouts.iter().map(|dropout| dropout.client);
            numbers.collect::<Vec<_>>()
        });
        assert_eq!(numbers.collect::<Vec<_>>(), [vec![2, 3, 4], vec![0]]);
        // Another host has a part of each.
        let mut populations = PopulationEnds::of(&[1, 1]);
        let part = |clients| PopulationEnd {
            dropouts: lost(clients).dropouts,
            served: 2,
            ..PopulationEnd::default()
        };
        let host = WorkerResult {
            populations: vec![part(&[6]), part(&[])],
            ..lost(&[6])
        };
        populations.add(0, &lost(&[7]));
        populations.add(2, &host);
        let ends = populations.finish();
        let counts = ends.iter().map(|end| (end.dropouts.len(), end.served));
        assert_eq!(counts.collect::<Vec<_>>(), [(2, 2), (0, 2)]);
        let mut only = PopulationEnds::of(&[2]);
        only.add(0, &lost(&[1]));
        assert!(only.finish().is_empty());
    }
}
