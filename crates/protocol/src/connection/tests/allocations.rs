//! After its buffers have grown, a connection allocates no memory for a message
//! of any command.

use super::*;
use crate::FileId;
use crate::command::WireName;
use crate::command::change_notify::ChangeNotifyRequest;
use crate::command::close::CloseRequest;
use crate::command::create::{CreateRequest, Disposition, OplockLevel};
use crate::command::create_context::{CreateContext, GrantedContexts};
use crate::command::ioctl::copy_chunk::{CopyChunk, CopyChunkRequest, ResumeKey};
use crate::command::lease::{LeaseKey, LeaseState};
use crate::command::query_directory::{
    DirectoryClass, QueryDirectoryRequest, QueryDirectoryResponse,
};
use crate::command::set_info::{Existing, SetInfo, SetInfoRequest};
use crate::frame::Message;

const FILE: FileId = FileId {
    persistent: 1,
    volatile: 2,
};

/// The state that remains between messages.
struct Warm {
    connection: Connection,
    out: Vec<u8>,
    name: WireName,
    /// The server's frame, which each answer overwrites.
    answer: Vec<u8>,
}

impl Warm {
    fn new(protection: Protection) -> Self {
        Self {
            connection: connection(Dialect::Smb311, LARGE_MTU, protection),
            out: Vec::with_capacity(1 << 16),
            name: WireName::new("a name as long as any").unwrap(),
            answer: Vec::with_capacity(1 << 10),
        }
    }

    /// Sends one request of each kind, in chains and alone.
    fn send(&mut self, n: u32) {
        self.out.clear();
        self.name.set("another name").unwrap();
        self.send_chain(n);
        self.send_alone(n);
    }

    fn send_chain(&mut self, n: u32) {
        let Self {
            connection,
            out,
            name,
            ..
        } = self;
        let contexts = [
            CreateContext::LeaseV2 {
                key: LeaseKey([n as u8; 16]),
                state: LeaseState::RWH,
                parent: None,
                epoch: 1,
            },
            CreateContext::QueryOnDiskId,
        ];
        let create = CreateRequest {
            name: &*name,
            desired_access: 1,
            file_attributes: 0,
            share_access: 7,
            disposition: Disposition::OpenIf,
            options: 0,
            oplock: OplockLevel::Lease,
            contexts: &contexts,
        };
        let write = WriteRequest {
            file_id: FileId::RELATED,
            offset: 0,
            length: 3000,
            flags: 0,
        };
        let close = CloseRequest {
            file_id: FileId::RELATED,
            flags: 0,
        };
        connection
            .chain(SessionIndex::FIRST, out)
            .request(Command::Create, 1, 0, |out| create.encode(out))
            .write(1, &write, |out| out.resize(out.len() + 3000, n as u8))
            .request(Command::Close, 1, 2, |out| close.encode(out))
            .finish()
            .unwrap();
    }

    fn send_alone(&mut self, n: u32) {
        let Self {
            connection,
            out,
            name,
            ..
        } = self;
        let info = SetInfo::Rename {
            to: name,
            existing: Existing::Replace,
        };
        let rename = SetInfoRequest {
            file_id: FILE,
            info,
        };
        let list = QueryDirectoryRequest {
            directory: FILE,
            class: DirectoryClass::Names,
            flags: 0,
            pattern: name,
            output_length: 4096,
        };
        let watch = ChangeNotifyRequest {
            directory: FILE,
            flags: 0,
            completion_filter: 1,
            output_length: 4096,
        };
        let copy = CopyChunkRequest {
            code: 1,
            target: FILE,
            source: ResumeKey([3; 24]),
            chunks: &[CopyChunk {
                source: 0,
                target: 0,
                length: 1,
            }],
        };
        let mut request = |command, tag, body: &dyn Fn(&mut Vec<u8>)| {
            connection
                .request(SessionIndex::FIRST, command, 1, tag, out, body)
                .unwrap();
        };
        request(Command::SetInfo, 3, &|out| rename.encode(out));
        request(Command::QueryDirectory, 4, &|out| list.encode(out));
        request(Command::ChangeNotify, 5, &|out| watch.encode(out));
        request(Command::Ioctl, 6, &|out| copy.encode(out));
        connection.cancel(5, out).unwrap();
        let agreed = BreakAcknowledgement::Lease {
            key: LeaseKey([n as u8; 16]),
            state: LeaseState::RH,
        };
        connection
            .acknowledge(SessionIndex::FIRST, 7, &agreed, out)
            .unwrap();
    }

    /// Answers everything in flight. One request gets an interim answer first.
    fn answer(&mut self, first_id: u64) {
        const COMMANDS: [Command; 8] = [
            Command::Create,
            Command::Write,
            Command::Close,
            Command::SetInfo,
            Command::QueryDirectory,
            Command::ChangeNotify,
            Command::Ioctl,
            Command::OplockBreak,
        ];
        for (n, command) in COMMANDS.into_iter().enumerate() {
            let mut header = Header {
                flags: Flags::RESPONSE,
                credits: 1,
                session_id: 0x51,
                ..Header::request(command, first_id + n as u64)
            };
            if command == Command::ChangeNotify {
                header.status = NtStatus::PENDING;
                header.flags = Flags::RESPONSE.union(Flags::ASYNC);
                self.receive(&header);
                header.status = NtStatus::SUCCESS;
            }
            self.receive(&header);
        }
    }

    /// Passes the connection one message, protected as its server does.
    fn receive(&mut self, header: &Header) {
        let Self {
            connection, answer, ..
        } = self;
        answer.clear();
        header.encode(answer);
        answer.extend_from_slice(&[0; 96]);
        if let Protection::Signed(signer) = &connection.sessions[0].protection
            && header.status != NtStatus::PENDING
        {
            signer.sign(answer);
        }
        let secrecy = match connection.sessions[0].protection {
            Protection::Encrypted(_) => Secrecy::Encrypted {
                session_id: connection.sessions[0].session_id,
            },
            _ => Secrecy::Plain,
        };
        let total_len = answer.len();
        let message = Message {
            bytes: answer,
            total_len,
            secrecy,
        };
        match connection.receive(message).unwrap() {
            Event::Completed(done) => {
                // A body of zeros is not a valid answer. Decoders reject it
                // without allocating.
                assert!(GrantedContexts::decode(done.message()).is_ok());
                assert!(QueryDirectoryResponse::decode(done.message()).is_err());
            }
            Event::Pending { tag } => assert_eq!(tag, 5),
            other => panic!("{other:?} was not asked for"),
        }
    }
}

#[test]
fn no_message_takes_memory() {
    for protection in [
        Protection::None,
        Protection::Signed(signer()),
        Protection::Signed(Signer::new(SigningAlgorithm::AesCmac, &[9; 16])),
        Protection::Signed(Signer::new(SigningAlgorithm::HmacSha256, &[9; 16])),
        Protection::Encrypted(transform(Cipher::Aes128Gcm)),
        Protection::Encrypted(transform(Cipher::Aes128Ccm)),
    ] {
        let protected = format!("{protection:?}");
        let mut warm = Warm::new(protection);
        warm.send(0);
        warm.answer(0);
        let used = allocation_counter::measure(|| {
            for n in 1..5 {
                warm.send(n);
                warm.answer(u64::from(n) * 8);
            }
        });
        assert_eq!(used.count_total, 0, "{protected}");
        assert_eq!(warm.connection.in_flight(), 0);
    }
}
