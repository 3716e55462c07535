//! CIFS compared with captured traffic of Samba 4.17.

mod files;
mod find;
mod information;
mod names;
mod nt_transact;

use smbench_protocol::cifs::command::transaction::TransactionPart;
use smbench_protocol::command::WireName;

/// Length of a header.
const HEADER_LEN: usize = 32;

fn name(text: &str) -> WireName {
    WireName::new(text).expect("short")
}

/// Returns a message with this body and no header.
fn message(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut message = vec![0; HEADER_LEN];
    encode(&mut message);
    message
}

/// Checks that a TRANSACTION2 request is the captured one.
fn check_trans2(mut captured: Vec<u8>, encode: impl FnOnce(&mut Vec<u8>)) {
    // The name should be empty (MS-CIFS 2.2.4.46.1), but Samba's clients send two
    // letters.
    assert_eq!(captured[66..68], *b"D ");
    captured[66..68].fill(0);
    assert_eq!(captured[HEADER_LEN..], message(encode)[HEADER_LEN..]);
}

/// Returns the parameters and the data of a response of one part.
fn whole(part: TransactionPart<'_>) -> (&[u8], &[u8]) {
    assert!(part.is_whole());
    assert_eq!(
        (part.parameter_displacement, part.data_displacement),
        (0, 0)
    );
    (part.parameters, part.data)
}

/// Returns the parameters and the data of a TRANSACTION2 response of one part.
fn trans2(message: &[u8]) -> (&[u8], &[u8]) {
    whole(TransactionPart::decode_trans2(message).expect("decodes"))
}
