//! Targets for CIFS: responses, and whole connections with arbitrary servers.

use smbench_protocol::cifs::command::create::CifsCreated;
use smbench_protocol::cifs::command::find::{FindFirst2Response, FoundNames, class_of_level};
use smbench_protocol::cifs::command::lock::CifsBreak;
use smbench_protocol::cifs::command::read::decode_read;
use smbench_protocol::cifs::command::session::{CifsNegotiateResponse, CifsSetupResponse};
use smbench_protocol::cifs::command::transaction::TransactionPart;
use smbench_protocol::cifs::command::tree::decode_is_disk;
use smbench_protocol::cifs::command::write::decode_write;
use smbench_protocol::cifs::command::{decode_empty, encode_empty};
use smbench_protocol::cifs::handshake::{CifsHandshake, CifsProgress};
use smbench_protocol::cifs::header::{CifsCommand, CifsHeader};
use smbench_protocol::cifs::{CifsConnection, CifsEvent};
use smbench_protocol::frame::{Inbound, Payload};
use smbench_protocol::{DecodeError, Dialect, SessionConfig, SessionIndex};

use crate::FuzzTarget;
use crate::handshake::config;

/// Targets of this module.
pub const TARGETS: &[FuzzTarget] = &[
    ("cifs_responses", cifs_responses),
    ("cifs_server", cifs_server),
    ("cifs_transaction_part", cifs_transaction_part),
    ("cifs_found_names", cifs_found_names),
];

/// Makes a message with this body. Decoders ignore the header's 32 bytes.
fn message(body: &[u8]) -> Vec<u8> {
    [&[0; 32], body].concat()
}

/// Checks that an error's offset lies inside the bytes. Returns the decoded value.
fn check<T>(bytes: &[u8], outcome: Result<T, DecodeError>) -> Option<T> {
    outcome
        .inspect_err(|error| assert!(error.offset <= bytes.len(), "{error}"))
        .ok()
}

/// Decodes a TRANSACTION2 response and an NT_TRANSACT response. No part may
/// exceed its total.
pub fn cifs_transaction_part(body: &[u8]) {
    let message = message(body);
    for part in [
        TransactionPart::decode_trans2(&message),
        TransactionPart::decode_nt_transact(&message),
    ] {
        let Some(part) = check(&message, part) else {
            continue;
        };
        let parameters_end = part.parameter_displacement + part.parameters.len();
        let data_end = part.data_displacement + part.data.len();
        assert!(parameters_end <= part.total_parameters && data_end <= part.total_data);
    }
}

/// Decodes FIND_FIRST2 and FIND_NEXT2 responses with each level. The first byte is
/// the length of the parameters, and the data follows them. No two entries may use
/// the same bytes for their names.
pub fn cifs_found_names(input: &[u8]) {
    let Some((&len, rest)) = input.split_first() else {
        return;
    };
    let (parameters, data) = rest.split_at(usize::from(len).min(rest.len()));
    let first = FindFirst2Response::decode(parameters, data).map(|first| first.found);
    for found in [first, FoundNames::decode(parameters, data)] {
        let Some(found) = check(parameters, found) else {
            continue;
        };
        for class in (0x0101..=0x0106).filter_map(class_of_level) {
            let entries = found.entries(class);
            let names: Vec<_> = entries.filter_map(|entry| check(data, entry)).collect();
            assert!(names.len() <= found.search_count.into());
            let bytes: usize = names.iter().map(|entry| 12 + entry.name.len()).sum();
            assert!(bytes <= data.len());
            check(data, found.names(class));
        }
    }
}

/// Decodes a message as the response to each command of CIFS, and as an oplock break.
pub fn cifs_responses(bytes: &[u8]) {
    check(bytes, CifsHeader::decode(bytes));
    check(bytes, CifsNegotiateResponse::decode(bytes));
    check(bytes, CifsSetupResponse::decode(bytes));
    check(bytes, decode_is_disk(bytes));
    check(bytes, CifsCreated::decode(bytes));
    check(bytes, decode_write(bytes));
    check(bytes, decode_empty(bytes));
    check(bytes, CifsBreak::decode(bytes));
    if let Some(read) = check(bytes, decode_read(bytes, bytes.len()))
        && let Some(data) = read.data
    {
        assert_eq!(data.len(), read.length as usize);
    }
}

/// Sets a session up with an arbitrary server, and sends it requests. The input is the
/// server's stream, with the length of a direct-TCP frame before each message.
pub fn cifs_server(input: &[u8]) {
    let config = SessionConfig {
        dialects: Dialect::Cifs.into(),
        ..config(0)
    };
    let mut out = Vec::new();
    let Ok(mut handshake) = CifsHandshake::start(config, &mut out) else {
        return;
    };
    let mut connection = None;
    let (mut stream, mut inbound) = (input.to_vec(), Inbound::default());
    let mut rest = &mut stream[..];
    while let Ok(Some(frame)) = inbound.next(&mut rest, Payload::Keep) {
        let message = frame.into_message();
        let Some(connection) = &mut connection else {
            match handshake.receive(message, &mut out) {
                Ok(CifsProgress::Continue) => continue,
                Ok(CifsProgress::Ready(ready)) => {
                    connection = Some(ready);
                    requests(connection.as_mut(), &mut out);
                    continue;
                }
                Err(_) => return,
            }
        };
        match connection.receive(message) {
            Ok(CifsEvent::Completed(done)) => {
                let _ = (done.read(), done.write(), done.transaction(), done.tree());
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

/// Sends a request of each kind of answer.
fn requests(connection: Option<&mut Box<CifsConnection>>, out: &mut Vec<u8>) {
    let Some(connection) = connection else { return };
    for (tag, command) in [
        CifsCommand::ReadAndX,
        CifsCommand::WriteAndX,
        CifsCommand::Transaction2,
        CifsCommand::NtTransact,
        CifsCommand::TreeConnectAndX,
    ]
    .into_iter()
    .enumerate()
    {
        // A server may permit fewer requests.
        let _ = connection.request(SessionIndex::FIRST, command, tag as u32, out, encode_empty);
    }
}
