//! The most readable unit of the values of an axis: its size, and its name.

const MIB: f64 = 1_048_576.0;

/// Returns the unit of a time in nanoseconds.
pub(super) fn of_latency(nanoseconds: f64) -> (f64, &'static str) {
    match nanoseconds {
        ..1e6 => (1e3, "us"),
        1e6..1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// Returns the unit of a time in seconds that is so long.
pub(super) fn of_time(seconds: f64) -> (f64, &'static str) {
    match seconds {
        ..1200.0 => (1.0, "s"),
        1200.0..14_400.0 => (60.0, "min"),
        _ => (3600.0, "h"),
    }
}

/// Returns the unit of memory of this many bytes.
pub(super) fn of_memory(bytes: f64) -> (f64, &'static str) {
    if bytes < 1024.0 * MIB {
        (MIB, "MiB")
    } else {
        (1024.0 * MIB, "GiB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_and_much_memory_have_large_units() {
        let times = [600.0, 3600.0, 28_800.0].map(|seconds| of_time(seconds).1);
        assert_eq!(times, ["s", "min", "h"]);
        let memory = [5.0 * MIB, 2048.0 * MIB].map(|bytes| of_memory(bytes).1);
        assert_eq!(memory, ["MiB", "GiB"]);
    }
}
