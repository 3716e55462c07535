//! Carries out the operations of a trace with smb-rs.
//!
//! Not here: operations by name, and locks. The native driver sends an operation by
//! name as CREATE, a request and CLOSE in one frame. smb-rs has no such frames and
//! no LOCK, so the plan refuses traces with those verbs.
//!
//! Two kinds of calls send nothing, because smb-rs does not send them. A call on a
//! handle that is not open ends with STATUS_FILE_CLOSED, as servers answer the
//! native driver. A READ or WRITE of no bytes succeeds.
//!
//! A [`File`] of smb-rs keeps the length that the file had when it was opened, and
//! reads nothing beyond it. Traces read what they have written. Each handle
//! therefore has a `File` of unlimited length, which takes over the open of every
//! CREATE.

use std::mem;
use std::sync::Arc;

use smb::{File, FileDispositionInformation, Resource, ResourceHandle};
use smbench_model::action::QueryClass;
use smbench_model::kind::OpKind;
use smbench_model::trace::{InfoLevel, Record, Trace};
use smbench_protocol::NtStatus;

use super::calls::{self, CallOutcome, Ended, arguments, running};
use super::link::Link;
use super::{Caller, Made, Running, unsent};
use crate::drivers::driver::Call;
use crate::drivers::requests::recorded::{recorded, set_class};
use crate::drivers::site::Site;
use crate::smb::session::{Session, SessionError};
use crate::smb::share::{REPLAY_DIRECTORY, join, populate};

/// Makes the calls of a trace.
pub(crate) struct TraceCaller {
    trace: Arc<Trace>,
    /// The directory of all clients.
    root: String,
    /// State of each member.
    players: Vec<ClientOpens>,
}

/// State of one client. It has one slot.
struct ClientOpens {
    client: u32,
    link: Arc<Link>,
    /// The directory of all clients.
    root: Arc<File>,
    /// Handles of the trace, and one for files that are opened against the record.
    handles: Box<[TraceHandle]>,
    /// Index of the handle that the last CREATE was to open.
    created: usize,
}

/// A handle of the trace.
struct TraceHandle {
    file: Arc<File>,
    is_open: bool,
}

impl Caller for TraceCaller {
    fn new(site: &Site) -> Result<Self, SessionError> {
        Ok(Self {
            trace: site.trace(),
            root: join(&site.directory, REPLAY_DIRECTORY),
            players: Vec::new(),
        })
    }

    /// Creates the files that a client needs at the start, in a session of our own.
    async fn prepare(&self, site: &Site, client: u32) -> Result<(), SessionError> {
        let mut session = Session::open(&site.endpoint.of_connection(client)).await?;
        populate(&mut session, &self.root, client, &self.trace, site.salt).await?;
        session.log_off().await;
        Ok(())
    }

    async fn open(
        &mut self,
        site: &Site,
        client: u32,
        link: &Arc<Link>,
    ) -> Result<(), SessionError> {
        let root = link.open_directory(&site.endpoint, &self.root).await?;
        let mut handles = Vec::new();
        for _ in 0..=self.trace.handles {
            let closed = link.closed_directory(&site.endpoint, &self.root).await?;
            handles.push(TraceHandle {
                file: unlimited(closed),
                is_open: false,
            });
        }
        self.players.push(ClientOpens {
            client,
            link: Arc::clone(link),
            root: unlimited(root),
            handles: handles.into_boxed_slice(),
            created: 0,
        });
        Ok(())
    }

    fn begin(
        &mut self,
        call: &Call,
        buffers: &mut Vec<Vec<u8>>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Running {
        let (slot, operation) = (call.slot, &call.operation);
        let record = *self.trace.record(operation.action);
        let player = &mut self.players[call.member];
        let handle = match record {
            Record::Create {
                path,
                options,
                disposition,
                ..
            } if operation.kind == OpKind::Create => {
                player.created = operation.file as usize;
                let path = self.trace.path(path).display(player.client);
                let name = join(&self.root, &path);
                let arguments = arguments(&recorded("", options, disposition));
                return calls::create(slot, &player.link, name.into(), arguments);
            }
            Record::QueryFs { level } => return query(call, level, &player.root),
            _ => &mut player.handles[operation.file as usize],
        };
        if !handle.is_open {
            return unsent(slot, NtStatus::FILE_CLOSED);
        }
        let file = Arc::clone(&handle.file);
        match record {
            Record::Read { length: 0, .. } | Record::Write { length: 0, .. } => {
                unsent(slot, NtStatus::SUCCESS)
            }
            Record::Read { .. } => calls::read(call, file, 0, buffers),
            Record::Write { .. } => calls::write(call, file, data),
            Record::Flush(_) => calls::flush(slot, file),
            // A CREATE here is the close of a file that was opened against its record.
            Record::Close(_) | Record::Create { .. } => {
                handle.is_open = false;
                running(slot, async move {
                    file.close().await?;
                    Ok(CallOutcome::default())
                })
            }
            Record::QueryFile { level, .. } => query(call, level, &file),
            Record::SetFile { level, size, .. } => {
                running(slot, async move { set(&file, level, size).await })
            }
            // A plan for this driver has no other kinds.
            other => unreachable!("smb-rs is not asked for {}", other.verb()),
        }
    }

    fn keep(&mut self, slot: u32, made: Made) {
        let Made::Resource(mut made) = made else {
            return;
        };
        let player = &mut self.players[slot as usize];
        let TraceHandle { file, is_open } = &mut player.handles[player.created];
        let Some(file) = Arc::get_mut(file) else {
            unreachable!("a client has one call at a time");
        };
        // The closed handle that was here goes with `made`.
        mem::swap::<ResourceHandle>(file, handle_of(&mut made));
        *is_open = true;
    }

    async fn close(&self, member: usize) -> smb::Result<()> {
        let player = &self.players[member];
        for handle in player.handles.iter().filter(|handle| handle.is_open) {
            handle.file.close().await?;
        }
        player.root.close().await
    }
}

/// Makes a file that READs do not take for shorter than they ask.
fn unlimited(handle: ResourceHandle) -> Arc<File> {
    Arc::new(File::new(handle, u64::MAX))
}

fn handle_of(resource: &mut Resource) -> &mut ResourceHandle {
    match resource {
        Resource::File(file) => file,
        Resource::Directory(directory) => directory,
        Resource::Pipe(pipe) => pipe,
    }
}

fn query(call: &Call, level: InfoLevel, file: &Arc<File>) -> Running {
    let Some(class) = QueryClass::numbered(call.operation.kind, level.class) else {
        unreachable!("smb-rs is not asked for class {}", level.class);
    };
    let file = Arc::clone(file);
    running(call.slot, async move {
        calls::query(file.handle(), class).await
    })
}

/// Sends the SET_INFO of a trace, with the values that the native driver chooses.
async fn set(file: &File, level: InfoLevel, size: u64) -> Ended {
    match set_class(level.class) {
        Some(class) => calls::set(file.handle(), class, size, "").await,
        None => {
            let delete_pending = false.into();
            file.set_info(FileDispositionInformation { delete_pending })
                .await?;
            Ok(CallOutcome::default())
        }
    }
}
