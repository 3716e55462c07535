//! A run of an embedding program: from a few options to a plan, its measurements and its
//! document.
//!
//! Not here: how a plan is made valid ([`Plan::resolve`]), and how it is measured
//! ([`smbench_engine`]).

use std::fmt;
use std::thread;
use std::time::Duration;

use smbench_engine::{Cancel, Observer, RunError, Unobserved, execute};
use smbench_formats::profile;
use smbench_model::limits::Limits;
use smbench_model::load::Rate;
use smbench_model::secret::Secret;
use smbench_model::sessions::Mode;
use smbench_model::{Plan, Profile, RunOptions, RunRecord, Spec, Target};
use smbench_report::doc::{MachineDoc, OutcomeDoc};
use smbench_report::text::missed_rate;
use smbench_report::{Disclosure, RunDoc};
use tokio::sync::oneshot;

use crate::error::Error;
use crate::written::WrittenRun;

/// Note for results of a server in the process of the program.
#[cfg(feature = "lab")]
const IN_THIS_PROCESS: &str = "server and load generator share this process, so that the client's \
    CPU time and memory include the server's; files are in memory: not for quoting";
/// Name of the thread of a run.
const THREAD: &str = "smbench-run";

/// A run that is to be carried out. What is not given has the default of the command.
///
/// A mistake in a value is returned by the method that ends the chain: [`Run::plan`],
/// [`Run::execute`] or [`Run::start`].
#[must_use = "nothing happens before `execute` or `start`"]
pub struct Run {
    target: Target,
    profile: Result<Profile, Error>,
    options: RunOptions,
    limits: Limits,
    disclosure: Disclosure,
    observer: Box<dyn Observer + Send>,
    cancel: Cancel,
    /// The first mistake in a value, if there is one.
    mistake: Option<Error>,
}

/// What a run has measured. A run that was cancelled or aborted has what it measured until then.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finished {
    /// The measurements, with whole histograms.
    pub record: RunRecord,
    /// The result document, which the command writes as well.
    pub doc: RunDoc,
}

impl Run {
    /// Returns a run on the server with this URL, `smb://[DOMAIN;]USER@HOST[:PORT]/SHARE[/PATH]`.
    pub fn on(url: &str) -> Self {
        match Target::parse(url) {
            Ok((target, _)) => Self::on_target(target),
            Err(error) => Self {
                mistake: Some(Error::Target(error)),
                ..Self::on_target(Target::none())
            },
        }
    }

    /// Returns a run on this server.
    pub fn on_target(target: Target) -> Self {
        Self {
            target,
            profile: profile::load(profile::DEFAULT).map_err(Error::Profile),
            options: RunOptions::default(),
            limits: Limits::default(),
            disclosure: Disclosure {
                machine: Some(MachineDoc::this()),
                ..Disclosure::default()
            },
            observer: Box::new(Unobserved),
            cancel: Cancel::default(),
            mistake: None,
        }
    }

    /// Returns a run on an embedded server of this process. Its document says so.
    #[cfg(feature = "lab")]
    pub fn on_embedded(server: &smbench_lab::EmbeddedServer) -> Self {
        let mut run = Self::on(&server.url()).password(server.password());
        run.disclosure.place = smbench_report::ServerLocation::Embedded;
        run.disclosure.notes.push(IN_THIS_PROCESS.to_owned());
        run
    }

    /// Returns the run that a JSON object describes. The keys are `server`, which is required,
    /// `profile` or `workload`, `run`, `label` and `note`. `workload` has the keys of a profile
    /// file, and `run` those of its table `[run]`.
    ///
    /// # Errors
    /// [`Error::Json`] or [`Error::Workload`] if the text is no such object.
    pub fn from_json(json: &str) -> Result<Self, Error> {
        let written = WrittenRun::parse(json)?;
        let run = Self::on(&written.server).options(written.run);
        let run = match (written.profile, written.workload) {
            (Some(name), _) => run.profile(&name),
            (None, Some(spec)) => run.workload("workload", spec),
            (None, None) => return Err(Error::Workload),
        };
        let run = written
            .label
            .iter()
            .fold(run, |run, label| run.label(label));
        Ok(written.note.iter().fold(run, |run, note| run.note(note)))
    }

    /// Sets the password of the account.
    pub fn password(mut self, password: &str) -> Self {
        self.target.password = Secret::new(password);
        self
    }

    /// Sets the workload: the name of a built-in profile, or the path of a file.
    pub fn profile(self, name_or_path: &str) -> Self {
        let profile = profile::load(name_or_path).map_err(Error::Profile);
        Self { profile, ..self }
    }

    /// Sets the workload to one made in code. Results call it `name`.
    pub fn workload(self, name: &str, spec: Spec) -> Self {
        self.with_profile(Profile::from_spec(name, spec))
    }

    /// Sets the workload to a profile that has been loaded or made.
    pub fn with_profile(self, profile: Profile) -> Self {
        let profile = Ok(profile);
        Self { profile, ..self }
    }

    /// Sets the number of clients of each load point.
    pub fn clients(mut self, clients: impl IntoIterator<Item = u32>) -> Self {
        let clients: Vec<_> = clients.into_iter().map(|count| count.to_string()).collect();
        match clients.join(",").parse() {
            Ok(list) => self.options.work.clients = Some(list),
            Err(error) => {
                self.mistake.get_or_insert(Error::Clients(error));
            }
        }
        self
    }

    /// Sets the length of the measured window of each load point.
    pub fn duration(mut self, window: Duration) -> Self {
        self.options.work.duration = Some(window);
        self
    }

    /// Sets the time under load before the window, and after it.
    pub fn ramps(mut self, before: Duration, after: Duration) -> Self {
        self.options.work.ramp_up = Some(before);
        self.options.work.ramp_down = Some(after);
        self
    }

    /// Sets the number of passes over all load points. A comparison needs several.
    pub fn repeat(mut self, passes: u32) -> Self {
        self.options.work.repeat = Some(passes);
        self
    }

    /// Sets how many operations all clients together begin per second. They begin by the clock,
    /// not after the answers.
    pub fn rate(mut self, per_second: f64) -> Self {
        match per_second.to_string().parse::<Rate>() {
            Ok(rate) => self.options.work.rate = Some(rate.into()),
            Err(error) => {
                self.mistake.get_or_insert(Error::Rate(error));
            }
        }
        self
    }

    /// Sets the seed of all random choices.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.work.seed = Some(seed);
        self
    }

    /// Sets whether messages are signed.
    pub fn sign(mut self, signing: Mode) -> Self {
        self.options.sessions.sign = Some(signing);
        self
    }

    /// Sets whether messages are encrypted.
    pub fn encrypt(mut self, encryption: Mode) -> Self {
        self.options.sessions.encrypt = Some(encryption);
        self
    }

    /// Sets any options. Those that `options` lacks keep their values.
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = options.or(self.options);
        self
    }

    /// Sets the limits of every wait.
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the name of the result.
    pub fn label(mut self, label: &str) -> Self {
        self.disclosure.label = Some(label.to_owned());
        self
    }

    /// Sets a remark about the result.
    pub fn note(mut self, note: &str) -> Self {
        self.disclosure.note = Some(note.to_owned());
        self
    }

    /// Sets what a reader must know about the server, such as its handling of a FLUSH. It
    /// replaces the label, the remark and what `Run::on_embedded` states.
    pub fn disclosure(self, disclosure: Disclosure) -> Self {
        Self { disclosure, ..self }
    }

    /// Sets what follows the run: [`events`](crate::events) for a channel,
    /// [`each_event`](crate::each_event) for a function, or an [`Observer`] of your own.
    pub fn observer(self, observer: impl Observer + Send + 'static) -> Self {
        let observer = Box::new(observer);
        Self { observer, ..self }
    }

    /// Sets what stops the run. The caller keeps a clone.
    pub fn cancel(self, cancel: Cancel) -> Self {
        Self { cancel, ..self }
    }

    /// Checks the run and returns its plan. Makes no connection.
    ///
    /// # Errors
    /// The first mistake in a value.
    pub fn plan(self) -> Result<Plan, Error> {
        Ok(self.resolve()?.plan)
    }

    /// Carries the run out, and blocks the thread until it has ended.
    ///
    /// # Errors
    /// If nothing was measured. A run that is cancelled or aborted after its first load point
    /// is no error; see [`Finished::why_invalid`].
    ///
    /// # Panics
    /// On a thread that runs async code of tokio; there, use [`Run::start`].
    pub fn execute(self) -> Result<Finished, Error> {
        self.resolve()?.execute()
    }

    /// Carries the run out on a thread of its own, which starts at once. The future needs no
    /// runtime. If it is dropped, the run is cancelled, and its thread removes its files.
    ///
    /// # Errors
    /// As [`Run::execute`]. Also [`Error::Thread`].
    ///
    /// # Panics
    /// The future panics if the run panicked.
    pub fn start(self) -> impl Future<Output = Result<Finished, Error>> + Send + 'static {
        let started = self.resolve().and_then(ReadyRun::spawn);
        async move {
            let (done, _guard) = started?;
            let Ok(ended) = done.await else {
                unreachable!("the thread of the run has ended with a panic");
            };
            ended
        }
    }

    fn resolve(self) -> Result<ReadyRun, Error> {
        if let Some(mistake) = self.mistake {
            return Err(mistake);
        }
        // If the system does not provide the number, one thread always works.
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        let plan = Plan::resolve(
            &self.profile?,
            &self.options,
            self.target,
            self.limits,
            cores,
        );
        Ok(ReadyRun {
            plan: plan.map_err(Error::Plan)?,
            disclosure: self.disclosure,
            observer: self.observer,
            cancel: self.cancel,
        })
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("target", &self.target)
            .field("profile", &self.profile)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// A run whose values are valid.
struct ReadyRun {
    plan: Plan,
    disclosure: Disclosure,
    observer: Box<dyn Observer + Send>,
    cancel: Cancel,
}

/// What a thread sends at the end of its run.
type EndOfRun = oneshot::Receiver<Result<Finished, Error>>;

impl ReadyRun {
    fn execute(mut self) -> Result<Finished, Error> {
        let record = execute(&self.plan, &mut *self.observer, &self.cancel);
        let failed = |error: RunError| Error::Run(Box::new(error));
        let record = record.map_err(failed)?;
        let doc = RunDoc::from_record(&record, self.disclosure.completed(&record));
        Ok(Finished { record, doc })
    }

    fn spawn(mut self) -> Result<(EndOfRun, CancelWhenDropped), Error> {
        // A cancel of the caller may be that of further runs.
        self.cancel = self.cancel.child();
        let guard = CancelWhenDropped(self.cancel.clone());
        let (sender, receiver) = oneshot::channel();
        let work = move || {
            // Fails if nobody waits any more.
            let _ = sender.send(self.execute());
        };
        let thread = thread::Builder::new().name(THREAD.to_owned());
        thread.spawn(work).map_err(Error::Thread)?;
        Ok((receiver, guard))
    }
}

/// Stops a run that nobody waits for any more.
struct CancelWhenDropped(Cancel);

impl Drop for CancelWhenDropped {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Finished {
    /// Returns why the result must not be quoted; `None` if it may be.
    #[must_use]
    pub fn why_invalid(&self) -> Option<String> {
        let none = || "no reason given".to_owned();
        match self.doc.outcome {
            OutcomeDoc::Interrupted => return Some("the run was cancelled".to_owned()),
            OutcomeDoc::Aborted => {
                return Some(self.doc.outcome_reason.clone().unwrap_or_else(none));
            }
            OutcomeDoc::Complete => {}
        }
        let mut points = self.doc.load_points.iter();
        match points.find(|point| !point.valid) {
            Some(point) => Some(point.invalid_reason.clone().unwrap_or_else(none)),
            None => missed_rate(&self.doc),
        }
    }
}

#[cfg(test)]
mod tests;
