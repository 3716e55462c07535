//! How populations disturb one another: each alone, and beside the others.

use std::cmp::Reverse;

use crate::curve::{Curve, CurveRow};
use crate::doc::{PlanDoc, PlanSessionsDoc, PopulationDoc, RunDoc};
use crate::doubt::Doubt;
use crate::population::PopulationRow;
use crate::table::{Cell, Column, Table};
use crate::units;

/// Returns the runs of single populations of a run among others on its server, the latest before
/// it first; none unless the run has several populations.
#[must_use]
pub fn runs_alone<'a>(
    together: &RunDoc,
    others: impl IntoIterator<Item = &'a RunDoc>,
) -> Vec<&'a RunDoc> {
    // A population may have these options of its own.
    let sessions = |of: &PlanDoc| PlanSessionsDoc {
        oplock: None,
        source_ip: None,
        ..of.sessions.clone()
    };
    let populations = &together.plan.populations;
    let part = |of: &RunDoc| match &of.plan.populations[..] {
        [only] if populations.len() > 1 => populations.iter().position(|one| {
            let planned = together.plan.alone(one);
            is_same(one, only) && sessions(&of.plan) == sessions(&planned)
        }),
        _ => None,
    };
    let has_same_terms = |of: &RunDoc, part: usize| {
        let server = together.server.of_population(&populations[part].name);
        of.server.has_same_terms_as(&server) && of.is_beside(together)
    };
    let others = others.into_iter().filter(|of| {
        of.started <= together.started
            && of.label == together.label
            && part(of).is_some_and(|part| has_same_terms(of, part))
    });
    let mut alone: Vec<_> = others.collect();
    alone.sort_by_key(|of| Reverse(&of.started));
    alone
}

/// Returns whether the clients of two populations do the same, however many they are.
fn is_same(one: &PopulationDoc, other: &PopulationDoc) -> bool {
    let of_one = PopulationDoc {
        share: other.share,
        clients: other.clients.clone(),
        bytes_on_share: other.bytes_on_share,
        ..one.clone()
    };
    of_one == *other
}

/// Returns a row for each population at each load point: what it did alone, and what it did
/// together with the others. `alone` has the runs of the populations. A run that is missing has
/// empty cells. `None` if the run has no load points or no populations.
#[must_use]
pub fn interference<'a>(
    alone: impl IntoIterator<Item = &'a RunDoc>,
    together: &RunDoc,
) -> Option<Table> {
    let curve = Curve::of(&together.load_points);
    let alone = alone.into_iter();
    let curves: Vec<_> = alone.map(|doc| Curve::of(&doc.load_points)).collect();
    let of_several = curve.rows.len() > 1;
    let marked = |row: &CurveRow<'_>, doubt: Doubt| {
        if row.is_valid() { doubt.mark() } else { "! " }
    };
    let row = |row: &CurveRow<'_>, planned: &PopulationDoc| {
        let beside = PopulationRow::named(row, &planned.name)?;
        let mut rows = curves.iter().flat_map(|curve| &curve.rows);
        let own = rows.find_map(|of| {
            let own = PopulationRow::named(of, &planned.name)?;
            let stages = [of, row].map(|row| {
                let stage = row.passes.first()?.stage.as_ref()?;
                Some((stage.number, stage.begin_s, stage.length_s))
            });
            let is_same = stages[0] == stages[1] && own.clients() == beside.clients();
            is_same.then_some((of, own))
        });
        let pair = |of: fn(&PopulationRow<'_>) -> Option<f64>,
                    print: fn(f64) -> String,
                    mark: &dyn Fn(&CurveRow<'_>) -> &'static str| {
            let (before, after) = (own.as_ref().and_then(|(_, own)| of(own)), of(&beside));
            let factor = before.zip(after).filter(|(before, _)| *before > 0.0);
            let factor = factor.map(|(before, after)| after / before);
            let of_own = own.as_ref().map_or("", |(of, _)| mark(of));
            [
                Cell::of(before, print).marked(of_own),
                Cell::of(after, print).marked(mark(row)),
                Cell::of(factor, |factor| format!("{factor:.2}")),
            ]
        };
        let p50 = |of: &PopulationRow<'_>| Some(of.latency(None)?.p50 as f64);
        let p99 = |of: &PopulationRow<'_>| Some(of.latency(None)?.p99 as f64);
        let mut cells = Vec::new();
        cells.extend(of_several.then(|| Cell::load("", row.load())));
        cells.push(units::plain(&planned.name).into());
        cells.push(Cell::count(beside.clients().into()));
        cells.extend(pair(|of| of.ops_per_s(None), units::rate, &|of| {
            marked(of, Doubt::of_throughput(of))
        }));
        cells.extend(pair(p50, units::latency, &|of| {
            marked(of, Doubt::of_time(&of.passes, 50.0))
        }));
        cells.extend(pair(p99, units::latency, &|of| {
            marked(of, Doubt::of_time(&of.passes, 99.0))
        }));
        Some(cells)
    };
    let populations = &together.plan.populations;
    let rows = curve.rows.iter();
    let rows = rows.flat_map(|of| populations.iter().filter_map(move |one| row(of, one)));
    let rows: Vec<_> = rows.collect();
    let mut columns = Vec::new();
    columns.extend(of_several.then(|| Column::number("of")));
    columns.extend([Column::text("population"), Column::number("clients")]);
    let numbers = ["ops/s", "together", "factor"].into_iter();
    let numbers = numbers.chain(["p50", "together", "factor"]);
    let numbers = numbers.chain(["p99", "together", "factor"]);
    columns.extend(numbers.map(Column::number));
    let mut notes = vec!["factor: together, divided by alone".to_owned()];
    let of_alone = || curves.iter().flat_map(|curve| &curve.rows);
    let all = || curve.rows.iter().chain(of_alone());
    let is_invalid = all().any(|row| !row.is_valid());
    notes.extend(is_invalid.then(|| "!: not valid".to_owned()));
    notes.extend(Doubt::notes(all().flat_map(|row| {
        [Doubt::of_throughput(row), Doubt::of_time(&row.passes, 99.0)]
    })));
    (!rows.is_empty()).then_some(Table {
        title: "each population alone, and together with the others".to_owned(),
        columns,
        rows,
        notes,
    })
}
