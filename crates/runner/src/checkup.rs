//! A check-up of a server: runs of short load points, one after another. Each has a directory
//! and files of its own. Not here: what follows from them ([`smbench_report::checkup`]).

use std::io;
use std::time::{Duration, Instant, SystemTime};

use humantime::format_rfc3339_seconds;
use smbench_engine::Cancel;
use smbench_formats::profile;
use smbench_model::generator::TcpCounters;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::sessions::Mode;
use smbench_model::spec::{RunOptions, WorkSpec};
use smbench_model::target::Target;
use smbench_publish::{Report, ReportBlock, Section, to_html};
use smbench_report::RunDoc;
use smbench_report::checkup::{CheckupDoc, CheckupFacts, CheckupStep, MeasuredStep, blocks};

use crate::account::GivenServer;
use crate::failure::Failure;
use crate::observer::RunObserver;
use crate::request::{RunRequest, RunServer};
use crate::run::{JobOutcome, RunJob, finished};
use crate::time_left::TimeLeft;
use crate::unsaved::Unsaved;
use crate::watch::{PointLines, RunPart, SaveResults};

/// Sizes of the file that is read and written: the first one, the least and the most, and the
/// most of a long check-up.
const FIRST_BYTES: u64 = 16 << 20;
const LEAST_BYTES: u64 = 16 << 20;
const MOST_BYTES: u64 = 64 << 20;
const MOST_BYTES_LONG: u64 = 1 << 30;
/// Measured time of a load point, and the load before it; the same of a long check-up.
const WINDOW: Duration = Duration::from_millis(2500);
const RAMP_UP: Duration = Duration::from_millis(400);
const WINDOW_LONG: Duration = Duration::from_secs(20);
const RAMP_UP_LONG: Duration = Duration::from_secs(1);
/// The load after a load point.
const RAMP_DOWN: Duration = Duration::from_millis(100);
/// Time that making the file should take, at most the measured time of a load point.
const MAKING: Duration = Duration::from_secs(1);

/// The steps in their order. Runs that are compared with each other alternate.
const STEPS: [CheckupStep; 21] = [
    CheckupStep::WriteBehind,
    CheckupStep::Echo,
    CheckupStep::LogOns,
    CheckupStep::Read,
    CheckupStep::ReadAhead,
    CheckupStep::ReadSigned,
    CheckupStep::ReadEncrypted,
    CheckupStep::ReadAhead,
    CheckupStep::ReadSigned,
    CheckupStep::ReadEncrypted,
    CheckupStep::Write,
    CheckupStep::RandomRead,
    CheckupStep::RandomReadDeep,
    CheckupStep::RandomWrite,
    CheckupStep::RandomWriteDeep,
    CheckupStep::Files,
    CheckupStep::SmallFiles,
    CheckupStep::Listings,
    CheckupStep::Flush,
    CheckupStep::MissingNames,
    CheckupStep::MissingNamesBeside,
];

/// A check-up that is to be carried out.
pub struct Checkup<'a> {
    /// The server, with its password.
    pub target: Target,
    /// Options of sessions and of the generator, where no step has its own.
    pub options: RunOptions,
    /// Time limits.
    pub limits: Limits,
    /// Whether it takes ten minutes instead of two.
    pub long: bool,
    /// Measured time of each load point, if not the usual one.
    pub window: Option<Duration>,
    /// Whether each load point has a line.
    pub points: PointLines,
    /// Gets progress and messages.
    pub observer: &'a dyn RunObserver,
    /// Marks results that are not on disk yet.
    pub unsaved: &'a Unsaved,
    /// Ends the check-up.
    pub cancel: &'a Cancel,
}

/// Documents of steps are parts of one document, which is saved at the end.
struct NotSaved;

impl SaveResults for NotSaved {
    fn save(&mut self, _: RunDoc) -> Result<(), Failure> {
        Ok(())
    }
}

impl Checkup<'_> {
    /// Carries out all steps, and returns what they show. A step that fails leaves its cells
    /// empty.
    ///
    /// # Errors
    ///
    /// The error of the first step if it measured nothing, also where it was interrupted. An
    /// interrupt later leaves the cells of the steps that follow empty.
    pub fn measure(&self) -> Result<CheckupDoc, Failure> {
        let (started, begin) = (SystemTime::now(), Instant::now());
        let mut file_bytes = FIRST_BYTES;
        let mut plans = Vec::new();
        for step in STEPS {
            plans.push(self.request(step, file_bytes)?.draft);
        }
        let mut left = TimeLeft::of_plans(plans.iter());
        let mut measured: Vec<MeasuredStep> = Vec::new();
        for (at, step) in STEPS.into_iter().enumerate() {
            let request = self.request(step, file_bytes)?;
            let run = (!self.cancel.is_cancelled()).then(|| {
                let place = format!("step {} of {}", at + 1, STEPS.len());
                self.run(&request, &place, &mut left)
            });
            let run = match run {
                Some(run) if !self.cancel.is_cancelled() => run,
                // It was not begun, or cut short.
                _ => Err(Failure::Interrupted),
            };
            let run = match run {
                // If the first one fails, so do all others.
                Err(failure) if at == 0 => return Err(failure),
                Err(Failure::Interrupted) => Err("interrupted".to_owned()),
                Err(failure) => Err(failure.to_string()),
                Ok(run) => Ok(run),
            };
            if let (0, Ok(run)) = (at, &run) {
                let first = run.load_points.first();
                file_bytes = self.file_bytes(first.map_or(0.0, |point| point.throughput_mbps));
            }
            measured.push(MeasuredStep { step, run });
        }
        self.observer.ended();
        let facts = CheckupFacts {
            url: self.target.redacted(),
            long: self.long,
            started: format_rfc3339_seconds(started).to_string(),
            took_s: begin.elapsed().as_secs_f64(),
            file_bytes,
        };
        Ok(CheckupDoc::of(&measured, facts))
    }

    /// Returns the size of the file, from the rate in Mbit/s at which it can be written.
    fn file_bytes(&self, mbps: f64) -> u64 {
        let most = if self.long {
            MOST_BYTES_LONG
        } else {
            MOST_BYTES
        };
        let making = self.window.map_or(MAKING, |window| window.min(MAKING));
        let bytes = mbps * 1e6 / 8.0 * making.as_secs_f64();
        // Whole requests of 1 MiB.
        (bytes as u64).clamp(LEAST_BYTES, most) >> 20 << 20
    }

    fn run(
        &self,
        request: &RunRequest,
        place: &str,
        left: &mut TimeLeft,
    ) -> Result<RunDoc, Failure> {
        let plan: Plan = request.plan(self.target.clone());
        let disclosure = request.disclosure();
        let part = RunPart {
            left,
            plan: &plan,
            place: Some(place),
            points: self.points,
        };
        let known = disclosure.clone();
        let job = RunJob::simple(part, known, self.observer, self.unsaved, self.cancel);
        let JobOutcome { record, .. } = job.measure(NotSaved);
        Ok(finished(&record?, disclosure, None))
    }

    /// Returns the run of a step.
    fn request(&self, step: CheckupStep, file_bytes: u64) -> Result<RunRequest, Failure> {
        let (operations, clients, outstanding) = load(step);
        let text = match operations {
            StepLoad::Mix(op) => format!("name = \"checkup\"\n{op}"),
            StepLoad::Data(data) => format!(
                "name = \"checkup\"\n{data}[files]\nscope = \"shared\"\ncount = 1\nsize = {file_bytes}\n"
            ),
        };
        let profile =
            profile::parse("checkup", &text).map_err(|error| Failure::Usage(error.to_string()))?;
        let (window, ramp_up) = if self.long {
            (WINDOW_LONG, RAMP_UP_LONG)
        } else {
            (WINDOW, RAMP_UP)
        };
        let window = self.window.unwrap_or(window);
        let mut options = self.options.clone();
        options.work = WorkSpec {
            clients: Some(
                clients
                    .parse()
                    .map_err(|_| Failure::Usage("clients".to_owned()))?,
            ),
            outstanding: Some(outstanding),
            duration: Some(window),
            ramp_up: Some(ramp_up.min(window)),
            ramp_down: Some(RAMP_DOWN.min(window)),
            ..WorkSpec::default()
        };
        options.generator.tcp = Some(TcpCounters::Read);
        let (sign, encrypt) = match step {
            CheckupStep::ReadAhead => (Some(Mode::Auto), Some(Mode::Auto)),
            CheckupStep::ReadSigned => (Some(Mode::Required), Some(Mode::Off)),
            CheckupStep::ReadEncrypted => (Some(Mode::Auto), Some(Mode::Required)),
            _ => (options.sessions.sign, options.sessions.encrypt),
        };
        options.sessions.sign = sign;
        options.sessions.encrypt = encrypt;
        let server = RunServer::Given(Box::new(GivenServer::new(self.target.clone())));
        RunRequest::resolve(&profile, &options, server, self.limits)
    }
}

/// Returns the page of a check-up, as HTML.
///
/// # Errors
///
/// [`Failure`] if the page cannot be made.
pub fn page(doc: &CheckupDoc) -> Result<String, Failure> {
    let section = Section {
        title: "Check-up".to_owned(),
        blocks: blocks(doc).into_iter().map(ReportBlock::Plain).collect(),
        parts: Vec::new(),
    };
    let report = Report {
        title: format!("Check-up of {}", doc.url),
        day: doc.started.chars().take(10).collect(),
        lines: Vec::new(),
        sections: vec![section],
    };
    let failed = |error| Failure::io("make the page")(io::Error::other(error));
    to_html(&report).map_err(failed)
}

/// What a step does: requests of a mix, or reads and writes of the shared file.
enum StepLoad {
    Mix(&'static str),
    Data(&'static str),
}

/// Returns the operations of a step, its clients, and its requests in flight.
const fn load(step: CheckupStep) -> (StepLoad, &'static str, u32) {
    use StepLoad::{Data, Mix};
    const READ: &str = "read_percent = 100\naccess = \"sequential\"\nsizes = [{ size = \"1MiB\", weight = 100 }]\n";
    const WRITE: &str =
        "read_percent = 0\naccess = \"sequential\"\nsizes = [{ size = \"1MiB\", weight = 100 }]\n";
    const RANDOM_READ: &str =
        "read_percent = 100\naccess = \"random\"\nsizes = [{ size = \"4KiB\", weight = 100 }]\n";
    const RANDOM_WRITE: &str =
        "read_percent = 0\naccess = \"random\"\nsizes = [{ size = \"4KiB\", weight = 100 }]\n";
    const FLUSH: &str = "read_percent = 0\naccess = \"random\"\nflush_every_writes = 1\nsizes = [{ size = \"4KiB\", weight = 100 }]\n";
    const ECHO: &str = "operations = [{ op = \"echo\", weight = 100 }]\n";
    const LOG_ONS: &str = "operations = [{ op = \"session\", weight = 100 }]\n";
    const FILES: &str = "operations = [{ op = \"create\", disposition = \"create\", weight = 100 }]\n[files]\nscope = \"private\"\ncount = 1\nsize = \"4KiB\"\n";
    const SMALL: &str = "operations = [{ op = \"create_read_close\", weight = 100 }]\nsizes = [{ size = \"16KiB\", weight = 100 }]\naccess = \"random\"\n[files]\nscope = \"private\"\ncount = 20\nsize = \"16KiB\"\n";
    const LISTINGS: &str = "operations = [{ op = \"query_directory\", weight = 100 }]\n[files]\nscope = \"private\"\ncount = 20\nsize = \"4KiB\"\n";
    const MISSING: &str = "operations = [{ op = \"lookup_missing\", weight = 100 }]\n[files]\nscope = \"private\"\ncount = 1\nsize = \"4KiB\"\n";
    const MISSING_BESIDE: &str = "operations = [{ op = \"lookup_missing\", root = \"target\", weight = 100 }]\n[files]\nscope = \"private\"\ncount = 1\nsize = \"4KiB\"\n";
    match step {
        CheckupStep::Echo => (Mix(ECHO), "1", 1),
        CheckupStep::LogOns => (Mix(LOG_ONS), "1,4", 1),
        CheckupStep::Read => (Data(READ), "1,4", 1),
        CheckupStep::ReadAhead | CheckupStep::ReadSigned | CheckupStep::ReadEncrypted => {
            (Data(READ), "1", 8)
        }
        CheckupStep::Write => (Data(WRITE), "1,4", 1),
        CheckupStep::WriteBehind => (Data(WRITE), "1", 8),
        CheckupStep::RandomRead => (Data(RANDOM_READ), "1,16", 1),
        CheckupStep::RandomReadDeep => (Data(RANDOM_READ), "1", 32),
        CheckupStep::RandomWrite => (Data(RANDOM_WRITE), "1,16", 1),
        CheckupStep::RandomWriteDeep => (Data(RANDOM_WRITE), "1", 32),
        CheckupStep::Files => (Mix(FILES), "4", 1),
        CheckupStep::SmallFiles => (Mix(SMALL), "4", 1),
        CheckupStep::Listings => (Mix(LISTINGS), "4", 1),
        CheckupStep::Flush => (Data(FLUSH), "1", 1),
        CheckupStep::MissingNames => (Mix(MISSING), "1", 1),
        CheckupStep::MissingNamesBeside => (Mix(MISSING_BESIDE), "1", 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::embedded;

    #[test]
    fn every_step_has_a_plan_with_its_own_sessions() {
        let (unsaved, cancel) = (Unsaved::default(), Cancel::default());
        let checkup = Checkup {
            target: embedded(),
            options: RunOptions::default(),
            limits: Limits::default(),
            long: false,
            window: None,
            points: PointLines::Hidden,
            observer: &(),
            unsaved: &unsaved,
            cancel: &cancel,
        };
        for step in STEPS {
            let plan = checkup.request(step, LEAST_BYTES).unwrap().draft;
            let options = plan.sessions.options;
            let must = [options.signing, options.encryption].map(|mode| mode == Mode::Required);
            assert_eq!(
                must,
                [
                    step == CheckupStep::ReadSigned,
                    step == CheckupStep::ReadEncrypted
                ],
                "{step:?}"
            );
            assert_eq!(plan.generator.tcp, TcpCounters::Read);
        }
        assert_eq!(checkup.file_bytes(0.0), LEAST_BYTES);
        assert_eq!(checkup.file_bytes(1e9), MOST_BYTES);
        assert_eq!(checkup.file_bytes(300.0), 35 << 20);
    }
}
