//! The profiles in the README run, and the README lists every value that they may
//! contain.

use super::{plan, resolve};
use crate::action::{Action, ChangeFilter, DirectoryClass, QueryClass, SetClass};
use crate::profile::Profile;
use crate::spec::RunOptions;

#[test]
fn the_profiles_in_the_readme_run() {
    let readme = include_str!("../../../../../../README.md");
    let blocks = readme.split("```toml\n").skip(1);
    let texts = blocks.map(|block| block.split_once("```").unwrap().0);
    let plans: Vec<_> = texts
        // A suite is read by the command, not here.
        .filter(|text| !text.contains("[[servers]]"))
        .map(|text| {
            let profile = Profile::parse("README.md", text).unwrap();
            resolve(&profile, &RunOptions::default()).unwrap()
        })
        .collect();
    let names: Vec<_> = plans
        .iter()
        .map(|plan| plan.work.profile.as_str())
        .collect();
    assert_eq!(names, ["database-like", "office-like", "bursts"]);
    assert_eq!(plans[0].work.workload.flush_every_writes(), Some(100));
    assert_eq!(plans[1].work.workload.actions().len(), 4);
    assert_eq!(plans[2].work.workload.pattern().map(<[_]>::len), Some(2));
}

#[test]
fn the_readme_has_every_operation_and_class() {
    let readme = include_str!("../../../../../../README.md");
    let word = |value: serde_json::Value| format!("`{}`", value.as_str().unwrap());
    for action in plan("all-commands").work.workload.actions() {
        let op = Action::name(&action);
        assert!(readme.contains(&format!("`{op}`")), "{op}");
        for kind in action.kinds() {
            assert!(readme.contains(&format!("`{}`", kind.name())), "{kind:?}");
        }
    }
    let words = [
        serde_json::to_value(QueryClass::FsSectorSize),
        serde_json::to_value(SetClass::EndOfFile),
        serde_json::to_value(DirectoryClass::IdFullDirectory),
        serde_json::to_value(ChangeFilter::StreamWrite),
    ];
    for written in words.map(|value| word(value.unwrap())) {
        assert!(readme.contains(&written), "{written}");
    }
}
