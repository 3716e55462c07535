//! `smbench import pcap`: a summary of the SMB of a capture, and its trace.

mod diff;
mod distil;
mod left_out;
mod page;
mod summary;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use smbench_capture::{
    CaptureDiff, CaptureError, CaptureImport, CaptureResult, CaptureSummary, ImportOptions,
    KeyRing, first_time_ns, read_summary,
};
use smbench_formats::profile::ProfileError;
use smbench_model::units::format_duration;
use smbench_report::block::{self, Block};

use self::diff::DiffNames;
use self::summary::instant;

use super::{WrittenFiles, exists};
use crate::args::{PcapArgs, is_stdout_taken};
use crate::failure::{Exit, Failure};
use crate::files::write;
use crate::output::print;
use crate::results::MadeFolders;

/// Name of a capture that comes from standard input.
const STDIN: &str = "-";
/// Size above which a file cannot be one of keys.
const KEY_BYTES_MAX: u64 = 16 * 1024 * 1024;
const SUMMARY: &str = "summary.json";
const TRACE: &str = "trace.jsonl.gz";
const TREE: &str = "tree.jsonl.gz";
const SESSIONS: &str = "sessions.jsonl.gz";

pub(super) fn import(args: &PcapArgs) -> Result<Exit, Failure> {
    is_stdout_taken(&[("--json", &args.json), ("--html", &args.html)])?;
    let Some(folder) = &args.out else {
        let files: Vec<_> = args.files.iter().map(PathBuf::as_path).collect();
        if let Some(other) = &args.diff
            && is_stdin(other)
            && files.iter().any(|file| is_stdin(file))
        {
            return Err(Failure::Usage(
                "standard input is one capture: give a file to compare it with".to_owned(),
            ));
        }
        let summary = summary_of(args, &files)?;
        match &args.diff {
            None => show(args, &summary, "")?,
            Some(other) => show_diff(args, summary, other)?,
        }
        return Ok(Exit::Done);
    };
    if args.distil {
        return distil::distil(args, folder);
    }
    check_folder(folder)?;
    let files: Vec<_> = args.files.iter().map(PathBuf::as_path).collect();
    let files = in_order(&files)?;
    let mut capture = begin(args)?;
    let [summary_path, trace_path, tree_path, sessions_path] =
        [SUMMARY, TRACE, TREE, SESSIONS].map(|name| folder.join(name));
    for path in [&summary_path, &trace_path, &tree_path, &sessions_path] {
        if path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
    }
    let mut made = WrittenFiles {
        files: Vec::new(),
        _folders: Some(MadeFolders::missing(folder)),
    };
    fs::create_dir_all(folder).map_err(Failure::write(folder))?;
    let trace = create(&trace_path)?;
    made.files.push(&trace_path);
    capture.trace_to(trace);
    read_all(&mut capture, &files)?;
    let mut result = finish(capture, args, &name_of(&files))?;
    result.finish_trace().map_err(Failure::write(&trace_path))?;
    let tree = create(&tree_path)?;
    made.files.push(&tree_path);
    result
        .write_tree(tree)
        .map_err(Failure::write(&tree_path))?;
    let sessions = create(&sessions_path)?;
    made.files.push(&sessions_path);
    result
        .write_sessions(sessions)
        .map_err(Failure::write(&sessions_path))?;
    let mut json = create(&summary_path)?;
    made.files.push(&summary_path);
    let text = result.summary.to_json() + "\n";
    json.write_all(text.as_bytes())
        .map_err(Failure::write(&summary_path))?;
    made.files.clear();
    let mut wrote = String::new();
    for path in [&summary_path, &trace_path, &tree_path, &sessions_path] {
        wrote += &format!("wrote {}\n", path.display());
    }
    show(args, &result.summary, &wrote)?;
    Ok(Exit::Done)
}

/// Refuses what is, or would be, a file in place of the folder of a trace.
fn check_folder(out: &Path) -> Result<(), Failure> {
    let shown = out.display();
    if out.is_file() {
        return Err(Failure::Usage(format!(
            "{shown} is a file: give --out a folder"
        )));
    }
    if !out.is_dir() && out.extension() == Some(OsStr::new("toml")) {
        return Err(Failure::Usage(format!(
            "--out {shown} is for a profile, which needs --distil: add it, or give a folder"
        )));
    }
    Ok(())
}

fn begin(args: &PcapArgs) -> Result<CaptureImport, Failure> {
    let mut capture = CaptureImport::new(ImportOptions {
        from: args.from,
        length: args.length,
        client: args.client,
        user: args.user.clone(),
        share: args.share.clone(),
        names: args.names,
    });
    capture.open_with(keys(args)?);
    Ok(capture)
}

/// Ends the capture of this name. A slice without a request is most likely a mistake.
fn finish(capture: CaptureImport, args: &PcapArgs, name: &str) -> Result<CaptureResult, Failure> {
    let result = capture.finish()?;
    let summary = &result.summary;
    let has_encrypted = summary.unreadable.encrypted_messages > 0;
    let is_by_name = args.user.is_some() || args.share.is_some();
    let asked = asked(args, &result);
    if asked.is_empty() || !summary.commands.is_empty() || (has_encrypted && !is_by_name) {
        return Ok(result);
    }
    let hint = if is_by_name {
        "; --names keep without a slice lists users and shares"
    } else {
        ""
    };
    Err(Failure::Usage(format!(
        "the slice has no request {}: {name} begins at {} and ends at {}{hint}",
        asked.join(" "),
        instant(summary.source.begin_ns),
        instant(summary.source.end_ns),
    )))
}

/// Returns what a slice asks for.
fn asked(args: &PcapArgs, result: &CaptureResult) -> Vec<String> {
    let user = args.user.as_ref().map(|user| format!("of user {user}"));
    let share = args.share.as_ref().map(|share| format!("to share {share}"));
    let client = args.client.map(|client| format!("of client {client}"));
    let from = args
        .from
        .map(|_| format!("from {} on", instant(result.slice_begin_ns())));
    let length = args
        .length
        .map(|length| format!("within {}", format_duration(length)));
    let all = [user, share, client, from, length];
    all.into_iter().flatten().collect()
}

/// Reads files as one capture.
fn summary_of(args: &PcapArgs, files: &[&Path]) -> Result<CaptureSummary, Failure> {
    let mut capture = begin(args)?;
    read_all(&mut capture, &in_order(files)?)?;
    Ok(finish(capture, args, &name_of(files))?.summary)
}

/// Returns the summary in the folder that an import wrote.
pub(in crate::commands) fn blocks_of_folder(folder: &Path) -> Result<Vec<Block>, Failure> {
    let summary = read_summary(folder).map_err(ProfileError::from)?;
    Ok(summary::blocks(&summary))
}

/// Shows a summary in all formats that are asked for. `wrote` names files.
fn show(args: &PcapArgs, summary: &CaptureSummary, wrote: &str) -> Result<(), Failure> {
    let name = name_of(&args.files);
    let blocks = summary::blocks(summary);
    let text = block::to_text(&blocks) + wrote;
    let page = || page::page(&[(&name, summary)], blocks);
    write_all(args, &text, || summary.to_json(), page)
}

fn show_diff(args: &PcapArgs, first: CaptureSummary, other: &Path) -> Result<(), Failure> {
    let diff = CaptureDiff::new(first, summary_of(args, &[other])?);
    let (first, second) = (name_of(&args.files), shown(other));
    let names = DiffNames {
        first: &first,
        second: &second,
    };
    let blocks = diff::blocks(&diff, names);
    let text = block::to_text(&blocks);
    let page = || page::page(&[(&first, &diff.first), (&second, &diff.second)], blocks);
    write_all(args, &text, || diff.to_json(), page)
}

fn name_of(files: &[impl AsRef<Path>]) -> String {
    let first = files.first().map(|file| shown(file.as_ref()));
    let first = first.unwrap_or_default();
    match files.len() {
        0 | 1 => first,
        several => format!("{first} and {} more", several - 1),
    }
}

fn write_all(
    args: &PcapArgs,
    text: &str,
    json: impl FnOnce() -> String,
    page: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    if let Some(to) = &args.json {
        write(to, &(json() + "\n"))?;
    }
    if let Some(to) = &args.html {
        write(to, &page()?)?;
    }
    let is_taken = is_stdout_taken(&[("--json", &args.json), ("--html", &args.html)])?;
    if is_taken { Ok(()) } else { print(text) }
}

/// Reads the keys of encrypted sessions.
fn keys(args: &PcapArgs) -> Result<KeyRing, Failure> {
    let mut keys = KeyRing::default();
    if let Some(path) = &args.keytab {
        keys.add_keytab(&path.display().to_string(), &bytes_of(path)?)?;
    }
    if let Some(path) = &args.session_keys {
        keys.add_session_keys(&path.display().to_string(), &text_of(path)?)?;
    }
    if let Some(path) = &args.nt_password_file {
        let text = text_of(path)?;
        let passwords = text.lines().filter(|password| !password.is_empty());
        passwords.for_each(|password| keys.add_password(password));
        if text.trim().is_empty() {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path} has no password: expected one a line"
            )));
        }
    }
    Ok(keys)
}

/// Returns the content of a key file as text.
fn text_of(path: &Path) -> Result<String, Failure> {
    let text = String::from_utf8(bytes_of(path)?);
    text.map_err(|_| Failure::Usage(format!("{} is no text: expected UTF-8", path.display())))
}

/// Returns the content of a key file.
fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(KEY_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|source| {
        let file = path.display().to_string();
        CaptureError::Io { file, source }
    })?;
    Ok(bytes)
}

fn create(path: &Path) -> Result<File, Failure> {
    // A file created in the meantime is not replaced either.
    File::create_new(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(path),
        _ => Failure::write(path)(error),
    })
}

/// Returns the files in the order of their first frames: `monday.pcap10` comes after
/// `monday.pcap2`.
fn in_order<'a>(files: &[&'a Path]) -> Result<Vec<&'a Path>, Failure> {
    let [_, _, ..] = files else {
        return Ok(files.to_vec());
    };
    let mut timed = Vec::new();
    for &file in files {
        if is_stdin(file) {
            return Err(Failure::Usage(
                "standard input is one capture: give no file beside it".to_owned(),
            ));
        }
        let name = file.display().to_string();
        timed.push((first_time_ns(&name, open(file)?)?, file));
    }
    timed.sort();
    Ok(timed.into_iter().map(|(_, file)| file).collect())
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == STDIN
}

/// Returns the name of a file, or of standard input.
fn shown(file: &Path) -> String {
    if is_stdin(file) {
        "standard input".to_owned()
    } else {
        file.display().to_string()
    }
}

fn open(file: &Path) -> Result<File, Failure> {
    let opened = File::open(file).and_then(|opened| {
        if opened.metadata()?.is_dir() {
            return Err(io::Error::other("it is a folder: give its files"));
        }
        Ok(opened)
    });
    opened.map_err(|source| {
        let file = file.display().to_string();
        CaptureError::Io { file, source }.into()
    })
}

fn read_all(capture: &mut CaptureImport, files: &[&Path]) -> Result<(), Failure> {
    for file in files {
        let name = shown(file);
        if is_stdin(file) {
            capture.read(&name, io::stdin().lock())?;
        } else {
            capture.read(&name, open(file)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_has_the_name_of_its_first_file() {
        let named = |files: &[&str]| name_of(&files.iter().map(Path::new).collect::<Vec<_>>());
        assert_eq!(named(&["a.pcap"]), "a.pcap");
        assert_eq!(named(&["a.pcap", "b.pcap"]), "a.pcap and 1 more");
        assert_eq!(named(&["-"]), "standard input");
    }
}
