//! The counts of captures are those of tshark: by command, direction and status.
//!
//! `SMBENCH_CAPTURES` names a folder of further captures to compare.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use smbench_capture::{CaptureError, CaptureImport, CaptureSummary, ImportOptions, KeyRing};
use smbench_lab::{Tool, require};

use crate::encrypted::PASSWORD;

/// Messages by command, direction and status.
type Counts = BTreeMap<(String, &'static str, u32), u64>;

fn captures() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/captures");
    let mut folders = vec![fixtures];
    folders.extend(std::env::var_os("SMBENCH_CAPTURES").map(PathBuf::from));
    let entries = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths
        .filter(|path| path.to_string_lossy().contains(".pcap"))
        .collect();
    files.sort();
    files
}

fn read(path: &Path) -> Result<CaptureSummary, CaptureError> {
    let mut import = CaptureImport::new(ImportOptions::default());
    let mut keys = KeyRing::default();
    keys.add_password(PASSWORD);
    import.open_with(keys);
    import.read(&path.to_string_lossy(), File::open(path).unwrap())?;
    Ok(import.finish()?.summary)
}

/// Runs tshark, and returns the lines of its fields.
fn tshark(path: &Path, options: &[String], fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(path)
        .args(options)
        .args(["-T", "fields", "-E", "separator=;"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text
        .lines()
        .map(|line| line.split(';').map(str::to_owned).collect());
    lines.collect()
}

/// Returns the options that make tshark see SMB on the ports of servers; on all ports if
/// the capture begins in the middle of its connections.
fn on_ports_of_servers(path: &Path) -> Vec<String> {
    let filter = ["-Y", "tcp"].map(str::to_owned);
    let fields = [
        "tcp.srcport",
        "tcp.dstport",
        "tcp.flags.syn",
        "tcp.flags.ack",
    ];
    let (mut of_servers, mut all) = (BTreeSet::new(), BTreeSet::new());
    for line in tshark(path, &filter, &fields) {
        let is_set = |at: usize| line[at] == "1" || line[at] == "True";
        if is_set(2) && !is_set(3) {
            of_servers.insert(line[1].clone());
        }
        all.extend([line[0].clone(), line[1].clone()]);
    }
    let ports = if of_servers.is_empty() {
        all
    } else {
        of_servers
    };
    let decode = ports
        .iter()
        .flat_map(|port| ["-d".to_owned(), format!("tcp.port=={port},nbss")]);
    decode.collect()
}

#[test]
fn slices_by_user_and_share_have_the_requests_that_tshark_shows() {
    if let Err(skip) = require(&[Tool::TSHARK]) {
        return eprintln!("{skip}");
    }
    let path = captures().into_iter();
    let mut paths = path.filter(|path| path.ends_with("smbclient-3.1.1-unsigned.pcap"));
    let path = paths.next().unwrap();
    let requests = |filter: &str| {
        let mut options = on_ports_of_servers(&path);
        options.extend([
            "-Y".to_owned(),
            format!("smb2.flags.response == 0 && {filter}"),
        ]);
        let lines = tshark(&path, &options, &["smb2.cmd"]);
        lines
            .iter()
            .map(|line| line[0].split(',').count() as u64)
            .sum::<u64>()
    };
    let of = |user: Option<&str>, share: Option<&str>| {
        let mut import = CaptureImport::new(ImportOptions {
            user: user.map(str::to_owned),
            share: share.map(str::to_owned),
            ..ImportOptions::default()
        });
        import.read("capture", File::open(&path).unwrap()).unwrap();
        let summary = import.finish().unwrap().summary;
        let commands = summary.commands.values();
        commands.map(|command| command.requests).sum::<u64>()
    };
    let of_share = |share: &str| format!("smb2.tree contains \"{share}\"");
    for share in ["bench", "IPC$"] {
        let expected = requests(&of_share(share));
        assert!(expected > 0);
        assert_eq!(of(None, Some(share)), expected, "{share}");
        assert_eq!(of(Some("LAB\\daemon"), Some(share)), expected, "{share}");
    }
    let expected = requests("smb2.acct == \"daemon\" && smb2.cmd != 1");
    assert!(expected > 0);
    assert_eq!(of(Some("DAEMON"), None), expected);
    assert_eq!(of(Some("other"), None), 0);
}

/// Counts what tshark sees of SMB2, and the number of commands of CIFS. A field of a
/// compound has a value for each message.
fn counts_of_tshark(path: &Path) -> (Counts, u64) {
    let mut options = on_ports_of_servers(path);
    options.extend(["-Y", "smb2.cmd || smb.cmd && tcp", "-o"].map(str::to_owned));
    options.push(format!("ntlmssp.nt_password:{PASSWORD}"));
    let fields = [
        "smb2.cmd",
        "smb2.flags.response",
        "smb2.nt_status",
        "smb.cmd",
    ];
    let (mut counts, mut cifs) = (Counts::new(), 0);
    for line in tshark(path, &options, &fields) {
        let values = |field: &String| -> Vec<String> {
            let values = field.split(',').filter(|value| !value.is_empty());
            values.map(str::to_owned).collect()
        };
        let [commands, answers, statuses, of_cifs] = [0, 1, 2, 3].map(|at| values(&line[at]));
        let mut statuses = statuses.into_iter();
        for (command, is_answer) in commands.iter().zip(&answers) {
            let key = if is_answer == "1" || is_answer == "True" {
                let status = statuses.next().unwrap();
                let status = u32::from_str_radix(status.trim_start_matches("0x"), 16).unwrap();
                (command.clone(), "answer", status)
            } else {
                (command.clone(), "request", 0)
            };
            *counts.entry(key).or_default() += 1;
        }
        // The command of each AndX field follows, also the one that says "none".
        cifs += of_cifs.iter().filter(|command| *command != "0xff").count() as u64;
    }
    (counts, cifs)
}

/// The names of SMB2's commands.
const NAMES: [&str; 19] = [
    "negotiate",
    "session_setup",
    "logoff",
    "tree_connect",
    "tree_disconnect",
    "create",
    "close",
    "flush",
    "read",
    "write",
    "lock",
    "ioctl",
    "cancel",
    "echo",
    "query_directory",
    "change_notify",
    "query_info",
    "set_info",
    "oplock_break",
];

/// Returns the counts of a summary in the same form.
fn smb2_of(summary: &CaptureSummary) -> Counts {
    let mut counts = Counts::new();
    for (code, name) in NAMES.iter().enumerate() {
        let Some(command) = summary.commands.get(*name) else {
            continue;
        };
        if command.requests > 0 {
            counts.insert((code.to_string(), "request", 0), command.requests);
        }
        let sum: u64 = command.statuses.values().sum();
        assert_eq!(sum, command.responses, "{name}");
        for (status, count) in &command.statuses {
            let number = smbench_protocol::NtStatus::from_name(status).map(|known| known.0);
            let number = number.unwrap_or_else(|| u32::from_str_radix(&status[2..], 16).unwrap());
            counts.insert((code.to_string(), "answer", number), *count);
        }
    }
    counts
}

#[test]
fn commands_and_statuses_are_those_of_tshark() {
    if let Err(skip) = require(&[Tool::TSHARK]) {
        return eprintln!("skipped: {skip}");
    }
    let captures = captures();
    assert!(captures.len() > 10, "{captures:?}");
    let mut differences = Vec::new();
    let mut messages = 0;
    for path in captures {
        let summary = match read(&path) {
            Ok(summary) => summary,
            Err(error) => {
                differences.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        let (theirs, cifs) = counts_of_tshark(&path);
        let ours = smb2_of(&summary);
        let name = path.display();
        if theirs != ours {
            differences.push(format!("{name}\ntshark {theirs:?}\nours   {ours:?}"));
        }
        let of_cifs = summary
            .commands
            .iter()
            .filter(|(name, _)| name.starts_with("cifs_"));
        let of_cifs: u64 = of_cifs
            .map(|(_, command)| command.requests + command.responses)
            .sum();
        if cifs != of_cifs {
            differences.push(format!(
                "{name}: tshark has {cifs} commands of CIFS, not {of_cifs}"
            ));
        }
        let of_smb2: u64 = ours.values().sum();
        println!("{name}: {of_smb2} messages of SMB2, {of_cifs} commands of CIFS");
        messages += of_smb2 + of_cifs;
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(messages > 1000, "{messages}");
}
