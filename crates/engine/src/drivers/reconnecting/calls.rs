//! The calls of a group in flight, and what a lost connection means for its clients.
//!
//! A blackout is of a client that has something to send: a call was in flight at the loss, or
//! came due before the connection was back. It begins with the client's last answer, or with its
//! first call after that answer if that is later. A server that an event stops causes a blackout
//! without a loss.

use std::collections::BTreeMap;
use std::hint;
use std::net::SocketAddr;

use smbench_model::Nanos;
use smbench_model::kind::OpKind;

use super::stops::StopTimes;
use crate::drivers::driver::{Call, SLOTS_MAX};
use crate::machine::clock;

/// The calls of a group in flight, and the answers to its clients.
pub(super) struct ClientCalls {
    /// The call of each slot; `None` if it has its final answer.
    slots: Vec<Option<PendingCall>>,
    /// The calls of pieces, whose slots have high numbers.
    pieces: BTreeMap<u32, PendingCall>,
    clients: Box<[ClientAnswers]>,
    /// Number of clients in a blackout.
    away: u32,
    /// The first loss since the last answer to any client.
    lost_since: Option<Nanos>,
    /// Number of clients that came into the blackout, and were not reported yet.
    cut_off: u32,
    /// When a lost connection, or a server that was stopped, was last back.
    back_at: Option<Nanos>,
    /// Slots whose calls were in flight on one of several connections, and have no answer yet.
    late: Vec<u32>,
    /// Number of connections lost alone since the last answer to any client.
    channels: u64,
    /// When events stop the server.
    stops: StopTimes,
    /// The server's address of the connections, if it is known.
    server: Option<SocketAddr>,
}

#[derive(Clone, Copy)]
struct PendingCall {
    member: usize,
    kind: OpKind,
}

/// The calls of a client, and the answers to them.
#[derive(Clone, Copy, Default)]
struct ClientAnswers {
    /// Instant of the last answer.
    answered: Nanos,
    /// Since when it has had something to send, or in flight.
    busy_since: Nanos,
    in_flight: u32,
    /// Whether it has a call that was refused for the lack of a connection.
    is_refused: bool,
    /// Instant of the loss, if it is in a blackout.
    lost_at: Option<Nanos>,
}

impl ClientAnswers {
    const fn is_busy(&self) -> bool {
        self.in_flight > 0 || self.is_refused
    }

    /// Notes that it has something to send. In a blackout it had so already at the loss.
    const fn begin(&mut self, now: Nanos) {
        if !self.is_busy() && self.lost_at.is_none() {
            self.busy_since = now;
        }
    }

    /// Ends the blackout at this instant. Returns the loss, and the length of the blackout.
    fn come_back(&mut self, now: Nanos) -> Option<ComeBack> {
        let lost_at = self.lost_at.take()?;
        Some(ComeBack {
            lost_at,
            after: now.since(self.waits_since()),
            cause: BlackoutCause::LostLink,
        })
    }

    /// Returns since when it waits for an answer, if it is busy.
    fn waits_since(&self) -> Nanos {
        self.answered.max(self.busy_since)
    }
}

/// Why a client has no answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlackoutCause {
    /// Its connection is lost. Clients in such a blackout are reported when it begins.
    LostLink,
    /// An event has stopped the server. Such a blackout is known at its end.
    Stop,
}

/// The end of a client's blackout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ComeBack {
    /// Instant of the loss, or of the event that stopped the server.
    pub(super) lost_at: Nanos,
    /// Length of the blackout.
    pub(super) after: Nanos,
    pub(super) cause: BlackoutCause,
}

impl ClientCalls {
    pub(super) fn new(clients: usize) -> Self {
        Self {
            slots: Vec::new(),
            pieces: BTreeMap::new(),
            clients: vec![ClientAnswers::default(); clients].into_boxed_slice(),
            away: 0,
            lost_since: None,
            cut_off: 0,
            back_at: None,
            late: Vec::new(),
            channels: 0,
            stops: StopTimes::default(),
            server: None,
        }
    }

    /// Learns with which address of the server the connections are from here on.
    pub(super) const fn connected_to(&mut self, server: Option<SocketAddr>) {
        self.server = server;
    }

    /// Learns when events stop the server.
    pub(super) fn expect_stops(&mut self, stops: StopTimes) {
        self.stops = stops;
    }

    /// Adds a call that was accepted.
    pub(super) fn sent(&mut self, call: &Call) {
        let client = &mut self.clients[call.member];
        if !client.is_busy() {
            client.begin(clock::now());
        }
        client.is_refused = false;
        client.in_flight += 1;
        let pending = PendingCall {
            member: call.member,
            kind: call.operation.kind,
        };
        if call.slot >= SLOTS_MAX {
            self.pieces.insert(call.slot, pending);
            return;
        }
        let at = call.slot as usize;
        if self.slots.len() <= at {
            self.slots.resize(at + 1, None);
        }
        self.slots[at] = Some(pending);
    }

    /// Notes that a client has a call, but no connection.
    #[cold]
    pub(super) fn refused(&mut self, member: usize, now: Nanos) {
        let client = &mut self.clients[member];
        client.begin(now);
        client.is_refused = true;
        if let (None, Some(since)) = (client.lost_at, self.lost_since) {
            client.lost_at = Some(since);
            self.cut_off += 1;
        }
    }

    fn pending(&self, slot: u32) -> Option<PendingCall> {
        match slot {
            ..SLOTS_MAX => self.slots.get(slot as usize).copied().flatten(),
            _ => self.pieces.get(&slot).copied(),
        }
    }

    /// Returns the kind of the call in flight in a slot.
    pub(super) fn kind(&self, slot: u32) -> Option<OpKind> {
        self.pending(slot).map(|call| call.kind)
    }

    /// Notes an answer to a call. Returns the end of the client's blackout, if it was in one.
    pub(super) fn answered(&mut self, slot: u32, now: Nanos) -> Option<ComeBack> {
        let member = self.pending(slot)?.member;
        let client = &mut self.clients[member];
        self.lost_since = None;
        self.channels = 0;
        let mut back = if self.away == 0 {
            None
        } else {
            client.come_back(now)
        };
        self.away -= u32::from(back.is_some());
        if !self.stops.are_none() {
            hint::cold_path();
            let ended = self.stops.follow(now);
            if self.stops.reach(self.server) {
                self.back_at = self.back_at.max(ended);
                let since = client.waits_since();
                back = back.or_else(|| {
                    Some(ComeBack {
                        lost_at: self.stops.first_since(since)?,
                        after: now.since(since),
                        cause: BlackoutCause::Stop,
                    })
                });
            }
        }
        client.answered = now;
        back
    }

    /// Removes a call that has ended.
    pub(super) fn ended(&mut self, slot: u32) {
        let ended = match slot {
            ..SLOTS_MAX => self.slots.get_mut(slot as usize).and_then(Option::take),
            _ => self.pieces.remove(&slot),
        };
        if let Some(call) = ended {
            self.clients[call.member].in_flight -= 1;
        }
    }

    /// Notes that the connection is lost. Returns the loss to which this one belongs: an earlier
    /// one, if no client had an answer since then.
    pub(super) fn lose(&mut self, at: Nanos) -> Nanos {
        let since = *self.lost_since.get_or_insert(at);
        // Such a call is lost with all others, and was due before the connection is back.
        self.late.clear();
        for client in &mut self.clients {
            if client.lost_at.is_none() && client.is_busy() {
                client.lost_at = Some(since);
                self.cut_off += 1;
            }
        }
        since
    }

    /// Removes the calls in flight in these slots, because one of several connections is lost.
    /// Their clients are in a blackout until their next answer. Returns the loss, and the slots
    /// that had a call.
    pub(super) fn lose_some(&mut self, slots: &[u32], at: Nanos) -> (Nanos, Vec<u32>) {
        let since = *self.lost_since.get_or_insert(at);
        let mut lost = Vec::with_capacity(slots.len());
        for &slot in slots {
            let Some(PendingCall { member, .. }) = self.pending(slot) else {
                continue;
            };
            self.ended(slot);
            let client = &mut self.clients[member];
            if client.lost_at.is_none() {
                client.lost_at = Some(since);
                self.cut_off += 1;
            }
            // A call can be lost with one connection after another.
            if !self.late.contains(&slot) {
                self.late.push(slot);
            }
            lost.push(slot);
        }
        self.channels += 1;
        (since, lost)
    }

    /// Returns the number of connections that were lost alone since the last answer, once.
    pub(super) const fn take_channels(&mut self) -> u64 {
        std::mem::replace(&mut self.channels, 0)
    }

    /// Returns whether clients came into the blackout that were not reported yet.
    pub(super) const fn is_news(&self) -> bool {
        self.cut_off > 0
    }

    /// Returns the loss that lasts, and how many clients came into its blackout since the
    /// last time.
    pub(super) fn take_cut_off(&mut self) -> Option<(Nanos, u32)> {
        let since = self.lost_since?;
        let cut_off = std::mem::take(&mut self.cut_off);
        self.away += cut_off;
        (cut_off > 0).then_some((since, cut_off))
    }

    /// Ends the blackouts of the clients that have nothing to send now that the connection is
    /// back.
    pub(super) fn link_back(&mut self, now: Nanos) -> Vec<ComeBack> {
        self.back_at = Some(now);
        let idle = self.clients.iter_mut().filter(|client| !client.is_busy());
        let back: Vec<_> = idle.filter_map(|client| client.come_back(now)).collect();
        self.away -= back.len() as u32;
        back
    }

    /// Ends the blackouts of the clients that are not back when the load ends.
    pub(super) fn end_blackouts(&mut self, now: Nanos) -> Vec<ComeBack> {
        self.away = 0;
        let clients = self.clients.iter_mut();
        clients.filter_map(|client| client.come_back(now)).collect()
    }

    /// Returns until when the call in a slot had to be due to be in a blackout; `None` if there was
    /// none. A call of one of several connections was in it in any case.
    pub(super) fn back_at(&mut self, slot: u32) -> Option<Nanos> {
        if let Some(at) = self.late.iter().position(|&late| late == slot) {
            self.late.swap_remove(at);
            return Some(Nanos::MAX);
        }
        self.back_at
    }

    /// Removes all calls in flight, and returns their slots in order, and their kinds.
    pub(super) fn take_in_flight(&mut self) -> Vec<(u32, OpKind)> {
        let slots = (0..).zip(&mut self.slots);
        let whole = slots.filter_map(|(slot, pending)| Some((slot, pending.take()?)));
        let mut all: Vec<_> = whole.collect();
        all.extend(std::mem::take(&mut self.pieces));
        for client in &mut self.clients {
            client.in_flight = 0;
        }
        let kinds = all.into_iter();
        kinds.map(|(slot, pending)| (slot, pending.kind)).collect()
    }
}

#[cfg(test)]
mod tests;
