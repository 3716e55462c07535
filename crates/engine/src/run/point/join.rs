//! The end of the workers of a load point.

use std::any::Any;

use smbench_model::record::{Dropout, Punctuality};

use super::workers::Workers;
use crate::drivers::untrusted::ForeignPanic;
use crate::run::error::RunError;
use crate::worker::assignment::WorkerResult;
use crate::worker::figures::add_stages;

/// The results of workers that have ended.
pub(super) struct EndedWorkers {
    pub(super) all: WorkerResult,
    /// The result of the workers of this host alone, if there are other hosts.
    pub(super) own: WorkerResult,
    /// The end of each population, if there are several.
    pub(super) populations: Vec<PopulationEnd>,
}

/// What the workers of a population counted, apart from operations.
#[derive(Default)]
pub(super) struct PopulationEnd {
    /// The clients that dropped out. Their numbers are only unique within the population.
    pub(super) dropouts: Vec<Dropout>,
    /// Number of clients that completed an operation in the window.
    pub(super) served: u32,
    /// How punctual its actions were that are due by the clock.
    pub(super) punctuality: Punctuality,
    /// The same by stage, if the load has stages.
    pub(super) stages: Vec<Punctuality>,
}

/// The ends of the populations so far.
struct PopulationEnds {
    /// The number of the first worker after those of each population, and its end.
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
            of.dropouts.extend_from_slice(&outcome.dropouts);
            of.served += outcome.figures.served;
            of.punctuality = of.punctuality + outcome.figures.punctuality;
            add_stages(&mut of.stages, &outcome.figures.stages);
        }
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
        let has_others = self.threads.len() > own_workers;
        let mut populations = PopulationEnds::of(&self.own);
        let mut failed = None;
        for (number, thread) in self.threads.into_iter().enumerate() {
            let joined = tokio::task::spawn_blocking(move || thread.join()).await;
            match joined {
                Ok(Ok(Ok(outcome))) => {
                    let outcome = outcome.unwrap_or_default();
                    if number < own_workers && has_others {
                        own.merge(outcome.clone());
                    }
                    populations.add(number, &outcome);
                    merged.merge(outcome);
                }
                Ok(Ok(Err(error))) => failed = failed.or(Some(RunError::System(error))),
                Ok(Err(panic)) => failed = failed.or(Some(panicked(panic))),
                Err(_) => failed = failed.or(Some(RunError::Panicked)),
            }
        }
        if self.is_late {
            let fault = "it learned of the end of the window too late";
            merged.faults.push(fault.to_owned());
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
        let mut only = PopulationEnds::of(&[2]);
        only.add(0, &lost(&[1]));
        assert!(only.finish().is_empty());
    }
}
