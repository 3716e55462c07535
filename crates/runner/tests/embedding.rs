//! What a program without the command does: options, request, run, document, file.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::mem::discriminant;
use std::path::Path;
use std::time::{Duration, SystemTime};

use smbench_engine::Cancel;
use smbench_engine::run::Progress;
use smbench_formats::profile;
use smbench_lab::{EmbeddedOptions, EmbeddedServer};
use smbench_model::limits::Limits;
use smbench_model::record::Outcome;
use smbench_model::secret::Secret;
use smbench_model::spec::{GeneratorSpec, RunOptions, WorkSpec};
use smbench_model::target::Target;
use smbench_report::{RunDoc, Study};
use smbench_runner::account::{Accounts, GivenServer, SuiteCredentials};
use smbench_runner::checkup::Checkup;
use smbench_runner::failure::{Exit, Failure};
use smbench_runner::hosts::Hosts;
use smbench_runner::observer::RunObserver;
use smbench_runner::request::{RunRequest, RunServer};
use smbench_runner::results::{ResultFiles, Results};
use smbench_runner::run::{RunJob, finished};
use smbench_runner::searching::ProbeLines;
use smbench_runner::suite::options::{NamedServers, SuiteLoad, SuiteOptions};
use smbench_runner::suite::{Control, Folder, Runner, Source, Suite};
use smbench_runner::time_left::TimeLeft;
use smbench_runner::unsaved::Unsaved;
use smbench_runner::verdict::MissedRate;
use smbench_runner::watch::{PointLines, RunPart};

/// Returns the server's share with its password, which a program has as a value.
fn target(server: &EmbeddedServer) -> Target {
    let (target, _) = Target::parse(&server.url()).unwrap();
    Target {
        password: Secret::new(server.password()),
        ..target
    }
}

fn short() -> WorkSpec {
    WorkSpec {
        ramp_up: Some(Duration::from_millis(50)),
        duration: Some(Duration::from_millis(300)),
        ramp_down: Some(Duration::ZERO),
        ..WorkSpec::default()
    }
}

fn options(work: WorkSpec) -> RunOptions {
    RunOptions {
        work,
        generator: GeneratorSpec {
            threads: Some(1),
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    }
}

/// Counts what a user would see.
#[derive(Default)]
struct Seen {
    phases: RefCell<Vec<std::mem::Discriminant<Progress>>>,
    points: Cell<usize>,
    notes: RefCell<Vec<String>>,
}

impl RunObserver for Seen {
    fn progress(&self, progress: &Progress, _: &TimeLeft) {
        self.phases.borrow_mut().push(discriminant(progress));
    }

    fn points(&self, doc: &RunDoc) {
        self.points.set(doc.load_points.len());
    }

    fn note(&self, text: &str) {
        self.notes.borrow_mut().push(text.to_owned());
    }
}

fn documents(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_program_makes_a_run_and_saves_its_document() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let work = WorkSpec {
        clients: Some("1,2".parse().unwrap()),
        ..short()
    };
    let given = GivenServer::new(target(&server));
    let request = RunRequest::resolve(
        &profile::load("read-4k").unwrap(),
        &options(work),
        RunServer::Given(Box::new(given)),
        Limits::default(),
    )
    .unwrap();
    let request = RunRequest {
        label: Some("from a program".to_owned()),
        ..request
    };
    let files = ResultFiles {
        folder: folder.path().to_owned(),
        ..ResultFiles::default()
    };
    let mut results = Results::prepare(&files, "read-4k", SystemTime::now()).unwrap();
    let RunServer::Given(given) = &request.server else {
        panic!("the server is given");
    };
    let plan = request.plan(given.with_password().unwrap());
    let (seen, unsaved, cancel) = (Seen::default(), Unsaved::default(), Cancel::default());
    let mut left = TimeLeft::of_plans([&plan].into_iter());
    let job = RunJob {
        plan: &plan,
        disclosure: request.disclosure(),
        part: RunPart {
            left: &mut left,
            plan: &plan,
            place: None,
            points: PointLines::Printed,
        },
        search: None,
        probes: ProbeLines::Hidden,
        log: None,
        reports: Vec::new(),
        conditions: &[],
        state: None,
        hosts: &Hosts::Alone,
        observer: &seen,
        unsaved: &unsaved,
        cancel: &cancel,
    };
    let record = job.measure(&mut results).record.unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    // Each load point is on disk before the run has ended.
    let path = results.path().unwrap().to_owned();
    assert_eq!(RunDoc::load(&path).unwrap().load_points.len(), 2);
    let doc = finished(&record, request.disclosure(), None);
    results.save(&doc).unwrap();

    let saved = RunDoc::load(&path).unwrap();
    assert_eq!(saved, doc);
    assert_eq!(saved.label.as_deref(), Some("from a program"));
    // That of the test may say what nobody may know.
    assert_eq!(saved.command, [""; 0]);
    assert_eq!(saved.plan.profile, "read-4k");
    let clients = saved.load_points.iter().map(|point| point.clients);
    assert_eq!(clients.collect::<Vec<_>>(), [1, 2]);
    for point in &saved.load_points {
        assert!(point.ops["read"].count > 0, "{point:?}");
        assert_eq!(point.errors, 0);
    }
    assert!(!saved.to_json().contains(server.password()));
    assert_eq!(documents(folder.path()).len(), 1);
    assert_eq!(seen.points.get(), 2);
    assert!(
        seen.phases
            .borrow()
            .contains(&discriminant(&Progress::Connecting))
    );
    let notes = seen.notes.borrow();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("1 client: "), "{notes:?}");
}

/// Has the passwords of the servers that a suite names.
struct Known(Target);

impl Accounts for Known {
    fn open(&self, url: &str, _: &SuiteCredentials) -> Result<GivenServer, Failure> {
        let (target, _) = Target::parse(url)?;
        assert_eq!(target.redacted(), self.0.redacted());
        Ok(GivenServer::new(self.0.clone()))
    }
}

#[test]
fn a_program_makes_a_suite_and_continues_it() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let servers = vec![format!("mine={}", server.url())];
    let measure = |passes| {
        let options = SuiteOptions {
            servers: NamedServers {
                servers: servers.clone(),
                ..NamedServers::default()
            },
            load: SuiteLoad {
                points: Some("1".parse().unwrap()),
                passes: Some(passes),
                profiles: vec!["read-4k".to_owned()],
                ..SuiteLoad::default()
            },
            run: options(short()),
            limits: Limits::default(),
        };
        let source = Source::of_servers(&servers);
        let mut suite = Suite::resolve(&source, &options, &Known(target(&server))).unwrap();
        suite.ask().unwrap();
        let mut folder = Folder::open(&out, &mut suite).unwrap();
        let seen = Seen::default();
        let control = Control {
            observer: &seen,
            hosts: &Hosts::Alone,
            cancel: &Cancel::default(),
            unsaved: &Unsaved::default(),
            points: PointLines::Hidden,
            missed_rate: MissedRate::Fails,
        };
        let ended = Runner::new(&suite, &mut folder, control).run().unwrap();
        (ended, seen.points.get())
    };
    let (ended, points) = measure(2);
    assert!(points > 0);
    let study = Study::load(&out).unwrap();
    assert_eq!(study.results.len(), 1);
    assert_eq!(study.doc.passes, 2);
    let run = &study.results[0].run;
    assert_eq!(run.load_points.len(), 2);
    // Whether a load point is valid is of the machine.
    let is_valid = run.load_points.iter().all(|point| point.valid);
    assert_eq!(ended == Exit::Done, is_valid, "{ended:?}");
    // Nothing is left to measure.
    assert_eq!(measure(2), (ended, 0));
}

/// A cell of the first step.
const MEASURED: &str = "sequential_write_8_in_flight";

/// Stops a check-up when its third step begins.
struct StopsThird<'a> {
    cancel: &'a Cancel,
    begun: Cell<u32>,
}

impl RunObserver for StopsThird<'_> {
    fn progress(&self, progress: &Progress, _: &TimeLeft) {
        if matches!(progress, Progress::Connecting) {
            self.begun.set(self.begun.get() + 1);
            if self.begun.get() == 3 {
                self.cancel.cancel();
            }
        }
    }
}

#[test]
fn an_interrupted_check_up_keeps_what_it_measured() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    // A window in which a busy machine completes nothing is too short.
    let mut window = Duration::from_millis(100);
    let doc = loop {
        let cancel = Cancel::default();
        let observer = StopsThird {
            cancel: &cancel,
            begun: Cell::new(0),
        };
        let checkup = Checkup {
            target: target(&server),
            options: RunOptions::default(),
            limits: Limits::default(),
            long: false,
            window: Some(window),
            points: PointLines::Hidden,
            observer: &observer,
            unsaved: &Unsaved::default(),
            cancel: &cancel,
        };
        let doc = checkup.measure().unwrap();
        // No further step was begun.
        assert_eq!(observer.begun.get(), 3);
        let first = doc.checkup.cells.iter().find(|cell| cell.name == MEASURED);
        if first.unwrap().value.is_some() || window > Duration::from_secs(10) {
            break doc;
        }
        window *= 4;
    };
    let cell = |name: &str| {
        let mut cells = doc.checkup.cells.iter();
        cells.find(|cell| cell.name == name).unwrap()
    };
    assert!(cell(MEASURED).value.is_some());
    let missing = cell("sequential_read_1_in_flight");
    assert_eq!(missing.value, None);
    assert_eq!(missing.invalid_reason.as_deref(), Some("interrupted"));
}
