//! State of the clients of a group, and what answers and breaks change in it.

use std::hint;

use smbench_model::Nanos;
use smbench_model::sessions::Caching;
use smbench_protocol::cifs::command::lock::CifsBreak;
use smbench_protocol::cifs::handshake::{CifsSetup, CifsSetupProgress};
use smbench_protocol::cifs::header::CifsCommand;
use smbench_protocol::cifs::{CifsCompletion, CifsTree, FileNumber};
use smbench_protocol::command::WireName;
use smbench_protocol::command::create::OplockLevel;
use smbench_protocol::{HandshakeError, NtStatus, ProtocolError, SessionIndex};

use super::CifsEncode;
use super::answer::{self, CifsAnswered, CreatedOpen};
use crate::drivers::driver::{Answer, Call, Extent, Sink};
use crate::drivers::dropped::Dropped;
use crate::drivers::renewals::Renewals;
use crate::drivers::site::Site;
use crate::smb::session::cifs::CifsSession;

/// State of the clients of a group.
pub(crate) struct CifsGroup<E> {
    pub(super) encoder: E,
    /// State of each member.
    pub(super) held: Box<[CifsClient]>,
    /// State of each slot, in the order of the members.
    pub(super) places: Box<[CifsPlace]>,
    /// Number of slots of each member.
    outstanding: usize,
    pub(super) renewals: Renewals<Box<CifsSetup>>,
    /// The oplock that opens ask for.
    pub(super) asked: OplockLevel,
    /// The opens with oplocks.
    oplocks: Vec<CreatedOpen>,
    /// Slots whose NOTIFY_CHANGE was sent. A server says nothing when it accepts one, so it
    /// counts as accepted then.
    pub(super) watching: Vec<u32>,
}

/// The session of a client and its open files.
pub(crate) struct CifsClient {
    pub(super) session: SessionIndex,
    /// Open files, private or shared; empty if no action uses them.
    pub(super) files: Box<[FileNumber]>,
    /// Paths of the files; empty if no action opens them.
    pub(super) paths: Box<[WireName]>,
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
        Caching::None | Caching::Lease(_) => OplockLevel::None,
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
            outstanding: site.plan.work.outstanding as usize,
            renewals,
            asked: oplock_of(site.plan.sessions.caching),
            oplocks,
            watching: Vec::new(),
        }
    }

    /// Returns the held-open file of a call.
    pub(super) fn held_file(&self, call: &Call) -> FileNumber {
        self.held[call.member].files[call.operation.file as usize]
    }

    /// Starts the reauthentication of the session to which a slot belongs.
    #[cold]
    fn expired(&mut self, slot: u32, now: Nanos) {
        self.renewals.found(slot as usize / self.outstanding, now);
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

/// Notes the oplock of an open, or its end. `open` is the open that a CLOSE closed.
fn note(
    oplocks: &mut Vec<CreatedOpen>,
    command: CifsCommand,
    open: FileNumber,
    created: Option<CreatedOpen>,
) {
    match command {
        CifsCommand::NtCreateAndX => {
            oplocks.extend(created.filter(|(_, level)| *level != OplockLevel::None));
        }
        CifsCommand::Close => oplocks.retain(|(file, _)| *file != open),
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
        let (answer, created) = answer::of(done).map_err(ProtocolError::from)?;
        // Only READs, WRITEs and FLUSHes have no place. None of them opens or closes.
        if let Some(place) = place {
            if place.asks_to_cache
                && let Some((_, level)) = created
            {
                sink.granted(Caching::granted(level, None));
            }
            note(&mut self.oplocks, done.command, place.open, created);
            answer::keep(done, created, place).map_err(ProtocolError::from)?;
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
                Err(error) => return Err(Dropped::LogOn(error.to_string())),
            },
            Some(CifsFurther::LoggedOn(further)) => {
                connection.forget(further);
                done.status
            }
            None => done.status,
        };
        sink.answer(&Answer::bare(done.tag, Extent::Final, status))
    }
}
