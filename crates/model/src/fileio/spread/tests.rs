use proptest::prelude::*;

use super::*;

const ITEMS: u64 = 10_000;
const DRAWS: u64 = 200_000;

/// Returns how often each item was picked.
fn counts(spread: RequestSpread, items: u64) -> Vec<u64> {
    spread.check().unwrap();
    let picker = Picker::new(spread, 7, items);
    let mut counts = vec![0; items as usize];
    for number in 0..DRAWS {
        counts[picker.pick(number) as usize] += 1;
    }
    counts
}

fn share(counts: &[u64]) -> f64 {
    counts.iter().sum::<u64>() as f64 / DRAWS as f64
}

/// A share of 200,000 draws has a standard deviation of at most 0.11 %. The
/// bound is more than three times that.
#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 0.004,
        "{found} is not {expected}"
    );
}

#[test]
fn uniform_favours_nobody() {
    let counts = counts(RequestSpread::Uniform, ITEMS);
    for part in counts.chunks(1000) {
        assert_near(share(part), 0.1);
    }
}

#[test]
fn gaussian_has_the_spread_of_a_mean_of_twelve() {
    let counts = counts(RequestSpread::Gaussian { iterations: 12 }, ITEMS);
    assert_near(share(&counts[..5000]), 0.5);
    // The mean of 12 uniform numbers has a deviation of 1/12. One deviation
    // contains 68.3 % of a normal distribution, and 0.6796 of this one
    // (Irwin-Hall).
    let one = (ITEMS / 12) as usize;
    assert_near(share(&counts[5000 - one..5000 + one]), 0.680);
    assert_near(share(&counts[5000 - 2 * one..5000 + 2 * one]), 0.956);
}

#[test]
fn special_sends_three_quarters_to_one_percent() {
    let special = RequestSpread::Special {
        iterations: 12,
        items: 1,
        hits: 75,
    };
    let counts = counts(special, ITEMS);
    // The other requests have a share in the middle too. There, 1 % of the
    // blocks is 4.7 % of a bell with deviation 1/12, and the bell has a quarter
    // of the requests.
    let middle = &counts[4950..5050];
    assert_near(share(middle), 0.75 + 0.25 * 0.0475);
    for part in middle.chunks(25) {
        assert_near(share(part), (0.75 + 0.25 * 0.0475) / 4.0);
    }
}

#[test]
fn pareto_sends_all_but_h_to_h() {
    let counts = counts(RequestSpread::Pareto { h: 0.2 }, ITEMS);
    assert_near(share(&counts[..2000]), 0.8);
    // The same holds within those blocks.
    assert_near(share(&counts[..400]), 0.64);
}

#[test]
fn zipf_falls_off_with_the_power_of_the_rank() {
    for exponent in [0.0, 0.8, 1.0, 1.5] {
        let counts = counts(RequestSpread::Zipf { exponent }, 100);
        let weight = |rank: u64| (rank as f64).powf(-exponent);
        let all: f64 = (1..=100).map(weight).sum();
        for rank in [1, 2, 3, 10, 50, 100] {
            let found = share(&counts[rank as usize - 1..rank as usize]);
            assert_near(found, weight(rank) / all);
        }
    }
}

proptest! {
    #[test]
    fn nothing_is_picked_that_is_not_there(
        items in 1..u64::MAX >> 12,
        number: u64,
        key: u64,
        h in 0.001..0.999,
        exponent in 0.0..20.0,
        percent in 1..=100_u32,
        hits in 0..=100_u32,
    ) {
        let iterations = 12;
        for spread in [
            RequestSpread::Uniform,
            RequestSpread::Gaussian { iterations },
            RequestSpread::Special { iterations, items: percent, hits },
            RequestSpread::Pareto { h },
            RequestSpread::Zipf { exponent },
        ] {
            prop_assert_eq!(spread.check(), Ok(()));
            let picker = Picker::new(spread, key, items);
            prop_assert!(picker.pick(number) < items);
            prop_assert_eq!(picker.pick(number), picker.pick(number));
        }
    }
}

#[test]
fn parameters_beyond_sense_are_named() {
    for (spread, field) in [
        (RequestSpread::Gaussian { iterations: 0 }, "rand_spec_iter"),
        (
            RequestSpread::Special {
                iterations: 12,
                items: 0,
                hits: 75,
            },
            "rand_spec_pct",
        ),
        (
            RequestSpread::Special {
                iterations: 12,
                items: 1,
                hits: 101,
            },
            "rand_spec_res",
        ),
        (RequestSpread::Pareto { h: 1.0 }, "rand_pareto_h"),
        (RequestSpread::Pareto { h: f64::NAN }, "rand_pareto_h"),
        (RequestSpread::Zipf { exponent: -1.0 }, "rand_zipfian_exp"),
    ] {
        assert_eq!(spread.check().unwrap_err().0, field);
    }
}
