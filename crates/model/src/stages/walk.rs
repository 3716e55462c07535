//! A walk along the line of a rate: when its operations are due, in their order.

use super::StagePlace;

/// A walk along the line of a rate, from its start to its end. It never turns back.
#[derive(Clone, Debug)]
pub struct StageWalk {
    /// The stages, the last one first. Those behind the walk are gone.
    ahead: Vec<StagePlace>,
    /// Operations that are due before the stage under way.
    before: f64,
}

impl StageWalk {
    pub(super) fn along(mut places: Vec<StagePlace>) -> Self {
        places.reverse();
        Self {
            ahead: places,
            before: 0.0,
        }
    }

    /// Returns when `operations` operations are due before, in seconds from the start of the
    /// load, if the level is a rate; `None` after the last stage. Each call has at least as many
    /// operations as the call before it.
    #[must_use]
    pub fn time_of(&mut self, operations: f64) -> Option<f64> {
        loop {
            let place = self.ahead.last()?;
            let left = (operations - self.before).max(0.0);
            let length = place.length.as_secs_f64();
            let of_stage = (place.from + place.to) / 2.0 * length;
            // An operation at the end of a stage is due in the next one that has any.
            if left >= of_stage {
                self.before += of_stage;
                self.ahead.pop();
                continue;
            }
            // The root of from * t + slope / 2 * t^2 = left, in a form that is exact without a
            // slope.
            let slope = (place.to - place.from) / length;
            let root = (place.from * place.from + 2.0 * slope * left)
                .max(0.0)
                .sqrt();
            let sum = place.from + root;
            let time = if sum > 0.0 { 2.0 * left / sum } else { 0.0 };
            return Some(place.begin.as_secs_f64() + time.min(length));
        }
    }
}
