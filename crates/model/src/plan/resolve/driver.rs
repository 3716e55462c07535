//! The driver that sends a run's operations, and the options that it cannot honour.
//!
//! Invariant: an option that a driver cannot honour is refused here with a message,
//! before any connection is made. If only the server's answer shows the problem,
//! the driver itself refuses the option.

#[cfg(feature = "smb-rs")]
use std::collections::BTreeSet;

#[cfg(feature = "smb-rs")]
use smbench_protocol::{CipherList, Dialect};

use super::{PlanSources, on_command_line};
#[cfg(feature = "smb-rs")]
use crate::action::{Action, QueryClass, SetClass};
use crate::generator::DriverKind;
#[cfg(feature = "smb-rs")]
use crate::login::Login;
use crate::plan::{Plan, PlanError, Problem};
#[cfg(feature = "smb-rs")]
use crate::sessions::{Caching, Mode};
#[cfg(feature = "smb-rs")]
use crate::setting::{Advice, DRIVER};
#[cfg(feature = "smb-rs")]
use crate::trace::Record;

/// The option that chooses a log-on. A profile cannot have it.
const LOGIN: &str = "auth";

/// An option that a driver cannot honour, and the reason.
struct Objection {
    option: &'static str,
    why: String,
}

impl PlanSources<'_> {
    pub(super) fn check_driver(&self, plan: &Plan) -> Result<(), PlanError> {
        let objection = match plan.generator.driver {
            DriverKind::Native => None,
            #[cfg(feature = "smb-rs")]
            DriverKind::SmbRs => smb_rs_objection(plan),
        };
        let Some(Objection { option, why }) = objection else {
            return Ok(());
        };
        let driver = plan.generator.driver;
        let problem = Problem::Driver { driver, why };
        Err(match option {
            LOGIN => on_command_line(option, problem),
            option => self.in_option(option, problem),
        })
    }
}

/// Returns why smb-rs 0.12 cannot run this plan.
#[cfg(feature = "smb-rs")]
fn smb_rs_objection(plan: &Plan) -> Option<Objection> {
    let missing = match plan.only().workload.replay() {
        Some(replay) => {
            let mut tracks = replay.recording.tracks();
            tracks.find_map(|track| track.records.iter().find_map(not_replayed))
        }
        None => {
            let actions = plan.only().workload.actions();
            let missing: BTreeSet<_> = actions.iter().filter_map(not_called).collect();
            let is_any = !missing.is_empty();
            is_any.then(|| Vec::from_iter(missing).join(", "))
        }
    };
    if plan.only().load.stream().is_some() {
        return Some(Objection {
            option: "driver",
            why: format!("counts no frames of a stream: use {DRIVER} native"),
        });
    }
    if let Some(what) = missing {
        return Some(Objection {
            option: "driver",
            why: format!(
                "has no call for {what} of profile {}: use {DRIVER} native",
                plan.work.profile
            ),
        });
    }
    objection_to_settings(plan)
}

/// Returns the first setting that smb-rs 0.12 does not have.
#[cfg(feature = "smb-rs")]
fn objection_to_settings(plan: &Plan) -> Option<Objection> {
    let session = &plan.sessions.options;
    let (sessions, connections) = (&plan.sessions, &plan.sessions.connections);
    let objections = [
        (
            sessions.target.login != Login::Ntlm,
            LOGIN,
            "logs on by NTLM only: give ntlm, or use @driver native",
        ),
        (
            sessions.caching != Caching::None,
            "oplock",
            "asks for no oplocks or leases: leave it out, or use @driver native",
        ),
        (
            session.signing == Mode::Off,
            "sign",
            "signs whatever it does not encrypt: give auto or required, or use @driver native",
        ),
        (
            session.signing_algorithm.is_some(),
            "signing_algorithm",
            "leaves the signing algorithm to the server: leave it out, or use @driver native",
        ),
        // The same ciphers in another order are also a choice by the user.
        (
            session.ciphers != CipherList::default(),
            "cipher",
            "leaves the cipher to the server: leave it out, or use @driver native",
        ),
        (
            connections.sessions_per_connection > 1,
            "sessions_per_connection",
            "has one session on each connection: leave it out, or use @driver native",
        ),
        (
            connections.connections_per_session > 1,
            "connections_per_session",
            "has one connection for each session: leave it out, or use @driver native",
        ),
        (
            connections.credits.is_some(),
            "credits",
            "uses as many credits as it is granted: leave it out, or use @driver native",
        ),
        (
            session.dialects.newest() == Dialect::Smb202 && plan.only().outstanding > 1,
            "outstanding",
            "sends one request at a time in SMB 2.0.2: give 1, or offer a newer dialect",
        ),
    ];
    let first = objections.into_iter().find(|(applies, ..)| *applies);
    first.map(|(_, option, why)| Objection {
        option,
        why: Advice(why).to_string(),
    })
}

/// Returns the part of an action that smb-rs cannot do in a single request. It
/// would measure something else.
#[cfg(feature = "smb-rs")]
fn not_called(action: &Action) -> Option<String> {
    let parameter = match action {
        Action::Write {
            write_through: true,
            ..
        } => "write_through",
        Action::Write {
            unbuffered: true, ..
        } => "unbuffered",
        Action::Create(opening) if opening.durable => "durable",
        Action::SetInfo {
            class: SetClass::Security,
        } => "class security",
        Action::Read { .. }
        | Action::Write { .. }
        | Action::Flush
        | Action::WriteFlush
        | Action::FinalFlush
        | Action::Create(_)
        | Action::QueryInfo { .. }
        | Action::SetInfo { .. }
        | Action::CopyChunk
        | Action::TreeConnect => return None,
        Action::Lock { .. }
        | Action::QueryDirectory { .. }
        | Action::ChangeNotify { .. }
        | Action::Watch { .. }
        | Action::QueryInterfaces
        | Action::ValidateNegotiate
        | Action::Echo
        | Action::LogOn
        | Action::Session
        | Action::CreateReadClose
        | Action::CreateQueryClose { .. }
        | Action::CreateSetClose { .. }
        | Action::Stat { .. }
        | Action::LookupMissing { .. }
        | Action::Neighbour { .. }
        | Action::List { .. }
        | Action::Walk { .. }
        | Action::CopyIn
        | Action::CopyOut
        | Action::SaveOffice => {
            return Some(format!("operation {}", action.name()));
        }
    };
    Some(format!("{parameter} of operation {}", action.name()))
}

/// Returns the part of a record that smb-rs cannot do in a single request.
#[cfg(feature = "smb-rs")]
fn not_replayed(record: &Record) -> Option<String> {
    let verb = record.verb();
    match *record {
        Record::Write { flags: 1.., .. } => Some(format!("flags of verb {verb}")),
        Record::Create { .. }
        | Record::Close { .. }
        | Record::Read { .. }
        | Record::Write { .. }
        | Record::Flush(_)
        | Record::SetFile { .. } => None,
        Record::QueryFile { level, .. } | Record::QueryFs { level } => {
            match QueryClass::numbered(verb.kind()?, level.class) {
                Some(_) => None,
                None => Some(format!("class {} of verb {verb}", level.class)),
            }
        }
        Record::Lock { .. }
        | Record::Unlock { .. }
        | Record::Unlink(_)
        | Record::Rename { .. }
        | Record::Mkdir(_)
        | Record::Rmdir(_)
        | Record::Deltree(_)
        | Record::QueryPath { .. }
        | Record::Find { .. }
        | Record::Query { .. }
        | Record::List { .. }
        | Record::RenameOpen { .. }
        | Record::MarkDeleted { .. }
        | Record::SetSecurity(_)
        | Record::Echo => Some(format!("verb {verb}")),
    }
}

#[cfg(feature = "smb-rs")]
#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use smbench_protocol::NtStatus;

    use super::*;
    use crate::limits::Limits;
    use crate::profile::Profile;
    use crate::spec::{RunOptions, Spec};
    use crate::target::Target;
    use crate::trace::{Builder, EXCLUSIVE_AT_ONCE, InfoLevel, Step};

    /// Resolves a plan for smb-rs with this mix, and returns the error message if
    /// it fails.
    fn judged(operations: &str) -> Result<(), String> {
        let profile = format!(
            "sizes = [{{ size = 4096, weight = 100 }}]\noperations = [{operations}]\n\
             [run]\ndriver = \"smb-rs\"\n"
        );
        let profile = Profile::parse("x.toml", &profile).unwrap();
        let (target, _) = Target::parse("smb://ann@host/share").unwrap();
        let options = RunOptions::default();
        Plan::resolve(&profile, &options, target, Limits::default(), 1)
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn operations_that_smb_rs_has_no_call_for_are_refused() {
        let mix =
            |other: &str| format!("{{ op = \"read\", weight = 60 }}, {{ {other}, weight = 40 }}");
        for fine in [
            "op = \"write\"",
            "op = \"flush\"",
            "op = \"create\"",
            "op = \"create\", disposition = \"overwrite_if\", delete_on_close = true",
            "op = \"query_info\", class = \"security\"",
            "op = \"set_info\", class = \"rename\"",
            "op = \"copy_chunk\"",
            "op = \"tree_connect\"",
        ] {
            judged(&mix(fine)).unwrap();
        }
        for (other, what) in [
            (
                "op = \"write\", write_through = true",
                "write_through of operation write",
            ),
            (
                "op = \"create\", durable = true",
                "durable of operation create",
            ),
            (
                "op = \"set_info\", class = \"security\"",
                "class security of operation set_info",
            ),
            ("op = \"lock\"", "operation lock"),
            ("op = \"echo\"", "operation echo"),
            ("op = \"query_directory\"", "operation query_directory"),
            ("op = \"create_read_close\"", "operation create_read_close"),
        ] {
            let refused = judged(&mix(other)).unwrap_err();
            let expected = format!(
                "profile x.toml: the driver smb-rs has no call for {what} of profile x: \
                 use driver native"
            );
            assert_eq!(refused, expected);
        }
    }

    /// Resolves a plan for smb-rs that replays these steps, and returns the error
    /// message if it fails.
    fn judged_replay(steps: &[Step<'_>]) -> Result<(), String> {
        let mut trace = Builder::default();
        for step in steps {
            trace.push(step, NtStatus::SUCCESS, None).unwrap();
        }
        let profile = Profile {
            recording: Some(Arc::new(
                trace.finish("my.txt".to_owned(), 1, [0; 32]).into(),
            )),
            ..Profile::from_spec("my", Spec::default())
        };
        let (target, _) = Target::parse("smb://ann@host/share").unwrap();
        let mut options = RunOptions::default();
        options.generator.driver = Some(DriverKind::SmbRs);
        Plan::resolve(&profile, &options, target, Limits::default(), 1)
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_verb_of_a_trace_that_smb_rs_has_no_call_for_is_refused() {
        let (handle, offset, length) = (1, 0, 4096);
        let create = Step::Create {
            path: r"\a",
            options: 0x40,
            disposition: 5,
            handle,
        };
        let write = Step::Write {
            handle,
            offset,
            length,
            written: length,
        };
        let read = Step::Read {
            handle,
            offset,
            length,
            returned: length,
        };
        let query = |class| Step::QueryFile {
            handle,
            level: InfoLevel::of_class(class),
        };
        let fine = [
            create,
            write,
            read,
            Step::Flush(handle),
            query(18),
            Step::QueryFs {
                level: InfoLevel::of_class(3),
            },
            Step::SetFile {
                handle,
                level: InfoLevel::of_class(13),
                size: None,
            },
            Step::Sleep(Duration::from_millis(1)),
            Step::Close(handle),
        ];
        judged_replay(&fine).unwrap();
        let lock = Step::Lock {
            handle,
            offset,
            length,
            flags: EXCLUSIVE_AT_ONCE,
        };
        for (step, what) in [
            (lock, "verb LockX"),
            (Step::Unlink(r"\b"), "verb Unlink"),
            (Step::Deltree(r"\b"), "verb Deltree"),
            (query(28), "class 28 of verb QUERY_FILE_INFORMATION"),
            (
                Step::QueryFs {
                    level: InfoLevel::of_class(6),
                },
                "class 6 of verb QUERY_FS_INFORMATION",
            ),
        ] {
            let refused = judged_replay(&[create, step, Step::Mkdir(r"\c")]).unwrap_err();
            let expected = format!(
                "driver: the driver smb-rs has no call for {what} of profile my: \
                 use driver native"
            );
            assert_eq!(refused, expected);
        }
    }
}
