//! Merge the parts of a run.

use std::error::Error;
use std::thread;
use std::time::{Duration, SystemTime};

use smbench::merge::{SavedPart, merge};
use smbench::model::part::ClientRange;
use smbench::report::render;
use smbench::{Run, RunOptions};

/// `lead` is the time to set up the sessions of all parts. A part that needs longer fails.
pub fn merge_parts(url: &str, password: &str, lead: Duration) -> Result<(), Box<dyn Error>> {
    let begin_at = SystemTime::now() + lead;
    let measure = |path: &str, clients: ClientRange| {
        let mut options = RunOptions::default();
        options.generator.client_range = Some(clients);
        options.generator.begin_at = Some(begin_at);
        let run = Run::on(url)
            .password(password)
            .profile("read-4k")
            .options(options)
            .duration(Duration::from_secs(1));
        let doc = run.execute()?.doc;
        let path = path.to_owned();
        Ok::<_, smbench::Error>(SavedPart { path, doc })
    };
    // Two threads stand for two machines. On real machines, save each document and read it
    // here with `RunDoc::load`.
    let [first, second]: [ClientRange; 2] = ["0..2/4".parse()?, "2..4/4".parse()?];
    let (one, other) = thread::scope(|scope| {
        let one = scope.spawn(|| measure("one.json", first));
        let other = measure("other.json", second);
        (one.join().expect("the run has no panic"), other)
    });
    let whole = merge(vec![one?, other?])?;
    print!("{}", render(&whole));
    assert_eq!(whole.load_points[0].clients, 4);
    assert_eq!(whole.hosts.len(), 2);
    Ok(())
}
