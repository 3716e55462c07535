//! Chains, breaks, cancellation and the commands that are not simply reads and
//! writes, against a real Samba and the embedded server, with every kind of
//! protection: what a server makes of them, not what we think of them.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod breaks;
mod chains;
mod commands;
mod peer;

use smbench_lab::{SambaOptions, ScratchSamba, Tool, require};
use smbench_protocol::{Dialect, Policy};

/// A Samba, or `None` where it is not installed; the test passes loudly then.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn samba() -> Option<ScratchSamba> {
    if let Err(skip) = require(&[Tool::SMBD, Tool::PDBEDIT]) {
        eprintln!("{skip}");
        return None;
    }
    let options = SambaOptions {
        extra_global: vec![
            "server multi channel support = yes".to_owned(),
            "interfaces = \"lo;speed=10000000000,capability=RSS\"".to_owned(),
        ],
        // Breaks are between clients of this server alone.
        extra_share: vec!["kernel oplocks = no".to_owned()],
        ..SambaOptions::default()
    };
    Some(ScratchSamba::start(options).expect("Samba starts"))
}

/// How the messages of a session are protected.
#[derive(Clone, Copy, Debug)]
struct Shield {
    dialect: Dialect,
    signing: Policy,
    encryption: Policy,
}

const SHIELDS: [Shield; 5] = [
    Shield {
        dialect: Dialect::Smb21,
        signing: Policy::Off,
        encryption: Policy::Off,
    },
    Shield {
        dialect: Dialect::Smb21,
        signing: Policy::Required,
        encryption: Policy::Off,
    },
    Shield {
        dialect: Dialect::Smb311,
        signing: Policy::Off,
        encryption: Policy::Off,
    },
    Shield {
        dialect: Dialect::Smb311,
        signing: Policy::Required,
        encryption: Policy::Off,
    },
    Shield {
        dialect: Dialect::Smb311,
        signing: Policy::AsServerRequires,
        encryption: Policy::Required,
    },
];
