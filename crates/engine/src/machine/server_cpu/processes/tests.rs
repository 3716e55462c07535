use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::*;
use crate::machine::clock;

#[test]
fn the_process_that_listens_is_found_and_its_time_grows() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let listeners = Listeners::of(address).unwrap();
    let own = i32::try_from(std::process::id()).unwrap();
    assert_eq!(listeners.pids, BTreeSet::from([own]));
    let before = listeners.cpu_times().unwrap();
    // A few ticks of work, with a generous limit on how long they take.
    let begin = clock::now();
    let used = || listeners.cpu_times().unwrap().since(&before).unwrap();
    while used() < Duration::from_millis(30) {
        assert!(
            clock::now().since(begin).0 < 60_000_000_000,
            "no CPU time in a minute"
        );
    }
    assert!(cores().unwrap() >= 1);
    drop(socket);
    let gone = Listeners::of(address).unwrap_err();
    assert!(gone.contains("server_metrics"), "{gone}");
}

/// `smbench lab embedded -- smbench run` measures the process that has started it.
#[test]
fn the_generator_is_no_part_of_a_server_that_started_it() {
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let all = all_kin().unwrap();
    let parent = all[&own_pid()].parent;
    let of = |root| family(&all, &BTreeSet::from([root])).collect::<HashSet<_>>();
    let (of_parent, of_own) = (of(parent), of(own_pid()));
    child.kill().unwrap();
    child.wait().unwrap();
    let started = i32::try_from(child.id()).unwrap();
    assert!(of_parent.contains(&parent));
    assert!(!of_parent.contains(&own_pid()) && !of_parent.contains(&started));
    // Other tests of this process start some as well.
    assert!(of_own.contains(&own_pid()) && of_own.contains(&started));
}

/// A process that cannot be read makes the sum unknown. One that has ended does not.
#[test]
fn the_sum_of_a_part_is_not_that_of_all() {
    let [mut first, mut second] =
        [(); 2].map(|()| Command::new("sleep").arg("60").spawn().unwrap());
    let pids = [&first, &second].map(|child| i32::try_from(child.id()).unwrap());
    let listeners = Listeners {
        names: vec!["sleep".to_owned()],
        pids: pids.into(),
    };
    let of_first = |pid: i32| (pid == pids[0]).then_some(5);
    let with_both = (listeners.sum(|_| Some(5)), listeners.sum(of_first));
    second.kill().unwrap();
    while !has_ended(pids[1]) {
        thread::yield_now();
    }
    let with_zombie = listeners.sum(of_first);
    second.wait().unwrap();
    let with_first = listeners.sum(of_first);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(with_both, (Some(10), None));
    assert_eq!((with_zombie, with_first), (Some(5), Some(5)));
}

/// Each node of a server has processes of its own, and counters of its own. An address at which
/// nothing listens has none.
#[test]
fn the_processes_of_all_addresses_are_found() {
    let sockets = ["127.0.0.1:0", "127.0.0.2:0"].map(|at| TcpListener::bind(at).unwrap());
    let servers = sockets
        .each_ref()
        .map(|socket| socket.local_addr().unwrap());
    let nobody = SocketAddr::new([127, 0, 0, 3].into(), servers[0].port());
    let mut children = sockets.map(|socket| {
        let mut child = Command::new("sleep");
        child
            .arg("60")
            .stdin(OwnedFd::from(socket))
            .spawn()
            .unwrap()
    });
    let found = Listeners::of_all(&[nobody, servers[0], servers[1]]);
    let first = Listeners::of_all(&[servers[0], nobody]);
    let none = Listeners::of_all(&[nobody]);
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let pids = children.map(|child| i32::try_from(child.id()).unwrap());
    let (found, first) = (found.unwrap(), first.unwrap());
    assert_eq!(found.pids, BTreeSet::from(pids));
    let [one, two] = pids;
    assert_eq!(
        found.families(),
        format!("sleep (process {one}) and its children, sleep (process {two}) and its children")
    );
    assert!(found.only_pid().is_err());
    assert_eq!(first.only_pid(), Ok(one));
    assert_eq!(none, Listeners::of(nobody));
    assert!(
        Listeners::of_all(&[])
            .unwrap_err()
            .contains("another machine")
    );
}

/// The forwarder shares the socket with a process of a lower number, and the
/// kernel shortens its name.
#[test]
fn one_that_passes_connections_on_is_found_wherever_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    for (name, known_as) in [
        ("pasta.avx2", "pasta.avx2"),
        ("systemd", "systemd"),
        ("systemd-socket-proxyd", "systemd-socket-"),
    ] {
        let program = folder.path().join(name);
        symlink("/bin/sleep", &program).unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = OwnedFd::from(socket.try_clone().unwrap());
        let mut other = Command::new(&program)
            .arg("60")
            .stdin(shared)
            .spawn()
            .unwrap();
        let found = Listeners::of(socket.local_addr().unwrap());
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(
            found,
            Err(format!(
                "{known_as} only passes connections on to the server; give server_metrics"
            ))
        );
    }
    assert!(FORWARDERS.iter().all(|name| name.len() <= 15));
}
