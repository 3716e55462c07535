//! smbench as a program: its calls, exit codes and documents.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, io};

use serde_json::Value;

use crate::launcher::Launched;
use crate::row::TrialResult;

/// Limit for a call, in seconds.
const CALL_LIMIT_S: &str = "150";
/// Exit code of `timeout` at its limit.
const OVERDUE: i32 = 124;
/// What smbench says when the negotiation leaves it without what it needs.
const NOT_OFFERED: [&str; 5] = [
    "which was not offered",
    "with an algorithm that was offered",
    "was negotiated without a cipher",
    "does not speak CIFS",
    "does not sign in CIFS",
];

pub(crate) struct Program {
    path: PathBuf,
    /// Folder of documents and profiles.
    folder: PathBuf,
    loadfile: PathBuf,
}

/// What a call said.
pub(crate) struct Said {
    code: i32,
    errors: String,
    /// The result document; null if there is none.
    document: Value,
}

impl Program {
    /// Returns the program that `SMBENCH` names, or the release build.
    pub(crate) fn find(repository: &Path, folder: &Path) -> Result<Self, String> {
        let named = env::var_os("SMBENCH").map(PathBuf::from);
        let path = named.unwrap_or_else(|| crate::target(repository).join("release/smbench"));
        let missing = |error: io::Error| format!("{}: {error}; set SMBENCH", path.display());
        let path = path.canonicalize().map_err(missing)?;
        let folder = folder.join("results");
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(failed)?;
        }
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Self {
            path,
            folder,
            loadfile: repository.join("fixtures/loadfiles/interop.txt"),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the date in UTC.
    pub(crate) fn today(&self) -> Result<String, String> {
        let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
        let date = date.map_err(|error| format!("date: {error}"))?;
        Ok(String::from_utf8_lossy(&date.stdout).trim().to_owned())
    }

    /// Returns the loadfile to replay.
    pub(crate) fn loadfile(&self) -> &Path {
        &self.loadfile
    }

    /// Writes a profile for the next calls and returns its path.
    pub(crate) fn profile(&self, text: &str) -> Result<PathBuf, String> {
        self.keep_profile("profile.toml", text)
    }

    /// Writes a profile under a name and returns its path.
    pub(crate) fn keep_profile(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        let written = fs::write(&path, text);
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Returns whether a dialect has what is in a profile.
    pub(crate) fn has_plan(&self, profile: &Path, dialect: &str) -> Result<bool, String> {
        // Nothing connects to this address (RFC 5737).
        let mut call = self.call(&["plan", "smb://ann@192.0.2.1/bench", "--dialect", dialect]);
        let output = output(call.arg("--profile").arg(profile))?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(2) => Ok(false),
            _ => Err(last_line(&output.stderr)),
        }
    }

    /// Calls smbench for a server. The document is kept under this name.
    pub(crate) fn run(
        &self,
        server: &Launched,
        name: &str,
        arguments: &[&str],
    ) -> Result<Said, String> {
        let document = self.folder.join(format!("{name}.json"));
        let mut call = self.call(arguments);
        call.args(["--target", &server.url, "--json"])
            .arg(&document)
            .arg("--out")
            .arg(self.folder.join("all"));
        let said = said(server, &mut call)?;
        let text = fs::read(&document).unwrap_or_default();
        Ok(Said {
            document: serde_json::from_slice(&text).unwrap_or_default(),
            ..said
        })
    }

    /// Calls a command of smbench for a server that makes no document.
    pub(crate) fn tell(&self, server: &Launched, arguments: &[&str]) -> Result<Said, String> {
        said(server, self.call(arguments).arg(&server.url))
    }

    /// The call has a limit, and ends if this process dies.
    fn call(&self, arguments: &[&str]) -> Command {
        let mut call = Command::new("setpriv");
        call.args(["--pdeathsig", "TERM", "timeout", "--kill-after=20"])
            .arg(CALL_LIMIT_S)
            .arg(&self.path)
            .args(arguments)
            .stdin(Stdio::null());
        call
    }
}

/// Ends a call for a server, and returns what it said.
fn said(server: &Launched, call: &mut Command) -> Result<Said, String> {
    call.arg("--quiet")
        .env("SMBENCH_PASSWORD", &server.password);
    let output = output(call)?;
    Ok(Said {
        code: output.status.code().unwrap_or(-1),
        // A port is another one each time.
        errors: last_line(&output.stderr).replace(server.address(), "the server"),
        document: Value::Null,
    })
}

fn output(call: &mut Command) -> Result<Output, String> {
    call.output().map_err(|error| format!("setpriv: {error}"))
}

/// Returns the cause of a drop-out, without numbers of clients.
fn cause(reason: &str) -> &str {
    reason
        .rsplit_once("first: ")
        .map_or(reason, |(_, cause)| cause)
}

fn last_line(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    let last = last.unwrap_or_default();
    last.strip_prefix("smbench: ").unwrap_or(last).to_owned()
}

impl Said {
    /// Returns the first load point; null if there is none.
    pub(crate) fn point(&self) -> &Value {
        &self.document["load_points"][0]
    }

    /// Returns the answer of a search.
    pub(crate) fn find(&self) -> &Value {
        &self.document["find"]
    }

    /// Returns what the negotiation chose; empty without a session.
    pub(crate) fn chose(&self, key: &str) -> &str {
        self.document["server"][key].as_str().unwrap_or_default()
    }

    /// Returns the operations of a load point, ramps included.
    pub(crate) fn operations(&self) -> u64 {
        let kinds = self.point()["whole"].as_object();
        let count = |kind: &Value| {
            kind["count"].as_u64().unwrap_or(0) + kind["errors"].as_u64().unwrap_or(0)
        };
        kinds.map_or(0, |kinds| kinds.values().map(count).sum())
    }

    /// Returns the verdict on the whole call.
    pub(crate) fn verdict(&self) -> TrialResult {
        if self.code == 0 {
            return TrialResult::Works;
        }
        let point = self.point();
        let failed = |key: &str| point[key].as_array().is_some_and(|list| !list.is_empty());
        if self.code == 4 && failed("failures") && !failed("dropouts") {
            return self.failures();
        }
        if self.code == 4 && failed("differences") {
            return self.differences();
        }
        if self.code == 3 && point.is_null() {
            return self.refusal();
        }
        let reason = point["invalid_reason"].as_str().unwrap_or(&self.errors);
        TrialResult::Fails(match self.code {
            OVERDUE => format!("no end within {CALL_LIMIT_S} s"),
            _ => cause(reason).to_owned(),
        })
    }

    /// Sums up the operations that failed.
    fn failures(&self) -> TrialResult {
        let failures = self.point()["failures"].as_array().into_iter().flatten();
        let (mut statuses, mut others) = (Vec::new(), Vec::new());
        for failure in failures {
            let status = failure["status"].as_str().unwrap_or_default().to_owned();
            let list = if failure["code"].is_null() {
                &mut others
            } else {
                &mut statuses
            };
            if !list.contains(&status) {
                list.push(status);
            }
        }
        if others.is_empty() {
            TrialResult::Refused(statuses.join(", "))
        } else {
            TrialResult::Fails(others.join(", "))
        }
    }

    /// Sums up the operations of a replay that did not go as recorded.
    fn differences(&self) -> TrialResult {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let differences = self.point()["differences"].as_array().into_iter().flatten();
        let each = differences.map(|one| {
            let (op, seen) = (text(&one["op"]), text(&one["seen"]));
            format!("{op}: {seen} for {}", text(&one["recorded"]))
        });
        TrialResult::Differs(each.collect::<Vec<_>>().join(", "))
    }

    /// Reads why no session was set up. There is no document then.
    fn refusal(&self) -> TrialResult {
        let said = &self.errors;
        let is_letter =
            |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
        if let Some(at) = said.find("STATUS_") {
            let status = &said[at..];
            let end = status
                .find(|letter| !is_letter(letter))
                .unwrap_or(status.len());
            return TrialResult::Refused(status[..end].to_owned());
        }
        if let Some(at) = said
            .find("permits ")
            .filter(|_| said.contains("(MaxMpxCount)"))
        {
            let (permits, _) = said[at..].split_once(';').unwrap_or((&said[at..], ""));
            return TrialResult::Beyond(format!("the server {permits}"));
        }
        if NOT_OFFERED.iter().any(|words| said.contains(words)) {
            TrialResult::NotOffered
        } else {
            TrialResult::Fails(said.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Said;
    use crate::row::TrialResult;

    fn verdict(code: i32, errors: &str, point: &Value) -> TrialResult {
        let said = Said {
            code,
            errors: errors.to_owned(),
            document: json!({ "load_points": [point] }),
        };
        said.verdict()
    }

    #[test]
    fn a_call_is_judged_by_its_exit_code_and_document() {
        let refused = TrialResult::Refused("STATUS_A, STATUS_B".to_owned());
        let failures = json!({
            "failures": [
                { "op": "read", "status": "STATUS_A", "code": "0x1" },
                { "op": "write", "status": "STATUS_A", "code": "0x1" },
                { "op": "write", "status": "STATUS_B", "code": "0x2" },
            ],
            "dropouts": [],
        });
        assert_eq!(verdict(4, "", &failures), refused);
        let wrong = json!({ "failures": [{ "status": "wrong-data", "code": null }] });
        assert_eq!(
            verdict(4, "", &wrong),
            TrialResult::Fails("wrong-data".to_owned())
        );
        let lost = json!({ "invalid_reason": "lost", "dropouts": [{}], "failures": [{}] });
        assert_eq!(verdict(4, "", &lost), TrialResult::Fails("lost".to_owned()));
        let lost = TrialResult::Fails("no end within 150 s".to_owned());
        assert_eq!(verdict(124, "", &Value::Null), lost);
        assert_eq!(verdict(0, "", &Value::Null), TrialResult::Works);
    }

    #[test]
    fn a_session_that_was_not_set_up_is_judged_by_its_message() {
        let of = |message: &str| verdict(3, message, &Value::Null);
        let refused = TrialResult::Refused("STATUS_NOT_SUPPORTED".to_owned());
        assert_eq!(
            of("NEGOTIATE refused with STATUS_NOT_SUPPORTED; advice"),
            refused
        );
        let chose = "failed to negotiate a session on a: the server chose SMB 2.0.2, which was not offered; advice";
        assert_eq!(of(chose), TrialResult::NotOffered);
        let closed = of("failed to set up a session on a:1: the server closed the connection");
        let reason = "the server closed the connection".to_owned();
        assert_eq!(closed.of_dialect(), TrialResult::NotServed(reason));
        let limit = of("the plan has 2 requests, but a permits 1 (MaxMpxCount); reduce it");
        assert_eq!(
            limit,
            TrialResult::Beyond("the server permits 1 (MaxMpxCount)".to_owned())
        );
    }
}
