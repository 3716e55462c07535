//! The load points that a condition is about.

use super::{Threshold, ThresholdValue};
use crate::compare::{At, LimitSide};
use crate::curve::{Curve, CurveRow};
use crate::doc::LoopDoc;
use crate::units::counted;

impl Threshold {
    /// Returns the rows that the condition is about.
    pub(super) fn rows<'a, 'b>(
        &self,
        pacing: LoopDoc,
        curve: &'b Curve<'a>,
    ) -> Result<Vec<&'b CurveRow<'a>>, String> {
        match self.place {
            At::Usual if self.is_of_all() => Ok(curve.rows.iter().collect()),
            At::Clients(clients) => {
                let rows = curve.rows.iter().filter(|row| row.clients == clients);
                let rows: Vec<_> = rows.collect();
                if rows.is_empty() {
                    let clients = counted(clients.into(), "client");
                    return Err(format!("no load point has {clients}"));
                }
                Ok(self.judged_at(rows))
            }
            At::Usual if self.is_of_each(pacing, curve) => {
                Ok(curve.rows.iter().filter(|row| row.is_quotable()).collect())
            }
            At::Usual | At::Peak => {
                let peak = curve.peak_row();
                Ok(vec![peak.ok_or("no load point is valid")?])
            }
        }
    }

    /// Returns whether rows that are not valid have the value too.
    const fn is_of_all(&self) -> bool {
        self.is_of_errors() || matches!(self.value, ThresholdValue::Event(_))
    }

    /// Returns those of the rows of one number of clients that count. A stage that leads there is
    /// not yet at a lower limit, if another one stays there.
    fn judged_at<'a, 'b>(&self, rows: Vec<&'b CurveRow<'a>>) -> Vec<&'b CurveRow<'a>> {
        let is_of_all = self.is_of_all();
        let rows = those_of(rows, |row| is_of_all || row.is_quotable());
        if self.side == LimitSide::Above {
            return rows;
        }
        those_of(rows, |row| {
            let stage = row.load().stage;
            stage.is_none_or(|stage| stage.from == stage.to)
        })
    }

    /// Returns whether the value is judged at each load point. Values of a run at a rate are, and
    /// so are late frames. Under stages, values that must not be too high are. In a soak, and
    /// where a level stays, all values are: each stage has the same load.
    fn is_of_each(&self, pacing: LoopDoc, curve: &Curve<'_>) -> bool {
        let stages = curve.rows.iter().filter_map(|row| row.load().stage);
        let mut levels = stages.flat_map(|stage| [stage.from, stage.to]);
        let is_of_streams = self.value.is_of_streams();
        let Some(first) = levels.next() else {
            return is_of_streams || pacing != LoopDoc::Closed;
        };
        is_of_streams || self.side == LimitSide::Above || levels.all(|level| level == first)
    }
}

/// Returns the rows that count, or all if none does.
fn those_of<'a, 'b>(
    mut rows: Vec<&'b CurveRow<'a>>,
    counts: impl Fn(&CurveRow<'_>) -> bool,
) -> Vec<&'b CurveRow<'a>> {
    if rows.iter().any(|row| counts(row)) {
        rows.retain(|row| counts(row));
    }
    rows
}
