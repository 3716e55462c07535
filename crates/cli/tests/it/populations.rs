//! Several populations in one run, from a profile to its tables, on a real Samba.

use serde_json::Value;
use smbench_lab::{EmbeddedOptions, EmbeddedServer, SambaOptions, ScratchSamba};

use crate::support::Place;

const COMPANY: &str = r#"
name = "company"
[[population]]
name = "office"
profile = "office-save"
share = 60
think_time = "5ms"
[[population]]
name = "backup"
profile = "work/backup.toml"
clients = 2
oplock = "lease-rh"
[[population]]
name = "editors"
profile = "work/editors.toml"
share = 40
rate = "200"
"#;

const EDITORS: &str = r#"
read_percent = 90
[files]
size = "1MiB"
[[sizes]]
size = "8KiB"
weight = 100
"#;

/// The built-in walk, of a tree that also a busy machine makes in a moment.
const BACKUP: &str = r#"
name = "walk"
[tree]
directories = 10
files = 100
sizes = "1KiB"
[[operations]]
op = "walk"
weight = 100
"#;

fn company() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("work")).unwrap();
    place.write("work/editors.toml", EDITORS);
    place.write("work/backup.toml", BACKUP);
    place.write("company.toml", COMPANY);
    place
}

/// Checks that the populations of each load point sum up to it, to the operation.
fn assert_sums(doc: &Value) {
    for point in doc["load_points"].as_array().unwrap() {
        let parts = point["populations"].as_array().unwrap();
        let sum = |of: &dyn Fn(&Value) -> u64| -> u64 { parts.iter().map(of).sum() };
        for key in [
            "clients",
            "bytes_read",
            "bytes_written",
            "errors",
            "clients_served",
        ] {
            let of = |value: &Value| value[key].as_u64().unwrap();
            assert_eq!(sum(&of), of(point), "{key}");
        }
        for (table, key) in [("ops", "count"), ("ops", "bytes"), ("whole", "count")] {
            for kind in point[table].as_object().unwrap().keys() {
                let of = |value: &Value| value[table][kind][key].as_u64().unwrap_or(0);
                assert_eq!(sum(&of), of(point), "{table}.{kind}.{key}");
            }
        }
    }
}

#[test]
fn a_company_runs_and_each_population_has_its_measurements() {
    let Some(samba) = ScratchSamba::or_skip(SambaOptions::default()) else {
        return;
    };
    let place = company();
    let conditions = [
        "--fail-if=office p99 > 60s",
        "--fail-if=editors read errors > 0",
    ];
    let args = [
        "-p",
        "company.toml",
        "-c=7,12",
        // A busy machine may miss the rate of the editors.
        "--allow-missed-rate",
        conditions[0],
        conditions[1],
    ];
    let said = place.run(&samba.url(), samba.password(), &args);
    said.succeeded();
    assert!(
        said.stdout.contains("passed   office p99 > 60s: "),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("population"), "{}", said.stdout);
    let doc = place.document();
    assert_sums(&doc);
    let populations = doc["plan"]["populations"].as_array().unwrap();
    let clients: Vec<_> = populations
        .iter()
        .map(|one| one["clients"].clone())
        .collect();
    assert_eq!(
        clients,
        [[3, 6], [2, 2], [2, 4]].map(|of| serde_json::json!(of))
    );
    assert_eq!(populations[1]["oplock"], "lease-rh");
    assert_eq!(doc["conditions"][0]["population"], "office");
    for point in doc["load_points"].as_array().unwrap() {
        assert_eq!(point["valid"], true, "{point:?}");
        let [office, backup, editors] = &point["populations"].as_array().unwrap()[..] else {
            panic!("there are three populations");
        };
        assert!(office["ops"]["save_office"]["count"].as_u64() > Some(0));
        assert!(backup["ops"]["walk"]["count"].as_u64() > Some(0));
        assert!(editors["offered"]["operations"].as_u64() > Some(0));
        assert_eq!(backup.get("offered"), None);
    }
    assert_eq!(std::fs::read_dir(samba.data_dir()).unwrap().count(), 0);

    let path = place.results().remove(0);
    let path = path.to_str().unwrap();
    let said = place.smbench(&["show", "--details", path]);
    said.succeeded();
    assert!(
        said.stdout.contains("operations of populations at "),
        "{}",
        said.stdout
    );
    place.smbench(&["compare", path, path]).succeeded();
}

#[test]
fn what_a_company_cannot_do_is_said_in_a_line() {
    let place = company();
    let plan = place.smbench(&["plan", "-p", "company.toml", "-c", "12"]);
    plan.succeeded();
    for part in [
        "populations  office, 6 clients (60 %): office-save: ",
        "             backup, 2 clients: walk: ",
        "             editors, 4 clients (40 %): editors: 8 KiB, random, 90 % reads; 200 operations/s",
    ] {
        assert!(plan.stdout.contains(part), "{}", plan.stdout);
    }
    for (args, expected) in [
        (
            &["run", "-p", "company.toml", "-c", "2"][..],
            "--clients: population office has no client at a load point of 2: give more clients",
        ),
        (
            &["run", "-p", "company.toml", "--rate", "5"],
            "--rate: rate belongs to a population: give it in a [[population]] table",
        ),
        (
            &[
                "run",
                "-p",
                "company.toml",
                "--fail-if",
                "offices p99 > 1ms",
            ],
            "'offices p99 > 1ms' cannot be judged: profile company has no population offices, only \
             office, backup, editors",
        ),
        (
            &["run", "-p", "read-4k", "--alone"],
            "--alone: profile read-4k has no populations that could disturb one another",
        ),
    ] {
        place.smbench(args).failed_with(2, &[expected]);
    }
    place.write("lost.toml", &COMPANY.replace("work/editors", "work/lost"));
    let said = place.smbench(&["plan", "-p", "lost.toml"]);
    said.failed_with(2, &[
        "profile lost.toml, population editors: failed to read work/lost.toml: the file does not \
         exist",
    ]);
}

#[test]
fn what_cannot_be_searched_for_is_said_in_a_line() {
    let place = company();
    let fixed = COMPANY
        .replace("share = 60", "clients = 1")
        .replace("share = 40", "clients = 1");
    place.write("fixed.toml", &fixed.replace("clients = 2", "clients = 1"));
    for (args, expected) in [
        (
            &["find", "rate", "-p", "company.toml", "--slo", "p99 < 1s"][..],
            "the profile has populations: name the one whose rate is searched for with \
             --population",
        ),
        (
            &["find", "rate", "-p", "company.toml", "--population=offices"],
            "population offices: the profile has only office, backup, editors",
        ),
        (
            &["find", "rate", "-p", "read-4k", "--population=office"],
            "population office: the profile has none",
        ),
        (
            &[
                "find",
                "clients",
                "-p",
                "company.toml",
                "--population=office",
            ],
            "--population: a search for clients changes the populations with a share",
        ),
        (
            &[
                "find",
                "clients",
                "-p",
                "fixed.toml",
                "--slo",
                "p99 < 1s",
                "--max",
                "3",
            ],
            "there are several populations: give one a share, so that the search can change its \
             clients",
        ),
        (
            &[
                "find",
                "clients",
                "-p",
                "company.toml",
                "--slo",
                "office p99 < 1s",
                "--alone",
            ],
            "--alone: a search measures all populations together",
        ),
    ] {
        place.smbench(args).failed_with(2, &[expected]);
    }
}

#[test]
fn each_population_is_also_measured_alone() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let place = company();
    let condition = "--fail-if=office p99 > 60s";
    let args = ["-p", "company.toml", "-c=7", "--alone", condition];
    let said = place.run(&server.url(), server.password(), &args);
    // A busy machine may not reach the rate.
    if !said.stderr.contains("rate not reached") {
        said.succeeded();
    }
    let table = said
        .stdout
        .split("each population alone, and together")
        .nth(1)
        .unwrap();
    let rows: Vec<_> = table
        .lines()
        .skip(2)
        .map(|row| row.split("  ").next().unwrap())
        .collect();
    assert_eq!(rows[..3], ["office", "backup", "editors"]);
    let mut docs: Vec<_> = place.results().iter().map(|path| load(path)).collect();
    docs.sort_by_key(|doc| doc["plan"]["profile"].to_string());
    let names = docs
        .iter()
        .map(|doc| doc["plan"]["profile"].as_str().unwrap());
    let expected = [
        "company",
        "company-backup",
        "company-editors",
        "company-office",
    ];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    for doc in &docs {
        assert_sums(doc);
    }
    let office = &docs[3]["load_points"][0];
    assert_eq!(
        (&office["clients"], &office["populations"][0]["name"]),
        (&3.into(), &"office".into())
    );
    // Only all together have the condition.
    assert_eq!(docs[0]["conditions"].as_array().unwrap().len(), 1);
    assert_eq!(docs[3].get("conditions"), None);
}

fn load(path: &std::path::Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The number of clients without a share is the same in every probe.
#[test]
fn a_search_changes_the_clients_of_a_share_only() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let place = company();
    place.write(
        "beside.toml",
        &COMPANY
            .replace("share = 60", "clients = 3")
            .replace("= 40", "= 100"),
    );
    let slo = "--slo=editors p99 < 60s";
    let args = [
        "find",
        "clients",
        &server.url(),
        "-p",
        "beside.toml",
        slo,
        "--max=16",
    ];
    let short = [
        "--duration=300ms",
        "--ramp-up=50ms",
        "--ramp-down=20ms",
        "--out=results",
    ];
    let said = place.smbench_as(server.password(), &[&args[..], &short].concat());
    // On a busy machine, the machine may be the limit.
    assert!(matches!(said.code(), Some(0 | 4)), "{said:?}");
    let doc = place.document();
    assert_sums(&doc);
    let points = doc["load_points"].as_array().unwrap();
    assert!(!points.is_empty());
    for point in points {
        let parts = point["populations"].as_array().unwrap();
        let clients: Vec<_> = parts
            .iter()
            .map(|part| part["clients"].as_u64().unwrap())
            .collect();
        let all = point["clients"].as_u64().unwrap();
        assert_eq!(clients, [3, 2, all - 5]);
    }
    if said.code() == Some(0) {
        assert_eq!(doc["find"]["result"], 16.0);
        assert!(
            said.stdout
                .contains("Of these office 3, backup 2, editors 11"),
            "{said:?}"
        );
    }
}

/// The others keep their rates and their number of clients.
#[test]
fn a_search_changes_the_rate_of_one_population_only() {
    let server = EmbeddedServer::start(EmbeddedOptions::default()).unwrap();
    let place = company();
    let work = [
        "--clients=7",
        "--population=office",
        "--slo=office p99 < 60s",
    ];
    let short = ["--duration=300ms", "--ramp-up=50ms", "--ramp-down=20ms"];
    let range = ["--start=50", "--max=100", "--out=results"];
    let url = server.url();
    let args = ["find", "rate", &url, "-p", "company.toml"];
    let said = place.smbench_as(
        server.password(),
        &[&args[..], &work, &short, &range].concat(),
    );
    // On a busy machine, the machine may be the limit.
    assert!(matches!(said.code(), Some(0 | 4)), "{said:?}");
    let doc = place.document();
    assert_sums(&doc);
    assert_eq!(doc["find"]["population"], "office");
    let points = doc["load_points"].as_array().unwrap();
    for (point, probe) in points.iter().zip(doc["find"]["probes"].as_array().unwrap()) {
        let parts = point["populations"].as_array().unwrap();
        let due = |part: usize| parts[part]["offered"]["operations"].as_u64();
        let [office, editors] = [0, 2].map(|part| due(part).unwrap() as f64 / 0.3);
        let asked = probe["load"].as_f64().unwrap();
        let rate = point["rate"].as_f64().unwrap();
        assert!((rate - asked).abs() < 1e-9, "{rate} of {asked}");
        // A window has an operation of each client more or less.
        assert!((office - asked).abs() < 12.0, "{office} of {asked}");
        assert!((editors - 200.0).abs() < 12.0, "{editors}");
        assert_eq!(due(1), None);
    }
    if said.code() == Some(0) {
        // A window has 30 operations at most, so that one late answer breaks a probe. The search
        // then tries rates below the start.
        let result = doc["find"]["result"].as_f64().unwrap();
        assert!(result > 0.0 && result <= 100.0, "{said:?}");
        assert!(said.stdout.contains("population office: "), "{said:?}");
    }
}
