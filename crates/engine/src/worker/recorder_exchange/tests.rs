use smbench_model::kind::OpKind;
use smbench_model::load::{LoadModel, Spacing};
use smbench_model::record::{HostRecord, Phase, SeriesDetail, Times};

use super::*;
use crate::worker::schedule::Schedule;

const SECOND: u64 = 1_000_000_000;

fn schedule() -> Schedule {
    Schedule {
        begin: Nanos(SECOND),
        open: Nanos(2 * SECOND),
        close: Nanos(5 * SECOND),
        stop: Nanos(6 * SECOND),
        interval: Nanos(SECOND),
        clients: 1,
    }
}

fn reads() -> Recorder {
    Recorder::expecting([OpKind::Read], &LoadModel::default())
}

fn at(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9) as u64)
}

/// Records a read of 1000 bytes that ended at `now`, in seconds, and took 2 ms.
fn read(recording: &mut IntervalRecorder, now: f64) {
    let now = at(now);
    if recording.is_over(now) {
        recording.turn(now, schedule().interval_at(now));
    }
    recording
        .recorder
        .success(OpKind::Read, 1000, Nanos(2_000_000));
}

fn recordings(exchange: &Arc<RecorderExchange>) -> [IntervalRecorder; 2] {
    [0, 1].map(|worker| {
        let mut recording = IntervalRecorder::new(Arc::clone(exchange), worker, Nanos(0));
        let begin = schedule().begin;
        recording.turn(begin, schedule().interval_at(begin));
        recording
    })
}

#[test]
fn an_interval_is_over_when_it_is_for_every_worker() {
    let exchange = Arc::new(RecorderExchange::new(
        2,
        reads(),
        None,
        SeriesDetail::Summaries,
    ));
    let [mut first, mut second] = recordings(&exchange);
    let counts = |over: &[EndedInterval]| -> Vec<_> {
        let count = |over: &EndedInterval| (over.interval.place, over.recorder.all().count());
        over.iter().map(count).collect()
    };
    let collect = || {
        let (live, over) = exchange.collect();
        (live.ops_per_s, counts(&over))
    };
    for now in [1.5, 2.0, 2.9, 3.0] {
        read(&mut first, now);
    }
    read(&mut second, 1.9);
    assert_eq!(collect(), (0.0, vec![(Position::Outside, 0)]));
    // The second worker was delayed for two intervals.
    read(&mut second, 4.5);
    let ramp = (Position::Before, 2);
    assert_eq!(collect(), (2.0, vec![ramp, (Position::Window(0), 2)]));
    read(&mut first, 4.5);
    assert_eq!(collect(), (1.0, vec![(Position::Window(1), 1)]));
    drop(first);
    second.leave(at(4.9));
    drop(second);
    let (over, tally, series) = exchange.finish();
    assert_eq!(counts(&over)[0], (Position::Window(2), 2));
    assert_eq!(tally.window(OpKind::Read).count(), 5);
    assert_eq!(tally.whole(OpKind::Read).count, 7);
    let counts: Vec<_> = series.all.iter().map(|summary| summary.count).collect();
    assert_eq!(counts, [2, 1, 2]);
}

#[test]
fn figures_are_those_of_the_last_whole_interval() {
    let exchange = Arc::new(RecorderExchange::new(
        2,
        reads(),
        None,
        SeriesDetail::Summaries,
    ));
    for recording in &mut recordings(&exchange) {
        for millisecond in 0..2000 {
            read(recording, 2.0 + f64::from(millisecond) / 1e3);
        }
        recording.leave(at(4.0));
    }
    let (live, _) = exchange.collect();
    assert_eq!((live.ops_per_s, live.throughput_mbps), (2000.0, 16.0));
    assert!(live.p99.as_micros().abs_diff(2000) <= 2, "{live:?}");
}

#[test]
fn an_interval_ends_with_the_last_worker_whose_load_ended_in_it() {
    let exchange = Arc::new(RecorderExchange::new(
        2,
        reads(),
        None,
        SeriesDetail::Summaries,
    ));
    let [mut first, mut second] = recordings(&exchange);
    for now in [4.1, 4.2] {
        read(&mut first, now);
    }
    read(&mut second, 4.3);
    first.leave_window(at(4.4));
    // For example a break of an oplock during the log-off.
    read(&mut first, 4.5);
    first.leave(at(4.7));
    let is_last = |over: &EndedInterval| over.interval.place == Position::Window(2);
    let (_, over) = exchange.collect();
    assert!(!over.iter().any(is_last), "the other goes on in it");
    read(&mut second, 4.5);
    second.leave(at(4.6));
    let (live, over) = exchange.collect();
    let [last, rest] = &over[..] else {
        panic!("{}", over.len());
    };
    assert!(is_last(last));
    let Interval { from, to, .. } = last.interval;
    assert_eq!((from, to), (at(4.0), at(4.6)));
    assert_eq!(last.recorder.all().count(), 4);
    // The live rate is that of the last interval: one read in 0.3 s.
    assert_eq!(rest.interval.place, Position::Outside);
    assert!((live.ops_per_s - 1.0 / 0.3).abs() < 1e-6, "{live:?}");
    let (_, tally, series) = exchange.finish();
    assert_eq!(tally.window(OpKind::Read).count(), 4);
    assert_eq!(series.all.len(), 3);
    assert_eq!(series.all[2].count, 4);
}

/// A cancel that a worker had not noticed when it began an interval.
#[test]
fn a_window_that_ended_before_an_interval_leaves_it_to_the_others() {
    let exchange = Arc::new(RecorderExchange::new(
        2,
        reads(),
        None,
        SeriesDetail::Summaries,
    ));
    let [mut first, mut second] = recordings(&exchange);
    read(&mut first, 4.0);
    read(&mut second, 3.8);
    read(&mut second, 4.1);
    first.leave_window(at(3.9));
    read(&mut first, 4.2);
    second.leave_window(at(3.9));
    drop((first, second));
    let (over, tally, _) = exchange.finish();
    let last = over
        .iter()
        .find(|over| over.interval.place == Position::Window(2));
    let last = last.unwrap();
    assert_eq!(last.interval.from, last.interval.to);
    assert_eq!(last.recorder.all().count(), 2);
    assert_eq!(tally.window(OpKind::Read).count(), 3);
    assert_eq!(tally.whole(OpKind::Read).count, 4);
}

#[test]
fn recorders_are_used_again_and_held_ones_bounded() {
    let exchange = Arc::new(RecorderExchange::new(
        1,
        reads(),
        None,
        SeriesDetail::Summaries,
    ));
    let mut recording = IntervalRecorder::new(Arc::clone(&exchange), 0, Nanos(0));
    let mut turn = |second: u64| {
        let next = Interval {
            from: Nanos(second * SECOND),
            to: Nanos((second + 1) * SECOND),
            place: Position::Outside,
        };
        recording.turn(next.from, next);
        recording.recorder.success(OpKind::Read, 1, Nanos(1));
    };
    let held = || {
        let queues = lock(&exchange.queues);
        queues.waiting.len() + queues.spare.len()
    };
    // The coordinator does not collect.
    for second in 1..=1000 {
        turn(second);
        assert!(held() <= 2 * WAITING_MAX + 2, "{}", held());
    }
    let collect = || {
        let (_, over) = exchange.collect();
        exchange.give_back(over.into_iter().map(|over| over.recorder));
    };
    collect();
    let before = held();
    for second in 1001..=1100 {
        turn(second);
        collect();
    }
    assert_eq!(held(), before, "none was made anew");
    drop(recording);
    let (_, tally, series) = exchange.finish();
    assert_eq!(tally.whole(OpKind::Read).count, 1100);
    assert_eq!(tally.window_all().count(), 0);
    assert_eq!(series, Series::default());
    assert_eq!(Position::Outside.phase(), Phase::Outside);
}

#[test]
fn a_worker_that_panics_leaves_what_it_measured() {
    let exchange = Arc::new(RecorderExchange::new(
        2,
        reads(),
        None,
        SeriesDetail::Summaries,
    ));
    let [mut lost, mut other] = recordings(&exchange);
    let panicked = std::thread::spawn(move || {
        read(&mut lost, 2.5);
        read(&mut lost, 3.5);
        panic!("as a test");
    });
    assert!(panicked.join().is_err());
    for now in [2.5, 3.5, 4.5] {
        read(&mut other, now);
    }
    let (_, over) = exchange.collect();
    let counts: Vec<_> = over
        .iter()
        .map(|over| over.recorder.all().count())
        .collect();
    assert_eq!(counts, [0, 0, 2, 2], "it holds up no interval");
    drop(other);
    let (_, tally, _) = exchange.finish();
    assert_eq!(tally.window_all().count(), 5);
}

#[test]
fn populations_are_merged_apart_and_together() {
    let paced = LoadModel::Rate {
        rate: "5".parse().unwrap(),
        arrivals: Spacing::Fixed,
    };
    let writes = Recorder::expecting([OpKind::Write], &paced);
    let exchange = RecorderExchange::of_populations(vec![(1, reads()), (1, writes)], 0);
    let exchange = Arc::new(exchange);
    let [mut reader, mut writer] = recordings(&exchange);
    for turn in 0..20 {
        // The coordinator returns recorders in between.
        let now = 2.5 + f64::from(turn);
        read(&mut reader, now);
        let now = at(now);
        if writer.is_over(now) {
            writer.turn(now, schedule().interval_at(now));
        }
        let times = Times {
            service: Nanos(1_000_000),
            response: Nanos(5_000_000),
        };
        writer.recorder.success(OpKind::Write, 10, times);
        writer.recorder.success(OpKind::Read, 10, times);
        let (_, over) = exchange.collect();
        exchange.give_back(over.into_iter().map(|over| over.recorder));
    }
    reader.leave(at(23.0));
    writer.leave(at(23.0));
    let (_, all, series) = exchange.finish();
    let [(read, of_reads), (written, of_writes)] = &exchange.finish_populations()[..] else {
        panic!("there are two populations");
    };
    let whole = |tally: &Tally, kind| tally.whole(kind).count;
    assert_eq!(
        (whole(read, OpKind::Read), whole(read, OpKind::Write)),
        (20, 0)
    );
    assert_eq!(
        (whole(written, OpKind::Read), whole(written, OpKind::Write)),
        (20, 20)
    );
    assert_eq!(
        (whole(&all, OpKind::Read), whole(&all, OpKind::Write)),
        (40, 20)
    );
    let window = all.window(OpKind::Read).count();
    let parts = [read, written].map(|tally| tally.window(OpKind::Read).count());
    assert_eq!(window, parts.iter().sum::<u64>());
    // A recorder never goes to workers whose operations have other times.
    assert!(read.window(OpKind::Read).response.is_none());
    let writes = written.window(OpKind::Write);
    let response = writes.latency();
    assert_eq!(response.len(), writes.count());
    assert!(response.min() >= 4_900_000);
    for (at, interval) in series.all.iter().enumerate() {
        let parts = [of_reads, of_writes].map(|series| series.all[at].count);
        assert_eq!(interval.count, parts.iter().sum::<u64>());
    }
}

/// Another host hands in its part of each population, after the workers of this host.
#[test]
fn populations_of_other_hosts_are_merged_with_their_own() {
    let exchange = RecorderExchange::of_populations(vec![(1, reads()), (1, reads())], 1);
    let exchange = Arc::new(exchange);
    let [mut first, mut second] = recordings(&exchange);
    for now in [2.1, 2.2, 3.1] {
        read(&mut first, now);
    }
    read(&mut second, 2.5);
    let mut of_host = reads();
    of_host.success(OpKind::Read, 1000, Nanos(2_000_000));
    let interval = schedule().interval_at(at(2.5));
    exchange.hand_in_interval(2, interval, &Recorder::default());
    exchange.hand_in_interval(3, interval, &of_host);
    for recording in [&mut first, &mut second] {
        recording.leave(at(4.9));
    }
    (2..4).for_each(|number| exchange.leave(number));
    let (over, all, _) = exchange.finish();
    let reads = |tally: &Tally| tally.whole(OpKind::Read).count;
    let populations = exchange.finish_populations();
    let parts = populations.iter().map(|(tally, _)| reads(tally));
    assert_eq!((reads(&all), parts.collect::<Vec<_>>()), (5, vec![3, 2]));
    let own = exchange.finish_own().map(|(tally, _)| reads(&tally));
    assert_eq!(own, Some(4));
    // So another host would hand in its own parts.
    for over in &over {
        let parts = over.populations.iter().map(|part| part.all().count());
        assert_eq!(over.recorder.all().count(), parts.sum::<u64>());
    }
}

/// The sums of a stage are complete, although they are taken under load.
#[test]
fn stages_are_taken_under_load() {
    let exchange = RecorderExchange::of_populations(vec![(1, reads()), (1, reads())], 0);
    // Stages of one interval each.
    let exchange = Arc::new(exchange.divided(&[1, 2, 3]));
    let [mut first, mut second] = recordings(&exchange);
    let taken = || -> Vec<Vec<u64>> {
        let _ = exchange.collect();
        let reads = |tally: &Tally| tally.window(OpKind::Read).count();
        let of = |sums: &StageSums| {
            [&sums.all]
                .into_iter()
                .chain(&sums.populations)
                .map(reads)
                .collect()
        };
        exchange.ended_stages().iter().map(of).collect()
    };
    for now in [2.1, 2.2, 3.1] {
        read(&mut first, now);
    }
    read(&mut second, 2.5);
    assert!(taken().is_empty(), "a worker is in the first stage");
    read(&mut second, 3.5);
    assert_eq!(taken(), [[3, 2, 1]]);
    for recording in [&mut first, &mut second] {
        read(recording, 4.5);
    }
    assert_eq!(taken(), [[2, 1, 1]]);
    first.leave(at(4.9));
    second.leave(at(4.9));
    assert!(taken().is_empty(), "the last one ends with the load");
    exchange.finish();
    exchange.finish_populations();
    let left = exchange.finish_stages();
    let counts: Vec<_> = left
        .iter()
        .map(|of| of.all.window(OpKind::Read).count())
        .collect();
    assert_eq!(counts, [2]);
    assert_eq!(left[0].populations.len(), 2);
}

/// Another host has said what it did in a stage before its row is made, or it has left.
#[test]
fn a_stage_has_the_parts_of_all_hosts() {
    let exchange = RecorderExchange::of_populations(vec![(1, reads()), (1, reads())], 2);
    let exchange = Arc::new(exchange.divided(&[1, 2, 3]));
    let [mut first, mut second] = recordings(&exchange);
    // The populations of the other hosts have the numbers from 2 and from 4 on.
    let hand_in = |hosts: &[usize], second: f64| {
        let mut of_host = reads();
        of_host.success(OpKind::Read, 1000, Nanos(2_000_000));
        let interval = schedule().interval_at(at(second));
        for number in hosts.iter().flat_map(|number| *number..number + 2) {
            exchange.hand_in_interval(number, interval, &of_host);
        }
    };
    let say = |number: usize, operations: u64| {
        let host = HostRecord {
            operations,
            ..HostRecord::default()
        };
        let own_memory = None;
        exchange.hand_in_stage(number, HostStage { host, own_memory });
    };
    let shown = |stages: Vec<StageSums>| -> Vec<(u64, Option<u64>, Vec<u64>)> {
        let reads = |tally: &Tally| tally.window(OpKind::Read).count();
        let of = |sums: &StageSums| {
            let hosts = sums.hosts.iter().map(|part| part.host.operations);
            let own = sums.own.as_ref().map(reads);
            (reads(&sums.all), own, hosts.collect())
        };
        stages.iter().map(of).collect()
    };
    let taken = || {
        let _ = exchange.collect();
        shown(exchange.ended_stages())
    };
    for now in [2.5, 3.5] {
        read(&mut first, now);
        read(&mut second, now);
        hand_in(&[2, 4], now);
    }
    assert!(taken().is_empty(), "no host has said what it did");
    say(4, 40);
    assert!(taken().is_empty(), "one has");
    say(2, 20);
    say(2, 21);
    assert_eq!(taken(), [(6, Some(2), vec![20, 40])]);
    exchange.leave_host(4);
    read(&mut first, 4.5);
    read(&mut second, 4.5);
    hand_in(&[2], 4.5);
    assert_eq!(taken(), [(6, Some(2), vec![21])]);
    say(2, 22);
    exchange.leave_host(2);
    first.leave(at(4.9));
    second.leave(at(4.9));
    assert!(taken().is_empty(), "the last one ends with the load");
    exchange.finish();
    exchange.finish_own();
    exchange.finish_populations();
    assert_eq!(shown(exchange.finish_stages()), [(4, Some(2), vec![22])]);
}
