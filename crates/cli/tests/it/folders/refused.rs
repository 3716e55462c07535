//! A directory that the user may not list: it is counted, and never left out in silence.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;

/// Starts a Samba whose user is not root, for whom permissions mean nothing.
fn samba_of_a_user() -> Option<ScratchSamba> {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    // Not nobody, whom Samba takes for the guest.
    let as_other = is_root.then(|| "force user = daemon".to_owned());
    let samba = ScratchSamba::or_skip(SambaOptions {
        extra_share: as_other.into_iter().collect(),
        ..SambaOptions::default()
    })?;
    allow(&samba.data_dir(), 0o777);
    Some(samba)
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_directory_without_permission_is_counted_and_named_by_walks_and_checks() {
    let Some(samba) = samba_of_a_user() else {
        return;
    };
    let place = Place::new();
    place.write("folders.toml", "");
    prepare(&place, &samba);
    let root = samba.data_dir().join("smbench-tree/tree");
    let folders = find(&root, "%P\n", &["-type", "d"]);
    // One without directories in it.
    let is_leaf = |folder: &&String| {
        let inner = format!("{folder}/");
        folders.iter().all(|other| !other.starts_with(&inner))
    };
    let closed = folders.iter().find(is_leaf).unwrap();
    let (all, hidden) = (
        find(&root, "%P\n", &[]).len() as u64,
        find(&root.join(closed), "%P\n", &[]).len() as u64,
    );
    assert!(hidden > 0);
    allow(&root.join(closed), 0);
    for op in ["walk", "list"] {
        profile(&place, &[&format!("\"{op}\"")]);
        let text = fs::read_to_string(place.path("folders.toml")).unwrap();
        let in_turn = text.replacen("[tree]", "access = \"sequential\"\n[tree]", 1);
        place.write("folders.toml", &in_turn);
        let (said, point) = run(&place, &samba, &["-c1", "--loops=1"]);
        assert_eq!(said.code(), Some(4), "{said:?}");
        assert!(said.stdout.contains("STATUS_ACCESS_DENIED"), "{said:?}");
        assert_eq!(number(&point, op, "errors"), 1);
        assert_eq!(number(&point, op, "count"), 11);
        assert_eq!(number(&point, op, "entries"), all - hidden);
        if op == "walk" {
            let path = format!("smbench-tree\\tree\\{}", closed.replace('/', "\\"));
            let named = &point["refused_directories"];
            assert_eq!(named.as_array().map(Vec::len), Some(1), "{said:?}");
            assert_eq!(named[0]["path"], path);
            assert_eq!(named[0]["status"], "STATUS_ACCESS_DENIED");
            assert!(said.stdout.contains(&path), "{said:?}");
        }
    }
    let args = ["tree", "check", &samba.url()];
    let said = place.smbench_as(samba.password(), &args);
    let name = closed.replace('/', "\\");
    said.failed_with(3, &[&name, "the user may not read or write there"]);
    allow(&root.join(closed), 0o755);
    place.smbench_as(samba.password(), &args).succeeded();
}
