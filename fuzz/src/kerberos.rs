//! Targets for Kerberos: files of keys and tickets, answers of KDCs, and file
//! servers that must prove their identity.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use smbench_protocol::kerberos::{
    CredentialCache, Keytab, Principal, ServiceTicket, TicketRequest, TicketStep,
};
use smbench_protocol::{Credentials, fuzzing};

use crate::FuzzTarget;
use crate::handshake;
use crate::peer::record;

/// Targets of this module.
pub const TARGETS: &[FuzzTarget] = &[
    ("kerberos_tokens", kerberos_tokens),
    ("anonymous_tokens", anonymous_tokens),
    ("kerberos_opened", kerberos_opened),
    ("kdc_answers", kdc_answers),
    ("keytab", keytab),
    ("credential_cache", credential_cache),
];

const REALM: &str = "EXAMPLE.COM";

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn user() -> Principal {
    Principal::user("alice", REALM)
}

fn service() -> Principal {
    Principal::service("cifs/server", REALM)
}

/// Makes a credential cache of alice, with a ticket for the file server.
#[must_use]
pub fn cache() -> Vec<u8> {
    fn counted(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
    }
    fn principal(kind: u32, names: &[&str]) -> Vec<u8> {
        let mut bytes = kind.to_be_bytes().to_vec();
        bytes.extend((names.len() as u32).to_be_bytes());
        bytes.extend(counted(REALM.as_bytes()));
        bytes.extend(names.iter().flat_map(|name| counted(name.as_bytes())));
        bytes
    }
    const AES128_SHA1: u16 = 17;
    let alice = principal(1, &["alice"]);
    let mut file = vec![5, 4, 0, 0];
    file.extend(&alice);
    file.extend(&alice);
    file.extend(principal(2, &["cifs", "server"]));
    file.extend(AES128_SHA1.to_be_bytes());
    file.extend(counted(&[0x55; 16]));
    for seconds in [0, 0, u32::MAX, 0] {
        file.extend(seconds.to_be_bytes());
    }
    // No user-to-user key, flags, addresses or authorization data.
    file.extend([0; 1 + 3 * 4]);
    file.extend(counted(b"a ticket"));
    file.extend(counted(b""));
    file
}

fn ticket() -> ServiceTicket {
    let cache = CredentialCache::parse(&cache()).expect("a cache");
    match TicketRequest::with_cache(&cache, service(), now()) {
        Ok((_, TicketStep::Granted(ticket))) => ticket,
        _ => panic!("the ticket is in the cache"),
    }
}

/// Reads a keytab, and starts a log-on with its keys.
pub fn keytab(data: &[u8]) {
    if let Ok(keytab) = Keytab::parse(data) {
        assert!(keytab.principals().len() <= data.len());
        let _ = TicketRequest::with_keytab(user(), &keytab, service(), now());
    }
}

/// Reads a credential cache, and starts a log-on with its tickets.
pub fn credential_cache(data: &[u8]) {
    if let Ok(cache) = CredentialCache::parse(data) {
        let _ = TicketRequest::with_cache(&cache, service(), now());
    }
}

/// Requests a ticket from a KDC. The input is the KDC's answers.
pub fn kdc_answers(mut data: &[u8]) {
    let (mut request, _) = TicketRequest::with_password(user(), "secret", service(), now());
    while let Some(answer) = record(&mut data) {
        match request.receive(answer, now()) {
            // The input cannot know the password.
            Ok(TicketStep::Granted(_)) => panic!("a ticket out of nothing"),
            Ok(TicketStep::Ask { message, .. }) => assert!(!message.is_empty()),
            Err(_) => return,
        }
    }
}

/// Decodes message parts that a KDC or a file server sends encrypted.
pub fn kerberos_opened(data: &[u8]) {
    fuzzing::kerberos_opened(data);
}

/// Logs on with Kerberos at a server that sends these tokens. The server has no
/// key, so it cannot prove its identity.
pub fn kerberos_tokens(data: &[u8]) {
    let credentials = Credentials::Kerberos(Arc::new(ticket()));
    handshake::log_on(credentials, now(), data);
}

/// Logs on anonymously at a server that sends these tokens.
pub fn anonymous_tokens(data: &[u8]) {
    handshake::log_on(Credentials::Anonymous, now(), data);
}
