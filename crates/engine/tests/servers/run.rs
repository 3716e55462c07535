//! Whole runs against real servers: the embedded one and a scratch Samba.

use std::time::Duration;

use smbench_engine::Cancel;
use smbench_engine::run::{MeasuredInterval, Observer, Progress, Unobserved, execute};
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba, Signing};
use smbench_model::contents::Verify;
use smbench_model::kind::OpKind;
use smbench_model::record;
use smbench_model::record::{IntervalSummary, Outcome};
use smbench_model::sessions::Mode;
use smbench_model::spec::{GeneratorSpec, RunOptions, SessionsSpec, WorkSpec};
use smbench_protocol::{Dialect, SigningAlgorithm};

use crate::support::{assert_undisturbed, plan, short, target};

fn assert_clean(record: &record::RunRecord, points: usize) {
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.leftover, None);
    assert_eq!(record.load_points.len(), points);
    for point in &record.load_points {
        assert_undisturbed(point);
        let count = |kind| point.ops.whole(kind).count;
        assert!(OpKind::ALL.into_iter().any(|kind| count(kind) > 0));
        assert_eq!(point.window, record.plan.work.duration);
        assert_eq!(point.setup.session.len(), u64::from(point.clients));
    }
}

#[test]
fn the_file_server_profile_runs_on_the_embedded_server() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("1,3".parse().unwrap()),
            outstanding: Some(4),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        ..short()
    };
    let plan = plan(
        "file-server",
        &options,
        target(&server.url(), server.password()),
    );
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_clean(&record, 2);
    for point in &record.load_points {
        assert!(point.ops.whole(OpKind::Read).count > point.ops.whole(OpKind::Write).count);
    }
    assert_eq!(server.memory().paths(), Vec::<String>::new());
}

/// Collects the intervals that it is shown.
#[derive(Default)]
struct Intervals(Vec<(u32, u32, u64)>);

impl Observer for Intervals {
    fn progress(&mut self, _: &Progress) {}
    fn load_point_ended(&mut self, _: &record::RunRecord) {}
    fn interval_ended(&mut self, interval: &MeasuredInterval<'_>) {
        let (clients, count) = (interval.point.clients, interval.ops.all().count());
        self.0.push((clients, interval.index, count));
    }
}

#[test]
fn intervals_add_up_to_the_window() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("1,5".parse().unwrap()),
            outstanding: Some(3),
            duration: Some(Duration::from_millis(2500)),
            ..short().work
        },
        generator: GeneratorSpec {
            threads: Some(2),
            ..short().generator
        },
        ..short()
    };
    let target = target(&server.url(), server.password());
    let plan = plan("file-server", &options, target);
    let mut seen = Intervals::default();
    let record = execute(&plan, &mut seen, &Cancel::default()).unwrap();
    assert_clean(&record, 2);
    for point in &record.load_points {
        let (all, series) = (point.ops.window_all(), &point.series);
        assert_eq!((series.interval.as_secs(), series.all.len()), (1, 3));
        let sum = |of: &[IntervalSummary]| -> (u64, u64) {
            let pairs = of.iter().map(|interval| (interval.count, interval.bytes));
            pairs.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
        };
        assert_eq!(sum(&series.all), (all.count(), all.bytes));
        for kind in [OpKind::Read, OpKind::Write] {
            let of_window = point.ops.window(kind);
            let expected = (of_window.count(), of_window.bytes);
            assert_eq!(sum(&series.ops[&kind]), expected, "{kind:?}");
        }
        let longest = series.all.iter().map(|interval| interval.max).max();
        assert_eq!(longest, Some(all.service.max()));
        let shown = seen.0.iter().filter(|shown| shown.0 == point.clients);
        let summaries = series.all.iter().zip(0..);
        let expected: Vec<_> = summaries
            .map(|(interval, index)| (point.clients, index, interval.count))
            .collect();
        assert_eq!(shown.copied().collect::<Vec<_>>(), expected);
        // Every operation belongs to one client, and the operations in flight never
        // exceed the slots of all clients.
        assert_eq!(point.fairness.clients(), point.clients);
        let served = point.fairness.mean() * f64::from(point.clients);
        assert_eq!(served.round() as u64, all.count());
        let slots = point.clients * plan.only().outstanding;
        assert!(point.in_flight > Duration::ZERO);
        assert!(point.in_flight <= point.window * slots);
    }
}

#[test]
fn the_file_server_profile_runs_on_samba() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("1,4".parse().unwrap()),
            outstanding: Some(2),
            verify: Some(Verify::ReadBack),
            ..short().work
        },
        ..short()
    };
    let plan = plan(
        "file-server",
        &options,
        target(&samba.url(), samba.password()),
    );
    let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
    assert_clean(&record, 2);
    assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);
}

/// Makes a profile in a file that lives as long as the value.
fn profile(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn requests_of_many_credits_carry_the_right_data() {
    let profile = profile(
        "read_percent = 50\naccess = \"sequential\"\nflush_every_writes = 7\n\
         [files]\ncount = 2\nsize = \"3MiB\"\n\
         [[sizes]]\nsize = \"1MiB\"\nweight = 50\n[[sizes]]\nsize = \"300KiB\"\nweight = 50\n",
    );
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("2".parse().unwrap()),
            outstanding: Some(4),
            verify: Some(Verify::ReadBack),
            // Long enough for flushes that wait for a busy disk.
            duration: Some(Duration::from_secs(1)),
            ..short().work
        },
        ..short()
    };
    let path = profile.path().to_str().unwrap();
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let plan_on = |url: &str, password: &str| plan(path, &options, target(url, password));
    let mut plans = vec![plan_on(&server.url(), server.password())];
    let samba = ScratchSamba::or_skip(SambaOptions::default());
    plans.extend(
        samba
            .iter()
            .map(|samba| plan_on(&samba.url(), samba.password())),
    );
    for plan in plans {
        let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
        assert_clean(&record, 1);
        let ops = &record.load_points[0].ops;
        for kind in [OpKind::Read, OpKind::Write, OpKind::Flush] {
            assert!(ops.whole(kind).count > 0, "{}", kind.name());
        }
        assert_eq!(record.server.dialect, Some(Dialect::Smb311));
    }
}

#[test]
fn every_dialect_runs_signed_and_unsigned_on_samba() {
    let Some(lax) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let strict = ScratchSamba::start(SambaOptions {
        signing: Signing::Required,
        ..SambaOptions::default()
    })
    .unwrap();
    let hmac = Some(SigningAlgorithm::HmacSha256);
    let gmac = Some(SigningAlgorithm::AesGmac);
    for (samba, dialect, sign, expected) in [
        (&lax, Dialect::Smb21, Mode::Auto, None),
        (&lax, Dialect::Smb311, Mode::Off, None),
        (&lax, Dialect::Smb21, Mode::Required, hmac),
        (&lax, Dialect::Smb311, Mode::Required, gmac),
        (&strict, Dialect::Smb21, Mode::Auto, hmac),
        (&strict, Dialect::Smb311, Mode::Auto, gmac),
    ] {
        let options = RunOptions {
            work: WorkSpec {
                clients: Some("2".parse().unwrap()),
                outstanding: Some(3),
                verify: Some(Verify::ReadBack),
                ..short().work
            },
            sessions: SessionsSpec {
                dialect: Some(dialect.into()),
                sign: Some(sign),
                ..short().sessions
            },
            ..short()
        };
        let target = target(&samba.url(), samba.password());
        let plan = plan("file-server", &options, target);
        let record = execute(&plan, &mut Unobserved, &Cancel::default()).unwrap();
        assert_clean(&record, 1);
        assert_eq!(
            (record.server.dialect, record.server.signing),
            (Some(dialect), expected.map(SigningAlgorithm::name))
        );
    }
    let options = RunOptions {
        sessions: SessionsSpec {
            sign: Some(Mode::Off),
            ..short().sessions
        },
        ..short()
    };
    let target = target(&strict.url(), strict.password());
    let refused = execute(
        &plan("file-server", &options, target),
        &mut Unobserved,
        &Cancel::default(),
    );
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("the server requires signing"), "{text}");
}
