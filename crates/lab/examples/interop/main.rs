//! `interop [SERVER...]` runs smbench against servers of others, and writes what it found
//! to `docs/reference/servers.md`. With names of servers it tries only these, and the page
//! keeps what it says of the others. `SMBENCH` is the program to try; `test.sh --interop` calls this.
//!
//! The launchers of the servers are scripts in `crates/lab/interop`. Results, logs and
//! downloads are in `target/interop`. Every process ends with this one.
//!
//! Not here: tests of smbench. A server that lacks something is no error.

#![expect(clippy::print_stderr, reason = "this is a program")]

mod entries;
mod launcher;
mod page;
mod program;
mod row;
mod trials;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use launcher::{Launched, SUBJECTS, Subject};
use row::{ServerRow, Tried};

fn main() -> ExitCode {
    let names: Vec<String> = env::args().skip(1).collect();
    match run(&names) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("interop: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether every server was tried, and lacks only what the page before says.
fn run(names: &[String]) -> Result<bool, String> {
    let repository = repository()?;
    let subjects = chosen(names)?;
    let folder = target(&repository).join("interop");
    let program = program::Program::find(&repository, &folder)?;
    let pool = entries::Pool::read(&repository, &program)?;
    let page = repository.join("docs/reference/servers.md");
    let before = fs::read_to_string(&page).unwrap_or_default();
    let (mut rows, mut holds) = (Vec::new(), true);
    for subject in subjects {
        eprintln!("== {}", subject.name);
        let row = row(&repository, &folder, subject, &program, &pool)?;
        for complaint in page::complaints(&row, &before) {
            eprintln!("interop: {complaint}");
            holds = false;
        }
        rows.push(row);
    }
    // Another run may have written it meanwhile.
    let before = fs::read_to_string(&page).unwrap_or_default();
    let text = page::text(&rows, &before);
    fs::write(&page, text).map_err(|error| format!("{}: {error}", page.display()))?;
    eprintln!("written: {}", page.display());
    Ok(holds)
}

fn repository() -> Result<PathBuf, String> {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = lab.join("../..").canonicalize();
    root.map_err(|error| format!("{}: {error}", lab.display()))
}

fn target(repository: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository.join("target"), PathBuf::from)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Subject>, String> {
    if names.is_empty() {
        return Ok(SUBJECTS.iter().collect());
    }
    let find = |name: &String| {
        let found = SUBJECTS.iter().find(|subject| subject.name == name);
        found.ok_or_else(|| {
            let known: Vec<_> = SUBJECTS.iter().map(|subject| subject.name).collect();
            format!("no server {name}; there are: {}", known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

/// Starts a server, tries it, and ends it.
fn row(
    repository: &Path,
    folder: &Path,
    subject: &'static Subject,
    program: &program::Program,
    pool: &entries::Pool,
) -> Result<ServerRow, String> {
    let mut row = ServerRow {
        name: subject.name,
        version: String::new(),
        settings: String::new(),
        date: program.today()?,
        tried: Err(String::new()),
    };
    match Launched::start(repository, folder, subject, program.path()) {
        Ok(server) => {
            row.version.clone_from(&server.version);
            row.settings.clone_from(&server.settings);
            let tried: Tried = trials::all(program, pool, subject, &server)?;
            row.tried = Ok(tried);
        }
        Err(reason) => row.tried = Err(reason),
    }
    Ok(row)
}
