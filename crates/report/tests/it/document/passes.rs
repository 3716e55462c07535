//! Several passes: means, the peak, and notes on how they differ.

use smbench_model::kind::OpKind;
use smbench_report::RunDoc;
use smbench_report::doc::MachineDoc;
use smbench_report::latency::{LatencyDoc, pool};

use crate::samples::{curve, document, dropped, point, run};

#[test]
fn peak_is_the_highest_valid_point() {
    let mut record = curve();
    record.load_points.push(dropped(point(32, 1, 9000), 1));
    let peak = document(&record).peak.unwrap();
    assert_eq!(peak.clients, 8);
    assert_eq!(peak.throughput_mbps, 65.536);
    assert_eq!(peak.within_95_percent_from_clients, 4);
    assert_eq!(peak.within_95_percent_clients, 8);
    assert_eq!(peak.latency_p99_ns / 1000, 2000);
}

#[test]
fn peak_is_that_of_the_averaged_curve() {
    // 8 clients have the best single pass, 16 clients the best mean.
    let record = run(vec![
        point(8, 1, 2000),
        point(16, 1, 1600),
        point(8, 2, 1000),
        point(16, 2, 1680),
    ]);
    let peak = document(&record).peak.unwrap();
    assert_eq!((peak.clients, peak.passes), (16, 2));
    assert!((peak.throughput_mbps - (65.536 + 68.8128) / 2.0).abs() < 1e-9);
}

#[test]
fn an_invalid_pass_stays_out_of_the_average() {
    let record = run(vec![point(8, 1, 1600), dropped(point(8, 2, 100), 1)]);
    let peak = document(&record).peak.unwrap();
    assert_eq!((peak.throughput_mbps, peak.passes), (65.536, 1));
}

#[test]
fn pooled_percentiles_are_those_of_one_histogram() {
    let (first, second) = (point(8, 1, 400), point(8, 2, 1600));
    let mut writes = first.ops.window(OpKind::Write).into_owned();
    writes.merge(&second.ops.window(OpKind::Write));
    let mut all = first.ops.window_all();
    all.merge(&second.ops.window_all());
    let doc = document(&run(vec![first, second]));
    let parts = doc.load_points.iter().map(|point| &point.ops["write"].hdr);
    assert_eq!(
        LatencyDoc::of(&pool(parts)),
        LatencyDoc::of(&writes.service)
    );
    let peak = doc.peak.unwrap();
    let all = LatencyDoc::of(&all.service).unwrap();
    assert!((peak.latency_mean_ns - all.mean).abs() < 1e-3);
    assert_eq!(peak.latency_p99_ns, all.p99);
}

/// If passes had different numbers of CPUs, no share of them can be computed.
#[test]
fn passes_on_other_numbers_of_cpus_have_no_share_of_them() {
    let on = |cpus, repeat| {
        let mut doc = document(&run(vec![point(8, repeat, 400)]));
        doc.machine = Some(MachineDoc {
            cpus: Some(cpus),
            ..MachineDoc::default()
        });
        doc
    };
    let pooled = |cpus: [u32; 3]| {
        let passes = cpus.into_iter().zip(1..).map(|(cpus, pass)| on(cpus, pass));
        RunDoc::pooled(passes.collect()).unwrap()
    };
    for (cpus, shared, notes) in [([2, 2, 2], Some(2), 0), ([2, 4, 2], None, 1)] {
        let doc = pooled(cpus);
        assert_eq!(doc.machine.unwrap().cpus, shared);
        assert_eq!(doc.server.notes.len(), on(2, 1).server.notes.len() + notes);
    }
}

/// The note appears once, and not for a machine that was only rebooted.
#[test]
fn passes_from_several_machines_are_reported() {
    let on = |kernel: &str, repeat: u32| {
        let mut doc = document(&run(vec![point(8, repeat, 400)]));
        doc.machine = Some(MachineDoc {
            kernel: Some(kernel.to_owned()),
            memory_bytes: Some((1 << 30) - u64::from(repeat)),
            ..MachineDoc::default()
        });
        doc
    };
    let before = on("6.1", 1).server.notes.len();
    for (kernels, text) in [
        (["6.1", "6.1", "6.1"], 0),
        (["6.1", "6.12", "6.13"], 1),
        (["6.1", "6.12", "6.1"], 1),
    ] {
        let passes = kernels.into_iter().zip(1..);
        let passes = passes.map(|(kernel, pass)| on(kernel, pass)).collect();
        let notes = RunDoc::pooled(passes).unwrap().server.notes;
        let of_machines = notes.iter().filter(|note| note.contains("generated"));
        assert_eq!(of_machines.count(), text, "{kernels:?}: {notes:?}");
        assert_eq!(notes.len(), before + text, "{kernels:?}: {notes:?}");
    }
}
