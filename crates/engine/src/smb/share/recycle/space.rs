//! Whether the space of deleted files comes back. If not, a recycle bin at a place that
//! clients cannot see may hold them, or a snapshot.
//!
//! Other clients write and delete too. A finding therefore needs all of these: the free
//! space fell when the files were written; it is the same before and after the deletion;
//! and it does not move while it is watched, so that no other client is at work.

use std::time::Duration;

use smbench_model::units::Size;

use crate::machine::cancel::Cancel;
use crate::smb::calls::FileCalls;
use crate::smb::share::files::free_bytes_in;

/// Bytes of the smallest run that is watched. Less is lost among other clients.
const WATCHED_BYTES_MIN: u64 = 256 << 20;
/// Number of looks after the deletion, and the time between them. Some file systems give
/// space back only with their next commit, such as btrfs after 30 s.
const LOOKS: u32 = 36;
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Number of looks from the first that shows a part of the space.
const LOOKS_AT_PART: usize = 5;
/// A change of the free space that shows that space comes back, or that others write.
const MOVED_BYTES: u64 = 64 << 20;

/// The free space of a share over the life of a run.
#[derive(Debug)]
pub(crate) struct SpaceWatch {
    folder: String,
    /// Bytes of the files.
    bytes: u64,
    /// Free bytes before the files were written.
    at_first: u64,
    /// Free bytes before they were deleted.
    before: u64,
}

impl SpaceWatch {
    /// Looks before files of this many bytes are written. `None` if they are too few, or
    /// if the server does not report its free space.
    pub(in crate::smb::share) async fn begin(
        session: &mut impl FileCalls,
        folder: &str,
        bytes: u64,
    ) -> Option<Self> {
        if bytes < WATCHED_BYTES_MIN {
            return None;
        }
        let at_first = free_bytes_in(session, folder).await.ok()??;
        Some(Self {
            folder: folder.to_owned(),
            bytes,
            at_first,
            before: at_first,
        })
    }

    /// Notes that more files are written.
    pub(in crate::smb::share) const fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Looks before the files are deleted. `None` if they took no space that the server
    /// reports.
    pub(in crate::smb::share) async fn before_removal(
        watch: Option<Self>,
        session: &mut impl FileCalls,
    ) -> Option<Self> {
        let mut watch = watch?;
        watch.before = free_bytes_in(session, &watch.folder).await.ok()??;
        let taken = watch.at_first.saturating_sub(watch.before);
        (taken >= watch.bytes / 2).then_some(watch)
    }

    /// Looks after the files were deleted, until their space is back or it is certain that
    /// it does not come back. A cancel ends the wait.
    pub(in crate::smb::share) async fn after_removal(
        watch: Option<Self>,
        session: &mut impl FileCalls,
        cancel: &Cancel,
    ) -> SpaceFinding {
        let Some(watch) = watch else {
            return SpaceFinding::Back;
        };
        let mut looks = Vec::new();
        for look in 0..LOOKS {
            if look > 0 {
                tokio::select! {
                    () = tokio::time::sleep(LOOK_INTERVAL) => {}
                    () = cancel.cancelled() => {
                        return SpaceFinding::Unknown("interrupted".to_owned());
                    }
                }
            }
            let free = free_bytes_in(session, &watch.folder).await;
            match free {
                Ok(Some(free)) => looks.push(free),
                Err(error) if error.status().is_none() => {
                    return SpaceFinding::Unknown(error.to_string());
                }
                Ok(None) | Err(_) => {
                    let reason = "the server no longer reports its free space";
                    return SpaceFinding::Unknown(reason.to_owned());
                }
            }
            if let Some(found) = watch.judge(&looks) {
                return found;
            }
        }
        watch.judge_whole(&looks)
    }

    /// Judges the looks so far. `None` if more are needed.
    fn judge(&self, looks: &[u64]) -> Option<SpaceFinding> {
        let last = *looks.last()?;
        let is_back = last >= self.before.saturating_add(self.bytes / 2);
        let is_taken = last < self.before.saturating_sub(self.little());
        match (is_back, is_taken) {
            (true, _) => Some(SpaceFinding::Back),
            (false, true) => Some(self.moved(last)),
            (false, false) => {
                let mut at_part = looks.iter().skip_while(|look| self.is_still(&[**look]));
                at_part.nth(LOOKS_AT_PART - 1).map(|_| self.unclear(last))
            }
        }
    }

    /// Judges all looks, of which none shows that the space is back.
    fn judge_whole(&self, looks: &[u64]) -> SpaceFinding {
        let last = looks.last().copied().unwrap_or(self.before);
        if !self.is_still(looks) {
            return self.unclear(last);
        }
        SpaceFinding::Kept(format!(
            "the space of the deleted files did not come back: {} were deleted; the share had {} \
             free before that and {} free {} s later; the server may have a recycle bin that \
             smbench does not see, or a snapshot, or report its free space late",
            Size(self.bytes).three_digits(),
            Size(self.before).three_digits(),
            Size(last).three_digits(),
            LOOKS - 1
        ))
    }

    /// Says that others wrote or deleted.
    fn moved(&self, last: u64) -> SpaceFinding {
        SpaceFinding::Unknown(format!(
            "other programs moved the free space: it was {} before {} were deleted, and is {} now",
            Size(self.before).three_digits(),
            Size(self.bytes).three_digits(),
            Size(last).three_digits()
        ))
    }

    /// Says that a part of the space came back. Either the server is slow or others delete.
    fn unclear(&self, last: u64) -> SpaceFinding {
        SpaceFinding::Unknown(format!(
            "the free space moved by {} while smbench waited for the space of {} of deleted files",
            Size(last.abs_diff(self.before)).three_digits(),
            Size(self.bytes).three_digits()
        ))
    }

    /// Returns the largest change that says nothing.
    fn little(&self) -> u64 {
        (self.bytes / 16).min(MOVED_BYTES)
    }

    /// Returns whether all looks say that nothing was given back, and that nobody else
    /// writes or deletes.
    fn is_still(&self, looks: &[u64]) -> bool {
        let mut looks = looks.iter();
        looks.all(|look| look.abs_diff(self.before) <= self.little())
    }
}

/// Whether the space of deleted files came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::smb::share) enum SpaceFinding {
    /// It did, or it was not watched.
    #[default]
    Back,
    /// It did not; what was measured.
    Kept(String),
    /// It could not be checked, for this reason.
    Unknown(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn watch() -> SpaceWatch {
        SpaceWatch {
            folder: String::new(),
            bytes: GIB,
            at_first: 10 * GIB,
            before: 9 * GIB,
        }
    }

    #[test]
    fn space_is_kept_only_if_nobody_moves_it() {
        let watch = watch();
        assert_eq!(watch.judge(&[9 * GIB, 10 * GIB]), Some(SpaceFinding::Back));
        assert_eq!(watch.judge(&[9 * GIB + GIB / 4]), None);
        let kept = watch.judge_whole(&[9 * GIB, 9 * GIB + 4096]);
        assert!(matches!(kept, SpaceFinding::Kept(_)), "{kept:?}");
        let message = "other programs moved the free space: it was 9 GiB before 1 GiB were deleted, \
                    and is 8 GiB now";
        let moved = SpaceFinding::Unknown(message.to_owned());
        assert_eq!(watch.judge(&[9 * GIB, 8 * GIB]), Some(moved));
        let message = "the free space moved by 256 MiB while smbench waited for the space of 1 GiB \
                    of deleted files";
        let unclear = SpaceFinding::Unknown(message.to_owned());
        let part = 9 * GIB + GIB / 4;
        assert_eq!(watch.judge_whole(&[9 * GIB, part]), unclear);
        // The wait for the rest is short.
        let looks = [9 * GIB, 9 * GIB, part, part, part, part, part];
        assert_eq!(watch.judge(&looks[..6]), None);
        assert_eq!(watch.judge(&looks), Some(unclear));
        let mut looks = looks;
        looks[6] = 10 * GIB;
        assert_eq!(watch.judge(&looks), Some(SpaceFinding::Back));
    }
}
