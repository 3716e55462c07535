//! Messages of CIFS, of a capture and in the layout of MS-CIFS.

use smbench_fuzz::peer::framed;
use smbench_protocol::cifs::command::transaction::TransactionPart;

use crate::{captured, record, seed};

/// Writes seeds for all decoders of CIFS, whose header has 32 bytes.
pub(crate) fn seeds() {
    for name in [
        "find-first-one-response",
        "find-next-part-1",
        "find-next-part-2",
        "notify-response",
        "query-security-response",
    ] {
        seed("cifs_transaction_part", name, &captured("cifs", name)[32..]);
    }
    for name in [
        "find-first-response",
        "find-names-response",
        "find-id-both-response",
    ] {
        let message = captured("cifs", name);
        let part = TransactionPart::decode_trans2(&message).expect("a response");
        let len = [part.parameters.len() as u8];
        seed(
            "cifs_found_names",
            name,
            &[&len, part.parameters, part.data].concat(),
        );
    }
    let confirmation = captured("cifs", "create-directory-response");
    seed("cifs_responses", "create-directory-response", &confirmation);
    seed("cifs_server", "negotiation", &negotiation());
    messages();
    connections();
}

/// Writes captured messages for the decoders of whole messages.
fn messages() {
    for name in [
        "negotiate-response",
        "plain-negotiate-response",
        "session-setup-response",
        "plain-session-setup-response",
        "tree-connect-response",
        "create-response",
        "read-response",
        "write-response",
        "oplock-break",
    ] {
        seed("cifs_responses", name, &captured("cifs", name));
    }
}

/// Writes answers to requests: a selector, and then for each answer its status, its
/// changes and its body.
fn connections() {
    let body = |name: &str| captured("cifs", name)[32..].to_vec();
    let answers = [
        (0, body("read-response")),
        (3, body("write-response")),
        (5, body("create-response")),
        (6, body("close-response")),
        (7, body("find-next-part-1")),
        (7, body("find-next-part-2")),
        (9, body("notify-response")),
    ];
    for (name, selector) in [("plain", 0), ("signed", 1)] {
        let mut data = vec![selector];
        for (request, body) in &answers {
            data.extend([*request, 0, 0, 0]);
            data.extend(record(body));
        }
        // The last answer is changed after it was signed.
        data.extend([4, 0, 0x80, 35]);
        data.extend(record(&body("write-response")));
        seed("cifs_connection", name, &data);
    }
    let negotiate = body("negotiate-response");
    let plain = body("plain-negotiate-response");
    let tree_connect = body("tree-connect-response");
    for (name, selector, log_on) in [
        (
            "plain",
            1,
            vec![(0, plain), (0, body("plain-session-setup-response"))],
        ),
        (
            "extended",
            1,
            vec![
                (0, negotiate),
                (1, body("session-setup-more-response")),
                (0, body("session-setup-response")),
            ],
        ),
    ] {
        let mut data = vec![selector];
        for (status, body) in log_on.iter().chain([&(0, tree_connect.clone())]) {
            data.push(*status);
            data.extend(record(body));
        }
        seed("cifs_handshake_answers", name, &data);
    }
}

/// Returns the answer to NEGOTIATE of a server without extended security, framed.
fn negotiation() -> Vec<u8> {
    let mut message = b"\xFFSMB\x72\0\0\0\0\x88\x01\xC0".to_vec();
    message.resize(32, 0);
    // Dialect 0, challenges instead of passwords, 50 requests of 16 KiB.
    message.extend([17, 0, 0, 3, 50, 0, 1, 0, 0x04, 0x41, 0, 0, 0, 0, 1, 0]);
    message.extend([1, 0, 0, 0, 0xFD, 0xF3, 0, 0]);
    message.extend([0; 10]);
    message.extend([8, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    framed(&message)
}
