//! `smbench-yardsticks DIR CSV` prints a summary of the rounds in DIR, and whether
//! the requirements are met. It writes the figures of each round to CSV.
//! `benches/yardsticks.sh` runs the rounds.
//!
//! Every ratio compares results of the same round, and the median over rounds is
//! reported. A slow period of the machine affects all results of a round equally.

mod counts;
mod rounds;

use std::fs;
use std::process::ExitCode;

use rounds::{Figure, Rounds};

/// The compared programs: name in the files and name in the table.
const CLIENTS: [(&str, &str); 5] = [
    ("floor", "floor, a bare loop"),
    ("native", "smbench"),
    ("native-signed", "smbench, signed"),
    ("smb-rs", "smb-rs, signed"),
    ("smbtorture", "smbtorture nbench, SMB1"),
];

/// The same for other numbers of requests in flight.
const WINDOWS: [(&str, &str); 2] = [
    ("outstanding-1", "smbench, 1 outstanding"),
    ("outstanding-16", "smbench, 16 outstanding"),
];

/// The CPUs of client and server: name in the files and in the table.
const REGIMES: [(&str, &str); 2] = [
    ("shared", "client and server share all CPUs"),
    ("apart", "client on CPU 0, server on CPU 1"),
];

/// The numbers of clients.
const COUNTS: [u32; 4] = [1, 4, 64, 512];

/// The most CPU time of smbench as a multiple of the floor's, by CPUs and clients.
const OF_THE_FLOOR: [(&str, u32, f64); 4] = [
    ("shared", 64, 0.83),
    ("apart", 64, 1.05),
    ("apart", 4, 1.02),
    ("apart", 1, 1.02),
];

/// A requirement.
struct Requirement {
    what: String,
    value: f64,
    limit: f64,
    unit: &'static str,
    /// Whether a larger value is better.
    at_least: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, csv] = &arguments[..] else {
        say("usage: smbench-yardsticks DIR CSV");
        return ExitCode::from(2);
    };
    match report(folder, csv) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            say(&format!("smbench-yardsticks: {problem}"));
            ExitCode::from(4)
        }
    }
}

/// Prints the tables, and writes the figures of each round. Returns whether all requirements
/// are met.
fn report(folder: &str, csv: &str) -> Result<bool, String> {
    let rounds = Rounds::load(folder)?;
    fs::write(csv, rounds.csv()).map_err(|error| format!("{csv}: {error}"))?;
    say(&format!(
        "\n4 KiB reads, one in flight for each client, scratch Samba; {} rounds: median (least to most)",
        rounds.count()
    ));
    for (regime, shown) in REGIMES {
        for clients in COUNTS {
            say(&format!("\n{shown}; clients: {clients}"));
            table(&rounds, &format!("{regime}-{clients}"), &CLIENTS)?;
        }
    }
    say("\nclient and server share all CPUs, embedded server, 4 clients");
    table(&rounds, "window", &WINDOWS)?;
    say("");
    let bars = bars(&rounds)?;
    bars.iter().for_each(Requirement::tell);
    Ok(bars.iter().all(Requirement::holds))
}

/// Prints a table of the programs of a cell.
fn table(rounds: &Rounds, cell: &str, rows: &[(&str, &str)]) -> Result<(), String> {
    let name = |row: (&str, &str)| format!("{cell}-{}", row.0);
    let first = name(rows[0]);
    say(&format!(
        "{:<24} {:>21} {:>6} {:>21} {:>16} {:>8} {:>8} {:>8}",
        "client", "CPU us/op", "user", "operations/s", "CPU", "wake-ups", "calls", "instr."
    ));
    for &row in rows {
        let name = name(row);
        if !rounds.has(&name) {
            continue;
        }
        let of = |figure| rounds.of(&name, figure);
        let counts = rounds.counts(&name);
        let count = |count: Option<f64>, digits| match count {
            Some(count) => format!("{count:.digits$}"),
            None => "-".to_owned(),
        };
        say(&format!(
            "{:<24} {:>21} {:>6.2} {:>21} {:>16} {:>8} {:>8} {:>8}",
            row.1,
            of(Figure::Cpu)?.spread(2),
            of(Figure::User)?.median(),
            of(Figure::Rate)?.spread(0),
            rounds.ratio(&name, &first, Figure::Cpu)?.spread(2),
            count(counts.wakeups, 2),
            count(counts.system_calls, 2),
            count(counts.instructions, 0),
        ));
    }
    Ok(())
}

fn bars(rounds: &Rounds) -> Result<Vec<Requirement>, String> {
    let cpu = |of: &str, to: &str| Ok::<_, String>(rounds.ratio(of, to, Figure::Cpu)?.median());
    let mut bars = Vec::new();
    for (regime, clients, limit) in OF_THE_FLOOR {
        let program = |name| format!("{regime}-{clients}-{name}");
        bars.push(Requirement {
            what: format!("CPU per read, of the floor's, CPUs {regime}, clients: {clients}"),
            value: cpu(&program("native"), &program("floor"))?,
            limit,
            unit: "x",
            at_least: false,
        });
    }
    bars.extend([
        Requirement {
            what: "CPU per read, of smb-rs's, both signed, CPUs shared, clients: 64".to_owned(),
            value: cpu("shared-64-native-signed", "shared-64-smb-rs")?,
            limit: 0.5,
            unit: "x",
            at_least: false,
        },
        Requirement {
            what: "CPU per read in user mode, CPUs shared, clients: 64".to_owned(),
            value: rounds.of("shared-64-native", Figure::User)?.median(),
            limit: 1.5,
            unit: " us",
            at_least: false,
        },
        Requirement {
            what: "operations per CPU second, 16 outstanding over 1".to_owned(),
            value: cpu("window-outstanding-1", "window-outstanding-16")?,
            limit: 1.5,
            unit: "x",
            at_least: true,
        },
    ]);
    Ok(bars)
}

impl Requirement {
    fn holds(&self) -> bool {
        if self.at_least {
            self.value >= self.limit
        } else {
            self.value <= self.limit
        }
    }

    fn tell(&self) {
        say(&format!(
            "{:<11} {}: {:.2}{unit}, {} {}{unit}",
            if self.holds() { "holds" } else { "falls short" },
            self.what,
            self.value,
            if self.at_least { "at least" } else { "at most" },
            self.limit,
            unit = self.unit,
        ));
    }
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn say(line: &str) {
    println!("{line}");
}
