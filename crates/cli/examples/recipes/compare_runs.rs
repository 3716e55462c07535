//! Compare two runs.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use smbench::Run;
use smbench::compare::{Condition, Depth, Input, compare, render};

pub fn compare_runs(url: &str, password: &str) -> Result<(), Box<dyn Error>> {
    // Only several passes show how much results vary.
    let measure = |label| {
        let run = Run::on(url)
            .password(password)
            .profile("read-4k")
            .clients([2])
            .ramps(Duration::from_millis(100), Duration::ZERO)
            .duration(Duration::from_millis(300))
            .repeat(3)
            .label(label);
        let finished = run.execute()?;
        Ok::<_, smbench::Error>(Input::of_run(Path::new(label), finished.doc))
    };
    let inputs = [measure("before")?, measure("after")?];
    // Results of different work must not be compared.
    let comparison = compare(&inputs)?.of_same_work()?;
    print!("{}", render(&comparison, Depth::Overview));
    let condition: Condition = "throughput < -5%".parse()?;
    for pair in &comparison.pairs {
        match condition.judge(pair) {
            Ok(judged) if judged.failed => println!("slower: {judged}"),
            Ok(judged) => println!("{judged}"),
            Err(reason) => println!("not known: {reason}"),
        }
    }
    assert_eq!(comparison.pairs.len(), 1);
    Ok(())
}
