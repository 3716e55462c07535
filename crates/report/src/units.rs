//! The only module of reports that formats numbers.
//!
//! Numbers have three to four significant digits, the unit after a space, and no
//! thousands separators. So a column can be pasted into a spreadsheet. A number
//! that is not zero is never shown as zero. Not here: documents and CSV, which have
//! full precision.

use itertools::Itertools as _;
use smbench_model::units::Size;

const NS_PER_US: f64 = 1e3;
const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;

/// Formats a time in nanoseconds as us, ms or s, depending on its size: `1.23 ms`.
#[must_use]
pub fn latency(nanoseconds: f64) -> String {
    // Chosen after rounding: 999.6 us is written 1.00 ms, never 1000 us.
    let (scale, unit) = if nanoseconds < 999.5 * NS_PER_US {
        (NS_PER_US, "us")
    } else if nanoseconds < 999.5 * NS_PER_MS {
        (NS_PER_MS, "ms")
    } else {
        (NS_PER_S, "s")
    };
    format!("{} {unit}", three_digits(nanoseconds / scale))
}

/// Formats a throughput in Mbit/s, without its unit: `941.3`, `1138`.
///
/// It has one decimal below 1000, and none from there. Below 1 it has three
/// decimals, or more if those would all be zero.
#[must_use]
pub fn throughput(mbps: f64) -> String {
    if mbps >= 999.95 {
        format!("{mbps:.0}")
    } else if mbps >= 0.995 || mbps == 0.0 {
        format!("{mbps:.1}")
    } else {
        at_least(mbps, 3)
    }
}

/// Formats a rate per second, without its unit: `9.53`, `95.3`, `95310`.
#[must_use]
pub fn rate(per_second: f64) -> String {
    three_digits(per_second)
}

/// Formats microseconds of CPU per operation, without the unit: `10.4`.
#[must_use]
pub fn cpu_us(microseconds: f64) -> String {
    three_digits(microseconds)
}

/// Formats an index of efficiency with two decimals, as it is published: `47.52`.
#[must_use]
pub fn index(value: f64) -> String {
    at_least(value, 2)
}

/// Formats a number of busy CPUs, without a unit: `0.25`, `1.98`.
#[must_use]
pub fn cores(busy: f64) -> String {
    at_least(busy, 2)
}

/// Formats a share or weight in percent, with its sign: `80 %`, `12.5 %`.
///
/// No share is rounded to zero or to the whole: `<0.01 %`, `>99.99 %`.
#[must_use]
pub fn percent(value: f64) -> String {
    match short(value).as_str() {
        "0" if value > 0.0 => "<0.01 %".to_owned(),
        "100" if value < 100.0 => ">99.99 %".to_owned(),
        text => format!("{text} %"),
    }
}

/// Formats a utilisation of CPUs, with one decimal: `61.7 %`.
///
/// As with [`percent`], no share is rounded to zero or to the whole.
#[must_use]
pub fn utilisation(percent: f64) -> String {
    match format!("{percent:.1}").as_str() {
        "0.0" if percent > 0.0 => "<0.1 %".to_owned(),
        "100.0" if percent < 100.0 => ">99.9 %".to_owned(),
        text => format!("{text} %"),
    }
}

/// Formats a change with its sign: `+5.2 %`, `-0.3 %`, `+120 %`.
#[must_use]
pub fn change(percent: f64) -> String {
    format!("{} %", signed(percent))
}

/// Formats the interval of a change: `-0.8 to +3.8 %`.
#[must_use]
pub fn changes(low: f64, high: f64) -> String {
    format!("{} to {} %", signed(low), signed(high))
}

/// Largest change that is printed, in percent.
const CHANGE_MAX: f64 = 99_999.0;

fn signed(percent: f64) -> String {
    if percent > CHANGE_MAX {
        format!(">+{CHANGE_MAX}")
    } else if percent.abs() < 0.05 {
        "0.0".to_owned()
    } else if percent.abs() < 99.95 {
        format!("{percent:+.1}")
    } else {
        format!("{percent:+.0}")
    }
}

/// Formats a duration in seconds, to the millisecond: `10 s`, `0.5 s`. One below
/// 100 ms is in milliseconds, to the nanosecond: `1.5 ms`.
#[must_use]
pub fn seconds(value: f64) -> String {
    if value > 0.0 && value < 0.1 {
        format!("{} ms", (value * 1e9).round() / 1e6)
    } else {
        format!("{} s", (value * 1e3).round() / 1e3)
    }
}

/// Formats a size in bytes with a binary unit: `512 B`, `64 KiB`, `1.50 GiB`.
#[must_use]
pub fn bytes(value: u64) -> String {
    Size(value).three_digits()
}

/// Formats an amount of data with sysbench's digits: five significant ones without
/// trailing zeros. `214.62 MiB` and `1.335 GiB` are `214.62Mb` and `1.335Gb` in
/// sysbench.
#[must_use]
pub fn amount(bytes: f64) -> String {
    const UNITS: [(f64, &str); 3] = [
        (1_073_741_824.0, "GiB"),
        (1_048_576.0, "MiB"),
        (1024.0, "KiB"),
    ];
    let unit = UNITS.into_iter().find(|(scale, _)| bytes >= *scale);
    let (scale, unit) = unit.unwrap_or((1.0, "B"));
    let value = bytes / scale;
    let decimals = match value {
        10_000.0.. => 0,
        1000.0.. => 1,
        100.0.. => 2,
        10.0.. => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} {unit}")
}

/// Formats a number of things: `1 client`, `16 clients`, `2 directories`.
#[must_use]
pub fn counted(count: u64, thing: &str) -> String {
    match (count, thing.strip_suffix("ory")) {
        (1, _) => format!("{count} {thing}"),
        (_, Some(stem)) => format!("{count} {stem}ories"),
        (_, None) => format!("{count} {thing}s"),
    }
}

/// Formats pairs of a label and a text, each on a line of its own.
pub(crate) fn labelled<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let facts = facts.into_iter();
    let lines = facts.map(|(label, text)| format!("{label:<9}{text}\n"));
    lines.collect()
}

/// Formats load points by their clients: `16 clients`, or `1, 4, 16 clients`.
#[must_use]
pub fn clients(of: &[u32]) -> String {
    match of {
        [one] => counted((*one).into(), "client"),
        several => format!("{} clients", several.iter().join(", ")),
    }
}

/// Formats a number at an axis whose numbers are `step` apart, without its unit. It
/// has the same number of decimals as `step`.
#[must_use]
pub fn tick(value: f64, step: f64) -> String {
    // Slightly enlarged, because a step may be slightly below a power of ten.
    let decimals = -(step * (1.0 + 1e-9)).log10().floor();
    let decimals = decimals.clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

/// Makes untrusted text safe for one line of a terminal. Control characters,
/// including those of escape sequences, become `?`.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// Formats a value with this number of decimals. If they would all be zero for a
/// value that is not zero, there are enough decimals to show its first digit.
fn at_least(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if value > 0.0 && !text.contains(|digit| ('1'..='9').contains(&digit)) {
        // No measured value needs more than nine decimals.
        let first = (-value.log10().floor()).clamp(0.0, 9.0) as usize;
        format!("{value:.first$}")
    } else {
        text
    }
}

/// Formats a value with three significant digits, and all digits before the decimal
/// point.
fn three_digits(value: f64) -> String {
    if value < 9.995 {
        at_least(value, 2)
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// Formats a value with at most two decimals, without trailing zeros.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_plural() {
        let counts = [0, 1, 2].map(|count| counted(count, "client"));
        assert_eq!(counts, ["0 clients", "1 client", "2 clients"]);
        let counts = [1, 2].map(|count| counted(count, "directory"));
        assert_eq!(counts, ["1 directory", "2 directories"]);
    }

    #[test]
    fn latencies_choose_their_unit_after_rounding() {
        let cases = [
            (850.0, "0.85 us"),
            (12_300.0, "12.3 us"),
            (999_400.0, "999 us"),
            (999_600.0, "1.00 ms"),
            (1_234_567.0, "1.23 ms"),
            (9_996_000.0, "10.0 ms"),
            (123_456_789.0, "123 ms"),
            (999_600_000.0, "1.00 s"),
            (3_600e9, "3600 s"),
        ];
        for (nanoseconds, text) in cases {
            assert_eq!(latency(nanoseconds), text);
        }
    }

    #[test]
    fn throughput_has_one_decimal_below_a_thousand() {
        let cases = [
            (0.0, "0.0"),
            (0.0123, "0.012"),
            (1.0, "1.0"),
            (941.26, "941.3"),
            (999.94, "999.9"),
            (999.96, "1000"),
            (12_345.6, "12346"),
        ];
        for (mbps, text) in cases {
            assert_eq!(throughput(mbps), text);
        }
    }

    #[test]
    fn hardly_anything_is_not_nothing() {
        for (value, text) in [
            (0.0, "0.00"),
            (0.005, "0.01"),
            (0.0049, "0.005"),
            (0.004, "0.004"),
            (0.000_28, "0.0003"),
            (0.000_099, "0.00010"),
        ] {
            assert_eq!(rate(value), text);
            assert_eq!(cores(value), text);
        }
        assert_eq!(throughput(0.0123), "0.012");
        assert_eq!(throughput(0.000_42), "0.0004");
    }

    #[test]
    fn amounts_have_five_digits() {
        let cases = [
            (0.0, "0 B"),
            (1023.0, "1023 B"),
            (1024.0, "1 KiB"),
            (225_050_624.0, "214.62 MiB"),
            (1_433_452_544.0, "1.335 GiB"),
            (1_073_741_823.0, "1024 MiB"),
            (1e17, "93132257 GiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(amount(bytes), text);
        }
    }

    #[test]
    fn small_numbers_lose_their_trailing_zeros() {
        assert_eq!(percent(80.0), "80 %");
        assert_eq!(percent(33.333), "33.33 %");
        assert_eq!(percent(100.0), "100 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(seconds(0.5), "0.5 s");
        assert_eq!(seconds(600.0), "600 s");
        assert_eq!(seconds(2.125), "2.125 s");
        assert_eq!(seconds(0.001), "1 ms");
        assert_eq!(seconds(0.015), "15 ms");
        assert_eq!(seconds(0.000_001_5), "0.0015 ms");
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(counted(1, "client"), "1 client");
        assert_eq!(counted(0, "client"), "0 clients");
    }

    #[test]
    fn ticks_have_the_decimals_of_their_distance() {
        let cases = [
            (0.0, 0.2, "0.0"),
            (0.6000000000000001, 0.2, "0.6"),
            (0.01, 0.005, "0.010"),
            (400.0, 200.0, "400"),
            (99.9, 0.1, "99.9"),
            (99.0, 1.0, "99"),
            (0.1, 0.1, "0.1"),
        ];
        for (value, step, text) in cases {
            assert_eq!(tick(value, step), text);
        }
    }

    #[test]
    fn hardly_any_is_not_none_and_nearly_all_is_not_all() {
        for (value, text) in [
            (99.999, ">99.99 %"),
            (100.0 - 99.999, "<0.01 %"),
            (99.994, "99.99 %"),
            (0.006, "0.01 %"),
        ] {
            assert_eq!(percent(value), text);
        }
    }

    #[test]
    fn utilisations_have_one_decimal() {
        for (percent, text) in [
            (31.0, "31.0 %"),
            (63.36, "63.4 %"),
            (100.0, "100.0 %"),
            (0.0, "0.0 %"),
            (0.04, "<0.1 %"),
            (99.96, ">99.9 %"),
            (200.0, "200.0 %"),
        ] {
            assert_eq!(utilisation(percent), text);
        }
    }

    #[test]
    fn changes_have_a_sign() {
        for (percent, text) in [
            (5.24, "+5.2 %"),
            (-0.06, "-0.1 %"),
            (-0.04, "0.0 %"),
            (99.94, "+99.9 %"),
            (-99.96, "-100 %"),
            (123.4, "+123 %"),
            (1e300, ">+99999 %"),
        ] {
            assert_eq!(change(percent), text);
        }
        assert_eq!(changes(-0.84, 0.0), "-0.8 to 0.0 %");
    }

    #[test]
    fn foreign_text_cannot_steer_a_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\nc"), "a?[2Jb?c");
    }
}
