//! After its buffers have grown, a connection allocates no memory for a message of any
//! command. The exception is an answer of several messages.

use super::*;
use crate::cifs::command::close::{encode_close, encode_flush};
use crate::cifs::command::create::{CifsCreated, encode_create};
use crate::cifs::command::lock::{CifsLock, encode_lock};
use crate::cifs::command::names::{CifsDeleteRequest, CifsRenameRequest, DirectoryPathRequest};
use crate::cifs::command::write::WriteMode;
use crate::cifs::connection::unanswered::KEPT;
use crate::command::WireName;
use crate::command::create::CreateRequest;
use crate::frame::{Message, Secrecy};

const FILE: FileNumber = FileNumber(9);

/// The state that remains between messages.
struct CifsWarm {
    connection: CifsConnection,
    signs: bool,
    out: Vec<u8>,
    name: WireName,
    /// The server's message, which each answer overwrites.
    answer: Vec<u8>,
}

impl CifsWarm {
    fn new(signer: Option<CifsSigner>) -> Self {
        let mut connection = connection();
        // More than the commands.
        connection.limit = 20;
        let signs = signer.is_some();
        connection.signer = signer;
        Self {
            connection,
            signs,
            out: Vec::with_capacity(1 << 16),
            name: WireName::new("a name as long as any").unwrap(),
            answer: Vec::with_capacity(1 << 10),
        }
    }

    /// Sends one request of each kind.
    fn send(&mut self, n: u32) {
        self.out.clear();
        self.name.set("another name").unwrap();
        let Self {
            connection,
            out,
            name,
            ..
        } = self;
        let read = CifsRead {
            file: FILE,
            offset: 1 << 40,
            length: 4096,
        };
        let write = CifsWrite {
            file: FILE,
            offset: 0,
            length: 3000,
            mode: WriteMode::Buffered,
        };
        connection.read(FIRST, 0, &read, out).unwrap();
        connection
            .write(FIRST, 1, &write, out, |out| {
                out.resize(out.len() + 3000, n as u8);
            })
            .unwrap();
        let mut request = |command, tag, body: &dyn Fn(&mut Vec<u8>)| {
            connection.request(FIRST, command, tag, out, body).unwrap();
        };
        let create = CreateRequest::open(&*name, 1);
        request(CifsCommand::NtCreateAndX, 2, &|out| {
            encode_create(&create, out);
        });
        request(CifsCommand::Close, 3, &|out| encode_close(FILE, out));
        request(CifsCommand::Flush, 4, &|out| encode_flush(FILE, out));
        request(CifsCommand::LockingAndX, 5, &|out| {
            encode_lock(FILE, CifsLock::Shared, 0, 1, 0, out);
        });
        let delete = CifsDeleteRequest {
            search_attributes: 0,
            path: name,
        };
        let rename = CifsRenameRequest {
            search_attributes: 0,
            from: name,
            to: name,
        };
        let check = DirectoryPathRequest { path: name };
        request(CifsCommand::Delete, 6, &|out| delete.encode(out));
        request(CifsCommand::Rename, 7, &|out| rename.encode(out));
        request(CifsCommand::CheckDirectory, 8, &|out| check.encode(out));
        connection.echo(FIRST, 9, out).unwrap();
        connection.cancel(FIRST, 9, out).unwrap();
        connection.release(FIRST, BROKEN, out);
    }

    /// Answers everything in flight.
    fn answer(&mut self) {
        while let Some(entry) = self.connection.in_flight.first().copied() {
            let header = CifsHeader {
                flags: cifs_flags::REPLY,
                ..self.connection.header(FIRST, entry.command, entry.mid)
            };
            self.answer.clear();
            header.encode(&mut self.answer);
            self.answer.extend_from_slice(&[0; 96]);
            if self.signs {
                signed::sign(&mut self.answer, entry.answer_sequence.into());
            }
            let total_len = self.answer.len();
            let message = Message {
                bytes: &mut self.answer,
                total_len,
                secrecy: Secrecy::Plain,
            };
            match self.connection.receive(message).unwrap() {
                // A body of zeros is not a valid answer. Decoders reject it without
                // allocating.
                CifsEvent::Completed(done) => {
                    assert!(done.read().is_err());
                    assert!(done.write().is_err());
                    assert!(CifsCreated::decode(done.message()).is_err());
                }
                other => panic!("{other:?} was not asked for"),
            }
        }
    }
}

#[test]
fn no_message_takes_memory() {
    for signer in [None, Some(CifsSigner::new(signed::KEY.to_vec()))] {
        let mut warm = CifsWarm::new(signer);
        for n in 0..=KEPT as u32 {
            warm.send(n);
            warm.answer();
        }
        let used = allocation_counter::measure(|| {
            for n in 0..4 {
                warm.send(n);
                warm.answer();
            }
        });
        assert_eq!(used.count_total, 0);
        assert_eq!(warm.connection.in_flight(), 0);
    }
}
