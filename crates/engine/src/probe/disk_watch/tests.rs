use std::net::{TcpListener, TcpStream};

use super::*;

#[test]
fn the_other_end_of_a_connection_and_its_open_files_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inner").join("file");
    fs::create_dir(folder.path().join("inner")).unwrap();
    let _file = File::create(&path).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    let socket = socket_of(theirs.local_addr().unwrap(), ours.local_addr().unwrap());
    let process = owner(&socket.unwrap()).unwrap();
    let own = PathBuf::from(format!("/proc/{}", std::process::id()));
    assert_eq!(process, own);
    let descriptor = open_file(&process, "inner\\file").unwrap();
    assert_eq!(
        fs::read_link(&descriptor).unwrap(),
        path.canonicalize().unwrap()
    );
    // A server with `default case = upper` has another spelling than the client.
    let upper = open_file(&process, "INNER\\File");
    assert_eq!(upper.as_ref(), Some(&descriptor));
    assert_eq!(open_file(&process, "inner\\fil"), None);
    assert_eq!(storage_of(&process, &descriptor), Storage::of(&path));
    let nobody = "127.0.0.1:1".parse().unwrap();
    assert_eq!(socket_of(nobody, nobody), None);
}

#[test]
fn a_finding_needs_both_controls() {
    let sightings = |seen| Sightings { looks: 32, seen };
    assert!(sightings(32).are_all() && !sightings(31).are_all());
    assert!(sightings(8).are_few() && !sightings(9).are_few());
    let none = Sightings::default();
    assert!(!none.are_all() && !none.are_few());
    let mut counted = Sightings::default();
    for (before, after) in [(Some(1), Some(2)), (Some(2), Some(2)), (None, Some(3))] {
        counted.add(before, after);
    }
    assert_eq!(counted, Sightings { looks: 3, seen: 1 });
}

#[test]
fn what_was_seen_decides_and_is_reported() {
    use FlushPolicy::{Honours, Ignores, Unknown};
    let sightings = |looks, seen| Sightings { looks, seen };
    // Each row: flushes seen in 32 FLUSHes, in 32 pauses, and in 8 syncs if a
    // sync was possible.
    for (flushes, pauses, syncs, policy, evidence) in [
        (32, 0, Some(8), Honours, "before each of 32 FLUSHes was"),
        (32, 8, Some(0), Honours, "before each of 32 FLUSHes was"),
        (32, 8, None, Honours, "before each of 32 FLUSHes was"),
        (0, 0, Some(8), Ignores, "0 of 32 FLUSHes, but by each"),
        (8, 8, Some(8), Ignores, "8 of 32 FLUSHes, but by each"),
        (8, 0, None, Unknown, "could not be tried: no rights"),
        (0, 0, Some(7), Unknown, "an fsync does not always flush"),
        (0, 0, Some(0), Unknown, "an fsync does not always flush"),
        (31, 0, Some(8), Unknown, "31 of 32 FLUSHes, neither all"),
        (9, 8, Some(8), Unknown, "9 of 32 FLUSHes, neither all"),
        (32, 9, Some(8), Unknown, "9 of as many pauses: others use"),
        (20, 20, None, Unknown, "20 of as many pauses: others use"),
    ] {
        let tried = syncs.map(|seen| sightings(SYNCS, seen));
        let observed = |flushes| RequestsAndPauses {
            requests: sightings(32, flushes),
            pauses: sightings(32, pauses),
        };
        let syncs = tried.ok_or_else(|| std::io::Error::other("no rights"));
        let found = judge(&"sda", observed(0), observed(flushes), &syncs).flush;
        assert_eq!(found.policy, policy, "{found:?}");
        assert!(found.evidence.contains(evidence), "{found:?}");
        assert!(found.evidence.contains("the cache of sda"), "{found:?}");
        // The same observations say as much of WRITEs.
        let found = judge(&"sda", observed(flushes), observed(0), &syncs).write;
        let expected = match policy {
            Honours => WritePolicy::Waits,
            Ignores => WritePolicy::Buffers,
            Unknown => WritePolicy::Unknown,
        };
        assert_eq!(found.policy, expected, "{found:?}");
        let evidence = evidence.replace("FLUSHes", "WRITEs");
        assert!(found.evidence.contains(&evidence), "{found:?}");
    }
    let nothing = Sightings::default();
    let found = judge(
        &"sda",
        RequestsAndPauses::default(),
        RequestsAndPauses::default(),
        &Ok(nothing),
    );
    assert_eq!(found.flush.policy, Unknown, "{found:?}");
    assert_eq!(found.write.policy, WritePolicy::Unknown, "{found:?}");
}

#[test]
fn a_flush_with_nothing_left_to_do_is_honoured() {
    let observed = |seen| RequestsAndPauses {
        requests: Sightings { looks: 32, seen },
        pauses: Sightings { looks: 32, seen: 0 },
    };
    let syncs = Ok(Sightings { looks: 8, seen: 8 });
    let found = judge(&"sda", observed(32), observed(0), &syncs);
    assert_eq!(found.write.policy, WritePolicy::Waits);
    assert_eq!(found.flush.policy, FlushPolicy::Honours, "{found:?}");
    let found = judge(&"sda", observed(0), observed(0), &syncs);
    assert_eq!(found.flush.policy, FlushPolicy::Ignores, "{found:?}");
}
