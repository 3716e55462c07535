//! The table of dips: the curve of each server after its peak.

use itertools::Itertools as _;

use crate::change::Noise;
use crate::doubt::Doubt;
use crate::published::{Contender, CurvePoint, Dip, DipVerdict, gaps};
use crate::table::{Cell, Column, Table};
use crate::units;

/// Returns the curve of each server after its peak; `None` if every curve ends with
/// its peak.
#[must_use]
pub fn dips(contenders: &[Contender]) -> Option<Table> {
    let found = contenders
        .iter()
        .map(|contender| (contender, contender.dip()));
    let found = found.collect_vec();
    found.iter().find(|(_, dip)| dip.is_some())?;
    let rows = found.iter().filter_map(|(contender, dip)| {
        let peak = contender.peak()?;
        let doubt = peak.height_doubt();
        let at = Cell::count(peak.clients.into());
        let mut cells = vec![contender.name.as_str().into(), doubt.at(at)];
        // A server that fails after its peak has no valid load point there.
        let up_to_peak = |clients: &u32| *clients < peak.clients;
        let behind = contender.left_out.partition_point(up_to_peak);
        let gaps = gaps(&contender.left_out[behind..]);
        let with_gaps = |verdict: String| match &gaps {
            Some(gaps) => format!("{verdict}; {gaps}"),
            None => verdict,
        };
        match dip {
            None => {
                cells.extend(["-", "-", "-"].map(Cell::from));
                let valid = if gaps.is_some() { "valid " } else { "" };
                let none = format!("none: the peak is the last {valid}load point");
                cells.push(with_gaps(none).into());
            }
            Some(dip) => cells.extend([
                doubt.at(Cell::of(Some(dip.lowest_percent), units::change)),
                Cell::count(dip.lowest_clients.into()),
                Cell::of(dip.noise_percent.map(|noise| -noise), units::change),
                with_gaps(verdict(dip)).into(),
            ]),
        }
        Some(cells)
    });
    let noise = |kind: Noise| {
        let mut dips = found.iter().filter_map(|(_, dip)| dip.as_ref());
        dips.any(|dip| dip.noise == Some(kind))
    };
    let mut notes = vec![
        "dip: load points after the peak that are significantly below it (95 %, all pairs)"
            .to_owned(),
    ];
    if noise(Noise::Passes) {
        notes.push(
            "noise: relative standard deviation over passes, of all load points of a server together"
                .to_owned(),
        );
    }
    if noise(Noise::Window) {
        notes.push(
            "one pass: noise within its windows, by batch means, not from run to run: repeat it"
                .to_owned(),
        );
    }
    let peaks = found.iter().filter_map(|(contender, _)| contender.peak());
    notes.extend(Doubt::notes(peaks.map(CurvePoint::height_doubt)));
    Some(Table {
        title: "dip after the peak".to_owned(),
        columns: vec![
            Column::text("server"),
            Column::number("peak at"),
            Column::number("lowest after it"),
            Column::number("at clients"),
            Column::number("threshold"),
            Column::text("dip"),
        ],
        rows: rows.collect(),
        notes,
    })
}

fn verdict(dip: &Dip) -> String {
    match &dip.verdict {
        DipVerdict::CannotTell => "cannot tell: one pass, short windows".to_owned(),
        DipVerdict::NoneShown => "not significant".to_owned(),
        DipVerdict::Shown {
            stretches,
            lasts,
            is_generator_limited,
        } => {
            let places = places(stretches, *lasts);
            if *is_generator_limited {
                format!("{places}, client-limited")
            } else {
                places
            }
        }
    }
}

/// Returns the places of a dip: `at 20 clients and from 60 on`, `from 20 to 28 and
/// at 40 clients`.
fn places(stretches: &[(u32, u32)], lasts: bool) -> String {
    let end = stretches.len().saturating_sub(1);
    // The word `clients` appears once: after the first number, or after the last
    // one.
    let named = if lasts { 0 } else { end };
    let place = |(at, &(from, to)): (usize, &(u32, u32))| {
        let clients = |number: u32| {
            if at == named {
                units::counted(number.into(), "client")
            } else {
                number.to_string()
            }
        };
        if lasts && at == end {
            format!("from {} on", clients(from))
        } else if from == to {
            format!("at {}", clients(to))
        } else {
            format!("from {from} to {}", clients(to))
        }
    };
    let places: Vec<_> = stretches.iter().enumerate().map(place).collect();
    match places.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("{} and {last}", others.join(", "))
        }
        _ => places.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dip_is_named_stretch_by_stretch() {
        for (stretches, lasts, words) in [
            (vec![(60, 60)], true, "from 60 clients on"),
            (vec![(52, 60)], true, "from 52 clients on"),
            (vec![(20, 20)], false, "at 20 clients"),
            (vec![(20, 28)], false, "from 20 to 28 clients"),
            (
                vec![(20, 20), (60, 60)],
                true,
                "at 20 clients and from 60 on",
            ),
            (
                vec![(20, 28), (52, 60)],
                true,
                "from 20 to 28 clients and from 52 on",
            ),
            (
                vec![(20, 28), (40, 40)],
                false,
                "from 20 to 28 and at 40 clients",
            ),
            (
                vec![(20, 20), (28, 36), (60, 60)],
                true,
                "at 20 clients, from 28 to 36 and from 60 on",
            ),
        ] {
            assert_eq!(places(&stretches, lasts), words);
        }
    }
}
