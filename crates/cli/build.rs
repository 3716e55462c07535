//! Tells the program from which commit and for which target it is built.

use std::env;
use std::fs;
use std::process::Command;

/// Returns what a git command prints; `None` outside of a repository.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// Returns the commit of these sources. A crate of a registry may lie in somebody else's
/// repository, so git is asked only if it knows this file; packed crates have the commit in a
/// file.
fn commit() -> Option<String> {
    if git(&["ls-files", "--error-unmatch", "build.rs"]).is_some() {
        return git(&["rev-parse", "--short=12", "HEAD"]);
    }
    let packed = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, commit) = packed.split_once("\"sha1\"")?;
    let commit = commit.split('"').nth(1)?;
    Some(commit.chars().take(12).collect())
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let commit = commit().unwrap_or_else(|| "unknown".to_owned());
    // `cargo run` passes these variables on, so they must not be ones that smbench reads.
    println!("cargo::rustc-env=SMBENCH_BUILT_FROM={commit}");
    let target = env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=SMBENCH_BUILT_FOR={target}");
}
