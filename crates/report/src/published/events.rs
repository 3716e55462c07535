//! What each event of a study cost on each server, over all passes.

use std::slice;

use itertools::Itertools as _;
use smbench_model::record::DataFaults;

use crate::curve::Curve;
use crate::doc::EventDoc;
use crate::event_costs::{cells, columns, finds_lost_writes, name};
use crate::load::Load;
use crate::names::{listed, said_once};
use crate::study::Study;
use crate::table::{Cell, Column, Table};
use crate::units::{counted, latency, plain};

/// A kind of wrong data: what one is called, the column, and the number of them.
struct WrongData {
    name: &'static str,
    column: &'static str,
    of: fn(&DataFaults) -> u64,
}

const WRONG: [WrongData; 3] = [
    WrongData {
        name: "lost write",
        column: "lost writes",
        of: |found| found.lost,
    },
    WrongData {
        name: "doubled write",
        column: "doubled",
        of: |found| found.doubled,
    },
    WrongData {
        name: "torn write",
        column: "torn",
        of: |found| found.torn,
    },
];

/// An event at a load of a server, over all passes.
struct EventCost<'a> {
    server: &'a str,
    load: Load,
    /// Whether all passes are valid.
    is_valid: bool,
    /// Whether wrong data would have been found.
    is_verified: bool,
    /// Whether clients come back. The blackouts of those that drop out are not counted.
    comes_back: bool,
    event: EventDoc,
}

impl EventCost<'_> {
    /// Returns the event as it was asked for.
    fn asked_for(&self) -> Option<&str> {
        self.event.event.as_deref()
    }

    /// Returns whether it is known that the event interrupted no client.
    fn is_harmless(&self) -> bool {
        // A load point whose event failed, or that ended before it, is not valid.
        self.comes_back && self.is_valid && self.event.clients == 0
    }

    fn wrong(&self) -> [Cell; 3] {
        let nothing = self.is_verified.then(DataFaults::default);
        let found = self.event.verify.or(nothing);
        WRONG.map(|kind| Cell::or_dash(found.map(|found| Cell::count((kind.of)(&found)))))
    }
}

/// Returns the costs of all events, event by event, and of each event server by server.
fn costs(study: &Study, profile: usize) -> Vec<EventCost<'_>> {
    let mut costs = Vec::new();
    // The load points of a search are its probes.
    let results = study.of_profile(profile);
    for result in results.filter(|result| result.run.find.is_none()) {
        let is_verified = finds_lost_writes(&result.run);
        let comes_back = result.run.plan.sessions.reconnect_s.is_some();
        for row in Curve::of(&result.run.load_points).rows {
            let events = EventDoc::merged(row.all_passes().map(|pass| &pass.events[..]));
            costs.extend(events.into_iter().map(|event| EventCost {
                server: study.doc.server_name(result.server),
                load: row.load(),
                is_valid: row.invalid.is_empty(),
                is_verified,
                comes_back,
                event,
            }));
        }
    }
    let order = costs.iter().map(|cost| cost.event.event.clone());
    let order = order.unique().collect_vec();
    costs.sort_by_key(|cost| order.iter().position(|event| *event == cost.event.event));
    costs
}

/// Returns a row for each event on each server; `None` without events.
#[must_use]
pub fn event_costs(study: &Study, profile: usize) -> Option<Table> {
    let costs = costs(study, profile);
    let first = costs.first()?;
    let has_loads = costs.iter().any(|cost| cost.load != first.load);
    let has_wrong = costs.iter().any(|cost| cost.event.verify.is_some());
    let mut heads = vec![Column::text("event"), Column::text("server")];
    heads.extend(has_loads.then(|| Column::number(first.load.axis())));
    heads.extend(columns());
    let of_wrong = WRONG.iter().filter(|_| has_wrong);
    heads.extend(of_wrong.map(|kind| Column::number(kind.column)));
    let rows = costs.iter().map(|cost| {
        let mark = if cost.is_valid { "" } else { "! " };
        let event = format!("{mark}{}", name(&cost.event));
        let mut row = vec![Cell::from(event), Cell::from(cost.server)];
        row.extend(has_loads.then(|| Cell::load("", cost.load)));
        row.extend(cells(&cost.event));
        row.extend(cost.wrong().into_iter().filter(|_| has_wrong));
        row
    });
    let mut notes = vec![
        "lost, away: clients that were interrupted, and those of them that did not come back"
            .to_owned(),
        "p50, p99, max: blackouts of the clients of all passes".to_owned(),
        "as before: time until 95 % of the throughput before, in the slowest pass; -: not before the next event, or not known".to_owned(),
        "kept, lost: handles; repeated, failed: requests without an answer".to_owned(),
    ];
    let is_invalid = costs.iter().any(|cost| !cost.is_valid);
    notes.extend(is_invalid.then(|| "!: a pass is not valid".to_owned()));
    if !has_wrong {
        let verified = costs.iter().filter(|cost| cost.is_verified);
        let clean = verified.map(|cost| {
            let clean = "no lost, doubled or torn write was read";
            (cost.server, clean.to_owned())
        });
        let servers = costs.iter().map(|cost| cost.server).unique();
        notes.extend(said_once(clean, servers.count()));
    }
    Some(Table {
        notes,
        ..Table::of("what each event costs", heads, rows.collect())
    })
}

/// Returns the longest blackout after each event in a sentence, with what was worse than a
/// blackout.
pub(super) fn event_sentences(study: &Study, profile: usize) -> Vec<String> {
    let costs = costs(study, profile);
    let events = costs.chunk_by(|one, other| one.asked_for() == other.asked_for());
    events.filter_map(sentence).collect()
}

fn sentence(costs: &[EventCost<'_>]) -> Option<String> {
    let (mut blackouts, mut without, mut worse) = (Vec::new(), Vec::new(), Vec::new());
    for of_server in costs.chunk_by(|one, other| one.server == other.server) {
        let server = plain(of_server.first()?.server);
        // Over all loads, and of events that are equal.
        let events = of_server.iter().map(|cost| slice::from_ref(&cost.event));
        let events = EventDoc::merged(events);
        let event = events.first()?;
        match &event.blackout_ns {
            Some(times) => {
                let longest = latency(times.max as f64);
                blackouts.push(format!("{longest} with {server}"));
            }
            None if of_server.iter().all(EventCost::is_harmless) => without.push(server.clone()),
            None => {}
        }
        if event.clients_away > 0 {
            let clients = counted(event.clients, "client");
            let away = event.clients_away;
            worse.push(format!(
                "{away} of {clients} did not come back with {server}"
            ));
        }
        let found = event.verify.unwrap_or_default();
        let kinds = WRONG.iter().filter(|kind| (kind.of)(&found) > 0);
        let found = kinds.map(|kind| counted((kind.of)(&found), kind.name));
        worse.extend(found.map(|found| format!("{found} with {server}")));
    }
    let without = without.iter().map(String::as_str).collect_vec();
    let mut parts = Vec::new();
    if !blackouts.is_empty() {
        let none = (!without.is_empty()).then(|| format!("none with {}", listed(&without)));
        blackouts.extend(none);
        parts.push(format!("blackouts of at most {}", blackouts.join(", ")));
    } else if costs.iter().all(EventCost::is_harmless) {
        parts.push("no blackouts".to_owned());
    } else if !without.is_empty() {
        parts.push(format!("no blackouts with {}", listed(&without)));
    }
    parts.extend(worse);
    let event = name(&costs.first()?.event);
    (!parts.is_empty()).then(|| format!("{event}: {}.", parts.join("; ")))
}
