//! Open files and other resources that a run reserves on this machine.

use smbench_model::plan::Plan;

use crate::machine::process;
use crate::run::carrier::{Carrier, descriptors};
use crate::run::error::RunError;

/// Checks that this process can have the resources that a plan needs.
pub(crate) fn reserve(plan: &Plan, carrier: Carrier) -> Result<(), RunError> {
    let threads = plan.generator.threads.into();
    let reserved = process::reserve_descriptors(descriptors(plan, carrier), threads);
    reserved.map_err(|(needed, limit)| RunError::Descriptors {
        clients: plan.max_clients(),
        needed,
        limit,
    })?;
    Ok(crate::run::capacity::check_process(plan, carrier)?)
}
