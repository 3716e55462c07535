//! The rate of one of several populations, which a search changes from load point to load point.

use super::{Work, WorkProblem};
use crate::load::{LoadModel, Rate, Spacing};

impl Work {
    /// Gives the population of this name a rate that each load point sets; `rate` is the first
    /// one. The other populations keep what they do. How arrivals are spaced stays as well.
    ///
    /// # Errors
    /// [`WorkProblem::Searched`] if there is no such population, or it has instants of its own.
    pub fn search_rate(&mut self, name: &str, rate: Rate) -> Result<(), WorkProblem> {
        let names = || {
            let names = self
                .populations
                .iter()
                .filter_map(|one| one.name.as_deref());
            names.collect::<Vec<_>>()
        };
        let problem = |problem| {
            Err(WorkProblem::Searched {
                name: name.to_owned(),
                problem,
            })
        };
        let Some(at) = names().iter().position(|known| *known == name) else {
            return problem(match &names()[..] {
                [] => "the profile has none".to_owned(),
                all => format!("the profile has only {}", all.join(", ")),
            });
        };
        let ramp_up = self.ramp_up;
        let population = &mut self.populations[at];
        if population.start > ramp_up {
            return problem("it begins after the ramp-up: give it an earlier start".to_owned());
        }
        let lines = population.workload.pattern().unwrap_or_default();
        if lines.iter().any(|line| !line.delay.is_zero()) {
            return problem("its pattern has delays: its operations have no rate".to_owned());
        }
        let arrivals = match &population.load {
            LoadModel::Closed { .. } if population.workload.replay().is_none() => Spacing::Fixed,
            LoadModel::Rate { arrivals, .. } => *arrivals,
            LoadModel::Closed { .. } | LoadModel::Recorded | LoadModel::Stream(_) => {
                return problem("it replays or streams: its operations have no rate".to_owned());
            }
        };
        population.load = LoadModel::Rate { rate, arrivals };
        population.rates = vec![rate];
        Ok(())
    }

    /// Returns the clients of each population at a load point that a search chooses, and whether
    /// it has the rate of that load point. `rate` is that of the load point.
    #[must_use]
    pub fn chosen(&self, clients: u32, rate: Option<Rate>) -> Option<Vec<(u32, Option<Rate>)>> {
        let populations = self.populations.iter();
        match rate {
            None => {
                let clients = self.divided(clients)?.into_iter();
                Some(clients.map(|clients| (clients, None)).collect())
            }
            Some(_) => {
                populations.clone().find(|one| !one.rates.is_empty())?;
                let of = populations.map(|one| {
                    let clients = one.clients.first().copied().unwrap_or(0);
                    (clients, rate.filter(|_| !one.rates.is_empty()))
                });
                Some(of.collect())
            }
        }
    }
}
