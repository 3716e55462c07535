//! Contexts of CREATE: requests of smbtorture and answers of Samba.

use smbench_protocol::NtStatus;
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{
    CreateRequest, CreateResponse, Disposition, OplockLevel, access, attributes, options, share,
};
use smbench_protocol::command::create_context::{
    CreateContext, GrantedContexts, GrantedDurable, GrantedLease, MaximalAccess,
};
use smbench_protocol::command::lease::{LeaseKey, LeaseState};
use smbench_protocol::header::HEADER_LEN;

use super::{body, id};

/// The key of smbtorture's leases.
pub(super) const KEY: LeaseKey = LeaseKey([
    0x0d, 0xf0, 0xdd, 0xe0, 0xfe, 0x0f, 0xdc, 0xba, 0xf2, 0x0f, 0x22, 0x1f, 0x01, 0xf0, 0x23, 0x45,
]);

/// The access rights that smbtorture asks for.
const FULL_ACCESS: u32 = 0x001f_01ff;
/// The options of smbtorture. The first is FILE_SYNCHRONOUS_IO_NONALERT, which
/// servers ignore.
const OPTIONS: u32 = 0x20
    | options::FILE_SEQUENTIAL_ONLY
    | options::FILE_NON_DIRECTORY_FILE
    | options::FILE_OPEN_REPARSE_POINT;

/// Compares this crate's request, with the name as text and encoded, with the
/// captured one.
fn check(captured: &[u8], request: CreateRequest<'_>) {
    let mut theirs = captured[HEADER_LEN..].to_vec();
    // smbtorture sometimes uses anonymous impersonation, and always in a
    // reconnect. This crate never does.
    theirs[4] = 2;
    let ours = body(|out| request.encode(out).expect("a short name"));
    assert_eq!(ours, theirs);

    let name = WireName::new(request.name).expect("a short name");
    let wire = CreateRequest {
        name: &name,
        desired_access: request.desired_access,
        file_attributes: request.file_attributes,
        share_access: request.share_access,
        disposition: request.disposition,
        options: request.options,
        oplock: request.oplock,
        contexts: request.contexts,
    };
    assert_eq!(body(|out| wire.encode(out)), theirs);
}

fn leased<'a>(name: &'a str, contexts: &'a [CreateContext]) -> CreateRequest<'a> {
    CreateRequest {
        name,
        desired_access: FULL_ACCESS,
        file_attributes: attributes::FILE_ATTRIBUTE_NORMAL,
        share_access: share::ALL,
        disposition: Disposition::OpenIf,
        options: OPTIONS,
        oplock: OplockLevel::Lease,
        contexts,
    }
}

#[test]
fn a_lease_of_smb_2_1() {
    let lease = CreateContext::Lease {
        key: KEY,
        state: LeaseState::RWH,
    };
    let request = captured!("2.1", "lease-v1-request");
    check(&request, leased("lease_breaking1.dat", &[lease]));

    let response = captured!("2.1", "lease-v1-response");
    let opened = CreateResponse::decode(&response).expect("decodes");
    assert_eq!(opened.oplock_level, OplockLevel::Lease);
    let granted = GrantedContexts {
        lease: Some(GrantedLease {
            key: KEY,
            state: LeaseState::RWH,
            flags: 0,
            epoch: None,
        }),
        ..GrantedContexts::default()
    };
    assert_eq!(GrantedContexts::decode(&response), Ok(granted));
}

#[test]
fn a_lease_of_smb_3() {
    let lease = CreateContext::LeaseV2 {
        key: KEY,
        state: LeaseState::RWH,
        parent: None,
        epoch: 0x11,
    };
    let request = captured!("3.1.1", "lease-v2-request");
    check(&request, leased("v2_lease_breaking3.dat", &[lease]));

    let granted = GrantedContexts {
        lease: Some(GrantedLease {
            key: KEY,
            state: LeaseState::RWH,
            flags: 0,
            epoch: Some(0x12),
        }),
        ..GrantedContexts::default()
    };
    let response = captured!("3.1.1", "lease-v2-response");
    assert_eq!(GrantedContexts::decode(&response), Ok(granted));
}

#[test]
fn several_contexts_of_which_one_is_granted() {
    let request = captured!("3.1.1", "contexts-request");
    check(
        &request,
        CreateRequest {
            desired_access: access::MAXIMUM_ALLOWED,
            disposition: Disposition::OverwriteIf,
            oplock: OplockLevel::None,
            ..leased(
                "test_create.dat",
                &[
                    CreateContext::MaximalAccess { since: None },
                    CreateContext::AllocationSize(1 << 20),
                    CreateContext::Durable,
                ],
            )
        },
    );
    let granted = GrantedContexts {
        maximal_access: Some(MaximalAccess {
            status: NtStatus::SUCCESS,
            access: FULL_ACCESS,
        }),
        ..GrantedContexts::default()
    };
    let response = captured!("3.1.1", "contexts-response");
    assert_eq!(GrantedContexts::decode(&response), Ok(granted));
}

fn durable<'a>(name: &'a str, contexts: &'a [CreateContext]) -> CreateRequest<'a> {
    CreateRequest {
        share_access: 0,
        oplock: OplockLevel::Batch,
        ..leased(name, contexts)
    }
}

/// Makes a reconnect as smbtorture does: only with the name and the handle. Its
/// disposition has the number zero.
fn reconnect<'a>(name: &'a str, contexts: &'a [CreateContext]) -> CreateRequest<'a> {
    CreateRequest {
        name,
        desired_access: 0,
        file_attributes: 0,
        share_access: 0,
        disposition: Disposition::Supersede,
        options: 0,
        oplock: OplockLevel::None,
        contexts,
    }
}

#[test]
fn a_durable_handle_of_smb_2_1_and_its_reconnect() {
    const NAME: &str = "durable_open_reopen2_,WI2ja3O.dat";
    let request = captured!("2.1", "durable-request");
    check(&request, durable(NAME, &[CreateContext::Durable]));
    let response = captured!("2.1", "durable-response");
    let opened = CreateResponse::decode(&response).expect("decodes");
    assert_eq!(opened.oplock_level, OplockLevel::Batch);
    let granted = GrantedContexts {
        durable: Some(GrantedDurable::V1),
        ..GrantedContexts::default()
    };
    assert_eq!(GrantedContexts::decode(&response), Ok(granted));

    let back = CreateContext::DurableReconnect(opened.file_id);
    check(
        &captured!("2.1", "durable-reconnect"),
        reconnect(NAME, &[back]),
    );
}

#[test]
fn a_durable_handle_of_smb_3_and_its_reconnect() {
    const NAME: &str = "durable_v2_open_reopen2b_oja3swJL.dat";
    let create_guid = [
        0x99, 0x58, 0x85, 0x21, 0xbe, 0x1d, 0x5a, 0x4d, 0xb1, 0x7d, 0x3c, 0x7d, 0x4c, 0xcf, 0x01,
        0x2c,
    ];
    let asked = CreateContext::DurableV2 {
        timeout_ms: u32::MAX,
        flags: 0,
        create_guid,
    };
    let request = captured!("3.1.1", "durable-v2-request");
    check(&request, durable(NAME, &[asked]));
    let response = captured!("3.1.1", "durable-v2-response");
    let opened = CreateResponse::decode(&response).expect("decodes");
    assert_eq!(opened.file_id, id(0xc7e2_c979, 0x85ab_b101));
    let granted = GrantedContexts {
        durable: Some(GrantedDurable::V2 {
            timeout_ms: 300_000,
            flags: 0,
        }),
        ..GrantedContexts::default()
    };
    assert_eq!(GrantedContexts::decode(&response), Ok(granted));

    // smbtorture uses a wrong GUID here on purpose.
    let back = CreateContext::DurableReconnectV2 {
        file_id: opened.file_id,
        create_guid: [0; 16],
        flags: 0,
    };
    check(
        &captured!("3.1.1", "durable-v2-reconnect"),
        reconnect(NAME, &[back]),
    );
}

#[test]
fn an_application_instance() {
    const NAME: &str = "durable_v2_open_app_instance_CRrkrl63.dat";
    let create_guid = [
        0x47, 0x55, 0xaf, 0xed, 0x1c, 0x05, 0x4d, 0x4f, 0xb8, 0xa2, 0x25, 0x68, 0x17, 0xdb, 0xc2,
        0x9c,
    ];
    let instance = [
        0xeb, 0x82, 0x76, 0x14, 0x8c, 0x67, 0x7e, 0x4b, 0xaf, 0xc7, 0x19, 0x26, 0xf2, 0xd2, 0x56,
        0x2e,
    ];
    let contexts = [
        CreateContext::DurableV2 {
            timeout_ms: u32::MAX,
            flags: 0,
            create_guid,
        },
        CreateContext::AppInstanceId(instance),
    ];
    let request = captured!("3.1.1", "app-instance-request");
    check(&request, durable(NAME, &contexts));
}
