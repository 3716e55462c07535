//! Several searches for the same limit, one for each pass, as one.

use super::HeldLimit;
use crate::change::{CONFIDENCE, Change, Measured};
use crate::doc::{FindDoc, FindEnd, FindKind, FindPassDoc, RunDoc};
use crate::statistics::Estimate;
use crate::threshold::Threshold;
use crate::units::counted;

impl FindPassDoc {
    fn of(pass: u32, find: &FindDoc) -> Self {
        Self {
            pass,
            result: find.result,
            broke_at: find.broke_at,
            broke_reason: find.broke_reason.clone(),
            held_at: find.held_at,
            end: find.end,
            probes: u32::try_from(find.probes.len()).unwrap_or(u32::MAX),
        }
    }
}

impl FindDoc {
    /// Returns what had to hold, and whose rate was searched for if it is not that of all clients.
    #[must_use]
    pub fn limit_in_words(&self) -> String {
        let limit = match &self.limit[..] {
            [] => "rate reached".to_owned(),
            all => all.join(", "),
        };
        match &self.population {
            Some(name) => format!("{limit}, by the rate of {name}"),
            None => limit,
        }
    }

    /// Returns whether both searches had the same question.
    pub(crate) fn is_for_same_limit_as(&self, other: &Self) -> bool {
        let question = |find: &Self| {
            let confirmations = (find.confirmations, find.confirmations_of);
            (find.kind, find.precision, confirmations)
        };
        question(self) == question(other) && self.has_same_limit_as(other)
    }

    /// Returns whether both have the same conditions, in any order and spelling, for the same
    /// population.
    pub(crate) fn has_same_limit_as(&self, other: &Self) -> bool {
        let all_in = |one: &Self, two: &Self| {
            let mut limits = one.limit.iter();
            limits.all(|limit| two.limit.iter().any(|of_two| is_same_limit(limit, of_two)))
        };
        self.population == other.population && all_in(self, other) && all_in(other, self)
    }

    /// Returns the change from this answer to another; `None` unless both are for the same
    /// limit, and every search of both found it.
    pub(crate) fn change_to(&self, other: &Self) -> Option<Change> {
        let comparable = self.is_for_same_limit_as(other) && self.is_exact() && other.is_exact();
        let [from, to] = [self, other].map(|find| {
            let passes: Vec<f64> = find.passes.iter().filter_map(|pass| pass.result).collect();
            match &passes[..] {
                [] => Measured::over_passes(&[find.result?]),
                passes => Measured::over_passes(passes),
            }
        });
        Change::between(&from?, &to?, CONFIDENCE).filter(|_| comparable)
    }

    /// Returns whether the number of clients is a part of the question.
    const fn has_given_clients(&self) -> bool {
        matches!(self.kind, FindKind::Rate | FindKind::Logons)
    }

    /// Returns whether every search found the limit.
    pub(crate) fn is_exact(&self) -> bool {
        self.first_open_end().is_none()
    }

    /// Returns the end of the first search that did not find the limit.
    pub(crate) fn first_open_end(&self) -> Option<FindEnd> {
        let passes = self.passes.iter().map(|pass| pass.end);
        let mut ends = passes.chain([self.end]);
        ends.find(|end| *end != FindEnd::Found)
    }

    /// Joins the searches of several passes, each with the number of its pass. Returns a
    /// single one as it is, and `None` without any.
    ///
    /// - The answer is the mean of the answers that there are. Without any, `end` is that
    ///   of the first search that has none.
    /// - It ends as [`FindEnd::NeverBroke`] if one of the answers does, because the mean is
    ///   then too low.
    /// - `broke_at` is the lowest of all passes, `held_at` the highest.
    #[must_use]
    pub fn pooled(searches: Vec<(u32, Self)>) -> Option<Self> {
        let mut passes: Vec<FindPassDoc> = Vec::new();
        for (pass, find) in &searches {
            match &find.passes[..] {
                [] => passes.push(FindPassDoc::of(*pass, find)),
                joined => passes.extend_from_slice(joined),
            }
        }
        let mut searches = searches.into_iter().map(|(_, find)| find);
        let mut all = searches.next()?;
        if passes.len() < 2 {
            return Some(all);
        }
        for find in searches {
            let before = u32::try_from(all.probes.len()).unwrap_or(u32::MAX);
            let contradiction = find.contradiction.map(|found| found.after(before));
            all.contradiction = all.contradiction.or(contradiction);
            all.remedy = all.remedy.or(find.remedy);
            all.probes.extend(find.probes);
            all.doubt = all.doubt.or(find.doubt);
        }
        let answers: Vec<f64> = passes.iter().filter_map(|pass| pass.result).collect();
        all.estimate = Estimate::of(&answers);
        all.result = all.estimate.map(|estimate| estimate.mean);
        let is_low = |pass: &FindPassDoc| pass.end == FindEnd::NeverBroke;
        let without = passes.iter().find(|pass| pass.result.is_none());
        all.end = match (answers.is_empty(), passes.iter().any(is_low)) {
            (true, _) => without.map_or(all.end, |pass| pass.end),
            (false, true) => FindEnd::NeverBroke,
            (false, false) => FindEnd::Found,
        };
        all.remedy = all.remedy.filter(|_| all.end == FindEnd::ClientLimited);
        // The range of one pass is not that of the mean.
        if let Some(found) = &mut all.contradiction {
            (found.at_least, found.below) = (None, None);
        }
        let broken = passes.iter().filter(|pass| pass.broke_at.is_some());
        let lowest = broken.min_by(|one, other| {
            let at = |pass: &FindPassDoc| pass.broke_at.unwrap_or(f64::MAX);
            at(one).total_cmp(&at(other))
        });
        (all.broke_at, all.broke_reason) = match lowest {
            Some(pass) => (pass.broke_at, pass.broke_reason.clone()),
            None => (None, None),
        };
        let held = passes.iter().filter_map(|pass| pass.held_at);
        all.held_at = held.max_by(f64::total_cmp);
        all.curve = None;
        all.passes = passes;
        Some(all)
    }
}

impl RunDoc {
    /// Names the result after its profile, and after its question if it is a search.
    pub(crate) fn question(&self) -> String {
        let profile = &self.plan.profile;
        let Some(find) = &self.find else {
            return profile.clone();
        };
        let (kind, own_profile) = match find.kind {
            FindKind::Rate => ("rate", None),
            FindKind::Clients => ("clients", None),
            FindKind::Logons => ("log-ons", Some("logons")),
            FindKind::Sessions => ("sessions", Some("sessions")),
        };
        let of_profile = if own_profile == Some(profile.as_str()) {
            String::new()
        } else {
            format!("{profile}: ")
        };
        let with_clients = if find.has_given_clients() {
            format!(" with {}", counted(self.most_clients().into(), "client"))
        } else {
            String::new()
        };
        let limit = find.limit_in_words();
        format!("{of_profile}{kind}{with_clients}, {limit}")
    }

    /// Returns whether both results are of one profile, and of the same question if they are
    /// searches.
    pub(crate) fn has_same_question_as(&self, other: &Self) -> bool {
        let is_alike = match (&self.find, &other.find) {
            (None, None) => true,
            (Some(one), Some(two)) => {
                one.kind == two.kind
                    && one.has_same_limit_as(two)
                    && (!one.has_given_clients() || self.most_clients() == other.most_clients())
            }
            _ => false,
        };
        is_alike && self.plan.profile == other.plan.profile
    }

    fn most_clients(&self) -> u32 {
        let points = self.plan.load_points.iter().copied();
        points.max().unwrap_or_default()
    }
}

fn is_same_limit(one: &str, two: &str) -> bool {
    match (one.parse::<Threshold>(), two.parse::<Threshold>()) {
        (Ok(one), Ok(two)) => one.says_the_same_as(&two),
        _ => match (one.parse::<HeldLimit>(), two.parse::<HeldLimit>()) {
            (Ok(one), Ok(two)) => one.share() == two.share(),
            _ => one == two,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::{ContradictionDoc, FindKind, ProbeDoc, ProbeOutcome};

    fn search(result: Option<f64>, end: FindEnd) -> FindDoc {
        let load = result.unwrap_or(50.0);
        FindDoc {
            kind: FindKind::Logons,
            unit: "log-ons/s".to_owned(),
            population: None,
            limit: vec!["errors < 1%".to_owned()],
            result,
            broke_at: (end == FindEnd::Found).then_some(load + 2.0),
            broke_reason: (end == FindEnd::Found).then(|| format!("errors at {load}")),
            held_at: Some(load),
            end,
            doubt: None,
            contradiction: None,
            remedy: None,
            precision: 0.02,
            confirmations: 2,
            confirmations_of: 3,
            probes: vec![ProbeDoc {
                load,
                ops_per_s: load,
                verdict: ProbeOutcome::Held,
                reason: "rate reached".to_owned(),
            }],
            passes: Vec::new(),
            estimate: None,
            curve: None,
        }
    }

    fn pooled(searches: &[FindDoc]) -> FindDoc {
        let numbered = (1..).zip(searches.iter().cloned());
        FindDoc::pooled(numbered.collect()).unwrap()
    }

    #[test]
    fn the_answer_of_several_passes_is_their_mean_with_its_interval() {
        let searches = [100.0, 102.0, 104.0].map(|at| search(Some(at), FindEnd::Found));
        let all = pooled(&searches);
        let estimate = all.estimate.unwrap();
        assert_eq!(
            (all.result, estimate.mean, all.end),
            (Some(102.0), 102.0, FindEnd::Found)
        );
        assert!((estimate.ci95.unwrap() - 4.968).abs() < 0.01);
        assert_eq!((all.broke_at, all.held_at), (Some(102.0), Some(104.0)));
        assert_eq!(all.broke_reason.as_deref(), Some("errors at 100"));
        assert_eq!(all.probes.len(), 3);
        let passes: Vec<_> = all.passes.iter().map(|of| (of.pass, of.result)).collect();
        assert_eq!(
            passes,
            [(1, Some(100.0)), (2, Some(102.0)), (3, Some(104.0))]
        );
        assert_eq!(pooled(&searches[..1]), searches[0]);
        assert_eq!(FindDoc::pooled(Vec::new()), None);
        // Further passes are added to joined ones.
        let more = search(Some(110.0), FindEnd::Found);
        let four = FindDoc::pooled(vec![(1, all), (4, more)]).unwrap();
        let numbers: Vec<_> = four.passes.iter().map(|of| of.pass).collect();
        assert_eq!((numbers, four.result), (vec![1, 2, 3, 4], Some(104.0)));
    }

    #[test]
    fn probes_that_contradict_keep_their_place_among_those_of_all_passes() {
        let mut second = search(Some(100.0), FindEnd::Found);
        second.contradiction = Some(ContradictionDoc {
            held_at: 100.0,
            held_in: vec![1],
            broke_at: 100.0,
            broke_in: vec![3, 4],
            at_least: Some(90.0),
            below: Some(100.0),
        });
        second.remedy = Some("close other programs".to_owned());
        let all = pooled(&[search(Some(100.0), FindEnd::Found), second]);
        let found = all.contradiction.unwrap();
        assert_eq!((found.held_in, found.broke_in), (vec![2], vec![4, 5]));
        // They are of one pass, and the answer is the mean of all.
        assert_eq!(
            (found.at_least, found.below, all.remedy),
            (None, None, None)
        );
    }

    #[test]
    fn a_pass_without_an_answer_is_in_no_mean_and_a_low_answer_stays_low() {
        let (low, found) = (
            search(Some(200.0), FindEnd::NeverBroke),
            search(Some(100.0), FindEnd::Found),
        );
        let limited = search(None, FindEnd::ClientLimited);
        let all = pooled(&[found.clone(), limited.clone(), found.clone()]);
        assert_eq!((all.result, all.end), (Some(100.0), FindEnd::Found));
        let all = pooled(&[found, low]);
        assert_eq!((all.result, all.end), (Some(150.0), FindEnd::NeverBroke));
        let all = pooled(&[limited.clone(), search(None, FindEnd::Unfinished)]);
        assert_eq!((all.result, all.estimate), (None, None));
        assert_eq!((all.end, all.held_at), (FindEnd::ClientLimited, Some(50.0)));
    }
}
