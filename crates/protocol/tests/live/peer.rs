//! A blocking client: one session on one socket.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, SystemTime};

use smbench_lab::{EmbeddedServer, ScratchSamba};
use smbench_protocol::command::WireName;
use smbench_protocol::command::close::CloseRequest;
use smbench_protocol::command::create::{
    CreateRequest, CreateResponse, Disposition, OplockLevel, access, options, share,
};
use smbench_protocol::command::create_context::CreateContext;
use smbench_protocol::command::oplock_break::BreakNotification;
use smbench_protocol::command::read::{ReadRequest, ReadResponse};
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::crypto::NONCE_SEED_LEN;
use smbench_protocol::frame::{Inbound, Payload};
use smbench_protocol::header::Command;
use smbench_protocol::{
    Account, Channels, CipherList, Connection, Credentials, Event, FileId, Handshake,
    HandshakeProgress, NtStatus, SessionConfig, SessionIndex,
};

use crate::Shield;

/// Limit for one answer, longer than any server takes. A missing answer fails the
/// test after this time.
const LIMIT: Duration = Duration::from_secs(20);

/// The address of a server and an account on it.
pub(crate) struct Site {
    address: SocketAddr,
    user: String,
    password: String,
}

impl From<&ScratchSamba> for Site {
    fn from(server: &ScratchSamba) -> Self {
        Self {
            address: server.address(),
            user: server.user().to_owned(),
            password: server.password().to_owned(),
        }
    }
}

impl From<&EmbeddedServer> for Site {
    fn from(server: &EmbeddedServer) -> Self {
        Self {
            address: server.address(),
            user: server.user().to_owned(),
            password: server.password().to_owned(),
        }
    }
}

/// A received event with owned data.
#[derive(Debug)]
pub(crate) enum Got {
    Completed(Answer),
    Pending(u32),
    Break(BreakNotification),
}

/// The final answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) tag: u32,
    pub(crate) status: NtStatus,
    pub(crate) message: Vec<u8>,
}

impl Answer {
    /// Returns the message of an answer that must be a success.
    pub(crate) fn success(self, what: &str) -> Vec<u8> {
        assert_eq!(self.status, NtStatus::SUCCESS, "{what}");
        self.message
    }
}

pub(crate) struct Peer {
    stream: TcpStream,
    inbound: Inbound,
    pub(crate) connection: Connection,
    pub(crate) out: Vec<u8>,
    got: Vec<Got>,
    next_tag: u32,
}

impl Peer {
    pub(crate) fn open(site: &Site, shield: Shield) -> Self {
        // Leases belong to clients, and servers identify clients by their GUIDs.
        static CLIENTS: AtomicU8 = AtomicU8::new(1);
        let config = SessionConfig {
            dialects: shield.dialect.into(),
            signing: shield.signing,
            signing_algorithm: None,
            encryption: shield.encryption,
            ciphers: CipherList::default(),
            credentials: Credentials::Ntlm(Account {
                domain: String::new(),
                user: site.user.clone(),
                password: site.password.clone(),
            }),
            now: SystemTime::UNIX_EPOCH,
            host: "127.0.0.1".to_owned(),
            workstation: "LOADER".to_owned(),
            share: "bench".to_owned(),
            credit_target: 64,
            credit_cap: None,
            channels: Channels::One,
            client_guid: [CLIENTS.fetch_add(1, Ordering::Relaxed); 16],
            previous_session: 0,
            salt: [2; 32],
            nonce_seed: [3; NONCE_SEED_LEN],
        };
        let mut stream = TcpStream::connect_timeout(&site.address, LIMIT).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut out = Vec::new();
        let mut handshake = Handshake::start(config, None, &mut out).unwrap();
        let mut inbound = Inbound::default();
        let mut buffer = vec![0; 1 << 16];
        loop {
            stream.write_all(&out).unwrap();
            out.clear();
            let len = stream.read(&mut buffer).unwrap();
            assert!(len > 0, "the server hung up");
            let mut input = &mut buffer[..len];
            while let Some(frame) = inbound.next(&mut input, Payload::Keep).unwrap() {
                let mut messages = handshake.open(frame).unwrap();
                while let Some(message) = messages.next_message().unwrap() {
                    match handshake.receive(message, &mut out).unwrap() {
                        HandshakeProgress::Continue => {}
                        HandshakeProgress::Ready(connection) => {
                            return Self {
                                stream,
                                inbound,
                                connection,
                                out,
                                got: Vec::new(),
                                next_tag: 0,
                            };
                        }
                    }
                }
            }
        }
    }

    pub(crate) fn tag(&mut self) -> u32 {
        self.next_tag += 1;
        self.next_tag
    }

    /// Sends the encoded requests.
    pub(crate) fn flush(&mut self) {
        self.stream.write_all(&self.out).unwrap();
        self.out.clear();
    }

    /// Returns the next received event that `pick` accepts. It keeps the others.
    fn next<T>(&mut self, pick: impl Fn(Got) -> Result<T, Got>) -> T {
        self.next_within(pick, LIMIT)
            .unwrap_or_else(|| panic!("nothing came but {:?}", self.got))
    }

    /// Returns the next event that `pick` accepts, or `None` if the server
    /// sends nothing for `silence`.
    fn next_within<T>(
        &mut self,
        pick: impl Fn(Got) -> Result<T, Got>,
        silence: Duration,
    ) -> Option<T> {
        self.stream.set_read_timeout(Some(silence)).unwrap();
        loop {
            let mut picked = None;
            for got in std::mem::take(&mut self.got) {
                match (&picked, pick(got)) {
                    (None, Ok(it)) => picked = Some(it),
                    (_, Err(got)) => self.got.push(got),
                    (Some(_), Ok(_)) => panic!("two of what was wanted"),
                }
            }
            if picked.is_some() {
                return picked;
            }
            self.receive()?;
        }
    }

    /// Receives events, and waits if there are none yet.
    fn receive(&mut self) -> Option<()> {
        let mut buffer = vec![0; 1 << 18];
        let len = match self.stream.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            outcome => outcome.unwrap(),
        };
        assert!(len > 0, "the server hung up; waiting were {:?}", self.got);
        let mut input = &mut buffer[..len];
        while let Some(frame) = self.inbound.next(&mut input, Payload::Keep).unwrap() {
            let mut messages = self.connection.open(frame).unwrap();
            while let Some(message) = messages.next_message().unwrap() {
                self.got
                    .push(match self.connection.receive(message).unwrap() {
                        Event::Completed(done) => Got::Completed(Answer {
                            tag: done.tag,
                            status: done.status,
                            message: done.message().to_vec(),
                        }),
                        Event::Pending { tag } => Got::Pending(tag),
                        Event::Break(notification) => Got::Break(notification),
                        Event::Reauthentication { .. } => panic!("nobody asked for it"),
                    });
            }
        }
        Some(())
    }

    /// Returns the final answer to the request with this tag.
    pub(crate) fn answer(&mut self, wanted: u32) -> Answer {
        self.answer_within(wanted, LIMIT)
            .unwrap_or_else(|| panic!("nothing came but {:?}", self.got))
    }

    /// Returns the final answer to the request with this tag, or `None` if the
    /// server sends nothing for `silence`.
    pub(crate) fn answer_within(&mut self, wanted: u32, silence: Duration) -> Option<Answer> {
        let pick = |got| match got {
            Got::Completed(answer) if answer.tag == wanted => Ok(answer),
            other => Err(other),
        };
        self.next_within(pick, silence)
    }

    /// Waits for the interim answer to the request with this tag.
    pub(crate) fn pending(&mut self, wanted: u32) {
        self.next(|got| match got {
            Got::Pending(tag) if tag == wanted => Ok(()),
            other => Err(other),
        });
    }

    /// Waits for a break.
    pub(crate) fn broken(&mut self) -> BreakNotification {
        self.next(|got| match got {
            Got::Break(notification) => Ok(notification),
            other => Err(other),
        })
    }

    /// Sends a request and returns its tag.
    pub(crate) fn send(&mut self, command: Command, body: impl FnOnce(&mut Vec<u8>)) -> u32 {
        let tag = self.tag();
        self.connection
            .request(SessionIndex::FIRST, command, 1, tag, &mut self.out, body)
            .unwrap();
        self.flush();
        tag
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn call(&mut self, command: Command, body: impl FnOnce(&mut Vec<u8>)) -> Answer {
        let tag = self.send(command, body);
        self.answer(tag)
    }

    pub(crate) fn create(&mut self, request: CreateRequest<'_, WireName>) -> CreateResponse {
        let answer = self.call(Command::Create, |out| request.encode(out));
        CreateResponse::decode(&answer.success("CREATE")).unwrap()
    }

    pub(crate) fn close(&mut self, file_id: FileId) {
        let answer = self.call(Command::Close, |out| {
            CloseRequest { file_id, flags: 0 }.encode(out);
        });
        answer.success("CLOSE");
    }

    pub(crate) fn write(&mut self, file_id: FileId, data: &[u8]) {
        let tag = self.tag();
        let request = WriteRequest {
            file_id,
            offset: 0,
            length: data.len() as u32,
            flags: 0,
        };
        self.connection
            .write(SessionIndex::FIRST, tag, &request, &mut self.out, |out| {
                out.extend_from_slice(data);
            })
            .unwrap();
        self.flush();
        self.answer(tag).success("WRITE");
    }

    pub(crate) fn read(&mut self, file_id: FileId, length: u32) -> Vec<u8> {
        let answer = self.call(Command::Read, |out| {
            ReadRequest {
                file_id,
                offset: 0,
                length,
                minimum_count: 0,
                flags: 0,
            }
            .encode(out);
        });
        data_of(&answer.success("READ"))
    }
}

/// Returns the data of a READ response.
pub(crate) fn data_of(message: &[u8]) -> Vec<u8> {
    let response = ReadResponse::decode(message, message.len()).unwrap();
    response.data.unwrap().to_vec()
}

pub(crate) fn name(text: &str) -> WireName {
    WireName::new(text).unwrap()
}

/// A request that creates or opens a file with all access rights.
pub(crate) fn file<'a>(
    name: &'a WireName,
    contexts: &'a [CreateContext],
) -> CreateRequest<'a, WireName> {
    CreateRequest {
        name,
        desired_access: access::GENERIC_ALL,
        file_attributes: 0,
        share_access: share::ALL,
        disposition: Disposition::OpenIf,
        options: options::FILE_NON_DIRECTORY_FILE,
        oplock: OplockLevel::None,
        contexts,
    }
}

/// A request that opens the share's root.
pub(crate) fn root(name: &WireName) -> CreateRequest<'_, WireName> {
    CreateRequest {
        desired_access: access::FILE_LIST_DIRECTORY | access::FILE_READ_ATTRIBUTES,
        options: options::FILE_DIRECTORY_FILE,
        ..file(name, &[])
    }
}
