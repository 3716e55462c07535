//! Axes: their range, their ticks and the labels of the ticks.
//!
//! One type serves plotters for every kind of axis. The axes of plotters can have
//! chosen ticks, but not chosen labels for them.

mod unit;

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use smbench_report::units;

/// Quantity of an axis, and its title without the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Title without the unit: `mean response time`.
    pub title: String,
    /// Quantity along the axis.
    pub quantity: Quantity,
}

/// Quantity along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A number of clients, from 0.
    Clients,
    /// Mbit/s (10^6 bits), from 0.
    Throughput,
    /// Operations per second, from 0.
    Rate,
    /// A number without a unit, from 0.
    Index,
    /// Bytes of a request. Logarithmic, with powers of two.
    Bytes,
    /// Names in a folder. Logarithmic.
    Entries,
    /// Nanoseconds, from 0.
    Latency,
    /// Nanoseconds, logarithmic.
    WideLatency,
    /// The inverse of the share of operations that take longer: 100 for the 99th
    /// percentile. Logarithmic, from 1.
    Percentile,
    /// Seconds, from 0.
    Time,
    /// Bytes of memory, from 0.
    Memory,
}

/// An axis whose range contains the plotted values.
#[derive(Clone, Debug)]
pub(super) struct AxisRange {
    /// The title with its unit.
    pub(super) title: String,
    /// Values at both ends.
    range: Range<f64>,
    /// Positions of the ticks, and their labels.
    ticks: Vec<(f64, String)>,
    /// Function of a value that is linear along the axis.
    measure: fn(f64) -> f64,
}

/// Approximate number of steps: of a vertical axis, and of a horizontal one, which
/// has more room.
const STEPS: f64 = 5.0;
const STEPS_ACROSS: f64 = 8.0;
/// Kind of steps of an axis from 0.
#[derive(Clone, Copy, Debug)]
enum Steps {
    Upright,
    Across,
    /// Steps of a horizontal axis, in whole numbers.
    Whole,
}

/// Highest number of steps of an axis of powers of two, whose labels are long.
const OCTAVES_MAX: f64 = 6.0;

/// Part of the entries by which a folder may be beyond the end of an axis. Each folder has a few
/// beside its files, and they alone begin no decade.
const ENTRIES_BEYOND: f64 = 0.01;

/// Limit above every measured value. Larger numbers cannot be measurements and
/// would overflow.
const HIGHEST: f64 = 1e18;
/// Smallest value of an axis; a logarithmic axis has no zero.
const LOWEST: f64 = 1e-3;

impl Axis {
    /// Creates an axis with this title, without a unit, and this quantity.
    pub fn new(title: impl Into<String>, quantity: Quantity) -> Self {
        Self {
            title: title.into(),
            quantity,
        }
    }

    /// Returns a frame that contains all `values`.
    pub(super) fn frame(&self, values: impl Iterator<Item = f64>) -> AxisRange {
        let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
            let value = tame(value);
            let (low, high) = ends.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        let (low, high) = ends.unwrap_or((0.0, 0.0));
        match self.quantity {
            Quantity::Clients => self.linear(high, Steps::Whole, None, 1.0),
            Quantity::Throughput => self.linear(high, Steps::Upright, Some("Mbit/s"), 1.0),
            Quantity::Rate => self.linear(high, Steps::Upright, Some("operations/s"), 1.0),
            Quantity::Index => self.linear(high, Steps::Upright, None, 1.0),
            Quantity::Bytes => self.octaves(low, high),
            Quantity::Entries => {
                let high = high * (1.0 - ENTRIES_BEYOND);
                self.logarithmic(low.max(1.0), high.max(1.0), None, 1.0)
            }
            Quantity::Time => {
                let (scale, unit) = unit::of_time(high);
                self.linear(high, Steps::Across, Some(unit), scale)
            }
            Quantity::Memory => {
                let (scale, unit) = unit::of_memory(high);
                self.linear(high, Steps::Upright, Some(unit), scale)
            }
            Quantity::Latency => {
                let (scale, unit) = unit::of_latency(high);
                self.linear(high, Steps::Upright, Some(unit), scale)
            }
            Quantity::WideLatency => {
                let (low, high) = (low.max(LOWEST), high.max(LOWEST));
                let (scale, unit) = unit::of_latency((low * high).sqrt());
                self.logarithmic(low / scale, high / scale, Some(unit), scale)
            }
            Quantity::Percentile => self.percentiles(high),
        }
    }

    /// Returns a frame from 0 to a round number of `unit`s that is not below
    /// `high`.
    fn linear(&self, high: f64, steps: Steps, unit: Option<&str>, scale: f64) -> AxisRange {
        let high = if high > 0.0 { high / scale } else { 1.0 };
        let step = match steps {
            Steps::Upright => round_step(high / STEPS),
            Steps::Across => round_step(high / STEPS_ACROSS),
            Steps::Whole => round_step(high / STEPS_ACROSS).max(1.0),
        };
        // The quotient may be slightly above a whole number.
        let steps = (high / step - 1e-9).ceil();
        let ticks = (0..=steps as u32).map(|at| {
            let value = f64::from(at) * step;
            (value * scale, units::tick(value, step))
        });
        AxisRange {
            title: with_unit(&self.title, unit),
            range: 0.0..steps * step * scale,
            ticks: ticks.collect(),
            measure: |value| value,
        }
    }

    /// Returns a frame over whole decades, with 2 and 5 if there are few of them.
    fn logarithmic(&self, low: f64, high: f64, unit: Option<&str>, scale: f64) -> AxisRange {
        let from = low.log10().floor();
        let to = high.log10().ceil().max(from + 1.0);
        let within: &[f64] = if to - from < 3.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let decades = (0..=(to - from) as u32).map(|decade| 10_f64.powf(from + f64::from(decade)));
        let ticks = decades.flat_map(|decade| within.iter().map(move |&part| (decade, part)));
        let end = 10_f64.powf(to);
        let ticks = ticks
            .map(|(decade, part)| (decade * part, decade))
            .filter(|(value, _)| *value <= end * (1.0 + 1e-9))
            .map(|(value, decade)| (value * scale, units::tick(value, decade)));
        AxisRange {
            title: with_unit(&with_unit(&self.title, unit), Some("log")),
            range: 10_f64.powf(from) * scale..end * scale,
            ticks: ticks.collect(),
            measure: f64::log10,
        }
    }

    /// Returns a frame over whole powers of two, with a label at each or at regular
    /// distances.
    fn octaves(&self, low: f64, high: f64) -> AxisRange {
        let from = low.max(1.0).log2().floor();
        let to = high.max(1.0).log2().ceil().max(from + 1.0);
        let step = ((to - from) / OCTAVES_MAX).ceil();
        let ticks = (0..=((to - from) / step) as u32).map(|at| {
            let value = (from + f64::from(at) * step).exp2();
            // Exact up to 2^53, and no size reaches 2^64.
            (value, units::bytes(value as u64))
        });
        AxisRange {
            title: with_unit(&self.title, Some("log")),
            range: from.exp2()..to.exp2(),
            ticks: ticks.collect(),
            measure: f64::log2,
        }
    }

    /// Returns a frame from the fastest operation to the highest percentile of the
    /// data.
    fn percentiles(&self, high: f64) -> AxisRange {
        let high = high.max(10.0);
        let nines = (1..=high.log10() as i32).map(|nines| 10_f64.powi(nines));
        let ticks = [1.0, 2.0].into_iter().chain(nines);
        let ticks = ticks.map(|x| (x, units::tick(100.0 - 100.0 / x, 100.0 / x)));
        AxisRange {
            title: self.title.clone(),
            range: 1.0..high,
            ticks: ticks.collect(),
            measure: f64::log10,
        }
    }
}

impl Ranged for AxisRange {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let Range { start, end } = self.range;
        let along = |value: f64| (self.measure)(value.clamp(start, end));
        let part = (along(tame(*value)) - along(start)) / (along(end) - along(start));
        first + (part * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // There are no fine lines between those with labels.
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.ticks.iter().map(|(value, _)| *value).collect()
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for AxisRange {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|(at, _)| at == value);
        tick.map(|(_, text)| text.clone()).unwrap_or_default()
    }
}

/// Replaces a value that no axis can show by one that it can.
fn tame(value: f64) -> f64 {
    if value.is_nan() {
        0.0
    } else {
        value.clamp(0.0, HIGHEST)
    }
}

fn with_unit(title: &str, unit: Option<&str>) -> String {
    match unit {
        Some(unit) => format!("{title}, {unit}"),
        None => title.to_owned(),
    }
}

/// Returns the smallest product of 1, 2 or 5 and a power of ten that is not below
/// `step`.
fn round_step(step: f64) -> f64 {
    let decade = 10_f64.powf(step.log10().floor());
    let parts = [1.0, 2.0, 5.0, 10.0].into_iter();
    let mut steps = parts.map(|part| part * decade);
    // The logarithm may be slightly inexact.
    let fits = steps.find(|round| *round >= step * (1.0 - 1e-9));
    fits.unwrap_or(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(frame: &AxisRange) -> Vec<&str> {
        frame.ticks.iter().map(|(_, text)| &text[..]).collect()
    }

    #[test]
    fn amounts_start_at_zero_and_end_at_a_round_number() {
        let axis = Axis::new("throughput", Quantity::Throughput);
        let frame = axis.frame([853.966, 935.77].into_iter());
        assert_eq!(frame.title, "throughput, Mbit/s");
        assert_eq!(frame.range, 0.0..1000.0);
        assert_eq!(shown(&frame), ["0", "200", "400", "600", "800", "1000"]);
        assert_eq!(frame.format_ext(&200.0), "200");
        let frame = axis.frame([0.03].into_iter());
        assert_eq!(shown(&frame), ["0.00", "0.01", "0.02", "0.03"]);
        for nothing in [vec![], vec![0.0], vec![f64::NAN]] {
            assert_eq!(axis.frame(nothing.into_iter()).range, 0.0..1.0);
        }
        assert!(axis.frame([f64::INFINITY].into_iter()).range.end <= 2e18);
    }

    #[test]
    fn clients_are_whole() {
        let frame = Axis::new("clients", Quantity::Clients).frame([1.0, 2.0].into_iter());
        assert_eq!(shown(&frame), ["0", "1", "2"]);
        assert_eq!(frame.title, "clients");
    }

    #[test]
    fn times_choose_their_unit() {
        let axis = Axis::new("mean", Quantity::Latency);
        let frame = axis.frame([1.2e6, 3.4e6].into_iter());
        assert_eq!(frame.title, "mean, ms");
        assert_eq!(shown(&frame), ["0", "1", "2", "3", "4"]);
        assert_eq!(frame.range, 0.0..4e6);
        assert_eq!(axis.frame([9e5].into_iter()).title, "mean, us");
        assert_eq!(axis.frame([2e9].into_iter()).title, "mean, s");
    }

    #[test]
    fn logarithms_cover_their_values() {
        let axis = Axis::new("time", Quantity::WideLatency);
        let frame = axis.frame([150e3, 4e6].into_iter());
        assert_eq!(frame.title, "time, us, log");
        assert_eq!(
            shown(&frame),
            ["100", "200", "500", "1000", "2000", "5000", "10000"]
        );
        assert_eq!(frame.format_ext(&1e6), "1000");
        // A decade takes half of two decades' length.
        let places = [100e3, 1e6, 10e6].map(|value| frame.map(&value, (500, 100)));
        assert_eq!(places, [500, 300, 100]);
        let wide = axis.frame([1e3, 1e9].into_iter());
        assert_eq!(wide.ticks.len(), 7);
        assert_eq!(axis.frame([0.0].into_iter()).ticks.len(), 4);
    }

    #[test]
    fn folders_end_at_the_number_of_their_files() {
        let axis = Axis::new("entries", Quantity::Entries);
        let frame = axis.frame([101.0, 100_001.0].into_iter());
        assert_eq!(shown(&frame), ["100", "1000", "10000", "100000"]);
        assert_eq!(frame.map(&100_001.0, (0, 300)), 300);
        let frame = axis.frame([101.0, 102_001.0].into_iter());
        assert_eq!(frame.range, 100.0..1e6);
    }

    #[test]
    fn sizes_of_requests_are_powers_of_two() {
        let axis = Axis::new("size", Quantity::Bytes);
        let shown_of = |low: f64, high: f64| {
            let frame = axis.frame([low, high].into_iter());
            shown(&frame).join(" | ")
        };
        assert_eq!(
            shown_of(128.0, 8_388_608.0),
            "128 B | 1 KiB | 8 KiB | 64 KiB | 512 KiB | 4 MiB"
        );
        assert_eq!(
            shown_of(4096.0, 65_536.0),
            "4 KiB | 8 KiB | 16 KiB | 32 KiB | 64 KiB"
        );
        assert_eq!(shown_of(1000.0, 1000.0), "512 B | 1 KiB");
        let frame = axis.frame([4096.0, 65_536.0].into_iter());
        assert_eq!(frame.title, "size, log");
        // Each doubling has the same length.
        let places = [4096.0, 16_384.0, 65_536.0].map(|value| frame.map(&value, (0, 400)));
        assert_eq!(places, [0, 200, 400]);
    }

    #[test]
    fn percentiles_have_their_nines() {
        let axis = Axis::new("percentile", Quantity::Percentile);
        let frame = axis.frame([1.0, 25_000.0].into_iter());
        assert_eq!(shown(&frame), ["0", "50", "90", "99", "99.9", "99.99"]);
        assert_eq!(frame.range, 1.0..25_000.0);
    }
}
