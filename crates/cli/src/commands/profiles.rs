//! `smbench profiles`: what is built in.

use std::fmt::Write as _;

use smbench_engine::profile::{self, BUILTIN, ProfileError};

use crate::args::ProfilesCommand;
use crate::failure::{Exit, Failure};
use crate::output::print;

pub(super) fn profiles(command: Option<ProfilesCommand>) -> Result<Exit, Failure> {
    match command {
        None => list()?,
        Some(ProfilesCommand::Show { name }) => match profile::builtin(&name) {
            Some(text) => print(text)?,
            None => return Err(ProfileError::Unknown(name).into()),
        },
    }
    Ok(Exit::Done)
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
