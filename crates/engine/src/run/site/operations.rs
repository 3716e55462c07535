//! The operations of a run on a share, and the workers that carry them out. Only this part
//! of a run depends on the source of the operations.

use std::sync::Arc;

use smbench_model::generator::DriverKind;
use smbench_model::operations::fileio::Sequences;
use smbench_model::operations::replay::Replays;
use smbench_model::operations::{Drawn, Mix};
use smbench_model::plan::Plan;
use smbench_model::record::{Origin, SplitSizes};

use crate::drivers::cifs::Cifs;
use crate::drivers::cifs::mix::CifsMix;
use crate::drivers::driver::Connector;
use crate::drivers::logons::LogonConnect;
use crate::drivers::native::Native;
use crate::drivers::native::request::MixEncoder;
use crate::drivers::reconnecting::{
    ChurnPlan, PlannedStops, ReconnectPolicy, ReconnectingConnector,
};
use crate::drivers::site::Site;
use crate::drivers::site_connect::SiteConnect;
#[cfg(feature = "smb-rs")]
use crate::drivers::smb_rs::{self, Caller};
use crate::run::context::{MakeWorkers, worker_maker};
use crate::worker::assignment::WorkerParts;
use crate::worker::supply::{
    CountedDrawn, Indirect, Noting, OperationSource, Operations, Splitting, Supplies,
};

/// The operations of a population of a run on a share.
pub(crate) struct ShareOperations {
    pub(super) mix: Arc<Mix>,
    pub(super) origin: Origin,
    /// Makes the maker of workers for the site of the population.
    pub(super) workers: Box<dyn FnOnce(Arc<Site>) -> MakeWorkers>,
}

impl ShareOperations {
    /// Returns the operations that the plan itself asks for, of each population.
    pub(crate) fn of_plan(plan: &Plan) -> Vec<Self> {
        plan.alone()
            .map(|plan| Self::of_population(&plan))
            .collect()
    }

    /// Returns the same, with notes on their answers.
    pub(crate) fn noted(plan: &Plan) -> Vec<Self> {
        plan.alone()
            .map(|plan| Self::noted_of_population(&plan))
            .collect()
    }

    /// Returns the operations of the only population of a plan that draws them.
    fn noted_of_population(plan: &Plan) -> Self {
        let mix = Mix::new(&plan.only().workload);
        let seed = plan.work.drawing_seed();
        let supplies = Drawn {
            mix: Arc::clone(&mix),
            seed,
        };
        Self {
            mix,
            origin: Origin::Plan,
            workers: Box::new(|site| noting_workers(site, supplies)),
        }
    }

    /// Returns the operations of the only population of a plan.
    fn of_population(plan: &Plan) -> Self {
        let mix = Mix::new(&plan.only().workload);
        let seed = plan.work.drawing_seed();
        match (plan.only().workload.replay(), plan.only().workload.fileio()) {
            (Some(replay), _) => {
                Operations::of_plan(mix, Replays::new(replay.clone(), seed)).into()
            }
            (None, Some(test)) => {
                let supplies = Sequences::new(test, seed, plan.generator.part, &mix);
                Operations::of_plan(mix, supplies).into()
            }
            (None, None) => {
                let supplies = Drawn {
                    mix: Arc::clone(&mix),
                    seed,
                };
                // The driver knows when a walk has ended.
                let count = plan.only().count;
                match count.filter(|_| !plan.only().workload.walks()) {
                    None => Operations::of_plan(mix, supplies).into(),
                    Some(count) => {
                        Operations::of_plan(mix, CountedDrawn { supplies, count }).into()
                    }
                }
            }
        }
    }
}

impl<T: OperationSource> From<Operations<T>> for ShareOperations {
    fn from(operations: Operations<T>) -> Self {
        let Operations {
            mix,
            origin,
            supplies,
        } = operations;
        Self {
            mix,
            origin,
            workers: Box::new(|site| workers(site, supplies)),
        }
    }
}

fn workers<T: OperationSource>(site: Arc<Site>, supplies: T) -> MakeWorkers {
    let plan = &site.plan;
    let is_cifs = site.endpoint.options.dialects.has_cifs();
    let is_logons = plan.only().workload.is_of_log_ons();
    let logons = is_logons.then(|| LogonConnect(site.endpoint.clone()));
    let wholes = plan.only().has_wholes();
    let split = site.split.or(wholes.then(SplitSizes::default));
    match plan.generator.driver {
        _ if let Some(connector) = logons => worker_maker(WorkerParts {
            connector,
            supplies: Indirect::new(supplies),
        }),
        DriverKind::Native if let Some(sizes) = split => {
            if is_cifs {
                let connector = SiteConnect::<Cifs<T::CifsEncoder>>::new(Arc::clone(&site));
                of_connector(&site, connector, supplies.split(sizes))
            } else {
                let connector = SiteConnect::<Native<T::Encoder>>::new(Arc::clone(&site));
                of_connector(&site, connector, supplies.split(sizes))
            }
        }
        DriverKind::Native if is_cifs => {
            let connector = SiteConnect::<Cifs<T::CifsEncoder>>::new(Arc::clone(&site));
            of_connector(&site, connector, Indirect::new(supplies))
        }
        DriverKind::Native if site.sets_up_again() => {
            let connector = SiteConnect::<Native<T::Encoder>>::new(Arc::clone(&site));
            of_connector(&site, connector, Indirect::new(supplies))
        }
        DriverKind::Native => worker_maker(WorkerParts {
            connector: SiteConnect::<Native<T::Encoder>>::new(site),
            supplies: supplies.native(),
        }),
        #[cfg(feature = "smb-rs")]
        DriverKind::SmbRs => worker_maker(WorkerParts {
            connector: smb_rs::SmbRsConnect(site, T::Caller::new),
            supplies: Indirect::new(supplies),
        }),
    }
}

/// Makes workers that note the answers to drawn operations.
fn noting_workers(site: Arc<Site>, drawn: Drawn) -> MakeWorkers {
    let plan = Arc::clone(&site.plan);
    let work = &plan.only().workload;
    let is_cifs = site.endpoint.options.dialects.has_cifs();
    let count = plan.only().count.filter(|_| !work.walks());
    let (mix, outstanding) = (Arc::clone(&site.mix), plan.only().outstanding);
    let is_plain = site.split.is_none() && !work.has_steps() && count.is_none();
    if is_plain && !is_cifs && !site.sets_up_again() {
        return worker_maker(WorkerParts {
            connector: SiteConnect::<Native<MixEncoder>>::new(site),
            supplies: Noting::new(drawn, &mix, outstanding),
        });
    }
    let sizes = site.split.unwrap_or_default();
    let supplies = match count {
        None => Splitting::new(drawn, sizes),
        Some(count) => {
            let supplies = drawn;
            Splitting::new(CountedDrawn { supplies, count }, sizes)
        }
    };
    let supplies = Noting::new(supplies, &mix, outstanding);
    if is_cifs {
        let connector = SiteConnect::<Cifs<CifsMix>>::new(Arc::clone(&site));
        return of_connector(&site, connector, supplies);
    }
    let connector = SiteConnect::<Native<MixEncoder>>::new(Arc::clone(&site));
    of_connector(&site, connector, supplies)
}

/// Returns the workers of a connector, whose groups come back after a loss, or leave and come
/// back, if the plan says so.
fn of_connector<C: Connector, T: Supplies>(site: &Site, connector: C, supplies: T) -> MakeWorkers {
    if !site.sets_up_again() {
        return worker_maker(WorkerParts {
            connector,
            supplies,
        });
    }
    worker_maker(WorkerParts {
        connector: ReconnectingConnector {
            connector,
            policy: site.reconnect,
            limit: match site.reconnect {
                ReconnectPolicy::Within(limit) => limit,
                ReconnectPolicy::Never => site.plan.limits.setup,
            },
            churn: ChurnPlan::from(&*site.plan),
            stops: PlannedStops::of(&site.plan, &site.endpoint),
            per_group: site
                .plan
                .sessions
                .connections
                .sessions_per_connection
                .max(1),
        },
        supplies,
    })
}
