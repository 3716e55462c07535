//! Create contexts, as far as smb-msg supports them.
//!
//! Captures and properties cover the rest:
//! - smb-msg gives `DHnC` a wrong name, and keeps the fields of `DH2C` private.
//! - It can read a context without data only as the last one.
//! - It reads a V2 lease without flags as a V1 lease.

use proptest::prelude::*;
use smb_fscc::{FileAccessMask, FileAttributes};
use smb_msg as theirs;
use smb_msg::{CreateContextRequestData as Request, CreateContextResponse, RequestLease};
use smbench_protocol::NtStatus;
use smbench_protocol::command::FileTime;
use smbench_protocol::command::create::{CreateRequest, Disposition, OplockLevel};
use smbench_protocol::command::create_context::{
    CreateContext, DiskId, GrantedContexts, GrantedDurable, GrantedLease, MaximalAccess,
};
use smbench_protocol::command::lease::{LeaseKey, LeaseState};
use smbench_protocol::header::Command;

use super::{read_by_them, written_by_them};

fn their_state(state: LeaseState) -> theirs::LeaseState {
    theirs::LeaseState::from_bytes(state.0.to_le_bytes())
}

fn lease_state() -> impl Strategy<Value = LeaseState> {
    (0..8u32).prop_map(LeaseState)
}

proptest! {
    #[test]
    fn requests(
        (key, parent) in any::<([u8; 16], [u8; 16])>(),
        state in lease_state(),
        (epoch, timeout_ms) in any::<(u16, u32)>(),
        (create_guid, instance) in any::<([u8; 16], [u8; 16])>(),
        since in any::<u64>(),
        size in any::<u64>(),
    ) {
        let contexts = [
            CreateContext::Lease { key: LeaseKey(key), state },
            CreateContext::LeaseV2 {
                key: LeaseKey(key),
                state,
                parent: Some(LeaseKey(parent)),
                epoch,
            },
            CreateContext::Durable,
            CreateContext::DurableV2 { timeout_ms, flags: 2, create_guid },
            CreateContext::AppInstanceId(instance),
            CreateContext::MaximalAccess { since: Some(FileTime(since)) },
            CreateContext::AllocationSize(size),
            CreateContext::QueryOnDiskId,
        ];
        let request = CreateRequest {
            name: r"dir\file",
            desired_access: 1,
            file_attributes: 0,
            share_access: 0,
            disposition: Disposition::Open,
            options: 0,
            // smb-msg does not know the oplock level of a lease.
            oplock: OplockLevel::None,
            contexts: &contexts,
        };
        let read = read_by_them(Command::Create, |out| request.encode(out).expect("short"))
            .to_create()
            .expect("a CREATE");
        let read: Vec<_> = read.contexts.iter().map(|context| &context.data).collect();
        let [v1, v2, durable, durable_v2, application, access, allocation, disk] = read[..] else {
            panic!("{} contexts", read.len());
        };
        prop_assert_eq!(v1, &Request::RqlsRequest(RequestLease::RqLsReqv1(theirs::RequestLeaseV1 {
            lease_key: u128::from_le_bytes(key),
            lease_state: their_state(state),
        })));
        prop_assert_eq!(v2, &Request::RqlsRequest(RequestLease::RqLsReqv2(theirs::RequestLeaseV2 {
            lease_key: u128::from_le_bytes(key),
            lease_state: their_state(state),
            lease_flags: theirs::LeaseFlags::new().with_parent_lease_key_set(true),
            parent_lease_key: u128::from_le_bytes(parent),
            epoch,
        })));
        prop_assert!(matches!(durable, Request::DhnqRequest(_)));
        prop_assert_eq!(durable_v2, &Request::Dh2qRequest(theirs::DurableHandleRequestV2 {
            timeout: timeout_ms,
            flags: theirs::DurableHandleV2Flags::new().with_persistent(true),
            create_guid: create_guid.into(),
        }));
        prop_assert_eq!(application, &Request::AppinstidRequest(theirs::AppInstanceId {
            app_instance_id: instance.into(),
        }));
        prop_assert_eq!(access, &Request::MxacRequest(theirs::QueryMaximalAccessRequest {
            timestamp: Some(since.into()),
        }));
        prop_assert!(matches!(disk, Request::QfidRequest(_)));
        prop_assert_eq!(allocation, &Request::AlsiRequest(theirs::AllocationSize {
            allocation_size: size,
        }));
    }

    #[test]
    fn responses(
        key in any::<[u8; 16]>(),
        state in lease_state(),
        epoch in any::<Option<u16>>(),
        timeout_ms in any::<Option<u32>>(),
        (file, volume) in any::<(u64, u64)>(),
        access in any::<u32>(),
    ) {
        let lease_key = u128::from_le_bytes(key);
        let lease_state = their_state(state);
        let lease = match epoch {
            Some(epoch) => RequestLease::RqLsReqv2(theirs::RequestLeaseV2 {
                lease_key,
                lease_state,
                lease_flags: theirs::LeaseFlags::new(),
                parent_lease_key: 0,
                epoch,
            }),
            None => RequestLease::RqLsReqv1(theirs::RequestLeaseV1 { lease_key, lease_state }),
        };
        let mut contexts: Vec<CreateContextResponse> = vec![lease.into()];
        if let Some(timeout) = timeout_ms {
            contexts.push(theirs::DH2QResp {
                timeout,
                flags: theirs::DurableHandleV2Flags::new(),
            }.into());
        }
        contexts.push(theirs::QueryMaximalAccessResponse {
            query_status: theirs::Status::Success,
            maximal_access: FileAccessMask::from_bytes(access.to_le_bytes()),
        }.into());
        contexts.push(theirs::QueryOnDiskIdResp { file_id: file, volume_id: volume }.into());
        let message = written_by_them(theirs::Command::Create, theirs::CreateResponse {
            oplock_level: theirs::OplockLevel::None,
            flags: theirs::CreateResponseFlags::new(),
            create_action: theirs::CreateAction::Opened,
            creation_time: 0.into(),
            last_access_time: 0.into(),
            last_write_time: 0.into(),
            change_time: 0.into(),
            allocation_size: 0,
            endof_file: 0,
            file_attributes: FileAttributes::new(),
            file_id: theirs::FileId::default(),
            create_contexts: contexts.into(),
        });
        prop_assert_eq!(GrantedContexts::decode(&message), Ok(GrantedContexts {
            lease: Some(GrantedLease { key: LeaseKey(key), state, flags: 0, epoch }),
            durable: timeout_ms.map(|timeout_ms| GrantedDurable::V2 { timeout_ms, flags: 0 }),
            maximal_access: Some(MaximalAccess { status: NtStatus::SUCCESS, access }),
            disk_id: Some(DiskId { file, volume }),
            apple_listings: false,
        }));
    }
}
