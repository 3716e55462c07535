//! Rankings by P/E: the thirteen adapters that ComputerPress published, and rows of
//! runs.

use insta::assert_snapshot;
use smbench_model::cpu::CpuScope;
use smbench_report::doc::{Named, RunDoc};
use smbench_report::doubt::Doubt;
use smbench_report::published::{Efficiency, Ranked, efficiency, ranked};
use smbench_report::render;
use smbench_report::server_cpu::CpuOf;
use smbench_report::table::Table;

use crate::samples::{document, metadata_point, on_a_busy_server, point, run};

/// Adapter; Mbit/s and P/E index under the file-server pattern, and under the
/// web-server pattern, as printed. 20 clients, one server.
const ADAPTERS: [(&str, f64, f64, f64, f64); 13] = [
    ("Alacritech 1000x1", 1138.44, 47.52, 510.35, 29.88),
    ("Intel PRO/1000 MT", 1103.38, 17.34, 541.74, 12.89),
    ("SMC 9462TX", 1062.83, 15.56, 619.63, 11.60),
    ("Gigabyte GC-LC03", 1093.45, 14.67, 672.03, 15.84),
    ("LG LNIC-1000T", 489.22, 11.15, 227.54, 7.95),
    ("D-Link DGE-550T", 971.59, 13.40, 529.24, 7.74),
    ("3Com 3C996B-T", 1109.79, 14.45, 670.39, 15.81),
    ("Allied Telesyn AT-2930T", 1091.09, 16.07, 532.55, 12.98),
    ("Micronet SP2610", 1114.34, 15.64, 535.96, 12.12),
    ("Multi-Co EN-1006N", 1087.80, 15.70, 543.47, 9.96),
    ("Surecom EP-320GTX (NS)", 1108.80, 16.48, 613.66, 11.40),
    ("TRENDnet TEG-PCITX2", 1106.65, 16.36, 613.76, 11.49),
    ("Surecom EP-320GTX (Realtek)", 779.45, 12.73, 623.73, 10.72),
];

/// Builds a row from a published throughput and P/E index, which imply the CPU
/// utilisation.
fn of_index(name: &str, throughput_mbps: f64, index: f64) -> Efficiency {
    Efficiency {
        name: name.to_owned(),
        throughput_mbps,
        ops_per_s: None,
        cpu_percent: Some(throughput_mbps / index),
        us_per_op: None,
        cpu_of: None,
        doubt: Doubt::None,
    }
}

fn file_server() -> Vec<Efficiency> {
    let rows = ADAPTERS.iter();
    rows.map(|&(name, mbps, index, _, _)| of_index(name, mbps, index))
        .collect()
}

fn web_server() -> Vec<Efficiency> {
    let rows = ADAPTERS.iter();
    rows.map(|&(name, _, _, mbps, index)| of_index(name, mbps, index))
        .collect()
}

fn names<'a>(rows: &[Ranked<'a>]) -> Vec<&'a str> {
    rows.iter().map(|row| row.of.name.as_str()).collect()
}

#[test]
fn the_published_rankings_come_out() {
    let (file, web) = (file_server(), web_server());
    assert_eq!(
        names(&ranked(&file))[..3],
        [
            "Alacritech 1000x1",
            "Intel PRO/1000 MT",
            "Surecom EP-320GTX (NS)"
        ]
    );
    assert_eq!(
        names(&ranked(&web))[..3],
        ["Alacritech 1000x1", "Gigabyte GC-LC03", "3Com 3C996B-T"]
    );
    for rows in [&file, &web] {
        let indices: Vec<_> = ranked(rows).iter().map(|row| row.of.index()).collect();
        assert!(indices.is_sorted_by(|higher, lower| higher >= lower));
        assert_eq!(indices.len(), 13);
    }
}

/// Traffic and index imply a CPU utilisation, which must be possible for a server.
/// Rounded to a tenth of a percent, like a measured one, it must lead back to the
/// printed index within the rounding error.
#[test]
fn implied_cpu_agrees_with_traffic_and_index() {
    for &(name, file_mbps, file_index, web_mbps, web_index) in &ADAPTERS {
        for (mbps, index) in [(file_mbps, file_index), (web_mbps, web_index)] {
            let published = of_index(name, mbps, index);
            let implied = published.cpu_percent.unwrap();
            assert!((10.0..100.0).contains(&implied), "{name}: {implied}");
            let measured = Efficiency {
                cpu_percent: Some((implied * 10.0).round() / 10.0),
                ..published
            };
            let seen = measured.index().unwrap();
            assert!(
                (seen - index).abs() <= index * 0.05 / implied + 0.005,
                "{name}: {seen} for {index}"
            );
        }
    }
    // Computed by hand: 1138.44 / 47.52 and 489.22 / 11.15.
    let file = file_server();
    assert!((file[0].cpu_percent.unwrap() - 23.957).abs() < 0.001);
    assert!((file[4].cpu_percent.unwrap() - 43.876).abs() < 0.001);
}

#[test]
fn the_table_shows_what_a_rank_comes_from() {
    let table = efficiency("file server", &file_server());
    let text = table.to_text();
    let top: Vec<_> = text.lines().take(5).collect();
    assert_snapshot!(top.join("\n"), @"
    file server
    rank  name                         Mbit/s  ops/s     CPU    P/E  ops/s per %  us/op
       1  Alacritech 1000x1              1138      -  24.0 %  47.52            -      -
       2  Intel PRO/1000 MT              1103      -  63.6 %  17.34            -      -
       3  Surecom EP-320GTX (NS)         1109      -  67.3 %  16.48            -      -
    ");
    let printed: Vec<_> = table
        .rows
        .iter()
        .map(|row| (Table::cell(row, 1), Table::cell(row, 5)))
        .collect();
    for &(name, _, index, _, _) in &ADAPTERS {
        let shown = format!("{index:.2}");
        assert!(printed.contains(&(name, shown.as_str())), "{name}");
    }
}

fn measured(loads: u64) -> RunDoc {
    document(&run(vec![on_a_busy_server(point(4, 1, loads))]))
}

#[test]
fn runs_are_ranked_by_their_peaks_and_unmeasured_ones_last() {
    let unmeasured = document(&run(vec![point(4, 1, 5000)]));
    let rows: Vec<_> = [
        ("nobody looked", &unmeasured),
        ("slower", &measured(400)),
        ("faster", &measured(800)),
    ]
    .into_iter()
    .filter_map(|(name, run)| Efficiency::of_run(name, run))
    .collect();
    assert_eq!(names(&ranked(&rows)), ["faster", "slower", "nobody looked"]);
    assert_snapshot!(efficiency("", &rows).to_text(), @"
    rank  name           Mbit/s  ops/s     CPU   P/E  ops/s per %  us/op
       1  faster           32.8   1001  25.0 %  1.31         40.0    999
       2  slower           16.4    501  25.0 %  0.66         20.0   1996
       -  nobody looked   204.8   6251       -     -            -      -
    P/E: Mbit/s for each percent of the server's CPUs; higher is better
    CPU: of the server, in percent of all its CPUs
    no rank: no use of the server's CPUs was measured
    ");
    assert_eq!(Efficiency::of_run("x", &document(&run(Vec::new()))), None);
}

/// Rows without data show no Mbit/s, and are not ranked by them.
#[test]
fn runs_without_data_are_ranked_by_their_operations() {
    let metadata = |echos| document(&run(vec![on_a_busy_server(metadata_point(4, echos))]));
    let rows: Vec<_> = [("slower", 100), ("faster", 300)]
        .into_iter()
        .filter_map(|(name, echos)| Efficiency::of_run(name, &metadata(echos)))
        .collect();
    assert_eq!(names(&ranked(&rows)), ["faster", "slower"]);
    assert_snapshot!(efficiency("", &rows).to_text(), @"
    rank  name    ops/s     CPU  ops/s per %  us/op
       1  faster    600  25.0 %         24.0   1667
       2  slower    200  25.0 %         8.00   5000
    ops/s per %: operations per second for each percent of the server's CPUs; higher is better
    CPU: of the server, in percent of all its CPUs
    ");
}

#[test]
fn what_is_printed_alike_is_ranked_alike() {
    let of = |name, index| of_index(name, 1000.0, index);
    let rows = [
        of("d", 12.0),
        of("c", 15.84),
        of("b", 15.8413),
        of("a", 20.0),
        of("e", 12.0),
        Efficiency {
            cpu_percent: None,
            ..of("f", 1.0)
        },
    ];
    let ranked = ranked(&rows);
    assert_eq!(names(&ranked), ["a", "b", "c", "d", "e", "f"]);
    let ranks: Vec<_> = ranked.iter().map(|row| row.rank).collect();
    assert_eq!(ranks, [Some(1), Some(2), Some(2), Some(4), Some(4), None]);
}

#[test]
fn processes_and_machines_are_ranked_apart() {
    let of = |name, index, cpu_of| Efficiency {
        cpu_of: Some(cpu_of),
        ..of_index(name, 1000.0, index)
    };
    let rows = [
        of("all", 20.0, CpuOf::Machine),
        of("slow", 10.0, CpuOf::Processes),
        of("other", 5.0, CpuOf::Machine),
        of("fast", 30.0, CpuOf::Processes),
        Efficiency {
            cpu_percent: None,
            ..of("unknown", 1.0, CpuOf::Machine)
        },
    ];
    assert_snapshot!(efficiency("", &rows).to_text(), @"
    rank  name     Mbit/s  ops/s      CPU    P/E  ops/s per %  us/op  CPU of
       1  fast       1000      -   33.3 %  30.00            -      -  processes
       2  slow       1000      -  100.0 %  10.00            -      -  processes
       1  all        1000      -   50.0 %  20.00            -      -  machine
       2  other      1000      -  200.0 %   5.00            -      -  machine
       -  unknown    1000      -        -      -            -      -  -
    P/E: Mbit/s for each percent of the server's CPUs; higher is better
    CPU: of the server, in percent of all its CPUs
    CPU of some is of the processes that serve, of others of the whole machine, which is more: the two do not compare, and are ranked apart
    no rank: no use of the server's CPUs was measured
    ");
}

#[test]
fn passes_whose_cpu_is_of_two_kinds_have_no_index() {
    let mut both = document(&run(vec![
        on_a_busy_server(point(4, 1, 400)),
        on_a_busy_server(point(4, 2, 400)),
    ]));
    let index = |run: &RunDoc| Efficiency::of_run("x", run).unwrap().index();
    assert!(index(&both).is_some());
    let cpu = both.load_points[1].server_cpu.as_mut().unwrap();
    cpu.scope = Some(Named::Known(CpuScope::Processes));
    cpu.source = "smbd (process 7) and its children, on this machine".to_owned();
    assert_eq!(index(&both), None);
    let rows = [Efficiency::of_run("x", &both).unwrap()];
    let text = efficiency("", &rows).to_text();
    assert!(
        text.contains("CPU of x: of two kinds over its passes, so no rank\n"),
        "{text}"
    );
    assert!(!text.contains("measured"), "{text}");
    // The text of the run has no mean of the two kinds either, and names both.
    let text = render(&both);
    let mut lines = text
        .lines()
        .skip_while(|line| !line.starts_with("CPU of the server"));
    assert_eq!(
        lines.next().unwrap(),
        "CPU of the server: smbd (process 7) and its children, on this machine; 4 cores; in other \
         passes all that its machine did, as reported by http://files.example:9100/metrics; 4 cores"
    );
    let row: Vec<_> = lines.nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..6], ["4", "-", "-", "-", "-", "-"]);
    let words = "-: of two kinds over the passes, of which there is no mean";
    assert_eq!(lines.next().unwrap(), words);
}

#[test]
fn load_points_whose_cpu_is_of_different_kinds_are_kept_apart() {
    let mut run = document(&run(vec![
        on_a_busy_server(point(4, 1, 400)),
        on_a_busy_server(point(8, 1, 400)),
    ]));
    let kinds = |run: &RunDoc| {
        let text = render(run);
        let lines = text
            .lines()
            .skip_while(|line| !line.starts_with("CPU of the server"));
        let rows = lines.skip(2).take(2);
        rows.map(|line| line.split_whitespace().next_back().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(!kinds(&run).contains(&"machine".to_owned()));
    let cpu = run.load_points[1].server_cpu.as_mut().unwrap();
    cpu.scope = Some(Named::Known(CpuScope::Processes));
    assert_eq!(kinds(&run), ["machine", "processes"]);
    assert!(render(&run).contains("the two do not compare\n"));
}

#[test]
fn of_no_cpu_at_all_nothing_follows() {
    let idle = Efficiency {
        cpu_percent: Some(0.0),
        ..of_index("idle", 100.0, 1.0)
    };
    assert_eq!((idle.index(), idle.ops_per_percent()), (None, None));
}
