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
    /// When the last new frame was there.
    shown: Option<Nanos>,
    tally: FrameTally,
}

/// Whether a frame counts: it was due in the window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameCounts {
    Yes,
    No,
}

impl Frames {
    /// Makes the frames of a client; `None` unless clients are streams.
    pub(super) fn of(load: &LoadModel) -> Option<Box<Self>> {
        let stream = load.stream()?;
        Some(Box::new(Self {
            buffered: Nanos(stream.buffered_ns().round() as u64),
            shown: None,
            tally: FrameTally::default(),
        }))
    }

    /// Ends the gap since the last frame, because the stream is not shown for a while.
    pub(super) const fn rest(&mut self) {
        self.shown = None;
    }

    /// Counts a frame that was due at `due` and done at `now`.
    pub(super) fn done(&mut self, due: Nanos, now: Nanos, counts: FrameCounts) {
        let instant = due + self.buffered;
        let shown = instant.max(now);
        let gap = self.shown.map_or(Nanos(0), |last| shown.since(last));
        self.shown = Some(self.shown.map_or(shown, |last| last.max(shown)));
        if counts == FrameCounts::No {
            return;
        }
        let tally = &mut self.tally;
        tally.frames += 1;
        tally.late += u64::from(now > instant);
        tally.late_max = tally.late_max.max(now.since(instant));
        tally.gap_max = tally.gap_max.max(gap);
        let ahead = instant.since(now);
        tally.ahead_min = Some(tally.ahead_min.map_or(ahead, |least| least.min(ahead)));
    }

    /// Counts a frame that was due at `due` and failed, or was given up, at `now`.
    pub(super) fn missed(&mut self, due: Nanos, now: Nanos, counts: FrameCounts) {
        if counts == FrameCounts::No {
            return;
        }
        let tally = &mut self.tally;
        tally.frames += 1;
        tally.late += 1;
        tally.missing += 1;
        tally.ahead_min = Some(Nanos(0));
        let last = self.shown.unwrap_or(due);
        tally.gap_max = tally.gap_max.max(now.since(last));
    }

    /// Returns the counts of the client.
    pub(super) fn tally(&self) -> FrameTally {
        FrameTally {
            streams_late: u64::from(self.tally.late > 0),
            ..self.tally
        }
    }
}

#[cfg(test)]
mod tests {
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
        Frames::of(&load).unwrap()
    }

    #[test]
    fn a_frame_is_late_after_its_instant_and_not_at_it() {
        let mut frames = frames();
        // Due at 0, 10 and 20 ms; the instants are 20, 30 and 40 ms.
        for (due, done) in [(0, 5 * MS), (10, 30 * MS), (20, 40 * MS + 1)] {
            frames.done(Nanos(due * MS), Nanos(done), FrameCounts::Yes);
        }
        let tally = frames.tally();
        assert_eq!((tally.frames, tally.late, tally.missing), (3, 1, 0));
        assert_eq!((tally.late_max, tally.streams_late), (Nanos(1), 1));
        assert_eq!(tally.gap_max, Nanos(10 * MS + 1));
        assert_eq!(tally.ahead_min, Some(Nanos(0)));
    }

    #[test]
    fn frames_before_the_window_only_begin_the_gap() {
        let mut frames = frames();
        frames.done(Nanos(0), Nanos(90 * MS), FrameCounts::No);
        assert_eq!(frames.tally(), FrameTally::default());
        frames.done(Nanos(80 * MS), Nanos(95 * MS), FrameCounts::Yes);
        let tally = frames.tally();
        assert_eq!((tally.frames, tally.late), (1, 0));
        assert_eq!(tally.gap_max, Nanos(10 * MS));
        assert_eq!(tally.ahead_min, Some(Nanos(5 * MS)));
    }

    #[test]
    fn a_frame_that_never_comes_is_late_and_missing() {
        let mut frames = frames();
        frames.done(Nanos(0), Nanos(5 * MS), FrameCounts::Yes);
        frames.missed(Nanos(10 * MS), Nanos(70 * MS), FrameCounts::Yes);
        let tally = frames.tally();
        assert_eq!((tally.frames, tally.late, tally.missing), (2, 1, 1));
        assert_eq!(tally.gap_max, Nanos(50 * MS));
        assert_eq!(tally.ahead_min, Some(Nanos(0)));
        let twice = tally + tally;
        assert_eq!((twice.frames, twice.streams_late), (4, 2));
    }
}
