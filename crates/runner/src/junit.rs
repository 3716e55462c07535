//! Outcomes of conditions as a JUnit document, which CI systems show as tests.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use maud::{PreEscaped, html};
use smbench_report::units::plain;

use crate::failure::Failure;

/// Name of the case that the command did what was asked of it.
pub const VALID: &str = "the result is valid";

/// A check of a result.
#[derive(Clone, Debug)]
pub struct JunitCase {
    /// The condition.
    pub name: String,
    /// How it ended.
    pub outcome: JunitOutcome,
    /// What was found.
    pub message: String,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JunitOutcome {
    /// The condition holds.
    Passed,
    /// The condition does not hold.
    Failed,
    /// Neither passed nor failed.
    Skipped,
}

/// The file of `--junit`, and when its command began.
#[derive(Debug)]
pub struct Junit<'a> {
    path: &'a Path,
    /// Name of the test suite.
    suite: &'static str,
    timestamp: SystemTime,
    began: Instant,
}

impl<'a> Junit<'a> {
    /// Begins a test suite now, if there is a file for it.
    pub fn begin(path: Option<&'a Path>, suite: &'static str) -> Option<Self> {
        path.map(|path| Self {
            path,
            suite,
            timestamp: SystemTime::now(),
            began: Instant::now(),
        })
    }

    /// Writes the document of the test suite with these cases.
    pub fn save(&self, cases: &[JunitCase]) -> Result<(), Failure> {
        let started = humantime::format_rfc3339_seconds(self.timestamp).to_string();
        let text = junit(self.suite, cases, &started, self.began.elapsed());
        fs::write(self.path, text).map_err(Failure::write(self.path))
    }

    /// Writes the document of a command that failed before it could judge anything. So no
    /// earlier document can be taken for its result.
    pub fn save_failure<T>(&self, ended: &Result<T, Failure>) -> Result<(), Failure> {
        let Err(failure) = ended else {
            return Ok(());
        };
        self.save(&[JunitCase {
            name: VALID.to_owned(),
            outcome: JunitOutcome::Failed,
            message: failure.to_string(),
        }])
    }
}

/// The time belongs to the case of the result. Conditions are judged in no time.
fn junit(suite: &str, cases: &[JunitCase], started: &str, took: Duration) -> String {
    let count = |outcome| cases.iter().filter(|case| case.outcome == outcome).count();
    let (failures, skipped) = (count(JunitOutcome::Failed), count(JunitOutcome::Skipped));
    let suite = plain(suite);
    let seconds = |time: Duration| format!("{:.3}", time.as_secs_f64());
    let all = seconds(took);
    let time = |case: &JunitCase| {
        if case.name == VALID {
            all.clone()
        } else {
            seconds(Duration::ZERO)
        }
    };
    let document = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites name="smbench" tests=(cases.len()) failures=(failures) time=(all) {
            testsuite name=(suite) tests=(cases.len()) failures=(failures) skipped=(skipped)
                timestamp=(started) time=(all) {
                @for case in cases {
                    @let (name, message) = (plain(&case.name), plain(&case.message));
                    testcase classname=(suite) name=(name) time=(time(case)) {
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
            case(VALID, JunitOutcome::Passed),
            case("p99 > 5ms", JunitOutcome::Failed),
            case("errors > 0 & \"more\"", JunitOutcome::Passed),
            case("throughput < 5", JunitOutcome::Skipped),
        ];
        let expected = concat!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
            "<testsuites name=\"smbench\" tests=\"4\" failures=\"1\" time=\"3.250\">",
            "<testsuite name=\"a &amp; b\" tests=\"4\" failures=\"1\" skipped=\"1\" ",
            "timestamp=\"2026-01-31T12:00:00Z\" time=\"3.250\">",
            "<testcase classname=\"a &amp; b\" name=\"the result is valid\" time=\"3.250\">",
            "<system-out>found &lt;1&gt;</system-out></testcase>",
            "<testcase classname=\"a &amp; b\" name=\"p99 &gt; 5ms\" time=\"0.000\">",
            "<failure message=\"found &lt;1&gt;\"></failure></testcase>",
            "<testcase classname=\"a &amp; b\" name=\"errors &gt; 0 &amp; &quot;more&quot;\" ",
            "time=\"0.000\">",
            "<system-out>found &lt;1&gt;</system-out></testcase>",
            "<testcase classname=\"a &amp; b\" name=\"throughput &lt; 5\" time=\"0.000\">",
            "<skipped message=\"found &lt;1&gt;\"></skipped></testcase>",
            "</testsuite></testsuites>\n"
        );
        let took = Duration::from_millis(3250);
        let text = junit("a & b", &cases, "2026-01-31T12:00:00Z", took);
        assert_eq!(text, expected);
    }
}
