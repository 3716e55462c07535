//! Changes of a profile of reads and writes by a command line.

use std::str::FromStr;

use super::Profile;
use crate::access::Access;
use crate::setting::{ACCESS, READ, SIZE};
use crate::spec::SizeSpec;
use crate::units::{Size, SizeError};

/// Values that replace those of a profile of reads and writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadChange {
    /// Share of reads among reads and writes, 0 to 100. At 100 nothing is written, so
    /// there is no FLUSH either.
    pub read_percent: Option<f64>,
    /// The mix of request sizes.
    pub sizes: Option<SizeMix>,
    /// Order of offsets.
    pub access: Option<Access>,
}

/// Request sizes and their shares, such as `4KiB` or `4KiB:60,64KiB:40`.
///
/// Shares are percentages. Without any share, all sizes are equally frequent.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeMix(Vec<SizeSpec>);

/// The text is not a mix of request sizes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SizeMixError {
    /// A size is malformed.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// A share is not a number.
    #[error("`{0}` is not a share: write SIZE:PERCENT, for example 4KiB:60,64KiB:40")]
    Share(String),
    /// Some sizes have a share and others have none.
    #[error("some sizes have a share and others have none: give each a share, or none")]
    Mixed,
    /// The shares are not those of a whole.
    #[error("the shares sum to {0}, not to 100")]
    Sum(f64),
}

/// The profile has other operations than reads and writes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "profile {0} has operations of its own: {READ}, {SIZE} and {ACCESS} change profiles of plain \
     reads and writes, such as file-server"
)]
pub struct NotReadsAndWrites(String);

impl FromStr for SizeMix {
    type Err = SizeMixError;

    fn from_str(text: &str) -> Result<Self, SizeMixError> {
        let mut sizes = Vec::new();
        for entry in text.split(',') {
            let (size, share) = match entry.split_once(':') {
                Some((size, share)) => {
                    let percent = parse_percent(share);
                    let wrong = || SizeMixError::Share(share.to_owned());
                    (size, Some(percent.ok_or_else(wrong)?))
                }
                None => (entry, None),
            };
            sizes.push((size.parse::<Size>()?, share));
        }
        let shares: Vec<f64> = sizes.iter().filter_map(|(_, share)| *share).collect();
        let sum: f64 = shares.iter().sum();
        if !shares.is_empty() && shares.len() < sizes.len() {
            return Err(SizeMixError::Mixed);
        }
        if !shares.is_empty() && (sum - 100.0).abs() > 0.01 {
            return Err(SizeMixError::Sum(sum));
        }
        let equal = 100.0 / sizes.len() as f64;
        let sizes = sizes.into_iter().map(|(size, share)| SizeSpec {
            size,
            weight: share.unwrap_or(equal),
        });
        Ok(Self(sizes.collect()))
    }
}

/// Parses a percentage from 0 to 100, with or without its sign.
#[must_use]
pub fn parse_percent(text: &str) -> Option<f64> {
    let number = text.trim().trim_end_matches('%').trim_end().parse().ok();
    number.filter(|percent| (0.0..=100.0).contains(percent))
}

impl WorkloadChange {
    /// Returns the profile with these values. Its name ends with `-custom`. Without
    /// values it is unchanged.
    ///
    /// # Errors
    /// When the profile has other operations than reads and writes.
    pub fn apply(&self, mut profile: Profile) -> Result<Profile, NotReadsAndWrites> {
        if *self == Self::default() {
            return Ok(profile);
        }
        let name = profile.name();
        let spec = &mut profile.spec;
        let changes_frames = self.sizes.is_some() || self.access.is_some();
        let has_own = !spec.operations.is_empty()
            || !spec.pattern.is_empty()
            || !spec.population.is_empty()
            || spec.stream.is_some() && changes_frames;
        let is_recorded = profile.recording.is_some() || spec.netbench.is_some();
        if has_own || is_recorded || profile.fileio.is_some() {
            return Err(NotReadsAndWrites(name));
        }
        spec.name = Some(format!("{name}-custom"));
        spec.description = None;
        if self.read_percent == Some(100.0) {
            spec.flush_every_writes = None;
        }
        spec.read_percent = self.read_percent.or(spec.read_percent);
        spec.access = self.access.or(spec.access);
        if let Some(SizeMix(sizes)) = &self.sizes {
            spec.sizes.clone_from(sizes);
        }
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    fn mix(text: &str) -> Result<Vec<(u64, f64)>, String> {
        let mix: SizeMix = text
            .parse()
            .map_err(|error: SizeMixError| error.to_string())?;
        Ok(mix.0.iter().map(|of| (of.size.0, of.weight)).collect())
    }

    #[test]
    fn sizes_have_shares_or_none() {
        assert_eq!(mix("4KiB"), Ok(vec![(4096, 100.0)]));
        assert_eq!(
            mix("4KiB:60, 64KiB:40%"),
            Ok(vec![(4096, 60.0), (65536, 40.0)])
        );
        assert_eq!(mix("4k,8k"), Ok(vec![(4096, 50.0), (8192, 50.0)]));
        for (text, message) in [
            (
                "4KiB:60,64KiB",
                "some sizes have a share and others have none: give each a share, or none",
            ),
            ("4KiB:60,64KiB:30", "the shares sum to 90, not to 100"),
            (
                "4KiB:x",
                "`x` is not a share: write SIZE:PERCENT, for example 4KiB:60,64KiB:40",
            ),
            (
                "4KiB:-1",
                "`-1` is not a share: write SIZE:PERCENT, for example 4KiB:60,64KiB:40",
            ),
            (
                "",
                "`` is not a size: use bytes or a unit, for example 4096, 4KiB or 10MiB",
            ),
        ] {
            assert_eq!(mix(text), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn values_replace_those_of_reads_and_writes() {
        let change = WorkloadChange {
            read_percent: Some(100.0),
            sizes: Some("4KiB".parse().unwrap()),
            access: Some(Access::Sequential),
        };
        let mut profile = Profile::builtin(profile::DEFAULT).unwrap();
        profile.spec.flush_every_writes = Some(10);
        let files = profile.spec.files;
        let changed = change.apply(profile).unwrap();
        assert_eq!(changed.name(), "file-server-custom");
        let spec = changed.spec;
        assert_eq!((spec.read_percent, spec.sizes.len()), (Some(100.0), 1));
        assert_eq!(spec.access, Some(Access::Sequential));
        assert_eq!((spec.flush_every_writes, spec.files), (None, files));

        let profile = Profile::builtin(profile::DEFAULT).unwrap();
        let same = WorkloadChange::default().apply(profile).unwrap();
        assert_eq!(same.name(), profile::DEFAULT);
    }

    #[test]
    fn other_operations_cannot_be_changed() {
        let change = WorkloadChange {
            read_percent: Some(50.0),
            ..WorkloadChange::default()
        };
        for name in ["metadata", "netbench-like"] {
            let profile = Profile::builtin(name).unwrap();
            change.apply(profile).unwrap_err();
        }
    }
}
