//! State of the clients of a group, and what answers and breaks change in it.

use std::hint;

use smbench_model::Nanos;
use smbench_model::sessions::Caching;
use smbench_protocol::cifs::command::lock::CifsBreak;
use smbench_protocol::cifs::handshake::{CifsSetup, CifsSetupProgress};
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::cifs::{CifsCompletion, CifsConnection, CifsTree, FileNumber};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::{HandshakeError, NtStatus, ProtocolError, SessionIndex};

use super::answer::{self, CifsAnswered, CreatedOpen};
use super::encode::CifsEncode;
use super::search::CifsSearch;
use crate::drivers::driver::{Answer, Call, Extent, Sink, slot_of};
use crate::drivers::dropped::Dropped;
use crate::drivers::prepare::FilePath;
use crate::drivers::renewals::Renewals;
use crate::drivers::site::Site;
use crate::drivers::walking::WalkedDirectory;
use crate::smb::session::cifs::CifsSession;

/// Tag of the ECHO behind a NOTIFY_CHANGE of the first slot; those of the others follow. Slots
/// have smaller tags.
pub(super) const WATCH_TAG: u32 = 1 << 30;

/// State of the clients of a group.
pub(crate) struct CifsGroup<E> {
    pub(super) encoder: E,
    /// State of each member.
    pub(super) held: Box<[CifsClient]>,
    /// State of each slot, in the order of the members.
    pub(super) places: Box<[CifsPlace]>,
    /// Number of slots of each member.
    pub(super) outstanding: usize,
    pub(super) renewals: Renewals<Box<CifsSetup>>,
    /// The oplock that opens ask for.
    pub(super) asked: OplockLevel,
    /// The opens with oplocks.
    oplocks: Vec<CreatedOpen>,
    /// Breaks to acknowledge, and the sessions of their opens.
    pub(super) due: Vec<(SessionIndex, CifsBreak)>,
    /// Requests that are to be cancelled once their session is reauthenticated.
    pub(super) uncancelled: Vec<(SessionIndex, u32)>,
}

/// The session of a client and its open files.
pub(crate) struct CifsClient {
    pub(super) session: SessionIndex,
    /// Open files, private or shared; empty if no action uses them.
    pub(super) files: Box<[FileNumber]>,
    /// Path of a file; `None` if no action opens files.
    pub(super) path: Option<Box<FilePath>>,
    /// The run's directory, if any action uses it.
    pub(super) directory: FileNumber,
}

/// State of a slot.
#[derive(Default)]
pub(crate) struct CifsPlace {
    /// The open that the NT_CREATE_ANDX of its action created.
    pub(super) open: FileNumber,
    /// The tree that the TREE_CONNECT_ANDX of its action connected.
    pub(super) tree: CifsTree,
    /// Whether its NT_CREATE_ANDX asked for an oplock.
    pub(super) asks_to_cache: bool,
    /// Its search for names.
    pub(super) search: CifsSearch,
    /// The directory of a walk that it lists; `None` if clients do not walk.
    pub(super) walked: Option<Box<WalkedDirectory>>,
    /// Number of ECHOs behind its NOTIFY_CHANGE requests without an answer.
    pub(super) echoes: u32,
    /// A further session that is set up or being set up.
    pub(super) further: Option<CifsFurther>,
    /// Paths of its scratch names, in the order of
    /// [`ScratchName::ALL`](smbench_model::files::ScratchName::ALL).
    pub(super) paths: Box<[WireName]>,
    /// The new name of a rename, without its path: servers rename within a directory.
    pub(super) renamed: WireName,
}

/// A session of a slot, in addition to that of its client.
pub(super) enum CifsFurther {
    Opening(Box<CifsSetup>),
    LoggedOn(SessionIndex),
}

/// Returns the oplock of a kind of caching. CIFS has no leases, and no request for level
/// II; a plan has neither.
pub(super) const fn oplock_of(caching: Caching) -> OplockLevel {
    match caching {
        Caching::Oplock(level) => level,
        Caching::None | Caching::Lease(_) | Caching::DirectoryLease(_) => OplockLevel::None,
    }
}

impl<E> CifsGroup<E> {
    pub(super) fn new(
        site: &Site,
        encoder: E,
        held: Vec<CifsClient>,
        places: Vec<CifsPlace>,
        oplocks: Vec<CreatedOpen>,
        renewals: Renewals<Box<CifsSetup>>,
    ) -> Self {
        Self {
            encoder,
            held: held.into_boxed_slice(),
            places: places.into_boxed_slice(),
            outstanding: site.plan.only().outstanding as usize,
            renewals,
            asked: oplock_of(site.plan.sessions.caching),
            oplocks,
            due: Vec::new(),
            uncancelled: Vec::new(),
        }
    }

    /// Returns the held-open file of a call.
    pub(super) fn held_file(&self, call: &Call) -> FileNumber {
        self.held[call.member].files[call.operation.file as usize]
    }

    /// Starts the reauthentication of the session to which a slot belongs.
    #[cold]
    fn expired(&mut self, slot: u32, now: Nanos) {
        self.renewals.found(slot_of(slot) / self.outstanding, now);
    }

    /// Makes the acknowledgement of a break due again, because its session has expired.
    #[cold]
    pub(super) fn unreleased(&mut self, session: SessionIndex, broken: CifsBreak, now: Nanos) {
        if let Some(member) = member_of(&self.held, session) {
            self.renewals.found(member, now);
            self.due.push((session, broken));
        }
    }

    /// Makes a cancel due again, because its session has expired.
    #[cold]
    pub(super) fn uncancelled(&mut self, session: SessionIndex, tag: u32, now: Nanos) {
        if let Some(member) = member_of(&self.held, session) {
            self.renewals.found(member, now);
            self.uncancelled.push((session, tag));
        }
    }

    /// Processes the answer to the ECHO behind a NOTIFY_CHANGE. A server says nothing when it
    /// accepts a NOTIFY_CHANGE. But it processes requests in order, so it has accepted one
    /// that it has not answered by then.
    #[cold]
    pub(super) fn watched(
        &mut self,
        done: &CifsCompletion<'_>,
        connection: &CifsConnection,
        now: Nanos,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let slot = done.tag - WATCH_TAG;
        if done.status == NtStatus::NETWORK_SESSION_EXPIRED {
            self.expired(slot, now);
        }
        let place = &mut self.places[slot as usize];
        place.echoes = place.echoes.saturating_sub(1);
        // Only the last ECHO is behind the request in flight.
        if place.echoes == 0 && connection.is_in_flight(slot) {
            sink.answer(&Answer::bare(slot, Extent::Interim, NtStatus::PENDING))?;
        }
        Ok(())
    }

    /// Returns whether the break of an oplock is to be acknowledged (MS-CIFS 3.2.5.42).
    /// Notes the level that is left.
    #[cold]
    pub(super) fn is_to_be_released(&mut self, broken: &CifsBreak) -> bool {
        let mut oplocks = self.oplocks.iter_mut();
        // The break of a file that was closed meanwhile needs no answer.
        let Some((_, level)) = oplocks.find(|(file, _)| *file == broken.file) else {
            return false;
        };
        let before = std::mem::replace(level, broken.level);
        matches!(before, OplockLevel::Exclusive | OplockLevel::Batch)
    }
}

/// Returns the member to which this session belongs.
pub(super) fn member_of(held: &[CifsClient], session: SessionIndex) -> Option<usize> {
    held.iter().position(|held| held.session == session)
}

/// Notes breaks that were acknowledged before the load.
pub(super) fn note_breaks(oplocks: &mut [CreatedOpen], breaks: &[CifsBreak]) {
    for CifsBreak { file, level } in breaks {
        let mut oplocks = oplocks.iter_mut();
        if let Some((_, left)) = oplocks.find(|(open, _)| open == file) {
            *left = *level;
        }
    }
}

/// Notes the oplock of an open, or its end. `open` is the open that a CLOSE closed.
fn note(
    oplocks: &mut Vec<CreatedOpen>,
    done: &CifsCompletion<'_>,
    open: FileNumber,
    created: Option<CreatedOpen>,
) {
    match done.command {
        CifsCommand::NtCreateAndX => {
            if let Some((file, _)) = created {
                oplocks.retain(|(other, _)| *other != file);
            }
            oplocks.extend(created.filter(|(_, level)| *level != OplockLevel::None));
        }
        CifsCommand::Close if done.status != NtStatus::NETWORK_SESSION_EXPIRED => {
            oplocks.retain(|(file, _)| *file != open);
        }
        _ => {}
    }
}

impl<E: CifsEncode> CifsGroup<E> {
    /// Processes the answer to a request of a slot.
    #[inline]
    pub(super) fn completed(
        &mut self,
        done: &CifsCompletion<'_>,
        session: &mut CifsSession,
        now: Nanos,
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let place = self.places.get_mut(done.tag as usize);
        if place.as_ref().is_some_and(|place| place.further.is_some()) {
            hint::cold_path();
            return self.further_answered(done, session, now, out, sink);
        }
        let (mut answer, created) = answer::of(done).map_err(ProtocolError::from)?;
        // A mix of only READs, WRITEs and FLUSHes has no places. None of them opens or closes.
        if let Some(place) = place {
            if place.asks_to_cache
                && let Some((_, level)) = created
            {
                sink.granted(Caching::granted(level, None));
            }
            note(&mut self.oplocks, done, place.open, created);
            answer = match place.note_found(done, answer) {
                Ok(answer) => answer,
                Err(fault) => return Err(fault.into_dropped().map_err(ProtocolError::from)?),
            };
            answer::keep(done, created, place).map_err(ProtocolError::from)?;
            if let Some(walked) = &mut place.walked {
                walked.report(sink);
            }
        }
        if answer.extent == Extent::Expired {
            hint::cold_path();
            self.expired(done.tag, now);
        }
        let answered = CifsAnswered { answer, done };
        if let Some(answer) = E::answered(self, answered, session, out)? {
            sink.answer(&answer)?;
        }
        Ok(())
    }

    /// Processes an answer for the further session of a slot.
    #[cold]
    fn further_answered(
        &mut self,
        done: &CifsCompletion<'_>,
        session: &mut CifsSession,
        now: Nanos,
        out: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        let place = &mut self.places[done.tag as usize];
        let connection = &mut session.connection;
        let status = match place.further.take() {
            Some(CifsFurther::Opening(mut setup)) => match setup.receive(connection, done, out) {
                Ok(CifsSetupProgress::NotYet) => {
                    place.further = Some(CifsFurther::Opening(setup));
                    return Ok(());
                }
                Ok(CifsSetupProgress::Ready(further)) => {
                    place.further = Some(CifsFurther::LoggedOn(further));
                    NtStatus::SUCCESS
                }
                // The ticket expired during the log-on, which is tried again with a new
                // ticket.
                Err(HandshakeError::Refused { status, .. })
                    if status == NtStatus::NETWORK_SESSION_EXPIRED =>
                {
                    self.expired(done.tag, now);
                    return sink.answer(&Answer::bare(done.tag, Extent::Expired, status));
                }
                Err(HandshakeError::Refused { status, .. }) => status,
                Err(HandshakeError::Protocol(error)) => return Err(error.into()),
                Err(error) => return Err(Dropped::LogOn(error.to_string())),
            },
            Some(CifsFurther::LoggedOn(further)) => {
                connection.forget(further);
                match done.status {
                    // A failure, but not the end of the client's own session.
                    NtStatus::NETWORK_SESSION_EXPIRED => NtStatus::UNSUCCESSFUL,
                    status => status,
                }
            }
            None => done.status,
        };
        sink.answer(&Answer::bare(done.tag, Extent::Final, status))
    }
}
