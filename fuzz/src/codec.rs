//! Targets for decoders of single messages.
//!
//! The input is only the body. Decoders skip the header's 64 bytes, so fuzzing
//! these would waste work.

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
use smbench_protocol::command::tree_connect::TreeConnectResponse;
use smbench_protocol::command::write::WriteResponse;
use smbench_protocol::crypto::{NONCE_SEED_LEN, PreauthHash, TRANSFORM_PROTOCOL_ID, Transform};
use smbench_protocol::header::{Command, Header};
use smbench_protocol::{Cipher, DecodeError, directory, fuzzing};

use crate::FuzzTarget;

/// Targets of this module.
pub const TARGETS: &[FuzzTarget] = &[
    ("header", header),
    ("create_response", create_response),
    ("close_response", close_response),
    ("read_response", read_response),
    ("write_response", write_response),
    ("lock_response", lock_response),
    ("query_info_response", query_info_response),
    ("break_notification", break_notification),
    ("create_contexts", create_contexts),
    ("empty_response", empty_response),
    ("set_info_response", set_info_response),
    ("query_directory_response", query_directory_response),
    ("change_notify_response", change_notify_response),
    ("ioctl_response", ioctl_response),
    ("directory_listing", directory_listing),
    ("negotiate_response", negotiate_response),
    ("validation_response", validation_response),
    ("session_setup_response", session_setup_response),
    ("tree_connect_response", tree_connect_response),
    ("transform", transform),
];

/// Makes a message with this body.
fn message(body: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(64 + body.len());
    Header::request(Command::Echo, 1).encode(&mut message);
    message.extend_from_slice(body);
    message
}

/// Checks that an error's offset lies inside the message. Returns the decoded
/// value.
fn check<T>(message: &[u8], outcome: Result<T, DecodeError>) -> Option<T> {
    outcome
        .inspect_err(|error| assert!(error.offset <= message.len(), "{error}"))
        .ok()
}

/// Decodes a header. A decoded header must encode to the same bytes, except for
/// the signature.
pub fn header(data: &[u8]) {
    if let Some(header) = check(data, Header::decode(data)) {
        let mut again = Vec::new();
        header.encode(&mut again);
        assert_eq!(again[..48], data[..48]);
    }
}

/// Decodes a CREATE response.
pub fn create_response(body: &[u8]) {
    let message = message(body);
    check(&message, CreateResponse::decode(&message));
}

/// Decodes a CLOSE response.
pub fn close_response(body: &[u8]) {
    let message = message(body);
    check(&message, CloseResponse::decode(&message));
}

/// Decodes a READ response, with and without its payload.
pub fn read_response(body: &[u8]) {
    let message = message(body);
    if let Some(read) = check(&message, ReadResponse::decode(&message, message.len())) {
        assert_eq!(read.data.map(<[u8]>::len), Some(read.length as usize));
    }
    let payload_len = body.len() * 3;
    check(
        &message,
        ReadResponse::decode(&message, message.len() + payload_len),
    );
}

/// Decodes a WRITE response.
pub fn write_response(body: &[u8]) {
    let message = message(body);
    check(&message, WriteResponse::decode(&message));
}

/// Decodes a LOCK response.
pub fn lock_response(body: &[u8]) {
    let message = message(body);
    check(&message, LockResponse::decode(&message));
}

/// Decodes a QUERY_INFO response.
pub fn query_info_response(body: &[u8]) {
    let message = message(body);
    check(&message, QueryInfoResponse::decode(&message));
}

/// Decodes an oplock or lease break.
pub fn break_notification(body: &[u8]) {
    let message = message(body);
    check(&message, BreakNotification::decode(&message));
}

/// Decodes the contexts at the end of a CREATE response.
pub fn create_contexts(body: &[u8]) {
    let message = message(body);
    check(&message, GrantedContexts::decode(&message));
}

/// Decodes a FLUSH, LOGOFF, TREE_DISCONNECT or ECHO response.
pub fn empty_response(body: &[u8]) {
    let message = message(body);
    check(&message, EmptyResponse::decode(&message));
}

/// Decodes a SET_INFO response.
pub fn set_info_response(body: &[u8]) {
    let message = message(body);
    check(&message, SetInfoResponse::decode(&message));
}

/// Decodes a QUERY_DIRECTORY response with each class. The list must end, and
/// no two entries may use the same bytes for their names.
pub fn query_directory_response(body: &[u8]) {
    let message = message(body);
    let Some(response) = check(&message, QueryDirectoryResponse::decode(&message)) else {
        return;
    };
    for class in [
        DirectoryClass::Directory,
        DirectoryClass::FullDirectory,
        DirectoryClass::BothDirectory,
        DirectoryClass::Names,
        DirectoryClass::IdBothDirectory,
        DirectoryClass::IdFullDirectory,
    ] {
        let entries = response.entries(class);
        let names = entries.filter_map(|entry| check(response.data, entry));
        let bytes: usize = names.map(|entry| 12 + entry.name.len()).sum();
        assert!(bytes <= response.data.len());
    }
}

/// Decodes a CHANGE_NOTIFY response.
pub fn change_notify_response(body: &[u8]) {
    let message = message(body);
    check(&message, ChangeNotifyResponse::decode(&message));
}

/// Decodes an IOCTL response, and its output for each code.
pub fn ioctl_response(body: &[u8]) {
    let message = message(body);
    if let Some(IoctlResponse { output, .. }) = check(&message, IoctlResponse::decode(&message)) {
        check(output, ResumeKey::decode(output));
        check(output, CopyChunkResponse::decode(output));
    }
}

/// Decodes a QUERY_DIRECTORY response as a listing. There must not be more
/// names than the bytes can hold.
pub fn directory_listing(body: &[u8]) {
    let message = message(body);
    if let Some(entries) = check(&message, directory::decode_response(&message)) {
        assert!(entries.len() <= message.len() / 64);
        // Two bytes of UTF-16 become at most three bytes of UTF-8.
        let names: usize = entries.iter().map(|entry| entry.name.len()).sum();
        assert!(names <= message.len() * 2);
    }
}

/// Decodes a NEGOTIATE response.
pub fn negotiate_response(body: &[u8]) {
    let message = message(body);
    check(&message, fuzzing::negotiate_response(&message));
}

/// Decodes an IOCTL response to FSCTL_VALIDATE_NEGOTIATE_INFO.
pub fn validation_response(body: &[u8]) {
    let message = message(body);
    check(&message, fuzzing::validation_response(&message));
}

/// Decodes a SESSION_SETUP response.
pub fn session_setup_response(body: &[u8]) {
    let message = message(body);
    check(&message, fuzzing::session_setup_response(&message));
}

/// Decodes a TREE_CONNECT response, with the decoder of the handshake and with
/// that of further tree connects.
pub fn tree_connect_response(body: &[u8]) {
    let message = message(body);
    check(&message, TreeConnectResponse::decode(&message));
    check(&message, fuzzing::tree_connect_response(&message));
}

/// Decrypts messages. Nothing may decrypt that the server's key did not encrypt.
pub fn transform(data: &[u8]) {
    let preauth = PreauthHash::default();
    let keys = fuzzing::keys(&preauth);
    for cipher in Cipher::ALL {
        let transform = Transform::new(cipher, &keys, fuzzing::SESSION_ID, [1; NONCE_SEED_LEN]);
        assert!(transform.open(&mut data.to_vec()).is_none());
        let mut plausible = TRANSFORM_PROTOCOL_ID.to_vec();
        plausible.extend_from_slice(data);
        if let Some(size) = plausible.get_mut(36..40) {
            size.copy_from_slice(&(data.len() as u32).saturating_sub(48).to_le_bytes());
        }
        assert!(transform.open(&mut plausible).is_none());
    }
}
