use proptest::prelude::*;

use super::*;
use crate::fileio::{FileOrigin, RequestSpread};
use crate::units::Size;

fn test(mode: TestMode) -> Fileio {
    Fileio {
        mode,
        files: 128,
        total: Size(2 << 30),
        block: Size(16_384),
        merged: 0,
        flushing: Flushing::Sets {
            every: Some(100),
            at_end: true,
        },
        rw_ratio: 1.5,
        spread: RequestSpread::Uniform,
        events: None,
        time: None,
        home: FileOrigin::Prepared,
    }
}

/// Numbers of reads, writes and flushes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts(u64, u64, u64);

fn count(steps: impl Iterator<Item = SequenceStep>) -> Counts {
    steps.fold(
        Counts::default(),
        |Counts(reads, writes, flushes), step| match step {
            SequenceStep::Read(_) => Counts(reads + 1, writes, flushes),
            SequenceStep::Write(_) => Counts(reads, writes + 1, flushes),
            SequenceStep::Flush(_) => Counts(reads, writes, flushes + 1),
        },
    )
}

/// The counters of sysbench, stepped through one by one.
struct Walk<'a> {
    test: &'a Fileio,
    requests: u64,
    is_dirty: bool,
    flushed: u32,
    reads: u64,
    writes: u64,
    file: u32,
    position: u64,
}

impl<'a> Walk<'a> {
    fn new(test: &'a Fileio) -> Self {
        Self {
            test,
            requests: 0,
            is_dirty: false,
            flushed: 0,
            reads: 0,
            writes: 0,
            file: 0,
            position: 0,
        }
    }

    /// Returns the next step, and whether its place is known. The place of a
    /// random request is not.
    fn next(&mut self) -> (SequenceStep, bool) {
        let Flushing::Sets { every, .. } = self.test.flushing else {
            panic!("each write has its own");
        };
        if let Some(every) = every
            && self.is_dirty
            && self.requests.is_multiple_of(every.into())
        {
            let file = self.flushed;
            self.flushed += 1;
            if self.flushed == self.test.files {
                self.flushed = 0;
                self.is_dirty = false;
            }
            return (SequenceStep::Flush(file), true);
        }
        let is_write = match self.test.mode {
            TestMode::SeqRd | TestMode::RndRd => false,
            TestMode::SeqWr | TestMode::SeqReWr | TestMode::RndWr => true,
            TestMode::RndRw => {
                (self.reads + 1) as f64 / (self.writes + 1) as f64 >= self.test.rw_ratio
            }
        };
        self.requests += 1;
        self.is_dirty |= is_write;
        if is_write {
            self.writes += 1;
        } else {
            self.reads += 1;
        }
        if self.file == self.test.files {
            (self.file, self.position) = (0, 0);
        }
        let (file, offset) = (self.file, self.position);
        let length = self.test.request().0.min(self.test.file_bytes() - offset);
        self.position += length;
        if self.position == self.test.file_bytes() {
            self.file += 1;
            self.position = 0;
        }
        let place = FileRange {
            file,
            offset,
            length: length as u32,
        };
        let step = if is_write {
            SequenceStep::Write(place)
        } else {
            SequenceStep::Read(place)
        };
        (step, self.test.mode.access() == Access::Sequential)
    }
}

/// The published runs of sysbench 0.4.12: random reads and writes on 128 files
/// of 40 MB. Every file is flushed after each 100 requests. The clock ended
/// both runs. That release then flushed nothing at the end.
#[test]
fn published_counts_come_out() {
    for (reads, writes, flushes, read, written, tolerance) in [
        (13_736, 9_157, 29_184, 214.62, 143.08, 1),
        (87_491, 58_327, 186_624, 1.335 * 1024.0, 911.36, 33),
    ] {
        let test = Fileio {
            total: Size(5 << 30),
            ..test(TestMode::RndRw)
        };
        let sequence = Sequence::new(&test, 1);
        let steps = (0..reads + writes + flushes).map(|position| sequence.step(position));
        assert_eq!(count(steps), Counts(reads, writes, flushes));
        assert_eq!(flushes, (reads + writes) / 100 * 128);
        // The amounts are in units of 2^20 and 2^30 bytes, to the digits
        // printed.
        let blocks_of = |amount: f64| (amount * f64::from(1 << 20) / 16_384.0).round() as u64;
        assert!(blocks_of(read).abs_diff(reads) <= tolerance);
        assert!(blocks_of(written).abs_diff(writes) <= tolerance);
    }
}

#[test]
fn sequential_requests_go_through_all_files_and_begin_again() {
    let test = Fileio {
        files: 2,
        total: Size(100),
        block: Size(16),
        merged: 2,
        flushing: Flushing::Sets {
            every: None,
            at_end: true,
        },
        ..test(TestMode::SeqReWr)
    };
    let sequence = Sequence::new(&test, 1);
    let place = |file, offset, length| {
        SequenceStep::Write(FileRange {
            file,
            offset,
            length,
        })
    };
    let steps: Vec<_> = (0..5).map(|position| sequence.step(position)).collect();
    assert_eq!(
        steps,
        [
            place(0, 0, 32),
            place(0, 32, 18),
            place(1, 0, 32),
            place(1, 32, 18),
            place(0, 0, 32)
        ]
    );
}

#[test]
fn nothing_is_flushed_where_nothing_is_written() {
    for mode in [TestMode::SeqRd, TestMode::RndRd] {
        let sequence = Sequence::new(&test(mode), 1);
        let steps = (0..10_000).map(|position| sequence.step(position));
        assert_eq!(count(steps), Counts(10_000, 0, 0));
    }
}

proptest! {
    /// The step at any position is that of sysbench's counters.
    #[test]
    fn positions_are_as_walked(
        mode in prop::sample::select(&TestMode::ALL[..]),
        files in 1..6_u32,
        blocks in 1..9_u64,
        rest in 0..16_u64,
        merged in 0..4_u32,
        every in prop::option::of(1..12_u32),
        ratio in prop_oneof![
            Just(0.0), Just(1.0), Just(1.5), Just(3.0), 0.0..20.0, 0.0..2.0, 90.0..200.0,
        ],
        seed: u64,
    ) {
        let test = Fileio {
            files,
            total: Size((blocks * 16 + rest) * u64::from(files)),
            block: Size(16),
            merged,
            flushing: Flushing::Sets { every, at_end: false },
            rw_ratio: ratio,
            ..test(mode)
        };
        let sequence = Sequence::new(&test, seed);
        let mut walk = Walk::new(&test);
        for position in 0..2000 {
            let found = sequence.step(position);
            let (expected, is_placed) = walk.next();
            if is_placed {
                prop_assert_eq!(found, expected, "{}", position);
                continue;
            }
            match (found, expected) {
                (SequenceStep::Read(place), SequenceStep::Read(_)) | (SequenceStep::Write(place), SequenceStep::Write(_)) => {
                    prop_assert!(place.file < files);
                    prop_assert!(place.length > 0 && place.length <= 16);
                    prop_assert!(place.offset + u64::from(place.length) <= test.file_bytes());
                }
                (found, expected) => {
                    prop_assert_eq!(found, expected, "{}", position);
                }
            }
        }
    }
}

#[test]
fn far_positions_and_wide_ratios_are_no_trouble() {
    for ratio in [0.0, 0.1, 1.5, 99.0, 1e9] {
        let test = Fileio {
            rw_ratio: ratio,
            ..test(TestMode::RndRw)
        };
        let sequence = Sequence::new(&test, 1);
        for position in [0, 99, 100, 228, 1 << 40] {
            let _ = sequence.step(position);
        }
    }
}
