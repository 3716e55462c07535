//! Validates a `fileio` test: what `sysbench fileio` accepts, and what the engine
//! can do.

use super::{PlanSources, on_command_line};
use crate::access::SizeWeight;
use crate::fileio::{Fileio, FileioProblem};
use crate::files::{FileSet, Layout, Scope};
use crate::plan::{Plan, PlanError, Problem};
use crate::workload::{Requests, Workload};

impl PlanSources<'_> {
    /// Resolves the workload of a test. Its options come from the command line.
    pub(super) fn fileio(&self, test: &Fileio) -> Result<Workload, PlanError> {
        test.check()
            .map_err(|(field, problem)| in_test(field, problem))?;
        Ok(Workload {
            sizes: vec![SizeWeight {
                // The check above bounds it to OPERATION_BYTES_MAX.
                size: test.request().0 as u32,
                weight: 100.0,
            }],
            access: test.mode.access(),
            files: FileSet {
                scope: Scope::Shared,
                count: test.files,
                size: test.file_bytes(),
                layout: Layout::Flat,
            },
            requests: Requests::Fileio(test.clone()),
        })
    }

    pub(super) fn check_fileio(&self, plan: &Plan) -> Result<(), PlanError> {
        let Some(test) = plan.only().workload.fileio() else {
            return Ok(());
        };
        plan.check_order()
            .map_err(|problem| on_command_line("outstanding", problem))?;
        let duration = plan.work.duration;
        match test.time {
            Some(time) if time != duration => {
                Err(in_test("time", FileioProblem::Time { time, duration }))
            }
            _ => Ok(()),
        }
    }
}

fn in_test(option: &'static str, problem: FileioProblem) -> PlanError {
    on_command_line(option, Problem::Fileio(problem))
}
