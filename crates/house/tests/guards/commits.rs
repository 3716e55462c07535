//! What holds for commits: a subject fits where git and forges show it.

use std::process::Command;

use super::repository;

/// Most characters of a subject.
const SUBJECT_MAX: usize = 72;

/// Commits from then on. Earlier ones have longer subjects.
const SINCE: &str = "--since=2026-11-29T00:00:00Z";

/// Returns what git prints about the repository.
///
/// # Errors
/// Why git prints nothing.
fn git(arguments: &[&str]) -> Result<String, String> {
    let mut git = Command::new("git");
    // In a container, the folder may belong to another user.
    git.args(["-c", "safe.directory=*", "-C"]).arg(repository());
    let output = git.args(arguments).output();
    let output = output.map_err(|error| format!("git does not start: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
    }
}

/// Returns the commits of this repository, as lines. A folder from a tarball has none; it may
/// lie in the repository of something else. Forges write the subjects of merges.
fn commits() -> Vec<String> {
    if !repository().join(".git").exists() {
        return Vec::new();
    }
    let read = |arguments: &[&str]| {
        git(arguments).unwrap_or_else(|reason| panic!("git gives no commit: {reason}"))
    };
    let found = read(&["log", "--no-merges", SINCE, "--format=%h %s"]);
    // A shallow clone may have no commit but a merge.
    let is_shallow = read(&["rev-parse", "--is-shallow-repository"]).trim() == "true";
    assert!(
        is_shallow || !found.is_empty(),
        "git gives no commit {SINCE}"
    );
    found.lines().map(str::to_owned).collect()
}

#[test]
fn the_subject_of_a_commit_has_at_most_72_characters() {
    let mut long = commits();
    long.retain(|commit| {
        let (_, subject) = commit.split_once(' ').unwrap();
        subject.chars().count() > SUBJECT_MAX
    });
    assert!(long.is_empty(), "{}", long.join("\n"));
}
