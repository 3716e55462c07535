//! Reads the files of a capture, packet by packet.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::distil::{Distillation, Distiller};
use crate::error::CaptureError;
use crate::file::{CapturedPacket, read_packets};
use crate::flows::Flows;
use crate::foreign::udp_protocol;
use crate::ip::{Fragments, IpPayload};
use crate::keys::KeyRing;
use crate::ledger::CaptureLedger;
use crate::link::{LinkPayload, ip_of};
use crate::names::{NameTreatment, PathNode};
use crate::slice::CaptureSlice;
use crate::summary::{CaptureSummary, SourceSummary};
use crate::tcp::Moment;
use crate::trace::{LineWriter, SessionLine, TreeLine};

const DAY_NS: u64 = 86_400_000_000_000;
const HOUR_NS: u64 = DAY_NS / 24;
/// Protocols of UDP that are counted on their own.
const PROTOCOLS_MAX: usize = 64;

/// The begin of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceBegin {
    /// At this time since 1970.
    At(Duration),
    /// At this time of the day of the first frame, in UTC; on the next day if that is more
    /// than an hour before the first frame.
    TimeOfDay(Duration),
}

impl SliceBegin {
    /// Returns the begin in nanoseconds since 1970, by the time of the first frame.
    fn since_1970_ns(self, first_ns: u64) -> u64 {
        match self {
            Self::At(time) => nanos(time),
            Self::TimeOfDay(time) => {
                let same_day = (first_ns / DAY_NS * DAY_NS).saturating_add(nanos(time));
                // A capture may go on after midnight.
                if same_day.saturating_add(HOUR_NS) < first_ns {
                    same_day.saturating_add(DAY_NS)
                } else {
                    same_day
                }
            }
        }
    }
}

/// Returns a time in nanoseconds.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What of a capture is read, and how names are written.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Only requests that were sent from here on.
    pub from: Option<SliceBegin>,
    /// Only requests within this time.
    pub length: Option<Duration>,
    /// Only requests of this client.
    pub client: Option<IpAddr>,
    /// Only requests of this user, with or without the domain, whatever the case.
    pub user: Option<String>,
    /// Only requests to this share, whatever the case.
    pub share: Option<String>,
    /// Whether names are written as recorded.
    pub names: NameTreatment,
}

/// Returns the time of the first frame of a file in nanoseconds since 1970; `None` if it
/// has no frames.
///
/// # Errors
/// If the file cannot be read, or is no capture.
pub fn first_time_ns(name: &str, source: impl Read) -> Result<Option<u64>, CaptureError> {
    let mut time_ns = None;
    read_packets(name, source, |packet| {
        time_ns = Some(packet.time_ns);
        ControlFlow::Break(())
    })?;
    Ok(time_ns)
}

/// A capture while it is read.
pub struct CaptureImport {
    options: ImportOptions,
    ledger: CaptureLedger,
    flows: Flows,
    fragments: Fragments,
    foreign: BTreeMap<String, u64>,
    source: SourceSummary,
    /// Name of the first file.
    name: String,
    has_begun: bool,
}

impl CaptureImport {
    /// Begins with a capture.
    #[must_use]
    pub fn new(options: ImportOptions) -> Self {
        Self {
            ledger: CaptureLedger::new(options.names),
            options,
            flows: Flows::default(),
            fragments: Fragments::default(),
            foreign: BTreeMap::new(),
            source: SourceSummary::default(),
            name: String::new(),
            has_begun: false,
        }
    }

    /// Writes a [`TraceLine`](crate::TraceLine) for each request, compressed by gzip.
    pub fn trace_to(&mut self, out: impl Write + 'static) {
        self.ledger.trace = Some(LineWriter::new(Box::new(out)));
    }

    /// Counts for profiles what each session does.
    pub fn distil(&mut self) {
        self.ledger.distiller = Some(Distiller::default());
    }

    /// Opens encrypted messages with these keys.
    pub fn open_with(&mut self, keys: KeyRing) {
        self.ledger.keys = keys;
    }

    /// Reads a file. Several files are read in the order of their times.
    ///
    /// # Errors
    /// If the file cannot be read, is no capture, or is damaged before its first frame. What
    /// was read before is kept.
    pub fn read(&mut self, name: &str, source: impl Read) -> Result<(), CaptureError> {
        if self.source.files == 0 {
            name.clone_into(&mut self.name);
        }
        let before = self.source.frames;
        let end = read_packets(name, source, |packet| {
            self.packet(packet, before);
            ControlFlow::Continue(())
        })?;
        self.source.files += 1;
        if end.is_cut {
            self.source.cut_files += 1;
            self.source.cut_frame.get_or_insert(self.source.frames);
        }
        if let Some(damage) = end.damage {
            self.source.damaged_files += 1;
            let frame = self.source.frames;
            let damage = || format!("after frame {frame}: {damage}");
            self.source.damage.get_or_insert_with(damage);
        }
        let dropped = &mut self.source.dropped_frames;
        *dropped = dropped.saturating_add(end.dropped);
        Ok(())
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// [`CaptureError::NoSmb`] if it has no SMB.
    pub fn finish(mut self) -> Result<CaptureResult, CaptureError> {
        self.fragments.finish();
        self.flows.finish(&mut self.ledger);
        self.ledger.tally.unreadable.fragmented_datagrams = self.fragments.given_up;
        for (name, frames) in &self.flows.foreign {
            *self.foreign.entry(name.clone()).or_default() += frames;
        }
        if self.ledger.connections == 0 {
            let more = self.source.files.saturating_sub(1);
            return Err(CaptureError::NoSmb {
                capture: match more {
                    0 => self.name,
                    _ => format!("{} and {more} more", self.name),
                },
                held: held(&self.foreign, &self.source),
            });
        }
        let summary = CaptureSummary::new(&self.ledger, self.source, self.foreign);
        Ok(CaptureResult {
            summary,
            ledger: self.ledger,
        })
    }

    pub(crate) fn packet(&mut self, packet: CapturedPacket<'_>, before: u64) {
        let at = Moment {
            time_ns: packet.time_ns,
            frame: before + packet.frame,
        };
        self.source.add(packet.time_ns, packet.wire_len as u64);
        if !self.has_begun {
            self.has_begun = true;
            self.begin(packet.time_ns);
        }
        let unreadable = &mut self.ledger.tally.unreadable;
        let missing = packet.wire_len - packet.bytes.len();
        let payload = match ip_of(packet.link_type, packet.bytes) {
            LinkPayload::Ip(ip) => self.fragments.read(ip, missing),
            LinkPayload::Other => IpPayload::Other,
            LinkPayload::UnknownLink => {
                unreadable.unknown_links += 1;
                let name = format!("link layer {}", packet.link_type);
                return count(&mut self.foreign, &name);
            }
        };
        match payload {
            IpPayload::Tcp(segment) => self.flows.segment(segment, at, &mut self.ledger),
            IpPayload::Udp { ports, payload } => {
                count(&mut self.foreign, &udp_protocol(payload, ports));
            }
            IpPayload::Other => count(&mut self.foreign, "other protocols"),
            IpPayload::Unreadable => unreadable.unreadable_packets += 1,
        }
    }

    /// Places the slice by the time of the first frame.
    fn begin(&mut self, time_ns: u64) {
        self.ledger.begin_ns = time_ns;
        let from_ns = self.options.from.map(|from| from.since_1970_ns(time_ns));
        let length = self.options.length.map_or(u64::MAX, nanos);
        let begin = from_ns.unwrap_or(time_ns);
        self.ledger.slice = CaptureSlice {
            from_ns: from_ns.unwrap_or(0),
            to_ns: begin.saturating_add(length),
            client: self.options.client,
            user: self.options.user.clone(),
            share: self.options.share.clone(),
            share_nodes: BTreeSet::new(),
        };
        self.ledger.tally.concurrency.end_ns = Some(self.ledger.slice.to_ns);
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    let is_kept = counts.len() < PROTOCOLS_MAX || counts.contains_key(name);
    let name = if is_kept { name } else { "other protocols" };
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => {
            counts.insert(name.to_owned(), 1);
        }
    }
}

/// Names what a capture without SMB holds, the most first.
fn held(foreign: &BTreeMap<String, u64>, source: &SourceSummary) -> String {
    const NAMED_MAX: usize = 5;
    let mut counts: Vec<_> = foreign.iter().collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
    let named = counts
        .iter()
        .take(NAMED_MAX)
        .map(|(name, count)| format!("{name} ({count})"));
    let named: Vec<_> = named.collect();
    let named = match named.len() {
        0 => "no readable packet".to_owned(),
        _ => named.join(", "),
    };
    let held = match source.frames {
        0 if source.cut_files > 0 => "it ends inside of its first frame".to_owned(),
        0 => "it has no frame".to_owned(),
        1 => format!("1 frame holds {named}"),
        frames => format!("{frames} frames hold {named}"),
    };
    match &source.damage {
        Some(damage) => format!("{held}; it is damaged {damage}"),
        None => held,
    }
}

/// A capture that was read.
pub struct CaptureResult {
    /// The counts.
    pub summary: CaptureSummary,
    ledger: CaptureLedger,
}

impl CaptureResult {
    /// Returns where the slice begins, in nanoseconds since 1970; 0 if it has no begin.
    #[must_use]
    pub const fn slice_begin_ns(&self) -> u64 {
        self.ledger.slice.from_ns
    }

    /// Ends the trace that [`CaptureImport::trace_to`] began.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish_trace(&mut self) -> io::Result<()> {
        self.ledger.trace.take().map_or(Ok(()), LineWriter::finish)
    }

    /// Returns the profiles that [`CaptureImport::distil`] asked for.
    pub fn distilled(&mut self) -> Distillation {
        let distiller = self.ledger.distiller.take();
        distiller.map(Distiller::finish).unwrap_or_default()
    }

    /// Writes a [`SessionLine`] for each session of the slice, compressed by gzip.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn write_sessions(&mut self, out: impl Write + 'static) -> io::Result<()> {
        let mut lines = LineWriter::new(Box::new(out));
        let CaptureLedger {
            sessions, names, ..
        } = &mut self.ledger;
        let numbered = (1..).zip(&sessions.all);
        for (number, session) in numbered.filter(|(_, session)| session.requests > 0) {
            let client = session.client.map(|client| client.to_string());
            lines.write(&SessionLine {
                session: number,
                client: client.map(|client| names.written(&client)),
                user: session.user.clone(),
            });
        }
        lines.finish()
    }

    /// Writes a [`TreeLine`] for each name that the capture shows, compressed by gzip.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn write_tree(&self, out: impl Write + 'static) -> io::Result<()> {
        let mut lines = LineWriter::new(Box::new(out));
        let is_part = self.ledger.slice.is_part();
        for (number, node) in (1..).zip(&self.ledger.paths.nodes) {
            // Numbers have no gaps.
            let outside = PathNode {
                parent: node.parent,
                name: format!("outside-{number}").into(),
                is_made_up: true,
                ..PathNode::default()
            };
            let is_outside = is_part && !node.is_in_slice;
            let node = if is_outside { &outside } else { node };
            lines.write(&TreeLine {
                path: number,
                parent: node.parent,
                name: &node.name,
                size: node.size.or(node.listed.and_then(|listed| listed.size)),
                directory: node
                    .is_directory
                    .or(node.listed.and_then(|listed| listed.is_directory)),
                made_up: node.is_made_up,
                listed: node.listed.is_some(),
            });
        }
        lines.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_day_long_before_the_first_frame_is_on_the_next_day() {
        let hours = |hours: u64| hours * HOUR_NS;
        let of_day = |minutes: u64| SliceBegin::TimeOfDay(Duration::from_secs(60 * minutes));
        // The capture begins on the third day at 22:00.
        let first_ns = 2 * DAY_NS + hours(22);
        for (minutes, begin_ns) in [
            (30, 3 * DAY_NS + hours(1) / 2),
            (20 * 60, 3 * DAY_NS + hours(20)),
            (21 * 60, 2 * DAY_NS + hours(21)),
            (23 * 60, 2 * DAY_NS + hours(23)),
        ] {
            assert_eq!(
                of_day(minutes).since_1970_ns(first_ns),
                begin_ns,
                "{minutes}"
            );
        }
        let at = SliceBegin::At(Duration::from_secs(1));
        assert_eq!(at.since_1970_ns(first_ns), 1_000_000_000);
    }
}
