//! CREATE.

use proptest::prelude::*;
use smb_fscc::{FileAccessMask, FileAttributes};
use smb_msg as theirs;
use smbench_protocol::command::create::{CreateRequest, CreateResponse, Disposition, OplockLevel};
use smbench_protocol::header::Command;

use super::{read_by_them, their_id, written_by_them};
use crate::support::{file_id, file_times};

fn disposition() -> impl Strategy<Value = (Disposition, theirs::CreateDisposition)> {
    use theirs::CreateDisposition as Theirs;
    prop::sample::select(vec![
        (Disposition::Supersede, Theirs::Superseded),
        (Disposition::Open, Theirs::Open),
        (Disposition::Create, Theirs::Create),
        (Disposition::OpenIf, Theirs::OpenIf),
        (Disposition::Overwrite, Theirs::Overwrite),
        (Disposition::OverwriteIf, Theirs::OverwriteIf),
    ])
}

fn create_action() -> impl Strategy<Value = (u32, theirs::CreateAction)> {
    (0..4u32).prop_map(|which| match which {
        0 => (0, theirs::CreateAction::Superseded),
        1 => (1, theirs::CreateAction::Opened),
        2 => (2, theirs::CreateAction::Created),
        _ => (3, theirs::CreateAction::Overwritten),
    })
}

fn asks_oplock(level: bool) -> (OplockLevel, theirs::OplockLevel) {
    if level {
        (OplockLevel::LevelII, theirs::OplockLevel::II)
    } else {
        (OplockLevel::None, theirs::OplockLevel::None)
    }
}

proptest! {
    #[test]
    fn create_request(
        // Without a leading separator, as on the wire; characters of any script.
        name in "(\\PC{1,12}(\\\\\\PC{1,12}){0,3})?",
        (desired_access, file_attributes, share_access, options) in any::<(u32, u32, u32, u32)>(),
        disposition in disposition(),
        level_ii in any::<bool>(),
    ) {
        let oplock = asks_oplock(level_ii);
        let request = CreateRequest {
            name: name.as_str(),
            desired_access,
            file_attributes,
            share_access,
            disposition: disposition.0,
            options,
            oplock: oplock.0,
            contexts: &[],
        };
        let read = read_by_them(Command::Create, |out| {
            request.encode(out).expect("short");
            // smb-msg looks for contexts at the next multiple of 8, even if
            // there are none. It fails if the message ends before that.
            out.resize(out.len().next_multiple_of(8), 0);
        })
            .to_create()
            .expect("a CREATE");
        prop_assert_eq!(read, theirs::CreateRequest {
            requested_oplock_level: oplock.1,
            impersonation_level: theirs::ImpersonationLevel::Impersonation,
            desired_access: FileAccessMask::from_bytes(desired_access.to_le_bytes()),
            file_attributes: FileAttributes::from_bytes(file_attributes.to_le_bytes()),
            share_access: theirs::ShareAccessFlags::from_bytes(share_access.to_le_bytes()),
            create_disposition: disposition.1,
            create_options: theirs::CreateOptions::from_bytes(options.to_le_bytes()),
            name: name.as_str().into(),
            contexts: vec![].into(),
        });
    }

    #[test]
    fn create_response(
        level_ii in any::<bool>(),
        action in create_action(),
        times in file_times(),
        (allocation_size, end_of_file) in any::<(u64, u64)>(),
        file_attributes in any::<u32>(),
        file_id in file_id(),
    ) {
        let oplock = asks_oplock(level_ii);
        let message = written_by_them(theirs::Command::Create, theirs::CreateResponse {
            oplock_level: oplock.1,
            flags: theirs::CreateResponseFlags::new(),
            create_action: action.1,
            creation_time: times.created.0.into(),
            last_access_time: times.accessed.0.into(),
            last_write_time: times.written.0.into(),
            change_time: times.changed.0.into(),
            allocation_size,
            endof_file: end_of_file,
            file_attributes: FileAttributes::from_bytes(file_attributes.to_le_bytes()),
            file_id: their_id(file_id),
            create_contexts: vec![].into(),
        });
        prop_assert_eq!(CreateResponse::decode(&message), Ok(CreateResponse {
            oplock_level: oplock.0,
            create_action: action.0,
            times,
            allocation_size,
            end_of_file,
            file_attributes,
            file_id,
        }));
    }
}
