//! `smbench-yardsticks DIR` prints a summary of the rounds in DIR, and whether
//! the requirements are met. `benches/yardsticks.sh` runs the rounds.
//!
//! Every ratio compares results of the same round, and the median over rounds is
//! reported. A slow period of the machine affects all results of a round equally.

mod rounds;

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

/// A requirement.
struct Requirement {
    what: &'static str,
    value: f64,
    limit: f64,
    unit: &'static str,
    /// Whether a larger value is better.
    at_least: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder] = &arguments[..] else {
        say("usage: smbench-yardsticks DIR");
        return ExitCode::from(2);
    };
    match report(folder) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            say(&format!("smbench-yardsticks: {problem}"));
            ExitCode::from(4)
        }
    }
}

/// Prints the tables. Returns whether all requirements are met.
fn report(folder: &str) -> Result<bool, String> {
    let rounds = Rounds::load(folder)?;
    say(&format!(
        "\n64 clients, one 4 KiB read in flight each, scratch Samba, {} rounds: median (least to most)",
        rounds.count()
    ));
    table(&rounds, &CLIENTS)?;
    say("\n4 clients, embedded server");
    table(&rounds, &WINDOWS)?;
    say("");
    let bars = bars(&rounds)?;
    bars.iter().for_each(Requirement::tell);
    Ok(bars.iter().all(Requirement::holds))
}

fn table(rounds: &Rounds, rows: &[(&str, &str)]) -> Result<(), String> {
    let (first, _) = rows[0];
    say(&format!(
        "{:<24} {:>22} {:>8} {:>8} {:>24} {:>8}",
        "client", "CPU us/op", "user", "system", "operations/s", "CPU"
    ));
    for &(name, shown) in rows {
        let of = |figure| rounds.of(name, figure);
        say(&format!(
            "{shown:<24} {:>22} {:>8.2} {:>8.2} {:>24} {:>7.2}x",
            of(Figure::Cpu)?.spread(2),
            of(Figure::User)?.median(),
            of(Figure::System)?.median(),
            of(Figure::Rate)?.spread(0),
            rounds.ratio(name, first, Figure::Cpu)?.median(),
        ));
    }
    Ok(())
}

fn bars(rounds: &Rounds) -> Result<Vec<Requirement>, String> {
    let cpu = |of, to| Ok::<_, String>(rounds.ratio(of, to, Figure::Cpu)?.median());
    Ok(vec![
        Requirement {
            what: "CPU per read, of the floor's",
            value: cpu("native", "floor")?,
            limit: 1.15,
            unit: "x",
            at_least: false,
        },
        Requirement {
            what: "CPU per read, of smb-rs's, both signed",
            value: cpu("native-signed", "smb-rs")?,
            limit: 0.5,
            unit: "x",
            at_least: false,
        },
        Requirement {
            what: "CPU per read in user mode",
            value: rounds.of("native", Figure::User)?.median(),
            limit: 1.5,
            unit: " us",
            at_least: false,
        },
        Requirement {
            what: "operations per CPU second, 16 outstanding over 1",
            value: cpu("outstanding-1", "outstanding-16")?,
            limit: 1.5,
            unit: "x",
            at_least: true,
        },
    ])
}

impl Requirement {
    fn holds(&self) -> bool {
        match self.at_least {
            true => self.value >= self.limit,
            false => self.value <= self.limit,
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
