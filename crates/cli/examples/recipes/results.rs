//! Record, JSON and table.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use smbench::report::{render, write_csv};
use smbench::{Run, RunDoc};

pub fn results(url: &str, password: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    let run = Run::on(url)
        .password(password)
        .profile("read-4k")
        .clients([2])
        .duration(Duration::from_millis(500));
    let finished = run.execute()?;

    // The record has the whole histograms of each load point.
    let all = finished.record.load_points[0].ops.window_all();
    println!("p99.99 {} ns", all.latency().value_at_quantile(0.9999));

    // The document is what the command writes as well. It has no password.
    let path = folder.join("nightly.json");
    finished.doc.save(&path)?;
    let doc = RunDoc::load(&path)?;
    assert_eq!(doc, finished.doc);
    print!("{}", render(&doc));
    let mut csv = Vec::new();
    write_csv(&doc, &mut csv)?;
    assert!(csv.starts_with(b"clients,"));
    Ok(())
}
