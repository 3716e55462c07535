//! Stages and soaks over time.

use smbench_model::stages::StagesPurpose;
use smbench_publish::plot::Quantity;
use smbench_publish::{report, to_markdown};
use smbench_report::doc::{LoadPointDoc, Named, SoakDoc, StageDoc, StageMemoryDoc, StageUnitDoc};
use smbench_report::study::Study;

use super::{numbers, plot};
use crate::samples::{point, run, study};

const MIB: u64 = 1 << 20;

/// Returns a stage with its begin and its end in seconds, and the clients at both.
fn stage(number: u32, times: [f64; 2], levels: [f64; 2]) -> LoadPointDoc {
    let ([begin_s, end_s], [from, to]) = (times, levels);
    let length_s = end_s - begin_s;
    LoadPointDoc {
        stage: Some(StageDoc {
            number,
            unit: Named::Known(StageUnitDoc::Clients),
            begin_s,
            length_s,
            from,
            to,
            clients_at_start: None,
            purpose: StagesPurpose::Lines,
        }),
        window_s: length_s,
        ..point(to as u32, 1, f64::from(number) * 10.0, 400_000)
    }
}

fn day() -> Vec<LoadPointDoc> {
    vec![
        stage(1, [0.0, 120.0], [0.0, 50.0]),
        stage(2, [120.0, 720.0], [50.0, 500.0]),
        stage(3, [720.0, 1320.0], [500.0, 500.0]),
    ]
}

/// Returns a soak of ten minutes, with the memory of the server in MiB at the end of each.
fn soak(server_mib: impl Fn(u32) -> Option<u64>) -> Study {
    let rows = (1..=10_u32).map(|number| {
        let end_s = f64::from(number) * 60.0;
        LoadPointDoc {
            memory: Some(StageMemoryDoc {
                own_bytes: Some(20 * MIB),
                server_bytes: server_mib(number).map(|mib| mib * MIB),
                server_handles: None,
            }),
            throughput_mbps: 10.0,
            ops_per_s: 300.0,
            ..stage(number, [end_s - 60.0, end_s], [8.0, 8.0])
        }
    });
    let mut doc = run(rows.collect());
    doc.plan.stages = Some("soak 10m:8".to_owned());
    for row in &mut doc.load_points {
        row.stage.as_mut().unwrap().purpose = StagesPurpose::Soak;
    }
    doc.soak = SoakDoc::of(&doc);
    study(&[("NAS", doc)])
}

/// Returns whether the report has a plot with this name.
fn has_plot(study: &Study, name: &str) -> bool {
    report(study).plots().any(|plot| plot.name == name)
}

#[test]
fn stages_follow_one_another_in_time() {
    let study = study(&[("NAS", run(day()))]);
    let clients = plot(&study, "01-file-server-stages-clients");
    assert_eq!(
        [clients.x.quantity, clients.y.quantity],
        [Quantity::Time, Quantity::Clients]
    );
    let line = &clients.lines[0];
    assert_eq!((clients.lines.len(), &line.name[..]), (1, "asked"));
    assert_eq!(
        numbers(line),
        [
            (0.0, 0.0, true),
            (120.0, 50.0, true),
            (120.0, 50.0, true),
            (720.0, 500.0, true),
            (720.0, 500.0, true),
            (1320.0, 500.0, true)
        ]
    );
    assert_eq!(line.points[2].label, "stage 2 (50 to 500 clients)");
    let reached = plot(&study, "01-file-server-stages-operations");
    assert_eq!(
        numbers(&reached.lines[0]),
        [
            (60.0, 300.0, true),
            (420.0, 600.0, true),
            (1020.0, 900.0, true)
        ],
        "in the middle of each stage"
    );
    for name in ["throughput", "response-mean", "response-p99"] {
        let plot = plot(&study, &format!("01-file-server-{name}"));
        assert!(plot.title.ends_with(" over time"), "{}", plot.title);
        let times = plot.lines[0].points.iter().map(|point| point.x);
        assert_eq!(times.collect::<Vec<_>>(), [60.0, 420.0, 1020.0], "{name}");
    }
    let csv = String::from_utf8(clients.to_csv().unwrap()).unwrap();
    assert!(csv.starts_with("line,time_s,clients,"), "{csv}");
    let svg = clients.to_svg().unwrap();
    assert!(svg.contains("time since the window opened, min"), "{svg}");
}

/// Percentiles and the course of the window are of one stage, whose time begins with it.
#[test]
fn plots_of_one_stage_name_it() {
    let study = study(&[("NAS", run(day()))]);
    for name in ["percentiles", "time-median", "time-p99"] {
        let plot = plot(&study, &format!("01-file-server-{name}"));
        let title = &plot.title;
        assert!(title.ends_with(" at stage 3 (500 clients)"), "{title}");
        let is_over_time = name.starts_with("time-");
        assert_eq!(plot.x.title == "time since the stage began", is_over_time);
    }
}

#[test]
fn a_rate_that_stages_ask_for_stands_beside_the_one_that_was_reached() {
    let mut points = day();
    for point in &mut points {
        let stage = point.stage.as_mut().unwrap();
        stage.unit = Named::Known(StageUnitDoc::Rate);
        (point.clients, point.rate) = (64, Some(stage.to));
    }
    let study = study(&[("NAS", run(points.clone())), ("Samba", run(points))]);
    let both = plot(&study, "01-file-server-stages-operations");
    let names: Vec<_> = both.lines.iter().map(|line| &line.name[..]).collect();
    assert_eq!(names, ["NAS", "Samba", "asked"]);
    let styles: Vec<_> = both.lines.iter().map(|line| line.style).collect();
    assert_eq!(styles, [0, 1, 2]);
    let asked = both.lines[2].points.last().unwrap();
    assert_eq!((asked.x, asked.y), (1320.0, 500.0));
    assert!(!has_plot(&study, "01-file-server-stages-clients"));
}

#[test]
fn a_soak_has_its_verdict_and_memory_over_time() {
    let steady = soak(|_| Some(100));
    let text = to_markdown(&report(&steady));
    let verdict = "- file-server: NAS: steady over 10m: no value of 10 rows drifted; not judged: \
                   open handles of the server.\n";
    assert!(text.contains(verdict), "{text}");
    assert!(!has_plot(&steady, "01-file-server-stages-clients"));
    let times = plot(&steady, "01-file-server-response-p99");
    assert_eq!(times.lines[0].points.len(), 10);
    let of_one = plot(&steady, "01-file-server-time-p99");
    assert_eq!(of_one.x.title, "time since the minute began");
    let own = plot(&steady, "01-file-server-memory-own");
    let memory = own.lines[0].points.iter().map(|point| point.y);
    assert_eq!(memory.collect::<Vec<_>>(), [20.0 * MIB as f64; 10]);

    let leaking = soak(|number| Some(100 + 10 * u64::from(number)));
    let text = to_markdown(&report(&leaking));
    let verdict = "- file-server: NAS: memory of the server drifted from 115 MiB to 195 MiB, ";
    assert!(text.contains(verdict), "{text}");
    let server = plot(&leaking, "01-file-server-memory-server");
    assert_eq!(server.y.quantity, Quantity::Memory);
    let first = &server.lines[0].points[0];
    assert_eq!((first.x, first.y), (60.0, 110.0 * MIB as f64), "at the end");
    let svg = server.to_svg().unwrap();
    assert!(svg.contains("memory of the server, MiB"), "{svg}");

    let unknown = soak(|_| None);
    assert!(!has_plot(&unknown, "01-file-server-memory-server"));
    assert!(has_plot(&unknown, "01-file-server-memory-own"));
}
