use proptest::prelude::*;

use super::*;
use crate::change::{CONFIDENCE, Change, Measured};
use crate::compare::points::ChangeFigures;

/// Returns the outcome of `< limit` for passes with these values; of `> limit` if
/// the limit is above 0.
fn outcome(limit: f64, before: &[f64], after: &[f64]) -> JudgementOutcome {
    let side = if limit > 0.0 {
        LimitSide::Above
    } else {
        LimitSide::Below
    };
    judged(side, limit, before, after).0
}

fn judged(
    side: LimitSide,
    limit: f64,
    before: &[f64],
    after: &[f64],
) -> (JudgementOutcome, MetricChange) {
    let [from, to] = [before, after].map(|values| Measured::over_passes(values).unwrap());
    let change = Change::between(&from, &to, CONFIDENCE).unwrap();
    let interval = change.interval;
    let figures = ChangeFigures::of([Some(from), Some(to)], Some(change));
    let change = MetricChange {
        metric: Metric::Throughput,
        unit: "Mbit/s",
        of_passes: figures,
        noise: interval.map(|interval| interval.noise),
        pooled: figures,
        verdict: Verdict::CannotTell,
    };
    let percent = change.pooled.change_percent.unwrap();
    let evidence = Evidence::of(&change, side);
    (side.outcome(percent, evidence, limit), change)
}

/// Returns the judgement of `> limit` for passes with these values.
fn judgement(limit_percent: f64, before: &[f64], after: &[f64]) -> Judgement {
    let (outcome, change) = judged(LimitSide::Above, limit_percent, before, after);
    let evidence = Evidence::of(&change, LimitSide::Above);
    Judgement {
        condition: String::new(),
        baseline: "A".to_owned(),
        other: "B".to_owned(),
        server: None,
        profile: String::new(),
        place: String::new(),
        change,
        failed: outcome == JudgementOutcome::Failed,
        within_noise: false,
        conclusive: outcome != JudgementOutcome::Inconclusive,
        detectable_percent: evidence.map(|evidence| evidence.detectable),
        limit_percent,
        doubts: Vec::new(),
    }
}

#[test]
fn a_change_is_surer_the_further_it_is_from_noise() {
    let passes = [1000.0, 1040.0, 960.0, 1020.0, 980.0];
    let slower = |factor: f64| judgement(10.0, &passes, &passes.map(|value| value * factor));
    let (some, much) = (slower(1.12), slower(2.0));
    assert!(some.failed && much.failed);
    // 12 % with a noise of 3 % is beyond 95 %, and not beyond one error in a million.
    assert!(some.is_sure_at(0.025, 5) && !some.is_sure_at(1e-6, 5));
    assert!(much.is_sure_at(1e-4, 5));
    // Fewer passes tell less.
    assert!(!much.is_sure_at(1e-6, 2));
    assert!(!slower(1.0).is_sure_at(0.025, 5));
}

#[test]
fn the_passes_needed_grow_with_the_square_of_the_noise() {
    let of = |noise: f64| {
        let passes = [1.0, 1.0 + noise, 1.0 - noise, 1.0 + noise, 1.0 - noise];
        judgement(10.0, &passes, &passes).passes_needed(5).unwrap()
    };
    let (little, much) = (of(0.02), of(0.04));
    assert!((little * 3..=little * 6).contains(&much), "{little} {much}");
    assert_eq!(judgement(0.0, &STEADY, &STEADY).passes_needed(3), None);
}

const STEADY: [f64; 3] = [1000.0, 1004.0, 996.0];
const NOISY: [f64; 3] = [1000.0, 700.0, 1300.0];

fn scaled(values: [f64; 3], factor: f64) -> [f64; 3] {
    values.map(|value| value * factor)
}

#[test]
fn a_condition_passes_only_where_the_data_could_have_shown_the_change() {
    let (steady, noisy) = (STEADY, NOISY);
    let (passed, failed, inconclusive) = (
        JudgementOutcome::Passed,
        JudgementOutcome::Failed,
        JudgementOutcome::Inconclusive,
    );
    for (why, limit, before, after, expected) in [
        ("no change, little noise", -5.0, steady, steady, passed),
        ("no change, much noise", -5.0, noisy, noisy, inconclusive),
        ("the same for a rise", 5.0, noisy, noisy, inconclusive),
        (
            "a fall within it",
            -5.0,
            steady,
            scaled(steady, 0.97),
            passed,
        ),
        (
            "a fall beyond it",
            -5.0,
            steady,
            scaled(steady, 0.9),
            failed,
        ),
        ("a rise beyond it", 5.0, steady, scaled(steady, 1.1), failed),
    ] {
        assert_eq!(outcome(limit, &before, &after), expected, "{why}");
    }
    for (why, limit, before, after, expected) in [
        (
            "a fall beyond it that may be noise",
            -5.0,
            noisy,
            scaled(noisy, 0.9),
            inconclusive,
        ),
        (
            "noise that hides changes as large as the limit, but not this one",
            -5.0,
            noisy,
            scaled(noisy, 9.0),
            passed,
        ),
        (
            "a limit that noise cannot hide",
            -99.0,
            noisy,
            noisy,
            passed,
        ),
        ("any fall, with noise", 0.0, steady, steady, inconclusive),
        ("any fall, without", 0.0, [5.0; 3], [5.0; 3], passed),
    ] {
        assert_eq!(outcome(limit, &before, &after), expected, "{why}");
    }
}

#[test]
fn one_pass_of_either_decides_nothing() {
    let passes = [1000.0, 1001.0, 999.0];
    for (before, after) in [
        (&[1000.0][..], &[500.0][..]),
        (&[1000.0], &[1000.0]),
        (&passes, &[500.0]),
        (&[1000.0], &passes),
    ] {
        assert_eq!(outcome(-5.0, before, after), JudgementOutcome::Inconclusive);
    }
}

#[test]
fn a_fall_is_detectable_from_the_inverse_of_the_ratio_of_a_rise() {
    let (_, change) = judged(LimitSide::Above, 5.0, &[900.0, 1100.0], &[900.0, 1100.0]);
    let [rise, fall] = [LimitSide::Above, LimitSide::Below]
        .map(|side| Evidence::of(&change, side).unwrap().detectable / 100.0 + 1.0);
    assert!(
        rise > 1.0 && (rise * fall - 1.0).abs() < 1e-9,
        "{rise} {fall}"
    );
}

proptest! {
    /// The fourth rule does not look at the estimate, so it needs this proof.
    #[test]
    fn a_change_beyond_the_limit_never_passes(
        before in prop::collection::vec(1.0..1000.0_f64, 2..6),
        after in prop::collection::vec(1.0..1000.0_f64, 2..6),
        limit in 0.0..90.0_f64,
    ) {
        for (side, limit) in [(LimitSide::Below, -limit), (LimitSide::Above, limit)] {
            let (outcome, change) = judged(side, limit, &before, &after);
            let is_beyond = side.is_beyond(change.pooled.change_percent.unwrap(), limit);
            prop_assert!(!is_beyond || outcome != JudgementOutcome::Passed);
            prop_assert!(is_beyond || outcome != JudgementOutcome::Failed);
        }
    }
}
