//! The words of this command in texts of the libraries: how they name a setting, by its flag,
//! and which command removes what is left, or makes what a run lacks.
//!
//! Not here: the texts, which name settings by [`smbench_model::setting`].

use smbench_engine::run::{RunError, SessionError};
use smbench_model::plan::Plan;
use smbench_model::tree::{TreeError, TreeShape};
use smbench_protocol::DialectRange;

/// Returns the flag of a setting.
pub(crate) fn flag(setting: &str) -> String {
    format!("--{}", setting.replace('_', "-"))
}

/// Returns advice about files left on a share, as the tail of a sentence.
pub(crate) fn left_behind(url: &str, dialects: DialectRange) -> String {
    format!(
        "; files may be left on the share, remove them with: {}",
        cleanup_command(url, dialects)
    )
}

/// Returns the command that removes left-over files from a share.
pub(crate) fn cleanup_command(url: &str, dialects: DialectRange) -> String {
    if dialects.has_cifs() {
        format!("smbench cleanup '{url}' --dialect {dialects}")
    } else {
        format!("smbench cleanup '{url}'")
    }
}

/// Returns the command that prepares the tree whose lack has failed a run. `None` if the run has
/// failed for something else, or the tree is none that options describe.
pub(crate) fn prepare_command(error: &RunError, plan: &Plan) -> Option<String> {
    let RunError::Session(SessionError::Tree(error)) = error else {
        return None;
    };
    let TreeError::TooLarge { files, .. } = &**error else {
        return None;
    };
    let populations = plan.work.populations.iter();
    let mut trees = populations.filter_map(|one| one.workload.used_tree());
    let tree = trees.find(|tree| tree.files() == *files)?;
    let options = tree_options(tree.shape())?;
    let url = plan.sessions.target.redacted();
    Some(format!("smbench tree prepare '{url}'{options}"))
}

/// Returns the options of `tree prepare` that describe a tree. `None` if its levels were measured.
fn tree_options(shape: &TreeShape) -> Option<String> {
    let (usual, names) = (TreeShape::default(), &shape.names);
    let number = |given: Option<u32>| given.map(|number| number.to_string());
    let options = [
        ("directories", number(Some(shape.directories))),
        ("files", number(Some(shape.files))),
        ("depth", number(shape.depth)),
        ("fan-out", number(shape.fan_out)),
        (
            "sizes",
            (shape.sizes != usual.sizes).then(|| shape.sizes.to_string()),
        ),
        (
            "name-length",
            (names.length != usual.names.length).then(|| names.length.to_string()),
        ),
        (
            "name-utf8",
            (names.utf8 != usual.names.utf8).then(|| names.utf8.to_string()),
        ),
        (
            "name-case",
            (names.case != usual.names.case).then(|| names.case.to_string()),
        ),
        (
            "seed",
            (shape.seed != usual.seed).then(|| shape.seed.to_string()),
        ),
    ];
    let given = options.into_iter().filter_map(|(name, value)| {
        let value = value?;
        Some(format!(" --{name} {value}"))
    });
    shape.levels.is_empty().then(|| given.collect())
}

#[cfg(test)]
mod tests {
    use smbench_model::tree::{LevelShape, NameCase, TreeNames};

    use super::*;

    #[test]
    fn a_tree_is_prepared_with_the_options_that_are_not_the_usual_ones() {
        let usual = tree_options(&TreeShape::default());
        assert_eq!(usual.as_deref(), Some(" --directories 10 --files 1000"));
        let shape = TreeShape {
            seed: 7,
            directories: 8,
            files: 9,
            depth: Some(3),
            fan_out: Some(2),
            sizes: "4KiB:60,1MiB:40".parse().unwrap(),
            names: TreeNames {
                length: "8..40".parse().unwrap(),
                utf8: 5,
                case: NameCase::Upper,
            },
            ..TreeShape::default()
        };
        assert_eq!(
            tree_options(&shape).as_deref(),
            Some(
                " --directories 8 --files 9 --depth 3 --fan-out 2 --sizes 4KiB:60,1MiB:40 \
                 --name-length 8..40:1 --name-utf8 5 --name-case upper --seed 7"
            )
        );
        let measured = TreeShape {
            levels: vec![LevelShape::default()],
            ..shape
        };
        assert_eq!(tree_options(&measured), None);
    }
}
