//! The lines of several populations: their sum, and each cut where a stage of that sum ends.

use std::collections::BTreeSet;
use std::iter;
use std::time::Duration;

use super::{MovedClients, StagePlace, StageStep, StageUnit, Stages, StagesError, StagesPurpose};

/// A part of a line between two times.
#[derive(Clone, Copy)]
struct LineSpan {
    length: Duration,
    from: f64,
    to: f64,
}

impl Stages {
    /// Returns the line of all clients together: those of these lines, and others that stay. A
    /// stage of it ends wherever one of theirs does.
    ///
    /// # Errors
    /// As those of a list of stages.
    pub(crate) fn sum(lines: &[Self], others: u32) -> Result<Self, StagesError> {
        let even = Self {
            unit: StageUnit::Clients,
            begin: others.into(),
            purpose: StagesPurpose::Lines,
            clients: MovedClients::default(),
            list: Vec::new(),
        };
        let ends: BTreeSet<_> = lines.iter().flat_map(Self::ends).collect();
        let ends: Vec<_> = ends.into_iter().collect();
        let (mut begin, mut sums) = (even.begin, even.spans(&ends));
        for line in lines {
            begin += line.begin;
            for (sum, span) in sums.iter_mut().zip(line.spans(&ends)) {
                sum.from += span.from;
                sum.to += span.to;
            }
        }
        Self {
            begin,
            list: steps(begin, &sums),
            ..even
        }
        .check()
    }

    /// Returns the same line, in the stages of `whole`, which is a sum of it and others, or itself.
    /// It has no level that is left at once, but for one at its end.
    pub(crate) fn cut_as(&self, whole: &Self) -> Self {
        let ends: Vec<_> = whole.ends().collect();
        let mut list = steps(self.begin, &self.spans(&ends));
        let last = self.list.last().copied();
        list.extend(last.filter(|last| last.length.is_zero()));
        Self {
            list,
            ..self.clone()
        }
    }

    /// Returns when its stages end.
    fn ends(&self) -> impl Iterator<Item = Duration> {
        self.places().map(|place| place.end())
    }

    /// Returns its parts between these times, among which are the ends of its stages. After the
    /// last one, the level stays.
    fn spans(&self, ends: &[Duration]) -> Vec<LineSpan> {
        let last = self.list.last().map_or(self.begin, |stage| stage.level);
        let mut places = self.places().peekable();
        let begins = iter::once(Duration::ZERO).chain(ends.iter().copied());
        let spans = begins.zip(ends).map(|(begin, &end)| {
            while places.next_if(|place| place.end() <= begin).is_some() {}
            let place = places.peek();
            let level = |time| place.map_or(last, |place| level_at(place, time));
            LineSpan {
                length: end.saturating_sub(begin),
                from: level(begin),
                to: level(end),
            }
        });
        spans.collect()
    }
}

/// Returns the level of a stage at a time within it.
fn level_at(place: &StagePlace, time: Duration) -> f64 {
    if time >= place.end() {
        return place.to;
    }
    let part = time.saturating_sub(place.begin).as_secs_f64() / place.length.as_secs_f64();
    place.from + (place.to - place.from) * part
}

/// Returns the stages of a line that begins at a level.
fn steps(begin: f64, spans: &[LineSpan]) -> Vec<StageStep> {
    let (mut level, mut list) = (begin, Vec::new());
    for &LineSpan { length, from, to } in spans {
        if from != level {
            list.push(StageStep {
                length: Duration::ZERO,
                level: from,
            });
        }
        list.push(StageStep { length, level: to });
        level = to;
    }
    list
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stages::StageTurn;

    fn line(begin: u32, list: Vec<(u64, u32)>) -> Stages {
        let list = list.into_iter().map(|(length, level)| StageStep {
            length: Duration::from_secs(length),
            level: level.into(),
        });
        let line = Stages {
            unit: StageUnit::Clients,
            begin: begin.into(),
            purpose: StagesPurpose::Lines,
            clients: MovedClients::default(),
            list: list.collect(),
        };
        let line = line.cut_as(&line);
        Stages {
            clients: MovedClients::only(line.most() as u32),
            ..line
        }
    }

    /// Some stages have no length.
    fn any_line() -> impl Strategy<Value = Stages> {
        let stage = || (0_u64..4, 0_u32..12);
        let some = prop::collection::vec(stage(), 0..5);
        (0_u32..5, some, (1_u64..20, 1_u32..12), stage()).prop_map(
            |(begin, mut list, long, last)| {
                list.extend([long, last]);
                line(begin, list)
            },
        )
    }

    proptest! {
        #[test]
        fn clients_of_all_lines_are_those_of_their_sum(
            lines in prop::collection::vec(any_line(), 1..5),
            others in 0_u32..10,
        ) {
            let whole = Stages::sum(&lines, others).unwrap();
            let cut: Vec<_> = lines.iter().map(|line| line.cut_as(&whole)).collect();
            let lengths = |of: &Stages| -> Vec<_> {
                of.places().map(|place| (place.begin, place.length)).collect()
            };
            let turns: Vec<Vec<_>> = cut
                .iter()
                .map(|one| (0..one.most() as u32).map(|client| one.turns(client)).collect())
                .collect();
            // Each line has a client more or less by a half.
            let apart = 0.5 * lines.len() as f64 + 1e-6;
            for (one, line) in cut.iter().zip(&lines) {
                prop_assert_eq!(lengths(one), lengths(&whole));
                prop_assert_eq!((one.begin, one.most()), (line.begin, line.most()));
                prop_assert_eq!(one.cut_as(&whole), one.clone());
            }
            for (at, place) in whole.places().enumerate() {
                let own: Vec<_> = cut.iter().map(|one| one.places().nth(at).unwrap()).collect();
                let sum = |of: fn(&StagePlace) -> f64| own.iter().map(of).sum::<f64>();
                let (from, to) = (sum(|own| own.from), sum(|own| own.to));
                prop_assert!((from + f64::from(others) - place.from).abs() < 1e-9);
                prop_assert!((to + f64::from(others) - place.to).abs() < 1e-9);
                let clients = cut.iter().zip(&own).map(|(one, own)| one.clients_at(own.to));
                let clients = f64::from(clients.sum::<u32>() + others);
                prop_assert!((clients - place.to).abs() <= apart, "{clients} {place:?}");
                for second in 0..place.length.as_secs() {
                    let time = place.begin + Duration::from_secs(second);
                    let is_in = |turn: &StageTurn| turn.begin <= time && time < turn.end;
                    let present = turns.iter().flatten().filter(|turns| turns.iter().any(is_in));
                    let present = present.count() as f64 + f64::from(others);
                    let level = level_at(&place, time);
                    prop_assert!((present - level).abs() <= apart, "{present} {level}");
                }
            }
        }
    }

    #[test]
    fn a_sum_has_the_stages_of_all() {
        let office = line(4, vec![(120, 4), (600, 16)]);
        let backup = line(0, vec![(420, 0), (0, 2), (60, 2)]);
        let whole = Stages::sum(&[office.clone(), backup.clone()], 3).unwrap();
        assert_eq!(whole.begin, 7.0);
        assert_eq!(whole.to_string(), "2m:7,5m:13,0s:15,1m:16.2,4m:21");
        assert_eq!(
            office.cut_as(&whole).to_string(),
            "2m:4,5m:10,1m:11.2,4m:16"
        );
        assert_eq!(
            backup.cut_as(&whole).to_string(),
            "2m:0,5m:0,0s:2,1m:2,4m:2"
        );
    }
}
