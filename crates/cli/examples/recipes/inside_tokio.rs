//! Inside tokio.

use std::time::Duration;

use smbench::{Error, Run, RunEvent, events};

#[tokio::main(flavor = "current_thread")]
pub async fn inside_tokio(url: &str, password: &str) -> Result<(), Error> {
    let (observer, mut told) = events(64);
    let run = Run::on(url)
        .password(password)
        .clients([4])
        .duration(Duration::from_millis(1500))
        .observer(observer);
    // The run has a thread of its own. Dropping the future cancels it.
    let finished = run.start();
    let watch = async {
        let mut points = 0;
        // The channel closes when the run has ended.
        while let Some(event) = told.recv().await {
            match event {
                RunEvent::Interval { index, all, .. } => {
                    println!("second {index}: {} operations", all.count);
                }
                RunEvent::LoadPointEnded(_) => points += 1,
                _ => {}
            }
        }
        points
    };
    let (finished, points) = tokio::join!(finished, watch);
    assert_eq!(finished?.doc.load_points.len(), points);
    Ok(())
}
