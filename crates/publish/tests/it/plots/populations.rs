//! Plots with a line for each population.

use std::collections::BTreeMap;

use smbench_model::sessions::Mode;
use smbench_publish::plot::Plot;
use smbench_publish::{report, to_markdown};
use smbench_report::RunDoc;
use smbench_report::doc::{LoadPointDoc, LoopDoc, PopulationDoc, PopulationPointDoc};
use smbench_report::study::Study;

use super::{numbers, plot};
use crate::samples::{point, run, study};

/// Returns the part of a population that had done what is in a load point.
fn population(name: &str, of: LoadPointDoc) -> PopulationPointDoc {
    PopulationPointDoc {
        name: name.to_owned(),
        clients: of.clients,
        throughput_mbps: of.throughput_mbps,
        ops_per_s: of.ops_per_s,
        bytes_read: of.bytes_read,
        bytes_written: of.bytes_written,
        errors: 0,
        latency_ns: of.latency_ns,
        ops: of.ops,
        whole: BTreeMap::new(),
        failures: Vec::new(),
        clients_served: of.clients,
        dropouts: Vec::new(),
        offered: None,
        streams: None,
        reached: None,
        replayed: None,
        caching: None,
        verification: None,
        series: of.series.unwrap(),
    }
}

/// Returns a load point of a backup of four clients beside an office.
fn company(clients: u32) -> LoadPointDoc {
    let of_office = 100.0 * f64::from(clients - 4);
    let office = point(clients - 4, 1, of_office, 200_000);
    let backup = point(4, 1, 300.0, 900_000);
    LoadPointDoc {
        populations: vec![population("office", office), population("backup", backup)],
        ..point(clients, 1, of_office + 300.0, 400_000)
    }
}

/// Returns a run of a load point, with the populations of that in its plan.
fn planned(load_point: LoadPointDoc) -> RunDoc {
    let mut run = run(vec![load_point]);
    let populations = run.load_points[0].populations.iter();
    let populations = populations.map(|population| PopulationDoc {
        name: population.name.clone(),
        profile: "file-server".to_owned(),
        share: None,
        per_unit: None,
        clients: vec![population.clients],
        workload: run.plan.workload.clone(),
        outstanding: run.plan.outstanding,
        pacing: LoopDoc::Closed,
        rate_per_s: None,
        rate_scope: None,
        arrivals: None,
        stream: None,
        think_time_s: None,
        think_distribution: None,
        ramp: None,
        stages: None,
        start_s: None,
        oplock: None,
        dialect: None,
        signing: None,
        encryption: None,
        credits: None,
        source_ip: None,
        verify: run.plan.verify,
        bytes_on_share: 0,
    });
    run.plan.populations = populations.collect();
    run
}

fn names(plot: &Plot) -> Vec<&str> {
    plot.lines.iter().map(|line| &line.name[..]).collect()
}

/// Returns the names of the plots by population.
fn plots(study: &Study) -> Vec<String> {
    let report = report(study);
    let names = report.plots().filter_map(|plot| {
        let name = plot.name.strip_prefix("01-file-server-populations-")?;
        Some(name.to_owned())
    });
    names.collect()
}

#[test]
fn each_population_has_a_line() {
    let study = study(&[("NAS", run(vec![company(8), company(20)]))]);
    let throughput = plot(&study, "01-file-server-populations-throughput");
    assert_eq!(
        throughput.title,
        "file-server by population: throughput by clients"
    );
    assert_eq!(names(&throughput), ["office", "backup"]);
    let lines: Vec<_> = throughput.lines.iter().map(numbers).collect();
    assert_eq!(
        lines,
        [
            [(8.0, 400.0, true), (20.0, 1600.0, true)],
            [(8.0, 300.0, true), (20.0, 300.0, true)]
        ],
        "at the clients of all"
    );
    let csv = String::from_utf8(throughput.to_csv().unwrap()).unwrap();
    assert!(csv.contains("\noffice,8,400,,,true,false,\n"), "{csv}");
    let over_time = plot(&study, "01-file-server-populations-time-p99");
    assert!(
        over_time.title.ends_with(" at 20 clients"),
        "{}",
        over_time.title
    );
    let first = over_time.lines.iter().map(|line| line.points[0].y);
    assert_eq!(first.collect::<Vec<_>>(), [1e6, 4.5e6]);
    assert_eq!(
        plots(&study),
        [
            "throughput",
            "operations",
            "response-mean",
            "response-p99",
            "percentiles",
            "time-median",
            "time-p99"
        ]
    );
}

#[test]
fn one_load_point_of_several_servers_has_no_plot_by_clients() {
    let one = || run(vec![company(8)]);
    let study = study(&[("NAS", one()), ("Samba", one())]);
    assert_eq!(plots(&study), ["percentiles", "time-median", "time-p99"]);
    let percentiles = plot(&study, "01-file-server-populations-percentiles");
    assert_eq!(
        names(&percentiles),
        [
            "office (NAS)",
            "backup (NAS)",
            "office (Samba)",
            "backup (Samba)"
        ]
    );
}

#[test]
fn a_run_of_one_population_has_no_plots_by_population() {
    let mut only = company(8);
    only.populations.truncate(1);
    let none = point(20, 1, 300.0, 400_000);
    let study = study(&[("NAS", run(vec![only, none]))]);
    assert_eq!(plots(&study), [""; 0]);
}

#[test]
fn each_population_alone_stands_beside_all_together() {
    let office = point(4, 1, 800.0, 100_000);
    let alone = LoadPointDoc {
        populations: vec![population("office", office.clone())],
        ..office
    };
    let mut study = study(&[("together", planned(company(8))), ("alone", planned(alone))]);
    study.doc.profiles = vec!["company".to_owned(), "company-office".to_owned()];
    study.results[1].profile = 1;
    let title = "**together: each population alone, and together with the others**";
    let text = to_markdown(&report(&study));
    let (_, table) = text.split_once(title).unwrap();
    let row = table.lines().find(|line| line.starts_with("| office "));
    let row = row.unwrap();
    assert!(
        row.starts_with("| office | 4 | 24000 | 12000 | 0.50 |"),
        "{row}"
    );
    assert_eq!(text.matches("each population alone").count(), 1);
    study.results[1].run.label = Some("other".to_owned());
    assert!(!to_markdown(&report(&study)).contains("each population alone"));
}

/// The sessions of a population are settings, not work.
#[test]
fn servers_are_compared_whatever_the_sessions_of_a_population() {
    let is_other_work = |change: fn(&mut PopulationDoc)| {
        let mut other = planned(company(8));
        change(&mut other.plan.populations[1]);
        let study = study(&[("a", planned(company(8))), ("b", other)]);
        to_markdown(&report(&study)).contains("their work differs")
    };
    assert!(!is_other_work(|backup| {
        backup.encryption = Some(Mode::Required);
    }));
    assert!(is_other_work(|backup| backup.outstanding += 1));
}
