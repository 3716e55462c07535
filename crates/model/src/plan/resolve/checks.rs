//! Checks of options against the workload that they come with.

use super::{FILE_BYTES_MAX, PlanSources};
use crate::action::Action;
use crate::bounds::{HELD_FILES_MAX, OPERATION_BYTES_MAX, VERIFY_MEMORY_MAX};
use crate::contents::block::BLOCK_BYTES;
use crate::contents::{Verify, verify};
use crate::plan::{Plan, PlanError, Problem};
use crate::units::Size;
use crate::workload::Workload;

impl PlanSources<'_> {
    /// Checks that one operation can carry a whole file, if there are such operations.
    pub(super) fn check_whole_files(&self, workload: &Workload) -> Result<(), PlanError> {
        let actions = workload.actions();
        let mut carriers = actions.iter().filter(|one| one.carries_file().is_some());
        match carriers.next() {
            Some(action) if workload.files.size > OPERATION_BYTES_MAX => {
                let (op, size) = (action.name(), Size(workload.files.size));
                Err(self.in_option("file_size", Problem::WholeFile { op, size }))
            }
            _ => Ok(()),
        }
    }

    /// Checks that clients can hold open the files that their operations work on.
    pub(super) fn check_held(&self, workload: &Workload) -> Result<(), PlanError> {
        if workload.files.tree().is_some() {
            return self.check_tree(workload);
        }
        let count = workload.files.count;
        if count > HELD_FILES_MAX && workload.actions().iter().any(Action::holds_file) {
            return Err(self.in_profile(Problem::TooManyHeldFiles(count)));
        }
        Ok(())
    }

    pub(super) fn check_share(&self, plan: &Plan) -> Result<(), PlanError> {
        if plan.bytes_on_share() > FILE_BYTES_MAX {
            let clients = plan.max_clients();
            return Err(self.in_option("file_size", Problem::FilesTooLarge { clients }));
        }
        Ok(())
    }

    pub(super) fn check_verify(&self, plan: &Plan) -> Result<(), PlanError> {
        if plan.only().verify == Verify::Off {
            return Ok(());
        }
        let actions = plan.only().workload.actions();
        if let Some(action) = actions.iter().find(|one| one.carries_file().is_some()) {
            let op = action.name();
            return Err(self.in_option("verify", Problem::VerifyWholeFile { op }));
        }
        let is_whole = |bytes: u64| bytes.is_multiple_of(BLOCK_BYTES as u64);
        let files = &plan.only().workload.files;
        if !is_whole(files.size) {
            let (what, size) = ("file size", Size(files.size));
            return Err(self.in_option("file_size", Problem::Unverifiable { what, size }));
        }
        let memory = verify::memory_bytes(files, plan.max_clients());
        if memory > VERIFY_MEMORY_MAX {
            let (bytes, memory) = (Size(plan.bytes_on_share()), Size(memory));
            return Err(self.in_option("file_size", Problem::VerifyMemory { bytes, memory }));
        }
        let sizes = plan.only().workload.request_sizes();
        let sizes = sizes.map(|size| ("size", size));
        let lines = plan.only().workload.pattern().unwrap_or_default().iter();
        let mut units = sizes.chain(lines.map(|line| ("align", line.align)));
        match units.find(|&(_, unit)| !is_whole(unit.into())) {
            None => Ok(()),
            Some((what, unit)) => {
                let size = Size(unit.into());
                Err(self.in_profile(Problem::Unverifiable { what, size }))
            }
        }
    }
}
