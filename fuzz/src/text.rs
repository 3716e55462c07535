//! Targets for texts that users write.

use std::fmt::Display;
use std::str::FromStr;

use smbench_formats::loadfile::Unknown;
use smbench_formats::{iometer, loadfile, profile};
use smbench_model::kind::OpKind;
use smbench_model::limits::Limits;
use smbench_model::lists::clients::ClientList;
use smbench_model::lists::sources::{SOURCES_MAX, SourceList};
use smbench_model::login::KdcAddress;
use smbench_model::plan::{Plan, PlanError};
use smbench_model::profile::Profile;
use smbench_model::spec::RunOptions;
use smbench_model::target::Target;
use smbench_model::units::{Size, format_duration, parse_duration};
use smbench_protocol::{CipherList, DialectRange, SigningAlgorithm};

use crate::FuzzTarget;

/// Targets of this module.
pub const TARGETS: &[FuzzTarget] = &[
    ("loadfile", loadfile),
    ("iometer", iometer),
    ("profile", profile),
    ("target_url", target_url),
    ("client_list", client_list),
    ("source_list", source_list),
    ("protocol_names", protocol_names),
    ("size", size),
    ("duration", duration),
];

fn text(data: &[u8]) -> &str {
    std::str::from_utf8(data).unwrap_or_default()
}

/// Makes the plan of a profile, for a target that does not exist.
fn resolve(profile: &Profile) -> Result<Plan, PlanError> {
    let (target, _) = Target::parse("smb://user@host/share").expect("well formed");
    let options = RunOptions::default();
    Plan::resolve(profile, &options, target, Limits::default(), 2)
}

/// Reads a profile and makes its plan.
pub fn profile(data: &[u8]) {
    let Ok(profile) = profile::parse("fuzzed.toml", text(data)) else {
        return;
    };
    if let Ok(plan) = resolve(&profile) {
        assert!(plan.max_clients() > 0);
        assert!(!plan.digest().is_empty());
        // Log-ons need no files.
        if !plan.only().workload.kinds().contains(&OpKind::Session) {
            assert!(plan.only().workload.replay().is_some() || plan.files().take(10).count() > 0);
            assert!(plan.bytes_on_share() > 0);
        }
    }
}

/// Reads a loadfile. The result is a trace whose operations can all be printed,
/// or an error of one line.
pub fn loadfile(data: &[u8]) {
    for unknown in [Unknown::Refuse, Unknown::Skip] {
        match loadfile::parse("fuzzed.txt", data, unknown) {
            Ok(trace) => {
                assert!(!trace.is_empty());
                let shown = (0..trace.len()).map(|at| trace.describe(at as u32, 1));
                assert!(shown.map(|text| text.len()).sum::<usize>() > 0);
            }
            Err(error) => assert!(!error.to_string().contains('\n')),
        }
    }
}

/// Reads a configuration of Iometer. The result is profiles that read back the
/// same, or an error of one line.
pub fn iometer(data: &[u8]) {
    let config = match iometer::parse("fuzzed.icf", data) {
        Ok(config) => config,
        Err(error) => return assert!(!error.to_string().contains('\n')),
    };
    for note in &config.notes {
        assert!(note.line > 0 && !note.text.contains('\n'));
    }
    let profiles = config.profiles("fuzzed.icf");
    assert!(!profiles.is_empty());
    let of_spec = profiles.len() / config.specs.len();
    // A cycle can have a thousand steps that differ only in a number, so one
    // step of each specification is enough.
    for (at, imported) in profiles.iter().enumerate().step_by(of_spec) {
        let profile = Profile::parse("imported.toml", &imported.toml).expect("it is a profile");
        assert_eq!(profile.spec.pattern, config.specs[at / of_spec].lines);
        assert_eq!(profile.spec.run.work.duration, config.setup.run_time);
        if let Err(error) = resolve(&profile) {
            assert!(!error.to_string().contains('\n'));
        }
    }
}

/// Reads a target URL. Its printed form must read back as the same target.
pub fn target_url(data: &[u8]) {
    if let Ok((target, _)) = Target::parse(text(data)) {
        let shown = target.redacted();
        let (again, _) = Target::parse(&shown).expect("what is shown is a URL");
        assert_eq!(again.redacted(), shown);
    }
}

/// Reads a list of load points.
pub fn client_list(data: &[u8]) {
    if let Ok(list) = text(data).parse::<ClientList>() {
        assert!(!list.as_slice().is_empty());
        assert!(list.as_slice().iter().all(|&clients| clients > 0));
    }
}

/// Reads a size. Its exact printed form must read back the same.
pub fn size(data: &[u8]) {
    if let Ok(size) = text(data).parse::<Size>() {
        assert_eq!(format!("{size:#}").parse::<Size>().ok(), Some(size));
    }
}

/// Reads a duration. Its printed form must read back the same.
pub fn duration(data: &[u8]) {
    if let Ok(duration) = parse_duration(text(data)) {
        assert_eq!(
            parse_duration(&format_duration(duration)).ok(),
            Some(duration)
        );
    }
}

/// Reads a list of source addresses. Its printed form must read back the same.
pub fn source_list(data: &[u8]) {
    if let Ok(list) = text(data).parse::<SourceList>() {
        assert!((1..=SOURCES_MAX).contains(&list.as_slice().len()));
        assert_eq!(list.to_string().parse().as_ref(), Ok(&list));
    }
}

/// Reads names of dialects, algorithms, ciphers and leases, and addresses of KDCs.
pub fn protocol_names(data: &[u8]) {
    fn check<T: FromStr + Display + PartialEq>(text: &str) {
        if let Ok(value) = text.parse::<T>() {
            assert!(
                value
                    .to_string()
                    .parse::<T>()
                    .is_ok_and(|again| again == value)
            );
        }
    }
    let text = text(data);
    check::<DialectRange>(text);
    check::<SigningAlgorithm>(text);
    check::<CipherList>(text);
    check::<KdcAddress>(text);
}
