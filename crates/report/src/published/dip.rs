//! The dip: throughput that falls after the peak by more than noise allows.
//!
//! The rule: a load point after the peak lies below it if the change between them
//! has a confidence interval below 0. The noise of single values is assumed to be
//! the same share of the throughput at all load points of the curve. So even two
//! passes of many load points determine it well. It is the pooled relative
//! variance; its degrees of freedom are the number of passes minus the number of
//! load points.
//!
//! The peak was chosen because it is the highest load point. Therefore the interval
//! is Bonferroni's: 95 % for all pairs of load points together. With one pass the
//! values are batches of the window's intervals. They do not include how far runs
//! differ, so a dip found in this way needs a second pass.

use super::CurvePoint;
use crate::change::{CONFIDENCE, ConfidenceInterval, Noise, Uncertainty};

/// The curve after its peak.
#[derive(Clone, Debug, PartialEq)]
pub struct Dip {
    /// Clients at the lowest load point after the peak.
    pub lowest_clients: u32,
    /// Change from the peak to that load point, in percent of the peak: 0 or below.
    pub lowest_percent: f64,
    /// Distance below the peak, in percent of it, that noise alone can cause at
    /// such a load point; `None` if the noise is not known.
    pub noise_percent: Option<f64>,
    /// The kind of noise.
    pub noise: Option<Noise>,
    /// Verdict on whether there is a dip.
    pub verdict: DipVerdict,
}

/// Verdict on whether there is a dip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DipVerdict {
    /// The noise is not known: one pass over a window that is too short.
    CannotTell,
    /// No load point after the peak lies below it by more than noise allows.
    NoneShown,
    /// The curve has a dip.
    Shown {
        /// Clients at the first and at the last load point of each stretch of the
        /// dip. Load points between two stretches are not below the peak. Never
        /// empty.
        stretches: Vec<(u32, u32)>,
        /// Whether the last stretch ends with the curve.
        lasts: bool,
        /// Whether the generator was the limit at any load point of the stretches.
        is_generator_limited: bool,
    },
}

impl Dip {
    /// Judges the load points after the peak; `None` if there are none.
    pub(super) fn after(points: &[CurvePoint], peak: usize) -> Option<Self> {
        let (top, after) = (&points[peak], &points[peak + 1..]);
        let lowest = after
            .iter()
            .min_by(|one, other| one.height.value.total_cmp(&other.height.value))?;
        let pooled = Pooled::of(points);
        let interval = |point: &CurvePoint| pooled?.interval(top, point);
        let is_below =
            |point: &CurvePoint| interval(point).is_some_and(|interval| interval.high < 0.0);
        let stretches: Vec<_> = after
            .chunk_by(|one, next| is_below(one) == is_below(next))
            .filter(|stretch| is_below(&stretch[0]))
            .map(|stretch| (stretch[0].clients, stretch[stretch.len() - 1].clients))
            .collect();
        let verdict = if !stretches.is_empty() {
            DipVerdict::Shown {
                stretches,
                lasts: after.last().is_some_and(is_below),
                is_generator_limited: after
                    .iter()
                    .any(|point| is_below(point) && point.is_generator_limited),
            }
        } else if after.iter().any(|point| interval(point).is_some()) {
            DipVerdict::NoneShown
        } else {
            DipVerdict::CannotTell
        };
        let noise_percent = interval(lowest).map(|interval| {
            // The lower bound that the interval would have if the two were equal.
            let width = (1.0 + interval.high / 100.0) / (1.0 + interval.low / 100.0);
            (1.0 - width.sqrt().recip()) * 100.0
        });
        Some(Self {
            lowest_clients: lowest.clients,
            lowest_percent: (lowest.height.value / top.height.value - 1.0) * 100.0,
            noise_percent,
            noise: noise_percent.and(pooled).map(|pooled| pooled.noise),
            verdict,
        })
    }
}

/// The noise of single values, pooled over all load points.
#[derive(Clone, Copy)]
struct Pooled {
    relative_variance: f64,
    degrees: f64,
    confidence: f64,
    noise: Noise,
}

impl Pooled {
    /// Pools the noise of passes if any load point has several, otherwise that of
    /// windows.
    fn of(points: &[CurvePoint]) -> Option<Self> {
        let spreads = points.iter().filter_map(|point| point.height.spread);
        let noise = spreads.clone().map(|spread| spread.noise).min()?;
        let spreads = spreads.filter(|spread| spread.noise == noise);
        let degrees = |count: usize| (count - 1) as f64;
        let squares: f64 = spreads
            .clone()
            .map(|spread| spread.relative_variance * degrees(spread.count))
            .sum();
        let degrees: f64 = spreads.map(|spread| degrees(spread.count)).sum();
        let pairs = points.len() * (points.len() - 1) / 2;
        Some(Self {
            relative_variance: squares / degrees,
            degrees,
            confidence: 1.0 - (1.0 - CONFIDENCE) / pairs.max(1) as f64,
            noise,
        })
    }

    /// Returns the interval of a change; `None` if the window of either point was
    /// too short.
    fn interval(self, from: &CurvePoint, to: &CurvePoint) -> Option<ConfidenceInterval> {
        let values = |point: &CurvePoint| match self.noise {
            Noise::Passes => Some(point.passes),
            Noise::Window => point.height.spread.map(|spread| spread.count),
        };
        let (one, other) = (values(from)? as f64, values(to)? as f64);
        let variance = self.relative_variance * (one.recip() + other.recip());
        let uncertainty = Uncertainty {
            standard_error: variance.sqrt(),
            degrees: self.degrees,
            resolution: 0.0,
            noise: self.noise,
        };
        let log_ratio = (to.height.value / from.height.value).ln();
        Some(uncertainty.around(log_ratio, self.confidence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Measured;
    use crate::change::tests::Noisy;
    use crate::doubt::Doubt;
    use crate::metric::Metric;
    use crate::published::Contender;

    fn point(clients: u32, passes: &[f64]) -> CurvePoint {
        CurvePoint {
            clients,
            passes: passes.len(),
            height: Measured::over_passes(passes).unwrap(),
            response_mean_ns: None,
            response_p99_ns: None,
            is_generator_limited: false,
            response_doubts: [Doubt::None; 2],
        }
    }

    fn dip(points: Vec<CurvePoint>) -> Option<Dip> {
        let contender = Contender {
            name: String::new(),
            metric: Metric::Throughput,
            points,
            left_out: Vec::new(),
            plateau: None,
            remarks: Vec::new(),
        };
        contender.dip()
    }

    /// Returns the load points of the published studies: 1, 4, 8 to 60 clients.
    fn clients() -> impl Iterator<Item = u32> {
        std::iter::once(1).chain((4..=60).step_by(4))
    }

    /// Returns a curve that is flat from 16 clients on, multiplied by `factor`.
    fn curve(
        noisy: &mut Noisy,
        passes: usize,
        noise: f64,
        factor: impl Fn(u32) -> f64,
    ) -> Vec<CurvePoint> {
        let height = |clients: u32| 900.0 * f64::from(clients.min(16)) / 16.0 * factor(clients);
        clients()
            .map(|clients| {
                let mut pass = || height(clients) * (1.0 + noise * noisy.next());
                let passes: Vec<_> = (0..passes).map(|_| pass()).collect();
                point(clients, &passes)
            })
            .collect()
    }

    #[test]
    fn a_drop_beyond_the_noise_is_a_dip_from_its_first_load_point() {
        let at = |clients: u32, value: f64| point(clients, &[value * 0.995, value * 1.005]);
        let curve = [
            (1, 100.0),
            (24, 800.0),
            (48, 900.0),
            (52, 780.0),
            (56, 770.0),
            (60, 775.0),
        ];
        let found = dip(curve.map(|(clients, value)| at(clients, value)).to_vec()).unwrap();
        assert_eq!(
            found.verdict,
            DipVerdict::Shown {
                stretches: vec![(52, 60)],
                lasts: true,
                is_generator_limited: false
            }
        );
        assert_eq!(
            (found.lowest_clients, found.noise),
            (56, Some(Noise::Passes))
        );
        assert!((found.lowest_percent + 14.44).abs() < 0.01, "{found:?}");
        // sd 0.707 %, 6 degrees, 15 pairs: t is 4.698.
        assert!(
            (found.noise_percent.unwrap() - 3.27).abs() < 0.01,
            "{found:?}"
        );
    }

    #[test]
    fn a_dip_may_end_before_the_curve_does() {
        let at = |clients: u32, value: f64| point(clients, &[value * 0.999, value * 1.001]);
        let curve = [(8, 900.0), (16, 850.0), (24, 898.0)];
        let mut points = curve.map(|(clients, value)| at(clients, value)).to_vec();
        points[1].is_generator_limited = true;
        assert_eq!(
            dip(points).unwrap().verdict,
            DipVerdict::Shown {
                stretches: vec![(16, 16)],
                lasts: false,
                is_generator_limited: true
            }
        );
    }

    #[test]
    fn load_points_between_that_are_not_below_the_peak_are_no_part_of_a_dip() {
        let at = |clients: u32, value: f64| point(clients, &[value * 0.999, value * 1.001]);
        let fallen = [20, 44, 48, 60];
        let mut points: Vec<_> = clients()
            .skip_while(|clients| *clients < 16)
            .map(|clients| match clients {
                16 => at(clients, 1000.0),
                _ if fallen.contains(&clients) => at(clients, 900.0),
                _ => at(clients, 998.0),
            })
            .collect();
        let between = points.iter_mut().find(|point| point.clients == 32);
        between.unwrap().is_generator_limited = true;
        assert_eq!(
            dip(points).unwrap().verdict,
            DipVerdict::Shown {
                stretches: vec![(20, 20), (44, 48), (60, 60)],
                lasts: true,
                is_generator_limited: false
            }
        );
    }

    #[test]
    fn without_noise_no_dip_is_reported() {
        let alone = |clients, value| point(clients, &[value]);
        let found = dip(vec![alone(8, 900.0), alone(16, 450.0)]).unwrap();
        assert_eq!(
            (found.verdict, found.lowest_percent),
            (DipVerdict::CannotTell, -50.0)
        );
        assert_eq!(found.noise_percent, None);
        assert_eq!(
            dip(vec![alone(8, 450.0), alone(16, 900.0)]),
            None,
            "nothing after the peak"
        );
        assert_eq!(dip(Vec::new()), None);
    }

    #[test]
    fn one_pass_is_judged_by_its_window_and_a_lost_pass_by_the_others() {
        let seconds: Vec<_> = (0..60)
            .map(|second| 100.0 + f64::from(second * 7 % 5))
            .collect();
        let window = |clients, value| CurvePoint {
            height: Measured::in_window(value, &seconds),
            ..point(clients, &[value])
        };
        let found = dip(vec![window(8, 900.0), window(16, 700.0)]).unwrap();
        assert_eq!(found.noise, Some(Noise::Window));
        assert!(matches!(found.verdict, DipVerdict::Shown { .. }));
        let lost = vec![
            point(8, &[900.0, 904.0]),
            point(12, &[898.0, 902.0]),
            window(16, 700.0),
        ];
        let found = dip(lost).unwrap();
        assert_eq!(found.noise, Some(Noise::Passes));
        let DipVerdict::Shown { stretches, .. } = &found.verdict else {
            panic!("{found:?}");
        };
        assert_eq!(stretches[..], [(16, 16)]);
    }

    #[test]
    fn a_plateau_has_no_dip_and_a_dip_is_found() {
        const TRIALS: usize = 2000;
        let mut noisy = Noisy(11);
        let mut rate = |noise: f64, factor: fn(u32) -> f64| {
            let shown = |points| {
                matches!(
                    dip(points),
                    Some(Dip {
                        verdict: DipVerdict::Shown { .. },
                        ..
                    })
                )
            };
            let found = (0..TRIALS).filter(|_| shown(curve(&mut noisy, 2, noise, factor)));
            found.count() as f64 / TRIALS as f64
        };
        let fallen = |clients| if clients >= 52 { 0.88 } else { 1.0 };
        assert!(rate(0.02, |_| 1.0) < 0.05);
        assert!(rate(0.1, |_| 1.0) < 0.05);
        assert!(rate(0.02, fallen) > 0.95);
    }
}
