//! The handles of files held open: opens them, asks the server to keep them, and takes them back
//! after a lost connection (MS-SMB2 3.2.4.4).

use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::contents::block::Salt;
use smbench_model::random::finalise;
use smbench_model::record::Reclaimed;
use smbench_model::sessions::{Caching, HandleDurability};
use smbench_model::setting::Advice;
use smbench_protocol::command::create::{CreateRequest, CreateResponse, options};
use smbench_protocol::command::create_context::{CreateContext, GrantedContexts, GrantedDurable};
use smbench_protocol::{Dialect, FileId, NtStatus, SessionIndex, random};
use tokio::time::sleep;

use crate::drivers::listings;
use crate::drivers::prepare::{file_path, held_access, held_files};
use crate::drivers::reconnecting::ReconnectPolicy;
use crate::drivers::remains::{ClientRemains, HeldHandle, KeepPromise, SessionRemains};
use crate::drivers::site::Site;
use crate::machine::clock;
use crate::smb::session::caching::{Object, Oplock};
use crate::smb::session::{Session, SessionError};

/// Asks for a persistent handle (SMB2_DHANDLE_FLAG_PERSISTENT).
const PERSISTENT: u32 = 2;
const NO_PERSISTENT_HANDLES: Advice = Advice(
    "grants no persistent handles, which need a continuously available share; give @handles \
     durable",
);

/// A handle is asked for again for this long, if the server does not know it. A busy server may
/// not be done with the lost connection yet, and knows its handles only then.
const SETTLING: Duration = Duration::from_millis(100);
/// Pause between two requests for a handle.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// Opens the files that a client holds open.
pub(super) struct Opener<'a> {
    site: &'a Site,
    client: u32,
    session: SessionIndex,
    /// Index of the client in its group.
    member: usize,
    /// The handles of the client's lost session.
    kept: &'a [HeldHandle],
    /// The caching granted for each file, if caching is requested.
    pub(super) granted: Vec<Caching>,
    /// The handles that the server was asked to keep.
    pub(super) handles: Vec<HeldHandle>,
    /// What became of those of the lost session.
    pub(super) reclaimed: Reclaimed,
    /// Until when a handle that the server does not know is asked for again.
    settled: Nanos,
}

/// An open that the server has answered, and what it was asked.
type Created = (CreateResponse, GrantedContexts);

impl<'a> Opener<'a> {
    pub(super) fn new(
        site: &'a Site,
        client: u32,
        session: SessionIndex,
        member: usize,
        kept: &'a [HeldHandle],
    ) -> Self {
        Self {
            site,
            client,
            session,
            member,
            kept,
            granted: Vec::new(),
            handles: Vec::new(),
            reclaimed: Reclaimed::default(),
            settled: clock::now() + SETTLING.into(),
        }
    }

    /// Opens the files, or takes their handles back.
    pub(super) async fn open_files(
        &mut self,
        session: &mut Session,
    ) -> Result<Box<[FileId]>, SessionError> {
        let files = held_files(self.site);
        let mut opened = Vec::with_capacity(files.len());
        for file in files {
            let path = file_path(self.site, self.client, file);
            let (created, contexts) = match self.kept.get(file as usize) {
                Some(&handle) => match self.reclaim(file, &path, &handle, session).await? {
                    Some(created) => created,
                    None => self.open(file, &path, session).await?,
                },
                None => self.open(file, &path, session).await?,
            };
            let file_id = created.file_id;
            if session.cache.is_on() {
                let level = created.oplock_level;
                let oplock = Oplock {
                    level,
                    session: self.session,
                };
                session.cache.hold(file_id, oplock);
                self.granted.push(granted(&(created, contexts)));
            }
            opened.push(file_id);
        }
        Ok(opened.into_boxed_slice())
    }

    /// Sends the CREATE of a file with these contexts, and returns the server's answer.
    async fn create(
        &self,
        file: u32,
        path: &str,
        asked: &[CreateContext],
        session: &mut Session,
    ) -> Result<Result<Created, NtStatus>, SessionError> {
        let object = Object::File(file);
        let parent = listings::parent(&self.site.plan.only().workload.files, object);
        let (oplock, lease) = session.cache.request(self.member, object, parent);
        let contexts: Vec<_> = lease.iter().chain(asked).copied().collect();
        let request = CreateRequest {
            options: options::FILE_NON_DIRECTORY_FILE,
            oplock,
            contexts: &contexts,
            ..CreateRequest::open(path, held_access(self.site.mix.actions()))
        };
        session.try_create(&doing(path), &request).await
    }

    /// Opens a file, and asks the server to keep the handle if the plan says so.
    async fn open(
        &mut self,
        file: u32,
        path: &str,
        session: &mut Session,
    ) -> Result<Created, SessionError> {
        let asked = self.site.plan.sessions.failover.handles;
        let create_guid = random();
        let dialect = session.connection.negotiated().dialect;
        let flags = match asked {
            HandleDurability::Persistent => PERSISTENT,
            HandleDurability::Durable | HandleDurability::None => 0,
        };
        let v2 = [
            CreateContext::DurableV2 {
                timeout_ms: 0,
                flags,
                create_guid,
            },
            CreateContext::AppInstanceId(app_instance(self.site.salt, self.client)),
        ];
        let contexts: &[CreateContext] = match asked {
            HandleDurability::None => &[],
            HandleDurability::Persistent if dialect < Dialect::Smb30 => {
                return Err(SessionError::NotInDialect {
                    what: "a persistent handle",
                    needs: "3.0 or later",
                    dialect,
                    at: session.share(),
                });
            }
            _ if dialect < Dialect::Smb30 => &[CreateContext::Durable],
            _ => &v2,
        };
        let created = self.create(file, path, contexts, session).await?;
        let created = created.map_err(|status| session.refused(&doing(path), status))?;
        if !contexts.is_empty() {
            let durable = created.1.durable;
            let is_persistent = |granted| match granted {
                GrantedDurable::V1 => false,
                GrantedDurable::V2 { flags, .. } => flags & PERSISTENT != 0,
            };
            if asked == HandleDurability::Persistent && !durable.is_some_and(is_persistent) {
                return Err(SessionError::Lacks {
                    lack: NO_PERSISTENT_HANDLES,
                    at: session.share(),
                });
            }
            self.handles.push(HeldHandle {
                file_id: created.0.file_id,
                create_guid,
                promise: match durable {
                    None => KeepPromise::None,
                    Some(GrantedDurable::V1) => KeepPromise::V1,
                    Some(GrantedDurable::V2 { .. }) => KeepPromise::V2,
                },
                caching: granted(&created),
            });
        }
        Ok(created)
    }

    /// Takes a handle back. Returns `None` if the server has not kept it.
    async fn reclaim(
        &mut self,
        file: u32,
        path: &str,
        handle: &HeldHandle,
        session: &mut Session,
    ) -> Result<Option<Created>, SessionError> {
        let HeldHandle {
            file_id,
            create_guid,
            promise,
            caching: before,
        } = *handle;
        let flags = match self.site.plan.sessions.failover.handles {
            HandleDurability::Persistent => PERSISTENT,
            HandleDurability::Durable | HandleDurability::None => 0,
        };
        let context = match promise {
            KeepPromise::None => {
                self.reclaimed.lose(None);
                return Ok(None);
            }
            KeepPromise::V1 => CreateContext::DurableReconnect(file_id),
            KeepPromise::V2 => CreateContext::DurableReconnectV2 {
                file_id,
                create_guid,
                flags,
            },
        };
        // Beside it, Samba accepts only the context of a lease.
        let contexts = [context];
        let mut answer = self.create(file, path, &contexts, session).await?;
        while answer == Err(NtStatus::OBJECT_NAME_NOT_FOUND) && clock::now() < self.settled {
            sleep(RETRY_PAUSE).await;
            answer = self.create(file, path, &contexts, session).await?;
        }
        match answer {
            Ok(created) => {
                let caching = granted(&created);
                self.reclaimed.kept += 1;
                if caching == before {
                    self.reclaimed.caching_kept += 1;
                } else {
                    self.reclaimed.caching_lost += 1;
                }
                // It stays as durable as it was.
                self.handles.push(HeldHandle {
                    file_id: created.0.file_id,
                    caching,
                    ..*handle
                });
                Ok(Some(created))
            }
            Err(status) => {
                self.reclaimed.lose(Some(status));
                Ok(None)
            }
        }
    }
}

/// Returns what the sessions of a group leave if their connection is lost; `None` if nothing
/// follows them.
pub(super) fn remains_of(
    site: &Site,
    mut clients: Vec<ClientRemains>,
    client_guid: Option<[u8; 16]>,
    lease_seed: u64,
    node: Option<usize>,
) -> Option<Box<SessionRemains>> {
    if site.reconnect == ReconnectPolicy::Never {
        return None;
    }
    if site.plan.sessions.failover.handles == HandleDurability::None {
        for client in &mut clients {
            client.handles = Box::default();
        }
    }
    Some(Box::new(SessionRemains {
        client_guid,
        lease_seed: Some(lease_seed),
        clients: clients.into(),
        node,
    }))
}

/// Returns the id by which a server knows a client of the run again, also under another GUID. It
/// is the same in all sessions and load points.
fn app_instance(Salt(run): Salt, client: u32) -> [u8; 16] {
    (u128::from(finalise(run)) << 64 | u128::from(client)).to_le_bytes()
}

/// Returns the caching that the server granted with an open.
fn granted((created, contexts): &Created) -> Caching {
    let lease = contexts.lease.as_ref().map(|lease| lease.state);
    Caching::granted(created.oplock_level, lease)
}

fn doing(path: &str) -> String {
    format!("open file '{path}'")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_client_of_each_run_is_another_app_instance() {
        let runs = [0, 1, u64::MAX].map(Salt);
        let ids = runs.map(|run| [0, 1].map(|client| app_instance(run, client)));
        let different: HashSet<_> = ids.into_iter().flatten().collect();
        assert_eq!(different.len(), 6);
    }
}
