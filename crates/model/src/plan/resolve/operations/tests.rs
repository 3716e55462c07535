//! Which mixes are accepted, and which messages mistakes get.

use super::super::tests::{refusal, resolve};
use crate::contents::Verify;
use crate::kind::OpKind;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::spec::{RunOptions, SessionsSpec, WorkSpec};

fn plan(text: &str) -> Plan {
    let profile = Profile::parse("x.toml", text).unwrap();
    resolve(&profile, &RunOptions::default()).unwrap()
}

#[test]
fn operations_that_cannot_run_are_refused_in_a_line() {
    for (tables, message) in [
        (
            "{ op = \"read\", weight = 60 }, { op = \"echo\", weight = 35.5 }",
            "the weights of the operations sum to 95.5, not to 100: change them to add up",
        ),
        (
            "{ op = \"read\", weight = -5 }, { op = \"echo\", weight = 105 }",
            "the weight of operation read is -5: give a percentage, 0 to 100",
        ),
    ] {
        let text = format!("sizes = [{{ size = 512, weight = 100 }}]\noperations = [{tables}]");
        let found = refusal(&text, &RunOptions::default());
        assert_eq!(found, format!("profile x.toml: {message}"), "{tables}");
    }
}

#[test]
fn what_goes_together_and_what_does_not() {
    const SIZES: &str = "sizes = [{ size = 512, weight = 100 }]\n";
    const ECHO: &str = "operations = [{ op = \"echo\", weight = 100 }]";
    for (text, message) in [
        (
            format!("read_percent = 5\n{ECHO}"),
            "read_percent and [[operations]] are both given: drop one of them",
        ),
        (
            format!("flush_every_writes = 5\n{ECHO}"),
            "flush_every_writes and [[operations]] are both given: drop one of them",
        ),
        (
            format!("{SIZES}{ECHO}"),
            "there are sizes, but no operation that has one: drop the [[sizes]] tables",
        ),
        (
            "operations = [{ op = \"read\", weight = 100 }]".to_owned(),
            "there are no sizes: add [[sizes]] tables with a size and a weight",
        ),
        (
            format!(
                "operations = [{}]",
                "{ op = \"echo\", weight = 1 },".repeat(101)
            ),
            "there are 101 operations: at most 100 are possible",
        ),
    ] {
        let found = refusal(&text, &RunOptions::default());
        assert_eq!(found, format!("profile x.toml: {message}"), "{text}");
    }
    // No operation works on files, so there are none.
    let echo = plan(ECHO);
    assert_eq!((echo.bytes_on_share(), echo.files().count()), (0, 0));
    let past_end = plan("operations = [{ op = \"lock\", past_end = true, weight = 100 }]");
    assert_eq!(past_end.bytes_on_share(), 16 << 20);
}

#[test]
fn what_a_dialect_lacks_is_refused_where_it_was_chosen() {
    let interfaces = "operations = [{ op = \"query_interfaces\", weight = 100 }]";
    let old = |dialect: &str| RunOptions {
        sessions: SessionsSpec {
            dialect: Some(dialect.parse().unwrap()),
            ..SessionsSpec::default()
        },
        ..RunOptions::default()
    };
    assert_eq!(
        refusal(interfaces, &old("2.0.2..2.1")),
        "dialect: operation query_interfaces needs SMB 3.0 or later, but the dialects are \
         2.0.2..2.1: change them or drop it"
    );
    let through = "sizes = [{ size = 512, weight = 100 }]\n\
                   operations = [{ op = \"write\", write_through = true, weight = 100 }]\n\
                   [run]\ndialect = \"2.0.2\"";
    assert_eq!(
        refusal(through, &RunOptions::default()),
        "profile x.toml: write_through needs SMB 2.1 or later, but the dialects are 2.0.2: \
         change them or drop it"
    );
    // One dialect of the range has the command, and the server may choose it.
    let profile = Profile::parse("x.toml", interfaces).unwrap();
    assert!(resolve(&profile, &old("2.1..3.0")).is_ok());
}

#[test]
fn kinds_are_those_of_every_request_once() {
    let plan = plan(
        "operations = [{ op = \"create\", weight = 50 }, { op = \"echo\", weight = 0 },\n\
         { op = \"set_info\", class = \"delete\", weight = 50 }]",
    );
    assert_eq!(
        plan.only().workload.kinds(),
        [OpKind::Create, OpKind::Close, OpKind::Delete]
    );
}

#[test]
fn a_mix_can_be_verified_like_any_other() {
    let verified = RunOptions {
        work: WorkSpec {
            verify: Some(Verify::ReadBack),
            ..WorkSpec::default()
        },
        ..RunOptions::default()
    };
    let text = "sizes = [{ size = 1025, weight = 100 }]\n\
                operations = [{ op = \"create_read_close\", weight = 100 }]";
    let message = refusal(text, &verified);
    assert!(message.contains("not a multiple of 512"), "{message}");
}
