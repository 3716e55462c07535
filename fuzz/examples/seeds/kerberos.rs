//! Kerberos messages, keytabs and tokens in the layout of RFC 4120 and
//! RFC 4178. No capture contains any.

use crate::{record, seed};

/// Encodes the parts as DER with `tag`.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let inner = parts.concat();
    let mut der = match inner.len() {
        len @ 0..128 => vec![tag, len as u8],
        len => vec![tag, 0x82, (len >> 8) as u8, len as u8],
    };
    der.extend(inner);
    der
}

fn integer(value: u8) -> Vec<u8> {
    der(2, &[&[value]])
}

fn octets(bytes: &[u8]) -> Vec<u8> {
    der(4, &[bytes])
}

fn string(text: &str) -> Vec<u8> {
    der(0x1b, &[text.as_bytes()])
}

fn time() -> Vec<u8> {
    der(0x18, &[b"20270115080000Z"])
}

/// Encodes a sequence of fields, each with its number.
fn fields(fields: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let fields: Vec<_> = fields
        .iter()
        .flat_map(|(number, value)| der(0xa0 | number, &[value]))
        .collect();
    der(0x30, &[&fields])
}

fn principal(names: &[&str]) -> Vec<u8> {
    let names: Vec<_> = names.iter().flat_map(|name| string(name)).collect();
    fields(&[(0, integer(1)), (1, der(0x30, &[&names]))])
}

/// Encodes the parameters of the user's key, in a list of one.
fn infos() -> Vec<u8> {
    der(0x30, &[&fields(&[(0, integer(18)), (1, string("salt"))])])
}

fn encrypted() -> Vec<u8> {
    fields(&[(0, integer(18)), (2, octets(&[7; 60]))])
}

/// Encodes the error by which a KDC asks for a proof.
fn error() -> Vec<u8> {
    let data = |kind: u8, value: &[u8]| fields(&[(1, integer(kind)), (2, octets(value))]);
    let methods = der(0x30, &[&data(19, &infos()), &data(2, b"")]);
    let error = fields(&[
        (0, integer(5)),
        (1, integer(30)),
        (4, time()),
        (5, integer(0)),
        (6, integer(25)),
        (9, string("EXAMPLE.COM")),
        (10, principal(&["krbtgt", "EXAMPLE.COM"])),
        (12, octets(&methods)),
    ]);
    der(0x7e, &[&error])
}

pub(crate) fn seeds() {
    files();
    let reply = fields(&[
        (0, integer(5)),
        (1, integer(11)),
        (3, string("EXAMPLE.COM")),
        (4, principal(&["alice"])),
        (5, der(0x61, &[b"ticket"])),
        (6, encrypted()),
    ]);
    let answers = [record(&error()), record(&der(0x6b, &[&reply]))].concat();
    seed("kdc_answers", "proof-then-reply", &answers);
    opened();
    tokens();
}

fn files() {
    seed(
        "credential_cache",
        "alice",
        &smbench_fuzz::kerberos::cache(),
    );
    let name = |text: &str| [&[0, text.len() as u8], text.as_bytes()].concat();
    let mut entry = [&[0, 1], &name("EXAMPLE.COM")[..], &name("alice")].concat();
    entry.extend([0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 17, 0, 16]);
    entry.extend([0x55; 16]);
    let keytab = [&[5, 2, 0, 0, 0, entry.len() as u8], &entry[..]].concat();
    seed("keytab", "alice", &keytab);
}

/// Makes message parts that are only readable with a key.
fn opened() {
    let key = fields(&[(0, integer(17)), (1, octets(&[5; 16]))]);
    let part = fields(&[(0, time()), (1, integer(9)), (2, key.clone())]);
    seed("kerberos_opened", "ap-reply", &der(0x7b, &[&part]));
    seed("kerberos_opened", "infos", &infos());
    let part = fields(&[
        (0, key),
        (1, der(0x30, &[])),
        (2, integer(1)),
        (4, der(3, &[&[0; 5]])),
        (5, time()),
        (7, time()),
        (9, string("EXAMPLE.COM")),
        (10, principal(&["cifs", "server"])),
    ]);
    seed("kerberos_opened", "reply", &der(0x79, &[&part]));
}

/// Makes AP-REP in GSS-API in SPNEGO: once complete, once incomplete.
fn tokens() {
    let mechanism = [
        0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02,
    ];
    let ap_reply = fields(&[(0, integer(5)), (1, integer(15)), (2, encrypted())]);
    let (ap_reply, error) = (der(0x6f, &[&ap_reply]), error());
    for (state, message) in [(0, &ap_reply), (1, &ap_reply), (1, &error)] {
        let id = if message == &error { [3, 0] } else { [2, 0] };
        let gss = der(0x60, &[&mechanism, &id, message]);
        let token = fields(&[
            (0, der(10, &[&[state]])),
            (1, mechanism.to_vec()),
            (2, octets(&gss)),
        ]);
        let input = [&[1 - state], &record(&der(0xa1, &[&token]))[..]].concat();
        let name = format!("{state}-{}", message.len());
        seed("kerberos_tokens", &name, &input);
        seed("anonymous_tokens", &name, &input);
    }
}
