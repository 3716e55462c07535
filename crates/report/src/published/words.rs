//! Words and figures that several tables of a study have in common.

use crate::study::ComparisonKind;

/// Returns the name of the column of percentages.
pub(super) fn versus(kind: ComparisonKind, first: &str) -> String {
    match kind {
        ComparisonKind::Scaling => "vs row above".to_owned(),
        ComparisonKind::Change | ComparisonKind::Gain => format!("vs {first}"),
    }
}

/// Rounds a change as published tables do: to the nearest whole percent, halves
/// away from zero, with its sign: `+86 %`.
pub(super) fn whole_change(percent: f64) -> String {
    match percent.round() {
        // Never "-0 %".
        0.0 => "0 %".to_owned(),
        whole => format!("{whole:+} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_changes_are_whole_and_have_a_sign() {
        for (percent, text) in [
            (85.66, "+86 %"),
            (2.5, "+3 %"),
            (-2.5, "-3 %"),
            (-0.4, "0 %"),
            (100.0, "+100 %"),
        ] {
            assert_eq!(whole_change(percent), text);
        }
    }
}
