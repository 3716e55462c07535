//! Replays, and mixes that end after a number of loops.

use super::*;

#[test]
fn loops_count_the_files_that_each_client_works_through() {
    let options = RunOptions {
        work: WorkSpec {
            loops: Some(3),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    for (name, count) in [("untar", 30_000), ("stat", 6000), ("list", 3), ("walk", 3)] {
        let plan = resolve(&Profile::builtin(name).unwrap(), &options).unwrap();
        assert_eq!(plan.only().count, Some(count), "{name}");
        assert_eq!(plan.work.ramp_up, Duration::ZERO);
        // Random choices would leave out files.
        let is_random = plan.only().workload.access == Access::Random;
        assert_eq!(is_random, name != "stat", "{name}");
    }
    let browse = Profile::builtin("browse").unwrap();
    let refused = resolve(&browse, &options).unwrap_err().to_string();
    assert!(
        refused.starts_with("loops: loops means nothing"),
        "{refused}"
    );
}

/// Each case is an option that a replay does not support, with its message.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_a_replay_cannot_have_is_refused() {
    let replay = recorded();
    let none = RunOptions::default;
    for (options, expected) in [
        (
            RunOptions {
                work: WorkSpec {
                    outstanding: Some(2),
                    ..none().work
                },
                ..none()
            },
            "outstanding: outstanding cannot be had in a replay: operations depend on those before \
             them; give outstanding 1",
        ),
        (
            RunOptions {
                work: WorkSpec {
                    verify: Some(Verify::ReadBack),
                    ..none().work
                },
                ..none()
            },
            "verify: verify cannot be had in a replay: the recording has no data; drop it",
        ),
        (
            RunOptions {
                work: WorkSpec {
                    file_size: Some(Size(1)),
                    ..none().work
                },
                ..none()
            },
            "file_size: file_size cannot be had in a replay: files are as large as recorded",
        ),
        (
            RunOptions {
                work: WorkSpec {
                    loops: Some(0),
                    ..none().work
                },
                ..none()
            },
            "loops: loops is 0: it must be at least 1",
        ),
        (
            RunOptions {
                work: WorkSpec {
                    loops: Some(1),
                    ramp_up: Some(Duration::from_secs(1)),
                    ..none().work
                },
                ..none()
            },
            "ramp_up: ramp_up cannot be had in a replay: with loops everything is measured; give 0s",
        ),
        (
            RunOptions {
                work: WorkSpec {
                    timing: Some(Timing::Recorded),
                    ..none().work
                },
                ..none()
            },
            "timing: timing is recorded, but my.txt has no times: give fast, or a file with times",
        ),
    ] {
        assert_eq!(
            resolve(&replay, &options).unwrap_err().to_string(),
            expected
        );
    }
    let loops = RunOptions {
        work: WorkSpec {
            loops: Some(1),
            ..none().work
        },
        ..none()
    };
    let plan = resolve(&replay, &loops).unwrap();
    assert_eq!(
        (plan.work.ramp_up, plan.work.ramp_down),
        (Duration::ZERO, Duration::ZERO)
    );
    assert_eq!(plan.work.duration, Duration::from_secs(3600));
    assert_eq!(
        resolve(&Profile::builtin("read-4k").unwrap(), &loops)
            .unwrap_err()
            .to_string(),
        "loops: loops means nothing without a replay, or a mix of only stat, copy_in, copy_out and lookup_missing, of only list, or of only walk: give \
         that as well, or drop it"
    );
    let two = Profile::parse("x.toml", "netbench = \"oplocks\"\nread_percent = 5").unwrap();
    assert_eq!(
        resolve(&two, &none()).unwrap_err().to_string(),
        "profile x.toml: read_percent cannot be had in a replay: netbench says what is done; drop one \
         of them"
    );
    assert_eq!(
        refusal("netbench = \"oplocks\"", &none()),
        "profile x.toml: netbench means nothing without a generator of its trace: give that as \
         well, or drop it"
    );
}

#[test]
fn a_capture_is_replayed_once_unless_a_window_is_asked_for() {
    let loops = |profile: &Profile, work: WorkSpec| {
        let options = RunOptions {
            work,
            ..RunOptions::default()
        };
        let plan = resolve(profile, &options).unwrap();
        (
            plan.only().workload.replay().unwrap().loops,
            plan.work.duration,
        )
    };
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let none = WorkSpec::default;
    let capture = captured(2);
    let hour = Duration::from_secs(3600);
    assert_eq!(loops(&capture, none()), (Some(1), hour));
    let thrice = WorkSpec {
        loops: Some(3),
        ..none()
    };
    assert_eq!(loops(&capture, thrice), (Some(3), hour));
    for window in [
        WorkSpec {
            duration: seconds(3),
            ..none()
        },
        WorkSpec {
            ramp_up: seconds(2),
            ..none()
        },
        WorkSpec {
            until_steady: seconds(60),
            ..none()
        },
    ] {
        assert_eq!(loops(&capture, window), (None, Duration::from_secs(3)));
    }
    assert_eq!(loops(&recorded(), none()), (None, Duration::from_secs(3)));
}
