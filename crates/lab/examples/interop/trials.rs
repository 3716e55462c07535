//! What is tried on a server, and in which order.

use std::path::{Path, PathBuf};

use crate::entries::{DIALECTS, Entry, Pool};
use crate::launcher::{Launched, Subject};
use crate::program::{Program, Said};
use crate::row::{Aspect, Trial, Tried, Verdict};

/// Options of every run of a mix. A server in which clients disturb each other shows what it
/// can do for one.
const RUN: [&str; 13] = [
    "run",
    "--clients",
    "1",
    "--verify",
    "--ramp-up",
    "100ms",
    "--ramp-down",
    "100ms",
    "--connect-timeout",
    "10s",
    "--operation-timeout",
    "20s",
    "--profile",
];
/// Operations of a mix for each of its entries, ramps included, so that all occur.
const EACH: u64 = 20;
/// Durations of a mix until it has so many operations.
const DURATIONS: [&str; 4] = ["1s", "3s", "10s", "30s"];
/// Duration of a run of one operation.
const ALONE: &str = "300ms";
/// Signing algorithms as documents name them, with the dialects that have them.
const SIGNING: [(&str, &[&str]); 4] = [
    ("md5", &["cifs"]),
    ("hmac-sha256", &["2.0.2", "2.1", "3.1.1"]),
    ("aes-128-cmac", &["3.0", "3.0.2", "3.1.1"]),
    ("aes-128-gmac", &["3.1.1"]),
];
const CIPHERS: [(&str, &[&str]); 4] = [
    ("aes-128-ccm", &["3.0", "3.0.2", "3.1.1"]),
    ("aes-128-gcm", &["3.1.1"]),
    ("aes-256-ccm", &["3.1.1"]),
    ("aes-256-gcm", &["3.1.1"]),
];
const SESSIONS_MAX: &str = "200";

struct Trier<'a> {
    program: &'a Program,
    pool: &'a Pool,
    subject: &'a Subject,
    server: &'a Launched,
    tried: Tried,
    served: Vec<Served>,
}

/// A dialect that works.
#[derive(Clone)]
struct Served {
    dialect: &'static str,
    /// Profile of what works in it, without [`LOG_ON`].
    profile: PathBuf,
    /// Profile of [`LOG_ON`], if it works.
    log_on: Option<PathBuf>,
}

const LOG_ON: &str = "log_on";

/// Tries everything.
pub(crate) fn all(
    program: &Program,
    pool: &Pool,
    subject: &Subject,
    server: &Launched,
) -> Result<Tried, String> {
    let mut trier = Trier {
        program,
        pool,
        subject,
        server,
        tried: Tried::default(),
        served: Vec::new(),
    };
    for dialect in DIALECTS {
        trier.dialect(dialect)?;
    }
    for (algorithm, dialects) in SIGNING {
        trier.signing(algorithm, dialects)?;
    }
    for (cipher, dialects) in CIPHERS {
        trier.cipher(cipher, dialects)?;
    }
    trier.protected_log_on()?;
    trier.replay()?;
    trier.sessions()?;
    Ok(trier.tried)
}

impl Trier<'_> {
    fn record(&mut self, aspect: Aspect, what: &str, dialect: &'static str, verdict: Verdict) {
        eprintln!("   {what} {dialect}: {}", verdict.text());
        self.tried.trials.push(Trial {
            aspect,
            what: what.to_owned(),
            dialect,
            verdict,
        });
    }

    /// Runs a profile. The name is that of the document.
    fn run(&mut self, name: &str, profile: &Path, options: &[&str]) -> Result<Said, String> {
        let profile = profile.display().to_string();
        let mut arguments = RUN.to_vec();
        arguments.push(&profile);
        arguments.extend(options);
        let name = format!("{}-{name}", self.subject.name);
        let said = self.program.run(self.server, &name, &arguments)?;
        let verification = &said.point()["verification"];
        self.tried.checked += verification["checked"].as_u64().unwrap_or(0);
        self.tried.wrong += verification["wrong"].as_u64().unwrap_or(0);
        Ok(said)
    }

    /// Runs a mix until all of its operations have occurred.
    fn mix(&mut self, name: &str, dialect: &str, entries: &[&Entry]) -> Result<Said, String> {
        let profile = self.program.profile(&self.pool.text(entries))?;
        let mut said = self.run(name, &profile, &["--dialect", dialect, "-d", DURATIONS[0]])?;
        for duration in &DURATIONS[1..] {
            let enough = said.operations() >= EACH * entries.len() as u64;
            if enough || !said.verdict().works() {
                break;
            }
            said = self.run(name, &profile, &["--dialect", dialect, "-d", duration])?;
        }
        Ok(said)
    }

    /// Tries a dialect with every operation that it has.
    fn dialect(&mut self, dialect: &'static str) -> Result<(), String> {
        let entries = self.pool.of(dialect);
        let said = self.mix(dialect, dialect, &entries)?;
        let negotiated = said.chose("dialect");
        let verdict = match negotiated {
            "" => said.verdict().of_dialect(),
            other if other == dialect => Verdict::Works,
            other => Verdict::Fails(format!("{other} was negotiated")),
        };
        // A run that is refused for one of its operations has no session either.
        if !matches!(verdict, Verdict::Works | Verdict::Beyond(_)) {
            self.record(Aspect::Dialect, dialect, "", verdict);
            return Ok(());
        }
        let done = match said.verdict().works() {
            true => vec![Verdict::Works; entries.len()],
            false => self.apart(dialect, &entries)?,
        };
        let mut working = Vec::new();
        for (entry, verdict) in entries.iter().zip(done) {
            if verdict.works() {
                working.push(*entry);
            }
            self.tried.trials.push(Trial {
                aspect: Aspect::Operation,
                what: entry.name.clone(),
                dialect,
                verdict,
            });
        }
        if working.is_empty() {
            self.record(Aspect::Dialect, dialect, "", said.verdict());
            return Ok(());
        }
        self.record(Aspect::Dialect, dialect, "", Verdict::Works);
        if working.len() < entries.len() {
            let said = self.mix(&format!("{dialect}-together"), dialect, &working)?;
            if !said.verdict().works() {
                self.record(
                    Aspect::Together,
                    "the other operations together",
                    dialect,
                    said.verdict(),
                );
            }
        }
        // Some servers end all sessions of a connection at a LOGOFF, which is tried separately.
        let (log_on, others): (Vec<&Entry>, _) =
            working.into_iter().partition(|entry| entry.name == LOG_ON);
        let log_on = match log_on.first() {
            Some(entry) => Some(self.keep(dialect, "log-on", &self.pool.beside(entry))?),
            None => None,
        };
        if others.is_empty() {
            return Ok(());
        }
        let profile = self.keep(dialect, "others", &others)?;
        self.served.push(Served {
            dialect,
            profile,
            log_on,
        });
        Ok(())
    }

    /// Writes a profile of these operations.
    fn keep(&self, dialect: &str, what: &str, entries: &[&Entry]) -> Result<PathBuf, String> {
        let name = format!("{}-{dialect}-{what}.toml", self.subject.name);
        self.program.keep_profile(&name, &self.pool.text(entries))
    }

    /// Tries log-ons beside protected sessions, in the newest dialect.
    fn protected_log_on(&mut self) -> Result<(), String> {
        let newest = self.served.last().cloned();
        let Some((dialect, log_on)) = newest.and_then(|it| Some((it.dialect, it.log_on?))) else {
            return Ok(());
        };
        for (what, option, aspect) in [
            ("signed", "--sign", Aspect::Signing),
            ("encrypted", "--encrypt", Aspect::Cipher),
        ] {
            let trials = self.tried.trials.iter();
            let mut here = trials.filter(|it| it.aspect == aspect && it.dialect == dialect);
            if !here.any(|trial| trial.verdict.works()) {
                continue;
            }
            let options = ["--dialect", dialect, "-d", ALONE, option, "required"];
            let said = self.run(&format!("log-on-{what}"), &log_on, &options)?;
            let name = format!("{LOG_ON}, {what}");
            self.record(Aspect::Protected, &name, dialect, said.verdict());
        }
        Ok(())
    }

    /// Finds the operations of a mix that fail. Those that failed in another dialect run
    /// alone. If the others fail together, each of them runs alone as well.
    fn apart(&mut self, dialect: &str, entries: &[&Entry]) -> Result<Vec<Verdict>, String> {
        let failed_before = |entry: &&Entry| {
            let mut trials = self.tried.trials.iter();
            trials.any(|trial| trial.what == entry.name && !trial.verdict.works())
        };
        let (suspects, others): (Vec<&Entry>, Vec<&Entry>) =
            entries.iter().copied().partition(failed_before);
        let others_work = !suspects.is_empty() && !others.is_empty() && {
            let said = self.mix(&format!("{dialect}-others"), dialect, &others)?;
            said.verdict().works()
        };
        let mut verdicts = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            let is_suspect = suspects.iter().any(|suspect| suspect.name == entry.name);
            verdicts.push(match others_work && !is_suspect {
                true => Verdict::Works,
                false => self.alone(dialect, at, entry)?,
            });
        }
        Ok(verdicts)
    }

    /// Runs an operation with nothing but READs and WRITEs, which find what it does to data.
    fn alone(&mut self, dialect: &str, at: usize, entry: &Entry) -> Result<Verdict, String> {
        let profile = self
            .program
            .profile(&self.pool.text(&self.pool.beside(entry)))?;
        let name = format!("{dialect}-operation-{at}");
        let said = self.run(&name, &profile, &["--dialect", dialect, "-d", ALONE])?;
        let verdict = said.verdict();
        if !verdict.works() {
            eprintln!("   {} {dialect}: {}", entry.name, verdict.text());
        }
        Ok(verdict)
    }

    /// Returns those of the dialects that the server has. If it has none of them, the
    /// newest of SMB2 that it has: there the algorithm is refused.
    fn open_to(&self, dialects: &[&'static str]) -> Vec<Served> {
        let here = |served: &&Served| dialects.contains(&served.dialect);
        let found: Vec<_> = self.served.iter().filter(here).cloned().collect();
        if !found.is_empty() || dialects == ["cifs"] {
            return found;
        }
        let newest = self.served.iter().rfind(|served| served.dialect != "cifs");
        newest.into_iter().cloned().collect()
    }

    fn signing(&mut self, algorithm: &str, dialects: &[&'static str]) -> Result<(), String> {
        for Served {
            dialect, profile, ..
        } in self.open_to(dialects)
        {
            let mut options = vec!["--dialect", dialect, "-d", "1s", "--sign", "required"];
            if dialect != "cifs" {
                options.extend(["--signing-algorithm", algorithm]);
            }
            let said = self.run(&format!("{algorithm}-{dialect}"), &profile, &options)?;
            let verdict = chosen(&said, "signing", algorithm);
            self.record(Aspect::Signing, algorithm, dialect, verdict);
        }
        Ok(())
    }

    fn cipher(&mut self, cipher: &str, dialects: &[&'static str]) -> Result<(), String> {
        for Served {
            dialect, profile, ..
        } in self.open_to(dialects)
        {
            let options = [
                "--dialect",
                dialect,
                "-d",
                "1s",
                "--encrypt",
                "required",
                "--cipher",
                cipher,
            ];
            let said = self.run(&format!("{cipher}-{dialect}"), &profile, &options)?;
            let verdict = chosen(&said, "encryption", cipher);
            self.record(Aspect::Cipher, cipher, dialect, verdict);
        }
        Ok(())
    }

    /// Replays the loadfile in the oldest and in the newest dialect.
    fn replay(&mut self) -> Result<(), String> {
        let mut dialects: Vec<_> = self.served.iter().map(|served| served.dialect).collect();
        if dialects.len() > 2 {
            dialects.drain(1..dialects.len() - 1);
        }
        let trace = format!("loadfile:{}", self.program.loadfile().display());
        for dialect in dialects {
            let name = format!("{}-replay-{dialect}", self.subject.name);
            let arguments = [
                "run",
                "--profile",
                &trace,
                "--clients",
                "1",
                "--loops",
                "1",
                "--dialect",
                dialect,
            ];
            let said = self.program.run(self.server, &name, &arguments)?;
            let replayed = &said.point()["replayed"];
            self.tried.replayed += replayed["operations"].as_u64().unwrap_or(0);
            self.tried.differing += replayed["differing"].as_u64().unwrap_or(0);
            self.record(Aspect::Replay, "replay", dialect, said.verdict());
        }
        Ok(())
    }

    fn sessions(&mut self) -> Result<(), String> {
        let name = format!("{}-sessions", self.subject.name);
        let arguments = [
            "find",
            "sessions",
            "--max",
            SESSIONS_MAX,
            "--hold",
            "1s",
            "--keep-alive",
            "1s",
        ];
        let mut arguments = arguments.to_vec();
        let dialect = self
            .served
            .last()
            .map_or(DIALECTS[5], |served| served.dialect);
        arguments.extend(["--dialect", dialect]);
        let said = self.program.run(self.server, &name, &arguments)?;
        let found = said.find();
        let count = found["result"].as_f64().unwrap_or(0.0);
        self.tried.sessions = match found["end"].as_str() {
            Some("found") => format!("{count}"),
            _ if said.verdict().works() => format!("at least {count}"),
            _ => "none".to_owned(),
        };
        self.record(Aspect::Sessions, "find sessions", "", said.verdict());
        Ok(())
    }
}

/// Returns the verdict on a run that was to have a certain protection.
fn chosen(said: &Said, key: &str, expected: &str) -> Verdict {
    let (verdict, chosen) = (said.verdict(), said.chose(key));
    match verdict.works() && chosen != expected {
        true => Verdict::Fails(format!("{chosen} was chosen")),
        false => verdict,
    }
}
