//! The preparation of the loop: a session, and a file to read.

use std::cell::Cell;
use std::ops::Range;

use smbench_model::target::Target;
use smbench_protocol::command::create::{
    CreateRequest, CreateResponse, Disposition, OplockLevel, access, attributes, options, share,
};
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::credit::charge_for;
use smbench_protocol::frame::{Inbound, PREFIX_LEN, Payload};
use smbench_protocol::header::{Command, HEADER_LEN, Header};
use smbench_protocol::{
    Account, Channels, CipherList, Connection, Credentials, Event, FileId, Handshake,
    HandshakeProgress, Policy, SessionConfig, SessionIndex,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{BLOCK_LEN, FILE_LEN, FloorFailure};

/// Length of one write in bytes.
const CHUNK_LEN: u32 = 64 * 1024;

/// The address of a server and an account on it.
pub(crate) struct FloorSite {
    target: Target,
    password: String,
    /// Number of connections so far.
    connections: Cell<u32>,
}

/// A connection, and the requests that it sends.
pub(crate) struct LoggedOn {
    pub(crate) stream: TcpStream,
    pub(crate) reading: FloorReading,
}

/// The requests of a connection.
pub(crate) struct FloorReading {
    /// A framed READ, to be patched for each request.
    request: Vec<u8>,
    pub(crate) places: Places,
    /// Message id of the next request.
    message_id: u64,
    random: u64,
}

/// Positions in framed messages.
pub(crate) struct Places {
    /// The message id of a request.
    pub(crate) message_id: Range<usize>,
    /// The offset of a READ.
    pub(crate) offset: Range<usize>,
    /// The status of an answer.
    pub(crate) status: usize,
}

const SMB2: Places = Places {
    message_id: PREFIX_LEN + 24..PREFIX_LEN + 32,
    offset: PREFIX_LEN + HEADER_LEN + 8..PREFIX_LEN + HEADER_LEN + 16,
    status: PREFIX_LEN + 8,
};

impl FloorReading {
    pub(crate) fn new(request: Vec<u8>, places: Places, message_id: u64) -> Self {
        Self {
            request,
            places,
            message_id,
            random: u64::from(message_id as u32) | 1,
        }
    }

    /// Returns the next request: a READ of any block.
    pub(crate) fn next(&mut self) -> &[u8] {
        // Xorshift chooses the block, so that the server gets the same requests as from
        // smbench.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let block = self.random % (FILE_LEN / u64::from(BLOCK_LEN));
        self.patch(block * u64::from(BLOCK_LEN));
        &self.request
    }

    /// Makes the request the next one, for this offset.
    fn patch(&mut self, offset: u64) {
        let Self {
            request, places, ..
        } = self;
        for (place, value) in [
            (&places.message_id, self.message_id),
            (&places.offset, offset),
        ] {
            let place = &mut request[place.clone()];
            place.copy_from_slice(&value.to_le_bytes()[..place.len()]);
        }
        self.message_id += 1;
        // CIFS has this one for messages of the server, in 16 bits.
        if self.message_id & 0xFFFF == 0xFFFF && places.message_id.len() == 2 {
            self.message_id += 1;
        }
    }
}

/// The file to read. It is deleted when this session ends.
pub(crate) struct File {
    pub(crate) name: String,
    session: FloorSession,
}

struct FloorSession {
    stream: TcpStream,
    inbound: Inbound,
    connection: Connection,
}

impl FloorSite {
    pub(crate) fn new(url: &str, password: String) -> Result<Self, FloorFailure> {
        let (target, _) = Target::parse(url)?;
        Ok(Self {
            target,
            password,
            connections: Cell::new(0),
        })
    }

    /// Returns another GUID for each connection. Samba takes connections with the same one for
    /// channels of one client, and serves them in one process. That would be less work.
    fn next_guid(&self) -> [u8; 16] {
        let number = self.connections.get() + 1;
        self.connections.set(number);
        let mut guid = [0x5A; 16];
        guid[..4].copy_from_slice(&number.to_le_bytes());
        guid[4..8].copy_from_slice(&std::process::id().to_le_bytes());
        guid
    }

    /// Creates the file with `len` bytes.
    pub(crate) async fn make_file(&self, len: u64) -> Result<File, FloorFailure> {
        let mut session = self.log_on().await?;
        let name = format!("smbench-floor-{}.dat", std::process::id());
        let rights = access::FILE_WRITE_DATA | access::FILE_APPEND_DATA | access::DELETE;
        let how = options::FILE_NON_DIRECTORY_FILE | options::FILE_DELETE_ON_CLOSE;
        let file_id = session
            .create(&name, rights, Disposition::Create, how)
            .await?;
        let mut offset = 0;
        while offset < len {
            let request = WriteRequest {
                file_id,
                offset,
                length: CHUNK_LEN,
                flags: 0,
            };
            let body = |out: &mut Vec<u8>| {
                request.encode(out);
                out.resize(out.len() + CHUNK_LEN as usize, 0x5A);
            };
            session.call(Command::Write, CHUNK_LEN, body).await?;
            offset += u64::from(CHUNK_LEN);
        }
        Ok(File { name, session })
    }

    /// Logs on and opens the file for reading.
    pub(crate) async fn open(&self, name: &str) -> Result<LoggedOn, FloorFailure> {
        let mut session = self.log_on().await?;
        let rights = access::FILE_READ_DATA | access::FILE_READ_ATTRIBUTES;
        let how = options::FILE_NON_DIRECTORY_FILE;
        let file_id = session.create(name, rights, Disposition::Open, how).await?;
        // This request is not sent. Its header shows the values of the next
        // request.
        let mut next = Vec::new();
        session
            .connection
            .request(SessionIndex::FIRST, Command::Echo, 1, 0, &mut next, |_| {})?;
        let header = Header::decode(&next[4..])?;
        Ok(LoggedOn {
            stream: session.stream,
            reading: FloorReading::new(request(&header, file_id), SMB2, header.message_id),
        })
    }

    async fn log_on(&self) -> Result<FloorSession, FloorFailure> {
        let mut stream = self.connect().await?;
        let mut out = Vec::new();
        let mut handshake = Handshake::start(self.config("3.1.1")?, None, &mut out)?;
        let mut inbound = Inbound::default();
        loop {
            let mut chunk = exchange(&mut stream, &mut out).await?;
            let mut input = &mut chunk[..];
            while let Some(frame) = inbound.next(&mut input, Payload::Keep)? {
                let mut messages = handshake.open(frame)?;
                while let Some(message) = messages.next_message()? {
                    if let HandshakeProgress::Ready(connection) =
                        handshake.receive(message, &mut out)?
                    {
                        return Ok(FloorSession {
                            stream,
                            inbound,
                            connection,
                        });
                    }
                }
            }
        }
    }

    pub(crate) async fn connect(&self) -> Result<TcpStream, FloorFailure> {
        let address = (self.target.host.as_str(), self.target.port);
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Returns the options of a session in this dialect.
    pub(crate) fn config(&self, dialect: &str) -> Result<SessionConfig, FloorFailure> {
        let target = &self.target;
        Ok(SessionConfig {
            dialects: dialect.parse()?,
            signing: Policy::Off,
            signing_algorithm: None,
            encryption: Policy::Off,
            ciphers: CipherList::default(),
            credentials: Credentials::Ntlm(Account {
                domain: target.domain.clone(),
                user: target.user.clone(),
                password: self.password.clone(),
            }),
            now: std::time::SystemTime::now(),
            host: target.host.clone(),
            workstation: String::new(),
            share: target.share.clone(),
            credit_target: 8,
            credit_cap: None,
            channels: Channels::One,
            client_guid: self.next_guid(),
            previous_session: 0,
            salt: [0x5A; 32],
            nonce_seed: Default::default(),
        })
    }
}

impl File {
    /// Ends the session that keeps the file open, which deletes the file.
    pub(crate) async fn remove(self) -> Result<(), FloorFailure> {
        let mut stream = self.session.stream;
        Ok(stream.shutdown().await?)
    }
}

impl FloorSession {
    async fn create(
        &mut self,
        name: &str,
        desired_access: u32,
        disposition: Disposition,
        options: u32,
    ) -> Result<FileId, FloorFailure> {
        let mut body = Vec::new();
        CreateRequest {
            name,
            desired_access,
            file_attributes: attributes::FILE_ATTRIBUTE_NORMAL,
            share_access: share::ALL,
            disposition,
            options,
            oplock: OplockLevel::None,
            contexts: &[],
        }
        .encode(&mut body)?;
        let answer = self
            .call(Command::Create, 0, |out| out.extend_from_slice(&body))
            .await?;
        Ok(CreateResponse::decode(&answer)?.file_id)
    }

    /// Sends one request and returns its final answer, which must be a success.
    async fn call(
        &mut self,
        command: Command,
        payload_len: u32,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Vec<u8>, FloorFailure> {
        let mut out = Vec::new();
        self.connection.request(
            SessionIndex::FIRST,
            command,
            charge_for(payload_len),
            0,
            &mut out,
            body,
        )?;
        loop {
            let mut chunk = exchange(&mut self.stream, &mut out).await?;
            let mut input = &mut chunk[..];
            while let Some(frame) = self.inbound.next(&mut input, Payload::Keep)? {
                let mut messages = self.connection.open(frame)?;
                while let Some(message) = messages.next_message()? {
                    if let Event::Completed(done) = self.connection.receive(message)? {
                        return match done.status.0 {
                            0 => Ok(done.message().to_vec()),
                            _ => {
                                Err(format!("{} refused with {}", command.name(), done.status)
                                    .into())
                            }
                        };
                    }
                }
            }
        }
    }
}

/// Sends and clears `out`, and returns the next bytes that the server sends.
pub(crate) async fn exchange(
    stream: &mut TcpStream,
    out: &mut Vec<u8>,
) -> Result<Vec<u8>, FloorFailure> {
    stream.write_all(out).await?;
    out.clear();
    let mut chunk = vec![0; 16 * 1024];
    match stream.read(&mut chunk).await? {
        0 => Err("the server closed the connection".into()),
        len => {
            chunk.truncate(len);
            Ok(chunk)
        }
    }
}

/// Makes a framed READ of an open file. `next` is the header of the session's next request.
fn request(next: &Header, file_id: FileId) -> Vec<u8> {
    let header = Header {
        credit_charge: 1,
        credits: 1,
        session_id: next.session_id,
        ..Header::request(Command::Read, 0).with_tree(next.tree_id())
    };
    let body = ReadRequest {
        file_id,
        offset: 0,
        length: BLOCK_LEN,
        minimum_count: 0,
        flags: 0,
    };
    let mut request = vec![0; PREFIX_LEN];
    header.encode(&mut request);
    body.encode(&mut request);
    let len = (request.len() - PREFIX_LEN) as u32;
    request[..PREFIX_LEN].copy_from_slice(&len.to_be_bytes());
    request
}
