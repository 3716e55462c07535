//! Encodes the operations of a mix as requests. Nothing here allocates: names are encoded
//! and files are opened before the load begins.

use std::sync::Arc;

use smbench_model::action::{Action, QueryClass};
use smbench_model::kind::OpKind;
use smbench_model::operations::Mix;
use smbench_protocol::cifs::command::find::{FindFirst2Request, find_flags, find_level};
use smbench_protocol::cifs::command::information::{CifsTarget, level};
use smbench_protocol::cifs::command::nt_transact::{
    NotifyChangeRequest, QuerySecurityRequest, WatchScope,
};
use smbench_protocol::cifs::command::session::encode_logoff;
use smbench_protocol::cifs::command::tree::{encode_tree_connect, share_path};
use smbench_protocol::cifs::command::write::WriteMode;
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::cifs::{FileNumber, TRANSACTION_DATA_MAX};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::command::query_directory::DirectoryClass;
use smbench_protocol::connection::NoCredit;
use smbench_protocol::{FileId, HandshakeError};

use super::answer::CifsAnswered;
use super::encode::CifsEncode;
use super::group::{CifsClient, CifsFurther, CifsGroup, CifsPlace, WATCH_TAG};
use super::open;
use super::to::CifsTo;
use crate::drivers::driver::{Answer, Busy, Call};
use crate::drivers::dropped::Dropped;
use crate::drivers::folder::NumberedPaths;
use crate::drivers::prepare::share;
use crate::drivers::requests::create::{self, Name};
use crate::drivers::requests::flags_of_lock;
use crate::drivers::requests::info::{self, ANSWER_LEN, CHANGES_LEN};
use crate::drivers::site::Site;
use crate::drivers::walking::WalkQueue;
use crate::machine::clock;
use crate::smb::session::SessionError;
use crate::smb::session::cifs::{CifsSession, SEARCH_ATTRIBUTES};

/// Number of names that a listing asks for at most: as many as fit the answer.
pub(super) const NAMES: u16 = u16::MAX;

/// Encodes the operations of a mix.
pub(crate) struct CifsMix {
    pub(super) mix: Arc<Mix>,
    /// Search pattern of each action of the mix.
    patterns: Box<[WireName]>,
    /// Pattern of the names in a directory, of each action of the mix.
    pub(super) names: Box<[WireName]>,
    /// Paths by number.
    pub(super) folder: NumberedPaths,
    /// The directories that each member walks; empty if clients do not walk.
    pub(super) walks: Vec<WalkQueue>,
    /// Name of the share, for further tree connects.
    share: WireName,
    /// Size of each file in bytes.
    file_size: u64,
}

impl CifsEncode for CifsMix {
    fn new(site: &Site) -> Result<Self, SessionError> {
        Ok(Self {
            mix: Arc::clone(&site.mix),
            patterns: open::patterns(site)?,
            names: open::names(site)?,
            folder: NumberedPaths::of(site)?,
            walks: Vec::new(),
            share: share(site, share_path)?,
            file_size: site.plan.only().workload.files.size,
        })
    }

    async fn prepare(
        &mut self,
        site: &Site,
        client: u32,
        session: &mut CifsSession,
        _: &mut CifsClient,
    ) -> Result<Vec<CifsPlace>, SessionError> {
        self.walks.extend(WalkQueue::of(site)?);
        open::places(site, client, session).await
    }

    #[inline]
    fn encode(
        group: &mut CifsGroup<Self>,
        session: &mut CifsSession,
        call: &Call,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let operation = &call.operation;
        if operation.kind == OpKind::LogOn {
            return group.log_on(session, call, out);
        }
        let to = CifsTo {
            connection: &mut session.connection,
            session: group.held[call.member].session,
            tag: call.slot,
            out,
        };
        match operation.kind {
            OpKind::Read => to.read(group.held_file(call), operation),
            OpKind::Write => {
                let mode = match group.encoder.mix.action(operation) {
                    Action::Write {
                        write_through: true,
                        ..
                    } => WriteMode::Through,
                    _ => WriteMode::Buffered,
                };
                to.write(group.held_file(call), operation, mode, data)
            }
            OpKind::Flush | OpKind::FinalFlush => to.flush(group.held_file(call)),
            OpKind::WalkOpen => return group.walk(call, to),
            kind if kind.is_step() => group.list(call, to),
            _ => group.encode_rest(call, to),
        }
        .map_err(|NoCredit| Busy::Credits)
    }

    #[inline]
    fn answered<'a>(
        _: &mut CifsGroup<Self>,
        answered: CifsAnswered<'a, '_>,
        _: &mut CifsSession,
        _: &mut Vec<u8>,
    ) -> Result<Option<Answer<'a>>, Dropped> {
        Ok(Some(answered.answer))
    }
}

impl CifsGroup<CifsMix> {
    /// Returns the action of a call.
    fn action(&self, call: &Call) -> &Action {
        self.encoder.mix.action(&call.operation)
    }

    /// Encodes operations that carry no data of their own.
    fn encode_rest(&mut self, call: &Call, to: CifsTo<'_>) -> Result<(), NoCredit> {
        let place = call.slot as usize;
        match call.operation.kind {
            OpKind::Create => self.create(call, to),
            OpKind::Close => to.close(self.places[place].open),
            OpKind::Lock | OpKind::Unlock => {
                let flags = flags_of_lock(call.operation.kind, self.action(call));
                to.lock(self.held_file(call), flags, &call.operation)
            }
            OpKind::QueryFile
            | OpKind::QueryFs
            | OpKind::QuerySecurity
            | OpKind::SetFile
            | OpKind::Rename
            | OpKind::Delete
            | OpKind::SetSecurity => self.info(call, to),
            OpKind::QueryDirectory | OpKind::ChangeNotify => self.directory(call, to),
            OpKind::Cancel => {
                let (session, tag) = (to.session, to.tag);
                let cancelled = to.connection.cancel(session, tag, to.out);
                cancelled.unwrap_or_else(|_| {
                    unreachable!("the loop knows of every answer before it cancels")
                });
                Ok(())
            }
            OpKind::Echo => to.connection.echo(to.session, to.tag, to.out),
            OpKind::TreeConnect => {
                let share = &self.encoder.share;
                to.request(CifsCommand::TreeConnectAndX, |out| {
                    encode_tree_connect(share, out);
                })
            }
            OpKind::TreeDisconnect => {
                let tree = self.places[place].tree;
                to.connection
                    .tree_disconnect(to.session, to.tag, tree, to.out)
            }
            OpKind::LogOff => {
                let Some(CifsFurther::LoggedOn(further)) = self.places[place].further else {
                    unreachable!("only a session that stands is logged off");
                };
                let to = CifsTo {
                    session: further,
                    ..to
                };
                to.request(CifsCommand::LogoffAndX, encode_logoff)
            }
            other => unreachable!("a plan of CIFS has no {}", other.name()),
        }
    }

    /// Begins a log-on with the credentials of the client's own session.
    #[cold]
    fn log_on(
        &mut self,
        session: &mut CifsSession,
        call: &Call,
        out: &mut Vec<u8>,
    ) -> Result<(), Busy> {
        if session.connection.room() == 0 {
            return Err(Busy::Credits);
        }
        let credentials = self.renewals.credentials(call.member);
        match session.begin_log_on(credentials, call.slot, out) {
            Ok(setup) => {
                let further = CifsFurther::Opening(Box::new(setup));
                self.places[call.slot as usize].further = Some(further);
                Ok(())
            }
            Err(HandshakeError::NoCredit(_)) => Err(Busy::Credits),
            // The ticket has expired, so the client's own session needs a new one as well.
            Err(_) => {
                self.renewals.found(call.member, clock::now());
                Err(Busy::Session)
            }
        }
    }

    fn create(&mut self, call: &Call, to: CifsTo<'_>) -> Result<(), NoCredit> {
        let mix = &self.encoder.mix;
        let action = mix.action(&call.operation);
        let name = match create::name(action) {
            Name::File => {
                let path = self.held[call.member].path.as_mut();
                path.unwrap_or_else(|| unreachable!("the actions open files"))
                    .of(mix.files(), call.operation.file)
            }
            Name::Scratch(name) => &self.places[call.slot as usize].paths[name as usize],
        };
        let mut request = create::request(action, name, &[]);
        let asks = self.asked != OplockLevel::None && create::may_cache(action);
        if asks {
            request.oplock = self.asked;
        }
        let sent = to.create(&request);
        self.places[call.slot as usize].asks_to_cache = asks;
        sent
    }

    /// Encodes queries and changes of an open file.
    fn info(&self, call: &Call, to: CifsTo<'_>) -> Result<(), NoCredit> {
        let file = self.held_file_or_open(call);
        match self.action(call) {
            Action::QueryInfo { class } => query(*class, call, self, to),
            Action::SetInfo { class } => {
                let renamed = if class.is_chain() {
                    let place = &self.places[call.slot as usize];
                    Some(&place.renamed)
                } else {
                    None
                };
                let set = info::set(*class, FileId::default(), self.encoder.file_size, renamed);
                to.set(file, &set.info, None)
            }
            other => unreachable!("{other:?} asks and sets nothing"),
        }
    }

    /// Returns the file that a change is about.
    fn held_file_or_open(&self, call: &Call) -> FileNumber {
        match self.action(call) {
            Action::SetInfo { class } if class.is_chain() => self.places[call.slot as usize].open,
            _ => self.held_file(call),
        }
    }

    fn directory(&mut self, call: &Call, to: CifsTo<'_>) -> Result<(), NoCredit> {
        match self.action(call) {
            Action::QueryDirectory { class, .. } => {
                let pattern = &self.encoder.patterns[call.operation.action as usize];
                let find = FindFirst2Request {
                    search_attributes: SEARCH_ATTRIBUTES,
                    search_count: NAMES,
                    flags: find_flags::SMB_FIND_CLOSE_AFTER_REQUEST,
                    level: level_of(*class),
                    pattern,
                    max_data: TRANSACTION_DATA_MAX,
                };
                to.transaction2(|out| find.encode(out))?;
                self.places[call.slot as usize].search.asks_for_part();
                Ok(())
            }
            Action::ChangeNotify { filter, recursive } => {
                let watch = NotifyChangeRequest {
                    fid: self.held[call.member].directory.0,
                    completion_filter: info::changes(filter),
                    watched: if *recursive {
                        WatchScope::Tree
                    } else {
                        WatchScope::Directory
                    },
                    max_parameters: CHANGES_LEN,
                };
                let CifsTo {
                    connection,
                    session,
                    tag,
                    out,
                } = to;
                if connection.room() < 2 {
                    return Err(NoCredit);
                }
                let command = CifsCommand::NtTransact;
                connection.request(session, command, tag, out, |out| watch.encode(out))?;
                self.places[call.slot as usize].echoes += 1;
                connection.echo(session, WATCH_TAG + tag, out)
            }
            other => unreachable!("{other:?} is about no directory"),
        }
    }
}

fn query(
    class: QueryClass,
    call: &Call,
    group: &CifsGroup<CifsMix>,
    to: CifsTo<'_>,
) -> Result<(), NoCredit> {
    let file = group.held_file(call);
    let level = level_of_query(class);
    match class.kind() {
        OpKind::QueryFs => to.query_fs(level, ANSWER_LEN as u16),
        OpKind::QuerySecurity => {
            let request = QuerySecurityRequest {
                fid: file.0,
                parts: info::SECURITY_PARTS,
                max_data: ANSWER_LEN,
            };
            to.request(CifsCommand::NtTransact, |out| request.encode(out))
        }
        _ => to.query(CifsTarget::Fid(file.0), level, ANSWER_LEN as u16),
    }
}

/// Returns the level of a query. A class without a level of its own is passed through, which
/// not every server can (CAP_INFOLEVEL_PASSTHRU).
const fn level_of_query(class: QueryClass) -> u16 {
    match class {
        QueryClass::Basic => level::SMB_QUERY_FILE_BASIC_INFO,
        QueryClass::Standard => level::SMB_QUERY_FILE_STANDARD_INFO,
        QueryClass::Ea => level::SMB_QUERY_FILE_EA_INFO,
        QueryClass::All => level::SMB_QUERY_FILE_ALL_INFO,
        QueryClass::Stream => level::SMB_QUERY_FILE_STREAM_INFO,
        QueryClass::FsVolume => level::SMB_QUERY_FS_VOLUME_INFO,
        QueryClass::FsSize => level::SMB_QUERY_FS_SIZE_INFO,
        QueryClass::FsDevice => level::SMB_QUERY_FS_DEVICE_INFO,
        QueryClass::FsAttribute => level::SMB_QUERY_FS_ATTRIBUTE_INFO,
        passed_through => level::SMB_INFO_PASSTHROUGH + passed_through.number() as u16,
    }
}

/// Returns the level of a listing. Servers pass no class of a listing through.
pub(super) const fn level_of(class: DirectoryClass) -> u16 {
    match class {
        DirectoryClass::Directory => find_level::SMB_FIND_FILE_DIRECTORY_INFO,
        DirectoryClass::FullDirectory => find_level::SMB_FIND_FILE_FULL_DIRECTORY_INFO,
        DirectoryClass::Names => find_level::SMB_FIND_FILE_NAMES_INFO,
        DirectoryClass::BothDirectory => find_level::SMB_FIND_FILE_BOTH_DIRECTORY_INFO,
        DirectoryClass::IdFullDirectory => find_level::SMB_FIND_FILE_ID_FULL_DIRECTORY_INFO,
        DirectoryClass::IdBothDirectory => find_level::SMB_FIND_FILE_ID_BOTH_DIRECTORY_INFO,
    }
}
