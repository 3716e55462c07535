//! Frames of three related requests and their answers, through a connection. The
//! requests are encoded, paid and linked. The answers are cut, checked and decoded.

use std::hint::black_box;

use smbench_protocol::command::WireName;
use smbench_protocol::command::close::{CloseRequest, CloseResponse};
use smbench_protocol::command::create::{CreateResponse, OplockLevel};
use smbench_protocol::command::query_info::QueryInfoResponse;
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::command::set_info::SetInfoResponse;
use smbench_protocol::frame::{Inbound, PREFIX_LEN, Payload};
use smbench_protocol::fuzzing::{self, FuzzProtection, SESSION_ID};
use smbench_protocol::header::{Command, Flags, HEADER_LEN, Header};
use smbench_protocol::{Completion, Connection, Event, FileId, NtStatus, SessionIndex};

use smbench_benches::{READ_LEN, read_response};

use crate::codecs::{CALLS, captured, open, path, query_info, set_info, unhex};
use crate::exchange::counted;

/// The request between CREATE and CLOSE.
#[derive(Clone, Copy)]
pub(crate) enum Middle {
    Read,
    QueryInfo,
    SetInfo,
}

/// Exchanges [`CALLS`] frames.
pub(crate) fn run(middle: Middle) {
    let mut peers = CompoundPeers::new(middle);
    // The first exchanges are not counted, because they do some work only once.
    for _ in 0..4 {
        peers.exchange(|work| work());
    }
    for _ in 0..CALLS {
        peers.exchange(|work| counted(work));
    }
}

/// Both ends of a connection.
struct CompoundPeers {
    middle: Middle,
    connection: Connection,
    path: WireName,
    /// The commands, and the bodies of their answers.
    answers: [(Command, Vec<u8>); 3],
    message_id: u64,
    /// The client's messages.
    out: Vec<u8>,
    /// The server's messages.
    answer: Vec<u8>,
}

impl CompoundPeers {
    fn new(middle: Middle) -> Self {
        let body = |message: &[u8]| message[HEADER_LEN..].to_vec();
        let of_middle = match middle {
            Middle::Read => (Command::Read, body(&read_response()[PREFIX_LEN..])),
            Middle::QueryInfo => (
                Command::QueryInfo,
                body(&captured!("2.1/query-info-response")),
            ),
            Middle::SetInfo => (
                Command::SetInfo,
                body(&captured!("3.1.1/set-info-response")),
            ),
        };
        Self {
            middle,
            connection: fuzzing::connection(FuzzProtection::None),
            path: path(),
            answers: [
                (Command::Create, body(&captured!("2.1/create-response"))),
                of_middle,
                (Command::Close, body(&captured!("2.1/close-response"))),
            ],
            message_id: 0,
            out: Vec::with_capacity(8192),
            answer: Vec::with_capacity(8192),
        }
    }

    /// Exchanges one frame and its answers. `client` runs the client's part.
    fn exchange(&mut self, client: impl Fn(&mut dyn FnMut())) {
        client(&mut || self.ask());
        self.make_answer();
        client(&mut || self.take_answer());
        self.message_id += self.answers.len() as u64;
    }

    fn ask(&mut self) {
        let Self {
            middle,
            connection,
            path,
            out,
            ..
        } = self;
        out.clear();
        let (tag, related) = (7, FileId::RELATED);
        let create = open(black_box(path), OplockLevel::None, &[]);
        let close = CloseRequest {
            file_id: related,
            flags: 0,
        };
        let chain =
            connection
                .chain(SessionIndex::FIRST, out)
                .request(Command::Create, 1, tag, |out| create.encode(out));
        let chain = match black_box(*middle) {
            Middle::Read => {
                let request = ReadRequest {
                    file_id: related,
                    offset: 8192,
                    length: READ_LEN,
                    minimum_count: 0,
                    flags: 0,
                };
                chain.read(tag, black_box(&request))
            }
            Middle::QueryInfo => {
                let request = query_info(related);
                chain.request(Command::QueryInfo, 1, tag, |out| request.encode(out))
            }
            Middle::SetInfo => {
                let request = set_info(related);
                chain.request(Command::SetInfo, 1, tag, |out| request.encode(out))
            }
        };
        chain
            .request(Command::Close, 1, tag, |out| close.encode(out))
            .finish()
            .expect("each answer grants what its request cost");
    }

    /// Makes the server's answers in one frame.
    fn make_answer(&mut self) {
        let Self {
            answers, answer, ..
        } = self;
        answer.clear();
        answer.resize(PREFIX_LEN, 0);
        for (id, (command, body)) in (self.message_id..).zip(&*answers) {
            let len = (HEADER_LEN + body.len()).next_multiple_of(8);
            let is_last = *command == Command::Close;
            let header = Header {
                status: NtStatus::SUCCESS,
                flags: Flags::RESPONSE.union(Flags::RELATED),
                next_command: if is_last { 0 } else { len as u32 },
                session_id: SESSION_ID,
                ..Header::request(*command, id)
            };
            let start = answer.len();
            header.encode(answer);
            answer.extend_from_slice(body);
            if !is_last {
                answer.resize(start + len, 0);
            }
        }
        let len = (answer.len() - PREFIX_LEN) as u32;
        answer[..PREFIX_LEN].copy_from_slice(&len.to_be_bytes());
    }

    fn take_answer(&mut self) {
        let Self {
            connection, answer, ..
        } = self;
        let mut input = black_box(answer.as_mut_slice());
        let mut inbound = Inbound::default();
        let frame = inbound.next(&mut input, Payload::Discard);
        let frame = frame.expect("it is a frame").expect("it is whole");
        let mut messages = connection.open(frame).expect("it opens");
        let mut taken = 0;
        while let Some(message) = messages.next_message().expect("it is sound") {
            let event = connection.receive(message);
            let Ok(Event::Completed(done)) = event else {
                panic!("{event:?} is no answer");
            };
            assert!(is_sound(&done), "{}", done.command.name());
            taken += 1;
        }
        assert_eq!(taken, 3);
    }
}

/// Returns whether the body of an answer is valid.
fn is_sound(done: &Completion<'_>) -> bool {
    let message = done.message();
    match done.command {
        Command::Create => black_box(CreateResponse::decode(message)).is_ok(),
        Command::Close => black_box(CloseResponse::decode(message)).is_ok(),
        Command::QueryInfo => black_box(QueryInfoResponse::decode(message)).is_ok(),
        Command::SetInfo => black_box(SetInfoResponse::decode(message)).is_ok(),
        _ => black_box(done.read()).is_ok_and(|read| read.length == READ_LEN),
    }
}
