//! The order of requests in an operation of several steps, which is measured as a whole too.

use super::{Mix, Operation, RequestResult};
use crate::kind::OpKind;

impl Mix {
    /// Returns the step after one with this result; `None` at the end of the operation. What
    /// was opened is closed, also after a failure.
    pub(super) fn after_step(&self, last: &Operation, went: RequestResult) -> Option<Operation> {
        let mut kind = next(last.kind, went)?;
        // A plan with larger files is refused.
        let size = match kind {
            OpKind::CopyInWrite => self.files.copied_size(last.file) as u32,
            _ => self.files.size_of(last.file) as u32,
        };
        if kind.transfers().is_some() && size == 0 {
            kind = next(kind, RequestResult::Well)?;
        }
        let length = kind.transfers().map_or(0, |_| size);
        let offset = match kind {
            OpKind::NeighbourLook | OpKind::NeighbourRead => last.offset + 1,
            _ => last.offset,
        };
        Some(Operation {
            kind,
            offset,
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
        (look @ (K::NeighbourLook | K::NeighbourRead), RequestResult::Exhausted) => look,
        (K::ListOpen, Well) => K::ListFirst,
        (K::ListFirst | K::ListNext, Well) => K::ListNext,
        (K::ListFirst | K::ListNext, _) => K::ListClose,
        (K::WalkOpen, Well) => K::WalkFirst,
        (K::WalkFirst | K::WalkNext, Well) => K::WalkNext,
        (K::WalkFirst | K::WalkNext, _) => K::WalkClose,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use crate::action::{Action, WeightedAction};
    use crate::files::{FileSet, Layout, Scope};
    use crate::workload::{Requests, Workload};

    /// Returns the steps of an action with files of this size. `fails` is the step that fails,
    /// if there is one. A listing has three answers with names.
    fn steps(action: &Action, size: u64, fails: Option<OpKind>) -> Vec<OpKind> {
        let mix = Mix::new(&Workload {
            sizes: Vec::new(),
            requests: Requests::Mix(vec![WeightedAction {
                action: action.clone(),
                weight: 100.0,
            }]),
            access: Access::Random,
            files: FileSet {
                scope: Scope::Private,
                count: 1,
                size,
                layout: Layout::Flat,
            },
        });
        let (mut steps, mut has_failed) = (Vec::new(), false);
        let mut next = mix.operation(action.first(), 0, 0, 0);
        while let Some(operation) = next {
            let carries = operation.kind.transfers().map_or(0, |_| size as u32);
            assert_eq!(operation.length, carries);
            steps.push(operation.kind);
            // The loop keeps in mind that a step has failed.
            has_failed |= fails == Some(operation.kind);
            let went = match operation.kind {
                _ if has_failed => RequestResult::Wrong,
                OpKind::ListNext if steps.len() > 3 => RequestResult::Exhausted,
                _ => RequestResult::Well,
            };
            next = mix.after(&operation, went);
        }
        steps
    }

    #[test]
    fn steps_follow_one_another_and_what_is_open_is_closed() {
        let list = Action::List {
            aapl: false,
            class: smbench_protocol::command::query_directory::DirectoryClass::Names,
            pattern: "*".to_owned(),
            buffer: 65_536,
        };
        let next = OpKind::ListNext;
        let listed = [
            OpKind::ListOpen,
            OpKind::ListFirst,
            next,
            next,
            OpKind::ListClose,
        ];
        assert_eq!(steps(&list, 1, None), listed);
        assert_eq!(steps(&list, 1, Some(OpKind::ListOpen)), listed[..1]);
        let first = [listed[0], listed[1], listed[4]];
        assert_eq!(steps(&list, 1, Some(OpKind::ListFirst)), first);
        for action in [Action::CopyIn, Action::CopyOut, Action::SaveOffice] {
            let kinds = action.kinds();
            assert_eq!(steps(&action, 4096, None), kinds);
            assert_eq!(steps(&action, 4096, Some(kinds[0])), kinds[..1]);
        }
    }

    #[test]
    fn a_neighbour_looks_again_until_the_file_is_there() {
        for kind in [OpKind::NeighbourLook, OpKind::NeighbourRead] {
            let look = |went| next(kind, went);
            assert_eq!(look(RequestResult::Exhausted), Some(kind));
            assert_eq!(look(RequestResult::Well), None);
            assert_eq!(look(RequestResult::Wrong), None);
        }
    }

    #[test]
    fn a_file_without_bytes_is_not_carried() {
        let made = [
            OpKind::CopyInCreate,
            OpKind::CopyInTimes,
            OpKind::CopyInClose,
        ];
        assert_eq!(steps(&Action::CopyIn, 0, None), made);
        let read = [OpKind::CopyOutOpen, OpKind::CopyOutClose];
        assert_eq!(steps(&Action::CopyOut, 0, None), read);
    }

    #[test]
    fn a_save_that_fails_early_changes_no_names_and_later_brings_the_document_back() {
        let save = Action::SaveOffice;
        let all = save.kinds();
        let unwritten = [OpKind::SaveCreate, OpKind::SaveWrite, OpKind::SaveClose];
        assert_eq!(steps(&save, 1, Some(OpKind::SaveWrite)), unwritten);
        assert_eq!(steps(&save, 1, Some(OpKind::SaveClose)), all[..4]);
        for name in [OpKind::SaveBackup, OpKind::SaveRename] {
            assert_eq!(steps(&save, 1, Some(name)), all);
        }
    }
}
