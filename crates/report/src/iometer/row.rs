//! A row of a result file, in the order of its columns.

use smbench_model::kind::{Direction, OpKind};

use crate::curve::total;
use crate::doc::{LoadPointDoc, OpDoc, RunDoc, TcpCountersDoc, WorkloadDoc};
use crate::latency::{Hdr, LatencyDoc, pool};
use crate::statistics::per;

/// Upper ends of the bins of response times, in microseconds; the last bin has no
/// end.
const BINS_END_US: [u64; 20] = [
    50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000,
    200_000, 500_000, 1_000_000, 2_000_000, 4_700_000, 5_000_000, 10_000_000,
];
const SECTOR_BYTES: u64 = 512;
/// Unit of raw times: nanoseconds.
const TICKS_PER_S: u64 = 1_000_000_000;
/// Iometer's value where transactions have no connection of their own.
const NO_TRANSACTIONS_PER_CONNECTION: &str = "-1";

/// Turns any text into one field, without commas and control characters.
pub(super) fn cell(text: &str) -> String {
    text.replace(|c: char| c.is_control() || c == ',', " ")
}

/// The target type of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    All,
    Manager,
}

/// The operations of a load point that move data one way.
struct Side<'a> {
    ops: Vec<&'a OpDoc>,
    bytes: u64,
}

impl<'a> Side<'a> {
    fn of(point: &'a LoadPointDoc, direction: Direction, bytes: u64) -> Self {
        let is_of = |name: &str| OpKind::named(name).and_then(OpKind::direction) == Some(direction);
        let ops = point.ops.iter().filter(|(name, _)| is_of(name));
        Self {
            ops: ops.map(|(_, op)| op).collect(),
            bytes,
        }
    }

    fn count(&self) -> u64 {
        total(self.ops.iter().map(|op| op.count))
    }

    fn errors(&self) -> u64 {
        total(self.ops.iter().map(|op| op.errors))
    }

    fn latency(&self) -> Option<LatencyDoc> {
        LatencyDoc::of(&pool(self.ops.iter().map(|op| op.response())))
    }
}

/// Formats a number with Iometer's precision.
fn number(value: f64) -> String {
    format!("{value:.6}")
}

fn milliseconds(nanoseconds: Option<f64>) -> String {
    number(nanoseconds.unwrap_or(0.0) / 1e6)
}

fn or_empty(value: Option<f64>) -> String {
    value.map(number).unwrap_or_default()
}

/// Returns the share of requests among requests and replies. Iometer counts a
/// request with its reply as one transaction.
fn transactions(workload: &WorkloadDoc) -> f64 {
    let bursts = workload.pattern.iter().map(|line| {
        let requests = line.weight_percent * f64::from(line.burst);
        match line.reply_bytes {
            0 => (requests, requests),
            _ => (requests, 2.0 * requests),
        }
    });
    let (requests, all) = bursts.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    if all > 0.0 { requests / all } else { 1.0 }
}

/// A load point as a row: its figures, in Iometer's units.
struct Row<'a> {
    doc: &'a RunDoc,
    point: &'a LoadPointDoc,
    kind: RowKind,
    reads: Side<'a>,
    writes: Side<'a>,
    /// See [`transactions`].
    share: f64,
}

/// A value for all operations, for reads, for writes and for transactions.
type ResponseTimes = [Option<LatencyDoc>; 4];

pub(super) fn row(doc: &RunDoc, point: &LoadPointDoc, kind: RowKind) -> Vec<String> {
    let row = Row {
        doc,
        point,
        kind,
        reads: Side::of(point, Direction::Read, point.bytes_read),
        writes: Side::of(point, Direction::Write, point.bytes_written),
        share: transactions(&doc.plan.workload),
    };
    let times = row.times();
    [
        row.names(),
        row.rates(),
        response_times(times).into(),
        row.counts(),
        row.raw_times(times),
        row.target(),
        row.cpu(),
        row.bins(),
    ]
    .concat()
}

impl Row<'_> {
    /// Returns the value in the row of the manager; the other row has none.
    fn of_manager(&self, value: u64) -> String {
        match self.kind {
            RowKind::Manager => value.to_string(),
            RowKind::All => String::new(),
        }
    }

    fn names(&self) -> Vec<String> {
        let [target, name, managers] = match self.kind {
            RowKind::All => ["ALL", "All", "1"].map(str::to_owned),
            RowKind::Manager => [
                "MANAGER".to_owned(),
                cell(&self.doc.tool.name),
                String::new(),
            ],
        };
        let clients = self.point.clients.to_string();
        let profile = cell(&self.doc.plan.profile);
        vec![target, name, profile, managers, clients.clone(), clients]
    }

    fn rates(&self) -> Vec<String> {
        let Self {
            point,
            reads,
            writes,
            ..
        } = self;
        let per_second = |amount: u64| per(amount as f64, point.window_s);
        let mut rates = vec![
            point.ops_per_s,
            per_second(reads.count()),
            per_second(writes.count()),
        ];
        let bytes = reads.bytes.saturating_add(writes.bytes);
        for unit in [f64::from(1 << 20), 1e6] {
            rates.extend([bytes, reads.bytes, writes.bytes].map(|bytes| per_second(bytes) / unit));
        }
        // Connections are kept open.
        rates.extend([point.ops_per_s * self.share, 0.0]);
        rates.into_iter().map(number).collect()
    }

    fn times(&self) -> ResponseTimes {
        let all = self.point.latency_ns;
        // If transactions have a reply, only their two parts were timed, not the whole.
        let transaction = all.filter(|_| self.share == 1.0);
        [
            all,
            self.reads.latency(),
            self.writes.latency(),
            transaction,
        ]
    }

    fn counts(&self) -> Vec<String> {
        let Self {
            point,
            reads,
            writes,
            ..
        } = self;
        let counts = [
            point.errors,
            reads.errors(),
            writes.errors(),
            reads.bytes,
            writes.bytes,
            reads.count(),
            writes.count(),
            0,
        ];
        let counts = counts.map(|count| count.to_string()).into_iter();
        counts
            .chain([NO_TRANSACTIONS_PER_CONNECTION.to_owned()])
            .collect()
    }

    fn raw_times(&self, [_, read, write, transaction]: ResponseTimes) -> Vec<String> {
        let sum = |of: Option<LatencyDoc>, count: u64| {
            of.map_or(0, |of| (of.mean * count as f64).round() as u64)
        };
        let max = |of: Option<LatencyDoc>| of.map_or(0, |of| of.max);
        let raw = [
            sum(read, self.reads.count()),
            sum(write, self.writes.count()),
            // The mean is over all operations, including flushes.
            sum(
                transaction,
                total(self.point.asked_for().map(|op| op.count)),
            ),
            0,
            max(read),
            max(write),
            max(transaction),
            0,
            (self.point.window_s * TICKS_PER_S as f64).round() as u64,
        ];
        raw.map(|value| self.of_manager(value)).into()
    }

    /// Returns the first sector, the number of sectors, and the queue depth.
    fn target(&self) -> Vec<String> {
        let plan = &self.doc.plan;
        let bytes = u64::from(plan.workload.files).saturating_mul(plan.workload.file_bytes);
        let sectors = bytes / SECTOR_BYTES;
        [0, sectors, plan.outstanding.into()]
            .map(|value| value.to_string())
            .into()
    }

    fn cpu(&self) -> Vec<String> {
        let cpu = self.point.server_cpu.as_ref();
        let mut values = vec![or_empty(cpu.and_then(|cpu| cpu.percent))];
        // User, privileged, DPC and interrupt time.
        values.extend([const { String::new() }; 4]);
        values.push(self.of_manager(TICKS_PER_S));
        // Interrupts.
        values.push(String::new());
        values.push(or_empty(cpu.and_then(|cpu| cpu.ops_per_s_per_percent)));
        let tcp = self.point.tcp.as_ref().and_then(|tcp| tcp.counters);
        let per_second = |of: fn(&TcpCountersDoc) -> u64| {
            or_empty(tcp.map(|tcp| per(of(&tcp) as f64, self.point.window_s)))
        };
        values.push(per_second(|tcp| tcp.segments_sent + tcp.segments_received));
        // Packet errors.
        values.push(String::new());
        values.push(per_second(|tcp| tcp.retransmitted));
        values
    }

    fn bins(&self) -> Vec<String> {
        let ops = self.reads.ops.iter().chain(&self.writes.ops);
        bins(ops.map(|op| op.response()))
            .map(|count| count.to_string())
            .into()
    }
}

/// Returns mean times, then the longest. Both end with the time of connecting, which
/// is not measured.
fn response_times(times: ResponseTimes) -> [String; 10] {
    let [all, read, write, transaction] = times.map(|of| milliseconds(of.map(|of| of.mean)));
    let max = times.map(|of| milliseconds(of.map(|of| of.max as f64)));
    let [all_max, read_max, write_max, transaction_max] = max;
    let none = || number(0.0);
    [
        all,
        read,
        write,
        transaction,
        none(),
        all_max,
        read_max,
        write_max,
        transaction_max,
        none(),
    ]
}

fn bins<'a>(hdrs: impl Iterator<Item = &'a Hdr>) -> [u64; BINS_END_US.len() + 1] {
    let mut bins = [0; BINS_END_US.len() + 1];
    for bucket in pool(hdrs).iter_recorded() {
        let latency = bucket.value_iterated_to();
        let bin = BINS_END_US.partition_point(|&end_us| end_us * 1000 <= latency);
        bins[bin] += bucket.count_at_value();
    }
    bins
}
