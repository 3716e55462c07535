//! The exporter of `--metrics`: counts of a run in OpenMetrics, over HTTP.
//!
//! The counts are those of the measured windows, interval by interval. A scrape reads
//! them under a lock that only the thread of the run's observer takes, so it costs
//! the workers nothing. Not here: the server's own metrics, which smbench reads.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric as _, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use smbench_engine::run::MeasuredInterval;
use smbench_model::kind::OpKind;
use smbench_model::record::{OpRecord, Recorder};

use crate::failure::Failure;
use crate::progress::LineReport;

/// Time that a scraper has to send its request and to take the answer.
const SCRAPE_LIMIT: Duration = Duration::from_secs(2);
/// Largest request in bytes.
const REQUEST_MAX: usize = 8 << 10;
/// Upper bounds of the buckets of response times, in microseconds.
const BOUNDS_US: [u64; 21] = [
    50, 100, 200, 400, 700, 1_000, 2_000, 4_000, 7_000, 10_000, 20_000, 40_000, 70_000, 100_000,
    200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 30_000_000,
];

/// Counts since the command began.
#[derive(Debug, Default)]
struct RunCounts {
    ops: BTreeMap<OpLabels, OpCounts>,
    /// Clients of the load point.
    clients: u32,
    /// Number of the pass.
    pass: u32,
}

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OpLabels {
    /// The population, if there are several.
    population: Option<String>,
    op: &'static str,
}

impl OpLabels {
    /// Returns the labels of a metric.
    fn pairs(&self) -> Vec<(&'static str, &str)> {
        let population = self.population.as_deref();
        let population = population.map(|name| ("population", name));
        std::iter::once(("op", self.op)).chain(population).collect()
    }
}

/// Counts of one kind of operation.
#[derive(Debug, Default)]
struct OpCounts {
    bytes: u64,
    errors: u64,
    /// Operations of a replay that did not go as recorded.
    differences: u64,
    response_s: f64,
    /// Operations in each bucket; the last has no bound.
    buckets: [u64; BOUNDS_US.len() + 1],
}

impl OpCounts {
    fn add(&mut self, of: &OpRecord) {
        self.bytes += of.bytes;
        self.errors += of.errors;
        for value in of.latency().iter_recorded() {
            let (ns, count) = (value.value_iterated_to(), value.count_at_value());
            let bucket = BOUNDS_US.partition_point(|bound| bound * 1000 < ns);
            self.buckets[bucket] += count;
            self.response_s += ns as f64 / 1e9 * count as f64;
        }
    }

    fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// The counts that scrapers read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exporter(Arc<Mutex<RunCounts>>);

impl Exporter {
    /// Answers scrapers on this address until the process ends.
    pub(crate) fn start(address: SocketAddr) -> Result<Self, Failure> {
        let failed = || Failure::io(format!("serve metrics on {address}"));
        let listener = TcpListener::bind(address).map_err(failed())?;
        let exporter = Self::default();
        let mut registry = Registry::with_prefix("smbench");
        registry.register_collector(Box::new(exporter.clone()));
        let answer = move || {
            for stream in listener.incoming() {
                match stream {
                    // A scraper that went away scrapes again.
                    Ok(stream) => drop(respond(stream, &registry)),
                    // Such as too many open files, which does not pass at once.
                    Err(_) => thread::sleep(SCRAPE_LIMIT),
                }
            }
        };
        let thread = thread::Builder::new().name("metrics".to_owned());
        thread.spawn(answer).map_err(failed())?;
        Ok(exporter)
    }

    /// Returns the function that adds the operations of each interval.
    pub(crate) fn into_report(self) -> LineReport {
        Box::new(move |interval, _| self.add(interval))
    }

    fn add(&self, interval: &MeasuredInterval<'_>) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.clients = interval.point.clients;
        counts.pass = interval.point.repeat;
        // Of several populations, the sum is that of all.
        let populations = interval.populations.iter();
        let populations = populations.map(|of| (Some(of.name), of.ops));
        let alone = interval.populations.is_empty();
        let all = alone.then_some((None, interval.ops));
        for (population, ops) in populations.chain(all) {
            counts.add(population, ops);
        }
    }
}

impl RunCounts {
    /// Adds operations: those of a population, or of all.
    fn add(&mut self, population: Option<&str>, recorder: &Recorder) {
        // As in the sums of the document.
        let ops = recorder.ops();
        for (kind, record) in ops.filter(|(kind, _)| kind.is_asked_for()) {
            self.of(population, kind).add(record);
        }
        for (kind, count) in recorder.differing() {
            self.of(population, kind).differences += count;
        }
    }

    fn of(&mut self, population: Option<&str>, kind: OpKind) -> &mut OpCounts {
        let labels = OpLabels {
            population: population.map(str::to_owned),
            op: kind.name(),
        };
        self.ops.entry(labels).or_default()
    }
}

/// Answers one request.
fn respond(mut stream: TcpStream, registry: &Registry) -> io::Result<()> {
    stream.set_read_timeout(Some(SCRAPE_LIMIT))?;
    stream.set_write_timeout(Some(SCRAPE_LIMIT))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    let deadline = Instant::now() + SCRAPE_LIMIT;
    while !request.windows(4).any(|end| end == b"\r\n\r\n")
        && request.len() < REQUEST_MAX
        && Instant::now() < deadline
    {
        match stream.read(&mut part)? {
            0 => break,
            length => request.extend_from_slice(&part[..length]),
        }
    }
    let is_metrics = |end: &str| request.starts_with(format!("GET /metrics{end}").as_bytes());
    let asked = String::from_utf8_lossy(&request).to_ascii_lowercase();
    let (format, is_open) = if asked.contains("application/openmetrics-text") {
        ("application/openmetrics-text; version=1.0.0", true)
    } else {
        ("text/plain; version=0.0.4", false)
    };
    let (status, body) = if is_metrics(" ") || is_metrics("?") {
        let mut text = String::new();
        encode(&mut text, registry).map_err(io::Error::other)?;
        ("200 OK", if is_open { text } else { classic(&text) })
    } else {
        ("404 Not Found", "see /metrics\n".to_owned())
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {format}; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Returns the text in Prometheus's own format, for those that do not ask for
/// OpenMetrics. There the name of a counter ends with `_total` in comments, too.
fn classic(text: &str) -> String {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let counters = types.filter_map(|line| line.strip_suffix(" counter"));
    let counters: Vec<_> = counters.collect();
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF");
    let lines = lines.map(|line| match line.splitn(4, ' ').collect::<Vec<_>>()[..] {
        ["#", what, name, rest] if counters.contains(&name) => {
            format!("# {what} {name}_total {rest}\n")
        }
        _ => format!("{line}\n"),
    });
    lines.collect()
}

type Encoded = Result<(), std::fmt::Error>;

/// How a counter describes itself.
struct CounterText {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
}

/// Writes a counter with a value for each kind of operation.
fn by_op(
    encoder: &mut DescriptorEncoder<'_>,
    text: &CounterText,
    counts: &RunCounts,
    value: fn(&OpCounts) -> u64,
) -> Encoded {
    let mut metric = encoder.encode_descriptor(
        text.name,
        text.help,
        text.unit.as_ref(),
        MetricType::Counter,
    )?;
    for (labels, of) in &counts.ops {
        let labels = labels.pairs();
        ConstCounter::new(value(of)).encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

fn response_times(mut metric: MetricEncoder<'_>, counts: &RunCounts) -> Encoded {
    for (labels, of) in &counts.ops {
        let bounds = BOUNDS_US.iter().map(|us| *us as f64 / 1e6);
        let bounds = bounds.chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds.zip(of.buckets).collect();
        let labels = labels.pairs();
        let mut family = metric.encode_family(&labels)?;
        family.encode_histogram::<NoLabelSet>(of.response_s, of.count(), &buckets, None)?;
    }
    Ok(())
}

impl Collector for Exporter {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Encoded {
        let counts = &*self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let operations = CounterText {
            name: "operations",
            help: "Operations without error or difference in measured windows",
            unit: None,
        };
        by_op(&mut encoder, &operations, counts, OpCounts::count)?;
        let errors = CounterText {
            name: "errors",
            help: "Failed operations in measured windows",
            unit: None,
        };
        by_op(&mut encoder, &errors, counts, |of| of.errors)?;
        let differences = CounterText {
            name: "differences",
            help: "Operations of a replay in measured windows that did not go as recorded",
            unit: None,
        };
        by_op(&mut encoder, &differences, counts, |of| of.differences)?;
        let bytes = CounterText {
            name: "payload",
            help: "Bytes read and written in measured windows",
            unit: Some(Unit::Bytes),
        };
        by_op(&mut encoder, &bytes, counts, |of| of.bytes)?;
        let response = encoder.encode_descriptor(
            "response",
            "Time from when an operation was due until its answer",
            Some(&Unit::Seconds),
            MetricType::Histogram,
        )?;
        response_times(response, counts)?;
        for (name, help, value) in [
            ("clients", "Clients of the load point", counts.clients),
            ("pass", "Number of the pass, from 1", counts.pass),
        ] {
            let gauge = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::from(value)).encode(gauge)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
