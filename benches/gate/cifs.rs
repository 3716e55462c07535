//! Requests of CIFS and their answers, through a connection. The requests are encoded,
//! signed and framed. The answers are cut, checked and decoded.

use std::hint::black_box;

use smbench_model::contents::block::{self, Salt, Stamp};
use smbench_protocol::cifs::command::close::encode_close;
use smbench_protocol::cifs::command::create::{CifsCreated, encode_create};
use smbench_protocol::cifs::command::decode_empty;
use smbench_protocol::cifs::command::find::{
    FindFirst2Request, FindFirst2Response, find_flags, find_level,
};
use smbench_protocol::cifs::command::information::{CifsTarget, QueryInformationRequest, level};
use smbench_protocol::cifs::command::names::{CifsDeleteRequest, CifsRenameRequest};
use smbench_protocol::cifs::command::read::CifsRead;
use smbench_protocol::cifs::command::write::{CifsWrite, WriteMode};
use smbench_protocol::cifs::fuzzing::{self, CifsAnswerSigner, CifsFuzzProtection};
use smbench_protocol::cifs::header::{CifsCommand, CifsHeader};
use smbench_protocol::cifs::{CifsCompletion, CifsConnection, CifsEvent, FileNumber};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::query_directory::DirectoryClass;
use smbench_protocol::frame::{Inbound, PREFIX_LEN, Payload};
use smbench_protocol::{DecodeError, NtStatus, SessionIndex};

use smbench_benches::READ_LEN;

use crate::codecs::{CALLS, captured, open, path, unhex};
use crate::exchange::counted;

/// Position of the MID in a framed message.
const MID: std::ops::Range<usize> = PREFIX_LEN + 30..PREFIX_LEN + 32;
const FILE: FileNumber = FileNumber(7);
/// Flags of an answer.
const REPLY: u8 = 0x88;

/// The request to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CifsAsk {
    Read,
    Write,
    Create,
    Close,
    QueryPath,
    FindFirst,
    Delete,
    Rename,
}

/// Returns the request for the first names of a directory.
const fn find_first(pattern: &WireName) -> FindFirst2Request<'_> {
    FindFirst2Request {
        search_attributes: 0x16,
        search_count: 1000,
        flags: find_flags::SMB_FIND_CLOSE_AFTER_REQUEST,
        level: find_level::SMB_FIND_FILE_BOTH_DIRECTORY_INFO,
        pattern,
        max_data: 4096,
    }
}

/// Exchanges [`CALLS`] requests and answers.
pub(crate) fn run(what: CifsAsk, protection: CifsFuzzProtection) {
    let mut peers = CifsPeers::new(what, protection);
    // The first exchanges are not counted, because they do some work only once.
    for _ in 0..4 {
        peers.exchange(|work| work());
    }
    for _ in 0..CALLS {
        peers.exchange(|work| counted(work));
    }
}

/// Both ends of a connection.
struct CifsPeers {
    what: CifsAsk,
    connection: CifsConnection,
    signer: Option<CifsAnswerSigner>,
    path: WireName,
    /// The client's messages.
    out: Vec<u8>,
    /// The server's message, framed.
    answer: Vec<u8>,
}

impl CifsPeers {
    fn new(what: CifsAsk, protection: CifsFuzzProtection) -> Self {
        let message = match what {
            CifsAsk::Read => read_response(),
            CifsAsk::Write => captured!("cifs/write-response"),
            CifsAsk::Create => captured!("cifs/create-response"),
            CifsAsk::Close => captured!("cifs/close-response"),
            CifsAsk::QueryPath => captured!("cifs/query-path-basic-response"),
            CifsAsk::FindFirst => captured!("cifs/find-both-response"),
            CifsAsk::Delete => empty_response(CifsCommand::Delete),
            CifsAsk::Rename => empty_response(CifsCommand::Rename),
        };
        Self {
            what,
            connection: fuzzing::connection(protection),
            signer: match protection {
                CifsFuzzProtection::None => None,
                CifsFuzzProtection::Signed => Some(CifsAnswerSigner::after(0)),
            },
            path: path(),
            out: Vec::with_capacity(8192),
            answer: [&(message.len() as u32).to_be_bytes(), &message[..]].concat(),
        }
    }

    /// Exchanges one request and its answer. `client` runs the client's part.
    fn exchange(&mut self, client: impl Fn(&mut dyn FnMut())) {
        client(&mut || self.ask());
        self.answer[MID].copy_from_slice(&self.out[MID]);
        if let Some(signer) = &mut self.signer {
            signer.sign(&mut self.answer[PREFIX_LEN..]);
        }
        client(&mut || self.take_answer());
    }

    fn ask(&mut self) {
        let Self {
            what,
            connection,
            path,
            out,
            ..
        } = self;
        out.clear();
        let path = black_box(&*path);
        let session = SessionIndex::FIRST;
        let sent = match black_box(*what) {
            CifsAsk::Read => {
                let request = CifsRead {
                    file: FILE,
                    offset: 8192,
                    length: READ_LEN,
                };
                connection.read(session, 7, black_box(&request), out)
            }
            CifsAsk::Write => {
                let request = CifsWrite {
                    file: FILE,
                    offset: 8192,
                    length: READ_LEN,
                    mode: WriteMode::Buffered,
                };
                connection.write(session, 7, black_box(&request), out, |out| {
                    let (len, stamp, salt) = (READ_LEN as usize, Stamp::default(), Salt::default());
                    block::append(out, len, request.offset, stamp, salt);
                })
            }
            CifsAsk::Create => {
                let request = open(path, OplockLevel::Batch, &[]);
                let command = CifsCommand::NtCreateAndX;
                connection.request(session, command, 7, out, |out| encode_create(&request, out))
            }
            CifsAsk::Close => connection.request(session, CifsCommand::Close, 7, out, |out| {
                encode_close(black_box(FILE), out);
            }),
            CifsAsk::QueryPath => {
                let request = QueryInformationRequest {
                    target: CifsTarget::Path(path),
                    level: level::SMB_QUERY_FILE_BASIC_INFO,
                    max_data: 4096,
                };
                let command = CifsCommand::Transaction2;
                connection.request(session, command, 7, out, |out| request.encode(out))
            }
            CifsAsk::FindFirst => {
                let request = find_first(path);
                let command = CifsCommand::Transaction2;
                connection.request(session, command, 7, out, |out| request.encode(out))
            }
            CifsAsk::Delete => {
                let request = CifsDeleteRequest {
                    search_attributes: 0x16,
                    path,
                };
                let command = CifsCommand::Delete;
                connection.request(session, command, 7, out, |out| request.encode(out))
            }
            CifsAsk::Rename => {
                let request = CifsRenameRequest {
                    search_attributes: 0x16,
                    from: path,
                    to: path,
                };
                let command = CifsCommand::Rename;
                connection.request(session, command, 7, out, |out| request.encode(out))
            }
        };
        sent.expect("each request has its answer before the next");
    }

    fn take_answer(&mut self) {
        let mut input = black_box(self.answer.as_mut_slice());
        // The payload is discarded if possible, as in a run without verification.
        let payload = match self.signer {
            None => Payload::Discard,
            Some(_) => Payload::Keep,
        };
        let mut inbound = Inbound::default();
        let frame = inbound.next(&mut input, payload);
        let frame = frame.expect("it is a frame").expect("it is whole");
        let event = self.connection.receive(frame.into_message());
        let Ok(CifsEvent::Completed(done)) = event else {
            panic!("{event:?} is no answer");
        };
        assert_eq!(black_box(decode(self.what, &done)), Ok(()));
    }
}

fn decode(what: CifsAsk, done: &CifsCompletion<'_>) -> Result<(), DecodeError> {
    match what {
        CifsAsk::Read => done.read().map(|read| {
            black_box(read.length);
        }),
        CifsAsk::Write => done.write().map(|count| {
            black_box(count);
        }),
        CifsAsk::Create => CifsCreated::decode(done.message()).map(|created| {
            black_box(created);
        }),
        CifsAsk::QueryPath => done.transaction().map(|answer| {
            black_box(answer);
        }),
        CifsAsk::FindFirst => {
            let (parameters, data) = done.transaction()?;
            let response = FindFirst2Response::decode(parameters, data)?;
            for entry in response.found.entries(DirectoryClass::BothDirectory) {
                black_box(entry?);
            }
            Ok(())
        }
        CifsAsk::Close | CifsAsk::Delete | CifsAsk::Rename => decode_empty(done.message()),
    }
}

fn header(command: CifsCommand) -> Vec<u8> {
    let mut message = Vec::new();
    CifsHeader {
        command,
        status: NtStatus::SUCCESS,
        flags: REPLY,
        flags2: 0xc807,
        tid: 4,
        uid: 5,
        mid: 0,
    }
    .encode(&mut message);
    message
}

/// Makes an answer without words and bytes.
fn empty_response(command: CifsCommand) -> Vec<u8> {
    let mut message = header(command);
    message.extend_from_slice(&[0; 3]);
    message
}

/// Makes a READ_ANDX response with [`READ_LEN`] bytes (MS-CIFS 2.2.4.42.2).
fn read_response() -> Vec<u8> {
    let mut message = header(CifsCommand::ReadAndX);
    let len = (READ_LEN as u16).to_le_bytes();
    let offset = message.len() as u8 + 1 + 24 + 2 + 1;
    message.extend_from_slice(&[12, 0xff, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0]);
    message.extend_from_slice(&len);
    message.extend_from_slice(&[offset, 0]);
    message.extend_from_slice(&[0; 10]);
    message.extend_from_slice(&(READ_LEN as u16 + 1).to_le_bytes());
    message.push(0);
    message.resize(message.len() + READ_LEN as usize, 0xA5);
    message
}
