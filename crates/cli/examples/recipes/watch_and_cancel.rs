//! Watch a run, and cancel it.

use std::time::Duration;

use smbench::{Cancel, Error, Run, RunEvent, each_event};

pub fn watch_and_cancel(url: &str, password: &str) -> Result<(), Error> {
    let cancel = Cancel::default();
    let stop = cancel.clone();
    let watch = each_event(move |event| {
        // An interval is a second of the measured window.
        if let RunEvent::Interval { index, all, .. } = event {
            println!(
                "second {index}: {} operations, p99 {} ns",
                all.count, all.p99
            );
            stop.cancel();
        }
    });
    let run = Run::on(url)
        .password(password)
        .clients([4])
        .duration(Duration::from_secs(600))
        .observer(watch)
        .cancel(cancel);
    // A cancelled run removes its files and keeps what it has measured.
    let finished = run.execute()?;
    assert!(finished.doc.load_points[0].window_s < 600.0);
    assert_eq!(
        finished.why_invalid().as_deref(),
        Some("the run was cancelled")
    );
    Ok(())
}
