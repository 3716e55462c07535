//! The instruction-count gate: `smbench-gate check` runs each hot path under
//! valgrind's callgrind and fails when one needs over 3 % more instructions per
//! call than `benches/baselines.toml` says; `update` writes that file anew.
//!
//! Instructions are counted because they do not depend on how busy a machine
//! is. Each case runs twice, with few and with many calls; the difference
//! leaves out what starting a process costs.

mod baseline;
mod cases;
mod count;

use std::process::ExitCode;

use baseline::Baselines;

/// Growth that fails a check, in percent.
const TOLERANCE_PERCENT: f64 = 3.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["run", case, calls] => cases::run(case, calls),
        ["check"] => check(),
        ["update"] => update(),
        _ => Err("usage: smbench-gate check | update".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            say(&format!("smbench-gate: {problem}"));
            ExitCode::FAILURE
        }
    }
}

fn check() -> Result<(), String> {
    let baselines = Baselines::load()?;
    say(&format!(
        "{:<44} {:>10} {:>10} {:>8}",
        "instructions per call", "baseline", "now", "change"
    ));
    let mut grown = Vec::new();
    for case in cases::ALL {
        let expected = baselines.of(case.name)?;
        let counted = count::instructions_per_call(case)?;
        let change = (counted / expected - 1.0) * 100.0;
        say(&format!(
            "{:<44} {expected:>10.1} {counted:>10.1} {change:>+7.1}%",
            case.name
        ));
        if change > TOLERANCE_PERCENT {
            grown.push(case.name);
        }
    }
    if grown.is_empty() {
        return Ok(());
    }
    Err(format!(
        "grown by more than {TOLERANCE_PERCENT} %: {}; make it leaner, or run `smbench-gate update` and say in \
         the commit why it must cost more (baselines counted with {}, this is {})",
        grown.join(", "),
        baselines.compiler,
        baseline::compiler()?
    ))
}

fn update() -> Result<(), String> {
    let mut baselines = Baselines::empty()?;
    for case in cases::ALL {
        let counted = count::instructions_per_call(case)?;
        say(&format!("{:<44} {counted:>10.1}", case.name));
        baselines.set(case.name, counted);
    }
    baselines.save()
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn say(line: &str) {
    println!("{line}");
}
