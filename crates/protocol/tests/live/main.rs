//! Tests against a real Samba and the embedded server, with every kind of
//! protection.
//!
//! They cover chains, breaks, cancellation, and the commands other than plain
//! reads and writes. They show how servers treat our requests.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod breaks;
mod chains;
mod cifs;
mod commands;
mod peer;

use smbench_lab::{SambaOptions, ScratchSamba};
use smbench_protocol::{Dialect, Policy};

/// Starts a Samba. Returns `None` with a message if Samba is not installed, and
/// the test passes.
fn samba() -> Option<ScratchSamba> {
    let options = SambaOptions {
        extra_global: vec![
            "server multi channel support = yes".to_owned(),
            "interfaces = \"lo;speed=10000000000,capability=RSS\"".to_owned(),
        ],
        // Only clients of this server may cause breaks.
        extra_share: vec!["kernel oplocks = no".to_owned()],
        ..SambaOptions::default()
    };
    ScratchSamba::or_skip(options)
}

/// The protection of a session's messages.
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
