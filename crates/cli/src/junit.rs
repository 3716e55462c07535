//! Outcomes of conditions as a JUnit document, which CI systems show as tests.

use std::fs;
use std::path::Path;

use maud::{PreEscaped, html};
use smbench_report::units::plain;

use crate::failure::Failure;

/// Name of the case that the command did what was asked of it.
pub(crate) const VALID: &str = "the result is valid";

/// A check of a result.
#[derive(Clone, Debug)]
pub(crate) struct JunitCase {
    /// The condition.
    pub(crate) name: String,
    pub(crate) outcome: JunitOutcome,
    /// What was found.
    pub(crate) message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JunitOutcome {
    Passed,
    Failed,
    /// Neither passed nor failed.
    Skipped,
}

/// Writes the document of a test suite with these cases.
pub(crate) fn save(path: &Path, suite: &str, cases: &[JunitCase]) -> Result<(), Failure> {
    fs::write(path, junit(suite, cases)).map_err(Failure::write(path))
}

/// Writes the document of a command that failed before it could judge anything. So no
/// earlier document can be taken for its result.
pub(crate) fn save_failure<T>(
    path: Option<&Path>,
    suite: &str,
    ended: &Result<T, Failure>,
) -> Result<(), Failure> {
    let (Some(path), Err(failure)) = (path, ended) else {
        return Ok(());
    };
    let case = JunitCase {
        name: VALID.to_owned(),
        outcome: JunitOutcome::Failed,
        message: failure.to_string(),
    };
    save(path, suite, &[case])
}

fn junit(suite: &str, cases: &[JunitCase]) -> String {
    let count = |outcome| cases.iter().filter(|case| case.outcome == outcome).count();
    let (failures, skipped) = (count(JunitOutcome::Failed), count(JunitOutcome::Skipped));
    let suite = plain(suite);
    let document = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites name="smbench" tests=(cases.len()) failures=(failures) {
            testsuite name=(suite) tests=(cases.len()) failures=(failures) skipped=(skipped) {
                @for case in cases {
                    @let (name, message) = (plain(&case.name), plain(&case.message));
                    testcase classname=(suite) name=(name) {
                        @match case.outcome {
                            JunitOutcome::Passed => system-out { (message) },
                            JunitOutcome::Failed => failure message=(message) {},
                            JunitOutcome::Skipped => skipped message=(message) {},
                        }
                    }
                }
            }
        }
    };
    document.into_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_break_the_document() {
        let case = |name: &str, outcome| JunitCase {
            name: name.to_owned(),
            outcome,
            message: "found <1>".to_owned(),
        };
        let cases = [
            case("p99 > 5ms", JunitOutcome::Failed),
            case("errors > 0 & \"more\"", JunitOutcome::Passed),
            case("throughput < 5", JunitOutcome::Skipped),
        ];
        let expected = concat!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
            "<testsuites name=\"smbench\" tests=\"3\" failures=\"1\">",
            "<testsuite name=\"a &amp; b\" tests=\"3\" failures=\"1\" skipped=\"1\">",
            "<testcase classname=\"a &amp; b\" name=\"p99 &gt; 5ms\">",
            "<failure message=\"found &lt;1&gt;\"></failure></testcase>",
            "<testcase classname=\"a &amp; b\" name=\"errors &gt; 0 &amp; &quot;more&quot;\">",
            "<system-out>found &lt;1&gt;</system-out></testcase>",
            "<testcase classname=\"a &amp; b\" name=\"throughput &lt; 5\">",
            "<skipped message=\"found &lt;1&gt;\"></skipped></testcase>",
            "</testsuite></testsuites>\n"
        );
        assert_eq!(junit("a & b", &cases), expected);
    }
}
