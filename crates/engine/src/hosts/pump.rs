//! Moves messages between hosts, on a thread that does nothing else. So no part of a run waits
//! for another host inside a transport, and a transport that hangs does not hang the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use smbench_model::Nanos;
use tokio::sync::mpsc;

use super::clock::{Relating, RelatingStep};
use super::first::FirstHost;
use super::message::{HostIdentity, HostMessage, MessageBody};
use super::other::OtherHost;
use super::{ALIVE_INTERVAL, ALIVE_INTERVAL_AFTER_CANCEL};
use crate::machine::clock;

/// How long the pump sleeps if there is nothing to move. A host has less than half a per cent
/// of a core for it.
const IDLE: Duration = Duration::from_millis(20);
/// How long the pump does not sleep after a ping, so that clocks are related well.
const AWAKE: Nanos = Nanos(50_000_000);
/// After this time a ping counts as lost, and is sent again.
const PING_LOST: Nanos = Nanos(200_000_000);

/// Carries messages between the hosts of a run. No method may block. Messages of one host to
/// another arrive in order.
pub trait HostTransport {
    /// Returns the number of this host, from 0, and the number of all hosts.
    fn place(&self) -> (u32, u32);

    /// Sends a message. If the other host is gone, the message is lost.
    fn send(&mut self, to: u32, message: HostMessage);

    /// Returns the next message that has arrived, and its sender.
    fn receive(&mut self) -> Option<(u32, HostMessage)>;
}

/// What this host does.
#[derive(Debug)]
pub enum HostRole {
    /// It is the first: it plans and merges.
    First(FirstHost),
    /// It follows the first.
    Other(OtherHost),
}

/// The result of a turn of the pump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PumpTurn {
    /// An answer is expected at once.
    Awake,
    /// There is nothing to move.
    Idle,
    /// The host's role is dropped, and all its messages are sent.
    Ended,
}

/// A job for the pump.
#[derive(Debug)]
pub(super) enum PumpJob {
    Send(u32, HostMessage),
    /// Relates the clock of that host to the own one.
    Relate(u32),
}

/// Gives jobs to the pump.
#[derive(Clone, Debug)]
pub(crate) struct Post(Sender<PumpJob>);

impl Post {
    /// Sends a message. A pump that has ended sends nothing.
    pub(super) fn send(&self, to: u32, body: MessageBody) {
        let _ = self.0.send(PumpJob::Send(to, HostMessage(body)));
    }

    pub(super) fn relate(&self, host: u32) {
        let _ = self.0.send(PumpJob::Relate(host));
    }
}

/// Moves messages until the host's role is dropped.
#[derive(Debug)]
pub struct HostPump<T> {
    transport: T,
    jobs: Receiver<PumpJob>,
    incoming: Vec<mpsc::UnboundedSender<MessageBody>>,
    /// When the last message of each host arrived, in nanoseconds.
    heard: Vec<Arc<AtomicU64>>,
    relating: Vec<Option<Relating>>,
    awake_until: Nanos,
    /// When this host last said that it is there, and how often it does.
    alive: Nanos,
    alive_interval: Duration,
}

/// Makes the ends of a host on this transport. [`HostPump::run`] must run on a thread of its
/// own while the role is in use.
pub fn connect<T: HostTransport>(transport: T, identity: HostIdentity) -> (HostPump<T>, HostRole) {
    let (host, of) = transport.place();
    let (post, jobs) = channel();
    let post = Post(post);
    let heard: Vec<_> = (0..of)
        .map(|_| Arc::new(AtomicU64::new(clock::now().0)))
        .collect();
    let (incoming, mut arriving): (Vec<_>, Vec<_>) =
        (0..of).map(|_| mpsc::unbounded_channel()).unzip();
    let role = match host {
        0 => HostRole::First(FirstHost::new(identity, post, arriving, &heard)),
        _ => {
            let from_first = arriving.swap_remove(0);
            HostRole::Other(OtherHost::new(identity, host, of, post, from_first))
        }
    };
    let pump = HostPump {
        transport,
        jobs,
        relating: incoming.iter().map(|_| None).collect(),
        incoming,
        heard,
        awake_until: Nanos(0),
        alive: Nanos(0),
        alive_interval: ALIVE_INTERVAL,
    };
    (pump, role)
}

impl<T: HostTransport> HostPump<T> {
    /// Moves messages until the host's role is dropped.
    pub fn run(mut self) {
        loop {
            match self.turn() {
                PumpTurn::Ended => return,
                // What it waits for may need this CPU.
                PumpTurn::Awake => thread::yield_now(),
                PumpTurn::Idle => self.rest(),
            }
        }
    }

    /// Moves what there is to move.
    pub fn turn(&mut self) -> PumpTurn {
        while let Some((from, HostMessage(body))) = self.transport.receive() {
            self.take(from, body);
        }
        let now = clock::now();
        self.repeat_lost_pings(now);
        self.say_alive(now);
        loop {
            match self.jobs.try_recv() {
                Ok(job) => self.carry_out(job),
                Err(TryRecvError::Disconnected) => return PumpTurn::Ended,
                Err(TryRecvError::Empty) if now < self.awake_until => return PumpTurn::Awake,
                Err(TryRecvError::Empty) => return PumpTurn::Idle,
            }
        }
    }

    /// Sleeps for some milliseconds, or until there is a job.
    pub fn rest(&mut self) {
        if let Ok(job) = self.jobs.recv_timeout(IDLE) {
            self.carry_out(job);
        }
    }

    /// Returns the transport.
    pub const fn transport(&mut self) -> &mut T {
        &mut self.transport
    }

    fn carry_out(&mut self, job: PumpJob) {
        match job {
            PumpJob::Send(to, message) => self.transport.send(to, message),
            PumpJob::Relate(host) => self.relate(host),
        }
    }

    fn relate(&mut self, host: u32) {
        let now = clock::now();
        self.awake_until = now + AWAKE;
        self.relating[host as usize] = Some(Relating::begin(now));
        self.transport.send(host, HostMessage(MessageBody::Ping(0)));
    }

    fn take(&mut self, from: u32, body: MessageBody) {
        let now = clock::now();
        self.heard[from as usize].store(now.0, Ordering::Relaxed);
        match body {
            MessageBody::Ping(ping) => {
                self.awake_until = now + AWAKE;
                let pong = HostMessage(MessageBody::Pong(ping, clock::now()));
                self.transport.send(from, pong);
            }
            MessageBody::Pong(ping, at) => self.pong(from, ping, at, now),
            body => {
                match body {
                    MessageBody::Run(_) => self.alive_interval = ALIVE_INTERVAL,
                    // The first host now judges earlier who is lost.
                    MessageBody::Cancel => {
                        self.alive_interval = ALIVE_INTERVAL_AFTER_CANCEL;
                        self.alive = Nanos(0);
                    }
                    _ => {}
                }
                // Nobody may be interested any more.
                let _ = self.incoming[from as usize].send(body);
            }
        }
    }

    fn pong(&mut self, from: u32, ping: u32, at: Nanos, now: Nanos) {
        let Some(relating) = &mut self.relating[from as usize] else {
            return;
        };
        match relating.answered(ping, at, now) {
            RelatingStep::Ignored => {}
            RelatingStep::More => {
                let sent = clock::now();
                relating.next(sent);
                self.awake_until = sent + AWAKE;
                let ping = HostMessage(MessageBody::Ping(relating.ping()));
                self.transport.send(from, ping);
            }
            RelatingStep::Done(relation) => {
                self.relating[from as usize] = None;
                let _ = self.incoming[from as usize].send(MessageBody::Related(relation));
            }
        }
    }

    /// Tells the other hosts from time to time that this one is there: the first host tells
    /// all, the others tell the first.
    fn say_alive(&mut self, now: Nanos) {
        if now.since(self.alive) < self.alive_interval.into() {
            return;
        }
        self.alive = now;
        let (host, of) = self.transport.place();
        let to = match host {
            0 => 1..of,
            _ => 0..1,
        };
        for other in to {
            self.transport.send(other, HostMessage(MessageBody::Alive));
        }
    }

    fn repeat_lost_pings(&mut self, now: Nanos) {
        for (host, relating) in self.relating.iter_mut().enumerate() {
            if let Some(relating) = relating
                && now.since(relating.sent()) > PING_LOST
            {
                relating.next(now);
                let ping = HostMessage(MessageBody::Ping(relating.ping()));
                self.transport.send(host as u32, ping);
            }
        }
    }
}
