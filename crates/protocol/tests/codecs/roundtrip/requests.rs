//! Requests: the places of their parts, and fields that are too long.

use proptest::prelude::*;
use smbench_protocol::FileId;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{
    CREATE_REQUEST_FIXED, CreateRequest, Disposition, OplockLevel,
};
use smbench_protocol::command::create_context::CreateContext;
use smbench_protocol::command::lease::{LeaseKey, LeaseState};
use smbench_protocol::command::lock::{LockElement, LockRequest};
use smbench_protocol::header::HEADER_LEN;

/// The name of the context of an application instance (MS-SMB2 2.2.13.2).
const APP_INSTANCE_ID: [u8; 16] = 0x744d_142e_46fa_0890_4af7_a7ef_6aa6_bc45_u128.to_le_bytes();

fn contexts() -> impl Strategy<Value = Vec<CreateContext>> {
    prop::sample::subsequence(
        vec![
            CreateContext::Lease {
                key: LeaseKey([1; 16]),
                state: LeaseState::RH,
            },
            CreateContext::Durable,
            CreateContext::DurableReconnectV2 {
                file_id: FileId::RELATED,
                create_guid: [2; 16],
                flags: 0,
            },
            CreateContext::AppInstanceId([3; 16]),
            CreateContext::MaximalAccess { since: None },
            CreateContext::QueryOnDiskId,
            CreateContext::AllocationSize(7),
        ],
        0..7,
    )
    .prop_shuffle()
}

fn u16_at(message: &[u8], at: usize) -> usize {
    u16::from_le_bytes(message[at..at + 2].try_into().expect("two bytes")).into()
}

fn u32_at(message: &[u8], at: usize) -> usize {
    u32::from_le_bytes(message[at..at + 4].try_into().expect("four bytes")) as usize
}

proptest! {
    /// Contexts start at an aligned place after the name. They follow each
    /// other aligned, and end with the message. The message's place in the
    /// buffer has no effect.
    #[test]
    fn create_request_contexts(
        name in "\\PC{0,40}",
        contexts in contexts(),
        before in any::<Vec<u8>>(),
    ) {
        let mut out = before.clone();
        out.resize(before.len() + HEADER_LEN, 0);
        let request = CreateRequest { contexts: &contexts, ..named(&name) };
        request.encode(&mut out).expect("all short");
        let message = &out[before.len()..];
        let (mut at, len) = (u32_at(message, 112), u32_at(message, 116));
        if contexts.is_empty() {
            prop_assert_eq!((at, len), (0, 0));
            return Ok(());
        }
        prop_assert!(at >= CREATE_REQUEST_FIXED + 2 * name.encode_utf16().count());
        prop_assert_eq!(at + len, message.len());
        for (n, context) in contexts.iter().enumerate() {
            prop_assert_eq!(at % 8, 0);
            let name = &message[at + u16_at(message, at + 4)..][..u16_at(message, at + 6)];
            let data = &message[at + u16_at(message, at + 10)..][..u32_at(message, at + 12)];
            let (expected, data_len): (&[u8], _) = match context {
                CreateContext::Lease { .. } => (b"RqLs", 32),
                CreateContext::Durable => (b"DHnQ", 16),
                CreateContext::DurableReconnectV2 { .. } => (b"DH2C", 36),
                CreateContext::AppInstanceId(_) => (&APP_INSTANCE_ID, 20),
                CreateContext::MaximalAccess { .. } => (b"MxAc", 0),
                CreateContext::QueryOnDiskId => (b"QFid", 0),
                _ => (b"AlSi", 8),
            };
            prop_assert_eq!((name, data.len()), (expected, data_len));
            let next = u32_at(message, at);
            prop_assert_eq!(next == 0, n + 1 == contexts.len());
            at += next;
        }
    }

    /// An encoded name gives the same bytes as the text.
    #[test]
    fn create_request_of_a_wire_name(name in "\\PC{0,40}", contexts in contexts()) {
        let text = CreateRequest { contexts: &contexts, ..named(&name) };
        let wire_name = WireName::new(&name).expect("short");
        let CreateRequest {
            desired_access,
            file_attributes,
            share_access,
            disposition,
            options,
            oplock,
            contexts,
            ..
        } = text;
        let wire = CreateRequest {
            name: &wire_name,
            desired_access,
            file_attributes,
            share_access,
            disposition,
            options,
            oplock,
            contexts,
        };
        let (mut ours, mut again) = (Vec::new(), Vec::new());
        text.encode(&mut ours).expect("short");
        wire.encode(&mut again);
        prop_assert_eq!(ours, again);
    }
}

#[test]
fn requests_that_do_not_fit_leave_the_buffer_alone() {
    let mut out = vec![1, 2, 3];
    let longest = "n".repeat(32_767);
    let mut fits = out.clone();
    assert_eq!(named(&longest).encode(&mut fits), Ok(()));
    assert_eq!(fits.len(), 3 + 56 + 2 * 32_767);

    // One UTF-16 unit too many. A character beyond the BMP takes two units.
    for name in ["n".repeat(32_768), "𝄞".repeat(16_384)] {
        let error = named(&name).encode(&mut out).expect_err("too long");
        assert_eq!((error.what, error.len), ("file name", 65_536));
    }
    let lock = LockElement {
        offset: 0,
        length: 1,
        flags: 0,
    };
    let request = LockRequest {
        file_id: FileId::default(),
        sequence: 0,
        locks: &vec![lock; 65_536],
    };
    let error = request.encode(&mut out).expect_err("too many");
    assert_eq!((error.what, error.len), ("lock list", 65_536));
    assert_eq!(out, [1, 2, 3]);
}

fn named(name: &str) -> CreateRequest<'_> {
    CreateRequest {
        name,
        desired_access: 0,
        file_attributes: 0,
        share_access: 0,
        disposition: Disposition::Open,
        options: 0,
        oplock: OplockLevel::None,
        contexts: &[],
    }
}
