//! Which client carries a run's operations out, and what it cannot do.
//!
//! Invariant: what a driver has no way to honour is refused here, in words,
//! before anything is connected. What only the server's answer shows is the
//! driver's to refuse.

use std::fmt;

#[cfg(feature = "smb-rs")]
use smbench_protocol::{CipherList, Dialect};

#[cfg(feature = "smb-rs")]
use super::{Action, Caching, Mode};
use super::{Plan, PlanError, Problem};
#[cfg(feature = "smb-rs")]
use crate::login::Login;
use crate::spec::RunOptions;

/// A client that operations are carried out with. Those that this build has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriverKind {
    /// smbench's own.
    #[default]
    Native,
    /// The full client smb-rs (crate `smb`): slower, written by others, and so
    /// a cross-check and a yardstick.
    #[cfg(feature = "smb-rs")]
    SmbRs,
}

impl DriverKind {
    /// Every driver of this build.
    pub const ALL: &'static [Self] = &[
        Self::Native,
        #[cfg(feature = "smb-rs")]
        Self::SmbRs,
    ];

    /// As people write it, and as result documents keep it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            #[cfg(feature = "smb-rs")]
            Self::SmbRs => "smb-rs",
        }
    }

    /// Whether it signs also where [`super::Mode::Auto`] and the server leave it free.
    #[must_use]
    pub const fn always_signs(self) -> bool {
        match self {
            Self::Native => false,
            #[cfg(feature = "smb-rs")]
            Self::SmbRs => true,
        }
    }
}

impl fmt::Display for DriverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for DriverKind {
    type Err = UnknownDriver;

    fn from_str(text: &str) -> Result<Self, UnknownDriver> {
        let named = |kind: &&Self| kind.name() == text;
        Self::ALL.iter().find(named).copied().ok_or(UnknownDriver)
    }
}

/// A text that names no driver of this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownDriver;

impl std::error::Error for UnknownDriver {}

impl fmt::Display for UnknownDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = DriverKind::ALL.iter().map(|kind| kind.name()).collect();
        write!(f, "expected one of {}", names.join(", "))
    }
}

/// An option that a driver cannot honour.
struct Objection {
    /// Field in [`RunOptions`].
    field: &'static str,
    is_given: fn(&RunOptions) -> bool,
    why: &'static str,
}

impl super::resolve::Written<'_> {
    pub(super) fn check_driver(&self, plan: &Plan) -> Result<(), PlanError> {
        let objection = match plan.driver {
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
                    driver: plan.driver,
                    why,
                };
                Err(self.in_option(field, is_given(self.options), problem))
            }
        }
    }
}

/// What smb-rs 0.12 has no setting for.
#[cfg(feature = "smb-rs")]
fn smb_rs_objection(plan: &Plan) -> Option<Objection> {
    let session = &plan.session;
    if plan
        .workload
        .actions()
        .iter()
        .any(|action| !is_plain(action))
    {
        return Some(Objection {
            field: "driver",
            is_given: |options| options.driver.is_some(),
            why: "only reads, writes and flushes, without parameters: use --driver native",
        });
    }
    if plan.target.login != Login::Ntlm {
        return Some(Objection {
            field: "auth",
            // No profile can say it.
            is_given: |_| true,
            why: "logs on by NTLM only: give ntlm, or use --driver native",
        });
    }
    if plan.caching != Caching::None {
        return Some(Objection {
            field: "oplock",
            is_given: |options| options.oplock.is_some(),
            why: "asks for no oplocks or leases: leave it out, or use --driver native",
        });
    }
    if session.signing == Mode::Off {
        return Some(Objection {
            field: "sign",
            is_given: |options| options.sign.is_some(),
            why: "signs whatever it does not encrypt: give auto or required, or use --driver native",
        });
    }
    if session.signing_algorithm.is_some() {
        return Some(Objection {
            field: "signing_algorithm",
            is_given: |options| options.signing_algorithm.is_some(),
            why: "leaves the signing algorithm to the server: leave it out, or use --driver native",
        });
    }
    // All of them in another order is a choice as well.
    if session.ciphers != CipherList::default() {
        return Some(Objection {
            field: "cipher",
            is_given: |options| options.cipher.is_some(),
            why: "leaves the cipher to the server: leave it out, or use --driver native",
        });
    }
    if plan.connections.sessions_per_connection > 1 {
        return Some(Objection {
            field: "sessions_per_connection",
            is_given: |options| options.sessions_per_connection.is_some(),
            why: "has one session on each connection: leave it out, or use --driver native",
        });
    }
    if plan.connections.connections_per_session > 1 {
        return Some(Objection {
            field: "connections_per_session",
            is_given: |options| options.connections_per_session.is_some(),
            why: "has one connection for each session: leave it out, or use --driver native",
        });
    }
    if plan.connections.credits.is_some() {
        return Some(Objection {
            field: "credits",
            is_given: |options| options.credits.is_some(),
            why: "uses as many credits as it is granted: leave it out, or use --driver native",
        });
    }
    if session.dialects.newest() == Dialect::Smb202 && plan.outstanding > 1 {
        return Some(Objection {
            field: "outstanding",
            is_given: |options| options.outstanding.is_some(),
            why: "sends one request at a time in SMB 2.0.2: give 1, or offer a newer dialect",
        });
    }
    None
}

/// Whether it is all that the simple form of a profile asks for.
#[cfg(feature = "smb-rs")]
fn is_plain(action: &Action) -> bool {
    matches!(
        action,
        Action::Read { unbuffered: false }
            | Action::Write {
                write_through: false,
                unbuffered: false
            }
            | Action::Flush
    )
}

#[cfg(feature = "smb-rs")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Limits;
    use crate::profile::Profile;
    use crate::target::Target;

    /// What a plan for smb-rs with this mix comes to.
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
        for fine in ["op = \"write\"", "op = \"flush\""] {
            judged(&mix(fine)).unwrap();
        }
        for other in [
            "op = \"write\", write_through = true",
            "op = \"lock\"",
            "op = \"echo\"",
            "op = \"create\"",
        ] {
            let refused = judged(&mix(other)).unwrap_err();
            let expected = "profile x.toml: the driver smb-rs only reads, writes and flushes";
            assert!(refused.starts_with(expected), "{other}: {refused}");
        }
    }
}
