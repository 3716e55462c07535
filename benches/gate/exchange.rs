//! A whole request and its answer, through a connection. The client encodes, pays,
//! protects and frames the request. Then it cuts, checks and decodes the answer.
//!
//! Valgrind emulates the same processor on every machine with AVX2. So aws-lc,
//! which chooses its code by the processor, also runs the same code everywhere.
//! The baselines record that processor.
//!
//! Signing or encryption can cost a hundred times the rest, and would hide a
//! growth of the rest. So the gate also protects the same bytes without a
//! connection, and checks the difference in addition to the whole.
//!
//! Only work inside [`counted`] is counted, so the server's work is not.

use std::hint::black_box;

use smbench_model::contents::block::{self, Salt, Stamp};
use smbench_protocol::command::read::ReadRequest;
use smbench_protocol::command::write::WriteRequest;
use smbench_protocol::crypto::{
    Aead, Decrypted, NONCE_LEN_MAX, PreauthHash, Signer, TRANSFORM_HEADER_LEN,
    TRANSFORM_PROTOCOL_ID,
};
use smbench_protocol::frame::{Inbound, PREFIX_LEN, Payload};
use smbench_protocol::fuzzing::{self, FuzzProtection, SESSION_ID};
use smbench_protocol::header::{Command, Flags, HEADER_LEN, Header};
use smbench_protocol::{
    Cipher, Connection, Event, FileId, NtStatus, SessionIndex, SigningAlgorithm,
};

use smbench_benches::READ_LEN;

/// A request and its protection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) command: Command,
    pub(crate) shield: FuzzProtection,
}

/// The part of an exchange to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountedPart {
    /// The whole exchange.
    Whole,
    /// Only the signing or encryption of the request, and the check or
    /// decryption of the answer, with the same bytes.
    Protecting,
}

impl CountedPart {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Protecting => "protecting",
        }
    }
}

/// Runs `work`, which is all that valgrind counts; see `--toggle-collect`.
#[inline(never)]
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// The function [`counted`], as valgrind names it.
pub(crate) const COUNTED: &str = "*exchange*counted*";

impl Exchange {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let signed = SigningAlgorithm::ALL.map(FuzzProtection::Signed);
        let encrypted = [Cipher::Aes128Gcm, Cipher::Aes128Ccm].map(FuzzProtection::Encrypted);
        let shields = [FuzzProtection::None]
            .into_iter()
            .chain(signed)
            .chain(encrypted);
        shields.flat_map(|shield| {
            [Command::Read, Command::Write].map(|command| Self { command, shield })
        })
    }

    pub(crate) fn name(&self) -> String {
        let name = format!("{} of 4 KiB and its answer", self.command.name());
        match self.shield {
            FuzzProtection::None => name,
            FuzzProtection::Signed(algorithm) => format!("{name}, {algorithm}"),
            FuzzProtection::Encrypted(cipher) => format!("{name}, {cipher}"),
        }
    }

    /// Runs the exchange, or the given part of it, `times` times.
    pub(crate) fn run(self, part: CountedPart, times: u64) {
        let mut peers = Peers::new(self);
        // The first exchanges are not counted, because they do some work only once.
        for _ in 0..4 {
            peers.exchange(|work| work());
        }
        match part {
            CountedPart::Whole => (0..times).for_each(|_| peers.exchange(|work| counted(work))),
            CountedPart::Protecting => (0..times).for_each(|_| peers.protect()),
        }
    }
}

pub(crate) fn run(name: &str, part: &str, times: &str) -> Result<(), String> {
    let times = times.parse().map_err(|_| "times is a number".to_owned())?;
    let part = [CountedPart::Whole, CountedPart::Protecting]
        .into_iter()
        .find(|known| known.name() == part)
        .ok_or_else(|| format!("no part `{part}`"))?;
    let exchange = Exchange::all().find(|exchange| exchange.name() == name);
    let exchange = exchange.ok_or_else(|| format!("no exchange `{name}`"))?;
    exchange.run(part, times);
    Ok(())
}

/// Both ends of a connection.
struct Peers {
    what: Exchange,
    connection: Connection,
    server: Protector,
    message_id: u64,
    /// The client's messages.
    out: Vec<u8>,
    /// The server's messages.
    answer: Vec<u8>,
}

/// The keys with which the server protects messages.
enum Protector {
    None,
    Signed(Signer),
    Encrypted(Box<[Aead; 2]>),
}

impl Peers {
    fn new(what: Exchange) -> Self {
        let preauth = PreauthHash::default();
        let keys = fuzzing::keys(&preauth);
        Self {
            what,
            connection: fuzzing::connection(what.shield),
            server: match what.shield {
                FuzzProtection::None => Protector::None,
                FuzzProtection::Signed(algorithm) => {
                    Protector::Signed(Signer::new(algorithm, &keys.signing()))
                }
                FuzzProtection::Encrypted(cipher) => {
                    let ends = keys
                        .encryption(cipher)
                        .map(|key: Vec<u8>| Aead::new(cipher, &key));
                    Protector::Encrypted(Box::new(ends))
                }
            },
            message_id: 0,
            out: Vec::with_capacity(8192),
            answer: Vec::with_capacity(8192),
        }
    }

    /// Exchanges one request and its answer. `client` runs the client's part.
    fn exchange(&mut self, client: impl Fn(&mut dyn FnMut())) {
        client(&mut || self.ask());
        self.make_answer();
        client(&mut || self.take_answer());
        self.message_id += 1;
    }

    fn ask(&mut self) {
        let Self {
            what,
            connection,
            message_id,
            out,
            ..
        } = self;
        out.clear();
        let (session, file_id) = (SessionIndex::FIRST, FileId::default());
        let asked = match what.command {
            Command::Write => {
                let request = WriteRequest {
                    file_id,
                    offset: 8192,
                    length: READ_LEN,
                    flags: 0,
                };
                let stamp = Stamp {
                    generation: *message_id as u32,
                    ..Stamp::default()
                };
                connection.write(session, 7, black_box(&request), out, |out| {
                    block::append(
                        out,
                        READ_LEN as usize,
                        request.offset,
                        stamp,
                        Salt::default(),
                    );
                })
            }
            _ => {
                let request = ReadRequest {
                    file_id,
                    offset: 8192,
                    length: READ_LEN,
                    minimum_count: 0,
                    flags: 0,
                };
                connection.read(session, 7, black_box(&request), out)
            }
        };
        asked.expect("each answer grants what its request cost");
    }

    /// Makes the server's answer with its prefix.
    fn make_answer(&mut self) {
        let Self { server, answer, .. } = self;
        answer.clear();
        answer.resize(PREFIX_LEN, 0);
        if matches!(server, Protector::Encrypted(_)) {
            answer.resize(PREFIX_LEN + TRANSFORM_HEADER_LEN, 0);
        }
        let start = answer.len();
        let header = Header {
            status: NtStatus::SUCCESS,
            flags: Flags::RESPONSE,
            session_id: SESSION_ID,
            ..Header::request(self.what.command, self.message_id)
        };
        header.encode(answer);
        match self.what.command {
            Command::Write => {
                answer.extend_from_slice(&[17, 0, 0, 0]);
                answer.extend_from_slice(&READ_LEN.to_le_bytes());
                answer.extend_from_slice(&[0; 8]);
            }
            _ => {
                answer.extend_from_slice(&[17, 0, (HEADER_LEN + 16) as u8, 0]);
                answer.extend_from_slice(&READ_LEN.to_le_bytes());
                answer.extend_from_slice(&[0; 8]);
                answer.resize(answer.len() + READ_LEN as usize, 0xA5);
            }
        }
        match server {
            Protector::None => {}
            Protector::Signed(signer) => signer.sign(&mut answer[start..]),
            Protector::Encrypted(ends) => {
                let [_, server] = &**ends;
                let (header, plain) = answer[PREFIX_LEN..].split_at_mut(TRANSFORM_HEADER_LEN);
                seal(server, header, plain, self.message_id);
            }
        }
        let len = (answer.len() - PREFIX_LEN) as u32;
        answer[..PREFIX_LEN].copy_from_slice(&len.to_be_bytes());
    }

    fn take_answer(&mut self) {
        let Self {
            what,
            connection,
            answer,
            ..
        } = self;
        let mut input = black_box(answer.as_mut_slice());
        // The payload is discarded if possible, as in a run without verification.
        let payload = match what.shield {
            FuzzProtection::None => Payload::Discard,
            _ => Payload::Keep,
        };
        let mut inbound = Inbound::default();
        let frame = inbound.next(&mut input, payload).expect("it is a frame");
        let frame = frame.expect("it is whole");
        let mut messages = connection.open(frame).expect("it opens");
        let message = messages.next_message().expect("it is sound");
        let event = connection.receive(message.expect("it is one"));
        let Ok(Event::Completed(done)) = event else {
            panic!("{event:?} is no answer");
        };
        let length = match what.command {
            Command::Write => done.write().map(|body| body.count),
            _ => done.read().map(|body| body.length),
        };
        assert_eq!(black_box(length), Ok(READ_LEN));
    }

    /// Protects the bytes of the last request and answer, as the two ends do.
    fn protect(&mut self) {
        self.ask();
        self.make_answer();
        let (out, answer) = (&mut self.out[PREFIX_LEN..], &mut self.answer[PREFIX_LEN..]);
        match &self.server {
            Protector::None => {}
            Protector::Signed(signer) => counted(|| {
                signer.sign(black_box(out));
                assert!(signer.verify(black_box(answer)));
            }),
            Protector::Encrypted(ends) => {
                let [client, server] = &**ends;
                let id = self.message_id;
                let (header, plain) = out.split_at_mut(TRANSFORM_HEADER_LEN);
                let (tagged, sealed) = answer.split_at_mut(TRANSFORM_HEADER_LEN);
                counted(|| {
                    seal(client, black_box(header), black_box(plain), id);
                    let mut tag = [0; 16];
                    tag.copy_from_slice(&tagged[4..20]);
                    // A failed decryption would cost the same, but must not happen.
                    let opened = server.open(nonce(id), &tagged[20..], &tag, black_box(sealed));
                    assert_eq!(opened, Decrypted::Genuine);
                });
            }
        }
        self.take_back();
    }

    /// Completes the request, after its answer was already decrypted.
    fn take_back(&mut self) {
        self.make_answer();
        self.take_answer();
        self.message_id += 1;
    }
}

fn nonce(id: u64) -> [u8; NONCE_LEN_MAX] {
    let mut nonce = [0; NONCE_LEN_MAX];
    // CCM uses one byte less of the nonce.
    nonce[..8].copy_from_slice(&id.to_le_bytes());
    nonce
}

/// Encrypts a message as the server, like `Transform::seal`.
fn seal(key: &Aead, header: &mut [u8], plain: &mut [u8], id: u64) {
    header.fill(0);
    header[..4].copy_from_slice(&TRANSFORM_PROTOCOL_ID);
    header[20..32].copy_from_slice(&nonce(id));
    header[36..40].copy_from_slice(&(plain.len() as u32).to_le_bytes());
    header[42] = 1;
    header[44..52].copy_from_slice(&SESSION_ID.to_le_bytes());
    let tag = key.seal(nonce(id), &header[20..], plain);
    header[4..20].copy_from_slice(&tag);
}
