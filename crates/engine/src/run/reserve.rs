//! Open files and other resources that a run reserves on this machine.

use smbench_model::plan::Plan;

use crate::machine::process;
use crate::run::capacity::{check_ports, worker_threads, workers};
use crate::run::carrier::{Carrier, descriptors};
use crate::run::error::RunError;
use crate::smb::session::Endpoint;

/// Timers of a worker: one for instants that are due, and one for events.
const TIMERS_PER_WORKER: u64 = 2;

/// Checks that this process can have the resources that a plan needs.
pub(crate) fn reserve(plan: &Plan, carrier: Carrier) -> Result<(), RunError> {
    let timers = workers(plan) * TIMERS_PER_WORKER;
    let wanted = descriptors(plan, carrier) + timers;
    let reserved = process::reserve_descriptors(wanted, worker_threads(plan));
    reserved.map_err(|(needed, limit)| RunError::Descriptors {
        clients: plan.max_clients(),
        needed,
        limit,
    })?;
    Ok(crate::run::capacity::check_process(plan, carrier)?)
}

/// Returns the largest number of clients, up to that of the plan, that this machine can
/// carry with connections to `endpoint`, and why it can carry no more.
pub(super) fn most_clients(plan: &Plan, endpoint: &Endpoint) -> (u32, Option<RunError>) {
    let refused = |clients: u32| {
        let mut plan = plan.clone();
        plan.only_mut().clients = vec![clients];
        let ports = || check_ports(&plan, endpoint).map_err(RunError::from);
        reserve(&plan, Carrier::Own(endpoint.logoff))
            .and_then(|()| ports())
            .err()
    };
    let (mut fits, mut beyond) = (0, plan.max_clients());
    let mut why = refused(beyond);
    if why.is_none() {
        return (beyond, None);
    }
    while fits + 1 < beyond {
        let middle = fits.midpoint(beyond);
        match refused(middle) {
            Some(reason) => (beyond, why) = (middle, Some(reason)),
            None => fits = middle,
        }
    }
    (fits, why)
}
