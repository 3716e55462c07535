mod digests;
mod refusals;

use clap::Parser;

use super::*;
use crate::args::SuiteArgs;
use crate::requests::SuiteAccounts;

#[derive(Debug, Parser)]
struct SuiteLine {
    #[command(flatten)]
    args: SuiteArgs,
}

/// Resolves a suite with these options.
fn resolved(name_or_path: &str, options: &[&str]) -> Result<Suite, Failure> {
    let line = [&["suite", name_or_path], options].concat();
    let args = SuiteLine::parse_from(line).args;
    Suite::resolve(
        &Source::load(name_or_path)?,
        &args.options(),
        &SuiteAccounts,
    )
}

/// Each server has each setting, and is compared with itself.
#[test]
fn settings_multiply_the_servers_of_a_suite() {
    let names = |options: &[&str]| {
        let study = resolved("signing-cost", options).unwrap().study;
        let names = study.servers.iter().map(|server| server.name.clone());
        (names.collect::<Vec<_>>(), study)
    };
    let (alone, study) = names(&[]);
    assert_eq!((alone.len(), &*alone[0]), (8, "off"));
    assert_eq!(
        study.servers[3].client,
        ["sign = required", "signing_algorithm = aes-128-gmac"]
    );
    assert_eq!(study.comparisons.len(), 1);
    assert_eq!(study.comparisons[0].baseline(), Some("off"));
    let two = ["--server", "a=lab:", "--server", "b=smb://ann@b/s"];
    let (both, study) = names(&two);
    assert_eq!((both.len(), &*both[0], &*both[8]), (16, "a off", "b off"));
    let baselines = study.comparisons.iter().map(|of| of.baseline().unwrap());
    assert_eq!(baselines.collect::<Vec<_>>(), ["a off", "b off"]);
}

/// Making 100,000 files takes half an hour on a Samba that ignores case.
#[test]
fn a_named_samba_has_the_lines_of_the_one_in_whose_place_it_is() {
    for (suite, lines) in [
        ("listings", &["case sensitive = yes"][..]),
        ("folders", &[]),
    ] {
        let study = resolved(suite, &["--server", "a=lab:"]).unwrap().study;
        assert_eq!(study.servers[0].settings, lines, "{suite}");
    }
}

/// A scratch Samba serves CIFS where its clients speak it.
#[test]
fn samba_serves_cifs_where_it_is_asked_for() {
    let settings = |options: &[&str]| {
        let suite = resolved("veritest-2004", options).unwrap();
        let servers = suite.study.servers.into_iter();
        servers.map(|server| server.settings).collect::<Vec<_>>()
    };
    let cifs = "server min protocol = NT1";
    for settings in settings(&["--dialect", "cifs"]) {
        assert!(settings.iter().any(|line| line == cifs), "{settings:?}");
    }
    for settings in settings(&[]) {
        assert!(!settings.iter().any(|line| line == cifs), "{settings:?}");
    }
}

/// Not all of its populations speak CIFS.
#[test]
fn samba_serves_cifs_where_a_population_speaks_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let table = |name: &str, more: &str| {
        format!("[[population]]\nname = \"{name}\"\nprofile = \"read-4k\"\nclients = 1\n{more}\n")
    };
    let company = table("new", "") + &table("old", "dialect = \"cifs\"");
    write("company.toml", &company);
    let suite =
        "clients = \"2\"\nprofiles = [\"./company.toml\"]\n[[servers]]\nname = \"a\"\nsamba = []\n";
    let path = write("suite.toml", suite);
    let suite = resolved(path.to_str().unwrap(), &[]).unwrap();
    assert_eq!(
        suite.study.servers[0].settings,
        ["server min protocol = NT1"]
    );
}
