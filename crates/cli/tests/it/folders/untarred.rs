//! A copied tree beside what `smbclient` leaves when it extracts a tar file of the same names.

use super::*;

/// What `find` prints of files: path, size and time; and of directories.
const FILES: &str = "%P %s %T@\\n";

#[test]
fn copies_of_a_tree_are_what_smbclient_extracts_from_a_tar_file() {
    let Some(samba) = samba() else { return };
    let place = Place::new();
    profile(&place, &["\"copy_in\""]);
    let (share, here) = (samba.data_dir(), place.path(""));
    // The run removes its copy, so a command keeps its entries, and a tar file of them.
    let after = format!(
        "cd {}/smbench-*/copies/c00000 && find . -mindepth 1 -type f -printf '{FILES}' > {}/files && \
         find . -mindepth 1 -type d -printf '%P\\n' > {}/directories && tar -cf {}/all.tar *",
        text(&share),
        text(&here),
        text(&here),
        text(&here),
    );
    let hook = format!("--after-point={after}");
    let (said, _) = run(&place, &samba, &["-c1", "--loops=1", &hook]);
    said.succeeded();
    let lines = |name: &str| {
        let kept = fs::read_to_string(place.path(name)).unwrap();
        let mut lines: Vec<_> = kept.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let (files, directories) = (lines("files"), lines("directories"));
    assert_eq!((files.len(), directories.len()), (300, 11));
    smbclient(&samba, &["-Tx", text(&place.path("all.tar"))]);
    assert_eq!(find(&share, FILES, &["-type", "f"]), files);
    assert_eq!(find(&share, "%P\\n", &["-type", "d"]), directories);
}
