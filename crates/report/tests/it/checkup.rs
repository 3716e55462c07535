//! Check-ups: what is found, with which figure, and what a healthy server shows.

use std::time::Duration;

use smbench_model::Nanos;
use smbench_model::kind::OpKind;
use smbench_model::record::{LoadPointRecord, Phase, Tally, TcpRtt, TcpUse};
use smbench_report::checkup::{
    CheckupDoc, CheckupFacts, CheckupStep, MeasuredStep, compare, render,
};
use smbench_report::{Disclosure, RunDoc};

use crate::samples::{book, document, point, run};

/// Operations of a kind in a window of 10 s: number, bytes and milliseconds of each.
type Booked = (OpKind, u64, u32, f64);

fn loaded(clients: u32, work: &[Booked]) -> LoadPointRecord {
    let mut record = point(clients, 1, 1);
    record.ops = Tally::default();
    for &(kind, count, bytes, ms) in work {
        book(&mut record.ops, Phase::Window, |recorder| {
            for _ in 0..count {
                recorder.success(kind, bytes, Nanos((ms * 1e6) as u64));
            }
        });
    }
    record
}

/// A step on a server of another machine.
fn step(step: CheckupStep, points: Vec<LoadPointRecord>) -> MeasuredStep {
    let mut elsewhere = run(points);
    elsewhere.server.is_here = false;
    MeasuredStep {
        step,
        run: Ok(RunDoc::from_record(&elsewhere, Disclosure::default())),
    }
}

const MIB: u32 = 1 << 20;

/// A server without anything remarkable; `change` is applied to its load points.
fn server(change: impl Fn(CheckupStep, &mut LoadPointRecord)) -> Vec<MeasuredStep> {
    let read = |clients, count| loaded(clients, &[(OpKind::Read, count, MIB, 2.0)]);
    let one = |of, mut record: LoadPointRecord| {
        change(of, &mut record);
        step(of, vec![record])
    };
    let mut all = vec![
        one(CheckupStep::Echo, loaded(1, &[(OpKind::Echo, 900, 0, 0.2)])),
        one(
            CheckupStep::LogOns,
            loaded(
                1,
                &[
                    (OpKind::Session, 50, 0, 9.0),
                    (OpKind::SessionConnect, 50, 0, 0.3),
                    (OpKind::SessionLogOn, 50, 0, 6.0),
                ],
            ),
        ),
        one(
            CheckupStep::Flush,
            loaded(
                1,
                &[(OpKind::Write, 90, 4096, 0.4), (OpKind::Flush, 90, 0, 0.9)],
            ),
        ),
    ];
    let mut reads = vec![read(1, 1000), read(4, 3000)];
    reads
        .iter_mut()
        .for_each(|record| change(CheckupStep::Read, record));
    all.push(step(CheckupStep::Read, reads));
    for (of, count) in [
        (CheckupStep::ReadAhead, 1500),
        (CheckupStep::ReadSigned, 1450),
        (CheckupStep::ReadEncrypted, 1400),
        (CheckupStep::ReadAhead, 1420),
    ] {
        all.push(one(of, read(1, count)));
    }
    all
}

fn checkup(measured: &[MeasuredStep]) -> CheckupDoc {
    let facts = CheckupFacts {
        url: "smb://ann@nas/bench".to_owned(),
        long: false,
        started: "2026-11-27T10:00:00Z".to_owned(),
        took_s: 112.0,
        file_bytes: 64 << 20,
    };
    CheckupDoc::of(measured, facts)
}

/// Returns the findings with their figures.
fn found(measured: &[MeasuredStep]) -> Vec<(String, f64)> {
    let findings = checkup(measured).checkup.findings;
    findings.into_iter().map(|of| (of.name, of.value)).collect()
}

fn replaced(record: &mut LoadPointRecord, work: &[Booked]) {
    record.ops = loaded(record.clients, work).ops;
}

#[test]
fn a_healthy_server_has_no_finding_and_fits_a_screen() {
    let doc = checkup(&server(|_, _| {}));
    assert_eq!(doc.checkup.findings, []);
    let text = render(&doc);
    assert!(text.lines().count() <= 40, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(text.contains("Findings: none."), "{text}");
    let cell = |name: &str| doc.checkup.cells.iter().find(|of| of.name == name).unwrap();
    let echo_ms = cell("echo").value.unwrap();
    assert!((echo_ms - 0.2).abs() < 0.001, "{echo_ms}");
    assert_eq!(cell("listings").value, None);
    assert_eq!(
        cell("listings").invalid_reason.as_deref(),
        Some("not measured")
    );
}

#[test]
fn a_stream_that_waits_for_the_network_is_found_with_the_delay() {
    let far = server(|of, record| match of {
        CheckupStep::Echo => replaced(record, &[(OpKind::Echo, 90, 0, 20.0)]),
        CheckupStep::Read if record.clients == 1 => {
            replaced(record, &[(OpKind::Read, 300, MIB, 31.0)]);
        }
        _ => {}
    });
    let findings = found(&far);
    let [(name, delay)] = &findings[..] else {
        panic!("{findings:?}");
    };
    assert_eq!(name, "latency_bound");
    assert!((delay - 20.0).abs() < 0.1, "{delay}");
}

#[test]
fn what_encryption_costs_is_found_only_if_each_pass_shows_it() {
    let dear = server(|of, record| {
        if of == CheckupStep::ReadEncrypted {
            replaced(record, &[(OpKind::Read, 730, MIB, 9.0)]);
        }
    });
    let findings = found(&dear);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].0, "encryption_cost");
    assert!((findings[0].1 - 50.0).abs() < 0.1, "{findings:?}");
    // On this machine, both sides share the CPUs.
    let mut here = dear;
    for measured in &mut here {
        let server = &mut measured.run.as_mut().unwrap().server;
        server.notes = vec!["server and load generator share this machine".to_owned()];
    }
    assert_eq!(found(&here), []);
    let noisy = server(|of, record| match of {
        CheckupStep::ReadEncrypted => replaced(record, &[(OpKind::Read, 1200, MIB, 9.0)]),
        CheckupStep::ReadAhead if record.ops.window(OpKind::Read).service.len() == 1420 => {
            replaced(record, &[(OpKind::Read, 1190, MIB, 9.0)]);
        }
        _ => {}
    });
    assert_eq!(found(&noisy), []);
}

#[test]
fn slow_flushes_and_log_ons_in_steps_are_found() {
    let slow = server(|of, record| {
        if of == CheckupStep::Flush {
            let work = [(OpKind::Write, 90, 4096, 0.4), (OpKind::Flush, 90, 0, 12.0)];
            replaced(record, &work);
        }
    });
    let findings = found(&slow);
    assert_eq!(findings[0].0, "slow_flush");
    assert!((findings[0].1 - 12.0).abs() < 0.1);
    // A busy machine delayed most of them. smbench need not have been the limit.
    let delayed = |limited: Option<&str>, busy| {
        let measured = server(|of, record| {
            if of == CheckupStep::Flush {
                let flushes = [(OpKind::Flush, 90, 0, 12.0), (OpKind::Flush, 20, 0, 0.9)];
                replaced(
                    record,
                    &[&[(OpKind::Write, 90, 4096, 0.4)], &flushes[..]].concat(),
                );
                record.generator.limited = limited.map(str::to_owned);
                record.generator.machine_busy = Some(busy);
            }
        });
        let names = found(&measured).into_iter().map(|(name, _)| name);
        names.collect::<Vec<_>>()
    };
    let limited = delayed(Some("thread 0 lacked a CPU"), 0.5);
    assert_eq!(limited, ["client_limited"]);
    assert_eq!(delayed(None, 0.9), [] as [&str; 0]);
    assert_eq!(delayed(None, 0.5), ["slow_flush"]);
    let waits = |ms| {
        found(&server(|of, record| {
            if of == CheckupStep::LogOns {
                let work = [(OpKind::Session, 50, 0, 9.0), (OpKind::Session, 1, 0, ms)];
                replaced(record, &work);
            }
        }))
    };
    assert_eq!(waits(5012.0)[0].0, "log_on_waits");
    assert_eq!(waits(10_030.0)[0].0, "log_on_waits");
    assert_eq!(waits(2500.0), []);
    assert_eq!(waits(6500.0), []);
}

/// Each log-on of some load points takes so many milliseconds, and one of them takes 6.5 s.
#[test]
fn log_ons_that_all_wait_are_found_although_the_longest_lasts_longer() {
    let all_wait = |ms: u64, in_all: bool| {
        found(&server(|of, record| {
            if in_all || of == CheckupStep::Echo {
                record.setup.session.reset();
                for took_ms in [ms, ms, 6500] {
                    record.setup.session.saturating_record(took_ms * 1_000_000);
                }
            }
        }))
    };
    let findings = all_wait(5080, true);
    assert_eq!(findings[0].0, "log_on_waits");
    assert!((findings[0].1 - 5080.0).abs() < 20.0, "{findings:?}");
    assert_eq!(all_wait(5080, false), []);
    assert_eq!(all_wait(3000, true), []);
}

/// Returns the findings of a server behind a link of 11.8 MB/s; `change` is applied to what TCP
/// counted.
fn behind_a_link(change: impl Fn(&mut TcpUse)) -> Vec<(String, f64)> {
    found(&server(|of, record| {
        if !matches!(of, CheckupStep::Read | CheckupStep::ReadAhead) {
            return;
        }
        let ms = if record.clients == 4 { 330.0 } else { 85.0 };
        replaced(record, &[(OpKind::Read, 115, MIB, ms)]);
        let mut tcp = TcpUse {
            connections: record.clients,
            segments_sent: 9000,
            segments_received: 90_000,
            bytes_received: 118_000_000,
            rtt: Some(TcpRtt {
                least: Duration::from_micros(200),
                shortest: Duration::from_micros(220),
                median: Duration::from_micros(230),
                longest: Duration::from_micros(250),
            }),
            ..TcpUse::default()
        };
        change(&mut tcp);
        record.tcp = Some(Ok(tcp));
    }))
}

#[test]
fn a_full_link_loses_segments_at_one_rate() {
    let findings = behind_a_link(|tcp| tcp.out_of_order = 700);
    assert_eq!(findings[0].0, "link_full");
    assert!((findings[0].1 - 11.8).abs() < 0.1, "{findings:?}");
    let is_found = |findings: Vec<(String, f64)>| findings.iter().any(|of| of.0 == "link_full");
    assert!(!is_found(behind_a_link(|_| {})));
    let unequal = behind_a_link(|tcp| {
        tcp.out_of_order = 700;
        tcp.bytes_received += 20_000_000 * u64::from(tcp.connections);
    });
    assert!(!is_found(unequal));
}

#[test]
fn lookups_grow_with_a_folder_only_if_all_take_longer() {
    let lookups = |here: &[Booked]| {
        let mut all = server(|_, _| {});
        let empty = [(OpKind::LookupMissing, 900, 0, 0.2)];
        all.push(step(CheckupStep::MissingNames, vec![loaded(1, &empty)]));
        all.push(step(CheckupStep::MissingNamesBeside, vec![loaded(1, here)]));
        found(&all)
    };
    let findings = lookups(&[(OpKind::LookupMissing, 90, 0, 9.0)]);
    assert_eq!(findings[0].0, "missing_names");
    assert!((findings[0].1 - 9.0).abs() < 0.1, "{findings:?}");
    // A busy machine delayed most of them.
    let delayed = [
        (OpKind::LookupMissing, 90, 0, 9.0),
        (OpKind::LookupMissing, 20, 0, 0.3),
    ];
    assert_eq!(lookups(&delayed), []);
}

#[test]
fn two_check_ups_are_compared_cell_by_cell() {
    let before = checkup(&server(|_, _| {}));
    let after = checkup(&server(|of, record| {
        if of == CheckupStep::Echo {
            replaced(record, &[(OpKind::Echo, 90, 0, 0.4)]);
        }
    }));
    let text = smbench_report::block::to_text(&compare(&before, &after));
    let line = text.lines().find(|line| line.starts_with("echo ")).unwrap();
    assert!(line.ends_with("+100 %"), "{line}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), before.to_json()).unwrap();
    assert_eq!(CheckupDoc::load(file.path()).unwrap(), Some(before));
    let run: RunDoc = document(&run(vec![point(1, 1, 10)]));
    run.save(file.path()).unwrap();
    assert_eq!(CheckupDoc::load(file.path()).unwrap(), None);
}
