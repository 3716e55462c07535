//! Configurations as Iometer writes them, and the messages for malformed ones.

mod lines;
mod refusals;
mod workers;

use std::error::Error as _;
use std::time::Duration;

use smbench_model::limits::Limits;
use smbench_model::plan::Plan;
use smbench_model::profile::Profile;
use smbench_model::spec::RunOptions;
use smbench_model::target::Target;
use smbench_model::workload::Requests;

use super::*;
use crate::profile;

const SEVERAL: &[u8] = include_bytes!("../../../../fixtures/iometer/several-1.1.0.icf");
const LATIN1: &[u8] = include_bytes!("../../../../fixtures/iometer/latin1-crlf-2006.07.27.icf");

fn resolved(imported: &Imported) -> Plan {
    let profile = Profile::parse("x.toml", &imported.toml).unwrap();
    let (target, _) = Target::parse("smb://host/share").unwrap();
    Plan::resolve(
        &profile,
        &RunOptions::default(),
        target,
        Limits::default(),
        1,
    )
    .unwrap()
}

#[test]
fn several_specifications_become_profiles_that_run() {
    let config = parse("several.icf", SEVERAL).unwrap();
    assert_eq!(config.notes, []);
    let names: Vec<_> = config.specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "4 KiB; 67% Read; 100% random",
            "File server",
            "Bursts with replies"
        ]
    );
    assert_eq!(
        config.setup,
        IometerSetup {
            description: None,
            run_time: Some(Duration::from_secs(630)),
            ramp_up: Some(Duration::from_secs(30)),
            workers: vec![2],
            outstanding: vec![4],
            file_size: Some(Size(32 << 20)),
            seed: Some(42),
            assigned: vec!["File server".to_owned(), "Bursts with replies".to_owned()],
        }
    );
    let profiles = config.profiles("several.icf");
    assert_eq!(profiles.len(), 3);
    for (imported, spec) in profiles.iter().zip(&config.specs) {
        let profile = Profile::parse("x.toml", &imported.toml).unwrap();
        assert_eq!(profile.name(), spec.name);
        assert_eq!(profile.spec.pattern, spec.lines);
        let plan = resolved(imported);
        assert_eq!(
            (plan.work.load_points(), plan.only().outstanding),
            (vec![2], 4)
        );
        assert_eq!(plan.work.duration, Duration::from_secs(630));
        assert_eq!(
            (plan.work.ramp_up, plan.work.seed),
            (Duration::from_secs(30), 42)
        );
        assert_eq!(plan.only().workload.files.size, 32 << 20);
    }
    // The file-server pattern is the same as the built-in profile.
    let shipped = profile::load("file-server").unwrap();
    let lines: Vec<_> = config.specs[1]
        .lines
        .iter()
        .map(|line| (line.size, line.weight, line.reads, line.random))
        .collect();
    let expected: Vec<_> = shipped
        .spec
        .sizes
        .iter()
        .map(|entry| (entry.size, entry.weight, 80.0, 100.0))
        .collect();
    assert_eq!(lines, expected);
    let Requests::Pattern(lines) = resolved(&profiles[2]).only().workload.requests.clone() else {
        panic!("it is a pattern");
    };
    assert_eq!(
        (lines[0].delay, lines[0].burst),
        (Duration::from_millis(20), 8)
    );
    assert_eq!((lines[0].align, lines[0].reply), (512, 0));
    assert_eq!(
        (lines[1].delay, lines[1].burst),
        (Duration::from_millis(5), 2)
    );
    assert_eq!((lines[1].align, lines[1].reply), (3000, 512));
}

#[test]
fn latin1_names_and_other_line_ends_are_read_and_what_is_left_out_is_noted() {
    let config = parse("latin1.icf", LATIN1).unwrap();
    assert_eq!(config.setup.description.as_deref(), Some("Prüfstand"));
    assert_eq!(config.specs[0].name, "Datei für Büro");
    assert_eq!(config.setup.workers, [1]);
    assert_eq!(config.setup.outstanding, [1, 2, 4, 8]);
    let notes: Vec<_> = config
        .notes
        .iter()
        .map(|note| (note.line, note.text.as_str()))
        .collect();
    assert_eq!(
        notes,
        [
            (49, "test connection rate is not supported: sessions stay"),
            (
                51,
                "disks are tested whole: here that is a file of 1 MiB for each client; give \
                 file_size to go beyond the server's memory"
            ),
            (51, "starting sector 63: files are used from their begin"),
            (
                62,
                "worker type NETWORK,TCP is not supported: the worker is left out"
            ),
        ]
    );
    // The file gives one profile for each number of outstanding requests.
    let profiles = config.profiles("latin1.icf");
    let seen: Vec<_> = profiles
        .iter()
        .map(|imported| {
            (
                imported.name.as_str(),
                resolved(imported).only().outstanding,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("Datei für Büro, 1 outstanding", 1),
            ("Datei für Büro, 2 outstanding", 2),
            ("Datei für Büro, 4 outstanding", 4),
            ("Datei für Büro, 8 outstanding", 8),
        ]
    );
}

fn with_type(kind: &str) -> IometerConfig {
    let text = String::from_utf8(SEVERAL.to_vec()).unwrap();
    let text = text.replace("\tNORMAL", &format!("\t{kind}"));
    parse("x.icf", text.as_bytes()).unwrap()
}

#[test]
fn cycles_become_load_points_and_profiles() {
    assert_eq!(with_type("CYCLE_WORKERS").setup.workers, [1, 2]);
    let depths = with_type("CYCLE_OUTSTANDING_IOS").setup.outstanding;
    assert_eq!(depths, [1, 2, 4, 8, 16, 32]);
    let targets = with_type("INCREMENT_TARGETS_PARALLEL");
    assert_eq!(
        (targets.setup.workers, targets.setup.outstanding),
        (vec![2], vec![4])
    );
    assert_eq!(targets.notes[0].line, 26);
    assert!(
        targets.notes[0]
            .text
            .starts_with("test type INCREMENT_TARGETS_PARALLEL: ")
    );
}

/// Returns a file with cycles from `start` to 1000.
fn cycling(kind: &str, start: &str) -> String {
    let text = String::from_utf8(SEVERAL.to_vec()).unwrap();
    let replacements = [
        ("\tNORMAL", format!("\t{kind}")),
        (
            "\t1          1          LINEAR",
            format!("\t{start} 1 LINEAR"),
        ),
        (
            "\t1          32         2          EXPONENTIAL",
            format!("\t{start} 1000 1 LINEAR"),
        ),
    ];
    replacements.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from));
        text.replacen(from, to, 1)
    })
}

#[test]
fn more_than_smbench_can_run_is_left_out_and_noted_or_refused_where_nothing_is_left() {
    assert_eq!(
        refusal(&cycling("CYCLE_WORKERS", "200000")),
        "x.icf:26: 200000 workers: smbench has 100000 clients at most, so nothing is left to run"
    );
    let deep = cycling("CYCLE_OUTSTANDING_IOS", "1000").replace("1000 1000 1", "1000 3000 1000");
    let config = parse("x.icf", deep.as_bytes()).unwrap();
    assert_eq!(config.setup.outstanding, [1000]);
    assert_eq!(
        config.notes,
        [Note {
            line: 26,
            text: "2000 outstanding I/Os: smbench has 1024 at most, more are left out".to_owned()
        }]
    );
}

#[test]
fn more_profiles_than_anybody_runs_are_refused() {
    let text = cycling("CYCLE_OUTSTANDING_IOS", "1");
    let config = parse("x.icf", text.as_bytes()).unwrap();
    assert_eq!(config.profiles("x.icf").len(), 3000);
    let end = "'END access specifications\n";
    let more: String = (0..8)
        .map(|number| {
            format!(
                "'Access specification name,default assignment\n\t{number},NONE\n\
                 'size,% of size,% reads,% random,delay,burst\n\t512,100,0,0,0,1\n"
            )
        })
        .collect();
    let lines = text.lines().count() + 4 * 8;
    assert_eq!(
        refusal(&text.replace(end, &(more + end))),
        format!(
            "x.icf:{lines}: the file makes 11000 profiles, one for each access specification and \
             number of outstanding I/Os: at most 10000 are possible"
        )
    );
}

/// Returns the smallest file, with these lines in its only specification.
fn minimal(lines: &str) -> String {
    format!(
        "Version 1.1.0\n'ACCESS SPECIFICATIONS ===\n\
         'Access specification name,default assignment\n\tA,NONE\n\
         'size,% of size,% reads,% random,delay,burst,align,reply\n{lines}\
         'END access specifications\n"
    )
}

fn refusal(text: &str) -> String {
    parse("x.icf", text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_file_of_nothing_but_specifications_is_read() {
    let config = parse("x.icf", minimal("\t512,100,0,0,0,0,0,0\n").as_bytes()).unwrap();
    assert_eq!(config.setup, IometerSetup::default());
    let plan = resolved(&config.profiles("x.icf")[0]);
    assert_eq!(plan.only().workload.files.size, 1 << 20);
    // A request larger than the default file gets a larger file.
    let config = parse("x.icf", minimal("4194304,100,0,0,0,1,0,0\n").as_bytes()).unwrap();
    let plan = resolved(&config.profiles("x.icf")[0]);
    assert_eq!(plan.only().workload.files.size, 4 << 20);
}

#[test]
fn names_cannot_steer_the_file_they_are_written_to() {
    let text = minimal("512,100,0,0,0,1,0,0\n").replace("\tA,", "\ta\"\\\u{1b}]= b,");
    let config = parse("x.icf", text.as_bytes()).unwrap();
    let imported = &config.profiles("x\"\n.icf")[0];
    let profile = Profile::parse("x.toml", &imported.toml).unwrap();
    assert_eq!(profile.name(), "a\"\\]= b");
}

#[test]
fn what_is_no_configuration_at_all_is_refused() {
    assert!(
        read("/dev/zero")
            .unwrap_err()
            .to_string()
            .contains("larger than 16 MiB")
    );
    let missing = read("./no-such.icf").unwrap_err();
    assert!(missing.to_string().contains("the file does not exist"));
    assert!(missing.source().unwrap().is::<io::Error>());
    let garbage: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    parse("x.icf", &garbage).unwrap_err();
    parse("x.icf", b"").unwrap_err();
}
