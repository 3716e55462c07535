//! What the definition of the command line accepts, refuses and prints.

mod documented;
mod grammar;
mod manual;

use std::time::Duration;

use smbench_model::plan::Plan;
use smbench_model::units::format_duration;
use smbench_runner::command_line::hide_urls;

use super::*;
use crate::requests;

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

fn message(args: &[&str]) -> String {
    let error = Cli::try_parse_from(args).unwrap_err();
    let written = args.iter().map(|&arg| arg.to_owned());
    hide_urls(one_line(&error, &Cli::command()), written)
}

#[test]
fn mistakes_take_one_line() {
    for (args, expected) in [
        (
            &["smbench", "run", "--client", "4"][..],
            "unexpected argument '--client' found (did you mean --clients?)",
        ),
        (
            &["smbench", "run", "--outstanding", "1-8"],
            "invalid value '1-8' for '--outstanding <NUMBER>': `1-8` is not a whole number: write \
             digits only, such as 500, or 5k for 5000",
        ),
        (
            &["smbench", "benchmark"],
            "unrecognized subcommand 'benchmark' (see smbench --help)",
        ),
        (
            &["smbench", "find", "rat"],
            "unrecognized subcommand 'rat' (did you mean rate?)",
        ),
        (
            &["smbench", "run", "--config", "x"],
            "unexpected argument '--config' found (see smbench run --help)",
        ),
        (
            &["smbench", "import", "fio", "job.fio"],
            "unrecognized subcommand 'fio'; fio jobs are not imported: docs/from/fio.md shows how \
             to write one as a profile",
        ),
        (
            &["smbench", "import", "iometre", "x"],
            "unrecognized subcommand 'iometre' (did you mean iometer?)",
        ),
        (
            &["smbench", "run", "--sign", "on"],
            "invalid value 'on' for '--sign <MODE>' [possible values: auto, required, off]",
        ),
        (
            &["smbench", "probe"],
            "the following required arguments were not provided: <URL> (see smbench probe --help)",
        ),
        (
            &["smbench", "run", "--connect-timeout", "0"],
            "invalid value '0' for '--connect-timeout <DURATION>': nothing is answered \
             within no time: give 1ms or more",
        ),
        (
            &["smbench", "run", "--password-file", "x"],
            "the following required arguments were not provided: <URL|--target <URL>> \
             (see smbench run --help)",
        ),
    ] {
        assert_eq!(message(args), expected);
    }
}

#[test]
fn misplaced_words_are_answered_with_what_to_write() {
    for (args, expected) in [
        (
            &["smbench", "run", "--runtime", "10s"][..],
            "unexpected argument '--runtime' found (did you mean --duration?)",
        ),
        (
            &["smbench", "run", "-d", "-1"],
            "unexpected argument '-1' found; no size, time or count is below zero",
        ),
        (
            &["smbench", "-p", "mix", "run"],
            "unexpected argument '-p' found; options come after the command, for example \
             smbench run --json -",
        ),
        (
            &["smbench", "profiles", "mix"],
            "unrecognized subcommand 'mix'; to print a profile: smbench profiles show mix",
        ),
        (
            &["smbench", "profiles", "shwo", "mix"],
            "unrecognized subcommand 'shwo' (did you mean show?)",
        ),
        (
            &["smbench", "profiles", "list"],
            "unrecognized subcommand 'list'; smbench profiles lists them",
        ),
        (
            &["smbench", "compare", "a.json", "b.json", "--fail-if", "-5%"],
            "unexpected argument '-5' found; write a whole condition, for example --fail-if \
             'throughput < -5%'",
        ),
        (
            &["smbench", "--json", "-", "run"],
            "unexpected argument '--json' found; options come after the command, for example \
             smbench run --json -",
        ),
        (
            &["smbench", "lab", "samba", "ls"],
            "unexpected argument 'ls' found; put -- before the command: -- ls",
        ),
        (
            &["smbench", "gate", "a.json", "--target", "smb://a@h/s"],
            "unexpected argument '--target' found; write the URL after the baseline",
        ),
    ] {
        assert_eq!(message(args), expected);
    }
}

/// A script may add a switch that its caller has given already.
#[test]
fn a_switch_may_be_given_twice_and_a_value_may_not() {
    let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
    assert!(parse(&words("smbench run -q --verify -q --verify")).is_ok());
    assert!(parse(&words("smbench find rate smb://a@h/s --slo mean<9ms -q -q")).is_ok());
    let error = parse(&words("smbench run -c 1 -c 2")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ArgumentConflict);
    let error = parse(&words("smbench run -d 90")).unwrap_err().to_string();
    assert!(error.contains("`90` has no unit: write 90s"), "{error}");
}

#[test]
fn a_url_where_a_file_belongs_is_refused_without_its_password() {
    let url = "smb://ann:hunter2@host/share";
    for args in [
        &["smbench", "run", "--profile", url][..],
        &["smbench", "run", "--json", url],
        &["smbench", "run", "--csv", url],
        &["smbench", "run", "--hlog", url],
        &["smbench", "profiles", "show", url],
    ] {
        let message = message(args);
        assert!(message.contains("invalid value 'smb://...'"), "{message}");
        let expected = ": expected a file, not the URL of a server";
        assert!(message.ends_with(expected), "{message}");
    }
    assert_eq!(
        message(&["smbench", "run", "--hlog", "-"]),
        "invalid value '-' for '--hlog <FILE>': expected a file, not standard output"
    );
}

#[test]
fn the_help_names_the_defaults_that_plans_have() {
    let CliCommand::Run(args) = Cli::try_parse_from(["smbench", "run"]).unwrap().command else {
        panic!("run is run");
    };
    let request = requests::resolve_all(&args).unwrap().remove(0);
    let Plan { work, limits, .. } = request.draft;
    let clients: Vec<_> = work.load_points().iter().map(u32::to_string).collect();
    let mut command = Cli::command();
    let run = command.find_subcommand_mut("run").unwrap();
    let help = run.render_long_help().to_string();
    let words: Vec<_> = help.split_whitespace().collect();
    let help = words.join(" ");
    for (option, default) in [
        ("--profile", work.profile.clone()),
        ("--clients", clients.join(",")),
        ("--outstanding", work.only().outstanding.to_string()),
        ("--duration", format_duration(work.duration)),
        ("--ramp-up", format_duration(work.ramp_up)),
        ("--ramp-down", format_duration(work.ramp_down)),
        ("--repeat", work.repeat.to_string()),
        ("--seed", work.seed.to_string()),
        ("--connect-timeout", format_duration(limits.connect)),
        ("--setup-timeout", format_duration(limits.setup)),
        ("--operation-timeout", format_duration(limits.operation)),
    ] {
        let (_, after) = help.split_once(&format!("{option} <")).unwrap();
        let (_, written) = after.split_once("[default: ").unwrap();
        let (written, _) = written.split_once(']').unwrap();
        let written = written.trim_start_matches("the profile's, else ");
        let written = written.split(", or with events").next().unwrap();
        assert_eq!(written, default, "{option}");
    }
}

#[test]
fn waits_can_be_shortened_wherever_a_server_is_asked() {
    const URL: &str = "smb://ann@host/share";
    for command in [
        &["run", "--target", URL][..],
        &["plan", "--target", URL],
        &["fileio", "run", "--target", URL],
        &["probe", URL],
        &["cleanup", URL],
        &["suite", "x.toml"],
    ] {
        let limits = ["--connect-timeout=2s", "--setup-timeout=3s"];
        let args = [&["smbench"], command, &limits].concat();
        let parsed = Cli::try_parse_from(&args).unwrap().command;
        if let CliCommand::Run(args) = parsed {
            let request = requests::resolve_all(&args).unwrap().remove(0);
            let plan = request.draft;
            assert_eq!(plan.limits.connect, Duration::from_secs(2));
            assert_eq!(plan.limits.setup, Duration::from_secs(3));
        }
    }
}

#[test]
fn a_server_is_named_in_either_place() {
    let url = |args: &[&str]| match Cli::try_parse_from(args).unwrap().command {
        CliCommand::Run(args) => args.server.target.url().map(str::to_owned),
        other => panic!("{other:?}"),
    };
    assert_eq!(url(&["smbench", "run"]), None);
    for args in [
        &["smbench", "run", "//host/share"][..],
        &["smbench", "run", "-c", "4", "//host/share", "-d", "3s"],
        &["smbench", "run", "-t", "//host/share"],
        &["smbench", "run", "--password-file", "x", "//host/share"],
        &[
            "smbench",
            "run",
            "--password-file",
            "x",
            "--target=//host/share",
        ],
    ] {
        assert_eq!(url(args).as_deref(), Some("//host/share"), "{args:?}");
    }
    let both = message(&["smbench", "run", "//host/share", "-t", "//host/share"]);
    assert!(both.contains("cannot be used with"), "{both}");
}

/// Commands on a share take the URL of the environment, unless they have one.
#[test]
fn probe_and_cleanup_take_the_server_of_the_environment() {
    let url = |words: &[&str]| {
        let words = words.iter().map(OsString::from).collect();
        let target = Some("//host/share".into());
        match parse_with_target(words, target).unwrap().command {
            CliCommand::Probe(args) | CliCommand::Cleanup(args) => args.url.target,
            other => panic!("{other:?}"),
        }
    };
    for command in ["probe", "cleanup"] {
        assert_eq!(url(&["smbench", command]), "//host/share");
        let with_file = ["smbench", command, "--password-file", "x"];
        assert_eq!(url(&with_file), "//host/share");
        assert_eq!(url(&["smbench", command, "//other/share"]), "//other/share");
    }
}

/// Single options go before a usual combination of them.
#[test]
fn the_usual_lengths_are_short_forms() {
    let work = |more: &[&str]| {
        let args = [&["smbench", "run"], more].concat();
        let CliCommand::Run(args) = Cli::try_parse_from(args).unwrap().command else {
            panic!("run is run");
        };
        let work = requests::resolve_all(&args).unwrap().remove(0).draft.work;
        (
            work.duration.as_secs(),
            work.ramp_up.as_millis(),
            work.repeat,
        )
    };
    assert_eq!(work(&[]), (3, 1000, 1));
    assert_eq!(work(&["--quick"]), (1, 200, 1));
    assert_eq!(work(&["--long"]), (60, 5000, 5));
    assert_eq!(work(&["--long", "-d", "30s", "--repeat=3"]), (30, 5000, 3));
}

#[test]
fn a_misplaced_url_is_not_repeated() {
    for args in [
        &["smbench", "run", "--clients", "smb://ann:pa ss@host/share"][..],
        &["smbench", "run", "--clients=smb://ann:pa ss@host/share"],
        &["smbench", "run", "--profile", "smb://ann:pa ss@host/share"],
        &["smbench", "run", "--out=SMB://ann:pa ss@host/share"],
        &["smbench", "run", "--json", "smb://ann:pa ss@host/share"],
        &["smbench", "show", "smb://ann:pa ss@host/share"],
        &["smbench", "show", "x", "--csv=smb://ann:pa ss@host/share"],
        &["smbench", "compare", "x", "smb://ann:pa ss@host/share"],
        &["smbench", "profiles", "show", "smb://ann:pa ss@host/share"],
        &["smbench", "smb://ann:pa ss@host/share"],
    ] {
        let message = message(args);
        assert!(!message.contains("pa ss"), "{message}");
        let lowercase = message.to_ascii_lowercase();
        assert!(lowercase.contains("smb://..."), "{message}");
    }
    for args in [
        &["smbench", "run", "-c", "smb://ann:pa ss@host/share "][..],
        &["smbench", "run", "-c", "smb://ann:pa ss,x@h/s"],
        &["smbench", "run", "-c", r"\ann:pa ss@hostshare"],
        &["smbench", "run", "-p", r"\ann:pa ss@hostshare"],
        &["smbench", "run", "--out", r"smb:\\ann:pa ss@host\share"],
        &["smbench", "run", "--label", "//ann:pa ss@host/share"],
        &["smbench", "run", "--note", "smb://ann:pa ss@host/share"],
        &["smbench", "show", r"\ann:pa ss@hostshare"],
    ] {
        let message = message(args);
        assert!(!message.contains("pa ss"), "{message}");
    }
    for unc in ["//ann:pa ss@host/share", r"\\ann:pa ss@host\share"] {
        let message = message(&["smbench", "run", "--out", unc]);
        assert!(message.contains("..."), "{message}");
        assert!(!message.contains("pa ss"), "{message}");
    }
}
