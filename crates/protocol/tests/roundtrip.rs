//! Properties of the codecs: what was encoded decodes to the same, and no
//! bytes a peer may send make a decoder panic or blame a place outside them.

#[macro_use]
mod support;

use proptest::prelude::*;
use smbench_protocol::command::close::CloseResponse;
use smbench_protocol::command::create::{
    CREATE_REQUEST_FIXED, CreateAction, CreateRequest, CreateResponse, Disposition, OplockLevel,
};
use smbench_protocol::command::error::ErrorResponse;
use smbench_protocol::command::flush::FlushResponse;
use smbench_protocol::command::lock::{LockElement, LockRequest, LockResponse};
use smbench_protocol::command::query_info::QueryInfoResponse;
use smbench_protocol::command::read::{READ_RESPONSE_FIXED, ReadResponse};
use smbench_protocol::command::write::WriteResponse;
use smbench_protocol::command::{FileTime, FileTimes};
use smbench_protocol::header::{Command, Flags, HEADER_LEN, Header};
use smbench_protocol::{DecodeError, FileId, NtStatus};

struct Decoder {
    name: &'static str,
    structure_size: u16,
    decode: fn(&[u8]) -> Result<(), DecodeError>,
}

const DECODERS: [Decoder; 9] = [
    Decoder {
        name: "CLOSE",
        structure_size: 60,
        decode: |message| CloseResponse::decode(message).map(drop),
    },
    Decoder {
        name: "CREATE",
        structure_size: 89,
        decode: |message| CreateResponse::decode(message).map(drop),
    },
    Decoder {
        name: "ERROR",
        structure_size: 9,
        decode: |message| ErrorResponse::decode(message).map(drop),
    },
    Decoder {
        name: "FLUSH",
        structure_size: 4,
        decode: |message| FlushResponse::decode(message).map(drop),
    },
    Decoder {
        name: "header",
        structure_size: 4,
        decode: |message| Header::decode(message).map(drop),
    },
    Decoder {
        name: "LOCK",
        structure_size: 4,
        decode: |message| LockResponse::decode(message).map(drop),
    },
    Decoder {
        name: "QUERY_INFO",
        structure_size: 9,
        decode: |message| QueryInfoResponse::decode(message).map(drop),
    },
    Decoder {
        name: "READ",
        structure_size: 17,
        decode: |message| {
            let response = ReadResponse::decode(message, message.len())?;
            let data = response.data.expect("nothing was discarded");
            assert_eq!(data.len(), response.length as usize);
            Ok(())
        },
    },
    Decoder {
        name: "WRITE",
        structure_size: 17,
        decode: |message| WriteResponse::decode(message).map(drop),
    },
];

/// Runs every decoder; a panic fails the test by itself.
fn check_all(message: &[u8]) {
    for decoder in &DECODERS {
        if let Err(error) = (decoder.decode)(message) {
            assert!(
                error.offset <= message.len(),
                "{}: {error}, of {} bytes",
                decoder.name,
                message.len()
            );
        }
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

/// A response message out of little-endian fields, after a header of zeros:
/// the body decoders do not look at it.
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
                create_action: CreateAction(action),
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

    /// Data behind a gap, whole and with only `kept` bytes not discarded.
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

    #[test]
    fn error_response(context_count in any::<u8>(), data in any::<Vec<u8>>()) {
        let message = Body::new(9)
            .bytes(&[context_count, 0])
            .u32(data.len() as u32)
            .bytes(&data)
            .0;
        prop_assert_eq!(
            ErrorResponse::decode(&message),
            Ok(ErrorResponse { context_count, data: &data })
        );
    }

    /// Contexts start at an aligned place behind the name and the request says
    /// where, whatever the message's place in the buffer.
    #[test]
    fn create_request_contexts(
        name in "\\PC{0,40}",
        contexts in prop::collection::vec(any::<u8>(), 1..100),
        before in any::<Vec<u8>>(),
    ) {
        let mut out = before.clone();
        out.resize(before.len() + HEADER_LEN, 0);
        let request = CreateRequest { contexts: &contexts, ..named(&name) };
        request.encode(&mut out).expect("all short");
        let message = &out[before.len()..];
        let field = |at: usize| {
            u32::from_le_bytes(message[at..at + 4].try_into().expect("four bytes")) as usize
        };
        let (at, len) = (field(112), field(116));
        prop_assert_eq!(at % 8, 0);
        prop_assert!(at >= CREATE_REQUEST_FIXED + 2 * name.encode_utf16().count());
        prop_assert_eq!(&message[at..], &contexts);
        prop_assert_eq!(len, contexts.len());
    }

    #[test]
    fn arbitrary_bytes(message in prop::collection::vec(any::<u8>(), 0..300)) {
        check_all(&message);
    }

    /// Random bytes almost never pass the first check; these do.
    #[test]
    fn arbitrary_fields(
        which in 0..DECODERS.len(),
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        check_all(&Body::new(DECODERS[which].structure_size).bytes(&body).0);
    }

    #[test]
    fn a_damaged_capture(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
        keep in any::<prop::sample::Index>(),
    ) {
        let all = support::all();
        let mut message = all[which.index(all.len())].1.clone();
        let at = at.index(message.len());
        message[at] = value;
        check_all(&message);
        message.truncate(keep.index(message.len()));
        check_all(&message);
    }

    #[test]
    fn a_read_that_was_discarded(
        data_offset in any::<u8>(),
        length in any::<u32>(),
        (kept, discarded) in (0usize..200, any::<u32>()),
    ) {
        let mut message = Body::new(17).bytes(&[data_offset, 0]).u32(length).u64(0).0;
        message.resize(message.len() + kept, 0);
        let total_len = message.len() + discarded as usize;
        match ReadResponse::decode(&message, total_len) {
            Ok(response) => prop_assert!(response.length as usize <= total_len),
            Err(error) => prop_assert!(error.offset <= message.len()),
        }
    }
}

#[test]
fn every_truncation_of_every_capture() {
    for (_, message) in support::all() {
        for len in 0..message.len() {
            check_all(&message[..len]);
        }
    }
}

/// A response cut within what its decoder needs is refused, with an error that
/// points into what is there.
#[test]
fn truncated_responses_are_refused() {
    let responses = [
        ("CLOSE", captured!("2.1", "close-response"), 124),
        ("CREATE", captured!("2.1", "create-response"), 152),
        ("ERROR", captured!("2.1", "error-name-not-found"), 72),
        ("FLUSH", captured!("2.1", "flush-response"), 68),
        ("header", captured!("2.1", "flush-response"), 64),
        ("LOCK", captured!("2.1", "lock-response"), 68),
        ("QUERY_INFO", captured!("2.1", "query-info-response"), 196),
        ("READ", captured!("2.1", "read-response"), 125),
        ("WRITE", captured!("2.1", "write-response"), 72),
    ];
    for (decoder, (name, message, needed)) in DECODERS.iter().zip(responses) {
        assert_eq!(decoder.name, name);
        assert_eq!((decoder.decode)(&message[..needed]), Ok(()), "{name}");
        for len in 0..needed {
            let error = (decoder.decode)(&message[..len]).expect_err(name);
            assert!(error.offset <= len, "{name} cut to {len}: {error}");
        }
    }
}

#[test]
fn lengths_that_lie() {
    // Offsets into the header or the body's own fields.
    let read = Body::new(17).bytes(&[79, 0]).u32(1).u64(0).u64(0).0;
    assert_eq!(
        ReadResponse::decode(&read, read.len()).map_err(|error| error.offset),
        Err(66)
    );
    let query = Body::new(9).bytes(&[71, 0]).u32(1).u64(0).0;
    assert_eq!(
        QueryInfoResponse::decode(&query).map_err(|error| error.offset),
        Err(66)
    );
    // Lengths past the end, up to the largest that can be stated.
    for length in [9, u32::MAX] {
        let query = Body::new(9).bytes(&[72, 0]).u32(length).u64(0).0;
        assert_eq!(
            QueryInfoResponse::decode(&query).map_err(|error| error.offset),
            Err(68)
        );
        let error = Body::new(9).bytes(&[0, 0]).u32(length).u64(0).0;
        assert_eq!(
            ErrorResponse::decode(&error).map_err(|error| error.offset),
            Err(68)
        );
        let read = Body::new(17).bytes(&[80, 0]).u32(length).u64(0).u64(0).0;
        assert_eq!(
            ReadResponse::decode(&read, read.len()).map_err(|error| error.offset),
            Err(68)
        );
    }
    // An answer of no bytes may point anywhere.
    let empty = Body::new(9).bytes(&[0xFF, 0xFF]).u32(0).0;
    assert_eq!(
        QueryInfoResponse::decode(&empty),
        Ok(QueryInfoResponse { data: &[] })
    );
}

#[test]
fn an_unknown_oplock_level_is_refused_where_it_lies() {
    let mut message = captured!("2.1", "create-response");
    message[66] = 0x02;
    assert_eq!(
        CreateResponse::decode(&message).map_err(|error| error.offset),
        Err(66)
    );
}

#[test]
fn requests_that_do_not_fit_leave_the_buffer_alone() {
    let mut out = vec![1, 2, 3];
    let longest = "n".repeat(32_767);
    let mut fits = out.clone();
    assert_eq!(named(&longest).encode(&mut fits), Ok(()));
    assert_eq!(fits.len(), 3 + 56 + 2 * 32_767);

    // One unit more; a character beyond the BMP takes two.
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
