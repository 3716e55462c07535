//! Properties of the codecs: encoded values decode to the same values, at any
//! place of their parts.

mod cifs;
mod create_context;
mod hostile;
mod lists;
mod requests;

use proptest::prelude::*;
use smbench_protocol::NtStatus;
use smbench_protocol::command::FileTimes;
use smbench_protocol::command::close::CloseResponse;
use smbench_protocol::command::create::{CreateResponse, OplockLevel};
use smbench_protocol::command::query_info::QueryInfoResponse;
use smbench_protocol::command::read::{READ_RESPONSE_FIXED, ReadResponse};
use smbench_protocol::header::{Command, Flags, HEADER_LEN, Header};

use crate::support::{file_id, file_times};

/// Builds a response from little-endian fields. The header is zero, because
/// decoders of bodies ignore it.
struct Body(Vec<u8>);

impl Body {
    fn new(structure_size: u16) -> Self {
        Self(vec![0; HEADER_LEN]).bytes(&structure_size.to_le_bytes())
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    fn times(self, times: FileTimes) -> Self {
        self.u64(times.created.0)
            .u64(times.accessed.0)
            .u64(times.written.0)
            .u64(times.changed.0)
    }
}

proptest! {
    #[test]
    fn header(
        command in 0u16..19,
        (credit_charge, credits) in any::<(u16, u16)>(),
        (status, flags, next_command) in any::<(u32, u32, u32)>(),
        (message_id, async_or_tree, session_id) in any::<(u64, u64, u64)>(),
        before in any::<Vec<u8>>(),
    ) {
        let header = Header {
            credit_charge,
            status: NtStatus(status),
            command: Command::from_code(command).expect("all below 19 exist"),
            credits,
            flags: Flags(flags),
            next_command,
            message_id,
            async_or_tree,
            session_id,
        };
        let mut out = before.clone();
        header.encode(&mut out);
        prop_assert_eq!(&out[..before.len()], &before);
        prop_assert_eq!(out.len() - before.len(), HEADER_LEN);
        prop_assert_eq!(Header::decode(&out[before.len()..]), Ok(header));
    }

    #[test]
    fn create_response(
        oplock_level in prop::sample::select(vec![
            OplockLevel::None,
            OplockLevel::LevelII,
            OplockLevel::Exclusive,
            OplockLevel::Batch,
            OplockLevel::Lease,
        ]),
        (action, file_attributes) in any::<(u32, u32)>(),
        (allocation_size, end_of_file) in any::<(u64, u64)>(),
        times in file_times(),
        file_id in file_id(),
        contexts in any::<Vec<u8>>(),
    ) {
        let message = Body::new(89)
            .bytes(&[oplock_level as u8, 0])
            .u32(action)
            .times(times)
            .u64(allocation_size)
            .u64(end_of_file)
            .u32(file_attributes)
            .u32(0)
            .bytes(&file_id.to_bytes())
            .u32(152)
            .u32(contexts.len() as u32)
            .bytes(&contexts)
            .0;
        prop_assert_eq!(
            CreateResponse::decode(&message),
            Ok(CreateResponse {
                oplock_level,
                create_action: action,
                times,
                allocation_size,
                end_of_file,
                file_attributes,
                file_id,
            })
        );
    }

    #[test]
    fn close_response(
        flags in any::<u16>(),
        times in file_times(),
        (allocation_size, end_of_file) in any::<(u64, u64)>(),
        file_attributes in any::<u32>(),
    ) {
        let message = Body::new(60)
            .bytes(&flags.to_le_bytes())
            .u32(0)
            .times(times)
            .u64(allocation_size)
            .u64(end_of_file)
            .u32(file_attributes)
            .0;
        prop_assert_eq!(
            CloseResponse::decode(&message),
            Ok(CloseResponse { flags, times, allocation_size, end_of_file, file_attributes })
        );
    }

    /// The data follows a gap. It is complete, or only `kept` bytes were not
    /// discarded.
    #[test]
    fn read_response(
        gap in 0u8..=175,
        data in any::<Vec<u8>>(),
        kept in any::<prop::sample::Index>(),
    ) {
        let message = Body::new(17)
            .bytes(&[READ_RESPONSE_FIXED as u8 + gap, 0])
            .u32(data.len() as u32)
            .u64(0)
            .bytes(&vec![0xEE; usize::from(gap)])
            .bytes(&data)
            .0;
        let length = data.len() as u32;
        prop_assert_eq!(
            ReadResponse::decode(&message, message.len()),
            Ok(ReadResponse { length, data: Some(&data) })
        );
        prop_assert!(ReadResponse::decode(&message, message.len() - 1).is_err());
        if !data.is_empty() {
            let kept = READ_RESPONSE_FIXED + kept.index(message.len() - READ_RESPONSE_FIXED);
            prop_assert_eq!(
                ReadResponse::decode(&message[..kept], message.len()),
                Ok(ReadResponse { length, data: None })
            );
        }
    }

    #[test]
    fn query_info_response(gap in 0u16..64, data in any::<Vec<u8>>()) {
        let message = Body::new(9)
            .bytes(&(72 + gap).to_le_bytes())
            .u32(data.len() as u32)
            .bytes(&vec![0xEE; usize::from(gap)])
            .bytes(&data)
            .0;
        prop_assert_eq!(
            QueryInfoResponse::decode(&message),
            Ok(QueryInfoResponse { data: &data })
        );
    }
}
