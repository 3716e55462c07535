//! A plan in code.

use std::time::Duration;

use smbench::{Error, Run};

pub fn plan_in_code(url: &str, password: &str) -> Result<(), Error> {
    let run = Run::on(url)
        .password(password)
        .profile("file-server")
        .clients([1, 8])
        .duration(Duration::from_millis(500))
        .label("nightly");
    let finished = run.execute()?;
    for point in &finished.doc.load_points {
        println!(
            "{} clients: {:.0} operations/s",
            point.clients, point.ops_per_s
        );
    }
    if let Some(reason) = finished.why_invalid() {
        println!("not for quoting: {reason}");
    }
    Ok(())
}
