//! CIFS on a real Samba: every command, signed and not.

mod logons;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, SystemTime};

use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_protocol::cifs::command::close::{encode_close, encode_flush};
use smbench_protocol::cifs::command::create::{CifsCreated, encode_create};
use smbench_protocol::cifs::command::find::{
    FindFirst2Request, FindFirst2Response, FindNext2Request, FoundNames, find_flags, find_level,
};
use smbench_protocol::cifs::command::information::{
    CifsChange, CifsTarget, QueryFsInformationRequest, QueryInformationRequest,
    SetInformationRequest, level,
};
use smbench_protocol::cifs::command::lock::{CifsBreak, CifsLock, encode_lock};
use smbench_protocol::cifs::command::names::{
    CifsDeleteRequest, CifsRenameRequest, DirectoryPathRequest,
};
use smbench_protocol::cifs::command::nt_transact::{
    NotifyChangeRequest, QuerySecurityRequest, SetSecurityRequest, WatchScope,
};
use smbench_protocol::cifs::command::read::CifsRead;
use smbench_protocol::cifs::command::session::encode_logoff;
use smbench_protocol::cifs::command::write::{CifsWrite, WriteMode};
use smbench_protocol::cifs::command::{FileNumber, encode_empty};
use smbench_protocol::cifs::handshake::{
    CifsHandshake, CifsProgress, CifsSetup, CifsSetupProgress,
};
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::cifs::{CifsConnection, CifsEvent};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::{
    CreateRequest, Disposition, OplockLevel, access, options, share,
};
use smbench_protocol::command::query_directory::DirectoryClass;
use smbench_protocol::frame::{Inbound, Payload};
use smbench_protocol::{
    Account, Channels, CipherList, Credentials, Dialect, HandshakeError, Logon, NtStatus, Policy,
    SessionConfig, SessionIndex,
};

const LIMIT: Duration = Duration::from_secs(20);

fn samba(signing: &str) -> Option<ScratchSamba> {
    ScratchSamba::or_skip(SambaOptions {
        extra_global: vec![
            ScratchSamba::CIFS.to_owned(),
            format!("server signing = {signing}"),
        ],
        extra_share: vec!["kernel oplocks = no".to_owned()],
        ..SambaOptions::default()
    })
}

fn config(server: &ScratchSamba, signing: Policy) -> SessionConfig {
    SessionConfig {
        dialects: Dialect::Cifs.into(),
        signing,
        signing_algorithm: None,
        encryption: Policy::Off,
        ciphers: CipherList::default(),
        credentials: Credentials::Ntlm(Account {
            domain: String::new(),
            user: server.user().to_owned(),
            password: server.password().to_owned(),
        }),
        now: SystemTime::now(),
        host: "127.0.0.1".to_owned(),
        workstation: "LOADER".to_owned(),
        share: "bench".to_owned(),
        credit_target: 1,
        credit_cap: None,
        channels: Channels::One,
        client_guid: [1; 16],
        previous_session: 0,
        salt: [2; 32],
        nonce_seed: [3; 12],
    }
}

/// The answer to a request, with owned data.
#[derive(Debug)]
struct OwnedAnswer {
    tag: u32,
    status: NtStatus,
    message: Vec<u8>,
    data: Vec<u8>,
    parameters: Vec<u8>,
}

/// A blocking client.
struct CifsPeer {
    stream: TcpStream,
    inbound: Inbound,
    connection: CifsConnection,
    out: Vec<u8>,
    session: SessionIndex,
    broken: Vec<CifsBreak>,
    answers: Vec<OwnedAnswer>,
}

impl CifsPeer {
    fn open(server: &ScratchSamba, signing: Policy) -> Result<Self, HandshakeError> {
        Self::with(server, config(server, signing))
    }

    fn with(server: &ScratchSamba, config: SessionConfig) -> Result<Self, HandshakeError> {
        Self::altered(server, config, |_| ())
    }

    /// Works like [`CifsPeer::with`], but `alter` may change the NEGOTIATE request.
    fn altered(
        server: &ScratchSamba,
        config: SessionConfig,
        alter: impl FnOnce(&mut [u8]),
    ) -> Result<Self, HandshakeError> {
        let mut stream = TcpStream::connect_timeout(&server.address(), LIMIT).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut out = Vec::new();
        let mut handshake = CifsHandshake::start(config, &mut out)?;
        alter(&mut out);
        let mut inbound = Inbound::default();
        let mut buffer = vec![0; 1 << 16];
        loop {
            stream.write_all(&out).unwrap();
            out.clear();
            let len = stream.read(&mut buffer).unwrap();
            assert!(len > 0, "the server hung up");
            let mut input = &mut buffer[..len];
            while let Some(frame) = inbound.next(&mut input, Payload::Keep).unwrap() {
                if let CifsProgress::Ready(connection) =
                    handshake.receive(frame.into_message(), &mut out)?
                {
                    return Ok(Self {
                        stream,
                        inbound,
                        connection: *connection,
                        out,
                        session: SessionIndex::FIRST,
                        broken: Vec::new(),
                        answers: Vec::new(),
                    });
                }
            }
        }
    }

    /// Sends and receives once. `take` gets every completion first.
    fn exchange<T>(
        &mut self,
        mut take: impl FnMut(&mut CifsConnection, &CifsEvent<'_>, &mut Vec<u8>) -> Option<T>,
    ) -> Option<T> {
        self.stream.write_all(&self.out).unwrap();
        self.out.clear();
        let mut buffer = vec![0; 1 << 16];
        let len = match self.stream.read(&mut buffer) {
            Ok(len) => len,
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("no answer"),
            Err(error) => panic!("{error}"),
        };
        assert!(len > 0, "the server hung up");
        let mut input = &mut buffer[..len];
        let mut result = None;
        while let Some(frame) = self.inbound.next(&mut input, Payload::Keep).unwrap() {
            let event = self.connection.receive(frame.into_message()).unwrap();
            if let CifsEvent::Break { session, broken } = &event {
                assert_eq!(*session, Some(self.session));
                self.broken.push(*broken);
            }
            result = result.or(take(&mut self.connection, &event, &mut self.out));
        }
        result
    }

    /// Carries out a set-up.
    fn set_up(&mut self, mut setup: CifsSetup) -> Result<SessionIndex, HandshakeError> {
        loop {
            let progress = self.exchange(|connection, event, out| match event {
                CifsEvent::Completed(done) => Some(setup.receive(connection, done, out)),
                _ => None,
            });
            if let CifsSetupProgress::Ready(session) = progress.transpose()?.unwrap() {
                return Ok(session);
            }
        }
    }

    fn begin(&mut self, command: CifsCommand, tag: u32, body: impl FnOnce(&mut Vec<u8>)) {
        self.connection
            .request(self.session, command, tag, &mut self.out, body)
            .unwrap();
    }

    fn answer(&mut self, tag: u32) -> OwnedAnswer {
        loop {
            if let Some(at) = self.answers.iter().position(|answer| answer.tag == tag) {
                return self.answers.swap_remove(at);
            }
            let mut answer = Vec::new();
            self.exchange(|_, event, _| {
                if let CifsEvent::Completed(done) = event {
                    let parts = done.transaction().ok();
                    let parts = parts.map(|(it, data)| (it.to_vec(), data.to_vec()));
                    let (parameters, data) = parts.unwrap_or_default();
                    answer.push(OwnedAnswer {
                        tag: done.tag,
                        status: done.status,
                        message: done.message().to_vec(),
                        data,
                        parameters,
                    });
                }
                None::<()>
            });
            self.answers.extend(answer);
        }
    }

    fn call(&mut self, command: CifsCommand, body: impl FnOnce(&mut Vec<u8>)) -> OwnedAnswer {
        self.begin(command, 7, body);
        self.answer(7)
    }

    fn expect(&mut self, command: CifsCommand, body: impl FnOnce(&mut Vec<u8>)) -> OwnedAnswer {
        let answer = self.call(command, body);
        assert_eq!(answer.status, NtStatus::SUCCESS, "{}", command.name());
        answer
    }

    fn create(&mut self, request: &CreateRequest<'_, WireName>) -> CifsCreated {
        let answer = self.expect(CifsCommand::NtCreateAndX, |out| encode_create(request, out));
        CifsCreated::decode(&answer.message).unwrap()
    }

    fn close(&mut self, file: FileNumber) {
        self.expect(CifsCommand::Close, |out| encode_close(file, out));
    }
}

fn name(text: &str) -> WireName {
    WireName::new(text).unwrap()
}

fn new_file(name: &WireName) -> CreateRequest<'_, WireName> {
    CreateRequest {
        disposition: Disposition::OverwriteIf,
        options: options::FILE_NON_DIRECTORY_FILE,
        share_access: share::FILE_SHARE_READ | share::FILE_SHARE_WRITE | share::FILE_SHARE_DELETE,
        ..CreateRequest::open(
            name,
            access::FILE_READ_DATA
                | access::FILE_WRITE_DATA
                | access::FILE_READ_ATTRIBUTES
                | access::FILE_WRITE_ATTRIBUTES
                | access::READ_CONTROL
                | access::WRITE_DAC
                | access::DELETE,
        )
    }
}

/// Every request on files and names.
fn every_command(peer: &mut CifsPeer) {
    let path = name("a file é");
    let file = peer.create(&new_file(&path)).file;
    let max = peer.connection.max_write();
    let written: Vec<u8> = (0..max).map(|at| (at % 251) as u8).collect();
    let request = CifsWrite {
        file,
        offset: 5_000_000_000,
        length: max,
        mode: WriteMode::Through,
    };
    peer.connection
        .write(peer.session, 7, &request, &mut peer.out, |out| {
            out.extend_from_slice(&written);
        })
        .unwrap();
    let answer = peer.answer(7);
    assert_eq!(answer.status, NtStatus::SUCCESS);
    peer.expect(CifsCommand::Flush, |out| encode_flush(file, out));
    let length = max.min(peer.connection.max_read());
    let request = CifsRead {
        file,
        offset: 5_000_000_000,
        length,
    };
    peer.connection
        .read(peer.session, 9, &request, &mut peer.out)
        .unwrap();
    let read = loop {
        let read = peer.exchange(|_, event, _| match event {
            CifsEvent::Completed(done) => {
                let read = done.read().unwrap();
                Some(read.data.unwrap().to_vec())
            }
            _ => None,
        });
        if let Some(read) = read {
            break read;
        }
    };
    assert_eq!(read, written[..length as usize]);
    for what in [
        CifsLock::Exclusive,
        CifsLock::Unlock,
        CifsLock::Shared,
        CifsLock::Unlock,
    ] {
        peer.expect(CifsCommand::LockingAndX, |out| {
            encode_lock(file, what, 1 << 40, 10, 0, out);
        });
    }
    infos(peer, file, &path);
    peer.connection
        .echo(peer.session, 7, &mut peer.out)
        .unwrap();
    assert_eq!(peer.answer(7).status, NtStatus::SUCCESS);
    peer.close(file);
    let (from, to) = (&path, &name("b"));
    let rename = CifsRenameRequest {
        search_attributes: ALL,
        from,
        to,
    };
    peer.expect(CifsCommand::Rename, |out| rename.encode(out));
    peer.expect(CifsCommand::Delete, |out| delete(to, out));
    let gone = peer.call(CifsCommand::Delete, |out| delete(to, out));
    assert_eq!(gone.status, NtStatus::OBJECT_NAME_NOT_FOUND);
}

/// Hidden and system files, and directories.
const ALL: u16 = 0x16;

fn delete(path: &WireName, out: &mut Vec<u8>) {
    let request = CifsDeleteRequest {
        search_attributes: ALL,
        path,
    };
    request.encode(out);
}

fn directory(path: &WireName, out: &mut Vec<u8>) {
    DirectoryPathRequest { path }.encode(out);
}

fn infos(peer: &mut CifsPeer, file: FileNumber, path: &WireName) {
    let target = CifsTarget::Fid(file.0);
    let mut query = |target, level| {
        let request = QueryInformationRequest {
            target,
            level,
            max_data: 1000,
        };
        let answer = peer.expect(CifsCommand::Transaction2, |out| request.encode(out));
        answer.data[8..16].to_vec()
    };
    let of_file = query(target, level::SMB_INFO_PASSTHROUGH + 5);
    let standard = level::SMB_QUERY_FILE_STANDARD_INFO;
    assert_eq!(of_file, query(CifsTarget::Path(path), standard));
    let size = QueryFsInformationRequest {
        level: level::SMB_QUERY_FS_SIZE_INFO,
        max_data: 1000,
    };
    let size = peer.expect(CifsCommand::Transaction2, |out| size.encode(out));
    assert_eq!(size.data.len(), 24);
    let set = SetInformationRequest {
        target,
        level: level::SMB_SET_FILE_END_OF_FILE_INFO,
        change: CifsChange::EndOfFile(123),
    };
    peer.expect(CifsCommand::Transaction2, |out| set.encode(out));
    let request = QueryInformationRequest {
        target,
        level: standard,
        max_data: 1000,
    };
    let answer = peer.expect(CifsCommand::Transaction2, |out| request.encode(out));
    assert_eq!(answer.data[8..16], 123u64.to_le_bytes());
    security(peer, file);
}

fn security(peer: &mut CifsPeer, file: FileNumber) {
    const DACL: u32 = 4;
    let query = QuerySecurityRequest {
        fid: file.0,
        parts: DACL,
        max_data: 64 * 1024,
    };
    let descriptor = peer.expect(CifsCommand::NtTransact, |out| query.encode(out));
    assert!(descriptor.data.len() >= 20);
    let set = SetSecurityRequest {
        fid: file.0,
        parts: DACL,
        descriptor: &descriptor.data,
    };
    peer.expect(CifsCommand::NtTransact, |out| set.encode(out));
}

/// Lists a directory of many names, with answers of several parts and several requests.
fn listings(peer: &mut CifsPeer) {
    const FILES: usize = 300;
    const LEVEL: u16 = find_level::SMB_FIND_FILE_BOTH_DIRECTORY_INFO;
    const CLASS: DirectoryClass = DirectoryClass::BothDirectory;
    let many = name("many");
    peer.expect(CifsCommand::CreateDirectory, |out| directory(&many, out));
    for at in 0..FILES {
        let path = name(&format!(r"many\a rather long name of a file {at}"));
        let file = peer.create(&new_file(&path)).file;
        peer.close(file);
    }
    let first = FindFirst2Request {
        search_attributes: ALL,
        search_count: 1366,
        flags: find_flags::SMB_FIND_CLOSE_AT_EOS,
        level: LEVEL,
        pattern: &name(r"many\*"),
        max_data: 20_000,
    };
    let answer = peer.expect(CifsCommand::Transaction2, |out| first.encode(out));
    let FindFirst2Response { sid, found } =
        FindFirst2Response::decode(&answer.parameters, &answer.data).unwrap();
    assert!(!found.end_of_search);
    let mut names = found.names(CLASS).unwrap();
    let mut is_over = false;
    while !is_over {
        let last = name(&names.last().unwrap().name);
        let next = FindNext2Request {
            sid,
            search_count: 1366,
            level: LEVEL,
            flags: first.flags | find_flags::SMB_FIND_CONTINUE_FROM_LAST,
            resume_name: last.as_bytes(),
            max_data: 20_000,
        };
        let answer = peer.expect(CifsCommand::Transaction2, |out| next.encode(out));
        let found = FoundNames::decode(&answer.parameters, &answer.data).unwrap();
        names.extend(found.names(CLASS).unwrap());
        is_over = found.end_of_search;
    }
    let mut unique: Vec<_> = names.iter().map(|entry| entry.name.clone()).collect();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), FILES);
    for entry in names {
        let path = name(&format!(r"many\{}", entry.name));
        peer.expect(CifsCommand::Delete, |out| delete(&path, out));
    }
    peer.expect(CifsCommand::CheckDirectory, |out| directory(&many, out));
    peer.expect(CifsCommand::DeleteDirectory, |out| directory(&many, out));
}

/// A notification that a change answers, and one that a cancel does.
fn notifications(peer: &mut CifsPeer) {
    const FILE_NAMES: u32 = 1;
    let root = name("");
    let directory = peer.create(&CreateRequest {
        options: options::FILE_DIRECTORY_FILE,
        ..CreateRequest::open(&root, access::FILE_LIST_DIRECTORY)
    });
    let request = NotifyChangeRequest {
        fid: directory.file.0,
        completion_filter: FILE_NAMES,
        watched: WatchScope::Directory,
        max_parameters: 4096,
    };
    let watch = |out: &mut Vec<u8>| request.encode(out);
    let path = name("noticed");
    let answer = noticed(peer, &request, &path);
    assert_eq!(answer.status, NtStatus::SUCCESS);
    assert!(
        answer.parameters[12..].starts_with(path.as_bytes()),
        "{answer:?}"
    );
    // Samba does not say STATUS_NOTIFY_ENUM_DIR in CIFS.
    let narrow = NotifyChangeRequest {
        max_parameters: 1,
        ..request
    };
    let answer = noticed(peer, &narrow, &path);
    assert_eq!(answer.status, NtStatus::SUCCESS);
    assert!(answer.parameters.is_empty() && answer.data.is_empty());
    peer.begin(CifsCommand::NtTransact, 2, watch);
    // The deletion may have been noted for the watch of before.
    peer.connection
        .cancel(peer.session, 2, &mut peer.out)
        .unwrap();
    let answer = peer.answer(2);
    assert!(
        [NtStatus::CANCELLED, NtStatus::SUCCESS].contains(&answer.status),
        "{answer:?}"
    );
    peer.close(directory.file);
}

/// Changes a name until the server has noticed that.
fn noticed(peer: &mut CifsPeer, watch: &NotifyChangeRequest, path: &WireName) -> OwnedAnswer {
    peer.begin(CifsCommand::NtTransact, 1, |out| watch.encode(out));
    for _ in 0..100 {
        let file = peer.create(&new_file(path)).file;
        peer.close(file);
        peer.expect(CifsCommand::Delete, |out| delete(path, out));
        if peer.answers.iter().any(|answer| answer.tag == 1) {
            break;
        }
        // Samba may miss changes that follow the request at once.
        thread::sleep(Duration::from_millis(20));
    }
    peer.answer(1)
}

/// Another client opens a file with a batch oplock.
fn breaks(peer: &mut CifsPeer, other: &mut CifsPeer) {
    let path = name("wanted");
    let created = peer.create(&CreateRequest {
        oplock: OplockLevel::Batch,
        ..new_file(&path)
    });
    assert_eq!(created.oplock, OplockLevel::Batch);
    other.begin(CifsCommand::NtCreateAndX, 3, |out| {
        let request = CreateRequest::open(&path, access::FILE_READ_DATA);
        encode_create(&request, out);
    });
    other.stream.write_all(&other.out).unwrap();
    other.out.clear();
    while peer.broken.is_empty() {
        peer.exchange(|_, _, _| None::<()>);
    }
    let broken = peer.broken.remove(0);
    let file = broken.file;
    assert_eq!(file, created.file);
    peer.connection.release(peer.session, broken, &mut peer.out);
    // The next request has the right sequence number.
    peer.connection
        .echo(peer.session, 7, &mut peer.out)
        .unwrap();
    assert_eq!(peer.answer(7).status, NtStatus::SUCCESS);
    let answer = other.answer(3);
    assert_eq!(answer.status, NtStatus::SUCCESS);
    other.close(CifsCreated::decode(&answer.message).unwrap().file);
    peer.close(file);
    peer.expect(CifsCommand::Delete, |out| delete(&path, out));
}

/// A further session on the connection, with a tree connect of its own.
fn further_session(peer: &mut CifsPeer, config: SessionConfig) {
    let setup = CifsSetup::start(config, &mut peer.connection, 5, &mut peer.out);
    let second = peer.set_up(setup.unwrap()).unwrap();
    assert_ne!(second, peer.session);
    let first = std::mem::replace(&mut peer.session, second);
    every_command(peer);
    peer.expect(CifsCommand::TreeDisconnect, encode_empty);
    peer.expect(CifsCommand::LogoffAndX, encode_logoff);
    peer.connection.forget(second);
    peer.session = first;
    peer.connection.echo(first, 7, &mut peer.out).unwrap();
    assert_eq!(peer.answer(7).status, NtStatus::SUCCESS);
}

#[test]
fn every_command_works_signed_and_unsigned() {
    for (of_server, signing, is_signed) in [
        ("default", Policy::AsServerRequires, false),
        ("auto", Policy::AsServerRequires, false),
        ("auto", Policy::Required, true),
        ("mandatory", Policy::AsServerRequires, true),
    ] {
        let Some(samba) = samba(of_server) else {
            return;
        };
        let mut peer = CifsPeer::open(&samba, signing).unwrap();
        assert_eq!(peer.connection.is_signed(), is_signed, "{of_server}");
        assert_eq!(peer.connection.logon(peer.session), Logon::Ntlm);
        every_command(&mut peer);
        listings(&mut peer);
        notifications(&mut peer);
        let mut other = CifsPeer::open(&samba, signing).unwrap();
        breaks(&mut peer, &mut other);
        further_session(&mut peer, config(&samba, signing));
        peer.expect(CifsCommand::TreeDisconnect, encode_empty);
        peer.expect(CifsCommand::LogoffAndX, encode_logoff);
    }
}

#[test]
fn what_cannot_be_agreed_on_is_refused_with_its_reason() {
    let Some(samba) = samba("disabled") else {
        return;
    };
    let refused = |change: &dyn Fn(&mut SessionConfig)| {
        let mut config = config(&samba, Policy::AsServerRequires);
        change(&mut config);
        let error = CifsPeer::with(&samba, config).err();
        error.map_or_else(String::new, |error| error.to_string())
    };
    assert_eq!(
        refused(&|config| config.signing = Policy::Required),
        "the server does not sign in CIFS"
    );
    assert_eq!(
        refused(&|config| config.share = "nowhere".to_owned()),
        "TREE_CONNECT refused with STATUS_BAD_NETWORK_NAME"
    );
    assert_eq!(
        refused(&|config| config.share = "IPC$".to_owned()),
        "the share is not a disk share"
    );
    let wrong = Account {
        domain: String::new(),
        user: samba.user().to_owned(),
        password: "wrong".to_owned(),
    };
    assert_eq!(
        refused(&|config| config.credentials = Credentials::Ntlm(wrong.clone())),
        "SESSION_SETUP refused with STATUS_LOGON_FAILURE"
    );
}
