//! Targets for CIFS: responses of transactions and of name commands.

use smbench_protocol::DecodeError;
use smbench_protocol::cifs::command::find::{FindFirst2Response, FoundNames, class_of_level};
use smbench_protocol::cifs::command::names::CifsConfirmation;
use smbench_protocol::cifs::command::transaction::TransactionPart;

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

/// Decodes a response without words.
pub fn cifs_confirmation(body: &[u8]) {
    let message = message(body);
    check(&message, CifsConfirmation::decode(&message));
}
