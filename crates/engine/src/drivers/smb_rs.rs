//! The driver with the full client smb-rs (crate `smb`). It is a cross-check with
//! another implementation of the protocol, and a yardstick for the native driver.
//!
//! An operation is a future on smb-rs's objects, which all run on the worker's own
//! runtime. smb-rs does not report its waits for credits. They are therefore part
//! of an operation's service time, and the group's count of starvation stays zero.
//! Memory use is that of smb-rs: at least the bytes of every request in flight.
//!
//! smb-rs signs everything that it does not encrypt, so `--sign off` is refused. Its
//! tasks are spawned with `tokio::spawn` and need `Send`, but run on the worker's
//! thread. It loses the credits of interim responses. A connection therefore gets a
//! reserve of credits beyond its window. On a server that often answers late the
//! connection can still run dry; its client then drops out with that reason.

mod calls;
mod link;
mod translate;
mod transport;

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use smb::{File, Resource, Tree, UncPath};
use smbench_model::Nanos;
use smbench_model::action::Action;
use smbench_model::files::ScratchName;
use smbench_model::kind::OpKind;
use smbench_model::operations::Mix;
use smbench_protocol::NtStatus;
use tokio::time::timeout;

use self::link::Link;
pub(crate) use self::link::facts;
use self::translate::status_in;
use crate::drivers::driver::{
    Answer, Busy, Call, Connector, Driver, Extent, Opened, Scratch, Sink,
};
use crate::drivers::dropped::Dropped;
use crate::drivers::native::open::{held_access, kept};
use crate::drivers::site::Site;
use crate::machine::clock;
use crate::smb::session::{LOGOFF_LIMIT, SessionError};

/// A call in progress in smb-rs.
type Running = Pin<Box<dyn Future<Output = Result<Done, Dropped>>>>;

/// A call that has been answered.
struct Done {
    slot: u32,
    status: NtStatus,
    moved: u32,
    /// Buffer of a READ, filled up to `moved`.
    buffer: Option<Vec<u8>>,
    made: Made,
}

/// The object that a call opened, for the next requests of its action.
#[derive(Default)]
enum Made {
    #[default]
    Nothing,
    Resource(Arc<Resource>),
    Tree(Tree),
}

/// A client's session with its open files.
struct Client {
    link: Arc<Link>,
    files: Box<[Arc<File>]>,
    /// Paths of the files.
    paths: Box<[Arc<str>]>,
    /// Resume keys of the files as sources of copies; empty if no action copies.
    resume_keys: Box<[[u8; 24]]>,
}

/// State of a slot.
#[derive(Default)]
struct Place {
    /// Open that the CREATE of its action created.
    resource: Option<Arc<Resource>>,
    /// Tree that the TREE_CONNECT of its action connected.
    tree: Option<Tree>,
    /// Its scratch names, in the order of [`ScratchName::ALL`].
    paths: Box<[Arc<str>]>,
}

/// The sessions of a group, each on a connection of its own.
pub(crate) struct SmbRs {
    mix: Arc<Mix>,
    /// State of each member.
    clients: Box<[Client]>,
    /// State of each slot, in the order of the members.
    places: Box<[Place]>,
    share: Arc<UncPath>,
    /// Size of each file in bytes.
    file_size: u64,
    running: FuturesUnordered<Running>,
    /// Calls that have been answered but not reported yet.
    done: Vec<Done>,
    /// Number of messages sent during set-up, plus the answers since.
    accounted: u64,
    /// The reason why no further answer will arrive; reported after `done`.
    failed: Option<Dropped>,
    /// Buffers of READs that have been reported, to be used again.
    spare: Vec<Vec<u8>>,
}

/// Sets up the sessions of a run's groups.
#[derive(Clone)]
pub(crate) struct Connect(pub(crate) Arc<Site>);

impl Connector for Connect {
    type Driver = SmbRs;

    async fn open(&self, clients: &[u32]) -> Result<Opened<SmbRs>, SessionError> {
        let site = &*self.0;
        let mut opened = Vec::with_capacity(clients.len());
        let mut session_setup = Vec::with_capacity(clients.len());
        let mut places = Vec::new();
        for &client in clients {
            let begin = clock::now();
            let link = Link::open(&site.endpoint.of_connection(client)).await?;
            session_setup.push(clock::now().since(begin));
            let held = hold(site, client, link).await;
            let (client, own) = held.map_err(SessionError::of_own_file)?;
            opened.push(client);
            places.extend(own);
        }
        let driver = SmbRs {
            mix: Arc::clone(&site.mix),
            places: places.into_boxed_slice(),
            share: Arc::new(link::share_path(&site.endpoint)?),
            file_size: site.plan.work.workload.files.size,
            accounted: opened.iter().map(|client| client.link.line.sent()).sum(),
            clients: opened.into_boxed_slice(),
            running: FuturesUnordered::new(),
            done: Vec::new(),
            failed: None,
            spare: Vec::new(),
        };
        Ok(Opened {
            driver,
            session_setup,
            granted: Vec::new(),
            breaks: 0,
            acknowledged: Vec::new(),
            connections: clients.len() as u32,
        })
    }
}

impl Driver for SmbRs {
    fn has_room(&self, _: &Scratch) -> bool {
        true
    }

    fn submit(
        &mut self,
        call: &Call,
        _: &mut Scratch,
        data: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Busy> {
        let operation = call.operation;
        let (slot, offset, length) = (call.slot, operation.offset, operation.length as usize);
        let files = &self.clients[call.member].files;
        let file = || Arc::clone(&files[operation.file as usize]);
        let running = match operation.kind {
            OpKind::Read => {
                let unbuffered = matches!(
                    self.mix.action(&operation),
                    Action::Read { unbuffered: true }
                );
                let file = file();
                let mut buffer = self.spare.pop().unwrap_or_default();
                buffer.resize(length, 0);
                guarded(async move {
                    let read = file.read_block(&mut buffer, offset, None, unbuffered).await;
                    ended(slot, read, Some(buffer))
                })
            }
            OpKind::Write => {
                let mut written = Vec::with_capacity(length);
                data(&mut written);
                let data: Arc<[u8]> = written.into();
                let file = file();
                guarded(async move {
                    let written = file.write_block_zc(data, offset, None).await;
                    ended(slot, written, None)
                })
            }
            OpKind::Flush | OpKind::FinalFlush => {
                let file = file();
                guarded(async move {
                    let flushed = file.flush().await;
                    ended(slot, flushed.map(|()| 0), None)
                })
            }
            _ => self.begin(call),
        };
        self.running.push(running);
        Ok(())
    }

    fn flush(&mut self, _: &mut Context<'_>, _: &mut Scratch) -> Result<(), Dropped> {
        // Submitted calls are sent when they are polled, which happens next.
        Ok(())
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        _: &mut Scratch,
    ) -> Poll<Result<usize, Dropped>> {
        for client in &self.clients {
            client.link.line.wake_when_lost(context.waker());
        }
        while self.failed.is_none()
            && let Poll::Ready(Some(outcome)) = self.running.poll_next_unpin(context)
        {
            match outcome {
                Ok(done) => {
                    self.accounted += 1;
                    self.done.push(done);
                }
                Err(failed) => self.failed = Some(failed),
            }
        }
        if !self.done.is_empty() {
            return Poll::Ready(Ok(self.done.len()));
        }
        // If a connection was lost, that caused the other failures.
        let mut lost = self
            .clients
            .iter()
            .filter_map(|client| client.link.line.lost());
        match lost.next().or_else(|| self.failed.clone()) {
            Some(reason) => Poll::Ready(Err(reason)),
            None => Poll::Pending,
        }
    }

    fn take_answers(
        &mut self,
        _: usize,
        _: Nanos,
        _: &mut Scratch,
        sink: &mut impl Sink,
    ) -> Result<(), Dropped> {
        for mut done in self.done.drain(..) {
            match std::mem::take(&mut done.made) {
                Made::Nothing => {}
                Made::Resource(made) => self.places[done.slot as usize].resource = Some(made),
                Made::Tree(made) => self.places[done.slot as usize].tree = Some(made),
            }
            let filled = done.buffer.as_deref();
            sink.answer(&Answer {
                slot: done.slot,
                extent: Extent::Final,
                status: done.status,
                moved: done.moved,
                data: filled.and_then(|buffer| buffer.get(..done.moved as usize)),
            })?;
            self.spare.extend(done.buffer.take());
        }
        Ok(())
    }

    fn why_overdue(&self) -> Option<Dropped> {
        let sent: u64 = self
            .clients
            .iter()
            .map(|client| client.link.line.sent())
            .sum();
        (sent == self.accounted).then_some(Dropped::ClientCredits)
    }

    async fn close(self) {
        // Operations still in progress after an interrupt are dropped.
        drop(self.running);
        let farewell = async {
            for client in self.clients {
                for file in &client.files {
                    if file.close().await.is_err() {
                        return;
                    }
                }
                client.link.log_off().await;
            }
        };
        // If the server does not answer, closing the sockets is enough.
        let _ = timeout(LOGOFF_LIMIT, farewell).await;
    }
}

/// Makes a panic of smb-rs drop the clients instead of the run. smb-rs panics on
/// some unexpected answers, such as a READ with too many bytes.
fn guarded(call: impl Future<Output = Result<Done, Dropped>> + 'static) -> Running {
    Box::pin(AssertUnwindSafe(call).catch_unwind().map(|outcome| {
        outcome.unwrap_or_else(|_| {
            let reason = "it could not cope with an answer of the server";
            Err(Dropped::Client(reason.to_owned()))
        })
    }))
}

/// Converts smb-rs's result of an operation into an answer.
fn ended(
    slot: u32,
    outcome: std::io::Result<usize>,
    buffer: Option<Vec<u8>>,
) -> Result<Done, Dropped> {
    let (status, moved) = match outcome {
        Ok(moved) => (NtStatus::SUCCESS, moved as u32),
        Err(error) => match status_in(&error.to_string()) {
            Some(status) => (status, 0),
            None => return Err(Dropped::Client(error.to_string())),
        },
    };
    Ok(Done {
        slot,
        status,
        moved,
        buffer,
        made: Made::Nothing,
    })
}

/// Opens the files that a client uses during the load point, with the same rights
/// as the native driver. Creates the entries that must exist for its slots.
async fn hold(site: &Site, client: u32, link: Link) -> Result<(Client, Vec<Place>), SessionError> {
    let (plan, endpoint) = (&*site.plan, &site.endpoint);
    let actions = site.mix.actions();
    let path = |name: &str| -> Arc<str> { Arc::from(format!(r"{}\{name}", site.directory)) };
    let files = 0..plan.work.workload.files.count;
    let paths: Box<[_]> = files
        .map(|file| path(&plan.file_name(client, file)))
        .collect();
    let (mut files, mut resume_keys) = (Vec::new(), Vec::new());
    if actions.iter().any(Action::holds_file) {
        for path in &paths {
            let rights = held_access(actions);
            let file = link.open_file(endpoint, path, rights).await?;
            if actions.contains(&Action::CopyChunk) {
                resume_keys.push(link.resume_key(endpoint, path, &file).await?);
            }
            files.push(Arc::new(file));
        }
    }
    let mut places = Vec::new();
    for slot in 0..plan.work.outstanding {
        let mut place = Place::default();
        if actions.iter().any(Action::uses_scratch) {
            let paths = ScratchName::ALL.map(|name| path(&name.of(client, slot)));
            for (name, kind) in kept(actions) {
                link.make(endpoint, &paths[name as usize], kind).await?;
            }
            place.paths = Box::from(paths);
        }
        places.push(place);
    }
    let client = Client {
        link: Arc::new(link),
        files: files.into_boxed_slice(),
        paths,
        resume_keys: resume_keys.into_boxed_slice(),
    };
    Ok((client, places))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_of_smb_rs_costs_only_its_clients() {
        let outcome = guarded(async { panic!("range end index 9 out of range") }).await;
        let Err(Dropped::Client(reason)) = outcome else {
            panic!("the clients of the call are to be dropped");
        };
        assert!(reason.contains("could not cope"), "{reason}");
    }

    #[test]
    fn outcomes_become_answers_where_they_are_some() {
        let answered = |outcome| ended(3, outcome, None).map(|done| (done.status, done.moved));
        assert!(matches!(answered(Ok(512)), Ok((NtStatus::SUCCESS, 512))));
        let refused = smb::Error::UnexpectedMessageStatus(NtStatus::DISK_FULL.0).to_string();
        let refused = std::io::Error::other(refused);
        assert!(matches!(
            answered(Err(refused)),
            Ok((NtStatus::DISK_FULL, 0))
        ));
        let broken = std::io::Error::other(smb::Error::ConnectionStopped.to_string());
        assert!(matches!(answered(Err(broken)), Err(Dropped::Client(_))));
    }
}
