//! The hot-command codecs against `smb-msg`, an independent implementation:
//! what we encode it must read as we meant it, what it writes we must read as
//! it meant it.
//!
//! Fields stay within what smb-msg can express. It writes and reads CLOSE with
//! POSTQUERY_ATTRIB only, numbers oplock levels beyond II wrongly for CREATE,
//! and refuses empty READ responses; `golden.rs` and `roundtrip.rs` cover
//! those.

use std::io::Cursor;

use binrw::{BinRead, BinWrite};
use proptest::prelude::*;
use smb_fscc::{FileAccessMask, FileAttributes, QueryFileInfoClass, QueryFileSystemInfoClass};
use smb_msg as theirs;
use smb_msg::{PlainRequest, PlainResponse, RequestContent, ResponseContent};
use smbench_protocol::command::close::{CloseRequest, CloseResponse, POSTQUERY_ATTRIB};
use smbench_protocol::command::create::{
    CreateAction, CreateRequest, CreateResponse, Disposition, OplockLevel,
};
use smbench_protocol::command::error::ErrorResponse;
use smbench_protocol::command::flush::{FlushRequest, FlushResponse};
use smbench_protocol::command::lock::{LockElement, LockRequest, LockResponse, lock_flags};
use smbench_protocol::command::query_info::{
    InfoType, QueryInfoRequest, QueryInfoResponse, file_class, file_system_class,
};
use smbench_protocol::command::read::{ReadRequest, ReadResponse};
use smbench_protocol::command::write::{WriteRequest, WriteResponse};
use smbench_protocol::command::{FileTime, FileTimes};
use smbench_protocol::header::{Command, Flags, Header};
use smbench_protocol::{FileId, NtStatus};

/// A request of ours as smb-msg reads it.
fn read_by_them(command: Command, encode: impl FnOnce(&mut Vec<u8>)) -> RequestContent {
    let mut message = Vec::new();
    Header::request(command, 7).encode(&mut message);
    encode(&mut message);
    let mut cursor = Cursor::new(&message);
    let request = PlainRequest::read(&mut cursor).expect("smb-msg reads our request");
    assert_eq!(request.header.message_id, 7);
    request.content
}

/// A response of theirs, to be read by us.
fn written_by_them(command: theirs::Command, content: impl Into<ResponseContent>) -> Vec<u8> {
    let mut response = PlainResponse::new_with_command(content.into(), command);
    response.header.flags.set_server_to_redir(true);
    let mut message = Cursor::new(Vec::new());
    response.write(&mut message).expect("smb-msg writes");
    message.into_inner()
}

fn their_id(id: FileId) -> theirs::FileId {
    theirs::FileId {
        persistent: id.persistent,
        volatile: id.volatile,
    }
}

fn file_id() -> impl Strategy<Value = FileId> {
    any::<(u64, u64)>().prop_map(|(persistent, volatile)| FileId {
        persistent,
        volatile,
    })
}

fn file_times() -> impl Strategy<Value = FileTimes> {
    any::<[u64; 4]>().prop_map(|[created, accessed, written, changed]| FileTimes {
        created: FileTime(created),
        accessed: FileTime(accessed),
        written: FileTime(written),
        changed: FileTime(changed),
    })
}

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

fn create_action() -> impl Strategy<Value = (CreateAction, theirs::CreateAction)> {
    (0..4usize).prop_map(|which| match which {
        0 => (CreateAction::SUPERSEDED, theirs::CreateAction::Superseded),
        1 => (CreateAction::OPENED, theirs::CreateAction::Opened),
        2 => (CreateAction::CREATED, theirs::CreateAction::Created),
        _ => (CreateAction::OVERWRITTEN, theirs::CreateAction::Overwritten),
    })
}

fn asks_oplock(level: bool) -> (OplockLevel, theirs::OplockLevel) {
    if level {
        (OplockLevel::LevelII, theirs::OplockLevel::II)
    } else {
        (OplockLevel::None, theirs::OplockLevel::None)
    }
}

fn lock_element() -> impl Strategy<Value = LockElement> {
    let flags = prop::sample::select(vec![
        lock_flags::SHARED,
        lock_flags::EXCLUSIVE,
        lock_flags::UNLOCK,
        lock_flags::SHARED | lock_flags::FAIL_IMMEDIATELY,
        lock_flags::EXCLUSIVE | lock_flags::FAIL_IMMEDIATELY,
    ]);
    (any::<(u64, u64)>(), flags).prop_map(|((offset, length), flags)| LockElement {
        offset,
        length,
        flags,
    })
}

fn info_class() -> impl Strategy<Value = (InfoType, u8, theirs::InfoType, ClassOfTheirs)> {
    let file = |class, their_class| {
        (
            InfoType::File,
            class,
            theirs::InfoType::File,
            ClassOfTheirs::File(their_class),
        )
    };
    let volume = |class, their_class| {
        (
            InfoType::FileSystem,
            class,
            theirs::InfoType::FileSystem,
            ClassOfTheirs::FileSystem(their_class),
        )
    };
    prop::sample::select(vec![
        file(
            file_class::FILE_BASIC_INFORMATION,
            QueryFileInfoClass::BasicInformation,
        ),
        file(
            file_class::FILE_STANDARD_INFORMATION,
            QueryFileInfoClass::StandardInformation,
        ),
        file(
            file_class::FILE_INTERNAL_INFORMATION,
            QueryFileInfoClass::InternalInformation,
        ),
        file(
            file_class::FILE_ALL_INFORMATION,
            QueryFileInfoClass::AllInformation,
        ),
        file(
            file_class::FILE_NETWORK_OPEN_INFORMATION,
            QueryFileInfoClass::NetworkOpenInformation,
        ),
        volume(
            file_system_class::FILE_FS_VOLUME_INFORMATION,
            QueryFileSystemInfoClass::FsVolumeInformation,
        ),
        volume(
            file_system_class::FILE_FS_SIZE_INFORMATION,
            QueryFileSystemInfoClass::FsSizeInformation,
        ),
        volume(
            file_system_class::FILE_FS_ATTRIBUTE_INFORMATION,
            QueryFileSystemInfoClass::FsAttributeInformation,
        ),
        volume(
            file_system_class::FILE_FS_FULL_SIZE_INFORMATION,
            QueryFileSystemInfoClass::FsFullSizeInformation,
        ),
        (
            InfoType::Security,
            0,
            theirs::InfoType::Security,
            ClassOfTheirs::None,
        ),
    ])
}

/// `smb_msg::QueryInfoClass` cannot be cloned, which proptest needs.
#[derive(Clone, Copy, Debug)]
enum ClassOfTheirs {
    File(QueryFileInfoClass),
    FileSystem(QueryFileSystemInfoClass),
    None,
}

impl ClassOfTheirs {
    fn get(self) -> theirs::QueryInfoClass {
        match self {
            Self::File(class) => theirs::QueryInfoClass::File(class),
            Self::FileSystem(class) => theirs::QueryInfoClass::FileSystem(class),
            Self::None => theirs::QueryInfoClass::default(),
        }
    }
}

proptest! {
    #[test]
    fn header(
        command in 0u16..19,
        (credit_charge, credits) in any::<(u16, u16)>(),
        (status, flags, next_command) in any::<(u32, u32, u32)>(),
        (message_id, async_id, session_id) in any::<(u64, u64, u64)>(),
        tree_id in any::<u32>(),
    ) {
        let mut header = Header {
            credit_charge,
            status: NtStatus(status),
            command: Command::from_code(command).expect("all below 19 exist"),
            credits,
            flags: Flags(flags),
            next_command,
            message_id,
            async_or_tree: async_id,
            session_id,
        };
        let is_async = header.flags.contains(Flags::ASYNC);
        if !is_async {
            header = header.with_tree(tree_id);
        }
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        let read = theirs::Header::read(&mut Cursor::new(&bytes)).expect("smb-msg reads our header");

        prop_assert_eq!(read.command as u16, command);
        prop_assert_eq!((read.credit_charge, read.credit_request), (credit_charge, credits));
        prop_assert_eq!((read.status, read.next_command), (status, next_command));
        prop_assert_eq!(read.flags.into_bytes(), flags.to_le_bytes());
        prop_assert_eq!((read.message_id, read.session_id), (message_id, session_id));
        prop_assert_eq!(read.tree_id, (!is_async).then_some(tree_id));
        prop_assert_eq!(read.async_id.unwrap_or_default(), if is_async { async_id } else { 0 });
        prop_assert_eq!(read.signature, 0);

        let mut again = Cursor::new(Vec::new());
        read.write(&mut again).expect("smb-msg writes");
        prop_assert_eq!(Header::decode(again.get_ref()), Ok(header));
    }

    #[test]
    fn create_request(
        // Without a leading separator, as on the wire; any script, any plane.
        name in "(\\PC{1,12}(\\\\\\PC{1,12}){0,3})?",
        (desired_access, file_attributes, share_access, options) in any::<(u32, u32, u32, u32)>(),
        disposition in disposition(),
        level_ii in any::<bool>(),
    ) {
        let oplock = asks_oplock(level_ii);
        let request = CreateRequest {
            name: &name,
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
            // smb-msg looks for contexts at the next multiple of 8 even when
            // there are none, and fails when the message ends before it.
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

    #[test]
    fn close(
        file_id in file_id(),
        times in file_times(),
        (allocation_size, end_of_file) in any::<(u64, u64)>(),
        file_attributes in any::<u32>(),
    ) {
        let request = CloseRequest { file_id, flags: POSTQUERY_ATTRIB };
        let read = read_by_them(Command::Close, |out| request.encode(out));
        prop_assert_eq!(read.to_close().expect("a CLOSE").file_id, their_id(file_id));

        let message = written_by_them(theirs::Command::Close, theirs::CloseResponse {
            flags: theirs::CloseFlags::new().with_postquery_attrib(true),
            creation_time: times.created.0.into(),
            last_access_time: times.accessed.0.into(),
            last_write_time: times.written.0.into(),
            change_time: times.changed.0.into(),
            allocation_size,
            endof_file: end_of_file,
            file_attributes: FileAttributes::from_bytes(file_attributes.to_le_bytes()),
        });
        prop_assert_eq!(CloseResponse::decode(&message), Ok(CloseResponse {
            flags: POSTQUERY_ATTRIB,
            times,
            allocation_size,
            end_of_file,
            file_attributes,
        }));
    }

    #[test]
    fn read(
        file_id in file_id(),
        offset in any::<u64>(),
        (length, minimum_count) in any::<(u32, u32)>(),
        data in prop::collection::vec(any::<u8>(), 1..5000),
    ) {
        let request = ReadRequest { file_id, offset, length, minimum_count };
        let read = read_by_them(Command::Read, |out| request.encode(out));
        prop_assert_eq!(read.to_read().expect("a READ"), theirs::ReadRequest {
            flags: theirs::ReadFlags::new(),
            length,
            offset,
            file_id: their_id(file_id),
            minimum_count,
        });

        let message = written_by_them(
            theirs::Command::Read,
            theirs::ReadResponse { buffer: data.clone() },
        );
        prop_assert_eq!(
            ReadResponse::decode(&message, message.len()),
            Ok(ReadResponse { length: data.len() as u32, data: Some(&data) })
        );
    }

    #[test]
    fn write(
        file_id in file_id(),
        offset in any::<u64>(),
        (length, flags, count) in any::<(u32, u32, u32)>(),
    ) {
        let request = WriteRequest { file_id, offset, length, flags };
        let read = read_by_them(Command::Write, |out| request.encode(out));
        prop_assert_eq!(
            read.to_write().expect("a WRITE"),
            theirs::WriteRequest::new(
                offset,
                their_id(file_id),
                theirs::WriteFlags::from_bytes(flags.to_le_bytes()),
                length,
            )
        );

        let message = written_by_them(theirs::Command::Write, theirs::WriteResponse { count });
        prop_assert_eq!(WriteResponse::decode(&message), Ok(WriteResponse { count }));
    }

    #[test]
    fn flush(file_id in file_id()) {
        let read = read_by_them(Command::Flush, |out| FlushRequest { file_id }.encode(out));
        prop_assert_eq!(read.to_flush().expect("a FLUSH").file_id, their_id(file_id));
        let message = written_by_them(theirs::Command::Flush, theirs::FlushResponse::default());
        prop_assert_eq!(FlushResponse::decode(&message), Ok(FlushResponse));
    }

    #[test]
    fn lock(
        file_id in file_id(),
        sequence in any::<u32>(),
        locks in prop::collection::vec(lock_element(), 1..20),
    ) {
        let request = LockRequest { file_id, sequence, locks: &locks };
        let read = read_by_them(Command::Lock, |out| request.encode(out).expect("few"))
            .to_lock()
            .expect("a LOCK");
        prop_assert_eq!(read.file_id, their_id(file_id));
        prop_assert_eq!(
            read.lock_sequence,
            theirs::LockSequence::from_bytes(sequence.to_le_bytes())
        );
        let read: Vec<_> = read
            .locks
            .iter()
            .map(|lock| LockElement {
                offset: lock.offset,
                length: lock.length,
                flags: u32::from_le_bytes(lock.flags.into_bytes()),
            })
            .collect();
        prop_assert_eq!(read, locks);

        let message = written_by_them(theirs::Command::Lock, theirs::LockResponse::default());
        prop_assert_eq!(LockResponse::decode(&message), Ok(LockResponse));
    }

    #[test]
    fn query_info(
        file_id in file_id(),
        output_length in any::<u32>(),
        (info_type, class, their_type, their_class) in info_class(),
    ) {
        let request = QueryInfoRequest { info_type, class, output_length, file_id };
        let read = read_by_them(Command::QueryInfo, |out| request.encode(out));
        prop_assert_eq!(read.to_queryinfo().expect("a QUERY_INFO"), theirs::QueryInfoRequest {
            info_type: their_type,
            info_class: their_class.get(),
            output_buffer_length: output_length,
            additional_info: theirs::AdditionalInfo::new(),
            flags: theirs::QueryInfoFlags::new(),
            file_id: their_id(file_id),
            data: theirs::GetInfoRequestData::None(()),
        });
    }

    /// smb-msg keeps the fields of this one to itself: it can only write what
    /// it has read.
    #[test]
    fn query_info_response(data in prop::collection::vec(any::<u8>(), 1..500)) {
        let mut body = Vec::new();
        body.extend_from_slice(&[9, 0, 72, 0]);
        body.extend_from_slice(&(data.len() as u32).to_le_bytes());
        body.extend_from_slice(&data);
        let mut message = Vec::new();
        let header = Header { flags: Flags::RESPONSE, ..Header::request(Command::QueryInfo, 0) };
        header.encode(&mut message);
        message.extend_from_slice(&body);

        let read = PlainResponse::read(&mut Cursor::new(&message)).expect("smb-msg reads");
        let mut again = Cursor::new(Vec::new());
        read.write(&mut again).expect("smb-msg writes");
        prop_assert_eq!(
            QueryInfoResponse::decode(again.get_ref()),
            Ok(QueryInfoResponse { data: &data })
        );
    }
}

#[test]
fn error_response() {
    let message = written_by_them(
        theirs::Command::Create,
        theirs::ErrorResponse { error_data: vec![] },
    );
    assert_eq!(
        ErrorResponse::decode(&message),
        Ok(ErrorResponse {
            context_count: 0,
            data: &[]
        })
    );
}
