//! The driver that sends a run's operations, and the options that it cannot honour.
//!
//! Invariant: an option that a driver cannot honour is refused here with a message,
//! before any connection is made. If only the server's answer shows the problem,
//! the driver itself refuses the option.

use std::borrow::Cow;
#[cfg(feature = "smb-rs")]
use std::collections::BTreeSet;

#[cfg(feature = "smb-rs")]
use smbench_protocol::{CipherList, Dialect};

#[cfg(feature = "smb-rs")]
use crate::action::{Action, SetClass};
use crate::generator::DriverKind;
#[cfg(feature = "smb-rs")]
use crate::login::Login;
use crate::plan::{Plan, PlanError, Problem};
#[cfg(feature = "smb-rs")]
use crate::sessions::{Caching, Mode};
use crate::spec::RunOptions;

/// An option that a driver cannot honour, and the reason.
struct Objection {
    /// The field of [`RunOptions`].
    field: &'static str,
    is_given: fn(&RunOptions) -> bool,
    why: Cow<'static, str>,
}

impl crate::plan::resolve::Written<'_> {
    pub(super) fn check_driver(&self, plan: &Plan) -> Result<(), PlanError> {
        let objection = match plan.generator.driver {
            DriverKind::Native => None,
            #[cfg(feature = "smb-rs")]
            DriverKind::SmbRs => smb_rs_objection(plan),
        };
        match objection {
            None => Ok(()),
            Some(Objection {
                field,
                is_given,
                why,
            }) => {
                let problem = Problem::Driver {
                    driver: plan.generator.driver,
                    why,
                };
                Err(self.in_option(field, is_given(self.options), problem))
            }
        }
    }
}

/// Returns the first option that smb-rs 0.12 has no setting for.
#[cfg(feature = "smb-rs")]
fn smb_rs_objection(plan: &Plan) -> Option<Objection> {
    let session = &plan.sessions.options;
    if plan.work.workload.replay().is_some() {
        return Some(Objection {
            field: "driver",
            is_given: |options| options.driver.is_some(),
            why: Cow::Borrowed("does not replay: use --driver native"),
        });
    }
    let actions = plan.work.workload.actions();
    let missing: BTreeSet<_> = actions.iter().filter_map(not_called).collect();
    if !missing.is_empty() {
        let what = Vec::from_iter(missing).join(", ");
        return Some(Objection {
            field: "driver",
            is_given: |options| options.driver.is_some(),
            why: Cow::Owned(format!(
                "has no call for {what} of profile {}: use --driver native",
                plan.work.profile
            )),
        });
    }
    if plan.sessions.target.login != Login::Ntlm {
        return Some(Objection {
            field: "auth",
            // A profile cannot contain this option.
            is_given: |_| true,
            why: Cow::Borrowed("logs on by NTLM only: give ntlm, or use --driver native"),
        });
    }
    if plan.sessions.caching != Caching::None {
        return Some(Objection {
            field: "oplock",
            is_given: |options| options.oplock.is_some(),
            why: Cow::Borrowed(
                "asks for no oplocks or leases: leave it out, or use --driver native",
            ),
        });
    }
    if session.signing == Mode::Off {
        return Some(Objection {
            field: "sign",
            is_given: |options| options.sign.is_some(),
            why: Cow::Borrowed(
                "signs whatever it does not encrypt: give auto or required, or use --driver native",
            ),
        });
    }
    if session.signing_algorithm.is_some() {
        return Some(Objection {
            field: "signing_algorithm",
            is_given: |options| options.signing_algorithm.is_some(),
            why: Cow::Borrowed(
                "leaves the signing algorithm to the server: leave it out, or use --driver native",
            ),
        });
    }
    // The same ciphers in another order are also a choice by the user.
    if session.ciphers != CipherList::default() {
        return Some(Objection {
            field: "cipher",
            is_given: |options| options.cipher.is_some(),
            why: Cow::Borrowed(
                "leaves the cipher to the server: leave it out, or use --driver native",
            ),
        });
    }
    if plan.sessions.connections.sessions_per_connection > 1 {
        return Some(Objection {
            field: "sessions_per_connection",
            is_given: |options| options.sessions_per_connection.is_some(),
            why: Cow::Borrowed(
                "has one session on each connection: leave it out, or use --driver native",
            ),
        });
    }
    if plan.sessions.connections.connections_per_session > 1 {
        return Some(Objection {
            field: "connections_per_session",
            is_given: |options| options.connections_per_session.is_some(),
            why: Cow::Borrowed(
                "has one connection for each session: leave it out, or use --driver native",
            ),
        });
    }
    if plan.sessions.connections.credits.is_some() {
        return Some(Objection {
            field: "credits",
            is_given: |options| options.credits.is_some(),
            why: Cow::Borrowed(
                "uses as many credits as it is granted: leave it out, or use --driver native",
            ),
        });
    }
    if session.dialects.newest() == Dialect::Smb202 && plan.work.outstanding > 1 {
        return Some(Objection {
            field: "outstanding",
            is_given: |options| options.outstanding.is_some(),
            why: Cow::Borrowed(
                "sends one request at a time in SMB 2.0.2: give 1, or offer a newer dialect",
            ),
        });
    }
    None
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
        | Action::QueryInterfaces
        | Action::ValidateNegotiate
        | Action::Echo
        | Action::LogOn
        | Action::CreateReadClose
        | Action::CreateQueryClose { .. }
        | Action::CreateSetClose { .. } => {
            return Some(format!("operation {}", action.name()));
        }
    };
    Some(format!("{parameter} of operation {}", action.name()))
}

#[cfg(feature = "smb-rs")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::profile::Profile;
    use crate::target::Target;

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
                 use --driver native"
            );
            assert_eq!(refused, expected);
        }
    }
}
