//! Several populations on a target of an embedding program.

use std::mem::take;

use smbench_engine::Cancel;
use smbench_engine::driver::Null;
use smbench_engine::run::{PlannedRun, RunError, Unobserved, execute};
use smbench_model::kind::OpKind;
use smbench_model::plan::Plan;
use smbench_model::record::{Origin, Outcome, RunRecord, ServerFacts};
use smbench_model::work::Population;

use super::{Recording, drawn, plan};
use crate::support::{assert_undisturbed, short};

/// A client whose number only the second population has.
const SECOND: u32 = 1;

fn company() -> Plan {
    let named = |name: &str, profile, clients| Population {
        name: Some(name.to_owned()),
        clients: vec![clients],
        ..plan(profile, short()).only().clone()
    };
    let mut company = plan("read-4k", short());
    company.work.populations = vec![
        named("readers", "read-4k", 1),
        named("office", "file-server", 2),
    ];
    company
}

fn run(plan: &Plan, connector: Recording) -> RunRecord {
    let server = ServerFacts::other("null://here");
    let run = PlannedRun::of(plan).drawn_on_target(server, connector);
    let record = execute(run, &mut Unobserved, &Cancel::default()).unwrap();
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(
        (record.driver, record.operations),
        (Origin::Own, Origin::Plan)
    );
    assert_undisturbed(&record.load_points[0]);
    record
}

#[test]
fn each_population_does_on_ones_own_target_what_it_does_alone() {
    let company = company();
    let (together, apart) = (Recording::default(), Recording::default());
    let record = run(&company, together.clone());
    let point = &record.load_points[0];
    let names = point.populations.iter().map(|one| &one.name[..]);
    assert!(names.eq(["readers", "office"]));
    let counts = point.populations.iter().map(|one| {
        let whole = one.ops.whole(OpKind::Read);
        assert!(whole.count > 0, "{}", one.name);
        whole.count
    });
    assert_eq!(counts.sum::<u64>(), point.ops.whole(OpKind::Read).count);
    run(&company.alone().nth(1).unwrap(), apart.clone());
    let [theirs, alone] = [together, apart].map(|all| {
        let mut seen = take(&mut *all.seen.lock().unwrap());
        seen.remove(&SECOND).unwrap()
    });
    let both = theirs.len().min(alone.len());
    assert!(both > 0);
    assert_eq!(theirs[..both], alone[..both]);
}

#[test]
fn streams_of_ones_own_are_refused_for_several_populations() {
    let company = company();
    let streams = drawn(&company.alone().next().unwrap());
    let server = ServerFacts::other("null://here");
    for run in [
        PlannedRun::of(&company).with_operations(streams.clone()),
        PlannedRun::of(&company).on_target(server, Null, streams),
    ] {
        let refused = execute(run, &mut Unobserved, &Cancel::default());
        let Err(RunError::Plan(problem)) = refused else {
            panic!("streams of one population ran for several");
        };
        assert!(
            problem.to_string().contains("need a plan with one"),
            "{problem}"
        );
    }
}
