//! The interval log, as the HdrHistogram tools read it.

use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::progress::{MeasuredInterval, PointNumber, PopulationInterval};
use smbench_model::record::Recorder;
use smbench_report::IntervalLog;

/// Returns the interval log of a run of `of` load points in all passes. Each
/// interval has a length of one second, and is given as clients, pass and number of
/// reads. Each also has a flush and an oplock break.
fn interval_log(of: u32, intervals: &[(u32, u32, u32)]) -> Vec<u8> {
    let mut log = Vec::new();
    let mut writer = IntervalLog::new(&mut log);
    let began = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_323_045);
    for (second, &(clients, repeat, reads)) in (0..).zip(intervals) {
        let mut ops = Recorder::default();
        for _ in 0..reads {
            ops.success(OpKind::Read, 1, Nanos(2_000_000));
        }
        ops.success(OpKind::Flush, 0, Nanos(30_000_000));
        ops.success(OpKind::OplockBreak, 0, Nanos(80_000_000));
        let interval = MeasuredInterval {
            point: PointNumber {
                number: 1,
                of,
                repeat,
                clients,
                rate: None,
            },
            index: 0,
            start: began + Duration::from_secs(second),
            length: Duration::from_secs(1),
            ops: &ops,
            populations: &[],
        };
        writer.write(&interval).unwrap();
    }
    log
}

/// Returns the lines of an interval log: start in seconds, tag or an empty text,
/// count, and the longest in whole milliseconds.
fn logged(log: &[u8]) -> Vec<(u64, String, u64, f64)> {
    let mut found = Vec::new();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(line) = entry.unwrap() else {
            continue;
        };
        let encoded = base64::Engine::decode(
            &base64::engine::general_purpose::STANDARD,
            line.encoded_histogram(),
        );
        let histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut encoded.unwrap().as_slice())
            .unwrap();
        assert_eq!(line.duration(), Duration::from_secs(1));
        let at = line.start_timestamp().as_secs();
        let tag = line.tag().map_or("", |tag| tag.as_str()).to_owned();
        found.push((at, tag, histogram.len(), line.max().round()));
    }
    found
}

#[test]
fn the_interval_log_reads_back() {
    let log = interval_log(2, &[(1, 1, 10), (1, 1, 20), (4, 1, 30)]);
    let comments: Vec<_> = log
        .split(|&byte| byte == b'\n')
        .filter(|line| line.starts_with(b"#"))
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    assert_eq!(
        comments,
        [
            "#smbench: response times in nanoseconds, all and by operation",
            "#[StartTime: 1767323045.000 (seconds since epoch)]",
            "#[MaxValueDivisor: 1000000.000]",
            "#1 client, pass 1",
            "#4 clients, pass 1",
        ]
    );
    let line = |at, tag: &str, count, max| (at, tag.to_owned(), count, max);
    assert_eq!(
        logged(&log),
        [
            line(0, "", 11, 30.0),
            line(0, "read-1", 10, 2.0),
            line(0, "flush-1", 1, 30.0),
            line(0, "oplock_break-1", 1, 80.0),
            line(1, "", 21, 30.0),
            line(1, "read-1", 20, 2.0),
            line(1, "flush-1", 1, 30.0),
            line(1, "oplock_break-1", 1, 80.0),
            line(2, "", 31, 30.0),
            line(2, "read-4", 30, 2.0),
            line(2, "flush-4", 1, 30.0),
            line(2, "oplock_break-4", 1, 80.0),
        ]
    );
}

#[test]
fn each_population_has_lines_of_its_own() {
    let mut reads = Recorder::default();
    reads.success(OpKind::Read, 1, Nanos(2_000_000));
    let mut all = reads.clone();
    all.success(OpKind::Flush, 0, Nanos(30_000_000));
    let mut flushes = Recorder::default();
    flushes.success(OpKind::Flush, 0, Nanos(30_000_000));
    let of = |name, ops| PopulationInterval { name, ops };
    let mut log = Vec::new();
    let interval = MeasuredInterval {
        point: PointNumber {
            number: 1,
            of: 1,
            repeat: 1,
            clients: 4,
            rate: None,
        },
        index: 0,
        start: SystemTime::UNIX_EPOCH,
        length: Duration::from_secs(1),
        ops: &all,
        populations: &[of("office", &reads), of("back up, night", &flushes)],
    };
    IntervalLog::new(&mut log).write(&interval).unwrap();
    let lines = logged(&log);
    let lines: Vec<_> = lines
        .iter()
        .map(|(_, tag, count, _)| (tag.as_str(), *count))
        .collect();
    let expected = [
        ("", 2),
        ("read", 1),
        ("flush", 1),
        ("office/all", 1),
        ("office/read", 1),
        ("back_up__night/all", 1),
        ("back_up__night/flush", 1),
    ];
    assert_eq!(lines, expected);
}

/// The HdrHistogram tools show lines without a tag by default.
#[test]
fn lines_without_a_tag_are_of_all_operations() {
    let log = interval_log(1, &[(4, 1, 10), (4, 1, 300)]);
    let lines = logged(&log);
    for second in 0..2 {
        let of_second = lines.iter().filter(|(at, ..)| *at == second);
        let (tagged, untagged): (Vec<_>, Vec<_>) =
            of_second.partition(|(_, tag, ..)| !tag.is_empty());
        let [(.., count, _)] = untagged[..] else {
            panic!("{untagged:?}");
        };
        // Operations that the server asks for are in no sum.
        let asked_for = tagged.iter().filter(|(_, tag, ..)| tag != "oplock_break");
        let sum: u64 = asked_for.map(|(_, _, count, _)| count).sum();
        assert_eq!((*count, tagged.len()), (sum, 3));
    }
}

#[test]
fn tags_keep_load_points_and_passes_apart() {
    for (of, intervals, expected) in [
        (1, vec![(4, 1, 1)], vec!["read"]),
        (2, vec![(4, 1, 1), (8, 1, 1)], vec!["read-4", "read-8"]),
        (2, vec![(4, 1, 1), (4, 2, 1)], vec!["read-4", "read-4-2"]),
        (
            4,
            vec![(4, 1, 1), (8, 1, 1), (4, 2, 1), (8, 2, 1)],
            vec!["read-4", "read-8", "read-4-2", "read-8-2"],
        ),
    ] {
        let lines = logged(&interval_log(of, &intervals));
        let tags = lines.iter().map(|(_, tag, ..)| &tag[..]);
        let tags: Vec<_> = tags.filter(|tag| tag.starts_with("read")).collect();
        assert_eq!(tags, expected);
    }
}
