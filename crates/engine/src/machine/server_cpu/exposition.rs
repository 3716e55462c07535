//! CPU counters in the text that exporters of metrics answer with.
//!
//! The parser reads `node_cpu_seconds_total{cpu="0",mode="idle"}` of node_exporter
//! and `windows_cpu_time_total{core="0,0",mode="idle"}` of windows_exporter, in the
//! Prometheus text format 0.0.4. It skips all other lines. The text is untrusted:
//! invalid counters are an error, never a number.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::machine::sample::MetricSample;

/// Maximum number of pairs of CPU and mode in one text; no machine has that many.
const SERIES_MAX: usize = 65_536;

/// Metric families that are read, and the label that names a CPU in each.
const FAMILIES: [(&str, &str); 2] = [("node_cpu_seconds_total", "cpu"), (WINDOWS, "core")];
const WINDOWS: &str = "windows_cpu_time_total";

/// How much faster than time a counter may run: a factor, plus a number of seconds.
/// Clocks differ, and a scrape takes a while.
const TOO_FAST: f64 = 2.0;
const TOO_FAST_S: f64 = 2.0;
/// How much slower than time the counters of all CPUs together may run: a factor,
/// minus a number of seconds for each CPU. Some CPUs may have been switched off.
/// Counters have ticks of 10 ms, and a short window has few of them.
const TOO_SLOW: f64 = 0.5;
const TOO_SLOW_S: f64 = 0.1;

/// Modes in which a CPU is not busy. It waits for work or for a disk, or a
/// hypervisor runs others on it.
const IDLE: [&str; 3] = ["idle", "iowait", "steal"];
/// Modes of Windows that are parts of its `privileged` and would be counted twice
/// (% DPC Time and % Interrupt Time of its performance counters).
const PARTS: [&str; 2] = ["dpc", "interrupt"];

/// Seconds that each CPU has spent in each mode since some instant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CpuSeconds {
    seconds: BTreeMap<(String, String), f64>,
}

impl CpuSeconds {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut seconds = BTreeMap::new();
        for line in text.lines() {
            let Some((family, rest)) = line.split_once('{') else {
                continue;
            };
            let family = family.trim();
            let Some((_, cpu_label)) = FAMILIES.iter().find(|(name, _)| *name == family) else {
                continue;
            };
            let (labels, value) = MetricSample::labelled(rest)
                .and_then(|sample| {
                    let labels = [sample.label(cpu_label)?, sample.label("mode")?];
                    Some((labels, sample.value))
                })
                .ok_or_else(|| format!("its answer has a line of {family} that makes no sense"))?;
            let [cpu, mode] = labels;
            if family == WINDOWS && PARTS.contains(&mode.as_str()) {
                continue;
            }
            if seconds.insert((cpu, mode), value).is_some() {
                return Err(format!("its answer has a line of {family} twice"));
            }
            if seconds.len() > SERIES_MAX {
                return Err(format!(
                    "its answer has more than {SERIES_MAX} CPU counters"
                ));
            }
        }
        if !seconds.keys().any(|(_, mode)| mode == IDLE[0]) {
            return Err(
                "its answer has no CPU counters of node_exporter or windows_exporter".to_owned(),
            );
        }
        Ok(Self { seconds })
    }

    /// Returns the share of the time since `earlier` in which CPUs were busy, 0 to
    /// 1, and the number of CPUs. `elapsed` is the time between the two readings.
    pub(super) fn busy_since(
        &self,
        earlier: &Self,
        elapsed: Duration,
    ) -> Result<(f64, u32), String> {
        if !self.seconds.keys().eq(earlier.seconds.keys()) {
            return Err("its CPUs were others when the window closed".to_owned());
        }
        let (mut busy, mut all) = (0.0, 0.0);
        let mut cpus: Vec<&str> = Vec::new();
        for (((cpu, mode), now), before) in self.seconds.iter().zip(earlier.seconds.values()) {
            let spent = now - before;
            // The kernel's iowait counter may decrease slightly (proc(5)); no other
            // counter may.
            if spent < 0.0 && mode != IDLE[1] {
                return Err("its counters went back: it was started anew".to_owned());
            }
            let spent = spent.max(0.0);
            all += spent;
            if !IDLE.contains(&mode.as_str()) {
                busy += spent;
            }
            if cpus.last() != Some(&cpu.as_str()) {
                cpus.push(cpu);
            }
        }
        if all <= 0.0 {
            return Err("its counters stood still over the window".to_owned());
        }
        // This also refuses counters whose sum overflows.
        let (elapsed_s, each) = (elapsed.as_secs_f64(), all / cpus.len() as f64);
        if each > elapsed_s * TOO_FAST + TOO_FAST_S {
            return Err("its counters ran faster than time".to_owned());
        }
        // Counters that cover so small a part of the window say nothing about all
        // of it.
        if each < elapsed_s * TOO_SLOW - TOO_SLOW_S {
            return Err(format!(
                "its counters ran slower than time, {each:.1} s of {elapsed_s:.1} s for each CPU: it \
                 may answer late, or from a cache"
            ));
        }
        Ok((busy / all, u32::try_from(cpus.len()).unwrap_or(u32::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time between the counters in these tests.
    const SECONDS: Duration = Duration::from_secs(2);

    fn text(idle: f64, user: f64, iowait: f64) -> String {
        format!(
            "# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.\n\
             # TYPE node_cpu_seconds_total counter\n\
             node_cpu_guest_seconds_total{{cpu=\"0\",mode=\"user\"}} 7\n\
             node_cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {idle}\n\
             node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {user}\n\
             node_cpu_seconds_total{{cpu=\"1\",mode=\"idle\"}} 1e2\n\
             node_cpu_seconds_total{{cpu=\"1\",mode=\"iowait\"}} {iowait}\n\
             node_load1 0.5\n"
        )
    }

    fn counters(text: &str) -> CpuSeconds {
        CpuSeconds::parse(text).unwrap()
    }

    #[test]
    fn busy_is_what_was_neither_idle_nor_waiting_for_a_disk() {
        let before = counters(&text(10.0, 5.0, 3.0));
        let after = counters(&text(12.0, 6.0, 4.0));
        assert_eq!(after.busy_since(&before, SECONDS), Ok((0.25, 2)));
        let back = counters(&text(12.0, 6.0, 2.5));
        assert_eq!(back.busy_since(&before, SECONDS), Ok((1.0 / 3.0, 2)));
    }

    /// The format allows extra spaces, a comma after the last label, and any text
    /// in values.
    #[test]
    fn labels_are_read_as_the_format_allows() {
        let plain = counters(&text(10.0, 5.0, 3.0));
        let written = text(10.0, 5.0, 3.0);
        for (from, to) in [
            ("\"}", "\",}"),
            ("{cpu=\"", "{ cpu = \""),
            ("seconds_total{", "seconds_total {"),
            ("node_cpu_seconds_total", "  node_cpu_seconds_total"),
            ("} ", "}"),
            ("} ", " }\t"),
            ("mode=", "of=\"a},\\\"b\\\\\",mode="),
        ] {
            let other = written.replace(from, to);
            assert_ne!(other, written);
            assert_eq!(CpuSeconds::parse(&other).as_ref(), Ok(&plain), "{other}");
        }
    }

    #[test]
    fn windows_names_a_core_by_group_and_number() {
        let windows = |user: f64| {
            counters(&format!(
                "windows_cpu_time_total{{core=\"0,0\",mode=\"idle\"}} 50 1700000000000\n\
                 windows_cpu_time_total{{core=\"0,0\",mode=\"privileged\"}} {user}\n"
            ))
        };
        assert_eq!(
            windows(9.0).busy_since(&windows(8.0), SECONDS),
            Ok((1.0, 1))
        );
    }

    #[test]
    fn what_others_ran_on_a_cpu_and_parts_of_a_whole_are_not_busy() {
        let of = |family: &str, modes: &[(&str, f64)]| {
            let label = if family.starts_with("node") {
                "cpu"
            } else {
                "core"
            };
            let lines = modes.iter().map(|(mode, seconds)| {
                format!("{family}{{{label}=\"0\",mode=\"{mode}\"}} {seconds}\n")
            });
            counters(&lines.collect::<String>())
        };
        let node = |steal| {
            let family = "node_cpu_seconds_total";
            of(
                family,
                &[("idle", 10.0), ("steal", steal), ("system", steal)],
            )
        };
        assert_eq!(node(9.0).busy_since(&node(8.0), SECONDS), Ok((0.5, 1)));
        // On a BSD, `interrupt` is not part of another mode.
        let bsd = |at: f64| {
            let modes = [("idle", at), ("interrupt", at), ("system", 2.0 * at)];
            of("node_cpu_seconds_total", &modes)
        };
        assert_eq!(bsd(2.0).busy_since(&bsd(1.0), SECONDS), Ok((0.75, 1)));
        let windows = |at: f64| {
            let modes = [
                ("dpc", at),
                ("idle", at),
                ("interrupt", at),
                ("privileged", 2.0 * at),
                ("user", at),
            ];
            of("windows_cpu_time_total", &modes)
        };
        assert_eq!(
            windows(2.0).busy_since(&windows(1.0), SECONDS),
            Ok((0.75, 1))
        );
    }

    /// Even if the few seconds that were counted give a plausible share.
    #[test]
    fn counters_that_lag_far_behind_time_are_not_believed() {
        let of = |idle: f64, user: f64| {
            counters(&format!(
                "node_cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {idle}\n\
                 node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {user}\n"
            ))
        };
        let busy = |idle: f64, user: f64, elapsed_s: f64| {
            let elapsed = Duration::from_secs_f64(elapsed_s);
            let share = of(10.0 + idle, 5.0 + user).busy_since(&of(10.0, 5.0), elapsed);
            share.map(|(share, _)| (share * 1000.0).round() / 1000.0)
        };
        let message = busy(0.001, 1.0, 60.0).unwrap_err();
        assert!(
            message.contains("slower than time, 1.0 s of 60.0 s"),
            "{message}"
        );
        // The counters cover half of the time, as if half of the CPUs were switched
        // off.
        assert_eq!(busy(15.0, 15.0, 60.0), Ok(0.5));
        // A short window has few ticks, and some of them may be missing.
        assert_eq!(busy(0.03, 0.01, 0.2), Ok(0.25));
    }

    #[test]
    fn what_makes_no_sense_is_no_number() {
        let before = counters(&text(10.0, 5.0, 3.0));
        let complaint = |after: &str| {
            let after = CpuSeconds::parse(after);
            after
                .and_then(|after| after.busy_since(&before, SECONDS))
                .unwrap_err()
        };
        for (after, says) in [
            (text(9.0, 6.0, 3.0), "went back"),
            (text(10.0, 5.0, 3.0), "stood still"),
            (
                text(10.3, 5.3, 3.2),
                "slower than time, 0.4 s of 2.0 s for each CPU: it may answer late, or from a cache",
            ),
            (text(23.0, 6.0, 3.0), "faster than time"),
            (text(1e308, 1.7e308, 1.7e308), "faster than time"),
            (text(f64::NAN, 5.0, 3.0), "makes no sense"),
            (text(f64::INFINITY, 5.0, 3.0), "makes no sense"),
            (text(-1.0, 5.0, 3.0), "makes no sense"),
            (text(11.0, 5.0, 3.0) + &text(11.0, 5.0, 3.0), "twice"),
            (
                text(11.0, 5.0, 3.0).replace("cpu=\"1\"", "cpu=\"2\""),
                "others",
            ),
            (
                text(11.0, 5.0, 3.0).replace("mode=\"user\"}", "mode=\"user\""),
                "makes no sense",
            ),
            (
                text(11.0, 5.0, 3.0).replace("\"}", "\",,}"),
                "makes no sense",
            ),
            (
                text(11.0, 5.0, 3.0).replace("\",mode", "\"mode"),
                "makes no sense",
            ),
            (
                text(11.0, 5.0, 3.0).replace("=\"idle", "=\"\\idle"),
                "makes no sense",
            ),
            (String::new(), "no CPU counters"),
            ("<html>{}".to_owned(), "no CPU counters"),
        ] {
            let complaint = complaint(&after);
            assert!(complaint.contains(says), "{complaint}");
        }
    }
}
