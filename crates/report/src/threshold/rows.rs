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
            At::Usual if self.is_of_errors() || matches!(self.value, ThresholdValue::Event(_)) => {
                Ok(curve.rows.iter().collect())
            }
            At::Clients(clients) => {
                let row = curve.rows.iter().find(|row| row.clients == clients);
                let none = || format!("no load point has {}", counted(clients.into(), "client"));
                Ok(vec![row.ok_or_else(none)?])
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
