//! Answers to transactions in several messages.

use super::*;
use crate::frame::{Message, Secrecy};

/// One message of an answer.
#[derive(Clone, Copy)]
struct SentPart<'a> {
    totals: (usize, usize),
    parameters: (usize, &'a [u8]),
    data: (usize, &'a [u8]),
}

/// Encodes a part as the server of a TRANSACTION2 does.
fn of_transaction2(part: SentPart<'_>) -> Vec<u8> {
    const AT: usize = CIFS_HEADER_LEN + 1 + 20 + 2;
    let (parameters, data) = (part.parameters.1, part.data.1);
    let data_offset = AT + parameters.len();
    let mut body = vec![10];
    for word in [
        part.totals.0,
        part.totals.1,
        0,
        parameters.len(),
        AT,
        part.parameters.0,
        data.len(),
        data_offset,
        part.data.0,
        0,
        parameters.len() + data.len(),
    ] {
        body.extend((word as u16).to_le_bytes());
    }
    [&body, parameters, data].concat()
}

/// Encodes a part as the server of an NT_TRANSACT does.
fn of_nt_transact(part: SentPart<'_>) -> Vec<u8> {
    const AT: usize = CIFS_HEADER_LEN + 1 + 36 + 2;
    let (parameters, data) = (part.parameters.1, part.data.1);
    let data_offset = AT + parameters.len();
    let mut body = vec![18, 0, 0, 0];
    for field in [
        part.totals.0,
        part.totals.1,
        parameters.len(),
        AT,
        part.parameters.0,
        data.len(),
        data_offset,
        part.data.0,
    ] {
        body.extend((field as u32).to_le_bytes());
    }
    body.push(0);
    body.extend(((parameters.len() + data.len()) as u16).to_le_bytes());
    [&body, parameters, data].concat()
}

type EncodePart = fn(SentPart<'_>) -> Vec<u8>;

const KINDS: [(CifsCommand, EncodePart); 2] = [
    (CifsCommand::Transaction2, of_transaction2),
    (CifsCommand::NtTransact, of_nt_transact),
];

/// Parameters and data of an answer.
type CopiedParts = (Vec<u8>, Vec<u8>);

/// A connection with transactions in flight.
struct Transactions {
    connection: CifsConnection,
    requests: Vec<CifsHeader>,
    encode: EncodePart,
}

impl Transactions {
    fn new((command, encode): (CifsCommand, EncodePart), count: u32) -> Self {
        let mut connection = connection();
        let mut out = Vec::new();
        for tag in 0..count {
            connection
                .request(FIRST, command, tag, &mut out, encode_empty)
                .unwrap();
        }
        let requests = sent(&out).into_iter().map(|(header, _)| header).collect();
        Self {
            connection,
            requests,
            encode,
        }
    }

    /// Receives a part. Returns parameters and data of a complete answer.
    fn part(
        &mut self,
        request: usize,
        part: SentPart<'_>,
    ) -> Result<Option<CopiedParts>, ProtocolError> {
        let status = NtStatus::SUCCESS;
        let mut message = answer(&self.requests[request], status, &(self.encode)(part));
        let total_len = message.len();
        let message = Message {
            bytes: &mut message,
            total_len,
            secrecy: Secrecy::Plain,
        };
        match self.connection.receive(message)? {
            CifsEvent::Part => Ok(None),
            CifsEvent::Completed(done) => {
                assert_eq!(done.tag, request as u32);
                let (parameters, data) = done.transaction()?;
                Ok(Some((parameters.to_vec(), data.to_vec())))
            }
            other => panic!("{other:?} was not sent"),
        }
    }

    fn fails_with(&mut self, part: SentPart<'_>, what: &str) {
        match self.part(0, part) {
            Err(ProtocolError::Decode(error)) => assert_eq!(error.what, what),
            other => panic!("{other:?} instead of {what}"),
        }
    }
}

const WHOLE: SentPart<'_> = SentPart {
    totals: (2, 3),
    parameters: (0, b"ab"),
    data: (0, b"xyz"),
};
const BEGIN: SentPart<'_> = SentPart {
    parameters: (0, b"ab"),
    data: (0, b"x"),
    ..WHOLE
};
const END: SentPart<'_> = SentPart {
    parameters: (2, b""),
    data: (1, b"yz"),
    ..WHOLE
};

/// Returns the body of a TRANSACTION2 response of one part.
pub(super) fn whole() -> Vec<u8> {
    of_transaction2(WHOLE)
}

#[test]
fn parts_of_several_answers_are_joined() {
    let all = Some((b"ab".to_vec(), b"xyz".to_vec()));
    for kind in KINDS {
        let mut transactions = Transactions::new(kind, 3);
        assert_eq!(transactions.part(0, BEGIN), Ok(None));
        assert_eq!(transactions.part(1, BEGIN), Ok(None));
        assert_eq!(transactions.part(2, WHOLE), Ok(all.clone()));
        assert_eq!(transactions.part(1, END), Ok(all.clone()));
        assert_eq!(transactions.part(0, END), Ok(all.clone()));
        assert_eq!(transactions.connection.in_flight(), 0);
    }
}

#[test]
fn a_later_part_may_lower_the_totals() {
    for kind in KINDS {
        let mut transactions = Transactions::new(kind, 1);
        let begin = SentPart {
            totals: (2, 1000),
            ..BEGIN
        };
        assert_eq!(transactions.part(0, begin), Ok(None));
        let all = Some((b"ab".to_vec(), b"xyz".to_vec()));
        assert_eq!(transactions.part(0, END), Ok(all));
    }
}

#[test]
fn an_answer_without_parts_is_complete() {
    for kind in KINDS {
        let mut transactions = Transactions::new(kind, 1);
        let nothing = SentPart {
            totals: (0, 0),
            parameters: (0, b""),
            data: (0, b""),
        };
        let empty = Some((Vec::new(), Vec::new()));
        assert_eq!(transactions.part(0, nothing), Ok(empty));
    }
}

#[test]
fn parts_that_do_not_fit_together_end_the_connection() {
    const ORDER: &str = "transaction part out of order";
    for kind in KINDS {
        for (second, what) in [
            // It overlaps the first part, leaves a gap, or repeats it.
            (
                SentPart {
                    data: (0, b"yz"),
                    ..END
                },
                ORDER,
            ),
            (
                SentPart {
                    data: (2, b"z"),
                    ..END
                },
                ORDER,
            ),
            (BEGIN, ORDER),
            (
                SentPart {
                    parameters: (1, b"b"),
                    ..END
                },
                ORDER,
            ),
            (
                SentPart {
                    data: (1, b""),
                    ..END
                },
                "empty transaction part",
            ),
            (
                SentPart {
                    totals: (2, 4),
                    ..END
                },
                "transaction total that grows",
            ),
            (
                SentPart {
                    data: (1, b"yzz"),
                    ..END
                },
                "transaction data",
            ),
        ] {
            let mut transactions = Transactions::new(kind, 1);
            assert_eq!(transactions.part(0, BEGIN), Ok(None));
            transactions.fails_with(second, what);
        }
        let mut transactions = Transactions::new(kind, 1);
        transactions.fails_with(END, ORDER);
    }
}

#[test]
fn no_answer_is_larger_than_memory_allows() {
    let mut transactions = Transactions::new(KINDS[1], 1);
    let huge = SentPart {
        totals: (2, u32::MAX as usize),
        ..BEGIN
    };
    transactions.fails_with(huge, "transaction total");
}

#[test]
fn a_failure_ends_an_answer_of_several_parts() {
    for kind in KINDS {
        let mut transactions = Transactions::new(kind, 1);
        assert_eq!(transactions.part(0, BEGIN), Ok(None));
        let status = NtStatus::UNSUCCESSFUL;
        let message = answer(&transactions.requests[0], status, &EMPTY);
        let outcome = receive(&mut transactions.connection, &message);
        assert_eq!(outcome, Ok(CifsOutcome::Completed { tag: 0, status }));
        // The next request with the MID gets its own answer.
        transactions.connection.next_mid = 0;
        let mut out = Vec::new();
        let request = (FIRST, kind.0, 0);
        transactions
            .connection
            .request(request.0, request.1, request.2, &mut out, encode_empty)
            .unwrap();
        assert_eq!(sent(&out)[0].0.mid, transactions.requests[0].mid);
        let all = Some((b"ab".to_vec(), b"xyz".to_vec()));
        assert_eq!(transactions.part(0, WHOLE), Ok(all));
    }
}

#[test]
fn a_warning_may_have_no_parts() {
    for kind in KINDS {
        for status in [NtStatus::NO_MORE_FILES, NtStatus::NOTIFY_ENUM_DIR] {
            let mut transactions = Transactions::new(kind, 1);
            let mut message = answer(&transactions.requests[0], status, &EMPTY);
            let total_len = message.len();
            let message = Message {
                bytes: &mut message,
                total_len,
                secrecy: Secrecy::Plain,
            };
            let CifsEvent::Completed(done) = transactions.connection.receive(message).unwrap()
            else {
                panic!("the request was answered");
            };
            assert_eq!(done.status, status);
            assert_eq!(done.transaction(), Ok((&[][..], &[][..])));
        }
        // A success has parts.
        let mut transactions = Transactions::new(kind, 1);
        let message = answer(&transactions.requests[0], NtStatus::SUCCESS, &EMPTY);
        assert!(receive(&mut transactions.connection, &message).is_err());
    }
}
