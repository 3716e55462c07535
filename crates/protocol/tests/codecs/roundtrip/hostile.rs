//! No bytes of a peer make a decoder panic, or return an error outside the message.

use proptest::prelude::*;
use smbench_protocol::command::bodyless::EmptyResponse;
use smbench_protocol::command::change_notify::ChangeNotifyResponse;
use smbench_protocol::command::close::CloseResponse;
use smbench_protocol::command::create::CreateResponse;
use smbench_protocol::command::create_context::GrantedContexts;
use smbench_protocol::command::ioctl::IoctlResponse;
use smbench_protocol::command::ioctl::copy_chunk::{CopyChunkResponse, ResumeKey};
use smbench_protocol::command::lock::LockResponse;
use smbench_protocol::command::oplock_break::BreakNotification;
use smbench_protocol::command::query_directory::{DirectoryClass, QueryDirectoryResponse};
use smbench_protocol::command::query_info::QueryInfoResponse;
use smbench_protocol::command::read::ReadResponse;
use smbench_protocol::command::set_info::SetInfoResponse;
use smbench_protocol::command::write::WriteResponse;
use smbench_protocol::header::Header;
use smbench_protocol::{DecodeError, directory};

use super::Body;
use crate::support;

struct Decoder {
    name: &'static str,
    structure_size: u16,
    decode: fn(&[u8]) -> Result<(), DecodeError>,
    /// A valid response, and the number of its bytes that the decoder needs.
    sample: fn() -> (Vec<u8>, usize),
}

const DECODERS: [Decoder; 15] = [
    Decoder {
        name: "break notification of a lease",
        structure_size: 44,
        decode: |message| BreakNotification::decode(message).map(drop),
        sample: || (captured!("3.1.1", "lease-v2-break"), 108),
    },
    Decoder {
        name: "break notification of an oplock",
        structure_size: 24,
        decode: |message| BreakNotification::decode(message).map(drop),
        sample: || (captured!("3.1.1", "oplock-break"), 88),
    },
    Decoder {
        name: "CHANGE_NOTIFY",
        structure_size: 9,
        decode: |message| ChangeNotifyResponse::decode(message).map(drop),
        sample: || (captured!("3.1.1", "notify-response"), 120),
    },
    Decoder {
        name: "CLOSE",
        structure_size: 60,
        decode: |message| CloseResponse::decode(message).map(drop),
        sample: || (captured!("2.1", "close-response"), 124),
    },
    Decoder {
        name: "CREATE",
        structure_size: 89,
        decode: |message| CreateResponse::decode(message).map(drop),
        sample: || (captured!("2.1", "create-response"), 152),
    },
    Decoder {
        name: "CREATE contexts",
        structure_size: 89,
        decode: |message| GrantedContexts::decode(message).map(drop),
        sample: || (captured!("3.1.1", "lease-v2-response"), 228),
    },
    Decoder {
        name: "ECHO",
        structure_size: 4,
        decode: |message| EmptyResponse::decode(message).map(drop),
        sample: || (captured!("3.1.1", "echo-response"), 68),
    },
    Decoder {
        name: "header",
        structure_size: 4,
        decode: |message| Header::decode(message).map(drop),
        sample: || (captured!("2.1", "flush-response"), 64),
    },
    Decoder {
        name: "IOCTL",
        structure_size: 49,
        decode: |message| {
            let response = IoctlResponse::decode(message)?;
            // The decoders of the output are also run.
            let _ = ResumeKey::decode(response.output);
            let _ = CopyChunkResponse::decode(response.output);
            Ok(())
        },
        sample: || (captured!("3.1.1", "interfaces-response"), 720),
    },
    Decoder {
        name: "LOCK",
        structure_size: 4,
        decode: |message| LockResponse::decode(message).map(drop),
        sample: || (captured!("2.1", "lock-response"), 68),
    },
    Decoder {
        name: "QUERY_DIRECTORY",
        structure_size: 9,
        decode: |message| {
            let response = QueryDirectoryResponse::decode(message)?;
            for class in CLASSES {
                for entry in response.entries(class).flat_map(Result::err) {
                    assert!(entry.offset <= response.data.len());
                }
            }
            directory::decode_response(message).map(drop).or(Ok(()))
        },
        sample: || (captured!("3.1.1", "find-names-response"), 104),
    },
    Decoder {
        name: "QUERY_INFO",
        structure_size: 9,
        decode: |message| QueryInfoResponse::decode(message).map(drop),
        sample: || (captured!("2.1", "query-info-response"), 196),
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
        sample: || (captured!("2.1", "read-response"), 125),
    },
    Decoder {
        name: "SET_INFO",
        structure_size: 2,
        decode: |message| SetInfoResponse::decode(message).map(drop),
        sample: || (captured!("3.1.1", "set-info-response"), 66),
    },
    Decoder {
        name: "WRITE",
        structure_size: 17,
        decode: |message| WriteResponse::decode(message).map(drop),
        sample: || (captured!("2.1", "write-response"), 72),
    },
];

const CLASSES: [DirectoryClass; 6] = [
    DirectoryClass::Directory,
    DirectoryClass::FullDirectory,
    DirectoryClass::BothDirectory,
    DirectoryClass::Names,
    DirectoryClass::IdBothDirectory,
    DirectoryClass::IdFullDirectory,
];

/// Runs every decoder. A panic fails the test.
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

proptest! {
    #[test]
    fn arbitrary_bytes(message in prop::collection::vec(any::<u8>(), 0..300)) {
        check_all(&message);
    }

    /// Random bytes almost never pass the first check, so these have the right
    /// structure size.
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

/// A response that is cut within the bytes its decoder needs is refused. The
/// error's offset lies inside the message.
#[test]
fn truncated_responses_are_refused() {
    for decoder in &DECODERS {
        let name = decoder.name;
        let (message, needed) = (decoder.sample)();
        assert_eq!((decoder.decode)(&message[..needed]), Ok(()), "{name}");
        for len in 0..needed {
            let error = (decoder.decode)(&message[..len]).expect_err(name);
            assert!(error.offset <= len, "{name} cut to {len}: {error}");
        }
    }
}

#[test]
fn lengths_that_lie() {
    // Offsets that point into the header or into the body's own fields.
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
    // Lengths that point past the end, up to the largest value.
    for length in [9, u32::MAX] {
        let query = Body::new(9).bytes(&[72, 0]).u32(length).u64(0).0;
        assert_eq!(
            QueryInfoResponse::decode(&query).map_err(|error| error.offset),
            Err(68)
        );
        let read = Body::new(17).bytes(&[80, 0]).u32(length).u64(0).u64(0).0;
        assert_eq!(
            ReadResponse::decode(&read, read.len()).map_err(|error| error.offset),
            Err(68)
        );
    }
    // The offset of an empty answer may have any value.
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
