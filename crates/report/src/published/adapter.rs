//! The table of an adapter study. It shows the traffic through a server's network
//! adapter in each access pattern, and its cost in CPU time. Servers are ranked by
//! P/E in each pattern, as ComputerPress did. Not here: the index and its order
//! ([`super::Efficiency`]).

use itertools::Itertools as _;

use super::efficiency::{self, MIXED, OF_BOTH};
use super::{Efficiency, Ranked, RankedBy, cpu_of, is_mixed, ranked};
use crate::doc::ServerCpuDoc;
use crate::doubt::Doubt;
use crate::server_cpu::CpuOf;
use crate::study::{Study, TransferDoc};
use crate::table::{Cell, Column, Table};
use crate::units::{self, counted};

const COLUMNS: [&str; 8] = [
    "pattern", "server", RANK, "Mbit/s", "ops/s", "CPU", "P/E", "us/op",
];

/// Name of the column of ranks, if there are several servers.
const RANK: &str = "rank";
/// Name of the column that separates servers whose P/E cannot be compared, if there
/// are any.
const CPU_OF: &str = "CPU of";

/// Returns the table; `None` for a study that does not move blocks of given sizes.
#[must_use]
pub fn adapter(study: &Study) -> Option<Table> {
    if study.doc.transfers.is_empty() {
        return None;
    }
    let profiles = 0..study.doc.profiles.len();
    let patterns = profiles.map(|profile| PatternResults::of(study, profile));
    let patterns = patterns.collect_vec();
    let measured = patterns.iter().flat_map(|pattern| &pattern.measured);
    let is_mixed = is_mixed(measured);
    let is_ranked = study.doc.servers.len() > 1;
    let mut notes = legend(study);
    if is_ranked {
        notes.push(rule(&patterns));
    }
    notes.extend(whose_cpu(study));
    if is_mixed {
        notes.push(MIXED.to_owned());
    }
    notes.extend(beyond_limits(study));
    let measured = patterns.iter().flat_map(|pattern| &pattern.measured);
    notes.extend(Doubt::notes(measured.map(|row| row.doubt)));
    let columns = COLUMNS.into_iter().chain(is_mixed.then_some(CPU_OF));
    let columns: Vec<_> = columns.filter(|name| is_ranked || *name != RANK).collect();
    let rows = patterns.iter().flat_map(|pattern| pattern.rows(&columns));
    let rows = rows.collect();
    let columns = columns.into_iter().map(|name| match name {
        "pattern" | "server" | CPU_OF => Column::text(name),
        name => Column::number(name),
    });
    let ranked = if is_ranked { ", ranked by P/E" } else { "" };
    Some(Table {
        title: format!("traffic through the adapter by access pattern{ranked}"),
        rows,
        columns: columns.collect(),
        notes,
    })
}

/// Explains how servers are ranked.
fn rule(patterns: &[PatternResults<'_>]) -> String {
    let mut merits = patterns.iter().map(|of| RankedBy::of(&of.measured));
    let otherwise = if merits.contains(&RankedBy::Operations) {
        " (by operations per second for each percent where no data is moved)"
    } else {
        ""
    };
    format!(
        "rank: by P/E{otherwise}, among servers whose CPU was measured, in each pattern for itself; \
         equal figures have equal ranks"
    )
}

/// Results of one access pattern.
struct PatternResults<'a> {
    name: String,
    /// Servers with a result.
    measured: Vec<Efficiency>,
    /// Servers without a result.
    missing: Vec<&'a str>,
}

impl<'a> PatternResults<'a> {
    fn of(study: &'a Study, profile: usize) -> Self {
        let mut found = Self {
            name: pattern(study, profile),
            measured: Vec::new(),
            missing: Vec::new(),
        };
        for (server, doc) in study.doc.servers.iter().enumerate() {
            let run = study.run(server, profile);
            match run.and_then(|run| Efficiency::of_run(&doc.name, run)) {
                Some(row) => found.measured.push(row),
                None => found.missing.push(&doc.name),
            }
        }
        found
    }

    /// Returns a row of these columns for each server: those with a rank first,
    /// those without a result last.
    fn rows(&self, columns: &[&str]) -> Vec<Vec<Cell>> {
        let merit = RankedBy::of(&self.measured);
        let found = ranked(&self.measured).into_iter().map(|ranked| {
            let cell = |column: &&str| {
                if merit.has(column) {
                    self.cell(column, &ranked)
                } else {
                    Cell::or_dash(None)
                }
            };
            columns.iter().map(cell).collect()
        });
        let missing = self.missing.iter().map(|name| {
            let names = [Cell::from(&*self.name), Cell::from(*name)];
            let dashes = (names.len()..columns.len()).map(|_| Cell::or_dash(None));
            names.into_iter().chain(dashes).collect()
        });
        found.chain(missing).collect()
    }

    fn cell(&self, column: &str, Ranked { rank, of: row }: &Ranked<'_>) -> Cell {
        match column {
            "pattern" => self.name.as_str().into(),
            "server" => row.name.as_str().into(),
            RANK => Cell::or_dash(rank.map(Cell::count)),
            "Mbit/s" => {
                let traffic = units::throughput(row.throughput_mbps);
                row.doubt.at(Cell::number(row.throughput_mbps, traffic))
            }
            "ops/s" => row.doubt.at(Cell::of(row.ops_per_s, units::rate)),
            "CPU" => Cell::of(row.cpu_percent, units::utilisation),
            "P/E" => row.doubt.at(Cell::of(row.index(), units::index)),
            "us/op" => Cell::of(row.us_per_op, units::cpu_us),
            _ => cpu_of(row),
        }
    }
}

/// Returns a pattern's name, such as `transmit, 4 KiB`; the profile's name if it is
/// not a transfer.
fn pattern(study: &Study, profile: usize) -> String {
    let name = study.doc.profile_name(profile);
    match study.doc.transfer(name) {
        Some(TransferDoc { mode, bytes, .. }) => {
            format!("{}, {}", mode.name(), units::bytes(u64::from(*bytes)))
        }
        None => name.to_owned(),
    }
}

fn legend(study: &Study) -> Vec<String> {
    let points = study.doc.load_points.iter().map(|&clients| clients.into());
    let clients = match points.collect::<Vec<u64>>().as_slice() {
        [clients] => format!("{}; ", counted(*clients, "client")),
        _ => "the load point with the highest throughput; ".to_owned(),
    };
    [
        "seen from the server: transmit is what it sends, so clients read; receive is what it gets, so \
         clients write"
            .to_owned(),
        "duplex: each client has two sessions on its connection, one reads and one writes; both \
         directions together"
            .to_owned(),
        format!("{clients}these three sequential and without delay, in files of the clients' own"),
        "Mbit/s: application data through the server's adapter, of 10^6 bits; not bytes on the wire"
            .to_owned(),
        "P/E: Mbit/s for each percent of all the server's CPUs; us/op: their time per operation"
            .to_owned(),
    ]
    .into()
}

/// Names the measured CPUs and number of cores, or why they are unknown, server by
/// server.
fn whose_cpu(study: &Study) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, server) in study.doc.servers.iter().enumerate() {
        let results = || {
            let results = study.results.iter();
            results.filter(move |result| result.server == at)
        };
        let points = results().flat_map(|result| &result.run.load_points);
        let docs = points.filter_map(|point| point.server_cpu.as_ref());
        let docs: Vec<&ServerCpuDoc> = docs.collect();
        let mut add = |line| lines.push((server.name.as_str(), line));
        let measured = efficiency::whose_cpu(docs.iter().copied());
        let all = if measured.is_some() { "partly " } else { "" };
        measured.into_iter().for_each(&mut add);
        let of_both = results().filter(|result| {
            let row = Efficiency::of_run(&server.name, &result.run);
            row.is_some_and(|row| row.cpu_of == Some(CpuOf::Both))
        });
        let of_both = of_both.map(|result| pattern(study, result.profile));
        let patterns = of_both.collect_vec().join("; ");
        if !patterns.is_empty() {
            add(format!("{OF_BOTH}: {patterns}"));
        }
        let mut reasons = docs.iter().filter_map(|doc| doc.not_measured.as_deref());
        if let Some(reason) = reasons.next() {
            add(format!(
                "{all}not measured, so no P/E and no rank: {reason}"
            ));
        }
    }
    efficiency::of_cpus(lines, study.doc.servers.len()).collect()
}

/// Names block sizes that a server does not accept in one request: those that were split, and
/// those that a release which did not split left out.
fn beyond_limits(study: &Study) -> Vec<String> {
    let mut notes = Vec::new();
    for (at, server) in study.doc.servers.iter().enumerate() {
        let mut results = study.results.iter().filter(|result| result.server == at);
        let Some(known) = results.next().map(|result| &result.run.server) else {
            continue;
        };
        let is_split = |profile| {
            let run = study.run(at, profile);
            run.is_some_and(|run| run.server.split.is_some())
        };
        let profiles = || 0..study.doc.profiles.len();
        let mut split = profiles().filter(|&profile| is_split(profile));
        let mut left_out = profiles().filter(|&profile| study.is_beyond(at, profile));
        for (what, profiles) in [
            ("split", &mut split as &mut dyn Iterator<Item = usize>),
            ("left out", &mut left_out),
        ] {
            let words = profiles.map(|profile| pattern(study, profile)).join("; ");
            if !words.is_empty() {
                notes.push(format!(
                    "{} takes READ up to {} and WRITE up to {}: {what} {words}",
                    server.name,
                    units::bytes(known.max_read_bytes.into()),
                    units::bytes(known.max_write_bytes.into()),
                ));
            }
        }
    }
    notes
}
