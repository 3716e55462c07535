//! From the command line and a profile to a plan. Not here: from flags to
//! [`RunOptions`] ([`crate::args`]).

use std::thread;

use smbench_engine::hosts::SendPassword;
use smbench_formats::loadfile::Unknown;
use smbench_formats::profile;
use smbench_model::cpu::{CpuSource, MetricsUrlError};
use smbench_model::limits::Limits;
use smbench_model::login::Login;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::RunRecord;
use smbench_model::sessions::Sessions;
use smbench_model::spec::{GeneratorSpec, RunOptions};
use smbench_model::target::{DEFAULT_PORT, Secret, Target};
use smbench_report::doc::MachineDoc;
use smbench_report::{Disclosure, RunDoc, ServerLocation};

use crate::args::{
    ConnectArgs, OutputArgs, RunArgs, SecretArgs, ServerArgs, UrlArgs, command_line,
};
use crate::calibration::{self, RunCalibration};
use crate::failure::Failure;
use crate::lab_facts::{Durability, LabFacts};
use crate::login;
use crate::mounts::parse_target;
use crate::password::Sources;

/// Note that the measured CPU time is not the server's alone.
const SHARED: &str = "server and load generator share this machine";
/// Note for a server on which the operation `log_on` would end the clients' own sessions.
const LOGOFF: &str = "log_on has connections of its own, because this server ends all sessions of \
    a connection at the LOGOFF of one (STATUS_USER_SESSION_DELETED)";
/// Note that figures of the embedded server must not be quoted.
const IN_MEMORY: &str =
    "server and load generator share this machine; files are in memory: not for quoting";

/// A checked run.
#[derive(Debug)]
pub(crate) struct RunRequest {
    /// The plan without a password, and without the address of a server that is
    /// started for the run.
    pub(crate) draft: Plan,
    pub(crate) server: RunServer,
    /// The server's policies as stated by the user.
    durability: Durability,
    /// The highest load of the generator.
    ceilings: RunCalibration,
    /// The user's name for the result, and remark about it.
    label: Option<String>,
    note: Option<String>,
}

/// The server of a run.
#[derive(Debug)]
pub(crate) enum RunServer {
    /// A server that is started for the run.
    Embedded,
    /// An existing server.
    Given(Box<GivenServer>),
}

/// An existing server, and the account to use.
#[derive(Debug)]
pub(crate) struct GivenServer {
    /// The target without its password, unless the URL has it.
    pub(crate) target: Target,
    sources: Sources,
}

impl GivenServer {
    pub(crate) fn resolve(url: &str, secrets: &SecretArgs) -> Result<Self, Failure> {
        let (mut target, in_url) = parse_target(url)?;
        let sources = Sources::open(secrets, &mut target, in_url)?;
        login::choose(&secrets.login, &mut target, &sources)?;
        Ok(Self { target, sources })
    }

    /// Returns the target for a host that follows another one, which may send the password.
    pub(crate) fn for_follower(&self, send_password: SendPassword) -> Result<Target, Failure> {
        match send_password {
            SendPassword::Yes => Ok(self.target.clone()),
            SendPassword::No => self.with_password(),
        }
    }

    /// Returns the target with its password, after a prompt if necessary.
    pub(crate) fn with_password(&self) -> Result<Target, Failure> {
        Ok(Target {
            password: self.sources.password(&self.target)?,
            ..self.target.clone()
        })
    }
}

/// A server to probe or to clean up, and its password.
#[derive(Debug)]
pub(crate) struct ServerAccess {
    pub(crate) target: Target,
    pub(crate) limits: Limits,
}

impl RunRequest {
    /// Checks the options of `run` and `plan` for each profile. Makes no
    /// connection.
    pub(crate) fn resolve_all(args: &RunArgs) -> Result<Vec<Self>, Failure> {
        match &args.workload.profiles[..] {
            [] => Ok(vec![Self::resolve(args, profile::DEFAULT)?]),
            names => names.iter().map(|name| Self::resolve(args, name)).collect(),
        }
    }

    fn resolve(args: &RunArgs, name: &str) -> Result<Self, Failure> {
        let unknown = unknown(args.workload.skip_unknown);
        if unknown == Unknown::Skip && !profile::may_be_loadfile(name) {
            return Err(Failure::Usage(format!(
                "--skip-unknown means nothing with profile {name}: it is for loadfiles, such as \
                 --profile client.txt"
            )));
        }
        let profile = profile::load_with(name, unknown)?;
        let changed = args.workload.change().apply(profile);
        let profile = changed.map_err(|error| Failure::Usage(error.to_string()))?;
        Self::of(&profile, args.options(), &args.server, &args.output)
    }

    /// Builds the run of a profile with these options, on the server in `args`.
    pub(crate) fn of(
        profile: &Profile,
        options: RunOptions,
        args: &ServerArgs,
        output: &OutputArgs,
    ) -> Result<Self, Failure> {
        let server = match args.target.url() {
            None => RunServer::Embedded,
            Some(url) => RunServer::Given(Box::new(GivenServer::resolve(url, &args.secrets)?)),
        };
        let options = RunOptions {
            generator: GeneratorSpec {
                server_cpu: server_cpu(args)?,
                ..options.generator
            },
            sessions: args.session.options().or(options.sessions),
            ..options
        };
        let target = match &server {
            RunServer::Embedded => embedded(),
            RunServer::Given(server) => server.target.clone(),
        };
        // If the system does not provide the number, one thread always works.
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        Ok(Self {
            draft: Plan::resolve(profile, &options, target, limits(args), cores)?,
            server,
            durability: Durability::given(args.server_flush, args.server_write),
            ceilings: calibration::found(output.calibration.as_ref(), &output.out)?,
            label: output.label.clone(),
            note: output.note.clone(),
        })
    }

    /// Returns the plan of the run on this server.
    pub(crate) fn plan(&self, target: Target) -> Plan {
        let draft = self.draft.clone();
        Plan {
            sessions: Sessions {
                target,
                ..draft.sessions
            },
            ..draft
        }
    }

    /// Returns the facts that readers of the results need, as far as they are known
    /// before the run.
    pub(crate) fn disclosure(&self) -> Disclosure {
        let mut told = match &self.server {
            RunServer::Embedded => Disclosure {
                notes: vec![IN_MEMORY.to_owned()],
                ..of_this_process(ServerLocation::Embedded, Durability::EMBEDDED)
            },
            RunServer::Given(server) => {
                let mut told = disclosure(self.durability);
                if let Some(facts) = LabFacts::of_environment(&server.target) {
                    facts.add_to(&mut told);
                }
                told
            }
        };
        let RunCalibration { calibration, note } = self.ceilings.clone();
        told.calibration = calibration;
        (told.label, told.note) = (self.label.clone(), self.note.clone());
        told.notes.extend(note);
        told
    }
}

/// Returns the facts that readers need about an existing server.
pub(crate) fn disclosure(durability: Durability) -> Disclosure {
    of_this_process(ServerLocation::Remote, durability)
}

/// Builds the document of a run. Only the run itself shows whether the server is on
/// this machine, because its given name or address does not.
pub(crate) fn document(record: &RunRecord, mut disclosure: Disclosure) -> RunDoc {
    if record.server.is_here && disclosure.place != ServerLocation::Embedded {
        disclosure.notes.insert(0, SHARED.to_owned());
    }
    if record.server.logoff_ends_all {
        disclosure.notes.push(LOGOFF.to_owned());
    }
    if !record.hosts.is_empty() {
        // What one machine can do says nothing about several.
        disclosure.calibration = None;
    }
    RunDoc::from_record(record, disclosure)
}

/// Returns the facts that are known without the server.
fn of_this_process(place: ServerLocation, durability: Durability) -> Disclosure {
    Disclosure {
        place,
        flush: durability.flush,
        write: durability.write,
        machine: Some(MachineDoc::this()),
        command: command_line(),
        ..Disclosure::default()
    }
}

impl ServerAccess {
    pub(crate) fn resolve(args: &UrlArgs) -> Result<Self, Failure> {
        Ok(Self {
            target: GivenServer::resolve(&args.target, &args.secrets)?.with_password()?,
            limits: connect_limits(args.connect),
        })
    }
}

/// Returns how to treat lines of loadfiles that have no meaning here.
pub(crate) fn unknown(is_skipped: bool) -> Unknown {
    if is_skipped {
        Unknown::Skip
    } else {
        Unknown::Refuse
    }
}

/// Fails if a profile could not run without further options.
pub(crate) fn check(profile: &Profile) -> Result<(), Failure> {
    let (options, limits) = (RunOptions::default(), Limits::default());
    Plan::resolve(profile, &options, embedded(), limits, 1)?;
    Ok(())
}

/// Returns the source of the server's CPU time from the command line.
fn server_cpu(args: &ServerArgs) -> Result<Option<CpuSource>, Failure> {
    let written = args.server_metrics.as_deref().map(cpu_source);
    let source = written.transpose();
    source.map_err(|error| Failure::Usage(format!("--server-metrics: {error}")))
}

/// Parses the source of CPU time: a URL or `off`.
pub(crate) fn cpu_source(text: &str) -> Result<CpuSource, MetricsUrlError> {
    Ok(match text {
        "off" => CpuSource::Off,
        url => CpuSource::Exporter(url.parse()?),
    })
}

pub(crate) fn limits(args: &ServerArgs) -> Limits {
    let limits = connect_limits(args.connect);
    Limits {
        operation: args.operation_timeout.unwrap_or(limits.operation),
        ..limits
    }
}

pub(crate) fn connect_limits(args: ConnectArgs) -> Limits {
    let limits = Limits::default();
    Limits {
        connect: args.connect_timeout.unwrap_or(limits.connect),
        setup: args.setup_timeout.unwrap_or(limits.setup),
        ..limits
    }
}

/// Returns a placeholder for the target of a server that does not run yet.
pub(crate) fn embedded() -> Target {
    Target {
        domain: String::new(),
        user: String::new(),
        host: "localhost".to_owned(),
        port: DEFAULT_PORT,
        share: String::new(),
        path: String::new(),
        password: Secret::default(),
        login: Login::default(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::SystemTime;

    use smbench_model::contents::block::Salt;
    use smbench_model::record::{Origin, Outcome, ServerFacts};

    use super::*;

    /// Returns the record of a run on a server of this machine, before its first
    /// load point.
    pub(crate) fn record() -> RunRecord {
        let profile = profile::load(profile::DEFAULT).unwrap();
        let (options, limits) = (RunOptions::default(), Limits::default());
        RunRecord {
            plan: Plan::resolve(&profile, &options, embedded(), limits, 1).unwrap(),
            driver: Origin::Plan,
            operations: Origin::Plan,
            server: ServerFacts {
                is_here: true,
                ..ServerFacts::other("smb://ann@files/data")
            },
            salt: Salt::default(),
            hosts: Vec::new(),
            started: SystemTime::UNIX_EPOCH,
            load_points: Vec::new(),
            run_number: 0,
            own_part: Vec::new(),
            outcome: Outcome::Complete,
            leftover: None,
            recycle_bins: Vec::new(),
            space_kept: None,
        }
    }

    /// The target's name or address does not matter.
    #[test]
    fn a_server_on_this_machine_is_told_of_before_all_else() {
        let notes = |is_here| {
            let mut record = record();
            record.server.is_here = is_here;
            let told = Disclosure {
                notes: vec!["something else".to_owned()],
                ..disclosure(Durability::default())
            };
            document(&record, told).server.notes
        };
        assert_eq!(notes(true), [SHARED, "something else"]);
        assert_eq!(notes(false), ["something else"]);
    }

    /// Readers must know that `log_on` was measured in another way than elsewhere, and why.
    #[test]
    fn a_server_that_logs_all_sessions_off_is_told_of() {
        let mut record = record();
        record.server.logoff_ends_all = true;
        let notes = document(&record, disclosure(Durability::default()))
            .server
            .notes;
        assert_eq!(notes, [SHARED, LOGOFF]);
    }
}
