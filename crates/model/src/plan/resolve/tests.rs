//! Which specs resolve, which are refused, and the messages.

mod manual;
mod populations;
mod replays;
mod stages;
mod units;

use std::collections::BTreeMap;
use std::sync::Arc;

use smbench_protocol::{Dialect, DialectRange, NtStatus};

use super::*;
use crate::contents::Verify;
#[cfg(feature = "smb-rs")]
use crate::generator::DriverKind;
use crate::kind::{Direction, OpKind};
use crate::sessions::Mode;
use crate::spec::{GeneratorSpec, SessionsSpec, Spec};
use crate::trace::{Builder, Recording, Step};

fn target() -> Target {
    let (target, _) = Target::parse("smb://ann:hunter2@host/share").unwrap();
    target
}

pub(in crate::plan) fn resolve(profile: &Profile, options: &RunOptions) -> Result<Plan, PlanError> {
    Plan::resolve(profile, options, target(), Limits::default(), 2)
}

/// Resolves a built-in profile without command-line options.
pub(in crate::plan) fn plan(name: &str) -> Plan {
    resolve(&Profile::builtin(name).unwrap(), &RunOptions::default()).unwrap()
}

/// Returns a profile that replays a recording without times.
pub(in crate::plan) fn recorded() -> Profile {
    let mut trace = Builder::default();
    let step = Step::Mkdir(r"\made");
    trace.push(&step, NtStatus::SUCCESS, None).unwrap();
    Profile {
        recording: Some(Arc::new(
            trace.finish("my.txt".to_owned(), 1, [0; 32]).into(),
        )),
        ..Profile::from_spec("my", Spec::default())
    }
}

/// Returns a profile that replays a capture of so many clients.
pub(in crate::plan) fn captured(clients: u8) -> Profile {
    let tracks = (0..clients).map(|client| {
        let mut trace = Builder::default();
        let step = Step::Mkdir(r"\made");
        trace.push(&step, NtStatus::SUCCESS, None).unwrap();
        trace.finish("my".to_owned(), 1, [client; 32])
    });
    let recording =
        Recording::of_capture(tracks.collect(), &BTreeMap::new(), BTreeMap::new()).unwrap();
    Profile {
        recording: Some(Arc::new(recording)),
        ..Profile::from_spec("trace:my", Spec::default())
    }
}

pub(super) fn refusal(text: &str, options: &RunOptions) -> String {
    let profile = Profile::parse("x.toml", text).unwrap();
    resolve(&profile, options).unwrap_err().to_string()
}

#[test]
fn built_in_defaults_hold_when_nobody_says_otherwise() {
    let plan = plan("file-server");
    assert_eq!(plan.work.profile, "file-server");
    assert_eq!(plan.work.load_points(), [1, 4, 8, 16]);
    assert_eq!(
        (plan.only().outstanding, plan.work.repeat, plan.work.seed),
        (1, 1, 1)
    );
    assert_eq!(plan.work.duration, Duration::from_secs(3));
    assert_eq!(plan.work.ramp_up, Duration::from_secs(1));
    assert_eq!(plan.work.ramp_down, Duration::from_millis(500));
    assert_eq!(
        (plan.generator.threads, plan.only().verify),
        (2, Verify::Off)
    );
    assert_eq!(plan.sessions.options.signing, Mode::Auto);
    assert_eq!(plan.sessions.options.dialects, DialectRange::ALL);
    assert_eq!(plan.only().workload.sizes.len(), 8);
    assert_eq!(plan.max_clients(), 16);
    assert_eq!(plan.bytes_on_share(), 16 << 20);
    assert_eq!(plan.files().count(), 16);
    assert!(plan.only().workload.kinds().contains(&OpKind::Write));
}

/// Clients that lose their connection at the last event have time to come back.
#[test]
fn a_window_of_no_given_length_ends_after_its_last_event() {
    let duration = |events: &[&str], duration| {
        let event = events.iter().map(|text| text.parse().unwrap()).collect();
        let work = WorkSpec {
            event: Some(event),
            duration,
            ..WorkSpec::default()
        };
        let options = RunOptions {
            work,
            ..RunOptions::default()
        };
        let plan = resolve(&Profile::builtin("file-server").unwrap(), &options);
        plan.map(|plan| plan.work.duration.as_secs())
    };
    let events = ["at 60s: exec true", "at 30s: exec true"];
    assert_eq!(duration(&events, None), Ok(90));
    assert_eq!(duration(&["at 1s: stop 10s"], None), Ok(41));
    assert_eq!(duration(&[], None), Ok(3));
    let given = Some(Duration::from_secs(61));
    assert_eq!(duration(&events, given), Ok(61));
    // A window is 30 days long at most, and so begins no later event.
    let late = duration(&["at 31d: exec true"], None).unwrap_err();
    assert!(
        late.to_string()
            .contains("after the end of the window, which is 30days long"),
        "{late}"
    );
}

#[test]
fn every_builtin_profile_runs_and_can_be_verified() {
    let options = RunOptions {
        work: WorkSpec {
            verify: Some(Verify::ReadBack),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let mut builtin = crate::profile::BUILTIN.map(|(name, _)| name).to_vec();
    // The contents of a replay's files are unknown, so they cannot be verified.
    builtin.retain(|name| !name.starts_with("netbench-like"));
    for name in builtin {
        let plan = resolve(&Profile::builtin(name).unwrap(), &options);
        let is_not_verified = match name {
            "browse-changing" | "notify-fanout" | "neighbour" | "untar" | "office-save" => {
                Some("is not verified")
            }
            "copy-in" | "copy-out" | "walk" => Some("a tree cannot be verified"),
            _ => None,
        };
        if let Some(why) = is_not_verified {
            let refused = plan.unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
            continue;
        }
        let plan = plan.unwrap();
        assert_eq!(plan.work.profile, name);
        let writes = plan.only().workload.kinds().contains(&OpKind::Write);
        let expected = ["file-server", "all-commands"].contains(&name);
        assert_eq!(writes, expected, "{name}");
    }
}

#[test]
fn clients_that_only_watch_have_no_rate() {
    let text = "[files]\nscope = \"shared\"\n[run]\nrate = 10\n\
                [[operations]]\nop = \"watch\"\nweight = 50\n\
                [[operations]]\nop = \"copy_in\"\nweight = 50\n";
    let refused = refusal(text, &RunOptions::default());
    assert!(refused.contains("take no part of a rate"), "{refused}");
}

#[test]
fn what_other_clients_do_is_not_measured_without_others() {
    let clients = |list: &str| RunOptions {
        work: WorkSpec {
            clients: Some(list.parse().unwrap()),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    for (name, list, op) in [
        ("neighbour", "1", "neighbour"),
        ("neighbour", "8,1", "neighbour"),
        ("notify-fanout", "1,8", "watch"),
    ] {
        let profile = Profile::builtin(name).unwrap();
        let refused = resolve(&profile, &clients(list)).unwrap_err().to_string();
        let expected = format!(
            "clients: operation {op} needs other clients, and a load point has 1 in all: give at \
             least 2 clients"
        );
        assert_eq!(refused, expected, "{name} with {list}");
        let plan = resolve(&profile, &clients("2,8")).unwrap();
        assert_eq!(plan.work.load_points(), [2, 8], "{name}");
    }
    let watch = |weight: u32, changers: u32| {
        format!(
            "operations = [{{ op = \"watch\", changers = {changers}, weight = {weight} }},\n\
             {{ op = \"copy_in\", weight = {} }}]\n[files]\nscope = \"shared\"\n",
            100 - weight
        )
    };
    let refused = refusal(
        &(watch(50, 5) + "[run]\nclients = \"5\"\n"),
        &clients("9,5"),
    );
    assert!(
        refused.ends_with("has 5 in all: give at least 6 clients"),
        "{refused}"
    );
    // The default never asks for too few, and nobody needs others for a watch alone.
    let points = |text: &str| {
        let profile = Profile::parse("x.toml", text).unwrap();
        let plan = resolve(&profile, &RunOptions::default()).unwrap();
        plan.work.load_points()
    };
    assert_eq!(points(&watch(50, 1)), [2, 4, 8, 16]);
    assert_eq!(points(&watch(50, 5)), [6, 8, 16]);
    assert_eq!(points(&watch(100, 1)), [1, 4, 8, 16]);
    assert_eq!(points(&watch(0, 1)), [1, 4, 8, 16]);
}

#[test]
fn a_file_too_large_to_copy_is_refused_by_both_sizes() {
    let options = RunOptions {
        work: WorkSpec {
            file_size: Some("2GiB".parse().unwrap()),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let refused = resolve(&Profile::builtin("untar").unwrap(), &options).unwrap_err();
    let refused = refused.to_string();
    assert!(
        refused.contains("2 GiB") && refused.contains("1 GiB") && refused.contains("copy_in"),
        "{refused}"
    );
}

#[test]
fn the_command_line_goes_before_the_file_and_that_before_defaults() {
    let profile = Profile::parse(
        "x.toml",
        r#"
        read_percent = 100
        sizes = [{ size = 512, weight = 100 }]
        [files]
        size = "4KiB"
        [run]
        clients = "2"
        outstanding = 3
        seed = 5
        dialect = "2.1"
        sign = "off"
        "#,
    )
    .unwrap();
    let options = RunOptions {
        work: WorkSpec {
            clients: Some("7,9".parse().unwrap()),
            seed: Some(6),
            file_size: Some(Size(8192)),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let plan = resolve(&profile, &options).unwrap();
    assert_eq!(plan.work.profile, "x");
    assert_eq!(plan.work.load_points(), [7, 9]);
    assert_eq!(
        (plan.work.seed, plan.only().outstanding, plan.work.repeat),
        (6, 3, 1)
    );
    assert_eq!(plan.only().workload.files.size, 8192);
    assert_eq!(
        plan.sessions.options.dialects,
        DialectRange::only(Dialect::Smb21)
    );
    assert_eq!(plan.sessions.options.signing, Mode::Off);
    assert!(!plan.only().workload.kinds().contains(&OpKind::Write));
}

const SIZES: &str = "sizes = [{ size = 512, weight = 100 }]\n";

#[test]
fn a_profile_that_cannot_run_is_refused_in_a_line() {
    for (text, message) in [
        (
            "",
            "read_percent is missing: give the share of reads, 0 to 100, or [[operations]] tables",
        ),
        (
            "read_percent = 101",
            "read_percent is 101: give the share of reads, 0 to 100",
        ),
        (
            "read_percent = -1",
            "read_percent is -1: give the share of reads, 0 to 100",
        ),
        (
            "read_percent = nan",
            "read_percent is NaN: give the share of reads, 0 to 100",
        ),
        (
            "read_percent = 80",
            "there are no sizes: add [[sizes]] tables with a size and a weight",
        ),
        (
            "read_percent = 80\nflush_every_writes = 0",
            "flush_every_writes is 0: give a number of writes, or leave it out for never",
        ),
        (
            "read_percent = 100\nflush_every_writes = 9",
            "flush_every_writes is set, but read_percent is 100 and nothing is ever written: drop one of them",
        ),
        (
            "read_percent = 80\nfiles.count = 0",
            "the file count is 0: it must be at least 1",
        ),
        (
            "read_percent = 80\nfiles.count = 10001\n[[sizes]]\nsize = 4096\nweight = 100",
            "the file count is 10001: at most 10000 are possible where operations work on open files",
        ),
        (
            "read_percent = 80\nfiles.count = 10000001",
            "the file count is 10000001: at most 10000000 are possible",
        ),
    ] {
        let found = refusal(text, &RunOptions::default());
        assert_eq!(found, format!("profile x.toml: {message}"), "{text}");
    }
}

#[test]
fn a_mix_that_cannot_run_is_refused_in_a_line() {
    for (sizes, message) in [
        (
            "{ size = 0, weight = 100 }",
            "a size is 0: it must be at least 1 byte",
        ),
        (
            "{ size = \"1025MiB\", weight = 100 }",
            "size 1025 MiB is more than 1 GiB, the largest operation",
        ),
        (
            "{ size = \"9T\", weight = 100 }",
            "size 9 TiB is more than 1 GiB, the largest operation",
        ),
        (
            "{ size = 512, weight = 50 }, { size = \"512\", weight = 50 }",
            "size 512 B is listed twice: give it once, with the sum of the weights",
        ),
        (
            "{ size = \"2MiB\", weight = 100 }",
            "size 2 MiB does not fit in a file of 1 MiB: enlarge the files or drop the size",
        ),
        (
            "{ size = 512, weight = -5 }, { size = 1024, weight = 105 }",
            "the weight of size 512 B is -5: give a percentage, 0 to 100",
        ),
        (
            "{ size = 512, weight = nan }",
            "the weight of size 512 B is NaN: give a percentage, 0 to 100",
        ),
        (
            "{ size = 512, weight = inf }",
            "the weight of size 512 B is inf: give a percentage, 0 to 100",
        ),
        (
            "{ size = 512, weight = 60 }, { size = 1024, weight = 35.5 }",
            "the weights of the sizes sum to 95.5, not to 100: change them to add up",
        ),
        (
            "{ size = 512, weight = 100.02 }",
            "the weights of the sizes sum to 100.02, not to 100: change them to add up",
        ),
    ] {
        let text = format!("read_percent = 80\nsizes = [{sizes}]");
        let found = refusal(&text, &RunOptions::default());
        assert_eq!(found, format!("profile x.toml: {message}"));
    }
}

#[test]
fn weights_may_be_rounded_thirds() {
    let text = "read_percent = 80\nsizes = [{ size = 512, weight = 33.33 }, \
                { size = 1024, weight = 33.33 }, { size = 2048, weight = 33.33 }]";
    let profile = Profile::parse("x.toml", text).unwrap();
    assert!(resolve(&profile, &RunOptions::default()).is_ok());
}

/// A READ or WRITE that costs more credits is split; a frame cannot be.
#[test]
fn credits_must_pay_for_what_is_not_split() {
    let sized = "files.size = \"8MiB\"\nsizes = [{ size = \"1MiB\", weight = 100 }]\n";
    let plain = format!("read_percent = 80\n{sized}");
    let frame = format!("operations = [{{ op = \"create_read_close\", weight = 100 }}]\n{sized}");
    let with = |credits| RunOptions {
        sessions: SessionsSpec {
            credits: Some(credits),
            ..SessionsSpec::default()
        },
        ..RunOptions::default()
    };
    for (profile, credits, message) in [
        (&plain, 0, "credits is 0: give 1 to 8192"),
        (&plain, 8193, "credits is 8193: give 1 to 8192"),
        (
            &frame,
            15,
            "credits is 15, but a request of 1 MiB costs 16: give at least as many",
        ),
        (
            &frame,
            17,
            "credits is 17, but an operation sends requests that cost 18 at once: give at least as many",
        ),
    ] {
        let options = with(credits);
        assert_eq!(refusal(profile, &options), format!("credits: {message}"));
        let text = format!("[run]\ncredits = {credits}");
        let found = refusal(&format!("{profile}{text}"), &RunOptions::default());
        assert_eq!(found, format!("profile x.toml: {message}"));
    }
    for (profile, credits) in [(&plain, 1), (&frame, 18)] {
        let profile = Profile::parse("x.toml", profile).unwrap();
        let plan = resolve(&profile, &with(credits)).unwrap();
        assert_eq!(plan.sessions.connections.credits, Some(credits));
    }
}

/// The READ of a frame says nothing about WRITEs.
#[test]
fn a_frame_keeps_reads_whole_and_writes_can_be_split() {
    let text = "operations = [{ op = \"create_read_close\", weight = 50 }, { op = \"write\", weight = 50 }]\n\
                files.size = \"8MiB\"\nsizes = [{ size = \"1MiB\", weight = 100 }]\n";
    let profile = Profile::parse("x.toml", text).unwrap();
    let plan = resolve(&profile, &RunOptions::default()).unwrap();
    assert!(plan.has_unsplit(Direction::Read));
    assert!(!plan.has_unsplit(Direction::Write));
}

#[test]
fn an_operation_that_is_not_split_fits_a_request() {
    for op in ["create_read_close", "copy_chunk"] {
        let text = format!(
            "operations = [{{ op = \"{op}\", weight = 100 }}]\nfiles.size = \"16MiB\"\n\
             sizes = [{{ size = \"16MiB\", weight = 100 }}]\n"
        );
        assert_eq!(
            refusal(&text, &RunOptions::default()),
            format!(
                "profile x.toml: size 16 MiB is more than 8 MiB, the largest request servers \
                 take, and a {op} is not split"
            )
        );
    }
}

/// Each case is a wrong option, on the command line and in the profile.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn an_option_is_refused_where_it_was_given() {
    for (run, options, field, message) in [
        (
            "outstanding = 0",
            RunOptions {
                work: WorkSpec {
                    outstanding: Some(0),
                    ..WorkSpec::default()
                },
                ..RunOptions::default()
            },
            "outstanding",
            "outstanding is 0: give 1 to 1024",
        ),
        (
            "outstanding = 1025",
            RunOptions {
                work: WorkSpec {
                    outstanding: Some(1025),
                    ..WorkSpec::default()
                },
                ..RunOptions::default()
            },
            "outstanding",
            "outstanding is 1025: give 1 to 1024",
        ),
        (
            "repeat = 0",
            RunOptions {
                work: WorkSpec {
                    repeat: Some(0),
                    ..WorkSpec::default()
                },
                ..RunOptions::default()
            },
            "repeat",
            "repeat is 0: it must be at least 1",
        ),
        (
            "threads = 0",
            RunOptions {
                generator: GeneratorSpec {
                    threads: Some(0),
                    ..GeneratorSpec::default()
                },
                ..RunOptions::default()
            },
            "threads",
            "threads is 0: give 1 to 1024",
        ),
        (
            "setup_rate = 0",
            RunOptions {
                generator: GeneratorSpec {
                    setup_rate: Some(0),
                    ..GeneratorSpec::default()
                },
                ..RunOptions::default()
            },
            "setup_rate",
            "setup_rate is 0: give 1 to 1000000 sessions per second",
        ),
        (
            "duration = \"0s\"",
            RunOptions {
                work: WorkSpec {
                    duration: Some(Duration::ZERO),
                    ..WorkSpec::default()
                },
                ..RunOptions::default()
            },
            "duration",
            "duration is 0s: the measured window needs at least 1ms, such as 30s",
        ),
        (
            "ramp_up = \"31days\"",
            RunOptions {
                work: WorkSpec {
                    ramp_up: Some(Duration::from_secs(31 * 86_400)),
                    ..WorkSpec::default()
                },
                ..RunOptions::default()
            },
            "ramp_up",
            "ramp_up is 31 days: the longest is 30 days",
        ),
    ] {
        let valid = format!("read_percent = 80\n{SIZES}");
        assert_eq!(refusal(&valid, &options), format!("{field}: {message}"));
        let text = format!("{valid}[run]\n{run}");
        assert_eq!(
            refusal(&text, &RunOptions::default()),
            format!("profile x.toml: {message}")
        );
    }
}

#[test]
fn a_file_size_from_the_command_line_is_blamed_on_it() {
    let small = RunOptions {
        work: WorkSpec {
            file_size: Some(Size(511)),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    assert_eq!(
        refusal(&format!("read_percent = 80\n{SIZES}"), &small),
        "file_size: size 512 B does not fit in a file of 511 B: enlarge the files or drop the size"
    );
    let large = RunOptions {
        work: WorkSpec {
            file_size: Some(Size(1 << 62)),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    assert_eq!(
        refusal(&format!("read_percent = 80\n{SIZES}"), &large),
        "file_size: the files are too large: 16 clients would need 2^63 bytes or more"
    );
}

#[test]
fn verification_needs_whole_blocks() {
    let verified = RunOptions {
        work: WorkSpec {
            verify: Some(Verify::ReadBack),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    for (text, message) in [
        (
            "read_percent = 80\nsizes = [{ size = 1025, weight = 100 }]",
            "profile x.toml: size 1025 B is not a multiple of 512 bytes, which verification needs: change it or turn verification off",
        ),
        (
            "read_percent = 80\nfiles.size = 1000\nsizes = [{ size = 512, weight = 100 }]",
            "profile x.toml: file size 1000 B is not a multiple of 512 bytes, which verification needs: change it or turn verification off",
        ),
    ] {
        assert_eq!(refusal(text, &verified), message);
        let profile = Profile::parse("x.toml", text).unwrap();
        assert!(resolve(&profile, &RunOptions::default()).is_ok());
    }
}

#[test]
fn verification_of_more_than_memory_holds_is_refused() {
    let verified = RunOptions {
        work: WorkSpec {
            verify: Some(Verify::ReadBack),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let text = "read_percent = 80\nfiles.size = \"6GiB\"\nsizes = [{ size = 512, weight = 100 }]";
    assert_eq!(
        refusal(text, &verified),
        "profile x.toml: verifying 96 GiB of files takes 4.5 GiB of memory here, more than 4 GiB: \
         use smaller files, fewer clients or no verification"
    );
}

#[cfg(feature = "smb-rs")]
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_smb_rs_cannot_honour_is_refused() {
    use smbench_protocol::{Cipher, CipherList, SigningAlgorithm};

    let by_smb_rs = || RunOptions {
        generator: GeneratorSpec {
            driver: Some(DriverKind::SmbRs),
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    };
    let text = format!("read_percent = 80\n{SIZES}");
    for (options, message) in [
        (
            RunOptions {
                sessions: SessionsSpec {
                    sign: Some(Mode::Off),
                    ..by_smb_rs().sessions
                },
                ..by_smb_rs()
            },
            "sign: the driver smb-rs signs whatever it does not encrypt: give auto or required, \
             or use driver native",
        ),
        (
            RunOptions {
                sessions: SessionsSpec {
                    signing_algorithm: Some(SigningAlgorithm::AesGmac),
                    ..by_smb_rs().sessions
                },
                ..by_smb_rs()
            },
            "signing_algorithm: the driver smb-rs leaves the signing algorithm to the server: \
             leave it out, or use driver native",
        ),
        (
            RunOptions {
                sessions: SessionsSpec {
                    cipher: Some(CipherList::only(Cipher::Aes128Gcm)),
                    ..by_smb_rs().sessions
                },
                ..by_smb_rs()
            },
            "cipher: the driver smb-rs leaves the cipher to the server: leave it out, or use \
             driver native",
        ),
        (
            RunOptions {
                sessions: SessionsSpec {
                    oplock: Some("batch".parse().unwrap()),
                    ..by_smb_rs().sessions
                },
                ..by_smb_rs()
            },
            "oplock: the driver smb-rs asks for no oplocks or leases: leave it out, or use \
             driver native",
        ),
        (
            RunOptions {
                sessions: SessionsSpec {
                    credits: Some(64),
                    ..by_smb_rs().sessions
                },
                ..by_smb_rs()
            },
            "credits: the driver smb-rs uses as many credits as it is granted: leave it out, or \
             use driver native",
        ),
        (
            RunOptions {
                work: WorkSpec {
                    outstanding: Some(2),
                    ..by_smb_rs().work
                },
                sessions: SessionsSpec {
                    dialect: Some(Dialect::Smb202.into()),
                    ..by_smb_rs().sessions
                },
                ..by_smb_rs()
            },
            "outstanding: the driver smb-rs sends one request at a time in SMB 2.0.2: give 1, or \
             offer a newer dialect",
        ),
    ] {
        assert_eq!(refusal(&text, &options), message);
        let native = RunOptions {
            generator: GeneratorSpec {
                driver: None,
                ..options.generator
            },
            ..options
        };
        let profile = Profile::parse("x.toml", &text).unwrap();
        assert!(resolve(&profile, &native).is_ok());
    }
    let text = format!("{text}[run]\ndriver = \"smb-rs\"\nsign = \"off\"\n");
    assert!(
        refusal(&text, &RunOptions::default()).starts_with("profile x.toml: the driver smb-rs")
    );
}

#[cfg(feature = "smb-rs")]
#[test]
fn smb_rs_logs_on_by_ntlm_only() {
    use crate::login::Login;

    let profile = Profile::builtin("file-server").unwrap();
    let options = RunOptions {
        generator: GeneratorSpec {
            driver: Some(DriverKind::SmbRs),
            ..GeneratorSpec::default()
        },
        ..RunOptions::default()
    };
    let target = Target {
        login: Login::Anonymous,
        ..target()
    };
    let refused = Plan::resolve(&profile, &options, target, Limits::default(), 2);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "auth: the driver smb-rs logs on by NTLM only: give ntlm, or use driver native"
    );
}
