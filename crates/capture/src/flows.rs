//! The TCP connections of a capture: each has two directions and its SMB messages.
//!
//! Memory is bounded: the connection that was silent for longest is ended when there are
//! too many.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;

use crate::connection::{End, Receiver, SmbState};
use crate::cutter::{ConnectionKind, MessageCutter};
use crate::foreign::tcp_protocol;
use crate::ip::TcpSegment;
use crate::ledger::CaptureLedger;
use crate::tcp::{HalfStream, Moment, StreamPiece, StreamSegment, StreamSink, WaitingBytes};

/// Connections that are followed at the same time.
const OPEN_MAX: usize = 50_000;
/// Connections that have ended and whose late packets are known.
const ENDED_MAX: usize = 8192;
/// Different protocols that are counted.
const PROTOCOLS_MAX: usize = 64;

/// The addresses of a connection, the smaller one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FlowKey([SocketAddr; 2]);

/// A connection.
struct Flow {
    halves: [HalfStream; 2],
    cutters: [MessageCutter; 2],
    has_fin: [bool; 2],
    is_reset: bool,
    state: SmbState,
    last: Moment,
    frames: u64,
}

/// All connections.
#[derive(Default)]
pub(crate) struct Flows {
    open: HashMap<FlowKey, Box<Flow>>,
    /// Connections that have ended.
    ended: HashMap<FlowKey, ()>,
    ended_order: VecDeque<FlowKey>,
    waiting: WaitingBytes,
    /// Connections without SMB and their frames, by protocol.
    pub(crate) foreign: BTreeMap<String, u64>,
}

/// Hands the pieces of one direction on to its messages.
struct FlowSink<'a> {
    cutter: &'a mut MessageCutter,
    receiver: Receiver<'a>,
}

impl StreamSink for FlowSink<'_> {
    fn piece(&mut self, piece: StreamPiece<'_>, at: Moment) {
        self.cutter.piece(piece, at, &mut self.receiver);
        let is_hole = !matches!(piece, StreamPiece::Bytes(_));
        if is_hole && self.cutter.is_searching() {
            self.receiver.missed(at);
        }
    }
}

impl Flow {
    fn new(key: FlowKey, client: Option<End>) -> Self {
        let cutter = || MessageCutter::new(client.is_none());
        Self {
            halves: Default::default(),
            cutters: [cutter(), cutter()],
            has_fin: [false; 2],
            is_reset: false,
            state: SmbState::new(key.0, client),
            last: Moment::default(),
            frames: 0,
        }
    }

    /// Takes one direction apart.
    fn half<'a>(
        &'a mut self,
        end: End,
        ledger: &'a mut CaptureLedger,
    ) -> (&'a mut HalfStream, FlowSink<'a>) {
        let at = end as usize;
        let sink = FlowSink {
            cutter: &mut self.cutters[at],
            receiver: Receiver {
                state: &mut self.state,
                ledger,
                from: end,
            },
        };
        (&mut self.halves[at], sink)
    }

    fn finish(&mut self, waiting: &mut WaitingBytes, ledger: &mut CaptureLedger) {
        let at = self.last;
        for end in [End::A, End::B] {
            let (half, mut sink) = self.half(end, ledger);
            half.finish(waiting, &mut sink);
            sink.cutter.finish(at, &mut sink.receiver);
        }
        self.state.finish(at, ledger);
        if self.is_reset || self.has_fin.contains(&true) {
            self.state.leave_sessions(at, ledger);
        }
        if self.state.number.is_some() {
            for cutter in &self.cutters {
                let sum = &mut ledger.tally.unreadable;
                sum.lost_bytes += cutter.losses.lost_bytes;
                sum.cut_bytes += cutter.losses.cut_bytes;
                sum.skipped_bytes += cutter.losses.skipped_bytes;
            }
        }
    }

    /// Returns the name of the protocol, if it is not SMB.
    fn foreign(&self, key: FlowKey) -> Option<String> {
        let is_smb = self
            .cutters
            .iter()
            .any(|cutter| cutter.kind == ConnectionKind::Smb);
        if is_smb || self.state.number.is_some() {
            return None;
        }
        let start = self.cutters.iter().map(|cutter| &cutter.start[..]);
        let start = start.max_by_key(|start| start.len()).unwrap_or_default();
        Some(tcp_protocol(start, key.0.map(|address| address.port())))
    }
}

impl Flows {
    /// Takes a segment.
    pub(crate) fn segment(
        &mut self,
        segment: TcpSegment<'_>,
        at: Moment,
        ledger: &mut CaptureLedger,
    ) {
        let (key, end) = if segment.from <= segment.to {
            (FlowKey([segment.from, segment.to]), End::A)
        } else {
            (FlowKey([segment.to, segment.from]), End::B)
        };
        let is_opening = segment.is_syn && segment.acknowledged.is_none();
        if is_opening {
            self.reopen(key, end, segment.sequence, ledger);
        }
        let client = is_opening.then_some(end);
        let is_full = self.open.len() >= OPEN_MAX;
        if is_full && !self.open.contains_key(&key) && !self.ended.contains_key(&key) {
            self.end_silent(ledger);
        }
        // Most packets are of a connection that is open: one look-up is enough.
        let flow = match self.open.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            // A late packet.
            Entry::Vacant(_) if self.ended.contains_key(&key) => return,
            Entry::Vacant(entry) => entry.insert(Box::new(Flow::new(key, client))),
        };
        flow.last = at;
        flow.frames += 1;
        if let Some(number) = segment.acknowledged {
            let (other, mut sink) = flow.half(end.other(), ledger);
            other.acknowledged(number, at, &mut self.waiting, &mut sink);
        }
        let (half, mut sink) = flow.half(end, ledger);
        if segment.is_syn {
            if half.is_unseen() {
                half.begin(segment.sequence);
            }
            return;
        }
        if segment.is_fin {
            // The cast is safe: a packet is far shorter.
            let of_fin = segment.sequence.wrapping_add(segment.wire_len as u32);
            half.ends_at(of_fin);
        }
        if segment.wire_len > 0 {
            let segment = StreamSegment {
                sequence: segment.sequence,
                payload: segment.payload,
                wire_len: segment.wire_len,
                at,
            };
            half.push(segment, &mut self.waiting, &mut sink);
        }
        flow.has_fin[end as usize] |= segment.is_fin;
        flow.is_reset |= segment.is_reset;
        if flow.is_reset || flow.has_fin == [true; 2] {
            self.end(key, ledger);
        }
    }

    /// Ends all connections.
    pub(crate) fn finish(&mut self, ledger: &mut CaptureLedger) {
        let mut keys: Vec<_> = self.open.keys().copied().collect();
        keys.sort_unstable_by_key(|key| key.0);
        for key in keys {
            self.end(key, ledger);
        }
    }

    /// Ends the connection that had these addresses before, if a SYN begins another.
    fn reopen(&mut self, key: FlowKey, end: End, sequence: u32, ledger: &mut CaptureLedger) {
        self.ended.remove(&key);
        let known = self.open.get(&key);
        let is_other = known.is_some_and(|flow| !flow.halves[end as usize].began_at(sequence));
        if is_other {
            self.end(key, ledger);
            self.ended.remove(&key);
        }
    }

    fn end(&mut self, key: FlowKey, ledger: &mut CaptureLedger) {
        let Some(mut flow) = self.open.remove(&key) else {
            return;
        };
        flow.finish(&mut self.waiting, ledger);
        if let Some(name) = flow.foreign(key) {
            let is_kept = self.foreign.len() < PROTOCOLS_MAX || self.foreign.contains_key(&name);
            let name = if is_kept {
                name
            } else {
                "other TCP".to_owned()
            };
            *self.foreign.entry(name).or_default() += flow.frames;
        }
        if self.ended.insert(key, ()).is_none() {
            self.ended_order.push_back(key);
        }
        if self.ended_order.len() > ENDED_MAX
            && let Some(oldest) = self.ended_order.pop_front()
        {
            self.ended.remove(&oldest);
        }
    }

    /// Ends the eighth of the connections that was silent for longest.
    fn end_silent(&mut self, ledger: &mut CaptureLedger) {
        let mut times: Vec<_> = self
            .open
            .iter()
            .map(|(key, flow)| (flow.last.frame, *key))
            .collect();
        times.sort_unstable_by_key(|&(frame, key)| (frame, key.0));
        times.truncate(OPEN_MAX / 8);
        for (_, key) in times {
            self.end(key, ledger);
        }
    }
}
