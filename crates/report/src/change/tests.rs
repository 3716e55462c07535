use proptest::prelude::*;

use super::*;

fn passes(values: &[f64]) -> Measured {
    Measured::over_passes(values).unwrap()
}

fn change(from: &[f64], to: &[f64]) -> Change {
    Change::between(&passes(from), &passes(to), CONFIDENCE).unwrap()
}

/// Generator of nearly normal numbers with mean 0 and standard deviation 1. Each is
/// the sum of 12 uniform numbers of a linear congruential generator (Knuth's MMIX).
pub(crate) struct Noisy(pub(crate) u64);

impl Noisy {
    pub(crate) fn next(&mut self) -> f64 {
        let uniform = |state: &mut u64| {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (*state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| uniform(&mut self.0)).sum::<f64>() - 6.0
    }

    fn values(&mut self, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
        (0..count)
            .map(|_| mean * (1.0 + deviation * self.next()))
            .collect()
    }
}

#[test]
fn the_interval_is_welchs() {
    // Computed by hand: means 102 and 110, relative variances of the means
    // 4/3/102^2 and 9/3/110^2, 3.63 degrees of freedom.
    let found = change(&[100.0, 102.0, 104.0], &[107.0, 110.0, 113.0]);
    assert!((found.percent - 7.843).abs() < 1e-3, "{found:?}");
    let interval = found.interval.unwrap();
    let (one, other) = (4.0 / 3.0 / 102_f64.powi(2), 9.0 / 3.0 / 110_f64.powi(2));
    let degrees = (one + other).powi(2) / (one.powi(2) / 2.0 + other.powi(2) / 2.0);
    assert!((degrees - 3.632).abs() < 1e-3, "{degrees}");
    let half = student_t(0.975, degrees) * (one + other).sqrt();
    let expected = |sign: f64| ((110.0_f64 / 102.0).ln() + sign * half).exp_m1() * 100.0;
    assert!((interval.low - expected(-1.0)).abs() < 1e-9, "{interval:?}");
    assert!((interval.high - expected(1.0)).abs() < 1e-9, "{interval:?}");
    assert!(interval.shows_a_change());
    assert!(interval.shows_from > half * 100.0);
}

#[test]
fn the_jackknife_of_a_mean_is_its_variance() {
    let values = [100.0, 102.0, 104.0];
    let without = [103.0, 102.0, 101.0];
    let found = Measured::over_all(102.0, &values, &without);
    let (spread, plain) = (found.spread.unwrap(), passes(&values).spread.unwrap());
    assert!((spread.of_mean() / plain.of_mean() - 1.0).abs() < 1e-3);
    assert_eq!((spread.lowest, spread.highest), (100.0, 104.0));
    let half = student_t(0.975, 2.0) * (4.0_f64 / 3.0).sqrt();
    assert!((found.ci95().unwrap() - half).abs() < 0.01);
}

/// The longest of many passes varies as much as that of one.
#[test]
fn more_passes_do_not_make_the_longest_time_more_certain() {
    let longest = |passes| Measured::longest(&[1.0, 2.0].repeat(passes)).unwrap();
    let error = |passes| longest(passes).spread.unwrap().of_mean();
    assert_eq!(longest(1).value, 2.0);
    assert!(error(50) > error(1) / 3.0);
}

#[test]
fn one_pass_has_the_noise_of_its_window_at_most() {
    let alone = Measured::over_passes(&[100.0]).unwrap();
    assert_eq!(alone.spread, None);
    let found = Change::between(&alone, &passes(&[90.0, 91.0]), CONFIDENCE).unwrap();
    assert_eq!((found.percent, found.interval), (-9.5, None));
    let seconds: Vec<_> = (0..60).map(|second| 99.0 + f64::from(second % 3)).collect();
    assert_eq!(Measured::in_window(100.0, &seconds[..9]).spread, None);
    let window = Measured::in_window(100.0, &seconds);
    let spread = window.spread.unwrap();
    assert_eq!((spread.count, spread.noise), (10, Noise::Window));
    assert!(spread.relative_variance < 1e-20, "batches of 6 s are alike");
    let mixed = Change::between(&passes(&[100.0, 101.0]), &window, CONFIDENCE).unwrap();
    assert_eq!(mixed.interval.unwrap().noise, Noise::Window);
}

#[test]
fn slow_waves_widen_the_interval_that_seconds_alone_would_give() {
    let wave = |second: u32| 100.0 + 10.0 * (f64::from(second) / 60.0 * 6.0).sin();
    let seconds: Vec<_> = (0..60).map(wave).collect();
    let batched = Measured::in_window(100.0, &seconds).spread.unwrap();
    let naive = Spread::of(&seconds, Noise::Window).unwrap();
    assert!(batched.of_mean() > 5.0 * naive.of_mean());
}

#[test]
fn nothing_has_no_percentage() {
    for (from, to) in [
        (0.0, 1.0),
        (1.0, 0.0),
        (f64::NAN, 1.0),
        (1.0, f64::INFINITY),
    ] {
        let [from, to] = [from, to].map(|value| Measured {
            value,
            spread: None,
            resolution: 0.0,
        });
        assert_eq!(Change::between(&from, &to, CONFIDENCE), None);
    }
    assert_eq!(Measured::over_passes(&[]), None);
    assert_eq!(passes(&[0.0, 0.0]).spread, None);
    assert_eq!(percent_more(1.0, 0.0), None);
}

#[test]
fn values_without_noise_have_an_interval_without_width() {
    let found = change(&[100.0; 3], &[150.0; 3]);
    let interval = found.interval.unwrap();
    assert!((interval.low - 50.0).abs() < 1e-9 && (interval.high - 50.0).abs() < 1e-9);
    assert!(interval.shows_a_change());
    assert!(
        !change(&[100.0; 2], &[100.0; 2])
            .interval
            .unwrap()
            .shows_a_change()
    );
}

#[test]
fn what_is_finer_than_the_resolution_is_no_change() {
    let coarse = |values: &[f64]| passes(values).with_resolution(0.001);
    let shows = |to: &[f64]| {
        let found = Change::between(&coarse(&[1000.0; 3]), &coarse(to), CONFIDENCE);
        found.unwrap().interval.unwrap().shows_a_change()
    };
    assert!(!shows(&[1000.9; 3]) && !shows(&[999.1; 3]));
    assert!(shows(&[1001.1; 3]) && shows(&[998.9; 3]));
}

/// About one in twenty comparisons of equal things may show a change. This holds
/// with few passes, unequal noise and large noise. A change of the size
/// `shows_from` is shown in four of five cases.
#[test]
fn verdicts_are_wrong_as_rarely_as_they_claim() {
    const TRIALS: usize = 4000;
    let mut noisy = Noisy(7);
    for (passes, one, other) in [
        (2, 0.02, 0.02),
        (3, 0.02, 0.02),
        (3, 0.01, 0.05),
        (5, 0.2, 0.2),
    ] {
        let mut wrong = 0;
        for _ in 0..TRIALS {
            let from = noisy.values(passes, 100.0, one);
            let to = noisy.values(passes, 100.0, other);
            wrong += usize::from(change(&from, &to).interval.unwrap().shows_a_change());
        }
        let rate = wrong as f64 / TRIALS as f64;
        assert!(
            rate < 0.065,
            "{passes} passes, noise {one} and {other}: {rate}"
        );
        assert!(
            rate > 0.005,
            "{passes} passes, noise {one} and {other}: {rate}"
        );
    }
    let mut shown = 0;
    for _ in 0..TRIALS {
        // 5 passes, 2 %: standard error 1.265 %, 8 degrees, 2.306 + 0.889.
        let from = noisy.values(5, 100.0, 0.02);
        let to = noisy.values(5, 104.12, 0.02);
        shown += usize::from(change(&from, &to).interval.unwrap().shows_a_change());
    }
    let rate = shown as f64 / TRIALS as f64;
    assert!((0.76..0.84).contains(&rate), "{rate}");
}

proptest! {
    #[test]
    fn itself_is_no_change(values in prop::collection::vec(0.001..1e9_f64, 1..9)) {
        let found = change(&values, &values);
        prop_assert_eq!(found.percent, 0.0);
        prop_assert!(found.interval.is_none_or(|interval| !interval.shows_a_change()));
    }

    #[test]
    fn turned_around_it_is_the_inverse(
        from in prop::collection::vec(0.001..1e9_f64, 2..9),
        to in prop::collection::vec(0.001..1e9_f64, 2..9),
    ) {
        let (there, back) = (change(&from, &to), change(&to, &from));
        let product = (1.0 + there.percent / 100.0) * (1.0 + back.percent / 100.0);
        prop_assert!((product - 1.0).abs() < 1e-6, "{}", product);
        let (there, back) = (there.interval.unwrap(), back.interval.unwrap());
        prop_assert_eq!(there.shows_a_change(), back.shows_a_change());
        prop_assert_eq!(there.low > 0.0, back.high < 0.0);
        prop_assert!((there.shows_from - back.shows_from).abs() <= there.shows_from * 1e-9);
        for bound in [there.low, there.high, back.low, back.high] {
            prop_assert!(bound.is_finite() && bound >= -100.0);
        }
    }
}
