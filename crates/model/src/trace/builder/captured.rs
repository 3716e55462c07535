//! Makes the records of operations that only captures have.

use smbench_protocol::NtStatus;

use super::Builder;
use super::paths::clean;
use crate::trace::{Record, Step, StepError};

impl Builder {
    /// Returns the record of a step that only captures have.
    pub(super) fn of_capture(
        &mut self,
        step: Step<'_>,
        status: NtStatus,
    ) -> Result<Record, StepError> {
        Ok(match step {
            Step::Query {
                handle,
                info,
                class,
                length,
            } => Record::Query {
                handle: self.handles.number(handle, status)?,
                info,
                class,
                length,
            },
            Step::List {
                handle,
                pattern,
                class,
                flags,
                length,
            } => Record::List {
                handle: self.handles.number(handle, status)?,
                pattern: self.path(&clean(pattern)?)?.0,
                class,
                flags,
                length,
            },
            Step::RenameOpen {
                handle,
                to,
                replaces,
            } => Record::RenameOpen {
                handle: self.handles.number(handle, status)?,
                to: self.path(to)?.0,
                replaces,
            },
            Step::MarkDeleted { handle, is_pending } => Record::MarkDeleted {
                handle: self.handles.number(handle, status)?,
                is_pending,
            },
            Step::SetSecurity(handle) => Record::SetSecurity(self.handles.number(handle, status)?),
            Step::Echo => Record::Echo,
            of_loadfile => unreachable!("{of_loadfile:?} is a step of a loadfile"),
        })
    }
}
