//! Access patterns: shares, bursts, offsets, replies, and their order.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;

use super::{drawn_operation, plan, take};
use crate::Nanos;
use crate::access::{Access, AccessLine};
use crate::files::{FileSet, Layout, Scope};
use crate::kind::OpKind;
use crate::operations::pattern::{PatternStep, Walk};
use crate::operations::{Mix, OpStream, Operation, client_key};
use crate::profile::Profile;
use crate::spec::{PatternSpec, SizeSpec};
use crate::workload::{Requests, Workload};

const LINE: AccessLine = AccessLine {
    size: 4096,
    weight: 100.0,
    read_percent: 100.0,
    random_percent: 0.0,
    delay: Duration::ZERO,
    burst: 1,
    align: 512,
    reply: 0,
};

fn pattern(lines: &[AccessLine], file: u64) -> Workload {
    let all_random = lines.iter().all(|line| line.random_percent == 100.0);
    Workload {
        sizes: Vec::new(),
        requests: Requests::Pattern(lines.to_vec()),
        access: if all_random {
            Access::Random
        } else {
            Access::Sequential
        },
        files: FileSet {
            scope: Scope::Private,
            count: 1,
            size: file,
            layout: Layout::Flat,
        },
    }
}

fn stream(lines: &[AccessLine], file: u64) -> OpStream {
    OpStream::new(&Mix::new(&pattern(lines, file)), 7, 3)
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole as f64
}

/// The published patterns are the same in both forms: as sizes (as shipped), and as
/// lines of an access specification.
#[test]
fn the_published_patterns_have_their_shares_in_either_form() {
    const OPERATIONS: usize = 200_000;
    for (name, reads) in [("file-server", 80.0), ("web-server", 100.0)] {
        let shipped = Profile::builtin(name).unwrap();
        let sizes = shipped.spec.sizes.clone();
        let mut written = shipped.clone();
        written.spec.sizes.clear();
        (written.spec.read_percent, written.spec.access) = (None, None);
        written.spec.pattern = sizes
            .iter()
            .map(|&SizeSpec { size, weight }| PatternSpec {
                size,
                weight,
                reads,
                random: 100.0,
                delay: None,
                burst: None,
                align: None,
                reply: None,
            })
            .collect();
        let target = plan(name).sessions.target;
        let as_pattern = crate::plan::Plan::of(&written, target).unwrap();
        for workload in [&plan(name).only().workload, &as_pattern.only().workload] {
            let operations = take(&mut OpStream::new(&Mix::new(workload), 11, 5), OPERATIONS);
            let share = |is: &dyn Fn(&Operation) -> bool| {
                percent(operations.iter().filter(|op| is(op)).count(), OPERATIONS)
            };
            let read = share(&|op| op.kind == OpKind::Read);
            assert!((read - reads).abs() < 0.5, "{name}: {read}");
            for SizeSpec { size, weight } in &sizes {
                let of_size = |op: &Operation| u64::from(op.length) == size.0;
                let seen = share(&of_size);
                assert!((seen - weight).abs() < 0.5, "{name} {size}: {seen}");
                let all: Vec<_> = operations.iter().filter(|op| of_size(op)).collect();
                let read = all.iter().filter(|op| op.kind == OpKind::Read).count();
                assert!((percent(read, all.len()) - reads).abs() < 4.0);
            }
            // All offsets are random, so a request rarely starts where the previous
            // one ended.
            let follows = operations
                .windows(2)
                .filter(|pair| pair[1].offset == pair[0].offset + u64::from(pair[0].length));
            assert!(percent(follows.count(), OPERATIONS) < 1.0);
        }
    }
}

#[test]
fn sequential_places_go_on_where_any_line_ended() {
    let small = AccessLine {
        size: 1000,
        weight: 50.0,
        ..LINE
    };
    let large = AccessLine {
        size: 3000,
        weight: 50.0,
        ..LINE
    };
    let mut end = 0_u64;
    for operation in take(&mut stream(&[small, large], 20_000), 1000) {
        let aligned = end.next_multiple_of(512);
        let expected = if aligned + u64::from(operation.length) > 20_000 {
            0
        } else {
            aligned
        };
        assert_eq!(operation.offset, expected);
        end = operation.offset + u64::from(operation.length);
    }
}

#[test]
fn places_are_multiples_of_the_alignment_whatever_it_is() {
    let line = |align, random_percent| AccessLine {
        align,
        random_percent,
        ..LINE
    };
    for (align, first) in [
        (1, [0, 4096, 8192]),
        (512, [0, 4096, 8192]),
        (3000, [0, 6000, 12_000]),
        (16_384, [0, 16_384, 32_768]),
    ] {
        let operations = take(&mut stream(&[line(align, 0.0)], 65_536), 3);
        let offsets: Vec<_> = operations.iter().map(|op| op.offset).collect();
        assert_eq!(offsets, first, "{align}");
        for operation in take(&mut stream(&[line(align, 60.0)], 65_536), 2000) {
            assert_eq!(operation.offset % u64::from(align), 0);
            assert!(operation.offset + u64::from(operation.length) <= 65_536);
        }
    }
    // An alignment larger than the file leaves only offset 0.
    let operations = take(&mut stream(&[line(1 << 20, 50.0)], 65_536), 100);
    assert!(operations.iter().all(|op| op.offset == 0));
}

/// A random byte is drawn and rounded up. A request that does not fit moves to the
/// beginning of the file. All offsets except the first are therefore equally
/// likely.
#[test]
fn random_places_are_those_of_iometer() {
    const OPERATIONS: usize = 80_000;
    let line = AccessLine {
        random_percent: 100.0,
        align: 4096,
        ..LINE
    };
    let mut counts = HashMap::<u64, usize>::new();
    for operation in take(&mut stream(&[line], 32_768), OPERATIONS) {
        *counts.entry(operation.offset).or_default() += 1;
    }
    // The last of the eight intervals of bytes is rounded up to the end of the
    // file.
    assert_eq!(counts.len(), 8);
    for (offset, count) in counts {
        assert!(count.abs_diff(OPERATIONS / 8) < 500, "{offset}: {count}");
    }
}

#[test]
fn the_random_share_is_drawn_for_each_request() {
    const OPERATIONS: usize = 100_000;
    let line = AccessLine {
        random_percent: 25.0,
        burst: 50,
        ..LINE
    };
    let operations = take(&mut stream(&[line], 1 << 30), OPERATIONS);
    let follows = operations
        .windows(2)
        .filter(|pair| pair[1].offset == pair[0].offset + 4096);
    let sequential = percent(follows.count(), OPERATIONS);
    assert!((sequential - 75.0).abs() < 0.5, "{sequential}");
}

/// Weights are shares of bursts, so a line with longer bursts has more requests.
#[test]
fn bursts_are_of_one_line_and_weighted_as_such() {
    const BURSTS: usize = 30_000;
    let lines = [
        AccessLine {
            size: 512,
            weight: 25.0,
            burst: 3,
            ..LINE
        },
        AccessLine {
            size: 1024,
            weight: 75.0,
            burst: 1,
            ..LINE
        },
    ];
    let mut stream = stream(&lines, 1 << 20);
    let mut short = 0;
    for _ in 0..BURSTS {
        match stream.next().length {
            512 => {
                let rest = take(&mut stream, 2);
                assert!(rest.iter().all(|op| op.length == 512));
            }
            _ => short += 1,
        }
    }
    let share = percent(short, BURSTS);
    assert!((share - 75.0).abs() < 1.0, "{share}");
}

#[test]
fn a_reply_follows_its_request_in_the_other_direction() {
    let line = AccessLine {
        read_percent: 50.0,
        reply: 1024,
        ..LINE
    };
    let workload = pattern(&[line], 1 << 20);
    assert_eq!(workload.kinds(), [OpKind::Read, OpKind::Write]);
    let operations = take(&mut stream(&[line], 1 << 20), 1000);
    for pair in operations.chunks(2) {
        assert_eq!((pair[0].length, pair[1].length), (4096, 1024));
        assert_ne!(pair[0].kind, pair[1].kind);
        assert_eq!(pair[1].offset, (pair[0].offset + 4096) % (1 << 20));
    }
    // A pattern of reads with replies is half reads and half writes.
    let only_reads = pattern(&[AccessLine { reply: 512, ..LINE }], 1 << 20);
    assert_eq!(only_reads.drawn().len(), 2);
    assert_eq!(only_reads.drawn()[0].1, 0.5);
}

#[test]
fn lines_without_weight_do_not_occur() {
    let never = AccessLine {
        size: 512,
        weight: 0.0,
        ..LINE
    };
    let operations = take(&mut stream(&[never, LINE], 1 << 20), 100);
    assert!(operations.iter().all(|op| op.length == 4096));
}

/// The delays belong to the bursts of the stream, because both step in the same
/// way.
#[test]
fn steps_are_those_of_the_stream() {
    let lines = [
        AccessLine {
            size: 512,
            weight: 50.0,
            burst: 2,
            delay: Duration::from_millis(1),
            ..LINE
        },
        AccessLine {
            size: 1024,
            weight: 50.0,
            reply: 2048,
            ..LINE
        },
    ];
    let mix = Mix::new(&pattern(&lines, 1 << 20));
    let (mut stream, mut walk) = (OpStream::new(&mix, 7, 3), Walk::default());
    let mut left = 0;
    for _ in 0..1000 {
        let length = stream.next().length;
        let step = mix.lines().unwrap().step(client_key(7, 3), &mut walk);
        let expected = match (length, left) {
            (512, 0) => {
                left = 1;
                PatternStep::Begins(Nanos(1_000_000))
            }
            (512, _) => {
                left = 0;
                PatternStep::GoesOn
            }
            (1024, _) => PatternStep::Begins(Nanos(0)),
            _ => PatternStep::Replies,
        };
        assert_eq!(step, expected);
    }
}

/// The values are frozen; an independent implementation computed them. See the
/// tests of streams.
#[test]
fn a_pattern_is_frozen() {
    let lines = [
        AccessLine {
            weight: 60.0,
            read_percent: 67.0,
            random_percent: 100.0,
            ..LINE
        },
        AccessLine {
            size: 65_536,
            weight: 40.0,
            read_percent: 0.0,
            random_percent: 50.0,
            burst: 3,
            align: 3000,
            reply: 512,
            ..LINE
        },
    ];
    let mix = Mix::new(&pattern(&lines, 1 << 20));
    let operations = take(&mut OpStream::new(&mix, 1, 0), 8);
    let seen: Vec<_> = operations
        .iter()
        .map(|op| (op.kind, op.offset, op.length))
        .collect();
    assert_eq!(seen, FROZEN);
}

const FROZEN: [(OpKind, u64, u32); 8] = [
    (OpKind::Read, 176_640, 4096),
    (OpKind::Write, 183_000, 65_536),
    (OpKind::Read, 141_000, 512),
    (OpKind::Write, 144_000, 65_536),
    (OpKind::Read, 210_000, 512),
    (OpKind::Write, 453_000, 65_536),
    (OpKind::Read, 675_000, 512),
    (OpKind::Write, 222_000, 65_536),
];

prop_compose! {
    fn lines()(
        lines in proptest::collection::vec((
            1..100_000_u32, 1..100_u32, 0..=100_u32, 0..=100_u32, 1..6_u32, 1..70_000_u32,
            prop_oneof![Just(0), 1..100_000_u32],
        ), 1..5)
    ) -> Vec<AccessLine> {
        let total: u32 = lines.iter().map(|line| line.1).sum();
        lines
            .into_iter()
            .map(|(size, weight, reads, random, burst, align, reply)| AccessLine {
                size,
                weight: 100.0 * f64::from(weight) / f64::from(total),
                read_percent: reads.into(),
                random_percent: random.into(),
                delay: Duration::ZERO,
                burst,
                align,
                reply,
            })
            .collect()
    }
}

proptest! {
    #[test]
    fn patterns_stay_in_their_files_and_can_be_taken_up_anywhere(
        lines in lines(), seed: u64, client in 0..100_000_u32, count in 1..4_u32,
        room in 0..1_000_000_u64, index in 0..200_u64,
    ) {
        let mut workload = pattern(&lines, 100_000 + room);
        workload.files.count = count;
        let mix = Mix::new(&workload);
        let operations = take(&mut OpStream::new(&mix, seed, client), 220);
        for operation in &operations {
            prop_assert!(operation.file < count);
            prop_assert!(operation.offset + u64::from(operation.length) <= workload.files.size);
            prop_assert!(workload.kinds().contains(&operation.kind));
            prop_assert_eq!(mix.action(operation).first(), operation.kind);
        }
        let at = index as usize;
        prop_assert_eq!(
            drawn_operation(&mix, seed, client, index), operations[at]
        );
        let resumed = take(&mut OpStream::at(&mix, seed, client, index), 20);
        prop_assert_eq!(&resumed[..], &operations[at..at + 20]);
    }
}
