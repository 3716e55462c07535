//! Which values a `[[pattern]]` table may have.

use std::time::Duration;

use crate::access::Access;
use crate::kind::Direction;
use crate::limits::Limits;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::spec::{RunOptions, WorkSpec};
use crate::target::Target;
use crate::workload::Requests;

fn resolve(text: &str, options: &RunOptions) -> Result<Plan, String> {
    let profile = Profile::parse("p.toml", text).unwrap();
    let (target, _) = Target::parse("smb://host/share").unwrap();
    Plan::resolve(&profile, options, target, Limits::default(), 1)
        .map_err(|error| error.to_string())
}

fn refusal(text: &str) -> String {
    resolve(text, &RunOptions::default()).unwrap_err()
}

const LINE: &str = "[[pattern]]\nsize = \"4KiB\"\nweight = 100\nreads = 67\nrandom = 100\n";

#[test]
fn lines_are_taken_as_written_and_the_rest_is_iometers_default() {
    let plan = resolve(
        "[[pattern]]\nsize = \"4KiB\"\nweight = 60\nreads = 67\nrandom = 100\n\
         [[pattern]]\nsize = 512\nweight = 40\nreads = 0\nrandom = 0\ndelay = \"20ms\"\n\
         burst = 8\nalign = 3000\nreply = \"1KiB\"\n",
        &RunOptions::default(),
    )
    .unwrap();
    let Requests::Pattern(lines) = &plan.only().workload.requests else {
        panic!("it is a pattern");
    };
    let [first, second] = lines[..] else {
        panic!("it has two lines");
    };
    assert_eq!((first.size, first.weight), (4096, 60.0));
    assert_eq!((first.read_percent, first.random_percent), (67.0, 100.0));
    assert_eq!((first.delay, first.burst), (Duration::ZERO, 1));
    assert_eq!((first.align, first.reply), (512, 0), "a sector");
    assert_eq!((second.delay, second.burst), (Duration::from_millis(20), 8));
    assert_eq!((second.align, second.reply), (3000, 1024));
    assert_eq!(plan.only().workload.access, Access::Sequential);
    assert_eq!(plan.largest_request(), 4096);
    // The line of 512 bytes writes, and its replies read.
    assert_eq!(plan.largest_of(Direction::Read), 4096);
    assert_eq!(plan.largest_of(Direction::Write), 4096);
    let writes = "[[pattern]]\nsize = \"1MiB\"\nweight = 100\nreads = 0\nrandom = 0\n";
    for (reply, read) in [("", 0), ("reply = \"4KiB\"\n", 4096)] {
        let plan = resolve(&format!("{writes}{reply}"), &RunOptions::default()).unwrap();
        assert_eq!(plan.largest_of(Direction::Write), 1 << 20);
        assert_eq!(plan.largest_of(Direction::Read), read);
    }
    assert!(plan.writes());
    assert!(plan.only().workload.uses_files());
    // The digest shows that a pattern is different work.
    let other = resolve(LINE, &RunOptions::default()).unwrap();
    assert_eq!(other.only().workload.access, Access::Random);
    assert_ne!(plan.digest(), other.digest());
    let aligned = format!("{LINE}align = \"4KiB\"\n");
    let aligned = resolve(&aligned, &RunOptions::default()).unwrap();
    assert_ne!(aligned.digest(), other.digest());
}

#[test]
fn what_cannot_be_is_said_by_table_and_key() {
    for (change, refused) in [
        (
            "reads = 101",
            "[[pattern]] table 1: reads is 101: give a percentage, 0 to 100",
        ),
        (
            "random = -1",
            "[[pattern]] table 1: random is -1: give a percentage, 0 to 100",
        ),
        (
            "weight = 90",
            "the weights of the [[pattern]] tables sum to 90, not to 100: change them to add up",
        ),
        (
            "size = 0",
            "[[pattern]] table 1: its size is 0: it must be at least 1 byte",
        ),
        (
            "size = \"2GiB\"",
            "[[pattern]] table 1: size 2 GiB is more than 1 GiB, the largest operation",
        ),
        (
            "size = \"2MiB\"",
            "size 2 MiB does not fit in a file of 1 MiB: enlarge the files or drop the size",
        ),
        (
            "burst = 0",
            "[[pattern]] table 1: burst is 0: it must be at least 1 request",
        ),
        (
            "delay = \"2days\"",
            "[[pattern]] table 1: delay is 2days: at most 1day are possible",
        ),
        (
            "reply = \"2GiB\"",
            "[[pattern]] table 1: reply 2 GiB is more than 1 GiB, the largest operation",
        ),
        (
            "reply = \"2MiB\"",
            "size 2 MiB does not fit in a file of 1 MiB: enlarge the files or drop the size",
        ),
        (
            "align = \"4GiB\"",
            "[[pattern]] table 1: align is 4 GiB: give less than 4 GiB",
        ),
    ] {
        let key = change.split(' ').next().unwrap();
        let kept: String = LINE
            .lines()
            .filter(|line| line.split(' ').next() != Some(key))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(
            refusal(&format!("{kept}{change}\n")),
            format!("profile p.toml: {refused}")
        );
    }
    let many = LINE.replace("100\nreads", "0\nreads").repeat(101);
    assert_eq!(
        refusal(&many),
        "profile p.toml: there are 101 [[pattern]] tables: at most 100 are possible"
    );
}

#[test]
fn what_lines_say_is_said_nowhere_else() {
    for (text, name) in [
        ("read_percent = 80\n", "read_percent"),
        ("access = \"random\"\n", "access"),
        ("flush_every_writes = 3\n", "flush_every_writes"),
    ] {
        assert_eq!(
            refusal(&format!("{text}{LINE}")),
            format!("profile p.toml: {name} and [[pattern]] are both given: drop one of them")
        );
    }
    let sizes = format!("{LINE}[[sizes]]\nsize = 512\nweight = 100\n");
    assert!(refusal(&sizes).contains("[[sizes]] and [[pattern]] are both given"));
}

#[test]
fn delays_and_another_load_model_do_not_go_together() {
    let delayed = format!("{LINE}delay = \"5ms\"\n");
    let rate = RunOptions {
        work: WorkSpec {
            rate: Some("100".parse().unwrap()),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    assert_eq!(
        resolve(&delayed, &rate).unwrap_err(),
        "rate: rate is given, and the pattern has delays: drop one of them"
    );
    let thinking = format!("{delayed}[run]\nthink_time = \"1ms\"\n");
    assert_eq!(
        refusal(&thinking),
        "profile p.toml: think_time is given, and the pattern has delays: drop one of them"
    );
    // Without delays a pattern accepts a rate, like any other workload.
    resolve(LINE, &rate).unwrap();
}

#[test]
fn verification_wants_whole_blocks_of_places_too() {
    let verified = |text: &str| {
        let text = format!("{LINE}{text}\n[run]\nverify = true\n");
        resolve(&text, &RunOptions::default())
    };
    verified("").unwrap();
    let refused = verified("align = 1000").unwrap_err();
    assert!(
        refused.contains("align 1000 B is not a multiple of 512 bytes"),
        "{refused}"
    );
    let refused = verified("reply = 1000").unwrap_err();
    assert!(
        refused.contains("size 1000 B is not a multiple of 512 bytes"),
        "{refused}"
    );
}
