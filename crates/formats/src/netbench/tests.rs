use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;
use smbench_model::kind::OpKind;
use smbench_model::operations::Operation;
use smbench_model::operations::replay::Replays;
use smbench_model::trace::{PreparedName, Record, Recording};
use smbench_model::workload::Replay;

use super::*;

const CAPTURES: [NetbenchCapture; 2] = [NetbenchCapture::WithoutCache, NetbenchCapture::Oplocks];

/// Returns the operations by kind, and the bytes read and written of a client.
fn tally(operations: impl Iterator<Item = Operation>) -> (BTreeMap<OpKind, u64>, [u64; 2]) {
    let (mut counts, mut moved) = (BTreeMap::new(), [0; 2]);
    for operation in operations {
        *counts.entry(operation.kind).or_default() += 1;
        match operation.kind {
            OpKind::Read => moved[0] += u64::from(operation.length),
            OpKind::Write => moved[1] += u64::from(operation.length),
            _ => {}
        }
    }
    (counts, moved)
}

/// Returns the published table in percent, its number of operations, and their
/// bytes.
fn published(capture: NetbenchCapture) -> ([(OpKind, f64); 11], u64, [u64; 2]) {
    use OpKind as K;
    match capture {
        NetbenchCapture::WithoutCache => (
            [
                (K::Read, 53.66),
                (K::Write, 11.45),
                (K::Create, 9.98),
                (K::Close, 8.19),
                (K::QueryFile, 5.85),
                (K::QueryPath, 5.10),
                (K::FindFirst, 2.43),
                (K::Unlink, 1.42),
                (K::QueryFs, 1.14),
                (K::Flush, 0.49),
                (K::RenamePath, 0.29),
            ],
            122_877,
            [204_815_235, 136_325_491],
        ),
        NetbenchCapture::Oplocks => (
            [
                (K::Read, 28.62),
                (K::Write, 11.96),
                (K::Create, 17.60),
                (K::Close, 13.37),
                (K::QueryFile, 2.96),
                (K::QueryPath, 11.80),
                (K::FindFirst, 5.72),
                (K::Unlink, 3.35),
                (K::QueryFs, 2.74),
                (K::Flush, 1.15),
                (K::RenamePath, 0.70),
            ],
            62_477,
            [198_935_866, 149_099_246],
        ),
    }
}

fn player(capture: NetbenchCapture, seed: u64, client: u32) -> impl Iterator<Item = Operation> {
    let recording = Arc::new(generate(capture, seed).into());
    Replays::new(Replay::new(recording), seed).of_client(client)
}

/// All episodes together are the capture, except for rounding.
#[test]
fn one_turn_is_the_capture() {
    for capture in CAPTURES {
        let (shares, of, bytes) = published(capture);
        let trace = generate(capture, 1);
        assert!(trace.len().abs_diff(of as usize) <= 30, "{}", trace.len());
        let (counts, moved) = tally(player(capture, 1, 3).take(trace.len()));
        assert_eq!(counts.len(), shares.len());
        for (kind, percent) in shares {
            let share = counts[&kind] as f64 / trace.len() as f64 * 100.0;
            assert!(
                (share - percent).abs() < 0.02,
                "{kind:?}: {share} instead of {percent}"
            );
        }
        for (moved, bytes) in moved.into_iter().zip(bytes) {
            assert!(moved.abs_diff(bytes) < 70_000, "{moved} instead of {bytes}");
        }
        assert_eq!(trace.summary().closed, 0);
        let size = trace.bytes_per_client();
        assert!((4 << 20..20 << 20).contains(&size), "{size}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// For any client and any end of a long run, shares are within one percentage
    /// point of the table. Bytes per operation are within three percent.
    #[test]
    fn shares_and_bytes_are_those_of_the_table(
        capture in proptest::sample::select(&CAPTURES),
        seed in any::<u64>(),
        client in 0u32..100_000,
        length in 20_000usize..200_000,
    ) {
        let (shares, of, bytes) = published(capture);
        let (counts, moved) = tally(player(capture, seed, client).take(length));
        for (kind, percent) in shares {
            let share = counts[&kind] as f64 / length as f64 * 100.0;
            prop_assert!((share - percent).abs() < 1.0, "{kind:?}: {share} instead of {percent}");
        }
        for (moved, bytes) in moved.into_iter().zip(bytes) {
            let per_operation = moved as f64 / length as f64;
            let ratio = per_operation / (bytes as f64 / of as f64);
            prop_assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
        }
    }

    /// The order of the episodes does not matter. Opened and deleted files exist,
    /// created files do not, and missed files are missing. Reads end within the
    /// file. No file stays open, and no file is left behind.
    #[test]
    fn what_a_client_does_makes_sense(
        capture in proptest::sample::select(&CAPTURES),
        seed in any::<u64>(),
        client in 0u32..1000,
    ) {
        let recording = Arc::new(Recording::from(generate(capture, seed)));
        let trace = recording.track(client);
        let prepared = trace.prepared.made.iter();
        let mut there: HashSet<_> = prepared.map(|(path, _)| *path).collect();
        let before = there.clone();
        let mut open = HashMap::new();
        let turns = trace.len() * 2;
        for operation in Replays::new(Replay::new(Arc::clone(&recording)), seed).of_client(client).take(turns) {
            let went_well = trace.status(operation.action) == NtStatus::SUCCESS;
            match *trace.record(operation.action) {
                Record::Create { path, disposition, handle, .. } => {
                    prop_assert_eq!(went_well, there.contains(&path) == (disposition == Disposition::Open as u8));
                    prop_assert_eq!(went_well, handle.is_some());
                    if let Some(handle) = handle {
                        there.insert(path);
                        prop_assert_eq!(open.insert(handle, path), None);
                    }
                }
                Record::Close { handle, .. } => prop_assert!(open.remove(&handle.unwrap()).is_some()),
                Record::Read { handle, offset, length, .. } => {
                    let path = open[&handle.unwrap()];
                    let made = trace.prepared.made.iter().find(|(made, _)| *made == path);
                    let Some((_, PreparedName::File(size))) = made else {
                        return Err(TestCaseError::fail("reads what it has not been given"));
                    };
                    prop_assert!(offset + u64::from(length) <= *size);
                }
                Record::Write { handle, .. } | Record::Flush(handle) | Record::QueryFile { handle, .. } => {
                    prop_assert!(open.contains_key(&handle.unwrap()));
                }
                Record::QueryPath { path, .. } => prop_assert_eq!(went_well, there.contains(&path)),
                Record::Unlink(path) => prop_assert!(there.remove(&path)),
                Record::Rename { from, to } => {
                    prop_assert!(there.remove(&from));
                    prop_assert!(there.insert(to));
                }
                Record::Find { .. } | Record::QueryFs { .. } => {}
                ref other => return Err(TestCaseError::fail(format!("no client does {other:?}"))),
            }
        }
        prop_assert_eq!(open.len(), 0);
        prop_assert_eq!(there, before);
    }
}

#[test]
fn seed_and_client_say_what_is_done_and_nothing_else_does() {
    let first = |seed, client| {
        player(NetbenchCapture::Oplocks, seed, client)
            .take(500)
            .collect::<Vec<_>>()
    };
    assert_eq!(first(1, 7), first(1, 7));
    assert_ne!(first(1, 7), first(1, 8));
    assert_ne!(first(1, 7), first(2, 7));
    let digest = |capture, seed| generate(capture, seed).digest();
    assert_ne!(
        digest(NetbenchCapture::Oplocks, 1),
        digest(NetbenchCapture::Oplocks, 2)
    );
    assert_ne!(
        digest(NetbenchCapture::Oplocks, 1),
        digest(NetbenchCapture::WithoutCache, 1)
    );
}
