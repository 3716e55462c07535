//! A regression bench of one's own server, as its authors keep it in `benches/`.

use std::env;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use smbench::lab::{EmbeddedOptions, EmbeddedServer};
use smbench::{Error, Run};

/// Measured time of each sample.
const WINDOW: Duration = Duration::from_millis(500);

/// Runs the profile once. Returns the mean time from one completed operation to the next.
fn time_per_operation(url: &str, password: &str, profile: &str) -> Result<Duration, Error> {
    let run = Run::on(url)
        .password(password)
        .profile(profile)
        .clients([8])
        .ramps(Duration::from_millis(100), Duration::ZERO)
        .duration(WINDOW);
    let finished = run.execute()?;
    // A number that must not be quoted must not become a baseline.
    assert_eq!(finished.why_invalid(), None);
    let per_s = finished.doc.load_points[0].ops_per_s;
    Ok(Duration::from_secs_f64(1.0 / per_s))
}

fn own_server(criterion: &mut Criterion) {
    // Your server goes here. Without a URL it is the embedded one.
    let embedded = EmbeddedServer::start(EmbeddedOptions::default()).expect("a server");
    let url = env::var("SERVER_URL").unwrap_or_else(|_| embedded.url());
    let password = env::var("SERVER_PASSWORD").unwrap_or_else(|_| embedded.password().to_owned());
    let mut group = criterion.benchmark_group("own_server");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    for profile in ["read-4k", "metadata"] {
        group.bench_function(profile, |bencher| {
            // Criterion asks for the time of so many operations. Each sample is a window.
            bencher.iter_custom(|operations| {
                let each = time_per_operation(&url, &password, profile).expect("a run");
                black_box(each).mul_f64(operations as f64)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, own_server);
criterion_main!(benches);
