//! What [`execute`](super::execute) runs: a plan, and what replaces parts of it. Types of an
//! embedding program end here, in functions that make workers.

use std::fmt;
use std::sync::Arc;

use smbench_model::operations::{Drawn, Mix, Streams};
use smbench_model::plan::Plan;
use smbench_model::record::{Origin, ServerFacts, SplitSizes};

use super::context::{MakeWorkers, worker_maker};
use super::course::Course;
use super::noting::StateFile;
use super::site::ShareOperations;
use crate::drivers::driver::Connector;
use crate::drivers::untrusted::UntrustedConnector;
use crate::worker::assignment::WorkerParts;
use crate::worker::supply::{Foreign, OperationSource, Operations};

/// A plan to run, with load points, operations or a target of your own.
pub struct PlannedRun<'a> {
    pub(super) plan: &'a Plan,
    pub(super) course: Option<&'a mut dyn Course>,
    pub(super) work: RunWork,
    pub(super) state: Option<StateFile>,
}

/// The operations of a run, and where they are carried out.
pub(super) enum RunWork {
    /// The operations of the plan, on its share.
    Plan,
    /// Operations of an embedding program, on the share of the plan.
    Operations(Box<dyn FnOnce(&Plan) -> ShareOperations>),
    /// Operations and a target of an embedding program.
    Target(OwnTarget),
}

/// A target of an embedding program.
pub(super) struct OwnTarget {
    pub(super) server: ServerFacts,
    /// See [`Connector::descriptors_per_group`].
    pub(super) descriptors_per_group: u32,
    /// Whether the operations are those that the plan draws. Only then can it have several
    /// populations.
    pub(super) is_drawn: bool,
    /// Makes the operations of a population, from the plan of it alone.
    pub(super) operations: Box<dyn Fn(&Plan) -> TargetOperations>,
}

/// The operations of a population on a target of an embedding program.
pub(super) struct TargetOperations {
    pub(super) mix: Arc<Mix>,
    pub(super) origin: Origin,
    pub(super) make_workers: MakeWorkers,
}

impl<'a> PlannedRun<'a> {
    /// Begins with a plan as it is.
    #[must_use]
    pub const fn of(plan: &'a Plan) -> Self {
        Self {
            plan,
            course: None,
            work: RunWork::Plan,
            state: None,
        }
    }

    /// Notes each answered write and flush in a file, with which
    /// [`verify_after`](crate::probe::verify_after) judges the share after a crash. The files of
    /// the run then stay on the share. Operations of an embedding program are not noted.
    #[must_use]
    pub fn noting(self, state: Option<StateFile>) -> Self {
        Self { state, ..self }
    }

    /// Takes the load points that `course` chooses. The load points of the plan tell how many
    /// clients there can be. A client's files are written before the first load point that it
    /// is part of.
    #[must_use]
    pub fn in_course(self, course: &'a mut dyn Course) -> Self {
        Self {
            course: Some(course),
            ..self
        }
    }

    /// Takes your own operations instead of those drawn from the workload and seed of the plan.
    ///
    /// The workload still sets the limits: which files there are, with which rights they are
    /// opened, how large a request may be, and which actions there are ([`Mix::operation`]). A
    /// client whose stream exceeds these limits drops out.
    #[must_use]
    pub fn with_operations(self, streams: impl Streams) -> Self {
        let operations = |plan: &Plan| Operations::of(streams, plan).into();
        Self {
            work: RunWork::Operations(Box::new(operations)),
            ..self
        }
    }

    /// Takes the target of `connector` and the operations of `streams`.
    /// [`Drawn`](smbench_model::operations::Drawn) gives the operations of the plan.
    ///
    /// All parts of the plan about an SMB server are ignored: its target, its session options
    /// and its driver. No files are created. `server` describes the server in the record.
    #[must_use]
    pub fn on_target(
        self,
        server: ServerFacts,
        connector: impl Connector,
        streams: impl Streams,
    ) -> Self {
        let operations = move |plan: &Plan| Operations::of(streams.clone(), plan);
        self.on_own_target(server, connector, false, operations)
    }

    /// Takes the target of `connector`, and the operations that the plan draws, of each of its
    /// populations.
    ///
    /// Parts of the plan are ignored as by [`PlannedRun::on_target`]. Each population numbers its
    /// clients from 0, and all have clones of `connector`.
    #[must_use]
    pub fn drawn_on_target(self, server: ServerFacts, connector: impl Connector) -> Self {
        let operations = |plan: &Plan| {
            let drawn = Drawn {
                mix: Mix::new(&plan.only().workload),
                seed: plan.work.drawing_seed(),
            };
            Operations::of(drawn, plan)
        };
        self.on_own_target(server, connector, true, operations)
    }

    fn on_own_target<T: Streams>(
        self,
        server: ServerFacts,
        connector: impl Connector,
        is_drawn: bool,
        operations: impl Fn(&Plan) -> Operations<Foreign<T>> + 'static,
    ) -> Self {
        let descriptors_per_group = connector.descriptors_per_group();
        let operations = move |plan: &Plan| {
            let Operations {
                mix,
                origin,
                supplies,
            } = operations(plan);
            let connector = UntrustedConnector {
                connector: connector.clone(),
                limit: plan.limits.setup,
            };
            let make_workers = if plan.only().has_wholes() {
                let supplies = supplies.split(SplitSizes::default());
                worker_maker(WorkerParts {
                    connector,
                    supplies,
                })
            } else {
                worker_maker(WorkerParts {
                    connector,
                    supplies,
                })
            };
            TargetOperations {
                mix,
                origin,
                make_workers,
            }
        };
        Self {
            work: RunWork::Target(OwnTarget {
                server,
                descriptors_per_group,
                is_drawn,
                operations: Box::new(operations),
            }),
            ..self
        }
    }
}

impl<'a> From<&'a Plan> for PlannedRun<'a> {
    fn from(plan: &'a Plan) -> Self {
        Self::of(plan)
    }
}

impl fmt::Debug for PlannedRun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedRun")
            .field("plan", self.plan)
            .finish_non_exhaustive()
    }
}
