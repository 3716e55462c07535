//! The start of an instance: its account, its folders, its processes.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::{User, geteuid};

use super::SambaShare;
use super::build::SambaPrograms;
use super::config::{FOLDERS, ShareSection};
use crate::options::check_name;
use crate::process::{ProcessGroup, output};
use crate::{LabError, Password};

/// Log of the output of smbd, relative to the root.
const STARTUP_LOG: &str = "log/startup.log";
/// Log of smbd until it has read the log path from smb.conf.
const EARLY_LOG: &str = "log/log.smbd";
/// Length of the end of a log in an error, in bytes.
const LOG_TAIL_BYTES: u64 = 4096;

/// Returns the name of the account that this process runs as.
pub(super) fn invoking_account() -> Result<String, LabError> {
    let uid = geteuid();
    let user = User::from_uid(uid)
        .map_err(|errno| LabError::io("look up the invoking account")(errno.into()))?
        .ok_or(LabError::NoAccount { uid: uid.as_raw() })?;
    check_name("user", &user.name)?;
    Ok(user.name)
}

/// Makes the folders of an instance. Returns the sections of its shares.
pub(super) fn make_folders<'a>(
    root: &Path,
    shares: &'a [SambaShare],
) -> Result<Vec<ShareSection<'a>>, LabError> {
    let make = |folder: &Path| {
        fs::create_dir_all(folder).map_err(LabError::io(format!(
            "make the folder {}",
            folder.display()
        )))
    };
    for folder in FOLDERS {
        make(&root.join(folder))?;
    }
    let section = |share: &'a SambaShare| {
        let path = data_dir(root, &share.name);
        make(&path)?;
        Ok(ShareSection {
            name: &share.name,
            path,
            access: share.access,
            lines: &share.lines,
        })
    };
    shares.iter().map(section).collect()
}

/// Returns the account that represents guests; see `guest account` in the template.
pub(super) fn guest_for(account: &str) -> &str {
    if geteuid().is_root() {
        "nobody"
    } else {
        account
    }
}

pub(super) fn data_dir(root: &Path, share: &str) -> PathBuf {
    root.join("data").join(share)
}

/// Adds `account` to the instance's password database.
///
/// This uses `pdbedit`, because `smbpasswd` adds accounts only for root.
pub(super) fn add_account(
    programs: &SambaPrograms,
    root: &Path,
    configuration: &Path,
    account: &str,
    password: &Password,
) -> Result<(), LabError> {
    let mut command = Command::new(&programs.pdbedit);
    command
        .arg("--configfile")
        .arg(configuration)
        .arg("--log-basename")
        .arg(root.join("log"))
        .args(["--create", "--password-from-stdin", "--user", account]);
    let password = password.as_str();
    // pdbedit asks for the password twice.
    let output = output(&mut command, &format!("{password}\n{password}\n"))
        .map_err(LabError::io("run pdbedit"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(LabError::Account {
        status: output.status,
        output: String::from_utf8_lossy(&said).trim().to_owned(),
    })
}

pub(super) fn launch(
    programs: &SambaPrograms,
    root: &Path,
    configuration: &Path,
    krb5_conf: Option<&Path>,
) -> Result<ProcessGroup, LabError> {
    let failed = || LabError::io("start smbd");
    let startup = File::create(root.join(STARTUP_LOG)).map_err(failed())?;
    let mut command = Command::new(&programs.smbd);
    command
        .args(["--foreground", "--no-process-group"])
        .arg("--configfile")
        .arg(configuration)
        // Until smbd has read smb.conf, it would log into the system's folder.
        .arg("--log-basename")
        .arg(root.join("log"))
        .stdout(startup.try_clone().map_err(failed())?)
        .stderr(startup);
    if let Some(krb5_conf) = krb5_conf {
        command.env("KRB5_CONFIG", krb5_conf);
    }
    ProcessGroup::spawn(&mut command).map_err(failed())
}

/// Returns the end of the logs of `smbd`.
pub(super) fn log_tail(root: &Path) -> String {
    [STARTUP_LOG, EARLY_LOG, "log/smbd.log"]
        .iter()
        .filter_map(|file| tail(&root.join(file)).ok())
        .collect::<Vec<_>>()
        .concat()
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let len_bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(len_bytes.saturating_sub(LOG_TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
