//! The commands on an open file: READ, WRITE, FLUSH, LOCK, CLOSE.

use proptest::prelude::*;
use smb_fscc::FileAttributes;
use smb_msg as theirs;
use smbench_protocol::command::bodyless::EmptyResponse;
use smbench_protocol::command::close::{CloseRequest, CloseResponse, POSTQUERY_ATTRIB};
use smbench_protocol::command::flush::FlushRequest;
use smbench_protocol::command::lock::{LockElement, LockRequest, LockResponse, lock_flags};
use smbench_protocol::command::read::{ReadRequest, ReadResponse};
use smbench_protocol::command::write::{WriteRequest, WriteResponse};
use smbench_protocol::header::Command;

use super::{read_by_them, their_id, written_by_them};
use crate::support::{file_id, file_times};

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

proptest! {
    #[test]
    fn read(
        file_id in file_id(),
        offset in any::<u64>(),
        (length, minimum_count) in any::<(u32, u32)>(),
        flags in 0u8..4,
        data in prop::collection::vec(any::<u8>(), 1..5000),
    ) {
        let request = ReadRequest { file_id, offset, length, minimum_count, flags };
        let read = read_by_them(Command::Read, |out| request.encode(out));
        prop_assert_eq!(read.to_read().expect("a READ"), theirs::ReadRequest {
            flags: theirs::ReadFlags::from_bytes([flags]),
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
        prop_assert_eq!(EmptyResponse::decode(&message), Ok(EmptyResponse));
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
}
