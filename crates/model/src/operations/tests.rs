//! Statistics, bounds and reproducibility of the stream.

mod mix;
mod pattern;
mod tree;

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::access::SizeWeight;
use crate::files::{Layout, Scope};
use crate::limits::Limits;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::spec::RunOptions;
use crate::target::Target;
use crate::workload::{Requests, Workload};

fn plan(name: &str) -> Plan {
    let (target, _) = Target::parse("smb://host/share").unwrap();
    let profile = Profile::builtin(name).unwrap();
    Plan::resolve(
        &profile,
        &RunOptions::default(),
        target,
        Limits::default(),
        1,
    )
    .unwrap()
}

/// Returns the first request of drawn action number `index` of `client`. It takes
/// constant time for random access. For sequential access and patterns it steps
/// through all earlier actions.
fn drawn_operation(mix: &Arc<Mix>, seed: u64, client: u32, index: u64) -> Operation {
    let mut stream = OpStream::new(mix, seed, client);
    let next = |stream: &mut OpStream| match stream.mix.turns {
        Turns::Lines(_) => stream.next_in_pattern(),
        Turns::Tree => stream.next_in_tree(),
        Turns::Draws | Turns::Flushes(_) => stream.next_drawn(),
    };
    if mix.draws_apart() {
        stream.index = index;
    }
    while stream.index < index {
        next(&mut stream);
    }
    next(&mut stream)
}

fn data(read_percent: f64, flush_every_writes: Option<u32>) -> Requests {
    Requests::Data {
        read_percent,
        flush_every_writes,
    }
}

fn workload(access: Access, scope: Scope, count: u32) -> Workload {
    Workload {
        sizes: vec![SizeWeight {
            size: 4096,
            weight: 100.0,
        }],
        requests: data(100.0, None),
        access,
        files: FileSet {
            scope,
            count,
            size: 16_384,
            layout: Layout::Flat,
        },
    }
}

fn take(stream: &mut OpStream, count: usize) -> Vec<Operation> {
    (0..count).map(|_| stream.next()).collect()
}

#[test]
fn shares_follow_the_weights() {
    const OPERATIONS: u32 = 100_000;
    for (name, seed, client) in [
        ("file-server", 1, 0),
        ("file-server", 1, 1),
        ("file-server", 2, 0),
        ("file-server", u64::MAX, 9_999),
        ("web-server", 1, 0),
        ("web-server", 77, 123),
        ("web-server", 0, 99_999),
    ] {
        let workload = plan(name).only().workload.clone();
        let Requests::Data { read_percent, .. } = workload.requests else {
            panic!("{name} reads and writes");
        };
        let mut stream = OpStream::new(&Mix::new(&workload), seed, client);
        let mut by_size = HashMap::<u32, u32>::new();
        let mut reads_by_size = HashMap::<u32, u32>::new();
        for _ in 0..OPERATIONS {
            let operation = stream.next();
            *by_size.entry(operation.length).or_default() += 1;
            if operation.kind == OpKind::Read {
                *reads_by_size.entry(operation.length).or_default() += 1;
            }
        }
        let percent = |part: u32, whole: u32| 100.0 * f64::from(part) / f64::from(whole);
        for SizeWeight { size, weight } in &workload.sizes {
            let share = percent(by_size[size], OPERATIONS);
            assert!(
                (share - weight).abs() < 0.5,
                "{name} {seed} {client}: {size} {share}"
            );
            // Every size uses the same read share. The rarest size has about 1,000
            // operations, hence the wider bound.
            let reads = percent(reads_by_size[size], by_size[size]);
            assert!((reads - read_percent).abs() < 5.0, "{size}: {reads}");
        }
        assert_eq!(by_size.len(), workload.sizes.len());
        let reads = percent(reads_by_size.values().sum(), OPERATIONS);
        assert!((reads - read_percent).abs() < 0.5, "{name}: {reads}");
    }
}

#[test]
fn where_clients_are_divided_each_does_one_thing_in_sequence() {
    let workload = Workload {
        requests: Requests::Divided {
            readers_percent: 50.0,
        },
        ..workload(Access::Sequential, Scope::Private, 1)
    };
    let mix = Mix::new(&workload);
    for client in 0..6 {
        let expected = match client % 2 {
            0 => OpKind::Write,
            _ => OpKind::Read,
        };
        let taken = take(&mut OpStream::new(&mix, 1, client), 5);
        assert!(taken.iter().all(|operation| operation.kind == expected));
        let offsets: Vec<_> = taken.iter().map(|operation| operation.offset).collect();
        assert_eq!(offsets, [0, 4096, 8192, 12_288, 0]);
    }
}

#[test]
fn random_offsets_cover_the_file_evenly() {
    let mix = Mix::new(&workload(Access::Random, Scope::Private, 2));
    let mut stream = OpStream::new(&mix, 3, 4);
    let mut counts = HashMap::<(u32, u64), u32>::new();
    for operation in take(&mut stream, 80_000) {
        *counts
            .entry((operation.file, operation.offset))
            .or_default() += 1;
    }
    assert_eq!(counts.len(), 8);
    // The expected count is 10,000, with a standard deviation of 94.
    assert!(
        counts.values().all(|count| count.abs_diff(10_000) < 500),
        "{counts:?}"
    );
}

#[test]
fn the_seed_decides_and_clients_differ() {
    let mix = Mix::new(&plan("file-server").only().workload);
    let stream = |seed, client| take(&mut OpStream::new(&mix, seed, client), 1000);
    assert_eq!(stream(1, 1), stream(1, 1));
    let others = [stream(1, 1), stream(1, 2), stream(2, 1), stream(2, 2)];
    for (at, one) in others.iter().enumerate() {
        for other in &others[at + 1..] {
            let same = one.iter().zip(other).filter(|(a, b)| a == b).count();
            assert!(same < 50, "{same} of 1000 operations are alike");
        }
    }
}

/// The values are frozen; an independent implementation computed them. A change
/// makes results with the same seed incomparable, and needs a new version in the
/// plan's digest.
#[test]
fn the_stream_is_frozen() {
    let mix = Mix::new(&plan("file-server").only().workload);
    let operations = take(&mut OpStream::new(&mix, 1, 0), 4);
    let seen: Vec<_> = operations
        .iter()
        .map(|op| (op.kind, op.offset, op.length))
        .collect();
    assert_eq!(
        seen,
        [
            (OpKind::Read, 856_064, 4096),
            (OpKind::Read, 396_288, 1024),
            (OpKind::Write, 851_968, 65_536),
            (OpKind::Read, 458_752, 65_536),
        ]
    );
}

#[test]
fn sequential_access_covers_the_files_in_order() {
    let mix = Mix::new(&workload(Access::Sequential, Scope::Private, 2));
    let mut stream = OpStream::new(&mix, 1, 5);
    let places: Vec<_> = take(&mut stream, 9)
        .iter()
        .map(|operation| (operation.file, operation.offset))
        .collect();
    let one = |file| [0, 4096, 8192, 12_288].map(|offset| (file, offset));
    let expected: Vec<_> = [one(0), one(1)]
        .concat()
        .into_iter()
        .chain([(0, 0)])
        .collect();
    assert_eq!(places, expected);
}

#[test]
fn a_request_that_does_not_fit_starts_the_next_file() {
    let mut workload = workload(Access::Sequential, Scope::Private, 2);
    workload.sizes[0].size = 10_000;
    let mut stream = OpStream::new(&Mix::new(&workload), 1, 0);
    let places = take(&mut stream, 3);
    assert_eq!(
        places
            .iter()
            .map(|op| (op.file, op.offset))
            .collect::<Vec<_>>(),
        [(0, 0), (1, 0), (0, 0)]
    );
}

#[test]
fn clients_start_apart_on_shared_files() {
    let mix = Mix::new(&workload(Access::Sequential, Scope::Shared, 2));
    let mut starts: Vec<_> = (0..8)
        .map(|client| OpStream::new(&mix, 1, client).next())
        .map(|operation| (operation.file, operation.offset))
        .collect();
    assert_eq!(starts[0], (0, 0));
    starts.sort_unstable();
    starts.dedup();
    assert!(starts.len() >= 6, "{starts:?}");
}

#[test]
fn a_flush_follows_every_nth_write_to_the_file_it_wrote() {
    let mut workload = workload(Access::Random, Scope::Private, 4);
    workload.requests = data(50.0, Some(3));
    let mut stream = OpStream::new(&Mix::new(&workload), 1, 0);
    let mut writes = Vec::new();
    let mut flushes = 0;
    for operation in take(&mut stream, 10_000) {
        match operation.kind {
            OpKind::Read => assert!(writes.len() < 3),
            OpKind::Write => writes.push(operation.file),
            OpKind::Flush => {
                assert_eq!((operation.offset, operation.length), (0, 0));
                assert_eq!(writes.len(), 3);
                assert_eq!(writes.last(), Some(&operation.file));
                writes.clear();
                flushes += 1;
            }
            other => panic!("{other:?} was not asked for"),
        }
    }
    assert!(flushes > 1000, "{flushes}");
}

#[test]
fn a_weight_of_zero_is_never_drawn() {
    let mut workload = workload(Access::Random, Scope::Private, 1);
    for size in [512, 8192] {
        workload.sizes.push(SizeWeight { size, weight: 0.0 });
    }
    let mut stream = OpStream::new(&Mix::new(&workload), 1, 0);
    assert!(take(&mut stream, 10_000).iter().all(|op| op.length == 4096));
}

#[test]
fn a_client_costs_little_memory() {
    assert!(size_of::<OpStream>() <= 80, "{}", size_of::<OpStream>());
}

prop_compose! {
    fn workloads()(
        weights in proptest::collection::btree_map(1..65_536_u32, 1..100_u32, 1..6),
        read_percent in prop_oneof![Just(0.0), Just(100.0), 0.0..100.0],
        access in prop_oneof![Just(Access::Random), Just(Access::Sequential)],
        scope in prop_oneof![Just(Scope::Private), Just(Scope::Shared)],
        flush_every_writes in proptest::option::of(1..5_u32),
        count in 1..4_u32,
        room in 0..1_000_000_u64,
    ) -> Workload {
        let total: u32 = weights.values().sum();
        let largest = weights.keys().max().copied().unwrap_or(1);
        Workload {
            sizes: weights
                .into_iter()
                .map(|(size, weight)| SizeWeight {
                    size,
                    weight: 100.0 * f64::from(weight) / f64::from(total),
                })
                .collect(),
            requests: data(read_percent, flush_every_writes),
            access,
            files: FileSet { scope, count, size: u64::from(largest) + room, layout: Layout::Flat },
        }
    }
}

proptest! {
    #[test]
    fn operations_stay_in_their_files(
        workload in workloads(), seed: u64, client in 0..100_000_u32,
    ) {
        let mut stream = OpStream::new(&Mix::new(&workload), seed, client);
        for operation in take(&mut stream, 300) {
            prop_assert!(operation.file < workload.files.count);
            if operation.kind == OpKind::Flush {
                continue;
            }
            let length = u64::from(operation.length);
            prop_assert!(operation.offset + length <= workload.files.size);
            prop_assert!(workload.sizes.iter().any(|size| size.size == operation.length));
            if workload.access == Access::Random {
                prop_assert_eq!(operation.offset % length, 0);
            }
            let impossible = match operation.kind {
                OpKind::Read => 0.0,
                _ => 100.0,
            };
            let Requests::Data { read_percent, .. } = workload.requests else {
                panic!("only reads and writes are made here");
            };
            prop_assert_ne!(read_percent, impossible);
        }
    }

    #[test]
    fn any_operation_can_be_reproduced_alone(
        workload in workloads(), seed: u64, client in 0..100_000_u32, index in 0..200_u64,
    ) {
        let mix = Mix::new(&workload);
        let mut walk = OpStream::new(&mix, seed, client);
        let mut data = Vec::new();
        while data.len() <= 200 {
            let operation = walk.next();
            if operation.kind != OpKind::Flush {
                data.push(operation);
            }
        }
        let operation = data[index as usize];
        prop_assert_eq!(drawn_operation(&mix, seed, client, index), operation);
        let mut resumed = OpStream::at(&mix, seed, client, index);
        let mut from_start = OpStream::new(&mix, seed, client);
        while from_start.index < index {
            from_start.next();
        }
        prop_assert_eq!(take(&mut resumed, 20), take(&mut from_start, 20));
    }
}
