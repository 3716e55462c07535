//! The figures on the screen: of the last two minutes, of the present load point and of
//! the finished ones. Not here: how they are drawn ([`super::draw`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use smbench_engine::run::{Live, MeasuredInterval, PointNumber, Progress};
use smbench_model::record::{OpRecord, Recorder};
use smbench_report::metric::Metric;
use smbench_report::text::{Tone, cautions};
use smbench_report::units::plain;
use smbench_report::{Curve, RunDoc};

use crate::output;

/// Time that the charts of single seconds show.
pub(super) const SPAN_S: f64 = 120.0;

/// The run on the screen.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveTitle {
    /// Profile, and its number if there are several.
    pub(crate) profile: String,
    /// The server, without a password.
    pub(crate) server: String,
    /// Numbers of clients of the load points.
    pub(crate) clients: Vec<u32>,
    pub(crate) passes: u32,
    /// Whether the run is a replay, whose operations may differ from the recording.
    pub(crate) is_replay: bool,
}

/// The rest of all runs of the command.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Remaining {
    /// Completed share of all load points, 0 to 1.
    pub(crate) share: f64,
    /// The time left in words.
    pub(crate) words: String,
}

/// Figures of a second under load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LiveSecond {
    /// Seconds since the screen was made.
    pub(super) at_s: f64,
    /// Number of the load point.
    pub(super) point: u32,
    pub(super) live: Live,
}

/// Figures of a kind of operation in the window so far.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LiveKind {
    pub(super) name: Cow<'static, str>,
    pub(super) count: u64,
    pub(super) ops_per_s: f64,
    /// `None` for operations without data.
    pub(super) throughput_mbps: Option<f64>,
    pub(super) p50_ns: Option<f64>,
    pub(super) p99_ns: Option<f64>,
    pub(super) errors: u64,
    /// Operations of a replay that did not go as recorded; no other figure counts them.
    pub(super) differ: u64,
}

/// Whether a load point may be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Valid,
    ClientLimited,
    Invalid,
}

/// A load point on the curve, the mean over its passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LivePoint {
    pub(super) clients: u32,
    pub(super) throughput_mbps: f64,
    pub(super) ops_per_s: f64,
    pub(super) standing: Standing,
}

/// What is drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveView {
    pub(super) title: LiveTitle,
    /// The phase in words.
    pub(super) phase: String,
    pub(super) remaining: Remaining,
    pub(super) now_s: f64,
    /// The last two minutes, the oldest first.
    pub(super) seconds: VecDeque<LiveSecond>,
    /// The finished load points by their clients.
    pub(super) curve: Vec<LivePoint>,
    /// The load point under way.
    pub(super) present: Option<PointNumber>,
    /// Kinds of operations in the last window, in the order of tables.
    pub(super) kinds: Vec<LiveKind>,
    /// The operations of each population in that window, if there are several.
    pub(super) populations: Vec<LiveKind>,
    /// All operations that the workload asked for in that window.
    pub(super) all: Option<LiveKind>,
    /// The load point of that window, and its length so far in seconds.
    pub(super) window: Option<(PointNumber, f64)>,
    /// What a reader must know before quoting a number, the latest first.
    pub(super) problems: Vec<(Tone, String)>,
}

impl LiveView {
    /// Returns whether the run moves data, as far as it is known.
    pub(super) fn metric(&self) -> Metric {
        let seconds = self.seconds.iter().map(|second| second.live);
        let known = seconds.map(|live| (live.throughput_mbps, live.ops_per_s));
        let curve = self.curve.iter();
        let mut known = known.chain(curve.map(|point| (point.throughput_mbps, point.ops_per_s)));
        let moves_data = known.clone().any(|(mbps, _)| mbps > 0.0);
        if !moves_data && known.any(|(_, ops_per_s)| ops_per_s > 0.0) {
            Metric::Operations
        } else {
            Metric::Throughput
        }
    }

    /// Returns the load point under way: the mean of its window so far, or the last second
    /// of its ramp.
    pub(super) fn present_point(&self) -> Option<LivePoint> {
        let present = self.present?;
        let is_measured = self.window.is_some_and(|(point, _)| point == present);
        let (throughput_mbps, ops_per_s) = match &self.all {
            Some(all) if is_measured => (all.throughput_mbps.unwrap_or(0.0), all.ops_per_s),
            _ => {
                let last = self.seconds.back();
                let live = last.filter(|last| last.point == present.number)?.live;
                (live.throughput_mbps, live.ops_per_s)
            }
        };
        Some(LivePoint {
            clients: present.clients,
            throughput_mbps,
            ops_per_s,
            standing: Standing::Valid,
        })
    }

    /// Returns the number of the pass under way, if there are several.
    pub(super) fn pass(&self) -> Option<u32> {
        let of_pass = self.title.clients.len().max(1) as u32;
        let present = self.present.filter(|_| self.title.passes > 1)?;
        Some((present.number - 1) / of_pass + 1)
    }
}

/// The figures of a run so far.
#[derive(Debug, Default)]
pub(crate) struct LiveFigures {
    view: LiveView,
    /// The operations of the last window.
    window: Recorder,
    /// Those of each population, if there are several.
    populations: Vec<Recorder>,
    /// The last second that was stored: number of its load point, and seconds since the
    /// load began.
    stored: Option<(u32, u64)>,
}

impl LiveFigures {
    pub(super) fn of(title: LiveTitle) -> Self {
        let view = LiveView {
            title,
            phase: "starting".to_owned(),
            ..LiveView::default()
        };
        Self {
            view,
            ..Self::default()
        }
    }

    /// Returns what is drawn at this time.
    pub(super) fn view(&self, now_s: f64) -> LiveView {
        let mut view = self.view.clone();
        view.now_s = now_s;
        let held = output::held().into_iter().rev();
        let held = held.map(|message| (Tone::Caution, message));
        view.problems = held.chain(view.problems).collect();
        view
    }

    pub(super) fn progress(
        &mut self,
        progress: &Progress,
        phase: String,
        remaining: Remaining,
        now_s: f64,
    ) {
        self.view.phase = phase;
        self.view.remaining = remaining;
        self.view.present = match progress {
            Progress::Pausing { point, .. }
            | Progress::SettingUp { point, .. }
            | Progress::Running { point, .. }
            | Progress::ReadingBack { point, .. } => Some(*point),
            Progress::Connecting | Progress::Preparing { .. } | Progress::CleaningUp => None,
        };
        let Progress::Running {
            point,
            elapsed,
            total,
            live,
            ..
        } = progress
        else {
            return;
        };
        // Until the first second is complete there are only zeros.
        let is_known = *live != Live::default() || self.is_stored(point.number);
        let second = (point.number, elapsed.as_secs());
        // After the load nothing changes.
        if is_known && elapsed <= total && self.stored != Some(second) {
            self.stored = Some(second);
            self.store(LiveSecond {
                at_s: now_s,
                point: point.number,
                live: *live,
            });
        }
    }

    /// Returns whether there are figures of a load point.
    fn is_stored(&self, number: u32) -> bool {
        self.stored.is_some_and(|(point, _)| point == number)
    }

    fn store(&mut self, second: LiveSecond) {
        let seconds = &mut self.view.seconds;
        while seconds
            .front()
            .is_some_and(|oldest| oldest.at_s < second.at_s - SPAN_S)
        {
            seconds.pop_front();
        }
        seconds.push_back(second);
    }

    pub(super) fn interval(&mut self, interval: &MeasuredInterval<'_>) {
        let before = self
            .view
            .window
            .filter(|(point, _)| *point == interval.point);
        if before.is_none() {
            self.window = Recorder::default();
            self.populations = vec![Recorder::default(); interval.populations.len()];
        }
        self.window.merge(interval.ops);
        for (window, of) in self.populations.iter_mut().zip(interval.populations) {
            window.merge(of.ops);
        }
        let window_s = before.map_or(0.0, |(_, length_s)| length_s) + interval.length.as_secs_f64();
        self.view.window = Some((interval.point, window_s));
        let (differing, none) = (self.window.differing(), OpRecord::default());
        let mut kinds: BTreeMap<_, _> = self.window.ops().collect();
        for kind in differing.keys() {
            kinds.entry(*kind).or_insert(&none);
        }
        let kinds = kinds.into_iter().map(|(kind, of)| LiveKind {
            differ: differing.get(&kind).copied().unwrap_or_default(),
            ..LiveKind::of(kind.name().into(), of, of.bytes, window_s)
        });
        self.view.kinds = kinds.collect();
        let populations = self.populations.iter().zip(interval.populations);
        let populations = populations.map(|(window, of)| {
            let (name, bytes) = (of.name.to_owned(), window.bytes_carried());
            LiveKind {
                differ: window.differing().values().sum(),
                ..LiveKind::of(name.into(), &window.all(), bytes, window_s)
            }
        });
        self.view.populations = populations.collect();
        let bytes = self.window.bytes_carried();
        self.view.all = Some(LiveKind {
            differ: differing.values().sum(),
            ..LiveKind::of("all".into(), &self.window.all(), bytes, window_s)
        });
    }

    pub(super) fn points(&mut self, doc: &RunDoc) {
        let rows = Curve::of(&doc.load_points).rows.into_iter();
        let points = rows.map(|row| LivePoint {
            clients: row.clients,
            throughput_mbps: row.throughput_mbps,
            ops_per_s: row.ops_per_s,
            standing: if !row.invalid.is_empty() {
                Standing::Invalid
            } else if row.is_generator_limited() {
                Standing::ClientLimited
            } else {
                Standing::Valid
            },
        });
        self.view.curve = points.collect();
        let invalid = doc.load_points.iter().rev().filter(|point| !point.valid);
        let invalid = invalid.map(|point| {
            let pass = if self.view.title.passes > 1 {
                format!(", pass {}", point.repeat)
            } else {
                String::new()
            };
            let load = point.load();
            let reason = point.invalid_reason.as_deref().unwrap_or("no reason given");
            let words = format!("not valid at {load}{pass}: {}", plain(reason));
            (Tone::Problem, words)
        });
        let cautions = cautions(doc).into_iter();
        let cautions = cautions.map(|caution| (Tone::Caution, caution));
        self.view.problems = invalid.chain(cautions).collect();
    }
}

impl LiveKind {
    fn of(name: Cow<'static, str>, of: &OpRecord, bytes: u64, window_s: f64) -> Self {
        let latency = of.latency();
        let is_empty = latency.is_empty();
        let quantile = |at| (!is_empty).then(|| latency.value_at_quantile(at) as f64);
        let per_second = |amount: f64| {
            if window_s > 0.0 {
                amount / window_s
            } else {
                0.0
            }
        };
        Self {
            name,
            count: of.count(),
            ops_per_s: per_second(of.count() as f64),
            throughput_mbps: (bytes > 0).then(|| per_second(bytes as f64 * 8.0 / 1e6)),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            errors: of.errors,
            differ: 0,
        }
    }
}

#[cfg(test)]
mod tests;
