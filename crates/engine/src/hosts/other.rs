//! A host that follows the first host of a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use smbench_model::part::ClientPart;
use smbench_model::record::{HostRecord, LoadPointRecord, StageRecord};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::SILENCE_MAX;
use super::message::{
    HostFailure, HostIdentity, HostInterval, HostMeasurements, MessageBody, PointOrder, Refusal,
    RunOrder,
};
use super::pump::Post;
use crate::machine::cancel::Cancel;
use crate::worker::assignment::{WorkerMessage, WorkerResult};
use crate::worker::recorder_exchange::HostStage;
use crate::worker::schedule::Schedule;
use crate::worker::timeline::EndedInterval;

/// Number of the first host.
const FIRST: u32 = 0;

/// The end of a host that follows the first host.
#[derive(Debug)]
pub struct OtherHost {
    identity: HostIdentity,
    number: u32,
    /// Number of hosts.
    of: u32,
    post: Post,
    from_first: mpsc::UnboundedReceiver<MessageBody>,
}

/// What the first host orders.
#[derive(Debug)]
pub(crate) enum Order {
    Run(RunOrder),
    Point(PointOrder),
    EndRun,
    /// No run follows.
    End,
    /// The first host is gone.
    Lost,
}

/// The way to the first host, for the coordinator of another host.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    identity: HostIdentity,
    post: Post,
    wishes: Arc<Wishes>,
}

/// What the first host wants of the load point under way.
#[derive(Debug)]
struct Wishes {
    schedule: watch::Sender<Option<Schedule>>,
    enough: Mutex<Arc<AtomicBool>>,
    /// Cancels the run under way.
    cancel: Mutex<Cancel>,
}

impl OtherHost {
    pub(super) const fn new(
        identity: HostIdentity,
        number: u32,
        of: u32,
        post: Post,
        from_first: mpsc::UnboundedReceiver<MessageBody>,
    ) -> Self {
        Self {
            identity,
            number,
            of,
            post,
            from_first,
        }
    }

    /// Returns the name of this host.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// Returns the number of this host, from 1.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Returns the part of the clients that this host carries.
    #[must_use]
    pub const fn part(&self) -> ClientPart {
        ClientPart::Host {
            host: self.number,
            of: self.of,
        }
    }

    /// Begins to listen to the first host, within a runtime. Returns its orders.
    pub(crate) fn listen(self) -> (Upstream, mpsc::UnboundedReceiver<Order>) {
        let wishes = Arc::new(Wishes {
            schedule: watch::Sender::new(None),
            enough: Mutex::default(),
            cancel: Mutex::default(),
        });
        let (give, orders) = mpsc::unbounded_channel();
        tokio::spawn(obey(self.from_first, Arc::clone(&wishes), give));
        let upstream = Upstream {
            identity: self.identity,
            post: self.post,
            wishes,
        };
        (upstream, orders)
    }
}

/// Passes on what the first host says, until it ends or is silent for too long.
async fn obey(
    mut from_first: mpsc::UnboundedReceiver<MessageBody>,
    wishes: Arc<Wishes>,
    orders: mpsc::UnboundedSender<Order>,
) {
    loop {
        let order = match timeout(SILENCE_MAX, from_first.recv()).await {
            Err(_) | Ok(None) => Order::Lost,
            Ok(Some(MessageBody::Run(order))) => Order::Run(order),
            Ok(Some(MessageBody::Point(order))) => {
                wishes.schedule.send_replace(None);
                *lock(&wishes.enough) = Arc::default();
                Order::Point(order)
            }
            Ok(Some(MessageBody::EndRun)) => Order::EndRun,
            Ok(Some(MessageBody::End)) => Order::End,
            Ok(Some(body)) => {
                wishes.take(&body);
                continue;
            }
        };
        let is_last = matches!(order, Order::Lost | Order::End);
        if is_last {
            lock(&wishes.cancel).cancel();
        }
        if orders.send(order).is_err() || is_last {
            return;
        }
    }
}

impl Wishes {
    fn take(&self, body: &MessageBody) {
        match body {
            MessageBody::Begin(schedule) => {
                self.schedule.send_replace(Some(*schedule));
            }
            MessageBody::Enough => lock(&self.enough).store(true, Ordering::Relaxed),
            MessageBody::Cancel | MessageBody::CallOff => lock(&self.cancel).cancel(),
            _ => {}
        }
    }
}

/// Locks a mutex, even if a thread panicked while holding it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Upstream {
    /// Lets the first host cancel the next run with `cancel`.
    pub(crate) fn obey_with(&self, cancel: &Cancel) {
        *lock(&self.wishes.cancel) = cancel.clone();
    }

    /// Returns what the first host sets when no more sessions of the load point under way are to
    /// be set up.
    pub(crate) fn enough(&self) -> Arc<AtomicBool> {
        Arc::clone(&lock(&self.wishes.enough))
    }

    /// Says that this host can carry out the run, or why not.
    pub(crate) fn greet(&self, able: Result<(), Refusal>) {
        let identity = self.identity.clone();
        self.send(match able {
            Ok(()) => MessageBody::Hello(identity),
            Err(reason) => MessageBody::Unable(identity, reason),
        });
    }

    /// Returns the schedules of the load point under way.
    pub(crate) fn schedules(&self) -> watch::Receiver<Option<Schedule>> {
        self.wishes.schedule.subscribe()
    }

    /// Passes on what a worker says about the set-up.
    pub(crate) fn report(&self, message: &WorkerMessage) {
        self.send(match message {
            &WorkerMessage::Ready { clients, at } => MessageBody::Ready { clients, at },
            WorkerMessage::Refused { clients, error } => MessageBody::Refused {
                clients: *clients,
                failure: HostFailure::from(error),
            },
            WorkerMessage::SetupFailed(error) => MessageBody::SetupFailed(HostFailure::from(error)),
            WorkerMessage::AllTried | WorkerMessage::LoadEnded(_) | WorkerMessage::Gone => return,
        });
    }

    /// Says that all sessions have been tried.
    pub(crate) fn all_tried(&self) {
        self.send(MessageBody::AllTried);
    }

    /// Hands in an interval.
    pub(crate) fn interval(&self, over: &EndedInterval) {
        self.send(MessageBody::Interval(Box::new(HostInterval {
            interval: over.interval,
            populations: match &over.populations[..] {
                // The only one has all operations.
                [] => vec![over.recorder.clone()],
                several => several.to_vec(),
            },
        })));
    }

    /// Hands in the next stage, of this host alone.
    pub(crate) fn stage(&self, own: &StageRecord) {
        let name = &self.identity.name;
        self.send(MessageBody::Stage(Box::new(HostStage {
            host: HostRecord::of_stage(name, own.clients, &own.ops, own),
            own_memory: own.memory.own,
        })));
    }

    /// Hands in the result of a load point, without its operations.
    pub(crate) fn measured(&self, mut result: WorkerResult, record: &LoadPointRecord) {
        // They are part of the generator's record.
        result.workers.clear();
        let host = HostRecord::of(&self.identity.name, record, result.late);
        self.send(MessageBody::Measured(Box::new(HostMeasurements {
            result,
            host,
        })));
    }

    /// Says that the load point has no measurements.
    pub(crate) fn unmeasured(&self, reason: String) {
        self.send(MessageBody::Unmeasured(reason));
    }

    fn send(&self, body: MessageBody) {
        self.post.send(FIRST, body);
    }
}
