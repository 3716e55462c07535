//! The profiles, transfers and searches of a suite that are to run.

use smbench_formats::profile;
use smbench_model::profile::Profile;
use smbench_model::setting;
use smbench_model::spec::RunOptions;
use smbench_report::study::TransferDoc;

use super::options::SuiteOptions;
use super::searches::{SearchJob, SearchTimes};
use super::source::Source;
use super::transfers::{self, Transfer};
use crate::failure::Failure;
use crate::request;

/// A profile that is to run.
pub(super) struct Chosen {
    pub(super) profile: Profile,
    /// Options of the profile in this suite.
    pub(super) run: RunOptions,
    /// Description of the transfer, if the suite generated the profile.
    pub(super) doc: Option<TransferDoc>,
    /// The search, if the load points are its probes.
    pub(super) job: Option<SearchJob>,
}

impl From<Transfer> for Chosen {
    fn from(Transfer { profile, doc }: Transfer) -> Self {
        Self {
            profile,
            run: RunOptions::default(),
            doc: Some(doc),
            job: None,
        }
    }
}

impl From<SearchJob> for Chosen {
    fn from(job: SearchJob) -> Self {
        Self {
            profile: job.profile.clone(),
            run: job.run.clone(),
            doc: None,
            job: Some(job),
        }
    }
}

/// Returns the profiles to run: those that the suite generates first, then the
/// others, then the searches. The command line may select some of them, or name other
/// profiles instead.
pub(super) fn chosen(source: &Source, args: &SuiteOptions) -> Result<Vec<Chosen>, Failure> {
    let unknown = request::unknown(args.load.skip_unknown || source.spec.skip_unknown);
    let made = source.spec.transfers.as_ref().map(transfers::all);
    let refuse = |what: &str| {
        let origin = &source.origin;
        Err(Failure::Usage(format!("suite {origin}: {what}")))
    };
    if made.as_ref().is_some_and(Vec::is_empty) {
        return refuse("[transfers] has no sizes: give a list such as [\"4KiB\", \"64KiB\"]");
    }
    let spec = &source.spec;
    let is_given = made.is_some() || !spec.profiles.is_empty() || !spec.find.is_empty();
    let made = made.unwrap_or_default();
    let pace = if args.load.quick {
        SearchTimes::Quick
    } else {
        SearchTimes::AsWritten
    };
    let jobs = spec.find.iter();
    let jobs = jobs.map(|entry| SearchJob::of(source, entry, pace));
    let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
    let plain = |profile: Profile, run: RunOptions| Chosen {
        profile,
        run,
        doc: None,
        job: None,
    };
    if !args.load.profiles.is_empty() {
        let named = |name: &String| {
            let known = made.iter().find(|made| made.doc.profile == *name);
            let job = jobs.iter().find(|job| job.doc.profile == *name);
            Ok(match (known, job) {
                (Some(made), _) => made.clone().into(),
                (None, Some(job)) => job.clone().into(),
                // Paths on the command line are not relative to the suite.
                (None, None) => plain(profile::load_with(name, unknown)?, RunOptions::default()),
            })
        };
        return args.load.profiles.iter().map(named).collect();
    }
    let mut all: Vec<Chosen> = made.into_iter().map(Chosen::from).collect();
    for entry in &source.spec.profiles {
        all.push(plain(
            source.profile(&entry.profile, unknown)?,
            entry.run.clone(),
        ));
    }
    if !is_given {
        all.push(plain(
            profile::load(profile::DEFAULT)?,
            RunOptions::default(),
        ));
    }
    all.extend(jobs.into_iter().map(Chosen::from));
    Ok(all)
}

/// Fails if `skip_unknown` is set, but no profile has lines to leave out.
pub(super) fn check_skipping(source: &Source, args: &SuiteOptions) -> Result<(), Failure> {
    let written = source.spec.profiles.iter().map(|entry| &entry.profile);
    let is_recorded = |name: &String| profile::may_be_loadfile(name);
    let is_any_recorded = match &args.load.profiles[..] {
        [] => written.into_iter().any(is_recorded),
        given => given.iter().any(is_recorded),
    };
    let said = match (args.load.skip_unknown, source.spec.skip_unknown) {
        (true, _) => setting::SKIP_UNKNOWN.to_string(),
        (false, true) => format!("suite {}: skip_unknown", source.origin),
        (false, false) => return Ok(()),
    };
    if is_any_recorded {
        Ok(())
    } else {
        Err(Failure::Usage(format!(
            "{said} means nothing without a loadfile among the profiles: give one, such as \
             client.txt, or drop it"
        )))
    }
}
