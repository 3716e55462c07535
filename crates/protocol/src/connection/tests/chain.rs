//! Related requests in one frame.

use super::*;
use crate::FileId;
use crate::command::close::CloseRequest;
use crate::command::create::{
    CreateRequest, CreateResponse, Disposition, OplockLevel, attributes, share,
};

const READ: ReadRequest = ReadRequest {
    file_id: FileId::RELATED,
    offset: 0,
    length: 100_000,
    minimum_count: 0,
    flags: 0,
};
const CLOSE: CloseRequest = CloseRequest {
    file_id: FileId::RELATED,
    flags: 0,
};

/// Sends a chain: a CREATE with a body of 13 bytes, a READ of two credits, a CLOSE.
fn chain(connection: &mut Connection, out: &mut Vec<u8>) -> Result<(), NoCredit> {
    connection
        .chain(SessionIndex::FIRST, out)
        .request(Command::Create, 1, 10, |out| out.extend([0xCC; 13]))
        .read(11, &READ)
        .request(Command::Close, 1, 12, |out| CLOSE.encode(out))
        .finish()
}

fn protections() -> [Protection; 3] {
    [
        Protection::None,
        Protection::Signed(signer()),
        Protection::Encrypted(transform(Cipher::Aes128Gcm)),
    ]
}

#[test]
fn a_chain_is_one_frame_of_messages_that_each_stand_alone() {
    for protection in protections() {
        let signed = matches!(protection, Protection::Signed(_));
        let encrypted = matches!(protection, Protection::Encrypted(_));
        let mut connection = connection(Dialect::Smb311, LARGE_MTU, protection);
        let mut out = vec![0xEE; 3];
        chain(&mut connection, &mut out).unwrap();
        assert_eq!(out[..3], [0xEE; 3]);
        assert_eq!(connection.credits(), 100 - 4);

        let server = transform(Cipher::Aes128Gcm).reversed();
        let mut messages = sent(&out[3..], encrypted.then_some(&server));
        let parts: Vec<_> = messages
            .iter()
            .map(|(header, message)| {
                (
                    header.command,
                    header.message_id,
                    header.credit_charge,
                    header.next_command,
                    header.flags.contains(Flags::RELATED),
                    message.len(),
                )
            })
            .collect();
        let expected = [
            (Command::Create, 0, 1, 80, false, 80),
            (Command::Read, 1, 2, 120, true, 120),
            (Command::Close, 3, 1, 0, true, 88),
        ];
        assert_eq!(parts, expected);
        for (header, message) in &mut messages {
            assert_eq!((header.session_id, header.tree_id()), (0x51, 3));
            assert_eq!(header.flags.contains(Flags::SIGNED), signed);
            assert_eq!(signer().verify(message), signed);
        }
        assert_eq!(
            messages[0].1[64..],
            [[0xCC; 13].as_slice(), &[0; 3]].concat()
        );
        assert_eq!(messages[2].1[72..88], [0xFF; 16]);
    }
}

/// Makes one compound of these answers, in this order and padded.
fn compound(answers: &[Vec<u8>], sign: bool) -> Vec<u8> {
    let mut all = Vec::new();
    for (n, answer) in answers.iter().enumerate() {
        let mut answer = answer.clone();
        answer.resize(answer.len().next_multiple_of(8), 0);
        if n + 1 < answers.len() {
            let len = answer.len() as u32;
            answer[20..24].copy_from_slice(&len.to_le_bytes());
        }
        if sign
            && !Header::decode(&answer)
                .unwrap()
                .flags
                .contains(Flags::ASYNC)
        {
            signer().sign(&mut answer);
        }
        all.extend(answer);
    }
    all
}

#[test]
fn answers_come_together_or_one_by_one_and_late_for_any() {
    let status = NtStatus::SUCCESS;
    for signed in [false, true] {
        for together in [false, true] {
            let protection = if signed {
                Protection::Signed(signer())
            } else {
                Protection::None
            };
            let mut connection = connection(Dialect::Smb311, LARGE_MTU, protection);
            let mut out = Vec::new();
            chain(&mut connection, &mut out).unwrap();
            let requests: Vec<_> = sent(&out, None)
                .into_iter()
                .map(|(header, _)| header)
                .collect();
            let last: Vec<_> = requests
                .iter()
                .map(|request| {
                    let request = Header {
                        next_command: 0,
                        ..*request
                    };
                    answer_to(&request, status, Flags(0))
                })
                .collect();
            let late = Header {
                next_command: 0,
                async_or_tree: 5,
                ..requests[1]
            };
            let late = answer_to(&late, NtStatus::PENDING, Flags::ASYNC);
            let frames = if together {
                vec![
                    compound(&[last[0].clone(), late], signed),
                    compound(&last[1..], signed),
                ]
            } else {
                [&last[..1], &[late], &last[1..2], &last[2..]]
                    .iter()
                    .map(|one| compound(one, signed))
                    .collect()
            };
            let mut outcomes = Vec::new();
            for frame in frames {
                outcomes.extend(receive_all(&mut connection, &frame).unwrap());
            }
            assert_eq!(
                outcomes,
                [
                    Outcome::Completed { tag: 10, status },
                    Outcome::Pending { tag: 11 },
                    Outcome::Completed { tag: 11, status },
                    Outcome::Completed { tag: 12, status },
                ]
            );
            assert_eq!((connection.in_flight(), connection.interim.len()), (0, 0));
        }
    }
}

#[test]
fn a_tampered_member_of_a_compound_is_detected() {
    let mut connection = connection(Dialect::Smb311, LARGE_MTU, Protection::Signed(signer()));
    let mut out = Vec::new();
    chain(&mut connection, &mut out).unwrap();
    let answers: Vec<_> = sent(&out, None)
        .iter()
        .map(|(request, _)| {
            let request = Header {
                next_command: 0,
                ..*request
            };
            answer_to(&request, NtStatus::SUCCESS, Flags(0))
        })
        .collect();
    let mut frame = compound(&answers, true);
    // This byte is in the padding of the second answer.
    frame[72 + 71] ^= 1;
    let outcome = receive(&mut connection, &frame);
    assert_eq!(outcome, Err(ProtocolError::Signature("READ")));
}

#[test]
fn without_credit_for_all_nothing_is_sent() {
    for protection in protections() {
        let mut connection = connection(Dialect::Smb311, LARGE_MTU, protection);
        let mut out = vec![7];
        connection
            .request(SessionIndex::FIRST, Command::Echo, 97, 1, &mut out, |_| {})
            .unwrap();
        let before = (out.clone(), connection.credits, connection.in_flight());
        assert!(!connection.affords(&[1, 2, 1]));
        assert!(connection.affords(&[1, 2]));
        assert_eq!(chain(&mut connection, &mut out), Err(NoCredit));
        let after = (out.clone(), connection.credits, connection.in_flight());
        assert_eq!(after, before);

        // The same holds for a chain that is dropped, and for an empty one.
        drop(
            connection
                .chain(SessionIndex::FIRST, &mut out)
                .read(1, &READ),
        );
        assert_eq!(
            connection.chain(SessionIndex::FIRST, &mut out).finish(),
            Ok(())
        );
        let after = (out.clone(), connection.credits, connection.in_flight());
        assert_eq!(after, before);
        assert_eq!(
            connection
                .chain(SessionIndex::FIRST, &mut out)
                .read(1, &READ)
                .finish(),
            Ok(())
        );
    }
}

#[test]
fn a_chain_of_one_is_a_plain_request() {
    let new = || connection(Dialect::Smb311, LARGE_MTU, Protection::Signed(signer()));
    let (mut alone, mut chained) = (Vec::new(), Vec::new());
    new()
        .read(SessionIndex::FIRST, 4, &READ, &mut alone)
        .unwrap();
    new()
        .chain(SessionIndex::FIRST, &mut chained)
        .read(4, &READ)
        .finish()
        .unwrap();
    assert_eq!(alone, chained);
}

#[test]
fn before_multi_credit_requests_each_message_of_a_chain_costs_one() {
    let mut connection = connection(Dialect::Smb202, 0, Protection::None);
    let mut out = Vec::new();
    chain(&mut connection, &mut out).unwrap();
    assert_eq!(connection.credits(), 100 - 3);
    let ids: Vec<_> = sent(&out, None)
        .iter()
        .map(|(header, _)| (header.message_id, header.credit_charge))
        .collect();
    assert_eq!(ids, [(0, 0), (1, 0), (2, 0)]);
}

/// The bytes of a captured message; `fixtures/captures` states its provenance.
macro_rules! captured {
    ($name:literal) => {
        unhex(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/captures/messages/3.1.1/",
            $name,
            ".hex"
        )))
    };
}

fn unhex(text: &str) -> Vec<u8> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

/// A captured CREATE, WRITE and CLOSE of smbtorture in one frame, and Samba's
/// answer.
#[test]
fn a_captured_compound_comes_out_and_its_answer_is_understood() {
    let theirs = captured!("compound-request");
    let first = Header::decode(&theirs).unwrap();
    let mut connection = connection(Dialect::Smb311, LARGE_MTU, Protection::None);
    connection.sessions[0].session_id = first.session_id;
    connection.sessions[0].tree_id = first.tree_id();
    connection.credits.reserve(first.message_id as u16).unwrap();

    let create = CreateRequest {
        name: "compound_create_write_close.dat",
        desired_access: 0x001f_01ff,
        file_attributes: attributes::FILE_ATTRIBUTE_NORMAL,
        share_access: share::ALL,
        disposition: Disposition::OpenIf,
        options: 0x0020_0064,
        oplock: OplockLevel::None,
        contexts: &[],
    };
    let write = WriteRequest {
        file_id: FileId::RELATED,
        offset: 0,
        length: 1024,
        flags: 0,
    };
    let data = 184 + 112;
    let mut out = Vec::new();
    connection
        .chain(SessionIndex::FIRST, &mut out)
        .request(Command::Create, 1, 1, |out| create.encode(out).unwrap())
        .write(2, &write, |ours| {
            ours.extend_from_slice(&theirs[data..data + 1024]);
        })
        .request(Command::Close, 1, 3, |out| CLOSE.encode(out))
        .finish()
        .unwrap();
    let mut ours = out[PREFIX_LEN..].to_vec();
    for start in [0, 184, 184 + 1136] {
        // Copy the credits asked for, and the priority that smbtorture sets.
        for field in [14..16, 16..17] {
            let field = start + field.start..start + field.end;
            let flags = field.len() == 1;
            assert!(!flags || theirs[field.start] & !0x10 == ours[field.start]);
            ours[field.clone()].copy_from_slice(&theirs[field]);
        }
    }
    assert!(ours == theirs, "{ours:02x?}");

    let answer = captured!("compound-response");
    assert_eq!(CreateResponse::decode(&answer).unwrap().end_of_file, 0);
    let status = NtStatus::SUCCESS;
    assert_eq!(
        receive_all(&mut connection, &answer),
        Ok(vec![
            Outcome::Completed { tag: 1, status },
            Outcome::Completed { tag: 2, status },
            Outcome::Completed { tag: 3, status },
        ])
    );
}
