//! `smbench profiles`: lists the built-in profiles, and prints one profile, or the plan of a
//! capture.

use std::fmt::Write as _;
use std::fs;

use smbench_formats::profile;
use smbench_model::limits::Limits;
use smbench_model::profile::{BUILTIN, Profile};
use smbench_model::spec::RunOptions;

use super::plan;
use crate::args::ProfilesCommand;
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::request::{self, RunRequest, RunServer};

pub(super) fn profiles(command: Option<ProfilesCommand>) -> Result<Exit, Failure> {
    match command {
        None => list()?,
        Some(ProfilesCommand::Show { name }) => match profile::builtin(&name) {
            Some(text) => print(&text)?,
            None => print(&file(&name)?)?,
        },
    }
    Ok(Exit::Done)
}

/// Returns the plan that replays a capture.
fn of_capture(profile: &Profile) -> Result<String, Failure> {
    let (options, limits) = (RunOptions::default(), Limits::default());
    let request = RunRequest::resolve(profile, &options, RunServer::Embedded, limits)?;
    plan::describe(&request)
}

/// Returns the text of a profile's file after checking that it can run.
fn file(path: &str) -> Result<String, Failure> {
    let profile = profile::load(path)?;
    match &profile.recording {
        Some(recording) if recording.is_of_capture() => return of_capture(&profile),
        Some(_) => {
            return Err(Failure::Usage(format!(
                "{path} is a recording, not a profile: `smbench plan -p {path}` shows what is in it"
            )));
        }
        None => {}
    }
    request::check(&profile)?;
    fs::read_to_string(path).map_err(Failure::io(format!("read {path}")))
}

fn list() -> Result<(), Failure> {
    let width = BUILTIN.iter().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for (name, _) in BUILTIN {
        let description = profile::load(name)?.spec.description.unwrap_or_default();
        let default = if name == profile::DEFAULT {
            " (default)"
        } else {
            ""
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<width$}  {description}{default}");
    }
    print(&text)
}
