use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::part::ClientPart;

fn stages(text: &str) -> Stages {
    text.parse().unwrap()
}

fn under_load(stages: &Stages, at: Duration, clients: u32) -> usize {
    let stages = Stages {
        clients: MovedClients::only(clients),
        ..stages.clone()
    };
    let turns = |client| stages.turns(client).into_iter();
    let is_in = |turn: StageTurn| turn.begin <= at && at < turn.end;
    (0..clients)
        .filter(|client| turns(*client).any(is_in))
        .count()
}

#[test]
fn stages_are_read_and_written() {
    let read = stages(" 2m:50, 10m:500,5m:500 ,0s:100,2m:0");
    assert_eq!(read.unit, StageUnit::Clients);
    assert_eq!(
        (read.total(), read.most()),
        (Duration::from_secs(19 * 60), 500.0)
    );
    assert_eq!(read.to_string(), "2m:50,10m:500,5m:500,0s:100,2m:0");
    let places: Vec<_> = read.places().collect();
    assert_eq!(places.len(), 4);
    assert_eq!(
        (places[3].number, places[3].from, places[3].to),
        (4, 100.0, 0.0)
    );
    assert_eq!(places[3].begin, Duration::from_secs(17 * 60));
    let rate = stages("10s:2.5k/s");
    assert_eq!((rate.unit, rate.most()), (StageUnit::Rate, 2500.0));
    assert_eq!(rate.to_string(), "10s:2500/s");
}

#[test]
fn wrong_stages_are_named() {
    for (text, expected) in [
        ("", "`` is not a stage: "),
        ("50", "`50` is not a stage: "),
        ("2m:x", "`2m:x` is not a stage: "),
        ("2:50", "the length of stage `2:50`: "),
        ("2m:1.5", "stage `2m:1.5`: give 0 to "),
        ("2m:1e9/s", "stage `2m:1e9/s`: give 0/s, or "),
        ("2m:50,2m:50/s", "some stages are numbers of clients"),
        ("1500ms:5", "a stage takes 1s 500ms: give whole seconds"),
        ("0s:50", "the stages take no time"),
        ("2m:0,3m:0", "the stages go nowhere"),
        ("1000h:5", "the load takes 1month 11days"),
        (
            "2h:5,1s:5",
            "the stages take 2h 1s, and have no common part",
        ),
    ] {
        let error = text.parse::<Stages>().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn intervals_fit_each_stage() {
    let interval = |text: &str| stages(text).interval().unwrap().as_secs();
    assert_eq!(interval("7s:1,11s:2"), 1);
    // 28,800 s in at most 3,600 intervals, in parts of minutes.
    assert_eq!(interval("7h:5,59m:5,60s:5"), 10);
}

/// At each second, the clients under load are those of the line, within one half.
#[test]
fn clients_follow_the_line() {
    let stages = stages("20s:50,30s:500,10s:500,0s:100,15s:0");
    let line = |at: f64| match at {
        0.0..20.0 => 50.0 * at / 20.0,
        20.0..50.0 => 50.0 + 450.0 * (at - 20.0) / 30.0,
        50.0..60.0 => 500.0,
        _ => 100.0 * (75.0 - at) / 15.0,
    };
    for second in 0..75_u32 {
        let expected = line(f64::from(second));
        let found = under_load(&stages, Duration::from_secs(second.into()), 500);
        assert!(
            (found as f64 - expected).abs() <= 0.5 + 1e-6,
            "{second}: {found}, {expected}"
        );
        // A population of 40 of the 500 clients follows at its scale.
        let found = under_load(&stages, Duration::from_secs(second.into()), 40);
        let expected = expected * 0.08;
        assert!(
            (found as f64 - expected).abs() <= 0.5 + 1e-6,
            "{second}: {found}, {expected}"
        );
    }
}

/// Returns the level at an instant of lines without a jump.
fn level_at(stages: &Stages, at: Duration) -> f64 {
    let place = stages
        .places()
        .find(|place| place.begin <= at && at < place.end())
        .unwrap();
    let passed = (at - place.begin).as_secs_f64() / place.length.as_secs_f64();
    place.from + (place.to - place.from) * passed
}

proptest! {
    /// At each second, the clients under load of all hosts and populations are those of the line,
    /// within one half. Each host has its part of each population.
    #[test]
    fn hosts_together_follow_the_line(
        fixed in 0_u32..20,
        moved in prop::collection::vec(1_u32..60, 1..4),
        steps in prop::collection::vec((1_u64..20, 0.0_f64..1.0), 1..6),
        highest in 0_usize..6,
        begin in 0.0_f64..1.0,
        of in 1_u32..6,
    ) {
        let most = f64::from(fixed + moved.iter().sum::<u32>());
        let highest = highest % steps.len();
        let step = |(at, (length, part)): (usize, &(u64, f64))| {
            let level = if at == highest { most } else { (part * most).round() };
            format!("{length}s:{level}")
        };
        let steps: Vec<_> = steps.iter().enumerate().map(step).collect();
        let mut stages = stages(&steps.join(","));
        stages.begin = (begin * most).round();
        let of_population = |index| {
            let one = Stages {
                clients: MovedClients { fixed, moved: moved.clone(), index },
                ..stages.clone()
            };
            (0..moved[index]).map(|client| one.turns(client)).collect::<Vec<_>>()
        };
        let populations: Vec<_> = (0..moved.len()).map(of_population).collect();
        for second in 0..stages.total().as_secs() {
            let at = Duration::from_secs(second);
            let is_in = |turn: &StageTurn| turn.begin <= at && at < turn.end;
            let mut all = fixed;
            for turns in &populations {
                let carried = |host| {
                    let clients = ClientPart::Host { host, of }.clients(turns.len() as u32);
                    clients.filter(|client| turns[*client as usize].iter().any(is_in)).count()
                };
                let carried: Vec<_> = (0..of).map(|host| carried(host) as u32).collect();
                let together = carried.iter().sum::<u32>();
                for (host, count) in (0..of).zip(carried) {
                    prop_assert_eq!(count, ClientPart::Host { host, of }.count(together));
                }
                all += together;
            }
            // Clients without a share stay also below their number.
            let expected = level_at(&stages, at).max(fixed.into());
            let differs = (f64::from(all) - expected).abs();
            prop_assert!(differs <= 0.5 + 1e-6, "{second} s: {all}, {expected}");
        }
    }
}

/// The instants of a rate have as many operations before them as the line.
#[test]
fn instants_of_a_rate_follow_the_line() {
    let mut walk = stages("10s:100/s,20s:100/s,0s:50/s,10s:0/s").walk();
    for (operations, expected) in [
        (0.0, Some(0.0)),
        (125.0, Some(5.0)),
        (500.0, Some(10.0)),
        (1500.0, Some(20.0)),
        (2500.0, Some(30.0)),
        (2500.0 + 187.5, Some(35.0)),
        (2751.0, None),
    ] {
        let found = walk.time_of(operations);
        let differs = found
            .zip(expected)
            .map(|(found, at): (f64, f64)| found - at);
        assert!(
            differs.is_none_or(|by| by.abs() < 1e-9),
            "{operations}: {found:?}"
        );
        assert_eq!(found.is_some(), expected.is_some(), "{operations}");
    }
}

/// A walk that has come far finds the same instants as one that begins anew.
#[test]
fn a_walk_goes_on_where_it_was() {
    let steps: Vec<_> = (0..STAGES_MAX)
        .map(|at| format!("3s:{}/s", at % 7 * 10))
        .collect();
    let stages = stages(&steps.join(","));
    let mut walk = stages.walk();
    let due = |at: u32| f64::from(at) * 12.5;
    for at in (0..7000).step_by(50) {
        let (found, anew) = (walk.time_of(due(at)), stages.walk().time_of(due(at)));
        let differs = found.zip(anew).map(|(found, anew)| (found - anew).abs());
        assert!(
            differs.is_some_and(|by| by < 1e-6),
            "{at}: {found:?}, {anew:?}"
        );
    }
    let end = f64::from(STAGES_MAX as u32) * 3.0 * 60.0;
    assert_eq!((walk.time_of(end), walk.time_of(end)), (None, None));
}

#[test]
fn a_client_may_have_several_turns() {
    let stages = Stages {
        clients: MovedClients::only(10),
        ..stages("10s:10,10s:0,10s:10")
    };
    let turns = stages.turns(4);
    let seconds: Vec<_> = turns
        .iter()
        .map(|turn| (turn.begin.as_secs_f64(), turn.end.as_secs_f64()))
        .collect();
    assert_eq!(seconds, [(4.5, 15.5), (24.5, 30.0)]);
    // 11 seconds of the first turn, and 2 of the next one.
    let mut presence = stages.presence(4);
    let of_times = [0.0, 5.0, 11.0, 13.0, 17.0].map(|time| presence.time_of(time));
    assert_eq!(
        of_times,
        [Some(4.5), Some(9.5), Some(24.5), Some(26.5), None]
    );
}

#[test]
fn a_soak_is_cut_into_rows() {
    let rows = |seconds| {
        let soak = Stages::soak(8, Duration::from_secs(seconds)).unwrap();
        assert_eq!((soak.turns(7).len(), soak.most()), (1, 8.0));
        let rows: Vec<_> = soak.places().map(|row| row.length.as_secs()).collect();
        (rows[0], rows.len(), rows[rows.len() - 1])
    };
    assert_eq!(rows(30), (3, 10, 3));
    assert_eq!(rows(33), (3, 11, 3));
    assert_eq!(rows(150), (15, 10, 15));
    assert_eq!(rows(3660), (60, 61, 60));
    assert_eq!(rows(8 * 3600), (60, 480, 60));
    assert_eq!(rows(24 * 3600), (120, 720, 120));
    assert!(Stages::soak(8, Duration::from_millis(1500)).is_err());
}
