//! SET_INFO, QUERY_DIRECTORY, IOCTL and create contexts have the requested
//! effect on real servers.

use smbench_protocol::command::bodyless::{EMPTY_BODY, EmptyResponse};
use smbench_protocol::command::create::{
    CreateRequest, CreateResponse, Disposition, OplockLevel, attributes,
};
use smbench_protocol::command::create_context::{CreateContext, GrantedContexts, GrantedDurable};
use smbench_protocol::command::ioctl::copy_chunk::{
    CopyChunk, CopyChunkRequest, CopyChunkResponse, RESUME_KEY_OUTPUT_MAX, ResumeKey,
};
use smbench_protocol::command::ioctl::{IoctlRequest, IoctlResponse, fsctl};
use smbench_protocol::command::query_directory::{
    DirectoryClass, QueryDirectoryRequest, QueryDirectoryResponse, query_directory_flags,
};
use smbench_protocol::command::query_info::{
    InfoType, QueryInfoRequest, QueryInfoResponse, file_class, security,
};
use smbench_protocol::command::set_info::{
    Deletion, Existing, SetInfo, SetInfoRequest, SetInfoResponse,
};
use smbench_protocol::command::{FileTime, FileTimes};
use smbench_protocol::header::Command;
use smbench_protocol::{Dialect, FileId, NtStatus};

use crate::peer::{Peer, Site, file, name, root};
use crate::{SHIELDS, samba};

fn set(peer: &mut Peer, file_id: FileId, info: SetInfo<'_>) {
    let answer = peer.call(Command::SetInfo, |out| {
        SetInfoRequest { file_id, info }.encode(out);
    });
    let message = answer.success(&format!("{info:?}"));
    assert_eq!(SetInfoResponse::decode(&message), Ok(SetInfoResponse));
}

fn query(peer: &mut Peer, file_id: FileId, info_type: InfoType, class: u8, parts: u32) -> Vec<u8> {
    let request = QueryInfoRequest {
        info_type,
        class,
        output_length: 4096,
        additional: parts,
        file_id,
    };
    let answer = peer.call(Command::QueryInfo, |out| request.encode(out));
    let message = answer.success("QUERY_INFO");
    QueryInfoResponse::decode(&message).unwrap().data.to_vec()
}

fn exists(peer: &mut Peer, text: &str) -> bool {
    let name = name(text);
    let request = CreateRequest {
        disposition: Disposition::Open,
        ..file(&name, &[])
    };
    let answer = peer.call(Command::Create, |out| request.encode(out));
    match answer.status {
        NtStatus::SUCCESS => {
            peer.close(CreateResponse::decode(&answer.message).unwrap().file_id);
            true
        }
        status => {
            assert_eq!(status, NtStatus::OBJECT_NAME_NOT_FOUND);
            false
        }
    }
}

#[test]
fn what_is_set_is_so() {
    let Some(server) = samba() else { return };
    for shield in SHIELDS {
        let mut peer = Peer::open(&Site::from(&server), shield);
        let (old, new) = (name("old"), name("x"));
        let id = peer.create(file(&old, &[])).file_id;

        set(&mut peer, id, SetInfo::Allocation(1 << 20));
        set(&mut peer, id, SetInfo::EndOfFile(5000));
        let standard = query(
            &mut peer,
            id,
            InfoType::File,
            file_class::FILE_STANDARD_INFORMATION,
            0,
        );
        assert_eq!(standard[8..16], 5000u64.to_le_bytes());

        let times = FileTimes {
            written: FileTime(0x01d0_0000_0000_0000),
            ..FileTimes::default()
        };
        let file_attributes = attributes::FILE_ATTRIBUTE_HIDDEN;
        set(
            &mut peer,
            id,
            SetInfo::Basic {
                times,
                file_attributes,
            },
        );
        let basic = query(
            &mut peer,
            id,
            InfoType::File,
            file_class::FILE_BASIC_INFORMATION,
            0,
        );
        assert_eq!(basic[16..24], times.written.0.to_le_bytes());
        assert_eq!(basic[32] & 2, 2, "hidden");

        let parts = security::OWNER_SECURITY_INFORMATION | security::DACL_SECURITY_INFORMATION;
        let descriptor = query(&mut peer, id, InfoType::Security, 0, parts);
        let dacl = security::DACL_SECURITY_INFORMATION;
        set(
            &mut peer,
            id,
            SetInfo::Security {
                parts: dacl,
                descriptor: &descriptor,
            },
        );

        set(
            &mut peer,
            id,
            SetInfo::Rename {
                to: &new,
                existing: Existing::Replace,
            },
        );
        assert!(!exists(&mut peer, "old"));
        set(&mut peer, id, SetInfo::Disposition(Deletion::Pending));
        peer.close(id);
        assert!(!exists(&mut peer, "x"));
    }
}

#[test]
fn every_class_lists_every_name() {
    let Some(server) = samba() else { return };
    for shield in SHIELDS {
        let mut peer = Peer::open(&Site::from(&server), shield);
        let mut expected = vec![".".to_owned(), "..".to_owned()];
        for n in 0..10 {
            let text = format!("file-{}", "n".repeat(n));
            let id = peer.create(file(&name(&text), &[])).file_id;
            peer.close(id);
            expected.push(text);
        }
        expected.sort();
        let (nothing, every) = (name(""), name("*"));
        let directory = peer.create(root(&nothing)).file_id;
        for class in [
            DirectoryClass::Directory,
            DirectoryClass::FullDirectory,
            DirectoryClass::BothDirectory,
            DirectoryClass::Names,
            DirectoryClass::IdBothDirectory,
            DirectoryClass::IdFullDirectory,
        ] {
            let request = QueryDirectoryRequest {
                directory,
                class,
                flags: query_directory_flags::RESTART_SCANS,
                pattern: &every,
                output_length: 65_536,
            };
            let answer = peer.call(Command::QueryDirectory, |out| request.encode(out));
            let message = answer.success("QUERY_DIRECTORY");
            let response = QueryDirectoryResponse::decode(&message).unwrap();
            let entries: Vec<_> = response.entries(class).map(Result::unwrap).collect();
            let mut names: Vec<_> = entries
                .iter()
                .map(|entry| {
                    let units = entry.name.chunks(2);
                    units.map(|unit| char::from(unit[0])).collect::<String>()
                })
                .collect();
            names.sort();
            assert_eq!(names, expected, "{class:?} {shield:?}");
            for entry in entries {
                assert_eq!(entry.details.is_none(), class == DirectoryClass::Names);
            }
            let single = QueryDirectoryRequest {
                flags: query_directory_flags::REOPEN | query_directory_flags::RETURN_SINGLE_ENTRY,
                pattern: &name("file-nn"),
                ..request
            };
            let answer = peer.call(Command::QueryDirectory, |out| single.encode(out));
            let message = answer.success("QUERY_DIRECTORY of one");
            let response = QueryDirectoryResponse::decode(&message).unwrap();
            assert_eq!(response.entries(class).count(), 1, "{class:?}");
        }
        peer.close(directory);
    }
}

#[test]
fn copies_on_the_server() {
    let Some(server) = samba() else { return };
    let data: Vec<u8> = (0..10_000u32).map(|n| (n % 251) as u8).collect();
    for shield in SHIELDS {
        let mut peer = Peer::open(&Site::from(&server), shield);
        let source = peer.create(file(&name("source"), &[])).file_id;
        let target = peer.create(file(&name("target"), &[])).file_id;
        peer.write(source, &data);
        let request = IoctlRequest {
            code: fsctl::FSCTL_SRV_REQUEST_RESUME_KEY,
            file_id: source,
            input: &[],
            output_max: RESUME_KEY_OUTPUT_MAX,
        };
        let message = peer
            .call(Command::Ioctl, |out| request.encode(out))
            .success("a resume key");
        let key = ResumeKey::decode(IoctlResponse::decode(&message).unwrap().output).unwrap();
        for code in [fsctl::FSCTL_SRV_COPYCHUNK, fsctl::FSCTL_SRV_COPYCHUNK_WRITE] {
            let chunk = |source, target, length| CopyChunk {
                source,
                target,
                length,
            };
            let copy = CopyChunkRequest {
                code,
                target,
                source: key,
                chunks: &[chunk(0, 0, 6000), chunk(6000, 6000, 4000)],
            };
            let message = peer
                .call(Command::Ioctl, |out| copy.encode(out))
                .success("a copy");
            let response = IoctlResponse::decode(&message).unwrap();
            let copied = CopyChunkResponse::decode(response.output).unwrap();
            assert_eq!((copied.chunks, copied.total_bytes), (2, 10_000));
            assert!(peer.read(target, 20_000) == data, "{shield:?}");
        }
        peer.close(source);
        peer.close(target);
    }
}

#[test]
fn interfaces_contexts_and_good_byes() {
    let Some(server) = samba() else { return };
    for shield in SHIELDS {
        let mut peer = Peer::open(&Site::from(&server), shield);
        if shield.dialect > Dialect::Smb21 {
            let request = IoctlRequest {
                code: fsctl::FSCTL_QUERY_NETWORK_INTERFACE_INFO,
                file_id: FileId::RELATED,
                input: &[],
                output_max: 65_536,
            };
            let message = peer
                .call(Command::Ioctl, |out| request.encode(out))
                .success("the interfaces");
            let response = IoctlResponse::decode(&message).unwrap();
            let mut fields = response.output.windows(4);
            assert!(fields.any(|field| field == [127, 0, 0, 1]), "{shield:?}");
        }

        let v2 = CreateContext::DurableV2 {
            timeout_ms: 0,
            flags: 0,
            create_guid: [9; 16],
        };
        let durable = match shield.dialect {
            Dialect::Smb21 => vec![CreateContext::Durable],
            _ => vec![v2, CreateContext::AppInstanceId([7; 16])],
        };
        let file_name = name("durable");
        let others = [
            CreateContext::MaximalAccess { since: None },
            CreateContext::QueryOnDiskId,
            CreateContext::AllocationSize(4096),
        ];
        let contexts = [&durable[..], &others[..]].concat();
        let request = CreateRequest {
            oplock: OplockLevel::Batch,
            ..file(&file_name, &contexts)
        };
        let message = peer
            .call(Command::Create, |out| request.encode(out))
            .success("CREATE with contexts");
        let granted = GrantedContexts::decode(&message).unwrap();
        match granted.durable {
            Some(GrantedDurable::V1) => assert_eq!(shield.dialect, Dialect::Smb21),
            Some(GrantedDurable::V2 { timeout_ms, .. }) => assert!(timeout_ms > 0),
            None => panic!("a batch oplock makes it durable: {granted:?}"),
        }
        let access = granted.maximal_access.unwrap();
        assert_eq!(access.status, NtStatus::SUCCESS);
        assert_eq!(access.access & 3, 3, "reads and writes");
        assert!(granted.disk_id.unwrap().file != 0);
        peer.close(CreateResponse::decode(&message).unwrap().file_id);

        for command in [Command::Echo, Command::TreeDisconnect, Command::Logoff] {
            let answer = peer.call(command, |out| out.extend_from_slice(&EMPTY_BODY));
            let message = answer.success(command.name());
            assert_eq!(EmptyResponse::decode(&message), Ok(EmptyResponse));
        }
    }
}
