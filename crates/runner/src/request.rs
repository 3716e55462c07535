//! From options and a profile to a run that can be carried out, and from its record to its
//! document.

use std::thread;

use smbench_formats::loadfile::Unknown;
use smbench_model::cpu::{CpuSource, MetricsUrlError};
use smbench_model::limits::Limits;
use smbench_model::login::Login;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::record::RunRecord;
use smbench_model::secret::Secret;
use smbench_model::sessions::Sessions;
use smbench_model::spec::RunOptions;
use smbench_model::target::{ClientAccount, DEFAULT_PORT, Target};
use smbench_report::doc::MachineDoc;
use smbench_report::{Disclosure, RunDoc, ServerLocation};

use crate::account::GivenServer;
use crate::calibration::RunCalibration;
use crate::command_line::command_line;
use crate::failure::Failure;
use crate::lab_facts::{Durability, LabFacts};

/// Note that figures of the embedded server must not be quoted.
const IN_MEMORY: &str =
    "server and load generator share this machine; files are in memory: not for quoting";

/// A checked run.
#[derive(Debug)]
pub struct RunRequest {
    /// The plan without a password, and without the address of a server that is
    /// started for the run.
    pub draft: Plan,
    /// The server to measure.
    pub server: RunServer,
    /// The server's policies as stated by the user.
    pub durability: Durability,
    /// The highest load of the generator.
    pub ceilings: RunCalibration,
    /// The user's name for the result.
    pub label: Option<String>,
    /// The user's remark about the result.
    pub note: Option<String>,
}

/// The server of a run.
#[derive(Debug)]
pub enum RunServer {
    /// A server that is started for the run.
    Embedded,
    /// An existing server.
    Given(Box<GivenServer>),
}

impl RunRequest {
    /// Checks a run of a profile with these options. Makes no connection. Nothing is stated
    /// about the server yet.
    pub fn resolve(
        profile: &Profile,
        options: &RunOptions,
        server: RunServer,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let target = match &server {
            RunServer::Embedded => embedded(),
            RunServer::Given(server) => server.target.clone(),
        };
        // If the system does not provide the number, one thread always works.
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        Ok(Self {
            draft: Plan::resolve(profile, options, target, limits, cores)?,
            server,
            durability: Durability::default(),
            ceilings: RunCalibration::default(),
            label: None,
            note: None,
        })
    }

    /// Gives the clients accounts of their own.
    pub fn log_on_as(&mut self, accounts: Vec<ClientAccount>) {
        if let RunServer::Given(server) = &mut self.server {
            server.target.accounts.clone_from(&accounts);
        }
        self.draft.sessions.target.accounts = accounts;
    }

    /// Returns the plan of the run on this server.
    pub fn plan(&self, target: Target) -> Plan {
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
    pub fn disclosure(&self) -> Disclosure {
        let mut disclosure = match &self.server {
            RunServer::Embedded => Disclosure {
                notes: vec![IN_MEMORY.to_owned()],
                ..of_this_process(ServerLocation::Embedded, Durability::EMBEDDED)
            },
            RunServer::Given(server) => {
                let mut disclosure = disclosure(self.durability);
                if let Some(facts) = LabFacts::of_environment(&server.target) {
                    facts.add_to(&mut disclosure);
                }
                disclosure
            }
        };
        let RunCalibration { calibration, note } = self.ceilings.clone();
        disclosure.calibration = calibration;
        (disclosure.label, disclosure.note) = (self.label.clone(), self.note.clone());
        disclosure.notes.extend(note);
        disclosure
    }
}

/// Returns the facts that readers need about an existing server.
pub fn disclosure(durability: Durability) -> Disclosure {
    of_this_process(ServerLocation::Remote, durability)
}

/// Builds the document of a run.
pub fn document(record: &RunRecord, disclosure: Disclosure) -> RunDoc {
    RunDoc::from_record(record, disclosure.completed(record))
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

/// Returns how to treat lines of loadfiles that have no meaning here.
pub fn unknown(is_skipped: bool) -> Unknown {
    if is_skipped {
        Unknown::Skip
    } else {
        Unknown::Refuse
    }
}

/// Fails if a profile could not run without further options.
pub fn check(profile: &Profile) -> Result<(), Failure> {
    let (options, limits) = (RunOptions::default(), Limits::default());
    Plan::resolve(profile, &options, embedded(), limits, 1)?;
    Ok(())
}

/// Parses the source of CPU time: a URL or `off`.
pub fn cpu_source(text: &str) -> Result<CpuSource, MetricsUrlError> {
    Ok(match text {
        "off" => CpuSource::Off,
        url => CpuSource::Exporter(url.parse()?),
    })
}

/// Returns a placeholder for the target of a server that does not run yet.
pub fn embedded() -> Target {
    Target {
        accounts: Vec::new(),
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

    use smbench_formats::profile;
    use smbench_model::record::ServerFacts;
    use smbench_model::tree::TreeUsed;
    use smbench_report::doc::TreeOriginDoc;

    use super::*;

    /// Returns the record of a run on a server of this machine, before its first
    /// load point.
    pub(crate) fn record() -> RunRecord {
        let profile = profile::load(profile::DEFAULT).unwrap();
        let (options, limits) = (RunOptions::default(), Limits::default());
        let plan = Plan::resolve(&profile, &options, embedded(), limits, 1).unwrap();
        let server = ServerFacts {
            is_here: true,
            ..ServerFacts::other("smb://ann@files/data")
        };
        RunRecord::new(&plan, server, SystemTime::UNIX_EPOCH)
    }

    const SHARED: &str = "server and load generator share this machine";

    /// The target's name or address does not matter.
    #[test]
    fn a_server_on_this_machine_is_reported_before_all_else() {
        let notes = |is_here| {
            let mut record = record();
            record.server.is_here = is_here;
            let disclosure = Disclosure {
                notes: vec!["something else".to_owned()],
                ..disclosure(Durability::default())
            };
            document(&record, disclosure).server.notes
        };
        assert_eq!(notes(true), [SHARED, "something else"]);
        assert_eq!(notes(false), ["something else"]);
    }

    /// Who has prepared a tree expects it to be used.
    #[test]
    fn a_prepared_tree_that_is_not_used_is_reported() {
        let mut record = record();
        record.server.is_here = false;
        let unused = "the run does not use the tree";
        record.server.tree = Some(TreeUsed::Own {
            unused: Some(unused.to_owned()),
        });
        let server = document(&record, disclosure(Durability::default())).server;
        assert_eq!(server.notes, [unused]);
        assert_eq!(server.tree, Some(TreeOriginDoc::Own));
    }

    /// Readers must know that `log_on` was measured in another way than elsewhere, and why.
    #[test]
    fn a_server_that_logs_all_sessions_off_is_reported() {
        let mut record = record();
        record.server.logoff_ends_all = true;
        let doc = document(&record, disclosure(Durability::default()));
        let notes = doc.server.notes;
        let [first, second] = &notes[..] else {
            panic!("{notes:?}");
        };
        assert_eq!(first, SHARED);
        assert!(
            second.starts_with("log_on has connections of its own"),
            "{second}"
        );
    }
}
