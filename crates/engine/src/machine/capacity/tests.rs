use super::*;

const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt
   0: 0100007F:9C40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100007F:9C41 0100007F:01BD 01 00000000:00000000 00:00000000 00000000     0        0 2
   2: 0100007F:9C42 0100007F:01BD 06 00000000:00000000 00:00000000 00000000     0        0 3
   3: 0100007F:9C43 0100007F:01BE 01 00000000:00000000 00:00000000 00000000     0        0 4
   4: 0200007F:9C44 0100007F:01BD 01 00000000:00000000 00:00000000 00000000     0        0 5
   5: 0100007F:01BD 0100007F:9C41 01 00000000:00000000 00:00000000 00000000     0        0 6
";

fn ports(reuse: Reuse) -> Ports {
    Ports {
        range: port_range("40000 40009\n").unwrap(),
        reserved: port_list("80,40008-40010\n"),
        sockets: parse_sockets(TCP).collect(),
        reuse,
    }
}

fn route(source: &str, server: &str) -> Route {
    Route {
        source: source.parse().unwrap(),
        server: server.parse().unwrap(),
        of: 1,
    }
}

#[test]
fn only_what_goes_the_same_way_takes_a_port() {
    // Of the ten ports, two are reserved and one has a listening socket.
    for (source, server, reuse, free) in [
        ("127.0.0.1", "127.0.0.1:445", Reuse::Never, 5),
        ("127.0.0.1", "127.0.0.1:445", Reuse::OnLoopback, 6),
        ("127.0.0.1", "127.0.0.1:446", Reuse::Never, 6),
        ("127.0.0.2", "127.0.0.1:445", Reuse::Never, 6),
        ("127.0.0.3", "127.0.0.1:445", Reuse::Always, 7),
    ] {
        let route = route(source, server);
        assert_eq!(
            ports(reuse).free(&route),
            free,
            "{source} {server} {reuse:?}"
        );
    }
    assert_eq!(ports(Reuse::Never).range(), 10);
}

#[test]
fn ports_of_ended_connections_are_kept_where_the_system_does_so() {
    let remote = route("192.0.2.1", "192.0.2.9:445");
    let local = route("127.0.0.1", "127.0.0.1:445");
    for (reuse, here, there) in [
        (Reuse::Never, PortReuse::AWhile, PortReuse::AWhile),
        (Reuse::OnLoopback, PortReuse::No, PortReuse::AWhile),
        (Reuse::Always, PortReuse::No, PortReuse::No),
    ] {
        assert_eq!(ports(reuse).kept(&local), here, "{reuse:?}");
        assert_eq!(ports(reuse).kept(&remote), there, "{reuse:?}");
    }
}

#[test]
fn addresses_are_words_in_memory() {
    for (text, expected) in [
        ("0100007F:01BD", "127.0.0.1:445"),
        ("00000000000000000000000001000000:01BD", "[::1]:445"),
        ("0000000000000000FFFF00000100007F:0050", "127.0.0.1:80"),
    ] {
        assert_eq!(address(text), expected.parse().ok(), "{text}");
    }
    for text in [
        "",
        ":",
        "0100007F",
        "01:01BD",
        "0100007G:01BD",
        "é0100007:1",
    ] {
        assert_eq!(address(text), None, "{text}");
    }
}

#[test]
fn numbers_are_found_in_their_files() {
    let meminfo = "MemTotal:  100 kB\nMemFree:  7 kB\nMemAvailable:     12 kB\n";
    assert_eq!(available(meminfo), Some(12 * 1024));
    assert_eq!(available("MemTotal: 1 kB\n"), None);
    assert_eq!(threads_running("0.20 0.18 0.12 1/80 11206\n"), Some(80));
    assert_eq!(threads_running(""), None);
    assert_eq!(port_range("60999 32768"), None);
    assert_eq!(port_list("\n"), HashSet::new());
}

#[test]
fn every_group_up_to_the_root_is_looked_at() {
    let folders = |text: &str| {
        let groups = parse_groups(text).into_iter();
        let folders: Vec<_> = groups
            .map(|group| group.folder.display().to_string())
            .collect();
        folders
    };
    assert_eq!(
        folders("0::/a.slice/b\n"),
        [
            "/sys/fs/cgroup/a.slice/b",
            "/sys/fs/cgroup/a.slice",
            "/sys/fs/cgroup/"
        ]
    );
    assert_eq!(
        folders("4:memory:/x\n8:pids:/\n"),
        [
            "/sys/fs/cgroup/memory/x",
            "/sys/fs/cgroup/memory/",
            "/sys/fs/cgroup/pids/"
        ]
    );
}

#[test]
fn this_machine_has_something_left() {
    assert!(memory_left().iter().all(|left| left.amount > 0));
    assert!(!memory_left().is_empty());
    assert!(threads_left().iter().all(|left| left.amount > 0));
    let ports = Ports::read().unwrap();
    assert!(ports.free(&route("127.0.0.1", "127.0.0.1:1")) > 0);
}
