//! The populations of a plan in words.

use itertools::Itertools as _;
use smbench_model::contents::Verify;

use super::{details, workload};
use crate::doc::{PlanDoc, PopulationDoc};
use crate::units::{counted, percent, plain, seconds};

/// Names the profile of a plan with several populations, and those of the populations.
pub(super) fn profile(plan: &PlanDoc) -> String {
    let of_one = |one: &PopulationDoc| {
        let (name, profile) = (plain(&one.name), plain(&one.profile));
        let alone = plan.alone(one);
        let load = super::load_model(&alone, one.pacing);
        let outstanding = super::outstanding(&alone, one.pacing);
        format!("{name} ({profile}, {load}, {outstanding})")
    };
    let populations = plan.populations.iter().map(of_one).join(", ");
    format!("{}: {populations}", plain(&plan.profile))
}

/// Describes the credits that connections could use at most, if they were limited.
pub(crate) fn credits(plan: &PlanDoc) -> Option<String> {
    let of_plan = plan.sessions.credits;
    let most = |credits: u16| counted(credits.into(), "credit");
    let own = plan.populations.iter().filter_map(|one| {
        let credits = one.credits.filter(|_| one.credits != of_plan)?;
        let (name, most) = (plain(&one.name), most(credits));
        Some(format!("no connection of {name} used more than {most}"))
    });
    let mut limits: Vec<_> = own.collect();
    if let Some(credits) = of_plan {
        let other = if limits.is_empty() { "" } else { "other " };
        let most = most(credits);
        limits.push(format!("no {other}connection used more than {most}"));
    }
    (!limits.is_empty()).then(|| limits.join(", "))
}

/// Says whose reads are verified, where some are.
pub(super) fn verified(plan: &PlanDoc) -> String {
    let all = || plan.populations.iter();
    let are_verified = |one: &PopulationDoc| one.verify == Verify::ReadBack;
    if all().all(are_verified) {
        return "what is read is verified".to_owned();
    }
    let names = all().filter(|one| are_verified(one));
    let names = names.map(|one| plain(&one.name)).join(", ");
    format!("reads of {names} are verified")
}

/// Describes the clients, the work and the load of each population, a line for each.
pub(super) fn lines(plan: &PlanDoc) -> Vec<String> {
    let lines = plan.populations.iter().map(|one| {
        let alone = plan.alone(one);
        let clients = match one.clients.iter().all_equal_value() {
            Ok(&clients) => counted(clients.into(), "client"),
            Err(_) => format!("{} clients", one.clients.iter().join(",")),
        };
        let share = match (one.share, one.per_unit, &plan.unit) {
            (Some(share), ..) => Some(format!(" ({})", percent(share))),
            (None, Some(per_unit), Some(unit)) => {
                Some(format!(" ({per_unit} in each {})", plain(&unit.name)))
            }
            _ => None,
        };
        let work = workload::profile(&alone);
        let load = super::load_model(&alone, one.pacing);
        let outstanding = super::outstanding(&alone, one.pacing);
        let frames = one.stream.as_ref().map(details::frames);
        let frames = frames.map(|frames| format!("; {frames}"));
        let oplock = one.oplock.as_ref();
        let oplock = oplock.map(|asked| format!("; oplock {}", plain(&asked.to_string())));
        let session = one.signing.map(|_| details::session(&alone));
        let mut session: Vec<_> = session.into_iter().flatten().collect();
        let credits = one.credits.map(|most| counted(most.into(), "credit"));
        session.extend(credits.map(|most| ("at most", most)));
        let session = session
            .iter()
            .map(|(name, text)| format!("; {name} {text}"));
        let sources = one.source_ip.as_ref();
        let sources = sources.map(|sources| format!("; from {}", plain(sources)));
        let stages = one.stages.as_ref();
        let stages = stages.map(|stages| format!("; stages {}", plain(stages)));
        let start = one
            .start_s
            .map(|start| format!("; begins after {}", seconds(start)));
        let data = super::data(&alone);
        format!(
            "{}, {clients}{}: {work}; {load}, {outstanding}; {data}{}{}{}{}{}{}",
            plain(&one.name),
            share.unwrap_or_default(),
            frames.unwrap_or_default(),
            oplock.unwrap_or_default(),
            session.format(""),
            sources.unwrap_or_default(),
            stages.unwrap_or_default(),
            start.unwrap_or_default()
        )
    });
    lines.collect()
}
