//! The order of requests in an operation of several steps, which is measured as a whole too.

use super::{Mix, Operation, RequestResult};
use crate::kind::OpKind;

impl Mix {
    /// Returns the step after one with this result; `None` at the end of the operation. What
    /// was opened is closed, also after a failure.
    pub(super) fn after_step(&self, last: &Operation, went: RequestResult) -> Option<Operation> {
        let mut kind = next(last.kind, went)?;
        if kind.transfers().is_some() && self.files.size == 0 {
            kind = next(kind, RequestResult::Well)?;
        }
        let length = match kind.transfers() {
            // A plan with larger files is refused.
            Some(_) => self.files.size as u32,
            None => 0,
        };
        Some(Operation {
            kind,
            length,
            ..*last
        })
    }
}

/// Returns the kind of the step after one of this kind and result.
const fn next(last: OpKind, went: RequestResult) -> Option<OpKind> {
    use OpKind as K;
    use RequestResult::Well;
    Some(match (last, went) {
        (K::ListOpen, Well) => K::ListFirst,
        (K::ListFirst | K::ListNext, Well) => K::ListNext,
        (K::ListFirst | K::ListNext, _) => K::ListClose,
        (K::CopyInCreate, Well) => K::CopyInWrite,
        (K::CopyInWrite, Well) => K::CopyInTimes,
        (K::CopyInWrite | K::CopyInTimes, _) => K::CopyInClose,
        (K::CopyOutOpen, Well) => K::CopyOutRead,
        (K::CopyOutRead, _) => K::CopyOutClose,
        (K::SaveCreate, Well) => K::SaveWrite,
        (K::SaveWrite, Well) => K::SaveFlush,
        (K::SaveWrite | K::SaveFlush, _) => K::SaveClose,
        (K::SaveClose, Well) => K::SaveBackup,
        // Each goes on after a failure, so that there is a document to save the next time.
        (K::SaveBackup, _) => K::SaveRename,
        (K::SaveRename, _) => K::SaveDelete,
        _ => return None,
    })
}
