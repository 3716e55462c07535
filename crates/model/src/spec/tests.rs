//! Which texts parse, and where errors place a mistake.

use std::time::Duration;

use smbench_protocol::SigningAlgorithm;

use super::*;
use crate::contents::Verify;
use crate::generator::{DriverKind, Pinning};
use crate::load::{Ramp, Spacing};
use crate::sessions::{HandleDurability, Mode};
use crate::workload::Timing;

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn a_full_profile_is_read() {
    let spec = Spec::parse(
        r#"
        name = "x"
        description = "y"
        read_percent = 80
        split = "clients"
        access = "sequential"
        flush_every_writes = 100
        unit = "JOB"
        unit_limits = { mean_percent = 90 }
        [files]
        scope = "shared"
        count = 3
        size = "2MiB"
        [[sizes]]
        size = 512
        weight = 12.5
        [[sizes]]
        size = "4KiB"
        weight = 87.5
        [run]
        clients = "1,4..8:4"
        units = "1..2"
        outstanding = 2
        rate = "50/client"
        arrivals = "poisson"
        think_time = "10ms"
        think_distribution = "fixed"
        timing = "recorded"
        loops = 5
        ramp = "linear"
        duration = "3s"
        until_steady = "1m"
        ramp_up = "1s"
        ramp_down = "500ms"
        repeat = 2
        seed = 7
        threads = 4
        pin_threads = true
        setup_rate = 500
        driver = "native"
        oplock = "lease-rh"
        dialect = "3.1.1"
        sign = "required"
        signing_algorithm = "aes-128-gmac"
        encrypt = "off"
        cipher = "aes-256-gcm,aes-128-ccm"
        sessions_per_connection = 4
        connections_per_session = 2
        credits = 64
        source_ip = "127.0.0.1-127.0.0.4"
        reconnect = "30s"
        nodes = "127.0.0.1,[::1]:446"
        handles = "durable"
        churn = "5%/min"
        vanish = "10%:reset"
        verify = true
        until_quiet = "1m"
        "#,
    )
    .unwrap();
    let expected = Spec {
        name: Some("x".into()),
        description: Some("y".into()),
        read_percent: Some(80.0),
        split: Some(Split::Clients),
        access: Some(Access::Sequential),
        flush_every_writes: Some(100),
        tree: None,
        files: FilesSpec {
            scope: Some(Scope::Shared),
            count: Some(3),
            size: Some(Size(2 << 20)),
        },
        operations: Vec::new(),
        pattern: Vec::new(),
        netbench: None,
        population: Vec::new(),
        unit: Some("JOB".into()),
        unit_limits: Some(UnitLimits {
            mean_percent: 90.0,
            ..UnitLimits::default()
        }),
        stream: None,
        sizes: vec![
            SizeSpec {
                size: Size(512),
                weight: 12.5,
            },
            SizeSpec {
                size: Size(4096),
                weight: 87.5,
            },
        ],
        run: RunOptions {
            work: WorkSpec {
                clients: Some("1,4,8".parse().unwrap()),
                units: Some("1,2".parse().unwrap()),
                outstanding: Some(2),
                rate: Some("50/client".parse().unwrap()),
                arrivals: Some(Spacing::Exponential),
                think_time: Some(Duration::from_millis(10)),
                think_distribution: Some(Spacing::Fixed),
                timing: Some(Timing::Recorded),
                speed: None,
                loops: Some(5),
                stages: None,
                soak: None,
                ramp: Some(Ramp::Linear),
                duration: Some(Duration::from_secs(3)),
                until_steady: Some(Duration::from_secs(60)),
                ramp_up: Some(Duration::from_secs(1)),
                ramp_down: Some(Duration::from_millis(500)),
                repeat: Some(2),
                seed: Some(7),
                verify: Some(Verify::ReadBack),
                file_size: None,
                event: None,
            },
            generator: GeneratorSpec {
                threads: Some(4),
                pin_threads: Some(Pinning::Pinned),
                setup_rate: Some(500),
                driver: Some(DriverKind::Native),
                server_cpu: None,
                tcp: None,
                server_counters: None,
                client_range: None,
                begin_at: None,
                until_quiet: Some(Duration::from_secs(60)),
                before_point: None,
                after_point: None,
                hook_limit: None,
            },
            sessions: SessionsSpec {
                oplock: Some("lease-rh".parse().unwrap()),
                dialect: Some("3.1.1".parse().unwrap()),
                sign: Some(Mode::Required),
                signing_algorithm: Some(SigningAlgorithm::AesGmac),
                encrypt: Some(Mode::Off),
                cipher: Some("aes-256-gcm,aes-128-ccm".parse().unwrap()),
                sessions_per_connection: Some(4),
                connections_per_session: Some(2),
                credits: Some(64),
                source_ip: Some("127.0.0.1-127.0.0.4".parse().unwrap()),
                reconnect: Some(Duration::from_secs(30)),
                nodes: Some("127.0.0.1,[::1]:446".parse().unwrap()),
                handles: Some(HandleDurability::Durable),
                churn: Some("5%/min".parse().unwrap()),
                vanish: Some("10%:reset".parse().unwrap()),
            },
        },
    };
    assert_eq!(spec, expected);
    assert_eq!(Spec::parse("").unwrap(), Spec::default());
}

#[test]
fn mistakes_are_placed_and_fit_a_line() {
    for (text, message) in [
        (
            "read_percent = ",
            "line 1, column 16: string values must be quoted, expected literal string",
        ),
        (
            "name = \"x\"\n\nread_percnt = 8",
            "line 3, column 1: unknown field `read_percnt`, expected one of `name`, `description`, `read_percent`, `split`, `access`, `flush_every_writes`, `files`, `tree`, `sizes`, `operations`, `pattern`, `netbench`, `population`, `unit`, `unit_limits`, `stream`, `run`",
        ),
        (
            "# ä\nname = 3",
            "line 2, column 8: invalid type: integer `3`, expected a string",
        ),
        (
            "read_percent = \"ä\" x",
            "line 1, column 20: unexpected key or value, expected newline, `#`",
        ),
        (
            "[[sizes]]\nsize = \"4Kx\"\nweight = 1",
            "line 2, column 8: `4Kx` is not a size: use bytes or a unit, for example 4096, 4KiB or 10MiB",
        ),
        (
            "[[sizes]]\nsize = -1\nweight = 1",
            "line 2, column 8: invalid value: integer `-1`, expected a size such as 4096 or \"4KiB\"",
        ),
        (
            "[[sizes]]\nsize = 1",
            "line 1, column 1: missing field `weight`",
        ),
        (
            "access = \"rnd\"",
            "line 1, column 10: unknown variant `rnd`, expected `random` or `sequential`",
        ),
        (
            "[run]\n  clients = \"0\"",
            "line 2, column 13: `0` in the client list is zero clients: the minimum is 1",
        ),
        (
            "[run]\nduration = \"3\"",
            "line 2, column 12: `3` has no unit: write 3s for seconds, or us, ms, m or h",
        ),
        (
            "[run]\ndialect = \"9\"",
            "line 2, column 11: expected one of cifs (SMB1), 2.0.2, 2.1, 3.0, 3.0.2, 3.1.1, or a range such as 2.1..3.0.2",
        ),
        (
            "[run]\nfile_size = 1",
            "line 2, column 1: unknown field `file_size`, expected one of `clients`, `units`, `outstanding`, `rate`, `arrivals`, `think_time`, \
             `think_distribution`, `timing`, `speed`, `loops`, `stages`, `soak`, `ramp`, `duration`, `until_steady`, `ramp_up`, `ramp_down`, `repeat`, `seed`, `verify`, `threads`, `pin_threads`, `setup_rate`, `driver`, `until_quiet`, `oplock`, `dialect`, `sign`, `signing_algorithm`, `encrypt`, `cipher`, `sessions_per_connection`, `connections_per_session`, `credits`, `source_ip`, `reconnect`, `nodes`, `handles`, `churn`, `vanish`",
        ),
    ] {
        let error = Spec::parse(text).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn options_go_before_their_fallback() {
    let options = RunOptions {
        work: WorkSpec {
            outstanding: Some(4),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let fallback = RunOptions {
        work: WorkSpec {
            outstanding: Some(1),
            seed: Some(9),
            file_size: Some(Size(4096)),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let merged = options.or(fallback);
    assert_eq!(
        (
            merged.work.outstanding,
            merged.work.seed,
            merged.work.file_size
        ),
        (Some(4), Some(9), Some(Size(4096)))
    );
}

#[test]
fn values_without_their_type_are_refused_in_words() {
    for (line, reason) in [
        (
            "outstanding = \"5k\"",
            "invalid type: string \"5k\", expected a whole number of 0 or more without quotes and \
             unit, such as 5000",
        ),
        (
            "credits = 99999999",
            "invalid value: integer `99999999`, expected a whole number of 0 or more without \
             quotes and unit, such as 5000",
        ),
        (
            "duration = 90",
            "invalid type: integer `90`, expected a duration in quotes with its unit, such as \
             \"30s\"",
        ),
        (
            "clients = 1.5",
            "invalid type: floating point `1.5`, expected a client list in quotes, such as \
             \"1,4..60:4\"",
        ),
    ] {
        let error = Spec::parse(&format!("[run]\n{line}")).unwrap_err();
        assert_eq!(error.message, reason);
    }
    let error = Spec::parse("read_percent = \"50%\"").unwrap_err();
    assert_eq!(
        error.message,
        "invalid type: string \"50%\", expected a number without quotes and unit, such as 50"
    );
}

#[test]
fn one_number_of_clients_needs_no_quotes() {
    for (line, clients) in [("clients = 4", 4), ("clients = \"1k\"", 1000)] {
        let spec = Spec::parse(&format!("[run]\n{line}")).unwrap();
        assert_eq!(spec.run.work.clients.unwrap().as_slice(), [clients]);
    }
}
