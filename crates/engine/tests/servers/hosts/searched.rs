//! A search on several hosts for the rate of one of several populations.

use smbench_engine::Cancel;
use smbench_engine::run::Course;
use smbench_formats::profile;
use smbench_model::load::{PointLoad, Rate, SetupFailures};
use smbench_model::record::{Outcome, RunRecord};
use smbench_model::work::Population;

use super::mesh::{run_course, start};
use super::{plan_of, server, window};

/// Load points with these rates.
struct Rates<'a>(&'a [Rate]);

impl Course for Rates<'_> {
    fn next(&mut self, _: &RunRecord) -> Option<PointLoad> {
        let (rate, left) = self.0.split_first()?;
        self.0 = left;
        Some(PointLoad {
            clients: 8,
            rate: Some(*rate),
            repeat: 1,
            place: None,
            setup: SetupFailures::EndRun,
        })
    }

    fn clients_for_certain(&self) -> u32 {
        8
    }

    fn at_most(&self) -> u32 {
        self.0.len() as u32
    }
}

/// The parts of all hosts together have the rate of each load point.
#[test]
fn one_population_has_the_rate_of_each_load_point_on_all_hosts() {
    let server = server();
    let read = profile::load("read-4k").unwrap();
    let mut plan = plan_of(&read, &window("4", 1), &server);
    let office = plan.only_mut();
    office.name = Some("office".to_owned());
    let backup = Population {
        name: Some("backup".to_owned()),
        ..office.clone()
    };
    plan.work.populations.push(backup);
    let rates = ["100", "200"].map(|rate| rate.parse::<Rate>().unwrap());
    plan.work.search_rate("office", rates[0]).unwrap();
    let (first, others) = start(3, std::slice::from_ref(&plan));
    let record = run_course(&first, &plan, &mut Rates(&rates), &Cancel::default()).unwrap();
    drop(first);
    for (ended, _) in others.join() {
        ended.unwrap();
    }
    assert_eq!(record.outcome, Outcome::Complete);
    assert_eq!(record.load_points.len(), 2);
    for (point, rate) in record.load_points.iter().zip(rates) {
        let [office, backup] = &point.populations[..] else {
            panic!("there are two populations");
        };
        let due = office.punctuality.due as f64 / point.window.as_secs_f64();
        // Each client may have one operation more or less at the edges of the window.
        assert!((due - rate.per_second).abs() < 5.0, "{due} of {rate:?}");
        assert_eq!(backup.punctuality.due, 0);
        assert_eq!(point.hosts.len(), 3);
    }
}
