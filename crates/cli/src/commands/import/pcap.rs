//! `smbench import pcap`: a summary of the SMB of a capture, and its trace.

mod summary;

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use smbench_capture::{CaptureError, CaptureImport, ImportOptions, KeyRing, first_time_ns};
use smbench_report::block;

use super::{WrittenFiles, exists};
use crate::args::PcapArgs;
use crate::failure::{Exit, Failure};
use crate::output::print;
use crate::results::MadeFolders;

/// Name of a capture that comes from standard input.
const STDIN: &str = "-";
/// Size above which a file cannot be one of keys.
const KEY_BYTES_MAX: u64 = 16 * 1024 * 1024;
const SUMMARY: &str = "summary.json";
const TRACE: &str = "trace.jsonl.gz";
const TREE: &str = "tree.jsonl.gz";

pub(super) fn import(args: &PcapArgs) -> Result<Exit, Failure> {
    let mut capture = CaptureImport::new(ImportOptions {
        from: args.from,
        length: args.length,
        client: args.client,
        names: args.names,
    });
    capture.open_with(keys(args)?);
    let files = in_order(&args.files)?;
    let Some(folder) = &args.out else {
        read_all(&mut capture, &files)?;
        let summary = capture.finish()?.summary;
        print(&block::to_text(&summary::blocks(&summary)))?;
        return Ok(Exit::Done);
    };
    let [summary_path, trace_path, tree_path] =
        [SUMMARY, TRACE, TREE].map(|name| folder.join(name));
    for path in [&summary_path, &trace_path, &tree_path] {
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
    let mut result = capture.finish()?;
    result.finish_trace().map_err(Failure::write(&trace_path))?;
    let tree = create(&tree_path)?;
    made.files.push(&tree_path);
    result
        .write_tree(tree)
        .map_err(Failure::write(&tree_path))?;
    let mut json = create(&summary_path)?;
    made.files.push(&summary_path);
    let text = result.summary.to_json() + "\n";
    json.write_all(text.as_bytes())
        .map_err(Failure::write(&summary_path))?;
    made.files.clear();
    let mut text = block::to_text(&summary::blocks(&result.summary));
    for path in [&summary_path, &trace_path, &tree_path] {
        text += &format!("wrote {}\n", path.display());
    }
    print(&text)?;
    Ok(Exit::Done)
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
fn in_order(files: &[PathBuf]) -> Result<Vec<&Path>, Failure> {
    let [_, _, ..] = files else {
        return Ok(files.iter().map(PathBuf::as_path).collect());
    };
    let mut timed = Vec::new();
    for file in files {
        if file.as_os_str() == STDIN {
            return Err(Failure::Usage(
                "standard input is one capture: give no file beside it".to_owned(),
            ));
        }
        let name = file.display().to_string();
        timed.push((first_time_ns(&name, open(file)?)?, file.as_path()));
    }
    timed.sort();
    Ok(timed.into_iter().map(|(_, file)| file).collect())
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
        if file.as_os_str() == STDIN {
            capture.read("standard input", io::stdin().lock())?;
        } else {
            capture.read(&file.display().to_string(), open(file)?)?;
        }
    }
    Ok(())
}
