//! The section with everything that a reader needs to repeat or to doubt the study.

use itertools::Itertools as _;
use smbench_report::RunDoc;
use smbench_report::block::Block;
use smbench_report::doc::{MachineDoc, OutcomeDoc, PlanDoc};
use smbench_report::plan;
use smbench_report::study::Study;
use smbench_report::text;
use smbench_report::units;

use super::summary;
use crate::report::Section;

pub(super) fn section(study: &Study) -> Section {
    let mut section = Section::new("Disclosure");
    let doc = &study.doc;
    let mut facts = summary::scope(study);
    facts.push(("tool", format!("{} {}", doc.tool.name, doc.tool.version)));
    section.add(Block::facts(facts));
    if !doc.command.is_empty() {
        section.text("The study was started with:");
        let command = vec![shell_line(&doc.command)];
        section.add(Block::Verbatim(command));
    }
    let common = common(study);
    let notes = common_notes(study);
    if !common.is_empty() || !notes.is_empty() {
        let mut part = Section::new("Common to all runs");
        part.add(Block::facts(common.clone()));
        part.list(notes.clone());
        section.part(part);
    }
    for server in 0..doc.servers.len() {
        section.part(of_server(study, server, &common, &notes));
    }
    section.part(calibration(study));
    let unread = study.unread.iter();
    let unread = unread.map(|line| format!("left out: {line}"));
    section.list(unread.chain(study.set_aside.clone()).collect());
    section
}

/// A label and a text.
type FactText = (&'static str, String);

/// Returns the facts that all of several runs have.
fn common(study: &Study) -> Vec<FactText> {
    let mut runs = study.results.iter().map(|result| of_run(&result.run));
    let Some(mut common) = runs.next().filter(|_| study.results.len() > 1) else {
        return Vec::new();
    };
    for facts in runs {
        common.retain(|fact| facts.contains(fact));
    }
    common
}

/// Returns the notes that all of several runs have.
fn common_notes(study: &Study) -> Vec<String> {
    let mut runs = study.results.iter().map(|result| &result.run.server.notes);
    let Some(first) = runs.next().filter(|_| study.results.len() > 1) else {
        return Vec::new();
    };
    let all = |note: &&String| runs.clone().all(|notes| notes.contains(note));
    first.iter().filter(all).cloned().collect()
}

/// Returns the limit of the generator, and sysbench's figures for its machine.
fn calibration(study: &Study) -> Section {
    let mut part = Section::new("Calibration of the generator");
    let Some(calibration) = &study.calibration else {
        return part;
    };
    let facts = vec![
        ("started", calibration.started.clone()),
        ("machine", machine(&calibration.machine)),
    ];
    part.add(Block::facts(facts));
    part.table(calibration.table());
    part.list(calibration.sysbench_lines());
    part
}

/// Describes a server: its software, its configuration, and every run on it.
fn of_server(
    study: &Study,
    number: usize,
    common: &[FactText],
    common_notes: &[String],
) -> Section {
    let mut part = Section::new(study.doc.server_name(number));
    let Some(server) = study.doc.servers.get(number) else {
        return part;
    };
    let url = server.url.as_deref().unwrap_or("started by the study");
    let facts = vec![("target", url.to_owned())];
    part.add(Block::facts(facts));
    let own = |note: &&String| !common_notes.contains(note);
    part.list(server.notes.iter().filter(own).cloned().collect());
    if let Some(smbd) = &server.smbd {
        part.text(format!("Its smbd is {smbd}."));
    }
    if !server.settings.is_empty() {
        part.text("Configured with:");
        part.add(Block::Verbatim(server.settings.clone()));
    }
    if !server.client.is_empty() {
        part.text("Asked for by its clients alone:");
        part.add(Block::Verbatim(server.client.clone()));
    }
    let results = study.results.iter();
    let results: Vec<_> = results.filter(|result| result.server == number).collect();
    if results.is_empty() {
        part.text("It has no results.");
    }
    for result in results {
        let mut facts = of_run(&result.run);
        facts.retain(|fact| !common.contains(fact));
        let calibration = study.calibration.as_ref();
        let calibration = result.run.calibration.as_ref().or(calibration);
        let reached = calibration.and_then(|calibration| calibration.reached(&result.run));
        facts.extend(reached.map(|reached| ("generator's limit", reached.text)));
        let command = &result.run.command;
        if !command.is_empty() && *command != study.doc.command {
            facts.push(("command", shell_line(command)));
        }
        part.add(Block::facts(facts));
        // Leave out the notes of the server, which appear above.
        let notes = result.run.server.notes.iter();
        let notes = notes
            .filter(own)
            .filter(|note| !server.notes.contains(note));
        part.list(notes.cloned().collect());
    }
    part
}

fn of_run(run: &RunDoc) -> Vec<FactText> {
    let facts = text::facts(run).into_iter();
    let mut facts = facts.filter(|(label, _)| *label != "note").collect_vec();
    let plan = &run.plan;
    let server = &run.server;
    let mut add = |label, text| facts.push((label, text));
    add(
        "limits",
        format!(
            "READ {}, WRITE {}, transactions {}",
            units::bytes(server.max_read_bytes.into()),
            units::bytes(server.max_write_bytes.into()),
            units::bytes(server.max_transact_bytes.into())
        ),
    );
    if let Some(storage) = &server.storage {
        add("storage", storage.text());
    }
    add("asked for", asked_for(plan));
    add("waits", plan::waits(plan));
    add(
        "plan",
        format!("digest {}, seed {}", plan.digest, plan.seed),
    );
    if !run.load_points.is_empty() {
        add("generator", generator(run));
    }
    if let Some(machine) = &run.machine {
        add("machine", self::machine(machine));
    }
    if run.outcome != OutcomeDoc::Complete {
        let reason = run.outcome_reason.as_deref().unwrap_or("no reason given");
        add("outcome", reason.to_owned());
    }
    if let Some(leftover) = &run.leftover {
        add("left over", leftover.clone());
    }
    if let Some(kept) = &run.space_kept {
        add("left over", kept.clone());
    }
    if let Some(words) = text::recycled(run) {
        add("deletions", words);
    }
    facts
}

/// Describes the requested settings of the negotiation.
fn asked_for(plan: &PlanDoc) -> String {
    let parts = plan::session(plan).into_iter();
    parts
        .map(|(label, text)| format!("{label} {text}"))
        .join("; ")
}

/// Describes the machine that generated the load.
fn machine(machine: &MachineDoc) -> String {
    let texts = [&machine.system, &machine.kernel, &machine.cpu];
    let mut parts: Vec<_> = texts.into_iter().flatten().cloned().collect();
    parts.extend(machine.cpus.map(|cpus| units::counted(cpus.into(), "CPU")));
    let memory = machine.memory_bytes.map(units::bytes);
    parts.extend(memory.map(|memory| format!("{memory} of memory")));
    parts.join(", ")
}

/// Describes the resources that the generator used.
fn generator(run: &RunDoc) -> String {
    let mut parts = Vec::new();
    let points = || run.load_points.iter();
    if let Some(memory) = points().map(|point| point.client.max_rss_bytes).max() {
        parts.push(format!("{} of memory at most", units::bytes(memory)));
    }
    let busy = points().filter_map(|point| point.generator.as_ref()?.machine_busy_share);
    if let Some(busy) = busy.reduce(f64::max) {
        let share = units::percent(busy * 100.0);
        parts.push(format!("CPUs of its machine up to {share} busy"));
    }
    parts.join(", ")
}

/// Formats a command line for a shell.
fn shell_line(command: &[String]) -> String {
    command.iter().map(|word| quoted(word)).join(" ")
}

/// Quotes an argument for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
