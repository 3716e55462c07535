//! The other hosts of a run, as the first host sees them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use smbench_model::Nanos;
use smbench_model::part::ClientPart;
use smbench_model::record::HostFacts;
use thiserror::Error;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard, mpsc};
use tokio::time::{Duration, timeout};

use super::message::{HostIdentity, MessageBody, Refusal, RunOrder};
use super::pump::Post;
use super::{ALIVE_INTERVAL, SILENCE_MAX, SendPassword};

/// Time limit until another host can carry out a run: it logs on to the server first.
const READY_MAX: Duration = Duration::from_secs(60);

/// Hosts whose last messages are this close may have fallen silent together. The last message of
/// a host is up to an interval old when the host falls silent.
const SAME_TIME: Nanos = Nanos(2 * ALIVE_INTERVAL.as_nanos() as u64);

/// The end of a run's first host. Dropping it tells the others that no run follows.
#[derive(Debug)]
pub struct FirstHost {
    identity: HostIdentity,
    others: Vec<HostChannel>,
    post: Post,
    send_password: SendPassword,
}

/// The way to another host.
#[derive(Clone, Debug)]
pub(crate) struct HostChannel {
    /// Its number, from 1.
    pub(super) number: u32,
    identity: Arc<OnceLock<HostIdentity>>,
    pub(super) post: Post,
    arriving: Arc<AsyncMutex<mpsc::UnboundedReceiver<MessageBody>>>,
    /// When its last message arrived, in nanoseconds.
    heard: Arc<AtomicU64>,
    loss: Arc<Loss>,
}

/// Which host is lost, if one is.
#[derive(Debug)]
struct Loss {
    /// Numbers of the hosts of which one is lost, and how that was noticed.
    first: Mutex<Option<(Vec<u32>, String)>>,
    /// When the last message of each other host arrived.
    heard: Vec<Arc<AtomicU64>>,
}

/// Why other hosts cannot carry out a run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostsError {
    /// A host does not answer.
    #[error("host {host} is lost: {reason}; check that machine and the network, and run again")]
    Lost {
        /// Its name.
        host: String,
        /// How that was noticed.
        reason: String,
    },
    /// A host says that it cannot.
    #[error("host {host} cannot take part: {reason}")]
    Unable {
        /// Its name.
        host: String,
        /// Its reason.
        reason: String,
    },
    /// A host says that the server refused its log-on.
    #[error("host {host} cannot take part: {reason}")]
    NotLetIn {
        /// Its name.
        host: String,
        /// Its reason.
        reason: String,
    },
    /// A host runs another program.
    #[error(
        "host {host} runs smbench {theirs}, this host {ours}: install the same build on all hosts"
    )]
    Build {
        /// Its name.
        host: String,
        /// Its version and commit.
        theirs: String,
        /// Version and commit of the first host.
        ours: String,
    },
}

impl HostChannel {
    /// Returns the host's name, or its number while that is unknown.
    pub(crate) fn name(&self) -> String {
        let known = self.identity.get();
        known.map_or_else(
            || format!("number {}", self.number),
            |known| known.name.clone(),
        )
    }

    pub(super) fn send(&self, body: MessageBody) {
        self.post.send(self.number, body);
    }

    /// Returns when its last message arrived.
    pub(super) fn heard(&self) -> Nanos {
        Nanos(self.heard.load(Ordering::Relaxed))
    }

    /// Notes that the host is lost, because it is silent. The first loss counts. A launcher that
    /// has lost one host ends all, so the one that has been silent for the longest time is the
    /// cause. Hosts that have been silent since then may be it, too: Open MPI can stop receiving
    /// when a host dies.
    pub(super) fn lose(&self, reason: &str) {
        let first = || {
            let heard = &self.loss.heard;
            let silent: Vec<(u32, u64)> = (1..)
                .zip(heard)
                .map(|(number, heard)| (number, heard.load(Ordering::Relaxed)))
                .collect();
            let since = silent.iter().map(|(_, since)| *since).min();
            let until = Nanos(since.unwrap_or_default()) + SAME_TIME;
            let silent = silent.into_iter().filter(|(_, since)| *since <= until.0);
            (
                silent.map(|(number, _)| number).collect(),
                reason.to_owned(),
            )
        };
        let lost = self.loss.first.lock();
        lost.unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(first);
    }

    /// Notes that this host is lost, although it is not silent.
    pub(super) fn lose_this(&self, reason: &str) {
        let lost = self.loss.first.lock();
        let lost = &mut *lost.unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert_with(|| (vec![self.number], reason.to_owned()));
    }

    /// Returns its messages. They are of one user at a time.
    pub(super) async fn messages(&self) -> MutexGuard<'_, mpsc::UnboundedReceiver<MessageBody>> {
        self.arriving.lock().await
    }
}

impl FirstHost {
    pub(super) fn new(
        identity: HostIdentity,
        post: Post,
        arriving: Vec<mpsc::UnboundedReceiver<MessageBody>>,
        heard: &[Arc<AtomicU64>],
    ) -> Self {
        let loss = Arc::new(Loss {
            first: Mutex::default(),
            heard: heard.iter().skip(1).cloned().collect(),
        });
        let others = arriving.into_iter().enumerate().skip(1);
        let others = others.map(|(number, arriving)| HostChannel {
            number: number as u32,
            identity: Arc::default(),
            post: post.clone(),
            arriving: Arc::new(AsyncMutex::new(arriving)),
            heard: Arc::clone(&heard[number]),
            loss: Arc::clone(&loss),
        });
        Self {
            identity,
            others: others.collect(),
            post,
            send_password: SendPassword::No,
        }
    }

    /// Returns the number of hosts, this one included.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.others.len() as u32 + 1
    }

    /// Sends the password of each run to the other hosts, or not.
    #[must_use]
    pub const fn with_password(mut self, send_password: SendPassword) -> Self {
        self.send_password = send_password;
        self
    }

    pub(crate) const fn send_password(&self) -> SendPassword {
        self.send_password
    }

    /// Returns the part of the clients that this host carries.
    #[must_use]
    pub fn part(&self) -> ClientPart {
        ClientPart::Host {
            host: 0,
            of: self.count(),
        }
    }

    /// Returns the name of this host.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    pub(crate) fn others(&self) -> &[HostChannel] {
        &self.others
    }

    /// Returns who the hosts are, this one first.
    pub(crate) fn facts(&self) -> Vec<HostFacts> {
        let others = self.others.iter().filter_map(|other| other.identity.get());
        let facts = |identity: &HostIdentity| HostFacts {
            name: identity.name.clone(),
            machine: identity.machine.clone(),
        };
        std::iter::once(&self.identity)
            .chain(others)
            .map(facts)
            .collect()
    }

    /// Returns why a host is lost, if one is.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        let lost = self.others.first()?.loss.first.lock();
        let lost = lost.unwrap_or_else(PoisonError::into_inner);
        let (numbers, reason) = lost.as_ref()?;
        let others = self.others.iter();
        let names = others.filter(|other| numbers.contains(&other.number));
        let names: Vec<_> = names.map(HostChannel::name).collect();
        Some(format!("host {} is lost: {reason}", names.join(" or ")))
    }

    /// Begins a run on all hosts. They have connected to the server when this returns.
    pub(crate) async fn begin(&self, order: &RunOrder) -> Result<(), HostsError> {
        self.forget_loss();
        for other in &self.others {
            other.send(MessageBody::Run(order.clone()));
        }
        let mut names = vec![self.identity.name.clone()];
        let mut failed = None;
        // All answers are read, so that the next run finds none of this one.
        for other in &self.others {
            let identity = match self.greeted(other).await {
                Ok(identity) => identity,
                Err(error) => {
                    if let HostsError::Lost { reason, .. } = &error {
                        other.lose_this(reason);
                    }
                    // A refused log-on must not be tried again, so it is the error that counts.
                    let is_worse = matches!(error, HostsError::NotLetIn { .. });
                    failed = match failed {
                        Some(before) if !is_worse => Some(before),
                        _ => Some(error),
                    };
                    continue;
                }
            };
            let is_new = !names.contains(&identity.name);
            let name = if is_new {
                identity.name.clone()
            } else {
                format!("{}#{}", identity.name, other.number)
            };
            names.push(name.clone());
            // A second run finds the same host.
            let _ = other.identity.set(HostIdentity { name, ..identity });
        }
        failed.map_or(Ok(()), Err)
    }

    fn forget_loss(&self) {
        if let Some(other) = self.others.first() {
            let lost = other.loss.first.lock();
            *lost.unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Waits until another host can carry out the run.
    async fn greeted(&self, other: &HostChannel) -> Result<HostIdentity, HostsError> {
        let lost = |reason: String| {
            let host = other.name();
            HostsError::Lost { host, reason }
        };
        let mut arriving = other.messages().await;
        let answer = async {
            loop {
                match timeout(SILENCE_MAX, arriving.recv()).await {
                    Err(_) => break Err(lost(silence())),
                    Ok(None) => break Err(lost("its connection has ended".to_owned())),
                    Ok(Some(MessageBody::Hello(identity))) => break Ok((identity, None)),
                    Ok(Some(MessageBody::Unable(identity, why))) => {
                        break Ok((identity, Some(why)));
                    }
                    Ok(Some(_)) => {}
                }
            }
        };
        let answer = timeout(READY_MAX, answer).await;
        let late = |_| lost("it did not connect to the server within 60 s".to_owned());
        let (identity, unable) = answer.map_err(late)??;
        let host = if identity.name == self.identity.name {
            format!("{}#{}", identity.name, other.number)
        } else {
            identity.name.clone()
        };
        if identity.build != self.identity.build {
            let (theirs, ours) = (identity.build, self.identity.build.clone());
            return Err(HostsError::Build { host, theirs, ours });
        }
        match unable {
            Some(Refusal::Other(reason)) => Err(HostsError::Unable { host, reason }),
            Some(Refusal::NotLetIn(reason)) => Err(HostsError::NotLetIn { host, reason }),
            None => Ok(identity),
        }
    }

    /// Tells all hosts that the run has ended.
    pub(crate) fn end_run(&self) {
        self.send_to_all(|| MessageBody::EndRun);
    }

    fn send_to_all(&self, body: impl Fn() -> MessageBody) {
        for other in &self.others {
            self.post.send(other.number, body());
        }
    }
}

impl Drop for FirstHost {
    fn drop(&mut self) {
        self.send_to_all(|| MessageBody::End);
    }
}

/// Describes a host that has been silent for too long.
pub(super) fn silence() -> String {
    format!("no message from it for {} s", SILENCE_MAX.as_secs())
}
