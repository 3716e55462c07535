//! `--users`: accounts of the clients, in a CSV file with a head line. Invariant: no message
//! repeats a password.

use std::fmt::Display;
use std::path::Path;

use smbench_model::generator::DriverKind;
use smbench_model::login::Login;
use smbench_model::plan::Plan;
use smbench_model::secret::Secret;
use smbench_model::target::ClientAccount;
use smbench_model::trace::Recording;

use crate::failure::Failure;
use crate::password;

/// Size above which a file cannot be one of accounts.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// The recorded user of a row that is for all users without a row.
const OTHERS: &str = "*";

/// A row of the file.
struct AccountRow {
    recorded: Option<String>,
    account: ClientAccount,
}

/// Returns the accounts of the clients of a plan. In a replay, each recorded user has an
/// account; elsewhere clients use the accounts in turns.
pub(crate) fn accounts(path: &Path, plan: &Plan) -> Result<Vec<ClientAccount>, Failure> {
    if plan.sessions.target.login != Login::Ntlm {
        return Err(Failure::Usage(
            "--users has passwords for NTLM: leave out --auth and the options of Kerberos"
                .to_owned(),
        ));
    }
    let rows = read(path)?;
    if plan.generator.driver != DriverKind::Native {
        return Err(Failure::Usage(
            "--users is for the driver of smbench: leave out --driver".to_owned(),
        ));
    }
    let replay = plan
        .work
        .populations
        .iter()
        .find_map(|of| of.workload.replay());
    match replay {
        Some(_) if rows[0].recorded.is_some() && plan.work.populations.len() > 1 => {
            let why = "recorded users have accounts only in a profile of one population: leave out \
                       the column `recorded`, or the other populations";
            Err(unreadable(path, why))
        }
        Some(replay) if rows[0].recorded.is_some() => {
            of_recording(&rows, &replay.recording).map_err(|why| unreadable(path, why))
        }
        _ if rows[0].recorded.is_some() => {
            let why = "the profile has no recorded users: leave out the column `recorded`";
            Err(unreadable(path, why))
        }
        _ => Ok(rows.into_iter().map(|row| row.account).collect()),
    }
}

/// Returns the account of each track of a recording.
fn of_recording(rows: &[AccountRow], recording: &Recording) -> Result<Vec<ClientAccount>, String> {
    let accounts = recording.users().map(|user| {
        let user = user.unwrap_or(OTHERS);
        let found = rows.iter().find(|row| row.is_of(user));
        let others = rows.iter().find(|row| row.is_of(OTHERS));
        let found = found.or(others).map(|row| row.account.clone());
        found.ok_or_else(|| match user {
            OTHERS => "the trace does not name the user of a session: add a row for *".to_owned(),
            user => format!("it has no row for the recorded user {user}: add one, or one for *"),
        })
    });
    accounts.collect()
}

impl AccountRow {
    /// Whether the row is for a recorded user, with or without the domain, whatever the case.
    fn is_of(&self, user: &str) -> bool {
        let Some(recorded) = &self.recorded else {
            return false;
        };
        let (recorded, user) = (recorded.to_lowercase(), user.to_lowercase());
        let name = user.rsplit_once('\\').map_or(&user[..], |(_, name)| name);
        recorded == user || recorded == name
    }
}

/// Reads the rows; there is at least one.
fn read(path: &Path) -> Result<Vec<AccountRow>, Failure> {
    let text = password::read(path, FILE_BYTES_MAX)?;
    parse(&text).map_err(|why| unreadable(path, why))
}

fn parse(text: &str) -> Result<Vec<AccountRow>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| problem(&error))?.clone();
    let column = |name: &str| head.iter().position(|column| column.trim() == name);
    let is_known = |name: &&str| ["recorded", "user", "password"].contains(name);
    if let Some(unknown) = head.iter().map(str::trim).find(|name| !is_known(name)) {
        return Err(format!(
            "its head line has a column `{unknown}`: give `user,password` or \
             `recorded,user,password`"
        ));
    }
    let (Some(user), Some(password)) = (column("user"), column("password")) else {
        return Err("its head line must have the columns `user` and `password`".to_owned());
    };
    let recorded = column("recorded");
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| problem(&error))?;
        let (domain, name) = record[user]
            .rsplit_once('\\')
            .unwrap_or(("", &record[user]));
        if name.is_empty() {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(format!("line {line} has no user"));
        }
        rows.push(AccountRow {
            recorded: recorded.map(|at| record[at].to_owned()),
            account: ClientAccount {
                domain: domain.to_owned(),
                user: name.to_owned(),
                password: Secret::new(&record[password]).given_in("in the file of --users"),
            },
        });
    }
    if rows.is_empty() {
        return Err("it has no account below its head line".to_owned());
    }
    Ok(rows)
}

/// Describes an error without the fields of the row.
fn problem(error: &csv::Error) -> String {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("line {line} has {len} fields, and the head line {expected_len}")
        }
        _ => format!("line {line} is not CSV"),
    }
}

fn unreadable(path: &Path, why: impl Display) -> Failure {
    Failure::Usage(format!("--users {}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>, String> {
        let rows = parse(text)?;
        let shown = |row: AccountRow| {
            let ClientAccount {
                domain,
                user,
                password,
            } = row.account;
            let recorded = row.recorded.unwrap_or_default();
            format!("{recorded}/{domain}/{user}/{}", password.expose())
        };
        Ok(rows.into_iter().map(shown).collect())
    }

    #[test]
    fn accounts_are_read_by_the_names_of_their_columns() {
        let text = "password,user\n# the team\n\"a,\"\"b\",ann\ns3,CORP\\bob\n";
        assert_eq!(names(text).unwrap(), ["//ann/a,\"b", "/CORP/bob/s3"]);
        let text = "recorded,user,password\n*,ann,x\n";
        assert_eq!(names(text).unwrap(), ["*//ann/x"]);
    }

    #[test]
    fn mistakes_name_the_line_and_no_password() {
        for (text, why) in [
            (
                "",
                "its head line must have the columns `user` and `password`",
            ),
            ("user,password\n", "it has no account below its head line"),
            (
                "user,secret\n",
                "its head line has a column `secret`: give `user,password` or `recorded,user,password`",
            ),
            (
                "user,password\nann,s3cret,x\n",
                "line 2 has 3 fields, and the head line 2",
            ),
            ("user,password\nann,x\n,s3cret\n", "line 3 has no user"),
        ] {
            assert_eq!(names(text).unwrap_err(), why);
        }
    }

    #[test]
    fn a_recorded_user_has_the_row_of_its_name_with_or_without_the_domain() {
        let row = |recorded: &str| AccountRow {
            recorded: Some(recorded.to_owned()),
            account: parse("user,password\nann,x\n").unwrap().remove(0).account,
        };
        assert!(row("ann").is_of("CORP\\Ann"));
        assert!(row("corp\\ann").is_of("CORP\\Ann"));
        assert!(!row("corp").is_of("CORP\\Ann"));
        assert!(!row("other\\ann").is_of("CORP\\Ann"));
    }
}
