//! A tree on several hosts: each client of each host walks all of it, whether or not it was
//! prepared.

use smbench_engine::prepared::TreeServer;

use super::*;

const DIRECTORIES: u64 = 30;
const FILES: u64 = 400;
const CLIENTS: u64 = 4;
const LOOPS: u64 = 2;

/// Walks of the tree, and the entries that all of them count.
fn walked(point: &LoadPointRecord) -> [u64; 2] {
    let walk = point.ops.window(OpKind::Walk);
    [walk.count(), walk.entries]
}

/// Returns what so many walks count: directories, and the entries in them.
fn of_walks(walks: u64) -> [u64; 2] {
    [DIRECTORIES, FILES + DIRECTORIES - 1].map(|each| each * walks)
}

fn tree_plan(server: &EmbeddedServer) -> Plan {
    let text = format!(
        "[tree]\ndirectories = {DIRECTORIES}\nfiles = {FILES}\nsizes = \"100B\"\n\
         names = {{ case = \"mixed\", utf8 = 20 }}\n\
         [[operations]]\nop = \"walk\"\nweight = 100\n"
    );
    let options = RunOptions {
        work: WorkSpec {
            clients: Some(CLIENTS.to_string().parse().unwrap()),
            loops: Some(LOOPS as u32),
            outstanding: Some(4),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    plan_of(&profile::parse("walk", &text).unwrap(), &options, server)
}

/// Does something with the tree of a plan on the share.
fn with_tree<T>(plan: &Plan, work: impl FnOnce(TreeServer<'_>) -> T) -> T {
    work(TreeServer {
        target: &plan.sessions.target,
        options: plan.sessions.options,
        limits: Limits::default(),
        sessions: 2,
        cancel: &Cancel::default(),
        progress: &mut |_| {},
    })
}

#[test]
fn two_hosts_count_the_entries_of_a_tree_as_often_as_they_walk_it() {
    let server = server();
    let plan = tree_plan(&server);
    let tree = plan.only().workload.used_tree().unwrap();
    for is_prepared in [false, true] {
        if is_prepared {
            with_tree(&plan, |server| server.prepare(tree).unwrap());
        }
        let before = server.memory().paths();
        let (first, others) = start(2, std::slice::from_ref(&plan));
        let together = run_first(&first, &plan, &Cancel::default()).unwrap();
        drop(first);
        let point = only_point(&together);
        assert_eq!(point.invalid, None);
        assert_eq!(walked(point), of_walks(CLIENTS * LOOPS));
        let carried: Vec<_> = point.hosts.iter().map(|host| host.clients).collect();
        assert_eq!(carried, [2, 2]);
        for (ended, records) in others.join() {
            ended.unwrap();
            let part = &records[0].load_points[0];
            assert_eq!(walked(part), of_walks(CLIENTS / 2 * LOOPS));
        }
        assert_eq!(server.memory().paths(), before);
    }
    let checked = with_tree(&plan, |server| server.check().unwrap());
    assert_eq!(checked.difference, None);
    let found = [checked.directories, checked.files].map(u64::from);
    assert_eq!(found, [DIRECTORIES, FILES]);
}
