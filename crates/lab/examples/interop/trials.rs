//! What is tried on a server, and in which order.

mod tree;

use std::path::Path;

use crate::entries::{DIALECTS, MixEntry, Pool};
use crate::launcher::{Launched, Subject};
use crate::program::{Program, Said};
use crate::row::{Aspect, Trial, TrialResult, Tried};

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
    /// Dialects that work, with the operations that work in them.
    served: Vec<(&'static str, Vec<&'a MixEntry>)>,
}

/// How the sessions of a run are to be.
struct Terms<'a> {
    dialect: &'static str,
    /// `signed` or `encrypted`; empty for neither.
    protection: &'static str,
    algorithm: &'a str,
}

impl Terms<'_> {
    fn plain(dialect: &'static str) -> Self {
        Self {
            dialect,
            protection: "",
            algorithm: "",
        }
    }

    fn options(&self) -> Vec<&str> {
        let mut options = vec!["--dialect", self.dialect];
        match (self.protection, self.dialect) {
            ("signed", "cifs") => options.extend(["--sign", "required"]),
            ("signed", _) => {
                options.extend(["--sign", "required", "--signing-algorithm", self.algorithm]);
            }
            ("encrypted", _) => {
                options.extend(["--encrypt", "required", "--cipher", self.algorithm]);
            }
            _ => {}
        }
        options
    }

    /// Returns the name of an operation under these terms.
    fn what(&self, entry: &MixEntry) -> String {
        match self.protection {
            "" => entry.name.clone(),
            protection => format!("{}, {protection}", entry.name),
        }
    }

    /// Returns the name of a document.
    fn document(&self, what: &str) -> String {
        format!("{}{}-{what}", self.dialect, self.algorithm)
    }
}

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
        trier.protection("signed", algorithm, dialects)?;
    }
    for (cipher, dialects) in CIPHERS {
        trier.protection("encrypted", cipher, dialects)?;
    }
    trier.replay()?;
    trier.tree()?;
    trier.sessions()?;
    Ok(trier.tried)
}

impl<'a> Trier<'a> {
    fn record(&mut self, aspect: Aspect, what: &str, dialect: &'static str, verdict: TrialResult) {
        eprintln!("   {what} {dialect}: {}", verdict.text());
        self.keep(aspect, what, dialect, verdict);
    }

    fn keep(&mut self, aspect: Aspect, what: &str, dialect: &'static str, verdict: TrialResult) {
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
    fn mix(&mut self, terms: &Terms, name: &str, entries: &[&MixEntry]) -> Result<Said, String> {
        let profile = self.program.profile(&self.pool.text(entries))?;
        let name = terms.document(name);
        let mut options = terms.options();
        options.extend(["--duration", DURATIONS[0]]);
        let mut said = self.run(&name, &profile, &options)?;
        for duration in &DURATIONS[1..] {
            let enough = said.operations() >= EACH * entries.len() as u64;
            if enough || !said.verdict().works() {
                break;
            }
            options.pop();
            options.push(duration);
            said = self.run(&name, &profile, &options)?;
        }
        Ok(said)
    }

    /// Tries a dialect with every operation that it has.
    fn dialect(&mut self, dialect: &'static str) -> Result<(), String> {
        let (terms, entries) = (Terms::plain(dialect), self.pool.of(dialect));
        let said = self.mix(&terms, "all", &entries)?;
        let verdict = match said.chose("dialect") {
            "" => said.verdict().of_dialect(),
            other if other == dialect => TrialResult::Works,
            other => TrialResult::Fails(format!("{other} was negotiated")),
        };
        // A run that is refused for one of its operations has no session either.
        if !matches!(verdict, TrialResult::Works | TrialResult::Beyond(_)) {
            self.record(Aspect::Dialect, dialect, "", verdict);
            return Ok(());
        }
        let working = if said.verdict().works() {
            entries.clone()
        } else {
            self.apart(&terms, &entries)?
        };
        let verdict = if working.is_empty() {
            said.verdict()
        } else {
            TrialResult::Works
        };
        self.record(Aspect::Dialect, dialect, "", verdict);
        for entry in &working {
            self.keep(Aspect::Operation, &entry.name, dialect, TrialResult::Works);
        }
        if !working.is_empty() {
            self.served.push((dialect, working));
        }
        Ok(())
    }

    /// Returns the operations of a mix that work, and records the others. Those that failed
    /// under other such terms run alone. If the rest fails together, each runs alone.
    fn apart(
        &mut self,
        terms: &Terms,
        entries: &[&'a MixEntry],
    ) -> Result<Vec<&'a MixEntry>, String> {
        let failed_before = |entry: &&MixEntry| {
            let (what, mut trials) = (terms.what(entry), self.tried.trials.iter());
            trials.any(|trial| trial.what == what && !trial.verdict.works())
        };
        let (suspects, others): (Vec<&MixEntry>, Vec<&MixEntry>) =
            entries.iter().copied().partition(failed_before);
        let others_work = !suspects.is_empty()
            && !others.is_empty()
            && self.mix(terms, "others", &others)?.verdict().works();
        let mut working = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            let is_suspect = suspects.iter().any(|suspect| suspect.name == entry.name);
            if others_work && !is_suspect || self.alone(terms, at, entry)? {
                working.push(*entry);
            }
        }
        if !others_work && !working.is_empty() {
            let said = self.mix(terms, "together", &working)?;
            if !said.verdict().works() {
                let what = "the other operations together";
                self.record(Aspect::Together, what, terms.dialect, said.verdict());
            }
        }
        Ok(working)
    }

    /// Runs an operation with nothing but READs and WRITEs, which find what it does to data.
    /// Returns whether it works, and records that it does not.
    fn alone(&mut self, terms: &Terms, at: usize, entry: &MixEntry) -> Result<bool, String> {
        let profile = self.pool.text(&self.pool.beside(entry));
        let profile = self.program.profile(&profile)?;
        let mut options = terms.options();
        options.extend(["--duration", ALONE]);
        let name = terms.document(&format!("operation-{at}"));
        let verdict = self.run(&name, &profile, &options)?.verdict();
        let works = verdict.works();
        if !works {
            let aspect = match terms.protection {
                "" => Aspect::Operation,
                _ => Aspect::Protected,
            };
            self.record(aspect, &terms.what(entry), terms.dialect, verdict);
        }
        Ok(works)
    }

    /// Tries an algorithm in those of its dialects that the server has. If it has none of
    /// them, in the newest of SMB2 that it has: there the algorithm is refused.
    fn protection(
        &mut self,
        protection: &'static str,
        algorithm: &str,
        dialects: &[&'static str],
    ) -> Result<(), String> {
        let mut served = self.served.clone();
        served.retain(|(dialect, _)| dialects.contains(dialect));
        if served.is_empty() && dialects != ["cifs"] {
            let newest = self.served.iter().rfind(|(dialect, _)| *dialect != "cifs");
            served.extend(newest.cloned());
        }
        let (aspect, key) = match protection {
            "signed" => (Aspect::Signing, "signing"),
            _ => (Aspect::Cipher, "encryption"),
        };
        for (dialect, entries) in served {
            let terms = Terms {
                dialect,
                protection,
                algorithm,
            };
            let said = self.mix(&terms, "all", &entries)?;
            let chosen = said.chose(key);
            let mut verdict = said.verdict();
            if !chosen.is_empty() && chosen != algorithm {
                verdict = TrialResult::Fails(format!("{chosen} was chosen"));
            } else if !chosen.is_empty() && !verdict.works() {
                let working = self.apart(&terms, &entries)?;
                if !working.is_empty() {
                    verdict = TrialResult::Works;
                }
            }
            self.record(aspect, algorithm, dialect, verdict);
        }
        Ok(())
    }

    /// Returns the oldest and the newest dialect that work.
    fn ends(&self) -> Vec<&'static str> {
        let mut dialects: Vec<_> = self.served.iter().map(|(dialect, _)| *dialect).collect();
        if dialects.len() > 2 {
            dialects.drain(1..dialects.len() - 1);
        }
        dialects
    }

    /// Replays the loadfile in the oldest and in the newest dialect.
    fn replay(&mut self) -> Result<(), String> {
        let trace = format!("loadfile:{}", self.program.loadfile().display());
        for dialect in self.ends() {
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
            .map_or(DIALECTS[5], |(dialect, _)| *dialect);
        arguments.extend(["--dialect", dialect]);
        let said = self.program.run(self.server, &name, &arguments)?;
        let found = said.find();
        let count = |key: &str| found[key].as_f64().unwrap_or(0.0);
        let end = found["end"].as_str().unwrap_or_default();
        // Without an answer, because this machine was busy.
        let is_busy = end == "client_limited";
        self.tried.sessions = match end {
            "found" => count("result").to_string(),
            _ if is_busy => format!("at least {}", count("held_at")),
            _ if said.verdict().works() => format!("at least {}", count("result")),
            _ => "none".to_owned(),
        };
        let verdict = if is_busy {
            TrialResult::Works
        } else {
            said.verdict()
        };
        self.record(Aspect::Sessions, "find sessions", "", verdict);
        Ok(())
    }
}
