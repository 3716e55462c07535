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
use smbench_model::trace::{InfoLevel, Record};
use smbench_protocol::NtStatus;

use super::calls::{self, CallOutcome, Ended, arguments, running};
use super::link::Link;
use super::{Caller, Made, Running, unsent};
use crate::drivers::driver::{Busy, Call};
use crate::drivers::replaying::{RecordNames, Replaying, places, root_of};
use crate::drivers::requests::recorded::{recorded, set_class};
use crate::drivers::site::Site;
use crate::smb::session::{Session, SessionError};

/// Makes the calls of a trace.
pub(crate) struct TraceCaller {
    replaying: Replaying<TraceHandle>,
    /// State of each member.
    clients: Vec<ClientRoot>,
}

/// The session of a client.
struct ClientRoot {
    link: Arc<Link>,
    /// The directory of all clients.
    root: Arc<File>,
}

/// A handle of the trace.
struct TraceHandle {
    file: Arc<File>,
    is_open: bool,
}

impl Caller for TraceCaller {
    fn new(site: &Site) -> Result<Self, SessionError> {
        Ok(Self {
            replaying: Replaying::of_site(site)?,
            clients: Vec::new(),
        })
    }

    /// Creates the files that a client needs at the start, in a session of our own.
    async fn prepare(&self, site: &Site, client: u32) -> Result<(), SessionError> {
        let mut session = Session::open(&site.endpoint.of_connection(client)).await?;
        let replaying = &self.replaying;
        replaying.populate(site, client, &mut session).await?;
        session.log_off().await;
        Ok(())
    }

    async fn open(
        &mut self,
        site: &Site,
        client: u32,
        link: &Arc<Link>,
    ) -> Result<(), SessionError> {
        let (path, trace) = (root_of(site), site.track(client));
        let root = link.open_directory(&site.endpoint, &path).await?;
        let mut handles = Vec::new();
        for _ in 0..places(trace) {
            let closed = link.closed_directory(&site.endpoint, &path).await?;
            handles.push(TraceHandle {
                file: unlimited(closed),
                is_open: false,
            });
        }
        self.replaying.add(site, client, handles)?;
        self.clients.push(ClientRoot {
            link: Arc::clone(link),
            root: unlimited(root),
        });
        Ok(())
    }

    fn check(&self, call: &Call) -> Result<(), Busy> {
        self.replaying.check(call)
    }

    fn begin(
        &mut self,
        call: &Call,
        buffers: &mut Vec<Vec<u8>>,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Running {
        let (slot, replaying) = (call.slot, &mut self.replaying);
        let record = replaying.record(call);
        replaying.begin(call, false);
        let client = &self.clients[call.member];
        let handle = match record {
            Record::Create {
                options,
                disposition,
                ..
            } => {
                let RecordNames { name, detail, .. } = replaying.names(call.member, &record);
                let arguments = arguments(&recorded("", options, disposition, detail));
                let name = name.to_string();
                return calls::create(slot, &client.link, name.into(), arguments);
            }
            Record::QueryFs { level } => return query(call, level, &client.root),
            _ => replaying.handle(call),
        };
        if !handle.is_open {
            return unsent(slot, NtStatus::FILE_CLOSED);
        }
        let file = Arc::clone(&handle.file);
        match record {
            Record::Read { length: 0, .. } | Record::Write { length: 0, .. } => {
                unsent(slot, NtStatus::SUCCESS)
            }
            Record::Read { flags, .. } => calls::read(call, file, flags, buffers),
            Record::Write { .. } => calls::write(call, file, data),
            Record::Flush(_) => calls::flush(slot, file),
            Record::Close { .. } => {
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
        let TraceHandle { file, is_open } = self.replaying.end(slot);
        let Made::Resource(mut made) = made else {
            return;
        };
        let Some(file) = Arc::get_mut(file) else {
            unreachable!("a client has one call at a time");
        };
        // The closed handle that was here goes with `made`.
        mem::swap::<ResourceHandle>(file, handle_of(&mut made));
        *is_open = true;
    }

    async fn close(&self, member: usize) -> smb::Result<()> {
        let handles = self.replaying.handles_of(member).iter();
        for handle in handles.filter(|handle| handle.is_open) {
            handle.file.close().await?;
        }
        self.clients[member].root.close().await
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
