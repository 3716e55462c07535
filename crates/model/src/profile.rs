//! Profiles: named workloads, and the built-in ones. Not here: reading files.

mod change;
mod listings;
mod streams;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use crate::fileio::Fileio;
use crate::spec::{Spec, SyntaxError};
use crate::trace::{Recording, Trace};
use crate::workload::NetbenchCapture;

pub use change::{NotReadsAndWrites, SizeMix, SizeMixError, WorkloadChange, parse_percent};

/// The profile that runs when the user names none.
pub const DEFAULT: &str = "file-server";

/// The built-in profiles: name and TOML text.
pub const BUILTIN: [(&str, &str); 23] = [
    ("file-server", include_str!("../profiles/file-server.toml")),
    ("web-server", include_str!("../profiles/web-server.toml")),
    ("read-4k", include_str!("../profiles/read-4k.toml")),
    ("metadata", include_str!("../profiles/metadata.toml")),
    ("list", include_str!("../profiles/list.toml")),
    ("stat", include_str!("../profiles/stat.toml")),
    ("browse", include_str!("../profiles/browse.toml")),
    (
        "browse-changing",
        include_str!("../profiles/browse-changing.toml"),
    ),
    (
        "finder-browse",
        include_str!("../profiles/finder-browse.toml"),
    ),
    (
        "notify-fanout",
        include_str!("../profiles/notify-fanout.toml"),
    ),
    ("neighbour", include_str!("../profiles/neighbour.toml")),
    ("untar", include_str!("../profiles/untar.toml")),
    ("copy-in", include_str!("../profiles/copy-in.toml")),
    ("copy-out", include_str!("../profiles/copy-out.toml")),
    ("walk", include_str!("../profiles/walk.toml")),
    ("office-save", include_str!("../profiles/office-save.toml")),
    ("logons", include_str!("../profiles/logons.toml")),
    (
        "all-commands",
        include_str!("../profiles/all-commands.toml"),
    ),
    (
        "netbench-like",
        include_str!("../profiles/netbench-like.toml"),
    ),
    (
        "netbench-like-oplocks",
        include_str!("../profiles/netbench-like-oplocks.toml"),
    ),
    (
        "stream-2k-24",
        include_str!("../profiles/stream-2k-24.toml"),
    ),
    (
        "stream-uhd-24",
        include_str!("../profiles/stream-uhd-24.toml"),
    ),
    (
        "stream-4k-24",
        include_str!("../profiles/stream-4k-24.toml"),
    ),
];

/// A profile and its source.
#[derive(Clone, Debug)]
pub struct Profile {
    /// A built-in profile's name, or the path as given. Messages name it as the
    /// place of a mistake.
    pub origin: String,
    /// Its content.
    pub spec: Spec,
    /// The recording to replay instead of the content.
    pub recording: Option<Arc<Recording>>,
    /// Generates the trace of a profile with the key `netbench`, from the seed of the
    /// plan.
    pub netbench: Option<fn(NetbenchCapture, u64) -> Trace>,
    /// The `sysbench fileio` test to run instead of the content.
    pub fileio: Option<Fileio>,
    /// The profiles of the populations, in the order of the content's tables. Whoever parses the
    /// content loads them.
    pub populations: Vec<Self>,
}

/// Returns the text of a built-in profile. Those of streams and of listings follow from their
/// names.
#[must_use]
pub fn builtin(name: &str) -> Option<Cow<'static, str>> {
    let listed = BUILTIN.into_iter().find(|(builtin, _)| *builtin == name);
    match listed {
        Some((_, text)) => Some(text.into()),
        None => streams::builtin(name)
            .or_else(|| listings::builtin(name))
            .map(Cow::Owned),
    }
}

impl Profile {
    /// Makes a profile in code. Results use `name` unless `spec` has a name.
    /// Messages use `name` as the place of a mistake.
    #[must_use]
    pub fn from_spec(name: &str, spec: Spec) -> Self {
        Self {
            origin: name.to_owned(),
            spec,
            recording: None,
            netbench: None,
            fileio: None,
            populations: Vec::new(),
        }
    }

    /// Whether it replays a capture.
    pub(crate) fn is_of_capture(&self) -> bool {
        let recording = self.recording.as_ref();
        recording.is_some_and(|recording| recording.is_of_capture())
    }

    /// Returns the built-in profile with this name, parsed as by [`Profile::parse`].
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        let text = builtin(name)?;
        Some(Self::parse(name, &text).unwrap_or_else(|error| unreachable!("{error}")))
    }

    /// Parses the text of a profile. Messages call it `origin`. A profile with the
    /// key `netbench` needs a generator of its trace, which
    /// `smbench_formats::profile::parse` sets.
    ///
    /// # Errors
    /// When the text is not a profile.
    pub fn parse(origin: &str, text: &str) -> Result<Self, MalformedProfile> {
        match Spec::parse(text) {
            Ok(spec) => Ok(Self::from_spec(origin, spec)),
            Err(error) => Err(MalformedProfile {
                origin: origin.to_owned(),
                error,
            }),
        }
    }

    /// Returns the name that results use: the profile's own, or else its file's.
    #[must_use]
    pub fn name(&self) -> String {
        let stem = || {
            Path::new(&self.origin)
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
        };
        self.spec
            .name
            .clone()
            .filter(|name| !name.trim().is_empty())
            .or_else(stem)
            .unwrap_or_else(|| self.origin.clone())
    }
}

/// The reason why a text is not a profile.
#[derive(Debug, thiserror::Error)]
#[error("profile {origin}, {error}")]
pub struct MalformedProfile {
    /// The profile as given.
    pub origin: String,
    /// The place and the reason.
    #[source]
    pub error: SyntaxError,
}
