//! The comparisons of a suite: from `[[comparisons]]` as written to the study's
//! document.

use smbench_formats::named::suggestion;
use smbench_report::study::{ComparisonDoc, ComparisonKind};

use super::host::Host;
use super::source::Source;
use super::spec::{ComparisonEntry, NAMED, twice};

/// Checks a comparison; `None` if it has fewer than two servers left.
pub(super) fn comparison(
    entry: &ComparisonEntry,
    hosts: &[Host],
) -> Result<Option<ComparisonDoc>, String> {
    let refuse = |what: String| Err(format!("comparison `{}`: {what}", entry.title));
    let meant = |name: &str| {
        let names: Vec<_> = hosts.iter().map(|host| host.name.as_str()).collect();
        suggestion(name, &names)
    };
    let mut found = match chosen(entry, hosts) {
        Ok(found) => found,
        Err(name) => return refuse(format!("there is no server `{name}`{}", meant(name))),
    };
    if let Some(name) = twice(&found) {
        return refuse(format!("it has server `{name}` twice"));
    }
    let is_host = |name: &&String| hosts.iter().any(|host| host.name == **name);
    let baseline = entry.baseline.as_ref();
    if let Some(name) = baseline.filter(|name| !is_host(name)) {
        let meant = meant(name);
        return refuse(format!(
            "baseline `{name}` is no server of this suite{meant}"
        ));
    }
    if let Some(name) = baseline {
        // The first row must be the baseline, because every release that reads the
        // document treats it so.
        found.retain(|other| other != name);
        found.insert(0, name.clone());
    }
    match (entry.kind, baseline) {
        (ComparisonKind::Gain, None) => return refuse(of_gain(&found)),
        (ComparisonKind::Gain, Some(_)) => {
            return refuse("kind = \"gain\" has no baseline: write kind = \"change\"".to_owned());
        }
        (ComparisonKind::Scaling, Some(_)) => {
            return refuse(
                "kind = \"scaling\" compares each server with the one before: leave out baseline"
                    .to_owned(),
            );
        }
        (ComparisonKind::Scaling, None) | (ComparisonKind::Change, _) => {}
    }
    let first = found.first().cloned();
    Ok((found.len() > 1).then(|| ComparisonDoc {
        title: entry.title.clone(),
        kind: entry.kind,
        baseline: first.filter(|_| entry.kind == ComparisonKind::Change),
        servers: found,
    }))
}

/// Returns a comparison of each server under its settings, unless the suite has its own.
pub(super) fn between_settings(source: &Source, hosts: &[Host]) -> Vec<ComparisonEntry> {
    let settings = source.spec.settings.len();
    if settings < 2 || !source.spec.comparisons.is_empty() {
        return Vec::new();
    }
    let of_server = |hosts: &[Host]| ComparisonEntry {
        title: format!("change from {}", hosts[0].name),
        kind: ComparisonKind::Change,
        baseline: None,
        servers: Some(hosts.iter().map(|host| host.name.clone()).collect()),
        flush: None,
    };
    hosts.chunks(settings).map(of_server).collect()
}

/// Returns the chosen servers by name, in the order of the suite. The error is a
/// name that no server has.
fn chosen<'a>(entry: &'a ComparisonEntry, hosts: &[Host]) -> Result<Vec<String>, &'a str> {
    let mut found: Vec<&Host> = Vec::new();
    match &entry.servers {
        None => found.extend(hosts),
        Some(names) => {
            for name in names {
                let before = found.len();
                found.extend(hosts.iter().filter(|host| match name.as_str() {
                    NAMED => host.named,
                    name => host.name == name,
                }));
                if found.len() == before && name != NAMED {
                    return Err(name);
                }
            }
        }
    }
    found.retain(|host| {
        entry
            .flush
            .is_none_or(|flush| host.durability.flush == flush)
    });
    Ok(found.iter().map(|host| host.name.clone()).collect())
}

/// Returns the replacement for `kind = "gain"`, which was the gain of the first
/// server over each other.
fn of_gain(servers: &[String]) -> String {
    let write = |baseline: &str| format!("write kind = \"change\" and baseline = \"{baseline}\"");
    match servers {
        [first, second] => format!(
            "kind = \"gain\" is gone: {}, for how much more `{first}` does than `{second}`",
            write(second)
        ),
        _ => format!(
            "kind = \"gain\" is gone: {}, the server that the others are compared with",
            write("NAME")
        ),
    }
}

#[cfg(test)]
mod tests {
    use smbench_model::cpu::CpuSource;
    use smbench_model::spec;
    use smbench_model::spec::SessionsSpec;
    use smbench_report::FlushDoc;

    use super::*;
    use crate::lab_facts::Durability;
    use crate::suite::host::HostKind;
    use crate::suite::spec::SuiteSpec;

    fn host(name: &str, flush: FlushDoc) -> Host {
        Host {
            name: name.to_owned(),
            durability: Durability::given(Some(flush), None),
            notes: Vec::new(),
            kind: HostKind::Samba {
                lines: Vec::new(),
                smbd: None,
                nodes: 1,
            },
            cpu: CpuSource::default(),
            run: SessionsSpec::default(),
            named: name == "Windows",
        }
    }

    /// Returns a comparison of three servers with these lines.
    fn of(lines: &str) -> Result<Option<ComparisonDoc>, String> {
        let hosts = [
            host("Windows", FlushDoc::Honours),
            host("NAS", FlushDoc::Ignores),
            host("Samba", FlushDoc::Honours),
        ];
        let toml = format!("[[comparisons]]\ntitle = \"t\"\n{lines}");
        let spec: SuiteSpec = spec::parse(&toml).unwrap();
        comparison(&spec.comparisons[0], &hosts)
    }

    #[test]
    fn the_first_server_is_the_baseline_unless_another_is_named() {
        for (lines, kind, baseline, servers) in [
            (
                "",
                ComparisonKind::Change,
                Some("Windows"),
                &["Windows", "NAS", "Samba"][..],
            ),
            (
                "kind = \"change\"\nbaseline = \"Samba\"",
                ComparisonKind::Change,
                Some("Samba"),
                &["Samba", "Windows", "NAS"],
            ),
            (
                "kind = \"tuning\"\nservers = [\"NAS\", \"Windows\"]",
                ComparisonKind::Change,
                Some("NAS"),
                &["NAS", "Windows"],
            ),
            // The baseline is one of the compared servers, even if other keys do
            // not select it.
            (
                "baseline = \"NAS\"\nflush = \"honours\"",
                ComparisonKind::Change,
                Some("NAS"),
                &["NAS", "Windows", "Samba"],
            ),
            (
                "baseline = \"Samba\"\nservers = [\"--server\"]",
                ComparisonKind::Change,
                Some("Samba"),
                &["Samba", "Windows"],
            ),
            (
                "kind = \"scaling\"\nservers = [\"NAS\", \"Samba\"]",
                ComparisonKind::Scaling,
                None,
                &["NAS", "Samba"],
            ),
        ] {
            let found = of(lines).unwrap().unwrap();
            assert_eq!(found.kind, kind, "{lines}");
            assert_eq!(found.baseline.as_deref(), baseline, "{lines}");
            assert_eq!(found.servers, servers, "{lines}");
        }
        assert_eq!(of("baseline = \"NAS\"\nflush = \"ignores\""), Ok(None));
    }

    /// A file for an earlier release must not change its sign unnoticed.
    #[test]
    fn a_comparison_without_one_meaning_says_what_to_write() {
        for (lines, says) in [
            (
                "kind = \"gain\"\nservers = [\"NAS\", \"Samba\"]",
                "kind = \"gain\" is gone: write kind = \"change\" and baseline = \"Samba\", for how \
                 much more `NAS` does than `Samba`",
            ),
            (
                "kind = \"gain\"",
                "kind = \"gain\" is gone: write kind = \"change\" and baseline = \"NAME\", the server \
                 that the others are compared with",
            ),
            (
                "kind = \"gain\"\nbaseline = \"NAS\"",
                "kind = \"gain\" has no baseline: write kind = \"change\"",
            ),
            (
                "baseline = \"AIX\"",
                "baseline `AIX` is no server of this suite",
            ),
            ("servers = [\"AIX\"]", "there is no server `AIX`"),
            ("servers = [\"NAS\", \"NAS\"]", "it has server `NAS` twice"),
            (
                "kind = \"scaling\"\nbaseline = \"NAS\"",
                "kind = \"scaling\" compares each server with the one before: leave out baseline",
            ),
        ] {
            assert_eq!(of(lines), Err(format!("comparison `t`: {says}")), "{lines}");
        }
    }

    /// The gains published in the report of 2004 are those of the first server
    /// named here.
    #[test]
    fn the_built_in_suites_name_the_baselines_of_the_published_tables() {
        let samba = ["Samba, strict sync = no", "Samba, strict sync = yes"];
        let source = Source::load("veritest-2004").unwrap();
        let mut ignoring = host("Windows", FlushDoc::Ignores);
        let others = || {
            [
                host(samba[0], FlushDoc::Ignores),
                host(samba[1], FlushDoc::Honours),
            ]
        };
        let tables = |named: Host| {
            let hosts: Vec<_> = [named].into_iter().chain(others()).collect();
            let found = source.spec.comparisons.iter();
            found
                .filter_map(|entry| comparison(entry, &hosts).unwrap())
                .map(|found| (found.title, found.servers))
                .collect::<Vec<_>>()
        };
        let table = |title: &str, servers: [&str; 2]| {
            (title.to_owned(), servers.map(str::to_owned).to_vec())
        };
        let both = table(
            "flushes ignored over flushes honoured",
            [samba[1], samba[0]],
        );
        let shipped = table("as shipped", [samba[1], "Windows"]);
        let ignore = table("all ignore flushes", [samba[0], "Windows"]);
        let honour = table("all honour flushes", [samba[1], "Windows"]);
        assert_eq!(tables(ignoring), [both.clone(), shipped.clone(), ignore]);
        ignoring = host("Windows", FlushDoc::Honours);
        assert_eq!(tables(ignoring), [both, shipped, honour]);
    }
}
