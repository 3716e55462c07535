//! Contexts of CREATE responses: valid ones of any kind, and wrong ones.

use proptest::prelude::*;
use smbench_protocol::NtStatus;
use smbench_protocol::command::create_context::{
    DiskId, GrantedContexts, GrantedDurable, GrantedLease, MaximalAccess,
};
use smbench_protocol::command::lease::{LeaseKey, LeaseState};

use super::Body;

/// Offset of the contexts of a CREATE response without a gap before them.
const CONTEXTS_AT: usize = 152;

/// Makes a CREATE response with this offset and length, followed by `area`.
fn response(offset: u32, len: u32, area: &[u8]) -> Vec<u8> {
    Body::new(89)
        .bytes(&[0; 78])
        .u32(offset)
        .u32(len)
        .bytes(area)
        .0
}

fn decode(area: &[u8]) -> Result<GrantedContexts, usize> {
    let message = response(CONTEXTS_AT as u32, area.len() as u32, area);
    GrantedContexts::decode(&message).map_err(|error| error.offset)
}

/// Makes one context, padded to 8 bytes. `next` is zero for the last one.
fn context(next: u32, name: &[u8], data: &[u8]) -> Vec<u8> {
    let data_at = (16 + name.len()).next_multiple_of(8);
    let mut context = next.to_le_bytes().to_vec();
    context.extend([16, 0]);
    context.extend((name.len() as u16).to_le_bytes());
    context.extend([0, 0]);
    context.extend((data_at as u16).to_le_bytes());
    context.extend((data.len() as u32).to_le_bytes());
    context.extend(name);
    context.resize(data_at, 0);
    context.extend(data);
    context.resize(context.len().next_multiple_of(8), 0);
    context
}

fn area(contexts: &[(&[u8], Vec<u8>)]) -> Vec<u8> {
    let mut area = Vec::new();
    for (n, (name, data)) in contexts.iter().enumerate() {
        let next = if n + 1 == contexts.len() {
            0
        } else {
            context(0, name, data).len() as u32
        };
        area.extend(context(next, name, data));
    }
    area
}

fn lease_data(lease: &GrantedLease) -> Vec<u8> {
    let mut data = lease.key.0.to_vec();
    data.extend(lease.state.0.to_le_bytes());
    data.extend(lease.flags.to_le_bytes());
    data.extend([0; 8]);
    if let Some(epoch) = lease.epoch {
        data.extend([0xAA; 16]);
        data.extend(epoch.to_le_bytes());
        data.extend([0; 2]);
    }
    data
}

proptest! {
    #[test]
    fn whatever_was_granted(
        lease in any::<Option<([u8; 16], u32, u32, Option<u16>)>>(),
        durable in any::<Option<Option<(u32, u32)>>>(),
        disk_id in any::<Option<(u64, u64)>>(),
        access in any::<Option<(u32, u32)>>(),
        apple in any::<Option<(u64, u64)>>(),
        unknown in any::<Option<Vec<u8>>>(),
        reverse in any::<bool>(),
    ) {
        let granted = GrantedContexts {
            lease: lease.map(|(key, state, flags, epoch)| GrantedLease {
                key: LeaseKey(key),
                state: LeaseState(state),
                flags,
                epoch,
            }),
            durable: durable.map(|v2| match v2 {
                Some((timeout_ms, flags)) => GrantedDurable::V2 { timeout_ms, flags },
                None => GrantedDurable::V1,
            }),
            maximal_access: access.map(|(status, access)| MaximalAccess {
                status: NtStatus(status),
                access,
            }),
            disk_id: disk_id.map(|(file, volume)| DiskId { file, volume }),
            apple_listings: apple.is_some_and(|(answered, caps)| answered & 1 != 0 && caps & 1 != 0),
        };
        let pair = |(a, b): (u32, u32)| [a.to_le_bytes(), b.to_le_bytes()].concat();
        let mut contexts: Vec<(&[u8], Vec<u8>)> = Vec::new();
        if let Some(lease) = &granted.lease {
            contexts.push((b"RqLs", lease_data(lease)));
        }
        match durable {
            Some(Some(v2)) => contexts.push((b"DH2Q", pair(v2))),
            Some(None) => contexts.push((b"DHnQ", vec![0; 8])),
            None => {}
        }
        if let Some((answered, caps)) = apple {
            let asked = 1u64;
            contexts.push((b"AAPL", [asked, answered, caps].map(u64::to_le_bytes).concat()));
        }
        if let Some((file, volume)) = disk_id {
            let ids = [file.to_le_bytes(), volume.to_le_bytes(), [0; 8], [0; 8]];
            contexts.push((b"QFid", ids.concat()));
        }
        if let Some(access) = access {
            contexts.push((b"MxAc", pair(access)));
        }
        if let Some(unknown) = unknown {
            contexts.push((b"a name of another length", unknown));
        }
        if reverse {
            contexts.reverse();
        }
        prop_assert_eq!(decode(&area(&contexts)), Ok(granted));
    }

    #[test]
    fn arbitrary_contexts_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        (offset, len) in (140u32..400, 0u32..300),
    ) {
        let message = response(offset, len, &bytes);
        if let Err(error) = GrantedContexts::decode(&message) {
            prop_assert!(error.offset <= message.len());
        }
    }

    /// A valid chain with one changed byte reaches more code than random bytes.
    #[test]
    fn a_damaged_chain_never_panics(at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut area = area(&[
            (b"RqLs", vec![1; 52]),
            (b"MxAc", vec![0; 8]),
            (b"QFid", vec![3; 32]),
        ]);
        let at = at.index(area.len());
        area[at] = value;
        if let Err(offset) = decode(&area) {
            prop_assert!(offset <= CONTEXTS_AT + area.len());
        }
    }
}

#[test]
fn no_contexts_are_no_error() {
    for offset in [0, 152, u32::MAX] {
        let message = response(offset, 0, &[]);
        assert_eq!(
            GrantedContexts::decode(&message),
            Ok(GrantedContexts::default())
        );
    }
}

#[test]
fn chains_that_lie() {
    let good = context(0, b"MxAc", &[0; 8]);
    let with = |at: usize, bytes: &[u8]| {
        let mut area = good.clone();
        area[at..at + bytes.len()].copy_from_slice(bytes);
        area
    };
    for (area, offset) in [
        // NextCommand points into the context itself, to an unaligned place, to
        // the end, and beyond the end.
        (with(0, &[8]), CONTEXTS_AT),
        (with(0, &[20]), CONTEXTS_AT),
        (with(0, &[32]), CONTEXTS_AT + 32),
        (with(0, &[0xF8, 0xFF, 0xFF, 0xFF]), CONTEXTS_AT + 32),
        // Name or data lies outside the area.
        (with(4, &[30]), CONTEXTS_AT),
        (with(10, &[32]), CONTEXTS_AT),
        (with(12, &[9]), CONTEXTS_AT),
        (with(12, &[0xFF; 4]), CONTEXTS_AT),
        // No version has these lengths.
        (with(12, &[7]), CONTEXTS_AT + 24),
        (context(0, b"RqLs", &[0; 48]), CONTEXTS_AT + 24),
        (context(0, b"QFid", &[]), CONTEXTS_AT + 24),
    ] {
        assert_eq!(decode(&area), Err(offset), "{area:?}");
    }
    // The area lies inside the fixed part, or past the message.
    for (offset, len) in [(144, 8), (152, 33), (160, 32), (u32::MAX, u32::MAX)] {
        let message = response(offset, len, &good);
        let error = GrantedContexts::decode(&message).expect_err("a lie");
        assert_eq!(error.offset, 144, "{offset} {len}");
    }
}

#[test]
fn every_truncation_is_refused() {
    let area = area(&[(b"RqLs", vec![1; 52]), (b"QFid", vec![3; 32])]);
    for len in 1..area.len() {
        assert!(decode(&area[..len]).is_err(), "{len}");
    }
    assert!(decode(&area).is_ok());
}
