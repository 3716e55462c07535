//! Profiles that a suite generates: blocks of one size, sequential and without
//! delay, to the server, from it, or in both directions.
//!
//! In both directions there are twice as many sessions: every second one writes,
//! the others read. Each pair shares a TCP connection, as two programs on one
//! client do. So a load point still counts clients, and each client has two
//! generators.

use smbench_model::access::{Access, Split};
use smbench_model::files::Scope;
use smbench_model::profile::Profile;
use smbench_model::spec::{FilesSpec, RunOptions, SessionsSpec, SizeSpec, Spec};
use smbench_model::units::Size;
use smbench_report::study::{TransferDoc, TransferMode};

use super::spec::TransfersEntry;

/// Default size of each client's file; a larger request makes it larger. Such files
/// stay in the server's memory, so disks do not affect the result.
const FILE_SIZE: Size = Size(1 << 20);

/// A generated profile, and its description in the study.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub(super) profile: Profile,
    pub(super) doc: TransferDoc,
}

/// Returns every size in each mode, mode by mode.
pub(super) fn all(entry: &TransfersEntry) -> Vec<Transfer> {
    let modes = match entry.modes.as_slice() {
        [] => &TransferMode::ALL[..],
        modes => modes,
    };
    let sizes = |mode| {
        let sizes = entry.sizes.iter();
        sizes.map(move |&size| transfer(mode, size, entry.file_size.unwrap_or(FILE_SIZE)))
    };
    modes.iter().flat_map(|&mode| sizes(mode)).collect()
}

fn transfer(mode: TransferMode, size: Size, file_size: Size) -> Transfer {
    let name = format!("{}-{size:#}", mode.name()).replace(' ', "");
    let (read_percent, generators) = match mode {
        TransferMode::Transmit => (100.0, 1),
        TransferMode::Receive => (0.0, 1),
        TransferMode::Duplex => (50.0, 2),
    };
    let spec = Spec {
        name: Some(name.clone()),
        read_percent: Some(read_percent),
        split: (generators > 1).then_some(Split::Clients),
        access: Some(Access::Sequential),
        files: FilesSpec {
            scope: Some(Scope::Private),
            count: Some(1),
            size: Some(file_size.max(size)),
        },
        sizes: vec![SizeSpec {
            size,
            weight: 100.0,
        }],
        run: RunOptions {
            sessions: SessionsSpec {
                sessions_per_connection: Some(generators),
                ..SessionsSpec::default()
            },
            ..RunOptions::default()
        },
        ..Spec::default()
    };
    Transfer {
        profile: Profile::from_spec(&name, spec),
        doc: TransferDoc {
            profile: name,
            mode,
            // A larger size is refused together with other errors of the profile.
            bytes: u32::try_from(size.0).unwrap_or(u32::MAX),
            generators_per_client: generators,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_moved_in_each_mode() {
        let entry = TransfersEntry {
            sizes: vec![Size(128), Size(8 << 20)],
            ..TransfersEntry::default()
        };
        let made = all(&entry);
        let names: Vec<_> = made.iter().map(|made| made.profile.name()).collect();
        assert_eq!(
            names,
            [
                "transmit-128B",
                "transmit-8MiB",
                "receive-128B",
                "receive-8MiB",
                "duplex-128B",
                "duplex-8MiB"
            ]
        );
        let file = |at: usize| made[at].profile.spec.files.size;
        assert_eq!((file(0), file(1)), (Some(FILE_SIZE), Some(Size(8 << 20))));
        let duplex = &made[4];
        assert_eq!(duplex.doc.generators_per_client, 2);
        assert_eq!(duplex.profile.spec.split, Some(Split::Clients));
        assert_eq!(
            duplex.profile.spec.run.sessions.sessions_per_connection,
            Some(2)
        );
        assert_eq!(made[0].profile.spec.read_percent, Some(100.0));
        assert_eq!(made[2].profile.spec.read_percent, Some(0.0));
    }
}
