//! The numbers of operations in the captures, as published with dbench.

use smbench_model::workload::NetbenchCapture;

/// The number of operations of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) creates: u64,
    pub(super) closes: u64,
    pub(super) query_files: u64,
    pub(super) query_paths: u64,
    pub(super) finds: u64,
    pub(super) unlinks: u64,
    pub(super) query_fs: u64,
    pub(super) flushes: u64,
    pub(super) renames: u64,
}

/// The statistics of a capture.
pub(super) struct Statistics {
    pub(super) counts: Counts,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
}

/// Converts the published totals and percentages to numbers of operations.
pub(super) const fn statistics(capture: NetbenchCapture) -> Statistics {
    match capture {
        NetbenchCapture::WithoutCache => Statistics {
            // The total is 122,877.
            counts: Counts {
                reads: share(122_877, 53_66),
                writes: share(122_877, 11_45),
                creates: share(122_877, 9_98),
                closes: share(122_877, 8_19),
                query_files: share(122_877, 5_85),
                query_paths: share(122_877, 5_10),
                finds: share(122_877, 2_43),
                unlinks: share(122_877, 1_42),
                query_fs: share(122_877, 1_14),
                flushes: share(122_877, 49),
                renames: share(122_877, 29),
            },
            bytes_read: 204_815_235,
            bytes_written: 136_325_491,
        },
        NetbenchCapture::Oplocks => Statistics {
            // The total is 62,477.
            counts: Counts {
                reads: share(62_477, 28_62),
                writes: share(62_477, 11_96),
                creates: share(62_477, 17_60),
                closes: share(62_477, 13_37),
                query_files: share(62_477, 2_96),
                query_paths: share(62_477, 11_80),
                finds: share(62_477, 5_72),
                unlinks: share(62_477, 3_35),
                query_fs: share(62_477, 2_74),
                flushes: share(62_477, 1_15),
                renames: share(62_477, 70),
            },
            bytes_read: 198_935_866,
            bytes_written: 149_099_246,
        },
    }
}

/// Returns a share in hundredths of a percent, rounded.
const fn share(all: u64, hundredths: u64) -> u64 {
    (all * hundredths + 5_000) / 10_000
}

impl Counts {
    /// Returns the part of episode `at` of `of`. The parts are almost equal, and
    /// add up to all.
    pub(super) const fn part(&self, at: u64, of: u64) -> Self {
        const fn part(all: u64, at: u64, of: u64) -> u64 {
            all * (at + 1) / of - all * at / of
        }
        Self {
            reads: part(self.reads, at, of),
            writes: part(self.writes, at, of),
            creates: part(self.creates, at, of),
            closes: part(self.closes, at, of),
            query_files: part(self.query_files, at, of),
            query_paths: part(self.query_paths, at, of),
            finds: part(self.finds, at, of),
            unlinks: part(self.unlinks, at, of),
            query_fs: part(self.query_fs, at, of),
            flushes: part(self.flushes, at, of),
            renames: part(self.renames, at, of),
        }
    }
}
