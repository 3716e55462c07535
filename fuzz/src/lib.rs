//! Bodies of the fuzz targets.
//!
//! Each takes arbitrary bytes. It panics if smbench would panic, or if an
//! invariant does not hold.
//!
//! - [`codec`]: decoders of single messages
//! - [`stream`]: the byte stream cut into messages, and whole connections with
//!   arbitrary servers
//! - [`handshake`]: handshakes with arbitrary servers, and the tokens of log-ons
//! - [`kerberos`]: keytabs, ticket caches, KDCs and the tokens of file servers
//! - [`text`]: texts of users: profiles, files of other programs, URLs, lists,
//!   names, sizes, durations
//! - [`foreign`]: data that smbench reads from servers without SMB, or keeps on
//!   them
//! - [`peer`]: the server's side, for targets that need one
//! - [`document`]: result documents
//! - [`cifs`]: connections and handshakes of CIFS with answers to their requests
//! - [`transaction`]: responses of CIFS, and its connections
//!
//! A target is one line in [`TARGETS`], one in `Cargo.toml` and one in
//! `fuzz_targets/`. `tests/replay.rs` checks that these agree, and replays the
//! committed seeds.

#![forbid(unsafe_code)]

pub mod cifs;
pub mod codec;
pub mod document;
pub mod foreign;
pub mod handshake;
pub mod kerberos;
pub mod peer;
pub mod stream;
pub mod text;
pub mod transaction;

/// The body of a target.
pub type Body = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Body)] = &[
    ("header", codec::header),
    ("create_response", codec::create_response),
    ("close_response", codec::close_response),
    ("read_response", codec::read_response),
    ("write_response", codec::write_response),
    ("lock_response", codec::lock_response),
    ("query_info_response", codec::query_info_response),
    ("break_notification", codec::break_notification),
    ("create_contexts", codec::create_contexts),
    ("empty_response", codec::empty_response),
    ("set_info_response", codec::set_info_response),
    ("query_directory_response", codec::query_directory_response),
    ("change_notify_response", codec::change_notify_response),
    ("ioctl_response", codec::ioctl_response),
    ("directory_listing", codec::directory_listing),
    ("negotiate_response", codec::negotiate_response),
    ("validation_response", codec::validation_response),
    ("session_setup_response", codec::session_setup_response),
    ("tree_connect_response", codec::tree_connect_response),
    ("transform", codec::transform),
    ("frames", stream::frames),
    ("connection_bytes", stream::connection_bytes),
    ("connection_plain", stream::connection_plain),
    ("connection_signed", stream::connection_signed),
    ("connection_encrypted", stream::connection_encrypted),
    ("handshake_bytes", handshake::handshake_bytes),
    ("handshake_answers", handshake::handshake_answers),
    ("auth_tokens", handshake::auth_tokens),
    ("kerberos_tokens", kerberos::kerberos_tokens),
    ("anonymous_tokens", kerberos::anonymous_tokens),
    ("kerberos_opened", kerberos::kerberos_opened),
    ("kdc_answers", kerberos::kdc_answers),
    ("keytab", kerberos::keytab),
    ("credential_cache", kerberos::credential_cache),
    ("loadfile", text::loadfile),
    ("iometer", text::iometer),
    ("profile", text::profile),
    ("target_url", text::target_url),
    ("client_list", text::client_list),
    ("source_list", text::source_list),
    ("protocol_names", text::protocol_names),
    ("size", text::size),
    ("duration", text::duration),
    ("manifest", foreign::manifest),
    ("exposition", foreign::exposition),
    ("result_document", document::result_document),
    ("cifs_responses", transaction::cifs_responses),
    ("cifs_server", transaction::cifs_server),
    ("cifs_connection", cifs::cifs_connection),
    ("cifs_handshake_answers", cifs::cifs_handshake_answers),
    ("cifs_transaction_part", transaction::cifs_transaction_part),
    ("cifs_found_names", transaction::cifs_found_names),
];
