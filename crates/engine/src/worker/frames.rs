//! The frames of a client that is a stream: whether each is done by its instant.
//!
//! Only the loop of operations that are split or measured as a whole counts frames.

use smbench_model::Nanos;
use smbench_model::load::LoadModel;
use smbench_model::record::FrameTally;

/// The frames of one client.
pub(super) struct Frames {
    /// Time from when a frame is due to its instant.
    buffered: Nanos,
    /// Time after which a stream that had no frame due has rested.
    rested: Nanos,
    /// When the last frame was due.
    last_due: Nanos,
    /// When the last new frame was there.
    shown: Option<Nanos>,
}

impl Frames {
    /// Makes the frames of a client with this many outstanding actions; `None` unless clients
    /// are streams.
    pub(super) fn of(load: &LoadModel, outstanding: u32) -> Option<Box<Self>> {
        let stream = load.stream()?;
        // Of frames that are not done in their order, as many may come before an earlier one.
        let frames = f64::from(outstanding) + 0.5;
        Some(Box::new(Self {
            buffered: Nanos(stream.buffered_ns().round() as u64),
            rested: Nanos((stream.frame_time_ns() * frames).ceil() as u64),
            last_due: Nanos(0),
            shown: None,
        }))
    }

    /// Returns the time from when a frame is due to its instant.
    pub(super) const fn buffered(&self) -> Nanos {
        self.buffered
    }

    /// Ends the gap since the last frame, because the stream is not shown for a while.
    pub(super) const fn rest(&mut self) {
        self.shown = None;
    }

    /// Notes that a frame is due. A stream whose frames were not due for a while, as between the
    /// turns of its client, has no gap then.
    fn due(&mut self, due: Nanos) {
        if due.since(self.last_due) > self.rested {
            self.rest();
        }
        self.last_due = self.last_due.max(due);
    }

    /// Returns the counts of a frame that was due at `due` and done at `now`.
    pub(super) fn done(&mut self, due: Nanos, now: Nanos) -> FrameTally {
        self.due(due);
        let instant = due + self.buffered;
        let shown = instant.max(now);
        let gap_max = self.shown.map_or(Nanos(0), |last| shown.since(last));
        self.shown = Some(self.shown.map_or(shown, |last| last.max(shown)));
        FrameTally {
            frames: 1,
            late: u64::from(now > instant),
            late_max: now.since(instant),
            gap_max,
            ahead_min: Some(instant.since(now)),
            ..FrameTally::default()
        }
    }

    /// Returns the counts of a frame that was due at `due` and failed, or was given up, at `now`.
    pub(super) fn missed(&mut self, due: Nanos, now: Nanos) -> FrameTally {
        self.due(due);
        FrameTally {
            frames: 1,
            late: 1,
            missing: 1,
            gap_max: now.since(self.shown.unwrap_or(due)),
            ahead_min: Some(Nanos(0)),
            ..FrameTally::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Add as _;

    use smbench_model::load::stream::{FrameStream, StreamLayout, StreamStart};

    use super::*;

    const MS: u64 = 1_000_000;

    /// A stream of 100 frames a second that reads two ahead.
    fn frames() -> Box<Frames> {
        let load = LoadModel::Stream(FrameStream {
            frame_bytes: 1,
            frames_per_s: 100.0,
            read_ahead: 2,
            layout: StreamLayout::OneFile,
            start: StreamStart::Spread,
        });
        Frames::of(&load, 2).unwrap()
    }

    #[test]
    fn a_frame_is_late_after_its_instant_and_not_at_it() {
        let mut frames = frames();
        // Due at 0, 10 and 20 ms; the instants are 20, 30 and 40 ms.
        let ends = [(0, 5 * MS), (10, 30 * MS), (20, 40 * MS + 1)];
        let all = ends.map(|(due, done)| frames.done(Nanos(due * MS), Nanos(done)));
        let tally = all.into_iter().fold(FrameTally::default(), FrameTally::add);
        assert_eq!((tally.frames, tally.late, tally.missing), (3, 1, 0));
        assert_eq!(tally.late_max, Nanos(1));
        assert_eq!(tally.gap_max, Nanos(10 * MS + 1));
        assert_eq!(tally.ahead_min, Some(Nanos(0)));
    }

    #[test]
    fn a_stream_that_rested_has_no_gap() {
        let mut frames = frames();
        frames.done(Nanos(80 * MS), Nanos(95 * MS));
        let next = frames.done(Nanos(90 * MS), Nanos(95 * MS));
        assert_eq!(next.gap_max, Nanos(10 * MS));
        // Two frames that are not done in their order are no rest.
        let first = frames.done(Nanos(110 * MS), Nanos(200 * MS));
        assert_eq!((first.gap_max, first.late), (Nanos(90 * MS), 1));
        frames.done(Nanos(100 * MS), Nanos(205 * MS));
        // Its client had another turn, two seconds later.
        let later = frames.done(Nanos(2090 * MS), Nanos(2095 * MS));
        assert_eq!((later.gap_max, later.late), (Nanos(0), 0));
        let next = frames.done(Nanos(2100 * MS), Nanos(2125 * MS));
        assert_eq!((next.gap_max, next.late), (Nanos(15 * MS), 1));
    }

    #[test]
    fn a_frame_that_never_comes_is_late_and_missing() {
        let mut frames = frames();
        let first = frames.done(Nanos(0), Nanos(5 * MS));
        let tally = first + frames.missed(Nanos(10 * MS), Nanos(70 * MS));
        assert_eq!((tally.frames, tally.late, tally.missing), (2, 1, 1));
        assert_eq!(tally.gap_max, Nanos(50 * MS));
        assert_eq!(tally.ahead_min, Some(Nanos(0)));
    }
}
