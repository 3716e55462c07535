//! The profiles in the manual run, and its chapter on operations lists every value
//! that a mix may contain.

use smbench_protocol::command::query_directory::DirectoryClass;

use super::{plan, resolve};
use crate::action::{Action, ChangeFilter, QueryClass, SetClass};
use crate::kind::OpKind;
use crate::plan::Plan;
use crate::profile::Profile;
use crate::spec::RunOptions;

const OPERATIONS: &str = include_str!("../../../../../../docs/workloads/operations.md");

/// Resolves the profiles in a chapter.
fn profiles_in<const COUNT: usize>(chapter: &str) -> [Plan; COUNT] {
    let blocks = chapter.split("```toml\n").skip(1);
    let plans = blocks.map(|block| {
        let (text, _) = block.split_once("```").unwrap();
        let profile = Profile::parse("the chapter", text).unwrap();
        resolve(&profile, &RunOptions::default()).unwrap()
    });
    plans.collect::<Vec<_>>().try_into().unwrap()
}

/// Resolves the only profile in a chapter.
fn profile_in(chapter: &str) -> Plan {
    let [plan] = profiles_in(chapter);
    plan
}

#[test]
fn the_profile_in_the_chapter_on_profiles_runs() {
    let chapter = include_str!("../../../../../../docs/workloads/profiles.md");
    let plan = profile_in(chapter);
    assert_eq!(plan.work.profile, "database-like");
    assert_eq!(plan.only().workload.flush_every_writes(), Some(100));
}

#[test]
fn the_profile_in_the_chapter_on_operations_runs() {
    let plan = profile_in(OPERATIONS);
    assert_eq!(plan.work.profile, "office-like");
    assert_eq!(plan.only().workload.actions().len(), 4);
}

#[test]
fn the_profile_in_the_chapter_on_patterns_runs() {
    let chapter = include_str!("../../../../../../docs/workloads/patterns.md");
    let plan = profile_in(chapter);
    assert_eq!(plan.work.profile, "bursts");
    assert_eq!(plan.only().workload.pattern().map(<[_]>::len), Some(2));
}

#[test]
fn the_profiles_in_the_chapter_on_fio_run() {
    let chapter = include_str!("../../../../../../docs/from/fio.md");
    let [office, by_kind] = profiles_in(chapter);
    assert_eq!(office.work.profile, "office");
    assert_eq!(office.only().workload.flush_every_writes(), Some(30));
    assert_eq!(by_kind.work.profile, "small-reads-large-writes");
    assert_eq!(by_kind.only().workload.pattern().map(<[_]>::len), Some(2));
}

/// It takes the place of a `fileio` test among populations.
#[test]
fn the_profile_in_the_chapter_on_sysbench_is_that_of_a_population() {
    let chapter = include_str!("../../../../../../docs/from/sysbench.md");
    let (_, block) = chapter.split_once("```toml\n").unwrap();
    let (text, _) = block.split_once("```").unwrap();
    let table = |name: &str| {
        format!("[[population]]\nname = \"{name}\"\nprofile = \"{name}.toml\"\nclients = 4\n")
    };
    let tables = table("rndrw") + &table("office");
    let profile = Profile {
        populations: vec![
            Profile::parse("rndrw.toml", text).unwrap(),
            Profile::builtin("read-4k").unwrap(),
        ],
        ..Profile::parse("company.toml", &tables).unwrap()
    };
    let plan = resolve(&profile, &RunOptions::default()).unwrap();
    let alone = plan.alone().next().unwrap();
    assert_eq!(alone.only().profile, "rndrw");
    assert_eq!(alone.bytes_on_share(), 2 << 30);
    let kinds = alone.only().workload.kinds();
    assert_eq!(kinds, [OpKind::Read, OpKind::Write, OpKind::Flush]);
}

#[test]
fn the_chapter_on_operations_has_every_operation_and_class() {
    let word = |value: serde_json::Value| format!("`{}`", value.as_str().unwrap());
    for action in plan("all-commands").only().workload.actions() {
        let op = Action::name(&action);
        assert!(OPERATIONS.contains(&format!("`{op}`")), "{op}");
        for kind in action.kinds() {
            let kind = kind.name();
            assert!(OPERATIONS.contains(&format!("`{kind}`")), "{kind}");
        }
    }
    let words = [
        serde_json::to_value(QueryClass::FsSectorSize),
        serde_json::to_value(SetClass::EndOfFile),
        serde_json::to_value(DirectoryClass::IdFullDirectory),
        serde_json::to_value(ChangeFilter::StreamWrite),
    ];
    for written in words.map(|value| word(value.unwrap())) {
        assert!(OPERATIONS.contains(&written), "{written}");
    }
}
