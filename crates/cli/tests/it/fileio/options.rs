//! Options that are refused, and options that are accepted without an effect.

use crate::support::{Lab, Place, embedded};

#[test]
fn what_cannot_be_is_reported_before_anything_is_written() {
    let place = Place::new();
    let server = embedded();
    let url = server.url();
    let run = |more: &[&str]| {
        let mut args = vec!["fileio", "run", "--target", &url, "--out=results"];
        args.extend(more);
        place.smbench_as(server.password(), &args)
    };
    let mode = "--file-test-mode=rndrw";
    for (options, parts) in [
        (
            &[][..],
            &["--file-test-mode is missing: give seqwr, seqrewr"][..],
        ),
        (
            &[mode, "--file-num=128", "--file-total-size=1M"],
            &[
                "--file-total-size: 1 MiB in 128 files is 8 KiB in each, less than a block of 16 KiB",
            ],
        ),
        (
            &[mode, "--time=0"],
            &["--time: neither a time nor a number of events: the test would never end"],
        ),
        (&[mode, "--file-num=0"], &["--file-num: there are 0 files"]),
        (
            &[mode, "--time=31d"],
            &["--time: time is ", ": the longest is 30 days"],
        ),
        (
            &[mode, "--warmup-time=31d"],
            &["--warmup-time: warmup-time is ", ": the longest is 30 days"],
        ),
        (
            &[mode, "--file-block-size=0"],
            &["--file-block-size: requests of no bytes"],
        ),
        (
            &[mode, "--file-block-size=2G", "--file-total-size=256G"],
            &["--file-block-size: requests of 2 GiB are too large: at most 1 GiB"],
        ),
        (&[mode, "--file-rw-ratio=-1"], &["--file-rw-ratio"]),
        (
            &[mode, "--rand-type=pareto", "--rand-pareto-h=2"],
            &["--rand-pareto-h: give more than 0 and less than 1"],
        ),
        (&[mode, "--threads=0"], &["--threads"]),
        (
            &[mode, "--percentile=101"],
            &["expected percentiles, 0 to 100"],
        ),
        (
            &[mode, "--file-extra-flags=direct,dsync"],
            &["--file-extra-flags", "use --file-fsync-all=on"],
        ),
        (
            &[mode, "--file-io-mode=posix"],
            &["--file-io-mode", "sync, async, mmap"],
        ),
    ] {
        let said = run(options);
        said.failed_with(2, parts);
    }
    for command in ["prepare", "cleanup"] {
        let said = place.smbench(&["fileio", command]);
        said.failed_with(2, &[command, "needs the URL of a server"]);
    }
    assert!(!place.path("results").exists());
    assert!(
        server.memory().paths().is_empty(),
        "{:?}",
        server.memory().paths()
    );
}

#[test]
fn what_only_the_server_can_refuse_is_reported_and_large_blocks_are_split() {
    let place = Place::new();
    let small = Lab::start(&place, &["embedded", "--capacity=8MiB"]);
    let fileio = |command: &str, options: &[&str]| {
        let mut args = vec!["fileio", command, "--target", &small.url, "--out=results"];
        args.extend(["--file-test-mode=seqwr", "--time=1"]);
        args.extend(options);
        place.smbench_as(&small.password, &args)
    };
    for command in ["prepare", "run"] {
        fileio(command, &["--file-total-size=64M"]).failed_with(
            3,
            &[
                "8 MiB free, but the files need 64 MiB more",
                "--file-total-size",
            ],
        );
    }
    // A block that is larger than a request is split. In dialect 2.0.2 that is 64 KiB.
    let split = [
        "--file-total-size=4M",
        "--file-num=2",
        "--file-block-size=128K",
        "--dialect=2.0.2",
    ];
    for command in ["prepare", "run"] {
        let said = fileio(command, &split);
        assert_eq!(said.code(), Some(0), "{said:?}");
    }
    let said = place.smbench_as(
        &small.password,
        &["fileio", "cleanup", "--target", &small.url],
    );
    assert_eq!(said.code(), Some(0), "{said:?}");
}

/// Options of sysbench that have no meaning in SMB. Their defaults give no message,
/// other values do.
#[test]
fn options_of_sysbench_without_an_effect_are_reported() {
    let place = Place::new();
    for (options, expected) in [
        (
            [
                "--file-io-mode=sync",
                "--file-extra-flags=",
                "--file-fsync-mode=fsync",
            ],
            0,
        ),
        (
            [
                "--file-io-mode=async",
                "--file-extra-flags=direct",
                "--file-fsync-mode=fdatasync",
            ],
            3,
        ),
    ] {
        let mut args = vec!["fileio", "run", "--file-num=1", "--file-total-size=64K"];
        args.extend(["--file-test-mode=rndrd", "--events=4"]);
        args.extend(options);
        let said = place.smbench(&args);
        assert_eq!(said.code(), Some(0), "{said:?}");
        let lines = said.stderr.lines();
        let found: Vec<_> = lines
            .filter(|line| line.contains(" changes nothing: "))
            .collect();
        assert_eq!(found.len(), expected, "{said:?}");
        for (line, option) in found.iter().zip(options) {
            assert!(line.contains(option), "{said:?}");
        }
    }
}
