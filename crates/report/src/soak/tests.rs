use super::*;

fn samples(values: impl IntoIterator<Item = f64>) -> Vec<RowValue> {
    let values = values.into_iter().enumerate();
    values
        .map(|(at, value)| RowValue {
            at_s: at as f64 * 60.0,
            value,
        })
        .collect()
}

/// The formulas are those of Gilbert, "Statistical Methods for Environmental Pollution
/// Monitoring" (1987), 16.4. The expected values were computed from them by hand.
#[test]
fn an_order_without_a_trend_is_likely_and_a_rising_one_is_not() {
    let rising = mann_kendall(&samples((0..10).map(f64::from)));
    // S = 45, variance = 10 * 9 * 25 / 18 = 125, z = 44 / sqrt(125) = 3.9355.
    assert!((rising - 8.303e-5).abs() < 1e-7, "{rising}");
    let falling = mann_kendall(&samples((0..10).rev().map(f64::from)));
    assert!((rising - falling).abs() < 1e-15);
    assert_eq!(mann_kendall(&samples([5.0; 12])), 1.0);
    let mixed = mann_kendall(&samples([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0]));
    // S = 12, ties of three pairs: variance = (2250 - 3 * 18) / 18 = 122, z = 11 / 11.045.
    assert!((mixed - 0.31930).abs() < 1e-4, "{mixed}");
}

#[test]
fn slopes_and_the_beginning_of_a_drift_are_found() {
    let flat_then_rising = (0..30).map(|at| {
        if at < 20 {
            100.0 + f64::from(at % 3)
        } else {
            110.0 + f64::from(at)
        }
    });
    let all = samples(flat_then_rising);
    assert_eq!(since(&all, 6, Bad::Up), 20.0 * 60.0);
    let line = samples((0..9).map(|at| 7.0 + 2.0 * f64::from(at)));
    let slopes =
        pairs(&line).map(|(one, other)| (other.value - one.value) / (other.at_s - one.at_s));
    assert!((median(slopes).unwrap() - 2.0 / 60.0).abs() < 1e-12);
    assert_eq!(median([4.0, 1.0].into_iter()), Some(2.5));
    assert_eq!(median([].into_iter()), None);
}

#[test]
fn sentences_name_what_drifted_and_what_was_not_judged() {
    let memory = TrendDoc {
        name: "own_memory_bytes".to_owned(),
        first: 20.0 * MIB,
        last: 40.0 * MIB,
        per_hour: 2.5 * MIB,
        percent_per_hour: Some(12.5),
        p: 1e-6,
        drifts: true,
        since_s: Some(5_399.6),
        scope: None,
    };
    let machine = TrendDoc {
        name: SERVER_MEMORY.to_owned(),
        scope: Some(Named::Known(CpuScope::Machine)),
        ..memory.clone()
    };
    let soak = |steady, trends| SoakDoc {
        rows: 480,
        length_s: 28_800.0,
        steady: Some(steady),
        trends,
    };
    let all = WATCHED.iter().map(|watched| TrendDoc {
        name: watched.name.to_owned(),
        drifts: false,
        ..memory.clone()
    });
    let all: Vec<_> = all.collect();
    assert_eq!(
        soak(true, all.clone()).sentences(),
        ["steady over 8h: no value of 480 rows drifted"]
    );
    let of_us = all.into_iter();
    let of_us = of_us.filter(|trend| !trend.name.starts_with("server"));
    assert_eq!(
        soak(true, of_us.collect()).sentences(),
        [
            "steady over 8h: no value of 480 rows drifted; not judged: memory of the server, open \
             handles of the server"
        ]
    );
    assert_eq!(
        soak(false, vec![machine]).sentences(),
        [
            "memory of the server's machine drifted from 20 MiB to 40 MiB, +12.5 % per hour, since 1h 30m"
        ]
    );
    assert_eq!(
        soak(false, vec![memory]).sentences(),
        ["memory of smbench drifted from 20 MiB to 40 MiB, +12.5 % per hour, since 1h 30m"]
    );
}
