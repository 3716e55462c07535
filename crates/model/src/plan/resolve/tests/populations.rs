//! Which populations resolve, which are refused, and the messages.

use std::time::Duration;

use smbench_protocol::{Dialect, DialectRange};

use super::{captured, refusal, resolve, target};
use crate::limits::Limits;
use crate::load::LoadModel;
use crate::plan::{Plan, PlanError};
use crate::profile::Profile;
use crate::sessions::{Caching, Mode};
use crate::spec::{RunOptions, SessionsSpec, WorkSpec};

/// Returns a profile whose populations have built-in profiles.
fn company(tables: &str) -> Profile {
    let profile = Profile::parse("company.toml", tables).unwrap();
    let tables = profile.spec.population.iter();
    let members = tables.map(|table| Profile::builtin(&table.profile).unwrap());
    Profile {
        populations: members.collect(),
        ..profile
    }
}

pub(super) fn clients(list: &str) -> RunOptions {
    RunOptions {
        work: WorkSpec {
            clients: Some(list.parse().unwrap()),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    }
}

pub(super) fn of(tables: &str, options: &RunOptions) -> Result<Plan, PlanError> {
    resolve(&company(tables), options)
}

pub(super) const THREE: &str = r#"
[[population]]
name = "office"
profile = "office-save"
share = 80
think_time = "2s"
[[population]]
name = "backup"
profile = "walk"
clients = 4
start = "500ms"
[[population]]
name = "editors"
profile = "read-4k"
share = 16
outstanding = 8
rate = "50/client"
oplock = "batch"
source_ip = "127.0.0.2"
"#;

/// Returns the clients of each population at each load point.
pub(super) fn divided(plan: &Plan) -> Vec<Vec<u32>> {
    let populations = plan.work.populations.iter();
    populations.map(|one| one.clients.clone()).collect()
}

#[test]
fn each_population_has_its_profile_and_its_options() {
    let plan = of(THREE, &clients("100")).unwrap();
    assert_eq!(plan.check(), Ok(()));
    assert_eq!(divided(&plan), [[80], [4], [16]]);
    assert_eq!(plan.work.load_points(), [100]);
    assert_eq!(plan.work.profile, "company");
    let [office, backup, editors] = &plan.work.populations[..] else {
        panic!("there are three populations");
    };
    assert_eq!(office.name.as_deref(), Some("office"));
    assert_eq!(
        (&office.profile[..], office.share),
        ("office-save", Some(80.0))
    );
    assert!(matches!(office.load, LoadModel::Closed { think: Some(_) }));
    assert_eq!((&backup.profile[..], backup.share), ("walk", None));
    assert_eq!(backup.start, Duration::from_millis(500));
    assert_eq!(editors.outstanding, 8);
    assert!(matches!(editors.load, LoadModel::Rate { .. }));
    let alone: Vec<_> = plan.alone().collect();
    let batch: Caching = "batch".parse().unwrap();
    let cachings = alone.iter().map(|plan| plan.sessions.caching);
    assert_eq!(
        cachings.collect::<Vec<_>>(),
        [Caching::None, Caching::None, batch]
    );
    let sources = |at: usize| alone[at].sessions.connections.sources.clone();
    assert_eq!(
        (sources(0), sources(2)),
        (None, Some("127.0.0.2".parse().unwrap()))
    );
}

#[test]
fn a_population_has_sessions_of_its_own() {
    let own = THREE.replace(
        "oplock = \"batch\"",
        "oplock = \"batch\"\ndialect = \"2.1\"\nsign = \"required\"\ncredits = 64",
    );
    let plan = of(&own, &clients("100")).unwrap();
    assert_eq!(plan.check(), Ok(()));
    let alone: Vec<_> = plan.alone().map(|plan| plan.sessions).collect();
    let [office, _, editors] = &alone[..] else {
        panic!("there are three populations");
    };
    assert_eq!(office.options, plan.sessions.options);
    assert_eq!(editors.options.dialects, DialectRange::only(Dialect::Smb21));
    assert_eq!(editors.options.signing, Mode::Required);
    let credits = [office, editors].map(|sessions| sessions.connections.credits);
    assert_eq!(credits, [None, Some(64)]);
    let usual = of(THREE, &clients("100")).unwrap();
    assert_ne!(plan.digest(), usual.digest());
    for (from, to) in [("2.1", "3.0"), ("required", "off"), ("= 64", "= 65")] {
        let changed = of(&own.replacen(from, to, 1), &clients("100")).unwrap();
        assert_ne!(plan.digest(), changed.digest(), "{from}");
    }

    let off = SessionsSpec {
        sign: Some(Mode::Off),
        ..SessionsSpec::default()
    };
    let options = RunOptions {
        sessions: off,
        ..clients("100")
    };
    let plan = of(&own, &options).unwrap();
    let mut signing = plan.alone().map(|plan| plan.sessions.options.signing);
    assert!(signing.all(|signing| signing == Mode::Off));

    let wrong = of(&own.replace("= 64", "= 0"), &clients("100")).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "profile company.toml, population editors: credits is 0: give 1 to 8192"
    );
    let of_all = own.replace("credits = 64", "connections_per_session = 2");
    let refused = Profile::parse("company.toml", &of_all).unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.contains("unknown field `connections_per_session`"),
        "{refused}"
    );
}

#[test]
fn dialects_of_a_plan_are_those_of_all_its_populations() {
    let cifs = THREE.replace("oplock = \"batch\"", "dialect = \"cifs\"");
    let plan = of(&cifs, &clients("100")).unwrap();
    assert_eq!(plan.dialects().to_string(), "cifs..3.1.1");
    let alone = plan.alone().map(|plan| plan.dialects().to_string());
    let alone: Vec<_> = alone.collect();
    assert_eq!(alone, ["2.0.2..3.1.1", "2.0.2..3.1.1", "cifs"]);
}

#[test]
fn shares_divide_the_clients_of_each_load_point() {
    let two = |one: &str, other: &str| {
        format!(
            "[[population]]\nname = \"a\"\nprofile = \"read-4k\"\n{one}\n\
             [[population]]\nname = \"b\"\nprofile = \"web-server\"\n{other}\n"
        )
    };
    for (one, other, list, expected) in [
        (
            "share = 80",
            "share = 20",
            "10,25",
            [vec![8, 20], vec![2, 5]],
        ),
        ("share = 66.6", "share = 33.4", "3", [vec![2], vec![1]]),
        // Percent of the other clients.
        (
            "share = 100",
            "clients = 4",
            "5,104",
            [vec![1, 100], vec![4, 4]],
        ),
        // Percent of all clients.
        ("share = 96", "clients = 4", "100", [vec![96], vec![4]]),
        ("clients = 3", "clients = 4", "7", [vec![3], vec![4]]),
    ] {
        let plan = of(&two(one, other), &clients(list)).unwrap();
        assert_eq!(divided(&plan), expected, "{one}, {other}");
    }
    let plan = of(&two("clients = 3", "clients = 4"), &RunOptions::default());
    assert_eq!(plan.unwrap().work.load_points(), [7]);
    let plan = of(&two("share = 30", "share = 70"), &RunOptions::default());
    assert_eq!(divided(&plan.unwrap()), [[30], [70]]);
    for (one, other, list, expected) in [
        (
            "share = 80",
            "share = 10",
            "100",
            "clients: the shares of the populations sum to 90, not to 100: change them",
        ),
        (
            "share = 90",
            "clients = 4",
            "100",
            "clients: the shares of the populations sum to 90: beside 4 of 100 clients they must \
             sum to 100 (percent of the others) or to 96 (percent of all)",
        ),
        (
            "share = 80",
            "share = 20",
            "1",
            "clients: population b has no client at a load point of 1: give more clients",
        ),
        (
            "share = 100",
            "clients = 4",
            "2",
            "clients: a load point has 2 clients, but populations without a share have 4: give \
             more clients",
        ),
        (
            "clients = 3",
            "clients = 4",
            "8",
            "clients: the populations have 7 clients, and a load point has 8: leave out this \
             number, or give a population a share",
        ),
        (
            "share = 120",
            "share = -20",
            "8",
            "clients: a population has share 120: give a percentage above 0, up to 100",
        ),
    ] {
        let error = of(&two(one, other), &clients(list)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn what_is_wrong_with_a_population_is_named_with_its_place() {
    let table =
        |lines: &str| format!("[[population]]\nname = \"a\"\nprofile = \"read-4k\"\n{lines}");
    let other = "[[population]]\nname = \"b\"\nprofile = \"read-4k\"\nclients = 1\n";
    for (tables, expected) in [
        (
            table(""),
            "profile company.toml, population a: give clients, share as a percentage of the \
             clients, or stages",
        ),
        (
            table("clients = 4\nshare = 50"),
            "profile company.toml, population a: clients and share are both given: drop one of \
             them",
        ),
        (
            table("clients = 4\noutstanding = 0"),
            "profile company.toml, population a: outstanding is 0: give 1 to 1024",
        ),
        (
            table("clients = 4\nrate = 5\nthink_time = \"1s\""),
            "profile company.toml, population a: ",
        ),
        (
            table("clients = 4\nstart = \"1h\""),
            "profile company.toml: start of population a is 1h, after the measured window: give \
             less than 4s",
        ),
        (
            table("clients = 4\n") + &other.replace("\"b\"", "\"a\""),
            "profile company.toml, population a: another population has this name: choose another",
        ),
        (
            table("clients = 4\n") + &other.replace("\"b\"", "\"read\""),
            "profile company.toml, population read: an operation has this name: choose another",
        ),
        (
            table("clients = 4\n") + &other.replace("\"b\"", "\"the office\""),
            "profile company.toml, population the office: the name of a population has only \
             letters, digits, -, _ and .",
        ),
        (
            table("clients = 4\n") + &other.replace("read-4k", "notify-fanout"),
            "profile company.toml, population b: profile notify-fanout sets clients, which is not \
             of a population: drop it there",
        ),
    ] {
        let error = of(&tables, &RunOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    assert_eq!(
        refusal(&table("clients = 4"), &RunOptions::default()),
        "profile x.toml: the profiles of its populations are not there: load it from a file"
    );
    let unknown = Profile::parse("x.toml", &table("client = 4")).unwrap_err();
    let words = unknown.to_string();
    assert!(
        words.starts_with("profile x.toml, line 4, column 1: unknown field `client`"),
        "{words}"
    );
    let outstanding = RunOptions {
        work: WorkSpec {
            outstanding: Some(4),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    assert_eq!(
        of(THREE, &outstanding).unwrap_err().to_string(),
        "outstanding: outstanding belongs to a population: give it in a [[population]] table"
    );
}

#[test]
fn what_belongs_to_a_population_is_not_given_for_all() {
    let table = "[[population]]\nname = \"a\"\nprofile = \"read-4k\"\nclients = 4\n";
    for (tables, expected) in [
        (
            format!("read_percent = 50\n{table}"),
            "profile company.toml: its [[population]] tables describe the work: leave out other \
             tables than [run], and other keys than name and description",
        ),
        (
            format!("{table}[run]\nrate = 100"),
            "profile company.toml: rate belongs to a population: give it in a [[population]] table",
        ),
        (
            format!("{table}[run]\nloops = 2"),
            "profile company.toml: loops has no meaning with populations: leave it out",
        ),
    ] {
        let error = of(&tables, &RunOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

/// A plan of one population without a name has the digest of its profile.
#[test]
fn a_name_and_a_start_are_part_of_the_digest() {
    let digest = |tables: &str| {
        let profile = company(tables);
        let plan = Plan::resolve(&profile, &clients("100"), target(), Limits::default(), 2);
        plan.unwrap().digest()
    };
    let all = digest(THREE);
    assert_eq!(all, digest(THREE));
    for (from, to) in [
        ("office\"\nprofile", "officers\"\nprofile"),
        ("500ms", "501ms"),
        ("oplock = \"batch\"", ""),
        ("outstanding = 8", "outstanding = 7"),
    ] {
        assert!(THREE.contains(from));
        assert_ne!(all, digest(&THREE.replacen(from, to, 1)), "{from}");
    }
    // Where connections come from is no part of the work.
    assert_eq!(all, digest(&THREE.replace("127.0.0.2", "127.0.0.3")));
}

#[test]
fn sessions_of_the_only_population_are_in_the_digest_once() {
    let plan = |options: &str| {
        let table = "[[population]]\nname = \"a\"\nprofile = \"read-4k\"\nclients = 4\n";
        of(&format!("{table}{options}"), &RunOptions::default()).unwrap()
    };
    let options = "encrypt = \"required\"\ncredits = 64\n";
    let (own, of_run) = (plan(options), plan(&format!("[run]\n{options}")));
    assert_eq!(own.only().credits, Some(64));
    assert_eq!(own.sessions, of_run.sessions);
    assert_eq!(own.digest(), of_run.digest());
    assert_ne!(own.digest(), plan("").digest());
}

/// So a population alone has the digest of a profile that has no other.
#[test]
fn caching_of_the_only_population_is_in_the_digest_once() {
    let table = |name: &str, oplock: &str| {
        format!(
            "[[population]]\nname = \"{name}\"\nprofile = \"read-4k\"\nclients = 4\n\
             oplock = \"{oplock}\"\n"
        )
    };
    for (own, of_run) in [("batch", "none"), ("none", "batch"), ("batch", "batch")] {
        let run = format!("[run]\noplock = \"{of_run}\"\n");
        let one = table("a", own) + &run;
        let two = table("a", own) + &table("b", "lease-rh") + &run;
        let [one, two] = [one, two].map(|tables| of(&tables, &RunOptions::default()).unwrap());
        let alone = two.alone().next().unwrap();
        assert_eq!(alone.sessions.caching.name(), own);
        assert_eq!(alone.digest(), one.digest(), "{own} {of_run}");
    }
}

/// A capture alone is replayed once.
#[test]
fn a_capture_ends_with_the_window_of_the_others() {
    let table = |name: &str| {
        format!("[[population]]\nname = \"{name}\"\nprofile = \"trace:{name}\"\nclients = 1\n")
    };
    let duration = |members: [Profile; 2], events: Vec<&str>| {
        let tables = table("a") + &table("b");
        let profile = Profile {
            populations: members.into(),
            ..Profile::parse("company.toml", &tables).unwrap()
        };
        let event = events.iter().map(|text| text.parse().unwrap()).collect();
        let options = RunOptions {
            work: WorkSpec {
                event: Some(event),
                ..WorkSpec::default()
            },
            ..RunOptions::default()
        };
        resolve(&profile, &options).unwrap().work.duration.as_secs()
    };
    let other = || Profile::builtin("read-4k").unwrap();
    assert_eq!(duration([captured(1), other()], vec![]), 3);
    let event = "at 10s: exec true";
    assert_eq!(duration([captured(1), other()], vec![event]), 40);
    assert_eq!(duration([other(), captured(1)], vec![event]), 40);
}

/// A search chooses the number of clients of all together.
#[test]
fn clients_without_a_share_stand() {
    let mut plan = of(THREE, &clients("100")).unwrap();
    for (clients, expected) in [
        (4, None),
        (5, None),
        (10, Some(vec![5, 4, 1])),
        (100, Some(vec![80, 4, 16])),
        (1204, Some(vec![1000, 4, 200])),
    ] {
        assert_eq!(plan.work.divided(clients), expected, "{clients}");
    }
    for population in &mut plan.work.populations {
        population.share = None;
    }
    assert_eq!(plan.work.divided(100), None);
}

#[test]
fn a_search_changes_the_rate_of_one_population() {
    let mut plan = of(THREE, &clients("100")).unwrap();
    let [first, next] = ["500", "700"].map(|rate| rate.parse().unwrap());
    assert_eq!(plan.work.chosen(100, Some(first)), None);
    plan.work.search_rate("editors", first).unwrap();
    let chosen = plan.work.chosen(100, Some(next));
    assert_eq!(chosen.unwrap(), [(80, None), (4, None), (16, Some(next))]);
    let rates = plan.work.populations.iter().map(|one| one.load.rate());
    let rates: Vec<_> = rates.map(|of| of.map(|(rate, _)| rate)).collect();
    assert_eq!(rates, [None, None, Some(first)]);
    let error = plan.work.search_rate("editor", first).unwrap_err();
    let expected = "population editor: the profile has only office, backup, editors";
    assert_eq!(error.to_string(), expected);
}
