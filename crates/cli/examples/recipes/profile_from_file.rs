//! A profile from a file.

use std::fs;
use std::path::Path;
use std::time::Duration;

use smbench::model::sessions::Mode;
use smbench::{Error, Run};

const PROFILE: &str = r#"
name = "thumbnails"
read_percent = 90

[files]
count = 4
size = "1MiB"

[[sizes]]
size = "16KiB"
weight = 100

[run]
clients = "2"
"#;

pub fn profile_from_file(url: &str, password: &str, folder: &Path) -> Result<(), Error> {
    let path = folder.join("thumbnails.toml");
    fs::write(&path, PROFILE).expect("the folder is writable");
    // Options of the program have priority over those of the file.
    let run = Run::on(url)
        .password(password)
        .profile(&path.to_string_lossy())
        .sign(Mode::Required)
        .duration(Duration::from_millis(500));
    let finished = run.execute()?;
    assert_eq!(finished.doc.plan.profile, "thumbnails");
    assert_eq!(finished.doc.load_points[0].clients, 2);

    // An error names the part that is wrong, and has the reason as its source.
    match Run::on(url).profile("thumbnail").plan() {
        Err(Error::Profile(reason)) => println!("{reason}"),
        other => panic!("there is no such profile: {other:?}"),
    }
    Ok(())
}
