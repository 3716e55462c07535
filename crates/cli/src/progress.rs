//! Progress of a command in a line on the terminal; silent without a terminal. A run may
//! cover the line with a full screen.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use smbench_engine::run::{Live, MeasuredInterval, Pause, PointNumber, Progress, Stage};
use smbench_report::{RunDoc, render, units};

use crate::advice::cleanup_command;
use crate::failure::Failure;
use crate::live::{LiveScreen, LiveTitle, Remaining};
use crate::observer::{LeftShare, RunObserver};
use crate::output::{complain, print};
use crate::time_left::TimeLeft;
use crate::watch::PointLines;

/// Whether progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// On standard error, if that is a terminal.
    Terminal,
    Hidden,
}

impl Visibility {
    /// Shows progress, unless the user asked for silence.
    pub(crate) const fn unless(quiet: bool) -> Self {
        if quiet { Self::Hidden } else { Self::Terminal }
    }
}

/// Number of steps of the bar.
const STEPS: u64 = 1000;

/// The progress line; clones share the same line.
#[derive(Clone, Debug)]
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    screen: Option<LiveScreen>,
}

impl ProgressLine {
    pub(crate) fn new(visibility: Visibility) -> Self {
        // Hides itself if standard error is not a terminal.
        let target = match visibility {
            Visibility::Terminal => ProgressDrawTarget::stderr(),
            Visibility::Hidden => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        Self {
            bar: bar.with_style(style("[{bar:10}] {wide_msg}")),
            screen: None,
        }
    }

    /// Returns the line with a screen that may cover it.
    pub(crate) fn under(self, screen: Option<LiveScreen>) -> Self {
        Self { screen, ..self }
    }

    /// Covers the line with the screen, if there is one, until the run has ended or the
    /// user leaves the screen.
    pub(crate) fn cover(&self, title: impl FnOnce() -> LiveTitle) -> Result<(), Failure> {
        let Some(screen) = &self.screen else {
            return Ok(());
        };
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
        screen.cover(title())
    }

    /// Shows the completed share of all load points, the time left, and the phase.
    pub(crate) fn show_run(&self, progress: &Progress, left: &TimeLeft) {
        if let Some(screen) = &self.screen {
            if screen.is_shown() {
                let (share, words) = (left.share(), left.words());
                let remaining = Remaining { share, words };
                screen.progress(progress, describe(progress), remaining);
                return;
            }
            // The user has left the screen.
            if self.bar.is_hidden() {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
        if self.bar.is_finished() {
            // The run before has cleared it.
            self.bar.reset();
        }
        self.bar.set_position((left.share() * STEPS as f64) as u64);
        self.bar.set_message(format!(
            "{:.0} %, {}: {}",
            left.share() * 100.0,
            left.words(),
            describe(progress)
        ));
    }

    /// Shows the operations of an interval, if the screen covers the line.
    pub(crate) fn show_interval(&self, interval: &MeasuredInterval<'_>) {
        if let Some(screen) = &self.screen {
            screen.interval(interval);
        }
    }

    /// Shows the finished load points, if the screen covers the line.
    pub(crate) fn show_points(&self, doc: &RunDoc) {
        if let Some(screen) = &self.screen {
            screen.points(doc);
        }
    }

    /// Shows the completed share and the phase of work other than load points.
    pub(crate) fn show(&self, progress: &Progress) {
        self.bar
            .set_position((share(progress) * STEPS as f64) as u64);
        self.bar.set_message(describe(progress));
    }

    /// Shows the completed share of other work, 0 to 1, and what it is.
    pub(crate) fn show_part(&self, share: f64, text: String) {
        self.bar.set_position((share * STEPS as f64) as u64);
        self.bar.set_message(text);
    }

    /// Shows a step of work whose length is not known.
    pub(crate) fn step(&self, step: &str) {
        self.bar.set_message(format!("trying {step}"));
    }

    /// Shows in a line above what the run is a part of.
    pub(crate) fn show_within(&self, whole: String) {
        self.bar
            .set_style(style("{prefix:!79}\n[{bar:10}] {wide_msg}"));
        self.bar.set_prefix(whole);
    }

    /// Returns whether the line is hidden.
    pub(crate) fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
    }

    /// Returns whether load points are printed: if the user wants progress, and the line
    /// cannot show it.
    pub(crate) fn point_lines(&self, wanted: Visibility) -> PointLines {
        match wanted {
            Visibility::Terminal if self.is_hidden() => PointLines::Printed,
            _ => PointLines::Hidden,
        }
    }

    /// Removes the line from the terminal during other output.
    pub(crate) fn suspended<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// Removes the line, or the screen, from the terminal permanently.
    pub(crate) fn clear(&self) {
        if let Some(screen) = &self.screen {
            screen.leave();
        }
        self.bar.finish_and_clear();
    }
}

/// Function that reports an interval of the window, with access to the progress line.
pub(crate) type LineReport = Box<dyn FnMut(&MeasuredInterval<'_>, &ProgressLine)>;

impl RunObserver for ProgressLine {
    fn progress(&self, progress: &Progress, left: &TimeLeft) {
        self.show_run(progress, left);
    }

    fn interval(&self, interval: &MeasuredInterval<'_>) {
        self.show_interval(interval);
    }

    fn points(&self, doc: &RunDoc) {
        self.show_points(doc);
    }

    fn within(&self, whole: &str) {
        self.show_within(whole.to_owned());
    }

    fn ended(&self) {
        self.clear();
    }

    fn note(&self, text: &str) {
        self.suspended(|| complain(text));
    }

    fn left_behind(&self, text: &str, share: LeftShare<'_>) {
        let remedy = cleanup_command(share.url, share.dialects);
        self.note(&format!("{text}; remove it with: {remedy}"));
    }

    fn not_saved(&self, doc: &RunDoc) {
        // If printing fails as well, the full disk is the more important message.
        let _ = self.suspended(|| print(&render(doc)));
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|error| unreachable!("constant template: {error}"))
        .progress_chars("=> ")
}

/// Returns the completed share of the current phase, 0 to 1.
fn share(progress: &Progress) -> f64 {
    let ratio = |part: f64, whole: f64| {
        if whole > 0.0 {
            (part / whole).clamp(0.0, 1.0)
        } else {
            0.0
        }
    };
    match progress {
        Progress::Connecting | Progress::Pausing { .. } => 0.0,
        Progress::Preparing { done, total } => ratio(*done as f64, *total as f64),
        Progress::SettingUp { point, ready, .. } => ratio((*ready).into(), point.clients.into()),
        Progress::Running { elapsed, total, .. } => {
            ratio(elapsed.as_secs_f64(), total.as_secs_f64())
        }
        Progress::ReadingBack { done, total, .. } => ratio(*done as f64, *total as f64),
        Progress::CleaningUp => 1.0,
    }
}

fn describe(progress: &Progress) -> String {
    match progress {
        Progress::Connecting => "connecting".to_owned(),
        Progress::Preparing { done, total } => format!(
            "preparing files, {} of {}",
            units::bytes(*done),
            units::bytes(*total)
        ),
        Progress::SettingUp {
            point,
            ready,
            elapsed,
        } => {
            let rate = match elapsed.as_secs_f64() {
                0.0 => String::new(),
                seconds => format!(", {}/s", units::rate(f64::from(*ready) / seconds)),
            };
            format!("{}, {ready} connected{rate}", which(point))
        }
        Progress::Running {
            point,
            stage,
            elapsed,
            total,
            live,
        } => {
            let stage = match stage {
                Stage::RampUp => "ramp-up",
                Stage::Measuring => "measuring",
                Stage::RampDown => "ramp-down",
            };
            format!(
                "{}, {stage} {:.0}/{:.0} s, {}, p99 {}",
                which(point),
                elapsed.as_secs_f64(),
                total.as_secs_f64(),
                height(live),
                units::latency(live.p99.as_nanos() as f64)
            )
        }
        Progress::Pausing {
            point,
            pause,
            elapsed,
        } => {
            let what = match pause {
                Pause::Before => "command before it",
                Pause::Quiet => "waiting for a quiet server",
                Pause::After => "command after it",
            };
            format!("{}, {what} {:.0} s", which(point), elapsed.as_secs_f64())
        }
        Progress::ReadingBack {
            point, done, total, ..
        } => format!(
            "{}, reading what was written, {} of {}",
            which(point),
            units::bytes(*done),
            units::bytes(*total)
        ),
        Progress::CleaningUp => "removing files from the share".to_owned(),
    }
}

/// Formats the throughput, or operations per second if they move no data.
fn height(live: &Live) -> String {
    if live.throughput_mbps == 0.0 && live.ops_per_s > 0.0 {
        format!("{} ops/s", units::rate(live.ops_per_s))
    } else {
        format!("{} Mbit/s", units::throughput(live.throughput_mbps))
    }
}

fn which(point: &PointNumber) -> String {
    let load = match point.rate {
        None => units::counted(point.clients.into(), "client"),
        Some(rate) => format!("{} ops/s", units::rate(rate.of_all(point.clients))),
    };
    format!("point {}/{}: {load}", point.number, point.of)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_phase_reads_well() {
        let point = PointNumber {
            number: 2,
            of: 4,
            repeat: 1,
            clients: 4,
            rate: None,
        };
        let running = Progress::Running {
            point,
            stage: Stage::Measuring,
            elapsed: Duration::from_millis(2_250),
            total: Duration::from_millis(4_500),
            live: Live {
                throughput_mbps: 941.26,
                ops_per_s: 9000.0,
                p99: Duration::from_micros(1234),
            },
        };
        let mut without_data = running;
        if let Progress::Running { live, .. } = &mut without_data {
            live.throughput_mbps = 0.0;
        }
        for (progress, text, part) in [
            (Progress::Connecting, "connecting", 0.0),
            (
                Progress::Preparing {
                    done: 4 << 20,
                    total: 16 << 20,
                },
                "preparing files, 4 MiB of 16 MiB",
                0.25,
            ),
            (
                Progress::SettingUp {
                    point,
                    ready: 3,
                    elapsed: Duration::from_millis(1500),
                },
                "point 2/4: 4 clients, 3 connected, 2.00/s",
                0.75,
            ),
            (
                running,
                "point 2/4: 4 clients, measuring 2/4 s, 941.3 Mbit/s, p99 1.23 ms",
                0.5,
            ),
            (
                without_data,
                "point 2/4: 4 clients, measuring 2/4 s, 9000 ops/s, p99 1.23 ms",
                0.5,
            ),
            (
                Progress::ReadingBack {
                    point,
                    done: 4 << 20,
                    total: 16 << 20,
                    left: None,
                },
                "point 2/4: 4 clients, reading what was written, 4 MiB of 16 MiB",
                0.25,
            ),
            (Progress::CleaningUp, "removing files from the share", 1.0),
        ] {
            assert_eq!(describe(&progress), text);
            assert_eq!(share(&progress), part);
        }
    }

    #[test]
    fn nothing_to_prepare_is_no_share() {
        assert_eq!(share(&Progress::Preparing { done: 0, total: 0 }), 0.0);
    }
}
