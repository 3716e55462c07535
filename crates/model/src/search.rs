//! The search for the highest load at which a limit holds.
//!
//! Loads are doubled until one breaks the limit, then bisected. A load that broke the
//! limit shows how much was achieved at it, which is a better guess than the middle.
//! Single probes can be wrong, so the answer must hold again in further probes, and the
//! load above it must break the limit again.
//!
//! A probe that the load generator limited says nothing about the server. It is measured
//! again a few times, because other programs may have had the CPUs for a while.
//!
//! The search is a function of the probes so far: it has no state, no clock and no
//! randomness. Not here: what a probe is and how it is judged.

/// What a search looks for, and how precisely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchSpec {
    /// The first load, between the bounds.
    pub start: f64,
    /// The lowest load, more than 0.
    pub min: f64,
    /// The highest load.
    pub max: f64,
    /// The unit of loads.
    pub grain: Grain,
    /// Largest distance between the answer and the next load that broke the limit, as a
    /// share of the answer, more than 0.
    pub precision: f64,
    /// Number of probes in which the answer must hold.
    pub confirmations: Confirmations,
    /// Highest number of probes.
    pub probes_max: u32,
}

/// The unit of loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Multiples of a number, such as 1 client. The bounds are multiples, too.
    Steps(u32),
    /// Any number, such as a rate.
    Fine,
}

/// `held` of `of` probes of the answer must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirmations {
    /// At least 1.
    pub held: u32,
    /// At least `held`.
    pub of: u32,
}

/// A finished probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchProbe {
    /// The load that was asked for.
    pub load: f64,
    /// Whether the limit held.
    pub verdict: ProbeVerdict,
}

/// The outcome of a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProbeVerdict {
    /// The limit held.
    Held,
    /// The limit was broken.
    Broke {
        /// The load that was achieved, if it is known.
        achieved: Option<f64>,
    },
    /// The load generator was the bottleneck: the probe says nothing about the server.
    ClientLimited,
    /// The probe did not measure what the limit is about.
    Unknown,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchStep {
    /// Probe this load.
    Probe(f64),
    /// The search has ended.
    End(SearchEnd),
}

/// The end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// The answer was confirmed, and the limit broke at a load within the precision.
    Found,
    /// The limit held at the highest load.
    NeverBroke,
    /// The limit broke at the lowest load.
    NeverHeld,
    /// The load generator limited each of several probes of a load in a row.
    ClientLimited,
    /// A probe did not measure what the limit is about.
    Unknown,
    /// The number of probes is used up.
    ProbesUsedUp,
}

/// Number of probes of a load in a row that the load generator may limit.
const CLIENT_LIMITED_MAX: u32 = 3;

/// The bounds that probes have shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SearchBounds {
    /// The highest load at which the limit held, and below all that broke it.
    pub held: Option<f64>,
    /// The lowest load at which the limit broke.
    pub broke: Option<f64>,
}

/// The probes of one load.
#[derive(Clone, Copy, Debug, Default)]
struct Tries {
    held: u32,
    broke: u32,
}

impl SearchSpec {
    /// Returns the search among multiples of a number; `None` if the highest load is less.
    #[must_use]
    pub fn in_steps(self, step: u32) -> Option<Self> {
        let size = f64::from(step.max(1));
        let max = (self.max / size).floor() * size;
        let multiple = |load: f64| ((load / size).round() * size).clamp(size, max);
        (max >= size).then(|| Self {
            start: multiple(self.start),
            min: multiple(self.min),
            max,
            grain: Grain::Steps(step.max(1)),
            ..self
        })
    }

    /// Returns the next step after these probes.
    #[must_use]
    pub fn step(&self, probes: &[SearchProbe]) -> SearchStep {
        match probes.last().map(|probe| probe.verdict) {
            Some(ProbeVerdict::ClientLimited) => return self.again(probes),
            Some(ProbeVerdict::Unknown) => return SearchStep::End(SearchEnd::Unknown),
            _ => {}
        }
        let bounds = self.bounds(probes);
        let next = match (bounds.held, bounds.broke) {
            (None, None) => self.start,
            (None, Some(broke)) if broke <= self.min => {
                if self.is_certain(probes, broke) {
                    return SearchStep::End(SearchEnd::NeverHeld);
                } else {
                    broke
                }
            }
            (None, Some(broke)) => self.guess(probes, 0.0, broke).unwrap_or(broke / 2.0),
            (Some(held), broke) if self.is_close(held, broke) => {
                let is_confirmed = self.tries(probes, held).held >= self.confirmations.held;
                match broke {
                    _ if !is_confirmed => held,
                    Some(broke) if !self.is_certain(probes, broke) => broke,
                    Some(_) => return SearchStep::End(SearchEnd::Found),
                    None => return SearchStep::End(SearchEnd::NeverBroke),
                }
            }
            (Some(held), None) => held * 2.0,
            (Some(held), Some(broke)) => {
                let middle = (held * broke).sqrt();
                self.guess(probes, held, broke).unwrap_or(middle)
            }
        };
        if self.are_used_up(probes) {
            SearchStep::End(SearchEnd::ProbesUsedUp)
        } else {
            SearchStep::Probe(self.rounded(next, bounds))
        }
    }

    /// Returns the step after a probe that the load generator limited.
    fn again(&self, probes: &[SearchProbe]) -> SearchStep {
        let is_limited = |probe: &&SearchProbe| probe.verdict == ProbeVerdict::ClientLimited;
        let tries = probes.iter().rev().take_while(is_limited).count();
        match probes.last() {
            Some(last) if tries < CLIENT_LIMITED_MAX as usize && !self.are_used_up(probes) => {
                SearchStep::Probe(last.load)
            }
            _ => SearchStep::End(SearchEnd::ClientLimited),
        }
    }

    fn are_used_up(&self, probes: &[SearchProbe]) -> bool {
        probes.len() >= self.probes_max as usize
    }

    /// Returns what the probes have shown.
    #[must_use]
    pub fn bounds(&self, probes: &[SearchProbe]) -> SearchBounds {
        let loads = || probes.iter().map(|probe| probe.load);
        let broken = loads().filter(|load| self.is_broken(probes, *load));
        let broke = broken.min_by(f64::total_cmp);
        let below = |load: &f64| broke.is_none_or(|broke| *load < broke);
        let held = loads().filter(|load| below(load) && self.tries(probes, *load).held > 0);
        SearchBounds {
            held: held.max_by(f64::total_cmp),
            broke,
        }
    }

    /// Returns whether so many probes of the load broke the limit that it cannot be the
    /// answer.
    fn is_certain(&self, probes: &[SearchProbe], load: f64) -> bool {
        let Confirmations { held, of } = self.confirmations;
        self.tries(probes, load).broke > of - held
    }

    /// Returns whether the search continues below the load. One probe is enough, unless
    /// another one held.
    fn is_broken(&self, probes: &[SearchProbe], load: f64) -> bool {
        match self.tries(probes, load) {
            Tries { held: 0, broke } => broke > 0,
            _ => self.is_certain(probes, load),
        }
    }

    #[expect(clippy::unused_self, reason = "reads like its neighbours")]
    fn tries(&self, probes: &[SearchProbe], load: f64) -> Tries {
        let of_load = probes.iter().filter(|probe| probe.load == load);
        of_load.fold(Tries::default(), |tries, probe| match probe.verdict {
            ProbeVerdict::Held => Tries {
                held: tries.held + 1,
                ..tries
            },
            ProbeVerdict::Broke { .. } => Tries {
                broke: tries.broke + 1,
                ..tries
            },
            ProbeVerdict::ClientLimited | ProbeVerdict::Unknown => tries,
        })
    }

    /// Returns whether no load between the bounds needs a probe.
    fn is_close(&self, held: f64, broke: Option<f64>) -> bool {
        match (broke, self.grain) {
            (None, _) => held >= self.max,
            (Some(broke), Grain::Steps(step)) if broke - held <= step.into() => true,
            (Some(broke), _) => broke <= held * (1.0 + self.precision) * (1.0 + f64::EPSILON * 4.0),
        }
    }

    /// Returns a load near what was achieved when the limit last broke, first below it,
    /// then above, in steps that grow; `None` if it lies outside the bounds. Where all that
    /// was asked for was achieved, that says nothing about the limit.
    fn guess(&self, probes: &[SearchProbe], held: f64, broke: f64) -> Option<f64> {
        let mut last = probes.iter().rev();
        let (asked, achieved) = last.find_map(|probe| match probe.verdict {
            ProbeVerdict::Broke { achieved } => Some((probe.load, achieved)),
            _ => None,
        })?;
        let achieved = achieved.filter(|achieved| *achieved < asked * (1.0 - self.precision))?;
        let low = achieved * (1.0 - self.precision / 2.0);
        let high = low * (1.0 + self.precision);
        let lowest = held * (1.0 + self.precision / 2.0);
        let is_held = |probe: &&SearchProbe| probe.verdict == ProbeVerdict::Held;
        let is_above = |load: &f64| *load >= high * (1.0 - f64::EPSILON * 4.0);
        let mut above: Vec<_> = probes
            .iter()
            .filter(is_held)
            .map(|probe| probe.load)
            .collect();
        above.sort_by(f64::total_cmp);
        above.dedup();
        let steps = above.iter().filter(|load| is_above(load)).count().min(8) as u32;
        let factor = (1.0 + self.precision).powi(2_i32.pow(steps.saturating_sub(1)));
        let further = (held * factor).min((held * broke).sqrt().max(lowest));
        let is_inside = |load: &f64| lowest < *load && *load < broke;
        [low, high, further].into_iter().find(is_inside)
    }

    /// Rounds a load to the grain and into the bounds.
    fn rounded(&self, load: f64, bounds: SearchBounds) -> f64 {
        let load = load.clamp(self.min, self.max);
        let Grain::Steps(step) = self.grain else {
            return load;
        };
        let step = f64::from(step);
        if [bounds.held, bounds.broke].contains(&Some(load)) {
            return load;
        }
        let lowest = bounds.held.map_or(self.min, |held| held + step);
        let highest = bounds.broke.map_or(self.max, |broke| broke - step);
        ((load / step).round() * step).max(lowest).min(highest)
    }
}

#[cfg(test)]
mod tests;
