//! Code that the benches and the instruction-count gate of smbench share.

use std::hint::black_box;

use smbench_formats::profile;
use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::secret::Secret;
use smbench_model::spec::RunOptions;
use smbench_model::target::Target;
use smbench_model::workload::Workload;
use smbench_protocol::command::read::ReadResponse;
use smbench_protocol::frame::{Inbound, Payload};
use smbench_protocol::header::{Command, Flags, HEADER_LEN, Header};
use smbench_protocol::{DecodeError, NtStatus};

/// Length of the reads and writes measured here, in bytes.
pub const READ_LEN: u32 = 4096;

/// Makes a framed, successful READ response with [`READ_LEN`] bytes.
#[must_use]
pub fn read_response() -> Vec<u8> {
    let header = Header {
        status: NtStatus::SUCCESS,
        flags: Flags::RESPONSE,
        ..Header::request(Command::Read, 1)
    };
    let mut message = Vec::new();
    header.encode(&mut message);
    message.extend_from_slice(&17u16.to_le_bytes());
    message.extend_from_slice(&[(HEADER_LEN + 16) as u8, 0]);
    message.extend_from_slice(&READ_LEN.to_le_bytes());
    message.extend_from_slice(&[0; 8]);
    message.resize(message.len() + READ_LEN as usize, 0xA5);
    let mut framed = (message.len() as u32).to_be_bytes().to_vec();
    framed.append(&mut message);
    framed
}

/// Decodes the output of [`read_response`] from the stream. Returns its message
/// id and length, or `None` if it does not decode.
pub fn receive_read_response(framed: &mut [u8], payload: Payload) -> Option<(u64, u32)> {
    let mut inbound = Inbound::default();
    let mut input = black_box(framed);
    let frame = inbound.next(&mut input, payload).ok().flatten()?;
    let message = frame.open(|_| None).ok()?.next_message().ok().flatten()?;
    let decoded = || -> Result<_, DecodeError> {
        let header = Header::decode(message.bytes)?;
        let body = ReadResponse::decode(message.bytes, message.total_len)?;
        Ok((header.message_id, body.length))
    };
    decoded().ok()
}

/// Makes a plan for a server that exists.
///
/// # Errors
/// Returns an error if the URL, the profile or the options are invalid.
pub fn plan_for(
    url: &str,
    password: &str,
    profile: &str,
    options: &RunOptions,
) -> Result<Plan, String> {
    let (mut target, _) = Target::parse(url).map_err(|error| format!("{url}: {error}"))?;
    target.password = Secret::new(password);
    let profile = profile::load(profile).map_err(|error| error.to_string())?;
    Plan::resolve(&profile, options, target, Limits::default(), 1)
        .map_err(|error| error.to_string())
}

/// Returns the workload of a built-in profile, from a plan without a real target.
///
/// # Panics
/// Panics if there is no such profile.
#[must_use]
pub fn builtin_workload(name: &str) -> Workload {
    let Ok(profile) = profile::load(name) else {
        panic!("no profile {name} is built in");
    };
    workload(&profile)
}

/// Returns the workload of a profile, from a plan without a real target.
///
/// # Panics
/// Panics if the profile cannot run.
#[must_use]
pub fn workload(profile: &Profile) -> Workload {
    let target = Target::parse("smb://nobody@nowhere.invalid/share");
    let Ok((target, _)) = target else {
        unreachable!("the target is well formed");
    };
    let (options, limits) = (RunOptions::default(), Limits::default());
    match Plan::resolve(profile, &options, target, limits, 1) {
        Ok(plan) => plan.only().workload.clone(),
        Err(error) => panic!("the profile cannot run: {error}"),
    }
}
