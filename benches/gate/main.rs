//! The instruction-count gate.
//!
//! `smbench-gate check` runs each hot path under valgrind's callgrind. It fails
//! if a path needs over 3 % more instructions per call than in
//! `benches/baselines.toml`, or an operation in five populations over 3 % more
//! than in one. `smbench-gate update` writes that file again.
//!
//! Instructions are counted because they do not depend on the load of the
//! machine. Most cases run twice, with few and with many calls. The difference
//! excludes the cost of starting a process.

mod baseline;
mod cases;
mod cifs;
mod codecs;
mod compounds;
mod count;
mod exchange;
mod wakeup;
mod worker_loop;

use std::process::ExitCode;

use smbench_protocol::fuzzing::FuzzProtection;

use baseline::Baselines;
use exchange::{CountedPart, Exchange};

/// Growth that fails a check, in percent.
const TOLERANCE_PERCENT: f64 = 3.0;
/// The same for wake-ups, whose order and timers are not the same in each run.
const TOLERANCE_OF_WAKE_UPS_PERCENT: f64 = 10.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["run", case, calls] => cases::run(case, calls),
        ["codecs"] => {
            codecs::run();
            Ok(())
        }
        ["exchange", name, part, times] => exchange::run(name, part, times),
        ["wake-ups", port] => wakeup::run(port),
        ["processor"] => {
            say(&baseline::features());
            Ok(())
        }
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

/// Counts everything, and passes each name and count to `each` at once.
fn count_all(mut each: impl FnMut(&str, f64) -> Result<(), String>) -> Result<(), String> {
    for case in cases::ALL {
        each(case.name, count::instructions_per_call(case)?)?;
    }
    for (codec, counted) in codecs::ALL.iter().zip(count::instructions_per_codec()?) {
        each(codec.name, counted)?;
    }
    let wake_up = wakeup::count()?;
    each(wakeup::INSTRUCTIONS, wake_up.instructions)?;
    each(wakeup::MISSES, wake_up.misses)?;
    for exchange in Exchange::all() {
        let whole = count::instructions_per_exchange(&exchange, CountedPart::Whole)?;
        each(&exchange.name(), whole)?;
        if !matches!(exchange.shield, FuzzProtection::None) {
            let protecting = count::instructions_per_exchange(&exchange, CountedPart::Protecting)?;
            let name = format!("{}, the rest", exchange.name());
            each(&name, whole - protecting)?;
        }
    }
    Ok(())
}

fn check() -> Result<(), String> {
    let baselines = Baselines::load()?;
    say(&format!(
        "{:<60} {:>10} {:>10} {:>8}",
        "instructions per call", "baseline", "now", "change"
    ));
    let (mut grown, mut in_one, mut in_five) = (Vec::new(), f64::NAN, f64::NAN);
    count_all(|name, counted| {
        let expected = baselines.of(name)?;
        let change = (counted / expected - 1.0) * 100.0;
        say(&format!(
            "{name:<60} {expected:>10.1} {counted:>10.1} {change:>+7.1}%"
        ));
        let tolerance = match name {
            wakeup::INSTRUCTIONS | wakeup::MISSES => TOLERANCE_OF_WAKE_UPS_PERCENT,
            _ => TOLERANCE_PERCENT,
        };
        match name {
            cases::ONE_POPULATION => in_one = counted,
            cases::FIVE_POPULATIONS => in_five = counted,
            _ => {}
        }
        if change > tolerance {
            grown.push(name.to_owned());
        }
        Ok(())
    })?;
    let more = (in_five / in_one - 1.0) * 100.0;
    say(&format!(
        "{:<83}{more:>+7.1}%",
        "an operation in five populations, against one"
    ));
    if more > TOLERANCE_PERCENT {
        grown.push("an operation in five populations, against one".to_owned());
    }
    if grown.is_empty() {
        return Ok(());
    }
    Err(format!(
        "grown by more than {TOLERANCE_PERCENT} % ({TOLERANCE_OF_WAKE_UPS_PERCENT} % for wake-ups): {}; make it leaner, or run `smbench-gate update` and say in \
         the commit why it must cost more (baselines counted with {} on {}, this is {} on {})",
        grown.join("; "),
        baselines.compiler,
        baselines.processor,
        baseline::compiler()?,
        count::processor()?
    ))
}

fn update() -> Result<(), String> {
    let mut baselines = Baselines::empty()?;
    count_all(|name, counted| {
        say(&format!("{name:<60} {counted:>10.1}"));
        baselines.set(name, counted);
        Ok(())
    })?;
    baselines.save()
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn say(line: &str) {
    println!("{line}");
}
