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

pub(crate) fn seeds() {
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

    let integer = |value: u8| der(2, &[&[value]]);
    let string = |text: &str| der(0x1b, &[text.as_bytes()]);
    let time = der(0x18, &[b"20270115080000Z"]);
    let principal = |names: &[&str]| {
        let names: Vec<_> = names.iter().flat_map(|name| string(name)).collect();
        let kind = der(0xa0, &[&integer(1)]);
        der(0x30, &[&kind, &der(0xa1, &[&der(0x30, &[&names])])])
    };
    let info = der(
        0x30,
        &[&der(0xa0, &[&integer(18)]), &der(0xa1, &[&string("salt")])],
    );
    let data = |kind: u8, value: &[u8]| {
        der(
            0x30,
            &[
                &der(0xa1, &[&integer(kind)]),
                &der(0xa2, &[&der(4, &[value])]),
            ],
        )
    };
    let infos = der(0x30, &[&info]);
    let methods = der(0x30, &[&data(19, &infos), &data(2, b"")]);
    let error = der(
        0x7e,
        &[&der(
            0x30,
            &[
                &der(0xa0, &[&integer(5)]),
                &der(0xa1, &[&integer(30)]),
                &der(0xa4, &[&time]),
                &der(0xa5, &[&integer(0)]),
                &der(0xa6, &[&integer(25)]),
                &der(0xa9, &[&string("EXAMPLE.COM")]),
                &der(0xaa, &[&principal(&["krbtgt", "EXAMPLE.COM"])]),
                &der(0xac, &[&der(4, &[&methods])]),
            ],
        )],
    );
    let encrypted = der(
        0x30,
        &[
            &der(0xa0, &[&integer(18)]),
            &der(0xa2, &[&der(4, &[&[7; 60]])]),
        ],
    );
    let reply = der(
        0x6b,
        &[&der(
            0x30,
            &[
                &der(0xa0, &[&integer(5)]),
                &der(0xa1, &[&integer(11)]),
                &der(0xa3, &[&string("EXAMPLE.COM")]),
                &der(0xa4, &[&principal(&["alice"])]),
                &der(0xa5, &[&der(0x61, &[b"ticket"])]),
                &der(0xa6, &[&encrypted]),
            ],
        )],
    );
    let answers = [record(&error), record(&reply)].concat();
    seed("kdc_answers", "proof-then-reply", &answers);
    let key = der(
        0x30,
        &[
            &der(0xa0, &[&integer(17)]),
            &der(0xa1, &[&der(4, &[&[5; 16]])]),
        ],
    );
    let part = der(
        0x7b,
        &[&der(
            0x30,
            &[
                &der(0xa0, &[&time]),
                &der(0xa1, &[&integer(9)]),
                &der(0xa2, &[&key]),
            ],
        )],
    );
    seed("kerberos_opened", "ap-reply", &part);
    seed("kerberos_opened", "infos", &infos);
    let part = der(
        0x79,
        &[&der(
            0x30,
            &[
                &der(0xa0, &[&key]),
                &der(0xa1, &[&der(0x30, &[])]),
                &der(0xa2, &[&integer(1)]),
                &der(0xa4, &[&der(3, &[&[0; 5]])]),
                &der(0xa5, &[&time]),
                &der(0xa7, &[&time]),
                &der(0xa9, &[&string("EXAMPLE.COM")]),
                &der(0xaa, &[&principal(&["cifs", "server"])]),
            ],
        )],
    );
    seed("kerberos_opened", "reply", &part);
    // AP-REP in GSS-API in SPNEGO: once complete, once incomplete.
    let mechanism = [
        0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02,
    ];
    let ap_reply = der(
        0x6f,
        &[&der(
            0x30,
            &[
                &der(0xa0, &[&integer(5)]),
                &der(0xa1, &[&integer(15)]),
                &der(0xa2, &[&encrypted]),
            ],
        )],
    );
    for (state, message) in [(0, &ap_reply), (1, &ap_reply), (1, &error)] {
        let id = if message == &error { [3, 0] } else { [2, 0] };
        let gss = der(0x60, &[&mechanism, &id, message]);
        let token = der(
            0xa1,
            &[&der(
                0x30,
                &[
                    &der(0xa0, &[&der(10, &[&[state]])]),
                    &der(0xa1, &[&mechanism]),
                    &der(0xa2, &[&der(4, &[&gss])]),
                ],
            )],
        );
        let input = [&[1 - state], &record(&token)[..]].concat();
        let name = format!("{state}-{}", message.len());
        seed("kerberos_tokens", &name, &input);
        seed("anonymous_tokens", &name, &input);
    }
}
