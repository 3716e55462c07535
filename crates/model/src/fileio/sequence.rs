//! The order of requests: the step at each position of the one sequence that all
//! clients share.
//!
//! sysbench steps through it with some counters under a lock. They are the requests
//! so far, the reads and writes so far, the next file, and whether anything was
//! written since the last flush. Here they are computed from the position, so that
//! clients share only one number. A test compares both.

use super::spread::Picker;
use super::{Fileio, Flushing, TestMode};
use crate::access::Access;
use crate::random::{GOLDEN_GAMMA, finalise};

/// The step at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reads a range of a file.
    Read(Place),
    /// Writes a range of a file.
    Write(Place),
    /// Flushes the file with this index.
    Flush(u32),
}

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's index.
    pub file: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// The sequence of a test and a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    mode: TestMode,
    files: u32,
    file_bytes: u64,
    /// Bytes of a request. The last request of a file may be shorter.
    request: u64,
    /// Number of sequential requests in a file.
    per_file: u64,
    flushes: Flushes,
    mixing: Mixing,
    picker: Picker,
}

/// When all files are flushed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flushes {
    Never,
    /// After every interval of this number of requests. Each interval contains a
    /// write.
    Regular(u64),
    /// After an interval of this number of requests, if it contains a write. No
    /// interval contains more than one.
    Sparse(u64),
}

impl Sequence {
    /// Makes the sequence of a test whose options are valid ([`Fileio::check`]).
    #[must_use]
    pub fn new(test: &Fileio, seed: u64) -> Self {
        let file_bytes = test.file_bytes();
        let request = test.request().0;
        let mixing = Mixing {
            ratio: test.rw_ratio,
        };
        let every = match test.flushing {
            Flushing::Sets { every, .. } if test.mode.writes() => every.map(u64::from),
            _ => None,
        };
        let flushes = match every.filter(|&every| every > 0) {
            None => Flushes::Never,
            Some(every) if test.mode == TestMode::RndRw && !mixing.writes_within(every) => {
                Flushes::Sparse(every)
            }
            Some(every) => Flushes::Regular(every),
        };
        let blocks = (file_bytes * u64::from(test.files)).div_ceil(request);
        let key = finalise(seed.wrapping_add(GOLDEN_GAMMA));
        Self {
            mode: test.mode,
            files: test.files,
            file_bytes,
            request,
            per_file: file_bytes.div_ceil(request),
            flushes,
            mixing,
            picker: Picker::new(test.spread, key, blocks),
        }
    }

    /// Returns the step at `position`, from 0.
    #[must_use]
    pub fn step(&self, position: u64) -> Step {
        match self.locate(position) {
            Located::Flush(file) => Step::Flush(file),
            Located::Request(number) => self.request(number),
        }
    }

    fn request(&self, number: u64) -> Step {
        let place = match self.mode.access() {
            Access::Sequential => {
                let at = number % (self.per_file * u64::from(self.files));
                self.place(at / self.per_file, at % self.per_file * self.request)
            }
            Access::Random => {
                let byte = self.picker.pick(number) * self.request;
                self.place(byte / self.file_bytes, byte % self.file_bytes)
            }
        };
        let is_write = match self.mode {
            TestMode::SeqRd | TestMode::RndRd => false,
            TestMode::SeqWr | TestMode::SeqReWr | TestMode::RndWr => true,
            TestMode::RndRw => self.mixing.is_write(number),
        };
        match is_write {
            true => Step::Write(place),
            false => Step::Read(place),
        }
    }

    fn place(&self, file: u64, offset: u64) -> Place {
        Place {
            file: file as u32,
            offset,
            // The length fits: a request has at most REQUEST_BYTES_MAX.
            length: self.request.min(self.file_bytes - offset) as u32,
        }
    }

    /// Returns whether `position` is a flush, or which request it is.
    fn locate(&self, position: u64) -> Located {
        let files = u64::from(self.files);
        match self.flushes {
            Flushes::Never => Located::Request(position),
            Flushes::Regular(every) => {
                let round = every + files;
                let (rounds, within) = (position / round, position % round);
                match within.checked_sub(every) {
                    None => Located::Request(rounds * every + within),
                    Some(file) => Located::Flush(file as u32),
                }
            }
            Flushes::Sparse(every) => {
                // The position of the flushes after write number `index`.
                let start = |index: u64| {
                    let request = self.mixing.write_at(index);
                    let end = (request / every + 1).saturating_mul(every);
                    end.saturating_add(index * files)
                };
                let gap = self.mixing.ratio + 1.0 + files as f64;
                let mut begun = (position as f64 / gap) as u64;
                while begun > 0 && start(begun - 1) > position {
                    begun -= 1;
                }
                while start(begun) <= position {
                    begun += 1;
                }
                match begun.checked_sub(1).map(start) {
                    Some(start) if position - start < files => {
                        Located::Flush((position - start) as u32)
                    }
                    _ => Located::Request(position - begun * files),
                }
            }
        }
    }
}

enum Located {
    Request(u64),
    Flush(u32),
}

/// Reads and writes in a ratio. A request is a read if (reads + 1) / (writes + 1)
/// is less than the ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mixing {
    ratio: f64,
}

impl Mixing {
    /// Returns the number of reads before write number `index`.
    fn reads_before(self, index: u64) -> u64 {
        let writes = (index + 1) as f64;
        let is_due = |reads: u64| (reads + 1) as f64 / writes >= self.ratio;
        let mut reads = ((self.ratio * writes).ceil() as u64).saturating_sub(1);
        // Rounding may change the last digit of the product.
        while reads > 0 && is_due(reads - 1) {
            reads -= 1;
        }
        while !is_due(reads) {
            reads += 1;
        }
        reads
    }

    /// Returns the number of the request that is write number `index`.
    fn write_at(self, index: u64) -> u64 {
        self.reads_before(index) + index
    }

    /// Whether request `number` is a write.
    fn is_write(self, number: u64) -> bool {
        let mut writes = (number as f64 / (self.ratio + 1.0)) as u64;
        while writes > 0 && self.write_at(writes - 1) >= number {
            writes -= 1;
        }
        while self.write_at(writes) < number {
            writes += 1;
        }
        self.write_at(writes) == number
    }

    /// Whether any `every` consecutive requests contain a write. Two writes are at
    /// most the ratio, rounded up, plus one apart. If that is more than `every`,
    /// they are at least `every` apart.
    fn writes_within(self, every: u64) -> bool {
        self.ratio.ceil() + 1.0 <= every as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fileio::{Home, Spread};
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
            spread: Spread::Uniform,
            events: None,
            time: None,
            home: Home::Prepared,
        }
    }

    /// Numbers of reads, writes and flushes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct Counts(u64, u64, u64);

    fn count(steps: impl Iterator<Item = Step>) -> Counts {
        steps.fold(
            Counts::default(),
            |Counts(reads, writes, flushes), step| match step {
                Step::Read(_) => Counts(reads + 1, writes, flushes),
                Step::Write(_) => Counts(reads, writes + 1, flushes),
                Step::Flush(_) => Counts(reads, writes, flushes + 1),
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
        fn next(&mut self) -> (Step, bool) {
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
                return (Step::Flush(file), true);
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
            match is_write {
                true => self.writes += 1,
                false => self.reads += 1,
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
            let place = Place {
                file,
                offset,
                length: length as u32,
            };
            let step = match is_write {
                true => Step::Write(place),
                false => Step::Read(place),
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
            Step::Write(Place {
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
                    (Step::Read(place), Step::Read(_)) | (Step::Write(place), Step::Write(_)) => {
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
}
