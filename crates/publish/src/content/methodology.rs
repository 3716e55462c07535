//! The section on the method: the meaning of the numbers, and the settings.

use std::collections::BTreeMap;

use itertools::Itertools as _;
use smbench_report::block::Block;
use smbench_report::doc::PlanDoc;
use smbench_report::names::listed;
use smbench_report::plan;
use smbench_report::study::Study;
use smbench_report::units;

use super::profile::ProfileContent;
use crate::report::Section;

/// Definitions of the numbers, which are the same in every report.
const DEFINITIONS: [&str; 9] = [
    "A load point is a number of clients, each an authenticated SMB session of its own. All of \
     them are connected before the load begins. Only what completes in the measured window \
     counts.",
    "Throughput is the application data read and written in the window, in Mbit/s of 10^6 bits. \
     Operations per second are those completed without error.",
    "A response time counts from the instant at which an operation was due to the instant at \
     which its answer had been received. In a closed loop that is when it was sent.",
    "Every response time is in a histogram that is true to three digits. Percentiles are over \
     all operations of all valid passes: histograms are merged, percentiles never averaged.",
    "Throughput at a load point is the mean over its valid passes; the peak is the highest load \
     point of that curve.",
    "A load point at which a client was lost, or which failed otherwise, is not valid. It is \
     marked ! in tables and hollow in plots; it is in no mean and never the peak.",
    "Throughput is marked ~ in tables where it is client-limited: the machine that generated the \
     load, and not the server, limited it. Figures that are made of it have the same mark.",
    "Response times are marked ^ in tables where they may be too high, because answers were handled \
     late. They are marked * where they miss a stall at the end of the window.",
    "A window is steady when its five equal parts are at most 20 % of their mean apart. The \
     line through them must also rise or fall by at most 10 %.",
];

/// Definition of the limits that searches find.
const OF_SEARCHES: &str = "A limit is the highest load at which the conditions held in enough \
     probes. A probe is a load point whose load the search chose by those before. For sessions, \
     there is one probe: sessions are opened until too many attempts fail, and then held.";

pub(super) fn section(study: &Study, profiles: &[ProfileContent<'_>]) -> Section {
    let mut section = Section::new("Methodology");
    let [load_point, others @ ..] = DEFINITIONS.map(str::to_owned);
    let mut definitions = vec![load_point];
    definitions.extend(ramps(profiles));
    definitions.extend(others);
    let has_searches = profiles.iter().any(|profile| !profile.searches.is_empty());
    definitions.extend(has_searches.then(|| OF_SEARCHES.to_owned()));
    section.list(definitions);
    let doc = &study.doc;
    if !doc.load_points.is_empty() {
        let points = doc.load_points.iter().join(", ");
        let passes = plan::passes(doc.passes);
        let rates = match study.rates() {
            Some([]) => String::new(),
            Some(rates) => {
                let rates = rates.iter().copied().map(units::rate).join(", ");
                format!(" at {rates} ops/s")
            }
            None => " at the rates of each profile".to_owned(),
        };
        section.text(format!(
            "Load points: {points} clients{rates}, {passes} on each server."
        ));
    }
    for profile in profiles {
        section.part(asked_for(profile));
    }
    section
}

/// Describes the ramps around the windows, and names the profiles if they differ.
fn ramps(profiles: &[ProfileContent<'_>]) -> Vec<String> {
    let mut words: Vec<(&str, Vec<&str>)> = Vec::new();
    for profile in profiles {
        for server in &profile.servers {
            let text = ramps_of(&server.run.plan);
            match words.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) if names.contains(&profile.name) => {}
                Some((_, names)) => names.push(profile.name),
                None => words.push((text, vec![profile.name])),
            }
        }
    }
    let differ = words.len() > 1;
    let words = words.into_iter();
    words
        .map(|(text, names)| {
            if differ {
                format!("{}: {text}", names.join(", "))
            } else {
                text.to_owned()
            }
        })
        .collect()
}

fn ramps_of(plan: &PlanDoc) -> &'static str {
    let is_linear = plan.is_joined_one_by_one();
    match (plan.ramp_up_s > 0.0, plan.ramp_down_s > 0.0) {
        _ if plan.is_until_replayed() => {
            "There are no ramps: a window begins with the load and ends with the last client, so all \
             that is done is measured."
        }
        (false, false) => "There are no ramps: a window begins with the load, and ends with it.",
        (true, true) if is_linear => {
            "In the ramp before a window clients join one by one; in the one after it the load is \
             full. Both are left out."
        }
        (true, false) if is_linear => {
            "In the ramp before a window clients join one by one; it is left out."
        }
        (true, true) => "The ramps before and after a window run at full load and are left out.",
        (true, false) => "The ramp before a window runs at full load and is left out.",
        (false, true) => "The ramp after a window runs at full load and is left out.",
    }
}

/// Describes the settings of a profile. Servers with equal settings share one
/// description.
fn asked_for(profile: &ProfileContent<'_>) -> Section {
    let mut part = Section::new(format!("Profile {}", profile.name));
    let mut plans: BTreeMap<Vec<_>, Vec<&str>> = BTreeMap::new();
    for server in profile.servers.iter().chain(&profile.searches) {
        let (plan, pacing) = (&server.run.plan, server.run.pacing);
        let mut facts = plan::facts(plan, pacing).to_vec();
        if let Some(find) = &server.run.find {
            let load = plan::of_search(plan, pacing, find.kind);
            let is_said = !find.limit.is_empty() || find.population.is_some();
            let limit = if is_said {
                find.limit_in_words()
            } else {
                String::new()
            };
            facts = [&facts[..1], &[("load", load), ("limit", limit)]].concat();
            facts.retain(|(_, text)| !text.is_empty());
        }
        plans.entry(facts).or_default().push(server.name);
    }
    let differ = plans.len() > 1;
    if differ {
        part.text("Not the same was asked of all servers.");
    }
    for (mut facts, servers) in plans {
        if differ {
            facts.insert(0, ("servers", listed(&servers)));
        }
        part.add(Block::facts(facts));
    }
    part
}
